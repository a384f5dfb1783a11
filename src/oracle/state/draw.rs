//! Drawing a statement that changes a table.

use super::change::{Change, EXCLUDED, RowSet, SOURCE, Set, Source, Target};
use super::clauses::{Clause, target_of};
use super::trigger::Event;
use super::{Kind, StateDatabase};
use crate::caq::node::Node;
use crate::generate::expr::{ExprGenerator, ExprSpec};
use crate::generate::{ColumnInfo, TableInfo};
use crate::rng::{Rng, chance, pick};
use crate::sql::operator::Kind as OperatorKind;
use crate::sql::profile::Typing;
use crate::sql::types::SqlType;
use rand::RngExt as _;
use rand::seq::SliceRandom as _;
use std::sync::Arc;

/// Columns that SET names, at most.
const SETS_MAX: usize = 3;

/// Rows of VALUES, at most.
const ROWS_MAX: usize = 3;

/// Aggregates whose value does not depend on the order of rows.
const AGGREGATES: [&str; 2] = ["MAX", "MIN"];

/// Keys that no row has.
const FREE_KEYS: i64 = 1000;

/// Types in which equality is identity and every engine has extremes.
fn comparable(ty: SqlType) -> bool {
    [SqlType::Int, SqlType::Text].contains(&ty)
}

/// Which tables subqueries may read.
#[derive(Debug, Clone, Copy)]
enum Reads {
    All,
    /// All but the table that is changed.
    Others,
    /// None: there are no subqueries.
    Nothing,
}

impl StateDatabase<'_> {
    /// Whether a column of a table is in a key.
    fn is_in_key(&self, table: usize, at: usize) -> bool {
        let table = &self.schema[table];
        [&table.primary_key].into_iter().chain(&table.unique).any(|key| key.contains(&at))
    }

    /// Whether a constraint is on a column of a table.
    fn is_constrained(&self, table: usize, at: usize) -> bool {
        let schema = &self.schema[table];
        let refers = schema.foreign_keys.iter().any(|key| key.columns.contains(&at));
        schema.columns.get(at).is_some_and(|column| column.not_null) || refers || self.is_in_key(table, at)
    }

    /// Columns of a table that must not have every value.
    pub(super) fn breakable(&self, table: usize) -> Vec<usize> {
        let columns = &self.schema[table].columns;
        (0..columns.len()).filter(|at| columns[*at].not_null || self.is_in_key(table, *at)).collect()
    }

    pub(super) fn scope(columns: &[ColumnInfo], alias: &str) -> Vec<ColumnInfo> {
        let named =
            |column: &ColumnInfo| ColumnInfo { name: format!("{alias}.{}", column.name).into(), ..column.clone() };
        columns.iter().map(named).collect()
    }
}

/// What draws a change of a table.
struct Drawing<'a, 'r> {
    on: &'a StateDatabase<'a>,
    target: usize,
    rng: &'r mut Rng,
}

impl Drawing<'_, '_> {
    /// The tables that a subquery may read. What a foreign key does to one while the statement runs may be seen in it.
    fn readable_tables(&self, reads: Reads) -> impl Iterator<Item = usize> + use<> {
        let (target, all) = (self.target, matches!(reads, Reads::All));
        let moving = self.on.referring().filter(|_| target == 0);
        (0..self.on.schema.len()).filter(move |at| Some(*at) != moving && (all || *at != target))
    }

    fn node(&mut self, columns: &[ColumnInfo], kind: OperatorKind, reads: Reads, depth: usize) -> Node {
        let on = self.on;
        let scope = TableInfo { name: on.table(self.target).name.clone(), columns: columns.to_vec() };
        let tables: Vec<TableInfo> = self.readable_tables(reads).map(|at| on.table(at).clone()).collect();
        let grammar = &on.capabilities().grammar;
        let generator = ExprGenerator { grammar, literals: &on.database.literals, tables: &tables };
        let binary = matches!(kind, OperatorKind::Typed(_));
        let subqueries = chance(self.rng, 40) && !matches!(reads, Reads::Nothing);
        generator.generate(&scope, ExprSpec { kind, null_preserving: false, binary, subqueries, depth }, self.rng)
    }

    fn condition(&mut self, columns: &[ColumnInfo], reads: Reads) -> Node {
        let depth = self.rng.random_range(1..=3);
        self.node(columns, self.on.capabilities().truth(), reads, depth)
    }

