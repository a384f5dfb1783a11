//! Whatever ends a hunt, its exit status and its summary say what happened; what tested nothing is not green.

use crate::support::engines::skip;
use crate::support::{Caqtus, last_json};
use caqtus::clock;
use std::fs;
use std::process::{Command, Output};
use std::time::Duration;

fn json_of(output: &Output) -> serde_json::Value {
    last_json(&String::from_utf8_lossy(&output.stdout))
}

#[test]
fn a_hunt_that_does_not_begin_says_why_in_json() {
    let caqtus = Caqtus::new();
    for (words, expected) in [
        (vec!["--dbms", "sqlite:/nowhere.so"], "/nowhere.so cannot be loaded"),
        (vec!["--dbms", "postgres://me:secret@127.0.0.1:1/db"], "cannot connect to postgres://me@127.0.0.1:1/db"),
        (vec!["--dbms", "nothing://me:secret@host/"], "names no target"),
        (vec!["--resume", "--out", "empty"], "no campaign to resume"),
        (vec!["--class", "no-such-*"], "caqtus oracle list"),
    ] {
        let (code, json) = caqtus.hunt(&words);
        assert_eq!(code, 2, "{words:?}: {json}");
        assert!(json["error"].as_str().is_some_and(|error| error.contains(expected)), "{words:?}: {json}");
        assert_eq!(json["verdict"], "broken");
        assert_eq!(json["cases"], 0);
        assert_eq!(json["findings"].as_array().map(Vec::len), Some(0));
        assert!(!json.to_string().contains("secret"), "{json}");
    }
}

