//! Pairing over HTTP: the person's side on the socket or as an admin, the device's side wherever it can reach us.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json as JsonReply};
use serde::Deserialize;

use crate::access::{Caller, Check, Entrance, Fetched, PairingError, Stage};
use crate::api::{
    ClaimRequest, Claimed, ConfirmRequest, Nothing, Pairing, PairingRequest, PairingState, PairingView, Problem,
    Session, TokenRequest,
};

use super::App;
use super::asks::patience;
use super::extract::{Json, Name, Params};
use super::guard::agent;
use super::query::Seconds;

/// How long to wait for the other side.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams))]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub(super) struct WaitParams {
    /// Return when it has gone on, or after so many seconds.
    #[cfg_attr(test, param(inline))]
    wait: Option<Seconds>,
}

/// Makes a code that lets one device in. Over the socket, or with the role admin.
#[cfg_attr(test, utoipa::path(post, path = "/v1/pairing", operation_id = "beginPairing", tag = "devices",
    request_body = PairingRequest, responses(
    (status = 201, body = Pairing, description = "A code for one device"),
    (status = 404, description = "There is no such person (`not-found`)."),
    (status = 409, description = "No device could reach this daemon (`not-reachable`)."),
    (status = 422, description = "The body has the wrong shape (`invalid`)."),
    (status = 500, description = "There is no randomness to make a code of (`internal`)."))))]
pub(super) async fn begin(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Json(request): Json<PairingRequest>,
) -> Result<(StatusCode, JsonReply<Pairing>), Problem> {
    let (origin, fingerprint) = app.reach.for_devices()?;
    let person = match request.person {
        Some(id) => Some(app.access.person(id).await?.id),
        // A person cannot make devices that outlive their own rights.
        None => caller.person(),
    };
    let new = app.access.begin_pairing(request.name.as_deref(), person).await?;
    let pairing = Pairing {
        url: format!("{origin}/#pair={}", new.code),
        id: new.id,
        code: new.code,
        fingerprint,
        expires_in_seconds: new.good_for.as_secs(),
    };
    Ok((StatusCode::CREATED, JsonReply(pairing)))
}

/// How far a pairing has come. With `wait` it returns once a device has shown the code. Over the socket, or with the role admin.
#[cfg_attr(test, utoipa::path(get, path = "/v1/pairing/{id}", operation_id = "getPairing", tag = "devices",
    params(("id" = String, Path, description = "From `POST /v1/pairing`"), WaitParams), responses(
    (status = 200, body = PairingView, description = "How far it has come"),
    (status = 404, description = "There is no such pairing (`not-found`)."))))]
pub(super) async fn look(
    State(app): State<App>,
    Name(id): Name,
    Params(params): Params<WaitParams>,
) -> Result<JsonReply<PairingView>, Problem> {
    app.wait_at_most(patience(params.wait), app.access.until_claimed(&id)).await;
    let (stage, name) = app.access.look(&id).await?.ok_or_else(unknown)?;
    let state = match stage {
        Stage::Waiting => PairingState::Waiting,
        Stage::Claimed => PairingState::Claimed,
        Stage::Confirmed => PairingState::Confirmed,
        Stage::Refused => PairingState::Refused,
        Stage::Expired => PairingState::Expired,
    };
    Ok(JsonReply(PairingView { state, name }))
}

/// Says that the device shows these digits, and lets it in. Over the socket, or with the role admin.
#[cfg_attr(test, utoipa::path(post, path = "/v1/pairing/{id}/confirm", operation_id = "confirmPairing", tag = "devices",
    params(("id" = String, Path, description = "From `POST /v1/pairing`")), request_body = ConfirmRequest, responses(
    (status = 200, body = Nothing, description = "The device is let in"),
    (status = 404, description = "There is no such pairing (`not-found`)."),
    (status = 410, description = "It is over, or there were too many wrong attempts (`pairing-over`)."),
    (status = 422, description = "The device shows other digits, or the body has the wrong shape (`invalid`)."),
    (status = 500, description = "There is no randomness to make a token of (`internal`)."))))]
pub(super) async fn confirm(
    State(app): State<App>,
    Name(id): Name,
    Json(request): Json<ConfirmRequest>,
) -> Result<JsonReply<Nothing>, Problem> {
    let check = app.access.confirm(&id, &request.check).await?;
    match check.ok_or_else(unknown)? {
        Check::Right => Ok(JsonReply(Nothing {})),
        Check::Wrong(left) => Err(Problem::invalid("The device shows other digits.", Vec::new())
            .hint(format!("Look again; {left} more {}.", if left == 1 { "attempt" } else { "attempts" }))),
        Check::Over => Err(over("This pairing is over: nobody was let in.").hint("Begin another one.")),
    }
}

