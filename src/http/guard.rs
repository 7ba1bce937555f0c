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

use crate::access::{Access, Caller, Entrance, Scope};
use crate::api::Problem;
use crate::ask::AskKey;

use super::entrance::{Peer, Purpose};
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
pub(super) const ALWAYS: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
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
    let seconds = u16::try_from(wait.as_secs()).unwrap_or(u16::MAX).saturating_add(1);
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

/// The ask that the path names, if it names one.
fn ask_in(params: &RawPathParams) -> Option<AskKey> {
    params.iter().find(|(name, _)| *name == "key").and_then(|(_, key)| key.parse().ok())
}
