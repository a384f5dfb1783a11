//! Findings: shown again, where they were found and on other versions.

use super::engine;
use crate::config::HANG_MS;
use crate::dbms::install::InstallError;
use crate::dbms::target::{Target, TargetError};
use crate::hunt::error::HuntError;
use crate::hunt::probe::{OPENING, broken_words};
use crate::hunt::replay::{self, Replay};
use crate::interpret::Verdict;
use crate::triage::finding::{Finding, FindingError, FindingKind, FindingQuery, Listing, shell_word, survey};
use serde::{Deserialize, Serialize};
use std::path::Path;
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
    /// Builds that are to be looked at cannot be listed.
    #[error("cannot list the builds in {path}")]
    Builds {
        /// The directory.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// There is no build to look at.
    #[error("there is no build of {engine} in {path}: {wanted} is wanted")]
    NoBuild {
        /// The engine.
        engine: String,
        /// The directory.
        path: String,
        /// What it looks like.
        wanted: &'static str,
    },
    /// No build shows it.
    #[error(
        "none of the {0} builds shows it, so there is nothing between which it came and went; add one that does, as the one on \
         which it was found"
    )]
    Nowhere(usize),
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
    pub fn unopened(why: String) -> Self {
        let why = Some(why);
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

    /// What it says of a finding: an engine that breaks says nothing of a wrong result, nor the other way round.
    fn about(self, finding: &Finding) -> Self {
        let wrong = |kind| kind == FindingKind::WrongResult;
        let void = |kind: FindingKind, replayed: Replayed| {
            let why = Some(format!("it fails in another way here: {kind}"));
            Self::Ended(Replayed { state: ReplayState::Void, kind: None, why, ..replayed })
        };
        match self {
            Self::Ended(Replayed { kind: Some(kind), .. }) | Self::Broke(kind)
                if wrong(kind) == wrong(finding.kind) =>
            {
                self
            }
            Self::Ended(replayed) => match replayed.kind {
                Some(kind) => void(kind, replayed),
                None => Self::Ended(replayed),
            },
            Self::Broke(kind) => void(kind, Replayed::unopened(String::new())),
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
    replay_in(dir, finding, target, data_dir).await
}

/// The same without a word on whether the target can be opened: one that cannot says nothing, unless that is the finding.
pub(super) async fn replay_in(
    dir: &Path,
    finding: &Finding,
    target: &Target,
    data_dir: &Path,
) -> Result<ReplayOutcome, FindingUseError> {
    let hang_after = Duration::from_millis(HANG_MS);
    let outcome = match replay::replay(&dir.join("case.json"), &target.to_string(), data_dir, hang_after).await? {
        Replay::Said(said) => {
            let replayed = serde_json::from_str(said.lines().last().unwrap_or_default());
            let silent = |source| FindingUseError::Silent { dir: dir.display().to_string(), source };
            ReplayOutcome::Ended(replayed.map_err(silent)?)
        }
        Replay::Unopened(broken) if finding.class != OPENING => {
            ReplayOutcome::Ended(Replayed::unopened(broken_words(&target.to_string(), &broken)))
        }
        Replay::Unopened(broken) | Replay::Broke(broken) => ReplayOutcome::Broke(broken.kind),
    };
    Ok(outcome.about(finding))
}
