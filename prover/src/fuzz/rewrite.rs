//! Rewrites of parsed queries that are often, not always, equivalences: the wrong ones are the classic mistakes.

use sqlparser::ast::{
    BinaryOperator, Distinct, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr,
    JoinConstraint, JoinOperator, Query, Select, SelectItem, SetExpr, SetOperator, SetQuantifier, TableFactor,
    UnaryOperator,
};

use super::tree::{parse_expr, replace_expr, replace_query};
use super::{Rng, chance};

/// Changes one random place.
pub(super) fn step(rng: &mut Rng, query: &mut Query) -> bool {
    if chance(rng, 40) { replace_query(rng, query, &blocks) } else { replace_expr(rng, query, &expressions) }
}

/// The negation and the mirror image of a comparison.
pub(super) fn comparison(op: &BinaryOperator) -> Option<(&'static str, &'static str)> {
    Some(match op {
        BinaryOperator::Eq => ("<>", "="),
        BinaryOperator::NotEq => ("=", "<>"),
        BinaryOperator::Lt => (">=", ">"),
        BinaryOperator::LtEq => (">", ">="),
        BinaryOperator::Gt => ("<=", "<"),
        BinaryOperator::GtEq => ("<", "<="),
        _ => return None,
    })
}

/// The plain arguments of a function call.
pub(super) fn arguments(function: &Function) -> Vec<&Expr> {
    let FunctionArguments::List(list) = &function.args else { return Vec::new() };
    let plain = list.args.iter().map(|a| match a {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => Some(e),
        _ => None,
    });
    plain.collect::<Option<Vec<_>>>().unwrap_or_default()
}

fn expressions(expr: &Expr) -> Vec<String> {
    match expr {
        Expr::BinaryOp { left, op, right } => binary(left, op, right),
        Expr::UnaryOp { op: UnaryOperator::Not, expr: p } => {
            vec![format!("({p} IS FALSE)"), format!("({p} = FALSE)"), format!("({p} IS NOT TRUE)")]
        }
        Expr::IsNull(x) => vec![format!("(NOT ({x} IS NOT NULL))"), format!("(({x} = {x}) IS NULL)")],
        Expr::IsNotNull(x) => vec![format!("(NOT ({x} IS NULL))"), format!("({x} = {x})")],
        Expr::IsTrue(p) => {
            vec![format!("({p} AND ({p} IS NOT NULL))"), format!("COALESCE({p}, FALSE)"), format!("({p})")]
        }
        Expr::IsNotTrue(p) => vec![format!("(({p} IS FALSE) OR ({p} IS NULL))"), format!("(NOT {p})")],
        Expr::IsFalse(p) => vec![format!("(NOT COALESCE({p}, TRUE))"), format!("(NOT {p})")],
        Expr::IsNotFalse(p) => vec![format!("COALESCE({p}, TRUE)"), format!("({p} OR ({p} IS NULL))")],
        Expr::IsDistinctFrom(x, y) => vec![format!("(NOT ({x} IS NOT DISTINCT FROM {y}))"), format!("({x} <> {y})")],
        Expr::IsNotDistinctFrom(x, y) => {
            vec![format!("({x} = {y} OR ({x} IS NULL AND {y} IS NULL))"), format!("({x} = {y})")]
        }
        Expr::Between { expr: x, negated, low, high } => {
            if *negated {
                vec![format!("({x} < {low} OR {x} > {high})"), format!("(NOT ({x} BETWEEN {low} AND {high}))")]
            } else {
                vec![format!("({x} >= {low} AND {x} <= {high})"), format!("({x} BETWEEN {high} AND {low})")]
            }
        }
        Expr::InList { expr: x, list, negated } => {
            let (op, word) = if *negated { ("<>", " AND ") } else { ("=", " OR ") };
            let parts: Vec<String> = list.iter().map(|v| format!("{x} {op} {v}")).collect();
            let mut turned: Vec<String> = list.iter().map(ToString::to_string).collect();
            turned.reverse();
            let not = if *negated { "NOT " } else { "" };
            vec![format!("({})", parts.join(word)), format!("({x} {not}IN ({}))", turned.join(", "))]
        }
        Expr::InSubquery { expr: x, subquery, negated } => {
            let (word, quantified) = if *negated { ("NOT ", "<> ALL") } else { ("", "= ANY") };
            let mut out = vec![format!("({x} {quantified} ({subquery}))")];
            if let Some(inner) = with_condition(subquery, |item| format!("({x} = {item})")) {
                out.push(format!("({word}EXISTS ({inner}))"));
            }
            if *negated && let Some(inner) = with_condition(subquery, |item| format!("(({x} = {item}) IS NOT FALSE)")) {
                out.push(format!("(NOT EXISTS ({inner}))"));
            }
            out
        }
        Expr::Exists { subquery, negated } => {
            let op = if *negated { "=" } else { ">" };
            vec![format!("((SELECT COUNT(*) FROM ({subquery}) AS q1) {op} 0)")]
        }
        Expr::AnyOp { left, compare_op, right, .. } => quantified(left, compare_op, right, "ALL"),
        Expr::AllOp { left, compare_op, right } => quantified(left, compare_op, right, "ANY"),
        Expr::Function(function) => call(function),
        Expr::Case { operand: None, conditions, else_result, .. } if conditions.len() == 1 => {
            let (p, yes) = (&conditions[0].condition, &conditions[0].result);
            let no = else_result.as_ref().map_or_else(|| "NULL".to_owned(), ToString::to_string);
            vec![
                format!("(CASE WHEN ({p}) IS NOT TRUE THEN {no} ELSE {yes} END)"),
                format!("(CASE WHEN ({p}) IS TRUE THEN {yes} WHEN ({p}) IS FALSE THEN {no} ELSE {no} END)"),
                format!("(CASE WHEN (NOT ({p})) THEN {no} ELSE {yes} END)"),
            ]
        }
        _ => Vec::new(),
    }
}

