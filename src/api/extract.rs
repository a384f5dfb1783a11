//! What requests hold, read strictly: an unknown name, a name said twice, a wrong type or a control character is an error
//! that says so.

use super::problem::{Kind, Problem};
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::str::FromStr;
use utoipa::ToSchema;

/// Items of a page of a list.
pub(super) const PAGE_DEFAULT: u16 = 50;
/// See [`PAGE_DEFAULT`].
pub(super) const PAGE_MAX: u16 = 500;

/// Characters of a text in a query.
pub(super) const QUERY_TEXT_MAX: usize = 1_000;

/// Whether a text has characters that no text of ours has. Lines and tabs are fine where texts have several lines.
fn control_character(text: &str, lines: bool) -> Option<char> {
    text.chars().find(|c| c.is_control() && !(lines && matches!(c, '\n' | '\r' | '\t')))
}

fn refuse_controls(what: &str, text: &str, lines: bool) -> Result<(), Problem> {
    match control_character(text, lines) {
        None => Ok(()),
        Some(c) => Err(Kind::Unprocessable
            .problem(format!("{what} holds the control character U+{:04X}; leave it out", u32::from(c)))),
    }
}

/// The parameters of a query.
pub(super) struct Query<T>(pub(super) T);

/// The same for the form of a page, whose fields are sent also when nothing is written in them.
pub(super) struct Filled<T>(pub(super) T);

fn read_query<T: DeserializeOwned>(query: &str, drop_empty: bool) -> Result<T, Problem> {
    let mut seen = BTreeSet::new();
    let mut kept = form_urlencoded::Serializer::new(String::new());
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let shown: String = name.chars().take(100).collect();
        refuse_controls("the name of a query parameter", &name, false)?;
        refuse_controls(&format!("the query parameter `{shown}`"), &value, drop_empty)?;
        if value.chars().count() > QUERY_TEXT_MAX {
            let detail = format!("the query parameter `{shown}` has more than {QUERY_TEXT_MAX} characters");
            return Err(Kind::Unprocessable.problem(detail));
        }
        if !seen.insert(name.to_string()) {
            return Err(Kind::Malformed.problem(format!("the query parameter `{shown}` is there twice")));
        }
        if !(drop_empty && value.trim().is_empty()) {
            kept.append_pair(&name, &value);
        }
    }
    serde_urlencoded::from_str(&kept.finish())
        .map_err(|error| Kind::Malformed.problem(format!("the query cannot be used: {error}")))
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(Self(read_query(parts.uri.query().unwrap_or_default(), false)?))
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Filled<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(Self(read_query(parts.uri.query().unwrap_or_default(), true)?))
    }
}

/// The parts of a path that name something.
pub(super) struct Path<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let raw = axum::extract::RawPathParams::from_request_parts(parts, state).await;
        let raw = raw.map_err(|error| Kind::Malformed.problem(format!("the path cannot be read: {error}")))?;
        for (name, value) in &raw {
            refuse_controls(&format!("`{name}` in the path"), value, false)?;
        }
        match axum::extract::Path::<T>::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(value)) => Ok(Self(value)),
            // A number that is none names nothing.
            Err(error) => Err(Kind::NotFound.problem(format!("nothing has this path: {error}"))),
        }
    }
}

/// Bytes of the body, with their limit kept.
async fn bytes<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, Problem> {
    Bytes::from_request(request, state).await.map_err(|error| {
        if error.status() == Kind::TooLarge.status() {
            Kind::TooLarge.problem("the body is larger than this request may be; see the description of the API")
        } else {
            Kind::Malformed.problem("the body was cut off")
        }
    })
}

fn media_type(headers: &HeaderMap) -> &str {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim()
}

fn wrong_media_type(found: &str, wanted: &str) -> Problem {
    let found: String = if found.is_empty() { "nothing".to_owned() } else { found.chars().take(100).collect() };
    Kind::MediaType.problem(format!("send the content as {wanted}; Content-Type says {found}"))
}

