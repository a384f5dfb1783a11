//! Findings: shown again on other versions, and the versions between which they came and went.

use super::{Progress, engine};
use crate::catalogue;
use crate::config::{HANG_MS, STATEMENT_LIMITS};
use crate::dbms::Connection as _;
use crate::dbms::install::{EngineStore, InstallError, known_versions, version_key};
use crate::dbms::sqlite::Sqlite;
use crate::dbms::target::{Target, TargetError};
use crate::hunt::error::HuntError;
use crate::hunt::probe::OPENING;
use crate::hunt::replay;
use crate::interpret::Verdict;
use crate::triage::bisect::{Bisection, Seen, VersionSearch};
use crate::triage::cause::Fixed;
use crate::triage::finding::{Finding, FindingError, FindingKind, FindingQuery, Listing, shell_word, survey};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// Why a finding cannot be read, replayed or bisected.
#[derive(Debug, Error)]
pub enum FindingUseError {
    /// It cannot be read.
    #[error(transparent)]
    Finding(#[from] FindingError),
    /// There is no directory of findings.
    #[error("there is no directory {0}; `caqtus hunt --out {0}` makes it, and --findings names another one")]
    NoDirectory(String),
    /// The target's name is none.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The process that replays cannot be started, or the target not be opened.
    #[error(transparent)]
    Hunt(#[from] HuntError),
    /// The process that replays said nothing that can be read.
    #[error("the process that was to replay {dir} said nothing")]
    Silent {
        /// The finding's directory.
        dir: String,
        /// What is wrong with what it said.
        #[source]
        source: serde_json::Error,
    },
    /// What became known of it cannot be written down.
    #[error("cannot write into {dir} what is known of the finding now")]
    Write {
        /// The finding's directory.
        dir: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A version cannot be installed.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// The linked engine cannot be asked for its version.
    #[error(transparent)]
    Engine(#[from] crate::dbms::EngineError),
    /// The version on which it was found is not here.
    #[error(
        "{engine} {version}, on which it was found, is not installed; `caqtus dbms install {engine}@{version}` or --install \
         gets it"
    )]
    NotHere {
        /// The engine.
        engine: String,
        /// The version.
        version: String,
    },
    /// It does not show where it was found.
    #[error("it does not show on {engine} {version}, on which it was found")]
    Gone {
        /// The engine.
        engine: String,
        /// The version.
        version: String,
    },
}

/// Whether a finding shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplayState {
    /// It does.
    Shows,
    /// The queries agree.
    Agrees,
    /// Set-up or a query does not run here.
    Void,
}

/// What a replay showed: the output contract of `caqtus bug replay --json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Replayed {
    /// The engine's version.
    pub version: String,
    /// Whether it shows.
    pub state: ReplayState,
    /// What kind of failure shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<FindingKind>,
    /// What does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The queries, with what each did.
    pub queries: Vec<FindingQuery>,
}

impl Replayed {
    /// Describes a replay.
    pub fn new(version: String, verdict: &Verdict, queries: Vec<FindingQuery>) -> Self {
        let (state, kind) = match verdict {
            Verdict::Violated { .. } => (ReplayState::Shows, Some(FindingKind::WrongResult)),
            Verdict::Broken { error, .. } => (ReplayState::Shows, Some(error.class.into())),
            Verdict::Holds => (ReplayState::Agrees, None),
            Verdict::Void(_) => (ReplayState::Void, None),
        };
        let why = match verdict {
            Verdict::Void(error) => Some(error.to_string()),
            _ => None,
        };
        Self { version, state, kind, why, queries }
    }

    /// Describes a replay on a target that cannot be opened.
    pub fn unopened(error: &anyhow::Error) -> Self {
        let why = Some(format!("it cannot be opened: {error:#}"));
        Self { version: String::new(), state: ReplayState::Void, kind: None, why, queries: Vec::new() }
    }
}

/// What came of a replay in a process of its own.
#[derive(Debug, Clone)]
pub enum ReplayOutcome {
    /// It came to its end.
    Ended(Replayed),
    /// The process crashed or hung, which shows the finding.
    Broke(FindingKind),
}

