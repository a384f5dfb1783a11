//! Questions to the solver: which formulas over opened rows hold always.

pub(crate) mod canon;
pub(crate) mod encode;
mod solver;

pub use solver::{Answer, OLDEST, check, version};
