//! The values that matter to a pair of queries.

use std::collections::{BTreeMap, BTreeSet};

use num_rational::BigRational;

use crate::eval::{constant, is_date};
use crate::ir::{
    Aggregate, AggregateFunction, Child, CompareOp, Expr, OrderKey, Plan, Query, Schema, TableId, Type, Value,
};

/// A column of a base table.
type ColumnId = (TableId, usize);

/// Where the values of a column come from, if it is a column of a base table.
type Origin = Option<ColumnId>;

/// What the queries read and compare.
#[derive(Debug, Default)]
pub(super) struct Pools {
    pub tables: BTreeSet<TableId>,
    /// Exact numbers.
    pub numbers: BTreeSet<Value>,
    /// Numbers between those, for columns that need not be whole.
    pub between: Vec<Value>,
    pub texts: BTreeSet<String>,
    pub dates: BTreeSet<String>,
    pub times: BTreeSet<String>,
    pub timestamps: BTreeSet<String>,
    /// Values that a column is compared with.
    pub columns: BTreeMap<ColumnId, BTreeSet<Value>>,
    /// Columns whose values can matter.
    pub used: BTreeSet<ColumnId>,
    /// Numbers of rows at which the queries may begin to differ: bounds of LIMIT, and what aggregates and the numbers of
    /// rows are compared with.
    pub thresholds: BTreeSet<usize>,
    /// How many of these are beyond what databases are made for.
    pub out_of_reach: u64,
    /// Columns that are set equal, each with the number of its class.
    pub classes: BTreeMap<ColumnId, usize>,
    links: Vec<(ColumnId, ColumnId)>,
    counts_rows: bool,
}

/// Thresholds beyond which the databases would become too large.
const THRESHOLD_MAX: usize = 24;

/// Numbers of a query beyond which what lies between them is left out.
const NUMBERS_MAX: usize = 24;

impl Pools {
    pub(super) fn new(schema: &Schema, queries: [&Query; 2]) -> Self {
        let half = Value::number(BigRational::new(1.into(), 2.into()));
        let owned = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect();
        let mut pools = Self {
            numbers: (0..=2).map(Value::int).chain([half]).collect(),
            texts: owned(&["", "a", "A", "b"]),
            dates: owned(&["2000-01-01", "2000-01-02", "2000-02-01"]),
            times: owned(&["00:00:00", "01:00:00"]),
            timestamps: owned(&["2000-01-01 00:00:00", "2000-01-02 00:00:00"]),
            ..Self::default()
        };
        for query in queries {
            let origins = pools.plan(&query.plan, &mut Vec::new());
            pools.used.extend(origins.iter().flatten());
            pools.order(&query.order, origins, &mut Vec::new());
        }
        // Parents are filled too, for the rows that refer to them.
        let mut waiting: Vec<TableId> = pools.tables.iter().copied().collect();
        while let Some(table) = waiting.pop() {
            for fk in schema.tables.get(table).iter().flat_map(|t| &t.foreign_keys) {
                pools.used.extend(fk.columns.iter().map(|c| (table, *c)));
                let pairs = fk.columns.iter().zip(&fk.parent_columns);
                pools.links.extend(pairs.map(|(c, p)| ((table, *c), (fk.parent, *p))));
                if pools.tables.insert(fk.parent) {
                    waiting.push(fk.parent);
                }
            }
        }
        for (number, table) in schema.tables.iter().enumerate() {
            pools.used.extend(table.keys.iter().flat_map(|key| &key.columns).map(|c| (number, *c)));
            if pools.tables.contains(&number) {
                let origins: Vec<Origin> = (0..table.columns.len()).map(|c| Some((number, c))).collect();
                table.checks.iter().for_each(|check| pools.expr(check, &mut vec![origins.clone()]));
            }
        }
        if !pools.counts_rows {
            pools.thresholds.clear();
            pools.out_of_reach = 0;
        }
        pools.between();
        pools.classify();
        pools
    }

