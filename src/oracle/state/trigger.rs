//! Triggers that write down what happens to rows, and the query for what they must have written.

use super::StateDatabase;
use super::change::{Change, text_of};
use crate::caq::node::Node;
use crate::generate::expr::{ExprGenerator, ExprSpec};
use crate::generate::{ColumnInfo, TableInfo};
use crate::oracle::state::Kind;
use crate::program::{Assumption, Expected};
use crate::rng::{Rng, chance, pick};
use crate::sql::operator::Kind as OperatorKind;
use crate::sql::profile::{ColumnType, Profile, Typing};
use crate::sql::types::SqlType;
use rand::RngExt as _;
use std::sync::Arc;

/// The table that triggers write to.
pub(super) const LOG: &str = "lg";

/// Its columns. The first has the trigger's number.
pub(super) const LOG_COLUMNS: [(&str, SqlType); 4] =
    [("w", SqlType::Int), ("a", SqlType::Int), ("b", SqlType::Int), ("s", SqlType::Text)];

/// Triggers of a database, at most.
const TRIGGERS_MAX: usize = 3;

/// How a trigger's expressions name the columns of a row as it was, and as it becomes.
const OLD: &str = "OLD";
const NEW: &str = "NEW";

/// What runs a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display, strum::VariantArray)]
#[strum(serialize_all = "UPPERCASE")]
pub(super) enum Event {
    Insert,
    Update,
    Delete,
}

/// A trigger that runs once for each row and adds a row to the log.
#[derive(Debug, Clone)]
pub(super) struct Trigger {
    number: usize,
    /// The position of its table.
    pub(super) table: usize,
    before: bool,
    pub(super) event: Event,
    /// The columns of which UPDATE must assign one; any if empty.
    of: Vec<Arc<str>>,
    condition: Option<Node>,
    /// What it writes into the columns behind the first.
    items: Vec<Node>,
}

/// How a text has the expressions of a trigger.
struct Names<'n> {
    /// What a column of a row is called.
    own: &'n dyn Fn(&str) -> String,
    /// An expression of exactly a type.
    cast: &'n dyn Fn(&str, SqlType) -> String,
}

impl StateDatabase<'_> {
    /// Adds triggers, and the table that they write to.
    pub(super) fn make_triggers(&mut self, rng: &mut Rng) {
        let profile = self.oracle.capabilities.profile.clone();
        let table = rng.random_range(0..self.schema.len());
        for number in 0..rng.random_range(1..=TRIGGERS_MAX) {
            let trigger = Trigger::draw(self, table, number, rng);
            self.trigger_statements.extend(trigger.statements(self));
            self.triggers.push(trigger);
        }
        let columns = LOG_COLUMNS.map(|(name, ty)| format!("{name} {}", profile.declared(&ColumnType::Class(ty))));
        if let Some(first) = self.database.epochs.first_mut() {
            first.push(format!("CREATE TABLE {LOG}({})", columns.join(", ")));
            first.extend(self.trigger_statements.iter().cloned());
        }
    }
}

impl Trigger {
    fn draw(on: &StateDatabase, table: usize, number: usize, rng: &mut Rng) -> Self {
        let triggers = &on.profile().changes.triggers;
        // Most that can be run are.
        let event = *pick(rng, &[Event::Insert, Event::Update, Event::Update, Event::Delete]).unwrap_or(&Event::Update);
        let own = on.own_columns(table);
        let mut of = Vec::new();
        if event == Event::Update && !triggers.of.is_empty() && chance(rng, 30) {
            let first = rng.random_range(0..own.len());
            of.extend(own[first..].iter().take(rng.random_range(1..=2)).map(|column| column.name.clone()));
        }
        let rows: &[&str] = match event {
            Event::Insert => &[NEW],
            Event::Update => &[OLD, NEW],
            Event::Delete => &[OLD],
        };
        let columns = rows.iter().flat_map(|row| StateDatabase::scope(own, row)).collect();
        let scope = TableInfo { name: on.table(table).name.clone(), columns };
        let capabilities = on.capabilities();
        let generator = ExprGenerator { grammar: &capabilities.grammar, literals: &on.database.literals, tables: &[] };
        let mut node = |kind, depth| {
            let spec = ExprSpec { kind, null_preserving: false, binary: true, subqueries: false, depth };
            generator.generate(&scope, spec, rng)
        };
        let items = LOG_COLUMNS[1..].iter().enumerate();
        let items = items.map(|(at, (_, ty))| node(OperatorKind::Typed(*ty), at % 2)).collect();
        let condition = node(capabilities.truth(), 2);
        let condition = Some(condition).filter(|_| !triggers.condition.is_empty() && chance(rng, 40));
        Self { number, table, before: chance(rng, 40), event, of, condition, items }
    }

    fn name(&self) -> String {
        format!("g{}", self.number)
    }

