//! The database systems under test.
//!
//! One file or folder per target, behind [`Connection`]. Only this module talks to a target. Errors are classified by
//! the engine's codes, before any text; the codes are data of the dialect's profile, except for SQLite's.

pub mod duckdb;
pub mod install;
pub mod mysql;
pub mod planted;
pub mod postgres;
pub mod python;
pub mod sqlite;
pub mod target;

pub use crate::sql::error::ErrorClass;

use crate::compare::{BagHash, Row};
use crate::config::StatementLimits;
use crate::sql::profile::Switch;
use crate::sql::types::{SqlType, Value};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use thiserror::Error;

/// An error that an engine reported.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("{message}{}", if code.is_empty() { String::new() } else { format!(" (code {code})") })]
pub struct EngineError {
    /// Its class.
    pub class: ErrorClass,
    /// The engine's own code; empty where it gave none.
    pub code: String,
    /// The engine's text.
    pub message: String,
}

impl EngineError {
    /// An error without a code.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self { class, code: String::new(), message: message.into() }
    }

    /// The limit on rows was reached.
    fn too_many_rows(limits: StatementLimits) -> Self {
        Self::new(ErrorClass::Limit, format!("more than {} rows", limits.rows_max))
    }
}

/// A connection to one target that holds one database.
pub trait Connection {
    /// The engine's version, as it says itself.
    fn version(&self) -> String;

    /// A text that is different for every build whose behaviour may differ; keys caches.
    fn build_id(&self) -> String;

    /// Replaces the database by an empty one. A server that was lost is started or reached again.
    fn reset(&mut self) -> Result<(), EngineError>;

    /// Replaces the database by an empty one and the session by a new one: of what statements have set, nothing is left.
    fn renew(&mut self) -> Result<(), EngineError> {
        self.reset()
    }

    /// Runs a statement and drops its rows.
    fn execute(&mut self, sql: &str) -> Result<(), EngineError>;

    /// Runs a query and hashes its rows.
    fn query(&mut self, sql: &str) -> Result<BagHash, EngineError> {
        Ok(BagHash::of(&self.rows(sql)?))
    }

    /// Runs a query and returns its rows.
    fn rows(&mut self, sql: &str) -> Result<Vec<Row>, EngineError>;

    /// Runs a query with the values of literals bound to its parameters, and returns its rows.
    fn rows_bound(&mut self, sql: &str, parameters: &[String]) -> Result<Vec<Row>, EngineError> {
        match parameters {
            [] => self.rows(sql),
            _ => Err(EngineError::new(ErrorClass::Unsupported, "parameters are bound by statements here")),
        }
    }

    /// The types that a query's columns have before it runs, a type that classes do not have as `None`; `None` in all on
    /// engines where only values have types.
    fn types(&mut self, _sql: &str) -> Result<Option<Vec<Option<SqlType>>>, EngineError> {
        Ok(None)
    }

    /// Turns an optimizer switch for the statements that follow, or puts it back.
    fn set_switch(&mut self, switch: &Switch, on: bool) -> Result<(), EngineError> {
        let statements = if on { &switch.on } else { &switch.off };
        statements.iter().try_for_each(|statement| self.execute(statement))
    }

    /// Runs a statement that changes a table. How many rows it changed, where the engine says so.
    fn change(&mut self, sql: &str) -> Result<Option<u64>, EngineError> {
        self.execute(sql).map(|()| None)
    }

    /// Begins what [`Connection::roll_back`] undoes.
    fn begin(&mut self) -> Result<(), EngineError> {
        self.execute("BEGIN")
    }

    /// Undoes what was changed since [`Connection::begin`], also after an error.
    fn roll_back(&mut self) -> Result<(), EngineError> {
        self.execute("ROLLBACK")
    }

    /// CPU time that a server of our own has used; `None` where the engine is inside this process or is not ours.
    fn server_cpu(&self) -> Option<Duration> {
        None
    }
}

/// Runs work with a switch turned, and puts it back.
pub fn with_switch<T>(
    connection: &mut dyn Connection,
    switch: Option<&Switch>,
    work: impl FnOnce(&mut dyn Connection) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    let Some(switch) = switch else { return work(connection) };
    connection.set_switch(switch, true)?;
    let result = work(connection);
    let back = connection.set_switch(switch, false);
    let value = result?;
    back.map(|()| value)
}

/// The number that is the only value of rows.
fn count_of(rows: &[Row]) -> Option<u64> {
    match rows {
        [row] => match row.as_slice() {
            [Value::Int(count)] => u64::try_from(*count).ok(),
            _ => None,
        },
        _ => None,
    }
}

/// A number as text, exact where it is whole and fits: results compare as numbers, whatever their type.
fn number(text: &str) -> Value {
    let whole = match text.split_once('.') {
        Some((whole, zeros)) if zeros.bytes().all(|b| b == b'0') => whole,
        _ => text,
    };
    match (whole.parse(), text.parse()) {
        (Ok(int), _) => Value::Int(int),
        (_, Ok(real)) => Value::Real(real),
        _ => Value::Text(text.as_bytes().to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact_where_they_can_be() {
        assert_eq!(number("12"), Value::Int(12));
        assert_eq!(number("-12.00"), Value::Int(-12));
        assert_eq!(number("9223372036854775807.0"), Value::Int(i64::MAX));
        assert_eq!(number("0.5"), Value::Real(0.5));
        assert_eq!(number("9223372036854775808"), Value::Real(9_223_372_036_854_775_808.0));
        assert_eq!(number("1e3"), Value::Real(1000.0));
        assert_eq!(number("a"), Value::Text(b"a".to_vec()));
    }
}