fn binary(l: &Expr, op: &BinaryOperator, r: &Expr) -> Vec<String> {
    let whole = format!("({l} {op} {r})");
    match op {
        BinaryOperator::And => vec![
            format!("({r} AND {l})"),
            format!("(NOT ((NOT ({l})) OR (NOT ({r}))))"),
            format!("(CASE WHEN {l} THEN {r} ELSE FALSE END)"),
        ],
        BinaryOperator::Or => vec![
            format!("({r} OR {l})"),
            format!("(NOT ((NOT ({l})) AND (NOT ({r}))))"),
            format!("(({l}) IS TRUE OR {r})"),
        ],
        BinaryOperator::Plus | BinaryOperator::Multiply => vec![format!("({r} {op} {l})")],
        BinaryOperator::Minus => vec![format!("({l} + (0 - {r}))"), format!("(0 - ({r} - {l}))")],
        _ => {
            let Some((negated, mirrored)) = comparison(op) else { return Vec::new() };
            let mut out = vec![
                format!("({r} {mirrored} {l})"),
                format!("(NOT ({l} {negated} {r}))"),
                format!("({whole} IS TRUE)"),
                format!("({whole} AND {l} = {l})"),
                format!("({whole} AND {r} IS NOT NULL)"),
            ];
            match op {
                BinaryOperator::Eq => {
                    out.push(format!("({l} >= {r} AND {l} <= {r})"));
                    out.push(format!("({l} IN ({r}))"));
                    out.push(format!("({l} IS NOT DISTINCT FROM {r})"));
                }
                BinaryOperator::NotEq => {
                    out.push(format!("({l} < {r} OR {l} > {r})"));
                    out.push(format!("({l} IS DISTINCT FROM {r})"));
                }
                BinaryOperator::LtEq => out.push(format!("({l} < {r} OR {l} = {r})")),
                BinaryOperator::GtEq => out.push(format!("({l} > {r} OR {l} = {r})")),
                _ => out.push(format!("({r} <> {l} AND {whole})")),
            }
            out
        }
    }
}

fn quantified(left: &Expr, op: &BinaryOperator, right: &Expr, other: &str) -> Vec<String> {
    let (Some((negated, _)), Expr::Subquery(query)) = (comparison(op), right) else { return Vec::new() };
    vec![format!("(NOT ({left} {negated} {other} ({query})))")]
}

