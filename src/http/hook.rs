//! Where hooks hand in their calls and wait for the reply: a hook's JSON in, the hook's output out.

use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde_json::Value;

use crate::access::Caller;
use crate::api::{HookInput, HookOutput, Problem};
use crate::ask::{Ask, HTTP_ASKER, OnTimeout};
use crate::claude_code::{self, Client, HookEvent, Version, transcript};
use crate::registry::{Attached, OpenError, Wait, WaitEnd};

use super::App;
use super::context::end_of_records;
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
        ("x-answerback-resumed" = Option<String>, Header, nullable = false, description = "There if the same call is made again after a lost connection"),
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
    let plain = plain.map(|Extension(plain)| plain);
    let event = claude_code::read(&body, client(&headers, &caller), app.policy, Timestamp::now())
        .map_err(|error| Problem::bad_request(format!("{error}.")))?;
    let resumed = headers.contains_key("x-answerback-resumed");
    // The call may be parked for hours. What is not needed any more is freed before that.
    drop((body, headers));
    let Ok(_place) = app.hook_places.enter(&event) else { return Ok(no_decision()) };
    // What runs before and after the call is parked is boxed, so that a parked call does not hold room for it.
    match event {
        HookEvent::Ask(mut new) => {
            if new.on_timeout == OnTimeout::Defer {
                let version = Box::pin(recorded_version(&new.detail)).await;
                *new = claude_code::unless_too_old(*new, version, app.policy, Timestamp::now());
            }
            let attached = Box::pin(app.registry.attach(*new, resumed)).await;
            waited(&app, plain, attached, Beside::Nothing).await
        }
        HookEvent::Race(new) => {
            let attached = Box::pin(app.registry.attach_by_digest(*new, resumed)).await;
            waited(&app, plain, attached, Beside::Dialog).await
        }
        HookEvent::Announce(new) => match Box::pin(app.registry.open(*new)).await {
            // One that is settled already is a call that is made again: it has its answer.
            Ok(ask) if !ask.is_open() => Box::pin(settled(&app, &ask, Beside::Nothing)).await,
            Ok(_) => Ok(no_decision()),
            Err(error) => left_to_the_terminal(error),
        },
        HookEvent::Received(seen) => {
            let ask = Box::pin(app.registry.received(*seen, claude_code::is_unnamed)).await?;
            Ok(ask.and_then(|ask| claude_code::received(&ask)).as_ref().map_or_else(no_decision, print))
        }
        HookEvent::WentOn { session, asker, has_ended } => {
            Box::pin(app.registry.session_went_on(&session, asker.as_deref(), has_ended)).await?;
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

/// Parks the call until its ask is settled, or until the caller is gone.
async fn waited(
    app: &App,
    plain: Option<PlainStream>,
    attached: Result<Attached, OpenError>,
    beside: Beside,
) -> Result<Response, Problem> {
    let wait = match attached {
        Ok(Attached::Waiting(wait)) => wait,
        Ok(Attached::Settled(ask)) => return Box::pin(settled(app, &ask, beside)).await,
        Err(error) => return left_to_the_terminal(error),
    };
    let mut reply = match parked(plain, wait).await {
        Some(WaitEnd::Settled(ask)) => Box::pin(settled(app, &ask, beside)).await?,
        Some(WaitEnd::Deferred) => print(&claude_code::deferred()),
        // Nobody reads this.
        None => no_decision(),
    };
    // What the caller sent while it was parked has been thrown away, so the connection cannot be used again.
    reply.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    Ok(reply)
}

/// How the wait ended; `None` if the caller went away before.
async fn parked(plain: Option<PlainStream>, wait: Wait) -> Option<WaitEnd> {
    let Some(plain) = plain else { return Some(wait.end().await) };
    plain.say_parked().await;
    tokio::select! {
        end = wait.end() => Some(end),
        () = plain.closed() => None,
    }
}

fn left_to_the_terminal(error: OpenError) -> Result<Response, Problem> {
    match error {
        OpenError::Full | OpenError::OtherQuestions | OpenError::OtherAsker => {
            tracing::warn!(%error, "a question is left to the terminal");
            Ok(no_decision())
        }
        OpenError::Store(error) => Err(error.into()),
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

fn client(headers: &HeaderMap, caller: &Caller) -> Client {
    let get = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(ToOwned::to_owned);
    let over_http = matches!(caller, Caller::Hook);
    Client {
        attended: get("x-answerback-attended"),
        entrypoint: get("x-answerback-entrypoint"),
        agent: get("x-answerback-agent"),
        agent_pid: if over_http { Some(HTTP_ASKER.to_owned()) } else { get("x-answerback-agent-pid") },
        mode: get("x-answerback-mode"),
    }
}
