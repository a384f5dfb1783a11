//! Rules about WHERE, CASE and NULL on one block.

use super::super::query::items;
use super::super::scalar::Gen;
use super::super::schema::Ty;
use super::{Base, Class, Rule};

pub(super) const RULES: &[Rule] = &[
    partition,
    partition_counts,
    branches,
    case_split,
    or_split,
    truth,
    range,
    lists,
    redundant,
    impossible,
    null_safe,
    arithmetic,
    nested,
];

/// A block and its three parts by one condition.
fn partition(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let what = base.columns(g);
    let p = g.predicate(&base.scope, 1);
    let part = |tail: &str| base.select(&what, Some(&format!("({p} {tail})")));
    let no = base.select(&what, Some(&format!("(NOT {p})")));
    let yes = base.select(&what, Some(&p));
    let distinct = base.select(&what, None).replacen("SELECT", "SELECT DISTINCT", 1);
    if g.chance(20) {
        return Some(Class {
            same: vec![distinct, format!("{yes} UNION {no} UNION {}", part("IS NULL"))],
            near: vec![format!("{yes} UNION {no}"), base.select(&what, None)],
        });
    }
    Some(Class {
        same: vec![
            base.select(&what, None),
            format!("{} UNION ALL {} UNION ALL {}", part("IS TRUE"), part("IS FALSE"), part("IS NULL")),
            format!("{yes} UNION ALL {no} UNION ALL {}", part("IS NULL")),
            format!("{} UNION ALL {}", part("IS TRUE"), part("IS NOT TRUE")),
        ],
        near: vec![format!("{yes} UNION ALL {no}"), format!("{yes} UNION {no} UNION {}", part("IS NULL")), distinct],
    })
}

/// Counting the rows that satisfy a condition.
fn partition_counts(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let p = g.predicate(&base.scope, 1);
    let (z, y) = (g.alias(), g.alias());
    let flag = base.select(&items(&[format!("CASE WHEN {p} THEN 1 ELSE 0 END")]), None);
    Some(Class {
        same: vec![
            base.select("COUNT(*) AS c0", Some(&p)),
            base.select(&format!("COUNT(CASE WHEN {p} THEN 1 END) AS c0"), None),
            base.select(&format!("COUNT(*) FILTER (WHERE {p}) AS c0"), None),
            base.select(&format!("COALESCE(SUM(CASE WHEN {p} THEN 1 ELSE 0 END), 0) AS c0"), None),
            format!("SELECT COUNT(*) AS c0 FROM ({flag}) AS {z} WHERE {z}.c0 = 1"),
            format!(
                "SELECT (SELECT COUNT(*) FROM ({flag}) AS {z}) - (SELECT COUNT(*) FROM ({flag}) AS {y} WHERE {y}.c0 <> 1) AS c0"
            ),
        ],
        near: vec![
            base.select(&format!("SUM(CASE WHEN {p} THEN 1 ELSE 0 END) AS c0"), None),
            base.select(&format!("COUNT({p}) AS c0"), None),
            base.select(&format!("COUNT(CASE WHEN {p} THEN 1 ELSE 0 END) AS c0"), None),
            base.select("COUNT(*) AS c0", Some(&format!("(NOT {p})"))),
        ],
    })
}

/// A value inside branches that all give it.
fn branches(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let p = g.predicate(&base.scope, 1);
    let x = g.one(&base.scope);
    let other = g.leaf(&base.scope, x.ty);
    let x = x.text;
    let text = |value: String| base.select(&items(&[value]), None);
    Some(Class {
        same: vec![
            text(x.clone()),
            text(format!("CASE WHEN {p} THEN {x} ELSE {x} END")),
            text(format!("CASE WHEN ({p} OR (NOT {p}) OR ({p} IS NULL)) THEN {x} ELSE {other} END")),
            text(format!("CASE WHEN ({p} AND (NOT {p})) THEN {other} ELSE {x} END")),
            text(format!("CASE WHEN ({x} IS NULL) THEN NULL ELSE {x} END")),
            text(format!("COALESCE({x}, {x})")),
            text(format!("COALESCE({x}, NULL)")),
        ],
        near: vec![
            text(format!("CASE WHEN ({p} OR (NOT {p})) THEN {x} ELSE {other} END")),
            text(format!("CASE WHEN {p} THEN {x} WHEN (NOT {p}) THEN {x} END")),
            text(format!("COALESCE({x}, {other})")),
            text(format!("NULLIF({x}, {other})")),
        ],
    })
}

