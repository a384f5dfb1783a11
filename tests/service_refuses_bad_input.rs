//! Whatever is sent to whichever route, the answer is a clear refusal, and nothing is stored.

use crate::service_reviews_classes::put_classes;
use crate::support::Caqtus;
use crate::support::service::{Answer, Served};
use serde_json::{Value, json};

/// The routes of the description: method, path with names filled in, and whether it takes a body.
fn routes(served: &Served, class: &str) -> Vec<(String, String, bool)> {
    let described = served.get("/api/v1/openapi.json").expect(200);
    let mut routes = Vec::new();
    for (path, methods) in described["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            if path.ends_with("/events") {
                continue;
            }
            let filled = path.replace("{name}", class).replace("{file}", "repro.sql").replace("{engine}", "sqlite");
            let filled = filled.replace("{version}", "3.39.2").replace("{position}", "2").replace("{left}", "1");
            let filled = filled
                .replace("{right}", "2")
                .replace("{number}", "0")
                .replace("{id}", "1")
                .replace("{dbms}", "sqlite");
            routes.push((method.to_uppercase(), filled, !operation["requestBody"].is_null()));
        }
    }
    routes
}

/// A problem as RFC 9457 has it, with a status between 400 and 499.
fn refused(answer: &Answer, what: &str) {
    assert!((400..500).contains(&answer.status), "{what}: {} {}", answer.status, answer.body);
    assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{what}");
    let problem = answer.json();
    assert_eq!(problem["status"], answer.status, "{what}");
    for field in ["type", "title", "detail"] {
        assert!(problem[field].as_str().is_some_and(|text| !text.is_empty()), "{what}: {problem}");
    }
}

