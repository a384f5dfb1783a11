//! Rows of one step as text in another: constants in the place of what was computed.
//!
//! Every value is written as an expression of exactly the type that its hole names, so that what stands around it means
//! the same as around the expression that it is the value of.

use crate::compare::Row;
use crate::sql::profile::{ColumnType, Profile, Wire};
use crate::sql::types::{SqlType, Value};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Write as _};
use thiserror::Error;

/// A column that rows are folded to, or that tells them apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its name, or the expression that it is.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub ty: ColumnType,
}

/// What rows become in a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fold {
    /// The value of the only row.
    Value(ColumnType),
    /// The truth value of the only row, as a plain literal.
    Truth,
    /// The values of the rows, with commas between them.
    List(ColumnType),
    /// The branches of a CASE that give each row's last value for the values before it, which these expressions have.
    Branches {
        /// Expressions that have a row's first values. Equality of their types is identity.
        keys: Vec<Column>,
        /// The type of the last value.
        value: ColumnType,
    },
    /// A query with these columns that reads no table.
    Query(Vec<Column>),
    /// The rows as VALUES takes them.
    Rows(Vec<ColumnType>),
    /// The text of the only row as it is: the name of a type, which may be empty.
    Name,
}

/// Why rows do not fit a hole. It voids the case.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unfit {
    /// The step has no result.
    #[error("the query whose rows it needs did not run")]
    NotRun,
    /// There are no rows.
    #[error("there are no rows to fold")]
    NoRows,
    /// There is more than one.
    #[error("there are several rows to fold to one value")]
    ManyRows,
    /// There are more than a text should have.
    #[error("there are more than {ROWS_MAX} rows to fold")]
    TooMany,
    /// Rows with the same first values have different last ones.
    #[error("rows that look alike have different values")]
    Ambiguous,
    /// A row has another number of values.
    #[error("a row has another number of values than columns")]
    Width,
    /// The reference evaluator gives no rows that hold on every engine of the dialect.
    #[error("the query has no meaning here: {0}")]
    Undefined(String),
    /// A statement that must fail did not.
    #[error("the statement did not fail")]
    NotFailed,
    /// The number of rows that a statement changed is not known.
    #[error("the engine does not say how many rows the statement changed")]
    Uncounted,
    /// A value cannot be written so that it reads back as itself.
    #[error("a value has no literal: {0}")]
    NoLiteral(String),
}

/// Rows that are folded at most.
const ROWS_MAX: usize = 100;

impl fmt::Display for Fold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Value(_) | Self::Truth => "the value",
            Self::List(_) => "the values",
            Self::Branches { .. } => "the value for each row",
            Self::Query(_) | Self::Rows(_) => "the rows",
            Self::Name => "the name",
        })
    }
}

impl Fold {
    /// Writes rows to the end of a text.
    pub fn write(&self, rows: &[Row], profile: &Profile, out: &mut String) -> Result<(), Unfit> {
        if rows.is_empty() {
            return Err(Unfit::NoRows);
        }
        if rows.len() > ROWS_MAX {
            return Err(Unfit::TooMany);
        }
        match self {
            Self::Value(_) | Self::Truth | Self::Name if rows.len() > 1 => Err(Unfit::ManyRows),
            Self::Name => name(&rows[0], out),
            Self::Truth => truth(&rows[0], profile, out),
            Self::Value(ty) | Self::List(ty) => separated(rows, ", ", out, |row, out| {
                let [value] = row else { return Err(Unfit::Width) };
                out.push_str(&expression(value, ty, profile)?);
                Ok(())
            }),
            Self::Branches { keys, value } => branches(rows, keys, value, profile, out),
            Self::Query(columns) => separated(rows, " UNION ALL ", out, |row, out| {
                out.push_str("SELECT ");
                let types: Vec<&ColumnType> = columns.iter().map(|column| &column.ty).collect();
                cells(row, &types, profile, out, |at, out| {
                    out.push_str(" AS ");
                    out.push_str(&columns[at].name);
                })
            }),
            Self::Rows(types) => separated(rows, ", ", out, |row, out| {
                out.push('(');
                cells(row, &types.iter().collect::<Vec<_>>(), profile, out, |_, _| {})?;
                out.push(')');
                Ok(())
            }),
        }
    }
}

fn name(row: &[Value], out: &mut String) -> Result<(), Unfit> {
    match row {
        [Value::Text(bytes)] => match std::str::from_utf8(bytes) {
            // It is what an engine wrote: it must not end the statement that it is put into.
            Ok(name) if !name.contains([';', '\0']) => out.push_str(name),
            _ => return Err(Unfit::NoLiteral(format!("{} as a name", row[0]))),
        },
        [other] => return Err(Unfit::NoLiteral(format!("{other} as a name"))),
        _ => return Err(Unfit::Width),
    }
    Ok(())
}

