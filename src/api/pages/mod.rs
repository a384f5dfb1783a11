//! Pages for people, made on the server from the templates beside this file.
//!
//! # Adding a page
//!
//! * A page is an ordinary handler in a file of this folder and a line in [`router`]. It takes `State<Shared>` (the store
//!   and everything else), [`Visit`] (who looks, what was said last, which page it is) and, for the fields of a form that is
//!   sent with GET, `Filled<T>` from `extract`, where `T` is the query of the API's route: fields that are left empty are not
//!   said. It calls the same functions as the API's handler (`classes::page`, `classes::fetch`, …) and ends with
//!   `visit.page(&service, "name.html", context! { … })`; rows go in as `Serde(rows)`.
//! * A template is a file in `templates/`, embedded into the program; it begins with `{% extends "layout.html" %}` and fills
//!   the blocks `title` and `content`; `parts.html` has what several pages draw. `client` (`name`, `role`), `csrf`, `flash`,
//!   `path`, `back` (the path with its query) and `theme` are always there. Everything is
//!   escaped; nothing is marked `safe`. An undefined name is an error.
//! * A form that changes something is sent with POST, holds `<input type="hidden" name="csrf" value="{{ csrf }}">`, and is
//!   taken by [`Sent<T>`](Sent), which has checked that field. A writer sends the revision it has seen in a field of its own
//!   and calls the same function as the API (`classes::do_release`, …). The answer is [`go`], a redirect with a sentence that
//!   the next page shows once (the flash).
//! * A [`Problem`](super::problem::Problem) that a handler returns is shown as a page with its status ([`dress`]).
//! * Scripts, styles and pictures are files in `static/`, and come from `/static/NAME`; the policy allows no others, and
//!   nothing inline.

mod assets;
mod audit;
mod bugs;
mod campaigns;
mod catalogue;
mod coverage;
mod description;
mod discoveries;
mod engines;
mod login;
mod review;
mod snippets;
mod theme;
mod transfer;
mod view;

use super::access::{self, Client, Role};
use super::problem::{Kind, Problem};
use super::transfer::FILE_BYTES_MAX;
use super::{Shared, extract};
use crate::clock;
use axum::Router;
use axum::extract::{DefaultBodyLimit, FromRequest, FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse as _, Redirect, Response};
use axum::routing::{get, post};
use include_dir::{Dir, include_dir};
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior, Value, context};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use subtle::ConstantTimeEq as _;

static TEMPLATES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/src/api/pages/templates");

/// The cookie that holds what the next page says once.
const FLASH: &str = "caqtus_flash";

/// Seconds for which it is kept.
const FLASH_SECONDS: u32 = 30;

pub(super) fn router() -> Router<Shared> {
    Router::new()
        .route("/", get(catalogue::list))
        .route("/classes/{name}", get(catalogue::class))
        .route("/classes/{name}/proofs/{left}/{right}", get(catalogue::proof))
        .route("/classes/{name}/release", post(catalogue::release))
        .route("/classes/{name}/quarantine", post(catalogue::quarantine))
        .route("/classes/{name}/withdraw", post(catalogue::withdraw))
        .route("/classes/{name}/prove", post(catalogue::prove))
        .route("/review", get(review::queue))
        .route("/discoveries", get(discoveries::list))
        .route("/discoveries/{id}", get(discoveries::discovery))
        .route("/discoveries/{id}/seeds/{number}", get(discoveries::seed))
        .route("/campaigns", get(campaigns::list).post(campaigns::start))
        .route("/campaigns/{id}", get(campaigns::campaign))
        .route("/campaigns/{id}/live", get(campaigns::live))
        .route("/campaigns/{id}/stop", post(campaigns::stop))
        .route("/bugs", get(bugs::list))
        .route("/bugs/{id}", get(bugs::bug))
        .route("/bugs/{id}/state", post(bugs::state))
        .route("/bugs/{id}/merge", post(bugs::merge))
        .route("/bugs/{id}/split", post(bugs::split))
        .route("/bugs/{id}/notes", post(bugs::note))
        .route("/bugs/{id}/bisect", post(bugs::bisect))
        .route("/engines", get(engines::list).post(engines::install))
        .route("/transfer", get(transfer::show).post(transfer::import).layer(DefaultBodyLimit::max(FILE_BYTES_MAX)))
        .route("/snippets", get(snippets::list))
        .route("/snippets/{id}", get(snippets::detail).post(snippets::decide))
        .route("/coverage", get(coverage::list).post(coverage::look))
        .route("/coverage/{dbms}", get(coverage::detail))
        .route("/api", get(description::page))
        .route("/audit", get(audit::list))
        .route("/theme", post(theme::choose))
        .route("/login", get(login::form).post(login::enter))
        .route("/logout", post(login::leave))
        .route("/static/{name}", get(assets::asset))
}

/// All templates, checked.
pub(super) fn templates() -> Result<Environment<'static>, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_filter("sql", |text: &str, clauses: Option<bool>| {
        Value::from(Serde(view::sql::parts(text, clauses.unwrap_or_default())))
    });
    environment.add_filter("grouped", view::grouped);
    environment.add_filter("moment", view::moment);
    environment.add_filter("duration", view::duration);
    environment.add_global("version", env!("CARGO_PKG_VERSION"));
    environment.add_global("assets", assets::version());
    for file in TEMPLATES.files() {
        let (Some(name), Some(text)) = (file.path().to_str(), file.contents_utf8()) else { continue };
        environment.add_template(name, text)?;
    }
    Ok(environment)
}

