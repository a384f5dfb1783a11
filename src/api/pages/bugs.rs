//! Bugs: finding them, seeing what happens, and saying what is known.

use super::catalogue::Keyed;
use super::view::finding::Shown;
use super::view::span::Span;
use super::{Sent, Visit, go, link, page_key};
use crate::api::Shared;
use crate::api::bugs::{self, BugQuery, BugSaid, NewNote};
use crate::api::extract::{Filled, Path};
use crate::api::findings::{self, FindingQuery};
use crate::api::jobs;
use crate::api::problem::Problem;
use crate::api::triage::{self, CauseView};
use crate::store::BugState;
use axum::extract::State;
use axum::response::Response;
use minijinja::value::Serde;
use minijinja::{Value, context};
use serde::Deserialize;

/// Findings that a page of a bug lists.
const LISTED: u16 = 20;

/// The list.
pub(super) async fn list(
    State(service): State<Shared>,
    visit: Visit,
    Filled(query): Filled<BugQuery>,
) -> Result<Response, Problem> {
    let page = bugs::page(&service, &query).await?;
    let fields = [
        ("q", query.q.clone().unwrap_or_default()),
        ("state", query.state.map(BugState::name).unwrap_or_default().to_owned()),
        ("suppressed", query.suppressed.map(|one| one.to_string()).unwrap_or_default()),
        ("kind", query.kind.clone().unwrap_or_default()),
        ("dbms", query.dbms.clone().unwrap_or_default()),
        ("class", query.class.clone().unwrap_or_default()),
    ];
    let any = fields.iter().any(|(_, value)| !value.is_empty()) || query.cursor.is_some();
    let next = page.next.as_deref().map(|cursor| {
        let mut all: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        all.push(("cursor", cursor));
        link("/bugs", &all)
    });
    let asked = fields.into_iter().map(|(name, value)| (name, Value::from(value)));
    let asked = Value::from_pairs(asked.chain([("any", any.into())]));
    visit.page(&service, "bugs.html", context! { page => Serde(&page), asked, next })
}

/// Which finding of a bug is looked at, and which part of their list; the smallest one if none is named.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Looked {
    finding: Option<i64>,
    cursor: Option<String>,
}

/// A bug.
pub(super) async fn bug(
    State(service): State<Shared>,
    visit: Visit,
    Path(id): Path<i64>,
    Filled(looked): Filled<Looked>,
) -> Result<Response, Problem> {
    let bug = bugs::fetch(&service, id).await?;
    let of_bug = FindingQuery { bug: Some(id), limit: Some(LISTED), cursor: looked.cursor, ..FindingQuery::default() };
    let findings = findings::page(&service, &of_bug).await?;
    let next = findings.next.as_deref().map(|cursor| link(&format!("/bugs/{id}"), &[("cursor", cursor)]));
    let number = looked.finding.or(bug.smallest);
    let finding = match number {
        Some(number) => Some(findings::fetch(&service, number).await?),
        None => None,
    };
    let file = |name: &str| -> Result<String, Problem> {
        let Some(finding) = &finding else { return Ok(String::new()) };
        Ok(findings::file(finding, name)?.map(|(text, _)| text).unwrap_or_default())
    };
    let script = file("repro.sql")?;
    let issue = match &finding {
        Some(finding) => {
            let profile = findings::profile(finding)?;
            finding.issue_md(&profile)
        }
        None => String::new(),
    };
    let cause = finding.as_ref().map(CauseView::new);
    let job = jobs::last(&service, "bisect", &format!("bug {id}")).await?;
    let is_class = service.store.class_fetch(&bug.line.class).await?.is_some();
    let span = bug.bisection.as_ref().and_then(Span::new);
    let shown = finding.as_ref().map(Shown::new);
    let with = context! {
        bug => Serde(&bug), findings => Serde(&findings), next, shown => Serde(shown), number, issue, script, cause => Serde(cause), span => Serde(span),
        job => Serde(job), is_class, key => page_key(),
    };
    visit.page(&service, "bug.html", with)
}

/// What somebody says of a bug, as it was at a revision.
#[derive(Deserialize)]
pub(super) struct BugSet {
    revision: i64,
    state: BugState,
    url: Option<String>,
    fixed_in: Option<String>,
    why: Option<String>,
}

pub(super) async fn state(
    State(service): State<Shared>,
    Path(id): Path<i64>,
    Sent(client, sent): Sent<BugSet>,
) -> Result<Response, Problem> {
    let BugSet { revision, state, url, fixed_in, why } = sent;
    bugs::do_state(&service, id, revision, BugSaid { state, url, fixed_in, why }, &client.name).await?;
    Ok(go(&format!("/bugs/{id}"), &format!("Bug {id} is {} now.", state.name().replace('-', " "))))
}

/// Into which bug another one is to be merged.
#[derive(Deserialize)]
pub(super) struct MergeSet {
    revision: i64,
    into: i64,
}

pub(super) async fn merge(
    State(service): State<Shared>,
    Path(id): Path<i64>,
    Sent(client, MergeSet { revision, into }): Sent<MergeSet>,
) -> Result<Response, Problem> {
    triage::do_merge(&service, id, revision, into, &client.name).await?;
    Ok(go(&format!("/bugs/{into}"), &format!("Bug {id} is a part of bug {into} now; what is found of it goes here.")))
}

/// Which finding is to be a bug of its own.
#[derive(Deserialize)]
pub(super) struct SplitSet {
    revision: i64,
    finding: i64,
}

pub(super) async fn split(
    State(service): State<Shared>,
    Path(id): Path<i64>,
    Sent(client, SplitSet { revision, finding }): Sent<SplitSet>,
) -> Result<Response, Problem> {
    let own = triage::do_split(&service, id, revision, finding, &client.name).await?.1.id;
    Ok(go(&format!("/bugs/{own}"), &format!("The finding is bug {own} now; bug {id} has the others.")))
}

pub(super) async fn note(
    State(service): State<Shared>,
    Path(id): Path<i64>,
    Sent(client, note): Sent<NewNote>,
) -> Result<Response, Problem> {
    bugs::do_note(&service, id, &note, &client.name).await?;
    Ok(go(&format!("/bugs/{id}"), "The note is added."))
}

pub(super) async fn bisect(
    State(service): State<Shared>,
    Path(id): Path<i64>,
    Sent(client, keyed): Sent<Keyed>,
) -> Result<Response, Problem> {
    bugs::do_bisect(&service, id, keyed.checked()?, &client.name).await?;
    Ok(go(&format!("/bugs/{id}"), "The versions are looked at; reload the page in a while."))
}
