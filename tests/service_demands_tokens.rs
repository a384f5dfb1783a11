//! Beyond loopback nothing is done without a token that counts, and every route says so.

use crate::support::service::Served;
use crate::support::{Caqtus, succeed};
use serde_json::{Value, json};

fn token(caqtus: &Caqtus, name: &str, role: &str, more: &[&str]) -> String {
    let mut words = vec!["token", "create", name, "--role", role];
    words.extend(more);
    succeed(caqtus, 0, &words).trim().to_owned()
}

#[test]
fn without_a_token_that_counts_nothing_is_answered() {
    let caqtus = Caqtus::new();
    let viewer = token(&caqtus, "eve", "viewer", &[]);
    let operator = token(&caqtus, "otto", "operator", &[]);
    let admin = token(&caqtus, "ada", "admin", &["--expires", "90d"]);
    let expired = token(&caqtus, "old", "admin", &["--expires", "1s"]);
    let revoked = token(&caqtus, "gone", "admin", &[]);
    succeed(&caqtus, 0, &["token", "revoke", "gone"]);
    assert_eq!(caqtus.run(&["token", "create", "eve", "--role", "admin"]).status.code(), Some(2), "the name is taken");
    let listed = succeed(&caqtus, 0, &["token", "list", "--json"]);
    for secret in [&viewer, &operator, &admin, &expired, &revoked] {
        assert!(!listed.contains(secret.as_str()), "{listed}");
    }
    std::thread::sleep(std::time::Duration::from_millis(1_100));

    let served = Served::start_with(&caqtus, &["--listen", "0.0.0.0:0"]);
    assert_eq!(served.get("/healthz").status, 200);
    let with = |token: &str, method: &str, path: &str| {
        served.send(method, path, &[("Authorization", &format!("Bearer {token}"))], "").status
    };
    assert_eq!(with(&viewer, "GET", "/api/v1/classes"), 200);
    assert_eq!(with(&viewer, "POST", "/api/v1/campaigns/1/stop"), 403);
    assert_eq!(with(&operator, "POST", "/api/v1/campaigns/1/stop"), 404);
    assert_eq!(with(&operator, "GET", "/api/v1/audit"), 403);
    assert_eq!(with(&admin, "GET", "/api/v1/audit"), 200);

    // From the description: no route is forgotten.
    let described = served.send("GET", "/api/v1/openapi.json", &[("Authorization", &format!("Bearer {viewer}"))], "");
    let described = described.expect(200);
    let mut routes = 0;
    for (path, methods) in described["paths"].as_object().expect("paths") {
        for method in
            methods.as_object().expect("methods").keys().filter(|key| ["get", "post", "put"].contains(&key.as_str()))
        {
            let concrete =
                path.replace("{name}", "x").replace("{file}", "x").replace("{engine}", "x").replace("{version}", "x");
            let concrete: String = concrete
                .split('/')
                .map(|part| if part.starts_with('{') { "1" } else { part })
                .collect::<Vec<_>>()
                .join("/");
            let answer = served.send(&method.to_uppercase(), &concrete, &[], "");
            let open = ["/healthz", "/readyz"].contains(&path.as_str());
            assert!(open || [401, 429].contains(&answer.status), "{method} {path}: {} {}", answer.status, answer.body);
            routes += 1;
        }
    }
    assert!(routes > 30, "{routes}");
    let foreign = format!("{}x", &admin[..admin.len() - 1]);
    for bad in [&expired, &revoked, &foreign, &"caqtus_1_".to_owned(), &"caqtus_x_y".to_owned(), &"x".repeat(5_000)] {
        let status = with(bad, "GET", "/api/v1/classes");
        assert!([401, 429].contains(&status), "{bad}: {status}");
    }
    assert_eq!(with(&viewer, "GET", "/api/v1/classes"), 200, "who has a token is not kept waiting for others");

    // A browser is sent to the way in, and gets a cookie that scripts and other sites cannot use.
    let page = served.send("GET", "/", &[("Accept", "text/html")], "");
    assert_eq!((page.status, page.header("location")), (303, Some("/login")));
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let entered = served.send("POST", "/login", &form, &format!("token={viewer}"));
    let cookie =
        entered.headers.iter().find(|(name, value)| name == "set-cookie" && value.starts_with("caqtus_token="));
    let cookie = cookie.map(|(_, value)| value.as_str()).expect("a cookie");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let cookie = cookie.split(';').next().expect("a pair");
    assert_eq!(served.send("GET", "/", &[("Cookie", cookie), ("Accept", "text/html")], "").status, 200);
    let foreign =
        [("Cookie", cookie), ("Origin", "http://evil.example"), ("Content-Type", "application/x-www-form-urlencoded")];
    assert_eq!(served.send("POST", "/logout", &foreign, "csrf=x").status, 403);
    succeed(&caqtus, 0, &["token", "revoke", "eve"]);
    // This client was refused so often that it may be told to wait.
    assert!([401, 429].contains(&with(&viewer, "GET", "/api/v1/classes")), "it counts for nothing at once");
    served.stop();
}

