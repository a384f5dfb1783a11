//! Snippets: which expressions campaigns of the store fill placeholders with, and which they leave out.

use super::{Sent, Visit, go, link};
use crate::api::Shared;
use crate::api::browse::{self, SnippetQuery};
use crate::api::classes::Reason;
use crate::api::extract::{Filled, Path};
use crate::api::problem::Problem;
use crate::catalogue;
use axum::extract::State;
use axum::response::Response;
use minijinja::context;
use minijinja::value::Serde;
use serde::Deserialize;

pub(super) async fn list(
    State(service): State<Shared>,
    visit: Visit,
    Filled(query): Filled<SnippetQuery>,
) -> Result<Response, Problem> {
    let page = browse::snippets(&service, &query).await?;
    let (q, dialect) = (query.q.unwrap_or_default(), query.dialect.unwrap_or_default());
    let disabled = query.disabled.map(|yes| yes.to_string()).unwrap_or_default();
    let asked = [("q", q.as_str()), ("dialect", dialect.as_str()), ("disabled", disabled.as_str())];
    let next = page.next.as_deref().map(|cursor| {
        let all: Vec<(&str, &str)> = asked.into_iter().chain([("cursor", cursor)]).collect();
        link("/snippets", &all)
    });
    let dialects = catalogue::snippet_dialects();
    visit.page(&service, "snippets.html", context! { page => Serde(&page), q, dialect, disabled, dialects, next })
}

/// What somebody says of a snippet, as it was at a revision: not to be used, for a reason, or to be used again.
#[derive(Deserialize)]
pub(super) struct Decision {
    revision: i64,
    why: Option<String>,
}

pub(super) async fn decide(
    State(service): State<Shared>,
    Path(id): Path<i64>,
    Sent(client, Decision { revision, why }): Sent<Decision>,
) -> Result<Response, Problem> {
    let why = why.map(|why| Reason { why });
    let why = why.as_ref().map(Reason::checked).transpose()?;
    browse::do_disable(&service, id, revision, why, &client.name).await?;
    let said =
        if why.is_some() { "campaigns that start from now on leave it out" } else { "campaigns may use it again" };
    Ok(go("/snippets", &format!("Snippet {id}: {said}.")))
}
