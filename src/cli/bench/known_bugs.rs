//! How many distinct bugs a hunt of bounded time finds on a version, counted by where they were fixed.
//!
//! A finding is run on the installed versions after the target; the first of them that does not show it names the fix.
//! Findings with one fix are likely one bug, and a list of known bugs says which ones have that fix.

use crate::app::bisection::{seen_on, version_of, versions_here};
use crate::app::campaign::bugs;
use crate::config::{CampaignSpec, STATEMENT_LIMITS, millis};
use crate::dbms::install::version_key;
use crate::dbms::target::Target;
use crate::hunt::plan::{HuntEnvironment, HuntPlan, Progress};
use crate::hunt::protocol::Ready;
use crate::hunt::stats::Stats;
use crate::hunt::supervisor::hunt;
use crate::triage::bisect::VersionSearch;
use crate::triage::cause::Fixed;
use crate::triage::finding;
use crate::triage::group::Bug;
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
    /// How well findings are grouped into bugs at once.
    pub(super) at_once: Grouping,
    /// The same when it is known what versions do with each.
    pub(super) with_versions: Grouping,
    /// Statements of a reduced finding, the median.
    pub(super) statements: usize,
    /// Characters of a query of one that the engine must answer rightly, the median. Those that only look at tables do not count,
    /// nor does the text of what is computed.
    pub(super) query: usize,
    /// The fixes.
    pub(super) fixes: Vec<Fix>,
}

/// How well groups fit what is known: findings that different versions fixed are of different bugs, and so are findings of
/// different kinds. Bugs that one version fixed count as one here, so groups may be better than this says, and whether groups that
/// were brought together because one version fixed them are one bug it cannot say: that is to be looked at.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Grouping {
    /// Groups: what somebody gets to read.
    pub(super) reports: usize,
    /// Distinct bugs.
    pub(super) distinct: usize,
    /// Distinct bugs of which no group has most of its findings: nobody gets to read of them.
    pub(super) lost: usize,
    /// Of pairs of findings in one group, the share that is of one bug.
    pub(super) precision: f64,
    /// Of pairs of findings of one bug, the share that is in one group.
    pub(super) recall: f64,
}

impl Grouping {
    /// Compares the groups of findings with their bugs: for each finding the number of its group and of its bug.
    fn new(findings: &[(usize, usize)]) -> Self {
        let groups: BTreeSet<usize> = findings.iter().map(|(group, _)| *group).collect();
        let bugs: BTreeSet<usize> = findings.iter().map(|(_, bug)| *bug).collect();
        let main = |group: &usize| {
            let count = |bug: &&usize| findings.iter().filter(|(of, is)| of == group && is == *bug).count();
            bugs.iter().max_by_key(count).copied()
        };
        let told: BTreeSet<usize> = groups.iter().filter_map(main).collect();
        // For each pair, whether it has one group, and one bug.
        let pairs: Vec<(bool, bool)> = (0..findings.len())
            .flat_map(|at| findings[at + 1..].iter().map(move |other| (findings[at], *other)))
            .map(|(one, other)| (one.0 == other.0, one.1 == other.1))
            .collect();
        let both = pairs.iter().filter(|pair| **pair == (true, true)).count();
        #[expect(clippy::cast_precision_loss, reason = "a share for people")]
        let share = |all: usize| if all == 0 { 1.0 } else { both as f64 / all as f64 };
        Self {
            reports: groups.len(),
            distinct: bugs.len(),
            lost: bugs.len() - told.len(),
            precision: share(pairs.iter().filter(|(group, _)| *group).count()),
            recall: share(pairs.iter().filter(|(_, bug)| *bug).count()),
        }
    }
}

