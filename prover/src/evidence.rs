//! What is known of a pair in parts: the difference, or the steps and claims of a proof, or why there is neither.

use serde::{Deserialize, Serialize};

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

/// One step of a proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Name of the rule.
    pub rule: String,
    /// The formula before, or the left side of a matching; empty if there is none.
    pub before: String,
    /// The formula after, or the right side of a matching.
    pub after: String,
}

/// A formula that must be unsatisfiable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Obligation {
    /// What its unsatisfiability shows.
    pub claim: String,
    /// A complete SMT-LIB 2.6 script without `check-sat`.
    pub smtlib: String,
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
