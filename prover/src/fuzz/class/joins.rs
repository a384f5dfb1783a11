//! Rules about joins, keys and references.

use super::super::query::items;
use super::super::scalar::{Gen, Ref, Rel};
use super::{Class, Rule};

pub(super) const RULES: &[Rule] = &[
    inner,
    outer_expansion,
    full_expansion,
    null_rejecting,
    one_sided,
    swapped,
    three,
    parent,
    kept_parent,
    self_join,
    natural,
    on_true,
    anti,
    semi,
    transitive,
];

/// Two tables, a condition between them, and a column of each.
struct Two {
    left: Rel,
    right: Rel,
    a: String,
    b: String,
    /// The columns of the condition.
    on: (Ref, Ref),
    what: String,
    x: Ref,
    y: Ref,
}

impl Two {
    fn new(g: &mut Gen) -> Option<Self> {
        let (left, right) = (g.rel(), g.rel());
        let (i, j) = g.meet(&left, &right)?;
        let on = (g.at(&left, i), g.at(&right, j));
        let (lefts, rights) = (g.refs(&left), g.refs(&right));
        let (x, y) = (g.one(&lefts), g.one(&rights));
        let (a, b) = (g.from(&left), g.from(&right));
        let what = items(&[&x.text, &y.text]);
        Some(Self { left, right, a, b, on, what, x, y })
    }

    fn equal(&self) -> String {
        format!("{} = {}", self.on.0.text, self.on.1.text)
    }
}

/// Spellings of an inner join.
fn inner(g: &mut Gen) -> Option<Class> {
    let t = Two::new(g)?;
    let (a, b, what, on) = (&t.a, &t.b, &t.what, t.equal());
    let p = g.predicate(&g.refs(&t.left), 0);
    let q = g.predicate(&g.refs(&t.right), 0);
    let (l, r) = (&t.left.alias, &t.right.alias);
    Some(Class {
        same: vec![
            format!("SELECT {what} FROM {a} JOIN {b} ON {on} WHERE {p} AND {q}"),
            format!("SELECT {what} FROM {b} JOIN {a} ON {on} AND {q} WHERE {p}"),
            format!("SELECT {what} FROM {a}, {b} WHERE {q} AND {on} AND {p}"),
            format!("SELECT {what} FROM {a} CROSS JOIN {b} WHERE {p} AND {q} AND {on}"),
            format!(
                "SELECT {what} FROM (SELECT * FROM {a} WHERE {p}) AS {l} JOIN (SELECT * FROM {b} WHERE {q}) AS {r} ON {on}"
            ),
            format!("SELECT {what} FROM {a} LEFT JOIN {b} ON {on} AND {q} WHERE {p} AND {}", on_again(&t)),
        ],
        near: vec![
            format!("SELECT {what} FROM {a} LEFT JOIN {b} ON {on} AND {q} WHERE {p}"),
            format!("SELECT {what} FROM {a} LEFT JOIN {b} ON {on} WHERE {p} AND {q}"),
            format!("SELECT {what} FROM {a} JOIN {b} ON {on} OR {p} WHERE {q}"),
            format!("SELECT DISTINCT {what} FROM {a} JOIN {b} ON {on} WHERE {p} AND {q}"),
        ],
    })
}

fn on_again(t: &Two) -> String {
    format!("({} = {}) IS TRUE", t.on.1.text, t.on.0.text)
}

/// A left join as an inner join and the rows without a partner.
fn outer_expansion(g: &mut Gen) -> Option<Class> {
    let t = Two::new(g)?;
    let (a, b, what, on) = (&t.a, &t.b, &t.what, t.equal());
    let on = if g.chance(30) {
        let extra = g.predicate(&g.refs(&t.right), 0);
        format!("{on} AND {extra}")
    } else {
        on
    };
    let joined = format!("SELECT {what} FROM {a} JOIN {b} ON {on}");
    let x = &t.x.text;
    let (key, other) = (&t.on.0.text, &t.on.1.text);
    Some(Class {
        same: vec![
            format!("SELECT {what} FROM {a} LEFT JOIN {b} ON {on}"),
            format!("{joined} UNION ALL SELECT {x}, NULL FROM {a} WHERE NOT EXISTS (SELECT 1 FROM {b} WHERE {on})"),
            format!("SELECT {what} FROM {b} RIGHT JOIN {a} ON {on}"),
        ],
        near: vec![
            format!("{joined} UNION SELECT {x}, NULL FROM {a} WHERE NOT EXISTS (SELECT 1 FROM {b} WHERE {on})"),
            format!("{joined} UNION ALL SELECT {x}, NULL FROM {a} WHERE {key} NOT IN (SELECT {other} FROM {b})"),
            format!("{joined} UNION ALL SELECT {x}, NULL FROM {a} WHERE EXISTS (SELECT 1 FROM {b} WHERE NOT ({on}))"),
            joined.clone(),
        ],
    })
}

