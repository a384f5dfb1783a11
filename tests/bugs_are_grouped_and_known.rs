//! Findings of one bug are one report; what people decide about it is remembered; what is known is counted and reported no
//! more.

use crate::support::{Caqtus, last_json, succeed};
use serde_json::Value;
use std::fs;

/// A hunt on an engine with a planted bug, with few classes: it looks at all causes that they show. With all classes a hunt
/// that knows some of them has room for others, which are news and rightly fail it.
fn hunt(caqtus: &Caqtus, fault: &str, out: &str, more: &[&str]) -> (i32, Value) {
    let dbms = format!("planted:{fault}");
    let words = ["--dbms", &dbms, "--oracle", "caq", "--seed", "3", "--cases", "1200", "--workers", "1", "--out", out];
    let words = [&words[..], &["--class", "tlp-*"]].concat();
    caqtus.hunt(&[&words[..], more].concat())
}

fn bugs(json: &Value) -> &Vec<Value> {
    json["bugs"].as_array().unwrap_or_else(|| panic!("{json}"))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value}")).to_owned()
}

#[test]
fn a_bug_has_all_that_tools_ask_for_and_its_cause_is_in_the_report() {
    let caqtus = Caqtus::new();
    let (code, json) = hunt(&caqtus, "drop-row", "out", &[]);
    assert_eq!(code, 1, "{json}");
    let findings: u64 = bugs(&json).iter().map(|bug| bug["findings"].as_u64().expect("a count")).sum();
    assert_eq!(findings, json["findings"].as_array().expect("findings").len() as u64);
    for bug in bugs(&json) {
        assert!(caqtus.path(&text(&bug["script"])).exists(), "{bug}");
        let members = bug["members"].as_array().expect("members");
        assert_eq!(members.len() as u64, bug["findings"].as_u64().expect("a count"));
        let case = fs::read_to_string(caqtus.path(&text(&bug["dir"])).join("case.json")).expect("reads");
        let case: Value = serde_json::from_str(&case).expect("JSON");
        assert!(!text(&case["cause"]["shape"]).is_empty(), "{case}");
        assert_eq!(text(&bug["fingerprint"]), format!("{}: {}", text(&bug["kind"]), text(&bug["cause"])));
    }
    let listed = last_json(&succeed(&caqtus, 0, &["bug", "list", "--json", "--findings", "out"]));
    let ids = |bugs: &Vec<Value>| bugs.iter().map(|bug| text(&bug["id"])).collect::<Vec<_>>();
    assert_eq!(ids(listed.as_array().expect("a list")), ids(bugs(&json)));
}

#[test]
fn what_people_merge_and_split_stays_so() {
    let caqtus = Caqtus::new();
    let (_, json) = hunt(&caqtus, "drop-row", "out", &[]);
    let [one, other, ..] = bugs(&json).as_slice() else { panic!("fewer than two bugs: {json}") };
    let (one, other) = (text(&one["id"]), text(&other["id"]));
    let listed = || last_json(&succeed(&caqtus, 0, &["bug", "list", "--json", "--findings", "out"]));
    let count = || listed().as_array().expect("a list").len();
    let before = count();
    succeed(&caqtus, 0, &["bug", "merge", &one, &other, "--findings", "out"]);
    assert_eq!(count(), before - 1);
    // Also for another hunt there.
    let (_, again) = hunt(&caqtus, "drop-row", "out", &[]);
    assert!(
        bugs(&again).iter().any(|bug| text(&bug["id"]) == one)
            && bugs(&again).iter().all(|bug| text(&bug["id"]) != other)
    );
    let member = text(&bugs(&json)[1]["members"][0]);
    succeed(&caqtus, 0, &["bug", "split", &member, "--findings", "out"]);
    let alone = listed().as_array().expect("a list").iter().find(|bug| bug["members"][0] == member.as_str()).cloned();
    assert_eq!(alone.expect("a bug of its own")["findings"], 1);
}

