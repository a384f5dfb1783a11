//! What takes longer than a request: campaigns, and jobs one after the other. What a service was at when it ended, in
//! whatever way, it goes on with when it starts again.

pub(super) mod campaign;
mod job;

use super::{Shared, hex};
use crate::rng;
use futures::FutureExt as _;
use std::fs::{self, File, TryLockError};
use std::future::Future;
use std::io::{self, Write as _};
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Campaigns that one service runs at once.
pub(super) const CAMPAIGNS_MAX: usize = 4;

/// The longest that campaigns may take to stop when the service ends.
const STOPPING_MS_MAX: u64 = 45_000;

/// What the service is at.
pub(super) struct Work {
    /// Of the service, the same whenever it starts: what is its own has this name in the store.
    pub(super) name: String,
    tasks: Mutex<JoinSet<()>>,
    jobs: mpsc::UnboundedSender<i64>,
    queue: Mutex<Option<mpsc::UnboundedReceiver<i64>>>,
    /// Held as long as the service lives: two in one data directory would both go on with the same campaigns.
    _lock: File,
}

impl Work {
    /// The work of the service of a data directory; nothing is begun.
    pub(super) fn open(data_dir: &Path) -> io::Result<Self> {
        fs::create_dir_all(data_dir)?;
        let lock = File::options().create(true).append(true).open(data_dir.join("service.lock"))?;
        if let Err(TryLockError::WouldBlock) = lock.try_lock() {
            return Err(io::Error::new(
                io::ErrorKind::ResourceBusy,
                "another caqtus serve works there; stop it, or give this one a directory of its own with --data-dir",
            ));
        }
        let path = data_dir.join("service-name");
        let name = match fs::read_to_string(&path) {
            Ok(name) if !name.trim().is_empty() => name.trim().to_owned(),
            _ => {
                let name = hex(&rng::secret()?[..8]);
                let mut file = File::create(&path)?;
                writeln!(file, "{name}")?;
                file.sync_all()?;
                name
            }
        };
        let (jobs, queue) = mpsc::unbounded_channel();
        Ok(Self { name, tasks: Mutex::default(), jobs, queue: Mutex::new(Some(queue)), _lock: lock })
    }

    /// Has a job done when those before it are.
    pub(super) fn enqueue(&self, job: i64) {
        // Without a worker the service is ending, and the job waits in the store.
        let _ = self.jobs.send(job);
    }

    /// Does something as long as the service lives.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    /// Waits until everything has stopped, which the service's end has asked for.
    pub(super) async fn end(&self) {
        let mut tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let all = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(Duration::from_millis(STOPPING_MS_MAX), all).await.is_err() {
            tracing::warn!("campaigns did not stop in time; the next start goes on with them");
        }
        tasks.shutdown().await;
    }
}

/// Goes on with what was not ended when the service ended, and takes up jobs.
pub(super) async fn begin(service: &Shared) -> Result<(), crate::store::StoreError> {
    for open in service.store.campaign_open(&service.work.name).await? {
        let id = open.id;
        match campaign::Begin::of(open) {
            Ok(begin) => {
                tracing::info!(campaign = id, "goes on");
                campaign::spawn(service, begin);
            }
            Err(error) => {
                let error = format!("what was asked for cannot be read: {error}");
                service.store.campaign_end(id, "failed", Some(&error), None, None).await?;
            }
        }
    }
    let queue = service.work.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
    let open = service.store.job_open(&service.work.name).await?;
    if let Some(queue) = queue {
        let service = service.clone();
        service.work.spawn(job::work(service.clone(), queue));
    }
    open.iter().for_each(|job| service.work.enqueue(job.id));
    service.work.spawn(forget(service.clone()));
    service.work.spawn(keep_store(service.clone()));
    Ok(())
}

/// How often old events are forgotten.
const FORGET_MS: u64 = 3_600_000;

/// Forgets old events, as long as the service lives.
async fn forget(service: Shared) {
    let mut ending = service.ending.clone();
    loop {
        if let Err(error) = service.store.event_forget().await {
            tracing::warn!(error = format!("{:#}", anyhow::Error::from(error)), "old events are not forgotten");
        }
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(FORGET_MS)) => {}
            _ = ending.wait_for(|ending| *ending) => return,
        }
    }
}

/// How often it is looked whether the store's own server lives.
const KEEP_MS: u64 = 10_000;

/// Starts the store's own server again when it has died, as long as the service lives.
async fn keep_store(service: Shared) {
    let mut ending = service.ending.clone();
    loop {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(KEEP_MS)) => {}
            _ = ending.wait_for(|ending| *ending) => return,
        }
        if let Err(error) = service.store.ensure_running().await {
            tracing::error!(
                error = format!("{:#}", anyhow::Error::from(error)),
                "the store's server does not start again"
            );
        }
    }
}

/// How long a store that is away is waited for, before it is asked again.
const AGAIN_MS: u64 = 5_000;

/// Waits before a store that is away is asked again. Whether the service lives on.
async fn wait_for_store(service: &Shared) -> bool {
    let mut ending = service.ending.clone();
    tokio::select! {
        () = tokio::time::sleep(Duration::from_millis(AGAIN_MS)) => true,
        _ = ending.wait_for(|ending| *ending) => false,
    }
}

/// What somebody's code came to, unless it panicked; then what it said.
async fn caught<T>(work: impl Future<Output = T>) -> Result<T, String> {
    AssertUnwindSafe(work).catch_unwind().await.map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        format!("the service failed: {}", text.unwrap_or_else(|| "nobody knows why".to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_error() {
        assert_eq!(caught(async { 7 }).await, Ok(7));
        let said = caught(async { panic!("no {}", "way") }).await;
        assert_eq!(said, Err::<(), _>("the service failed: no way".to_owned()));
    }
}
