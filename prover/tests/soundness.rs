//! Pairs that look alike and are not: the prover alone, without any database to warn it, must not prove them.
//!
//! Each pair stands for one way in which a proof could go wrong.

#![cfg(feature = "solver")]

use std::collections::BTreeMap;

use prover::ir::Assumption;
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
fn equal_numbers_are_not_equal_texts() {
    let schema = "CREATE TABLE t(a INT, d DECIMAL(10,2), e DECIMAL(10,3), x DOUBLE PRECISION)";
    for (left, right) in [
        ("CAST(CAST(a AS DECIMAL(10,2)) AS TEXT)", "CAST(a AS TEXT)"),
        ("CAST(a * 1.0 AS TEXT)", "CAST(a AS TEXT)"),
        ("CAST(1.0 AS TEXT)", "CAST(1 AS TEXT)"),
        ("LENGTH(1.50)", "LENGTH(1.5)"),
    ] {
        never_proven(schema, &format!("SELECT {left} FROM t"), &format!("SELECT {right} FROM t"));
    }
    for (left, right, condition) in [
        ("CAST(d AS TEXT)", "CAST(e AS TEXT)", "d = e"),
        ("CAST(a AS TEXT)", "CAST(x AS TEXT)", "a = x"),
        ("crc32(d)", "crc32(e)", "d = e"),
        ("crc32(a)", "crc32(x)", "a = x"),
        ("a || 'k'", "x || 'k'", "a = x"),
    ] {
        never_proven_or_read(
            schema,
            &format!("SELECT {left} FROM t WHERE {condition}"),
            &format!("SELECT {right} FROM t WHERE {condition}"),
        );
    }
    assert!(proven(schema, "SELECT ROUND(d) FROM t WHERE d = e", "SELECT ROUND(e) FROM t WHERE d = e"));
    assert!(proven(schema, "SELECT CAST(a AS TEXT) FROM t WHERE a = 1", "SELECT CAST(1 AS TEXT) FROM t WHERE a = 1"));
}

#[test]
fn the_average_of_whole_numbers_is_not_that_of_doubles() {
    let schema = "CREATE TABLE t(a INT, x DOUBLE PRECISION)";
    never_proven(schema, "SELECT AVG(a) FROM t WHERE a = x", "SELECT AVG(x) FROM t WHERE a = x");
}

#[test]
fn a_literal_beside_a_double_is_rounded() {
    let schema = "CREATE TABLE t(c DOUBLE PRECISION)";
    never_proven(schema, "SELECT c FROM t WHERE c = 0.1 AND c = 1e-1", "SELECT c FROM t WHERE FALSE");
    let twice = "SELECT c FROM t WHERE c = 9007199254740993 AND c = 9007199254740992";
    never_proven(schema, twice, "SELECT c FROM t WHERE FALSE");
}

#[test]
fn a_conversion_to_the_same_family_may_round() {
    let schema = "CREATE TABLE t(d DECIMAL(10,4), s TIMESTAMP(6))";
    never_proven(schema, "SELECT CAST(d AS DECIMAL) FROM t", "SELECT d FROM t");
    never_proven(schema, "SELECT CAST(s AS TIMESTAMP) FROM t", "SELECT s FROM t");
}

#[test]
fn a_cast_to_fewer_digits_may_round_or_fail() {
    let schema = "CREATE TABLE t(a DECIMAL(15,2), b DECIMAL)";
    for (column, size) in [("a", "15,1"), ("a", "15,3"), ("a", "14,2"), ("b", "30,10")] {
        let cast = format!("SELECT CAST({column} AS DECIMAL({size})) FROM t");
        never_proven(schema, &cast, &format!("SELECT {column} FROM t"));
    }
}

#[test]
fn a_pattern_may_match_without_regard_to_case() {
    let schema = "CREATE TABLE t(a INT)";
    never_proven(schema, "SELECT 'abc' LIKE 'A%' FROM t", "SELECT FALSE FROM t");
    assert!(proven(schema, "SELECT 'abc' LIKE 'b%' FROM t", "SELECT FALSE FROM t"));
    assert!(proven(schema, "SELECT 'abc' LIKE 'a%' FROM t", "SELECT TRUE FROM t"));
}

