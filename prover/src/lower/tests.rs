//! What texts become.

use std::collections::BTreeMap;

use crate::ir::{Expr, JoinKind, OrderKey, Plan, Query, Schema, Type};

use super::{query, schema, validate};

const DDL: &str = "CREATE TABLE r (a INT NOT NULL PRIMARY KEY, b INT, c TEXT, d DATE, e BOOLEAN);
    CREATE TABLE s (a INT, b INT NOT NULL REFERENCES r (a), f DECIMAL(8, 2), UNIQUE (a, b), CHECK (f > 0));";

fn tables() -> Schema {
    let placeholders = [("p", "Expr(r: BOOLEAN)"), ("v", "Table(a INT, c TEXT)")];
    let placeholders: BTreeMap<_, _> =
        placeholders.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    schema(DDL, &placeholders).unwrap()
}

/// Compact notation: `#i` is column i of the row, `#d.i` of the row d scopes out.
struct Show<'a>(&'a Schema);

impl Show<'_> {
    fn list(&self, exprs: &[Expr]) -> String {
        exprs.iter().map(|e| self.expr(e)).collect::<Vec<_>>().join(", ")
    }

    fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Column { depth: 0, index, .. } => format!("#{index}"),
            Expr::Column { depth, index, .. } => format!("#{depth}.{index}"),
            Expr::Literal(value, Type::Date) => format!("DATE {value}"),
            Expr::Literal(value, _) => value.to_string(),
            Expr::And(parts) => format!("and({})", self.list(parts)),
            Expr::Or(parts) => format!("or({})", self.list(parts)),
            Expr::Not(a) => format!("not {}", self.expr(a)),
            Expr::Compare(op, a, b) => format!("({} {op:?} {})", self.expr(a), self.expr(b)).to_lowercase(),
            Expr::Same(a, b) => format!("({} same {})", self.expr(a), self.expr(b)),
            Expr::IsNull(a) => format!("isnull {}", self.expr(a)),
            Expr::IsTruth(a, truth) => format!("is{truth} {}", self.expr(a)),
            Expr::Arithmetic(op, a, b, ty) => format!("({} {op:?}:{ty} {})", self.expr(a), self.expr(b)).to_lowercase(),
            Expr::Case { branches, otherwise, .. } => {
                let branches = branches.iter().map(|(c, v)| format!("{}: {}, ", self.expr(c), self.expr(v)));
                format!("case({}{})", branches.collect::<String>(), self.expr(otherwise))
            }
            Expr::Cast { value, target, .. } => format!("cast({} as {target})", self.expr(value)),
            Expr::Call { name, args, .. } => format!("{name}({})", self.list(args)),
            Expr::Exists(plan) => format!("exists({})", self.plan(plan)),
            Expr::Scalar(plan) => format!("scalar({})", self.plan(plan)),
            Expr::Quantified { row, op, all, query } => {
                let quantifier = if *all { "all" } else { "any" };
                format!("[{}] {op:?} {quantifier}({})", self.list(row), self.plan(query)).to_lowercase()
            }
        }
    }

    fn order(&self, order: &[OrderKey]) -> String {
        let key = |key: &OrderKey| format!("{}{}", self.expr(&key.expr), if key.descending { " desc" } else { "" });
        order.iter().map(key).collect::<Vec<_>>().join(", ")
    }

    fn plan(&self, plan: &Plan) -> String {
        match plan {
            Plan::Scan { table, .. } => self.0.tables[*table].name.clone(),
            Plan::Values { rows, .. } => {
                let rows: Vec<_> = rows.iter().map(|row| format!("({})", self.list(row))).collect();
                format!("values({})", rows.join(", "))
            }
            Plan::Filter { input, condition } => format!("{} | where {}", self.plan(input), self.expr(condition)),
            Plan::Project { input, exprs } => format!("{} | {}", self.plan(input), self.list(exprs)),
            Plan::Join { kind, left, right, on, lateral } => {
                let lateral = if *lateral { " lateral" } else { "" };
                let on = if *kind == JoinKind::Inner && *on == Expr::bool(true) {
                    String::new()
                } else {
                    format!(" on {}", self.expr(on))
                };
                let (left, right) = (self.plan(left), self.plan(right));
                format!("({left} {}{lateral} {right}{on})", format!("{kind:?}").to_lowercase())
            }
            Plan::SetOp { op, all, left, right, .. } => {
                let all = if *all { " all" } else { "" };
                format!("({} {op:?}{all} {})", self.plan(left), self.plan(right)).to_lowercase()
            }
            Plan::Distinct(input) => format!("{} | distinct", self.plan(input)),
            Plan::Aggregate { input, keys, aggregates } => {
                let aggregates = aggregates.iter().map(|a| {
                    let name = format!("{:?}", a.function).to_lowercase();
                    let distinct = if a.distinct { "distinct " } else { "" };
                    let filter = a.filter.as_ref().map_or(String::new(), |f| format!(" if {}", self.expr(f)));
                    format!("; {name}({distinct}{}{filter})", self.list(&a.args))
                });
                format!("{} | group {}{}", self.plan(input), self.list(keys), aggregates.collect::<String>())
            }
            Plan::Limit { input, order, limit, offset } => {
                format!("{} | limit {limit:?} {offset} by {}", self.plan(input), self.order(order))
            }
            Plan::Window { input, functions } => {
                let functions = functions.iter().map(|f| {
                    let frame = f.frame.as_deref().unwrap_or_default();
                    let (args, partition) = (self.list(&f.args), self.list(&f.partition));
                    format!("; {}({args}) per {partition} by {} {frame}", f.name, self.order(&f.order))
                });
                format!("{} | window{}", self.plan(input), functions.collect::<String>())
            }
        }
    }

    fn query(&self, query: &Query) -> String {
        let mut text = self.plan(&query.plan);
        if query.visible != query.plan.types().len() {
            text = format!("{text} | first {}", query.visible);
        }
        if !query.order.is_empty() {
            text = format!("{text} | order {}", self.order(&query.order));
        }
        text
    }
}

