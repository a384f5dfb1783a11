//! The program's verdicts on a few pairs, end to end: from SQL text to exit status.

#![cfg(feature = "solver")]

use std::process::{Command, Output};

use prover::Certificate;
use prover::wire::{Answer, Outcome};
use serde_json::{Value, json};

const SCHEMA: &str = "CREATE TABLE t(a INT, b INT NOT NULL);";
/// Equal to each other.
const EQUAL: [&str; 2] = ["SELECT a FROM t WHERE b = 1", "SELECT t.a FROM t WHERE t.b = 1 AND TRUE"];
/// Equal, but not without the solver.
const IN_PARTS: [&str; 2] =
    ["SELECT a + 1 FROM t", "SELECT 1 + a FROM t WHERE b > 1 UNION ALL SELECT a + 1 FROM t WHERE b <= 1"];
/// Different where `a` is NULL.
const DIFFERENT: [&str; 2] = ["SELECT b FROM t", "SELECT b FROM t WHERE a = a"];
/// Not determined.
const UNDETERMINED: [&str; 2] = ["SELECT a FROM t LIMIT 1", "SELECT a FROM t LIMIT 1"];

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_caqtus-prover")).args(arguments).output().expect("the program runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// An id, two queries and what is expected of them.
type Row = (&'static str, [&'static str; 2], &'static str);

/// A directory with the schema and a file of pairs; the names of both.
fn directory(rows: &[Row]) -> (tempfile::TempDir, String, String) {
    let dir = tempfile::tempdir().expect("a directory");
    let schema = dir.path().join("schema.sql");
    std::fs::write(&schema, SCHEMA).expect("written");
    let line = |(id, [q1, q2], expected): &Row| {
        let row = json!({"id": id, "suite": "tiny", "schema": "schema.sql", "q1": q1, "q2": q2, "expected": expected});
        format!("{row}\n")
    };
    let pairs = dir.path().join("pairs.jsonl");
    std::fs::write(&pairs, rows.iter().map(line).collect::<String>()).expect("written");
    let (schema, pairs) = (schema.display().to_string(), pairs.display().to_string());
    (dir, schema, pairs)
}

/// Status and answer of a single pair.
fn decide(command: &str, [left, right]: [&str; 2], more: &[&str]) -> (Option<i32>, Answer) {
    let (_dir, schema, _) = directory(&[]);
    let arguments = [&[command, "--schema", &schema, "--left", left, "--right", right, "--json"], more].concat();
    let output = run(&arguments);
    let answer = serde_json::from_str(&stdout(&output)).expect("an answer");
    (output.status.code(), answer)
}

#[test]
fn equal_queries_are_proven() {
    let (status, answer) = decide("prove", EQUAL, &[]);
    assert_eq!((status, answer.verdict), (Some(0), Outcome::Proven), "{answer:?}");
    assert!(answer.certificate.is_none() && answer.witness.is_none() && answer.reason.is_none());
}

#[test]
fn different_queries_are_refuted_with_a_witness() {
    for command in ["prove", "refute"] {
        let (status, answer) = decide(command, DIFFERENT, &[]);
        assert_eq!((status, answer.verdict), (Some(1), Outcome::Refuted), "{answer:?}");
        assert!(answer.witness.expect("a witness")[0].starts_with("INSERT INTO "));
        assert_ne!(answer.left_rows, answer.right_rows);
    }
}

#[test]
fn a_function_is_declared_on_the_command_line() {
    let calls = ["SELECT area(a) FROM t WHERE TRUE", "SELECT area(a) FROM t"];
    let (status, answer) = decide("prove", calls, &[]);
    assert_eq!((status, answer.verdict), (Some(2), Outcome::Unknown), "{answer:?}");
    let (status, answer) = decide("prove", calls, &["--function", "area"]);
    assert_eq!((status, answer.verdict), (Some(0), Outcome::Proven), "{answer:?}");
    assert!(answer.assumptions.contains(&prover::ir::Assumption::FunctionsAreDeterministic), "{answer:?}");
}

#[test]
fn refute_does_not_prove() {
    let (status, answer) = decide("refute", EQUAL, &["--trials", "20"]);
    assert_eq!((status, answer.verdict), (Some(2), Outcome::Unknown));
}

#[test]
fn undetermined_queries_are_unknown() {
    let (status, answer) = decide("prove", UNDETERMINED, &[]);
    assert_eq!((status, answer.verdict), (Some(2), Outcome::Unknown));
    let reason = answer.reason.expect("a reason");
    assert!(reason.starts_with("not deterministic"), "{reason}");
}

#[test]
fn placeholders_are_columns() {
    let queries = ["SELECT a FROM t WHERE p1", "SELECT a FROM t WHERE p1 IS TRUE"];
    let (status, answer) = decide("prove", queries, &["--placeholder", "p1=Expr(t: BOOLEAN)"]);
    assert_eq!((status, answer.verdict), (Some(0), Outcome::Proven), "{answer:?}");
}

