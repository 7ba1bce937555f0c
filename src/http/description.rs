//! What the API says of itself, as OpenAPI. Each handler tells what only it can do and refuse; what follows from its group and from
//! its shape is added here: who may call it, and how everything that goes wrong on the way to it is reported.

use axum::Extension;
use axum::body::Bytes;
use axum::http::header;
use axum::response::IntoResponse;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::info::{InfoBuilder, LicenseBuilder};
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{Content, OpenApi, PathItem, Ref, RefOr, Response};
use utoipa::{PartialSchema, ToSchema};

use crate::access::Scope;
use crate::api::Problem;

const SCHEME: &str = "token";
const PROBLEM: &str = "Problem";

const ABOUT: &str = "\
Open questions of coding agents, and their answers. docs/api.md explains it with examples.

The API is on 127.0.0.1, and on a unix socket for programs of the same user; `daemon.json` in the state directory names both, \
and a token. Every error is `application/problem+json`. A path that does not exist is 404, and a method that a path does not \
have is 405; without a valid token both are 401. A request whose head is over 32 KiB is 431. Unknown fields of a body \
are ignored, unknown parameters of a query are refused.";

const CREDENTIALS: &str = "\
`Authorization: Bearer TOKEN`. An operation names the role that it needs. Who has which:

- `token` of `daemon.json`: `read`, `answer` and `ask`, on this machine.
- The token of a device: `read`, `answer` and `ask`. That of a paired device counts everywhere, that of a page on this machine.
- `hook_token` of `daemon.json`: `hook`, on this machine.
- A ticket, from a button of a notification: only `POST /v1/asks/{key}/answer` of its one ask.
- No token has `admin`.

On the unix socket no token is needed: it has every role, `admin` too.";

/// The whole description, ready to be sent. As text it needs a fraction of the memory.
#[derive(Debug, Clone)]
pub(super) struct Description(Bytes);

impl Description {
    pub(super) fn new(openapi: &OpenApi) -> Self {
        Self(Bytes::from(serde_json::to_vec(openapi).unwrap_or_default()))
    }
}

/// This description.
#[utoipa::path(get, path = "/v1/openapi.json", operation_id = "getDescription", tag = "daemon", responses(
    (status = 200, body = serde_json::Value, description = "An OpenAPI document")))]
pub(super) async fn openapi(Extension(Description(text)): Extension<Description>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], text)
}

/// Says what the whole is about.
pub(super) fn describe(openapi: &mut OpenApi) {
    let license = LicenseBuilder::new().name("MIT OR Apache-2.0").identifier(Some("MIT OR Apache-2.0"));
    // All of it, because the default names the author of a dependency.
    openapi.info = InfoBuilder::new()
        .title("Answerback")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(ABOUT))
        .license(Some(license.build()))
        .build();
    let tags = [
        ("asks", "Questions, their answers, and how they are waited for."),
        ("devices", "Letting browsers and phones in, and signing them out."),
        ("hooks", "Where the hooks of agents hand in their calls."),
        ("daemon", "The daemon itself."),
    ];
    let tags = tags.map(|(name, about)| TagBuilder::new().name(name).description(Some(about)).build());
    openapi.tags = Some(tags.to_vec());
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(CREDENTIALS)).build();
    let components = openapi.components.get_or_insert_default();
    components.add_security_scheme(SCHEME, SecurityScheme::Http(bearer));
    // No handler names it: `complete` does.
    let mut schemas = vec![(PROBLEM.to_owned(), Problem::schema())];
    Problem::schemas(&mut schemas);
    components.schemas.extend(schemas);
}

/// Adds to each operation of a group what holds for all of them; `None` is the group that needs no token.
pub(super) fn complete(openapi: &mut OpenApi, scope: Option<Scope>) {
    for operation in openapi.paths.paths.values_mut().flat_map(operations) {
        let role = scope.map(role);
        operation.security = Some(role.map(|role| SecurityRequirement::new(SCHEME, [role])).into_iter().collect());
        for (status, description) in common(operation, role) {
            add(operation, status, &description);
        }
        for (status, response) in &mut operation.responses.responses {
            if let RefOr::T(response) = response
                && status.as_str() >= "400"
            {
                as_problem(status, response);
            }
        }
    }
}

fn role(scope: Scope) -> &'static str {
    match scope {
        Scope::Read => "read",
        Scope::Answer | Scope::Close => "answer",
        Scope::Ask => "ask",
        Scope::Hook => "hook",
        Scope::Admin => "admin",
    }
}

/// The methods that are in use.
fn operations(path: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut path.get, &mut path.post].into_iter().flatten()
}

/// What may happen before a request gets to its handler.
fn common(operation: &Operation, role: Option<&str>) -> Vec<(&'static str, String)> {
    let mut common = vec![
        ("429", "Too many attempts of this address have failed within a minute (`too-many-failures`).".to_owned()),
        ("500", "What is asked for is damaged in the store (`damaged`).".to_owned()),
        ("503", "The store failed (`store`), or it is not known whether it did (`unknown`).".to_owned()),
    ];
    let foreign = "A browser sends it for another site (`foreign-origin`), or the name in `Host` is not one of this daemon \
        (`foreign-host`).";
    match role {
        Some(role) => {
            common.push(("401", "There is no valid token (`unauthorized`).".to_owned()));
            common.push(("403", format!("The token does not have the role `{role}` (`scope`). {foreign}")));
        }
        None => {
            common.push(("401", "No token is needed, but one was sent and is not valid (`unauthorized`).".to_owned()));
            common.push(("403", foreign.to_owned()));
        }
    }
    let is_query = |parameter: &Parameter| parameter.parameter_in == ParameterIn::Query;
    if operation.parameters.iter().flatten().any(|parameter| matches!(parameter, RefOr::T(found) if is_query(found))) {
        let query = "A parameter is unknown, comes twice or has a strange value (`bad-request`).";
        common.push(("400", query.to_owned()));
    }
    if operation.request_body.is_some() {
        let body =
            "The body is not JSON, is nested over 127 levels deep, or has a key twice in one object (`bad-request`).";
        let size = if role.is_some() { "1 MiB" } else { "4 KiB, or over 1 MiB with a token" };
        common.extend([
            ("400", body.to_owned()),
            ("408", "The body took over 10 seconds to arrive (`too-slow`).".to_owned()),
            ("413", format!("The body is over {size} (`too-large`).")),
            ("415", "The body is not `application/json`, or is compressed (`media-type`).".to_owned()),
        ]);
    }
    common
}

/// What the handler says itself stands first.
fn add(operation: &mut Operation, status: &str, description: &str) {
    let response = operation.responses.responses.entry(status.to_owned()).or_insert_with(|| Response::new("").into());
    if let RefOr::T(response) = response {
        response.description = format!("{} {description}", response.description).trim_start().to_owned();
    }
}

fn as_problem(status: &str, response: &mut Response) {
    let problem = Content::new(Some(Ref::from_schema_name(PROBLEM)));
    response.content.insert("application/problem+json".to_owned(), RefOr::T(problem));
    let header = |description: &str, kind| {
        let schema = ObjectBuilder::new().schema_type(kind).build();
        RefOr::T(HeaderBuilder::new().description(Some(description)).schema(Some(schema)).build())
    };
    match status {
        "401" => {
            response.headers.insert("WWW-Authenticate".to_owned(), header("`Bearer`", Type::String));
        }
        "429" => {
            let seconds = header("How many seconds to wait before the next attempt", Type::Integer);
            response.headers.insert("Retry-After".to_owned(), seconds);
        }
        _ => {}
    }
}