fn check(cases: &[(&str, &str)]) {
    let schema = tables();
    for (sql, expected) in cases {
        let actual = match query(&schema, sql) {
            Ok(query) => {
                assert_eq!(validate(&schema, &query), Ok(()), "{sql}");
                Show(&schema).query(&query)
            }
            Err(error) => format!("ERROR {error}"),
        };
        assert_eq!(&actual, expected, "{sql}");
    }
}

#[test]
fn names_and_stars() {
    check(&[
        ("SELECT * FROM r", "r | #0, #1, #2, #3, #4"),
        ("SELECT r.*, p FROM r", "r | #0, #1, #2, #3, #4, #5"),
        ("SELECT x.p FROM r AS x (k) WHERE k = 1", "r | where (#0 eq 1) | #5"),
        ("SELECT p FROM (SELECT * FROM r) AS t", "ERROR unknown column p"),
        ("SELECT a FROM r, s", "ERROR ambiguous column a"),
        ("SELECT R.\"b\" FROM r", "r | #1"),
        ("SELECT z.b FROM r", "ERROR unknown column z.b"),
        ("SELECT 1 + 2.5", "values(()) | (1 add:decimal 2.5)"),
        (
            "SELECT y + 1 FROM (VALUES (1, 'x'), (NULL, 'y')) AS t (y, z)",
            "values((1, 'x'), (NULL, 'y')) | (#0 add:integer 1)",
        ),
        ("SELECT \"abc\" FROM v", "v | 'abc'"),
    ]);
}

#[test]
fn joins() {
    check(&[
        ("SELECT * FROM r JOIN s USING (a)", "(r inner s on (#0 eq #6)) | #0, #1, #2, #3, #4, #7, #8"),
        (
            "SELECT a, r.a, s.a FROM r FULL JOIN s USING (a)",
            "(r full s on (#0 eq #6)) | case(not isnull #0: #0, #6), #0, #6",
        ),
        ("SELECT a FROM r RIGHT JOIN s USING (a)", "(r right s on (#0 eq #6)) | #6"),
        ("SELECT * FROM r NATURAL JOIN s", "(r inner s on and((#0 eq #6), (#1 eq #7))) | #0, #1, #2, #3, #4, #8"),
        ("SELECT * FROM r NATURAL LEFT JOIN v", "(r left v on and((#0 eq #6), (#2 eq #7))) | #0, #2, #1, #3, #4"),
        ("SELECT a FROM v JOIN r USING (a) JOIN s USING (a)", "((v inner r on (#0 eq #2)) inner s on (#0 eq #8)) | #0"),
        (
            "SELECT x.c, s.f FROM (r AS q JOIN v USING (a, c)) AS x, s WHERE x.a = s.a",
            "((r inner v on and((#0 eq #6), (#2 eq #7))) inner s) | where (#0 eq #8) | #2, #10",
        ),
        ("SELECT q.a FROM (r AS q JOIN v USING (a)) AS x", "ERROR unknown column q.a"),
        ("SELECT r.a FROM r LEFT SEMI JOIN s ON r.a = s.a", "(r semi s on (#0 eq #6)) | #0"),
        ("SELECT r.a FROM r LEFT ANTI JOIN s ON r.a = s.a", "(r anti s on (#0 eq #6)) | #0"),
        ("SELECT s.a FROM r LEFT SEMI JOIN s ON r.a = s.a", "ERROR unknown column s.a"),
        ("SELECT 1 FROM r LEFT JOIN s", "ERROR an outer join without a condition"),
        ("SELECT 1 FROM r a, s a WHERE a.b = 1", "ERROR ambiguous table a"),
    ]);
}

