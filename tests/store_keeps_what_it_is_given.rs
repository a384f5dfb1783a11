//! The store: classes go in and come out as they were, campaigns are recorded, and its private server comes and goes.

use crate::support::service::Served;
use crate::support::{Caqtus, kill, last_json, processes_naming, succeed, wait_until};
use caqtus::store::Store;

/// Processes of the private server.
fn servers(caqtus: &Caqtus) -> Vec<u32> {
    processes_naming(&caqtus.path("data/store/data"))
}

fn read(caqtus: &Caqtus, name: &str) -> String {
    std::fs::read_to_string(caqtus.path(name)).expect("the file was written")
}

#[test]
fn shipped_classes_come_out_as_they_went_in_and_are_hunted_with() {
    let caqtus = Caqtus::new();
    let first = last_json(&succeed(&caqtus, 0, &["oracle", "import", "--shipped", "--quiet", "--json"]));
    assert_eq!(first["unchanged"], 0);
    assert_eq!(first["released"], first["classes"]);
    let again = last_json(&succeed(&caqtus, 0, &["oracle", "import", "--shipped", "--quiet", "--json"]));
    assert_eq!(again["unchanged"], again["classes"], "importing again changes nothing");

    let shipped = last_json(&succeed(&caqtus, 0, &["oracle", "list", "--json"]))["totals"].clone();
    let stored = last_json(&succeed(&caqtus, 0, &["oracle", "list", "--store", "--json"]))["totals"].clone();
    assert_eq!(stored, shipped, "members and proofs are all there");

    succeed(&caqtus, 0, &["oracle", "export", "--classes", "a.toml", "--proofs", "a.jsonl"]);
    let other = Caqtus::new();
    let files = ["a.toml", "a.jsonl"].map(|name| caqtus.path(name).display().to_string());
    succeed(&other, 0, &["oracle", "export", "none-*", "--classes", "b.toml", "--proofs", "b.jsonl"]);
    assert_eq!(read(&other, "b.jsonl"), "", "an empty store exports nothing");
    let listed = succeed(&other, 0, &["oracle", "list", "--json", "--catalogue", &files[0], "--proofs", &files[1]]);
    assert_eq!(last_json(&listed)["totals"], shipped, "the files hold everything");

    let words = ["--store", "--dbms", "planted:drop-row", "--cases", "600", "--seed", "3", "--workers", "1"];
    let (code, summary) = caqtus.hunt(&words);
    assert_eq!(code, 1, "{summary}");
    let found = i64::try_from(summary["findings"].as_array().expect("findings").len()).expect("few");
    assert!(found > 0);
    assert!(servers(&caqtus).is_empty(), "the server is gone with the program");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let store = Store::open(None, &caqtus.path("data")).await.expect("the store");
        let (campaigns, findings, bugs) = store.campaign_totals().await.expect("totals");
        store.close().await;
        assert_eq!((campaigns, findings), (1, found));
        assert!((1..=found).contains(&bugs));
    });
}

