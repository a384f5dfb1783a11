//! Who may do what.
//!
//! A service that listens on a loopback address takes whoever reaches it for its owner, and so must make sure that it is no
//! page of somebody else in the owner's browser that does: requests name this host (against DNS rebinding), and writes come
//! from this origin. On any other address every request needs a token, in the header `Authorization` or, from a browser, in
//! a cookie that other sites' pages cannot send.

use super::guard::is_safe;
use super::problem::{Kind, Problem};
use super::{Service, Shared};
use crate::rng;
use crate::store::{Store, StoreError};
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Redirect, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::net::IpAddr;
use subtle::ConstantTimeEq as _;

/// The cookie that holds a browser's token.
pub(super) const COOKIE: &str = "caqtus_token";

/// How all tokens begin, so that one that leaked is recognised.
const PREFIX: &str = "caqtus";

/// What a client may do. Each may do what those before it may.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum, strum::EnumString, strum::IntoStaticStr,
)]
#[strum(serialize_all = "lowercase")]
pub enum Role {
    /// Look at everything but the audit trail.
    Viewer,
    /// Decide about classes and bugs, and run campaigns and jobs.
    Operator,
    /// Install engines, and see who did what.
    Admin,
}

impl Role {
    /// As it is stored.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Whether clients need tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Whoever is on this machine may do everything.
    Loopback,
    /// Only who has a token.
    Tokens,
}

/// Who sent a request.
#[derive(Debug, Clone)]
pub(super) struct Client {
    /// The name of its token, or `loopback`.
    pub(super) name: String,
    pub(super) role: Role,
    /// The number of its token.
    token: Option<i64>,
    /// What its forms carry, which no other site knows.
    pub(super) csrf: String,
}

impl Client {
    /// Whether it may do what it may only as long as its token counts.
    pub(super) fn has_token(&self) -> bool {
        self.token.is_some()
    }
}

/// A client who may decide and run things.
pub(super) struct Operator(pub(super) Client);

/// A client who may do everything.
pub(super) struct Admin(pub(super) Client);

/// The client of a request, once [`authenticate`] has let it through.
pub(super) fn client(parts: &Parts) -> Result<Client, Problem> {
    let found = parts.extensions.get::<Client>().cloned();
    found.ok_or_else(|| Kind::Unauthenticated.problem("send a token"))
}

fn demand(parts: &Parts, role: Role) -> Result<Client, Problem> {
    let client = client(parts)?;
    if client.role >= role {
        return Ok(client);
    }
    let (has, needs) = (client.role.name(), role.name());
    Err(Kind::Forbidden.problem(format!("the token {} is of a {has}, and this needs an {needs}", client.name)))
}

impl<S: Send + Sync> FromRequestParts<S> for Client {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        client(parts)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Operator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        demand(parts, Role::Operator).map(Self)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Admin {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        demand(parts, Role::Admin).map(Self)
    }
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// Makes a token for somebody and returns its text, which nobody can read again; `None` if the name is taken.
pub async fn create_token(
    store: &Store,
    name: &str,
    role: Role,
    seconds: Option<u32>,
) -> Result<Option<String>, StoreError> {
    let id = store.token_reserve().await?;
    let secret =
        rng::secret().map_err(|source| StoreError::File { what: "the system's random numbers".into(), source })?;
    let text = format!("{PREFIX}_{id}_{}", URL_SAFE_NO_PAD.encode(secret));
    let free = store.token_put(id, name, role.name(), &hash(&text), seconds).await?;
    Ok(free.then_some(text))
}

/// The client of a token, if it is one that counts.
pub(super) async fn client_of(service: &Service, token: &str) -> Result<Option<Client>, StoreError> {
    let number = token.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix('_')?.split_once('_'));
    let Some(id) = number.and_then(|(id, _)| id.parse().ok()) else { return Ok(None) };
    let Some(row) = service.store.token_fetch(id).await? else { return Ok(None) };
    let given = hash(token);
    let same: bool = given.as_bytes().ct_eq(row.hash.as_bytes()).into();
    Ok(match row.role.parse() {
        Ok(role) if same && row.valid => {
            Some(Client { name: row.name, role, token: Some(id), csrf: service.csrf(&given) })
        }
        _ => None,
    })
}

