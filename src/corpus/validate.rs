//! Validation of snippets on the engine that is installed.
//!
//! Every claim is read back from the engine, on rows of boundary values. Of an expression: one value per row, no row on an
//! empty table, the type of every value, NULL on a row of NULLs both stored and padded by an outer join while the table is
//! filled, the same values again with the rows inserted in reverse order and by other plans, and whether it fails on some
//! rows. Of a table: the types of its columns, the same rows again in the same ways, and that it runs on empty tables.

use crate::clock;
use crate::compare::{Comparison, Row, compare};
use crate::dbms::{Connection, EngineError, ErrorClass, with_switch};
use crate::sql::profile::{ColumnType, Profile, Switch};
use crate::sql::snippet::{COMBINATION, Snippet, SnippetError, SnippetKind};
use crate::sql::table_snippet::{Mapped, SOURCE_COLUMNS, SOURCES, TableSnippet};
use crate::sql::types::{SqlType, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// What validation found out about a snippet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SnippetVerdict {
    /// An expression that may be used, with these claims.
    Valid {
        /// The type of every value; `None` when it varies.
        ty: Option<SqlType>,
        /// All values are 0, 1 or NULL.
        boolean_valued: bool,
        /// NULL on a row of NULLs.
        null_preserving: bool,
        /// It fails on some rows.
        may_fail: bool,
        /// How long it took on the rows of a table.
        micros: u64,
    },
    /// A table that may be used.
    Table {
        /// The types that each output column can stand for.
        yields: Vec<BTreeSet<SqlType>>,
        /// How long it took on small tables.
        micros: u64,
    },
    /// It may not be used.
    Refused(String),
}

/// Raised whenever validation checks more or otherwise, so that cached verdicts of an older one are not used.
pub const VERSION: u32 = 6;

/// A snippet that takes longer on a few rows is too slow to be put into queries.
const SLOW: Duration = Duration::from_millis(200);

/// The share of rows, in percent, that a snippet must have a value on.
const WORKING_PERCENT_MIN: usize = 60;

/// Rows of a table snippet on small tables, at most: it is joined with others.
const TABLE_ROWS_MAX: usize = 400;

/// Rows of the filled table with values of their own.
const DISTINCT_ROWS: usize = 14;

/// Rows of the filled table; the last ones mix the columns of two others, so that every column has ties.
const ROWS: usize = 2 * DISTINCT_ROWS;

/// Rows of a filled default table of table snippets.
const SOURCE_ROWS: usize = 7;

/// Rows of one with many ties.
const TIED_ROWS: usize = 12;

const FULL: &str = "snippet_full";
const REVERSED: &str = "snippet_reversed";
const INDEXED: &str = "snippet_indexed";
const NULLS: &str = "snippet_nulls";
const EMPTY: &str = "snippet_empty";
/// An empty one whose columns have the last of the names that tables give their types.
const DECLARED_OTHERWISE: &str = "snippet_otherwise";
const TIES: &str = "snippet_ties";
const TIES_REVERSED: &str = "snippet_seit";

/// The tables of expressions.
const TABLES: [&str; 5] = [FULL, REVERSED, INDEXED, NULLS, EMPTY];

/// The default tables of table snippets, in each of these forms.
const FORMS: [&str; 6] = [FULL, REVERSED, INDEXED, EMPTY, TIES, TIES_REVERSED];

/// A snippet that nobody has judged.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Candidate {
    /// What it stands for.
    pub kind: SnippetKind,
    /// Its text.
    pub sql: String,
}

/// A snippet that passed the checks by name.
#[derive(Debug, Clone)]
pub enum Parsed {
    /// An expression.
    Expression(Snippet),
    /// A table.
    Table(TableSnippet),
}

impl Parsed {
    /// Reads a candidate.
    pub fn read(candidate: &Candidate, profile: &Profile) -> Result<Self, SnippetError> {
        Ok(match candidate.kind {
            SnippetKind::Expression => Self::Expression(Snippet::parse(&candidate.sql, profile)?),
            SnippetKind::Table => Self::Table(TableSnippet::parse(&candidate.sql, profile)?),
        })
    }

