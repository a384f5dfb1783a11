//! Sums, extremes and other aggregates of rows as values.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::simplify::{Mode, exists, simplify, simplify_all, split_independent};
use super::subst::{self, FreeVars};
use super::term::{F, Nf, Op, Term, V, Val, Var};
use super::{Cx, make};
use crate::ir::Type;

/// The sum of `out[0]` over a term; rows where it is NULL are left out.
pub(crate) fn total(cx: &Cx<'_>, mut term: Term, ty: &Type) -> V {
    let defined = make::not(make::is_null(&term.out[0]));
    term.restrict(&defined);
    let mut sum = make::int(0);
    for term in simplify(cx, term, Mode::Bag) {
        sum = make::arith(Op::Add, &sum, &total_simple(cx, term, ty), ty);
    }
    sum
}

fn total_simple(cx: &Cx<'_>, mut term: Term, ty: &Type) -> V {
    // The weight counts rows, so it multiplies.
    if !make::is_int(&term.weight, 1) {
        term.out[0] = make::arith(Op::Mul, &term.weight, &term.out[0], ty);
        term.weight = make::int(1);
    }
    let out = term.out[0].clone();
    match &*out {
        Val::Lit(..) if make::is_int(&out, 0) => return make::int(0),
        Val::Case(c, a, b) => {
            let part = |c: F, v: &V| {
                let mut t = term.clone();
                t.restrict(&c);
                t.out = vec![v.clone()];
                total(cx, t, ty)
            };
            let (a, b) = (part(c.clone(), a), part(make::not(c.clone()), b));
            return make::arith(Op::Add, &a, &b, ty);
        }
        Val::Arith(op @ (Op::Add | Op::Sub), a, b, _) => {
            let part = |v: &V| {
                let mut t = term.clone();
                t.out = vec![v.clone()];
                total(cx, t, ty)
            };
            let (a, b) = (part(a), part(b));
            return make::arith(*op, &a, &b, ty);
        }
        _ => {}
    }
    if let Some(spread) = distribute(&term, ty) {
        return total(cx, spread, ty);
    }
    let mut factors = factors(&out);
    if let Some(i) = factors.iter().position(|f| matches!(**f, Val::Total(..))) {
        // Σ g · Σ f = Σ Σ g · f
        let inner = factors.remove(i);
        if let Val::Total(inner, _) = &*inner {
            let inner = subst::open(cx, inner);
            term.vars.extend(inner.vars);
            term.phi.extend(inner.phi);
            factors.push(inner.out[0].clone());
            term.out = vec![product(&factors, ty)];
            return total(cx, term, ty);
        }
    }
    let bound: BTreeSet<Var> = term.vars.iter().map(|(v, _)| *v).collect();
    let outside = split_independent(&mut term);
    let mut free = FreeVars::default();
    let (constant, inner): (Vec<V>, Vec<V>) = factors.into_iter().partition(|f| free.val(f).is_disjoint(&bound));
    let value = if term.vars.is_empty() {
        make::case(&make::and(std::mem::take(&mut term.phi)), product(&inner, ty), make::int(0))
    } else {
        term.out = vec![product(&inner, ty)];
        cx.intern(&format!("total {ty}"), &[term], |mut terms| {
            Rc::new(Val::Total(Rc::new(terms.remove(0)), ty.clone()))
        })
    };
    // Where a constant factor is NULL there is no row, and nothing of φ that is left outside need say so.
    let constant = product(&constant, ty);
    let outside = make::and([outside, make::not(make::is_null(&constant))]);
    let value = make::arith(Op::Mul, &constant, &value, ty);
    make::case(&outside, value, make::int(0))
}

/// The summand with one sum among its factors multiplied out, or one choice among them pulled up.
fn distribute(term: &Term, ty: &Type) -> Option<Term> {
    let parts = factors(&term.out[0]);
    if parts.len() < 2 {
        return None;
    }
    let i = parts.iter().position(|f| matches!(**f, Val::Arith(Op::Add | Op::Sub, ..) | Val::Case(..)))?;
    let rest: Vec<V> = parts.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, f)| f.clone()).collect();
    let rest = product(&rest, ty);
    let out = match &*parts[i] {
        Val::Arith(op, a, b, _) => {
            let (a, b) = (make::arith(Op::Mul, &rest, a, ty), make::arith(Op::Mul, &rest, b, ty));
            make::arith(*op, &a, &b, ty)
        }
        Val::Case(c, a, b) => make::case(c, make::arith(Op::Mul, &rest, a, ty), make::arith(Op::Mul, &rest, b, ty)),
        _ => return None,
    };
    let mut term = term.clone();
    term.out = vec![out];
    Some(term)
}

