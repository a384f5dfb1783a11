//! What is found must come again in a process of its own, as `caqtus bug replay` runs it: with the engine's library loaded
//! afresh, in a new session, on a new server where the server is ours. What an executor has run before leaves traces in
//! its process that no script repeats.

use super::process::{own_program, watch};
use crate::config::{HANG_MS, REPLAY_FACTOR};
use crate::triage::finding::{Finding, FindingKind};
use serde::Deserialize;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

/// The part of a replay's answer that counts here.
#[derive(Deserialize)]
struct Shown {
    /// What it showed, if it did.
    kind: Option<FindingKind>,
}

/// Runs a finding in a new process. `scratch` is a file for the time being; `tick` is called at times, so that a watcher
/// sees that this process waits and does not stand still.
pub(super) fn comes_again(
    finding: &Finding,
    data_dir: &Path,
    scratch: &Path,
    tick: &mut dyn FnMut(),
) -> io::Result<bool> {
    let text = serde_json::to_string(finding).map_err(io::Error::other)?;
    fs::write(scratch, text)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let shown = runtime.block_on(async {
        let mut command = own_program()?;
        command.arg("execute").arg("--replay").arg(scratch).arg("--data-dir").arg(data_dir);
        let replay = watch(command, Duration::from_millis(HANG_MS) * REPLAY_FACTOR);
        tokio::pin!(replay);
        let mut alive = tokio::time::interval(Duration::from_millis(100));
        loop {
            tokio::select! {
                shown = &mut replay => break shown,
                _ = alive.tick() => tick(),
            }
        }
    });
    let _ = fs::remove_file(scratch);
    let kind = match shown.map_err(io::Error::other)? {
        Err(broken) => Some(broken.kind),
        Ok(output) => {
            let text = String::from_utf8_lossy(&output);
            // A replay that could not be run has no answer, and shows nothing.
            let shown: Option<Shown> = serde_json::from_str(text.lines().last().unwrap_or_default()).ok();
            shown.and_then(|shown| shown.kind)
        }
    };
    // A machine that is slow is no wrong result; an engine that breaks may do so in more than one way.
    let wrong = |kind| kind == FindingKind::WrongResult;
    Ok(kind.is_some_and(|kind| wrong(kind) == wrong(finding.kind)))
}
