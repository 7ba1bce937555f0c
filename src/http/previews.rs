//! Previews that are HTML. The page shows them in a frame that can do nothing: no script, no request, no origin.
//!
//! A frame cannot send a token. So the page trades its right to read for a path that works once and shows this one preview.

use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json as JsonReply};

use crate::access::{Caller, Expiring, Token, TokenHash};
use crate::api::{PreviewPlace, PreviewRequest, Problem};

use super::App;
use super::extract::{Json, Key, Name};
use super::guard::OwnPolicy;
use super::places::Guest;

const LIFETIME: Duration = Duration::from_secs(30);
const MAX_PLACES: usize = 128;
/// The most of one caller. So nobody pushes out what others are about to look at.
const MAX_OF_ONE: usize = 32;
/// A preview may have styles and pictures inside it. Nothing runs, and nothing is fetched.
const POLICY: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'";

/// Previews that may be fetched, each once.
#[derive(Debug)]
pub(super) struct Previews(Expiring<Place>);

#[derive(Debug)]
struct Place {
    owner: Option<Guest>,
    name: TokenHash,
    html: String,
}

impl Default for Previews {
    fn default() -> Self {
        Self(Expiring::new(MAX_PLACES, LIFETIME))
    }
}

impl Previews {
    fn add(&self, owner: Option<Guest>, name: TokenHash, html: String, now: Instant) {
        self.0.add_one_of(Place { owner, name, html }, MAX_OF_ONE, |place| place.owner == owner, now);
    }

    fn take(&self, name: TokenHash, now: Instant) -> Option<String> {
        self.0.take(now, |place| place.name == name).map(|place| place.html)
    }
}

/// Makes a path where the preview of an option can be looked at, once, as HTML in a frame that can do nothing.
#[cfg_attr(test, utoipa::path(post, path = "/v1/asks/{key}/preview", operation_id = "placePreview", tag = "asks",
    params(Key), request_body = PreviewRequest, responses(
    (status = 201, body = PreviewPlace, description = "Where it can be looked at, for 30 seconds"),
    (status = 404, description = "There is no ask with this key, or this option has no preview (`not-found`)."),
    (status = 422, description = "The body has the wrong shape (`invalid`)."),
    (status = 500, description = "There is no randomness to make a name of (`internal`)."))))]
pub(super) async fn place(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Key(key): Key,
    Json(request): Json<PreviewRequest>,
) -> Result<(StatusCode, JsonReply<PreviewPlace>), Problem> {
    let ask = app.inbox.get(&key, caller.rights()).await?;
    let question = ask.questions.iter().nth(request.question);
    let option = question.and_then(|question| question.options.get(request.option));
    let Some(html) = option.and_then(|option| option.preview.clone()) else {
        return Err(Problem::not_found("This option has no preview."));
    };
    let name = Token::generate().map_err(Problem::internal)?;
    app.previews.add(Guest::of(&caller), name.hash(), html, Instant::now());
    Ok((StatusCode::CREATED, JsonReply(PreviewPlace { path: format!("/v1/previews/{}", name.reveal()) })))
}

/// A preview, once. Its name is the credential.
#[cfg_attr(test, utoipa::path(get, path = "/v1/previews/{name}", operation_id = "showPreview", tag = "asks",
    params(("name" = String, Path, description = "From `POST /v1/asks/{key}/preview`")), responses(
    (status = 200, body = String, content_type = "text/html", description = "The preview"),
    (status = 404, description = "The name is not UTF-8 (`not-found`)."),
    (status = 410, description = "It was shown already, or is too old (`preview`)."))))]
pub(super) async fn show(State(app): State<App>, Name(name): Name) -> Result<Response, Problem> {
    let Some(html) = app.previews.take(TokenHash::of(name.as_bytes()), Instant::now()) else {
        return Err(Problem::new(StatusCode::GONE, "preview", "This preview was shown already, or is too old."));
    };
    let mut response = ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response();
    response.extensions_mut().insert(OwnPolicy(HeaderValue::from_static(POLICY)));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_is_shown_once_and_not_for_long() {
        let previews = Previews::default();
        let now = Instant::now();
        let name = TokenHash::of;
        let (anna, ben) = (Some(Guest::Device(1)), Some(Guest::Device(2)));
        previews.add(anna, name(b"a"), "A".into(), now);
        previews.add(anna, name(b"b"), "B".into(), now);
        assert_eq!(previews.take(name(b"a"), now).as_deref(), Some("A"));
        assert_eq!(previews.take(name(b"a"), now), None);
        assert_eq!(previews.take(name(b"b"), now + LIFETIME), None);
        // One caller has only a part of the places, and pushes out nobody else.
        previews.add(ben, name(b"c"), "C".into(), now);
        (0..=MAX_OF_ONE).for_each(|n| previews.add(anna, name(&n.to_le_bytes()), n.to_string(), now));
        assert_eq!(previews.take(name(&0_usize.to_le_bytes()), now), None);
        assert!(previews.take(name(&1_usize.to_le_bytes()), now).is_some());
        (0..MAX_PLACES).for_each(|n| previews.add(anna, name(&n.to_le_bytes()), n.to_string(), now));
        assert!(previews.take(name(b"c"), now).is_some());
    }
}
