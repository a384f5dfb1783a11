//! What may be spent, and what was.
//!
//! The budget is hard: before a request its worst case is reserved, and a reservation that would pass a limit is
//! refused. What is reserved counts as spent until the truth is known, so that requests in flight cannot pass the limit
//! together. What stays unknown (a missing usage, an attempt that broke off) counts at the worst case.
//!
//! Money is whole micro-dollars, rounded up. Everything here is pure and plain data; a store keeps a [`Ledger`].

use super::error::ModelError;
use super::exchange::{Exchange, Usage};
use super::request::Request;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use thiserror::Error;

/// An amount of money in millionths of a US dollar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MicroUsd(pub u64);

impl MicroUsd {
    /// An amount written in dollars, rounded up; `None` if it is negative, not finite, or above a billion.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked, and up to a billion dollars micro-dollars are exact in a double"
    )]
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        let micros = dollars * 1e6;
        // 0.07 dollars are 70000.00000000001 in doubles: what is next to a whole number is that number.
        let whole = if (micros - micros.round()).abs() < 1e-3 { micros.round() } else { micros.ceil() };
        (0.0..=1e15).contains(&micros).then_some(Self(whole as u64))
    }
}

impl fmt::Display for MicroUsd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

/// What a model's tokens cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// A million tokens of the messages.
    pub input_per_million: MicroUsd,
    /// A million tokens of answers, thoughts included.
    pub output_per_million: MicroUsd,
}

impl Price {
    /// What some tokens cost, rounded up.
    pub fn of(self, usage: Usage) -> MicroUsd {
        let part = |tokens: u64, price: MicroUsd| u128::from(tokens) * u128::from(price.0);
        let micros =
            part(usage.input_tokens, self.input_per_million) + part(usage.output_tokens, self.output_per_million);
        MicroUsd(u64::try_from(micros.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }

    /// The price through the Batch API, which is half of it (<https://platform.openai.com/docs/guides/batch>).
    #[must_use]
    pub fn of_batches(self) -> Self {
        let half = |price: MicroUsd| MicroUsd(price.0.div_ceil(2));
        Self { input_per_million: half(self.input_per_million), output_per_million: half(self.output_per_million) }
    }
}

/// Prices by the model's name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Prices(pub BTreeMap<String, Price>);

impl Prices {
    /// A model's price, if it is known.
    pub fn of(&self, model: &str) -> Option<Price> {
        self.0.get(model).copied()
    }
}

/// Bounds on a run; what is absent is unbounded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Money.
    pub usd: Option<MicroUsd>,
    /// Tokens, of messages and answers together.
    pub tokens: Option<u64>,
    /// Attempts sent to an endpoint.
    pub calls: Option<u64>,
}

/// A limit in dollars on a model without a price. It could never be kept, so it is refused at the start.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "there is a limit of {limit}, but no price for model `{model}`; set `prices.\"{model}\".input_per_million` and \
     `output_per_million` in the configuration, or limit tokens or calls instead"
)]
pub struct NoPrice {
    /// The limit.
    pub limit: MicroUsd,
    /// The model.
    pub model: String,
}

impl Limits {
    /// The price to count a model's requests with.
    pub fn price(&self, prices: &Prices, model: &str) -> Result<Option<Price>, NoPrice> {
        match (prices.of(model), self.usd) {
            (None, Some(limit)) => Err(NoPrice { limit, model: model.to_owned() }),
            (price, _) => Ok(price),
        }
    }
}

/// What was, or may be, spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Money; only of calls to models with a price.
    pub usd: MicroUsd,
    /// Tokens, of messages and answers together.
    pub tokens: u64,
    /// Attempts sent to an endpoint.
    pub calls: u64,
    /// Calls among them whose usage is unknown and counted at the worst case.
    pub assumed_calls: u64,
    /// Calls among them to models without a price: what they cost is unknown, not nothing.
    pub unpriced_calls: u64,
}

