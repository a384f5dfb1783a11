//! Engines: versions that are here, and installing others.

use super::{Sent, Visit, go, page_key};
use crate::api::Shared;
use crate::api::access::Role;
use crate::api::browse;
use crate::api::extract::Filled;
use crate::api::jobs::{self, JobQuery};
use crate::api::problem::{Kind, Problem};
use axum::extract::State;
use axum::response::Response;
use minijinja::context;
use minijinja::value::Serde;
use serde::{Deserialize, Serialize};

/// Jobs that are listed.
const LISTED: u16 = 20;

/// An engine.
#[derive(Serialize)]
struct Shown {
    engine: String,
    /// How many versions can be installed.
    known: usize,
    here: Vec<String>,
    /// The others, newest first: as it is asked for, and as it is shown.
    others: Vec<(String, String)>,
}

/// No parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

pub(super) async fn list(
    State(service): State<Shared>,
    visit: Visit,
    Filled(Nothing {}): Filled<Nothing>,
) -> Result<Response, Problem> {
    let engines = {
        let service = service.clone();
        tokio::task::spawn_blocking(move || browse::engines(&service)).await.map_err(anyhow::Error::from)??
    };
    let shown = engines.into_iter().map(|engine| {
        let name = |one: &browse::VersionView| match &one.says {
            Some(says) => format!("{} (it is {says})", one.version),
            None => one.version.clone(),
        };
        let (here, others): (Vec<_>, Vec<_>) =
            engine.versions.iter().rev().partition(|one| one.installed || one.linked);
        Shown {
            known: engine.versions.iter().filter(|one| !one.linked).count(),
            here: here.into_iter().map(|one| name(one) + if one.linked { " (linked)" } else { "" }).collect(),
            others: others.into_iter().map(|one| (one.version.clone(), name(one))).collect(),
            engine: engine.engine,
        }
    });
    let shown: Vec<Shown> = shown.collect();
    let last = JobQuery { limit: Some(LISTED), ..JobQuery::default() };
    let jobs = jobs::page(&service, &last).await?.items;
    visit.page(&service, "engines.html", context! { engines => Serde(shown), jobs => Serde(jobs), key => page_key() })
}

/// What shall be installed.
#[derive(Deserialize)]
pub(super) struct Wanted {
    key: String,
    engine: String,
    version: String,
}

pub(super) async fn install(
    State(service): State<Shared>,
    Sent(client, Wanted { key, engine, version }): Sent<Wanted>,
) -> Result<Response, Problem> {
    if client.role < Role::Admin {
        return Err(
            Kind::Forbidden.problem(format!("the token {} may not install engines: that needs an admin", client.name))
        );
    }
    if key.is_empty() || key.len() > 100 {
        return Err(Kind::Unprocessable.problem("the form has no key; reload the page"));
    }
    let key = format!("{key}-{version}");
    browse::do_install(&service, &engine, &version, &key, &client.name).await?;
    Ok(go("/engines", &format!("{engine} {version} is being installed.")))
}
