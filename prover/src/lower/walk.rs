//! Rewriting whole expressions, with errors.

use crate::ir::{Expr, OrderKey, Plan};

/// Rewrites parts of an expression, outermost first. `f` gets a part and the number of scopes between it and the
/// outside, and says whether it dealt with the part; if not, its own parts follow.
pub(super) fn rewrite<E>(
    expr: &mut Expr,
    scopes: usize,
    f: &mut dyn FnMut(&mut Expr, usize) -> Result<bool, E>,
) -> Result<(), E> {
    if f(expr, scopes)? {
        return Ok(());
    }
    match expr {
        Expr::Column { .. } | Expr::Literal(..) => Ok(()),
        Expr::And(parts) | Expr::Or(parts) | Expr::Call { args: parts, .. } => rewrite_all(parts, scopes, f),
        Expr::Not(a) | Expr::IsNull(a) | Expr::IsTruth(a, _) | Expr::Cast { value: a, .. } => rewrite(a, scopes, f),
        Expr::Compare(_, a, b) | Expr::Same(a, b) | Expr::Arithmetic(_, a, b, _) => {
            rewrite(a, scopes, f)?;
            rewrite(b, scopes, f)
        }
        Expr::Case { branches, otherwise, .. } => {
            for (condition, value) in branches {
                rewrite(condition, scopes, f)?;
                rewrite(value, scopes, f)?;
            }
            rewrite(otherwise, scopes, f)
        }
        Expr::Exists(plan) | Expr::Scalar(plan) => rewrite_plan(plan, scopes, f),
        Expr::Quantified { row, query, .. } => {
            rewrite_all(row, scopes, f)?;
            rewrite_plan(query, scopes, f)
        }
    }
}

/// Rewrites each of the expressions.
pub(super) fn rewrite_all<E>(
    exprs: &mut [Expr],
    scopes: usize,
    f: &mut dyn FnMut(&mut Expr, usize) -> Result<bool, E>,
) -> Result<(), E> {
    exprs.iter_mut().try_for_each(|e| rewrite(e, scopes, f))
}

fn rewrite_order<E>(
    order: &mut [OrderKey],
    scopes: usize,
    f: &mut dyn FnMut(&mut Expr, usize) -> Result<bool, E>,
) -> Result<(), E> {
    order.iter_mut().try_for_each(|key| rewrite(&mut key.expr, scopes, f))
}

/// Rewrites the expressions of a plan that is evaluated `outer` scopes in.
fn rewrite_plan<E>(
    plan: &mut Plan,
    outer: usize,
    f: &mut dyn FnMut(&mut Expr, usize) -> Result<bool, E>,
) -> Result<(), E> {
    let here = outer + 1;
    match plan {
        Plan::Scan { .. } => Ok(()),
        Plan::Values { rows, .. } => rows.iter_mut().try_for_each(|row| rewrite_all(row, here, f)),
        Plan::Filter { input, condition } => {
            rewrite_plan(input, outer, f)?;
            rewrite(condition, here, f)
        }
        Plan::Project { input, exprs } => {
            rewrite_plan(input, outer, f)?;
            rewrite_all(exprs, here, f)
        }
        Plan::Join { left, right, on, lateral, .. } => {
            rewrite_plan(left, outer, f)?;
            rewrite_plan(right, if *lateral { here } else { outer }, f)?;
            rewrite(on, here, f)
        }
        Plan::SetOp { left, right, .. } => {
            rewrite_plan(left, outer, f)?;
            rewrite_plan(right, outer, f)
        }
        Plan::Distinct(input) => rewrite_plan(input, outer, f),
        Plan::Aggregate { input, keys, aggregates } => {
            rewrite_plan(input, outer, f)?;
            rewrite_all(keys, here, f)?;
            for aggregate in aggregates {
                rewrite_all(&mut aggregate.args, here, f)?;
                aggregate.filter.iter_mut().try_for_each(|e| rewrite(e, here, f))?;
            }
            Ok(())
        }
        Plan::Limit { input, order, .. } => {
            rewrite_plan(input, outer, f)?;
            rewrite_order(order, here, f)
        }
        Plan::Window { input, functions } => {
            rewrite_plan(input, outer, f)?;
            for function in functions {
                rewrite_all(&mut function.args, here, f)?;
                rewrite_all(&mut function.partition, here, f)?;
                rewrite_order(&mut function.order, here, f)?;
            }
            Ok(())
        }
    }
}
