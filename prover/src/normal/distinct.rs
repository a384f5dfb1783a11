//! DISTINCT and the keys of GROUP BY.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use super::simplify::{self, Mode};
use super::subst::{FreeVars, Rewrite, Walk};
use super::term::{Cmp, F, Formula, Nf, Rel, Term, V, Val, Var};
use super::{Cx, make};
use crate::ir::{Type, Value};

/// Each row of the sum once: one variable that ranges over the distinct rows, without the columns that follow from
/// others.
pub(crate) fn distinct(cx: &Cx<'_>, nf: Nf) -> Nf {
    let mut nf = simplify::simplify_all(cx, nf, Mode::Set);
    nf.terms.sort();
    nf.terms.dedup();
    if nf.terms.is_empty() {
        return nf;
    }
    // Under set semantics a row without variables needs no summation.
    if nf.terms.len() == 1 && nf.terms[0].vars.is_empty() {
        return nf;
    }
    let Reduced { body, columns } = reduce(nf);
    if body.terms[0].out.is_empty() {
        // The row is always the same: it is there if there is any row.
        let mut term = Term::row(columns.into_iter().map(|c| c.unwrap_or_else(|_| make::int(0))).collect());
        term.restrict(&simplify::exists_any(cx, &body));
        return Nf { terms: vec![term] };
    }
    let rel = Rel::Distinct(Rc::new(body));
    let var = cx.fresh();
    let row = cx.row(var, &rel);
    let out = columns
        .iter()
        .map(|column| match column {
            Ok(value) => on_row(cx, value, &row),
            Err(index) => row[*index].clone(),
        })
        .collect();
    Nf { terms: vec![Term { vars: vec![(var, rel)], phi: Vec::new(), weight: make::int(1), out }] }
}

struct Reduced {
    body: Nf,
    /// For each column of the original: a value over the kept columns, or which kept column it is.
    columns: Vec<Result<V, usize>>,
}

/// The variable that stands for the kept columns in a value over them.
const KEPT: Var = 0;

/// Drops columns that are the same expression over kept columns and outer values in every term.
fn reduce(mut nf: Nf) -> Reduced {
    let width = nf.terms[0].out.len();
    let mut kept: Vec<usize> = Vec::new();
    let mut columns: Vec<Result<V, usize>> = Vec::new();
    // Simple columns first, so that expressions over them are the ones to go.
    let mut order: Vec<usize> = (0..width).collect();
    order.sort_by_key(|i| !nf.terms.iter().all(|t| matches!(*t.out[*i], Val::Col(_) | Val::Lit(..) | Val::Null(_))));
    let mut found: HashMap<usize, Result<V, usize>> = HashMap::new();
    for i in order {
        let mut values = nf.terms.iter().map(|term| over_kept(term, &kept, i));
        let first = values.next().flatten();
        let all_same = first.is_some() && values.all(|v| v == first);
        match first {
            Some(value) if all_same => {
                found.insert(i, Ok(value));
            }
            _ => {
                found.insert(i, Err(kept.len()));
                kept.push(i);
            }
        }
    }
    for i in 0..width {
        if let Some(column) = found.remove(&i) {
            columns.push(column);
        }
    }
    for term in &mut nf.terms {
        term.out = kept.iter().map(|i| term.out[*i].clone()).collect();
    }
    nf.terms.sort();
    nf.terms.dedup();
    Reduced { body: nf, columns }
}

/// Column `index` of a term as a value over its kept columns and outer values, if it is one.
fn over_kept(term: &Term, kept: &[usize], index: usize) -> Option<V> {
    let bound: BTreeSet<Var> = term.vars.iter().map(|(v, _)| *v).collect();
    let mut free = FreeVars::default();
    let value = &term.out[index];
    let known: HashMap<V, V> = kept
        .iter()
        .enumerate()
        .map(|(position, i)| {
            let original = &term.out[*i];
            let column =
                super::term::Col { var: KEPT, index: position, ty: original.ty(), not_null: original.never_null() };
            (original.clone(), Rc::new(Val::Col(column)) as V)
        })
        .collect();
    if let Some(value) = rewrite_over(value, &known, &bound, &mut free) {
        return Some(value);
    }
    // A condition may fix the column to TRUE or to an outer value.
    term.phi.iter().find_map(|f| {
        if let Formula::Truth(v) = &**f
            && v == value
        {
            return Some(Rc::new(Val::Lit(Value::Bool(true), Type::Boolean)) as V);
        }
        let (Formula::Cmp(Cmp::Eq, a, b) | Formula::Same(a, b)) = &**f else { return None };
        let other = if a == value {
            b
        } else if b == value {
            a
        } else {
            return None;
        };
        free.val(other).is_disjoint(&bound).then(|| other.clone())
    })
}

