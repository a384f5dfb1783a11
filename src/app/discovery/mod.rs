//! Discoveries: what a request and the configuration come to, and a run through its stages.

mod request;

pub use request::{ModelRequest, NamedSeed, Request, SeedSource, Who, endpoint, limits, prices};

use super::Progress;
use super::batches::{self, Round};
use crate::clock;
use crate::config::FileConfig;
use crate::discover::batch::{self, Imported};
use crate::discover::pool::ProverPool;
use crate::discover::prompt::Prompt;
use crate::discover::proposer::{Asker, Proposer};
use crate::discover::run::{Discovery, End, Event, run as discover};
use crate::discover::settings::{Asking, Settings};
use crate::discover::summary::Summary;
use crate::discover::trial::TrialTarget;
use crate::llm::budget::{Ledger, Limits, MicroUsd, Price, Spent};
use crate::llm::wire::Shape;
use crate::llm::{Live, LiveConfig, Model, Recorder, Replay};
use crate::store::{CandidateVerdict, ClassState, Costs, Store, Tally};
use anyhow::{Context as _, bail};
use request::seeds;
use std::fmt::{self, Write as _};
use std::path::PathBuf;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, watch};

/// Where a discovery works.
#[derive(Debug, Clone)]
pub struct Environment {
    /// Where installed engines and caches are.
    pub data_dir: PathBuf,
    /// Prover processes.
    pub workers: usize,
    /// The prover; none for the one beside this program or in the path.
    pub prover: Option<PathBuf>,
    /// The configuration's file.
    pub config: FileConfig,
    /// Where prompts that wait for an answer are written, for a batch; nobody is asked then.
    pub export_batch: Option<PathBuf>,
    /// Answers of a batch.
    pub import_batch: Vec<PathBuf>,
    /// How often a batch is asked for its state.
    pub batch_poll: Duration,
}

impl Environment {
    /// Whether prompts and answers go through files.
    fn has_batch_files(&self) -> bool {
        self.export_batch.is_some() || !self.import_batch.is_empty()
    }
}

/// What a request and the configuration come to.
pub struct Plan {
    settings: Settings,
    who: Who,
    seeds: Vec<NamedSeed>,
    /// The endpoint; none where nothing is sent.
    endpoint: Option<LiveConfig>,
    /// Once it is known how many calls are left.
    live: Option<Arc<Live>>,
    price: Option<Price>,
    limits: Limits,
    prompt: Prompt,
    environment: Environment,
    /// Calls in flight.
    in_flight: u16,
}

/// What a discovery came to.
#[derive(Debug)]
pub struct Ended {
    /// The sums of the run, over all its parts.
    pub summary: Summary,
    /// Why it ended.
    pub end: End,
    /// Why this means little, if so: the model gave not one candidate.
    pub fruitless: Option<String>,
}

