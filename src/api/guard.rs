//! What stands around every request: a name for it, a line in the log, counters, limits of how many and how long, and the
//! headers that tell browsers what pages of ours may not do.

use super::Shared;
use super::problem::{Kind, Problem};
use super::{BODY_BYTES_MAX, transfer};
use crate::clock;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, FromRequest as _, MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures::FutureExt as _;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tracing::{Instrument as _, Span};

/// The longest that a request may take until its answer begins, once it is there as a whole.
const REQUEST_MS_MAX: u64 = 30_000;

/// The longest that the body of a request may take to arrive.
const BODY_MS_MAX: u64 = 15_000;

/// Clients that are told apart; beyond, those that have been quiet are forgotten.
const CLIENTS_MAX: usize = 10_000;

/// Where a request came from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) SocketAddr);

/// The client of an address: of IPv6 the network, in which whoever has one address has all.
pub(super) fn client_at(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address @ IpAddr::V4(_) => address,
    }
}

pub(super) fn peer(request: &Request) -> IpAddr {
    request.extensions().get::<Peer>().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| client_at(peer.0.ip()))
}

/// For whom a proxy on this machine or network passed a request on: whom it heard of last, which it has from nobody but the
/// connection.
fn passed_on_for(request: &Request) -> Option<IpAddr> {
    let is_near = match request.extensions().get::<Peer>()?.0.ip().to_canonical() {
        IpAddr::V4(address) => address.is_loopback() || address.is_private(),
        IpAddr::V6(address) => address.is_loopback() || address.is_unique_local(),
    };
    let last = request.headers().get_all("x-forwarded-for").into_iter().next_back()?.to_str().ok()?;
    last.rsplit(',').next()?.trim().parse().ok().filter(|_| is_near)
}

/// Who asks whether the service lives is answered however much others ask.
fn is_watchdog(path: &str) -> bool {
    ["/healthz", "/readyz"].contains(&path)
}

pub(super) fn is_safe(method: &Method) -> bool {
    [Method::GET, Method::HEAD, Method::OPTIONS].contains(method)
}

/// How often each client may do something: a bucket that holds so many, and is filled at a rate.
pub(super) struct Rate {
    per_second: f64,
    burst: f64,
    buckets: Mutex<HashMap<IpAddr, (f64, Instant)>>,
}

impl Rate {
    pub(super) fn new(per_second: f64, burst: f64) -> Self {
        Self { per_second, burst, buckets: Mutex::default() }
    }

    /// Takes one; the problem if there is none.
    pub(super) fn take(&self, client: IpAddr) -> Option<Problem> {
        self.take_at(client, clock::now())
    }

    fn take_at(&self, client: IpAddr, now: Instant) -> Option<Problem> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= CLIENTS_MAX && !buckets.contains_key(&client) {
            let full = |(left, since): &(f64, Instant)| {
                left + now.saturating_duration_since(*since).as_secs_f64() * self.per_second >= self.burst
            };
            buckets.retain(|_, bucket| !full(bucket));
            if buckets.len() >= CLIENTS_MAX {
                return Some(Kind::TooManyRequests.problem("too many clients at once; try again later").retry_after(5));
            }
        }
        let (left, since) = buckets.entry(client).or_insert((self.burst, now));
        let filled = *left + now.saturating_duration_since(*since).as_secs_f64() * self.per_second;
        (*left, *since) = (filled.min(self.burst), now);
        if *left >= 1.0 {
            *left -= 1.0;
            return None;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small number of seconds")]
        let seconds = ((1.0 - *left) / self.per_second).ceil() as u64;
        let detail = format!("more than {} requests a second; slow down", self.per_second);
        Some(Kind::TooManyRequests.problem(detail).retry_after(seconds))
    }
}

