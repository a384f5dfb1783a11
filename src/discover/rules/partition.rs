//! Rows divided among parts whose results are put together again: ternary logic partitioning (Rigger and Su, "Finding
//! bugs in database systems via query partitioning", OOPSLA 2020) for rows, groups and aggregates.

use super::block::{Aggregate, Block, Entry, Item, aggregate, all_par, bare, column, expr, par, resolve};
use super::facts::Cx;
use super::site::{Apply, Rule, is_truth};
use crate::sql::types::SqlType;
use sqlparser::ast::{BinaryOperator, Expr};

pub(super) const RULES: &[Rule] = &[
    Rule { name: "partition-rows", weight: 8, sound: true, apply: Apply::Block(partition_rows) },
    Rule { name: "partition-distinct-rows", weight: 10, sound: true, apply: Apply::Block(partition_distinct) },
    Rule { name: "partition-groups", weight: 6, sound: true, apply: Apply::Block(partition_groups) },
    Rule { name: "partition-aggregate", weight: 16, sound: true, apply: Apply::Block(partition_aggregate) },
    Rule { name: "partition-grouped-aggregate", weight: 12, sound: true, apply: Apply::Block(partition_grouped) },
    Rule { name: "pregroup-aggregate", weight: 6, sound: true, apply: Apply::Block(pregroup) },
    Rule { name: "pregroup-aggregate-empty", weight: 1, sound: false, apply: Apply::Block(pregroup_empty) },
    Rule { name: "pregroup-groups", weight: 12, sound: true, apply: Apply::Block(pregroup_groups) },
    Rule { name: "split-or", weight: 16, sound: true, apply: Apply::Block(split_or) },
    Rule { name: "split-or-overlapping", weight: 1, sound: false, apply: Apply::Block(split_or_overlapping) },
    Rule { name: "distinct-to-group-by", weight: 10, sound: true, apply: Apply::Block(distinct_to_group) },
    Rule { name: "group-by-to-distinct", weight: 10, sound: true, apply: Apply::Block(group_to_distinct) },
];

/// A condition over the block's rows to divide them by: a placeholder, a condition that is there already, a column's
/// being NULL or its sign.
pub(super) fn condition(block: &Block, entries: &[Entry], cx: &mut Cx<'_>) -> Option<String> {
    let mut likely = Vec::new();
    let mut others = Vec::new();
    for entry in entries {
        for c in &entry.columns {
            let name = format!("{}.{}", entry.alias, c.name);
            match c.ty {
                Some(SqlType::Boolean) => likely.push(name),
                Some(SqlType::Int) => {
                    others.push(format!("{name} > 0"));
                    others.push(format!("{name} IS NULL"));
                }
                _ => others.push(format!("{name} IS NULL")),
            }
        }
    }
    for conjunct in &block.filter {
        if let Expr::BinaryOp { left, op: BinaryOperator::Or, .. } = bare(conjunct) {
            likely.push(left.to_string());
        }
    }
    let from_likely = cx.chance(70) && !likely.is_empty();
    cx.pick(if from_likely { &likely } else { &others }).or_else(|| cx.pick(&likely))
}

/// Conditions of which exactly one is true of every row.
fn parts(p: &str, cx: &mut Cx<'_>) -> Option<Vec<String>> {
    let parsed = expr(p)?;
    let q = par(&parsed);
    Some(match bare(&parsed) {
        Expr::IsNull(inner) => vec![p.to_owned(), format!("{} IS NOT NULL", par(inner))],
        _ if cx.chance(50) => vec![p.to_owned(), format!("NOT {q}"), format!("{q} IS NULL")],
        _ if cx.chance(50) => vec![p.to_owned(), format!("{q} IS NOT TRUE")],
        _ => vec![format!("{q} IS NOT FALSE"), format!("NOT {q}")],
    })
}

fn divided(block: &Block, cx: &mut Cx<'_>) -> Option<Vec<Block>> {
    let entries = block.entries(cx)?;
    let p = condition(block, &entries, cx)?;
    parts(&p, cx)?.iter().map(|part| block.and(part)).collect()
}

fn texts(blocks: &[Block]) -> Vec<String> {
    blocks.iter().map(Block::sql).collect()
}

/// Rows where a condition is true, false and unknown, by UNION ALL.
fn partition_rows(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    if !block.plain() || block.from.is_empty() {
        return None;
    }
    Some(texts(&divided(block, cx)?).join(" UNION ALL "))
}

