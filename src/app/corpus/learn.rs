//! `caqtus corpus learn`: snippets from a model, from the engine's own catalogue, or made of others, validated and stored.

mod combine;

use super::engine::{Engine, Judged};
use crate::app::batches::{self, Round};
use crate::app::discovery::{ModelRequest, Who, endpoint, imported_text, limits, prices};
use crate::app::{Progress, import};
use crate::caq::class::OracleClass;
use crate::catalogue::{self, BY_A_MODEL, BY_THE_CATALOGUE};
use crate::clock;
use crate::config::{BudgetSection, CampaignSpec, FileConfig};
use crate::corpus::features::{FeatureList, Features, Named};
use crate::corpus::prompt::{self, Ask, Piece, Prompts, choose};
use crate::corpus::synthesis;
use crate::corpus::validate::{Candidate, Parsed, SnippetVerdict};
use crate::digest::Digest;
use crate::discover::batch;
use crate::discover::prompt::Prompt;
use crate::discover::proposer::Asker;
use crate::discover::settings::Asking;
use crate::hunt::breakage::{Breakage, confirm};
use crate::hunt::plan::{HuntEnvironment, HuntPlan};
use crate::llm::budget::{Ledger, MicroUsd, Price, Spent};
use crate::llm::wire::Shape;
use crate::llm::{Exchange, Live, Model, Recorder, Replay, Request};
use crate::rng::stream;
use crate::sql::profile::Profile;
use crate::sql::snippet::SnippetKind;
use crate::sql::types::SqlType;
use crate::store::{Build, Costs, Provenance, Run, Store, Stored, Tally};
use crate::triage::finding::{FindingKind, FoundReport};
use anyhow::{Context as _, bail};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Semaphore, watch};

/// Streams of random choices: of a prompt's features, and of made snippets.
const PROMPT_STREAM: u64 = 0xC01;
const SYNTHESIS_STREAM: u64 = 0xC02;

/// Snippets of the corpus that a prompt shows.
const KNOWN_SHOWN: usize = 10;

/// Who writes snippets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Learner {
    /// Nobody: they are made from the engine's catalogue.
    Catalogue,
    /// Nobody: they are combinations of those that are there.
    Combinations,
    /// A model.
    Model(Who),
}

impl FromStr for Learner {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "catalogue" => Ok(Self::Catalogue),
            "combinations" => Ok(Self::Combinations),
            _ => match text.parse() {
                Ok(who @ (Who::Live | Who::Batch | Who::Record(_) | Who::Replay(_))) => Ok(Self::Model(who)),
                _ => Err("write catalogue, combinations, live, batch, record:DIR or replay:DIR".to_owned()),
            },
        }
    }
}

/// What is to be learned.
#[derive(Debug, Clone)]
pub struct LearnRequest {
    /// The target.
    pub dbms: String,
    /// Who writes; without it a model if one is configured, and otherwise the catalogue.
    pub learner: Option<Learner>,
    /// How many prompts for expressions, and how many expressions each asks for; without a model, how many are made.
    pub expressions: (u32, u32),
    /// The same of tables.
    pub tables: (u32, u32),
    /// A folder of documentation.
    pub documents: Option<PathBuf>,
    /// What a model should prefer, in words.
    pub focus: Option<String>,
    /// The seed of everything random.
    pub seed: u64,
    /// How a model is asked.
    pub model: ModelRequest,
    /// What it may cost over the whole run.
    pub budget: BudgetSection,
}

/// Where it is learned.
#[derive(Debug, Clone)]
pub struct Environment {
    /// Where installed engines and caches are.
    pub data_dir: PathBuf,
    /// Where findings go.
    pub out_dir: PathBuf,
    /// The configuration's file.
    pub config: FileConfig,
    /// Where prompts that wait for an answer are written, for a batch; nobody is asked then.
    pub export_batch: Option<PathBuf>,
    /// Answers of a batch.
    pub import_batch: Vec<PathBuf>,
    /// How often a batch is asked for its state.
    pub batch_poll: Duration,
}

