//! A certificate as a person reads it.

use prover::Certificate;
use prover::evidence::{Obligation, Step};
use prover::ir::Assumption;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// A proof in its parts.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Proof {
    /// The text of the first query, and of the second.
    queries: Vec<String>,
    /// What each of them means.
    forms: Vec<String>,
    /// Rewrites and matchings, in order.
    steps: Vec<ProofStep>,
    claims: Vec<Claim>,
    /// How often the solver was asked.
    asked: usize,
    granted: Vec<Granted>,
    /// Random databases on which both queries returned the same rows.
    trials: u32,
    prover: String,
    solver: String,
}

#[derive(Debug, PartialEq, Serialize)]
struct ProofStep {
    rule: String,
    before: String,
    after: String,
    /// Whether the two formulas are the same, so that one is enough to look at.
    same: bool,
}

/// What the solver showed, each kind of claim once.
#[derive(Debug, PartialEq, Serialize)]
struct Claim {
    says: String,
    times: usize,
    /// The first of the questions, to be asked again by anybody.
    script: String,
}

/// Something that is taken for granted.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Granted {
    name: String,
    meaning: &'static str,
}

/// What is taken for granted, in words.
pub(crate) fn granted(assumptions: &BTreeSet<Assumption>) -> Vec<Granted> {
    assumptions.iter().map(|one| Granted { name: one.to_string(), meaning: one.meaning() }).collect()
}

const FORM: &str = "normal form of the ";

impl Proof {
    pub(crate) fn new(certificate: Certificate) -> Self {
        let Certificate { pair, prover, solver, limits: _, assumptions, steps, obligations, trials } = certificate;
        let text = |query: Value| match query {
            Value::String(sql) => sql,
            plan => plan.to_string(),
        };
        let asked = obligations.len();
        let mut claims: Vec<Claim> = Vec::new();
        for Obligation { claim, smtlib } in obligations {
            match claims.iter_mut().find(|known| known.says == claim) {
                Some(known) => known.times += 1,
                None => claims.push(Claim { says: claim, times: 1, script: smtlib }),
            }
        }
        let (forms, steps): (Vec<Step>, Vec<Step>) = steps.into_iter().partition(|step| step.rule.starts_with(FORM));
        let step = |Step { rule, before, after }| ProofStep { rule, same: before == after, before, after };
        Self {
            queries: pair.map(|pair| vec![text(pair.q1), text(pair.q2)]).unwrap_or_default(),
            forms: forms.into_iter().map(|form| form.after).collect(),
            steps: steps.into_iter().map(step).collect(),
            claims,
            asked,
            granted: granted(&assumptions),
            trials,
            prover,
            solver,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_steps_and_claims_are_apart() {
        let step = |rule: &str, before: &str| Step { rule: rule.into(), before: before.into(), after: "b".into() };
        let claim = |claim: &str| Obligation { claim: claim.into(), smtlib: "(assert false)".into() };
        let proof = Proof::new(Certificate {
            pair: None,
            prover: "1".into(),
            solver: "2".into(),
            limits: prover::Limits::default(),
            assumptions: [Assumption::ExactArithmetic].into(),
            steps: vec![
                step("normal form of the left query", ""),
                step("normal form of the right query", ""),
                step("split", "a"),
                step("same", "b"),
            ],
            obligations: vec![claim("x"), claim("y"), claim("x")],
            trials: 200,
        });
        assert_eq!(proof.forms, ["b", "b"]);
        assert_eq!(
            proof.steps.iter().map(|s| (s.rule.as_str(), s.same)).collect::<Vec<_>>(),
            [("split", false), ("same", true)]
        );
        assert_eq!(proof.claims.iter().map(|c| (c.says.as_str(), c.times)).collect::<Vec<_>>(), [("x", 2), ("y", 1)]);
        assert_eq!((proof.asked, proof.granted[0].name.as_str()), (3, "exact-arithmetic"));
    }
}
