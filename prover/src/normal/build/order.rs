//! What depends on an order of rows, LIMIT and window functions: counts of and sums over the rows before a row.

use crate::ir::frame::{Bound, Frame};

use super::{
    Aggregate, AggregateFunction, Assumption, Builder, Cmp, Expr, F, Formula, Mode, Nf, Op, OrderKey, Plan, Reason,
    Scopes, Term, Type, V, WindowFunction, aggregate, determines, determines_row, make, number, simplify, subst,
};

impl Builder<'_> {
    pub(super) fn limit(
        &mut self,
        input: &Plan,
        order: &[OrderKey],
        limit: Option<u64>,
        offset: u64,
        scopes: &mut Scopes,
    ) -> Result<Nf, Reason> {
        if limit == Some(0) {
            return Ok(Nf::default());
        }
        let nf = self.plan(input, scopes)?;
        let mut nf = simplify::simplify_all(self.cx, nf, Mode::Bag);
        if limit.is_none() && offset == 0 {
            return Ok(nf);
        }
        // At most one row: LIMIT keeps it, OFFSET drops it.
        if nf.terms.is_empty()
            || (nf.terms.len() == 1 && nf.terms[0].vars.is_empty() && make::is_int(&nf.terms[0].weight, 1))
        {
            return Ok(if offset == 0 { nf } else { Nf::default() });
        }
        let keys = self.order_keys(&nf, order, scopes)?;
        let end = limit.map(|limit| offset.saturating_add(limit));
        if self.is_total(&nf, &keys) {
            let before: Vec<Nf> = keys.iter().map(|key| self.earlier(&nf, &keys, key, order, false)).collect();
            for (term, before) in nf.terms.iter_mut().zip(before) {
                if offset > 0 {
                    term.restrict(&make::not(self.fewer(&before, offset)));
                }
                if let Some(end) = end {
                    term.restrict(&self.fewer(&before, end));
                }
            }
            return Ok(nf);
        }
        if !self.ties_are_equal(&nf, &keys) {
            return Err(Reason::NotDeterministic("the order does not decide between rows".to_owned()));
        }
        // Equal rows stand next to each other, so of each distinct row as many are kept as fall within the bounds.
        let mut rows = self.distinct(nf.clone());
        let row_keys = self.order_keys(&rows, order, scopes)?;
        for (term, key) in rows.terms.iter_mut().zip(&row_keys) {
            let before = self.earlier(&nf, &keys, key, order, false);
            let with_ties = self.earlier(&nf, &keys, key, order, true);
            if offset > 0 {
                term.restrict(&make::not(self.fewer(&with_ties, offset.saturating_add(1))));
            }
            if let Some(end) = end {
                term.restrict(&self.fewer(&before, end));
            }
            if limit == Some(1) {
                continue;
            }
            let (mut from, mut to) = (self.count(before.terms.into_iter()), self.count(with_ties.terms.into_iter()));
            if offset > 0 {
                from = make::case(&make::cmp(Cmp::Le, &from, &number(offset)), number(offset), from);
            }
            if let Some(end) = end {
                to = make::case(&make::cmp(Cmp::Le, &to, &number(end)), to, number(end));
            }
            term.weight = make::arith(Op::Sub, &to, &from, &Type::Integer);
        }
        Ok(rows)
    }

    /// Whether rows of a closed plan that tie in the order are equal, so that a cut anywhere leaves nothing open.
    pub(crate) fn order_decides(&mut self, input: &Plan, order: &[OrderKey]) -> Result<bool, Reason> {
        let nf = self.query(input)?;
        let keys = self.order_keys(&nf, order, &mut Vec::new())?;
        Ok(self.is_total(&nf, &keys) || self.ties_are_equal(&nf, &keys))
    }

    /// For each term the values that its row is ordered by.
    fn order_keys(&mut self, nf: &Nf, order: &[OrderKey], scopes: &mut Scopes) -> Result<Vec<Vec<V>>, Reason> {
        let keys = |term: &Term| {
            self.in_row(scopes, term.out.clone(), |b, s| order.iter().map(|k| b.expr(&k.expr, s)).collect())
        };
        nf.terms.iter().map(keys).collect()
    }

    /// Whether no two rows have the same keys.
    fn is_total(&self, nf: &Nf, keys: &[Vec<V>]) -> bool {
        let keyed: Vec<Term> =
            nf.terms.iter().zip(keys).map(|(term, keys)| Term { out: keys.clone(), ..term.clone() }).collect();
        let alone = |term: &Term| make::is_int(&term.weight, 1) && determines(self.cx, term, &term.out);
        keyed.iter().all(alone)
            && keyed.iter().enumerate().all(|(i, a)| keyed[..i].iter().all(|b| self.are_apart(a, b)))
    }

    /// Whether no row of one term is one of the other, as far as rewriting shows it.
    fn are_apart(&self, a: &Term, b: &Term) -> bool {
        let (mut both, b) = (subst::open(self.cx, a), subst::open(self.cx, b));
        let equal = make::and(both.out.drain(..).zip(&b.out).map(|(x, y)| make::same(&x, y)));
        both.vars.extend(b.vars);
        both.phi.extend(b.phi);
        both.restrict(&equal);
        *simplify::exists(self.cx, both) == Formula::False
    }

    /// Whether rows that have the same keys are equal, as far as that can be seen.
    fn ties_are_equal(&self, nf: &Nf, keys: &[Vec<V>]) -> bool {
        let (Some(first), Some(first_keys)) = (nf.terms.first(), keys.first()) else { return true };
        if nf.terms.len() == 1 {
            return determines_row(self.cx, first, first_keys);
        }
        (0..first.out.len()).all(|column| {
            let constant = first.out[column].is_lit() && nf.terms.iter().all(|t| t.out[column] == first.out[column]);
            let ordered = |key| nf.terms.iter().zip(keys).all(|(term, keys)| keys[key] == term.out[column]);
            constant || (0..first_keys.len()).any(ordered)
        })
    }

    /// The rows of the sum that come before one with the order keys `here`, or tie with it where `ties` count.
    fn earlier(&mut self, nf: &Nf, keys: &[Vec<V>], here: &[V], order: &[OrderKey], ties: bool) -> Nf {
        let mut earlier = Nf::default();
        for (term, keys) in nf.terms.iter().zip(keys) {
            let mut other = subst::open(self.cx, &Term { out: keys.clone(), ..term.clone() });
            let counts = if ties {
                make::not(self.precedes(here, &other.out, order))
            } else {
                self.precedes(&other.out, here, order)
            };
            other.restrict(&counts);
            earlier.terms.push(other);
        }
        earlier
    }

    /// Whether a sum has fewer rows than `bound`.
    fn fewer(&self, nf: &Nf, bound: u64) -> F {
        if bound == 1 {
            return make::not(simplify::exists_any(self.cx, nf));
        }
        make::cmp(Cmp::Lt, &self.count(nf.terms.iter().cloned()), &number(bound))
    }

    /// How many rows the terms have.
    pub(super) fn count(&self, terms: impl Iterator<Item = Term>) -> V {
        terms.fold(make::int(0), |sum, mut term| {
            term.out = vec![make::int(1)];
            make::arith(Op::Add, &sum, &aggregate::total(self.cx, term, &Type::Integer), &Type::Integer)
        })
    }

    /// Whether a row with order keys `a` comes before one with `b`.
    fn precedes(&mut self, a: &[V], b: &[V], order: &[OrderKey]) -> F {
        let mut equal = Vec::new();
        let mut options = Vec::new();
        for ((a, b), key) in a.iter().zip(b).zip(order) {
            let less = if key.descending { make::cmp(Cmp::Lt, b, a) } else { make::cmp(Cmp::Lt, a, b) };
            // Which end NULLs take is the engine's unless written; it takes the same in both queries.
            let nulls_first = if let Some(first) = key.nulls_first {
                if first { make::yes() } else { make::no() }
            } else {
                let name = if key.descending { "nulls_first_descending" } else { "nulls_first_ascending" };
                make::truth(&subst::make_call(name, Vec::new(), &Type::Boolean, false)).0
            };
            let (a_null, b_null) = (make::is_null(a), make::is_null(b));
            if *a_null != Formula::False || *b_null != Formula::False {
                self.assumptions.insert(Assumption::NullsSortAtOneEnd);
            }
            let one_is_null = make::or([
                make::and([a_null.clone(), make::not(b_null.clone()), nulls_first.clone()]),
                make::and([make::not(a_null), b_null, make::not(nulls_first)]),
            ]);
            let here = make::or([less, one_is_null]);
            options.push(make::and(equal.iter().cloned().chain([here])));
            equal.push(make::same(a, b));
        }
        make::or(options)
    }

    pub(super) fn window(
        &mut self,
        input: &Plan,
        functions: &[WindowFunction],
        scopes: &mut Scopes,
    ) -> Result<Nf, Reason> {
        let nf = self.plan(input, scopes)?;
        let nf = simplify::simplify_all(self.cx, nf, Mode::Bag);
        let mut result = nf.clone();
        for function in functions {
            for (i, term) in nf.terms.iter().enumerate() {
                let value = self.window_value(function, &nf, term, scopes)?;
                result.terms[i].out.push(value);
            }
        }
        Ok(result)
    }

    /// How many rows of a partition come before one.
    fn position(
        &mut self,
        f: &WindowFunction,
        nf: &Nf,
        (partition, order): (&[V], &[V]),
        scopes: &mut Scopes,
    ) -> Result<V, Reason> {
        let mut before = Nf::default();
        for other in &nf.terms {
            let mut other = subst::open(self.cx, other);
            let (its_partition, its_order) = self.in_row(scopes, other.out.clone(), |b, s| {
                let order = f.order.iter().map(|k| b.expr(&k.expr, s)).collect::<Result<Vec<_>, _>>()?;
                Ok((b.exprs(&f.partition, s)?, order))
            })?;
            for (a, b) in its_partition.iter().zip(partition) {
                other.restrict(&make::same(a, b));
            }
            let earlier = self.precedes(&its_order, order, &f.order);
            other.restrict(&earlier);
            before.terms.push(other);
        }
        Ok(self.count(before.terms.into_iter()))
    }

    /// A window function as an aggregate over the rows of its frame.
    fn window_value(&mut self, f: &WindowFunction, nf: &Nf, term: &Term, scopes: &mut Scopes) -> Result<V, Reason> {
        let unsupported = |what: &str| Reason::Unsupported(format!("window {what}"));
        let frame = match f.frame.as_deref() {
            None => Frame { rows: false, start: Bound::Unbounded, end: Bound::Current },
            Some(text) => Frame::parse(text).ok_or_else(|| unsupported(&format!("frame {text}")))?,
        };
        let whole = frame.start == Bound::Unbounded && frame.end == Bound::Unbounded;
        let default_frame = frame.start == Bound::Unbounded && frame.end == Bound::Current;
        if !frame.rows && !whole && !default_frame {
            return Err(unsupported(&format!("frame {}", f.frame.as_deref().unwrap_or_default())));
        }
        let here = self.in_row(scopes, term.out.clone(), |b, s| {
            let order = f.order.iter().map(|k| b.expr(&k.expr, s)).collect::<Result<Vec<_>, _>>()?;
            Ok((b.exprs(&f.partition, s)?, order))
        })?;
        let mut group = Nf::default();
        let ranking = matches!(&f.name[..], "row_number" | "rank");
        let known = [here.0.clone(), here.1.clone()].concat();
        let is_total = nf.terms.len() == 1 && make::is_int(&term.weight, 1) && determines(self.cx, term, &known);
        let by_rows = frame.rows && !whole && !ranking;
        if by_rows && !is_total {
            return Err(Reason::NotDeterministic("a frame of ROWS over rows that tie".to_owned()));
        }
        for other in &nf.terms {
            let mut other = subst::open(self.cx, other);
            let (partition, order, args) = self.in_row(scopes, other.out.clone(), |b, s| {
                let order = f.order.iter().map(|k| b.expr(&k.expr, s)).collect::<Result<Vec<_>, _>>()?;
                Ok((b.exprs(&f.partition, s)?, order, b.exprs(&f.args, s)?))
            })?;
            for (a, b) in partition.iter().zip(&here.0) {
                other.restrict(&make::same(a, b));
            }
            if ranking {
                let earlier = self.precedes(&order, &here.1, &f.order);
                other.restrict(&earlier);
            } else if default_frame && !f.order.is_empty() {
                // With ROWS too: no other row ties with the present one.
                let later = self.precedes(&here.1, &order, &f.order);
                other.restrict(&make::not(later));
            } else if by_rows {
                let there = self.position(f, nf, (&partition, &order), scopes)?;
                let at = self.position(f, nf, (&here.0, &here.1), scopes)?;
                let plus = |v: &V, n: i64| make::arith(Op::Add, v, &make::int(n), &Type::Integer);
                let from = match frame.start {
                    Bound::Unbounded => make::yes(),
                    Bound::Current => make::not(self.precedes(&order, &here.1, &f.order)),
                    Bound::Preceding(n) => make::cmp(Cmp::Le, &at, &plus(&there, n)),
                    Bound::Following(1) => self.precedes(&here.1, &order, &f.order),
                    Bound::Following(n) => make::cmp(Cmp::Le, &plus(&at, n), &there),
                };
                let to = match frame.end {
                    Bound::Unbounded => make::yes(),
                    Bound::Current => make::not(self.precedes(&here.1, &order, &f.order)),
                    Bound::Preceding(1) => self.precedes(&order, &here.1, &f.order),
                    Bound::Preceding(n) => make::cmp(Cmp::Le, &plus(&there, n), &at),
                    Bound::Following(n) => make::cmp(Cmp::Le, &there, &plus(&at, n)),
                };
                other.restrict(&make::and([from, to]));
            }
            other.out = args;
            group.terms.push(other);
        }
        if ranking {
            if f.name == "row_number" && !is_total {
                return Err(Reason::NotDeterministic("ROW_NUMBER over rows that tie".to_owned()));
            }
            let before = self.count(group.terms.into_iter());
            return Ok(make::arith(Op::Add, &make::int(1), &before, &Type::Integer));
        }
        let function = match (&f.name[..], f.args.len()) {
            ("count", 0) => AggregateFunction::CountStar,
            ("count", 1) => AggregateFunction::Count,
            ("sum", 1) => AggregateFunction::Sum,
            ("min", 1) => AggregateFunction::Min,
            ("max", 1) => AggregateFunction::Max,
            ("avg", 1) => AggregateFunction::Avg,
            (name, _) => return Err(unsupported(name)),
        };
        let width = f.args.len();
        let args = f.args.iter().enumerate().map(|(i, a)| Expr::column(i, a.ty())).take(width).collect();
        let aggregate = Aggregate { function, distinct: false, args, filter: None, ty: f.ty.clone() };
        self.one_aggregate(&aggregate, &group, &[], &[], scopes)
    }
}
