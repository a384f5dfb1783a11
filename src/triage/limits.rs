//! What limits kept from being tried while a finding was reduced: it may be larger than it need be.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A limit of a reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// How often the case may run.
    #[strum(to_string = "runs of the case")]
    Runs,
    /// How long the hunt, or the reduction of what ends an engine, may take.
    #[strum(to_string = "time")]
    Time,
    /// How many smaller forms of an expression are looked at.
    #[strum(to_string = "smaller forms of an expression")]
    Forms,
    /// How many simpler forms of two queries are looked at.
    #[strum(to_string = "simpler forms of the queries")]
    Rewordings,
    /// How many pairs of simpler queries the prover is asked about.
    #[strum(to_string = "proofs of simpler queries")]
    Proofs,
}

/// How much each limit left out, at least: what would have come of what was left out is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Limits(BTreeMap<Limit, u64>);

impl Limits {
    /// Counts what a limit left out.
    pub fn count(&mut self, limit: Limit, left_out: usize) {
        if left_out > 0 {
            *self.0.entry(limit).or_default() += u64::try_from(left_out).unwrap_or(u64::MAX);
        }
    }

    /// Adds what others have counted.
    pub fn add(&mut self, other: &Self) {
        for (limit, left_out) in &other.0 {
            *self.0.entry(*limit).or_default() += left_out;
        }
    }

    /// Whether none was reached.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those that were reached.
    pub fn reached(&self) -> impl Iterator<Item = Limit> {
        self.0.keys().copied()
    }

    /// In words.
    pub fn words(&self) -> String {
        let words: Vec<String> =
            self.0.iter().map(|(limit, left_out)| format!("{limit} ({left_out} or more not tried)")).collect();
        words.join(", ")
    }
}
