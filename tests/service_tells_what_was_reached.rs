//! What campaigns of a service reached can be read there: which builds took a snippet, which features of an engine were in
//! cases that passed and which never, and how many plans were met.

use crate::service_reviews_classes::put_classes;
use crate::support::service::Served;
use crate::support::{Caqtus, wait_until};
use caqtus::sql::snippet::SnippetKind;
use caqtus::store::{Provenance, Store};
use serde_json::{Value, json};

fn items(served: &Served, path: &str) -> Vec<Value> {
    served.get(path).expect(200)["items"].as_array().expect("items").clone()
}

fn texts(served: &Served, query: &str) -> Vec<String> {
    let found = items(served, &format!("/api/v1/snippets?{query}"));
    found.iter().map(|one| one["sql"].as_str().expect("a text").to_owned()).collect()
}

/// Waits until a job is done, and gives what it came to.
fn done(served: &Served, job: &Value) -> Value {
    let read = || served.get(&format!("/api/v1/jobs/{job}")).expect(200);
    wait_until("the job ended", || ["done", "failed"].iter().any(|state| read()["state"] == *state));
    assert_eq!(read()["state"], "done", "{}", read());
    read()["result"].clone()
}

#[test]
fn verdicts_features_and_plans_of_a_campaign_are_told() {
    let caqtus = Caqtus::new();
    let class = put_classes(&caqtus, &["tlp-where"]).remove(0);
    let (taken, refused) = ("abs(t.c_int) + t.c_int2", "abs(t.c_int, t.c_int2)");
    tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
        let store = Store::open(None, &caqtus.path("data")).await.expect("the store");
        let from = Provenance { origin: "a test".to_owned(), ..Provenance::default() };
        let both = [taken, refused].map(str::to_owned);
        store.snippet_put("sqlite", SnippetKind::Expression, &from, &both).await.expect("put");
        store.close().await;
    });
    let served = Served::start(&caqtus);
    let path = format!("/api/v1/classes/{class}");
    let tag = served.get(&path).header("etag").expect("a tag").to_owned();
    served.post(&format!("{path}/release"), &[("If-Match", &tag)], &json!({ "why": "read" })).expect(200);
    assert_eq!(served.get("/api/v1/coverage/sqlite").status, 404, "nobody has looked yet");
    assert_eq!(texts(&served, "refused=true"), [""; 0]);

    let hunt =
        json!({ "dbms": "sqlite", "seconds": 8, "workers": 1, "seed": 5, "oracles": ["caq"], "snippet_percent": 90 });
    let id = served.post("/api/v1/campaigns", &[("Idempotency-Key", "one")], &hunt).expect(202)["id"].clone();
    let campaign = || served.get(&format!("/api/v1/campaigns/{id}")).expect(200);
    wait_until("it is at its end", || campaign()["state"] != "running");
    let campaign = campaign();
    assert_eq!(campaign["state"], "finished", "{campaign}");

    assert_eq!(texts(&served, "refused=true"), [refused]);
    assert_eq!(texts(&served, "refused=false&kind=expression"), [taken]);
    assert_eq!(texts(&served, "kind=table"), [""; 0]);
    for (snippet, holds) in items(&served, "/api/v1/snippets").iter().zip([true, false]) {
        assert_eq!((&snippet["taken"], &snippet["refused"]), (&json!(i32::from(holds)), &json!(i32::from(!holds))));
        let detail = served.get(&format!("/api/v1/snippets/{}", snippet["id"])).expect(200);
        let seen = &detail["validations"][0];
        assert_eq!((&seen["dbms"], &seen["valid"]), (&json!("sqlite"), &json!(holds)), "{detail}");
        assert_eq!(seen["version"], campaign["version"]);
        assert!(seen["verdict"][if holds { "valid" } else { "refused" }].is_object() || !holds, "{detail}");
        assert_eq!(detail["provenance"]["origin"], "a test");
    }

    let samples = items(&served, &format!("/api/v1/campaigns/{id}/samples"));
    let plans: Vec<i64> = samples.iter().map(|sample| sample["plans"].as_i64().expect("a number")).collect();
    assert!(plans.is_sorted() && plans.last() > Some(&1), "{samples:?}");
    let number = |field: &str| campaign["summary"][field].as_i64().expect("a number");
    let (read, different) = (number("plans_read"), number("plans_different"));
    assert!(different > 1 && different < read && read * 16 <= number("cases") + 16, "{campaign}");

    // It is looked at after the campaign, and again when somebody asks.
    wait_until("it was looked at", || !items(&served, "/api/v1/coverage").is_empty());
    let line = items(&served, "/api/v1/coverage").remove(0);
    let reached = served.get("/api/v1/coverage/sqlite").expect(200);
    for kind in ["functions", "scalar_functions", "operators", "types", "clauses"] {
        let [known, used, unused] = ["known", "used", "unused"].map(|field| &reached[kind][field]);
        let unused = unused.as_array().expect("names").len() as u64;
        assert_eq!(known.as_u64(), used.as_u64().map(|used| used + unused), "{kind}");
        assert_eq!((&line["counts"][kind]["known"], &line["counts"][kind]["used"]), (known, used), "{line}");
    }
    assert!(reached["functions"]["cases"]["abs"].as_u64() > Some(0), "{reached}");
    assert_eq!(reached["origins"]["a test"][0], 2);
    let look =
        |key: &str, dbms: &str| served.post("/api/v1/coverage", &[("Idempotency-Key", key)], &json!({ "dbms": dbms }));
    let job = look("again", "sqlite").expect(202)["job"].clone();
    assert_eq!(done(&served, &job), line["counts"]);
    assert!(served.get("/api/v1/coverage/sqlite").expect(200)["looked"].as_str() > reached["looked"].as_str());
    for bad in ["sqlite@0.0.1", "/tmp/library.so", "mysql", "nothing", "postgres://x@127.0.0.1/x"] {
        assert_eq!(look(bad.trim_start_matches('/'), bad).status, 422, "{bad}");
    }
    served.stop();
}
