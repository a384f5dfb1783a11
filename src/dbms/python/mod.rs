//! An engine that is a Python module, in a process of its own that reads and answers lines of JSON (`worker.py`).

use super::{Connection, EngineError, ErrorClass, number};
use crate::compare::Row;
use crate::config::{PASSWORD, StatementLimits, scrub_env};
use crate::server::find_program;
use crate::server::private::{CRASH_SIGNALS, cpu_of_tree};
use crate::sql::profile::{Profile, Typing};
use crate::sql::types::{SqlType, Value};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use thiserror::Error;

/// Beyond the engine's own limit for a statement, where it has one: then it does not obey.
const PATIENCE: Duration = Duration::from_secs(3);

/// How long an engine may take to be loaded and to open a database.
const START_MAX: Duration = Duration::from_mins(1);

/// Lines that an engine printed last that are kept, those of a backtrace not counted: what a panic says comes before one.
const WORDS_MAX: usize = 6;

/// How long they may take to arrive once it ended.
const WORDS_PATIENCE: Duration = Duration::from_secs(1);

/// The Python that runs engines.
pub(super) fn program() -> Option<PathBuf> {
    std::env::var_os("CAQTUS_PYTHON").map(PathBuf::from).or_else(|| find_program("python3"))
}

/// Why an engine cannot be started. Each message says what to do next.
#[derive(Debug, Error)]
pub enum PythonError {
    /// There is no Python.
    #[error("{name} runs in Python, and there is no python3 on this machine; install it, or name one in CAQTUS_PYTHON")]
    NoPython {
        /// The engine.
        name: String,
    },
    /// The module does not load.
    #[error("{name} does not start in Python: {message}{}", advice(name, message))]
    Start {
        /// The engine.
        name: String,
        /// What was said.
        message: String,
    },
}

fn advice(name: &str, message: &str) -> String {
    if message.contains("No module named") {
        format!("; run `caqtus dbms install {name}`, or name the directory that has the module, as in {name}:/path")
    } else {
        String::new()
    }
}

#[derive(Serialize)]
struct Request<'a> {
    r#do: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    sql: &'a str,
    /// How many rows are wanted at most; none with 0.
    rows: u64,
}

/// A cell of a row, as the worker writes it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Cell {
    Null,
    Bool(bool),
    Int(i64),
    Text(String),
    Real { real: String },
    Number { number: String },
    Blob { blob: String },
}

impl From<Cell> for Value {
    fn from(cell: Cell) -> Self {
        match cell {
            Cell::Null => Self::Null,
            Cell::Bool(value) => Self::Bool(value),
            Cell::Int(value) => Self::Int(value),
            Cell::Text(text) => Self::Text(text.into_bytes()),
            Cell::Real { real } => real.parse().map_or_else(|_| Self::Text(real.into_bytes()), Self::Real),
            Cell::Number { number: text } => number(&text),
            Cell::Blob { blob } => {
                let digits = blob.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap_or_default());
                Self::Blob(digits.map(|pair| u8::from_str_radix(pair, 16).unwrap_or_default()).collect())
            }
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Answer {
    rows: Vec<Vec<Cell>>,
    too_many: bool,
    types: Option<Vec<Option<SqlType>>>,
    version: String,
    limits: bool,
    typed: bool,
    error: Option<String>,
    code: String,
}

/// An engine in a Python process.
pub struct Python {
    process: Option<Process>,
    module: Option<PathBuf>,
    program: PathBuf,
    profile: Arc<Profile>,
    limits: StatementLimits,
    version: String,
    /// Whether the engine bounds the time of statements itself.
    bounds: bool,
}

/// A running worker.
struct Process {
    child: Child,
    requests: ChildStdin,
    answers: Receiver<String>,
    /// What it printed last: an engine's last words.
    words: Receiver<String>,
}

impl Process {
    fn start(mut command: Command) -> std::io::Result<Self> {
        let mut child =
            command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(requests), Some(output), Some(errors)) = pipes else {
            return Err(std::io::Error::other("a process without pipes"));
        };
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(output).lines().map_while(Result::ok);
            while lines.next().is_some_and(|line| sender.send(line).is_ok()) {}
        });
        let (spoken, words) = channel();
        std::thread::spawn(move || {
            let mut last = VecDeque::new();
            for line in BufReader::new(errors).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).trim_end().to_owned();
                if line.is_empty() || is_frame(&line) {
                    continue;
                }
                last.push_back(line);
                if last.len() > WORDS_MAX {
                    last.pop_front();
                }
            }
            // Nobody may wait for them any more.
            let _ = spoken.send(last.make_contiguous().join("; "));
        });
        Ok(Self { child, requests, answers, words })
    }
}