    /// A condition, in some of a hundred draws.
    fn filter(&mut self, percent: u32, columns: &[ColumnInfo], reads: Reads) -> Option<Node> {
        chance(self.rng, percent).then(|| self.condition(columns, reads))
    }

    /// A value for a column, over other columns.
    fn set(&mut self, column: Target, columns: &[ColumnInfo], reads: Reads) -> Set {
        let depth = self.rng.random_range(0..=2);
        let value = self.node(columns, OperatorKind::Typed(column.ty), reads, depth);
        let profile = self.on.profile();
        let raw = match profile.typing {
            Typing::Dynamic => chance(self.rng, 50),
            Typing::Static => profile.changes.assigns_by_cast && chance(self.rng, 30),
        };
        Set { column, value, raw, filled: None }
    }

    /// Columns of the table that UPDATE may assign; those with constraints rarely.
    fn assigned(&mut self) -> Vec<Target> {
        let columns = &self.on.table(self.target).columns;
        let mut targets: Vec<Target> = Vec::new();
        for (at, column) in columns.iter().enumerate().filter(|(_, c)| c.given && c.other.is_none()) {
            let Some(ty) = column.ty else { continue };
            if !self.on.is_constrained(self.target, at) || chance(self.rng, 25) {
                targets.push(Target { name: column.name.clone(), ty });
            }
        }
        if targets.is_empty() {
            let first = &columns[0];
            targets.push(Target { name: first.name.clone(), ty: first.ty.unwrap_or(SqlType::Int) });
        }
        targets.shuffle(self.rng);
        targets.truncate(self.rng.random_range(1..=SETS_MAX));
        targets
    }

    /// The columns that a value of SET may name beside those that it joins: where assignments are seen by those behind
    /// them, none that is assigned.
    fn readable(&self, targets: &[Target], own: &Target) -> Vec<ColumnInfo> {
        let in_order = self.on.profile().changes.sets_in_order;
        let table = self.on.table(self.target);
        let columns = table.columns.iter().filter(|column| {
            !in_order || column.name == own.name || !targets.iter().any(|target| target.name == column.name)
        });
        // A generated column changes with what it is computed from.
        let columns: Vec<ColumnInfo> = columns.filter(|column| !in_order || column.given).cloned().collect();
        StateDatabase::scope(&columns, &table.name)
    }

    fn in_set(&self) -> Reads {
        if self.on.oracle.own_in_set { Reads::All } else { Reads::Others }
    }

    fn in_where(&self) -> Reads {
        if self.on.oracle.own_in_where { Reads::All } else { Reads::Others }
    }

    /// Assignments, and perhaps two of them from one subquery.
    fn sets(&mut self, targets: &[Target], joined: &[ColumnInfo], rows: bool) -> (Vec<Set>, Option<RowSet>) {
        let reads = self.in_set();
        let mut targets = targets.to_vec();
        let all = targets.clone();
        let fit = targets.iter().filter(|target| comparable(target.ty)).count() >= 2;
        let mut row = None;
        if rows && fit && self.on.oracle.row_values && chance(self.rng, 50) {
            let (mut of_row, rest): (Vec<Target>, Vec<Target>) =
                targets.into_iter().partition(|target| comparable(target.ty));
            targets = rest;
            targets.extend(of_row.split_off(2));
            row = Some(self.row(of_row, reads));
        }
        let sets = targets.into_iter().map(|target| {
            let mut columns = self.readable(&all, &target);
            columns.extend(joined.iter().cloned());
            self.set(target, &columns, reads)
        });
        (sets.collect(), row)
    }

    /// A subquery that gives a row of values.
    fn row(&mut self, columns: Vec<Target>, reads: Reads) -> RowSet {
        let relation = self.relation(reads);
        let inner = StateDatabase::scope(&self.on.table(relation).columns, "y");
        let items = columns.iter().map(|target| {
            let aggregate = pick(self.rng, &AGGREGATES).copied().unwrap_or("MAX");
            let depth = self.rng.random_range(0..=1);
            (aggregate, self.node(&inner, OperatorKind::Typed(target.ty), Reads::Others, depth))
        });
        let items = items.collect();
        let mut both = inner.clone();
        both.extend(StateDatabase::scope(&self.on.table(self.target).columns, &self.on.table(self.target).name));
        let filter = self.filter(70, &both, Reads::Others);
        RowSet { columns, items, relation: self.on.table(relation).name.clone(), filter }
    }

