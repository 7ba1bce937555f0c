//! Where hooks hand in their calls. This only translates between HTTP and the bridge.

use std::future::pending;

use answerback_hook::wire;
use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use crate::access::Caller;
use crate::api::Problem;
use crate::ask::{AskKey, HTTP_ASKER};
use crate::claude_code::{CallError, Client, Line, Resumed, Taken};

use super::App;
use super::extract::JsonBytes;
use super::hook_connection::Handover;
use super::plain_stream::{self, PlainStream};

/// Takes a call of a Claude Code hook and returns what the hook shall print, when there is something to print.
///
/// An empty body means "no decision". The call may be parked for hours: once the question is stored, a client on the unix socket is
/// sent `102 Processing`, and the reply follows when there is one. A client that closes its connection withdraws the ask after two
/// seconds, unless it comes back with the same call.
#[cfg_attr(test, utoipa::path(post, path = "/v1/hooks/claude-code", operation_id = "handInHook", tag = "hooks",
    params(
        ("x-answerback-attended" = Option<String>, Header, nullable = false, description = "`1`: a person is at the terminal; `0`: nobody is"),
        ("x-answerback-entrypoint" = Option<String>, Header, nullable = false, description = "How the agent was started, for example `cli`"),
        ("x-answerback-agent" = Option<String>, Header, nullable = false, description = "The agent and its version"),
        ("x-answerback-agent-pid" = Option<String>, Header, nullable = false, description = "The agent's process"),
        ("x-answerback-mode" = Option<String>, Header, nullable = false,
            description = "`auto`, `hold`, `race`, `defer` or `native`; anything else is `auto`"),
        ("x-answerback-resumed" = Option<String>, Header, nullable = false, description = "Present if the same call is made again after a lost connection: the key of its ask, from `x-answerback-ask` of the interim reply"),
        ("x-answerback-call" = Option<String>, Header, nullable = false, description = "A name for this call: the same if it is sent again, and never used twice"),
        ("x-answerback-acknowledges" = Option<String>, Header, nullable = false, description = "Only for the hook itself: it sends one byte after the interim reply, and nobody can answer before that"),
        ("x-answerback-waits" = Option<String>, Header, nullable = false, description = "Present if an unattended run is to wait for permissions and plans"),
    ),
    request_body(content = super::description::hooks::HookInput, description = "The hook's input"),
    responses(
        (status = 200, body = super::description::hooks::HookOutput, description = "What the hook shall print. An empty body means \"no decision\"."),
        (status = 400, description = "It is not a hook's input (`bad-request`)."))))]
pub(super) async fn claude_code(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    plain: Option<Extension<PlainStream>>,
    handover: Option<Extension<Handover>>,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Result<Response, Problem> {
    let resumed = headers.get(wire::RESUMED).map(|key| Resumed(key.to_str().ok().and_then(|key| key.parse().ok())));
    // Of other connections, hyper reads what comes.
    let acknowledges = handover.is_some() && headers.contains_key(wire::ACKNOWLEDGES);
    let client = Client { acknowledges, ..client(&headers, &caller) };
    if let Some(agent) = &client.agent_pid {
        app.access.meet_agent(&caller, agent);
    }
    // The call may be parked for hours, and does not need them.
    drop((headers, caller));
    if let Some(Extension(handover)) = handover {
        return match app.bridge.take(body, client, resumed, handover.hung_up()).await? {
            Taken::Replied(output) => Ok(replied(output)),
            Taken::Parked(parked) => {
                handover.give(parked);
                // The connection sends the reply, when there is one.
                Ok(StatusCode::PROCESSING.into_response())
            }
        };
    }
    let line = HookLine(plain.map(|Extension(plain)| plain));
    let reply = app.bridge.hand_in(body, client, resumed, line).await?;
    Ok(if reply.was_parked { parked(reply.output) } else { replied(reply.output) })
}

/// The reply to a call that did not wait.
fn replied(output: Option<Value>) -> Response {
    match output {
        Some(output) => ([(header::CONTENT_TYPE, "application/json")], output.to_string()).into_response(),
        None => ().into_response(),
    }
}

/// The reply to a call that was parked.
pub(super) fn parked(output: Option<Value>) -> Response {
    let mut response = replied(output);
    // Everything that the caller sent while it was parked has been thrown away, so the connection cannot be used again.
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

impl From<CallError> for Problem {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Read(error) => Self::bad_request(format!("{error}.")),
            CallError::Store(error) => error.into(),
        }
    }
}

/// The connection of a hook. Nothing can be said on one with TLS while its request is handled, and its end is not seen: hyper drops the
/// handler instead.
pub(super) struct HookLine(Option<PlainStream>);

impl From<PlainStream> for HookLine {
    fn from(plain: PlainStream) -> Self {
        Self(Some(plain))
    }
}

impl Line for HookLine {
    async fn say_parked(&self, key: &AskKey) {
        if let Some(plain) = &self.0 {
            plain.say_parked(key.as_str()).await;
        }
    }

    async fn heard(&self) -> bool {
        match &self.0 {
            Some(PlainStream::Socket(stream)) => plain_stream::is_heard(stream).await,
            // Nothing was said.
            Some(PlainStream::Tcp(_)) | None => true,
        }
    }

    async fn closed(&self) {
        match &self.0 {
            Some(plain) => plain.closed().await,
            None => pending().await,
        }
    }
}

fn client(headers: &HeaderMap, caller: &Caller) -> Client {
    let get = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(ToOwned::to_owned);
    let over_http = matches!(caller, Caller::Hook);
    Client {
        attended: get(wire::ATTENDED),
        entrypoint: get(wire::ENTRYPOINT),
        agent: get(wire::AGENT),
        agent_pid: if over_http { Some(HTTP_ASKER.to_owned()) } else { get(wire::AGENT_PID) },
        mode: get(wire::MODE),
        waits: get(wire::WAITS),
        call: get(wire::CALL),
        acknowledges: false,
    }
}
