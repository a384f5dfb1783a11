//! Snippets are learned with and without a model, only those that hold are kept, with where they are from, and what hunts
//! reached with them is told.

use crate::support::model_server::{ModelServer, batch_api};
use crate::support::{Caqtus, last_json, succeed};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Mutex;

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("a file");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn what_is_made_from_the_catalogue_is_kept_once_and_hunted_with() {
    let caqtus = Caqtus::new();
    let words = ["corpus", "learn", "--llm", "catalogue", "--expressions", "60", "--tables", "30", "--quiet", "--json"];
    let made = |caqtus: &Caqtus| {
        succeed(caqtus, 0, &["corpus", "export", "--dialect", "sqlite", "--origin", "engine's catalogue"])
    };
    // What ships comes first, and nothing else where nothing is asked for.
    let nothing = ["corpus", "learn", "--llm", "catalogue", "--expressions", "0", "--tables", "0", "--quiet", "--json"];
    assert_eq!(last_json(&succeed(&caqtus, 0, &nothing))["snippets"], 0);
    let shipped = made(&caqtus).lines().count() as u64;
    let first = last_json(&succeed(&caqtus, 0, &words));
    let number = |json: &Value, field: &str| json[field].as_u64().unwrap_or_else(|| panic!("{field}: {json}"));
    assert!(number(&first, "valid") >= 60 && first["done"] == true, "{first}");
    assert!(
        number(&first, "snippets") > number(&first, "valid") && first["rejected"]["semantic error"].is_u64(),
        "{first}"
    );
    assert_eq!(made(&caqtus).lines().count() as u64 - shipped, number(&first, "valid"));
    // The same again: what is there already is not counted as new.
    let again = last_json(&succeed(&caqtus, 0, &words));
    assert_eq!(made(&caqtus).lines().count() as u64 - shipped, number(&first, "valid") + number(&again, "valid"));

    let reached = |caqtus: &Caqtus| last_json(&succeed(caqtus, 0, &["corpus", "coverage", "--store", "--json"]));
    let before = reached(&caqtus);
    assert_eq!((&before["functions"]["used"], &before["operators"]["used"]), (&json!(0), &json!(0)), "{before}");
    assert!(number(&before["functions"], "known") > 60, "{before}");
    // A campaign with a seed of its own does not depend on what others came to, but what it came to is known after it.
    let hunt = || caqtus.hunt(&["--dbms", "sqlite", "--cases", "2000", "--seed", "3"]).1;
    let (one, other) = (hunt(), hunt());
    assert_eq!(one["case_digest"], other["case_digest"]);
    // What came of the cases is told apart by where their snippets are from, combinations of snippets among them.
    for origin in ["generator", "large language model", "engine's catalogue", "combination"] {
        assert!(one["origins"][origin]["pass"].as_u64() > Some(0), "{origin}: {}", one["origins"]);
    }
    let hunt = ["--dbms", "sqlite", "--cases", "2000", "--seed", "3", "--oracle", "caq", "--combinations", "0"];
    let origins = caqtus.hunt(&hunt).1["origins"].clone();
    assert!(origins["combination"].is_null(), "none are wanted: {origins}");
    let after = reached(&caqtus);
    for kind in ["functions", "operators", "types", "clauses"] {
        let [known, used, unused] = ["known", "used", "unused"].map(|field| &after[kind][field]);
        let unused = unused.as_array().expect("names").len() as u64;
        assert_eq!(known.as_u64(), used.as_u64().map(|used| used + unused), "{kind}");
        assert!(used.as_u64() > Some(0), "{kind}: {after}");
    }
}

