//! A constrained abstract query by itself: what a seed is, and what a candidate must be equivalent to.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One query over a schema with placeholders (Argus paper, section 4).
///
/// In the query an expression placeholder is a column of its table and a table placeholder a table, so the text is plain
/// SQL (section 5.1, Listing 3).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Caq {
    /// `CREATE TABLE` statements of the real tables with their real columns.
    pub schema: String,
    /// Placeholders: name to `Expr(table: TYPE)` or `Table(column TYPE, …)`.
    #[serde(default)]
    pub placeholders: BTreeMap<String, String>,
    /// The query.
    #[serde(alias = "seed")]
    pub sql: String,
}