    /// Finds what lies between neighbouring numbers: a condition may leave out no more than that.
    fn between(&mut self) {
        let mut numbers: Vec<BigRational> = self.numbers.iter().filter_map(Value::to_rational).collect();
        numbers.sort();
        let two = BigRational::from_integer(2.into());
        let middles = numbers.windows(2).take(NUMBERS_MAX).map(|pair| (&pair[0] + &pair[1]) / &two);
        self.between = middles.map(Value::number).collect();
    }

    /// Numbers the classes of linked columns.
    fn classify(&mut self) {
        for (number, (a, b)) in self.links.iter().enumerate() {
            let (old, new) = (self.classes.get(a).copied(), self.classes.get(b).copied());
            let class = new.or(old).unwrap_or(number);
            self.classes.insert(*a, class);
            self.classes.insert(*b, class);
            // Both had a class: they are one now.
            if let Some(old) = old {
                self.classes.values_mut().filter(|c| **c == old).for_each(|c| *c = class);
            }
        }
    }

    /// Reads a plan and returns the origins of its columns.
    fn plan(&mut self, plan: &Plan, scopes: &mut Vec<Vec<Origin>>) -> Vec<Origin> {
        match plan {
            Plan::Scan { table, types } => {
                self.tables.insert(*table);
                (0..types.len()).map(|column| Some((*table, column))).collect()
            }
            Plan::Values { types, rows } => {
                rows.iter().for_each(|row| self.exprs(row, Vec::new(), scopes));
                vec![None; types.len()]
            }
            Plan::Filter { input, condition } => {
                let origins = self.plan(input, scopes);
                self.exprs(std::slice::from_ref(condition), origins.clone(), scopes);
                origins
            }
            Plan::Project { input, exprs } => {
                let row = self.plan(input, scopes);
                scopes.push(row);
                exprs.iter().for_each(|e| self.expr(e, scopes));
                let origins = exprs.iter().map(|e| origin(e, scopes)).collect();
                scopes.pop();
                origins
            }
            Plan::Join { kind, left, right, on, lateral } => {
                let left = self.plan(left, scopes);
                let mut both = left.clone();
                if *lateral {
                    scopes.push(left.clone());
                }
                both.extend(self.plan(right, scopes));
                if *lateral {
                    scopes.pop();
                }
                self.exprs(std::slice::from_ref(on), both.clone(), scopes);
                if matches!(kind, crate::ir::JoinKind::Semi | crate::ir::JoinKind::Anti) { left } else { both }
            }
            Plan::SetOp { left, right, .. } => {
                let (left, right) = (self.plan(left, scopes), self.plan(right, scopes));
                self.used.extend(left.iter().chain(&right).flatten());
                left
            }
            Plan::Distinct(input) => {
                let origins = self.plan(input, scopes);
                self.used.extend(origins.iter().flatten());
                origins
            }
            Plan::Aggregate { input, keys, aggregates } => {
                let row = self.plan(input, scopes);
                scopes.push(row);
                keys.iter().for_each(|k| self.expr(k, scopes));
                for aggregate in aggregates {
                    aggregate.args.iter().chain(&aggregate.filter).for_each(|e| self.expr(e, scopes));
                }
                let mut origins: Vec<Origin> = keys.iter().map(|k| origin(k, scopes)).collect();
                // The extremes of a column are values of it, and other aggregates are often near to one.
                let counts =
                    |a: &Aggregate| matches!(a.function, AggregateFunction::Count | AggregateFunction::CountStar);
                let of_argument = |a: &Aggregate| a.args.first().and_then(|e| origin(e, scopes));
                origins.extend(aggregates.iter().map(|a| if counts(a) { None } else { of_argument(a) }));
                self.counts_rows |= aggregates.iter().any(counts);
                scopes.pop();
                origins
            }
            Plan::Limit { input, order, limit, offset } => {
                let origins = self.plan(input, scopes);
                self.order(order, origins.clone(), scopes);
                self.counts_rows = true;
                for bound in [Some(*offset), limit.map(|n| offset.saturating_add(n))].into_iter().flatten() {
                    self.threshold(usize::try_from(bound).ok());
                }
                origins
            }
            Plan::Window { input, functions } => {
                let mut origins = self.plan(input, scopes);
                self.counts_rows = true;
                for function in functions {
                    self.exprs(&function.args, origins.clone(), scopes);
                    self.exprs(&function.partition, origins.clone(), scopes);
                    self.order(&function.order, origins.clone(), scopes);
                }
                origins.extend(functions.iter().map(|_| None));
                origins
            }
        }
    }

