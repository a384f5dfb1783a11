//! Running the program as a user does, each time with data and findings of its own.

pub(crate) mod browser;
pub(crate) mod engines;
pub(crate) mod model_server;
pub(crate) mod service;

use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A scratch directory with the program's data in it.
pub(crate) struct Caqtus {
    pub(crate) dir: TempDir,
}

impl Caqtus {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a scratch directory");
        // Started by root, the private store's server runs as somebody else, who must be able to reach it.
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(dir.path(), open).expect("its permissions can be set");
        Self { dir }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The program with some words, not yet started.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_caqtus"));
        command.args(words).env("CAQTUS_DATA", self.path("data")).current_dir(self.dir.path());
        // Whatever the machine has set, each test has a store of its own.
        command.env_remove("DATABASE_URL").env_remove("CAQTUS_PROVER");
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("the program starts")
    }

    /// Runs a hunt with `--json` and returns its exit code and the object on its last line.
    pub(crate) fn hunt(&self, words: &[&str]) -> (i32, Value) {
        let mut all = vec!["hunt", "--json", "--quiet"];
        all.extend(words);
        let output = self.run(&all);
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let last = stdout.lines().last().unwrap_or_default();
        let json = serde_json::from_str(last)
            .unwrap_or_else(|e| panic!("{e}: {stdout} {}", String::from_utf8_lossy(&output.stderr)));
        (output.status.code().expect("an exit code"), json)
    }

    /// Hunts with an oracle on a planted fault, and returns the first finding.
    pub(crate) fn planted(&self, fault: &str, oracle: &str, words: &[&str]) -> Planted<'_> {
        let dbms = format!("planted:{fault}");
        let all = ["--dbms", &dbms, "--oracle", oracle, "--seed", "1", "--keep", "1", "--out", fault];
        let (code, json) = self.hunt(&[&all[..], words].concat());
        assert_eq!((code, json["findings"][0]["oracle"].as_str()), (1, Some(oracle)), "{json}");
        let dir = self.path(json["findings"][0]["dir"].as_str().expect("a directory"));
        let case = std::fs::read_to_string(dir.join("case.json")).expect("case.json");
        let script = std::fs::read_to_string(dir.join("repro.sql")).expect("repro.sql");
        Planted { caqtus: self, out: fault.to_owned(), case: serde_json::from_str(&case).expect("JSON"), script }
    }
}

/// What a hunt found on a planted fault.
pub(crate) struct Planted<'a> {
    caqtus: &'a Caqtus,
    /// Where it is kept.
    out: String,
    /// Its `case.json`.
    pub(crate) case: Value,
    /// Its `repro.sql`.
    pub(crate) script: String,
}

impl Planted<'_> {
    /// Replays it: it must show where the fault is planted, and nowhere else.
    pub(crate) fn shows_there_alone(&self) {
        let id = self.case["id"].as_str().expect("an id");
        let words = ["bug", "replay", id, "--findings", &self.out];
        let shows = self.caqtus.run(&words);
        assert_eq!(shows.status.code(), Some(1), "{}", String::from_utf8_lossy(&shows.stdout));
        let agrees = self.caqtus.run(&[&words[..], &["--dbms", "sqlite"]].concat());
        assert_eq!(agrees.status.code(), Some(0), "{}", String::from_utf8_lossy(&agrees.stdout));
    }
}

/// Runs the program and returns what it prints; it must end with this code.
pub(crate) fn succeed(caqtus: &Caqtus, code: i32, words: &[&str]) -> String {
    let output = caqtus.run(words);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{words:?}: {text}{said}");
    text
}

/// The object on the last line.
pub(crate) fn last_json(text: &str) -> Value {
    serde_json::from_str(text.lines().last().unwrap_or_default()).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// Sends a signal to a process.
pub(crate) fn kill(signal: &str, pid: u32) {
    let status = Command::new("kill").arg(signal).arg(pid.to_string()).status().expect("kill runs");
    assert!(status.success());
}

/// Processes whose command line names a path.
pub(crate) fn processes_naming(path: &Path) -> Vec<u32> {
    let needle = path.display().to_string();
    let entries = std::fs::read_dir("/proc").expect("procfs");
    entries
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            *pid != std::process::id() && String::from_utf8_lossy(&line).contains(&needle)
        })
        .collect()
}

/// Waits until something holds.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..2400 {
        if holds() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("waited two minutes until {what}");
}
