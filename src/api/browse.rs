//! Discoveries, candidates, snippets, engines and the audit trail.

use super::access::{Admin, Operator};
use super::classes::{Reason, stale};
use super::extract::{IdempotencyKey, IfMatch, Json, Page, Path, Query, after, limit, rows};
use super::jobs::{self, Asked};
use super::problem::{Kind, Problem};
use super::{Shared, Tagged, seen};
use crate::app::corpus::shelf::{self, ShelfError, SnippetDetail};
use crate::config::STATEMENT_LIMITS;
use crate::dbms::Connection as _;
use crate::dbms::install::{EngineStore, engine_says, known_engines, known_versions};
use crate::dbms::sqlite::Sqlite;
use crate::store::{
    AuditRow, CandidateFilter, CandidateLine, DiscoveryDetail, DiscoveryLine, SeedDetail, SeedLine, SnippetFilter,
    SnippetRow, Written,
};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(discovery_list))
        .routes(routes!(discovery_detail))
        .routes(routes!(seed_list))
        .routes(routes!(seed_detail))
        .routes(routes!(candidate_list))
        .routes(routes!(candidate_detail))
        .routes(routes!(snippet_list))
        .routes(routes!(snippet_detail))
        .routes(routes!(snippet_disable))
        .routes(routes!(snippet_enable))
        .routes(routes!(engine_list))
        .routes(routes!(engine_install))
        .routes(routes!(audit_list))
}

/// Which part of a list is wanted.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct PageQuery {
    /// Items at most
    #[param(minimum = 1, maximum = 500)]
    pub(super) limit: Option<u16>,
    /// The `next` of the part before
    pub(super) cursor: Option<String>,
}

/// A part of the list of discoveries, the last ones first.
pub(super) async fn discoveries(service: &Shared, query: &PageQuery) -> Result<Page<DiscoveryLine>, Problem> {
    let limit = limit(query.limit)?;
    let found = service.store.run_page(after(query.cursor.as_ref())?, rows(limit)).await?;
    Ok(Page::new(found, limit, |line| line.id))
}

/// List discoveries, the last ones first
#[utoipa::path(get, path = "/api/v1/discoveries", tag = "discoveries", params(PageQuery), responses((status = 200, body = Page<DiscoveryLine>)))]
async fn discovery_list(
    State(service): State<Shared>,
    Query(query): Query<PageQuery>,
) -> Result<Json<Page<DiscoveryLine>>, Problem> {
    discoveries(&service, &query).await.map(Json)
}

/// A discovery, as it is now.
pub(super) async fn discovery(service: &Shared, id: i64) -> Result<DiscoveryDetail, Problem> {
    let found = service.store.run_detail(id).await?;
    found.ok_or_else(|| Kind::NotFound.problem(format!("there is no discovery {id}")))
}

/// Read a discovery: its sums, what it cost, and its classes
#[utoipa::path(get, path = "/api/v1/discoveries/{id}", tag = "discoveries", params(("id" = i64, Path,)), responses((status = 200, body = DiscoveryDetail)))]
async fn discovery_detail(
    State(service): State<Shared>,
    Path(id): Path<i64>,
) -> Result<Json<DiscoveryDetail>, Problem> {
    discovery(&service, id).await.map(Json)
}

/// A part of the list of a discovery's seeds, in order.
pub(super) async fn seeds(service: &Shared, id: i64, query: &PageQuery) -> Result<Page<SeedLine>, Problem> {
    let limit = limit(query.limit)?;
    let after = after(query.cursor.as_ref())?;
    discovery(service, id).await?;
    let found = service.store.seed_page(id, after, rows(limit)).await?;
    Ok(Page::new(found, limit, |line| line.number))
}

/// List the seeds of a discovery, in order
#[utoipa::path(get, path = "/api/v1/discoveries/{id}/seeds", tag = "discoveries", params(("id" = i64, Path,), PageQuery), responses((status = 200, body = Page<SeedLine>)))]
async fn seed_list(
    State(service): State<Shared>,
    Path(id): Path<i64>,
    Query(query): Query<PageQuery>,
) -> Result<Json<Page<SeedLine>>, Problem> {
    seeds(&service, id, &query).await.map(Json)
}

