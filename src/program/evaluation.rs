//! What a query means: its rows by the prover's reference evaluator, computed from the rows of its tables.
//!
//! The evaluator is an executable specification of SQL with bags and NULL. Its answer counts where nothing is taken for
//! granted that the dialect does not guarantee, and nothing is left open that engines decide differently.

use super::Unfit;
use crate::compare::Row;
use crate::sql::lex::{Token, tokens};
use crate::sql::profile::{ColumnType, Profile, Typing};
use crate::sql::types::{SqlType, Value};
use prover::eval::{Database, Limits, Prepared};
use prover::ir::{Assumption, Query, Schema, TableId, Type, Value as Exact};
use prover::lower::{self, Unsupported};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// Steps of the evaluator for one query.
const FUEL: u64 = 100_000;

/// What the evaluator sees for itself on the rows at hand: it says so where an error is raised, or a number is not exact.
const SEEN: [Assumption; 3] =
    [Assumption::ExactArithmetic, Assumption::NoRuntimeError, Assumption::ScalarSubqueryAtMostOneRow];

/// Words by which a query has a meaning that the evaluator does not have, or other columns than it has.
const WORDS: [&str; 2] = ["collate", "natural"];

/// How the rows of a step are computed rather than asked of the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evaluation {
    /// CREATE TABLE statements of the tables, with the columns that the query may name and their types.
    pub schema: String,
    /// For each of them the position of the step whose rows are the table's; nothing for those that the query does not read.
    pub tables: Vec<Option<usize>>,
    /// The query made ready, for whoever made the step.
    #[serde(skip)]
    pub ready: Ready,
}

/// A query made ready. It follows from the query, so all are equal.
#[derive(Debug, Clone, Default)]
pub struct Ready(Option<Arc<Meaning>>);

impl PartialEq for Ready {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Ready {}

impl From<Arc<Meaning>> for Ready {
    fn from(meaning: Arc<Meaning>) -> Self {
        Self(Some(meaning))
    }
}

/// What makes a plan of a text.
type Reader = fn(&Schema, &str) -> Result<Query, Unsupported>;

/// A query as the evaluator runs it.
#[derive(Debug)]
pub struct Meaning {
    sql: String,
    prepared: Prepared,
    types: Vec<Vec<Type>>,
    columns: Vec<Type>,
}

impl Meaning {
    /// The meaning of a query over these tables. Fails where it has none on an engine of the dialect.
    pub fn new(schema: &str, sql: &str, profile: &Profile) -> Result<Self, Unfit> {
        Self::over(&tables_of(schema)?, sql, profile)
    }

    /// The same for tables that were read before.
    pub fn over(schema: &Schema, sql: &str, profile: &Profile) -> Result<Self, Unfit> {
        Self::read(schema, sql, profile, lower::query)
    }

    /// What it seems to mean, at a first look.
    pub fn seeming(schema: &Schema, sql: &str, profile: &Profile) -> Result<Self, Unfit> {
        Self::read(schema, sql, profile, lower::first_reading)
    }

    fn read(schema: &Schema, sql: &str, profile: &Profile, read: Reader) -> Result<Self, Unfit> {
        let words = tokens(sql).map_err(|error| undefined(&error))?;
        let words: Vec<&Token> = words.iter().filter(|token| !matches!(token, Token::Space(_))).collect();
        let is_star = |token: &Token| matches!(token, Token::Symbol('*'));
        let expands = words.windows(2).any(|two| {
            let selects = ["select", "distinct", "all"].iter().any(|word| two[0].is_word(word));
            is_star(two[1]) && (selects || matches!(two[0], Token::Symbol('.' | ',')))
        });
        if expands || words.iter().any(|token| WORDS.iter().any(|word| token.is_word(word))) {
            return Err(Unfit::Undefined("all columns, or a collation".to_owned()));
        }
        if profile.typing == Typing::Dynamic
            && words.iter().any(|token| matches!(token, Token::Literal(text) if is_rounded(text)))
        {
            return Err(Unfit::Undefined("a decimal that is no double".to_owned()));
        }
        let query = read(schema, sql).map_err(|error| undefined(&error))?;
        let divides = words.iter().any(|token| {
            matches!(token, Token::Symbol('/' | '%')) || ["mod", "avg", "div"].iter().any(|name| token.is_word(name))
        });
        let guaranteed = profile.guarantees_for(divides);
        if let Some(missing) = query.assumptions.iter().find(|a| !SEEN.contains(a) && !guaranteed.contains(a)) {
            return Err(Unfit::Undefined(format!("it rests on {missing}")));
        }
        let mut shown = query.plan.types().into_iter().take(query.visible);
        if shown.any(|ty| ty == Type::Moment) {
            return Err(Unfit::Undefined("a moved date, which is a timestamp in some engines".to_owned()));
        }
        let prepared = Prepared::new(&query).map_err(|error| undefined(&error))?;
        let types = schema.tables.iter().map(|table| table.columns.iter().map(|column| column.ty.clone()).collect());
        Ok(Self { sql: sql.to_owned(), prepared, types: types.collect(), columns: query.plan.types() })
    }

