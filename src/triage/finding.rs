//! Findings and their directories.
//!
//! A finding is a directory of plain files: `case.json` has everything, `repro.sql` runs in the engine's own shell and
//! `report.md` is for people ([`report`](super::report)). The directory appears at once, by a rename, so that a kill leaves no half of one.

use super::cause::Cause;
use super::features::features;
pub use super::fingerprint::Fingerprint;
use super::limits::Limits;
use super::selfcheck::SelfCheck;
use super::shape::shape;
use crate::dbms::ErrorClass;
use crate::digest::Digest;
use crate::interpret::StepResult;
use crate::plan::PlanTree;
use crate::program::{Check, Relation, Step, Text};
use crate::sql::error::in_general;
use crate::sql::profile::Profile;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What kind of failure a finding is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, strum::Display, strum::EnumString,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum FindingKind {
    /// Equivalent queries returned different rows.
    WrongResult,
    /// The engine reported that it is broken.
    InternalError,
    /// The engine ended the process.
    Crash,
    /// A statement did not end within the time limit, nor when the engine was told to stop.
    Hang,
}

impl From<ErrorClass> for FindingKind {
    /// What an error that is a finding by itself becomes.
    fn from(class: ErrorClass) -> Self {
        match class {
            ErrorClass::Crash => Self::Crash,
            ErrorClass::Hang => Self::Hang,
            _ => Self::InternalError,
        }
    }
}

/// What queries returned in one of several runs that did not agree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeenRun {
    /// Which run it was.
    pub what: String,
    /// What each query did, in order.
    pub results: Vec<StepResult>,
    /// The query, where it is not the finding's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sql: Option<String>,
}

/// A query of a finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FindingQuery {
    /// The query and what stands around it. Members of a class are numbered from 1 here.
    #[serde(flatten)]
    pub step: Step,
    /// What it is an instance of, where that is no member of a class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// What it did.
    pub result: StepResult,
    /// By which plan, where the engine says so and it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanTree>,
}

impl FindingQuery {
    /// Bytes of the query.
    fn size(&self) -> usize {
        self.step.sql.sql().len()
    }
}

impl From<Step> for FindingQuery {
    fn from(step: Step) -> Self {
        Self { step, context: None, result: StepResult::None, plan: None }
    }
}

/// A finding as the hunt's summary lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundReport {
    /// Its identifier.
    pub id: String,
    /// What kind of failure.
    pub kind: String,
    /// The oracle.
    pub oracle: String,
    /// The class.
    pub class: String,
    /// Its directory.
    pub dir: String,
    /// What makes it vanish, what the engine said, or its class.
    #[serde(default)]
    pub cause: String,
    /// Characters of its statements and queries.
    #[serde(default)]
    pub size: usize,
    /// Where the corpus snippets of its case are from.
    #[serde(default)]
    pub origins: Vec<String>,
}

/// Characters of a message that tell bugs apart.
const MESSAGE_LENGTH_MAX: usize = 120;

impl FoundReport {
    /// See [`Finding::fingerprint`].
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint { kind: self.kind.clone(), cause: self.cause.clone() }
    }
}

/// A failed check with all that is needed to show it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Hash of kind, class, statements and queries.
    pub id: String,
    /// What kind of failure.
    pub kind: FindingKind,
    /// The oracle.
    pub oracle: String,
    /// The class.
    pub class: String,
    /// The target as the user named it.
    pub dbms: String,
    /// The engine's version.
    pub version: String,
    /// The engine's build.
    pub build_id: String,
    /// The campaign's seed.
    pub seed: u64,
    /// The block.
    pub block: u64,
    /// The case in the block.
    pub case: u64,
    /// Statements that make the database, in order.
    pub statements: Vec<String>,
    /// Its queries, in the order in which they run.
    pub queries: Vec<FindingQuery>,
    /// What must hold between their results. Findings that were written before there was more than one relation have
    /// nothing here: theirs must all be equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<Vec<Check>>,
    /// What was put into each placeholder.
    pub fillings: Vec<String>,
    /// Where the corpus snippets among it are from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<String>,
    /// SQL features of the case.
    pub features: Vec<String>,
    /// The optimizer switches that make a wrong result vanish, each turned alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cured_by: Vec<String>,
    /// What else it hangs on, as far as experiments showed.
    #[serde(default)]
    pub cause: Cause,
    /// Whether the case was reduced.
    pub reduced: bool,
    /// Positions of the statements that failed where it was found, as a row does that a key keeps out. Where it is not
    /// known, as for a case that ended the engine, there is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Vec<usize>>,
    /// For one that did not come again: what each run returned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<SeenRun>,
    /// What else there is to know about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What limits kept from being tried while it was reduced.
    #[serde(default, skip_serializing_if = "Limits::is_empty")]
    pub limits: Limits,
    /// How the engine itself can say that results differ, as far as it was seen to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_check: Option<SelfCheck>,
}