    fn exprs(&mut self, exprs: &[Expr], row: Vec<Origin>, scopes: &mut Vec<Vec<Origin>>) {
        scopes.push(row);
        exprs.iter().for_each(|e| self.expr(e, scopes));
        scopes.pop();
    }

    fn order(&mut self, order: &[OrderKey], row: Vec<Origin>, scopes: &mut Vec<Vec<Origin>>) {
        scopes.push(row);
        order.iter().for_each(|key| self.expr(&key.expr, scopes));
        scopes.pop();
    }

    fn expr(&mut self, expr: &Expr, scopes: &mut Vec<Vec<Origin>>) {
        match expr {
            Expr::Column { .. } => self.used.extend(origin(expr, scopes)),
            Expr::Literal(value, ty) => self.literal(value, ty),
            Expr::Cast { to, .. } => {
                if let Some(value) = constant_of(expr) {
                    self.literal(&value, to);
                }
            }
            Expr::Compare(_, a, b) | Expr::Same(a, b) => {
                let equal = !matches!(expr, Expr::Compare(op, ..) if *op != CompareOp::Eq);
                if let (true, Some(a), Some(b)) = (equal, origin(a, scopes), origin(b, scopes)) {
                    self.links.push((a, b));
                }
                self.compared(origin(a, scopes), b);
                self.compared(origin(b, scopes), a);
                for (side, other) in [(a, b), (b, a)] {
                    if let (None, Some(Value::Int(n @ 0..))) = (origin(side, scopes), constant_of(other)) {
                        self.threshold(usize::try_from(n).ok());
                    }
                }
            }
            Expr::Quantified { row, query, .. } => {
                if let Plan::Values { rows, .. } = &**query {
                    for (at, left) in row.iter().enumerate() {
                        let origin = origin(left, scopes);
                        rows.iter().filter_map(|r| r.get(at)).for_each(|e| self.compared(origin, e));
                    }
                }
            }
            Expr::Call { name, args, .. } if name == "like" || name == "ilike" => {
                if let [value, Expr::Literal(Value::Text(pattern), _), ..] = args.as_slice() {
                    let origin = origin(value, scopes);
                    for (any, one) in [("", "a"), ("x", "b")] {
                        let text = pattern.replace('%', any).replace('_', one);
                        self.texts.insert(text.clone());
                        if let Some(column) = origin {
                            self.columns.entry(column).or_default().insert(Value::Text(text));
                        }
                    }
                    // The pattern itself is not an interesting value.
                    self.expr(value, scopes);
                    return;
                }
            }
            _ => {}
        }
        let mut children = Vec::new();
        expr.for_each_child(&mut |child| children.push(child));
        for child in children {
            match child {
                Child::Expr(e) => self.expr(e, scopes),
                Child::Plan(p) => {
                    self.plan(p, scopes);
                }
            }
        }
    }

    fn threshold(&mut self, rows: Option<usize>) {
        match rows {
            Some(rows) if rows <= THRESHOLD_MAX => _ = self.thresholds.insert(rows),
            _ => self.out_of_reach += 1,
        }
    }

    fn compared(&mut self, origin: Origin, with: &Expr) {
        if let (Some(column), Some(value)) = (origin, constant_of(with)) {
            let values = self.columns.entry(column).or_default();
            values.extend(neighbours(&value, &with.ty()));
            // Columns that are not whole have something between two whole numbers.
            if let Value::Int(n) = value {
                let half = BigRational::from_integer(n.into()) + BigRational::new(1.into(), 2.into());
                values.insert(Value::number(half));
            }
            values.insert(value);
        }
    }

