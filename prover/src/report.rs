//! The verdict on a pair, with what it rests on and what it cost.

use std::collections::BTreeSet;

use crate::cert::Certificate;
use crate::evidence::{Reason, Witness};
use crate::ir::Assumption;

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
