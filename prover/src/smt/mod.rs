//! The solver: which formulas over opened rows hold always. The only folder that names Z3.

pub(crate) mod canon;
pub(crate) mod encode;
#[cfg(test)]
mod honest;
pub(crate) mod model;
mod solver;

pub use solver::{Answer, Session, unsat, version};