    /// Its text.
    pub fn sql(&self) -> &str {
        match self {
            Self::Expression(snippet) => &snippet.sql,
            Self::Table(snippet) => &snippet.sql,
        }
    }

    /// Where it is from, in a few words.
    pub fn origin(&self) -> &str {
        match self {
            Self::Expression(snippet) => &snippet.origin,
            Self::Table(snippet) => &snippet.origin,
        }
    }

    /// All queries whose rows validation reads, in order, each with the switch that is turned.
    pub fn queries<'a>(&self, profile: &'a Profile) -> Vec<(String, Option<&'a Switch>)> {
        let other_plan = profile.switches.first();
        match self {
            Self::Expression(snippet) => {
                let on = Queries::new(snippet);
                let mut all: Vec<_> =
                    [EMPTY, FULL, NULLS, REVERSED, INDEXED].map(|table| (on.table(table), None)).into();
                all.extend([(on.table(FULL), other_plan), (on.padded(), None)]);
                all
            }
            Self::Table(snippet) => {
                let mut all: Vec<_> = [
                    [FULL, FULL],
                    [REVERSED, REVERSED],
                    [INDEXED, INDEXED],
                    [TIES, TIES],
                    [TIES_REVERSED, TIES_REVERSED],
                ]
                .into_iter()
                .chain(PARTLY_EMPTY)
                .map(|forms| (table_query(snippet, forms), None))
                .collect();
                all.push((table_query(snippet, [FULL, FULL]), other_plan));
                all
            }
        }
    }
}

/// The queries that validate an expression.
struct Queries<'a> {
    snippet: &'a Snippet,
    names: Vec<Arc<str>>,
}

impl<'a> Queries<'a> {
    fn new(snippet: &'a Snippet) -> Self {
        let names = snippet.columns.iter().map(|(name, _)| name.as_str().into()).collect();
        Self { snippet, names }
    }

    /// The snippet over a table.
    fn text(&self, table: &str) -> String {
        let mut text = String::new();
        self.snippet.render("c", &self.names, table, &mut text);
        text
    }

    /// The snippet on each row of a table.
    fn table(&self, table: &str) -> String {
        format!("SELECT c.rk, ({}) FROM {table} AS c", self.text(table))
    }

    /// The snippet on a row that an outer join padded.
    fn padded(&self) -> String {
        format!("SELECT ({}) FROM (SELECT 1 AS one) AS d LEFT JOIN {FULL} AS c ON 1 = 0", self.text(FULL))
    }
}

/// Forms of the two default tables of which one or both are empty.
const PARTLY_EMPTY: [[&str; 2]; 3] = [[EMPTY, FULL], [FULL, EMPTY], [EMPTY, EMPTY]];

fn source(table: usize, form: &str) -> String {
    format!("{form}_{}", SOURCES[table])
}

/// A table snippet's rows on its default tables in these forms.
fn table_query(snippet: &TableSnippet, forms: [&str; 2]) -> String {
    let outputs: Vec<Arc<str>> = (1..=snippet.outputs).map(|at| format!("y{at}").into()).collect();
    let list: Vec<String> = outputs.iter().map(|name| format!("q.{name}")).collect();
    let tables = [0, 1].map(|table| Mapped::plain(&source(table, forms[table])));
    format!("SELECT {} FROM ({}) AS q", list.join(", "), snippet.render(&tables, &outputs))
}

