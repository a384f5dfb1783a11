//! From plans to prepared plans.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::ir::number::Kind;
use crate::ir::{Aggregate, ArithmeticOp, CompareOp, Expr, OrderKey, Plan, TableId, Type};

use super::EvalError;
use super::calendar;
use super::cast::Target;
use super::code::{AggregateCode, Code, Domain, Node, SortKey, Sub};
use super::function::Function;
use super::window::WindowCode;

/// The row that expressions of one plan node stand in.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// The slot of each column; the identity without.
    pub slots: Option<Rc<[usize]>>,
    /// The input of the product that fills each slot.
    pub owners: Option<Rc<[u32]>>,
    /// The inputs that the compiled expressions read, one bit each.
    pub touched: u128,
}

#[derive(Debug)]
pub(super) struct Compiler {
    scopes: Vec<Scope>,
    /// The outermost scope read since it was last reset.
    lowest: usize,
    caches: usize,
    tables: BTreeSet<TableId>,
}

impl Default for Compiler {
    fn default() -> Self {
        Self { scopes: Vec::new(), lowest: usize::MAX, caches: 0, tables: BTreeSet::new() }
    }
}

impl Compiler {
    /// How many results of closed subqueries a run keeps.
    pub(super) fn caches(&self) -> usize {
        self.caches
    }

    /// The tables that it came across.
    pub(super) fn into_tables(self) -> BTreeSet<TableId> {
        self.tables
    }

    /// Whether a column of the outermost row was read.
    pub(super) fn reads_columns(&self) -> bool {
        self.lowest == 0
    }

    /// Runs `f` inside one more row.
    pub(super) fn within<T>(
        &mut self,
        scope: Scope,
        f: impl FnOnce(&mut Self) -> Result<T, EvalError>,
    ) -> Result<(T, u128), EvalError> {
        self.scopes.push(scope);
        let result = f(self);
        let touched = self.scopes.pop().map_or(0, |s| s.touched);
        Ok((result?, touched))
    }

    /// An expression over a row whose slots are its columns.
    pub(super) fn row_expr(&mut self, expr: &Expr) -> Result<Code, EvalError> {
        Ok(self.within(Scope::default(), |c| c.expr(expr))?.0)
    }

    fn row_exprs(&mut self, exprs: &[Expr]) -> Result<Vec<Code>, EvalError> {
        exprs.iter().map(|e| self.row_expr(e)).collect()
    }

    /// A plan inside the present scopes, kept if it reads none of them.
    pub(super) fn sub(&mut self, plan: &Plan) -> Result<Sub, EvalError> {
        self.closed(|c| c.node(plan))
    }

    fn closed(&mut self, f: impl FnOnce(&mut Self) -> Result<Node, EvalError>) -> Result<Sub, EvalError> {
        let before = std::mem::replace(&mut self.lowest, usize::MAX);
        let node = f(self)?;
        let closed = self.lowest >= self.scopes.len();
        self.lowest = self.lowest.min(before);
        let cache = (closed && !matches!(node, Node::Table(_))).then(|| {
            self.caches += 1;
            self.caches - 1
        });
        Ok(Sub { node, cache })
    }

    pub(super) fn node(&mut self, plan: &Plan) -> Result<Node, EvalError> {
        Ok(match plan {
            Plan::Scan { table, .. } => {
                self.tables.insert(*table);
                Node::Table(*table)
            }
            Plan::Values { rows, types } => {
                let row = |c: &mut Self, row: &Vec<Expr>| {
                    row.iter().zip(types).map(|(e, ty)| c.expr_as(e, ty)).collect::<Result<Vec<_>, _>>()
                };
                let rows = rows.iter().map(|r| Ok(self.within(Scope::default(), |c| row(c, r))?.0));
                Node::Values(rows.collect::<Result<_, EvalError>>()?)
            }
            Plan::Join { kind: crate::ir::JoinKind::Full, left, right, on, .. } => {
                let (left_width, right_width) = (width(left), width(right));
                let (left, right) = (Box::new(self.sub(left)?), Box::new(self.sub(right)?));
                Node::Full { left, right, left_width, right_width, on: self.row_expr(on)? }
            }
            Plan::Filter { .. } | Plan::Project { .. } | Plan::Join { .. } => self.product(plan)?,
            Plan::SetOp { op, all, left, right, .. } => {
                let (left, right) = (Box::new(self.node(left)?), Box::new(self.node(right)?));
                Node::SetOp { op: *op, all: *all, left, right }
            }
            Plan::Distinct(input) => Node::Distinct(Box::new(self.node(input)?)),
            Plan::Aggregate { input, keys, aggregates } => Node::Aggregate {
                input: Box::new(self.node(input)?),
                keys: self.row_exprs(keys)?,
                aggregates: aggregates.iter().map(|a| self.aggregate(a)).collect::<Result<_, _>>()?,
            },
            Plan::Limit { input, order, limit, offset } => Node::Limit {
                input: Box::new(self.node(input)?),
                order: self.order(order)?,
                limit: *limit,
                offset: *offset,
                any: false,
            },
            Plan::Window { input, functions } => {
                let input = Box::new(self.node(input)?);
                let functions = functions.iter().map(|f| {
                    let (args, partition) = (self.row_exprs(&f.args)?, self.row_exprs(&f.partition)?);
                    WindowCode::new(f, args, partition, self.order(&f.order)?)
                });
                Node::Window { functions: functions.collect::<Result<_, _>>()?, input }
            }
        })
    }

