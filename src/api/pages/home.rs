//! The first page: the catalogue.

use super::super::Shared;
use super::super::classes::{self, ClassQuery};
use super::super::extract::Filled;
use super::super::problem::Problem;
use super::Visit;
use axum::extract::State;
use axum::response::Response;
use minijinja::context;
use minijinja::value::Serde;

pub(super) async fn home(
    State(service): State<Shared>,
    visit: Visit,
    Filled(query): Filled<ClassQuery>,
) -> Result<Response, Problem> {
    let page = classes::page(&service, &query).await?;
    visit.page(&service, "classes.html", context! { page => Serde(&page), q => query.q })
}
