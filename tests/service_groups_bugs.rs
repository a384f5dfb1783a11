//! What people decide of the findings of bugs holds for what is found later: merged, split off, or ignored with a reason. A
//! bug says what it hangs on, and is taken away in the forms of the command line.

use crate::builds_are_bisected::build;
use crate::support::service::{Answer, Served};
use crate::support::{Caqtus, succeed, wait_until};
use caqtus::interpret::StepResult;
use caqtus::program::Step;
use caqtus::sql::types::Value as Cell;
use caqtus::store::{CampaignRow, Store};
use caqtus::triage::cause::{Cause, Core};
use caqtus::triage::finding::{Finding, FindingKind, FindingQuery};
use caqtus::triage::limits::Limits;
use serde_json::{Value, json};

/// A wrong result on a target. Nothing is known of it but its class, which tells bugs apart then.
pub(crate) fn finding(dbms: &str, class: &str, number: i64) -> Finding {
    let query = |sql: &str, value| FindingQuery {
        result: StepResult::Rows(vec![vec![Cell::Int(value)]]),
        ..Step { member: 1, ..Step::query(sql) }.into()
    };
    let mut finding = Finding {
        id: String::new(),
        kind: FindingKind::WrongResult,
        oracle: "caq".to_owned(),
        class: class.to_owned(),
        dbms: dbms.to_owned(),
        version: "1".to_owned(),
        build_id: "1".to_owned(),
        seed: 1,
        block: 0,
        case: 0,
        statements: vec!["CREATE TABLE t(a INT)".to_owned(), format!("INSERT INTO t VALUES ({number})")],
        queries: vec![query("SELECT a FROM t", number), query("SELECT a FROM t WHERE TRUE", number + 1)],
        checks: None,
        fillings: Vec::new(),
        origins: Vec::new(),
        features: vec!["where".to_owned()],
        cured_by: Vec::new(),
        cause: Cause::default(),
        reduced: true,
        refused: None,
        runs: Vec::new(),
        note: None,
        limits: Limits::default(),
        self_check: None,
    };
    finding.seal();
    finding
}

/// Stores findings of a campaign, each with why it is known, as a hunt does; also while a service runs.
pub(crate) fn put(caqtus: &Caqtus, campaign: &str, findings: &[(Finding, Option<&str>)]) {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
        let store = Store::open(None, &caqtus.path("data")).await.expect("the store");
        let dbms = findings.first().map(|(finding, _)| finding.dbms.clone()).expect("a finding");
        let row = CampaignRow { key: campaign.to_owned(), dbms, version: "1".to_owned(), seed: 1 };
        let (id, _) = store.campaign_begin(&row).await.expect("a campaign");
        for (finding, known) in findings {
            store.finding_put(id, finding, *known).await.expect("stored");
        }
        store.campaign_end(id, "finished", None, None, Some(1.0)).await.expect("ended");
        store.close().await;
    });
}

fn bugs(served: &Served, query: &str) -> Vec<(i64, i64)> {
    let page = served.get(&format!("/api/v1/bugs?{query}")).expect(200);
    let count = |bug: &Value| (bug["id"].as_i64().expect("a number"), bug["findings"].as_i64().expect("a count"));
    let mut all: Vec<_> = page["items"].as_array().expect("items").iter().map(count).collect();
    all.sort_unstable();
    all
}

fn bug(served: &Served, id: i64) -> Value {
    served.get(&format!("/api/v1/bugs/{id}")).expect(200)
}

/// Writes about a bug as it is now.
fn post(served: &Served, id: i64, what: &str, body: &Value) -> Answer {
    let tag = served.get(&format!("/api/v1/bugs/{id}")).header("etag").expect("a tag").to_owned();
    served.post(&format!("/api/v1/bugs/{id}/{what}"), &[("If-Match", &tag)], body)
}

