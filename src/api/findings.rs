//! Findings, and their files to take away.

use super::Shared;
use super::extract::{Json, Page, Path, Query, after, limit, one_of, rows};
use super::problem::{Kind, Problem};
use crate::catalogue;
use crate::dbms::target::Target;
use crate::sql::profile::Profile;
use crate::store::{FindingFilter, FindingLine};
use crate::triage::finding::Finding;
use crate::triage::regression::{Style, in_one};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(detail)).routes(routes!(download))
}

/// The kinds of findings ([`crate::triage::finding::FindingKind`]).
pub(super) const KINDS: [&str; 4] = ["wrong-result", "internal-error", "crash", "hang"];

/// Which findings are wanted.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct FindingQuery {
    /// Of a campaign
    pub(super) campaign: Option<i64>,
    /// Of a bug
    pub(super) bug: Option<i64>,
    /// Of a class
    pub(super) class: Option<String>,
    /// Of a kind, as in `wrong-result`
    pub(super) kind: Option<String>,
    /// Items at most
    #[param(minimum = 1, maximum = 500)]
    pub(super) limit: Option<u16>,
    /// The `next` of the part before
    pub(super) cursor: Option<String>,
}

/// A part of the list of findings, the last ones first.
pub(super) async fn page(service: &Shared, query: &FindingQuery) -> Result<Page<FindingLine>, Problem> {
    let limit = limit(query.limit)?;
    one_of("kind", query.kind.as_deref(), &KINDS)?;
    let filter = FindingFilter {
        campaign: query.campaign,
        bug: query.bug,
        class: query.class.clone(),
        kind: query.kind.clone(),
    };
    let lines = service.store.finding_page(&filter, after(query.cursor.as_ref())?, rows(limit)).await?;
    Ok(Page::new(lines, limit, |line| line.number))
}

/// List findings, the last ones first
#[utoipa::path(get, path = "/api/v1/findings", tag = "findings", params(FindingQuery), responses((status = 200, body = Page<FindingLine>)))]
async fn list(
    State(service): State<Shared>,
    Query(query): Query<FindingQuery>,
) -> Result<Json<Page<FindingLine>>, Problem> {
    page(&service, &query).await.map(Json)
}

/// A finding.
pub(super) async fn fetch(service: &Shared, number: i64) -> Result<Finding, Problem> {
    let found = service.store.finding_fetch(number).await?;
    found.ok_or_else(|| Kind::NotFound.problem(format!("there is no finding {number}")))
}

/// Read a finding: its statements, its queries with what each returned, and what must hold
#[utoipa::path(get, path = "/api/v1/findings/{number}", tag = "findings", params(("number" = i64, Path,)), responses((status = 200, body = Object)))]
async fn detail(State(service): State<Shared>, Path(number): Path<i64>) -> Result<Json<Value>, Problem> {
    let finding = fetch(&service, number).await?;
    Ok(Json(serde_json::to_value(finding).map_err(anyhow::Error::from)?))
}

/// The dialect of a finding's target.
pub(super) fn profile(finding: &Finding) -> Result<Arc<Profile>, Problem> {
    let target: Target = finding.dbms.parse().map_err(anyhow::Error::from)?;
    Ok(catalogue::profile(target.dialect()).map_err(anyhow::Error::from)?)
}

/// A file that is to be taken away.
pub(super) fn attached(name: &str, kind: &str, text: String) -> Response {
    let attachment = format!("attachment; filename=\"{name}\"");
    ([(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_DISPOSITION, attachment)], text).into_response()
}

/// The text of a file of a finding, and its type; `None` if findings have no such file.
pub(super) fn file(finding: &Finding, name: &str) -> Result<Option<(String, &'static str)>, Problem> {
    let profile = profile(finding)?;
    Ok(match name {
        "repro.sql" => Some((finding.repro_sql(&profile), "application/sql; charset=utf-8")),
        "report.md" => {
            let text = finding.report_md(&profile, std::path::Path::new("caqtus-findings"));
            Some((text, "text/markdown; charset=utf-8"))
        }
        "case.json" => Some((serde_json::to_string_pretty(finding).map_err(anyhow::Error::from)?, "application/json")),
        "test.slt" => {
            let files = finding.regression_test(&profile, Style::Sqllogictest);
            let files = files.map_err(|error| Kind::Unprocessable.problem(error.to_string()))?;
            Some((in_one(&files), "text/plain; charset=utf-8"))
        }
        _ => None,
    })
}

/// Take a file of a finding away: `repro.sql` for the engine's own shell, `report.md`, `case.json`, or `test.slt` for
/// sqllogictest
#[utoipa::path(get, path = "/api/v1/findings/{number}/files/{file}", tag = "findings",
    params(("number" = i64, Path,), ("file" = String, Path, description = "`repro.sql`, `report.md`, `case.json` or `test.slt`")),
    responses((status = 200, description = "The file", content(
        (String = "application/sql"), (String = "text/markdown"), (String = "text/plain"), (Object = "application/json")))))]
async fn download(
    State(service): State<Shared>,
    Path((number, name)): Path<(i64, String)>,
) -> Result<Response, Problem> {
    let finding = fetch(&service, number).await?;
    let Some((text, kind)) = file(&finding, &name)? else {
        return Err(Kind::NotFound.problem("a finding has repro.sql, report.md, case.json and test.slt"));
    };
    // Both are names of ours by now.
    Ok(attached(&format!("caqtus-{}-{name}", finding.id), kind, text))
}
