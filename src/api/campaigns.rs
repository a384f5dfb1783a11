//! Campaigns: starting one, watching it, stopping it.

use super::access::Operator;
use super::extract::{IdempotencyKey, Json, Page, Path, Query, after, limit, one_of, rows};
use super::jobs::other_request;
use super::problem::{Kind, Problem};
use super::{Shared, events, hex, seen, work};
use crate::clock;
use crate::config::{DURATION_MAX_S, SNIPPET_PERCENT};
use crate::dbms::install::EngineStore;
use crate::dbms::target::Target;
use crate::oracle;
use crate::rng;
use crate::store::{CampaignDetail, CampaignLine, NewCampaign, SampleRow, Started};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(list, start))
        .routes(routes!(detail))
        .routes(routes!(stop))
        .routes(routes!(samples))
        .routes(routes!(events::of_campaign))
}

/// Bugs after which a campaign may be made to stop.
const BUGS_MAX: u64 = 1_000_000;

/// Executor processes of a campaign.
const WORKERS_MAX: u16 = 64;

/// Patterns of class names, and characters of each.
const GLOBS_MAX: usize = 50;
const GLOB_CHARS_MAX: usize = 200;

/// Which campaigns are wanted.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct CampaignQuery {
    /// `running`, `stopping`, `stopped`, `finished` or `failed`
    pub(super) state: Option<String>,
    /// The target
    pub(super) dbms: Option<String>,
    /// Items at most
    #[param(minimum = 1, maximum = 500)]
    pub(super) limit: Option<u16>,
    /// The `next` of the part before
    pub(super) cursor: Option<String>,
}

/// A part of the list of campaigns, the last ones first.
pub(super) async fn page(service: &Shared, query: &CampaignQuery) -> Result<Page<CampaignLine>, Problem> {
    let limit = limit(query.limit)?;
    let (state, dbms) = (query.state.as_deref(), query.dbms.as_deref());
    one_of("state", state, &["running", "stopping", "stopped", "finished", "failed"])?;
    let lines = service.store.campaign_page(state, dbms, after(query.cursor.as_ref())?, rows(limit)).await?;
    Ok(Page::new(lines, limit, |line| line.id))
}

/// List campaigns, the last ones first
#[utoipa::path(get, path = "/api/v1/campaigns", tag = "campaigns", params(CampaignQuery), responses((status = 200, body = Page<CampaignLine>)))]
async fn list(
    State(service): State<Shared>,
    Query(query): Query<CampaignQuery>,
) -> Result<Json<Page<CampaignLine>>, Problem> {
    page(&service, &query).await.map(Json)
}

/// Where the classes of a campaign come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ClassesOf {
    /// The released classes of the store, with its snippets.
    #[default]
    Store,
    /// The classes that ship with the program.
    Shipped,
}

/// What a campaign shall run.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CampaignRequest {
    /// An engine, or one of its installed versions, as in `sqlite` or `duckdb@1.3.2`
    #[schema(max_length = 200, example = "sqlite")]
    pub(super) dbms: String,
    #[serde(default)]
    pub(super) classes_of: ClassesOf,
    /// The seed; from the clock if there is none
    #[schema(maximum = 9_223_372_036_854_775_807_i64)]
    pub(super) seed: Option<u64>,
    /// Stop after this many cases
    #[schema(minimum = 1, maximum = 9_223_372_036_854_775_807_i64)]
    pub(super) cases: Option<u64>,
    /// Stop after this time
    #[schema(minimum = 1, maximum = 315_360_000)]
    pub(super) seconds: Option<u64>,
    /// Stop when so many bugs are found that no list covers
    #[schema(minimum = 1, maximum = 1_000_000)]
    pub(super) max_bugs: Option<u32>,
    /// Executor processes; one per core if it is not said
    #[schema(minimum = 1, maximum = 64)]
    pub(super) workers: Option<u16>,
    /// Only these oracles
    #[serde(default)]
    #[schema(max_items = 10)]
    pub(super) oracles: Vec<String>,
    /// Only classes whose name matches; `*` stands for any text
    #[serde(default)]
    #[schema(max_items = 50)]
    pub(super) classes: Vec<String>,
    /// Also use members without a proof
    #[serde(default)]
    pub(super) assumed: bool,
    /// Share of placeholders filled from the snippet corpus
    #[schema(maximum = 100)]
    pub(super) snippet_percent: Option<u32>,
}

