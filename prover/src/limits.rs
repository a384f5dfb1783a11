//! Bounds on the work for one pair.

use serde::{Deserialize, Serialize};

/// Bounds on the work for one pair. All are repeatable: the same input gives the same verdict on any machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Z3 resource units for one solver query.
    pub rlimit_per_query: u32,
    /// Z3 resource units for the whole pair.
    pub rlimit_total: u64,
    /// Steps of rewriting and encoding for the whole pair.
    pub work_total: u64,
    /// Random databases on which a proof must hold before it counts.
    pub trials: u32,
    /// Steps of the evaluator on one of them.
    pub fuel_per_trial: u64,
    /// Seed of the random databases.
    pub seed: u64,
    /// Rows per table in the bounded symbolic search for a difference.
    pub symbolic_rows: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            rlimit_per_query: 1_500_000,
            rlimit_total: 6_000_000,
            work_total: 1_000_000,
            trials: 200,
            fuel_per_trial: 100_000,
            seed: 1,
            symbolic_rows: 2,
        }
    }
}
