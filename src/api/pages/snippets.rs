//! Snippets: what campaigns of the store fill placeholders with, what they leave out, and what engines make of each.

use super::view::verdict;
use super::{Sent, Visit, go, link};
use crate::api::Shared;
use crate::api::browse::{self, SnippetQuery};
use crate::api::classes::Reason;
use crate::api::extract::{Filled, Path};
use crate::api::problem::Problem;
use crate::catalogue;
use axum::extract::State;
use axum::response::Response;
use minijinja::value::Serde;
use minijinja::{Value, context};
use serde::Deserialize;

pub(super) async fn list(
    State(service): State<Shared>,
    visit: Visit,
    Filled(query): Filled<SnippetQuery>,
) -> Result<Response, Problem> {
    let page = browse::snippets(&service, &query).await?;
    let yes = |asked: Option<bool>| asked.map(|yes| yes.to_string()).unwrap_or_default();
    let asked = [
        ("q", query.q.unwrap_or_default()),
        ("dialect", query.dialect.unwrap_or_default()),
        ("kind", query.kind.unwrap_or_default()),
        ("disabled", yes(query.disabled)),
        ("refused", yes(query.refused)),
    ];
    let next = page.next.as_deref().map(|cursor| {
        let mut all: Vec<(&str, &str)> = asked.iter().map(|(name, value)| (*name, value.as_str())).collect();
        all.push(("cursor", cursor));
        link("/snippets", &all)
    });
    let asked = Value::from_pairs(asked.into_iter().map(|(name, value)| (name, Value::from(value))));
    let dialects = catalogue::snippet_dialects();
    visit.page(&service, "snippets.html", context! { page => Serde(&page), asked, dialects, next })
}

/// A snippet.
pub(super) async fn detail(
    State(service): State<Shared>,
    visit: Visit,
    Path(id): Path<i64>,
) -> Result<Response, Problem> {
    let snippet = browse::snippet(&service, id).await?;
    let words: Vec<Vec<String>> = snippet.validations.iter().map(|one| verdict::words(&one.verdict)).collect();
    visit.page(&service, "snippet.html", context! { snippet => Serde(&snippet), words })
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