#[test]
fn scopes() {
    check(&[
        (
            "SELECT a FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.a = r.a AND EXISTS (SELECT 1 FROM v WHERE v.a = r.b + s.b))",
            "r | where exists(s | where and((#0 eq #1.0), exists(v | where (#0 eq (#2.1 add:integer #1.1)) | 1)) | 1) | #0",
        ),
        (
            "SELECT (SELECT MAX(f) FROM s WHERE s.a = r.a) FROM r",
            "r | scalar(s | where (#0 eq #1.0) | group ; max(#2) | #0)",
        ),
        (
            "SELECT 1 FROM r, LATERAL (SELECT s.b FROM s WHERE s.a = r.a) AS l WHERE l.b = r.b",
            "(r inner lateral s | where (#0 eq #1.0) | #1) | where (#6 eq #1) | 1",
        ),
        (
            "SELECT l.k FROM r LEFT JOIN LATERAL (SELECT COUNT(*) AS k FROM s WHERE s.a = r.a AND EXISTS (SELECT 1 FROM v WHERE v.a = r.b)) AS l ON TRUE",
            "(r left lateral s | where and((#0 eq #1.0), exists(v | where (#0 eq #2.1) | 1)) | group ; countstar() | #0 on TRUE) | #6",
        ),
        ("SELECT 1 FROM r, (SELECT s.b FROM s WHERE s.a = r.a) AS l", "ERROR unknown column r.a"),
        (
            "SELECT 1 FROM v, r JOIN LATERAL (SELECT v.a + r.a AS k) AS l ON l.k = 1",
            "(v inner lateral (r inner lateral values(()) | (#2.0 add:integer #1.0) on (#6 eq 1))) | 1",
        ),
        ("SELECT 1 FROM v, r JOIN LATERAL (SELECT v.a + r.a AS k) AS l ON v.a = 1", "ERROR unknown column v.a"),
        (
            "SELECT 1 FROM r WHERE EXISTS (WITH q AS (SELECT s.b FROM s WHERE s.a = r.a) SELECT 1 FROM q WHERE b IN (SELECT q.b FROM q))",
            "r | where exists(s | where (#0 eq #1.0) | #1 | where [#0] eq any(s | where (#0 eq #2.0) | #1 | #0) | 1) | 1",
        ),
        ("WITH r AS (SELECT a FROM r) SELECT * FROM r", "r | #0 | #0"),
        ("WITH RECURSIVE q AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM q) SELECT n FROM q", "ERROR WITH RECURSIVE"),
        ("WITH q (n) AS MATERIALIZED (SELECT a FROM v) SELECT x.n FROM q AS x", "v | #0 | #0"),
    ]);
}

