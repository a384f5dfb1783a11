//! A finding as a script for sqllogictest: queries that must return the same rows share a label, so the script holds on an
//! engine that is right, whatever the rows are.

use super::finding::Finding;
use crate::interpret::StepResult;
use crate::program::{Effect, Relation, Step, Text};
use crate::sql::profile::{Profile, Wire};
use serde::Deserialize;
use std::fmt::Write as _;
use utoipa::ToSchema;

/// Whose runner is to read a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Style {
    /// SQLite's own, of the sqllogictest project.
    Sqlite,
    /// `unittest` of DuckDB.
    Duckdb,
    /// `sqllogictest-rs`, which speaks PostgreSQL's protocol.
    Postgres,
}

impl Style {
    /// That of an engine; for one that has none, PostgreSQL's.
    pub fn of(wire: Wire) -> Self {
        match wire {
            Wire::Sqlite => Self::Sqlite,
            Wire::Duckdb => Self::Duckdb,
            Wire::Postgres | Wire::Mysql | Wire::Python => Self::Postgres,
        }
    }
}

impl Finding {
    /// A regression test of it in the form of a runner.
    pub fn regression_test(&self, profile: &Profile, style: Style) -> String {
        let script = self.sqllogictest(profile);
        match style {
            Style::Sqlite => format!("hash-threshold 0\n\n{script}"),
            Style::Duckdb => {
                let name = format!("test/sql/caqtus/{}.test", self.id);
                let about = format!("{}, {}", self.kind, self.fingerprint().cause);
                format!(
                    "# name: {name}\n# description: {about}\n# group: [caqtus]\n\nstatement ok\nPRAGMA enable_verification\n\n{script}"
                )
            }
            Style::Postgres => script,
        }
    }

    /// The script. What has no place in that form, such as a parameter that is bound or a relation other than equality, is
    /// said in a comment.
    pub fn sqllogictest(&self, profile: &Profile) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "# {} in {} {}, oracle {}, class {}",
            self.kind, profile.name, self.version, self.oracle, self.class
        );
        let _ = writeln!(out, "# Queries with the same label must return the same rows.\n");
        let refused = self.refused.as_deref().unwrap_or_default();
        for (at, sql) in self.statements.iter().enumerate() {
            let outcome = if refused.contains(&at) { "error" } else { "ok" };
            let _ = writeln!(out, "statement {outcome}\n{}\n", one_block(sql));
        }
        for (at, query) in self.queries.iter().enumerate() {
            let Step { before, sql, parameters, after, switch, undone, effect, failing, .. } = &query.step;
            let rows = |at: usize| self.queries.get(at)?.result.rows();
            let filled = |text: &Text| text.filled(profile, rows).map_or_else(|_| text.to_string(), Into::into);
            if let Some(switch) = switch {
                let _ = writeln!(out, "# with the optimizer switch {}", switch.name);
            }
            for (number, literal) in (1..).zip(parameters) {
                let _ = writeln!(out, "# parameter {number} is bound to {}", literal.replace('\n', " "));
            }
            let outcome = |out: &mut String, outcome: &str, sql: &str| {
                let _ = writeln!(out, "statement {outcome}\n{}\n", one_block(sql));
            };
            let statement = |out: &mut String, sql: &str| outcome(out, "ok", sql);
            if *undone {
                statement(&mut out, "BEGIN");
            }
            for (number, text) in before.iter().enumerate() {
                let last = number + 1 == before.len();
                outcome(&mut out, if *failing && last { "error" } else { "ok" }, &filled(text));
            }
            if *effect == Effect::Count {
                let _ = writeln!(out, "# The number of rows that it changed is what is compared.\n");
            } else {
                let columns = match &query.result {
                    StepResult::Error(_) | StepResult::None => 1,
                    _ => query.result.rows().and_then(|rows| rows.first()).map_or(1, Vec::len),
                };
                let label = self.label(at).map(|label| format!(" {label}")).unwrap_or_default();
                let _ =
                    writeln!(out, "query {} rowsort{label}\n{}\n", "T".repeat(columns.max(1)), one_block(&filled(sql)));
            }
            after.iter().for_each(|text| statement(&mut out, &filled(text)));
            if *undone {
                statement(&mut out, "ROLLBACK");
            }
        }
        for check in self.checks().iter().filter(|check| check.relation != Relation::EqualBag) {
            let numbers: Vec<String> = check.steps.iter().map(|at| (at + 1).to_string()).collect();
            let _ = writeln!(out, "# Queries {} {}", numbers.join(", "), check.relation.words());
        }
        out
    }

    /// What the queries that must return the same rows as this one have in common.
    fn label(&self, at: usize) -> Option<String> {
        let checks = self.checks();
        let equal = checks.iter().position(|check| check.relation == Relation::EqualBag && check.steps.contains(&at));
        equal.map(|number| format!("same-{}", number + 1))
    }
}

/// A statement without empty lines, which end a block.
fn one_block(sql: &str) -> String {
    sql.lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n")
}