    /// A table to read.
    fn relation(&mut self, reads: Reads) -> usize {
        let fitting: Vec<usize> = self.readable_tables(reads).collect();
        pick(self.rng, &fitting).copied().unwrap_or(0)
    }

    /// The table's columns that INSERT gives a value.
    fn inserted(&mut self) -> Vec<Target> {
        let table = &self.on.schema[self.target];
        let own = self.on.own_columns(self.target).iter().zip(&table.columns);
        let mut targets: Vec<Target> = Vec::new();
        for (at, (info, column)) in own.enumerate() {
            if at == 0 || column.not_null || chance(self.rng, 85) {
                targets.push(Target { name: info.name.clone(), ty: column.ty });
            }
        }
        targets
    }

    /// Whether a column of the table is an INT that is a key.
    fn is_number_key(&self, target: &Target) -> bool {
        let table = &self.on.schema[self.target];
        let at = table.column(&target.name);
        target.ty == SqlType::Int && at.is_some_and(|at| self.on.is_in_key(self.target, at))
    }

    /// A value of a column that INSERT fills: NULL stands for a number of the engine's choice in some keys, and is refused in
    /// others.
    fn insert(&mut self, column: Target, columns: &[ColumnInfo], reads: Reads) -> Set {
        let table = &self.on.schema[self.target];
        let at = table.column(&column.name).unwrap_or_default();
        let in_key = table.primary_key.contains(&at);
        let not_null = in_key || (table.columns[at].not_null && chance(self.rng, 80));
        let literal = not_null.then(|| self.on.database.literals.value(column.ty, 0, self.rng));
        Set { filled: literal, ..self.set(column, columns, reads) }
    }

    /// The query of INSERT.
    fn source(&mut self) -> Source {
        let first = self.relation(Reads::All);
        let mut columns = StateDatabase::scope(&self.on.table(first).columns, SOURCE);
        let mut relation = self.on.table(first).name.clone();
        if chance(self.rng, 25) {
            let other = self.relation(Reads::All);
            let other = self.on.table(other);
            columns.extend(StateDatabase::scope(&other.columns, "r"));
            relation = format!("{} AS r CROSS JOIN {relation}", other.name).into();
        }
        let targets = self.inserted();
        let items = targets.into_iter().map(|target| {
            let numbers: Vec<&ColumnInfo> = columns.iter().filter(|c| c.ty == Some(SqlType::Int)).collect();
            if self.is_number_key(&target)
                && chance(self.rng, 70)
                && let Some(number) = pick(self.rng, &numbers)
            {
                let value = Node::Literal(format!("{} + {FREE_KEYS}", number.name).into());
                return Set { column: target, value, raw: false, filled: Some("0".into()) };
            }
            self.insert(target, &columns, Reads::All)
        });
        let items = items.collect();
        let filter = self.filter(60, &columns, Reads::All);
        Source { relation, alias: SOURCE, items, filter }
    }

    /// Rows to be joined, of which each has another value of the first of these columns. The first `keys` are compared with
    /// keys. Whether they are inserted too.
    fn joined(&mut self, targets: &[Target], keys: usize, inserted: bool) -> Source {
        let relation = self.relation(Reads::All);
        let columns = StateDatabase::scope(&self.on.table(relation).columns, SOURCE);
        let items = targets.iter().enumerate().map(|(at, target)| {
            let plain: Vec<&ColumnInfo> = columns.iter().filter(|c| c.ty == Some(target.ty) && c.binary).collect();
            match pick(self.rng, &plain) {
                Some(column) if at < keys && chance(self.rng, 70) => {
                    let value = Node::Column { level: 0, name: column.name.clone() };
                    let filled = inserted.then(|| self.on.database.literals.value(target.ty, 0, self.rng));
                    Set { column: target.clone(), value, raw: false, filled }
                }
                _ if inserted => Set { raw: false, ..self.insert(target.clone(), &columns, Reads::All) },
                _ => Set { raw: false, ..self.set(target.clone(), &columns, Reads::All) },
            }
        });
        let items = items.collect();
        let filter = self.filter(40, &columns, Reads::All);
        Source { relation: self.on.table(relation).name.clone(), alias: SOURCE, items, filter }
    }

