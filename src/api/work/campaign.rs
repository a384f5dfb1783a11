//! A campaign as a task of the service: it hunts as `caqtus hunt` does, in executors of its own, in a directory of its own,
//! and everything it finds is in the store a moment later.

use super::super::Shared;
use super::super::campaigns::{CampaignRequest, ClassesOf};
use crate::app::campaign::{self, Demands};
use crate::app::cores;
use crate::config::{CampaignLimits, CampaignSpec, ClassChoice, SERVER_RETURN_MS};
use crate::dbms::target::Target;
use crate::hunt;
use crate::hunt::protocol::Ready;
use crate::hunt::stats::Stats;
use crate::hunt::supervisor::{HuntEnvironment, HuntPlan, Progress};
use crate::store::{OpenCampaign, SampleRow};
use crate::triage::finding::{self, FoundReport};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::mpsc;

/// How often progress goes to the store.
const TELL_MS: u64 = 1_000;

/// Samples for charts are this far apart at first, and later this part of the time so far, so that their number grows with
/// its logarithm.
const SAMPLE_SECONDS_MIN: f64 = 2.0;
const SAMPLE_PART: f64 = 0.01;

/// A campaign to be begun or gone on with.
pub(in crate::api) struct Begin {
    pub(in crate::api) id: i64,
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
        let OpenCampaign { id, spec, seed, stopping, seconds } = open;
        Ok(Self { id, request: serde_json::from_value(spec)?, seed, seconds, stopping })
    }
}

/// Runs a campaign beside everything else.
pub(in crate::api) fn spawn(service: &Shared, begin: Begin) {
    let service = service.clone();
    service.work.spawn(run(service.clone(), begin));
}

/// What became of a part of a campaign.
enum Ended {
    /// It is done, for this reason.
    For(&'static str, Option<String>, Option<serde_json::Value>),
    /// The service ends; the next start goes on.
    HandedBack,
}

async fn run(service: Shared, begin: Begin) {
    let mut ending = service.ending.clone();
    let place = tokio::select! {
        place = service.work.campaigns.clone().acquire_owned() => place,
        _ = ending.wait_for(|ending| *ending) => return,
    };
    service.metrics.campaigns.inc();
    let id = begin.id;
    let ended = if begin.stopping { Ended::For("stopped", None, None) } else { hunt(&service, begin).await };
    service.metrics.campaigns.dec();
    drop(place);
    let stored = match &ended {
        Ended::HandedBack => Ok(()),
        Ended::For(state, error, summary) => {
            service.store.campaign_end(id, state, error.as_deref(), summary.as_ref()).await
        }
    };
    if let Err(error) = stored {
        // It runs on in the store, and the next start ends it.
        tracing::error!(campaign = id, error = format!("{:#}", anyhow::Error::from(error)), "its end is not stored");
    }
}

async fn hunt(service: &Shared, begin: Begin) -> Ended {
    let id = begin.id;
    let out_dir = service.data_dir.join("campaigns").join(id.to_string());
    let plan = match plan(service, &begin, &out_dir).await {
        Ok(plan) => plan,
        Err(error) => return Ended::For("failed", Some(format!("{error:#}")), None),
    };
    let (stop, stopped) = mpsc::channel(1);
    let (tell, told) = mpsc::unbounded_channel();
    let recorder = tokio::spawn(record(service.clone(), begin.id, begin.seconds, told, stop.clone()));
    let mut ending = service.ending.clone();
    let stop_at_end = async {
        // The sender is dropped with the service only.
        let _ = ending.wait_for(|ending| *ending).await;
        let _ = stop.try_send(());
        std::future::pending::<()>().await;
    };
    let mut reporter = Reporter { tell, said: Duration::ZERO };
    let ended = tokio::select! {
        ended = campaign::run(plan, Demands::default(), None, &mut reporter, stopped) => ended,
        () = stop_at_end => return Ended::HandedBack,
    };
    drop(reporter);
    let asked = recorder.await.unwrap_or(false);
    // Whatever the store missed meanwhile.
    let survey = finding::survey(&out_dir).unwrap_or_default();
    for (_, finding) in &survey.findings {
        if let Err(error) = service.store.finding_put(id, finding).await {
            let error = format!("{:#}", anyhow::Error::from(error));
            tracing::error!(campaign = id, finding = finding.id, error, "a finding is not stored; it is on disk");
        }
    }
    let ended = match ended {
        Ok(ended) => ended,
        Err(error) => return Ended::For("failed", Some(format!("{:#}", anyhow::Error::from(error))), None),
    };
    let error = ended.error.as_ref().map(|error| format!("{error:#}"));
    let summary = serde_json::to_value(ended.json()).ok();
    match (&error, asked, *service.ending.borrow()) {
        (Some(_), ..) => Ended::For("failed", error, summary),
        (None, true, _) => Ended::For("stopped", None, summary),
        (None, false, true) => Ended::HandedBack,
        (None, false, false) => Ended::For("finished", None, summary),
    }
}

/// What is run, and where; a campaign whose state is on disk is gone on with.
async fn plan(service: &Shared, begin: &Begin, out_dir: &Path) -> anyhow::Result<HuntPlan> {
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
        ..CampaignLimits::default()
    };
    let environment = HuntEnvironment {
        data_dir: service.data_dir.clone(),
        out_dir: out_dir.to_path_buf(),
        workers: request.workers.map_or_else(cores, usize::from),
        server_return_max: Duration::from_millis(SERVER_RETURN_MS),
    };
    Ok(HuntPlan { spec, environment, resume })
}

