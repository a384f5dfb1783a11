//! Tests the prover on a pair whose queries may well differ.

use prover::ir::{Query, Schema};
use prover::refute::{self, Search};
use prover::wire::{Answer, Outcome};
use prover::{Limits, Reason};

/// Databases on which a pair is compared before a proof is tried.
const TRIALS_BEFORE: u32 = 60;

/// Compares two queries on a few databases, looks for a proof whatever comes of that (unless `agreeing` is false and
/// they agree), and compares them on all databases if there is one. A proof of queries that differ is a conflict.
pub(crate) fn audit(id: &str, schema: &Schema, left: &Query, right: &Query, limits: &Limits, agreeing: bool) -> Answer {
    let search = |trials| refute::search(schema, left, right, limits.seed, trials, limits.fuel_per_trial);
    let mut searched = search(limits.trials.min(TRIALS_BEFORE));
    if !agreeing && !matches!(searched, Search::Differs(_)) {
        return Answer::unknown(id, "no difference found, and no proof tried");
    }
    let report = prover::prove_only(schema, left, right, limits);
    let mut answer = Answer::new(id, report, true);
    let proven = answer.verdict == Outcome::Proven;
    if proven && !matches!(searched, Search::Differs(_)) {
        searched = search(limits.trials);
    }
    match searched {
        Search::Differs(witness) => {
            let conflict = Reason::Conflict(format!("{} rows", witness.inserts.len()));
            answer.verdict = if proven { Outcome::Unknown } else { Outcome::Refuted };
            answer.reason = proven.then(|| conflict.to_string());
            answer.witness = Some(witness.inserts);
            answer.left_rows = Some(witness.left);
            answer.right_rows = Some(witness.right);
        }
        Search::OnlyOpaque(names) if proven => {
            let names = names.into_iter().collect::<Vec<_>>().join(", ");
            answer.verdict = Outcome::Unknown;
            answer.reason = Some(Reason::OpaqueFunctions(names).to_string());
        }
        Search::Agrees { trials: 0, .. } if proven => {
            answer.verdict = Outcome::Unknown;
            answer.reason = Some("proven, but no database could be evaluated".to_owned());
        }
        Search::Agrees { .. } | Search::OnlyOpaque(_) => {}
    }
    if answer.verdict == Outcome::Proven {
        answer.certificate = None;
    }
    answer
}
