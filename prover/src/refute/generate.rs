//! Random databases that satisfy their schema.

use std::collections::{BTreeMap, BTreeSet};

use num_rational::BigRational;
use rand::RngExt as _;
use rand::seq::{IndexedRandom as _, IteratorRandom as _, SliceRandom as _};
use rand_chacha::ChaCha8Rng;

use crate::eval::{Database, Row};
use crate::ir::{ForeignKey, Key, Query, Schema, TableId, Type, Value};

use super::constraints::{Constraints, collide, has_parent};
use super::minimise::plain_values;
use super::pool::Pools;

/// How often a column that need not be whole gets a value between the numbers of the queries.
const BETWEEN_PERCENT: u32 = 20;

/// How often a row that a constraint rejects is drawn again.
const ATTEMPTS: usize = 8;

/// The size and variety of a random database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows per table, at most.
    pub rows: usize,
    /// Percentage of tables that stay empty.
    pub empty: u32,
    /// Distinct values that the columns of one type draw from.
    pub values: usize,
    /// Percentage of NULLs in nullable columns.
    pub nulls: u32,
    /// Percentage of rows that repeat another row.
    pub repeats: u32,
    /// Percentage of values in columns that the queries set equal which depend on the number of the row only, so that
    /// rows with the same number join.
    pub joined: u32,
    /// Percentage of values drawn from those that the queries compare the very column with.
    pub compared: u32,
    /// Rows of a table at least; 1 but for databases that are to reach a number the queries count up to. Then some
    /// columns get many values and the others few.
    pub least: usize,
}

impl Shape {
    /// A shape for queries that read so many tables: the more tables, the fewer rows and the fewer values, so that
    /// joins find partners and stay cheap.
    #[must_use]
    pub fn random(rng: &mut ChaCha8Rng, tables: usize) -> Self {
        let most = match tables {
            0..=3 => 4,
            4..=7 => 3,
            _ => 2,
        };
        let many = tables > 4;
        let correlated = rng.random_range(0..100) < if many { 70 } else { 35 };
        Self {
            rows: rng.random_range(if many { 1 } else { 2 }..=most),
            empty: if many { 2 } else { 10 },
            values: if correlated { rng.random_range(1..=2) } else { rng.random_range(3..=6) },
            nulls: if correlated && many { 10 } else { *[0, 30, 30, 30].choose(rng).unwrap_or(&30) },
            repeats: 20,
            joined: *if many { &[0, 90, 97, 100, 100] } else { &[0, 0, 0, 70, 100] }.choose(rng).unwrap_or(&0),
            compared: if many { 80 } else { 40 },
            least: 1,
        }
    }

    /// The same with tables of a row less to a few rows more than `threshold`, most of them in one group.
    pub(super) fn tall(self, threshold: usize) -> Self {
        Self {
            rows: threshold + 3,
            least: threshold.saturating_sub(1).max(1),
            empty: 0,
            values: 1 + self.values % 2,
            nulls: self.nulls / 3,
            repeats: self.repeats / 2,
            ..self
        }
    }
}

/// A database that satisfies the schema, with rows in the tables that the queries read and those they refer to.
/// `None` if the queries read a table that the schema has not.
pub fn random_database(schema: &Schema, queries: [&Query; 2], rng: &mut ChaCha8Rng, shape: &Shape) -> Option<Database> {
    let generator = Generator::new(schema, queries);
    generator.known_tables().then(|| generator.database(rng, shape))
}

/// Makes databases for one pair of queries.
pub(super) struct Generator<'s> {
    constraints: Constraints<'s>,
    pools: Pools,
    /// For each column of each table.
    facts: Vec<Vec<Facts>>,
    /// The tables to fill, referred ones first as far as possible.
    order: Vec<TableId>,
}

/// What the queries and constraints do with a column.
struct Facts {
    /// Whether its values can matter.
    used: bool,
    in_key: bool,
    /// Its class among columns that are set equal.
    class: Option<usize>,
    /// The values of its type that it is compared with.
    compared: Vec<Value>,
}

/// The values of one database.
struct Draw {
    numbers: Vec<Value>,
    others: BTreeMap<Type, Vec<Value>>,
    /// For each class of columns that are set equal, the value for each row number.
    joined: BTreeMap<usize, Vec<Value>>,
    /// Columns of many values.
    varied: BTreeSet<(TableId, usize)>,
}

