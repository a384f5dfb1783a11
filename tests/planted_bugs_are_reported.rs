//! A hunt reports every planted bug, in both forms of its summary, and nothing where nothing is planted.

use crate::support::Caqtus;

#[test]
fn the_self_test_passes() {
    let caqtus = Caqtus::new();
    let output = caqtus.run(&["selftest"]);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    assert!(stdout.contains("38 hunts, 0 failures"), "{stdout}");
}

#[test]
fn the_self_test_can_fail() {
    // Without cases no bug can be found, so every planted one must be missed.
    let caqtus = Caqtus::new();
    let output = caqtus.run(&["selftest", "--cases", "0", "--oracle", "state"]);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(2), "{stdout}");
    // Six faults, and the flaky one, which is to be missed.
    assert!(stdout.contains("7 hunts, 6 failures"), "{stdout}");
}

#[test]
fn a_finding_is_complete_and_reduced() {
    let caqtus = Caqtus::new();
    let words = ["--dbms", "planted:drop-row", "--oracle", "caq", "--seed", "3", "--cases", "1000", "--out", "out"];
    let (code, json) = caqtus.hunt(&words);
    assert_eq!(code, 1);
    let found = &json["findings"][0];
    let dir = caqtus.path(found["dir"].as_str().expect("a directory"));
    let case: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(dir.join("case.json")).expect("case.json")).expect("JSON");
    assert_eq!(case["id"], found["id"]);
    assert_eq!(case["seed"], 3);
    assert_eq!(case["reduced"], true);
    // Two that must agree; tables that the reference evaluator was told of may come before them.
    let queries = case["queries"].as_array().expect("queries");
    assert_eq!(case["checks"][0]["steps"], serde_json::json!([queries.len() - 2, queries.len() - 1]), "{case}");
    assert_ne!(queries[queries.len() - 2]["result"], queries[queries.len() - 1]["result"]);
    // A planted fault needs one row; the reducer must get near that.
    let statements = case["statements"].as_array().expect("statements");
    let inserts = statements.iter().filter(|s| s.as_str().is_some_and(|s| s.contains(" INTO "))).count();
    assert!(inserts <= 2, "{statements:#?}");
    let repro = std::fs::read_to_string(dir.join("repro.sql")).expect("repro.sql");
    assert!(repro.contains("must return the same bag of rows"));
    let id = found["id"].as_str().expect("an id");
    let shown = caqtus.run(&["bug", "show", id, "--findings", "out"]);
    assert!(String::from_utf8_lossy(&shown.stdout).contains("wrong-result"));
    // The linked engine without the planted bug is right.
    let elsewhere = caqtus.run(&["bug", "replay", id, "--findings", "out", "--dbms", "sqlite"]);
    assert_eq!(elsewhere.status.code(), Some(0), "{}", String::from_utf8_lossy(&elsewhere.stdout));
}

#[test]
fn a_database_on_which_a_known_bug_shows_again_and_again_is_left() {
    let caqtus = Caqtus::new();
    let words =
        ["--dbms", "planted:drop-row", "--oracle", "caq", "--seed", "3", "--class", "tlp-where*", "--snippets", "0"];
    let words = [&words[..], &["--cases", "1440", "--keep", "1"]].concat();
    let (code, json) = caqtus.hunt(&[&words[..], &["--out", "out"]].concat());
    assert_eq!(code, 1);
    let why = "a bug that was found before showed in more than a quarter of the cases";
    assert!(json["messages"]["replaced"][why].as_u64() >= Some(1), "{}", json["messages"]);
    // With one worker what is found before what is always the same.
    let alone = |out: &str| {
        let (_, json) = caqtus.hunt(&[&words[..], &["--workers", "1", "--out", out]].concat());
        (json["case_digest"].clone(), json["replaced_databases"].clone())
    };
    assert_eq!(alone("one"), alone("two"));
}

#[test]
fn members_become_simpler_where_the_prover_agrees() {
    // It stands beside the program.
    let caqtus = Caqtus::new();
    let class = "[[class]]\nname = 'own'\nschema = 'CREATE TABLE t1(c0 INT, c1 INT)'\n\
                 placeholders = { p1 = 'Expr(t1: BOOLEAN)', p2 = 'Expr(t1: BOOLEAN)' }\n\
                 members = ['SELECT * FROM t1 WHERE t1.p1 AND t1.p2', 'WITH s AS (SELECT t1.c0, t1.c1, t1.p1 AND t1.p2 AS w \
                 FROM t1) SELECT s.c0, s.c1 FROM s WHERE s.w UNION ALL SELECT t1.c0, t1.c1 FROM t1 WHERE FALSE']\n";
    std::fs::write(caqtus.path("own.toml"), class).expect("writes");
    let words = ["--dbms", "planted:drop-row", "--oracle", "caq", "--catalogue", "own.toml", "--seed", "3"];
    let (code, json) = caqtus.hunt(&[&words[..], &["--cases", "300", "--keep", "1", "--out", "out"]].concat());
    assert_eq!(code, 1, "{json}");
    let dir = caqtus.path(json["findings"][0]["dir"].as_str().expect("a directory"));
    let case = std::fs::read_to_string(dir.join("case.json")).expect("case.json");
    let case: serde_json::Value = serde_json::from_str(&case).expect("JSON");
    let texts: Vec<&str> = (0..2).filter_map(|at| case["queries"][at]["sql"].as_str()).collect();
    // One column, no conjunction, one branch; a query that begins with WITH does not have the fault.
    let plain = |text: &&str| !["AND", "UNION", "c1 FROM"].iter().any(|part| text.contains(part));
    assert!(texts.len() == 2 && texts.iter().all(plain), "{texts:#?}\n{case:#}");
    let report = std::fs::read_to_string(dir.join("report.md")).expect("report.md");
    assert!(report.contains("the prover has shown"), "{report}");
}

#[test]
fn what_does_not_come_again_in_a_new_process_is_flaky() {
    let caqtus = Caqtus::new();
    let words = ["--dbms", "planted:worn-out", "--seed", "3", "--cases", "1000", "--keep", "2", "--workers", "1"];
    let (code, json) = caqtus.hunt(&[&words[..], &["--out", "out"]].concat());
    assert_eq!((code, &json["outcomes"]["fail"]), (0, &0.into()), "{json}");
    let flaky = &json["reasons"]["warning: flaky: did not repeat in a new process"];
    assert!(flaky.as_u64() >= Some(2), "{json}");
    // It is kept, beside the bugs.
    let kept = std::fs::read_dir(caqtus.path("out/flaky")).expect("a directory").count();
    assert!(kept >= 2, "{kept}");
    let listed = caqtus.run(&["bug", "list", "--findings", "out"]);
    assert!(String::from_utf8_lossy(&listed.stdout).starts_with("no findings"), "{listed:?}");
}
