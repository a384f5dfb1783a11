//! Rules about UNION, INTERSECT and EXCEPT.

use super::super::scalar::{Gen, Rel};
use super::super::schema::Ty;
use super::{Class, Rule};

pub(super) const RULES: &[Rule] =
    &[except, except_all, intersect, intersect_all, union, absorb, pushed, same_table, constants];

/// Two one-column queries with their columns.
struct Sides {
    right: Rel,
    a: String,
    b: String,
    x: String,
    y: String,
    left: String,
    other: String,
    ty: Ty,
    p: String,
}

impl Sides {
    fn new(g: &mut Gen) -> Option<Self> {
        let (left, right) = (g.rel(), g.rel());
        let (i, j) = g.meet(&left, &right)?;
        let (x, y) = (g.at(&left, i), g.at(&right, j));
        let p = g.predicate(&g.refs(&left), 0);
        let (a, b) = (g.from(&left), g.from(&right));
        let (x, y, ty) = (x.text, y.text, x.ty);
        let one = format!("SELECT {x} AS c0 FROM {a}");
        let two = format!("SELECT {y} AS c0 FROM {b}");
        Some(Self { right, a, b, x, y, left: one, other: two, ty, p })
    }
}

/// Set difference.
fn except(g: &mut Gen) -> Option<Class> {
    let Sides { a, b, x, y, left, other, .. } = Sides::new(g)?;
    let distinct = format!("SELECT DISTINCT {x} AS c0 FROM {a}");
    Some(Class {
        same: vec![
            format!("{left} EXCEPT {other}"),
            format!("{distinct} WHERE NOT EXISTS (SELECT 1 FROM {b} WHERE {x} IS NOT DISTINCT FROM {y})"),
            format!("{distinct} WHERE NOT EXISTS (SELECT 1 FROM {b} WHERE {x} = {y} OR ({x} IS NULL AND {y} IS NULL))"),
            format!("{distinct} EXCEPT {other}"),
            format!("{distinct} WHERE (SELECT COUNT(*) FROM {b} WHERE {x} IS NOT DISTINCT FROM {y}) = 0"),
        ],
        near: vec![
            format!("{distinct} WHERE NOT EXISTS (SELECT 1 FROM {b} WHERE {x} = {y})"),
            format!("{distinct} WHERE {x} NOT IN (SELECT {y} FROM {b})"),
            format!("{left} WHERE NOT EXISTS (SELECT 1 FROM {b} WHERE {x} IS NOT DISTINCT FROM {y})"),
            format!("{left} EXCEPT ALL {other}"),
            format!("{other} EXCEPT {left}"),
        ],
    })
}

/// Bag difference.
fn except_all(g: &mut Gen) -> Option<Class> {
    let Sides { left, other, p, .. } = Sides::new(g)?;
    Some(Class {
        same: vec![
            left.clone(),
            format!("SELECT * FROM ({left} UNION ALL {other}) AS z EXCEPT ALL {other}"),
            format!("{left} EXCEPT ALL {left} WHERE FALSE"),
            format!("{left} INTERSECT ALL {left}"),
            format!("SELECT * FROM ({left} EXCEPT ALL {left} WHERE {p}) AS z UNION ALL {left} WHERE {p}"),
        ],
        near: vec![
            format!("{left} EXCEPT ALL {other}"),
            format!("SELECT * FROM ({left} UNION ALL {other}) AS z EXCEPT {other}"),
            format!("SELECT * FROM ({left} UNION {other}) AS z EXCEPT ALL {other}"),
            format!("SELECT * FROM ({left} EXCEPT ALL {other}) AS z UNION ALL {other}"),
            format!("{left} INTERSECT {left}"),
        ],
    })
}

/// Set intersection.
fn intersect(g: &mut Gen) -> Option<Class> {
    let Sides { a, b, x, y, left, other, .. } = Sides::new(g)?;
    let distinct = format!("SELECT DISTINCT {x} AS c0 FROM {a}");
    Some(Class {
        same: vec![
            format!("{left} INTERSECT {other}"),
            format!("{other} INTERSECT {left}"),
            format!("{distinct} WHERE EXISTS (SELECT 1 FROM {b} WHERE {x} IS NOT DISTINCT FROM {y})"),
            format!("{distinct} JOIN {b} ON {x} IS NOT DISTINCT FROM {y}"),
            format!("SELECT DISTINCT c0 FROM ({left} INTERSECT ALL {other}) AS z"),
            format!("{left} EXCEPT SELECT * FROM ({left} EXCEPT {other}) AS z"),
        ],
        near: vec![
            format!("{distinct} WHERE {x} IN (SELECT {y} FROM {b})"),
            format!("{distinct} JOIN {b} ON {x} = {y}"),
            format!("{left} WHERE EXISTS (SELECT 1 FROM {b} WHERE {x} IS NOT DISTINCT FROM {y})"),
            format!("{left} INTERSECT ALL {other}"),
        ],
    })
}

