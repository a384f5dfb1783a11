//! The options of `caqtus discover`.

use crate::app::discovery::{ModelRequest, Request, SeedSource, Who};
use crate::cli::{Common, StoreArgs, parse_duration};
use crate::config::BudgetSection;
use crate::plan::sampling::Sampling;
use anyhow::Context as _;
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Discover oracle classes: propose equivalent queries, prove them, and store what is proven
///
/// For each of a number of seed queries it asks a large language model, or rewrite rules, for equivalent queries, until
/// too many fail in a row. Each is decided by the prover and tried on the target. What is proven becomes a class in the
/// store; before it is released it is run on the targets with random fillings. `caqtus hunt --store` uses the released
/// classes.
///
/// Every step is in the store before the next, so a discovery that was stopped goes on when the same command is run
/// again. Ctrl-C lets the steps that were begun come to their end; a second one stops at once.
/// Exit status: 0 done or stopped, 1 a class is quarantined because an engine disagrees with it, 2 could not run.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  caqtus discover --llm rules --seeds 50 --max-minutes 10
  OPENAI_API_KEY=… caqtus discover --model o4-mini --seeds 20 --budget-calls 500 --focus 'outer joins'
  caqtus discover --model o4-mini --export-batch prompts.jsonl
  caqtus discover --model o4-mini --import-batch answers.jsonl --export-batch next.jsonl

caqtus.toml, in the working directory or named by --config:
  [model]
  name = \"o4-mini\"
  base_url = \"https://api.openai.com/v1\"
  key_env = \"OPENAI_API_KEY\"
  [prices.\"o4-mini\"]            # US dollars
  input_per_million = 1.10
  output_per_million = 4.40
  [budget]
  usd = 3.0")]
pub(in crate::cli) struct DiscoverArgs {
    /// Who proposes: rules, live, record:DIR, replay:DIR, or batch (through the endpoint's Batch API)
    ///
    /// Without it, a model if one is configured, and otherwise the rewrite rules.
    #[arg(long, value_name = "WHO")]
    pub(super) llm: Option<Who>,
    /// How many seeds
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(super) seeds: u32,
    /// Take seeds from a file: JSON lines with `schema`, `placeholders` and `sql` (or `seed`)
    #[arg(long, value_name = "FILE", conflicts_with = "schema")]
    pub(super) seed_file: Option<PathBuf>,
    /// Make seeds over these tables: a file of CREATE TABLE statements, or what `pg_dump --schema-only`, `sqlite3 FILE
    /// .schema` or `mysqldump --no-data` print
    #[arg(long, value_name = "FILE")]
    pub(super) schema: Option<PathBuf>,
    /// The seed of everything random
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// The target on which candidates are tried; the first gives the plans; may be given several times
    #[arg(long, default_value = "sqlite")]
    pub(super) dbms: Vec<String>,
    /// How proven queries are chosen as examples for the next prompt
    #[arg(long, value_enum, default_value_t)]
    pub(super) sampling: Sampling,
    /// Examples in a prompt
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(super) examples: usize,
    /// Candidates per seed at most
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub(super) max_depth: u32,
    /// Stop after this many minutes; the same command goes on later
    #[arg(long, value_name = "MINUTES")]
    pub(super) max_minutes: Option<u64>,
    /// What the model should prefer, in words: 'outer joins'
    #[arg(long, value_name = "TEXT")]
    pub(super) focus: Option<String>,
    #[command(flatten)]
    pub(super) model: ModelArgs,
    /// Write the prompts that wait for an answer to a file for a batch, and ask nobody
    #[arg(long, value_name = "FILE")]
    pub(super) export_batch: Option<PathBuf>,
    /// Take answers from files of a batch, in any order; prompts without an answer keep waiting
    #[arg(long, value_name = "FILE")]
    pub(super) import_batch: Vec<PathBuf>,
    /// How often a batch is asked for its state
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    pub(super) batch_poll: Duration,
    /// Prover processes [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    pub(super) workers: Option<u16>,
    /// The prover [default: caqtus-prover beside this program or in the path]
    #[arg(long, env = "CAQTUS_PROVER", value_name = "PROGRAM")]
    pub(super) prover: Option<PathBuf>,
    /// One JSON object as the last line of standard output
    #[arg(long)]
    pub(super) json: bool,
    /// No progress display
    #[arg(long, short)]
    pub(super) quiet: bool,
    #[command(flatten)]
    pub(super) store: StoreArgs,
    #[command(flatten)]
    pub(super) common: Common,
}

/// How a model is asked, and what it may cost.
#[derive(Debug, Args)]
pub(in crate::cli) struct ModelArgs {
    /// The configuration [default: caqtus.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) config: Option<PathBuf>,
    /// The model
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) model: Option<String>,
    /// The endpoint, if not that of the configuration or `OpenAI`'s
    #[arg(long, value_name = "URL")]
    pub(super) base_url: Option<String>,
    /// The temperature
    #[arg(long, value_name = "NUMBER")]
    pub(super) temperature: Option<f64>,
    /// The reasoning effort: low, medium, high
    #[arg(long, value_name = "LEVEL")]
    pub(super) reasoning_effort: Option<String>,
    /// Candidates per asking
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(super) candidates: u32,
    /// Tokens of an answer at most, thoughts included
    #[arg(long, value_name = "N", default_value_t = 8_192)]
    pub(super) output_tokens: u32,
    /// Calls in flight
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(super) in_flight: u16,
    /// Hard limit in US dollars over the whole run, also over restarts
    #[arg(long, value_name = "DOLLARS")]
    pub(super) budget_usd: Option<f64>,
    /// Hard limit in tokens
    #[arg(long, value_name = "N")]
    pub(super) budget_tokens: Option<u64>,
    /// Hard limit in calls
    #[arg(long, value_name = "N")]
    pub(super) budget_calls: Option<u64>,
}

impl ModelArgs {
    /// How a model is asked, and what it may cost.
    pub(in crate::cli) fn request(&self) -> (ModelRequest, BudgetSection) {
        let model = ModelRequest {
            name: self.model.clone(),
            base_url: self.base_url.clone(),
            temperature: self.temperature,
            reasoning_effort: self.reasoning_effort.clone(),
            candidates: self.candidates,
            output_tokens_max: self.output_tokens,
            in_flight: self.in_flight,
        };
        let budget = BudgetSection { usd: self.budget_usd, tokens: self.budget_tokens, calls: self.budget_calls };
        (model, budget)
    }
}

impl DiscoverArgs {
    /// What is asked for. Files of seeds and schemas are read.
    pub(super) fn request(&self) -> anyhow::Result<Request> {
        let named = |path: &Path| -> anyhow::Result<(String, String)> {
            let name = path.display().to_string();
            let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
            Ok((name, text))
        };
        let seeds = match (&self.seed_file, &self.schema) {
            (Some(path), _) => named(path).map(|(name, text)| SeedSource::Lines { name, text })?,
            (None, Some(path)) => named(path).map(|(name, text)| SeedSource::Schema { name, text })?,
            (None, None) => SeedSource::Generated,
        };
        let (model, budget) = self.model.request();
        Ok(Request {
            who: self.llm.clone(),
            seeds,
            seeds_max: self.seeds,
            seed: self.seed,
            dbms: self.dbms.clone(),
            sampling: self.sampling,
            examples_max: self.examples,
            depth_max: self.max_depth,
            focus: self.focus.clone(),
            model,
            budget,
        })
    }
}
