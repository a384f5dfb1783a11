//! Rules about LIMIT: what an order decides, and what of it is seen.

use super::super::scalar::Gen;
use super::super::schema::Ty;
use super::{Base, Class, Rule};

pub(super) const RULES: &[Rule] = &[greatest, top, counted, constant, kept_side, filtered];

/// The greatest value, by order and by MAX.
fn greatest(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let ordered: Vec<String> = base.scope.iter().filter(|r| r.ty != Ty::Bool).map(|r| r.text.clone()).collect();
    let x = (!ordered.is_empty()).then(|| g.one(&ordered))?;
    let not_null = base.select(&format!("{x} AS c0"), Some(&format!("({x} IS NOT NULL)")));
    let (z, y) = (g.alias(), g.alias());
    let max = base.select(&format!("MAX({x}) AS c0"), None);
    Some(Class {
        same: vec![
            format!("SELECT c0 FROM ({not_null}) AS {z} ORDER BY c0 DESC NULLS LAST LIMIT 1"),
            format!("SELECT c0 FROM ({max}) AS {z} WHERE c0 IS NOT NULL"),
            format!("SELECT MAX(c0) AS c0 FROM ({not_null}) AS {z} HAVING COUNT(*) > 0"),
            format!("SELECT DISTINCT c0 FROM ({not_null}) AS {z} WHERE c0 >= ALL (SELECT c0 FROM ({not_null}) AS {y})"),
        ],
        near: vec![
            max.clone(),
            format!("SELECT c0 FROM ({not_null}) AS {z} ORDER BY c0 ASC NULLS LAST LIMIT 1"),
            format!("SELECT c0 FROM ({not_null}) AS {z} ORDER BY c0 DESC NULLS LAST LIMIT 2"),
            format!("SELECT c0 FROM ({not_null}) AS {z} ORDER BY c0 DESC NULLS LAST LIMIT 1 OFFSET 1"),
            format!("SELECT c0 FROM ({not_null}) AS {z} WHERE c0 >= ALL (SELECT c0 FROM ({not_null}) AS {y})"),
        ],
    })
}

/// A column that can be ordered by, and another one.
fn two_columns(g: &mut Gen, base: &Base) -> Option<(String, String)> {
    let ordered: Vec<String> = base.scope.iter().filter(|r| r.ty != Ty::Bool).map(|r| r.text.clone()).collect();
    let x = (!ordered.is_empty()).then(|| g.one(&ordered))?;
    Some((x, g.one(&base.scope).text))
}