fn state(served: &Served, id: i64, said: &Value) -> Answer {
    let tag = served.get(&format!("/api/v1/bugs/{id}")).header("etag").expect("a tag").to_owned();
    let headers = [("Content-Type", "application/json"), ("If-Match", tag.as_str())];
    served.send("PUT", &format!("/api/v1/bugs/{id}/state"), &headers, &said.to_string())
}

/// The bug of a class with the fewest findings.
fn of_class(served: &Served, class: &str) -> i64 {
    bugs(served, &format!("class={class}"))[0].0
}

fn findings(served: &Served, bug: i64) -> Vec<(i64, String)> {
    let page = served.get(&format!("/api/v1/findings?bug={bug}")).expect(200);
    let items = page["items"].as_array().expect("items").iter();
    items
        .map(|one| (one["number"].as_i64().expect("a number"), one["id"].as_str().expect("an id").to_owned()))
        .collect()
}

/// A wrong result whose core is right with a switch.
fn cored(class: &str, number: i64, needs: &[&str], switch: &str, core: &str) -> Finding {
    let mut one = finding("sqlite", class, number);
    one.cause.needs = needs.iter().map(|need| (*need).to_owned()).collect();
    one.cause.core = Some(Core {
        statements: vec!["CREATE TABLE t(c INT)".to_owned()],
        before: Vec::new(),
        sql: core.to_owned(),
        reference: String::new(),
        switches: vec![switch.to_owned()],
        left_out: 0,
    });
    one.seal();
    one
}

/// A query, and one that has its condition.
fn exists_over_intersect() -> [String; 2] {
    let alone = "SELECT c FROM t WHERE EXISTS (SELECT c FROM t WHERE c INTERSECT SELECT c FROM t)";
    let condition = &alone["SELECT c FROM t ".len()..];
    [alone.to_owned(), format!("SELECT s.c FROM (SELECT t.c FROM t {condition} GROUP BY 1) AS s")]
}

#[test]
fn a_new_bug_with_the_condition_of_another_is_a_part_of_it_unless_that_is_ignored() {
    let caqtus = Caqtus::new();
    let [alone, grouped] = exists_over_intersect();
    let needs = ["exists", "intersect"];
    let alone = cored("alone", 1, &needs, "exists-off", &alone);
    let within = |class: &str, number: i64, also: &str| {
        cored(class, number, &[&needs[..], &[also]].concat(), "exists-off", &grouped)
    };
    put(&caqtus, "one", &[(alone, None), (within("grouped", 2, "distinct"), None)]);
    let served = Served::start(&caqtus);
    let whole = of_class(&served, "alone");
    assert_eq!(bugs(&served, ""), [(whole, 2)]);
    let trail = served.get("/api/v1/audit?limit=500").expect(200);
    let who: Vec<_> = trail["items"].as_array().expect("items").iter().map(|line| &line["who"]).collect();
    assert_eq!(who, ["hunt", "hunt"]);
    state(&served, whole, &json!({ "state": "ignored", "why": "known" })).expect(200);
    put(&caqtus, "two", &[(within("windowed", 3, "window"), None)]);
    assert_eq!(bugs(&served, ""), [(whole, 2), (of_class(&served, "windowed"), 1)], "somebody is to look at it");
}

#[test]
fn a_bug_that_somebody_decided_about_stays_when_a_smaller_one_comes() {
    let caqtus = Caqtus::new();
    let [alone, grouped] = exists_over_intersect();
    let needs = ["distinct", "exists", "intersect"];
    put(&caqtus, "one", &[(cored("large", 1, &needs, "exists-off", &grouped), None)]);
    let served = Served::start(&caqtus);
    let whole = of_class(&served, "large");
    state(&served, whole, &json!({ "state": "reported", "url": "https://example.com/1" })).expect(200);
    put(&caqtus, "two", &[(cored("small", 2, &needs[1..], "exists-off", &alone), None)]);
    assert_eq!(bugs(&served, ""), [(whole, 2)], "what is new is a part of it");
    assert_eq!(bug(&served, whole)["state"], "reported");
    state(&served, whole, &json!({ "state": "not-a-bug", "why": "as it is meant" })).expect(200);
    let needs = ["exists", "intersect", "window"];
    put(&caqtus, "three", &[(cored("other", 3, &needs, "exists-off", &grouped), None)]);
    assert_eq!(bugs(&served, "").len(), 2, "somebody is to look at it");
}

