//! The database systems under test.
//!
//! One file or folder per target, behind [`Connection`]. Only this module talks to a target. Errors are classified by
//! the engine's codes, before any text.

pub mod install;
pub mod planted;
pub mod sqlite;
pub mod target;

use crate::compare::{BagHash, Row};
use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// What kind of error an engine reported, and with it what becomes of the case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorClass {
    /// The statement does not prepare: syntax, unknown names, wrong number of arguments. Voids the case.
    Semantic,
    /// The data made it fail: overflow, conversion, a violated constraint. Voids the case.
    Data,
    /// A limit set by Caqtus was reached: steps, rows, length, memory. A warning.
    Limit,
    /// The engine found itself broken: corruption, internal error, failed assertion. A finding.
    Internal,
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Semantic => "semantic error",
            Self::Data => "data error",
            Self::Limit => "statement limit",
            Self::Internal => "internal error",
        })
    }
}

/// An error that an engine reported.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("{message} (code {code})")]
pub struct EngineError {
    /// Its class.
    pub class: ErrorClass,
    /// The engine's own code.
    pub code: i32,
    /// The engine's text.
    pub message: String,
}

/// Bounds inside the engine, for one statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementLimits {
    /// Steps of the engine's virtual machine.
    pub steps_max: u64,
    /// Rows of a result.
    pub rows_max: u64,
    /// Bytes of one value or statement.
    pub bytes_max: u32,
}

/// A connection to one target that holds one database.
pub trait Connection {
    /// The engine's version, as it says itself.
    fn version(&self) -> String;

    /// A text that is different for every build whose behaviour may differ; keys caches.
    fn build_id(&self) -> String;

    /// Replaces the database by an empty one.
    fn reset(&mut self) -> Result<(), EngineError>;

    /// Runs a statement and drops its rows.
    fn execute(&mut self, sql: &str) -> Result<(), EngineError>;

    /// Runs a query and hashes its rows.
    fn query(&mut self, sql: &str) -> Result<BagHash, EngineError>;

    /// Runs a query and returns its rows.
    fn rows(&mut self, sql: &str) -> Result<Vec<Row>, EngineError>;

    /// Disables the optimizations of the mask for the statements that follow; 0 enables all.
    fn disable_optimizations(&mut self, mask: u32);
}
