//! Pairs that differ by the types of values, by what engines make of a function or by how they read a text: no proof may
//! rest on these, unless it says so and no engine that differs grants it.

#![cfg(feature = "solver")]

use std::collections::{BTreeMap, BTreeSet};

use prover::ir::Assumption;
use prover::{Limits, Pair, Verdict, decide, lower, prove_only, refute_only};

const SCHEMA: &str = "CREATE TABLE t(a INT, b INT, c TEXT); CREATE TABLE u(x INT, y INT); \
    CREATE TABLE d(k INT, m DECIMAL(10,2), f DOUBLE PRECISION, dt DATE, ts TIMESTAMP, big BIGINT, iv INTERVAL)";

/// What a proof by the prover alone takes for granted; `None` without a proof, or if a text is refused.
fn proof(schema: &str, left: &str, right: &str) -> Option<BTreeSet<Assumption>> {
    let schema = lower::schema(schema, &BTreeMap::new()).expect("a schema");
    let left = lower::query(&schema, left).ok()?;
    let right = lower::query(&schema, right).ok()?;
    match prove_only(&schema, &left, &right, &Limits::default()).verdict {
        Verdict::Proven(certificate) => Some(certificate.assumptions),
        _ => None,
    }
}

#[track_caller]
fn never_proven(pairs: &[(&str, &str)]) {
    for (left, right) in pairs {
        for (left, right) in [(left, right), (right, left)] {
            assert_eq!(proof(SCHEMA, left, right), None, "proven, although they differ:\n{left}\n{right}");
        }
    }
}

/// Neither query is refused, so that it is the proof that fails.
#[track_caller]
fn read_and_never_proven(pairs: &[(&str, &str)]) {
    let schema = lower::schema(SCHEMA, &BTreeMap::new()).expect("a schema");
    for text in pairs.iter().flat_map(|(left, right)| [left, right]) {
        assert!(lower::query(&schema, text).is_ok(), "{text}: {:?}", lower::query(&schema, text));
    }
    never_proven(pairs);
}

#[track_caller]
fn proven_under(left: &str, right: &str, assumption: Assumption) {
    let proof = proof(SCHEMA, left, right).unwrap_or_else(|| panic!("not proven:\n{left}\n{right}"));
    assert!(proof.contains(&assumption), "{assumption} is not said: {proof:?}\n{left}\n{right}");
}

#[track_caller]
fn refused(text: &str, why: &str) {
    let schema = lower::schema(SCHEMA, &BTreeMap::new()).expect("a schema");
    let error = lower::query(&schema, text).expect_err(text).to_string();
    assert!(error.contains(why), "{text}: {error}");
}

#[test]
fn a_quotient_of_whole_numbers_is_whole_in_some_engines_wherever_it_stands() {
    read_and_never_proven(&[
        ("SELECT a/60/60 FROM t", "SELECT a/60/60.0 FROM t"),
        ("SELECT SUM(a)/COUNT(*)/12 FROM t", "SELECT SUM(a)/COUNT(*)/12.0 FROM t"),
        ("SELECT COALESCE(a/2,0)/3 FROM t", "SELECT COALESCE(a/2,0.0)/3 FROM t"),
        ("SELECT 7/(a/2) FROM t", "SELECT 7.0/(a/2) FROM t"),
        ("SELECT (SELECT MAX(x/2) FROM u)/3 FROM t", "SELECT (SELECT MAX(x/2+0.0) FROM u)/3 FROM t"),
        ("SELECT v/2 FROM (SELECT a AS v FROM t) z", "SELECT v/2 FROM (SELECT a*1.0 AS v FROM t) z"),
        (
            "SELECT v/2 FROM (SELECT a AS v FROM t UNION ALL SELECT b FROM t) z",
            "SELECT v/2 FROM (SELECT a AS v FROM t UNION ALL SELECT b*1.0 FROM t) z",
        ),
        ("SELECT a % 2 / 2 FROM t", "SELECT a % 2 / 2.0 FROM t"),
    ]);
}