#[test]
fn recursions_with_a_counter_are_unions_of_rounds() {
    let with =
        |base: &str, step: &str| format!("WITH RECURSIVE q(x, n) AS ({base} UNION ALL {step}) SELECT x, n FROM q");
    let base = "SELECT a, 1 FROM r";
    let refused = |text: &str| check(&[(text, "ERROR WITH RECURSIVE")]);
    check(&[
        (
            with(base, "SELECT q.x, q.n + 1 FROM q WHERE q.n < 3").as_str(),
            "((r | #0, 1 union all r | #0, 1 | where (#1 lt 3) | #0, 2) union all r | #0, 1 | where (#1 lt 3) | #0, 2 | where (#1 lt 3) \
             | #0, 3) | #0, #1",
        ),
        (
            with(base, "SELECT w.x, w.n + 1 FROM q AS w WHERE w.n <= 1 AND w.x > 0").as_str(),
            "(r | #0, 1 union all r | #0, 1 | where and((#1 le 1), (#0 gt 0)) | #0, 2) | #0, #1",
        ),
        (
            with("SELECT s.b, 1 FROM s", "SELECT s.b, q.n + 1 FROM q JOIN s ON s.a = q.x WHERE q.n < 2").as_str(),
            "(s | #1, 1 union all (s | #1, 1 inner s on (#2 eq #0)) | where (#1 lt 2) | #3, 2) | #0, #1",
        ),
        (with(base, "SELECT q.x, q.n + 1 FROM q WHERE q.n < 1").as_str(), "r | #0, 1 | #0, #1"),
        (
            with(base, "SELECT x, n + 1 FROM q WHERE n < 2").as_str(),
            "(r | #0, 1 union all r | #0, 1 | where (#1 lt 2) | #0, 2) | #0, #1",
        ),
    ]);
    for step in [
        "SELECT q.x, q.n + 1 FROM q",
        // A column that may have a wider type than that of the base.
        "SELECT s.b, q.n + 1 FROM q JOIN s ON s.a = q.x WHERE q.n < 2",
        "SELECT a.a, q.n + 1 FROM q JOIN s AS a ON a.a = q.x WHERE q.n < 2",
        "SELECT q.x, q.n + 2 FROM q WHERE q.n < 3",
        "SELECT q.x, n + 1 FROM q JOIN s ON s.a = q.x WHERE q.n < 3",
        "SELECT q.x, q.n + 1 FROM q WHERE q.n < 100",
        "SELECT q.x, q.n + 1 FROM q WHERE q.n < 3 OR q.x > 0",
        "SELECT q.x, q.n + 1 FROM q WHERE q.x < 3",
        "SELECT q.n, q.n + 1 FROM q WHERE q.x < 3",
        "SELECT DISTINCT q.x, q.n + 1 FROM q WHERE q.n < 3",
        "SELECT MAX(q.x), q.n + 1 FROM q WHERE q.n < 3",
        "SELECT q.x, q.n + 1 FROM q WHERE q.n < 3 GROUP BY q.x, q.n",
        "SELECT q.x, q.n + 1 FROM s RIGHT JOIN q ON s.a = q.x WHERE q.n < 3",
        "SELECT q.x, q.n + 1 FROM q RIGHT JOIN s ON s.a = q.x WHERE q.n < 3",
        "SELECT q.x, q.n + 1 FROM q JOIN q AS w ON w.x = q.x WHERE q.n < 3",
        "SELECT q.x, q.n + 1 FROM q WHERE q.n < 3 AND EXISTS (SELECT 1 FROM q AS w)",
        "SELECT s.b, s.a + 1 FROM q JOIN s ON s.a = q.x WHERE s.a < 3",
    ] {
        refused(&with(base, step));
    }
    refused(
        "WITH RECURSIVE q(x, n) AS (SELECT a, b FROM r UNION ALL SELECT q.x, q.n + 1 FROM q WHERE q.n < 3) SELECT x FROM q",
    );
    refused(
        "WITH RECURSIVE q(x, n) AS (SELECT a, 1 FROM r UNION SELECT q.x, q.n + 1 FROM q WHERE q.n < 3) SELECT x FROM q",
    );
    refused(
        "WITH RECURSIVE q(x, n) AS (SELECT a, 1 FROM r UNION ALL SELECT q.x, q.n + 1 FROM q WHERE q.n < 3 LIMIT 5) SELECT x FROM q",
    );
    refused(
        "WITH RECURSIVE q(x, n) AS (SELECT a, 1 FROM r UNION ALL SELECT q.x, q.n + 1 FROM q WHERE q.n < 3 ORDER BY 1) SELECT x FROM q",
    );
    let locked = with(base, "SELECT q.x, q.n + 1 FROM q WHERE q.n < 3 FOR UPDATE");
    check(&[(&locked, "ERROR a locking clause")]);
}

#[test]
fn groups() {
    check(&[
        ("SELECT b, COUNT(*), SUM(a) FROM r GROUP BY b", "r | group #1; countstar(); sum(#0) | #0, #1, #2"),
        (
            "SELECT b + 1, COUNT(c) FROM r GROUP BY b + 1 HAVING COUNT(c) > 1 AND b + 1 < 3",
            "r | group (#1 add:integer 1); count(#2) | where and((#1 gt 1), (#0 lt 3)) | #0, #1",
        ),
        ("SELECT 1 FROM r HAVING COUNT(*) > 1", "r | group ; countstar() | where (#0 gt 1) | 1"),
        // MySQL takes it for a condition on rows.
        ("SELECT 1 FROM r HAVING 1 = 1", "ERROR HAVING without groups and aggregates, which engines read differently"),
        (
            "SELECT MAX(DISTINCT a), COUNT(DISTINCT b), SUM(a) FILTER (WHERE e) FROM r",
            "r | group ; max(#0); count(distinct #1); sum(#0 if #4) | #0, #1, #2",
        ),
        (
            "SELECT b AS k, COUNT(a, c) FROM r GROUP BY k",
            "r | group #1; count(case(and(not isnull #0, not isnull #2): 1, NULL)) | #0, #1",
        ),
        ("SELECT b, a FROM r GROUP BY 1, 2", "r | group #1, #0 | #0, #1"),
        (
            "SELECT r.b, SUM(s.f) FROM r LEFT JOIN s ON r.a = s.b GROUP BY r.a",
            "(r left s on (#0 eq #7)) | group #0, #1; sum(#8) | #1, #2",
        ),
        ("SELECT s.f FROM s GROUP BY s.a, s.b", "ERROR column f neither grouped nor aggregated"),
        (
            "SELECT (SELECT s.f FROM s WHERE s.a = r.b) FROM r GROUP BY r.b",
            "r | group #1 | scalar(s | where (#0 eq #1.0) | #2)",
        ),
        (
            "SELECT a, b, SUM(a), GROUPING(a, b) FROM v NATURAL JOIN s GROUP BY ROLLUP (a, b)",
            "(((v inner s on (#0 eq #2)) | group #0, #3; sum(#0) | #0, #1, #2, 0 union all (v inner s on (#0 eq #2)) | group #0; sum(#0) | #0, null, #1, 1) union all (v inner s on (#0 eq #2)) | group ; sum(#0) | null, null, #0, 3) | #0, #1, #2, #3",
        ),
        (
            "SELECT a, b FROM s GROUP BY a, GROUPING SETS ((b), ())",
            "(s | group #0, #1 | #0, #1 union all s | group #0 | #0, null) | #0, #1",
        ),
        ("SELECT b FROM s GROUP BY CUBE (b)", "(s | group #1 | #0 union all s | group  | null) | #0"),
        ("SELECT b FROM s GROUP BY b WITH ROLLUP", "(s | group #1 | #0 union all s | group  | null) | #0"),
        ("SELECT COUNT(*) FROM s GROUP BY ()", "s | group ; countstar() | #0"),
        ("SELECT a FROM r WHERE b = (SELECT SUM(r.b) FROM s)", "ERROR an aggregate of an outer query"),
        ("SELECT (SELECT SUM(r.b) FROM s) FROM r", "ERROR an aggregate of an outer query"),
        ("SELECT STRING_AGG(c, ',') FROM r", "ERROR the function string_agg, which is not known to be one of values"),
        (
            "SELECT b, RANK() OVER (PARTITION BY b ORDER BY SUM(a) DESC), SUM(SUM(a)) OVER w FROM s GROUP BY b WINDOW w AS (ORDER BY b ROWS 1 PRECEDING)",
            "s | group #1; sum(#0) | window; rank() per #0 by #1 desc ; sum(#1) per  by #0 rows between 1 preceding and current row | #0, #2, #3",
        ),
    ]);
}

