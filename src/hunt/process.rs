//! Executor processes: starting them, speaking with them, watching them.

use super::block::block_of;
use super::error::HuntError;
use super::lines::JsonLines;
use super::protocol::{ExecutorConfig, Order, Report};
use super::recorder::{self, Position};
use crate::clock;
use crate::config::{CLOSING_MS, MAKING_READY_MS, PASSWORD, START_MS, password, scrub_env};
use crate::server::private::CRASH_SIGNALS;
use crate::triage::finding::FindingKind;
use std::collections::VecDeque;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, watch};

/// What an executor's task tells the hunt.
pub(super) enum Event {
    /// It reported.
    Report(usize, Report),
    /// The process ended, by itself or because it stood still.
    Ended(usize, End),
    /// A case that ended an executor was run again.
    Examined(Result<super::postmortem::Examined, HuntError>),
    /// What broke the engine while it was made ready was run again.
    Confirmed(Result<super::breakage::Confirmed, HuntError>),
    /// A known bug was looked at; it is gone.
    Looked(Option<super::gone::Gone>),
    /// Something that the user should see happened beside the hunt.
    Note(String),
    /// A server that ended is back, or is not waited for any longer.
    Recovered(Result<super::outage::Recovery, HuntError>),
}

/// How an executor ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It had nothing left to do.
    Closed,
    /// By itself, with work left.
    Crashed,
    /// It stood still and was killed.
    Hung,
}

/// How a process broke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// A crash or a hang.
    pub kind: FindingKind,
    /// In words.
    pub how: String,
}

impl Broken {
    /// It ended by itself, in a way that it should not.
    pub fn exit(how: &str) -> Self {
        Self { kind: FindingKind::Crash, how: how.to_owned() }
    }
}

/// Runs a command; its output, or the way it failed to end.
pub async fn watch(mut command: Command, limit: Duration) -> Result<Result<Vec<u8>, Broken>, HuntError> {
    // The process ends when its input closes, so it cannot outlive this one; Ctrl-C is not meant for it.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let process_error = |source| HuntError::Io { what: "a replay process".to_owned(), source };
    let mut child = command.spawn().map_err(process_error)?;
    let _input = child.stdin.take();
    match tokio::time::timeout(limit, child.wait_with_output()).await {
        Err(_) => {
            let how = format!("it did not come to an end within {} s", limit.as_secs_f64().ceil());
            Ok(Err(Broken { kind: FindingKind::Hang, how }))
        }
        Ok(output) => {
            let output = output.map_err(process_error)?;
            let crashed = output.status.signal().is_some_and(|signal| CRASH_SIGNALS.contains(&signal));
            let how = output.status.to_string();
            Ok(if crashed { Err(Broken { kind: FindingKind::Crash, how }) } else { Ok(output.stdout) })
        }
    }
}

/// Runs a command that notes its progress in a recorder; its output, or the way it failed to end: a crash, or no progress
/// for as long as the limit says.
pub async fn watch_progress(
    mut command: Command,
    path: &Path,
    limit: Duration,
) -> Result<Result<Output, Broken>, HuntError> {
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let process_error = |source| HuntError::Io { what: "a process".to_owned(), source };
    let mut child = command.spawn().map_err(process_error)?;
    let _input = child.stdin.take();
    let output = child.wait_with_output();
    tokio::pin!(output);
    let mut look = tokio::time::interval(Duration::from_millis(100));
    let mut last: (Option<Position>, Instant) = (None, clock::now());
    let output = loop {
        tokio::select! {
            output = &mut output => break output.map_err(process_error)?,
            _ = look.tick() => {
                let position = recorder::read(path).ok().flatten();
                if position != last.0 {
                    last = (position, clock::now());
                } else if last.1.elapsed() > limit {
                    let how = format!("it stood still for {} s", limit.as_secs());
                    return Ok(Err(Broken { kind: FindingKind::Hang, how }));
                }
            }
        }
    };
    let crashed = output.status.signal().is_some_and(|signal| CRASH_SIGNALS.contains(&signal));
    let how = output.status.to_string();
    Ok(if crashed { Err(Broken { kind: FindingKind::Crash, how }) } else { Ok(output) })
}

/// This program, to be started again.
pub fn own_program() -> Result<Command, HuntError> {
    let path = std::env::current_exe().map_err(|source| HuntError::Io { what: "this program".to_owned(), source })?;
    let mut command = Command::new(path);
    scrub_env(command.as_std_mut());
    // What executes needs it.
    if let Some(password) = password() {
        command.env(PASSWORD, password);
    }
    Ok(command)
}

