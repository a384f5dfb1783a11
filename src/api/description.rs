//! The description of the API (OpenAPI), from the code of its routes.

use super::Shared;
use super::extract::QUERY_TEXT_MAX;
use super::problem::{KINDS, Kind, Problem};
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response as AxumResponse};
use std::collections::{BTreeMap, BTreeSet};
use utoipa::openapi::path::{HttpMethod, Operation, Parameter, ParameterIn, PathItem};
use utoipa::openapi::schema::{ComponentsBuilder, Schema, SchemaType, Type};
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
        Kind::Conflict
        | Kind::Stale
        | Kind::TooSlow
        | Kind::TooLarge
        | Kind::MediaType
        | Kind::PreconditionRequired => writes,
        Kind::NotFound => path.contains('{') || path.starts_with("/api/v1/export/"),
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

/// The query parameters of each path that has a GET.
pub(super) fn parameters(described: &OpenApi) -> BTreeMap<String, BTreeSet<String>> {
    let of = |item: &PathItem| {
        let all = item.get.iter().flat_map(|operation| operation.parameters.iter().flatten());
        let own = all.filter_map(|parameter| match parameter {
            RefOr::T(parameter) if parameter.parameter_in == ParameterIn::Query => Some(parameter.name.clone()),
            _ => None,
        });
        own.collect()
    };
    described.paths.paths.iter().map(|(path, item)| (path.clone(), of(item))).collect()
}

/// Refuses a request with a parameter that its route does not have, which would go unnoticed otherwise.
pub(super) async fn refuse_unknown(State(service): State<Shared>, request: Request, next: Next) -> AxumResponse {
    let path = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    if let Some(known) = service.parameters.get(path) {
        let names = form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes());
        if let Some((name, _)) = names.into_iter().find(|(name, _)| !known.contains(name.as_ref())) {
            let name: String = name.chars().take(100).flat_map(char::escape_default).collect();
            let list: Vec<&str> = known.iter().map(String::as_str).collect();
            let has = if list.is_empty() { "none".to_owned() } else { list.join(", ") };
            let detail = format!("there is no query parameter `{name}` here; there are: {has}");
            return Kind::Malformed.problem(detail).into_response();
        }
    }
    next.run(request).await
}

/// Says of a text in a path, a query or a header which characters it may have.
fn bound(parameter: &mut RefOr<Parameter>) {
    let RefOr::T(Parameter { name, schema: Some(RefOr::T(Schema::Object(schema))), .. }) = parameter else { return };
    let is_text = match &schema.schema_type {
        SchemaType::Type(kind) => *kind == Type::String,
        SchemaType::Array(kinds) => kinds.contains(&Type::String),
        SchemaType::AnyValue => false,
    };
    if !is_text || schema.enum_values.is_some() {
        return;
    }
    let pattern = match name.as_str() {
        "Idempotency-Key" => "^[!-~]{1,100}$",
        "If-Match" => "^\"[0-9]{1,18}(-[0-9a-f]{1,32})?\"$",
        "cursor" => "^[A-Za-z0-9_-]+$",
        _ => {
            schema.max_length = Some(QUERY_TEXT_MAX);
            "^[^\\u0000-\\u001f\\u007f-\\u009f]*$"
        }
    };
    schema.pattern = Some(pattern.to_owned());
}

/// The description of routes, with every way in which each can fail.
pub(super) fn describe(mut routes: OpenApi) -> OpenApi {
    for (path, item) in &mut routes.paths.paths {
        for (method, operation) in operations(item) {
            operation.parameters.iter_mut().flatten().for_each(bound);
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
