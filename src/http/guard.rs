//! The guard before every route: it finds out who is calling, and refuses a browser that another site sent.
//!
//! The headers of a browser are looked at first (`entrance`). Then `access` says whose credential it is. Each group of routes has a scope,
//! and `require` refuses callers without it.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use serde_json::{Map, Value};

use answerback_hook::client::MAX_BODY;

use crate::access::{Access, Caller, Entrance, Scope};
use crate::api::Problem;
use crate::ask::AskKey;

use super::entrance::{Peer, Purpose};
use super::extract;
use super::places::{Guest, PlaceHandle};
use super::{App, link, page, websocket};

fn purpose(request: &Request) -> Purpose {
    let is = |name, value: &str| request.headers().get(name).is_some_and(|found| found.as_bytes() == value.as_bytes());
    match request.uri().path() {
        _ if request.method() != Method::GET => Purpose::Other,
        page::PATH if is("sec-fetch-mode", "navigate") && is("sec-fetch-dest", "document") => Purpose::Visit,
        websocket::PATH => Purpose::WebSocket,
        _ => Purpose::Other,
    }
}

/// A content security policy of its own, for a response that may do more in a browser than nothing.
#[derive(Debug, Clone)]
pub(super) struct OwnPolicy(pub(super) HeaderValue);

/// The headers of every reply.
pub(super) const ALWAYS: [(HeaderName, &str); 6] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    (header::REFERRER_POLICY, "no-referrer"),
];

/// The middleware around everything.
pub(super) async fn guard(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<Peer>().copied();
    let admitted = admit(&app, peer, purpose(&request), request.headers()).await;
    if let Some(place_handle) = request.extensions().get::<PlaceHandle>() {
        // A host token is good for the link alone.
        let is_for_link = request.uri().path() == link::PATH;
        let known = admitted.as_ref().ok().map(|(_, caller)| caller);
        let known = known.filter(|caller| is_for_link || !matches!(caller, Caller::Host { .. }));
        place_handle.set_known(known.and_then(Guest::of));
    }
    let response = match admitted {
        Ok((_, Caller::Host { .. })) if request.uri().path() != link::PATH => for_the_link_alone().into_response(),
        Ok((entrance, caller)) => {
            let device = caller.device();
            request.extensions_mut().insert(entrance);
            request.extensions_mut().insert(caller);
            while_signed_in(&app.access, device, next.run(request)).await
        }
        Err(problem) => problem.into_response(),
    };
    complete(response)
}

/// A reply with the headers that every reply has.
pub(super) fn complete(mut response: Response) -> Response {
    for (name, value) in ALWAYS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    if let Some(OwnPolicy(policy)) = response.extensions_mut().remove() {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

fn for_the_link_alone() -> Problem {
    Problem::forbidden("scope", "This token is not for that.")
        .hint("It is a host token: it links the daemon of another machine with this one, and does nothing else.")
}

async fn admit(
    app: &App,
    peer: Option<Peer>,
    purpose: Purpose,
    headers: &HeaderMap,
) -> Result<(Entrance, Caller), Problem> {
    let entrance = app.names.enter(peer.ok_or_else(Problem::unauthorized)?, purpose, headers)?;
    let presented = match entrance {
        // The socket needs no token, so it takes no notice of one.
        Entrance::Socket { .. } => None,
        _ => bearer(headers).map_err(|problem| app.failed(entrance, problem))?,
    };
    match app.access.identify(entrance, presented, agent(headers)).await? {
        Some(caller) => Ok((entrance, caller)),
        None => Err(app.failed(entrance, Problem::unauthorized())),
    }
}

impl App {
    /// Counts a failed attempt. Returns this problem, or that it was one attempt too many.
    pub(super) fn failed(&self, entrance: Entrance, problem: Problem) -> Problem {
        self.access.failed(entrance).map_or(problem, too_many)
    }
}

fn too_many(wait: Duration) -> Problem {
    // A minute at most.
    let seconds = u32::try_from(wait.as_secs()).unwrap_or(u32::MAX).saturating_add(1);
    let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "too-many-failures", "Too many attempts have failed.");
    Problem { retry_after: Some(seconds), ..problem.hint(format!("Try again in {seconds} seconds.")) }
}

/// The token that a request presents, if it presents one.
fn bearer(headers: &HeaderMap) -> Result<Option<&[u8]>, Problem> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let token = value.as_bytes().split_at_checked(7).filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"bearer "));
    match (token, values.next()) {
        (Some((_, token)), None) => Ok(Some(token)),
        _ => Err(Problem::unauthorized()),
    }
}

