//! The record of a proof: what was rewritten, what was matched, and every question put to the solver.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::evidence::{Obligation, Step};
use crate::ir::Assumption;
use crate::limits::Limits;
use crate::pair::Pair;

/// Everything needed to read a proof, to make it again, and to check its solver obligations with other solvers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// What is proven equivalent. Absent when the prover was given plans and nobody has said where they are from: such
    /// a certificate certifies nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<Pair>,
    /// Version of the prover.
    pub prover: String,
    /// Version of the solver library.
    pub solver: String,
    /// The limits in force.
    pub limits: Limits,
    /// What the proof takes for granted.
    pub assumptions: BTreeSet<Assumption>,
    /// The normal forms, then the rewrites and matchings in order.
    pub steps: Vec<Step>,
    /// Every solver query on which the proof rests, and those of ways that led nowhere. None if the normal forms are
    /// the same as they stand.
    pub obligations: Vec<Obligation>,
    /// Random databases on which both queries were evaluated and agreed.
    pub trials: u32,
}

/// How a certificate differs from the one that proving its pair again gives, in words; empty if it is the same proof.
///
/// The prover is deterministic, so a certificate that it made can be made again, step by step and byte by byte, by the
/// same version with the same version of the solver.
pub fn differences(certificate: &Certificate, again: &Certificate) -> Vec<String> {
    let mut found = Vec::new();
    let mut differ = |what: &str, differ: bool| {
        if differ {
            found.push(what.to_owned());
        }
    };
    differ("another pair", certificate.pair != again.pair);
    differ("other limits", certificate.limits != again.limits);
    differ("other assumptions", certificate.assumptions != again.assumptions);
    differ("another number of databases", certificate.trials != again.trials);
    found.extend(first_difference("step", &certificate.steps, &again.steps));
    found.extend(first_difference("claim", &certificate.obligations, &again.obligations));
    for (what, version, now) in
        [("prover", &certificate.prover, &again.prover), ("solver", &certificate.solver, &again.solver)]
    {
        // Alone it is no difference in the proof; with one, it explains it.
        if version != now && !found.is_empty() {
            found.push(format!("made with {what} {version}, compared with {now}"));
        }
    }
    found
}

fn first_difference<T: PartialEq>(what: &str, left: &[T], right: &[T]) -> Option<String> {
    if left == right {
        return None;
    }
    match left.iter().zip(right).position(|(l, r)| l != r) {
        Some(at) => Some(format!("another {what} {}", at + 1)),
        None => Some(format!("{} {what}s instead of {}", left.len(), right.len())),
    }
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
/// This confirms what the solver did for the proof. That the claims suffice for it shows when the pair is proven again
/// and [`differences`] finds none.
#[cfg(feature = "solver")]
pub fn check(certificate: &Certificate) -> Vec<Checked> {
    // A solver that starts from nothing may need more than one that had seen related questions.
    let per_query = certificate.limits.rlimit_per_query.max(Limits::default().rlimit_per_query);
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
    use crate::decide::decide;
    use crate::report::Verdict;
    use crate::smt::Answer;

    #[test]
    fn only_what_is_unsatisfiable_is_confirmed() {
        let obligation = |claim: &str, smtlib: &str| Obligation { claim: claim.to_owned(), smtlib: smtlib.to_owned() };
        let certificate = Certificate {
            pair: None,
            prover: String::new(),
            solver: String::new(),
            // Whoever tampers with a certificate can lower its limits; that must not matter.
            limits: Limits { rlimit_per_query: 0, ..Limits::default() },
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

    type Change = fn(&mut Certificate);

    #[test]
    fn a_change_anywhere_is_a_difference() {
        let pair = Pair {
            schema: "CREATE TABLE t(a INT, b INT NOT NULL)".into(),
            q1: "SELECT a FROM t".into(),
            q2: "SELECT a FROM t WHERE b > 1 UNION ALL SELECT a FROM t WHERE b <= 1".into(),
            ..Pair::default()
        };
        let prove = || {
            let (schema, left, right) = pair.read().expect("plans");
            match decide(&schema, &left, &right, &Limits::default()).verdict {
                Verdict::Proven(certificate) => Certificate { pair: Some(pair.clone()), ..*certificate },
                other => panic!("{other:?}"),
            }
        };
        let (first, again) = (prove(), prove());
        assert_eq!(first, again);
        assert!(!first.steps.is_empty() && !first.obligations.is_empty() && first.trials > 0);
        let changes: [(Change, &str); 8] = [
            (|c| c.pair = None, "another pair"),
            (|c| c.limits.seed += 1, "other limits"),
            (|c| _ = c.assumptions.insert(Assumption::NoRuntimeError), "other assumptions"),
            (|c| c.trials -= 1, "another number of databases"),
            (|c| c.steps[0].after.push(' '), "another step 1"),
            (|c| _ = c.steps.pop(), "steps instead of"),
            (|c| c.obligations[0].smtlib.push(' '), "another claim 1"),
            (|c| c.obligations.clear(), "0 claims instead of"),
        ];
        for (change, expected) in changes {
            let mut altered = first.clone();
            change(&mut altered);
            altered.solver.push('x');
            let found = differences(&altered, &again);
            assert!(found[0].contains(expected), "{found:?}");
            assert!(found[1].starts_with("made with solver "), "{found:?}");
        }
    }
}
