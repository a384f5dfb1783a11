//! What the supervisor and an executor say to each other: one JSON object a line.

use super::stats::Stats;
use super::uses::{Cases, Used};
use crate::config::{CampaignSpec, UnsupportedSubquery};
use crate::triage::finding::{Finding, FoundReport};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What an executor is started with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExecutorConfig {
    /// What is run.
    pub spec: CampaignSpec,
    /// Where.
    pub environment: WorkerEnvironment,
}

/// Where an executor works, and what it is told of the hunt. Nothing of it changes a case.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WorkerEnvironment {
    /// Where installed engines and caches are.
    pub data_dir: PathBuf,
    /// Where findings are written.
    pub out_dir: PathBuf,
    /// Findings that the campaign has already; they count towards the limits.
    pub known: Vec<String>,
    /// A file with bugs that are known.
    #[serde(default)]
    pub known_bugs: Option<PathBuf>,
    /// Another target: what shows there too is no news.
    #[serde(default)]
    pub against: Option<String>,
    /// The flight recorder's file.
    pub recorder: PathBuf,
    /// Milliseconds after its start at which an executor ends by itself, also amid a reduction.
    pub time_left_ms: Option<u64>,
}

/// From the supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Run cases of a block.
    Run {
        /// The block, or the database that replaces its first one, as [`super::block`] numbers them.
        block: u64,
        /// The first case to run; earlier ones only change the database.
        first: u32,
        /// One past the last case.
        end: u32,
    },
    /// Describe a case without running it.
    Describe {
        /// The block.
        block: u64,
        /// The case in the block.
        case: u32,
        /// The last of its queries that is wanted; all if none is named.
        query: Option<usize>,
    },
}

/// From an executor.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Report {
    /// The engine is open and the catalogue is loaded.
    Ready(Ready),
    /// A server that is not ours ended, or cannot be reached any more.
    ServerEnded {
        /// What shows it.
        message: String,
        /// The case that ran, if it ended while one did.
        suspect: Option<Box<Finding>>,
    },
    /// What broke the engine while it was made ready; it was not repeated yet.
    Broke(Vec<Finding>),
    /// This program, not the engine, has a fault, and the executor ends by it.
    Panicked {
        /// Where: a file and a line of it.
        place: String,
        /// What was wrong.
        message: String,
    },
    /// The executor cannot work.
    Failed {
        /// Why, and what to do.
        message: String,
    },
    /// It reduces a failure, which may take long, or does so no more. No case runs meanwhile.
    Reducing(bool),
    /// A finding was written as a directory.
    Found(FoundReport),
    /// Cases of a block ran.
    Ran {
        /// The block, or the database that the cases to come have.
        block: u64,
        /// The case after the last one that ran.
        next: u32,
        /// What was done since the last such report.
        stats: Stats,
    },
    /// What cases were made of, and what became of them, since the last such report.
    Used {
        /// The engine's build.
        build_id: String,
        /// The counts.
        counts: Vec<(Used, Cases)>,
    },
    /// The target was found not to take something.
    UnsupportedSubquery(UnsupportedSubquery),
    /// The description asked for.
    Described(Box<Finding>),
}

/// What an executor works with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// The engine's version.
    pub version: String,
    /// What tells the engine's build from others.
    pub build_id: String,
    /// Classes that run here.
    pub classes: usize,
    /// Snippets that hold here.
    pub snippets: usize,
    /// Members in use that are not proven equivalent to the rest of their class.
    pub assumed: usize,
    /// What the user should know about how it was made ready.
    #[serde(default)]
    pub notes: Vec<String>,
}