impl ReplayOutcome {
    /// Whether the finding shows.
    pub fn state(&self) -> ReplayState {
        match self {
            Self::Ended(replayed) => replayed.state,
            Self::Broke(_) => ReplayState::Shows,
        }
    }
}

/// The findings of a directory, which must be there.
pub fn all(dir: &Path) -> Result<Listing, FindingUseError> {
    Ok(survey(existing(dir)?)?)
}

/// A directory of findings, which must be there.
pub fn existing(dir: &Path) -> Result<&Path, FindingUseError> {
    if dir.is_dir() { Ok(dir) } else { Err(FindingUseError::NoDirectory(shell_word(dir))) }
}

/// Runs the finding in a directory again in a process of its own: on the target on which it was found, or another one.
pub async fn replay(
    dir: &Path,
    finding: &Finding,
    target: &Target,
    data_dir: &Path,
) -> Result<ReplayOutcome, FindingUseError> {
    // A target that cannot be opened is said with what to do, not as a failed process. Unless that is the finding.
    if finding.class != OPENING {
        engine::open_apart(target, data_dir).await?;
    }
    replay_in(dir, &target.to_string(), data_dir).await
}

async fn replay_in(dir: &Path, target: &str, data_dir: &Path) -> Result<ReplayOutcome, FindingUseError> {
    match replay::replay(&dir.join("case.json"), target, data_dir, Duration::from_millis(HANG_MS)).await? {
        Ok(said) => {
            let replayed = serde_json::from_str(said.lines().last().unwrap_or_default());
            let silent = |source| FindingUseError::Silent { dir: dir.display().to_string(), source };
            Ok(ReplayOutcome::Ended(replayed.map_err(silent)?))
        }
        Err(broken) => Ok(ReplayOutcome::Broke(broken.kind)),
    }
}

/// What a version of an engine does with the finding in a directory.
pub async fn seen_on(dir: &Path, engine: &str, version: &str, data_dir: &Path) -> Result<Seen, FindingUseError> {
    let outcome = replay_in(dir, &format!("{engine}@{version}"), data_dir).await?;
    Ok(match outcome.state() {
        ReplayState::Shows => Seen::Shows,
        ReplayState::Agrees => Seen::Agrees,
        ReplayState::Void => Seen::Void,
    })
}

/// The versions of an engine that are here, oldest first.
fn versions_here(engine: &str, data_dir: &Path) -> Result<Vec<String>, FindingUseError> {
    let mut versions = EngineStore::new(data_dir).versions(engine);
    if engine == "sqlite" {
        let linked = Sqlite::linked(STATEMENT_LIMITS)?.version();
        if !versions.contains(&linked) {
            versions.push(linked);
        }
    }
    versions.sort_by_key(|version| version_key(version));
    Ok(versions)
}

/// Finds the first and the last version that show the finding in a directory, halving, among those that are here; with
/// `install` among all that are known, of which those that are needed are installed.
pub async fn bisect(
    dir: &Path,
    finding: &Finding,
    data_dir: &Path,
    install: bool,
    progress: &mut dyn Progress,
) -> Result<Bisection, FindingUseError> {
    let target: Target = finding.dbms.parse()?;
    let engine = target.dialect();
    let mut versions = versions_here(engine, data_dir)?;
    let known = known_versions(engine);
    if install {
        versions.extend(known.iter().cloned());
        versions.sort_by_key(|version| version_key(version));
        versions.dedup();
    }
    // As it is installed: a package's name and what the engine in it says of itself may differ.
    let own = match &target {
        Target::Version { version, .. } => version,
        _ => &finding.version,
    };
    let named = || (engine.to_owned(), own.clone());
    let Some(bad) = versions.iter().position(|version| version_key(version) == version_key(own)) else {
        let (engine, version) = named();
        return Err(FindingUseError::NotHere { engine, version });
    };
    let installable = if install { known } else { Vec::new() };
    let mut looking = Looking { dir, engine, data_dir, installable, progress };
    // What does not show where it was found has no boundary.
    if looking.at(&versions[bad]).await? != Seen::Shows {
        let (engine, version) = named();
        return Err(FindingUseError::Gone { engine, version });
    }
    let mut search = VersionSearch::new(&versions, bad);
    while let Some(at) = search.wanted() {
        search.tell(at, looking.at(&versions[at]).await?);
    }
    let found = search.end();
    let fixed = Fixed { last_bad: found.last_bad.clone(), first_good: found.first_good.clone() };
    note_fix(dir, finding, Some(fixed), engine)?;
    Ok(found)
}