#[test]
fn bugs_that_one_version_fixed_and_that_are_alike_are_one_once_both_are_bisected() {
    let caqtus = Caqtus::new();
    build(&caqtus, "data/engines/sqlite-3.30.0/libsqlite3.so", "3.30.0", &[("BUG", "1")]);
    let one = |class: &str, number: i64, needs: &[&str], switch: &str| {
        let mut one = cored(class, number, needs, switch, "");
        one.dbms = "sqlite@3.30.0".to_owned();
        one.version = "3.30.0".to_owned();
        one.seal();
        one
    };
    let much = one("much", 1, &["distinct", "left join"], "push-down-off");
    let little = one("little", 2, &["left join"], "push-down-off");
    let other = one("other", 3, &["left join", "view"], "distinct-off");
    put(&caqtus, "one", &[(much, None), (little, None), (other, None)]);
    let served = Served::start(&caqtus);
    let [much, little, other] = ["much", "little", "other"].map(|class| of_class(&served, class));
    let mut asked = 0;
    let mut bisect = |id: i64| {
        asked += 1;
        let key = asked.to_string();
        let job = served.post(&format!("/api/v1/bugs/{id}/bisect"), &[("Idempotency-Key", &key)], &json!({}));
        let job = job.expect(202)["job"].as_i64().expect("a job");
        let read = || served.get(&format!("/api/v1/jobs/{job}")).expect(200);
        wait_until("it is bisected", || read()["state"] != "waiting" && read()["state"] != "running");
        let job = read();
        assert_eq!(
            (&job["state"], &job["result"]["bisection"]["last_bad"]),
            (&json!("done"), &json!("3.30.0")),
            "{job}"
        );
        job["result"]["merged_into"].clone()
    };
    assert_eq!((bisect(other), bisect(much)), (Value::Null, Value::Null), "another switch cures another bug");
    assert_eq!(bisect(little), json!(little), "the whole is what needs less");
    assert_eq!(bugs(&served, ""), [(little, 2), (other, 1)]);
    assert_eq!(bug(&served, little)["merged"], json!([much]));
    let trail = served.get("/api/v1/audit?limit=500").expect(200);
    let merges = trail["items"].as_array().expect("items").iter().filter(|line| line["action"] == "merge").count();
    assert_eq!(merges, 2, "it is in the trail of both: {trail}");
    assert_eq!(
        (bisect(little), bugs(&served, "")),
        (Value::Null, vec![(little, 2), (other, 1)]),
        "again: nothing is left to do"
    );
}