/// Hunts and attributes.
pub(super) fn measure(plan: &Plan) -> anyhow::Result<Outcome> {
    let target: Target = plan.dbms.parse()?;
    let version = target.open(&plan.data_dir, STATEMENT_LIMITS)?.version();
    let engine = target.dialect().to_owned();
    let mut versions = versions_here(&engine, &plan.data_dir)?;
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
    let environment = HuntEnvironment::new(plan.data_dir.clone(), plan.out.clone(), plan.workers);
    let hunt_plan = HuntPlan { spec, environment, resume: false };
    // Kept open, so that only the time ends the hunt.
    let (_stop, stopped) = mpsc::channel(1);
    let summary = runtime.block_on(async { hunt(hunt_plan, &mut Notes, stopped).await })?.whole()?;
    let mut fixes: BTreeMap<(Vec<u64>, String), Fix> = BTreeMap::new();
    let mut found = finding::list(&plan.out)?;
    let at_once = bugs(&found, &plan.out, &[], &engine)?;
    let mut truth: BTreeMap<(String, String, Option<String>), Vec<String>> = BTreeMap::new();
    for (dir, finding) in &mut found {
        // Only versions after the target: what an older one lacks says nothing about a fix.
        let later = &versions[bad..];
        let mut search = VersionSearch::new(later, 0);
        while let Some(at) = search.wanted() {
            search.tell(at, runtime.block_on(seen_on(dir, finding, &version_of(&engine, &later[at]), &plan.data_dir))?);
        }
        let span = search.end();
        let key = (version_key(&span.last_bad), span.first_good.clone().unwrap_or_default());
        finding.cause.fixed = Some(Fixed { last_bad: span.last_bad.clone(), first_good: span.first_good.clone() });
        let bug = (finding.kind.to_string(), span.last_bad.clone(), span.first_good.clone());
        truth.entry(bug).or_default().push(finding.id.clone());
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
    let with_versions = bugs(&found, &plan.out, &[], &engine)?;
    let truth: Vec<Vec<String>> = truth.into_values().collect();
    let grouping = |groups: &[Bug]| {
        let place = |all: &[Vec<String>], id: &String| all.iter().position(|ids| ids.contains(id)).unwrap_or_default();
        let groups: Vec<Vec<String>> = groups.iter().map(|bug| bug.members.clone()).collect();
        let both: Vec<_> = found.iter().map(|(_, one)| (place(&groups, &one.id), place(&truth, &one.id))).collect();
        Grouping::new(&both)
    };
    let reduced = || found.iter().map(|(_, finding)| finding).filter(|finding| finding.reduced);
    let statements = median(reduced().map(|finding| finding.statements.len()).collect());
    let queries = reduced().flat_map(|finding| {
        let checks = finding.checks();
        let is_checked = move |at: usize| checks.is_empty() || checks.iter().any(|check| check.steps.contains(&at));
        let asked = finding.queries.iter().enumerate().filter(move |(at, _)| is_checked(*at));
        asked.map(|(_, query)| &query.step).filter(|step| step.evaluation.is_none())
    });
    let query = median(queries.map(|step| step.sql.to_string().chars().count()).collect());
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
        at_once: grouping(&at_once),
        with_versions: grouping(&with_versions),
        statements,
        query,
        fixes: fixes.into_values().collect(),
    })
}

/// The middle one of some numbers, 0 of none.
fn median(mut numbers: Vec<usize>) -> usize {
    numbers.sort_unstable();
    numbers.get(numbers.len() / 2).copied().unwrap_or_default()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grouping_is_as_good_as_its_pairs() {
        let is = |findings: &[(usize, usize)],
                  (reports, distinct, lost): (usize, usize, usize),
                  precision: f64,
                  recall: f64| {
            assert_eq!(
                Grouping::new(findings),
                Grouping { reports, distinct, lost, precision, recall },
                "{findings:?}"
            );
        };
        is(&[], (0, 0, 0), 1.0, 1.0);
        is(&[(0, 0), (0, 0), (1, 1)], (2, 2, 0), 1.0, 1.0);
        is(&[(0, 0), (1, 0), (2, 1)], (3, 2, 0), 1.0, 0.0);
        is(&[(0, 0), (0, 0), (0, 1)], (1, 2, 1), 1.0 / 3.0, 1.0);
        assert_eq!((median(vec![3, 1, 2]), median(Vec::new())), (2, 0));
    }
}
