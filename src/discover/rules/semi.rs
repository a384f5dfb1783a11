//! Semi-joins and anti-joins in their many forms: IN, EXISTS, counting, joins with and without duplicates, set
//! operations. They differ where NULLs meet (NOT IN) and where a row has two partners.

use super::block::{
    Block, Entry, Kind, all, bare, column, columns_of, conjuncts, exchange_all, expr, factor, has_subquery, par,
    qualifiers, resolve, surely_not_null,
};
use super::facts::Cx;
use super::joins::add;
use super::outer::{equated, marked};
use super::site::{Apply, Position, Rule, table_name};
use sqlparser::ast::{BinaryOperator, Expr, Query, SetExpr, TableFactor};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const RULES: &[Rule] = &[
    Rule { name: "in-to-exists", weight: 20, sound: true, apply: Apply::Expr(in_to_exists) },
    Rule { name: "exists-to-in", weight: 20, sound: true, apply: Apply::Expr(exists_to_in) },
    Rule { name: "exists-to-count", weight: 16, sound: true, apply: Apply::Expr(exists_to_count) },
    Rule { name: "exists-nested", weight: 10, sound: true, apply: Apply::Expr(exists_nested) },
    Rule { name: "not-in-to-not-exists", weight: 16, sound: true, apply: Apply::Expr(not_in_to_not_exists) },
    Rule { name: "not-exists-to-not-in", weight: 16, sound: true, apply: Apply::Expr(not_exists_to_not_in) },
    Rule { name: "not-exists-to-not-in-null", weight: 1, sound: false, apply: Apply::Expr(not_exists_to_not_in_null) },
    Rule { name: "in-to-join", weight: 20, sound: true, apply: Apply::Block(in_to_join) },
    Rule { name: "exists-to-join", weight: 20, sound: true, apply: Apply::Block(exists_to_join) },
    Rule { name: "exists-to-distinct-join", weight: 20, sound: true, apply: Apply::Block(exists_to_distinct_join) },
    Rule { name: "not-exists-to-left-join", weight: 24, sound: true, apply: Apply::Block(not_exists_to_left_join) },
    Rule { name: "left-join-to-not-exists", weight: 24, sound: true, apply: Apply::Block(left_join_to_not_exists) },
    Rule { name: "join-to-exists", weight: 20, sound: true, apply: Apply::Block(join_to_exists) },
    Rule { name: "join-to-exists-duplicates", weight: 1, sound: false, apply: Apply::Block(join_to_exists_wrong) },
    Rule { name: "in-to-intersect", weight: 16, sound: true, apply: Apply::Block(in_to_intersect) },
];

/// A subquery that is one SELECT.
pub(super) fn subblock(query: &Query) -> Option<Block> {
    if query.with.is_some() || query.order_by.is_some() || query.limit_clause.is_some() {
        return None;
    }
    match query.body.as_ref() {
        SetExpr::Select(select) => Block::read(select),
        _ => None,
    }
}

/// The block with new names for its sources, where an old one is among `taken`.
pub(super) fn without_clash(block: &Block, taken: &BTreeSet<String>, cx: &mut Cx<'_>) -> Option<Block> {
    let mut new = block.clone();
    let mut map = BTreeMap::new();
    for (at, source) in block.from.iter().enumerate() {
        let entries: Vec<Entry> = block.entries(cx)?.into_iter().filter(|e| e.source == at).collect();
        let [entry] = entries.as_slice() else { return None };
        if !taken.contains(&entry.alias) {
            continue;
        }
        let d = cx.fresh("d");
        new.from[at].factor = match &source.factor {
            TableFactor::Derived { subquery, .. } => factor(&format!("({subquery}) AS {d}"))?,
            table => factor(&format!("{} AS {d}", table_name(table)?.0))?,
        };
        map.extend(entry.columns.iter().map(|c| ((entry.alias.clone(), c.name.clone()), format!("{d}.{}", c.name))));
    }
    exchange_all(&mut new, &map)?;
    Some(new)
}

fn sides(e: &Expr) -> Vec<Expr> {
    match bare(e) {
        Expr::Tuple(parts) => parts.clone(),
        other => vec![other.clone()],
    }
}

