//! Checks that a plan is well formed.

use crate::ir::{Aggregate, AggregateFunction, Child, Expr, JoinKind, OrderKey, Plan, Query, Schema, Type, Value};

type Checked<T> = Result<T, String>;

/// Checks every reference of a query (in range and of the right type, at every depth), the widths and types of its
/// nodes, and the restrictions that [`Plan`] and [`Expr`] state.
///
/// # Errors
/// The first thing that is wrong. A plan that passes may still mean something else than its text.
pub fn validate(schema: &Schema, query: &Query) -> Result<(), String> {
    let mut checker = Checker { schema, rows: Vec::new() };
    let types = checker.plan(&query.plan)?;
    if query.visible > types.len() {
        return Err(format!("{} visible columns of {}", query.visible, types.len()));
    }
    checker.in_row(types, |checker| checker.order(&query.order))
}

struct Checker<'a> {
    schema: &'a Schema,
    /// The rows in reach, outermost first.
    rows: Vec<Vec<Type>>,
}

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Checked<()> {
    if holds { Ok(()) } else { Err(what()) }
}

fn unify(a: &Type, b: &Type, what: &str) -> Checked<()> {
    ensure(a.unify(b).is_some(), || format!("{what} of {a} and {b}"))
}

fn fits(value: &Type, target: &Type) -> bool {
    target.unify(value).as_ref() == Some(target)
}

