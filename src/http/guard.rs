//! The guard before every route: who is calling, and is it a browser on somebody else's errand?
//!
//! On the socket the kernel vouches for the user. On TCP a caller needs a token, and a browser must have been sent by our
//! own page: the name it used for us (`Host`) and the page it comes from (`Origin`, `Sec-Fetch-Site`) are checked first,
//! so that a foreign site can neither read nor act, whatever it knows.

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use jiff::{SignedDuration, Timestamp};

use crate::api::Problem;
use crate::ask::{Ask, Channel, Source};
use crate::instance::Tokens;
use crate::ticket::{Ticket, Tickets};
use crate::token::TokenHash;

use super::{App, page};

/// How long a page stays signed in.
const PAGE_SESSION: SignedDuration = SignedDuration::from_hours(30 * 24);
/// The most that is kept of what a client calls itself.
const MAX_AGENT: usize = 64;

/// The way a connection came in.
#[derive(Debug, Clone, Copy)]
pub(super) enum Peer {
    /// The unix socket; the other end is of our user.
    Socket,
    /// TCP on loopback; the other end may be anybody.
    Tcp,
}

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
            Self::Hook => scope == Scope::Hook,
            Self::Ticket { ticket, .. } => scope == Scope::Answer && path == format!("/v1/asks/{}/answer", ticket.key),
        }
    }

    /// Refuses a button of an earlier life: what it shows may not be what is asked now.
    pub(super) fn check_life(&self, ask: &Ask) -> Result<(), Problem> {
        match self {
            Self::Ticket { ticket, .. } if ticket.id != ask.id => {
                Err(Problem::new(StatusCode::GONE, "closed", "This question was asked again after this notification."))
            }
            _ => Ok(()),
        }
    }

    /// Whether it may see what it settles, and what others have said.
    pub(super) fn may_read(&self) -> bool {
        !matches!(self, Self::Ticket { .. })
    }

    /// Who settles what this caller settles.
    pub(super) fn source(&self) -> Option<Source> {
        match self {
            Self::Known { source, .. } | Self::Ticket { source, .. } => Some(source.clone()),
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
    /// The names a browser may use for us.
    hosts: [String; 2],
    /// The pages a browser may come from: our own.
    origins: [String; 2],
}

impl Guard {
    pub(super) fn new(tokens: &Tokens, port: u16) -> Self {
        let hosts = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        let origins = hosts.each_ref().map(|host| format!("http://{host}"));
        Self { api: tokens.api.hash(), hook: tokens.hook.hash(), tickets: Tickets::new(tokens), hosts, origins }
    }

    /// Refuses what a browser sends on behalf of another site.
    fn check_browser(&self, headers: &HeaderMap, is_visit: bool) -> Result<(), Problem> {
        match only(headers, header::HOST) {
            Ok(Some(host)) if self.hosts.iter().any(|own| own == host) => {}
            _ => return Err(Problem::forbidden("foreign-host", "The Host header is not an address of this daemon.")),
        }
        match only(headers, header::ORIGIN) {
            Ok(None) => {}
            Ok(Some(origin)) if self.origins.iter().any(|own| own == origin) => {}
            _ => return Err(Problem::forbidden("foreign-origin", "Other sites may not use this daemon.")),
        }
        match only(headers, HeaderName::from_static("sec-fetch-site")) {
            Ok(None | Some("same-origin" | "none")) => Ok(()),
            Ok(Some("same-site" | "cross-site")) if is_visit => Ok(()),
            _ => Err(Problem::forbidden("foreign-origin", "Other sites may not use this daemon.")),
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

/// The value of a header that may be there once.
fn only(headers: &HeaderMap, name: HeaderName) -> Result<Option<&str>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(drop),
        (Some(_), Some(_)) => Err(()),
    }
}

/// What a response may do in a browser, where that is more than nothing.
#[derive(Debug, Clone)]
pub(super) struct OwnPolicy(pub(super) HeaderValue);

/// The middleware around everything.
pub(super) async fn guard(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<Peer>().copied();
    let mut response = match admit(&app, peer, is_visit(&request), request.headers()).await {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    };
    const ALWAYS: [(HeaderName, &str); 5] = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    for (name, value) in ALWAYS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    if let Some(OwnPolicy(policy)) = response.extensions_mut().remove() {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

async fn admit(app: &App, peer: Option<Peer>, is_visit: bool, headers: &HeaderMap) -> Result<Caller, Problem> {
    match peer {
        Some(Peer::Socket) => {
            // No browser speaks to a unix socket: this comes through a proxy that must not exist.
            if headers.contains_key(header::ORIGIN) || headers.contains_key(header::REFERER) {
                return Err(Problem::forbidden("foreign-origin", "The socket is not for browsers."));
            }
            Ok(Caller::Known { scopes: EVERYTHING, source: source(Channel::Socket, headers) })
        }
        Some(Peer::Tcp) => {
            app.guard.check_browser(headers, is_visit)?;
            match bearer(headers)? {
                None => Ok(Caller::Anonymous),
                Some(presented) => match app.guard.tickets.check(presented) {
                    Some(ticket) => Ok(Caller::Ticket { ticket, source: source(Channel::Notification, headers) }),
                    None => identify(app, TokenHash::of(presented), headers).await,
                },
            }
        }
        None => Err(Problem::unauthorized()),
    }
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

async fn identify(app: &App, presented: TokenHash, headers: &HeaderMap) -> Result<Caller, Problem> {
    if presented == app.guard.api {
        return Ok(Caller::Known { scopes: COMPANION, source: source(Channel::Token, headers) });
    }
    if presented == app.guard.hook {
        return Ok(Caller::Hook);
    }
    if app.store.has_page_session(presented.bytes(), oldest_page_session()).await? {
        return Ok(Caller::Known { scopes: COMPANION, source: source(Channel::Page, headers) });
    }
    Err(Problem::unauthorized())
}

/// Pages that signed in before this are not signed in any more.
pub(super) fn oldest_page_session() -> Timestamp {
    Timestamp::now().checked_sub(PAGE_SESSION).unwrap_or(Timestamp::MIN)
}

fn source(channel: Channel, headers: &HeaderMap) -> Source {
    let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
    let agent = agent.map(|agent| agent.chars().take(MAX_AGENT).collect::<String>());
    Source { channel, agent: agent.filter(|agent| !agent.is_empty()) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::Token;

    fn check(headers: &[(&'static str, &str)]) -> bool {
        let tokens = Tokens { api: Token::generate().unwrap(), hook: Token::generate().unwrap() };
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        Guard::new(&tokens, 27563).check_browser(&map, false).is_ok()
    }

    #[test]
    fn hosts() {
        for host in ["127.0.0.1:27563", "localhost:27563"] {
            assert!(check(&[("host", host)]), "{host}");
        }
        for host in [
            "evil.com",
            "127.0.0.1",
            "localhost",
            "127.0.0.1.nip.io:27563",
            "localhost:1",
            "0.0.0.0:27563",
            "",
            "localhost:27563.evil.com",
            "LOCALHOST:27563 ",
            "localhost:027563",
        ] {
            assert!(!check(&[("host", host)]), "{host}");
        }
        assert!(!check(&[]));
        assert!(!check(&[("host", "localhost:27563"), ("host", "localhost:27563")]));
    }

    #[test]
    fn origins_and_fetch_metadata() {
        let with = |name, value| check(&[("host", "localhost:27563"), (name, value)]);
        assert!(with("origin", "http://localhost:27563") && with("origin", "http://127.0.0.1:27563"));
        for origin in
            ["null", "", "http://localhost:3000", "https://localhost:27563", "http://localhost:27563.evil.com"]
        {
            assert!(!with("origin", origin), "{origin}");
        }
        assert!(with("sec-fetch-site", "same-origin") && with("sec-fetch-site", "none"));
        assert!(!with("sec-fetch-site", "cross-site") && !with("sec-fetch-site", "same-site"));
    }
}
