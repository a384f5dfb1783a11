//! Findings are shown again, also when one of them is damaged; what did not come again is shown too; and a version that
//! does not take a finding's statements says nothing about it.

use crate::support::{Caqtus, last_json, succeed};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// A finding on an engine with a planted bug, and its directory.
fn found(caqtus: &Caqtus, out: &str) -> (String, PathBuf) {
    let words = [
        "--dbms",
        "planted:drop-row",
        "--oracle",
        "caq",
        "--seed",
        "3",
        "--cases",
        "3000",
        "--keep",
        "1",
        "--out",
        out,
    ];
    let (code, summary) = caqtus.hunt(&words);
    assert_eq!(code, 1, "{summary}");
    let found = &summary["findings"][0];
    let dir = caqtus.path(found["dir"].as_str().expect("a directory"));
    (found["id"].as_str().expect("an id").to_owned(), dir)
}

#[test]
fn a_damaged_finding_is_named_and_hides_no_other() {
    let caqtus = Caqtus::new();
    let (id, _) = found(&caqtus, "out");
    let damaged = caqtus.path("out/00damaged");
    fs::create_dir_all(&damaged).expect("makes");
    fs::write(damaged.join("case.json"), "{\"id\": \"00da").expect("writes");
    for words in [vec!["list"], vec!["list", "--json"], vec!["show", &id], vec!["spans"]] {
        let output = caqtus.run(&[&["bug"], &words[..], &["--findings", "out"]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{words:?}: {said}");
        assert!(String::from_utf8_lossy(&output.stdout).contains(&id), "{words:?}");
        assert_eq!(said.contains("out/00damaged/case.json is no finding"), words[0] != "show", "{words:?}: {said}");
    }
    succeed(&caqtus, 1, &["bug", "replay", &id, "--findings", "out"]);
    let output = caqtus.run(&["bug", "show", "00dam", "--findings", "out"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("out/00damaged/case.json is no finding"));
}

#[test]
fn a_report_names_its_directory() {
    let caqtus = Caqtus::new();
    let (id, dir) = found(&caqtus, "here and there");
    let report = fs::read_to_string(dir.join("report.md")).expect("reads");
    assert!(report.contains(&format!("`caqtus bug replay {id} --findings 'here and there'`")), "{report}");
    let case: Value = serde_json::from_str(&fs::read_to_string(dir.join("case.json")).expect("reads")).expect("JSON");
    let queries = case["queries"].as_array().expect("queries");
    let asked: Vec<&Value> = queries.iter().filter(|query| query["evaluation"].is_null()).collect();
    assert!(asked.len() > 1 && asked.iter().all(|query| query["plan"]["label"].is_string()), "{case}");
    let steps = case["checks"][0]["steps"].as_array().expect("steps").iter().filter_map(Value::as_u64);
    let compared: Vec<&Value> = steps.map(|at| &queries[usize::try_from(at).expect("small")]["plan"]).collect();
    let differ = compared.iter().all(|plan| plan.is_object()) && compared.iter().any(|plan| plan != &compared[0]);
    assert_eq!(report.contains("\n## Plans\n"), differ, "{report}");
    let said = caqtus.run(&["bug", "show", "ffffffffffff", "--findings", "here and there"]).stderr;
    assert!(String::from_utf8_lossy(&said).contains("bug list --findings 'here and there'"));
}

#[test]
fn what_did_not_come_again_can_be_shown() {
    let caqtus = Caqtus::new();
    let words = ["--dbms", "planted:flaky", "--oracle", "caq", "--seed", "1", "--cases", "1000", "--out", "out"];
    let (code, summary) = caqtus.hunt(&[&words[..], &["--class", "tlp-*", "--class", "norec-*"]].concat());
    assert_eq!(code, 0, "{summary}");
    let listed = last_json(&succeed(&caqtus, 0, &["bug", "list", "--flaky", "--json", "--findings", "out"]));
    let id = listed[0]["id"].as_str().unwrap_or_else(|| panic!("{listed}"));
    assert!(succeed(&caqtus, 0, &["bug", "list", "--findings", "out"]).contains("bug list --flaky"));
    assert!(succeed(&caqtus, 0, &["bug", "list", "--flaky", "--findings", "out"]).contains(id));
    let report = succeed(&caqtus, 0, &["bug", "show", id, "--findings", "out"]);
    for part in ["flaky", "in the hunt", "only a hash was kept", "again, on the same database", "--findings out`"] {
        assert!(report.contains(part), "{part}: {report}");
    }
    let case = succeed(&caqtus, 0, &["bug", "show", id, "--json", "--findings", "out"]);
    let case: Value = serde_json::from_str(&case).expect("JSON");
    let runs = case["runs"].as_array().expect("runs");
    assert!(runs.len() >= 2, "{case}");
    // Each run has a result for each query, and the first two do not agree on how many rows there were.
    let queries = case["queries"].as_array().expect("queries").len();
    assert!(runs.iter().all(|run| run["results"].as_array().is_some_and(|results| results.len() == queries)), "{case}");
    let first = |at: usize| runs[0]["results"][at]["hash"]["rows"].as_u64();
    let second = |at: usize| runs[1]["results"][at]["rows"].as_array().map(|rows| rows.len() as u64);
    assert!((0..queries).any(|at| first(at).is_some() && first(at) != second(at)), "{case}");
}

#[test]
fn a_version_that_does_not_take_the_set_up_says_nothing() {
    let caqtus = Caqtus::new();
    let (id, dir) = found(&caqtus, "out");
    let path = dir.join("case.json");
    let case: Value = serde_json::from_str(&fs::read_to_string(&path).expect("reads")).expect("JSON");
    let replay = |dbms: &str, case: &Value| {
        fs::write(&path, case.to_string()).expect("writes");
        let output = caqtus.run(&["bug", "replay", &id, "--findings", "out", "--dbms", dbms]);
        let json = caqtus.run(&["bug", "replay", &id, "--findings", "out", "--dbms", dbms, "--json"]);
        assert_eq!(json.status.code(), output.status.code());
        let state = last_json(&String::from_utf8_lossy(&json.stdout))["state"].as_str().expect("a state").to_owned();
        (output.status.code().expect("a code"), state, String::from_utf8_lossy(&output.stdout).into_owned())
    };
    // Nothing failed where it was found, so nothing may fail elsewhere.
    assert_eq!(case["refused"], serde_json::json!([]));
    assert_eq!(replay("planted:none", &case).0, 0);
    let mut other = case.clone();
    let statements = other["statements"].as_array_mut().expect("statements");
    statements.push("CREATE INDEX new_kind ON t1 USING newer_than_this (c0)".into());
    let last = statements.len() - 1;
    for dbms in ["planted:none", "planted:drop-row"] {
        let (code, state, text) = replay(dbms, &other);
        assert_eq!((code, state.as_str()), (3, "void"), "{text}");
        assert!(text.contains("void") && text.contains("newer_than_this") && !text.contains("agree"), "{text}");
    }
    // Where it failed there too, it is no part of the case.
    other["refused"] = serde_json::json!([last]);
    assert_eq!(replay("planted:none", &other).1, "agrees");
    assert_eq!(replay("planted:drop-row", &other).1, "shows");
    // A finding that does not say what failed, of this build and of another one.
    other.as_object_mut().expect("an object").remove("refused");
    assert_eq!(replay("planted:drop-row", &other).1, "shows");
    other["build_id"] = "another".into();
    assert_eq!(replay("planted:drop-row", &other).1, "void");
    // A query that does not run.
    let mut other = case;
    other["queries"][0]["sql"] = "SELECT newer_than_this()".into();
    let (code, _, text) = replay("planted:none", &other);
    assert!(code == 3 && text.contains("a query fails here"), "{text}");
}