impl<'s> Generator<'s> {
    pub(super) fn new(schema: &'s Schema, queries: [&Query; 2]) -> Self {
        let pools = Pools::new(schema, queries);
        let mut order = Vec::new();
        let mut entered = vec![false; schema.tables.len()];
        for table in &pools.tables {
            parents_first(schema, *table, &mut entered, &mut order);
        }
        let facts = |(at, ty, keys): ((TableId, usize), &Type, &[Key])| Facts {
            used: pools.used.contains(&at),
            in_key: keys.iter().any(|key| key.columns.contains(&at.1)),
            class: pools.classes.get(&at).copied(),
            compared: fitting(pools.columns.get(&at).into_iter().flatten(), ty),
        };
        let facts = schema.tables.iter().enumerate().map(|(number, table)| {
            let columns = table.columns.iter().enumerate();
            columns.map(|(at, column)| facts(((number, at), &column.ty, &table.keys))).collect()
        });
        Self { facts: facts.collect(), constraints: Constraints::new(schema), pools, order }
    }

    /// The number of tables that get rows.
    pub(super) fn tables_read(&self) -> usize {
        self.order.len()
    }

    /// The numbers of rows that the queries count up to, least first.
    pub(super) fn thresholds(&self) -> Vec<usize> {
        self.pools.thresholds.iter().copied().collect()
    }

    fn known_tables(&self) -> bool {
        self.pools.tables.iter().all(|table| *table < self.constraints.schema.tables.len())
    }

    /// The database without rows.
    pub(super) fn empty(&self) -> Database {
        Database { tables: vec![Vec::new(); self.constraints.schema.tables.len()] }
    }

    pub(super) fn database(&self, rng: &mut ChaCha8Rng, shape: &Shape) -> Database {
        let draw = self.draw(rng, shape);
        let mut db = self.empty();
        for (position, table) in self.order.iter().enumerate() {
            if rng.random_range(0..100) < shape.empty {
                continue;
            }
            for _ in 0..rng.random_range(shape.least..=shape.rows.max(shape.least)) {
                if let Some(row) = self.row(*table, position, &draw, &db, rng, shape) {
                    db.tables[*table].push(row);
                }
            }
        }
        self.repair(&mut db);
        db
    }

    /// The values that the columns without own ones choose from.
    fn draw(&self, rng: &mut ChaCha8Rng, shape: &Shape) -> Draw {
        let mut numbers = some(self.pools.numbers.iter().cloned(), shape.values, rng);
        if !numbers.iter().any(|n| matches!(n, Value::Int(_))) {
            numbers.push(Value::int(1));
        }
        let mut others = BTreeMap::new();
        for (ty, texts) in [
            (Type::Text, &self.pools.texts),
            (Type::Date, &self.pools.dates),
            (Type::Time, &self.pools.times),
            (Type::Timestamp, &self.pools.timestamps),
        ] {
            others.insert(ty, some(texts.iter().cloned().map(Value::Text), shape.values, rng));
        }
        others.insert(Type::Boolean, some([false, true].into_iter().map(Value::Bool), shape.values, rng));
        let mut draw = Draw { numbers, others, joined: BTreeMap::new(), varied: BTreeSet::new() };
        if shape.least > 1 {
            let used = self.pools.used.iter().copied();
            draw.varied = used.filter(|_| rng.random_bool(0.5)).collect();
        }
        if shape.joined > 0 {
            for (column, class) in &self.pools.classes {
                let values = draw.joined.remove(class).unwrap_or_default();
                let values = self.joined_values(*column, values, &draw, rng, shape);
                draw.joined.insert(*class, values);
            }
        }
        draw
    }

    /// Values for the rows of one class of columns; those that one of its columns is compared with are preferred.
    fn joined_values(
        &self,
        column: (TableId, usize),
        mut values: Vec<Value>,
        draw: &Draw,
        rng: &mut ChaCha8Rng,
        shape: &Shape,
    ) -> Vec<Value> {
        let Some(ty) = self.constraints.schema.tables.get(column.0).and_then(|t| t.columns.get(column.1)) else {
            return values;
        };
        let ty = &ty.ty;
        if values.is_empty() {
            let drawn = draw.others.get(ty).unwrap_or(&draw.numbers);
            values = some(drawn.iter().filter_map(|v| fit(v, ty)), shape.rows, rng);
        }
        if let Some(value) = self.facts[column.0][column.1].compared.choose(rng)
            && rng.random_range(0..100) < shape.compared
            && let Some(first) = values.first_mut()
        {
            *first = value.clone();
        }
        values
    }