/// A target of this name, on which a service may run something.
pub(super) fn target(dbms: &str, data_dir: &std::path::Path) -> Result<Target, Problem> {
    let refuse = |detail: String| Err(Kind::Unprocessable.problem(detail));
    let target: Target = match dbms.parse() {
        Ok(target) => target,
        Err(error) => return refuse(format!("{:#}", anyhow::Error::from(error))),
    };
    match &target {
        Target::Plain { .. } | Target::Planted(_) => Ok(target),
        Target::Version { dialect, version } => {
            if EngineStore::new(data_dir).versions(dialect).contains(version) {
                return Ok(target);
            }
            refuse(format!("{dialect}@{version} is not installed here; ask for its installation first"))
        }
        // A library is code that would run here, and a server may be anybody's.
        Target::Path { .. } | Target::Url { .. } => {
            refuse("a service hunts on engines that it has installed; name ENGINE or ENGINE@VERSION".into())
        }
    }
}

impl CampaignRequest {
    /// Whether everything is within its bounds.
    fn check(&self, data_dir: &std::path::Path) -> Result<(), Problem> {
        let refuse = |detail: String| Err(Kind::Unprocessable.problem(detail));
        target(&self.dbms, data_dir)?;
        let within = |name: &str, value: Option<u64>, max: u64| match value {
            Some(value) if value == 0 || value > max => {
                Err(Kind::Unprocessable.problem(format!("`{name}` is from 1 to {max}")))
            }
            _ => Ok(()),
        };
        let whole = u64::try_from(i64::MAX).unwrap_or(u64::MAX);
        within("cases", self.cases, whole)?;
        within("seconds", self.seconds, DURATION_MAX_S)?;
        within("max_bugs", self.max_bugs.map(u64::from), BUGS_MAX)?;
        within("workers", self.workers.map(u64::from), u64::from(WORKERS_MAX))?;
        if self.seed.is_some_and(|seed| seed > whole) {
            return refuse(format!("`seed` is {whole} at most"));
        }
        if self.snippet_percent.unwrap_or(SNIPPET_PERCENT) > 100 {
            return refuse("`snippet_percent` is 100 at most".into());
        }
        if let Some(unknown) = self.oracles.iter().find(|name| oracle::ALL.iter().all(|oracle| oracle.name != **name)) {
            let names: Vec<&str> = oracle::ALL.iter().map(|oracle| oracle.name).collect();
            return refuse(format!("there is no oracle {unknown}; there are {}", names.join(", ")));
        }
        if self.classes.len() > GLOBS_MAX || self.classes.iter().any(|glob| glob.chars().count() > GLOB_CHARS_MAX) {
            return refuse(format!("`classes` has {GLOBS_MAX} patterns at most, of {GLOB_CHARS_MAX} characters each"));
        }
        Ok(())
    }
}

/// A campaign that was started.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CampaignStarted {
    /// Its number.
    pub(super) id: i64,
    /// Whether this request started it, or the same one before.
    pub(super) new: bool,
}

/// Starts a campaign.
pub(super) async fn do_start(
    service: &Shared,
    request: CampaignRequest,
    key: &str,
    who: &str,
) -> Result<CampaignStarted, Problem> {
    request.check(&service.data_dir)?;
    if request.assumed {
        // A class may come from any client, and what is not proven may name any function of a server, which reads and
        // writes files.
        let detail =
            "members that are assumed, not proven, are used by `caqtus hunt --assumed` only, on the machine itself";
        return Err(Kind::Forbidden.problem(detail));
    }
    let spec = serde_json::to_value(&request).map_err(anyhow::Error::from)?;
    let seed = request.seed.unwrap_or_else(|| clock::unix_nanos() >> 1);
    let own = rng::secret().map_err(anyhow::Error::from)?;
    let own = format!("service {}", hex(&own[..16]));
    let new = NewCampaign {
        key: &own,
        dbms: &request.dbms,
        seed,
        spec: &spec,
        service: &service.work.name,
        at_once_max: work::CAMPAIGNS_MAX,
        asked_by: who,
        idempotency_key: &format!("{who}/{key}"),
    };
    match service.store.campaign_start(&new).await? {
        Started::New(id) => {
            let begin = work::campaign::Begin { id, key: own, request, seed, seconds: 0.0, stopping: false };
            work::campaign::spawn(service, begin);
            Ok(CampaignStarted { id, new: true })
        }
        Started::Before(id) => Ok(CampaignStarted { id, new: false }),
        Started::Other => Err(other_request()),
        Started::Full => {
            let detail =
                format!("{} campaigns run here already; stop one, or wait until one ends", work::CAMPAIGNS_MAX);
            Err(Kind::Conflict.problem(detail))
        }
    }
}

