//! Which functions, operators, types and clauses of an engine hunts have reached, and which never.
//!
//! An engine is asked for what it has by a job, which an operator starts, and which follows on each campaign; requests read
//! what the last one saw.

use super::Shared;
use super::access::Operator;
use super::campaigns;
use super::extract::{IdempotencyKey, Json, Page, Path, Query, after, limit, rows};
use super::jobs::{self, Asked};
use super::problem::{Kind, Problem};
use crate::app::corpus::Coverage;
use crate::catalogue;
use crate::dbms::target::Target;
use crate::store::CoverageLine;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::browse::PageQuery;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(list, look)).routes(routes!(detail))
}

/// A part of the list of targets that were looked at, by name.
pub(super) async fn page(service: &Shared, query: &PageQuery) -> Result<Page<CoverageLine>, Problem> {
    let limit = limit(query.limit)?;
    let after: Option<String> = after(query.cursor.as_ref())?;
    let lines = service.store.coverage_page(after.as_deref(), rows(limit)).await?;
    Ok(Page::new(lines, limit, |line| line.dbms.clone()))
}

/// List the targets of which it is known what hunts reached, with the numbers
#[utoipa::path(get, path = "/api/v1/coverage", tag = "snippets", params(PageQuery), responses((status = 200, body = Page<CoverageLine>)))]
async fn list(
    State(service): State<Shared>,
    Query(query): Query<PageQuery>,
) -> Result<Json<Page<CoverageLine>>, Problem> {
    page(&service, &query).await.map(Json)
}

/// What hunts on a target reached.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CoverageView {
    /// When it was looked at (RFC 3339, UTC).
    pub(super) looked: String,
    #[serde(flatten)]
    pub(super) coverage: Coverage,
}

/// What hunts on a target had reached when it was looked at last.
pub(super) async fn fetch(service: &Shared, dbms: &str) -> Result<CoverageView, Problem> {
    let missing = || {
        let shown: String = dbms.chars().take(200).collect();
        Kind::NotFound.problem(format!("nobody has looked yet what hunts on {shown} reached; ask for it"))
    };
    let row = service.store.coverage_fetch(dbms).await?.ok_or_else(missing)?;
    // What an older version of this program noted may have another form: then it is looked at anew.
    let coverage = serde_json::from_value(row.coverage).map_err(|_| missing())?;
    Ok(CoverageView { looked: row.looked, coverage })
}

/// Read which features of a target's engine hunts have reached, and which never
#[utoipa::path(get, path = "/api/v1/coverage/{dbms}", tag = "snippets", params(("dbms" = String, Path,)),
    responses((status = 200, body = CoverageView)))]
async fn detail(State(service): State<Shared>, Path(dbms): Path<String>) -> Result<Json<CoverageView>, Problem> {
    fetch(&service, &dbms).await.map(Json)
}

/// Which target is to be looked at.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CoverageOf {
    /// An engine, or one of its installed versions, as in `sqlite` or `duckdb@1.3.2`
    #[schema(max_length = 200, example = "sqlite")]
    dbms: String,
}

/// Whether it is known what an engine of a dialect may have.
fn is_listed(dialect: &str) -> bool {
    catalogue::feature_list(dialect).is_some()
}

/// The same of a target.
pub(super) fn is_known(dbms: &str) -> bool {
    dbms.parse().is_ok_and(|target: Target| is_listed(target.dialect()))
}

/// Asks what hunts on a target reached.
pub(super) async fn do_look(service: &Shared, dbms: &str, key: &str, who: &str) -> Result<Asked, Problem> {
    let target = campaigns::target(dbms, &service.data_dir)?;
    if !is_listed(target.dialect()) {
        let detail = format!("nobody has listed the features of {}, so it cannot be said", target.dialect());
        return Err(Kind::Unprocessable.problem(detail));
    }
    jobs::ask(service, "cover", &target.to_string(), key, who).await
}

/// Look what hunts on a target have reached: a job, which asks its engine for what it has
#[utoipa::path(post, path = "/api/v1/coverage", tag = "snippets",
    params(("Idempotency-Key" = String, Header, description = "The same request with the same key is done once")),
    request_body = CoverageOf, responses((status = 202, body = Asked)))]
async fn look(
    State(service): State<Shared>,
    Operator(client): Operator,
    IdempotencyKey(key): IdempotencyKey,
    Json(asked): Json<CoverageOf>,
) -> Result<(StatusCode, Json<Asked>), Problem> {
    Ok((StatusCode::ACCEPTED, Json(do_look(&service, &asked.dbms, &key, &client.name).await?)))
}

/// Has it looked at after a campaign, so that what is shown is up to date.
pub(super) async fn ask_after(service: &Shared, dbms: &str, campaign: i64) {
    if !is_known(dbms) {
        return;
    }
    let asked = jobs::ask(service, "cover", dbms, "ended", &format!("campaign {campaign}")).await;
    if let Err(problem) = asked {
        tracing::warn!(campaign, "nobody looks what it reached: {}", problem.detail);
    }
}
