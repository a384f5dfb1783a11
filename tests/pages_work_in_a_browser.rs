//! In a browser, with scripts and without, people find a class, read its proof and release it; work through what is in
//! quarantine; start a campaign, watch its findings arrive, and take a script away. Every page can be read in either
//! colours on any width, by everybody.

use crate::service_groups_bugs::{finding, put as put_findings};
use crate::support::Caqtus;
use crate::support::browser::{self, Browser};
use crate::support::service::Served;
use caqtus::caq::class::OracleClass;
use caqtus::caq::query::Caq;
use caqtus::catalogue::{self, BY_A_MODEL};
use caqtus::config::{CatalogueSource, STATEMENT_LIMITS};
use caqtus::corpus::validate::SnippetVerdict;
use caqtus::dbms::Connection as _;
use caqtus::dbms::sqlite::Sqlite;
use caqtus::plan::PlanTree;
use caqtus::sql::snippet::SnippetKind;
use caqtus::sql::types::SqlType;
use caqtus::store::{
    Build, CandidateRow, CandidateVerdict, CheckedBy, ClassState, ExchangeOutcome, ExchangeRow, NewClass, NewProof,
    Provenance, StepRow, Store, Tally,
};
use caqtus::triage::bisect::{Bisection, Seen};
use prover::Certificate;
use prover::evidence::{Obligation, Step};
use serde_json::{Value, json};

/// A certificate as the prover writes it.
fn certificate() -> Value {
    let step =
        |rule: &str, before: &str, after: &str| Step { rule: rule.into(), before: before.into(), after: after.into() };
    let certificate = Certificate {
        pair: None,
        prover: "0.1.0".into(),
        solver: "Z3 5.4.0".into(),
        limits: prover::Limits::default(),
        assumptions: [prover::ir::Assumption::NoRuntimeError].into(),
        steps: vec![
            step("normal form of the left query", "", "t1 x0: (x0.c0, x0.c1, x0.c2)"),
            step("normal form of the right query", "", "t1 x0 where p1(x0): (x0.c0) + t1 x0 where not p1(x0): (x0.c0)"),
            step(
                "split by a condition",
                "t1 x0: (x0.c0)",
                "t1 x0 where p1(x0): (x0.c0) + t1 x0 where not p1(x0): (x0.c0)",
            ),
        ],
        obligations: vec![Obligation {
            claim: "the conditions cover everything".into(),
            smtlib: "(assert false)".into(),
        }],
        trials: 200,
    };
    serde_json::to_value(certificate).expect("JSON")
}

/// Puts shipped classes into the private store of a test: as drafts, or into quarantine by an engine. Their proofs have
/// certificates and their members plans.
fn put(caqtus: &Caqtus, glob: &str, quarantined: bool) -> Vec<String> {
    let classes = catalogue::load_matching(&CatalogueSource::default(), &[glob.to_owned()]).expect("shipped").classes;
    let plan = |at: usize| {
        let leaf = |label: String| PlanTree { label, children: Vec::new() };
        let union =
            PlanTree { label: "COMPOUND".into(), children: vec![leaf("SCAN".into()), leaf(format!("LEFT {at}"))] };
        PlanTree { label: "QUERY".into(), children: if at == 0 { vec![leaf("SCAN".into())] } else { vec![union] } }
    };
    let new = |class: &OracleClass| {
        let text = class.text();
        let proof = |edge: &caqtus::caq::proof::Edge| NewProof {
            record: edge.record().clone(),
            certificate: Some(certificate()),
        };
        let proofs = class.edges().iter().map(proof).collect();
        NewClass {
            plans: (0..text.members.len()).map(|at| Some(plan(at))).collect(),
            text,
            proofs,
            similarity: Some(0.5),
        }
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let store = Store::open(None, &caqtus.path("data")).await.expect("the store");
        for class in &classes {
            let put = store.class_put(new(class), ClassState::Draft).await.expect("put");
            if quarantined {
                let evidence = json!({
                    "checked": { "sqlite": { "version": "3.50.0", "cases": 500, "pass": 499, "against": [], "other": 0 } },
                    "unusable": { "duckdb": "no such function" },
                });
                let state = ClassState::Quarantined;
                let by = CheckedBy { who: "somebody", job: None };
                assert!(store.class_checked(&class.name, &put.hash, state, &evidence, by).await.expect("checked"));
            }
        }
        store.close().await;
    });
    classes.into_iter().map(|class| class.name).collect()
}

