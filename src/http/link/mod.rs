//! The link: the daemon of another machine, an edge, has this daemon as its store.
//!
//! It is one WebSocket, and `store::wire` has its frames. Only a host token opens it, and never a browser. What an edge may do is decided by
//! the inbox.

mod conversation;

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;

use crate::access::Caller;
use crate::api::Problem;
use crate::store::wire;

use super::App;
use super::connections::Tether;

use conversation::Conversation;

pub(super) const PATH: &str = wire::PATH;
/// A link is silent most of the time, so its buffers are small.
const BUFFER: usize = 4 * 1024;

/// Links the daemon of another machine with this one. Only with a host token. The frames of this WebSocket are not for other programs, and
/// may change.
#[cfg_attr(test, utoipa::path(get, path = "/v1/link", operation_id = "openLink", tag = "hosts", responses(
    (status = 101, description = "The link is open"),
    (status = 426, description = "The request does not ask for a WebSocket (`upgrade`)."))))]
pub(super) async fn open(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    tether: Option<Extension<Tether>>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let Caller::Host { id, host } = caller else { return Err(Problem::unauthorized()) };
    if headers.contains_key(header::ORIGIN) {
        return Err(Problem::forbidden("foreign-origin", "The link is not for browsers."));
    }
    if host == *app.inbox.host() {
        return Err(Problem::new(StatusCode::CONFLICT, "name-taken", "This machine itself has the name of that host.")
            .hint("Give this machine another name with host_name in config.toml."));
    }
    let (Ok(upgrade), Some(Extension(tether))) = (upgrade, tether) else {
        return Err(Problem::new(StatusCode::UPGRADE_REQUIRED, "upgrade", "This is a WebSocket.")
            .hint("`answerback join` opens it."));
    };
    let upgrade = upgrade
        .read_buffer_size(BUFFER)
        .write_buffer_size(0)
        .max_write_buffer_size(4 * wire::MAX_MESSAGE)
        .max_message_size(wire::MAX_MESSAGE)
        .max_frame_size(wire::MAX_MESSAGE);
    Ok(upgrade.on_upgrade(move |socket| {
        // The connection has just become another one, of which nothing was known.
        tether.trust();
        Conversation::new(app, id, host, tether, socket).run()
    }))
}
