//! Walking over terms: substitution, free variables, opening of binders.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use super::term::{Col, F, Formula, Nf, Rel, Term, V, Val, Var};
use super::{Cx, aggregate, make, simplify};
use crate::eval;
use crate::ir::{Expr, Schema, TableId, Type, Value};

/// A replacement for scalars and formulas, applied outside in; what it leaves alone is rebuilt from its parts by the
/// constructors, which simplify again.
pub(crate) trait Rewrite {
    fn val(&self, v: &V) -> Option<V>;
    fn formula(&self, f: &F) -> Option<F>;
}

/// Replaces rows of variables by rows of values.
pub(crate) struct Rows<'a>(pub(crate) &'a HashMap<Var, Vec<V>>);

impl Rewrite for Rows<'_> {
    fn val(&self, v: &V) -> Option<V> {
        match &**v {
            Val::Col(col) => Some(self.0.get(&col.var).map_or_else(|| v.clone(), |row| row[col.index].clone())),
            _ => None,
        }
    }

    fn formula(&self, _: &F) -> Option<F> {
        None
    }
}

/// Replaces values by equal ones, and the row that a key looks up by that row where it is at hand.
pub(crate) struct Equal<'a> {
    pub(crate) values: HashMap<V, V>,
    /// Rows at hand, with their tables.
    pub(crate) rows: Vec<(TableId, Vec<V>)>,
    pub(crate) schema: &'a Schema,
}

impl Equal<'_> {
    /// The row at hand with this key, no part of which is NULL.
    fn row(&self, table: TableId, key: usize, at: &[V]) -> Option<&[V]> {
        let columns = &self.schema.tables[table].keys[key].columns;
        let has_key = |row: &[V]| columns.iter().zip(at).all(|(c, v)| row[*c] == *v && v.never_null());
        self.rows.iter().find(|(t, row)| *t == table && has_key(row)).map(|(_, row)| &row[..])
    }
}

impl Rewrite for Equal<'_> {
    fn val(&self, v: &V) -> Option<V> {
        let value = self.values.get(v).cloned();
        value.or_else(|| match &**v {
            Val::Lookup { table, key, at, column, .. } => Some(self.row(*table, *key, at)?[*column].clone()),
            _ => None,
        })
    }

    fn formula(&self, f: &F) -> Option<F> {
        match &**f {
            Formula::Has { table, key, at } => self.row(*table, *key, at).map(|_| make::yes()),
            _ => None,
        }
    }
}

/// Replaces formulas by their known truth.
pub(crate) struct Known<'a>(pub(crate) &'a HashMap<F, bool>);

impl Rewrite for Known<'_> {
    fn val(&self, _: &V) -> Option<V> {
        None
    }

    fn formula(&self, f: &F) -> Option<F> {
        self.0.get(f).map(|known| if *known { make::yes() } else { make::no() })
    }
}