/// A discovery in which a model was asked once: one candidate is proven, one refuted, one unknown.
fn discover(caqtus: &Caqtus) {
    let candidate = |sql: &str, verdict| CandidateRow {
        sql: sql.into(),
        rules: Vec::new(),
        verdict,
        reason: (verdict == CandidateVerdict::Unknown).then(|| "unsupported window function".into()),
        witness: (verdict == CandidateVerdict::Refuted).then(|| {
            vec!["INSERT INTO t1 (c0, p1) VALUES (NULL, TRUE)".into(), "INSERT INTO t2 (c0) VALUES (7)".into()]
        }),
        assumptions: [prover::ir::Assumption::NoRuntimeError].into(),
        prover: "caqtus-prover 0.1.0".into(),
        certificate: None,
        unbound: None,
        refused: [("duckdb".to_owned(), "no such function".to_owned())].into(),
        plan: None,
    };
    let request = json!({ "model": "a-model", "messages": [
        { "role": "system", "content": "You rewrite queries." }, { "role": "user", "content": "SELECT <c0> & more" }] });
    let exchange = json!({ "texts": ["SELECT c0 FROM t1 -- </pre><script>alert(1)</script>"], "usage": { "input": 10, "output": 5 } });
    let row = ExchangeRow {
        request_hash: "h".into(),
        prompt_id: "p".into(),
        prompt_version: "1".into(),
        prompt_hash: "h".into(),
        request,
    };
    let caq = Caq {
        schema: "CREATE TABLE t1(c0 INT);CREATE TABLE t2(c0 INT);".into(),
        placeholders: [("p1".to_owned(), "Expr(t1: BOOLEAN)".to_owned())].into(),
        sql: "SELECT c0 FROM t1 WHERE p1".into(),
    };
    let cost = Tally { calls: 1, tokens: 15, micro_usd: 1_230 };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let store = Store::open(None, &caqtus.path("data")).await.expect("the store");
        let config = json!({ "proposer": "a model", "asking": { "model": "a-model" }, "dbms": ["sqlite"], "seed": 1 });
        let run = store.run_open("key", &config).await.expect("a run");
        store.seed_put(run.id, 0, &[(Some("first".into()), caq)]).await.expect("a seed");
        let seed = store.seed_list(run.id).await.expect("seeds")[0].id;
        store.exchange_send(&run, &row, false, cost).await.expect("sent");
        store.exchange_settle(run.id, "h", ExchangeOutcome::Answered(&exchange), cost, cost).await.expect("settled");
        let step = StepRow { number: 0, request_hash: Some("h".into()), outcome: "candidates".into() };
        let candidates = [
            candidate("SELECT c0 FROM t1 WHERE p1 IS TRUE", CandidateVerdict::Proven),
            candidate("SELECT c0 FROM t1", CandidateVerdict::Refuted),
            candidate("SELECT max(c0) OVER () FROM t1", CandidateVerdict::Unknown),
        ];
        store.step_put(&run, seed, &step, &candidates).await.expect("a step");
        drop(run);
        store.close().await;
    });
}

/// A snippet that one build takes and another refuses, and a table that nobody has tried.
fn put_snippets(caqtus: &Caqtus) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let store = Store::open(None, &caqtus.path("data")).await.expect("the store");
        let model = Provenance {
            origin: BY_A_MODEL.to_owned(),
            model: Some("a-model".to_owned()),
            documentation: vec!["functions.md: The floor function".to_owned()],
            ..Provenance::default()
        };
        let (expression, table) = ("floor(t.c_real)", "SELECT s1.i1 FROM s1 WHERE s1.i1 > 0");
        for (kind, sql) in [(SnippetKind::Expression, expression), (SnippetKind::Table, table)] {
            store.snippet_put("sqlite", kind, &model, &[sql.to_owned()]).await.expect("put");
        }
        let verdicts = [
            ("3.28.0", SnippetVerdict::Refused("semantic error: no such function: floor".to_owned())),
            (
                "3.50.0",
                SnippetVerdict::Valid {
                    ty: Some(SqlType::Real),
                    boolean_valued: false,
                    null_preserving: true,
                    may_fail: false,
                    micros: 12,
                },
            ),
        ];
        for (version, verdict) in verdicts {
            let dbms = format!("sqlite@{version}");
            let build = Build { dbms: &dbms, version, build_id: version };
            let valid = !matches!(verdict, SnippetVerdict::Refused(_));
            let said = [(expression.to_owned(), valid, serde_json::to_value(verdict).expect("JSON"))];
            store.snippet_validated("sqlite", &build, &said).await.expect("noted");
        }
        store.close().await;
    });
}

