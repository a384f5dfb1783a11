//! Rules about GROUP BY and aggregates.

use super::super::scalar::{Gen, Ref};
use super::super::schema::Ty;
use super::{Base, Class, Rule};

pub(super) const RULES: &[Rule] = &[
    distinct_group,
    distinct_key,
    counts,
    distinct_count,
    regroup,
    regroup_whole,
    having,
    filter,
    linear,
    eager,
    product,
    rollup,
    constant_group,
    key_group,
    extremes,
    average,
    empty_groups,
];

fn number(g: &mut Gen, base: &Base) -> Option<String> {
    let numbers: Vec<String> = base.scope.iter().filter(|r| r.ty.is_number()).map(|r| r.text.clone()).collect();
    (!numbers.is_empty()).then(|| g.one(&numbers))
}

fn ordered(g: &mut Gen, base: &Base) -> Option<Ref> {
    let fitting: Vec<Ref> = base.scope.iter().filter(|r| r.ty != Ty::Bool).cloned().collect();
    (!fitting.is_empty()).then(|| g.one(&fitting))
}

/// DISTINCT as GROUP BY.
fn distinct_group(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let (x, y) = (g.one(&base.scope).text, g.one(&base.scope).text);
    let z = g.alias();
    let plain = base.select(&format!("{x} AS c0, {y} AS c1"), None);
    Some(Class {
        same: vec![
            base.select(&format!("DISTINCT {x} AS c0, {y} AS c1"), None),
            format!("{plain} GROUP BY {x}, {y}"),
            format!("SELECT c0, c1 FROM ({plain}) AS {z} GROUP BY c1, c0"),
            format!("SELECT DISTINCT * FROM ({plain}) AS {z}"),
            format!("{plain} UNION {plain}"),
            format!("{plain} GROUP BY {x}, {y} HAVING COUNT(*) >= 1"),
        ],
        near: vec![
            plain.clone(),
            format!("{plain} GROUP BY {x}, {y} HAVING COUNT(*) = 1"),
            format!("{plain} GROUP BY {x}, {y} HAVING COUNT({x}) >= 1"),
            base.select(&format!("{x} AS c0, MIN({x}) AS c1"), None) + &format!(" GROUP BY {x}"),
        ],
    })
}

/// DISTINCT over what is or is not a key.
fn distinct_key(g: &mut Gen) -> Option<Class> {
    let rel = g.rel();
    let keys: Vec<Vec<usize>> = g.table(&rel).keys().into_iter().map(<[usize]>::to_vec).collect();
    let key = (!keys.is_empty()).then(|| g.one(&keys))?;
    let from = g.from(&rel);
    let names: Vec<String> = key.iter().map(|&k| g.at(&rel, k).text).collect();
    let list = super::items(&names);
    let known: Vec<String> = names.iter().map(|n| format!("{n} IS NOT NULL")).collect();
    let known = known.join(" AND ");
    let grouped = names.join(", ");
    let (first, z) = (&names[0], g.alias());
    if g.chance(30) {
        return Some(Class {
            same: vec![
                format!("SELECT COUNT(DISTINCT {first}) AS c0 FROM {from}"),
                format!("SELECT COUNT({first}) AS c0 FROM {from}"),
                format!("SELECT COUNT(*) AS c0 FROM {from} WHERE {first} IS NOT NULL"),
            ],
            near: vec![
                format!("SELECT COUNT(*) AS c0 FROM {from}"),
                format!("SELECT COUNT(*) AS c0 FROM (SELECT DISTINCT {first} FROM {from}) AS {z}"),
            ],
        });
    }
    Some(Class {
        same: vec![
            format!("SELECT {list} FROM {from} WHERE {known}"),
            format!("SELECT DISTINCT {list} FROM {from} WHERE {known}"),
            format!("SELECT {list} FROM {from} WHERE {known} GROUP BY {grouped}"),
        ],
        near: vec![
            format!("SELECT {list} FROM {from}"),
            format!("SELECT DISTINCT {list} FROM {from}"),
            format!("SELECT {list} FROM {from} WHERE {known} GROUP BY {grouped} HAVING COUNT(*) > 1"),
        ],
    })
}