#[test]
fn comparing_rows_by_parts_is_taken_for_granted() {
    let schema = lower::schema("CREATE TABLE t(a INT, b INT, c INT)", &BTreeMap::new()).expect("a schema");
    for (text, expected) in [
        ("SELECT 1 FROM t WHERE (a, b) = (b, c)", true),
        ("SELECT 1 FROM t WHERE (a, b) IN ((1, 2))", true),
        ("SELECT 1 FROM t WHERE (a, b) IN (SELECT b, c FROM t)", true),
        ("SELECT 1 FROM t WHERE a = b AND b IN (1, 2) AND c IN (SELECT b FROM t)", false),
    ] {
        let query = lower::query(&schema, text).expect(text);
        assert_eq!(query.assumptions.contains(&Assumption::RowsCompareByParts), expected, "{text}");
    }
}

#[test]
fn that_texts_are_in_the_order_of_bytes_is_taken_for_granted_where_they_are_ordered() {
    let schema = lower::schema("CREATE TABLE t(a TEXT, b TEXT, c INT)", &BTreeMap::new()).expect("a schema");
    for (text, expected) in [
        ("SELECT 1 FROM t WHERE 'a' < 'B'", true),
        ("SELECT 1 FROM t WHERE a BETWEEN 'a' AND 'b'", true),
        ("SELECT 1 FROM t WHERE a > ALL (SELECT b FROM t)", true),
        ("SELECT MAX(a) FROM t", true),
        ("SELECT MIN(a) OVER () FROM t", true),
        ("SELECT a FROM t ORDER BY a, b, c LIMIT 1", true),
        ("SELECT GREATEST(a, b) FROM t", true),
        ("SELECT MAX(c), COUNT(DISTINCT a) FROM t WHERE c < 3 AND a = 'x' AND b IN ('x', 'y')", false),
    ] {
        let query = lower::query(&schema, text).expect(text);
        assert_eq!(query.assumptions.contains(&Assumption::TextOrderIsThatOfBytes), expected, "{text}");
    }
}

#[test]
fn that_a_join_binds_before_a_comma_is_taken_for_granted_where_it_matters() {
    let schema = lower::schema("CREATE TABLE t(a INT); CREATE TABLE u(a INT)", &BTreeMap::new()).expect("a schema");
    for (joins, expected) in [
        ("t AS x, t JOIN u ON t.a = u.a", false),
        ("t AS x, t LEFT JOIN u ON t.a = u.a", false),
        ("t RIGHT JOIN u ON t.a = u.a, t AS x", false),
        ("t AS x, t RIGHT JOIN u ON t.a = u.a", true),
        ("t AS x, t FULL JOIN u ON t.a = u.a", true),
        ("t AS x, t JOIN u USING (a)", true),
        ("t AS x, t NATURAL LEFT JOIN u", true),
        ("t AS x CROSS JOIN t RIGHT JOIN u ON t.a = u.a", false),
    ] {
        let text = format!("SELECT 1 FROM {joins}");
        let query = lower::query(&schema, &text).expect(&text);
        assert_eq!(query.assumptions.contains(&Assumption::JoinsBindBeforeCommas), expected, "{text}");
    }
}

#[test]
fn a_subquery_like_its_surroundings_keeps_its_own_rows() {
    // Once `k` and `l` are one value, the subquery is the same sum as a part of the aggregate it stands in.
    let schema = "CREATE TABLE t(a INT, d INT, e INT, f INT); CREATE TABLE u(k INT, l INT);";
    let any = |last: &str| {
        format!(
            "SELECT o.k, (SELECT BOOL_OR(y.f = 2 AND b.d = 1) FROM t y, t b \
             WHERE y.a = o.k AND (b.d = 1 OR y.e = 3 OR {last})) FROM u o WHERE o.k = o.l"
        )
    };
    never_proven(schema, &any("EXISTS (SELECT 1 FROM t x WHERE x.a = o.l AND x.f = 2)"), &any("y.f = 2"));
    let sum = |count: &str, from: &str| {
        format!(
            "SELECT (SELECT SUM(CASE WHEN b.f IS NOT NULL THEN 1 WHEN b.e < {count} THEN 1 ELSE 0 END) \
             FROM t b WHERE b.a = o.k) FROM {from}"
        )
    };
    let count = |of: &str| format!("(SELECT COUNT(*) FROM t x WHERE x.a = {of} AND x.f IS NOT NULL)");
    let from = "u o WHERE o.k = o.l";
    never_proven(schema, &sum(&count("o.l"), from), &sum("0", from));
    let from = "u o, u p WHERE o.k = 5 AND p.k = 5";
    never_proven(schema, &sum(&count("p.k"), from), &sum("0", from));
    let keyed = "CREATE TABLE t(a INT, d INT, e INT, f INT); CREATE TABLE u(k INT PRIMARY KEY);";
    never_proven(keyed, &sum(&count("p.k"), from), &sum("0", from));
    for query in
        [any("EXISTS (SELECT 1 FROM t x WHERE x.a = o.l AND x.f = 2)"), sum(&count("o.l"), "u o WHERE o.k = o.l")]
    {
        assert!(proven(schema, &query, &query), "not equal to itself: {query}");
    }
}

