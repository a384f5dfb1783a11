//! Known bugs: what is met again and reported no more.
//!
//! A list is a file in TOML, reviewed like code, with an entry for each bug: a fingerprint, or conditions that all must hold,
//! and the reason why it is on the list. A finding that an entry covers is counted and shown as known; nothing is hidden.

use super::finding::Finding;
use super::fingerprint::Fingerprint;
use super::script::Versions;
use crate::config::matches_glob;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::Path;
use thiserror::Error;

/// The file of a directory of findings that says which bugs are known there.
pub const KNOWN_FILE: &str = "known.toml";

/// What stands between patterns of which one will do.
const OR: &str = " | ";

/// A known bug.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KnownBug {
    /// The engine, as in a target; every one if none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// Why it is not reported.
    pub reason: String,
    /// The engine's own issue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// The versions that have it, `A to B, C`; all if none are named. On others it is news.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versions: Option<String>,
    /// The day, as in 2027-01-31, from which it is reported again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// A script with answers that shows it: in the shipped lists one of `tests/known-bugs`, else a path from the list. On a
    /// version newer than all that have the bug, a hunt runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// The finding from which the entry was made; it is in a directory beside the list, and is run in the same way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finding: Option<String>,
    /// What its findings have in common, as `caqtus bug list` shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The kind of failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The name of the class; in this and the following `*` stands for any text, and ` | ` between texts of which one will
    /// do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The cause: the part of the fingerprint behind the kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// What the engine said, without names and numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The text of the core, or of the statements and queries, without names and values, in lower case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// Constructs that it needs, all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    bug: Vec<KnownBug>,
}

/// Why a list cannot be used.
#[derive(Debug, Error)]
pub enum KnownError {
    /// It cannot be read or written.
    #[error("cannot use {path}")]
    Io {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It has not the form.
    #[error("{path} is no list of known bugs")]
    Form {
        /// The file.
        path: String,
        /// Where, and what is wrong.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// An entry is wrong.
    #[error("{path}, bug {number}: {what}")]
    Entry {
        /// The file.
        path: String,
        /// Its place, from 1.
        number: usize,
        /// What is wrong with it.
        what: String,
    },
    /// It cannot be written as TOML.
    #[error("an entry cannot be written as TOML")]
    Toml(#[from] toml::ser::Error),
}

impl KnownBug {
    /// What makes an entry useless, or too wide to be right.
    fn flaw(&self) -> Option<String> {
        let Self { fingerprint, kind: _, class, cause, message, shape, features, reason, versions, expires, .. } = self;
        let says = fingerprint.is_some() || class.is_some() || cause.is_some() || message.is_some() || shape.is_some();
        if reason.trim().is_empty() {
            return Some("it has no reason".to_owned());
        }
        if !says && features.is_empty() {
            return Some(
                "it covers everything; name a fingerprint, class, cause, message, shape or features".to_owned(),
            );
        }
        if let Some(what) = versions.as_ref().and_then(|versions| Versions::parse(versions).err()) {
            return Some(format!("versions: {what}"));
        }
        let is_date = |text: &String| {
            let parts: Vec<usize> = text.split('-').map(str::len).collect();
            parts == [4, 2, 2] && text.bytes().all(|b| b.is_ascii_digit() || b == b'-')
        };
        expires
            .as_ref()
            .filter(|text| !is_date(text))
            .map(|text| format!("expires: `{text}` is no day as in 2027-01-31"))
    }

    /// Whether it counts on a version of an engine on a day.
    pub fn counts(&self, engine: &str, version: &str, today: &str) -> bool {
        let has_it = |versions: &String| Versions::parse(versions).is_ok_and(|versions| versions.contains(version));
        self.engine.as_ref().is_none_or(|own| own == engine)
            && self.versions.as_ref().is_none_or(has_it)
            && self.expires.as_ref().is_none_or(|day| today < day.as_str())
    }

    /// Whether a finding is of this bug.
    pub fn covers(&self, finding: &Finding) -> bool {
        let Fingerprint { kind, cause } = finding.fingerprint();
        let glob = |pattern: &Option<String>, text: &str| {
            let matches = |pattern: &String| pattern.split(OR).any(|pattern| matches_glob(pattern, text));
            pattern.as_ref().is_none_or(matches)
        };
        // Without a core it is not known what is needed.
        let has = |feature: &String| match finding.cause.core {
            Some(_) => finding.cause.needs.contains(feature),
            None => finding.cause.needs.contains(feature) || finding.features.contains(feature),
        };
        self.fingerprint.as_ref().is_none_or(|own| *own == format!("{kind}: {cause}"))
            && self.kind.as_ref().is_none_or(|own| *own == kind)
            && glob(&self.class, &finding.class)
            && glob(&self.cause, &cause)
            && glob(&self.message, &finding.cause.message)
            && glob(&self.shape, &finding.cause.shape)
            && self.features.iter().all(has)
    }

    /// The reason with the engine's own issue.
    pub fn why(&self) -> String {
        match &self.upstream {
            Some(upstream) => format!("{} ({upstream})", self.reason),
            None => self.reason.clone(),
        }
    }
}

/// The entry that covers a finding on a day.
pub fn known<'a>(bugs: &'a [KnownBug], engine: &str, finding: &Finding, today: &str) -> Option<&'a KnownBug> {
    bugs.iter().find(|bug| bug.counts(engine, &finding.version, today) && bug.covers(finding))
}

/// Why a finding is no news on a day: an entry covers it, or another target of the hunt shows it too.
pub fn reason(bugs: &[KnownBug], engine: &str, finding: &Finding, today: &str) -> Option<String> {
    let also = || finding.cause.also_on.as_ref().map(|target| format!("{target} shows it too"));
    known(bugs, engine, finding, today).map(KnownBug::why).or_else(also)
}

/// Reads a list. `path` is its name in errors.
pub fn parse(path: &str, text: &str) -> Result<Vec<KnownBug>, KnownError> {
    let form = |source| KnownError::Form { path: path.to_owned(), source: Box::new(source) };
    let File { bug } = toml::from_str(text).map_err(form)?;
    for (at, entry) in bug.iter().enumerate() {
        if let Some(what) = entry.flaw() {
            return Err(KnownError::Entry { path: path.to_owned(), number: at + 1, what });
        }
    }
    Ok(bug)
}

/// Reads a list from a file.
pub fn read(path: &Path) -> Result<Vec<KnownBug>, KnownError> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|source| KnownError::Io { path: name.clone(), source })?;
    parse(&name, &text)
}

