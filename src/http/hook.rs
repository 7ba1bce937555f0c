//! Where hooks hand in their calls and wait for the reply: a hook's JSON in, the hook's output out.

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde_json::Value;

use crate::api::Problem;
use crate::ask::Ask;
use crate::claude_code::{self, Client, HookEvent};
use crate::registry::{Attached, OpenError, WaitEnd};

use super::App;
use super::extract::JsonBytes;

/// Takes a call of a Claude Code hook and returns what the hook shall print, when there is something to print.
///
/// An empty body means "no decision". The call may be parked for hours; a client that closes its connection withdraws the
/// ask after two seconds, unless it comes back with the same call.
#[utoipa::path(post, path = "/v1/hooks/claude-code", request_body(content = Value, description = "The hook's input"), responses(
    (status = 200, body = Value, description = "The hook's output, or nothing"), (status = "default", body = Problem)))]
pub(super) async fn claude_code(
    State(app): State<App>,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Result<Response, Problem> {
    let event = claude_code::read(&body, client(&headers), app.policy, Timestamp::now())
        .map_err(|error| Problem::bad_request(format!("{error}.")))?;
    let resumed = headers.contains_key("x-answerback-resumed");
    // This may be parked for hours: what is not needed any more goes now.
    drop((body, headers));
    let new = match event {
        HookEvent::Ask(new) => new,
        HookEvent::Other => return Ok(no_decision()),
        HookEvent::Unusable(reason) => {
            // What is wrong in detail quotes the question.
            tracing::warn!(%reason, "a question is left to the terminal");
            tracing::debug!(?reason, "in detail");
            return Ok(no_decision());
        }
    };
    let end = match app.registry.attach(*new, resumed).await {
        Ok(Attached::Waiting(wait)) => wait.end().await,
        Ok(Attached::Settled(ask)) => WaitEnd::Settled(ask),
        Err(OpenError::Full) => {
            tracing::warn!("too many questions are open: this one is left to the terminal");
            return Ok(no_decision());
        }
        Err(error) => return Err(error.into()),
    };
    match end {
        WaitEnd::Settled(ask) => settled(&app, &ask).await,
        WaitEnd::Deferred => Ok(print(&claude_code::deferred())),
    }
}

async fn settled(app: &App, ask: &Ask) -> Result<Response, Problem> {
    let detail = app.registry.detail(ask.id).await?;
    Ok(claude_code::settled(ask, &detail).as_ref().map_or_else(no_decision, print))
}

fn no_decision() -> Response {
    ().into_response()
}

fn print(reply: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], reply.to_string()).into_response()
}

fn client(headers: &HeaderMap) -> Client {
    let get = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(ToOwned::to_owned);
    Client {
        attended: get("x-answerback-attended"),
        entrypoint: get("x-answerback-entrypoint"),
        agent: get("x-answerback-agent"),
        agent_pid: get("x-answerback-agent-pid"),
        mode: get("x-answerback-mode"),
    }
}