#[test]
fn a_column_of_several_terms_has_room_for_all_of_them() {
    let schema =
        "CREATE TABLE n(a INT NOT NULL, b INT NOT NULL, d DECIMAL(10,2) NOT NULL, e DOUBLE PRECISION NOT NULL)";
    let union = "(SELECT a AS x FROM n UNION SELECT d FROM n) AS s";
    never_proven(schema, &format!("SELECT x FROM {union} WHERE x > 1"), &format!("SELECT x FROM {union} WHERE x >= 2"));
    never_proven(schema, &format!("SELECT CAST(x AS INTEGER) FROM {union}"), &format!("SELECT x FROM {union}"));
    let grouped = "SELECT x FROM (SELECT a AS x FROM n UNION ALL SELECT d FROM n) AS s GROUP BY x HAVING";
    never_proven(schema, &format!("{grouped} x > 1"), &format!("{grouped} x >= 2"));
    let case = "SELECT CASE WHEN b > 0 THEN b ELSE e END FROM n";
    never_proven(schema, case, &format!("{case} WHERE b > 0 OR e <= 1 OR e >= 2"));
}

#[test]
fn a_count_and_a_sum_of_fractions_are_no_whole_number() {
    let schema = "CREATE TABLE t(g INT NOT NULL, h INT NOT NULL, d DECIMAL(10,2) NOT NULL)";
    let groups = "SELECT g FROM t WHERE d >= 1 AND d < 1.02 GROUP BY g";
    let sums = "HAVING SUM(CASE WHEN h <> 1 THEN d ELSE 0 END) < COUNT(*) - COUNT(CASE WHEN h = 1 THEN 1 END) + 1";
    never_proven(schema, groups, &format!("{groups} {sums}"));
}

#[test]
fn a_quotient_need_not_be_whole_nor_truncated() {
    let schema = "CREATE TABLE n(a INT NOT NULL, b INT NOT NULL, ts TIMESTAMP NOT NULL)";
    for value in ["a / 2", "a / 2 + b", "ABS(a / b)", "EXTRACT(SECOND FROM ts)", "EXTRACT(EPOCH FROM ts)", "SECOND(ts)"]
    {
        let above = |bound: &str| format!("SELECT a FROM n WHERE {value} {bound}");
        never_proven(schema, &above("> 1"), &above(">= 2"));
        never_proven(schema, &format!("SELECT CAST({value} AS INTEGER) FROM n"), &format!("SELECT {value} FROM n"));
    }
    let sums = |bound: &str| format!("SELECT b FROM n GROUP BY b HAVING SUM(a / 2) {bound}");
    never_proven(schema, &sums("> 1"), &sums(">= 2"));
}

#[test]
fn a_date_that_a_function_yields_may_be_a_point_in_time() {
    let schema = "CREATE TABLE w(ts TIMESTAMP, dt DATE)";
    for value in ["DATE_TRUNC('hour', ts)", "dt + INTERVAL '1' HOUR", "DATE_ADD(ts, INTERVAL '1' DAY)"] {
        never_proven(schema, &format!("SELECT CAST({value} AS DATE) FROM w"), &format!("SELECT {value} FROM w"));
    }
    assert!(proven(schema, "SELECT CAST(dt AS DATE) FROM w", "SELECT dt FROM w"));
}

