//! A finding run again in a process of its own: with the engine's library loaded afresh, in a new session, on a new server
//! where the server is ours. What a process has run before leaves traces in it that no script repeats.

use super::error::HuntError;
use super::probe::{OPENING, opening_limit};
use super::process::{Broken, own_program};
use crate::config::REPLAY_FACTOR;
use crate::dbms::target::{Target, TargetError};
use crate::server::private::CRASH_SIGNALS;
use crate::triage::finding::{Finding, FindingKind};
use serde::Deserialize;
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::time::timeout;

/// The line that a replay prints when its target is open, before what it found.
pub const OPENED: &str = "opened";

/// The part of a replay's answer that counts in a hunt.
#[derive(Deserialize)]
struct Shown {
    /// What it showed, if it did.
    #[serde(default)]
    kind: Option<FindingKind>,
    /// Whether its queries agree, or something did not run.
    #[serde(default)]
    state: String,
}

/// How a replay ended.
pub enum Replay {
    /// By itself; what the process printed.
    Said(String),
    /// The target broke before it was open, so that nothing of the finding ran.
    Unopened(Broken),
    /// It crashed, or did not come to its end.
    Broke(Broken),
}

/// Runs the finding in a file on a target. The time limit is
/// `hang_after`, times [`REPLAY_FACTOR`], from the moment the target is open: a server may take long to start on a busy
/// machine, and is no finding for that.
pub async fn replay(case: &Path, target: &str, data_dir: &Path, hang_after: Duration) -> Result<Replay, HuntError> {
    let parsed: Target = target.parse().map_err(|error: TargetError| HuntError::Executor(error.to_string()))?;
    let opening = opening_limit(&parsed).map_err(|error| HuntError::Executor(error.to_string()))?;
    let process_error = |source| HuntError::Io { what: "a replay process".to_owned(), source };
    let mut command = own_program()?;
    command.arg("execute").arg("--replay").arg(case).arg("--data-dir").arg(data_dir).arg("--dbms").arg(target);
    // The process ends when its input closes, so it cannot outlive this one; Ctrl-C is not meant for it.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn().map_err(process_error)?;
    let _input = child.stdin.take();
    let Some(output) = child.stdout.take() else { return Err(process_error(io::Error::other("no pipe"))) };
    let mut output = BufReader::new(output);
    let hang = |what: &str, limit: Duration| {
        let how = format!("{what} within {} s", limit.as_secs_f64().ceil());
        Broken { kind: FindingKind::Hang, how }
    };
    let mut said = String::new();
    match timeout(opening, output.read_line(&mut said)).await {
        Err(_) => return Ok(Replay::Unopened(hang("it was not open", opening))),
        Ok(read) => drop(read.map_err(process_error)?),
    }
    let open = said.trim_end() == OPENED;
    let broke = if open { Replay::Broke } else { Replay::Unopened };
    let limit = hang_after * REPLAY_FACTOR;
    let rest = async {
        output.read_to_string(&mut said).await?;
        child.wait().await
    };
    let Ok(status) = timeout(limit, rest).await else {
        return Ok(broke(hang("it did not come to an end", limit)));
    };
    let status = status.map_err(process_error)?;
    let crashed = status.signal().is_some_and(|signal| CRASH_SIGNALS.contains(&signal));
    let how = || Broken { kind: FindingKind::Crash, how: status.to_string() };
    Ok(if crashed { broke(how()) } else { Replay::Said(said) })
}

/// Runs a finding where it was found, and says what kind of failure shows, if any: the process crashes or hangs, or says
/// so. `scratch` is a file for the time being.
pub(super) async fn shows(
    finding: &Finding,
    data_dir: &Path,
    scratch: &Path,
    hang_after: Duration,
) -> Result<Option<FindingKind>, HuntError> {
    Ok(match run_again(finding, data_dir, scratch, hang_after).await? {
        Replay::Broke(broken) => Some(broken.kind),
        Replay::Unopened(broken) => (finding.class == OPENING).then_some(broken.kind),
        // A replay that could not be run has no answer, and shows nothing.
        Replay::Said(said) => last(&said).and_then(|shown| shown.kind),
    })
}

/// The same, and whether it does not show; nothing if it could not be run, or fails in another way.
pub(super) async fn still_shows(
    finding: &Finding,
    data_dir: &Path,
    scratch: &Path,
    hang_after: Duration,
) -> Result<Option<bool>, HuntError> {
    let Replay::Said(said) = run_again(finding, data_dir, scratch, hang_after).await? else { return Ok(None) };
    let Some(Shown { kind, state }) = last(&said) else { return Ok(None) };
    Ok(match kind {
        None => (state == AGREES).then_some(false),
        Some(kind) => (kind == finding.kind).then_some(true),
    })
}

/// What a replay says of a finding whose queries agree.
const AGREES: &str = "agrees";

fn last(said: &str) -> Option<Shown> {
    said.lines().last().and_then(|line| serde_json::from_str(line).ok())
}

async fn run_again(
    finding: &Finding,
    data_dir: &Path,
    scratch: &Path,
    hang_after: Duration,
) -> Result<Replay, HuntError> {
    let text = serde_json::to_string(finding).map_err(io::Error::other);
    text.and_then(|text| fs::write(scratch, text))
        .map_err(|source| HuntError::Io { what: scratch.display().to_string(), source })?;
    let replayed = replay(scratch, &finding.dbms, data_dir, hang_after).await;
    let _ = fs::remove_file(scratch);
    replayed
}

/// Whether a finding shows in a new process, for a caller that is not asynchronous. `tick` is called at times, so that a
/// watcher sees that this process waits and does not stand still.
pub(super) fn comes_again(
    finding: &Finding,
    data_dir: &Path,
    scratch: &Path,
    hang_after: Duration,
    tick: &mut dyn FnMut(),
) -> io::Result<bool> {
    let shown = shown(finding, data_dir, scratch, hang_after, tick)?;
    // A machine that is slow is no wrong result; an engine that breaks may do so in more than one way.
    let wrong = |kind| kind == FindingKind::WrongResult;
    Ok(shown.is_some_and(|kind| wrong(kind) == wrong(finding.kind)))
}

/// Whether a finding shows on another target, in a new process.
pub(super) fn shows_on(
    target: &str,
    finding: &Finding,
    data_dir: &Path,
    scratch: &Path,
    hang_after: Duration,
    tick: &mut dyn FnMut(),
) -> io::Result<bool> {
    let there = Finding { dbms: target.to_owned(), ..finding.clone() };
    comes_again(&there, data_dir, scratch, hang_after, tick)
}

/// Whether a finding breaks the engine in its own way in a new process; see [`comes_again`].
pub(super) fn breaks_again(
    finding: &Finding,
    data_dir: &Path,
    scratch: &Path,
    hang_after: Duration,
    tick: &mut dyn FnMut(),
) -> io::Result<bool> {
    Ok(shown(finding, data_dir, scratch, hang_after, tick)? == Some(finding.kind))
}

fn shown(
    finding: &Finding,
    data_dir: &Path,
    scratch: &Path,
    hang_after: Duration,
    tick: &mut dyn FnMut(),
) -> io::Result<Option<FindingKind>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let shown = runtime.block_on(async {
        let shown = shows(finding, data_dir, scratch, hang_after);
        tokio::pin!(shown);
        let mut alive = tokio::time::interval(Duration::from_millis(100));
        loop {
            tokio::select! {
                shown = &mut shown => break shown,
                _ = alive.tick() => tick(),
            }
        }
    });
    shown.map_err(io::Error::other)
}
