//! What makes two failures look alike.

use super::finding::FindingKind;
use crate::dbms::EngineError;
use crate::sql::error::in_general;

/// How a failure shows. While it is reduced it stays the same, so that one bug does not turn into another.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Symptom {
    /// What kind of failure it is.
    pub kind: FindingKind,
    /// The engine's code of the error, if there was one.
    pub code: String,
    /// Its message without names and numbers.
    pub message: String,
}

impl Symptom {
    /// A wrong result, which has no error.
    pub const WRONG_RESULT: Self = Self { kind: FindingKind::WrongResult, code: String::new(), message: String::new() };

    /// That of an error.
    pub fn of(error: &EngineError) -> Self {
        Self { kind: error.class.into(), code: error.code.clone(), message: in_general(&error.message) }
    }
}