#[test]
fn the_sum_of_long_numbers_divides_as_a_decimal_in_postgresql() {
    read_and_never_proven(&[
        (
            "SELECT SUM(s)/SUM(c) FROM (SELECT SUM(b) AS s, COUNT(b) AS c FROM t GROUP BY a) z",
            "SELECT SUM(b)/COUNT(b) FROM t",
        ),
        ("SELECT SUM(CAST(k AS BIGINT))/2 FROM d", "SELECT SUM(k)/2 FROM d"),
        ("SELECT SUM(big)/2 FROM d WHERE big = k", "SELECT SUM(k)/2 FROM d WHERE big = k"),
        ("SELECT SUM(3000000000 * a)/2 FROM t", "SELECT SUM(a)*3000000000/2 FROM t"),
    ]);
    assert!(
        proof(SCHEMA, "SELECT SUM(s) FROM (SELECT SUM(b) AS s FROM t GROUP BY a) z", "SELECT SUM(b) FROM t").is_some()
    );
}

#[test]
fn nullif_may_have_the_type_of_the_comparison() {
    read_and_never_proven(&[
        ("SELECT a/NULLIF(b,0.0) FROM t", "SELECT a/NULLIF(b,0) FROM t"),
        (
            "SELECT COUNT(DISTINCT NULLIF(big,f)) FROM d WHERE f IS NULL",
            "SELECT COUNT(DISTINCT big) FROM d WHERE f IS NULL",
        ),
        ("SELECT NULLIF(a,2.5)/2 FROM t", "SELECT a/2 FROM t"),
        ("SELECT CASE WHEN a=0.0 THEN NULL ELSE a END/2 FROM t", "SELECT NULLIF(a,0.0)/2 FROM t"),
    ]);
    let same = proof(SCHEMA, "SELECT NULLIF(a,b) FROM t", "SELECT CASE WHEN a=b THEN NULL ELSE a END FROM t");
    assert!(same.is_some());
}

#[test]
fn functions_of_whole_numbers_need_not_be_whole() {
    read_and_never_proven(&[
        ("SELECT (EXTRACT(MONTH FROM dt)+2)/3 FROM d", "SELECT (CAST(EXTRACT(MONTH FROM dt) AS INT)+2)/3 FROM d"),
        ("SELECT SIGN(k)/2 FROM d", "SELECT CAST(SIGN(k) AS INT)/2 FROM d"),
        ("SELECT FLOOR(k)/2 FROM d", "SELECT CAST(FLOOR(k) AS INT)/2 FROM d"),
        ("SELECT CEIL(k)/2 FROM d", "SELECT CAST(CEIL(k) AS INT)/2 FROM d"),
        ("SELECT ROUND(k)/2 FROM d", "SELECT CAST(ROUND(k) AS INT)/2 FROM d"),
        ("SELECT TRUNC(k)/2 FROM d", "SELECT CAST(TRUNC(k) AS INT)/2 FROM d"),
        // A double is rounded to even in PostgreSQL.
        ("SELECT ROUND(f) FROM d WHERE f = 2.5", "SELECT ROUND(2.5) FROM d WHERE f = 2.5"),
    ]);
    // The value itself is whole.
    let whole =
        proof(SCHEMA, "SELECT CAST(EXTRACT(YEAR FROM dt) AS INT) FROM d", "SELECT EXTRACT(YEAR FROM dt) FROM d");
    assert!(whole.is_some());
}

#[test]
fn adjacent_literals_are_not_a_literal_and_its_alias() {
    for text in [
        "SELECT 'a'\n'b' FROM t",
        "SELECT 'a' 'b' FROM t",
        "SELECT 'a' -- x\n 'b' FROM t",
        "SELECT 'a' /* x */ 'b' FROM t",
        "SELECT a FROM t WHERE c LIKE 'a'\n'%'",
        "SELECT 'a' \"b\" FROM t",
    ] {
        refused(text, "adjacent literals");
    }
    assert!(proof(SCHEMA, "SELECT 'a' AS b FROM t", "SELECT 'a' AS \"b\" FROM t").is_some());
}

