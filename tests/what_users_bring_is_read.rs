//! What users bring: schemas of their own, classes that have a fault, names of versions. Each says what became of it.

use crate::support::Caqtus;
use std::io::Write as _;
use std::process::Stdio;

#[test]
fn a_real_schema_is_read_and_what_is_assumed_is_said() {
    let caqtus = Caqtus::new();
    let dump = "CREATE TABLE IF NOT EXISTS shop.\"Customer\" (id SERIAL PRIMARY KEY, name VARCHAR(20) NOT NULL DEFAULT 'x',\n\
                balance DECIMAL(10,2), born DATE, place GEOMETRY);\nCREATE VIEW v AS SELECT 1;\n";
    std::fs::write(caqtus.path("shop.sql"), dump).expect("writes");
    let prover = caqtus.path("none").display().to_string();
    let output =
        caqtus.run(&["discover", "--llm", "rules", "--seeds", "1", "--schema", "shop.sql", "--prover", &prover]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    for line in [
        "shop.sql: 1 tables with 4 columns",
        "shop.sql: assumed: VARCHAR(20) is taken as TEXT, of any length, compared byte by byte (1 columns)",
        "shop.sql: assumed: DECIMAL(10,2) is taken as REAL, a floating-point number, not exact (1 columns)",
        "shop.sql: assumed: DATE is taken as TEXT",
        "shop.sql: left out: column shop.\"Customer\".place: no type of classes is near GEOMETRY",
        "shop.sql: other statements, passed over: 1 CREATE VIEW",
        // The schema was no obstacle.
        "the prover",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    std::fs::write(caqtus.path("shop.sql"), "CREATE TABLE t(a GEOMETRY)").expect("writes");
    let output =
        caqtus.run(&["discover", "--llm", "rules", "--seeds", "1", "--schema", "shop.sql", "--prover", &prover]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("no table that seeds can be made over"), "{said}");
}

#[test]
fn what_a_class_lacks_is_named() {
    let caqtus = Caqtus::new();
    let class = |second: &str| {
        format!(
            "[[class]]\nname = 'c'\nschema = 'CREATE TABLE t1(c0 INT)'\nplaceholders = {{ p1 = 'Expr(t1: BOOLEAN)' }}\n\
             members = ['SELECT t1.c0 FROM t1 WHERE t1.p1', {second}]\n"
        )
    };
    let write = |name: &str, text: &str| std::fs::write(caqtus.path(name), text).expect("writes");
    write("c.toml", &class("{ sql = 'SELECT t1.c0 FROM t1 WHERE t1.p1', switch = 'nope' }"));
    let output = caqtus.run(&["hunt", "--catalogue", "c.toml", "--cases", "1", "--quiet"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(2) && said.contains("member 2: sqlite has no optimizer switch nope"),
        "{said}"
    );
    // A proof of what a member was before it was edited.
    write("c.toml", &class("'SELECT t1.c0 FROM t1 WHERE t1.p1 IS TRUE'"));
    let mut record = caqtus.command(&["oracle", "record", "--catalogue", "c.toml"]);
    let mut record = record.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
    let answer = b"{\"id\": \"c/1~2\", \"verdict\": \"proven\"}\n";
    record.stdin.take().expect("piped").write_all(answer).expect("writes");
    std::fs::write(caqtus.path("p.jsonl"), record.wait_with_output().expect("ends").stdout).expect("writes");
    let from = ["--catalogue", "c.toml", "--proofs", "p.jsonl"];
    let hunt = || caqtus.run(&[&["hunt", "--cases", "5", "--quiet"], &from[..]].concat());
    assert_eq!(hunt().status.code(), Some(0));
    write("c.toml", &class("'SELECT t1.c0 FROM t1 WHERE NOT (t1.p1 IS NOT TRUE)'"));
    let why =
        "the recorded proof c/1~2 counts for nothing: the schema, a placeholder, member 1 or member 2 was edited since";
    let said = String::from_utf8_lossy(&hunt().stderr).into_owned();
    assert!(said.contains(why), "{said}");
    for words in [["oracle", "list"].as_slice(), &["oracle", "show", "c"]] {
        let shown = String::from_utf8_lossy(&caqtus.run(&[words, &from[..]].concat()).stdout).into_owned();
        assert!(shown.contains(why), "{words:?}: {shown}");
    }
}

#[test]
fn a_package_that_carries_another_version_says_so() {
    let caqtus = Caqtus::new();
    let known = String::from_utf8_lossy(&caqtus.run(&["dbms", "list", "--known"]).stdout).into_owned();
    let line = known.lines().find(|line| line.starts_with("duckdb@1.3.4")).expect("it is known");
    assert!(line.ends_with("it is duckdb 1.3.2, the number is its package's"), "{line}");
}