#[test]
fn what_is_ignored_is_counted_and_fails_no_hunt() {
    let caqtus = Caqtus::new();
    let (_, json) = hunt(&caqtus, "drop-row", "out", &[]);
    let all = bugs(&json).len();
    for bug in bugs(&json) {
        let id = text(&bug["id"]);
        succeed(&caqtus, 0, &["bug", "ignore", &id, "--reason", "it is planted", "--findings", "out"]);
    }
    let list = succeed(&caqtus, 0, &["bug", "list", "--findings", "out"]);
    assert_eq!(list.matches("known: it is planted").count(), all, "{list}");
    let (code, again) = hunt(&caqtus, "drop-row", "other", &["--known", "out/known.toml"]);
    assert_eq!((code, &again["verdict"]), (0, &"clean".into()), "{again}");
    assert!(again["outcomes"]["fail"].as_u64() > Some(0), "{again}");
    assert!(!bugs(&again).is_empty() && bugs(&again).iter().all(|bug| bug["suppressed"] == "it is planted"), "{again}");
    // One that is no more on the list is news again.
    let text = fs::read_to_string(caqtus.path("out/known.toml")).expect("reads");
    let fewer: String = text.split_inclusive("[[bug]]").skip(2).collect();
    fs::write(caqtus.path("fewer.toml"), format!("[[bug]]{}", fewer.trim_end_matches("[[bug]]"))).expect("writes");
    let (code, _) = hunt(&caqtus, "drop-row", "third", &["--known", "fewer.toml"]);
    assert_eq!(code, 1);
    let (code, said) = hunt(&caqtus, "drop-row", "fourth", &["--known", "nowhere.toml"]);
    assert!(code == 2 && said["error"].as_str().is_some_and(|error| error.contains("nowhere.toml")), "{said}");
}

#[test]
fn a_baseline_lets_only_news_fail() {
    let caqtus = Caqtus::new();
    let (_, json) = hunt(&caqtus, "drop-row", "out", &[]);
    fs::write(caqtus.path("baseline.json"), json.to_string()).expect("writes");
    let (code, again) = hunt(&caqtus, "drop-row", "again", &["--baseline", "baseline.json"]);
    assert_eq!(code, 0, "{again}");
    assert!(bugs(&again).iter().all(|bug| text(&bug["suppressed"]).contains("baseline.json")), "{again}");
    let mut fewer = json.clone();
    fewer["bugs"].as_array_mut().expect("bugs").remove(0);
    fs::write(caqtus.path("fewer.json"), fewer.to_string()).expect("writes");
    let (code, news) = hunt(&caqtus, "drop-row", "news", &["--baseline", "fewer.json"]);
    assert_eq!(code, 1, "{news}");
    let unknown: Vec<&Value> = bugs(&news).iter().filter(|bug| bug["suppressed"].is_null()).collect();
    assert_eq!(unknown.len(), 1, "{news}");
    assert_eq!(unknown[0]["fingerprint"], json["bugs"][0]["fingerprint"]);
}

#[test]
fn a_hunt_ends_with_as_many_news_as_are_wanted() {
    let caqtus = Caqtus::new();
    let words = [
        "--dbms",
        "planted:drop-row",
        "--oracle",
        "caq",
        "--class",
        "norec-*",
        "--seed",
        "1",
        "--max-bugs",
        "1",
        "--workers",
        "2",
    ];
    let (code, json) = caqtus.hunt(&[&words[..], &["--cases", "100000", "--out", "one"]].concat());
    assert_eq!((code, &json["verdict"]), (1, &"bugs".into()), "{json}");
    assert!(json["cases"].as_u64() < Some(10_000), "{json}");
    // Two executors had found one each, at most.
    assert!((1..=2).contains(&bugs(&json).len()), "{json}");
    // What is known does not end it.
    let known = "[[bug]]\nclass = 'norec-*'\nreason = 'planted'\n";
    fs::write(caqtus.path("known.toml"), known).expect("writes");
    let (code, json) =
        caqtus.hunt(&[&words[..], &["--cases", "300", "--known", "known.toml", "--out", "all"]].concat());
    assert_eq!((code, json["cases"].as_u64()), (0, Some(300)), "{json}");
    assert!(!bugs(&json).is_empty(), "{json}");
}

