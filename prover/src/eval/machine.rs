//! Runs prepared plans.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::ir::{AggregateFunction, SetOp, Value};

use super::aggregate;
use super::code::{AggregateCode, Code, Node, Product, SortKey, StepKind, Sub};
use super::{Database, EvalError, Row};

/// The values of a row, where they are kept.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cells<'a> {
    Values(&'a [Value]),
    Refs(&'a [&'a Value]),
}

impl<'a> Cells<'a> {
    pub(super) fn get(self, slot: usize) -> Option<&'a Value> {
        match self {
            Self::Values(values) => values.get(slot),
            Self::Refs(values) => values.get(slot).copied(),
        }
    }

    fn to_row(self) -> Row {
        match self {
            Self::Values(values) => values.to_vec(),
            Self::Refs(values) => values.iter().map(|v| (*v).clone()).collect(),
        }
    }
}

/// The rows that an expression can see, innermost first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Env<'a> {
    pub cells: Cells<'a>,
    pub outer: Option<&'a Env<'a>>,
}

/// A row on its way from one node to the next.
pub(super) enum Tuple<'a> {
    Borrowed(Cells<'a>),
    Owned(Row),
}

impl Tuple<'_> {
    pub(super) fn cells(&self) -> Cells<'_> {
        match self {
            Self::Borrowed(cells) => *cells,
            Self::Owned(row) => Cells::Values(row),
        }
    }

    fn into_row(self) -> Row {
        match self {
            Self::Borrowed(cells) => cells.to_row(),
            Self::Owned(row) => row,
        }
    }
}

/// Takes the rows of a node one by one and says whether it wants more.
type Emit<'e> = &'e mut dyn FnMut(Tuple<'_>) -> Result<bool, EvalError>;

/// The rows of the inputs of a product, each made when it is first needed.
type Inputs<'m> = [OnceCell<Cow<'m, [Row]>>];

/// One run of one query.
pub(super) struct Machine<'d> {
    db: &'d Database,
    pub seed: u64,
    fuel: Cell<u64>,
    caches: Vec<OnceCell<Vec<Row>>>,
    opaque: RefCell<BTreeSet<String>>,
    inexact: Cell<bool>,
}

impl<'d> Machine<'d> {
    pub(super) fn new(db: &'d Database, seed: u64, fuel: u64, caches: usize) -> Self {
        let caches = (0..caches).map(|_| OnceCell::new()).collect();
        Self { db, seed, fuel: Cell::new(fuel), caches, opaque: RefCell::default(), inexact: Cell::new(false) }
    }

    pub(super) fn into_opaque(self) -> BTreeSet<String> {
        self.opaque.into_inner()
    }

    /// Notes that `name` was given an arbitrary meaning.
    pub(super) fn note_opaque(&self, name: &str) {
        let mut opaque = self.opaque.borrow_mut();
        if !opaque.contains(name) {
            opaque.insert(name.to_owned());
        }
    }

    /// Notes a number that was computed.
    pub(super) fn note_number(&self, number: &Value) {
        if !matches!(number, Value::Int(_) | Value::Null) {
            self.inexact.set(true);
        }
    }

    /// Notes a decimal that not every whole number of its size is a double of.
    pub(super) fn note_long(&self, number: &Value) {
        const LAST: i64 = 1 << 53;
        if matches!(number, Value::Int(number) if !(-LAST..=LAST).contains(number)) {
            self.inexact.set(true);
        }
    }

    pub(super) fn is_inexact(&self) -> bool {
        self.inexact.get()
    }

    pub(super) fn spend(&self) -> Result<(), EvalError> {
        let left = self.fuel.get().checked_sub(1).ok_or(EvalError::OutOfFuel)?;
        self.fuel.set(left);
        Ok(())
    }

    /// All rows of a node.
    pub(super) fn collect(&self, node: &Node, env: Option<&Env<'_>>) -> Result<Vec<Row>, EvalError> {
        let mut rows = Vec::new();
        self.run(node, env, &mut |tuple| {
            rows.push(tuple.into_row());
            Ok(true)
        })?;
        Ok(rows)
    }

