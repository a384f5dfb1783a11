//! Over HTTP, people find classes, read what is known of them, and decide; of two who decide at once, one is told.

use crate::support::service::Served;
use crate::support::{Caqtus, wait_until};
use caqtus::caq::class::OracleClass;
use caqtus::catalogue;
use caqtus::config::CatalogueSource;
use caqtus::store::{ClassState, NewClass, NewProof, Store};
use serde_json::json;

/// Puts shipped classes into the private store of a test, as drafts.
pub(crate) fn put_classes(caqtus: &Caqtus, globs: &[&str]) -> Vec<String> {
    let globs: Vec<String> = globs.iter().map(|glob| (*glob).to_owned()).collect();
    let classes = catalogue::load_matching(&CatalogueSource::default(), &globs).expect("shipped").classes;
    let new = |class: &OracleClass| {
        let text = class.text();
        let proof = |edge: &caqtus::caq::proof::Edge| NewProof { record: edge.record().clone(), certificate: None };
        let proofs = class.edges().iter().map(proof).collect();
        NewClass { plans: vec![None; text.members.len()], text, proofs, similarity: None }
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let store = Store::open(None, &caqtus.path("data")).await.expect("the store");
        for class in &classes {
            store.class_put(new(class), ClassState::Draft).await.expect("put");
        }
        store.close().await;
    });
    classes.into_iter().map(|class| class.name).collect()
}

