//! The options of `caqtus discover`, and what they and the configuration come to.

use crate::caq::query::Caq;
use crate::cli::{Common, StoreArgs, parse_duration, printable};
use crate::config::{FileConfig, note_key_variable};
use crate::discover::search::canonical;
use crate::generate::seed::{self, dump};
use crate::llm::budget::{Limits, MicroUsd, Price, Prices};
use crate::llm::{Key, LiveConfig};
use crate::plan::sampling::Sampling;
use anyhow::{Context as _, bail};
use clap::Args;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::str::FromStr;
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
pub(super) struct ModelArgs {
    /// The configuration [default: caqtus.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// The model
    #[arg(long, value_name = "NAME")]
    pub(super) model: Option<String>,
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

/// Who proposes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Who {
    Rules,
    Live,
    Batch,
    Record(PathBuf),
    Replay(PathBuf),
}

impl FromStr for Who {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.split_once(':')) {
            ("rules", _) => Ok(Self::Rules),
            ("live", _) => Ok(Self::Live),
            ("batch", _) => Ok(Self::Batch),
            (_, Some(("record", dir))) if !dir.is_empty() => Ok(Self::Record(dir.into())),
            (_, Some(("replay", dir))) if !dir.is_empty() => Ok(Self::Replay(dir.into())),
            _ => Err("write rules, live, batch, record:DIR or replay:DIR".to_owned()),
        }
    }
}

/// Where the key is, when the configuration does not say.
const KEY_ENV: &str = "OPENAI_API_KEY";

/// Where the model is, when nobody says.
const BASE_URL: &str = "https://api.openai.com/v1";

pub(super) fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

#[derive(Deserialize)]
struct SeedLine {
    #[serde(default)]
    id: Option<String>,
    #[serde(flatten)]
    caq: Caq,
}

/// A seed, with its name if it has one.
pub(super) type NamedSeed = (Option<String>, Caq);

/// The seeds, and where they are from.
pub(super) fn seeds(args: &DiscoverArgs) -> anyhow::Result<(String, Vec<NamedSeed>)> {
    let count = args.seeds as usize;
    if let Some(path) = &args.seed_file {
        let text = read(path)?;
        let mut seeds = Vec::new();
        // The same seed twice would be paid for twice.
        let mut known = BTreeSet::new();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let SeedLine { id, caq } = serde_json::from_str(line)
                .with_context(|| format!("{}, line {}, is no seed", path.display(), at + 1))?;
            crate::caq::class::read_names(&caq.schema, &caq.placeholders)
                .with_context(|| format!("{}, line {}", path.display(), at + 1))?;
            let is_new = known.insert((caq.schema.clone(), caq.placeholders.clone(), canonical(&caq.sql)));
            if is_new {
                seeds.push((id, caq));
            }
        }
        return Ok((format!("file {}", hash(&text)), seeds));
    }
    let (source, options) = match &args.schema {
        None => ("generated".to_owned(), seed::Options::default()),
        Some(path) => {
            let text = read(path)?;
            (format!("schema {}", hash(&text)), over(path, text)?)
        }
    };
    let seeds: Vec<_> = seed::seeds(args.seed, &options)?.take(count).map(|seed| (None, seed.caq)).collect();
    Ok((source, seeds))
}

/// Seeds over the tables of a file: as they are written if they are a schema of classes, and otherwise those that can be
/// read as one, which is said.
fn over(path: &Path, text: String) -> anyhow::Result<seed::Options> {
    let as_written = seed::Options { schema: Some(text), ..seed::Options::default() };
    if seed::Generator::new(0, &as_written).is_ok() {
        return Ok(as_written);
    }
    let dump = dump::read(as_written.schema.as_deref().unwrap_or_default());
    for line in dump.report() {
        eprintln!("{}: {}", path.display(), printable(&line));
    }
    if dump.schema.tables.is_empty() {
        bail!("{} has no table that seeds can be made over", path.display());
    }
    Ok(seed::Options { tables: Some(dump.schema), ..seed::Options::default() })
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

fn dollars(what: &str, amount: f64) -> anyhow::Result<MicroUsd> {
    MicroUsd::from_dollars(amount).with_context(|| format!("{what} is {amount}; it must be an amount of US dollars"))
}

pub(super) fn limits(args: &DiscoverArgs, config: &FileConfig) -> anyhow::Result<Limits> {
    let usd = args.model.budget_usd.or(config.budget.usd);
    Ok(Limits {
        usd: usd.map(|usd| dollars("the budget", usd)).transpose()?,
        tokens: args.model.budget_tokens.or(config.budget.tokens),
        calls: args.model.budget_calls.or(config.budget.calls),
    })
}

pub(super) fn prices(config: &FileConfig) -> anyhow::Result<Prices> {
    let price = |(name, section): (&String, &crate::config::PriceSection)| {
        let price = Price {
            input_per_million: dollars(&format!("the price of {name}"), section.input_per_million)?,
            output_per_million: dollars(&format!("the price of {name}"), section.output_per_million)?,
        };
        Ok((name.clone(), price))
    };
    let prices: anyhow::Result<BTreeMap<String, Price>> = config.prices.iter().map(price).collect();
    Ok(Prices(prices?))
}

pub(super) fn endpoint(args: &DiscoverArgs, config: &FileConfig, prices: Prices) -> anyhow::Result<LiveConfig> {
    let variable = config.model.key_env.clone().unwrap_or_else(|| KEY_ENV.to_owned());
    note_key_variable(&variable);
    let base_url = args.model.base_url.clone().or_else(|| config.model.base_url.clone());
    let key = match std::env::var(&variable) {
        Ok(key) if !key.trim().is_empty() => Key::new(&key)?,
        // Endpoints of one's own often want none.
        _ if base_url.is_some() => Key::none(),
        _ => bail!("the key is missing: set the environment variable {variable}"),
    };
    let base_url = base_url.unwrap_or_else(|| BASE_URL.to_owned());
    let mut live = LiveConfig::new(base_url, key, format!("${variable}"));
    live.prices = prices;
    live.seed = args.seed;
    Ok(live)
}
