//! Conversions on whose result engines agree.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::FromPrimitive;

use crate::civil;
use crate::ir::number::Number;
use crate::ir::{Type, Value};

use super::EvalError;
use super::number::{fits, is_short};

/// Where a cast leads.
#[derive(Debug)]
pub(super) struct Target {
    pub from: Type,
    pub to: Type,
    /// Whether some engines, not all, convert to a double.
    rounds: bool,
    /// The word before the parentheses.
    base: String,
    /// The numbers in parentheses.
    sizes: Vec<u32>,
    /// The name under which the cast counts as an unknown function.
    pub name: String,
}

impl Target {
    pub(super) fn new(from: &Type, to: &Type, target: &str) -> Self {
        let (base, rest) = target.split_once('(').unwrap_or((target, ""));
        let (sizes, after) = rest.split_once(')').unwrap_or((rest, ""));
        let sizes = sizes.split(',').filter_map(|size| size.trim().parse().ok()).collect();
        let base = format!("{} {}", base.trim(), after.trim()).trim().to_owned();
        // An engine that has a double there rounds.
        let rounds = to.as_number().is_some_and(Number::has_float) && *to != Type::Double;
        let (from, to) = (from.domain(), to.domain());
        Self { from, to, rounds, base, sizes, name: format!("cast as {target}") }
    }

    fn number(&self, number: BigRational) -> Option<Value> {
        match self.sizes.as_slice() {
            // The size of a bare DECIMAL differs.
            [] => number.is_integer().then(|| Value::number(number)),
            [precision] => fits(&number, *precision, 0).then(|| Value::number(number)),
            [precision, scale, ..] => fits(&number, *precision, *scale).then(|| Value::number(number)),
        }
    }

    fn text(&self, text: String) -> Option<Value> {
        let limit = match (self.sizes.first(), self.base.as_str()) {
            (Some(size), _) => usize::try_from(*size).ok()?,
            (None, "char" | "character" | "nchar" | "bpchar") => 1,
            (None, _) => usize::MAX,
        };
        (text.chars().count() <= limit).then_some(Value::Text(text))
    }

    fn double(&self, double: f64) -> Option<Value> {
        #[expect(clippy::cast_possible_truncation, reason = "a single-precision type may round")]
        let single = f64::from(double as f32);
        let exact = self.base.starts_with("double") || single.to_bits() == double.to_bits();
        (exact && double.is_finite()).then_some(Value::Double(double))
    }
}

/// The converted value, which is not NULL. `None` if engines round, cut, pad or format it differently.
pub(super) fn cast(value: &Value, target: &Target) -> Result<Option<Value>, EvalError> {
    Ok(match (value, &target.to) {
        (_, to) if *to == Type::Unknown => None,
        (Value::Bool(b), Type::Boolean) => Some(Value::Bool(*b)),
        (Value::Bool(b), Type::Integer) => Some(Value::int((*b).into())),
        (number, _) if target.rounds => exact(number).filter(is_short).map(Value::number),
        (Value::Int(_) | Value::Number(_) | Value::Double(_), to) => from_number(value, to, target),
        (Value::Text(text), to) => return from_text(text, to, target),
        _ => None,
    })
}

fn from_number(value: &Value, to: &Type, target: &Target) -> Option<Value> {
    match to {
        Type::Double => target.double(value.to_double()?),
        Type::Decimal => target.number(exact(value)?),
        Type::Integer => {
            exact(value).filter(BigRational::is_integer).filter(|n| in_range(n, target)).map(Value::number)
        }
        Type::Boolean if target.from == Type::Integer => Some(Value::Bool(*value != Value::Int(0))),
        // A decimal is written with as many places as its type has, which is not known here.
        Type::Text if target.from == Type::Integer => target.text(exact(value)?.to_string()),
        _ => None,
    }
}

fn exact(value: &Value) -> Option<BigRational> {
    match value {
        Value::Double(d) => BigRational::from_f64(*d),
        _ => value.to_rational(),
    }
}

fn in_range(number: &BigRational, target: &Target) -> bool {
    let bits = match target.base.as_str() {
        "tinyint" => 8,
        "smallint" | "int2" => 16,
        _ => return true,
    };
    let bound: BigInt = BigInt::from(1) << (bits - 1);
    *number.numer() >= -bound.clone() && *number.numer() < bound
}

fn from_text(text: &str, to: &Type, target: &Target) -> Result<Option<Value>, EvalError> {
    let failed = || EvalError::Cast(format!("'{text}' to {to}"));
    let owned = || Value::Text(text.to_owned());
    let known = matches!(target.from, Type::Text | Type::Unknown);
    // A date with something after it, such as a time zone, is read by some engines.
    let longer = text.len() > 10 && text.get(..10).is_some_and(is_date);
    Ok(match (&target.from, to) {
        (from, Type::Text) if known || *from == Type::Date => target.text(text.to_owned()),
        // A precision only concerns fractions of seconds.
        (from, to) if from == to && (target.sizes.is_empty() || !text.contains('.')) => Some(owned()),
        (Type::Date, Type::Timestamp) if is_date(text) => Some(Value::Text(format!("{text} 00:00:00"))),
        (Type::Timestamp, Type::Date) => text.get(..10).filter(|d| is_date(d)).map(|d| Value::Text(d.to_owned())),
        (_, Type::Integer) if known => {
            let number = plain_number(text).filter(BigRational::is_integer).filter(|_| !text.contains('.'));
            Some(Value::number(number.ok_or_else(failed)?))
        }
        (_, Type::Decimal) if known => target.number(plain_number(text).ok_or_else(failed)?),
        (_, Type::Double) if known => {
            plain_number(text).ok_or_else(failed)?;
            target.double(text.parse().map_err(|_| failed())?)
        }
        (_, Type::Timestamp) if known && is_timestamp(text) => Some(owned()),
        (_, Type::Date | Type::Timestamp) if known && longer => None,
        (_, Type::Date) if known => Some(if is_date(text) { owned() } else { return Err(failed()) }),
        (_, Type::Time) if known => Some(if is_time(text) { owned() } else { return Err(failed()) }),
        (_, Type::Timestamp) if known && is_date(text) => Some(Value::Text(format!("{text} 00:00:00"))),
        (_, Type::Timestamp) if known => return Err(failed()),
        _ => None,
    })
}

/// Digits with at most one point between them and a sign.
fn plain_number(text: &str) -> Option<BigRational> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) || digits.len() > 60 {
        return None;
    }
    let number: BigInt = format!("{whole}{fraction}").parse().ok()?;
    let scale = BigInt::from(10).pow(u32::try_from(fraction.len()).ok()?);
    let number = BigRational::new(number, scale);
    Some(if negative { -number } else { number })
}

/// Whether a text is a day of the years 1 to 9999 in ISO form.
pub(crate) fn is_date(text: &str) -> bool {
    text.len() == 10 && !text.starts_with("0000") && civil::days(text).is_some()
}

fn is_timestamp(text: &str) -> bool {
    text.split_once(' ').is_some_and(|(date, time)| is_date(date) && is_time(time))
}

fn is_time(text: &str) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    let [hour, minute, second] = parts.as_slice() else { return false };
    in_bounds(hour, 0, 23) && in_bounds(minute, 0, 59) && in_bounds(second, 0, 59)
}

fn in_bounds(text: &str, low: u32, high: u32) -> bool {
    text.len() == 2 && digits(text).is_some_and(|n| (low..=high).contains(&n))
}

fn digits(text: &str) -> Option<u32> {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}