/// Whether a line is of a backtrace: a frame of Rust (`12: name`, `at file`), of gdb and sanitizers (`#1 …`), of glibc
/// (`lib.so(name+0x1) [0x2]`), of Python's faulthandler (`File "…", line 3 in f`), or what stands around them.
fn is_frame(line: &str) -> bool {
    let line = line.trim_start();
    let numbered = |text: &str, end: &str| {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        digits > 0 && text[digits..].starts_with(end)
    };
    numbered(line, ": ")
        || line.strip_prefix('#').is_some_and(|rest| numbered(rest, " "))
        || line.starts_with("at /")
        || line.starts_with("at ./")
        || line.starts_with("File \"")
        || line.ends_with(']') && line.contains("[0x")
        || ["stack backtrace:", "note: run with `RUST_BACKTRACE", "note: Some details are omitted"]
            .iter()
            .any(|start| line.starts_with(start))
}

impl Process {
    /// Ends it, if it runs, and says how it ended and what it said at last.
    fn end(mut self) -> (Option<ExitStatus>, String) {
        drop(self.requests);
        // With the processes that it may have started.
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.kill();
        (self.child.wait().ok(), self.words.recv_timeout(WORDS_PATIENCE).unwrap_or_default())
    }
}

impl Python {
    /// Starts the engine; `module` is the directory that has it, if it is not where Python looks by itself.
    pub fn start(module: Option<PathBuf>, profile: Arc<Profile>, limits: StatementLimits) -> Result<Self, PythonError> {
        let name = profile.name.clone();
        let Some(program) = program() else { return Err(PythonError::NoPython { name }) };
        if let Some(module) = module.as_ref().filter(|module| !module.is_dir()) {
            let message = format!("No module named so: there is no directory {}", module.display());
            return Err(PythonError::Start { name, message });
        }
        let mut python =
            Self { process: None, module, program, profile, limits, version: String::new(), bounds: false };
        let started = python.ask(&Request { r#do: "hello", sql: "", rows: 0 }, START_MAX).and_then(|hello| {
            (python.version, python.bounds) = (hello.version, hello.limits);
            if python.profile.typing == Typing::Static && !hello.typed {
                let missing = "its types are static, and the profile's source has no types(connection, sql)";
                return Err(EngineError::new(ErrorClass::Semantic, missing));
            }
            python.reset()
        });
        started.map_err(|error| PythonError::Start { name, message: error.message })?;
        Ok(python)
    }

    fn stop(&mut self) {
        self.process.take().map(Process::end);
    }

    fn ask(&mut self, request: &Request, patience: Duration) -> Result<Answer, EngineError> {
        if self.process.is_none() {
            let mut command = Command::new(&self.program);
            command.args(["-c", include_str!("worker.py"), self.profile.python.as_deref().unwrap_or_default()]);
            command.args([self.limits.time_max_ms.to_string(), self.limits.rows_max.to_string()]);
            scrub_env(command.env_remove(PASSWORD));
            if let Some(module) = &self.module {
                command.env("PYTHONPATH", module);
            }
            let failed = |error: std::io::Error| EngineError::new(ErrorClass::ConnectionLost, error.to_string());
            self.process = Some(Process::start(command).map_err(failed)?);
        }
        let Some(process) = self.process.as_mut() else { return Ok(Answer::default()) };
        let mut line = serde_json::to_string(request).unwrap_or_default();
        line.push('\n');
        // A process that has ended is noticed below.
        let _ = process.requests.write_all(line.as_bytes());
        match process.answers.recv_timeout(patience) {
            Ok(line) => self.read(&line),
            Err(RecvTimeoutError::Disconnected) => Err(self.ended()),
            Err(RecvTimeoutError::Timeout) => {
                self.stop();
                let (class, how) = if self.bounds {
                    (ErrorClass::Hang, "the statement went on after its time limit")
                } else {
                    (ErrorClass::Limit, "the statement took too long, and nothing but its process could be stopped")
                };
                Err(EngineError::new(class, how))
            }
        }
    }