/// What it takes to look at versions one after the other.
struct Looking<'a> {
    dir: &'a Path,
    engine: &'a str,
    data_dir: &'a Path,
    /// Versions that are installed when they are needed.
    installable: Vec<String>,
    progress: &'a mut dyn Progress,
}

impl Looking<'_> {
    /// What a version does with the finding.
    async fn at(&mut self, version: &str) -> Result<Seen, FindingUseError> {
        let Self { dir, engine, data_dir, .. } = *self;
        let is_here = || EngineStore::new(data_dir).versions(engine).iter().any(|v| v == version);
        if self.installable.iter().any(|v| v == version) && !is_here() {
            engine::install(data_dir, engine, version, self.progress).await?;
        }
        let seen = seen_on(dir, engine, version, data_dir).await?;
        self.progress.note(&format!("{engine}@{version}: {seen}"));
        Ok(seen)
    }
}

/// Findings with the versions that show them: a line of `caqtus bug spans --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Span {
    /// The versions, oldest first.
    pub versions: Vec<String>,
    /// The SQL features of the findings.
    pub features: Vec<String>,
    /// Their identifiers.
    pub findings: Vec<String>,
    /// Their classes.
    pub classes: Vec<String>,
}

/// Where a finding was fixed, by what versions, oldest first, do with it; nothing if its own version does not show it.
fn fix_of(seen: &[(String, Seen)], own: &str) -> Option<Fixed> {
    let at =
        seen.iter().position(|(version, seen)| version_key(version) == version_key(own) && *seen == Seen::Shows)?;
    let good = seen[at..].iter().position(|(_, seen)| *seen == Seen::Agrees).map(|good| at + good);
    let bad = seen[at..good.unwrap_or(seen.len())].iter().rfind(|(_, seen)| *seen == Seen::Shows)?;
    Some(Fixed { last_bad: bad.0.clone(), first_good: good.map(|good| seen[good].0.clone()) })
}

/// Writes down where a finding was fixed, which tells bugs apart.
fn note_fix(dir: &Path, finding: &Finding, fixed: Option<Fixed>, engine: &str) -> Result<(), FindingUseError> {
    if fixed.is_none() || finding.cause.fixed == fixed {
        return Ok(());
    }
    let mut known = finding.clone();
    known.cause.fixed = fixed;
    let cannot = |source| FindingUseError::Write { dir: dir.display().to_string(), source };
    let profile = catalogue::profile(engine).map_err(|error| cannot(std::io::Error::other(error)))?;
    known.rewrite(dir, &profile).map_err(cannot)
}

/// Which versions that are here show each finding, by versions and features.
pub async fn spans(findings: &[(PathBuf, Finding)], data_dir: &Path) -> Result<Vec<Span>, FindingUseError> {
    let mut groups: BTreeMap<(Vec<String>, Vec<String>), Vec<&Finding>> = BTreeMap::new();
    for (dir, finding) in findings {
        let target: Target = finding.dbms.parse()?;
        let mut seen = Vec::new();
        for version in versions_here(target.dialect(), data_dir)? {
            let found = seen_on(dir, target.dialect(), &version, data_dir).await?;
            seen.push((version, found));
        }
        note_fix(dir, finding, fix_of(&seen, &finding.version), target.dialect())?;
        let showing: Vec<String> =
            seen.into_iter().filter(|(_, seen)| *seen == Seen::Shows).map(|(version, _)| version).collect();
        groups.entry((showing, finding.features.clone())).or_default().push(finding);
    }
    let span = |((versions, features), findings): ((Vec<String>, Vec<String>), Vec<&Finding>)| {
        let mut classes: Vec<String> = findings.iter().map(|f| f.class.clone()).collect();
        classes.dedup();
        Span { versions, features, findings: findings.iter().map(|f| f.id.clone()).collect(), classes }
    };
    Ok(groups.into_iter().map(span).collect())
}