    /// The rows of VALUES.
    fn rows(&mut self) -> Vec<Vec<Set>> {
        let reads = if self.on.oracle.own_in_set { Reads::All } else { Reads::Others };
        let targets = self.inserted();
        let count = self.rng.random_range(1..=ROWS_MAX);
        let row = |drawing: &mut Self| {
            let value = |target: &Target| {
                if drawing.is_number_key(target) && chance(drawing.rng, 80) {
                    let number = FREE_KEYS + drawing.rng.random_range(0..FREE_KEYS);
                    let value = Node::Literal(number.to_string().into());
                    return Set { column: target.clone(), value, raw: false, filled: None };
                }
                drawing.insert(target.clone(), &[], reads)
            };
            targets.iter().map(value).collect()
        };
        (0..count).map(|_| row(self)).collect()
    }
}

impl<'a> Change<'a> {
    /// A change of a kind.
    pub(super) fn draw(on: &'a StateDatabase<'a>, kind: Kind, rng: &mut Rng) -> Self {
        let fitting: Vec<usize> = (0..on.schema.len()).filter(|at| on.fits(kind, *at)).collect();
        let target = pick(rng, &fitting).copied().unwrap_or(0);
        let moves_keys = kind == Kind::ForeignKey;
        let kind = match kind {
            Kind::ForeignKey => pick(rng, &[Kind::Update, Kind::Delete]).copied().unwrap_or(Kind::Delete),
            Kind::Trigger => {
                let running: Vec<Event> =
                    on.triggers.iter().filter(|of| of.table == target).map(|of| of.event).collect();
                match pick(rng, &running) {
                    Some(Event::Update) => Kind::Update,
                    Some(Event::Delete) => Kind::Delete,
                    _ => pick(rng, &[Kind::InsertSelect, Kind::InsertValues]).copied().unwrap_or(Kind::InsertSelect),
                }
            }
            kind => kind,
        };
        let mut change = Self::of_table(on, kind, target, rng);
        if moves_keys && kind == Kind::Update {
            change.move_keys(&mut Drawing { on, target, rng });
        }
        change
    }

    /// Makes an UPDATE one of keys that others refer to.
    fn move_keys(&mut self, drawing: &mut Drawing) {
        let key = target_of(&drawing.on.own_columns(self.target)[0]);
        let mut targets = drawing.assigned();
        targets.retain(|target| *target != key);
        targets.insert(0, key);
        self.sets = drawing.sets(&targets, &[], false).0;
        self.row = None;
        let Some(set) = self.sets.first_mut() else { return };
        set.raw = false;
        if chance(drawing.rng, 80) {
            let forms = [format!("+ {FREE_KEYS}"), format!("+ {FREE_KEYS}"), "+ 1".to_owned(), "* -1".to_owned()];
            let form = pick(drawing.rng, &forms).map_or("", String::as_str);
            set.value = Node::Literal(format!("{}.{} {form}", self.on.table(self.target).name, set.column.name).into());
        }
    }