/// Counting values.
fn counts(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let (k, x) = (g.one(&base.scope).text, g.one(&base.scope).text);
    let grouped = g.chance(50);
    let text = |value: &str| {
        if grouped {
            base.select(&format!("{k} AS c0, {value} AS c1"), None) + &format!(" GROUP BY {k}")
        } else {
            base.select(&format!("{value} AS c0"), None)
        }
    };
    let mut class = Class {
        same: vec![
            text(&format!("COUNT({x})")),
            text(&format!("COUNT(CASE WHEN {x} IS NOT NULL THEN 1 END)")),
            text(&format!("COUNT(*) FILTER (WHERE {x} IS NOT NULL)")),
            text(&format!("COUNT(*) - COUNT(*) FILTER (WHERE {x} IS NULL)")),
            text(&format!("COALESCE(SUM(CASE WHEN {x} IS NULL THEN 0 ELSE 1 END), 0)")),
        ],
        near: vec![
            text("COUNT(*)"),
            text(&format!("COUNT(DISTINCT {x})")),
            text(&format!("COUNT(CASE WHEN {x} IS NOT NULL THEN 1 ELSE 0 END)")),
            text(&format!("SUM(CASE WHEN {x} = {x} THEN 1 END)")),
        ],
    };
    let sum = text(&format!("SUM(CASE WHEN {x} IS NULL THEN 0 ELSE 1 END)"));
    // Over no rows the sum is NULL, but a group has rows.
    if grouped {
        class.same.push(sum);
    } else {
        class.near.push(sum);
    }
    Some(class)
}

/// COUNT(DISTINCT x) over a derived table.
fn distinct_count(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let (k, x, z) = (g.one(&base.scope).text, g.one(&base.scope).text, g.alias());
    if g.chance(50) {
        let pairs = base.select(&format!("DISTINCT {k} AS k, {x} AS v"), None);
        return Some(Class {
            same: vec![
                base.select(&format!("{k} AS c0, COUNT(DISTINCT {x}) AS c1"), None) + &format!(" GROUP BY {k}"),
                format!("SELECT {z}.k AS c0, COUNT({z}.v) AS c1 FROM ({pairs}) AS {z} GROUP BY {z}.k"),
            ],
            near: vec![
                format!("SELECT {z}.k AS c0, COUNT(*) AS c1 FROM ({pairs}) AS {z} GROUP BY {z}.k"),
                base.select(&format!("{k} AS c0, COUNT({x}) AS c1"), None) + &format!(" GROUP BY {k}"),
            ],
        });
    }
    let values = base.select(&format!("{x} AS v"), None);
    Some(Class {
        same: vec![
            base.select(&format!("COUNT(DISTINCT {x}) AS c0"), None),
            format!("SELECT COUNT({z}.v) AS c0 FROM ({}) AS {z}", base.select(&format!("DISTINCT {x} AS v"), None)),
            format!("SELECT COUNT({z}.v) AS c0 FROM ({values} GROUP BY {x}) AS {z}"),
            format!("SELECT COUNT(*) AS c0 FROM ({values} UNION {values}) AS {z} WHERE {z}.v IS NOT NULL"),
        ],
        near: vec![
            format!("SELECT COUNT(*) AS c0 FROM ({}) AS {z}", base.select(&format!("DISTINCT {x} AS v"), None)),
            base.select(&format!("COUNT({x}) AS c0"), None),
            format!("SELECT COUNT(*) AS c0 FROM ({values} GROUP BY {x}) AS {z}"),
        ],
    })
}

/// Grouping in two steps.
fn regroup(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let (k, j) = (g.one(&base.scope).text, g.one(&base.scope).text);
    let z = g.alias();
    let which = g.below(4);
    let (outer, inner, value) = match which {
        0 => ("SUM", "COUNT", "*".to_owned()),
        1 => ("SUM", "SUM", number(g, &base)?),
        2 => ("MIN", "MIN", ordered(g, &base)?.text),
        _ => ("MAX", "MAX", ordered(g, &base)?.text),
    };
    let steps = |inner: &str, outer: &str| {
        let fine = base.select(&format!("{k} AS k, {j} AS j, {inner} AS n"), None);
        format!("SELECT {z}.k AS c0, {outer}({z}.n) AS c1 FROM ({fine} GROUP BY {k}, {j}) AS {z} GROUP BY {z}.k")
    };
    let once = |value: &str| base.select(&format!("{k} AS c0, {value} AS c1"), None) + &format!(" GROUP BY {k}");
    let direct = format!("{inner}({value})");
    let mut near = vec![steps(&direct, "COUNT"), once(&format!("COUNT({j})"))];
    if which < 2 {
        near.push(steps(&direct, "MAX"));
        near.push(steps(&direct, "SUM").replace("SUM(r", "SUM(DISTINCT r"));
    }
    Some(Class { same: vec![once(&direct), steps(&direct, outer)], near })
}

