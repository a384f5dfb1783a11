//! The constraints of a schema, tested on concrete databases.

use crate::eval::{Condition, Database, Row};
use crate::ir::{ForeignKey, Key, Schema, TableId, Value};

/// Whether every constraint of the schema holds. A CHECK whose meaning is not known counts as holding.
pub fn satisfies(schema: &Schema, db: &Database) -> bool {
    Constraints::new(schema).satisfied(db)
}

/// A schema with its CHECK conditions made ready.
pub(super) struct Constraints<'s> {
    pub schema: &'s Schema,
    /// For each table; `None` for a condition that has no meaning here.
    checks: Vec<Vec<Option<Condition>>>,
}

/// What a CHECK says about a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    Holds,
    Fails,
    Unknown,
}

impl<'s> Constraints<'s> {
    pub(super) fn new(schema: &'s Schema) -> Self {
        let checks = schema.tables.iter().map(|t| t.checks.iter().map(|c| Condition::new(c).ok()).collect());
        Self { schema, checks: checks.collect() }
    }

    /// Whether every constraint holds as far as is known.
    pub(super) fn satisfied(&self, db: &Database) -> bool {
        let tables = &self.schema.tables;
        db.tables.len() == tables.len()
            && db.tables.iter().enumerate().all(|(table, rows)| {
                rows.iter().all(|row| self.row_fits(table, row, db))
                    && tables[table].keys.iter().all(|key| unique(key, rows))
                    && tables[table].foreign_keys.iter().all(|fk| rows.iter().all(|row| has_parent(fk, row, db)))
            })
    }

    /// Whether a row has room in its columns, and NOT NULL and CHECK hold for it.
    pub(super) fn row_fits(&self, table: TableId, row: &[Value], db: &Database) -> bool {
        let columns = &self.schema.tables[table].columns;
        row.len() == columns.len()
            && !columns
                .iter()
                .zip(row)
                .any(|(column, value)| column.not_null && value.is_null() || !column.holds(value))
            && self.checks[table].iter().all(|check| test(check.as_ref(), row, db) != Check::Fails)
    }

    /// Whether some row is only allowed under an arbitrary meaning of a CHECK.
    pub(super) fn uncertain(&self, db: &Database) -> bool {
        db.tables.iter().zip(&self.checks).any(|(rows, checks)| {
            rows.iter().any(|row| checks.iter().any(|check| test(check.as_ref(), row, db) == Check::Unknown))
        })
    }
}

/// A row satisfies a CHECK that is not FALSE; one that raises an error cannot be stored.
fn test(check: Option<&Condition>, row: &[Value], db: &Database) -> Check {
    let Some(check) = check else { return Check::Unknown };
    match check.test(row, db, 0) {
        Ok((_, true)) => Check::Unknown,
        Ok((Some(false), false)) | Err(_) => Check::Fails,
        Ok((_, false)) => Check::Holds,
    }
}

/// Whether two rows agree on all columns of a key, none of them NULL.
pub(super) fn collide(key: &Key, a: &[Value], b: &[Value]) -> bool {
    key.columns.iter().all(|c| !a[*c].is_null() && a[*c] == b[*c])
}

fn unique(key: &Key, rows: &[Row]) -> bool {
    rows.iter().enumerate().all(|(at, row)| !rows[..at].iter().any(|other| collide(key, row, other)))
}

pub(super) fn has_parent(fk: &ForeignKey, row: &[Value], db: &Database) -> bool {
    fk.columns.iter().any(|c| row[*c].is_null()) || db.tables[fk.parent].iter().any(|parent| refers(fk, row, parent))
}

/// Whether `row` refers to `parent`.
pub(super) fn refers(fk: &ForeignKey, row: &[Value], parent: &[Value]) -> bool {
    fk.columns.iter().zip(&fk.parent_columns).all(|(c, p)| !row[*c].is_null() && row[*c] == parent[*p])
}