impl Checker<'_> {
    fn in_row<T>(&mut self, row: Vec<Type>, f: impl FnOnce(&mut Self) -> Checked<T>) -> Checked<T> {
        self.rows.push(row);
        let result = f(self);
        self.rows.pop();
        result
    }

    /// Checks a plan and returns the types of its columns.
    fn plan(&mut self, plan: &Plan) -> Checked<Vec<Type>> {
        match plan {
            Plan::Scan { table, types } => {
                let table = self.schema.tables.get(*table).ok_or("a scan of no table")?;
                ensure(table.types() == *types, || format!("a scan of {} with other types", table.name))?;
            }
            Plan::Values { types, rows } => {
                self.in_row(Vec::new(), |this| {
                    rows.iter().try_for_each(|row| {
                        ensure(row.len() == types.len(), || "VALUES of another width".to_owned())?;
                        row.iter().zip(types).try_for_each(|(e, ty)| this.typed(e, ty))
                    })
                })?;
            }
            Plan::Filter { input, condition } => {
                let row = self.plan(input)?;
                self.in_row(row, |this| this.typed(condition, &Type::Boolean))?;
            }
            Plan::Project { input, exprs } => {
                let row = self.plan(input)?;
                self.in_row(row, |this| this.exprs(exprs))?;
            }
            Plan::Join { kind, left, right, on, lateral } => {
                let mut row = self.plan(left)?;
                let right = if *lateral {
                    ensure(!matches!(kind, JoinKind::Right | JoinKind::Full), || format!("lateral {kind:?}"))?;
                    self.in_row(row.clone(), |this| this.plan(right))?
                } else {
                    self.plan(right)?
                };
                row.extend(right);
                self.in_row(row, |this| this.typed(on, &Type::Boolean))?;
            }
            Plan::SetOp { left, right, types, .. } => {
                for side in [left, right] {
                    let side = self.plan(side)?;
                    ensure(side.len() == types.len(), || "a set operation of other widths".to_owned())?;
                    let all = side.iter().zip(types).all(|(a, b)| fits(a, b));
                    ensure(all, || format!("a set operation of {side:?} as {types:?}"))?;
                }
            }
            Plan::Distinct(input) => {
                self.plan(input)?;
            }
            Plan::Aggregate { input, keys, aggregates } => {
                let row = self.plan(input)?;
                self.in_row(row, |this| {
                    this.exprs(keys)?;
                    aggregates.iter().try_for_each(|a| this.aggregate(a))
                })?;
            }
            Plan::Limit { input, order, .. } => {
                let row = self.plan(input)?;
                self.in_row(row, |this| this.order(order))?;
            }
            Plan::Window { input, functions } => {
                let row = self.plan(input)?;
                self.in_row(row, |this| {
                    functions.iter().try_for_each(|function| {
                        this.exprs(&function.args)?;
                        this.exprs(&function.partition)?;
                        this.order(&function.order)
                    })
                })?;
            }
        }
        Ok(plan.types())
    }

    fn aggregate(&mut self, aggregate: &Aggregate) -> Checked<()> {
        let Aggregate { function, distinct, args, filter, ty } = aggregate;
        self.exprs(args)?;
        filter.iter().try_for_each(|condition| self.typed(condition, &Type::Boolean))?;
        let arity = match function {
            AggregateFunction::CountStar => 0,
            AggregateFunction::Other(_) => args.len(),
            _ => 1,
        };
        ensure(args.len() == arity, || format!("{function:?} of {} arguments", args.len()))?;
        let ignores =
            matches!(function, AggregateFunction::CountStar | AggregateFunction::Min | AggregateFunction::Max);
        ensure(!(*distinct && ignores), || format!("{function:?} with DISTINCT"))?;
        let expected = match function {
            AggregateFunction::CountStar | AggregateFunction::Count => Some(Type::Integer),
            AggregateFunction::Avg if args[0].ty().domain() == Type::Integer => Some(Type::Decimal),
            // A number all the same.
            AggregateFunction::Sum if args[0].ty() == Type::Unknown => Some(Type::Integer),
            AggregateFunction::Sum | AggregateFunction::Min | AggregateFunction::Max | AggregateFunction::Avg => {
                Some(args[0].ty().domain())
            }
            AggregateFunction::Other(_) => None,
        };
        ensure(expected.is_none_or(|t| t == ty.domain()), || format!("{function:?} of type {ty}"))
    }

    fn order(&mut self, order: &[OrderKey]) -> Checked<()> {
        order.iter().try_for_each(|key| self.expr(&key.expr))
    }

    fn exprs(&mut self, exprs: &[Expr]) -> Checked<()> {
        exprs.iter().try_for_each(|e| self.expr(e))
    }

    fn typed(&mut self, expr: &Expr, ty: &Type) -> Checked<()> {
        self.expr(expr)?;
        ensure(fits(&expr.ty(), ty), || format!("{} where {ty} belongs", expr.ty()))
    }

    fn expr(&mut self, expr: &Expr) -> Checked<()> {
        match expr {
            Expr::Column { depth, index, ty } => {
                let row = self.rows.iter().rev().nth(*depth).ok_or_else(|| format!("no row at depth {depth}"))?;
                let found = row.get(*index).ok_or_else(|| format!("no column {index} at depth {depth}"))?;
                return ensure(found == ty, || format!("column {index} at depth {depth} is {found}, not {ty}"));
            }
            Expr::Literal(value, ty) => return literal(value, ty),
            Expr::And(parts) | Expr::Or(parts) => {
                return parts.iter().try_for_each(|part| self.typed(part, &Type::Boolean));
            }
            Expr::Not(part) | Expr::IsTruth(part, _) => return self.typed(part, &Type::Boolean),
            Expr::Compare(_, a, b) | Expr::Same(a, b) => unify(&a.ty(), &b.ty(), "a comparison")?,
            Expr::Arithmetic(_, a, b, ty) => {
                let fits = ty.is_numeric() && [a, b].iter().all(|e| e.ty().is_numeric() && fits(&e.ty(), ty));
                ensure(fits, || format!("arithmetic on {} and {} of type {ty}", a.ty(), b.ty()))?;
            }
            Expr::Case { branches, otherwise, ty } => {
                for (condition, value) in branches {
                    ensure(fits(&condition.ty(), &Type::Boolean), || format!("CASE on {}", condition.ty()))?;
                    ensure(fits(&value.ty(), ty), || format!("{} in a CASE of {ty}", value.ty()))?;
                }
                ensure(fits(&otherwise.ty(), ty), || format!("{} in a CASE of {ty}", otherwise.ty()))?;
            }
            Expr::Quantified { row, op: _, all: _, query } => {
                let types = query.types();
                ensure(types.len() == row.len() && !row.is_empty(), || "rows of different widths".to_owned())?;
                row.iter().zip(&types).try_for_each(|(e, ty)| unify(&e.ty(), ty, "a comparison"))?;
            }
            Expr::Scalar(query) => {
                let width = query.types().len();
                ensure(width == 1, || format!("a scalar subquery of {width} columns"))?;
            }
            Expr::IsNull(_) | Expr::Exists(_) | Expr::Cast { .. } | Expr::Call { .. } => {}
        }
        let mut result = Ok(());
        expr.for_each_child(&mut |child| {
            if result.is_ok() {
                result = match child {
                    Child::Expr(part) => self.expr(part),
                    Child::Plan(plan) => self.plan(plan).map(|_| ()),
                };
            }
        });
        result
    }
}

fn literal(value: &Value, ty: &Type) -> Checked<()> {
    let fits = match value {
        Value::Null => true,
        Value::Bool(_) => *ty == Type::Boolean,
        Value::Int(_) => matches!(ty.domain(), Type::Integer | Type::Decimal),
        Value::Number(n) => ty.domain() == Type::Decimal || ty.domain() == Type::Integer && n.is_integer(),
        Value::Double(_) => *ty == Type::Double,
        Value::Text(_) => matches!(ty, Type::Text | Type::Date | Type::Time | Type::Timestamp | Type::Other(_)),
    };
    ensure(fits, || format!("the literal {value} of type {ty}"))
}
