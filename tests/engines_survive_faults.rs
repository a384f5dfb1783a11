//! Every kind of engine survives what happens to it: statements that do not end, crashes, servers that go and come back,
//! and what is not there is said.

use crate::support::engines::{self, MariaServer, PgServer};
use crate::support::{Caqtus, kill, processes_naming};
use caqtus::catalogue;
use caqtus::config::{STATEMENT_LIMITS, StatementLimits};
use caqtus::dbms::target::Target;
use caqtus::dbms::{Connection, ErrorClass};
use caqtus::sql::types::{SqlType, Value};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const SHORT: StatementLimits = StatementLimits { time_max_ms: 300, ..STATEMENT_LIMITS };

fn open(target: &str, data: &Path) -> Box<dyn Connection> {
    let target: Target = target.parse().expect("a target");
    target.open(data, SHORT).unwrap_or_else(|e| panic!("{target}: {e:?}"))
}

fn class(connection: &mut dyn Connection, sql: &str) -> ErrorClass {
    match connection.rows(sql) {
        Err(error) => error.class,
        Ok(rows) => panic!("{sql}: {rows:?}"),
    }
}

/// What holds on every engine: errors have their classes, a failed statement leaves the database as it was, time is
/// bounded, types are read, and a reset gives an empty database.
fn answers(target: &str, data: &Path, endless: &str) {
    let mut connection = open(target, data);
    let db = connection.as_mut();
    let profile = catalogue::profile(target.split(['@', ':']).next().expect("a name")).expect("shipped");
    for round in 0..2 {
        for statement in &profile.start {
            db.execute(statement).unwrap_or_else(|e| panic!("{statement}: {e}"));
        }
        let name = |ty: SqlType| profile.types[&ty][0].clone();
        let (int, text, real) = (name(SqlType::Int), name(SqlType::Text), name(SqlType::Real));
        db.execute(&format!("CREATE TABLE t(a {int} PRIMARY KEY, b {text}, c {real})")).expect("creates");
        db.execute("INSERT INTO t VALUES (1, 'x', NULL), (2, 'ü''', 0.5)").expect("inserts");
        assert!(db.execute("INSERT INTO t(a) VALUES (1)").is_err(), "a key is unique");
        assert_eq!(class(db, "SELECT nothing FROM t"), ErrorClass::Semantic);
        assert_eq!(class(db, "SELEC 1"), ErrorClass::Semantic);
        let error = db.execute("SELEC 1").expect_err("it does not parse");
        assert_eq!(error.class, ErrorClass::Semantic, "{error}");
        let rows = db.rows("SELECT a, b, c, a > 1 FROM t ORDER BY a").expect("runs");
        assert_eq!(rows[0][..3], [Value::Int(1), Value::Text(b"x".to_vec()), Value::Null]);
        assert_eq!(rows[1][..3], [Value::Int(2), Value::Text("ü'".as_bytes().to_vec()), Value::Real(0.5)]);
        assert!(matches!(rows[1][3], Value::Bool(true) | Value::Int(1)));
        let types = db.types("SELECT a AS a, b AS b, c AS c, NULL AS d FROM t").expect("runs").expect("static types");
        assert_eq!(types[..3], [Some(SqlType::Int), Some(SqlType::Text), Some(SqlType::Real)]);
        // A view may keep another collation than the expression that it was made of.
        let texts = format!(
            "SELECT {} AS x UNION ALL SELECT {}",
            profile.cast("'a '", SqlType::Text),
            profile.cast("'A'", SqlType::Text)
        );
        db.execute(&format!("CREATE VIEW texts AS {texts}")).expect("creates");
        assert_eq!(db.rows("SELECT COUNT(*) FROM texts WHERE x = 'a'").expect("runs"), [[Value::Int(0)]]);
        let started = caqtus::clock::now();
        assert_eq!(class(db, endless), ErrorClass::Limit);
        assert!(started.elapsed() < Duration::from_secs(20));
        // PostgreSQL 18 makes one table of two that are joined on their key.
        let explained = db.rows(&caqtus::plan::explain(&profile, "SELECT * FROM t AS x, t AS y WHERE x.a < y.a"));
        let plan = caqtus::plan::read(profile.wire, &explained.expect("explains"));
        assert!(plan.size() >= 3, "{plan:?}");
        db.reset().unwrap_or_else(|e| panic!("round {round}: {e}"));
        assert_eq!(class(db, "SELECT * FROM t"), ErrorClass::Semantic);
    }
}