/// Lets nobody in. Over the socket, or with the role admin.
#[cfg_attr(test, utoipa::path(post, path = "/v1/pairing/{id}/refuse", operation_id = "refusePairing", tag = "devices",
    params(("id" = String, Path, description = "From `POST /v1/pairing`")), request_body = Nothing, responses(
    (status = 200, body = Nothing, description = "Nobody is let in"),
    (status = 404, description = "The id is not UTF-8 (`not-found`)."),
    (status = 410, description = "The pairing has expired or does not exist (`pairing-over`)."),
    (status = 422, description = "The body is not an object (`invalid`)."))))]
pub(super) async fn refuse(
    State(app): State<App>,
    Name(id): Name,
    Json(Nothing {}): Json<Nothing>,
) -> Result<JsonReply<Nothing>, Problem> {
    if app.access.refuse(&id).await? {
        return Ok(JsonReply(Nothing {}));
    }
    Err(over("This pairing is over already.").hint("`answerback devices` shows who was let in."))
}

/// A device shows the code, and gets six digits to show to the person. The code is the credential.
#[cfg_attr(test, utoipa::path(post, path = "/v1/pairing/claim", operation_id = "claimPairing", tag = "devices",
    request_body = ClaimRequest, responses(
    (status = 200, body = Claimed, description = "What to show, and what to fetch the token with"),
    (status = 410, description = "The code was used, or is too old (`code`)."),
    (status = 422, description = "The body has the wrong shape (`invalid`)."),
    (status = 500, description = "There is no randomness to make digits of (`internal`)."))))]
pub(super) async fn claim(
    State(app): State<App>,
    Extension(entrance): Extension<Entrance>,
    headers: HeaderMap,
    Json(request): Json<ClaimRequest>,
) -> Result<JsonReply<Claimed>, Problem> {
    let claim = app.access.claim(&request.code, request.name.as_deref(), agent(&headers)).await?;
    let Some(claim) = claim else {
        let problem = Problem::new(StatusCode::GONE, "code", "This code was used already, or is too old.")
            .hint("Run `answerback pair` again.");
        return Err(app.failed(entrance, problem));
    };
    Ok(JsonReply(Claimed { claim: claim.claim.reveal().to_owned(), check: claim.check }))
}

/// A device fetches its token, once the person has typed the digits. The claim is the credential.
#[cfg_attr(test, utoipa::path(post, path = "/v1/pairing/token", operation_id = "fetchToken", tag = "devices",
    params(WaitParams), request_body = TokenRequest, responses(
    (status = 200, body = Session, description = "The token"),
    (status = 202, body = Nothing, description = "Not yet"),
    (status = 403, description = "The person refused the device (`refused`)."),
    (status = 410, description = "The pairing has expired or does not exist (`pairing-over`)."),
    (status = 422, description = "The body has the wrong shape (`invalid`)."))))]
pub(super) async fn token(
    State(app): State<App>,
    Extension(entrance): Extension<Entrance>,
    Params(params): Params<WaitParams>,
    Json(request): Json<TokenRequest>,
) -> Result<Response, Problem> {
    app.wait_at_most(patience(params.wait), app.access.until_decided(&request.claim)).await;
    match app.access.fetch(&request.claim).await? {
        Fetched::Token(token) => Ok(JsonReply(Session { token: token.reveal().to_owned() }).into_response()),
        Fetched::Waiting => Ok((StatusCode::ACCEPTED, JsonReply(Nothing {})).into_response()),
        Fetched::Refused => Err(Problem::forbidden("refused", "The person at the computer said no.")
            .hint("If that was a mistake, run `answerback pair` again.")),
        Fetched::Gone => {
            let problem = over("This pairing has expired or does not exist.").hint("Run `answerback pair` again.");
            Err(app.failed(entrance, problem))
        }
    }
}

impl From<PairingError> for Problem {
    fn from(error: PairingError) -> Self {
        match error {
            PairingError::NoRandomness(error) => Self::internal(error),
            PairingError::Store(error) => error.into(),
        }
    }
}

fn unknown() -> Problem {
    Problem::not_found("There is no such pairing.").hint("Begin another one.")
}

fn over(title: &str) -> Problem {
    Problem::new(StatusCode::GONE, "pairing-over", title)
}