/// A seed of a discovery.
pub(super) async fn seed(service: &Shared, id: i64, number: i32) -> Result<SeedDetail, Problem> {
    let found = service.store.seed_detail(id, number).await?;
    found.ok_or_else(|| Kind::NotFound.problem(format!("discovery {id} has no seed {number}")))
}

/// Read a seed: each step with what was asked, what was answered, and what became of the candidates
#[utoipa::path(get, path = "/api/v1/discoveries/{id}/seeds/{number}", tag = "discoveries",
    params(("id" = i64, Path,), ("number" = i32, Path, description = "From 0")), responses((status = 200, body = SeedDetail)))]
async fn seed_detail(
    State(service): State<Shared>,
    Path((id, number)): Path<(i64, i32)>,
) -> Result<Json<SeedDetail>, Problem> {
    seed(&service, id, number).await.map(Json)
}

/// Which candidates are wanted.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct CandidateQuery {
    /// `proven`, `refuted`, `unknown` or `duplicate`
    pub(super) verdict: Option<String>,
    /// Of a discovery
    pub(super) discovery: Option<i64>,
    /// Words, all of which are in it
    pub(super) q: Option<String>,
    /// Items at most
    #[param(minimum = 1, maximum = 500)]
    pub(super) limit: Option<u16>,
    /// The `next` of the part before
    pub(super) cursor: Option<String>,
}

/// A part of the list of candidates, the last ones first.
pub(super) async fn candidates(service: &Shared, query: &CandidateQuery) -> Result<Page<CandidateLine>, Problem> {
    let limit = limit(query.limit)?;
    let filter = CandidateFilter { verdict: query.verdict.clone(), discovery: query.discovery, words: query.q.clone() };
    let found = service.store.candidate_page(&filter, after(query.cursor.as_ref())?, rows(limit)).await?;
    Ok(Page::new(found, limit, |line| line.id))
}

/// List candidates, the last ones first
#[utoipa::path(get, path = "/api/v1/candidates", tag = "discoveries", params(CandidateQuery), responses((status = 200, body = Page<CandidateLine>)))]
async fn candidate_list(
    State(service): State<Shared>,
    Query(query): Query<CandidateQuery>,
) -> Result<Json<Page<CandidateLine>>, Problem> {
    candidates(&service, &query).await.map(Json)
}

/// Read a candidate
#[utoipa::path(get, path = "/api/v1/candidates/{id}", tag = "discoveries", params(("id" = i64, Path,)), responses((status = 200, body = CandidateLine)))]
async fn candidate_detail(State(service): State<Shared>, Path(id): Path<i64>) -> Result<Json<CandidateLine>, Problem> {
    let found = service.store.candidate_fetch(id).await?;
    found.map(Json).ok_or_else(|| Kind::NotFound.problem(format!("there is no candidate {id}")))
}

/// Which snippets are wanted.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct SnippetQuery {
    /// Of a dialect
    pub(super) dialect: Option<String>,
    /// `expression` or `table`
    pub(super) kind: Option<String>,
    /// Words, all of which are in it
    pub(super) q: Option<String>,
    /// Only those that are disabled, or only the others
    pub(super) disabled: Option<bool>,
    /// Only those that a build of an engine refused, or only those that none did
    pub(super) refused: Option<bool>,
    /// Items at most
    #[param(minimum = 1, maximum = 500)]
    pub(super) limit: Option<u16>,
    /// The `next` of the part before
    pub(super) cursor: Option<String>,
}

/// A part of the list of snippets, in the order in which they came.
pub(super) async fn snippets(service: &Shared, query: &SnippetQuery) -> Result<Page<SnippetRow>, Problem> {
    let limit = limit(query.limit)?;
    let filter = SnippetFilter {
        dialect: query.dialect.clone(),
        kind: query.kind.clone(),
        words: query.q.clone(),
        disabled: query.disabled,
        refused: query.refused,
    };
    let found = service.store.snippet_page(&filter, after(query.cursor.as_ref())?, rows(limit)).await?;
    Ok(Page::new(found, limit, |row| row.id))
}

