//! Whatever an endpoint does, asking it ends in an exchange or in a counted fault, within bounds, and without the key
//! in anything that is kept or printed.

use crate::support::model_server::{ModelServer, Reply, Seen};
use caqtus::llm::answer::{AnswerForm, extract, schema};
use caqtus::llm::batch::{self, Batches, Results};
use caqtus::llm::budget::{self, MicroUsd, Price};
use caqtus::llm::wire::{Asked, OutputLimit, Shape};
use caqtus::llm::{
    Exchange, Fault, Key, Live, LiveConfig, Message, Model, ModelError, Outcome, PromptSource, Recorder, Replay,
    Request, Usage,
};
use serde_json::{Value, json};
use std::process::Command;

const SECRET: &str = "sk-test-0123456789abcdef";

fn request() -> Request {
    Request {
        model: "some-model".into(),
        messages: vec![Message::system("Answer in JSON."), Message::user("Write SQL.")],
        temperature: Some(0.5),
        reasoning_effort: None,
        max_output_tokens: 64,
        answer_schema: schema(),
        sample: 0,
        prompt: PromptSource::default(),
    }
}

fn config(server: &ModelServer) -> LiveConfig {
    let mut config = LiveConfig::new(&server.base_url, Key::new(SECRET).expect("a key"), "$MODEL_KEY");
    config.attempt_ms = 10_000;
    config.attempts_max = 3;
    config.pause_ms = 2;
    config.prices.0.insert(
        "some-model".into(),
        Price { input_per_million: MicroUsd(1_000_000), output_per_million: MicroUsd(2_000_000) },
    );
    config
}

fn live(config: LiveConfig) -> Live {
    Live::new(config).expect("a configuration")
}

/// A completion with these texts.
fn completion(texts: &[&str]) -> Value {
    let choices: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(i, text)| {
            json!({ "index": i, "message": { "role": "assistant", "content": text }, "finish_reason": "stop" })
        })
        .collect();
    json!({
        "id": "x", "object": "chat.completion", "created": 1, "model": "some-model-2026", "choices": choices,
        "usage": { "prompt_tokens": 30, "completion_tokens": 10, "total_tokens": 40 },
    })
}

const ANSWER: &str = r#"{"queries":[{"sql":"SELECT 1","idea":"one"}]}"#;

fn good() -> Reply {
    Reply::ok(completion(&[ANSWER]))
}

fn error(message: &str, kind: &str) -> Value {
    json!({ "error": { "message": message, "type": kind, "param": null, "code": kind } })
}