#[test]
fn unknown_functions_are_refused() {
    for function in [
        "json_array_elements(c)",
        "regexp_matches(c, 'a', 'g')",
        "string_to_table(c, ',')",
        "MEAN(a)",
        "my_aggregate(a)",
        "uuidv7()",
        "generate_series(1, a)",
    ] {
        refused(&format!("SELECT {function} FROM t"), "the function");
    }
}

#[test]
fn sums_of_doubles_depend_on_the_order() {
    let halves = "(SELECT f FROM d WHERE k=2 UNION ALL SELECT f FROM d WHERE k=1) z";
    for function in ["SUM", "AVG", "STDDEV_POP"] {
        let whole = format!("SELECT {function}(f) FROM d WHERE k IN (1,2)");
        proven_under(&whole, &format!("SELECT {function}(f) FROM {halves}"), Assumption::DoubleSumsIgnoreOrder);
    }
    let exact = proof(SCHEMA, "SELECT SUM(k) FROM d", "SELECT SUM(k) FROM d WHERE TRUE").expect("a proof");
    assert!(!exact.contains(&Assumption::DoubleSumsIgnoreOrder));
}

#[test]
fn a_literal_with_an_exponent_is_no_double_everywhere() {
    never_proven(&[
        ("SELECT 9007199254740993 = 9007199254740992e0", "SELECT TRUE"),
        ("SELECT a/2e0 FROM t", "SELECT a/2 FROM t"),
        ("SELECT 1e-1 = 0.1", "SELECT TRUE"),
    ]);
    assert!(proof(SCHEMA, "SELECT f > 1e0 FROM d", "SELECT f > 1.0 FROM d").is_some());
}

#[test]
fn a_list_with_a_double_may_be_compared_as_doubles() {
    never_proven(&[
        (
            "SELECT k FROM d WHERE big IN (9007199254740993, CAST(1 AS DOUBLE PRECISION))",
            "SELECT k FROM d WHERE big = 9007199254740993 OR big = CAST(1 AS DOUBLE PRECISION)",
        ),
        (
            "SELECT k FROM d WHERE big BETWEEN 9007199254740993 AND f",
            "SELECT k FROM d WHERE big >= 9007199254740993 AND big <= f",
        ),
    ]);
}

#[test]
fn casts_with_a_size_cut_unless_assumed_not_to() {
    proven_under("SELECT CAST(c AS VARCHAR(3)) FROM t", "SELECT c FROM t", Assumption::CastsKeepValues);
    proven_under("SELECT CAST(k AS DECIMAL(3,1)) FROM d", "SELECT k FROM d", Assumption::CastsKeepValues);
    let plain = proof(SCHEMA, "SELECT CAST(c AS TEXT) FROM t", "SELECT c FROM t").expect("a proof");
    assert!(!plain.contains(&Assumption::CastsKeepValues), "{plain:?}");
}

#[test]
fn sqlite_s_values_have_types_of_their_own() {
    proven_under("SELECT CAST(a AS BOOLEAN) FROM t", "SELECT a <> 0 FROM t", Assumption::StaticTypes);
    proven_under("SELECT CAST(a AS NUMERIC)/2 FROM t", "SELECT a/2.0 FROM t", Assumption::StaticTypes);
    proven_under(
        "SELECT CAST('2020-01-01' AS DATE) FROM t",
        "SELECT DATE '2020-01-01' FROM t",
        Assumption::StaticTypes,
    );
    let whole = proof(SCHEMA, "SELECT a/2 FROM t", "SELECT a/2 FROM t WHERE TRUE").expect("a proof");
    assert!(!whole.contains(&Assumption::StaticTypes), "{whole:?}");
}

#[test]
fn a_primary_key_may_hold_null_unless_declared_not_to() {
    let proof = |key: &str| {
        let schema = format!("CREATE TABLE r(id {key}, p INT)");
        assumed(&schema, "SELECT id FROM r WHERE id IS NOT NULL", "SELECT id FROM r")
    };
    assert!(proof("INT PRIMARY KEY").contains(&Assumption::PrimaryKeyNotNull));
    assert!(!proof("INT NOT NULL PRIMARY KEY").contains(&Assumption::PrimaryKeyNotNull));
}

