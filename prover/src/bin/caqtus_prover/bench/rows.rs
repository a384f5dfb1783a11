//! The pairs of a directory, with what is known of them.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use prover::{Limits, Pair};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::features;
use crate::pairs::{Expected, Row, Schemas, unreadable};
use crate::pool::Job;

/// What is known of a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(super) suite: String,
    pub(super) expected: Expected,
    /// Engines do not agree whether its queries differ.
    pub(super) disputed: bool,
    pub(super) features: Vec<&'static str>,
}

/// What engines said of each candidate, by id and index.
type Labels = HashMap<(String, usize), Label>;

/// Whether any engine saw no difference, and whether any saw one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Label {
    same: bool,
    differs: bool,
}

impl Label {
    fn expected(self) -> Expected {
        match self {
            Self { same: true, differs: false } => Expected::Eq,
            Self { same: false, differs: true } => Expected::Neq,
            Self { .. } => Expected::Unknown,
        }
    }
}

/// Rewrites of one query.
#[derive(Deserialize)]
struct Candidates {
    id: String,
    #[serde(default)]
    suite: Option<String>,
    schema: Value,
    seed: Value,
    #[serde(rename = "candidates")]
    rewrites: Vec<Value>,
    #[serde(default)]
    placeholders: BTreeMap<String, String>,
}

const LABELS: &str = ".labels.jsonl";

/// All pairs of the directory whose suite has a name like this.
pub(super) fn read(dir: &Path, suites: &str, limits: &Limits) -> anyhow::Result<Vec<Job<Tag>>> {
    let what = || format!("cannot read the directory {}", dir.display());
    let entries = std::fs::read_dir(dir).with_context(what)?;
    let mut files: Vec<PathBuf> = entries.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>().with_context(what)?;
    files.retain(|file| file.extension().is_some_and(|e| e == "jsonl") && !file.to_string_lossy().ends_with(LABELS));
    files.sort();
    let mut jobs = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut schemas = Schemas::beside(&file);
        let mut labels = None;
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            let rows = match parse(line) {
                Ok(Line::Pair(row)) => {
                    let label = row.expected;
                    vec![(*row, label.unwrap_or(Expected::Unknown), false)]
                }
                Ok(Line::Candidates(candidates)) => {
                    let labels = match &mut labels {
                        Some(labels) => labels,
                        none => none.insert(read_labels(&file.with_file_name(format!("{stem}{LABELS}")))?),
                    };
                    rows_of(*candidates, labels)
                }
                Err(message) => {
                    let tag =
                        Tag { suite: stem.clone(), expected: Expected::Unknown, disputed: false, features: Vec::new() };
                    let request = Err(unreadable(&format!("{stem} line {number}"), &message));
                    jobs.push(Job { tag, request });
                    continue;
                }
            };
            for (row, expected, disputed) in rows {
                let suite = row.suite.clone().unwrap_or_else(|| stem.clone());
                let features = features::of(&row.pair.q1, &row.pair.q2);
                let id = row.id.clone();
                let request = row.request(&mut schemas, limits).map_err(|message| unreadable(&id, &message));
                jobs.push(Job { tag: Tag { suite, expected, disputed, features }, request });
            }
        }
    }
    jobs.retain(|job| matches(suites, &job.tag.suite));
    Ok(jobs)
}

enum Line {
    Pair(Box<Row>),
    Candidates(Box<Candidates>),
}

fn parse(line: &str) -> Result<Line, String> {
    let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let parsed = if value.get("candidates").is_some() {
        serde_json::from_value(value).map(Line::Candidates)
    } else {
        serde_json::from_value(value).map(Line::Pair)
    };
    parsed.map_err(|error| error.to_string())
}

fn rows_of(candidates: Candidates, labels: &Labels) -> Vec<(Row, Expected, bool)> {
    let Candidates { id, suite, schema, seed, rewrites, placeholders } = candidates;
    let row = |(index, candidate): (usize, Value)| {
        let label = labels.get(&(id.clone(), index)).copied().unwrap_or_default();
        let row = Row {
            id: format!("{id}#{index}"),
            suite: suite.clone(),
            pair: Pair {
                schema: schema.clone(),
                q1: seed.clone(),
                q2: candidate,
                placeholders: placeholders.clone(),
                ..Pair::default()
            },
            expected: None,
        };
        (row, label.expected(), label.same && label.differs)
    };
    rewrites.into_iter().enumerate().map(row).collect()
}

