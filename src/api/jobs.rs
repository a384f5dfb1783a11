//! Jobs: what the service does for somebody that takes longer than a request.

use super::Shared;
use super::extract::{Json, Page, Path, Query, after, limit, one_of, rows};
use super::problem::{Kind, Problem};
use crate::store::{JobRow, NewJob, Started};
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(detail))
}

/// A job that was asked for.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Asked {
    /// The number of the job.
    pub(super) job: i64,
}

/// Asks for a job. The same one that waits already is that one.
pub(super) async fn ask(service: &Shared, kind: &str, subject: &str, key: &str, who: &str) -> Result<Asked, Problem> {
    let key = format!("{who}/{key}");
    let new = NewJob { kind, subject, service: &service.work.name, asked_by: who, idempotency_key: Some(&key) };
    match service.store.job_put(&new).await? {
        // One that waits for something may find it now; one that ended is not begun again.
        Started::New(job) | Started::Before(job) => {
            service.work.enqueue(job);
            Ok(Asked { job })
        }
        Started::Other | Started::Full => Err(other_request()),
    }
}

pub(super) fn other_request() -> Problem {
    Kind::Conflict.problem("this Idempotency-Key belongs to another request; choose a new one for each")
}

/// Which jobs are wanted.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct JobQuery {
    /// `prove`, `bisect`, `install` or `cover`
    pub(super) kind: Option<String>,
    /// `waiting`, `running`, `done` or `failed`
    pub(super) state: Option<String>,
    /// Items at most
    #[param(minimum = 1, maximum = 500)]
    pub(super) limit: Option<u16>,
    /// The `next` of the part before
    pub(super) cursor: Option<String>,
}

/// A part of the list of jobs, the last ones first.
pub(super) async fn page(service: &Shared, query: &JobQuery) -> Result<Page<JobRow>, Problem> {
    let limit = limit(query.limit)?;
    let (kind, state) = (query.kind.as_deref(), query.state.as_deref());
    one_of("kind", kind, &["prove", "bisect", "install", "cover"])?;
    one_of("state", state, &["waiting", "running", "done", "failed"])?;
    let jobs = service.store.job_page(kind, state, after(query.cursor.as_ref())?, rows(limit)).await?;
    Ok(Page::new(jobs, limit, |job| job.id))
}

/// The last job of a kind about something.
pub(super) async fn last(service: &Shared, kind: &str, subject: &str) -> Result<Option<JobRow>, Problem> {
    Ok(service.store.job_last(kind, subject).await?)
}

/// List jobs, the last ones first
#[utoipa::path(get, path = "/api/v1/jobs", tag = "jobs", params(JobQuery), responses((status = 200, body = Page<JobRow>)))]
async fn list(State(service): State<Shared>, Query(query): Query<JobQuery>) -> Result<Json<Page<JobRow>>, Problem> {
    page(&service, &query).await.map(Json)
}

/// Read a job
#[utoipa::path(get, path = "/api/v1/jobs/{id}", tag = "jobs", params(("id" = i64, Path,)), responses((status = 200, body = JobRow)))]
async fn detail(State(service): State<Shared>, Path(id): Path<i64>) -> Result<Json<JobRow>, Problem> {
    let job = service.store.job_fetch(id).await?;
    job.map(Json).ok_or_else(|| Kind::NotFound.problem(format!("there is no job {id}")))
}
