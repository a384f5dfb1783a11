//! Rules about subqueries: quantifiers, extremes, counting and LATERAL.

use super::super::query::items;
use super::super::scalar::{Gen, Rel};
use super::super::schema::Ty;
use super::{Class, Rule};

pub(super) const RULES: &[Rule] = &[
    quantified,
    extremes,
    greatest,
    unnest_count,
    unnest_value,
    lateral,
    exists_aggregate,
    negated_in,
    exists_shapes,
    cte,
];

/// A table, a second one, a column of the first and one of the second of the same type.
struct Link {
    outer: Rel,
    inner: Rel,
    a: String,
    b: String,
    x: String,
    y: String,
    ty: Ty,
    what: String,
}

impl Link {
    fn new(g: &mut Gen) -> Option<Self> {
        let (outer, inner) = (g.rel(), g.rel());
        let (i, j) = g.meet(&outer, &inner)?;
        let (x, y) = (g.at(&outer, i), g.at(&inner, j));
        let column = g.one(&g.refs(&outer)).text;
        let what = items(&[column]);
        let (a, b) = (g.from(&outer), g.from(&inner));
        Some(Self { outer, inner, a, b, x: x.text, y: y.text, ty: x.ty, what })
    }
}

/// ANY and ALL turned into each other.
fn quantified(g: &mut Gen) -> Option<Class> {
    let l = Link::new(g)?;
    let (a, b, x, y, what) = (&l.a, &l.b, &l.x, &l.y, &l.what);
    let (op, against) = g.one(&[("=", "<>"), ("<>", "="), ("<", ">="), ("<=", ">"), (">", "<="), (">=", "<")]);
    let p = g.predicate(&g.refs(&l.inner), 0);
    let start = format!("SELECT {what} FROM {a} WHERE");
    let rows = format!("(SELECT {y} FROM {b} WHERE {p})");
    if g.chance(50) {
        return Some(Class {
            same: vec![
                format!("{start} {x} {op} ANY {rows}"),
                format!("{start} NOT ({x} {against} ALL {rows})"),
                format!("{start} EXISTS (SELECT 1 FROM {b} WHERE {p} AND {x} {op} {y})"),
                format!("{start} (SELECT COUNT(*) FROM {b} WHERE {p} AND {x} {op} {y}) >= 1"),
            ],
            near: vec![
                format!("{start} {x} {op} ALL {rows}"),
                format!("{start} NOT ({x} {against} ANY {rows})"),
                format!("{start} NOT ({x} {op} ALL {rows})"),
                format!("{start} EXISTS (SELECT 1 FROM {b} WHERE {x} {op} {y})"),
            ],
        });
    }
    Some(Class {
        same: vec![
            format!("{start} {x} {op} ALL {rows}"),
            format!("{start} NOT ({x} {against} ANY {rows})"),
            format!("{start} NOT EXISTS (SELECT 1 FROM {b} WHERE {p} AND ({x} {op} {y}) IS NOT TRUE)"),
        ],
        near: vec![
            format!("{start} NOT EXISTS (SELECT 1 FROM {b} WHERE {p} AND {x} {against} {y})"),
            format!("{start} {x} {op} ANY {rows}"),
            format!("{start} {x} {op} ALL (SELECT {y} FROM {b} WHERE {p} AND {y} IS NOT NULL)"),
        ],
    })
}

/// Quantifiers against MIN and MAX.
fn extremes(g: &mut Gen) -> Option<Class> {
    let l = Link::new(g)?;
    if l.ty == Ty::Bool {
        return None;
    }
    let (a, b, x, y, what) = (&l.a, &l.b, &l.x, &l.y, &l.what);
    let start = format!("SELECT {what} FROM {a} WHERE");
    let (op, any, all) = g.one(&[(">", "MIN", "MAX"), (">=", "MIN", "MAX"), ("<", "MAX", "MIN"), ("<=", "MAX", "MIN")]);
    if g.chance(50) {
        return Some(Class {
            same: vec![
                format!("{start} {x} {op} ANY (SELECT {y} FROM {b})"),
                format!("{start} {x} {op} (SELECT {any}({y}) FROM {b})"),
                format!("{start} EXISTS (SELECT 1 FROM {b} WHERE {x} {op} {y})"),
            ],
            near: vec![
                format!("{start} {x} {op} (SELECT {all}({y}) FROM {b})"),
                format!("{start} {x} {op} ALL (SELECT {y} FROM {b})"),
                format!("{start} ({x} {op} (SELECT {any}({y}) FROM {b})) IS NOT FALSE"),
            ],
        });
    }
    Some(Class {
        same: vec![
            format!(
                "{start} {x} {op} ALL (SELECT {y} FROM {b} WHERE {y} IS NOT NULL) AND EXISTS (SELECT {y} FROM {b} WHERE {y} = {y})"
            ),
            format!("{start} {x} {op} (SELECT {all}({y}) FROM {b})"),
            format!("{start} {x} {op} (SELECT {all}(DISTINCT {y}) FROM {b} WHERE {y} IS NOT NULL)"),
        ],
        near: vec![
            format!("{start} {x} {op} ALL (SELECT {y} FROM {b})"),
            format!("{start} NOT EXISTS (SELECT 1 FROM {b} WHERE NOT ({x} {op} {y}))"),
            format!("{start} {x} {op} (SELECT {any}({y}) FROM {b})"),
        ],
    })
}