/// The labels in a file; none if there is no such file.
fn read_labels(path: &Path) -> anyhow::Result<Labels> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Labels::new()),
        text => text.with_context(|| format!("cannot read {}", path.display()))?,
    };
    let mut labels = Labels::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let (key, label) = label(line).with_context(|| format!("{} line {number} is no label", path.display()))?;
        labels.insert(key, label);
    }
    Ok(labels)
}

fn label(line: &str) -> anyhow::Result<((String, usize), Label)> {
    #[derive(Deserialize)]
    struct Labelled {
        id: String,
        candidate_index: usize,
        #[serde(flatten)]
        others: Map<String, Value>,
    }
    let Labelled { id, candidate_index, others } = serde_json::from_str(line)?;
    // Whatever else there is, only an engine's column has one of these words; the third is `error`.
    let says = |word: &str| others.values().any(|value| value == word);
    Ok(((id, candidate_index), Label { same: says("same"), differs: says("differs") }))
}

/// Whether a name matches a pattern in which `*` stands for any text.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, tail)) => name.strip_prefix(head).is_some_and(|rest| {
            (0..=rest.len()).filter(|at| rest.is_char_boundary(*at)).any(|at| matches(tail, &rest[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        for (pattern, name) in [("*", ""), ("calcite*", "calcite-1"), ("*cite", "calcite"), ("a*b*c", "aXbYc")] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("calcite", "calcite-1"), ("*x", "calcite"), ("a*b*c", "aXcYb")] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn what_engines_say_makes_the_label() {
        let expected = |columns: &str| {
            let line = format!(r#"{{"id":"A","candidate_index":3,{columns},"witness":{{"x":"differs"}}}}"#);
            let (key, label) = label(&line).expect("a label");
            assert_eq!(key, ("A".to_owned(), 3));
            label.expected()
        };
        assert_eq!(expected(r#""duckdb":"same","sqlite":"error","sqlite_error":"syntax""#), Expected::Eq);
        assert_eq!(expected(r#""duckdb":"differs","sqlite":"differs""#), Expected::Neq);
        assert_eq!(expected(r#""duckdb":"differs","sqlite":"same","engines_disagree":true"#), Expected::Unknown);
        assert_eq!(expected(r#""duckdb":"error""#), Expected::Unknown);
    }

    #[test]
    fn a_directory_is_read_in_both_forms() {
        let dir = tempfile::tempdir().expect("a directory");
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).expect("written");
        write(
            "b.jsonl",
            "{\"id\":\"1\",\"suite\":\"s\",\"schema\":\"\",\"q1\":\"x\",\"q2\":\"y\",\"expected\":\"eq\"}\nbad\n",
        );
        write("c.jsonl", r#"{"id":"A","schema":"","dialects":[],"seed":"x","candidates":["y","z","w"]}"#);
        write(
            "c.labels.jsonl",
            "{\"id\":\"A\",\"candidate_index\":1,\"sqlite\":\"differs\"}
             {\"id\":\"A\",\"candidate_index\":2,\"sqlite\":\"differs\",\"duckdb\":\"same\"}",
        );
        write("notes.txt", "not read");
        let jobs = read(dir.path(), "*", &Limits::default()).expect("rows");
        let seen: Vec<_> = jobs
            .iter()
            .map(|job| {
                let id = job.request.as_ref().map_or_else(|answer| &answer.id, |request| &request.id);
                (job.tag.suite.as_str(), id.as_str(), job.tag.expected, job.tag.disputed)
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("s", "1", Expected::Eq, false),
                ("b", "b line 2", Expected::Unknown, false),
                ("c", "A#0", Expected::Unknown, false),
                ("c", "A#1", Expected::Neq, false),
                ("c", "A#2", Expected::Unknown, true),
            ]
        );
        assert_eq!(read(dir.path(), "c", &Limits::default()).expect("rows").len(), 3);
    }
}
