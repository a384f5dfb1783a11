//! Every shipped class has recorded verdicts about its present text, none of them a refutation, and hunts use what is
//! proven unless told otherwise.

use crate::support::Caqtus;
use caqtus::caq::proof::{Edge, Pair, Proven, Status, Verdict};
use caqtus::catalogue;
use std::collections::BTreeSet;

/// Members proven at the last count. A change of the prover or of the classes may raise it; `make proofs` makes the
/// records.
const PROVEN_FLOOR: usize = 1413;

#[test]
fn the_records_are_about_the_present_text_of_every_member() {
    let catalogue = catalogue::shipped().expect("the shipped catalogue");
    assert!(catalogue.stale.is_empty(), "edited since `make proofs`: {:?}", catalogue.stale);
    for class in &catalogue.classes {
        for at in 1..class.members.len() {
            let about = class.edges().iter().any(|e| e.pair() == Pair(0, at));
            assert!(about, "{} member {} has no record; run `make proofs`", class.name, at + 1);
        }
    }
}

#[test]
fn no_shipped_pair_is_refuted() {
    for class in catalogue::shipped().expect("the shipped catalogue").classes {
        for record in class.edges().iter().map(Edge::record) {
            assert_ne!(record.verdict, Verdict::Refuted, "{}: {:?}", record.id, record.reason);
            assert_eq!(record.verdict == Verdict::Unknown, record.reason.is_some(), "{}", record.id);
        }
    }
}

#[test]
fn what_is_not_proven_has_a_reason() {
    let mut proven = 0;
    for class in catalogue::shipped().expect("the shipped catalogue").classes {
        for (at, status) in class.statuses().into_iter().enumerate() {
            match status {
                Status::Proven(_) => proven += 1,
                Status::Refuted { by, reason } => {
                    panic!("{} members {} and {} differ: {reason}", class.name, at + 1, by + 1)
                }
                Status::Assumed { reason } => {
                    assert!(!reason.contains("no proof is recorded"), "{} member {}: {reason}", class.name, at + 1);
                }
            }
        }
    }
    assert!(proven >= PROVEN_FLOOR, "{proven} members are proven, {PROVEN_FLOOR} were");
}

#[test]
fn a_proof_is_used_only_where_what_it_assumes_holds() {
    let guarantees = &catalogue::profile("sqlite").expect("the profile").guarantees;
    for class in catalogue::shipped().expect("the shipped catalogue").classes {
        let selection = class.select(guarantees, "sqlite", false);
        assert!(selection.assumed.is_empty(), "{}", class.name);
        let statuses = class.statuses();
        let proven: Vec<usize> = selection.proven().iter().map(Proven::member).collect();
        assert_eq!(selection.members.iter().collect::<BTreeSet<_>>(), proven.iter().collect(), "{}", class.name);
        for at in selection.members {
            let in_a_proof = class.edges().iter().any(|e| {
                (e.pair().0 == at || e.pair().1 == at)
                    && e.record().verdict == Verdict::Proven
                    && e.record().assumptions.is_subset(guarantees)
            });
            assert!(in_a_proof, "{} member {}: {:?}", class.name, at + 1, statuses[at]);
        }
    }
}

const OWN: &str = r#"
[[class]]
name = "own"
schema = "CREATE TABLE t1(c0 INT)"
placeholders = { p1 = "Expr(t1: BOOLEAN)" }
members = ["SELECT t1.c0 FROM t1 WHERE t1.p1", "SELECT t1.c0 FROM t1 WHERE (t1.p1) IS TRUE", "SELECT t1.c0 FROM t1"]
"#;

#[test]
fn hunts_use_proven_members_by_default() {
    let caqtus = Caqtus::new();
    let (_, json) = caqtus.hunt(&["--seed", "1", "--cases", "100", "--out", "a"]);
    assert_eq!(json["assumed_members"], 0, "{json}");
    let (_, more) = caqtus.hunt(&["--seed", "1", "--cases", "100", "--assumed", "--out", "b"]);
    assert!(more["assumed_members"].as_u64() > Some(0), "{more}");
    assert!(more["classes"].as_u64() >= json["classes"].as_u64(), "{more}");
}

#[test]
fn own_classes_are_assumed_unless_there_are_proofs() {
    let caqtus = Caqtus::new();
    std::fs::write(caqtus.path("own.toml"), OWN).expect("writes");
    let own = ["--catalogue", "own.toml", "--seed", "1", "--cases", "500"];
    let (code, json) = caqtus.hunt(&[&own[..], &["--out", "a"]].concat());
    assert_eq!((code, &json["assumed_members"]), (1, &3.into()), "the third member is wrong: {json}");

    // As the prover would answer.
    let pairs = caqtus.run(&["oracle", "pairs", "--catalogue", "own.toml"]);
    assert!(pairs.status.success(), "{}", String::from_utf8_lossy(&pairs.stderr));
    let pairs = String::from_utf8_lossy(&pairs.stdout).into_owned();
    let ids: Vec<serde_json::Value> = pairs.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    let ids: Vec<&str> = ids.iter().filter_map(|q| q["id"].as_str()).collect();
    assert_eq!(ids, ["own/1~2", "own/1~3"]);
    let answers = r#"{"id":"own/1~2","verdict":"proven","assumptions":[]}
{"id":"own/1~3","verdict":"refuted","witness":["INSERT INTO t1(c0) VALUES (1);"]}"#;
    std::fs::write(caqtus.path("answers.jsonl"), answers).expect("writes");
    let answers = std::fs::File::open(caqtus.path("answers.jsonl")).expect("opens");
    let mut command = caqtus.command(&["oracle", "record", "--catalogue", "own.toml"]);
    let records = command.stdin(answers).output().expect("starts");
    assert_eq!(records.status.code(), Some(1), "a refuted pair");
    assert!(String::from_utf8_lossy(&records.stderr).contains("own/1~3 is refuted: differs after INSERT"));
    std::fs::write(caqtus.path("proofs.jsonl"), records.stdout).expect("writes");

    let proven = ["--proofs", "proofs.jsonl"];
    let (code, json) = caqtus.hunt(&[&own[..], &proven, &["--out", "b"]].concat());
    assert_eq!((code, &json["assumed_members"]), (0, &0.into()), "{json}");
    let shown = caqtus.run(&[&["oracle", "show", "own", "--catalogue", "own.toml"], &proven[..]].concat());
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("member 2, proven equivalent to member 1, taking nothing for granted"), "{shown}");
    assert!(shown.contains("member 3, refuted by member 1: differs after INSERT"), "{shown}");
    let shown = caqtus.run(&[&["oracle", "show", "own", "--json", "--catalogue", "own.toml"], &proven[..]].concat());
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).expect("JSON");
    let statuses: Vec<&str> = (0..3).filter_map(|at| shown["statuses"][at]["status"].as_str()).collect();
    assert_eq!(statuses, ["proven", "proven", "refuted"], "{shown}");
    assert_eq!(shown["proofs"].as_array().map(Vec::len), Some(2), "{shown}");

    // A member that was edited since is not proven any more.
    std::fs::write(caqtus.path("own.toml"), OWN.replace("IS TRUE", "= TRUE")).expect("writes");
    let output = caqtus.run(&[&["hunt"], &own[..], &proven, &["--out", "c"]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("no class can be used"), "{stderr}");
    let listed = caqtus.run(&[&["oracle", "list", "--catalogue", "own.toml"], &proven[..]].concat());
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(
        listed.contains("3 members, 0 proven, 1 assumed, 2 refuted") && listed.contains("own/1~2 counts for nothing"),
        "{listed}"
    );
}
