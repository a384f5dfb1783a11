//! What became of a case that ended an executor: it is made again and run in a process of its own. What ends or stops that
//! process too is a finding and kept, anything else is flaky.

use super::error::HuntError;
use super::plan::HuntPlan;
use super::process::{End, Process};
use super::protocol::{Order, Report};
use super::recorder::{self, Position};
use super::replay::{breaks_again, shows, shows_on};
use super::stats::Outcome;
use crate::catalogue;
use crate::clock;
use crate::config::{
    FINDINGS_PER_BUG_MAX, REDUCE_CRASH_ATTEMPTS_MAX, REDUCE_CRASH_MS, REDUCE_HANG_ATTEMPTS_MAX, START_MS,
};
use crate::dbms::target::{Target, TargetError};
use crate::triage::blunt::Blunt;
use crate::triage::features::features;
use crate::triage::finding::{self, FLAKY, Finding, FindingKind, FoundReport, SeenRun};
use crate::triage::limits::Limit;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What became of a case that ended an executor.
pub(super) struct Examined {
    pub(super) outcome: Outcome,
    pub(super) found: Option<FoundReport>,
}

/// Makes the case again and runs it in a process of its own. It is kept unless enough of its class and kind are `known`;
/// `scratch` is the examination's own part of file names.
pub(super) async fn examine(
    plan: HuntPlan,
    known: Vec<FoundReport>,
    scratch: PathBuf,
    position: Position,
    how: End,
) -> Result<Examined, HuntError> {
    let Some(mut finding) = describe(&plan, &scratch, position).await? else {
        let reason = "an executor ended, and the case could not be made again".to_owned();
        return Ok(Examined { outcome: Outcome::Warning(reason), found: None });
    };
    let kind = replay(&finding, &plan, &scratch).await?;
    let repeated = kind.is_some();
    finding.kind = kind.unwrap_or(if how == End::Hung { FindingKind::Hang } else { FindingKind::Crash });
    finding.seal();
    if repeated {
        let (outcome, found) = keep(&plan, &known, &finding)?;
        let Some(early) = found else { return Ok(Examined { outcome, found: None }) };
        // What is known already is on disk meanwhile.
        let finding = reduce(finding, &plan, &scratch).await;
        if finding.id == early.id {
            return Ok(Examined { outcome, found: Some(early) });
        }
        let (outcome, found) = keep(&plan, &known, &finding)?;
        finding::remove(Path::new(&early.dir)).map_err(|source| HuntError::Io { what: early.dir.clone(), source })?;
        return Ok(Examined { outcome, found });
    }
    let ended = if how == End::Hung { "did not return" } else { "ended its process" };
    let last = finding.queries.len();
    finding.runs = [
        format!("in the hunt: the engine {ended}, at query {last} or while the database was made"),
        "in a process of its own: it did not".to_owned(),
    ]
    .map(|what| SeenRun { what, results: Vec::new(), sql: None })
    .into();
    write(&plan, &finding, &plan.environment.out_dir.join(FLAKY))?;
    let reason = format!("flaky: {} did not repeat in a fresh process", finding.kind);
    Ok(Examined { outcome: Outcome::Warning(reason), found: None })
}

/// Writes a finding below a directory.
pub(super) fn write(plan: &HuntPlan, finding: &Finding, parent: &Path) -> Result<FoundReport, HuntError> {
    let target: Target = plan.spec.dbms.parse().map_err(|e: TargetError| HuntError::Executor(e.to_string()))?;
    let profile = catalogue::profile(target.dialect()).map_err(|error| HuntError::Executor(error.to_string()))?;
    let dir = finding.write(parent, &profile);
    let dir = dir.map_err(|source| HuntError::Io { what: parent.display().to_string(), source })?;
    Ok(finding.found(&dir))
}

