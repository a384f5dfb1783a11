//! Plans and expressions as sums of terms: normalisation by evaluation under an environment of symbolic rows.

mod order;
mod scalar;

use std::collections::BTreeSet;
use std::rc::Rc;

use super::determine::{determines, determines_row};
use super::simplify::{self, Mode};
use super::term::{Cmp, F, Formula, Nf, Op, Rel, Term, V, Val};
use super::{Cx, aggregate, distinct, make, subst};
use crate::evidence::Reason;
use crate::ir::schema::decimal_size;
use crate::ir::{
    Aggregate, AggregateFunction, ArithmeticOp, Assumption, CompareOp, Expr, JoinKind, OrderKey, Plan, SetOp, Type,
    Value, WindowFunction,
};

/// Terms a normal form may have: outer joins double them.
const TERMS_MAX: usize = 256;

type Scopes = Vec<Vec<V>>;

/// Builds the normal form of a plan.
pub(crate) struct Builder<'a> {
    cx: &'a Cx<'a>,
    /// What the normal form takes for granted.
    pub(crate) assumptions: BTreeSet<Assumption>,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(cx: &'a Cx<'a>) -> Self {
        Self { cx, assumptions: BTreeSet::new() }
    }

    /// The sum that a plan without outer references denotes.
    pub(crate) fn query(&mut self, plan: &Plan) -> Result<Nf, Reason> {
        let nf = self.plan(plan, &mut Vec::new())?;
        Ok(simplify::simplify_all(self.cx, nf, Mode::Bag))
    }

    /// When a CHECK is FALSE on a row.
    pub(crate) fn row_condition_false(&mut self, check: &Expr, row: &[V]) -> Result<F, Reason> {
        Ok(self.condition(check, &mut vec![row.to_vec()])?.1)
    }

    fn plan(&mut self, plan: &Plan, scopes: &mut Scopes) -> Result<Nf, Reason> {
        match plan {
            Plan::Scan { table, .. } => {
                let (var, rel) = (self.cx.fresh(), Rel::Table(*table));
                let out = self.cx.row(var, &rel);
                Ok(Nf { terms: vec![Term { vars: vec![(var, rel)], phi: Vec::new(), weight: make::int(1), out }] })
            }
            Plan::Values { rows, types } => {
                scopes.push(Vec::new());
                let terms = rows
                    .iter()
                    .map(|row| {
                        let cells = row.iter().zip(types).map(|(e, ty)| Ok(retype(self.expr(e, scopes)?, ty)));
                        Ok(Term::row(cells.collect::<Result<_, Reason>>()?))
                    })
                    .collect::<Result<_, Reason>>();
                scopes.pop();
                Ok(Nf { terms: terms? })
            }
            Plan::Filter { input, condition } => {
                let mut nf = self.plan(input, scopes)?;
                for term in &mut nf.terms {
                    let (holds, _) = self.in_row(scopes, term.out.clone(), |b, s| b.condition(condition, s))?;
                    term.restrict(&holds);
                }
                Ok(prune(nf))
            }
            Plan::Project { input, exprs } => {
                let mut nf = self.plan(input, scopes)?;
                for term in &mut nf.terms {
                    term.out = self.in_row(scopes, term.out.clone(), |b, s| b.exprs(exprs, s))?;
                }
                Ok(nf)
            }
            Plan::Join { kind, left, right, on, lateral } => self.join(*kind, left, right, on, *lateral, scopes),
            Plan::SetOp { op, all, left, right, types } => self.set_operation(*op, *all, left, right, types, scopes),
            Plan::Distinct(input) => {
                let nf = self.plan(input, scopes)?;
                Ok(self.distinct(nf))
            }
            Plan::Aggregate { input, keys, aggregates } => self.aggregate(input, keys, aggregates, scopes),
            Plan::Limit { input, order, limit, offset } => self.limit(input, order, *limit, *offset, scopes),
            Plan::Window { input, functions } => self.window(input, functions, scopes),
        }
    }

    /// Runs `f` with a row as the innermost scope.
    fn in_row<T>(
        &mut self,
        scopes: &mut Scopes,
        row: Vec<V>,
        f: impl FnOnce(&mut Self, &mut Scopes) -> Result<T, Reason>,
    ) -> Result<T, Reason> {
        scopes.push(row);
        let result = f(self, scopes);
        scopes.pop();
        result
    }

    fn join(
        &mut self,
        kind: JoinKind,
        left: &Plan,
        right: &Plan,
        on: &Expr,
        lateral: bool,
        scopes: &mut Scopes,
    ) -> Result<Nf, Reason> {
        let lefts = self.plan(left, scopes)?;
        let shared = if lateral { None } else { Some(self.plan(right, scopes)?) };
        let right_types = right.types();
        let mut matched = Vec::new();
        let mut terms = Vec::new();
        for l in &lefts.terms {
            let rights = match &shared {
                Some(rights) => rights.clone(),
                None => self.in_row(scopes, l.out.clone(), |b, s| b.plan(right, s))?,
            };
            let mut partners = Vec::new();
            for r in &rights.terms {
                let row = [l.out.clone(), r.out.clone()].concat();
                let (holds, _) = self.in_row(scopes, row.clone(), |b, s| b.condition(on, s))?;
                // As a condition on the left row: a right row that matches.
                let mut partner = r.clone();
                partner.restrict(&holds);
                partner.out = Vec::new();
                partners.push(partner);
                let mut both = l.clone();
                both.vars.extend(r.vars.iter().cloned());
                both.phi.extend(r.phi.iter().cloned());
                both.weight = make::arith(Op::Mul, &l.weight, &r.weight, &Type::Integer);
                both.out = row;
                both.restrict(&holds);
                matched.push(both);
            }
            let has_partner = || make::or(partners.iter().map(|p| simplify::exists(self.cx, subst::open(self.cx, p))));
            let kept = match kind {
                JoinKind::Semi => has_partner(),
                JoinKind::Anti | JoinKind::Left | JoinKind::Full => make::not(has_partner()),
                JoinKind::Inner | JoinKind::Right => continue,
            };
            let mut alone = l.clone();
            alone.restrict(&kept);
            if matches!(kind, JoinKind::Left | JoinKind::Full) {
                alone.out.extend(right_types.iter().map(|ty| make::null(ty.domain())));
            }
            terms.push(alone);
        }
        if !matches!(kind, JoinKind::Semi | JoinKind::Anti) {
            terms.extend(matched);
        }
        if matches!(kind, JoinKind::Right | JoinKind::Full)
            && let Some(rights) = &shared
        {
            let left_types = left.types();
            for r in &rights.terms {
                let mut partners = Vec::new();
                for l in &lefts.terms {
                    let row = [l.out.clone(), r.out.clone()].concat();
                    let (holds, _) = self.in_row(scopes, row, |b, s| b.condition(on, s))?;
                    let mut partner = l.clone();
                    partner.restrict(&holds);
                    partner.out = Vec::new();
                    partners.push(simplify::exists(self.cx, subst::open(self.cx, &partner)));
                }
                let mut alone = r.clone();
                alone.restrict(&make::not(make::or(partners)));
                alone.out = left_types.iter().map(|ty| make::null(ty.domain())).chain(r.out.iter().cloned()).collect();
                terms.push(alone);
            }
        }
        if terms.len() > TERMS_MAX {
            return Err(Reason::Limit(format!("{} terms in one normal form", terms.len())));
        }
        Ok(prune(Nf { terms }))
    }

    fn set_operation(
        &mut self,
        op: SetOp,
        all: bool,
        left: &Plan,
        right: &Plan,
        types: &[Type],
        scopes: &mut Scopes,
    ) -> Result<Nf, Reason> {
        let mut lefts = self.plan(left, scopes)?;
        let mut rights = self.plan(right, scopes)?;
        for term in lefts.terms.iter_mut().chain(&mut rights.terms) {
            term.out = term.out.drain(..).zip(types).map(|(v, ty)| retype(v, ty)).collect();
        }
        if op == SetOp::Union {
            lefts.terms.extend(rights.terms);
            return Ok(if all { lefts } else { self.distinct(lefts) });
        }
        if op == SetOp::Except
            && all
            && let Some(rest) = simplify::without(self.cx, &lefts, &rights)
        {
            return Ok(rest);
        }
        let mut nf = distinct::distinct(self.cx, lefts.clone());
        for term in &mut nf.terms {
            let row = term.out.clone();
            let member =
                |nf: &Nf| make::or(nf.terms.iter().map(|t| simplify::exists(self.cx, equal_to_row(self.cx, t, &row))));
            let count = |nf: &Nf| self.count(nf.terms.iter().map(|t| equal_to_row(self.cx, t, &row)));
            match (op, all) {
                (SetOp::Intersect, false) => term.restrict(&member(&rights)),
                (SetOp::Except, false) => term.restrict(&make::not(member(&rights))),
                (SetOp::Intersect, true) => {
                    let (l, r) = (count(&lefts), count(&rights));
                    term.weight = make::case(&make::cmp(Cmp::Le, &l, &r), l, r);
                }
                (SetOp::Except, true) => {
                    let (l, r) = (count(&lefts), count(&rights));
                    let rest = make::arith(Op::Sub, &l, &r, &Type::Integer);
                    term.weight = make::case(&make::cmp(Cmp::Le, &l, &r), make::int(0), rest);
                }
                (SetOp::Union, _) => {}
            }
        }
        Ok(nf)
    }

    /// Each row of the sum once.
    fn distinct(&self, nf: Nf) -> Nf {
        let nf = distinct::distinct(self.cx, nf);
        simplify::simplify_all(self.cx, nf, Mode::Bag)
    }

    fn aggregate(
        &mut self,
        input: &Plan,
        keys: &[Expr],
        aggregates: &[Aggregate],
        scopes: &mut Scopes,
    ) -> Result<Nf, Reason> {
        let input = self.plan(input, scopes)?;
        if keys.is_empty() {
            let out =
                aggregates.iter().map(|a| self.one_aggregate(a, &input, &[], &[], scopes)).collect::<Result<_, _>>()?;
            return Ok(Nf { terms: vec![Term::row(out)] });
        }
        let mut key_rows = input.clone();
        for term in &mut key_rows.terms {
            term.out = self.in_row(scopes, term.out.clone(), |b, s| b.exprs(keys, s))?;
        }
        let mut nf = distinct::distinct(self.cx, key_rows);
        for term in &mut nf.terms {
            let row = term.out.clone();
            for aggregate in aggregates {
                let value = self.one_aggregate(aggregate, &input, keys, &row, scopes)?;
                term.out.push(value);
            }
        }
        Ok(simplify::simplify_all(self.cx, nf, Mode::Bag))
    }

    /// The aggregate over those rows of the input whose keys are `row`.
    fn one_aggregate(
        &mut self,
        aggregate: &Aggregate,
        input: &Nf,
        keys: &[Expr],
        row: &[V],
        scopes: &mut Scopes,
    ) -> Result<V, Reason> {
        let keeps = |f: &AggregateFunction| {
            matches!(f, AggregateFunction::Count | AggregateFunction::Min | AggregateFunction::Max)
        };
        if !keeps(&aggregate.function) {
            self.whole_doubles(aggregate.args.iter().map(Expr::ty))?;
        }
        let mut group = Nf::default();
        for term in &input.terms {
            let mut term = subst::open(self.cx, term);
            let (key, filter, args) = self.in_row(scopes, term.out.clone(), |b, s| {
                let filter = aggregate.filter.as_ref().map(|f| Ok(b.condition(f, s)?.0)).transpose()?;
                Ok((b.exprs(keys, s)?, filter, b.exprs(&aggregate.args, s)?))
            })?;
            for (k, r) in key.iter().zip(row) {
                term.restrict(&make::same(k, r));
            }
            if let Some(filter) = filter {
                term.restrict(&filter);
            }
            term.out = args;
            group.terms.push(term);
        }
        let ty = &aggregate.ty.domain();
        if aggregate.function != AggregateFunction::CountStar {
            for term in &mut group.terms {
                if let [arg] = &term.out[..] {
                    let defined = make::not(make::is_null(arg));
                    term.restrict(&defined);
                }
            }
        }
        if aggregate.distinct {
            group = self.distinct(group);
        }
        let sum = |group: &Nf, out: Option<V>| {
            group.terms.iter().fold(make::int(0), |sum, term| {
                let mut term = term.clone();
                if let Some(out) = &out {
                    term.out = vec![out.clone()];
                }
                make::arith(Op::Add, &sum, &aggregate::total(self.cx, term, ty), ty)
            })
        };
        let exact = aggregate.ty.is_exact();
        let of = aggregate.args.iter().map(|a| a.ty().to_string()).collect::<Vec<_>>().join(", ");
        Ok(match &aggregate.function {
            AggregateFunction::CountStar | AggregateFunction::Count => sum(&group, Some(make::int(1))),
            AggregateFunction::Sum if exact => {
                let some = simplify::exists_any(self.cx, &group);
                make::case(&some, sum(&group, None), make::null(ty.clone()))
            }
            AggregateFunction::Min => aggregate::extreme(self.cx, false, group, ty),
            AggregateFunction::Max => aggregate::extreme(self.cx, true, group, ty),
            AggregateFunction::Avg if exact && aggregate.args[0].ty().domain() == Type::Decimal => {
                let count = sum(&group, Some(make::int(1)));
                let some = simplify::exists_any(self.cx, &group);
                self.assumptions.insert(Assumption::AvgIsExactQuotient);
                let quotient = scalar::divide(sum(&group, None), count, &Type::Decimal);
                make::case(&some, quotient, make::null(ty.clone()))
            }
            // COUNT of several columns counts the rows in which none is NULL.
            AggregateFunction::Other(name) if name == "count" => {
                for term in &mut group.terms {
                    let defined = make::and(term.out.iter().map(|v| make::not(make::is_null(v))));
                    term.restrict(&defined);
                }
                sum(&group, Some(make::int(1)))
            }
            // Its error for several rows is an assumption, which reading it recorded.
            AggregateFunction::Other(name) if name == "single_value" => aggregate::scalar(self.cx, group, ty),
            AggregateFunction::Other(name) if matches!(&name[..], "bool_and" | "bool_or") => {
                self.all_or_any(&group, name == "bool_and")
            }
            // Computed with other digits for numbers of another type; exact ones are not rounded.
            AggregateFunction::Sum => aggregate::of_bag(self.cx, &format!("sum of {of}"), group, ty),
            AggregateFunction::Avg if exact => aggregate::of_bag(self.cx, "avg", group, ty),
            AggregateFunction::Avg => aggregate::of_bag(self.cx, &format!("avg of {of}"), group, ty),
            AggregateFunction::Other(name) if aggregate::is_of_set(name) => aggregate::of_bag(self.cx, name, group, ty),
            AggregateFunction::Other(name) if aggregate.args.iter().any(|a| shows_scale(&a.ty())) => {
                return Err(Reason::Unsupported(format!("{name} of a decimal, whose digits depend on its scale")));
            }
            AggregateFunction::Other(name) => aggregate::of_bag(self.cx, &format!("{name} of {of}"), group, ty),
        })
    }

    /// `BOOL_AND` or `BOOL_OR` of truth values that are not NULL: whether there is one that decides it, and any at all.
    fn all_or_any(&self, group: &Nf, all: bool) -> V {
        let mut deciding = group.clone();
        for term in &mut deciding.terms {
            let (is_true, is_false) = make::truth(&term.out[0]);
            term.restrict(if all { &is_false } else { &is_true });
        }
        let decided = simplify::exists_any(self.cx, &deciding);
        let open = make::and([simplify::exists_any(self.cx, group), make::not(decided.clone())]);
        if all { make::boolean(open, decided) } else { make::boolean(decided, open) }
    }

    fn exprs(&mut self, exprs: &[Expr], scopes: &mut Scopes) -> Result<Vec<V>, Reason> {
        exprs.iter().map(|e| self.expr(e, scopes)).collect()
    }
}

/// Drops terms whose condition folded to FALSE.
fn prune(mut nf: Nf) -> Nf {
    nf.terms.retain(|t| *t.condition() != Formula::False);
    nf
}

/// An opened copy of the term, restricted to the row.
fn equal_to_row(cx: &Cx<'_>, term: &Term, row: &[V]) -> Term {
    let mut term = subst::open(cx, term);
    let equal = make::and(term.out.iter().zip(row).map(|(a, b)| make::same(a, b)));
    term.restrict(&equal);
    term
}

/// Whether equal numbers of the type can have different digits after the point.
fn shows_scale(ty: &Type) -> bool {
    ty.is_numeric() && !ty.is_whole() && *ty != Type::Double
}

fn number(n: u64) -> V {
    Rc::new(Val::Lit(Value::int(i64::try_from(n).unwrap_or(i64::MAX)), Type::Integer))
}

/// NULLs and numbers take the type of the column they stand in.
fn retype(v: V, ty: &Type) -> V {
    match &*v {
        Val::Null(_) => make::null(ty.domain()),
        _ => v,
    }
}
