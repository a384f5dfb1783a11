//! The cross-check: before a class is released it is filled and run on the engines at hand, as a hunt would: the targets,
//! the embedded SQLite, and the newest installed version of every other engine. A disagreement is either a wrong proof or a
//! bug of that engine; in both cases the class waits for a person.

use super::trial::{Trial, TrialOutcome, TrialTarget};
use crate::caq::class::{ClassText, print_classes};
use crate::caq::proof::Record;
use crate::caq::query::Caq;
use crate::catalogue;
use crate::config::{
    CROSS_CHECK_CASES, CROSS_CHECK_MS, CROSS_CHECK_OTHER_CASES, CROSS_CHECK_OTHER_MS, CampaignLimits, CampaignSpec,
    CatalogueSource, ClassChoice,
};
use crate::dbms::install::EngineStore;
use crate::hunt::error::HuntError;
use crate::hunt::plan::{HuntEnvironment, HuntPlan, Progress, Summary};
use crate::hunt::protocol::Ready;
use crate::hunt::stats::Stats;
use crate::hunt::supervisor::hunt;
use crate::oracle::caq;
use crate::plan::PlanTree;
use crate::store::ClassState;
use crate::triage::finding::{Finding, FindingKind, FoundReport};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use thiserror::Error;

/// The engine that is always at hand.
const EMBEDDED: &str = "sqlite";

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
    /// The plans of members by their texts, of those that the engine tells.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub plans: BTreeMap<String, PlanTree>,
}

/// What the engines said about a class: evidence for its state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// What each target did.
    pub checked: BTreeMap<String, Checked>,
    /// Targets that cannot use the class, with the reason.
    pub unusable: BTreeMap<String, String>,
    /// What other engines at hand did, which may speak against the class and not for its use on a target.
    #[serde(default)]
    pub others: BTreeMap<String, Checked>,
    /// Other engines that cannot use the class or be started, with the reason.
    #[serde(default)]
    pub others_unusable: BTreeMap<String, String>,
}

impl Evidence {
    /// What engines said of a class, below what people decided since.
    pub fn below(mut stored: &Value) -> Option<Self> {
        while stored.get("reviewed").is_some() {
            stored = stored.get("before")?;
        }
        serde_json::from_value(stored.clone()).ok()
    }

    /// The state that follows.
    pub fn state(&self) -> ClassState {
        if self.checked.values().chain(self.others.values()).any(|c| !c.against.is_empty()) {
            ClassState::Quarantined
        } else if self.checked.values().any(|c| c.pass > 0) {
            ClassState::Released
        } else {
            ClassState::Draft
        }
    }
}

/// Runs a class on each of the targets, and on the other engines at hand.
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
    let run = |target: &str, cases, time_ms| {
        check_on(target.to_owned(), source.clone(), work.dir.join("findings"), data_dir, seed, cases, time_ms)
    };
    for target in targets {
        match run(target, CROSS_CHECK_CASES, CROSS_CHECK_MS).await? {
            Ok(mut checked) => {
                checked.plans = plans_on(target, text, data_dir).await;
                evidence.checked.insert(target.clone(), checked);
            }
            Err(why) => _ = evidence.unusable.insert(target.clone(), why),
        }
    }
    for target in at_hand(data_dir, targets) {
        match run(&target, CROSS_CHECK_OTHER_CASES, CROSS_CHECK_OTHER_MS).await? {
            Ok(mut checked) => {
                checked.plans = plans_on(&target, text, data_dir).await;
                evidence.others.insert(target, checked);
            }
            Err(why) => _ = evidence.others_unusable.insert(target, why),
        }
    }
    Ok(evidence)
}

/// Engines that a class is run on beside its targets: the embedded SQLite and the newest installed version of each other
/// engine. Old versions have bugs that are known.
fn at_hand(data_dir: &Path, targets: &[String]) -> Vec<String> {
    let store = EngineStore::new(data_dir);
    let installed = catalogue::dialects().into_iter().filter(|dialect| dialect != EMBEDDED);
    let newest = installed.filter_map(|dialect| {
        let version = store.versions(&dialect).pop()?;
        // ENGINE without a version is the newest installed one.
        (!targets.contains(&dialect)).then(|| format!("{dialect}@{version}"))
    });
    [EMBEDDED.to_owned()].into_iter().chain(newest).filter(|target| !targets.contains(target)).collect()
}

