//! Exchanges as files, one per request, named by its hash.
//!
//! **Invariant:** a recording is complete or absent: it is written beside its place and then renamed. Faults are not
//! recorded: a replay says that there is no recording, instead of repeating what may have passed.

use super::error::{Fault, ModelError};
use super::exchange::Exchange;
use super::request::Request;
use super::{Asking, Model};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

fn file_of(dir: &Path, hash: &str) -> PathBuf {
    dir.join(format!("{hash}.json"))
}

/// Keeps what another model answers. It answers nothing by itself, and a recording that is there is replaced.
#[derive(Debug)]
pub struct Recorder<M> {
    inner: M,
    dir: PathBuf,
    /// Two askings of one request at once must not share a file.
    next: AtomicU64,
    /// What could not be written. The answer itself is passed on, for it is paid; the next asking ends with this.
    failed: Mutex<Option<Fault>>,
}

impl<M: Model> Recorder<M> {
    /// Records into a directory, which is made if need be.
    pub fn new(inner: M, dir: impl Into<PathBuf>) -> io::Result<Self> {
        let dir = dir.into();
        std::fs::create_dir_all(&dir)?;
        Ok(Self { inner, dir, next: AtomicU64::new(0), failed: Mutex::new(None) })
    }

    fn write(&self, exchange: &Exchange) -> io::Result<()> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let part = self.dir.join(format!(".{}.{}.{number}", exchange.request_hash, std::process::id()));
        let mut text = serde_json::to_vec_pretty(exchange)?;
        text.push(b'\n');
        let written = std::fs::write(&part, text)
            .and_then(|()| std::fs::rename(&part, file_of(&self.dir, &exchange.request_hash)));
        if written.is_err() {
            // The first error is the one to tell.
            let _ = std::fs::remove_file(&part);
        }
        written
    }
}

impl<M: Model> Model for Recorder<M> {
    fn complete<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        Box::pin(async move {
            if let Some(fault) = self.failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
                return Err(ModelError { fault, attempts: 0, lost_attempts: 0 });
            }
            let exchange = self.inner.complete(request).await?;
            if let Err(error) = self.write(&exchange) {
                let file = file_of(&self.dir, &exchange.request_hash);
                let fault = Fault::NotRecorded { file, message: error.to_string() };
                *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
            }
            Ok(exchange)
        })
    }

    fn billed_attempts_max(&self) -> u32 {
        self.inner.billed_attempts_max()
    }
}

/// Answers from recordings.
#[derive(Debug, Clone)]
pub struct Replay {
    dir: PathBuf,
}

impl Replay {
    /// Answers from the recordings in a directory.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    fn read(&self, request: &Request) -> Result<Exchange, Fault> {
        let hash = request.hash();
        let file = file_of(&self.dir, &hash);
        let text = match std::fs::read(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Fault::NoRecording { hash, file }),
            Err(error) => return Err(Fault::BadRecording { file, message: error.to_string() }),
        };
        let exchange: Exchange = match serde_json::from_slice(&text) {
            Ok(exchange) => exchange,
            Err(error) => return Err(Fault::BadRecording { file, message: error.to_string() }),
        };
        if exchange.request_hash != hash || exchange.request.hash() != hash {
            return Err(Fault::BadRecording { file, message: "it is of another request".into() });
        }
        Ok(exchange)
    }
}

impl Model for Replay {
    fn complete<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        Box::pin(async move { self.read(request).map_err(|fault| ModelError { fault, attempts: 0, lost_attempts: 0 }) })
    }

    /// Recordings cost nothing.
    fn billed_attempts_max(&self) -> u32 {
        0
    }
}
