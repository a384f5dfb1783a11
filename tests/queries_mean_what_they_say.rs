//! A query returns what the reference evaluator computes for it.

use crate::support::{Caqtus, engines};

#[test]
fn an_answer_that_is_wrong_everywhere_is_found_by_its_meaning_only() {
    let caqtus = Caqtus::new();
    let words = |oracle: &'static str| {
        ["--dbms", "planted:wrong-alike", "--oracle", oracle, "--class", "norec-*", "--cases", "600", "--seed", "1"]
    };
    let (code, members) = caqtus.hunt(&words("caq"));
    assert_eq!(code, 0, "members that are wrong alike agree: {members}");
    let (code, meaning) = caqtus.hunt(&words("spec"));
    assert_eq!(code, 1, "{meaning}");
    let dir = caqtus.path(meaning["findings"][0]["dir"].as_str().expect("a directory"));
    let script = std::fs::read_to_string(dir.join("repro.sql")).expect("repro.sql");
    assert!(script.contains("(what it means, by the reference evaluator)"), "{script}");
    assert!(script.contains("The rows that it must return, whatever the plan"), "{script}");
    let id = meaning["findings"][0]["id"].as_str().expect("an id").to_owned();
    let findings = dir.parent().expect("the campaign's").display().to_string();
    let shows = caqtus.run(&["bug", "replay", &id, "--findings", &findings]);
    assert_eq!(shows.status.code(), Some(1), "{}", String::from_utf8_lossy(&shows.stdout));
    let agrees = caqtus.run(&["bug", "replay", &id, "--findings", &findings, "--dbms", "sqlite"]);
    assert_eq!(agrees.status.code(), Some(0), "{}", String::from_utf8_lossy(&agrees.stdout));
}

#[test]
fn a_generated_query_that_is_wrong_is_cut_to_what_is_wrong_in_it() {
    let caqtus = Caqtus::new();
    let words = ["--dbms", "planted:wrong-alike", "--oracle", "spec", "--class", "generated", "--cases", "600"];
    let (code, summary) = caqtus.hunt(&[&words[..], &["--seed", "1"]].concat());
    assert_eq!(code, 1, "{summary}");
    for finding in summary["findings"].as_array().expect("findings") {
        let dir = caqtus.path(finding["dir"].as_str().expect("a directory"));
        let case = std::fs::read_to_string(dir.join("case.json")).expect("case.json");
        let case: serde_json::Value = serde_json::from_str(&case).expect("JSON");
        assert_eq!((&case["oracle"], &case["reduced"]), (&"spec".into(), &true.into()), "{case}");
        let queries = case["queries"].as_array().expect("queries").iter();
        let longest = queries.map(|query| query["sql"].as_str().map_or(0, str::len)).max();
        assert!(longest < Some(300), "{case}");
    }
    // None of them is wrong where nothing is planted.
    let words = ["--dbms", "sqlite", "--oracle", "spec", "--class", "generated", "--cases", "3000", "--seed", "1"];
    let (code, summary) = caqtus.hunt(&words);
    let count = |outcome: &str| summary["outcomes"][outcome].as_u64().unwrap_or_default();
    assert_eq!(code, 0, "{summary}");
    assert!(count("pass") > 4 * count("skipped"), "{summary}");
}

#[test]
fn most_members_have_a_meaning_on_every_engine() {
    let caqtus = Caqtus::new();
    let data = engines::data_dir().display().to_string();
    let names = ["duckdb@1.4.5", "postgres@15.18", "postgres@18.4", "mariadb@10.11.5"];
    let others = names.into_iter().filter_map(engines::engine);
    for target in others.chain(["sqlite".to_owned()]) {
        let words = ["--dbms", &target, "--oracle", "spec", "--class", "tlp-*", "--snippets", "0", "--seed", "2"];
        let (_, summary) = caqtus.hunt(&[&words[..], &["--cases", "300", "--data-dir", &data]].concat());
        let count = |outcome: &str| summary["outcomes"][outcome].as_u64().unwrap_or_default();
        assert!(count("pass") > count("skipped"), "{target}: {summary}");
    }
}

#[test]
fn a_full_join_that_mariadb_takes_for_an_alias_is_not_tested() {
    let Some(target) = engines::engine("mariadb@10.11.5") else { return };
    let caqtus = Caqtus::new();
    std::fs::create_dir_all(caqtus.path("own/snippets")).expect("a directory");
    let snippets = ["7", "t.c_int + (SELECT COUNT(*) FROM t FULL JOIN (SELECT 1 AS a) AS x ON x.a = 0)"];
    let lines: String = snippets.iter().map(|sql| serde_json::json!({ "sql": sql }).to_string() + "\n").collect();
    std::fs::write(caqtus.path("own/snippets/mariadb.jsonl"), lines).expect("writes");
    // A member of each has FULL JOIN beside a table without an alias that nothing else names.
    let classes = ["--class", "d-091529547493", "--class", "d-b795371db2d1", "--class", "dqp-full-join"];
    let words = ["hunt", "--json", "--quiet", "--dbms", &target, "--oracle", "caq", "--oracle", "spec", "--seed", "1"];
    let mut command = caqtus.command(&[&words[..], &classes, &["--cases", "600"]].concat());
    let output = command.env("CAQTUS_CORPUS", caqtus.path("own")).output().expect("runs");
    let json = crate::support::last_json(&String::from_utf8_lossy(&output.stdout));
    assert_eq!((output.status.code(), &json["snippets"]), (Some(0), &1.into()), "{json}");
    assert!(json["outcomes"]["pass"].as_u64() > Some(200), "{json}");
}