    /// A row that the table can take as far as the tables filled so far tell.
    fn row(
        &self,
        table: TableId,
        position: usize,
        draw: &Draw,
        db: &Database,
        rng: &mut ChaCha8Rng,
        shape: &Shape,
    ) -> Option<Row> {
        let schema = &self.constraints.schema.tables[table];
        let rows = &db.tables[table];
        if rng.random_range(0..100) < shape.repeats
            && let Some(row) = rows.choose(rng)
            && !schema.keys.iter().any(|key| collide(key, row, row))
        {
            return Some(row.clone());
        }
        for attempt in 0..ATTEMPTS {
            let mut row: Row = (0..schema.columns.len())
                .map(|column| {
                    let value = self.value((table, column), (rows.len(), attempt), draw, rng, shape);
                    let column = &schema.columns[column];
                    if column.holds(&value) { value } else { plain_value(&column.ty) }
                })
                .collect();
            for fk in &schema.foreign_keys {
                // A table that is filled later cannot be looked at yet; what does not fit is deleted in the end.
                let filled = self.order[..position].contains(&fk.parent);
                if filled || fk.parent == table {
                    refer(fk, &mut row, &db.tables[fk.parent], fk.parent == table, rng);
                }
            }
            let clashes = schema.keys.iter().any(|key| rows.iter().any(|other| collide(key, &row, other)));
            if !clashes && self.constraints.row_fits(table, &row, db) {
                return Some(row);
            }
        }
        None
    }

    fn value(
        &self,
        at: (TableId, usize),
        (number, attempt): (usize, usize),
        draw: &Draw,
        rng: &mut ChaCha8Rng,
        shape: &Shape,
    ) -> Value {
        let column = &self.constraints.schema.tables[at.0].columns[at.1];
        let facts = &self.facts[at.0][at.1];
        if !facts.used {
            return if column.not_null { plain_value(&column.ty) } else { Value::Null };
        }
        if let Some(values) = facts.class.and_then(|class| draw.joined.get(&class))
            && attempt < 2
            && rng.random_range(0..100) < shape.joined
            && let Some(value) = values.get(number % values.len().max(1)).and_then(|v| fit(v, &column.ty))
        {
            return value;
        }
        if !column.not_null && rng.random_range(0..100) < shape.nulls {
            return Value::Null;
        }
        if !facts.compared.is_empty() && rng.random_range(0..100) < shape.compared {
            return choose(&facts.compared, rng);
        }
        // Few values do not make many keys, so later attempts draw from more.
        let widen = attempt > 0 && (facts.in_key || attempt > 2);
        let most = i64::try_from(shape.rows.saturating_mul(2)).unwrap_or(i64::MAX);
        if draw.varied.contains(&at) && matches!(column.ty, Type::Integer | Type::Decimal | Type::Double) {
            return fit(&Value::int(rng.random_range(0..most)), &column.ty).unwrap_or_else(|| plain_value(&column.ty));
        }
        let value = match &column.ty {
            Type::Integer | Type::Decimal | Type::Double | Type::Unknown if widen => {
                let more = self.pools.numbers.iter().choose(rng).cloned();
                more.filter(|_| attempt.is_multiple_of(2))
                    .unwrap_or_else(|| Value::int(rng.random_range(0..most.max(8))))
            }
            Type::Decimal | Type::Double
                if !self.pools.between.is_empty() && rng.random_range(0..100) < BETWEEN_PERCENT =>
            {
                choose(&self.pools.between, rng)
            }
            Type::Integer | Type::Decimal | Type::Double | Type::Unknown => choose(&draw.numbers, rng),
            Type::Other(_) => choose(&[Value::Text("a".to_owned()), Value::Text("b".to_owned())], rng),
            ty if widen => {
                let texts = match ty {
                    Type::Date => &self.pools.dates,
                    Type::Time => &self.pools.times,
                    Type::Timestamp => &self.pools.timestamps,
                    Type::Boolean => return Value::Bool(rng.random_bool(0.5)),
                    _ => &self.pools.texts,
                };
                texts.iter().choose(rng).map_or(Value::Null, |t| Value::Text(t.clone()))
            }
            ty => draw.others.get(ty).map_or(Value::Null, |values| choose(values, rng)),
        };
        fit(&value, &column.ty).unwrap_or_else(|| plain_value(&column.ty))
    }

