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

/// A message without names, types and numbers, on one line. What is all in capitals is taken for a type.
pub fn in_general(message: &str) -> String {
    let is_type = |word: &str| {
        // Signals tell crashes apart.
        if word.contains("SIG") {
            return false;
        }
        let mut letters = word.chars().filter(char::is_ascii_alphabetic);
        letters.by_ref().take(2).filter(char::is_ascii_uppercase).count() == 2
            && letters.all(|c| c.is_ascii_uppercase())
    };
    let said = |word: &&str| !word.contains(|c: char| c.is_ascii_digit() || "\"'`".contains(c)) && !is_type(word);
    message.split_whitespace().filter(said).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::in_general;

    #[test]
    fn messages_of_one_error_are_one_whatever_they_name() {
        let used = |source: &str, referenced: &str| {
            in_general(&format!(
                "INTERNAL Error: used on vector of different\ntype (source {source} referenced {referenced})"
            ))
        };
        assert_eq!(used("VARCHAR", "INTEGER[]"), used("DECIMAL(18,3)", "BIGINT"));
        assert_eq!(used("INT", "DOUBLE"), "Error: used on vector of different type (source referenced");
        assert_eq!(in_general("signal: 6 (SIGABRT)"), "signal: (SIGABRT)");
        assert_eq!(in_general("no such column: \"c0\" in t1 I saw"), "no such column: in I saw");
    }
}