/// Grouping in two steps, the second over everything.
fn regroup_whole(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let j = g.one(&base.scope).text;
    let z = g.alias();
    let steps = |inner: &str, outer: &str| {
        let fine = base.select(&format!("{inner} AS n"), None);
        format!("SELECT {outer} AS c0 FROM ({fine} GROUP BY {j}) AS {z}").replace("(n)", &format!("({z}.n)"))
    };
    let once = |value: &str| base.select(&format!("{value} AS c0"), None);
    if g.chance(50) {
        return Some(Class {
            same: vec![
                once("COUNT(*)"),
                steps("COUNT(*)", "COALESCE(SUM(n), 0)"),
                once("COUNT(1)"),
                once("COALESCE(SUM(1), 0)"),
            ],
            near: vec![
                steps("COUNT(*)", "SUM(n)"),
                steps("COUNT(*)", "COUNT(n)"),
                steps(&format!("COUNT({j})"), "COALESCE(SUM(n), 0)"),
                once("SUM(1)"),
            ],
        });
    }
    let x = number(g, &base)?;
    Some(Class {
        same: vec![once(&format!("SUM({x})")), steps(&format!("SUM({x})"), "SUM(n)")],
        near: vec![
            steps(&format!("SUM({x})"), "COALESCE(SUM(n), 0)"),
            steps(&format!("SUM(DISTINCT {x})"), "SUM(n)"),
            once(&format!("SUM(DISTINCT {x})")),
            once(&format!("SUM(COALESCE({x}, 0))")),
        ],
    })
}

/// HAVING and WHERE.
fn having(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let k = g.one(&base.scope);
    let mut others = base.scope.clone();
    others.retain(|r| r.text != k.text);
    let value = g.aggregate(&base.scope).text;
    let (op, literal) = (g.comparison(), g.literal(k.ty));
    let k = k.text;
    let p = format!("({k} {op} {literal})");
    let what = format!("{k} AS c0, {value} AS c1");
    let z = g.alias();
    let near_where = if others.is_empty() { None } else { Some(g.predicate(&others, 0)) };
    let mut near = vec![
        format!("{} GROUP BY {k}", base.select(&what, None)),
        format!("{} GROUP BY {k} HAVING {p} AND COUNT(*) > 1", base.select(&what, None)),
        format!("{} GROUP BY {k} HAVING NOT {p}", base.select(&what, None)),
    ];
    if let Some(q) = near_where {
        near.push(format!("{} GROUP BY {k} HAVING {p}", base.select(&what, Some(&q))));
    }
    Some(Class {
        same: vec![
            format!("{} GROUP BY {k} HAVING {p}", base.select(&what, None)),
            format!("{} GROUP BY {k}", base.select(&what, Some(&p))),
            format!("SELECT * FROM ({} GROUP BY {k}) AS {z} WHERE {z}.c0 {op} {literal}", base.select(&what, None)),
            format!("{} GROUP BY {k} HAVING COUNT(*) > 0", base.select(&what, Some(&p))),
        ],
        near,
    })
}

/// FILTER and CASE.
fn filter(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let (k, x) = (g.one(&base.scope).text, number(g, &base)?);
    let p = g.predicate(&base.scope, 0);
    let grouped = g.chance(50);
    let text = |value: String, extra: Option<&str>| {
        if grouped {
            base.select(&format!("{k} AS c0, {value} AS c1"), extra) + &format!(" GROUP BY {k}")
        } else {
            base.select(&format!("{value} AS c0"), extra)
        }
    };
    let mut class = Class {
        same: vec![
            text(format!("SUM({x}) FILTER (WHERE {p})"), None),
            text(format!("SUM(CASE WHEN {p} THEN {x} END)"), None),
            text(format!("SUM(CASE WHEN {p} THEN {x} ELSE NULL END)"), None),
            text(format!("SUM(CASE WHEN ({p}) IS NOT TRUE THEN NULL ELSE {x} END)"), None),
        ],
        near: vec![
            text(format!("SUM(CASE WHEN {p} THEN {x} ELSE 0 END)"), None),
            text(format!("SUM({x}) FILTER (WHERE NOT {p})"), None),
            text(format!("SUM(DISTINCT {x}) FILTER (WHERE {p})"), None),
        ],
    };
    let pushed = text(format!("SUM({x})"), Some(&p));
    // A group all of whose rows fail the condition disappears.
    if grouped {
        class.near.push(pushed);
    } else {
        class.same.push(pushed);
    }
    Some(class)
}