/// An executor process and its pipes.
pub(super) struct Process {
    child: Child,
    lines: JsonLines,
}

impl Process {
    /// Starts an executor.
    pub(super) fn start(config: &ExecutorConfig) -> Result<Self, HuntError> {
        let process_error = |source| HuntError::Io { what: "an executor process".to_owned(), source };
        let json = serde_json::to_string(config).map_err(io::Error::other).map_err(process_error)?;
        let mut command = own_program()?;
        command.arg("execute").arg("--config").arg(json);
        // A process group of its own keeps Ctrl-C with the supervisor, which then stops executors in order.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().map_err(process_error)?;
        let lines = JsonLines::new(&mut child).map_err(process_error)?;
        Ok(Self { child, lines })
    }

    /// Sends an order; a broken pipe shows as the end of the reports.
    pub(super) async fn send(&mut self, order: &Order) {
        let _ = self.lines.send(order).await;
    }

    /// Lets it close its engine, and ends it if that takes too long. What it still says of what it did is heard.
    async fn end(&mut self, ready: bool, mut hear: impl FnMut(Report)) {
        self.lines.close();
        let ending = async {
            while let Some(report) = self.next().await {
                if matches!(report, Report::Found(_) | Report::Used { .. }) {
                    hear(report);
                }
            }
            self.child.wait().await
        };
        let patience = Duration::from_millis(2 * CLOSING_MS + if ready { 0 } else { MAKING_READY_MS });
        if tokio::time::timeout(patience, ending).await.is_err() {
            let _ = self.child.kill().await;
        }
    }

    /// The next report; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Report> {
        loop {
            // What an engine writes to its standard output is no report.
            let line = self.lines.next_line().await.ok()??;
            if let Ok(report) = serde_json::from_str(&line) {
                return Some(report);
            }
        }
    }
}

/// Serves one executor: passes orders in, reports out, and kills it when it stands still.
pub(super) async fn monitor_worker(
    id: usize,
    mut process: Process,
    mut orders: mpsc::UnboundedReceiver<Order>,
    recorder: PathBuf,
    hang_after: Duration,
    events: mpsc::UnboundedSender<Event>,
    mut hurry: watch::Receiver<bool>,
) {
    let mut look = tokio::time::interval(hang_after / 20);
    let mut last: (Option<Position>, Instant) = (None, clock::now());
    let mut outstanding: VecDeque<Order> = VecDeque::new();
    let (mut open, mut ready) = (true, false);
    let hear = |report| {
        // Without anybody who listens nothing counts.
        let _ = events.send(Event::Report(id, report));
    };
    let mut limit = Duration::from_millis(START_MS);
    let end = loop {
        tokio::select! {
            order = orders.recv(), if open => {
                let Some(order) = order else {
                    // Nobody wants more from this executor, and it has nothing left to do.
                    open = false;
                    if outstanding.is_empty() {
                        process.end(ready, hear).await;
                        break End::Closed;
                    }
                    continue;
                };
                outstanding.push_back(order);
                last.1 = clock::now();
                process.send(&order).await;
            }
            _ = hurry.changed() => {
                process.end(ready, hear).await;
                break End::Closed;
            }
            report = process.next() => {
                let Some(report) = report else {
                    let status = process.child.wait().await;
                    let clean = status.is_ok_and(|s| s.success());
                    // One whose time is up leaves work behind.
                    break if clean { End::Closed } else { End::Crashed };
                };
                if let (Report::Ran { block, next, .. }, Some(Order::Run { block: of, end, .. })) = (&report, outstanding.front())
                    && block_of(*block) == block_of(*of)
                    && next >= end
                {
                    outstanding.pop_front();
                }
                if matches!(report, Report::Ready { .. }) {
                    ready = true;
                    limit = hang_after;
                }
                last.1 = clock::now();
                if events.send(Event::Report(id, report)).is_err() {
                    break End::Closed;
                }
            }
            _ = look.tick() => {
                let position = recorder::read(&recorder).ok().flatten();
                if position != last.0 {
                    last = (position, clock::now());
                } else if last.1.elapsed() > limit && (!outstanding.is_empty() || !ready) {
                    let _ = process.child.kill().await;
                    break End::Hung;
                }
            }
        }
    };
    let _ = events.send(Event::Ended(id, end));
}
