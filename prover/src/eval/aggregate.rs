//! Aggregate functions of a bag of values.

use std::collections::BTreeSet;

use crate::ir::{AggregateFunction, ArithmeticOp, Type, Value};

use super::EvalError;
use super::code::Domain;
use super::machine::Machine;
use super::{number, opaque};

impl Machine<'_> {
    /// The result of an aggregate over argument rows of `arity` values each, laid end to end. None is NULL if the
    /// function skips NULL.
    pub(super) fn finish(
        &self,
        function: &AggregateFunction,
        distinct: bool,
        arity: usize,
        mut values: Vec<Value>,
        ty: &Type,
    ) -> Result<Value, EvalError> {
        let arity = arity.max(1);
        if distinct {
            let rows: BTreeSet<&[Value]> = values.chunks(arity).collect();
            values = rows.into_iter().flatten().cloned().collect();
        }
        let rows = values.len() / arity;
        // COUNT(DISTINCT a, b) counts the rows without a NULL.
        if matches!(function, AggregateFunction::Other(name) if name == "count") {
            return Ok(count(rows));
        }
        if rows == 0 && !matches!(function, AggregateFunction::CountStar | AggregateFunction::Count) {
            // In MySQL and MariaDB these have a value all the same
            // (<https://dev.mysql.com/doc/refman/8.4/en/aggregate-functions.html#function_bit-and>).
            if let AggregateFunction::Other(name) = function
                && BITS.contains(&name.as_str())
            {
                self.note_opaque(name);
            }
            return Ok(Value::Null);
        }
        let as_double = *ty == Type::Double;
        match function {
            AggregateFunction::CountStar | AggregateFunction::Count => Ok(count(rows)),
            AggregateFunction::Sum => {
                if *ty == Type::Decimal {
                    values.iter().for_each(|value| self.note_long(value));
                }
                let sum = number::sum(values, as_double)?;
                self.note_number(&sum);
                Ok(sum)
            }
            AggregateFunction::Min => extreme(values, false),
            AggregateFunction::Max => extreme(values, true),
            AggregateFunction::Avg => {
                // Some engines divide doubles.
                let sum = number::sum(values, as_double)?;
                self.note_long(&sum);
                let average = number::arithmetic(ArithmeticOp::Div, Domain::Exact, &sum, &count(rows))?;
                self.note_number(&average);
                Ok(average)
            }
            AggregateFunction::Other(name) if name == SINGLE_VALUE => match values.as_slice() {
                [value] => Ok(value.clone()),
                _ => Err(EvalError::ScalarSubqueryRows),
            },
            AggregateFunction::Other(name) => {
                if arity == 1
                    && let Some(result) = known(name, &values)
                {
                    return Ok(result);
                }
                self.note_opaque(name);
                Ok(opaque::aggregate(self.seed, name, &values, arity, ty))
            }
        }
    }
}

/// The value of a group of one row, as a scalar subquery has it.
const SINGLE_VALUE: &str = "single_value";

/// Whether rows with a NULL argument do not count.
pub(super) fn skips_null(function: &AggregateFunction) -> bool {
    !matches!(function, AggregateFunction::Other(name) if name == SINGLE_VALUE)
}

pub(super) fn count(rows: usize) -> Value {
    Value::int(i64::try_from(rows).unwrap_or(i64::MAX))
}

fn extreme(values: Vec<Value>, greatest: bool) -> Result<Value, EvalError> {
    let mut values = values.into_iter();
    let mut best = values.next().unwrap_or(Value::Null);
    for value in values {
        let Some(order) = value.compare(&best) else {
            return Err(EvalError::Unsupported(format!("a comparison of {value} with {best}")));
        };
        if order == (if greatest { std::cmp::Ordering::Greater } else { std::cmp::Ordering::Less }) {
            best = value;
        }
    }
    Ok(best)
}

/// Aggregates of the bits of numbers.
const BITS: [&str; 3] = ["bit_and", "bit_or", "bit_xor"];

/// The aggregates besides the standard five on which engines agree. Of negative numbers some engines have the bits as a number
/// without a sign.
fn known(name: &str, values: &[Value]) -> Option<Value> {
    let truths = || values.iter().map(|v| if let Value::Bool(b) = v { Some(*b) } else { None });
    let bits = || values.iter().map(|v| if let Value::Int(n) = v { Some(*n).filter(|n| *n >= 0) } else { None });
    match name {
        "bool_and" | "every" => truths().try_fold(true, |all, t| Some(all & t?)).map(Value::Bool),
        "bool_or" => truths().try_fold(false, |any, t| Some(any | t?)).map(Value::Bool),
        "bit_and" => bits().try_fold(-1, |all, n| Some(all & n?)).map(Value::Int),
        "bit_or" => bits().try_fold(0, |any, n| Some(any | n?)).map(Value::Int),
        _ => None,
    }
}
