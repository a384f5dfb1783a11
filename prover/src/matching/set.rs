//! Equality of sets of rows.

use super::{Context, Prover};
use crate::normal::make;
use crate::normal::simplify::{Mode, exists, simplify};
use crate::normal::subst::open;
use crate::normal::term::{Nf, Rel, Term, Var};

/// Ways to choose among the bodies of DISTINCT rows.
const CASES_MAX: usize = 32;

impl Prover<'_> {
    /// Whether two sums have the same rows, whatever their multiplicities.
    pub(super) fn equal_set(&mut self, context: &Context, left: &Nf, right: &Nf) -> bool {
        left == right
            || (self.covers(context, &left.terms, &right.terms, false)
                && self.covers(context, &right.terms, &left.terms, false))
    }

    /// Whether every row of `left` is a row of `right`, with the same weight if asked.
    pub(super) fn covers(&mut self, context: &Context, left: &[Term], right: &[Term], weighted: bool) -> bool {
        left.iter().all(|term| {
            let term = open(self.cx, term);
            let mut facts = term.phi.clone();
            facts.push(make::positive(&term.weight));
            let inner = context.with(&term.vars, &facts);
            let Some(cases) = self.unfold(&inner, &term.vars) else { return false };
            let member = make::or(right.iter().map(|other| {
                let mut other = open(self.cx, other);
                for (a, b) in other.out.iter().zip(&term.out) {
                    other.phi.push(make::same(a, b));
                }
                if weighted {
                    other.phi.push(make::same(&other.weight, &term.weight));
                }
                exists(self.cx, other)
            }));
            cases.iter().all(|case| self.valid(case, &member, "every row of one side is a row of the other"))
        })
    }

    /// The context with a witness for each DISTINCT row in scope: one context for each choice of bodies.
    fn unfold(&self, context: &Context, vars: &[(Var, Rel)]) -> Option<Vec<Context>> {
        let mut cases = vec![context.clone()];
        for (var, rel) in vars {
            let Rel::Distinct(nf) = rel else { continue };
            let row = self.cx.row(*var, rel);
            let bodies: Vec<Term> =
                nf.terms.iter().flat_map(|t| simplify(self.cx, open(self.cx, t), Mode::Set)).collect();
            let mut next = Vec::new();
            for case in &cases {
                for body in &bodies {
                    let body = open(self.cx, body);
                    let mut facts = body.phi.clone();
                    facts.extend(body.out.iter().zip(&row).map(|(a, b)| make::same(a, b)));
                    let mut unfolded = case.with(&body.vars, &facts);
                    // The witness says all that membership does.
                    unfolded.scope.retain(|(v, _)| v != var);
                    next.push(unfolded);
                }
            }
            if next.len() > CASES_MAX {
                self.cx.cap("cases of DISTINCT rows");
                return None;
            }
            cases = next;
        }
        Some(cases)
    }
}
