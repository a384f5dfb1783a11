//! Rewrites of terms, each an equality of multiplicities (or, under EXISTS, DISTINCT, MIN and MAX, of sets).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use petgraph::unionfind::UnionFind;

use super::aggregate::{factors, product};
use super::determine::{determines, equal_to};
use super::subst::{self, FreeVars, Known, Walk};
use super::term::{Cmp, F, Formula, Nf, Op, Rel, Term, V, Val, Var};
use super::{Cx, distinct, make};

/// Whether multiplicities count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// They do.
    Bag,
    /// A row is in or out.
    Set,
}

/// Terms one set-mode flattening may make out of one.
const TERMS_MAX: usize = 64;

/// The term as a sum of simpler ones; empty if its condition cannot hold.
pub(crate) fn simplify(cx: &Cx<'_>, term: Term, mode: Mode) -> Vec<Term> {
    let mut done = Vec::new();
    let mut todo = vec![term];
    while let Some(mut term) = todo.pop() {
        loop {
            term.phi = make::conjuncts(&term.condition());
            if term.phi.iter().any(|f| **f == Formula::False) {
                break;
            }
            // Before anything that may end for lack of work: callers rely on it.
            if mode == Mode::Set && !make::is_int(&term.weight, 1) {
                let positive = make::positive(&term.weight);
                term.restrict(&positive);
                term.weight = make::int(1);
                continue;
            }
            if !cx.spend() {
                done.push(term);
                break;
            }
            if squeeze(&mut term)
                || assume(cx, &mut term)
                || replace_equal(cx, &mut term)
                || eliminate_determined(cx, &mut term)
                || lookup_key(cx, &mut term)
                || (mode == Mode::Bag && distinct::push_conditions(cx, &mut term))
            {
                continue;
            }
            if mode == Mode::Set && flatten_exists(cx, &mut term) {
                continue;
            }
            if mode == Mode::Bag
                && let Some(terms) = unfold_weight(cx, &term)
            {
                todo.extend(terms);
                break;
            }
            match flatten_distinct(cx, &term, mode) {
                Some(terms) if done.len() + todo.len() + terms.len() <= TERMS_MAX => {
                    todo.extend(terms);
                    break;
                }
                Some(_) => cx.cap("terms of one flattened DISTINCT"),
                None => {}
            }
            done.push(term);
            break;
        }
    }
    done.reverse();
    done
}

/// All terms of a sum, simplified.
pub(crate) fn simplify_all(cx: &Cx<'_>, nf: Nf, mode: Mode) -> Nf {
    Nf { terms: nf.terms.into_iter().flat_map(|t| simplify(cx, t, mode)).collect() }
}

/// `a <= b` and `b <= a` are `a = b`.
fn squeeze(term: &mut Term) -> bool {
    let less = |f: &F| match &**f {
        Formula::Cmp(Cmp::Le, a, b) => Some((a.clone(), b.clone())),
        _ => None,
    };
    let pairs: Vec<(V, V)> = term.phi.iter().filter_map(less).collect();
    let Some((a, b)) = pairs.iter().find(|(a, b)| pairs.contains(&(b.clone(), a.clone()))) else { return false };
    term.phi.retain(|f| less(f).is_none_or(|(x, y)| (&x, &y) != (a, b) && (&x, &y) != (b, a)));
    term.phi.push(make::cmp(Cmp::Eq, a, b));
    true
}

/// Uses each conjunct as a known truth in the others, in the row and in the weight.
fn assume(cx: &Cx<'_>, term: &mut Term) -> bool {
    let mut changed = false;
    for i in 0..term.phi.len() {
        let mut known = HashMap::new();
        learn(&term.phi[i], &mut known);
        let rewrite = Known(&known);
        let mut walk = Walk::new(cx, &rewrite);
        let mut update = |v: &mut V| {
            let new = walk.val(v);
            let differs = new != *v;
            if differs {
                *v = new;
            }
            differs
        };
        changed |= update(&mut term.weight);
        for v in &mut term.out {
            changed |= update(v);
        }
        for j in 0..term.phi.len() {
            if i != j {
                let new = walk.formula(&term.phi[j]);
                if new != term.phi[j] {
                    term.phi[j] = new;
                    changed = true;
                }
            }
        }
    }
    changed
}

