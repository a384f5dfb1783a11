//! Jobs, one after the other: proofs, bisections, installations, looks at what hunts reached.

use super::super::Shared;
use super::{caught, wait_for_store};
use crate::app::bisection::{self, Among};
use crate::app::corpus::{self, Kind};
use crate::app::import::{self, ImportError, Workshop};
use crate::app::{Progress, cores, engine};
use crate::clock;
use crate::discover::pool::PoolError;
use crate::store::{CheckedBy, JobRow};
use anyhow::{Context as _, anyhow};
use serde_json::{Value, json};
use std::fmt::Display;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// How often a job's words go to the store, at most.
const TELL_MS: u64 = 1_000;

/// The seed of the cases on which a class is run before it is released.
const CHECK_SEED: u64 = 1;

/// What a job came to.
enum Outcome {
    Done(String, Value),
    /// What it needs is not here.
    Waits(String),
}

/// Does jobs until the service ends.
pub(super) async fn work(service: Shared, mut queue: mpsc::UnboundedReceiver<i64>) {
    let mut ending = service.ending.clone();
    loop {
        let id = tokio::select! {
            id = queue.recv() => id,
            _ = ending.wait_for(|ending| *ending) => return,
        };
        let Some(id) = id else { return };
        // Those of other services are theirs.
        let job = loop {
            match service.store.job_take(id, &service.work.name).await {
                Ok(job) => break job,
                Err(error) => {
                    let is_away = error.is_away();
                    let error = format!("{:#}", anyhow::Error::from(error));
                    tracing::error!(job = id, error, "a job cannot be begun; the next start does, if this one cannot");
                    if !is_away {
                        break None;
                    }
                    if !wait_for_store(&service).await {
                        return;
                    }
                }
            }
        };
        let Some(job) = job else { continue };
        tokio::select! {
            () = perform(&service, &job) => {}
            // It is still noted as running, and the next start begins it anew.
            _ = ending.wait_for(|ending| *ending) => return,
        }
    }
}

async fn perform(service: &Shared, job: &JobRow) {
    let (say, said) = mpsc::unbounded_channel();
    let telling = tokio::spawn(tell(service.clone(), job.id, said));
    let mut progress = Saying { say, last: None };
    progress.note("begun");
    let work = async {
        match job.kind.as_str() {
            "prove" => prove(service, job, &mut progress).await,
            "bisect" => bisect(service, job, &mut progress).await,
            "install" => install(service, &job.subject, &mut progress).await,
            "cover" => cover(service, &job.subject).await,
            other => Err(anyhow!("nobody knows how to {other}")),
        }
    };
    // Others wait behind it.
    let outcome = Box::pin(caught(work)).await.unwrap_or_else(|panic| Err(anyhow!(panic)));
    drop(progress);
    let _ = telling.await;
    let (state, message, result) = match outcome {
        Ok(Outcome::Done(message, result)) => ("done", message, Some(result)),
        Ok(Outcome::Waits(message)) => ("waiting", message, None),
        Err(error) => ("failed", format!("{error:#}"), None),
    };
    while let Err(error) = service.store.job_note(job.id, state, &message, result.as_ref()).await {
        let is_away = error.is_away();
        tracing::error!(job = job.id, error = format!("{:#}", anyhow::Error::from(error)), "a job is not stored");
        if !is_away || !wait_for_store(service).await {
            return;
        }
    }
}

/// Passes on what a job says, not too often.
struct Saying {
    say: mpsc::UnboundedSender<String>,
    last: Option<Instant>,
}

impl Progress for Saying {
    fn update(&mut self, state: &dyn Display, _: Duration) {
        let now = clock::now();
        if self.last.is_none_or(|last| now - last >= Duration::from_millis(TELL_MS)) {
            self.last = Some(now);
            let _ = self.say.send(state.to_string());
        }
    }

    fn note(&mut self, message: &str) {
        let _ = self.say.send(message.to_owned());
    }
}

