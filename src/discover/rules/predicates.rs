//! Conditions written another way, with care for the third truth value. They change plans less than joins do, so they
//! weigh less.

use super::block::{Block, all, bare, column, conjuncts, expr, has_subquery, list, par, resolve, surely_not_null};
use super::facts::Cx;
use super::partition::condition;
use super::site::{Apply, Position, Rule, is_truth};
use crate::sql::types::SqlType;
use sqlparser::ast::{BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator};

pub(super) const RULES: &[Rule] = &[
    Rule { name: "not-not", weight: 1, sound: true, apply: Apply::Expr(not_not) },
    Rule { name: "de-morgan", weight: 3, sound: true, apply: Apply::Expr(de_morgan) },
    Rule { name: "is-true", weight: 1, sound: true, apply: Apply::Expr(is_true) },
    Rule { name: "case-of-condition", weight: 1, sound: true, apply: Apply::Expr(case_of) },
    Rule { name: "between", weight: 5, sound: true, apply: Apply::Expr(between) },
    Rule { name: "in-list", weight: 5, sound: true, apply: Apply::Expr(in_list) },
    Rule { name: "coalesce-to-case", weight: 6, sound: true, apply: Apply::Expr(coalesce) },
    Rule { name: "turn-comparison", weight: 1, sound: true, apply: Apply::Expr(turn) },
    Rule { name: "negate-comparison", weight: 1, sound: true, apply: Apply::Expr(negate) },
    Rule { name: "split-equality", weight: 1, sound: true, apply: Apply::Expr(split_equality) },
    Rule { name: "absorb", weight: 1, sound: true, apply: Apply::Block(absorb) },
    Rule { name: "distribute", weight: 3, sound: true, apply: Apply::Expr(distribute) },
    Rule { name: "factor", weight: 3, sound: true, apply: Apply::Expr(factor_out) },
    Rule { name: "always-true", weight: 2, sound: true, apply: Apply::Block(always_true) },
    Rule { name: "not-null-of-equals", weight: 3, sound: true, apply: Apply::Block(not_null_of_equals) },
    Rule { name: "transitive-equality", weight: 6, sound: true, apply: Apply::Block(transitive) },
    Rule { name: "is-distinct", weight: 5, sound: true, apply: Apply::Expr(is_distinct) },
    Rule { name: "condition-in-subquery", weight: 2, sound: true, apply: Apply::Expr(in_subquery) },
    Rule { name: "or-is-true", weight: 2, sound: true, apply: Apply::Expr(test_of_condition) },
    Rule { name: "is-not-true-to-not", weight: 1, sound: false, apply: Apply::Expr(is_not_true_to_not) },
    Rule { name: "is-true-to-value", weight: 1, sound: false, apply: Apply::Expr(is_not_false_to_value) },
];

/// A condition negated twice.
fn not_not(e: &Expr, _: Position, cx: &mut Cx<'_>) -> Option<String> {
    is_truth(e, cx).then(|| format!("NOT (NOT {})", par(e)))
}

/// NOT of AND and OR moved inside, and AND and OR as NOT of the other; three truth values obey it too.
fn de_morgan(e: &Expr, _: Position, _: &mut Cx<'_>) -> Option<String> {
    match e {
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => match bare(expr) {
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                Some(format!("(NOT {}) OR (NOT {})", par(left), par(right)))
            }
            Expr::BinaryOp { left, op: BinaryOperator::Or, right } => {
                Some(format!("(NOT {}) AND (NOT {})", par(left), par(right)))
            }
            _ => None,
        },
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            Some(format!("NOT ((NOT {}) OR (NOT {}))", par(left), par(right)))
        }
        Expr::BinaryOp { left, op: BinaryOperator::Or, right } => {
            Some(format!("NOT ((NOT {}) AND (NOT {}))", par(left), par(right)))
        }
        _ => None,
    }
}

/// A condition tested for truth, where only truth matters.
fn is_true(e: &Expr, position: Position, cx: &mut Cx<'_>) -> Option<String> {
    if position != Position::Filter || !is_truth(e, cx) || matches!(e, Expr::IsTrue(_) | Expr::Exists { .. }) {
        return None;
    }
    let p = par(e);
    cx.pick(&[format!("{p} IS TRUE"), format!("COALESCE({p}, FALSE)"), format!("NOT ({p} IS NOT TRUE)")])
}