/// What an engine did with the class; in words if it cannot use it.
async fn check_on(
    dbms: String,
    source: CatalogueSource,
    out_dir: PathBuf,
    data_dir: &Path,
    seed: u64,
    cases: u64,
    time_ms: u64,
) -> Result<Result<Checked, String>, CrossCheckError> {
    let spec = CampaignSpec {
        choice: ClassChoice { source, oracles: vec![caq::NAME.to_owned()], ..ClassChoice::default() },
        limits: CampaignLimits {
            cases_max: Some(cases),
            time_max_ms: Some(time_ms),
            findings_per_class_max: 1,
            ..CampaignLimits::default()
        },
        ..CampaignSpec::new(dbms, seed)
    };
    let environment = HuntEnvironment::new(data_dir.to_path_buf(), out_dir, 1);
    let plan = HuntPlan { spec, environment, resume: false };
    // Kept open, so that nobody tells the hunt to stop.
    let (_stop, stopped) = tokio::sync::mpsc::channel(1);
    let summary = match hunt(plan, &mut Silent, stopped).await.and_then(Summary::whole) {
        Ok(summary) => summary,
        Err(HuntError::Executor(why)) => return Ok(Err(why)),
        Err(error) => return Err(error.into()),
    };
    let found: Result<Vec<Finding>, CrossCheckError> = summary.findings.iter().map(read_finding).collect();
    let (against, other): (Vec<_>, Vec<_>) = found?.into_iter().partition(|f| f.kind == FindingKind::WrongResult);
    Ok(Ok(Checked {
        version: summary.ready.version,
        cases: summary.stats.outcomes.cases(),
        pass: summary.stats.outcomes.pass,
        against,
        other: other.len(),
        plans: BTreeMap::new(),
    }))
}

/// By which plans an engine runs the members, with placeholders as columns and tables. What it does not tell is not known.
async fn plans_on(dbms: &str, text: &ClassText, data_dir: &Path) -> BTreeMap<String, PlanTree> {
    let engine = TrialTarget::new(dbms, data_dir.to_path_buf());
    let mut plans = BTreeMap::new();
    for member in &text.members {
        let sql = member.sql().to_owned();
        let caq = Caq { schema: text.schema.clone(), placeholders: text.placeholders.clone(), sql: sql.clone() };
        if let Ok(TrialOutcome::Accepted { plan }) = engine.try_query(&Trial { caq, sql: sql.clone() }).await {
            plans.insert(sql, plan);
        }
    }
    plans
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_at_hand_are_sqlite_and_the_newest_installed() {
        let dir = tempfile::tempdir().expect("a directory");
        for engine in ["duckdb-1.3.4/libduckdb.so", "duckdb-1.10.0/libduckdb.so", "sqlite-3.28.0/libsqlite3.so"] {
            let path = dir.path().join("engines").join(engine);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, "").expect("a file");
        }
        let at_hand =
            |targets: &[&str]| super::at_hand(dir.path(), &targets.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(at_hand(&["postgres"]), ["sqlite", "duckdb@1.10.0"]);
        assert_eq!(at_hand(&["sqlite", "duckdb@1.3.4"]), ["duckdb@1.10.0"]);
        assert_eq!(at_hand(&["sqlite", "duckdb"]), [""; 0]);
    }

    #[test]
    fn any_engine_may_speak_against_a_class_and_targets_alone_for_it() {
        let checked = |pass| Checked {
            version: String::new(),
            cases: 10,
            pass,
            against: Vec::new(),
            other: 0,
            plans: BTreeMap::new(),
        };
        let with = |targets: Option<u64>, others: Option<u64>| Evidence {
            checked: targets.map(|pass| ("a".to_owned(), checked(pass))).into_iter().collect(),
            others: others.map(|pass| ("b".to_owned(), checked(pass))).into_iter().collect(),
            ..Evidence::default()
        };
        assert_eq!(with(Some(9), Some(9)).state(), ClassState::Released);
        assert_eq!(with(Some(9), None).state(), ClassState::Released);
        assert_eq!(with(None, Some(9)).state(), ClassState::Draft);
    }
}