/// SUM of sums and of multiples.
fn linear(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let (x, y) = (number(g, &base)?, number(g, &base)?);
    let text = |value: String| base.select(&format!("{value} AS c0"), None);
    if g.chance(50) {
        return Some(Class {
            same: vec![
                text(format!("SUM({x} + 1)")),
                text(format!("SUM({x}) + COUNT({x})")),
                text(format!("SUM({x}) + SUM(CASE WHEN {x} IS NOT NULL THEN 1 END)")),
            ],
            near: vec![
                text(format!("SUM({x}) + COUNT(*)")),
                text(format!("SUM({x}) + 1")),
                text(format!("COALESCE(SUM({x}), 0) + COUNT({x})")),
            ],
        });
    }
    Some(Class {
        same: vec![
            text(format!("SUM({x} + {y})")),
            text(format!("SUM({y} + {x})")),
            text(format!("SUM({x}) FILTER (WHERE {y} IS NOT NULL) + SUM({y}) FILTER (WHERE {x} IS NOT NULL)")),
        ],
        near: vec![
            text(format!("SUM({x}) + SUM({y})")),
            text(format!("COALESCE(SUM({x}), 0) + COALESCE(SUM({y}), 0)")),
            text(format!("SUM(COALESCE({x}, 0) + COALESCE({y}, 0))")),
        ],
    })
}

/// Aggregation before a join.
fn eager(g: &mut Gen) -> Option<Class> {
    let (left, right) = (g.rel(), g.rel());
    let (i, j) = g.meet(&left, &right)?;
    let (x, y) = (g.at(&left, i).text, g.at(&right, j).text);
    let numbers: Vec<Ref> = g.refs(&right).into_iter().filter(|r| r.ty.is_number()).collect();
    let v = (!numbers.is_empty()).then(|| g.one(&numbers))?.text;
    let (a, b, z) = (g.from(&left), g.from(&right), g.alias());
    let k = g.one(&g.refs(&left)).text;
    let early = format!("(SELECT {y} AS k, SUM({v}) AS s, COUNT(*) AS n FROM {b} GROUP BY {y}) AS {z}");
    if g.chance(50) {
        return Some(Class {
            same: vec![
                format!("SELECT {k} AS c0, SUM({v}) AS c1 FROM {a} JOIN {b} ON {x} = {y} GROUP BY {k}"),
                format!("SELECT {k} AS c0, SUM({z}.s) AS c1 FROM {a} JOIN {early} ON {x} = {z}.k GROUP BY {k}"),
            ],
            near: vec![
                format!("SELECT {k} AS c0, {z}.s AS c1 FROM {a} JOIN {early} ON {x} = {z}.k"),
                format!("SELECT {k} AS c0, SUM(DISTINCT {v}) AS c1 FROM {a} JOIN {b} ON {x} = {y} GROUP BY {k}"),
                format!("SELECT {k} AS c0, SUM({v}) AS c1 FROM {a} LEFT JOIN {b} ON {x} = {y} GROUP BY {k}"),
            ],
        });
    }
    Some(Class {
        same: vec![
            format!("SELECT {k} AS c0, COUNT(*) AS c1 FROM {a} JOIN {b} ON {x} = {y} GROUP BY {k}"),
            format!("SELECT {k} AS c0, SUM({z}.n) AS c1 FROM {a} JOIN {early} ON {x} = {z}.k GROUP BY {k}"),
        ],
        near: vec![
            format!("SELECT {k} AS c0, COUNT({z}.n) AS c1 FROM {a} JOIN {early} ON {x} = {z}.k GROUP BY {k}"),
            format!("SELECT {k} AS c0, COUNT({v}) AS c1 FROM {a} JOIN {b} ON {x} = {y} GROUP BY {k}"),
            format!("SELECT {k} AS c0, COUNT(*) AS c1 FROM {a} LEFT JOIN {b} ON {x} = {y} GROUP BY {k}"),
        ],
    })
}