#[test]
fn what_is_merged_or_split_off_stays_so_for_what_is_found_later() {
    let caqtus = Caqtus::new();
    let [a1, a2, b1, b2] = [("a", 1), ("a", 2), ("b", 3), ("b", 4)].map(|(class, n)| finding("sqlite", class, n));
    put(&caqtus, "one", &[(a1.clone(), None), (a2.clone(), None), (b1.clone(), None)]);
    put(&caqtus, "two", &[(finding("duckdb", "d", 1), None)]);
    let served = Served::start(&caqtus);
    let [a, b, d] = ["a", "b", "d"].map(|class| of_class(&served, class));
    assert_eq!(bugs(&served, ""), [(a, 2), (b, 1), (d, 1)]);
    served.post(&format!("/api/v1/bugs/{b}/notes"), &[], &json!({ "body": "seen" })).expect(201);

    let merge = format!("/api/v1/bugs/{b}/merge");
    assert_eq!(served.post(&merge, &[], &json!({ "into": a })).status, 428);
    assert_eq!(served.post(&merge, &[("If-Match", "\"9\"")], &json!({ "into": a })).status, 412);
    for (into, why) in [(b, "into itself"), (9_999, "there is no bug"), (-1, "there is no bug"), (d, "two engines")] {
        let refused = post(&served, b, "merge", &json!({ "into": into })).expect(422);
        assert!(refused["detail"].as_str().is_some_and(|detail| detail.contains(why)), "{into}: {refused}");
    }
    assert_eq!(post(&served, b, "merge", &json!({ "into": "a" })).status, 422);
    assert_eq!(served.post("/api/v1/bugs/9999/merge", &[("If-Match", "\"1\"")], &json!({ "into": a })).status, 404);
    let before = bug(&served, a)["revision"].as_i64();
    let done = post(&served, b, "merge", &json!({ "into": a }));
    let tag = done.header("etag").map(str::to_owned);
    let done = done.expect(200);
    assert_eq!((&done["id"], tag), (&json!(a), Some(format!("\"{}\"", done["revision"]))));
    assert!(done["revision"].as_i64() > before, "whoever saw it before has seen another one");
    assert_eq!(bugs(&served, ""), [(a, 3), (d, 1)]);
    let (whole, part) = (bug(&served, a), bug(&served, b));
    assert_eq!((&whole["merged"], &whole["classes"]), (&json!([b]), &json!(["a", "b"])));
    assert_eq!(whole["notes"][0]["body"], "seen", "what people wrote goes with it");
    assert_eq!((&part["merged_into"], &part["findings"]), (&json!(a), &json!(0)));
    assert_eq!(state(&served, b, &json!({ "state": "confirmed" })).status, 409);
    assert_eq!(served.post(&format!("/api/v1/bugs/{b}/notes"), &[], &json!({ "body": "x" })).status, 409);
    assert_eq!(post(&served, b, "merge", &json!({ "into": a })).status, 409);
    assert_eq!(post(&served, a, "merge", &json!({ "into": b })).status, 409);
    assert_eq!(served.get(&format!("/api/v1/bugs/{b}/export?format=json")).status, 404);
    put(&caqtus, "three", &[(b2.clone(), None)]);
    assert_eq!(bugs(&served, ""), [(a, 4), (d, 1)], "what has the fingerprint of a part is of the whole");

    let all = findings(&served, a);
    let number = |id: &str| all.iter().find(|(_, found)| found == id).expect("is there").0;
    let split = format!("/api/v1/bugs/{a}/split");
    assert_eq!(served.post(&split, &[], &json!({ "finding": number(&a2.id) })).status, 428);
    assert_eq!(served.post(&split, &[("If-Match", "\"1\"")], &json!({ "finding": number(&a2.id) })).status, 412);
    let foreign = findings(&served, d)[0].0;
    assert_eq!(post(&served, a, "split", &json!({ "finding": foreign })).status, 422);
    assert_eq!(post(&served, d, "split", &json!({ "finding": foreign })).status, 409, "it is alone");
    let own = post(&served, a, "split", &json!({ "finding": number(&a2.id) })).expect(200)["id"].as_i64().expect("one");
    assert_eq!(bugs(&served, ""), [(a, 3), (d, 1), (own, 1)]);
    assert_eq!(bug(&served, own)["split"], a2.id);
    put(&caqtus, "four", &[(a2.clone(), None), (finding("sqlite", "a", 7), None), (a1, None)]);
    assert_eq!(bugs(&served, ""), [(a, 5), (d, 1), (own, 2)], "the case that was split off stays so, others do not");
    // Put back, and taken out again, it is the same bug.
    post(&served, own, "merge", &json!({ "into": a })).expect(200);
    put(&caqtus, "five", &[(a2.clone(), None)]);
    assert_eq!(bugs(&served, ""), [(a, 8), (d, 1)]);
    let again = post(&served, a, "split", &json!({ "finding": number(&a2.id) })).expect(200);
    assert_eq!(again["id"], own);
    assert_eq!(bugs(&served, ""), [(a, 5), (d, 1), (own, 3)]);

    let trail = |id: i64| -> Vec<String> {
        let page = served.get(&format!("/api/v1/audit?subject=bug%20{id}")).expect(200);
        let items = page["items"].as_array().expect("items").iter();
        items.map(|row| row["action"].as_str().expect("an action").to_owned()).collect()
    };
    assert_eq!(
        (trail(a), trail(b)),
        (["split", "merge", "split", "merge"].map(str::to_owned).to_vec(), vec!["merge".to_owned(), "note".to_owned()])
    );
    served.stop();
}