/// One application of a rewrite; remembers what it has done, since formulas share parts heavily.
pub(crate) struct Walk<'a> {
    cx: &'a Cx<'a>,
    rewrite: &'a dyn Rewrite,
    vals: HashMap<*const Val, (V, V)>,
    formulas: HashMap<*const Formula, (F, F)>,
    /// New names of the variables of the terms inside, so that what is put in is not captured.
    renamed: HashMap<Var, Var>,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(cx: &'a Cx<'a>, rewrite: &'a dyn Rewrite) -> Self {
        Self { cx, rewrite, vals: HashMap::new(), formulas: HashMap::new(), renamed: HashMap::new() }
    }

    pub(crate) fn val(&mut self, v: &V) -> V {
        if let Some((_, done)) = self.vals.get(&Rc::as_ptr(v)) {
            return done.clone();
        }
        self.cx.spend();
        let done = match &**v {
            Val::Col(col) if self.renamed.contains_key(&col.var) => {
                Rc::new(Val::Col(Col { var: self.renamed[&col.var], ..col.clone() }))
            }
            _ => self.rewrite.val(v).unwrap_or_else(|| self.val_parts(v)),
        };
        // The key's owner is kept, so that its address is not used again.
        self.vals.insert(Rc::as_ptr(v), (v.clone(), done.clone()));
        done
    }

    fn val_parts(&mut self, v: &V) -> V {
        match &**v {
            Val::Col(_) | Val::Lit(..) | Val::Null(_) => v.clone(),
            Val::Call { name, args, ty, strict } => {
                let args = self.vals(args);
                make_call(name, args, ty, *strict)
            }
            Val::Arith(op, a, b, ty) => {
                let (a, b) = (self.val(a), self.val(b));
                make::arith(*op, &a, &b, ty)
            }
            Val::Case(c, a, b) => {
                let (c, a, b) = (self.formula(c), self.val(a), self.val(b));
                make::case(&c, a, b)
            }
            Val::Bool(t, f) => make::boolean(self.formula(t), self.formula(f)),
            Val::Total(term, ty) => aggregate::total(self.cx, self.term(term), ty),
            Val::Extreme(max, nf, ty) => aggregate::extreme(self.cx, *max, self.nf(nf), ty),
            Val::OfBag(name, nf, ty) => aggregate::of_bag(self.cx, name, self.nf(nf), ty),
            Val::Scalar(nf, ty) => aggregate::scalar(self.cx, self.nf(nf), ty),
            Val::Lookup { table, key, at, column, ty } => {
                Rc::new(Val::Lookup { table: *table, key: *key, at: self.vals(at), column: *column, ty: ty.clone() })
            }
        }
    }

    pub(crate) fn vals(&mut self, vals: &[V]) -> Vec<V> {
        vals.iter().map(|v| self.val(v)).collect()
    }

    pub(crate) fn formula(&mut self, f: &F) -> F {
        if let Some((_, done)) = self.formulas.get(&Rc::as_ptr(f)) {
            return done.clone();
        }
        self.cx.spend();
        let done = self.rewrite.formula(f).unwrap_or_else(|| self.formula_parts(f));
        self.formulas.insert(Rc::as_ptr(f), (f.clone(), done.clone()));
        done
    }

    fn formula_parts(&mut self, f: &F) -> F {
        match &**f {
            Formula::True | Formula::False => f.clone(),
            Formula::And(parts) => make::and(parts.iter().map(|p| self.formula(p)).collect::<Vec<_>>()),
            Formula::Or(parts) => make::or(parts.iter().map(|p| self.formula(p)).collect::<Vec<_>>()),
            Formula::Not(inner) => make::not(self.formula(inner)),
            Formula::Null(v) => make::is_null(&self.val(v)),
            Formula::Cmp(op, a, b) => {
                let (a, b) = (self.val(a), self.val(b));
                make::cmp(*op, &a, &b)
            }
            Formula::Same(a, b) => {
                let (a, b) = (self.val(a), self.val(b));
                make::same(&a, &b)
            }
            Formula::Truth(v) => make::truth(&self.val(v)).0,
            Formula::Exists(term) => simplify::exists(self.cx, self.term(term)),
            Formula::Has { table, key, at } => has(*table, *key, self.vals(at)),
        }
    }

    pub(crate) fn term(&mut self, term: &Term) -> Term {
        // Always the same new name for an old one, as the parts already done have it.
        for (var, _) in &term.vars {
            self.renamed.entry(*var).or_insert_with(|| self.cx.fresh());
        }
        Term {
            vars: term.vars.iter().map(|(var, rel)| (self.renamed[var], self.rel(rel))).collect(),
            phi: make::conjuncts(&make::and(term.phi.iter().map(|f| self.formula(f)).collect::<Vec<_>>())),
            weight: self.val(&term.weight),
            out: self.vals(&term.out),
        }
    }

    pub(crate) fn nf(&mut self, nf: &Nf) -> Nf {
        Nf { terms: nf.terms.iter().map(|t| self.term(t)).collect() }
    }

    pub(crate) fn rel(&mut self, rel: &Rel) -> Rel {
        match rel {
            Rel::Table(_) => rel.clone(),
            Rel::Distinct(nf) => Rel::Distinct(Rc::new(self.nf(nf))),
        }
    }
}

/// `Has`, false when a part is the literal NULL.
pub(crate) fn has(table: usize, key: usize, at: Vec<V>) -> F {
    if at.iter().any(|v| matches!(**v, Val::Null(_))) {
        return make::no();
    }
    Rc::new(Formula::Has { table, key, at })
}

/// A call, NULL when it is strict and an argument is the literal NULL.
pub(crate) fn make_call(name: &str, mut args: Vec<V>, ty: &Type, strict: bool) -> V {
    if strict && args.iter().any(|a| matches!(**a, Val::Null(_))) {
        return make::null(ty.clone());
    }
    if let Some(value) = fold(name, &args, ty) {
        return Rc::new(Val::Lit(value, ty.clone()));
    }
    if is_commutative(name)
        && let [a, b] = &args[..]
        && place(a) > place(b)
    {
        args.reverse();
    }
    Rc::new(Val::Call { name: name.to_owned(), args, ty: ty.clone(), strict })
}

