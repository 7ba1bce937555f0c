//! The WebSocket for companions that are chat UIs and speak it already. It shows the same asks as the event stream, through the same feed,
//! and hands answers to the same inbox.
//!
//! The request for the connection passes the guard like every other one, so a page of another site gets no connection. The token is in the
//! request, or in the first frame. It is never in the address, because addresses are logged.

mod bucket;
mod conversation;
mod frames;
mod holders;
mod subscription;

use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use answerback_hook::client::MAX_BODY;

use crate::access::{Caller, Entrance, Scope};
use crate::api::Problem;

use super::App;
use super::connections::Tether;
use super::guard::agent;
use super::places::{Guest, PlaceHandle};

use conversation::{Conversation, Peer};
pub(super) use holders::Holders;

pub(super) const PATH: &str = "/v1/ws";
/// The subprotocol that a companion offers if it offers any.
const PROTOCOL: &str = "answerback.v1";
/// The subprotocol that carries a token, for browsers. They cannot send other headers.
const TOKEN_PROTOCOL: &str = "answerback.token.";
/// A connection may stay silent for hours, so its buffers are small. They grow for a large frame.
const BUFFER: usize = 2 * 1024;
/// How much may wait to be written. One frame is written at a time, and an ask can be larger than what a companion may send.
const MAX_UNWRITTEN: usize = 8 * 1024 * 1024;
/// How long a connection may take to show its token.
const AUTHENTICATION: Duration = Duration::from_secs(5);

/// Opens a WebSocket for a companion that shows and answers asks. `GET /v1/asyncapi.json` describes its frames.
///
/// The token is in the header `Authorization`, in the subprotocol `answerback.token.TOKEN` beside the subprotocol `answerback.v1`, or in
/// the first frame, within five seconds.
#[cfg_attr(test, utoipa::path(get, path = "/v1/ws", operation_id = "openWebSocket", tag = "asks", responses(
    (status = 101, description = "The WebSocket is open"),
    (status = 426, description = "The request does not ask for a WebSocket (`upgrade`)."))))]
pub(super) async fn open(
    State(app): State<App>,
    Extension(entrance): Extension<Entrance>,
    Extension(caller): Extension<Caller>,
    place: Option<Extension<PlaceHandle>>,
    tether: Option<Extension<Tether>>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let is_stranger = matches!(caller, Caller::Anonymous);
    if !is_stranger && !caller.may(Scope::Read, None) {
        return Err(not_for_this());
    }
    let (Ok(upgrade), Some(Extension(tether))) = (upgrade, tether) else {
        // A caller without a token does not learn which paths exist.
        return Err(if is_stranger { Problem::unauthorized() } else { not_an_upgrade() });
    };
    let peer = Peer {
        entrance,
        agent: agent(&headers).map(ToOwned::to_owned),
        place: place.map(|Extension(place)| place),
        tether,
    };
    let caller = match (is_stranger, offered_token(&upgrade)) {
        (true, Some(token)) => Some(identify(&app, &peer, token.as_bytes()).await?),
        (true, None) => None,
        (false, _) => Some(caller),
    };
    let upgrade = upgrade
        .protocols([PROTOCOL])
        .read_buffer_size(BUFFER)
        .write_buffer_size(0)
        .max_write_buffer_size(MAX_UNWRITTEN)
        .max_message_size(MAX_BODY)
        .max_frame_size(MAX_BODY);
    Ok(upgrade.on_upgrade(move |socket| Conversation::new(app, peer, socket).run(caller)))
}

fn not_an_upgrade() -> Problem {
    Problem::new(StatusCode::UPGRADE_REQUIRED, "upgrade", "This is a WebSocket.")
        .hint("Open it with a WebSocket client. GET /v1/asyncapi.json describes its frames.")
}

fn not_for_this() -> Problem {
    Problem::forbidden("scope", "This token is not for that.").hint("See docs/api.md for what each token may do.")
}

/// The token among the subprotocols that the companion offers.
fn offered_token(upgrade: &WebSocketUpgrade) -> Option<String> {
    let offered = upgrade.requested_protocols().filter_map(|offered| offered.to_str().ok());
    offered.filter_map(|offered| offered.strip_prefix(TOKEN_PROTOCOL)).map(ToOwned::to_owned).next()
}

/// Whose token this is. It must be one that may read.
async fn identify(app: &App, peer: &Peer, token: &[u8]) -> Result<Caller, Problem> {
    match app.access.identify(peer.entrance, Some(token), peer.agent.as_deref()).await? {
        Some(caller) if !caller.may(Scope::Read, None) => Err(not_for_this()),
        Some(caller) => {
            if let Some(place) = &peer.place {
                place.set_known(Guest::of(&caller));
            }
            Ok(caller)
        }
        None => Err(app.failed(peer.entrance, Problem::unauthorized())),
    }
}
