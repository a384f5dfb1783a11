//! What a statement changes beside its table: the rows that refer to those that it changes, and what triggers write.

use super::change::Change;
use super::trigger::{LOG, LOG_COLUMNS};
use super::{Kind, acts};
use crate::sql::schema::{Action, ForeignKey};
use crate::sql::types::SqlType;
use std::sync::Arc;

/// A table that is looked at after a statement.
pub(super) struct Seen {
    pub(super) table: Arc<str>,
    /// Its position, where it is one of the tables that cases change.
    pub(super) at: Option<usize>,
    /// The columns that are known.
    pub(super) columns: Vec<(Arc<str>, Option<SqlType>)>,
    /// The query for its next state.
    pub(super) next: String,
}

impl Seen {
    /// The columns, as a query names them.
    pub(super) fn list(&self) -> String {
        self.columns.iter().map(|(name, _)| format!("{}.{name}", self.table)).collect::<Vec<_>>().join(", ")
    }
}

impl Change<'_> {
    /// The table that it changes.
    pub(super) fn changed(&self) -> Seen {
        let columns = self.observed().into_iter().map(|column| (column.name.clone(), column.ty)).collect();
        Seen { table: self.table().into(), at: Some(self.target), columns, next: self.next_state() }
    }

    /// The table that is changed beside it.
    pub(super) fn aside(&self, kind: Kind) -> Option<Seen> {
        match kind {
            Kind::Trigger => Some(Seen {
                table: LOG.into(),
                at: None,
                columns: LOG_COLUMNS.map(|(name, ty)| (name.into(), Some(ty))).to_vec(),
                next: self.logged(),
            }),
            Kind::ForeignKey => {
                let at = self.on.referring()?;
                let key = self.on.schema[at].foreign_keys.iter().find(|key| acts(key))?;
                let table = self.on.table(at);
                let columns = table.columns.iter().filter(|column| column.given && column.other.is_none());
                let columns = columns.map(|column| (column.name.clone(), column.ty)).collect();
                let mut seen = Seen { table: table.name.clone(), at: Some(at), columns, next: String::new() };
                seen.next = self.referring(&seen, at, key);
                Some(seen)
            }
            _ => None,
        }
    }

    /// The query for the next state of the rows that refer to the table. A statement that must keep a row which is referred
    /// to, or leaves a row that refers to nothing, fails.
    fn referring(&self, seen: &Seen, at: usize, key: &ForeignKey) -> String {
        let (table, profile) = (&seen.table, self.profile());
        let parent = self.table();
        let (column, referred) = match (key.columns.as_slice(), key.referred.as_slice()) {
            ([column], [referred]) => (*column, *referred),
            _ => (0, 0),
        };
        let own = &self.on.schema[at].columns[column].name;
        let referred = &self.on.schema[self.target].columns[referred].name;
        let deletes = self.kind == Kind::Delete;
        let action = if deletes { key.actions.delete } else { key.actions.update };
        let new = self.new_value(referred).unwrap_or_else(|| format!("{parent}.{referred}"));
        let new = if deletes { String::new() } else { format!(", {new} AS n") };
        let touched = format!("(SELECT {parent}.{referred} AS k{new} FROM {parent}{}) AS p", self.where_clause());
        // A key that stays the same is not changed.
        let moved = if deletes { "" } else { " AND p.n <> p.k" };
        let exists = format!("EXISTS (SELECT 1 FROM {touched} WHERE p.k = {table}.{own}{moved})");
        let with = |value: &str| {
            let columns = seen.columns.iter().map(|(name, _)| {
                if **name == **own { format!("{value} AS {name}") } else { format!("{table}.{name}") }
            });
            columns.collect::<Vec<_>>().join(", ")
        };
        let set = |value: &str| {
            let value = format!("CASE WHEN {exists} THEN {value} ELSE {table}.{own} END");
            format!("SELECT {} FROM {table}", with(&value))
        };
        match action {
            Action::Cascade if deletes => format!("SELECT {} FROM {table} WHERE NOT {exists}", seen.list()),
            Action::Cascade => {
                let value = format!("CASE WHEN p.k IS NOT NULL THEN p.n ELSE {table}.{own} END");
                format!("SELECT {} FROM {table} LEFT JOIN {touched} ON p.k = {table}.{own}", with(&value))
            }
            Action::SetNull => set(&profile.null(SqlType::Int)),
            Action::SetDefault => set(&self.on.absent(at, own)),
            Action::NoAction | Action::Restrict => format!(
                "SELECT {} FROM {table} WHERE {table}.{own} IS NULL OR EXISTS (SELECT 1 FROM ({}) AS p WHERE p.{referred} = {table}.{own})",
                seen.list(),
                self.next_state()
            ),
        }
    }
}
