//! SQL types and values as the prover sees them.

use std::cmp::Ordering;
use std::fmt;

use num_rational::BigRational;
use num_traits::Zero;

use super::number::{Kind, Number};

/// A type family. Widths and scales are dropped: what would depend on them (overflow, padding, truncation) is an
/// assumption or an uninterpreted cast.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// TRUE, FALSE or NULL.
    Boolean,
    /// A whole number type of at most 32 bits.
    Integer,
    /// NUMERIC and DECIMAL: exact rationals.
    Decimal,
    /// REAL, FLOAT, DOUBLE.
    Double,
    /// A number that engines take for one or another of these.
    Number(Number),
    /// CHAR, VARCHAR, TEXT.
    Text,
    /// DATE, as ISO text.
    Date,
    /// What a date becomes that an interval is added to: a timestamp in PostgreSQL and DuckDB, a date in MariaDB
    /// (<https://www.postgresql.org/docs/15/functions-datetime.html>, <https://mariadb.com/kb/en/date_add/>). As a date.
    Moment,
    /// TIME, as ISO text.
    Time,
    /// TIMESTAMP and DATETIME, as ISO text.
    Timestamp,
    /// Any other type, by its lower-case name. Values of it only exist in columns and uninterpreted functions.
    Other(String),
    /// The type of a bare NULL; unifies with every type.
    Unknown,
}

impl Type {
    /// The type of the result of a function nothing is known about. It meets itself and NULL: beside anything else an
    /// engine converts one of the two, and which one is not known.
    #[must_use]
    pub fn opaque() -> Self {
        Self::Other("unknown".to_owned())
    }

    /// Any number.
    pub fn is_numeric(&self) -> bool {
        matches!(self, Self::Integer | Self::Decimal | Self::Double | Self::Number(_))
    }

    /// What engines take a number for.
    pub fn as_number(&self) -> Option<Number> {
        match self {
            Self::Integer => Some(Number::everywhere(true, Kind::Whole)),
            Self::Decimal => Some(Number::everywhere(false, Kind::Exact)),
            Self::Double => Some(Number::everywhere(false, Kind::Float)),
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The plain type that has all its values.
    #[must_use]
    pub fn domain(&self) -> Self {
        match self {
            Self::Number(number) if number.whole => Self::Integer,
            Self::Number(_) => Self::Decimal,
            Self::Moment => Self::Date,
            ty => ty.clone(),
        }
    }

    /// Whether every engine takes it for a whole number.
    pub fn is_whole(&self) -> bool {
        self.as_number().is_some_and(Number::is_whole)
    }

    /// Whether it is a number that no engine takes for a double, other than for a quotient.
    pub fn is_exact(&self) -> bool {
        self.as_number().is_some_and(|number| !number.has_float())
    }

    /// The type of a value that is one or the other, or `None` when the two cannot meet without a conversion whose
    /// result engines disagree on.
    #[must_use]
    pub fn unify(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (a, b) if a == b => Some(a.clone()),
            (Self::Unknown, t) | (t, Self::Unknown) => Some(t.clone()),
            (Self::Date, Self::Moment) | (Self::Moment, Self::Date) => Some(Self::Moment),
            (a, b) => Some(a.as_number()?.meet(b.as_number()?).ty()),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Boolean => "BOOLEAN",
            Self::Integer => "INTEGER",
            Self::Decimal => "DECIMAL",
            Self::Double => "DOUBLE",
            Self::Number(number) => return number.fmt(f),
            Self::Text => "TEXT",
            Self::Date => "DATE",
            Self::Moment => "DATE OR TIMESTAMP",
            Self::Time => "TIME",
            Self::Timestamp => "TIMESTAMP",
            Self::Other(name) => name,
            Self::Unknown => "UNKNOWN",
        })
    }
}

/// A value. `Null` has no type of its own.
#[derive(Clone, Debug)]
pub enum Value {
    /// NULL.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number of type Integer or Decimal that fits.
    Int(i64),
    /// A value of type Integer (whole) or Decimal. [`Value::number`] makes this only for what does not fit `Int`, but
    /// numbers of equal value are equal however they are kept.
    Number(BigRational),
    /// A floating point value, never NaN.
    Double(f64),
    /// A value of type Text, Date, Time, Timestamp or Other, compared byte by byte.
    Text(String),
}