fn state_of(served: &Served, name: &str) -> String {
    served.get(&format!("/api/v1/classes/{name}")).expect(200)["state"].as_str().expect("a state").to_owned()
}

fn read_and_release(browser: &mut Browser, served: &Served, name: &str) {
    browser.go("/");
    browser.fill("#words", "p1 is true union");
    // With scripts what is found takes the place of the list, without them it is a page of its own.
    browser.click(".filters button", "Search");
    browser.wait("location.search.includes('p1')");
    browser.wait(&format!(
        "(t => t.includes({name:?}) && !t.includes('norec'))(document.querySelector('#found').innerText)"
    ));
    browser.follow(|browser| browser.click("#found a", name));
    assert!(browser.text("h1").contains(name));
    assert!(browser.text(".plan ins").contains("COMPOUND") && browser.text(".plan del").contains("SCAN"));
    browser.follow(|browser| browser.click("#proofs + .scroll a", "the proof"));
    let page = browser.text("main");
    for part in [
        "normal form",
        "split by a condition",
        "the conditions cover everything",
        "no-runtime-error",
        "200 random databases",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    browser.fill("#release-why", "the proof was read");
    browser.follow(|browser| browser.click("button", "Release"));
    assert!(browser.text(".flash").contains("is released"), "{}", browser.text("main"));
    assert_eq!(state_of(served, name), "released");
}

#[test]
fn a_class_is_found_its_proof_read_and_it_is_released_with_scripts_and_without() {
    let caqtus = Caqtus::new();
    put(&caqtus, "tlp-where", false);
    put(&caqtus, "tlp-boolean-column", false);
    put(&caqtus, "norec-*", false);
    let served = Served::start(&caqtus);
    let Some(mut browser) = browser::open(served.address) else { return };
    read_and_release(&mut browser, &served, "tlp-where");
    browser.scripts(false);
    read_and_release(&mut browser, &served, "tlp-boolean-column");
    // What is chosen stays chosen, without a script.
    browser.follow(|browser| browser.click(".themes button", "dark"));
    assert_eq!(browser.eval("document.documentElement.dataset.theme"), "dark");
    browser.go("/");
    assert_eq!(browser.eval("getComputedStyle(document.documentElement).colorScheme"), "dark");
    // Somebody else decides in the meantime: nothing is overwritten, and it is said.
    browser.go("/classes/tlp-where");
    let tag = served.get("/api/v1/classes/tlp-where").header("etag").expect("a tag").to_owned();
    let why = json!({ "why": "a doubt" });
    served.post("/api/v1/classes/tlp-where/quarantine", &[("If-Match", &tag)], &why).expect(200);
    browser.fill("#quarantine-why", "mine");
    browser.follow(|browser| browser.click("button", "Quarantine"));
    assert!(browser.text("main").contains("read it again"), "{}", browser.text("main"));
    let expected = ["Failed to load resource: the server responded with a status of 412"];
    browser.complaints.retain(|complaint| !expected.iter().any(|known| complaint.contains(known)));
    assert_eq!(browser.complaints, [""; 0]);
    served.stop();
}

#[test]
fn classes_are_brought_in_a_form_and_what_was_done_is_in_the_trail() {
    let caqtus = Caqtus::new();
    tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
        let store = Store::open(None, &caqtus.path("data")).await.expect("the store");
        let test = Provenance { origin: "a test".to_owned(), ..Provenance::default() };
        let snippets = ["(c0 + 1)".to_owned()];
        store.snippet_put("sqlite", SnippetKind::Expression, &test, &snippets).await.expect("put");
        store.close().await;
    });
    let served = Served::start(&caqtus);
    let Some(mut browser) = browser::open(served.address) else { return };
    browser.go("/");
    browser.follow(|browser| browser.click(".bottom a", "Import and export"));
    let class = "[[class]]\nname = 'mine'\nschema = 'CREATE TABLE t1(c0 INT)'\nplaceholders = { p1 = 'Expr(t1: BOOLEAN)' }\n\
                 members = ['SELECT t1.c0 FROM t1 WHERE t1.p1', 'SELECT t1.c0 FROM t1 WHERE t1.p1 IS TRUE']\n";
    browser.fill("#text", class);
    browser.follow(|browser| browser.click("form button", "Import"));
    assert!(browser.text("main").contains("It is proven and run on the engines"), "{}", browser.text("main"));
    browser.follow(|browser| browser.click("main a", "mine"));
    crate::support::wait_until("it is released", || state_of(&served, "mine") == "released");
    browser.go("/classes/mine");
    let said = browser.text("#member-2");
    assert!(said.contains("Plan on sqlite") && said.contains("SCAN"), "{said}");
    browser.go("/");
    browser.follow(|browser| browser.click(".bottom a", "Audit trail"));
    let trail = browser.text("main");
    for part in ["class mine", "import", "prove", "released", "loopback"] {
        assert!(trail.contains(part), "{part}: {trail}");
    }
    // A snippet is left out of campaigns, for a reason, and comes back.
    browser.go("/snippets");
    browser.fill("tbody input[name=why]", "it is slow");
    browser.follow(|browser| browser.click("tbody button", "Leave out"));
    assert!(browser.text(".flash").contains("leave it out"), "{}", browser.text("main"));
    browser.go("/snippets?disabled=true");
    assert!(browser.text("tbody").contains("left out: it is slow"), "{}", browser.text("main"));
    browser.follow(|browser| browser.click("tbody button", "Use again"));
    assert_eq!(served.get("/api/v1/snippets?disabled=true").expect(200)["items"], json!([]));
    browser.go("/transfer");
    browser.fill("#text", "[[class]]\nname = 'bad'");
    browser.follow(|browser| browser.click("form button", "Import"));
    assert!(browser.text("main").contains("not a class file"), "{}", browser.text("main"));
    browser.complaints.retain(|complaint| !complaint.contains("status of 422"));
    assert_eq!(browser.complaints, [""; 0]);
    served.stop();
}

