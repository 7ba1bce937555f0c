//! Signing in a browser: a command gets a launch code over the socket, and the page trades it for a token of its own.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::{Extension, Json as JsonReply};

use crate::access::{Entrance, SignInError};
use crate::api::{Launch, Problem, Session, SessionRequest};

use super::App;
use super::extract::Json;
use super::guard::agent;

/// Makes a one-time code for a page. Only over the socket.
#[cfg_attr(test, utoipa::path(post, path = "/v1/launch", operation_id = "launch", tag = "devices", responses(
    (status = 201, body = Launch, description = "A code for one page"),
    (status = 500, description = "There is no randomness to make a code of (`internal`)."))))]
pub(super) async fn launch(State(app): State<App>) -> Result<(StatusCode, JsonReply<Launch>), Problem> {
    let launch = app.access.launch().map_err(Problem::internal)?;
    let launch = Launch { code: launch.code.reveal().to_owned(), expires_in_seconds: launch.good_for.as_secs() };
    Ok((StatusCode::CREATED, JsonReply(launch)))
}

/// Trades a one-time code for a token. The code is the credential.
#[cfg_attr(test, utoipa::path(post, path = "/v1/session", operation_id = "signIn", tag = "devices", request_body = SessionRequest, responses(
    (status = 201, body = Session, description = "A token for this page"),
    (status = 403, description = "The code is for browsers of the same user on the same machine (`other-user`, `pairing-only`)."),
    (status = 410, description = "The code was used, or is too old (`code`)."),
    (status = 422, description = "The body has the wrong shape (`invalid`)."),
    (status = 500, description = "There is no randomness to make a token of (`internal`)."))))]
pub(super) async fn session(
    State(app): State<App>,
    Extension(entrance): Extension<Entrance>,
    headers: HeaderMap,
    Json(request): Json<SessionRequest>,
) -> Result<(StatusCode, JsonReply<Session>), Problem> {
    let signed_in = app.access.sign_in(entrance, &request.code, request.name.as_deref(), agent(&headers)).await;
    let token = signed_in.map_err(|error| match error {
        SignInError::OtherUser => app.failed(
            entrance,
            Problem::forbidden("other-user", "A launch code is for browsers of the user who got it."),
        ),
        SignInError::OtherMachine => app.failed(
            entrance,
            Problem::forbidden("pairing-only", "Launch codes are for browsers on the same machine.")
                .hint("Run `answerback pair` there, and pair this device."),
        ),
        SignInError::BadCode => app.failed(
            entrance,
            Problem::new(StatusCode::GONE, "code", "This code was used already, or is too old.")
                .hint("Run `answerback open` again."),
        ),
        SignInError::NoRandomness(error) => Problem::internal(error),
        SignInError::Store(error) => error.into(),
    })?;
    Ok((StatusCode::CREATED, JsonReply(Session { token: token.reveal().to_owned() })))
}