impl Spent {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            usd: MicroUsd(self.usd.0.saturating_add(other.usd.0)),
            tokens: self.tokens.saturating_add(other.tokens),
            calls: self.calls.saturating_add(other.calls),
            assumed_calls: self.assumed_calls.saturating_add(other.assumed_calls),
            unpriced_calls: self.unpriced_calls.saturating_add(other.unpriced_calls),
        }
    }

    /// This without something that is part of it.
    #[must_use]
    fn minus(self, part: Self) -> Self {
        Self {
            usd: MicroUsd(self.usd.0.saturating_sub(part.usd.0)),
            tokens: self.tokens.saturating_sub(part.tokens),
            calls: self.calls.saturating_sub(part.calls),
            assumed_calls: self.assumed_calls.saturating_sub(part.assumed_calls),
            unpriced_calls: self.unpriced_calls.saturating_sub(part.unpriced_calls),
        }
    }

    /// This so many times.
    #[must_use]
    pub fn times(self, n: u32) -> Self {
        let n = u64::from(n);
        Self {
            usd: MicroUsd(self.usd.0.saturating_mul(n)),
            tokens: self.tokens.saturating_mul(n),
            calls: self.calls.saturating_mul(n),
            assumed_calls: self.assumed_calls.saturating_mul(n),
            unpriced_calls: self.unpriced_calls.saturating_mul(n),
        }
    }
}

/// Tokens that a message costs besides its text, from above: its role and the marks around it.
const TOKENS_PER_MESSAGE: u64 = 16;

/// Tokens that a request costs besides its messages and its schema, from above.
const TOKENS_PER_REQUEST: u64 = 256;

/// What one attempt costs at most.
///
/// The tokenizers in use work on bytes and make no token of less than one, so bytes bound tokens. Endpoints put the
/// schema into the prompt, so it counts as well. Answers, thoughts included, are bounded by the request.
pub fn worst_case(request: &Request, price: Option<Price>) -> Spent {
    let bytes = |text: &str| text.len() as u64;
    let messages: u64 = request.messages.iter().map(|m| bytes(&m.content) + TOKENS_PER_MESSAGE).sum();
    let usage = Usage {
        input_tokens: messages + bytes(&request.answer_schema.to_string()) + TOKENS_PER_REQUEST,
        output_tokens: u64::from(request.max_output_tokens),
    };
    Spent { assumed_calls: 1, ..cost(usage, price) }
}

/// What an exchange cost: its answered attempt by the endpoint's count, or at the worst case if the endpoint does not
/// count; lost attempts at the worst case.
pub fn actual(exchange: &Exchange, price: Option<Price>) -> Spent {
    let worst = worst_case(&exchange.request, price);
    let answered = exchange.usage.map_or(worst, |usage| cost(usage, price));
    with_calls(answered.plus(worst.times(exchange.lost_attempts)), exchange.attempts)
}

/// What a request without an answer cost, at most.
pub fn of_error(error: &ModelError, request: &Request, price: Option<Price>) -> Spent {
    with_calls(worst_case(request, price).times(error.lost_attempts), error.attempts)
}

fn cost(usage: Usage, price: Option<Price>) -> Spent {
    Spent {
        usd: price.map_or(MicroUsd(0), |price| price.of(usage)),
        tokens: usage.input_tokens.saturating_add(usage.output_tokens),
        calls: 1,
        assumed_calls: 0,
        unpriced_calls: u64::from(price.is_none()),
    }
}

/// Attempts that cost nothing are calls too.
fn with_calls(spent: Spent, attempts: u32) -> Spent {
    Spent { calls: u64::from(attempts), ..spent }
}

/// A limit that a request could pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Exceeded {
    /// Money.
    #[error("the next request could bring the cost to {would_be}, and the limit is {limit}; raise it to go on")]
    Usd {
        /// The limit.
        limit: MicroUsd,
        /// What it could come to.
        would_be: MicroUsd,
    },
    /// Tokens.
    #[error("the next request could bring the tokens to {would_be}, and the limit is {limit}; raise it to go on")]
    Tokens {
        /// The limit.
        limit: u64,
        /// What it could come to.
        would_be: u64,
    },
    /// Attempts.
    #[error("the next request could bring the calls to {would_be}, and the limit is {limit}; raise it to go on")]
    Calls {
        /// The limit.
        limit: u64,
        /// What it could come to.
        would_be: u64,
    },
}

