//! An expression that has another value in some context is reported, with the two contexts named and the case made small.

use crate::support::{Caqtus, engines};
use caqtus::config::{CatalogueSource, ClassChoice, SnippetChoice};
use caqtus::hunt::session::Session;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

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
        let inserts = statements.iter().filter(|s| s.starts_with("INSERT INTO t("));
        let rows: usize = inserts.map(|insert| 1 + insert.matches("), (").count()).sum();
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

/// Seeds of the hunts on each engine: what one database or one version makes of one seed counts little among them. Tests of
/// other oracles have the same, so that what was found of snippets serves them all.
const SEEDS: [&str; 2] = ["2", "3"];

#[test]
fn most_expressions_are_compared_on_every_engine() {
    let caqtus = Caqtus::new();
    let data = engines::data_dir();
    let data = data.to_str().expect("UTF-8");
    for (name, contexts) in
        [("duckdb@1.4.5", 40), ("postgres@15.18", 41), ("postgres@18.4", 41), ("mariadb@10.11.5", 34)]
    {
        let Some(target) = engines::engine(name) else { continue };
        let (mut pass, mut queries) = (0, 0);
        for seed in SEEDS {
            let words =
                ["--dbms", &target, "--oracle", "consistency", "--cases", "192", "--seed", seed, "--data-dir", data];
            // An engine may have bugs that are not planted.
            let (code, json) = caqtus.hunt(&words);
            assert!(code == 0 || code == 1, "{target}: {json}");
            assert!(json["classes"].as_u64() >= Some(contexts), "{target}: {}", json["classes"]);
            pass += json["outcomes"]["pass"].as_u64().expect("a number");
            queries += json["oracles"]["consistency"]["queries"].as_u64().expect("a number");
        }
        let cases = 192 * SEEDS.len() as u64;
        assert!(pass * 4 >= cases * 3, "{target}: {pass} of {cases}");
        assert!(queries >= 3 * cases, "{target}: {queries} queries in {cases} cases");
    }
}