/// A JSON object.
pub(super) struct Json<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let found = media_type(request.headers()).to_owned();
        if !found.eq_ignore_ascii_case("application/json") {
            return Err(wrong_media_type(&found, "application/json"));
        }
        let bytes = bytes(request, state).await?;
        let value: Value = serde_json::from_slice(&bytes)
            .map_err(|error| Kind::Malformed.problem(format!("the body is no JSON: {error}")))?;
        refuse_controls_within(&value)?;
        // From the bytes, so that a name that is there twice is noticed.
        serde_json::from_slice(&bytes)
            .map(Self)
            .map_err(|error| Kind::Unprocessable.problem(format!("the body cannot be used: {error}")))
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        axum::Json(self.0).into_response()
    }
}

fn refuse_controls_within(value: &Value) -> Result<(), Problem> {
    match value {
        Value::String(text) => refuse_controls("a text in the body", text, true),
        Value::Array(items) => items.iter().try_for_each(refuse_controls_within),
        Value::Object(fields) => fields.iter().try_for_each(|(name, value)| {
            refuse_controls("the name of a field in the body", name, false)?;
            refuse_controls_within(value)
        }),
        _ => Ok(()),
    }
}

/// The fields of a form.
pub(super) struct Form<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Form<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let found = media_type(request.headers()).to_owned();
        if !found.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(wrong_media_type(&found, "application/x-www-form-urlencoded"));
        }
        let bytes = bytes(request, state).await?;
        for (name, value) in form_urlencoded::parse(&bytes) {
            refuse_controls("the name of a field", &name, false)?;
            refuse_controls("a field of the form", &value, true)?;
        }
        serde_urlencoded::from_bytes(&bytes)
            .map(Self)
            .map_err(|error| Kind::Unprocessable.problem(format!("the form cannot be used: {error}")))
    }
}

/// A text of several lines, as TOML is.
pub(super) struct Text(pub(super) String);

impl<S: Send + Sync> FromRequest<S> for Text {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let found = media_type(request.headers()).to_owned();
        if !["application/toml", "text/plain"].iter().any(|wanted| found.eq_ignore_ascii_case(wanted)) {
            return Err(wrong_media_type(&found, "application/toml"));
        }
        let bytes = bytes(request, state).await?;
        let text =
            String::from_utf8(bytes.to_vec()).map_err(|_| Kind::Malformed.problem("the body is no text in UTF-8"))?;
        refuse_controls("the body", &text, true)?;
        Ok(Self(text))
    }
}

/// The revision that a writer has seen: the header If-Match.
pub(super) struct IfMatch(pub(super) i64);

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Some(value) = parts.headers.get(header::IF_MATCH) else {
            return Err(Kind::PreconditionRequired
                .problem("send If-Match with the ETag of what you have seen, so that nobody's change is lost"));
        };
        let tag = value.to_str().ok().and_then(revision_of);
        tag.map(Self)
            .ok_or_else(|| Kind::Malformed.problem("If-Match takes one ETag as it was sent, a number in double quotes"))
    }
}

/// The key of a request that may be sent again and shall be done once: the header Idempotency-Key.
pub(super) struct IdempotencyKey(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Some(value) = parts.headers.get("idempotency-key") else {
            return Err(Kind::Malformed.problem(
                "send Idempotency-Key with a text of your choice; the same request with the same key is done once",
            ));
        };
        let key = value.to_str().ok().filter(|key| (1..=100).contains(&key.len()));
        let key = key.filter(|key| key.bytes().all(|b| b.is_ascii_graphic()));
        key.map(|key| Self(key.to_owned())).ok_or_else(|| {
            Kind::Malformed.problem("Idempotency-Key takes 1 to 100 letters, digits and marks, without blanks")
        })
    }
}

/// The ETag of a revision.
pub(super) fn etag(revision: i64) -> String {
    format!("\"{revision}\"")
}

/// The revision in a tag, behind which there may be a mark of what was sent.
fn revision_of(tag: &str) -> Option<i64> {
    let tag = tag.trim().strip_prefix('"')?.strip_suffix('"')?;
    let (digits, mark) = tag.split_once('-').unwrap_or((tag, "0"));
    if mark.is_empty() || !mark.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

/// Whether the client has what has this tag already: the header If-None-Match.
pub(super) fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let value = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(',').map(str::trim).any(|known| known == "*" || known.trim_start_matches("W/") == tag)
}

