//! Databases and rows as text.

use crate::eval::{Database, Row};
use crate::ir::Schema;

use super::constraints::refers;

/// INSERT statements for all rows, each after the rows that it refers to; rows of a cycle come last.
pub(super) fn inserts(schema: &Schema, db: &Database) -> Vec<String> {
    let mut waiting: Vec<(usize, &Row)> = Vec::new();
    for (table, rows) in db.tables.iter().enumerate() {
        waiting.extend(rows.iter().map(|row| (table, row)));
    }
    let mut statements = Vec::new();
    while !waiting.is_empty() {
        let ready = |at: usize| {
            let (table, row) = waiting[at];
            let waits_for = |fk: &crate::ir::ForeignKey| {
                let parents = waiting.iter().filter(|(parent, _)| *parent == fk.parent);
                parents.into_iter().any(|(_, parent)| !std::ptr::eq(*parent, row) && refers(fk, row, parent))
                    && !(fk.parent == table && refers(fk, row, row))
            };
            !schema.tables[table].foreign_keys.iter().any(waits_for)
        };
        let next = (0..waiting.len()).find(|at| ready(*at)).unwrap_or(0);
        let (table, row) = waiting.remove(next);
        statements.push(insert(schema, table, row));
    }
    statements
}

fn insert(schema: &Schema, table: usize, row: &Row) -> String {
    let table = &schema.tables[table];
    let columns: Vec<String> = table.columns.iter().map(|c| name(&c.name)).collect();
    format!("INSERT INTO {} ({}) VALUES {}", name(&table.name), columns.join(", "), tuple(row))
}

/// A name, quoted unless it is a plain word.
fn name(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// Rows like `(1, NULL, 'x')`, sorted.
pub(super) fn rows(mut rows: Vec<Row>) -> Vec<String> {
    rows.sort();
    rows.iter().map(tuple).collect()
}

fn tuple(row: &Row) -> String {
    let values: Vec<String> = row.iter().map(ToString::to_string).collect();
    format!("({})", values.join(", "))
}