/// A condition as CASE.
fn case_of(e: &Expr, position: Position, cx: &mut Cx<'_>) -> Option<String> {
    if !is_truth(e, cx) {
        return None;
    }
    if position == Position::Filter {
        let p = e.to_string();
        return cx.pick(&[
            format!("CASE WHEN {p} THEN TRUE ELSE FALSE END"),
            format!("CASE WHEN {} IS NOT TRUE THEN FALSE ELSE TRUE END", par(e)),
        ]);
    }
    match e {
        Expr::IsNull(x) => Some(format!("CASE WHEN {} IS NOT NULL THEN FALSE ELSE TRUE END", par(x))),
        _ => Some(format!("CASE WHEN {e} THEN TRUE WHEN NOT {} THEN FALSE END", par(e))),
    }
}

/// BETWEEN as two comparisons, and the other way round.
fn between(e: &Expr, _: Position, _: &mut Cx<'_>) -> Option<String> {
    match e {
        Expr::Between { expr, negated: false, low, high } => {
            Some(format!("{0} >= {1} AND {0} <= {2}", par(expr), par(low), par(high)))
        }
        Expr::Between { expr, negated: true, low, high } => {
            Some(format!("{0} < {1} OR {0} > {2}", par(expr), par(low), par(high)))
        }
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            let (
                Expr::BinaryOp { left: a, op: BinaryOperator::GtEq, right: low },
                Expr::BinaryOp { left: b, op: BinaryOperator::LtEq, right: high },
            ) = (bare(left), bare(right))
            else {
                return None;
            };
            (a == b).then(|| format!("{} BETWEEN {} AND {}", par(a), par(low), par(high)))
        }
        _ => None,
    }
}

/// A list of IN as equations, and equations with one column as a list.
fn in_list(e: &Expr, _: Position, _: &mut Cx<'_>) -> Option<String> {
    match e {
        Expr::InList { expr, list, negated } if !list.is_empty() => {
            let (op, word) = if *negated { ("<>", " AND ") } else { ("=", " OR ") };
            let parts: Vec<String> = list.iter().map(|item| format!("{} {op} {}", par(expr), par(item))).collect();
            Some(parts.join(word))
        }
        Expr::BinaryOp { left, op: BinaryOperator::Or, right } => {
            let mut items = Vec::new();
            let x = alternatives(left, &mut items)?;
            let y = alternatives(right, &mut items)?;
            (x == y).then(|| format!("{} IN ({})", par(&x), list(&items)))
        }
        _ => None,
    }
}

fn alternatives(e: &Expr, items: &mut Vec<Expr>) -> Option<Expr> {
    match bare(e) {
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
            items.push(right.as_ref().clone());
            Some(left.as_ref().clone())
        }
        Expr::InList { expr, list, negated: false } => {
            items.extend(list.iter().cloned());
            Some(expr.as_ref().clone())
        }
        _ => None,
    }
}

/// COALESCE and NULLIF as CASE.
fn coalesce(e: &Expr, _: Position, _: &mut Cx<'_>) -> Option<String> {
    let Expr::Function(function) = e else { return None };
    let FunctionArguments::List(list) = &function.args else { return None };
    let args: Vec<&Expr> = list
        .args
        .iter()
        .map(|a| match a {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => Some(e),
            _ => None,
        })
        .collect::<Option<_>>()?;
    match (function.name.to_string().to_ascii_uppercase().as_str(), args.split_last()?) {
        ("COALESCE", (last, before)) if !before.is_empty() => {
            let whens: Vec<String> = before.iter().map(|a| format!("WHEN {} IS NOT NULL THEN {a}", par(a))).collect();
            Some(format!("CASE {} ELSE {last} END", whens.join(" ")))
        }
        ("NULLIF", (b, [a])) => Some(format!("CASE WHEN {} = {} THEN NULL ELSE {a} END", par(a), par(b))),
        _ => None,
    }
}

/// The comparison that says the same with its sides exchanged, and the one that says the opposite.
fn comparison(op: &BinaryOperator) -> Option<(&'static str, &'static str)> {
    Some(match op {
        BinaryOperator::Eq => ("=", "<>"),
        BinaryOperator::NotEq => ("<>", "="),
        BinaryOperator::Lt => (">", ">="),
        BinaryOperator::LtEq => (">=", ">"),
        BinaryOperator::Gt => ("<", "<="),
        BinaryOperator::GtEq => ("<=", "<"),
        _ => return None,
    })
}

