//! A server of the user's that ends under a hunt is started again by a command of theirs, so often and no more, and the hunt
//! goes on.

use crate::support::engines::PgServer;
use crate::support::{Caqtus, kill, last_json, wait_until};
use serde_json::Value;
use std::fs;
use std::process::Stdio;

/// A server with an empty database, and its address.
fn server() -> (PgServer, String) {
    let server = PgServer::start();
    server.sql("postgres", "CREATE ROLE tester LOGIN PASSWORD 'secret'");
    server.sql("postgres", "CREATE DATABASE empty OWNER tester");
    let url = server.url("tester", "secret", "empty");
    (server, url)
}

#[test]
fn a_hunt_goes_on_when_its_server_ended_as_often_as_it_may_be_started() {
    let (server, url) = server();
    let caqtus = Caqtus::new();
    let start = server.start_command();
    let words = ["--dbms", &url, "--restart-cmd", &start, "--restarts-max", "1", "--wait-for-server", "5s"];
    let all =
        ["hunt", "--json", "--quiet", "--workers", "2", "--class", "tlp-where*", "--snippets", "0", "--seed", "1"];
    let hunt = caqtus.command(&[&all[..], &words].concat()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut hunt = hunt.expect("starts");
    let passed = || {
        let text = fs::read_to_string(caqtus.path("caqtus-findings/campaign.json")).unwrap_or_default();
        let campaign: Value = serde_json::from_str(&text).unwrap_or_default();
        campaign["stats"]["outcomes"]["pass"].as_u64().unwrap_or(0)
    };
    wait_until("cases ran", || passed() > 0);
    // Asked to end: one that is killed does not always recover (PostgreSQL 15 with an unlogged table in a transaction).
    kill("-INT", server.pid());
    let log = caqtus.path("caqtus-findings/restart.log");
    wait_until("it is started", || fs::read_to_string(&log).is_ok_and(|text| text.contains("server started")));
    let before = passed();
    wait_until("the hunt goes on", || passed() > before + 100 || matches!(hunt.try_wait(), Ok(Some(_))));
    assert!(passed() > before + 100 && matches!(hunt.try_wait(), Ok(None)));
    kill("-QUIT", server.pid());
    let output = hunt.wait_with_output().expect("ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let json = last_json(&String::from_utf8_lossy(&output.stdout));
    assert_eq!((output.status.code(), &json["server_starts"]), (Some(2), &1.into()), "{json}{said}");
    assert!(said.contains("--restart-cmd was run 1 times, as --restarts-max has it"), "{said}");
    // Somebody killed it: no case is to blame.
    assert_eq!(json["findings"], Value::Array(Vec::new()), "{json}");
}

#[test]
fn a_command_that_cannot_help_is_told() {
    let (server, url) = server();
    let caqtus = Caqtus::new();
    let command = ["hunt", "--dbms", &url, "--restart-cmd", "echo there is no unit; exit 7", "--wait-for-server", "4s"];
    let mut hunt = caqtus.command(&[&command[..], &["--class", "tlp-where*", "--snippets", "0"]].concat());
    let hunt = hunt.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let campaign = caqtus.path("caqtus-findings/campaign.json");
    wait_until("cases ran", || {
        fs::read_to_string(&campaign).is_ok_and(|text| text.contains("\"pass\"") && !text.contains("\"pass\":0"))
    });
    drop(server);
    let output = hunt.wait_with_output().expect("ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    for words in
        ["started again (1 of 20): echo", "failed (exit status: 7): there is no unit", "cannot be reached any more"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    // What Caqtus starts itself needs no command.
    let output = caqtus.run(&["hunt", "--dbms", "postgres", "--restart-cmd", "true", "--cases", "1"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("named by its URL"), "{said}");
}

/// Hunts on a server that ends when a cache has some answers, and gives what the cache has in the end.
fn asked_of_a_server_that_ends(cache: &str, words: &[&str]) -> String {
    let (server, url) = server();
    let caqtus = Caqtus::new();
    let all = ["hunt", "--json", "--quiet", "--workers", "1", "--seed", "1", "--cases", "96", "--dbms", &url];
    let restart = ["--restart-cmd", &server.start_command(), "--wait-for-server", "30s"];
    let mut hunt = caqtus.command(&[&all[..], &restart, words].concat());
    let hunt = hunt.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let answers = || {
        let entries = fs::read_dir(caqtus.path("data/cache")).into_iter().flatten().flatten();
        let mut names = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(cache));
        names.next().and_then(|entry| fs::read_to_string(entry.path()).ok()).unwrap_or_default()
    };
    wait_until("something is answered", || answers().lines().count() > 20);
    kill("-INT", server.pid());
    let output = hunt.wait_with_output().expect("ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let json = last_json(&String::from_utf8_lossy(&output.stdout));
    // The engine may have bugs.
    assert!(matches!(output.status.code(), Some(0 | 1)) && json["server_starts"] == 1, "{json}{said}");
    assert!(json["outcomes"]["pass"].as_u64() > Some(0), "{json}");
    // No question is to blame.
    assert!(!caqtus.path("caqtus-findings/flaky").exists(), "{json}");
    answers()
}

#[test]
fn of_a_server_that_ends_while_it_is_asked_what_it_takes_nothing_is_learned() {
    let verdicts = asked_of_a_server_that_ends("snippets-", &["--class", "tlp-where*"]);
    assert!(!verdicts.contains("connection lost"), "{verdicts}");
    let accepted = asked_of_a_server_that_ends("accepted-", &["--snippets", "0", "--oracle", "caq"]);
    assert!(!accepted.contains("connection lost") && !accepted.contains("ended the engine"), "{accepted}");
}

/// Hunts on a server that does not start itself after a crash, ends it, and gives what was said and where.
fn ended_for_good(end: impl FnOnce(&PgServer)) -> (Option<i32>, Value, Caqtus) {
    let (server, url) = server();
    server.sql("postgres", "ALTER SYSTEM SET restart_after_crash = off");
    server.sql("postgres", "SELECT pg_reload_conf()::text");
    let caqtus = Caqtus::new();
    let words =
        ["hunt", "--dbms", &url, "--json", "--quiet", "--workers", "1", "--seed", "1", "--wait-for-server", "2s"];
    let mut hunt = caqtus.command(&[&words[..], &["--class", "tlp-where*", "--snippets", "0"]].concat());
    let mut hunt = hunt.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let campaign = caqtus.path("caqtus-findings/campaign.json");
    wait_until("cases ran", || {
        let ran =
            fs::read_to_string(&campaign).is_ok_and(|text| text.contains("\"pass\"") && !text.contains("\"pass\":0"));
        ran || matches!(hunt.try_wait(), Ok(Some(_)))
    });
    end(&server);
    let output = hunt.wait_with_output().expect("ends");
    (output.status.code(), last_json(&String::from_utf8_lossy(&output.stdout)), caqtus)
}

#[test]
fn a_server_that_does_not_start_itself_after_a_crash_leaves_what_it_ran_last() {
    let (code, json, caqtus) = ended_for_good(|server| {
        let backend = "SELECT min(pid)::text FROM pg_stat_activity WHERE application_name = 'caqtus'";
        let pid = server.sql("postgres", backend).trim().parse().expect("a process");
        // The executor asks, and waits for it, when it crashes.
        kill("-STOP", pid);
        std::thread::sleep(std::time::Duration::from_millis(1500));
        kill("-SEGV", pid);
        kill("-CONT", pid);
    });
    // A bug, and a hunt that could not go on.
    assert_eq!((code, &json["findings"][0]["kind"]), (Some(3), &"crash".into()), "{json}");
    let dir = caqtus.path(json["findings"][0]["dir"].as_str().expect("a directory"));
    let report = fs::read_to_string(dir.join("report.md")).expect("a report");
    assert!(report.contains("Not confirmed") && report.contains("restart_after_crash is off"), "{report}");
}

#[test]
fn a_server_that_is_asked_to_end_leaves_nothing() {
    let (code, json, _) = ended_for_good(|server| kill("-INT", server.pid()));
    assert_eq!((code, &json["findings"]), (Some(2), &Value::Array(Vec::new())), "{json}");
}
