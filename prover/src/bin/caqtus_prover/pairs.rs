//! Files of pairs: one JSON object per line.

use std::collections::HashMap;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use prover::wire::{Answer, Outcome, Request, Task};
use prover::{Limits, Pair};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::args::bounded_text;
use crate::pool::Job;

/// What somebody says of a pair beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Expected {
    /// Equivalent.
    Eq,
    /// Not equivalent.
    Neq,
    /// Not known, or a matter of the dialect.
    Unknown,
}

impl Expected {
    /// Whether a verdict says the opposite.
    pub(crate) fn contradicts(self, verdict: Outcome) -> bool {
        matches!((self, verdict), (Self::Eq, Outcome::Refuted) | (Self::Neq, Outcome::Proven))
    }
}

impl std::fmt::Display for Expected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Eq => "eq",
            Self::Neq => "neq",
            Self::Unknown => "unknown",
        })
    }
}

/// A line of a file of pairs.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Row {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) suite: Option<String>,
    #[serde(flatten)]
    pub(crate) pair: Pair,
    #[serde(default)]
    pub(crate) expected: Option<Expected>,
}

/// Schemas that are given by the name of a file in some directory.
pub(crate) struct Schemas {
    dir: PathBuf,
    texts: HashMap<String, String>,
}

impl Schemas {
    /// The files are looked for in this directory.
    pub(crate) fn beside(file: &Path) -> Self {
        Self { dir: file.parent().map(Path::to_owned).unwrap_or_default(), texts: HashMap::new() }
    }

    /// The schema itself. A text without a space or parenthesis declares nothing, so it is a name.
    pub(crate) fn resolve(&mut self, schema: Value) -> Result<Value, String> {
        let Value::String(text) = schema else { return Ok(schema) };
        if text.is_empty() || text.contains(|c: char| c.is_whitespace() || c == '(') {
            return Ok(Value::String(text));
        }
        if let Some(known) = self.texts.get(&text) {
            return Ok(known.clone().into());
        }
        let path = self.dir.join(&text);
        let read = regular_text(&path).map_err(|e| format!("schema {}: {e}", path.display()))?;
        self.texts.insert(text, read.clone());
        Ok(read.into())
    }
}

/// The text of a file that a pair names. Nobody waits there for a pipe, and a device may have no end.
fn regular_text(path: &Path) -> std::io::Result<String> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is no regular file"));
    }
    bounded_text(std::fs::File::open(path))
}

impl Row {
    /// The row of a line.
    pub(crate) fn parse(line: &str) -> Result<Self, String> {
        serde_json::from_str(line).map_err(|error| error.to_string())
    }

    /// What to ask for this row.
    pub(crate) fn request(self, schemas: &mut Schemas, limits: &Limits) -> Result<Box<Request>, String> {
        let Self { id, mut pair, .. } = self;
        pair.schema = schemas.resolve(pair.schema)?;
        Ok(Box::new(Request { id, pair, limits: Some(limits.clone()), task: Task::Decide, certificate: false }))
    }
}

/// The answer to a pair that cannot be read.
pub(crate) fn unreadable(id: &str, message: &str) -> Box<Answer> {
    Box::new(Answer::unknown(id, format!("unreadable: {message}")))
}

/// The pairs of a file, read as they are needed. A line that is no pair is unknown and costs no other.
pub(crate) fn jobs(
    input: impl BufRead + Send + 'static,
    mut schemas: Schemas,
    limits: Limits,
) -> impl Iterator<Item = Job<Option<Expected>>> + Send + 'static {
    let lines = input.lines().zip(1_u64..).map_while(|(line, number)| match line {
        // Bytes that are no text are one bad line; anything else means that the input is gone.
        Err(error) if error.kind() != std::io::ErrorKind::InvalidData => {
            eprintln!("caqtus-prover: reading ended at line {number}: {error}");
            None
        }
        line => Some((line, number)),
    });
    lines.filter(|(line, _)| !line.as_ref().is_ok_and(|line| line.trim().is_empty())).map(move |(line, number)| {
        let place = format!("line {number}");
        match line.map_err(|error| error.to_string()).and_then(|line| Row::parse(&line)) {
            Ok(row) => {
                let (id, tag) = (row.id.clone(), row.expected);
                let request = row.request(&mut schemas, &limits).map_err(|message| unreadable(&id, &message));
                Job { tag, request }
            }
            Err(message) => Job { tag: None, request: Err(unreadable(&place, &message)) },
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_read_from_a_regular_file_only() {
        let dir = tempfile::tempdir().expect("a directory");
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
        assert!(made.success());
        let mut schemas = Schemas::beside(&dir.path().join("pairs.jsonl"));
        for name in ["pipe", "/dev/zero", "."] {
            let error = schemas.resolve(name.into()).expect_err(name);
            assert!(error.contains("no regular file"), "{error}");
        }
        assert!(bounded_text(std::fs::File::open("/dev/zero")).is_err());
    }

    #[test]
    fn lines_become_jobs() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("s.sql"), "CREATE TABLE t(a INT)").expect("written");
        let text = r#"{"id":"text","schema":"CREATE TABLE u(b INT)","q1":"1","q2":"2","expected":"neq","note":"x"}
            {"id":"file","schema":"s.sql","q1":"1","q2":"2"}
            {"id":"plan","schema":[{"fields":[]}],"q1":{"scan":0},"q2":{"scan":0}}

            {"id":"no file","schema":"none.sql","q1":"1","q2":"2","expected":"eq"}
            {"id":"no query","schema":""}
            not JSON"#;
        let schemas = Schemas::beside(&dir.path().join("pairs.jsonl"));
        let jobs: Vec<_> = jobs(text.as_bytes(), schemas, Limits::default()).collect();
        let schema = |n: usize| &jobs[n].request.as_ref().expect("a request").pair.schema;
        assert_eq!(schema(0), "CREATE TABLE u(b INT)");
        assert_eq!(jobs[0].tag, Some(Expected::Neq));
        assert_eq!(schema(1), "CREATE TABLE t(a INT)");
        assert!(schema(2).is_array());
        let answer = |n: usize| jobs[n].request.as_ref().expect_err("an answer");
        assert_eq!((answer(3).id.as_str(), jobs[3].tag), ("no file", Some(Expected::Eq)));
        assert_eq!(answer(4).id, "line 6");
        assert_eq!(answer(5).id, "line 7");
        assert!(answer(5).reason.as_ref().is_some_and(|reason| reason.starts_with("unreadable: ")));
        assert_eq!(jobs.len(), 6);
    }
}
