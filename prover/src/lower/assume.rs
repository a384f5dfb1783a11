//! What a plan takes for granted about the engine, seen from the plan itself.

use std::collections::BTreeSet;

use num_rational::BigRational;
use num_traits::Signed;

use crate::ir::{
    Aggregate, AggregateFunction, ArithmeticOp, Assumption, CompareOp, Expr, OrderKey, Plan, SetOp, Type, Value,
};

use super::functions::is_known;
use crate::ir::results::NUMERIC;

type Set = BTreeSet<Assumption>;

/// Values of this type are compared, grouped or sorted.
fn equality(ty: &Type, set: &mut Set) {
    match ty {
        Type::Number(number) if number.has_float() => _ = set.insert(Assumption::DoubleEqualityIsIdentity),
        Type::Boolean
        | Type::Integer
        | Type::Decimal
        | Type::Number(_)
        | Type::Date
        | Type::Moment
        | Type::Time
        | Type::Timestamp => {}
        Type::Text => {
            set.insert(Assumption::TextEqualityIsIdentity);
        }
        Type::Double => {
            set.insert(Assumption::DoubleEqualityIsIdentity);
        }
        Type::Other(_) | Type::Unknown => {
            set.extend([
                Assumption::TextEqualityIsIdentity,
                Assumption::DoubleEqualityIsIdentity,
                Assumption::OtherEqualityIsIdentity,
            ]);
        }
    }
}

/// Values of this type are put in an order.
fn ordered(ty: &Type, set: &mut Set) {
    if matches!(ty, Type::Text | Type::Other(_) | Type::Unknown) {
        set.insert(Assumption::TextOrderIsThatOfBytes);
    }
}

/// Something depends on whether these are whole numbers or not, which in SQLite is a property of each value.
fn typed<'a>(operands: impl IntoIterator<Item = &'a Expr>, set: &mut Set) {
    if operands.into_iter().any(|e| e.ty().is_numeric() && !e.ty().is_whole()) {
        set.insert(Assumption::StaticTypes);
    }
}

fn equalities(types: &[Type], set: &mut Set) {
    types.iter().for_each(|ty| equality(ty, set));
}

