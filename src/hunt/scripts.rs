//! Scripts with answers, run in a process of their own. What ends that process or does not come back is the answer of the
//! block that ran. Where a script ended the engine, the scripts behind it go on in a new process, with a new engine.

use super::error::HuntError;
use super::lines::JsonLines;
use super::probe::opening_limit;
use super::process::own_program;
use crate::config::REPLAY_FACTOR;
use crate::dbms::target::{Target, TargetError};
use crate::dbms::{Connection, EngineError, ErrorClass};
use crate::server::private::CRASH_SIGNALS;
use crate::triage::script::{Outcome, Script};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::time::timeout;

/// What the process says, a line each.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Said {
    /// The target is open.
    Opened {
        /// The engine's version.
        version: String,
    },
    /// The target, or the next script, cannot be used.
    Refused {
        /// Why.
        message: String,
    },
    /// The next script has an empty database.
    Begun,
    /// What its next block did.
    Did(Outcome),
    /// It is over.
    Over,
}

/// What a script did.
#[derive(Debug, Clone, Default)]
pub struct Ran {
    /// The engine's version.
    pub version: String,
    /// What its blocks did; fewer than there are if one ended the engine.
    pub outcomes: Vec<Outcome>,
    /// Why it was not begun.
    pub refused: Option<String>,
}

/// Runs scripts, each on an empty database and in a new session, until one ends the engine.
pub fn run(
    connection: &mut dyn Connection,
    scripts: &[Script],
    mut say: impl FnMut(Said) -> io::Result<()>,
) -> io::Result<()> {
    for script in scripts {
        if let Err(error) = connection.renew() {
            say(Said::Refused { message: format!("there is no empty database: {error}") })?;
            continue;
        }
        say(Said::Begun)?;
        for block in &script.blocks {
            let outcome = if block.is_query {
                connection.rows(&block.sql)
            } else {
                connection.execute(&block.sql).map(|()| Vec::new())
            };
            let class = outcome.as_ref().err().map(|error| error.class);
            say(Said::Did(outcome))?;
            if class.is_some_and(|class| class.is_finding() || class == ErrorClass::ConnectionLost) {
                return say(Said::Over);
            }
        }
        say(Said::Over)?;
    }
    Ok(())
}

/// Runs the scripts in files on a target, in processes of their own; what each did, in order.
pub async fn replay(
    files: &[PathBuf],
    target: &Target,
    data_dir: &Path,
    hang_after: Duration,
) -> Result<Vec<Ran>, HuntError> {
    let opening = opening_limit(target).map_err(|error: TargetError| HuntError::Executor(error.to_string()))?;
    let process_error = |source| HuntError::Io { what: "a process that runs scripts".to_owned(), source };
    let mut all: Vec<Ran> = Vec::new();
    while all.len() < files.len() {
        let mut command = own_program()?;
        command.arg("execute").arg("--data-dir").arg(data_dir).arg("--dbms").arg(target.to_string());
        for file in &files[all.len()..] {
            command.arg("--script").arg(file);
        }
        // The process ends when its input closes, so it cannot outlive this one; Ctrl-C is not meant for it.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().map_err(process_error)?;
        let mut lines = JsonLines::new(&mut child).map_err(process_error)?;
        let before = all.len();
        let mut limit = opening;
        let mut version = String::new();
        let mut running: Option<Ran> = None;
        let end = loop {
            let said = match timeout(limit, lines.next()).await {
                Err(_) => {
                    let how = format!("it did not come to an end within {} s", limit.as_secs_f64().ceil());
                    break EngineError::new(ErrorClass::Hang, how);
                }
                Ok(said) => said.map_err(process_error)?,
            };
            let Some(said) = said else {
                let status = child.wait().await.map_err(process_error)?;
                let crashed = status.signal().is_some_and(|signal| CRASH_SIGNALS.contains(&signal));
                let class = if crashed { ErrorClass::Crash } else { ErrorClass::ConnectionLost };
                break EngineError::new(class, format!("the process ended: {status}"));
            };
            limit = hang_after * REPLAY_FACTOR;
            match said {
                Said::Opened { version: is } => version = is,
                Said::Refused { message } => {
                    all.push(Ran { version: version.clone(), refused: Some(message), ..Ran::default() });
                }
                Said::Begun => running = Some(Ran { version: version.clone(), ..Ran::default() }),
                Said::Did(outcome) => running.iter_mut().for_each(|ran| ran.outcomes.push(outcome.clone())),
                Said::Over => all.extend(running.take()),
            }
        };
        match running {
            Some(mut ran) => {
                ran.outcomes.push(Err(end));
                all.push(ran);
            }
            None if all.len() == before => {
                let refused = Some(format!("the process that was to run it is gone: {end}"));
                all.push(Ran { version, refused, ..Ran::default() });
            }
            None => {}
        }
    }
    Ok(all)
}
