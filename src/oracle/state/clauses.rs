//! INSERT with a clause for each key of its table: what is done to the row that has the key already.

use super::change::{Change, EXCLUDED, Set, Source, Target, smaller_filter, text_of};
use crate::caq::node::Node;
use crate::generate::ColumnInfo;
use crate::program::{Assumption, Expected};
use crate::sql::types::SqlType;

/// One of the clauses.
#[derive(Debug, Clone)]
pub(super) struct Clause {
    /// The key.
    pub(super) key: Target,
    /// Whether the key is not named, so that the clause is about any that those before it are not about.
    pub(super) bare: bool,
    /// What is assigned; nothing is done if it is empty.
    pub(super) sets: Vec<Set>,
    /// The condition under which it is.
    pub(super) filter: Option<Node>,
}

impl Change<'_> {
    /// The rows to be inserted, each with another value of either key.
    fn distinct(&self, source: &Source) -> String {
        let first = self.joined(source);
        let Some([key, other]) = self.on.two_keys(self.target) else { return first };
        let name = |at: usize| &self.on.own_columns(self.target)[at].name;
        let (key, other) = (name(key), name(other));
        let items = source.items.iter().map(|Set { column: Target { name, ty }, .. }| {
            let value = if name == other { format!("q.{name}") } else { format!("MAX(q.{name})") };
            format!("{} AS {name}", self.cast(&value, *ty))
        });
        let has = |name: &str| source.items.iter().any(|set| *set.column.name == *name);
        if !(has(key) && has(other)) {
            return first;
        }
        format!("SELECT {} FROM ({first}) AS q GROUP BY q.{other}", items.collect::<Vec<_>>().join(", "))
    }

    /// The statement as it is where a clause runs alone.
    fn alone(&self, clause: &Clause) -> Self {
        let (sets, filter) = (clause.sets.clone(), clause.filter.clone());
        Self { sets, filter, clauses: Vec::new(), ..self.clone() }
    }

    /// The statement.
    pub(super) fn with_clauses(&self, source: &Source) -> String {
        let (table, changes) = (self.table(), &self.profile().changes);
        let names = source.items.iter().map(|set| &*set.column.name).collect::<Vec<_>>().join(", ");
        let mut text =
            format!("INSERT INTO {table}({names}) SELECT {names} FROM ({}) AS q WHERE 1 = 1", self.distinct(source));
        for clause in &self.clauses {
            let key = if clause.bare { String::new() } else { format!("({})", clause.key.name) };
            let mut action = "NOTHING".to_owned();
            if !clause.sets.is_empty() {
                action = format!("UPDATE SET {}", self.alone(clause).assignments());
                if let Some(filter) = &clause.filter {
                    action.push_str(&changes.upsert_where.replace("#C", &text_of(filter)));
                }
            }
            text.push_str(&changes.upsert_clause.replace("#K", &key).replace("#A", &action));
        }
        text
    }

    /// The query for the next state: rows that a clause updates, the others, and rows that no clause is for.
    pub(super) fn after_clauses(&self, source: &Source) -> String {
        let (table, old) = (self.table(), self.old());
        let rows = format!("({}) AS {EXCLUDED}", self.distinct(source));
        let has = |key: &Target, of: &str| format!("{EXCLUDED}.{0} = {of}.{0}", key.name);
        let absent = |key: &Target| format!("NOT EXISTS (SELECT 1 FROM {table} AS z WHERE {})", has(key, "z"));
        let (mut parts, mut kept) = (Vec::new(), Vec::new());
        for (at, clause) in self.clauses.iter().enumerate().filter(|(_, clause)| !clause.sets.is_empty()) {
            let before = self.clauses[..at].iter().map(|before| format!(" AND {}", absent(&before.key)));
            let runs = format!("{}{}", has(&clause.key, table), before.collect::<String>());
            let alone = self.alone(clause);
            let chosen = clause.filter.as_ref().map(text_of);
            parts.push(format!(
                "SELECT {} FROM {table} CROSS JOIN {rows} WHERE {runs}",
                alone.updated(chosen.as_deref())
            ));
            kept.push(format!("NOT EXISTS (SELECT 1 FROM {rows} WHERE {runs})"));
        }
        let kept = if kept.is_empty() { String::new() } else { format!(" WHERE {}", kept.join(" AND ")) };
        parts.push(format!("SELECT {old} FROM {table}{kept}"));
        let column = |ColumnInfo { name, .. }: &ColumnInfo| {
            let given = source.items.iter().any(|set| set.column.name == *name);
            if given {
                format!("{EXCLUDED}.{name}")
            } else {
                format!("{} AS {name}", self.on.absent(self.target, name))
            }
        };
        let columns = self.observed().into_iter().map(column).collect::<Vec<_>>().join(", ");
        let new = self.clauses.iter().map(|clause| absent(&clause.key)).collect::<Vec<_>>().join(" AND ");
        parts.push(format!("SELECT {columns} FROM {rows} WHERE {new}"));
        parts.join(" UNION ALL ")
    }

    /// That no two rows to be inserted meet the same row: what comes of that depends on which is first.
    pub(super) fn meets_rows_once(&self) -> Option<Assumption> {
        let source = self.source.as_ref().filter(|_| !self.clauses.is_empty())?;
        let (table, rows) = (self.table(), self.distinct(source));
        let same = self.clauses.iter().map(|clause| format!("{EXCLUDED}.{0} = {table}.{0}", clause.key.name));
        let same = same.collect::<Vec<_>>().join(" OR ");
        Some(Assumption {
            text: "no row has keys of two rows that are to be inserted".to_owned(),
            sql: format!("SELECT 1 FROM {table} WHERE (SELECT COUNT(*) FROM ({rows}) AS {EXCLUDED} WHERE {same}) > 1")
                .into(),
            expected: Expected::NoRows,
        })
    }

    /// The same with smaller clauses.
    pub(super) fn smaller_clauses(&self) -> Vec<Self> {
        let mut smaller: Vec<Vec<Clause>> = Vec::new();
        for (at, clause) in self.clauses.iter().enumerate() {
            if self.clauses.len() > 1 {
                let mut fewer = self.clauses.clone();
                fewer.remove(at);
                // One that names no key is about more of them without those before it.
                fewer.iter_mut().for_each(|clause| clause.bare = false);
                smaller.push(fewer);
            }
            let mut with = |clause: Clause| {
                let mut clauses = self.clauses.clone();
                clauses[at] = clause;
                smaller.push(clauses);
            };
            if !clause.sets.is_empty() {
                with(Clause { sets: Vec::new(), filter: None, ..clause.clone() });
            }
            for filter in smaller_filter(clause.filter.as_ref(), self.profile()) {
                with(Clause { filter, ..clause.clone() });
            }
            for (which, set) in clause.sets.iter().enumerate() {
                if clause.sets.len() > 1 {
                    let mut fewer = clause.clone();
                    fewer.sets.remove(which);
                    with(fewer);
                }
                for set in self.smaller_values(set) {
                    let mut other = clause.clone();
                    other.sets[which] = set;
                    with(other);
                }
            }
        }
        smaller.into_iter().map(|clauses| Self { clauses, ..self.clone() }).collect()
    }
}

/// The type of a column, as values of it are made.
pub(super) fn target_of(column: &ColumnInfo) -> Target {
    Target { name: column.name.clone(), ty: column.ty.unwrap_or(SqlType::Int) }
}