impl Value {
    /// The whole number `n`.
    pub fn int(n: i64) -> Self {
        Self::Int(n)
    }

    /// An exact number.
    pub fn number(n: BigRational) -> Self {
        use num_traits::ToPrimitive;
        if n.is_integer()
            && let Some(small) = n.numer().to_i64()
        {
            return Self::Int(small);
        }
        Self::Number(n)
    }

    /// The exact value of an Integer or Decimal.
    pub fn to_rational(&self) -> Option<BigRational> {
        match self {
            Self::Int(n) => Some(BigRational::from_integer((*n).into())),
            Self::Number(n) => Some(n.clone()),
            _ => None,
        }
    }

    /// The nearest double of a number of any type.
    #[expect(clippy::cast_precision_loss, reason = "the nearest double is wanted")]
    pub fn to_double(&self) -> Option<f64> {
        match self {
            Self::Int(n) => Some(*n as f64),
            Self::Number(n) => Some(to_f64(n)),
            Self::Double(d) => Some(*d),
            _ => None,
        }
    }

    /// Whether this is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The order of two non-NULL values of comparable types (FALSE before TRUE, text by bytes), `None` if either is
    /// NULL or the types do not compare.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => Some(a.cmp(b)),
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(b)),
            (Self::Number(a), Self::Number(b)) => Some(a.cmp(b)),
            (Self::Text(a), Self::Text(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
            (Self::Double(_), _) | (_, Self::Double(_)) => self.to_double()?.partial_cmp(&other.to_double()?),
            (Self::Int(_) | Self::Number(_), _) => Some(self.to_rational()?.cmp(&other.to_rational()?)),
            _ => None,
        }
    }

    /// A rank that separates values of types that do not compare.
    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(_) => 1,
            Self::Int(_) | Self::Number(_) | Self::Double(_) => 2,
            Self::Text(_) => 3,
        }
    }
}

/// The nearest double of a rational.
pub fn to_f64(number: &BigRational) -> f64 {
    use num_traits::ToPrimitive;
    number.to_f64().unwrap_or(f64::INFINITY)
}

/// The order in which NULL is one value, below all others: that of bags of rows, not of SQL comparisons.
impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank()).then_with(|| self.compare(other).unwrap_or(Ordering::Equal))
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Value {}

impl std::hash::Hash for Value {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.rank().hash(state);
        match self {
            Self::Null => {}
            Self::Bool(b) => b.hash(state),
            // Numbers that are equal across representations must hash alike.
            Self::Int(_) | Self::Number(_) | Self::Double(_) => {
                let double = self.to_double().unwrap_or_default();
                (if double == 0.0 { 0.0 } else { double }).to_bits().hash(state);
            }
            Self::Text(t) => t.hash(state),
        }
    }
}

/// Prints an SQL literal.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Bool(true) => f.write_str("TRUE"),
            Self::Bool(false) => f.write_str("FALSE"),
            Self::Int(n) => write!(f, "{n}"),
            Self::Number(n) if n.is_integer() => write!(f, "{}", n.numer()),
            Self::Number(n) => f.write_str(&decimal(n)),
            Self::Double(d) => write!(f, "{d:e}"),
            Self::Text(t) => write!(f, "'{}'", t.replace('\'', "''")),
        }
    }
}

/// Decimal digits if the expansion ends within 30 places, a quotient otherwise.
fn decimal(number: &BigRational) -> String {
    let mut scaled = number.clone();
    let ten = BigRational::from_integer(10.into());
    for places in 1..=30usize {
        scaled *= &ten;
        if scaled.is_integer() {
            let digits = scaled.numer().to_string();
            let (sign, digits) = digits.strip_prefix('-').map_or(("", digits.as_str()), |d| ("-", d));
            let digits = format!("{digits:0>width$}", width = places + 1);
            let (whole, fraction) = digits.split_at(digits.len() - places);
            return format!("{sign}{whole}.{fraction}");
        }
    }
    debug_assert!(!number.denom().is_zero());
    format!("({}.0 / {})", number.numer(), number.denom())
}