/// The name of a request: the client's, if it has one that can stand in a log.
fn request_id(headers: &HeaderMap) -> String {
    let given = headers.get("x-request-id").and_then(|value| value.to_str().ok());
    let given = given.filter(|id| (1..=64).contains(&id.len()));
    let plain = given.filter(|id| id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'));
    // A name that repeats is a pity, not a fault.
    plain.map_or_else(|| super::hex(&crate::rng::secret().unwrap_or_default()[..8]), str::to_owned)
}

/// Names, logs and counts a request, and limits how many a client sends.
pub(super) async fn watch(State(service): State<Shared>, mut request: Request, next: Next) -> Response {
    let start = clock::now();
    if service.public_url.is_some()
        && let Some(client) = passed_on_for(&request)
    {
        request.extensions_mut().insert(Peer(SocketAddr::new(client, 0)));
    }
    let id = request_id(request.headers());
    let method = request.method().clone();
    // Never the query, which may hold what somebody searches for, nor a path that nothing has.
    let route = request.extensions().get::<MatchedPath>().map_or("-", MatchedPath::as_str).to_owned();
    let span = tracing::info_span!("request", id, %method, route);
    let answer = async {
        if !is_watchdog(request.uri().path())
            && let Some(problem) = service.rate.take(peer(&request))
        {
            return problem.into_response();
        }
        let whole = AssertUnwindSafe(next.run(request)).catch_unwind();
        whole.await.unwrap_or_else(|_| failed().into_response())
    };
    let mut response = answer.instrument(span.clone()).await;
    let elapsed = start.elapsed();
    let status = response.status().as_u16();
    span.in_scope(|| tracing::info!(status, ms = elapsed.as_secs_f64() * 1e3, "answered"));
    service.metrics.request(method.as_str(), &route, status, elapsed);
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert("x-request-id", value);
    }
    protect(response.headers_mut());
    if service.public_url.as_ref().is_some_and(|url| url.starts_with("https://")) {
        let cookies: Vec<HeaderValue> = response.headers().get_all(header::SET_COOKIE).iter().cloned().collect();
        response.headers_mut().remove(header::SET_COOKIE);
        for cookie in cookies {
            let secure = [cookie.as_bytes(), b"; Secure"].concat();
            response.headers_mut().append(header::SET_COOKIE, HeaderValue::from_bytes(&secure).unwrap_or(cookie));
        }
    }
    response
}

fn failed() -> Problem {
    Kind::Internal.problem("the service failed; its log says where")
}

/// The request with its whole body, so that who sends slowly holds up nobody.
async fn whole(request: Request) -> Result<Request, Problem> {
    let (parts, body) = request.into_parts();
    let path = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let max = if transfer::IMPORTS.contains(&path) { transfer::FILE_BYTES_MAX } else { BODY_BYTES_MAX };
    let mut copy = Request::from_parts(parts.clone(), body);
    DefaultBodyLimit::max(max).apply(&mut copy);
    let read = Bytes::from_request(copy, &());
    match tokio::time::timeout(Duration::from_millis(BODY_MS_MAX), read).await {
        Ok(Ok(bytes)) => Ok(Request::from_parts(parts, Body::from(bytes))),
        Ok(Err(error)) if error.status() == Kind::TooLarge.status() => {
            Err(Kind::TooLarge
                .problem(format!("the body has more than {max} bytes, the most that this request may have")))
        }
        Ok(Err(_)) => Err(Kind::Malformed.problem("the body was cut off")),
        Err(_) => {
            let detail = format!("the body did not arrive within {} s", BODY_MS_MAX / 1_000);
            Err(Kind::TooSlow.problem(detail))
        }
    }
}

