//! LIMIT, so that as little as possible depends on rows that tie.
//!
//! Which of several tying rows a LIMIT keeps is the engine's choice. It does not matter where nobody reads what the
//! rows differ in, or asks only whether there is a row.

use std::collections::BTreeSet;

use super::{Expr, Plan, SetOp};

/// Columns of a node's row that are read.
type Columns = BTreeSet<usize>;

impl Plan {
    /// Makes NULL, below each LIMIT, of the columns that nobody reads, drops a LIMIT that only leads to an EXISTS, and
    /// merges a LIMIT of a LIMIT in the same order.
    ///
    /// What the plan can yield stays the same: of rows that tie and differ only in what nobody reads, one is as good as
    /// another, before and after.
    pub fn settle_limits(&mut self) {
        settle_whole(self);
    }
}

/// Whether there is a LIMIT among the inputs.
fn settle(plan: &mut Plan, needed: &Columns) -> bool {
    match plan {
        Plan::Scan { .. } => false,
        Plan::Values { rows, .. } => {
            rows.iter_mut().flatten().for_each(settle_expr);
            false
        }
        Plan::Filter { input, condition } => {
            let mut needed = needed.clone();
            read(condition, &mut needed);
            settle(input, &needed)
        }
        Plan::Project { input, exprs } => {
            let (read_too, unread): (Vec<_>, Vec<_>) =
                exprs.iter_mut().enumerate().partition(|(i, _)| needed.contains(i));
            let mut below = Columns::new();
            read_too.into_iter().for_each(|(_, expr)| read(expr, &mut below));
            let limited = settle(input, &below);
            if limited {
                // They may read what has become NULL, and could fail on it.
                unread.into_iter().for_each(|(_, expr)| *expr = Expr::null(expr.ty()));
            }
            limited
        }
        Plan::Join { left, right, on, lateral, .. } => {
            let mut needed = needed.clone();
            read(on, &mut needed);
            if *lateral {
                right.map_columns(&mut |column, scopes| note(column, scopes, &mut needed));
            }
            let width = left.types().len();
            let rights = needed.iter().filter_map(|i| i.checked_sub(width)).collect();
            needed.retain(|i| *i < width);
            let limited = settle(left, &needed);
            settle(right, &rights) || limited
        }
        Plan::SetOp { op: SetOp::Union, all: true, left, right, .. } => {
            let limited = settle(left, needed);
            settle(right, needed) || limited
        }
        Plan::SetOp { left, right, .. } => {
            let limited = settle_whole(left);
            settle_whole(right) || limited
        }
        Plan::Distinct(input) => settle_whole(input),
        Plan::Aggregate { input, keys, aggregates } => {
            let mut below = Columns::new();
            let parts = aggregates.iter_mut().flat_map(|a| a.args.iter_mut().chain(&mut a.filter));
            keys.iter_mut().chain(parts).for_each(|expr| read(expr, &mut below));
            settle(input, &below)
        }
        Plan::Window { input, functions } => {
            let width = input.types().len();
            let mut below: Columns = needed.iter().copied().filter(|i| *i < width).collect();
            for function in functions {
                let order = function.order.iter_mut().map(|key| &mut key.expr);
                let parts = function.args.iter_mut().chain(&mut function.partition);
                parts.chain(order).for_each(|expr| read(expr, &mut below));
            }
            settle(input, &below)
        }
        Plan::Limit { .. } => {
            settle_limit(plan, needed);
            true
        }
    }
}

/// All columns are read.
fn settle_whole(plan: &mut Plan) -> bool {
    let all = (0..plan.types().len()).collect();
    settle(plan, &all)
}

fn settle_limit(plan: &mut Plan, needed: &Columns) {
    if let Some(merged) = merge(plan) {
        *plan = merged;
        settle(plan, needed);
        return;
    }
    let Plan::Limit { input, order, .. } = plan else { return };
    if needed.is_empty() {
        // Only how many rows there are is seen.
        order.clear();
    }
    let mut needed = needed.clone();
    order.iter_mut().for_each(|key| read(&mut key.expr, &mut needed));
    let types = input.types();
    if needed.len() < types.len() {
        let exprs = types
            .into_iter()
            .enumerate()
            .map(|(i, ty)| if needed.contains(&i) { Expr::column(i, ty) } else { Expr::null(ty) });
        let exprs = exprs.collect();
        **input = std::mem::replace(&mut **input, nothing()).project(exprs);
    }
    settle(input, &needed);
}

/// A plan to stand in a place for a moment.
fn nothing() -> Plan {
    Plan::Values { types: Vec::new(), rows: Vec::new() }
}

