//! Bugs: what their findings have in common, what people say of them, and between which versions they show.

use super::access::Operator;
use super::classes::{REASON_MAX, stale};
use super::extract::{IdempotencyKey, IfMatch, Json, Page, Path, Query, after, limit, one_of, rows};
use super::findings::KINDS;
use super::jobs::{self, Asked};
use super::problem::{Kind, Problem};
use super::triage::CauseView;
use super::{Shared, Tagged, seen};
use crate::store::{BugChange, BugDetail, BugFilter, BugLine, BugState, NoteRow, Written};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(detail))
        .routes(routes!(state))
        .routes(routes!(note))
        .routes(routes!(bisect))
}

/// Characters of a note, of a URL, and of a version.
const NOTE_MAX: usize = 20_000;
const URL_MAX: usize = 2_000;
const VERSION_MAX: usize = 100;

/// Which bugs are wanted.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct BugQuery {
    /// Their state
    pub(super) state: Option<BugState>,
    /// The target
    pub(super) dbms: Option<String>,
    /// The kind of failure, as in `wrong-result`
    pub(super) kind: Option<String>,
    /// The class
    pub(super) class: Option<String>,
    /// `true` for those that are reported no more: ignored, or known by a list; `false` for the others
    pub(super) suppressed: Option<bool>,
    /// Words of the fingerprint
    pub(super) q: Option<String>,
    /// Items at most
    #[param(minimum = 1, maximum = 500)]
    pub(super) limit: Option<u16>,
    /// The `next` of the part before
    pub(super) cursor: Option<String>,
}

/// A part of the list of bugs, the last ones first.
pub(super) async fn page(service: &Shared, query: &BugQuery) -> Result<Page<BugLine>, Problem> {
    let limit = limit(query.limit)?;
    one_of("kind", query.kind.as_deref(), &KINDS)?;
    let filter = BugFilter {
        state: query.state,
        dbms: query.dbms.clone(),
        kind: query.kind.clone(),
        class: query.class.clone(),
        suppressed: query.suppressed,
        words: query.q.clone(),
    };
    let lines = service.store.bug_page(&filter, after(query.cursor.as_ref())?, rows(limit)).await?;
    Ok(Page::new(lines, limit, |line| line.id))
}

/// List bugs, the last ones first
#[utoipa::path(get, path = "/api/v1/bugs", tag = "bugs", params(BugQuery), responses((status = 200, body = Page<BugLine>)))]
async fn list(State(service): State<Shared>, Query(query): Query<BugQuery>) -> Result<Json<Page<BugLine>>, Problem> {
    page(&service, &query).await.map(Json)
}

pub(super) fn missing(id: i64) -> Problem {
    Kind::NotFound.problem(format!("there is no bug {id}"))
}

/// A bug, as it is now.
pub(super) async fn fetch(service: &Shared, id: i64) -> Result<BugDetail, Problem> {
    service.store.bug_fetch(id).await?.ok_or_else(|| missing(id))
}

/// That somebody writes to a bug that is a part of another.
pub(super) fn is_part(id: i64, of: i64) -> Problem {
    Kind::Conflict.problem(format!("bug {id} is a part of bug {of}; say it of that one"))
}

/// A bug that can be written to.
async fn fetch_whole(service: &Shared, id: i64) -> Result<BugDetail, Problem> {
    let bug = fetch(service, id).await?;
    match bug.line.merged_into {
        Some(of) => Err(is_part(id, of)),
        None => Ok(bug),
    }
}

/// A bug with what it hangs on.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct BugView {
    #[serde(flatten)]
    bug: BugDetail,
    /// What experiments on its smallest finding showed.
    cause: Option<CauseView>,
}

/// Read a bug; its findings are those of `/api/v1/findings?bug=…`
#[utoipa::path(get, path = "/api/v1/bugs/{id}", tag = "bugs", params(("id" = i64, Path,)), responses(
    (status = 200, body = BugView, headers(("ETag" = String, description = "Its revision"))),
    (status = 304, description = "It is as the client has it"),
))]
async fn detail(State(service): State<Shared>, Path(id): Path<i64>, headers: HeaderMap) -> Result<Response, Problem> {
    let bug = fetch(&service, id).await?;
    let smallest = match bug.smallest {
        Some(number) => service.store.finding_fetch(number).await?,
        None => None,
    };
    let (revision, cause) = (bug.line.revision, smallest.as_ref().map(CauseView::new));
    seen(&headers, revision, &BugView { bug, cause })
}

/// What somebody says of a bug.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BugSaid {
    pub(super) state: BugState,
    /// Where it was reported; needed for `reported`
    #[schema(max_length = 2000)]
    pub(super) url: Option<String>,
    /// The version that fixed it; needed for `fixed`
    #[schema(max_length = 100)]
    pub(super) fixed_in: Option<String>,
    /// Why; needed for `ignored`. Hunts on the same target count its findings and report them no more
    #[schema(max_length = 2000)]
    pub(super) why: Option<String>,
}

