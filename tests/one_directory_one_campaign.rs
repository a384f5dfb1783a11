//! A campaign's directory is one hunt's at a time, what is damaged in it or in a cache is said and stops nothing else, and
//! what a killed hunt left there goes.

use crate::support::{Caqtus, kill, processes_naming, wait_until};
use std::fs;
use std::process::Stdio;

/// What the program says when it cannot run.
fn refused(caqtus: &Caqtus, words: &[&str]) -> String {
    let output = caqtus.run(words);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
    said
}

const HUNT: [&str; 8] = ["--class", "norec-*", "--cases", "96", "--seed", "3", "--out", "out"];

#[test]
fn a_campaign_goes_on_on_its_own_target_only() {
    let caqtus = Caqtus::new();
    let (code, _) = caqtus.hunt(&[&["--dbms", "planted:none"], &HUNT[..]].concat());
    assert_eq!(code, 0);
    let said = refused(&caqtus, &["hunt", "--resume", "--dbms", "sqlite", "--cases", "192", "--out", "out"]);
    assert!(said.contains("planted:none") && said.contains("not on sqlite"), "{said}");
    for target in [&[][..], &["--dbms", "planted:none"]] {
        let (code, summary) = caqtus.hunt(&[&["--resume", "--cases", "192", "--out", "out"], target].concat());
        assert_eq!((code, &summary["dbms"], &summary["cases"]), (0, &"planted:none".into(), &192.into()), "{summary}");
    }
    // Options that a campaign brings with it are not taken and forgotten.
    for option in [["--oracle", "consistency"], ["--snippets", "10"], ["--seed", "4"]] {
        let said = refused(&caqtus, &[&["hunt", "--resume", "--out", "out"], &option[..]].concat());
        assert!(said.contains("cannot be used with"), "{said}");
    }
}

#[test]
fn a_damaged_campaign_is_said() {
    let caqtus = Caqtus::new();
    caqtus.hunt(&HUNT);
    let path = caqtus.path("out/campaign.json");
    let text = fs::read_to_string(&path).expect("reads");
    fs::write(&path, &text[..text.len() / 2]).expect("writes");
    let said = refused(&caqtus, &["hunt", "--resume", "--out", "out"]);
    assert!(said.contains("out/campaign.json is damaged"), "{said}");
    // A new one starts, and keeps what is left of the last.
    let output = caqtus.run(&[&["hunt"], &HUNT[..]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("damaged"), "{said}");
    assert!(caqtus.path("out/campaign.damaged.json").exists());
    assert!(refused(&caqtus, &["hunt", "--resume", "--out", "empty"]).contains("no campaign to resume"));
}

#[test]
fn two_hunts_do_not_share_a_directory() {
    let caqtus = Caqtus::new();
    // Left by hunts that were killed; the number of one of them is in use again.
    for left in ["out/.run-1", "out/.run-4999999", "out/.0123456789ab-1"] {
        fs::create_dir_all(caqtus.path(left)).expect("makes");
    }
    let out = caqtus.path("out").display().to_string();
    let words = ["hunt", "--class", "norec-*", "--seed", "3", "--quiet", "--workers", "1", "--out", &out];
    let mut first = caqtus.command(&words).stdout(Stdio::null()).spawn().expect("starts");
    let own = caqtus.path(&format!("out/.run-{}", first.id()));
    wait_until("it hunts", || own.exists() && caqtus.path("out/campaign.json").exists());
    let left = || {
        let entries = fs::read_dir(caqtus.path("out")).expect("reads").flatten();
        entries.filter(|e| e.file_name().to_string_lossy().contains('-') && e.path() != own).count()
    };
    assert_eq!(left(), 0);
    for more in [&["--cases", "96"][..], &["--resume"]] {
        let said = refused(&caqtus, &[&["hunt", "--out", "out"], more].concat());
        assert!(said.contains(&format!("process {}", first.id())) && said.contains("--out"), "{said}");
    }
    kill("-9", first.id());
    first.wait().expect("ends");
    wait_until("no process is left", || processes_naming(&caqtus.path("out")).is_empty());
    assert!(own.exists(), "a kill leaves it");
    let (code, _) = caqtus.hunt(&HUNT);
    assert_eq!(code, 0);
    assert!(!own.exists() && left() == 0);
}

#[test]
fn a_cache_is_a_convenience() {
    let caqtus = Caqtus::new();
    let hunt = |caqtus: &Caqtus| {
        let output = caqtus.run(&[&["hunt", "--json"], &HUNT[..]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}");
        let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("the summary");
        (summary["case_digest"].clone(), said)
    };
    let (whole, said) = hunt(&caqtus);
    assert!(!said.contains("cache"), "{said}");
    // Bytes that are no text, lines that are no JSON, lines that mean nothing: found out again.
    let mut files = 0;
    for entry in fs::read_dir(caqtus.path("data/cache")).expect("a cache").flatten() {
        fs::write(entry.path(), b"\xff\xfe\x00\n{\"key\": 1}\n{\"snippet\": 99999999}\n{\"snip").expect("writes");
        files += 1;
    }
    assert!(files >= 2);
    let (again, said) = hunt(&caqtus);
    assert_eq!(again, whole, "{said}");
    assert_eq!(hunt(&caqtus).0, whole);
    // One that cannot be written, whoever tries.
    fs::remove_dir_all(caqtus.path("data/cache")).expect("removes");
    fs::write(caqtus.path("data/cache"), "").expect("writes");
    let (without, said) = hunt(&caqtus);
    assert_eq!(without, whole, "{said}");
    assert!(said.contains("data/cache") && said.contains("this hunt only"), "{said}");
}