#[test]
fn combinations_are_kept_with_what_they_are_made_of() {
    let caqtus = Caqtus::new();
    let words = ["corpus", "learn", "--llm", "combinations", "--expressions", "200", "--quiet", "--json"];
    let learned = last_json(&succeed(&caqtus, 0, &words));
    assert!(learned["valid"].as_u64() >= Some(200) && learned["done"] == true, "{learned}");
    let listed = succeed(&caqtus, 0, &["corpus", "list", "--json"]);
    let rows: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let (made, others): (Vec<&Value>, Vec<&Value>) = rows.iter().partition(|row| row["origin"] == "combination");
    assert_eq!(Some(made.len() as u64), learned["valid"].as_u64());
    let mut of_combinations = 0;
    for row in &made {
        let shown = succeed(&caqtus, 0, &["corpus", "show", &row["id"].to_string()]);
        let shown: Value = serde_json::from_str(&shown).expect("JSON");
        let parents = shown["parents"].as_array().expect("a list");
        let places: Vec<&str> = parents.iter().filter_map(|parent| parent["place"].as_str()).collect();
        assert_eq!(places, ["outer", "inner"], "{shown}");
        let inner = parents[1]["sql"].as_str().expect("a text");
        assert!(shown["sql"].as_str().expect("a text").contains(&format!("({inner})")), "{shown}");
        assert!(shown["provenance"]["run"].is_u64() && shown["validations"][0]["valid"] == true, "{shown}");
        let is_combination = |parent: &Value| made.iter().any(|row| row["id"] == parent["id"]);
        of_combinations += usize::from(parents.iter().any(is_combination));
    }
    assert!(of_combinations > 0, "those of the second round have those of the first as parts");
    // What they were made of was tried on this build first, which is kept too.
    let tried = others.iter().filter(|row| row["taken"].as_u64() > Some(0)).count();
    assert!(tried > 500, "{tried}");
}

/// What a model says to a prompt for expressions, and to one for tables.
fn completion(body: &Value) -> Value {
    let snippets = if body["messages"].to_string().contains("CREATE TABLE s1") {
        json!(["SELECT a.i1 AS y1 FROM s1 AS a JOIN s2 AS b ON a.x1 = b.x1", "SELECT a.i1 AS y1 FROM s1 AS a LIMIT 1"])
    } else {
        json!(["upper(t.c_text) || 'learned'", "t.c_int + nowhere", "random()", "t.c_int)"])
    };
    let content = json!({ "snippets": snippets }).to_string();
    json!({ "model": "m-1", "choices": [{ "index": 0, "message": { "content": content }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 10, "completion_tokens": 5 } })
}

#[test]
fn the_batch_api_brings_snippets_and_each_prompt_is_paid_for_once() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let files: Mutex<Vec<String>> = Mutex::default();
    let server = runtime.block_on(ModelServer::answering(move |_, seen| batch_api(&files, seen, &completion)));
    let caqtus = Caqtus::new();
    let config =
        "[model]\nname = 'm'\nkey_env = 'TEST_KEY'\n[prices.'m']\ninput_per_million = 2.0\noutput_per_million = 4.0\n";
    std::fs::write(caqtus.path("caqtus.toml"), config).expect("writes");
    let words = ["corpus", "learn", "--llm", "batch", "--base-url", &server.base_url, "--batch-poll", "1s"];
    let learn = |budget: &str| {
        let more = ["--expressions", "1", "--tables", "1", "--budget-usd", budget, "--quiet", "--json"];
        let words: Vec<&str> = words.iter().chain(&more).copied().collect();
        caqtus.command(&words).env("TEST_KEY", "sk-test").output().expect("starts")
    };
    let too_little = learn("0.000001");
    let said = String::from_utf8_lossy(&too_little.stderr);
    assert!(
        too_little.status.code() == Some(2) && said.contains("the limit is $0.000001") && server.seen().is_empty(),
        "{said}"
    );
    let mut asked = 0;
    for round in 0..2 {
        let output = learn("1");
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr));
        let learned = last_json(&text);
        let counts = ["prompts", "waiting", "tokens"].map(|field| learned[field].as_u64().expect("a number"));
        assert_eq!(counts, [2, 0, 30], "{learned}");
        assert_eq!(
            (&learned["done"], &learned["valid"]),
            (&json!(true), &json!(if round == 0 { 2 } else { 0 })),
            "{learned}"
        );
        // Half the price: 20 tokens at 1 and 10 at 2 dollars a million.
        assert_eq!((&learned["usd_spent"], &learned["usd_set_aside"]), (&json!(0.00004), &json!(0.0)), "{learned}");
        assert!(round == 0 || server.seen().len() == asked, "the second time everything is in the store");
        asked = server.seen().len();
        assert!(server.seen().iter().all(|seen| !seen.line.contains("chat/completions")), "all through batches");
    }
}

