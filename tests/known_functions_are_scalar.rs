//! The functions that the prover takes for ones of values are that in every engine at hand, by the engine's own catalogue.

use crate::support::engines;
use caqtus::config::STATEMENT_LIMITS;
use caqtus::dbms::Connection;
use caqtus::dbms::target::Target;
use caqtus::sql::types::Value;
use prover::lower::scalar_functions;
use std::collections::BTreeSet;

fn open(target: &str) -> Box<dyn Connection> {
    std::fs::create_dir_all(engines::data_dir()).expect("a directory");
    let target: Target = target.parse().expect("a target");
    target.open(&engines::data_dir(), STATEMENT_LIMITS).unwrap_or_else(|e| panic!("{target}: {e:?}"))
}

fn names(db: &mut dyn Connection, sql: &str) -> BTreeSet<String> {
    let rows = db.rows(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let text = |value: Value| match value {
        Value::Text(text) | Value::Blob(text) => String::from_utf8_lossy(&text).to_lowercase(),
        other => panic!("{sql}: {other:?}"),
    };
    rows.into_iter().flatten().map(text).collect()
}

/// No function of the list, whatever engine it stands for, may be among `others`. Those of `engine` are among `scalar`, but
/// for words of its grammar and what this build lacks.
fn check(engine: &str, scalar: &BTreeSet<String>, others: &BTreeSet<String>) {
    let (mut listed, mut found) = (0, 0);
    for (name, engines) in scalar_functions() {
        assert!(!others.contains(name), "{name} is an aggregate, yields several rows or is volatile in {engine}");
        if engines.contains(&engine) {
            listed += 1;
            found += usize::from(scalar.contains(name));
        }
    }
    assert!(listed > 40 && found * 2 > listed, "{engine} has {found} of {listed} functions");
}

#[test]
fn in_postgresql() {
    let mut db = open("postgres");
    let is_plain = "prokind = 'f' AND NOT proretset AND provolatile <> 'v'";
    let scalar = names(db.as_mut(), &format!("SELECT DISTINCT CAST(proname AS TEXT) FROM pg_proc WHERE {is_plain}"));
    let others =
        names(db.as_mut(), &format!("SELECT DISTINCT CAST(proname AS TEXT) FROM pg_proc WHERE NOT ({is_plain})"));
    for known in ["sum", "generate_series", "random"] {
        assert!(others.contains(known), "{known}");
    }
    check("postgres", &scalar, &others);
}

#[test]
fn in_duckdb() {
    let Some(duckdb) = engines::duckdb() else { return };
    let mut db = open(&duckdb);
    // A table function is none in an expression.
    let is_plain = "function_type IN ('scalar', 'macro') AND COALESCE(stability, '') <> 'VOLATILE' \
        AND COALESCE(NOT has_side_effects, TRUE)";
    let functions = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE";
    let scalar = names(db.as_mut(), &format!("{functions} {is_plain}"));
    let others = names(db.as_mut(), &format!("{functions} function_type NOT LIKE 'table%' AND NOT ({is_plain})"));
    for known in ["sum", "mode", "random"] {
        assert!(others.contains(known), "{known}");
    }
    check("duckdb", &scalar, &others);
}

#[test]
fn in_sqlite() {
    let mut db = open("sqlite");
    // Bit 11 is SQLITE_DETERMINISTIC.
    let is_plain = "type = 's' AND flags & 2048 <> 0";
    let scalar = names(db.as_mut(), &format!("SELECT DISTINCT name FROM pragma_function_list WHERE {is_plain}"));
    let others = names(db.as_mut(), &format!("SELECT DISTINCT name FROM pragma_function_list WHERE NOT ({is_plain})"));
    for known in ["sum", "random", "row_number"] {
        assert!(others.contains(known), "{known}");
    }
    check("sqlite", &scalar, &others);
}

/// MariaDB does not say what a function is: over two equal rows it must yield two equal values.
#[test]
fn in_mariadb() {
    let Some(mariadb) = engines::mariadb() else { return };
    let mut db = open(&mariadb);
    for sql in ["CREATE TABLE two(a INT, d DATE)", "INSERT INTO two VALUES (1, '2020-01-02'), (1, '2020-01-02')"] {
        db.execute(sql).unwrap_or_else(|e| panic!("{e}"));
    }
    let mut rows = |call: &str| db.rows(&format!("SELECT {call} FROM two")).ok();
    assert_eq!(rows("SUM(a)").map(|rows| rows.len()), Some(1));
    assert!(rows("RAND(a) + RAND()").is_some_and(|rows| rows[0] != rows[1]));
    let mut asked = 0;
    for (name, engines) in scalar_functions() {
        let calls: Vec<String> = match name {
            "position" => vec!["POSITION('a' IN 'ba')".to_owned()],
            "adddate" | "date_add" | "date_sub" | "subdate" => vec![format!("{name}(d, INTERVAL 1 DAY)")],
            "timestampadd" => vec!["TIMESTAMPADD(DAY, 1, d)".to_owned()],
            _ => {
                let lists =
                    ["a", "d", "a, a", "a, 'a'", "'a', a", "d, d", "a, a, a", "'a', 'b', 'c'", "'{}', '$', 'x'"];
                let more = ["d, '%Y'", "'{}'", "'{}', '$'", "'a', 1, 1, 'b'", ""];
                lists.iter().chain(&more).map(|arguments| format!("{name}({arguments})")).collect()
            }
        };
        let mut taken = false;
        for call in calls {
            let Some(rows) = rows(&call) else { continue };
            taken = true;
            assert!(rows.len() == 2 && rows[0] == rows[1], "{call} over two equal rows is {rows:?} in MariaDB");
        }
        if engines.contains(&"mariadb") {
            asked += 1;
            assert!(taken, "MariaDB takes {name} with no arguments that are tried");
        }
    }
    assert!(asked > 100, "{asked} functions");
}