/// One block with CASE, or one block per branch.
fn case_split(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let p = g.predicate(&base.scope, 1);
    let ty = g.one(&base.scope).ty;
    let (x, y) = (g.leaf(&base.scope, ty), g.leaf(&base.scope, ty));
    let text = |value: &str, tail: Option<&str>| base.select(&items(&[value]), tail);
    let not_true = format!("({p} IS NOT TRUE)");
    let not = format!("(NOT {p})");
    Some(Class {
        same: vec![
            text(&format!("CASE WHEN {p} THEN {x} ELSE {y} END"), None),
            text(&format!("CASE WHEN {not_true} THEN {y} ELSE {x} END"), None),
            format!("{} UNION ALL {}", text(&x, Some(&p)), text(&y, Some(&not_true))),
        ],
        near: vec![
            text(&format!("CASE WHEN {not} THEN {y} ELSE {x} END"), None),
            format!("{} UNION ALL {}", text(&x, Some(&p)), text(&y, Some(&not))),
            format!("{} UNION {}", text(&x, Some(&p)), text(&y, Some(&not_true))),
        ],
    })
}

/// OR as a union.
fn or_split(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let what = base.columns(g);
    let (p, q) = (g.predicate(&base.scope, 1), g.predicate(&base.scope, 0));
    let text = |condition: String| base.select(&what, Some(&condition));
    Some(Class {
        same: vec![
            text(format!("({p} OR {q})")),
            text(format!("({q} OR {p})")),
            text(format!("(NOT ((NOT {p}) AND (NOT {q})))")),
            text(format!("(CASE WHEN {p} THEN TRUE ELSE {q} END)")),
            format!("{} UNION ALL {}", text(p.clone()), text(format!("({q} AND ({p} IS NOT TRUE))"))),
        ],
        near: vec![
            format!("{} UNION ALL {}", text(p.clone()), text(q.clone())),
            format!("{} UNION ALL {}", text(p.clone()), text(format!("({q} AND (NOT {p}))"))),
            format!("{} UNION {}", text(p.clone()), text(q.clone())),
            text(format!("(NOT ((NOT {p}) OR (NOT {q})))")),
        ],
    })
}

/// A condition and its truth tests.
fn truth(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let what = base.columns(g);
    let flags: Vec<String> = base.scope.iter().filter(|r| r.ty == Ty::Bool).map(|r| r.text.clone()).collect();
    let b = if flags.is_empty() || g.chance(30) { g.predicate(&base.scope, 0) } else { g.one(&flags) };
    let text = |condition: String| base.select(&what, Some(&condition));
    if g.chance(50) {
        return Some(Class {
            same: vec![
                text(b.clone()),
                text(format!("({b} IS TRUE)")),
                text(format!("({b} = TRUE)")),
                text(format!("({b} <> FALSE)")),
                text(format!("(FALSE < {b})")),
                text(format!("(NOT ({b} IS NOT TRUE))")),
                text(format!("COALESCE({b}, FALSE)")),
                text(format!("(CASE WHEN {b} THEN TRUE ELSE FALSE END)")),
            ],
            near: vec![
                text(format!("({b} IS NOT FALSE)")),
                text(format!("COALESCE({b}, TRUE)")),
                text(format!("({b} IS NOT NULL)")),
                text(format!("({b} >= FALSE)")),
                text(format!("(CASE WHEN (NOT {b}) THEN FALSE ELSE TRUE END)")),
            ],
        });
    }
    Some(Class {
        same: vec![
            text(format!("(NOT {b})")),
            text(format!("({b} IS FALSE)")),
            text(format!("({b} = FALSE)")),
            text(format!("({b} < TRUE)")),
            text(format!("(CASE WHEN {b} THEN FALSE WHEN (NOT {b}) THEN TRUE END)")),
        ],
        near: vec![
            text(format!("({b} IS NOT TRUE)")),
            text(format!("(CASE WHEN {b} THEN FALSE ELSE TRUE END)")),
            text(format!("({b} <= TRUE)")),
            text(format!("({b} IS DISTINCT FROM TRUE)")),
        ],
    })
}