/// The rows with the greatest value.
fn greatest(g: &mut Gen) -> Option<Class> {
    let rel = g.rel();
    let other = g.rel_of(rel.table);
    let comparable: Vec<usize> =
        (0..g.table(&rel).columns.len()).filter(|&c| g.table(&rel).columns[c].ty != Ty::Bool).collect();
    if comparable.is_empty() {
        return None;
    }
    let column = g.one(&comparable);
    let (x, y) = (g.at(&rel, column).text, g.at(&other, column).text);
    let (a, b) = (g.from(&rel), g.from(&other));
    let what = items(&[g.one(&g.refs(&rel)).text]);
    if g.chance(35) {
        return Some(Class {
            same: vec![
                format!("SELECT MAX({x}) AS c0 FROM {a}"),
                format!("SELECT (SELECT MAX({y}) FROM {b}) AS c0 FROM (SELECT COUNT(*) AS n FROM {a}) AS z"),
                format!("SELECT MAX(DISTINCT {x}) AS c0 FROM {a} WHERE {x} IS NOT NULL"),
            ],
            near: vec![
                format!("SELECT DISTINCT {x} AS c0 FROM {a} WHERE NOT EXISTS (SELECT 1 FROM {b} WHERE {y} > {x})"),
                format!("SELECT {x} AS c0 FROM {a} WHERE {x} >= ALL (SELECT {y} FROM {b})"),
                format!("SELECT MAX({x}) AS c0 FROM {a} GROUP BY {x}"),
                format!("SELECT MIN({x}) AS c0 FROM {a}"),
                format!("SELECT MAX({x}) AS c0 FROM {a} HAVING COUNT(*) > 0"),
            ],
        });
    }
    let start = format!("SELECT {what} FROM {a}");
    Some(Class {
        same: vec![
            format!("{start} WHERE {x} = (SELECT MAX({y}) FROM {b})"),
            format!("{start} WHERE {x} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {b} WHERE {y} > {x})"),
            format!("{start} WHERE {x} >= (SELECT MAX({y}) FROM {b})"),
            format!("{start} LEFT JOIN {b} ON {y} > {x} WHERE {y} IS NULL AND {x} IS NOT NULL"),
            format!("{start} JOIN (SELECT MAX({y}) AS m FROM {b}) AS z ON {x} = z.m"),
        ],
        near: vec![
            format!("{start} WHERE NOT EXISTS (SELECT 1 FROM {b} WHERE {y} > {x})"),
            format!("{start} WHERE {x} >= ALL (SELECT {y} FROM {b})"),
            format!("{start} WHERE NOT EXISTS (SELECT 1 FROM {b} WHERE {y} >= {x})"),
            format!("{start} WHERE {x} > ALL (SELECT {y} FROM {b})"),
        ],
    })
}