fn truth(row: &[Value], profile: &Profile, out: &mut String) -> Result<(), Unfit> {
    match row {
        [Value::Null] => out.push_str(&profile.null(SqlType::Boolean)),
        [value @ (Value::Bool(_) | Value::Int(0 | 1))] => out.push_str(&value.to_string()),
        [other] => return Err(Unfit::NoLiteral(format!("{other} as a truth value"))),
        _ => return Err(Unfit::Width),
    }
    Ok(())
}

fn separated(
    rows: &[Row],
    separator: &str,
    out: &mut String,
    mut write: impl FnMut(&[Value], &mut String) -> Result<(), Unfit>,
) -> Result<(), Unfit> {
    for (at, row) in rows.iter().enumerate() {
        if at > 0 {
            out.push_str(separator);
        }
        write(row, out)?;
    }
    Ok(())
}

fn cells(
    row: &[Value],
    types: &[&ColumnType],
    profile: &Profile,
    out: &mut String,
    after: impl Fn(usize, &mut String),
) -> Result<(), Unfit> {
    if row.len() != types.len() {
        return Err(Unfit::Width);
    }
    for (at, (value, ty)) in row.iter().zip(types).enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        out.push_str(&expression(value, ty, profile)?);
        after(at, out);
    }
    Ok(())
}

fn branches(
    rows: &[Row],
    keys: &[Column],
    value: &ColumnType,
    profile: &Profile,
    out: &mut String,
) -> Result<(), Unfit> {
    let mut written: Vec<&Row> = Vec::new();
    for row in rows {
        let Some((last, first)) = row.split_last().filter(|(_, first)| first.len() == keys.len()) else {
            return Err(Unfit::Width);
        };
        if let Some(alike) = written.iter().find(|other| other[..keys.len()] == *first) {
            if alike.last() != Some(last) {
                return Err(Unfit::Ambiguous);
            }
            continue;
        }
        written.push(row);
        out.push_str("WHEN ");
        for (at, (key, of_row)) in keys.iter().zip(first).enumerate() {
            let and = if at > 0 { " AND " } else { "" };
            // Writing to a string cannot fail.
            let _ = match of_row {
                Value::Null => write!(out, "{and}({}) IS NULL", key.name),
                some => write!(out, "{and}({}) = {}", key.name, expression(some, &key.ty, profile)?),
            };
        }
        let _ = write!(out, " THEN {} ", expression(last, value, profile)?);
    }
    Ok(())
}

/// An expression of exactly the type that has the value.
fn expression(value: &Value, ty: &ColumnType, profile: &Profile) -> Result<String, Unfit> {
    let none = || Unfit::NoLiteral(value.to_string());
    profile.value(ty, &literal(value, profile.wire).ok_or_else(none)?).ok_or_else(none)
}