#[test]
fn duckdb_answers() {
    let Some(duckdb) = engines::duckdb() else { return };
    answers(
        &duckdb,
        &engines::data_dir(),
        "SELECT sum(a.i + b.i) FROM range(10000000) AS a(i), range(1000000) AS b(i)",
    );
}

#[test]
fn no_value_of_duckdb_is_read_as_null() {
    let Some(duckdb) = engines::duckdb() else { return };
    let mut connection = open(&duckdb, &engines::data_dir());
    for value in [
        "TRUE",
        "1::UTINYINT",
        "1::UBIGINT",
        "1::HUGEINT",
        "1::UHUGEINT",
        "1.5::FLOAT",
        "1.5::DECIMAL(10, 2)",
        "'a'::ENUM('a', 'b')",
        "uuid()",
        "DATE '2020-01-01'",
        "TIME '10:00:00'",
        "'10:00:00'::TIMETZ",
        "TIMESTAMP '2020-01-01 00:00:00'",
        "'2020-01-01'::TIMESTAMP_S",
        "'2020-01-01'::TIMESTAMP_MS",
        "'2020-01-01'::TIMESTAMP_NS",
        "'2020-01-01 00:00:00+00'::TIMESTAMPTZ",
        "INTERVAL '1 day'",
        "'101'::BIT",
        "'a'::BLOB",
    ] {
        let rows = connection.rows(&format!("SELECT i, {value} AS v, i FROM range(3) AS t(i)")).expect(value);
        assert_eq!(rows.len(), 3, "{value}");
        for (at, row) in rows.iter().enumerate() {
            let number = Value::Int(i64::try_from(at).expect("small"));
            assert!(row[0] == number && row[1] != Value::Null && row[2] == number, "{value}: {row:?}");
        }
    }
}

/// Whatever stands beside it: the same value has one form in every result.
#[test]
fn values_of_duckdb_are_read_as_it_casts_them_to_text() {
    let Some(duckdb) = engines::duckdb() else { return };
    let mut connection = open(&duckdb, &engines::data_dir());
    for value in [
        "DATE '2020-02-29'",
        "DATE '0001-01-01'",
        "DATE '0044-03-15 (BC)'",
        "DATE '12020-02-29'",
        "DATE 'infinity'",
        "DATE '-infinity'",
        "TIME '00:00:00'",
        "TIME '10:02:03.450'",
        "TIME '23:59:59.999999'",
        "TIMESTAMP '2020-02-29 12:34:56'",
        "TIMESTAMP '1969-12-31 23:59:59.000001'",
        "TIMESTAMP '0044-03-15 (BC) 10:00:00'",
        "TIMESTAMP '-infinity'",
        "'2020-01-01 01:02:03'::TIMESTAMP_S",
        "'1969-01-01 01:02:03.004'::TIMESTAMP_MS",
        "'2020-01-01 01:02:03.004005006'::TIMESTAMP_NS",
        "INTERVAL '0 day'",
        "INTERVAL '1 month'",
        "INTERVAL '14 months -3 days'",
        "INTERVAL '-1 day' + INTERVAL '90 minutes'",
        "INTERVAL '-14 months' - INTERVAL '1.5 seconds'",
        "INTERVAL '1000 hours'",
        "'b'::ENUM('a', 'b')",
        "'00000000-0000-0000-0000-000000000001'::UUID",
        "'ffffffff-1234-5678-9abc-0123456789ab'::UUID",
    ] {
        let rows = connection.rows(&format!("SELECT {value}, ({value})::VARCHAR, [{value}]")).expect(value);
        assert_eq!(rows[0][0], rows[0][1], "{value}");
        let Value::Text(text) = &rows[0][1] else { panic!("{value}: {rows:?}") };
        assert_eq!(rows[0][2], Value::Text([b"[", text.as_slice(), b"]"].concat()), "{value}");
    }
    let numbers =
        "SELECT 1.50::DECIMAL(10, 2), -0.05::DECIMAL(38, 2), 7::DECIMAL(4, 0), 5::UBIGINT, -5::HUGEINT, 5::UHUGEINT";
    let read = [Value::Real(1.5), Value::Real(-0.05), Value::Int(7), Value::Int(5), Value::Int(-5), Value::Int(5)];
    assert_eq!(connection.rows(numbers).expect("runs")[0], read);
    assert_eq!(connection.rows(&format!("{numbers}, [1]")).expect("runs")[0][..6], read);
}

