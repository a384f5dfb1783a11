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
#[cfg(feature = "solver")]
mod encode;
pub mod eval;
pub mod evidence;
#[cfg(feature = "random")]
pub mod fuzz;
pub mod ir;
mod limits;
pub mod lower;
#[cfg(feature = "solver")]
mod matching;
#[cfg(feature = "solver")]
mod normal;
pub mod pair;
#[cfg(feature = "solver")]
pub mod qed;
#[cfg(feature = "random")]
pub mod refute;
mod report;
#[cfg(feature = "solver")]
pub mod smt;
#[cfg(feature = "solver")]
pub mod symbolic;
pub mod walk;
pub mod wire;

pub use cert::Certificate;
pub use evidence::{Reason, Witness};
#[cfg(feature = "solver")]
use ir::{Query, Schema};
pub use limits::Limits;
pub use pair::Pair;
pub use report::{Report, Verdict};

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