async fn tell(service: Shared, job: i64, mut said: mpsc::UnboundedReceiver<String>) {
    while let Some(message) = said.recv().await {
        // What was said next counts, and how it ended is noted by somebody else.
        let _ = service.store.job_note(job, "running", &message, None).await;
    }
}

/// Proves the members of a class against the first, and runs it on the embedded engine and those that are here.
async fn prove(service: &Shared, job: &JobRow, progress: &mut dyn Progress) -> anyhow::Result<Outcome> {
    let name = job.subject.strip_prefix("class ").unwrap_or(&job.subject);
    let workshop = Workshop {
        targets: vec!["sqlite".to_owned()],
        data_dir: service.data_dir.clone(),
        seed: CHECK_SEED,
        workers: cores(),
        prover: std::env::var_os("CAQTUS_PROVER").map(Into::into),
    };
    let by = CheckedBy { who: &job.asked_by, job: Some(job.id) };
    match import::prove_again(&service.store, name, by, &workshop, progress).await {
        Ok(totals) => {
            let result = serde_json::to_value(&totals)?;
            let state = service.store.class_fetch(name).await?.map(|class| class.state.name()).unwrap_or_default();
            Ok(Outcome::Done(format!("the class is {state}"), result))
        }
        Err(ImportError::Prover(error @ PoolError::Missing)) => {
            Ok(Outcome::Waits(format!("{error}; asked for again, or when the service starts anew, it is tried again")))
        }
        Err(error) => Err(error.into()),
    }
}

/// Finds the versions between which a bug shows, by its smallest finding.
async fn bisect(service: &Shared, job: &JobRow, progress: &mut dyn Progress) -> anyhow::Result<Outcome> {
    let id: i64 = job.subject.strip_prefix("bug ").unwrap_or_default().parse().context("no number of a bug")?;
    let bug = service.store.bug_fetch(id).await?.context("the bug is gone")?;
    let smallest = bug.smallest.context("the bug has no finding")?;
    let found = service.store.finding_fetch(smallest).await?.context("the finding is gone")?;
    let dir = service.data_dir.join("bisections").join(job.id.to_string());
    std::fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let path = dir.join("case.json");
    std::fs::write(&path, serde_json::to_string(&found)?)
        .with_context(|| format!("cannot write {}", path.display()))?;
    let bisected = bisection::bisect(&dir, &found, &service.data_dir, Among::Installed, progress).await;
    // It can be made again from the store.
    let _ = std::fs::remove_dir_all(&dir);
    let bisection = bisected?;
    let value = serde_json::to_value(&bisection)?;
    service.store.bug_bisected(id, &value, &job.asked_by).await?;
    let mut message = format!("it shows from {} to {}", bisection.first_bad, bisection.last_bad);
    let together = service.store.bug_bring_together(id, &job.asked_by).await?;
    if let Some((part, whole)) = together {
        message = format!(
            "{message}; bug {part} is a part of bug {whole} now: they are alike, and no two versions fixed them"
        );
    }
    Ok(Outcome::Done(
        message,
        json!({ "finding": smallest, "bisection": value, "merged_into": together.map(|(_, whole)| whole) }),
    ))
}

async fn install(service: &Shared, subject: &str, progress: &mut dyn Progress) -> anyhow::Result<Outcome> {
    let (name, version) = subject.split_once('@').context("no version of an engine")?;
    engine::install(&service.data_dir, name, version, progress).await?;
    Ok(Outcome::Done(format!("{subject} is installed"), json!({ "engine": name, "version": version })))
}

/// Asks an engine for its features, and notes which of them hunts reached.
async fn cover(service: &Shared, dbms: &str) -> anyhow::Result<Outcome> {
    let reached = corpus::coverage(dbms, &service.data_dir, Some(&service.store)).await?;
    let (counts, all) = (reached.counts(), serde_json::to_value(&reached)?);
    service.store.coverage_put(dbms, &reached.dialect, &reached.version, &counts, &all).await?;
    let of = |kind: &Kind| format!("{} of {}", kind.used, kind.known);
    let message = format!("hunts reached {} functions and {} clauses", of(&reached.functions), of(&reached.clauses));
    Ok(Outcome::Done(message, counts))
}
