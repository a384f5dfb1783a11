//! A finding as a regression test, in the form of an engine's own runner.
//!
//! Whatever the form, a test expects that two queries agree, which an engine does that is right. Which rows those are need
//! not be known. What a form cannot test is refused: a test that cannot fail is none.

use super::finding::{Finding, FindingKind};
use super::report::{script, switch_lines};
use super::selfcheck::{Incomparable, NO_BUG, VERDICT};
use crate::sql::profile::{Profile, Wire};
use serde::Deserialize;
use std::fmt::Write as _;
use thiserror::Error;
use utoipa::ToSchema;

/// Whose runner is to read a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Style {
    /// SQLite's own, of the sqllogictest project.
    Sqlite,
    /// `unittest` of DuckDB.
    Duckdb,
    /// `pg_regress` of PostgreSQL: `sql/NAME.sql` with `expected/NAME.out`.
    Postgres,
    /// Any other runner of sqllogictest files.
    Sqllogictest,
}

impl Style {
    /// That of an engine.
    pub fn of(wire: Wire) -> Self {
        match wire {
            Wire::Sqlite => Self::Sqlite,
            Wire::Duckdb => Self::Duckdb,
            Wire::Postgres => Self::Postgres,
            Wire::Mysql | Wire::Python => Self::Sqllogictest,
        }
    }
}

/// A file of a regression test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestFile {
    /// Its path, from where the runner has its tests.
    pub path: String,
    /// What is in it.
    pub text: String,
}

/// Files as one text: of several each behind its name, as `head` prints them.
pub fn in_one(files: &[TestFile]) -> String {
    match files {
        [one] => one.text.clone(),
        some => {
            let named: Vec<String> =
                some.iter().map(|TestFile { path, text }| format!("==> {path} <==\n{text}")).collect();
            named.join("\n")
        }
    }
}

/// Why a finding has no regression test in a form.
#[derive(Debug, Error)]
pub enum Untestable {
    /// The form is of another engine.
    #[error("pg_regress tests PostgreSQL, and this is a finding of {0}; choose another --style")]
    OtherEngine(String),
    /// What must hold cannot be said in a test.
    #[error("no runner can test it: {0}; `caqtus bug replay` does, and repro.sql says what must hold")]
    Incomparable(#[from] Incomparable),
    /// The statement fails where it was found, as it must.
    #[error(
        "no runner can test it: a statement of it must fail, with a message that is not known; `caqtus bug replay` tests it"
    )]
    Failing,
    /// A switch that is no statement.
    #[error(
        "runners cannot turn the optimizer switch {0}, without which it does not show; `caqtus bug replay` tests it, and \
         repro.sql turns it in the engine's own shell"
    )]
    Switch(String),
    /// The engine cannot compare the results.
    #[error(
        "pg_regress compares what psql prints, and the server was not seen to tell the two results apart where it stores \
         them (repro.sql would end with that query); --style sqllogictest compares them in the runner"
    )]
    Unstored,
}

impl Finding {
    /// A regression test of it in the form of a runner.
    pub fn regression_test(&self, profile: &Profile, style: Style) -> Result<Vec<TestFile>, Untestable> {
        if self.kind == FindingKind::WrongResult {
            self.different_queries()?;
        }
        if self.queries.iter().any(|query| query.step.failing) {
            return Err(Untestable::Failing);
        }
        let switches = self.queries.iter().filter_map(|query| query.step.switch.as_deref());
        if let Some(switch) = switches.into_iter().find(|switch| switch.disable_mask != 0) {
            return Err(Untestable::Switch(switch.name.clone()));
        }
        let one = |path: String, text: String| Ok(vec![TestFile { path, text }]);
        match style {
            Style::Sqlite => {
                one(format!("{}.test", self.id), format!("hash-threshold 0\n\n{}", self.sqllogictest(profile)))
            }
            Style::Duckdb => {
                let path = format!("test/sql/caqtus/{}.test", self.id);
                let about = format!("{}, {}", self.kind, self.fingerprint().cause);
                let text = format!(
                    "# name: {path}\n# description: {about}\n# group: [caqtus]\n\nstatement ok\nPRAGMA enable_verification\n\n{}",
                    self.sqllogictest(profile)
                );
                one(path, text)
            }
            Style::Sqllogictest => one(format!("{}.slt", self.id), self.sqllogictest(profile)),
            Style::Postgres if profile.wire != Wire::Postgres => Err(Untestable::OtherEngine(profile.name.clone())),
            Style::Postgres => self.pg_regress(profile),
        }
    }

    /// The script, and what psql prints of it as `pg_regress` runs it, with `-a -q`: the script's lines, and behind a query its
    /// rows (<https://www.postgresql.org/docs/current/regress-evaluation.html>).
    fn pg_regress(&self, profile: &Profile) -> Result<Vec<TestFile>, Untestable> {
        let name = format!("caqtus_{}", self.id);
        let mut sql = format!("-- {}: {}\n", self.kind, self.fingerprint().cause.replace('\n', " "));
        // Writing to a string cannot fail. The tables of other tests may have the same names.
        let _ = writeln!(sql, "SET client_min_messages = warning;\nCREATE SCHEMA {name};\nSET search_path = {name};");
        let refused = self.refused.as_deref().unwrap_or_default();
        for (_, statement) in self.statements.iter().enumerate().filter(|(at, _)| !refused.contains(at)) {
            let _ = writeln!(sql, "{};", statement.trim());
        }
        let mut verdict = String::new();
        if self.kind == FindingKind::WrongResult {
            let check = self.self_check.as_ref().ok_or(Untestable::Unstored)?;
            let [one, other] = check.queries.map(|at| self.context_of(at));
            let _ =
                write!(sql, "-- These return the same rows: {one}; {other}.\n{}", check.script(&self.queries, profile));
            verdict = format!(" {VERDICT} \n{}\n {NO_BUG}\n(1 row)\n\n", "-".repeat(VERDICT.len() + 2));
        } else {
            let _ = writeln!(sql, "-- These run; which rows they return does not matter.\n\\o /dev/null");
            for (at, query) in self.queries.iter().enumerate() {
                let turn = |on| query.step.switch.as_deref().map(|switch| switch_lines(switch, on)).unwrap_or_default();
                let _ = write!(sql, "{}{}{}", turn(true), script(&self.queries, at, profile), turn(false));
            }
            let _ = writeln!(sql, "\\o");
        }
        let last = format!("DROP SCHEMA {name} CASCADE;\n");
        let expected = format!("{sql}{verdict}{last}");
        Ok(vec![
            TestFile { path: format!("sql/{name}.sql"), text: sql + &last },
            TestFile { path: format!("expected/{name}.out"), text: expected },
        ])
    }

    /// What a query is an instance of.
    fn context_of(&self, at: usize) -> String {
        let query = &self.queries[at];
        query.context.clone().unwrap_or_else(|| format!("member {} of {}", query.step.member, self.class))
    }
}
