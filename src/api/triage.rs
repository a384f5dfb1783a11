//! Which findings are one bug and what it hangs on: merging, splitting, and bugs in forms that others read.

use super::Shared;
use super::Tagged;
use super::access::Operator;
use super::bugs::{BugDecided, fetch, is_part, missing};
use super::classes::stale;
use super::extract::{IfMatch, Json, Path, Query};
use super::findings;
use super::problem::{Kind, Problem};
use crate::dbms::target::Target;
use crate::sql::profile::Profile;
use crate::store::{BugDetail, Merge, Split};
use crate::triage::cause::Cause;
use crate::triage::export::Format;
use crate::triage::finding::Finding;
use crate::triage::group::{Bug, bug_id, own_id};
use crate::triage::regression::{Style, in_one};
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(merge)).routes(routes!(split)).routes(routes!(export)).routes(routes!(as_test))
}

/// What a bug hangs on, as experiments on one of its findings showed.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CauseView {
    /// The query that is wrong, from 1, where an experiment shows it.
    wrong: Option<usize>,
    /// How that is known.
    known_by: Option<String>,
    /// Optimizer switches with which the queries agree, each turned alone.
    cured_by: Vec<String>,
    /// Constructs without which it vanishes.
    needs: Vec<String>,
    /// Constructs of the case without which it still shows.
    shows_without: Vec<String>,
    /// Operators that only one of the plans of the queries that disagree has.
    plans: Vec<String>,
    /// What the engine said, without names and values.
    message: Option<String>,
    /// Another target on which it shows too, if the hunt had one to compare with.
    also_on: Option<String>,
    /// The last version of those tried in a row that shows it.
    last_bad: Option<String>,
    /// The first version after it that does not, if one was tried.
    first_good: Option<String>,
    /// The query that is wrong, with nothing left that does not matter.
    core: Option<CoreView>,
}

/// A query that returns something else than it does with its reference.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CoreView {
    /// What makes its database, what runs before it, and the query.
    script: Vec<String>,
    /// What it is right with: a switch, or another version.
    reference: String,
    /// All switches with which it is right, each turned alone.
    switches: Vec<String>,
}

impl CauseView {
    /// Of a finding.
    pub(super) fn new(finding: &Finding) -> Self {
        let Cause { wrong, known_by, core, needs, shows_without, plans, shape: _, message, fixed, also_on } =
            finding.cause.clone();
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        Self {
            wrong: wrong.map(|at| at + 1),
            known_by: some(known_by),
            cured_by: finding.cured_by.clone(),
            needs,
            shows_without,
            plans,
            message: some(message),
            also_on,
            last_bad: fixed.as_ref().map(|fixed| fixed.last_bad.clone()),
            first_good: fixed.and_then(|fixed| fixed.first_good),
            core: core.map(|core| CoreView {
                script: core.texts().map(|text| format!("{text};")).collect(),
                reference: core.reference,
                switches: core.switches,
            }),
        }
    }
}

/// Which bug another one is a part of.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MergeInto {
    /// The number of the bug that stays
    into: i64,
}

/// The engine of a target.
fn engine(dbms: &str) -> Option<String> {
    dbms.parse().ok().map(|target: Target| target.dialect().to_owned())
}

/// Merges a bug into another.
pub(super) async fn do_merge(
    service: &Shared,
    id: i64,
    revision: i64,
    into: i64,
    who: &str,
) -> Result<Tagged<BugDecided>, Problem> {
    let refuse = |detail: String| Err(Kind::Unprocessable.problem(detail));
    let part = fetch(service, id).await?;
    if id == into {
        return refuse("a bug is not merged into itself; `into` is the number of another one".to_owned());
    }
    let no_target = || refuse(format!("there is no bug {into} to merge into"));
    let Some(whole) = service.store.bug_fetch(into).await? else { return no_target() };
    let (one, other) = (&part.line.dbms, &whole.line.dbms);
    if engine(one) != engine(other) {
        return refuse(format!("bug {id} is of {one} and bug {into} of {other}: two engines have no bug in common"));
    }
    match service.store.bug_merge(id, revision, into, who).await? {
        Merge::Done(revision) => Ok(Tagged(revision, BugDecided { id: into, revision })),
        Merge::Stale(now) => Err(stale(now)),
        Merge::Missing => Err(missing(id)),
        Merge::NoTarget => no_target(),
        Merge::IsPart(id, of) => Err(is_part(id, of)),
    }
}

/// Merge a bug into another: its findings, those that come later and its notes are the other's. The answer is the other bug
#[utoipa::path(post, path = "/api/v1/bugs/{id}/merge", tag = "bugs",
    params(("id" = i64, Path,), ("If-Match" = String, Header, description = "The ETag of what was seen")),
    request_body = MergeInto, responses((status = 200, body = BugDecided, headers(("ETag" = String)))))]
async fn merge(
    State(service): State<Shared>,
    Operator(client): Operator,
    Path(id): Path<i64>,
    IfMatch(revision): IfMatch,
    Json(asked): Json<MergeInto>,
) -> Result<Tagged<BugDecided>, Problem> {
    do_merge(&service, id, revision, asked.into, &client.name).await
}

/// Which finding is no part of a bug.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SplitOff {
    /// The number of the finding
    finding: i64,
}

