//! A kill at any moment loses no finding and leaves no orphan, and the next run goes on.

mod support;

use std::process::{Command, Stdio};
use support::{Caqtus, processes_naming, wait_until};

fn kill(signal: &str, pid: u32) {
    let status = Command::new("kill").arg(signal).arg(pid.to_string()).status().expect("kill runs");
    assert!(status.success());
}

fn findings(caqtus: &Caqtus) -> Vec<String> {
    let output = caqtus.run(&["bug", "list", "--json", "--findings", "out"]);
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).expect("every finding reads");
    list.as_array().expect("a list").iter().map(|f| f["id"].as_str().expect("an id").to_owned()).collect()
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

#[test]
fn a_killed_executor_is_replaced() {
    let caqtus = Caqtus::new();
    let out = caqtus.path("out");
    let out_text = out.display().to_string();
    let words = ["hunt", "--seed", "6", "--class", "norec-*", "--for", "6s", "--json", "--quiet", "--out", &out_text];
    let hunt = caqtus.command(&words).stdout(Stdio::piped()).spawn().expect("starts");
    let executors = || processes_naming(&out).into_iter().filter(|pid| *pid != hunt.id()).collect::<Vec<_>>();
    wait_until("executors run", || !executors().is_empty());
    std::thread::sleep(std::time::Duration::from_secs(1));
    kill("-9", executors()[0]);
    let output = hunt.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(0), "a kill from outside is no bug of the engine");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("the summary");
    assert!(json["restarts"].as_u64() >= Some(1), "{json}");
    assert!(json["cases"].as_u64() > Some(1000), "{json}");
    assert!(processes_naming(&out).is_empty());
}

#[test]
fn ctrl_c_ends_with_the_summary() {
    let caqtus = Caqtus::new();
    let hunt = caqtus
        .command(&["hunt", "--seed", "7", "--class", "norec-*", "--json", "--quiet", "--out", "out"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    wait_until("the campaign is written", || caqtus.path("out/campaign.json").exists());
    std::thread::sleep(std::time::Duration::from_secs(2));
    kill("-INT", hunt.id());
    let output = hunt.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(0));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("the summary");
    assert!(json["cases"].as_u64() > Some(0), "{json}");
    let campaign = std::fs::read_to_string(caqtus.path("out/campaign.json")).expect("the campaign");
    assert!(campaign.contains("\"finished\":true"));
}