/// Counting a cross join.
fn product(g: &mut Gen) -> Option<Class> {
    let (left, right) = (g.rel(), g.rel());
    let (a, b) = (g.from(&left), g.from(&right));
    let p = g.predicate(&g.refs(&left), 0);
    Some(Class {
        same: vec![
            format!("SELECT COUNT(*) AS c0 FROM {a}, {b} WHERE {p}"),
            format!("SELECT (SELECT COUNT(*) FROM {a} WHERE {p}) * (SELECT COUNT(*) FROM {b}) AS c0"),
            format!("SELECT COUNT(*) AS c0 FROM {b} CROSS JOIN {a} WHERE {p}"),
        ],
        near: vec![
            format!("SELECT (SELECT COUNT(*) FROM {a} WHERE {p}) + (SELECT COUNT(*) FROM {b}) AS c0"),
            format!("SELECT COUNT(*) AS c0 FROM {a} LEFT JOIN {b} ON {p}"),
            format!("SELECT COUNT(*) AS c0 FROM {a} LEFT JOIN {b} ON TRUE WHERE {p}"),
        ],
    })
}

/// ROLLUP and friends as unions.
fn rollup(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let (k, j) = (g.one(&base.scope).text, g.one(&base.scope).text);
    if k == j {
        return None;
    }
    let value = g.one(&["COUNT(*)", "COUNT(DISTINCT 1)"]);
    let text = |what: &str, tail: &str| base.select(what, None) + tail;
    let all = format!("{k} AS c0, {j} AS c1, {value} AS c2");
    let fine = text(&all, &format!(" GROUP BY {k}, {j}"));
    let one = text(&format!("{k}, NULL, {value}"), &format!(" GROUP BY {k}"));
    let other = text(&format!("NULL, {j}, {value}"), &format!(" GROUP BY {j}"));
    let total = text(&format!("NULL, NULL, {value}"), "");
    if g.chance(40) {
        return Some(Class {
            same: vec![
                text(&all, &format!(" GROUP BY CUBE ({k}, {j})")),
                format!("{fine} UNION ALL {one} UNION ALL {other} UNION ALL {total}"),
            ],
            near: vec![text(&all, &format!(" GROUP BY ROLLUP ({k}, {j})")), fine],
        });
    }
    Some(Class {
        same: vec![
            text(&all, &format!(" GROUP BY ROLLUP ({k}, {j})")),
            text(&all, &format!(" GROUP BY GROUPING SETS (({k}, {j}), ({k}), ())")),
            format!("{fine} UNION ALL {one} UNION ALL {total}"),
        ],
        near: vec![
            fine.clone(),
            format!("{fine} UNION ALL {one}"),
            format!("{fine} UNION {one} UNION {total}"),
            text(&all, &format!(" GROUP BY ROLLUP ({j}, {k})")),
            text(&all, &format!(" GROUP BY GROUPING SETS (({k}, {j}), ())")),
        ],
    })
}

/// Groups by constants: no rows, no group.
fn constant_group(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let value = g.aggregate(&base.scope).text;
    let z = g.alias();
    let what = format!("{value} AS c0");
    let keyed =
        format!("SELECT {z}.n AS c0 FROM ({} GROUP BY 1 + 1) AS {z}", base.select(&format!("{value} AS n"), None));
    Some(Class {
        same: vec![
            keyed.clone(),
            format!("{} HAVING COUNT(*) > 0", base.select(&what, None)),
            format!(
                "SELECT n AS c0 FROM ({}) AS {z} WHERE m <> 0",
                base.select(&format!("{value} AS n, COUNT(*) AS m"), None)
            ),
        ],
        near: vec![
            base.select(&what, None),
            format!("{} HAVING COUNT(*) > 1", base.select(&what, None)),
            format!("{} HAVING COUNT(*) >= 0", base.select(&what, None)),
        ],
    })
}

