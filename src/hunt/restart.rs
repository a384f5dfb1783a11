//! A server that is not ours, started again by a command of the user's.

use super::error::HuntError;
use super::plan::Restart;
use super::process::Event;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use tokio::sync::mpsc;

/// Starts a server again, so often and no more.
pub(super) struct Starter {
    /// How.
    pub(super) restart: Option<Restart>,
    /// How often it was started in this hunt.
    pub(super) started: u32,
    /// What the command prints.
    pub(super) log: PathBuf,
    /// The command, until it ended.
    pub(super) running: Option<Child>,
    /// Who shows what happens.
    pub(super) events: mpsc::UnboundedSender<Event>,
}

impl Starter {
    /// Whether there is a command that may be run once more.
    pub(super) fn may_start(&self) -> bool {
        self.restart.as_ref().is_some_and(|restart| self.started < restart.times_max)
    }

    /// Runs the command, and does not wait for its end: it may be the server itself. Whatever it starts stays when the hunt
    /// ends, as a server of the user's does.
    pub(super) fn start(&mut self) -> Result<(), HuntError> {
        let Some(Restart { command, times_max }) = &self.restart else { return Ok(()) };
        self.started += 1;
        let note = format!("the server is started again ({} of {times_max}): {command}", self.started);
        let cannot = |what: String| move |source: io::Error| HuntError::Io { what, source };
        let log = File::create(&self.log).map_err(cannot(self.log.display().to_string()))?;
        let errors = log.try_clone().map_err(cannot(self.log.display().to_string()))?;
        let mut shell = Command::new("/bin/sh");
        // Ctrl-C is for this program alone.
        shell.args(["-c", command]).process_group(0).stdin(Stdio::null()).stdout(log).stderr(errors);
        self.running = Some(shell.spawn().map_err(cannot("/bin/sh".to_owned()))?);
        self.note(note);
        Ok(())
    }

    /// Says how the command ended, if it failed. The server may answer all the same.
    pub(super) fn look(&mut self) {
        let Some(Ok(Some(status))) = self.running.as_mut().map(Child::try_wait) else { return };
        self.running = None;
        if !status.success() {
            let said = fs::read_to_string(&self.log).unwrap_or_default();
            let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it printed nothing").to_owned();
            self.note(format!("the command that starts the server failed ({status}): {last}"));
        }
    }

    /// What to say where the server stays away though there is a command.
    pub(super) fn why_away(&self) -> String {
        match (&self.restart, self.may_start()) {
            (None, _) => String::new(),
            (Some(_), true) => {
                format!(" (--restart-cmd was run {} times; {} has what it said)", self.started, self.log.display())
            }
            (Some(_), false) => format!(" (--restart-cmd was run {} times, as --restarts-max has it)", self.started),
        }
    }

    fn note(&self, note: String) {
        // Nobody listens when the hunt is over.
        let _ = self.events.send(Event::Note(note));
    }
}
