//! The service: an HTTP API and pages by which people review classes, watch campaigns and work through bugs.
//!
//! One file per resource, which holds its routes and the forms of its requests and answers; the store's rows are what is
//! answered wherever they fit. [`access`] decides who may do what, [`guard`] stands around every request, [`extract`] reads
//! requests strictly, [`problem`] is the form of every failure, [`description`] describes all of it from the code.
//! [`work`] does what takes longer than a request. [`pages`] are for people.
//!
//! Invariant: nothing that a client sends reaches an engine unless an operator asked for it, and then only in databases that
//! Caqtus made. Invariant: a write names the revision that it is about, and two writers are never mixed. Invariant: what is
//! changed is in the audit trail, in the same transaction.

mod access;
mod browse;
mod bugs;
mod campaigns;
mod classes;
mod coverage;
mod demo;
mod description;
mod events;
mod extract;
mod findings;
mod guard;
mod health;
mod jobs;
mod metrics;
mod pages;
mod problem;
mod serve;
mod transfer;
mod triage;
mod work;

pub use access::{Role, create_token};
pub use serve::{LogFormat, Options, ServeError, serve};

use crate::store::Store;
use access::Access;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Router, middleware};
use guard::Rate;
use metrics::Metrics;
use problem::{Kind, Problem};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};
use utoipa_axum::router::OpenApiRouter;
use work::Work;

/// Bytes of a body, unless a route allows more.
const BODY_BYTES_MAX: usize = 256 << 10;

/// Requests that are worked on at once; streams of events do not count once they have begun.
const AT_ONCE_MAX: usize = 64;

/// Requests without a token that counts, which one client may send: a second, and at once.
const FAILURES_PER_SECOND: f64 = 0.5;
const FAILURES_BURST: f64 = 20.0;

/// What all requests share.
struct Service {
    store: Store,
    access: Access,
    /// Where engines, caches and campaigns are.
    data_dir: PathBuf,
    templates: minijinja::Environment<'static>,
    metrics: Metrics,
    rate: Rate,
    /// Requests with a wrong token or none.
    failures: Rate,
    at_once: Arc<Semaphore>,
    /// Where browsers reach the service, through a proxy.
    public_url: Option<String>,
    /// Clients that watch events.
    watchers: Arc<Semaphore>,
    /// Changes when there may be new events.
    heard: watch::Sender<u64>,
    work: Work,
    /// Of this process: what forms carry is made with it.
    secret: [u8; 32],
    /// The description of the API, as it is sent.
    description: String,
    /// The query parameters of each of its paths.
    parameters: BTreeMap<String, BTreeSet<String>>,
    /// True when the service ends.
    ending: watch::Receiver<bool>,
}

type Shared = Arc<Service>;

impl Service {
    /// What the forms of a client carry, so that other sites cannot make them.
    fn csrf(&self, client: &str) -> String {
        hex(&blake3::keyed_hash(&self.secret, client.as_bytes()).as_bytes()[..16])
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The routes of the API, described.
fn api() -> OpenApiRouter<Shared> {
    let all = [
        classes::routes(),
        transfer::routes(),
        browse::routes(),
        coverage::routes(),
        campaigns::routes(),
        findings::routes(),
        bugs::routes(),
        triage::routes(),
        jobs::routes(),
        events::routes(),
        health::routes(),
    ];
    all.into_iter().fold(OpenApiRouter::new(), OpenApiRouter::merge)
}

/// Every route, with what stands around it.
fn router(service: &Shared) -> Router {
    let (api, _) = api().split_for_parts();
    let not_found =
        || async { Kind::NotFound.problem("nothing has this path; /api/v1/openapi.json lists what there is") };
    let wrong_method = || async { Kind::MethodNotAllowed.problem("this path has other methods, which Allow names") };
    api.merge(pages::router())
        .fallback(not_found)
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn_with_state(service.clone(), description::refuse_unknown))
        .layer(middleware::from_fn_with_state(service.clone(), guard::admit))
        .layer(middleware::from_fn_with_state(service.clone(), pages::dress))
        .layer(axum::extract::DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn_with_state(service.clone(), access::authenticate))
        .layer(middleware::from_fn_with_state(service.clone(), guard::watch))
        .with_state(service.clone())
}

/// What is there at a revision, or that it is as the client has it. Its tag is of the revision, which writers name, and of
/// all that is sent: notes and counts come without a new revision.
fn seen(headers: &HeaderMap, revision: i64, value: &impl serde::Serialize) -> Result<Response, Problem> {
    let body = serde_json::to_vec(value).map_err(anyhow::Error::from)?;
    let tag = format!("\"{revision}-{}\"", hex(&blake3::hash(&body).as_bytes()[..8]));
    if extract::is_known(headers, &tag) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    let kind = "application/json".to_owned();
    Ok(([(header::ETAG, tag), (header::CONTENT_TYPE, kind)], body).into_response())
}

/// An answer with the revision of what was written.
struct Tagged<T>(i64, T);

impl<T: serde::Serialize> IntoResponse for Tagged<T> {
    fn into_response(self) -> Response {
        ([(header::ETAG, extract::etag(self.0))], axum::Json(self.1)).into_response()
    }
}
