//! Who proposes candidates: a model, rewrite rules, a file of candidates, or answers that a batch brings later.

use super::prompt::{Ask, Failed, Prompt};
use super::rules::{Rules, RulesError};
use super::search::Search;
use super::settings::{Asking, Settings};
use crate::caq::query::Caq;
use crate::llm::answer::{self, extract};
use crate::llm::budget::{Exceeded, Ledger, Limits, Price, Spent, actual, of_error, worst_case};
use crate::llm::template::PromptError;
use crate::llm::{Exchange, Fault, Model, ModelError, Request};
use crate::plan::PlanTree;
use crate::plan::sampling::sample;
use crate::rng::stream;
use crate::store::{
    CandidateRow, CandidateVerdict, ExchangeOutcome, ExchangeRow, Run, Store, StoreError, Stored, Tally,
};
use rand::Rng as _;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use thiserror::Error;
use tokio::sync::Semaphore;

/// Failures that a prompt shows.
const FAILED_SHOWN_MAX: usize = 3;

/// Askings in a row without any answer, after which it is not asked any more: the cause is the same for all, such as an
/// option that the model does not know, or an endpoint that is down.
const FAILURES_MAX: u32 = 3;

/// Stream of the rules' choices, and of the choice of examples.
const RULES_STREAM: u64 = 0x2D15;
const EXAMPLES_STREAM: u64 = 0xE3A5;

/// A candidate that nobody has judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The query.
    pub sql: String,
    /// The rules that made it.
    pub rules: Vec<String>,
}

/// What an asking gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// Candidates, or none with the reason.
    Answered {
        /// The candidates.
        proposals: Vec<Proposal>,
        /// The request, if a model was asked.
        request_hash: Option<String>,
        /// What came of it, to be counted.
        outcome: String,
    },
    /// The answer comes later, in a batch.
    Pending,
    /// There is nothing more to propose for the seed.
    Exhausted,
}

