//! A statement that changes a table, and the query for the table's next state.

use super::clauses::Clause;
use super::{Kind, StateDatabase};
use crate::caq::node::{Node, plain_literals};
use crate::generate::ColumnInfo;
use crate::sql::operator::Kind as OperatorKind;
use crate::sql::profile::{Profile, Typing};
use crate::sql::types::SqlType;
use std::fmt::Write as _;
use std::sync::Arc;

/// The alias of the rows that INSERT reads, or that a statement joins.
pub(super) const SOURCE: &str = "s";

/// The alias of the rows that an INSERT with a key wants to insert: statements name them so.
pub(super) const EXCLUDED: &str = "excluded";

/// The alias of the table in the subquery of a row of values.
const INNER: &str = "y";

/// A column that is given a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) name: Arc<str>,
    pub(super) ty: SqlType,
}

/// A column and its new value.
#[derive(Debug, Clone)]
pub(super) struct Set {
    pub(super) column: Target,
    pub(super) value: Node,
    /// Whether the statement assigns it without a cast.
    pub(super) raw: bool,
    /// A literal in the place of NULL.
    pub(super) filled: Option<Arc<str>>,
}

/// Columns and their new values from a subquery of one row.
#[derive(Debug, Clone)]
pub(super) struct RowSet {
    pub(super) columns: Vec<Target>,
    /// An aggregate and its operand for each.
    pub(super) items: Vec<(&'static str, Node)>,
    pub(super) relation: Arc<str>,
    pub(super) filter: Option<Node>,
}

/// Rows that a statement reads.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) relation: Arc<str>,
    /// The alias of the relation.
    pub(super) alias: &'static str,
    /// Its values: of INSERT those of the columns, of a joined query the key first.
    pub(super) items: Vec<Set>,
    pub(super) filter: Option<Node>,
}

/// A statement that changes a table.
#[derive(Clone)]
pub(super) struct Change<'a> {
    pub(super) on: &'a StateDatabase<'a>,
    /// The statement, whatever is expected of it.
    pub(super) kind: Kind,
    /// The position of the table.
    pub(super) target: usize,
    pub(super) sets: Vec<Set>,
    pub(super) row: Option<RowSet>,
    /// The condition of UPDATE, of DELETE, and of what is done to rows with the same key.
    pub(super) filter: Option<Node>,
    pub(super) source: Option<Source>,
    /// The rows of VALUES; of MERGE the row that is inserted for one without a match, if it is.
    pub(super) rows: Vec<Vec<Set>>,
    /// Whether MERGE deletes the rows that it chooses rather than update them.
    pub(super) deletes: bool,
    /// The column that the joined rows' key is compared with.
    pub(super) key: Option<Target>,
    /// What is done to rows with the same keys, where several clauses say it.
    pub(super) clauses: Vec<Clause>,
    /// Whether the query for the next state reads changed and other rows by themselves.
    pub(super) split: bool,
    /// Whether texts are for the reference evaluator.
    pub(super) evaluated: bool,
}

/// The text of an expression.
pub(super) fn text_of(node: &Node) -> String {
    let mut out = String::new();
    node.render("", &mut out);
    out
}

/// A condition that is TRUE where another is FALSE or NULL, and FALSE where it is TRUE.
fn not_true(condition: &str) -> String {
    format!("CASE WHEN {condition} THEN 0 ELSE 1 END = 1")
}