#[test]
fn a_lateral_set_keeps_the_rows_it_depends_on() {
    // The rows of the DISTINCT on the left come to stand behind those that depend on them.
    let schema = "CREATE TABLE t(k INT PRIMARY KEY, b INT UNIQUE, a INT NOT NULL, f BOOLEAN NOT NULL);
        CREATE TABLE u(f BOOLEAN NOT NULL, c INT NOT NULL); CREATE TABLE o(f BOOLEAN NOT NULL, n INT NOT NULL);";
    let count = |of: &str| {
        format!(
            "(SELECT COUNT(*) FROM (SELECT DISTINCT b, f FROM t) AS x, \
             LATERAL (SELECT DISTINCT c FROM u WHERE u.f = {of}.f) AS z WHERE x.b IS NOT NULL)"
        )
    };
    let from = "FROM o AS o1, o AS o2";
    let (own, first, second) = (count("x"), count("o1"), count("o2"));
    let counts = format!("SELECT {own} AS n, {first} AS p, {second} AS q, o1.f AS f, o2.f AS g {from}");
    let left = format!("SELECT CASE WHEN f AND NOT g AND n <> p AND n <> q THEN 1 ELSE 0 END FROM ({counts}) AS s");
    never_proven(schema, &left, &format!("SELECT 0 {from}"));
}

#[test]
fn what_is_left_when_the_work_is_used_up_is_no_proof() {
    let schema = lower::schema("CREATE TABLE o(n INT NOT NULL, m INT NOT NULL)", &BTreeMap::new()).expect("a schema");
    let query = |text: &str| lower::query(&schema, text).expect(text);
    let left = query("SELECT (SELECT o.n INTERSECT ALL SELECT o.m) FROM o");
    let right = query("SELECT n FROM o");
    for work_total in 1..100 {
        let limits = Limits { work_total, ..Limits::default() };
        let verdict = prove_only(&schema, &left, &right, &limits).verdict;
        assert!(!matches!(verdict, Verdict::Proven(_)), "proven with {work_total} steps");
    }
}

#[test]
fn what_an_unknown_function_yields_is_no_truth_value_and_no_text() {
    let schema = "CREATE TABLE t(a INT, p BOOLEAN, dt DATE, d2 DATE)";
    for value in ["gcd(a, 10)", "dt - d2"] {
        let five = format!("FROM t WHERE {value} = 5");
        never_proven_or_read(schema, &format!("SELECT {value} {five}"), &format!("SELECT TRUE {five}"));
        never_proven_or_read(
            schema,
            &format!("SELECT DISTINCT {value} {five}"),
            &format!("SELECT DISTINCT TRUE {five}"),
        );
        let exact = format!("SELECT a FROM t WHERE {value} = 9007199254740993 AND {value} = 9007199254740992");
        never_proven_or_read(schema, &exact, "SELECT a FROM t WHERE FALSE");
        never_proven_or_read(
            schema,
            &format!("SELECT a FROM t WHERE {value} = TRUE"),
            &format!("SELECT a FROM t WHERE {value} <> FALSE"),
        );
        never_proven_or_read(
            schema,
            &format!("SELECT a FROM t WHERE {value} = '05' AND {value} = '5'"),
            "SELECT a FROM t WHERE FALSE",
        );
        never_proven_or_read(
            schema,
            &format!("SELECT COALESCE({value}, TRUE) {five}"),
            &format!("SELECT {value} {five}"),
        );
    }
    let same = "SELECT gcd(a, 2) FROM t WHERE gcd(a, 2) = gcd(a, 3)";
    assert!(proven(schema, same, "SELECT gcd(a, 3) FROM t WHERE gcd(a, 2) = gcd(a, 3)"));
}

#[test]
fn an_inner_average_of_whole_numbers_is_not_that_of_doubles() {
    let schema =
        "CREATE TABLE t(a INT, b INT, e DOUBLE PRECISION); CREATE TABLE v(k INT, b INT); CREATE TABLE u(a INT)";
    let query = |average: &str| format!("SELECT 1 FROM u WHERE EXISTS (SELECT 1 FROM v WHERE v.k = ({average}))");
    let doubles =
        "SELECT AVG(x) FROM (SELECT a AS x FROM t WHERE t.b = v.b UNION ALL SELECT e FROM t WHERE FALSE) AS q";
    never_proven(schema, &query(doubles), &query("SELECT AVG(a) FROM t WHERE t.b = v.b"));
}

#[test]
fn a_number_in_a_column_of_doubles_is_rounded() {
    let schema = "CREATE TABLE t(a INT, d DECIMAL(10,2), e DOUBLE PRECISION)";
    let both = "(SELECT e AS x FROM t UNION ALL SELECT d FROM t WHERE d = 0.1 OR d = 0.2) AS q";
    never_proven(
        schema,
        &format!("SELECT x FROM {both} WHERE x = 0.1 OR x = 0.2"),
        "SELECT e FROM t WHERE e = 0.1 OR e = 0.2",
    );
}