/// Different rows where a condition is true, false and unknown, by UNION.
fn partition_distinct(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    if !block.distinct || !block.rowwise() || block.from.is_empty() {
        return None;
    }
    let keep = cx.chance(30);
    let block = Block { distinct: keep, ..block.clone() };
    Some(texts(&divided(&block, cx)?).join(" UNION "))
}

/// Groups by a condition over one of their keys: no group is in two parts.
fn partition_groups(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let entries = block.entries(cx)?;
    let key = cx.pick(&block.group)?;
    column(&key)?;
    let name = key.to_string();
    let p = match resolve(&key, &entries)?.ty {
        Some(SqlType::Boolean) => name,
        Some(SqlType::Int) if cx.chance(50) => format!("{name} > 0"),
        _ => format!("{name} IS NULL"),
    };
    let blocks: Vec<Block> = parts(&p, cx)?.iter().map(|part| block.and(part)).collect::<Option<_>>()?;
    Some(texts(&blocks).join(" UNION ALL "))
}

/// Aggregates of the parts, aggregated: the sum of counts, the least of minima.
fn partition_aggregate(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let aggregates = block.scalar_aggregates()?;
    let mut inner = block.clone();
    let names = fresh_items(&mut inner, cx);
    let d = cx.fresh("d");
    let outer = combined(block, &aggregates, &names, &d, false)?;
    Some(format!("SELECT {outer} FROM ({}) AS {d}", texts(&divided(&inner, cx)?).join(" UNION ALL ")))
}

/// Names every item anew, because the derived table's columns must have names.
fn fresh_items(block: &mut Block, cx: &mut Cx<'_>) -> Vec<String> {
    block
        .items
        .iter_mut()
        .map(|item| {
            let name = cx.fresh("x");
            item.alias = Some(name.clone());
            name
        })
        .collect()
}

/// The select list that combines aggregates of parts; `zero` makes the sum of no counts 0.
fn combined(block: &Block, aggregates: &[Aggregate], names: &[String], d: &str, zero: bool) -> Option<String> {
    let items = aggregates.iter().zip(names).zip(&block.items).map(|((aggregate, name), item)| {
        let text = aggregate.combined(&format!("{d}.{name}"))?;
        let text = if zero && aggregate.name == "COUNT" { format!("COALESCE({text}, 0)") } else { text };
        Some(named_as(&text, item))
    });
    Some(items.collect::<Option<Vec<_>>>()?.join(", "))
}

/// A new expression under the output name of the old item.
pub(super) fn named_as(text: &str, item: &Item) -> String {
    match item.output() {
        Some(alias) => format!("{text} AS {alias}"),
        None => text.to_owned(),
    }
}

/// An item of a grouped SELECT.
pub(super) enum Part {
    Key,
    Aggregate(Box<Aggregate>),
}

/// The items of a SELECT with GROUP BY, if they are all keys and aggregates.
pub(super) fn grouped(block: &Block) -> Option<Vec<Part>> {
    if block.group.is_empty() || block.having.is_some() || block.distinct {
        return None;
    }
    let part = |item: &Item| {
        if block.group.contains(&item.expr) {
            Some(Part::Key)
        } else {
            aggregate(&item.expr).map(|a| Part::Aggregate(Box::new(a)))
        }
    };
    block.items.iter().map(part).collect()
}

/// A grouped SELECT's keys and aggregates as a derived table's columns, and the select list and keys above it.
fn regrouped(block: &Block, cx: &mut Cx<'_>, d: &str) -> Option<(Block, String, String)> {
    let parts = grouped(block)?;
    // Every key must come out, or groups would merge above.
    let covered = |key: &Expr| block.items.iter().any(|i| i.expr == *key);
    if !block.group.iter().all(covered) {
        return None;
    }
    let mut inner = block.clone();
    let names = fresh_items(&mut inner, cx);
    let mut keys = Vec::new();
    let mut items = Vec::new();
    for ((part, name), item) in parts.iter().zip(&names).zip(&block.items) {
        let path = format!("{d}.{name}");
        match part {
            Part::Key => {
                keys.push(path.clone());
                items.push(named_as(&path, item));
            }
            Part::Aggregate(aggregate) => items.push(named_as(&aggregate.combined(&path)?, item)),
        }
    }
    Some((inner, items.join(", "), keys.join(", ")))
}

/// Groups of the parts, grouped again.
fn partition_grouped(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let d = cx.fresh("d");
    let (inner, items, keys) = regrouped(block, cx, &d)?;
    let union = texts(&divided(&inner, cx)?).join(" UNION ALL ");
    Some(format!("SELECT {items} FROM ({union}) AS {d} GROUP BY {keys}"))
}