/// What a hunt says.
enum Told {
    Ready(String),
    Sums(SampleRow),
    Found(PathBuf),
}

/// Hears of the hunt, and passes it on without waiting.
struct Reporter {
    tell: mpsc::UnboundedSender<Told>,
    /// When sums were told last.
    said: Duration,
}

fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Progress for Reporter {
    fn ready(&mut self, ready: &Ready) {
        let _ = self.tell.send(Told::Ready(ready.version.clone()));
    }

    fn update(&mut self, stats: &Stats, findings: usize, elapsed: Duration) {
        if elapsed < self.said + Duration::from_millis(TELL_MS) {
            return;
        }
        self.said = elapsed;
        let outcomes = &stats.outcomes;
        let _ = self.tell.send(Told::Sums(SampleRow {
            seconds: elapsed.as_secs_f64(),
            cases: int(outcomes.cases()),
            statements: int(stats.statements),
            pass: int(outcomes.pass),
            skipped: int(outcomes.skipped),
            warning: int(outcomes.warning),
            fail: int(outcomes.fail),
            findings: i64::try_from(findings).unwrap_or(i64::MAX),
        }));
    }

    fn note(&mut self, message: &str) {
        tracing::info!(message, "a campaign");
    }

    fn found(&mut self, found: &FoundReport) {
        let _ = self.tell.send(Told::Found(PathBuf::from(&found.dir)));
    }
}

/// Stores what a hunt says, and stops it when somebody asked for that; whether somebody did.
async fn record(
    service: Shared,
    id: i64,
    before: f64,
    mut told: mpsc::UnboundedReceiver<Told>,
    stop: mpsc::Sender<()>,
) -> bool {
    let (mut next_sample, mut cases, mut asked) = (0.0, None, false);
    while let Some(told) = told.recv().await {
        let stored = match told {
            Told::Ready(version) => service.store.campaign_ready(id, &version).await,
            Told::Found(dir) => match finding::read(&dir) {
                Ok(finding) => service.store.finding_put(id, &finding).await.map(|new| {
                    service.metrics.findings.inc_by(u64::from(new));
                }),
                // It is read again when the campaign ends.
                Err(error) => {
                    tracing::warn!(campaign = id, %error, "a finding cannot be read");
                    Ok(())
                }
            },
            Told::Sums(mut sample) => {
                sample.seconds += before;
                let keep = sample.seconds >= next_sample;
                if keep {
                    next_sample = sample.seconds + (sample.seconds * SAMPLE_PART).max(SAMPLE_SECONDS_MIN);
                }
                // Sums of a campaign that goes on begin with those of its earlier parts.
                let new = sample.cases - cases.unwrap_or(sample.cases);
                service.metrics.cases.inc_by(u64::try_from(new).unwrap_or(0));
                cases = Some(sample.cases);
                let SampleRow { pass, skipped, warning, fail, .. } = sample;
                let summary = json!({
                    "cases": sample.cases, "statements": sample.statements,
                    "outcomes": { "pass": pass, "skipped": skipped, "warning": warning, "fail": fail },
                });
                service.store.campaign_progress(id, &sample, &summary, keep).await.map(|state| {
                    if state == "stopping" {
                        asked = true;
                        // It may be stopping already.
                        let _ = stop.try_send(());
                    }
                })
            }
        };
        if let Err(error) = stored {
            let error = format!("{:#}", anyhow::Error::from(error));
            tracing::error!(campaign = id, error, "the progress of a campaign is not stored");
        }
    }
    asked
}