/// Writes a finding unless enough of its class and kind, or of its bug, are `known`.
pub(super) fn keep(
    plan: &HuntPlan,
    known: &[FoundReport],
    finding: &Finding,
) -> Result<(Outcome, Option<FoundReport>), HuntError> {
    let kind = finding.kind.to_string();
    let of_class = |f: &&FoundReport| f.class == finding.class && f.kind == kind;
    let fingerprint = finding.fingerprint();
    let of_bug = |f: &&FoundReport| finding.reduced && f.fingerprint() == fingerprint;
    if known.iter().filter(of_class).count() >= plan.spec.limits.findings_per_class_max
        || known.iter().filter(of_bug).count() >= FINDINGS_PER_BUG_MAX
    {
        return Ok((Outcome::Repeated(format!("{kind}, one of many: not written")), None));
    }
    let found = write(plan, finding, &plan.environment.out_dir)?;
    Ok((Outcome::Fail(kind), Some(found)))
}

/// Sets a flag when it goes, so that a thread that works for a task ends with it.
struct EndsWith(Arc<AtomicBool>);

impl Drop for EndsWith {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Makes what ends or stops the engine smaller, beside the hunt: each attempt is a process of its own.
async fn reduce(finding: Finding, plan: &HuntPlan, scratch: &Path) -> Finding {
    let over = Arc::new(AtomicBool::new(false));
    let _ends = EndsWith(over.clone());
    let (data_dir, scratch) = (plan.environment.data_dir.clone(), scratch.with_extension("reduced.json"));
    let hang_after = plan.spec.limits.hang_after();
    let until = clock::now() + Duration::from_millis(REDUCE_CRASH_MS);
    let attempts = if finding.kind == FindingKind::Hang { REDUCE_HANG_ATTEMPTS_MAX } else { REDUCE_CRASH_ATTEMPTS_MAX };
    let (whole, against) = (finding.clone(), plan.environment.against.clone());
    let work = tokio::task::spawn_blocking(move || {
        let mut finding = finding;
        let mut too_late = 0;
        let mut shows = |candidate: &Finding| {
            too_late += usize::from(clock::now() >= until);
            !over.load(Ordering::Relaxed)
                && clock::now() < until
                && breaks_again(candidate, &data_dir, &scratch, hang_after, &mut || {}).unwrap_or(false)
        };
        let left_out = Blunt { shows: &mut shows, attempts, left_out: 0 }.reduce(&mut finding);
        finding.limits.count(Limit::Runs, left_out);
        finding.limits.count(Limit::Time, too_late);
        finding.conclude();
        let shows = |target: &String| shows_on(target, &finding, &data_dir, &scratch, hang_after, &mut || {});
        finding.cause.also_on = against.filter(|target| shows(target).unwrap_or(false));
        finding.features = features(finding.texts());
        finding.seal();
        finding
    });
    work.await.unwrap_or(whole)
}

async fn describe(plan: &HuntPlan, scratch: &Path, position: Position) -> Result<Option<Finding>, HuntError> {
    let recorder = scratch.with_extension("recorder");
    let mut process = Process::start(&plan.executor(recorder, Vec::new(), None))?;
    let case = u32::try_from(position.case).unwrap_or(u32::MAX);
    // What came behind the query that ended the executor has no part in that.
    let query = if position.statement < recorder::SETUP { usize::try_from(position.statement).ok() } else { None };
    process.send(&Order::Describe { block: position.block, case, query }).await;
    loop {
        match tokio::time::timeout(Duration::from_millis(START_MS), process.next()).await {
            Ok(Some(Report::Described(finding))) => return Ok(Some(*finding)),
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return Ok(None),
        }
    }
}

/// What kind of failure a finding shows in a process of its own, if any.
pub(super) async fn replay(
    finding: &Finding,
    plan: &HuntPlan,
    scratch: &Path,
) -> Result<Option<FindingKind>, HuntError> {
    shows(finding, &plan.environment.data_dir, &scratch.with_extension("json"), plan.spec.limits.hang_after()).await
}