    /// The types of its columns.
    pub fn columns(&self) -> &[Type] {
        &self.columns
    }

    /// Whether it reads a table of the schema.
    pub fn reads(&self, table: TableId) -> bool {
        self.prepared.tables().contains(&table)
    }

    /// Its rows, on these rows of the tables.
    pub fn rows(&self, tables: &[&[Row]]) -> Result<Vec<Row>, Unfit> {
        let of_table = |(rows, types): (&&[Row], &Vec<Type>)| rows.iter().map(|row| exact_row(row, types)).collect();
        let tables = tables.iter().zip(&self.types).map(of_table).collect::<Result<_, Unfit>>()?;
        let outcome =
            self.prepared.run(&Database { tables }, 0, Limits { fuel: FUEL }).map_err(|error| undefined(&error))?;
        if let Some(what) = outcome.opaque.first() {
            return Err(Unfit::Undefined(format!("{what} is not the same in all engines")));
        }
        if outcome.inexact {
            return Err(Unfit::Undefined("a number is not a whole one of 64 bits".to_owned()));
        }
        outcome.rows.iter().map(|row| row.iter().map(cell).collect()).collect()
    }
}

/// Whether a number with a point is another one as a double.
fn is_rounded(text: &str) -> bool {
    let is_decimal = text.contains('.') && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let Some(number) = text.parse::<f64>().ok().filter(|_| is_decimal) else { return false };
    // More digits than a double of a text of usual length has behind its point.
    let exactly = format!("{number:.60}");
    exactly.trim_start_matches('0').trim_end_matches('0') != text.trim_start_matches('0').trim_end_matches('0')
}

/// The tables of a schema, as the evaluator sees them.
pub fn tables_of(schema: &str) -> Result<Schema, Unfit> {
    lower::schema(schema, &BTreeMap::new()).map_err(|error| undefined(&error))
}

/// A class's type as the evaluator is told it: that of the engine, without what only the engine knows.
pub fn told_type(ty: SqlType, profile: &Profile) -> &str {
    match ty {
        SqlType::Int => profile.declared(&ColumnType::Class(ty)).split(' ').next().unwrap_or("INT"),
        SqlType::Text => "TEXT",
        SqlType::Real => "DOUBLE PRECISION",
        SqlType::Boolean => "BOOLEAN",
        SqlType::Blob => "BLOB",
    }
}

impl Evaluation {
    /// Whether a query means what it seemed to mean at a first look.
    pub fn is_sure(&self, sql: &str, profile: &Profile) -> bool {
        Meaning::new(&self.schema, sql, profile).is_ok()
    }

    /// The rows of a query, on the rows of earlier steps.
    pub fn rows<'r>(
        &self,
        sql: &str,
        profile: &Profile,
        earlier: impl Fn(usize) -> Option<&'r [Row]>,
    ) -> Result<Vec<Row>, Unfit> {
        let meaning = match &self.ready.0 {
            Some(meaning) if meaning.sql == sql => Arc::clone(meaning),
            // Whoever changes a text does not change what was made of it.
            _ => Arc::new(Meaning::new(&self.schema, sql, profile)?),
        };
        let rows = |(table, step): (TableId, &Option<usize>)| match step {
            Some(step) => earlier(*step),
            // A changed text may read what the query did not.
            None => (!meaning.reads(table)).then_some(&[][..]),
        };
        let tables: Option<Vec<&[Row]>> = self.tables.iter().enumerate().map(rows).collect();
        meaning.rows(&tables.ok_or(Unfit::NotRun)?)
    }
}

