//! Engines under test: opening them, and getting versions of them.

use super::Progress;
use crate::dbms::install::{EngineStore, InstallError};
use crate::dbms::target::Target;
use crate::hunt::error::HuntError;
use crate::hunt::probe;
use std::path::{Path, PathBuf};
use tokio::sync::mpsc;

/// Opens a target in a process of its own, which it may crash or stop, and returns the engine's version.
pub async fn open_apart(target: &Target, data_dir: &Path) -> Result<String, HuntError> {
    probe::open(target, data_dir, None).await?.version(target).map_err(HuntError::Executor)
}

/// Installs a version and returns its library or directory. It may take minutes, during which other tasks go on.
pub async fn install(
    data_dir: &Path,
    engine: &str,
    version: &str,
    progress: &mut dyn Progress,
) -> Result<PathBuf, InstallError> {
    let store = EngineStore::new(data_dir);
    let (engine, version) = (engine.to_owned(), version.to_owned());
    let (say, mut said) = mpsc::unbounded_channel();
    let work = tokio::task::spawn_blocking(move || {
        store.install(&engine, &version, |step| {
            // Whoever asked may be gone.
            let _ = say.send(step.to_owned());
        })
    });
    while let Some(step) = said.recv().await {
        progress.note(&step);
    }
    match work.await {
        Ok(installed) => installed,
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    }
}
