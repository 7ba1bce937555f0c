//! The HTTP side: connections, the guard, the API. The only module that knows hyper and axum.
//!
//! Every request passes the guard, then the scope of its route, then its handler. A route is added to the group of its
//! scope in `router`: there is no other way in.

mod asks;
mod connections;
mod context;
mod descriptors;
mod device_name;
mod devices;
mod entrance;
mod events;
mod extract;
mod guard;
mod hook;
mod lan;
mod loopback;
mod page;
mod pairing;
mod patient;
mod places;
mod previews;
mod problem;
mod reach;
mod sign_in;
mod throttle;
mod wire;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use tokio::sync::{Notify, watch};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::PROTOCOL;
use crate::api::{Problem, Version};
use crate::claude_code::Policy;
use crate::instance::Tokens;
use crate::pairing::Pairings;
use crate::registry::Registry;
use crate::store::Store;

pub(crate) use connections::{Listeners, bound_send_buffer, serve};
use descriptors::{HookPlaces, Shares};
use devices::Devices;
use guard::{Caller, Guard, Scope};
pub(crate) use lan::Lan;
use previews::Previews;
pub(crate) use reach::{LanReach, Reach};
use sign_in::LaunchCodes;
use throttle::Throttle;

/// What every handler has at hand; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct App {
    registry: Registry,
    store: Store,
    guard: Arc<Guard>,
    launch_codes: Arc<LaunchCodes>,
    devices: Arc<Devices>,
    pairings: Arc<Pairings>,
    throttle: Arc<Throttle>,
    reach: Arc<Reach>,
    previews: Arc<Previews>,
    policy: Policy,
    hook_places: Arc<HookPlaces>,
    closing: watch::Receiver<bool>,
    stop: Arc<Notify>,
}

impl App {
    /// For the API on this port of 127.0.0.1 and wherever else it can be reached, until `closing` says true.
    pub(crate) fn new(
        registry: Registry,
        store: Store,
        tokens: &Tokens,
        port: u16,
        reach: Reach,
        policy: Policy,
        closing: watch::Receiver<bool>,
    ) -> Self {
        Self {
            registry,
            store,
            guard: Arc::new(Guard::new(tokens, port, reach.public.clone())),
            launch_codes: Arc::default(),
            devices: Arc::default(),
            pairings: Arc::default(),
            throttle: Arc::default(),
            reach: Arc::new(reach),
            previews: Arc::default(),
            policy,
            hook_places: Arc::new(HookPlaces::new(Shares::of_this_process())),
            closing,
            stop: Arc::default(),
        }
    }

    /// Notified when somebody with the right to asks the daemon to stop.
    pub(crate) fn stop(&self) -> Arc<Notify> {
        Arc::clone(&self.stop)
    }

    /// Returns when the daemon goes down.
    async fn closing(&self) {
        let mut closing = self.closing.clone();
        // An error means that the daemon is gone already.
        drop(closing.wait_for(|closing| *closing).await);
    }

    /// Waits for something, but not for too long and not beyond the end of the daemon.
    async fn wait_at_most<T>(&self, patience: Duration, event: impl Future<Output = T>) {
        tokio::select! {
            _ = event => {}
            () = tokio::time::sleep(patience) => {}
            () = self.closing() => {}
        }
    }
}

/// All routes, each in the group of its scope.
pub(crate) fn router(app: App) -> Router {
    let scoped =
        |scope: Scope, routes: OpenApiRouter<App>| routes.route_layer(from_fn_with_state(scope, guard::require));
    let read = OpenApiRouter::new()
        .routes(routes!(asks::list))
        .routes(routes!(asks::get))
        .routes(routes!(asks::projects))
        .routes(routes!(context::context))
        .routes(routes!(previews::place))
        .routes(routes!(events::events))
        .routes(routes!(devices::sign_out))
        .routes(routes!(version));
    let answer = OpenApiRouter::new()
        .routes(routes!(asks::answer))
        .routes(routes!(asks::dismiss))
        .routes(routes!(asks::release));
    let admin = OpenApiRouter::new()
        .routes(routes!(sign_in::launch))
        .routes(routes!(pairing::begin))
        .routes(routes!(pairing::look))
        .routes(routes!(pairing::confirm))
        .routes(routes!(pairing::refuse))
        .routes(routes!(devices::list))
        .routes(routes!(devices::revoke))
        .routes(routes!(stop));
    let (router, mut openapi) = OpenApiRouter::new()
        .merge(scoped(Scope::Read, read))
        .merge(scoped(Scope::Answer, answer))
        .merge(scoped(Scope::Ask, OpenApiRouter::new().routes(routes!(asks::open)).routes(routes!(asks::withdraw))))
        .merge(scoped(Scope::Hook, OpenApiRouter::new().routes(routes!(hook::claude_code))))
        .merge(scoped(Scope::Admin, admin))
        // These need no token: one says nothing, the others take a code or a name instead.
        .routes(routes!(health))
        .routes(routes!(sign_in::session))
        .routes(routes!(pairing::claim))
        .routes(routes!(pairing::token))
        .routes(routes!(previews::show))
        .split_for_parts();
    describe(&mut openapi);
    // As text it needs a fraction of the memory, and is ready to be sent.
    let description = Bytes::from(serde_json::to_vec(&openapi).unwrap_or_default());
    drop(openapi);
    let openapi = Router::new()
        .route("/v1/openapi.json", get(async move || ([(header::CONTENT_TYPE, "application/json")], description)))
        .route_layer(from_fn_with_state(Scope::Read, guard::require));
    router
        .merge(openapi)
        .merge(page::routes())
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(app.clone(), guard::guard))
        .with_state(app)
}

fn describe(openapi: &mut utoipa::openapi::OpenApi) {
    openapi.info.title = "Answerback".into();
    openapi.info.version = env!("CARGO_PKG_VERSION").into();
    openapi.info.description = Some("Open questions of coding agents, and their answers.".into());
    let bearer = SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
    openapi.components.get_or_insert_default().add_security_scheme("token", bearer);
    openapi.security = Some(vec![SecurityRequirement::new("token", Vec::<String>::new())]);
}

/// Says that the daemon is there.
#[utoipa::path(get, path = "/healthz", responses((status = 200, description = "It is")), security(()))]
async fn health() -> &'static str {
    "ok\n"
}

/// Says what runs here.
#[utoipa::path(get, path = "/v1/version", responses((status = 200, body = Version), (status = "default", body = Problem)))]
async fn version() -> Json<Version> {
    Json(Version { version: env!("CARGO_PKG_VERSION").to_owned(), protocol: PROTOCOL, pid: std::process::id() })
}

/// Stops the daemon. Open questions stay open on disk. Only over the socket.
#[utoipa::path(post, path = "/v1/stop", responses((status = 202, description = "It stops"), (status = "default", body = Problem)))]
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

/// Who has no token does not learn which paths there are.
fn refuse(request: &Request, problem: Problem) -> Response {
    match request.extensions().get::<Caller>() {
        None | Some(Caller::Anonymous) => Problem::unauthorized().into_response(),
        Some(_) => problem.into_response(),
    }
}