/// The factors of a product.
pub(crate) fn factors(v: &V) -> Vec<V> {
    match &**v {
        Val::Arith(Op::Mul, a, b, _) => [factors(a), factors(b)].concat(),
        _ if make::is_int(v, 1) => Vec::new(),
        _ => vec![v.clone()],
    }
}

pub(super) fn product(factors: &[V], ty: &Type) -> V {
    let mut factors = factors.to_vec();
    factors.sort();
    factors.into_iter().reduce(|a, b| make::arith(Op::Mul, &a, &b, ty)).unwrap_or_else(|| make::int(1))
}

/// The greatest or least value of a sum of terms.
pub(crate) fn extreme(cx: &Cx<'_>, max: bool, mut nf: Nf, ty: &Type) -> V {
    for term in &mut nf.terms {
        let defined = make::not(make::is_null(&term.out[0]));
        term.restrict(&defined);
    }
    let mut nf = simplify_all(cx, nf, Mode::Set);
    nf.terms.sort();
    nf.terms.dedup();
    if nf.terms.is_empty() {
        return make::null(ty.clone());
    }
    if nf.terms.len() == 1 {
        let term = &mut nf.terms[0];
        let outside = split_independent(term);
        let bound: BTreeSet<Var> = term.vars.iter().map(|(v, _)| *v).collect();
        let value = if FreeVars::default().val(&term.out[0]).is_disjoint(&bound) {
            let some = exists(cx, term.clone());
            make::case(&some, term.out[0].clone(), make::null(ty.clone()))
        } else {
            extreme_of(cx, max, &nf, ty)
        };
        return make::case(&outside, value, make::null(ty.clone()));
    }
    extreme_of(cx, max, &nf, ty)
}

fn extreme_of(cx: &Cx<'_>, max: bool, nf: &Nf, ty: &Type) -> V {
    let made = |terms| Rc::new(Val::Extreme(max, Rc::new(Nf { terms }), ty.clone()));
    cx.intern(&format!("extreme {max} {ty}"), &nf.terms, made)
}

/// Aggregates known to be NULL over no rows.
const NULL_OVER_NOTHING: &[&str] =
    &["avg", "stddev", "stddev_pop", "stddev_samp", "sum", "var_pop", "var_samp", "variance"];

/// Whether an aggregate does not care how often a value comes. (Of NULL it takes no notice anyway.)
pub(crate) fn is_of_set(name: &str) -> bool {
    matches!(name, "bit_and" | "bit_or")
}

/// A function of the bag of rows.
pub(crate) fn of_bag(cx: &Cx<'_>, name: &str, nf: Nf, ty: &Type) -> V {
    let mut nf = simplify_all(cx, nf, if is_of_set(name) { Mode::Set } else { Mode::Bag });
    if is_of_set(name) {
        nf.terms.sort();
        nf.terms.dedup();
    }
    let plain = name.split_once(' ').map_or(name, |(plain, _)| plain);
    if nf.terms.is_empty() && NULL_OVER_NOTHING.contains(&plain) {
        return make::null(ty.clone());
    }
    let made = |terms| Rc::new(Val::OfBag(name.to_owned(), Rc::new(Nf { terms }), ty.clone()));
    cx.intern(&format!("bag {name} {ty}"), &nf.terms, made)
}

/// The value of a subquery that yields at most one row.
pub(crate) fn scalar(cx: &Cx<'_>, nf: Nf, ty: &Type) -> V {
    // Under the assumption of at most one row, multiplicities say nothing more than membership.
    let mut nf = simplify_all(cx, nf, Mode::Set);
    if nf.terms.iter().all(|t| t.vars.is_empty()) {
        // At most one of the terms contributes a row.
        return nf.terms.into_iter().fold(make::null(ty.clone()), |otherwise, term| {
            make::case(&term.condition(), term.out[0].clone(), otherwise)
        });
    }
    nf.terms.sort();
    let made = |terms| Rc::new(Val::Scalar(Rc::new(Nf { terms }), ty.clone()));
    cx.intern(&format!("scalar {ty}"), &nf.terms, made)
}
