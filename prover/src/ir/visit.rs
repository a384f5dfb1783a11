//! Walking over plans and expressions.

use super::{Expr, OrderKey, Plan};

impl Expr {
    /// Calls `f` on each direct part, with the number of scopes (rows) that the part lies further in.
    pub fn for_each_child<'a>(&'a self, f: &mut dyn FnMut(Child<'a>)) {
        match self {
            Self::Column { .. } | Self::Literal(..) => {}
            Self::And(parts) | Self::Or(parts) | Self::Call { args: parts, .. } => {
                parts.iter().for_each(|p| f(Child::Expr(p)));
            }
            Self::Not(a) | Self::IsNull(a) | Self::IsTruth(a, _) | Self::Cast { value: a, .. } => f(Child::Expr(a)),
            Self::Compare(_, a, b) | Self::Same(a, b) | Self::Arithmetic(_, a, b, _) => {
                f(Child::Expr(a));
                f(Child::Expr(b));
            }
            Self::Case { branches, otherwise, .. } => {
                for (condition, value) in branches {
                    f(Child::Expr(condition));
                    f(Child::Expr(value));
                }
                f(Child::Expr(otherwise));
            }
            Self::Exists(plan) | Self::Scalar(plan) => f(Child::Plan(plan)),
            Self::Quantified { row, query, .. } => {
                row.iter().for_each(|p| f(Child::Expr(p)));
                f(Child::Plan(query));
            }
        }
    }
}