#[test]
fn nested_values_of_duckdb_are_read() {
    let Some(duckdb) = engines::duckdb() else { return };
    let mut connection = open(&duckdb, &engines::data_dir());
    let row = [
        ("[1, NULL, 3]", "[1, NULL, 3]"),
        ("NULL::INTEGER[]", "NULL"),
        ("[]::INTEGER[]", "[]"),
        ("[['a'], [], NULL]", "[['a'], [], NULL]"),
        (
            "{'a': 1, 'b': 'a text of more than twelve bytes', 'c': NULL::INTEGER}",
            "{1, 'a text of more than twelve bytes', NULL}",
        ),
        ("MAP {'k': 1.50, 'l': -2.25}", "[{'k', 1.5}, {'l', -2.25}]"),
        ("array_value(1.5::DOUBLE, NULL)", "[1.5, NULL]"),
        ("union_value(n := 7::TINYINT)", "0:7"),
        ("[DATE '1970-01-02']", "[1970-01-02]"),
        ("[TRUE]", "[TRUE]"),
        ("[1::HUGEINT << 100]", "[1267650600228229401496703205376]"),
    ];
    let columns: Vec<&str> = row.iter().map(|(sql, _)| *sql).collect();
    let sql = format!("SELECT i, {} FROM range(3000) AS r(i)", columns.join(", "));
    let rows = connection.rows(&sql).expect("runs");
    assert_eq!(rows.len(), 3000);
    for (at, cells) in rows.iter().enumerate() {
        assert_eq!(cells[0], Value::Int(at.try_into().expect("small")));
        for ((sql, expected), cell) in row.iter().zip(&cells[1..]) {
            let shown = match cell {
                Value::Text(text) => String::from_utf8_lossy(text).into_owned(),
                other => other.to_string(),
            };
            assert_eq!(shown, *expected, "{sql}");
        }
    }
    let rows = connection.rows("SELECT x, x IS NULL FROM (VALUES ([1]), (NULL)) AS t(x) ORDER BY 2").expect("runs");
    assert_eq!(rows[1], [Value::Null, Value::Bool(true)]);
}

/// The one of the machine, and the other one if there is one.
fn postgres_and_mariadb() -> impl Iterator<Item = String> {
    ["postgres".to_owned()].into_iter().chain(engines::mariadb())
}

#[test]
fn postgres_answers() {
    let caqtus = Caqtus::new();
    let endless = "SELECT count(*) FROM generate_series(1, 1000000) AS a, generate_series(1, 1000000) AS b";
    answers("postgres", &caqtus.path("data"), endless);
}

#[test]
fn mariadb_answers() {
    let Some(mariadb) = engines::mariadb() else { return };
    let caqtus = Caqtus::new();
    let endless =
        "SELECT COUNT(a.seq + b.seq) FROM seq_1_to_10000000 AS a, seq_1_to_10000000 AS b WHERE a.seq % 7 = b.seq % 3";
    answers(&mariadb, &caqtus.path("data"), endless);
}

#[test]
fn a_crash_of_postgres_is_told_and_survived() {
    let caqtus = Caqtus::new();
    let mut connection = open("postgres", &caqtus.path("data"));
    let db = connection.as_mut();
    let backend = |db: &mut dyn Connection| {
        let pid = db.rows("SELECT pg_backend_pid()").expect("runs");
        let Value::Int(pid) = pid[0][0] else { panic!("{pid:?}") };
        u32::try_from(pid).expect("a process")
    };
    // What a wrong address leads to.
    kill("-SEGV", backend(db));
    let error = (0..100).find_map(|_| db.rows("SELECT pg_sleep(0.01)").err()).expect("crashes");
    assert_eq!(error.class, ErrorClass::Crash, "{error}");
    assert!(error.message.contains("signal 11"), "{error}");
    db.reset().expect("comes back");
    assert_eq!(db.rows("SELECT 1").expect("runs"), [[Value::Int(1)]]);
    // A backend that somebody ends is no crash.
    kill("-TERM", backend(db));
    let lost = (0..100).find_map(|_| db.rows("SELECT pg_sleep(0.01)").err()).expect("the connection ends");
    assert_eq!(lost.class, ErrorClass::ConnectionLost, "{lost}");
    db.reset().expect("comes back");
}