/// Proves with `--explain`; what is printed and the certificate.
fn explain([left, right]: [&str; 2]) -> (String, Certificate) {
    let (dir, schema, _) = directory(&[]);
    let file = dir.path().join("proof.json").display().to_string();
    let arguments = ["--schema", &schema, "--left", left, "--right", right, "--explain", "--certificate", &file];
    let output = run(&[&["prove"], &arguments[..]].concat());
    let json = std::fs::read_to_string(&file).expect("a certificate");
    (stdout(&output), serde_json::from_str(&json).expect("a certificate"))
}

/// Status and output of a check.
fn check(certificate: &Certificate) -> (Option<i32>, String) {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("proof.json");
    std::fs::write(&file, serde_json::to_string(certificate).expect("JSON")).expect("written");
    let output = run(&["check", &file.display().to_string()]);
    (output.status.code(), stdout(&output))
}

#[test]
fn a_proof_is_explained_written_and_checked() {
    for pair in [EQUAL, IN_PARTS] {
        let (text, certificate) = explain(pair);
        assert!(text.starts_with("proven (") && text.contains("\nThe proof\n"), "{text}");
        for part in [pair[0], pair[1], "normal form of the left query", "t x0"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(certificate.trials > 0 && !certificate.steps.is_empty());
        let (status, text) = check(&certificate);
        assert_eq!(status, Some(0), "{text}");
        assert!(text.contains(pair[0]) && text.contains("Proven again"), "{text}");
    }
    let (_, needs_no_solver) = explain(EQUAL);
    assert!(needs_no_solver.obligations.is_empty());
    assert!(needs_no_solver.steps.iter().any(|step| step.rule == "identical normal forms"));
    let (_, needs_solver) = explain(IN_PARTS);
    assert!(!needs_solver.obligations.is_empty());
}

/// A way to tamper with a certificate.
type Change = fn(&mut Certificate);

#[test]
fn a_certificate_for_something_else_is_not_valid() {
    let (_, certificate) = explain(IN_PARTS);
    let changes: [(Change, &str); 5] = [
        (|c| c.pair.as_mut().expect("a pair").q2 = EQUAL[1].into(), "the pair is not proven again but refuted"),
        (|c| c.pair.as_mut().expect("a pair").q1 = EQUAL[1].into(), "the pair is not proven again but refuted"),
        (|c| c.obligations.clear(), "0 claims instead of"),
        (|c| c.assumptions.clear(), "other assumptions"),
        (|c| c.trials += 1, "another number of databases"),
    ];
    for (change, expected) in changes {
        let mut changed = certificate.clone();
        change(&mut changed);
        let (status, text) = check(&changed);
        assert_eq!(status, Some(1), "{text}");
        assert!(text.contains(expected) && text.contains("NOT VALID"), "{text}");
    }
}

#[test]
fn the_worst_verdict_is_the_status_of_all() {
    let proven = ("p", EQUAL, "eq");
    let refuted = ("r", DIFFERENT, "neq");
    let unknown = ("u", UNDETERMINED, "unknown");
    for (rows, status) in
        [(&[proven][..], 0), (&[proven, refuted, unknown], 1), (&[proven, unknown], 2), (&[refuted], 1)]
    {
        let (_dir, _, pairs) = directory(rows);
        let output = run(&["prove", "--pairs", &pairs]);
        assert_eq!(output.status.code(), Some(status), "{}", stdout(&output));
        assert_eq!(stdout(&output).lines().count(), rows.len());
    }
}

#[test]
fn plans_are_decided_like_text() {
    let table = json!({
        "name": "T", "fields": ["A"], "types": ["INTEGER"], "nullable": [true], "key": [], "guaranteed": []
    });
    let row = json!({"id": "plan", "schema": [table], "q1": {"scan": 0}, "q2": {"scan": 0}});
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("plans.jsonl");
    std::fs::write(&file, format!("{row}\n")).expect("written");
    let output = run(&["prove", "--pairs", &file.display().to_string()]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
}

#[test]
fn a_bench_is_loud_about_a_wrong_label() {
    let good = [("right-eq", EQUAL, "eq"), ("right-neq", DIFFERENT, "neq"), ("open", UNDETERMINED, "eq")];
    let (dir, _, _) = directory(&good);
    assert_eq!(run(&["bench", &dir.path().display().to_string()]).status.code(), Some(0));

    let (dir, _, _) = directory(&[good[0], good[1], ("wrong-neq", EQUAL, "neq"), ("wrong-eq", DIFFERENT, "eq")]);
    let here = dir.path().display().to_string();
    let output = run(&["bench", &here]);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    let text = stdout(&output);
    assert!(text.starts_with("WRONG VERDICTS: 2\n") && text.contains("wrong-neq"), "{text}");
    let report: Value = serde_json::from_str(&stdout(&run(&["bench", &here, "--json"]))).expect("JSON");
    let wrong: Vec<_> = report["wrong"].as_array().expect("rows").iter().map(|row| row["id"].as_str()).collect();
    assert_eq!(wrong, [Some("wrong-neq"), Some("wrong-eq")]);
}
