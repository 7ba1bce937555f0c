//! How a page signs in: a command gets a one-time code over the socket, the page trades it for a token of its own.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::{Extension, Json as JsonReply};
use jiff::Timestamp;

use crate::access::{Token, TokenHash};
use crate::api::{Launch, Problem, Session, SessionRequest};
use crate::store::DeviceKind;

use super::App;
use super::device_name::device_name;
use super::entrance::Entrance;
use super::extract::Json;
use super::loopback;

const CODE_LIFE: Duration = Duration::from_secs(60);
const MAX_CODES: usize = 16;

/// The codes that were given out and not used.
#[derive(Debug, Default)]
pub(super) struct LaunchCodes(Mutex<Vec<(TokenHash, Instant)>>);

impl LaunchCodes {
    fn add(&self, code: TokenHash, now: Instant) {
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|(_, until)| *until > now);
        // The oldest gives way: nobody needs that many at once.
        let surplus = (codes.len() + 1).saturating_sub(MAX_CODES);
        codes.drain(..surplus);
        codes.push((code, now + CODE_LIFE));
    }

    /// Whether the code is good; it is not good again.
    fn take(&self, code: TokenHash, now: Instant) -> bool {
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = codes.iter().position(|(known, until)| *known == code && *until > now);
        found.map(|index| codes.swap_remove(index)).is_some()
    }
}

/// Makes a one-time code for a page. Only over the socket.
#[utoipa::path(post, path = "/v1/launch", operation_id = "launch", tag = "devices", responses(
    (status = 201, body = Launch, description = "A code for one page"),
    (status = 500, description = "There is no randomness to make a code of (`internal`).")))]
pub(super) async fn launch(State(app): State<App>) -> Result<(StatusCode, JsonReply<Launch>), Problem> {
    let code = Token::generate().map_err(Problem::internal)?;
    app.launch_codes.add(code.hash(), Instant::now());
    let launch = Launch { code: code.reveal().to_owned(), expires_in_seconds: CODE_LIFE.as_secs() };
    Ok((StatusCode::CREATED, JsonReply(launch)))
}

/// Trades a one-time code for a token. The code is the credential.
#[utoipa::path(post, path = "/v1/session", operation_id = "signIn", tag = "devices", request_body = SessionRequest, responses(
    (status = 201, body = Session, description = "A token for this page"),
    (status = 403, description = "The code is for browsers of the same user on the same machine (`other-user`, `pairing-only`)."),
    (status = 410, description = "The code was used, or is too old (`code`)."),
    (status = 422, description = "The body has another shape (`invalid`)."),
    (status = 500, description = "There is no randomness to make a token of (`internal`).")))]
pub(super) async fn session(
    State(app): State<App>,
    Extension(entrance): Extension<Entrance>,
    headers: HeaderMap,
    Json(request): Json<SessionRequest>,
) -> Result<(StatusCode, JsonReply<Session>), Problem> {
    check_place(entrance).await.map_err(|problem| app.throttle.failed(entrance, problem))?;
    if !app.launch_codes.take(TokenHash::of(request.code.as_bytes()), Instant::now()) {
        let problem = Problem::new(StatusCode::GONE, "code", "This code was used already, or is too old.")
            .hint("Run `answerback open` again.");
        return Err(app.throttle.failed(entrance, problem));
    }
    let token = Token::generate().map_err(Problem::internal)?;
    let name = device_name(request.name.as_deref(), &headers);
    app.store.add_device(name, DeviceKind::Page, token.hash().bytes(), Timestamp::now()).await?;
    Ok((StatusCode::CREATED, JsonReply(Session { token: token.reveal().to_owned() })))
}

/// Launch codes are for browsers of our user on this machine.
async fn check_place(entrance: Entrance) -> Result<(), Problem> {
    match entrance {
        Entrance::Socket => Ok(()),
        Entrance::Local { local, remote } if loopback::is_own_user(local, remote).await => Ok(()),
        Entrance::Local { .. } => {
            tracing::warn!("another user was kept from signing in with a launch code");
            Err(Problem::forbidden("other-user", "A launch code is for browsers of the user who got it."))
        }
        Entrance::Public(_) | Entrance::Lan(_) => {
            Err(Problem::forbidden("pairing-only", "Launch codes are for browsers on the same machine.")
                .hint("Run `answerback pair` there, and pair this device."))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_good_once_and_not_for_long() {
        let codes = LaunchCodes::default();
        let (first, second) = (Token::generate().unwrap().hash(), Token::generate().unwrap().hash());
        let now = Instant::now();
        codes.add(first, now);
        codes.add(second, now);
        assert!(!codes.take(TokenHash::of(b"guess"), now));
        assert!(codes.take(first, now));
        assert!(!codes.take(first, now));
        assert!(!codes.take(second, now + CODE_LIFE));
    }

    #[test]
    fn the_oldest_code_gives_way() {
        let codes = LaunchCodes::default();
        let now = Instant::now();
        let all: Vec<_> = (0..=MAX_CODES).map(|n| TokenHash::of(&n.to_le_bytes())).collect();
        all.iter().for_each(|code| codes.add(*code, now));
        assert!(!codes.take(all[0], now));
        assert!(codes.take(all[1], now) && codes.take(all[MAX_CODES], now));
    }
}