/// The subquery of an IN with one condition more: that its row is the one looked for.
fn membership(looked_for: &Expr, subquery: &Query, cx: &mut Cx<'_>, how: &str) -> Option<Block> {
    let sub = without_clash(&subblock(subquery)?, &qualifiers(looked_for), cx)?;
    let sides = sides(looked_for);
    if !sub.rowwise() || sub.items.len() != sides.len() {
        return None;
    }
    let mut new = sub.clone();
    new.distinct = false;
    for (side, item) in sides.iter().zip(&sub.items) {
        let equal = format!("{} = {}", par(&item.expr), par(side));
        new = new.and(&if how.is_empty() { equal } else { format!("({equal}) {how}") })?;
    }
    new.items.truncate(1);
    new.items[0].expr = expr("1")?;
    new.items[0].alias = None;
    Some(new)
}

/// IN as EXISTS, where only truth matters.
fn in_to_exists(e: &Expr, position: Position, cx: &mut Cx<'_>) -> Option<String> {
    let Expr::InSubquery { expr, subquery, negated: false } = e else { return None };
    if position != Position::Filter {
        return None;
    }
    Some(format!("EXISTS ({})", membership(expr, subquery, cx, "")?.sql()))
}

/// NOT IN as NOT EXISTS of a row that is not surely different, where only truth matters.
fn not_in_to_not_exists(e: &Expr, position: Position, cx: &mut Cx<'_>) -> Option<String> {
    let Expr::InSubquery { expr, subquery, negated: true } = e else { return None };
    if position != Position::Filter || sides(expr).len() != 1 {
        return None;
    }
    Some(format!("NOT EXISTS ({})", membership(expr, subquery, cx, "IS NOT FALSE")?.sql()))
}

/// A correlated subquery without one of its equations, which is returned as the outer and the inner side.
fn without_equation(subquery: &Query, cx: &mut Cx<'_>) -> Option<(Block, Expr, Expr)> {
    let sub = subblock(subquery).filter(Block::rowwise)?;
    let inner: BTreeSet<String> = sub.entries(cx)?.into_iter().map(|e| e.alias).collect();
    for at in cx.order(sub.filter.len()) {
        if let Some((outside, inside)) = equation(&sub.filter[at], &inner) {
            let mut rest = sub.clone();
            rest.filter.remove(at);
            return Some((rest, outside, inside));
        }
    }
    None
}

/// The sides of an equation between something outside and something inside a subquery.
fn equation(condition: &Expr, inner: &BTreeSet<String>) -> Option<(Expr, Expr)> {
    let Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = bare(condition) else { return None };
    let inside = |e: &Expr| {
        let used = qualifiers(e);
        !used.is_empty() && used.is_subset(inner) && !has_subquery(e)
    };
    let outside = |e: &Expr| {
        let used = qualifiers(e);
        !used.is_empty() && used.is_disjoint(inner) && !has_subquery(e)
    };
    if inside(left) && outside(right) {
        Some((right.as_ref().clone(), left.as_ref().clone()))
    } else if inside(right) && outside(left) {
        Some((left.as_ref().clone(), right.as_ref().clone()))
    } else {
        None
    }
}

/// EXISTS as IN by one of its equations; NOT EXISTS as an IN that is not true.
fn exists_to_in(e: &Expr, position: Position, cx: &mut Cx<'_>) -> Option<String> {
    let Expr::Exists { subquery, negated } = e else { return None };
    let (rest, outside, inside) = without_equation(subquery, cx)?;
    let text = format!("{} IN ({})", par(&outside), rest.select(&inside.to_string()));
    Some(match (negated, position) {
        (true, _) => format!("({text}) IS NOT TRUE"),
        (false, Position::Filter) => text,
        (false, Position::Value) => format!("({text}) IS TRUE"),
    })
}

