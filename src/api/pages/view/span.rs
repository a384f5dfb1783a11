//! The versions of an engine that show a bug, as boxes in a row.

use serde::Serialize;
use serde_json::Value;

/// Width of a box.
const BOX: usize = 30;
/// Room for the versions' names, which stand slanted below.
const NAMES: usize = 84;

/// Versions in order, and what each does.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Span {
    versions: Vec<Version>,
    /// Where it came and went, in a sentence.
    words: String,
    width: usize,
    height: usize,
}

#[derive(Debug, PartialEq, Serialize)]
struct Version {
    name: String,
    /// `shows`, `agrees` or `void`.
    seen: String,
    x: usize,
}

impl Span {
    /// The span of a bisection, as the store keeps it.
    pub(crate) fn new(bisection: &Value) -> Option<Self> {
        let named = |field: &str| bisection.get(field).and_then(Value::as_str);
        let (first, last) = (named("first_bad")?, named("last_bad")?);
        let mut versions = Vec::new();
        for (at, pair) in bisection.get("seen")?.as_array()?.iter().enumerate() {
            let name = pair.get(0)?.as_str()?.to_owned();
            versions.push(Version { name, seen: pair.get(1)?.as_str()?.to_owned(), x: at * BOX });
        }
        let came = match named("good_before") {
            Some(before) => format!("It came with {first}; {before} does not show it."),
            None => format!("{first} shows it, and no older version that was looked at does not."),
        };
        let went = match named("first_good") {
            Some(good) => format!("It is gone since {good}."),
            None => format!("{last} shows it still, and no newer version that was looked at does not."),
        };
        Some(Self {
            width: versions.len() * BOX + NAMES,
            height: BOX + NAMES,
            versions,
            words: format!("{came} {went}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::triage::bisect::{Bisection, Seen};

    #[test]
    fn what_a_bisection_says_is_drawn() {
        let seen = [("1", Seen::Agrees), ("2", Seen::Shows), ("3", Seen::Void)];
        let bisection = Bisection {
            good_before: Some("1".into()),
            first_bad: "2".into(),
            last_bad: "2".into(),
            first_good: None,
            seen: seen.map(|(version, seen)| (version.to_owned(), seen)).into(),
            left_out: Vec::new(),
        };
        let span = Span::new(&serde_json::to_value(bisection).expect("JSON")).expect("a span");
        let drawn: Vec<(&str, &str)> = span.versions.iter().map(|v| (v.name.as_str(), v.seen.as_str())).collect();
        assert_eq!(drawn, [("1", "agrees"), ("2", "shows"), ("3", "void")]);
        assert!(
            span.words.contains("came with 2; 1 does not") && span.words.contains("2 shows it still"),
            "{}",
            span.words
        );
        assert_eq!(Span::new(&Value::Null), None);
    }
}