/// A full join as its parts.
fn full_expansion(g: &mut Gen) -> Option<Class> {
    let t = Two::new(g)?;
    let (a, b, what, on) = (&t.a, &t.b, &t.what, t.equal());
    let (x, y) = (&t.x.text, &t.y.text);
    let left = format!("SELECT {what} FROM {a} LEFT JOIN {b} ON {on}");
    let right = format!("SELECT {what} FROM {a} RIGHT JOIN {b} ON {on}");
    let lone_right = format!("SELECT NULL, {y} FROM {b} WHERE NOT EXISTS (SELECT 1 FROM {a} WHERE {on})");
    let lone_left = format!("SELECT {x}, NULL FROM {a} WHERE NOT EXISTS (SELECT 1 FROM {b} WHERE {on})");
    Some(Class {
        same: vec![
            format!("SELECT {what} FROM {a} FULL JOIN {b} ON {on}"),
            format!("SELECT {what} FROM {b} FULL JOIN {a} ON {on}"),
            format!("{left} UNION ALL {lone_right}"),
            format!("{right} UNION ALL {lone_left}"),
            format!("SELECT {what} FROM {a} JOIN {b} ON {on} UNION ALL {lone_left} UNION ALL {lone_right}"),
        ],
        near: vec![format!("{left} UNION {right}"), left, format!("{right} UNION ALL {lone_right}")],
    })
}

/// An outer join under a condition that its padding cannot satisfy, or can.
fn null_rejecting(g: &mut Gen) -> Option<Class> {
    let t = Two::new(g)?;
    let (a, b, what, on) = (&t.a, &t.b, &t.what, t.equal());
    let y = &t.y.text;
    let literal = g.literal(t.y.ty);
    let op = g.comparison();
    Some(Class {
        same: vec![
            format!("SELECT {what} FROM {a} LEFT JOIN {b} ON {on} WHERE {y} {op} {literal}"),
            format!("SELECT {what} FROM {a} JOIN {b} ON {on} WHERE {y} {op} {literal}"),
            format!("SELECT {what} FROM {a} JOIN {b} ON {on} AND {y} {op} {literal}"),
            format!("SELECT {what} FROM {b} LEFT JOIN {a} ON {on} WHERE {y} {op} {literal} AND {on}"),
        ],
        near: vec![
            format!("SELECT {what} FROM {a} LEFT JOIN {b} ON {on} AND {y} {op} {literal}"),
            format!("SELECT {what} FROM {a} LEFT JOIN {b} ON {on} WHERE ({y} {op} {literal}) IS NOT FALSE"),
            format!("SELECT {what} FROM {a} LEFT JOIN {b} ON {on} WHERE ({y} {op} {literal} OR {y} IS NULL)"),
            format!("SELECT {what} FROM {a} LEFT JOIN {b} ON {on} WHERE COALESCE({y}, {literal}) {op} {literal}"),
        ],
    })
}

