//! Whoever stops reading, as `| head` does, ends a command without a word of it, and loses no finding.

use crate::support::{Caqtus, last_json, wait_until};
use std::process::{Command, Output, Stdio};

/// A pipe whose reader is gone.
fn unread() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

fn into_nothing(mut command: Command) -> Output {
    command.stdout(unread()).stderr(Stdio::piped()).output().expect("starts")
}

#[test]
fn every_command_ends_quietly() {
    let caqtus = Caqtus::new();
    let (code, _) = caqtus.hunt(&["--dbms", "planted:drop-row", "--cases", "300", "--seed", "2", "--keep", "1"]);
    assert_eq!(code, 1);
    let listed = last_json(&String::from_utf8_lossy(&caqtus.run(&["bug", "list", "--json"]).stdout));
    let id = listed[0]["id"].as_str().expect("a finding");
    for words in [
        vec!["--help"],
        vec!["hunt", "--help"],
        vec!["dbms", "list", "--known"],
        vec!["dbms", "list", "--known", "--json"],
        vec!["dbms", "check"],
        vec!["oracle", "list"],
        vec!["oracle", "list", "--json"],
        vec!["oracle", "show", "tlp-where"],
        vec!["oracle", "pairs", "--class", "tlp-where"],
        vec!["case", "--seed", "1"],
        vec!["bug", "list"],
        vec!["bug", "list", "--json"],
        vec!["bug", "show", id],
        vec!["bug", "replay", id],
        vec!["bug", "spans"],
        vec!["completions", "bash"],
        vec!["selftest", "--cases", "0"],
    ] {
        let output = into_nothing(caqtus.command(&words));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && said.is_empty(), "{words:?}: {} {said}", output.status);
    }
}

#[test]
fn a_hunt_leaves_its_findings_and_its_status() {
    for flags in [&["--json", "--quiet"][..], &["--quiet"]] {
        let caqtus = Caqtus::new();
        let words = ["hunt", "--dbms", "planted:drop-row", "--cases", "300", "--seed", "2", "--out", "out"];
        let output = into_nothing(caqtus.command(&[&words[..], flags].concat()));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.is_empty(), "{said}");
        let campaign = std::fs::read_to_string(caqtus.path("out/campaign.json")).expect("the campaign");
        assert!(campaign.contains("\"finished\":true"));
        let found =
            last_json(&String::from_utf8_lossy(&caqtus.run(&["bug", "list", "--json", "--findings", "out"]).stdout));
        assert!(found.as_array().is_some_and(|found| !found.is_empty()), "{found}");
        for dir in found.as_array().into_iter().flatten().filter_map(|found| found["dir"].as_str()) {
            for file in ["case.json", "repro.sql", "report.md"] {
                assert!(caqtus.path(dir).join(file).exists(), "{dir}/{file}");
            }
        }
    }
}

#[test]
fn a_hunt_whose_messages_nobody_reads_stops_in_order() {
    // Without a limit, as after `caqtus hunt 2>&1 | head`.
    let caqtus = Caqtus::new();
    let mut hunt = caqtus
        .command(&["hunt", "--class", "norec-*", "--seed", "1", "--out", "out"])
        .stdout(unread())
        .stderr(unread())
        .spawn()
        .expect("starts");
    let mut status = None;
    wait_until("it ends", || {
        status = hunt.try_wait().expect("is there");
        status.is_some()
    });
    assert_eq!(status.and_then(|status| status.code()), Some(0));
    let campaign = std::fs::read_to_string(caqtus.path("out/campaign.json")).expect("the campaign");
    assert!(campaign.contains("\"finished\":true"));
}
