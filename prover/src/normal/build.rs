//! Plans and expressions as sums of terms: normalisation by evaluation under an environment of symbolic rows.

mod order;

use std::collections::BTreeSet;
use std::rc::Rc;

use super::determine::determines;
use super::simplify::{self, Mode};
use super::term::{Cmp, F, Formula, Nf, Op, Rel, Term, V, Val};
use super::{Cx, aggregate, distinct, make, subst};
use crate::Reason;
use crate::ir::schema::decimal_size;
use crate::ir::{
    Aggregate, AggregateFunction, ArithmeticOp, Assumption, CompareOp, Expr, JoinKind, OrderKey, Plan, SetOp, Type,
    Value, WindowFunction,
};

/// Terms a normal form may have: outer joins double them.
const TERMS_MAX: usize = 256;

/// Functions that are NULL if an argument is.
const STRICT: &[&str] = &[
    "abs",
    "ceil",
    "ceiling",
    "char_length",
    "character_length",
    "concat_op",
    "floor",
    "ilike",
    "length",
    "like",
    "lower",
    "ltrim",
    "mod",
    "octet_length",
    "power",
    "replace",
    "reverse",
    "round",
    "rtrim",
    "sign",
    "sqrt",
    "substr",
    "substring",
    "trim",
    "upper",
];