/// Start a campaign
#[utoipa::path(post, path = "/api/v1/campaigns", tag = "campaigns",
    params(("Idempotency-Key" = String, Header, description = "The same request with the same key is done once")),
    request_body = CampaignRequest, responses((status = 202, body = CampaignStarted)))]
async fn start(
    State(service): State<Shared>,
    Operator(client): Operator,
    IdempotencyKey(key): IdempotencyKey,
    Json(request): Json<CampaignRequest>,
) -> Result<(StatusCode, Json<CampaignStarted>), Problem> {
    Ok((StatusCode::ACCEPTED, Json(do_start(&service, request, &key, &client.name).await?)))
}

fn missing(id: i64) -> Problem {
    Kind::NotFound.problem(format!("there is no campaign {id}"))
}

/// A campaign, as it is now.
pub(super) async fn fetch(service: &Shared, id: i64) -> Result<CampaignDetail, Problem> {
    service.store.campaign_fetch(id).await?.ok_or_else(|| missing(id))
}

/// Read a campaign; its findings are those of `/api/v1/findings?campaign=…`
#[utoipa::path(get, path = "/api/v1/campaigns/{id}", tag = "campaigns", params(("id" = i64, Path,)), responses(
    (status = 200, body = CampaignDetail, headers(("ETag" = String, description = "Its revision"))),
    (status = 304, description = "It is as the client has it"),
))]
async fn detail(State(service): State<Shared>, Path(id): Path<i64>, headers: HeaderMap) -> Result<Response, Problem> {
    let campaign = fetch(&service, id).await?;
    seen(&headers, campaign.line.revision, &campaign)
}

/// The state of a campaign.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CampaignState {
    id: i64,
    /// `running`, `stopping`, `stopped`, `finished` or `failed`.
    state: String,
}

/// Asks a campaign to stop.
pub(super) async fn do_stop(service: &Shared, id: i64, who: &str) -> Result<CampaignState, Problem> {
    let state = service.store.campaign_ask_stop(id, who).await?.ok_or_else(|| missing(id))?;
    Ok(CampaignState { id, state })
}

/// Stop a campaign: executors finish what they are at; one that ended stays as it is
#[utoipa::path(post, path = "/api/v1/campaigns/{id}/stop", tag = "campaigns", params(("id" = i64, Path,)), responses((status = 200, body = CampaignState)))]
async fn stop(
    State(service): State<Shared>,
    Operator(client): Operator,
    Path(id): Path<i64>,
) -> Result<Json<CampaignState>, Problem> {
    do_stop(&service, id, &client.name).await.map(Json)
}

/// Which samples are wanted.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct SampleQuery {
    /// Items at most
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u16>,
    /// The `next` of the part before
    cursor: Option<String>,
}

/// How far a campaign was, over its time: what a chart shows
#[utoipa::path(get, path = "/api/v1/campaigns/{id}/samples", tag = "campaigns", params(("id" = i64, Path,), SampleQuery), responses((status = 200, body = Page<SampleRow>)))]
async fn samples(
    State(service): State<Shared>,
    Path(id): Path<i64>,
    Query(query): Query<SampleQuery>,
) -> Result<Json<Page<SampleRow>>, Problem> {
    let limit = limit(query.limit)?;
    let after: Option<f64> = after(query.cursor.as_ref())?;
    fetch(&service, id).await?;
    let found = service.store.sample_page(id, after, rows(limit)).await?;
    Ok(Json(Page::new(found, limit, |sample| sample.seconds)))
}
