//! Where hooks hand in their calls. This only translates between HTTP and the bridge.

use std::future::pending;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};

use crate::access::Caller;
use crate::api::{HookInput, HookOutput, Problem};
use crate::ask::{AskKey, HTTP_ASKER};
use crate::claude_code::{CallError, Client, Line, Resumed};

use super::App;
use super::extract::JsonBytes;
use super::plain_stream::PlainStream;

/// Takes a call of a Claude Code hook and returns what the hook shall print, when there is something to print.
///
/// An empty body means "no decision". The call may be parked for hours: once the question is stored, a client on the unix socket is
/// sent `102 Processing`, and the reply follows when there is one. A client that closes its connection withdraws the ask after two
/// seconds, unless it comes back with the same call.
#[utoipa::path(post, path = "/v1/hooks/claude-code", operation_id = "handInHook", tag = "hooks",
    params(
        ("x-answerback-attended" = Option<String>, Header, nullable = false, description = "`1`: a person is at the terminal; `0`: nobody is"),
        ("x-answerback-entrypoint" = Option<String>, Header, nullable = false, description = "How the agent was started, for example `cli`"),
        ("x-answerback-agent" = Option<String>, Header, nullable = false, description = "The agent and its version"),
        ("x-answerback-agent-pid" = Option<String>, Header, nullable = false, description = "The agent's process"),
        ("x-answerback-mode" = Option<String>, Header, nullable = false,
            description = "`auto`, `hold`, `race`, `defer` or `native`; anything else is `auto`"),
        ("x-answerback-resumed" = Option<String>, Header, nullable = false, description = "Present if the same call is made again after a lost connection: the key of its ask, from `x-answerback-ask` of the interim reply"),
        ("x-answerback-call" = Option<String>, Header, nullable = false, description = "A name for this call: the same if it is sent again, and never used twice"),
        ("x-answerback-waits" = Option<String>, Header, nullable = false, description = "Present if an unattended run is to wait for permissions and plans"),
    ),
    request_body(content = HookInput, description = "The hook's input"),
    responses(
        (status = 200, body = HookOutput, description = "What the hook shall print. An empty body means \"no decision\"."),
        (status = 400, description = "It is not a hook's input (`bad-request`).")))]
pub(super) async fn claude_code(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    plain: Option<Extension<PlainStream>>,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Result<Response, Problem> {
    let resumed =
        headers.get("x-answerback-resumed").map(|key| Resumed(key.to_str().ok().and_then(|key| key.parse().ok())));
    let client = client(&headers, &caller);
    // The call may be parked for hours, and does not need them.
    drop((headers, caller));
    let line = HookLine(plain.map(|Extension(plain)| plain));
    let reply = app.bridge.hand_in(body, client, resumed, line).await?;
    let mut response = match reply.output {
        Some(output) => ([(header::CONTENT_TYPE, "application/json")], output.to_string()).into_response(),
        None => ().into_response(),
    };
    if reply.was_parked {
        // Everything that the caller sent while it was parked has been thrown away, so the connection cannot be used again.
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response)
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
struct HookLine(Option<PlainStream>);

impl Line for HookLine {
    async fn say_parked(&self, key: &AskKey) {
        if let Some(plain) = &self.0 {
            plain.say_parked(key.as_str()).await;
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
        attended: get("x-answerback-attended"),
        entrypoint: get("x-answerback-entrypoint"),
        agent: get("x-answerback-agent"),
        agent_pid: if over_http { Some(HTTP_ASKER.to_owned()) } else { get("x-answerback-agent-pid") },
        mode: get("x-answerback-mode"),
        waits: get("x-answerback-waits"),
        call: get("x-answerback-call"),
    }
}