#[test]
fn a_killed_server_is_started_again() {
    for target in postgres_and_mariadb() {
        let caqtus = Caqtus::new();
        let mut connection = open(&target, &caqtus.path("data"));
        let asked = if target == "postgres" { "SELECT pg_backend_pid()" } else { "SELECT @@datadir" };
        let rows = connection.rows(asked).expect("runs");
        let server = match &rows[0][0] {
            // The server is what started the process that serves a connection.
            Value::Int(backend) => {
                let status = std::fs::read_to_string(format!("/proc/{backend}/status")).expect("a process");
                status.lines().find_map(|line| line.strip_prefix("PPid:")).expect("its parent").to_owned()
            }
            Value::Text(data) => {
                let data = Path::new(std::str::from_utf8(data).expect("a path"));
                std::fs::read_to_string(data.with_file_name("pid")).expect("the server's number")
            }
            other => panic!("{other:?}"),
        };
        let server = server.trim().parse().expect("a number");
        kill("-KILL", server);
        let lost = (0..1500).find_map(|_| {
            std::thread::sleep(Duration::from_millis(10));
            connection.rows("SELECT 1").err()
        });
        assert_eq!(lost.expect("the server is gone").class, ErrorClass::ConnectionLost, "{target}");
        connection.reset().unwrap_or_else(|e| panic!("{target}: {e}"));
        assert_eq!(connection.rows("SELECT 1").expect("runs"), [[Value::Int(1)]]);
    }
}

#[test]
fn a_server_that_does_not_stop_is_ended() {
    for target in postgres_and_mariadb() {
        let (forget, endless) = match target.as_str() {
            "postgres" => ("SET statement_timeout = 0", "SELECT pg_sleep(1000)"),
            _ => ("SET SESSION max_statement_time = 0", "SELECT SLEEP(1000)"),
        };
        let caqtus = Caqtus::new();
        let mut connection = open(&target, &caqtus.path("data"));
        let db = connection.as_mut();
        db.execute(forget).expect("runs");
        assert_eq!(class(db, endless), ErrorClass::Hang, "{target}");
        db.reset().unwrap_or_else(|e| panic!("{target}: {e}"));
        assert_eq!(db.rows("SELECT 1").expect("runs"), [[Value::Int(1)]]);
    }
}

#[test]
fn servers_end_with_the_program_also_when_it_is_killed() {
    for target in postgres_and_mariadb() {
        let caqtus = Caqtus::new();
        let mut hunt = caqtus
            .command(&["hunt", "--dbms", &target, "--quiet", "--workers", "1", "--class", "tlp-where*"])
            .spawn()
            .expect("starts");
        let data = caqtus.path("data");
        let executors = || processes_naming(&data).into_iter().filter(|pid| *pid != hunt.id()).collect::<Vec<u32>>();
        let servers =
            || executors().into_iter().flat_map(|pid| engines::servers_of(pid, &target)).collect::<Vec<u32>>();
        crate::support::wait_until("a server runs", || !servers().is_empty());
        let (servers, executors) = (servers(), executors());
        for pid in executors {
            let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
        }
        kill("-KILL", hunt.id());
        hunt.wait().expect("ends");
        crate::support::wait_until("the server is gone", || servers.iter().all(|pid| !engines::is_alive(*pid)));
    }
}

