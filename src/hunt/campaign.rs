//! A campaign's directory: who works in it, and how far the campaign has come.
//!
//! The state is one file, replaced at intervals by a rename, so that a kill or a power failure leaves the last one whole.

use super::error::HuntError;
use super::stats::Stats;
use crate::config::CampaignSpec;
use crate::triage::finding::FoundReport;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

const CAMPAIGN_FILE: &str = "campaign.json";

/// A campaign that was cut short, moved aside when another one starts in the same directory.
const INTERRUPTED_FILE: &str = "campaign.interrupted.json";

/// A state that cannot be read, moved aside likewise.
const DAMAGED_FILE: &str = "campaign.damaged.json";

/// Locked by the hunt that works in the directory; holds the number of its process.
const LOCK_FILE: &str = ".lock";

/// The campaign on disk, rewritten at intervals, from which an interrupted hunt goes on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Campaign {
    /// What it runs.
    #[serde(flatten)]
    pub(super) spec: CampaignSpec,
    /// Every block below this is done.
    pub(super) done_below: u64,
    /// Blocks done above it.
    pub(super) done: BTreeSet<u64>,
    pub(super) stats: Stats,
    pub(super) findings: Vec<FoundReport>,
    /// Whether the hunt ended by itself.
    pub(super) finished: bool,
}

impl Campaign {
    pub(super) fn write(&self, out_dir: &Path) -> Result<(), HuntError> {
        let path = out_dir.join(CAMPAIGN_FILE);
        let temporary = out_dir.join(".campaign.json.new");
        let write = || {
            let mut file = File::create(&temporary)?;
            file.write_all(&serde_json::to_vec(self)?)?;
            // Or the new name may reach the disk before what it names.
            file.sync_all()?;
            fs::rename(&temporary, &path)
        };
        write().map_err(|source| HuntError::Io { what: path.display().to_string(), source })
    }

    pub(super) fn finish_block(&mut self, block: u64) {
        self.done.insert(block);
        while self.done.remove(&self.done_below) {
            self.done_below += 1;
        }
    }

    fn read(path: &Path) -> Result<Option<Self>, HuntError> {
        let name = || path.display().to_string();
        match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(HuntError::Io { what: name(), source }),
            Ok(bytes) => match serde_json::from_slice(&bytes) {
                Ok(campaign) => Ok(Some(campaign)),
                Err(source) => Err(HuntError::Damaged { path: name(), source }),
            },
        }
    }
}

/// Whether the output directory holds a campaign that did not end by itself.
pub fn interrupted(out_dir: &Path) -> bool {
    matches!(Campaign::read(&out_dir.join(CAMPAIGN_FILE)), Ok(Some(campaign)) if !campaign.finished)
}

/// What the campaign runs that a hunt in this directory goes on with.
pub fn spec(out_dir: &Path) -> Result<CampaignSpec, HuntError> {
    Ok(resumable(out_dir)?.spec)
}

/// The campaign to go on with: one that was moved aside goes first.
fn resumable(out_dir: &Path) -> Result<Campaign, HuntError> {
    let aside = Campaign::read(&out_dir.join(INTERRUPTED_FILE))?;
    let last = aside.map_or_else(|| Campaign::read(&out_dir.join(CAMPAIGN_FILE)), |aside| Ok(Some(aside)))?;
    last.ok_or_else(|| HuntError::NoCampaign(out_dir.display().to_string()))
}

/// Writes down the campaign that a hunt goes on with, under the limits of that hunt, and returns it. It must be on the
/// hunt's target; all else that it runs stays as it was.
pub(super) fn resume(out_dir: &Path, hunt: &CampaignSpec) -> Result<Campaign, HuntError> {
    let mut last = resumable(out_dir)?;
    if last.spec.dbms != hunt.dbms {
        return Err(HuntError::OtherTarget {
            dir: out_dir.display().to_string(),
            campaign: last.spec.dbms,
            asked: hunt.dbms.clone(),
        });
    }
    last.spec.limits.clone_from(&hunt.limits);
    last.finished = false;
    last.write(out_dir)?;
    let _ = fs::remove_file(out_dir.join(INTERRUPTED_FILE));
    Ok(last)
}

