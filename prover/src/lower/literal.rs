//! Literals.

use num_bigint::BigInt;
use num_rational::BigRational;
use sqlparser::ast::{self, Value as Written};

use crate::ir::{Expr, Type, Value, results};

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
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, ""));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    if all.is_empty() || !all.bytes().all(|b| b.is_ascii_digit()) {
        return Err(bad());
    }
    let numerator: BigInt = all.parse().map_err(|_| bad())?;
    let places = u32::try_from(fraction.len()).map_err(|_| bad())?;
    let number = BigRational::new(numerator, BigInt::from(10).pow(places));
    if mantissa != digits {
        let exponent: i32 = exponent.parse().map_err(|_| bad())?;
        // Beyond what a double can hold, or near it.
        if exponent.abs() > 290 || all.len() > 15 {
            return Err(bad());
        }
        let value = Value::number(number * BigRational::from_integer(10.into()).pow(exponent));
        if is_double(&value) {
            let whole = value.to_rational().is_some_and(|n| n.is_integer());
            return Ok(Expr::Literal(value, results::with_exponent(whole)));
        }
        let to = results::with_exponent(false);
        let (value, target) = (Box::new(Expr::Literal(value, Type::Decimal)), to.to_string().to_lowercase());
        return Ok(Expr::Cast { value, to, target });
    }
    let value = Value::number(number);
    match &value {
        _ if digits.contains('.') => Ok(Expr::Literal(value, Type::Decimal)),
        Value::Int(n) if i32::try_from(*n).is_ok() => Ok(Expr::Literal(value, Type::Integer)),
        Value::Int(_) => Ok(Expr::Literal(value, results::long())),
        // A double in SQLite, a decimal in PostgreSQL.
        _ => no(format!("the number {digits}, which does not fit 64 bits")),
    }
}

/// Whether a number is the same as a double.
pub(super) fn is_double(value: &Value) -> bool {
    let exact = value.to_rational();
    exact.is_some_and(|number| value.to_double().and_then(BigRational::from_float) == Some(number))
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