/// The client's name for itself.
pub(super) fn agent(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok())
}

/// The reply to a device, for as long as it is signed in. A parked request and an endless reply end when it is signed out.
async fn while_signed_in(access: &Access, device: Option<i64>, reply: impl Future<Output = Response>) -> Response {
    let Some(id) = device else { return reply.await };
    let mut revoked = Box::pin(access.revoked(id));
    let mut reply = pin!(reply);
    let response = tokio::select! {
        // A device that signs itself out gets its reply.
        biased;
        response = &mut reply => response,
        () = &mut revoked => return Problem::unauthorized().into_response(),
    };
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(revoked)))
}

/// The middleware around the routes of one scope.
pub(super) async fn require(
    State(scope): State<Scope>,
    params: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
    next: Next,
) -> Response {
    let about = params.ok().and_then(|params| ask_in(&params));
    match request.extensions().get::<Caller>() {
        Some(caller) if caller.may(scope, about.as_ref()) => next.run(request).await,
        None | Some(Caller::Anonymous) => Problem::unauthorized().into_response(),
        Some(caller) if caller.person().is_some() => Problem::role().into_response(),
        Some(_) => Problem::forbidden("scope", "This token is not for that.")
            .hint("See docs/api.md for what each token may do.")
            .into_response(),
    }
}

/// Whom routes are for, beyond their scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    /// Everybody with the scope.
    Anybody,
    /// People, and not what an agent has started: this decides, signs in or lets in.
    People,
    /// People who change who may do what. If only devices approve, a device that is there already has to agree to this action.
    Devices(&'static str),
}

/// The middleware around the routes of one audience.
pub(super) async fn keep_to(
    State((app, audience)): State<(App, Audience)>,
    params: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
    next: Next,
) -> Response {
    let params = params.ok();
    let about = params.as_ref().and_then(ask_in);
    let (Some(entrance), Some(caller)) = (request.extensions().get::<Entrance>(), request.extensions().get::<Caller>())
    else {
        return Problem::unauthorized().into_response();
    };
    let (entrance, caller) = (*entrance, caller.clone());
    if let Err(problem) = only_people(&app, request.uri().path(), entrance, &caller, about.as_ref()).await {
        return problem.into_response();
    }
    match audience {
        Audience::Devices(action) => match with_consent(&app, action, params.as_ref(), &caller, request).await {
            Ok(request) => next.run(request).await,
            Err(problem) => problem.into_response(),
        },
        Audience::Anybody | Audience::People => next.run(request).await,
    }
}

/// Refuses what an agent has started, unless that approves nothing.
pub(super) async fn only_people(
    app: &App,
    path: &str,
    entrance: Entrance,
    caller: &Caller,
    about: Option<&AskKey>,
) -> Result<(), Problem> {
    let Some(suspect) = app.access.suspect(entrance).await else { return Ok(()) };
    if let Some(key) = about
        && app.inbox.approves_nothing(key, caller).await
    {
        return Ok(());
    }
    tracing::warn!(path, key = about.map(AskKey::as_str), %suspect, "an agent was kept from doing what is for people");
    Err(Problem::forbidden("agent", "An agent has started this program, and this is for people.")
        .hint("Use a paired device, or a browser or a terminal that no agent has started."))
}

/// The request, if nobody has to agree to it or a device has agreed.
async fn with_consent(
    app: &App,
    action: &str,
    params: Option<&RawPathParams>,
    caller: &Caller,
    request: Request,
) -> Result<Request, Problem> {
    if !app.inbox.only_devices_approve() || caller.is_paired() || !app.access.has_consenting_device().await? {
        return Ok(request);
    }
    let (parts, body) = request.into_parts();
    let body = extract::read(body, MAX_BODY).await?;
    // A body that is no object is shown as a text. Its handler refuses it, or takes no notice of it.
    let mut details: Map<String, Value> = serde_json::from_slice(&body).unwrap_or_else(|_| {
        let text = String::from_utf8_lossy(&body).into_owned();
        if text.is_empty() { Map::new() } else { Map::from_iter([("body".to_owned(), Value::from(text))]) }
    });
    details.extend(params.into_iter().flatten().map(|(name, value)| (name.to_owned(), Value::from(value))));
    app.inbox.need_consent(action, details, caller).await?;
    Ok(Request::from_parts(parts, Body::from(body)))
}

/// The ask that the path names, if it names one.
fn ask_in(params: &RawPathParams) -> Option<AskKey> {
    params.iter().find(|(name, _)| *name == "key").and_then(|(_, key)| key.parse().ok())
}
