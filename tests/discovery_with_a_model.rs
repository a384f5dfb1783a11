//! Discovery with a model that a local server plays: however the answers come, the classes are the same; every fault is
//! counted, nothing hangs, nothing is paid for twice, and the key appears nowhere.

use crate::support::model_server::{ModelServer, Reply, Seen, batch_api};
use crate::support::{Caqtus, last_json, processes_naming, succeed, wait_until};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

const KEY: &str = "sk-test-0123456789abcdef";

/// Two seeds, each with what the model says to it.
const SEEDS: [(&str, &[&str]); 2] = [
    (
        "SELECT t1.c0 FROM t1 WHERE t1.p1",
        &[
            "SELECT t1.c0 FROM t1 WHERE t1.p1 IS TRUE",
            "SELECT DISTINCT t1.c0 FROM t1 WHERE t1.p1",
            "SELECT d.c0 FROM (SELECT t1.c0, t1.p1 AS q FROM t1) AS d WHERE NOT (d.q IS NOT TRUE)",
            "SELECT t1.c0 FROM t1 WHERE t1.p1 UNION ALL SELECT t1.c0 FROM t1 WHERE FALSE",
            "SELECT t1.c0 FROM t1 WHERE",
            "SELECT t1.c0 FROM t1 WHERE CASE WHEN t1.p1 THEN TRUE ELSE FALSE END",
        ],
    ),
    (
        "SELECT DISTINCT t1.c0 FROM t1",
        &[
            "SELECT t1.c0 FROM t1 GROUP BY t1.c0",
            "SELECT t1.c0 FROM t1 UNION SELECT t1.c0 FROM t1",
            "SELECT t1.c0 FROM t1",
            "DROP TABLE t1",
            "SELECT t1.c0 FROM t1 INTERSECT SELECT t1.c0 FROM t1",
        ],
    ),
];

fn seed_file(caqtus: &Caqtus) {
    let line = |seed: &str| {
        let placeholders = if seed.contains("p1") { json!({ "p1": "Expr(t1: BOOLEAN)" }) } else { json!({}) };
        json!({ "schema": "CREATE TABLE t1(c0 INT, c1 TEXT)", "placeholders": placeholders, "sql": seed }).to_string()
    };
    let lines: Vec<String> = SEEDS.iter().map(|(seed, _)| line(seed)).collect();
    std::fs::write(caqtus.path("seeds.jsonl"), lines.join("\n")).expect("written");
}

