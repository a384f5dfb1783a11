//! A finding is bisected over builds of the user's own, and by `git bisect run`: what cannot be opened, does not take the
//! finding's queries or fails in another way is never taken for good, nor for bad.

use crate::service_groups_bugs::finding;
use crate::support::{Caqtus, last_json, succeed};
use caqtus::catalogue;
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

/// An engine with SQLite's interface that answers every query with 1; and with 2 where it has the bug and the query has a
/// condition.
const ENGINE: &str = r#"
#define _GNU_SOURCE
#include <string.h>
static int query, condition, stepped;
const char *sqlite3_libversion(void) { return VERSION; }
const char *sqlite3_sourceid(void) { return "a build of " VERSION; }
int sqlite3_open_v2(const char *name, void **db, int flags, const char *vfs) { static int it; OPENING *db = &it; return 0; }
int sqlite3_prepare_v2(void *db, const char *sql, int length, void **stmt, const char **tail) {
  static int it;
  *stmt = &it;
  stepped = 0;
  query = length > 6 && !memcmp(sql, "SELECT", 6);
  condition = memmem(sql, length, "WHERE", 5) != 0;
  return query && REFUSES;
}
int sqlite3_step(void *stmt) { if (query) { STEPPING } return query && !stepped++ ? 100 : 101; }
int sqlite3_column_count(void *stmt) { return query; }
int sqlite3_column_type(void *stmt, int at) { return 1; }
long long sqlite3_column_int64(void *stmt, int at) { return condition && BUG ? 2 : 1; }
const char *sqlite3_errmsg(void *db) { return "no such function"; }
int sqlite3_extended_errcode(void *db) { return 1; }
"#;

/// The functions that nothing depends on.
const OTHERS: [&str; 14] = [
    "close",
    "bind_parameter_index",
    "bind_int64",
    "bind_double",
    "bind_text",
    "bind_blob",
    "finalize",
    "column_double",
    "column_text",
    "column_blob",
    "column_bytes",
    "limit",
    "progress_handler",
    "test_control",
];

const CRASH: &str = "*(volatile int *)0 = 1;";