/// Limits how many requests are worked on at once, and for how long. What changes something is done to its end, also if its
/// client goes away or the service ends.
pub(super) async fn admit(State(service): State<Shared>, request: Request, next: Next) -> Response {
    if is_watchdog(request.uri().path()) {
        return next.run(request).await;
    }
    let writes = !is_safe(request.method());
    let request = match if writes { whole(request).await } else { Ok(request) } {
        Ok(request) => request,
        Err(problem) => return problem.into_response(),
    };
    let Ok(permit) = service.at_once.clone().try_acquire_owned() else {
        return Kind::Unavailable.problem("too many requests at once; try again").retry_after(1).into_response();
    };
    let (tell, told) = oneshot::channel();
    let work = async move {
        let answer = AssertUnwindSafe(next.run(request)).catch_unwind().await;
        drop(permit);
        // Nobody may be there any more.
        let _ = tell.send(answer.unwrap_or_else(|_| failed().into_response()));
    };
    let answered = async {
        if writes {
            service.work.spawn(work.instrument(Span::current()));
        } else {
            work.await;
        }
        told.await.unwrap_or_else(|_| failed().into_response())
    };
    tokio::time::timeout(Duration::from_millis(REQUEST_MS_MAX), answered).await.unwrap_or_else(|_| {
        let detail = format!("the answer took longer than {} s", REQUEST_MS_MAX / 1_000);
        Kind::Unavailable.problem(detail).retry_after(5).into_response()
    })
}

/// What pages may load, and who may frame them: nothing but what is from here, and nobody.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

fn protect(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // Not none at all: then browsers name no origin when they send a form, and no form of ours could be told from others.
        (header::REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // What is here may be known to who has a token only, and changes.
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_that_is_near_says_for_whom_it_asks() {
        let client = |peer: &str, forwarded: &[&str]| {
            let mut request = Request::builder().uri("/");
            for line in forwarded {
                request = request.header("x-forwarded-for", *line);
            }
            let mut request = request.body(Body::empty()).expect("a request");
            request.extensions_mut().insert(Peer(peer.parse().expect("an address")));
            passed_on_for(&request).map(|address| address.to_string())
        };
        let of = |text: &str| Some(text.to_owned());
        assert_eq!(client("127.0.0.1:1", &["203.0.113.9"]), of("203.0.113.9"));
        assert_eq!(
            client("172.17.0.1:1", &["10.0.0.1, 203.0.113.9"]),
            of("203.0.113.9"),
            "the proxy adds the last one"
        );
        assert_eq!(client("[::1]:1", &["10.0.0.1", "2001:db8::1"]), of("2001:db8::1"));
        assert_eq!(client("203.0.113.1:1", &["10.0.0.1"]), None, "anybody may say so");
        assert_eq!(client("127.0.0.1:1", &[]), None);
        assert_eq!(client("127.0.0.1:1", &["unknown"]), None);
    }

    #[test]
    fn a_bucket_is_emptied_and_filled() {
        let rate = Rate::new(2.0, 3.0);
        let client = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let start = clock::now();
        for _ in 0..3 {
            assert!(rate.take_at(client, start).is_none());
        }
        assert!(rate.take_at(client, start).is_some(), "it is empty");
        assert!(rate.take_at(IpAddr::V4(Ipv4Addr::BROADCAST), start).is_none(), "others have their own");
        assert!(rate.take_at(client, start + Duration::from_millis(600)).is_none());
        assert!(rate.take_at(client, start + Duration::from_millis(700)).is_some());
    }

    #[test]
    fn who_has_a_network_is_one_client() {
        let client = |text: &str| client_at(text.parse().expect("an address"));
        assert_eq!(client("2001:db8:1:2::1"), client("2001:db8:1:2:ffff::9"));
        assert_ne!(client("2001:db8:1:2::1"), client("2001:db8:1:3::1"));
        assert_eq!(client("::ffff:192.0.2.1"), client("192.0.2.1"));
        assert_ne!(client("192.0.2.1"), client("192.0.2.2"));
    }

    #[test]
    fn only_plain_names_of_requests_are_taken() {
        let named = |name: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("x-request-id", HeaderValue::from_bytes(name.as_bytes()).expect("a value"));
            request_id(&headers)
        };
        assert_eq!(named("a-1"), "a-1");
        for bad in ["", "a b", "a\u{e9}", "<b>"] {
            assert_eq!(named(bad).len(), 16, "{bad}");
        }
    }
}