#[test]
fn a_class_is_found_read_and_released_and_of_two_writers_one_is_told() {
    let caqtus = Caqtus::new();
    let names = put_classes(&caqtus, &["norec-*", "tlp-*"]);
    assert!(names.len() > 10, "{names:?}");
    let served = Served::start(&caqtus);
    assert_eq!(served.get("/healthz").status, 200);
    assert_eq!(served.get("/readyz").status, 200);

    // Every class is on exactly one page, in order.
    let mut found = Vec::new();
    let mut path = "/api/v1/classes?limit=7".to_owned();
    loop {
        let page = served.get(&path).expect(200);
        found.extend(
            page["items"].as_array().expect("items").iter().map(|c| c["name"].as_str().expect("a name").to_owned()),
        );
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/api/v1/classes?limit=7&cursor={next}");
    }
    assert_eq!(found, names);

    let matching = |query: &str| -> Vec<String> {
        let page = served.get(&format!("/api/v1/classes?{query}")).expect(200);
        page["items"]
            .as_array()
            .expect("items")
            .iter()
            .map(|c| c["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    let joins = matching("q=left%20join&limit=500");
    assert!(!joins.is_empty() && joins.len() < names.len(), "{joins:?}");
    assert_eq!(joins, matching("feature=left%20join&limit=500"), "the words are next to each other in these");
    assert_eq!(matching("state=released"), [""; 0]);
    assert_eq!(matching("q=nowhere_to_be_found"), [""; 0]);
    assert_eq!(matching("yield_min=1"), [""; 0]);

    let name = &joins[0];
    let read = served.get(&format!("/api/v1/classes/{name}"));
    let tag = read.header("etag").expect("a tag").to_owned();
    let class = read.expect(200);
    assert_eq!(class["state"], "draft");
    assert!(class["member_list"][1]["sql"].as_str().expect("SQL").contains("SELECT"), "{class}");
    assert!(class["proof_list"].as_array().expect("proofs").iter().all(|proof| proof["current"] == true), "{class}");
    assert_eq!(served.send("GET", &format!("/api/v1/classes/{name}"), &[("If-None-Match", &tag)], "").status, 304);

    let release = format!("/api/v1/classes/{name}/release");
    let why = json!({ "why": "its proof was read" });
    assert_eq!(served.post(&release, &[], &why).status, 428, "nobody decides about what they have not seen");
    assert_eq!(served.post(&release, &[("If-Match", "\"999\"")], &why).status, 412);
    let done = served.post(&release, &[("If-Match", &tag)], &why);
    assert_ne!(done.header("etag"), Some(tag.as_str()));
    done.expect(200);
    let other =
        served.post(&format!("/api/v1/classes/{name}/quarantine"), &[("If-Match", &tag)], &json!({ "why": "doubt" }));
    let problem = other.expect(412);
    assert_eq!(problem["type"], "urn:caqtus:problem:stale-revision");
    assert_eq!(matching("state=released"), std::slice::from_ref(name));
    let class = served.get(&format!("/api/v1/classes/{name}")).expect(200);
    assert_eq!(
        (&class["evidence"]["reviewed"], &class["evidence"]["by"]),
        (&json!("its proof was read"), &json!("loopback"))
    );
    assert_eq!(served.get("/api/v1/classes/none").status, 404);
    served.stop();
}

#[test]
fn a_withdrawn_member_stays_out_and_a_class_without_a_proof_is_not_released() {
    let caqtus = Caqtus::new();
    let names = put_classes(&caqtus, &["tlp-where"]);
    let served = Served::start(&caqtus);
    let path = format!("/api/v1/classes/{}", names[0]);
    let tag = |served: &Served| served.get(&path).header("etag").expect("a tag").to_owned();
    let why = json!({ "why": "a doubt" });
    let members = |served: &Served| served.get(&path).expect(200)["member_list"].as_array().expect("members").len();
    let before = members(&served);
    let first = served.post(&format!("{path}/members/1/withdraw"), &[("If-Match", &tag(&served))], &why);
    assert_eq!(first.status, 409, "{}", first.body);
    if before > 2 {
        served.post(&format!("{path}/members/2/withdraw"), &[("If-Match", &tag(&served))], &why).expect(200);
        assert_eq!(members(&served), before - 1);
        put_classes(&caqtus, &["tlp-where"]);
        let class = served.get(&path).expect(200);
        assert_eq!(class["member_list"].as_array().expect("members").len(), before - 1, "it stays out: {class}");
        assert_eq!(class["withdrawn"][0]["why"], "a doubt");
    } else {
        let last = served.post(&format!("{path}/members/2/withdraw"), &[("If-Match", &tag(&served))], &why);
        assert_eq!(last.status, 409, "{}", last.body);
    }
    served.stop();
}

#[test]
fn an_imported_class_is_used_only_when_it_is_proven() {
    let caqtus = Caqtus::new();
    let served = Served::start(&caqtus);
    let class = |name: &str, condition: &str| {
        format!(
            "[[class]]\nname = '{name}'\nschema = 'CREATE TABLE t1(c0 INT)'\nplaceholders = {{ p1 = 'Expr(t1: BOOLEAN)' }}\n\
             members = ['SELECT t1.c0 FROM t1 WHERE t1.p1', 'SELECT t1.c0 FROM t1 WHERE {condition}']\n"
        )
    };
    let file = class("right", "t1.p1 IS TRUE") + &class("wrong", "t1.p1 IS NOT FALSE");
    let import = || served.send("POST", "/api/v1/import", &[("Content-Type", "application/toml")], &file).expect(202);
    let imported = import();
    assert!(
        imported["classes"].as_array().expect("classes").iter().all(|class| class["state"] == "draft"),
        "{imported}"
    );
    wait_until("both are decided", || {
        let jobs = served.get("/api/v1/jobs").expect(200);
        jobs["items"].as_array().expect("jobs").iter().filter(|job| job["state"] == "done").count() == 2
    });
    let state = |name: &str| served.get(&format!("/api/v1/classes/{name}")).expect(200)["state"].clone();
    assert_eq!((state("right"), state("wrong")), (json!("released"), json!("draft")));
    let tag = served.get("/api/v1/classes/wrong").header("etag").expect("a tag").to_owned();
    let why = json!({ "why": "I trust it" });
    let refused = served.post("/api/v1/classes/wrong/release", &[("If-Match", &tag)], &why);
    assert_eq!(refused.status, 409, "nobody's word stands for a proof: {}", refused.body);
    // The plans on the engines that it was run on are known, whoever decides about it later.
    let decided = served.get("/api/v1/classes/right").header("etag").expect("a tag").to_owned();
    let path = "/api/v1/classes/right/release";
    served.post(path, &[("If-Match", &decided)], &json!({ "why": "it is right" })).expect(200);
    let engines = served.get("/api/v1/classes/right").expect(200)["plans_by_engine"].clone();
    assert_eq!(engines[0]["target"], "sqlite", "{engines}");
    let plans = engines[0]["plans"].as_array().expect("plans");
    assert_eq!(plans.iter().map(|plan| plan["position"].clone()).collect::<Vec<_>>(), [1, 2]);
    assert!(plans.iter().all(|plan| plan["plan"]["label"].is_string()), "{engines}");
    assert!(plans[0]["difference"].is_null() && plans[1]["difference"].is_string(), "{engines}");
    let exported = served.get("/api/v1/export/classes.toml").body;
    assert!(exported.contains("right") && !exported.contains("wrong"), "{exported}");
    assert!(served.get("/api/v1/export/proofs.jsonl").body.contains("\"proven\""));
    assert!(import()["classes"].as_array().expect("classes").iter().all(|class| class["changed"] == false));
    served.stop();
}
