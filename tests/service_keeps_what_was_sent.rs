//! What was sent to a service is done and kept, whatever else is sent meanwhile, and whatever becomes of the client, of
//! the job, of the service or of its store.

use crate::service_reviews_classes::put_classes;
use crate::support::service::Served;
use crate::support::{Caqtus, wait_until};
use caqtus::store::{NewJob, Started, Store};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

const TOML: (&str, &str) = ("Content-Type", "application/toml");

/// A class over one column whose second member has this condition.
fn class(name: &str, conditions: &[&str]) -> String {
    let mut members = "'SELECT t1.c0 FROM t1 WHERE t1.p1'".to_owned();
    for condition in conditions {
        let _ = write!(members, ", 'SELECT t1.c0 FROM t1 WHERE {condition}'");
    }
    format!(
        "[[class]]\nname = '{name}'\nschema = 'CREATE TABLE t1(c0 INT)'\nplaceholders = {{ p1 = 'Expr(t1: BOOLEAN)' }}\n\
         members = [{members}]\n"
    )
}

fn jobs(served: &Served) -> Vec<Value> {
    served.get("/api/v1/jobs?limit=500").expect(200)["items"].as_array().expect("jobs").clone()
}

fn trail(served: &Served, subject: &str) -> Vec<Value> {
    let subject = subject.replace(' ', "%20");
    served.get(&format!("/api/v1/audit?subject={subject}")).expect(200)["items"].as_array().expect("items").clone()
}

/// The private store of a test, while no service uses it.
fn with_store<T>(caqtus: &Caqtus, work: impl AsyncFnOnce(&Store) -> T) -> T {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
        let store = Store::open(None, &caqtus.path("data")).await.expect("the store");
        let done = work(&store).await;
        store.close().await;
        done
    })
}

#[test]
fn what_is_imported_during_a_proof_is_proven_too_and_what_a_job_released_is_in_the_trail() {
    let caqtus = Caqtus::new();
    // A prover that waits for a file before it decides anything.
    let (slow, go) = (caqtus.path("slow-prover"), caqtus.path("go"));
    let prover = Path::new(env!("CARGO_BIN_EXE_caqtus")).with_file_name("caqtus-prover");
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = serve ]; then while [ ! -e '{}' ]; do sleep 0.05; done; fi\nexec '{}' \"$@\"\n",
        go.display(),
        prover.display()
    );
    std::fs::write(&slow, script).expect("written");
    std::fs::set_permissions(&slow, std::fs::Permissions::from_mode(0o755)).expect("its permissions can be set");
    let mut command = caqtus.command(&["serve", "--listen", "127.0.0.1:0", "--rate-limit", "100000"]);
    command.env("CAQTUS_PROVER", &slow);
    let served = Served::start_by(&caqtus, command);
    let import = |conditions: &[&str]| {
        served.send("POST", "/api/v1/import", &[TOML], &class("c", conditions)).expect(202)["classes"][0].clone()
    };
    import(&["t1.p1 IS TRUE"]);
    wait_until("the proof has begun", || jobs(&served).iter().any(|job| job["state"] == "running"));
    let second = import(&["NOT (t1.p1 IS NOT TRUE)"]);
    assert!(second["job"].is_i64(), "what is new is to be proven: {second}");
    std::fs::write(&go, "").expect("written");
    wait_until("the jobs are done", || jobs(&served).iter().all(|job| job["state"] == "done"));
    let found = served.get("/api/v1/classes/c").expect(200);
    let members = found["member_list"].as_array().expect("members");
    assert_eq!(members.len(), 3, "nothing is lost: {found}");
    assert!(members.iter().all(|member| member["status"] == "proven"), "{found}");
    assert_eq!(found["state"], "released");
    let released: Vec<Value> =
        trail(&served, "class c").into_iter().filter(|row| row["action"] == "released").collect();
    assert!(!released.is_empty(), "{:?}", trail(&served, "class c"));
    assert!(released.iter().all(|row| row["who"] == "loopback" && row["after"]["job"].is_i64()), "{released:?}");
    served.stop();
}