#[test]
fn what_is_in_quarantine_is_worked_through_with_the_keyboard() {
    let caqtus = Caqtus::new();
    let drafts = put(&caqtus, "norec-*", false);
    let names = put(&caqtus, "tlp-*column", true);
    let others = ["tlp-where", "tlp-table-placeholder"].map(|name| put(&caqtus, name, true).remove(0));
    let served = Served::start(&caqtus);
    let Some(mut browser) = browser::open(served.address) else { return };
    browser.go("/review");
    let mut waiting: Vec<String> = names.into_iter().chain(others).collect();
    waiting.sort();
    let listed = browser.text(".queue nav");
    let at = |name: &String| listed.find(name.as_str()).unwrap_or_else(|| panic!("{name}: {listed}"));
    assert!(waiting.is_sorted_by_key(at) && waiting.iter().all(|name| at(name) < at(&drafts[0])), "{listed}");
    assert!(browser.text(".queue section").contains("no such function"));
    assert!(browser.text(".queue section").contains(&waiting[0]), "the first is looked at");
    browser.follow(|browser| browser.press("j", false));
    assert!(browser.text("h2").contains(&waiting[1]));
    browser.follow(|browser| browser.press("k", false));
    assert!(browser.text("h2").contains(&waiting[0]));
    // The first is released, the second stays where it is; the rest is released.
    browser.press("r", false);
    browser.write("the engine is wrong");
    browser.follow(|browser| browser.press("Enter", true));
    assert!(browser.text(".flash").contains(&waiting[0]), "{}", browser.text(".flash"));
    browser.press("q", false);
    browser.write("the engine may be right");
    browser.follow(|browser| browser.press("Enter", true));
    assert_eq!([state_of(&served, &waiting[0]), state_of(&served, &waiting[1])], ["released", "quarantined"]);
    assert!(!browser.text(".queue nav").contains(&waiting[1]), "it was decided about, and waits no longer");
    for name in &waiting[2..] {
        assert!(browser.text("h2").contains(name.as_str()));
        browser.fill("#release-why", "read");
        browser.follow(|browser| browser.click("button", "Release"));
        assert_eq!(state_of(&served, name), "released");
    }
    assert!(browser.text("h2").contains(&drafts[0]), "drafts follow");
    // Shortcuts can be turned off, for those who speak to their machine.
    browser.click("[data-shortcuts]", "on");
    let before = browser.text("h2");
    browser.press("j", false);
    assert_eq!((browser.text("h2"), browser.text("[data-shortcuts]")), (before, "Keys are off".to_owned()));
    assert_eq!(browser.complaints, [""; 0]);
    served.stop();
}

