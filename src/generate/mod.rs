//! Random databases, tables and expressions. Seeded and pure: a seed in, SQL out; no I/O, no clock.
//!
//! [`database`] makes the schema, rows and indexes for a class, [`expr`] typed expressions from the dialect's operator
//! grammar, and [`table`] the queries that stand for table placeholders.

pub mod database;
pub mod expr;
pub mod seed;
pub mod table;

use crate::compare::Row;
use crate::corpus::snippet::Snippet;
use crate::rng::{Rng, chance, pick};
use crate::sql::profile::Profile;
use crate::sql::types::SqlType;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A column of a table that was created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnInfo {
    /// Its name.
    pub name: Arc<str>,
    /// The type of every value in it; `None` when it holds values of several types.
    pub ty: Option<SqlType>,
    /// Whether its text compares byte by byte.
    pub binary: bool,
    /// Whether rows give it a value; false for generated columns and automatic keys.
    pub given: bool,
}

/// A table that was created, as generated expressions see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableInfo {
    /// Its name; for a table placeholder, the name of a table of that shape.
    pub name: Arc<str>,
    /// Its columns.
    pub columns: Vec<ColumnInfo>,
}

/// What one version of an engine accepts, found out by probing it, and the snippets that hold on it.
#[derive(Debug)]
pub struct Capabilities {
    /// The dialect.
    pub profile: Arc<Profile>,
    /// The operators the engine knows.
    pub grammar: expr::Grammar,
    /// The join keywords the engine knows.
    pub joins: Vec<String>,
    /// Options for CREATE TABLE the engine knows.
    pub table_options: Vec<String>,
    /// Templates of virtual tables the engine knows.
    pub virtual_tables: Vec<String>,
    /// Whether generated columns are known.
    pub generated_columns: bool,
    /// Whether a row that violates a foreign key is refused.
    pub foreign_keys: bool,
    /// Corpus snippets with validated claims.
    pub snippets: Vec<Arc<Snippet>>,
}

impl Capabilities {
    /// Probes an engine. `rows` runs a statement on an empty database and returns its rows, `None` if the engine does not
    /// accept it; `snippets` are those that were validated on it; `foreign_keys` says whether it enforces them.
    pub fn probe(
        profile: Arc<Profile>,
        snippets: Vec<Arc<Snippet>>,
        foreign_keys: bool,
        mut rows: impl FnMut(&str) -> Option<Vec<Row>>,
    ) -> Self {
        let operators = expr::known_operators(&profile, |sql| rows(sql)?.into_iter().next()?.into_iter().next());
        let grammar = expr::Grammar::new(operators);
        let mut accepts = |sql: &str| rows(sql).is_some();
        let joins = profile.joins.iter().filter(|join| {
            let on = if join.starts_with("CROSS") { "" } else { " ON a.c = b.c" };
            accepts(&format!("SELECT 1 FROM (SELECT 1 AS c) AS a {join} (SELECT 1 AS c) AS b{on}"))
        });
        let joins = joins.cloned().collect();
        let options = profile.table_options.iter().filter(|o| accepts(&format!("CREATE TABLE probe(c INT) {o}")));
        let table_options = options.cloned().collect();
        let virtual_tables = profile
            .virtual_tables
            .iter()
            .filter(|template| accepts(&template.replace("#N", "probe").replace("#C", "c").replace("#X", "x")));
        let virtual_tables = virtual_tables.cloned().collect();
        let generated_columns = accepts("CREATE TABLE probe(c INT, g AS (c))");
        Self { profile, grammar, joins, table_options, virtual_tables, generated_columns, foreign_keys, snippets }
    }
}

/// The literals of one database. Rows and expressions draw from the same few, so that joins match and filters hit.
#[derive(Debug, Clone)]
pub struct Literals {
    by_type: BTreeMap<SqlType, Vec<Arc<str>>>,
}

impl Literals {
    /// Draws a few of the profile's literals per type. Blobs and text share their spelling rarely, numbers often.
    pub fn draw(profile: &Profile, rng: &mut Rng) -> Self {
        let mut by_type = BTreeMap::new();
        for ty in SqlType::ALL {
            let all = profile.literals.get(&ty).map(Vec::as_slice).unwrap_or_default();
            // The first few are the small everyday values; the others come in by chance.
            let mut few: Vec<Arc<str>> = all.iter().take(5).map(|l| Arc::from(l.as_str())).collect();
            for _ in 0..4 {
                few.extend(pick(rng, all).map(|l| Arc::from(l.as_str())));
            }
            by_type.insert(ty, few);
        }
        Self { by_type }
    }

    /// A literal of a type, or NULL in `null_percent` of a hundred draws.
    pub fn value(&self, ty: SqlType, null_percent: u32, rng: &mut Rng) -> Arc<str> {
        if chance(rng, null_percent) {
            return "NULL".into();
        }
        self.by_type.get(&ty).and_then(|values| pick(rng, values)).cloned().unwrap_or_else(|| "NULL".into())
    }

    /// A literal of a type, or of any.
    pub fn of(&self, ty: Option<SqlType>, null_percent: u32, rng: &mut Rng) -> Arc<str> {
        let ty = ty.unwrap_or_else(|| any_type(rng));
        self.value(ty, null_percent, rng)
    }
}

/// A random type, numbers and text more often than blobs.
pub fn any_type(rng: &mut Rng) -> SqlType {
    const SHARE: [SqlType; 10] = [
        SqlType::Int,
        SqlType::Int,
        SqlType::Int,
        SqlType::Text,
        SqlType::Text,
        SqlType::Text,
        SqlType::Boolean,
        SqlType::Real,
        SqlType::Real,
        SqlType::Blob,
    ];
    pick(rng, &SHARE).copied().unwrap_or(SqlType::Int)
}