/// One LIMIT for a LIMIT of a LIMIT whose rows come in the same order, under what is projected in between.
fn merge(plan: &Plan) -> Option<Plan> {
    let Plan::Limit { input, order, limit, offset } = plan else { return None };
    let mut projections = Vec::new();
    let mut inner = &**input;
    let mut order = order.clone();
    while let Plan::Project { input, exprs } = inner {
        for key in &mut order {
            let Expr::Column { depth: 0, index, .. } = &key.expr else { return None };
            key.expr = exprs[*index].clone();
        }
        projections.push(exprs.clone());
        inner = input;
    }
    let Plan::Limit { input, order: inner_order, limit: inner_limit, offset: inner_offset } = inner else {
        return None;
    };
    if order != *inner_order {
        return None;
    }
    let rest = inner_limit.map(|n| n.saturating_sub(*offset));
    let limit = match (*limit, rest) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    let offset = inner_offset.checked_add(*offset)?;
    let merged = Plan::Limit { input: input.clone(), order: inner_order.clone(), limit, offset };
    Some(projections.into_iter().rev().fold(merged, Plan::project))
}

/// Adds the columns of the node's own row that an expression reads.
fn read(expr: &mut Expr, columns: &mut Columns) {
    expr.map_columns(&mut |column, scopes| note(column, scopes, columns));
    settle_expr(expr);
}

fn note(column: &Expr, scopes: usize, columns: &mut Columns) {
    if let Expr::Column { depth, index, .. } = column
        && *depth == scopes
    {
        columns.insert(*index);
    }
}

/// The subqueries of an expression.
fn settle_expr(expr: &mut Expr) {
    match expr {
        Expr::Exists(plan) => {
            some_rows(plan);
            settle(plan, &Columns::new());
        }
        Expr::Scalar(plan) => plan.settle_limits(),
        Expr::Quantified { row, query, .. } => {
            row.iter_mut().for_each(settle_expr);
            query.settle_limits();
        }
        Expr::Column { .. } | Expr::Literal(..) => {}
        Expr::And(parts) | Expr::Or(parts) | Expr::Call { args: parts, .. } => parts.iter_mut().for_each(settle_expr),
        Expr::Not(a) | Expr::IsNull(a) | Expr::IsTruth(a, _) | Expr::Cast { value: a, .. } => settle_expr(a),
        Expr::Compare(_, a, b) | Expr::Same(a, b) | Expr::Arithmetic(_, a, b, _) => {
            settle_expr(a);
            settle_expr(b);
        }
        Expr::Case { branches, otherwise, .. } => {
            for (condition, value) in branches {
                settle_expr(condition);
                settle_expr(value);
            }
            settle_expr(otherwise);
        }
    }
}

