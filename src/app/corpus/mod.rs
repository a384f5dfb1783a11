//! The corpus of snippets: learning them, and what is known of them.

mod coverage;
mod engine;
mod learn;
pub mod shelf;
mod verdicts;

pub use coverage::{Coverage, Kind, coverage};
pub use engine::{Engine, EngineFault, Judged};
pub use learn::{Environment, LearnRequest, Learner, Summary, learn};
pub use verdicts::note_verdicts;