/// The tables that snippets are validated on.
pub fn setup(profile: &Profile) -> Vec<String> {
    let columns: Vec<(&str, &ColumnType)> =
        profile.snippet_table.columns.iter().map(|(name, ty)| (name.as_str(), ty)).collect();
    let mut statements = profile.start.clone();
    for table in TABLES {
        statements.push(create(table, "rk INTEGER, ", &columns, profile));
    }
    let otherwise = columns.iter().map(|(name, ty)| {
        let last =
            if let ColumnType::Class(ty) = ty { profile.types.get(ty).and_then(|names| names.last()) } else { None };
        format!("{name} {}", last.map_or_else(|| profile.declared(ty), String::as_str))
    });
    let otherwise: Vec<String> = otherwise.collect();
    statements.push(format!("CREATE TABLE {DECLARED_OTHERWISE}(rk INTEGER, {})", otherwise.join(", ")));
    index(INDEXED, "snippet_index", &columns, &mut statements);
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
            let cells: Vec<&str> = columns.iter().enumerate().map(|(c, (_, ty))| cell(row, c, ty)).collect();
            format!("({row}, {})", cells.join(", "))
        })
        .collect();
    insert([FULL, INDEXED].into_iter().map(str::to_owned), REVERSED, &rows, &mut statements);
    statements.push(format!("INSERT INTO {NULLS} VALUES {}", rows[0]));
    sources(profile, &mut statements);
    statements
}

/// The default tables of table snippets in all their forms: few everyday values, so that joins match, with NULLs and equal
/// rows.
fn sources(profile: &Profile, statements: &mut Vec<String>) {
    let types = SOURCE_COLUMNS.map(|(name, ty)| (name, ColumnType::Class(ty)));
    let columns: Vec<(&str, &ColumnType)> = types.iter().map(|(name, ty)| (*name, ty)).collect();
    for (table, name) in SOURCES.iter().enumerate() {
        for form in FORMS {
            statements.push(create(&source(table, form), "", &columns, profile));
        }
        index(&source(table, INDEXED), &format!("snippet_index_{name}_"), &columns, statements);
        let cell = |row: usize, column: usize, ty: &ColumnType| {
            let few = &profile.literals(ty)[..profile.literals(ty).len().min(4)];
            let at = row * (column + 1) + table + column;
            if (row + column + table) % 5 == 4 {
                "NULL"
            } else {
                few.get(at % few.len().max(1)).map_or("NULL", String::as_str)
            }
        };
        let rows: Vec<String> = (0..SOURCE_ROWS)
            .map(|row| {
                // The last row is another one again.
                let row = if row + 1 == SOURCE_ROWS { 1 } else { row };
                let cells: Vec<&str> = columns.iter().enumerate().map(|(c, (_, ty))| cell(row, c, ty)).collect();
                format!("({})", cells.join(", "))
            })
            .collect();
        insert(
            [FULL, INDEXED].into_iter().map(|form| source(table, form)),
            &source(table, REVERSED),
            &rows,
            statements,
        );
        // Two values a column, so that whatever is taken from one of several rows shows by their order.
        let tied = |row: usize, column: usize, ty: &ColumnType| {
            let values = profile.literals(ty);
            let at = (row >> ((column + table) % 3)) % 2;
            if row % 7 == column { "NULL" } else { values.get(at).map_or("NULL", String::as_str) }
        };
        let rows: Vec<String> = (0..TIED_ROWS)
            .map(|row| {
                let cells: Vec<&str> = columns.iter().enumerate().map(|(c, (_, ty))| tied(row, c, ty)).collect();
                format!("({})", cells.join(", "))
            })
            .collect();
        insert([source(table, TIES)].into_iter(), &source(table, TIES_REVERSED), &rows, statements);
    }
}

/// The table that a statement of [`setup`] makes, fills or indexes.
pub fn table_of(statement: &str) -> Option<&str> {
    let rest =
        ["CREATE TABLE ", "INSERT INTO ", " ON "].iter().find_map(|before| Some(statement.split_once(before)?.1))?;
    rest.split([' ', '(']).next().filter(|table| table.starts_with("snippet_"))
}

fn create(table: &str, key: &str, columns: &[(&str, &ColumnType)], profile: &Profile) -> String {
    let declared: Vec<String> = columns.iter().map(|(name, ty)| format!("{name} {}", profile.declared(ty))).collect();
    format!("CREATE TABLE {table}({key}{})", declared.join(", "))
}

