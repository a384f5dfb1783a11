//! How far a collation inside a filling reaches.

use sqlparser::ast::{BinaryOperator, Expr, FunctionArguments, UnaryOperator, Value};

/// What stands around a placeholder, as far as a collation inside its filling is concerned.
///
/// SQLite gives an expression the collation of any COLLATE operator inside it, through CASE and function calls
/// (<https://sqlite.org/datatype3.html#collating_sequences>), so a condition of a CASE decides how its text compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrap {
    /// Takes only the truth of what is inside, and is a truth value or a count itself.
    Truth,
    /// Passes on a value that may be text.
    Value,
    /// Compares, groups or returns values.
    Consumer,
    /// Changes nothing.
    Parentheses,
}

/// Whether a collation inside passes through a value into something that compares. `around` has the innermost last.
pub(super) fn collation_reaches_a_comparison(around: &[Wrap]) -> bool {
    let mut value = false;
    for wrap in around.iter().rev() {
        match wrap {
            Wrap::Truth => value = false,
            Wrap::Value => value = true,
            Wrap::Consumer if value => return true,
            Wrap::Consumer | Wrap::Parentheses => {}
        }
    }
    false
}

/// What an expression is to a collation inside it.
pub(super) fn wrap(expr: &Expr) -> Wrap {
    let is_number = |e: &Expr| matches!(e, Expr::Value(v) if matches!(v.value, Value::Number(..) | Value::Boolean(_) | Value::Null));
    match expr {
        Expr::Nested(_) => Wrap::Parentheses,
        Expr::BinaryOp { op: BinaryOperator::And | BinaryOperator::Or, .. }
        | Expr::UnaryOp { op: UnaryOperator::Not, .. }
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotUnknown(_) => Wrap::Truth,
        Expr::Case { operand: None, conditions, else_result, .. }
            if conditions.iter().map(|w| &w.result).chain(else_result.as_deref()).all(is_number) =>
        {
            Wrap::Truth
        }
        Expr::Function(function) => {
            let name = function.name.to_string().to_ascii_uppercase();
            let distinct =
                matches!(&function.args, FunctionArguments::List(list) if list.duplicate_treatment.is_some());
            if (name == "COUNT" || name == "SUM") && !distinct { Wrap::Truth } else { Wrap::Value }
        }
        Expr::BinaryOp {
            op:
                BinaryOperator::Eq
                | BinaryOperator::NotEq
                | BinaryOperator::Lt
                | BinaryOperator::LtEq
                | BinaryOperator::Gt
                | BinaryOperator::GtEq,
            ..
        }
        | Expr::InList { .. }
        | Expr::InSubquery { .. }
        | Expr::Between { .. }
        | Expr::IsDistinctFrom(..)
        | Expr::IsNotDistinctFrom(..)
        | Expr::Tuple(_) => Wrap::Consumer,
        // CASE, CAST, functions of values, arithmetic, and whatever else.
        _ => Wrap::Value,
    }
}
