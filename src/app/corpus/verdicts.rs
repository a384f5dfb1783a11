//! What hunts find of snippets on a build of an engine goes to the store, where people look at it.

use crate::catalogue;
use crate::corpus::validate::SnippetVerdict;
use crate::dbms::target::Target;
use crate::hunt::session::known_verdicts;
use crate::store::{Build, Store};
use std::path::Path;

/// Notes the verdicts that the caches of hunts have of the store's snippets on a build; how many there are.
pub async fn note_verdicts(store: &Store, build: &Build<'_>, data_dir: &Path) -> anyhow::Result<usize> {
    let target: Target = build.dbms.parse()?;
    let profile = catalogue::profile(target.dialect())?;
    let verdicts = {
        let (data_dir, build_id, profile) = (data_dir.to_owned(), build.build_id.to_owned(), profile.clone());
        tokio::task::spawn_blocking(move || known_verdicts(&target, &data_dir, &build_id, &profile)).await?
    };
    if verdicts.is_empty() {
        return Ok(0);
    }
    let mut said = Vec::new();
    for line in store.snippet_list(&profile.name).await? {
        if let Some(verdict) = verdicts.get(&line.key()) {
            let valid = !matches!(verdict, SnippetVerdict::Refused(_));
            said.push((line.sql, valid, serde_json::to_value(verdict)?));
        }
    }
    store.snippet_validated(&profile.name, build, &said).await?;
    Ok(said.len())
}