/// Compiles a build of it. What is not named is as in an engine that is right.
pub(crate) fn build(caqtus: &Caqtus, path: &str, version: &str, differs: &[(&str, &str)]) -> String {
    let mut text = ENGINE.to_owned();
    for name in OTHERS {
        text.extend(["void *sqlite3_", name, "(void) { return 0; }\n"]);
    }
    let (source, library) = (caqtus.path("engine.c"), caqtus.path(path));
    fs::write(&source, text).expect("writes");
    fs::create_dir_all(library.parent().expect("a directory")).expect("makes");
    let mut compiler = Command::new("cc");
    compiler.args(["-w", "-shared", "-fPIC", &format!("-DVERSION=\"{version}\""), "-o"]).arg(&library).arg(&source);
    for (name, usual) in [("BUG", "0"), ("REFUSES", "0"), ("OPENING", ""), ("STEPPING", "")] {
        let value = differs.iter().find(|(own, _)| *own == name).map_or(usual, |(_, value)| value);
        compiler.arg(format!("-D{name}={value}"));
    }
    let output = compiler.output().expect("a compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    path.to_owned()
}

/// Writes the finding; its identifier.
fn written(caqtus: &Caqtus) -> String {
    let finding = finding("sqlite", "c", 1);
    finding.write(&caqtus.path("out"), &catalogue::profile("sqlite").expect("shipped")).expect("writes");
    finding.id
}

fn bisected(caqtus: &Caqtus, words: &[&str]) -> Value {
    let id = written(caqtus);
    let all = [&["bug", "bisect", &id, "--findings", "out", "--json", "--builds"], words].concat();
    last_json(&succeed(caqtus, 0, &all))
}

#[test]
fn a_directory_of_builds_is_in_the_order_of_their_versions() {
    let caqtus = Caqtus::new();
    build(&caqtus, "builds/z.so", "3.0.0", &[]);
    // Of one version, in the order of their numbers.
    build(&caqtus, "builds/lib-8.so", "3.1.0", &[]);
    build(&caqtus, "builds/lib-9.so", "3.1.0", &[("BUG", "1")]);
    build(&caqtus, "builds/lib-10.so", "3.1.0", &[("BUG", "1")]);
    build(&caqtus, "builds/b.so.3.2", "3.2.0", &[("REFUSES", "1")]);
    // It fails in another way than the finding.
    build(&caqtus, "builds/c.so", "3.2.1", &[("STEPPING", CRASH)]);
    build(&caqtus, "builds/a.so", "3.10.0", &[]);
    build(&caqtus, "builds/broken.so", "3.1.5", &[("OPENING", CRASH), ("BUG", "1")]);
    fs::write(caqtus.path("builds/notes.txt"), "none").expect("writes");
    std::os::unix::fs::symlink("lib-9.so", caqtus.path("builds/current.so")).expect("links");
    let json = bisected(&caqtus, &["builds"]);
    let expected = [
        ("good_before", "builds/lib-8.so"),
        ("first_bad", "builds/lib-9.so"),
        ("last_bad", "builds/lib-10.so"),
        ("first_good", "builds/a.so"),
    ];
    for (key, name) in expected {
        assert_eq!(json[key], name, "{key}: {json}");
    }
    assert!(!json.to_string().contains("current.so"), "the link and what it leads to are one build: {json}");
    let void = |name: &str| json["seen"].as_array().expect("a list").contains(&json!([name, "void"]));
    assert!(void("builds/b.so.3.2") && void("builds/c.so"), "{json}");
    assert_eq!(json["left_out"].as_array().map(Vec::len), Some(1), "{json}");
    assert_eq!(json["left_out"][0]["build"], "builds/broken.so", "{json}");
}

#[test]
fn builds_that_are_named_are_in_the_order_given() {
    let caqtus = Caqtus::new();
    let [good, bad, broken] = [("2.so", &[][..]), ("1.so", &[("BUG", "1")]), ("3.so", &[("OPENING", CRASH)])]
        .map(|(name, differs)| build(&caqtus, name, "3.0.0", differs));
    let json = bisected(&caqtus, &[&good, &broken, &bad, &broken]);
    assert_eq!((&json["good_before"], &json["first_bad"]), (&"2.so".into(), &"1.so".into()), "{json}");
    assert_eq!(json["first_good"], Value::Null, "what cannot be opened is not good: {json}");
    let id = written(&caqtus);
    let output = caqtus.run(&["bug", "bisect", &id, "--findings", "out", "--builds", &good, &broken]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("none of the 2 builds shows it"), "{said}");
    let output = caqtus.run(&["bug", "bisect", &id, "--findings", "out", "--builds", "out"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("no build of sqlite in out"), "{said}");
}

#[test]
fn git_bisect_run_is_told_good_bad_or_nothing() {
    let caqtus = Caqtus::new();
    let id = written(&caqtus);
    let ends = |id: &str, dbms: &str, flag: &str| {
        let output = caqtus.run(&["bug", "replay", id, "--findings", "out", "--dbms", dbms, flag]);
        output.status.code().unwrap_or_else(|| panic!("{output:?}"))
    };
    let library = |name: &str, differs: &[(&str, &str)]| format!("sqlite:./{}", build(&caqtus, name, "3.0.0", differs));
    for (dbms, bad, fixed) in [
        (library("good.so", &[]), 0, 1),
        (library("bad.so", &[("BUG", "1")]), 1, 0),
        (library("void.so", &[("REFUSES", "1")]), 125, 125),
        (library("crash.so", &[("OPENING", CRASH), ("BUG", "1")]), 125, 125),
        (library("other.so", &[("STEPPING", CRASH)]), 125, 125),
        ("sqlite:./nowhere.so".to_owned(), 125, 125),
    ] {
        assert_eq!(ends(&id, &dbms, "--git-bisect"), bad, "{dbms}");
        assert_eq!(ends(&id, &dbms, "--git-bisect=fix"), fixed, "{dbms}");
    }
    // A mistake in the command is no bad commit.
    let good = library("good.so", &[]);
    assert_eq!(ends("ffffffffffff", &good, "--git-bisect"), 128);
    assert_eq!(ends(&id, &good, "--git-bisect=never"), 128);
    // Without the flag: 3 is void.
    assert_eq!(ends(&id, &library("other.so", &[("STEPPING", CRASH)]), "--json"), 3);
}