/// Makes room for a new campaign: one that can be resumed later is moved aside, and so is what cannot be read, which is
/// said.
pub(super) fn make_room(out_dir: &Path) -> Result<Option<String>, HuntError> {
    let path = out_dir.join(CAMPAIGN_FILE);
    let aside = |name: &str| {
        fs::rename(&path, out_dir.join(name))
            .map_err(|source| HuntError::Io { what: path.display().to_string(), source })
    };
    match Campaign::read(&path) {
        Ok(Some(last)) if !last.finished => aside(INTERRUPTED_FILE).map(|()| None),
        Ok(_) => Ok(None),
        Err(HuntError::Damaged { path, source }) => {
            aside(DAMAGED_FILE)?;
            Ok(Some(format!("{path} is damaged ({source}) and was moved to {DAMAGED_FILE}; its findings are kept")))
        }
        Err(error) => Err(error),
    }
}

/// A directory that one hunt works in. Its scratch directory is removed on drop.
#[derive(Debug)]
pub(super) struct Occupied {
    /// For what is needed while the hunt runs.
    pub(super) run_dir: PathBuf,
    /// The system unlocks it when the process ends, in whatever way.
    _lock: File,
}

/// Makes the directory, unless another hunt works in it, and removes what hunts that were killed left there.
pub(super) fn occupy(out_dir: &Path) -> Result<Occupied, HuntError> {
    let io_error = |what: &Path| {
        let what = what.display().to_string();
        move |source| HuntError::Io { what, source }
    };
    fs::create_dir_all(out_dir).map_err(io_error(out_dir))?;
    let path = out_dir.join(LOCK_FILE);
    let mut lock =
        File::options().create(true).read(true).write(true).truncate(false).open(&path).map_err(io_error(&path))?;
    if let Err(TryLockError::WouldBlock) = lock.try_lock() {
        let mut holder = String::new();
        let _ = lock.read_to_string(&mut holder);
        let holder = holder.trim().to_owned();
        return Err(HuntError::Busy { dir: out_dir.display().to_string(), holder });
    }
    // A file system without locks is used without.
    lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id())).map_err(io_error(&path))?;
    remove_stale(out_dir);
    let run_dir = out_dir.join(format!(".run-{}", std::process::id()));
    fs::create_dir_all(&run_dir).map_err(io_error(&run_dir))?;
    Ok(Occupied { run_dir, _lock: lock })
}

impl Drop for Occupied {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.run_dir);
    }
}