/// Conditions on one side of a left join.
fn one_sided(g: &mut Gen) -> Option<Class> {
    let t = Two::new(g)?;
    let (a, b, what, on) = (&t.a, &t.b, &t.what, t.equal());
    let (l, r) = (&t.left.alias, &t.right.alias);
    if g.chance(50) {
        let p = g.predicate(&g.refs(&t.left), 1);
        return Some(Class {
            same: vec![
                format!("SELECT {what} FROM {a} LEFT JOIN {b} ON {on} WHERE {p}"),
                format!("SELECT {what} FROM (SELECT * FROM {a} WHERE {p}) AS {l} LEFT JOIN {b} ON {on}"),
                format!("SELECT {what} FROM {a} LEFT JOIN {b} ON {on} AND {p} WHERE {p}"),
            ],
            near: vec![
                format!("SELECT {what} FROM {a} LEFT JOIN {b} ON {on} AND {p}"),
                format!("SELECT {what} FROM {a} JOIN {b} ON {on} AND {p}"),
            ],
        });
    }
    let q = g.predicate(&g.refs(&t.right), 1);
    Some(Class {
        same: vec![
            format!("SELECT {what} FROM {a} LEFT JOIN {b} ON {on} AND {q}"),
            format!("SELECT {what} FROM {a} LEFT JOIN (SELECT * FROM {b} WHERE {q}) AS {r} ON {on}"),
        ],
        near: vec![
            format!("SELECT {what} FROM {a} LEFT JOIN {b} ON {on} WHERE {q}"),
            format!("SELECT {what} FROM {a} LEFT JOIN {b} ON {on} WHERE ({q}) IS NOT FALSE"),
        ],
    })
}

/// LEFT and RIGHT.
fn swapped(g: &mut Gen) -> Option<Class> {
    let t = Two::new(g)?;
    let (a, b, what, on) = (&t.a, &t.b, &t.what, t.equal());
    Some(Class {
        same: vec![
            format!("SELECT {what} FROM {a} LEFT JOIN {b} ON {on}"),
            format!("SELECT {what} FROM {b} RIGHT JOIN {a} ON {on}"),
        ],
        near: vec![
            format!("SELECT {what} FROM {a} RIGHT JOIN {b} ON {on}"),
            format!("SELECT {what} FROM {a} FULL JOIN {b} ON {on}"),
            format!("SELECT {what} FROM {b} LEFT JOIN {a} ON {on}"),
        ],
    })
}

/// Three tables in other orders.
fn three(g: &mut Gen) -> Option<Class> {
    let t = Two::new(g)?;
    let third = g.rel();
    let (j, k) = g.meet(&t.right, &third)?;
    let (a, b, c) = (&t.a, &t.b, g.from(&third));
    let on = t.equal();
    let on2 = format!("{} = {}", g.at(&t.right, j).text, g.at(&third, k).text);
    let z = g.one(&g.refs(&third)).text;
    let what = items(&[&t.x.text, &z]);
    if g.chance(50) {
        return Some(Class {
            same: vec![
                format!("SELECT {what} FROM {a} JOIN {b} ON {on} JOIN {c} ON {on2}"),
                format!("SELECT {what} FROM {c} JOIN {b} ON {on2} JOIN {a} ON {on}"),
                format!("SELECT {what} FROM {a} JOIN ({b} JOIN {c} ON {on2}) ON {on}"),
                format!("SELECT {what} FROM {b}, {a}, {c} WHERE {on} AND {on2}"),
            ],
            near: vec![
                format!("SELECT {what} FROM {a} JOIN {b} ON {on} LEFT JOIN {c} ON {on2}"),
                format!("SELECT {what} FROM {a} LEFT JOIN {b} ON {on} LEFT JOIN {c} ON {on2}"),
                format!("SELECT {what} FROM {a}, {c} WHERE EXISTS (SELECT 1 FROM {b} WHERE {on} AND {on2})"),
            ],
        });
    }
    Some(Class {
        same: vec![
            format!("SELECT {what} FROM {a} LEFT JOIN {b} ON {on} LEFT JOIN {c} ON {on2}"),
            format!("SELECT {what} FROM {a} LEFT JOIN ({b} LEFT JOIN {c} ON {on2}) ON {on}"),
        ],
        near: vec![
            format!("SELECT {what} FROM {a} LEFT JOIN ({b} JOIN {c} ON {on2}) ON {on}"),
            format!("SELECT {what} FROM {a} LEFT JOIN {b} ON {on} JOIN {c} ON {on2}"),
        ],
    })
}