/// Functions from numbers to a number in which nothing but the values of the numbers counts.
const NUMERIC: &[&str] =
    &["abs", "ceil", "ceiling", "floor", "greatest", "least", "mod", "round", "sign", "trunc", "truncate"];

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
                alone.out.extend(right_types.iter().map(|ty| make::null(ty.clone())));
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
                alone.out = left_types.iter().map(|ty| make::null(ty.clone())).chain(r.out.iter().cloned()).collect();
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
            let count = |nf: &Nf| {
                nf.terms.iter().fold(make::int(0), |sum, t| {
                    let mut t = equal_to_row(self.cx, t, &row);
                    t.out = vec![make::int(1)];
                    make::arith(Op::Add, &sum, &aggregate::total(self.cx, t, &Type::Integer), &Type::Integer)
                })
            };
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
        let ty = &aggregate.ty;
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
        let exact = matches!(ty, Type::Integer | Type::Decimal);
        Ok(match &aggregate.function {
            AggregateFunction::CountStar | AggregateFunction::Count => sum(&group, Some(make::int(1))),
            AggregateFunction::Sum if exact => {
                let some = simplify::exists_any(self.cx, &group);
                make::case(&some, sum(&group, None), make::null(ty.clone()))
            }
            AggregateFunction::Min => aggregate::extreme(self.cx, false, group, ty),
            AggregateFunction::Max => aggregate::extreme(self.cx, true, group, ty),
            AggregateFunction::Avg if aggregate.args[0].ty() == Type::Decimal => {
                let count = sum(&group, Some(make::int(1)));
                let some = simplify::exists_any(self.cx, &group);
                self.assumptions.insert(Assumption::AvgIsExactQuotient);
                let quotient = divide(sum(&group, None), count, ty);
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
            AggregateFunction::Sum => aggregate::of_bag(self.cx, "sum", group, ty),
            AggregateFunction::Avg => aggregate::of_bag(self.cx, "avg", group, ty),
            AggregateFunction::Other(name) if aggregate::is_of_set(name) => aggregate::of_bag(self.cx, name, group, ty),
            AggregateFunction::Other(name) if aggregate.args.iter().any(|a| a.ty() == Type::Decimal) => {
                return Err(Reason::Unsupported(format!("{name} of a decimal, whose digits depend on its scale")));
            }
            // Computed with other digits for numbers of another type.
            AggregateFunction::Other(name) => {
                let types: Vec<String> = aggregate.args.iter().map(|a| a.ty().to_string()).collect();
                aggregate::of_bag(self.cx, &format!("{name} of {}", types.join(", ")), group, ty)
            }
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

    fn expr(&mut self, expr: &Expr, scopes: &mut Scopes) -> Result<V, Reason> {
        Ok(match expr {
            Expr::Column { depth, index, .. } => scopes[scopes.len() - 1 - depth][*index].clone(),
            Expr::Literal(Value::Null, ty) => make::null(ty.clone()),
            Expr::Literal(value, ty) => Rc::new(Val::Lit(value.clone(), ty.clone())),
            Expr::Arithmetic(op, a, b, ty) => {
                let (a, b) = (self.expr(a, scopes)?, self.expr(b, scopes)?);
                let exact = matches!(ty, Type::Integer | Type::Decimal);
                match op {
                    ArithmeticOp::Add if exact => make::arith(Op::Add, &a, &b, ty),
                    ArithmeticOp::Sub if exact => make::arith(Op::Sub, &a, &b, ty),
                    ArithmeticOp::Mul if exact => make::arith(Op::Mul, &a, &b, ty),
                    ArithmeticOp::Div => divide(a, b, ty),
                    _ => subst::make_call(&format!("{op:?}").to_lowercase(), vec![a, b], ty, true),
                }
            }
            Expr::Case { branches, otherwise, ty } => {
                let mut value = retype(self.expr(otherwise, scopes)?, ty);
                for (condition, result) in branches.iter().rev() {
                    let (holds, _) = self.condition(condition, scopes)?;
                    value = make::case(&holds, retype(self.expr(result, scopes)?, ty), value);
                }
                value
            }
            Expr::Cast { value, to, target } => {
                let written = value.ty();
                if (written == Type::Decimal || written == Type::opaque()) && !to.is_numeric() {
                    return Err(Reason::Unsupported(format!("cast of a decimal to {target}, which shows its scale")));
                }
                let value = self.expr(value, scopes)?;
                self.cast(value, &written, to, target)
            }
            Expr::Call { name, args, ty } => {
                let symbol = call_symbol(name, args)?;
                let args = self.exprs(args, scopes)?;
                subst::make_call(&symbol, args, ty, STRICT.contains(&&name[..]))
            }
            Expr::Scalar(plan) => {
                let nf = self.plan(plan, scopes)?;
                let ty = expr.ty();
                if nf.terms.len() == 1 && nf.terms[0].vars.is_empty() && make::is_int(&nf.terms[0].weight, 1) {
                    let term = &nf.terms[0];
                    return Ok(make::case(&term.condition(), term.out[0].clone(), make::null(ty)));
                }
                self.assumptions.insert(Assumption::ScalarSubqueryAtMostOneRow);
                aggregate::scalar(self.cx, nf, &ty)
            }
            Expr::And(_)
            | Expr::Or(_)
            | Expr::Not(_)
            | Expr::Compare(..)
            | Expr::Same(..)
            | Expr::IsNull(_)
            | Expr::IsTruth(..)
            | Expr::Exists(_)
            | Expr::Quantified { .. } => {
                let (t, f) = self.condition(expr, scopes)?;
                make::boolean(t, f)
            }
        })
    }

    /// Conversions that keep the value (numbers to wider exact types, text to text) vanish; others have no meaning.
    /// `written` is the type of the operand as the query has it; that of the value may be another one of equal values.
    fn cast(&mut self, value: V, written: &Type, to: &Type, target: &str) -> V {
        if matches!(*value, Val::Null(_)) {
            return make::null(to.clone());
        }
        let from = value.ty();
        let keeps = match (written, to) {
            _ if from.unify(written).as_ref() != Some(written) => false,
            (Type::Integer, Type::Integer | Type::Decimal) => {
                self.assumptions.insert(Assumption::ExactArithmetic);
                true
            }
            (Type::Text, Type::Text) => {
                self.assumptions.insert(Assumption::NoPaddingOrTruncation);
                true
            }
            // A decimal of no more digits on either side of the point.
            (Type::Decimal, Type::Decimal)
                if self.cx.decimal(&value).zip(decimal_size(target)).is_some_and(
                    |((digits, places), (to, to_places))| {
                        places <= to_places && digits.saturating_sub(places) <= to.saturating_sub(to_places)
                    },
                ) =>
            {
                self.assumptions.insert(Assumption::NoPaddingOrTruncation);
                true
            }
            // A decimal or a time without a written precision gets the engine's own, and is rounded to it.
            // A date that a function yields is a point in time in some engines.
            (Type::Date, Type::Date) => self.cx.is_stored(&value) || value.is_lit(),
            (a, b) => a == b && *a == Type::Boolean,
        };
        if keeps { value } else { subst::make_call(&format!("cast of {written} to {target}"), vec![value], to, true) }
    }

    /// When a condition is TRUE, and when it is FALSE.
    fn condition(&mut self, expr: &Expr, scopes: &mut Scopes) -> Result<(F, F), Reason> {
        Ok(match expr {
            Expr::And(parts) => {
                let parts = parts.iter().map(|p| self.condition(p, scopes)).collect::<Result<Vec<_>, _>>()?;
                let (t, f): (Vec<F>, Vec<F>) = parts.into_iter().unzip();
                (make::and(t), make::or(f))
            }
            Expr::Or(parts) => {
                let parts = parts.iter().map(|p| self.condition(p, scopes)).collect::<Result<Vec<_>, _>>()?;
                let (t, f): (Vec<F>, Vec<F>) = parts.into_iter().unzip();
                (make::or(t), make::and(f))
            }
            Expr::Not(inner) => {
                let (t, f) = self.condition(inner, scopes)?;
                (f, t)
            }
            Expr::Compare(op, a, b) => {
                let (a, b) = (self.expr(a, scopes)?, self.expr(b, scopes)?);
                (compare(*op, &a, &b), compare(op.negated(), &a, &b))
            }
            Expr::Same(a, b) => {
                let same = make::same(&self.expr(a, scopes)?, &self.expr(b, scopes)?);
                (same.clone(), make::not(same))
            }
            Expr::IsNull(a) => {
                let null = make::is_null(&self.expr(a, scopes)?);
                (null.clone(), make::not(null))
            }
            Expr::IsTruth(a, wanted) => {
                let (t, f) = self.condition(a, scopes)?;
                let holds = if *wanted { t } else { f };
                (holds.clone(), make::not(holds))
            }
            Expr::Exists(plan) => {
                let some = simplify::exists_any(self.cx, &self.plan(plan, scopes)?);
                (some.clone(), make::not(some))
            }
            Expr::Quantified { row, op, all, query } => {
                let row = self.exprs(row, scopes)?;
                let nf = self.plan(query, scopes)?;
                let (mut holds, mut fails) = (Vec::new(), Vec::new());
                for term in &nf.terms {
                    let term = subst::open(self.cx, term);
                    let pairs = || row.iter().zip(&term.out);
                    // Rows compare by `=` and `<>` only: all parts equal, or some part different.
                    let (t, f) = match (row.len(), op) {
                        (1, op) => (compare(*op, &row[0], &term.out[0]), compare(op.negated(), &row[0], &term.out[0])),
                        (_, CompareOp::Eq | CompareOp::Ne) => {
                            let equal = make::and(pairs().map(|(a, b)| compare(CompareOp::Eq, a, b)));
                            let unequal = make::or(pairs().map(|(a, b)| compare(CompareOp::Ne, a, b)));
                            if *op == CompareOp::Eq { (equal, unequal) } else { (unequal, equal) }
                        }
                        _ => return Err(Reason::Unsupported("row comparison under ANY or ALL".to_owned())),
                    };
                    let with = |f: &F| {
                        let mut term = term.clone();
                        term.restrict(f);
                        simplify::exists(self.cx, subst::open(self.cx, &term))
                    };
                    holds.push(with(&if *all { f.clone() } else { t.clone() }));
                    fails.push(with(&make::not(if *all { t } else { f })));
                }
                // ANY is true if some row holds, false if every row is false; ALL is dual.
                let (some, others) = (make::or(holds), make::or(fails));
                if *all { (make::not(others), some) } else { (some, make::not(others)) }
            }
            _ => make::truth(&self.expr(expr, scopes)?),
        })
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

fn compare(op: CompareOp, a: &V, b: &V) -> F {
    match op {
        CompareOp::Eq => make::cmp(Cmp::Eq, a, b),
        CompareOp::Ne => make::cmp(Cmp::Ne, a, b),
        CompareOp::Lt => make::cmp(Cmp::Lt, a, b),
        CompareOp::Le => make::cmp(Cmp::Le, a, b),
        CompareOp::Gt => make::cmp(Cmp::Lt, b, a),
        CompareOp::Ge => make::cmp(Cmp::Le, b, a),
    }
}

fn number(n: u64) -> V {
    Rc::new(Val::Lit(Value::int(i64::try_from(n).unwrap_or(i64::MAX)), Type::Integer))
}

/// The name under which a function is known to the prover. Equal values are the same argument, but 1 and 1.0 are equal
/// and not the same text; so, except where only the number counts, types of numbers are part of the name, and a decimal,
/// whose scale is not known here, has no such name.
fn call_symbol(name: &str, args: &[Expr]) -> Result<String, Reason> {
    let may_be_number = |a: &Expr| a.ty().is_numeric() || a.ty() == Type::Unknown || a.ty() == Type::opaque();
    if NUMERIC.contains(&name) || !args.iter().any(may_be_number) {
        return Ok(name.to_owned());
    }
    if args.iter().any(|a| a.ty() == Type::Decimal || a.ty() == Type::opaque()) {
        return Err(Reason::Unsupported(format!("{name} of a decimal, which may show its scale")));
    }
    // The position of a part of a text is a number and nothing else.
    if args.iter().skip(1).all(|a| a.ty() == Type::Integer) && args[0].ty() == Type::Text {
        return Ok(name.to_owned());
    }
    let types: Vec<String> = args.iter().map(|a| a.ty().to_string().to_lowercase()).collect();
    Ok(format!("{name}({})", types.join(",")))
}

/// Division has no meaning here except by one.
fn divide(a: V, b: V, ty: &Type) -> V {
    if make::is_int(&b, 1) && *ty != Type::Double {
        return a;
    }
    // A quotient of whole numbers without remainder is the same everywhere.
    if let (Val::Lit(x, Type::Integer), Val::Lit(y, Type::Integer)) = (&*a, &*b)
        && let (Some(x), Some(y)) = (x.to_rational(), y.to_rational())
        && *y.numer() != 0.into()
        && (&x / &y).is_integer()
    {
        return Rc::new(Val::Lit(Value::number(x / y), ty.clone()));
    }
    // What an engine makes of division by zero differs, NULL included, so a quotient is not strict only.
    // One of whole numbers is whole in some engines only.
    let ty = if *ty == Type::Integer { &Type::Decimal } else { ty };
    subst::make_call("div", vec![a, b], ty, false)
}

/// NULLs and numbers take the type of the column they stand in.
fn retype(v: V, ty: &Type) -> V {
    match &*v {
        Val::Null(_) => make::null(ty.clone()),
        _ => v,
    }
}