/// Whether the worst case still fits under the limits. Reaching a limit exactly is allowed.
pub fn check(limits: &Limits, spent: &Spent, worst: &Spent) -> Result<(), Exceeded> {
    let would_be = spent.plus(*worst);
    if let Some(limit) = limits.usd.filter(|limit| would_be.usd > *limit) {
        return Err(Exceeded::Usd { limit, would_be: would_be.usd });
    }
    if let Some(limit) = limits.tokens.filter(|limit| would_be.tokens > *limit) {
        return Err(Exceeded::Tokens { limit, would_be: would_be.tokens });
    }
    if let Some(limit) = limits.calls.filter(|limit| would_be.calls > *limit) {
        return Err(Exceeded::Calls { limit, would_be: would_be.calls });
    }
    Ok(())
}

/// What is set aside for one request. It must go back to its ledger by [`Ledger::settle`] or [`Ledger::release`]; one
/// that is dropped stays reserved.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[must_use = "what is reserved stays so until it is settled or released"]
pub struct Reservation {
    worst: Spent,
}

/// What was spent, and what requests in flight may spend.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// What was spent.
    pub spent: Spent,
    /// What is reserved.
    pub reserved: Spent,
}

impl Ledger {
    /// Sets the worst case of a request aside, if it fits under the limits with all that is spent and reserved.
    pub fn reserve(&mut self, limits: &Limits, worst: Spent) -> Result<Reservation, Exceeded> {
        check(limits, &self.spent.plus(self.reserved), &worst)?;
        self.reserved = self.reserved.plus(worst);
        Ok(Reservation { worst })
    }

    /// Replaces a reservation by what was spent.
    pub fn settle(&mut self, reservation: Reservation, actual: Spent) {
        self.release(reservation);
        self.spent = self.spent.plus(actual);
    }

    /// Gives a reservation back: its request was never sent.
    #[allow(clippy::needless_pass_by_value, reason = "a reservation can be given back once")]
    pub fn release(&mut self, reservation: Reservation) {
        self.reserved = self.reserved.minus(reservation.worst);
    }

