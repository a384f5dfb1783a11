//! The value of an expression.

use std::borrow::Cow;

use crate::ir::{ArithmeticOp, CompareOp, Value};

use super::EvalError;
use super::code::{Code, Domain, Sub};
use super::machine::{Cells, Env, Machine, Tuple};
use super::{cast, function, number, opaque};

/// A truth value; `None` is NULL.
type Truth = Option<bool>;

impl Machine<'_> {
    /// The value of `code` in the rows of `env`.
    pub(super) fn value<'e>(&self, code: &'e Code, env: &'e Env<'_>) -> Result<Cow<'e, Value>, EvalError> {
        match code {
            Code::Column { depth, slot } => column(env, *depth, *slot).map(Cow::Borrowed),
            Code::Literal(value) => Ok(Cow::Borrowed(value)),
            Code::Arithmetic(op, domain, a, b) => {
                self.spend()?;
                let (a, b) = (self.value(a, env)?, self.value(b, env)?);
                let result = number::arithmetic(*op, *domain, &a, &b)?;
                self.note_number(&result);
                // SQLite's decimals are doubles, and so are quotients in DuckDB.
                if *domain == Domain::Exact || *op == ArithmeticOp::Div {
                    [&*a, &*b, &result].into_iter().for_each(|number| self.note_long(number));
                }
                if let Some(name) = number::dialect(*op, *domain, &a, &b).filter(|_| !result.is_null()) {
                    self.note_opaque(name);
                }
                Ok(Cow::Owned(result))
            }
            Code::Case { branches, otherwise } => {
                for (condition, value) in branches {
                    if self.truth(condition, env)? == Some(true) {
                        return self.value(value, env);
                    }
                }
                self.value(otherwise, env)
            }
            Code::Cast { value, target } => {
                self.spend()?;
                let value = self.value(value, env)?;
                if value.is_null() {
                    return Ok(value);
                }
                if let Some(result) = cast::cast(&value, target)? {
                    return Ok(Cow::Owned(result));
                }
                self.note_opaque(&target.name);
                Ok(Cow::Owned(opaque::strict(self.seed, &target.name, &value, &target.to)))
            }
            Code::Call { function, name, args, ty, mixed, ratio } => {
                self.spend()?;
                let values = self.values(args, env)?;
                if let Some(function) = function
                    && let Some(result) = function::call(*function, &values)
                    && !(*mixed && function::may_be_rounded(*function, &values, &result))
                {
                    if *ratio {
                        values.iter().chain([&result]).for_each(|number| self.note_long(number));
                    }
                    return Ok(Cow::Owned(result));
                }
                self.note_opaque(name);
                Ok(Cow::Owned(opaque::call(self.seed, name, &values, ty)))
            }
            Code::Scalar(query) => self.scalar(query, env).map(Cow::Owned),
            _ => Ok(Cow::Owned(self.truth(code, env)?.map_or(Value::Null, Value::Bool))),
        }
    }

    /// The value of a condition.
    pub(super) fn truth(&self, code: &Code, env: &Env<'_>) -> Result<Truth, EvalError> {
        self.spend()?;
        match code {
            Code::And(parts) => self.connective(parts, false, env),
            Code::Or(parts) => self.connective(parts, true, env),
            Code::Not(a) => Ok(self.truth(a, env)?.map(|t| !t)),
            Code::Compare(op, a, b) => compare(*op, &*self.value(a, env)?, &*self.value(b, env)?),
            Code::Same(a, b) => {
                let (a, b) = (self.value(a, env)?, self.value(b, env)?);
                match (a.is_null(), b.is_null()) {
                    (false, false) => compare(CompareOp::Eq, &a, &b),
                    (a, b) => Ok(Some(a && b)),
                }
            }
            Code::IsNull(a) => Ok(Some(self.value(a, env)?.is_null())),
            Code::IsTruth(a, wanted) => Ok(Some(self.truth(a, env)? == Some(*wanted))),
            Code::Exists(query) => self.exists(query, env).map(Some),
            Code::Quantified { row, op, all, query } => self.quantified(row, *op, *all, query, env),
            _ => match *self.value(code, env)? {
                Value::Null => Ok(None),
                Value::Bool(b) => Ok(Some(b)),
                _ => Err(EvalError::Unsupported("a condition that is not a truth value".to_owned())),
            },
        }
    }

    /// Kleene AND (`decides` FALSE) or OR (`decides` TRUE).
    fn connective(&self, parts: &[Code], decides: bool, env: &Env<'_>) -> Result<Truth, EvalError> {
        let mut result = Some(!decides);
        for part in parts {
            match self.truth(part, env)? {
                Some(t) if t == decides => return Ok(Some(decides)),
                Some(_) => {}
                None => result = None,
            }
        }
        Ok(result)
    }

    fn exists(&self, query: &Sub, env: &Env<'_>) -> Result<bool, EvalError> {
        if query.cache.is_some() {
            return Ok(!self.rows(query, Some(env))?.is_empty());
        }
        let mut found = false;
        self.run(&query.node, Some(env), &mut |_| {
            found = true;
            Ok(false)
        })?;
        Ok(found)
    }

    fn scalar(&self, query: &Sub, env: &Env<'_>) -> Result<Value, EvalError> {
        let mut result = None;
        self.run_sub(query, Some(env), &mut |tuple| {
            if result.is_some() {
                return Err(EvalError::ScalarSubqueryRows);
            }
            result = Some(tuple.cells().get(0).cloned().unwrap_or(Value::Null));
            Ok(true)
        })?;
        Ok(result.unwrap_or(Value::Null))
    }

    fn quantified(
        &self,
        row: &[Code],
        op: CompareOp,
        all: bool,
        query: &Sub,
        env: &Env<'_>,
    ) -> Result<Truth, EvalError> {
        let left = row.iter().map(|code| self.value(code, env)).collect::<Result<Vec<_>, _>>()?;
        // ANY is an OR over the rows, which TRUE decides; ALL is an AND, which FALSE decides.
        let decides = !all;
        let mut result = Some(all);
        self.run_sub(query, Some(env), &mut |tuple: Tuple<'_>| {
            self.spend()?;
            match compare_rows(op, &left, tuple.cells())? {
                Some(t) if t == decides => {
                    result = Some(decides);
                    return Ok(false);
                }
                Some(_) => {}
                None => result = None,
            }
            Ok(true)
        })?;
        Ok(result)
    }
}