/// A count per row and its joins: the place of the COUNT bug.
fn unnest_count(g: &mut Gen) -> Option<Class> {
    let l = Link::new(g)?;
    let (a, b, x, y) = (&l.a, &l.b, &l.x, &l.y);
    let z = g.alias();
    let grouped = format!("(SELECT {y} AS k, COUNT(*) AS n FROM {b} GROUP BY {y}) AS {z}");
    let value = g.one(&["0", "1"]);
    if g.chance(40) {
        let start = format!("SELECT {} FROM {a}", l.what);
        return Some(Class {
            same: vec![
                format!("{start} WHERE (SELECT COUNT(*) FROM {b} WHERE {y} = {x}) = {value}"),
                format!("{start} LEFT JOIN {grouped} ON {z}.k = {x} WHERE COALESCE({z}.n, 0) = {value}"),
            ],
            near: vec![
                format!("{start} JOIN {grouped} ON {z}.k = {x} WHERE {z}.n = {value}"),
                format!("{start} LEFT JOIN {grouped} ON {z}.k = {x} WHERE {z}.n = {value}"),
                format!("{start} WHERE {value} IN (SELECT COUNT(*) FROM {b} WHERE {y} = {x} GROUP BY {y})"),
            ],
        });
    }
    Some(Class {
        same: vec![
            format!("SELECT {x} AS c0, (SELECT COUNT(*) FROM {b} WHERE {y} = {x}) AS c1 FROM {a}"),
            format!("SELECT {x} AS c0, COALESCE({z}.n, 0) AS c1 FROM {a} LEFT JOIN {grouped} ON {z}.k = {x}"),
            format!(
                "SELECT {x} AS c0, {z}.n AS c1 FROM {a} CROSS JOIN LATERAL (SELECT COUNT(*) AS n FROM {b} WHERE {y} = {x}) AS {z}"
            ),
            format!("SELECT {x} AS c0, (SELECT COUNT({y}) FROM {b} WHERE {x} = {y}) AS c1 FROM {a}"),
        ],
        near: vec![
            format!("SELECT {x} AS c0, {z}.n AS c1 FROM {a} LEFT JOIN {grouped} ON {z}.k = {x}"),
            format!("SELECT {x} AS c0, {z}.n AS c1 FROM {a} JOIN {grouped} ON {z}.k = {x}"),
            format!("SELECT {x} AS c0, COUNT({y}) AS c1 FROM {a} LEFT JOIN {b} ON {x} = {y} GROUP BY {x}"),
            format!("SELECT {x} AS c0, COUNT(*) AS c1 FROM {a} LEFT JOIN {b} ON {x} = {y} GROUP BY {x}"),
            format!("SELECT {x} AS c0, (SELECT COUNT(*) FROM {b} WHERE {y} IS NOT DISTINCT FROM {x}) AS c1 FROM {a}"),
        ],
    })
}

/// Another aggregate per row and its joins.
fn unnest_value(g: &mut Gen) -> Option<Class> {
    let l = Link::new(g)?;
    let (a, b, x, y) = (&l.a, &l.b, &l.x, &l.y);
    let columns = g.refs(&l.inner);
    let chosen = g.one(&columns);
    let functions: &[&str] = match chosen.ty {
        Ty::Bool => return None,
        Ty::Text | Ty::Date | Ty::Stamp => &["MIN", "MAX"],
        _ => &["SUM", "MIN", "MAX"],
    };
    let (function, v, z) = (g.one(functions), chosen.text, g.alias());
    let grouped = format!("(SELECT {y} AS k, {function}({v}) AS n FROM {b} GROUP BY {y}) AS {z}");
    let keyed: Option<String> = g.table(&l.outer).primary.first().map(|&k| g.at(&l.outer, k).text);
    let mut same = vec![
        format!("SELECT {x} AS c0, (SELECT {function}({v}) FROM {b} WHERE {y} = {x}) AS c1 FROM {a}"),
        format!("SELECT {x} AS c0, {z}.n AS c1 FROM {a} LEFT JOIN {grouped} ON {z}.k = {x}"),
        format!(
            "SELECT {x} AS c0, {z}.n AS c1 FROM {a} LEFT JOIN LATERAL (SELECT {function}({v}) AS n FROM {b} WHERE {y} = {x}) AS {z} ON TRUE"
        ),
    ];
    if let Some(key) = keyed.filter(|_| g.table(&l.outer).primary.len() == 1) {
        same.push(format!(
            "SELECT {x} AS c0, {function}({v}) AS c1 FROM {a} LEFT JOIN {b} ON {y} = {x} GROUP BY {key}, {x}"
        ));
    }
    Some(Class {
        same,
        near: vec![
            format!("SELECT {x} AS c0, {z}.n AS c1 FROM {a} JOIN {grouped} ON {z}.k = {x}"),
            format!("SELECT {x} AS c0, {function}({v}) AS c1 FROM {a} LEFT JOIN {b} ON {y} = {x} GROUP BY {x}"),
            format!("SELECT {x} AS c0, (SELECT {function}({v}) FROM {b}) AS c1 FROM {a}"),
            format!("SELECT DISTINCT {x} AS c0, (SELECT {function}({v}) FROM {b} WHERE {y} = {x}) AS c1 FROM {a}"),
        ],
    })
}