#[test]
fn a_bug_is_ignored_for_a_reason_and_one_that_a_list_has_is_suppressed_too() {
    let caqtus = Caqtus::new();
    put(&caqtus, "one", &[(finding("sqlite", "a", 1), None), (finding("sqlite", "b", 2), Some("on a list"))]);
    let served = Served::start(&caqtus);
    let [a, b] = ["a", "b"].map(|class| of_class(&served, class));
    assert_eq!((bugs(&served, "suppressed=true"), bugs(&served, "suppressed=false")), (vec![(b, 1)], vec![(a, 1)]));
    assert_eq!(bug(&served, b)["suppressed"], "on a list");
    for said in [json!({ "state": "ignored" }), json!({ "state": "ignored", "why": " " })] {
        let refused = state(&served, a, &said).expect(422);
        assert!(refused["detail"].as_str().is_some_and(|detail| detail.contains("`why`")), "{refused}");
    }
    assert_eq!(state(&served, a, &json!({ "state": "ignored", "why": "x".repeat(2_001) })).status, 422);
    state(&served, a, &json!({ "state": "ignored", "why": "by design" })).expect(200);
    assert_eq!(bug(&served, a)["suppressed"], "by design");
    // One finding that no list has is news; an ignored bug stays ignored.
    put(&caqtus, "two", &[(finding("sqlite", "a", 3), None), (finding("sqlite", "b", 4), None)]);
    assert_eq!((bugs(&served, "suppressed=true"), bugs(&served, "suppressed=false")), (vec![(a, 2)], vec![(b, 2)]));
    assert_eq!(bug(&served, b)["suppressed"], Value::Null);
    state(&served, a, &json!({ "state": "confirmed" })).expect(200);
    assert_eq!((&bug(&served, a)["suppressed"], bugs(&served, "suppressed=true")), (&Value::Null, vec![]));
    assert_eq!(served.get("/api/v1/bugs?suppressed=x").status, 400);
    served.stop();
}

#[test]
fn an_ignored_bug_that_does_not_show_on_a_newer_version_is_said_to_be_gone() {
    let caqtus = Caqtus::new();
    // Found on versions 1 and 2; its queries agree on the linked one.
    let one = finding("sqlite", "a", 1);
    let mut other = finding("sqlite", "a", 22);
    "2".clone_into(&mut other.version);
    put(&caqtus, "one", &[(one.clone(), None), (other, None)]);
    let served = Served::start(&caqtus);
    let id = of_class(&served, "a");
    state(&served, id, &json!({ "state": "ignored", "why": "by design" })).expect(200);
    let hunt = json!({
        "dbms": "sqlite", "classes_of": "shipped", "oracles": ["caq"], "classes": ["tlp-where*"], "cases": 3000, "seed": 1
    });
    let hunt = served.post("/api/v1/campaigns", &[("Idempotency-Key", "hunt")], &hunt).expect(202)["id"].clone();
    let campaign = || served.get(&format!("/api/v1/campaigns/{hunt}")).expect(200);
    wait_until("it is over", || campaign()["state"] != "running");
    let gone = json!([{
        "reason": format!("bug {id}: by design"), "list": null, "evidence": format!("finding {}", one.id), "last_seen": "2"
    }]);
    assert_eq!(campaign()["summary"]["gone"], gone);
    let page = served.get(&format!("/campaigns/{hunt}"));
    assert!(page.body.contains("do not show any more") && page.body.contains("by design"), "{}", page.body);
    served.stop();
}

