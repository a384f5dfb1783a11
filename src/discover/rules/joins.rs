//! Inner joins: where their conditions stand, their order, what is filtered before them, and joins that add nothing.

use super::block::{
    Block, Entry, Kind, Source, all, column, columns_of, conjuncts, exchange_all, expr, factor, has_subquery,
    qualifiers,
};
use super::facts::Cx;
use super::site::{Apply, Rule, table_name};
use sqlparser::ast::Expr;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

pub(super) const RULES: &[Rule] = &[
    Rule { name: "on-to-where", weight: 8, sound: true, apply: Apply::Block(on_to_where) },
    Rule { name: "where-to-on", weight: 6, sound: true, apply: Apply::Block(where_to_on) },
    Rule { name: "reorder-inner", weight: 16, sound: true, apply: Apply::Block(reorder) },
    Rule { name: "nest-inner", weight: 10, sound: true, apply: Apply::Block(nest) },
    Rule { name: "push-filter", weight: 14, sound: true, apply: Apply::Block(push_filter) },
    Rule { name: "self-join-on-key", weight: 10, sound: true, apply: Apply::Block(self_join) },
    Rule { name: "self-semi-join", weight: 4, sound: true, apply: Apply::Block(self_semi_join) },
    Rule { name: "key-lookup", weight: 8, sound: true, apply: Apply::Block(key_lookup) },
    Rule { name: "redundant-left-join", weight: 5, sound: true, apply: Apply::Block(redundant_left_join) },
    Rule { name: "redundant-foreign-join", weight: 12, sound: true, apply: Apply::Block(redundant_foreign_join) },
    Rule { name: "cross-one-row", weight: 2, sound: true, apply: Apply::Block(cross_one_row) },
];

/// Whether rows that a filter would remove at `at` are not padded again by a later join.
fn filters_pass(from: &[Source], at: usize) -> bool {
    from[at + 1..].iter().all(|s| s.kind.is_inner() || s.kind == Kind::Left)
}

fn all_inner(block: &Block) -> bool {
    block.from.iter().all(|s| s.kind.is_inner())
}

/// The condition of an inner join as a condition of WHERE over a cross join.
fn on_to_where(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let fits = |&at: &usize| {
        block.from[at].kind == Kind::Inner && block.from[at].on.is_some() && filters_pass(&block.from, at)
    };
    let at = cx.order(block.from.len()).into_iter().find(fits)?;
    let mut block = block.clone();
    let on = block.from[at].on.take()?;
    block.filter.extend(conjuncts(&on));
    // ON sees no table before a comma, so no condition may come after one.
    let comma = all_inner(&block) && block.from.iter().all(|s| s.on.is_none()) && cx.chance(50);
    block.from[at].kind = if comma { Kind::Comma } else { Kind::Cross };
    Some(block.sql())
}

/// A condition of WHERE in the last inner join's ON.
fn where_to_on(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let last = block.from.len().checked_sub(1).filter(|&at| at > 0 && all_inner(block))?;
    let conjunct = *cx.order(block.filter.len()).first()?;
    let mut block = block.clone();
    let moved = block.filter.remove(conjunct);
    let mut on = block.from[last].on.as_ref().map(conjuncts).unwrap_or_default();
    on.push(moved);
    for source in &mut block.from[1..] {
        source.kind = if source.on.is_some() { Kind::Inner } else { Kind::Cross };
    }
    block.from[last].kind = Kind::Inner;
    block.from[last].on = expr(&all(&on));
    Some(block.sql())
}

/// Inner joins in another order, their conditions in WHERE or in the last ON.
fn reorder(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    if !all_inner(block) || block.from.len() < 2 {
        return None;
    }
    let mut conditions: Vec<Expr> = block.from.iter().filter_map(|s| s.on.as_ref()).flat_map(conjuncts).collect();
    let mut order = cx.order(block.from.len());
    if order.is_sorted() {
        order.reverse();
    }
    let kind = cx.pick(&[Kind::Comma, Kind::Cross, Kind::Inner])?;
    let mut new = block.clone();
    new.from = order.iter().map(|&at| Source { kind, on: None, ..block.from[at].clone() }).collect();
    if kind == Kind::Inner && !conditions.is_empty() {
        new.from.last_mut()?.on = expr(&all(&conditions));
    } else {
        conditions.append(&mut new.filter);
        new.filter = conditions;
    }
    Some(new.sql())
}

/// The last two of three or more inner joins first: `a JOIN (b CROSS JOIN c) ON …`.
fn nest(block: &Block, _: &mut Cx<'_>) -> Option<String> {
    let n = block.from.len();
    if n < 3 || !all_inner(block) {
        return None;
    }
    let conditions: Vec<Expr> = block.from.iter().filter_map(|s| s.on.as_ref()).flat_map(conjuncts).collect();
    let text = format!("({} CROSS JOIN {})", block.from[n - 2].factor, block.from[n - 1].factor);
    let mut new = block.clone();
    new.from.truncate(n - 2);
    for source in &mut new.from {
        source.on = None;
        source.kind = Kind::Cross;
    }
    new.from.push(Source { kind: Kind::Inner, factor: factor(&text)?, on: expr(&all(&conditions)) });
    Some(new.sql())
}