#[test]
fn what_ends_the_engine_is_cut_down() {
    let caqtus = Caqtus::new();
    let words = ["--dbms", "planted:crash", "--oracle", "caq", "--class", "tlp-*", "--seed", "1", "--cases", "400"];
    let (code, json) = caqtus.hunt(&[&words[..], &["--workers", "1", "--out", "out"]].concat());
    assert_eq!(code, 1, "{json}");
    let case = |dir: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(caqtus.path(dir).join("case.json")).expect("reads")).expect("JSON")
    };
    let found = json["findings"].as_array().expect("findings");
    let crash = found.iter().find(|found| found["kind"] == "crash").unwrap_or_else(|| panic!("{json}"));
    let case = case(&text(&crash["dir"]));
    assert_eq!(case["reduced"], true, "{case}");
    assert_eq!(case["queries"].as_array().map(Vec::len), Some(1), "{case}");
    assert!(case["statements"].as_array().is_some_and(|statements| statements.len() <= 4), "{case}");
    succeed(&caqtus, 1, &["bug", "replay", &text(&crash["id"]), "--findings", "out"]);
}

#[test]
fn only_what_the_other_target_does_not_show_is_news() {
    let caqtus = Caqtus::new();
    let (code, same) = hunt(&caqtus, "drop-row", "same", &["--against", "planted:drop-row"]);
    assert_eq!((code, &same["verdict"]), (0, &"clean".into()), "{same}");
    assert!(bugs(&same).iter().all(|bug| text(&bug["suppressed"]).contains("planted:drop-row shows it too")), "{same}");
    assert!(!bugs(&same).is_empty() && same["outcomes"]["fail"].as_u64() > Some(0), "{same}");
    let (code, news) = hunt(&caqtus, "drop-row", "news", &["--against", "planted:none"]);
    assert_eq!(code, 1, "{news}");
    assert!(bugs(&news).iter().all(|bug| bug["suppressed"].is_null()), "{news}");
}

#[test]
fn bugs_are_written_in_the_forms_of_others() {
    let caqtus = Caqtus::new();
    let (_, json) = hunt(&caqtus, "drop-row", "out", &[]);
    let count = bugs(&json).len();
    let export = |format: &str| {
        let said = succeed(&caqtus, 0, &["bug", "export", "--format", format, "--out", "reports", "--findings", "out"]);
        said.lines().map(|path| fs::read_to_string(caqtus.path(path)).expect("reads")).collect::<Vec<_>>()
    };
    let issues = export("markdown");
    assert_eq!(issues.len(), count);
    assert!(issues.iter().all(|issue| {
        ["Version: sqlite", "## Actual result", "## Expected result"].iter().all(|part| issue.contains(part))
    }));
    let sarif: Value = serde_json::from_str(&export("sarif")[0]).expect("JSON");
    assert_eq!(sarif["runs"][0]["results"].as_array().map(Vec::len), Some(count));
    let exported: Value = serde_json::from_str(&export("json")[0]).expect("JSON");
    assert_eq!(exported["bugs"].as_array().map(Vec::len), Some(count));
    assert_eq!(export("junit")[0].matches("<failure").count(), count);
    let id = text(&bugs(&json)[0]["id"]);
    let test = succeed(&caqtus, 0, &["bug", "as-test", &id, "--style", "duckdb", "--findings", "out"]);
    assert!(test.starts_with("# name: test/sql/") && test.matches(" rowsort same-1").count() == 2, "{test}");
}
