//! Known bugs that stopped happening: on a version newer than those of an entry, what the entry was made of is run again.
//!
//! That is done beside the hunt, once, in processes of its own, and holds nobody up: what is not known when the hunt ends is
//! said to be so.

use super::error::HuntError;
use super::process::Event;
use super::replay::still_shows;
use super::scripts;
use crate::config::HANG_MS;
use crate::dbms::install::version_key;
use crate::dbms::target::Target;
use crate::triage::finding::{self, Finding};
use crate::triage::script::{Script, Verdict};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::mpsc;

/// An entry of a list of known bugs, with what shows whether the bug is there.
#[derive(Debug, Clone, PartialEq)]
pub struct Watched {
    /// Why it is on the list.
    pub reason: String,
    /// The list's file; none for the list that ships, and for what a store has.
    pub list: Option<PathBuf>,
    /// The newest version that is known to have it.
    pub last_seen: String,
    /// What shows it.
    pub evidence: Evidence,
}

/// What shows whether a bug is there.
#[derive(Debug, Clone, PartialEq)]
pub enum Evidence {
    /// A script with answers: its name and its text.
    Script(String, String),
    /// A finding's directory.
    Directory(PathBuf),
    /// A finding.
    Finding(Box<Finding>),
}

/// A known bug that does not show any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gone {
    /// Why it is on the list.
    pub reason: String,
    /// The list's file; none for the list that ships, and for what a store has.
    pub list: Option<PathBuf>,
    /// The script, the finding's directory, or the finding, that does not show it.
    pub evidence: String,
    /// The newest version that is known to have it.
    pub last_seen: String,
}

impl Watched {
    /// Whether a version is newer than those that are known to have it, and nobody has said yet that it is right there.
    pub(super) fn may_be_gone_on(&self, version: &str) -> bool {
        let is_right = match &self.evidence {
            Evidence::Script(_, text) => {
                let right = Script::parse(text).ok().and_then(|script| script.versions("right").ok());
                right.is_some_and(|right| right.contains(version))
            }
            Evidence::Directory(_) | Evidence::Finding(_) => false,
        };
        version_key(&self.last_seen) < version_key(version) && !is_right
    }

    fn gone(&self) -> Gone {
        let evidence = match &self.evidence {
            Evidence::Script(name, _) => name.clone(),
            Evidence::Directory(dir) => dir.display().to_string(),
            Evidence::Finding(finding) => format!("finding {}", finding.id),
        };
        let Self { reason, list, last_seen, .. } = self.clone();
        Gone { reason, list, evidence, last_seen }
    }
}

/// Looks whether these bugs show on a target, and tells of each of which that can be said. `scratch` is a directory for files.
pub(super) async fn look(
    watched: Vec<Watched>,
    target: Target,
    data_dir: PathBuf,
    scratch: PathBuf,
    events: mpsc::UnboundedSender<Event>,
) {
    // Without an answer the hunt goes on, and counts them.
    let _ = try_to_look(&watched, &target, &data_dir, &scratch, &|gone| {
        let _ = events.send(Event::Looked(gone));
    })
    .await;
}

async fn try_to_look(
    watched: &[Watched],
    target: &Target,
    data_dir: &Path,
    scratch: &Path,
    tell: &(dyn Fn(Option<Gone>) + Sync),
) -> Result<(), HuntError> {
    let hang_after = Duration::from_millis(HANG_MS);
    let cannot = |path: &Path| {
        let what = path.display().to_string();
        move |source| HuntError::Io { what, source }
    };
    let (mut files, mut scripts, mut entries) = (Vec::new(), Vec::new(), Vec::new());
    for entry in watched {
        let Evidence::Script(_, text) = &entry.evidence else { continue };
        // What is no script was refused when the list was read.
        let Ok(script) = Script::parse(text) else { continue };
        let path = scratch.join(format!("known-{}.slt", files.len()));
        fs::write(&path, text).map_err(cannot(&path))?;
        files.push(path);
        scripts.push(script);
        entries.push(entry);
    }
    let ran = scripts::replay(&files, target, data_dir, hang_after).await?;
    for ((entry, script), ran) in entries.iter().zip(&scripts).zip(ran) {
        match script.verdict(&ran.version, &ran.outcomes) {
            Verdict::Right if ran.refused.is_none() => tell(Some(entry.gone())),
            Verdict::Shows => tell(None),
            // It says nothing here.
            Verdict::Right | Verdict::Other { .. } | Verdict::Void { .. } => {}
        }
    }
    for entry in watched {
        let finding = match &entry.evidence {
            Evidence::Script(..) => continue,
            Evidence::Directory(dir) => finding::read(dir).ok(),
            Evidence::Finding(finding) => Some(*finding.clone()),
        };
        let Some(finding) = finding else { continue };
        let here = Finding { dbms: target.to_string(), ..finding };
        if let Some(shows) = still_shows(&here, data_dir, &scratch.join("known.json"), hang_after).await? {
            tell((!shows).then(|| entry.gone()));
        }
    }
    Ok(())
}