/// An index over each column and its successor: another plan, which meets the rows in another order.
fn index(table: &str, name: &str, columns: &[(&str, &ColumnType)], statements: &mut Vec<String>) {
    for (at, (column, _)) in columns.iter().enumerate() {
        let (next, _) = columns[(at + 1) % columns.len()];
        statements.push(format!("CREATE INDEX {name}{at} ON {table}({column}, {next})"));
    }
}

fn insert(straight: impl Iterator<Item = String>, reversed: &str, rows: &[String], statements: &mut Vec<String>) {
    for table in straight {
        statements.extend(rows.iter().map(|row| format!("INSERT INTO {table} VALUES {row}")));
    }
    statements.extend(rows.iter().rev().map(|row| format!("INSERT INTO {reversed} VALUES {row}")));
}

/// Validates one snippet on a database made by [`setup`].
pub fn validate(connection: &mut dyn Connection, profile: &Profile, snippet: &Parsed) -> SnippetVerdict {
    let examined = match snippet {
        Parsed::Expression(snippet) => examine(connection, profile, snippet),
        Parsed::Table(snippet) => examine_table(connection, profile, snippet),
    };
    match examined {
        Ok(verdict) => verdict,
        Err(error) => SnippetVerdict::Refused(format!("{}: {error}", error.class)),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "it ends an examination, whose errors are the engine's")]
fn refused(reason: &str) -> Result<SnippetVerdict, EngineError> {
    Ok(SnippetVerdict::Refused(reason.to_owned()))
}

const UNREPEATED: &str = "gives other values each time, or depends on the order of insertion";
const PLAN_DEPENDENT: &str = "gives other values each time, or depends on the plan";
const TOO_SLOW: &str = "takes too long";

/// Rows, and how long they took.
fn timed(connection: &mut dyn Connection, sql: &str) -> Result<(Vec<Row>, Duration), EngineError> {
    let started = clock::now();
    Ok((connection.rows(sql)?, started.elapsed()))
}

fn micros(took: Duration) -> u64 {
    u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
}

fn examine(
    connection: &mut dyn Connection,
    profile: &Profile,
    snippet: &Snippet,
) -> Result<SnippetVerdict, EngineError> {
    let on = Queries::new(snippet);
    if !connection.rows(&on.table(EMPTY))?.is_empty() {
        return refused("gives a row on an empty table");
    }
    // One of many parts that takes INTEGER and no BIGINT would make most cases void.
    if snippet.origin == COMBINATION {
        connection.rows(&on.table(DECLARED_OTHERWISE))?;
    }
    // The rows that it has a value on, as a condition; nothing where these are all.
    let (full, took, working) = match timed(connection, &on.table(FULL)) {
        Ok((rows, took)) => (rows, took, String::new()),
        Err(error) if error.class == ErrorClass::Data => {
            let Some((rows, took, working)) = row_by_row(connection, &on)? else { return Err(error) };
            (rows, took, working)
        }
        Err(error) => return Err(error),
    };
    let may_fail = !working.is_empty();
    let mut values = |table: &str, switch: Option<&Switch>| {
        with_switch(connection, switch, |c| c.rows(&format!("{}{working}", on.table(table))))
    };
    let nulls = values(NULLS, None)?;
    if !may_fail && full.len() != ROWS || nulls.len() != 1 {
        return refused("does not give one value per row");
    }
    // Each of these would also differ if it gave other values every time.
    if compare(&full, &values(REVERSED, None)?) != Comparison::Equal {
        return refused(UNREPEATED);
    }
    let other_plans = [values(INDEXED, None)?, values(FULL, profile.switches.first())?];
    if other_plans.iter().any(|other| compare(&full, other) != Comparison::Equal) {
        return refused(PLAN_DEPENDENT);
    }
    let is_null = |rows: &[Row]| rows.iter().all(|row| row.last() == Some(&Value::Null));
    let null_preserving = is_null(&nulls) && is_null(&connection.rows(&on.padded())?);
    let seen: Vec<&Value> = full.iter().filter_map(|row| row.get(1)).filter(|v| **v != Value::Null).collect();
    if seen.is_empty() {
        return refused("is NULL on every row");
    }
    if took > SLOW {
        return refused(TOO_SLOW);
    }
    let micros = micros(took);
    let declared = connection.types(&format!("SELECT ({}) AS v FROM {FULL} AS c", on.text(FULL)))?;
    let declared = declared.map(|types| types.first().copied().flatten());
    let all_of = |ty| seen.iter().all(|v| v.is_of(ty));
    if let Some(declared) = declared {
        let boolean_valued = declared == Some(SqlType::Boolean)
            || (profile.truth_of_any_value && declared == Some(SqlType::Int) && all_of(SqlType::Boolean));
        let ty = declared.filter(|ty| *ty != SqlType::Boolean && all_of(*ty));
        return Ok(SnippetVerdict::Valid { ty, boolean_valued, null_preserving, may_fail, micros });
    }
    let ty = [SqlType::Int, SqlType::Real, SqlType::Text, SqlType::Blob].into_iter().find(|ty| all_of(*ty));
    let boolean_valued = all_of(SqlType::Boolean);
    Ok(SnippetVerdict::Valid { ty, boolean_valued, null_preserving, may_fail, micros })
}

