//! The daemon itself, over HTTP: whether it runs, which version it is, and how to stop it.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use crate::PROTOCOL;
use crate::api::{HubLink, Version};

use super::App;

/// Checks that the daemon runs.
#[cfg_attr(test, utoipa::path(get, path = "/healthz", operation_id = "getHealth", tag = "daemon", responses(
    (status = 200, body = String, content_type = "text/plain", description = "The daemon runs"))))]
pub(super) async fn health() -> &'static str {
    "ok\n"
}

/// Gets the version of the daemon.
#[cfg_attr(test, utoipa::path(get, path = "/v1/version", operation_id = "getVersion", tag = "daemon", responses(
    (status = 200, body = Version, description = "The version"))))]
pub(super) async fn version(State(app): State<App>) -> Json<Version> {
    let hub = app.inbox.hub().map(|hub| HubLink {
        url: hub.url,
        host: app.inbox.host().as_str().to_owned(),
        linked: hub.problem.is_none(),
        problem: hub.problem,
    });
    Json(Version { version: env!("CARGO_PKG_VERSION").to_owned(), protocol: PROTOCOL, pid: std::process::id(), hub })
}

/// Stops the daemon. Open questions stay open on disk. Only over the socket.
#[cfg_attr(test, utoipa::path(post, path = "/v1/stop", operation_id = "stopDaemon", tag = "daemon", responses(
    (status = 202, description = "The daemon will stop"))))]
pub(super) async fn stop(State(app): State<App>) -> StatusCode {
    app.stop.notify_one();
    StatusCode::ACCEPTED
}
