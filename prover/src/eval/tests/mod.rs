mod calendar;
mod functions;
mod relations;
mod scalars;
mod windows;

use std::collections::BTreeSet;

use num_rational::BigRational;

use super::*;
use crate::ir::{CompareOp, JoinKind, OrderKey, Plan, Type};

const FUEL: u64 = 100_000;

/// A cell of a test table.
trait Cell {
    fn value(self) -> Value;
}

impl Cell for i64 {
    fn value(self) -> Value {
        Value::int(self)
    }
}

impl Cell for Option<i64> {
    fn value(self) -> Value {
        self.map_or(Value::Null, Value::int)
    }
}

impl Cell for &str {
    fn value(self) -> Value {
        Value::Text(self.to_owned())
    }
}

impl Cell for bool {
    fn value(self) -> Value {
        Value::Bool(self)
    }
}

impl Cell for Value {
    fn value(self) -> Value {
        self
    }
}

macro_rules! row {
    ($($cell:expr),*) => { vec![$(Cell::value($cell)),*] };
}
use row;

const N: Option<i64> = None;

fn db(tables: Vec<Vec<Row>>) -> Database {
    Database { tables }
}

/// Table number `table` with `width` integer columns.
fn scan(table: usize, width: usize) -> Plan {
    Plan::Scan { table, types: vec![Type::Integer; width] }
}

fn col(index: usize) -> Expr {
    Expr::column(index, Type::Integer)
}

/// A column of a row further out.
fn outer(depth: usize, index: usize) -> Expr {
    Expr::Column { depth, index, ty: Type::Integer }
}

fn int(n: i64) -> Expr {
    Expr::int(n)
}

fn text(t: &str) -> Expr {
    Expr::Literal(Value::Text(t.to_owned()), Type::Text)
}

fn null() -> Expr {
    Expr::null(Type::Integer)
}

fn lit(value: Value) -> Expr {
    let ty = match &value {
        Value::Null => Type::Unknown,
        Value::Bool(_) => Type::Boolean,
        Value::Int(_) => Type::Integer,
        Value::Number(_) => Type::Decimal,
        Value::Double(_) => Type::Double,
        Value::Text(_) => Type::Text,
    };
    Expr::Literal(value, ty)
}

fn decimal(numerator: i64, denominator: i64) -> Value {
    Value::number(BigRational::new(numerator.into(), denominator.into()))
}

fn compare(op: CompareOp, a: Expr, b: Expr) -> Expr {
    Expr::Compare(op, Box::new(a), Box::new(b))
}

fn eq(a: Expr, b: Expr) -> Expr {
    compare(CompareOp::Eq, a, b)
}

fn join(kind: JoinKind, left: Plan, right: Plan, on: Expr) -> Plan {
    Plan::Join { kind, left: Box::new(left), right: Box::new(right), on, lateral: false }
}

fn cross(left: Plan, right: Plan) -> Plan {
    join(JoinKind::Inner, left, right, Expr::bool(true))
}

fn asc(expr: Expr) -> OrderKey {
    OrderKey { expr, descending: false, nulls_first: None }
}

fn desc(expr: Expr) -> OrderKey {
    OrderKey { expr, descending: true, nulls_first: None }
}

fn nulls_last(key: OrderKey) -> OrderKey {
    OrderKey { nulls_first: Some(false), ..key }
}

fn query(plan: Plan) -> Query {
    let visible = plan.types().len();
    Query { plan, visible, order: Vec::new(), assumptions: BTreeSet::new() }
}

fn run(plan: Plan, db: &Database) -> Result<Vec<Row>, EvalError> {
    let outcome = evaluate(&query(plan), db, 1, FUEL)?;
    assert!(outcome.opaque.is_empty(), "{:?}", outcome.opaque);
    Ok(outcome.rows)
}

#[track_caller]
fn expect(plan: Plan, db: &Database, rows: &[Row]) {
    let found = run(plan, db).unwrap();
    assert!(same_bag(&found, rows), "{found:?} instead of {rows:?}");
}

/// The value of an expression without columns, and whether it rests on an arbitrary meaning.
fn value_of(expr: Expr) -> Result<(Value, bool), EvalError> {
    let ty = expr.ty();
    let plan = Plan::Values { types: vec![ty], rows: vec![vec![expr]] };
    let outcome = evaluate(&query(plan), &Database::default(), 1, FUEL)?;
    Ok((outcome.rows[0][0].clone(), !outcome.opaque.is_empty()))
}

#[track_caller]
fn expect_opaque(expr: Expr) {
    assert!(matches!(value_of(expr), Ok((_, true))));
}

fn call(name: &str, args: Vec<Expr>, ty: Type) -> Expr {
    Expr::Call { name: name.to_owned(), args, ty }
}

fn cast(value: Expr, to: Type, target: &str) -> Expr {
    Expr::Cast { value: Box::new(value), to, target: target.to_owned() }
}

#[track_caller]
fn expect_value(expr: Expr, value: impl Cell) {
    assert_eq!(value_of(expr), Ok((value.value(), false)));
}
