//! A query on an engine that this program starts itself reads no file of the machine and writes none, whatever functions it
//! names.

use crate::support::engines;
use caqtus::config::STATEMENT_LIMITS;
use caqtus::dbms::Connection;
use caqtus::dbms::target::Target;
use caqtus::sql::types::Value;
use std::path::Path;

fn open(target: &str) -> Box<dyn Connection> {
    std::fs::create_dir_all(engines::data_dir()).expect("a directory");
    let target: Target = target.parse().expect("a target");
    target.open(&engines::data_dir(), STATEMENT_LIMITS).unwrap_or_else(|e| panic!("{target}: {e:?}"))
}

/// Each query fails, or gives nothing but NULL.
fn check(db: &mut dyn Connection, queries: &[&str]) {
    for sql in queries {
        if let Ok(rows) = db.rows(sql) {
            let all = rows.into_iter().flatten();
            let given: Vec<Value> = all.filter(|value| *value != Value::Null).collect();
            assert!(given.is_empty(), "{sql}: {given:?}");
        }
    }
}

/// A name in a directory that everybody may write to; nothing has it.
fn target_file(name: &str) -> String {
    std::env::temp_dir().join(format!("caqtus-reach-{name}-{}", std::process::id())).display().to_string()
}

#[test]
fn in_postgresql() {
    let mut db = open("postgres");
    let file = target_file("postgres");
    check(
        db.as_mut(),
        &[
            "SELECT pg_read_file('/etc/passwd')",
            "SELECT pg_ls_dir('/')",
            "SELECT pg_stat_file('/etc/passwd')",
            "SELECT lo_import('/etc/passwd')",
            &format!("SELECT lo_export(lo_from_bytea(0, 'x'), '{file}')"),
            "SELECT pg_reload_conf()",
            "SELECT rolsuper FROM pg_roles WHERE rolname = current_user AND rolsuper",
        ],
    );
    assert!(db.execute(&format!("COPY (SELECT 1) TO '{file}'")).is_err());
    assert!(db.execute("COPY (SELECT 1) TO PROGRAM 'cat'").is_err());
    assert!(!Path::new(&file).exists());
}

#[test]
fn in_mariadb() {
    let Some(mariadb) = engines::mariadb() else { return };
    let mut db = open(&mariadb);
    let file = target_file("mariadb");
    check(db.as_mut(), &["SELECT LOAD_FILE('/etc/passwd')", "SELECT LOAD_FILE('/etc/hostname')"]);
    assert!(db.execute(&format!("SELECT 1 INTO OUTFILE '{file}'")).is_err());
    assert!(db.execute("SET GLOBAL max_connections = 5").is_err());
    assert!(!Path::new(&file).exists());
}

#[test]
fn in_duckdb() {
    let Some(duckdb) = engines::duckdb() else { return };
    let mut db = open(&duckdb);
    let file = target_file("duckdb");
    let queries =
        ["SELECT * FROM read_text('/etc/passwd')", "SELECT * FROM glob('/*')", "SELECT * FROM '/etc/passwd.csv'"];
    check(db.as_mut(), &queries);
    assert!(db.execute(&format!("COPY (SELECT 1) TO '{file}'")).is_err());
    assert!(db.execute(&format!("ATTACH '{file}' AS other")).is_err());
    assert!(!Path::new(&file).exists());
    // Databases of ours are in memory, and are made anew all the same.
    db.reset().unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn in_sqlite() {
    let mut db = open("sqlite");
    let queries =
        ["SELECT load_extension('/nowhere')", "SELECT readfile('/etc/passwd')", "SELECT writefile('/tmp/x', 'x')"];
    for sql in queries {
        let error = db.rows(sql).expect_err(sql);
        let refused = error.message.contains("not authorized") || error.message.contains("no such function");
        assert!(refused, "{sql}: {error}");
    }
}
