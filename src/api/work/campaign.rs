//! A campaign as a task of the service: it hunts as `caqtus hunt` does, in executors of its own, in a directory of its own,
//! and everything it finds is in the store a moment later.

use super::super::Shared;
use super::super::campaigns::{CampaignRequest, ClassesOf};
use super::super::coverage;
use super::caught;
use crate::app::campaign::{self, Demands, KnownSources};
use crate::app::live::Known;
use crate::app::{cores, live};
use crate::config::{CampaignLimits, CampaignSpec, ClassChoice};
use crate::dbms::install::version_key;
use crate::dbms::target::Target;
use crate::hunt;
use crate::hunt::gone::{Evidence, Watched};
use crate::hunt::plan::{HuntEnvironment, HuntPlan, Progress};
use crate::hunt::protocol::Ready;
use crate::hunt::stats::Stats;
use crate::store::{IgnoredBug, OpenCampaign, StoreError};
use crate::triage::finding;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::mpsc;

/// A campaign to be begun or gone on with.
pub(in crate::api) struct Begin {
    pub(in crate::api) id: i64,
    /// Of it alone, in all stores.
    pub(in crate::api) key: String,
    pub(in crate::api) request: CampaignRequest,
    pub(in crate::api) seed: u64,
    /// Seconds that it ran before.
    pub(in crate::api) seconds: f64,
    /// Somebody wanted it to stop before the service ended.
    pub(in crate::api) stopping: bool,
}

impl Begin {
    /// What the store has of a campaign that was not ended.
    pub(super) fn of(open: OpenCampaign) -> Result<Self, serde_json::Error> {
        let OpenCampaign { id, key, spec, seed, stopping, seconds } = open;
        Ok(Self { id, key, request: serde_json::from_value(spec)?, seed, seconds, stopping })
    }

    /// What lists say is known on its engine. A list that cannot be used is said in the log; its bugs are news then.
    fn lists(&self, dir: &Path) -> Known {
        let target: Result<Target, _> = self.request.dbms.parse();
        let engine = target.map(|target| target.dialect().to_owned()).unwrap_or_default();
        let bugs = campaign::known_bugs(&engine, &KnownSources::default(), dir).unwrap_or_else(|error| {
            tracing::error!(campaign = self.id, error = format!("{:#}", anyhow::Error::from(error)), "no list is used");
            Vec::new()
        });
        Known { engine, bugs }
    }

    /// Its directory. Numbers are given anew in another store, so it is named after what is not.
    fn dir(&self, data_dir: &Path) -> PathBuf {
        data_dir.join("campaigns").join(self.key.trim_start_matches("service "))
    }
}

/// Runs a campaign beside everything else.
pub(in crate::api) fn spawn(service: &Shared, begin: Begin) {
    let service = service.clone();
    service.work.spawn(run(service.clone(), begin));
}

/// What became of a part of a campaign.
enum Ended {
    /// It is done.
    Done(Done),
    /// The service ends; the next start goes on.
    HandedBack,
}

/// How a campaign ended.
struct Done {
    state: &'static str,
    error: Option<String>,
    summary: Option<serde_json::Value>,
    /// Over all its parts, if it ran.
    seconds: Option<f64>,
}

impl Done {
    fn failed(error: String) -> Self {
        Self { state: "failed", error: Some(error), summary: None, seconds: None }
    }
}

