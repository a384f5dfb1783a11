//! What ships inside the binary: oracle classes, snippets and dialect profiles from `corpus/`.

use crate::caq::class::{ClassError, OracleClass, parse_classes};
use crate::corpus::snippet::{Snippet, SnippetError};
use crate::sql::profile::{Profile, ProfileError};
use include_dir::{Dir, include_dir};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use thiserror::Error;

static CORPUS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/corpus");

fn text(path: &str) -> Option<&'static str> {
    CORPUS.get_file(path).and_then(|f| f.contents_utf8())
}

/// The shipped profile of a dialect.
pub fn profile(dialect: &str) -> Result<Arc<Profile>, ProfileError> {
    match (text(&format!("dialects/{dialect}.toml")), text(&format!("dialects/{dialect}-operators.toml"))) {
        (Some(profile), Some(operators)) => Profile::parse(dialect, profile, operators),
        _ => Err(ProfileError::Missing(dialect.to_owned())),
    }
}

/// Why classes cannot be loaded.
#[derive(Debug, Error)]
pub enum CatalogueError {
    /// A class is broken.
    #[error(transparent)]
    Class(#[from] ClassError),
    /// A file cannot be read.
    #[error("cannot read the class file {path}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

/// The shipped classes, sorted by name.
pub fn classes() -> Result<Vec<OracleClass>, ClassError> {
    let files = CORPUS.get_dir("classes").map(Dir::files).into_iter().flatten();
    let files = files.map(|f| (f.path().display().to_string(), f.contents_utf8().unwrap_or_default().to_owned()));
    merge(files)
}

/// The classes of the given files, or the shipped ones where none are given.
pub fn classes_from(paths: &[PathBuf]) -> Result<Vec<OracleClass>, CatalogueError> {
    if paths.is_empty() {
        return Ok(classes()?);
    }
    let read = |path: &PathBuf| {
        let name = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Ok((name, text)),
            Err(source) => Err(CatalogueError::Read { path: name, source }),
        }
    };
    let files: Vec<(String, String)> = paths.iter().map(read).collect::<Result<_, _>>()?;
    Ok(merge(files)?)
}

fn merge(files: impl IntoIterator<Item = (String, String)>) -> Result<Vec<OracleClass>, ClassError> {
    let mut all: Vec<OracleClass> = Vec::new();
    for (path, text) in files {
        for class in parse_classes(&path, &text)? {
            if let Some(other) = all.iter().find(|c| c.name == class.name) {
                let message = format!("{} has a class of the same name", other.file);
                return Err(ClassError::Class { file: path, class: class.name, message });
            }
            all.push(class);
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

/// The shipped snippets of a dialect that pass the checks by name, and how many were refused for each reason.
pub fn snippets(profile: &Profile) -> (Vec<Snippet>, BTreeMap<String, usize>) {
    #[derive(Deserialize)]
    struct Line {
        sql: String,
    }
    let mut accepted = Vec::new();
    let mut refused = BTreeMap::new();
    for line in text(&format!("snippets/{}.jsonl", profile.name)).unwrap_or_default().lines() {
        let result = serde_json::from_str::<Line>(line)
            .map_err(|e| SnippetError::Unmappable(e.to_string()))
            .and_then(|line| Snippet::parse(&line.sql, profile));
        match result {
            Ok(snippet) => accepted.push(snippet),
            Err(error) => *refused.entry(error.to_string()).or_default() += 1,
        }
    }
    (accepted, refused)
}
