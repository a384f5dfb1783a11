//! Functions on whose meaning PostgreSQL, SQLite, DuckDB and MariaDB agree.

use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive};

use crate::ir::{Expr, Type, Value};

use super::calendar::{Shift, Unit};
use super::number;

/// A function with a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Like {
        ignore_case: bool,
    },
    Upper,
    Lower,
    Length,
    Substring,
    Trim {
        left: bool,
        right: bool,
    },
    Replace,
    Concat {
        skips_null: bool,
    },
    Abs,
    Sign,
    Floor,
    Ceil,
    Round,
    Extreme {
        greatest: bool,
    },
    /// A part of a date or timestamp by its place in the text.
    DatePart {
        from: usize,
        to: usize,
    },
    Quarter,
    /// A date moved by a fixed distance.
    Shift(Shift),
    /// A date moved by a number of days or months.
    Moved(Unit),
}

impl Function {
    pub(super) fn of_call(name: &str, args: &[Expr]) -> Option<Self> {
        Self::by_name(name).or_else(|| {
            // A text that is used as a date is an error in some engines.
            matches!(args.first()?.ty().domain(), Type::Date | Type::Timestamp)
                .then(|| Self::of_date(name, args))
                .flatten()
        })
    }

    fn of_date(name: &str, args: &[Expr]) -> Option<Self> {
        Some(match (name, args) {
            ("extract_year" | "year", [_]) => Self::DatePart { from: 0, to: 4 },
            ("extract_month" | "month", [_]) => Self::DatePart { from: 5, to: 7 },
            ("extract_day" | "day" | "dayofmonth", [_]) => Self::DatePart { from: 8, to: 10 },
            ("extract_quarter" | "quarter", [_]) => Self::Quarter,
            (name, [moved, by]) if moved.ty().domain() == Type::Date && by.ty().is_whole() => {
                Self::Moved(Unit::of_function(name)?)
            }
            _ => return None,
        })
    }

    /// Whether it sees its arguments as texts.
    pub(super) fn reads_text(self) -> bool {
        matches!(
            self,
            Self::Like { .. }
                | Self::Upper
                | Self::Lower
                | Self::Length
                | Self::Substring
                | Self::Trim { .. }
                | Self::Replace
                | Self::Concat { .. }
        )
    }

    fn by_name(name: &str) -> Option<Self> {
        Some(match name {
            "like" => Self::Like { ignore_case: false },
            "ilike" => Self::Like { ignore_case: true },
            "upper" | "ucase" => Self::Upper,
            "lower" | "lcase" => Self::Lower,
            "length" | "char_length" | "character_length" => Self::Length,
            "substr" | "substring" => Self::Substring,
            "trim" => Self::Trim { left: true, right: true },
            "ltrim" => Self::Trim { left: true, right: false },
            "rtrim" => Self::Trim { left: false, right: true },
            "replace" => Self::Replace,
            "concat_op" => Self::Concat { skips_null: false },
            "concat" => Self::Concat { skips_null: true },
            "abs" => Self::Abs,
            "sign" => Self::Sign,
            "floor" => Self::Floor,
            "ceil" | "ceiling" => Self::Ceil,
            "round" => Self::Round,
            "greatest" => Self::Extreme { greatest: true },
            "least" => Self::Extreme { greatest: false },
            _ => return None,
        })
    }
}

/// The result, or `None` for arguments on which engines disagree or which have the wrong types.
pub(super) fn call(function: Function, args: &[Value]) -> Option<Value> {
    if args.iter().any(Value::is_null) {
        let open = match function {
            Function::Extreme { .. } | Function::Concat { skips_null: true } => true,
            // Where there is nothing to replace, some engines do not look at the replacement.
            Function::Replace => !args.iter().take(2).any(Value::is_null),
            _ => false,
        };
        return (!open).then_some(Value::Null);
    }
    match (function, args) {
        (Function::Extreme { greatest }, [first, rest @ ..]) => extreme(first, rest, greatest),
        (Function::Concat { .. }, parts) => {
            let texts = parts.iter().map(text).collect::<Option<Vec<_>>>();
            texts.map(|texts| Value::Text(texts.concat()))
        }
        (Function::Like { ignore_case }, [value, pattern, escape @ ..]) if escape.len() <= 1 => {
            match (text(value), text(pattern), escape.first().map(text)) {
                (Some(value), Some(pattern), None) => like(value, pattern, None, ignore_case),
                (Some(value), Some(pattern), Some(Some(escape))) => like(value, pattern, Some(escape), ignore_case),
                _ => None,
            }
        }
        (_, [Value::Text(value), rest @ ..]) => of_text(function, value, rest),
        (_, [value, rest @ ..]) if is_number(value) => of_number(function, value, rest),
        _ => None,
    }
}

/// Whether a result is another one where the arguments become doubles first.
pub(super) fn may_be_rounded(function: Function, args: &[Value], result: &Value) -> bool {
    let is_exact = |value: &Value| value.to_rational().is_none_or(|number| number::is_short(&number));
    let is_half = |value: &Value| value.to_rational().is_some_and(|number| *number.denom() == 2.into());
    let is_whole = |value: &Value| value.to_rational().is_some_and(|number| number.is_integer());
    let rounds = match args {
        // A half goes to the even neighbour.
        [value] if function == Function::Round => is_half(value),
        [value, _] if function == Function::Round => !is_whole(value),
        _ => false,
    };
    rounds || !args.iter().chain([result]).all(is_exact)
}

