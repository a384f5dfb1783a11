//! A discovery that is killed ends, when it is run again, in the same classes as one that was not.

use crate::support::{Caqtus, kill, last_json, succeed, wait_until};
use std::process::Stdio;
use std::time::Duration;

const DISCOVER: [&str; 9] = ["discover", "--llm", "rules", "--seeds", "4", "--max-depth", "10", "--quiet", "--json"];

fn exported(caqtus: &Caqtus) -> (String, String) {
    succeed(caqtus, 0, &["oracle", "export", "--classes", "c.toml", "--proofs", "p.jsonl"]);
    let read = |name: &str| std::fs::read_to_string(caqtus.path(name)).expect("exported");
    (read("c.toml"), read("p.jsonl"))
}

#[test]
fn a_kill_in_the_middle_changes_nothing() {
    let whole = Caqtus::new();
    let expected = last_json(&succeed(&whole, 0, &DISCOVER));
    assert!(expected["proven"].as_u64() >= Some(8), "{expected}");
    assert_eq!(expected["released"], expected["classes"], "{expected}");

    let killed = Caqtus::new();
    for pause_ms in [1_500, 2_500, 4_000] {
        let mut child = killed.command(&DISCOVER).stdout(Stdio::null()).spawn().expect("starts");
        std::thread::sleep(Duration::from_millis(pause_ms));
        kill("-9", child.id());
        child.wait().expect("ends");
    }
    let mut after = last_json(&succeed(&killed, 0, &DISCOVER));
    after["seconds"] = expected["seconds"].clone();
    assert_eq!(after, expected);
    assert_eq!(exported(&killed), exported(&whole));

    // Again: nothing is left to do, and nothing changes. With more seeds it goes on.
    let again = last_json(&succeed(&killed, 0, &DISCOVER));
    assert_eq!((&again["candidates"], &again["classes"]), (&expected["candidates"], &expected["classes"]));
    let more = DISCOVER.map(|word| if word == "4" { "5" } else { word });
    let more = last_json(&succeed(&killed, 0, &more));
    assert_eq!(more["seeds"], 5);
    assert!(more["candidates"].as_u64() > expected["candidates"].as_u64(), "{more}");
}

#[test]
fn ctrl_c_ends_with_a_summary_and_the_next_run_goes_on() {
    let caqtus = Caqtus::new();
    let words =
        ["discover", "--llm", "rules", "--seeds", "200", "--workers", "1", "--in-flight", "1", "--quiet", "--json"];
    let start = || caqtus.command(&words).stdout(Stdio::piped()).spawn().expect("starts");
    // Made when the first class is checked.
    let checks = caqtus.path("data/cross-check");
    let child = start();
    wait_until("a seed is done", || checks.exists());
    kill("-INT", child.id());
    let output = child.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(0));
    let summary = last_json(&String::from_utf8_lossy(&output.stdout));
    assert!(summary["candidates"].as_u64() > Some(0), "{summary}");
    std::fs::remove_dir_all(&checks).expect("nobody uses it");
    let child = start();
    // Three searches are under way at once, and checks that were cut off come first: a fourth check is of a search that
    // has gone on. A check's directory ends in its number.
    let number = |name: &str| name.rsplit('-').next().and_then(|number| number.parse::<u32>().ok());
    wait_until("a search has gone on", || {
        std::fs::read_dir(&checks).is_ok_and(|mut entries| {
            entries.any(|entry| entry.is_ok_and(|entry| number(&entry.file_name().to_string_lossy()) >= Some(3)))
        })
    });
    // Two programs on one run would get in each other's way.
    let second = caqtus.run(&words);
    assert_eq!(second.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&second.stderr).contains("another caqtus is at work"), "{second:?}");
    kill("-TERM", child.id());
    let later = last_json(&String::from_utf8_lossy(&child.wait_with_output().expect("ends").stdout));
    assert!(later["candidates"].as_u64() > summary["candidates"].as_u64(), "{later}");
}