/// List snippets, in the order in which they came
#[utoipa::path(get, path = "/api/v1/snippets", tag = "snippets", params(SnippetQuery), responses((status = 200, body = Page<SnippetRow>)))]
async fn snippet_list(
    State(service): State<Shared>,
    Query(query): Query<SnippetQuery>,
) -> Result<Json<Page<SnippetRow>>, Problem> {
    snippets(&service, &query).await.map(Json)
}

fn no_snippet(id: i64) -> Problem {
    Kind::NotFound.problem(format!("there is no snippet {id}"))
}

/// A snippet, where it is from, and what builds of engines made of it.
pub(super) async fn snippet(service: &Shared, id: i64) -> Result<SnippetDetail, Problem> {
    shelf::show(&service.store, id).await.map_err(|error| match error {
        ShelfError::Missing(id) => no_snippet(id),
        ShelfError::Store(error) => error.into(),
        other => anyhow::Error::from(other).into(),
    })
}

/// Read a snippet, where it is from, and what each build of an engine that tried it made of it
#[utoipa::path(get, path = "/api/v1/snippets/{id}", tag = "snippets", params(("id" = i64, Path,)), responses(
    (status = 200, body = SnippetDetail, headers(("ETag" = String, description = "Its revision"))),
    (status = 304, description = "It is as the client has it"),
))]
async fn snippet_detail(
    State(service): State<Shared>,
    Path(id): Path<i64>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let detail = snippet(&service, id).await?;
    seen(&headers, detail.row.revision, &detail)
}

/// What was said of a snippet.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SnippetDecided {
    id: i64,
    revision: i64,
}

/// Says whether campaigns may use a snippet: not, for a reason, or again.
pub(super) async fn do_disable(
    service: &Shared,
    id: i64,
    revision: i64,
    why: Option<&str>,
    who: &str,
) -> Result<Tagged<SnippetDecided>, Problem> {
    match service.store.snippet_disable(id, revision, why, who).await? {
        Written::Done(revision) => Ok(Tagged(revision, SnippetDecided { id, revision })),
        Written::Stale(now) => Err(stale(now)),
        Written::Missing => Err(no_snippet(id)),
    }
}

/// Disable a snippet: campaigns that start from now on do not use it
#[utoipa::path(post, path = "/api/v1/snippets/{id}/disable", tag = "snippets",
    params(("id" = i64, Path,), ("If-Match" = String, Header, description = "The ETag of what was seen")),
    request_body = Reason, responses((status = 200, body = SnippetDecided, headers(("ETag" = String)))))]
async fn snippet_disable(
    State(service): State<Shared>,
    Operator(client): Operator,
    Path(id): Path<i64>,
    IfMatch(revision): IfMatch,
    Json(reason): Json<Reason>,
) -> Result<Tagged<SnippetDecided>, Problem> {
    do_disable(&service, id, revision, Some(reason.checked()?), &client.name).await
}

/// Enable a snippet again
#[utoipa::path(post, path = "/api/v1/snippets/{id}/enable", tag = "snippets",
    params(("id" = i64, Path,), ("If-Match" = String, Header, description = "The ETag of what was seen")),
    responses((status = 200, body = SnippetDecided, headers(("ETag" = String)))))]
async fn snippet_enable(
    State(service): State<Shared>,
    Operator(client): Operator,
    Path(id): Path<i64>,
    IfMatch(revision): IfMatch,
) -> Result<Tagged<SnippetDecided>, Problem> {
    do_disable(&service, id, revision, None, &client.name).await
}

/// A version of an engine.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct VersionView {
    /// As its package calls it.
    pub(super) version: String,
    pub(super) installed: bool,
    /// Whether it is linked into this program.
    pub(super) linked: bool,
    /// What the engine says of itself, where that is another version.
    pub(super) says: Option<String>,
}

/// An engine with its versions.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct EngineView {
    pub(super) engine: String,
    /// Those that are here and those that can be installed, oldest first.
    pub(super) versions: Vec<VersionView>,
}

