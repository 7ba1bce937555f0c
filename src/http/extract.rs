//! Extractors turn requests into types. Every refusal is a [`Problem`], and the size of a body is limited.

use std::fmt::Display;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use answerback_hook::client::MAX_BODY;

use crate::access::Caller;
use crate::api::Problem;
use crate::ask::AskKey;

use super::strict_json;

/// How long a body may take to arrive. After that, the request is refused.
pub(super) const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// The limit for callers without a token. They send little more than a code, and anybody on the network may be such a caller.
const MAX_ANONYMOUS: usize = 4 * 1024;

/// A JSON body as bytes, for handlers that parse it themselves.
pub(super) struct JsonBytes(pub(super) Bytes);

impl<S: Sync> FromRequest<S> for JsonBytes {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        check_media_type(request.headers())?;
        let declared =
            request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        let max = match request.extensions().get::<Caller>() {
            Some(Caller::Anonymous) | None => MAX_ANONYMOUS,
            Some(_) => MAX_BODY,
        };
        if declared.is_some_and(|length: usize| length > max) {
            return Err(too_large(max));
        }
        let bytes = read(request.into_body(), max).await?;
        strict_json::check(&bytes)?;
        Ok(Self(bytes))
    }
}

/// Reads the whole body into its own memory, because a parked request must not keep the connection's read buffer.
pub(super) async fn read(body: Body, max: usize) -> Result<Bytes, Problem> {
    let whole = Limited::new(body, max).collect();
    let Ok(whole) = tokio::time::timeout(BODY_TIMEOUT, whole).await else {
        return Err(too_slow());
    };
    match whole {
        Ok(body) => Ok(Bytes::copy_from_slice(&body.to_bytes())),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large(max)),
        Err(error) => Err(Problem::bad_request(format!("The body could not be read: {error}."))),
    }
}

pub(super) fn too_slow() -> Problem {
    Problem::new(StatusCode::REQUEST_TIMEOUT, "too-slow", "The body took too long to arrive.")
}

fn check_media_type(headers: &HeaderMap) -> Result<(), Problem> {
    let unsupported = |title| Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", title);
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        return Err(unsupported("The body must be JSON.").hint("Send `Content-Type: application/json`."));
    }
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err(unsupported("Compressed bodies are not accepted.").hint("Send the body without Content-Encoding."));
    }
    Ok(())
}

fn too_large(max: usize) -> Problem {
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", format!("The body is over {max} bytes."))
}

/// A JSON body.
pub(super) struct Json<T>(pub(super) T);

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let JsonBytes(bytes) = JsonBytes::from_request(request, state).await?;
        let wrong =
            |why: &dyn Display| Problem::invalid(format!("The body does not have the right shape: {why}."), Vec::new());
        // serde would also accept an array with the fields in their order.
        if bytes.trim_ascii_start().first() != Some(&b'{') {
            return Err(wrong(&"it must be an object"));
        }
        serde_json::from_slice(&bytes).map(Self).map_err(|error| wrong(&error))
    }
}

/// The query string.
pub(super) struct Params<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let query: Result<Query<T>, QueryRejection> = Query::from_request_parts(parts, state).await;
        query.map(|Query(params)| Self(params)).map_err(|error| {
            let reason = error.body_text();
            let reason = reason.strip_prefix("Failed to deserialize query string: ").unwrap_or(&reason);
            Problem::bad_request(format!("The query is not understood: {reason}."))
        })
    }
}

/// The key in the path. A text that cannot be a key gets 404, like an unknown key.
pub(super) struct Key(pub(super) AskKey);

impl<S: Send + Sync> FromRequestParts<S> for Key {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Ok(Path(key)) = Path::<String>::from_request_parts(parts, state).await else {
            return Err(Problem::unknown_ask());
        };
        key.parse().map(Self).map_err(|_| Problem::unknown_ask())
    }
}

/// An id or another name in a path that is not the key of an ask.
pub(super) struct Name(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        // All names are UTF-8, so a name that is not is unknown.
        let name = Path::<String>::from_request_parts(parts, state).await;
        name.map(|Path(name)| Self(name)).map_err(|_| Problem::not_found("There is nothing with this name."))
    }
}
