//! A script that checks itself: one more query in the engine's own shell says whether the results of two queries are the
//! same bag of rows.
//!
//! Both results are stored, and their rows counted: a row that one has more often than the other is the bug. Storing may
//! change a value or a plan, and an engine may compare its own values in another way than [`crate::compare`]. So nothing is
//! taken for granted: a form is used only where the engine, asked when the finding was made, stored what the queries
//! returned, said that the two differ, and said that each result is the same as itself.

use super::finding::{Finding, FindingKind, FindingQuery};
use super::report::switch_lines;
use crate::compare::{Comparison, Row, compare};
use crate::dbms::{Connection, EngineError};
use crate::interpret::{StepResult, all_results, make};
use crate::program::{Effect, Relation, Step, Text, constants};
use crate::sql::profile::{Profile, Switch, Wire};
use crate::sql::types::Value;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// How a script compares the results of two queries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelfCheck {
    /// The positions of the queries.
    pub queries: [usize; 2],
    /// The number of their columns.
    pub columns: usize,
    /// How results are stored.
    pub storing: Storing,
}

/// How the result of a query is stored in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Storing {
    /// In columns without a type, which keep any value as it is.
    Untyped,
    /// In a table that the query defines.
    AsQuery,
    /// The same, where the query's columns have no names that a table can have.
    Named,
}

/// What the last query of a script says where the results differ.
pub const BUG: &str = "bug";

/// What it says where they do not.
pub const NO_BUG: &str = "no bug";

/// The name of its column.
pub const VERDICT: &str = "verdict";

/// A line of a script.
enum Line<'a> {
    /// A statement.
    Statement(String),
    /// An optimizer switch that is turned, or put back.
    Turn(&'a Switch, bool),
}

/// Why the results of two queries are not compared by the engine itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Incomparable {
    /// The failure is no difference between results.
    #[error("it is no difference between results")]
    NoDifference,
    /// The relation is another one than equality.
    #[error("its queries need not return the same rows, but rows that are related in another way")]
    Related,
    /// What is compared is more than the rows of a query.
    #[error("what it compares is what statements do, not what queries return")]
    Effects,
    /// Values are bound by the program that calls the engine.
    #[error("its queries have parameters, whose values are bound by the program that calls the engine")]
    Parameters,
}

/// The tables that hold the results.
const TABLES: [&str; 2] = ["caqtus_1", "caqtus_2"];

impl Finding {
    /// The two queries that must return the same rows and do not.
    pub fn different_queries(&self) -> Result<[usize; 2], Incomparable> {
        if self.kind != FindingKind::WrongResult {
            return Err(Incomparable::NoDifference);
        }
        let rows = |at: usize| self.queries.get(at)?.result.rows();
        let checks = self.checks();
        let violated = checks.iter().find_map(|check| Some((check, check.violation(rows)?)));
        let (check, (one, other)) = violated.ok_or(Incomparable::NoDifference)?;
        if check.relation != Relation::EqualBag {
            return Err(Incomparable::Related);
        }
        for at in [one, other] {
            let Step { undone, effect, failing, parameters, .. } = &self.queries[at].step;
            if *undone || *failing || *effect != Effect::default() {
                return Err(Incomparable::Effects);
            }
            if !parameters.is_empty() {
                return Err(Incomparable::Parameters);
            }
        }
        Ok([one, other])
    }
}

impl SelfCheck {
    /// The first form that was seen to work on this engine, if there is one. `tick` is called before each attempt, and says
    /// whether there is time for it.
    pub fn find(
        connection: &mut dyn Connection,
        profile: &Profile,
        finding: &Finding,
        tick: &mut dyn FnMut() -> bool,
    ) -> Option<Self> {
        let queries = finding.different_queries().ok()?;
        let results = queries.map(|at| finding.queries[at].result.rows().unwrap_or_default());
        // Where results are computed in different ways, a fraction is the same within a tolerance only.
        let broken = |value: &Value| matches!(value, Value::Real(real) if real.fract() != 0.0 || !real.is_finite());
        if results.iter().copied().flatten().flatten().any(broken) {
            return None;
        }
        let columns = results.iter().find_map(|rows| rows.first())?.len();
        let forms = match profile.wire {
            Wire::Sqlite => &[Storing::Untyped][..],
            Wire::Duckdb | Wire::Postgres | Wire::Mysql | Wire::Python => &[Storing::AsQuery, Storing::Named],
        };
        let [one, other] = queries;
        forms.iter().map(|storing| Self { queries, columns, storing: *storing }).find(|form| {
            let mut says = |queries: [usize; 2], expected: &str| {
                tick()
                    && Self { queries, ..form.clone() }
                        .run(connection, profile, finding)
                        .is_ok_and(|said| said.as_deref() == Some(expected))
            };
            says(queries, BUG) && says([one, one], NO_BUG) && says([other, other], NO_BUG)
        })
    }

