//! One small change that most often makes a query mean something else.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Distinct, Expr, Function, GroupByExpr, JoinConstraint, JoinOperator, Query, SetExpr, SetOperator,
    SetQuantifier, TableFactor, UnaryOperator, Value,
};

use super::rewrite::{aggregated, arguments, comparison};
use super::schema::Schema;
use super::tree::{replace_expr, replace_query};
use super::{Rng, chance};
use crate::walk::{ON, Walk, walk};

/// Changes one random place; `false` if there was none.
pub(super) fn mutate(rng: &mut Rng, schema: &Schema, query: &mut Query) -> bool {
    if chance(rng, 35) && replace_query(rng, query, &|query, _| blocks(query)) {
        return true;
    }
    let text = query.to_string();
    let grouped = ["GROUP BY", "COUNT(", "SUM(", "MIN(", "MAX(", "AVG("].iter().any(|word| text.contains(word));
    let mut uses = Uses::default();
    let _ = walk(&mut query.clone(), &mut uses);
    // Another column beside groups might not be one of them.
    let columns = if grouped { BTreeMap::new() } else { uses.0 };
    replace_expr(rng, query, &|expr| expressions(expr, schema, &columns))
}

/// Table names by the names of their uses.
#[derive(Default)]
pub(super) struct Uses(pub(super) BTreeMap<String, String>);

impl Walk for Uses {
    fn table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, alias: Some(alias), .. } = factor {
            self.0.insert(alias.name.value.clone(), name.to_string());
        }
        ON
    }
}

fn expressions(expr: &Expr, schema: &Schema, uses: &BTreeMap<String, String>) -> Vec<String> {
    let not = |negated: bool| if negated { "" } else { "NOT " };
    match expr {
        Expr::Value(value) => constants(&value.value),
        Expr::CompoundIdentifier(parts) => {
            let [alias, column] = parts.as_slice() else { return Vec::new() };
            let table = uses.get(&alias.value).and_then(|name| schema.tables.iter().find(|t| t.name == *name));
            let Some(table) = table else { return Vec::new() };
            let ty = table.columns.iter().find(|c| c.name == column.value).map(|c| c.ty);
            let others = table.columns.iter().filter(|c| Some(c.ty) == ty && c.name != column.value);
            others.map(|c| format!("{alias}.{}", c.name)).collect()
        }
        Expr::BinaryOp { left, op, right } => binary(left, op, right),
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => vec![format!("({expr})")],
        Expr::IsNull(x) => vec![format!("({x} IS NOT NULL)")],
        Expr::IsNotNull(x) => vec![format!("({x} IS NULL)")],
        Expr::IsTrue(p) => vec![format!("({p} IS NOT FALSE)"), format!("({p} IS FALSE)")],
        Expr::IsFalse(p) => vec![format!("({p} IS NOT TRUE)"), format!("({p} IS TRUE)")],
        Expr::IsNotTrue(p) => vec![format!("({p} IS FALSE)"), format!("({p} IS NOT FALSE)")],
        Expr::IsNotFalse(p) => vec![format!("({p} IS TRUE)"), format!("({p} IS NOT TRUE)")],
        Expr::IsDistinctFrom(x, y) => vec![format!("({x} IS NOT DISTINCT FROM {y})"), format!("({x} <> {y})")],
        Expr::IsNotDistinctFrom(x, y) => vec![format!("({x} IS DISTINCT FROM {y})"), format!("({x} = {y})")],
        Expr::Between { expr: x, negated, low, high } => {
            vec![format!("({x} {}BETWEEN {low} AND {high})", not(*negated)), format!("({x} >= {low})")]
        }
        Expr::InList { expr: x, list, negated } => {
            let list: Vec<String> = list.iter().map(ToString::to_string).collect();
            let kept = if *negated { "NOT " } else { "" };
            vec![
                format!("({x} {}IN ({}))", not(*negated), list.join(", ")),
                format!("({x} {kept}IN ({}))", list[0]),
                format!("({x} {kept}IN ({}, NULL))", list.join(", ")),
            ]
        }
        Expr::InSubquery { expr: x, subquery, negated } => vec![format!("({x} {}IN ({subquery}))", not(*negated))],
        Expr::Exists { subquery, negated } => vec![format!("({}EXISTS ({subquery}))", not(*negated))],
        Expr::AnyOp { left, compare_op, right, .. } => changed(left, compare_op, right, "ANY", "ALL"),
        Expr::AllOp { left, compare_op, right } => changed(left, compare_op, right, "ALL", "ANY"),
        Expr::Function(function) => call(function),
        Expr::Case { operand: None, conditions, .. } => vec![format!("({})", conditions[0].result)],
        _ => Vec::new(),
    }
}

fn constants(value: &Value) -> Vec<String> {
    match value {
        Value::Number(text, _) => match text.parse::<u64>() {
            Ok(0) => vec!["1".to_owned(), "0.5".to_owned()],
            Ok(n) => vec![(n + 1).to_string(), (n - 1).to_string(), format!("{n}.5")],
            Err(_) => vec!["0.75".to_owned(), "1".to_owned()],
        },
        Value::SingleQuotedString(text) => {
            let other = if text == "x" { "'y'" } else { "'x'" };
            vec![other.to_owned()]
        }
        Value::Boolean(b) => vec![if *b { "FALSE" } else { "TRUE" }.to_owned()],
        _ => Vec::new(),
    }
}

