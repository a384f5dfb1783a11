//! The rows that expressions are evaluated on: one table, copies of it, and its keys.

use crate::generate::Capabilities;
use crate::oracle::expressions::TABLE;
use crate::rng::{Rng, chance, pick};
use crate::sql::profile::{ColumnType, Profile};
use crate::sql::snippet::Snippet;
use crate::sql::types::SqlType;
use rand::RngExt as _;
use rand::seq::SliceRandom as _;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Tables with the same rows, filled by one statement: in the other order; for an index on the expression.
pub(super) const COPIES: [&str; 2] = ["t_reverse", "t_indexed"];

/// The table of the keys, and of one that no row has.
pub(super) const KEYS: &str = "t_keys";

/// Keys are from 1 to this number.
pub(super) const KEY_MAX: usize = 40;

/// Rows of a table, at most.
const ROWS_MAX: usize = 8;

/// Characters of a long text, at most. Columns are declared for as many.
const LONG_MAX: usize = 90;

/// A row.
pub(super) struct Row {
    /// Its key.
    pub(super) key: usize,
    /// The literal of each column.
    cells: BTreeMap<String, String>,
}

/// The tables and what is in them.
pub(super) struct Database {
    /// What makes them.
    pub(super) statements: Vec<String>,
    /// The rows, in the order in which they are inserted.
    pub(super) rows: Vec<Row>,
}

impl Database {
    /// A row whose cells are NULL.
    pub(super) fn one_row(capabilities: &Capabilities) -> Self {
        let names = capabilities.profile.snippet_table.columns.keys();
        let cells = names.map(|name| (name.clone(), "NULL".to_owned())).collect();
        Self::with_rows(capabilities, vec![Row { key: 1, cells }], "", None)
    }

    /// Random rows: boundary values, and NULLs before and after values.
    pub(super) fn generate(capabilities: &Capabilities, rng: &mut Rng) -> Self {
        let profile = &capabilities.profile;
        let mut keys: Vec<usize> = (1..=KEY_MAX).collect();
        keys.shuffle(rng);
        keys.truncate(rng.random_range(1..=ROWS_MAX));
        let null_percent = pick(rng, &[5, 20, 50]).copied().unwrap_or(20);
        let rows = keys.into_iter().map(|key| {
            let columns = profile.snippet_table.columns.iter();
            let cells = columns.map(|(name, ty)| (name.clone(), cell(profile, ty, null_percent, rng))).collect();
            Row { key, cells }
        });
        let rows = rows.collect();
        let option = pick(rng, &capabilities.keyed_table_options).filter(|_| chance(rng, 30));
        let setting = pick(rng, &profile.start_options).filter(|_| chance(rng, 30));
        Self::with_rows(capabilities, rows, option.map_or("", String::as_str), setting)
    }

    fn with_rows(capabilities: &Capabilities, rows: Vec<Row>, option: &str, setting: Option<&String>) -> Self {
        let profile = &capabilities.profile;
        let columns = &profile.snippet_table.columns;
        let mut declared = String::new();
        for (name, ty) in columns {
            // Writing to a string cannot fail.
            let _ = write!(declared, ", {name} {}", profile.declared(ty));
        }
        let names: String = columns.keys().flat_map(|name| [", ", name]).collect();
        let int = profile.declared(&ColumnType::Class(SqlType::Int));
        let key = if capabilities.enforced.keys { " PRIMARY KEY" } else { "" };
        let mut statements = profile.start.clone();
        statements.extend(setting.cloned());
        statements.push(format!("CREATE TABLE {TABLE}(k {int}{key}{declared}) {option}").trim_end().to_owned());
        for Row { key, cells } in &rows {
            let cells: String = columns.keys().flat_map(|name| [", ", cells[name].as_str()]).collect();
            statements.push(format!("INSERT INTO {TABLE}(k{names}) VALUES ({key}{cells})"));
        }
        // Not CREATE TABLE AS, which keeps neither every type nor what a column checks.
        for (table, order) in COPIES.into_iter().zip([" ORDER BY k DESC", ""]) {
            statements.push(format!("CREATE TABLE {table}(k {int}{declared})"));
            statements.push(format!("INSERT INTO {table} SELECT * FROM {TABLE}{order}"));
        }
        statements.push(format!("CREATE TABLE {KEYS} AS SELECT k FROM {TABLE}"));
        statements.push(format!("INSERT INTO {KEYS}(k) VALUES ({})", KEY_MAX + 1));
        Self { statements, rows }
    }

    /// The literal of a column in a row.
    pub(super) fn literal(&self, row: usize, column: &str) -> &str {
        self.rows[row].cells.get(column).map_or("NULL", String::as_str)
    }
}

fn cell(profile: &Profile, ty: &ColumnType, null_percent: u32, rng: &mut Rng) -> String {
    if chance(rng, null_percent) {
        return "NULL".to_owned();
    }
    if *ty == ColumnType::Class(SqlType::Text) && chance(rng, 8) {
        return long_text(rng);
    }
    // The first few are everyday values.
    let all = profile.literals(ty);
    let few = if chance(rng, 30) { &all[..all.len().min(5)] } else { all };
    pick(rng, few).cloned().unwrap_or_else(|| "NULL".to_owned())
}

/// A text of a few characters of one to four bytes, many times over.
fn long_text(rng: &mut Rng) -> String {
    let characters: Vec<char> = "aB1 é日😀".chars().collect();
    let period = rng.random_range(1..=5);
    let piece: Vec<char> = (0..period).filter_map(|_| pick(rng, &characters).copied()).collect();
    let length = rng.random_range(17..=LONG_MAX);
    format!("'{}'", piece.iter().cycle().take(length).collect::<String>())
}

/// Whether every column that a snippet names has an expression of exactly its type.
pub(super) fn can_be_folded(profile: &Profile, snippet: &Snippet) -> bool {
    snippet.columns.iter().all(|(_, ty)| profile.value(ty, "NULL").is_some())
}