#[test]
fn findings_arrive_while_one_watches_and_a_script_is_taken_away() {
    let caqtus = Caqtus::new();
    let served = Served::start(&caqtus);
    let Some(mut browser) = browser::open(served.address) else { return };
    browser.go("/campaigns");
    browser.eval("document.querySelector('[name=dbms]').value = 'planted:drop-row'");
    browser.eval("document.querySelector('[name=classes_of]').value = 'shipped'");
    browser.fill("[name=minutes]", "5");
    browser.fill("[name=workers]", "1");
    browser.follow(|browser| browser.click("button", "Start"));
    assert!(browser.text("h1").contains("planted:drop-row"), "{}", browser.text("body"));
    // Nothing is loaded anew: the page hears of it.
    browser.eval("window.same = true");
    browser.wait("document.querySelector('#live tbody a')");
    browser.wait("document.querySelectorAll('#live svg.chart polyline').length > 2");
    assert_eq!(browser.eval("window.same"), true);
    browser.follow(|browser| browser.click("form button", "Stop"));
    browser.wait(
        "['stopped', 'stopping'].some(state => document.querySelector('#live .badge').innerText.includes(state))",
    );

    browser.go("/bugs");
    browser.click(".skip", "");
    browser.follow(|browser| browser.click("#found a", "Bug "));
    let marked = browser.text("tr.only .mark");
    assert!(marked.contains("not in query"), "the row that makes the difference is named: {}", browser.text("main"));
    browser.eval("document.querySelector('[name=state]').value = 'confirmed'");
    browser.follow(|browser| browser.click("form button", "Set"));
    assert!(browser.text(".title").contains("confirmed"), "{}", browser.text(".title"));
    browser.fill("#note", "seen <b>twice</b>");
    browser.follow(|browser| browser.click("form button", "Add"));
    assert!(browser.text("main").contains("seen <b>twice</b>"), "what people write is shown as they wrote it");

    browser.click("a", "Script");
    let downloads = browser.downloads();
    let find = || std::fs::read_dir(&downloads).into_iter().flatten().flatten().map(|e| e.path());
    crate::support::wait_until("the script is there", || {
        find().any(|path| path.extension().is_some_and(|e| e == "sql"))
    });
    let script = find().find(|path| path.extension().is_some_and(|e| e == "sql")).expect("a script");
    let script = std::fs::read_to_string(script).expect("reads");
    let mut sqlite = Sqlite::linked(STATEMENT_LIMITS).expect("SQLite");
    let lines = script.lines().filter(|line| !line.starts_with("--") && !line.starts_with('.'));
    let text = lines.collect::<Vec<_>>().join("\n") + "\n";
    let statements: Vec<&str> = text.split(";\n").map(str::trim).filter(|statement| !statement.is_empty()).collect();
    assert!(statements.len() > 2 && statements.iter().any(|statement| statement.starts_with("SELECT")), "{script}");
    for statement in statements {
        sqlite.execute(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    assert_eq!(browser.complaints, [""; 0]);
    served.stop();
}

/// Merges a bug into another, splits a finding off again, and ignores it.
fn decide(browser: &mut Browser, whole: i64, part: i64) {
    let merge = |browser: &mut Browser, into: i64| {
        browser.go(&format!("/bugs/{part}"));
        browser.fill("[name=into]", &into.to_string());
        browser.follow(|browser| browser.click("form button", "Merge into it"));
    };
    merge(browser, part);
    assert!(browser.text("main").contains("not merged into itself"), "{}", browser.text("main"));
    merge(browser, whole);
    let said = browser.text("main");
    for words in ["Query 2 is wrong.", "3.50.0 returns something else", "left join"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(browser.text(".flash").contains(&format!("Bug {part} is a part of bug {whole} now")), "{said}");
    browser.go(&format!("/bugs/{part}"));
    browser.follow(|browser| browser.click(".warning a", "bug"));
    // Of the two findings that of the part is the last, and so stands first.
    browser.follow(|browser| browser.click("form button", "Split off"));
    let path = browser.eval("location.pathname");
    let own = path.as_str().and_then(|path| path.strip_prefix("/bugs/")).expect("a bug").to_owned();
    assert!(![whole, part].map(|id| id.to_string()).contains(&own), "{own}");
    browser.eval("document.querySelector('[name=state]').value = 'ignored'");
    browser.follow(|browser| browser.click("form button", "Set"));
    assert!(browser.text("main").contains("says in `why`"), "{}", browser.text("main"));
    browser.go(&format!("/bugs/{own}"));
    browser.eval("document.querySelector('[name=state]').value = 'ignored'");
    browser.fill("[name=why]", "by <b>design</b>");
    browser.follow(|browser| browser.click("form button", "Set"));
    assert!(browser.text(".warning").contains("It is reported no more: by <b>design</b>"));
    for (suppressed, seen, unseen) in [(true, own.clone(), whole.to_string()), (false, whole.to_string(), own)] {
        browser.go(&format!("/bugs?suppressed={suppressed}"));
        let listed = browser.text("#found");
        assert!(listed.contains(&format!("Bug {seen}")) && !listed.contains(&format!("Bug {unseen}")), "{listed}");
        assert_eq!(listed.contains("it is on a list"), suppressed, "{listed}");
    }
}

#[test]
fn bugs_are_merged_split_and_ignored_for_a_reason_with_scripts_and_without() {
    let caqtus = Caqtus::new();
    let caused = |class: &str| {
        let mut caused = finding("sqlite", class, 1);
        caused.cause.wrong = Some(1);
        caused.cause.known_by = "sqlite 3.50.0 returns something else for it, and there the queries agree".to_owned();
        caused.cause.needs = vec!["left join".to_owned()];
        (caused, None)
    };
    let plain = |class: &str| (finding("sqlite", class, 20), None);
    put_findings(&caqtus, "one", &[caused("a"), plain("b"), caused("c"), plain("d")]);
    put_findings(&caqtus, "two", &[(finding("sqlite", "e", 30), Some("it is on a list"))]);
    let served = Served::start(&caqtus);
    let Some(mut browser) = browser::open(served.address) else { return };
    decide(&mut browser, 1, 2);
    browser.scripts(false);
    decide(&mut browser, 3, 4);
    browser.complaints.retain(|complaint| !complaint.contains("status of 422"));
    assert_eq!(browser.complaints, [""; 0]);
    served.stop();
}

#[test]
fn every_page_can_be_read_by_everybody() {
    let caqtus = Caqtus::new();
    put(&caqtus, "tlp-*", true);
    put(&caqtus, "norec-*", false);
    put(&caqtus, "candidate-*", false);
    discover(&caqtus);
    put_snippets(&caqtus);
    let served = Served::start(&caqtus);
    let Some(mut browser) = browser::open(served.address) else { return };
    let campaign = json!({ "dbms": "planted:drop-row", "classes_of": "shipped", "seconds": 120, "workers": 1, "oracles": ["caq"] });
    served.post("/api/v1/campaigns", &[("Idempotency-Key", "1")], &campaign).expect(202);
    crate::support::wait_until("there is a bug", || {
        served.get("/api/v1/bugs").expect(200)["items"].as_array().is_some_and(|bugs| !bugs.is_empty())
    });
    let seen = [("3.38.0", Seen::Void), ("3.39.0", Seen::Agrees), ("3.39.2", Seen::Shows), ("3.40.0", Seen::Agrees)];
    let bisection = Bisection {
        good_before: Some("3.39.0".into()),
        first_bad: "3.39.2".into(),
        last_bad: "3.39.2".into(),
        first_good: Some("3.40.0".into()),
        seen: seen.map(|(version, seen)| (version.to_owned(), seen)).into(),
        left_out: Vec::new(),
    };
    tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
        let store = Store::open(None, &caqtus.path("data")).await.expect("the store");
        let bisection = serde_json::to_value(bisection).expect("JSON");
        store.bug_bisected(1, &bisection, "somebody").await.expect("noted");
        store.close().await;
    });
    let target = json!({ "dbms": "planted:drop-row" });
    served.post("/api/v1/coverage", &[("Idempotency-Key", "2")], &target).expect(202);
    crate::support::wait_until("it is looked at", || served.get("/api/v1/coverage/planted:drop-row").status == 200);
    let axe = browser::axe();
    let pictures = std::env::var_os("CAQTUS_PICTURES").map(std::path::PathBuf::from);
    let pages = [
        ("catalogue", "/"),
        ("nothing-found", "/?q=nowhere_to_be_found"),
        ("class", "/classes/tlp-where"),
        ("proof", "/classes/tlp-where/proofs/1/2"),
        ("review", "/review"),
        ("discoveries", "/discoveries"),
        ("discovery", "/discoveries/1"),
        ("seed", "/discoveries/1/seeds/0"),
        ("campaigns", "/campaigns"),
        ("campaign", "/campaigns/1"),
        ("bugs", "/bugs"),
        ("bug", "/bugs/1"),
        ("engines", "/engines"),
        ("snippets", "/snippets"),
        ("snippet", "/snippets/1"),
        ("coverage", "/coverage"),
        ("coverage-of", "/coverage/planted:drop-row"),
        ("api", "/api"),
        ("transfer", "/transfer"),
        ("audit", "/audit"),
        ("missing", "/classes/none"),
    ];
    let mut faults = Vec::new();
    // Pictures are for people; either width and either scheme once is enough without them.
    let looks = [(1280, false), (390, true), (1280, true), (390, false)];
    let looks = if pictures.is_some() { &looks[..] } else { &looks[..2] };
    for (name, path) in pages {
        for &(width, dark) in looks {
            browser.look(width, dark);
            browser.go(path);
            let wide = browser.eval("document.documentElement.scrollWidth - document.documentElement.clientWidth");
            if wide.as_f64() > Some(0.0) {
                faults.push(format!("{path} is {wide} wider than {width}"));
            }
            if let Some(axe) = &axe {
                faults.extend(
                    browser.faults(axe).into_iter().map(|fault| format!("{path} ({width}, dark {dark}): {fault}")),
                );
            }
            if let Some(dir) = &pictures {
                let file = dir.join(format!("{name}-{width}-{}.png", if dark { "dark" } else { "light" }));
                std::fs::create_dir_all(dir).and_then(|()| std::fs::write(file, browser.picture())).expect("writes");
            }
        }
    }
    assert_eq!(faults, [""; 0]);
    browser.go("/discoveries/1/seeds/0");
    browser.eval("document.querySelectorAll('details').forEach(one => one.open = true)");
    let said = browser.text("main");
    let parts =
        ["1 of 3", "You rewrite queries.", "</pre><script>", "10 tokens in", "unsupported window function", "NULL"];
    parts.iter().for_each(|part| assert!(said.contains(part), "{part}: {said}"));
    browser.go("/snippets");
    browser.follow(|browser| browser.click("tbody a", "Expression 1"));
    let said = browser.text("main");
    let parts = ["no such function: floor", "REAL, NULL on a row of NULLs, 12 µs", "a-model", "sqlite@3.28.0"];
    parts.iter().for_each(|part| assert!(said.contains(part), "{part}: {said}"));
    browser.go("/api");
    browser.click("summary", "/api/v1/coverage/{dbms}");
    browser.click("[open] a", "CoverageView");
    browser.wait("document.querySelector('#schema-CoverageView').checkVisibility()");
    browser.go("/bugs/1");
    assert!(browser.text("main").contains("It came with 3.39.2; 3.39.0 does not show it."));
    browser.complaints.retain(|complaint| !complaint.contains("/classes/none"));
    assert_eq!(browser.complaints, [""; 0]);
    served.stop();
}

#[test]
fn a_demo_needs_no_network_and_leaves_nothing() {
    let caqtus = Caqtus::new();
    let mut command = caqtus.command(&["serve", "--demo", "--listen", "127.0.0.1:0"]);
    // What fetches SQLite is missing, so the hunt is on one with a planted fault.
    command.env("CARGO", "/nowhere").env("TMPDIR", caqtus.dir.path()).env("DATABASE_URL", "postgres://nowhere/nothing");
    let served = Served::start_by(&caqtus, command);
    let released = served.get("/api/v1/classes?state=released&limit=500").expect(200);
    assert!(released["items"].as_array().is_some_and(|classes| classes.len() > 100), "{released}");
    crate::support::wait_until("there is a bug", || {
        served.get("/api/v1/bugs").expect(200)["items"].as_array().is_some_and(|bugs| !bugs.is_empty())
    });
    let campaign = served.get("/api/v1/campaigns").expect(200)["items"][0].clone();
    assert_eq!((&campaign["dbms"], &campaign["asked_by"]), (&json!("planted:drop-row"), &json!("demo")));
    served.stop();
    let left = std::fs::read_dir(caqtus.dir.path()).expect("reads").flatten().map(|entry| entry.file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with("caqtus-demo")).collect();
    assert!(left.is_empty(), "{left:?}");
}
