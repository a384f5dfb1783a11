//! What a mutated query returns is related to what the query returns, as the mutation predicts.

use crate::support::{Caqtus, engines};
use serde_json::json;
use std::path::Path;
use std::process::Command;

#[test]
fn a_row_too_many_and_a_value_too_small_are_found_and_explained() {
    let caqtus = Caqtus::new();
    for (fault, words) in [("row-too-many", "mutator conjunct"), ("value-too-small", "mutator plus")] {
        let found = caqtus.planted(fault, "approx", &["--class", "norec-*", "--cases", "3000"]);
        let script = &found.script;
        assert!(script.contains(words) && script.contains(" became "), "{script}");
        found.shows_there_alone();
    }
}

#[test]
fn most_forms_run_on_every_engine() {
    let caqtus = Caqtus::new();
    let data = engines::data_dir().display().to_string();
    let names = ["duckdb@1.4.5", "postgres@15.18", "postgres@18.4", "mariadb@10.11.5"];
    let others = names.into_iter().filter_map(engines::engine);
    for target in others.chain(["sqlite".to_owned()]) {
        let words = ["--dbms", &target, "--oracle", "approx", "--cases", "300", "--seed", "2", "--data-dir", &data];
        // An engine may have bugs that are not planted.
        let (code, json) = caqtus.hunt(&words);
        assert!(code == 0 || code == 1, "{target}: {json}");
        assert!(json["classes"].as_u64() > Some(200), "{target}: {json}");
        let (pass, cases) = (json["outcomes"]["pass"].as_u64(), json["cases"].as_u64());
        assert!(pass.zip(cases).is_some_and(|(pass, cases)| pass * 2 >= cases), "{target}: {json}");
    }
}

#[test]
fn generated_queries_alone_may_be_asked_for() {
    let words = ["--dbms", "sqlite", "--oracle", "approx", "--class", "generated", "--cases", "200", "--seed", "1"];
    let (code, json) = Caqtus::new().hunt(&words);
    assert!((code == 0 || code == 1) && json["classes"] == 1, "{json}");
    assert!(json["outcomes"]["pass"].as_u64() > Some(100), "{json}");
}

