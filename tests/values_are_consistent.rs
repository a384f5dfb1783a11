//! An expression that has another value in some context is reported, with the two contexts named and the case made small.

use crate::support::{Caqtus, engines};
use serde_json::Value;

/// Hunts for a planted bug and returns the finding of a context.
fn found(caqtus: &Caqtus, fault: &str, context: &str) -> Value {
    let dbms = format!("planted:{fault}");
    let words =
        ["--dbms", &dbms, "--oracle", "consistency", "--seed", "1", "--cases", "600", "--keep", "1", "--out", fault];
    let (code, json) = caqtus.hunt(&words);
    assert_eq!(code, 1, "{json}");
    let all = json["findings"].as_array().expect("findings");
    let found = all.iter().find(|f| f["class"] == context).unwrap_or_else(|| panic!("{fault}: {all:#?}"));
    assert_eq!(found["oracle"], "consistency");
    let dir = caqtus.path(found["dir"].as_str().expect("a directory"));
    let text = std::fs::read_to_string(dir.join("case.json")).expect("case.json");
    let report = std::fs::read_to_string(dir.join("report.md")).expect("report.md");
    assert!(report.contains("(scan)") && report.contains(&format!("({context})")), "{report}");
    serde_json::from_str(&text).expect("JSON")
}

fn texts(of: &Value) -> Vec<&str> {
    of.as_array().expect("a list").iter().map(|text| text.as_str().expect("a text")).collect()
}

#[test]
fn each_kind_is_named_and_small() {
    let caqtus = Caqtus::new();
    for (fault, context) in [
        ("wrong-folded", "folded"),
        ("wrong-stored", "stored"),
        ("wrong-by-key", "row-by-key"),
        ("wrong-predicate", "predicate"),
        ("previous-row", "scan"),
        ("garbage-bytes", "ordered-by-value"),
    ] {
        let case = found(&caqtus, fault, context);
        assert_eq!(case["reduced"], true, "{fault}");
        let queries = case["queries"].as_array().expect("queries");
        assert_eq!(queries.len(), 2, "{fault}");
        // Most others contradict the second.
        assert_eq!(queries[1]["context"], context, "{fault}");
        assert_eq!(queries[0]["context"] == "scan", context != "scan", "{fault}");
        assert_ne!(queries[0]["result"], queries[1]["result"], "{fault}");
        let statements = texts(&case["statements"]);
        let rows = statements.iter().filter(|s| s.starts_with("INSERT INTO t(")).count();
        let needed = if fault == "previous-row" { 2 } else { 1 };
        assert_eq!(rows, needed, "{fault}: {statements:#?}");
        // The key, and what the expression names.
        let create = statements.iter().find(|s| s.starts_with("CREATE TABLE t(")).expect("the table");
        let expression = texts(&case["fillings"])[0];
        let columns = create.matches(", c_").count();
        assert!(columns <= 1 && expression.len() <= 20, "{fault}: {create}: {expression}");
    }
    // What stands around a query is shown with it, and a replay runs it.
    let case = found(&caqtus, "wrong-stored", "stored");
    let stored = &case["queries"][1];
    assert!(texts(&stored["before"])[0].starts_with("CREATE TEMPORARY TABLE t_stored AS SELECT q0.k AS k, ("));
    assert_eq!(texts(&stored["after"]), ["DROP TABLE t_stored"]);
    let id = case["id"].as_str().expect("an id");
    let shows = caqtus.run(&["bug", "replay", id, "--findings", "wrong-stored"]);
    let stdout = String::from_utf8_lossy(&shows.stdout);
    assert!(shows.status.code() == Some(1) && stdout.contains("CREATE TEMPORARY TABLE t_stored"), "{stdout}");
    let agrees = caqtus.run(&["bug", "replay", id, "--findings", "wrong-stored", "--dbms", "sqlite"]);
    assert_eq!(agrees.status.code(), Some(0), "{}", String::from_utf8_lossy(&agrees.stdout));
}

#[test]
fn contexts_are_chosen_by_name() {
    let caqtus = Caqtus::new();
    let words = [
        "--class",
        "stored",
        "--class",
        "row-by-key",
        "--cases",
        "200",
        "--seed",
        "4",
        "--dbms",
        "planted:wrong-folded",
    ];
    let (code, json) = caqtus.hunt(&words);
    assert_eq!((code, &json["classes"]), (0, &2.into()), "{json}");
    let none = caqtus.run(&["hunt", "--oracle", "consistency", "--class", "tlp-*", "--cases", "1"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&none.stderr).contains("no class matches tlp-*"));
}

#[test]
fn most_expressions_are_compared_on_every_engine() {
    let caqtus = Caqtus::new();
    let data = engines::data_dir();
    let data = data.to_str().expect("UTF-8");
    let targets = [(engines::duckdb(), 40), (Some("postgres".to_owned()), 41), (engines::mariadb(), 34)];
    for (target, contexts) in targets.into_iter().filter_map(|(target, contexts)| Some((target?, contexts))) {
        let words = ["--dbms", &target, "--oracle", "consistency", "--cases", "300", "--seed", "9", "--data-dir", data];
        // An engine may have bugs that are not planted.
        let (code, json) = caqtus.hunt(&words);
        assert!(code == 0 || code == 1, "{target}: {json}");
        assert!(json["classes"].as_u64() >= Some(contexts), "{target}: {}", json["classes"]);
        assert!(json["outcomes"]["pass"].as_u64() >= Some(250), "{target}: {json}");
        let done = &json["oracles"]["consistency"];
        assert!(done["queries"].as_u64() >= Some(4 * 250), "{target}: {done}");
    }
}

#[test]
fn a_value_that_is_not_what_was_inserted_is_not_folded() {
    let caqtus = Caqtus::new();
    std::fs::create_dir_all(caqtus.path("own/dialects")).expect("a directory");
    // An INTEGER column keeps 1.5, which CAST AS INTEGER does not: folded, a row has other values, and nothing is wrong.
    let profile = "extends = \"sqlite\"\nname = \"halves\"\n[literals]\nBOOLEAN = [\"1\"]\nINT = [\"1.5\", \"2.5\"]\n\
                   REAL = [\"1.0\"]\nTEXT = [\"'a'\"]\nBLOB = [\"x'61'\"]\n";
    std::fs::write(caqtus.path("own/dialects/halves.toml"), profile).expect("writes");
    let words = ["hunt", "--json", "--quiet", "--dbms", "halves", "--oracle", "consistency", "--class", "folded*"];
    let mut command = caqtus.command(&[&words[..], &["--class", "prepared", "--cases", "600", "--seed", "2"]].concat());
    let output = command.env("CAQTUS_CORPUS", caqtus.path("own")).output().expect("runs");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let json: Value = serde_json::from_str(stdout.lines().last().unwrap_or_default())
        .unwrap_or_else(|e| panic!("{e}: {stdout}{}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(output.status.code(), Some(0), "{json}");
    let void = &json["reasons"]["skipped: a claim does not hold: the row has the values that were inserted"];
    assert!(void.as_u64() > Some(5), "{json}");
}