#[test]
fn a_bug_says_what_it_hangs_on_and_is_taken_away_in_every_form() {
    let caqtus = Caqtus::new();
    let mut one = finding("sqlite", "a", 1);
    one.cured_by = vec!["push-down-off".to_owned()];
    one.cause = Cause {
        wrong: Some(1),
        known_by: "its result changes with push-down-off, and then the queries agree".to_owned(),
        needs: vec!["left join".to_owned()],
        shows_without: vec!["where".to_owned()],
        core: Some(Core {
            statements: vec!["CREATE TABLE t(a INT)".to_owned()],
            before: Vec::new(),
            sql: "SELECT a FROM t".to_owned(),
            reference: "push-down-off".to_owned(),
            switches: vec!["push-down-off".to_owned()],
            left_out: 0,
        }),
        ..Cause::default()
    };
    put(&caqtus, "one", &[(one.clone(), None)]);
    let served = Served::start(&caqtus);
    let id = bugs(&served, "")[0].0;
    let read = bug(&served, id);
    let cause = &read["cause"];
    assert_eq!((&cause["wrong"], &cause["needs"]), (&json!(2), &json!(["left join"])), "{read}");
    assert!(cause["known_by"].as_str().is_some_and(|how| how.contains("push-down-off")), "{read}");
    assert_eq!(cause["core"]["script"], json!(["CREATE TABLE t(a INT);", "SELECT a FROM t;"]));
    assert_eq!((&read["oracles"], &read["classes"]), (&json!(["caq"]), &json!(["a"])));

    let export = |query: &str| served.get(&format!("/api/v1/bugs/{id}/{query}"));
    for (format, kind, text) in [
        ("markdown", "text/markdown; charset=utf-8", "# sqlite 1: wrong result of query 2"),
        ("json", "application/json", "\"smallest\""),
        ("junit", "application/xml", "<testsuite name=\"caqtus\" tests=\"1\" failures=\"1\""),
        ("sarif", "application/sarif+json", "\"partialFingerprints\""),
    ] {
        let answer = export(&format!("export?format={format}"));
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(kind)), "{}", answer.body);
        assert!(answer.body.contains(text), "{format}: {}", answer.body);
        assert!(answer.header("content-disposition").is_some_and(|value| value.contains(&format!("caqtus-bug-{id}."))));
    }
    let exported = export("export?format=json").expect(200);
    let (exported, fingerprint) = (&exported["bugs"][0]["bug"], one.fingerprint().to_string());
    assert_eq!((&exported["fingerprint"], &exported["members"]), (&json!(fingerprint), &json!([one.id])));
    // It is known by the same identifier to the command line.
    let dir = caqtus.path("findings");
    one.write(&dir, &caqtus::catalogue::profile("sqlite").expect("shipped")).expect("written");
    let listed = succeed(&caqtus, 0, &["bug", "list", "--json", "--findings", &dir.display().to_string()]);
    let listed: Value = serde_json::from_str(listed.trim()).expect("JSON");
    assert_eq!(listed[0]["id"], exported["id"]);
    assert!(export("as-test").body.starts_with("hash-threshold 0\n"), "of the engine's own runner");
    assert!(export("as-test?style=duckdb").body.contains("PRAGMA enable_verification"));
    assert!(export("as-test?style=sqllogictest").body.starts_with("# wrong-result"));
    let refused = export("as-test?style=postgres");
    assert!(refused.status == 422 && refused.body.contains("a finding of sqlite"), "{}", refused.body);
    for (query, status) in [
        ("export", 400),
        ("export?format=", 400),
        ("export?format=pdf", 400),
        ("export?format=json&format=json", 400),
        ("as-test?style=oracle", 400),
        ("as-test?format=json", 400),
    ] {
        assert_eq!(export(query).status, status, "{query}");
    }
    assert_eq!(served.get("/api/v1/bugs/9999/export?format=json").status, 404);
    assert_eq!(served.get("/api/v1/bugs/9999/as-test").status, 404);
    served.stop();
}

