//! The description of the API (OpenAPI), from the code of its routes.

use super::problem::{KINDS, Kind, Problem};
use utoipa::openapi::path::{HttpMethod, Operation, PathItem};
use utoipa::openapi::schema::ComponentsBuilder;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ContentBuilder, InfoBuilder, OpenApi, OpenApiBuilder, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{PartialSchema as _, ToSchema as _};

const ABOUT: &str = "Review of oracle classes, campaigns and bugs. Lists answer `{\"items\": […], \"next\": …}`; send `next` \
    as `cursor` for the next part. What is changed needs the ETag of what was seen in If-Match. Every failure is a \
    problem (RFC 9457). Times are RFC 3339 in UTC. On an address that is not loopback every request needs a token.";

fn problem(kind: Kind) -> Response {
    let schema = Ref::from_schema_name("Problem");
    let content = ContentBuilder::new().schema(Some(schema)).build();
    ResponseBuilder::new().description(kind.title()).content("application/problem+json", content).build()
}

/// Whether an operation can fail in this way.
fn can_be(kind: Kind, writes: bool, path: &str) -> bool {
    match kind {
        Kind::Conflict | Kind::Stale | Kind::TooLarge | Kind::MediaType | Kind::PreconditionRequired => writes,
        Kind::NotFound => path.contains('{'),
        Kind::MethodNotAllowed => false,
        _ => true,
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = (HttpMethod, &mut Operation)> {
    [
        (HttpMethod::Get, &mut item.get),
        (HttpMethod::Post, &mut item.post),
        (HttpMethod::Put, &mut item.put),
        (HttpMethod::Patch, &mut item.patch),
        (HttpMethod::Delete, &mut item.delete),
    ]
    .into_iter()
    .filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

/// The description of routes, with every way in which each can fail.
pub(super) fn describe(mut routes: OpenApi) -> OpenApi {
    for (path, item) in &mut routes.paths.paths {
        for (method, operation) in operations(item) {
            for kind in KINDS.into_iter().filter(|kind| can_be(*kind, method != HttpMethod::Get, path)) {
                let status = kind.status().as_u16().to_string();
                operation.responses.responses.entry(status).or_insert_with(|| RefOr::T(problem(kind)));
            }
        }
    }
    let token = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("A token of `caqtus token create`; none on a loopback address."))
        .build();
    let mut schemas = routes.components.take().unwrap_or_default();
    schemas.schemas.insert(Problem::name().into_owned(), Problem::schema());
    let components = ComponentsBuilder::new()
        .schemas_from_iter(schemas.schemas)
        .security_scheme("token", SecurityScheme::Http(token))
        .build();
    let info = InfoBuilder::new().title("Caqtus").version(env!("CARGO_PKG_VERSION")).description(Some(ABOUT)).build();
    OpenApiBuilder::new()
        .info(info)
        .paths(routes.paths)
        .components(Some(components))
        .security(Some([SecurityRequirement::default(), SecurityRequirement::new("token", Vec::<String>::new())]))
        .build()
}