/// NOT EXISTS as NOT IN among what is not NULL, for what is not NULL.
fn not_exists_to_not_in(e: &Expr, position: Position, cx: &mut Cx<'_>) -> Option<String> {
    let Expr::Exists { subquery, negated: true } = e else { return None };
    let (rest, outside, inside) = without_equation(subquery, cx)?;
    if position != Position::Filter {
        return None;
    }
    let entries = rest.entries(cx)?;
    let not_null = surely_not_null(&inside, &entries);
    let rest = if not_null { rest } else { rest.and(&format!("{} IS NOT NULL", par(&inside)))? };
    let outside = par(&outside);
    Some(format!("({outside} IS NULL OR {outside} NOT IN ({}))", rest.select(&inside.to_string())))
}

/// NOT EXISTS as NOT IN. Wrong where either side is NULL.
fn not_exists_to_not_in_null(e: &Expr, _: Position, cx: &mut Cx<'_>) -> Option<String> {
    let Expr::Exists { subquery, negated: true } = e else { return None };
    let (rest, outside, inside) = without_equation(subquery, cx)?;
    Some(format!("{} NOT IN ({})", par(&outside), rest.select(&inside.to_string())))
}

/// EXISTS as a count that is not zero.
fn exists_to_count(e: &Expr, _: Position, cx: &mut Cx<'_>) -> Option<String> {
    let Expr::Exists { subquery, negated } = e else { return None };
    let sub = subblock(subquery).filter(Block::rowwise)?;
    let count = format!("({})", sub.select("COUNT(*)"));
    let test = if *negated { cx.pick(&["= 0", "< 1"])? } else { cx.pick(&["> 0", "<> 0", ">= 1"])? };
    Some(format!("{count} {test}"))
}

/// EXISTS over a derived table, or over different or grouped rows.
fn exists_nested(e: &Expr, _: Position, cx: &mut Cx<'_>) -> Option<String> {
    let Expr::Exists { subquery, negated } = e else { return None };
    let sub = subblock(subquery).filter(|b| b.plain() && !b.from.is_empty())?;
    let not = if *negated { "NOT " } else { "" };
    let entries = sub.entries(cx)?;
    let inner: BTreeSet<String> = entries.iter().map(|e| e.alias.clone()).collect();
    let used: Vec<String> = (sub.exprs().flat_map(columns_of))
        .filter(|(q, _)| inner.contains(q))
        .map(|(q, c)| format!("{q}.{c}"))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let column = cx.pick(&used).unwrap_or_else(|| "1".to_owned());
    Some(match cx.pick(&[0, 1, 2])? {
        0 => format!("{not}EXISTS ({})", sub.select(&format!("DISTINCT {column}"))),
        1 if column != "1" => format!("{not}EXISTS ({} GROUP BY {column})", sub.select(&column)),
        _ => {
            let (d, x) = (cx.fresh("d"), cx.fresh("x"));
            format!("{not}EXISTS (SELECT 1 FROM ({}) AS {d})", sub.select(&format!("{column} AS {x}")))
        }
    })
}

/// A random conjunct of WHERE for which `read` finds something, and the block without it.
fn take<T>(block: &Block, cx: &mut Cx<'_>, read: impl Fn(&Expr) -> Option<T>) -> Option<(Block, T)> {
    cx.order(block.filter.len()).into_iter().find_map(|at| {
        let found = read(bare(&block.filter[at]))?;
        let mut rest = block.clone();
        rest.filter.remove(at);
        Some((rest, found))
    })
}

fn take_in(block: &Block, cx: &mut Cx<'_>) -> Option<(Block, Expr, Query)> {
    let (rest, (looked_for, subquery)) = take(block, cx, |e| match e {
        Expr::InSubquery { expr, subquery, negated: false } => Some((expr.as_ref().clone(), subquery.as_ref().clone())),
        _ => None,
    })?;
    Some((rest, looked_for, subquery))
}

fn take_exists(block: &Block, cx: &mut Cx<'_>, negate: bool) -> Option<(Block, Block)> {
    take(block, cx, |e| match e {
        Expr::Exists { subquery, negated } if *negated == negate => subblock(subquery).filter(Block::rowwise),
        _ => None,
    })
}