    /// A change of a table.
    fn of_table(on: &'a StateDatabase<'a>, kind: Kind, target: usize, rng: &mut Rng) -> Self {
        let mut change = Self {
            on,
            kind,
            target,
            sets: Vec::new(),
            row: None,
            filter: None,
            source: None,
            rows: Vec::new(),
            deletes: false,
            key: None,
            clauses: Vec::new(),
            split: false,
            evaluated: false,
        };
        let own = StateDatabase::scope(&on.table(target).columns, &on.table(target).name);
        let mut drawing = Drawing { on, target, rng };
        match kind {
            Kind::InsertSelect => change.source = Some(drawing.source()),
            Kind::InsertValues => change.rows = drawing.rows(),
            Kind::Delete => {
                let reads = drawing.in_where();
                change.filter = drawing.filter(95, &own, reads);
            }
            Kind::UpdateFrom | Kind::DeleteUsing | Kind::Merge => {
                let columns = on.own_columns(target).iter().filter_map(|column| Some((column, column.ty?)));
                let keys: Vec<Target> = columns
                    .filter(|(_, ty)| comparable(*ty))
                    .map(|(column, ty)| Target { name: column.name.clone(), ty })
                    .collect();
                change.key = pick(drawing.rng, &keys).cloned();
                let key_type = change.key.as_ref().map_or(SqlType::Int, |key| key.ty);
                let of_source: Vec<Target> = [key_type, SqlType::Int, SqlType::Text]
                    .into_iter()
                    .zip(["k", "v0", "v1"])
                    .map(|(ty, name)| Target { name: name.into(), ty })
                    .collect();
                let typed = |target: &Target| ColumnInfo::typed(&format!("{SOURCE}.{}", target.name), target.ty);
                let joined: Vec<ColumnInfo> = of_source.iter().map(typed).collect();
                change.source = Some(drawing.joined(&of_source, 1, kind.inserts()));
                if kind == Kind::Merge {
                    change.deletes = chance(drawing.rng, 30);
                    if chance(drawing.rng, 70) {
                        let targets = drawing.inserted().into_iter();
                        let row = targets.map(|target| drawing.insert(target, &joined, Reads::Others));
                        change.rows = vec![row.collect()];
                    }
                }
                if kind == Kind::UpdateFrom || (kind == Kind::Merge && !change.deletes) {
                    let targets = drawing.assigned();
                    change.sets = drawing.sets(&targets, &joined, false).0;
                }
                let reads = drawing.in_where();
                change.filter = drawing.filter(60, &[own, joined].concat(), reads);
            }
            Kind::Upsert | Kind::InsertNew | Kind::Replace | Kind::UpsertClauses => {
                let keys: Vec<usize> = match kind {
                    Kind::UpsertClauses => on.two_keys(target).unwrap_or([0, 1]).to_vec(),
                    _ => vec![on.only_key(target).unwrap_or(0)],
                };
                let columns = on.own_columns(target);
                let others = columns.iter().enumerate().filter(|(at, column)| {
                    !keys.contains(at) && column.ty.is_some_and(|ty| comparable(ty) || ty == SqlType::Real)
                });
                let others: Vec<Target> = others.map(|(_, column)| target_of(column)).collect();
                let keys: Vec<Target> = keys.iter().map(|key| target_of(&columns[*key])).collect();
                let of_source = [keys.as_slice(), others.as_slice()].concat();
                change.source = Some(drawing.joined(&of_source, keys.len(), kind.inserts()));
                change.key = keys.first().cloned();
                match kind {
                    Kind::Upsert => (change.sets, change.filter) = drawing.upsert(&keys, &of_source, own),
                    Kind::UpsertClauses => change.clauses = drawing.clauses(keys, &of_source, &own),
                    _ => {}
                }
            }
            Kind::Update => {
                let targets = drawing.assigned();
                (change.sets, change.row) = drawing.sets(&targets, &[], true);
                let reads = drawing.in_where();
                change.filter = drawing.filter(85, &own, reads);
                change.split = change.filter.is_some() && chance(drawing.rng, 30);
            }
            // Those are drawn as what they are for their table.
            Kind::Failing | Kind::ForeignKey | Kind::Trigger => change.failing(&mut drawing),
        }
        let joins = matches!(kind, Kind::UpdateFrom | Kind::Merge | Kind::Upsert | Kind::UpsertClauses);
        if on.profile().typing == Typing::Dynamic && joins {
            // Whether a value over both tables is of its type is not asked.
            let of_clauses = change.clauses.iter_mut().flat_map(|clause| &mut clause.sets);
            change
                .sets
                .iter_mut()
                .chain(change.rows.iter_mut().flatten())
                .chain(of_clauses)
                .for_each(|set| set.raw = false);
        }
        change
    }

    /// A change that breaks a constraint.
    fn failing(&mut self, drawing: &mut Drawing) {
        let (on, target) = (drawing.on, drawing.target);
        let breakable = on.breakable(target);
        let in_key = breakable.iter().any(|at| on.is_in_key(target, *at));
        if in_key && chance(drawing.rng, 50) {
            self.kind = Kind::InsertSelect;
            self.source = Some(drawing.rows_again());
            return;
        }
        self.kind = Kind::Update;
        let column = pick(drawing.rng, &breakable).copied().unwrap_or(0);
        let broken = drawing.broken(column);
        let mut targets = drawing.assigned();
        targets.retain(|target| *target != broken.column);
        self.sets = drawing.sets(&targets, &[], false).0;
        self.sets.insert(0, broken);
    }
}