fn assumed(schema: &str, left: &str, right: &str) -> BTreeSet<Assumption> {
    proof(schema, left, right).expect("a proof")
}

#[test]
fn a_named_query_may_see_later_ones() {
    refused("WITH z AS (SELECT x FROM u), u AS (SELECT 1 AS x) SELECT x FROM z", "the same WITH");
    refused("WITH u AS (SELECT x FROM u UNION ALL SELECT 1) SELECT x FROM u", "the same WITH");
    assert!(proof(SCHEMA, "WITH u AS (SELECT x FROM u) SELECT x FROM u", "SELECT x FROM u").is_some());
}

#[test]
fn a_moved_date_may_be_a_timestamp() {
    never_proven(&[
        (
            "SELECT CAST(dt AS TEXT) FROM d UNION ALL SELECT CAST(dt + INTERVAL '1' DAY AS TEXT) FROM d",
            "SELECT CAST(v AS TEXT) FROM (SELECT dt AS v FROM d UNION ALL SELECT dt + INTERVAL '1' DAY FROM d) z",
        ),
        (
            "SELECT CAST(dt AS TEXT) FROM d WHERE dt = dt + INTERVAL '0' DAY",
            "SELECT CAST(dt + INTERVAL '0' DAY AS TEXT) FROM d WHERE dt = dt + INTERVAL '0' DAY",
        ),
    ]);
}

#[test]
fn equal_intervals_need_not_be_the_same() {
    proven_under(
        "SELECT DISTINCT dt + iv FROM (SELECT DISTINCT dt, iv FROM d) z",
        "SELECT DISTINCT dt + iv FROM d",
        Assumption::OtherEqualityIsIdentity,
    );
}

#[test]
fn bars_and_double_quotes_have_other_meanings_in_mysql() {
    proven_under("SELECT c || 'x' FROM t", "SELECT c || 'x' FROM t WHERE TRUE", Assumption::StandardSpelling);
    proven_under("SELECT \"c\" FROM t", "SELECT c FROM t", Assumption::StandardSpelling);
}

#[test]
fn witnesses_keep_to_the_sizes_of_columns() {
    let schema = "CREATE TABLE s(c VARCHAR(3), v SMALLINT, m DECIMAL(4,1))";
    let schema = lower::schema(schema, &BTreeMap::new()).expect("a schema");
    for (condition, differs) in [
        ("c = 'abcd'", false),
        ("c = 'abc'", true),
        ("v = 70000", false),
        ("v = 7000", true),
        ("m = 1.25", false),
        ("m = 12345", false),
        ("m = 1.5", true),
    ] {
        let [left, right] = [format!("SELECT v FROM s WHERE {condition}"), "SELECT v FROM s WHERE FALSE".to_owned()]
            .map(|text| lower::query(&schema, &text).expect("a query"));
        let verdict = refute_only(&schema, &left, &right, &Limits::default()).verdict;
        assert_eq!(matches!(verdict, Verdict::Refuted(_)), differs, "{condition}: {verdict:?}");
    }
}

#[test]
fn deep_texts_and_large_copies_are_refused_as_such() {
    let nots = "NOT ".repeat(100);
    refused(&format!("SELECT a FROM t WHERE {nots} TRUE"), "nested too deeply");
    let doubled: Vec<String> =
        (1..40).map(|n| format!("c{n} AS (SELECT l.x FROM c{0} AS l, c{0} AS r)", n - 1)).collect();
    let text = format!("WITH c0 AS (SELECT x FROM u), {} SELECT x FROM c39", doubled.join(", "));
    refused(&text, "copies are so large");
}