/// Comparisons with constants on whole numbers.
fn range(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let what = base.columns(g);
    let numbers: Vec<String> = base.scope.iter().filter(|r| r.ty == Ty::Int).map(|r| r.text.clone()).collect();
    let x = (!numbers.is_empty()).then(|| g.one(&numbers))?;
    let low = g.below(3);
    let high = low + 1 + g.below(2);
    let text = |condition: String| base.select(&what, Some(&condition));
    Some(Class {
        same: vec![
            text(format!("({x} BETWEEN {low} AND {high})")),
            text(format!("({x} >= {low} AND {x} <= {high})")),
            text(format!("(NOT ({x} < {low} OR {x} > {high}))")),
            text(format!("({x} > {low} - 1 AND {x} < {high} + 1)")),
            text(format!("({x} <= {high} AND NOT ({x} < {low}) AND {x} IS NOT NULL)")),
        ],
        near: vec![
            text(format!("({x} > {low} AND {x} < {high})")),
            text(format!("({x} BETWEEN {high} AND {low})")),
            text(format!("({x} >= {low} AND {x} < {high})")),
            text(format!("(({x} NOT BETWEEN {low} AND {high}) IS NOT TRUE)")),
        ],
    })
}

/// IN over constants.
fn lists(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let what = base.columns(g);
    let x = g.one(&base.scope);
    let (u, v) = (g.literal(x.ty), g.literal(x.ty));
    let (x, name) = (x.text, g.alias());
    let text = |condition: String| base.select(&what, Some(&condition));
    let joined = |join: &str| {
        let rows = format!("WITH w0 (v) AS (VALUES ({u}), ({v}))");
        let condition = base.condition.as_deref().map(|c| format!(" WHERE {c}")).unwrap_or_default();
        format!("{rows} SELECT {what} FROM {} {join} w0 AS {name} ON {x} = {name}.v{condition}", base.from)
    };
    // After a comma, ON could not see what stands before it.
    let with_join = !base.from.contains(',');
    let mut near = vec![
        text(format!("({x} = {u})")),
        text(format!("({x} NOT IN ({u}, {v}))")),
        text(format!("(({x} NOT IN ({u}, {v})) IS NOT TRUE)")),
    ];
    if with_join {
        near.push(joined("JOIN"));
    }
    if g.chance(40) {
        return Some(Class {
            same: vec![
                text(format!("({x} NOT IN ({u}, {v}))")),
                text(format!("({x} <> {u} AND {x} <> {v})")),
                text(format!("(NOT ({x} = {u} OR {x} = {v}))")),
                text(format!("(({x} IN ({u}, {v})) IS FALSE)")),
            ],
            near: vec![
                text(format!("({x} NOT IN ({u}, {v}, NULL))")),
                text(format!("(({x} IN ({u}, {v})) IS NOT TRUE)")),
                text(format!("({x} <> {u} OR {x} <> {v})")),
            ],
        });
    }
    Some(Class {
        same: vec![
            text(format!("({x} IN ({u}, {v}))")),
            text(format!("({x} = {u} OR {x} = {v})")),
            text(format!("({x} IN ({v}, {u}, NULL))")),
            text(format!("(NOT ({x} NOT IN ({u}, {v})))")),
            text(format!("(CASE {x} WHEN {u} THEN TRUE WHEN {v} THEN TRUE END)")),
            text(format!("({x} IN (SELECT {name}.v FROM (SELECT {u} AS v UNION ALL SELECT {v}) AS {name}))")),
        ],
        near,
    })
}

/// Conditions that add nothing, and some that do.
fn redundant(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let what = base.columns(g);
    let x = g.one(&base.scope);
    let op = g.comparison();
    let p = format!("({} {op} {})", x.text, g.leaf(&base.scope, x.ty));
    let q = g.predicate(&base.scope, 0);
    let x = x.text;
    let text = |condition: String| base.select(&what, Some(&condition));
    Some(Class {
        same: vec![
            text(p.clone()),
            text(format!("({p} AND {x} = {x})")),
            text(format!("({p} AND {x} IS NOT NULL)")),
            text(format!("({p} OR ({p} AND {q}))")),
            text(format!("({p} AND ({p} OR {q}))")),
            text(format!("({p} AND ({q} OR (NOT {q}) OR ({q} IS NULL)))")),
            text(format!("({p} OR ({x} <> {x}))")),
        ],
        near: vec![
            text(format!("({p} AND ({q} OR (NOT {q})))")),
            text(format!("({p} OR {x} = {x})")),
            text(format!("({p} OR {x} IS NULL)")),
            text(format!("({p} OR NOT {p})")),
            text(format!("({p} AND {q})")),
        ],
    })
}