/// Asks once by a script. Whatever comes of it, the key reached the server and nothing else.
async fn ask(script: Vec<Reply>, change: impl FnOnce(&mut LiveConfig)) -> (Result<Exchange, ModelError>, Vec<Seen>) {
    let server = ModelServer::start(script).await;
    let mut config = config(&server);
    change(&mut config);
    let live = live(config);
    let result = live.complete(&request()).await;
    let seen = server.seen();
    for seen in &seen {
        assert_eq!(seen.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
    }
    let printed = match &result {
        Ok(exchange) => serde_json::to_string(exchange).expect("plain data"),
        Err(error) => error.to_string(),
    };
    for text in [printed, format!("{result:?} {live:?}")] {
        assert!(!text.contains(SECRET), "the key is in {text}");
    }
    let attempts = match &result {
        Ok(exchange) => exchange.attempts,
        Err(error) => error.attempts,
    };
    assert_eq!(attempts as usize, seen.len(), "every attempt is counted: {result:?}");
    (result, seen)
}

/// Asks by a script that must end in a fault.
async fn fails(script: Vec<Reply>, kind: &str, attempts: u32, lost: u32) -> ModelError {
    let error = ask(script, |_| ()).await.0.expect_err(kind);
    assert_eq!((error.kind(), error.attempts, error.lost_attempts), (kind, attempts, lost), "{error}");
    error
}

#[tokio::test]
async fn an_answer_is_an_exchange() {
    let (result, seen) = ask(vec![good()], |_| ()).await;
    let exchange = result.expect("an answer");
    assert_eq!(exchange.outcome, Outcome::Answered);
    assert_eq!(exchange.form, Some(AnswerForm::JsonSchema));
    assert_eq!(extract(&exchange.texts[0]).expect("queries").queries, ["SELECT 1"]);
    assert_eq!(exchange.usage, Some(Usage { input_tokens: 30, output_tokens: 10 }));
    assert_eq!(exchange.micro_usd, Some(MicroUsd(50)));
    assert_eq!((exchange.attempts, exchange.lost_attempts), (1, 0));
    assert_eq!(exchange.provider_model.as_deref(), Some("some-model-2026"));
    assert_eq!(exchange.request_hash, request().hash());

    assert_eq!(seen[0].line, "POST /v1/chat/completions");
    let body = seen[0].json();
    assert_eq!(body["response_format"]["json_schema"]["schema"], schema());
    assert_eq!((&body["max_completion_tokens"], &body["n"]), (&json!(64), &Value::Null));
}

#[tokio::test]
async fn nothing_comes_from_the_environment() {
    // The same test in a process whose environment would change everything if it were read.
    let child = Command::new(std::env::current_exe().expect("this program"))
        .args([
            "--exact",
            "model_faults_are_counted::an_answer_is_an_exchange",
            "model_faults_are_counted::only_our_headers_are_sent",
        ])
        .envs([
            ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1"),
            ("OPENAI_API_KEY", "sk-of-the-environment"),
            ("OPENAI_ADMIN_KEY", "sk-of-the-environment"),
            ("OPENAI_ORG_ID", "org-of-the-environment"),
            ("OPENAI_PROJECT_ID", "project-of-the-environment"),
            ("HTTP_PROXY", "http://127.0.0.1:1"),
            ("http_proxy", "http://127.0.0.1:1"),
        ])
        .output()
        .expect("this program starts");
    let stdout = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && stdout.contains("2 passed"), "{stdout}");
}

#[tokio::test]
async fn only_our_headers_are_sent() {
    let (_, seen) = ask(vec![good()], |_| ()).await;
    let ours = ["authorization", "content-type", "content-length", "accept", "host"];
    for (name, value) in &seen[0].headers {
        assert!(ours.contains(&name.as_str()), "{name}: {value}");
    }
    let server = ModelServer::start(vec![good()]).await;
    let mut config = config(&server);
    config.key = Key::none();
    live(config).complete(&request()).await.expect("an answer");
    assert_eq!(server.seen()[0].header("authorization"), None, "no key, no header");
}

#[tokio::test]
async fn rate_limits_are_waited_for() {
    let limited = || Reply::status(429, error("slow down", "rate_limit_exceeded"));
    let (result, seen) = ask(vec![limited().header("Retry-After", 0), limited(), good()], |_| ()).await;
    assert_eq!((result.expect("an answer").attempts, seen.len()), (3, 3));
    // Once the attempts are used up, it is over.
    fails(vec![limited()], "rate-limited", 3, 0).await;
    // An endpoint that wants to be left alone for an hour is left alone.
    let error = fails(vec![limited().header("Retry-After", 3_600)], "rate-limited", 1, 0).await;
    assert!(matches!(error.fault, Fault::RateLimited { retry_after_ms: Some(3_600_000), .. }));
    assert!(!error.is_fatal());
}

#[tokio::test]
async fn what_waiting_cannot_cure_is_asked_once() {
    let quota = Reply::status(429, error("You exceeded your current quota", "insufficient_quota"));
    assert!(fails(vec![quota], "quota-exhausted", 1, 0).await.is_fatal());

    // The worst endpoint quotes the key.
    let unauthorized = Reply::status(401, error(&format!("Incorrect API key provided: {SECRET}."), "invalid_api_key"));
    let error = fails(vec![unauthorized], "bad-key", 1, 0).await;
    assert!(error.is_fatal() && error.to_string().contains("$MODEL_KEY"), "{error}");

    let unknown = Reply::status(404, self::error("The model does not exist", "model_not_found"));
    let error = fails(vec![unknown], "unknown-model", 1, 0).await;
    assert!(error.is_fatal() && error.to_string().contains("some-model"), "{error}");

    let long = Reply::status(400, self::error("the context is too long", "context_length_exceeded"));
    assert!(!fails(vec![long], "refused", 1, 0).await.is_fatal());

    // Following it would carry the prompt elsewhere.
    let moved = Reply::status(307, "").header("Location", "http://127.0.0.1:1/v1/chat/completions");
    fails(vec![moved], "refused", 1, 0).await;
}