/// The values of an expression that fails on some rows, where it has some on most, with the condition on these rows. The
/// row of NULLs must be among them.
fn row_by_row(
    connection: &mut dyn Connection,
    on: &Queries,
) -> Result<Option<(Vec<Row>, Duration, String)>, EngineError> {
    let mut working = Vec::new();
    for row in 0..ROWS {
        match connection.rows(&format!("{} WHERE c.rk = {row}", on.table(FULL))) {
            Ok(_) => working.push(row.to_string()),
            Err(error) if error.class == ErrorClass::Data => {}
            Err(error) => return Err(error),
        }
        if 100 * (row + 1 - working.len()) > (100 - WORKING_PERCENT_MIN) * ROWS || working.is_empty() {
            return Ok(None);
        }
    }
    let condition = format!(" WHERE c.rk IN ({})", working.join(", "));
    let (rows, took) = timed(connection, &format!("{}{condition}", on.table(FULL)))?;
    Ok((rows.len() == working.len()).then_some((rows, took, condition)))
}

fn examine_table(
    connection: &mut dyn Connection,
    profile: &Profile,
    snippet: &TableSnippet,
) -> Result<SnippetVerdict, EngineError> {
    let query = |forms| table_query(snippet, forms);
    let (full, took) = timed(connection, &query([FULL, FULL]))?;
    if took > SLOW {
        return refused(TOO_SLOW);
    }
    if full.is_empty() {
        return refused("gives no row");
    }
    if full.len() > TABLE_ROWS_MAX {
        return refused("gives too many rows");
    }
    let tables = [0, 1].map(|table| Mapped::plain(&source(table, FULL)));
    let outputs: Vec<Arc<str>> = (1..=snippet.outputs).map(|at| format!("y{at}").into()).collect();
    let all = connection.rows(&format!("SELECT * FROM ({}) AS q", snippet.render(&tables, &outputs)))?;
    if all.iter().any(|row| row.len() != snippet.outputs) {
        return refused("has other columns than y1 to the last");
    }
    for forms in PARTLY_EMPTY {
        connection.rows(&query(forms))?;
    }
    if compare(&full, &connection.rows(&query([REVERSED, REVERSED]))?) != Comparison::Equal {
        return refused(UNREPEATED);
    }
    let tied = connection.rows(&query([TIES, TIES]))?;
    if compare(&tied, &connection.rows(&query([TIES_REVERSED, TIES_REVERSED]))?) != Comparison::Equal {
        return refused(UNREPEATED);
    }
    let indexed = connection.rows(&query([INDEXED, INDEXED]))?;
    let switched = with_switch(connection, profile.switches.first(), |c| c.rows(&query([FULL, FULL])))?;
    if compare(&full, &indexed) != Comparison::Equal || compare(&full, &switched) != Comparison::Equal {
        return refused(PLAN_DEPENDENT);
    }
    let declared = connection.types(&query([FULL, FULL]))?;
    let mut yields = Vec::new();
    for column in 0..snippet.outputs {
        let seen: Vec<&Value> = full.iter().filter_map(|row| row.get(column)).filter(|v| **v != Value::Null).collect();
        let all_of = |ty: SqlType| !seen.is_empty() && seen.iter().all(|v| v.is_of(ty));
        let declared = declared.as_ref().map(|types| types.get(column).copied().flatten());
        let ty = match declared {
            Some(declared) => declared,
            None => [SqlType::Int, SqlType::Real, SqlType::Text].into_iter().find(|ty| all_of(*ty)),
        };
        let Some(ty) = ty.filter(|ty| *ty != SqlType::Blob) else {
            return refused("has a column of several types, or of one that classes do not have");
        };
        let mut types = BTreeSet::from([ty]);
        // There it is cast, by comparing it with zero.
        if profile.truth_of_any_value && ty == SqlType::Int {
            types.insert(SqlType::Boolean);
        }
        yields.push(types);
    }
    let first = |types: &BTreeSet<SqlType>| types.first().copied().unwrap_or(SqlType::Int);
    let columns: Vec<(Arc<str>, SqlType)> = outputs.iter().cloned().zip(yields.iter().map(first)).collect();
    connection.rows(&snippet.typed(profile, &tables, &columns))?;
    Ok(SnippetVerdict::Table { yields, micros: micros(took) })
}

