//! Campaigns that a service runs: findings are in the store while the hunt goes on, those who watch miss nothing, and a
//! service that is killed goes on where it was.

use crate::support::service::Served;
use crate::support::{Caqtus, processes_naming, wait_until};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};

/// A campaign that finds something soon.
fn hunt() -> Value {
    json!({
        "dbms": "planted:drop-row", "classes_of": "shipped", "oracles": ["caq"], "classes": ["tlp-*", "norec-*"],
        "seed": 5, "workers": 1
    })
}

fn start(served: &Served, key: &str) -> i64 {
    let started = served.post("/api/v1/campaigns", &[("Idempotency-Key", key)], &hunt()).expect(202);
    assert_eq!(started["new"], true);
    started["id"].as_i64().expect("a number")
}

fn findings(served: &Served, campaign: i64) -> Vec<String> {
    let page = served.get(&format!("/api/v1/findings?campaign={campaign}&limit=500")).expect(200);
    page["items"].as_array().expect("items").iter().map(|f| f["id"].as_str().expect("an id").to_owned()).collect()
}

fn state(served: &Served, campaign: i64) -> String {
    served.get(&format!("/api/v1/campaigns/{campaign}")).expect(200)["state"].as_str().expect("a state").to_owned()
}

fn cases(served: &Served, campaign: i64) -> i64 {
    let summary = served.get(&format!("/api/v1/campaigns/{campaign}")).expect(200)["summary"].clone();
    summary["cases"].as_i64().unwrap_or(0)
}

