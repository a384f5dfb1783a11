//! WITH RECURSIVE whose number of rounds is known, because a column counts them: the union of its rounds.
//!
//! A round reads what the round before gave; the query is all of them, until one is empty (ISO/IEC 9075-2, 7.17). Engines agree on
//! that only where every row of a round comes of one row of the round before: SQLite gives a round one row at a time
//! (<https://www.sqlite.org/lang_with.html>), so there is no DISTINCT, aggregate, window or LIMIT in a round here.

use sqlparser::ast::{self, BinaryOperator, Expr as Ast, Value};

use crate::ir::SetOp;

use super::query::{Relation, rename};
use super::{Lowerer, Result, no};

/// More rounds than that make plans too large.
const MAX_ROUNDS: i64 = 8;

/// The parts of one.
struct Recursion<'a> {
    base: &'a ast::SetExpr,
    step: &'a ast::Select,
    /// Where the column is that counts.
    counter: usize,
    /// What it is in the base.
    first: i64,
    /// How many rounds follow the base; the one after these is empty.
    rounds: i64,
}

impl Lowerer<'_> {
    /// The relation of a query of a WITH RECURSIVE, if it is of this form. `at` is its place among the named queries.
    pub(super) fn bounded_recursion(&mut self, cte: &ast::Cte, at: usize) -> Result<Option<Relation>> {
        let Some(Recursion { base, step, counter, first, rounds }) = recursion(cte) else { return Ok(None) };
        let Relation { plan, mut names } = self.apart(|this| this.set_expr(base))?;
        rename(&cte.alias, &mut names)?;
        let types = plan.types();
        let mut all = plan.clone();
        let mut round = plan;
        // The step is looked at, too, if it is never taken.
        for number in first + 1..=first + rounds.max(1) {
            // What it computes is known, whatever is assumed of arithmetic.
            let mut step = step.clone();
            step.projection[counter] =
                ast::SelectItem::UnnamedExpr(Ast::value(Value::Number(number.to_string(), false)));
            let step = ast::SetExpr::Select(Box::new(step));
            (self.ctes[at].uses, self.ctes[at].relation) = (0, Some(Relation { plan: round, names: names.clone() }));
            let next = self.apart(|this| this.set_expr(&step))?;
            if self.ctes[at].uses != 1 || next.plan.types() != types {
                return no("WITH RECURSIVE");
            }
            if rounds == 0 {
                break;
            }
            round = next.plan;
            all = self.set_operation(SetOp::Union, true, all, round.clone())?;
        }
        self.ctes[at].relation = None;
        Ok(Some(Relation { plan: all, names }))
    }
}

fn recursion(cte: &ast::Cte) -> Option<Recursion<'_>> {
    let ast::Query {
        with: None,
        body,
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks,
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators,
    } = &*cte.query
    else {
        return None;
    };
    if !locks.is_empty() || !pipe_operators.is_empty() {
        return None;
    }
    let ast::SetExpr::SetOperation { left, op: ast::SetOperator::Union, set_quantifier, right } = &**body else {
        return None;
    };
    let (ast::SetExpr::Select(base), ast::SetExpr::Select(step)) = (&**left, &**right) else { return None };
    if *set_quantifier != ast::SetQuantifier::All || step.distinct.is_some() || step.top.is_some() {
        return None;
    }
    let name = own_name(step, &cte.alias.name.value)?;
    let items: Vec<&Ast> = step.projection.iter().map(item).collect::<Option<_>>()?;
    let columns: Vec<&str> = cte.alias.columns.iter().map(|column| column.name.value.as_str()).collect();
    if columns.len() != items.len() || base.projection.len() != items.len() {
        return None;
    }
    let is_alone = step.from.len() == 1 && step.from[0].joins.is_empty();
    let is_own = |expr: &Ast, at: usize| match expr {
        Ast::CompoundIdentifier(parts) => match &parts[..] {
            [table, column] => table.value.eq_ignore_ascii_case(name) && column.value.eq_ignore_ascii_case(columns[at]),
            _ => false,
        },
        // Another table could have a column of that name.
        Ast::Identifier(column) => is_alone && column.value.eq_ignore_ascii_case(columns[at]),
        _ => false,
    };
    // Nothing else is in a list, so no aggregate is.
    let counts = |at: usize| match items[at] {
        Ast::BinaryOp { left, op: BinaryOperator::Plus, right } => is_own(left, at) && number(right) == Some(1),
        _ => false,
    };
    // A column has the type that it has in the base, in which some engines cut what comes later.
    let keeps = |at: usize| {
        is_own(items[at], at)
            || item(&base.projection[at]).is_some_and(|first| same_column(base, first, step, items[at]))
    };
    let counter = (0..items.len()).find(|at| counts(*at))?;
    if (0..items.len()).any(|at| at != counter && !keeps(at)) {
        return None;
    }
    let first = number(item(&base.projection[counter])?)?;
    let bound = conjuncts(step.selection.as_ref()?).into_iter().find_map(|condition| match condition {
        Ast::BinaryOp { left, op: BinaryOperator::Lt, right } if is_own(left, counter) => number(right),
        Ast::BinaryOp { left, op: BinaryOperator::LtEq, right } if is_own(left, counter) => Some(number(right)? + 1),
        _ => None,
    })?;
    let rounds = (bound - first).max(0);
    (rounds <= MAX_ROUNDS).then_some(Recursion { base: left, step, counter, first, rounds })
}