#[test]
fn who_loses_a_token_hears_no_more() {
    use std::io::{Read as _, Write as _};
    let caqtus = Caqtus::new();
    let tokens = [token(&caqtus, "eve", "viewer", &[]), token(&caqtus, "old", "viewer", &["--expires", "6s"])];
    let served = Served::start_with(&caqtus, &["--listen", "0.0.0.0:0"]);
    let streams = tokens.map(|secret| {
        let mut stream = served.connect();
        let head = format!("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {secret}\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("sent");
        stream.set_read_timeout(Some(std::time::Duration::from_secs(30))).expect("a time limit");
        let mut first = [0; 12];
        stream.read_exact(&mut first).expect("an answer");
        assert_eq!(&first, b"HTTP/1.1 200");
        stream
    });
    succeed(&caqtus, 0, &["token", "revoke", "eve"]);
    for mut stream in streams {
        let mut rest = String::new();
        stream.read_to_string(&mut rest).expect("the stream ends");
        assert!(rest.contains("event: hello"), "{rest}");
    }
    served.stop();
}

#[test]
fn behind_tls_no_cookie_is_sent_in_the_open() {
    let caqtus = Caqtus::new();
    let secret = token(&caqtus, "eve", "viewer", &[]);
    let entered = |words: &[&str]| {
        let served = Served::start_with(&caqtus, words);
        let form = [("Content-Type", "application/x-www-form-urlencoded")];
        let entered = served.send("POST", "/login", &form, &format!("token={secret}"));
        let cookies: Vec<String> =
            entered.headers.into_iter().filter(|(name, _)| name == "set-cookie").map(|c| c.1).collect();
        assert!(cookies.len() > 1, "{cookies:?}");
        served.stop();
        cookies
    };
    let public = ["--listen", "127.0.0.1:0", "--require-tokens", "--public-url", "https://caqtus.example"];
    assert!(entered(&public).iter().all(|cookie| cookie.contains("; Secure")));
    assert!(entered(&public[..3]).iter().all(|cookie| !cookie.contains("Secure")));
}

#[test]
fn secrets_are_in_no_log() {
    let caqtus = Caqtus::new();
    let secret = token(&caqtus, "eve", "viewer", &[]);
    let served = Served::start_with(&caqtus, &["--listen", "0.0.0.0:0", "--log-format", "json"]);
    let headers = [("Authorization", format!("Bearer {secret}")), ("Cookie", format!("caqtus_token={secret}"))];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let answer = served.send("GET", "/api/v1/classes?q=needle", &headers, "");
    let id = answer.header("x-request-id").expect("a name").to_owned();
    served.stop();
    let log = std::fs::read_to_string(caqtus.path("service.log")).expect("a log");
    let line = log.lines().find(|line| line.contains(&id)).expect("the request has a line");
    let line: Value = serde_json::from_str(line).expect("JSON");
    assert_eq!((&line["status"], &line["span"]["route"]), (&json!(200), &json!("/api/v1/classes")), "{line}");
    let part = &secret[secret.len() - 20..];
    assert!(!log.contains(part) && !log.contains("needle"), "{log}");
}