/// A query that returns these rows and reads no table, for people and for scripts. `None` for no rows of unknown width.
pub fn constants(rows: &[Row]) -> Option<String> {
    let width = rows.first()?.len();
    let mut out = String::new();
    for (at, row) in rows.iter().enumerate() {
        out.push_str(if at > 0 { " UNION ALL SELECT " } else { "SELECT " });
        for (column, value) in row.iter().enumerate().take(width) {
            let comma = if column > 0 { ", " } else { "" };
            // Writing to a string does not fail.
            let _ = write!(out, "{comma}{value}");
        }
    }
    Some(out)
}

fn undefined(what: &dyn std::fmt::Display) -> Unfit {
    Unfit::Undefined(what.to_string())
}

/// A row of a table. A value of another type than its column's, as SQLite stores it, has no meaning.
fn exact_row(row: &Row, types: &[Type]) -> Result<Vec<Exact>, Unfit> {
    if row.len() != types.len() {
        return Err(Unfit::Width);
    }
    let exact = |(value, ty): (&Value, &Type)| {
        let other = || Err(Unfit::Undefined(format!("{value} in a column of type {ty}")));
        Ok(match (value, ty.domain()) {
            (Value::Null, _) => Exact::Null,
            (Value::Bool(b), Type::Boolean) => Exact::Bool(*b),
            (Value::Int(n @ (0 | 1)), Type::Boolean) => Exact::Bool(*n == 1),
            (Value::Int(n), Type::Integer) => Exact::Int(*n),
            (Value::Real(r), Type::Double) if r.is_finite() => Exact::Double(*r),
            (Value::Int(n), Type::Double) => Exact::Int(*n).to_double().map_or(Exact::Null, Exact::Double),
            (Value::Text(bytes), Type::Text) => match std::str::from_utf8(bytes) {
                Ok(text) if !text.contains('\0') => Exact::Text(text.to_owned()),
                _ => return other(),
            },
            _ => return other(),
        })
    };
    row.iter().zip(types).map(exact).collect()
}

