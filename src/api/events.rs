//! What happens, as it happens: server-sent events. Every event has a number that grows; a client that was cut off says the
//! last one it has seen, and gets all that came since.

use super::Shared;
use super::access::{self, Client};
use super::extract::{Path, Query};
use super::problem::{Kind, Problem};
use crate::clock;
use crate::store::EventRow;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::Stream;
use serde::Deserialize;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, watch};
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(all))
}

/// Clients that watch at once.
pub(super) const WATCHERS_MAX: usize = 128;

/// Events that are read at once.
const BATCH: i64 = 200;

/// A client that hears nothing looks for itself after this time.
const LOOK_MS: u64 = 15_000;

/// How often it is looked whether a client's token still counts.
const TOKEN_MS: u64 = 5_000;

/// A client whose connection broke comes back after this time.
const RETRY_MS: u64 = 2_000;

/// Hears of new events as long as the service lives, and tells those who watch.
pub(super) async fn listen(service: &Shared, heard: &watch::Sender<u64>) {
    let tell = || heard.send_modify(|count| *count += 1);
    let mut ending = service.ending.clone();
    let hear = async {
        loop {
            // Without a connection for this, clients look for themselves.
            if let Ok(mut listener) = service.store.event_listen().await {
                tell();
                while listener.wait().await.is_ok() {
                    tell();
                }
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::select! {
        () = hear => {}
        _ = ending.wait_for(|ending| *ending) => {}
    }
}

/// From where on events are wanted.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct EventQuery {
    /// The number of the last event seen, where the header Last-Event-ID cannot be sent
    #[param(minimum = 0)]
    after: Option<i64>,
}

/// Watch everything that happens (server-sent events); Last-Event-ID goes on where a client was cut off
#[utoipa::path(get, path = "/api/v1/events", tag = "events", params(EventQuery),
    responses((status = 200, body = String, content_type = "text/event-stream")))]
async fn all(
    State(service): State<Shared>,
    client: Client,
    Query(query): Query<EventQuery>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    stream(service, client, None, query.after, &headers).await
}

/// Watch a campaign (server-sent events); Last-Event-ID goes on where a client was cut off
#[utoipa::path(get, path = "/api/v1/campaigns/{id}/events", tag = "events", params(("id" = i64, Path,), EventQuery),
    responses((status = 200, body = String, content_type = "text/event-stream")))]
pub(super) async fn of_campaign(
    State(service): State<Shared>,
    client: Client,
    Path(id): Path<i64>,
    Query(query): Query<EventQuery>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    super::campaigns::fetch(&service, id).await?;
    stream(service, client, Some(id), query.after, &headers).await
}

/// Where a client is in the events.
struct Watcher {
    service: Shared,
    client: Client,
    /// When its token counted last.
    checked: Instant,
    campaign: Option<i64>,
    after: i64,
    waiting: VecDeque<Event>,
    heard: watch::Receiver<u64>,
    ending: watch::Receiver<bool>,
    _place: OwnedSemaphorePermit,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.service.metrics.watchers.dec();
    }
}

async fn stream(
    service: Shared,
    client: Client,
    campaign: Option<i64>,
    after: Option<i64>,
    headers: &HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>> + use<>>, Problem> {
    let last = headers.get("last-event-id").map(|value| value.to_str().ok().and_then(|text| text.parse::<i64>().ok()));
    if last.is_some_and(|last| last.is_none_or(|last| last < 0)) || after.is_some_and(|after| after < 0) {
        return Err(Kind::Malformed.problem("Last-Event-ID is the number of an event"));
    }
    let Ok(place) = service.watchers.clone().try_acquire_owned() else {
        let detail = format!("{WATCHERS_MAX} clients watch already; try again later");
        return Err(Kind::Unavailable.problem(detail).retry_after(10));
    };
    let (oldest, newest) = service.store.event_span().await?;
    let asked = last.flatten().or(after);
    // A number that is not given yet is from another store, or made up.
    let after = asked.unwrap_or(newest).min(newest);
    let retry = Duration::from_millis(RETRY_MS);
    // The number goes out at once, so that a client that is cut off before anything happens misses nothing.
    let hello = Event::default().event("hello").id(after.to_string()).retry(retry).data("{}");
    let mut waiting = VecDeque::from([hello]);
    let why = match asked {
        Some(asked) if asked.saturating_add(1) < oldest => Some("older events are forgotten"),
        Some(asked) if asked > newest => Some("no event has that number yet"),
        _ => None,
    };
    if let Some(why) = why {
        let data = format!("{{\"why\":\"{why}; read everything anew\"}}");
        waiting.push_back(Event::default().event("reset").data(data));
    }
    service.metrics.watchers.inc();
    let (heard, ending) = (service.heard.subscribe(), service.ending.clone());
    let checked = clock::now();
    let watcher = Watcher { service, client, checked, campaign, after, waiting, heard, ending, _place: place };
    let events = futures::stream::unfold(watcher, |mut watcher| async {
        let event = watcher.next().await?;
        Some((Ok(event), watcher))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

impl Watcher {
    /// The next event; none when the service ends or the store is away, and the client comes back, or when its token counts for
    /// nothing any more.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            if *self.ending.borrow() {
                return None;
            }
            let now = clock::now();
            if now.saturating_duration_since(self.checked) >= Duration::from_millis(TOKEN_MS) {
                if !access::still_counts(&self.service, &self.client).await {
                    return None;
                }
                self.checked = now;
            }
            // Before reading, so that what comes meanwhile is heard of.
            self.heard.mark_unchanged();
            let rows = self.service.store.event_page(self.campaign, self.after, BATCH).await.ok()?;
            if let Some(last) = rows.last() {
                self.after = last.id;
                self.waiting.extend(rows.iter().filter_map(event));
                continue;
            }
            let look = if self.client.has_token() { TOKEN_MS } else { LOOK_MS };
            tokio::select! {
                _ = self.heard.changed() => {}
                _ = self.ending.wait_for(|ending| *ending) => return None,
                () = tokio::time::sleep(Duration::from_millis(look)) => {}
            }
        }
    }
}

fn event(row: &EventRow) -> Option<Event> {
    Event::default().event(&row.kind).id(row.id.to_string()).json_data(row).ok()
}