/// Whether a client still may do what it may: its token was not taken back and has not expired.
pub(super) async fn still_counts(service: &Service, client: &Client) -> bool {
    match client.token {
        None => true,
        Some(id) => matches!(service.store.token_fetch(id).await, Ok(Some(token)) if token.valid),
    }
}

/// The value of a cookie.
pub(super) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(found, _)| *found == name).map(|(_, value)| value)
}

/// Paths that need no token: what says whether the service lives, and the way in.
fn is_open(path: &str) -> bool {
    ["/healthz", "/readyz", "/login"].contains(&path) || path.starts_with("/static/")
}

/// Whether a name in `Host` is of this machine.
fn is_local(authority: &str) -> bool {
    let host = authority.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(host, _)| host);
    let host = host.unwrap_or_else(|| authority.split_once(':').map_or(authority, |(host, _)| host));
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The part of a URL that names the host.
fn authority(origin: &str) -> &str {
    origin.split_once("://").map_or("", |(_, rest)| rest.split('/').next().unwrap_or_default())
}

fn header_text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("\u{FFFD}"))
}

/// The header with which a proxy says that it passes a request on.
fn proxy_header(headers: &HeaderMap) -> Option<&str> {
    let known = |name: &str| ["forwarded", "via", "x-real-ip"].contains(&name) || name.starts_with("x-forwarded-");
    headers.keys().map(header::HeaderName::as_str).find(|name| known(name))
}

/// Refuses requests for another host, those that are passed on where whoever is on this machine may do everything, and writes
/// from another site.
fn check_origin(access: Access, public_url: Option<&str>, request: &Request) -> Result<(), Problem> {
    let headers = request.headers();
    let host = header_text(headers, header::HOST).unwrap_or_default();
    let named = request.uri().authority().map_or(host, |authority| authority.as_str());
    if access == Access::Loopback && !(is_local(host) && is_local(named)) {
        return Err(Kind::Misdirected
            .problem("this service answers as localhost, 127.0.0.1 or [::1] only; open it under one of these names"));
    }
    if access == Access::Loopback
        && let Some(name) = proxy_header(headers)
    {
        return Err(Kind::Forbidden.problem(format!(
            "a proxy passed this request on (it has the header {name}), so it may be anybody's, and this service takes whoever \
             reaches it for its owner; start it with --require-tokens"
        )));
    }
    if is_safe(request.method()) {
        return Ok(());
    }
    let foreign = || Kind::Forbidden.problem("a page of another site may change nothing here");
    if let Some(origin) = header_text(headers, header::ORIGIN)
        && !authority(origin).eq_ignore_ascii_case(host)
        // A proxy may name another host than the one that the browser asked.
        && !public_url.is_some_and(|url| authority(origin).eq_ignore_ascii_case(authority(url)))
    {
        return Err(foreign());
    }
    match headers.get("sec-fetch-site").map(|value| value.to_str().unwrap_or_default()) {
        None | Some("same-origin" | "none") => Ok(()),
        Some(_) => Err(foreign()),
    }
}