#[tokio::test]
async fn failing_servers_are_asked_again_within_bounds() {
    let failed = || Reply::status(500, "<html>oops</html>");
    let (result, _) = ask(vec![failed(), good()], |_| ()).await;
    let exchange = result.expect("an answer");
    assert_eq!((exchange.attempts, exchange.lost_attempts), (2, 0));
    fails(vec![failed()], "server-failed", 3, 0).await;
    // A server under maintenance says when it will be back.
    fails(vec![Reply::status(503, "").header("Retry-After", 3_600)], "server-failed", 1, 0).await;
    // A gateway does not know whether the answer behind it was made, and billed.
    fails(vec![Reply::status(504, "")], "server-failed", 2, 2).await;
}

#[tokio::test]
async fn slow_answers_are_not_waited_for() {
    let late = || Reply::Late { after_ms: 60_000, body: completion(&[ANSWER]).to_string() };
    let stalled = Reply::Stalled { body: completion(&[ANSWER]).to_string() };
    let (result, _) = ask(vec![late(), stalled, late()], |config| config.attempt_ms = 200).await;
    let error = result.expect_err("no answer in time");
    // Each may have been billed, so there are fewer attempts than for other faults.
    assert_eq!((error.kind(), error.attempts, error.lost_attempts), ("timed-out", 2, 2));
    let price = Some(Price { input_per_million: MicroUsd(0), output_per_million: MicroUsd(1_000_000) });
    let spent = budget::of_error(&error, &request(), price);
    assert_eq!((spent.usd, spent.calls), (MicroUsd(2 * 64), 2), "counted at the worst case");
}

#[tokio::test]
async fn cut_connections_are_asked_again() {
    let whole = completion(&[ANSWER]).to_string();
    let (result, _) = ask(vec![Reply::CutBefore, good()], |_| ()).await;
    let exchange = result.expect("an answer");
    assert_eq!((exchange.attempts, exchange.lost_attempts), (2, 1));
    let (result, _) = ask(vec![Reply::CutWithin { body: whole.clone() }, good()], |_| ()).await;
    assert_eq!(result.expect("an answer").lost_attempts, 1);
    fails(vec![Reply::CutWithin { body: whole }], "cut-off", 2, 2).await;
}

#[tokio::test]
async fn absent_endpoints_are_a_fault() {
    let server = ModelServer::start(vec![good()]).await;
    let mut config = config(&server);
    // Nobody listens there: the port is reserved for a service that is hardly ever installed.
    config.base_url = "http://127.0.0.1:1/v1".into();
    let error = live(config).complete(&request()).await.expect_err("no endpoint");
    assert_eq!((error.kind(), error.attempts, error.lost_attempts), ("unreachable", 3, 0), "{error}");
}