impl Plan {
    /// Whatever is wrong here is wrong with the request or the configuration. `notes` gets what could not be read of a
    /// schema, also where it is an error.
    pub fn new(request: &Request, environment: Environment, notes: &mut Vec<String>) -> anyhow::Result<Self> {
        let config = &environment.config;
        let model = request.model.name.clone().or_else(|| config.model.name.clone());
        let files = environment.has_batch_files();
        let who = match (&request.who, &model) {
            (Some(who), _) => who.clone(),
            (None, Some(_)) => Who::Live,
            (None, None) if files => bail!("name the model that the batch is for: --model NAME"),
            (None, None) => Who::Rules,
        };
        if files && who == Who::Rules {
            bail!("rewrite rules need no batch; name a model with --model");
        }
        let (source, seeds) = seeds(request, notes)?;
        let prompt = Prompt::shipped()?;
        let rules = who == Who::Rules;
        let asking = match (rules, model) {
            (true, _) => Asking {
                model: "rules".to_owned(),
                temperature: None,
                reasoning_effort: None,
                candidates: request.model.candidates,
                output_tokens_max: 0,
            },
            (false, None) => bail!("name the model: --model NAME, or `name` in section [model] of caqtus.toml"),
            (false, Some(model)) => Asking {
                model,
                temperature: request.model.temperature.or(config.model.temperature),
                reasoning_effort: request
                    .model
                    .reasoning_effort
                    .clone()
                    .or_else(|| config.model.reasoning_effort.clone()),
                candidates: request.model.candidates,
                output_tokens_max: request.model.output_tokens_max,
            },
        };
        let limits = limits(&request.budget, config)?;
        let prices = prices(config)?;
        let mut price = if rules { None } else { limits.price(&prices, &asking.model)? };
        if files || who == Who::Batch {
            price = price.map(Price::of_batches);
        }
        let sends = !files && matches!(who, Who::Live | Who::Batch | Who::Record(_));
        let settings = Settings {
            seed: request.seed,
            source,
            dbms: request.dbms.clone(),
            proposer: if rules { "rules".to_owned() } else { format!("model {}", asking.model) },
            asking,
            prompt_hash: (!rules).then(|| prompt.source.prompt_hash.clone()),
            focus: request.focus.clone(),
            sampling: request.sampling,
            examples_max: request.examples_max,
            depth_max: request.depth_max,
        };
        let endpoint =
            if sends { Some(endpoint(request.model.base_url.as_deref(), request.seed, config, prices)?) } else { None };
        let in_flight = request.model.in_flight;
        Ok(Self { settings, who, seeds, endpoint, live: None, price, limits, prompt, environment, in_flight })
    }

    /// Works until the seeds are done, somebody stops it, or the budget is used up. Every step is in the store before the
    /// next, so that the same plan goes on later.
    pub async fn run(
        &mut self,
        store: &Store,
        stop: &watch::Receiver<bool>,
        progress: &mut dyn Progress,
    ) -> anyhow::Result<Ended> {
        let start = clock::now();
        let Environment { data_dir, workers, prover, .. } = &self.environment;
        let provers = ProverPool::open(prover.as_deref(), *workers).await?;
        let key = self.settings.key();
        let run = store.run_open(&key, &serde_json::to_value(&self.settings)?).await?;
        store.seed_put(run.id, 0, &self.seeds).await?;
        let costs = store.exchange_costs(run.id).await?;
        if let Some(mut endpoint) = self.endpoint.take() {
            endpoint.calls_left =
                self.limits.calls.map(|limit| limit.saturating_sub(costs.spent.calls + costs.set_aside.calls));
            self.live = Some(Arc::new(Live::new(endpoint)?));
        }
        let discovery = Arc::new(Discovery {
            proposer: self.proposer(costs)?,
            store: store.clone(),
            run,
            settings: self.settings.clone(),
            provers,
            targets: self.settings.dbms.iter().map(|name| TrialTarget::new(name, data_dir.clone())).collect(),
            data_dir: data_dir.clone(),
            seeds_in_flight: 2 * workers + usize::from(self.in_flight),
        });
        progress.note(&format!("run {key}: {} seeds, {}", self.seeds.len(), self.settings.proposer));
        let end = self.work(&discovery, stop, progress).await?;
        let summary = Summary::read(store, discovery.run.id, start.elapsed()).await?;
        let asked = store.exchange_costs(discovery.run.id).await? != Costs::default();
        let fruitless = self.fruitless(&summary, &end, asked);
        Ok(Ended { summary, end, fruitless })
    }

    /// Why it means little that nothing was found, if so.
    fn fruitless(&self, summary: &Summary, end: &End, asked: bool) -> Option<String> {
        if self.who == Who::Rules || summary.candidates + summary.duplicates > 0 {
            return None;
        }
        let failures: Vec<String> =
            summary.without_candidates.iter().map(|(what, count)| format!("{count} times {what}")).collect();
        if !failures.is_empty() {
            return Some(format!(
                "the model gave not one candidate: {}; look at the endpoint's address and the model's name, and begin anew \
                 with another --seed: what was asked counts as asked",
                failures.join(", ")
            ));
        }
        let early = *end == End::Stopped && asked;
        early.then(|| "stopped before the endpoint gave its first answer; the same command goes on".to_owned())
    }

