//! Classes in and out, as files.

use super::{Sent, Visit};
use crate::api::Shared;
use crate::api::extract::Filled;
use crate::api::problem::Problem;
use crate::api::transfer;
use axum::extract::State;
use axum::response::Response;
use minijinja::context;
use minijinja::value::Serde;
use serde::Deserialize;

/// No parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

pub(super) async fn show(
    State(service): State<Shared>,
    visit: Visit,
    Filled(Nothing {}): Filled<Nothing>,
) -> Result<Response, Problem> {
    visit.page(&service, "transfer.html", context! { imported => () })
}

/// A file, as text.
#[derive(Deserialize)]
pub(super) struct Brought {
    text: String,
}

/// Takes classes, and shows what became of each.
pub(super) async fn import(
    State(service): State<Shared>,
    visit: Visit,
    Sent(client, brought): Sent<Brought>,
) -> Result<Response, Problem> {
    // Forms have their lines end in two characters.
    let text = brought.text.replace("\r\n", "\n");
    let imported = transfer::do_import(&service, &text, &client.name).await?;
    visit.page(&service, "transfer.html", context! { imported => Serde(imported.classes) })
}