fn call(function: &Function) -> Vec<String> {
    let arguments = arguments(function);
    match (function.name.to_string().to_ascii_lowercase().as_str(), arguments.as_slice()) {
        ("coalesce", [a, b]) => vec![
            format!("(CASE WHEN {a} IS NOT NULL THEN {a} ELSE {b} END)"),
            format!("(CASE WHEN {a} = {a} THEN {a} ELSE {b} END)"),
            format!("COALESCE({a}, {b}, {a})"),
        ],
        ("nullif", [a, b]) => vec![
            format!("(CASE WHEN {a} = {b} THEN NULL ELSE {a} END)"),
            format!("(CASE WHEN {a} <> {b} THEN {a} END)"),
        ],
        ("count", [x]) if !function.to_string().contains("DISTINCT") && function.filter.is_none() => {
            vec![
                format!("COUNT(CASE WHEN {x} IS NOT NULL THEN 1 END)"),
                format!("COUNT(*) FILTER (WHERE {x} IS NOT NULL)"),
            ]
        }
        _ => Vec::new(),
    }
}

/// The one expression a plain subquery selects, and the subquery with a further condition made of it.
fn with_condition(query: &Query, condition: impl Fn(&Expr) -> String) -> Option<Query> {
    let mut query = query.clone();
    let select = plain_mut(&mut query)?;
    let [SelectItem::UnnamedExpr(item) | SelectItem::ExprWithAlias { expr: item, .. }] = select.projection.as_slice()
    else {
        return None;
    };
    let extra = parse_expr(&condition(item))?;
    add(select, extra);
    Some(query)
}

fn add(select: &mut Select, extra: Expr) {
    let nested = |e: Expr| if matches!(e, Expr::Nested(_)) { e } else { Expr::Nested(Box::new(e)) };
    select.selection = Some(match select.selection.take() {
        Some(old) => {
            Expr::BinaryOp { left: Box::new(nested(old)), op: BinaryOperator::And, right: Box::new(nested(extra)) }
        }
        None => extra,
    });
}

fn ungrouped(select: &Select) -> bool {
    matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty()) && select.having.is_none()
}

/// The SELECT of a block without WITH, LIMIT, DISTINCT, groups and aggregates.
fn plain_mut(query: &mut Query) -> Option<&mut Select> {
    if query.with.is_some() || query.limit_clause.is_some() || query.order_by.is_some() {
        return None;
    }
    let SetExpr::Select(select) = query.body.as_mut() else { return None };
    let plain = select.distinct.is_none() && ungrouped(select) && !aggregated(&select.projection);
    plain.then_some(select)
}

/// Whether an item may hold an aggregate. Every function and subquery counts.
pub(super) fn aggregated(items: &[SelectItem]) -> bool {
    items.iter().any(|item| {
        let text = item.to_string();
        ["COUNT(", "SUM(", "MIN(", "MAX(", "AVG("].iter().any(|name| text.contains(name))
    })
}

/// Conditions that occur in a condition, outside its subqueries.
fn parts(expr: &Expr, out: &mut Vec<Expr>) {
    match expr {
        Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } => parts(inner, out),
        Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, right } => {
            parts(left, out);
            parts(right, out);
        }
        _ => out.push(expr.clone()),
    }
}

fn blocks(query: &Query, outermost: bool) -> Vec<String> {
    let mut out = vec![format!("SELECT * FROM ({query}) AS q1")];
    if outermost {
        out.push(format!("WITH w1 AS ({query}) SELECT * FROM w1"));
    }
    let mut copy = query.clone();
    if let Some(select) = plain_mut(&mut copy) {
        partitions(select, &mut out);
        joins(select, &mut out);
    }
    let ordered = query.with.is_some() || query.limit_clause.is_some() || query.order_by.is_some();
    match query.body.as_ref() {
        _ if ordered => {}
        SetExpr::Select(select) if ungrouped(select) && matches!(select.distinct, Some(Distinct::Distinct)) => {
            out.extend(grouped(select));
        }
        SetExpr::SetOperation { left, op, set_quantifier, right } if named(right) => {
            let quantifier = if *set_quantifier == SetQuantifier::All { " ALL" } else { "" };
            match op {
                SetOperator::Union | SetOperator::Intersect if !matches!(**left, SetExpr::SetOperation { .. }) => {
                    out.push(format!("{right} {op}{quantifier} {left}"));
                    out.push(format!("SELECT DISTINCT * FROM ({left} {op} ALL {right}) AS q1"));
                }
                SetOperator::Except => out.push(format!("SELECT DISTINCT * FROM ({query}) AS q1")),
                _ => {}
            }
        }
        _ => {}
    }
    out
}

