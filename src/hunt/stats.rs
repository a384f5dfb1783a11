//! Outcomes and counters.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a test case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Every query ran and all results are equal.
    Pass,
    /// The case is void, and why.
    Skipped(String),
    /// The case is void for a reason somebody should look at.
    Warning(String),
    /// The engine gave a wrong answer or broke, confirmed.
    Fail(String),
}

/// Counts of outcomes, each with its reasons.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcomes {
    /// Passed cases.
    pub pass: u64,
    /// Void cases.
    pub skipped: u64,
    /// Void cases that somebody should look at.
    pub warning: u64,
    /// Failed cases.
    pub fail: u64,
    /// How often each reason occurred, keyed by outcome and reason.
    pub reasons: BTreeMap<String, u64>,
}

impl Outcomes {
    /// Counts an outcome.
    pub fn count(&mut self, outcome: &Outcome) {
        let (counter, name, reason) = match outcome {
            Outcome::Pass => {
                self.pass += 1;
                return;
            }
            Outcome::Skipped(reason) => (&mut self.skipped, "skipped", reason),
            Outcome::Warning(reason) => (&mut self.warning, "warning", reason),
            Outcome::Fail(reason) => (&mut self.fail, "fail", reason),
        };
        *counter += 1;
        *self.reasons.entry(format!("{name}: {reason}")).or_default() += 1;
    }

    /// All cases.
    pub fn cases(&self) -> u64 {
        self.pass + self.skipped + self.warning + self.fail
    }
}

/// What was done for one oracle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OracleStats {
    /// Cases whose database was made.
    pub cases: u64,
    /// Queries of theirs whose results were compared.
    pub queries: u64,
    /// Queries without which a case went on, because the engine refused them.
    #[serde(default)]
    pub refused: u64,
    /// Findings confirmed, written or not.
    pub fail: u64,
}

impl OracleStats {
    /// Adds what another did.
    pub fn add(&mut self, other: &Self) {
        self.cases += other.cases;
        self.queries += other.queries;
        self.refused += other.refused;
        self.fail += other.fail;
    }
}

/// What an executor did, or several of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Outcomes of cases.
    pub outcomes: Outcomes,
    /// Statements run, set-up included.
    pub statements: u64,
    /// Set-up statements that failed; they are left out of the database, and of reproductions.
    pub setup_errors: u64,
    /// Time inside the engine's own calls, in nanoseconds.
    pub engine_ns: u64,
    /// Time of the whole loop, in nanoseconds of the same clock.
    pub loop_ns: u64,
    /// CPU time of the process, in nanoseconds.
    pub cpu_ns: u64,
    /// CPU time of a server of our own, in nanoseconds; 0 where the engine is inside the process, or not ours.
    #[serde(default)]
    pub server_ns: u64,
    /// What each oracle did.
    #[serde(default)]
    pub oracles: BTreeMap<String, OracleStats>,
    /// The sum of a hash of every case's statements, the same for the same cases in any order.
    pub digest: u64,
}

impl Stats {
    /// Adds what another did.
    pub fn add(&mut self, other: &Self) {
        let (a, b) = (&mut self.outcomes, &other.outcomes);
        a.pass += b.pass;
        a.skipped += b.skipped;
        a.warning += b.warning;
        a.fail += b.fail;
        for (reason, count) in &b.reasons {
            *a.reasons.entry(reason.clone()).or_default() += count;
        }
        self.statements += other.statements;
        self.setup_errors += other.setup_errors;
        self.engine_ns += other.engine_ns;
        self.loop_ns += other.loop_ns;
        self.cpu_ns += other.cpu_ns;
        self.server_ns += other.server_ns;
        for (name, other) in &other.oracles {
            self.oracles.entry(name.clone()).or_default().add(other);
        }
        self.digest = self.digest.wrapping_add(other.digest);
    }

    /// The share of the loop's time spent inside the engine, from 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "a share for people")]
    pub fn engine_share(&self) -> f64 {
        if self.loop_ns == 0 { 0.0 } else { self.engine_ns as f64 / self.loop_ns as f64 }
    }

    /// Cases per second of CPU time, a server's included.
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    pub fn cases_per_cpu_second(&self) -> f64 {
        let all = self.cpu_ns + self.server_ns;
        if all == 0 { 0.0 } else { self.outcomes.cases() as f64 * 1e9 / all as f64 }
    }
}