/// Who looks at a page.
pub(super) struct Visit {
    client: Client,
    flash: Option<String>,
    path: String,
    /// The path with what is asked for.
    back: String,
    theme: &'static str,
}

impl<S: Send + Sync> FromRequestParts<S> for Visit {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(Self::of(access::client(parts)?, &parts.headers, &parts.uri))
    }
}

impl Visit {
    fn of(client: Client, headers: &HeaderMap, uri: &Uri) -> Self {
        let flash = access::cookie(headers, FLASH).filter(|text| !text.is_empty());
        let flash = flash.map(|text| percent_decode_str(text).decode_utf8_lossy().into_owned());
        let back = uri.path_and_query().map_or("/", PathAndQuery::as_str).to_owned();
        Self { client, flash, path: uri.path().to_owned(), back, theme: theme::of(headers) }
    }

    /// What who looks may do.
    pub(super) fn role(&self) -> Role {
        self.client.role
    }

    /// The page.
    pub(super) fn page(self, service: &Shared, template: &str, with: Value) -> Result<Response, Problem> {
        let Self { client, flash, path, back, theme } = self;
        let said = flash.is_some();
        let context = context! {
            client => context! { name => client.name, role => client.role.name() },
            csrf => client.csrf, flash, path, back, theme, ..with
        };
        let text = service.templates.get_template(template).and_then(|template| template.render(context));
        let text = text.map_err(|error| anyhow::Error::from(error).context(format!("the page {template}")))?;
        let mut response = Html(text).into_response();
        if said {
            let gone = format!("{FLASH}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
            set_cookie(&mut response, &gone);
        }
        Ok(response)
    }
}

fn set_cookie(response: &mut Response, cookie: &str) {
    if let Ok(value) = HeaderValue::from_str(cookie) {
        response.headers_mut().append(header::SET_COOKIE, value);
    }
}

/// Goes to another page, which says a sentence once.
pub(super) fn go(to: &str, flash: &str) -> Response {
    let mut response = Redirect::to(to).into_response();
    let said = utf8_percent_encode(flash, NON_ALPHANUMERIC);
    set_cookie(&mut response, &format!("{FLASH}={said}; Path=/; HttpOnly; SameSite=Strict; Max-Age={FLASH_SECONDS}"));
    response
}

/// What a form of a page of ours sent, and who.
pub(super) struct Sent<T>(pub(super) Client, pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Sent<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let client = access::client(&parts)?;
        let extract::Form(mut fields) =
            extract::Form::<BTreeMap<String, String>>::from_request(Request::from_parts(parts, body), state).await?;
        let given = fields.remove("csrf").unwrap_or_default();
        if !bool::from(given.as_bytes().ct_eq(client.csrf.as_bytes())) {
            return Err(Kind::Forbidden.problem(
                "the form is not from a page of this service, or from before it was started anew; reload the page",
            ));
        }
        let mut kept = form_urlencoded::Serializer::new(String::new());
        kept.extend_pairs(fields.iter());
        serde_urlencoded::from_str(&kept.finish())
            .map(|form| Self(client, form))
            .map_err(|error| Kind::Unprocessable.problem(format!("the form cannot be used: {error}")))
    }
}

/// Shows problems as pages to who asks for pages.
pub(super) async fn dress(State(service): State<Shared>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path();
    let accepts = parts.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let visit = (accepts.contains("text/html") && !path.starts_with("/api/"))
        .then(|| access::client(&parts).ok())
        .flatten()
        .map(|client| Visit::of(client, &parts.headers, &parts.uri));
    let response = next.run(Request::from_parts(parts, body)).await;
    let (Some(visit), Some(problem)) = (visit, response.extensions().get::<Problem>().cloned()) else {
        return response;
    };
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let Problem { title, detail, .. } = &problem;
    match visit.page(&service, "problem.html", context! { title, detail, status => problem.status }) {
        Ok(mut page) => {
            *page.status_mut() = status;
            // Such as Allow.
            for (name, value) in response.headers() {
                if name != header::CONTENT_TYPE && name != header::CONTENT_LENGTH {
                    page.headers_mut().append(name.clone(), value.clone());
                }
            }
            page
        }
        Err(_) => response,
    }
}

/// A key for the form of a page: sent twice, it is done once.
fn page_key() -> String {
    format!("page-{:x}", clock::unix_nanos())
}

/// A name as a part of a path.
fn segment(name: &str) -> String {
    utf8_percent_encode(name, NON_ALPHANUMERIC).to_string()
}

/// A path with these fields, of which those that are empty are left out.
fn link(path: &str, fields: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(fields.iter().filter(|(_, value)| !value.is_empty()));
    format!("{path}?{}", query.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_whole() {
        let environment = templates().expect("templates that can be read");
        assert!(environment.get_template("layout.html").is_ok());
    }

    #[test]
    fn links_keep_what_is_asked_for() {
        assert_eq!(link("/", &[("q", "a&b=c"), ("state", "")]), "/?q=a%26b%3Dc");
        assert_eq!(segment("a/../b c"), "a%2F%2E%2E%2Fb%20c");
    }
}