/// A direct part of an expression.
#[derive(Clone, Copy, Debug)]
pub enum Child<'a> {
    /// In the same scope.
    Expr(&'a Expr),
    /// A subquery, whose nodes' rows are one scope further in.
    Plan(&'a Plan),
}

impl Expr {
    /// The number of its parts, those of subqueries among them.
    pub fn size(&self) -> usize {
        let mut size = 1;
        self.for_each_child(&mut |child| {
            size += match child {
                Child::Expr(part) => part.size(),
                Child::Plan(plan) => plan.size(),
            };
        });
        size
    }
}

impl Plan {
    /// The number of its nodes and of the parts of their expressions.
    pub fn size(&self) -> usize {
        let all = |exprs: &[Expr]| exprs.iter().map(Expr::size).sum::<usize>();
        let keys = |keys: &[OrderKey]| keys.iter().map(|key| key.expr.size()).sum::<usize>();
        1 + match self {
            Self::Scan { .. } => 0,
            Self::Values { rows, .. } => rows.iter().map(|row| all(row)).sum(),
            Self::Filter { input, condition } => input.size() + condition.size(),
            Self::Project { input, exprs } => input.size() + all(exprs),
            Self::Join { left, right, on, .. } => left.size() + right.size() + on.size(),
            Self::SetOp { left, right, .. } => left.size() + right.size(),
            Self::Distinct(input) => input.size(),
            Self::Aggregate { input, keys, aggregates } => {
                let aggregates = aggregates.iter().map(|a| all(&a.args) + a.filter.as_ref().map_or(0, Expr::size));
                input.size() + all(keys) + aggregates.sum::<usize>()
            }
            Self::Limit { input, order, .. } => input.size() + keys(order),
            Self::Window { input, functions } => {
                let functions = functions.iter().map(|f| all(&f.args) + all(&f.partition) + keys(&f.order));
                input.size() + functions.sum::<usize>()
            }
        }
    }

    /// Rewrites every column reference in the plan. `f` gets the reference's depth, index and the number of scopes
    /// between it and the outside of this plan: a reference with `depth >= scopes` leaves the plan.
    pub fn map_columns(&mut self, f: &mut dyn FnMut(&mut Expr, usize)) {
        self.map_columns_at(0, f);
    }

    /// Moves every reference that leaves this plan `by` scopes further out.
    pub fn shift_outer(&mut self, by: usize) {
        if by > 0 {
            self.map_columns(&mut |column, scopes| {
                if let Expr::Column { depth, .. } = column
                    && *depth >= scopes
                {
                    *depth += by;
                }
            });
        }
    }

    fn map_columns_at(&mut self, outer: usize, f: &mut dyn FnMut(&mut Expr, usize)) {
        let here = outer + 1;
        match self {
            Self::Scan { .. } => {}
            Self::Values { rows, .. } => {
                rows.iter_mut().flatten().for_each(|e| e.map_columns_at(here, f));
            }
            Self::Filter { input, condition } => {
                input.map_columns_at(outer, f);
                condition.map_columns_at(here, f);
            }
            Self::Project { input, exprs } => {
                input.map_columns_at(outer, f);
                exprs.iter_mut().for_each(|e| e.map_columns_at(here, f));
            }
            Self::Join { left, right, on, lateral, .. } => {
                left.map_columns_at(outer, f);
                right.map_columns_at(if *lateral { here } else { outer }, f);
                on.map_columns_at(here, f);
            }
            Self::SetOp { left, right, .. } => {
                left.map_columns_at(outer, f);
                right.map_columns_at(outer, f);
            }
            Self::Distinct(input) => input.map_columns_at(outer, f),
            Self::Aggregate { input, keys, aggregates } => {
                input.map_columns_at(outer, f);
                keys.iter_mut().for_each(|e| e.map_columns_at(here, f));
                for aggregate in aggregates {
                    aggregate.args.iter_mut().for_each(|e| e.map_columns_at(here, f));
                    aggregate.filter.iter_mut().for_each(|e| e.map_columns_at(here, f));
                }
            }
            Self::Limit { input, order, .. } => {
                input.map_columns_at(outer, f);
                map_order(order, here, f);
            }
            Self::Window { input, functions } => {
                input.map_columns_at(outer, f);
                for function in functions {
                    function.args.iter_mut().for_each(|e| e.map_columns_at(here, f));
                    function.partition.iter_mut().for_each(|e| e.map_columns_at(here, f));
                    map_order(&mut function.order, here, f);
                }
            }
        }
    }
}

fn map_order(order: &mut [OrderKey], scopes: usize, f: &mut dyn FnMut(&mut Expr, usize)) {
    order.iter_mut().for_each(|key| key.expr.map_columns_at(scopes, f));
}

impl Expr {
    /// Rewrites every column reference; see [`Plan::map_columns`]. For an expression on its own, references of depth 0
    /// have `scopes` 0, so they count as leaving it.
    pub fn map_columns(&mut self, f: &mut dyn FnMut(&mut Expr, usize)) {
        self.map_columns_at(0, f);
    }

    fn map_columns_at(&mut self, scopes: usize, f: &mut dyn FnMut(&mut Expr, usize)) {
        match self {
            Self::Column { .. } => f(self, scopes),
            Self::Literal(..) => {}
            Self::And(parts) | Self::Or(parts) | Self::Call { args: parts, .. } => {
                parts.iter_mut().for_each(|p| p.map_columns_at(scopes, f));
            }
            Self::Not(a) | Self::IsNull(a) | Self::IsTruth(a, _) | Self::Cast { value: a, .. } => {
                a.map_columns_at(scopes, f);
            }
            Self::Compare(_, a, b) | Self::Same(a, b) | Self::Arithmetic(_, a, b, _) => {
                a.map_columns_at(scopes, f);
                b.map_columns_at(scopes, f);
            }
            Self::Case { branches, otherwise, .. } => {
                for (condition, value) in branches {
                    condition.map_columns_at(scopes, f);
                    value.map_columns_at(scopes, f);
                }
                otherwise.map_columns_at(scopes, f);
            }
            Self::Exists(plan) | Self::Scalar(plan) => plan.map_columns_at(scopes, f),
            Self::Quantified { row, query, .. } => {
                row.iter_mut().for_each(|p| p.map_columns_at(scopes, f));
                query.map_columns_at(scopes, f);
            }
        }
    }
}