fn column<'e>(env: &'e Env<'_>, depth: usize, slot: usize) -> Result<&'e Value, EvalError> {
    let mut env = env;
    for _ in 0..depth {
        env = env.outer.ok_or_else(missing_column)?;
    }
    env.cells.get(slot).ok_or_else(missing_column)
}

fn missing_column() -> EvalError {
    EvalError::Unsupported("a column that is not there".to_owned())
}

/// SQL's comparison: NULL if either side is.
fn compare(op: CompareOp, a: &Value, b: &Value) -> Result<Truth, EvalError> {
    if a.is_null() || b.is_null() {
        return Ok(None);
    }
    match a.compare(b) {
        Some(order) => Ok(Some(op.holds(order))),
        None => Err(EvalError::Unsupported(format!("a comparison of {a} with {b}"))),
    }
}

/// `=` of rows is the AND of the columns, `<>` its negation; other operators have one column.
fn compare_rows(op: CompareOp, left: &[Cow<'_, Value>], right: Cells<'_>) -> Result<Truth, EvalError> {
    let decides = op != CompareOp::Eq;
    let mut result = Some(!decides);
    for (slot, a) in left.iter().enumerate() {
        let b = right.get(slot).ok_or_else(missing_column)?;
        match compare(op, a, b)? {
            Some(t) if left.len() == 1 => return Ok(Some(t)),
            Some(t) if t == decides => return Ok(Some(decides)),
            Some(_) => {}
            None => result = None,
        }
    }
    Ok(result)
}
