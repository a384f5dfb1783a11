//! Each script in `tests/known-bugs` says what is so: on the versions at hand that it names, it gives the answer that it
//! states.

use crate::support::Caqtus;
use crate::support::engines::{self, engine, leave_out};
use caqtus::dbms::install::EngineStore;
use caqtus::dbms::target::Target;
use caqtus::server::mysql::Programs;
use caqtus::triage::script::{EXTENSION, Script, Versions};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// What a header has, in this order; the others are left out where there is nothing to say.
const KEYS: [&str; 13] = [
    "title", "engine", "status", "found", "wrong", "right", "newest", "cause", "cure", "crash", "must-be", "upstream",
    "note",
];
const OPTIONAL: [&str; 2] = ["crash", "note"];

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/known-bugs")
}

/// The scripts by their names.
fn scripts() -> BTreeMap<String, Script> {
    let files = fs::read_dir(directory()).expect("the directory").map(|entry| entry.expect("an entry").path());
    let scripts = files.filter(|path| path.extension().is_some_and(|end| end == EXTENSION)).map(|path| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        (name, Script::read(&path).unwrap_or_else(|error| panic!("{error}")))
    });
    scripts.collect()
}

/// The versions of each engine that scripts were run on.
fn tried() -> BTreeMap<String, Vec<String>> {
    let text = fs::read_to_string(directory().join("versions.toml")).expect("the versions");
    toml::from_str(&text).expect("lists of versions")
}

/// What a script says of a version: the state that a replay must end with there.
fn stated(script: &Script, version: &str, tried: &[String]) -> Option<&'static str> {
    let named = |key: &str| script.versions(key).expect("versions").contains(version);
    match tried.iter().any(|known| known == version) {
        true if named("wrong") => Some("shows"),
        true if named("right") => Some("right"),
        _ => None,
    }
}

#[test]
fn every_script_says_what_it_must() {
    let (scripts, tried) = (scripts(), tried());
    assert!(scripts.len() >= 75, "{} scripts", scripts.len());
    for (name, script) in &scripts {
        let engine = script.engine();
        assert!(name.starts_with(&format!("{engine}-")), "{name}: the engine is {engine}");
        assert!(engine.parse::<Target>().is_ok(), "{name}: {engine}");
        let keys: Vec<&str> = script.header.iter().map(|(key, _)| key.as_str()).collect();
        let must = KEYS.into_iter().filter(|key| keys.contains(key) || !OPTIONAL.contains(key));
        assert_eq!(keys, must.collect::<Vec<_>>(), "{name}: the keys of its header");
        let tried = &tried[engine];
        let known = |versions: &Versions| {
            let unknown = versions.ends().find(|end| !tried.iter().any(|version| version == end));
            assert_eq!(unknown, None, "{name}: versions.toml does not have it");
        };
        let (wrong, right) = (script.versions("wrong").expect("read"), script.versions("right").expect("read"));
        known(&wrong);
        known(&right);
        for versions in
            script.blocks.iter().flat_map(|block| &block.actual).filter_map(|(versions, _)| versions.as_ref())
        {
            known(versions);
            assert!(versions.ends().all(|end| wrong.contains(end)), "{name}: an answer on versions that are not wrong");
        }
        let newest = script.get("newest").expect("a version").split(" (").next().unwrap_or_default();
        let (newest, is) = newest.split_once(", ").unwrap_or_else(|| panic!("{name}: newest: {newest}"));
        let state = stated(script, newest, tried);
        assert_eq!(state, Some(if is == "wrong" { "shows" } else { is }), "{name}: {newest} is {is}");
        match script.get("status").expect("a status") {
            "open" | "doubtful" => assert_eq!(is, "wrong", "{name}: the newest version"),
            status => {
                let fixed = status.strip_prefix("fixed in ").unwrap_or_else(|| panic!("{name}: status {status}"));
                assert!(right.contains(fixed), "{name}: fixed in {fixed}");
            }
        }
    }
}

/// With `CAQTUS_BLESS=1` the index is written, and not compared.
#[test]
fn the_index_lists_every_script() {
    let mut index =
        "| script | engine | status | wrong | newest tried | cause |\n|---|---|---|---|---|---|\n".to_owned();
    for (name, script) in scripts() {
        let cells = ["engine", "status", "wrong", "newest", "cause"].map(|key| script.get(key).unwrap_or_default());
        let _ = writeln!(index, "| [{name}]({name}.{EXTENSION}) | {} |", cells.join(" | "));
    }
    let path = directory().join("README.md");
    let readme = fs::read_to_string(&path).expect("reads");
    let (text, written) = readme.split_at(readme.find("| script |").expect("an index"));
    if std::env::var_os("CAQTUS_BLESS").is_some() {
        fs::write(&path, format!("{text}{index}")).expect("writes");
    } else {
        assert_eq!(written, index, "CAQTUS_BLESS=1 writes the index of {}", path.display());
    }
}