#[test]
fn what_cannot_be_used_is_said() {
    let caqtus = Caqtus::new();
    let says = |target: &str, words: &[&str]| {
        let output = caqtus.run(&["hunt", "--dbms", target, "--cases", "1"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{target}: {said}");
        for word in words {
            assert!(said.contains(word), "{target}: {word}: {said}");
        }
        assert!(!said.contains("secret"), "{said}");
    };
    says(
        "postgres://me:secret@127.0.0.1:1/db",
        &["cannot connect to postgres://me@127.0.0.1:1/db", "check host and port"],
    );
    says("mariadb://me:secret@127.0.0.1:1/", &["cannot connect to mariadb://me@127.0.0.1:1/", "check host and port"]);
    says("mariadb://me@127.0.0.1:1/shop", &["leaves shop alone"]);
    says("duckdb:/nowhere/libduckdb.so", &["/nowhere/libduckdb.so"]);
    says("duckdb@0.0.1", &["the nearest are"]);
    says("postgres:/nowhere", &["/nowhere"]);
    says("oracle", &["duckdb", "postgres"]);
    says("tidb", &["tidb://"]);
}

/// A password in which everything is encoded that a URL gives a meaning, as it is written and as it is meant.
const PASSWORD: (&str, &str) = ("p%40ss%2Fw%25rd%3A%3F", "p@ss/w%rd:?");

#[test]
fn percent_encoded_names_of_mariadb_are_decoded() {
    let Some(server) = MariaServer::start() else { return };
    let (written, meant) = PASSWORD;
    server.sql(&format!("CREATE USER `me@home` IDENTIFIED BY '{meant}'; GRANT ALL ON `caqtus\\_%`.* TO `me@home`"));
    let url = server.url("me%40home", written);
    let (code, summary) = Caqtus::new().hunt(&[
        "--dbms",
        &url,
        "--cases",
        "8",
        "--workers",
        "1",
        "--class",
        "tlp-where",
        "--snippets",
        "0",
    ]);
    assert_eq!(code, 0, "{summary}");
    assert!(summary["outcomes"]["pass"].as_u64() > Some(0), "{summary}");
    assert!(!summary.to_string().contains(meant) && !summary.to_string().contains(written), "{summary}");
}

#[test]
fn percent_encoded_names_of_postgres_are_decoded() {
    let server = PgServer::start();
    let (written, meant) = PASSWORD;
    server.sql("postgres", &format!("CREATE ROLE \"me@home\" LOGIN PASSWORD '{meant}'"));
    server.sql("postgres", "CREATE DATABASE \"a db/é\" OWNER \"me@home\"");
    let url = server.url("me%40home", written, "a%20db%2F%C3%A9");
    let (code, summary) = Caqtus::new().hunt(&[
        "--dbms",
        &url,
        "--cases",
        "8",
        "--workers",
        "1",
        "--class",
        "tlp-where",
        "--snippets",
        "0",
    ]);
    assert_eq!(code, 0, "{summary}");
    assert!(summary["outcomes"]["pass"].as_u64() > Some(0), "{summary}");
    assert!(!summary.to_string().contains(meant) && !summary.to_string().contains(written), "{summary}");
}

#[test]
fn an_engine_that_cannot_be_fetched_is_told_from_one_that_is_broken() {
    let caqtus = Caqtus::new();
    // Nobody listens there.
    let npm = [("npm_config_registry", "http://127.0.0.1:1/"), ("npm_config_fetch_retries", "0")];
    let said = engines::fetched("duckdb@1.4.5", &caqtus.path("data"), &npm).expect_err("there is no registry");
    assert!(said.starts_with("duckdb@1.4.5 cannot be fetched: ") && said.contains("ECONNREFUSED"), "{said}");
    let said = engines::fetched("duckdb@1.4.5", &caqtus.path("data"), &[("PATH", "/nowhere")]).expect_err("no npm");
    assert!(said.contains("npm is not installed; install it (Debian: apt-get install npm)"), "{said}");
}

#[test]
fn a_mariadb_server_is_left_as_it_was() {
    let Some(server) = MariaServer::start() else { return };
    let caqtus = Caqtus::new();
    server.sql("CREATE DATABASE shop; CREATE DATABASE caqtus_mine; CREATE TABLE shop.customers(id INT)");
    // What the documentation says is enough.
    server.sql("CREATE USER tester IDENTIFIED BY 'secret'; GRANT ALL ON `caqtus\\_%`.* TO tester");
    let before = server.sql("SHOW DATABASES");
    // Of a program that was killed before it could mark it.
    server.sql("CREATE DATABASE caqtus_123_ab");
    let url = server.url("tester", "secret");
    let output = caqtus.run(&["hunt", "--dbms", &server.url("tester", "wrong"), "--cases", "1"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("check user and password"), "{said}");
    // Without snippets there are none to validate on the server.
    let hunt = ["--dbms", &url, "--workers", "2", "--class", "tlp-having*", "--snippets", "0"];
    let (code, summary) = caqtus.hunt(&[&hunt[..], &["--cases", "192"]].concat());
    assert_eq!(code, 0, "{summary}");
    assert!(summary["outcomes"]["pass"].as_u64() > Some(100), "{summary}");
    assert_eq!(server.sql("SHOW DATABASES"), before);
    // A program that is killed: its executors notice, and if they were killed too, the next one cleans up.
    let own = || server.sql("SHOW DATABASES LIKE 'caqtus\\_%\\_%'");
    let mut killed = caqtus.command(&[&["hunt", "--quiet"], &hunt[..]].concat()).spawn().expect("starts");
    crate::support::wait_until("databases are there", || own().lines().count() == 2);
    // One that is stopped starts no executor in the place of one that was killed.
    kill("-STOP", killed.id());
    for pid in processes_naming(&caqtus.path("data")) {
        let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
    }
    kill("-KILL", killed.id());
    killed.wait().expect("ends");
    // One of them may have been about to be replaced.
    assert!((1..=2).contains(&own().lines().count()), "{}", own());
    let connected = "SELECT id FROM information_schema.processlist WHERE user = 'tester'";
    crate::support::wait_until("the server has noticed it", || server.sql(connected).is_empty());
    let (code, _) = caqtus.hunt(&[&hunt[..], &["--cases", "1", "--min-cases", "0", "--max-void", "100"]].concat());
    assert_eq!(code, 0);
    assert_eq!(server.sql("SHOW DATABASES"), before);
}

#[test]
fn a_postgres_server_is_left_as_it_was() {
    let server = PgServer::start();
    let caqtus = Caqtus::new();
    // A role with no more than a database of its own.
    server.sql("postgres", "CREATE ROLE tester LOGIN PASSWORD 'secret'");
    server.sql("postgres", "CREATE DATABASE empty OWNER tester");
    server.sql("postgres", "CREATE DATABASE shop OWNER tester");
    server.sql("shop", "CREATE TABLE customers(id INT)");
    let url = |password: &str, database: &str| server.url("tester", password, database);
    let refused = |url: &str, word: &str| {
        let output = caqtus.run(&["hunt", "--dbms", url, "--cases", "1"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(word) && !said.contains("secret"), "{said}");
    };
    refused(&url("secret", "shop"), "public.customers");
    refused(&url("wrong", "empty"), "check user and password");
    refused(&url("secret", "nowhere"), "CREATE DATABASE");
    let (code, summary) =
        caqtus.hunt(&["--dbms", &url("secret", "empty"), "--cases", "192", "--workers", "2", "--class", "tlp-where*"]);
    assert_eq!(code, 0, "{summary}");
    assert!(summary["outcomes"]["pass"].as_u64() > Some(20), "{summary}");
    assert!(!summary.to_string().contains("secret"), "{summary}");
    let left = server.sql("empty", "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'caqtus%'");
    assert_eq!(left.trim(), "0");
    // Gone for good: the hunt ends with the reason and keeps what it has.
    let mut hunt = caqtus
        .command(&[
            "hunt",
            "--dbms",
            &url("secret", "empty"),
            "--workers",
            "1",
            "--class",
            "tlp-where*",
            "--wait-for-server",
            "2s",
            "--quiet",
        ])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("starts");
    let campaign = caqtus.path("caqtus-findings/campaign.json");
    crate::support::wait_until("cases ran", || {
        std::fs::read_to_string(&campaign)
            .is_ok_and(|text| text.contains("\"finished\":false") && !text.contains("\"pass\":0"))
    });
    drop(server);
    crate::support::wait_until("the hunt ends", || matches!(hunt.try_wait(), Ok(Some(_))));
    let output = hunt.wait_with_output().expect("ended");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot be reached any more"), "{said}");
}