    /// Deletes rows until every reference has its parent.
    fn repair(&self, db: &mut Database) {
        let tables = &self.constraints.schema.tables;
        loop {
            let mut deleted = false;
            for (table, schema) in tables.iter().enumerate() {
                let orphan = |row: &Row| schema.foreign_keys.iter().any(|fk| !has_parent(fk, row, db));
                let keep: Vec<bool> = db.tables[table].iter().map(|row| !orphan(row)).collect();
                if keep.contains(&false) {
                    let mut keep = keep.into_iter();
                    db.tables[table].retain(|_| keep.next().unwrap_or(true));
                    deleted = true;
                }
            }
            if !deleted {
                return;
            }
        }
    }
}

/// Adds a table after those that it refers to; in a cycle the one entered first comes last.
fn parents_first(schema: &Schema, table: TableId, entered: &mut [bool], order: &mut Vec<TableId>) {
    if entered.get(table).is_none_or(|entered| *entered) {
        return;
    }
    entered[table] = true;
    for fk in &schema.tables[table].foreign_keys {
        parents_first(schema, fk.parent, entered, order);
    }
    order.push(table);
}

/// Lets a row without NULLs in the reference refer to one of the parents, or to itself.
fn refer(fk: &ForeignKey, row: &mut Row, parents: &[Row], to_itself: bool, rng: &mut ChaCha8Rng) {
    if fk.columns.iter().any(|c| row[*c].is_null()) {
        return;
    }
    let whole = parents.iter().filter(|p| !fk.parent_columns.iter().any(|c| p[*c].is_null()));
    let parent = match whole.choose(rng) {
        Some(parent) if !to_itself || rng.random_bool(0.8) => parent.clone(),
        _ if to_itself => row.clone(),
        _ => return,
    };
    for (column, parent_column) in fk.columns.iter().zip(&fk.parent_columns) {
        row[*column] = parent[*parent_column].clone();
    }
}

fn plain_value(ty: &Type) -> Value {
    plain_values(ty).into_iter().find(|value| !value.is_null()).unwrap_or(Value::Null)
}

/// At most `count` of the values.
fn some(values: impl Iterator<Item = Value>, count: usize, rng: &mut ChaCha8Rng) -> Vec<Value> {
    let mut values: Vec<Value> = values.collect();
    values.shuffle(rng);
    values.truncate(count);
    values
}

/// The values as those of the type, each once.
fn fitting<'v>(values: impl Iterator<Item = &'v Value>, ty: &Type) -> Vec<Value> {
    values.filter_map(|v| fit(v, ty)).collect::<BTreeSet<_>>().into_iter().collect()
}

fn choose(values: &[Value], rng: &mut ChaCha8Rng) -> Value {
    values.choose(rng).cloned().unwrap_or(Value::Null)
}

/// The value as one of the type, if there is one near to it.
fn fit(value: &Value, ty: &Type) -> Option<Value> {
    match (value, ty) {
        (Value::Int(_), Type::Integer | Type::Decimal | Type::Unknown)
        | (Value::Number(_), Type::Decimal)
        | (Value::Bool(_), Type::Boolean)
        | (Value::Text(_), Type::Text | Type::Other(_)) => Some(value.clone()),
        (Value::Number(n), Type::Integer | Type::Unknown) => Some(Value::number(n.floor())),
        (Value::Double(d), Type::Integer) => BigRational::from_float(d.floor()).map(Value::number),
        (Value::Double(d), Type::Decimal) => BigRational::from_float(*d).map(Value::number),
        (Value::Int(_) | Value::Number(_) | Value::Double(_), Type::Double) => value.to_double().map(Value::Double),
        (Value::Text(t), Type::Date) if crate::eval::is_date(t) => Some(value.clone()),
        (Value::Text(t), Type::Timestamp) if crate::eval::is_date(t) => Some(Value::Text(format!("{t} 00:00:00"))),
        (Value::Text(t), Type::Timestamp) if t.len() == 19 => Some(value.clone()),
        (Value::Text(t), Type::Time) if t.len() == 8 => Some(value.clone()),
        _ => None,
    }
}
