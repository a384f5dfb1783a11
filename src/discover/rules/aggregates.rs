//! Aggregates: ways to count, what HAVING can leave to WHERE, and groups computed by joins and subqueries instead.

use super::block::{
    Aggregate, Block, Kind, aggregate, all, bare, column, conjuncts, expr, has_aggregate, par, qualifiers,
    surely_not_null,
};
use super::facts::Cx;
use super::joins::add;
use super::partition::{Part, grouped, named_as};
use super::semi::subblock;
use super::site::{Apply, Rule, of};
use sqlparser::ast::{BinaryOperator, Expr, Query, SetExpr};
use std::collections::BTreeSet;
use std::fmt::Write as _;

pub(super) const RULES: &[Rule] = &[
    Rule { name: "count-another-way", weight: 10, sound: true, apply: Apply::Block(count_another_way) },
    Rule { name: "aggregate-filter-to-case", weight: 12, sound: true, apply: Apply::Block(filter_to_case) },
    Rule { name: "where-to-aggregate-filter", weight: 14, sound: true, apply: Apply::Block(where_to_filter) },
    Rule { name: "having-to-where-above", weight: 14, sound: true, apply: Apply::Block(having_above) },
    Rule { name: "having-to-where", weight: 16, sound: true, apply: Apply::Block(having_to_where) },
    Rule { name: "where-to-having", weight: 12, sound: true, apply: Apply::Block(where_to_having) },
    Rule { name: "aggregate-of-distinct", weight: 16, sound: true, apply: Apply::Block(aggregate_of_distinct) },
    Rule { name: "aggregates-apart", weight: 14, sound: true, apply: Apply::Block(aggregates_apart) },
    Rule { name: "groups-to-subqueries", weight: 14, sound: true, apply: Apply::Block(groups_to_subqueries) },
    Rule { name: "subquery-to-grouped-join", weight: 24, sound: true, apply: Apply::Block(subquery_to_join) },
    Rule {
        name: "subquery-to-grouped-join-count",
        weight: 1,
        sound: false,
        apply: Apply::Block(subquery_to_join_null),
    },
    Rule { name: "count-argument-dropped", weight: 1, sound: false, apply: Apply::Block(count_everything) },
];