fn binary(l: &Expr, op: &BinaryOperator, r: &Expr) -> Vec<String> {
    match op {
        BinaryOperator::And => vec![format!("({l})"), format!("({r})"), format!("({l} OR {r})")],
        BinaryOperator::Or => vec![format!("({l})"), format!("({r})"), format!("({l} AND {r})")],
        BinaryOperator::Plus => vec![format!("({l} - {r})"), format!("({l})")],
        BinaryOperator::Minus => vec![format!("({l} + {r})"), format!("({r} - {l})")],
        BinaryOperator::Multiply => vec![format!("({l} + {r})")],
        BinaryOperator::Lt => vec![format!("({l} <= {r})"), format!("({l} > {r})")],
        BinaryOperator::LtEq => vec![format!("({l} < {r})"), format!("({l} >= {r})")],
        BinaryOperator::Gt => vec![format!("({l} >= {r})"), format!("({l} = {r})")],
        BinaryOperator::GtEq => vec![format!("({l} > {r})"), format!("({l} <> {r})")],
        BinaryOperator::Eq => vec![format!("({l} <> {r})"), format!("({l} <= {r})")],
        BinaryOperator::NotEq => vec![format!("({l} = {r})"), format!("({l} > {r})")],
        _ => Vec::new(),
    }
}

fn changed(left: &Expr, op: &BinaryOperator, right: &Expr, word: &str, other: &str) -> Vec<String> {
    let (Some((negated, _)), Expr::Subquery(query)) = (comparison(op), right) else { return Vec::new() };
    vec![format!("({left} {op} {other} ({query}))"), format!("({left} {negated} {word} ({query}))")]
}

fn call(function: &Function) -> Vec<String> {
    let mut out = Vec::new();
    if function.filter.is_some() {
        let mut plain = function.clone();
        plain.filter = None;
        out.push(plain.to_string());
    }
    let distinct = function.to_string().contains("(DISTINCT ");
    let name = function.name.to_string().to_ascii_lowercase();
    if let [x] = arguments(function)[..] {
        out.extend(match name.as_str() {
            "count" if distinct => vec![format!("COUNT({x})")],
            "count" => vec![format!("COUNT(DISTINCT {x})"), "COUNT(*)".to_owned()],
            "sum" if distinct => vec![format!("SUM({x})")],
            "sum" => vec![format!("SUM(DISTINCT {x})"), format!("MAX({x})"), format!("COALESCE(SUM({x}), 0)")],
            "min" => vec![format!("MAX({x})")],
            "max" | "avg" => vec![format!("MIN({x})")],
            _ => Vec::new(),
        });
    }
    if let (true, [a, b]) = (name == "coalesce", &arguments(function)[..]) {
        out.extend([a.to_string(), format!("COALESCE({b}, {a})")]);
    }
    out
}

fn blocks(query: &Query) -> Vec<String> {
    let mut out = Vec::new();
    let mut copy = query.clone();
    match copy.body.as_mut() {
        SetExpr::Select(select) => {
            let before = select.clone();
            let ungrouped = matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty());
            let mut keep = |select: sqlparser::ast::Select| {
                let mut query = query.clone();
                *query.body = SetExpr::Select(Box::new(select));
                out.push(query.to_string());
            };
            if !ungrouped || !aggregated(&before.projection) {
                let mut select = (*before).clone();
                select.distinct = if select.distinct.is_some() { None } else { Some(Distinct::Distinct) };
                keep(select);
            }
            if before.selection.is_some() {
                let mut select = (*before).clone();
                select.selection = None;
                keep(select);
            }
            if before.having.is_some() && !ungrouped {
                let mut select = (*before).clone();
                select.having = None;
                keep(select);
            }
            for (t, table) in before.from.iter().enumerate() {
                for (j, join) in table.joins.iter().enumerate() {
                    for operator in operators(&join.join_operator, &join.relation) {
                        let mut select = (*before).clone();
                        select.from[t].joins[j].join_operator = operator;
                        keep(select);
                    }
                }
            }
        }
        SetExpr::SetOperation { op, set_quantifier, .. } => {
            let all = *set_quantifier == SetQuantifier::All;
            let (old, old_quantifier) = (*op, *set_quantifier);
            *set_quantifier = if all { SetQuantifier::None } else { SetQuantifier::All };
            out.push(copy.to_string());
            if let SetExpr::SetOperation { op, set_quantifier, .. } = copy.body.as_mut() {
                *set_quantifier = old_quantifier;
                *op = if old == SetOperator::Union { SetOperator::Intersect } else { SetOperator::Union };
                out.push(copy.to_string());
            }
        }
        _ => {}
    }
    out
}

/// The other kinds a join could be of.
fn operators(operator: &JoinOperator, relation: &TableFactor) -> Vec<JoinOperator> {
    let lateral = matches!(relation, TableFactor::Derived { lateral: true, .. });
    let full = |on: &JoinConstraint| {
        // Some engines have FULL JOIN for equalities only.
        let text = match on {
            JoinConstraint::On(condition) => condition.to_string(),
            _ => String::new(),
        };
        let plain =
            text.contains(" = ") && !text.contains(" OR ") && !text.contains(" AND ") && !text.contains("SELECT");
        (plain && !lateral).then(|| JoinOperator::FullOuter(on.clone()))
    };
    match operator {
        JoinOperator::Join(on) | JoinOperator::Inner(on) if !matches!(on, JoinConstraint::None) => {
            [JoinOperator::Left(on.clone())].into_iter().chain(full(on)).collect()
        }
        JoinOperator::Left(on) if lateral => vec![JoinOperator::Join(on.clone())],
        JoinOperator::Left(on) => {
            [JoinOperator::Join(on.clone()), JoinOperator::Right(on.clone())].into_iter().chain(full(on)).collect()
        }
        JoinOperator::Right(on) | JoinOperator::FullOuter(on) => {
            vec![JoinOperator::Join(on.clone()), JoinOperator::Left(on.clone())]
        }
        _ => Vec::new(),
    }
}