#[test]
fn a_constraint_that_is_left_out_refutes_nothing() {
    let pair = |parent: &str| {
        let schema = format!("CREATE TABLE p(k {parent} PRIMARY KEY); CREATE TABLE t(a INT REFERENCES p(k))");
        let schema = lower::schema(&schema, &BTreeMap::new()).expect("a schema");
        let left = lower::query(&schema, "SELECT t.a FROM t JOIN p ON t.a = p.k").expect("a query");
        let right = lower::query(&schema, "SELECT a FROM t WHERE a IS NOT NULL").expect("a query");
        decide(&schema, &left, &right, &Limits::default())
    };
    assert!(matches!(pair("INT").verdict, Verdict::Proven(_)));
    // The witness would have a row of t without its row of p.
    assert!(matches!(pair("NUMERIC").verdict, Verdict::Unknown(_)));
}

#[test]
fn names_that_some_engines_tell_apart_are_refused() {
    refused("SELECT 1 FROM t a WHERE EXISTS (SELECT 1 FROM t A WHERE a.a = 1)", "differ in case only");
    refused("WITH \"T\" AS (SELECT 5 AS a) SELECT a FROM t", "the quoted name \"T\"");
    assert!(lower::schema("CREATE TABLE u(\"A\" INT)", &BTreeMap::new()).is_err());
    // SQLite takes the literal for the column with another name.
    let schema = "CREATE TABLE s(n INT, date DATE, timestamp TIMESTAMP)";
    let schema = lower::schema(schema, &BTreeMap::new()).expect("a schema");
    for literal in ["N'ab'", "DATE '2020-01-01'", "TIMESTAMP '2020-01-01 00:00:00'"] {
        let error = lower::query(&schema, &format!("SELECT {literal} FROM s")).expect_err(literal).to_string();
        assert!(error.contains("beside a column of that name"), "{literal}: {error}");
    }
    refused("SELECT DATE '2020-01-01' FROM (SELECT k AS date FROM d) q", "beside a column of that name");
}

#[test]
fn a_constant_date_that_is_moved_is_no_date() {
    read_and_never_proven(&[
        ("SELECT DATE '2020-01-31' + INTERVAL '1' DAY FROM t", "SELECT '2020-02-01' FROM t"),
        ("SELECT DATE '2020-01-31' + INTERVAL '1' DAY FROM t", "SELECT DATE '2020-02-01' FROM t"),
        (
            "SELECT q.x FROM (SELECT DATE '2020-01-31' + INTERVAL '1' DAY AS x FROM t UNION SELECT DATE '2020-02-01' FROM t) q",
            "SELECT DISTINCT '2020-02-01' FROM t",
        ),
    ]);
    // Where it is compared, it is what the calendar says.
    let moved = "SELECT a FROM t, d WHERE dt < DATE '2020-01-31' + INTERVAL '1' DAY";
    assert!(proof(SCHEMA, moved, "SELECT a FROM t, d WHERE dt < DATE '2020-02-01'").is_some());
}

#[test]
fn a_computed_constant_may_be_a_decimal_when_it_is_negated() {
    refused("SELECT -CAST(-1 AS BIGINT) FROM t", "- of a negative whole constant");
    refused("SELECT -(1 - 2) FROM t", "- of a whole constant that is computed");
    assert!(proof(SCHEMA, "SELECT -CAST(a AS BIGINT) FROM t", "SELECT -CAST(a AS BIGINT) FROM t WHERE TRUE").is_some());
}

#[test]
fn a_function_that_a_later_version_has_otherwise_has_no_known_type() {
    read_and_never_proven(&[
        (
            "SELECT CAST(DATE_ADD(ts, INTERVAL '1' DAY) AS TIMESTAMP) FROM d",
            "SELECT DATE_ADD(ts, INTERVAL '1' DAY) FROM d",
        ),
        ("SELECT CAST(CRC32(c) AS INT) FROM t", "SELECT CRC32(c) FROM t"),
    ]);
}