    fn proposer(&self, costs: Costs) -> anyhow::Result<Proposer> {
        let files = self.environment.has_batch_files();
        let model: Option<Arc<dyn Model>> = match (&self.who, &self.live) {
            (Who::Rules, _) => return Ok(Proposer::Rules),
            (Who::Replay(dir), _) if !files => Some(Arc::new(Replay::new(dir))),
            (Who::Record(dir), Some(live)) => {
                let recorder = Recorder::new(live.clone(), dir);
                Some(Arc::new(recorder.with_context(|| format!("cannot record into {}", dir.display()))?))
            }
            (Who::Live, Some(live)) => Some(live.clone()),
            _ => None,
        };
        let spent = |tally: Tally| {
            let Tally { calls, tokens, micro_usd } = tally;
            Spent { usd: MicroUsd(micro_usd), tokens, calls, ..Spent::default() }
        };
        let ledger = Ledger { spent: spent(costs.spent), reserved: spent(costs.set_aside) };
        Ok(Proposer::Model(Box::new(Asker {
            model,
            prompt: self.prompt.clone(),
            asking: self.settings.asking.clone(),
            price: self.price,
            limits: self.limits,
            ledger: Mutex::new(ledger),
            permits: Semaphore::new(usize::from(self.in_flight)),
            pending: Mutex::default(),
            failures: AtomicU32::new(0),
            free: matches!(self.who, Who::Replay(_)),
        })))
    }

    async fn work(
        &self,
        discovery: &Arc<Discovery>,
        stop: &watch::Receiver<bool>,
        progress: &mut dyn Progress,
    ) -> anyhow::Result<End> {
        if let Proposer::Model(asker) = &discovery.proposer {
            for path in &self.environment.import_batch {
                let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
                let imported = batch::import(asker, &discovery.store, &discovery.run, &text).await?;
                progress.note(&imported_text(&path.display().to_string(), &imported));
            }
            if self.who == Who::Batch && self.live.is_some() {
                return self.through_batches(discovery, asker, stop, progress).await;
            }
        }
        let end = self.search(discovery, stop, progress).await?;
        if let (Proposer::Model(asker), Some(path)) = (&discovery.proposer, &self.environment.export_batch) {
            let (lines, exceeded) = batch::export(asker, &discovery.store, &discovery.run, Shape::default()).await?;
            let text: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
            std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
            progress.note(&format!("{} prompts wait for an answer: {}", lines.len(), path.display()));
            if let Some(exceeded) = exceeded {
                return Ok(End::Budget(exceeded));
            }
        }
        Ok(end)
    }

    /// Searches, hands what waits to the endpoint as a batch, waits for it, and so on.
    async fn through_batches(
        &self,
        discovery: &Arc<Discovery>,
        asker: &Asker,
        stop: &watch::Receiver<bool>,
        progress: &mut dyn Progress,
    ) -> anyhow::Result<End> {
        let Some(live) = self.live.clone() else { return Ok(End::Waiting) };
        loop {
            let end = self.search(discovery, stop, progress).await?;
            if end != End::Waiting {
                return Ok(end);
            }
            let (store, run) = (&discovery.store, &discovery.run);
            match batches::round(&live, asker, (store, run), self.environment.batch_poll, stop, progress).await? {
                Round::Answered => {}
                Round::Nothing => return Ok(end),
                Round::Stopped => return Ok(End::Stopped),
                Round::Budget(exceeded) => return Ok(End::Budget(exceeded)),
            }
        }
    }

