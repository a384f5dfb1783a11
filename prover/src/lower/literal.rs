//! Literals.

use num_bigint::BigInt;
use num_rational::BigRational;
use sqlparser::ast::{self, Value as Written};

use crate::ir::{Expr, Type, Value};

use super::{Result, no};

/// A literal other than a typed string.
pub(super) fn literal(value: &ast::ValueWithSpan) -> Result<Expr> {
    let ast::ValueWithSpan { value, span: _ } = value;
    match value {
        Written::Number(digits, false) => number(digits),
        Written::SingleQuotedString(text) | Written::NationalStringLiteral(text) => Ok(text_literal(text)?),
        Written::Boolean(b) => Ok(Expr::bool(*b)),
        Written::Null => Ok(Expr::null(Type::Unknown)),
        other => no(format!("the literal {other}")),
    }
}

/// A text. Backslashes are escapes in some engines and characters in others.
pub(super) fn text_literal(text: &str) -> Result<Expr> {
    if text.contains('\\') {
        return no("a backslash in a string literal");
    }
    Ok(text_expr(text))
}

/// A text without restrictions.
pub(super) fn text_expr(text: &str) -> Expr {
    Expr::Literal(Value::Text(text.to_owned()), Type::Text)
}

/// The text of a literal string.
pub(super) fn string(value: &ast::ValueWithSpan) -> Result<String> {
    match literal(value)? {
        Expr::Literal(Value::Text(text), _) => Ok(text),
        _ => no(format!("the literal {value}")),
    }
}

fn number(digits: &str) -> Result<Expr> {
    let bad = || super::Unsupported(format!("the number {digits}"));
    if digits.contains(['e', 'E']) {
        let double: f64 = digits.parse().map_err(|_| bad())?;
        return if double.is_finite() { Ok(Expr::Literal(Value::Double(double), Type::Double)) } else { Err(bad()) };
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{fraction}");
    if all.is_empty() || !all.bytes().all(|b| b.is_ascii_digit()) {
        return Err(bad());
    }
    let numerator: BigInt = all.parse().map_err(|_| bad())?;
    let places = u32::try_from(fraction.len()).map_err(|_| bad())?;
    let value = Value::number(BigRational::new(numerator, BigInt::from(10).pow(places)));
    Ok(Expr::Literal(value, if digits.contains('.') { Type::Decimal } else { Type::Integer }))
}

/// A text as a date, time or timestamp. A text that is not in the one ISO form stays a cast: equal moments must be equal
/// texts, and engines without these types compare the texts as they are.
pub(super) fn temporal(text: &str, ty: &Type) -> Result<Expr> {
    let is_iso = match ty {
        Type::Date => is_date(text),
        Type::Time => is_time(text),
        Type::Timestamp => text.split_once(' ').is_some_and(|(day, rest)| is_date(day) && is_time(rest)),
        other => return no(format!("a literal of type {other}")),
    };
    let to = ty.clone();
    Ok(if is_iso {
        Expr::Literal(Value::Text(text.to_owned()), to)
    } else {
        Expr::Cast { value: Box::new(text_expr(text)), to, target: ty.to_string().to_lowercase() }
    })
}

/// `YYYY-MM-DD` of a day that exists.
fn is_date(text: &str) -> bool {
    let Some([year, month, day]) = fixed(text, '-', [4, 2, 2]) else { return false };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    year > 0 && (1..=days).contains(&day)
}

/// `HH:MM:SS`, with a fraction that does not end in zero if there is one.
fn is_time(text: &str) -> bool {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, "1"));
    let fits = |[hour, minute, second]: [u32; 3]| hour < 24 && minute < 60 && second < 60;
    fixed(clock, ':', [2, 2, 2]).is_some_and(fits)
        && (1..=6).contains(&fraction.len())
        && fraction.bytes().all(|b| b.is_ascii_digit())
        && !fraction.ends_with('0')
}

/// Numbers of fixed widths between separators.
fn fixed(text: &str, separator: char, widths: [usize; 3]) -> Option<[u32; 3]> {
    let mut numbers = [0; 3];
    let mut parts = text.split(separator);
    for (number, width) in numbers.iter_mut().zip(widths) {
        let part = parts.next().filter(|p| p.len() == width && p.bytes().all(|b| b.is_ascii_digit()))?;
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(numbers)
}