    fn aggregate(&mut self, aggregate: &Aggregate) -> Result<AggregateCode, EvalError> {
        Ok(AggregateCode {
            function: aggregate.function.clone(),
            distinct: aggregate.distinct,
            args: self.row_exprs(&aggregate.args)?,
            filter: aggregate.filter.as_ref().map(|f| self.row_expr(f)).transpose()?,
            ty: aggregate.ty.domain(),
        })
    }

    pub(super) fn order(&mut self, keys: &[OrderKey]) -> Result<Vec<SortKey>, EvalError> {
        let key = |k: &OrderKey| {
            Ok(SortKey { code: self.row_expr(&k.expr)?, descending: k.descending, nulls_first: k.nulls_first })
        };
        keys.iter().map(key).collect()
    }

    /// A plan of which only the emptiness matters: what it projects is not computed and which rows a LIMIT keeps does
    /// not make it indeterminate.
    fn existence(&mut self, plan: &Plan) -> Result<Node, EvalError> {
        match plan {
            Plan::Project { input, .. } | Plan::Distinct(input) => self.existence(input),
            Plan::Limit { input, limit, offset, .. } => {
                let input = Box::new(self.node(input)?);
                Ok(Node::Limit { input, order: Vec::new(), limit: *limit, offset: *offset, any: true })
            }
            _ => self.node(plan),
        }
    }

    fn expr_as(&mut self, expr: &Expr, wanted: &Type) -> Result<Code, EvalError> {
        let mut code = self.expr(expr)?;
        // A function nothing is known about returns what its context can use.
        if let Code::Call { ty, .. } = &mut code
            && *ty == Type::Unknown
        {
            *ty = wanted.clone();
        }
        Ok(code)
    }

    fn pair(&mut self, a: &Expr, b: &Expr) -> Result<(Box<Code>, Box<Code>), EvalError> {
        let ty = a.ty().unify(&b.ty()).unwrap_or(Type::Unknown);
        Ok((Box::new(self.expr_as(a, &ty)?), Box::new(self.expr_as(b, &ty)?)))
    }

    fn truth(&mut self, expr: &Expr) -> Result<Code, EvalError> {
        self.expr_as(expr, &Type::Boolean)
    }

