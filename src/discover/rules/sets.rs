//! Set operations as each other, as joins, as groups and as conditions.

use super::block::{Block, all, all_par, expr};
use super::facts::Cx;
use super::site::{Apply, Operation, Rule, derived, named, of};
use crate::sql::print::parse_query;
use sqlparser::ast::{SetExpr, SetOperator};

pub(super) const RULES: &[Rule] = &[
    Rule { name: "union-to-distinct", weight: 16, sound: true, apply: Apply::Set(union_to_distinct) },
    Rule { name: "distinct-to-set-operation", weight: 12, sound: true, apply: Apply::Block(distinct_to_set) },
    Rule { name: "commute-set-operation", weight: 6, sound: true, apply: Apply::Set(commute) },
    Rule { name: "distinct-operand", weight: 5, sound: true, apply: Apply::Set(distinct_operand) },
    Rule { name: "set-operation-to-exists", weight: 20, sound: true, apply: Apply::Set(to_exists) },
    Rule { name: "set-operation-to-join", weight: 16, sound: true, apply: Apply::Set(to_join) },
    Rule { name: "set-operation-to-groups", weight: 16, sound: true, apply: Apply::Set(to_groups) },
    Rule { name: "set-operation-to-except", weight: 10, sound: true, apply: Apply::Set(to_except) },
    Rule { name: "union-to-or", weight: 20, sound: true, apply: Apply::Set(union_to_or) },
    Rule { name: "set-operation-to-condition", weight: 16, sound: true, apply: Apply::Set(to_condition) },
    Rule { name: "set-operation-to-condition-any", weight: 1, sound: false, apply: Apply::Set(to_condition_any) },
    Rule { name: "filter-to-set-operation", weight: 8, sound: true, apply: Apply::Block(filter_to_set) },
    Rule { name: "union-to-union-all", weight: 1, sound: false, apply: Apply::Set(union_to_union_all) },
];

/// An operand's text: a SELECT, because not every engine takes a set operation in parentheses.
fn operand(body: &SetExpr, cx: &mut Cx<'_>) -> Option<String> {
    match body {
        SetExpr::Select(_) => Some(body.to_string()),
        _ => Some(derived(body, cx)?.1),
    }
}

/// The body with these names for its columns.
fn named_like(body: &SetExpr, names: &[String], cx: &mut Cx<'_>) -> Option<String> {
    let body = parse_query(&operand(body, cx)?).ok()?.body;
    let SetExpr::Select(select) = *body else { return None };
    let mut block = Block::read(&select)?;
    if block.items.len() != names.len() {
        return None;
    }
    for (item, name) in block.items.iter_mut().zip(names) {
        item.alias = Some(name.clone());
    }
    Some(block.sql())
}

/// Both operands under the same column names.
fn both(operation: &Operation, cx: &mut Cx<'_>) -> Option<(String, String, Vec<String>)> {
    let left = operand(&operation.left, cx)?;
    let (left, names) = named(&parse_query(&left).ok()?.body, cx)?;
    let right = named_like(&operation.right, &names, cx)?;
    Some((left, right, names))
}

fn equal(a: &str, b: &str, names: &[String], cx: &mut Cx<'_>) -> String {
    let safe = cx.chance(50);
    let pairs = names.iter().map(|n| {
        if safe {
            format!("{a}.{n} IS NOT DISTINCT FROM {b}.{n}")
        } else {
            format!("({a}.{n} = {b}.{n} OR ({a}.{n} IS NULL AND {b}.{n} IS NULL))")
        }
    });
    pairs.collect::<Vec<_>>().join(" AND ")
}

/// UNION as the different rows, or the groups, of UNION ALL.
fn union_to_distinct(operation: &Operation, cx: &mut Cx<'_>) -> Option<String> {
    if operation.op != SetOperator::Union || operation.all {
        return None;
    }
    let (left, right, names) = both(operation, cx)?;
    let d = cx.fresh("d");
    let columns = of(&d, &names);
    let from = format!("FROM ({left} UNION ALL {right}) AS {d}");
    Some(if cx.chance(50) {
        format!("SELECT DISTINCT {columns} {from}")
    } else {
        format!("SELECT {columns} {from} GROUP BY {columns}")
    })
}

/// DISTINCT as the union or intersection of the rows with themselves, or as their union with nothing.
fn distinct_to_set(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    if !block.distinct || !block.rowwise() {
        return None;
    }
    let plain = Block { distinct: false, ..block.clone() };
    let text = plain.sql();
    Some(match cx.pick(&[0, 1, 2])? {
        0 => format!("{text} UNION {text}"),
        1 => format!("{text} INTERSECT {text}"),
        _ => format!("{text} UNION {}", plain.and("FALSE")?.sql()),
    })
}

