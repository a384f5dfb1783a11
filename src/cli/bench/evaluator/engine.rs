//! An engine that evaluates expressions over the one row of a table, many at once, and says their types.

use super::forms::COLUMNS;
use crate::dbms::{Connection, EngineError, ErrorClass};
use crate::interpret::build;
use crate::sql::profile::{Profile, Wire};
use crate::sql::types::Value;
use prover::ir::number::{Engine as Dialect, Kind};
use prover::ir::{Assumption, Type};
use std::sync::Arc;

/// What an engine made of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    /// The value.
    pub value: Value,
    /// The name of its type, in lower case without sizes.
    pub ty: Arc<str>,
}

/// An engine with the table.
pub(super) struct Engine {
    connection: Box<dyn Connection>,
    profile: Arc<Profile>,
    /// The literals of the present row.
    row: Vec<String>,
}

/// The statement that makes the table.
pub(super) fn table(wire: Wire) -> String {
    let moment = if wire == Wire::Mysql { "DATETIME" } else { "TIMESTAMP" };
    let columns: Vec<String> = COLUMNS.iter().map(|(name, ty, _)| format!("{name} {ty}")).collect();
    format!("CREATE TABLE t({})", columns.join(", ").replace("#TIMESTAMP", moment))
}

impl Engine {
    /// Connects and makes the table.
    pub(super) fn new(connection: Box<dyn Connection>, profile: Arc<Profile>) -> Result<Self, EngineError> {
        if profile.wire == Wire::Python {
            let message = "the types of results cannot be asked of engines that are Python modules";
            return Err(EngineError::new(ErrorClass::Unsupported, message));
        }
        let mut engine = Self { connection, profile, row: Vec::new() };
        engine.make()?;
        Ok(engine)
    }

    fn make(&mut self) -> Result<(), EngineError> {
        build(self.connection.as_mut(), &self.profile.start)?;
        self.connection.execute(&table(self.profile.wire))
    }

    /// The engine's version.
    pub(super) fn version(&self) -> String {
        self.connection.version()
    }

    /// The literals of the present row.
    pub(super) fn row(&self) -> &[String] {
        &self.row
    }

    /// Makes this the table's only row.
    pub(super) fn load(&mut self, row: &[String]) -> Result<(), EngineError> {
        row.clone_into(&mut self.row);
        let insert = format!("INSERT INTO t VALUES ({})", row.join(", "));
        let done = self.connection.execute("DELETE FROM t").and_then(|()| self.connection.execute(&insert));
        if done.as_ref().is_err_and(|error| error.class == ErrorClass::ConnectionLost) {
            self.make()?;
            return self.connection.execute(&insert);
        }
        done
    }

    /// Evaluates expressions. One that fails is found by halving.
    pub(super) fn answers(&mut self, expressions: &[&str]) -> Result<Vec<Result<Answer, EngineError>>, EngineError> {
        if expressions.is_empty() {
            return Ok(Vec::new());
        }
        match self.ask(expressions) {
            Ok(answers) => Ok(answers.into_iter().map(Ok).collect()),
            Err(error) => {
                if error.class.is_finding() || error.class == ErrorClass::ConnectionLost {
                    let row = std::mem::take(&mut self.row);
                    self.make()?;
                    self.load(&row)?;
                }
                if let [_] = expressions {
                    return Ok(vec![Err(error)]);
                }
                let (first, second) = expressions.split_at(expressions.len() / 2);
                let mut answers = self.answers(first)?;
                answers.extend(self.answers(second)?);
                Ok(answers)
            }
        }
    }

    fn ask(&mut self, expressions: &[&str]) -> Result<Vec<Answer>, EngineError> {
        if self.profile.wire == Wire::Mysql {
            return self.ask_mysql(expressions);
        }
        let typed = expressions.iter().map(|e| match self.profile.wire {
            Wire::Postgres => format!("{e}, CAST(pg_typeof({e}) AS TEXT)"),
            _ => format!("{e}, typeof({e})"),
        });
        let row =
            self.one(&format!("SELECT {} FROM t", typed.collect::<Vec<_>>().join(", ")), 2 * expressions.len())?;
        let mut cells = row.into_iter();
        let mut answers = Vec::new();
        while let (Some(value), Some(ty)) = (cells.next(), cells.next()) {
            answers.push(Answer { value, ty: base(&text(ty)) });
        }
        Ok(answers)
    }

    /// A view is what says the types of expressions.
    fn ask_mysql(&mut self, expressions: &[&str]) -> Result<Vec<Answer>, EngineError> {
        let values = self.one(&format!("SELECT {} FROM t", expressions.join(", ")), expressions.len())?;
        let named = (0..).zip(expressions).map(|(at, e): (usize, _)| format!("{e} AS c{at}"));
        let view = format!("CREATE OR REPLACE VIEW typed AS SELECT {} FROM t", named.collect::<Vec<_>>().join(", "));
        self.connection.execute(&view)?;
        let types = self.connection.rows(
            "SELECT data_type FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'typed' \
             ORDER BY ordinal_position",
        )?;
        if types.len() != expressions.len() {
            return Err(EngineError::new(ErrorClass::Unsupported, "a view that the engine cannot describe"));
        }
        let types = types.into_iter().flatten().map(|ty| base(&text(ty)));
        Ok(values.into_iter().zip(types).map(|(value, ty)| Answer { value, ty }).collect())
    }