async fn run(service: Shared, begin: Begin) {
    service.metrics.campaigns.inc();
    let (id, dir, dbms) = (begin.id, begin.dir(&service.data_dir), begin.request.dbms.clone());
    let lists = begin.lists(&dir);
    let ended = if begin.stopping {
        Ended::Done(Done { state: "stopped", error: None, summary: None, seconds: None })
    } else {
        Box::pin(caught(hunt(&service, begin, &dir, lists.clone())))
            .await
            .unwrap_or_else(|panic| Ended::Done(Done::failed(panic)))
    };
    // Whatever the store missed: a service that was killed told it nothing more.
    let mut found = store_found(&service, id, &dir, &lists).await;
    service.metrics.campaigns.dec();
    let Ended::Done(Done { state, error, summary, seconds }) = ended else { return };
    loop {
        // What has ended is not looked at again, so its findings come first.
        let stored = match found {
            Ok(()) => service.store.campaign_end(id, state, error.as_deref(), summary.as_ref(), seconds).await,
            Err(error) => Err(error),
        };
        let Err(error) = stored else { break };
        let is_away = error.is_away();
        // It runs on in the store, and the next start ends it.
        tracing::error!(campaign = id, error = format!("{:#}", anyhow::Error::from(error)), "its end is not stored");
        if !is_away || !super::wait_for_store(&service).await {
            return;
        }
        found = store_found(&service, id, &dir, &lists).await;
    }
    if seconds.is_some() {
        coverage::ask_after(&service, &dbms, id).await;
    }
}

/// Stores the findings of a campaign's directory. What cannot be stored is in the log.
///
/// # Errors
/// A store that is away: some findings may not be stored.
async fn store_found(service: &Shared, id: i64, dir: &Path, lists: &Known) -> Result<(), StoreError> {
    let dir = dir.to_owned();
    let survey = tokio::task::spawn_blocking(move || finding::survey(&dir)).await;
    let findings = match survey {
        Ok(Ok(survey)) => survey.findings,
        Ok(Err(error)) => {
            let error = format!("{:#}", anyhow::Error::from(error));
            tracing::error!(campaign = id, error, "the findings of a campaign cannot be read");
            return Ok(());
        }
        Err(error) => {
            tracing::error!(campaign = id, %error, "the findings of a campaign cannot be read");
            return Ok(());
        }
    };
    for (_, finding) in &findings {
        match service.store.finding_put(id, finding, lists.reason(finding).as_deref()).await {
            Ok(new) => {
                service.metrics.findings.inc_by(u64::from(new));
            }
            Err(error) if error.is_away() => return Err(error),
            Err(error) => {
                let error = format!("{:#}", anyhow::Error::from(error));
                tracing::error!(campaign = id, finding = finding.id, error, "a finding is not stored; it is on disk");
            }
        }
    }
    Ok(())
}

async fn hunt(service: &Shared, begin: Begin, out_dir: &Path, lists: Known) -> Ended {
    let plan = loop {
        match plan(service, &begin, out_dir, &lists).await {
            Ok(plan) => break plan,
            Err(error) if is_away(&error) => {
                tracing::warn!(campaign = begin.id, error = format!("{error:#}"), "a campaign waits for the store");
                if !super::wait_for_store(service).await {
                    return Ended::HandedBack;
                }
            }
            Err(error) => return Ended::Done(Done::failed(format!("{error:#}"))),
        }
    };
    let (stop, stopped) = mpsc::channel(1);
    let mut log = Log;
    let (mut reporter, heard) = live::hear(&mut log);
    let row = live::Campaign::Known { id: begin.id, before: begin.seconds };
    let place = live::Place { dbms: begin.request.dbms.clone(), data_dir: service.data_dir.clone() };
    let counting = service.clone();
    let count = move |cases, findings| {
        counting.metrics.cases.inc_by(cases);
        counting.metrics.findings.inc_by(findings);
    };
    let recorder = tokio::spawn(live::record(service.store.clone(), row, place, heard, stop.clone(), lists, count));
    let mut ending = service.ending.clone();
    let stop_at_end = async {
        // The sender is dropped with the service only.
        let _ = ending.wait_for(|ending| *ending).await;
        let _ = stop.try_send(());
        std::future::pending::<()>().await;
    };
    let ended = tokio::select! {
        ended = campaign::run(plan, Demands::default(), None, &mut reporter, stopped) => ended,
        () = stop_at_end => return Ended::HandedBack,
    };
    drop(reporter);
    let asked = recorder.await.unwrap_or_default().asked;
    let ended = match ended {
        Ok(ended) => ended,
        Err(error) => return Ended::Done(Done::failed(format!("{:#}", anyhow::Error::from(error)))),
    };
    let error = ended.error.as_ref().map(|error| format!("{error:#}"));
    let state = match (&error, asked, *service.ending.borrow()) {
        (Some(_), ..) => "failed",
        (None, true, _) => "stopped",
        (None, false, true) => return Ended::HandedBack,
        (None, false, false) => "finished",
    };
    let seconds = Some(begin.seconds + ended.summary.elapsed.as_secs_f64());
    Ended::Done(Done { state, error, summary: serde_json::to_value(ended.json()).ok(), seconds })
}