#[test]
fn what_an_engine_disagrees_with_is_quarantined() {
    let caqtus = Caqtus::new();
    let words = ["discover", "--llm", "rules", "--seeds", "3", "--max-depth", "8", "--quiet", "--json"];
    let mut words = words.to_vec();
    words.extend(["--dbms", "planted:drop-row"]);
    let summary = last_json(&succeed(&caqtus, 1, &words));
    assert!(summary["quarantined"].as_u64() > Some(0), "{summary}");
    let list = succeed(&caqtus, 0, &["oracle", "list", "--store", "--state", "quarantined", "--json"]);
    let first: serde_json::Value = serde_json::from_str(list.lines().next().expect("a class")).expect("JSON");
    let name = first["name"].as_str().expect("a name").to_owned();
    let shown = succeed(&caqtus, 0, &["oracle", "show", "--store", &name]);
    assert!(shown.contains("\"against\"") && shown.contains("CREATE TABLE t"), "the evidence is shown: {shown}");
    let text = succeed(&caqtus, 0, &["oracle", "review", &name, "released", "--why", "the engine is wrong"]);
    assert!(text.contains("released"), "{text}");
    let detail = last_json(&succeed(&caqtus, 0, &["oracle", "show", "--store", "--json", &name]));
    assert_eq!((&detail["state"], &detail["name"]), (&"released".into(), &name.clone().into()), "{detail}");
    assert_eq!(detail["evidence"]["reviewed"], "the engine is wrong", "{detail}");
    let plans = detail["plans"]["plans"].as_array().expect("plans");
    assert_eq!(plans.len(), detail["members"].as_array().expect("members").len(), "{detail}");
    let others = plans[1..].iter().filter(|plan| !plan.is_null() && *plan != &plans[0]).count();
    let differences = detail["plans"]["differences"].as_array().expect("differences");
    assert!(plans[0]["label"].is_string() && differences.len() == others, "{detail}");
    let marked = |edits: &str| edits.lines().any(|line| line.starts_with(['-', '+']));
    assert!(differences.iter().all(|of| marked(of["edits"].as_str().unwrap_or_default())), "{detail}");
    let (classes, _) = exported(&caqtus);
    assert!(classes.contains(&name));
}

#[test]
fn a_missing_prover_is_named() {
    let caqtus = Caqtus::new();
    let output = caqtus.run(&["discover", "--llm", "rules", "--seeds", "1", "--prover", "/nowhere/caqtus-prover"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/nowhere/caqtus-prover"));
}

#[test]
fn candidates_at_hand_are_all_judged() {
    let caqtus = Caqtus::new();
    let wrong = (1..6).map(|n| format!("SELECT t1.c0 FROM t1 WHERE t1.c0 = {n}"));
    let mut candidates: Vec<String> = wrong.collect();
    candidates.extend(["no query", "SELECT t1.c0 FROM t1 WHERE t1.c0 IS NOT NULL AND TRUE"].map(str::to_owned));
    let seed = "SELECT t1.c0 FROM t1 WHERE t1.c0 = t1.c0";
    let line =
        serde_json::json!({ "id": "A 1", "schema": "CREATE TABLE t1(c0 INT)", "seed": seed, "candidates": candidates });
    std::fs::write(caqtus.path("c.jsonl"), line.to_string()).expect("written");
    let import = ["oracle", "import", "--candidates", "c.jsonl", "--quiet", "--json"];
    // As documented: a candidate is refuted.
    let summary = last_json(&succeed(&caqtus, 1, &import));
    assert_eq!((&summary["proven"], &summary["refuted"], &summary["released"]), (&1.into(), &5.into(), &1.into()));
    let mut again = last_json(&succeed(&caqtus, 1, &import));
    again["seconds"] = summary["seconds"].clone();
    assert_eq!(again, summary);
    assert!(succeed(&caqtus, 0, &["oracle", "list", "--store"]).starts_with("a-1-"), "named after the file's name");
    let (classes, _) = exported(&caqtus);
    assert!(classes.contains("IS NOT NULL AND TRUE") && !classes.contains("no query"), "{classes}");
    // A seed that no class can be made of: its placeholder is not used. Its candidates are judged all the same.
    let line = serde_json::json!({ "schema": "CREATE TABLE t1(c0 INT)", "placeholders": { "p1": "Expr(t1: INT)" },
        "seed": seed, "candidates": ["SELECT t1.c0 FROM t1 WHERE t1.c0 IS NOT NULL"] });
    std::fs::write(caqtus.path("c.jsonl"), line.to_string()).expect("written");
    let summary = last_json(&succeed(&caqtus, 0, &import));
    assert_eq!((&summary["proven"], &summary["classes"]), (&1.into(), &0.into()), "{summary}");
}
