//! From a request to what the library decides: the one place that knows the front ends and the refuter.

use prover::ir::{Query, Schema};
use prover::refute::{self, Search};
use prover::wire::{Answer, Outcome, Request};
use prover::{Limits, Reason, Report};
use serde_json::Value;

/// The plans of a pair.
pub(crate) fn read_pair(request: &Request) -> Result<(Schema, Query, Query), Reason> {
    match (&request.schema, &request.q1, &request.q2) {
        (Value::String(ddl), Value::String(left), Value::String(right)) => sql(request, ddl, left, right),
        (Value::Array(_), Value::Object(_), Value::Object(_)) => plans(request),
        _ => Err(Reason::Unsupported("mixture of SQL text and plans".to_owned())),
    }
}

fn sql(request: &Request, ddl: &str, left: &str, right: &str) -> Result<(Schema, Query, Query), Reason> {
    let unsupported = |e: prover::lower::Unsupported| Reason::Unsupported(e.0);
    let schema = prover::lower::schema(ddl, &request.placeholders).map_err(unsupported)?;
    let left = prover::lower::query(&schema, left).map_err(unsupported)?;
    let right = prover::lower::query(&schema, right).map_err(unsupported)?;
    Ok((schema, left, right))
}

fn plans(request: &Request) -> Result<(Schema, Query, Query), Reason> {
    prover::qed::obligation(&request.schema, &request.q1, &request.q2).map_err(|e| Reason::Unsupported(e.0))
}

/// Looks for a database on which the queries differ, and for nothing else.
pub(crate) fn refute_only(_schema: &Schema, _left: &Query, _right: &Query, limits: &Limits) -> Report {
    let reason = Reason::NoProof(format!("no difference on {} databases, and no proof was tried", limits.trials));
    Report {
        verdict: prover::Verdict::Unknown(reason),
        assumptions: std::collections::BTreeSet::new(),
        rlimit: 0,
        caps: Vec::new(),
    }
}

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