/// The operands in the other order.
fn commute(operation: &Operation, cx: &mut Cx<'_>) -> Option<String> {
    if !matches!(operation.op, SetOperator::Union | SetOperator::Intersect) {
        return None;
    }
    let (left, right, _) = both(operation, cx)?;
    let all = if operation.all { " ALL" } else { "" };
    Some(format!("{right} {}{all} {left}", operation.op))
}

/// An operand without its duplicates, which do not matter.
fn distinct_operand(operation: &Operation, cx: &mut Cx<'_>) -> Option<String> {
    if operation.all {
        return None;
    }
    let (left, right) = (operand(&operation.left, cx)?, operand(&operation.right, cx)?);
    let at = cx.order(2)[0];
    let side = parse_query(if at == 0 { &left } else { &right }).ok()?.body;
    let SetExpr::Select(select) = *side else { return None };
    let mut block = Block::read(&select).filter(Block::plain)?;
    block.distinct = true;
    let (left, right) = if at == 0 { (block.sql(), right) } else { (left, block.sql()) };
    Some(format!("{left} {} {right}", operation.op))
}

/// INTERSECT as EXISTS, and EXCEPT as NOT EXISTS, of an equal row.
fn to_exists(operation: &Operation, cx: &mut Cx<'_>) -> Option<String> {
    let not = negation(operation)?;
    let (left, right, names) = both(operation, cx)?;
    let (a, b) = (cx.fresh("d"), cx.fresh("d"));
    let equal = equal(&b, &a, &names, cx);
    Some(format!(
        "SELECT DISTINCT {} FROM ({left}) AS {a} WHERE {not}EXISTS (SELECT 1 FROM ({right}) AS {b} WHERE {equal})",
        of(&a, &names)
    ))
}

/// What stands before EXISTS for an INTERSECT or EXCEPT without ALL.
fn negation(operation: &Operation) -> Option<&'static str> {
    match (operation.op, operation.all) {
        (SetOperator::Intersect, false) => Some(""),
        (SetOperator::Except, false) => Some("NOT "),
        _ => None,
    }
}

/// INTERSECT as a join on equal rows, and EXCEPT as a left join that finds none.
fn to_join(operation: &Operation, cx: &mut Cx<'_>) -> Option<String> {
    let not = negation(operation)?;
    let (left, right, names) = both(operation, cx)?;
    let (a, b, x) = (cx.fresh("d"), cx.fresh("d"), cx.fresh("x"));
    let equal = equal(&b, &a, &names, cx);
    let columns = of(&a, &names);
    if not.is_empty() {
        return Some(format!("SELECT DISTINCT {columns} FROM ({left}) AS {a} JOIN ({right}) AS {b} ON {equal}"));
    }
    let inner = cx.fresh("d");
    let marked = format!("SELECT {}, 1 AS {x} FROM ({right}) AS {inner}", of(&inner, &names));
    Some(format!(
        "SELECT DISTINCT {columns} FROM ({left}) AS {a} LEFT JOIN ({marked}) AS {b} ON {equal} WHERE {b}.{x} IS NULL"
    ))
}

/// INTERSECT and EXCEPT by groups of both sides' rows, which remember the sides they came from.
fn to_groups(operation: &Operation, cx: &mut Cx<'_>) -> Option<String> {
    let not = negation(operation)?;
    let (left, right, names) = both(operation, cx)?;
    let (a, b, d, x) = (cx.fresh("d"), cx.fresh("d"), cx.fresh("d"), cx.fresh("x"));
    let (of_a, of_b, of_d) = (of(&a, &names), of(&b, &names), of(&d, &names));
    let having = match (not.is_empty(), cx.chance(70)) {
        (true, _) => format!("MIN({d}.{x}) = 0 AND MAX({d}.{x}) = 1"),
        (false, true) => format!("MAX({d}.{x}) = 0"),
        (false, false) => format!("SUM({d}.{x}) = 0"),
    };
    Some(format!(
        "SELECT {of_d} FROM (SELECT {of_a}, 0 AS {x} FROM ({left}) AS {a} \
         UNION ALL SELECT {of_b}, 1 FROM ({right}) AS {b}) AS {d} GROUP BY {of_d} HAVING {having}"
    ))
}

