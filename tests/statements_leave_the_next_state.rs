//! A statement that changes a table leaves what the query for the next state says, in its indexes too, and one that fails
//! nothing.

use crate::support::{Caqtus, engines};
use serde_json::Value;

/// Hunts on a planted fault, and returns the first finding and its script.
fn found(caqtus: &Caqtus, fault: &str) -> (Value, String) {
    let dbms = format!("planted:{fault}");
    let words = ["--dbms", &dbms, "--oracle", "state", "--snippets", "0", "--seed", "1", "--cases", "1200"];
    let (code, json) = caqtus.hunt(&[&words[..], &["--keep", "1", "--out", fault]].concat());
    assert_eq!(code, 1, "{json}");
    let dir = caqtus.path(json["findings"][0]["dir"].as_str().expect("a directory"));
    let case = std::fs::read_to_string(dir.join("case.json")).expect("case.json");
    let script = std::fs::read_to_string(dir.join("repro.sql")).expect("repro.sql");
    (serde_json::from_str(&case).expect("JSON"), script)
}

#[test]
fn a_lost_change_a_stale_index_and_a_half_done_statement_are_reported() {
    let caqtus = Caqtus::new();
    for (fault, words) in [
        ("lost-change", vec!["the next state, from the state before", "BEGIN", "ROLLBACK"]),
        ("stale-index", vec!["through an index", " INDEXED BY ", " DO UPDATE "]),
        ("half-done", vec!["the table before", "The statement must fail", "after the statement failed"]),
    ] {
        let (case, script) = found(&caqtus, fault);
        for word in words {
            assert!(script.contains(word), "{fault}: {word}: {script}");
        }
        assert_eq!(case["oracle"], "state");
        let id = case["id"].as_str().expect("an id");
        let shows = caqtus.run(&["bug", "replay", id, "--findings", fault]);
        assert_eq!(shows.status.code(), Some(1), "{}", String::from_utf8_lossy(&shows.stdout));
        let agrees = caqtus.run(&["bug", "replay", id, "--findings", fault, "--dbms", "sqlite"]);
        assert_eq!(agrees.status.code(), Some(0), "{}", String::from_utf8_lossy(&agrees.stdout));
    }
}

#[test]
fn many_statements_run_on_every_engine() {
    let caqtus = Caqtus::new();
    let data = engines::data_dir().display().to_string();
    let targets = [("duckdb@1.4.5", 10), ("postgres@15.18", 10), ("postgres@18.4", 10), ("mariadb@10.11.5", 9)];
    let others = targets.into_iter().filter_map(|(name, kinds)| Some((engines::engine(name)?, kinds)));
    for (target, kinds) in others.chain([("sqlite".to_owned(), 9)]) {
        let words = ["--dbms", &target, "--oracle", "state", "--snippets", "0", "--seed", "2", "--data-dir", &data];
        // An engine may have bugs that are not planted, and of such statements many break a constraint.
        let (code, json) = caqtus.hunt(&[&words[..], &["--cases", "400", "--max-void", "100"]].concat());
        assert!(code == 0 || code == 1, "{target}: {json}");
        assert_eq!(json["classes"].as_u64(), Some(kinds), "{target}: {json}");
        let (pass, cases) = (json["outcomes"]["pass"].as_u64(), json["cases"].as_u64());
        assert!(pass.zip(cases).is_some_and(|(pass, cases)| pass * 3 >= cases), "{target}: {json}");
    }
}