/// Replaces one random item that is an aggregate.
fn replace_one(
    block: &Block,
    cx: &mut Cx<'_>,
    write: impl Fn(&Aggregate, &mut Cx<'_>) -> Option<String>,
) -> Option<String> {
    for at in cx.order(block.items.len()) {
        let Some(found) = aggregate(&block.items[at].expr) else { continue };
        let Some(text) = write(&found, cx) else { continue };
        let mut new = block.clone();
        new.items[at].expr = expr(&text)?;
        return Some(new.sql());
    }
    None
}

fn filtered(call: &str, filter: Option<&Expr>) -> String {
    match filter {
        Some(filter) => format!("{call} FILTER (WHERE {filter})"),
        None => call.to_owned(),
    }
}

/// COUNT of everything, of a constant, of a column that is never NULL, and as a sum of ones.
fn count_another_way(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let entries = block.entries(cx)?;
    let columns: Vec<String> = entries
        .iter()
        .flat_map(|e| e.columns.iter().map(move |c| format!("{}.{}", e.alias, c.name)))
        .filter(|path| expr(path).is_some_and(|e| surely_not_null(&e, &entries)))
        .collect();
    let grouped = !block.group.is_empty();
    replace_one(block, cx, |found, cx| {
        if found.name != "COUNT" || found.distinct {
            return None;
        }
        let filter = found.filter.as_ref();
        let zero = |text: String| if grouped && filter.is_none() { text } else { format!("COALESCE({text}, 0)") };
        let forms = match &found.argument {
            None => {
                let mut forms = vec![filtered("COUNT(1)", filter), zero(filtered("SUM(1)", filter))];
                forms.extend(cx.pick(&columns).map(|c| filtered(&format!("COUNT({c})"), filter)));
                forms
            }
            Some(argument) if surely_not_null(argument, &entries) => vec![filtered("COUNT(*)", filter)],
            Some(argument) => vec![
                zero(filtered(&format!("SUM(CASE WHEN {} IS NULL THEN 0 ELSE 1 END)", par(argument)), filter)),
                filtered(&format!("COUNT(CASE WHEN {} IS NOT NULL THEN 1 END)", par(argument)), filter),
            ],
        };
        cx.pick(&forms)
    })
}

/// FILTER as CASE inside the aggregate, and the other way round.
fn filter_to_case(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    replace_one(block, cx, |found, _| {
        let distinct = if found.distinct { "DISTINCT " } else { "" };
        match (&found.filter, &found.argument) {
            (Some(filter), argument) => {
                let value = argument.as_ref().map_or_else(|| "1".to_owned(), ToString::to_string);
                Some(format!("{}({distinct}CASE WHEN {filter} THEN {value} END)", found.name))
            }
            (None, Some(argument)) => {
                let Expr::Case { operand: None, conditions, else_result: None, .. } = bare(argument) else {
                    return None;
                };
                let [when] = conditions.as_slice() else { return None };
                Some(format!("{}({distinct}{}) FILTER (WHERE {})", found.name, when.result, when.condition))
            }
            (None, None) => None,
        }
    })
}

/// WHERE as FILTER of every aggregate; there is one row either way.
fn where_to_filter(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let aggregates = block.scalar_aggregates()?;
    let at = *cx.order(block.filter.len()).first()?;
    let own: BTreeSet<String> = block.entries(cx)?.into_iter().map(|e| e.alias).collect();
    // An aggregate that only mentions tables outside would be an aggregate of the query outside.
    if qualifiers(&block.filter[at]).is_disjoint(&own) {
        return None;
    }
    let mut new = block.clone();
    let condition = new.filter.remove(at);
    let case = cx.chance(40);
    for (item, found) in new.items.iter_mut().zip(&aggregates) {
        let both = match &found.filter {
            Some(filter) => format!("{} AND {}", par(filter), par(&condition)),
            None => condition.to_string(),
        };
        let distinct = if found.distinct { "DISTINCT " } else { "" };
        let value = found.argument.as_ref().map_or_else(|| "*".to_owned(), ToString::to_string);
        let text = if case {
            let value = if value == "*" { "1" } else { value.as_str() };
            format!("{}({distinct}CASE WHEN {both} THEN {value} END)", found.name)
        } else {
            format!("{}({distinct}{value}) FILTER (WHERE {both})", found.name)
        };
        item.expr = expr(&text)?;
    }
    Some(new.sql())
}

/// HAVING as WHERE over a derived table of the groups.
fn having_above(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let having = block.having.clone()?;
    if block.distinct {
        return None;
    }
    let mut inner = Block { having: None, ..block.clone() };
    let names = inner.name_items(cx);
    let (d, x) = (cx.fresh("d"), cx.fresh("x"));
    inner.items.push(super::block::Item { expr: expr(&format!("({having}) IS TRUE"))?, alias: Some(x.clone()) });
    Some(format!("SELECT {} FROM ({}) AS {d} WHERE {d}.{x}", of(&d, &names), inner.sql()))
}

/// Whether a condition is about whole groups: over their keys, without aggregates.
fn about_keys(block: &Block, condition: &Expr) -> bool {
    let keys: BTreeSet<(String, String)> =
        block.group.iter().filter_map(|g| column(g).map(|(q, c)| (q.to_owned(), c.to_owned()))).collect();
    let used = super::block::columns_of(condition);
    !used.is_empty() && used.is_subset(&keys) && !has_aggregate(condition) && !super::block::has_subquery(condition)
}

/// Conditions of HAVING over keys in WHERE.
fn having_to_where(block: &Block, _: &mut Cx<'_>) -> Option<String> {
    let having = conjuncts(block.having.as_ref()?);
    let (keys, rest): (Vec<_>, Vec<_>) = having.into_iter().partition(|c| about_keys(block, c));
    if keys.is_empty() {
        return None;
    }
    let mut new = block.clone();
    new.filter.extend(keys);
    new.having = if rest.is_empty() { None } else { expr(&all(&rest)) };
    Some(new.sql())
}

/// Conditions of WHERE over keys in HAVING.
fn where_to_having(block: &Block, _: &mut Cx<'_>) -> Option<String> {
    let (keys, rest): (Vec<_>, Vec<_>) = block.filter.iter().cloned().partition(|c| about_keys(block, c));
    if keys.is_empty() {
        return None;
    }
    let mut having = block.having.as_ref().map(conjuncts).unwrap_or_default();
    having.extend(keys);
    Some(Block { filter: rest, having: expr(&all(&having)), ..block.clone() }.sql())
}

/// Aggregates for which duplicates do not matter, over the different rows.
fn aggregate_of_distinct(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let parts: Vec<Part> = if block.group.is_empty() {
        block.scalar_aggregates()?.into_iter().map(|a| Part::Aggregate(Box::new(a))).collect()
    } else {
        grouped(block)?
    };
    let mut arguments = BTreeSet::new();
    for part in &parts {
        if let Part::Aggregate(found) = part {
            if found.filter.is_some() || !(found.distinct || matches!(found.name.as_str(), "MIN" | "MAX")) {
                return None;
            }
            arguments.insert(found.argument.as_ref()?.to_string());
        }
    }
    let mut inner = Block { distinct: true, group: Vec::new(), ..block.clone() };
    inner.items.clear();
    let d = cx.fresh("d");
    // With one argument the different rows have different arguments in a group, so its DISTINCT may go.
    let keep = arguments.len() != 1 || cx.chance(30);
    let mut keys = Vec::new();
    for key in &block.group {
        let x = cx.fresh("x");
        keys.push((key.to_string(), format!("{d}.{x}")));
        inner.items.push(super::block::Item { expr: key.clone(), alias: Some(x) });
    }
    let mut columns = Vec::new();
    for argument in &arguments {
        let x = cx.fresh("x");
        columns.push((argument.clone(), format!("{d}.{x}")));
        inner.items.push(super::block::Item { expr: expr(argument)?, alias: Some(x) });
    }
    let look = |table: &[(String, String)], e: &Expr| {
        table.iter().find(|(text, _)| *text == e.to_string()).map(|(_, path)| path.clone())
    };
    let items = parts.iter().zip(&block.items).map(|(part, item)| match part {
        Part::Key => Some(named_as(&look(&keys, &item.expr)?, item)),
        Part::Aggregate(found) => {
            let distinct = if found.distinct && keep { "DISTINCT " } else { "" };
            Some(named_as(&format!("{}({distinct}{})", found.name, look(&columns, found.argument.as_ref()?)?), item))
        }
    });
    let items: Vec<String> = items.collect::<Option<_>>()?;
    let mut text = format!("SELECT {} FROM ({}) AS {d}", items.join(", "), inner.sql());
    if !keys.is_empty() {
        let keys: Vec<String> = keys.into_iter().map(|(_, path)| path).collect();
        let _ = write!(text, " GROUP BY {}", keys.join(", "));
    }
    Some(text)
}

/// Each of several aggregates by a subquery of its own, or by a derived table of its own.
fn aggregates_apart(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    block.scalar_aggregates()?;
    let one = |item: &super::block::Item| block.select(&item.expr.to_string());
    if block.items.len() == 1 || cx.chance(60) {
        let items: Vec<String> = block.items.iter().map(|i| named_as(&format!("({})", one(i)), i)).collect();
        return Some(format!("SELECT {}", items.join(", ")));
    }
    let mut items = Vec::new();
    let mut from = Vec::new();
    for item in &block.items {
        let (d, x) = (cx.fresh("d"), cx.fresh("x"));
        items.push(named_as(&format!("{d}.{x}"), item));
        from.push(format!("({}) AS {d}", block.select(&format!("{} AS {x}", item.expr))));
    }
    Some(format!("SELECT {} FROM {}", items.join(", "), from.join(" CROSS JOIN ")))
}

/// The different keys, and the aggregates of each by a correlated subquery.
fn groups_to_subqueries(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let parts = grouped(block)?;
    let mut keys = Block { distinct: true, group: Vec::new(), ..block.clone() };
    keys.items =
        block.group.iter().map(|g| super::block::Item { expr: g.clone(), alias: Some(cx.fresh("x")) }).collect();
    let d = cx.fresh("d");
    let paths: Vec<String> = keys.items.iter().filter_map(|i| Some(format!("{d}.{}", i.alias.as_ref()?))).collect();
    let mut same = block.clone();
    for (key, path) in block.group.iter().zip(&paths) {
        same = same.and(&format!("{} IS NOT DISTINCT FROM {path}", par(key)))?;
    }
    let items = parts.iter().zip(&block.items).map(|(part, item)| match part {
        Part::Key => {
            let at = block.group.iter().position(|g| *g == item.expr)?;
            Some(named_as(&paths[at], item))
        }
        Part::Aggregate(_) => Some(named_as(&format!("({})", same.select(&item.expr.to_string())), item)),
    });
    let items: Vec<String> = items.collect::<Option<_>>()?;
    Some(format!("SELECT {} FROM ({}) AS {d}", items.join(", "), keys.sql()))
}

/// A correlated aggregate as a left join with the groups; a count of nothing made 0.
fn subquery_to_join(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    decorrelated(block, cx, true)
}

/// A correlated aggregate as a left join with the groups. Wrong for COUNT: where there is no group it is NULL.
fn subquery_to_join_null(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    decorrelated(block, cx, false)
}

fn decorrelated(block: &Block, cx: &mut Cx<'_>, zero: bool) -> Option<String> {
    if !block.rowwise() || block.from.is_empty() {
        return None;
    }
    // Scalar subqueries as items, or as a side of a comparison in WHERE.
    let mut places: Vec<(bool, usize, Query)> = Vec::new();
    for (at, item) in block.items.iter().enumerate() {
        if let Expr::Subquery(query) = bare(&item.expr) {
            places.push((true, at, query.as_ref().clone()));
        }
    }
    for (at, condition) in block.filter.iter().enumerate() {
        if let Expr::BinaryOp { left, .. } = bare(condition)
            && let Expr::Subquery(query) = bare(left)
        {
            places.push((false, at, query.as_ref().clone()));
        }
    }
    let (is_item, at, query) = cx.pick(&places)?;
    let SetExpr::Select(_) = query.body.as_ref() else { return None };
    let sub = subblock(&query)?;
    let found = sub.scalar_aggregates()?.into_iter().next().filter(|_| sub.items.len() == 1)?;
    let inner: BTreeSet<String> = sub.entries(cx)?.into_iter().map(|e| e.alias).collect();
    let (d, x) = (cx.fresh("d"), cx.fresh("x"));
    let (mut on, mut keys, mut own) = (Vec::new(), Vec::new(), Vec::new());
    for condition in &sub.filter {
        if qualifiers(condition).is_subset(&inner) {
            own.push(condition.clone());
            continue;
        }
        let (left, word, right) = match bare(condition) {
            Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => (left, "=", right),
            Expr::IsNotDistinctFrom(left, right) => (left, "IS NOT DISTINCT FROM", right),
            _ => return None,
        };
        let inside = |e: &Expr| qualifiers(e).is_subset(&inner) && column(e).is_some();
        let outside = |e: &Expr| qualifiers(e).is_disjoint(&inner);
        let (key, other) = if inside(left) && outside(right) {
            (left, right)
        } else if inside(right) && outside(left) {
            (right, left)
        } else {
            return None;
        };
        let k = cx.fresh("x");
        on.push(format!("{d}.{k} {word} {}", par(other)));
        keys.push((key.to_string(), k));
    }
    if keys.is_empty() {
        return None;
    }
    let items: Vec<String> = keys.iter().map(|(key, k)| format!("{key} AS {k}")).collect();
    let group: Vec<String> = keys.iter().map(|(key, _)| key.clone()).collect();
    let derived =
        Block { filter: own, ..sub.clone() }.select(&format!("{}, {} AS {x}", items.join(", "), sub.items[0].expr));
    let value = if found.name == "COUNT" && zero { format!("COALESCE({d}.{x}, 0)") } else { format!("{d}.{x}") };
    if !zero && found.name != "COUNT" {
        return None;
    }
    let mut new = block.clone();
    if is_item {
        new.items[at].alias = new.items[at].output();
        new.items[at].expr = expr(&value)?;
    } else {
        let Expr::BinaryOp { op, right, .. } = bare(&block.filter[at]) else { return None };
        new.filter[at] = expr(&format!("{value} {op} {}", par(right)))?;
    }
    add(&mut new, Kind::Left, &format!("({derived} GROUP BY {}) AS {d}", group.join(", ")), Some(&on.join(" AND ")))?;
    Some(new.sql())
}

/// COUNT of a column as COUNT of everything. Wrong where the column is NULL.
fn count_everything(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    replace_one(block, cx, |found, _| {
        (found.name == "COUNT" && !found.distinct && found.filter.is_none() && found.argument.is_some())
            .then(|| "COUNT(*)".to_owned())
    })
}