/// LATERAL and what it stands for.
fn lateral(g: &mut Gen) -> Option<Class> {
    let l = Link::new(g)?;
    let (a, b, x, y, z) = (&l.a, &l.b, &l.x, &l.y, &l.inner.alias);
    let v = g.one(&g.refs(&l.inner)).text;
    let column = v.rsplit('.').next()?.to_owned();
    let (select, inner) =
        (format!("SELECT {x} AS c0, {v} AS c1 FROM {a}"), format!("(SELECT * FROM {b} WHERE {y} = {x}) AS {z}"));
    if g.chance(50) {
        return Some(Class {
            same: vec![
                format!("{select} JOIN LATERAL {inner} ON TRUE"),
                format!("{select}, LATERAL {inner}"),
                format!("{select} JOIN {b} ON {y} = {x}"),
            ],
            near: vec![
                format!("{select} LEFT JOIN LATERAL {inner} ON TRUE"),
                format!("{select} LEFT JOIN {b} ON {y} = {x}"),
                format!("{select} CROSS JOIN LATERAL (SELECT DISTINCT {column} FROM {b} WHERE {y} = {x}) AS {z}"),
            ],
        });
    }
    Some(Class {
        same: vec![
            format!("{select} LEFT JOIN LATERAL {inner} ON TRUE"),
            format!("{select} LEFT JOIN {b} ON {x} = {y}"),
        ],
        near: vec![
            format!("{select} CROSS JOIN LATERAL {inner}"),
            format!("SELECT {x} AS c0, NULL AS c1 FROM {a}"),
            format!("{select} LEFT JOIN LATERAL {inner} ON {y} <> {x}"),
        ],
    })
}

/// EXISTS over aggregates: with no groups there is always a row.
fn exists_aggregate(g: &mut Gen) -> Option<Class> {
    let l = Link::new(g)?;
    let (a, b, x, y) = (&l.a, &l.b, &l.x, &l.y);
    let start = format!("SELECT {} FROM {a}", l.what);
    if g.chance(50) {
        return Some(Class {
            same: vec![
                start.clone(),
                format!("{start} WHERE EXISTS (SELECT COUNT(*) FROM {b} WHERE {y} = {x})"),
                format!("{start} WHERE EXISTS (SELECT COUNT(DISTINCT {y}) FROM {b})"),
                format!("{start} WHERE TRUE"),
            ],
            near: vec![
                format!("{start} WHERE EXISTS (SELECT COUNT(*) FROM {b} WHERE {y} = {x} GROUP BY {y})"),
                format!("{start} WHERE EXISTS (SELECT 1 FROM {b} WHERE {y} = {x})"),
                format!("{start} WHERE EXISTS (SELECT COUNT(*) FROM {b} WHERE {y} = {x} HAVING COUNT(*) > 0)"),
            ],
        });
    }
    Some(Class {
        same: vec![
            format!("{start} WHERE EXISTS (SELECT 1 FROM {b} WHERE {y} = {x})"),
            format!("{start} WHERE EXISTS (SELECT COUNT(*) FROM {b} WHERE {y} = {x} HAVING COUNT(*) > 0)"),
            format!("{start} WHERE EXISTS (SELECT {y}, COUNT(*) FROM {b} WHERE {y} = {x} GROUP BY {y})"),
            format!("{start} WHERE EXISTS (SELECT DISTINCT {y} FROM {b} WHERE {y} = {x})"),
            format!("{start} WHERE (SELECT COUNT(*) FROM {b} WHERE {y} = {x}) <> 0"),
        ],
        near: vec![
            format!("{start} WHERE EXISTS (SELECT COUNT(*) FROM {b} WHERE {y} = {x})"),
            format!("{start} WHERE (SELECT COUNT(*) FROM {b} WHERE {y} = {x}) = 1"),
            format!("{start} WHERE EXISTS (SELECT 1 FROM {b} WHERE {y} = {x} HAVING COUNT(*) > 1)"),
        ],
    })
}

