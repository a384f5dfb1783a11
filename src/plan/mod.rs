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
#[cfg(test)]
mod fixtures;
pub mod sampling;
pub mod similarity;
pub mod sqlite;
mod tree;

pub use tree::PlanTree;

use crate::compare::Row;
use crate::sql::types::Value;

/// The statement that shows the plan of a query; `None` in a dialect whose plans are not read.
pub fn explain(dialect: &str, sql: &str) -> Option<String> {
    match dialect {
        "sqlite" => Some(format!("EXPLAIN QUERY PLAN {sql}")),
        _ => None,
    }
}

/// The plan in the rows of that statement.
pub fn read(dialect: &str, rows: &[Row]) -> Option<PlanTree> {
    let line = |row: &Row| match row.as_slice() {
        [Value::Int(id), Value::Int(parent), _, Value::Text(detail)] => {
            Some((*id, *parent, String::from_utf8_lossy(detail).into_owned()))
        }
        _ => None,
    };
    match dialect {
        "sqlite" => Some(sqlite::tree(&rows.iter().filter_map(line).collect::<Vec<_>>())),
        _ => None,
    }
}