/// The numbers of events that come after one, until there are enough of a kind.
fn events(served: &Served, campaign: i64, last: i64, kind: &str, enough: usize) -> Vec<i64> {
    let mut stream = served.connect();
    let port = served.address.port();
    let head = format!(
        "GET /api/v1/campaigns/{campaign}/events HTTP/1.1\r\nHost: localhost:{port}\r\nLast-Event-ID: {last}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).expect("sent");
    let (mut seen, mut of_kind, mut id) = (Vec::new(), 0, None);
    for line in BufReader::new(stream).lines() {
        let line = line.expect("a line");
        if let Some(number) = line.strip_prefix("id: ") {
            id = number.parse::<i64>().ok();
        } else if line.starts_with("data: {\"id\"") {
            seen.extend(id.take());
            of_kind += usize::from(line.contains(&format!("\"kind\":\"{kind}\"")));
        }
        if of_kind >= enough {
            break;
        }
    }
    seen
}

#[test]
fn findings_arrive_while_the_hunt_runs_and_the_bug_is_worked_through() {
    let caqtus = Caqtus::new();
    let served = Served::start(&caqtus);
    let id = start(&served, "one");
    let again = served.post("/api/v1/campaigns", &[("Idempotency-Key", "one")], &hunt()).expect(202);
    assert_eq!((&again["id"], &again["new"]), (&json!(id), &json!(false)), "it is not started twice");
    let mut other = hunt();
    other["seed"] = json!(6);
    assert_eq!(served.post("/api/v1/campaigns", &[("Idempotency-Key", "one")], &other).status, 409);

    wait_until("a finding is there", || !findings(&served, id).is_empty());
    assert_eq!(state(&served, id), "running", "the hunt goes on");
    // Whoever is cut off after any event gets every later one, and none twice.
    let all = events(&served, id, 0, "finding", 1);
    let (cut, rest) = all.split_at(all.len() / 2);
    let after = events(&served, id, cut.last().copied().unwrap_or(0), "finding", 1);
    assert_eq!(after, rest);
    assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{all:?}");
    wait_until("a sample is there", || {
        let page = served.get(&format!("/api/v1/campaigns/{id}/samples")).expect(200);
        !page["items"].as_array().expect("items").is_empty()
    });

    served.post(&format!("/api/v1/campaigns/{id}/stop"), &[], &json!({})).expect(200);
    wait_until("it stopped", || state(&served, id) == "stopped");
    wait_until("no executor is left", || processes_naming(&caqtus.path("data/campaigns")).is_empty());
    let campaign = served.get(&format!("/api/v1/campaigns/{id}")).expect(200);
    assert_eq!(campaign["summary"]["verdict"], "bugs", "{campaign}");

    // Its cases count for their classes, which the catalogue shows once it has them.
    let found = served.get("/api/v1/findings").expect(200)["items"][0]["class"].as_str().expect("a class").to_owned();
    let runs = format!("/api/v1/classes/{found}/runs");
    assert_eq!(served.get(&runs).status, 404);
    let class = format!(
        "[[class]]\nname = '{found}'\nschema = 'CREATE TABLE t1(c0 INT)'\nplaceholders = {{}}\n\
         members = ['SELECT t1.c0 FROM t1', 'SELECT t1.c0 FROM t1 WHERE TRUE']\n"
    );
    served.send("POST", "/api/v1/import", &[("Content-Type", "application/toml")], &class).expect(202);
    let run = served.get(&runs).expect(200)["items"][0].clone();
    assert_eq!((&run["dbms"], run["version"].is_string()), (&json!("planted:drop-row"), true), "{run}");
    assert!(run["pass"].as_i64() > Some(0) && run["fail"].as_i64() > Some(0), "{run}");
    let page = served.get(&format!("/classes/{found}")).body;
    assert!(page.contains("Cases that campaigns ran") && page.contains("planted:drop-row"), "{page}");

    let bugs = served.get("/api/v1/bugs?state=new").expect(200);
    let bug = bugs["items"][0]["id"].as_i64().expect("a bug");
    let path = format!("/api/v1/bugs/{bug}");
    let read = served.get(&path);
    let tag = read.header("etag").expect("a tag").to_owned();
    let smallest = read.expect(200)["smallest"].as_i64().expect("a finding");
    let reported = |said: &Value, tag: &str| {
        let headers = [("Content-Type", "application/json"), ("If-Match", tag)];
        served.send("PUT", &format!("{path}/state"), &headers, &said.to_string())
    };
    assert_eq!(reported(&json!({ "state": "reported" }), &tag).status, 422, "where was it reported?");
    let said = json!({ "state": "reported", "url": "https://bugs.example/7" });
    reported(&said, &tag).expect(200);
    assert_eq!(reported(&said, &tag).status, 412, "that was an older revision");
    served.post(&format!("{path}/notes"), &[], &json!({ "body": "seen\nby two" })).expect(201);
    let now = served.get(&path).expect(200);
    assert_eq!((&now["state"], &now["notes"][0]["body"]), (&json!("reported"), &json!("seen\nby two")));
    let trail = served.get(&format!("/api/v1/audit?subject=bug%20{bug}")).expect(200);
    assert_eq!(trail["items"].as_array().expect("items").len(), 2, "{trail}");

    for (file, text) in
        [("repro.sql", "SELECT"), ("report.md", "# wrong-result"), ("case.json", "\"planted:drop-row\"")]
    {
        let answer = served.get(&format!("/api/v1/findings/{smallest}/files/{file}"));
        assert!(answer.status == 200 && answer.body.contains(text), "{file}: {}", answer.body);
        assert!(answer.header("content-disposition").is_some_and(|value| value.contains(file)));
    }
    let script = served.get(&format!("/api/v1/findings/{smallest}/files/test.slt")).body;
    let labels = script.lines().filter(|line| line.starts_with("query ") && line.ends_with(" rowsort same-1"));
    assert!(labels.count() >= 2, "queries that must agree share a label: {script}");
    for file in ["..%2f..%2fcampaign.json", "..", "other", "%2e%2e%2fcase.json"] {
        assert_eq!(served.get(&format!("/api/v1/findings/{smallest}/files/{file}")).status, 404, "{file}");
    }
    served.stop();
}

#[test]
fn a_killed_service_goes_on_with_its_campaigns_and_leaves_no_orphan() {
    let caqtus = Caqtus::new();
    let served = Served::start(&caqtus);
    let id = start(&served, "k");
    wait_until("findings are there", || findings(&served, id).len() >= 2);
    let before = findings(&served, id);
    let tested = cases(&served, id);
    served.kill();
    wait_until("no executor is left", || processes_naming(&caqtus.path("data/campaigns")).is_empty());

    let served = Served::start(&caqtus);
    assert_eq!(state(&served, id), "running");
    wait_until("the hunt goes on", || cases(&served, id) > tested + 100);
    let after = findings(&served, id);
    assert!(before.iter().all(|finding| after.contains(finding)), "nothing is lost");
    // Ended well, it is handed to the next start too.
    served.stop();
    wait_until("no executor is left", || processes_naming(&caqtus.path("data/campaigns")).is_empty());
    let served = Served::start(&caqtus);
    assert_eq!(state(&served, id), "running");
    served.post(&format!("/api/v1/campaigns/{id}/stop"), &[], &json!({})).expect(200);
    wait_until("it stopped", || state(&served, id) == "stopped");
    let campaign = served.get(&format!("/api/v1/campaigns/{id}")).expect(200);
    assert_eq!(campaign["summary"]["seed"], 5, "{campaign}");
    served.stop();
}

#[test]
fn only_targets_of_our_own_are_hunted_on() {
    let caqtus = Caqtus::new();
    let served = Served::start(&caqtus);
    for dbms in
        ["sqlite:/tmp/evil.so", "postgres://me@host/db", "postgres:/usr/bin", "duckdb@0.0.1", "nothing", "", "../x"]
    {
        let mut request = hunt();
        request["dbms"] = json!(dbms);
        let answer = served.post("/api/v1/campaigns", &[("Idempotency-Key", "x")], &request);
        assert_eq!(answer.status, 422, "{dbms}: {}", answer.body);
    }
    let listed = served.get("/api/v1/campaigns").expect(200);
    assert_eq!(listed["items"], json!([]), "nothing was begun");
    let unknown =
        served.send("POST", "/api/v1/engines/sqlite/versions/..%2f..%2fx/install", &[("Idempotency-Key", "y")], "");
    assert_eq!(unknown.status, 404, "{}", unknown.body);
    served.stop();
}