#[test]
fn a_bare_null_has_no_type_to_compute_with() {
    refused("SELECT COALESCE(-NULL, a)/2 FROM t", "arithmetic on a value of unknown type");
    refused("SELECT COALESCE(+NULL, a)/2 FROM t", "arithmetic on a value of unknown type");
    refused("SELECT NULL + NULL FROM t", "arithmetic on a value of unknown type");
    refused("SELECT COALESCE(AVG(NULL), 1)/2 FROM t", "avg of a bare NULL");
    let of_a_column = "SELECT SUM(u) FROM (SELECT NULL AS u FROM t) z";
    assert!(proof(SCHEMA, of_a_column, &format!("{of_a_column} WHERE TRUE")).is_some());
    // A double in MariaDB.
    read_and_never_proven(&[(
        "SELECT COALESCE((SELECT SUM(NULL) FROM t), big)/2 FROM d",
        "SELECT COALESCE(CAST(NULL AS BIGINT), big)/2 FROM d",
    )]);
    refused("SELECT GREATEST(NULL, a)/2 FROM t", "greatest of a bare NULL");
    refused("SELECT NVL2(c, NULL, 1e0) FROM t", "nvl2 of a bare NULL");
    refused("SELECT NULL || NULL FROM t", "|| of bare NULLs");
    refused("SELECT COALESCE(NULLIF(NULL, 2.5), 3)/2 FROM t", "nullif of a bare NULL");
    refused("SELECT COALESCE(1, r.q)/2 FROM (SELECT NULL AS q FROM t) AS r", "a column of bare NULLs");
    assert!(proof(SCHEMA, "SELECT a + NULL FROM t", "SELECT NULL FROM t").is_some());
    // A double in MariaDB, to which the others are rounded.
    read_and_never_proven(&[
        ("SELECT COALESCE(0 - NULL, big) FROM d", "SELECT big FROM d"),
        ("SELECT COALESCE(NULL * 2, big)/2 FROM d", "SELECT big/2 FROM d"),
    ]);
}

#[test]
fn a_text_beside_a_date_stays_one_in_some_engines() {
    for text in [
        "SELECT COALESCE(dt, '2020-2-29') FROM d",
        "SELECT CASE WHEN k = 1 THEN dt ELSE '2020-02-29' END FROM d",
        "SELECT GREATEST('2020-2-29', dt) FROM d",
        "SELECT NULLIF('2020-2-29', dt) FROM d",
        "SELECT dt FROM d UNION SELECT '2020-02-29'",
        "SELECT * FROM (VALUES (DATE '2020-02-29'), ('2020-2-29')) AS v(x)",
    ] {
        refused(text, "a DATE or a text");
    }
    // Compared with a date, it is one everywhere.
    assert!(
        proof(SCHEMA, "SELECT k FROM d WHERE dt = '2020-02-29'", "SELECT k FROM d WHERE '2020-02-29' = dt").is_some()
    );
}

#[test]
fn a_cast_beside_a_double_is_not_undone() {
    read_and_never_proven(&[
        ("SELECT COALESCE(CAST(2.5e0 AS BIGINT), f) FROM d", "SELECT COALESCE(2.5e0, f) FROM d"),
        ("SELECT f > CAST(2.5e0 AS BIGINT) FROM d", "SELECT f > 2.5e0 FROM d"),
    ]);
}

#[test]
fn sqlite_goes_by_the_letters_of_a_type() {
    for (cast, other) in [
        ("CAST(2.5 AS SIGNED)", "CAST(2.5 AS BIGINT)"),
        ("CAST(2.5 AS UNSIGNED)", "CAST(2.5 AS BIGINT UNSIGNED)"),
        ("CAST('a' AS STRING)", "'a'"),
    ] {
        proven_under(&format!("SELECT {cast} FROM t"), &format!("SELECT {other} FROM t"), Assumption::StaticTypes);
    }
    let plain = proof(SCHEMA, "SELECT CAST(c AS INTEGER) FROM t", "SELECT CAST(c AS INTEGER) FROM t WHERE TRUE");
    assert!(!plain.expect("a proof").contains(&Assumption::StaticTypes));
}

#[test]
fn sqlite_leaves_a_whole_number_beside_a_double() {
    proven_under(
        "SELECT COALESCE(f, 9007199254740993) FROM d",
        "SELECT COALESCE(f, 9007199254740992) FROM d",
        Assumption::StaticTypes,
    );
}

