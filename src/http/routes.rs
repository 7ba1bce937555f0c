//! All routes, each in a group with its scope and its audience.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::{Router, routing};
#[cfg(test)]
use utoipa::openapi::OpenApi;
#[cfg(test)]
use utoipa_axum::router::OpenApiRouter;

use crate::access::{Caller, Scope};
use crate::api::Problem;

use super::guard::Audience;
use super::{
    App, asks, away, context, daemon, description, devices, events, guard, hook, hosts, link, page, pairing, people,
    previews, sessions, setup, sign_in, websocket,
};

/// Routes with the same scope and the same audience.
struct Group {
    /// `None`: no token is needed.
    scope: Option<Scope>,
    audience: Audience,
    /// The token may come after the request, so the handlers check it.
    is_late: bool,
    router: Router<App>,
    /// Each describes one route.
    #[cfg(test)]
    descriptions: Vec<Described>,
}

impl Group {
    fn late(self) -> Self {
        Self { is_late: true, ..self }
    }
}

/// A route, and what its handler says about itself with the attribute `utoipa::path`.
#[cfg(test)]
pub(super) struct Described {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) scope: Option<Scope>,
    pub(super) audience: Audience,
    pub(super) by_handler: OpenApi,
}

/// A group of routes with this scope and this audience.
macro_rules! group {
    ($scope:expr, $audience:expr; $($method:ident $path:literal $module:ident :: $handler:ident,)+) => {
        Group {
            scope: $scope,
            audience: $audience,
            is_late: false,
            router: Router::new()$(.route($path, routing::$method($module::$handler)))+,
            #[cfg(test)]
            descriptions: vec![$(Described {
                method: stringify!($method),
                path: $path,
                scope: $scope,
                audience: $audience,
                by_handler: OpenApiRouter::<App>::new().routes(utoipa_axum::routes!($module::$handler)).into_openapi(),
            }),+],
        }
    };
}

fn groups() -> Vec<Group> {
    vec![
        group![Some(Scope::Read), Audience::Anybody;
            get "/v1/asks" asks::list,
            get "/v1/asks/{key}" asks::get,
            get "/v1/projects" asks::projects,
            get "/v1/away" away::get,
            get "/v1/asks/{key}/context" context::context,
            post "/v1/asks/{key}/preview" previews::place,
            get "/v1/events" events::events,
            post "/v1/sign-out" devices::sign_out,
            get "/v1/openapi.json" description::openapi,
            get "/v1/asyncapi.json" description::asyncapi,
            get "/v1/version" daemon::version,
            get "/v1/sessions" sessions::list,
            get "/v1/setup" setup::setup,
        ],
        // A ticket may call every route with the scope `Answer`, so this group has one route alone.
        group![Some(Scope::Answer), Audience::People;
            post "/v1/asks/{key}/answer" asks::answer,
        ],
        group![Some(Scope::Close), Audience::People;
            post "/v1/asks/{key}/dismiss" asks::dismiss,
            post "/v1/asks/{key}/release" asks::release,
            put "/v1/away" away::set,
            delete "/v1/away" away::end,
        ],
        group![Some(Scope::Ask), Audience::Anybody;
            post "/v1/asks" asks::open,
            post "/v1/asks/{key}/withdraw" asks::withdraw,
        ],
        group![Some(Scope::Hook), Audience::Anybody;
            post "/v1/hooks/claude-code" hook::claude_code,
        ],
        group![Some(Scope::Admin), Audience::Anybody;
            get "/v1/pairing/{id}" pairing::look,
            get "/v1/devices" devices::list,
            get "/v1/hosts" hosts::list,
            get "/v1/people" people::list,
        ],
        group![Some(Scope::Admin), Audience::Devices("let a new device in");
            post "/v1/pairing" pairing::begin,
        ],
        // A device has agreed to this pairing when it began.
        group![Some(Scope::Admin), Audience::People;
            post "/v1/pairing/{id}/confirm" pairing::confirm,
            post "/v1/pairing/{id}/refuse" pairing::refuse,
        ],
        group![Some(Scope::Admin), Audience::Devices("sign a device out");
            post "/v1/devices/{id}/revoke" devices::revoke,
        ],
        group![Some(Scope::Admin), Audience::Devices("let another machine ask here");
            post "/v1/hosts" hosts::add,
        ],
        group![Some(Scope::Admin), Audience::Devices("take back the token of a machine");
            post "/v1/hosts/{name}/revoke" hosts::revoke,
        ],
        group![Some(Scope::Admin), Audience::Devices("add a person");
            post "/v1/people" people::add,
        ],
        group![Some(Scope::Admin), Audience::Devices("change what a person may do");
            put "/v1/people/{id}/grants" people::grant,
        ],
        group![Some(Scope::Admin), Audience::Devices("remove a person");
            post "/v1/people/{id}/revoke" people::revoke,
        ],
        group![Some(Scope::Daemon), Audience::People;
            post "/v1/launch" sign_in::launch,
        ],
        // Agents install and update Answerback, too. Questions outlive the daemon, so this decides nothing.
        group![Some(Scope::Daemon), Audience::Anybody;
            post "/v1/stop" daemon::stop,
        ],
        group![Some(Scope::Link), Audience::Anybody;
            get "/v1/link" link::open,
        ],
        // What comes over the WebSocket is checked frame by frame.
        group![Some(Scope::Read), Audience::Anybody;
            get "/v1/ws" websocket::open,
        ]
        .late(),
        // These need no token. `health` reveals nothing, and the others need a code, a claim or a one-time name.
        group![None, Audience::People;
            post "/v1/session" sign_in::session,
        ],
        group![None, Audience::Anybody;
            get "/healthz" daemon::health,
            post "/v1/pairing/claim" pairing::claim,
            post "/v1/pairing/token" pairing::token,
            get "/v1/previews/{name}" previews::show,
        ],
    ]
}

/// The whole API, the page, and the guard around both.
pub(super) fn router(app: App) -> Router {
    let groups = groups().into_iter().map(|group| {
        let router = match group.audience {
            Audience::Anybody => group.router,
            audience => group.router.route_layer(from_fn_with_state((app.clone(), audience), guard::keep_to)),
        };
        match group.scope {
            Some(scope) if !group.is_late => router.route_layer(from_fn_with_state(scope, guard::require)),
            _ => router,
        }
    });
    groups
        .fold(Router::new(), Router::merge)
        .merge(page::routes())
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(app.clone(), guard::guard))
        .with_state(app)
}

/// What all handlers say about themselves, in the order of the routes.
#[cfg(test)]
pub(super) fn descriptions() -> Vec<Described> {
    groups().into_iter().flat_map(|group| group.descriptions).collect()
}

async fn unknown_path(request: Request) -> Response {
    refuse(&request, Problem::not_found("There is nothing at this path."))
}

async fn wrong_method(request: Request) -> Response {
    refuse(&request, Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method", "This path has no such method."))
}

/// A caller without a token gets 401, so that it does not learn which paths exist.
fn refuse(request: &Request, problem: Problem) -> Response {
    match request.extensions().get::<Caller>() {
        None | Some(Caller::Anonymous) => Problem::unauthorized().into_response(),
        Some(_) => problem.into_response(),
    }
}