#[test]
fn a_root_of_an_exact_number_may_have_more_digits() {
    let schema = "CREATE TABLE t(a INT, d DECIMAL(10,2), w DECIMAL(30,20), e DOUBLE PRECISION)";
    for function in ["SQRT(#)", "POWER(#, 40)", "EXP(#)", "LN(#)", "STDDEV(#)"] {
        let of = |column: &str| format!("SELECT {} FROM t WHERE a = d AND d = w", function.replace('#', column));
        never_proven(schema, &of("a"), &of("d"));
        never_proven(schema, &of("d"), &of("w"));
    }
    never_proven(schema, "SELECT STDDEV(a) FROM t WHERE a = e", "SELECT STDDEV(e) FROM t WHERE a = e");
}

#[test]
fn a_limit_counts_rows_and_ties() {
    let schema =
        "CREATE TABLE t(k INT PRIMARY KEY, a INT, b INT, n INT NOT NULL); CREATE TABLE u(a INT, b INT NOT NULL)";
    let order = "ORDER BY a NULLS FIRST";
    for (left, right) in [
        // Which of the rows that tie is kept shows.
        ("SELECT a FROM t ORDER BY a LIMIT 2", "SELECT DISTINCT a FROM t ORDER BY a LIMIT 2"),
        ("SELECT a FROM t ORDER BY a LIMIT 2", "SELECT DISTINCT a FROM (SELECT a FROM t ORDER BY a LIMIT 2) AS s"),
        ("SELECT a FROM t WHERE a = 1 LIMIT 2", "SELECT a FROM t WHERE a = 1"),
        ("SELECT a FROM t WHERE a = 1 LIMIT 2", "SELECT DISTINCT a FROM t WHERE a = 1"),
        ("SELECT a FROM t WHERE a = 1 LIMIT 1", "SELECT 1"),
        ("SELECT a FROM t WHERE a = 1 OFFSET 1", "SELECT a FROM t WHERE a = 1 LIMIT 1"),
        ("SELECT COUNT(*) FROM (SELECT a FROM t LIMIT 2) AS s", "SELECT COUNT(*) FROM t"),
        ("SELECT COUNT(*) FROM (SELECT a FROM t LIMIT 2) AS s", "SELECT COUNT(*) FROM (SELECT a FROM u LIMIT 2) AS s"),
        (
            "SELECT COUNT(*) FROM (SELECT a FROM t LIMIT 2) AS s",
            "SELECT COUNT(*) FROM (SELECT DISTINCT n FROM t LIMIT 2) AS s",
        ),
        (
            "SELECT COUNT(*) FROM (SELECT a FROM u LIMIT 2 OFFSET 1) AS s",
            "SELECT COUNT(*) FROM (SELECT a FROM u LIMIT 1 OFFSET 1) AS s",
        ),
        (
            "SELECT k FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a LIMIT 2 OFFSET 1)",
            "SELECT k FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a)",
        ),
        (
            "SELECT k FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a LIMIT 2 OFFSET 1)",
            "SELECT k FROM t WHERE (SELECT COUNT(*) FROM u WHERE u.a = t.a) > 2",
        ),
        // Nested bounds.
        (
            "SELECT a FROM (SELECT a FROM t ORDER BY a LIMIT 3 OFFSET 1) AS s ORDER BY a LIMIT 3 OFFSET 1",
            "SELECT a FROM t ORDER BY a LIMIT 3 OFFSET 2",
        ),
        (
            "SELECT a FROM (SELECT a FROM t ORDER BY a LIMIT 3) AS s ORDER BY a DESC LIMIT 1",
            "SELECT a FROM t ORDER BY a DESC LIMIT 1",
        ),
        (
            "SELECT a FROM (SELECT a FROM t ORDER BY a NULLS FIRST LIMIT 3) AS s ORDER BY a NULLS LAST LIMIT 1",
            "SELECT a FROM t ORDER BY a NULLS LAST LIMIT 1",
        ),
        // A join below and above.
        (
            "SELECT t.k, u.b FROM t LEFT JOIN u ON u.a = t.k ORDER BY t.k, u.b LIMIT 2",
            "SELECT s.k, u.b FROM (SELECT k FROM t ORDER BY k LIMIT 2) AS s LEFT JOIN u ON u.a = s.k",
        ),
        (
            "SELECT t.k, s.k FROM t JOIN t AS s ON s.k = t.a ORDER BY t.k LIMIT 2",
            "SELECT r.k, s.k FROM (SELECT k, a FROM t ORDER BY k LIMIT 2) AS r JOIN t AS s ON s.k = r.a",
        ),
        // A filter below and above.
        (
            &format!("SELECT a FROM (SELECT a FROM t {order} LIMIT 2) AS s WHERE a IS NOT NULL"),
            &format!("SELECT a FROM t WHERE a IS NOT NULL {order} LIMIT 2"),
        ),
        (
            "SELECT n FROM (SELECT n FROM t ORDER BY n LIMIT 2) AS s WHERE n > 0",
            "SELECT n FROM t WHERE n > 0 ORDER BY n LIMIT 2",
        ),
        // An extreme over no rows is NULL, and NULLs are rows.
        ("SELECT MAX(a) FROM t", "SELECT a FROM t WHERE a IS NOT NULL ORDER BY a DESC LIMIT 1"),
        ("SELECT (SELECT a FROM t ORDER BY a DESC NULLS FIRST LIMIT 1)", "SELECT MAX(a) FROM t"),
        ("SELECT (SELECT n FROM t ORDER BY n DESC LIMIT 1 OFFSET 1)", "SELECT MAX(n) FROM t"),
        ("SELECT n FROM t WHERE n = (SELECT MAX(n) FROM t)", "SELECT n FROM t ORDER BY n DESC LIMIT 1"),
        // The same cut of rows of which one has more columns.
        (
            "SELECT b FROM (SELECT b, a FROM t ORDER BY b LIMIT 2) AS s",
            "SELECT b FROM (SELECT b FROM t WHERE a = 1 ORDER BY b LIMIT 2) AS s",
        ),
        // Set operations.
        (
            "SELECT b FROM u ORDER BY b LIMIT 2",
            "(SELECT b FROM u ORDER BY b LIMIT 1) UNION ALL (SELECT b FROM u ORDER BY b LIMIT 1)",
        ),
        (
            "SELECT n FROM (SELECT n FROM t UNION ALL SELECT b FROM u) AS s ORDER BY n LIMIT 2",
            "(SELECT n FROM t ORDER BY n LIMIT 1) UNION ALL (SELECT b FROM u ORDER BY b LIMIT 1)",
        ),
        (
            "SELECT b FROM u ORDER BY b LIMIT 3 OFFSET 1",
            "(SELECT b FROM u ORDER BY b LIMIT 3) EXCEPT (SELECT b FROM u ORDER BY b LIMIT 1)",
        ),
        // An order that does not decide.
        ("SELECT a FROM t ORDER BY ABS(a) LIMIT 1", "SELECT a FROM t ORDER BY ABS(a), a LIMIT 1"),
        ("SELECT a FROM t ORDER BY a * a LIMIT 1", "SELECT a FROM t ORDER BY a * a, a LIMIT 1"),
        ("SELECT a, b FROM t ORDER BY a LIMIT 1", "SELECT a, b FROM t ORDER BY a, b LIMIT 1"),
        ("SELECT a, b FROM u ORDER BY a LIMIT 1", "SELECT a, b FROM u ORDER BY a LIMIT 1"),
        ("SELECT a FROM u LIMIT 1", "SELECT a FROM u LIMIT 1"),
        ("SELECT k FROM t WHERE a = 1 LIMIT 1", "SELECT k FROM t WHERE a = 1 LIMIT 1"),
    ] {
        never_proven(schema, left, right);
    }
}

