//! Z3, the only place that names it.

use z3::{Config, Params, SatResult, Solver, with_z3_config};

/// The oldest libz3 that may be linked; older ones hang on time-outs.
pub const OLDEST: (u32, u32, u32) = (4, 13, 3);

/// An answer of the solver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// No assignment satisfies the script.
    Unsat,
    /// Some assignment does.
    Sat,
    /// The resource limit was reached or the theory is incomplete.
    Unknown(String),
}

/// The version of the library linked.
pub fn version() -> (u32, u32, u32) {
    let text = z3::full_version();
    let mut parts = text.split(|c: char| !c.is_ascii_digit()).filter_map(|p| p.parse().ok());
    let mut next = || parts.next().unwrap_or(0);
    (next(), next(), next())
}

/// Whether an SMT-LIB script without `check-sat` is satisfiable, in a context of its own, within so many resource
/// units. Returns the units used too.
pub fn check(script: &str, rlimit: u32) -> (Answer, u64) {
    with_z3_config(&Config::new(), || {
        let solver = Solver::new();
        let mut params = Params::new();
        params.set_u32("rlimit", rlimit);
        params.set_u32("random_seed", 0);
        solver.set_params(&params);
        solver.from_string(script);
        // A script that cannot be read leaves the solver without assertions.
        if solver.get_assertions().len() != script.matches("\n(assert ").count() {
            return (Answer::Unknown("the script cannot be read".to_owned()), 0);
        }
        let answer = match solver.check() {
            SatResult::Unsat => Answer::Unsat,
            SatResult::Sat => Answer::Sat,
            SatResult::Unknown => Answer::Unknown(solver.get_reason_unknown().unwrap_or_default()),
        };
        let used = match solver.get_statistics().value("rlimit count") {
            Some(z3::StatisticsValue::UInt(n)) => u64::from(n),
            _ => 0,
        };
        (answer, used)
    })
}
