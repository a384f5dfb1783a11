//! What becomes of a hunt whose server, which is not ours, ended under it.
//!
//! All executors of the hunt lose it at once, and each only knows what it ran itself. So they end, and what they ran is
//! tried again when the server is back, one case after the other with nobody else on it: the one that ends it again is the
//! bug. A server that does not come back leaves the last statements, and the hunt ends.

use super::error::HuntError;
use super::plan::HuntPlan;
use super::postmortem::{keep, replay};
use super::probe::{self, Opened};
use super::stats::Outcome;
use crate::clock;
use crate::dbms::target::{Target, TargetError};
use crate::triage::finding::{Finding, FindingKind, FoundReport};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A server that ended.
pub(super) struct Outage {
    /// What showed it first.
    pub(super) message: String,
    /// What executors ran when they lost it.
    pub(super) suspects: Vec<Finding>,
}

/// What came of it.
pub(super) struct Recovery {
    pub(super) outcomes: Vec<Outcome>,
    pub(super) found: Option<FoundReport>,
    /// Whether the server is back.
    pub(super) back: bool,
    /// What showed that it ended.
    pub(super) message: String,
}

/// Why a case is void that ran on the server when it ended.
const BYSTANDER: &str = "the server ended while it ran, by another case";

/// Between two attempts to reach the server.
const EVERY: Duration = Duration::from_millis(250);

/// Waits for the server, tries the suspects, and writes what is known then. `given_up` ends the waiting.
pub(super) async fn recover(
    plan: HuntPlan,
    outage: Outage,
    known: Vec<FoundReport>,
    scratch: PathBuf,
    given_up: Arc<AtomicBool>,
) -> Result<Recovery, HuntError> {
    let Outage { message, suspects } = outage;
    let target: Target = plan.spec.dbms.parse().map_err(|e: TargetError| HuntError::Executor(e.to_string()))?;
    let mut recovery = Recovery { outcomes: Vec::new(), found: None, back: false, message };
    let wait = || wait_for(&target, &plan, &given_up);
    recovery.back = wait().await?;
    let mut suspects = suspects.into_iter();
    if !recovery.back {
        unconfirmed(&plan, &known, suspects.collect(), &mut recovery)?;
        return Ok(recovery);
    }
    for mut suspect in suspects.by_ref() {
        let again = replay(&suspect, &plan, &scratch).await?;
        recovery.back = wait().await?;
        if again == Some(FindingKind::Crash) {
            suspect.note = Some(format!("The server ended twice by it: {}.", recovery.message));
            let (outcome, found) = keep(&plan, &known, &suspect)?;
            recovery.outcomes.push(outcome);
            recovery.found = found;
            break;
        }
        flaky(&plan, suspect)?;
        recovery.outcomes.push(Outcome::Warning("flaky: crash did not repeat when the server was back".to_owned()));
        if !recovery.back {
            break;
        }
    }
    recovery.outcomes.extend(suspects.map(|_| Outcome::Warning(BYSTANDER.to_owned())));
    Ok(recovery)
}

/// The server did not come back: what ran on it last is all there is. One crash is one finding, and which of several cases
/// it was cannot be known.
fn unconfirmed(
    plan: &HuntPlan,
    known: &[FoundReport],
    suspects: Vec<Finding>,
    recovery: &mut Recovery,
) -> Result<(), HuntError> {
    let mut suspects = suspects.into_iter();
    let Some(mut first) = suspects.next() else { return Ok(()) };
    let mut others = Vec::new();
    for other in suspects {
        others.push(other.id.clone());
        flaky(plan, other)?;
        recovery.outcomes.push(Outcome::Warning(BYSTANDER.to_owned()));
    }
    let beside = match others.len() {
        0 => String::new(),
        n => format!(
            " {n} other executors lost it at the same time, so it may also have been what they ran: see {} in flaky/.",
            others.join(", ")
        ),
    };
    first.note = Some(format!(
        "Not confirmed: the server ended while the last query ran ({}) and did not come back, so it could not be run \
         again.{beside}",
        recovery.message
    ));
    let (_, found) = keep(plan, known, &first)?;
    recovery.found = found;
    recovery.outcomes.push(Outcome::Fail("crash, not confirmed: the server did not come back".to_owned()));
    Ok(())
}

fn flaky(plan: &HuntPlan, mut suspect: Finding) -> Result<(), HuntError> {
    suspect.note = Some("The server ended while it ran, and not when it ran again.".to_owned());
    super::postmortem::write(plan, &suspect, &plan.environment.out_dir.join("flaky")).map(drop)
}

/// Whether the server answers within the time that it is waited for.
async fn wait_for(target: &Target, plan: &HuntPlan, given_up: &AtomicBool) -> Result<bool, HuntError> {
    let until = clock::now() + plan.environment.server_return_max;
    loop {
        if let Opened::Version(_) = probe::open(target, &plan.environment.data_dir, Some(until)).await? {
            return Ok(true);
        }
        if clock::now() >= until || given_up.load(Ordering::Relaxed) {
            return Ok(false);
        }
        tokio::time::sleep(EVERY).await;
    }
}