#[test]
fn a_limit_whose_order_decides_is_proven() {
    let schema = "CREATE TABLE t(k INT PRIMARY KEY, a INT, b INT); CREATE TABLE u(k INT PRIMARY KEY, b INT)";
    for (left, right) in [
        ("SELECT a FROM (SELECT a, b FROM t ORDER BY a LIMIT 3) AS s", "SELECT a FROM t ORDER BY a LIMIT 3"),
        (
            "SELECT a FROM (SELECT a FROM t ORDER BY a LIMIT 20) AS s ORDER BY a LIMIT 10 OFFSET 10",
            "SELECT a FROM (SELECT a FROM t ORDER BY a LIMIT 100 OFFSET 10) AS s ORDER BY a LIMIT 10",
        ),
        ("SELECT a FROM t WHERE a = 1 LIMIT 1", "SELECT DISTINCT a FROM t WHERE a = 1"),
        (
            "SELECT COUNT(*) FROM (SELECT a FROM t LIMIT 3) AS s",
            "SELECT COUNT(*) FROM (SELECT b FROM t ORDER BY k LIMIT 3) AS s",
        ),
        (
            "SELECT k FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.b = t.a LIMIT 1)",
            "SELECT k FROM t WHERE a IN (SELECT b FROM u)",
        ),
        ("SELECT (SELECT a FROM t WHERE a IS NOT NULL ORDER BY a DESC LIMIT 1)", "SELECT MAX(a) FROM t"),
        ("SELECT k, a FROM t ORDER BY k LIMIT 1", "SELECT k, a FROM t WHERE k = (SELECT MIN(k) FROM t)"),
        (
            "SELECT t.k, s.k FROM t LEFT JOIN LATERAL (SELECT k FROM u WHERE u.b = t.a ORDER BY k LIMIT 1) AS s ON TRUE",
            "SELECT k, (SELECT MIN(k) FROM u WHERE u.b = t.a) FROM t",
        ),
        (
            "SELECT t.k, u.b FROM t LEFT JOIN u ON t.a = u.k ORDER BY t.k LIMIT 3",
            "SELECT s.k, u.b FROM (SELECT k, a FROM t ORDER BY k LIMIT 3) AS s LEFT JOIN u ON s.a = u.k",
        ),
    ] {
        assert!(proven(schema, left, right), "{left}\n{right}");
    }
}

