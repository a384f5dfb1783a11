//! The contract with people and with other tools: exit codes, messages, JSON.

use crate::support::Caqtus;

#[test]
fn the_summary_has_every_field_that_tools_rely_on() {
    let caqtus = Caqtus::new();
    let (code, json) = caqtus.hunt(&["--cases", "500", "--seed", "2", "--class", "tlp-*", "--out", "out"]);
    assert_eq!(code, 0);
    for field in ["dbms", "version"] {
        assert!(json[field].is_string(), "{field}: {json}");
    }
    for field in [
        "seed",
        "seconds",
        "cpu_seconds",
        "cases",
        "statements",
        "cases_per_cpu_second",
        "engine_share",
        "failures_share",
    ] {
        assert!(json[field].is_number(), "{field}: {json}");
    }
    for field in ["pass", "skipped", "warning", "fail"] {
        assert!(json["outcomes"][field].is_u64(), "{field}: {json}");
    }
    for field in ["findings", "bugs"] {
        assert!(json[field].is_array(), "{field}: {json}");
    }
    assert_eq!(json["cases"], 500);
    let (_, json) = caqtus.hunt(&["--dbms", "planted:drop-row", "--cases", "500", "--seed", "2", "--out", "planted"]);
    for field in ["id", "kind", "oracle", "class", "dir"] {
        assert!(json["findings"][0][field].is_string(), "{field}: {json}");
    }
    let bug = &json["bugs"][0];
    for field in ["id", "kind", "cause", "fingerprint", "script", "dir", "first_seen", "last_seen"] {
        assert!(bug[field].is_string(), "{field}: {json}");
    }
    for list in ["oracles", "classes", "members", "fingerprints"] {
        assert!(bug[list][0].is_string(), "{list}: {json}");
    }
    assert!(bug["findings"].is_u64() && bug["suppressed"].is_null(), "{json}");
}

#[test]
fn errors_say_what_to_do_and_end_with_two() {
    let caqtus = Caqtus::new();
    std::fs::write(caqtus.path("bad.toml"), "[[class]]\nname = \"a\"\nschema = \"CREATE TABLE t1(c0 INT)\"\nmembers = [\"SELECT t1.c9 FROM t1\", \"SELECT 1\"]\n").expect("writes");
    for (words, expected) in [
        (vec!["hunt", "--dbms", "oracle"], "names no target"),
        (vec!["hunt", "--dbms", "sqlite@3.39.2"], "caqtus dbms install sqlite@3.39.2"),
        (vec!["hunt", "--dbms", "sqlite@3.39.1"], "the nearest are"),
        (vec!["hunt", "--dbms", "sqlite:/nowhere.so"], "/nowhere.so cannot be loaded"),
        (vec!["hunt", "--class", "no-such-*"], "caqtus oracle list"),
        (vec!["hunt", "--catalogue", "bad.toml"], "bad.toml, class a, member 1"),
        (vec!["hunt", "--catalogue", "none.toml"], "none.toml"),
        (vec!["hunt", "--resume", "--out", "empty"], "no campaign to resume"),
        (vec!["bug", "show", "abc"], "caqtus bug list"),
        (vec!["bug", "list", "--findings", "none"], "there is no directory none"),
        (vec!["bug", "list", "--findings", "none", "--json"], "there is no directory none"),
        (vec!["bug", "spans", "--findings", "none"], "there is no directory none"),
        (vec!["bug", "show", "abc", "--findings", "."], "caqtus bug list --findings ."),
        (vec!["oracle", "show", "nope"], "caqtus oracle list"),
        (vec!["dbms", "install", "tidb@8"], "named by its URL"),
        (vec!["dbms", "install", "duckdb@1.3.9"], "the nearest are"),
        (vec!["hunt", "--for", "soon"], "no duration"),
    ] {
        let output = caqtus.run(&words);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {stderr}");
        assert!(stderr.contains(expected), "{words:?}: {stderr}");
    }
}

#[test]
fn every_command_explains_itself() {
    let caqtus = Caqtus::new();
    for words in
        [vec!["--help"], vec!["hunt", "--help"], vec!["bug", "--help"], vec!["dbms", "--help"], vec!["case", "--help"]]
    {
        let output = caqtus.run(&words);
        assert!(output.status.success());
        assert!(output.stdout.len() > 300, "{words:?}");
    }
}

#[test]
fn placeholders_are_shown_as_users_write_them() {
    let caqtus = Caqtus::new();
    let classes = "[[class]]\nname = \"own\"\nschema = \"CREATE TABLE t1(c0 INT)\"\n\
        placeholders = { p1 = \"Expr(t1: BOOLEAN)\", v1 = \"Table(c0 INT, c1 TEXT)\" }\n\
        members = [\"SELECT v1.c0 FROM v1, t1 WHERE t1.p1\", \"SELECT v1.c0 FROM t1, v1 WHERE t1.p1\"]\n";
    std::fs::write(caqtus.path("own.toml"), classes).expect("writes");
    let output = caqtus.run(&["oracle", "show", "own", "--catalogue", "own.toml"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for line in
        ["placeholder p1: Expr(t1: BOOLEAN), only its truth value is used", "placeholder v1: Table(c0 INT, c1 TEXT)"]
    {
        assert!(text.lines().any(|shown| shown.starts_with(line)), "{line}: {text}");
    }
}
