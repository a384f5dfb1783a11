//! What ships inside the binary: oracle classes, snippets and dialect profiles from `corpus/`.

use crate::caq::class::{ClassError, OracleClass, parse_classes};
use crate::corpus::snippet::{Snippet, SnippetError};
use crate::sql::profile::{Profile, ProfileError};
use include_dir::{Dir, include_dir};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;

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

/// The shipped classes, sorted by name.
pub fn classes() -> Result<Vec<OracleClass>, ClassError> {
    let mut all: Vec<OracleClass> = Vec::new();
    for file in CORPUS.get_dir("classes").map(Dir::files).into_iter().flatten() {
        let path = file.path().display().to_string();
        for class in parse_classes(&path, file.contents_utf8().unwrap_or_default())? {
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
