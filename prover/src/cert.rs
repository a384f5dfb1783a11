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

/// An obligation asked again.
#[cfg(feature = "solver")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// What the obligation shows.
    pub claim: String,
    /// What the solver says now; only `Unsat` confirms it.
    pub answer: crate::smt::Answer,
}

/// Puts every obligation to a fresh solver, in order.
///
/// This confirms what the solver did for the proof. That the steps lead from one query to the other is for a reader.
#[cfg(feature = "solver")]
pub fn check(certificate: &Certificate) -> Vec<Checked> {
    // A solver that starts from nothing may need more than one that had seen related questions.
    let per_query = certificate.limits.rlimit_per_query.max(crate::Limits::default().rlimit_per_query);
    let rlimit = per_query.saturating_mul(4);
    let ask = |obligation: &Obligation| Checked {
        claim: obligation.claim.clone(),
        answer: crate::smt::unsat(&obligation.smtlib, rlimit),
    };
    certificate.obligations.iter().map(ask).collect()
}

#[cfg(all(test, feature = "solver"))]
mod tests {
    use super::*;
    use crate::smt::Answer;

    #[test]
    fn only_what_is_unsatisfiable_is_confirmed() {
        let obligation = |claim: &str, smtlib: &str| Obligation { claim: claim.to_owned(), smtlib: smtlib.to_owned() };
        let certificate = Certificate {
            prover: String::new(),
            solver: String::new(),
            // Whoever tampers with a certificate can lower its limits; that must not matter.
            limits: crate::Limits { rlimit_per_query: 0, ..crate::Limits::default() },
            assumptions: BTreeSet::new(),
            steps: Vec::new(),
            obligations: vec![
                obligation("holds", "(declare-const x Int)(assert (and (< x 0) (> x 0)))"),
                obligation("tampered", "(declare-const x Int)(assert (and (< x 0) (> x (- 9))))"),
                obligation("broken", "(assert"),
            ],
            trials: 0,
        };
        let checked = check(&certificate);
        assert_eq!(checked.iter().map(|c| c.claim.as_str()).collect::<Vec<_>>(), ["holds", "tampered", "broken"]);
        assert_eq!(checked[0].answer, Answer::Unsat);
        assert_eq!(checked[1].answer, Answer::Sat);
        assert!(matches!(checked[2].answer, Answer::Unknown(_)));
    }
}
