//! What a hunt is asked to do, what it tells meanwhile, and what it says at its end.

use super::error::HuntError;
use super::gone::{Gone, Watched};
use super::protocol::{ExecutorConfig, Ready, WorkerEnvironment};
use super::stats::Stats;
use super::uses::{Cases, Used};
use crate::config::{CampaignSpec, SERVER_RETURN_MS};
use crate::triage::finding::FoundReport;
use crate::triage::known::KnownBug;
use std::path::PathBuf;
use std::time::Duration;

/// What a hunt is asked to do.
#[derive(Debug, Clone)]
pub struct HuntPlan {
    /// What is run. A campaign that is gone on with keeps its own, but for the limits.
    pub spec: CampaignSpec,
    /// Where.
    pub environment: HuntEnvironment,
    /// Go on where the campaign in the output directory stopped.
    pub resume: bool,
}

/// Where a hunt works. Nothing of it changes its cases.
#[derive(Debug, Clone)]
pub struct HuntEnvironment {
    /// Where installed engines and caches are.
    pub data_dir: PathBuf,
    /// Where findings are written, and the campaign's state.
    pub out_dir: PathBuf,
    /// Number of executors.
    pub workers: usize,
    /// How long a server that is not ours and ended under the hunt may take to come back.
    pub server_return_max: Duration,
    /// How it is started again, if somebody said so.
    pub restart: Option<Restart>,
    /// Bugs that are known, which executors spend less time on.
    pub known: Vec<KnownBug>,
    /// Those of them that may have stopped happening.
    pub watched: Vec<Watched>,
    /// Another target: what shows there too is no news.
    pub against: Option<String>,
}

/// How a server that is not ours is started again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restart {
    /// What the shell is given.
    pub command: String,
    /// How often, in one hunt.
    pub times_max: u32,
}

impl HuntEnvironment {
    /// A place in which nothing is known and no server is started.
    pub fn new(data_dir: PathBuf, out_dir: PathBuf, workers: usize) -> Self {
        let server_return_max = Duration::from_millis(SERVER_RETURN_MS);
        let (known, watched) = (Vec::new(), Vec::new());
        Self { data_dir, out_dir, workers, server_return_max, restart: None, known, watched, against: None }
    }
}

impl HuntPlan {
    /// What an executor is started with.
    pub(super) fn executor(&self, recorder: PathBuf, known: Vec<String>, time_left_ms: Option<u64>) -> ExecutorConfig {
        let HuntEnvironment { data_dir, out_dir, against, .. } = self.environment.clone();
        let known_bugs = recorder.parent().map(|dir| dir.join(KNOWN_BUGS)).filter(|path| path.exists());
        let environment = WorkerEnvironment { data_dir, out_dir, known, known_bugs, against, recorder, time_left_ms };
        ExecutorConfig { spec: self.spec.clone(), environment }
    }
}

/// The file beside the recorders with the bugs that are known.
pub(super) const KNOWN_BUGS: &str = "known-bugs.json";

/// What a hunt did.
#[derive(Debug)]
pub struct Summary {
    /// The target, which a resumed campaign brings with it.
    pub dbms: String,
    /// The engine's version, and what was tested with.
    pub ready: Ready,
    /// The campaign's seed.
    pub seed: u64,
    /// Wall-clock time.
    pub elapsed: Duration,
    /// What all executors did, over the whole campaign.
    pub stats: Stats,
    /// Findings kept.
    pub findings: Vec<FoundReport>,
    /// How often executors had to be replaced.
    pub restarts: u64,
    /// How often a server that is not ours was started again.
    pub server_starts: u32,
    /// Known bugs that do not show any more on this version.
    pub gone: Vec<Gone>,
    /// Known bugs of which that could not be found out.
    pub not_looked_at: usize,
    /// Why it could not go on, if it could not.
    pub error: Option<HuntError>,
}

impl Summary {
    /// The summary of a hunt that did nothing.
    pub fn nothing(dbms: &str, seed: u64) -> Self {
        Self {
            dbms: dbms.to_owned(),
            ready: Ready::default(),
            seed,
            elapsed: Duration::ZERO,
            stats: Stats::default(),
            findings: Vec::new(),
            restarts: 0,
            server_starts: 0,
            gone: Vec::new(),
            not_looked_at: 0,
            error: None,
        }
    }

    /// The summary of a hunt that came to its end.
    pub fn whole(mut self) -> Result<Self, HuntError> {
        self.error.take().map_or(Ok(self), Err)
    }
}

/// What the hunt tells whoever shows its progress.
pub trait Progress {
    /// Executors work on a version.
    fn ready(&mut self, ready: &Ready);
    /// The sums so far.
    fn update(&mut self, stats: &Stats, findings: usize, elapsed: Duration);
    /// Something happened.
    fn note(&mut self, message: &str);
    /// A finding is on disk. It came again, and is one of this campaign.
    fn found(&mut self, _found: &FoundReport) {}
    /// Cases ran, of which these parts were counted.
    fn used(&mut self, _counts: &[(Used, Cases)]) {}
}
