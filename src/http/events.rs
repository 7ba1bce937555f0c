//! The event stream. It sends every change once, in the order of commits, from the place where the reader left off.
//!
//! A reader that takes nothing is cut after a while (`write_timeout`). It loses nothing, because it comes back with the id of its last event
//! and reads on from there (`registry/feed.rs`).

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::api::{EventView, Problem};
use crate::ask::{Cursor, Origin};
use crate::registry::Feed;

use super::App;
use super::extract::Params;

/// How often a quiet stream sends a comment. A reader that gets nothing for much longer knows that the connection is dead.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Which events to send.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct EventParams {
    /// Also send events of the questions that `answerback doctor` asks itself.
    probes: bool,
}

/// Streams changes as server-sent events: `ask.opened`, `ask.settled`, `ask.deferred`, `ask.resumed`, `ask.receipt`.
///
/// The id of an event is a cursor. `Last-Event-ID` replays every event after that cursor. Without it, the stream begins now.
#[utoipa::path(get, path = "/v1/events", operation_id = "streamEvents", tag = "asks",
    params(EventParams, ("last-event-id" = Option<String>, Header, nullable = false, description = "The id of the last event that the reader got", pattern = "^[0-9]+$")),
    responses(
        (status = 200, body = EventView, content_type = "text/event-stream", description = "An endless stream. Each `data` is one `EventView`."),
        (status = 400, description = "`Last-Event-ID` is not a cursor (`bad-request`).")))]
pub(super) async fn events(
    State(app): State<App>,
    Params(params): Params<EventParams>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let after = match headers.get("last-event-id") {
        None => None,
        Some(id) => {
            let id = id.to_str().ok().and_then(|id| id.parse().ok()).filter(|id| *id >= 0);
            let not_a_cursor = || Problem::bad_request("Last-Event-ID is not a cursor of this daemon.");
            Some(Cursor(id.ok_or_else(not_a_cursor)?))
        }
    };
    let reader = Reader { feed: app.registry.feed(after), app, probes: params.probes };
    let events = stream::unfold(reader, |mut reader| async { reader.next().await.map(|event| (Ok(event), reader)) });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

struct Reader {
    app: App,
    feed: Feed,
    /// Whether the reader wants the questions that Answerback asks itself.
    probes: bool,
}

impl Reader {
    /// The next event. `None` ends the stream, and the reader comes back with the id of its last event.
    async fn next(&mut self) -> Option<Event> {
        loop {
            let change = tokio::select! {
                next = self.feed.next() => next.ok()??,
                () = self.app.closing() => return None,
            };
            if self.probes || change.ask.origin != Origin::Probe {
                let event = Event::default().id(change.cursor.0.to_string()).event(change.kind.name());
                return event.json_data(EventView::from(&*change)).ok();
            }
        }
    }
}