/// Drops LIMITs that cannot make an empty plan of one that is not.
fn some_rows(plan: &mut Plan) {
    match plan {
        Plan::Project { input, .. } | Plan::Distinct(input) => some_rows(input),
        Plan::Limit { input, limit, offset: 0, .. } if *limit != Some(0) => {
            *plan = std::mem::replace(&mut **input, nothing());
            some_rows(plan);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rand::SeedableRng as _;

    use crate::eval::{self, EvalError};
    use crate::fuzz::{self, Rng};
    use crate::ir::Schema;
    use crate::lower;
    use crate::refute::{self, Shape};

    /// How often the query as written yields the same as the settled one, and how often only the latter does not
    /// depend on ties.
    fn compare(schema: &Schema, text: &str, rng: &mut Rng) -> (u32, u32) {
        let (mut same, mut more) = (0, 0);
        let Ok(written) = lower::as_written(schema, text) else { return (0, 0) };
        let mut settled = written.clone();
        settled.plan.settle_limits();
        let mut twice = settled.clone();
        twice.plan.settle_limits();
        assert_eq!(twice.plan.types(), written.plan.types(), "{text}");
        for _ in 0..6 {
            let shape = Shape { rows: 4, ..Shape::random(rng, 2) };
            let Some(db) = refute::random_database(schema, [&written, &settled], rng, &shape) else { continue };
            let run = |query| eval::evaluate(query, &db, 0, 50_000);
            match (run(&written), run(&settled)) {
                (Ok(before), Ok(after)) => {
                    assert!(eval::same_bag(&before.rows, &after.rows), "{text}\n{:?}\n{:?}", before.rows, after.rows);
                    same += 1;
                }
                (Err(EvalError::NotDeterministic(_)), Ok(_)) => more += 1,
                (Ok(_), Err(EvalError::NotDeterministic(why))) => panic!("{text}\n{why}"),
                _ => {}
            }
        }
        (same, more)
    }

    #[test]
    fn settled_limits_mean_the_same() {
        let (mut same, mut more) = (0, 0);
        for seed in 0..1500 {
            let case = fuzz::case(seed);
            let schema = lower::schema(&case.ddl, &BTreeMap::new()).expect("schema");
            let mut rng = Rng::seed_from_u64(seed);
            for text in [case.left, case.right] {
                if text.contains("LIMIT") || text.contains("OFFSET") {
                    let (s, m) = compare(&schema, &text, &mut rng);
                    same += s;
                    more += m;
                }
            }
        }
        assert!(same > 500 && more > 5, "{same} compared, {more} settled");
    }

    #[test]
    fn limits_of_limits_mean_the_same() {
        let ddl = "CREATE TABLE t(a INT, b INT NOT NULL)";
        let schema = lower::schema(ddl, &BTreeMap::new()).expect("schema");
        let mut same = 0;
        for (inner, between) in
            [("b", "b"), ("-b", "b"), ("b", "-b AS b"), ("-b", "-b AS b"), ("a, b", "b"), ("b", "b + 1 AS b")]
        {
            for bounds in ["LIMIT 2", "LIMIT 2 OFFSET 1", "OFFSET 2", "LIMIT 4 OFFSET 2", "LIMIT 0"] {
                for outer in ["LIMIT 1", "LIMIT 3 OFFSET 1", "OFFSET 1", "LIMIT 1 OFFSET 2"] {
                    for order in ["b", "b DESC", "-b"] {
                        let rows = format!("SELECT a, b FROM t ORDER BY {inner} {bounds}");
                        let text = format!(
                            "SELECT b FROM (SELECT {between} FROM ({rows}) AS r) AS s ORDER BY {order} {outer}"
                        );
                        for seed in 0..2 {
                            same += compare(&schema, &text, &mut Rng::seed_from_u64(seed)).0;
                        }
                    }
                }
            }
        }
        assert!(same > 1000, "{same} compared");
    }

    #[test]
    fn what_is_read_stays() {
        let ddl = "CREATE TABLE t(a INT PRIMARY KEY, b INT, c INT); CREATE TABLE u(a INT, b INT)";
        let schema = lower::schema(ddl, &BTreeMap::new()).expect("schema");
        let mut rng = Rng::seed_from_u64(7);
        // Whether ties between rows stay open that the query can tell apart.
        for (text, settled) in [
            ("SELECT b FROM (SELECT b, c FROM t ORDER BY b LIMIT 2) AS s", true),
            ("SELECT c FROM (SELECT b, c FROM t ORDER BY b LIMIT 2) AS s", false),
            ("SELECT b FROM (SELECT b, c FROM t ORDER BY b LIMIT 2) AS s WHERE c > 0", false),
            ("SELECT SUM(b) FROM (SELECT b, c FROM t ORDER BY b LIMIT 2) AS s", true),
            ("SELECT SUM(b) FROM (SELECT b, c FROM t ORDER BY b LIMIT 2) AS s GROUP BY c", false),
            ("SELECT COUNT(*) FROM (SELECT b, c FROM t LIMIT 2) AS s", true),
            ("SELECT COUNT(c) FROM (SELECT b, c FROM t LIMIT 2) AS s", false),
            ("SELECT s.b FROM (SELECT b, c FROM t ORDER BY b LIMIT 2) AS s JOIN u ON u.a = s.c", false),
            ("SELECT s.b FROM (SELECT b, c FROM t ORDER BY b LIMIT 2) AS s JOIN u ON u.a = s.b", true),
            (
                "SELECT s.b FROM (SELECT b, c FROM t LIMIT 1) AS s, LATERAL (SELECT a FROM u WHERE u.a = s.c) AS l",
                false,
            ),
            ("SELECT u.a FROM u WHERE u.a IN (SELECT b FROM t LIMIT 1)", false),
            ("SELECT u.a FROM u WHERE EXISTS (SELECT b FROM t WHERE t.b = u.a LIMIT 1)", true),
            ("SELECT u.a FROM u WHERE EXISTS (SELECT 1 FROM (SELECT b FROM t LIMIT 1) AS s WHERE s.b = u.a)", false),
            ("SELECT b FROM (SELECT b, c FROM t ORDER BY b LIMIT 1) AS s UNION SELECT a FROM u", true),
            ("SELECT b FROM (SELECT DISTINCT b, c FROM t ORDER BY b LIMIT 1) AS s", true),
            ("SELECT b FROM (SELECT * FROM t LIMIT 1) AS s ORDER BY c LIMIT 1", false),
            ("SELECT b, RANK() OVER (ORDER BY b) FROM (SELECT b, c FROM t ORDER BY b LIMIT 2) AS s", true),
            ("SELECT b, RANK() OVER (ORDER BY c) FROM (SELECT b, c FROM t ORDER BY b LIMIT 2) AS s", false),
        ] {
            let mut query = lower::as_written(&schema, text).expect(text);
            query.plan.settle_limits();
            let mut open = 0;
            for _ in 0..300 {
                let shape = Shape { rows: 4, ..Shape::random(&mut rng, 2) };
                let db = refute::random_database(&schema, [&query, &query], &mut rng, &shape).expect("database");
                open +=
                    u32::from(matches!(eval::evaluate(&query, &db, 0, 50_000), Err(EvalError::NotDeterministic(_))));
            }
            assert_eq!(open == 0, settled, "{text}: {open}");
        }
    }
}
