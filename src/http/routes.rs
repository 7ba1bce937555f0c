//! All routes, each in the group of its scope.

use axum::extract::Request;
use axum::handler::Handler;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use axum::{Extension, Router};
use utoipa::openapi::OpenApi;
use utoipa_axum::PathItemExt;
use utoipa_axum::router::OpenApiRouter;

use crate::access::{Caller, Scope};
use crate::api::Problem;

use super::description::{self, Description};
use super::websocket::description as websocket_description;
use super::{
    App, asks, away, context, daemon, devices, events, guard, hook, hosts, link, page, pairing, people, previews,
    sessions, setup, sign_in, websocket,
};

/// Routes with the same scope.
struct Group {
    /// `None`: no token is needed.
    scope: Option<Scope>,
    /// The token may come after the request, so the handlers check it.
    is_late: bool,
    router: Router<App>,
    /// Each describes one route. The descriptions take more memory than the rest of an idle daemon, so they are made when somebody asks.
    describe: Vec<Describe>,
}

type Describe = fn() -> OpenApiRouter<App>;

impl Group {
    fn of(scope: Option<Scope>) -> Self {
        Self { scope, is_late: false, router: Router::new(), describe: Vec::new() }
    }

    fn late(self) -> Self {
        Self { is_late: true, ..self }
    }

    /// Adds a handler at the path and with the method of its description.
    fn add<P: utoipa::Path, H: Handler<T, App>, T: 'static>(self, handler: H, describe: Describe) -> Self {
        let methods = P::methods()
            .iter()
            .fold(MethodRouter::new(), |router, method| router.on(method.to_method_filter(), handler.clone()));
        let mut group = Self { router: self.router.route(&P::path(), methods), ..self };
        group.describe.push(describe);
        group
    }
}

/// A group of routes with this scope. Each handler has the attribute `utoipa::path`, which makes a type beside it.
macro_rules! group {
    ($scope:expr; $($module:ident :: $handler:ident),+ $(,)?) => {
        utoipa_axum::paste! {
            Group::of($scope)$(.add::<$module::[<__path_ $handler>], _, _>(
                $module::$handler,
                || OpenApiRouter::new().routes(utoipa_axum::routes!($module::$handler)),
            ))+
        }
    };
}

fn groups() -> [Group; 10] {
    [
        group![Some(Scope::Read);
            asks::list, asks::get, asks::projects, away::get, context::context, previews::place, events::events,
            devices::sign_out, description::openapi, websocket_description::asyncapi, daemon::version, sessions::list, setup::setup],
        // A ticket may call every route with the scope `Answer`, so this group has one route alone.
        group![Some(Scope::Answer); asks::answer],
        group![Some(Scope::Close); asks::dismiss, asks::release, away::set, away::end],
        group![Some(Scope::Ask); asks::open, asks::withdraw],
        group![Some(Scope::Hook); hook::claude_code],
        group![Some(Scope::Admin);
            pairing::begin, pairing::look, pairing::confirm, pairing::refuse, devices::list, devices::revoke,
            hosts::add, hosts::list, hosts::revoke, people::list, people::add, people::grant, people::revoke],
        group![Some(Scope::Daemon); sign_in::launch, daemon::stop],
        group![Some(Scope::Link); link::open],
        group![Some(Scope::Read); websocket::open].late(),
        // These need no token. `health` reveals nothing, and the others need a code, a claim or a one-time name.
        group![None; daemon::health, sign_in::session, pairing::claim, pairing::token, previews::show],
    ]
}

/// The whole API, the page, and the guard around both.
pub(super) fn router(app: App) -> Router {
    let groups = groups().into_iter().map(|group| match group.scope {
        Some(scope) if !group.is_late => group.router.route_layer(from_fn_with_state(scope, guard::require)),
        _ => group.router,
    });
    groups
        .fold(Router::new(), Router::merge)
        .layer(Extension(Description(describe)))
        .merge(page::routes())
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(app.clone(), guard::guard))
        .with_state(app)
}

/// The description of all routes.
fn describe() -> OpenApi {
    let mut all = OpenApiRouter::new();
    for group in groups() {
        for describe in group.describe {
            let mut route = describe();
            description::complete(route.get_openapi_mut(), group.scope);
            all = all.merge(route);
        }
    }
    let mut openapi = all.into_openapi();
    description::describe(&mut openapi);
    openapi
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
