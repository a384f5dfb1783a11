//! The places of a query where a rule can be applied, and how its result is put there.

use super::block::{Block, bare, column, expr};
use super::facts::{Col, Cx, Facts};
use crate::sql::print::parse_query;
use crate::sql::tree::with;
use crate::sql::types::SqlType;
use prover::walk;
use sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Query, Select, SelectItem, SetExpr,
    SetOperator, SetQuantifier, TableFactor, UnaryOperator, Value,
};
use std::ops::ControlFlow;

/// A rewriting rule.
pub(super) struct Rule {
    /// Its name in reports.
    pub(super) name: &'static str,
    /// How often it is tried, relative to the others.
    pub(super) weight: u32,
    /// Whether its results are always equivalent; the tests hold it to that, and nothing else relies on it.
    pub(super) sound: bool,
    pub(super) apply: Apply,
}

/// What a rule looks at. A rule returns the text of what comes in its place, or nothing if it does not fit.
pub(super) enum Apply {
    /// A SELECT without order, anywhere.
    Block(fn(&Block, &mut Cx<'_>) -> Option<String>),
    /// A set operation.
    Set(fn(&Operation, &mut Cx<'_>) -> Option<String>),
    /// The whole of a query or subquery without order.
    Body(fn(&SetExpr, &mut Cx<'_>) -> Option<String>),
    /// An expression.
    Expr(fn(&Expr, Position, &mut Cx<'_>) -> Option<String>),
}

/// A set operation by its parts.
pub(super) struct Operation {
    pub(super) op: SetOperator,
    pub(super) all: bool,
    pub(super) left: SetExpr,
    pub(super) right: SetExpr,
}

/// What becomes of an expression's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// Only whether it is true matters.
    Filter,
    /// All three truth values, or a value, matter.
    Value,
}

impl Rule {
    /// Applies the rule at one random place where it fits.
    pub(super) fn apply(&self, query: &Query, facts: &Facts, rng: &mut crate::rng::Rng) -> Option<Query> {
        let mut cx = Cx::new(facts, query, rng);
        let count = Walk::count(query, &self.apply, &mut cx);
        // Outer places first in every second application: rules that change the plan matter most there.
        let order = if cx.chance(50) { (0..count).collect() } else { cx.order(count) };
        order.into_iter().take(SITES_MAX).find_map(|site| {
            let mut query = query.clone();
            let mut walk = Walk { apply: &self.apply, cx: &mut cx, left: Some(site), seen: 0, changed: false };
            let _ = walk::walk(&mut query, &mut walk);
            walk.changed.then_some(query)
        })
    }
}

/// The most places at which one application of a rule is tried.
const SITES_MAX: usize = 16;

struct Walk<'w, 'a> {
    apply: &'w Apply,
    cx: &'w mut Cx<'a>,
    /// Places before the one to change; none while counting.
    left: Option<usize>,
    seen: usize,
    changed: bool,
}

impl<'w, 'a> Walk<'w, 'a> {
    fn count(query: &Query, apply: &'w Apply, cx: &'w mut Cx<'a>) -> usize {
        let mut walk = Walk { apply, cx, left: None, seen: 0, changed: false };
        let _ = walk::walk(&mut query.clone(), &mut walk);
        walk.seen
    }

    /// Whether this place is the one to change.
    fn here(&mut self) -> bool {
        self.seen += 1;
        self.left == Some(self.seen - 1)
    }

    fn body(&mut self, body: &mut SetExpr, under: bool, new_ctes: &mut Vec<sqlparser::ast::Cte>) -> ControlFlow<()> {
        let result = match (self.apply, &mut *body) {
            (Apply::Body(rule), _) if !under => self.here().then(|| rule(body, self.cx)),
            (Apply::Block(rule), SetExpr::Select(select)) => self.here().then(|| rule(&Block::read(select)?, self.cx)),
            (Apply::Set(rule), SetExpr::SetOperation { left, op, set_quantifier, right })
                if matches!(set_quantifier, SetQuantifier::None | SetQuantifier::Distinct | SetQuantifier::All) =>
            {
                let all = *set_quantifier == SetQuantifier::All;
                self.here().then(|| {
                    rule(
                        &Operation { op: *op, all, left: left.as_ref().clone(), right: right.as_ref().clone() },
                        self.cx,
                    )
                })
            }
            (Apply::Expr(_), SetExpr::Select(select)) => return self.exprs(select),
            _ => None,
        };
        if let Some(text) = result {
            if let Some(new) = text.and_then(|text| self.placed(&text, under, new_ctes)) {
                *body = new;
                self.changed = true;
            }
            return ControlFlow::Break(());
        }
        if let SetExpr::SetOperation { left, right, .. } = body {
            self.body(left, true, new_ctes)?;
            self.body(right, true, new_ctes)?;
        }
        ControlFlow::Continue(())
    }

    /// The tree of a rule's text, as an operand if it comes under a set operation: not every engine takes a set
    /// operation in parentheses there.
    fn placed(&mut self, text: &str, under: bool, new_ctes: &mut Vec<sqlparser::ast::Cte>) -> Option<SetExpr> {
        let query = parse_query(text).ok()?;
        if let Some(with) = query.with {
            new_ctes.extend(with.cte_tables);
        }
        if under && !matches!(query.body.as_ref(), SetExpr::Select(_)) {
            let wrapped = derived(&query.body, self.cx)?.1;
            return parse_query(&wrapped).ok().map(|q| *q.body);
        }
        Some(*query.body)
    }

    fn exprs(&mut self, select: &mut Select) -> ControlFlow<()> {
        for table in &mut select.from {
            for join in &mut table.joins {
                if let sqlparser::ast::JoinOperator::Join(c)
                | sqlparser::ast::JoinOperator::Inner(c)
                | sqlparser::ast::JoinOperator::Left(c)
                | sqlparser::ast::JoinOperator::Right(c)
                | sqlparser::ast::JoinOperator::FullOuter(c) = &mut join.join_operator
                    && let sqlparser::ast::JoinConstraint::On(on) = c
                {
                    self.expr(on, Position::Filter)?;
                }
            }
        }
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(e) | SelectItem::ExprWithAlias { expr: e, .. } = item {
                self.expr(e, Position::Value)?;
            }
        }
        for condition in select.selection.iter_mut().chain(&mut select.having) {
            self.expr(condition, Position::Filter)?;
        }
        ControlFlow::Continue(())
    }

    fn expr(&mut self, e: &mut Expr, position: Position) -> ControlFlow<()> {
        if let Expr::Nested(inner) = e {
            return self.expr(inner, position);
        }
        if self.here() {
            let Apply::Expr(rule) = self.apply else { return ControlFlow::Break(()) };
            if let Some(new) = rule(e, position, self.cx).and_then(|text| expr(&text)) {
                let atom = matches!(new, Expr::CompoundIdentifier(_) | Expr::Value(_) | Expr::Nested(_));
                *e = if atom { new } else { Expr::Nested(Box::new(new)) };
                self.changed = true;
            }
            return ControlFlow::Break(());
        }
        match e {
            Expr::BinaryOp { left, op, right } => {
                let inner =
                    if matches!(op, BinaryOperator::And | BinaryOperator::Or) { position } else { Position::Value };
                self.expr(left, inner)?;
                self.expr(right, inner)
            }
            Expr::IsTrue(e) | Expr::IsNotTrue(e) => self.expr(e, Position::Filter),
            Expr::UnaryOp { expr: e, .. }
            | Expr::IsNull(e)
            | Expr::IsNotNull(e)
            | Expr::IsFalse(e)
            | Expr::IsNotFalse(e)
            | Expr::InSubquery { expr: e, .. } => self.expr(e, Position::Value),
            Expr::Case { operand: None, conditions, else_result, .. } => {
                for when in conditions {
                    self.expr(&mut when.condition, Position::Filter)?;
                    self.expr(&mut when.result, position)?;
                }
                else_result.as_mut().map_or(ControlFlow::Continue(()), |e| self.expr(e, position))
            }
            Expr::Function(function) => {
                if let FunctionArguments::List(list) = &mut function.args {
                    for arg in &mut list.args {
                        if let FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) = arg {
                            self.expr(e, Position::Value)?;
                        }
                    }
                }
                function.filter.as_mut().map_or(ControlFlow::Continue(()), |e| self.expr(e, Position::Filter))
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

impl walk::Walk for Walk<'_, '_> {
    fn query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let ordered = query.order_by.is_some() || query.limit_clause.is_some();
        // The queries of a recursive WITH must keep their form, so nothing below one is looked at.
        let recursive = query.with.as_ref().is_some_and(|with| with.recursive);
        let below = if recursive { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        if ordered && !matches!(self.apply, Apply::Expr(_)) {
            return below;
        }
        let mut new_ctes = Vec::new();
        let flow = self.body(&mut query.body, false, &mut new_ctes);
        if self.changed {
            match &mut query.with {
                Some(with) => with.cte_tables.extend(new_ctes),
                None => query.with = with(new_ctes),
            }
        }
        if flow.is_break() { flow } else { below }
    }
}

/// `FROM (body) AS d`: the alias, a SELECT of all its columns, and their names.
pub(super) fn derived(body: &SetExpr, cx: &mut Cx<'_>) -> Option<(String, String, Vec<String>)> {
    let (inner, names) = named(body, cx)?;
    let d = cx.fresh("d");
    let text = format!("SELECT {} FROM ({inner}) AS {d}", of(&d, &names));
    Some((d, text, names))
}

/// The text of a query body whose columns have different names, and the names.
pub(super) fn named(body: &SetExpr, cx: &mut Cx<'_>) -> Option<(String, Vec<String>)> {
    let mut body = body.clone();
    let mut first = &mut body;
    while let SetExpr::SetOperation { left, .. } = first {
        first = left;
    }
    let SetExpr::Select(select) = first else { return None };
    let mut block = Block::read(select)?;
    let names = block.name_items(cx);
    *first = *parse_query(&block.sql()).ok()?.body;
    Some((body.to_string(), names))
}

/// `d.a, d.b` of `d` and the names.
pub(super) fn of(alias: &str, names: &[String]) -> String {
    names.iter().map(|n| format!("{alias}.{n}")).collect::<Vec<_>>().join(", ")
}

/// Whether an expression surely is a truth value.
pub(super) fn is_truth(e: &Expr, cx: &Cx<'_>) -> bool {
    match bare(e) {
        Expr::BinaryOp { op, .. } => matches!(
            op,
            BinaryOperator::And
                | BinaryOperator::Or
                | BinaryOperator::Eq
                | BinaryOperator::NotEq
                | BinaryOperator::Lt
                | BinaryOperator::LtEq
                | BinaryOperator::Gt
                | BinaryOperator::GtEq
        ),
        Expr::UnaryOp { op: UnaryOperator::Not, .. }
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::IsDistinctFrom(..)
        | Expr::IsNotDistinctFrom(..)
        | Expr::Between { .. }
        | Expr::InList { .. }
        | Expr::InSubquery { .. }
        | Expr::Exists { .. }
        | Expr::Like { .. } => true,
        Expr::Value(value) => matches!(value.value, Value::Boolean(_)),
        name @ Expr::CompoundIdentifier(_) => {
            let is_boolean = |c: &Col| c.ty == Some(SqlType::Boolean) && c.placeholder;
            let Some((_, name)) = column(name) else { return false };
            let found = |c: &&Col| c.name.eq_ignore_ascii_case(name);
            cx.facts.relations.iter().flat_map(|r| r.columns.iter().filter(found)).any(is_boolean)
        }
        _ => false,
    }
}

/// A qualifier for each table of a FROM clause that a rule wants to name anew.
pub(super) fn table_name(factor: &TableFactor) -> Option<(String, String)> {
    match factor {
        TableFactor::Table { name, alias, .. } => {
            let name = name.to_string();
            Some((name.clone(), alias.as_ref().map_or(name, |a| a.name.value.clone())))
        }
        _ => None,
    }
}