/// Classes that can be read, and not be kept: with characters that no text has, with texts without a bound, and with
/// functions that nobody knows.
fn unusable_classes() -> Vec<String> {
    let long = "x".repeat(50_000);
    let class = |fields: &str, schema: &str, condition: &str| {
        format!(
            "[[class]]\nname = 'x'\n{fields}\nschema = {schema}\nmembers = ['SELECT t.a FROM t', \"SELECT t.a FROM t WHERE \
             {condition}\"]\n"
        )
    };
    let plain = "'CREATE TABLE t(a INT)'";
    let mut all = Vec::new();
    for fields in [
        r#"about = "\u0000""#.to_owned(),
        r#"origin = "\u001b[2J""#.to_owned(),
        r#"dialects = ["\u0000"]"#.to_owned(),
        format!("origin = '{long}'"),
        format!("about = '{long}'"),
        format!("dialects = ['{long}']"),
    ] {
        all.push(class(&fields, plain, "TRUE"));
    }
    all.push(class("", plain, r"t.a = '\u0000'"));
    all.push(class("", r#""CREATE TABLE t(a INT CHECK (a <> '\u0007'))""#, "TRUE"));
    all.push(class("", plain, &format!("t.a IN ({}1)", "1, ".repeat(100_000))));
    for call in [
        "lo_export(1, '/tmp/x') = 1",
        "length(pg_read_file('/etc/passwd')) > 0",
        "LOAD_FILE('/etc/passwd') IS NULL",
        "load_extension('x') IS NULL",
        "length(readfile('x')) > 0",
        "pg_catalog.pg_sleep(1) IS NULL",
        "t.a IN (SELECT s.a FROM pg_ls_dir('/') AS s(a))",
        "EXISTS (SELECT 1 FROM read_csv('/etc/passwd') AS s(a) WHERE s.a = t.a)",
    ] {
        all.push(class("", plain, call));
    }
    all.push(class("", "'CREATE TABLE t(a INT CHECK (lo_unlink(a) = 1))'", "TRUE"));
    all
}

#[test]
fn filters_refuse_words_that_nothing_has() {
    let served = Served::start(&Caqtus::new());
    for bad in
        ["campaigns?state=runing", "jobs?kind=x", "jobs?state=x", "findings?kind=x", "bugs?kind=x", "bugs?state=x"]
    {
        refused(&served.get(&format!("/api/v1/{bad}")), bad);
    }
}

#[test]
fn every_route_refuses_what_it_cannot_use_and_stores_nothing() {
    let caqtus = Caqtus::new();
    let class = put_classes(&caqtus, &["tlp-where"]).remove(0);
    let served = Served::start(&caqtus);
    let before = served.get(&format!("/api/v1/classes/{class}")).expect(200);
    let all = routes(&served, &class);
    assert!(all.len() > 30, "{}", all.len());
    let json_type = ("Content-Type", "application/json");
    let keys = [("If-Match", "\"1\""), ("Idempotency-Key", "k")];
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let huge = json!({ "why": "x".repeat(3 << 20) }).to_string();
    for (method, path, takes_body) in &all {
        let what = |case: &str| format!("{case}: {method} {path}");
        if method == "GET" {
            let query = |query: &str| served.get(&format!("{path}?{query}"));
            refused(&query("no_such_parameter=1"), &what("an unknown parameter"));
            if path.starts_with("/api/v1/")
                && !path.contains("/1")
                && !path.contains(&class)
                && path != "/api/v1/openapi.json"
            {
                refused(&query("limit=1&limit=2&x=%00"), &what("control characters"));
                for bad in ["limit=x", "limit=0", "limit=99999999999", "limit=-1", "cursor=%22", "q=%00", "limit="] {
                    if bad != "q=%00" || path.ends_with("classes") {
                        refused(&query(bad), &what(bad));
                    }
                }
            }
            continue;
        }
        let site = [json_type, keys[0], keys[1], ("Origin", "http://evil.example")];
        refused(&served.send(method, path, &site, "{}"), &what("another site"));
        let host = [json_type, keys[0], keys[1], ("Host", "evil.example")];
        refused(&served.send(method, path, &host, "{}"), &what("another host"));
        if !takes_body {
            continue;
        }
        let send = |headers: &[(&str, &str)], body: &str| {
            let mut headers = headers.to_vec();
            headers.extend(keys);
            served.send(method, path, &headers, body)
        };
        refused(&send(&[("Content-Type", "text/html")], "<b>"), &what("another type"));
        refused(&send(&[], "{}"), &what("no type"));
        if path == "/api/v1/import" {
            let toml = ("Content-Type", "application/toml");
            for bad in ["x", "[[class]]", "[[class]]\nname='a\\u0000'\nschema=''\nmembers=[]", "\u{1b}", "class = 1"] {
                refused(&send(&[toml], bad), &what(bad));
            }
            let sql = "[[class]]\nname='x'\nschema='CREATE TABLE t(a INT)'\nmembers=['SELECT a FROM t; DROP TABLE t', 'DELETE FROM t']";
            refused(&send(&[toml], sql), &what("no queries"));
            continue;
        }
        for bad in [
            "",
            "{",
            "[]",
            "null",
            "1",
            "{}",
            "\"\"",
            r#"{"why":1}"#,
            r#"{"unknown":1}"#,
            r#"{"why":"a","why":"b"}"#,
            &deep,
        ] {
            refused(&send(&[json_type], bad), &what(&bad[..bad.len().min(20)]));
        }
        for field in ["why", "body", "dbms", "state", "url"] {
            for bad in ["\u{0}", "\u{1b}[2J", "\u{7f}", "\u{85}"] {
                let body = json!({ field: bad }).to_string();
                refused(&send(&[json_type], &body), &what(field));
            }
        }
        refused(&send(&[json_type], &huge), &what("a huge body"));
    }
    for path in [
        "/api/v1/nothing",
        "/api/v1/classes/%00",
        "/api/v1/classes/%ff",
        "/api/v1/bugs/x",
        "/api/v1/bugs/99999999999999999999",
        "/api/v1/campaigns/-1",
        "/static/..%2fmod.rs",
    ] {
        refused(&served.get(path), path);
    }
    refused(&served.send("DELETE", "/api/v1/classes", &[], ""), "a method that is not there");
    assert_eq!(served.send("DELETE", "/api/v1/classes", &[], "").header("allow"), Some("GET,HEAD"));
    let after = served.get(&format!("/api/v1/classes/{class}")).expect(200);
    assert_eq!(before, after, "the class is as it was");
    for list in ["audit", "jobs", "campaigns", "bugs", "candidates", "discoveries", "snippets", "coverage"] {
        assert_eq!(
            served.get(&format!("/api/v1/{list}")).expect(200),
            json!({ "items": [], "next": Value::Null }),
            "{list}"
        );
    }
    served.stop();
}

#[test]
fn classes_that_cannot_be_kept_are_refused_and_nothing_is_noted() {
    let caqtus = Caqtus::new();
    let served = Served::start(&caqtus);
    for bad in unusable_classes() {
        let answer = served.send("POST", "/api/v1/import", &[("Content-Type", "application/toml")], &bad);
        refused(&answer, &bad.chars().take(400).collect::<String>());
    }
    for list in ["classes", "audit", "jobs"] {
        assert_eq!(served.get(&format!("/api/v1/{list}")).expect(200)["items"], json!([]), "{list}");
    }
    served.stop();
}

#[test]
fn a_page_shows_what_was_sent_as_text_and_takes_only_its_own_forms() {
    let caqtus = Caqtus::new();
    let served = Served::start(&caqtus);
    let html = [("Accept", "text/html")];
    let page = served.send("GET", "/?q=%3Cscript%3Ealert(1)%3C/script%3E", &html, "");
    assert_eq!(page.status, 200);
    assert!(!page.body.contains("<script>alert") && page.body.contains("&lt;script&gt;"), "{}", page.body);
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(
        policy.contains("default-src 'none'")
            && policy.contains("frame-ancestors 'none'")
            && !policy.contains("unsafe")
    );
    for (name, value) in
        [("x-content-type-options", "nosniff"), ("referrer-policy", "same-origin"), ("x-frame-options", "DENY")]
    {
        assert_eq!(page.header(name), Some(value));
    }
    let problem = served.send("GET", "/?%3Cb%3E=1", &html, "");
    assert_eq!(problem.status, 400);
    assert!(problem.body.contains("&lt;b&gt;") && !problem.body.contains("<b>"), "{}", problem.body);
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    for body in ["", "csrf=", "csrf=00000000000000000000000000000000"] {
        assert_eq!(served.send("POST", "/logout", &form, body).status, 403, "{body}");
    }
    served.stop();
}

#[test]
fn clients_that_are_slow_or_broken_hold_up_nobody() {
    let caqtus = Caqtus::new();
    let served = Served::start(&caqtus);
    // Heads that never end, bodies that are not sent, and streams that nobody reads.
    let open: Vec<_> = (0..40)
        .map(|at| {
            use std::io::Write as _;
            let mut stream = served.connect();
            let said: &[u8] = match at % 3 {
                0 => b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ",
                1 => b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n",
                _ => b"GET",
            };
            stream.write_all(said).expect("sent");
            stream
        })
        .collect();
    assert_eq!(served.get("/readyz").status, 200);
    assert!(served.raw(b"\x00\x01\x02\r\n\r\n").starts_with("HTTP/1.1 400"));
    assert!(
        served
            .raw(format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "x".repeat(1 << 20)).as_bytes())
            .starts_with("HTTP/1.1 4")
    );
    assert_eq!(served.get("/readyz").status, 200);
    // As many bodies that are not sent as there may be requests at once.
    let bodies: Vec<_> = (0..100)
        .map(|_| {
            use std::io::Write as _;
            let mut stream = served.connect();
            let head = "POST /api/v1/import HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/toml\r\n\
                        Content-Length: 1000\r\n\r\n[[class]]";
            stream.write_all(head.as_bytes()).expect("sent");
            stream
        })
        .collect();
    std::thread::sleep(std::time::Duration::from_millis(500));
    for path in ["/healthz", "/readyz", "/api/v1/classes"] {
        assert_eq!(served.get(path).status, 200, "{path}");
    }
    // Each is told that it takes too long.
    for mut stream in bodies {
        use std::io::Read as _;
        let mut said = String::new();
        stream.read_to_string(&mut said).expect("an answer");
        assert!(said.starts_with("HTTP/1.1 408"), "{said}");
    }
    // The service ends all the same.
    served.stop();
    drop(open);
}

#[test]
fn a_number_that_no_event_has_yet_is_set_right() {
    use std::io::{BufRead as _, Write as _};
    let caqtus = Caqtus::new();
    put_classes(&caqtus, &["tlp-where"]);
    let served = Served::start(&caqtus);
    let first = |last: &str| {
        let mut stream = served.connect();
        let head = format!("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: {last}\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("sent");
        stream.set_read_timeout(Some(std::time::Duration::from_secs(2))).expect("a time limit");
        let lines = std::io::BufReader::new(stream).lines();
        lines.map_while(Result::ok).filter(|line| line.starts_with("event: ") || line.starts_with("id: ")).collect()
    };
    let (known, future): (Vec<String>, Vec<String>) = (first("0"), first("9223372036854775807"));
    assert!(!known.contains(&"event: reset".to_owned()), "{known:?}");
    assert!(future.contains(&"event: reset".to_owned()), "{future:?}");
    assert!(
        !future.iter().any(|line| line.contains("9223372036854775807")),
        "it goes on from where we are: {future:?}"
    );
    served.stop();
}

#[test]
fn a_member_of_any_length_can_be_withdrawn() {
    let caqtus = Caqtus::new();
    let served = Served::start(&caqtus);
    // Digits that do not repeat, so that no compression makes them short.
    let mut state = 1_u64;
    let digits: String = (0..2_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40).to_string()
        })
        .collect();
    let text = format!(
        "[[class]]\nname = 'long'\nschema = 'CREATE TABLE t(a TEXT)'\nmembers = ['SELECT t.a FROM t', 'SELECT t.a FROM t WHERE \
         TRUE', \"SELECT t.a FROM t WHERE t.a = '{digits}'\"]\n"
    );
    served.send("POST", "/api/v1/import", &[("Content-Type", "application/toml")], &text).expect(202);
    let why = json!({ "why": "it is wrong" });
    // Its proof comes meanwhile, and then it is at another revision.
    crate::support::wait_until("it is withdrawn", || {
        let tag = served.get("/api/v1/classes/long").header("etag").expect("a tag").to_owned();
        let answer = served.post("/api/v1/classes/long/members/3/withdraw", &[("If-Match", &tag)], &why);
        assert!([200, 412].contains(&answer.status), "{}", answer.body);
        answer.status == 200
    });
    let imported = served.send("POST", "/api/v1/import", &[("Content-Type", "application/toml")], &text).expect(202);
    assert_eq!(imported["classes"][0]["changed"], false, "it stays out: {imported}");
    served.stop();
}