impl<'a> Change<'a> {
    pub(super) fn profile(&self) -> &'a Profile {
        self.on.oracle.profile()
    }

    /// An expression of exactly a column's type: a dialect may write it as no other does.
    pub(super) fn cast(&self, expression: &str, ty: SqlType) -> String {
        let name = match ty {
            _ if !self.evaluated => return self.profile().cast(expression, ty),
            SqlType::Int => "BIGINT",
            SqlType::Text => "TEXT",
            SqlType::Boolean => "BOOLEAN",
            SqlType::Real => "DOUBLE PRECISION",
            SqlType::Blob => "BLOB",
        };
        format!("CAST({expression} AS {name})")
    }

    /// The table's name.
    pub(super) fn table(&self) -> &'a str {
        &self.on.table(self.target).name
    }

    /// The columns that are known afterwards. How a value of another type is given may depend on the query.
    pub(super) fn observed(&self) -> Vec<&'a ColumnInfo> {
        if self.kind.inserts() {
            return self.on.own_columns(self.target).iter().collect();
        }
        let columns = self.on.table(self.target).columns.iter();
        columns.filter(|column| column.given && column.other.is_none()).collect()
    }

    /// The observed columns as the table has them.
    pub(super) fn old(&self) -> String {
        let table = self.table();
        self.observed().iter().map(|column| format!("{table}.{}", column.name)).collect::<Vec<_>>().join(", ")
    }

    /// The value that a column is given, as the statement has it or as the query has it.
    fn value(&self, set: &Set, in_statement: bool) -> String {
        let profile = self.profile();
        let text = text_of(&set.value);
        let plain = set.raw && (in_statement || profile.typing == Typing::Dynamic);
        let value = if plain { format!("({text})") } else { self.cast(&text, set.column.ty) };
        match &set.filled {
            Some(literal) => format!("COALESCE({value}, {literal})"),
            None => value,
        }
    }

    /// A subquery for one value of a row, or for all.
    fn row_query(&self, row: &RowSet, only: Option<usize>) -> String {
        let item = |(at, (aggregate, node)): (usize, &(&str, Node))| {
            self.cast(&format!("{aggregate}({})", text_of(node)), row.columns[at].ty)
        };
        let items = row.items.iter().enumerate().filter(|(at, _)| only.is_none_or(|only| only == *at));
        let items = items.map(item).collect::<Vec<_>>().join(", ");
        let filter = row.filter.as_ref().map(|filter| format!(" WHERE {}", text_of(filter))).unwrap_or_default();
        format!("(SELECT {items} FROM {} AS {INNER}{filter})", row.relation)
    }

    /// What SET has.
    pub(super) fn assignments(&self) -> String {
        let profile = self.profile();
        // A statement over several tables must say whose column it is.
        let owner = if self.kind == Kind::UpdateFrom && profile.changes.sets_in_order {
            format!("{}.", self.table())
        } else {
            String::new()
        };
        let set = |set: &Set| format!("{owner}{} = {}", set.column.name, self.value(set, true));
        let row = self.row.iter().map(|row| {
            let names = row.columns.iter().map(|column| &*column.name).collect::<Vec<_>>().join(", ");
            format!("({names}) = {}", self.row_query(row, None))
        });
        let all: Vec<String> = self.sets.iter().map(set).chain(row).collect();
        self.with_excluded(&all.join(", "))
    }

    /// A text of a statement: what it wanted to insert is named in the dialect's way.
    fn with_excluded(&self, text: &str) -> String {
        if !self.kind.needs_key() {
            return text.to_owned();
        }
        let excluded = &self.profile().changes.excluded;
        let mut text = text.to_owned();
        for column in self.on.own_columns(self.target) {
            text = text.replace(&format!("{EXCLUDED}.{}", column.name), &excluded.replace("#C", &column.name));
        }
        text
    }

    pub(super) fn where_clause(&self) -> String {
        self.filter.as_ref().map(|filter| format!(" WHERE {}", text_of(filter))).unwrap_or_default()
    }

    /// Whether a row is changed, as far as the statement's own condition says.
    fn chosen(&self) -> String {
        self.filter.as_ref().map_or_else(|| "1 = 1".to_owned(), text_of)
    }

    /// The new value of a column, if it is given one.
    pub(super) fn new_value(&self, column: &str) -> Option<String> {
        if let Some(set) = self.sets.iter().find(|set| *set.column.name == *column) {
            return Some(self.value(set, false));
        }
        let row = self.row.as_ref()?;
        let at = row.columns.iter().position(|target| *target.name == *column)?;
        Some(self.row_query(row, Some(at)))
    }

    /// The columns as they are afterwards, where a condition chooses the rows that are changed.
    pub(super) fn updated(&self, chosen: Option<&str>) -> String {
        let table = self.table();
        let column = |column: &&ColumnInfo| {
            let name = &column.name;
            match (self.new_value(name), chosen) {
                (None, _) => format!("{table}.{name}"),
                (Some(value), None) => format!("{value} AS {name}"),
                (Some(value), Some(chosen)) => {
                    format!("CASE WHEN {chosen} THEN {value} ELSE {table}.{name} END AS {name}")
                }
            }
        };
        self.observed().iter().map(column).collect::<Vec<_>>().join(", ")
    }

    /// The observed columns of a row that is inserted: NULL where it is given no value.
    fn given(&self, sets: &[Set]) -> String {
        let column = |column: &&ColumnInfo| {
            let given = sets.iter().find(|set| set.column.name == column.name);
            let value = given.map_or_else(|| self.on.absent(self.target, &column.name), |set| self.value(set, false));
            format!("{value} AS {}", column.name)
        };
        self.observed().iter().map(column).collect::<Vec<_>>().join(", ")
    }

    /// The rows that INSERT adds, in the observed columns.
    pub(super) fn inserted(&self) -> String {
        if let Some(source) = &self.source {
            return format!("SELECT {}{}", self.given(&source.items), Self::from(source));
        }
        let rows = self.rows.iter().map(|sets| format!("SELECT {}", self.given(sets)));
        rows.collect::<Vec<_>>().join(" UNION ALL ")
    }

    fn from(source: &Source) -> String {
        let filter = source.filter.as_ref().map(|filter| format!(" WHERE {}", text_of(filter))).unwrap_or_default();
        format!(" FROM {} AS {}{filter}", source.relation, source.alias)
    }

    /// A query whose first column is unique, its columns named after those that they go to.
    pub(super) fn joined(&self, source: &Source) -> String {
        let item = |set: &Set| format!("{} AS {}", self.value(set, false), set.column.name);
        let inner = source.items.iter().map(item).collect::<Vec<_>>().join(", ");
        let outer = source.items.iter().enumerate().map(|(at, Set { column: Target { name, ty }, .. })| {
            let value = if at == 0 { format!("q.{name}") } else { format!("MAX(q.{name})") };
            format!("{} AS {name}", self.cast(&value, *ty))
        });
        let outer = outer.collect::<Vec<_>>().join(", ");
        let key = source.items.first().map_or("1", |set| &set.column.name);
        format!("SELECT {outer} FROM (SELECT {inner}{}) AS q GROUP BY q.{key}", Self::from(source))
    }

    /// The statement.
    pub(super) fn statement(&self) -> String {
        let (table, changes) = (self.table(), &self.profile().changes);
        let names = |sets: &[Set]| sets.iter().map(|set| &*set.column.name).collect::<Vec<_>>().join(", ");
        let values = |sets: &[Set]| sets.iter().map(|set| self.value(set, true)).collect::<Vec<_>>().join(", ");
        match (self.kind, &self.source) {
            (Kind::Delete, _) => format!("DELETE FROM {table}{}", self.where_clause()),
            (Kind::InsertSelect, Some(source)) => {
                let (names, values) = (names(&source.items), values(&source.items));
                format!("INSERT INTO {table}({names}) SELECT {values}{}", Self::from(source))
            }
            (Kind::InsertValues, _) => {
                let rows = self.rows.iter().map(|sets| format!("({})", values(sets))).collect::<Vec<_>>().join(", ");
                format!("INSERT INTO {table}({}) VALUES {rows}", names(self.rows.first().map_or(&[], Vec::as_slice)))
            }
            (Kind::UpdateFrom | Kind::DeleteUsing, Some(source)) => {
                let form = if self.kind == Kind::UpdateFrom { &changes.update_from } else { &changes.delete_using };
                form.replace("#T", table)
                    .replace("#S", &format!("({}) AS {SOURCE}", self.joined(source)))
                    .replace("#A", &self.assignments())
                    .replace("#C", &format!("{} AND ({})", self.matches(SOURCE), self.chosen()))
            }
            (Kind::Merge, Some(source)) => {
                let mut text = changes
                    .merge
                    .replace("#T", table)
                    .replace("#S", &format!("({}) AS {SOURCE}", self.joined(source)))
                    .replace("#C", &self.matches(SOURCE));
                let action =
                    if self.deletes { "DELETE".to_owned() } else { format!("UPDATE SET {}", self.assignments()) };
                // Writing to a string cannot fail.
                let _ = write!(text, " WHEN MATCHED AND ({}) THEN {action}", self.chosen());
                if let [row] = self.rows.as_slice() {
                    let _ = write!(text, " WHEN NOT MATCHED THEN INSERT ({}) VALUES ({})", names(row), values(row));
                }
                text
            }
            (Kind::UpsertClauses, Some(source)) => self.with_clauses(source),
            (Kind::Upsert | Kind::InsertNew | Kind::Replace, Some(source)) => {
                let names = names(&source.items);
                let insert = format!("{table}({names}) SELECT {names} FROM ({}) AS q WHERE 1 = 1", self.joined(source));
                let form = match self.kind {
                    Kind::Upsert => &changes.upsert,
                    Kind::InsertNew => &changes.insert_new,
                    _ => &changes.replace,
                };
                let key = self.key.as_ref().map_or("", |key| &*key.name);
                let mut text = form.replace("#I", &insert).replace("#K", key).replace("#A", &self.assignments());
                if self.kind == Kind::Upsert && self.filter.is_some() {
                    text.push_str(&changes.upsert_where.replace("#C", &self.with_excluded(&self.chosen())));
                }
                text
            }
            _ => format!("UPDATE {table} SET {}{}", self.assignments(), self.where_clause()),
        }
    }

    /// Whether a row of the table has the key of a joined row.
    fn matches(&self, alias: &str) -> String {
        let key = self.key.as_ref().map_or("", |key| &*key.name);
        let of_source = self.source.iter().find_map(|source| source.items.first()).map_or("", |set| &set.column.name);
        format!("{alias}.{of_source} = {}.{key}", self.table())
    }

    /// The query for the table's next state.
    pub(super) fn next_state(&self) -> String {
        let (table, old) = (self.table(), self.old());
        let chosen = self.chosen();
        match (self.kind, &self.source) {
            (Kind::Delete, _) => format!("SELECT {old} FROM {table} WHERE {}", not_true(&chosen)),
            (Kind::InsertSelect | Kind::InsertValues, _) => {
                format!("SELECT {old} FROM {table} UNION ALL {}", self.inserted())
            }
            (Kind::UpdateFrom, Some(source)) => {
                let key = source.items.first().map_or("", |set| &set.column.name);
                let chosen = format!("{SOURCE}.{key} IS NOT NULL AND ({chosen})");
                let joined = format!("({}) AS {SOURCE} ON {}", self.joined(source), self.matches(SOURCE));
                format!("SELECT {} FROM {table} LEFT JOIN {joined}", self.updated(Some(&chosen)))
            }
            (Kind::DeleteUsing, Some(source)) => format!(
                "SELECT {old} FROM {table} WHERE NOT EXISTS (SELECT 1 FROM ({}) AS {SOURCE} WHERE {} AND ({chosen}))",
                self.joined(source),
                self.matches(SOURCE)
            ),
            (Kind::Merge, Some(source)) => {
                let joined = format!("({}) AS {SOURCE}", self.joined(source));
                let matches = self.matches(SOURCE);
                let kept = if self.deletes {
                    format!(
                        "SELECT {old} FROM {table} WHERE NOT EXISTS (SELECT 1 FROM {joined} WHERE {matches} AND ({chosen}))"
                    )
                } else {
                    let key = source.items.first().map_or("", |set| &set.column.name);
                    let updated = self.updated(Some(&format!("{SOURCE}.{key} IS NOT NULL AND ({chosen})")));
                    format!("SELECT {updated} FROM {table} LEFT JOIN {joined} ON {matches}")
                };
                match self.rows.as_slice() {
                    [row] => format!(
                        "{kept} UNION ALL SELECT {} FROM {joined} WHERE NOT EXISTS (SELECT 1 FROM {table} WHERE {matches})",
                        self.given(row)
                    ),
                    _ => kept,
                }
            }
            (Kind::UpsertClauses, Some(source)) => self.after_clauses(source),
            (Kind::Upsert | Kind::InsertNew | Kind::Replace, Some(source)) => {
                let joined = format!("({}) AS {EXCLUDED}", self.joined(source));
                let matches = self.matches(EXCLUDED);
                let key = self.key.as_ref().map_or("", |key| &*key.name);
                let kept = match self.kind {
                    Kind::InsertNew => format!("SELECT {old} FROM {table}"),
                    Kind::Replace => {
                        format!("SELECT {old} FROM {table} WHERE NOT EXISTS (SELECT 1 FROM {joined} WHERE {matches})")
                    }
                    _ => {
                        let chosen = format!("{EXCLUDED}.{key} IS NOT NULL AND ({chosen})");
                        let updated = self.updated(Some(&chosen));
                        format!("SELECT {updated} FROM {table} LEFT JOIN {joined} ON {matches}")
                    }
                };
                let column = |column: &&ColumnInfo| {
                    let name = &column.name;
                    let given = source.items.iter().any(|set| set.column.name == *name);
                    let absent = || self.on.absent(self.target, name);
                    if given { format!("{EXCLUDED}.{name}") } else { format!("{} AS {name}", absent()) }
                };
                let columns = self.observed().iter().map(column).collect::<Vec<_>>().join(", ");
                let added = if self.kind == Kind::Replace {
                    String::new()
                } else {
                    format!(" WHERE NOT EXISTS (SELECT 1 FROM {table} WHERE {matches})")
                };
                format!("{kept} UNION ALL SELECT {columns} FROM {joined}{added}")
            }
            _ if self.split => format!(
                "SELECT {} FROM {table} WHERE {chosen} UNION ALL SELECT {old} FROM {table} WHERE {}",
                self.updated(None),
                not_true(&chosen)
            ),
            _ => {
                let chosen = self.filter.as_ref().map(text_of);
                format!("SELECT {} FROM {table}", self.updated(chosen.as_deref()))
            }
        }
    }

    /// The query for the number of rows that the statement changes; `None` where that is not promised.
    pub(super) fn count(&self) -> Option<String> {
        let table = self.table();
        match self.kind {
            Kind::Update if !self.profile().changes.counts_chosen => None,
            Kind::Update | Kind::Delete => Some(format!("SELECT COUNT(*) FROM {table}{}", self.where_clause())),
            Kind::InsertSelect | Kind::InsertValues => Some(format!("SELECT COUNT(*) FROM ({}) AS q", self.inserted())),
            _ => None,
        }
    }

    /// The query for the rows that RETURNING gives.
    pub(super) fn returned(&self) -> Option<String> {
        let (table, chosen) = (self.table(), self.where_clause());
        let takes = |kind| self.on.oracle.returning.contains(&kind);
        match self.kind {
            Kind::Update if takes(Kind::Update) => Some(format!("SELECT {} FROM {table}{chosen}", self.updated(None))),
            Kind::Delete if takes(Kind::Delete) => Some(format!("SELECT {} FROM {table}{chosen}", self.old())),
            Kind::InsertSelect | Kind::InsertValues if takes(Kind::InsertSelect) => Some(self.inserted()),
            _ => None,
        }
    }

    /// The values that it gives columns, each with the relation whose rows they are computed for.
    pub(super) fn values(&self) -> Vec<(&Set, Option<String>)> {
        let source = self.source.iter().flat_map(|source| {
            source.items.iter().map(|set| (set, Some(format!("{} AS {}", source.relation, source.alias))))
        });
        let rows = self.rows.iter().flatten().map(|set| (set, None));
        let joins = self.kind.needs_key() || matches!(self.kind, Kind::UpdateFrom | Kind::Merge);
        let own = (!joins).then(|| self.table().to_owned());
        let of_clauses = self.clauses.iter().flat_map(|clause| &clause.sets).map(|set| (set, None));
        let sets = self.sets.iter().map(|set| (set, own.clone()));
        sets.chain(source).chain(rows).chain(of_clauses).collect()
    }

    /// Its expressions.
    pub(super) fn nodes(&self) -> Vec<&Node> {
        let of_source = self.source.iter().flat_map(|source| &source.filter);
        let of_row = self.row.iter().flat_map(|row| row.items.iter().map(|(_, node)| node).chain(&row.filter));
        let of_clauses = self.clauses.iter().flat_map(|clause| &clause.filter);
        let values = self.values().into_iter().map(|(set, _)| &set.value).chain(of_clauses);
        values.chain(&self.filter).chain(of_source).chain(of_row).collect()
    }

    /// Whether a collation may reach what compares the values that the query for the next state gives. In SQLite one that is
    /// written anywhere in an expression does (<https://sqlite.org/datatype3.html#collating_sequences>).
    pub(super) fn collates(&self) -> bool {
        self.profile().typing == Typing::Dynamic && self.next_state().contains("COLLATE")
    }

    /// Changes that are smaller by one step, `part` by `part`: what there is, conditions, values.
    pub(super) fn smaller(&self, part: usize) -> Vec<Self> {
        let profile = self.profile();
        let mut smaller = Vec::new();
        match part {
            0 => {
                for at in 0..self.sets.len() {
                    if self.sets.len() + usize::from(self.row.is_some()) > 1 {
                        let mut sets = self.sets.clone();
                        sets.remove(at);
                        smaller.push(Self { sets, ..self.clone() });
                    }
                }
                if self.row.is_some() && !self.sets.is_empty() {
                    smaller.push(Self { row: None, ..self.clone() });
                }
                for at in 0..self.rows.len() {
                    if self.rows.len() > 1 {
                        let mut rows = self.rows.clone();
                        rows.remove(at);
                        smaller.push(Self { rows, ..self.clone() });
                    }
                }
                // The first values of what is joined are its keys.
                let first = if self.clauses.is_empty() { usize::from(self.key.is_some()) } else { 2 };
                for at in first..self.source.iter().map(|source| source.items.len()).sum::<usize>() {
                    let mut change = self.clone();
                    if let Some(source) = change.source.as_mut().filter(|source| source.items.len() > 1) {
                        source.items.remove(at);
                        smaller.push(change);
                    }
                }
                if self.split {
                    smaller.push(Self { split: false, ..self.clone() });
                }
                smaller.extend(self.smaller_clauses());
            }
            1 => {
                smaller.extend(
                    smaller_filter(self.filter.as_ref(), profile)
                        .into_iter()
                        .map(|filter| Self { filter, ..self.clone() }),
                );
                if let Some(source) = &self.source {
                    let with = |filter| Self { source: Some(Source { filter, ..source.clone() }), ..self.clone() };
                    smaller.extend(smaller_filter(source.filter.as_ref(), profile).into_iter().map(with));
                }
                if let Some(row) = &self.row {
                    let with = |filter| Self { row: Some(RowSet { filter, ..row.clone() }), ..self.clone() };
                    smaller.extend(smaller_filter(row.filter.as_ref(), profile).into_iter().map(with));
                }
            }
            _ => {
                for (at, set) in self.sets.iter().enumerate() {
                    smaller.extend(self.smaller_values(set).into_iter().map(|set| {
                        let mut change = self.clone();
                        change.sets[at] = set;
                        change
                    }));
                }
                for (at, set) in self.source.iter().flat_map(|source| &source.items).enumerate() {
                    smaller.extend(self.smaller_values(set).into_iter().map(|set| {
                        let mut change = self.clone();
                        if let Some(source) = &mut change.source {
                            source.items[at] = set;
                        }
                        change
                    }));
                }
                for (row, sets) in self.rows.iter().enumerate() {
                    for (at, set) in sets.iter().enumerate() {
                        smaller.extend(self.smaller_values(set).into_iter().map(|set| {
                            let mut change = self.clone();
                            change.rows[row][at] = set;
                            change
                        }));
                    }
                }
            }
        }
        smaller
    }

    /// A smaller value of the same type; one that is not cast must show it.
    pub(super) fn smaller_values(&self, set: &Set) -> Vec<Set> {
        let profile = self.profile();
        let ty = set.column.ty;
        let literals = plain_literals(ty, profile);
        let is_of = |node: &Node| match node {
            Node::Literal(text) => literals.contains(text),
            Node::Operator { op, .. } => op.results.contains(&OperatorKind::Typed(ty)),
            Node::Column { .. } => false,
        };
        let plain = literals.iter().cloned().map(Node::Literal);
        let plain = plain.filter(|_| matches!(set.value, Node::Operator { .. }));
        let nodes = set.value.smaller(profile).into_iter().filter(|node| !set.raw || is_of(node));
        nodes.chain(plain).map(|value| Set { value, ..set.clone() }).collect()
    }
}

pub(super) fn smaller_filter(filter: Option<&Node>, profile: &Profile) -> Vec<Option<Node>> {
    let Some(filter) = filter else { return Vec::new() };
    [None].into_iter().chain(filter.smaller(profile).into_iter().map(Some)).collect()
}
