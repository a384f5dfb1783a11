//! Engines that are Python modules, shown with the SQLite that Python carries: one that works, and ones that break.

use crate::support::{Caqtus, last_json};
use caqtus::caq::class::parse_classes;
use caqtus::caq::proof::{Pair, Record, Verdict};
use caqtus::config::{STATEMENT_LIMITS, StatementLimits};
use caqtus::dbms::python::Python;
use caqtus::dbms::{Connection, ErrorClass};
use caqtus::sql::profile::Profile;
use caqtus::sql::types::Value;
use std::fs;

/// A profile as a user writes one, with something that goes before each statement.
pub(crate) fn profile(name: &str, before: &str) -> String {
    format!(
        r#"
extends = "sqlite"
name = "{name}"
wire = "python"
switches = []
python = """
import os, signal, sqlite3, sys, time

def connect():
    return sqlite3.connect(":memory:", isolation_level=None)

def version():
    return sqlite3.sqlite_version

def run(connection, sql):
    {before}
    cursor = connection.execute(sql)
    return cursor.fetchall() if cursor.description else None
"""

[[errors]]
class = "semantic"
codes = ["OperationalError"]
[[errors]]
class = "internal"
codes = ["AssertionError"]
"#
    )
}

fn open(before: &str) -> Python {
    let base = include_str!("../corpus/dialects/sqlite.toml");
    let operators = include_str!("../corpus/dialects/sqlite-operators.toml");
    let profile = Profile::parse("own", &profile("own", before), Some(base), operators).expect("a profile");
    let limits = StatementLimits { time_max_ms: 300, rows_max: 10, ..STATEMENT_LIMITS };
    Python::start(None, profile, limits).expect("starts")
}

#[test]
fn values_and_errors_come_back() {
    let mut db = open("assert 'mistake' not in sql, 'a mistake'");
    db.execute("CREATE TABLE t(a INTEGER PRIMARY KEY, b)").expect("creates");
    db.execute("INSERT INTO t VALUES (1, x'00ff'), (2, 'ü'''), (3, 0.5), (4, NULL)").expect("inserts");
    let rows = db.rows("SELECT b, 9223372036854775807, 9e999, char(0) FROM t ORDER BY a").expect("runs");
    let column: Vec<Value> = rows.iter().map(|row| row[0].clone()).collect();
    let (blob, text) = (Value::Blob(vec![0, 255]), Value::Text("ü'".as_bytes().to_vec()));
    assert_eq!(column, [blob, text, Value::Real(0.5), Value::Null]);
    assert_eq!(rows[0][1..], [Value::Int(i64::MAX), Value::Real(f64::INFINITY), Value::Text(vec![0])]);
    let class = |db: &mut Python, sql: &str| db.rows(sql).expect_err(sql).class;
    assert_eq!(class(&mut db, "SELECT nothing FROM t"), ErrorClass::Semantic);
    assert_eq!(class(&mut db, "INSERT INTO t(a) VALUES (1)"), ErrorClass::Data);
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 11) SELECT i FROM n";
    assert_eq!(class(&mut db, many), ErrorClass::Limit);
    assert_eq!(db.rows("SELECT COUNT(*) FROM t").expect("still there"), [[Value::Int(4)]]);
    // Nothing interrupts this one, so its process goes, and the database with it.
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT MAX(i) FROM n";
    assert_eq!(class(&mut db, endless), ErrorClass::Limit);
    assert_eq!(class(&mut db, "SELECT 1"), ErrorClass::ConnectionLost);
    db.reset().expect("comes back");
    assert_eq!(class(&mut db, "SELECT 'mistake'"), ErrorClass::Internal);
    db.reset().expect("comes back");
    assert_eq!(class(&mut db, "SELECT a FROM t"), ErrorClass::Semantic);
}

#[test]
fn a_crash_comes_with_its_last_words() {
    let crash = "'boom' in sql and (print('the last words', file=sys.stderr, flush=True), os.kill(os.getpid(), signal.SIGSEGV))";
    let mut db = open(crash);
    let error = db.rows("SELECT 'boom'").expect_err("crashes");
    assert_eq!(error.class, ErrorClass::Crash, "{error}");
    assert!(error.message.contains("signal: 11") && error.message.contains("the last words"), "{error}");
    db.reset().expect("comes back");
    assert_eq!(db.rows("SELECT 1").expect("runs"), [[Value::Int(1)]]);
    // What a panic says comes before its backtrace, however long that is.
    let panic = "'boom' in sql and (print('thread main panicked at core/vdbe.rs:12:5:\\\\nthe cursor is gone\\\\nstack backtrace:\\\\n' + \
        ''.join(f'  {n}: core::f{n}\\\\n      at /src/{n}.rs:1:2\\\\n' for n in range(40)), file=sys.stderr, flush=True), \
        os.kill(os.getpid(), signal.SIGABRT))";
    let message = open(panic).rows("SELECT 'boom'").expect_err("crashes").message;
    assert!(message.contains("panicked at core/vdbe.rs:12:5:; the cursor is gone"), "{message}");
    assert!(!message.contains("core::f"), "{message}");
    // Killed from outside, as by a machine without memory: nothing is said of the engine.
    let error = open("'boom' in sql and os.kill(os.getpid(), signal.SIGKILL)").rows("SELECT 'boom'").expect_err("ends");
    assert_eq!(error.class, ErrorClass::ConnectionLost, "{error}");
}