#[test]
fn one_content_under_two_names_is_two_classes_and_each_is_proven() {
    let caqtus = Caqtus::new();
    let served = Served::start(&caqtus);
    let both = class("one", &["t1.p1 IS TRUE"]) + &class("two", &["t1.p1 IS TRUE"]);
    let imported = served.send("POST", "/api/v1/import", &[TOML], &both).expect(202);
    let classes = imported["classes"].as_array().expect("classes");
    assert!(classes.iter().all(|class| class["job"].is_i64()) && classes[0]["job"] != classes[1]["job"], "{imported}");
    served.stop();
}

#[test]
fn clients_that_go_away_at_once_leave_no_work_undone() {
    let caqtus = Caqtus::new();
    let served = Served::start(&caqtus);
    for number in 0..60 {
        let body = class(&format!("c{number}"), &["t1.p1 IS TRUE"]);
        let mut stream = served.connect();
        let port = served.address.port();
        let head = format!(
            "POST /api/v1/import HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Type: application/toml\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).expect("sent");
        // At another moment of the work each time.
        std::thread::sleep(std::time::Duration::from_micros(400 * number));
        drop(stream);
    }
    // Requests that are still worked on come to their end before this is answered, or a moment later.
    let names = |served: &Served| -> Vec<String> {
        let found = served.get("/api/v1/classes?limit=500").expect(200);
        found["items"]
            .as_array()
            .expect("classes")
            .iter()
            .map(|c| c["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    let mut before = Vec::new();
    wait_until("nothing is stored any more", || {
        let now = names(&served);
        let same = now == before && !now.is_empty();
        before = now;
        std::thread::sleep(std::time::Duration::from_millis(500));
        same
    });
    let subjects: Vec<String> =
        jobs(&served).iter().map(|job| job["subject"].as_str().expect("one").to_owned()).collect();
    let undone: Vec<&String> = before.iter().filter(|name| !subjects.contains(&format!("class {name}"))).collect();
    assert!(undone.is_empty(), "of {} classes these have no job: {undone:?}", before.len());
    served.stop();
}

#[test]
fn a_job_of_a_service_that_is_gone_blocks_nobody_and_is_not_done_by_another() {
    let caqtus = Caqtus::new();
    let name = put_classes(&caqtus, &["tlp-where"]).remove(0);
    let subject = format!("class {name}");
    let left = with_store(&caqtus, async |store| {
        let job = NewJob {
            kind: "prove",
            subject: &subject,
            service: "gone",
            asked_by: "loopback",
            idempotency_key: "loopback/old".into(),
        };
        match store.job_put(&job).await.expect("put") {
            Started::New(id) => id,
            other => panic!("{other:?}"),
        }
    });
    let served = Served::start(&caqtus);
    let ask = |key: &str| {
        let path = format!("/api/v1/classes/{name}/prove");
        served.send("POST", &path, &[("Idempotency-Key", key)], "").expect(202)["job"].as_i64().expect("a job")
    };
    let own = ask("new");
    assert_ne!(own, left, "it is asked of this service");
    wait_until("it is done", || served.get(&format!("/api/v1/jobs/{own}")).expect(200)["state"] == "done");
    // A request that is known from the other service's time is that service's.
    assert_eq!(ask("old"), left);
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(served.get(&format!("/api/v1/jobs/{left}")).expect(200)["state"], "waiting");
    served.stop();
}

#[test]
fn a_service_ends_though_an_installation_goes_on_and_begins_it_anew() {
    let caqtus = Caqtus::new();
    let slow = caqtus.path("slow-cargo");
    std::fs::write(&slow, "#!/bin/sh\nexec sleep 100\n").expect("written");
    std::fs::set_permissions(&slow, std::fs::Permissions::from_mode(0o755)).expect("its permissions can be set");
    let start = |cargo: &Path| {
        let mut command = caqtus.command(&["serve", "--listen", "127.0.0.1:0"]);
        command.env("CARGO", cargo);
        Served::start_by(&caqtus, command)
    };
    let served = start(&slow);
    let path = "/api/v1/engines/sqlite/versions/3.39.2/install";
    let job = served.send("POST", path, &[("Idempotency-Key", "k")], "").expect(202)["job"].clone();
    let state = |served: &Served| served.get(&format!("/api/v1/jobs/{job}")).expect(200);
    wait_until("it is fetched", || state(&served)["message"].as_str().is_some_and(|said| said.contains("fetching")));
    let begun = caqtus::clock::now();
    served.stop();
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
    // Begun anew, it cannot be done, and that is said.
    let served = start(Path::new("/nowhere"));
    wait_until("it has failed", || state(&served)["state"] == "failed");
    assert!(state(&served)["message"].as_str().is_some_and(|said| said.contains("/nowhere")), "{}", state(&served));
    served.stop();
}

/// A campaign of few cases, which finds something.
fn hunt(seed: u64) -> Value {
    json!({
        "dbms": "planted:drop-row", "classes_of": "shipped", "oracles": ["caq"], "classes": ["tlp-*", "norec-*"],
        "seed": seed, "workers": 1, "cases": 1500
    })
}

fn start(served: &Served, key: &str, request: &Value) -> i64 {
    let started = served.post("/api/v1/campaigns", &[("Idempotency-Key", key)], request).expect(202);
    started["id"].as_i64().expect("a number")
}

fn finished(served: &Served, id: i64) -> Value {
    let read = || served.get(&format!("/api/v1/campaigns/{id}")).expect(200);
    wait_until("the campaign has ended", || !["running", "stopping"].iter().any(|state| read()["state"] == **state));
    read()
}

fn findings(served: &Served, campaign: i64) -> Vec<String> {
    let page = served.get(&format!("/api/v1/findings?campaign={campaign}&limit=500")).expect(200);
    let items = page["items"].as_array().expect("items").iter();
    let mut ids: Vec<String> = items.map(|f| f["id"].as_str().expect("an id").to_owned()).collect();
    ids.sort();
    ids
}

#[test]
fn two_campaigns_that_find_the_same_each_have_it() {
    let caqtus = Caqtus::new();
    let served = Served::start(&caqtus);
    let ids = ["one", "two"].map(|key| start(&served, key, &hunt(5)));
    let ended = ids.map(|id| finished(&served, id));
    for campaign in &ended {
        assert_eq!(campaign["summary"]["verdict"], "bugs", "{campaign}");
        assert!(campaign["seconds"].as_f64() > Some(0.0), "however short it was: {campaign}");
    }
    let found = ids.map(|id| findings(&served, id));
    assert!(!found[0].is_empty());
    assert_eq!(found[0], found[1], "the same seed finds the same");
    assert_eq!(ended[1]["findings"].as_u64(), Some(found[1].len() as u64));
    served.stop();
}

#[test]
fn a_campaign_of_another_store_is_not_gone_on_with() {
    let caqtus = Caqtus::new();
    let served = Served::start(&caqtus);
    let id = start(&served, "k", &hunt(5));
    finished(&served, id);
    served.stop();
    // The same data directory, another store: its campaigns have the same numbers.
    std::fs::remove_dir_all(caqtus.path("data/store")).expect("removed");
    let served = Served::start(&caqtus);
    assert_eq!(start(&served, "k", &hunt(6)), id);
    let campaign = finished(&served, id);
    assert_eq!(campaign["summary"]["seed"], 6, "{campaign}");
    served.stop();
}

/// The directories with a finding below one.
fn finding_dirs(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if entry.join("case.json").exists() {
            found.push(entry);
        } else if entry.is_dir() {
            found.extend(finding_dirs(&entry));
        }
    }
    found
}

#[test]
fn what_a_campaign_found_last_is_stored_though_the_service_was_killed_while_it_stopped() {
    let caqtus = Caqtus::new();
    let served = Served::start(&caqtus);
    let mut request = hunt(5);
    request["cases"] = Value::Null;
    let id = start(&served, "k", &request);
    wait_until("a finding is there", || !findings(&served, id).is_empty());
    served.kill();
    let stored = with_store(&caqtus, async |store| {
        store.campaign_ask_stop(id, "somebody").await.expect("asked").expect("there is one")
    });
    assert_eq!(stored, "stopping");
    // One that was written down, and not stored yet.
    let of = finding_dirs(&caqtus.path("data/campaigns")).remove(0);
    let last = of.with_file_name("wrong-result-0123456789abcdef");
    std::fs::create_dir(&last).expect("made");
    for file in std::fs::read_dir(&of).expect("reads").flatten() {
        std::fs::copy(file.path(), last.join(file.file_name())).expect("copied");
    }
    let text = std::fs::read_to_string(last.join("case.json")).expect("reads");
    let mut case: Value = serde_json::from_str(&text).expect("JSON");
    let new = "0123456789abcdef";
    case["id"] = json!(new);
    std::fs::write(last.join("case.json"), case.to_string()).expect("written");
    let served = Served::start(&caqtus);
    let campaign = finished(&served, id);
    assert_eq!(campaign["state"], "stopped");
    assert!(findings(&served, id).iter().any(|finding| finding == new), "{:?}", findings(&served, id));
    served.stop();
}

#[test]
fn no_more_campaigns_than_are_allowed_run_however_many_are_started_at_once() {
    let caqtus = Caqtus::new();
    let served = Served::start(&caqtus);
    let mut request = hunt(5);
    request["cases"] = Value::Null;
    request["classes"] = json!(["tlp-where"]);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..12)
            .map(|n| {
                let (served, request) = (&served, &request);
                scope.spawn(move || {
                    served.post("/api/v1/campaigns", &[("Idempotency-Key", &format!("k{n}"))], request).status
                })
            })
            .collect();
        asked.into_iter().map(|asked| asked.join().expect("answered")).collect()
    });
    let count = |status| statuses.iter().filter(|found| **found == status).count();
    assert_eq!((count(202), count(409)), (4, 8), "{statuses:?}");
    // Asked for again, one that runs is that one.
    let page = served.get("/api/v1/campaigns").expect(200);
    let running = page["items"].as_array().expect("items").clone();
    assert_eq!(running.len(), 4, "{page}");
    for campaign in &running {
        served.post(&format!("/api/v1/campaigns/{}/stop", campaign["id"]), &[], &json!({})).expect(200);
    }
    for campaign in &running {
        assert_eq!(finished(&served, campaign["id"].as_i64().expect("a number"))["state"], "stopped");
    }
    start(&served, "after", &hunt(7));
    served.stop();
}

#[test]
fn what_changed_since_is_sent_though_the_revision_is_the_same() {
    let caqtus = Caqtus::new();
    let served = Served::start(&caqtus);
    let id = start(&served, "k", &hunt(5));
    finished(&served, id);
    let bug = served.get("/api/v1/bugs").expect(200)["items"][0]["id"].clone();
    let path = format!("/api/v1/bugs/{bug}");
    let tag = served.get(&path).header("etag").expect("a tag").to_owned();
    let known = || served.send("GET", &path, &[("If-None-Match", &tag)], "").status;
    assert_eq!(known(), 304);
    served.post(&format!("{path}/notes"), &[], &json!({ "body": "seen" })).expect(201);
    assert_eq!(known(), 200, "there is a note");
    // Whoever has not seen the note may decide all the same: nothing of theirs is overwritten.
    let headers = [("Content-Type", "application/json"), ("If-Match", tag.as_str())];
    served.send("PUT", &format!("{path}/state"), &headers, r#"{"state":"confirmed"}"#).expect(200);
    served.stop();
}