/// Groups of one row each.
fn key_group(g: &mut Gen) -> Option<Class> {
    let rel = g.rel();
    let keys: Vec<Vec<usize>> = g.table(&rel).keys().into_iter().map(<[usize]>::to_vec).collect();
    let key = (!keys.is_empty()).then(|| g.one(&keys))?;
    let names: Vec<String> = key.iter().map(|&k| g.at(&rel, k).text).collect();
    let (k, by, from) = (names[0].clone(), names.join(", "), g.from(&rel));
    let columns: Vec<Ref> = g.refs(&rel).into_iter().filter(|r| r.ty != Ty::Bool).collect();
    let x = if columns.is_empty() { return None } else { g.one(&columns) };
    let function = if x.ty.is_number() { g.one(&["SUM", "MIN", "MAX"]) } else { "MIN" };
    let x = x.text;
    Some(Class {
        same: vec![
            format!("SELECT {k} AS c0, {function}({x}) AS c1 FROM {from} GROUP BY {by}"),
            format!("SELECT {k} AS c0, {x} AS c1 FROM {from}"),
            format!("SELECT {k} AS c0, {function}(DISTINCT {x}) AS c1 FROM {from} GROUP BY {by} HAVING COUNT(*) > 0"),
        ],
        near: vec![
            format!("SELECT {k} AS c0, COUNT({x}) AS c1 FROM {from} GROUP BY {by}"),
            format!("SELECT {k} AS c0, {function}({x}) AS c1 FROM {from} GROUP BY {by} HAVING COUNT(*) > 1"),
            format!("SELECT {k} AS c0, {x} AS c1 FROM {from} WHERE {k} IS NOT NULL"),
        ],
    })
}

/// MIN and MAX do not see duplicates or NULLs.
fn extremes(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let x = ordered(g, &base)?;
    let literal = g.literal(x.ty);
    let (function, z) = (g.one(&["MIN", "MAX"]), g.alias());
    let other = if function == "MIN" { "MAX" } else { "MIN" };
    let x = x.text;
    let once = base.select(&format!("{function}({x}) AS c0"), None);
    Some(Class {
        same: vec![
            once.clone(),
            base.select(&format!("{function}(DISTINCT {x}) AS c0"), None),
            base.select(&format!("{function}({x}) AS c0"), Some(&format!("({x} IS NOT NULL)"))),
            format!("SELECT {function}(v) AS c0 FROM ({}) AS {z}", base.select(&format!("DISTINCT {x} AS v"), None)),
            format!("SELECT {function}(c0) AS c0 FROM ({once} UNION ALL {once}) AS {z}"),
        ],
        near: vec![
            base.select(&format!("{other}({x}) AS c0"), None),
            base.select(&format!("{function}(COALESCE({x}, {literal})) AS c0"), None),
            base.select(&format!("{function}({x}) AS c0"), None) + " HAVING COUNT(*) > 0",
            base.select(&format!("{function}({x}) AS c0"), None) + &format!(" GROUP BY {x}"),
        ],
    })
}

/// AVG skips NULL.
fn average(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let x = number(g, &base)?;
    let text = |value: String, extra: Option<&str>| base.select(&format!("{value} AS c0"), extra);
    Some(Class {
        same: vec![
            text(format!("AVG({x})"), None),
            text(format!("AVG({x})"), Some(&format!("({x} IS NOT NULL)"))),
            text(format!("AVG({x}) FILTER (WHERE {x} = {x})"), None),
            text(format!("AVG(CASE WHEN {x} IS NOT NULL THEN {x} END)"), None),
        ],
        near: vec![
            text(format!("AVG(COALESCE({x}, 0))"), None),
            text(format!("AVG(DISTINCT {x})"), None),
            text(format!("SUM({x})"), None),
        ],
    })
}

/// Aggregates over no rows.
fn empty_groups(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let (x, z) = (g.one(&base.scope).text, g.alias());
    let nothing = |what: &str| base.select(what, Some("FALSE"));
    Some(Class {
        same: vec![
            nothing("COUNT(*) AS c0"),
            "SELECT 0 AS c0".to_owned(),
            nothing(&format!("COUNT({x}) AS c0")),
            format!("SELECT COUNT(*) AS c0 FROM ({}) AS {z}", nothing(&format!("DISTINCT {x} AS v"))),
        ],
        near: vec![
            nothing("COUNT(*) AS c0") + &format!(" GROUP BY {x}"),
            nothing("SUM(1) AS c0"),
            nothing("0 AS c0"),
            base.select("COUNT(*) AS c0", None),
        ],
    })
}
