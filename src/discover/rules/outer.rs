//! Outer joins: their direction, their padding as a branch of its own, and the cases in which they are inner joins.

use super::block::{
    Block, Entry, Kind, Source, all, bare, column, columns_of, conjuncts, exchange, expr, factor, from_sql,
    has_subquery, qualifiers, surely_not_null,
};
use super::facts::Cx;
use super::joins::{add, derive};
use super::site::{Apply, Rule, table_name};
use sqlparser::ast::{BinaryOperator, Expr, TableFactor};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const RULES: &[Rule] = &[
    Rule { name: "turn-join", weight: 12, sound: true, apply: Apply::Block(turn) },
    Rule { name: "left-join-to-union", weight: 24, sound: true, apply: Apply::Block(left_to_union) },
    Rule { name: "full-join-to-union", weight: 24, sound: true, apply: Apply::Block(full_to_union) },
    Rule { name: "outer-to-inner", weight: 20, sound: true, apply: Apply::Block(outer_to_inner) },
    Rule { name: "outer-to-inner-padded", weight: 1, sound: false, apply: Apply::Block(outer_to_inner_padded) },
    Rule { name: "inner-to-marked-left", weight: 10, sound: true, apply: Apply::Block(inner_to_left) },
    Rule { name: "left-to-marked-full", weight: 10, sound: true, apply: Apply::Block(left_to_full) },
    Rule { name: "drop-left-join", weight: 16, sound: true, apply: Apply::Block(drop_left_join) },
    Rule { name: "on-to-where-outer", weight: 1, sound: false, apply: Apply::Block(on_to_where_outer) },
];

/// The last join with its sides exchanged: LEFT becomes RIGHT.
fn turn(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let mut new = block.clone();
    let last = new.from.pop().filter(|_| !new.from.is_empty())?;
    let kind = match last.kind {
        Kind::Left => Kind::Right,
        Kind::Right => Kind::Left,
        Kind::Full => Kind::Full,
        Kind::Inner => cx.pick(&[Kind::Inner, Kind::Inner])?,
        _ => return None,
    };
    let left = as_factor(&new.from)?;
    let first = Source { kind: Kind::First, factor: last.factor, on: None };
    new.from = vec![first, Source { kind, factor: left, on: last.on }];
    Some(new.sql())
}

/// Sources as one factor; none if a comma is among them, which cannot stand in parentheses.
fn as_factor(from: &[Source]) -> Option<TableFactor> {
    match from {
        [one] => Some(one.factor.clone()),
        many if many.iter().any(|s| s.kind == Kind::Comma) => None,
        many => factor(&format!("({})", from_sql(many))),
    }
}

/// What the columns of padded names are: NULL of their type.
fn nulls(entries: &[Entry]) -> BTreeMap<(String, String), String> {
    let columns = entries.iter().flat_map(|e| e.columns.iter().map(move |c| (e, c)));
    columns
        .map(|(e, c)| {
            let null = c.ty.map_or_else(|| "NULL".to_owned(), |ty| format!("CAST(NULL AS {})", sql_type(ty)));
            ((e.alias.clone(), c.name.clone()), null)
        })
        .collect()
}

fn sql_type(ty: crate::sql::types::SqlType) -> String {
    match ty {
        crate::sql::types::SqlType::Real => "DOUBLE PRECISION".to_owned(),
        other => other.to_string(),
    }
}

/// A block with names exchanged, its columns' names kept.
fn padded(block: &Block, map: &BTreeMap<(String, String), String>) -> Option<Block> {
    let mut new = block.clone();
    super::block::exchange_all(&mut new, map)?;
    Some(new)
}

/// The pairs of an outer join, and in a branch of its own the rows without a partner.
fn left_to_union(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let at = block.from.len().checked_sub(1).filter(|&at| at > 0)?;
    if !block.plain() || block.from[at].kind != Kind::Left {
        return None;
    }
    let right: Vec<Entry> = block.entries(cx)?.into_iter().filter(|e| e.source == at).collect();
    let mut pairs = block.clone();
    pairs.from[at].kind = Kind::Inner;
    let mut rest = block.clone();
    let partner = rest.from.pop()?;
    let mut rest = padded(&rest, &nulls(&right))?;
    rest.filter.push(without_partner(&partner.factor, partner.on.as_ref(), cx)?);
    Some(format!("{} UNION ALL {}", pairs.sql(), rest.sql()))
}

