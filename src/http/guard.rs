//! The guard before every route: who is calling, and is it a browser on somebody else's errand?
//!
//! On the socket the kernel vouches for the user. Everywhere else a caller needs a token, and a browser must have been sent by
//! our own page, which is looked at first (`entrance`).

use axum::extract::{Request, State};
use axum::http::Method;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::access::{Ticket, Tickets, TokenHash, Tokens};
use crate::address::PublicUrl;
use crate::api::Problem;
use crate::ask::{Channel, Source};
use crate::store::DeviceKind;

use super::entrance::{Entrance, Names, Peer};
use super::places::PlaceHandle;
use super::{App, page};

/// The most that is kept of what a client calls itself.
const MAX_AGENT: usize = 64;

/// What a caller may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Read,
    Answer,
    Ask,
    Hook,
    Admin,
}

/// Who is calling.
#[derive(Debug, Clone)]
pub(super) enum Caller {
    /// Somebody without a token.
    Anonymous,
    /// Somebody with the right to some things.
    Known { scopes: &'static [Scope], source: Source },
    /// A browser or a phone that is signed in.
    Device { id: i64, source: Source },
    /// A hook over HTTP. It can settle nothing, so it is no source.
    Hook,
    /// A button in a notification. It answers one ask, and does nothing else.
    Ticket { ticket: Ticket, source: Source },
}

impl Caller {
    fn may(&self, scope: Scope, path: &str) -> bool {
        match self {
            Self::Anonymous => false,
            Self::Known { scopes, .. } => scopes.contains(&scope),
            Self::Device { .. } => COMPANION.contains(&scope),
            Self::Hook => scope == Scope::Hook,
            Self::Ticket { ticket, .. } => scope == Scope::Answer && path == format!("/v1/asks/{}/answer", ticket.key),
        }
    }

    /// The device, if it is one.
    pub(super) fn device(&self) -> Option<i64> {
        match self {
            Self::Device { id, .. } => Some(*id),
            Self::Anonymous | Self::Known { .. } | Self::Hook | Self::Ticket { .. } => None,
        }
    }

    /// The ticket, if that is all it has.
    pub(super) fn ticket(&self) -> Option<&Ticket> {
        match self {
            Self::Ticket { ticket, .. } => Some(ticket),
            Self::Anonymous | Self::Known { .. } | Self::Device { .. } | Self::Hook => None,
        }
    }

    /// Whether it may see what it settles, and what others have said.
    pub(super) fn may_read(&self) -> bool {
        !matches!(self, Self::Ticket { .. })
    }

