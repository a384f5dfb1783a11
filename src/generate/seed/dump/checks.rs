//! CHECK conditions that every engine reads alike: comparisons of columns and literals.

use crate::sql::schema::Column;
use crate::sql::types::SqlType;
use sqlparser::ast::{BinaryOperator, Expr, Ident, UnaryOperator, Value};

/// A condition with the names that columns have here; `None` if it has anything else.
pub(super) fn condition<'a>(expr: &Expr, column: &dyn Fn(&Ident) -> Option<&'a Column>) -> Option<String> {
    match read(expr, column)? {
        (SqlType::Boolean, text) => Some(text),
        _ => None,
    }
}

/// An expression with its type.
fn read<'a>(expr: &Expr, column: &dyn Fn(&Ident) -> Option<&'a Column>) -> Option<(SqlType, String)> {
    let part = |expr: &Expr| read(expr, column);
    Some(match expr {
        Expr::Identifier(name) => {
            let column = column(name)?;
            (column.ty, column.name.clone())
        }
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) if number.contains(['.', 'e', 'E']) => (SqlType::Real, number.clone()),
            Value::Number(number, _) => (SqlType::Int, number.clone()),
            Value::SingleQuotedString(text) => (SqlType::Text, format!("'{}'", text.replace('\'', "''"))),
            Value::Boolean(value) => (SqlType::Boolean, if *value { "TRUE" } else { "FALSE" }.to_owned()),
            _ => return None,
        },
        Expr::Nested(inner) => part(inner)?,
        // PostgreSQL writes out every conversion; types are few here.
        Expr::Cast { expr, .. } => match &**expr {
            inner @ (Expr::Identifier(_) | Expr::Value(_) | Expr::Nested(_)) => part(inner)?,
            _ => return None,
        },
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => {
            let (ty, text) = part(expr)?;
            (ty == SqlType::Boolean).then(|| (SqlType::Boolean, format!("NOT ({text})")))?
        }
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
            let (ty, text) = part(expr)?;
            numeric(ty).then(|| (ty, format!("(- {text})")))?
        }
        Expr::IsNull(expr) => (SqlType::Boolean, format!("({}) IS NULL", part(expr)?.1)),
        Expr::IsNotNull(expr) => (SqlType::Boolean, format!("({}) IS NOT NULL", part(expr)?.1)),
        Expr::BinaryOp { left, op, right } => {
            let ((left_ty, left), (right_ty, right)) = (part(left)?, part(right)?);
            let both = left_ty == SqlType::Boolean && right_ty == SqlType::Boolean;
            let sign = op.to_string();
            match op {
                BinaryOperator::And | BinaryOperator::Or if both => {
                    (SqlType::Boolean, format!("({left}) {sign} ({right})"))
                }
                BinaryOperator::Eq
                | BinaryOperator::NotEq
                | BinaryOperator::Lt
                | BinaryOperator::LtEq
                | BinaryOperator::Gt
                | BinaryOperator::GtEq
                    if comparable(left_ty, right_ty) =>
                {
                    (SqlType::Boolean, format!("{left} {sign} {right}"))
                }
                _ => return None,
            }
        }
        Expr::Between { expr, negated, low, high } => {
            let ((ty, text), (low_ty, low), (high_ty, high)) = (part(expr)?, part(low)?, part(high)?);
            let not = if *negated { "NOT " } else { "" };
            (comparable(ty, low_ty) && comparable(ty, high_ty))
                .then(|| (SqlType::Boolean, format!("{text} {not}BETWEEN {low} AND {high}")))?
        }
        Expr::InList { expr, list, negated } => {
            let (ty, text) = part(expr)?;
            let items: Vec<(SqlType, String)> = list.iter().map(part).collect::<Option<_>>()?;
            let fit = !items.is_empty() && items.iter().all(|(item, _)| comparable(ty, *item));
            let items: Vec<String> = items.into_iter().map(|(_, text)| text).collect();
            let not = if *negated { "NOT " } else { "" };
            fit.then(|| (SqlType::Boolean, format!("{text} {not}IN ({})", items.join(", "))))?
        }
        _ => return None,
    })
}

fn numeric(ty: SqlType) -> bool {
    matches!(ty, SqlType::Int | SqlType::Real)
}

/// Whether values of two types can be compared everywhere.
fn comparable(a: SqlType, b: SqlType) -> bool {
    a == b || numeric(a) && numeric(b)
}
