//! Query plans as trees: how far apart they are, how alike a set of them is, and which of them stand for the rest.
//!
//! Discovery wants queries that are equivalent and yet executed differently, for a bug shows when two different plans
//! disagree. What an engine says about its plan is text of its own kind; one file per dialect ([`sqlite`]) turns it into
//! a [`PlanTree`] whose labels say how rows are reached and combined, without the names and numbers that any rewriting
//! of a query changes. Everything after that is the same for all engines:
//!
//! * [`distance`] is the distance of Zhang and Shasha, the one that the Argus paper cites (section 5.2);
//! * [`similarity`] is the paper's measure of how alike the found queries are (section 7.6);
//! * [`sampling`] chooses the examples shown to the model, by [`cluster`]s (appendix A) or by the baselines;
//! * [`diff`] shows a person what differs between two plans.
//!
//! **Invariant:** pure: no engine, no clock, no files; randomness comes as a seed. **Invariant:** total: whatever an
//! engine prints becomes a tree, and every function has an answer for no plans, one plan and equal plans.

pub mod cluster;
pub mod diff;
pub mod distance;
pub mod duckdb;
#[cfg(test)]
mod fixtures;
mod indented;
mod json;
pub mod mysql;
pub mod postgres;
pub mod sampling;
pub mod similarity;
pub mod sqlite;
pub mod tidb;
mod tree;

pub use tree::PlanTree;

use crate::compare::Row;
use crate::sql::profile::{Profile, Wire};
use crate::sql::types::Value;

/// The statement that shows the plan of a query.
pub fn explain(profile: &Profile, sql: &str) -> String {
    profile.explain.replace("#Q", sql)
}

/// The plan in the rows of that statement.
pub fn read(wire: Wire, rows: &[Row]) -> PlanTree {
    let text = |value: &Value| match value {
        Value::Text(text) | Value::Blob(text) => String::from_utf8_lossy(text).into_owned(),
        _ => String::new(),
    };
    let line = |row: &Row| match row.as_slice() {
        [Value::Int(id), Value::Int(parent), _, detail] => Some((*id, *parent, text(detail))),
        _ => None,
    };
    let lines = || sqlite::tree(&rows.iter().filter_map(line).collect::<Vec<_>>());
    // The last cell of the last row is the plan, as one text, but in SQLite.
    let whole = || rows.last().and_then(|row| row.last()).map(text).unwrap_or_default();
    match wire {
        Wire::Sqlite => lines(),
        Wire::Python if rows.iter().all(|row| line(row).is_some()) => lines(),
        Wire::Python => indented::tree(&whole()),
        Wire::Postgres => postgres::tree(&whole()),
        Wire::Duckdb => duckdb::tree(&whole()),
        Wire::Mysql => mysql::tree(&whole()),
    }
}
