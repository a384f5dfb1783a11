//! Opening a target in a process of its own: a library that crashes or hangs when it is loaded or opens a database takes
//! that process with it and nothing else.

use super::error::HuntError;
use super::process::{Broken, own_program, watch};
use crate::clock;
use crate::config::{HANG_MS, START_MS};
use crate::dbms::target::{Target, TargetError};
use crate::sql::profile::Wire;
use crate::triage::cause::Cause;
use crate::triage::finding::{Finding, FindingKind};
use crate::triage::limits::Limits;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::{Duration, Instant};

/// The class of findings that opening an empty database is enough for.
pub const OPENING: &str = "open";

/// The oracle of findings that need no other than that the engine lives.
pub const ALIVE: &str = "alive";

/// What the process that opens a target prints.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Opening {
    /// It is open.
    Open {
        /// The engine's version.
        version: String,
    },
    /// It cannot be opened.
    Refused {
        /// Why, and what to do.
        message: String,
    },
}

/// What became of a target that was to be opened.
#[derive(Debug, Clone)]
pub enum Opened {
    /// It opens.
    Version(String),
    /// It cannot be opened, for a reason that it or Caqtus gives.
    Refused(String),
    /// It crashed or hung.
    Broken(Broken),
    /// The time of the hunt was up before that could be said.
    TooLate,
}

impl Opened {
    /// The version, or what to tell the user.
    pub fn version(self, target: &Target) -> Result<String, String> {
        match self {
            Self::Version(version) => Ok(version),
            Self::Refused(message) => Err(message),
            Self::Broken(broken) => Err(broken_words(&target.to_string(), &broken)),
            Self::TooLate => Err(format!("the time was up before {target} was open")),
        }
    }
}

/// What to say of a target that breaks when it is opened.
pub fn broken_words(target: &str, broken: &Broken) -> String {
    let breaks = if broken.kind == FindingKind::Hang { "hangs" } else { "crashes" };
    format!("{target} {breaks} when it is opened: {}", broken.how)
}

/// How long opening a target may take: starting a server takes a while, in a library it is a call.
pub(super) fn opening_limit(target: &Target) -> Result<Duration, TargetError> {
    let wire = crate::catalogue::profile(target.dialect())?.wire;
    Ok(Duration::from_millis(if matches!(wire, Wire::Sqlite | Wire::Duckdb) { HANG_MS } else { START_MS }))
}

/// Opens a target and closes it again. One that takes longer than opening may take hangs, unless it is too late before.
pub async fn open(target: &Target, data_dir: &Path, deadline: Option<Instant>) -> Result<Opened, HuntError> {
    let limit = opening_limit(target).map_err(|error| HuntError::Executor(error.to_string()))?;
    let left = deadline.map_or(limit, |deadline| deadline.saturating_duration_since(clock::now()));
    let mut command = own_program()?;
    command.args(["execute", "--open", "--dbms", &target.to_string(), "--data-dir"]).arg(data_dir);
    Ok(match watch(command, limit.min(left)).await? {
        Err(broken) if broken.kind == FindingKind::Hang && left < limit => Opened::TooLate,
        Err(broken) => Opened::Broken(broken),
        Ok(output) => match serde_json::from_slice(&output) {
            Ok(Opening::Open { version }) => Opened::Version(version),
            Ok(Opening::Refused { message }) => Opened::Refused(message),
            // It ended by itself without a word, which is not what this program does.
            Err(_) => Opened::Broken(Broken::exit("it ended the process before the database was open")),
        },
    })
}

/// The finding that opening a target breaks it.
pub fn finding(target: &Target, seed: u64, broken: &Broken) -> Finding {
    let mut finding = Finding {
        id: String::new(),
        kind: broken.kind,
        oracle: ALIVE.to_owned(),
        class: OPENING.to_owned(),
        dbms: target.to_string(),
        version: "of unknown version".to_owned(),
        build_id: String::new(),
        seed,
        block: 0,
        case: 0,
        statements: Vec::new(),
        queries: Vec::new(),
        checks: Some(Vec::new()),
        fillings: Vec::new(),
        origins: Vec::new(),
        features: Vec::new(),
        reduced: true,
        cured_by: Vec::new(),
        cause: Cause::default(),
        refused: None,
        runs: Vec::new(),
        note: Some(format!("Opening an empty database is enough: {}.", broken.how)),
        limits: Limits::default(),
        self_check: None,
    };
    finding.seal();
    finding
}