fn names(block: &Block, cx: &Cx<'_>) -> Option<BTreeSet<String>> {
    Some(block.entries(cx)?.into_iter().map(|e| e.alias).collect())
}

/// IN as a join with the different rows of its subquery.
fn in_to_join(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let (mut rest, looked_for, subquery) = take_in(block, cx)?;
    let mut sub = subblock(&subquery)?;
    let outer = names(&rest, cx)?;
    let own = names(&sub, cx)?;
    let correlated = columns_of(&subquery).iter().any(|(q, _)| outer.contains(q) && !own.contains(q));
    let sides = sides(&looked_for);
    if rest.from.is_empty() || correlated || sides.len() != sub.items.len() {
        return None;
    }
    let columns = sub.name_items(cx);
    sub.distinct = true;
    let d = cx.fresh("d");
    let on: Vec<String> = sides.iter().zip(&columns).map(|(s, c)| format!("{d}.{c} = {}", par(s))).collect();
    add(&mut rest, Kind::Inner, &format!("({}) AS {d}", sub.sql()), Some(&on.join(" AND ")))?;
    Some(rest.sql())
}

/// EXISTS that is correlated by equations only, as a join with the different rows of the inner sides.
fn exists_to_join(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let (mut rest, mut sub) = take_exists(block, cx, false)?;
    let inner = names(&sub, cx)?;
    let mut on = Vec::new();
    let mut own = Vec::new();
    let d = cx.fresh("d");
    let mut items = Vec::new();
    for condition in &sub.filter {
        if let Some((outside, inside)) = equation(condition, &inner) {
            let x = cx.fresh("x");
            on.push(format!("{d}.{x} = {}", par(&outside)));
            items.push((inside.to_string(), x));
        } else if qualifiers(condition).is_subset(&inner) {
            own.push(condition.clone());
        } else {
            return None;
        }
    }
    if items.is_empty() || rest.from.is_empty() {
        return None;
    }
    sub.filter = own;
    let list: Vec<String> = items.iter().map(|(e, x)| format!("{e} AS {x}")).collect();
    let list = list.join(", ");
    let keys: Vec<String> = items.into_iter().map(|(e, _)| e).collect();
    let derived = if cx.chance(50) {
        sub.select(&format!("DISTINCT {list}"))
    } else {
        let n = cx.fresh("x");
        format!("{} GROUP BY {}", sub.select(&format!("{list}, COUNT(*) AS {n}")), keys.join(", "))
    };
    add(&mut rest, Kind::Inner, &format!("({derived}) AS {d}"), Some(&on.join(" AND ")))?;
    Some(rest.sql())
}

/// EXISTS under DISTINCT as a join: duplicates vanish anyway.
fn exists_to_distinct_join(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    if !block.distinct || !block.rowwise() || block.from.is_empty() {
        return None;
    }
    let (mut rest, sub) = take_exists(block, cx, false)?;
    let sub = without_clash(&sub, &names(&rest, cx)?, cx)?;
    if sub.from.iter().any(|s| !s.kind.is_inner()) {
        return None;
    }
    for source in &sub.from {
        add(&mut rest, Kind::Cross, &source.factor.to_string(), None)?;
        rest.filter.extend(source.on.as_ref().map(conjuncts).unwrap_or_default());
    }
    rest.filter.extend(sub.filter);
    Some(rest.sql())
}

/// NOT EXISTS over one table as a left join of which only the padded rows stay.
fn not_exists_to_left_join(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let (mut rest, sub) = take_exists(block, cx, true)?;
    if sub.from.len() != 1 || rest.from.is_empty() || sub.filter.iter().any(has_subquery) {
        return None;
    }
    let sub = without_clash(&sub, &names(&rest, cx)?, cx)?;
    let relation_key = sub.entries(cx)?.into_iter().find_map(|e| {
        let c = e.columns.iter().find(|c| c.not_null)?;
        Some(format!("{}.{}", e.alias, c.name))
    });
    let (joined, test) = match relation_key {
        Some(path) if cx.chance(70) => (sub, path),
        _ => marked(&sub, 0, cx)?,
    };
    add(&mut rest, Kind::Left, &joined.from[0].factor.to_string(), Some(&all(&joined.filter)))?;
    Some(rest.and(&format!("{test} IS NULL"))?.sql())
}