/// A reference's use of its parent, as child and parent with the two columns.
fn reference(g: &mut Gen) -> Option<(Rel, Rel, String, String)> {
    let mut found = Vec::new();
    for (child, table) in g.schema.tables.iter().enumerate() {
        found.extend(table.foreign.iter().map(|f| (child, f.clone())));
    }
    if found.is_empty() {
        return None;
    }
    let (child, foreign) = g.one(&found);
    let (child, parent) = (g.rel_of(child), g.rel_of(foreign.parent));
    let (c, p) = (g.at(&child, foreign.column).text, g.at(&parent, foreign.parent_column).text);
    Some((child, parent, c, p))
}

/// A join with the parent that only drops children without one.
fn parent(g: &mut Gen) -> Option<Class> {
    let (child, parent, c, p) = reference(g)?;
    let x = g.one(&g.refs(&child)).text;
    let (from, other) = (g.from(&child), g.from(&parent));
    Some(Class {
        same: vec![
            format!("SELECT {x} AS c0 FROM {from} JOIN {other} ON {c} = {p}"),
            format!("SELECT {x} AS c0 FROM {from} WHERE {c} IS NOT NULL"),
            format!("SELECT {x} AS c0 FROM {from} WHERE {c} IN (SELECT {p} FROM {other})"),
            format!("SELECT {x} AS c0 FROM {from} WHERE EXISTS (SELECT 1 FROM {other} WHERE {p} = {c})"),
        ],
        near: vec![
            format!("SELECT {x} AS c0 FROM {from}"),
            format!("SELECT {x} AS c0 FROM {from} LEFT JOIN {other} ON {c} = {p}"),
            format!("SELECT {x} AS c0 FROM {from} CROSS JOIN {other}"),
            format!("SELECT {x} AS c0 FROM {other} LEFT JOIN {from} ON {c} = {p}"),
        ],
    })
}

/// A left join whose right side is unused.
fn kept_parent(g: &mut Gen) -> Option<Class> {
    let t = Two::new(g)?;
    let (a, b, on, x) = (&t.a, &t.b, t.equal(), &t.x.text);
    let key: Vec<usize> = g.table(&t.right).keys().into_iter().filter(|k| k.len() == 1).map(|k| k[0]).collect();
    let on = match key.first() {
        Some(&k) if g.chance(70) => {
            let right = g.at(&t.right, k);
            let lefts = g.refs(&t.left);
            let (left, right) = g.meet_refs(&lefts, &[right])?;
            format!("{} = {}", left.text, right.text)
        }
        _ => on,
    };
    let plain = format!("SELECT {x} AS c0 FROM {a}");
    let joined = format!("SELECT {x} AS c0 FROM {a} LEFT JOIN {b} ON {on}");
    let inner = format!("SELECT {x} AS c0 FROM {a} JOIN {b} ON {on}");
    let distinct = |text: &str| text.replacen("SELECT", "SELECT DISTINCT", 1);
    if g.chance(30) {
        return Some(Class {
            same: vec![distinct(&plain), distinct(&joined), format!("SELECT {x} AS c0 FROM {a} GROUP BY {x}")],
            near: vec![distinct(&inner), joined, plain],
        });
    }
    Some(Class {
        same: vec![plain, joined.clone()],
        near: vec![inner, distinct(&joined), format!("{joined} AND FALSE")],
    })
}

/// A table joined with itself on what is or is not a key.
fn self_join(g: &mut Gen) -> Option<Class> {
    let rel = g.rel();
    let other = g.rel_of(rel.table);
    let keys: Vec<Vec<usize>> = g.table(&rel).keys().into_iter().map(<[usize]>::to_vec).collect();
    let columns = g.table(&rel).columns.len();
    let key = if keys.is_empty() || g.chance(20) { vec![g.below(columns)] } else { g.one(&keys) };
    let equal: Vec<String> =
        key.iter().map(|&k| format!("{} = {}", g.at(&rel, k).text, g.at(&other, k).text)).collect();
    let known: Vec<String> = key.iter().map(|&k| format!("{} IS NOT NULL", g.at(&rel, k).text)).collect();
    let (on, known) = (equal.join(" AND "), known.join(" AND "));
    let (i, j) = (g.below(columns), g.below(columns));
    let (a, b) = (g.from(&rel), g.from(&other));
    let crossed = items(&[g.at(&rel, i).text, g.at(&other, j).text]);
    let plain = items(&[g.at(&rel, i).text, g.at(&rel, j).text]);
    let p = g.predicate(&g.refs(&other), 0);
    Some(Class {
        same: vec![
            format!("SELECT {crossed} FROM {a} JOIN {b} ON {on}"),
            format!("SELECT {plain} FROM {a} WHERE {known}"),
            format!("SELECT {plain} FROM {a} JOIN {b} ON {on}"),
            format!("SELECT {plain} FROM {a} WHERE EXISTS (SELECT 1 FROM {b} WHERE {on})"),
        ],
        near: vec![
            format!("SELECT {plain} FROM {a}"),
            format!("SELECT {crossed} FROM {a} LEFT JOIN {b} ON {on}"),
            format!("SELECT {crossed} FROM {a}, {b}"),
            format!("SELECT {plain} FROM {a} JOIN {b} ON {on} AND {p}"),
        ],
    })
}