/// Whether the call is the sum or product of doubles, which is rounded, but the same from both sides. The names of
/// functions are in lower case, so none is meant.
pub(crate) fn is_commutative(name: &str) -> bool {
    matches!(name.split_once(' ').map_or(name, |(plain, _)| plain), "ADD" | "MUL")
}

/// What operands are ordered by: nothing that depends on the names of variables.
fn place(v: &V) -> (u8, usize) {
    match &**v {
        Val::Col(col) => (0, col.index),
        Val::Lit(..) | Val::Null(_) => (2, 0),
        _ => (1, 0),
    }
}

/// The value of a function whose meaning all engines share, on plain texts and numbers.
fn fold(name: &str, args: &[V], ty: &Type) -> Option<Value> {
    // Of whole numbers as of others.
    let name = name.strip_suffix(" INTEGER").unwrap_or(name);
    if !FOLDED.contains(&name) || args.is_empty() {
        return None;
    }
    let args: Vec<Expr> = args.iter().map(constant).collect::<Option<_>>()?;
    let call = |args| eval::constant(&Expr::Call { name: name.to_owned(), args, ty: ty.clone() });
    if name == "like" {
        // Engines where equal texts are identical may still match patterns without regard to case.
        let lower = args.iter().map(|arg| match arg {
            Expr::Literal(Value::Text(text), ty) => Expr::Literal(Value::Text(text.to_lowercase()), ty.clone()),
            other => other.clone(),
        });
        if call(lower.collect()) != call(args.clone()) {
            return None;
        }
    }
    let value = call(args)?;
    (!value.is_null()).then_some(value)
}

/// A constant argument: a number, a plain text, a date, or an interval as it is written.
fn constant(v: &V) -> Option<Expr> {
    match &**v {
        Val::Lit(value @ (Value::Int(_) | Value::Number(_)), ty) => Some(Expr::Literal(value.clone(), ty.clone())),
        Val::Lit(Value::Text(text), ty @ (Type::Text | Type::Date | Type::Timestamp)) if text.is_ascii() => {
            Some(Expr::Literal(Value::Text(text.clone()), ty.clone()))
        }
        Val::Call { name, args, ty, .. } if name == "interval" => {
            let args = args.iter().map(constant).collect::<Option<_>>()?;
            Some(Expr::Call { name: name.clone(), args, ty: ty.clone() })
        }
        _ => None,
    }
}

/// Functions that are evaluated on constants.
const FOLDED: &[&str] = &[
    "abs",
    "add_date_op",
    "add_months",
    "adddate",
    "date_add",
    "date_add_op",
    "date_sub",
    "date_sub_op",
    "extract_day",
    "extract_month",
    "extract_year",
    "month",
    "subdate",
    "year",
    "char_length",
    "concat",
    "concat_op",
    "length",
    "like",
    "lower",
    "mod",
    "replace",
    "sign",
    "substr",
    "substring",
    "trim",
    "upper",
];

/// The variables that occur free, with memory of shared parts.
#[derive(Default)]
pub(crate) struct FreeVars {
    vals: HashMap<*const Val, (V, Rc<BTreeSet<Var>>)>,
    formulas: HashMap<*const Formula, (F, Rc<BTreeSet<Var>>)>,
}

impl FreeVars {
    pub(crate) fn val(&mut self, v: &V) -> Rc<BTreeSet<Var>> {
        if let Some((_, free)) = self.vals.get(&Rc::as_ptr(v)) {
            return free.clone();
        }
        let mut free = BTreeSet::new();
        match &**v {
            Val::Col(col) => {
                free.insert(col.var);
            }
            Val::Lit(..) | Val::Null(_) => {}
            Val::Call { args, .. } | Val::Lookup { at: args, .. } => {
                args.iter().for_each(|a| free.extend(self.val(a).iter()));
            }
            Val::Arith(_, a, b, _) => {
                free.extend(self.val(a).iter());
                free.extend(self.val(b).iter());
            }
            Val::Case(c, a, b) => {
                free.extend(self.formula(c).iter());
                free.extend(self.val(a).iter());
                free.extend(self.val(b).iter());
            }
            Val::Bool(t, f) => {
                free.extend(self.formula(t).iter());
                free.extend(self.formula(f).iter());
            }
            Val::Total(term, _) => free.extend(self.term(term)),
            Val::Extreme(_, nf, _) | Val::OfBag(_, nf, _) | Val::Scalar(nf, _) => free.extend(self.nf(nf)),
        }
        let free = Rc::new(free);
        self.vals.insert(Rc::as_ptr(v), (v.clone(), free.clone()));
        free
    }