/// Whether a side of a set operation names its columns, so that it can come first.
fn named(side: &SetExpr) -> bool {
    matches!(side, SetExpr::Select(s) if s.projection.iter().all(|i| matches!(i, SelectItem::ExprWithAlias { .. })))
}

/// DISTINCT as GROUP BY.
fn grouped(select: &Select) -> Option<String> {
    let mut keys = Vec::new();
    for item in &select.projection {
        let SelectItem::ExprWithAlias { expr: Expr::CompoundIdentifier(name), .. } = item else { return None };
        keys.push(Expr::CompoundIdentifier(name.clone()));
    }
    let mut select = select.clone();
    select.distinct = None;
    select.group_by = GroupByExpr::Expressions(keys, Vec::new());
    Some(select.to_string())
}

/// The block as the union of its parts by one of its own conditions.
fn partitions(select: &Select, out: &mut Vec<String>) {
    let mut conditions = Vec::new();
    if let Some(selection) = &select.selection {
        parts(selection, &mut conditions);
    } else if let Some(SelectItem::ExprWithAlias { expr: column @ Expr::CompoundIdentifier(_), .. }) =
        select.projection.first()
    {
        conditions.extend(parse_expr(&format!("({column} IS NULL)")));
    }
    let Some(p) = conditions.first() else { return };
    let part = |text: String| {
        let mut select = select.clone();
        if let Some(extra) = parse_expr(&text) {
            add(&mut select, extra);
        }
        select.to_string()
    };
    let (yes, no) = (part(format!("(({p}) IS TRUE)")), part(format!("(({p}) IS FALSE)")));
    out.push(format!("{yes} UNION ALL {no} UNION ALL {}", part(format!("(({p}) IS NULL)"))));
    out.push(format!("{} UNION ALL {}", part(format!("({p})")), part(format!("(NOT ({p}))"))));
}

/// One join, said otherwise.
fn joins(select: &Select, out: &mut Vec<String>) {
    let [table] = select.from.as_slice() else { return };
    let [join] = table.joins.as_slice() else { return };
    let lateral = |factor: &TableFactor| matches!(factor, TableFactor::Derived { lateral: true, .. });
    let stars = select.projection.iter().any(|i| !matches!(i, SelectItem::ExprWithAlias { .. }));
    if lateral(&join.relation) || stars {
        return;
    }
    let with = |operator: JoinOperator, swapped: bool| {
        let mut select = select.clone();
        let from = &mut select.from[0];
        from.joins[0].join_operator = operator;
        if swapped {
            std::mem::swap(&mut from.relation, &mut from.joins[0].relation);
        }
        select
    };
    match &join.join_operator {
        JoinOperator::Join(on) | JoinOperator::Inner(on) => {
            out.push(with(join.join_operator.clone(), true).to_string());
            if let JoinConstraint::On(condition) = on {
                let mut crossed = with(JoinOperator::CrossJoin(JoinConstraint::None), false);
                add(&mut crossed, condition.clone());
                out.push(crossed.to_string());
                let mut left = with(JoinOperator::Left(on.clone()), false);
                add(&mut left, condition.clone());
                out.push(left.to_string());
            }
        }
        JoinOperator::Left(on) => out.push(with(JoinOperator::Right(on.clone()), true).to_string()),
        JoinOperator::Right(on) => out.push(with(JoinOperator::Left(on.clone()), true).to_string()),
        JoinOperator::FullOuter(_) => out.push(with(join.join_operator.clone(), true).to_string()),
        _ => {}
    }
}
