//! Whether the service lives, what it counts, and its description.

use super::Shared;
use super::problem::{Kind, Problem};
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(healthz))
        .routes(routes!(readyz))
        .routes(routes!(metrics))
        .routes(routes!(openapi))
}

/// Whether the service lives
#[utoipa::path(get, path = "/healthz", tag = "service", responses((status = 200, body = String, content_type = "text/plain")))]
async fn healthz() -> &'static str {
    "ok\n"
}

/// Whether the service can answer: its store is there
#[utoipa::path(get, path = "/readyz", tag = "service", responses((status = 200, body = String, content_type = "text/plain")))]
async fn readyz(State(service): State<Shared>) -> Result<&'static str, Problem> {
    if *service.ending.borrow() {
        return Err(Kind::Unavailable.problem("the service is ending"));
    }
    service.store.is_there().await?;
    Ok("ready\n")
}

/// Counters, in the text format of Prometheus
#[utoipa::path(get, path = "/metrics", tag = "service", responses((status = 200, body = String, content_type = "text/plain")))]
async fn metrics(State(service): State<Shared>) -> Result<impl IntoResponse, Problem> {
    let text = service.metrics.text().map_err(anyhow::Error::from)?;
    Ok(([(header::CONTENT_TYPE, "text/plain; version=1.0.0; charset=utf-8")], text))
}

/// This description
#[utoipa::path(get, path = "/api/v1/openapi.json", tag = "service", responses((status = 200, body = Object, content_type = "application/json")))]
async fn openapi(State(service): State<Shared>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], service.description.clone())
}
