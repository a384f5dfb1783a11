//! The discovery: every seed's search as a task of its own, several at once, each step in the store before the next.

use super::crosscheck::{CrossCheckError, Evidence, cross_check};
use super::pool::{PoolError, ProverPool};
use super::proposer::{Asked, Proposal, ProposeError, Proposer, Turn};
use super::search::Search;
use super::settings::Settings;
use super::trial::{Trial, TrialOutcome, TrialTarget};
use crate::caq::bind::bind;
use crate::caq::class::{ClassText, MemberText, OracleClass, read_names};
use crate::caq::names::Names;
use crate::caq::proof::{Pair, Record, Verdict};
use crate::caq::query::Caq;
use crate::digest::Digest;
use crate::llm::budget::Exceeded;
use crate::plan::PlanTree;
use crate::plan::similarity::similarity;
use crate::store::{
    CandidateRow, CandidateVerdict, CheckedBy, ClassState, NewClass, NewProof, PutOutcome, Run, SeedRow, StepRow,
    Store, StoreError,
};
use futures::future::join_all;
use prover::wire::Outcome;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use thiserror::Error;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// How the audit trail names discoveries.
const BY: CheckedBy<'static> = CheckedBy { who: "discovery", job: None };

/// Why a discovery cannot go on. What was done until then is in the store.
#[derive(Debug, Error)]
pub enum DiscoverError {
    /// The store fails.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The prover is missing or does not work.
    #[error(transparent)]
    Prover(#[from] PoolError),
    /// Nobody can be asked any more.
    #[error(transparent)]
    Propose(#[from] ProposeError),
    /// The process for trials cannot be started.
    #[error("cannot try queries on {target}")]
    Trial {
        /// The target.
        target: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A class cannot be checked.
    #[error(transparent)]
    CrossCheck(#[from] CrossCheckError),
}

/// What a discovery needs.
pub struct Discovery {
    /// The store.
    pub store: Store,
    /// The run, in the store.
    pub run: Run,
    /// What it is asked to do.
    pub settings: Settings,
    /// Who proposes.
    pub proposer: Proposer,
    /// Who proves.
    pub provers: ProverPool,
    /// What candidates are tried on; plans are from the first.
    pub targets: Vec<TrialTarget>,
    /// Where installed engines and caches are.
    pub data_dir: PathBuf,
    /// Seeds that are worked on at once.
    pub seeds_in_flight: usize,
}

/// What happens on the way.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A candidate was judged.
    Candidate(CandidateVerdict, bool),
    /// A step was made: who asked, and what came of it.
    Step(String),
    /// A class was stored and checked.
    Class {
        /// Its name.
        name: String,
        /// How many members it has.
        members: usize,
        /// Its state.
        state: ClassState,
        /// Similarity of its plans.
        similarity: Option<f64>,
    },
    /// A seed's search ended.
    SeedEnded,
    /// A seed cannot be searched.
    SeedUnfit {
        /// Its number.
        number: u32,
        /// Why.
        why: String,
    },
    /// A seed waits for a batch.
    SeedWaits,
}

/// Why a discovery ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// All seeds are done.
    Done,
    /// Somebody or the clock told it to stop.
    Stopped,
    /// Seeds wait for the answers of a batch.
    Waiting,
    /// The budget does not allow another request.
    Budget(Exceeded),
}

/// Runs until all seeds are done, `stop` says so, or something fails. Seeds that were begun earlier go on where they
/// stopped.
pub async fn run(
    discovery: &Arc<Discovery>,
    seeds: Vec<SeedRow>,
    stop: watch::Receiver<bool>,
    events: mpsc::UnboundedSender<Event>,
) -> Result<End, DiscoverError> {
    let mut open: std::collections::VecDeque<SeedRow> = seeds.into_iter().filter(|s| s.ended.is_none()).collect();
    let mut tasks: JoinSet<Result<SeedEnd, DiscoverError>> = JoinSet::new();
    let mut end = End::Done;
    let mut failure = None;
    loop {
        let going = !*stop.borrow() && failure.is_none() && !matches!(end, End::Budget(_));
        while going && tasks.len() < discovery.seeds_in_flight.max(1) {
            let Some(seed) = open.pop_front() else { break };
            let (discovery, stop, events) = (discovery.clone(), stop.clone(), events.clone());
            tasks.spawn(async move { discovery.seed(&seed, &stop, &events).await });
        }
        // What was begun comes to the end of its step, so that nothing that was paid for is lost.
        let Some(ended) = tasks.join_next().await else { break };
        match ended {
            Ok(Ok(SeedEnd::Stopped)) if !matches!(end, End::Budget(_)) => end = End::Stopped,
            Ok(Ok(SeedEnd::Waits)) if end == End::Done => end = End::Waiting,
            Ok(Ok(_)) => {}
            Ok(Err(DiscoverError::Propose(ProposeError::Budget(exceeded)))) => end = End::Budget(exceeded),
            Ok(Err(error)) => failure = failure.or(Some(error)),
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        }
    }
    match failure {
        Some(error) => Err(error),
        None if !open.is_empty() && end == End::Done => Ok(End::Stopped),
        None => Ok(end),
    }
}

enum SeedEnd {
    Ended,
    Stopped,
    Waits,
}

impl Discovery {
    /// One seed's search (Algorithm 1, `GenerateEqual`).
    async fn seed(
        &self,
        seed: &SeedRow,
        stop: &watch::Receiver<bool>,
        events: &mpsc::UnboundedSender<Event>,
    ) -> Result<SeedEnd, DiscoverError> {
        // Nobody listening is no reason to stop.
        let tell = |event| drop(events.send(event));
        // What could never become a class is not worth a question; candidates at hand are judged all the same.
        let given = matches!(self.proposer, Proposer::Given(_));
        let class = OracleClass::new("the seed", self.text(seed, [&seed.caq.sql, &seed.caq.sql].into_iter()));
        let names = match (class, read_names(&seed.caq.schema, &seed.caq.placeholders)) {
            (Ok(class), _) => class.names,
            (Err(_), Ok((_, names))) if given => names,
            (Err(error), _) => {
                let why = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
                self.store.seed_end(seed.id, &format!("no class can be made of the seed: {why}"), None).await?;
                tell(Event::SeedUnfit { number: seed.number, why });
                return Ok(SeedEnd::Ended);
            }
        };
        let mut search =
            if given { Search::unbounded(&seed.caq.sql) } else { Search::new(&seed.caq.sql, self.settings.depth_max) };
        let mut next = self.catch_up(seed, &mut search).await?;
        let why = loop {
            if let Some(ended) = search.ended() {
                break ended.name();
            }
            if *stop.borrow() {
                return Ok(SeedEnd::Stopped);
            }
            let turn = Turn { run: &self.run, seed: seed.number, step: next, caq: &seed.caq, search: &search };
            let (proposals, request_hash, outcome) = match self.proposer.ask(&self.store, &self.settings, turn).await? {
                Asked::Answered { proposals, request_hash, outcome } => (proposals, request_hash, outcome),
                Asked::Exhausted => break "all candidates judged",
                Asked::Pending => {
                    tell(Event::SeedWaits);
                    return Ok(SeedEnd::Waits);
                }
            };
            let proposals = proposals.into_iter().take(search.left()).collect();
            let candidates = self.evaluate_all(&seed.caq, &names, &mut search, proposals).await?;
            let step = StepRow { number: next, request_hash, outcome: outcome.clone() };
            self.store.step_put(&self.run, seed.id, &step, &candidates).await?;
            tell(Event::Step(outcome));
            for candidate in &candidates {
                tell(Event::Candidate(candidate.verdict, candidate.is_equal()));
            }
            note(&mut search, candidates);
            next += 1;
        };
        let (why, class) = match self.class(seed, &search).await? {
            Ok(None) => (why.to_owned(), None),
            Ok(Some(class)) => {
                let mut stop = stop.clone();
                tokio::select! {
                    name = self.release(class, &tell) => (why.to_owned(), Some(name?)),
                    // A check takes long; it is made again when the search goes on.
                    Ok(_) = stop.wait_for(|stop| *stop) => return Ok(SeedEnd::Stopped),
                }
            }
            Err(unfit) => (unfit, None),
        };
        self.store.seed_end(seed.id, &why, class.as_deref()).await?;
        tell(Event::SeedEnded);
        Ok(SeedEnd::Ended)
    }

    /// Brings a search to where the store left it; the number of the next step.
    async fn catch_up(&self, seed: &SeedRow, search: &mut Search) -> Result<u32, StoreError> {
        let mut by_step: BTreeMap<u32, Vec<CandidateRow>> = BTreeMap::new();
        for (step, candidate) in self.store.candidate_list(seed.id).await? {
            by_step.entry(step).or_default().push(candidate);
        }
        let steps = self.store.step_list(seed.id).await?;
        for step in &steps {
            note(search, by_step.remove(&step.number).unwrap_or_default());
        }
        Ok(steps.last().map_or(0, |step| step.number + 1))
    }

    /// Judges what one asking gave, side by side. The order stays.
    async fn evaluate_all(
        &self,
        caq: &Caq,
        names: &Names,
        search: &mut Search,
        proposals: Vec<Proposal>,
    ) -> Result<Vec<CandidateRow>, DiscoverError> {
        let judged = proposals.into_iter().map(|proposal| {
            let is_new = search.is_new(&proposal.sql);
            async move { if is_new { self.evaluate(caq, names, proposal).await } else { Ok(self.duplicate(proposal)) } }
        });
        let judged: Vec<_> = judged.collect();
        join_all(judged).await.into_iter().collect()
    }

    /// A candidate of which nothing is known but that it was proposed before.
    fn duplicate(&self, proposal: Proposal) -> CandidateRow {
        CandidateRow {
            sql: proposal.sql,
            rules: proposal.rules,
            verdict: CandidateVerdict::Duplicate,
            reason: None,
            witness: None,
            assumptions: BTreeSet::new(),
            prover: self.provers.version().to_owned(),
            certificate: None,
            unbound: None,
            refused: BTreeMap::new(),
            plan: None,
        }
    }

    /// Proves a candidate and tries it on the targets (Algorithm 1, line 5).
    async fn evaluate(&self, caq: &Caq, names: &Names, proposal: Proposal) -> Result<CandidateRow, DiscoverError> {
        let mut row = self.duplicate(proposal);
        row.unbound = bind(&row.sql, names).err().map(|error| error.to_string());
        let answer = self.provers.decide(caq, &row.sql).await?;
        row.verdict = match answer.verdict {
            Outcome::Proven => CandidateVerdict::Proven,
            Outcome::Refuted => CandidateVerdict::Refuted,
            Outcome::Unknown => CandidateVerdict::Unknown,
        };
        row.reason = answer.reason;
        row.witness = answer.witness;
        row.assumptions = answer.assumptions;
        row.certificate = answer.certificate.and_then(|certificate| serde_json::to_value(certificate).ok());
        if row.unbound.is_some() {
            // Not a query of the language, perhaps no query at all: no engine is to run it.
            return Ok(row);
        }
        let trial = Trial { caq: caq.clone(), sql: row.sql.clone() };
        for (at, target) in self.targets.iter().enumerate() {
            let tried = target.try_query(&trial).await;
            match tried.map_err(|source| DiscoverError::Trial { target: target.name.clone(), source })? {
                TrialOutcome::Accepted { plan } if at == 0 => row.plan = Some(plan),
                TrialOutcome::Accepted { .. } => {}
                TrialOutcome::Refused { why } => {
                    row.refused.insert(target.name.clone(), why);
                }
            }
        }
        Ok(row)
    }

    /// The class of a seed and its proven equivalents; `None` without any. Proven ones that some target takes are in it,
    /// since a hunt takes of a class what its own target accepts; those that all refuse stay candidates.
    /// In words if they do not make one.
    async fn class(&self, seed: &SeedRow, search: &Search) -> Result<Result<Option<NewClass>, String>, DiscoverError> {
        let proven = |c: &&CandidateRow| {
            let taken = self.targets.is_empty() || c.refused.len() < self.targets.len();
            c.verdict == CandidateVerdict::Proven && c.unbound.is_none() && taken
        };
        let members: Vec<&CandidateRow> = search.equal.iter().chain(&search.fail).filter(proven).collect();
        if members.is_empty() {
            return Ok(Ok(None));
        }
        let trial = Trial { caq: seed.caq.clone(), sql: seed.caq.sql.clone() };
        let seed_plan = match self.targets.first() {
            Some(target) => match target.try_query(&trial).await {
                Ok(TrialOutcome::Accepted { plan }) => Some(plan),
                Ok(TrialOutcome::Refused { .. }) => None,
                Err(source) => return Err(DiscoverError::Trial { target: target.name.clone(), source }),
            },
            None => None,
        };
        let texts = std::iter::once(&seed.caq.sql).chain(members.iter().map(|c| &c.sql));
        let text = self.text(seed, texts);
        let class = match OracleClass::new("the store", text.clone()) {
            Ok(class) => class,
            Err(error) => return Ok(Err(format!("no class can be made: {error}"))),
        };
        let mut certificates = self.store.certificate_list(seed.id).await?;
        let proofs = members.iter().enumerate().filter_map(|(at, candidate)| {
            let pair = Pair(0, at + 1);
            let record = Record {
                id: pair.id(&text.name),
                hash: class.question(pair)?.hash(),
                verdict: Verdict::Proven,
                assumptions: candidate.assumptions.clone(),
                reason: None,
                prover: candidate.prover.clone(),
            };
            Some(NewProof { record, certificate: certificates.remove(&candidate.sql) })
        });
        let proofs = proofs.collect();
        let plans: Vec<Option<PlanTree>> =
            std::iter::once(seed_plan).chain(members.iter().map(|c| c.plan.clone())).collect();
        let known: Vec<PlanTree> = plans.iter().flatten().cloned().collect();
        Ok(Ok(Some(NewClass { text, plans, proofs, similarity: similarity(&known) })))
    }

    fn text<'a>(&self, seed: &SeedRow, members: impl Iterator<Item = &'a String>) -> ClassText {
        ClassText {
            name: class_name(seed),
            origin: format!("discovered ({})", self.settings.proposer),
            about: format!("Queries proven to be equivalent to: {}", seed.caq.sql),
            schema: seed.caq.schema.clone(),
            placeholders: seed.caq.placeholders.clone(),
            members: members.map(|sql| MemberText::Sql(sql.clone())).collect(),
            dialects: Vec::new(),
            assumes: Vec::new(),
        }
    }

    /// Stores a class, and checks it if it is new or changed.
    async fn release(&self, class: NewClass, tell: &impl Fn(Event)) -> Result<String, DiscoverError> {
        let mut kept = self.store.class_extend(class).await?;
        let name = kept.class.text.name.clone();
        while kept.state == ClassState::Draft {
            let evidence = self.check(&kept.class).await?;
            let value = serde_json::to_value(&evidence)
                .map_err(|source| StoreError::Content { what: "evidence".to_owned(), source })?;
            if self.store.class_checked(&name, &kept.hash, evidence.state(), &value, BY).await? {
                kept.state = evidence.state();
                break;
            }
            // Somebody has changed it, or decided, in the meantime.
            kept = self.store.class_extend(kept.class).await?;
        }
        let PutOutcome { class, state, .. } = kept;
        tell(Event::Class {
            name: name.clone(),
            members: class.text.members.len(),
            state,
            similarity: class.similarity,
        });
        Ok(name)
    }

    async fn check(&self, class: &NewClass) -> Result<Evidence, CrossCheckError> {
        let records: Vec<Record> = class.proofs.iter().map(|proof| proof.record.clone()).collect();
        let seed = self.settings.seed;
        cross_check(&class.text, &records, &self.settings.dbms, &self.data_dir, seed).await
    }
}

/// Counts what one asking gave.
fn note(search: &mut Search, candidates: Vec<CandidateRow>) {
    if candidates.is_empty() {
        search.note_nothing();
    }
    for candidate in candidates {
        // What comes after the end of the search, in the same answer, is judged and not counted.
        if search.ended().is_none() {
            search.note(candidate);
        }
    }
}

/// A class is named after its seed, so that two discoveries from one seed make one class.
fn class_name(SeedRow { name, caq, .. }: &SeedRow) -> String {
    let given = name.as_deref().unwrap_or("d").to_ascii_lowercase();
    let given: String = given.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let names = caq.placeholders.iter().flat_map(|(name, constraint)| [name.as_str(), constraint.as_str()]);
    format!("{given}-{}", Digest::of(names.chain([caq.schema.as_str(), caq.sql.as_str()])).hex(12))
}
