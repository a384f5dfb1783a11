//! `caqtus bench sampling`: how the choice of examples changes what is found (Argus paper, section 7.6, table 4).

use crate::clock;
use crate::discover::pool::ProverPool;
use crate::discover::proposer::Proposer;
use crate::discover::run::{Discovery, run as discover};
use crate::discover::settings::{Asking, Settings};
use crate::discover::summary::Summary;
use crate::discover::trial::TrialTarget;
use crate::generate::seed;
use crate::plan::sampling::Sampling;
use crate::store::Store;
use clap::ValueEnum as _;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// Candidates per asking: as few as a model gives, so that examples count.
const CANDIDATES: u32 = 4;

/// What is measured.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) seeds: usize,
    pub(super) depth: u32,
    pub(super) examples: usize,
    pub(super) seed: u64,
    pub(super) dbms: String,
    pub(super) prover: Option<PathBuf>,
    pub(super) data_dir: PathBuf,
}

/// A line of the table.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    pub(super) sampling: Sampling,
    /// Mean over seeds of the similarity of the plans found for a seed: the lower, the more diverse.
    pub(super) similarity: Option<f64>,
    /// Queries proven and run.
    pub(super) valid: u64,
    pub(super) candidates: u64,
    pub(super) seconds: f64,
}

/// Discovers with the rewrite rules from the same seeds under each sampling, in a store that is thrown away.
pub(super) async fn measure(plan: &Plan) -> anyhow::Result<Vec<Line>> {
    let scratch = crate::cli::scratch("bench-sampling")?;
    let mut lines = Vec::new();
    for sampling in Sampling::value_variants() {
        lines.push(one(plan, *sampling, scratch.path()).await?);
    }
    Ok(lines)
}

async fn one(plan: &Plan, sampling: Sampling, scratch: &Path) -> anyhow::Result<Line> {
    let start = clock::now();
    let settings = Settings {
        seed: plan.seed,
        source: "generated".to_owned(),
        // None, so that no time goes into checking classes that are thrown away.
        dbms: Vec::new(),
        proposer: "rules".to_owned(),
        asking: Asking {
            model: "rules".to_owned(),
            temperature: None,
            reasoning_effort: None,
            candidates: CANDIDATES,
            output_tokens_max: 0,
        },
        prompt_hash: None,
        focus: None,
        sampling,
        examples_max: plan.examples,
        depth_max: plan.depth,
    };
    let store = Store::open(None, scratch).await?;
    let run = store.run_open(&settings.key(), &serde_json::to_value(&settings)?).await?;
    let seeds: Vec<_> =
        seed::seeds(plan.seed, &seed::Options::default())?.take(plan.seeds).map(|seed| (None, seed.caq)).collect();
    store.seed_put(run.id, 0, &seeds).await?;
    let rows = store.seed_list(run.id).await?;
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let discovery = Arc::new(Discovery {
        store,
        run,
        settings,
        proposer: Proposer::Rules,
        provers: ProverPool::open(plan.prover.as_deref(), workers).await?,
        targets: vec![TrialTarget::new(&plan.dbms, plan.data_dir.clone())],
        data_dir: plan.data_dir.clone(),
        seeds_in_flight: 2 * workers,
    });
    let (_stop, stopped) = watch::channel(false);
    let (events, _) = mpsc::unbounded_channel();
    discover(&discovery, rows, stopped, events).await?;
    let summary = Summary::read(&discovery.store, discovery.run.id, start.elapsed()).await?;
    if let Ok(discovery) = Arc::try_unwrap(discovery) {
        discovery.store.close().await;
    }
    Ok(Line {
        sampling,
        similarity: summary.similarity,
        valid: summary.proven - summary.failed_on_dbms,
        candidates: summary.candidates,
        seconds: summary.seconds,
    })
}