/// What an expression takes for granted.
pub(super) fn expr(expr: &Expr, set: &mut Set) {
    match expr {
        Expr::Compare(op, a, b) => {
            for ty in [a.ty(), b.ty()] {
                equality(&ty, set);
                if !matches!(op, CompareOp::Eq | CompareOp::Ne) {
                    ordered(&ty, set);
                }
            }
        }
        Expr::Same(a, b) => {
            equality(&a.ty(), set);
            equality(&b.ty(), set);
        }
        Expr::Arithmetic(op, a, b, _) => {
            if range(expr).is_none() {
                set.insert(Assumption::ExactArithmetic);
            }
            if matches!(op, ArithmeticOp::Div | ArithmeticOp::Rem) {
                set.insert(Assumption::NoRuntimeError);
                typed([&**a, &**b], set);
            }
        }
        Expr::Cast { .. } => {
            set.insert(Assumption::NoRuntimeError);
        }
        // It is rounded where a decimal is a double.
        Expr::Literal(value, Type::Decimal) if !is_short(value) => {
            set.insert(Assumption::ExactArithmetic);
        }
        Expr::Call { name, args, ty } => {
            match name.as_str() {
                "like" | "ilike" | "similar_to" => {
                    set.insert(Assumption::TextEqualityIsIdentity);
                }
                "concat_op" | "interval" => {}
                // Of something else than a text, NULL among it, MariaDB's result is a string of bytes.
                "lower" | "upper" if args.iter().all(|a| a.ty() == Type::Text) => {}
                "greatest" | "least" => {
                    equality(ty, set);
                    ordered(ty, set);
                }
                _ => {
                    set.insert(Assumption::NoRuntimeError);
                }
            }
            if !NUMERIC.contains(&name.as_str()) {
                typed(args, set);
            }
            if ty.domain() == Type::Decimal
                && (name.starts_with("extract_") || name == "second" || name == "unix_timestamp")
            {
                set.insert(Assumption::ExactArithmetic);
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
        Expr::Quantified { row, op, query, .. } => {
            row.iter().for_each(|value| equality(&value.ty(), set));
            equalities(&query.types(), set);
            if !matches!(op, CompareOp::Eq | CompareOp::Ne) {
                query.types().iter().for_each(|ty| ordered(ty, set));
            }
        }
        _ => {}
    }
    expr.for_each_child(&mut |child| match child {
        crate::ir::Child::Expr(part) => self::expr(part, set),
        crate::ir::Child::Plan(query) => plan(query, set),
    });
}

/// Whether a number has at most fifteen digits, which a double keeps apart.
fn is_short(value: &Value) -> bool {
    const DIGITS: i32 = 15;
    let ten = |power: i32| BigRational::from_integer(10.into()).pow(power);
    value.to_rational().is_none_or(|number| {
        (0..=DIGITS).any(|places| {
            let scaled = number.clone() * ten(places);
            scaled.is_integer() && scaled.abs() < ten(DIGITS)
        })
    })
}

/// The least and greatest number that an expression of literals alone can give, if that and everything in between fits
/// 32 bits, which every engine can do.
fn range(expr: &Expr) -> Option<(i64, i64)> {
    let (low, high) = match expr {
        Expr::Literal(Value::Int(n), Type::Integer) => (*n, *n),
        // A NULL stays one.
        Expr::Literal(Value::Null, _) => (0, 0),
        Expr::Case { branches, otherwise, .. } => {
            let values = branches.iter().map(|(_, value)| value);
            values
                .map(range)
                .try_fold(range(otherwise)?, |(low, high), value| value.map(|(l, h)| (low.min(l), high.max(h))))?
        }
        Expr::Arithmetic(op, a, b, Type::Integer) => {
            // Of numbers of 32 bits, so that none of these overflows 64.
            let ((al, ah), (bl, bh)) = (range(a)?, range(b)?);
            match op {
                ArithmeticOp::Add => (al + bl, ah + bh),
                ArithmeticOp::Sub => (al - bh, ah - bl),
                ArithmeticOp::Mul => {
                    let corners = [al * bl, al * bh, ah * bl, ah * bh];
                    corners.iter().fold((corners[0], corners[0]), |(low, high), n| (low.min(*n), high.max(*n)))
                }
                ArithmeticOp::Div | ArithmeticOp::Rem => return None,
            }
        }
        _ => return None,
    };
    [low, high].iter().all(|n| i32::try_from(*n).is_ok()).then_some((low, high))
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
        ordered(&key.expr.ty(), set);
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
                function(aggregate, set);
                let is_extreme = matches!(aggregate.function, AggregateFunction::Min | AggregateFunction::Max);
                for arg in &aggregate.args {
                    if aggregate.distinct || is_extreme {
                        equality(&arg.ty(), set);
                    }
                    if is_extreme {
                        ordered(&arg.ty(), set);
                    }
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
                match function.name.as_str() {
                    "sum" => sum(&function.args, set),
                    "min" | "max" => function.args.iter().for_each(|arg| ordered(&arg.ty(), set)),
                    "count" | "row_number" | "rank" | "dense_rank" => {}
                    "avg" => {
                        set.insert(Assumption::ExactArithmetic);
                        doubles(&function.args, set);
                    }
                    _ => _ = set.insert(Assumption::ExactArithmetic),
                }
            }
        }
    }
}

/// Values of these types are added up.
fn sum(args: &[Expr], set: &mut Set) {
    let whole = args.iter().all(|arg| arg.ty().domain() == Type::Integer && arg.ty().is_exact());
    set.insert(if whole { Assumption::ExactSums } else { Assumption::ExactArithmetic });
    doubles(args, set);
}

/// An average or sum of doubles is rounded at every row.
fn doubles(args: &[Expr], set: &mut Set) {
    if args.iter().any(|arg| arg.ty().is_numeric() && !arg.ty().is_exact()) {
        set.insert(Assumption::DoubleSumsIgnoreOrder);
    }
}

fn function(aggregate: &Aggregate, set: &mut Set) {
    match &aggregate.function {
        AggregateFunction::CountStar | AggregateFunction::Count | AggregateFunction::Min | AggregateFunction::Max => {}
        AggregateFunction::Sum => sum(&aggregate.args, set),
        AggregateFunction::Avg => {
            set.insert(Assumption::ExactArithmetic);
            doubles(&aggregate.args, set);
        }
        AggregateFunction::Other(name) => {
            set.extend([Assumption::ExactArithmetic, Assumption::NoRuntimeError]);
            if aggregate.ty.is_numeric() && !aggregate.ty.is_exact() {
                set.insert(Assumption::DoubleSumsIgnoreOrder);
            }
            if name == "single_value" {
                set.insert(Assumption::ScalarSubqueryAtMostOneRow);
            }
        }
    }
}
