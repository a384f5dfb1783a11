//! The review queue: one class after the other that waits for a decision.

use super::{Visit, catalogue};
use crate::api::Shared;
use crate::api::classes;
use crate::api::extract::Filled;
use crate::api::problem::Problem;
use axum::extract::State;
use axum::response::Response;
use minijinja::context;
use minijinja::value::Serde;
use serde::Deserialize;

/// Classes of the queue that are listed.
const LISTED_MAX: usize = 100;

/// Which class is looked at; the first of the queue if none is named.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Looked {
    class: Option<String>,
}

pub(super) async fn queue(
    State(service): State<Shared>,
    visit: Visit,
    Filled(looked): Filled<Looked>,
) -> Result<Response, Problem> {
    let mut queue = service.store.class_queue(i64::try_from(LISTED_MAX + 1).unwrap_or(i64::MAX)).await?;
    let more = queue.len() > LISTED_MAX;
    queue.truncate(LISTED_MAX);
    let at = looked.class.as_ref().and_then(|name| queue.iter().position(|item| item.name == *name));
    let Some(item) = queue.get(at.unwrap_or_default()) else {
        return visit.page(&service, "review.html", context! { queue => Serde(&queue), more });
    };
    let at = at.unwrap_or_default();
    let name = |at: Option<usize>| at.and_then(|at| queue.get(at)).map(|item| item.name.clone());
    let (previous, following) = (name(at.checked_sub(1)), name(Some(at + 1)));
    let shown = catalogue::shown(classes::fetch(&service, &item.name).await?)?;
    visit.page(&service, "review.html", context! { queue => Serde(&queue), more, previous, following, ..shown })
}
