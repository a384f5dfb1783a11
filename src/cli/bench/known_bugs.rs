//! How many distinct bugs a hunt of bounded time finds on a version, counted by where they were fixed.
//!
//! A finding is run on the installed versions after the target; the first of them that does not show it names the fix.
//! Findings with one fix are likely one bug, and a list of known bugs says which ones have that fix.

use crate::app::finding::seen_on;
use crate::config::{CampaignSpec, SERVER_RETURN_MS, STATEMENT_LIMITS, millis};
use crate::dbms::install::{EngineStore, version_key};
use crate::dbms::target::Target;
use crate::hunt::protocol::Ready;
use crate::hunt::stats::Stats;
use crate::hunt::supervisor::{HuntEnvironment, HuntPlan, Progress, hunt};
use crate::triage::bisect::VersionSearch;
use crate::triage::finding;
use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::mpsc;

/// What is measured.
pub(super) struct Plan {
    /// The target, a version.
    pub(super) dbms: String,
    /// How long to hunt.
    pub(super) time: Duration,
    /// Executors.
    pub(super) workers: usize,
    /// The seed.
    pub(super) seed: u64,
    /// A list of known bugs, JSON lines with `group`, `bad_versions` and `fixed_version`.
    pub(super) list: Option<PathBuf>,
    /// Where findings go.
    pub(super) out: PathBuf,
    /// Where engines are.
    pub(super) data_dir: PathBuf,
}

/// A known bug.
#[derive(Deserialize)]
struct Known {
    group: String,
    #[serde(default)]
    bad_versions: Vec<String>,
    fixed_version: Option<String>,
    #[serde(default)]
    title: String,
}

/// Findings with one fix.
#[derive(Serialize)]
pub(super) struct Fix {
    /// The last installed version that shows them.
    pub(super) last_bad: String,
    /// The first one that does not; none if the newest still shows them.
    pub(super) first_good: Option<String>,
    /// The findings.
    pub(super) findings: Vec<String>,
    /// Their classes.
    pub(super) classes: BTreeSet<String>,
    /// Known bugs of the target that were fixed between the two.
    pub(super) known: BTreeSet<String>,
}

/// The outcome for one version.
#[derive(Serialize)]
pub(super) struct Outcome {
    /// The version.
    pub(super) version: String,
    /// Cases that were run.
    pub(super) cases: u64,
    /// CPU seconds.
    pub(super) cpu_seconds: f64,
    /// Findings, reduced.
    pub(super) findings: usize,
    /// Distinct fixes.
    pub(super) distinct: usize,
    /// Known bugs of this version in the list.
    pub(super) known: usize,
    /// Those of them that have a fix in common with a finding.
    pub(super) matched: usize,
    /// The fixes.
    pub(super) fixes: Vec<Fix>,
}

/// Hunts and attributes.
pub(super) fn measure(plan: &Plan) -> anyhow::Result<Outcome> {
    let target: Target = plan.dbms.parse()?;
    let version = target.open(&plan.data_dir, STATEMENT_LIMITS)?.version();
    let engine = target.dialect().to_owned();
    let mut versions = EngineStore::new(&plan.data_dir).versions(&engine);
    if !versions.contains(&version) {
        versions.push(version.clone());
        versions.sort_by_key(|v| version_key(v));
    }
    let bad = versions.iter().position(|v| *v == version).unwrap_or(0);
    if bad + 1 == versions.len() {
        bail!("no version after {version} is installed, so no fix can be named; `caqtus dbms install {engine}@…`");
    }
    let runtime = crate::cli::runtime()?;
    let mut spec = CampaignSpec::new(target.to_string(), plan.seed);
    spec.limits.time_max_ms = Some(millis(plan.time));
    let environment = HuntEnvironment {
        data_dir: plan.data_dir.clone(),
        out_dir: plan.out.clone(),
        workers: plan.workers,
        server_return_max: Duration::from_millis(SERVER_RETURN_MS),
    };
    let hunt_plan = HuntPlan { spec, environment, resume: false };
    // Kept open, so that only the time ends the hunt.
    let (_stop, stopped) = mpsc::channel(1);
    let summary = runtime.block_on(async { hunt(hunt_plan, &mut Notes, stopped).await })?.whole()?;
    let mut fixes: BTreeMap<(Vec<u64>, String), Fix> = BTreeMap::new();
    let found = finding::list(&plan.out)?;
    for (dir, finding) in &found {
        // Only versions after the target: what an older one lacks says nothing about a fix.
        let later = &versions[bad..];
        let mut search = VersionSearch::new(later, 0);
        while let Some(at) = search.wanted() {
            search.tell(at, runtime.block_on(seen_on(dir, &engine, &later[at], &plan.data_dir))?);
        }
        let span = search.end();
        let key = (version_key(&span.last_bad), span.first_good.clone().unwrap_or_default());
        let fix = fixes.entry(key).or_insert_with(|| Fix {
            last_bad: span.last_bad,
            first_good: span.first_good,
            findings: Vec::new(),
            classes: BTreeSet::new(),
            known: BTreeSet::new(),
        });
        fix.findings.push(finding.id.clone());
        fix.classes.insert(finding.class.clone());
    }
    let known = known_bugs(plan.list.as_deref(), &version)?;
    for fix in fixes.values_mut() {
        let after = version_key(&fix.last_bad);
        let until = fix.first_good.as_deref().map(version_key);
        for bug in known.values() {
            let fixed = bug.fixed_version.as_deref().map(version_key);
            let within = match (&fixed, &until) {
                (Some(fixed), Some(until)) => *fixed > after && fixed <= until,
                (None, None) => true,
                _ => false,
            };
            if within {
                fix.known.insert(format!("{}: {}", bug.group, bug.title));
            }
        }
    }
    let matched: BTreeSet<&String> = fixes.values().flat_map(|fix| &fix.known).collect();
    Ok(Outcome {
        version,
        cases: summary.stats.outcomes.cases(),
        cpu_seconds: Duration::from_nanos(summary.stats.cpu_ns + summary.stats.server_ns).as_secs_f64(),
        findings: found.len(),
        distinct: fixes.len(),
        known: known.len(),
        matched: matched.len(),
        fixes: fixes.into_values().collect(),
    })
}

/// The known bugs that a version has, one for each group.
fn known_bugs(list: Option<&Path>, version: &str) -> anyhow::Result<BTreeMap<String, Known>> {
    let Some(path) = list else { return Ok(BTreeMap::new()) };
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut known = BTreeMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let bug: Known =
            serde_json::from_str(line).with_context(|| format!("{} is no list of known bugs", path.display()))?;
        if bug.bad_versions.iter().any(|bad| bad == version) {
            known.insert(bug.group.clone(), bug);
        }
    }
    Ok(known)
}

/// Says what is found while it is found.
struct Notes;

impl Progress for Notes {
    fn ready(&mut self, ready: &Ready) {
        eprintln!("version {}: {} classes, {} snippets", ready.version, ready.classes, ready.snippets);
    }
    fn update(&mut self, _: &Stats, _: usize, _: Duration) {}
    fn note(&mut self, message: &str) {
        eprintln!("{message}");
    }
}