    fn one(&mut self, sql: &str, columns: usize) -> Result<Vec<Value>, EngineError> {
        let rows = self.connection.rows(sql)?;
        match <[Vec<Value>; 1]>::try_from(rows) {
            Ok([row]) if row.len() == columns => Ok(row),
            other => {
                let rows = other.map_or_else(|rows| rows.len(), |_| 1);
                Err(EngineError::new(
                    ErrorClass::Data,
                    format!("{rows} rows where one of {columns} columns was asked for"),
                ))
            }
        }
    }
}

fn text(value: Value) -> String {
    match value {
        Value::Text(text) | Value::Blob(text) => String::from_utf8_lossy(&text).into_owned(),
        other => other.to_string(),
    }
}

/// The name of a type without sizes and quotes.
fn base(name: &str) -> Arc<str> {
    let name = name.trim_matches('"').to_lowercase();
    let (start, rest) = name.split_once('(').unwrap_or((&name, ""));
    let end = rest.split_once(')').map_or("", |(_, end)| end.trim());
    if end.is_empty() { start.trim().into() } else { format!("{} {end}", start.trim()).into() }
}

/// Whether a type that the prover claims is one that an engine names; `None` if one of them says nothing.
pub(super) fn fits(claimed: &Type, named: &str, profile: &Profile) -> Option<bool> {
    if matches!(named, "null" | "unknown" | "") {
        return None;
    }
    let dynamic = profile.wire == Wire::Sqlite;
    let is_number = |kind: Kind| match kind {
        Kind::Whole | Kind::Long => matches!(
            named,
            "integer"
                | "smallint"
                | "bigint"
                | "tinyint"
                | "mediumint"
                | "int"
                | "hugeint"
                | "utinyint"
                | "usmallint"
                | "uinteger"
                | "ubigint"
                | "uhugeint"
        ),
        // One type for all that is not whole.
        Kind::Exact if dynamic => named == "real",
        Kind::Exact => matches!(named, "numeric" | "decimal"),
        Kind::Ratio | Kind::Float => matches!(named, "double" | "double precision" | "real" | "float"),
    };
    let dialect = match profile.wire {
        Wire::Postgres => Dialect::Postgres,
        Wire::Duckdb => Dialect::DuckDb,
        Wire::Mysql => Dialect::MariaDb,
        Wire::Sqlite | Wire::Python => Dialect::Sqlite,
    };
    let number = claimed.as_number().map(|number| number.kinds[dialect as usize]);
    let whole_too = dynamic && !profile.guarantees.contains(&Assumption::StaticTypes);
    Some(match (claimed, number) {
        // A value may be whole there, which counts only where the prover assumes static types.
        (_, Some(kind)) if kind > Kind::Long && whole_too && named == "integer" => return None,
        (_, Some(kind)) => is_number(kind),
        // Where truth values are the numbers 1 and 0, they have a number's type.
        (Type::Boolean, _) if profile.guarantees.contains(&Assumption::BooleanIsOneOrZero) => is_number(Kind::Whole),
        (Type::Boolean, _) => named == "boolean",
        (Type::Text, _) => matches!(
            named,
            "text" | "varchar" | "character varying" | "character" | "char" | "tinytext" | "mediumtext" | "longtext"
        ),
        (Type::Date | Type::Time | Type::Timestamp, _) if dynamic => named == "text",
        (Type::Date, _) => named == "date",
        (Type::Time, _) => matches!(named, "time" | "time without time zone"),
        (Type::Timestamp, _) => matches!(named, "timestamp" | "timestamp without time zone" | "datetime"),
        // No claim.
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::profile;

    #[test]
    fn types_fit_by_what_a_dialect_has() {
        let check = |dialect: &str, claimed: Type, named: &str, expect: Option<bool>| {
            let profile = profile(dialect).expect("shipped");
            assert_eq!(fits(&claimed, &base(named), &profile), expect, "{dialect}: {claimed} {named}");
        };
        check("duckdb", Type::Decimal, "DECIMAL(18,3)", Some(true));
        check("duckdb", Type::Integer, "DECIMAL(18,0)", Some(false));
        check("duckdb", Type::Integer, "\"NULL\"", None);
        check("postgres", Type::Boolean, "boolean", Some(true));
        check("postgres", Type::Boolean, "integer", Some(false));
        check("mariadb", Type::Boolean, "int", Some(true));
        check("postgres", Type::Timestamp, "timestamp without time zone", Some(true));
        check("postgres", Type::Double, "numeric", Some(false));
        check("sqlite", Type::Decimal, "real", Some(true));
        check("sqlite", Type::Decimal, "integer", None);
        check("sqlite", Type::Integer, "real", Some(false));
        check("sqlite", Type::Unknown, "integer", None);
    }
}
