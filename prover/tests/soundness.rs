//! Pairs that look alike and are not: the prover alone, without any database to warn it, must not prove them.
//!
//! Each pair stands for one way in which a proof could go wrong.

#![cfg(feature = "solver")]

use std::collections::BTreeMap;

use prover::{Limits, Verdict, lower, prove_only};

/// Whether the prover proves a pair when no evaluated database keeps it from it.
fn proven(schema: &str, left: &str, right: &str) -> bool {
    let schema = lower::schema(schema, &BTreeMap::new()).expect("a schema");
    let [left, right] = [left, right].map(|text| lower::query(&schema, text).expect(text));
    matches!(prove_only(&schema, &left, &right, &Limits::default()).verdict, Verdict::Proven(_))
}

#[track_caller]
fn never_proven(schema: &str, left: &str, right: &str) {
    assert!(!proven(schema, left, right), "proven, although they differ:\n{left}\n{right}");
    assert!(!proven(schema, right, left), "proven, although they differ:\n{right}\n{left}");
}

/// The same for texts that the front end may refuse.
#[track_caller]
fn never_proven_or_read(schema: &str, left: &str, right: &str) {
    let read = lower::schema(schema, &BTreeMap::new()).expect("a schema");
    if [left, right].iter().all(|text| lower::query(&read, text).is_ok()) {
        never_proven(schema, left, right);
    }
}

#[test]
fn equal_queries_are_proven_without_a_search() {
    assert!(proven("CREATE TABLE t(a INT)", "SELECT a FROM t", "SELECT t.a FROM t WHERE TRUE"));
}

#[test]
fn results_of_different_widths_are_not_equal() {
    never_proven("CREATE TABLE t(a INT)", "SELECT a FROM t", "SELECT a, a FROM t");
}

#[test]
fn two_terms_that_share_a_row_keep_their_rows_apart() {
    let schema = "CREATE TABLE t(a INT, b INT); CREATE TABLE u(a INT, b INT); CREATE TABLE v(a INT, b INT);";
    let from = "FROM t, (SELECT a, 1 AS k FROM u UNION ALL SELECT a, 2 AS k FROM v) AS s";
    never_proven(
        schema,
        &format!("SELECT t.a {from}"),
        &format!("SELECT CASE WHEN s.k = 1 THEN t.a ELSE s.a END {from}"),
    );
}

#[test]
fn a_row_of_another_type_counts() {
    let schema = "CREATE TABLE t(a INT)";
    never_proven(schema, "SELECT a FROM t", "SELECT a FROM t UNION ALL SELECT 1.5 FROM t");
    let nothing = "SELECT a FROM t UNION ALL SELECT a FROM t WHERE FALSE";
    never_proven(schema, nothing, "SELECT a FROM t UNION ALL SELECT 1.5 FROM t");
}

#[test]
fn a_truth_value_is_no_number() {
    let schema = "CREATE TABLE t(a INT, p BOOLEAN)";
    never_proven(schema, "SELECT TRUE FROM t", "SELECT 5 FROM t");
    never_proven(schema, "SELECT a <> 0 FROM t", "SELECT a FROM t");
    never_proven(schema, "SELECT p FROM t", "SELECT CASE WHEN p THEN 1 WHEN NOT p THEN 0 END FROM t");
    never_proven(schema, "SELECT DISTINCT a <> 0 FROM t", "SELECT DISTINCT a FROM t");
}

#[test]
fn what_cancels_may_be_null() {
    let schema = "CREATE TABLE o(f INT); CREATE TABLE t(a INT); CREATE TABLE u(a INT)";
    let count = "(SELECT COUNT(*) FROM u)";
    let nothing = "o.f * (SELECT COUNT(*) FROM t) - o.f * (SELECT COUNT(*) FROM t)";
    never_proven(schema, &format!("SELECT {nothing} + {count} FROM o"), &format!("SELECT {count} FROM o"));
}

#[test]
fn a_null_factor_of_a_sum_over_no_rows_is_not_seen() {
    let schema = "CREATE TABLE o(c INT); CREATE TABLE t(a INT); CREATE TABLE u(b INT)";
    let sum = "(SELECT SUM(x) FROM (SELECT o.c AS x FROM t WHERE t.a = o.c UNION ALL SELECT b FROM u) AS s)";
    let left = format!("SELECT {sum} FROM o");
    never_proven(schema, &left, &format!("SELECT CASE WHEN o.c IS NULL THEN NULL ELSE {sum} END FROM o"));
}

#[test]
fn what_holds_beside_a_row_need_not_hold_without_it() {
    let schema = "CREATE TABLE r(x INT NOT NULL); CREATE TABLE v(x INT); CREATE TABLE u(y INT NOT NULL)";
    let query = |condition: &str| {
        format!(
            "SELECT s.a FROM (SELECT (SELECT COUNT(*) FROM u{condition}) AS a) AS s, \
             (SELECT x FROM r UNION ALL SELECT x FROM v) AS q"
        )
    };
    let some = " WHERE EXISTS (SELECT 1 FROM r WHERE r.x = r.x + u.y - u.y)";
    never_proven(schema, &query(""), &query(some));
}

#[test]
fn the_average_of_whole_numbers_is_not_that_of_doubles() {
    let schema = "CREATE TABLE t(a INT, x DOUBLE PRECISION)";
    never_proven(schema, "SELECT AVG(a) FROM t WHERE a = x", "SELECT AVG(x) FROM t WHERE a = x");
}