#[test]
fn case_of_letters_is_not_that_of_bytes() {
    // In MariaDB UPPER of what is no text is a string of bytes, which UPPER leaves alone.
    for of in ["NULL", "b = 1"] {
        let text = format!("SELECT UPPER({of}) FROM t");
        proven_under(&text, &format!("{text} WHERE TRUE"), Assumption::NoRuntimeError);
    }
    let text = proof(SCHEMA, "SELECT UPPER(c) FROM t", "SELECT UPPER(c) FROM t WHERE TRUE").expect("a proof");
    assert!(!text.contains(&Assumption::NoRuntimeError));
}

#[test]
fn a_declared_function_is_one_of_values() {
    let proof = |functions: &[&str], left: &str, right: &str| {
        let pair = Pair {
            schema: SCHEMA.into(),
            q1: left.into(),
            q2: right.into(),
            functions: functions.iter().map(|name| (*name).to_owned()).collect(),
            ..Pair::default()
        };
        let (schema, left, right) = pair.read().map_err(|reason| reason.to_string())?;
        Ok(match prove_only(&schema, &left, &right, &Limits::default()).verdict {
            Verdict::Proven(certificate) => Some(certificate.assumptions),
            _ => None,
        })
    };
    let calls = ("SELECT Area(a, b) FROM t WHERE TRUE", "SELECT area(t.a, t.b) FROM t");
    let unknown: Result<_, String> = proof(&[], calls.0, calls.1);
    assert!(unknown.expect_err("refused").contains("the function area"));
    let declared = proof(&["AREA"], calls.0, calls.1).expect("read").expect("a proof");
    assert!(declared.contains(&Assumption::FunctionsAreDeterministic), "{declared:?}");
    assert_eq!(proof(&["area"], calls.0, "SELECT area(b, a) FROM t"), Ok(None));
    let condition = proof(&["area"], "SELECT a FROM t WHERE area(a)", "SELECT a FROM t WHERE area(a) AND area(a)");
    assert!(condition.expect("read").expect("a proof").contains(&Assumption::FunctionsAreDeterministic));
    // The name of an operator inside the prover is none outside.
    assert_eq!(proof(&["concat_op"], "SELECT concat_op(c, c) FROM t", "SELECT c || c FROM t"), Ok(None));
    // What is known stays what it is.
    assert_eq!(proof(&["abs", "sum"], "SELECT abs(a) FROM t", "SELECT sum(a) FROM t"), Ok(None));
}

#[test]
fn not_distinct_from_true_is_another_operator_in_sqlite() {
    refused("SELECT a IS NOT DISTINCT FROM TRUE FROM t", "distinct from TRUE");
    refused("SELECT a IS DISTINCT FROM (FALSE) FROM t", "distinct from TRUE");
    assert!(
        proof(SCHEMA, "SELECT (a = 1) IS NOT DISTINCT FROM TRUE FROM t", "SELECT (a = 1) IS TRUE FROM t").is_some()
    );
}

#[test]
fn what_has_no_sign_makes_a_decimal_of_what_it_meets() {
    let [left, right] = ["SELECT CAST(NULL AS UNSIGNED) FROM t", "SELECT NULL FROM t"];
    proven_under(left, right, Assumption::NoRuntimeError);
    let truth = "SELECT COALESCE(CAST(a = 1 AS UNSIGNED), a) FROM t";
    proven_under(truth, &format!("{truth} WHERE TRUE"), Assumption::NoRuntimeError);
}

#[test]
fn a_sign_belongs_to_the_number_after_it() {
    // An integer in PostgreSQL, whose sum is a bigint, where that of a bigint is a decimal.
    read_and_never_proven(&[(
        "SELECT SUM(-2147483648)/2 FROM t",
        "SELECT SUM(CAST(a AS BIGINT))/2 FROM t WHERE a = -2147483648",
    )]);
    let least = proof(SCHEMA, "SELECT SUM(-2147483648)/3 FROM t", "SELECT SUM(-2147483647 - 1)/3 FROM t");
    assert!(least.is_some());
    refused("SELECT -CAST(NULL AS DATE) FROM d", "- of DATE");
}