/// The snippet with its claims, if it may be used.
pub fn with_verdict(snippet: Parsed, verdict: &SnippetVerdict) -> Option<Parsed> {
    match (snippet, verdict) {
        (
            Parsed::Expression(mut snippet),
            SnippetVerdict::Valid { ty, boolean_valued, null_preserving, may_fail, micros: _ },
        ) => {
            snippet.ty = *ty;
            snippet.boolean_valued = *boolean_valued;
            snippet.null_preserving = *null_preserving;
            snippet.may_fail = *may_fail;
            Some(Parsed::Expression(snippet))
        }
        (Parsed::Table(mut snippet), SnippetVerdict::Table { yields, micros: _ }) => {
            snippet.yields.clone_from(yields);
            Some(Parsed::Table(snippet))
        }
        _ => None,
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
        of_kind(SnippetKind::Expression, sql)
    }

    /// A verdict without the time that it took.
    fn of_kind(kind: SnippetKind, sql: &str) -> SnippetVerdict {
        let profile = profile("sqlite").expect("the shipped profile");
        let mut connection = Sqlite::linked(STATEMENT_LIMITS).expect("opens");
        build(&mut connection, &setup(&profile)).expect("sets up");
        let candidate = Candidate { kind, sql: sql.to_owned() };
        let mut verdict = validate(&mut connection, &profile, &Parsed::read(&candidate, &profile).expect("parses"));
        if let SnippetVerdict::Valid { micros, .. } | SnippetVerdict::Table { micros, .. } = &mut verdict {
            *micros = 0;
        }
        verdict
    }

    fn valid(ty: SqlType, boolean_valued: bool, null_preserving: bool) -> SnippetVerdict {
        SnippetVerdict::Valid { ty: Some(ty), boolean_valued, null_preserving, may_fail: false, micros: 0 }
    }

    #[test]
    fn combinations_hold_on_columns_declared_otherwise() {
        let otherwise = |dialect: &str| {
            let mut statements = setup(&profile(dialect).expect("shipped")).into_iter();
            statements.find(|statement| statement.starts_with("CREATE TABLE snippet_otherwise(")).expect("one")
        };
        let postgres = otherwise("postgres");
        assert!(postgres.contains("c_int BIGINT") && postgres.contains("c_date DATE"), "{postgres}");
        let profile = profile("sqlite").expect("the shipped profile");
        let mut connection = Sqlite::linked(STATEMENT_LIMITS).expect("opens");
        build(&mut connection, &setup(&profile)).expect("sets up");
        let mut snippet = Snippet::parse("t.c_int > 1", &profile).expect("parses");
        let of = |connection: &mut Sqlite, snippet: &Snippet| {
            validate(connection, &profile, &Parsed::Expression(snippet.clone()))
        };
        connection.execute("DROP TABLE snippet_otherwise").expect("is there");
        assert!(matches!(of(&mut connection, &snippet), SnippetVerdict::Valid { .. }), "one part holds as it is");
        COMBINATION.clone_into(&mut snippet.origin);
        assert!(matches!(of(&mut connection, &snippet), SnippetVerdict::Refused(_)), "there is nothing to try it on");
    }

    #[test]
    fn claims_are_read_back() {
        assert_eq!(verdict("t.c_text || 'x'"), valid(SqlType::Text, false, true));
        assert_eq!(verdict("t.c_int > 1"), valid(SqlType::Int, true, true));
        assert_eq!(verdict("coalesce(t.c_int, 7) % 5"), valid(SqlType::Int, false, false));
        assert_eq!(
            verdict("CASE WHEN t.c_int > 0 THEN 1 ELSE 'a' END"),
            SnippetVerdict::Valid {
                ty: None,
                boolean_valued: false,
                null_preserving: false,
                may_fail: false,
                micros: 0
            }
        );
    }

    #[test]
    fn what_differs_each_time_is_refused_even_if_no_word_tells() {
        let mut profile = (*profile("sqlite").expect("the shipped profile")).clone();
        profile.forbidden.words.clear();
        let mut connection = Sqlite::linked(STATEMENT_LIMITS).expect("opens");
        build(&mut connection, &setup(&profile)).expect("sets up");
        let mut of = |sql| {
            validate(&mut connection, &profile, &Parsed::Expression(Snippet::parse(sql, &profile).expect("parses")))
        };
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
        for sql in [tied, "count(t.c_int)", "(SELECT count(t.c_int) FROM t AS u)", "nope(t.c_int)"] {
            assert!(matches!(verdict(sql), SnippetVerdict::Refused(_)), "{sql}");
        }
    }

    #[test]
    fn what_fails_on_some_rows_is_told_from_what_fails_on_most() {
        // It overflows on the least number only.
        let SnippetVerdict::Valid { may_fail, ty, .. } = verdict("abs(t.c_int)") else { panic!("it has values") };
        assert!(may_fail && ty == Some(SqlType::Int));
        assert!(matches!(verdict("json(t.c_text)"), SnippetVerdict::Refused(_)));
    }

    #[test]
    fn tables_have_the_types_of_their_columns_and_the_same_rows_again() {
        let table = |sql| of_kind(SnippetKind::Table, sql);
        let sql = "SELECT a.i1 AS y1, max(b.x1) AS y2 FROM s1 AS a LEFT JOIN s2 AS b ON a.i1 = b.i2 GROUP BY a.i1";
        let (int, text) = (BTreeSet::from([SqlType::Int, SqlType::Boolean]), BTreeSet::from([SqlType::Text]));
        assert_eq!(table(sql), SnippetVerdict::Table { yields: vec![int, text], micros: 0 });
        for (sql, why) in [
            // A bare column beside an aggregate is of whichever row comes first, or of one of those with the maximum.
            ("SELECT a.i1 AS y1, max(a.b1) AS y2, a.x1 AS y3 FROM s1 AS a GROUP BY a.i1", "insertion"),
            ("SELECT a.i1 AS y1, a.x1 AS y2, count(*) AS y3 FROM s1 AS a GROUP BY a.b1", "insertion"),
            ("SELECT a.i1 AS y1 FROM s1 AS a WHERE 1 = 0", "no row"),
            ("SELECT a.i1 AS y1, a.i2 FROM s1 AS a", "other columns"),
            ("SELECT CASE WHEN a.i1 > 0 THEN 1 ELSE 'a' END AS y1 FROM s1 AS a", "several types"),
        ] {
            assert!(matches!(table(sql), SnippetVerdict::Refused(said) if said.contains(why)), "{sql}");
        }
    }
}