/// Replays an engine's scripts on these targets, and on the versions that are installed for tests beside them.
fn replay(engine: &str, targets: impl IntoIterator<Item = String>) {
    let (scripts, tried) = (scripts(), tried());
    let names: Vec<&String> = scripts.keys().filter(|name| scripts[*name].engine() == engine).collect();
    let files: Vec<String> =
        names.iter().map(|name| directory().join(name).with_extension(EXTENSION).display().to_string()).collect();
    let store = EngineStore::new(&engines::data_dir());
    let path = |version: &String| store.installed(engine, version).expect("it is installed");
    let installed =
        store.versions(engine).iter().map(|v| format!("{engine}:{}", path(v).display())).collect::<Vec<_>>();
    let targets: BTreeSet<String> =
        targets.into_iter().chain(installed).map(|target| target.trim_end_matches('/').to_owned()).collect();
    let caqtus = Caqtus::new();
    let mut left: BTreeSet<&String> = names.iter().copied().collect();
    let mut otherwise = Vec::new();
    for target in targets {
        let mut words = vec!["bug", "replay", "--json", "--dbms", &target];
        words.extend(files.iter().map(String::as_str));
        let output = caqtus.run(&words);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(lines.len(), names.len(), "{target}: {said}{}", String::from_utf8_lossy(&output.stderr));
        for (name, line) in names.iter().zip(&lines) {
            let version = line["version"].as_str().expect("a version");
            let Some(state) = stated(&scripts[*name], version, &tried[engine]) else { continue };
            left.remove(*name);
            if line["state"] != state {
                otherwise.push(format!("{name} on {target}: {state} is stated, and this came: {line}"));
            }
        }
    }
    assert!(otherwise.is_empty(), "{}", otherwise.join("\n"));
    if !left.is_empty() {
        let list = left.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
        leave_out(&format!("{} known bugs, as no version at hand is one that they name: {list}", left.len()));
    }
}

#[test]
fn on_sqlite() {
    replay("sqlite", ["sqlite".to_owned()]);
}

#[test]
fn on_duckdb() {
    replay("duckdb", engines::duckdb());
}

#[test]
fn on_postgres() {
    replay("postgres", ["postgres@15.18", "postgres@18.4"].into_iter().filter_map(engine));
}

#[test]
fn on_mariadb() {
    let of_the_machine = Programs::found().is_ok().then(|| "mariadb".to_owned());
    replay("mariadb", of_the_machine.into_iter().chain(engine("mariadb@10.11.5")));
}

// The others are not fetched for this: `caqtus dbms install` gets them into `target/tmp/engines`.

#[test]
fn on_mysql() {
    replay("mysql", []);
}

#[test]
fn on_turso() {
    replay("turso", []);
}

#[test]
fn on_datafusion() {
    replay("datafusion", []);
}

const HEADER: &str = "# title: made for a test\n# engine: sqlite\n# wrong: 3.0 to 4.0\n# right: 5.0\n\n\
    statement ok\nCREATE TABLE t(a)\n\nstatement ok\nINSERT INTO t VALUES (1), (2)\n\n";

/// Replays scripts of these last blocks; the exit status and what was said of each.
fn replay_blocks(target: &str, blocks: &[&str]) -> (Option<i32>, Vec<Value>) {
    let caqtus = Caqtus::new();
    let files: Vec<String> = (0..blocks.len()).map(|at| format!("{at}.{EXTENSION}")).collect();
    for (file, block) in files.iter().zip(blocks) {
        fs::write(caqtus.path(file), format!("{HEADER}{block}")).expect("writes");
    }
    let mut words = vec!["bug", "replay", "--json", "--dbms", target];
    words.extend(files.iter().map(String::as_str));
    let output = caqtus.run(&words);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect())
}

/// What the planted faults show for: they go by a query's text.
const FILTERED: &str = "query\nSELECT a FROM t WHERE a < 3\n---- expected\n1\n2\n---- actual\n1\n";
const CRASHES: &str = "query\nSELECT a FROM t WHERE a < 27\n---- expected\n1\n2\n---- actual\ncrash: SIGABRT\n";

#[test]
fn a_replay_tells_answers_apart() {
    let other = FILTERED.replace("---- actual\n1\n", "---- actual\n2\n");
    let void = FILTERED.replace("WHERE a", "WHERE b");
    let cases = [
        ("planted:drop-row", FILTERED, 1, "shows"),
        ("planted:none", FILTERED, 0, "right"),
        ("planted:drop-row", &other, 3, "other"),
        ("planted:none", &void, 3, "void"),
    ];
    for (target, block, code, state) in cases {
        let (status, lines) = replay_blocks(target, &[block]);
        assert_eq!((status, lines[0]["state"].as_str()), (Some(code), Some(state)), "{target} {block}: {lines:?}");
    }
    let (_, lines) = replay_blocks("planted:drop-row", &[&other]);
    assert_eq!((lines[0]["line"].as_u64(), lines[0]["gave"][0].as_str()), (Some(12), Some("1")), "{lines:?}");
}

#[test]
fn a_script_that_ends_the_process_costs_no_other() {
    let blocks = [FILTERED, CRASHES, CRASHES, FILTERED];
    for (target, states) in [
        ("planted:crash", ["right", "shows", "shows", "right"]),
        ("planted:none", ["right", "right", "right", "right"]),
    ] {
        let (status, lines) = replay_blocks(target, &blocks);
        let seen: Vec<&str> = lines.iter().filter_map(|line| line["state"].as_str()).collect();
        assert_eq!(seen, states, "{target}: {lines:?}");
        assert_eq!(status, Some(i32::from(states.contains(&"shows"))));
    }
}

#[test]
fn what_is_no_script_is_refused_before_anything_runs() {
    let caqtus = Caqtus::new();
    let mistake = format!("{HEADER}query\nSELECT 1\n----\none\n");
    let foreign = format!("{HEADER}{FILTERED}").replace("engine: sqlite", "engine: duckdb");
    for (name, text, said) in [
        ("mistake.slt", mistake.as_str(), "mistake.slt:15: `one` is no row of values"),
        ("foreign.slt", &foreign, "foreign.slt is about duckdb, and sqlite is none"),
    ] {
        fs::write(caqtus.path(name), text).expect("writes");
        let output = caqtus.run(&["bug", "replay", name, "--dbms", "sqlite"]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && error.contains(said), "{error}");
    }
    let output = caqtus.run(&["bug", "replay", "missing.slt"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot read missing.slt"));
}
