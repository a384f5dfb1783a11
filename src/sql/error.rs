//! Classes of the errors that engines report.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What kind of error an engine reported, and with it what becomes of the case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorClass {
    /// The statement does not prepare: syntax, unknown names, wrong number of arguments. Voids the case.
    Semantic,
    /// The data made it fail: overflow, conversion, a violated constraint. Voids the case.
    Data,
    /// A limit set by Caqtus was reached: steps, time, rows, length, memory. A warning.
    Limit,
    /// The engine says that it does not have this. Voids the case.
    Unsupported,
    /// What a part of the case should be filled with cannot stand there. Not the engine's. Voids the case.
    Unfit,
    /// The engine found itself broken: corruption, internal error, failed assertion. A finding.
    Internal,
    /// The connection ended and nothing shows that the engine is to blame. A warning.
    ConnectionLost,
    /// The server ended, or the part of it that served the connection. A finding.
    Crash,
    /// The statement went on although the engine was told to stop. A finding.
    Hang,
}

impl ErrorClass {
    /// Whether the error is a finding by itself.
    pub fn is_finding(self) -> bool {
        matches!(self, Self::Internal | Self::Crash | Self::Hang)
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Semantic => "semantic error",
            Self::Data => "data error",
            Self::Limit => "statement limit",
            Self::Unsupported => "unsupported feature",
            Self::Unfit => "unfit",
            Self::Internal => "internal error",
            Self::ConnectionLost => "connection lost",
            Self::Crash => "crash",
            Self::Hang => "hang",
        })
    }
}

/// A message without names and numbers, on one line.
pub fn in_general(message: &str) -> String {
    let names = |word: &&str| !word.contains(|c: char| c.is_ascii_digit() || "\"'`".contains(c));
    message.split_whitespace().filter(names).collect::<Vec<_>>().join(" ")
}
