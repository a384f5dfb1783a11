//! Validation of snippets on the engine that is installed.
//!
//! Every claim is read back from the engine, on rows of boundary values: one value per row, no row on an empty table,
//! the type of every value, NULL on a row of NULLs both stored and padded by an outer join while the table is filled,
//! the same values again with the rows inserted in reverse order and by other plans, and no error on any row.

use crate::compare::{Comparison, Row, compare};
use crate::dbms::{Connection, EngineError, with_switch};
use crate::sql::profile::{ColumnType, Profile, Switch};
use crate::sql::snippet::Snippet;
use crate::sql::types::{SqlType, Value};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What validation found out about a snippet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SnippetVerdict {
    /// It may be used, with these claims.
    Valid {
        /// The type of every value; `None` when it varies.
        ty: Option<SqlType>,
        /// All values are 0, 1 or NULL.
        boolean_valued: bool,
        /// NULL on a row of NULLs.
        null_preserving: bool,
    },
    /// It may not be used.
    Refused(String),
}

/// Raised whenever validation checks more or otherwise, so that cached verdicts of an older one are not used.
pub const VERSION: u32 = 4;

/// Rows of the filled table with values of their own.
const DISTINCT_ROWS: usize = 14;

/// Rows of the filled table; the last ones mix the columns of two others, so that every column has ties.
const ROWS: usize = 2 * DISTINCT_ROWS;

const FULL: &str = "snippet_full";
const REVERSED: &str = "snippet_reversed";
const INDEXED: &str = "snippet_indexed";
const NULLS: &str = "snippet_nulls";
const EMPTY: &str = "snippet_empty";

/// Their names.
pub const TABLES: [&str; 5] = [FULL, REVERSED, INDEXED, NULLS, EMPTY];

/// The queries that validate a snippet.
pub struct Validation<'a> {
    profile: &'a Profile,
    snippet: &'a Snippet,
    names: Vec<Arc<str>>,
}

impl<'a> Validation<'a> {
    /// The validation of a snippet.
    pub fn new(profile: &'a Profile, snippet: &'a Snippet) -> Self {
        let names = snippet.columns.iter().map(|(name, _)| name.as_str().into()).collect();
        Self { profile, snippet, names }
    }

    /// The snippet over a table.
    fn text(&self, table: &str) -> String {
        let mut text = String::new();
        self.snippet.render("c", &self.names, table, &mut text);
        text
    }

    /// The snippet on each row of a table.
    fn on(&self, table: &str) -> String {
        format!("SELECT c.rk, ({}) FROM {table} AS c", self.text(table))
    }

    /// The snippet on a row that an outer join padded.
    fn padded(&self) -> String {
        format!("SELECT ({}) FROM (SELECT 1 AS one) AS d LEFT JOIN {FULL} AS c ON 1 = 0", self.text(FULL))
    }

    /// The switch that changes plans most, which is the first of a profile.
    fn other_plan(&self) -> Option<&'a Switch> {
        self.profile.switches.first()
    }

    /// All queries whose rows are read, in order, each with the switch that is turned.
    pub fn all(&self) -> impl Iterator<Item = (String, Option<&'a Switch>)> {
        let plain = [EMPTY, FULL, NULLS, REVERSED, INDEXED].map(|table| (self.on(table), None));
        plain.into_iter().chain([(self.on(FULL), self.other_plan()), (self.padded(), None)])
    }
}