/// NOT IN and its exact reading.
fn negated_in(g: &mut Gen) -> Option<Class> {
    let l = Link::new(g)?;
    let (a, b, x, y) = (&l.a, &l.b, &l.x, &l.y);
    let p = g.predicate(&g.refs(&l.inner), 0);
    let start = format!("SELECT {} FROM {a} WHERE", l.what);
    Some(Class {
        same: vec![
            format!("{start} {x} NOT IN (SELECT {y} FROM {b} WHERE {p})"),
            format!("{start} {x} <> ALL (SELECT {y} FROM {b} WHERE {p})"),
            format!("{start} NOT ({x} = ANY (SELECT {y} FROM {b} WHERE {p}))"),
            format!("{start} NOT EXISTS (SELECT 1 FROM {b} WHERE {p} AND ({x} = {y} OR {x} IS NULL OR {y} IS NULL))"),
            format!("{start} ({x} IN (SELECT {y} FROM {b} WHERE {p})) IS FALSE"),
        ],
        near: vec![
            format!("{start} NOT EXISTS (SELECT 1 FROM {b} WHERE {p} AND {x} = {y})"),
            format!("{start} {x} NOT IN (SELECT {y} FROM {b} WHERE {p} AND {y} IS NOT NULL)"),
            format!("{start} ({x} IN (SELECT {y} FROM {b} WHERE {p})) IS NOT TRUE"),
            format!("{start} {x} <> ANY (SELECT {y} FROM {b} WHERE {p})"),
        ],
    })
}

/// What EXISTS selects does not matter.
fn exists_shapes(g: &mut Gen) -> Option<Class> {
    let l = Link::new(g)?;
    let (a, b, x, y) = (&l.a, &l.b, &l.x, &l.y);
    let not = g.one(&["", "NOT "]);
    let other = g.predicate(&g.refs(&l.inner), 0);
    let start = format!("SELECT {} FROM {a} WHERE {not}EXISTS", l.what);
    Some(Class {
        same: vec![
            format!("{start} (SELECT 1 FROM {b} WHERE {x} = {y})"),
            format!("{start} (SELECT * FROM {b} WHERE {x} = {y})"),
            format!("{start} (SELECT DISTINCT NULL FROM {b} WHERE {x} = {y})"),
            format!(
                "{start} (SELECT {y} FROM {b} WHERE {x} = {y} UNION ALL SELECT {y} FROM {b} WHERE {y} = {x} AND {other})"
            ),
            format!("{start} (SELECT {y} FROM {b} WHERE {y} IS NOT NULL AND {x} = {y} GROUP BY {y})"),
        ],
        near: vec![
            format!("{start} (SELECT {y} FROM {b} WHERE {x} = {y} UNION ALL SELECT {y} FROM {b} WHERE {other})"),
            format!("{start} (SELECT {y} FROM {b} WHERE {x} = {y} INTERSECT SELECT {y} FROM {b} WHERE {other})"),
            format!("{start} (SELECT 1 FROM {b} WHERE {x} = {y} AND {other})"),
            format!("{start} (SELECT 1 FROM {b} WHERE {x} = {y} LIMIT 0)"),
        ],
    })
}

/// A common table expression used twice.
fn cte(g: &mut Gen) -> Option<Class> {
    let l = Link::new(g)?;
    let (a, x) = (&l.a, &l.x);
    let p = g.predicate(&g.refs(&l.outer), 1);
    let inner = format!("SELECT {x} AS k FROM {a} WHERE {p}");
    let (u, v) = (g.alias(), g.alias());
    let distinct = inner.replacen("SELECT", "SELECT DISTINCT", 1);
    Some(Class {
        same: vec![
            format!("WITH w AS ({inner}) SELECT {u}.k AS c0 FROM w AS {u} JOIN w AS {v} ON {u}.k = {v}.k"),
            format!("SELECT {u}.k AS c0 FROM ({inner}) AS {u} JOIN ({inner}) AS {v} ON {u}.k = {v}.k"),
            format!(
                "SELECT {u}.k AS c0 FROM ({inner}) AS {u}, ({inner}) AS {v} WHERE {v}.k = {u}.k AND {u}.k IS NOT NULL"
            ),
            format!(
                "WITH w AS ({inner}), v AS (SELECT k FROM w WHERE k IS NOT NULL) SELECT {u}.k AS c0 FROM v AS {u} JOIN w AS {v} ON {u}.k = {v}.k"
            ),
        ],
        near: vec![
            format!("WITH w AS ({inner}) SELECT k AS c0 FROM w"),
            format!("WITH w AS ({inner}) SELECT k AS c0 FROM w WHERE k IS NOT NULL"),
            format!("WITH w AS ({distinct}) SELECT {u}.k AS c0 FROM w AS {u} JOIN w AS {v} ON {u}.k = {v}.k"),
            format!("WITH w AS ({inner}) SELECT {u}.k AS c0 FROM w AS {u} WHERE {u}.k IN (SELECT k FROM w)"),
        ],
    })
}