/// Puts one value in place of all that equal it: one that does not depend on the term's rows if there is one, else the
/// column of the first table. What then concerns outer values alone can leave the term, and it does not matter any more
/// through which of several equal columns a row was looked up.
fn replace_equal(cx: &Cx<'_>, term: &mut Term) -> bool {
    let tables: HashMap<Var, Option<usize>> = term
        .vars
        .iter()
        .map(|(var, rel)| (*var, if let Rel::Table(table) = rel { Some(*table) } else { None }))
        .collect();
    let bound: BTreeSet<Var> = tables.keys().copied().collect();
    let mut free = FreeVars::default();
    let mut classes: Vec<Vec<V>> = Vec::new();
    let mut used: Vec<&F> = Vec::new();
    for f in &term.phi {
        let (Formula::Cmp(Cmp::Eq, a, b) | Formula::Same(a, b)) = &**f else { continue };
        // An equal value of another type would not be the same argument of a function.
        let mut plain = |v: &V| match &**v {
            Val::Col(col) if bound.contains(&col.var) => true,
            _ => free.val(v).is_disjoint(&bound),
        };
        if a.ty() != b.ty() || !plain(a) || !plain(b) {
            continue;
        }
        used.push(f);
        let mut joined = vec![a.clone(), b.clone()];
        classes.retain(|class| {
            let apart = !class.contains(a) && !class.contains(b);
            if !apart {
                joined.extend(class.iter().cloned());
            }
            apart
        });
        joined.sort();
        joined.dedup();
        classes.push(joined);
    }
    let rank = |v: &V| match &**v {
        Val::Col(col) => match tables.get(&col.var) {
            Some(table) => (1, table.unwrap_or(usize::MAX), col.index, col.var),
            None => (0, 1, 0, 0),
        },
        _ => (0, usize::from(!v.is_lit()), 0, 0),
    };
    let mut known: HashMap<V, V> = HashMap::new();
    for class in &classes {
        let Some(first) = class.iter().min_by_key(|v| rank(v)) else { continue };
        let columns = class.iter().filter(|v| *v != first && rank(v).0 == 1);
        known.extend(columns.map(|v| (v.clone(), first.clone())));
    }
    let rows = term.vars.iter().filter_map(|(var, rel)| match rel {
        Rel::Table(table) => Some((*table, cx.row(*var, rel))),
        Rel::Distinct(_) => None,
    });
    let rewrite = subst::Equal { values: known, rows: rows.collect(), schema: cx.schema };
    if rewrite.values.is_empty() && rewrite.rows.is_empty() {
        return false;
    }
    let mut walk = Walk::new(cx, &rewrite);
    let new = Term {
        vars: term.vars.clone(),
        phi: term.phi.iter().map(|f| if used.contains(&f) { f.clone() } else { walk.formula(f) }).collect(),
        weight: walk.val(&term.weight),
        out: walk.vals(&term.out),
    };
    let changed = new != *term;
    *term = new;
    changed
}

/// What a conjunct says about formulas that may occur elsewhere.
fn learn(f: &F, known: &mut HashMap<F, bool>) {
    if let Formula::Not(inner) = &**f {
        known.insert(inner.clone(), false);
        if let Formula::Exists(_) | Formula::Null(_) | Formula::Cmp(..) | Formula::Truth(_) = &**inner {
            known.insert(f.clone(), true);
        }
        return;
    }
    known.insert(f.clone(), true);
    known.insert(make::not(f.clone()), false);
    let mut not_null = |v: &V| {
        if let Formula::Null(_) = &*make::is_null(v) {
            known.insert(make::is_null(v), false);
        }
    };
    match &**f {
        Formula::Cmp(_, a, b) => {
            not_null(a);
            not_null(b);
        }
        Formula::Truth(v) => not_null(v),
        Formula::Has { at, .. } => at.iter().for_each(not_null),
        _ => {}
    }
}

/// A DISTINCT variable whose columns all equal values that do not depend on it stands for at most one row: the
/// variable goes and the existence of that row becomes a condition.
fn eliminate_determined(cx: &Cx<'_>, term: &mut Term) -> bool {
    let mut free = FreeVars::default();
    for (var, rel) in term.vars.clone() {
        let Rel::Distinct(nf) = &rel else { continue };
        let width = cx.row(var, &rel).len();
        let equal = equal_to(term, &mut free, var, true);
        if equal.len() < width || equal.values().any(|(v, _)| free.val(v).contains(&var)) {
            continue;
        }
        let values: Vec<V> = (0..width).map(|i| equal[&i].0.clone()).collect();
        if entangles(term, &mut free, var, &values) {
            continue;
        }
        let member = make::or(nf.terms.iter().map(|t| {
            let mut t = subst::open(cx, t);
            for (out, value) in t.out.iter().zip(&values) {
                t.phi.push(make::same(out, value));
            }
            t.out = Vec::new();
            exists(cx, t)
        }));
        let rows = HashMap::from([(var, values.clone())]);
        // The equalities that were used may have said that a value is not NULL, so they stay, on the values.
        *term = subst::instantiate(cx, term, &rows);
        term.restrict(&member);
        return true;
    }
    false
}