    /// The rows of a plan inside another, kept if they are always the same.
    pub(super) fn rows(&self, sub: &Sub, env: Option<&Env<'_>>) -> Result<Cow<'_, [Row]>, EvalError> {
        if let Node::Table(table) = sub.node {
            return Ok(Cow::Borrowed(self.table(table)?));
        }
        let Some(cache) = sub.cache else { return Ok(Cow::Owned(self.collect(&sub.node, env)?)) };
        let cell = &self.caches[cache];
        if cell.get().is_none() {
            let rows = self.collect(&sub.node, None)?;
            return Ok(Cow::Borrowed(cell.get_or_init(|| rows)));
        }
        Ok(Cow::Borrowed(cell.get().map_or(&[], Vec::as_slice)))
    }

    fn table(&self, table: usize) -> Result<&'d [Row], EvalError> {
        let missing = || EvalError::Unsupported("a table that is not there".to_owned());
        self.db.tables.get(table).map(Vec::as_slice).ok_or_else(missing)
    }

    /// Hands the rows of a plan inside another to `emit`.
    pub(super) fn run_sub(&self, sub: &Sub, env: Option<&Env<'_>>, emit: Emit<'_>) -> Result<bool, EvalError> {
        if sub.cache.is_none() {
            return self.run(&sub.node, env, emit);
        }
        emit_all(&self.rows(sub, env)?, emit)
    }