impl Drawing<'_, '_> {
    /// What is done to rows with the same key.
    fn upsert(&mut self, keys: &[Target], of_source: &[Target], own: Vec<ColumnInfo>) -> (Vec<Set>, Option<Node>) {
        let profile = self.on.profile();
        // Whether what is to be inserted has a column's affinity is not said.
        let named = |target: &Target| {
            let name = format!("{EXCLUDED}.{}", target.name);
            let name = if profile.typing == Typing::Dynamic { profile.cast(&name, target.ty) } else { name };
            ColumnInfo::typed(&name, target.ty)
        };
        // MySQL's VALUES(c) in a subquery is of that one's own c.
        let reads = if profile.changes.excluded.contains('(') { Reads::Nothing } else { Reads::Others };
        let joined: Vec<ColumnInfo> = of_source.iter().map(named).collect();
        let columns = self.on.own_columns(self.target).iter().map(target_of);
        let mut targets: Vec<Target> = columns.filter(|target| !keys.contains(target)).collect();
        targets.shuffle(self.rng);
        targets.truncate(self.rng.random_range(1..=2));
        let sets = targets.iter().map(|target| {
            let mut readable = self.readable(&targets, target);
            readable.extend(joined.iter().cloned());
            // Rows are updated one by one.
            self.set(target.clone(), &readable, reads)
        });
        let sets = sets.collect();
        let may_filter = !profile.changes.upsert_where.is_empty();
        let filter = if may_filter { self.filter(40, &[own, joined].concat(), reads) } else { None };
        (sets, filter)
    }

    /// A clause for each of two keys, in either order.
    fn clauses(&mut self, mut keys: Vec<Target>, of_source: &[Target], own: &[ColumnInfo]) -> Vec<Clause> {
        let all = keys.clone();
        keys.shuffle(self.rng);
        let bare = chance(self.rng, 25);
        let last = keys.len() - 1;
        let clause = |(at, key): (usize, Target)| {
            let nothing = chance(self.rng, 25);
            let (sets, filter) = self.upsert(&all, of_source, own.to_vec());
            let (sets, filter) = if nothing { (Vec::new(), None) } else { (sets, filter) };
            // That a clause whose condition does not hold keeps those behind it from running is said of the last alone.
            Clause { key, bare: bare && at == last, sets, filter: filter.filter(|_| at == last) }
        };
        keys.into_iter().enumerate().map(clause).collect()
    }

    /// Rows for INSERT of which the later ones have keys that are there: first each row with another key, then as it is.
    fn rows_again(&self) -> Source {
        let (table, schema) = (self.on.table(self.target), &self.on.schema[self.target]);
        let columns = self.on.own_columns(self.target);
        let other = |(at, column): (usize, &ColumnInfo)| {
            let (name, ty) = (&column.name, column.ty.unwrap_or(SqlType::Int));
            match ty {
                SqlType::Int if schema.primary_key.contains(&at) => format!("{name} + {FREE_KEYS} AS {name}"),
                _ if schema.unique.iter().any(|key| key.contains(&at)) && !schema.columns[at].not_null => {
                    format!("{} AS {name}", self.on.profile().null(ty))
                }
                _ => name.to_string(),
            }
        };
        let others = columns.iter().enumerate().map(other).collect::<Vec<_>>().join(", ");
        let names = columns.iter().map(|column| &*column.name).collect::<Vec<_>>().join(", ");
        let items = columns.iter().map(|column| Set {
            column: Target { name: column.name.clone(), ty: column.ty.unwrap_or(SqlType::Int) },
            value: Node::Column { level: 0, name: format!("{SOURCE}.{}", column.name).into() },
            raw: false,
            filled: None,
        });
        let relation = format!("(SELECT {others} FROM {0} UNION ALL SELECT {names} FROM {0})", table.name);
        Source { relation: relation.into(), alias: SOURCE, items: items.collect(), filter: None }
    }

    /// A value for a column that some rows must not have: the same for all in a key, or NULL for some.
    fn broken(&mut self, at: usize) -> Set {
        let (table, schema) = (self.on.table(self.target), &self.on.schema[self.target]);
        let (name, column) = (&table.columns[at].name, &schema.columns[at]);
        let literal: Arc<str> = self.on.database.literals.value(column.ty, 0, self.rng);
        let text = if self.on.is_in_key(self.target, at) && (!column.not_null || chance(self.rng, 50)) {
            literal
        } else {
            let (table, null) = (&table.name, self.on.profile().null(column.ty));
            format!("CASE WHEN {table}.{name} > {literal} THEN {null} ELSE {table}.{name} END").into()
        };
        let column = Target { name: name.clone(), ty: column.ty };
        Set { column, value: Node::Literal(text), raw: false, filled: None }
    }
}
