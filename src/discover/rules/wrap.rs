//! The same rows through one layer more or less: derived tables, common table expressions, empty branches, duplicates
//! removed where there are none.

use super::block::{
    Block, Kind, Source, all, column, columns_of, exchange_all, expr, factor, from_sql, has_subquery, par, qualifiers,
    surely_not_null,
};
use super::facts::Cx;
use super::joins::derive;
use super::partition::condition;
use super::semi::{subblock, without_clash};
use super::site::{Apply, Rule, derived, named, of};
use sqlparser::ast::{Expr, SetExpr, TableFactor};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

pub(super) const RULES: &[Rule] = &[
    Rule { name: "derive-body", weight: 3, sound: true, apply: Apply::Body(derive_body) },
    Rule { name: "cte-body", weight: 3, sound: true, apply: Apply::Body(cte_body) },
    Rule { name: "derive-table", weight: 3, sound: true, apply: Apply::Block(derive_table) },
    Rule { name: "cte-table", weight: 4, sound: true, apply: Apply::Block(cte_table) },
    Rule { name: "divide-table", weight: 4, sound: true, apply: Apply::Block(divide_table) },
    Rule { name: "deduplicate-table", weight: 6, sound: true, apply: Apply::Block(deduplicate_table) },
    Rule { name: "union-with-nothing", weight: 3, sound: true, apply: Apply::Block(union_with_nothing) },
    Rule { name: "derive-joins", weight: 6, sound: true, apply: Apply::Block(derive_joins) },
    Rule { name: "filter-above", weight: 4, sound: true, apply: Apply::Block(filter_above) },
    Rule { name: "merge-derived", weight: 16, sound: true, apply: Apply::Block(merge_derived) },
    Rule { name: "distinct-twice", weight: 6, sound: true, apply: Apply::Block(distinct_twice) },
    Rule { name: "distinct-of-key", weight: 8, sound: true, apply: Apply::Block(distinct_of_key) },
    Rule { name: "drop-distinct-of-key", weight: 12, sound: true, apply: Apply::Block(drop_distinct) },
    Rule { name: "drop-distinct", weight: 1, sound: false, apply: Apply::Block(drop_distinct_any) },
];

/// The whole query as a derived table.
fn derive_body(body: &SetExpr, cx: &mut Cx<'_>) -> Option<String> {
    Some(derived(body, cx)?.1)
}

/// The whole query as a common table expression, materialized or not.
fn cte_body(body: &SetExpr, cx: &mut Cx<'_>) -> Option<String> {
    let (inner, names) = named(body, cx)?;
    let d = cx.fresh("d");
    let how = materialized(cx);
    Some(format!("WITH {d} AS {how}({inner}) SELECT {} FROM {d}", of(&d, &names)))
}

