//! The record of a proof: what was rewritten, what was matched, and every question put to the solver.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::ir::Assumption;

/// Everything needed to read a proof and to check its solver obligations again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// Version of the prover.
    pub prover: String,
    /// Version of the solver library.
    pub solver: String,
    /// The limits in force.
    pub limits: crate::Limits,
    /// What the proof takes for granted.
    pub assumptions: BTreeSet<Assumption>,
    /// The rewrites and matchings in order.
    pub steps: Vec<Step>,
    /// Every solver query on which the proof rests.
    pub obligations: Vec<Obligation>,
    /// Random databases on which both queries were evaluated and agreed.
    pub trials: u32,
}

/// One step of a proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Name of the rule.
    pub rule: String,
    /// The formula before, or the left side of a matching.
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
