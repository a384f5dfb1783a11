//! What a discovery is asked to do: who proposes, from which seeds, at what cost.

use crate::caq::class::read_names;
use crate::caq::query::Caq;
use crate::config::{BudgetSection, FileConfig, PriceSection, note_key_variable};
use crate::discover::search::canonical;
use crate::generate::seed::{self, dump};
use crate::llm::budget::{Limits, MicroUsd, Price, Prices};
use crate::llm::{Key, LiveConfig};
use crate::plan::sampling::Sampling;
use anyhow::{Context as _, bail};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::str::FromStr;

/// What a discovery is asked to do. The configuration's file says what this leaves open.
#[derive(Debug, Clone)]
pub struct Request {
    /// Who proposes; without it a model if one is configured, and otherwise the rewrite rules.
    pub who: Option<Who>,
    /// Where seeds come from.
    pub seeds: SeedSource,
    /// How many are made, where they are made.
    pub seeds_max: u32,
    /// The seed of everything random.
    pub seed: u64,
    /// The targets on which candidates are tried; the first gives the plans.
    pub dbms: Vec<String>,
    /// How proven queries are chosen as examples for the next prompt.
    pub sampling: Sampling,
    /// Examples in a prompt.
    pub examples_max: usize,
    /// Candidates per seed at most.
    pub depth_max: u32,
    /// What the model should prefer, in words.
    pub focus: Option<String>,
    /// How a model is asked.
    pub model: ModelRequest,
    /// What it may cost over the whole run, also over restarts.
    pub budget: BudgetSection,
}

/// How a model is asked.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// Its name.
    pub name: Option<String>,
    /// The endpoint.
    pub base_url: Option<String>,
    /// The temperature.
    pub temperature: Option<f64>,
    /// The reasoning effort.
    pub reasoning_effort: Option<String>,
    /// Candidates per asking.
    pub candidates: u32,
    /// Tokens of an answer at most, thoughts included.
    pub output_tokens_max: u32,
    /// Calls in flight.
    pub in_flight: u16,
}

/// Where seeds come from.
#[derive(Debug, Clone)]
pub enum SeedSource {
    /// They are made over schemas that are made.
    Generated,
    /// JSON lines with `schema`, `placeholders` and `sql` (or `seed`).
    Lines {
        /// The file's name, for messages.
        name: String,
        /// Its text.
        text: String,
    },
    /// They are made over the tables of a schema: of CREATE TABLE statements, or as tools write it that dump a schema.
    Schema {
        /// The file's name, for messages.
        name: String,
        /// Its text.
        text: String,
    },
}

/// Who proposes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// The rewrite rules.
    Rules,
    /// A model behind an endpoint.
    Live,
    /// A model through its endpoint's Batch API.
    Batch,
    /// A model whose answers are recorded in a directory.
    Record(PathBuf),
    /// Recorded answers.
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

#[derive(Deserialize)]
struct SeedLine {
    #[serde(default)]
    id: Option<String>,
    #[serde(flatten)]
    caq: Caq,
}

/// A seed, with its name if it has one.
pub type NamedSeed = (Option<String>, Caq);

/// The seeds, and where they are from. `notes` gets what could not be read of a schema, also where it is an error.
pub(super) fn seeds(request: &Request, notes: &mut Vec<String>) -> anyhow::Result<(String, Vec<NamedSeed>)> {
    let (source, options) = match &request.seeds {
        SeedSource::Generated => ("generated".to_owned(), seed::Options::default()),
        SeedSource::Lines { name, text } => return Ok((format!("file {}", hash(text)), lines(name, text)?)),
        SeedSource::Schema { name, text } => (format!("schema {}", hash(text)), over(name, text, notes)?),
    };
    let seeds = seed::seeds(request.seed, &options)?.take(request.seeds_max as usize);
    Ok((source, seeds.map(|seed| (None, seed.caq)).collect()))
}

/// Seeds as they are written.
fn lines(name: &str, text: &str) -> anyhow::Result<Vec<NamedSeed>> {
    let mut seeds = Vec::new();
    // The same seed twice would be paid for twice.
    let mut known = BTreeSet::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let SeedLine { id, caq } =
            serde_json::from_str(line).with_context(|| format!("{name}, line {}, is no seed", at + 1))?;
        read_names(&caq.schema, &caq.placeholders).with_context(|| format!("{name}, line {}", at + 1))?;
        let is_new = known.insert((caq.schema.clone(), caq.placeholders.clone(), canonical(&caq.sql)));
        if is_new {
            seeds.push((id, caq));
        }
    }
    Ok(seeds)
}

/// Seeds over the tables of a schema: as they are written if they are a schema of classes, and otherwise those that can be
/// read as one, which is noted.
fn over(name: &str, text: &str, notes: &mut Vec<String>) -> anyhow::Result<seed::Options> {
    let as_written = seed::Options { schema: Some(text.to_owned()), ..seed::Options::default() };
    if seed::Generator::new(0, &as_written).is_ok() {
        return Ok(as_written);
    }
    let dump = dump::read(text);
    notes.extend(dump.report().iter().map(|line| format!("{name}: {line}")));
    if dump.schema.tables.is_empty() {
        bail!("{name} has no table that seeds can be made over");
    }
    Ok(seed::Options { tables: Some(dump.schema), ..seed::Options::default() })
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

fn dollars(what: &str, amount: f64) -> anyhow::Result<MicroUsd> {
    MicroUsd::from_dollars(amount).with_context(|| format!("{what} is {amount}; it must be an amount of US dollars"))
}

/// What may be spent: as asked for, or as the configuration says.
pub fn limits(asked: &BudgetSection, config: &FileConfig) -> anyhow::Result<Limits> {
    let usd = asked.usd.or(config.budget.usd);
    Ok(Limits {
        usd: usd.map(|usd| dollars("the budget", usd)).transpose()?,
        tokens: asked.tokens.or(config.budget.tokens),
        calls: asked.calls.or(config.budget.calls),
    })
}

/// The prices of the configuration.
pub fn prices(config: &FileConfig) -> anyhow::Result<Prices> {
    let price = |(name, section): (&String, &PriceSection)| {
        let price = Price {
            input_per_million: dollars(&format!("the price of {name}"), section.input_per_million)?,
            output_per_million: dollars(&format!("the price of {name}"), section.output_per_million)?,
        };
        Ok((name.clone(), price))
    };
    let prices: anyhow::Result<BTreeMap<String, Price>> = config.prices.iter().map(price).collect();
    Ok(Prices(prices?))
}

/// The endpoint: as asked for, or as the configuration says.
pub fn endpoint(base_url: Option<&str>, seed: u64, config: &FileConfig, prices: Prices) -> anyhow::Result<LiveConfig> {
    let variable = config.model.key_env.clone().unwrap_or_else(|| KEY_ENV.to_owned());
    note_key_variable(&variable);
    let base_url = base_url.map(str::to_owned).or_else(|| config.model.base_url.clone());
    let key = match std::env::var(&variable) {
        Ok(key) if !key.trim().is_empty() => Key::new(&key)?,
        // Endpoints of one's own often want none.
        _ if base_url.is_some() => Key::none(),
        _ => bail!("the key is missing: set the environment variable {variable}"),
    };
    let base_url = base_url.unwrap_or_else(|| BASE_URL.to_owned());
    let mut live = LiveConfig::new(base_url, key, format!("${variable}"));
    live.prices = prices;
    live.seed = seed;
    Ok(live)
}