    /// Hands the rows of `node` to `emit`; FALSE if `emit` wanted no more.
    pub(super) fn run(&self, node: &Node, env: Option<&Env<'_>>, emit: Emit<'_>) -> Result<bool, EvalError> {
        self.spend()?;
        match node {
            Node::Table(table) => emit_all(self.table(*table)?, emit),
            Node::Values(rows) => {
                for row in rows {
                    let here = Env { cells: Cells::Values(&[]), outer: env };
                    if !emit(Tuple::Owned(self.values(row, &here)?))? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Node::Product(product) => self.product(product, env, emit),
            Node::Full { left, right, left_width, right_width, on } => {
                let (left, right) = (self.rows(left, env)?, self.rows(right, env)?);
                self.full_join((&left, &right), (*left_width, *right_width), on, env, emit)
            }
            Node::SetOp { op, all, left, right } => self.set_op(*op, *all, (left, right), env, emit),
            Node::Distinct(input) => {
                let mut seen = BTreeSet::new();
                self.run(input, env, &mut |tuple| {
                    let row = tuple.into_row();
                    if seen.contains(&row) {
                        return Ok(true);
                    }
                    seen.insert(row.clone());
                    emit(Tuple::Owned(row))
                })
            }
            Node::Aggregate { input, keys, aggregates } => self.aggregate(input, keys, aggregates, env, emit),
            Node::Limit { input, order, limit, offset, any } => {
                let sorted = self.sort(self.collect(input, env)?, order, env)?;
                let start = usize::try_from(*offset).unwrap_or(usize::MAX).min(sorted.len());
                let count = limit.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
                let end = start.saturating_add(count).min(sorted.len());
                if !any && start < end {
                    check_cut(&sorted, start)?;
                    check_cut(&sorted, end)?;
                    if start > 0 || end < sorted.len() {
                        self.note_nulls(order, &sorted, |(key, _)| key);
                    }
                }
                for (_, row) in sorted.into_iter().take(end).skip(start) {
                    if !emit(Tuple::Owned(row))? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Node::Window { input, functions } => {
                let mut rows = self.collect(input, env)?;
                let mut columns = Vec::with_capacity(functions.len());
                for function in functions {
                    columns.push(self.window(function, &rows, env)?);
                }
                for column in columns {
                    rows.iter_mut().zip(column).for_each(|(row, value)| row.push(value));
                }
                for row in rows {
                    if !emit(Tuple::Owned(row))? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    fn product(&self, product: &Product, env: Option<&Env<'_>>, emit: Emit<'_>) -> Result<bool, EvalError> {
        let empty = Env { cells: Cells::Values(&[]), outer: env };
        if !self.all(&product.first, &empty)? {
            return Ok(true);
        }
        if let [step] = product.steps.as_slice()
            && step.kind == StepKind::Inner
        {
            return self.run_sub(&step.source, env, &mut |tuple| {
                self.spend()?;
                let here = Env { cells: tuple.cells(), outer: env };
                if !self.all(&step.checks, &here)? {
                    return Ok(true);
                }
                match &product.output {
                    Some(output) => emit(Tuple::Owned(self.values(output, &here)?)),
                    None => emit(tuple),
                }
            });
        }
        for step in &product.steps {
            if let (StepKind::Inner, Node::Table(table)) = (step.kind, &step.source.node)
                && self.table(*table)?.is_empty()
            {
                return Ok(true);
            }
        }
        let inputs: Vec<_> = product.steps.iter().map(|_| OnceCell::new()).collect();
        let mut cells = vec![&Value::Null; product.slots];
        self.step(product, &inputs, 0, &mut cells, env, emit)
    }

    /// Binds the inputs from number `at` on in all ways.
    fn step<'m, 'b>(
        &'m self,
        product: &Product,
        inputs: &'b Inputs<'m>,
        at: usize,
        cells: &mut Vec<&'b Value>,
        env: Option<&Env<'_>>,
        emit: Emit<'_>,
    ) -> Result<bool, EvalError> {
        let Some(step) = product.steps.get(at) else {
            let row = Cells::Refs(&cells[..product.width]);
            return match &product.output {
                Some(output) => emit(Tuple::Owned(self.values(output, &Env { cells: row, outer: env })?)),
                None => emit(Tuple::Borrowed(row)),
            };
        };
        if step.lateral {
            let rows = self.rows(&step.source, Some(&Env { cells: Cells::Refs(cells), outer: env }))?;
            // These rows do not live as long as those of the other inputs, so the cells are copied.
            return self.bind(product, inputs, at, &mut cells.clone(), &rows, env, emit);
        }
        let cell = &inputs[at];
        if cell.get().is_none() {
            // The cell is empty, so this sets it.
            let _ = cell.set(self.rows(&step.source, env)?);
        }
        let rows = cell.get().map_or(&[][..], |rows| rows);
        self.bind(product, inputs, at, cells, rows, env, emit)
    }

    #[expect(clippy::too_many_arguments, reason = "the state of a recursion")]
    fn bind<'m, 'b>(
        &'m self,
        product: &Product,
        inputs: &'b Inputs<'m>,
        at: usize,
        cells: &mut Vec<&'b Value>,
        rows: &'b [Row],
        env: Option<&Env<'_>>,
        emit: Emit<'_>,
    ) -> Result<bool, EvalError> {
        let step = &product.steps[at];
        let slots = step.slot..step.slot + step.width;
        let mut matched = false;
        for row in rows {
            self.spend()?;
            for (cell, value) in cells[slots.clone()].iter_mut().zip(row) {
                *cell = value;
            }
            let here = Env { cells: Cells::Refs(cells), outer: env };
            if !self.all(&step.on, &here)? {
                continue;
            }
            matched = true;
            if matches!(step.kind, StepKind::Semi | StepKind::Anti) {
                break;
            }
            if self.all(&step.checks, &here)? && !self.step(product, inputs, at + 1, cells, env, emit)? {
                return Ok(false);
            }
        }
        let goes_on = match step.kind {
            StepKind::Inner => false,
            StepKind::Left | StepKind::Anti => !matched,
            StepKind::Semi => matched,
        };
        if !goes_on {
            return Ok(true);
        }
        cells[slots].fill(&Value::Null);
        if !self.all(&step.checks, &Env { cells: Cells::Refs(cells), outer: env })? {
            return Ok(true);
        }
        self.step(product, inputs, at + 1, cells, env, emit)
    }

    /// Whether all conditions are TRUE.
    fn all(&self, conditions: &[Code], env: &Env<'_>) -> Result<bool, EvalError> {
        for condition in conditions {
            if self.truth(condition, env)? != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn values(&self, codes: &[Code], env: &Env<'_>) -> Result<Row, EvalError> {
        codes.iter().map(|code| Ok(self.value(code, env)?.into_owned())).collect()
    }

    fn full_join(
        &self,
        (left, right): (&[Row], &[Row]),
        (left_width, right_width): (usize, usize),
        on: &Code,
        env: Option<&Env<'_>>,
        emit: Emit<'_>,
    ) -> Result<bool, EvalError> {
        let mut matched_right = vec![false; right.len()];
        let (left_nulls, right_nulls) = (vec![Value::Null; left_width], vec![Value::Null; right_width]);
        for l in left {
            let mut matched = false;
            for (r, right_matched) in right.iter().zip(&mut matched_right) {
                self.spend()?;
                let cells: Vec<&Value> = l.iter().chain(r).collect();
                let cells = Cells::Refs(&cells);
                if self.truth(on, &Env { cells, outer: env })? == Some(true) {
                    matched = true;
                    *right_matched = true;
                    if !emit(Tuple::Borrowed(cells))? {
                        return Ok(false);
                    }
                }
            }
            if !matched && !emit(Tuple::Owned(l.iter().chain(&right_nulls).cloned().collect()))? {
                return Ok(false);
            }
        }
        for (r, _) in right.iter().zip(matched_right).filter(|(_, matched)| !matched) {
            if !emit(Tuple::Owned(left_nulls.iter().chain(r).cloned().collect()))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn set_op(
        &self,
        op: SetOp,
        all: bool,
        (left, right): (&Node, &Node),
        env: Option<&Env<'_>>,
        emit: Emit<'_>,
    ) -> Result<bool, EvalError> {
        if op == SetOp::Union && all {
            return Ok(self.run(left, env, emit)? && self.run(right, env, emit)?);
        }
        // How many rows of the right side are left to be cancelled or matched; for sets, whether the row was used.
        let mut counts: BTreeMap<Row, usize> = BTreeMap::new();
        if op != SetOp::Union {
            self.run(right, env, &mut |tuple| {
                *counts.entry(tuple.into_row()).or_default() += 1;
                Ok(true)
            })?;
        }
        let mut seen = BTreeSet::new();
        let mut take = |tuple: Tuple<'_>| {
            self.spend()?;
            let row = tuple.into_row();
            let found = match counts.get_mut(&row) {
                Some(0) | None => false,
                Some(count) => {
                    if all {
                        *count -= 1;
                    }
                    true
                }
            };
            let keep = match op {
                SetOp::Union => true,
                SetOp::Intersect => found,
                SetOp::Except => !found,
            };
            if !keep || !all && !seen.insert(row.clone()) {
                return Ok(true);
            }
            emit(Tuple::Owned(row))
        };
        let more = self.run(left, env, &mut take)?;
        if more && op == SetOp::Union {
            return self.run(right, env, &mut take);
        }
        Ok(more)
    }

    fn aggregate(
        &self,
        input: &Node,
        keys: &[Code],
        aggregates: &[AggregateCode],
        env: Option<&Env<'_>>,
        emit: Emit<'_>,
    ) -> Result<bool, EvalError> {
        let mut numbers: BTreeMap<Row, usize> = BTreeMap::new();
        let mut groups: Vec<(Row, Vec<Vec<Value>>)> = Vec::new();
        let new_group = |key: Row| (key, vec![Vec::new(); aggregates.len()]);
        if keys.is_empty() {
            groups.push(new_group(Row::new()));
        }
        self.run(input, env, &mut |tuple| {
            self.spend()?;
            let here = Env { cells: tuple.cells(), outer: env };
            let number = if keys.is_empty() {
                0
            } else {
                let key = self.values(keys, &here)?;
                if let Some(number) = numbers.get(&key) {
                    *number
                } else {
                    numbers.insert(key.clone(), groups.len());
                    groups.push(new_group(key));
                    groups.len() - 1
                }
            };
            for (aggregate, values) in aggregates.iter().zip(&mut groups[number].1) {
                if let Some(filter) = &aggregate.filter
                    && self.truth(filter, &here)? != Some(true)
                {
                    continue;
                }
                self.feed(&aggregate.function, &aggregate.args, &here, values)?;
            }
            Ok(true)
        })?;
        for (mut row, bags) in groups {
            for (aggregate, values) in aggregates.iter().zip(bags) {
                let AggregateCode { function, distinct, args, ty, .. } = aggregate;
                row.push(self.finish(function, *distinct, args.len(), values, ty)?);
            }
            if !emit(Tuple::Owned(row))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Notes if rows with these keys are ordered by where NULLs go, which engines differ on unless it is written.
    pub(super) fn note_nulls<T>(&self, order: &[SortKey], rows: &[T], key_of: impl Fn(&T) -> &[Value]) {
        let open = |(at, key): (usize, &SortKey)| {
            let mut nulls = rows.iter().map(|row| key_of(row)[at].is_null());
            key.nulls_first.is_none() && nulls.next().is_some_and(|first| nulls.any(|other| other != first))
        };
        if order.iter().enumerate().any(open) {
            self.note_opaque("order of NULLs");
        }
    }

    /// Adds the arguments for one row to the flat list of values, unless one is NULL and the function skips NULL.
    pub(super) fn feed(
        &self,
        function: &AggregateFunction,
        args: &[Code],
        env: &Env<'_>,
        values: &mut Vec<Value>,
    ) -> Result<(), EvalError> {
        if *function == AggregateFunction::CountStar || args.is_empty() {
            values.push(Value::Int(1));
            return Ok(());
        }
        let before = values.len();
        let skips_null = aggregate::skips_null(function);
        for arg in args {
            let value = self.value(arg, env)?;
            if value.is_null() && skips_null {
                values.truncate(before);
                break;
            }
            values.push(value.into_owned());
        }
        Ok(())
    }

    /// The rows with their sort keys, in order.
    pub(super) fn sort(
        &self,
        rows: Vec<Row>,
        order: &[SortKey],
        env: Option<&Env<'_>>,
    ) -> Result<Vec<(Row, Row)>, EvalError> {
        let mut keyed = Vec::with_capacity(rows.len());
        for row in rows {
            self.spend()?;
            let here = Env { cells: Cells::Values(&row), outer: env };
            let key: Result<Row, EvalError> =
                order.iter().map(|k| Ok(self.value(&k.code, &here)?.into_owned())).collect();
            keyed.push((key?, row));
        }
        keyed.sort_by(|(a, _), (b, _)| compare_keys(order, a, b));
        Ok(keyed)
    }
}

fn emit_all(rows: &[Row], emit: Emit<'_>) -> Result<bool, EvalError> {
    for row in rows {
        if !emit(Tuple::Borrowed(Cells::Values(row)))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The order that ORDER BY asks for. NULLs come last unless NULLS FIRST is written, also in descending order.
pub(super) fn compare_keys(order: &[SortKey], a: &[Value], b: &[Value]) -> Ordering {
    for (key, (x, y)) in order.iter().zip(a.iter().zip(b)) {
        let by_value = match (x.is_null(), y.is_null()) {
            (true, true) => Ordering::Equal,
            (x_null, y_null) if x_null || y_null => {
                if x_null == key.nulls_first.unwrap_or(false) {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
            _ if key.descending => y.cmp(x),
            _ => x.cmp(y),
        };
        if by_value.is_ne() {
            return by_value;
        }
    }
    Ordering::Equal
}

/// Fails if a cut before position `at` falls between rows that tie but differ: then which rows are kept is open.
fn check_cut(sorted: &[(Row, Row)], at: usize) -> Result<(), EvalError> {
    if at == 0 || at >= sorted.len() || sorted[at - 1].0 != sorted[at].0 {
        return Ok(());
    }
    let mut ties = sorted.iter().filter(|(key, _)| *key == sorted[at].0);
    if ties.all(|(_, row)| *row == sorted[at].1) {
        return Ok(());
    }
    Err(EvalError::NotDeterministic("LIMIT cuts between rows that tie in the order".to_owned()))
}