    pub(crate) fn formula(&mut self, f: &F) -> Rc<BTreeSet<Var>> {
        if let Some((_, free)) = self.formulas.get(&Rc::as_ptr(f)) {
            return free.clone();
        }
        let mut free = BTreeSet::new();
        match &**f {
            Formula::True | Formula::False => {}
            Formula::And(parts) | Formula::Or(parts) => {
                parts.iter().for_each(|p| free.extend(self.formula(p).iter()));
            }
            Formula::Not(inner) => free.extend(self.formula(inner).iter()),
            Formula::Null(v) | Formula::Truth(v) => free.extend(self.val(v).iter()),
            Formula::Cmp(_, a, b) | Formula::Same(a, b) => {
                free.extend(self.val(a).iter());
                free.extend(self.val(b).iter());
            }
            Formula::Exists(term) => free.extend(self.term(term)),
            Formula::Has { at, .. } => at.iter().for_each(|a| free.extend(self.val(a).iter())),
        }
        let free = Rc::new(free);
        self.formulas.insert(Rc::as_ptr(f), (f.clone(), free.clone()));
        free
    }

    pub(crate) fn term(&mut self, term: &Term) -> BTreeSet<Var> {
        let mut free = BTreeSet::new();
        term.phi.iter().for_each(|f| free.extend(self.formula(f).iter()));
        term.out.iter().for_each(|v| free.extend(self.val(v).iter()));
        free.extend(self.val(&term.weight).iter());
        for (_, rel) in &term.vars {
            if let Rel::Distinct(nf) = rel {
                free.extend(self.nf(nf));
            }
        }
        for (var, _) in &term.vars {
            free.remove(var);
        }
        free
    }

    pub(crate) fn nf(&mut self, nf: &Nf) -> BTreeSet<Var> {
        nf.terms.iter().flat_map(|t| self.term(t)).collect()
    }
}

/// The term with fresh variables in place of its own.
pub(crate) fn open(cx: &Cx<'_>, term: &Term) -> Term {
    let names: Vec<Var> = term.vars.iter().map(|_| cx.fresh()).collect();
    let rows = term.vars.iter().zip(&names).map(|((old, rel), new)| (*old, cx.row(*new, rel))).collect();
    let mut opened = instantiate(cx, term, &rows);
    let rewrite = Rows(&rows);
    let mut walk = Walk::new(cx, &rewrite);
    // A lateral right side may refer to the variables left of it.
    opened.vars = term.vars.iter().zip(names).map(|((_, rel), new)| (new, walk.rel(rel))).collect();
    opened
}

/// Renamings tried to bring one term over another's rows.
const RENAMINGS_MAX: usize = 24;

/// A term over the rows of another that sums over the same relations, in every way (within a bound) in which its
/// variables can take the other's places.
pub(crate) fn renamed(cx: &Cx<'_>, onto: &Term, term: &Term) -> Vec<Term> {
    let n = onto.vars.len();
    if term.vars.len() != n {
        return Vec::new();
    }
    let mut orders: Vec<Vec<usize>> = vec![Vec::new()];
    for (_, rel) in &term.vars {
        orders = orders
            .iter()
            .flat_map(|chosen| {
                (0..n).filter(|i| !chosen.contains(i) && onto.vars[*i].1 == *rel).map(|i| [&chosen[..], &[i]].concat())
            })
            .take(RENAMINGS_MAX)
            .collect();
    }
    let map = |order: Vec<usize>| {
        let places = term.vars.iter().zip(order);
        let rows = places.map(|((var, _), i)| (*var, cx.row(onto.vars[i].0, &onto.vars[i].1))).collect();
        instantiate(cx, term, &rows)
    };
    orders.into_iter().map(map).collect()
}

/// The term with some of its variables replaced by rows of values.
pub(crate) fn instantiate(cx: &Cx<'_>, term: &Term, rows: &HashMap<Var, Vec<V>>) -> Term {
    let rewrite = Rows(rows);
    let mut walk = Walk::new(cx, &rewrite);
    Term {
        vars: term
            .vars
            .iter()
            .filter(|(var, _)| !rows.contains_key(var))
            .map(|(var, rel)| (*var, walk.rel(rel)))
            .collect(),
        phi: make::conjuncts(&make::and(term.phi.iter().map(|f| walk.formula(f)).collect::<Vec<_>>())),
        weight: walk.val(&term.weight),
        out: walk.vals(&term.out),
    }
}
