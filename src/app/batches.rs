//! Prompts that wait for an answer, through the endpoint's Batch API.

use super::Progress;
use super::discovery::imported_text;
use crate::discover::batch;
use crate::discover::proposer::Asker;
use crate::llm::Live;
use crate::llm::batch::Batches;
use crate::llm::budget::Exceeded;
use crate::store::{Run, Store};
use anyhow::bail;
use std::time::Duration;
use tokio::sync::watch;

/// What came of a batch.
#[derive(Debug)]
pub(super) enum Round {
    /// Answers, which are in the store.
    Answered,
    /// Nothing waits.
    Nothing,
    /// Somebody stopped it. The batch goes on, and is asked for later.
    Stopped,
    /// Not one prompt is within the budget.
    Budget(Exceeded),
}

/// Hands what waits to the endpoint as a batch, unless one of the run is under way, and waits for its answers. `poll` is how
/// often it is asked for its state.
pub(super) async fn round(
    live: &Live,
    asker: &Asker,
    (store, run): (&Store, &Run),
    poll: Duration,
    stop: &watch::Receiver<bool>,
    progress: &mut dyn Progress,
) -> anyhow::Result<Round> {
    let sample = asker.pending.lock().ok().and_then(|pending| pending.first().cloned());
    let Some(sample) = sample else { return Ok(Round::Nothing) };
    let batches = Batches::new(live, &sample);
    let open = store.batch_list_open(run.id).await?;
    let id = if let Some(id) = open.into_iter().next() {
        id
    } else {
        let (lines, exceeded) = batch::export(asker, store, run, live.shape()).await?;
        if let Some(exceeded) = exceeded.filter(|_| lines.is_empty()) {
            return Ok(Round::Budget(exceeded));
        }
        let file = batches.upload(&(lines.join("\n") + "\n")).await?;
        let batch = batches.create(&file).await?;
        store.batch_put(&batch.id, run.id).await?;
        progress.note(&format!("batch {}: {} prompts", batch.id, lines.len()));
        batch.id
    };
    let batch = loop {
        let batch = batches.status(&id).await?;
        if batch.has_ended() {
            break batch;
        }
        progress.update(&format_args!("batch {id}: {}", batch.status), Duration::ZERO);
        let mut stopped = stop.clone();
        tokio::select! {
            () = tokio::time::sleep(poll) => {}
            _ = stopped.wait_for(|stop| *stop) => return Ok(Round::Stopped),
        }
    };
    let mut answered = 0;
    for file in [&batch.output_file_id, &batch.error_file_id].into_iter().flatten() {
        let text = batches.download(file).await?;
        let imported = batch::import(asker, store, run, &text).await?;
        answered += imported.answered;
        progress.note(&imported_text(&format!("batch {id}"), &imported));
    }
    store.batch_end(&id).await?;
    if answered == 0 {
        bail!("batch {id} ended as {} without an answer; the same command tries again", batch.status);
    }
    Ok(Round::Answered)
}