    /// Makes the database, runs the queries and then these lines; what the last query says. Nothing if what was stored is
    /// not what the queries returned.
    fn run(
        &self,
        connection: &mut dyn Connection,
        profile: &Profile,
        finding: &Finding,
    ) -> Result<Option<String>, EngineError> {
        make(connection, &finding.statements)?;
        let steps: Vec<Step> = finding.queries.iter().map(|query| query.step.clone()).collect();
        let results = all_results(connection, profile, &steps);
        let with =
            |(query, result): (&FindingQuery, &StepResult)| FindingQuery { result: result.clone(), ..query.clone() };
        let queries: Vec<FindingQuery> = finding.queries.iter().zip(&results).map(with).collect();
        for line in self.lines(&queries, profile) {
            match line {
                Line::Statement(sql) => connection.execute(&sql)?,
                Line::Turn(switch, on) => connection.set_switch(switch, on)?,
            }
        }
        for (table, at) in TABLES.into_iter().zip(self.queries) {
            let stored = connection.rows(&format!("SELECT * FROM {table}"))?;
            if results[at].rows().is_none_or(|rows| compare(rows, &stored) != Comparison::Equal) {
                return Ok(None);
            }
        }
        Ok(the_text(&connection.rows(&self.question())?))
    }

    /// The lines that store the results and say whether they differ, for the engine's own shell.
    pub fn script(&self, queries: &[FindingQuery], profile: &Profile) -> String {
        let text = |line| match line {
            Line::Statement(sql) => sql + ";\n",
            Line::Turn(switch, on) => switch_lines(switch, on),
        };
        let lines: String = self.lines(queries, profile).into_iter().map(text).collect();
        lines + &self.question() + ";\n"
    }

    /// What stores the results. The holes of the queries are filled from the results that they have.
    fn lines<'a>(&self, queries: &'a [FindingQuery], profile: &Profile) -> Vec<Line<'a>> {
        let rows = |at: usize| queries.get(at)?.result.rows();
        let filled = |text: &Text| text.filled(profile, rows).map_or_else(|_| text.to_string(), Into::into);
        let mut lines = Vec::new();
        for (table, at) in TABLES.into_iter().zip(self.queries) {
            let step = &queries[at].step;
            let constant = step.evaluation.as_ref().map(|_| rows(at).and_then(constants));
            let sql = match constant {
                None => Some(filled(&step.sql)),
                Some(constant) => constant,
            };
            let switch = step.switch.as_deref();
            lines.extend(step.before.iter().map(|text| Line::Statement(filled(text))));
            lines.extend(switch.map(|switch| Line::Turn(switch, true)));
            lines.extend(self.stored(table, sql.as_deref()).into_iter().map(Line::Statement));
            lines.extend(switch.map(|switch| Line::Turn(switch, false)));
            lines.extend(step.after.iter().map(|text| Line::Statement(filled(text))));
        }
        lines
    }

    /// The statements that store the rows of a query, or none, in a table.
    fn stored(&self, table: &str, sql: Option<&str>) -> Vec<String> {
        let names = self.names();
        match (self.storing, sql) {
            (Storing::Untyped, sql) => {
                let made = format!("CREATE TABLE {table}({names})");
                [made].into_iter().chain(sql.map(|sql| format!("INSERT INTO {table} {sql}"))).collect()
            }
            (Storing::AsQuery, Some(sql)) => vec![format!("CREATE TABLE {table} AS {sql}")],
            (Storing::Named, Some(sql)) => {
                vec![format!("CREATE TABLE {table} AS WITH result({names}) AS ({sql}) SELECT * FROM result")]
            }
            // The other one says what columns there are.
            (Storing::AsQuery | Storing::Named, None) => {
                let [first, second] = TABLES;
                let other = if table == first { second } else { first };
                vec![format!("CREATE TABLE {table} AS SELECT * FROM {other} WHERE 1 = 0")]
            }
        }
    }

    /// The query that says whether the stored results differ.
    fn question(&self) -> String {
        let names = self.names();
        let [first, second] = TABLES;
        format!(
            "WITH both_results(side, {names}) AS (\n  SELECT 1, a.* FROM {first} AS a UNION ALL SELECT -1, b.* FROM {second} AS b\n)\n\
             SELECT CASE WHEN EXISTS (SELECT 1 FROM both_results GROUP BY {names} HAVING SUM(side) <> 0)\n  \
             THEN '{BUG}' ELSE '{NO_BUG}' END AS {VERDICT}"
        )
    }

    fn names(&self) -> String {
        let mut names = String::from("c1");
        for at in 2..=self.columns {
            // Writing to a string cannot fail.
            let _ = write!(names, ", c{at}");
        }
        names
    }
}

