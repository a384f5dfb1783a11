//! A bug becomes a test of the engine that it was found in: a script for its own shell that says whether the bug is there,
//! and files for its own runner. A class that is wrong serves as a bug here: its members differ on every engine.

use crate::support::engines::{PgServer, skip};
use crate::support::{Caqtus, succeed};
use crate::wrong_classes_are_found::WRONG;
use caqtus::config::STATEMENT_LIMITS;
use caqtus::dbms::target::Target;
use caqtus::sql::types::Value;
use std::fs;

/// The class whose finding becomes a test.
const CLASS: &str = "wrong-not-in-null";

/// A finding of the wrong class: its identifier, and its `repro.sql`.
fn found(caqtus: &Caqtus, dbms: &str) -> (String, String) {
    fs::write(caqtus.path("wrong.toml"), WRONG).expect("writes");
    let words = [
        "--dbms",
        dbms,
        "--catalogue",
        "wrong.toml",
        "--class",
        CLASS,
        "--seed",
        "1",
        "--cases",
        "300",
        "--workers",
        "1",
    ];
    let (code, json) = caqtus.hunt(&[&words[..], &["--keep", "1", "--max-bugs", "1", "--out", "out"]].concat());
    assert_eq!(code, 1, "{json}");
    let text = |key: &str| json["findings"][0][key].as_str().unwrap_or_else(|| panic!("{json}")).to_owned();
    let script = fs::read_to_string(caqtus.path(&text("dir")).join("repro.sql")).expect("repro.sql");
    (text("id"), script)
}

#[test]
fn a_script_says_whether_the_bug_is_there() {
    let caqtus = Caqtus::new();
    let (_, script) = found(&caqtus, "sqlite");
    let verdict = |script: &str| {
        let target: Target = "sqlite".parse().expect("a target");
        let mut connection = target.open(&caqtus.path("data"), STATEMENT_LIMITS).expect("opens");
        let lines = script.lines().filter(|line| !line.starts_with("--") && !line.starts_with('.'));
        let sql = lines.collect::<Vec<_>>().join("\n");
        let mut last = Vec::new();
        for statement in sql.split(";\n").map(|text| text.trim().trim_end_matches(';')).filter(|text| !text.is_empty())
        {
            last = connection.rows(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
        }
        last
    };
    let text = |text: &str| vec![vec![Value::Text(text.as_bytes().to_vec())]];
    assert_eq!(verdict(&script), text("bug"), "{script}");
    // On an engine that gives the first result twice.
    assert_eq!(verdict(&with_the_first_result_twice(&script)), text("no bug"), "{script}");
}

/// A script in which the second result that is stored is the first one.
fn with_the_first_result_twice(script: &str) -> String {
    let stores = |line: &&str, table: &str| {
        ["CREATE TABLE ", "INSERT INTO "].iter().any(|start| line.starts_with(&format!("{start}{table} ")))
    };
    let first = script.lines().find(|line| stores(line, "caqtus_1")).expect("it stores the first").to_owned();
    assert!(script.lines().any(|line| stores(&line, "caqtus_2")), "{script}");
    let other = |line: &str| if stores(&line, "caqtus_2") { first.replacen("_1", "_2", 1) } else { line.to_owned() };
    script.lines().flat_map(|line| [other(line), "\n".to_owned()]).collect()
}

#[test]
fn what_pg_regress_expects_is_what_psql_prints_on_a_server_that_is_right() {
    let caqtus = Caqtus::new();
    let (id, _) = found(&caqtus, "postgres");
    let server = PgServer::start();
    let words = ["bug", "as-test", &id, "--findings", "out", "--out", "regress"];
    let paths = succeed(&caqtus, 0, &words);
    let names = [format!("regress/sql/caqtus_{id}.sql"), format!("regress/expected/caqtus_{id}.out")];
    assert_eq!(paths.lines().collect::<Vec<_>>(), names);
    let [script, expected] = names.map(|name| fs::read_to_string(caqtus.path(&name)).expect("reads"));
    let Some(printed) = server.psql("postgres", &script) else { return skip("PostgreSQL here has no psql") };
    assert_eq!(printed, expected.replace("\n no bug\n", "\n bug\n"));
    let right = server.psql("postgres", &with_the_first_result_twice(&script)).expect("psql");
    assert_eq!(right, with_the_first_result_twice(&expected));
    // Printed, they stand behind their names.
    let both = succeed(&caqtus, 0, &words[..5]);
    assert_eq!(both, format!("==> sql/caqtus_{id}.sql <==\n{script}\n==> expected/caqtus_{id}.out <==\n{expected}"));
}

#[test]
fn what_cannot_be_tested_is_refused() {
    let caqtus = Caqtus::new();
    let refused = |id: &str, out: &str, style: &str, why: &str| {
        let output = caqtus.run(&["bug", "as-test", id, "--style", style, "--findings", out]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(why), "{said}");
        assert_eq!(output.stdout, b"");
    };
    let (id, _) = found(&caqtus, "sqlite");
    refused(&id, "out", "postgres", "a finding of sqlite");
    let approx = caqtus.planted("drop-row", "approx", &["--cases", "3000"]);
    let id = approx.case["id"].as_str().expect("an id");
    refused(id, "drop-row", "sqllogictest", "no runner can test it");
}
