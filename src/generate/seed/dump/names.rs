//! Names that need no quotes.

use crate::caq::bind::GENERATED_ALIAS;
use sqlparser::ast::{Ident, ObjectName};
use sqlparser::keywords::{
    ALL_KEYWORDS, ALL_KEYWORDS_INDEX, Keyword, RESERVED_FOR_COLUMN_ALIAS, RESERVED_FOR_TABLE_ALIAS,
};
use std::collections::{BTreeMap, BTreeSet};

/// Words that one engine or another keeps for itself, beside those that the parser cannot take for names.
const RESERVED: [&str; 62] = [
    "add",
    "all",
    "alter",
    "analyze",
    "and",
    "any",
    "as",
    "asc",
    "between",
    "both",
    "by",
    "case",
    "cast",
    "change",
    "check",
    "collate",
    "column",
    "condition",
    "constraint",
    "create",
    "database",
    "default",
    "delete",
    "desc",
    "distinct",
    "do",
    "drop",
    "else",
    "except",
    "exists",
    "false",
    "for",
    "foreign",
    "grant",
    "groups",
    "if",
    "in",
    "index",
    "insert",
    "into",
    "is",
    "key",
    "keys",
    "like",
    "match",
    "not",
    "null",
    "or",
    "over",
    "primary",
    "rank",
    "references",
    "row",
    "rows",
    "system",
    "table",
    "then",
    "to",
    "trigger",
    "true",
    "unique",
    "user",
];

/// The names of tables.
#[derive(Default)]
pub(super) struct Names {
    /// By the name as written, in lower case, with and without what qualifies it.
    tables: BTreeMap<String, String>,
    taken: BTreeSet<String>,
    /// Columns as written, in lower case, by the table's name here.
    columns: BTreeMap<String, BTreeMap<String, usize>>,
}

/// A name as other statements may write it.
pub(super) fn key(name: &ObjectName) -> String {
    let parts = name.0.iter().map(|part| part.as_ident().map_or_else(|| part.to_string(), |ident| ident.value.clone()));
    parts.collect::<Vec<_>>().join(".").to_ascii_lowercase()
}

/// A name without what qualifies it.
pub(super) fn last_part(name: &ObjectName) -> String {
    let last = name.0.last();
    last.map(|part| part.as_ident().map_or_else(|| part.to_string(), |ident| ident.value.clone())).unwrap_or_default()
}

impl Names {
    /// The name of a new table, and what is to be said if it is another one.
    pub(super) fn table(&mut self, name: &ObjectName) -> (String, Option<String>) {
        let written = last_part(name);
        let mut plain = plain(&written);
        if plain.to_ascii_lowercase().starts_with(GENERATED_ALIAS) || plain.starts_with("__") {
            plain = format!("t_{}", plain.trim_start_matches('_'));
        }
        // Another schema has a table of the name.
        let qualified = key(name).replace('.', "_");
        if self.taken.contains(&plain.to_ascii_lowercase()) {
            plain = self::plain(&qualified);
        }
        let plain = unique(&plain, &mut self.taken);
        let key = key(name);
        if let Some((_, bare)) = key.rsplit_once('.') {
            self.tables.entry(bare.to_owned()).or_insert_with(|| plain.clone());
        }
        self.tables.insert(key, plain.clone());
        let said = (plain != written).then(|| format!("table {name} is {plain}"));
        (plain, said)
    }

    /// Notes a table's columns.
    pub(super) fn note_columns(&mut self, table: &str, columns: BTreeMap<String, usize>) {
        self.columns.insert(table.to_owned(), columns);
    }

    /// The positions of a table's columns by their names as written.
    pub(super) fn column_of(&self, table: &str, name: &str) -> Option<usize> {
        self.columns.get(table)?.get(name).copied()
    }

    /// The name that a table has here.
    pub(super) fn of(&self, name: &ObjectName) -> Option<String> {
        let key = key(name);
        let bare = key.rsplit('.').next().unwrap_or_default();
        self.tables.get(&key).or_else(|| self.tables.get(bare)).cloned()
    }
}

/// The name of a new column, and what is to be said if it is another one.
pub(super) fn column(name: &Ident, table: &str, taken: &mut BTreeSet<String>) -> (String, Option<String>) {
    let mut plain = plain(&name.value);
    if plain.starts_with("__") {
        plain = format!("c{plain}");
    }
    let plain = unique(&plain, taken);
    let said = (plain != name.value).then(|| format!("column {table}.{name} is {plain}"));
    (plain, said)
}

/// A name like the one that is written, which needs no quotes anywhere.
fn plain(written: &str) -> String {
    let mut name: String =
        written.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        name.insert_str(0, "c_");
    }
    if is_reserved(&name) {
        name.push('_');
    }
    name
}

fn is_reserved(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let keyword = ALL_KEYWORDS.binary_search(&upper.as_str()).map_or(Keyword::NoKeyword, |at| ALL_KEYWORDS_INDEX[at]);
    RESERVED.contains(&name.to_ascii_lowercase().as_str())
        || RESERVED_FOR_COLUMN_ALIAS.contains(&keyword)
        || RESERVED_FOR_TABLE_ALIAS.contains(&keyword)
}

fn unique(name: &str, taken: &mut BTreeSet<String>) -> String {
    let mut fresh = name.to_owned();
    let mut number = 2;
    while !taken.insert(fresh.to_ascii_lowercase()) {
        fresh = format!("{name}_{number}");
        number += 1;
    }
    fresh
}