/// The first rows by a value, of which nothing else is seen.
fn top(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let (x, y) = two_columns(g, &base)?;
    let (one, two) = (base.select(&format!("{x} AS c0"), None), base.select(&format!("{x} AS c0, {y} AS c1"), None));
    let (z, v) = (g.alias(), g.alias());
    let direction = g.one(&["ASC", "DESC"]);
    let (order, other) =
        (format!("ORDER BY c0 {direction} NULLS FIRST"), format!("ORDER BY c0 {direction} NULLS LAST"));
    let n = 1 + g.below(3);
    let (m, skip) = (n + 1 + g.below(2), 1 + g.below(2));
    let cut = |rows: &str, bounds: &str| format!("SELECT c0 FROM ({rows}) AS {z} {order} {bounds}");
    let again = |rows: &str, bounds: &str| format!("SELECT c0 FROM ({rows}) AS {v} {order} {bounds}");
    let total = n + skip;
    if g.chance(40) {
        let plain = cut(&one, &format!("LIMIT {n} OFFSET {skip}"));
        return Some(Class {
            same: vec![
                again(&cut(&two, &format!("LIMIT {total}")), &format!("LIMIT {n} OFFSET {skip}")),
                again(&cut(&one, &format!("LIMIT {total}")), &format!("OFFSET {skip}")),
                again(&cut(&one, &format!("OFFSET {skip}")), &format!("LIMIT {n}")),
                format!(
                    "{} EXCEPT ALL {}",
                    whole(&cut(&one, &format!("LIMIT {total}")), &v),
                    whole(&cut(&one, &format!("LIMIT {skip}")), &v)
                ),
                plain,
            ],
            near: vec![
                cut(&one, &format!("LIMIT {total}")),
                cut(&one, &format!("LIMIT {n}")),
                again(&cut(&one, &format!("LIMIT {n}")), &format!("OFFSET {skip}")),
                again(&cut(&one, &format!("LIMIT {m} OFFSET {skip}")), &format!("LIMIT {n} OFFSET {skip}")),
                format!(
                    "{} EXCEPT {}",
                    whole(&cut(&one, &format!("LIMIT {total}")), &v),
                    whole(&cut(&one, &format!("LIMIT {skip}")), &v)
                ),
            ],
        });
    }
    let plain = cut(&one, &format!("LIMIT {n}"));
    Some(Class {
        same: vec![
            cut(&two, &format!("LIMIT {n}")),
            cut(&one, &format!("LIMIT {n} OFFSET 0")),
            again(&cut(&two, &format!("LIMIT {m}")), &format!("LIMIT {n}")),
            again(&plain, &format!("LIMIT {m}")),
            format!("SELECT c0 FROM (SELECT c0, c1 FROM ({two}) AS {z} {order} LIMIT {n}) AS {v}"),
            plain.clone(),
        ],
        near: vec![
            cut(&one, &format!("LIMIT {m}")),
            cut(&one.replacen("SELECT", "SELECT DISTINCT", 1), &format!("LIMIT {n}")),
            whole(&plain, &v).replacen("SELECT", "SELECT DISTINCT", 1),
            again(&cut(&one, &format!("OFFSET {skip}")), &format!("LIMIT {n}")),
            format!("SELECT c0 FROM ({one}) AS {z} {other} LIMIT {n}"),
            format!("SELECT c0 FROM (SELECT c0 FROM ({one}) AS {z} {other} LIMIT {m}) AS {v} {order} LIMIT {n}"),
            format!("SELECT c1 AS c0 FROM (SELECT c0, c1 FROM ({two}) AS {z} {order} LIMIT {n}) AS {v}"),
        ],
    })
}

fn whole(query: &str, alias: &str) -> String {
    format!("SELECT * FROM ({query}) AS {alias}")
}

/// How many rows a LIMIT leaves does not depend on which.
fn counted(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let (x, y) = two_columns(g, &base)?;
    let (xs, ys) = (base.select(&format!("{x} AS c0"), None), base.select(&format!("{y} AS c0"), None));
    let (z, v) = (g.alias(), g.alias());
    let n = 1 + g.below(3);
    let m = n + 1;
    let count = |rows: &str| format!("SELECT COUNT(*) AS c0 FROM ({rows}) AS {z}");
    Some(Class {
        same: vec![
            count(&format!("{xs} LIMIT {n}")),
            count(&format!("{ys} LIMIT {n}")),
            count(&format!("SELECT c0 FROM ({xs}) AS {v} ORDER BY c0 LIMIT {n}")),
            format!("SELECT CASE WHEN c0 <= {n} THEN c0 ELSE {n} END AS c0 FROM ({}) AS {v}", count(&xs)),
        ],
        near: vec![
            count(&xs),
            count(&format!("{xs} LIMIT {m}")),
            count(&format!("{xs} LIMIT {n} OFFSET 1")),
            format!(
                "SELECT COUNT(c0) AS c0 FROM (SELECT c0 FROM ({xs}) AS {v} ORDER BY c0 NULLS LAST LIMIT {n}) AS {z}"
            ),
            count(&format!("SELECT DISTINCT c0 FROM ({xs}) AS {v} LIMIT {n}")),
        ],
    })
}