/// No row of the factor satisfies the condition.
fn without_partner(partner: &TableFactor, on: Option<&Expr>, cx: &mut Cx<'_>) -> Option<Expr> {
    let (factor, on) = renamed(partner, on, cx)?;
    match on {
        Some(on) => expr(&format!("NOT EXISTS (SELECT 1 FROM {factor} WHERE {on})")),
        None => expr(&format!("NOT EXISTS (SELECT 1 FROM {factor})")),
    }
}

/// A factor under another name, if it is a table: inside a subquery the old name could hide one outside.
fn renamed(partner: &TableFactor, on: Option<&Expr>, cx: &mut Cx<'_>) -> Option<(String, Option<Expr>)> {
    let Some((name, alias)) = table_name(partner) else { return Some((partner.to_string(), on.cloned())) };
    if cx.chance(60) {
        return Some((partner.to_string(), on.cloned()));
    }
    let d = cx.fresh("d");
    let mut on = on.cloned();
    if let Some(on) = &mut on {
        let map: BTreeMap<_, _> = columns_of(on)
            .into_iter()
            .filter(|(q, _)| *q == alias)
            .map(|(q, c)| {
                let path = format!("{d}.{c}");
                ((q, c), path)
            })
            .collect();
        exchange(on, &map)?;
    }
    Some((format!("{name} AS {d}"), on))
}

/// A full join as a left or right join and the other side's rows without a partner.
fn full_to_union(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    if !block.plain() || block.from.len() != 2 || block.from[1].kind != Kind::Full {
        return None;
    }
    let entries = block.entries(cx)?;
    let keep = usize::from(cx.chance(50));
    let mut joined = block.clone();
    joined.from[1].kind = if keep == 0 { Kind::Left } else { Kind::Right };
    let on = block.from[1].on.clone();
    let lost: Vec<Entry> = entries.into_iter().filter(|e| e.source == keep).collect();
    let mut rest = block.clone();
    let mut other = rest.from.remove(1 - keep);
    (other.kind, other.on) = (Kind::First, None);
    rest.from = vec![other];
    let mut rest = padded(&rest, &nulls(&lost))?;
    rest.filter.push(without_partner(&block.from[keep].factor, on.as_ref(), cx)?);
    Some(format!("{} UNION ALL {}", joined.sql(), rest.sql()))
}

/// Whether a condition cannot be true of a row whose columns of these names are all NULL.
fn rejects_null(condition: &Expr, aliases: &BTreeSet<String>) -> bool {
    let of = |e: &Expr| column(e).is_some_and(|(q, _)| aliases.contains(q));
    match bare(condition) {
        Expr::BinaryOp { left, op, right } => match op {
            BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq => of(left) || of(right),
            BinaryOperator::And => rejects_null(left, aliases) || rejects_null(right, aliases),
            BinaryOperator::Or => rejects_null(left, aliases) && rejects_null(right, aliases),
            _ => false,
        },
        Expr::IsNotNull(e) | Expr::IsTrue(e) | Expr::IsFalse(e) => of(e),
        Expr::InSubquery { expr, .. } | Expr::InList { expr, .. } | Expr::Between { expr, .. } => of(expr),
        name @ Expr::CompoundIdentifier(_) => of(name),
        _ => false,
    }
}

/// An outer join whose padded rows WHERE removes, as the join that does not pad.
fn outer_to_inner(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let last = block.from.len().checked_sub(1).filter(|&at| at > 0)?;
    let entries = block.entries(cx)?;
    let names = |right: bool| -> BTreeSet<String> {
        entries.iter().filter(|e| (e.source == last) == right).map(|e| e.alias.clone()).collect()
    };
    let rejected = |right: bool| block.filter.iter().any(|c| rejects_null(c, &names(right)));
    let kind = match block.from[last].kind {
        Kind::Left if rejected(true) => Kind::Inner,
        Kind::Right if rejected(false) => Kind::Inner,
        Kind::Full if rejected(true) => Kind::Right,
        Kind::Full if rejected(false) => Kind::Left,
        _ => return None,
    };
    let mut new = block.clone();
    new.from[last].kind = kind;
    Some(new.sql())
}

/// A left join as an inner join. Wrong where a row has no partner and WHERE keeps it.
fn outer_to_inner_padded(block: &Block, _: &mut Cx<'_>) -> Option<String> {
    let mut new = block.clone();
    new.from.iter_mut().find(|s| s.kind == Kind::Left)?.kind = Kind::Inner;
    Some(new.sql())
}