/// The name of the query itself in FROM of its step, if it stands there first and nothing pads it.
fn own_name<'a>(step: &'a ast::Select, cte: &str) -> Option<&'a str> {
    let [only] = &step.from[..] else { return None };
    let ast::TableFactor::Table { name, alias, args: None, .. } = &only.relation else { return None };
    let [ast::ObjectNamePart::Identifier(table)] = &name.0[..] else { return None };
    let inner = |join: &ast::Join| {
        use ast::JoinOperator::{CrossJoin, Inner, Join, Left, LeftOuter};
        matches!(&join.join_operator, Join(_) | Inner(_) | CrossJoin(_) | Left(_) | LeftOuter(_))
    };
    let grouped = match &step.group_by {
        ast::GroupByExpr::Expressions(by, modifiers) => !by.is_empty() || !modifiers.is_empty(),
        ast::GroupByExpr::All(_) => true,
    };
    let plain = only.joins.iter().all(inner) && !grouped && step.having.is_none() && step.qualify.is_none();
    let name = match alias {
        Some(alias) if alias.columns.is_empty() => &alias.name.value,
        Some(_) => return None,
        None => &table.value,
    };
    (plain && table.value.eq_ignore_ascii_case(cte)).then_some(name)
}

fn item(item: &ast::SelectItem) -> Option<&Ast> {
    match item {
        ast::SelectItem::UnnamedExpr(expr) | ast::SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    }
}

/// Whether two queries read one column of one table.
fn same_column(base: &ast::Select, first: &Ast, step: &ast::Select, next: &Ast) -> bool {
    let (Ast::CompoundIdentifier(a), Ast::CompoundIdentifier(b)) = (first, next) else { return false };
    let ([table, column], [_, _]) = (&a[..], &b[..]) else { return false };
    let is_table = |factor: &ast::TableFactor| match factor {
        ast::TableFactor::Table { name, alias: None, .. } => name.to_string().eq_ignore_ascii_case(&table.value),
        _ => false,
    };
    let reads = |select: &ast::Select| {
        let joined = |from: &ast::TableWithJoins| {
            is_table(&from.relation) || from.joins.iter().any(|join| is_table(&join.relation))
        };
        select.from.iter().any(joined)
    };
    let same = |(a, b): (&ast::Ident, &ast::Ident)| a.value.eq_ignore_ascii_case(&b.value);
    !column.value.is_empty() && a.iter().zip(b).all(same) && reads(base) && reads(step)
}

/// A small whole number.
fn number(expr: &Ast) -> Option<i64> {
    let Ast::Value(value) = expr else { return None };
    let Value::Number(text, false) = &value.value else { return None };
    text.parse().ok().filter(|number| (0..1000).contains(number))
}

/// The parts of AND.
fn conjuncts(expr: &Ast) -> Vec<&Ast> {
    match expr {
        Ast::BinaryOp { left, op: BinaryOperator::And, right } => [conjuncts(left), conjuncts(right)].concat(),
        Ast::Nested(inner) => conjuncts(inner),
        expr => vec![expr],
    }
}