#[test]
fn a_hunt_is_in_the_store_while_it_runs_and_is_stopped_from_there() {
    let caqtus = Caqtus::new();
    succeed(&caqtus, 0, &["oracle", "import", "--shipped", "--quiet"]);
    let served = Served::start(&caqtus);
    let words = ["hunt", "--store", "--quiet", "--json", "--dbms", "planted:drop-row", "--seed", "5", "--workers", "1"];
    let more = ["--oracle", "caq", "--class", "tlp-*", "--class", "norec-*"];
    let mut command = caqtus.command(&[&words[..], &more[..]].concat());
    let hunt = command.stdout(std::process::Stdio::piped()).spawn().expect("starts");
    let first = |list: &str| served.get(&format!("/api/v1/{list}")).expect(200)["items"][0].clone();
    wait_until("a finding is in the store", || first("findings?campaign=1").is_object());
    let running = first("campaigns");
    assert_eq!((&running["state"], &running["asked_by"]), (&"running".into(), &serde_json::Value::Null), "{running}");
    // The first sample may be older than the first case.
    wait_until("it says how far it is", || {
        let samples = served.get("/api/v1/campaigns/1/samples").expect(200);
        samples["items"].as_array().is_some_and(|all| all.iter().any(|sample| sample["cases"].as_i64() > Some(0)))
    });
    served.send("POST", "/api/v1/campaigns/1/stop", &[], "").expect(200);
    let output = hunt.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(1), "it ends with what it found");
    let summary = last_json(&String::from_utf8_lossy(&output.stdout));
    let found = summary["findings"].as_array().expect("findings").len() as u64;
    let campaign = served.get("/api/v1/campaigns/1").expect(200);
    assert_eq!(
        (campaign["state"].as_str(), campaign["findings"].as_u64()),
        (Some("stopped"), Some(found)),
        "{campaign}"
    );
    assert_eq!(campaign["summary"], summary);
    served.stop();
}

#[test]
fn a_class_of_the_name_of_a_shipped_one_stays() {
    let caqtus = Caqtus::new();
    // Names of shipped classes; another schema.
    let own = "[[class]]\nname = 'tlp-where'\nschema = 'CREATE TABLE mine(c0 INT)'\nmembers = ['SELECT mine.c0 FROM mine', \
               'SELECT mine.c0 FROM mine WHERE TRUE']\n";
    std::fs::write(caqtus.path("c.toml"), own).expect("written");
    std::fs::write(caqtus.path("none.jsonl"), "").expect("written");
    succeed(&caqtus, 0, &["oracle", "import", "c.toml", "--proofs", "none.jsonl", "--quiet"]);
    let shipped = last_json(&succeed(&caqtus, 0, &["oracle", "import", "--shipped", "--quiet", "--json"]));
    let listed = last_json(&succeed(&caqtus, 0, &["oracle", "list", "--json"]))["totals"]["classes"].clone();
    assert_eq!(shipped["name_taken"], 1, "{shipped}");
    assert_eq!(shipped["classes"].as_u64().map(|n| n + 1), listed.as_u64(), "the others are all there");
    assert!(succeed(&caqtus, 0, &["oracle", "show", "--store", "tlp-where"]).contains("mine"), "it stays as it is");
}

#[test]
fn a_changed_class_is_checked_again_and_a_wrong_one_is_not_used() {
    let caqtus = Caqtus::new();
    let class = |condition: &str| {
        format!(
            "[[class]]\nname = 'c'\nschema = 'CREATE TABLE t1(c0 INT)'\nplaceholders = {{ p1 = 'Expr(t1: BOOLEAN)' }}\n\
             members = ['SELECT t1.c0 FROM t1 WHERE t1.p1', 'SELECT t1.c0 FROM t1 WHERE {condition}']\n"
        )
    };
    let import = |code: i32, condition: &str| {
        std::fs::write(caqtus.path("c.toml"), class(condition)).expect("written");
        last_json(&succeed(&caqtus, code, &["oracle", "import", "c.toml", "--quiet", "--json"]))
    };
    assert_eq!(import(0, "t1.p1 IS TRUE")["released"], 1, "proven and run");
    assert_eq!(import(0, "t1.p1 IS TRUE")["unchanged"], 1);
    let refuted = import(1, "t1.p1 IS NOT FALSE");
    assert_eq!((&refuted["refuted"], &refuted["released"]), (&1.into(), &0.into()), "{refuted}");
    let shown = succeed(&caqtus, 0, &["oracle", "show", "--store", "c"]);
    assert!(shown.contains("refuted by member 1: differs after INSERT"), "{shown}");
    let listed = last_json(&succeed(&caqtus, 0, &["oracle", "list", "--store", "--json"]))["totals"].clone();
    assert_eq!((&listed["refuted"], &listed["assumed"]), (&2.into(), &0.into()), "which of the two is wrong is open");
    // What a person decided stays, whatever is imported.
    succeed(&caqtus, 0, &["oracle", "review", "c", "quarantined", "--why", "a doubt"]);
    assert_eq!(import(1, "NOT (t1.p1 IS NOT TRUE)")["quarantined"], 1);
    let shown = succeed(&caqtus, 0, &["oracle", "show", "--store", "c"]);
    assert!(shown.contains("a doubt"), "{shown}");
    let other = class("TRUE").replace("c0 INT", "c0 TEXT");
    std::fs::write(caqtus.path("c.toml"), other).expect("written");
    let output = caqtus.run(&["oracle", "import", "c.toml", "--quiet"]);
    assert_eq!(output.status.code(), Some(2), "another class of the name is not replaced");

    let output = caqtus.run(&["hunt", "--store", "--cases", "100", "--quiet"]);
    assert_eq!(output.status.code(), Some(2), "a refuted class is not hunted with");
    assert!(String::from_utf8_lossy(&output.stderr).contains("no released class"));
}

