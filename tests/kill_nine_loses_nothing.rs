//! A kill at any moment loses no finding and leaves no orphan, and the next run goes on.

use crate::support::{Caqtus, kill, processes_naming, wait_until};
use std::process::Stdio;

/// Findings that were reduced. One that a kill caught before that is replaced by its reduced form later.
fn findings(caqtus: &Caqtus) -> Vec<String> {
    // It may not be there yet.
    std::fs::create_dir_all(caqtus.path("out")).expect("a directory");
    let output = caqtus.run(&["bug", "list", "--json", "--findings", "out"]);
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).expect("every finding reads");
    let bugs = list.as_array().expect("a list").iter();
    let ids = bugs.flat_map(|bug| bug["members"].as_array().expect("members"));
    let ids = ids.map(|id| id.as_str().expect("an id").to_owned());
    let is_reduced = |id: &String| {
        let text = std::fs::read_to_string(caqtus.path("out").join(id).join("case.json")).unwrap_or_default();
        text.contains("\"reduced\": true")
    };
    ids.filter(is_reduced).collect()
}

#[test]
fn killing_the_supervisor_leaves_findings_and_no_orphans() {
    let caqtus = Caqtus::new();
    let out = caqtus.path("out");
    let out_text = out.display().to_string();
    let words = ["hunt", "--dbms", "planted:drop-row", "--seed", "5", "--quiet", "--workers", "2", "--out", &out_text];
    let mut hunt = caqtus.command(&words).stdout(Stdio::null()).spawn().expect("starts");
    wait_until("there are findings", || findings(&caqtus).len() >= 3);
    kill("-9", hunt.id());
    hunt.wait().expect("ends");
    wait_until("no process is left", || processes_naming(&out).is_empty());
    let before = findings(&caqtus);
    let (code, json) = caqtus.hunt(&["--resume", "--cases", "2000", "--out", &out_text]);
    assert_eq!(code, 1);
    assert_eq!(json["seed"], 5, "the campaign goes on with its seed");
    assert_eq!(json["dbms"], "planted:drop-row", "and with its target");
    let after = findings(&caqtus);
    assert!(before.iter().all(|id| after.contains(id)), "no finding is lost");
}

/// The campaign on disk.
fn campaign(caqtus: &Caqtus) -> serde_json::Value {
    let text = std::fs::read_to_string(caqtus.path("out/campaign.json")).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Blocks that it says are done.
fn blocks_done(caqtus: &Caqtus) -> u64 {
    campaign(caqtus)["done_below"].as_u64().unwrap_or(0)
}

/// Cases that passed.
fn passed(caqtus: &Caqtus) -> u64 {
    campaign(caqtus)["stats"]["outcomes"]["pass"].as_u64().unwrap_or(0)
}

fn interrupt(hunt: std::process::Child) -> serde_json::Value {
    kill("-INT", hunt.id());
    let output = hunt.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(0), "nothing was found, and a kill from outside is no bug of the engine");
    serde_json::from_slice(&output.stdout).expect("the summary")
}

fn quiet_hunt(caqtus: &Caqtus, seed: &str) -> std::process::Child {
    let out = caqtus.path("out").display().to_string();
    let words = ["hunt", "--seed", seed, "--class", "norec-*", "--json", "--quiet", "--out", &out];
    let hunt = caqtus.command(&words).stdout(Stdio::piped()).spawn().expect("starts");
    wait_until("blocks are done", || blocks_done(caqtus) > 0);
    hunt
}

#[test]
fn a_killed_executor_is_replaced() {
    let caqtus = Caqtus::new();
    let hunt = quiet_hunt(&caqtus, "6");
    let executor = processes_naming(&caqtus.path("out")).into_iter().find(|pid| *pid != hunt.id());
    kill("-9", executor.expect("an executor"));
    let before = blocks_done(&caqtus);
    wait_until("the hunt goes on", || blocks_done(&caqtus) > before + 20);
    let json = interrupt(hunt);
    assert!(json["restarts"].as_u64() >= Some(1), "{json}");
    wait_until("no process is left", || processes_naming(&caqtus.path("out")).is_empty());
}

#[test]
fn ctrl_c_ends_with_the_summary() {
    let caqtus = Caqtus::new();
    let hunt = quiet_hunt(&caqtus, "7");
    let json = interrupt(hunt);
    assert!(json["cases"].as_u64() > Some(0), "{json}");
    let campaign = std::fs::read_to_string(caqtus.path("out/campaign.json")).expect("the campaign");
    assert!(campaign.contains("\"finished\":true"));
}

/// Executors of a hunt, and whether it has a finding that is still being reduced.
fn at_work(caqtus: &Caqtus) -> (Vec<u32>, bool) {
    let is_executor = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0).skip(1);
        words.next() == Some(b"execute".as_slice()) && words.next() == Some(b"--config".as_slice())
    };
    let executors = processes_naming(&caqtus.path("out")).into_iter().filter(is_executor).collect();
    let found = std::fs::read_dir(caqtus.path("out")).into_iter().flatten().flatten();
    let cases = found.filter_map(|entry| std::fs::read_to_string(entry.path().join("case.json")).ok());
    (executors, cases.into_iter().any(|text| text.contains("\"reduced\": false")))
}

#[test]
fn the_hunt_goes_on_while_its_only_executor_reduces() {
    let caqtus = Caqtus::new();
    let out = caqtus.path("out").display().to_string();
    let words = ["hunt", "--dbms", "planted:drop-row", "--seed", "5", "--quiet", "--workers", "1", "--out", &out];
    let words = [&words[..], &["--hang-after", "300s"]].concat();
    let mut hunt = caqtus.command(&words).stdout(Stdio::null()).spawn().expect("starts");
    let mut stopped = 0;
    // A reduction that takes as long as is wanted: its executor is stopped.
    wait_until("an executor is stopped while it reduces", || {
        let (executors, reduces) = at_work(&caqtus);
        if let ([executor], true) = (executors.as_slice(), reduces) {
            kill("-STOP", *executor);
            if at_work(&caqtus).1 {
                stopped = *executor;
            } else {
                kill("-CONT", *executor);
            }
        }
        stopped != 0
    });
    wait_until("another stands in for it", || at_work(&caqtus).0.len() == 2);
    let before = passed(&caqtus);
    wait_until("cases run meanwhile", || passed(&caqtus) > before);
    kill("-CONT", stopped);
    wait_until("one is let go", || at_work(&caqtus).0.len() == 1);
    kill("-INT", hunt.id());
    hunt.wait().expect("ends");
}