/// `a INTERSECT b` as `a EXCEPT (a EXCEPT b)`, `a EXCEPT b` as `a EXCEPT (a INTERSECT b)`, and `a UNION b` as the
/// different rows of `a` and those of `b EXCEPT a`.
fn to_except(operation: &Operation, cx: &mut Cx<'_>) -> Option<String> {
    if operation.all {
        return None;
    }
    let (left, right, names) = both(operation, cx)?;
    let d = cx.fresh("d");
    let columns = of(&d, &names);
    Some(match operation.op {
        SetOperator::Intersect => {
            format!("{left} EXCEPT SELECT {columns} FROM ({left} EXCEPT {right}) AS {d}")
        }
        SetOperator::Except => format!("{left} EXCEPT SELECT {columns} FROM ({left} INTERSECT {right}) AS {d}"),
        SetOperator::Union => {
            let a = cx.fresh("d");
            format!(
                "SELECT DISTINCT {} FROM ({left}) AS {a} UNION ALL SELECT {columns} FROM ({right} EXCEPT {left}) AS {d}",
                of(&a, &names)
            )
        }
        SetOperator::Minus => return None,
    })
}

/// The blocks of an operation whose sides differ in nothing but WHERE.
fn same_rows(operation: &Operation) -> Option<(Block, Block)> {
    let (SetExpr::Select(left), SetExpr::Select(right)) = (&operation.left, &operation.right) else { return None };
    let (left, right) = (Block::read(left)?, Block::read(right)?);
    let bare = |block: &Block| {
        let mut bare = Block { filter: Vec::new(), distinct: false, ..block.clone() };
        bare.items.iter_mut().for_each(|item| item.alias = None);
        bare.sql()
    };
    (left.rowwise() && right.rowwise() && bare(&left) == bare(&right)).then_some((left, right))
}

/// The union of rows that satisfy one condition or the other, as OR.
fn union_to_or(operation: &Operation, _: &mut Cx<'_>) -> Option<String> {
    let (left, right) = same_rows(operation)?;
    if operation.op != SetOperator::Union || operation.all {
        return None;
    }
    let or = format!("({} OR {})", all_par(&left.filter), all_par(&right.filter));
    Some(Block { filter: vec![expr(&or)?], distinct: true, ..left }.sql())
}

/// Whether the columns hold a key of the only source, so that equal rows are the same row.
fn identifies(block: &Block, cx: &Cx<'_>) -> bool {
    let Some(entries) = block.entries(cx) else { return false };
    let [entry] = entries.as_slice() else { return false };
    let has = |c: &String| {
        block.items.iter().any(|i| super::block::column(&i.expr) == Some((entry.alias.as_str(), c.as_str())))
    };
    entry.relation.is_some_and(|r| cx.facts.relations[r].keys().any(|key| key.iter().all(has)))
}

/// INTERSECT as AND, EXCEPT as AND NOT, where the rows hold a key.
fn to_condition(operation: &Operation, cx: &mut Cx<'_>) -> Option<String> {
    let (left, _) = same_rows(operation)?;
    if identifies(&left, cx) { to_condition_any(operation, cx) } else { None }
}

/// INTERSECT as AND, EXCEPT as AND NOT. Wrong where different rows have equal columns.
fn to_condition_any(operation: &Operation, _: &mut Cx<'_>) -> Option<String> {
    let (mut left, right) = same_rows(operation)?;
    let not = negation(operation)?;
    left.distinct = true;
    let condition = all(&right.filter);
    Some(left.and(&if not.is_empty() { format!("({condition})") } else { format!("({condition}) IS NOT TRUE") })?.sql())
}

/// A condition over rows that hold a key, as INTERSECT with the rows that satisfy it or EXCEPT those that do not.
fn filter_to_set(block: &Block, cx: &mut Cx<'_>) -> Option<String> {
    if !block.rowwise() || !identifies(block, cx) {
        return None;
    }
    let at = *cx.order(block.filter.len()).first()?;
    let mut without = Block { distinct: false, ..block.clone() };
    let condition = without.filter.remove(at);
    if cx.chance(50) {
        let other = Block { filter: vec![condition], ..without.clone() };
        return Some(format!("{} INTERSECT {}", without.sql(), other.sql()));
    }
    let other = Block { filter: vec![expr(&format!("({condition}) IS NOT TRUE"))?], ..without.clone() };
    Some(format!("{} EXCEPT {}", without.sql(), other.sql()))
}

/// UNION as UNION ALL. Wrong where rows are on both sides, or twice on one.
fn union_to_union_all(operation: &Operation, cx: &mut Cx<'_>) -> Option<String> {
    if operation.op != SetOperator::Union || operation.all {
        return None;
    }
    Some(format!("{} UNION ALL {}", operand(&operation.left, cx)?, operand(&operation.right, cx)?))
}
