//! A target that breaks is a finding, whenever it breaks: when it is loaded, before the hunt, as a server of somebody's.

use crate::support::engines::{MariaServer, PgServer};
use crate::support::{Caqtus, kill, last_json, wait_until};
use caqtus::clock;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The functions of SQLite that are used, of which opening does this.
fn library(caqtus: &Caqtus, name: &str, opening: &str) -> PathBuf {
    let others = [
        "close",
        "prepare_v2",
        "bind_parameter_index",
        "bind_int64",
        "bind_double",
        "bind_text",
        "bind_blob",
        "step",
        "finalize",
        "column_count",
        "column_type",
        "column_int64",
        "column_double",
        "column_text",
        "column_blob",
        "column_bytes",
        "errmsg",
        "extended_errcode",
        "limit",
        "progress_handler",
        "test_control",
    ];
    let others = others.map(|name| format!("void *sqlite3_{name}(void) {{ return 0; }}\n")).concat();
    let source = format!(
        "#include <unistd.h>\nconst char *sqlite3_libversion(void) {{ return \"3.0.0\"; }}\n\
         const char *sqlite3_sourceid(void) {{ return \"a test\"; }}\n{others}\
         int sqlite3_open_v2(const char *a, void **b, int c, const char *d) {{ {opening} return 0; }}\n"
    );
    let (text, library) = (caqtus.path(&format!("{name}.c")), caqtus.path(&format!("{name}.so")));
    fs::write(&text, source).expect("writes");
    let mut compiler = Command::new("cc");
    let output = compiler.args(["-w", "-shared", "-fPIC", "-o"]).arg(&library).arg(&text).output().expect("a compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library
}

const CRASH: &str = "*(volatile int *)0 = 1;";
const HANG: &str = "for (;;) sleep(1);";

#[test]
fn a_library_that_breaks_when_it_is_opened_is_a_finding() {
    let caqtus = Caqtus::new();
    for (name, opening, kind, signal) in
        [("crash", CRASH, "crash", "SIGSEGV"), ("hang", HANG, "hang", "did not come to an end within 10 s")]
    {
        let target = format!("sqlite:{}", library(&caqtus, name, opening).display());
        let (code, json) = caqtus.hunt(&["--dbms", &target, "--out", "out", "--seed", "1"]);
        assert_eq!((code, json["verdict"].as_str()), (3, Some("bugs-then-broken")), "{json}");
        assert!(json["error"].as_str().is_some_and(|error| error.contains(signal)), "{json}");
        let found = &json["findings"][0];
        assert_eq!((found["kind"].as_str(), found["class"].as_str()), (Some(kind), Some("open")), "{json}");
        let report = fs::read_to_string(caqtus.path(found["dir"].as_str().expect("a place")).join("report.md"));
        assert!(report.expect("a report").contains(signal));
    }
    let target = format!("sqlite:{}", caqtus.path("crash.so").display());
    // It shows again, and not on a library that works.
    let output = caqtus.run(&["bug", "list", "--json", "--findings", "out"]);
    let list = last_json(&String::from_utf8_lossy(&output.stdout));
    let crash = list.as_array().and_then(|all| all.iter().find(|f| f["kind"] == "crash")).expect("the crash");
    let id = crash["id"].as_str().expect("an id");
    let replay = |words: &[&str]| caqtus.run(&[&["bug", "replay", id, "--findings", "out"], words].concat());
    assert_eq!(replay(&[]).status.code(), Some(1));
    assert_eq!(replay(&["--dbms", "sqlite"]).status.code(), Some(0));
    // Commands that look at such a target live on, and say what it does.
    for words in [vec!["dbms", "check", &target], vec!["case", "--dbms", &target, "--seed", "1"]] {
        let output = caqtus.run(&words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains("crashes when it is opened") && said.contains("SIGSEGV"), "{words:?}: {said}");
    }
}

#[test]
fn a_library_that_hangs_keeps_nobody_longer_than_asked() {
    let caqtus = Caqtus::new();
    let target = format!("sqlite:{}", library(&caqtus, "hang", HANG).display());
    let started = clock::now();
    let (code, json) = caqtus.hunt(&["--dbms", &target, "--for", "2s"]);
    assert!(started.elapsed() < Duration::from_secs(8), "{json}");
    // Two seconds show no hang.
    assert_eq!(code, 2, "{json}");
    assert!(json["error"].as_str().is_some_and(|error| error.contains("the time was up before")), "{json}");
}

#[test]
fn a_library_that_is_cut_off_is_said_to_be() {
    let caqtus = Caqtus::new();
    let whole = fs::read(library(&caqtus, "whole", "")).expect("reads");
    let dir = caqtus.path("data/engines/sqlite-3.39.2");
    fs::create_dir_all(&dir).expect("a directory");
    let path = dir.join("libsqlite3.so");
    fs::write(&path, &whole[..whole.len() / 2]).expect("writes");
    let (code, json) = caqtus.hunt(&["--dbms", "sqlite@3.39.2", "--out", "out"]);
    assert_eq!(code, 2, "no bug of the engine: {json}");
    assert!(json["error"].as_str().is_some_and(|error| error.contains("is cut off")), "{json}");
    let list = |words: &[&str]| {
        let output = caqtus.run(&[&["dbms", "list"], words].concat());
        assert!(output.status.success());
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let line = list(&[]).lines().find(|line| line.starts_with("sqlite@3.39.2")).expect("a line").to_owned();
    assert!(line.contains("broken") && line.contains("cut off"), "{line}");
    assert!(last_json(&list(&["--json"]))["sqlite"]["broken"]["3.39.2"].is_string());
    // One that crashes is not fine either.
    fs::copy(library(&caqtus, "crash", CRASH), &path).expect("copies");
    let line = list(&[]).lines().find(|line| line.starts_with("sqlite@3.39.2")).expect("a line").to_owned();
    assert!(line.contains("broken") && line.contains("SIGSEGV"), "{line}");
}

/// A dialect with snippets of its own, of which some break the engine.
fn with_snippets(name: &str, before: &str, snippets: &[&str]) -> Caqtus {
    let caqtus = Caqtus::new();
    let lines: Vec<String> = snippets.iter().map(|sql| serde_json::json!({ "sql": sql }).to_string()).collect();
    for (dir, ending, text) in
        [("dialects", "toml", crate::engines_in_python::profile(name, before)), ("snippets", "jsonl", lines.join("\n"))]
    {
        let dir = caqtus.path("corpus").join(dir);
        fs::create_dir_all(&dir).expect("a directory");
        fs::write(dir.join(format!("{name}.{ending}")), text).expect("writes");
    }
    caqtus
}

#[test]
fn a_snippet_that_breaks_the_engine_is_named_and_found() {
    let crash = "'instr(' in sql and 'snippet_full' in sql and os.kill(os.getpid(), signal.SIGSEGV)";
    let snippets = ["t.c_int + 1", "instr(t.c_text, 'a')", "t.c_text || 'x'"];
    let caqtus = with_snippets("brokenlite", crash, &snippets);
    let run =
        |words: &[&str]| caqtus.command(words).env("CAQTUS_CORPUS", caqtus.path("corpus")).output().expect("starts");
    let output = run(&["dbms", "check", "brokenlite"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.contains("crash: snippet instr(t.c_text, 'a'): "),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let words = ["hunt", "--dbms", "brokenlite", "--json", "--quiet", "--class", "tlp-where", "--cases", "32"];
    let output = run(&[&words[..], &["--seed", "1", "--out", "out"]].concat());
    let json = last_json(&String::from_utf8_lossy(&output.stdout));
    assert_eq!(output.status.code(), Some(1), "{json}");
    let found = json["findings"].as_array().expect("a list");
    let snippet: Vec<_> = found.iter().filter(|f| f["class"] == "snippet").collect();
    assert_eq!(snippet.len(), 1, "{json}");
    assert_eq!(snippet[0]["kind"], "crash");
    // It is small, and shows again.
    let script = fs::read_to_string(caqtus.path(snippet[0]["dir"].as_str().expect("a place")).join("repro.sql"));
    let script = script.expect("a script");
    assert!(script.contains("instr(") && !script.contains("snippet_reversed"), "{script}");
    let replay = run(&["bug", "replay", snippet[0]["id"].as_str().expect("an id"), "--findings", "out"]);
    assert_eq!(replay.status.code(), Some(1), "{}", String::from_utf8_lossy(&replay.stdout));
}

#[test]
fn what_breaks_like_others_and_is_not_tried_again_is_counted() {
    let crash = "'instr(' in sql and 'snippet_full' in sql and os.kill(os.getpid(), signal.SIGSEGV)";
    let snippets = ["t.c_int + 1", "instr(t.c_text, 'a')", "instr(t.c_text, 'b')", "instr(t.c_text, 'c')"];
    let caqtus = with_snippets("brokenlite", crash, &snippets);
    let hunt = |words: &[&str]| {
        let all = ["hunt", "--dbms", "brokenlite", "--quiet", "--class", "tlp-where", "--cases", "32", "--keep", "1"];
        let mut command = caqtus.command(&[&all[..], words].concat());
        let output = command.env("CAQTUS_CORPUS", caqtus.path("corpus")).output().expect("starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let json = last_json(&hunt(&["--json", "--out", "out"]));
    assert_eq!(json["findings"].as_array().map(Vec::len), Some(1), "{json}");
    assert_eq!(json["messages"]["not tried again"]["crash of class snippet"], 2, "{json}");
    let text = hunt(&["--out", "again"]);
    assert!(text.contains("not tried again (--keep)") && text.contains("2  crash of class snippet"), "{text}");
}

/// Starts a hunt on a server, and waits until cases ran.
fn hunt_on(caqtus: &Caqtus, url: &str, words: &[&str]) -> std::process::Child {
    let all = ["hunt", "--dbms", url, "--json", "--quiet", "--class", "tlp-where*", "--snippets", "0", "--seed", "1"];
    let hunt = caqtus.command(&[&all[..], words].concat()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let campaign = caqtus.path("caqtus-findings/campaign.json");
    wait_until("cases ran", || {
        fs::read_to_string(&campaign).is_ok_and(|text| text.contains("\"pass\"") && !text.contains("\"pass\":0"))
    });
    hunt.expect("starts")
}

#[test]
fn a_server_that_crashes_and_stays_away_is_a_finding() {
    let Some(mut server) = MariaServer::start() else { return };
    let caqtus = Caqtus::new();
    let hunt = hunt_on(&caqtus, &server.url("root", ""), &["--workers", "2", "--wait-for-server", "2s"]);
    kill("-SEGV", server.pid());
    server.wait();
    let output = hunt.wait_with_output().expect("ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let json = last_json(&String::from_utf8_lossy(&output.stdout));
    assert_eq!(output.status.code(), Some(3), "{json}{said}");
    assert!(said.contains("cannot be reached any more") && !said.contains("DriverError"), "{said}");
    assert!(json["cases"].as_u64() > Some(0), "{json}");
    // One crash is one finding, with what ran last, and it is said that nobody could try it again.
    let found = json["findings"].as_array().expect("a list");
    let crashes: Vec<_> = found.iter().filter(|f| f["kind"] == "crash").collect();
    assert_eq!(crashes.len(), 1, "{json}");
    let report = fs::read_to_string(caqtus.path(crashes[0]["dir"].as_str().expect("a place")).join("report.md"));
    let report = report.expect("a report");
    assert!(report.contains("Not confirmed") && report.contains("CREATE TABLE"), "{report}");
}

#[test]
fn a_server_that_comes_back_is_hunted_on() {
    let Some(mut server) = MariaServer::start() else { return };
    let caqtus = Caqtus::new();
    let mut hunt = hunt_on(&caqtus, &server.url("root", ""), &["--workers", "2", "--for", "100s"]);
    kill("-KILL", server.pid());
    server.wait();
    let cases = || {
        let text = fs::read_to_string(caqtus.path("caqtus-findings/campaign.json")).unwrap_or_default();
        let campaign: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        campaign["stats"]["outcomes"]["pass"].as_u64().unwrap_or(0)
    };
    // The file is written every second: what passed before the kill may not be in it yet.
    let mut before = cases();
    wait_until("nothing passes any more", || {
        std::thread::sleep(std::time::Duration::from_secs(2));
        let last = std::mem::replace(&mut before, cases());
        last == before
    });
    server.start_again();
    wait_until("the hunt goes on", || cases() > before + 100 || matches!(hunt.try_wait(), Ok(Some(_))));
    if let Ok(None) = hunt.try_wait() {
        kill("-INT", hunt.id());
    }
    let output = hunt.wait_with_output().expect("ends");
    let json = last_json(&String::from_utf8_lossy(&output.stdout));
    // What ran when somebody killed the server does not kill it again.
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(json["error"], serde_json::Value::Null, "{json}{said}");
    let crashes = json["findings"].as_array().map(|all| all.iter().filter(|f| f["kind"] == "crash").count());
    assert_eq!(crashes, Some(0), "{json}{said}");
    assert!(json["outcomes"]["pass"].as_u64() > Some(before), "{json}");
}

#[test]
fn a_query_that_ends_a_server_twice_is_found() {
    let server = PgServer::start();
    let caqtus = Caqtus::new();
    server.sql("postgres", "CREATE ROLE tester LOGIN PASSWORD 'secret'");
    server.sql("postgres", "CREATE DATABASE empty OWNER tester");
    // An internal function under another signature reads what is no pointer; on NULL it is not called.
    server.sql("empty", "ALTER FUNCTION pg_catalog.abs(INTEGER) RENAME TO abs_before");
    let boom = "FUNCTION pg_catalog.abs(INTEGER) RETURNS INTEGER LANGUAGE internal STRICT IMMUTABLE AS 'textlen'";
    server.sql("empty", &format!("CREATE {boom}"));
    let class = "[[class]]\nname = \"absolute\"\nschema = \"CREATE TABLE t1(c0 INT);\"\n\
                 members = [\"SELECT abs(t1.c0) FROM t1\", \"SELECT abs(t1.c0) FROM t1 WHERE TRUE\"]\n";
    fs::write(caqtus.path("own.toml"), class).expect("writes");
    let url = server.url("tester", "secret", "empty");
    let words = ["--catalogue", "own.toml", "--snippets", "0", "--workers", "2", "--seed", "1", "--cases", "12"];
    let (code, json) = caqtus.hunt(&[&["--dbms", &url, "--oracle", "caq", "--keep", "1"], &words[..]].concat());
    assert_eq!(code, 1, "{json}");
    let found = json["findings"].as_array().expect("a list");
    let crash = found.iter().find(|f| f["class"] == "absolute").unwrap_or_else(|| panic!("{json}"));
    assert_eq!(crash["kind"], "crash");
    let report = fs::read_to_string(caqtus.path(crash["dir"].as_str().expect("a place")).join("report.md"));
    assert!(report.expect("a report").contains("ended twice"));
}

#[test]
fn a_fault_of_the_program_is_no_bug_of_the_engine() {
    let caqtus = Caqtus::new();
    let words = ["hunt", "--dbms", "planted:panic", "--class", "tlp-where*", "--oracle", "caq", "--seed", "1"];
    let output = caqtus.run(&[&words[..], &["--cases", "1500", "--json", "--min-cases", "0"]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let json = last_json(&String::from_utf8_lossy(&output.stdout));
    assert_eq!((output.status.code(), &json["findings"]), (Some(0), &Value::Array(Vec::new())), "{json}{said}");
    assert!(json["outcomes"]["warning"].as_u64() > Some(0) && json["outcomes"]["pass"].as_u64() > Some(500), "{json}");
    let reasons = json["reasons"].as_object().expect("reasons");
    assert!(
        reasons.keys().any(|reason| reason.contains("a fault of this program, not of the engine: src/dbms/planted.rs"))
    );
    assert!(said.contains("a planted fault; please report it, with the seed 1 (block "), "{said}");
    assert!(!caqtus.path("caqtus-findings/flaky").exists(), "{json}");
}
