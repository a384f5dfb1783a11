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
    /// Whether some engines convert from a double.
    from_double: bool,
    /// Whether all engines convert from a whole number.
    from_whole: bool,
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
        let from_double = from.as_number().is_some_and(Number::has_float);
        let from_whole = from.is_whole();
        let (from, to) = (from.domain(), to.domain());
        Self { from, to, rounds, from_double, from_whole, base, sizes, name: format!("cast as {target}") }
    }

    fn number(&self, number: BigRational) -> Option<Value> {
        match self.sizes.as_slice() {
            // The size of a bare DECIMAL differs: MariaDB's has ten digits, and a greater number becomes the greatest of them
            // (https://mariadb.com/kb/en/decimal/).
            [] => fits(&number, 10, 0).then(|| Value::number(number)),
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
        // Some engines keep fifteen digits of a double.
        Type::Decimal => target.number(exact(value).filter(|n| !target.from_double || is_short_decimal(n))?),
        Type::Integer => {
            exact(value).filter(BigRational::is_integer).filter(|n| in_range(n, target)).map(Value::number)
        }
        Type::Boolean if target.from_whole => Some(Value::Bool(*value != Value::Int(0))),
        // A decimal is written with as many places as its type has, which is not known here.
        Type::Text if target.from_whole => target.text(exact(value)?.to_string()),
        _ => None,
    }
}

fn exact(value: &Value) -> Option<BigRational> {
    match value {
        Value::Double(d) => BigRational::from_f64(*d),
        _ => value.to_rational(),
    }
}

/// Whether a number has at most fifteen digits.
fn is_short_decimal(number: &BigRational) -> bool {
    (0..=15).any(|places| fits(number, 15, places))
}

/// Whether every engine has the number in a type. Some have 64 bits in any.
fn in_range(number: &BigRational, target: &Target) -> bool {
    let (name, unsigned) = target.base.strip_suffix(" unsigned").map_or((&*target.base, false), |name| (name, true));
    let bits = match name {
        "tinyint" => 8,
        "smallint" => 16,
        "mediumint" => 24,
        "integer" => 32,
        _ => 64,
    };
    let bound: BigInt = BigInt::from(1) << (bits - 1);
    let least = if unsigned { BigInt::from(0) } else { -bound.clone() };
    *number.numer() >= least && *number.numer() < bound
}

fn from_text(text: &str, to: &Type, target: &Target) -> Result<Option<Value>, EvalError> {
    let failed = || EvalError::Cast(format!("'{text}' to {to}"));
    let owned = || Value::Text(text.to_owned());
    let known = matches!(target.from, Type::Text | Type::Unknown);
    // What has a digit in it is read by some engines: ' 1', '1e3', a date with a time, a time without seconds.
    let readable = text.contains(|c: char| c.is_ascii_digit()) || is_word(text);
    Ok(match (&target.from, to) {
        (from, Type::Text) if known || *from == Type::Date => target.text(text.to_owned()),
        // A precision only concerns fractions of seconds.
        (from, to) if from == to && (target.sizes.is_empty() || !text.contains('.')) => Some(owned()),
        (Type::Date, Type::Timestamp) if is_date(text) => Some(Value::Text(format!("{text} 00:00:00"))),
        (Type::Timestamp, Type::Date) => text.get(..10).filter(|d| is_date(d)).map(|d| Value::Text(d.to_owned())),
        (_, Type::Integer) if known && is_plain_integer(text) => {
            plain_number(text).filter(|n| in_range(n, target)).map(Value::number)
        }
        (_, Type::Decimal) if known && plain_number(text).is_some() => {
            target.number(plain_number(text).unwrap_or_default())
        }
        (_, Type::Double) if known && plain_number(text).is_some() => target.double(text.parse().unwrap_or(f64::NAN)),
        (_, Type::Timestamp) if known && is_timestamp(text) => Some(owned()),
        (_, Type::Date) if known && is_date(text) => Some(owned()),
        (_, Type::Time) if known && is_time(text) => Some(owned()),
        (_, Type::Timestamp) if known && is_date(text) => Some(Value::Text(format!("{text} 00:00:00"))),
        (_, Type::Integer | Type::Decimal | Type::Double | Type::Timestamp | Type::Date | Type::Time)
            if known && !readable =>
        {
            return Err(failed());
        }
        _ => None,
    })
}

/// Whether some engine has a word for a number or a moment.
fn is_word(text: &str) -> bool {
    const WORDS: [&str; 12] = [
        "nan",
        "inf",
        "infinity",
        "now",
        "today",
        "tomorrow",
        "yesterday",
        "epoch",
        "allballs",
        "true",
        "false",
        "null",
    ];
    let word = text.trim().trim_start_matches(['+', '-']);
    WORDS.iter().any(|known| word.eq_ignore_ascii_case(known))
}

fn is_plain_integer(text: &str) -> bool {
    plain_number(text).is_some() && !text.contains('.')
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