/// Makes a finding a bug of its own.
pub(super) async fn do_split(
    service: &Shared,
    id: i64,
    revision: i64,
    finding: i64,
    who: &str,
) -> Result<Tagged<BugDecided>, Problem> {
    match service.store.bug_split(id, revision, finding, who).await? {
        Split::Done(id, revision) => Ok(Tagged(revision, BugDecided { id, revision })),
        Split::Stale(now) => Err(stale(now)),
        Split::Missing => Err(missing(id)),
        Split::NotOfBug => Err(Kind::Unprocessable.problem(format!("finding {finding} is not of bug {id}"))),
        Split::Alone => Err(Kind::Conflict
            .problem(format!("bug {id} has no other case: finding {finding} is a bug of its own already"))),
    }
}

/// Make a finding a bug of its own, with those of the same case that come later. The answer is that bug
#[utoipa::path(post, path = "/api/v1/bugs/{id}/split", tag = "bugs",
    params(("id" = i64, Path,), ("If-Match" = String, Header, description = "The ETag of what was seen")),
    request_body = SplitOff, responses((status = 200, body = BugDecided, headers(("ETag" = String)))))]
async fn split(
    State(service): State<Shared>,
    Operator(client): Operator,
    Path(id): Path<i64>,
    IfMatch(revision): IfMatch,
    Json(asked): Json<SplitOff>,
) -> Result<Tagged<BugDecided>, Problem> {
    do_split(&service, id, revision, asked.finding, &client.name).await
}

/// A bug as the command line has it, with its smallest finding.
async fn whole(service: &Shared, id: i64) -> Result<(Bug, Finding, Arc<Profile>), Problem> {
    let BugDetail { line, smallest, oracles, classes, split, .. } = fetch(service, id).await?;
    let Some(number) = smallest else {
        let where_to = line.merged_into.map(|of| format!("; they are those of bug {of}")).unwrap_or_default();
        return Err(Kind::NotFound.problem(format!("bug {id} has no finding{where_to}")));
    };
    let finding = findings::fetch(service, number).await?;
    let profile = findings::profile(&finding)?;
    let fingerprint = finding.fingerprint();
    let dir = PathBuf::from(format!("api/v1/findings/{number}/files"));
    let day = |time: &str| time.get(..10).map(str::to_owned);
    let others = service.store.bug_fingerprints(id).await?;
    let bug = Bug {
        id: split.as_deref().map_or_else(|| bug_id(&fingerprint), own_id),
        kind: fingerprint.kind.clone(),
        oracles: oracles.into_iter().collect(),
        classes: classes.into_iter().collect(),
        origins: finding.origins.iter().cloned().collect(),
        cause: fingerprint.cause.clone(),
        fingerprint: fingerprint.to_string(),
        fingerprints: others.into_iter().chain([fingerprint.to_string()]).collect(),
        findings: usize::try_from(line.findings).unwrap_or_default(),
        script: dir.join("repro.sql"),
        dir,
        smallest: finding.id.clone(),
        size: finding.size(),
        suppressed: line.suppressed,
        first_seen: day(&line.created),
        last_seen: day(&line.last_found),
        members: service.store.bug_members(id).await?,
    };
    Ok((bug, finding, profile))
}

/// In which form a bug is wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ExportQuery {
    /// The form
    #[param(inline)]
    format: Format,
}

/// Take a bug away: as an issue in Markdown for those who make the engine, as JSON (`docs/bugs.schema.json`), as a `JUnit` test
/// suite, or as SARIF
#[utoipa::path(get, path = "/api/v1/bugs/{id}/export", tag = "bugs", params(("id" = i64, Path,), ExportQuery),
    responses((status = 200, description = "The file", content((String = "text/markdown"), (Object = "application/json"),
        (String = "application/xml"), (Object = "application/sarif+json")))))]
async fn export(
    State(service): State<Shared>,
    Path(id): Path<i64>,
    Query(query): Query<ExportQuery>,
) -> Result<Response, Problem> {
    let (bug, finding, profile) = whole(&service, id).await?;
    let (extension, kind) = match query.format {
        Format::Markdown => ("md", "text/markdown; charset=utf-8"),
        Format::Json => ("json", "application/json"),
        Format::Junit => ("xml", "application/xml"),
        Format::Sarif => ("sarif", "application/sarif+json"),
    };
    let text = query.format.text(&[(bug, finding)], &profile).map_err(anyhow::Error::from)?;
    Ok(findings::attached(&format!("caqtus-bug-{id}.{extension}"), kind, text))
}

/// For whose runner a test is wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct TestQuery {
    /// Whose form; that of the engine if none is named
    #[param(inline)]
    style: Option<Style>,
}

/// Take a regression test of a bug away, for a runner of sqllogictest files or for `pg_regress`
#[utoipa::path(get, path = "/api/v1/bugs/{id}/as-test", tag = "bugs", params(("id" = i64, Path,), TestQuery),
    responses((status = 200, description = "The file", content((String = "text/plain")))))]
async fn as_test(
    State(service): State<Shared>,
    Path(id): Path<i64>,
    Query(query): Query<TestQuery>,
) -> Result<Response, Problem> {
    let (_, finding, profile) = whole(&service, id).await?;
    let files = finding.regression_test(&profile, query.style.unwrap_or_else(|| Style::of(profile.wire)));
    let files = files.map_err(|error| Kind::Unprocessable.problem(error.to_string()))?;
    Ok(findings::attached(&format!("caqtus-bug-{id}.test"), "text/plain; charset=utf-8", in_one(&files)))
}
