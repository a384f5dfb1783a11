//! Use cases: what people do with Caqtus, whether they say so on the command line or over HTTP.
//!
//! Each takes what was asked and where to work, and gives back values; the JSON contracts are types here. Whoever calls
//! reads arguments and prints. Progress goes to a trait, an end comes from a channel.
//!
//! Invariant: nothing here prints, reads arguments or the terminal, or ends the process.

pub mod admission;
mod batches;
pub mod bisection;
pub mod campaign;
pub mod class;
pub mod corpus;
pub mod discovery;
pub mod engine;
pub mod finding;
pub mod import;
pub mod live;

use std::fmt::Display;
use std::time::Duration;

/// Is told how far something has come that takes a while.
pub trait Progress: Send {
    /// Where things stand, after so much time.
    fn update(&mut self, state: &dyn Display, elapsed: Duration);
    /// Something happened that stays worth knowing.
    fn note(&mut self, message: &str);
}

/// Processes to start at once where nobody says how many.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hunt::plan::HuntPlan;
    use crate::store::Store;
    use crate::triage::finding::Finding;
    use std::path::Path;
    use tokio::sync::{mpsc, watch};

    fn spawned(_: impl Future + Send) {}

    /// Compiled only: a service runs use cases as tasks, which may move between threads.
    #[expect(dead_code, reason = "it is enough that it compiles")]
    fn long_use_cases_can_be_tasks(
        store: &Store,
        plan: HuntPlan,
        (mut progress, mut shown): (Box<dyn Progress>, Box<dyn crate::hunt::plan::Progress + Send>),
        (stop, stopped): (mpsc::Receiver<()>, watch::Receiver<bool>),
        (finding, workshop, by): (&Finding, &import::Workshop, crate::store::CheckedBy<'_>),
        discovery: &mut discovery::Plan,
    ) {
        spawned(campaign::run(plan, campaign::Demands::default(), Some(store), &mut *shown, stop));
        spawned(bisection::bisect(Path::new(""), finding, Path::new(""), bisection::Among::Known, &mut *progress));
        spawned(import::classes(store, &[], import::Trust::Prove, workshop, &mut *progress));
        spawned(import::prove_again(store, "", by, workshop, &mut *progress));
        spawned(import::candidates(store, "", "", workshop, stopped.clone(), &mut *progress));
        spawned(discovery.run(store, &stopped, &mut *progress));
        spawned(engine::install(Path::new(""), "", "", &mut *progress));
        spawned(class::detail(store, ""));
    }
}