/// A value as engines return it.
fn cell(value: &Exact) -> Result<Value, Unfit> {
    Ok(match value {
        Exact::Null => Value::Null,
        Exact::Bool(b) => Value::Bool(*b),
        Exact::Int(n) => Value::Int(*n),
        Exact::Double(d) => Value::Real(*d),
        Exact::Text(text) => Value::Text(text.clone().into_bytes()),
        Exact::Number(_) => {
            let double = value.to_double().ok_or_else(|| Unfit::NoLiteral(value.to_string()))?;
            Value::Real(double)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::profile;

    const SCHEMA: &str = "CREATE TABLE t(a INT, s TEXT); CREATE TABLE u(b INT)";

    fn text(text: &str) -> Value {
        Value::Text(text.as_bytes().to_vec())
    }

    fn evaluate(dialect: &str, sql: &str, t: &[Row], u: &[Row]) -> Result<Vec<Row>, Unfit> {
        let evaluation =
            Evaluation { schema: SCHEMA.to_owned(), tables: vec![Some(1), Some(0)], ready: Ready::default() };
        let profile = profile(dialect).expect("shipped");
        evaluation.rows(sql, &profile, |step| [u, t].get(step).copied())
    }

    #[test]
    fn rows_are_what_the_standard_says() {
        let t = [vec![Value::Int(1), text("x")], vec![Value::Null, text("y")], vec![Value::Int(1), Value::Null]];
        let u = [vec![Value::Int(1)], vec![Value::Null]];
        let rows = |sql: &str| evaluate("postgres", sql, &t, &u).expect("has a meaning");
        assert_eq!(rows("SELECT t.s FROM t WHERE t.a NOT IN (SELECT u.b FROM u)"), Vec::<Row>::new());
        assert_eq!(rows("SELECT COUNT(*), SUM(t.a) FROM t JOIN u ON t.a = u.b"), [vec![Value::Int(2), Value::Int(2)]]);
        assert_eq!(rows("SELECT t.a IS NULL FROM t WHERE t.s = 'y'"), [vec![Value::Bool(true)]]);
    }

    #[test]
    fn a_decimal_is_a_double_where_there_are_no_others() {
        let t = [vec![Value::Int(i64::MAX), text("x")], vec![Value::Int((1 << 53) + 1), text("y")]];
        let rows = |dialect: &str, sql: &str| evaluate(dialect, sql, &t, &[]);
        for sql in [
            "SELECT NULLIF(9223372036854775807.0, t.a) FROM t WHERE t.s = 'x'",
            "SELECT t.a FROM t WHERE t.a * 0.1 = 1",
            "SELECT t.a + 1.0 FROM t WHERE t.s = 'y'",
        ] {
            assert!(rows("sqlite", sql).is_err(), "{sql}");
        }
        let half = "SELECT t.s FROM t WHERE t.a > 0.5 AND 1.5 + 0.5 = 2.0 ORDER BY t.s LIMIT 1";
        assert_eq!(rows("sqlite", half).expect("has a meaning"), [[text("x")]]);
        for (number, rounded) in
            [("0.5", false), ("1.0", false), ("0.1", true), ("9223372036854775807.0", true), ("'0.1'", false)]
        {
            assert_eq!(is_rounded(number), rounded, "{number}");
        }
    }

    #[test]
    fn what_engines_decide_differently_has_no_meaning() {
        let t = [vec![Value::Int(i64::MAX), text("x")]];
        for sql in [
            // Too wide, an error, a function nobody knows, a collation, columns that are not listed, several rows.
            "SELECT t.a + 1 FROM t",
            "SELECT t.a / 0 FROM t",
            "SELECT 7 / 2 FROM t",
            "SELECT frobnicate(t.a) FROM t",
            "SELECT t.s COLLATE nocase FROM t",
            "SELECT * FROM t",
            "SELECT (SELECT x.a FROM t AS x UNION ALL SELECT 1) FROM t",
            "SELECT AVG(x.a) FROM (SELECT 1 AS a UNION ALL SELECT 2) AS x",
            // An average that is a double somewhere, a decimal of ten digits, a moved date.
            "SELECT t.s FROM t GROUP BY t.s HAVING AVG(t.a) >= MIN(t.a)",
            "SELECT t.s FROM t WHERE ROUND(t.a, 1) = t.a",
            "SELECT CAST(SUM(x.b) AS DECIMAL) FROM (SELECT 2147483647 AS b UNION ALL SELECT 2147483647 * 5) AS x",
            "SELECT DATE '2020-01-31' + INTERVAL '1 month' FROM t",
        ] {
            let found = evaluate("sqlite", sql, &t, &[]);
            assert!(matches!(found, Err(Unfit::Undefined(_))), "{sql}: {found:?}");
        }
        // The rows of a table that it reads are missing.
        let tables = vec![Some(0), None];
        let evaluation = Evaluation { schema: SCHEMA.to_owned(), tables, ready: Ready::default() };
        let profile = profile("postgres").expect("shipped");
        let rows = |sql: &str| evaluation.rows(sql, &profile, |_| Some(&t[..]));
        assert_eq!(rows("SELECT 1 FROM u"), Err(Unfit::NotRun));
        assert!(rows("SELECT 1 FROM t").is_ok());
        // SQLite stores what it is given.
        let other = [vec![text("1"), text("x")]];
        assert!(evaluate("sqlite", "SELECT t.a FROM t", &other, &[]).is_err());
    }

    #[test]
    fn what_engines_read_differently_has_a_meaning_at_a_first_look_only() {
        let sql = "SELECT \"T\".a FROM t AS \"T\"";
        let profile = profile("postgres").expect("shipped");
        let schema = tables_of(SCHEMA).expect("tables");
        let (first, sure) = (Meaning::seeming(&schema, sql, &profile), Meaning::over(&schema, sql, &profile));
        assert!(first.is_ok() && sure.is_err(), "{first:?} {sure:?}");
        let evaluation = Evaluation { schema: SCHEMA.to_owned(), tables: Vec::new(), ready: Ready::default() };
        assert!(!evaluation.is_sure(sql, &profile));
        assert!(evaluation.is_sure("SELECT 1 FROM t WHERE t.a BETWEEN 1 AND 2", &profile));
    }

    #[test]
    fn constants_are_a_query() {
        let rows = [vec![Value::Int(1), text("it's")], vec![Value::Null, text("")]];
        assert_eq!(constants(&rows).as_deref(), Some("SELECT 1, 'it''s' UNION ALL SELECT NULL, ''"));
        assert_eq!(constants(&[]), None);
    }
}
