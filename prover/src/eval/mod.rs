//! What a plan means: the bag of rows it returns on a concrete database.
//!
//! This is the specification of the other parts. It is written for many tiny databases: a query is prepared once into
//! [`code`], joins bind one table after the other and test every condition as soon as its columns are bound, and a
//! subquery that does not depend on an outer row runs once.

mod aggregate;
mod calendar;
mod cast;
mod code;
mod compile;
mod expr;
mod function;
mod machine;
mod number;
mod opaque;
mod product;
#[cfg(test)]
mod tests;
mod window;

use std::collections::BTreeSet;

use crate::ir::{Expr, Query, TableId, Value};

pub(crate) use cast::is_date;
use code::{Code, Node, SortKey};
use compile::Compiler;
use machine::{Cells, Env, Machine};

/// A row of values.
pub type Row = Vec<Value>;

/// The rows of every table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Database {
    /// Parallel to the tables of the schema.
    pub tables: Vec<Vec<Row>>,
}

/// Bounds of one evaluation. Repeatable: they are counted, not timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// One unit for each row combination looked at and each expression evaluated.
    pub fuel: u64,
}

/// Why a query has no result on a database.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// `/` or `%` by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// A scalar subquery with more than one row.
    #[error("a scalar subquery returned more than one row")]
    ScalarSubqueryRows,
    /// The evaluation took more steps than allowed.
    #[error("out of fuel")]
    OutOfFuel,
    /// The standard leaves the result open.
    #[error("not deterministic: {0}")]
    NotDeterministic(String),
    /// A value that cannot be converted.
    #[error("cannot convert {0}")]
    Cast(String),
    /// A construct or a mix of types without a meaning here.
    #[error("unsupported {0}")]
    Unsupported(String),
}

/// The result of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The visible columns. If the query has an outermost ORDER BY, in one of the orders that it allows.
    pub rows: Vec<Row>,
    /// Whether the query has an outermost ORDER BY.
    pub ordered: bool,
    /// Functions, casts and aggregates that were given an arbitrary meaning on the way, and what engines decide
    /// differently: `/` for a whole quotient that was cut, `%` for the sign of a remainder, `order of NULLs` for an
    /// order that rests on the place of NULLs and does not say it.
    pub opaque: BTreeSet<String>,
    /// Whether arithmetic, a sum or an average gave a number that is not a whole one of 64 bits: engines may round it, or
    /// not hold it.
    pub inexact: bool,
}

/// A query made ready to run on many databases.
#[derive(Debug)]
pub struct Prepared {
    node: Node,
    order: Vec<SortKey>,
    visible: usize,
    caches: usize,
    tables: BTreeSet<TableId>,
}

impl Prepared {
    /// Fails if the query has a part without a meaning here.
    pub fn new(query: &Query) -> Result<Self, EvalError> {
        let mut compiler = Compiler::default();
        let node = compiler.node(&query.plan)?;
        let order = compiler.order(&query.order)?;
        let caches = compiler.caches();
        Ok(Self { node, order, visible: query.visible, caches, tables: compiler.into_tables() })
    }

    /// The tables that the query reads.
    pub fn tables(&self) -> &BTreeSet<TableId> {
        &self.tables
    }

    /// Runs the query. Equal `meaning_seed`s give unknown functions equal meanings.
    pub fn run(&self, db: &Database, meaning_seed: u64, limits: Limits) -> Result<Outcome, EvalError> {
        let machine = Machine::new(db, meaning_seed, limits.fuel, self.caches);
        let mut rows = machine.collect(&self.node, None)?;
        if !self.order.is_empty() {
            rows = machine.sort(rows, &self.order, None)?.into_iter().map(|(_, row)| row).collect();
        }
        rows.iter_mut().for_each(|row| row.truncate(self.visible));
        let inexact = machine.is_inexact();
        Ok(Outcome { rows, ordered: !self.order.is_empty(), opaque: machine.into_opaque(), inexact })
    }
}

/// The bag of rows that `query` returns on `db`. `meaning_seed` chooses the meaning of unknown functions.
pub fn evaluate(query: &Query, db: &Database, meaning_seed: u64, fuel: u64) -> Result<Outcome, EvalError> {
    Prepared::new(query)?.run(db, meaning_seed, Limits { fuel })
}

/// A condition on one row, such as a CHECK, made ready to be tested on many rows.
#[derive(Debug)]
pub struct Condition {
    code: Code,
    caches: usize,
}

impl Condition {
    /// `expr` refers to the row at depth 0.
    pub fn new(expr: &Expr) -> Result<Self, EvalError> {
        let mut compiler = Compiler::default();
        let code = compiler.row_expr(expr)?;
        Ok(Self { code, caches: compiler.caches() })
    }

    /// The truth value for `row` (`None` is NULL), and whether it rests on an arbitrary meaning.
    pub fn test(&self, row: &[Value], db: &Database, meaning_seed: u64) -> Result<(Option<bool>, bool), EvalError> {
        let machine = Machine::new(db, meaning_seed, 10_000, self.caches);
        let truth = machine.truth(&self.code, &Env { cells: Cells::Values(row), outer: None })?;
        Ok((truth, !machine.into_opaque().is_empty()))
    }
}

/// The value of an expression without columns, or `None` if it has none or rests on an arbitrary meaning.
pub fn constant(expr: &Expr) -> Option<Value> {
    let db = Database::default();
    let mut compiler = Compiler::default();
    let code = compiler.row_expr(expr).ok()?;
    if compiler.reads_columns() {
        return None;
    }
    let machine = Machine::new(&db, 0, 1_000, compiler.caches());
    let value = machine.value(&code, &Env { cells: Cells::Values(&[]), outer: None }).ok()?.into_owned();
    machine.into_opaque().is_empty().then_some(value)
}

/// Whether two bags of rows are the same: numbers by value whatever their type, NULL equal to NULL, and doubles up to
/// the rounding that a different order of summing can cause.
pub fn same_bag(a: &[Row], b: &[Row]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let (mut left, mut right): (Vec<&Row>, Vec<&Row>) = (a.iter().collect(), b.iter().collect());
    left.sort_unstable();
    right.sort_unstable();
    if left.iter().zip(&right).all(|(l, r)| same_row(l, r)) {
        return true;
    }
    let has_double = |rows: &[Row]| rows.iter().flatten().any(|v| matches!(v, Value::Double(_)));
    if !has_double(a) && !has_double(b) {
        return false;
    }
    // Doubles that are only nearly equal can sort differently on the two sides.
    for row in left {
        let Some(at) = right.iter().position(|r| same_row(row, r)) else { return false };
        right.swap_remove(at);
    }
    true
}

fn same_row(a: &[Value], b: &[Value]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| same_value(x, y))
}

fn same_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Double(_), _) | (_, Value::Double(_)) => match (a.to_double(), b.to_double()) {
            #[expect(clippy::float_cmp, reason = "equal infinities have no difference to measure")]
            (Some(x), Some(y)) => x == y || (x - y).abs() <= 1e-9 * x.abs().max(y.abs()),
            _ => false,
        },
        _ => a == b,
    }
}
