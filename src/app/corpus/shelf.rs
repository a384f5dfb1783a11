//! The snippets of the store: looking at them, keeping them out, moving them through files.

use crate::app::import;
use crate::catalogue::{SnippetLine, print_snippets};
use crate::store::{ParentRow, Provenance, SnippetFilter, SnippetRow, Store, StoreError, ValidationRow, Written};
use serde::Serialize;
use thiserror::Error;
use utoipa::ToSchema;

/// Rows fetched at a time.
const PAGE: i64 = 500;

/// Why a snippet cannot be looked at or changed.
#[derive(Debug, Error)]
pub enum ShelfError {
    /// The store fails.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is none of this number.
    #[error("there is no snippet {0}; `caqtus corpus list` shows those of the store")]
    Missing(i64),
    /// Somebody else changed it meanwhile.
    #[error("somebody else has just changed snippet {0}; look at it again")]
    Changed(i64),
    /// A line of a file is no snippet.
    #[error("line {number} is no snippet")]
    Line {
        /// Its number, from 1.
        number: usize,
        /// What is wrong.
        #[source]
        source: serde_json::Error,
    },
}

/// Everything that is known of a snippet.
#[derive(Debug, Serialize, ToSchema)]
pub struct SnippetDetail {
    /// The snippet.
    #[serde(flatten)]
    pub row: SnippetRow,
    /// Where it is from.
    pub provenance: Provenance,
    /// What it is made of, if it is a combination: the outer one, and the inner one in the place of a column of it.
    pub parents: Vec<ParentRow>,
    /// What builds were seen to make of it.
    pub validations: Vec<ValidationRow>,
}

/// The snippets that are like a filter.
pub async fn list(store: &Store, filter: &SnippetFilter) -> Result<Vec<SnippetRow>, ShelfError> {
    let mut all: Vec<SnippetRow> = Vec::new();
    loop {
        let page = store.snippet_page(filter, all.last().map(|row| row.id), PAGE).await?;
        let done = i64::try_from(page.len()).unwrap_or(PAGE) < PAGE;
        all.extend(page);
        if done {
            return Ok(all);
        }
    }
}

/// A snippet with everything that is known of it.
pub async fn show(store: &Store, id: i64) -> Result<SnippetDetail, ShelfError> {
    let row = store.snippet_fetch(id).await?.ok_or(ShelfError::Missing(id))?;
    let provenance = store.snippet_provenance(id).await?.unwrap_or_default();
    let (parents, validations) = (store.snippet_parents(id).await?, store.snippet_validations(id).await?);
    Ok(SnippetDetail { row, provenance, parents, validations })
}

/// Says that hunts do not use a snippet, for a reason, or that they do again.
pub async fn disable(store: &Store, id: i64, why: Option<&str>, who: &str) -> Result<(), ShelfError> {
    let row = store.snippet_fetch(id).await?.ok_or(ShelfError::Missing(id))?;
    match store.snippet_disable(id, row.revision, why, who).await? {
        Written::Done(_) => Ok(()),
        Written::Stale(_) => Err(ShelfError::Changed(id)),
        Written::Missing => Err(ShelfError::Missing(id)),
    }
}

/// Stores the snippets of a file; how many are new.
pub async fn read(store: &Store, dialect: &str, text: &str) -> Result<u64, ShelfError> {
    let lines: Result<Vec<SnippetLine>, ShelfError> = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(at, line)| serde_json::from_str(line).map_err(|source| ShelfError::Line { number: at + 1, source }))
        .collect();
    Ok(import::snippets(store, dialect, &lines?).await?)
}

/// The snippets of a dialect that may be used, as a file; only those of an origin if one is named.
pub async fn write(store: &Store, dialect: &str, origin: Option<&str>) -> Result<String, ShelfError> {
    let mut lines = store.snippet_list(dialect).await?;
    lines.retain(|line| origin.is_none_or(|origin| line.origin == origin));
    Ok(print_snippets(&lines))
}
