//! What came of a request.
//!
//! **Invariant:** an exchange holds neither the key nor any header, and its texts are bounded by the size of the
//! response that was read.

use super::answer::AnswerForm;
use super::budget::MicroUsd;
use super::request::Request;
use serde::{Deserialize, Serialize};

/// How an answered request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Outcome {
    /// At least one answer is complete and has text.
    Answered,
    /// No answer is complete, and at least one was cut at the bound on output tokens.
    Truncated,
    /// Nothing was said because the endpoint's filter or the model itself declined.
    Declined,
    /// No answer has any text.
    Empty,
}

impl Outcome {
    /// A short name for counters.
    pub fn kind(self) -> &'static str {
        self.into()
    }
}

/// Tokens, as the endpoint counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Of the messages.
    pub input_tokens: u64,
    /// Of all answers, thoughts included.
    pub output_tokens: u64,
}

/// A request and what was answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// The request's hash.
    pub request_hash: String,
    /// The request.
    pub request: Request,
    /// How it ended.
    pub outcome: Outcome,
    /// In which form the answer was asked for: with its schema, as some JSON object, or as plain text. An endpoint
    /// that refuses the first gets the next.
    pub form: Option<AnswerForm>,
    /// What was written, one text per answer, in the endpoint's order. Empty where an answer has no text.
    pub texts: Vec<String>,
    /// Why each answer ended, in the endpoint's words.
    pub finish_reasons: Vec<Option<String>>,
    /// Tokens of the answered attempt; `None` when the endpoint does not say, which is unknown and never zero.
    pub usage: Option<Usage>,
    /// Price of the answered attempt; `None` when the usage or the model's price is unknown.
    pub micro_usd: Option<MicroUsd>,
    /// Attempts made, the answered one included.
    pub attempts: u32,
    /// Attempts before it that brought no answer but may have been billed.
    pub lost_attempts: u32,
    /// The model that answered, as the endpoint calls it.
    pub provider_model: Option<String>,
}