/// What was learned. The last line of `--json` is this object.
#[derive(Debug, Default, Serialize)]
pub struct Summary {
    /// Prompts of the run, answered or not.
    pub prompts: u64,
    /// Those of them that wait for an answer.
    pub waiting: u64,
    /// Snippets that were new, and of these:
    pub snippets: u64,
    /// Those that hold on the target.
    pub valid: u64,
    /// Those that do not, by the reason.
    pub rejected: BTreeMap<String, u64>,
    /// Features that no snippet had before.
    pub new_features: Vec<String>,
    /// What broke the engine, written as findings.
    pub findings: u64,
    /// Tokens of all answered requests.
    pub tokens: u64,
    /// What these cost.
    pub usd_spent: f64,
    /// What requests without an answer may cost at the worst.
    pub usd_set_aside: f64,
    /// Wall-clock time.
    pub seconds: f64,
    /// The run, by which it is gone on with.
    pub run: String,
    /// Whether everything that was asked for is done.
    pub done: bool,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { prompts, waiting, snippets, valid, rejected, new_features, findings, seconds, .. } = self;
        if *prompts > 0 {
            writeln!(f, "{prompts} prompts, {waiting} of them wait for an answer")?;
        }
        writeln!(f, "{snippets} new snippets, {valid} of them valid, in {seconds:.1} s")?;
        for (why, count) in rejected {
            writeln!(f, "  {count:>6}  {why}")?;
        }
        writeln!(f, "{} features that no snippet had before; {findings} findings", new_features.len())?;
        if self.tokens > 0 || self.usd_set_aside > 0.0 {
            writeln!(f, "{} tokens, ${:.6} spent, ${:.6} set aside", self.tokens, self.usd_spent, self.usd_set_aside)?;
        }
        Ok(())
    }
}

/// What decides a run: the same is the same run.
#[derive(Debug, Serialize)]
struct Settings<'a> {
    dialect: &'a str,
    learner: &'a str,
    seed: u64,
    asking: Option<&'a Asking>,
    focus: Option<&'a str>,
    documents: Option<String>,
}

/// A learning under way.
struct Learning<'a> {
    store: &'a Store,
    request: &'a LearnRequest,
    environment: &'a Environment,
    engine: Engine,
    profile: Arc<Profile>,
    features: Features,
    /// Texts of the snippets that are known, and the features that they use.
    known: BTreeSet<String>,
    covered: BTreeSet<Named>,
    /// The numbers of prompts whose answers were taken in, or that failed.
    taken_in: BTreeSet<u32>,
    summary: Summary,
}

/// Learns snippets. Every answer is in the store before it is used, so that the same command goes on later.
pub async fn learn(
    request: &LearnRequest,
    environment: &Environment,
    store: &Store,
    stop: &watch::Receiver<bool>,
    progress: &mut dyn Progress,
) -> anyhow::Result<(Summary, Vec<FoundReport>)> {
    let started = clock::now();
    let mut engine = Engine::open(&request.dbms, &environment.data_dir).await?;
    let profile = catalogue::profile(engine.dialect())?;
    let features = read_features(&mut engine, &profile).await?;
    // What ships is part of the corpus that what is learned is added to.
    import::snippets(store, &profile.name, &catalogue::shipped_snippets(&profile.name)).await?;
    let known = store.snippet_list(&profile.name).await?;
    let covered = known.iter().flat_map(|line| features.used(&line.sql)).collect();
    progress.note(&format!("{} {}: {} snippets are known", engine.name(), engine.version, known.len()));
    let mut learning = Learning {
        store,
        request,
        environment,
        engine,
        profile,
        features,
        known: known.iter().map(|line| line.sql.clone()).collect(),
        covered,
        taken_in: BTreeSet::new(),
        summary: Summary::default(),
    };
    let model = request.model.name.clone().or_else(|| environment.config.model.name.clone());
    let files = environment.export_batch.is_some() || !environment.import_batch.is_empty();
    let learner = match (&request.learner, &model) {
        (Some(learner), _) => learner.clone(),
        (None, Some(_)) => Learner::Model(Who::Live),
        (None, None) if files => bail!("name the model that the batch is for: --model NAME"),
        (None, None) => Learner::Catalogue,
    };
    let found = match (learner, model) {
        (Learner::Catalogue | Learner::Combinations, _) if files => {
            bail!("what is made without a model needs no batch; name a model with --model")
        }
        (Learner::Catalogue, _) => learning.make(progress).await?,
        (Learner::Combinations, _) => learning.combine(known, stop, progress).await?,
        (Learner::Model(_), None) => bail!("name the model: --model NAME, or `name` in section [model] of caqtus.toml"),
        (Learner::Model(who), Some(model)) => learning.ask_model(&who, model, stop, progress).await?,
    };
    let mut summary = learning.summary;
    summary.seconds = started.elapsed().as_secs_f64();
    summary.findings = found.len() as u64;
    Ok((summary, found))
}