/// The tables that snippets are validated on.
pub fn setup(profile: &Profile) -> Vec<String> {
    let columns = &profile.snippet_table.columns;
    let declared: Vec<String> = columns.iter().map(|(name, ty)| format!("{name} {}", profile.declared(ty))).collect();
    let mut statements = profile.start.clone();
    for table in TABLES {
        statements.push(format!("CREATE TABLE {table}(rk INTEGER, {})", declared.join(", ")));
    }
    // An index over each column and its successor: another plan, which meets the rows in another order.
    let names: Vec<&String> = columns.keys().collect();
    for (at, name) in names.iter().enumerate() {
        let next = names[(at + 1) % names.len()];
        statements.push(format!("CREATE INDEX snippet_index{at} ON {INDEXED}({name}, {next})"));
    }
    let cell = |row: usize, column: usize, ty: &ColumnType| -> &str {
        let row = if row < DISTINCT_ROWS { row } else { (row + 5 * (column % 2)) % DISTINCT_ROWS };
        let values = profile.literals(ty);
        match row {
            0 => "NULL",
            1 if column.is_multiple_of(2) => "NULL",
            // Strides that share no factor with the lists' lengths, so that columns of one type differ.
            _ => values.get((row * 5 + column * 3) % values.len().max(1)).map_or("NULL", String::as_str),
        }
    };
    let rows: Vec<String> = (0..ROWS)
        .map(|row| {
            let cells: Vec<&str> = columns.values().enumerate().map(|(c, ty)| cell(row, c, ty)).collect();
            format!("({row}, {})", cells.join(", "))
        })
        .collect();
    statements.extend(rows.iter().map(|row| format!("INSERT INTO {FULL} VALUES {row}")));
    statements.extend(rows.iter().map(|row| format!("INSERT INTO {INDEXED} VALUES {row}")));
    statements.extend(rows.iter().rev().map(|row| format!("INSERT INTO {REVERSED} VALUES {row}")));
    statements.push(format!("INSERT INTO {NULLS} VALUES {}", rows[0]));
    statements
}

/// Validates one snippet on a database made by [`setup`].
pub fn validate(connection: &mut dyn Connection, profile: &Profile, snippet: &Snippet) -> SnippetVerdict {
    match examine(connection, profile, snippet) {
        Ok(verdict) => verdict,
        Err(error) => SnippetVerdict::Refused(format!("{}: {error}", error.class)),
    }
}

fn examine(
    connection: &mut dyn Connection,
    profile: &Profile,
    snippet: &Snippet,
) -> Result<SnippetVerdict, EngineError> {
    let validation = Validation::new(profile, snippet);
    let refused = |reason: &str| Ok(SnippetVerdict::Refused(reason.to_owned()));
    let mut values =
        |table: &str, switch: Option<&Switch>| with_switch(connection, switch, |c| c.rows(&validation.on(table)));
    if !values(EMPTY, None)?.is_empty() {
        return refused("gives a row on an empty table");
    }
    let full = values(FULL, None)?;
    let nulls = values(NULLS, None)?;
    if full.len() != ROWS || nulls.len() != 1 {
        return refused("does not give one value per row");
    }
    // Each of these would also differ if it gave other values every time.
    if compare(&full, &values(REVERSED, None)?) != Comparison::Equal {
        return refused("gives other values each time, or depends on the order of insertion");
    }
    let other_plans = [values(INDEXED, None)?, values(FULL, validation.other_plan())?];
    if other_plans.iter().any(|other| compare(&full, other) != Comparison::Equal) {
        return refused("gives other values each time, or depends on the plan");
    }
    let is_null = |rows: &[Row]| rows.iter().all(|row| row.last() == Some(&Value::Null));
    let null_preserving = is_null(&nulls) && is_null(&connection.rows(&validation.padded())?);
    let seen: Vec<&Value> = full.iter().filter_map(|row| row.get(1)).filter(|v| **v != Value::Null).collect();
    if seen.is_empty() {
        return refused("is NULL on every row");
    }
    let declared = connection.types(&format!("SELECT ({}) AS v FROM {FULL} AS c", validation.text(FULL)))?;
    let declared = declared.map(|types| types.first().copied().flatten());
    let all_of = |ty| seen.iter().all(|v| v.is_of(ty));
    if let Some(declared) = declared {
        let boolean = declared == Some(SqlType::Boolean)
            || (profile.truth_of_any_value && declared == Some(SqlType::Int) && all_of(SqlType::Boolean));
        let ty = declared.filter(|ty| *ty != SqlType::Boolean && all_of(*ty));
        return Ok(SnippetVerdict::Valid { ty, boolean_valued: boolean, null_preserving });
    }
    let ty = [SqlType::Int, SqlType::Real, SqlType::Text, SqlType::Blob].into_iter().find(|ty| all_of(*ty));
    Ok(SnippetVerdict::Valid { ty, boolean_valued: all_of(SqlType::Boolean), null_preserving })
}