/// A left join of which only padded rows stay, as NOT EXISTS.
fn left_join_to_not_exists(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let last = block.from.len().checked_sub(1).filter(|&at| at > 0 && block.from[at].kind == Kind::Left)?;
    let entries = block.entries(cx)?;
    let own = block.aliases(last, cx)?;
    let on = block.from[last].on.clone()?;
    let surely_padded = |e: &Expr| {
        let Expr::IsNull(tested) = bare(e) else { return false };
        let Some((q, c)) = column(tested) else { return false };
        let never_null = resolve(tested, &entries).is_some_and(|c| c.not_null)
            || conjuncts(&on).iter().any(|on| equated(on, q).as_deref() == Some(c));
        own.contains(q) && never_null
    };
    let at = block.filter.iter().position(surely_padded)?;
    let mut new = block.clone();
    new.filter.remove(at);
    let partner = new.from.pop()?;
    if new.exprs().any(|e| !qualifiers(e).is_disjoint(&own)) {
        return None;
    }
    Some(new.and(&format!("NOT EXISTS (SELECT 1 FROM {} WHERE {on})", partner.factor))?.sql())
}

/// The last source of an inner join, of which nothing is returned, as EXISTS; and whether that keeps duplicates: under
/// DISTINCT, or where each row meets at most one partner.
fn last_to_exists(block: &Block, cx: &mut Cx<'_>) -> Option<(String, bool)> {
    let last = block.from.len().checked_sub(1).filter(|&at| at > 0 && block.from[at].kind.is_inner())?;
    let entries = block.entries(cx)?;
    let own = block.aliases(last, cx)?;
    let mut new = block.clone();
    let partner = new.from.pop()?;
    let touches = |e: &Expr| !qualifiers(e).is_disjoint(&own);
    let (inside, outside): (Vec<_>, Vec<_>) = new.filter.into_iter().partition(touches);
    new.filter = outside;
    if new.exprs().any(touches) {
        return None;
    }
    let mut conditions = partner.on.as_ref().map(conjuncts).unwrap_or_default();
    conditions.extend(inside);
    let unique = entries.iter().filter(|e| e.source == last).all(|e| {
        let equal: BTreeSet<String> = conditions.iter().filter_map(|c| equated(c, &e.alias)).collect();
        e.relation.is_some_and(|r| cx.facts.relations[r].unique.iter().any(|key| key.iter().all(|c| equal.contains(c))))
    });
    let exact = (block.distinct && block.rowwise()) || (unique && own.len() == 1);
    let text = new.and(&format!("EXISTS (SELECT 1 FROM {} WHERE {})", partner.factor, all(&conditions)))?.sql();
    Some((text, exact))
}

/// A join of which only its being there matters, as EXISTS.
fn join_to_exists(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    last_to_exists(block, cx).filter(|(_, exact)| *exact).map(|(text, _)| text)
}

/// A join as EXISTS. Wrong where a row has two partners.
fn join_to_exists_wrong(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    last_to_exists(block, cx).filter(|(_, exact)| !exact).map(|(text, _)| text)
}

/// Different values that are IN a subquery, as an intersection.
fn in_to_intersect(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    if !block.distinct || !block.rowwise() {
        return None;
    }
    let (mut rest, looked_for, subquery) = take_in(block, cx)?;
    let sides = sides(&looked_for);
    if sides.len() != rest.items.len() || sides.iter().zip(&rest.items).any(|(s, i)| *s != i.expr) {
        return None;
    }
    for side in &sides {
        rest = rest.and(&format!("{} IS NOT NULL", par(side)))?;
    }
    rest.distinct = false;
    let outer = names(&rest, cx)?;
    let sub = subblock(&subquery)?;
    let own = names(&sub, cx)?;
    if columns_of(&subquery).iter().any(|(q, _)| outer.contains(q) && !own.contains(q)) {
        return None;
    }
    Some(format!("{} INTERSECT {}", rest.sql(), sub.sql()))
}
