//! Who changed what.

use super::{Visit, link};
use crate::api::Shared;
use crate::api::access::Role;
use crate::api::browse::{self, AuditQuery};
use crate::api::extract::Filled;
use crate::api::problem::{Kind, Problem};
use axum::extract::State;
use axum::response::Response;
use minijinja::context;
use minijinja::value::Serde;
use serde::Serialize;
use serde_json::Value;

/// Characters of what was there before or since that a line of the list shows; the API has all.
const SHOWN_MAX: usize = 600;

/// A change as a line of the list.
#[derive(Serialize)]
struct Line {
    at: String,
    who: String,
    action: String,
    subject: String,
    /// The page of its subject, if it has one.
    href: Option<String>,
    before: Option<String>,
    after: Option<String>,
}

fn short(value: Option<&Value>) -> Option<String> {
    let text = value?.to_string();
    let cut: String = text.chars().take(SHOWN_MAX).collect();
    Some(if cut.len() < text.len() { cut + " …" } else { cut })
}

/// Where a subject is shown.
fn href(subject: &str) -> Option<String> {
    match subject.split_once(' ')? {
        ("class", name) => Some(format!("/classes/{}", super::segment(name))),
        ("bug", id) => Some(format!("/bugs/{}", super::segment(id))),
        ("campaign", id) => Some(format!("/campaigns/{}", super::segment(id))),
        _ => None,
    }
}

pub(super) async fn list(
    State(service): State<Shared>,
    visit: Visit,
    Filled(query): Filled<AuditQuery>,
) -> Result<Response, Problem> {
    if visit.role() < Role::Admin {
        return Err(Kind::Forbidden.problem("who changed what is for admins to see"));
    }
    let page = browse::audit(&service, &query).await?;
    let subject = query.subject.unwrap_or_default();
    let next = page.next.as_deref().map(|cursor| link("/audit", &[("subject", &subject), ("cursor", cursor)]));
    let lines = page.items.into_iter().map(|row| Line {
        href: href(&row.subject),
        before: short(row.before.as_ref()),
        after: short(row.after.as_ref()),
        at: row.at,
        who: row.who,
        action: row.action,
        subject: row.subject,
    });
    let lines: Vec<Line> = lines.collect();
    visit.page(&service, "audit.html", context! { lines => Serde(lines), subject, next })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_lead_to_their_pages() {
        assert_eq!(href("class a/b").as_deref(), Some("/classes/a%2Fb"));
        assert_eq!(href("bug 7").as_deref(), Some("/bugs/7"));
        assert_eq!(href("token eve"), None);
        let long = Value::String("x".repeat(2 * SHOWN_MAX));
        assert!(short(Some(&long)).is_some_and(|text| text.chars().count() < SHOWN_MAX + 3));
    }
}
