//! What a plan takes for granted about the engine, seen from the plan itself.

use std::collections::BTreeSet;

use crate::ir::{AggregateFunction, ArithmeticOp, Assumption, Expr, OrderKey, Plan, SetOp, Type};

use super::functions::is_known;

type Set = BTreeSet<Assumption>;

/// Values of this type are compared, grouped or sorted.
fn equality(ty: &Type, set: &mut Set) {
    match ty {
        Type::Boolean | Type::Integer | Type::Decimal | Type::Date | Type::Time | Type::Timestamp => {}
        Type::Text => {
            set.insert(Assumption::TextEqualityIsIdentity);
        }
        Type::Double => {
            set.insert(Assumption::DoubleEqualityIsIdentity);
        }
        Type::Other(_) | Type::Unknown => {
            set.extend([Assumption::TextEqualityIsIdentity, Assumption::DoubleEqualityIsIdentity]);
        }
    }
}

fn equalities(types: &[Type], set: &mut Set) {
    types.iter().for_each(|ty| equality(ty, set));
}

/// What an expression takes for granted.
pub(super) fn expr(expr: &Expr, set: &mut Set) {
    match expr {
        Expr::Compare(_, a, b) | Expr::Same(a, b) => {
            equality(&a.ty(), set);
            equality(&b.ty(), set);
        }
        Expr::Arithmetic(op, ..) => {
            set.insert(Assumption::ExactArithmetic);
            if matches!(op, ArithmeticOp::Div | ArithmeticOp::Rem) {
                set.insert(Assumption::NoRuntimeError);
            }
        }
        Expr::Cast { .. } => {
            set.insert(Assumption::NoRuntimeError);
        }
        Expr::Call { name, args, ty } => {
            match name.as_str() {
                "like" | "ilike" | "similar_to" => {
                    set.insert(Assumption::TextEqualityIsIdentity);
                }
                "lower" | "upper" | "concat_op" | "interval" => {}
                "greatest" | "least" => equality(ty, set),
                _ => {
                    set.insert(Assumption::NoRuntimeError);
                }
            }
            if !is_known(name, ty) {
                set.insert(Assumption::FunctionsAreDeterministic);
            }
            // What a function makes of a text may depend on when two texts are the same.
            if args.iter().any(|a| a.ty() == Type::Text) && !matches!(name.as_str(), "concat_op" | "interval") {
                set.insert(Assumption::TextEqualityIsIdentity);
            }
        }
        Expr::Scalar(query) if !is_one_row(query) => {
            set.insert(Assumption::ScalarSubqueryAtMostOneRow);
        }
        Expr::Quantified { row, query, .. } => {
            row.iter().for_each(|value| equality(&value.ty(), set));
            equalities(&query.types(), set);
        }
        _ => {}
    }
    expr.for_each_child(&mut |child| match child {
        crate::ir::Child::Expr(part) => self::expr(part, set),
        crate::ir::Child::Plan(query) => plan(query, set),
    });
}

/// Whether the plan is an aggregate without keys, at most projected.
fn is_one_row(plan: &Plan) -> bool {
    match plan {
        Plan::Project { input, .. } => is_one_row(input),
        Plan::Aggregate { keys, .. } => keys.is_empty(),
        _ => false,
    }
}

fn order(keys: &[OrderKey], set: &mut Set) {
    for key in keys {
        expr(&key.expr, set);
        equality(&key.expr.ty(), set);
        if key.nulls_first.is_none() {
            set.insert(Assumption::NullsSortAtOneEnd);
        }
    }
}

/// What a plan takes for granted.
pub(super) fn plan(plan: &Plan, set: &mut Set) {
    match plan {
        Plan::Scan { .. } => {}
        Plan::Values { rows, .. } => rows.iter().flatten().for_each(|e| expr(e, set)),
        Plan::Filter { input, condition } => {
            self::plan(input, set);
            expr(condition, set);
        }
        Plan::Project { input, exprs } => {
            self::plan(input, set);
            exprs.iter().for_each(|e| expr(e, set));
        }
        Plan::Join { left, right, on, .. } => {
            self::plan(left, set);
            self::plan(right, set);
            expr(on, set);
        }
        Plan::SetOp { op, all, left, right, types } => {
            self::plan(left, set);
            self::plan(right, set);
            if (*op, *all) != (SetOp::Union, true) {
                equalities(types, set);
            }
        }
        Plan::Distinct(input) => {
            self::plan(input, set);
            equalities(&input.types(), set);
        }
        Plan::Aggregate { input, keys, aggregates } => {
            self::plan(input, set);
            for key in keys {
                expr(key, set);
                equality(&key.ty(), set);
            }
            for aggregate in aggregates {
                aggregate.args.iter().chain(&aggregate.filter).for_each(|e| expr(e, set));
                function(&aggregate.function, set);
                if aggregate.distinct || matches!(aggregate.function, AggregateFunction::Min | AggregateFunction::Max) {
                    aggregate.args.iter().for_each(|arg| equality(&arg.ty(), set));
                }
            }
        }
        Plan::Limit { input, order: keys, .. } => {
            self::plan(input, set);
            order(keys, set);
        }
        Plan::Window { input, functions } => {
            self::plan(input, set);
            for function in functions {
                for part in function.args.iter().chain(&function.partition) {
                    expr(part, set);
                    equality(&part.ty(), set);
                }
                order(&function.order, set);
                set.insert(Assumption::ExactArithmetic);
            }
        }
    }
}

fn function(function: &AggregateFunction, set: &mut Set) {
    match function {
        AggregateFunction::CountStar | AggregateFunction::Count | AggregateFunction::Min | AggregateFunction::Max => {}
        AggregateFunction::Sum | AggregateFunction::Avg => {
            set.insert(Assumption::ExactArithmetic);
        }
        AggregateFunction::Other(name) => {
            set.extend([Assumption::ExactArithmetic, Assumption::NoRuntimeError]);
            if name == "single_value" {
                set.insert(Assumption::ScalarSubqueryAtMostOneRow);
            }
        }
    }
}