#[test]
fn a_sum_of_doubles_is_the_same_from_both_sides_and_nothing_more() {
    let schema = "CREATE TABLE t(e DOUBLE PRECISION, f DOUBLE PRECISION, g DOUBLE PRECISION)";
    for op in ["+", "*"] {
        let value = |text: &str| format!("SELECT {} FROM t", text.replace('~', op));
        assert!(proven(schema, &value("e ~ f"), &value("f ~ e")));
        assert!(proven(schema, &value("SUM((e ~ 2.5) ~ f)"), &value("SUM(f ~ (2.5 ~ e))")));
        never_proven(schema, &value("(e ~ f) ~ g"), &value("e ~ (f ~ g)"));
        never_proven(schema, &value("(e ~ f) ~ g"), &value("(g ~ f) ~ e"));
    }
    never_proven(schema, "SELECT e - f FROM t", "SELECT f - e FROM t");
    never_proven(schema, "SELECT e / f FROM t", "SELECT f / e FROM t");
}

#[test]
fn a_quotient_of_null_is_null_and_one_by_zero_is_anything() {
    let schema = "CREATE TABLE t(k INT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL); CREATE TABLE u(b INT NOT NULL)";
    let join = |kind: &str, condition: &str| format!("SELECT t.k FROM t {kind} JOIN u ON t.k = u.b WHERE {condition}");
    assert!(proven(schema, &join("LEFT", "t.a / u.b > 5"), &join("", "t.a / u.b > 5")));
    never_proven(schema, &join("LEFT", "u.b / t.a IS NULL"), &join("LEFT", "u.b IS NULL"));
    never_proven(schema, "SELECT k FROM t WHERE a / b IS NULL", "SELECT k FROM t WHERE FALSE");
}

#[test]
fn a_function_named_like_an_operator_is_none() {
    let schema = "CREATE TABLE t(k INT PRIMARY KEY, s TEXT, r TEXT, d DATE, e DATE)";
    for name in ["add", "mul", "ADD", "\"ADD\"", "\"MUL\"", "div", "\"DIV\""] {
        for (a, b) in [("s", "r"), ("d", "e")] {
            let call = |x: &str, y: &str| format!("SELECT {name}({x}, {y}) FROM t");
            never_proven_or_read(schema, &call(a, b), &call(b, a));
            let null =
                |kind: &str| format!("SELECT t.k FROM t {kind} JOIN t AS u ON u.s = t.r WHERE {name}(t.s, u.s) = 'x'");
            never_proven_or_read(schema, &null("LEFT"), &null(""));
        }
    }
}