/// The snippet with its claims, if it may be used.
pub fn with_verdict(mut snippet: Snippet, verdict: &SnippetVerdict) -> Option<Snippet> {
    match verdict {
        SnippetVerdict::Valid { ty, boolean_valued, null_preserving } => {
            snippet.ty = *ty;
            snippet.boolean_valued = *boolean_valued;
            snippet.null_preserving = *null_preserving;
            Some(snippet)
        }
        SnippetVerdict::Refused(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::profile;
    use crate::config::STATEMENT_LIMITS;
    use crate::dbms::sqlite::Sqlite;
    use crate::interpret::build;

    fn verdict(sql: &str) -> SnippetVerdict {
        let profile = profile("sqlite").expect("the shipped profile");
        let mut connection = Sqlite::linked(STATEMENT_LIMITS).expect("opens");
        build(&mut connection, &setup(&profile)).expect("sets up");
        validate(&mut connection, &profile, &Snippet::parse(sql, &profile).expect("parses"))
    }

    fn valid(ty: SqlType, boolean_valued: bool, null_preserving: bool) -> SnippetVerdict {
        SnippetVerdict::Valid { ty: Some(ty), boolean_valued, null_preserving }
    }

    #[test]
    fn claims_are_read_back() {
        assert_eq!(verdict("t.c_text || 'x'"), valid(SqlType::Text, false, true));
        assert_eq!(verdict("t.c_int > 1"), valid(SqlType::Int, true, true));
        assert_eq!(verdict("coalesce(t.c_int, 7) % 5"), valid(SqlType::Int, false, false));
        assert_eq!(
            verdict("CASE WHEN t.c_int > 0 THEN 1 ELSE 'a' END"),
            SnippetVerdict::Valid { ty: None, boolean_valued: false, null_preserving: false }
        );
    }

    #[test]
    fn what_differs_each_time_is_refused_even_if_no_word_tells() {
        let mut profile = (*profile("sqlite").expect("the shipped profile")).clone();
        profile.forbidden.words.clear();
        let mut connection = Sqlite::linked(STATEMENT_LIMITS).expect("opens");
        build(&mut connection, &setup(&profile)).expect("sets up");
        let mut of = |sql| validate(&mut connection, &profile, &Snippet::parse(sql, &profile).expect("parses"));
        assert!(matches!(of("t.c_int || random()"), SnippetVerdict::Refused(why) if why.contains("each time")));
        assert!(matches!(of("t.c_int || abs(1)"), SnippetVerdict::Valid { .. }));
    }

    #[test]
    fn null_on_a_null_table_is_not_enough() {
        // NULL where the table holds only NULLs, a number where a filled table is padded.
        let verdict = verdict("(SELECT max(u.c_int) FROM t AS u)");
        assert_eq!(verdict, valid(SqlType::Int, false, false));
    }

    #[test]
    fn what_is_no_value_of_the_row_is_refused() {
        // A bare column beside min() comes from whichever of the tied rows the plan meets first.
        let tied = "(SELECT x FROM (SELECT u.c_int AS x, min(u.c_int2) FROM t u WHERE u.c_int2 > t.c_int2))";
        for sql in [tied, "count(t.c_int)", "(SELECT count(t.c_int) FROM t AS u)", "abs(t.c_int)", "nope(t.c_int)"] {
            assert!(matches!(verdict(sql), SnippetVerdict::Refused(_)), "{sql}");
        }
    }
}