#[test]
fn one_that_disobeys_its_own_limit_hangs() {
    let base = include_str!("../corpus/dialects/sqlite.toml");
    let operators = include_str!("../corpus/dialects/sqlite-operators.toml");
    let text = profile("own", "'long' in sql and time.sleep(60)");
    let text = text.replace("def version", "def limit(connection, ms):\n    pass\n\ndef version");
    let profile = Profile::parse("own", &text, Some(base), operators).expect("a profile");
    let limits = StatementLimits { time_max_ms: 100, ..STATEMENT_LIMITS };
    let mut db = Python::start(None, profile, limits).expect("starts");
    assert_eq!(db.rows("SELECT 'long'").expect_err("hangs").class, ErrorClass::Hang);
    db.reset().expect("comes back");
    assert_eq!(db.rows("SELECT 1").expect("runs"), [[Value::Int(1)]]);
}

/// A corpus of the user's beside the shipped one, and the program with it.
fn with_dialect(name: &str, before: &str) -> Caqtus {
    let caqtus = Caqtus::new();
    let dialects = caqtus.path("corpus/dialects");
    fs::create_dir_all(&dialects).expect("a directory");
    fs::write(dialects.join(format!("{name}.toml")), profile(name, before)).expect("writes");
    caqtus
}

fn hunt(caqtus: &Caqtus, name: &str, words: &[&str]) -> (i32, serde_json::Value) {
    let mut all =
        vec!["hunt", "--json", "--quiet", "--dbms", name, "--workers", "1", "--seed", "5", "--class", "tlp-where*"];
    all.extend(words);
    let output = caqtus.command(&all).env("CAQTUS_CORPUS", caqtus.path("corpus")).output().expect("starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().unwrap_or_else(|| panic!("{said}")), last_json(&String::from_utf8_lossy(&output.stdout)))
}

#[test]
fn a_profile_of_the_user_is_a_target() {
    let caqtus = with_dialect("pylite", "pass");
    let (code, summary) = hunt(&caqtus, "pylite", &["--cases", "192"]);
    assert_eq!(code, 0, "{summary}");
    assert!(summary["outcomes"]["pass"].as_u64() > Some(100), "{summary}");
    let unknown = caqtus.run(&["hunt", "--dbms", "pylite", "--cases", "1"]);
    assert_eq!(unknown.status.code(), Some(2));
}

#[test]
fn what_is_wrong_in_an_engine_is_found() {
    // Where a condition is negated, no row comes back.
    let wrong = "sql = sql.replace(' WHERE NOT ', ' WHERE 0 AND NOT ')";
    let (code, summary) = hunt(&with_dialect("wronglite", wrong), "wronglite", &["--cases", "192", "--keep", "1"]);
    assert_eq!(code, 1, "{summary}");
    assert!(summary["reasons"]["fail: wrong-result"].as_u64() > Some(0), "{summary}");
    // What it is asked before the hunt does not bring it down.
    let crash = "' WHERE NOT ' in sql and '(NULL)' not in sql and os.kill(os.getpid(), signal.SIGSEGV)";
    let (code, summary) = hunt(&with_dialect("crashlite", crash), "crashlite", &["--cases", "64", "--keep", "1"]);
    assert_eq!(code, 1, "{summary}");
    assert_eq!(summary["cases"], 64, "{summary}");
    assert!(summary["reasons"]["fail: crash"].as_u64() > Some(0), "{summary}");
}

#[test]
fn settings_stay_only_where_they_matter() {
    let caqtus = Caqtus::new();
    // Wrong with one setting only; without another one texts are equal that are not the same, which classes take for
    // granted they are not. The engine forgets neither before its database goes.
    let pragma = |name: &str| format!("connection.execute('PRAGMA {name}').fetchone()[0]");
    let before = format!(
        "sql = sql.replace(' WHERE NOT ', ' WHERE 0 AND NOT ') if {} == 5 else sql; \
         sql = sql.replace('a TEXT', 'a TEXT COLLATE NOCASE') if {} != 7 else sql",
        pragma("user_version"),
        pragma("application_id")
    );
    let settings = [
        "PRAGMA cache_size = 100",
        "PRAGMA user_version = 5",
        "PRAGMA temp_store = 2; PRAGMA synchronous = 0",
        "PRAGMA application_id = 7",
        "PRAGMA foreign_keys = ON",
    ];
    let text =
        profile("settinglite", &before).replace("switches = []", &format!("switches = []\nstart = {settings:?}"));
    // A statement at a time, as this module takes them.
    let text = text.replace(
        "    cursor = connection.execute(sql)",
        "    *first, sql = sql.split('; ')\n    [connection.execute(one) for one in first]\n    cursor = connection.execute(sql)",
    );
    let dialects = caqtus.path("corpus/dialects");
    fs::create_dir_all(&dialects).expect("a directory");
    fs::write(dialects.join("settinglite.toml"), text).expect("writes");
    let (code, summary) = hunt(&caqtus, "settinglite", &["--cases", "192", "--keep", "1", "--snippets", "0"]);
    assert_eq!(code, 1, "{summary}");
    let mut without_foreign_keys = 0;
    for found in summary["findings"].as_array().expect("findings") {
        let dir = caqtus.path(found["dir"].as_str().expect("a directory"));
        let case = fs::read_to_string(dir.join("case.json")).expect("reads");
        let case: serde_json::Value = serde_json::from_str(&case).expect("JSON");
        let statements: Vec<&str> =
            case["statements"].as_array().expect("statements").iter().filter_map(|s| s.as_str()).collect();
        assert!(statements.contains(&"PRAGMA user_version = 5"), "{statements:?}");
        assert!(statements.contains(&"PRAGMA application_id = 7"), "{statements:?}");
        assert!(!statements.iter().any(|s| s.contains("cache_size") || s.contains("temp_store")), "{statements:?}");
        let refers = statements.iter().any(|s| s.contains("REFERENCES"));
        let enforces = statements.contains(&"PRAGMA foreign_keys = ON");
        assert_eq!(refers, enforces, "{statements:?}");
        without_foreign_keys += usize::from(!refers);
    }
    assert!(without_foreign_keys > 0, "{summary}");
}

/// What the program says about a target with something before each statement.
fn check(name: &str, before: &str) -> String {
    let caqtus = with_dialect(name, before);
    let mut command = caqtus.command(&["dbms", "check", name]);
    let output = command.env("CAQTUS_CORPUS", caqtus.path("corpus")).output().expect("starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn what_an_engine_does_not_keep_is_not_relied_on() {
    let keeps = "text-equality-is-identity";
    let sound = check("soundlite", "pass");
    assert!(sound.contains(keeps) && !sound.contains("does not enforce"), "{sound}");
    // Keys are taken and ignored, and texts that differ in their case are equal.
    let before = "sql = sql.replace(' PRIMARY KEY', '').replace(' UNIQUE', '')\n    \
                  sql = sql.replace('a TEXT', 'a TEXT COLLATE NOCASE') if sql.startswith('CREATE TABLE') else sql";
    let unsound = check("unsoundlite", before);
    assert!(unsound.contains("the target does not enforce keys"), "{unsound}");
    let guarantees = unsound.lines().find(|line| line.starts_with("guarantees:")).expect("a line");
    assert!(!guarantees.contains(keeps), "{guarantees}");
}

/// A class that its target does not speak against is run on the embedded SQLite, too.
#[test]
fn what_another_engine_disagrees_with_is_quarantined() {
    // A wrong class, on whose members this engine agrees.
    let caqtus = with_dialect("blindlite", "sql = sql.replace(' IS NOT NULL', ' IS NOT 17.25')");
    let text = "[[class]]\nname = 'c'\nschema = 'CREATE TABLE t1(c0 INT)'\nplaceholders = {}\n\
                members = ['SELECT t1.c0 FROM t1', 'SELECT t1.c0 FROM t1 WHERE t1.c0 IS NOT NULL']\n";
    fs::write(caqtus.path("c.toml"), text).expect("writes");
    let classes = parse_classes("c.toml", text).expect("a class");
    let record = Record {
        id: Pair(0, 1).id("c"),
        hash: classes[0].question(Pair(0, 1)).expect("a pair").hash(),
        verdict: Verdict::Proven,
        assumptions: std::collections::BTreeSet::new(),
        reason: None,
        prover: "a wrong one".to_owned(),
    };
    fs::write(caqtus.path("p.jsonl"), serde_json::to_string(&record).expect("JSON")).expect("writes");
    let run = |words: &[&str]| {
        let output = caqtus.command(words).env("CAQTUS_CORPUS", caqtus.path("corpus")).output().expect("starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code().unwrap_or_else(|| panic!("{said}")), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let words = ["oracle", "import", "c.toml", "--proofs", "p.jsonl", "--dbms", "blindlite", "--quiet", "--json"];
    let (code, totals) = run(&words);
    assert_eq!((code, &last_json(&totals)["quarantined"]), (1, &1.into()), "{totals}");
    let (_, shown) = run(&["oracle", "show", "--store", "c"]);
    let evidence: serde_json::Value = serde_json::from_str(&shown[shown.find("\n{").expect("the evidence")..])
        .unwrap_or_else(|e| panic!("{e}: {shown}"));
    assert_eq!(evidence["checked"]["blindlite"]["against"], serde_json::json!([]), "{shown}");
    assert!(evidence["checked"]["blindlite"]["pass"].as_u64() > Some(0), "{shown}");
    assert_eq!(evidence["others"]["sqlite"]["against"].as_array().map(Vec::len), Some(1), "{shown}");
}

#[test]
fn a_module_that_is_not_there_is_said() {
    let caqtus = Caqtus::new();
    let output = caqtus.run(&["hunt", "--dbms", "turso:/nowhere", "--cases", "1"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("No module named") && said.contains("caqtus dbms install turso"), "{said}");
}
