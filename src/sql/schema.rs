//! The schema of an oracle class, read from its DDL.
//!
//! Anything in the DDL that is not understood is an error: a constraint that was skipped silently would let the row
//! generator break what the class's equivalence rests on.

use super::print::dialect;
use super::types::SqlType;
use serde::Deserialize;
use sqlparser::ast::{ColumnOption, CreateTable, Expr, Ident, IndexColumn, ObjectName, Statement, TableConstraint};
use sqlparser::parser::{Parser, ParserError};
use thiserror::Error;

/// A column of a class schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Name, unquoted.
    pub name: String,
    /// Declared type.
    pub ty: SqlType,
    /// Whether NULL is forbidden, by NOT NULL or by membership in the primary key.
    pub not_null: bool,
}

/// What becomes of the rows that refer to a row which is deleted, or whose key is changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, strum::Display)]
pub enum Action {
    /// They keep such a row; the end of the statement is what counts.
    #[default]
    #[serde(rename = "NO ACTION")]
    #[strum(to_string = "NO ACTION")]
    NoAction,
    /// They keep such a row at any time.
    #[serde(rename = "RESTRICT")]
    #[strum(to_string = "RESTRICT")]
    Restrict,
    /// They go too, or get the new key.
    #[serde(rename = "CASCADE")]
    #[strum(to_string = "CASCADE")]
    Cascade,
    /// They refer to nothing.
    #[serde(rename = "SET NULL")]
    #[strum(to_string = "SET NULL")]
    SetNull,
    /// They get the default values of their columns.
    #[serde(rename = "SET DEFAULT")]
    #[strum(to_string = "SET DEFAULT")]
    SetDefault,
}

/// The actions of a foreign key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Actions {
    /// When a row is deleted.
    pub delete: Action,
    /// When its key is changed.
    pub update: Action,
}

/// A foreign key: the columns hold NULL or the values of a row of the other table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKey {
    /// Positions of the referring columns.
    pub columns: Vec<usize>,
    /// Position of the table referred to, in the schema.
    pub table: usize,
    /// Positions of the columns referred to.
    pub referred: Vec<usize>,
    /// What it does. Those of classes do nothing.
    pub actions: Actions,
}

/// A table of a class schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Name, unquoted.
    pub name: String,
    /// Real columns in order; virtual columns are not listed here.
    pub columns: Vec<Column>,
    /// Positions of the primary key's columns; empty without one.
    pub primary_key: Vec<usize>,
    /// Unique constraints, each a list of column positions. NULLs are distinct.
    pub unique: Vec<Vec<usize>>,
    /// CHECK conditions, printed.
    pub checks: Vec<String>,
    /// Foreign keys.
    pub foreign_keys: Vec<ForeignKey>,
}

impl Table {
    /// The position of a column by name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name.eq_ignore_ascii_case(name))
    }
}

/// The tables a class is written over, in the order in which they must be created.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Schema {
    /// The tables.
    pub tables: Vec<Table>,
}

impl Schema {
    /// The position of a table by name.
    pub fn table(&self, name: &str) -> Option<usize> {
        self.tables.iter().position(|t| t.name.eq_ignore_ascii_case(name))
    }
}