#[test]
fn names_that_engines_read_differently() {
    check(&[
        (
            "SELECT 1 FROM r WHERE EXISTS (SELECT 1 FROM v, (SELECT f FROM s WHERE c = 'x') AS t)",
            "ERROR column c, which engines find in different tables",
        ),
        (
            "SELECT 1 FROM r WHERE EXISTS (SELECT 1 FROM v, s JOIN s AS t ON c = 'x')",
            "ERROR column c, which engines find in different tables",
        ),
        (
            "SELECT 1 FROM r WHERE EXISTS (SELECT 1 FROM v, (SELECT f FROM s WHERE e) AS t)",
            "r | where exists((v inner s | where #1.4 | #2) | 1) | 1",
        ),
        ("SELECT MAX(b) AS a FROM r GROUP BY a HAVING a > 1", "ERROR a, which is a column and an output name"),
        (
            "SELECT SUM(b) AS b FROM r GROUP BY a HAVING SUM(b) > 1 ORDER BY b",
            "r | group #0; sum(#1) | where (#1 gt 1) | #1 | order #0",
        ),
        ("SELECT COUNT(*) AS n FROM r GROUP BY a HAVING n > 1", "r | group #0; countstar() | where (#1 gt 1) | #1"),
        ("SELECT -a AS a FROM r ORDER BY a + 1", "ERROR a, which is a column and an output name"),
        ("SELECT b AS a FROM r GROUP BY (1)", "ERROR (1) as an ordinal"),
        ("SELECT c FROM r ORDER BY (1)", "ERROR (1) as an ordinal"),
        (
            "SELECT 1 FROM r WHERE EXISTS (SELECT s.f + 1 AS c, c FROM s)",
            "ERROR c, which is a column and an output name",
        ),
        // MariaDB orders a window by output names first.
        (
            "SELECT b AS a, RANK() OVER (ORDER BY a) AS k FROM r",
            "ERROR a in the ORDER BY of a window, which is a column and an output name",
        ),
        (
            "SELECT RANK() OVER (ORDER BY (a)) AS k, b AS a FROM r",
            "ERROR a in the ORDER BY of a window, which is a column and an output name",
        ),
        // SQLite looks among the output names of all SELECTs around.
        (
            "SELECT 1 FROM r WHERE EXISTS (SELECT f AS c FROM s WHERE EXISTS (SELECT 1 FROM v AS w (g, h) WHERE h = c))",
            "ERROR c, which is an outer column and an output name",
        ),
        (
            "SELECT 1 FROM r WHERE EXISTS (SELECT r.c AS c FROM s WHERE EXISTS (SELECT 1 FROM v AS w (g, h) WHERE h = c))",
            "r | where exists(s | where exists(v | where (#1 eq #2.2) | 1) | #1.2) | 1",
        ),
        (
            "SELECT 1 FROM v AS w (rowid, h) WHERE EXISTS (SELECT 1 FROM s WHERE a = rowid)",
            "ERROR rowid, a column that tables of some engines have unasked",
        ),
        ("SELECT rowid FROM v AS w (rowid, h)", "v | #0"),
        // SQLite's ON sees what is joined later.
        (
            "SELECT 1 FROM r WHERE EXISTS (SELECT 1 FROM s JOIN s AS t ON t.a = r.a JOIN r ON r.a = 1)",
            "ERROR column a, which engines find in different tables",
        ),
        (
            "SELECT 1 FROM r WHERE EXISTS (SELECT 1 FROM s JOIN s AS t ON c = 'x', (SELECT 1 AS c) AS u)",
            "ERROR column c, which engines find in different tables",
        ),
        (
            "SELECT 1 FROM r WHERE EXISTS (SELECT 1 FROM s JOIN s AS t ON c = 'x' JOIN s AS u ON c = 'y')",
            "r | where exists(((s inner s on (#1.2 eq 'x')) inner s on (#1.2 eq 'y')) | 1) | 1",
        ),
        (
            "SELECT COUNT(*) FROM r SEMI JOIN s ON s.a > 0",
            "ERROR SEMI or ANTI behind a table, which is its alias in some engines",
        ),
        (
            "SELECT COUNT(*) FROM r, s CROSS JOIN v ANTI JOIN s AS t ON t.a > 0",
            "ERROR SEMI or ANTI behind a table, which is its alias in some engines",
        ),
    ]);
}