    pub(super) fn expr(&mut self, expr: &Expr) -> Result<Code, EvalError> {
        Ok(match expr {
            Expr::Column { depth, index, .. } => {
                let Some(at) = self.scopes.len().checked_sub(depth + 1) else {
                    return Err(EvalError::Unsupported("a column of a row that is not there".to_owned()));
                };
                self.lowest = self.lowest.min(at);
                let scope = &mut self.scopes[at];
                let slot = scope.slots.as_ref().map_or(Some(*index), |slots| slots.get(*index).copied());
                let slot = slot.ok_or_else(|| EvalError::Unsupported("a column that is not there".to_owned()))?;
                if let Some(owners) = &scope.owners {
                    scope.touched |= 1 << owners[slot];
                }
                Code::Column { depth: *depth, slot }
            }
            Expr::Literal(value, _) => Code::Literal(value.clone()),
            Expr::And(parts) => Code::And(parts.iter().map(|p| self.truth(p)).collect::<Result<_, _>>()?),
            Expr::Or(parts) => Code::Or(parts.iter().map(|p| self.truth(p)).collect::<Result<_, _>>()?),
            Expr::Not(a) => Code::Not(Box::new(self.truth(a)?)),
            Expr::Compare(op, a, b) => {
                let (a, b) = self.pair(a, b)?;
                Code::Compare(*op, a, b)
            }
            Expr::Same(a, b) => {
                let (a, b) = self.pair(a, b)?;
                Code::Same(a, b)
            }
            Expr::IsNull(a) => Code::IsNull(Box::new(self.expr(a)?)),
            Expr::IsTruth(a, wanted) => Code::IsTruth(Box::new(self.truth(a)?), *wanted),
            Expr::Arithmetic(op, a, b, ty) => {
                let domain = match ty {
                    Type::Integer => Domain::Integer,
                    Type::Decimal => Domain::Exact,
                    Type::Double => Domain::Double,
                    Type::Number(number) if number.has_float() => Domain::Mixed,
                    _ => Domain::ByValue,
                };
                Code::Arithmetic(*op, domain, Box::new(self.expr_as(a, ty)?), Box::new(self.expr_as(b, ty)?))
            }
            Expr::Case { branches, otherwise, ty } => Code::Case {
                branches: branches.iter().map(|(c, v)| Ok((self.truth(c)?, self.expr_as(v, ty)?))).collect::<Result<
                    _,
                    EvalError,
                >>(
                )?,
                otherwise: Box::new(self.expr_as(otherwise, ty)?),
            },
            Expr::Cast { value, to, target } => {
                // A moved date is a date in some engines and a timestamp in others, which shows in its text only.
                let is_moved =
                    matches!(&**value, Expr::Call { name, args, .. } if calendar::shift(name, args).is_some());
                let is_moved = is_moved || value.ty() == Type::Moment;
                let from = if is_moved && *to == Type::Text { Type::Other("moment".to_owned()) } else { value.ty() };
                Code::Cast { target: Target::new(&from, to, target), value: Box::new(self.expr(value)?) }
            }
            Expr::Call { name, args, ty } if name == "mod" && is_remainder(args) => {
                let (a, b) = (self.expr_as(&args[0], ty)?, self.expr_as(&args[1], ty)?);
                Code::Arithmetic(ArithmeticOp::Rem, Domain::Exact, Box::new(a), Box::new(b))
            }
            Expr::Call { name, args, ty } => {
                let (function, args) = match calendar::shift(name, args) {
                    Some((shift, moved)) => (Some(Function::Shift(shift)), std::slice::from_ref(moved)),
                    None => (Function::of_call(name, args), args.as_slice()),
                };
                // The text of a moved date is a date's in some engines and a timestamp's in others.
                let shows = args.iter().any(|arg| arg.ty() == Type::Moment);
                let function = function.filter(|function| !(shows && function.reads_text()));
                let is_mixed =
                    |ty: &Type| *ty != Type::Double && ty.as_number().is_some_and(crate::ir::number::Number::has_float);
                let mixed = is_mixed(ty) || args.iter().any(|arg| is_mixed(&arg.ty()));
                let is_ratio = |ty: &Type| ty.as_number().is_some_and(|number| number.kinds.contains(&Kind::Ratio));
                let ratio = is_ratio(ty) || args.iter().any(|arg| is_ratio(&arg.ty()));
                let args = args.iter().map(|a| self.expr(a)).collect::<Result<_, _>>()?;
                Code::Call { function, name: name.clone(), args, ty: ty.domain(), mixed, ratio }
            }
            Expr::Exists(plan) => Code::Exists(Box::new(self.closed(|c| c.existence(plan))?)),
            Expr::Scalar(plan) => Code::Scalar(Box::new(self.sub(plan)?)),
            Expr::Quantified { row, op, all, query } => {
                if row.len() != width(query) {
                    return Err(EvalError::Unsupported("rows of different widths in a comparison".to_owned()));
                }
                let rows_compare = matches!((op, all), (CompareOp::Eq, false) | (CompareOp::Ne, true));
                if row.len() > 1 && !rows_compare {
                    return Err(EvalError::Unsupported("a comparison of rows by order".to_owned()));
                }
                let types = query.types();
                let row = row.iter().zip(&types).map(|(e, ty)| self.expr_as(e, ty)).collect::<Result<_, _>>()?;
                Code::Quantified { row, op: *op, all: *all, query: Box::new(self.sub(query)?) }
            }
        })
    }
}

/// Whether these are the arguments of a remainder.
fn is_remainder(args: &[Expr]) -> bool {
    args.len() == 2 && args.iter().all(|a| a.ty().is_numeric())
}

/// The number of columns of a plan.
pub(super) fn width(plan: &Plan) -> usize {
    match plan {
        Plan::Scan { types, .. } | Plan::Values { types, .. } | Plan::SetOp { types, .. } => types.len(),
        Plan::Filter { input, .. } | Plan::Distinct(input) | Plan::Limit { input, .. } => width(input),
        Plan::Project { exprs, .. } => exprs.len(),
        Plan::Join { kind, left, right, .. } => {
            use crate::ir::JoinKind::{Anti, Semi};
            width(left) + if matches!(kind, Semi | Anti) { 0 } else { width(right) }
        }
        Plan::Aggregate { keys, aggregates, .. } => keys.len() + aggregates.len(),
        Plan::Window { input, functions } => width(input) + functions.len(),
    }
}
