//! Makes a database that shows a difference as small and plain as it can be.

use std::collections::BTreeSet;

use crate::eval::{Database, Outcome, Row};
use crate::evidence::Witness;
use crate::ir::{Table, Type, Value};

use super::{Pair, print};

/// How many smaller databases are tried; a bound on the work for queries over many wide tables.
const TRIES: u32 = 3000;

/// The witness made from `db`, on which the queries differ.
pub(super) fn witness(pair: &Pair<'_>, db: Database, meaning: u64) -> Witness {
    let (db, [left, right]) = shrink(pair, db, meaning);
    let inserts = print::inserts(pair.constraints.schema, &db);
    Witness { inserts, left: print::rows(left), right: print::rows(right) }
}

/// A smaller database on which the queries differ, and their rows.
pub(super) fn shrink(pair: &Pair<'_>, db: Database, meaning: u64) -> (Database, [Vec<Row>; 2]) {
    let mut search = Shrink { pair, meaning, tries: TRIES, outcomes: None, db };
    search.drop_rows();
    search.simplify_values();
    search.rename_values();
    search.drop_rows();
    let Shrink { db, outcomes, .. } = search;
    let outcomes = outcomes.or_else(|| pair.outcomes(&db, meaning));
    let rows = outcomes.map_or_else(Default::default, |[left, right]| [left.rows, right.rows]);
    (db, rows)
}

struct Shrink<'p, 's> {
    pair: &'p Pair<'s>,
    meaning: u64,
    tries: u32,
    db: Database,
    /// The results on `db` since it was last changed.
    outcomes: Option<[Outcome; 2]>,
}

impl Shrink<'_, '_> {
    /// Keeps a changed database if the queries still differ on it, else undoes the change.
    fn keep_or(&mut self, undo: impl FnOnce(&mut Database)) -> bool {
        let differ = if self.tries == 0 { None } else { self.pair.differ(&self.db, self.meaning) };
        self.tries = self.tries.saturating_sub(1);
        if differ.is_some() {
            self.outcomes = differ;
            return true;
        }
        undo(&mut self.db);
        false
    }

    fn drop_rows(&mut self) {
        let mut changed = true;
        while changed && self.tries > 0 {
            changed = false;
            for table in 0..self.db.tables.len() {
                let mut at = self.db.tables[table].len();
                while at > 0 {
                    at -= 1;
                    let row = self.db.tables[table].remove(at);
                    changed |= self.keep_or(|db| db.tables[table].insert(at, row));
                }
            }
        }
    }

    fn simplify_values(&mut self) {
        for table in 0..self.db.tables.len() {
            let types = self.pair.constraints.schema.tables[table].types();
            for row in 0..self.db.tables[table].len() {
                for (column, ty) in types.iter().enumerate() {
                    for plain in plain_values(ty) {
                        if self.db.tables[table][row][column] == plain {
                            break;
                        }
                        let value = std::mem::replace(&mut self.db.tables[table][row][column], plain);
                        if self.keep_or(|db| db.tables[table][row][column] = value) {
                            break;
                        }
                    }
                }
            }
        }
    }

    /// Replaces a value in all columns of a type at once, which keeps references and joins.
    fn rename_values(&mut self) {
        let types: Vec<Vec<Type>> = self.pair.constraints.schema.tables.iter().map(Table::types).collect();
        let cells = |db: &Database, wanted: &dyn Fn(&Type, &Value) -> bool| {
            let mut found = Vec::new();
            for (table, (rows, types)) in db.tables.iter().zip(&types).enumerate() {
                for (number, row) in rows.iter().enumerate() {
                    let columns = row.iter().zip(types).enumerate().filter(|(_, (value, ty))| wanted(ty, value));
                    found.extend(
                        columns.map(|(column, (value, ty))| ((table, number, column), value.clone(), ty.clone())),
                    );
                }
            }
            found
        };
        let values: BTreeSet<(Type, Value)> =
            cells(&self.db, &|_, value| !value.is_null()).into_iter().map(|(_, value, ty)| (ty, value)).collect();
        for (ty, value) in values {
            for plain in plain_values(&ty).into_iter().filter(|plain| !plain.is_null()) {
                if plain == value {
                    break;
                }
                let places = cells(&self.db, &|t, v| *t == ty && *v == value);
                let set = |db: &mut Database, value: &Value| {
                    for ((table, row, column), ..) in &places {
                        db.tables[*table][*row][*column] = value.clone();
                    }
                };
                set(&mut self.db, &plain);
                if self.keep_or(|db| set(db, &value)) {
                    break;
                }
            }
        }
    }
}

/// The plainest values of a type, the plainest first.
pub(super) fn plain_values(ty: &Type) -> Vec<Value> {
    let text = |t: &str| Value::Text(t.to_owned());
    let mut values = vec![Value::Null];
    values.extend(match ty {
        Type::Boolean => vec![Value::Bool(false)],
        Type::Integer | Type::Decimal | Type::Number(_) | Type::Unknown => vec![Value::int(0), Value::int(1)],
        Type::Double => vec![Value::Double(0.0), Value::Double(1.0)],
        Type::Text => vec![text(""), text("a")],
        Type::Date | Type::Moment => vec![text("2000-01-01")],
        Type::Time => vec![text("00:00:00")],
        Type::Timestamp => vec![text("2000-01-01 00:00:00")],
        Type::Other(_) => vec![text("a")],
    });
    values
}