#[test]
fn what_tested_nothing_is_not_green() {
    let caqtus = Caqtus::new();
    let hunt = |words: &[&str]| {
        let (code, json) = caqtus.hunt(&[&["--snippets", "0", "--class", "tlp-*", "--seed", "2"], words].concat());
        (code, json["verdict"].as_str().expect("a verdict").to_owned())
    };
    let ended = |code: i32, verdict: &str| (code, verdict.to_owned());
    assert_eq!(hunt(&["--cases", "0"]), ended(4, "too-little-tested"));
    assert_eq!(hunt(&["--cases", "0", "--min-cases", "0"]), ended(0, "clean"));
    assert_eq!(hunt(&["--cases", "96"]), ended(0, "clean"));
    assert_eq!(hunt(&["--cases", "96", "--min-cases", "97"]), ended(4, "too-little-tested"));
    let output = caqtus.run(&["hunt", "--snippets", "0", "--cases", "0"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("--min-cases asks for 1"), "{said}");
}

#[test]
fn bugs_count_however_little_was_tested() {
    let caqtus = Caqtus::new();
    let words = ["--dbms", "planted:drop-row", "--cases", "500", "--seed", "2", "--keep", "1", "--min-cases", "100000"];
    let (code, json) = caqtus.hunt(&words);
    assert_eq!((code, &json["verdict"], &json["error"]), (1, &"bugs".into(), &serde_json::Value::Null), "{json}");
}

#[test]
fn a_limit_that_lets_nothing_run_is_refused() {
    let caqtus = Caqtus::new();
    for (words, expected) in [
        (["--hang-after", "0s"], "1s is the least"),
        (["--for", "0"], "1s is the least"),
        (["--for", "99999d"], "too long"),
        (["--keep", "0"], "1 is the least"),
        (["--workers", "0"], "1..=512"),
        (["--snippets", "101"], "0..=100"),
        (["--max-void", "101"], "0..=100"),
    ] {
        let output = caqtus.run(&["hunt", "--cases", "1", words[0], words[1]]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(expected), "{words:?}: {said}");
    }
}

/// Runs the program in a namespace of its own where `small` is a file system of so many KiB. `None` where that is not
/// allowed.
fn on_a_small_disk(caqtus: &Caqtus, kib: u32, words: &[&str]) -> Option<Output> {
    let small = caqtus.path("small");
    fs::create_dir_all(&small).expect("a directory");
    let mut command = Command::new("unshare");
    let script = format!("mount -t tmpfs -o size={kib}k none \"$0\" || exit 77; exec \"$@\"");
    command.args(["-rm", "sh", "-c", &script]).arg(&small).arg(env!("CARGO_BIN_EXE_caqtus")).args(words);
    command.env("CAQTUS_DATA", caqtus.path("data")).current_dir(caqtus.dir.path());
    let output = command.output().ok()?;
    let refused = output.status.code() == Some(77) || String::from_utf8_lossy(&output.stderr).contains("unshare");
    (!refused).then_some(output)
}

#[test]
fn a_full_disk_is_called_a_full_disk() {
    let caqtus = Caqtus::new();
    // Room for nothing, for what executors run in, for a part of the findings.
    for (kib, dbms) in [(4, "sqlite"), (8, "sqlite"), (64, "planted:drop-row")] {
        let words =
            ["hunt", "--dbms", dbms, "--json", "--quiet", "--cases", "5000", "--seed", "3", "--out", "small/out"];
        let words = [&words[..], &["--class", "tlp-*", "--snippets", "0", "--workers", "2"]].concat();
        let Some(output) = on_a_small_disk(&caqtus, kib, &words) else {
            skip("this machine lets nobody mount a file system of their own");
            return;
        };
        let json = json_of(&output);
        let error = json["error"].as_str().unwrap_or_default();
        assert!(error.contains("the disk is full"), "{kib}: {json}");
        let found = json["findings"].as_array().is_some_and(|found| !found.is_empty());
        // What was found before it was full still counts.
        assert_eq!(found, kib == 64, "{json}");
        assert_eq!(output.status.code(), Some(if found { 3 } else { 2 }), "{json}");
        assert_eq!(json["verdict"], if found { "bugs-then-broken" } else { "broken" });
    }
}

/// A dialect of the user's: Python's SQLite with something before each statement.
fn dialect(caqtus: &Caqtus, name: &str, before: &str) {
    let dialects = caqtus.path("corpus/dialects");
    fs::create_dir_all(&dialects).expect("a directory");
    fs::write(dialects.join(format!("{name}.toml")), crate::engines_in_python::profile(name, before)).expect("writes");
}

fn hunt_on(caqtus: &Caqtus, name: &str, words: &[&str]) -> (i32, serde_json::Value) {
    let all = ["hunt", "--json", "--quiet", "--workers", "1", "--seed", "5", "--snippets", "0", "--dbms", name];
    let mut command = caqtus.command(&[&all[..], words].concat());
    let output = command.env("CAQTUS_CORPUS", caqtus.path("corpus")).output().expect("starts");
    (output.status.code().expect("an exit code"), json_of(&output))
}

#[test]
fn mostly_void_is_not_green() {
    let caqtus = Caqtus::new();
    // What tells the members of a class apart is refused as soon as the hunt runs.
    dialect(
        &caqtus,
        "refusinglite",
        "if ' WHERE NOT ' in sql and '(NULL)' not in sql: raise sqlite3.OperationalError('not here')",
    );
    let words = ["--oracle", "caq", "--class", "tlp-where*", "--cases", "96"];
    let (code, json) = hunt_on(&caqtus, "refusinglite", &words);
    assert!(json["outcomes"]["skipped"].as_u64() > Some(48), "{json}");
    assert_eq!((code, json["verdict"].as_str()), (4, Some("too-little-tested")), "{json}");
    let (code, json) =
        hunt_on(&caqtus, "refusinglite", &[&words[..], &["--max-void", "100", "--min-cases", "0"]].concat());
    assert_eq!(code, 0, "{json}");
}

#[test]
fn the_time_of_a_hunt_includes_reductions() {
    let caqtus = Caqtus::new();
    // Wrong and slow: reducing one finding takes minutes.
    let before = "sql = sql.replace(' WHERE NOT ', ' WHERE 0 AND NOT '); ' WHERE ' in sql and time.sleep(0.1)";
    dialect(&caqtus, "slowlite", before);
    // What is asked before the hunt is remembered.
    hunt_on(&caqtus, "slowlite", &["--oracle", "caq", "--class", "tlp-where", "--cases", "0"]);
    let started = clock::now();
    let (code, json) = hunt_on(&caqtus, "slowlite", &["--oracle", "caq", "--class", "tlp-where", "--for", "15s"]);
    let took = started.elapsed();
    assert!(took < Duration::from_secs(30), "{took:?}: {json}");
    assert_eq!((code, json["verdict"].as_str()), (1, Some("bugs")), "{json}");
    let found = json["findings"].as_array().expect("a list");
    assert!(!found.is_empty(), "what was found by then is told: {json}");
    for finding in found {
        assert!(caqtus.path(finding["dir"].as_str().expect("a directory")).join("case.json").exists(), "{finding}");
    }
}

#[test]
fn a_hunt_whose_time_is_up_too_early_is_not_green() {
    let caqtus = Caqtus::new();
    dialect(&caqtus, "sleepylite", "time.sleep(0.05)");
    let started = clock::now();
    let (code, json) = hunt_on(&caqtus, "sleepylite", &["--for", "2s"]);
    assert!(started.elapsed() < Duration::from_secs(12), "{json}");
    assert_eq!(code, 2, "{json}");
    assert!(json["error"].as_str().is_some_and(|error| error.contains("the time was up before")), "{json}");
}
