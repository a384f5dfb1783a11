//! How a browser gets its cookie: a person writes a token into a form.

use super::super::access::{COOKIE, client_of};
use super::super::extract::Form;
use super::super::guard::{Peer, client_at};
use super::super::problem::Problem;
use super::super::{Service, Shared};
use super::{Sent, go, set_cookie};
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse as _, Redirect, Response};
use minijinja::context;
use serde::Deserialize;

fn show(service: &Service, wrong: bool) -> Result<Html<String>, Problem> {
    let text = service.templates.get_template("login.html").and_then(|template| template.render(context! { wrong }));
    Ok(Html(text.map_err(anyhow::Error::from)?))
}

/// The form.
pub(super) async fn form(State(service): State<Shared>) -> Result<Html<String>, Problem> {
    show(&service, false)
}

#[derive(Deserialize)]
pub(super) struct Entry {
    token: String,
}

/// Takes the token. A page of another site cannot send this form, as it can no other write.
pub(super) async fn enter(
    State(service): State<Shared>,
    Extension(Peer(peer)): Extension<Peer>,
    Form(entry): Form<Entry>,
) -> Result<Response, Problem> {
    let token = entry.token.trim();
    let Some(client) = client_of(&service, token).await? else {
        if let Some(wait) = service.failures.take(client_at(peer.ip())) {
            return Err(wait);
        }
        return Ok((StatusCode::UNAUTHORIZED, show(&service, true)?).into_response());
    };
    let mut response = go("/", &format!("Logged in as {}.", client.name));
    set_cookie(&mut response, &format!("{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict"));
    Ok(response)
}

#[derive(Deserialize)]
pub(super) struct Nothing {}

/// Forgets the cookie.
pub(super) async fn leave(Sent(client, Nothing {}): Sent<Nothing>) -> Response {
    tracing::info!(client = client.name, "logged out");
    let mut response = Redirect::to("/login").into_response();
    set_cookie(&mut response, &format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"));
    response
}