impl Finding {
    /// Sets the identifier from the content.
    pub fn seal(&mut self) {
        let mut digest = Digest::default();
        let mut add = |text: &str| digest.add(text);
        add(&self.kind.to_string());
        add(&self.class);
        add(&self.version);
        self.statements.iter().for_each(|s| add(s));
        for query in &self.queries {
            let Step { before, parameters, sql, switch, .. } = &query.step;
            before.iter().for_each(|text| add(&text.to_string()));
            parameters.iter().for_each(|text| add(text));
            add(&sql.to_string());
            add(switch.as_ref().map_or("", |switch| &switch.name));
        }
        self.id = digest.hex(12);
    }

    /// Notes what follows from what is known of it: its shape, what the engine said, and how the plans differ.
    pub fn conclude(&mut self) {
        self.cause.shape = match &self.cause.core {
            Some(core) => shape(core.texts()),
            None => shape(self.texts()),
        };
        if self.kind != FindingKind::WrongResult && self.reduced {
            self.cause.needs = features(self.texts());
        }
        self.cause.message = self.said().unwrap_or_default();
        let rows = |at: usize| self.queries.get(at)?.result.rows();
        let pair = self.checks().iter().find_map(|check| check.violation(rows));
        let labels = |at: usize| self.queries.get(at)?.plan.as_ref().map(PlanTree::labels);
        if let Some((one, other)) = pair.and_then(|(one, other)| Some((labels(one)?, labels(other)?))) {
            self.cause.plans = one.symmetric_difference(&other).map(|label| (*label).to_owned()).collect();
        }
    }

    /// Its statements and queries, with what stands around these.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let of_queries = self.queries.iter().flat_map(|query| query.step.texts()).map(Text::sql);
        self.statements.iter().map(String::as_str).chain(of_queries)
    }

    /// What the engine said where it broke, without names and values.
    fn said(&self) -> Option<String> {
        let said = self.queries.iter().rev().find_map(|query| match &query.result {
            StepResult::Error(error) if error.class.is_finding() => Some(in_general(&error.message)),
            _ => None,
        });
        said.filter(|said| !said.is_empty()).map(|said| said.chars().take(MESSAGE_LENGTH_MAX).collect())
    }

    /// Bytes of its statements and queries.
    pub fn size(&self) -> usize {
        self.statements.iter().map(String::len).chain(self.queries.iter().map(FindingQuery::size)).sum()
    }

    /// The line of the summary.
    pub fn found(&self, dir: &Path) -> FoundReport {
        FoundReport {
            id: self.id.clone(),
            kind: self.kind.to_string(),
            oracle: self.oracle.clone(),
            class: self.class.clone(),
            dir: dir.display().to_string(),
            cause: self.fingerprint().cause,
            size: self.size(),
            origins: self.origins.clone(),
        }
    }

    /// What must hold between the results of its queries.
    pub fn checks(&self) -> Vec<Check> {
        let all_equal = || vec![Check { relation: Relation::EqualBag, steps: (0..self.queries.len()).collect() }];
        self.checks.clone().unwrap_or_else(all_equal)
    }

    /// Writes the finding below `parent` and returns its directory. Writing it again changes nothing.
    pub fn write(&self, parent: &Path, profile: &Profile) -> io::Result<PathBuf> {
        let dir = parent.join(&self.id);
        if dir.join("case.json").exists() {
            return Ok(dir);
        }
        fs::create_dir_all(parent)?;
        let temporary = parent.join(format!(".{}-{}", self.id, std::process::id()));
        let _ = fs::remove_dir_all(&temporary);
        fs::create_dir_all(&temporary)?;
        let json = serde_json::to_string_pretty(self).map_err(io::Error::other)?;
        fs::write(temporary.join("case.json"), json + "\n")?;
        fs::write(temporary.join("repro.sql"), self.repro_sql(profile))?;
        // Flaky ones are found from the directory above.
        let findings = parent.parent().filter(|_| parent.ends_with(FLAKY)).unwrap_or(parent);
        fs::write(temporary.join("report.md"), self.report_md(profile, findings))?;
        match fs::rename(&temporary, &dir) {
            // Another executor found the same: the content is the same.
            Err(_) if dir.join("case.json").exists() => fs::remove_dir_all(&temporary)?,
            other => other?,
        }
        Ok(dir)
    }
}