/// Asks an engine for its features.
pub(super) async fn read_features(engine: &mut Engine, profile: &Profile) -> anyhow::Result<Features> {
    let list = FeatureList::shipped(&profile.name)?;
    let mut answers = BTreeMap::new();
    let internal = profile.functions.as_ref().and_then(|catalogue| catalogue.internal.clone());
    for sql in list.sql.iter().chain(&internal) {
        answers.insert(sql.clone(), engine.rows(sql).await?);
    }
    Ok(Features::read(profile, &list, |sql| answers.remove(sql).flatten()))
}

/// The types of the columns that the shipped classes have tables for.
fn shapes() -> anyhow::Result<Vec<Vec<SqlType>>> {
    let classes = catalogue::shipped()?.classes;
    let shapes: BTreeSet<Vec<SqlType>> = classes.iter().flat_map(OracleClass::table_shapes).collect();
    Ok(shapes.into_iter().collect())
}

impl Learning<'_> {
    fn settings<'a>(&'a self, learner: &'a str, asking: Option<&'a Asking>, documents: &[Piece]) -> Settings<'a> {
        Settings {
            dialect: &self.profile.name,
            learner,
            seed: self.request.seed,
            asking,
            focus: self.request.focus.as_deref(),
            documents: (!documents.is_empty())
                .then(|| Digest::of(documents.iter().flat_map(|p| [p.name.as_str(), &p.text])).hex(16)),
        }
    }

    async fn run(&mut self, settings: serde_json::Value) -> anyhow::Result<Run> {
        let key = format!("corpus-{}", Digest::of([settings.to_string().as_str()]).hex(16));
        let run = self.store.run_open(&key, &settings).await?;
        self.store.run_learns(&run).await?;
        self.summary.run = key;
        Ok(run)
    }

    /// Makes snippets from the engine's catalogue.
    async fn make(&mut self, progress: &mut dyn Progress) -> anyhow::Result<Vec<FoundReport>> {
        let settings = serde_json::to_value(self.settings("catalogue", None, &[]))?;
        let run = self.run(settings).await?;
        let mut rng = stream(self.request.seed, &[SYNTHESIS_STREAM]);
        let list = FeatureList::shipped(&self.profile.name)?;
        let provenance = Provenance { origin: BY_THE_CATALOGUE.to_owned(), run: Some(run.id), ..Provenance::default() };
        let mut found = Vec::new();
        let wanted = self.request.expressions.0 as usize;
        let (profile, features) = (self.profile.clone(), self.features.clone());
        let mut made = synthesis::Expressions::new(&profile, &list, &features);
        // Round after round: functions without a valid call are tried with other arguments.
        let mut valid = 0;
        let rounds = if wanted == 0 { 0 } else { synthesis::ROUNDS_MAX };
        for round in 0..rounds {
            let candidates = made.round(round, wanted.saturating_sub(valid), &self.covered, &self.known, &mut rng);
            if candidates.is_empty() {
                break;
            }
            let before = self.summary.valid;
            found.extend(self.take_in(candidates, &provenance, &mut made, progress).await?);
            valid += usize::try_from(self.summary.valid - before).unwrap_or(usize::MAX);
        }
        let tables =
            synthesis::tables(&self.profile, &shapes()?, self.request.tables.0 as usize, &self.known, &mut rng);
        found.extend(self.take_in(tables, &provenance, &mut made, progress).await?);
        self.summary.done = true;
        Ok(found)
    }

    /// Asks a model, or takes in what a batch brought.
    async fn ask_model(
        &mut self,
        who: &Who,
        model: String,
        stop: &watch::Receiver<bool>,
        progress: &mut dyn Progress,
    ) -> anyhow::Result<Vec<FoundReport>> {
        let config = &self.environment.config;
        let files = self.environment.export_batch.is_some() || !self.environment.import_batch.is_empty();
        let documents = match &self.request.documents {
            Some(dir) => prompt::documents(dir).with_context(|| format!("cannot read the folder {}", dir.display()))?,
            None => Vec::new(),
        };
        let asked = &self.request.model;
        let asking = Asking {
            model,
            temperature: asked.temperature.or(config.model.temperature),
            reasoning_effort: asked.reasoning_effort.clone().or_else(|| config.model.reasoning_effort.clone()),
            candidates: 1,
            output_tokens_max: asked.output_tokens_max,
        };
        let settings = serde_json::to_value(self.settings("model", Some(&asking), &documents))?;
        let run = self.run(settings).await?;
        let costs = self.store.exchange_costs(run.id).await?;
        let limits = limits(&self.request.budget, config)?;
        let prices = prices(config)?;
        let mut price = limits.price(&prices, &asking.model)?;
        if files || *who == Who::Batch {
            price = price.map(Price::of_batches);
        }
        let live = || -> anyhow::Result<Arc<Live>> {
            let mut endpoint = endpoint(asked.base_url.as_deref(), self.request.seed, config, prices.clone())?;
            endpoint.calls_left =
                limits.calls.map(|limit| limit.saturating_sub(costs.spent.calls + costs.set_aside.calls));
            Ok(Arc::new(Live::new(endpoint)?))
        };
        let through_batches = if *who == Who::Batch && !files { Some(live()?) } else { None };
        let model: Option<Arc<dyn Model>> = match who {
            _ if files || through_batches.is_some() => None,
            Who::Replay(dir) => Some(Arc::new(Replay::new(dir))),
            Who::Record(dir) => {
                let recorder = Recorder::new(live()?, dir);
                Some(Arc::new(recorder.with_context(|| format!("cannot record into {}", dir.display()))?))
            }
            _ => Some(live()?),
        };
        let of = |tally: Tally| {
            let Tally { calls, tokens, micro_usd } = tally;
            Spent { usd: MicroUsd(micro_usd), tokens, calls, ..Spent::default() }
        };
        let asker = Asker {
            model,
            // Of discoveries; what is asked here has prompts of its own.
            prompt: Prompt::shipped()?,
            asking,
            price,
            limits,
            ledger: Mutex::new(Ledger { spent: of(costs.spent), reserved: of(costs.set_aside) }),
            permits: Semaphore::new(usize::from(asked.in_flight)),
            pending: Mutex::default(),
            failures: AtomicU32::new(0),
            free: matches!(who, Who::Replay(_)),
        };
        for path in &self.environment.import_batch {
            let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            let imported = batch::import(&asker, self.store, &run, &text).await?;
            progress.note(&imported_text(&path.display().to_string(), &imported));
        }
        let mut found = Vec::new();
        let done = loop {
            let answered_all = self.ask(&asker, &run, &documents, stop, &mut found, progress).await?;
            let Some(live) = through_batches.as_ref().filter(|_| self.summary.waiting > 0 && !*stop.borrow()) else {
                break answered_all;
            };
            let poll = self.environment.batch_poll;
            match batches::round(live, &asker, (self.store, &run), poll, stop, progress).await? {
                Round::Answered => {}
                Round::Nothing | Round::Stopped => break false,
                Round::Budget(exceeded) => bail!("{exceeded}"),
            }
        };
        let Costs { spent, set_aside } = self.store.exchange_costs(run.id).await?;
        #[expect(clippy::cast_precision_loss, reason = "an amount for people")]
        let dollars = |micros: u64| micros as f64 / 1e6;
        self.summary.tokens = spent.tokens;
        self.summary.usd_spent = dollars(spent.micro_usd);
        self.summary.usd_set_aside = dollars(set_aside.micro_usd);
        self.summary.done = done;
        Ok(found)
    }

    /// Goes through the prompts of the run that were not taken in yet: takes in what is answered, asks or exports what is not,
    /// and makes new ones up to their number. Whether all are answered.
    async fn ask(
        &mut self,
        asker: &Asker,
        run: &Run,
        documents: &[Piece],
        stop: &watch::Receiver<bool>,
        found: &mut Vec<FoundReport>,
        progress: &mut dyn Progress,
    ) -> anyhow::Result<bool> {
        let prompts = Prompts::shipped()?;
        let shapes = shapes()?;
        // What waited before may have its answer by now.
        asker.pending.lock().map(|mut pending| pending.clear()).ok();
        // What was asked before stays as it was asked.
        let requests = self.store.exchange_requests(run.id).await?;
        let mut by_number: BTreeMap<u32, (String, Request)> = BTreeMap::new();
        for (hash, value) in requests {
            let request: Request = serde_json::from_value(value).context("a stored request is of another version")?;
            by_number.insert(request.sample, (hash, request));
        }
        // What prompts ask for counts as covered, so that no two ask for the same.
        let mut planned = self.covered.clone();
        let total = self.request.expressions.0 + self.request.tables.0;
        let (mut waiting, mut prompted) = (0, 0);
        let mut all = true;
        for number in 0..total.max(by_number.keys().last().map_or(0, |last| last + 1)) {
            if *stop.borrow() {
                all = false;
                break;
            }
            let (hash, request) = match by_number.remove(&number) {
                Some(sent) => sent,
                None if number < total => {
                    let request = self.prompt(asker, &prompts, &shapes, documents, number, &mut planned)?;
                    (request.hash(), request)
                }
                None => continue,
            };
            prompted += 1;
            if self.taken_in.contains(&number) {
                continue;
            }
            let answer = match (self.store.exchange_fetch(run.id, &hash).await?, &asker.model) {
                (Stored::Answered(exchange), _) => Some(exchange),
                (Stored::Failed(kind), _) => {
                    self.failed(number, &kind);
                    None
                }
                (Stored::New | Stored::Sent, Some(model)) => {
                    match asker.call(self.store, run, model.as_ref(), &request).await? {
                        Ok(exchange) => Some(exchange),
                        Err(kind) => {
                            self.failed(number, &kind);
                            None
                        }
                    }
                }
                (_, _) => {
                    waiting += 1;
                    if asker.model.is_none() {
                        asker.pending.lock().map(|mut pending| pending.push(request.clone())).ok();
                    }
                    None
                }
            };
            let Some(answer) = answer else { continue };
            let exchange: Exchange = serde_json::from_value(answer).context("a stored answer is of another version")?;
            self.taken_in.insert(number);
            found.extend(self.answer(run, &exchange, progress).await?);
        }
        (self.summary.waiting, self.summary.prompts) = (waiting, prompted);
        if let Some(path) = &self.environment.export_batch {
            let (lines, exceeded) = batch::export(asker, self.store, run, Shape::default()).await?;
            let text: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
            std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
            progress.note(&format!("{} prompts wait for an answer: {}", lines.len(), path.display()));
            if let Some(exceeded) = exceeded {
                bail!("{exceeded}");
            }
        }
        Ok(all && waiting == 0)
    }

    /// Counts a prompt that brought nothing.
    fn failed(&mut self, number: u32, kind: &str) {
        self.taken_in.insert(number);
        *self.summary.rejected.entry(format!("prompt failed: {kind}")).or_default() += 1;
    }

    fn prompt(
        &self,
        asker: &Asker,
        prompts: &Prompts,
        shapes: &[Vec<SqlType>],
        documents: &[Piece],
        number: u32,
        planned: &mut BTreeSet<Named>,
    ) -> anyhow::Result<Request> {
        let of_tables = number >= self.request.expressions.0;
        let (kind, wanted) = if of_tables {
            (SnippetKind::Table, self.request.tables.1)
        } else {
            (SnippetKind::Expression, self.request.expressions.1)
        };
        let mut rng = stream(self.request.seed, &[PROMPT_STREAM, u64::from(number)]);
        let pieces = choose(&self.features, kind, documents, planned, &mut rng);
        let uses = |sql: &&String| {
            pieces.iter().any(|piece| piece.name.split('(').next().is_some_and(|name| sql.contains(name)))
        };
        let known: Vec<String> = self.known.iter().filter(uses).take(KNOWN_SHOWN).cloned().collect();
        let ask = Ask {
            profile: &self.profile,
            version: &self.engine.version,
            kind,
            wanted,
            pieces: &pieces,
            shapes,
            known: &known,
            focus: self.request.focus.as_deref(),
        };
        let Asking { model, temperature, reasoning_effort, candidates: _, output_tokens_max } = asker.asking.clone();
        Ok(Request {
            model,
            messages: prompts.fill(&ask)?,
            temperature,
            reasoning_effort,
            max_output_tokens: output_tokens_max,
            answer_schema: prompt::schema(),
            sample: number,
            prompt: prompts.source(kind).clone(),
        })
    }

    /// Takes in the snippets of an answer.
    async fn answer(
        &mut self,
        run: &Run,
        exchange: &Exchange,
        progress: &mut dyn Progress,
    ) -> anyhow::Result<Vec<FoundReport>> {
        let prompts = Prompts::shipped()?;
        let of_tables = exchange.request.prompt.prompt_id == prompts.source(SnippetKind::Table).prompt_id;
        let kind = if of_tables { SnippetKind::Table } else { SnippetKind::Expression };
        let mut candidates = Vec::new();
        for text in &exchange.texts {
            let (snippets, dropped) = prompt::snippets(text);
            if dropped > 0 {
                *self.summary.rejected.entry("too long, or too many in an answer".to_owned()).or_default() +=
                    u64::from(dropped);
            }
            candidates.extend(snippets.into_iter().map(|sql| Candidate { kind, sql }));
        }
        let documentation = shown(&exchange.request);
        let provenance = Provenance {
            origin: BY_A_MODEL.to_owned(),
            run: Some(run.id),
            request_hash: Some(exchange.request_hash.clone()),
            model: Some(exchange.provider_model.clone().unwrap_or_else(|| exchange.request.model.clone())),
            documentation,
        };
        self.take_in(candidates, &provenance, &mut (), progress).await
    }

    /// Validates candidates and stores those that hold. What breaks the engine is confirmed and written.
    async fn take_in(
        &mut self,
        candidates: Vec<Candidate>,
        provenance: &Provenance,
        heard: &mut dyn Heard,
        progress: &mut dyn Progress,
    ) -> anyhow::Result<Vec<FoundReport>> {
        let mut new: Vec<Candidate> = Vec::new();
        for candidate in candidates {
            if self.known.insert(candidate.sql.clone()) {
                new.push(candidate);
            }
        }
        let judged = self.judged(&new, progress).await?;
        let mut kept: BTreeMap<SnippetKind, Vec<String>> = BTreeMap::new();
        let mut broken = Vec::new();
        for (candidate, Judged { verdict, broke }) in new.iter().zip(&judged) {
            self.summary.snippets += 1;
            heard.hear(candidate, verdict);
            if let SnippetVerdict::Refused(why) = verdict {
                let reason = why.split(':').next().unwrap_or(why).to_owned();
                *self.summary.rejected.entry(reason).or_default() += 1;
            } else {
                self.summary.valid += 1;
                kept.entry(candidate.kind).or_default().push(candidate.sql.clone());
                for named in self.features.used(&candidate.sql) {
                    if self.covered.insert(named.clone()) {
                        self.summary.new_features.push(named.1);
                    }
                }
            }
            broken.extend(self.breakage(candidate, broke.as_ref()));
        }
        for (kind, snippets) in kept {
            self.store.snippet_put(&self.profile.name, kind, provenance, &snippets).await?;
        }
        self.note_verdicts(new.iter().zip(&judged)).await?;
        self.confirmed(broken).await
    }

    /// What the engine makes of snippets.
    async fn judged(&mut self, of: &[Candidate], progress: &mut dyn Progress) -> anyhow::Result<Vec<Judged>> {
        let (started, total) = (clock::now(), of.len());
        let tick = |done| progress.update(&format_args!("{done} of {total} snippets"), started.elapsed());
        Ok(self.engine.judge(of, tick).await?)
    }

    /// What a snippet broke the engine with.
    fn breakage(&self, candidate: &Candidate, broke: Option<&(FindingKind, String)>) -> Option<Breakage> {
        let (kind, message) = broke?;
        let snippet = Parsed::read(candidate, &self.profile).ok()?;
        Some(Breakage::of_snippet(&self.profile, &snippet, *kind, message.clone()))
    }

    /// Keeps what this build makes of snippets of the store.
    async fn note_verdicts(&self, of: impl Iterator<Item = (&Candidate, &Judged)>) -> anyhow::Result<()> {
        let mut said = Vec::new();
        for (candidate, Judged { verdict, .. }) in of {
            let valid = !matches!(verdict, SnippetVerdict::Refused(_));
            said.push((candidate.sql.clone(), valid, serde_json::to_value(verdict)?));
        }
        let name = self.engine.name();
        let build = Build { dbms: &name, version: &self.engine.version, build_id: &self.engine.build_id };
        Ok(self.store.snippet_validated(&self.profile.name, &build, &said).await?)
    }

    /// Runs what broke the engine again, each in a process of its own, and writes what shows.
    async fn confirmed(&self, broken: Vec<Breakage>) -> anyhow::Result<Vec<FoundReport>> {
        if broken.is_empty() {
            return Ok(Vec::new());
        }
        let name = self.engine.name();
        let (version, build) = (&self.engine.version, &self.engine.build_id);
        let broken = broken.iter().map(|b| b.finding(&name, version, build, self.request.seed)).collect();
        let Environment { data_dir, out_dir, .. } = self.environment;
        std::fs::create_dir_all(out_dir).with_context(|| format!("cannot make {}", out_dir.display()))?;
        let environment = HuntEnvironment::new(data_dir.clone(), out_dir.clone(), 1);
        let spec = CampaignSpec::new(name.clone(), self.request.seed);
        let plan = HuntPlan { spec, environment, resume: false };
        let scratch = tempfile::Builder::new().prefix("caqtus-corpus-").tempdir().context("cannot make a directory")?;
        Ok(confirm(plan, Vec::new(), broken, scratch.path()).await?.written)
    }
}

/// The pieces of documentation that a prompt shows, by their names.
fn shown(request: &Request) -> Vec<String> {
    let text = request.messages.last().map_or("", |message| message.content.as_str());
    let names = text.lines().filter_map(|line| line.strip_prefix("* ")).filter(|line| !line.starts_with('`'));
    names.map(|line| line.split(": ").next().unwrap_or(line).to_owned()).collect()
}

/// Is told what became of candidates.
trait Heard: Send {
    fn hear(&mut self, candidate: &Candidate, verdict: &SnippetVerdict);
}

impl Heard for () {
    fn hear(&mut self, _: &Candidate, _: &SnippetVerdict) {}
}

impl Heard for synthesis::Expressions<'_> {
    fn hear(&mut self, candidate: &Candidate, verdict: &SnippetVerdict) {
        self.note(&candidate.sql, verdict);
    }
}