#[test]
fn a_killed_program_or_server_loses_nothing() {
    let caqtus = Caqtus::new();
    succeed(&caqtus, 0, &["oracle", "import", "--shipped", "--quiet"]);
    let totals = || last_json(&succeed(&caqtus, 0, &["oracle", "list", "--store", "--json"]))["totals"].clone();
    let before = totals();
    // A hunt keeps the store open.
    let hunt = || {
        let written = caqtus.path("caqtus-findings/store-proofs.jsonl");
        let _ = std::fs::remove_file(&written);
        let words = ["hunt", "--store", "--quiet", "--for", "1h", "--class", "tlp-*", "--workers", "1"];
        let child = caqtus.command(&words).stdout(std::process::Stdio::null()).spawn().expect("starts");
        wait_until("classes were read", || written.exists());
        child
    };
    let mut child = hunt();
    kill("-9", child.id());
    child.wait().expect("ends");
    assert!(!servers(&caqtus).is_empty(), "the server outlives a kill");
    assert_eq!(totals(), before);
    assert!(servers(&caqtus).is_empty(), "and the next program, which used it, stopped it");

    let mut child = hunt();
    let found = || std::fs::read_to_string(caqtus.path("data/store/data/postmaster.pid")).unwrap_or_default();
    let postmaster = found().lines().next().and_then(|line| line.parse().ok()).expect("a process");
    // Two programs use it now; the one that ends first leaves it to the other.
    assert_eq!(totals(), before);
    assert!(!servers(&caqtus).is_empty(), "somebody still uses it");
    kill("-9", postmaster);
    wait_until("the server is gone", || servers(&caqtus).is_empty());
    kill("-9", child.id());
    child.wait().expect("ends");
    assert_eq!(totals(), before, "the server recovers");
}

#[test]
fn a_server_that_shuts_down_is_waited_for() {
    let caqtus = Caqtus::new();
    let data = caqtus.path("data");
    let runtime = || tokio::runtime::Runtime::new().expect("a runtime");
    let first_runtime = runtime();
    let first = first_runtime.block_on(Store::open(None, &data)).expect("the store");
    // As after a program that was killed while it stopped the server: this way of stopping waits for those who are
    // connected, and lets nobody else in.
    let pid = read(&caqtus, "data/store/data/postmaster.pid");
    kill("-TERM", pid.lines().next().and_then(|line| line.parse().ok()).expect("a number"));
    let second = std::thread::spawn(move || {
        runtime().block_on(async {
            let store = Store::open(None, &data).await.expect("the store");
            let totals = store.campaign_totals().await.expect("totals");
            store.close().await;
            totals
        })
    });
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(!second.is_finished(), "it waits");
    first_runtime.block_on(first.close());
    assert_eq!(second.join().expect("no panic"), (0, 0, 0));
    assert!(servers(&caqtus).is_empty(), "the server is gone with the program");
}