/// A literal that reads back as the value, as far as its text shows; `None` if there is none.
fn literal(value: &Value, wire: Wire) -> Option<String> {
    let digits = |bytes: &[u8], before: &str| {
        bytes.iter().fold(String::new(), |mut out, byte| {
            let _ = write!(out, "{before}{byte:02x}");
            out
        })
    };
    Some(match value {
        Value::Null => "NULL".to_owned(),
        Value::Bool(true) => "TRUE".to_owned(),
        Value::Bool(false) => "FALSE".to_owned(),
        Value::Int(i) => i.to_string(),
        Value::Real(r) if r.is_finite() => format!("{r:e}"),
        Value::Real(_) => return None,
        Value::Text(bytes) => {
            let text = std::str::from_utf8(bytes).ok()?;
            // To some engines a backslash is an escape.
            if text.contains(['\0', '\\']) {
                return None;
            }
            format!("'{}'", text.replace('\'', "''"))
        }
        Value::Blob(bytes) => match wire {
            Wire::Postgres => format!("'\\x{}'", digits(bytes, "")),
            Wire::Duckdb => format!("'{}'", digits(bytes, "\\x")),
            Wire::Sqlite | Wire::Mysql | Wire::Python => format!("x'{}'", digits(bytes, "")),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::profile;

    fn class(ty: SqlType) -> ColumnType {
        ColumnType::Class(ty)
    }

    fn written(fold: &Fold, rows: &[Row], dialect: &str) -> Result<String, Unfit> {
        let mut out = String::new();
        fold.write(rows, &profile(dialect).expect("shipped"), &mut out).map(|()| out)
    }

    #[test]
    fn rows_become_values_lists_branches_and_queries() {
        let (int, text) = (class(SqlType::Int), class(SqlType::Text));
        let row = |i: i64, t: &str| vec![Value::Int(i), Value::Text(t.as_bytes().to_vec())];
        let one = |i: i64| vec![Value::Int(i)];
        let to = |fold: &Fold, rows: &[Row]| written(fold, rows, "sqlite");
        assert_eq!(to(&Fold::Value(int.clone()), &[one(1)]).as_deref(), Ok("CAST(1 AS INTEGER)"));
        let list = to(&Fold::List(int.clone()), &[one(1), vec![Value::Null]]);
        assert_eq!(list.as_deref(), Ok("CAST(1 AS INTEGER), CAST(NULL AS INTEGER)"));
        let keys = vec![Column { name: "a.c0".to_owned(), ty: int.clone() }];
        let branches = Fold::Branches { keys, value: text.clone() };
        let rows = [row(1, "x"), vec![Value::Null, Value::Null], row(1, "x")];
        assert_eq!(
            to(&branches, &rows).as_deref(),
            Ok("WHEN (a.c0) = CAST(1 AS INTEGER) THEN CAST('x' AS TEXT) WHEN (a.c0) IS NULL THEN CAST(NULL AS TEXT) ")
        );
        assert_eq!(to(&branches, &[row(1, "x"), row(1, "y")]), Err(Unfit::Ambiguous));
        let columns = ["i", "t"].into_iter().zip([int.clone(), text.clone()]);
        let query = Fold::Query(columns.map(|(name, ty)| Column { name: name.to_owned(), ty }).collect());
        assert_eq!(
            to(&query, &[row(1, "it's"), row(2, "")]).as_deref(),
            Ok("SELECT CAST(1 AS INTEGER) AS i, CAST('it''s' AS TEXT) AS t \
                UNION ALL SELECT CAST(2 AS INTEGER) AS i, CAST('' AS TEXT) AS t")
        );
        let rows = to(&Fold::Rows(vec![int.clone(), text]), &[row(1, "x")]);
        assert_eq!(rows.as_deref(), Ok("(CAST(1 AS INTEGER), CAST('x' AS TEXT))"));
        for fold in [Fold::Value(int.clone()), Fold::List(int.clone()), branches, query] {
            assert_eq!(to(&fold, &[]), Err(Unfit::NoRows));
        }
        assert_eq!(to(&Fold::Value(int.clone()), &[one(1), one(1)]), Err(Unfit::ManyRows));
        assert_eq!(to(&Fold::Value(int.clone()), &[row(1, "x")]), Err(Unfit::Width));
        assert_eq!(to(&Fold::List(int), &vec![one(1); ROWS_MAX + 1]), Err(Unfit::TooMany));
    }

    #[test]
    fn a_truth_value_is_a_plain_literal() {
        let of = |value: Value, dialect: &str| written(&Fold::Truth, &[vec![value]], dialect);
        assert_eq!(of(Value::Int(1), "sqlite").as_deref(), Ok("1"));
        assert_eq!(of(Value::Bool(false), "postgres").as_deref(), Ok("FALSE"));
        assert_eq!(of(Value::Null, "sqlite").as_deref(), Ok("NULL"));
        assert!(of(Value::Int(2), "sqlite").is_err() && of(Value::Text(b"a".to_vec()), "sqlite").is_err());
    }

    #[test]
    fn a_name_is_written_as_it_is() {
        let of = |value: Value| written(&Fold::Name, &[vec![value]], "sqlite");
        let text = |text: &str| Value::Text(text.as_bytes().to_vec());
        assert_eq!(of(text("NUMERIC(10,2)")).as_deref(), Ok("NUMERIC(10,2)"));
        assert_eq!(of(text("")).as_deref(), Ok(""));
        assert!(of(text("INT); DROP TABLE t")).is_err() && of(Value::Null).is_err() && of(Value::Int(1)).is_err());
        assert_eq!(written(&Fold::Name, &[], "sqlite"), Err(Unfit::NoRows));
    }

    #[test]
    fn what_has_no_literal_is_unfit() {
        for value in [
            Value::Real(f64::INFINITY),
            Value::Real(f64::NAN),
            Value::Text(vec![0xff]),
            Value::Text(b"a\\b".to_vec()),
            Value::Text(b"a\0".to_vec()),
        ] {
            assert_eq!(literal(&value, Wire::Sqlite), None, "{value:?}");
        }
        let blob = Value::Blob(vec![0, 0xaf]);
        assert_eq!(literal(&blob, Wire::Sqlite).as_deref(), Some("x'00af'"));
        assert_eq!(literal(&blob, Wire::Postgres).as_deref(), Some("'\\x00af'"));
        assert_eq!(literal(&blob, Wire::Duckdb).as_deref(), Some("'\\x00\\xaf'"));
    }
}
