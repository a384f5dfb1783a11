//! Equality of arithmetic expressions over sums of rows.

use std::collections::BTreeMap;
use std::rc::Rc;

use num_rational::BigRational;
use num_traits::Signed;

use super::bag::signature;
use super::{Context, Prover};
use crate::encode::value::expand;
use crate::ir::{Type, Value};
use crate::normal::subst::open;
use crate::normal::term::{Op, Term, V, Val};
use crate::normal::{Cx, make};

/// A sum with a factor: `coefficient · factors · Σ term`.
struct Part {
    coefficient: BigRational,
    factors: Vec<V>,
    term: Rc<Term>,
}

impl Prover<'_> {
    /// Whether two expressions over sums have the same value: their difference, as one sum over rows, vanishes for
    /// every choice of rows.
    pub(super) fn equal_sums(&mut self, context: &Context, a: &V, b: &V) -> bool {
        let ty = if a.ty() == Type::Integer && b.ty() == Type::Integer { Type::Integer } else { Type::Decimal };
        let difference = Rc::new(Val::Arith(Op::Sub, a.clone(), b.clone(), ty.clone()));
        let Some(parts) = split(self.cx, &difference, &ty) else { return false };
        // What cancels in the difference may be NULL, and then one of the two is and the other need not be.
        let together = make::iff(&make::is_null(a), &make::is_null(b));
        if !self.valid(context, &together, "two sums are NULL together") {
            return false;
        }
        if let [x, y] = &parts[..]
            && x.factors == y.factors
            && x.coefficient == -y.coefficient.clone()
            && self.equal_summands(context, &x.term, &y.term)
        {
            return true;
        }
        let mut groups: BTreeMap<Vec<String>, Vec<Part>> = BTreeMap::new();
        for part in parts {
            groups.entry(signature(self.cx, &part.term)).or_default().push(part);
        }
        groups.into_values().all(|group| self.vanishes(context, &group, &ty))
    }

    /// Two sums that agree term by term under some mapping of their rows.
    fn equal_summands(&mut self, context: &Context, a: &Term, b: &Term) -> bool {
        signature(self.cx, a) == signature(self.cx, b) && self.equal_terms(context, a, b)
    }

    fn vanishes(&mut self, context: &Context, group: &[Part], ty: &Type) -> bool {
        let slots = open(self.cx, &group[0].term).vars;
        let mut positive = make::int(0);
        let mut negative = make::int(0);
        for part in group {
            let Some(mapped) = self.all_mapped(context, &slots, &part.term) else { return false };
            for term in mapped {
                let mut value = term.out[0].clone();
                for factor in &part.factors {
                    value = make::arith(Op::Mul, &value, factor, ty);
                }
                let coefficient = Rc::new(Val::Lit(Value::number(part.coefficient.abs()), Type::Decimal));
                value = make::arith(Op::Mul, &value, &coefficient, ty);
                let here = make::case(&term.condition(), value, make::int(0));
                let side = if part.coefficient.is_negative() { &mut negative } else { &mut positive };
                *side = make::arith(Op::Add, side, &here, ty);
            }
        }
        let inner = context.with(&slots, &[]);
        let cancel = make::same(&positive, &negative);
        let claim = "the summands cancel for all rows";
        // A sum with no counterpart vanishes only if it has no rows, which is plain to see or hardly ever so.
        if group.len() == 1 { self.obvious(&inner, &cancel, claim) } else { self.valid(&inner, &cancel, claim) }
    }
}

/// An expression as a combination of sums; `None` if something else remains.
fn split(cx: &Cx<'_>, v: &V, ty: &Type) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    for (atoms, coefficient) in expand(v)? {
        let (sums, factors): (Vec<V>, Vec<V>) = atoms.into_iter().partition(|a| matches!(**a, Val::Total(..)));
        let mut sums = sums.iter().filter_map(|sum| if let Val::Total(term, _) = &**sum { Some(term) } else { None });
        let first = sums.next()?.clone();
        let term = sums.fold(first, |product, sum| Rc::new(multiplied(cx, &product, sum, ty)));
        parts.push(Part { coefficient, factors, term });
    }
    Some(parts)
}

/// `Σ f · Σ g` as one sum, `Σ Σ f · g`.
fn multiplied(cx: &Cx<'_>, a: &Term, b: &Term, ty: &Type) -> Term {
    let (mut product, b) = (open(cx, a), open(cx, b));
    product.vars.extend(b.vars);
    product.phi.extend(b.phi);
    product.weight = make::arith(Op::Mul, &product.weight, &b.weight, &Type::Integer);
    product.out = vec![make::arith(Op::Mul, &product.out[0], &b.out[0], ty)];
    product
}