/// Whether something failed because the store is away.
fn is_away(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.downcast_ref::<StoreError>().is_some_and(StoreError::is_away))
}

/// What is run, and where; a campaign whose state is on disk is gone on with.
async fn plan(service: &Shared, begin: &Begin, out_dir: &Path, lists: &Known) -> anyhow::Result<HuntPlan> {
    let request = &begin.request;
    let target: Target = request.dbms.parse()?;
    let resume = hunt::campaign::spec(out_dir).is_ok();
    let source = match request.classes_of {
        ClassesOf::Store if !resume => campaign::released(&service.store, target.dialect(), out_dir).await?,
        _ => crate::config::CatalogueSource::default(),
    };
    let mut spec = CampaignSpec::new(target.to_string(), begin.seed);
    spec.choice = ClassChoice {
        source,
        oracles: request.oracles.clone(),
        classes: request.classes.clone(),
        assumed: request.assumed,
    };
    if let Some(percent) = request.snippet_percent {
        spec.snippet_percent = percent;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds that a campaign ran")]
    let ran_ms = (begin.seconds * 1e3) as u64;
    spec.limits = CampaignLimits {
        cases_max: request.cases,
        // A moment is left, so that one that was at its end ends well.
        time_max_ms: request.seconds.map(|seconds| (seconds * 1_000).saturating_sub(ran_ms).max(1_000)),
        bugs_max: request.max_bugs.map(|max| max as usize),
        ..CampaignLimits::default()
    };
    // What is ignored is noted with the bug, which may be decided anew, and not with its findings.
    let mut known = service.store.bug_ignored(&spec.dbms, target.dialect()).await?;
    known.extend(lists.bugs.iter().cloned());
    let workers = request.workers.map_or_else(cores, usize::from);
    let mut watched = campaign::watched_bugs(target.dialect(), &KnownSources::default(), out_dir)?;
    watched.extend(ignored(service, &spec.dbms).await?);
    let environment = HuntEnvironment {
        known,
        watched,
        ..HuntEnvironment::new(service.data_dir.clone(), out_dir.to_path_buf(), workers)
    };
    Ok(HuntPlan { spec, environment, resume })
}

/// The bugs of a target that are ignored. On a version newer than those of their findings a campaign looks whether they are
/// still there.
async fn ignored(service: &Shared, dbms: &str) -> anyhow::Result<Vec<Watched>> {
    let ignored = service.store.bug_ignored_findings(dbms).await?;
    let watched = |IgnoredBug { id, why, finding, versions }: IgnoredBug| Watched {
        reason: format!("bug {id}: {why}"),
        list: None,
        last_seen: versions.into_iter().max_by_key(|version| version_key(version)).unwrap_or_default(),
        evidence: Evidence::Finding(Box::new(finding)),
    };
    Ok(ignored.into_iter().map(watched).collect())
}

/// Writes into the log what is worth knowing of a hunt.
struct Log;

impl Progress for Log {
    fn ready(&mut self, _: &Ready) {}

    fn update(&mut self, _: &Stats, _: usize, _: Duration) {}

    fn note(&mut self, message: &str) {
        tracing::info!(message, "a campaign");
    }
}