/// Bag intersection.
fn intersect_all(g: &mut Gen) -> Option<Class> {
    let Sides { left, other, .. } = Sides::new(g)?;
    Some(Class {
        same: vec![
            format!("{left} INTERSECT ALL {other}"),
            format!("{other} INTERSECT ALL {left}"),
            format!("{left} EXCEPT ALL SELECT * FROM ({left} EXCEPT ALL {other}) AS z"),
        ],
        near: vec![
            format!("{left} INTERSECT {other}"),
            format!("{left} EXCEPT ALL {other}"),
            format!("{left} EXCEPT SELECT * FROM ({left} EXCEPT ALL {other}) AS z"),
        ],
    })
}

/// UNION with and without duplicates.
fn union(g: &mut Gen) -> Option<Class> {
    let Sides { left, other, .. } = Sides::new(g)?;
    if g.chance(50) {
        return Some(Class {
            same: vec![
                format!("{left} UNION {other}"),
                format!("{other} UNION {left}"),
                format!("SELECT DISTINCT c0 FROM ({left} UNION ALL {other}) AS z"),
                format!("SELECT c0 FROM ({left} UNION ALL {other}) AS z GROUP BY c0"),
                format!("{left} UNION {other} UNION {left}"),
                format!(
                    "SELECT * FROM ({left} EXCEPT {other}) AS z UNION ALL SELECT * FROM (SELECT DISTINCT c0 FROM ({other}) AS v) AS y"
                ),
            ],
            near: vec![
                format!("{left} UNION ALL {other}"),
                format!("SELECT * FROM ({left} EXCEPT {other}) AS z UNION ALL {other}"),
                format!("{left} UNION ALL SELECT * FROM ({other} EXCEPT {left}) AS z"),
                format!("{left} UNION {left}"),
            ],
        });
    }
    Some(Class {
        same: vec![
            format!("{left} UNION ALL {other}"),
            format!("{other} UNION ALL {left}"),
            format!("WITH w AS ({left}) SELECT * FROM ({other} UNION ALL SELECT c0 FROM w) AS z"),
            format!("{left} UNION ALL {other} UNION ALL {left} WHERE FALSE"),
        ],
        near: vec![format!("{left} UNION {other}"), format!("{left} UNION ALL {other} UNION ALL {left}"), left],
    })
}

/// Laws with an absorbed side.
fn absorb(g: &mut Gen) -> Option<Class> {
    let Sides { a, x, left, other, p, .. } = Sides::new(g)?;
    let distinct = format!("SELECT DISTINCT {x} AS c0 FROM {a}");
    if g.chance(50) {
        return Some(Class {
            same: vec![
                distinct.clone(),
                format!("{left} UNION {left} WHERE {p}"),
                format!("{left} INTERSECT {left}"),
                format!("SELECT * FROM ({left} INTERSECT {other}) AS z UNION {left}"),
                format!("{left} INTERSECT SELECT * FROM ({left} UNION ALL {other}) AS z"),
            ],
            near: vec![
                left.clone(),
                format!("{left} INTERSECT {other}"),
                format!("{left} UNION ALL {left} WHERE {p}"),
                format!("{left} WHERE {p} UNION {left} WHERE NOT {p}"),
            ],
        });
    }
    Some(Class {
        same: vec![
            format!("{left} WHERE FALSE"),
            format!("{left} EXCEPT {left}"),
            format!("{left} EXCEPT ALL {left}"),
            format!("{left} WHERE {p} EXCEPT {left}"),
            format!("SELECT * FROM ({left} EXCEPT {other}) AS z INTERSECT {other}"),
        ],
        near: vec![
            format!("{left} EXCEPT {left} WHERE {p}"),
            format!("{left} EXCEPT {other}"),
            format!("SELECT * FROM ({left} EXCEPT ALL {other}) AS z INTERSECT {other}"),
        ],
    })
}

