//! Arithmetic on numbers.

use num_rational::BigRational;
use num_traits::{Signed, Zero};

use crate::ir::{ArithmeticOp, Value};

use super::EvalError;
use super::code::Domain;

/// `a op b`; NULL if either is. A whole quotient or remainder is that of division truncating towards zero.
pub(super) fn arithmetic(op: ArithmeticOp, domain: Domain, a: &Value, b: &Value) -> Result<Value, EvalError> {
    if a.is_null() || b.is_null() {
        return Ok(Value::Null);
    }
    if domain == Domain::Double || matches!(a, Value::Double(_)) || matches!(b, Value::Double(_)) {
        return double(op, a.to_double().ok_or_else(|| not_number(a))?, b.to_double().ok_or_else(|| not_number(b))?);
    }
    if let (Value::Int(x), Value::Int(y)) = (a, b)
        && let Some(result) = small(op, domain, *x, *y)?
    {
        return Ok(Value::Int(result));
    }
    let x = a.to_rational().ok_or_else(|| not_number(a))?;
    let y = b.to_rational().ok_or_else(|| not_number(b))?;
    let by_value = matches!(domain, Domain::ByValue | Domain::Mixed);
    let truncates = domain == Domain::Integer || by_value && x.is_integer() && y.is_integer();
    Ok(Value::number(match op {
        ArithmeticOp::Add => x + y,
        ArithmeticOp::Sub => x - y,
        ArithmeticOp::Mul => x * y,
        ArithmeticOp::Div | ArithmeticOp::Rem if y.is_zero() => return Err(EvalError::DivisionByZero),
        ArithmeticOp::Div if truncates => (x / y).trunc(),
        ArithmeticOp::Div => x / y,
        ArithmeticOp::Rem => &x - &y * (&x / &y).trunc(),
    }))
}

/// The operator if engines differ on its result for these values, none of them NULL: a quotient of whole numbers is cut
/// in some engines and not in others, and so is the sign of a remainder that of either side.
pub(super) fn dialect(op: ArithmeticOp, domain: Domain, a: &Value, b: &Value) -> Option<&'static str> {
    let is_negative = |value: &Value| value.to_double().is_some_and(|d| d < 0.0);
    let is_exact = || Some((a.to_rational()? / b.to_rational()?).is_integer());
    match op {
        // Some engines compute it with doubles.
        _ if domain == Domain::Mixed && !exact_result(op, a, b).is_some_and(|n| is_short(&n)) => Some("rounding"),
        ArithmeticOp::Div if matches!(domain, Domain::Integer | Domain::ByValue | Domain::Mixed) => {
            let whole = [a, b].iter().all(|v| v.to_rational().is_some_and(|n| n.is_integer()));
            (whole && is_exact() == Some(false)).then_some("/")
        }
        ArithmeticOp::Rem if is_negative(a) || is_negative(b) => (is_exact() != Some(true)).then_some("%"),
        _ => None,
    }
}

/// The result without rounding.
fn exact_result(op: ArithmeticOp, a: &Value, b: &Value) -> Option<BigRational> {
    let (a, b) = (a.to_rational()?, b.to_rational()?);
    Some(match op {
        ArithmeticOp::Add => a + b,
        ArithmeticOp::Sub => a - b,
        ArithmeticOp::Mul => a * b,
        ArithmeticOp::Div => a / b,
        ArithmeticOp::Rem => &a - &b * (&a / &b).trunc(),
    })
}

/// `None` if the result is not a small whole number.
fn small(op: ArithmeticOp, domain: Domain, x: i64, y: i64) -> Result<Option<i64>, EvalError> {
    Ok(match op {
        ArithmeticOp::Add => x.checked_add(y),
        ArithmeticOp::Sub => x.checked_sub(y),
        ArithmeticOp::Mul => x.checked_mul(y),
        ArithmeticOp::Div | ArithmeticOp::Rem if y == 0 => return Err(EvalError::DivisionByZero),
        ArithmeticOp::Div if domain == Domain::Exact && x.checked_rem(y) != Some(0) => None,
        ArithmeticOp::Div => x.checked_div(y),
        ArithmeticOp::Rem => x.checked_rem(y),
    })
}

fn double(op: ArithmeticOp, x: f64, y: f64) -> Result<Value, EvalError> {
    let result = match op {
        ArithmeticOp::Add => x + y,
        ArithmeticOp::Sub => x - y,
        ArithmeticOp::Mul => x * y,
        ArithmeticOp::Div | ArithmeticOp::Rem if y == 0.0 => return Err(EvalError::DivisionByZero),
        ArithmeticOp::Div => x / y,
        ArithmeticOp::Rem => x % y,
    };
    if result.is_nan() {
        return Err(EvalError::Unsupported("a result that is not a number".to_owned()));
    }
    Ok(Value::Double(result))
}

fn not_number(value: &Value) -> EvalError {
    EvalError::Unsupported(format!("arithmetic on {value}"))
}

/// Whether a number of few digits is the same as a double, and what is computed of a few of them too.
pub(super) fn is_short(number: &BigRational) -> bool {
    let bound = BigRational::from_integer((1i64 << 40).into());
    (number * BigRational::from_integer(1024.into())).is_integer() && number.abs() < bound
}

/// The sum of numbers, which does not depend on their order.
pub(super) fn sum(mut values: Vec<Value>, as_double: bool) -> Result<Value, EvalError> {
    let domain = if as_double { Domain::Double } else { Domain::Exact };
    if as_double || values.iter().any(|v| matches!(v, Value::Double(_))) {
        values.sort_unstable();
    }
    let start = if as_double { Value::Double(0.0) } else { Value::Int(0) };
    values.iter().try_fold(start, |sum, value| arithmetic(ArithmeticOp::Add, domain, &sum, value))
}

/// Rounded to `places` decimal places, a half away from zero.
pub(super) fn round(number: &BigRational, places: u32) -> BigRational {
    let scale = power_of_ten(places);
    let scaled = number.abs() * &scale + BigRational::new(1.into(), 2.into());
    let rounded = scaled.floor() / scale;
    if number.is_negative() { -rounded } else { rounded }
}

/// Whether a number has at most `precision` digits, `scale` of them after the point.
pub(super) fn fits(number: &BigRational, precision: u32, scale: u32) -> bool {
    (number * power_of_ten(scale)).is_integer() && number.abs() < power_of_ten(precision.saturating_sub(scale))
}

fn power_of_ten(exponent: u32) -> BigRational {
    BigRational::from_integer(num_bigint::BigInt::from(10).pow(exponent))
}