    fn read(&mut self, line: &str) -> Result<Answer, EngineError> {
        let answer: Answer = serde_json::from_str(line).map_err(|error| {
            self.stop();
            EngineError::new(ErrorClass::ConnectionLost, format!("an answer that cannot be read: {error}"))
        })?;
        if answer.too_many {
            return Err(EngineError::too_many_rows(self.limits));
        }
        let Some(mut message) = answer.error else { return Ok(answer) };
        let class = self.profile.error_class(&answer.code);
        if class == ErrorClass::Internal {
            // What is left of an engine that has failed inside is not to be trusted.
            let words = self.process.take().map(Process::end).unwrap_or_default().1;
            // A panic says where it was to whoever watches, and only why to whoever called.
            if let Some(place) = words.split("; ").find(|word| word.contains("panicked at")) {
                message = format!("{message}\n{place}");
            }
        }
        Err(EngineError { class, code: answer.code, message })
    }

    /// The process is gone.
    fn ended(&mut self) -> EngineError {
        let (status, words) = self.process.take().map(Process::end).unwrap_or_default();
        let how = format!("{}: {words}", status.map_or_else(String::new, |status| status.to_string()));
        match status.and_then(|status| status.signal()) {
            Some(signal) if !CRASH_SIGNALS.contains(&signal) => EngineError::new(ErrorClass::ConnectionLost, how),
            _ => EngineError::new(ErrorClass::Crash, format!("the engine ended its process: {how}")),
        }
    }

    /// Runs a statement in the database that there is: none after the process was lost.
    fn run(&mut self, r#do: &str, sql: &str, rows: u64) -> Result<Answer, EngineError> {
        if self.process.is_none() {
            return Err(EngineError::new(ErrorClass::ConnectionLost, "the engine's process was stopped"));
        }
        let patience = if self.bounds { PATIENCE } else { Duration::ZERO };
        let patience = Duration::from_millis(self.limits.time_max_ms) + patience;
        self.ask(&Request { r#do, sql, rows }, patience)
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Connection for Python {
    fn version(&self) -> String {
        self.version.clone()
    }

    fn build_id(&self) -> String {
        format!("{} {}", self.profile.name, self.version)
    }

    fn reset(&mut self) -> Result<(), EngineError> {
        let request = Request { r#do: "reset", sql: "", rows: 0 };
        self.ask(&request, START_MAX).map(drop).or_else(|_| {
            // What could not be closed goes with its process.
            self.stop();
            self.ask(&request, START_MAX).map(drop)
        })
    }

    fn execute(&mut self, sql: &str) -> Result<(), EngineError> {
        self.run("run", sql, 0).map(drop)
    }

    fn rows(&mut self, sql: &str) -> Result<Vec<Row>, EngineError> {
        let answer = self.run("run", sql, self.limits.rows_max)?;
        Ok(answer.rows.into_iter().map(|row| row.into_iter().map(Value::from).collect()).collect())
    }

    fn types(&mut self, sql: &str) -> Result<Option<Vec<Option<SqlType>>>, EngineError> {
        match self.profile.typing {
            Typing::Dynamic => Ok(None),
            Typing::Static => self.run("types", sql, 0).map(|answer| answer.types),
        }
    }

    fn server_cpu(&self) -> Option<Duration> {
        self.process.as_ref().map(|process| cpu_of_tree(process.child.id()))
    }
}

#[cfg(test)]
mod tests {
    use super::is_frame;

    #[test]
    fn what_a_panic_says_is_no_frame() {
        for frame in [
            "   0: rust_begin_unwind",
            "             at /rustc/abc/library/std/src/panicking.rs:665:5",
            "             at ./src/lib.rs:1:2",
            "#12 0x00007f in f () from /lib/libc.so.6",
            "/lib/x86_64-linux-gnu/libc.so.6(abort+0x12b) [0x7f1c]",
            "  File \"<string>\", line 43 in run",
            "stack backtrace:",
            "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
        ] {
            assert!(is_frame(frame), "{frame}");
        }
        for word in [
            "thread 'main' panicked at core/vdbe/execute.rs:2312:18:",
            "internal error: entered unreachable code",
            "index out of bounds: the len is 3 but the index is 7",
            "python3: sqlite3.c:1: sqlite3VdbeExec: Assertion `0' failed.",
            "terminate called after throwing an instance of 'std::bad_alloc'",
            "Fatal Python error: Segmentation fault",
            "ERROR: 12 of 14 pages",
        ] {
            assert!(!is_frame(word), "{word}");
        }
    }
}