/// The only value of rows, if it is a text.
fn the_text(rows: &[Row]) -> Option<String> {
    match rows {
        [row] => match row.as_slice() {
            [Value::Text(text)] => String::from_utf8(text.clone()).ok(),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::profile;
    use crate::config::STATEMENT_LIMITS;
    use crate::dbms::sqlite::Sqlite;
    use crate::triage::finding::tests::finding;

    /// What is found for two queries, as if they had to return the same rows.
    fn found(one: &str, other: &str) -> Option<SelfCheck> {
        let profile = profile("sqlite").expect("shipped");
        let mut connection = Sqlite::linked(STATEMENT_LIMITS).expect("opens");
        let mut finding = finding();
        finding.kind = FindingKind::WrongResult;
        finding.checks = None;
        finding.statements = vec!["CREATE TABLE t(a)".to_owned(), "INSERT INTO t VALUES (1), (NULL), ('x')".to_owned()];
        let steps = [one, other].map(Step::query);
        make(&mut connection, &finding.statements).expect("makes");
        let results = all_results(&mut connection, &profile, &steps);
        finding.queries = steps.into_iter().map(FindingQuery::from).collect();
        finding.queries.iter_mut().zip(results).for_each(|(query, result)| query.result = result);
        SelfCheck::find(&mut connection, &profile, &finding, &mut || true)
    }

    #[test]
    fn results_that_differ_as_bags_are_told_apart_by_the_engine() {
        for (one, other) in [
            ("SELECT a FROM t", "SELECT a FROM t WHERE a IS NOT NULL"),
            ("SELECT a FROM t", "SELECT a FROM t UNION ALL SELECT NULL"),
            ("SELECT a, a FROM t", "SELECT a, 1 FROM t"),
            ("SELECT a FROM t WHERE a = 1", "SELECT '1'"),
            ("SELECT 1", "SELECT 1 WHERE 0"),
            ("WITH w AS (SELECT 1 AS a) SELECT a FROM w", "VALUES (2)"),
        ] {
            assert!(found(one, other).is_some(), "{one} / {other}");
        }
    }

    #[test]
    fn what_the_engine_cannot_be_asked_has_no_check() {
        for (one, other) in [
            // The same bag; not the same twice; a fraction.
            ("SELECT a FROM t", "SELECT a FROM t ORDER BY a DESC"),
            ("SELECT abs(random())", "SELECT 1"),
            ("SELECT 0.1", "SELECT 0.2"),
        ] {
            assert_eq!(found(one, other), None, "{one} / {other}");
        }
    }

    #[test]
    fn a_crash_or_another_relation_has_none() {
        let mut finding = finding();
        assert_eq!(finding.different_queries(), Err(Incomparable::NoDifference));
        finding.kind = FindingKind::WrongResult;
        finding.queries[0].result = StepResult::Rows(Vec::new());
        let check = |relation| Some(vec![crate::program::Check { relation, steps: vec![1, 0] }]);
        finding.checks = check(Relation::SubBag);
        assert_eq!(finding.different_queries(), Err(Incomparable::Related));
        finding.checks = check(Relation::EqualBag);
        assert!(finding.different_queries().is_ok());
        finding.queries[0].step.undone = true;
        assert_eq!(finding.different_queries(), Err(Incomparable::Effects));
    }
}