#[test]
fn expressions() {
    check(&[
        (
            "SELECT 1 FROM r WHERE a = 1 OR b = 2 AND NOT c = 'x' IS TRUE",
            "r | where or((#0 eq 1), and((#1 eq 2), not istrue (#2 eq 'x'))) | 1",
        ),
        ("SELECT 1 FROM r WHERE a = b = e", "ERROR a = b as an operand without parentheses"),
        ("SELECT 1 FROM r WHERE a = b BETWEEN 1 AND 2", "ERROR text that dialects read differently"),
        ("SELECT 1 FROM r WHERE (a, b) < (1, 2)", "r | where or((#0 lt 1), and((#0 eq 1), (#1 lt 2))) | 1"),
        ("SELECT 1 FROM r WHERE (a, b) <> (1, 2)", "r | where or((#0 ne 1), (#1 ne 2)) | 1"),
        ("SELECT 1 FROM r WHERE (a, b) NOT IN (SELECT a, b FROM s)", "r | where not [#0, #1] eq any(s | #0, #1) | 1"),
        (
            "SELECT 1 FROM r WHERE (a, b) IN ((1, 2), (3, 4))",
            "r | where or(and((#0 eq 1), (#1 eq 2)), and((#0 eq 3), (#1 eq 4))) | 1",
        ),
        ("SELECT 1 FROM r WHERE a <= ALL (SELECT b FROM s)", "r | where [#0] le all(s | #1) | 1"),
        ("SELECT 1 FROM r WHERE b IS NOT DISTINCT FROM a AND b <=> 1", "r | where and((#1 same #0), (#1 same 1)) | 1"),
        (
            "SELECT CASE b WHEN 1 THEN 'x' END, COALESCE(b, a, 0), NULLIF(a, 1), IF(e, 1, 2.5) FROM r",
            "r | case((#1 eq 1): 'x', NULL), case(not isnull #1: #1, not isnull #0: #0, 0), case((#0 eq 1): NULL, #0), case(#4: 1, 2.5)",
        ),
        (
            "SELECT 1 FROM r WHERE d = '2020-01-31' AND d > '2020-1-1' AND d < DATE '2020-02-01' + INTERVAL '1' DAY",
            "r | where and((#3 eq date '2020-01-31'), (#3 gt cast('2020-1-1' as date)), (#3 lt date_add_op(date '2020-02-01', interval('1', 'day')))) | 1",
        ),
        (
            "SELECT e = 1, e + 1 FROM r WHERE b",
            "r | where (#1 ne 0) | (case(#4: 1, not #4: 0, null) eq 1), (case(#4: 1, not #4: 0, null) add:integer 1)",
        ),
        (
            "SELECT -b, - 1, +b, 1 - -2.5, b / 2, MOD(b, 2) FROM r",
            "r | (0 sub:integer #1), -1, #1, (1 sub:decimal -2.5), (#1 div:number wwee 2), (#1 rem:integer 2)",
        ),
        (
            "SELECT 1 FROM r WHERE c LIKE 'a%' AND c NOT LIKE 'b!%' ESCAPE '!' AND c || 'x' = 'yx'",
            "r | where and(like(#2, 'a%'), not like(#2, 'b!%', '!'), (concat_op(#2, 'x') eq 'yx')) | 1",
        ),
        (
            "SELECT CAST(b AS DECIMAL(10)), CAST(NULL AS TEXT), e::INT, b::NUMERIC(10, 0), TRY_CAST(c AS INT) FROM r",
            "ERROR TRY_CAST",
        ),
        (
            "SELECT CAST(b AS DECIMAL(10)), CAST(NULL AS TEXT), e::INT, b::NUMERIC(10, 0) FROM r",
            "r | cast(#1 as decimal(10,0)), NULL, case(#4: 1, not #4: 0, NULL), cast(#1 as decimal(10,0))",
        ),
        ("SELECT 1 FROM r WHERE c = 1", "ERROR implicit conversion between TEXT and INTEGER"),
        ("SELECT NOW(), CURRENT_DATE", "ERROR the function now()"),
        ("SELECT RANDOM()", "ERROR the function random()"),
        (
            "SELECT 1 FROM r WHERE a IN ((SELECT a FROM s))",
            "ERROR IN, ANY or ALL of a subquery in two pairs of parentheses",
        ),
        ("SELECT 1 FROM r WHERE a & b = 1", "r | where (bit_and_op(#0, #1) eq 1) | 1"),
        ("SELECT 1 FROM r WHERE a & b | 1 = 1", "ERROR a & b as an operand without parentheses"),
    ]);
}

