//! A statement that changes a table leaves what the query for the next state says, in its indexes too, and one that fails
//! nothing.

use crate::support::{Caqtus, engines};

#[test]
fn what_a_statement_leaves_wrong_is_reported() {
    let caqtus = Caqtus::new();
    for (fault, class, cases, words) in [
        ("lost-change", "*", "1200", vec!["the next state, from the state before", "BEGIN", "ROLLBACK"]),
        ("stale-index", "*", "1200", vec!["through an index", " INDEXED BY ", " DO UPDATE "]),
        ("half-done", "*", "1200", vec!["the table before", "The statement must fail", "after the statement failed"]),
        ("missed-action", "*-foreign-key", "300", vec!["REFERENCES", "changed beside it"]),
        ("missed-trigger", "*-trigger", "300", vec!["CREATE TRIGGER", "FROM lg"]),
        ("wrong-maximum", "*", "3000", vec!["by the reference evaluator", "MAX("]),
    ] {
        let found = caqtus.planted(fault, "state", &["--snippets", "0", "--class", class, "--cases", cases]);
        for word in words {
            assert!(found.script.contains(word), "{fault}: {word}: {}", found.script);
        }
        found.shows_there_alone();
    }
}

#[test]
fn many_statements_run_on_every_engine() {
    let caqtus = Caqtus::new();
    let data = engines::data_dir().display().to_string();
    let targets = [("duckdb@1.4.5", 10), ("postgres@15.18", 12), ("postgres@18.4", 12), ("mariadb@10.11.5", 11)];
    let others = targets.into_iter().filter_map(|(name, kinds)| Some((engines::engine(name)?, kinds)));
    for (target, kinds) in others.chain([("sqlite".to_owned(), 12)]) {
        let words = ["--dbms", &target, "--oracle", "state", "--snippets", "0", "--seed", "2", "--data-dir", &data];
        // An engine may have bugs that are not planted, and of such statements many break a constraint.
        let (code, json) = caqtus.hunt(&[&words[..], &["--cases", "400", "--max-void", "100"]].concat());
        assert!(code == 0 || code == 1, "{target}: {json}");
        assert_eq!(json["classes"].as_u64(), Some(kinds), "{target}: {json}");
        let (pass, cases) = (json["outcomes"]["pass"].as_u64(), json["cases"].as_u64());
        assert!(pass.zip(cases).is_some_and(|(pass, cases)| pass * 3 >= cases), "{target}: {json}");
    }
}

#[test]
fn a_statement_that_leaves_other_rows_each_time_is_no_bug() {
    let caqtus = Caqtus::new();
    let words =
        ["--dbms", "planted:any-number", "--oracle", "state", "--snippets", "0", "--seed", "1", "--cases", "1200"];
    let (code, json) = caqtus.hunt(&words);
    assert_eq!((code, &json["findings"]), (0, &serde_json::json!([])), "{json}");
    let flaky = &json["reasons"]["warning: flaky: a statement leaves other rows the second time"];
    assert!(flaky.as_u64() > Some(0), "{json}");
    assert!(caqtus.path("caqtus-findings/flaky").exists(), "somebody may look");
}
