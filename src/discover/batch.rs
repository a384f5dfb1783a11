//! Prompts and answers through files, and through the Batch API, at half the price.
//!
//! A seed whose next answer is not there waits. What waits is written as lines of a batch; answers come back in any
//! order, partly or twice, and are put where a live call would have put its answer, so both ways end in the same
//! classes.

use super::proposer::{Asker, exchange_row, tally};
use crate::llm::answer::AnswerForm;
use crate::llm::batch::{Results, line};
use crate::llm::budget::{Exceeded, actual, of_error, worst_case};
use crate::llm::wire::{Asked, Shape};
use crate::llm::{Key, Request};
use crate::store::{ExchangeOutcome, Run, Store, StoreError, Stored};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::PoisonError;

/// What a file of answers brought.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// Requests that have their answer now.
    pub answered: u32,
    /// Requests that failed: they stay pending.
    pub failed: BTreeMap<String, u32>,
    /// Answers that were there before, or twice in the file.
    pub duplicates: u32,
    /// Answers to requests that this run did not make.
    pub unknown: u32,
    /// Lines that are no answer, by their number.
    pub malformed: Vec<usize>,
}

/// The lines of a batch with what waits, as much of it as the budget allows, and why it is not all. What it may cost is
/// set aside, once for each request.
pub async fn export(
    asker: &Asker,
    store: &Store,
    run: &Run,
    shape: Shape,
) -> Result<(Vec<String>, Option<Exceeded>), StoreError> {
    let mut pending = std::mem::take(&mut *asker.pending.lock().unwrap_or_else(PoisonError::into_inner));
    pending.sort_by_key(Request::hash);
    pending.dedup_by_key(|request| request.hash());
    let mut lines = Vec::new();
    for request in &pending {
        match store.exchange_fetch(run.id, &request.hash()).await? {
            // Set aside already, and still waiting.
            Stored::Sent | Stored::Batched => {}
            Stored::New => {
                let worst = worst_case(request, asker.price);
                // Not released: an answer may come in days, to another process, which finds it in the store.
                match asker.ledger().reserve(&asker.limits, worst) {
                    Ok(_reserved) => {}
                    Err(exceeded) => return Ok((lines, Some(exceeded))),
                }
                store.exchange_send(run, &exchange_row(request), true, tally(worst)).await?;
            }
            Stored::Answered(_) | Stored::Failed(_) => continue,
        }
        lines.push(line(request, shape));
    }
    Ok((lines, None))
}

/// Stores the answers in a file of results.
pub async fn import(asker: &Asker, store: &Store, run: &Run, text: &str) -> Result<Imported, StoreError> {
    let requests = requests(store, run).await?;
    let key = Key::none();
    let mut results = Results::default();
    let asked = |hash: &str| {
        let request = requests.get(hash)?;
        Some(Asked { request, form: AnswerForm::JsonSchema, price: asker.price, key_setting: "", key: &key })
    };
    results.read(text, asked);
    let mut imported = Imported {
        duplicates: results.duplicates,
        unknown: u32::try_from(results.unknown.len()).unwrap_or(u32::MAX),
        malformed: results.malformed.iter().map(|bad| bad.number).collect(),
        ..Imported::default()
    };
    for (hash, ended) in results.ended {
        let Some(request) = requests.get(&hash) else { continue };
        let worst = tally(worst_case(request, asker.price));
        match ended {
            Ok(exchange) => {
                let value = serde_json::to_value(&exchange)
                    .map_err(|source| StoreError::Content { what: "an exchange".to_owned(), source })?;
                let cost = tally(actual(&exchange, asker.price));
                if store.exchange_settle(run.id, &hash, ExchangeOutcome::Answered(&value), worst, cost).await? {
                    imported.answered += 1;
                } else {
                    imported.duplicates += 1;
                }
            }
            Err(error) => {
                *imported.failed.entry(error.kind().to_owned()).or_default() += 1;
                // It may be sent again, at a price of its own.
                let cost = tally(of_error(&error, request, asker.price));
                store.exchange_settle(run.id, &hash, ExchangeOutcome::Open(error.kind()), worst, cost).await?;
            }
        }
    }
    Ok(imported)
}

/// The requests of a run by their hashes.
async fn requests(store: &Store, run: &Run) -> Result<BTreeMap<String, Request>, StoreError> {
    let rows = store.exchange_requests(run.id).await?;
    let request = |(hash, value): (String, serde_json::Value)| Some((hash, serde_json::from_value(value).ok()?));
    Ok(rows.into_iter().filter_map(request).collect())
}