/// Groups by one key more, grouped again without it.
fn pregroup_groups(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let d = cx.fresh("d");
    let (mut inner, items, keys) = regrouped(block, cx, &d)?;
    let key = extra_key(block, cx)?;
    inner.group.push(key);
    Some(format!("SELECT {items} FROM ({}) AS {d} GROUP BY {keys}", inner.sql()))
}

fn extra_key(block: &Block, cx: &mut Cx<'_>) -> Option<Expr> {
    let entries = block.entries(cx)?;
    let names: Vec<String> =
        entries.iter().flat_map(|e| e.columns.iter().map(|c| format!("{}.{}", e.alias, c.name))).collect();
    let key = expr(&cx.pick(&names)?)?;
    (!block.group.contains(&key)).then_some(key)
}

/// Aggregates of groups, aggregated; the sum of no counts made 0.
fn pregroup(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    pregrouped(block, cx, true)
}

/// Aggregates of groups, aggregated. Wrong for COUNT over no rows: there are no groups, and the sum is NULL.
fn pregroup_empty(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    pregrouped(block, cx, false)
}

fn pregrouped(block: &Block, cx: &mut Cx<'_>, zero: bool) -> Option<String> {
    let aggregates = block.scalar_aggregates()?;
    // Below outer joins such pairs are hardly ever proven, and the attempt takes long.
    if !block.from.iter().all(|source| source.kind.is_inner()) {
        return None;
    }
    let mut inner = block.clone();
    let names = fresh_items(&mut inner, cx);
    let d = cx.fresh("d");
    let outer = combined(block, &aggregates, &names, &d, zero)?;
    inner.group.push(extra_key(block, cx)?);
    Some(format!("SELECT {outer} FROM ({}) AS {d}", inner.sql()))
}

/// The sides of a disjunction, and the block without it.
fn disjunction(block: &Block, cx: &mut Cx<'_>) -> Option<(Block, Expr, Expr)> {
    if !block.rowwise() {
        return None;
    }
    for at in cx.order(block.filter.len()) {
        if let Expr::BinaryOp { left, op: BinaryOperator::Or, right } = bare(&block.filter[at]) {
            let mut rest = block.clone();
            rest.filter.remove(at);
            return Some((rest, left.as_ref().clone(), right.as_ref().clone()));
        }
    }
    None
}

/// Rows that satisfy one side of OR, and those that satisfy the other side only; of different rows, by UNION.
fn split_or(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let (mut rest, left, right) = disjunction(block, cx)?;
    if rest.distinct {
        rest.distinct = false;
        return Some(texts(&[rest.and(&all_par(&[left]))?, rest.and(&all_par(&[right]))?]).join(" UNION "));
    }
    let only_right = format!("{} AND {} IS NOT TRUE", par(&right), par(&left));
    let first = rest.and(&left.to_string())?;
    rest.filter.push(expr(&format!("({only_right})"))?);
    Some(texts(&[first, rest]).join(" UNION ALL "))
}

/// Rows that satisfy one side of OR, and those that satisfy the other. Wrong for rows that satisfy both.
fn split_or_overlapping(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let (rest, left, right) = disjunction(block, cx)?;
    if rest.distinct {
        return None;
    }
    Some(texts(&[rest.and(&left.to_string())?, rest.and(&right.to_string())?]).join(" UNION ALL "))
}

/// DISTINCT as groups without aggregates.
fn distinct_to_group(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    // A constant as a whole GROUP BY item would be an ordinal.
    if !block.distinct || !block.rowwise() || block.from.is_empty() {
        return None;
    }
    let keys: Vec<Expr> = block.items.iter().map(|i| i.expr.clone()).collect();
    if keys.iter().any(|k| column(k).is_none() && !is_truth(k, cx)) {
        return None;
    }
    Some(Block { distinct: false, group: keys, ..block.clone() }.sql())
}

/// Groups without aggregates as DISTINCT.
fn group_to_distinct(block: &Block, _: &mut Cx<'_>) -> Option<String> {
    let keys_only = block.items.iter().all(|i| block.group.contains(&i.expr));
    let all_keys = block.group.iter().all(|g| block.items.iter().any(|i| i.expr == *g));
    if block.group.is_empty() || block.having.is_some() || !keys_only || !all_keys {
        return None;
    }
    Some(Block { distinct: true, group: Vec::new(), ..block.clone() }.sql())
}