fn materialized(cx: &mut Cx<'_>) -> &'static str {
    cx.pick(&["", "MATERIALIZED ", "MATERIALIZED ", "NOT MATERIALIZED "]).unwrap_or_default()
}

fn any_source(block: &Block, cx: &mut Cx<'_>) -> Option<usize> {
    let tables: Vec<usize> =
        (0..block.from.len()).filter(|&at| matches!(block.from[at].factor, TableFactor::Table { .. })).collect();
    cx.pick(&tables)
}

/// A table as a derived table of the columns that are used.
fn derive_table(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let at = any_source(block, cx)?;
    let empty = cx.chance(40);
    let new = derive(block, at, &[], cx, |items, tail, _, _| {
        let plain = format!("SELECT {items}{tail}");
        Some(if empty { format!("{plain} UNION ALL {plain} WHERE FALSE") } else { plain })
    })?;
    Some(new.sql())
}

/// A table as a common table expression of the columns that are used.
fn cte_table(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let at = any_source(block, cx)?;
    let mut new = derive(block, at, &[], cx, |items, tail, _, _| Some(format!("SELECT {items}{tail}")))?;
    let TableFactor::Derived { subquery, alias: Some(alias), .. } = new.from[at].factor.clone() else { return None };
    new.from[at].factor = factor(&alias.name.value)?;
    let how = materialized(cx);
    Some(format!("WITH {} AS {how}({subquery}) {}", alias.name, new.sql()))
}

/// A table as the rows that satisfy a condition and those that do not.
fn divide_table(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let at = any_source(block, cx)?;
    let entries = block.entries(cx)?.into_iter().filter(|e| e.source == at).collect::<Vec<_>>();
    let p = condition(&Block { filter: Vec::new(), ..block.clone() }, &entries, cx)?;
    let q = par(&expr(&p)?);
    let new = derive(block, at, &[], cx, |items, tail, _, _| {
        Some(format!("SELECT {items}{tail} WHERE {p} UNION ALL SELECT {items}{tail} WHERE {q} IS NOT TRUE"))
    })?;
    Some(new.sql())
}

/// A table with a key without its duplicates, of which there are none.
fn deduplicate_table(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let at = any_source(block, cx)?;
    let entry = block.entries(cx)?.into_iter().find(|e| e.source == at)?;
    let relation = &cx.facts.relations[entry.relation?];
    let keys: Vec<Vec<String>> = relation.keys().cloned().collect();
    let alias = entry.alias.clone();
    let new = derive(block, at, &[], cx, |items, tail, names, cx| {
        if !keys.iter().any(|key| key.iter().all(|c| names.contains(c))) {
            return None;
        }
        Some(match cx.pick(&[0, 1, 2])? {
            0 => format!("SELECT DISTINCT {items}{tail}"),
            1 => format!("SELECT {items}{tail} GROUP BY {}", of(&alias, names)),
            _ => format!("SELECT {items}{tail} UNION SELECT {items}{tail}"),
        })
    })?;
    Some(new.sql())
}

/// The rows and those of the same query that satisfy FALSE.
fn union_with_nothing(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    if !block.plain() || block.from.is_empty() {
        return None;
    }
    let nothing = cx.pick(&["FALSE", "1 = 0"])?;
    let empty = block.and(nothing)?;
    Some(if cx.chance(50) {
        format!("{} UNION ALL {}", block.sql(), empty.sql())
    } else {
        let mut named_block = empty;
        for (item, original) in named_block.items.iter_mut().zip(&block.items) {
            item.alias = original.output();
        }
        format!("{} UNION ALL {}", named_block.sql(), block.sql())
    })
}

/// The first sources with the conditions on them as one derived table; also all of them, below aggregates.
fn derive_joins(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let n = block.from.len();
    let count = if n > 2 { cx.pick(&(2..=n).collect::<Vec<_>>())? } else { n };
    if n == 0 || block.from[count..].iter().any(|s| matches!(s.kind, Kind::Right | Kind::Full)) {
        return None;
    }
    let inside: BTreeSet<String> =
        block.entries(cx)?.into_iter().filter(|e| e.source < count).map(|e| e.alias).collect();
    let mut outer = block.clone();
    let below: Vec<Source> = outer.from.drain(..count).collect();
    let (pushed, kept): (Vec<Expr>, Vec<Expr>) =
        outer.filter.into_iter().partition(|c| qualifiers(c).is_subset(&inside) && !has_subquery(c));
    outer.filter = kept;
    if n == 1 && pushed.is_empty() {
        return None;
    }
    let d = cx.fresh("d");
    let used: BTreeSet<(String, String)> =
        outer.exprs().flat_map(columns_of).filter(|(q, _)| inside.contains(q)).collect();
    let mut names: Vec<String> = Vec::new();
    let mut items = Vec::new();
    let mut map = BTreeMap::new();
    for (q, c) in used {
        let name = if names.contains(&c) { cx.fresh("x") } else { c.clone() };
        items.push(format!("{q}.{c} AS {name}"));
        map.insert((q, c), format!("{d}.{name}"));
        names.push(name);
    }
    if items.is_empty() {
        items.push(format!("1 AS {}", cx.fresh("x")));
    }
    let mut query = format!("SELECT {} FROM {}", items.join(", "), from_sql(&below));
    if !pushed.is_empty() {
        let _ = write!(query, " WHERE {}", all(&pushed));
    }
    outer.from.insert(0, Source { kind: Kind::First, factor: factor(&format!("({query}) AS {d}"))?, on: None });
    exchange_all(&mut outer, &map)?;
    Some(outer.sql())
}

/// WHERE computed as a column of a derived table, and tested above it.
fn filter_above(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    if !block.rowwise() || block.distinct || block.filter.is_empty() {
        return None;
    }
    let mut inner = block.clone();
    let names = inner.name_items(cx);
    let (d, x) = (cx.fresh("d"), cx.fresh("x"));
    let condition = expr(&all(&std::mem::take(&mut inner.filter)))?;
    let (value, test) = match cx.pick(&[0, 1])? {
        0 => (format!("({condition}) IS TRUE"), format!("{d}.{x}")),
        _ => (format!("CASE WHEN {condition} THEN 1 ELSE 0 END"), format!("{d}.{x} = 1")),
    };
    inner.items.push(super::block::Item { expr: expr(&value)?, alias: Some(x) });
    Some(format!("SELECT {} FROM ({}) AS {d} WHERE {test}", of(&d, &names), inner.sql()))
}

/// A derived table that only chooses rows and columns, merged into the query above it.
fn merge_derived(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let names: BTreeSet<String> = block.entries(cx)?.into_iter().map(|e| e.alias).collect();
    for at in cx.order(block.from.len()) {
        let TableFactor::Derived { subquery, alias: Some(alias), .. } = &block.from[at].factor else { continue };
        let Some(sub) = subblock(subquery).filter(|b| b.plain() && !b.from.is_empty()) else { continue };
        let sub = without_clash(&sub, &names, cx)?;
        let passes = block.from[at + 1..].iter().all(|s| s.kind.is_inner() || s.kind == Kind::Left);
        let only_names = sub.items.iter().all(|i| column(&i.expr).is_some());
        let kind = block.from[at].kind;
        // What a padded row holds is NULL; so it is for a column, but not for an expression over columns.
        let fits = if kind.is_inner() { passes } else { kind == Kind::Left && only_names && sub.from.len() == 1 };
        if !fits || sub.from.iter().any(|s| s.kind == Kind::Comma) {
            continue;
        }
        let mut new = block.clone();
        let map: BTreeMap<_, _> =
            (sub.items.iter()).filter_map(|i| Some(((alias.name.value.clone(), i.output()?), par(&i.expr)))).collect();
        if kind == Kind::Left {
            let mut on = super::block::conjuncts(block.from[at].on.as_ref()?);
            on.extend(sub.filter.clone());
            new.from[at].on = expr(&all(&on));
        } else {
            new.filter.extend(sub.filter.clone());
        }
        new.from[at].factor = match sub.from.as_slice() {
            [one] => one.factor.clone(),
            many => factor(&format!("({})", from_sql(many)))?,
        };
        exchange_all(&mut new, &map)?;
        return Some(new.sql());
    }
    None
}

/// The different rows of the different rows.
fn distinct_twice(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    if !block.distinct {
        return None;
    }
    let mut inner = block.clone();
    let names = inner.name_items(cx);
    inner.distinct = cx.chance(60) || !block.group.is_empty();
    let d = cx.fresh("d");
    let columns = of(&d, &names);
    Some(format!("SELECT DISTINCT {columns} FROM ({}) AS {d}", inner.sql()))
}

/// Whether the columns hold a key of every source, none of them padded.
fn holds_keys(block: &Block, cx: &Cx<'_>) -> bool {
    let Some(entries) = block.entries(cx) else { return false };
    let has = |alias: &str, c: &String| {
        block.items.iter().any(|i| column(&i.expr) == Some((alias, c.as_str())) && surely_not_null(&i.expr, &entries))
    };
    !entries.is_empty()
        && entries.iter().all(|e| {
            e.relation.is_some_and(|r| cx.facts.relations[r].keys().any(|key| key.iter().all(|c| has(&e.alias, c))))
        })
}

/// DISTINCT, or groups, of rows that hold a key.
fn distinct_of_key(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    if !block.plain() || !holds_keys(block, cx) {
        return None;
    }
    let keys: Vec<Expr> = block.items.iter().map(|i| i.expr.clone()).collect();
    if cx.chance(40) && keys.iter().all(|k| column(k).is_some()) {
        return Some(Block { group: keys, ..block.clone() }.sql());
    }
    Some(Block { distinct: true, ..block.clone() }.sql())
}

/// Rows that hold a key without DISTINCT.
fn drop_distinct(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    if !block.distinct || !block.rowwise() || !holds_keys(block, cx) {
        return None;
    }
    Some(Block { distinct: false, ..block.clone() }.sql())
}

/// Rows without DISTINCT. Wrong where there are duplicates.
fn drop_distinct_any(block: &Block, _: &mut Cx<'_>) -> Option<String> {
    block.distinct.then(|| Block { distinct: false, ..block.clone() }.sql())
}
