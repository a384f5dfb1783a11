//! The solver: whether the assertions of a script contradict each other, and what satisfies them. The only folder that
//! names Z3.

pub(crate) mod model;
mod solver;

pub use solver::{Answer, Session, unsat, version};