/// The list of a directory of findings; empty if it has none.
pub fn of_directory(findings: &Path) -> Result<Vec<KnownBug>, KnownError> {
    let path = findings.join(KNOWN_FILE);
    if path.exists() { read(&path) } else { Ok(Vec::new()) }
}

/// Adds an entry to the list of a directory of findings, behind what people wrote there.
pub fn add(findings: &Path, entry: &KnownBug) -> Result<(), KnownError> {
    let path = findings.join(KNOWN_FILE);
    let name = path.display().to_string();
    let mut text = if path.exists() {
        fs::read_to_string(&path).map_err(|source| KnownError::Io { path: name.clone(), source })?
    } else {
        String::new()
    };
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(&toml::to_string(&File { bug: vec![entry.clone()] })?);
    parse(&name, &text)?;
    fs::write(&path, text).map_err(|source| KnownError::Io { path: name, source })
}

#[cfg(test)]
mod tests {
    use super::super::script::{Answer, Script};
    use super::*;
    use crate::catalogue;
    use crate::program::Step;
    use crate::sql::error::{ErrorClass, in_general};
    use crate::triage::features::features;
    use crate::triage::finding::FindingKind;
    use crate::triage::finding::tests::finding;

    #[test]
    fn an_entry_covers_what_all_its_conditions_hold_for() {
        let mut one = finding();
        one.conclude();
        let text = "[[bug]]\nreason = 'r'\nengine = 'sqlite'\nversions = '1 to 2'\nexpires = '2027-01-01'\nmessage = 'it is *'\n";
        let bugs = parse("f", text).expect("reads");
        let covered = |engine, today| known(&bugs, engine, &one, today).is_some();
        assert!(covered("sqlite", "2026-12-31"));
        assert!(!covered("duckdb", "2026-12-31") && !covered("sqlite", "2027-01-01"));
        let other = |line: &str| parse("f", &format!("{text}{line}")).expect("reads")[0].covers(&one);
        assert!(other("kind = 'internal-error'") && other("class = 'c'") && !other("class = 'd*'"));
        assert!(other("class = 'd | c'") && !other("class = 'd | e'"));
        assert!(!other("features = ['window']") && !other("kind = 'crash'"));
        one.version = "3".to_owned();
        assert!(known(&bugs, "sqlite", &one, "2026-12-31").is_none(), "on another version it is news");
    }