/// What a mutator claims, as queries that return nothing on any database.
fn claims() -> Vec<(String, String)> {
    let mut claims = Vec::new();
    // Of what returns rows: the first has no row that the second has not.
    for (mutator, first, second) in [
        ("union-all", "SELECT t.a FROM t UNION SELECT u.c FROM u", "SELECT t.a FROM t UNION ALL SELECT u.c FROM u"),
        ("except", "SELECT t.a FROM t EXCEPT SELECT u.c FROM u", "SELECT t.a FROM t"),
        ("except, all", "SELECT t.a FROM t EXCEPT ALL SELECT u.c FROM u", "SELECT t.a FROM t"),
        ("intersect", "SELECT t.a FROM t INTERSECT SELECT u.c FROM u", "SELECT t.a FROM t UNION SELECT u.c FROM u"),
        ("intersect-left", "SELECT t.a FROM t INTERSECT SELECT u.c FROM u", "SELECT t.a FROM t"),
        ("twice", "SELECT t.a FROM t", "SELECT t.a FROM t UNION ALL SELECT u.c FROM u"),
        ("distinct", "SELECT DISTINCT t.a FROM t", "SELECT t.a FROM t"),
        ("join", "SELECT t.a FROM t JOIN u ON t.a = u.c", "SELECT t.a FROM t LEFT JOIN u ON t.a = u.c"),
        ("join, full", "SELECT t.a FROM t LEFT JOIN u ON t.a = u.c", "SELECT t.a FROM t FULL JOIN u ON t.a = u.c"),
        // And some rules of how it goes on from there.
        (
            "in IN",
            "SELECT t.a FROM t WHERE t.a IN (SELECT u.c FROM u WHERE u.c > 0)",
            "SELECT t.a FROM t WHERE t.a IN (SELECT u.c FROM u)",
        ),
        (
            "in NOT IN",
            "SELECT t.a FROM t WHERE t.a NOT IN (SELECT u.c FROM u)",
            "SELECT t.a FROM t WHERE t.a NOT IN (SELECT u.c FROM u WHERE u.c > 0)",
        ),
        (
            "in EXISTS",
            "SELECT t.a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.c < t.a)",
            "SELECT t.a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.c <= t.a)",
        ),
        ("in HAVING", "SELECT t.a FROM t GROUP BY t.a HAVING COUNT(*) > 1", "SELECT t.a FROM t GROUP BY t.a"),
    ] {
        claims.push((mutator.to_owned(), format!("SELECT d.a FROM (({first}) EXCEPT ALL ({second})) AS d")));
    }
    // Of conditions: where the first is TRUE the second is, and where the second is FALSE the first is, as far as claimed.
    for (mutator, first, second, no) in [
        ("condition", "t.p", "TRUE", true),
        ("condition, under", "FALSE", "t.p", true),
        ("conjunct", "t.p AND t.q", "t.p", true),
        ("disjunct", "t.p", "t.p OR t.q", true),
        ("not-false", "t.p", "t.p IS NOT FALSE", true),
        ("or-equal", "t.a < t.b", "t.a <= t.b", true),
        ("equal", "t.a = t.b", "t.a <= t.b", true),
        ("unequal", "t.a < t.b", "t.a <> t.b", true),
        ("between", "t.a BETWEEN 0 AND t.b", "t.a >= 0", true),
        ("between, upper", "t.a BETWEEN 0 AND t.b", "t.a <= t.b", true),
        ("list", "t.a IN (0, 1)", "t.a IN (0, 1, 2)", true),
        ("plus", "t.a > t.b", "t.a + 1 > t.b", true),
        ("times", "t.a >= 0 AND t.a > t.b", "t.a >= 0 AND t.a * 2 > t.b", false),
    ] {
        let from = |condition: String| format!("SELECT t.a FROM t WHERE {condition}");
        claims.push((mutator.to_owned(), from(format!("({first}) AND ({second}) IS NOT TRUE"))));
        if no {
            claims.push((format!("{mutator}, FALSE"), from(format!("({second}) IS FALSE AND ({first}) IS NOT FALSE"))));
        }
    }
    // Of aggregates; what relates the others, LIKE and patterns is beyond the prover, not beyond its evaluator.
    let wrong = "SELECT t.a FROM t GROUP BY t.a HAVING MIN(t.b) > MAX(t.b)";
    claims.push(("min-max".to_owned(), wrong.to_owned()));
    claims
}

#[test]
fn what_the_prover_can_state_of_the_mutators_is_proven() {
    let caqtus = Caqtus::new();
    let schema = "CREATE TABLE t(a INT, b INT, p BOOLEAN, q BOOLEAN); CREATE TABLE u(c INT);";
    let nothing = "SELECT t.a FROM t WHERE FALSE";
    let wrong = ("wrong".to_owned(), "SELECT t.a FROM t WHERE (t.a <= t.b) AND (t.a < t.b) IS NOT TRUE".to_owned());
    let claims = [claims(), vec![wrong]].concat();
    let pair =
        |(id, query): &(String, String)| json!({"id": id, "schema": schema, "q1": query, "q2": nothing}).to_string();
    let pairs: Vec<String> = claims.iter().map(pair).collect();
    std::fs::write(caqtus.path("pairs.jsonl"), pairs.join("\n")).expect("writes");
    let program = Path::new(env!("CARGO_BIN_EXE_caqtus")).with_file_name("caqtus-prover");
    let mut prove = Command::new(program);
    let output = prove.args(["prove", "--ordered", "--pairs"]).arg(caqtus.path("pairs.jsonl")).output().expect("runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = text.lines().take(claims.len()).collect();
    assert_eq!(lines.len(), claims.len(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for ((id, query), line) in claims.iter().zip(lines) {
        let verdict = if id == "wrong" { "refuted" } else { "proven" };
        assert!(line.starts_with(verdict), "{query}: {line}");
    }
}