/// Why nobody can be asked any more. What was done until then is in the store.
#[derive(Debug, Error)]
pub enum ProposeError {
    /// The budget is used up.
    #[error(transparent)]
    Budget(#[from] Exceeded),
    /// The model refuses for good.
    #[error("the model cannot be asked")]
    Model(#[source] ModelError),
    /// The prompt is broken.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// The rules cannot read the seed.
    #[error(transparent)]
    Rules(#[from] RulesError),
    /// The store fails.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Who proposes.
pub enum Proposer {
    /// Rewrite rules.
    Rules,
    /// A model, or what a batch will bring.
    Model(Box<Asker>),
    /// Candidates at hand, by the number of their seed.
    Given(BTreeMap<u32, Vec<String>>),
}

/// Asks a model within a budget. Without a model it collects what would be asked.
pub struct Asker {
    /// The model; `None` collects requests for a batch.
    pub model: Option<Arc<dyn Model>>,
    /// The prompt.
    pub prompt: Prompt,
    /// How it is asked.
    pub asking: Asking,
    /// What it costs.
    pub price: Option<Price>,
    /// What it may cost.
    pub limits: Limits,
    /// What it cost.
    pub ledger: Mutex<Ledger>,
    /// Calls in flight.
    pub permits: Semaphore,
    /// Requests that wait for a batch.
    pub pending: Mutex<Vec<Request>>,
    /// Askings in a row without an answer.
    pub failures: AtomicU32,
    /// Whether answers cost nothing, as recorded ones do.
    pub free: bool,
}

/// A seed and where its search stands.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    /// The run, in the store.
    pub run: &'a Run,
    /// The seed's number.
    pub seed: u32,
    /// The number of the step.
    pub step: u32,
    /// The seed.
    pub caq: &'a Caq,
    /// What is known.
    pub search: &'a Search,
}

impl Proposer {
    /// Asks for candidates.
    pub async fn ask(&self, store: &Store, settings: &Settings, turn: Turn<'_>) -> Result<Asked, ProposeError> {
        match self {
            Self::Given(_) if turn.step > 0 => Ok(Asked::Exhausted),
            Self::Given(given) => {
                let given = given.get(&turn.seed).map(Vec::as_slice).unwrap_or_default();
                Ok(answered(given.iter().map(|sql| proposal(sql.clone())).collect(), None))
            }
            Self::Rules => by_rules(settings, turn),
            Self::Model(asker) => asker.ask(store, settings, turn).await,
        }
    }
}

fn proposal(sql: String) -> Proposal {
    Proposal { sql, rules: Vec::new() }
}

fn answered(proposals: Vec<Proposal>, request_hash: Option<String>) -> Asked {
    let outcome = "candidates".to_owned();
    Asked::Answered { proposals, request_hash, outcome }
}

fn by_rules(settings: &Settings, turn: Turn<'_>) -> Result<Asked, ProposeError> {
    let examples = examples(settings, turn);
    let mut from = vec![turn.caq.sql.as_str()];
    from.extend(examples.iter().map(String::as_str));
    let mut rng = stream(settings.seed, &[RULES_STREAM, u64::from(turn.seed), u64::from(turn.step)]);
    let wanted = settings.asking.candidates as usize;
    let proposals = Rules::new(turn.caq)?.propose(&from, turn.search.seen(), wanted, &mut rng);
    let proposals: Vec<Proposal> = proposals
        .into_iter()
        .map(|p| Proposal { sql: p.sql, rules: p.rules.into_iter().map(str::to_owned).collect() })
        .collect();
    if proposals.is_empty() {
        return Ok(Asked::Answered { proposals, request_hash: None, outcome: "no rule applies".to_owned() });
    }
    Ok(answered(proposals, None))
}

/// Proven equivalents to show or to start from (Algorithm 1, line 4; Algorithm 3).
fn examples(settings: &Settings, turn: Turn<'_>) -> Vec<String> {
    let equal = &turn.search.equal;
    let plans: Vec<PlanTree> = equal.iter().filter_map(|c| c.plan.clone()).collect();
    let seed = stream(settings.seed, &[EXAMPLES_STREAM, u64::from(turn.seed), u64::from(turn.step)]).next_u64();
    let chosen = sample(settings.sampling, &plans, settings.examples_max, seed);
    chosen.into_iter().filter_map(|at| equal.get(at)).map(|c| c.sql.clone()).collect()
}

/// Failures to show: those with a database that shows the difference first, the latest first.
fn failures(search: &Search) -> Vec<Failed> {
    let mut failed: Vec<&CandidateRow> = search.fail.iter().rev().collect();
    failed.sort_by_key(|c| c.witness.is_none());
    failed.into_iter().take(FAILED_SHOWN_MAX).map(|c| Failed { sql: c.sql.clone(), reason: reason(c) }).collect()
}

/// Why a candidate failed, as it is told to a model.
fn reason(candidate: &CandidateRow) -> String {
    match (&candidate.verdict, &candidate.witness) {
        (CandidateVerdict::Refuted, Some(inserts)) if inserts.is_empty() => {
            "It is not equivalent: on empty tables it returns other rows than the seed.".to_owned()
        }
        (CandidateVerdict::Refuted, Some(inserts)) => {
            format!("It is not equivalent. After these it returns other rows than the seed: {}", inserts.join(" "))
        }
        _ => {
            let refused = candidate.refused.iter().next().map(|(target, why)| format!("{target} refuses it: {why}"));
            let unbound = candidate.unbound.as_ref().map(|why| format!("It is outside the language: {why}"));
            let unknown = candidate.reason.as_ref().map(|why| format!("It could not be proven: {why}"));
            refused.or(unbound).or(unknown).unwrap_or_else(|| "It failed.".to_owned())
        }
    }
}

impl Asker {
    fn request(&self, settings: &Settings, turn: Turn<'_>) -> Result<Request, PromptError> {
        let Asking { model, temperature, reasoning_effort, candidates, output_tokens_max } = &self.asking;
        let ask = Ask {
            caq: turn.caq,
            equal: examples(settings, turn),
            failed: failures(turn.search),
            focus: settings.focus.as_deref(),
            dialect: settings.dbms.first().map_or("sqlite", String::as_str),
            wanted: *candidates,
        };
        Ok(Request {
            model: model.clone(),
            messages: self.prompt.fill(&ask)?,
            temperature: *temperature,
            reasoning_effort: reasoning_effort.clone(),
            max_output_tokens: *output_tokens_max,
            answer_schema: answer::schema(),
            sample: turn.step,
            prompt: self.prompt.source.clone(),
        })
    }

    async fn ask(&self, store: &Store, settings: &Settings, turn: Turn<'_>) -> Result<Asked, ProposeError> {
        let request = self.request(settings, turn)?;
        let hash = request.hash();
        let failed = |kind: String| Asked::Answered {
            proposals: Vec::new(),
            request_hash: Some(hash.clone()),
            outcome: format!("model: {kind}"),
        };
        let exchange = match (store.exchange_fetch(turn.run.id, &hash).await?, &self.model) {
            (Stored::Answered(exchange), _) => exchange,
            (Stored::Failed(kind), _) => return Ok(failed(kind)),
            // Another request for what a batch will bring would be paid for twice.
            (Stored::Batched, Some(_)) => return Ok(Asked::Pending),
            (Stored::New | Stored::Sent | Stored::Batched, None) => {
                self.pending.lock().unwrap_or_else(PoisonError::into_inner).push(request);
                return Ok(Asked::Pending);
            }
            (Stored::New | Stored::Sent, Some(model)) => {
                match self.call(store, turn.run, model.as_ref(), &request).await? {
                    Ok(exchange) => exchange,
                    Err(kind) => return Ok(failed(kind)),
                }
            }
        };
        let exchange: Exchange = match serde_json::from_value(exchange) {
            Ok(exchange) => exchange,
            Err(_) => return Ok(failed("a stored answer of another version".to_owned())),
        };
        let mut queries = Vec::new();
        let mut without = None;
        let mut dropped = 0;
        for text in &exchange.texts {
            match extract(text) {
                Ok(extracted) => {
                    dropped += extracted.dropped;
                    queries.extend(extracted.queries);
                }
                Err(none) => without = Some(none.kind()),
            }
        }
        if queries.is_empty() {
            return Ok(failed(without.unwrap_or("no answer").to_owned()));
        }
        let proposals = queries.into_iter().map(proposal).collect();
        if dropped > 0 {
            let outcome = "model: some queries of an answer dropped, too long or too many".to_owned();
            return Ok(Asked::Answered { proposals, request_hash: Some(hash), outcome });
        }
        Ok(answered(proposals, Some(hash)))
    }

    /// Calls the model within the budget. What it may cost is in the store before the request is sent.
    pub async fn call(
        &self,
        store: &Store,
        run: &Run,
        model: &dyn Model,
        request: &Request,
    ) -> Result<Result<serde_json::Value, String>, ProposeError> {
        // Closed by nobody.
        let _permit = self.permits.acquire().await.ok();
        let hash = request.hash();
        loop {
            let worst = self.cost(worst_case(request, self.price).times(model.billed_attempts_max()));
            // Attempts are counted one by one where they are sent; one must be left.
            let worst = Spent { calls: worst.calls.min(1), ..worst };
            let reservation = self.ledger().reserve(&self.limits, worst)?;
            store.exchange_send(run, &exchange_row(request), false, tally(worst)).await?;
            let result = model.complete(request).await;
            let cost = self.cost(match &result {
                Ok(exchange) => actual(exchange, self.price),
                Err(error) => of_error(error, request, self.price),
            });
            self.ledger().settle(reservation, cost);
            let (worst, cost) = (tally(worst), tally(cost));
            let error = match result {
                Ok(exchange) => {
                    self.failures.store(0, Ordering::Relaxed);
                    let exchange = serde_json::to_value(&exchange)
                        .map_err(|source| StoreError::Content { what: "an exchange".to_owned(), source })?;
                    store.exchange_settle(run.id, &hash, ExchangeOutcome::Answered(&exchange), worst, cost).await?;
                    return Ok(Ok(exchange));
                }
                Err(error) => error,
            };
            let in_a_row = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
            if error.fault == Fault::NoCallsLeft {
                store.exchange_settle(run.id, &hash, ExchangeOutcome::Open(error.kind()), worst, cost).await?;
                let limit = self.limits.calls.unwrap_or_default();
                return Err(Exceeded::Calls { limit, would_be: limit + 1 }.into());
            }
            // What nobody answered waits, unless it may be billed already.
            if error.is_fatal() || error.fault.is_outage() {
                store.exchange_settle(run.id, &hash, ExchangeOutcome::Open(error.kind()), worst, cost).await?;
            } else {
                store.exchange_settle(run.id, &hash, ExchangeOutcome::Failed(error.kind()), worst, cost).await?;
            }
            if error.is_fatal() || in_a_row >= FAILURES_MAX {
                return Err(ProposeError::Model(error));
            }
            if !error.fault.is_outage() {
                return Ok(Err(error.kind().to_owned()));
            }
        }
    }

    /// What counts of a cost.
    fn cost(&self, spent: Spent) -> Spent {
        if self.free { Spent::default() } else { spent }
    }

    /// What was spent.
    pub fn ledger(&self) -> std::sync::MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request as it is stored.
pub fn exchange_row(request: &Request) -> ExchangeRow {
    ExchangeRow {
        request_hash: request.hash(),
        prompt_id: request.prompt.prompt_id.clone(),
        prompt_version: request.prompt.prompt_version.clone(),
        prompt_hash: request.prompt.prompt_hash.clone(),
        request: serde_json::to_value(request).unwrap_or_default(),
    }
}

/// What is stored of a cost.
pub fn tally(spent: Spent) -> Tally {
    Tally { calls: spent.calls, tokens: spent.tokens, micro_usd: spent.usd.0 }
}
