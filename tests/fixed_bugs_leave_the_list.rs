//! A known bug that stopped happening on a newer version is said to be gone, once, with what to do; one that is still there is
//! not, and neither is one of which nothing can be said.

use crate::support::{Caqtus, succeed};
use serde_json::{Value, json};
use std::fs;

/// A short hunt on the linked SQLite with a list of known bugs.
fn hunt(caqtus: &Caqtus, list: &str, out: &str) -> Value {
    fs::write(caqtus.path("lists/known.toml"), list).expect("writes");
    let words = ["--oracle", "caq", "--class", "tlp-where*", "--seed", "1", "--workers", "1", "--cases", "3000"];
    let (code, json) = caqtus.hunt(&[&words[..], &["--known", "lists/known.toml", "--out", out]].concat());
    assert_eq!(code, 0, "{json}");
    json
}

fn script(answer: &str) -> String {
    format!(
        "# title: one\n# engine: sqlite\n# wrong: 3.1.0\n# right: none\n\nquery\n{answer}\n---- expected\n1\n---- actual\n2\n"
    )
}

#[test]
fn a_script_tells_whether_a_bug_is_gone() {
    let caqtus = Caqtus::new();
    fs::create_dir_all(caqtus.path("lists")).expect("makes");
    for (name, sql) in [("gone", "SELECT 1"), ("there", "SELECT 2"), ("void", "SELECT nothing"), ("newer", "SELECT 1")]
    {
        fs::write(caqtus.path(&format!("lists/{name}.slt")), script(sql)).expect("writes");
    }
    // That one says itself that it is right here.
    let said = script("SELECT 1").replace("# right: none", "# right: 3.10.0 to 99.0");
    fs::write(caqtus.path("lists/said.slt"), said).expect("writes");
    let entry = |name: &str, versions: &str| {
        format!("[[bug]]\nreason = '{name}'\nclass = 'no such class'\nscript = '{name}.slt'\n{versions}\n")
    };
    let list = [
        entry("gone", "versions = '3.1.0 to 3.9.2'"),
        entry("said", "versions = '3.1.0 to 3.9.2'"),
        entry("there", ""),
        entry("void", ""),
        entry("newer", "versions = '3.1.0 to 99.0'"),
        "[[bug]]\nengine = 'duckdb'\nreason = 'other'\nclass = 'no such class'\nscript = 'gone.slt'\n".to_owned(),
    ];
    let json = hunt(&caqtus, &list.concat(), "out");
    let gone = json!([{ "reason": "gone", "list": "lists/known.toml", "evidence": "gone.slt", "last_seen": "3.9.2" }]);
    assert_eq!((&json["gone"], &json["not_looked_at"]), (&gone, &1.into()), "{json}");
    // The summary for people says what to do.
    let words = ["hunt", "--quiet", "--class", "tlp-where*", "--cases", "3000", "--known", "lists/known.toml"];
    let text = succeed(&caqtus, 0, &[&words[..], &["--oracle", "caq", "--out", "again"]].concat());
    assert!(text.contains("gone.slt, last seen on 3.9.2: gone"), "{text}");
    assert!(text.contains("remove its entry from lists/known.toml") && text.contains("of 1 known bugs"), "{text}");
}

#[test]
fn a_finding_that_was_ignored_tells_it_too() {
    let caqtus = Caqtus::new();
    let planted = caqtus.planted("drop-row", "caq", &["--cases", "600"]);
    let id = planted.case["id"].as_str().expect("an id").to_owned();
    succeed(&caqtus, 0, &["bug", "ignore", &id, "--reason", "planted", "--findings", "drop-row"]);
    // As if it had been found long ago.
    let case = caqtus.path(&format!("drop-row/{id}/case.json"));
    let mut finding: Value = serde_json::from_str(&fs::read_to_string(&case).expect("reads")).expect("JSON");
    finding["version"] = "3.1.0".into();
    fs::write(&case, finding.to_string()).expect("writes");
    let list = "drop-row/known.toml";
    let words = ["--oracle", "caq", "--class", "tlp-where*", "--seed", "1", "--cases", "3000", "--known", list];
    let hunt = |dbms: &str| caqtus.hunt(&[&words[..], &["--dbms", dbms, "--out", "out"]].concat()).1;
    let json = hunt("sqlite");
    assert_eq!(json["gone"].as_array().map(Vec::len), Some(1), "{json}");
    assert_eq!((&json["gone"][0]["last_seen"], &json["not_looked_at"]), (&"3.1.0".into(), &0.into()), "{json}");
    let json = hunt("planted:drop-row");
    assert_eq!((&json["gone"], &json["not_looked_at"]), (&json!([]), &0.into()), "it is there: {json}");
}