#[test]
fn only_operators_decide_which_findings_are_one_bug() {
    let caqtus = Caqtus::new();
    put(&caqtus, "one", &[(finding("sqlite", "a", 1), None), (finding("sqlite", "a", 2), None)]);
    put(&caqtus, "two", &[(finding("sqlite", "b", 3), None)]);
    let tokens = ["viewer", "operator"]
        .map(|role| succeed(&caqtus, 0, &["token", "create", role, "--role", role]).trim().to_owned());
    let served = Served::start_with(&caqtus, &["--listen", "0.0.0.0:0"]);
    let send = |token: &str, method: &str, path: &str, body: &Value| {
        let bearer = format!("Bearer {token}");
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json"), ("If-Match", "\"1\"")];
        served.send(method, path, &headers, &body.to_string())
    };
    let [viewer, operator] = &tokens;
    let listed = send(viewer, "GET", "/api/v1/bugs", &Value::Null).expect(200);
    let id = |class: &str| {
        listed["items"].as_array().expect("items").iter().find(|bug| bug["class"] == class).expect("a bug")["id"]
            .clone()
    };
    let (a, b) = (id("a"), id("b"));
    let finding = send(viewer, "GET", &format!("/api/v1/bugs/{a}"), &Value::Null).expect(200)["smallest"].clone();
    for (what, body) in [("merge", json!({ "into": a })), ("split", json!({ "finding": finding }))] {
        let path = format!("/api/v1/bugs/{}/{what}", if what == "merge" { &b } else { &a });
        assert_eq!(send(viewer, "POST", &path, &body).status, 403, "{what}");
    }
    send(operator, "POST", &format!("/api/v1/bugs/{a}/split"), &json!({ "finding": finding })).expect(200);
    send(operator, "POST", &format!("/api/v1/bugs/{b}/merge"), &json!({ "into": a })).expect(200);
    assert_eq!(send(viewer, "GET", &format!("/api/v1/bugs/{a}/export?format=markdown"), &Value::Null).status, 200);
    served.stop();
}

#[test]
fn a_hunt_counts_what_is_ignored_and_reports_it_no_more() {
    let caqtus = Caqtus::new();
    let served = Served::start(&caqtus);
    let request = json!({
        "dbms": "planted:drop-row", "classes_of": "shipped", "oracles": ["caq"], "classes": ["tlp-*", "norec-*"],
        "seed": 5, "workers": 1, "cases": 1500
    });
    let hunt = |key: &str| {
        let started = served.post("/api/v1/campaigns", &[("Idempotency-Key", key)], &request).expect(202);
        let read = || served.get(&format!("/api/v1/campaigns/{}", started["id"])).expect(200);
        wait_until("the campaign has ended", || read()["state"] == "finished");
        read()["summary"].clone()
    };
    let first = hunt("first");
    assert_eq!(first["verdict"], "bugs", "{first}");
    let all = bugs(&served, "");
    for (id, _) in &all {
        state(&served, *id, &json!({ "state": "ignored", "why": "it was planted" })).expect(200);
    }
    let second = hunt("second");
    let reported = second["bugs"].as_array().expect("bugs");
    assert!(!reported.is_empty(), "what is ignored is counted: {second}");
    let why = |bug: &Value| bug["suppressed"].as_str().is_some_and(|why| why.ends_with(": it was planted"));
    assert!(reported.iter().all(why), "{second}");
    assert!(second["verdict"] == "clean" && second["outcomes"]["fail"].as_u64() > Some(0), "{second}");
    let after = bugs(&served, "");
    assert_eq!(after.len(), all.len(), "they are the same bugs");
    assert!(after.iter().zip(&all).any(|(after, before)| after.1 > before.1), "{after:?} {all:?}");
    assert_eq!(bugs(&served, "suppressed=false"), []);
    served.stop();
}