/// Whether replacing a variable by values would let a relation depend on its own row: one of the values is of a variable
/// whose relation depends (LATERAL) on the one replaced.
fn entangles(term: &Term, free: &mut FreeVars, var: Var, values: &[V]) -> bool {
    let mut dependent = BTreeSet::from([var]);
    loop {
        let before = dependent.len();
        for (other, rel) in &term.vars {
            if let Rel::Distinct(nf) = rel
                && !free.nf(nf).is_disjoint(&dependent)
            {
                dependent.insert(*other);
            }
        }
        if dependent.len() == before {
            break;
        }
    }
    values.iter().any(|v| !free.val(v).is_disjoint(&dependent))
}

/// A row found by an equality on a key is a function of the key's value: the variable goes, the row's columns become
/// lookups, and the existence of the row becomes a condition.
fn lookup_key(cx: &Cx<'_>, term: &mut Term) -> bool {
    let mut free = FreeVars::default();
    let mut vars: Vec<(Var, usize)> = term
        .vars
        .iter()
        .filter_map(|(v, rel)| match rel {
            Rel::Table(t) => Some((*v, *t)),
            Rel::Distinct(_) => None,
        })
        .collect();
    // Where each of two rows determines the other, both sides must eliminate the same one.
    vars.sort_by_key(|(v, t)| (std::cmp::Reverse(*t), std::cmp::Reverse(*v)));
    if cx.keep_later.get() {
        vars.reverse();
    }
    for (var, table) in vars {
        let equal = equal_to(term, &mut free, var, false);
        let keys = &cx.schema.tables[table].keys;
        let Some(key) = keys.iter().position(|k| k.columns.iter().all(|c| equal.contains_key(c))) else { continue };
        let at: Vec<V> = keys[key].columns.iter().map(|c| equal[c].0.clone()).collect();
        if entangles(term, &mut free, var, &at) {
            continue;
        }
        let row = lookup_row(cx, table, key, &at);
        let exists = subst::has(table, key, at);
        *term = subst::instantiate(cx, term, &HashMap::from([(var, row)]));
        term.restrict(&exists);
        return true;
    }
    false
}

/// The columns of the row of `table` whose key number `key` is `at`.
pub(crate) fn lookup_row(cx: &Cx<'_>, table: usize, key: usize, at: &[V]) -> Vec<V> {
    let columns = &cx.schema.tables[table].keys[key].columns;
    cx.schema.tables[table]
        .columns
        .iter()
        .enumerate()
        .map(|(column, c)| match columns.iter().position(|k| *k == column) {
            Some(part) => at[part].clone(),
            None => Rc::new(Val::Lookup { table, key, at: at.to_vec(), column, ty: c.ty.clone() }),
        })
        .collect()
}

/// Set mode: `∃x. φ ∧ ∃y. ψ` is `∃x y. φ ∧ ψ`.
fn flatten_exists(cx: &Cx<'_>, term: &mut Term) -> bool {
    let Some(i) = term.phi.iter().position(|f| matches!(**f, Formula::Exists(_))) else { return false };
    let f = term.phi.remove(i);
    if let Formula::Exists(inner) = &*f {
        let inner = subst::open(cx, inner);
        term.vars.extend(inner.vars);
        term.phi.extend(inner.phi);
    }
    true
}

/// A DISTINCT variable is replaced by the variables of its body: always in set mode; in bag mode when the body is one
/// term that yields no row twice.
fn flatten_distinct(cx: &Cx<'_>, term: &Term, mode: Mode) -> Option<Vec<Term>> {
    term.vars.iter().find_map(|(var, rel)| {
        let Rel::Distinct(nf) = rel else { return None };
        if mode == Mode::Bag && !(nf.terms.len() == 1 && determines(cx, &nf.terms[0], &nf.terms[0].out)) {
            return None;
        }
        let replaced = nf.terms.iter().map(|body| {
            let body = subst::open(cx, body);
            let mut new = subst::instantiate(cx, term, &HashMap::from([(*var, body.out)]));
            new.vars.extend(body.vars);
            new.phi.extend(body.phi);
            new.restrict(&make::positive(&body.weight));
            new
        });
        Some(replaced.collect())
    })
}

/// A weight that counts rows is a sum over those rows.
fn unfold_weight(cx: &Cx<'_>, term: &Term) -> Option<Vec<Term>> {
    let is_count = |v: &V| matches!(&**v, Val::Total(t, _) if make::is_int(&t.out[0], 1));
    if let Val::Arith(Op::Add, a, b, _) = &*term.weight
        && is_count(a)
        && is_count(b)
    {
        return Some([a, b].map(|w| Term { weight: w.clone(), ..term.clone() }).to_vec());
    }
    let mut parts = factors(&term.weight);
    let i = parts.iter().position(is_count)?;
    let Val::Total(counted, ty) = &*parts.remove(i) else { return None };
    let counted = subst::open(cx, counted);
    let mut term = term.clone();
    term.vars.extend(counted.vars);
    term.phi.extend(counted.phi);
    term.weight = product(&parts, ty);
    Some(vec![term])
}