/// A derived table with a column that is 1, so that padding can be told; the block over it, and the column.
pub(super) fn marked(block: &Block, at: usize, cx: &mut Cx<'_>) -> Option<(Block, String)> {
    let x = cx.fresh("x");
    let mark = x.clone();
    let new = derive(block, at, &[], cx, |items, tail, names, _| {
        Some(if names.is_empty() {
            format!("SELECT 1 AS {mark}{tail}")
        } else {
            format!("SELECT {items}, 1 AS {mark}{tail}")
        })
    })?;
    let TableFactor::Derived { alias: Some(alias), .. } = &new.from[at].factor else { return None };
    let path = format!("{}.{x}", alias.name);
    Some((new, path))
}

/// An inner join as a left join whose padded rows are removed: by a column that is never NULL otherwise.
fn inner_to_left(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let last = block.from.len().checked_sub(1).filter(|&at| at > 0 && block.from[at].kind == Kind::Inner)?;
    let entries = block.entries(cx)?;
    let own: Vec<String> = entries
        .iter()
        .filter(|e| e.source == last)
        .flat_map(|e| e.columns.iter().filter(|c| c.not_null).map(move |c| format!("{}.{}", e.alias, c.name)))
        .collect();
    let (mut new, test) = match cx.pick(&own) {
        Some(path) if !entries.iter().any(|e| e.source == last && e.padded) => {
            (block.clone(), format!("{path} IS NOT NULL"))
        }
        _ => {
            let (new, path) = marked(block, last, cx)?;
            let test = if cx.chance(50) { format!("{path} = 1") } else { format!("{path} IS NOT NULL") };
            (new, test)
        }
    };
    new.from[last].kind = Kind::Left;
    Some(new.and(&test)?.sql())
}

/// A left join as a full join whose rows without a left side are removed.
fn left_to_full(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    if block.from.len() != 2 || block.from[1].kind != Kind::Left {
        return None;
    }
    let entries = block.entries(cx)?;
    let sure = entries
        .iter()
        .filter(|e| e.source == 0 && !e.padded)
        .find_map(|e| e.columns.iter().find(|c| c.not_null).map(|c| format!("{}.{}", e.alias, c.name)));
    let (mut new, path) = match sure {
        Some(path) if surely_not_null(&expr(&path)?, &entries) => (block.clone(), path),
        _ => marked(block, 0, cx)?,
    };
    new.from[1].kind = Kind::Full;
    Some(new.and(&format!("{path} IS NOT NULL"))?.sql())
}

/// A left join that nothing uses and that meets at most one row, or that DISTINCT makes harmless, left out.
fn drop_left_join(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let entries = block.entries(cx)?;
    let left = |&at: &usize| block.from[at].kind == Kind::Left;
    for at in cx.order(block.from.len()).into_iter().filter(left) {
        let names = block.aliases(at, cx)?;
        let mut new = block.clone();
        let on = new.from.remove(at).on?;
        if new.exprs().any(|e| !qualifiers(e).is_disjoint(&names)) {
            continue;
        }
        let unique = entries.iter().filter(|e| e.source == at).all(|e| {
            let equal: BTreeSet<String> = conjuncts(&on).iter().filter_map(|c| equated(c, &e.alias)).collect();
            e.relation
                .is_some_and(|r| cx.facts.relations[r].unique.iter().any(|key| key.iter().all(|c| equal.contains(c))))
        });
        if (block.distinct && block.rowwise()) || (unique && names.len() == 1) {
            return Some(new.sql());
        }
    }
    None
}

/// The column of the alias that a condition equates with something outside it.
pub(super) fn equated(condition: &Expr, alias: &str) -> Option<String> {
    let Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = bare(condition) else { return None };
    let own = |e: &Expr| column(e).filter(|(q, _)| *q == alias).map(|(_, c)| c.to_owned());
    let outside = |e: &Expr| !qualifiers(e).contains(alias) && !has_subquery(e);
    own(left).filter(|_| outside(right)).or_else(|| own(right).filter(|_| outside(left)))
}

/// A condition of a left join's ON in WHERE. Wrong where it removes padded rows.
fn on_to_where_outer(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let at = block.from.iter().position(|s| s.kind == Kind::Left)?;
    let mut on = conjuncts(block.from[at].on.as_ref()?);
    let moved = on.remove(*cx.order(on.len()).first()?);
    let mut new = block.clone();
    let factor = new.from.remove(at).factor.to_string();
    let last = at == new.from.len();
    if !last {
        return None;
    }
    add(&mut new, Kind::Left, &factor, Some(&all(&on)))?;
    new.filter.push(moved);
    Some(new.sql())
}
