//! What a process does that judges snippets on a target: it says what the engine's catalogue has, and validates. A snippet
//! may end the engine, and then that process, and nothing else.

use super::validate::{Candidate, Parsed, SnippetVerdict, setup, validate};
use crate::compare::Row;
use crate::dbms::{Connection, EngineError, ErrorClass};
use crate::sql::profile::{Probe, Profile};
use serde::{Deserialize, Serialize};

/// What it is told.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Run a query of the engine's catalogue.
    Rows(String),
    /// Validate these, one after the other.
    Validate(Vec<Candidate>),
}

/// What it says.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Said {
    /// The target is open.
    Open {
        /// The engine's version.
        version: String,
        /// What tells its builds apart.
        build_id: String,
    },
    /// It cannot be opened.
    Refused {
        /// Why, and what to do.
        message: String,
    },
    /// The rows of a query; none if the engine refused it.
    Rows(Option<Vec<Row>>),
    /// The verdict on the next snippet.
    Verdict(SnippetVerdict),
}

/// Judges snippets on a connection.
pub struct Judge<'a> {
    connection: &'a mut dyn Connection,
    profile: &'a Profile,
    /// Whether the tables of validation are there.
    is_ready: bool,
}

impl<'a> Judge<'a> {
    /// A judge on a connection whose database it may replace.
    pub fn new(connection: &'a mut dyn Connection, profile: &'a Profile) -> Self {
        Self { connection, profile, is_ready: false }
    }

    /// The rows of a query of the engine's catalogue.
    pub fn rows(&mut self, sql: &str) -> Option<Vec<Row>> {
        self.connection.rows(sql).ok()
    }

    /// The verdict on a snippet. A connection that was lost is made again once: it was the snippet before, as a rule.
    pub fn verdict(&mut self, candidate: &Candidate) -> SnippetVerdict {
        let snippet = match Parsed::read(candidate, self.profile) {
            Ok(snippet) => snippet,
            Err(error) => return SnippetVerdict::Refused(error.to_string()),
        };
        self.of(&snippet).unwrap_or_else(|error| SnippetVerdict::Refused(format!("{}: {error}", error.class)))
    }

    /// The same of one that was read. The error is that the engine cannot be reached any more, which says nothing of the
    /// snippet.
    pub fn of(&mut self, snippet: &Parsed) -> Result<SnippetVerdict, EngineError> {
        let mut verdict = self.once(snippet);
        if is_of(&verdict, ErrorClass::ConnectionLost) {
            self.is_ready = false;
            verdict = self.once(snippet);
        }
        if is_of(&verdict, ErrorClass::ConnectionLost) {
            self.is_ready = false;
            self.connection.reset()?;
        }
        // After an internal error an engine may refuse everything.
        if is_of(&verdict, ErrorClass::Internal) || is_of(&verdict, ErrorClass::Crash) {
            self.is_ready = false;
        }
        Ok(verdict)
    }

    fn once(&mut self, snippet: &Parsed) -> SnippetVerdict {
        if !self.is_ready
            && let Err(error) = self.prepare()
        {
            return SnippetVerdict::Refused(format!("{}: {error}", error.class));
        }
        self.is_ready = true;
        let misreads = |probe: &&Probe| probe.may_misread(snippet.sql()) && self.connection.rows(&probe.sql).is_err();
        if let Some(probe) = self.profile.probes.iter().find(misreads) {
            return SnippetVerdict::Refused(probe.is_missing());
        }
        validate(self.connection, self.profile, snippet)
    }

    fn prepare(&mut self) -> Result<(), EngineError> {
        self.connection.reset()?;
        for statement in setup(self.profile) {
            match self.connection.execute(&statement) {
                Err(error) if error.class.is_finding() || error.class == ErrorClass::ConnectionLost => {
                    return Err(error);
                }
                // Not every engine takes every index.
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether a refusal is an error of a class.
fn is_of(verdict: &SnippetVerdict, class: ErrorClass) -> bool {
    matches!(verdict, SnippetVerdict::Refused(why) if why.starts_with(&format!("{class}: ")))
}
