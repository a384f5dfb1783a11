//! A class whose members are not equivalent shows within seconds on a right engine, so the shipped ones, which run for
//! hours without a report, are at least not wrong in any such way.

use crate::support::Caqtus;

/// Each of these looks right. The first two are the listings of the Argus paper's appendix C as printed.
pub(crate) const WRONG: &str = r#"
[[class]]
name = "wrong-tlp-precedence"
schema = "CREATE TABLE t1(c0 INT); CREATE TABLE t2(c0 INT)"
placeholders = { p1 = "Expr(t1: BOOLEAN)" }
members = [
  "SELECT t1.c0, t2.c0 FROM t1, t2",
  "SELECT t1.c0, t2.c0 FROM t1, t2 WHERE t1.p1 AND t2.c0 IS TRUE UNION ALL SELECT t1.c0, t2.c0 FROM t1, t2 WHERE t1.p1 AND t2.c0 IS FALSE UNION ALL SELECT t1.c0, t2.c0 FROM t1, t2 WHERE t1.p1 AND t2.c0 IS NULL",
]

[[class]]
name = "wrong-norec-sum-of-nothing"
schema = "CREATE TABLE t1(c0 INT)"
placeholders = { p1 = "Expr(t1: BOOLEAN)" }
members = [
  "SELECT COUNT(*) FROM t1 WHERE t1.p1",
  "SELECT SUM(s.cnt) FROM (SELECT (t1.p1) IS TRUE AS cnt FROM t1) AS s",
]

[[class]]
name = "wrong-not-in-null"
schema = "CREATE TABLE t1(c0 INT); CREATE TABLE t2(c0 INT)"
placeholders = { p1 = "Expr(t2: BOOLEAN)" }
members = [
  "SELECT t1.c0 FROM t1 WHERE t1.c0 NOT IN (SELECT t2.c0 FROM t2 WHERE t2.p1)",
  "SELECT t1.c0 FROM t1 WHERE NOT EXISTS (SELECT 1 FROM t2 WHERE t2.p1 AND t2.c0 = t1.c0)",
]

[[class]]
name = "wrong-semi-join"
schema = "CREATE TABLE t1(c0 INT); CREATE TABLE t2(c0 INT)"
placeholders = { p1 = "Expr(t2: INT)" }
members = [
  "SELECT t1.c0 FROM t1 WHERE t1.c0 IN (SELECT t2.p1 FROM t2)",
  "SELECT t1.c0 FROM t1 JOIN t2 ON t1.c0 = t2.p1",
]

[[class]]
name = "wrong-union"
schema = "CREATE TABLE t1(c0 INT)"
placeholders = { v1 = "Table(c0 INT)", p1 = "Expr(v1: BOOLEAN)" }
members = [
  "SELECT v1.c0 FROM v1 WHERE v1.p1 UNION SELECT t1.c0 FROM t1",
  "SELECT v1.c0 FROM v1 WHERE v1.p1 UNION ALL SELECT t1.c0 FROM t1",
]

[[class]]
name = "wrong-on-and-where"
schema = "CREATE TABLE t1(c0 INT); CREATE TABLE t2(c0 INT)"
placeholders = { p1 = "Expr(t2: BOOLEAN)" }
members = [
  "SELECT t1.c0, t2.c0 FROM t1 LEFT JOIN t2 ON t2.p1",
  "SELECT t1.c0, t2.c0 FROM t1 LEFT JOIN t2 ON TRUE WHERE t2.p1",
]
"#;

#[test]
fn every_wrong_class_is_reported() {
    let caqtus = Caqtus::new();
    std::fs::write(caqtus.path("wrong.toml"), WRONG).expect("writes");
    let (code, json) = caqtus.hunt(&["--catalogue", "wrong.toml", "--seed", "1", "--cases", "4000", "--out", "out"]);
    assert_eq!(code, 1);
    let bugs = json["bugs"].as_array().expect("bugs");
    let classes: Vec<&str> =
        bugs.iter().filter_map(|b| b["classes"].as_array()).flatten().filter_map(|c| c.as_str()).collect();
    for line in WRONG.lines().filter_map(|l| l.strip_prefix("name = ")) {
        assert!(classes.contains(&line.trim_matches('"')), "{line} is not reported: {classes:?}");
    }
}

/// The differences in the paper's appendix B come from snippets that break a constraint; the constraints keep them out.
#[test]
fn right_classes_with_demanding_placeholders_are_not_reported() {
    let caqtus = Caqtus::new();
    let text = r#"
[[class]]
name = "padded"
schema = "CREATE TABLE t1(c0 INT); CREATE TABLE t2(c0 INT, c1 TEXT)"
placeholders = { p1 = "Expr(t2: INT)", p2 = "Expr(t2: TEXT)", p3 = "Expr(t2: BOOLEAN)" }
members = [
  "SELECT t2.p1, t2.p2, t2.p3 FROM t1 LEFT JOIN t2 ON FALSE",
  "SELECT CAST(NULL AS INT), CAST(NULL AS TEXT), CAST(NULL AS INT) FROM t1",
]

[[class]]
name = "grouped"
schema = "CREATE TABLE t1(c0 INT, c1 TEXT)"
placeholders = { p1 = "Expr(t1: TEXT)", p2 = "Expr(t1: INT)" }
members = [
  "SELECT t1.p1, t1.p2, COUNT(*) FROM t1 GROUP BY t1.p1, t1.p2",
  "SELECT s.a, s.b, COUNT(*) FROM (SELECT t1.p1 AS a, t1.p2 AS b FROM t1) AS s GROUP BY s.a, s.b",
]

[[class]]
name = "exists-nothing"
schema = "CREATE TABLE t1(c0 INT)"
placeholders = { p1 = "Expr(t1: INT)" }
members = [
  "SELECT a.c0 FROM t1 AS a WHERE FALSE",
  "SELECT a.c0 FROM t1 AS a WHERE EXISTS (SELECT t1.p1 FROM t1 WHERE FALSE)",
]
"#;
    std::fs::write(caqtus.path("right.toml"), text).expect("writes");
    let (code, json) = caqtus.hunt(&["--catalogue", "right.toml", "--seed", "1", "--cases", "20000", "--out", "out"]);
    assert_eq!(code, 0, "{json}");
    assert!(json["outcomes"]["pass"].as_u64() > Some(19000), "{json}");
}