    /// The statements that make it.
    fn statements(&self, on: &StateDatabase) -> Vec<String> {
        let triggers = &on.profile().changes.triggers;
        let names = Names { own: &str::to_owned, cast: &|text, ty| on.profile().cast(text, ty) };
        let columns = LOG_COLUMNS.map(|(name, _)| name).join(", ");
        let event =
            if self.of.is_empty() { self.event.to_string() } else { triggers.of.replace("#C", &self.of.join(", ")) };
        let condition = self.condition.iter().map(|condition| {
            let condition = text_of(&self.named(condition, on, &names));
            triggers.condition.replace("#C", &format!("({condition})"))
        });
        let written = format!("INSERT INTO {LOG}({columns}) VALUES ({})", self.row(on, &names).join(", "));
        let parts = [
            ("#N", self.name()),
            ("#B", (if self.before { "BEFORE" } else { "AFTER" }).to_owned()),
            ("#E", event),
            ("#T", on.table(self.table).name.to_string()),
            ("#R", (if self.event == Event::Delete { OLD } else { NEW }).to_owned()),
            ("#W", condition.collect()),
            ("#S", written),
        ];
        let filled = |form: &String| parts.iter().fold(form.clone(), |text, (part, by)| text.replace(part, by));
        triggers.made.iter().map(filled).collect()
    }

    /// What it writes.
    fn row(&self, on: &StateDatabase, names: &Names) -> Vec<String> {
        let items = self.items.iter().zip(&LOG_COLUMNS[1..]);
        let items = items.map(|(item, (_, ty))| (names.cast)(&text_of(&self.named(item, on, names)), *ty));
        [self.number.to_string()].into_iter().chain(items).collect()
    }

    /// An expression with other names. Whether a row's column has an affinity in a trigger is not said.
    fn named(&self, node: &Node, on: &StateDatabase, names: &Names) -> Node {
        match node {
            Node::Column { level, name } => {
                let column = name.split_once('.').map_or(&**name, |(_, column)| column);
                let column = on.own_columns(self.table).iter().find(|of| *of.name == *column);
                let named = (names.own)(name);
                let named = match column.and_then(|column| column.ty) {
                    Some(ty) if on.profile().typing == Typing::Dynamic => (names.cast)(&named, ty),
                    _ => named,
                };
                Node::Column { level: *level, name: named.into() }
            }
            Node::Literal(_) => node.clone(),
            Node::Operator { op, operands, inner } => Node::Operator {
                op: op.clone(),
                operands: operands.iter().map(|operand| self.named(operand, on, names)).collect(),
                inner: inner.clone(),
            },
        }
    }

    /// Whether a change of its table runs it.
    fn is_run_by(&self, change: &Change) -> bool {
        let assigned = |column: &Arc<str>| change.new_value(column).is_some();
        self.table == change.target
            && match change.kind {
                Kind::Update => self.event == Event::Update && (self.of.is_empty() || self.of.iter().any(assigned)),
                Kind::Delete => self.event == Event::Delete,
                _ => self.event == Event::Insert,
            }
    }

    /// The query for what it writes for a change.
    fn written(&self, change: &Change) -> String {
        let on = change.on;
        let (table, columns) = (change.table(), on.own_columns(self.table));
        let old = columns.iter().map(|ColumnInfo { name, .. }| format!("{table}.{name} AS o_{name}"));
        let new = columns.iter().map(|ColumnInfo { name, .. }| match change.kind {
            Kind::Update => {
                let value = change.new_value(name).unwrap_or_else(|| format!("{table}.{name}"));
                format!("{value} AS n_{name}")
            }
            _ => format!("i.{name} AS n_{name}"),
        });
        let (values, from): (Vec<String>, String) = match self.event {
            Event::Insert => (new.collect(), format!("({}) AS i", change.inserted())),
            Event::Update => (old.chain(new).collect(), format!("{table}{}", change.where_clause())),
            Event::Delete => (old.collect(), format!("{table}{}", change.where_clause())),
        };
        let own = |name: &str| match name.split_once('.') {
            Some((OLD, column)) => format!("q.o_{column}"),
            Some((_, column)) => format!("q.n_{column}"),
            None => name.to_owned(),
        };
        let names = Names { own: &own, cast: &|text, ty| change.cast(text, ty) };
        let condition = self.condition.iter().map(|condition| {
            let condition = text_of(&self.named(condition, on, &names));
            format!(" WHERE ({condition})")
        });
        format!(
            "SELECT {} FROM (SELECT {} FROM {from}) AS q{}",
            self.row(on, &names).join(", "),
            values.join(", "),
            condition.collect::<String>()
        )
    }
}

impl Change<'_> {
    /// The query for what triggers must have written once the statement has run.
    pub(super) fn logged(&self) -> String {
        let columns = LOG_COLUMNS.map(|(name, _)| format!("{LOG}.{name}")).join(", ");
        let written = self.on.triggers.iter().filter(|trigger| trigger.is_run_by(self));
        let written = written.map(|trigger| trigger.written(self));
        [format!("SELECT {columns} FROM {LOG}")].into_iter().chain(written).collect::<Vec<_>>().join(" UNION ALL ")
    }

    /// That every trigger is there.
    pub(super) fn triggers_are_there(&self) -> impl Iterator<Item = Assumption> {
        let profile: &Profile = self.profile();
        self.on.triggers.iter().map(|trigger| {
            let missing = &profile.changes.triggers.missing;
            let table = &self.on.table(trigger.table).name;
            Assumption {
                text: format!("{table} has the trigger {}", trigger.name()),
                sql: missing.replace("#N", &trigger.name()).replace("#T", table).into(),
                expected: Expected::NoRows,
            }
        })
    }
}