/// A part of a list, and where the next one begins.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Page<T> {
    /// What the list holds.
    pub(super) items: Vec<T>,
    /// Send it as `cursor` for the next part; null at the end.
    pub(super) next: Option<String>,
}

/// Refuses a word that a filter never finds.
pub(super) fn one_of(filter: &str, given: Option<&str>, known: &[&str]) -> Result<(), Problem> {
    match given {
        Some(word) if !known.contains(&word) => {
            Err(Kind::Malformed.problem(format!("`{filter}` is one of {}", known.join(", "))))
        }
        _ => Ok(()),
    }
}

/// How many items are wanted, and one more to see whether there are others.
pub(super) fn limit(asked: Option<u16>) -> Result<usize, Problem> {
    match asked.unwrap_or(PAGE_DEFAULT) {
        some @ 1..=PAGE_MAX => Ok(usize::from(some)),
        _ => Err(Kind::Malformed.problem(format!("`limit` is from 1 to {PAGE_MAX}"))),
    }
}

/// As many rows as are asked of the store for a page.
pub(super) fn rows(limit: usize) -> i64 {
    i64::try_from(limit + 1).unwrap_or(i64::MAX)
}

impl<T> Page<T> {
    /// A page of at most `limit` of the items; `key` is what the next page comes after.
    pub(super) fn new<K: Display>(mut items: Vec<T>, limit: usize, key: impl Fn(&T) -> K) -> Self {
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(|last| cursor(&key(last).to_string()));
        Self { items, next }
    }
}

fn cursor(key: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("1{key}"))
}

/// What a cursor stands for.
pub(super) fn after<K: FromStr>(cursor: Option<&String>) -> Result<Option<K>, Problem> {
    let Some(cursor) = cursor else { return Ok(None) };
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    let text = text.filter(|text| control_character(text, false).is_none());
    let key = text.as_deref().and_then(|text| text.strip_prefix('1')?.parse().ok());
    key.map(Some).ok_or_else(|| Kind::Malformed.problem("`cursor` is none that this list gave as `next`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Wanted {
        state: Option<String>,
        limit: Option<u16>,
    }

    fn check(query: &str, expected: Result<(Option<&str>, Option<u16>), u16>) {
        let found = read_query::<Wanted>(query, false).map(|w| (w.state, w.limit)).map_err(|problem| problem.status);
        assert_eq!(found, expected.map(|(state, limit)| (state.map(str::to_owned), limit)), "{query}");
    }

    #[test]
    fn queries_are_read_strictly() {
        check("", Ok((None, None)));
        check("state=a%20b&limit=3", Ok((Some("a b"), Some(3))));
        check("limit=x", Err(400));
        check("limit=-1", Err(400));
        check("other=1", Err(400));
        check("limit=1&limit=2", Err(400));
        check("state=%00", Err(422));
        check("state=%1b[0m", Err(422));
        check(&format!("state={}", "x".repeat(1_001)), Err(422));
        let problem = read_query::<Wanted>("<b>=1", false).expect_err("unknown");
        assert!(problem.detail.contains("<b>") && problem.detail.contains("state"), "it names it: {}", problem.detail);
    }

    #[test]
    fn a_cursor_comes_back_and_others_do_not() {
        let page = Page::new(vec![1, 2, 3], 2, |n| *n);
        assert_eq!(page.items, [1, 2]);
        assert_eq!(after::<i64>(page.next.as_ref()).expect("reads"), Some(2));
        assert_eq!(Page::new(vec![1, 2], 2, |n| *n).next, None);
        for bad in ["", "x", "MQ", "%00", &cursor("a\0b"), &cursor("x")] {
            assert!(after::<i64>(Some(&bad.to_owned())).is_err(), "{bad}");
        }
    }

    #[test]
    fn tags_are_numbers_in_quotes() {
        assert_eq!(revision_of(&etag(7)), Some(7));
        assert_eq!(revision_of("\"7-0af3\""), Some(7));
        for bad in
            ["7", "\"\"", "\"7-\"", "\"7-x\"", "\"-3\"", "W/\"7\"", "*", "\"-7\"", "\"x\"", "\"99999999999999999999\""]
        {
            assert_eq!(revision_of(bad), None, "{bad}");
        }
    }
}