/// Rows that a condition makes all the same.
fn constant(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let column = g.one(&base.scope);
    let (x, value) = (column.text, g.literal(column.ty));
    let (fixed, y) = (format!("({x} = {value})"), g.one(&base.scope).text);
    let rows = base.select(&format!("{x} AS c0"), Some(&fixed));
    let z = g.alias();
    Some(Class {
        same: vec![
            format!("{rows} LIMIT 1"),
            rows.replacen("SELECT", "SELECT DISTINCT", 1),
            format!("SELECT {value} AS c0 WHERE EXISTS ({rows} LIMIT 2)"),
            format!("SELECT c0 FROM ({rows}) AS {z} GROUP BY c0"),
        ],
        near: vec![
            rows.clone(),
            format!("{rows} LIMIT 2"),
            format!("{rows} LIMIT 1 OFFSET 1"),
            format!("SELECT {value} AS c0 WHERE EXISTS ({rows} LIMIT 2 OFFSET 1)"),
            base.select(&format!("{y} AS c0"), Some(&fixed)).replacen("SELECT", "SELECT DISTINCT", 1),
        ],
    })
}

/// LIMIT before and after a join that keeps one row for each of the left.
fn kept_side(g: &mut Gen) -> Option<Class> {
    let (left, right) = (g.rel(), g.rel());
    let (i, j) = g.meet(&left, &right)?;
    let (x, y) = (g.at(&left, i), g.at(&right, j));
    if x.ty == Ty::Bool {
        return None;
    }
    let (a, b, x, y) = (g.from(&left), g.from(&right), x.text, y.text);
    let (z, v) = (g.alias(), g.alias());
    let n = 1 + g.below(2);
    let other = g.one(&g.refs(&right)).text;
    let order = "NULLS FIRST";
    let join =
        |kind: &str, what: &str| format!("SELECT {x} AS c0, {what} AS c1 FROM {a} {kind} JOIN {b} ON ({x} = {y})");
    let first = format!("(SELECT {x} AS k FROM {a} ORDER BY {x} {order} LIMIT {n}) AS {z}");
    Some(Class {
        same: vec![
            format!("SELECT c0, c1 FROM ({}) AS {v} ORDER BY c0 {order}, c1 {order} LIMIT {n}", join("LEFT", &y)),
            format!("SELECT {z}.k AS c0, {y} AS c1 FROM {first} LEFT JOIN {b} ON ({z}.k = {y})"),
            format!("SELECT c0, c1 FROM ({}) AS {v} ORDER BY c1 {order}, c0 {order} LIMIT {n}", join("LEFT", &y)),
        ],
        near: vec![
            format!("SELECT c0, c1 FROM ({}) AS {v} ORDER BY c0 {order}, c1 {order} LIMIT {n}", join("", &y)),
            format!("SELECT c0, c1 FROM ({}) AS {v} ORDER BY c0 {order}, c1 {order} LIMIT {n}", join("FULL", &y)),
            format!("SELECT {z}.k AS c0, {y} AS c1 FROM {first} JOIN {b} ON ({z}.k = {y})"),
            format!("SELECT c0, c1 FROM ({}) AS {v} ORDER BY c0 {order}, c1 {order} LIMIT {n}", join("LEFT", &other)),
        ],
    })
}

/// A condition before and after LIMIT.
fn filtered(g: &mut Gen) -> Option<Class> {
    let base = Base::new(g);
    let (x, _) = two_columns(g, &base)?;
    let rows = base.select(&format!("{x} AS c0"), None);
    let present = base.select(&format!("{x} AS c0"), Some(&format!("({x} IS NOT NULL)")));
    let (z, v) = (g.alias(), g.alias());
    let n = 1 + g.below(3);
    let cut = |rows: &str, order: &str| format!("SELECT c0 FROM ({rows}) AS {z} ORDER BY c0 {order} LIMIT {n}");
    let kept = |rows: &str| format!("SELECT c0 FROM ({rows}) AS {v} WHERE c0 IS NOT NULL");
    Some(Class {
        same: vec![
            kept(&cut(&rows, "NULLS LAST")),
            cut(&present, "NULLS LAST"),
            cut(&present, "NULLS FIRST"),
            kept(&cut(&present, "NULLS FIRST")),
        ],
        near: vec![
            kept(&cut(&rows, "NULLS FIRST")),
            cut(&rows, "NULLS LAST"),
            cut(&present, "DESC NULLS LAST"),
            kept(&cut(&rows, "DESC NULLS LAST")),
        ],
    })
}
