//! Proves, refutes or leaves open the equivalence of two SQL queries.
//!
//! A query text becomes a typed [`ir`] plan; [`eval`] gives the plan its meaning on a concrete database and is the
//! specification of everything else. [`decide`] first looks for a database on which the two queries differ
//! ([`refute`]), then for a proof. Pure: no clock, no files, no threads; randomness comes from a seed.

pub mod cert;
mod civil;
#[cfg(feature = "solver")]
mod decide;
#[cfg(feature = "solver")]
mod disprove;
pub mod eval;
pub mod fuzz;
pub mod ir;
pub mod lower;
#[cfg(feature = "solver")]
mod matching;
#[cfg(feature = "solver")]
mod normal;
pub mod pair;
pub mod qed;
pub mod refute;
#[cfg(feature = "solver")]
pub mod smt;
#[cfg(feature = "solver")]
pub mod symbolic;
pub mod walk;
pub mod wire;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use cert::Certificate;
use ir::Assumption;
#[cfg(feature = "solver")]
use ir::{Query, Schema};
pub use pair::Pair;

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

/// What is known about a pair.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// The queries return the same bag on every database that satisfies the schema, under the report's assumptions.
    Proven(Box<Certificate>),
    /// They differ on this database, as the evaluator confirmed.
    Refuted(Witness),
    /// Neither.
    Unknown(Reason),
}

/// A small database on which the two queries return different bags.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// INSERT statements in an order that satisfies foreign keys; empty when the empty database shows the difference.
    pub inserts: Vec<String>,
    /// The rows of the left query, printed.
    pub left: Vec<String>,
    /// The rows of the right query, printed.
    pub right: Vec<String>,
}

/// Why a pair is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// A construct outside the language.
    #[error("unsupported {0}")]
    Unsupported(String),
    /// A query whose result the standard does not determine.
    #[error("not deterministic: {0}")]
    NotDeterministic(String),
    /// The two normal forms could not be matched.
    #[error("no proof found: {0}")]
    NoProof(String),
    /// A counted bound was reached before an answer.
    #[error("limit reached: {0}")]
    Limit(String),
    /// The queries differ only under an arbitrary meaning given to functions the evaluator does not know.
    #[error("differs if {0} are taken as arbitrary functions")]
    OpaqueFunctions(String),
    /// The prover said proven and an evaluated database said otherwise: a bug in the prover.
    #[error("PROVER BUG: a proof was found but the queries differ on {0}")]
    Conflict(String),
}

/// Verdict and what it cost.
#[derive(Clone, Debug)]
pub struct Report {
    /// The verdict.
    pub verdict: Verdict,
    /// What the verdict takes for granted.
    pub assumptions: BTreeSet<Assumption>,
    /// Z3 resource units used.
    pub rlimit: u64,
    /// Bounds that were reached on the way, each with how often.
    pub caps: Vec<(String, u64)>,
}

/// Decides whether two queries over one schema return the same bag of rows on every database.
#[cfg(feature = "solver")]
pub fn decide(schema: &Schema, left: &Query, right: &Query, limits: &Limits) -> Report {
    decide::decide(schema, left, right, limits)
}

/// Looks for a proof without the search for a difference that [`decide`] checks it against. For tests of the prover's
/// own reasoning: such a proof has been compared with nothing, and its certificate counts no databases.
#[cfg(feature = "solver")]
pub fn prove_only(schema: &Schema, left: &Query, right: &Query, limits: &Limits) -> Report {
    decide::prove_only(schema, left, right, limits)
}

/// Looks for a database on which two queries differ, at random and with the solver, and for nothing else: the verdict
/// is refuted or unknown.
#[cfg(feature = "solver")]
pub fn refute_only(schema: &Schema, left: &Query, right: &Query, limits: &Limits) -> Report {
    disprove::refute_only(schema, left, right, limits)
}