#[tokio::test]
async fn answers_that_are_none_are_faults() {
    // Neither key nor prompt is quoted from what cannot be read.
    fails(vec![Reply::ok(format!("{{\"choices\": [ {SECRET}"))], "malformed", 2, 2).await;
    fails(vec![Reply::ok("")], "malformed", 2, 2).await;
    fails(vec![Reply::ok(r#"{"object": "list", "data": []}"#)], "wrong-shape", 1, 1).await;
    fails(vec![Reply::ok("[1, 2]")], "wrong-shape", 1, 1).await;
    fails(vec![Reply::ok(r#"{"choices": "none"}"#)], "wrong-shape", 1, 1).await;
    fails(vec![Reply::ok(error("upstream is busy", "busy"))], "server-failed", 3, 0).await;
}

#[tokio::test]
async fn empty_answers_are_exchanges_without_text() {
    let (result, _) = ask(vec![Reply::ok(completion(&[""]))], |_| ()).await;
    let exchange = result.expect("an exchange");
    assert_eq!((exchange.outcome, exchange.texts.len()), (Outcome::Empty, 1));
}

#[tokio::test]
async fn answers_of_any_size_are_bounded() {
    let error = fails(vec![Reply::Endless], "too-long", 1, 1).await;
    assert_eq!(error.fault, Fault::TooLong { bytes_max: 1024 * 1024 });
    let announced = Reply::ok(completion(&[&"x".repeat(2 * 1024 * 1024)]));
    fails(vec![announced], "too-long", 1, 1).await;
    // An endless error page is bounded too.
    let page = Reply::status(400, "x".repeat(2 * 1024 * 1024));
    assert!(fails(vec![page], "refused", 1, 0).await.to_string().len() < 1_000);
}

#[tokio::test]
async fn a_missing_usage_is_unknown() {
    let mut body = completion(&[ANSWER]);
    body["usage"] = Value::Null;
    let (result, _) = ask(vec![Reply::ok(body)], |_| ()).await;
    let exchange = result.expect("an answer");
    assert_eq!((exchange.usage, exchange.micro_usd), (None, None));
    let spent = budget::actual(&exchange, None);
    assert!(spent.tokens > 64 && spent.assumed_calls == 1, "{spent:?}");
}

#[tokio::test]
async fn choices_nobody_asked_for_are_kept() {
    let server = ModelServer::start(vec![Reply::ok(completion(&["a", "", "c"]))]).await;
    let exchange = live(config(&server)).complete(&request()).await.expect("an answer");
    assert_eq!(exchange.texts, ["a", "", "c"]);
    assert_eq!(server.seen()[0].json()["n"], Value::Null);
}

#[tokio::test]
async fn refused_schemas_are_asked_without_and_remembered() {
    let refused = |what: &str| Reply::status(400, error(&format!("{what} is not supported"), "invalid_request_error"));
    let server = ModelServer::start(vec![
        refused("response_format.json_schema"),
        refused("max_completion_tokens"),
        refused("'response_format'"),
        Reply::ok(completion(&["```sql\nSELECT 1\n```"])),
    ])
    .await;
    let live = live(config(&server));
    let exchange = live.complete(&request()).await.expect("an answer");
    assert_eq!((exchange.form, exchange.attempts), (Some(AnswerForm::SqlBlock), 4));
    assert_eq!(live.shape(), Shape { form: AnswerForm::SqlBlock, output_limit: OutputLimit::MaxTokens });
    let formats: Vec<Value> = server.seen().iter().map(|s| s.json()["response_format"]["type"].clone()).collect();
    assert_eq!(formats, [json!("json_schema"), json!("json_object"), json!("json_object"), Value::Null]);

    let again = live.complete(&request()).await.expect("an answer");
    assert_eq!((again.form, again.attempts), (Some(AnswerForm::SqlBlock), 1));
    assert_eq!(server.seen()[4].json()["max_tokens"], 64);

    // What goes on being refused ends: there are few shapes.
    fails(vec![refused("response_format")], "refused", 3, 0).await;
}

#[tokio::test]
async fn recordings_replay() {
    let dir = tempfile::tempdir().expect("a scratch directory");
    let server = ModelServer::start(vec![good(), Reply::status(500, "")]).await;
    let recorder = Recorder::new(live(config(&server)), dir.path()).expect("a directory");
    let replay = Replay::new(dir.path());

    let missing = replay.complete(&request()).await.expect_err("nothing is recorded");
    let hash = request().hash();
    assert_eq!(missing.kind(), "no-recording");
    assert!(missing.to_string().contains(&hash) && missing.to_string().contains("recording into"), "{missing}");

    let exchange = recorder.complete(&request()).await.expect("an answer");
    assert_eq!(replay.complete(&request()).await.expect("a recording"), exchange);

    // Faults leave no recording, and nothing else lies about.
    recorder.complete(&Request { sample: 1, ..request() }).await.expect_err("the server fails");
    let files: Vec<_> = std::fs::read_dir(dir.path()).expect("a directory").flatten().map(|f| f.path()).collect();
    assert_eq!(files, [dir.path().join(format!("{hash}.json"))]);
    let text = std::fs::read_to_string(&files[0]).expect("a recording");
    assert!(!text.contains(SECRET) && !text.to_lowercase().contains("authorization"), "{text}");

    // A recording of another request under this name is none.
    let other = Request { sample: 2, ..request() };
    let wrong = dir.path().join(format!("{}.json", other.hash()));
    std::fs::copy(&files[0], &wrong).expect("a copy");
    assert_eq!(replay.complete(&other).await.expect_err("a wrong recording").kind(), "bad-recording");
    std::fs::write(&wrong, &text[..text.len() / 2]).expect("half a file");
    assert_eq!(replay.complete(&other).await.expect_err("half a recording").kind(), "bad-recording");

    std::fs::remove_dir_all(dir.path()).expect("the directory goes");
    let server = ModelServer::start(vec![good()]).await;
    let recorder = Recorder::new(live(config(&server)), dir.path().join("a")).expect("a directory");
    std::fs::remove_dir_all(dir.path()).expect("the directory goes");
    recorder.complete(&request()).await.expect("an answer, which is paid for, although there is no place to record it");
    let error = recorder.complete(&other).await.expect_err("no place to record");
    assert_eq!((error.kind(), error.attempts), ("not-recorded", 0));
    assert_eq!(server.seen().len(), 1, "nothing is asked that could not be recorded");
}

/// The requests of a batch, by their hashes.
fn find<'a>(requests: &'a [Request], key: &'a Key, hash: &str) -> Option<Asked<'a>> {
    let request = requests.iter().find(|request| request.hash() == hash)?;
    let price = Some(Price { input_per_million: MicroUsd(1_000_000), output_per_million: MicroUsd(2_000_000) });
    Some(Asked { request, form: AnswerForm::JsonSchema, price, key_setting: "$MODEL_KEY", key })
}

fn result_line(request: &Request, status: u16, body: &Value) -> String {
    json!({ "id": "b", "custom_id": request.hash(), "response": { "status_code": status, "body": body }, "error": null })
        .to_string()
}

#[tokio::test]
async fn batches_equal_live_calls() {
    let request = request();
    let (result, seen) = ask(vec![good()], |_| ()).await;
    let line: Value = serde_json::from_str(&batch::line(&request, Shape::default())).expect("a line of JSON");
    assert_eq!(line["body"], seen[0].json());
    assert_eq!((&line["custom_id"], &line["url"]), (&json!(request.hash()), &json!("/v1/chat/completions")));

    let key = Key::new(SECRET).expect("a key");
    let requests = [request];
    let mut results = Results::default();
    results.read(&result_line(&requests[0], 200, &completion(&[ANSWER])), |hash| find(&requests, &key, hash));
    assert_eq!(results.ended[&requests[0].hash()], result);
}

#[test]
fn every_line_of_a_batch_is_counted() {
    let key = Key::none();
    let requests: Vec<Request> = (0..5).map(|sample| Request { sample, ..request() }).collect();
    let stranger = Request { sample: 9, ..request() };
    let output = [
        result_line(&requests[1], 200, &completion(&[ANSWER])),
        result_line(&requests[0], 200, &completion(&["first"])),
        "not JSON".into(),
        String::new(),
        result_line(&stranger, 200, &completion(&[ANSWER])),
        result_line(&requests[0], 200, &completion(&["second"])),
        result_line(&requests[2], 200, &json!({ "choices": 1 })),
    ]
    .join("\n");
    let expired = json!({
        "custom_id": requests[4].hash(), "response": null,
        "error": { "code": "batch_expired", "message": "not in time" },
    });
    let errors = [
        result_line(&requests[3], 429, &error("x", "insufficient_quota")),
        result_line(&requests[1], 500, &json!({})),
        expired.to_string(),
        r#"{"custom_id": 7}"#.into(),
    ]
    .join("\n");
    let mut results = Results::default();
    for file in [output, errors] {
        results.read(&file, |hash| find(&requests, &key, hash));
    }
    let kinds: Vec<&str> = requests
        .iter()
        .map(|request| match &results.ended[&request.hash()] {
            Ok(exchange) => exchange.texts[0].as_str(),
            Err(error) => error.kind(),
        })
        .collect();
    assert_eq!(kinds, ["first", ANSWER, "wrong-shape", "quota-exhausted", "not-processed"]);
    assert_eq!(results.duplicates, 2);
    assert_eq!(results.unknown.iter().collect::<Vec<_>>(), [&stranger.hash()]);
    assert_eq!(results.malformed.iter().map(|bad| bad.number).collect::<Vec<_>>(), [3, 4]);
}

#[tokio::test]
async fn batches_go_through_the_endpoint() {
    let requests = [request()];
    let output = result_line(&requests[0], 200, &completion(&[ANSWER]));
    let state = |status: &str, file: Value| {
        Reply::ok(json!({
            "id": "batch_1", "object": "batch", "status": status, "output_file_id": file,
            "request_counts": { "total": 1, "completed": 1, "failed": 0 },
        }))
    };
    let server = ModelServer::start(vec![
        Reply::status(500, ""),
        Reply::ok(json!({ "id": "file-1", "object": "file" })),
        state("validating", Value::Null),
        state("in_progress", Value::Null),
        state("completed", json!("file-2")),
        // Larger than an answer may be.
        Reply::ok(format!("{output}\n{}", " ".repeat(2 * 1024 * 1024))),
        Reply::CutBefore,
    ])
    .await;
    let live = live(config(&server));
    let batches = Batches::new(&live, &requests[0]);
    let line = batch::line(&requests[0], live.shape());
    let file = batches.upload(&line).await.expect("an upload, the second time");
    let batch = batches.create(&file).await.expect("a batch");
    assert!(!batches.status(&batch.id).await.expect("its state").has_ended());
    let batch = batches.status(&batch.id).await.expect("its state");
    assert!(batch.has_ended());
    let text = batches.download(batch.output_file_id.as_deref().expect("a file")).await.expect("its text");
    let key = Key::none();
    let mut results = Results::default();
    results.read(&text, |hash| find(&requests, &key, hash));
    assert!(results.ended[&requests[0].hash()].is_ok() && results.malformed.is_empty());

    // A second batch would cost twice, so a lost attempt to create one is the last.
    let error = batches.create(&file).await.expect_err("a cut connection");
    assert_eq!((error.kind(), error.attempts), ("cut-off", 1));

    let seen = server.seen();
    let lines: Vec<&str> = seen.iter().map(|seen| seen.line.as_str()).collect();
    assert_eq!(
        lines,
        [
            "POST /v1/files",
            "POST /v1/files",
            "POST /v1/batches",
            "GET /v1/batches/batch_1",
            "GET /v1/batches/batch_1",
            "GET /v1/files/file-2/content",
            "POST /v1/batches",
        ]
    );
    assert!(seen[1].body.contains(&line) && seen[1].body.contains("name=\"purpose\"\r\n\r\nbatch"), "{}", seen[1].body);
    assert_eq!(seen[2].json()["input_file_id"], "file-1");
}

#[test]
fn askings_can_move_between_threads() {
    fn check<T: Send>(_: T) {}
    let live = Live::new(LiveConfig::new("http://127.0.0.1:1/v1", Key::none(), "")).expect("a configuration");
    let request = request();
    let batches = Batches::new(&live, &request);
    check(live.complete(&request));
    check(batches.upload(""));
    check(batches.status(""));
    check(batches.download(""));
}