/// NATURAL and USING spelled out.
fn natural(g: &mut Gen) -> Option<Class> {
    let (left, right) = (g.rel(), g.rel());
    let names: Vec<&str> = g.table(&left).columns.iter().map(|c| c.name).collect();
    let common: Vec<&str> =
        names.into_iter().filter(|n| g.table(&right).columns.iter().any(|c| c.name == *n)).collect();
    let first = *common.first()?;
    let (a, b, l, r) = (g.from(&left), g.from(&right), &left.alias, &right.alias);
    let on = common.iter().map(|n| format!("{l}.{n} = {r}.{n}")).collect::<Vec<_>>().join(" AND ");
    let using = common.join(", ");
    let kind = g.one(&["", "LEFT ", "RIGHT ", "FULL "]);
    let (own, merged) = (format!("{l}.{first}"), format!("COALESCE({l}.{first}, {r}.{first})"));
    Some(Class {
        same: vec![
            format!("SELECT {first} AS c0 FROM {a} NATURAL {kind}JOIN {b}"),
            format!("SELECT {first} AS c0 FROM {a} {kind}JOIN {b} USING ({using})"),
            format!("SELECT {merged} AS c0 FROM {a} {kind}JOIN {b} ON {on}"),
        ],
        near: vec![
            format!("SELECT {own} AS c0 FROM {a} {kind}JOIN {b} ON {on}"),
            format!("SELECT {first} AS c0 FROM {a} {kind}JOIN {b} USING ({first})"),
            format!("SELECT {merged} AS c0 FROM {a} {kind}JOIN {b} ON {l}.{first} = {r}.{first}"),
        ],
    })
}

/// Joins on constants.
fn on_true(g: &mut Gen) -> Option<Class> {
    let t = Two::new(g)?;
    let (a, b, what, x) = (&t.a, &t.b, &t.what, &t.x.text);
    if g.chance(50) {
        return Some(Class {
            same: vec![
                format!("SELECT {what} FROM {a} JOIN {b} ON TRUE"),
                format!("SELECT {what} FROM {a} CROSS JOIN {b}"),
                format!("SELECT {what} FROM {b}, {a}"),
            ],
            near: vec![
                format!("SELECT {what} FROM {a} LEFT JOIN {b} ON TRUE"),
                format!("SELECT {what} FROM {b} LEFT JOIN {a} ON TRUE"),
                format!("SELECT {what} FROM {a} LEFT JOIN {b} ON FALSE"),
            ],
        });
    }
    Some(Class {
        same: vec![
            format!("SELECT {what} FROM {a} LEFT JOIN {b} ON FALSE"),
            format!("SELECT {what} FROM {a} LEFT JOIN {b} ON {x} = NULL"),
            format!("SELECT {x} AS c0, NULL AS c1 FROM {a}"),
            format!("SELECT {what} FROM {a} LEFT JOIN (SELECT * FROM {b} WHERE FALSE) AS {} ON TRUE", t.right.alias),
        ],
        near: vec![
            format!("SELECT {what} FROM {a} LEFT JOIN {b} ON TRUE"),
            format!("SELECT {what} FROM {a} JOIN {b} ON FALSE"),
            format!("SELECT {what} FROM {a} LEFT JOIN {b} ON {x} IS NULL"),
        ],
    })
}