/// The engines with their versions.
pub(super) fn engines(service: &Shared) -> Result<Vec<EngineView>, Problem> {
    let store = EngineStore::new(&service.data_dir);
    let linked = Sqlite::linked(STATEMENT_LIMITS).map_err(anyhow::Error::from)?.version();
    let views = known_engines().into_iter().map(|engine| {
        let installed = store.versions(&engine);
        let linked = (engine == "sqlite").then_some(&linked);
        let mut all = known_versions(&engine);
        all.extend(installed.iter().chain(linked).cloned());
        all.sort_by_key(|version| crate::dbms::install::version_key(version));
        all.dedup();
        let view = |version: String| VersionView {
            installed: installed.contains(&version),
            linked: linked == Some(&version),
            says: engine_says(&engine, &version).map(str::to_owned),
            version,
        };
        EngineView { versions: all.into_iter().map(view).collect(), engine: engine.clone() }
    });
    Ok(views.collect())
}

/// List the engines with their versions: those that are here, and those that can be installed
#[utoipa::path(get, path = "/api/v1/engines", tag = "engines", responses((status = 200, body = Page<EngineView>)))]
async fn engine_list(State(service): State<Shared>) -> Result<Json<Page<EngineView>>, Problem> {
    // A directory is read.
    let items = tokio::task::spawn_blocking(move || engines(&service)).await.map_err(anyhow::Error::from)??;
    Ok(Json(Page { items, next: None }))
}

/// Asks for the installation of a version of an engine, one that is known.
pub(super) async fn do_install(
    service: &Shared,
    engine: &str,
    version: &str,
    key: &str,
    who: &str,
) -> Result<Asked, Problem> {
    // Both become parts of commands and paths, so they must be ones of ours.
    if !known_engines().iter().any(|known| known == engine) || !known_versions(engine).iter().any(|v| v == version) {
        return Err(Kind::NotFound.problem("no package is known that carries this version; /api/v1/engines lists them"));
    }
    jobs::ask(service, "install", &format!("{engine}@{version}"), key, who).await
}

/// Install a version of an engine: a job
#[utoipa::path(post, path = "/api/v1/engines/{engine}/versions/{version}/install", tag = "engines",
    params(("engine" = String, Path,), ("version" = String, Path,),
        ("Idempotency-Key" = String, Header, description = "The same request with the same key is done once")),
    responses((status = 202, body = Asked)))]
async fn engine_install(
    State(service): State<Shared>,
    Admin(client): Admin,
    Path((engine, version)): Path<(String, String)>,
    IdempotencyKey(key): IdempotencyKey,
) -> Result<(StatusCode, Json<Asked>), Problem> {
    Ok((StatusCode::ACCEPTED, Json(do_install(&service, &engine, &version, &key, &client.name).await?)))
}

/// Which changes are wanted.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct AuditQuery {
    /// Of one thing, as in `class tlp-where` or `bug 7`
    pub(super) subject: Option<String>,
    /// Items at most
    #[param(minimum = 1, maximum = 500)]
    pub(super) limit: Option<u16>,
    /// The `next` of the part before
    pub(super) cursor: Option<String>,
}

/// A part of the list of changes, the last ones first.
pub(super) async fn audit(service: &Shared, query: &AuditQuery) -> Result<Page<AuditRow>, Problem> {
    let limit = limit(query.limit)?;
    let after = after(query.cursor.as_ref())?;
    let found = service.store.audit_page(query.subject.as_deref(), after, rows(limit)).await?;
    Ok(Page::new(found, limit, |row| row.id))
}

/// List who changed what, the last changes first
#[utoipa::path(get, path = "/api/v1/audit", tag = "audit", params(AuditQuery), responses((status = 200, body = Page<AuditRow>)))]
async fn audit_list(
    State(service): State<Shared>,
    Admin(_client): Admin,
    Query(query): Query<AuditQuery>,
) -> Result<Json<Page<AuditRow>>, Problem> {
    audit(&service, &query).await.map(Json)
}