#[test]
fn orders_and_sets() {
    check(&[
        ("SELECT a AS k FROM r ORDER BY b DESC, 1, k, 'x'", "r | #0, #1 | first 1 | order #1 desc, #0, #0"),
        ("SELECT DISTINCT a FROM r ORDER BY b", "ERROR SELECT DISTINCT ordered by something not selected"),
        ("SELECT DISTINCT a FROM r ORDER BY r.a", "r | #0 | distinct | order #0"),
        (
            "SELECT a FROM (SELECT a, b FROM r ORDER BY b LIMIT 2 OFFSET 1) AS t",
            "r | #0, #1 | limit Some(2) 1 by #1 | #0",
        ),
        ("SELECT a FROM (SELECT a FROM r ORDER BY b) AS t", "r | #0, #1 | #0 | #0"),
        ("SELECT a FROM r ORDER BY a FETCH FIRST 2 ROWS ONLY", "r | #0 | limit Some(2) 0 by #0 | order #0"),
        ("SELECT a FROM r LIMIT b", "ERROR the row count b"),
        (
            "SELECT a FROM r UNION SELECT f FROM s EXCEPT ALL SELECT NULL ORDER BY a",
            "((r | #0 union s | #2) except all values(()) | null) | order #0",
        ),
        (
            "SELECT a FROM r UNION SELECT a FROM s INTERSECT SELECT a FROM v",
            "ERROR set operations of different precedence without parentheses",
        ),
        ("SELECT a FROM r INTERSECT SELECT a FROM s UNION SELECT a FROM v", "((r | #0 intersect s | #0) union v | #0)"),
        (
            "SELECT a FROM r UNION (SELECT a FROM s INTERSECT SELECT a FROM v)",
            "(r | #0 union (s | #0 intersect v | #0))",
        ),
        ("SELECT a FROM r UNION ALL SELECT a, b FROM s", "ERROR a set operation on different numbers of columns"),
        ("SELECT e FROM r UNION ALL SELECT a FROM s", "(r | case(#4: 1, not #4: 0, null) union all s | #0)"),
        ("VALUES (1, NULL), (2.5, 'x')", "values((1, NULL), (2.5, 'x'))"),
        ("SELECT 1 /*! + 1 */", "ERROR a comment that engines read differently"),
        ("SELECT 5--3", "ERROR a comment that engines read differently"),
        ("SELECT DISTINCT ON (a) a FROM r", "ERROR DISTINCT ON"),
        ("SELECT a FROM r FOR UPDATE", "ERROR a locking clause"),
        ("SELECT a FROM r; SELECT a FROM s", "ERROR a statement that is not one query"),
        ("SELECT a FROM", "ERROR syntax error: Expected: identifier, found: EOF"),
    ]);
}

#[test]
fn assumed() {
    let schema = tables();
    let cases = [
        ("SELECT a FROM r WHERE a = 1", ""),
        ("SELECT DISTINCT c FROM r", "text-equality-is-identity"),
        ("SELECT a + 1 FROM r", "exact-arithmetic"),
        (
            "SELECT a / 2 FROM r WHERE b = (SELECT b FROM s)",
            "exact-arithmetic no-runtime-error scalar-subquery-at-most-one-row",
        ),
        ("SELECT SUM(e) FROM r WHERE b", "boolean-is-one-or-zero exact-sums"),
        (
            "SELECT CAST(c AS CHAR(3)), to_json(b) FROM r",
            "casts-keep-values functions-are-deterministic no-runtime-error",
        ),
        ("SELECT a FROM r ORDER BY b LIMIT 1", "nulls-sort-at-one-end"),
        ("SELECT (SELECT MAX(b) FROM s) FROM r", ""),
        ("SELECT a FROM r WHERE a = 9007199254740993.0", "exact-arithmetic"),
        ("SELECT a FROM r WHERE a = 0.10 OR a < 123456789012345.0", ""),
    ];
    for (sql, expected) in cases {
        let query = query(&schema, sql).unwrap();
        let actual: Vec<_> = query.assumptions.iter().map(ToString::to_string).collect();
        assert_eq!(actual.join(" "), expected, "{sql}");
    }
}

