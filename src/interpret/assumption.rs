//! Whether what a check rests on holds on the present database.

use super::{Rows, filled};
use crate::compare::{Comparison, Row, compare};
use crate::dbms::{Connection, EngineError};
use crate::program::{Assumption, Expected};
use crate::sql::profile::Profile;
use crate::sql::types::{SqlType, Value};

/// The first assumption that does not hold on the present database, or cannot be asked. `earlier` are the rows of the case's
/// steps.
pub fn broken_assumption<'a>(
    connection: &mut dyn Connection,
    profile: &Profile,
    assumptions: &'a [Assumption],
    earlier: Rows,
) -> Option<&'a Assumption> {
    let holds = |assumption: &&Assumption| holds(connection, profile, assumption, earlier).unwrap_or(false);
    let mut holds = holds;
    assumptions.iter().find(|assumption| !holds(assumption))
}

/// The rows of an assumption's query the first and the second time, if they differ.
pub fn unrepeated(
    connection: &mut dyn Connection,
    profile: &Profile,
    assumption: &Assumption,
    earlier: Rows,
) -> Option<[Vec<Row>; 2]> {
    let sql = filled(&assumption.sql, profile, earlier).ok()?;
    let (Ok(first), Ok(second)) = (connection.rows(&sql), connection.rows(&sql)) else { return None };
    (compare(&first, &second) != Comparison::Equal).then_some([first, second])
}

fn holds(
    connection: &mut dyn Connection,
    profile: &Profile,
    assumption: &Assumption,
    earlier: Rows,
) -> Result<bool, EngineError> {
    let sql = filled(&assumption.sql, profile, earlier)?;
    // Twice: an expression that is not deterministic breaks every assumption.
    let (first, second) = (connection.rows(&sql)?, connection.rows(&sql)?);
    if compare(&first, &second) != Comparison::Equal {
        return Ok(false);
    }
    let value_per_row = || {
        let count = i64::try_from(first.len()).unwrap_or(i64::MAX);
        first.iter().all(|row| row.get(1) == Some(&Value::Int(count)))
    };
    Ok(match &assumption.expected {
        Expected::RowCount => value_per_row(),
        Expected::Type(ty) => {
            value_per_row()
                && is_declared(connection, &sql, *ty)
                && first.iter().all(|row| row.first().is_some_and(|v| v.is_of(*ty)))
        }
        Expected::NoRows => first.is_empty(),
        Expected::Null => first.iter().all(|row| row.first() == Some(&Value::Null)),
        Expected::Same(other) => {
            let other = filled(other, profile, earlier)?;
            let rows = connection.rows(&other)?;
            // As they are printed, and not as they compare: the sign of a zero and the type of a value count.
            let exactly = |rows: &[Row]| {
                let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
                rows.sort();
                rows
            };
            exactly(&first) == exactly(&rows) && connection.types(&sql)? == connection.types(&other)?
        }
    })
}

/// Whether a query's first column is declared of the type, where columns of queries are. Truth values may be numbers.
fn is_declared(connection: &mut dyn Connection, sql: &str, ty: SqlType) -> bool {
    match connection.types(sql) {
        Ok(None) => true,
        Ok(Some(types)) => match types.first() {
            Some(Some(declared)) => *declared == ty || (ty == SqlType::Boolean && *declared == SqlType::Int),
            _ => false,
        },
        Err(_) => false,
    }
}