/// Removes the directory of a finding that a smaller one replaces. Who met the same case elsewhere may have done so already.
pub fn remove(dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

impl Finding {
    /// Writes what became known of a finding since into its directory, `dir`.
    pub fn rewrite(&self, dir: &Path, profile: &Profile) -> io::Result<()> {
        let parent = dir.parent().unwrap_or(Path::new("."));
        let json = serde_json::to_string_pretty(self).map_err(io::Error::other)?;
        for (name, text) in [("report.md", self.report_md(profile, parent)), ("case.json", json + "\n")] {
            let temporary = dir.join(format!(".{name}-{}", std::process::id()));
            fs::write(&temporary, text)?;
            fs::rename(&temporary, dir.join(name))?;
        }
        Ok(())
    }
}

/// The directory beside findings for what did not come again.
pub const FLAKY: &str = "flaky";

/// A path as a word of a command.
pub fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@:".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Why findings cannot be read.
#[derive(Debug, Error)]
pub enum FindingError {
    /// A file cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file has not the expected form.
    #[error("{path} is no finding")]
    Form {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// There is no finding of that name.
    #[error("there is no finding {id} in {dir}; `caqtus bug list --findings {word}` shows those that are there")]
    Missing {
        /// What was asked for.
        id: String,
        /// Where.
        dir: String,
        /// The same as a word of a command.
        word: String,
    },
    /// There are several.
    #[error("{id} is the start of several findings in {dir}: {all}")]
    Ambiguous {
        /// What was asked for.
        id: String,
        /// Where.
        dir: String,
        /// Their identifiers.
        all: String,
    },
}

/// Reads one finding from its directory.
pub fn read(dir: &Path) -> Result<Finding, FindingError> {
    let path = dir.join("case.json");
    let text =
        fs::read_to_string(&path).map_err(|source| FindingError::Read { path: path.display().to_string(), source })?;
    serde_json::from_str(&text).map_err(|source| FindingError::Form { path: path.display().to_string(), source })
}

/// The findings of a directory.
#[derive(Debug, Default)]
pub struct Listing {
    /// Those that can be read, sorted by class, kind and id.
    pub findings: Vec<(PathBuf, Finding)>,
    /// What is wrong with the others. Each message names its file.
    pub damaged: Vec<FindingError>,
}

/// Reads all findings below a directory. One that is damaged hides no other.
pub fn survey(parent: &Path) -> Result<Listing, FindingError> {
    let entries = match fs::read_dir(parent) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Listing::default()),
        Err(source) => return Err(FindingError::Read { path: parent.display().to_string(), source }),
    };
    let mut listing = Listing::default();
    for entry in entries.flatten() {
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if hidden || !entry.path().join("case.json").exists() {
            continue;
        }
        match read(&entry.path()) {
            Ok(finding) => listing.findings.push((entry.path(), finding)),
            // A hunt that runs meanwhile replaced it by its reduced form.
            Err(FindingError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
            Err(error) => listing.damaged.push(error),
        }
    }
    listing.findings.sort_by(|(_, a), (_, b)| (&a.class, a.kind, &a.id).cmp(&(&b.class, b.kind, &b.id)));
    Ok(listing)
}

/// Reads all findings below a directory, where each must be whole.
pub fn list(parent: &Path) -> Result<Vec<(PathBuf, Finding)>, FindingError> {
    let Listing { findings, damaged } = survey(parent)?;
    damaged.into_iter().next().map_or(Ok(findings), Err)
}

/// Finds one by the start of its identifier, among those that came again before those that did not.
pub fn find(parent: &Path, id: &str) -> Result<(PathBuf, Finding), FindingError> {
    let dir = || parent.display().to_string();
    for place in [parent.to_owned(), parent.join(FLAKY)] {
        let Listing { findings, damaged } = survey(&place)?;
        let starts = |name: &str| !id.is_empty() && name.starts_with(id);
        let mut found: Vec<_> = findings.into_iter().filter(|(_, finding)| starts(&finding.id)).collect();
        if found.len() > 1 {
            let all = found.iter().map(|(_, finding)| finding.id.as_str()).collect::<Vec<_>>().join(" ");
            return Err(FindingError::Ambiguous { id: id.to_owned(), dir: dir(), all });
        }
        if let Some(only) = found.pop() {
            return Ok(only);
        }
        // Its directory has its name.
        if let Some(error) = damaged.into_iter().find(|error| error.directory().is_some_and(|name| starts(&name))) {
            return Err(error);
        }
    }
    Err(FindingError::Missing { id: id.to_owned(), dir: dir(), word: shell_word(parent) })
}

impl FindingError {
    /// The name of the directory that cannot be read.
    fn directory(&self) -> Option<String> {
        let (Self::Read { path, .. } | Self::Form { path, .. }) = self else { return None };
        Some(Path::new(path).parent()?.file_name()?.to_string_lossy().into_owned())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::catalogue::profile;
    use crate::dbms::EngineError;
    use crate::sql::types::Value;

    pub(in crate::triage) fn finding() -> Finding {
        let query = |result| FindingQuery { result, ..Step { member: 1, ..Step::query("SELECT 1") }.into() };
        let error = EngineError::new(ErrorClass::Internal, "it is broken\ncaused by\nSELECT 2; a join");
        let mut finding = Finding {
            id: String::new(),
            kind: FindingKind::InternalError,
            oracle: "caq".to_owned(),
            class: "c".to_owned(),
            dbms: "sqlite".to_owned(),
            version: "1".to_owned(),
            build_id: "1".to_owned(),
            seed: 1,
            block: 0,
            case: 0,
            statements: vec!["CREATE TABLE t(a)".to_owned()],
            queries: vec![
                query(StepResult::Error(error)),
                query(StepResult::Rows(vec![vec![Value::Text(b"1".to_vec()), Value::Int(1), Value::Null]])),
            ],
            checks: Some(Vec::new()),
            fillings: Vec::new(),
            origins: Vec::new(),
            features: Vec::new(),
            cured_by: Vec::new(),
            cause: Cause::default(),
            reduced: true,
            refused: None,
            runs: Vec::new(),
            note: None,
            limits: Limits::default(),
            self_check: None,
        };
        finding.seal();
        finding
    }

    #[test]
    fn a_report_says_where_the_finding_is() {
        let dir = tempfile::tempdir().expect("a directory");
        let profile = profile("sqlite").expect("shipped");
        let parent = dir.path().join("it's here");
        let written = finding().write(&parent, &profile).expect("writes");
        let report = fs::read_to_string(written.join("report.md")).expect("reads");
        let word = format!("'{}/it'\\''s here'", dir.path().display());
        assert!(report.contains(&format!("bug replay {} --findings {word}`", finding().id)), "{report}");
    }

    #[test]
    fn two_that_met_the_same_case_may_both_replace_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let written = finding().write(dir.path(), &profile("sqlite").expect("shipped")).expect("writes");
        remove(&written).expect("the first one removes it");
        remove(&written).expect("it is gone already");
        assert!(!written.exists());
        let file = dir.path().join("file");
        fs::write(&file, "").expect("writes");
        assert!(remove(&file).is_err(), "what cannot be removed is said");
    }

    #[test]
    fn one_damaged_finding_hides_no_other() {
        let dir = tempfile::tempdir().expect("a directory");
        let profile = profile("sqlite").expect("shipped");
        let whole = finding();
        whole.write(dir.path(), &profile).expect("writes");
        let mut flaky = finding();
        flaky.class = "d".to_owned();
        flaky.seal();
        flaky.write(&dir.path().join(FLAKY), &profile).expect("writes");
        let damaged = dir.path().join("00damaged00");
        fs::create_dir_all(&damaged).expect("makes");
        fs::write(damaged.join("case.json"), "{\"id\": \"00dam").expect("writes");
        let Listing { findings, damaged } = survey(dir.path()).expect("reads");
        assert_eq!(findings.len(), 1);
        assert!(damaged.len() == 1 && damaged[0].to_string().contains("00damaged00/case.json"), "{damaged:?}");
        assert!(list(dir.path()).is_err());
        assert_eq!(find(dir.path(), &whole.id).expect("found").1, whole);
        assert_eq!(find(dir.path(), &flaky.id).expect("found").1, flaky);
        let said = find(dir.path(), "00dam").expect_err("damaged").to_string();
        assert!(said.contains("00damaged00/case.json is no finding"), "{said}");
        assert!(find(dir.path(), "nothing").is_err());
    }
}