    fn literal(&mut self, value: &Value, ty: &Type) {
        let near = neighbours(value, ty);
        match (value, ty) {
            (Value::Int(_) | Value::Number(_) | Value::Double(_), _) => {
                let exact = |v: &Value| match v {
                    Value::Double(d) => BigRational::from_float(*d).map(Value::number),
                    _ => Some(v.clone()),
                };
                self.numbers.extend(near.iter().chain([value]).filter_map(exact));
            }
            (Value::Text(text), Type::Date) => {
                self.timestamps.insert(format!("{text} 00:00:00"));
                self.dates.insert(text.clone());
                self.dates.extend(near.into_iter().filter_map(into_text));
            }
            (Value::Text(text), Type::Timestamp) => {
                self.timestamps.insert(text.clone());
                self.dates.extend(text.get(..10).filter(|d| is_date(d)).map(ToOwned::to_owned));
            }
            (Value::Text(text), Type::Time) => {
                self.times.insert(text.clone());
            }
            (Value::Text(text), _) => {
                if is_date(text) {
                    self.dates.insert(text.clone());
                }
                self.texts.insert(text.clone());
            }
            (Value::Null | Value::Bool(_), _) => {}
        }
    }
}

fn into_text(value: Value) -> Option<String> {
    if let Value::Text(text) = value { Some(text) } else { None }
}

/// The base column whose values an expression takes or is made of.
fn origin(expr: &Expr, scopes: &[Vec<Origin>]) -> Origin {
    match expr {
        Expr::Column { depth, index, .. } => {
            let at = scopes.len().checked_sub(depth + 1)?;
            scopes[at].get(*index).copied().flatten()
        }
        Expr::Cast { value, .. } => origin(value, scopes),
        Expr::Arithmetic(_, a, b, _) => origin(a, scopes).or_else(|| origin(b, scopes)),
        Expr::Call { args, .. } => args.iter().find_map(|a| origin(a, scopes)),
        Expr::Case { branches, otherwise, .. } => {
            branches.iter().map(|(_, v)| v).chain([&**otherwise]).find_map(|v| origin(v, scopes))
        }
        _ => None,
    }
}

fn constant_of(expr: &Expr) -> Option<Value> {
    match expr {
        Expr::Literal(Value::Null, _) => None,
        Expr::Literal(value, _) => Some(value.clone()),
        Expr::Cast { .. } | Expr::Arithmetic(..) | Expr::Call { .. } => constant(expr).filter(|v| !v.is_null()),
        _ => None,
    }
}

/// The values just below and above.
fn neighbours(value: &Value, ty: &Type) -> Vec<Value> {
    match value {
        Value::Int(n) => [n.checked_sub(1), n.checked_add(1)].into_iter().flatten().map(Value::int).collect(),
        Value::Number(n) => {
            let one = BigRational::from_integer(1.into());
            vec![Value::number(n - &one), Value::number(n + &one), Value::number(n.floor())]
        }
        Value::Double(d) => vec![Value::Double(d - 1.0), Value::Double(d + 1.0)],
        Value::Text(text) if *ty == Type::Date && is_date(text) => {
            near_dates(text).into_iter().map(Value::Text).collect()
        }
        _ => Vec::new(),
    }
}

/// A date shortly before and one shortly after; months count as 28 days so that both exist.
fn near_dates(date: &str) -> Vec<String> {
    let parts: Option<Vec<u32>> = date.split('-').map(|part| part.parse().ok()).collect();
    let Some([year, month, day]) = parts.as_deref() else { return Vec::new() };
    let count = (year * 12 + month - 1) * 28 + (*day).min(28) - 1;
    let print = |count: u32| {
        let (months, day) = (count / 28, count % 28 + 1);
        format!("{:04}-{:02}-{day:02}", months / 12, months % 12 + 1)
    };
    vec![print(count.saturating_sub(1)), print(count + 1)]
}
