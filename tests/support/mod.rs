//! Running the program as a user does, each time with data and findings of its own.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A scratch directory with the program's data in it.
pub struct Caqtus {
    pub dir: TempDir,
}

impl Caqtus {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a scratch directory") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The program with some words, not yet started.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_caqtus"));
        command.args(words).env("CAQTUS_DATA", self.path("data")).current_dir(self.dir.path());
        command
    }

    pub fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("the program starts")
    }

    /// Runs a hunt with `--json` and returns its exit code and the object on its last line.
    pub fn hunt(&self, words: &[&str]) -> (i32, Value) {
        let mut all = vec!["hunt", "--json", "--quiet"];
        all.extend(words);
        let output = self.run(&all);
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let last = stdout.lines().last().unwrap_or_default();
        let json = serde_json::from_str(last)
            .unwrap_or_else(|e| panic!("{e}: {stdout} {}", String::from_utf8_lossy(&output.stderr)));
        (output.status.code().expect("an exit code"), json)
    }
}

/// Processes whose command line names a path.
pub fn processes_naming(path: &Path) -> Vec<u32> {
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
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..2400 {
        if holds() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("waited two minutes until {what}");
}
