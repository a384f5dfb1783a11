//! Classes as files: out of the store, and into it.

use super::Shared;
use super::access::Operator;
use super::extract::{Json, Query, Text, after, limit};
use super::problem::{Kind, Problem};
use crate::app::admission::{AdmissionError, admit};
use crate::app::class::as_files;
use crate::caq::class::read_classes;
use crate::store::{ClassFilter, ClassState, NewClass, NewJob, StoreError, StoredClass};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Where files of classes are sent to, by programs and by people.
pub(super) const IMPORTS: [&str; 2] = ["/api/v1/import", "/transfer"];

/// Bytes of a file of classes.
pub(super) const FILE_BYTES_MAX: usize = 2 << 20;

/// Classes of one file.
const CLASSES_MAX: usize = 100;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    let import = OpenApiRouter::new().routes(routes!(import)).layer(DefaultBodyLimit::max(FILE_BYTES_MAX));
    OpenApiRouter::new().routes(routes!(classes)).routes(routes!(proofs)).merge(import)
}

/// Which classes are wanted as a file.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ExportQuery {
    /// Their state; released ones if it is not said
    state: Option<ClassState>,
    /// Only the class of this name, whatever its state
    name: Option<String>,
    /// Classes at most
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u16>,
    /// The header `next-cursor` of the part before
    cursor: Option<String>,
}

/// The classes of a part, and where the next one begins.
async fn part(service: &Shared, query: &ExportQuery) -> Result<(Vec<StoredClass>, Option<String>), Problem> {
    let limit = limit(query.limit)?;
    let after: Option<String> = after(query.cursor.as_ref())?;
    if let Some(name) = &query.name {
        let class = service.store.class_fetch(name).await?;
        let class = class.ok_or_else(|| Kind::NotFound.problem("there is no class of this name"))?;
        return Ok((vec![class], None));
    }
    let filter = ClassFilter { state: query.state.or(Some(ClassState::Released)), ..ClassFilter::default() };
    let lines = service.store.class_page(&filter, after.as_deref(), super::extract::rows(limit)).await?;
    let page = super::extract::Page::new(lines, limit, |line| line.name.clone());
    let mut found = Vec::new();
    for line in page.items {
        found.extend(service.store.class_fetch(&line.name).await?);
    }
    Ok((found, page.next))
}

fn file(text: String, kind: &'static str, name: &str, next: Option<String>) -> Response {
    let attachment = format!("attachment; filename=\"{name}\"");
    let mut response =
        ([(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_DISPOSITION, attachment)], text).into_response();
    if let Some(next) = next.and_then(|next| next.parse().ok()) {
        response.headers_mut().insert("next-cursor", next);
    }
    response
}

/// Take classes away as a file for `caqtus hunt --catalogue`
#[utoipa::path(get, path = "/api/v1/export/classes.toml", tag = "classes", params(ExportQuery),
    responses((status = 200, body = String, content_type = "application/toml",
        headers(("next-cursor" = Option<String>, description = "Send it as `cursor` for the next part")))))]
async fn classes(State(service): State<Shared>, Query(query): Query<ExportQuery>) -> Result<Response, Problem> {
    let (found, next) = part(&service, &query).await?;
    let (classes, _) = as_files(&found).map_err(anyhow::Error::from)?;
    Ok(file(classes, "application/toml", "classes.toml", next))
}

/// Take what is proven of classes away as a file for `caqtus hunt --proofs`
#[utoipa::path(get, path = "/api/v1/export/proofs.jsonl", tag = "classes", params(ExportQuery),
    responses((status = 200, body = String, content_type = "application/jsonl",
        headers(("next-cursor" = Option<String>, description = "Send it as `cursor` for the next part")))))]
async fn proofs(State(service): State<Shared>, Query(query): Query<ExportQuery>) -> Result<Response, Problem> {
    let (found, next) = part(&service, &query).await?;
    let (_, proofs) = as_files(&found).map_err(anyhow::Error::from)?;
    Ok(file(proofs, "application/jsonl", "proofs.jsonl", next))
}

/// What became of a class of a file.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Imported {
    name: String,
    /// `draft`, `released` or `quarantined`; null if the store has another class of this name, which stays.
    state: Option<ClassState>,
    /// Whether the store did not have it, or not all of its members.
    changed: bool,
    /// The job that proves it, if it needs one.
    job: Option<i64>,
}

/// What became of a file of classes.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ImportedAll {
    pub(super) classes: Vec<Imported>,
}

/// Stores the classes of a file, and asks for proofs of what is new. Nothing is used before it is proven.
pub(super) async fn do_import(service: &Shared, text: &str, who: &str) -> Result<ImportedAll, Problem> {
    let refuse = |detail: String| Kind::Unprocessable.problem(detail);
    let words = |error: crate::caq::class::ClassError| refuse(format!("{:#}", anyhow::Error::from(error)));
    let texts = read_classes("the file", text).map_err(words)?;
    if texts.len() > CLASSES_MAX {
        return Err(refuse(format!("a file has {CLASSES_MAX} classes at most; send several")));
    }
    let admitted = tokio::task::spawn_blocking(move || admit("the file", texts)).await.map_err(anyhow::Error::from)?;
    let admitted = admitted.map_err(|error| match error {
        AdmissionError::Profile(_) => Problem::from(anyhow::Error::from(error)),
        _ => refuse(format!("{:#}", anyhow::Error::from(error))),
    })?;
    let mut classes = Vec::new();
    for class in admitted {
        let text = class.text();
        let name = text.name.clone();
        let subject = format!("class {name}");
        let proof = NewJob {
            kind: "prove",
            subject: &subject,
            service: &service.work.name,
            asked_by: who,
            idempotency_key: None,
        };
        let new = NewClass { plans: vec![None; text.members.len()], text, proofs: Vec::new(), similarity: None };
        let (kept, job) = match service.store.class_import(new, &proof).await {
            Err(StoreError::NameTaken(_)) => {
                classes.push(Imported { name, state: None, changed: false, job: None });
                continue;
            }
            kept => kept?,
        };
        if let Some(job) = job {
            service.work.enqueue(job);
        }
        classes.push(Imported { name, state: Some(kept.state), changed: kept.changed, job });
    }
    Ok(ImportedAll { classes })
}

/// Bring classes, as a file in TOML; each is a draft until it is proven and engines agree on it
#[utoipa::path(post, path = "/api/v1/import", tag = "classes",
    request_body(content = String, content_type = "application/toml", description = "As in `caqtus oracle import`; 2 MiB at most"),
    responses((status = 202, body = ImportedAll)))]
async fn import(
    State(service): State<Shared>,
    Operator(client): Operator,
    Text(text): Text,
) -> Result<(StatusCode, Json<ImportedAll>), Problem> {
    Ok((StatusCode::ACCEPTED, Json(do_import(&service, &text, &client.name).await?)))
}
