//! What hunts reached of engines, and what they never did.

use super::{Sent, Visit, campaigns, go, link, page_key, segment};
use crate::api::Shared;
use crate::api::browse::PageQuery;
use crate::api::coverage;
use crate::api::extract::{Filled, Path};
use crate::api::jobs;
use crate::api::problem::{Kind, Problem};
use crate::app::corpus;
use axum::extract::State;
use axum::response::Response;
use minijinja::context;
use minijinja::value::Serde;
use serde::{Deserialize, Serialize};

/// The targets that were looked at.
pub(super) async fn list(
    State(service): State<Shared>,
    visit: Visit,
    Filled(query): Filled<PageQuery>,
) -> Result<Response, Problem> {
    let page = coverage::page(&service, &query).await?;
    let next = page.next.as_deref().map(|cursor| link("/coverage", &[("cursor", cursor)]));
    let hrefs: Vec<String> = page.items.iter().map(|line| format!("/coverage/{}", segment(&line.dbms))).collect();
    let mut targets = campaigns::targets(&service).await?;
    targets.retain(|group| group.options.iter().any(|(name, _)| coverage::is_known(name)));
    let with = context! { page => Serde(&page), hrefs, next, targets => Serde(targets), key => page_key() };
    visit.page(&service, "coverage_list.html", with)
}

/// The features of a kind.
#[derive(Serialize)]
struct Shown<'a> {
    id: &'static str,
    name: &'static str,
    #[serde(flatten)]
    kind: &'a corpus::Kind,
    /// In how many cases each was, the commonest first.
    commonest: Vec<(&'a str, u64)>,
}

/// What hunts on a target reached.
pub(super) async fn detail(
    State(service): State<Shared>,
    visit: Visit,
    Path(dbms): Path<String>,
) -> Result<Response, Problem> {
    let found = coverage::fetch(&service, &dbms).await?;
    let kinds = found.coverage.kinds().map(|(id, name, kind)| {
        let mut commonest: Vec<(&str, u64)> = kind.cases.iter().map(|(name, cases)| (name.as_str(), *cases)).collect();
        commonest.sort_by_key(|(_, cases)| std::cmp::Reverse(*cases));
        Shown { id, name, kind, commonest }
    });
    let job = jobs::last(&service, "cover", &dbms).await?;
    let with = context! {
        looked => found.looked, coverage => Serde(&found.coverage), kinds => Serde(kinds), job => Serde(job), key => page_key(),
    };
    visit.page(&service, "coverage.html", with)
}

/// Which target is to be looked at.
#[derive(Deserialize)]
pub(super) struct Wanted {
    key: String,
    dbms: String,
}

pub(super) async fn look(
    State(service): State<Shared>,
    Sent(client, Wanted { key, dbms }): Sent<Wanted>,
) -> Result<Response, Problem> {
    if key.is_empty() || key.len() > 100 {
        return Err(Kind::Unprocessable.problem("the form has no key; reload the page"));
    }
    coverage::do_look(&service, &dbms, &format!("{key}-{dbms}"), &client.name).await?;
    Ok(go("/coverage", &format!("{dbms} is looked at; what comes of it is here in a moment.")))
}