#[test]
fn answers_of_a_batch_are_validated_and_keep_where_they_are_from() {
    let caqtus = Caqtus::new();
    let documents = caqtus.path("manual");
    std::fs::create_dir_all(&documents).expect("a folder");
    std::fs::write(documents.join("strings.md"), "# The upper function\n\nIt gives upper(X) in capitals, hark.")
        .expect("writes");
    let (prompts, answers) = (caqtus.path("prompts.jsonl"), caqtus.path("answers.jsonl"));
    let shown = |path: &Path| path.display().to_string();
    let base =
        ["corpus", "learn", "--model", "m", "--expressions", "1", "--tables", "1", "--quiet", "--json", "--documents"];
    let learn = |more: [&str; 2]| {
        let folder = shown(&documents);
        let words: Vec<&str> = base.iter().copied().chain([folder.as_str()]).chain(more).collect();
        last_json(&succeed(&caqtus, 0, &words))
    };
    let waiting = learn(["--export-batch", &shown(&prompts)]);
    assert_eq!((&waiting["prompts"], &waiting["waiting"], &waiting["snippets"]), (&json!(2), &json!(2), &json!(0)));
    let answer = |request: &Value| {
        let body = completion(&request["body"]);
        json!({ "custom_id": request["custom_id"], "response": { "status_code": 200, "body": body }, "error": null })
            .to_string()
    };
    let requests = lines(&prompts);
    std::fs::write(&answers, requests.iter().map(answer).collect::<Vec<_>>().join("\n")).expect("writes");
    let learned = learn(["--import-batch", &shown(&answers)]);
    assert_eq!(
        (&learned["waiting"], &learned["valid"], &learned["snippets"]),
        (&json!(0), &json!(2), &json!(6)),
        "{learned}"
    );
    assert_eq!((&learned["tokens"], &learned["usd_set_aside"]), (&json!(30), &json!(0.0)), "{learned}");
    let rejected = learned["rejected"].as_object().expect("reasons");
    for why in ["semantic error", "forbidden", "unbalanced parentheses"] {
        assert!(rejected.contains_key(why), "{why}: {learned}");
    }
    // The answers are in the store: the same command has nothing left to do, and asks nobody.
    let again = learn(["--import-batch", &shown(&answers)]);
    assert_eq!((&again["waiting"], &again["valid"]), (&json!(0), &json!(0)), "{again}");

    let list = succeed(&caqtus, 0, &["corpus", "list", "--dialect", "sqlite", "--words", "learned", "--json"]);
    let id = serde_json::from_str::<Value>(&list).expect("one line")["id"].to_string();
    let detail: Value = serde_json::from_str(&succeed(&caqtus, 0, &["corpus", "show", &id])).expect("JSON");
    let provenance = &detail["provenance"];
    assert_eq!((&provenance["model"], &detail["validations"][0]["valid"]), (&json!("m-1"), &json!(true)), "{detail}");
    assert!(!provenance["documentation"].as_array().expect("pieces").is_empty(), "{detail}");
    let exported = |caqtus: &Caqtus| succeed(caqtus, 0, &["corpus", "export", "--dialect", "sqlite"]);
    assert!(exported(&caqtus).contains("'learned'"));
    succeed(&caqtus, 0, &["corpus", "disable", &id, "--why", "it is a test"]);
    assert!(!exported(&caqtus).contains("'learned'"));
    succeed(&caqtus, 0, &["corpus", "disable", &id, "--undo"]);
    assert!(exported(&caqtus).contains("'learned'"));
}
