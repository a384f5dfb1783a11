//! What `caqtus serve --demo` shows: the shipped catalogue, and a short hunt on an old SQLite.

use super::Shared;
use super::campaigns::{self, CampaignRequest, ClassesOf};
use crate::app::import::{self, ImportError, Trust, Workshop};
use crate::app::{Progress, engine};
use crate::catalogue;
use crate::config::CatalogueSource;
use crate::store::Store;
use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

/// An old version, which has known bugs.
const VERSION: &str = "3.39.2";

/// What is hunted on where that version cannot be had: SQLite with a fault that was put there.
const PLANTED: &str = "planted:drop-row";

/// Seconds of the hunt.
const HUNT_S: u64 = 90;

/// Writes what is worth knowing into the log.
struct Log;

impl Progress for Log {
    fn update(&mut self, _: &dyn Display, _: Duration) {}

    fn note(&mut self, message: &str) {
        tracing::info!("{message}");
    }
}

/// Fills a store with the classes and snippets that ship.
pub(super) async fn fill(store: &Store, data_dir: &Path) -> Result<(), ImportError> {
    let shipped = catalogue::load(&CatalogueSource::default());
    let classes = shipped.map(|catalogue| catalogue.classes).unwrap_or_default();
    let workshop = Workshop {
        targets: vec!["sqlite".to_owned()],
        data_dir: data_dir.to_owned(),
        seed: 1,
        workers: 1,
        prover: None,
    };
    import::classes(store, &classes, Trust::Shipped, &workshop, &mut Log).await?;
    import::shipped_snippets(store, &mut Log).await?;
    Ok(())
}

/// Starts the hunt, once its engine is here. What goes wrong is in the log; the rest of the service does not need it.
pub(super) async fn hunt(service: Shared) {
    let mut ending = service.ending.clone();
    let mut log = Log;
    let installed = tokio::select! {
        installed = engine::install(&service.data_dir, "sqlite", VERSION, &mut log) => installed,
        _ = ending.wait_for(|ending| *ending) => return,
    };
    let dbms = match installed {
        Ok(_) => format!("sqlite@{VERSION}"),
        Err(error) => {
            let error = anyhow::Error::from(error);
            tracing::warn!(
                "SQLite {VERSION} cannot be had ({error:#}); the demo hunts on {PLANTED}, whose fault is planted"
            );
            PLANTED.to_owned()
        }
    };
    let request = CampaignRequest {
        dbms,
        classes_of: ClassesOf::Store,
        seed: Some(1),
        cases: None,
        seconds: Some(HUNT_S),
        max_bugs: None,
        workers: None,
        oracles: Vec::new(),
        classes: Vec::new(),
        assumed: false,
        snippet_percent: None,
    };
    match campaigns::do_start(&service, request, "demo", "demo").await {
        Ok(started) => tracing::info!(campaign = started.id, "the demo's hunt begins"),
        Err(problem) => tracing::warn!("the demo's hunt does not begin: {}", problem.detail),
    }
}