/// Lets a request through if it comes from here and its client is known.
pub(super) async fn authenticate(State(service): State<Shared>, mut request: Request, next: Next) -> Response {
    if let Err(problem) = check_origin(service.access, service.public_url.as_deref(), &request) {
        return problem.into_response();
    }
    let client = match service.access {
        Access::Loopback => {
            let name = "loopback".to_owned();
            Some(Client { name, role: Role::Admin, token: None, csrf: service.csrf("loopback") })
        }
        Access::Tokens => {
            let bearer = header_text(request.headers(), header::AUTHORIZATION)
                .and_then(|value| value.split_once(' '))
                .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
                .map(|(_, token)| token.trim());
            match bearer.or_else(|| cookie(request.headers(), COOKIE)) {
                None => None,
                Some(token) => match client_of(&service, token).await {
                    Ok(client) => client,
                    Err(error) => return Problem::from(error).into_response(),
                },
            }
        }
    };
    let Some(client) = client else {
        let path = request.uri().path();
        if is_open(path) {
            return next.run(request).await;
        }
        if is_safe(request.method()) && !(path.starts_with("/api/") || path == "/metrics") {
            return Redirect::to("/login").into_response();
        }
        if let Some(wait) = service.failures.take(super::guard::peer(&request)) {
            return wait.into_response();
        }
        return Kind::Unauthenticated
            .problem("send a token that counts, as in `Authorization: Bearer …`; `caqtus token create` makes one")
            .into_response();
    };
    // Nothing that changes anything is for viewers; handlers say what they need beyond that.
    if !is_safe(request.method())
        && client.role < Role::Operator
        && !["/login", "/logout", "/theme"].contains(&request.uri().path())
    {
        let detail = format!("the token {} is of a viewer, who may look and change nothing", client.name);
        return Kind::Forbidden.problem(detail).into_response();
    }
    request.extensions_mut().insert(client);
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    #[test]
    fn names_of_this_machine() {
        for name in ["localhost", "LOCALHOST:8737", "127.0.0.1:1", "127.3.2.1", "[::1]:8737", "[::1]"] {
            assert!(is_local(name), "{name}");
        }
        for name in
            ["", "evil.example", "localhost.evil.example:8737", "127.0.0.1.evil.example", "10.0.0.1", "::1:x", "[::2]"]
        {
            assert!(!is_local(name), "{name}");
        }
    }

    #[test]
    fn the_address_before_a_proxy_is_an_origin_of_ours() {
        let check = |origin: &str| {
            let request =
                Request::builder().method("POST").uri("/x").header("host", "127.0.0.1:8737").header("origin", origin);
            let request = request.body(Body::empty()).expect("a request");
            check_origin(Access::Tokens, Some("https://caqtus.example/"), &request).map_err(|problem| problem.status)
        };
        assert_eq!(check("https://caqtus.example"), Ok(()));
        assert_eq!(check("https://caqtus.example.evil"), Err(403));
        assert_eq!(check("null"), Err(403));
    }

    #[test]
    fn other_hosts_and_other_origins_are_refused() {
        let check = |method: &str, headers: &[(&str, &str)]| {
            let mut request = Request::builder().method(method).uri("/x");
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let request = request.body(Body::empty()).expect("a request");
            check_origin(Access::Loopback, None, &request).map_err(|problem| problem.status)
        };
        assert_eq!(check("GET", &[("host", "localhost:8737")]), Ok(()));
        assert_eq!(check("GET", &[("host", "evil.example")]), Err(421));
        assert_eq!(check("GET", &[]), Err(421));
        for name in ["forwarded", "x-forwarded-host", "via"] {
            assert_eq!(check("GET", &[("host", "localhost:8737"), (name, "x")]), Err(403), "{name}");
        }
        assert_eq!(check("POST", &[("host", "localhost:8737")]), Ok(()), "a program, not a browser");
        assert_eq!(check("POST", &[("host", "localhost:8737"), ("origin", "http://localhost:8737")]), Ok(()));
        for origin in ["http://evil.example", "null", "http://localhost:1", "http://localhost:8737.evil.example"] {
            assert_eq!(check("POST", &[("host", "localhost:8737"), ("origin", origin)]), Err(403), "{origin}");
            assert_eq!(
                check("GET", &[("host", "localhost:8737"), ("origin", origin)]),
                Ok(()),
                "reading is not changing"
            );
        }
        for site in ["cross-site", "same-site", "?"] {
            assert_eq!(check("POST", &[("host", "localhost:8737"), ("sec-fetch-site", site)]), Err(403), "{site}");
        }
    }
}