/// Why DDL could not be read as a class schema.
#[derive(Debug, Error)]
pub enum SchemaError {
    /// The text is no SQL.
    #[error("the schema does not parse")]
    Syntax(#[source] ParserError),
    /// A part is SQL but not part of the schema language of classes.
    #[error("the schema has an unsupported part: {0}")]
    Unsupported(String),
    /// A name refers to nothing, or is used twice.
    #[error("{0}")]
    Name(String),
}

/// The statements of a DDL text, one by one.
pub fn statements(ddl: &str) -> Result<Vec<String>, SchemaError> {
    let statements = Parser::parse_sql(dialect(), ddl).map_err(SchemaError::Syntax)?;
    Ok(statements.iter().map(ToString::to_string).collect())
}

/// Reads `CREATE TABLE` statements.
pub fn parse_schema(ddl: &str) -> Result<Schema, SchemaError> {
    let statements = Parser::parse_sql(dialect(), ddl).map_err(SchemaError::Syntax)?;
    let mut schema = Schema::default();
    for statement in statements {
        let Statement::CreateTable(create) = statement else {
            return Err(SchemaError::Unsupported(statement.to_string()));
        };
        let table = table(&create, &schema)?;
        if schema.table(&table.name).is_some() {
            return Err(SchemaError::Name(format!("table {} is defined twice", table.name)));
        }
        schema.tables.push(table);
    }
    Ok(schema)
}

/// Reads the body of a `Table(…)` constraint, `c0 INT, c1 TEXT`, as a table of that name.
pub fn parse_columns(name: &str, columns: &str) -> Result<Table, SchemaError> {
    let schema = parse_schema(&format!("CREATE TABLE {name}({columns})"))?;
    schema.tables.into_iter().next().ok_or_else(|| SchemaError::Unsupported(columns.to_owned()))
}

fn table(create: &CreateTable, schema: &Schema) -> Result<Table, SchemaError> {
    let mut table = Table {
        name: simple_name(&create.name)?,
        columns: Vec::new(),
        primary_key: Vec::new(),
        unique: Vec::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
    };
    let plain = Statement::CreateTable(CreateTable {
        columns: Vec::new(),
        constraints: Vec::new(),
        name: create.name.clone(),
        ..create.clone()
    });
    if !plain
        .to_string()
        .trim_end_matches(['(', ')', ' '])
        .eq_ignore_ascii_case(&format!("CREATE TABLE {}", table.name))
    {
        return Err(SchemaError::Unsupported(plain.to_string()));
    }
    for column in &create.columns {
        let ty = SqlType::parse(&column.data_type.to_string())
            .ok_or_else(|| SchemaError::Unsupported(format!("type {}", column.data_type)))?;
        if table.column(&column.name.value).is_some() {
            return Err(SchemaError::Name(format!("column {} is defined twice", column.name)));
        }
        table.columns.push(Column { name: column.name.value.clone(), ty, not_null: false });
        let at = table.columns.len() - 1;
        for option in &column.options {
            match &option.option {
                ColumnOption::NotNull => table.columns[at].not_null = true,
                ColumnOption::Null => {}
                ColumnOption::PrimaryKey(_) => table.primary_key = vec![at],
                ColumnOption::Unique(_) => table.unique.push(vec![at]),
                ColumnOption::Check(check) => table.checks.push(check.expr.to_string()),
                ColumnOption::ForeignKey(key) => {
                    let key = foreign_key(vec![at], &key.foreign_table, &key.referred_columns, schema)?;
                    table.foreign_keys.push(key);
                }
                other => return Err(SchemaError::Unsupported(other.to_string())),
            }
        }
    }
    for constraint in &create.constraints {
        match constraint {
            TableConstraint::PrimaryKey(key) => table.primary_key = index_columns(&table, &key.columns)?,
            TableConstraint::Unique(key) => {
                let columns = index_columns(&table, &key.columns)?;
                table.unique.push(columns);
            }
            TableConstraint::Check(check) => table.checks.push(check.expr.to_string()),
            TableConstraint::ForeignKey(key) => {
                let columns = named_columns(&table, &key.columns)?;
                table.foreign_keys.push(foreign_key(columns, &key.foreign_table, &key.referred_columns, schema)?);
            }
            other => return Err(SchemaError::Unsupported(other.to_string())),
        }
    }
    for &at in &table.primary_key {
        table.columns[at].not_null = true;
    }
    Ok(table)
}

fn simple_name(name: &ObjectName) -> Result<String, SchemaError> {
    match name.0.as_slice() {
        [part] => {
            part.as_ident().map(|ident| ident.value.clone()).ok_or_else(|| SchemaError::Unsupported(name.to_string()))
        }
        _ => Err(SchemaError::Unsupported(format!("qualified name {name}"))),
    }
}

fn foreign_key(
    columns: Vec<usize>,
    target: &ObjectName,
    referred: &[Ident],
    schema: &Schema,
) -> Result<ForeignKey, SchemaError> {
    let name = simple_name(target)?;
    let table = schema
        .table(&name)
        .ok_or_else(|| SchemaError::Name(format!("REFERENCES names {name}, which must be defined before")))?;
    let parent = &schema.tables[table];
    let referred = if referred.is_empty() { parent.primary_key.clone() } else { named_columns(parent, referred)? };
    if referred.len() != columns.len() {
        return Err(SchemaError::Name(format!(
            "the foreign key to {name} has another number of columns than its target"
        )));
    }
    Ok(ForeignKey { columns, table, referred, actions: Actions::default() })
}

fn named_columns(table: &Table, names: &[Ident]) -> Result<Vec<usize>, SchemaError> {
    names
        .iter()
        .map(|n| {
            table.column(&n.value).ok_or_else(|| SchemaError::Name(format!("table {} has no column {n}", table.name)))
        })
        .collect()
}

fn index_columns(table: &Table, columns: &[IndexColumn]) -> Result<Vec<usize>, SchemaError> {
    let names: Vec<Ident> = columns
        .iter()
        .map(|c| match &c.column.expr {
            Expr::Identifier(ident) => Ok(ident.clone()),
            other => Err(SchemaError::Unsupported(format!("key over {other}"))),
        })
        .collect::<Result<_, _>>()?;
    named_columns(table, &names)
}

/// The table that one of our own statements makes.
pub fn created_table(statement: &str) -> Option<&str> {
    let rest = ["CREATE TABLE ", "CREATE VIRTUAL TABLE "].iter().find_map(|start| statement.strip_prefix(start))?;
    rest.split(['(', ' ']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_make_tables_name_them() {
        assert_eq!(created_table("CREATE TABLE t1(c0 INT)"), Some("t1"));
        assert_eq!(created_table("CREATE TABLE t1 AS SELECT 1"), Some("t1"));
        assert_eq!(created_table("CREATE VIRTUAL TABLE t1 USING rtree(a, b, c)"), Some("t1"));
        assert_eq!(created_table("CREATE VIEW v AS SELECT 1"), None);
    }

    #[test]
    fn constraints_are_read() {
        let schema = parse_schema(
            "CREATE TABLE t1(c0 INT, c1 TEXT NOT NULL, PRIMARY KEY(c0)); \
             CREATE TABLE t2(c0 INT UNIQUE REFERENCES t1(c0), c1 INT CHECK (c1 > 0), UNIQUE(c0, c1));",
        )
        .expect("the schema reads");
        assert_eq!(schema.tables[0].primary_key, [0]);
        assert!(schema.tables[0].columns.iter().all(|c| c.not_null));
        assert_eq!(schema.tables[1].unique, [vec![0], vec![0, 1]]);
        assert_eq!(schema.tables[1].checks, ["c1 > 0"]);
        assert_eq!(schema.tables[1].foreign_keys[0].referred, [0]);
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for ddl in [
            "CREATE TABLE t1(c0 INT DEFAULT 3)",
            "CREATE TABLE t1(c0 MONEY)",
            "CREATE TABLE t1(c0 INT) WITHOUT ROWID",
            "CREATE TEMPORARY TABLE t1(c0 INT)",
            "CREATE TABLE t1(c0 INT, c0 INT)",
            "CREATE TABLE t2(c0 INT REFERENCES t1(c0))",
            "DROP TABLE t1",
            "CREATE TABLE",
        ] {
            assert!(parse_schema(ddl).is_err(), "{ddl} must not be accepted");
        }
    }
}