/// A comparison with its sides exchanged.
fn turn(e: &Expr, _: Position, _: &mut Cx<'_>) -> Option<String> {
    let Expr::BinaryOp { left, op, right } = e else { return None };
    Some(format!("{} {} {}", par(right), comparison(op)?.0, par(left)))
}

/// A comparison as NOT of its opposite.
fn negate(e: &Expr, _: Position, _: &mut Cx<'_>) -> Option<String> {
    match e {
        Expr::BinaryOp { left, op, right } => Some(format!("NOT ({} {} {})", par(left), comparison(op)?.1, par(right))),
        Expr::IsNull(x) => Some(format!("NOT ({} IS NOT NULL)", par(x))),
        Expr::IsNotNull(x) => Some(format!("NOT ({} IS NULL)", par(x))),
        _ => None,
    }
}

/// An equation as two inequalities.
fn split_equality(e: &Expr, _: Position, _: &mut Cx<'_>) -> Option<String> {
    let Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = e else { return None };
    if has_subquery(e) || matches!(bare(left), Expr::Tuple(_)) {
        return None;
    }
    Some(format!("{0} <= {1} AND {0} >= {1}", par(left), par(right)))
}

/// A conjunct p with p OR q beside it.
fn absorb(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let entries = block.entries(cx)?;
    let p = cx.pick(&block.filter)?;
    let q = condition(block, &entries, cx)?;
    Some(block.and(&format!("({} OR {})", par(&p), par(&expr(&q)?)))?.sql())
}

/// `p AND (q OR r)` as `(p AND q) OR (p AND r)`.
fn distribute(e: &Expr, _: Position, _: &mut Cx<'_>) -> Option<String> {
    let Expr::BinaryOp { left, op: BinaryOperator::And, right } = e else { return None };
    let (p, either) = match (bare(left), bare(right)) {
        (_, either @ Expr::BinaryOp { op: BinaryOperator::Or, .. }) => (left, either),
        (either @ Expr::BinaryOp { op: BinaryOperator::Or, .. }, _) => (right, either),
        _ => return None,
    };
    let Expr::BinaryOp { left: q, right: r, .. } = either else { return None };
    Some(format!("({0} AND {1}) OR ({0} AND {2})", par(p), par(q), par(r)))
}

/// `(p AND q) OR (p AND r)` as `p AND (q OR r)`.
fn factor_out(e: &Expr, _: Position, _: &mut Cx<'_>) -> Option<String> {
    let Expr::BinaryOp { left, op: BinaryOperator::Or, right } = e else { return None };
    let (left, right) = (conjuncts(left), conjuncts(right));
    let shared = left.iter().find(|c| right.contains(c))?;
    let without = |side: &[Expr]| {
        let rest: Vec<Expr> = side.iter().filter(|c| *c != shared).cloned().collect();
        all(&rest)
    };
    Some(format!("{} AND (({}) OR ({}))", par(shared), without(&left), without(&right)))
}

/// A condition that is true of every row, beside the others.
fn always_true(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let entries = block.entries(cx)?;
    let q = par(&expr(&condition(block, &entries, cx)?)?);
    let text = cx.pick(&[
        format!("({q} OR NOT {q} OR {q} IS NULL)"),
        format!("({q} IS TRUE OR {q} IS NOT TRUE)"),
        format!("({q} IS NULL OR {q} IS NOT NULL)"),
    ])?;
    Some(block.and(&text)?.sql())
}

/// The sides of an equation are not NULL.
fn not_null_of_equals(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    let entries = block.entries(cx)?;
    let mut sides = Vec::new();
    let mut inner = block.from.iter().filter(|s| s.kind.is_inner()).filter_map(|s| s.on.as_ref()).collect::<Vec<_>>();
    if block.from.iter().any(|s| !s.kind.is_inner()) {
        inner.clear();
    }
    for c in inner.into_iter().flat_map(conjuncts).chain(block.filter.iter().cloned()) {
        if let Expr::BinaryOp { left, op, right } = bare(&c)
            && comparison(op).is_some()
        {
            sides.extend([left.as_ref().clone(), right.as_ref().clone()]);
        }
    }
    sides.retain(|s| column(s).is_some() && !surely_not_null(s, &entries));
    let side = cx.pick(&sides)?;
    Some(block.and(&format!("{side} IS NOT NULL"))?.sql())
}

