//! Light or dark: what somebody chose is in a cookie, so that no script is needed.

use super::{Sent, set_cookie};
use crate::api::access;
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Redirect, Response};
use serde::Deserialize;

const COOKIE: &str = "caqtus_theme";

/// Seconds for which a choice is kept: a year.
const KEEP: u32 = 31_536_000;

/// What was chosen.
pub(super) fn of(headers: &HeaderMap) -> &'static str {
    known(access::cookie(headers, COOKIE).unwrap_or_default())
}

fn known(name: &str) -> &'static str {
    ["light", "dark"].into_iter().find(|theme| *theme == name).unwrap_or("auto")
}

#[derive(Deserialize)]
pub(super) struct Choice {
    theme: String,
    back: String,
}

/// Whether a text is a page of ours, and of nobody else.
fn is_own(path: &str) -> bool {
    path.starts_with('/') && !path.starts_with("//") && path.bytes().all(|b| b.is_ascii_graphic() && b != b'\\')
}

/// Keeps a choice.
pub(super) async fn choose(Sent(_, Choice { theme, back }): Sent<Choice>) -> Response {
    let mut response = Redirect::to(if is_own(&back) { &back } else { "/" }).into_response();
    let theme = known(&theme);
    set_cookie(&mut response, &format!("{COOKIE}={theme}; Path=/; HttpOnly; SameSite=Strict; Max-Age={KEEP}"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_elsewhere() {
        for path in ["/", "/bugs/3?x=%20", "/classes/a%2Fb"] {
            assert!(is_own(path), "{path}");
        }
        for path in ["", "//evil.example", "/\\evil.example", "https://evil.example", "/a b", "/a\r\nx: y"] {
            assert!(!is_own(path), "{path}");
        }
        assert_eq!([known("dark"), known("light"), known("\"><b>")], ["dark", "light", "auto"]);
    }
}