/// The value with known parts replaced, if nothing bound remains.
fn rewrite_over(v: &V, known: &HashMap<V, V>, bound: &BTreeSet<Var>, free: &mut FreeVars) -> Option<V> {
    if let Some(replacement) = known.get(v) {
        return Some(replacement.clone());
    }
    if free.val(v).is_disjoint(bound) {
        return Some(v.clone());
    }
    match &**v {
        Val::Arith(op, a, b, ty) => {
            let (a, b) = (rewrite_over(a, known, bound, free)?, rewrite_over(b, known, bound, free)?);
            Some(make::arith(*op, &a, &b, ty))
        }
        Val::Call { name, args, ty, strict } => {
            let args = args.iter().map(|a| rewrite_over(a, known, bound, free)).collect::<Option<_>>()?;
            Some(super::subst::make_call(name, args, ty, *strict))
        }
        Val::Lookup { table, key, at, column, ty } => {
            let at = at.iter().map(|a| rewrite_over(a, known, bound, free)).collect::<Option<_>>()?;
            Some(Rc::new(Val::Lookup { table: *table, key: *key, at, column: *column, ty: ty.clone() }))
        }
        _ => None,
    }
}

struct OnRow<'a>(&'a [V]);

impl Rewrite for OnRow<'_> {
    fn val(&self, v: &V) -> Option<V> {
        match &**v {
            Val::Col(col) if col.var == KEPT => Some(self.0[col.index].clone()),
            _ => None,
        }
    }

    fn formula(&self, _: &F) -> Option<F> {
        None
    }
}

fn on_row(cx: &Cx<'_>, value: &V, row: &[V]) -> V {
    Walk::new(cx, &OnRow(row)).val(value)
}

/// Moves the conditions that concern one DISTINCT variable alone into its body, and drops the columns they fix.
pub(crate) fn push_conditions(cx: &Cx<'_>, term: &mut Term) -> bool {
    let mut free = FreeVars::default();
    let bound: BTreeSet<Var> = term.vars.iter().map(|(v, _)| *v).collect();
    for (var, rel) in term.vars.clone() {
        let Rel::Distinct(nf) = &rel else { continue };
        let mut mine = |f: &F| {
            let own = free.formula(f);
            own.contains(&var) && own.iter().all(|v| *v == var || !bound.contains(v)) && is_plain(f)
        };
        let (inside, outside): (Vec<F>, Vec<F>) = term.phi.iter().cloned().partition(|f| mine(f));
        if inside.is_empty() {
            continue;
        }
        let mut body = (**nf).clone();
        for part in &mut body.terms {
            let rows = HashMap::from([(var, part.out.clone())]);
            let rewrite = super::subst::Rows(&rows);
            let mut walk = Walk::new(cx, &rewrite);
            let conditions: Vec<F> = inside.iter().map(|f| walk.formula(f)).collect();
            conditions.iter().for_each(|f| part.restrict(f));
        }
        term.phi = outside;
        let reduced = distinct(cx, body);
        let Some(new) = reduced.terms.into_iter().next() else {
            term.phi = vec![make::no()];
            return true;
        };
        let rows = HashMap::from([(var, new.out)]);
        let mut replaced = super::subst::instantiate(cx, term, &rows);
        replaced.vars.extend(new.vars);
        replaced.phi.extend(new.phi);
        *term = replaced;
        return true;
    }
    false
}

/// Whether a formula speaks of values only, not of other sums.
fn is_plain(f: &F) -> bool {
    match &**f {
        Formula::True | Formula::False => true,
        Formula::And(parts) | Formula::Or(parts) => parts.iter().all(is_plain),
        Formula::Not(inner) => is_plain(inner),
        Formula::Null(v) | Formula::Truth(v) => is_plain_value(v),
        Formula::Cmp(_, a, b) | Formula::Same(a, b) => is_plain_value(a) && is_plain_value(b),
        Formula::Has { at, .. } => at.iter().all(is_plain_value),
        Formula::Exists(_) => false,
    }
}

fn is_plain_value(v: &V) -> bool {
    match &**v {
        Val::Col(_) | Val::Lit(..) | Val::Null(_) => true,
        Val::Call { args, .. } | Val::Lookup { at: args, .. } => args.iter().all(is_plain_value),
        Val::Arith(_, a, b, _) => is_plain_value(a) && is_plain_value(b),
        Val::Case(c, a, b) => is_plain(c) && is_plain_value(a) && is_plain_value(b),
        Val::Bool(t, f) => is_plain(t) && is_plain(f),
        Val::Total(..) | Val::Extreme(..) | Val::OfBag(..) | Val::Scalar(..) => false,
    }
}
