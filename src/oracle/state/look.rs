//! What is looked at once a table was changed.

use super::change::Change;
use super::{StateDatabase, acts};
use crate::generate::database::{GeneratedInfo, IndexInfo};
use crate::rng::{Rng, chance, pick};
use crate::sql::profile::{Switch, Typing};
use rand::RngExt as _;
use std::sync::Arc;

/// What is looked at.
#[derive(Debug, Clone)]
pub(super) enum Look {
    /// All rows.
    Rows,
    /// All rows, and those that are read through an index and without it.
    Index(Reading),
    /// How many rows were changed.
    Count,
    /// All rows, and those that keep the constraints.
    Constraints,
    /// All rows, and those in which generated columns have the values of their expressions: their condition.
    Generated(String),
    /// What RETURNING gives.
    Returning,
}

/// A table read with an index and without.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    by_index: String,
    by_scan: String,
    pub(super) switch: Option<Arc<Switch>>,
    /// The condition of the rows that are read; all of them without one.
    pub(super) filter: Option<String>,
    order: String,
}

impl Reading {
    /// The rest of a query, from FROM on.
    pub(super) fn from(&self, by_index: bool) -> String {
        let relation = if by_index { &self.by_index } else { &self.by_scan };
        let filter = self.filter.as_ref().map(|filter| format!(" WHERE {filter}")).unwrap_or_default();
        let order = if by_index { self.order.as_str() } else { "" };
        format!("{relation}{filter}{order}")
    }

    /// Draws a way to read a table that a change is seen in through one of its indexes; `None` where it has none, or the
    /// dialect no way.
    pub(super) fn draw(change: &Change, target: usize, rng: &mut Rng) -> Option<Self> {
        let on = change.on;
        let (profile, table) = (on.profile(), &on.table(target).name);
        let changes = &profile.changes;
        let indexes = on.indexes(target);
        let index = pick(rng, &indexes)?;
        let switches: Vec<&Arc<Switch>> =
            changes.index_switches.iter().filter_map(|name| on.oracle.capabilities.switch(name)).collect();
        let switch = pick(rng, &switches).map(|switch| Arc::clone(switch));
        if changes.by_index.is_empty() && switch.is_none() {
            return None;
        }
        let relation = |form: &str| match form {
            "" => table.to_string(),
            form => form.replace("#T", table).replace("#I", &index.name),
        };
        let mut conditions: Vec<String> = index.predicate.iter().map(|predicate| format!("({predicate})")).collect();
        let whole = index.predicate.is_none() && chance(rng, 50);
        if !whole && change.kind.inserts() && on.numbers_rows(target) {
            return None;
        }
        if !whole && (index.predicate.is_none() || chance(rng, 40)) {
            conditions.push(on.condition_of(target, index, rng));
        }
        Some(Self {
            by_index: relation(&changes.by_index),
            by_scan: relation(&changes.by_scan),
            switch,
            filter: (!conditions.is_empty()).then(|| conditions.join(" AND ")),
            order: format!(" ORDER BY {}", index.keys.join(", ")),
        })
    }
}

impl StateDatabase<'_> {
    /// A condition on the first key of an index.
    fn condition_of(&self, target: usize, index: &IndexInfo, rng: &mut Rng) -> String {
        let key = index.keys.first().map_or("", String::as_str);
        // A name, or an expression in parentheses; behind it its collation and direction.
        let end = if key.starts_with('(') { key.rfind(')').map(|at| at + 1) } else { key.find(' ') };
        let key = &key[..end.unwrap_or(key.len())];
        let ty = self.table(target).columns.iter().find(|column| *column.name == *key).and_then(|column| column.ty);
        match (ty, rng.random_range(0..5)) {
            (Some(ty), 0..3) => {
                let comparison = pick(rng, &["=", "=", "<=", ">", "<>"]).copied().unwrap_or("=");
                format!("{key} {comparison} {}", self.database.literals.value(ty, 0, rng))
            }
            (_, 3) => format!("{key} IS NULL"),
            _ => format!("{key} IS NOT NULL"),
        }
    }
}

/// The condition of rows whose generated columns have the values of their expressions; `None` where a table has none, or
/// nothing is known of how the dialect stores them.
pub(super) fn computed(on: &StateDatabase, target: usize) -> Option<String> {
    // A number that becomes a REAL or a text may be another one.
    let rounds = |declared: &str| ["REAL", "DOUBLE", "TEXT", "VARCHAR"].iter().any(|name| declared.starts_with(name));
    let dynamic = on.profile().typing == Typing::Dynamic;
    let columns = on.generated(target).into_iter().filter(|column| !(dynamic && rounds(&column.declared)));
    let form = &on.profile().changes.generated;
    let conditions: Vec<String> = columns
        .map(|GeneratedInfo { name, declared, expression, .. }| {
            form.replace("#C", name).replace("#D", declared).replace("#E", expression)
        })
        .collect();
    (!form.is_empty() && !conditions.is_empty()).then(|| conditions.join(" AND "))
}

/// The query for the rows of the next state that keep the table's constraints, by their values alone; `None` without any.
pub(super) fn valid(change: &Change, next: &str) -> Option<String> {
    let (on, target) = (change.on, change.target);
    let table = &on.schema[target];
    let name = |column: &usize| table.columns[*column].name.as_str();
    let mut conditions: Vec<String> = Vec::new();
    conditions.extend(table.columns.iter().filter(|c| c.not_null).map(|c| format!("q.{} IS NOT NULL", c.name)));
    for check in &table.checks {
        let column = check.split(' ').next().unwrap_or_default();
        conditions.push(format!("(q.{check} OR q.{column} IS NULL)"));
    }
    for key in [&table.primary_key].into_iter().chain(&table.unique).filter(|key| !key.is_empty()) {
        let same: Vec<String> = key.iter().map(|c| format!("r.{0} = q.{0}", name(c))).collect();
        conditions.push(format!("(SELECT COUNT(*) FROM ({next}) AS r WHERE {}) < 2", same.join(" AND ")));
    }
    for key in &table.foreign_keys {
        let parent = &on.schema[key.table];
        for (child, referred) in key.columns.iter().zip(&key.referred) {
            let (child, referred) = (name(child), &parent.columns[*referred].name);
            conditions.push(format!(
                "(q.{child} IS NULL OR EXISTS (SELECT 1 FROM {} AS p WHERE p.{referred} = q.{child}))",
                parent.name
            ));
        }
    }
    for other in &on.schema {
        for key in other.foreign_keys.iter().filter(|key| key.table == target && !acts(key)) {
            for (child, referred) in key.columns.iter().zip(&key.referred) {
                let (child, referred) = (&other.columns[*child].name, name(referred));
                conditions.push(format!(
                    "NOT EXISTS (SELECT 1 FROM {} AS h WHERE h.{child} IS NOT NULL AND NOT EXISTS \
                     (SELECT 1 FROM ({next}) AS p WHERE p.{referred} = h.{child}))",
                    other.name
                ));
            }
        }
    }
    if conditions.is_empty() {
        return None;
    }
    let columns = change.observed().iter().map(|column| format!("q.{}", column.name)).collect::<Vec<_>>().join(", ");
    Some(format!("SELECT {columns} FROM ({next}) AS q WHERE {}", conditions.join(" AND ")))
}