/// The present state of a bug.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct BugDecided {
    pub(super) id: i64,
    pub(super) revision: i64,
}

/// Sets what is known of a bug.
pub(super) async fn do_state(
    service: &Shared,
    id: i64,
    revision: i64,
    said: BugSaid,
    who: &str,
) -> Result<Tagged<BugDecided>, Problem> {
    let some = |text: Option<String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let (url, fixed_in, why) = (some(said.url), some(said.fixed_in), some(said.why));
    let refuse = |detail: &str| Err(Kind::Unprocessable.problem(detail));
    if let Some(url) = &url {
        let web = url.starts_with("https://") || url.starts_with("http://");
        if !web || url.chars().count() > URL_MAX || url.chars().any(char::is_whitespace) {
            return refuse("`url` is where the bug was reported: an address that begins with https:// or http://");
        }
    }
    if fixed_in.as_ref().is_some_and(|version| version.chars().count() > VERSION_MAX) {
        return refuse("`fixed_in` is a version, of 100 characters at most");
    }
    if why.as_ref().is_some_and(|why| why.chars().count() > REASON_MAX) {
        return refuse(&format!("`why` has more than {REASON_MAX} characters"));
    }
    match said.state {
        BugState::Ignored if why.is_none() => return refuse("an ignored bug says in `why` why it is"),
        BugState::Reported if url.is_none() => return refuse("a reported bug has a `url`"),
        BugState::Fixed if fixed_in.is_none() => {
            return refuse("a fixed bug says in `fixed_in` which version fixed it");
        }
        _ => {}
    }
    fetch_whole(service, id).await?;
    let change = BugChange { state: said.state, url, fixed_in, why };
    match service.store.bug_change(id, revision, &change, who).await? {
        Written::Done(revision) => Ok(Tagged(revision, BugDecided { id, revision })),
        Written::Stale(now) => Err(stale(now)),
        Written::Missing => Err(missing(id)),
    }
}

/// Say what is known of a bug
#[utoipa::path(put, path = "/api/v1/bugs/{id}/state", tag = "bugs",
    params(("id" = i64, Path,), ("If-Match" = String, Header, description = "The ETag of what was seen")),
    request_body = BugSaid, responses((status = 200, body = BugDecided, headers(("ETag" = String)))))]
async fn state(
    State(service): State<Shared>,
    Operator(client): Operator,
    Path(id): Path<i64>,
    IfMatch(revision): IfMatch,
    Json(said): Json<BugSaid>,
) -> Result<Tagged<BugDecided>, Problem> {
    do_state(&service, id, revision, said, &client.name).await
}

/// A note about a bug.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewNote {
    #[schema(
        min_length = 1,
        max_length = 20_000,
        pattern = r"^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]*$"
    )]
    pub(super) body: String,
}

/// Adds a note to a bug.
pub(super) async fn do_note(service: &Shared, id: i64, note: &NewNote, who: &str) -> Result<NoteRow, Problem> {
    let body = note.body.trim();
    if body.is_empty() || body.chars().count() > NOTE_MAX {
        return Err(Kind::Unprocessable.problem(format!("a note has 1 to {NOTE_MAX} characters")));
    }
    fetch_whole(service, id).await?;
    service.store.bug_note_put(id, body, who).await?.ok_or_else(|| missing(id))
}

/// Add a note to a bug
#[utoipa::path(post, path = "/api/v1/bugs/{id}/notes", tag = "bugs", params(("id" = i64, Path,)),
    request_body = NewNote, responses((status = 201, body = NoteRow)))]
async fn note(
    State(service): State<Shared>,
    Operator(client): Operator,
    Path(id): Path<i64>,
    Json(note): Json<NewNote>,
) -> Result<(StatusCode, Json<NoteRow>), Problem> {
    Ok((StatusCode::CREATED, Json(do_note(&service, id, &note, &client.name).await?)))
}

/// Asks for the versions between which a bug shows.
pub(super) async fn do_bisect(service: &Shared, id: i64, key: &str, who: &str) -> Result<Asked, Problem> {
    if fetch_whole(service, id).await?.smallest.is_none() {
        return Err(Kind::Conflict.problem("the bug has no finding that could be run"));
    }
    jobs::ask(service, "bisect", &format!("bug {id}"), key, who).await
}

/// Ask between which installed versions a bug shows: a job
#[utoipa::path(post, path = "/api/v1/bugs/{id}/bisect", tag = "bugs",
    params(("id" = i64, Path,), ("Idempotency-Key" = String, Header, description = "The same request with the same key is done once")),
    responses((status = 202, body = Asked)))]
async fn bisect(
    State(service): State<Shared>,
    Operator(client): Operator,
    Path(id): Path<i64>,
    IdempotencyKey(key): IdempotencyKey,
) -> Result<(StatusCode, Json<Asked>), Problem> {
    Ok((StatusCode::ACCEPTED, Json(do_bisect(&service, id, &key, &client.name).await?)))
}