#[test]
fn what_a_proxy_passes_on_is_not_from_this_machine() {
    let caqtus = Caqtus::new();
    let served = Served::start(&caqtus);
    for header in ["Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "X-Real-IP", "Via"] {
        let answer = served.send("GET", "/api/v1/classes", &[(header, "for=10.0.0.1")], "");
        refused(&answer, header);
        assert!(answer.status == 403 && answer.body.contains("--require-tokens"), "{header}: {}", answer.body);
    }
    served.stop();
    let served = Served::start_with(&caqtus, &["--listen", "127.0.0.1:0", "--require-tokens"]);
    assert_eq!(served.get("/api/v1/classes").status, 401);
    assert_eq!(served.send("GET", "/api/v1/classes", &[("X-Forwarded-For", "10.0.0.1")], "").status, 401);
    served.stop();
}

#[test]
fn every_answer_is_described() {
    let caqtus = Caqtus::new();
    let served = Served::start(&caqtus);
    let described = served.get("/api/v1/openapi.json").expect(200);
    for file in ["classes.toml", "proofs.jsonl"] {
        let status = served.get(&format!("/api/v1/export/{file}?name=none")).status;
        let known = &described["paths"][format!("/api/v1/export/{file}")]["get"]["responses"];
        assert!(known[status.to_string()].is_object(), "{file}: {status}");
    }
    served.stop();
}
