//! The cross-check: before a class is released it is filled and run on the engines at hand, as a hunt would. A
//! disagreement is either a wrong proof or a bug of that engine; in both cases the class waits for a person.

use crate::caq::class::{ClassText, print_classes};
use crate::caq::proof::Record;
use crate::config::{CROSS_CHECK_CASES, CROSS_CHECK_MS, CatalogueSource, ClassChoice, ExecutorConfig, HANG_MS};
use crate::hunt::protocol::{FoundReport, Ready};
use crate::hunt::stats::Stats;
use crate::hunt::supervisor::{HuntError, HuntPlan, Progress, hunt};
use crate::oracle::caq;
use crate::store::ClassState;
use crate::triage::finding::{Finding, FindingKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use thiserror::Error;

/// In how many of a hundred fillings a corpus snippet is taken.
const SNIPPET_PERCENT: u32 = 35;

/// Why a class cannot be checked.
#[derive(Debug, Error)]
pub enum CrossCheckError {
    /// The executors cannot work, which says nothing about the class.
    #[error("the cross-check cannot run")]
    Hunt(#[from] HuntError),
    /// A finding cannot be read, so nobody knows what it speaks against.
    #[error("the finding {0} of the cross-check cannot be read")]
    Finding(String),
    /// A file cannot be written.
    #[error("cannot use {path} for the cross-check")]
    File {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// What one engine did with a class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// Its version.
    pub version: String,
    /// Cases that were run.
    pub cases: u64,
    /// Of them, those on which the members agreed.
    pub pass: u64,
    /// Findings that speak against the class: members that returned different rows.
    pub against: Vec<Finding>,
    /// Other findings: crashes, hangs and internal errors of the engine, which say nothing about the class.
    pub other: usize,
}

/// What the engines said about a class: evidence for its state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// What each engine did.
    pub checked: BTreeMap<String, Checked>,
    /// Engines that cannot use the class, with the reason.
    pub unusable: BTreeMap<String, String>,
}

impl Evidence {
    /// The state that follows.
    pub fn state(&self) -> ClassState {
        if self.checked.values().any(|c| !c.against.is_empty()) {
            ClassState::Quarantined
        } else if self.checked.values().any(|c| c.pass > 0) {
            ClassState::Released
        } else {
            ClassState::Draft
        }
    }
}

/// Runs a class on each of the targets.
pub async fn cross_check(
    text: &ClassText,
    records: &[Record],
    targets: &[String],
    data_dir: &Path,
    seed: u64,
) -> Result<Evidence, CrossCheckError> {
    let work = Workplace::new(data_dir, &text.name)?;
    let source = work.write(text, records)?;
    let mut evidence = Evidence::default();
    for target in targets {
        let plan = HuntPlan {
            executor: ExecutorConfig {
                dbms: target.clone(),
                data_dir: data_dir.to_path_buf(),
                out_dir: work.dir.join("findings"),
                seed,
                choice: ClassChoice {
                    source: source.clone(),
                    oracles: vec![caq::NAME.to_owned()],
                    ..ClassChoice::default()
                },
                snippet_percent: SNIPPET_PERCENT,
                findings_per_class_max: 1,
                known: Vec::new(),
                learned: None,
                recorder: PathBuf::new(),
            },
            workers: 1,
            time_max: Some(Duration::from_millis(CROSS_CHECK_MS)),
            cases_max: Some(CROSS_CHECK_CASES),
            hang_after: Duration::from_millis(HANG_MS),
            resume: false,
        };
        // Kept open, so that nobody tells the hunt to stop.
        let (_stop, stopped) = tokio::sync::mpsc::channel(1);
        match hunt(plan, &mut Silent, stopped).await {
            Ok(summary) => {
                let found: Result<Vec<Finding>, CrossCheckError> = summary.findings.iter().map(read_finding).collect();
                let (against, other): (Vec<_>, Vec<_>) =
                    found?.into_iter().partition(|f| f.kind == FindingKind::WrongResult);
                evidence.checked.insert(
                    target.clone(),
                    Checked {
                        version: summary.ready.version,
                        cases: summary.stats.outcomes.cases(),
                        pass: summary.stats.outcomes.pass,
                        against,
                        other: other.len(),
                    },
                );
            }
            Err(HuntError::Executor(why)) => {
                evidence.unusable.insert(target.clone(), why);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(evidence)
}

fn read_finding(found: &FoundReport) -> Result<Finding, CrossCheckError> {
    let text = fs::read_to_string(Path::new(&found.dir).join("case.json")).unwrap_or_default();
    serde_json::from_str(&text).map_err(|_| CrossCheckError::Finding(found.dir.clone()))
}

/// Checks that this program has begun.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A directory for the class's files, removed on drop.
struct Workplace {
    dir: PathBuf,
}

impl Workplace {
    fn new(data_dir: &Path, name: &str) -> Result<Self, CrossCheckError> {
        // Of its own for each check: one class may be checked twice at once, and a name may be any text.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = &blake3::hash(name.as_bytes()).to_hex()[..12];
        let dir = data_dir.join("cross-check").join(format!("{name}-{}-{number}", std::process::id()));
        fs::create_dir_all(&dir).map_err(|source| CrossCheckError::File { path: dir.display().to_string(), source })?;
        Ok(Self { dir })
    }

    fn write(&self, text: &ClassText, records: &[Record]) -> Result<CatalogueSource, CrossCheckError> {
        let write = |name: &str, content: Result<String, io::Error>| -> Result<PathBuf, CrossCheckError> {
            let path = self.dir.join(name);
            let written = content.and_then(|content| fs::write(&path, content));
            written.map_err(|source| CrossCheckError::File { path: path.display().to_string(), source })?;
            Ok(path)
        };
        let class = write("class.toml", print_classes(vec![text.clone()]).map_err(io::Error::other))?;
        let lines: Result<Vec<String>, _> = records.iter().map(serde_json::to_string).collect();
        let proofs = write("proofs.jsonl", lines.map(|lines| lines.join("\n")).map_err(io::Error::other))?;
        Ok(CatalogueSource { catalogue: vec![class], proofs: Some(proofs), snippets: None })
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        // What is left behind is small and is made anew under another name.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

struct Silent;

impl Progress for Silent {
    fn ready(&mut self, _: &Ready) {}
    fn update(&mut self, _: &Stats, _: usize, _: Duration) {}
    fn note(&mut self, _: &str) {}
}
