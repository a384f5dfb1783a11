//! From two queries to a difference, or to none found: no proof is looked for.

use crate::decide;
use crate::evidence::Reason;
use crate::ir::{Query, Schema};
use crate::limits::Limits;
use crate::refute::{self, Search};
use crate::report::{Report, Verdict};

pub(crate) fn refute_only(schema: &Schema, left: &Query, right: &Query, limits: &Limits) -> Report {
    let (mut report, comparable) = decide::begin(schema, left, right);
    if !comparable {
        return report;
    }
    let reason = match refute::search(schema, left, right, limits.seed, limits.trials, limits.fuel_per_trial) {
        Search::Differs(witness) => {
            report.verdict = decide::refuted(schema, witness);
            return report;
        }
        Search::OnlyOpaque(names) => Reason::OpaqueFunctions(names.into_iter().collect::<Vec<_>>().join(", ")),
        Search::Agrees { trials, .. } => {
            Reason::NoProof(format!("none was looked for, and {trials} databases show no difference"))
        }
    };
    report.verdict = Verdict::Unknown(reason);
    decide::symbolic_search(schema, left, right, limits, &mut report);
    report
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::Pair;

    fn verdict(left: &str, right: &str, trials: u32) -> Verdict {
        let pair = Pair {
            schema: "CREATE TABLE t(a INT, b INT NOT NULL)".into(),
            q1: left.into(),
            q2: right.into(),
            ..Pair::default()
        };
        let (schema, left, right) = pair.read().expect("plans");
        refute_only(&schema, &left, &right, &Limits { trials, ..Limits::default() }).verdict
    }

    #[test]
    fn both_searches_find_differences() {
        let [left, right] = ["SELECT b FROM t", "SELECT b FROM t WHERE a = a"];
        assert!(matches!(verdict(left, right, 200), Verdict::Refuted(_)));
        // Without random databases the solver finds one.
        assert!(matches!(verdict(left, right, 0), Verdict::Refuted(_)));
    }

    #[test]
    fn equal_queries_stay_open() {
        let verdict = verdict("SELECT b FROM t", "SELECT b FROM t WHERE TRUE", 20);
        assert!(matches!(verdict, Verdict::Unknown(Reason::NoProof(_))), "{verdict:?}");
    }

    #[test]
    fn a_difference_may_rest_on_what_functions_mean() {
        let verdict = verdict("SELECT to_hex(a) FROM t", "SELECT to_hex(b) FROM t", 50);
        assert!(matches!(&verdict, Verdict::Unknown(Reason::OpaqueFunctions(names)) if names.contains("to_hex")));
    }
}
