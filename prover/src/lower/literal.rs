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

/// A text as a date, time or timestamp. A text not in the one ISO form stays a cast, since equal moments must be equal
/// texts.
pub(super) fn temporal(text: &str, ty: &Type) -> Result<Expr> {
    let iso = match ty {
        Type::Date => date(text).or_else(|| text.strip_suffix(" 00:00:00").and_then(date)),
        Type::Time => time(text),
        Type::Timestamp => match text.split_once(' ') {
            Some((day, rest)) => date(day).zip(time(rest)).map(|(day, rest)| format!("{day} {rest}")),
            None => date(text).map(|day| format!("{day} 00:00:00")),
        },
        other => return no(format!("a literal of type {other}")),
    };
    Ok(match iso {
        Some(iso) => Expr::Literal(Value::Text(iso), ty.clone()),
        None => Expr::Cast { value: Box::new(text_expr(text)), to: ty.clone(), target: ty.to_string().to_lowercase() },
    })
}

/// `YYYY-MM-DD` of a day that exists.
fn date(text: &str) -> Option<String> {
    let parts = fixed(text, '-', &[4, 2, 2])?;
    let (year, month, day) = (parts[0], parts[1], parts[2]);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    (year > 0 && (1..=days).contains(&day)).then(|| text.to_owned())
}

/// `HH:MM:SS` with an optional fraction, whose trailing zeros are dropped.
fn time(text: &str) -> Option<String> {
    let (clock, fraction) = text.split_once('.').map_or((text, None), |(c, f)| (c, Some(f)));
    let parts = fixed(clock, ':', &[2, 2, 2])?;
    if parts[0] > 23 || parts[1] > 59 || parts[2] > 59 {
        return None;
    }
    let Some(fraction) = fraction else { return Some(clock.to_owned()) };
    if fraction.is_empty() || fraction.len() > 6 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    Some(if fraction.is_empty() { clock.to_owned() } else { format!("{clock}.{fraction}") })
}

/// Numbers of fixed widths between separators.
fn fixed(text: &str, separator: char, widths: &[usize]) -> Option<Vec<u32>> {
    let parts: Vec<&str> = text.split(separator).collect();
    let fits = parts.len() == widths.len()
        && parts.iter().zip(widths).all(|(p, w)| p.len() == *w && p.bytes().all(|b| b.is_ascii_digit()));
    if fits { parts.iter().map(|p| p.parse().ok()).collect() } else { None }
}