/// Rows without a partner.
fn anti(g: &mut Gen) -> Option<Class> {
    let t = Two::new(g)?;
    let (a, b, on, x) = (&t.a, &t.b, t.equal(), &t.x.text);
    let (key, other) = (&t.on.0.text, &t.on.1.text);
    let select = format!("SELECT {x} AS c0 FROM {a}");
    Some(Class {
        same: vec![
            format!("{select} WHERE NOT EXISTS (SELECT 1 FROM {b} WHERE {on})"),
            format!("{select} LEFT JOIN {b} ON {on} WHERE {other} IS NULL"),
            format!("{select} WHERE ({key} IN (SELECT {other} FROM {b})) IS NOT TRUE"),
            format!("{select} WHERE (SELECT COUNT(*) FROM {b} WHERE {on}) = 0"),
            format!("{select} WHERE {key} IS NULL OR {key} NOT IN (SELECT {other} FROM {b} WHERE {other} IS NOT NULL)"),
        ],
        near: vec![
            format!("{select} WHERE {key} NOT IN (SELECT {other} FROM {b})"),
            format!("{select} WHERE {key} <> ALL (SELECT {other} FROM {b})"),
            format!("{select} LEFT JOIN {b} ON {on} WHERE {} IS NULL", t.y.text),
            format!("{select} WHERE NOT EXISTS (SELECT 1 FROM {b} WHERE {key} IS NOT DISTINCT FROM {other})"),
            format!("{select} WHERE {key} NOT IN (SELECT {other} FROM {b} WHERE {other} IS NOT NULL)"),
            format!("SELECT DISTINCT {x} AS c0 FROM {a} JOIN {b} ON {key} <> {other}"),
        ],
    })
}

/// Rows with a partner.
fn semi(g: &mut Gen) -> Option<Class> {
    let t = Two::new(g)?;
    let (a, b, on, x, r) = (&t.a, &t.b, t.equal(), &t.x.text, &t.right.alias);
    let (key, other) = (&t.on.0.text, &t.on.1.text);
    let select = format!("SELECT {x} AS c0 FROM {a}");
    let bare = other.rsplit('.').next()?;
    Some(Class {
        same: vec![
            format!("{select} WHERE {key} IN (SELECT {other} FROM {b})"),
            format!("{select} WHERE EXISTS (SELECT 1 FROM {b} WHERE {on})"),
            format!("{select} JOIN (SELECT DISTINCT {other} FROM {b}) AS {r} ON {on}"),
            format!("{select} JOIN (SELECT {other} FROM {b} GROUP BY {other}) AS {r} ON {on}"),
            format!("{select} WHERE {key} = ANY (SELECT {other} FROM {b})"),
            format!("{select} WHERE (SELECT COUNT({other}) FROM {b} WHERE {on}) > 0"),
            format!("{select} WHERE {key} IN (SELECT {bare} FROM {b} WHERE {bare} IS NOT NULL)"),
        ],
        near: vec![
            format!("{select} JOIN {b} ON {on}"),
            format!("SELECT DISTINCT {x} AS c0 FROM {a} JOIN {b} ON {on}"),
            format!("{select} WHERE EXISTS (SELECT {other} FROM {b})"),
            format!("{select} WHERE {key} = ALL (SELECT {other} FROM {b})"),
        ],
    })
}

/// What follows from equalities.
fn transitive(g: &mut Gen) -> Option<Class> {
    let t = Two::new(g)?;
    let (a, b, what, on) = (&t.a, &t.b, &t.what, t.equal());
    let (left, right) = (&t.on.0.text, &t.on.1.text);
    let (op, value) = (g.comparison(), g.literal(t.on.0.ty));
    Some(Class {
        same: vec![
            format!("SELECT {what} FROM {a} JOIN {b} ON {on} WHERE {left} {op} {value}"),
            format!("SELECT {what} FROM {a} JOIN {b} ON {on} WHERE {right} {op} {value}"),
            format!("SELECT {what} FROM {a} JOIN {b} ON {on} AND {left} {op} {value} AND {right} {op} {value}"),
        ],
        near: vec![
            format!("SELECT {what} FROM {a} LEFT JOIN {b} ON {on} AND {right} {op} {value} WHERE {left} {op} {value}"),
            format!("SELECT {what} FROM {a}, {b} WHERE {left} {op} {value} AND {right} {op} {value}"),
        ],
    })
}
