//! Questions to the prover while a finding is made smaller. It links Z3, so it runs in a process of its own, which goes on
//! from question to question.

use crate::config::{PROVER_MEMORY_MIB, scrub_env};
use prover::Pair;
use prover::ir::Assumption;
use prover::wire::{Answer, Outcome, Request, Task, read_frame, write_frame};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// The prover's program.
pub const PROGRAM: &str = "caqtus-prover";

/// How much longer a debug build takes.
const SLOWNESS: u64 = if cfg!(debug_assertions) { 10 } else { 1 };

/// How long it may think about one question, in milliseconds. What it can prove takes it some 40 on a machine at rest.
const DEADLINE_MS: u64 = 1_000 * SLOWNESS;

/// The same for the first question of a process, before which it starts.
const FIRST_DEADLINE_MS: u64 = 5_000 * SLOWNESS;

/// The prover's program, beside this one or in the path.
pub fn find() -> Option<PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.to_path_buf()));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut dirs = beside.into_iter().chain(std::env::split_paths(&path));
    dirs.find_map(|dir| Some(dir.join(PROGRAM)).filter(|program| program.is_file()))
}

/// What starts a prover that answers in frames ([`prover::wire`]) and ends with whoever asks it.
pub fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(["serve", "--end-with-input", &format!("--memory={PROVER_MEMORY_MIB}")]);
    scrub_env(&mut command);
    command
}

/// A prover that is asked.
#[derive(Debug, Default)]
pub(super) struct Prover {
    program: Option<PathBuf>,
    process: Option<Process>,
    asked: u64,
}

/// A process, whose answers come in the order of the questions.
#[derive(Debug)]
struct Process {
    child: Child,
    input: ChildStdin,
    answers: Receiver<Answer>,
}

impl Prover {
    /// The one that is beside this program or in the path; without it nothing is proven.
    pub(super) fn here() -> Self {
        Self { program: find(), ..Self::default() }
    }

    /// Whether it calls the queries of a question, a line of a file of pairs, equivalent, and takes no more for granted than
    /// what is guaranteed. One that does not answer does not.
    pub(super) fn proves(&mut self, question: &str, guarantees: &BTreeSet<Assumption>) -> bool {
        let Ok(pair) = serde_json::from_str::<Pair>(question) else { return false };
        self.asked += 1;
        let id = self.asked.to_string();
        let request = Request { id: id.clone(), pair, limits: None, task: Task::Decide, certificate: false };
        let (process, deadline) = match self.process.take() {
            Some(process) => (Some(process), DEADLINE_MS),
            None => (self.start(), FIRST_DEADLINE_MS),
        };
        let Some(mut process) = process else { return false };
        let answer = process.ask(&request, Duration::from_millis(deadline));
        // A process that is late or broken ends here; the next question has a new one.
        let Some(answer) = answer.filter(|answer| answer.id == id) else { return false };
        self.process = Some(process);
        answer.verdict == Outcome::Proven && answer.assumptions.is_subset(guarantees)
    }

    /// Whether there is one.
    pub(super) fn is_here(&self) -> bool {
        self.program.is_some()
    }

    fn start(&self) -> Option<Process> {
        let mut command = command(self.program.as_ref()?);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let (input, mut output) = (child.stdin.take()?, child.stdout.take()?);
        let (sender, answers) = mpsc::channel();
        std::thread::spawn(move || {
            while let Ok(Some(answer)) = read_frame(&mut output) {
                if sender.send(answer).is_err() {
                    break;
                }
            }
        });
        Some(Process { child, input, answers })
    }
}

impl Process {
    fn ask(&mut self, request: &Request, deadline: Duration) -> Option<Answer> {
        write_frame(&mut self.input, request).ok()?;
        self.answers.recv_timeout(deadline).ok()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