#[test]
fn declarations() {
    let schema = tables();
    let [r, s, v] = schema.tables.as_slice() else { panic!("{schema:?}") };
    let names: Vec<_> = r.columns.iter().map(|c| (c.name.as_str(), c.not_null, c.is_virtual)).collect();
    assert_eq!(names[0], ("a", true, false));
    assert_eq!(names[5], ("p", false, true));
    assert_eq!((r.keys[0].columns.as_slice(), s.keys[0].columns.as_slice()), (&[0][..], &[0, 1][..]));
    let key = &s.foreign_keys[0];
    assert_eq!((key.columns.as_slice(), key.parent, key.parent_columns.as_slice()), (&[1][..], 0, &[0][..]));
    assert_eq!(Show(&schema).expr(&s.checks[0]), "(#2 gt 0)");
    assert_eq!((v.name.as_str(), v.columns.len()), ("v", 2));
    let cases = [
        ("CREATE TABLE t (a INT); ALTER TABLE t ADD CONSTRAINT k UNIQUE (a)", "1 keys 0 references 0 checks"),
        ("CREATE TABLE t (a INT); CREATE UNIQUE INDEX i ON t (a)", "1 keys 0 references 0 checks"),
        ("CREATE TABLE t (a INT); CREATE UNIQUE INDEX i ON t (a) WHERE a > 0", "0 keys 0 references 0 checks"),
        ("CREATE TABLE t (a INT REFERENCES missing (a))", "0 keys 0 references 0 checks"),
        ("CREATE TABLE t (a INT PRIMARY KEY REFERENCES t)", "1 keys 1 references 0 checks"),
        ("CREATE TABLE t (a INT CHECK (a > 0) CHECK (b < 1), b INT)", "0 keys 0 references 2 checks"),
        ("CREATE TABLE t (a INT GENERATED ALWAYS AS (1) STORED)", "ERROR"),
        ("CREATE TABLE t (a INT, UNIQUE NULLS NOT DISTINCT (a))", "ERROR"),
        ("CREATE TABLE t (a INT, PRIMARY KEY (b))", "ERROR"),
        ("CREATE TABLE t (a INT, A TEXT)", "ERROR"),
        ("CREATE VIEW t AS SELECT 1", "ERROR"),
        ("CREATE TABLE t (a INT COLLATE x)", "ERROR"),
    ];
    for (ddl, expected) in cases {
        let actual = super::schema(ddl, &BTreeMap::new()).map_or("ERROR".to_owned(), |schema| {
            let t = &schema.tables[0];
            format!("{} keys {} references {} checks", t.keys.len(), t.foreign_keys.len(), t.checks.len())
        });
        assert_eq!(actual, expected, "{ddl}");
    }
}

#[test]
fn deep_and_long_texts() {
    let schema = tables();
    let parentheses = format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000));
    let chain = format!("SELECT 1{}", " + 1".repeat(12_000));
    let conjunction = format!("SELECT 1 FROM r WHERE a = 1{}", " AND b = 2".repeat(4000));
    let union = format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(2000));
    let subqueries = format!("SELECT * FROM {}r{}", "(SELECT * FROM ".repeat(25), ") AS t".repeat(25));
    assert!(query(&schema, &parentheses).is_err());
    assert!(query(&schema, &chain).is_err());
    assert!(query(&schema, &conjunction).is_ok());
    assert!(query(&schema, &union).is_err());
    assert!(query(&schema, &subqueries).is_ok());
}

#[test]
fn bad_plans_are_found() {
    let schema = tables();
    let good = query(&schema, "SELECT a FROM r WHERE b = 1").unwrap();
    let spoilt = |spoil: &dyn Fn(&mut Plan)| {
        let mut bad = good.clone();
        spoil(&mut bad.plan);
        validate(&schema, &bad).is_err()
    };
    assert!(!spoilt(&|_| {}));
    let change = |by: fn(&mut usize, &mut usize, &mut Type)| {
        move |plan: &mut Plan| {
            plan.map_columns(&mut |column, _| {
                if let Expr::Column { depth, index, ty } = column {
                    by(depth, index, ty);
                }
            });
        }
    };
    assert!(spoilt(&change(|depth, _, _| *depth = 1)));
    assert!(spoilt(&change(|_, index, _| *index = 9)));
    assert!(spoilt(&change(|_, _, ty| *ty = Type::Text)));
    assert!(spoilt(&|plan| *plan = plan.clone().filter(Expr::int(1))));
    assert!(spoilt(&|plan| *plan = Plan::Scan { table: 7, types: Vec::new() }));
    assert!(validate(&schema, &Query { visible: 2, ..good.clone() }).is_err());
}