/// Removes the scratch directories of hunts that were killed, and findings that they had not written to their end: whoever
/// holds the lock is the only one who works here.
fn remove_stale(out_dir: &Path) {
    for parent in [out_dir.to_owned(), out_dir.join("flaky")] {
        for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let hidden = name.to_str().and_then(|name| name.strip_prefix('.')).and_then(|name| name.split_once('-'));
            let is_id = |text: &str| text.len() == 12 && text.bytes().all(|b| b.is_ascii_hexdigit());
            let left = hidden.is_some_and(|(start, pid)| {
                (start == "run" || is_id(start)) && !pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit())
            });
            if left {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CampaignLimits;

    fn campaign(finished: bool) -> Campaign {
        Campaign {
            spec: CampaignSpec::new("sqlite", 1),
            done_below: 0,
            done: BTreeSet::new(),
            stats: Stats::default(),
            findings: Vec::new(),
            finished,
        }
    }

    #[test]
    fn a_directory_is_for_one_hunt_and_what_was_left_goes() {
        let dir = tempfile::tempdir().expect("a directory");
        let out = dir.path().join("out");
        // Process 1 always runs; that says nothing about a hunt that had its number.
        let left = [".run-1", ".0123456789ab-1", "flaky/.0123456789ab-77"];
        let kept = ["0123456789ab", ".other", ".notes-1", "flaky"];
        for name in left.iter().chain(&kept) {
            fs::create_dir_all(out.join(name)).expect("makes");
        }
        let first = occupy(&out).expect("free");
        for name in left {
            assert!(!out.join(name).exists(), "{name}");
        }
        for name in kept {
            assert!(out.join(name).exists(), "{name}");
        }
        let second = occupy(&out).expect_err("taken").to_string();
        assert!(second.contains(&format!("process {}", std::process::id())) && second.contains("--out"), "{second}");
        let run_dir = first.run_dir.clone();
        assert!(run_dir.exists());
        drop(first);
        assert!(!run_dir.exists());
        occupy(&out).expect("free again");
    }

    #[test]
    fn a_campaign_goes_on_where_it_was_and_one_that_is_damaged_is_said() {
        let dir = tempfile::tempdir().expect("a directory");
        let out = dir.path();
        assert!(matches!(spec(out), Err(HuntError::NoCampaign(_))));
        campaign(false).write(out).expect("writes");
        assert!(interrupted(out));
        assert_eq!(make_room(out).expect("moves"), None);
        assert!(!interrupted(out));
        campaign(true).write(out).expect("writes");
        assert!(!interrupted(out));
        // The one aside goes first, and only on its target.
        let other = resume(out, &CampaignSpec::new("duckdb", 1)).expect_err("another target").to_string();
        assert!(other.contains("sqlite") && other.contains("duckdb"), "{other}");
        let mut hunt = CampaignSpec::new("sqlite", 2);
        hunt.limits.cases_max = Some(7);
        let last = resume(out, &hunt).expect("goes on");
        assert!(!last.finished);
        assert_eq!((last.spec.seed, last.spec.limits.cases_max), (1, Some(7)), "its own seed, the hunt's limits");
        assert!(interrupted(out) && !out.join(INTERRUPTED_FILE).exists());
        let text = fs::read_to_string(out.join(CAMPAIGN_FILE)).expect("reads");
        fs::write(out.join(CAMPAIGN_FILE), &text[..text.len() / 2]).expect("writes");
        let damaged = spec(out).expect_err("cut off").to_string();
        assert!(damaged.contains("campaign.json") && damaged.contains("damaged"), "{damaged}");
        assert!(make_room(out).expect("moves").is_some_and(|note| note.contains("damaged")));
        assert!(out.join(DAMAGED_FILE).exists());
    }

    #[test]
    fn a_campaign_that_was_written_before_it_had_limits_goes_on() {
        let text = r#"{"dbms":"sqlite","seed":18446744073709551615,"catalogue":["a.toml"],"proofs":null,"snippets":null,
            "oracles":["caq"],"classes":["tlp-*"],"assumed":true,"snippet_percent":20,"done_below":3,"done":[5],
            "stats":{},"findings":[],"learned":[{"build_id":"b","class":"c","placeholder":1,"why":"w"}],"finished":false}"#;
        let mut value: serde_json::Value = serde_json::from_str(text).expect("JSON");
        value["stats"] = serde_json::to_value(Stats::default()).expect("JSON");
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join(CAMPAIGN_FILE), value.to_string()).expect("writes");
        let spec = spec(dir.path()).expect("reads");
        assert_eq!((spec.dbms.as_str(), spec.seed, spec.snippet_percent), ("sqlite", u64::MAX, 20));
        assert_eq!((spec.choice.classes.as_slice(), spec.choice.assumed), (&["tlp-*".to_owned()][..], true));
        assert_eq!(spec.choice.source.catalogue, [PathBuf::from("a.toml")]);
        assert_eq!(spec.learned.as_ref().map(Vec::len), Some(1));
        assert_eq!(spec.limits, CampaignLimits::default());
        let campaign = resume(dir.path(), &spec).expect("goes on");
        assert_eq!((campaign.done_below, campaign.done.len()), (3, 1));
        let again = resume(dir.path(), &spec).expect("what is written is read");
        assert_eq!(again.spec, spec);
    }
}
