//! What a discovery is asked to do. What is here decides what it does; the same settings are the same run.

use crate::plan::sampling::Sampling;
use serde::{Deserialize, Serialize};

/// How a model is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asking {
    /// Its name.
    pub model: String,
    /// Its temperature; `None` for the endpoint's default.
    pub temperature: Option<f64>,
    /// Its reasoning effort; `None` for the endpoint's default.
    pub reasoning_effort: Option<String>,
    /// Candidates per asking.
    pub candidates: u32,
    /// Tokens of an answer at most.
    pub output_tokens_max: u32,
}

/// What decides a discovery.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The seed of everything random.
    pub seed: u64,
    /// Where seeds come from: a hash of the user's schema or file, or `generated`.
    pub source: String,
    /// The targets; plans are from the first.
    pub dbms: Vec<String>,
    /// Who proposes, as in `rules`.
    pub proposer: String,
    /// How a model is asked.
    pub asking: Asking,
    /// Hash of the prompt's template, if a model is asked.
    pub prompt_hash: Option<String>,
    /// What the user wants preferred.
    pub focus: Option<String>,
    /// How examples are chosen.
    pub sampling: Sampling,
    /// Examples shown at most (Algorithm 3, `MaxSamples`).
    pub examples_max: usize,
    /// Candidates per seed at most (Algorithm 1, `MaxDepth`).
    pub depth_max: u32,
}

impl Settings {
    /// Of everything above: the name of the run.
    pub fn key(&self) -> String {
        let text = serde_json::to_string(self).unwrap_or_default();
        blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
    }
}
