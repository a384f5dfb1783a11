//! A worker process: starting it, asking it, and saying how it died.

use std::io::Read as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use prover::wire::{Answer, FrameError, Request, read_frame, write_frame};

use crate::args::WorkerArgs;
use crate::clock;

/// Bytes of a worker's dying words that are kept.
const WORDS_BYTES_MAX: usize = 2048;

/// The process of a worker, where it can be killed from another thread.
#[derive(Clone, Default)]
pub(crate) struct Slot(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    child: Option<Child>,
    closed: bool,
}

impl Slot {
    /// Kills the process and lets no other take its place.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.kill();
    }

    /// Whether it was closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Kills the process; how it ended, which may have been earlier and by itself.
    fn kill(&self) -> Option<ExitStatus> {
        let mut child = self.lock().child.take()?;
        let _ = child.kill();
        child.wait().ok()
    }
}

/// A worker, restarted as needed.
pub(crate) struct Worker {
    slot: Slot,
    args: WorkerArgs,
    pipes: Option<Pipes>,
}

struct Pipes {
    requests: ChildStdin,
    answers: Receiver<Result<Answer, FrameError>>,
    words: JoinHandle<String>,
}

impl Worker {
    /// A worker that is started when it is first asked.
    pub(crate) fn new(slot: Slot, args: WorkerArgs) -> Self {
        Self { slot, args, pipes: None }
    }

    /// What the worker answers; unknown if it does not, and then its process is gone.
    pub(crate) fn ask(&mut self, request: &Request) -> Answer {
        let start = clock::now();
        let mut answer = self.ask_untimed(request);
        if answer.ms == 0.0 {
            answer.ms = clock::ms_since(start);
        }
        answer
    }

    fn ask_untimed(&mut self, request: &Request) -> Answer {
        let mut written = match &mut self.pipes {
            Some(pipes) => write_frame(&mut pipes.requests, request),
            None => Err(std::io::Error::from(std::io::ErrorKind::NotConnected).into()),
        };
        // A process that died since its last answer did not die of this pair.
        if matches!(written, Err(FrameError::Io(_))) {
            self.end();
            written = match self.start() {
                Ok(pipes) => write_frame(&mut self.pipes.insert(pipes).requests, request),
                Err(error) => return Answer::crashed(&request.id, &format!("no worker process: {error}")),
            };
        }
        match written {
            Err(error @ FrameError::TooLong(_)) => Answer::unknown(&request.id, format!("limit reached: {error}")),
            // A pipe that broke again shows as the end of the answers.
            _ => self.receive(request),
        }
    }

    fn receive(&mut self, request: &Request) -> Answer {
        let Some(pipes) = &self.pipes else { return Answer::crashed(&request.id, "no worker process") };
        match pipes.answers.recv_timeout(self.args.deadline) {
            Ok(Ok(answer)) if answer.id == request.id => answer,
            Ok(answer) => {
                self.end();
                let what = answer.map_or_else(|error| error.to_string(), |a| format!("an answer to `{}`", a.id));
                Answer::crashed(&request.id, &format!("the worker wrote no answer: {what}"))
            }
            Err(RecvTimeoutError::Timeout) => {
                self.end();
                Answer::deadline(&request.id)
            }
            Err(RecvTimeoutError::Disconnected) => {
                let how = self.end();
                // The words of Rust's allocator, and of C++'s.
                if ["memory allocation of", "bad_alloc"].iter().any(|words| how.contains(words)) {
                    let most = self.args.memory.bytes() >> 20;
                    let reason =
                        format!("limit reached: it takes more than {most} MiB of memory (--memory allows more)");
                    return Answer::unknown(&request.id, reason);
                }
                Answer::crashed(&request.id, &how)
            }
        }
    }

    fn start(&self) -> std::io::Result<Pipes> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["serve", "--end-with-input"]);
        command.args(self.args.memory.arguments()).args(self.args.faults.arguments());
        // A backtrace would become part of the reason, whose text must not depend on the environment.
        command.env("RUST_BACKTRACE", "0");
        // A process group of its own keeps Ctrl-C with this process, which then ends its workers itself.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut state = self.slot.lock();
        if state.closed {
            return Err(std::io::Error::other("the work was stopped"));
        }
        let mut child = command.spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        state.child = Some(child);
        let (Some(requests), Some(answers), Some(words)) = pipes else {
            return Err(std::io::Error::other("no pipes"));
        };
        Ok(Pipes { requests, answers: listen(answers), words: std::thread::spawn(move || last_words(words)) })
    }

    /// Ends the process; how it died, for people.
    fn end(&mut self) -> String {
        let status = self.slot.kill();
        let words = self.pipes.take().and_then(|pipes| {
            drop(pipes.requests);
            pipes.words.join().ok()
        });
        let how = match status {
            Some(status) => match (status.signal(), status.code()) {
                (Some(signal), _) => format!("signal {signal}"),
                (None, code) => format!("exit status {}", code.unwrap_or_default()),
            },
            None => "the process is gone".to_owned(),
        };
        match words.filter(|words| !words.is_empty()) {
            Some(words) => format!("{how} ({words})"),
            None => how,
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.end();
    }
}

/// Passes the answers on, so that they can be waited for with a deadline.
fn listen(mut output: ChildStdout) -> Receiver<Result<Answer, FrameError>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        loop {
            let answer = match read_frame(&mut output) {
                // What broke off with the process is no answer: its end says more.
                Ok(None) | Err(FrameError::Io(_)) => return,
                Ok(Some(answer)) => Ok(answer),
                Err(error) => Err(error),
            };
            if sender.send(answer).is_err() {
                return;
            }
        }
    });
    receiver
}

/// The last that the process said on standard error, as one line.
fn last_words(mut stderr: ChildStderr) -> String {
    let mut tail = Vec::new();
    let mut piece = [0; WORDS_BYTES_MAX];
    while let Ok(length @ 1..) = stderr.read(&mut piece) {
        tail.extend_from_slice(&piece[..length]);
        tail.drain(..tail.len().saturating_sub(WORDS_BYTES_MAX));
    }
    let text = String::from_utf8_lossy(&tail);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
