//! The HTTP side: connections, the guard, the API. Only this room uses hyper and axum.
//!
//! Every request passes the guard, then the check of its route's scope, and then reaches its handler. `router` puts each route into the
//! group of its scope, so no route can go without that check.

mod asks;
mod away;
mod connections;
mod context;
mod description;
mod descriptors;
mod devices;
mod entrance;
mod events;
mod extract;
mod guard;
mod hook;
mod lan;
mod linger;
mod page;
mod pairing;
mod places;
mod plain_stream;
mod previews;
mod problem;
mod query;
mod reach;
mod refusals;
mod sign_in;
mod strict_json;
mod write_timeout;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json, Router};
use tokio::sync::{Notify, watch};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::PROTOCOL;
use crate::access::{Access, Caller, Scope};
use crate::api::{Problem, Version};
use crate::claude_code::Bridge;
use crate::inbox::Inbox;
use crate::registry::Registry;

pub(crate) use connections::{Listeners, bound_send_buffer, serve};
use description::Description;
pub(crate) use descriptors::Shares;
use entrance::Names;
pub(crate) use lan::Lan;
use previews::Previews;
pub(crate) use reach::{LanReach, Reach};

/// The state that all handlers share. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct App {
    registry: Registry,
    access: Access,
    names: Arc<Names>,
    reach: Arc<Reach>,
    previews: Arc<Previews>,
    bridge: Arc<Bridge>,
    inbox: Inbox,
    shares: Shares,
    closing: watch::Receiver<bool>,
    stop: Arc<Notify>,
}

/// What the handlers translate requests for.
#[derive(Debug)]
pub(crate) struct Services {
    pub(crate) registry: Registry,
    pub(crate) inbox: Inbox,
    pub(crate) bridge: Bridge,
    pub(crate) access: Access,
}

impl App {
    /// `port` is the port of the API on 127.0.0.1. `reach` says where else it can be reached. Long requests end when `closing` is true.
    pub(crate) fn new(
        services: Services,
        shares: Shares,
        port: u16,
        reach: Reach,
        closing: watch::Receiver<bool>,
    ) -> Self {
        let Services { registry, inbox, bridge, access } = services;
        Self {
            bridge: Arc::new(bridge),
            inbox,
            registry,
            access,
            names: Arc::new(Names::new(port, reach.public.clone())),
            reach: Arc::new(reach),
            previews: Arc::default(),
            shares,
            closing,
            stop: Arc::default(),
        }
    }

    /// Notified when an authorized caller asks the daemon to stop.
    pub(crate) fn stop(&self) -> Arc<Notify> {
        Arc::clone(&self.stop)
    }

    /// Returns when the daemon stops.
    async fn closing(&self) {
        let mut closing = self.closing.clone();
        // An error means that the daemon is gone already.
        drop(closing.wait_for(|closing| *closing).await);
    }

    /// Waits for `event`, but not longer than `patience`, and not after the daemon stops.
    async fn wait_at_most<T>(&self, patience: Duration, event: impl Future<Output = T>) {
        tokio::select! {
            _ = event => {}
            () = tokio::time::sleep(patience) => {}
            () = self.closing() => {}
        }
    }
}

/// All routes, each in the group of its scope.
fn router(app: App) -> Router {
    let scoped = |scope: Scope, mut routes: OpenApiRouter<App>| {
        description::complete(routes.get_openapi_mut(), Some(scope));
        routes.route_layer(from_fn_with_state(scope, guard::require))
    };
    let read = OpenApiRouter::new()
        .routes(routes!(asks::list))
        .routes(routes!(asks::get))
        .routes(routes!(asks::projects))
        .routes(routes!(away::get))
        .routes(routes!(context::context))
        .routes(routes!(previews::place))
        .routes(routes!(events::events))
        .routes(routes!(devices::sign_out))
        .routes(routes!(description::openapi))
        .routes(routes!(version));
    // A ticket may call every route with the scope `Answer`, so this group has one route alone.
    let answer = OpenApiRouter::new().routes(routes!(asks::answer));
    let close = OpenApiRouter::new()
        .routes(routes!(asks::dismiss))
        .routes(routes!(asks::release))
        .routes(routes!(away::set, away::end));
    let admin = OpenApiRouter::new()
        .routes(routes!(sign_in::launch))
        .routes(routes!(pairing::begin))
        .routes(routes!(pairing::look))
        .routes(routes!(pairing::confirm))
        .routes(routes!(pairing::refuse))
        .routes(routes!(devices::list))
        .routes(routes!(devices::revoke))
        .routes(routes!(stop));
    // These need no token. `health` reveals nothing, and the others need a code, a claim or a one-time name.
    let mut open = OpenApiRouter::new()
        .routes(routes!(health))
        .routes(routes!(sign_in::session))
        .routes(routes!(pairing::claim))
        .routes(routes!(pairing::token))
        .routes(routes!(previews::show));
    description::complete(open.get_openapi_mut(), None);
    let (router, mut openapi) = OpenApiRouter::new()
        .merge(scoped(Scope::Read, read))
        .merge(scoped(Scope::Answer, answer))
        .merge(scoped(Scope::Close, close))
        .merge(scoped(Scope::Ask, OpenApiRouter::new().routes(routes!(asks::open)).routes(routes!(asks::withdraw))))
        .merge(scoped(Scope::Hook, OpenApiRouter::new().routes(routes!(hook::claude_code))))
        .merge(scoped(Scope::Admin, admin))
        .merge(open)
        .split_for_parts();
    description::describe(&mut openapi);
    router
        .layer(Extension(Description::new(&openapi)))
        .merge(page::routes())
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(app.clone(), guard::guard))
        .with_state(app)
}

/// Checks that the daemon runs.
#[utoipa::path(get, path = "/healthz", operation_id = "getHealth", tag = "daemon", responses(
    (status = 200, body = String, content_type = "text/plain", description = "The daemon runs")))]
async fn health() -> &'static str {
    "ok\n"
}

/// Gets the version of the daemon.
#[utoipa::path(get, path = "/v1/version", operation_id = "getVersion", tag = "daemon", responses(
    (status = 200, body = Version, description = "The version")))]
async fn version() -> Json<Version> {
    Json(Version { version: env!("CARGO_PKG_VERSION").to_owned(), protocol: PROTOCOL, pid: std::process::id() })
}

/// Stops the daemon. Open questions stay open on disk. Only over the socket.
#[utoipa::path(post, path = "/v1/stop", operation_id = "stopDaemon", tag = "daemon", responses(
    (status = 202, description = "The daemon will stop")))]
async fn stop(State(app): State<App>) -> StatusCode {
    app.stop.notify_one();
    StatusCode::ACCEPTED
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
