//! A query agrees with the same query in which a value is folded; what a case changes is counted and undone.

use crate::support::{Caqtus, Planted, engines};
use caqtus::config::STATEMENT_LIMITS;
use caqtus::dbms::target::Target;
use serde_json::Value;

#[test]
fn a_change_that_is_lost_is_reported_with_what_it_leaves() {
    let caqtus = Caqtus::new();
    let found = caqtus.planted("lost-change", "coddtest", &["--cases", "600"]);
    let Planted { case, script, .. } = &found;
    assert_eq!(case["checks"][0]["relation"], "same-effect", "{case}");
    assert!(script.contains("must leave the same rows, and change as many"), "{script}");
    assert!(script.contains("\nBEGIN;\n") && script.contains("\nROLLBACK;\n"), "{script}");
    assert!(script.contains("'rows changed' | "), "{script}");
    found.shows_there_alone();
}

#[test]
fn a_folded_value_is_made_anew_when_the_case_shrinks() {
    let caqtus = Caqtus::new();
    let found = caqtus.planted("wrong-case", "coddtest", &["--cases", "600"]);
    let Planted { case, script, .. } = &found;
    let queries = case["queries"].as_array().expect("queries");
    assert_eq!((queries.len(), &case["reduced"]), (3, &Value::Bool(true)), "{case}");
    // The text has a hole that the first query fills, and the script what fills it on the rows that are left.
    assert_eq!(queries[2]["sql"]["holes"][0]["step"], 0, "{case}");
    assert!(script.contains("CASE WHEN (") && !script.contains(" of query 1]"), "{script}");
    let rows = queries[0]["result"]["rows"].as_array().expect("rows").len();
    let branches = script.rsplit("-- Query 3").next().expect("the folded query").matches("WHEN (").count();
    assert!(branches <= rows && branches > 0, "{script}");
}

#[test]
fn changes_are_counted_and_undone_on_every_engine() {
    let names = ["duckdb@1.4.5", "postgres@15.18", "postgres@18.4", "mariadb@10.11.5"];
    let others = names.into_iter().filter_map(engines::engine);
    for target in others.chain(["sqlite".to_owned()]) {
        let parsed: Target = target.parse().expect("a target");
        let mut connection = parsed.open(&engines::data_dir(), STATEMENT_LIMITS).expect("opens");
        connection.reset().expect("resets");
        for statement in ["CREATE TABLE t(a INT)", "INSERT INTO t VALUES (1), (2), (3)"] {
            connection.execute(statement).expect(statement);
        }
        let before = connection.query("SELECT a FROM t").expect("reads");
        for (statement, changed) in [
            ("UPDATE t SET a = a + 10 WHERE a > 1", Some(2)),
            ("DELETE FROM t", Some(3)),
            ("INSERT INTO t SELECT a FROM t", Some(3)),
            ("UPDATE nothing SET a = 1", None),
        ] {
            connection.begin().expect("begins");
            assert_eq!(connection.change(statement).ok().flatten(), changed, "{target}: {statement}");
            if changed.is_some() {
                assert_ne!(connection.query("SELECT a FROM t").expect("reads"), before, "{target}: {statement}");
            }
            connection.roll_back().expect("undoes");
            assert_eq!(connection.query("SELECT a FROM t").expect("reads"), before, "{target}: {statement}");
        }
    }
}

#[test]
fn most_values_are_folded_on_every_engine() {
    let caqtus = Caqtus::new();
    let data = engines::data_dir();
    let data = data.to_str().expect("UTF-8");
    for (name, places) in [("duckdb@1.4.5", 10), ("postgres@15.18", 10), ("postgres@18.4", 10), ("mariadb@10.11.5", 10)]
    {
        let Some(target) = engines::engine(name) else { continue };
        let (mut pass, mut cases) = (0, 0);
        for seed in ["2", "3"] {
            let words =
                ["--dbms", &target, "--oracle", "coddtest", "--cases", "192", "--seed", seed, "--data-dir", data];
            // An engine may have bugs that are not planted.
            let (code, json) = caqtus.hunt(&words);
            assert!(code == 0 || code == 1, "{target}: {json}");
            assert_eq!(json["classes"].as_u64(), Some(places), "{target}: {json}");
            pass += json["outcomes"]["pass"].as_u64().expect("a number");
            cases += json["cases"].as_u64().expect("a number");
        }
        assert!(pass * 2 >= cases, "{target}: {pass} of {cases}");
    }
}

#[test]
fn sqlite_stores_no_subquery_that_may_see_the_statement_s_own_changes() {
    let caqtus = Caqtus::new();
    let (mut stored, mut subqueries) = (0, 0);
    for block in ["0", "1", "2", "3"] {
        let words = ["case", "--oracle", "coddtest", "--class", "folded-update", "--seed", "1", "--block", block];
        let output = caqtus.run(&words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        for update in text.lines().filter(|line| line.starts_with("UPDATE t") && line.contains(" SET ")) {
            let set = update.split(" WHERE ").next().expect("a statement");
            stored += usize::from(set.contains("CAST("));
            subqueries += usize::from(set.contains("SELECT "));
        }
    }
    assert!(stored > 20, "{stored}");
    assert_eq!(subqueries, 0);
}

#[test]
fn the_least_of_texts_that_are_equal_and_not_the_same_is_not_asked_for() {
    let caqtus = Caqtus::new();
    let mut collated = 0;
    for block in 20..40 {
        let block = block.to_string();
        let words = ["case", "--oracle", "coddtest", "--class", "folded-group-by", "--seed", "1", "--block", &block];
        let output = caqtus.run(&words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let columns = text.lines().filter(|line| line.starts_with("CREATE TABLE")).flat_map(|line| line.split(", "));
        let other = |column: &&str| column.contains(" COLLATE NOCASE") || column.contains(" COLLATE RTRIM");
        for column in columns.filter(other) {
            let name = column.rsplit('(').find(|part| part.contains(" COLLATE ")).unwrap_or(column);
            let name = name.split(' ').next().unwrap_or_default();
            collated += 1;
            let least = text.lines().find(|line| line.contains("MIN(a") && line.contains(&format!(".{name}) FROM")));
            assert_eq!(least, None, "{column}");
        }
    }
    assert!(collated > 1, "{collated}");
}