#[test]
fn a_float_of_32_bits_is_not_computed_with_as_one_of_64() {
    let alone = "CREATE TABLE t(k INT PRIMARY KEY, a INT, f REAL, g FLOAT)";
    let both = "CREATE TABLE t(k INT PRIMARY KEY, a INT, f REAL, d DOUBLE PRECISION)";
    for (left, right) in [
        ("SELECT f * f FROM t WHERE f = a", "SELECT f * a FROM t WHERE f = a"),
        ("SELECT CAST(f AS TEXT) FROM t WHERE f = a", "SELECT CAST(a AS TEXT) FROM t WHERE f = a"),
        ("SELECT SUM(f) FROM t WHERE f = a", "SELECT SUM(CAST(a AS DOUBLE PRECISION)) FROM t WHERE f = a"),
    ] {
        never_proven_or_read(alone, left, right);
    }
    assert!(lower::schema(both, &BTreeMap::new()).is_err(), "where the two meet, one is rounded");
    let doubles = lower::schema("CREATE TABLE t(d DOUBLE PRECISION)", &BTreeMap::new()).expect("a schema");
    assert!(lower::query(&doubles, "SELECT d FROM t WHERE CAST(d AS REAL) = d").is_err());
    assert!(lower::query(&doubles, "SELECT CAST(d AS DOUBLE PRECISION) FROM t").is_ok());
    assert!(proven(alone, "SELECT f FROM t WHERE f > 1", "SELECT f FROM t WHERE 1 < f"));
    assert!(proven(alone, "SELECT MAX(f), COUNT(f) FROM t", "SELECT MAX(f), COUNT(f) FROM t WHERE f IS NOT NULL"));
}

#[test]
fn rows_of_two_sides_of_a_union_may_tie() {
    let schema = "CREATE TABLE t(k INT PRIMARY KEY, a INT, b INT)";
    let both = |second: &str| {
        format!("SELECT k, a FROM (SELECT k, a FROM t UNION ALL SELECT k, b FROM t{second}) AS s ORDER BY k LIMIT 1")
    };
    never_proven(schema, &both(""), &both(""));
    let apart = "SELECT k, a FROM (SELECT k, a FROM t WHERE a = 1 UNION ALL SELECT k, b FROM t WHERE a <> 1) AS s ORDER BY k LIMIT 1";
    assert!(proven(schema, apart, &apart.replace("a <> 1", "NOT a = 1")));
}

#[test]
fn expressions_written_in_two_ways_are_two_keys_of_grouping_sets() {
    let schema = "CREATE TABLE t(a INT, d INT)";
    let sets = |other: &str| {
        format!("SELECT NULLIF(a, 1), d, COUNT(*) FROM t GROUP BY GROUPING SETS ((NULLIF(a, 1), d), ({other}), ())")
    };
    never_proven_or_read(schema, &sets("NULLIF(a, 1)"), &sets("CASE WHEN a = 1 THEN NULL ELSE a END"));
    // What is written otherwise than a key is computed from the keys in it.
    let item = |item: &str| format!("SELECT {item}, COUNT(*) FROM t GROUP BY GROUPING SETS ((NULLIF(a, 1), a), (a))");
    never_proven_or_read(schema, &item("NULLIF(a, 1)"), &item("CASE WHEN a = 1 THEN NULL ELSE a END"));
    let columns = "SELECT a, d, COUNT(*) FROM t GROUP BY GROUPING SETS ((a, d), (a))";
    assert!(proven(schema, columns, &columns.replace("(a, d), (a)", "(t.a, t.d), (t.a)")));
}

#[test]
fn frames_and_recursions_that_differ_are_told_apart() {
    for line in include_str!("pairs/windows-and-recursion.jsonl").lines() {
        let pair: serde_json::Value = serde_json::from_str(line).expect(line);
        let text = |name: &str| pair[name].as_str().expect(name);
        if text("expected") == "neq" {
            never_proven(text("schema"), text("q1"), text("q2"));
        }
    }
}

#[test]
fn a_frame_of_rows_that_tie_means_nothing() {
    let schema = "CREATE TABLE t(a INT, b INT, k INT NOT NULL PRIMARY KEY)";
    let over = |order: &str| {
        format!("SELECT a, SUM(b) OVER (ORDER BY {order} ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t")
    };
    never_proven(schema, &over("a"), &over("a"));
    assert!(proven(schema, &over("k"), &over("k")));
    never_proven(schema, &over("a"), &over("a, k"));
    let union = "SELECT SUM(x.b) OVER (ORDER BY x.k ROWS UNBOUNDED PRECEDING) FROM (SELECT b, k FROM t UNION ALL SELECT b, k FROM t) AS x";
    never_proven(schema, union, union);
}
