//! The requests, as OpenAPI. Each handler describes its own replies. This module adds what is common to many: who may call an operation,
//! and how a request is refused before it reaches the handler.

use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::info::{InfoBuilder, LicenseBuilder};
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{Content, OpenApi, PathItem, Ref, RefOr, Response as Described};
use utoipa::{PartialSchema, ToSchema};
use utoipa_axum::router::OpenApiRouter;

use crate::access::Scope;
use crate::api::Problem;

use super::super::guard::Audience;
use super::super::{App, routes};

const SCHEME: &str = "token";
const PROBLEM: &str = "Problem";

const ABOUT: &str = "\
Open questions of coding agents, and their answers. docs/api.md explains it with examples.

The API is on 127.0.0.1, and on a unix socket for programs of the same user. `daemon.json` in the state directory contains both \
addresses and a token. Every error is `application/problem+json`. A path that does not exist gets 404, and a method that a path does \
not have gets 405. Without a valid token, both get 401. A request whose head is over 32 KiB gets 431. Unknown fields of a body are \
ignored. Unknown parameters of a query are refused.";

const CREDENTIALS: &str = "\
`Authorization: Bearer TOKEN`. Each operation names the role that it needs. These are the roles of each token:

- `token` of `daemon.json`: `read`, `answer` and `ask`, on this machine.
- The token of a device: `read`, `answer` and `ask`. The token of a paired device works everywhere, and that of a page on this machine.
- `hook_token` of `daemon.json`: `hook`, on this machine.
- A host token, from `POST /v1/hosts`: `link`, everywhere. It gets 403 at every other path, also where no token is needed.
- A ticket, from a button of a notification: only `POST /v1/asks/{key}/answer`, for one ask.
- The token of a device that belongs to a person: `read` in the projects that the person may view, `answer` and `ask` in those where \
they may answer, and `admin` if they are an admin. What they may not view does not exist for them.
- No other token has `admin`, and none has `socket`.

On the unix socket, no token is needed. It has every role, including `admin` and `socket`, except `link`.";

/// The whole description.
pub(super) fn document() -> OpenApi {
    let mut all = OpenApiRouter::<App>::new();
    for mut route in routes::descriptions() {
        complete(&mut route.by_handler, route.scope, route.audience);
        all = all.merge(OpenApiRouter::with_openapi(route.by_handler));
    }
    let mut openapi = all.into_openapi();
    describe(&mut openapi);
    openapi
}

/// Adds the title, the tags, the security scheme and the schema of errors.
fn describe(openapi: &mut OpenApi) {
    let license = LicenseBuilder::new().name("MIT OR Apache-2.0").identifier(Some("MIT OR Apache-2.0"));
    // Every field is set, because the default names the author of a dependency.
    openapi.info = InfoBuilder::new()
        .title("Answerback")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(ABOUT))
        .license(Some(license.build()))
        .build();
    let tags = [
        ("asks", "Questions, their answers, and ways to wait for them."),
        ("sessions", "The sessions of agents: what each does, and what it waits for."),
        ("people", "The people of a team, and what they may do."),
        ("devices", "Pairing phones, signing in browsers, and signing them out."),
        ("hosts", "Other machines whose daemons ask here."),
        ("hooks", "The endpoint for the hooks of agents."),
        ("daemon", "The daemon itself."),
    ];
    let tags = tags.map(|(name, about)| TagBuilder::new().name(name).description(Some(about)).build());
    openapi.tags = Some(tags.to_vec());
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(CREDENTIALS)).build();
    let components = openapi.components.get_or_insert_default();
    components.add_security_scheme(SCHEME, SecurityScheme::Http(bearer));
    // The schema is added here, because no handler names it. `complete` adds the references to it.
    let mut schemas = vec![(PROBLEM.to_owned(), Problem::schema())];
    Problem::schemas(&mut schemas);
    components.schemas.extend(schemas);
}

/// Adds to each operation what is common to its group. `None` is the group that needs no token.
fn complete(openapi: &mut OpenApi, scope: Option<Scope>, audience: Audience) {
    for operation in openapi.paths.paths.values_mut().flat_map(operations) {
        let role = scope.map(role);
        operation.security = Some(role.map(|role| SecurityRequirement::new(SCHEME, [role])).into_iter().collect());
        for (status, description) in common(operation, role) {
            add(operation, status, &description);
        }
        match audience {
            Audience::Anybody => {}
            Audience::People => add(operation, "403", "An agent has started the caller (`agent`)."),
            Audience::Devices(_) => {
                let consent =
                    "An agent has started the caller (`agent`), or a paired device has to agree first (`consent`).";
                add(operation, "403", consent);
            }
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
        Scope::Daemon => "socket",
        Scope::Link => "link",
    }
}

/// The methods that are in use.
fn operations(path: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut path.get, &mut path.put, &mut path.post, &mut path.delete].into_iter().flatten()
}

/// The refusals that may come before the handler.
fn common(operation: &Operation, role: Option<&str>) -> Vec<(&'static str, String)> {
    let mut common = vec![
        ("429", "Too many attempts from this address have failed within a minute (`too-many-failures`).".to_owned()),
        ("500", "The row of this ask is damaged in the store (`damaged`).".to_owned()),
        (
            "503",
            "The store failed and nothing was saved (`store`), or it is not known whether it was saved (`unknown`)."
                .to_owned(),
        ),
    ];
    let foreign = "The request comes from a page of another site (`foreign-origin`), or the name in `Host` is not a name of this \
        daemon (`foreign-host`).";
    match role {
        Some(role) => {
            common.push(("401", "There is no valid token (`unauthorized`).".to_owned()));
            common.push((
                "403",
                format!(
                    "The token does not have the role `{role}` (`scope`), or the person does not (`role`). {foreign}"
                ),
            ));
        }
        None => {
            common.push(("401", "No token is needed, but one was sent and is not valid (`unauthorized`).".to_owned()));
            common.push(("403", foreign.to_owned()));
        }
    }
    let is_query = |parameter: &Parameter| parameter.parameter_in == ParameterIn::Query;
    if operation.parameters.iter().flatten().any(|parameter| matches!(parameter, RefOr::T(found) if is_query(found))) {
        let query = "A parameter is unknown, comes twice or has an invalid value (`bad-request`).";
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

/// Adds a sentence to the description of a status, after the handler's own.
fn add(operation: &mut Operation, status: &str, description: &str) {
    let response = operation.responses.responses.entry(status.to_owned()).or_insert_with(|| Described::new("").into());
    if let RefOr::T(response) = response {
        response.description = format!("{} {description}", response.description).trim_start().to_owned();
    }
}

fn as_problem(status: &str, response: &mut Described) {
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