#[test]
fn a_database_on_which_most_is_refused_is_replaced_and_the_summary_says_why() {
    let caqtus = Caqtus::new();
    let hunt = |workers| {
        let words = ["--dbms", "planted:picky", "--oracle", "consistency", "--cases", "1920", "--seed", "5"];
        caqtus.hunt(&[&words[..], &["--workers", workers]].concat()).1
    };
    let json = hunt("1");
    // Without replacements about half of the cases would be refused.
    assert!(json["outcomes"]["pass"].as_u64() >= Some(1152), "{json}");
    assert!(json["replaced_databases"].as_u64() >= Some(5), "{json}");
    let said = &json["messages"]["skipped: semantic error"]["rows are too many"];
    assert!(said.as_u64() >= Some(32), "{json}");
    for field in ["case_digest", "outcomes", "messages", "replaced_databases"] {
        assert_eq!(json[field], hunt("2")[field], "{field}");
    }
    let text =
        caqtus.run(&["hunt", "--dbms", "planted:picky", "--oracle", "consistency", "--cases", "960", "--seed", "5"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("rows are too many") && text.contains("databases replaced"), "{text}");
}

#[test]
fn what_serves_the_engine_only_is_not_called() {
    let caqtus = Caqtus::new();
    // Of these only the first is for callers.
    let snippets = caqtus.path("snippets.jsonl");
    let lines = ["t.c_int + 1", "bttextcmp(t.c_text, t.c_text2)", "hashtext(t.c_text)", "inet_send(t.c_inet)"];
    let lines: Vec<String> = lines.iter().map(|sql| serde_json::json!({ "sql": sql }).to_string() + "\n").collect();
    std::fs::write(&snippets, lines.concat()).expect("writes");
    let choice = ClassChoice {
        oracles: vec!["consistency".to_owned()],
        source: CatalogueSource { snippets: Some(snippets), ..CatalogueSource::default() },
        ..ClassChoice::default()
    };
    let snippets = SnippetChoice { percent: 35, ..SnippetChoice::default() };
    let calls = |target: &str, data: &Path| {
        let target = target.parse().expect("a target");
        let session = Session::open(&target, data, None, &choice, &snippets, &[], &mut || {})
            .unwrap_or_else(|e| panic!("{target}: {e:?}"));
        let names = session.capabilities.functions.iter().map(|function| function.name.clone());
        (names.collect::<BTreeSet<_>>(), session)
    };
    let (names, mut session) = calls("postgres", &caqtus.path("data"));
    assert_eq!(session.snippets, 1, "{:?}", session.refused_snippets);
    for (sql, at_least) in [
        (
            "SELECT DISTINCT p.proname::text FROM pg_amproc a JOIN pg_proc p ON p.oid = a.amproc WHERE p.proname ~ 'cmp|hash'",
            100,
        ),
        ("SELECT DISTINCT p.proname::text FROM pg_type t JOIN pg_proc p ON p.oid IN (t.typinput, t.typsend)", 100),
        (
            "SELECT DISTINCT p.proname::text FROM pg_aggregate a JOIN pg_proc p ON p.oid = a.aggtransfn WHERE p.proname ~ 'larger'",
            10,
        ),
    ] {
        let internal: BTreeSet<String> =
            session.connection.rows(sql).expect("runs").iter().map(|row| text(&row[0])).collect();
        assert!(internal.len() >= at_least, "{sql}: {internal:?}");
        assert!(names.is_disjoint(&internal), "{:?}", names.intersection(&internal).collect::<Vec<_>>());
    }
    for documented in ["sha256", "lower", "range_merge", "jsonb_set", "date_trunc", "texteq"] {
        assert!(names.contains(documented), "{documented} is called");
    }
    drop(session);
    let Some(duckdb) = engines::duckdb() else { return };
    let (names, _session) = calls(&duckdb, &engines::data_dir());
    assert!(names.contains("levenshtein") && names.contains("json_type"), "{names:?}");
    let internal = |name: &&String| {
        ["combine", "finalize", "hash"].contains(&name.as_str())
            || name.starts_with("icu_")
            || name.contains("sort_key")
    };
    assert_eq!(names.iter().find(internal), None);
}

/// A text as a result has it.
fn text(value: &caqtus::sql::types::Value) -> String {
    match value {
        caqtus::sql::types::Value::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => other.to_string(),
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
    let mut command = caqtus.command(
        &[&words[..], &["--class", "prepared", "--cases", "600", "--seed", "2", "--max-void", "100"]].concat(),
    );
    let output = command.env("CAQTUS_CORPUS", caqtus.path("own")).output().expect("runs");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let json: Value = serde_json::from_str(stdout.lines().last().unwrap_or_default())
        .unwrap_or_else(|e| panic!("{e}: {stdout}{}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(output.status.code(), Some(0), "{json}");
    let void = &json["reasons"]["skipped: a claim does not hold: the row has the values that were inserted"];
    assert!(void.as_u64() > Some(5), "{json}");
}

#[test]
fn what_the_documentation_leaves_to_a_context_is_no_difference() {
    let Some(target) = engines::engine("mariadb@10.11.5") else { return };
    let caqtus = Caqtus::new();
    std::fs::create_dir_all(caqtus.path("own/snippets")).expect("a directory");
    // Fractions of times show as many digits as the type of a text, or as a constant text; periods have six digits.
    let snippets = [
        "t.c_int + 1",
        "SUBTIME(0, t.c_blob)",
        "CONCAT(TIMEDIFF(t.c_time, t.c_text))",
        "CONCAT(TIME_TO_SEC(t.c_text))",
        "DATE_ADD('2020-02-29', INTERVAL t.c_text SECOND)",
        "PERIOD_ADD(202001, t.c_int)",
    ];
    let lines: String = snippets.iter().map(|sql| serde_json::json!({ "sql": sql }).to_string() + "\n").collect();
    std::fs::write(caqtus.path("own/snippets/mariadb.jsonl"), lines).expect("writes");
    let words = ["hunt", "--json", "--quiet", "--dbms", &target, "--oracle", "consistency", "--snippets", "100"];
    let mut command = caqtus.command(&[&words[..], &["--cases", "384", "--seed", "1"]].concat());
    let output = command.env("CAQTUS_CORPUS", caqtus.path("own")).output().expect("runs");
    let json = crate::support::last_json(&String::from_utf8_lossy(&output.stdout));
    // There are combinations of them, too.
    assert!(output.status.code() == Some(0) && json["snippets"].as_u64() >= Some(snippets.len() as u64), "{json}");
    assert!(json["outcomes"]["pass"].as_u64() > Some(200), "{json}");
}

#[test]
fn a_value_that_equals_another_may_stand_for_it_in_a_group() {
    let Some(target) = engines::engine("duckdb@1.4.5") else { return };
    let caqtus = Caqtus::new();
    std::fs::create_dir_all(caqtus.path("own/snippets")).expect("a directory");
    // A week less is a month less and 23 days.
    let snippets = ["t.c_int + 1", "to_weeks((VALUES (t.c_int)) % 7)"];
    let lines: String = snippets.iter().map(|sql| serde_json::json!({ "sql": sql }).to_string() + "\n").collect();
    std::fs::write(caqtus.path("own/snippets/duckdb.jsonl"), lines).expect("writes");
    let words = ["hunt", "--json", "--quiet", "--dbms", &target, "--oracle", "consistency", "--snippets", "100"];
    let mut command = caqtus.command(&[&words[..], &["--cases", "640", "--seed", "1"]].concat());
    let output = command.env("CAQTUS_CORPUS", caqtus.path("own")).output().expect("runs");
    let json = crate::support::last_json(&String::from_utf8_lossy(&output.stdout));
    // There are combinations of them, too.
    assert!(output.status.code() == Some(0) && json["snippets"].as_u64() >= Some(snippets.len() as u64), "{json}");
    assert!(json["reasons"].to_string().contains("grouped-by-value keeps the value"), "{json}");
    assert!(json["outcomes"]["pass"].as_u64() > Some(300), "{json}");
}

#[test]
fn functions_of_any_number_of_arguments_are_called_with_those_that_they_take() {
    let caqtus = Caqtus::new();
    let words = ["--oracle", "consistency", "--oracle", "edc", "--seed", "5", "--cases", "6000", "--may-fail", "0"];
    let (code, json) = caqtus.hunt(&words);
    assert_eq!(code, 0, "{json}");
    let refused = json["messages"].to_string();
    for said in ["wrong number of arguments", "an odd number of arguments", "an even number of arguments"] {
        assert!(!refused.contains(said), "{refused}");
    }
    let void = json["outcomes"]["skipped"].as_f64().zip(json["cases"].as_f64()).map(|(void, all)| void / all);
    assert!(void < Some(0.1), "{json}");
}