/// Conditions no row satisfies.
fn impossible(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let what = base.columns(g);
    let x = g.one(&base.scope);
    let p = g.predicate(&base.scope, 1);
    let value = g.literal(x.ty);
    let x = x.text;
    let text = |condition: String| base.select(&what, Some(&condition));
    let empty = base.select(&what, None);
    Some(Class {
        same: vec![
            text("FALSE".to_owned()),
            text(format!("({p} AND (NOT {p}))")),
            text(format!("({x} = NULL)")),
            text(format!("({x} < {value} AND {x} > {value})")),
            text(format!("({x} = {value} AND {x} IS NULL)")),
            text(format!("({x} <> {x})")),
            format!("{empty} LIMIT 0"),
        ],
        near: vec![
            text(format!("({x} IS NULL)")),
            text(format!("({x} <= {value} AND {x} >= {value})")),
            text(format!("({p} OR (NOT {p}))")),
        ],
    })
}

/// Equality that treats NULL as a value.
fn null_safe(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let what = base.columns(g);
    let x = g.one(&base.scope);
    let y = g.leaf(&base.scope, x.ty);
    let x = x.text;
    let text = |condition: String| base.select(&what, Some(&condition));
    Some(Class {
        same: vec![
            text(format!("({x} IS NOT DISTINCT FROM {y})")),
            text(format!("({x} = {y} OR ({x} IS NULL AND {y} IS NULL))")),
            text(format!("(NOT ({x} IS DISTINCT FROM {y}))")),
            text(format!("(CASE WHEN {x} IS NULL THEN {y} IS NULL ELSE {x} = {y} END)")),
            text(format!("(EXISTS (SELECT {x} INTERSECT SELECT {y}))")),
        ],
        near: vec![
            text(format!("({x} = {y})")),
            text(format!("({x} = {y} OR {x} IS NULL)")),
            text(format!("(NOT ({x} <> {y}))")),
            text(format!("(({x} = {y}) IS NOT FALSE)")),
        ],
    })
}

/// Sums and differences.
fn arithmetic(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let numbers: Vec<String> = base.scope.iter().filter(|r| r.ty.is_number()).map(|r| r.text.clone()).collect();
    if numbers.is_empty() {
        return None;
    }
    let (x, y) = (g.one(&numbers), g.one(&numbers));
    let text = |value: String| base.select(&items(&[value]), None);
    Some(Class {
        same: vec![
            text(format!("({x} + {y}) * 2")),
            text(format!("{y} * 2 + {x} * 2")),
            text(format!("{x} + {y} + {y} + {x}")),
            text(format!("2 * {x} - (0 - 2 * {y}) + 0")),
            text(format!("CASE WHEN {x} = {y} THEN 4 * {x} ELSE 2 * ({y} + {x}) END")),
        ],
        near: vec![
            text(format!("{x} + {y} * 2")),
            text(format!("COALESCE({x}, 0) * 2 + COALESCE({y}, 0) * 2")),
            text(format!("({x} - {y}) * 2")),
        ],
    })
}

/// A block and the same block inside a derived table or a CTE.
fn nested(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let x = g.one(&base.scope);
    let what = items(std::slice::from_ref(&x.text));
    let (z, op, value) = (g.alias(), g.comparison(), g.literal(x.ty));
    let inner = base.select(&what, None);
    Some(Class {
        same: vec![
            base.select(&what, Some(&format!("({} {op} {value})", x.text))),
            format!("SELECT {z}.c0 AS c0 FROM ({inner}) AS {z} WHERE {z}.c0 {op} {value}"),
            format!("WITH w0 AS ({inner}) SELECT c0 FROM w0 WHERE c0 {op} {value}"),
            format!(
                "SELECT {z}.c0 AS c0 FROM (SELECT c0 FROM ({inner}) AS {z}) AS {z} WHERE NOT (({z}.c0 {op} {value}) IS NOT TRUE)"
            ),
        ],
        near: vec![
            inner.clone(),
            format!("SELECT DISTINCT {z}.c0 AS c0 FROM ({inner}) AS {z} WHERE {z}.c0 {op} {value}"),
            format!("SELECT {z}.c0 AS c0 FROM ({inner}) AS {z} WHERE NOT ({z}.c0 {op} {value})"),
        ],
    })
}