    #[test]
    fn shipped_entries_cover_the_scripts_that_they_name_and_hardly_any_other() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let scripts = root.join("tests/known-bugs");
        let (mut entries, mut wrong) = (0, Vec::new());
        for engine in catalogue::dialects() {
            let list = root.join(format!("corpus/known/{engine}.toml"));
            let bugs = if list.exists() { read(&list).expect("the list is whole") } else { Vec::new() };
            assert_eq!(bugs.is_empty(), catalogue::known_bugs(&engine).is_empty(), "{engine}: it ships");
            entries += bugs.len();
            let of_engine = fs::read_dir(&scripts).expect("scripts").flatten().map(|entry| entry.path());
            let of_engine = of_engine.filter(|path| path.extension().is_some_and(|end| end == "slt"));
            let all: Vec<(String, Script)> = of_engine
                .map(|path| {
                    (path.file_name().unwrap().to_string_lossy().into_owned(), Script::read(&path).expect("reads"))
                })
                .filter(|(_, script)| script.engine() == engine)
                .collect();
            for bug in bugs {
                // No script turns a switch of the target; what only one of them shows is told by the switch and the shape.
                let Some(name) = bug.script.clone() else {
                    assert!(bug.cause.is_some() && bug.shape.is_some(), "{}", bug.reason);
                    continue;
                };
                let covers = |(_, script): &&(String, Script)| {
                    // What an experiment on the engine would show is not known here.
                    let known = KnownBug { cause: None, ..bug.clone() };
                    known.covers(&as_finding(script, bug.kind.as_deref().unwrap_or("wrong-result")))
                };
                let covered: Vec<&str> = all.iter().filter(covers).map(|(name, _)| name.as_str()).collect();
                let script = &all.iter().find(|(other, _)| *other == name).expect("the script").1;
                if !covered.contains(&name.as_str()) || covered.len() > 3 {
                    let shape = as_finding(script, "wrong-result").cause.shape;
                    wrong.push(format!("{name}, of shape {shape}: {covered:?}"));
                }
                assert!(catalogue::known_script(&name).is_some_and(|text| Script::parse(text).is_ok()), "{name} ships");
                let wrong = script.versions("wrong").expect("versions");
                let newest = wrong.ends().last().expect("a version");
                assert!(bug.counts(&engine, newest, "2026-01-01"), "{name}: it does not count on {newest}");
            }
        }
        assert_eq!(wrong, Vec::<String>::new(), "entries that do not cover their own script, or too many");
        assert!(entries > 20, "{entries}");
    }

    /// A script as if it had been found.
    fn as_finding(script: &Script, kind: &str) -> Finding {
        let mut one = finding();
        one.kind = kind.parse().expect("a kind");
        let (queries, statements): (Vec<_>, Vec<_>) = script.blocks.iter().partition(|block| block.is_query);
        one.statements = statements.iter().map(|block| block.sql.clone()).collect();
        one.queries = queries.iter().map(|block| Step::query(block.sql.as_str()).into()).collect();
        let actual = || script.blocks.iter().flat_map(|block| &block.actual);
        if actual().any(|(_, answer)| matches!(answer, Answer::Fails(ErrorClass::Crash, _))) {
            one.kind = FindingKind::Crash;
        }
        let fails =
            actual().filter_map(|(_, answer)| if let Answer::Fails(_, text) = answer { Some(text) } else { None });
        one.features = features(one.texts());
        one.conclude();
        one.cause.message = in_general(&fails.map(String::as_str).collect::<Vec<_>>().join(" "));
        one
    }

    #[test]
    fn an_entry_that_says_nothing_is_refused() {
        for (text, what) in [
            ("[[bug]]\nreason = 'r'\n", "covers everything"),
            ("[[bug]]\nclass = 'c'\n", "no reason"),
            ("[[bug]]\nreason = 'r'\nclass = 'c'\nversions = 'some'\n", "is no version"),
            ("[[bug]]\nreason = 'r'\nclass = 'c'\nexpires = 'soon'\n", "is no day"),
            ("[[bug]]\nreason = 'r'\nclasses = 'c'\n", "is no list"),
        ] {
            let said = parse("f", text).expect_err(text).to_string();
            assert!(said.contains(what), "{text}: {said}");
        }
    }

    #[test]
    fn what_is_added_is_read_and_what_was_there_stays() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join(KNOWN_FILE), "# mine\n[[bug]]\nreason = 'r'\nclass = 'c'\n").expect("writes");
        let entry =
            KnownBug { reason: "it's said".to_owned(), fingerprint: Some("a: b".to_owned()), ..KnownBug::default() };
        add(dir.path(), &entry).expect("adds");
        assert_eq!(of_directory(dir.path()).expect("reads")[1], entry);
        assert!(fs::read_to_string(dir.path().join(KNOWN_FILE)).expect("reads").starts_with("# mine"));
        assert!(of_directory(&dir.path().join("none")).expect("reads").is_empty());
    }
}
