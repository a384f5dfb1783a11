//! What becomes of a hunt whose server, which is not ours, ended under it.
//!
//! All executors of the hunt lose it at once, and each only knows what it ran itself. So they end, and what they ran is
//! tried again when the server is back, one case after the other with nobody else on it: the one that ends it again is the
//! bug. A server that does not come back, also not by the command that the user has for it ([`restart`](super::restart)),
//! leaves the last statements, and the hunt ends.

use super::error::HuntError;
use super::plan::HuntPlan;
use super::postmortem::{keep, replay};
use super::probe::{self, Opened};
use super::restart::Starter;
use super::stats::Outcome;
use crate::clock;
use crate::config::SERVER_GRACE_MS;
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
    /// How often it was started in this hunt.
    pub(super) started: u32,
}

/// Why a case is void that ran on the server when it ended.
const BYSTANDER: &str = "the server ended while it ran, by another case";

/// Between two attempts to reach the server.
const EVERY: Duration = Duration::from_millis(250);

/// Waits for the server, starts it if somebody said how, tries the suspects, and writes what is known then. `given_up` ends the
/// waiting.
pub(super) async fn recover(
    plan: HuntPlan,
    outage: Outage,
    known: Vec<FoundReport>,
    scratch: PathBuf,
    given_up: Arc<AtomicBool>,
    mut starter: Starter,
) -> Result<Recovery, HuntError> {
    let mut recovery = tried(plan, outage, known, scratch, given_up, &mut starter).await?;
    recovery.started = starter.started;
    if !recovery.back {
        recovery.message.push_str(&starter.why_away());
    }
    Ok(recovery)
}

async fn tried(
    plan: HuntPlan,
    outage: Outage,
    known: Vec<FoundReport>,
    scratch: PathBuf,
    given_up: Arc<AtomicBool>,
    starter: &mut Starter,
) -> Result<Recovery, HuntError> {
    let Outage { message, suspects } = outage;
    let target: Target = plan.spec.dbms.parse().map_err(|e: TargetError| HuntError::Executor(e.to_string()))?;
    let mut recovery = Recovery { outcomes: Vec::new(), found: None, back: false, message, started: 0 };
    recovery.back = wait_for(&target, &plan, &given_up, starter).await?;
    let mut suspects = suspects.into_iter();
    if !recovery.back {
        unconfirmed(&plan, &known, suspects.collect(), &mut recovery)?;
        return Ok(recovery);
    }
    for mut suspect in suspects.by_ref() {
        let again = replay(&suspect, &plan, &scratch).await?;
        recovery.back = wait_for(&target, &plan, &given_up, starter).await?;
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

/// Whether the server answers within the time that it is waited for. One that does not come back by itself is started, where
/// somebody said how, and then waited for as long.
async fn wait_for(
    target: &Target,
    plan: &HuntPlan,
    given_up: &AtomicBool,
    starter: &mut Starter,
) -> Result<bool, HuntError> {
    let begun = clock::now();
    let patience = plan.environment.server_return_max;
    let mut until = begun + patience;
    let mut grace = starter.may_start().then(|| begun + patience.min(Duration::from_millis(SERVER_GRACE_MS)));
    loop {
        // A server that takes connections and never answers is no reason to start it late.
        let deadline = grace.unwrap_or(until);
        if let Opened::Version(_) = probe::open(target, &plan.environment.data_dir, Some(deadline)).await? {
            return Ok(true);
        }
        if given_up.load(Ordering::Relaxed) {
            return Ok(false);
        }
        starter.look();
        if clock::now() >= deadline {
            if grace.take().is_none() {
                return Ok(false);
            }
            starter.start()?;
            until = clock::now() + patience;
        }
        tokio::time::sleep(EVERY).await;
    }
}
