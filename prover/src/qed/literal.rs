//! Types and literals.

use num_bigint::BigInt;
use num_rational::BigRational;

use super::{Unsupported, refuse};
use crate::ir::{Expr, Type, Value};

/// The family of a type name.
pub(super) fn family(name: &str) -> Type {
    match name {
        "INT" | "INT2" | "INT4" | "INT8" | "INTEGER" | "BIGINT" | "SMALLINT" | "TINYINT" | "OID" | "REGPROC"
        | "REGCLASS" | "REGNAMESPACE" | "REGTYPE" => Type::Integer,
        "DECIMAL" | "NUMERIC" => Type::Decimal,
        "FLOAT" | "FLOAT8" | "DOUBLE" => Type::Double,
        "VARCHAR" | "CHAR" | "STRING" | "TEXT" | "NAME" => Type::Text,
        "BOOL" | "BOOLEAN" => Type::Boolean,
        "DATE" => Type::Date,
        "TIME" => Type::Time,
        "TIMESTAMP" => Type::Timestamp,
        "NULL" | "UNKNOWN" | "ANYELEMENT" => Type::Unknown,
        other => Type::Other(other.to_lowercase()),
    }
}

/// The constant that an operator without operands stands for.
pub(super) fn literal(written: &str, type_name: &str) -> Result<Expr, Unsupported> {
    let ty = family(type_name);
    if written == "NULL" {
        return Ok(Expr::null(ty));
    }
    let value = match &ty {
        Type::Boolean if written.eq_ignore_ascii_case("true") => Some(Value::Bool(true)),
        Type::Boolean if written.eq_ignore_ascii_case("false") => Some(Value::Bool(false)),
        Type::Integer => number(written).filter(BigRational::is_integer).map(Value::number),
        Type::Decimal => number(written).map(Value::number),
        Type::Double => double(written),
        Type::Text => quoted(written).map(Value::Text),
        Type::Date => date(written).map(Value::Text),
        Type::Timestamp => quoted(written).filter(|t| is_timestamp(t)).map(Value::Text),
        _ => None,
    };
    if let Some(value) = value {
        return Ok(Expr::Literal(value, ty));
    }
    // Constants of other types, and dates in another than the canonical form, are conversions of their texts. An
    // unquoted word would be a function without arguments and is not one.
    let constant = match &ty {
        Type::Date | Type::Time | Type::Timestamp => quoted(written),
        Type::Other(_) => quoted(written).or_else(|| is_constant(written).then(|| written.to_owned())),
        _ => None,
    };
    match constant {
        Some(constant) => Ok(Expr::Cast {
            value: Box::new(Expr::Literal(Value::Text(constant), Type::Text)),
            to: ty,
            target: type_name.to_lowercase(),
        }),
        None => refuse(format!("literal {} of type {type_name}", written.chars().take(40).collect::<String>())),
    }
}

/// An exact number in plain decimal notation.
fn number(written: &str) -> Option<BigRational> {
    let (sign, digits) = written.strip_prefix('-').map_or((1, written), |digits| (-1, digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = !whole.is_empty() && whole.chars().chain(fraction.chars()).all(|c| c.is_ascii_digit());
    if !plain || (fraction.is_empty() && digits.contains('.')) {
        return None;
    }
    let numerator: BigInt = format!("{whole}{fraction}").parse().ok()?;
    let places = u32::try_from(fraction.len()).ok()?;
    Some(BigRational::new(numerator * sign, BigInt::from(10).pow(places)))
}

/// A floating point number. Negative zero is refused: it equals zero and is another value.
fn double(written: &str) -> Option<Value> {
    let starts_as_number = written.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
    let value: f64 = written.parse().ok().filter(|_| starts_as_number)?;
    (value.is_finite() && !(value == 0.0 && value.is_sign_negative())).then_some(Value::Double(value))
}

/// The text between quotes, with an optional character set before it. Escape strings only with escaped backslashes
/// and quotes.
pub(super) fn quoted(written: &str) -> Option<String> {
    let escapes = written.starts_with("e'");
    let start = written.find('\'')?;
    let prefix = &written[..start];
    let charset = prefix.starts_with('_') && prefix.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    if !(prefix.is_empty() || escapes || charset) {
        return None;
    }
    let body = written[start + 1..].strip_suffix('\'')?;
    let mut text = String::new();
    let mut characters = body.chars();
    while let Some(c) = characters.next() {
        match c {
            '\'' if characters.next() == Some('\'') => text.push('\''),
            '\'' => return None,
            '\\' if escapes => match characters.next()? {
                c @ ('\\' | '\'') => text.push(c),
                _ => return None,
            },
            _ => text.push(c),
        }
    }
    Some(text)
}

/// Constants of unusual types that are written without quotes or beside a marker: arrays, bit strings, geometries and
/// texts with a collation.
fn is_constant(written: &str) -> bool {
    let is_collation = |name: &str| name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
    if let Some((text, collation)) = written.rsplit_once(" COLLATE ") {
        return quoted(text).is_some() && is_collation(collation);
    }
    let geometry = |rest: &str| rest.starts_with(" (") && rest.ends_with(')');
    written.starts_with("ARRAY[")
        || (written.starts_with("B'") && written.ends_with('\''))
        || ["POINT", "LINESTRING", "POLYGON"].iter().any(|kind| written.strip_prefix(kind).is_some_and(geometry))
}

/// A date in ISO form: quoted, bare, or within the dump of a Java calendar.
pub(super) fn date(written: &str) -> Option<String> {
    if let Some(fields) = written.strip_prefix("java.util.GregorianCalendar[time=") {
        if !fields.contains("ZONE_OFFSET=0,DST_OFFSET=0]") {
            return None;
        }
        let millis: i64 = fields.split(',').next()?.parse().ok()?;
        return (millis % 86_400_000 == 0).then(|| crate::civil::date(millis / 86_400_000));
    }
    let text = if written.starts_with('\'') { quoted(written)? } else { written.to_owned() };
    is_date(&text).then_some(text)
}

fn has_shape(text: &str, shape: &str) -> bool {
    text.len() == shape.len()
        && text.bytes().zip(shape.bytes()).all(|(c, s)| if s == b'0' { c.is_ascii_digit() } else { c == s })
}

fn is_date(text: &str) -> bool {
    has_shape(text, "0000-00-00")
}

fn is_timestamp(text: &str) -> bool {
    has_shape(text, "0000-00-00 00:00:00")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        assert_eq!(quoted("_UTF-8'it''s'"), Some("it's".to_owned()));
        assert_eq!(quoted(r"e'\\x\''"), Some(r"\x'".to_owned()));
        assert_eq!(quoted("'a' || 'b'"), None);
        assert_eq!(quoted("f('a'"), None);
    }

    #[test]
    fn numbers() {
        assert_eq!(number("-1.50"), Some(BigRational::new((-3).into(), 2.into())));
        assert_eq!(number("1.").or(number(".5")).or(number("1e3")).or(number("RANDOM")), None);
        assert!(double("-0.0").or(double("inf")).or(double("NaN")).is_none());
        assert!(literal("CURRENT_DATE", "DATE").is_err());
        assert!(literal("GEN_RANDOM_UUID", "UUID").is_err());
    }
}