    /// Counts everything reserved as spent. For a ledger read back after a crash: its requests may have been billed.
    pub fn recover(&mut self) {
        self.spent = self.spent.plus(self.reserved);
        self.reserved = Spent::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::error::Fault;
    use crate::llm::request::tests::request;
    use proptest::prelude::*;

    fn tokens(tokens: u64) -> Spent {
        Spent { usd: MicroUsd(tokens * 3), tokens, calls: 1, ..Spent::default() }
    }

    #[test]
    fn dollars_are_micro_dollars_rounded_up() {
        for (dollars, expected) in [
            (0.0, Some(0)),
            (0.07, Some(70_000)),
            (2.5, Some(2_500_000)),
            (0.000_000_1, Some(1)),
            (1.000_000_2, Some(1_000_001)),
            (-0.01, None),
            (1e10, None),
            (f64::NAN, None),
            (f64::INFINITY, None),
        ] {
            assert_eq!(MicroUsd::from_dollars(dollars).map(|m| m.0), expected, "{dollars}");
        }
        assert_eq!(MicroUsd(1_234_567).to_string(), "$1.234567");
        let one = Price { input_per_million: MicroUsd(1), output_per_million: MicroUsd(u64::MAX) };
        assert_eq!(one.of(Usage { input_tokens: 1, output_tokens: 0 }), MicroUsd(1));
        assert_eq!(one.of(Usage { input_tokens: 0, output_tokens: u64::MAX }), MicroUsd(u64::MAX));
    }

    #[test]
    fn a_limit_in_dollars_needs_a_price() {
        let limits = Limits { usd: Some(MicroUsd(1)), ..Limits::default() };
        let error = limits.price(&Prices::default(), "some-model").expect_err("no price");
        assert!(error.to_string().contains("prices.\"some-model\".input_per_million"), "{error}");
        assert_eq!(Limits::default().price(&Prices::default(), "some-model"), Ok(None));
        assert_eq!(worst_case(&request(), None).unpriced_calls, 1, "unknown, not nothing");
    }

    #[test]
    fn what_is_unknown_counts_at_the_worst() {
        let price = Some(Price { input_per_million: MicroUsd(1_000_000), output_per_million: MicroUsd(1_000_000) });
        let request = request();
        let worst = worst_case(&request, price);
        assert!(worst.tokens >= 100 + request.messages.iter().map(|m| m.content.len() as u64).sum::<u64>());
        assert_eq!(worst.usd.0, worst.tokens, "a micro-dollar per token");

        let lost = Fault::TimedOut { attempt_ms: 1 }.after_one_attempt();
        assert_eq!(of_error(&lost, &request, price), worst);
        let refused = ModelError { fault: lost.fault, attempts: 2, lost_attempts: 0 };
        assert_eq!(of_error(&refused, &request, price), Spent { calls: 2, ..Spent::default() });

        let mut exchange = Exchange {
            request_hash: request.hash(),
            request,
            outcome: crate::llm::Outcome::Answered,
            form: None,
            texts: Vec::new(),
            finish_reasons: Vec::new(),
            usage: None,
            micro_usd: None,
            attempts: 3,
            lost_attempts: 1,
            provider_model: None,
        };
        let spent = actual(&exchange, price);
        assert_eq!((spent.tokens, spent.calls, spent.assumed_calls), (2 * worst.tokens, 3, 2));
        exchange.usage = Some(Usage { input_tokens: 10, output_tokens: 5 });
        let spent = actual(&exchange, price);
        assert_eq!((spent.tokens, spent.calls, spent.assumed_calls), (worst.tokens + 15, 3, 1));
    }

    #[test]
    fn each_limit_holds() {
        let spent = tokens(10);
        for (limits, exceeded) in [
            (
                Limits { usd: Some(MicroUsd(59)), ..Limits::default() },
                Exceeded::Usd { limit: MicroUsd(59), would_be: MicroUsd(60) },
            ),
            (Limits { tokens: Some(19), ..Limits::default() }, Exceeded::Tokens { limit: 19, would_be: 20 }),
            (Limits { calls: Some(1), ..Limits::default() }, Exceeded::Calls { limit: 1, would_be: 2 }),
        ] {
            assert_eq!(check(&limits, &spent, &tokens(10)), Err(exceeded));
        }
        let exact = Limits { usd: Some(MicroUsd(60)), tokens: Some(20), calls: Some(2) };
        assert_eq!(check(&exact, &spent, &tokens(10)), Ok(()));
    }

    #[test]
    fn what_is_in_flight_counts() {
        let limits = Limits { tokens: Some(25), ..Limits::default() };
        let mut ledger = Ledger::default();
        let first = ledger.reserve(&limits, tokens(10)).expect("room");
        let second = ledger.reserve(&limits, tokens(10)).expect("room");
        ledger.reserve(&limits, tokens(10)).expect_err("two are in flight");
        ledger.settle(first, tokens(4));
        let third = ledger.reserve(&limits, tokens(10)).expect("room, since the first took less");
        ledger.release(second);
        assert_eq!((ledger.spent, ledger.reserved), (tokens(4), tokens(10)));

        // After a crash, what was in flight may have been billed.
        let text = serde_json::to_string(&ledger).expect("plain data");
        let mut after: Ledger = serde_json::from_str(&text).expect("what was just written");
        after.recover();
        assert_eq!((after.spent, after.reserved), (tokens(4).plus(tokens(10)), Spent::default()));
        ledger.release(third);
    }

    proptest! {
        /// Whatever is asked for in whatever order, what is spent stays under the limit as long as no request takes more
        /// than its worst case.
        #[test]
        fn the_budget_is_hard(
            limit in 0u64..200, steps in prop::collection::vec((0u64..50, 0u64..50, any::<bool>(), 0usize..4), 0..60),
        ) {
            let limits = Limits { tokens: Some(limit), ..Limits::default() };
            let mut ledger = Ledger::default();
            let mut flying = Vec::new();
            for (worst, less, sent, at) in steps {
                if let Ok(reservation) = ledger.reserve(&limits, tokens(worst)) {
                    flying.push((reservation, worst));
                }
                if at < flying.len() {
                    let (reservation, worst) = flying.swap_remove(at);
                    if sent {
                        ledger.settle(reservation, tokens(worst.saturating_sub(less)));
                    } else {
                        ledger.release(reservation);
                    }
                }
                prop_assert!(ledger.spent.tokens + ledger.reserved.tokens <= limit);
                prop_assert_eq!(ledger.reserved.tokens, flying.iter().map(|(_, worst)| worst).sum::<u64>());
            }
        }
    }
}
