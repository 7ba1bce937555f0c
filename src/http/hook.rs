//! Where hooks hand in their calls and wait for the reply: a hook's JSON in, the hook's output out.

use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde_json::Value;

use crate::api::Problem;
use crate::ask::{Ask, OnTimeout};
use crate::claude_code::{self, Client, HookEvent, Version, transcript};
use crate::registry::{Attached, OpenError, WaitEnd};

use super::App;
use super::context::end_of_records;
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
    let Ok(_place) = app.hook_places.enter(&event) else { return Ok(no_decision()) };
    match event {
        HookEvent::Ask(mut new) => {
            if new.on_timeout == OnTimeout::Defer {
                let version = recorded_version(&new.detail).await;
                *new = claude_code::unless_too_old(*new, version, app.policy, Timestamp::now());
            }
            let attached = app.registry.attach(*new, resumed).await;
            waited(&app, attached, Beside::Nothing).await
        }
        HookEvent::Race(new) => {
            let attached = app.registry.attach_by_digest(*new, resumed).await;
            waited(&app, attached, Beside::Dialog).await
        }
        HookEvent::Announce(new) => match app.registry.open(*new).await {
            // One that is settled already is a call that is made again: it has its answer.
            Ok(ask) if !ask.is_open() => settled(&app, &ask, Beside::Nothing).await,
            Ok(_) => Ok(no_decision()),
            Err(error) => left_to_the_terminal(error),
        },
        HookEvent::Received(seen) => {
            let seen = *seen;
            let ask = app.registry.received(&seen.key, &seen.digest, seen.answers, seen.notes).await?;
            Ok(ask.and_then(|ask| claude_code::received(&ask)).as_ref().map_or_else(no_decision, print))
        }
        HookEvent::WentOn { session, has_ended } => {
            app.registry.session_went_on(&session, has_ended).await?;
            Ok(no_decision())
        }
        HookEvent::Other => Ok(no_decision()),
        HookEvent::Unusable(reason) => {
            // What is wrong in detail quotes the question.
            tracing::warn!(%reason, "a question is left to the terminal");
            tracing::debug!(?reason, "in detail");
            Ok(no_decision())
        }
    }
}

/// What the agent shows while the hook waits.
#[derive(Clone, Copy)]
enum Beside {
    Nothing,
    Dialog,
}

/// Parks the call until its ask is settled.
async fn waited(app: &App, attached: Result<Attached, OpenError>, beside: Beside) -> Result<Response, Problem> {
    let end = match attached {
        Ok(Attached::Waiting(wait)) => wait.end().await,
        Ok(Attached::Settled(ask)) => WaitEnd::Settled(ask),
        Err(error) => return left_to_the_terminal(error),
    };
    match end {
        WaitEnd::Settled(ask) => settled(app, &ask, beside).await,
        WaitEnd::Deferred => Ok(print(&claude_code::deferred())),
    }
}

fn left_to_the_terminal(error: OpenError) -> Result<Response, Problem> {
    match error {
        OpenError::Full => {
            tracing::warn!("too many questions are open: this one is left to the terminal");
            Ok(no_decision())
        }
        error => Err(error.into()),
    }
}

async fn settled(app: &App, ask: &Ask, beside: Beside) -> Result<Response, Problem> {
    let detail = app.registry.detail(ask.id).await?;
    let reply = match beside {
        Beside::Nothing => claude_code::settled(ask, &detail, recorded_version(&detail).await),
        Beside::Dialog => claude_code::raced(ask, &detail),
    };
    Ok(reply.as_ref().map_or_else(no_decision, print))
}

fn no_decision() -> Response {
    ().into_response()
}

fn print(reply: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], reply.to_string()).into_response()
}

/// Clients from before they said it have their version in the records of their session, which they write a little behind what
/// they do: an answer that comes at once waits for them a moment.
async fn recorded_version(detail: &str) -> Option<Version> {
    const TRIES: u32 = 10;
    const PAUSE: Duration = Duration::from_millis(100);
    let path = transcript::path_of_version(detail)?;
    for _ in 0..TRIES {
        // No records at all: there will be none.
        let version = transcript::version(&end_of_records(path.clone()).await?);
        if version.is_some() {
            return version;
        }
        tokio::time::sleep(PAUSE).await;
    }
    None
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