    /// Who settles what this caller settles.
    pub(super) fn source(&self) -> Option<Source> {
        match self {
            Self::Known { source, .. } | Self::Device { source, .. } | Self::Ticket { source, .. } => {
                Some(source.clone())
            }
            Self::Anonymous | Self::Hook => None,
        }
    }
}

const EVERYTHING: &[Scope] = &[Scope::Read, Scope::Answer, Scope::Ask, Scope::Hook, Scope::Admin];
const COMPANION: &[Scope] = &[Scope::Read, Scope::Answer, Scope::Ask];

/// What the guard knows.
#[derive(Debug)]
pub(super) struct Guard {
    api: TokenHash,
    hook: TokenHash,
    tickets: Tickets,
    names: Names,
}

impl Guard {
    pub(super) fn new(tokens: &Tokens, port: u16, public: Option<PublicUrl>) -> Self {
        Self {
            api: tokens.api.hash(),
            hook: tokens.hook.hash(),
            tickets: Tickets::new(tokens),
            names: Names::new(port, public),
        }
    }
}

/// Somebody follows a link to the page, from wherever: a notification, a chat. It holds nothing, and no frame may show it.
fn is_visit(request: &Request) -> bool {
    let is = |name, value: &str| request.headers().get(name).is_some_and(|found| found.as_bytes() == value.as_bytes());
    request.uri().path() == page::PATH
        && request.method() == Method::GET
        && is("sec-fetch-mode", "navigate")
        && is("sec-fetch-dest", "document")
}

/// What a response may do in a browser, where that is more than nothing.
#[derive(Debug, Clone)]
pub(super) struct OwnPolicy(pub(super) HeaderValue);

/// What every reply carries.
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
    let admitted = admit(&app, peer, is_visit(&request), request.headers()).await;
    if let Some(place_handle) = request.extensions().get::<PlaceHandle>() {
        place_handle.set_known(admitted.as_ref().is_ok_and(|(_, caller)| !matches!(caller, Caller::Anonymous)));
    }
    let mut response = match admitted {
        Ok((entrance, caller)) => {
            let device = caller.device();
            request.extensions_mut().insert(entrance);
            request.extensions_mut().insert(caller);
            app.devices.while_signed_in(device, next.run(request)).await
        }
        Err(problem) => problem.into_response(),
    };
    for (name, value) in ALWAYS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    if let Some(OwnPolicy(policy)) = response.extensions_mut().remove() {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

async fn admit(
    app: &App,
    peer: Option<Peer>,
    is_visit: bool,
    headers: &HeaderMap,
) -> Result<(Entrance, Caller), Problem> {
    let entrance = app.guard.names.enter(peer.ok_or_else(Problem::unauthorized)?, is_visit, headers)?;
    if entrance == Entrance::Socket {
        let caller = Caller::Known { scopes: EVERYTHING, source: source(Channel::Socket, headers) };
        return Ok((entrance, caller));
    }
    let caller = match bearer(headers) {
        Ok(None) => Caller::Anonymous,
        Ok(Some(presented)) => match identify(app, entrance, presented, headers).await? {
            Some(caller) => caller,
            None => return Err(app.throttle.failed(entrance, Problem::unauthorized())),
        },
        Err(problem) => return Err(app.throttle.failed(entrance, problem)),
    };
    Ok((entrance, caller))
}

fn bearer(headers: &HeaderMap) -> Result<Option<&[u8]>, Problem> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let token = value.as_bytes().split_at_checked(7).filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"bearer "));
    match (token, values.next()) {
        (Some((_, token)), None) => Ok(Some(token)),
        _ => Err(Problem::unauthorized()),
    }
}

/// The tokens of `daemon.json` count on this machine alone: they are never meant to leave it.
async fn identify(
    app: &App,
    entrance: Entrance,
    presented: &[u8],
    headers: &HeaderMap,
) -> Result<Option<Caller>, Problem> {
    // A button answers one ask, from wherever it is pressed.
    if let Some(ticket) = app.guard.tickets.check(presented) {
        return Ok(Some(Caller::Ticket { ticket, source: source(Channel::Notification, headers) }));
    }
    let presented = TokenHash::of(presented);
    if entrance.is_local() && presented == app.guard.api {
        return Ok(Some(Caller::Known { scopes: COMPANION, source: source(Channel::Token, headers) }));
    }
    if entrance.is_local() && presented == app.guard.hook {
        return Ok(Some(Caller::Hook));
    }
    let device = app.devices.find(&app.store, presented).await?;
    // From elsewhere comes who was paired, and nobody else.
    let device = device.filter(|device| entrance.is_local() || device.kind == DeviceKind::Paired);
    Ok(device.map(|device| {
        let source = Source { device: Some(device.name), ..source(Channel::Device, headers) };
        Caller::Device { id: device.id, source }
    }))
}

fn source(channel: Channel, headers: &HeaderMap) -> Source {
    let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
    let agent = agent.map(|agent| agent.chars().take(MAX_AGENT).collect::<String>());
    Source { channel, agent: agent.filter(|agent| !agent.is_empty()), device: None }
}

/// The middleware around the routes of one scope.
pub(super) async fn require(State(scope): State<Scope>, request: Request, next: Next) -> Response {
    match request.extensions().get::<Caller>() {
        Some(caller) if caller.may(scope, request.uri().path()) => next.run(request).await,
        None | Some(Caller::Anonymous) => Problem::unauthorized().into_response(),
        Some(_) => Problem::forbidden("scope", "This token is not for that.")
            .hint("See docs/api.md for what each token may do.")
            .into_response(),
    }
}