fn text(value: &Value) -> Option<&str> {
    if let Value::Text(t) = value { Some(t) } else { None }
}

fn is_number(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Number(_) | Value::Double(_))
}

fn extreme(first: &Value, rest: &[Value], greatest: bool) -> Option<Value> {
    let mut best = first;
    for value in rest {
        if value.compare(best)?.is_gt() == greatest {
            best = value;
        }
    }
    Some(best.clone())
}

fn of_text(function: Function, value: &str, rest: &[Value]) -> Option<Value> {
    let result = match (function, rest) {
        (Function::Upper, []) if value.is_ascii() => value.to_ascii_uppercase(),
        (Function::Lower, []) if value.is_ascii() => value.to_ascii_lowercase(),
        (Function::Length, []) if value.is_ascii() => return i64::try_from(value.len()).ok().map(Value::Int),
        (Function::Quarter, []) => {
            let month: i64 = value.get(..10).filter(|date| super::is_date(date))?[5..7].parse().ok()?;
            return Some(Value::Int((month + 2) / 3));
        }
        (Function::Shift(shift), []) => shift.apply(value)?,
        (Function::Moved(unit), [Value::Int(count)]) => unit.moved(value, *count)?,
        (Function::DatePart { from, to }, []) => {
            let date = value.get(..10).filter(|date| super::is_date(date))?;
            return date[from..to].parse().ok().map(Value::Int);
        }
        (Function::Substring, [Value::Int(start), length @ ..]) if *start >= 1 && value.is_ascii() => {
            let skip = usize::try_from(start - 1).ok()?;
            let take = match length {
                [] => usize::MAX,
                [Value::Int(n)] => usize::try_from(*n).ok()?,
                _ => return None,
            };
            value.chars().skip(skip).take(take).collect()
        }
        (Function::Trim { left, right }, []) => {
            let value = if left { value.trim_start_matches(' ') } else { value };
            (if right { value.trim_end_matches(' ') } else { value }).to_owned()
        }
        (Function::Replace, [Value::Text(from), Value::Text(to)]) => {
            if from.is_empty() {
                value.to_owned()
            } else {
                value.replace(from.as_str(), to)
            }
        }
        _ => return None,
    };
    Some(Value::Text(result))
}

fn of_number(function: Function, value: &Value, rest: &[Value]) -> Option<Value> {
    if let Value::Double(d) = value {
        return match (function, rest) {
            (Function::Abs, []) => Some(Value::Double(d.abs())),
            (Function::Floor, []) => Some(Value::Double(d.floor())),
            (Function::Ceil, []) => Some(Value::Double(d.ceil())),
            // Halves go away from zero or to the even neighbour.
            (Function::Round, []) if (d.fract().abs() - 0.5).abs() > 1e-9 => Some(Value::Double(d.round())),
            (Function::Sign, []) => Some(Value::int(i64::from(*d > 0.0) - i64::from(*d < 0.0))),
            _ => None,
        };
    }
    let number = value.to_rational()?;
    Some(Value::number(match (function, rest) {
        (Function::Abs, []) => number.abs(),
        (Function::Sign, []) => number.signum(),
        (Function::Floor, []) => number.floor(),
        (Function::Ceil, []) => number.ceil(),
        (Function::Round, []) => number::round(&number, 0),
        (Function::Round, [Value::Int(places)]) => number::round(&number, places.to_u32().filter(|p| *p <= 30)?),
        _ => return None::<BigRational>.map(Value::number),
    }))
}

/// `%` stands for any text, `_` for one character. A backslash without ESCAPE means itself or escapes.
fn like(value: &str, pattern: &str, escape: Option<&str>, ignore_case: bool) -> Option<Value> {
    // What one character is and how its case folds depends on the encoding and the language.
    if !value.is_ascii() || !pattern.is_ascii() {
        return None;
    }
    let mut escapes = escape.unwrap_or_default().chars();
    let escape_char = match (escape, escapes.next(), escapes.next()) {
        (None, ..) if pattern.contains('\\') => return None,
        (None, ..) => None,
        (Some(_), Some(c), None) => Some(c),
        (Some(_), ..) => return None,
    };
    let mut parts = Vec::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        parts.push(match c {
            // An escape at the end is an error or nothing.
            c if Some(c) == escape_char => Part::Char(chars.next()?),
            '%' => Part::Any,
            '_' => Part::One,
            c => Part::Char(c),
        });
    }
    let value: Vec<char> = value.chars().collect();
    let is_like = matches(&value, &parts, |a, b| a.eq_ignore_ascii_case(&b));
    // SQLite and MySQL ignore case in LIKE.
    let is_open = !ignore_case && is_like != matches(&value, &parts, |a, b| a == b);
    (!is_open).then_some(Value::Bool(is_like))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Char(char),
    One,
    Any,
}

/// Greedy matching that returns to the last `%`.
fn matches(value: &[char], parts: &[Part], same: impl Fn(char, char) -> bool) -> bool {
    let (mut at, mut part) = (0, 0);
    let mut retry = None;
    while at < value.len() {
        match parts.get(part) {
            Some(Part::Any) => {
                retry = Some((part + 1, at));
                part += 1;
            }
            Some(Part::One) => {
                at += 1;
                part += 1;
            }
            Some(Part::Char(c)) if same(*c, value[at]) => {
                at += 1;
                part += 1;
            }
            _ => {
                let Some((after, from)) = retry else { return false };
                retry = Some((after, from + 1));
                (part, at) = (after, from + 1);
            }
        }
    }
    parts[part..].iter().all(|p| *p == Part::Any)
}
