//! A statement that changes a table leaves what the query for the next state says, in its indexes too, and one that fails
//! nothing.

use crate::support::{Caqtus, engines};

#[test]
fn a_lost_change_a_stale_index_and_a_half_done_statement_are_reported() {
    let caqtus = Caqtus::new();
    for (fault, words) in [
        ("lost-change", vec!["the next state, from the state before", "BEGIN", "ROLLBACK"]),
        ("stale-index", vec!["through an index", " INDEXED BY ", " DO UPDATE "]),
        ("half-done", vec!["the table before", "The statement must fail", "after the statement failed"]),
    ] {
        let found = caqtus.planted(fault, "state", &["--snippets", "0", "--cases", "1200"]);
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