/// The completion for a request's body: a function of the body alone, so that it is the same by every way.
fn completion(body: &Value) -> Value {
    let prompt = body["messages"][1]["content"].as_str().expect("a prompt");
    let (_, answers) = SEEDS.iter().find(|(seed, _)| prompt.contains(&format!("```sql\n{seed}\n```"))).expect("a seed");
    // The more examples it sees, the further it is in its list.
    let at = prompt.matches("```sql").count();
    let query = |n| json!({ "idea": "as it says", "sql": answers[(at + n) % answers.len()] });
    let content = json!({ "queries": [query(0), query(1)] }).to_string();
    let message = json!({ "role": "assistant", "content": content });
    let choice = json!({ "index": 0, "finish_reason": "stop", "message": message });
    json!({ "id": "c", "object": "chat.completion", "model": "test-model-1", "choices": [choice],
        "usage": { "prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100 } })
}

const CONFIG: &str = "[model]\nname = 'test-model'\nkey_env = 'TEST_KEY'\n\
    [prices.'test-model']\ninput_per_million = 1.0\noutput_per_million = 10.0\n";

/// Runs a discovery over the seeds and returns its summary.
fn discover(caqtus: &Caqtus, code: i32, words: &[&str]) -> Value {
    seed_file(caqtus);
    std::fs::write(caqtus.path("caqtus.toml"), CONFIG).expect("written");
    let mut all = vec!["discover", "--seed-file", "seeds.jsonl", "--candidates", "2", "--quiet", "--json"];
    all.extend(words);
    let output = caqtus.command(&all).env("TEST_KEY", KEY).output().expect("starts");
    let (text, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{text}{said}");
    assert!(!text.contains(KEY) && !said.contains(KEY), "the key is told");
    if code == 2 { Value::String(said.into_owned()) } else { last_json(&text) }
}

fn exported(caqtus: &Caqtus) -> (String, String) {
    succeed(caqtus, 0, &["oracle", "export", "--classes", "c.toml", "--proofs", "p.jsonl"]);
    let read = |name: &str| std::fs::read_to_string(caqtus.path(name)).expect("exported");
    (read("c.toml"), read("p.jsonl"))
}

/// Whether a text stands in any file below a directory.
fn stands_in(dir: &Path, text: &str) -> bool {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return stands_in(&path, text);
        }
        let bytes = std::fs::read(&path).unwrap_or_default();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

fn answering(runtime: &tokio::runtime::Runtime) -> ModelServer {
    runtime.block_on(ModelServer::answering(|_, seen| Reply::ok(completion(&seen.json()))))
}

#[test]
fn live_recorded_and_batch_answers_give_the_same_classes() {
    let runtime = runtime();
    let server = answering(&runtime);
    let live = Caqtus::new();
    let rec = live.path("rec").display().to_string();
    let summary = discover(&live, 0, &["--llm", &format!("record:{rec}"), "--base-url", &server.base_url]);
    assert_eq!((&summary["classes"], &summary["released"]), (&json!(2), &json!(2)), "{summary}");
    assert!(summary["refuted"].as_u64() >= Some(2), "{summary}");
    assert!(summary["unknown"].as_object().is_some_and(|u| !u.is_empty()), "what is no query is unknown: {summary}");
    let calls = server.seen().len() as u64;
    assert_eq!(summary["tokens"], calls * 1100);
    let usd = summary["usd"].as_f64().expect("an amount");
    assert!((usd * 500.0).round().to_string() == calls.to_string(), "2,000 micro-dollars a call: {summary}");
    assert!(server.seen().iter().all(|seen| seen.header("authorization") == Some(&format!("Bearer {KEY}"))));
    let classes = exported(&live);
    assert!(
        classes.0.contains("GROUP BY") && !classes.0.contains("SELECT DISTINCT t1.c0 FROM t1 WHERE"),
        "{classes:?}"
    );

    // A counterexample is shown in the next prompt.
    let prompts: Vec<String> = server.seen().iter().map(|s| s.body.clone()).collect();
    assert!(prompts.iter().any(|p| p.contains("These failed") && p.contains("INSERT INTO")), "{prompts:?}");

    // Again: everything is in the store, and nobody is asked.
    let again = discover(&live, 0, &["--base-url", &server.base_url]);
    assert_eq!((&again["candidates"], server.seen().len() as u64), (&summary["candidates"], calls));
    assert!(!stands_in(live.dir.path(), KEY), "the key is stored");

    let replayed = Caqtus::new();
    discover(&replayed, 0, &["--llm", &format!("replay:{rec}")]);
    assert_eq!(exported(&replayed), classes);

    let batched = Caqtus::new();
    let mut rounds = 0;
    loop {
        let summary = discover(
            &batched,
            0,
            &["--import-batch", "answers.jsonl", "--export-batch", "prompts.jsonl"][if rounds == 0 { 2 } else { 0 }..],
        );
        let prompts = std::fs::read_to_string(batched.path("prompts.jsonl")).expect("exported");
        if prompts.is_empty() {
            assert_eq!(summary["classes"], 2);
            break;
        }
        rounds += 1;
        assert!(rounds < 60, "it comes to an end");
        let mut lines = vec!["no JSON".to_owned(), json!({ "custom_id": "of nobody", "error": null }).to_string()];
        for (at, line) in prompts.lines().enumerate() {
            let line: Value = serde_json::from_str(line).expect("a line of a batch");
            let id = &line["custom_id"];
            if (at + rounds) % 3 == 0 {
                let error = json!({ "code": "batch_expired", "message": "too late" });
                lines.push(json!({ "custom_id": id, "response": null, "error": error }).to_string());
                continue;
            }
            let response = json!({ "status_code": 200, "body": completion(&line["body"]) });
            let line = json!({ "custom_id": id, "response": response, "error": null }).to_string();
            lines.extend([line.clone(), line]);
        }
        lines.reverse();
        std::fs::write(batched.path("answers.jsonl"), lines.join("\n")).expect("written");
    }
    assert_eq!(exported(&batched), classes);
}

#[test]
fn the_batch_api_gives_the_same_classes() {
    let runtime = runtime();
    let server = answering(&runtime);
    let live = Caqtus::new();
    discover(&live, 0, &["--base-url", &server.base_url]);

    let files: Mutex<Vec<String>> = Mutex::default();
    let server = runtime.block_on(ModelServer::answering(move |_, seen: &Seen| batch_api(&files, seen, &completion)));
    let batched = Caqtus::new();
    let summary = discover(&batched, 0, &["--llm", "batch", "--base-url", &server.base_url, "--batch-poll", "1s"]);
    assert!(server.seen().iter().all(|seen| !seen.line.contains("chat/completions")), "all through batches");
    assert!(summary["usd"].as_f64() > Some(0.0), "{summary}");
    assert_eq!(exported(&batched), exported(&live));
}

#[test]
fn every_fault_is_counted_and_the_rest_goes_on() {
    let runtime = runtime();
    let wrong = |content: &str| {
        let mut body = completion(&json!({ "messages": [{}, { "content": format!("```sql\n{}\n```", SEEDS[0].0) }] }));
        body["choices"] = json!([{ "finish_reason": "stop", "message": { "content": content } }]);
        Reply::ok(body)
    };
    let faults = [
        wrong(""),
        Reply::ok("{ this is no JSON"),
        Reply::ok(json!({ "unexpected": true })),
        wrong(&"x".repeat(2 << 20)),
        Reply::CutWithin { body: completion_text() },
        wrong("I cannot help with that."),
        wrong("```sql\nSELECT 1; DROP TABLE t1; --\n```"),
        wrong("{\"queries\": [{\"idea\": \"x\", \"sql\": \"SELECT 1 {{ schema }} ``` {% raw %}\"}]}"),
        wrong("{\"queries\": [{\"idea\": \"\\u0000\", \"sql\": \"SELECT '\\u0000' FROM t1\"}]}"),
        wrong(&format!("```sql\nSELECT {} FROM t1\n```", vec!["1"; 3000].join(" + "))),
    ];
    let server = runtime.block_on(ModelServer::answering(move |number, seen| match faults.get(number) {
        Some(fault) => fault.clone(),
        None => Reply::ok(completion(&seen.json())),
    }));
    let caqtus = Caqtus::new();
    let summary = discover(&caqtus, 0, &["--base-url", &server.base_url, "--in-flight", "1"]);
    let kinds = summary["without_candidates"].as_object().expect("kinds");
    assert!(kinds.len() >= 3 && kinds.keys().all(|kind| kind.starts_with("model: ")), "{summary}");
    assert!(summary["candidates"].as_u64() > Some(0), "{summary}");
    let asked = server.seen().len();
    discover(&caqtus, 0, &["--base-url", &server.base_url, "--in-flight", "1"]);
    assert_eq!(server.seen().len(), asked, "nothing is asked, and paid for, again");
    wait_until("nothing is left running", || processes_naming(&caqtus.path("data")).is_empty());
}

fn completion_text() -> String {
    completion(&json!({ "messages": [{}, { "content": format!("```sql\n{}\n```", SEEDS[0].0) }] })).to_string()
}

#[test]
fn a_used_up_quota_or_a_bad_key_stops_at_once_and_says_so() {
    let runtime = runtime();
    let quota = json!({ "error": { "code": "insufficient_quota", "message": "You exceeded your current quota" } });
    let key = json!({ "error": { "code": "invalid_api_key", "message": format!("Incorrect API key: {KEY}") } });
    for (status, body, told) in [(429, quota, "quota"), (401, key, "TEST_KEY")] {
        let refusal = Reply::status(status, body);
        let server = runtime.block_on(ModelServer::start(vec![refusal]));
        let caqtus = Caqtus::new();
        let said = discover(&caqtus, 2, &["--base-url", &server.base_url, "--in-flight", "1"]);
        assert!(said.as_str().is_some_and(|said| said.contains(told)), "{said}");
        assert!(server.seen().len() <= 2, "two seeds, each asked once at most");
        // The same command goes on once the endpoint answers.
        let server = answering(&runtime);
        let summary = discover(&caqtus, 0, &["--base-url", &server.base_url]);
        assert_eq!(summary["classes"], 2, "{summary}");
    }
}

#[test]
fn an_outage_burns_nothing() {
    let runtime = runtime();
    let away = Reply::status(429, json!({ "error": { "message": "slow down" } })).header("retry-after", "3600");
    let server = runtime.block_on(ModelServer::start(vec![away]));
    let caqtus = Caqtus::new();
    let said = discover(&caqtus, 2, &["--base-url", &server.base_url, "--in-flight", "1"]);
    assert!(said.as_str().is_some_and(|said| said.contains("limits the rate")), "{said}");
    assert!(server.seen().len() <= 4, "it is not asked for ever");
    let empty = caqtus.path("empty").display().to_string();
    let said = discover(&caqtus, 2, &["--llm", &format!("replay:{empty}")]);
    assert!(said.as_str().is_some_and(|said| said.contains("no recording")), "{said}");
    let server = answering(&runtime);
    let summary = discover(&caqtus, 0, &["--base-url", &server.base_url]);
    assert_eq!((&summary["classes"], &summary["without_candidates"]), (&json!(2), &json!({})), "{summary}");
}

#[test]
fn an_endpoint_that_gives_nothing_is_no_success() {
    let runtime = runtime();
    let server = runtime.block_on(ModelServer::start(vec![Reply::status(400, "nobody is here")]));
    let caqtus = Caqtus::new();
    let said = discover(&caqtus, 2, &["--base-url", &server.base_url, "--in-flight", "1"]);
    assert!(said.as_str().is_some_and(|said| said.contains("nobody is here")), "{said}");
    // What was asked counts as asked, so in the end there is nobody left to ask.
    let asked = server.seen().len();
    let mut said = discover(&caqtus, 2, &["--base-url", &server.base_url, "--in-flight", "1"]);
    for _ in 0..3 {
        said = discover(&caqtus, 2, &["--base-url", &server.base_url, "--in-flight", "1"]);
    }
    let said = said.as_str().unwrap_or_default();
    assert!(
        server.seen().len() >= asked && said.contains("gave not one candidate") && said.contains("refused"),
        "{said}"
    );
}

#[test]
fn a_batch_may_fail_as_often_as_it_likes() {
    let caqtus = Caqtus::new();
    let export = ["--export-batch", "prompts.jsonl", "--budget-usd", "0.1"];
    let first = discover(&caqtus, 0, &export);
    let prompts = || std::fs::read_to_string(caqtus.path("prompts.jsonl")).expect("exported");
    let lines = prompts();
    // At half the price an answer of 8,192 tokens costs 0.04 dollars and a prompt a little more: two fit.
    assert_eq!(lines.lines().count(), 2);
    assert!(first["usd_set_aside"].as_f64() > Some(0.08), "both are set aside: {first}");
    assert_eq!((&first["usd"], &first["tokens"]), (&json!(0.0), &json!(0)), "nothing is spent yet");
    let errors: Vec<String> = lines
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).expect("a line of a batch");
            let error = json!({ "code": "batch_expired", "message": "too late" });
            json!({ "custom_id": line["custom_id"], "response": null, "error": error }).to_string()
        })
        .collect();
    std::fs::write(caqtus.path("errors.jsonl"), errors.join("\n")).expect("written");
    let import = ["--import-batch", "errors.jsonl", "--import-batch", "errors.jsonl"];
    for _ in 0..2 {
        let summary = discover(&caqtus, 0, &import);
        assert_eq!((&summary["usd_set_aside"], &summary["tokens_set_aside"]), (&json!(0.0), &json!(0)), "{summary}");
    }
    let again = discover(&caqtus, 0, &export);
    assert_eq!(
        (&again["usd_set_aside"], prompts()),
        (&first["usd_set_aside"], lines),
        "they are set aside again, once"
    );
    // What a batch will bring is not asked for live.
    let runtime = runtime();
    let server = answering(&runtime);
    discover(&caqtus, 0, &["--base-url", &server.base_url]);
    assert!(server.seen().is_empty(), "it would be paid for twice");
    let one = Caqtus::new();
    discover(&one, 0, &["--export-batch", "prompts.jsonl", "--budget-usd", "0.05"]);
    let lines = std::fs::read_to_string(one.path("prompts.jsonl")).expect("exported");
    assert_eq!(lines.lines().count(), 1, "as much as the budget allows");
}

#[test]
fn the_budget_is_hard_and_outlives_the_program() {
    let runtime = runtime();
    let server = answering(&runtime);
    let caqtus = Caqtus::new();
    let few = ["--base-url", &server.base_url, "--in-flight", "1", "--budget-calls", "5"];
    discover(&caqtus, 0, &few);
    let asked = server.seen().len();
    assert!((1..=5).contains(&asked), "{asked} calls");
    discover(&caqtus, 0, &few);
    assert!(server.seen().len() <= 5, "the budget is not renewed by a restart");
    // In money, where the worst case is what counts before a call: an answer of 8,192 tokens.
    let server = answering(&runtime);
    let caqtus = Caqtus::new();
    discover(&caqtus, 0, &["--base-url", &server.base_url, "--in-flight", "1", "--budget-usd", "0.05"]);
    assert!(server.seen().is_empty(), "one answer could cost more");
    let summary = discover(&caqtus, 0, &["--base-url", &server.base_url, "--in-flight", "1", "--budget-usd", "5"]);
    assert_eq!(summary["classes"], 2);
    // A limit in dollars cannot be kept without a price.
    let output = caqtus
        .command(&["discover", "--model", "other", "--budget-usd", "1", "--base-url", &server.base_url])
        .output()
        .expect("starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no price for model `other`"), "{output:?}");
}

#[test]
fn a_slow_endpoint_does_not_stop_ctrl_c() {
    let runtime = runtime();
    let server = runtime.block_on(ModelServer::answering(|_, seen| Reply::Late {
        after_ms: 2_000,
        body: completion(&seen.json()).to_string(),
    }));
    let caqtus = Caqtus::new();
    seed_file(&caqtus);
    let words = ["discover", "--seed-file", "seeds.jsonl", "--model", "m", "--candidates", "2", "--quiet", "--json"];
    let mut command = caqtus.command(&words);
    command.args(["--base-url", &server.base_url]).stdout(std::process::Stdio::piped());
    let child = command.spawn().expect("starts");
    crate::support::wait_until("it asks", || !server.seen().is_empty());
    std::thread::sleep(Duration::from_millis(200));
    crate::support::kill("-INT", child.id());
    let output = child.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(0));
    let summary = last_json(&String::from_utf8_lossy(&output.stdout));
    // What was asked is paid for, so its answer is taken.
    assert_eq!(summary["tokens"], server.seen().len() as u64 * 1100, "{summary}");
    assert!(summary["candidates"].as_u64() > Some(0), "{summary}");
}