/// Conditions pushed into a set operation.
fn pushed(g: &mut Gen) -> Option<Class> {
    let Sides { x, y, left, other, ty, .. } = Sides::new(g)?;
    let (op, value) = (g.comparison(), g.literal(ty));
    let kind = g.one(&["UNION ALL", "UNION", "INTERSECT", "EXCEPT", "EXCEPT ALL", "INTERSECT ALL"]);
    let other_kind = g.one(&["UNION ALL", "UNION", "INTERSECT", "EXCEPT"]);
    let outside = |kind: &str| format!("SELECT * FROM ({left} {kind} {other}) AS z WHERE z.c0 {op} {value}");
    let both = |kind: &str| format!("{left} WHERE {x} {op} {value} {kind} {other} WHERE {y} {op} {value}");
    let one = format!("{left} WHERE {x} {op} {value} {kind} {other}");
    let mut class = Class { same: vec![outside(kind), both(kind)], near: vec![] };
    if kind != other_kind {
        class.near = vec![outside(other_kind), both(other_kind)];
    }
    // Where the right side only takes away, the left condition is enough.
    if kind.starts_with('U') {
        class.near.push(one);
    } else {
        class.same.push(one);
    }
    Some(class)
}

/// Set operations on one table as conditions.
fn same_table(g: &mut Gen) -> Option<Class> {
    let Sides { a, x, left, p, .. } = Sides::new(g)?;
    let q = format!("({x} IS NOT NULL)");
    let distinct = format!("SELECT DISTINCT {x} AS c0 FROM {a}");
    Some(match g.below(3) {
        0 => Class {
            same: vec![
                format!("{left} WHERE {p} UNION {left} WHERE {q}"),
                format!("{distinct} WHERE {p} OR {q}"),
                format!("{distinct} WHERE {q} OR ({p} AND {x} IS NULL)"),
            ],
            near: vec![format!("{left} WHERE {p} OR {q}"), format!("{left} WHERE {p} UNION ALL {left} WHERE {q}")],
        },
        1 => Class {
            same: vec![format!("{left} WHERE {q} INTERSECT {left} WHERE {p}"), format!("{distinct} WHERE {p} AND {q}")],
            near: vec![
                format!("{distinct} WHERE {p}"),
                format!("{left} WHERE {p} INTERSECT ALL {left} WHERE {q}"),
                format!("{distinct} WHERE {p} OR {q}"),
            ],
        },
        _ => Class {
            same: vec![
                format!("{left} EXCEPT {left} WHERE {q}"),
                format!("{distinct} WHERE {x} IS NULL"),
                format!("{left} WHERE {x} IS NULL UNION {left} WHERE {x} <> {x}"),
            ],
            near: vec![
                format!("{left} EXCEPT {left} WHERE {p}"),
                format!("{distinct} WHERE NOT {p}"),
                format!("{left} EXCEPT ALL {left} WHERE {q}"),
                format!("{distinct} WHERE {x} = NULL"),
            ],
        },
    })
}

/// Unions of constants.
fn constants(g: &mut Gen) -> Option<Class> {
    let Sides { right, b, y, other, ty, .. } = Sides::new(g)?;
    let (u, v, r) = (g.literal(ty), g.literal(ty), &right.alias);
    let rows = format!("SELECT {u} AS k UNION ALL SELECT {v}");
    let column = y.rsplit('.').next()?;
    Some(Class {
        same: vec![
            format!("{other} JOIN ({rows}) AS z ON {y} = z.k"),
            format!("{other} WHERE {y} = {u} UNION ALL {other} WHERE {y} = {v}"),
            format!("WITH w (k) AS (VALUES ({u}), ({v})) SELECT {y} AS c0 FROM w JOIN {b} ON w.k = {y}"),
            format!(
                "SELECT z.k AS c0 FROM (SELECT * FROM {b} WHERE {column} IS NOT NULL) AS {r}, ({rows}) AS z WHERE {y} = z.k"
            ),
        ],
        near: vec![
            format!("{other} WHERE {y} IN ({u}, {v})"),
            format!("{other} WHERE {y} IN ({rows})"),
            format!("{other} WHERE {y} = {u} UNION {other} WHERE {y} = {v}"),
            format!("{other} LEFT JOIN ({rows}) AS z ON {y} = z.k"),
        ],
    })
}