/// A source that is one table, as a derived table of the columns that are used, after some conditions. `write` makes
/// the derived table's query from its parts: select list, FROM and WHERE.
pub(super) fn derive(
    block: &Block,
    at: usize,
    conditions: &[Expr],
    cx: &mut Cx<'_>,
    write: impl FnOnce(&str, &str, &[String], &mut Cx<'_>) -> Option<String>,
) -> Option<Block> {
    let (_, alias) = table_name(&block.from[at].factor)?;
    let used: BTreeSet<(String, String)> = block.exprs().flat_map(columns_of).filter(|(q, _)| *q == alias).collect();
    let d = cx.fresh("d");
    let names: Vec<String> = used.iter().map(|(_, c)| c.clone()).collect();
    let items: Vec<String> = names.iter().map(|c| format!("{alias}.{c} AS {c}")).collect();
    let items = if items.is_empty() { format!("1 AS {}", cx.fresh("x")) } else { items.join(", ") };
    let mut tail = format!(" FROM {}", block.from[at].factor);
    if !conditions.is_empty() {
        let _ = write!(tail, " WHERE {}", all(conditions));
    }
    let query = write(&items, &tail, &names, cx)?;
    let mut new = block.clone();
    new.from[at].factor = factor(&format!("({query}) AS {d}"))?;
    let map: BTreeMap<_, _> = used
        .into_iter()
        .map(|(q, c)| {
            let path = format!("{d}.{c}");
            ((q, c), path)
        })
        .collect();
    exchange_all(&mut new, &map)?;
    Some(new)
}

/// Conditions on one table only, applied before the join: of WHERE where no join pads the table, and of ON where the
/// join pads it itself.
fn push_filter(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    for at in cx.order(block.from.len()) {
        let Some((_, alias)) = table_name(&block.from[at].factor) else { continue };
        let own = |e: &Expr| qualifiers(e).iter().all(|q| *q == alias) && !has_subquery(e) && !columns_of(e).is_empty();
        let mut new = block.clone();
        let kind = block.from[at].kind;
        let pushed: Vec<Expr> = if kind == Kind::Left {
            let (own, rest): (Vec<_>, Vec<_>) = conjuncts(block.from[at].on.as_ref()?).into_iter().partition(own);
            new.from[at].on = expr(&all(&rest));
            own
        } else if kind.is_inner() && filters_pass(&block.from, at) {
            let (own, rest): (Vec<_>, Vec<_>) = block.filter.iter().cloned().partition(own);
            new.filter = rest;
            own
        } else {
            continue;
        };
        if pushed.is_empty() {
            continue;
        }
        let derived = derive(&new, at, &pushed, cx, |items, tail, _, _| Some(format!("SELECT {items}{tail}")))?;
        return Some(derived.sql());
    }
    None
}

/// A random entry that is a table, with its relation and alias.
fn table_entry(block: &Block, cx: &mut Cx<'_>) -> Option<Entry> {
    let entries = block.entries(cx)?;
    let tables: Vec<Entry> = entries.into_iter().filter(|e| e.relation.is_some()).collect();
    cx.pick(&tables)
}

/// The table again, joined on a key, and some of the columns taken from there.
fn self_join(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let entry = table_entry(block, cx)?;
    let relation = &cx.facts.relations[entry.relation?];
    let key = cx.pick(&relation.keys().cloned().collect::<Vec<_>>())?;
    let d = cx.fresh("d");
    let on: Vec<String> = key.iter().map(|c| format!("{d}.{c} = {}.{c}", entry.alias)).collect();
    let kind = if entry.padded || cx.chance(30) { Kind::Left } else { Kind::Inner };
    let mut new = block.clone();
    let used: BTreeSet<(String, String)> = (block.items.iter().map(|i| &i.expr))
        .chain(&block.filter)
        .chain(&block.group)
        .chain(&block.having)
        .flat_map(columns_of)
        .filter(|(q, c)| *q == entry.alias && !key.contains(c))
        .collect();
    let map: BTreeMap<_, _> = used
        .into_iter()
        .filter(|_| cx.chance(60))
        .map(|(q, c)| {
            let path = format!("{d}.{c}");
            ((q, c), path)
        })
        .collect();
    let ons: Vec<Option<Expr>> = new.from.iter().map(|s| s.on.clone()).collect();
    exchange_all(&mut new, &map)?;
    for (source, on) in new.from.iter_mut().zip(ons) {
        source.on = on;
    }
    add(&mut new, kind, &format!("{} AS {d}", relation.name), Some(&on.join(" AND ")))?;
    Some(new.sql())
}

/// Adds a source at the end. After a comma it could not see the tables before.
pub(super) fn add(block: &mut Block, kind: Kind, text: &str, on: Option<&str>) -> Option<()> {
    for source in block.from.iter_mut().skip(1) {
        if source.kind == Kind::Comma {
            source.kind = Kind::Cross;
        }
    }
    let on = match on {
        Some(on) => Some(expr(on)?),
        None => None,
    };
    block.from.push(Source { kind, factor: factor(text)?, on });
    Some(())
}

/// There is a row like this one: the row itself. Not below aggregates: few such pairs are proven, and slowly.
fn self_semi_join(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let entry = table_entry(block, cx)?;
    let relation = &cx.facts.relations[entry.relation?];
    if entry.padded || !block.rowwise() {
        return None;
    }
    let c = cx.pick(&relation.columns)?;
    let d = cx.fresh("d");
    let equal = if c.not_null {
        format!("{d}.{0} = {1}.{0}", c.name, entry.alias)
    } else {
        format!("{d}.{0} IS NOT DISTINCT FROM {1}.{0}", c.name, entry.alias)
    };
    let condition = if c.not_null && cx.chance(50) {
        format!("{1}.{0} IN (SELECT {d}.{0} FROM {2} AS {d})", c.name, entry.alias, relation.name)
    } else {
        format!("EXISTS (SELECT 1 FROM {} AS {d} WHERE {equal})", relation.name)
    };
    Some(block.and(&condition)?.sql())
}

/// A column of a row, looked up by the row's key.
fn key_lookup(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let entry = table_entry(block, cx)?;
    let relation = &cx.facts.relations[entry.relation?];
    let key = cx.pick(&relation.keys().cloned().collect::<Vec<_>>())?;
    // Under GROUP BY the column may not stand in a subquery of its own.
    let fits = |e: &Expr| {
        column(e).is_some_and(|(q, c)| q == entry.alias && !key.iter().any(|k| k == c)) && block.group.is_empty()
    };
    let d = cx.fresh("d");
    let mut new = block.clone();
    let item = new.items.iter_mut().find(|i| fits(&i.expr))?;
    item.alias = item.output();
    let (_, name) = column(&item.expr)?;
    let on: Vec<String> = key.iter().map(|c| format!("{d}.{c} = {}.{c}", entry.alias)).collect();
    item.expr = expr(&format!("(SELECT {d}.{name} FROM {} AS {d} WHERE {})", relation.name, on.join(" AND ")))?;
    Some(new.sql())
}

/// A left join to a table on a unique column: each row meets at most one, and keeps one row.
fn redundant_left_join(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let entries = block.entries(cx)?;
    let mut joins = Vec::new();
    for relation in &cx.facts.relations {
        for key in relation.unique.iter().filter(|key| key.len() == 1) {
            let ty = relation.columns.iter().find(|c| c.name == key[0]).and_then(|c| c.ty);
            for (entry, c) in entries.iter().flat_map(|e| e.columns.iter().map(move |c| (e, c))) {
                if c.ty.is_some() && c.ty == ty {
                    joins.push((relation.name.clone(), format!("{}.{}", entry.alias, c.name), key[0].clone()));
                }
            }
        }
    }
    let (table, path, key) = cx.pick(&joins)?;
    let d = cx.fresh("d");
    let mut new = block.clone();
    add(&mut new, Kind::Left, &format!("{table} AS {d}"), Some(&format!("{d}.{key} = {path}")))?;
    Some(new.sql())
}

/// A join along a foreign key whose columns are not NULL: each row meets exactly one.
fn redundant_foreign_join(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let entry = table_entry(block, cx)?;
    let relation = &cx.facts.relations[entry.relation?];
    let reference = cx.pick(&relation.foreign)?;
    let not_null = |name: &String| relation.columns.iter().any(|c| c.name == *name && c.not_null);
    let surely = !entry.padded && reference.columns.iter().all(not_null);
    let table = &cx.facts.relations[reference.table];
    let d = cx.fresh("d");
    let on: Vec<String> = (reference.columns.iter().zip(&reference.referred))
        .map(|(own, other)| format!("{d}.{other} = {}.{own}", entry.alias))
        .collect();
    let on = on.join(" AND ");
    if surely && cx.chance(40) {
        return Some(block.and(&format!("EXISTS (SELECT 1 FROM {} AS {d} WHERE {on})", table.name))?.sql());
    }
    let mut new = block.clone();
    let kind = if surely { Kind::Inner } else { Kind::Left };
    add(&mut new, kind, &format!("{} AS {d}", table.name), Some(&on))?;
    Some(new.sql())
}

/// A cross join with one row: of an aggregate, or of no table.
fn cross_one_row(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    if block.from.is_empty() {
        return None;
    }
    let tables: Vec<String> = cx.facts.relations.iter().map(|r| r.name.clone()).collect();
    let table = cx.pick(&tables)?;
    let (d, x) = (cx.fresh("d"), cx.fresh("x"));
    let inner = if cx.chance(60) { format!("SELECT COUNT(*) AS {x} FROM {table}") } else { format!("SELECT 1 AS {x}") };
    let mut new = block.clone();
    if cx.chance(50) {
        add(&mut new, Kind::Left, &format!("({inner}) AS {d}"), Some("TRUE"))?;
    } else {
        add(&mut new, Kind::Cross, &format!("({inner}) AS {d}"), None)?;
    }
    Some(new.sql())
}