    async fn search(
        &self,
        discovery: &Arc<Discovery>,
        stop: &watch::Receiver<bool>,
        progress: &mut dyn Progress,
    ) -> anyhow::Result<End> {
        if let Proposer::Model(asker) = &discovery.proposer {
            // What waited before may have its answer by now.
            asker.pending.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
        let seeds = discovery.store.seed_list(discovery.run.id).await?;
        // The same run with more seeds was there before: those beyond are not asked for now.
        let seeds: Vec<_> = seeds.into_iter().take(self.seeds.len()).collect();
        let start = clock::now();
        let mut counts = Counts { seeds: seeds.len(), ..Counts::default() };
        counts.done = seeds.iter().filter(|seed| seed.ended.is_some()).count();
        let (events, mut heard) = mpsc::unbounded_channel();
        let running = discover(discovery, seeds, stop.clone(), events);
        tokio::pin!(running);
        loop {
            let money = money(discovery, &self.limits);
            tokio::select! {
                end = &mut running => return Ok(end?),
                Some(event) = heard.recv() => {
                    if let Some(note) = counts.note(&event) {
                        progress.note(&note);
                    }
                    progress.update(&format_args!("{counts}{money}"), start.elapsed());
                }
            }
        }
    }
}

fn money(discovery: &Discovery, limits: &Limits) -> String {
    let Proposer::Model(asker) = &discovery.proposer else { return String::new() };
    let Ledger { spent, reserved } = *asker.ledger();
    let mut text = format!("  {} calls, {} spent", spent.calls, spent.usd);
    if reserved.usd > MicroUsd(0) {
        let _ = write!(text, ", {} set aside", reserved.usd);
    }
    if let Some(limit) = limits.usd {
        let _ = write!(text, " of {limit}");
    }
    text
}

/// What a file of answers brought, in words.
pub fn imported_text(from: &str, imported: &Imported) -> String {
    let Imported { answered, failed, duplicates, unknown, malformed } = imported;
    let mut text = format!("{from}: {answered} answers");
    let failures: u32 = failed.values().sum();
    for (count, what) in [
        (failures, "failed and wait on"),
        (*duplicates, "were there already"),
        (*unknown, "are not of this run"),
        (u32::try_from(malformed.len()).unwrap_or(u32::MAX), "lines cannot be read"),
    ] {
        if count > 0 {
            // Writing to a string does not fail.
            let _ = write!(text, ", {count} {what}");
        }
    }
    text
}

/// What happened so far, for the progress line.
#[derive(Default)]
struct Counts {
    seeds: usize,
    done: usize,
    proven: u64,
    refuted: u64,
    unknown: u64,
    failed: u64,
    classes: u64,
    similarities: Vec<f64>,
}

impl Counts {
    /// Counts an event; what should be said about it, if anything.
    fn note(&mut self, event: &Event) -> Option<String> {
        match event {
            Event::Candidate(CandidateVerdict::Proven, true) => self.proven += 1,
            Event::Candidate(CandidateVerdict::Proven, false) => self.failed += 1,
            Event::Candidate(CandidateVerdict::Refuted, _) => self.refuted += 1,
            Event::Candidate(CandidateVerdict::Unknown, _) => self.unknown += 1,
            Event::Candidate(CandidateVerdict::Duplicate, _) | Event::Step(_) | Event::SeedWaits => {}
            Event::SeedEnded => self.done += 1,
            Event::SeedUnfit { number, why } => {
                self.done += 1;
                return Some(format!("seed {} is left out: {why}", number + 1));
            }
            Event::Class { name, state, similarity, .. } => {
                self.classes += 1;
                self.similarities.extend(similarity);
                if *state == ClassState::Quarantined {
                    return Some(format!(
                        "{name} is quarantined: an engine disagrees with its proof; `caqtus oracle show --store {name}`"
                    ));
                }
            }
        }
        None
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seeds, done, proven, refuted, unknown, failed, classes, similarities } = self;
        #[expect(clippy::cast_precision_loss, reason = "a mean for people")]
        let similarity = match similarities.as_slice() {
            [] => String::new(),
            some => format!(", plans {:.2} alike", some.iter().sum::<f64>() / some.len() as f64),
        };
        write!(
            f,
            "seeds {done}/{seeds}  proven {proven}  refuted {refuted}  unknown {unknown}  not run {failed}  classes \
             {classes}{similarity}"
        )
    }
}