/// From `a = b` and a comparison of `b`, the comparison of `a`.
fn transitive(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    if block.from.iter().any(|s| !s.kind.is_inner()) {
        return None;
    }
    let entries = block.entries(cx)?;
    let on = block.from.iter().filter_map(|s| s.on.as_ref()).flat_map(conjuncts);
    let conditions: Vec<Expr> = on.chain(block.filter.iter().cloned()).collect();
    let mut found = Vec::new();
    for c in &conditions {
        let Expr::BinaryOp { left: a, op: BinaryOperator::Eq, right: b } = bare(c) else { continue };
        // Columns of one type only: a comparison of other types may convert.
        let ty = |e: &Expr| -> Option<SqlType> { resolve(e, &entries)?.ty };
        if ty(a).is_none() || ty(a) != ty(b) {
            continue;
        }
        for other in conditions.iter().filter(|other| *other != c) {
            let Expr::BinaryOp { left, op, right } = bare(other) else { continue };
            let Some((turned, _)) = comparison(op) else { continue };
            for (from, to) in [(a, b), (b, a)] {
                if left == from && right != to {
                    found.push(format!("{to} {op} {}", par(right)));
                } else if right == from && left != to {
                    found.push(format!("{to} {turned} {}", par(left)));
                }
            }
        }
    }
    let text = cx.pick(&found)?;
    Some(block.and(&text)?.sql())
}

/// IS NOT DISTINCT FROM by its meaning.
fn is_distinct(e: &Expr, position: Position, cx: &mut Cx<'_>) -> Option<String> {
    let (a, b, not) = match e {
        Expr::IsNotDistinctFrom(a, b) => (par(a), par(b), ""),
        Expr::IsDistinctFrom(a, b) => (par(a), par(b), "NOT "),
        _ => return None,
    };
    let mut forms = vec![format!("{not}(COALESCE({a} = {b}, {a} IS NULL AND {b} IS NULL))")];
    if position == Position::Filter && not.is_empty() {
        forms.push(format!("({a} = {b} OR ({a} IS NULL AND {b} IS NULL))"));
    }
    forms.push(format!("{not}(CASE WHEN {a} IS NULL THEN {b} IS NULL ELSE ({a} = {b}) IS TRUE END)"));
    cx.pick(&forms)
}

/// A condition inside a subquery without tables.
fn in_subquery(e: &Expr, position: Position, cx: &mut Cx<'_>) -> Option<String> {
    if position != Position::Filter || !is_truth(e, cx) || has_subquery(e) || super::block::has_aggregate(e) {
        return None;
    }
    Some(format!("EXISTS (SELECT 1 WHERE {e})"))
}

/// A test of a condition by its truth values.
fn test_of_condition(e: &Expr, _: Position, cx: &mut Cx<'_>) -> Option<String> {
    match e {
        Expr::IsNotTrue(p) => {
            let p = par(p);
            cx.pick(&[
                format!("(NOT {p}) OR {p} IS NULL"),
                format!("NOT ({p} IS TRUE)"),
                format!("NOT COALESCE({p}, FALSE)"),
            ])
        }
        Expr::IsNotFalse(p) => {
            let p = par(p);
            cx.pick(&[format!("{p} OR {p} IS NULL"), format!("COALESCE({p}, TRUE)")])
        }
        Expr::IsTrue(p) => Some(format!("{0} AND {0} IS NOT NULL", par(p))),
        _ => None,
    }
}

/// IS NOT TRUE as NOT. Wrong of the unknown.
fn is_not_true_to_not(e: &Expr, _: Position, _: &mut Cx<'_>) -> Option<String> {
    match e {
        Expr::IsNotTrue(p) => Some(format!("NOT {}", par(p))),
        _ => None,
    }
}

/// IS NOT FALSE as the condition itself. Wrong of the unknown.
fn is_not_false_to_value(e: &Expr, _: Position, _: &mut Cx<'_>) -> Option<String> {
    match e {
        Expr::IsNotFalse(p) => Some(p.to_string()),
        _ => None,
    }
}