/// Splits φ into the part that does not mention the term's variables and the rest.
pub(super) fn split_independent(term: &mut Term) -> F {
    let bound: BTreeSet<Var> = term.vars.iter().map(|(v, _)| *v).collect();
    let mut free = FreeVars::default();
    let (outside, inside): (Vec<F>, Vec<F>) =
        std::mem::take(&mut term.phi).into_iter().partition(|f| free.formula(f).is_disjoint(&bound));
    term.phi = inside;
    make::and(outside)
}

/// `∃ vars. φ ∧ weight > 0`.
pub(crate) fn exists(cx: &Cx<'_>, mut term: Term) -> F {
    term.out = Vec::new();
    make::or(simplify(cx, term, Mode::Set).into_iter().map(|mut term| {
        let outside = split_independent(&mut term);
        let parts = components(&term).into_iter().map(|part| cx.intern_exists(&part));
        make::and(std::iter::once(outside).chain(parts))
    }))
}

/// The rows of a term that exist independently of each other, apart: `∃x y. φ(x) ∧ ψ(y)` is `∃x. φ(x) ∧ ∃y. ψ(y)`.
fn components(term: &Term) -> Vec<Term> {
    let mut free = FreeVars::default();
    let mut together = UnionFind::new(term.vars.len());
    let mut join = |vars: &BTreeSet<Var>| {
        let mut places = (0..term.vars.len()).filter(|i| vars.contains(&term.vars[*i].0));
        if let Some(first) = places.next() {
            for place in places {
                together.union(first, place);
            }
        }
    };
    for (var, rel) in &term.vars {
        if let Rel::Distinct(nf) = rel {
            let mut own = free.nf(nf);
            own.insert(*var);
            join(&own);
        }
    }
    term.phi.iter().for_each(|f| join(&free.formula(f)));
    let mut groups: BTreeMap<usize, BTreeSet<Var>> = BTreeMap::new();
    for (i, (var, _)) in term.vars.iter().enumerate() {
        groups.entry(together.find(i)).or_default().insert(*var);
    }
    let part = |group: BTreeSet<Var>| Term {
        vars: term.vars.iter().filter(|(v, _)| group.contains(v)).cloned().collect(),
        phi: term.phi.iter().filter(|f| !free.formula(f).is_disjoint(&group)).cloned().collect(),
        weight: make::int(1),
        out: Vec::new(),
    };
    groups.into_values().map(part).collect()
}

/// Whether any row is in the sum.
pub(crate) fn exists_any(cx: &Cx<'_>, nf: &Nf) -> F {
    make::or(nf.terms.iter().map(|t| exists(cx, t.clone())))
}

/// `left EXCEPT ALL right` where the right's rows are those of the left that satisfy more conditions: the left's rows
/// that do not. `None` where this cannot be seen.
pub(crate) fn without(cx: &Cx<'_>, left: &Nf, right: &Nf) -> Option<Nf> {
    let mut left = simplify_all(cx, left.clone(), Mode::Bag);
    let right = simplify_all(cx, right.clone(), Mode::Bag);
    // What is taken from each left term.
    let mut taken: Vec<Vec<F>> = vec![Vec::new(); left.terms.len()];
    for term in &right.terms {
        let (index, extra) =
            left.terms.iter().enumerate().find_map(|(i, l)| Some((i, extra_conditions(cx, l, term)?)))?;
        // Each row may be taken once.
        if taken[index].iter().any(|before| *make::and([before.clone(), extra.clone()]) != Formula::False) {
            return None;
        }
        taken[index].push(extra);
    }
    for (term, taken) in left.terms.iter_mut().zip(taken) {
        term.restrict(&make::not(make::or(taken)));
    }
    Some(left)
}

/// What the term `narrow` asks of its rows beyond what `wide` asks of the same rows, if the two are otherwise the same.
fn extra_conditions(cx: &Cx<'_>, wide: &Term, narrow: &Term) -> Option<F> {
    subst::renamed(cx, wide, narrow).into_iter().find_map(|mapped| {
        let same =
            mapped.out == wide.out && mapped.weight == wide.weight && wide.phi.iter().all(|f| mapped.phi.contains(f));
        same.then(|| make::and(mapped.phi.into_iter().filter(|f| !wide.phi.contains(f))))
    })
}
