//! Serves the page and its parts. They contain no data and no secret, so they need no token. All data that they show comes through the API.

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::App;
use super::guard::OwnPolicy;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
    manifest-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

struct Part {
    path: &'static str,
    media_type: &'static str,
    bytes: &'static [u8],
}

macro_rules! parts {
    ($($path:literal $file:literal $media_type:literal)*) => {
        &[$(Part { path: $path, media_type: $media_type, bytes: include_bytes!(concat!("../page/", $file)) }),*]
    };
}

const PARTS: &[Part] = parts! {
    "/" "index.html" "text/html; charset=utf-8"
    "/page/app.css" "app.css" "text/css; charset=utf-8"
    "/page/icon.svg" "icon.svg" "image/svg+xml"
    "/page/icon-192.png" "icon-192.png" "image/png"
    "/page/icon-512.png" "icon-512.png" "image/png"
    "/page/manifest.webmanifest" "manifest.webmanifest" "application/manifest+json"
    "/page/api.js" "api.js" "text/javascript; charset=utf-8"
    "/page/attention.js" "attention.js" "text/javascript; charset=utf-8"
    "/page/card.js" "card.js" "text/javascript; charset=utf-8"
    "/page/clock.js" "clock.js" "text/javascript; charset=utf-8"
    "/page/dom.js" "dom.js" "text/javascript; charset=utf-8"
    "/page/draft.js" "draft.js" "text/javascript; charset=utf-8"
    "/page/ended.js" "ended.js" "text/javascript; charset=utf-8"
    "/page/head.js" "head.js" "text/javascript; charset=utf-8"
    "/page/history.js" "history.js" "text/javascript; charset=utf-8"
    "/page/inbox.js" "inbox.js" "text/javascript; charset=utf-8"
    "/page/keys.js" "keys.js" "text/javascript; charset=utf-8"
    "/page/live.js" "live.js" "text/javascript; charset=utf-8"
    "/page/main.js" "main.js" "text/javascript; charset=utf-8"
    "/page/markdown.js" "markdown.js" "text/javascript; charset=utf-8"
    "/page/preview.js" "preview.js" "text/javascript; charset=utf-8"
    "/page/question.js" "question.js" "text/javascript; charset=utf-8"
    "/page/settings.js" "settings.js" "text/javascript; charset=utf-8"
    "/page/sign_in.js" "sign_in.js" "text/javascript; charset=utf-8"
    "/page/storage.js" "storage.js" "text/javascript; charset=utf-8"
    "/page/words.js" "words.js" "text/javascript; charset=utf-8"
};

/// The path of the page itself.
pub(super) const PATH: &str = "/";

pub(super) fn routes() -> Router<App> {
    PARTS.iter().fold(Router::new(), |router, part| router.route(part.path, get(async || serve(part))))
}

fn serve(part: &Part) -> Response {
    let mut response = ([(header::CONTENT_TYPE, part.media_type)], part.bytes).into_response();
    response.extensions_mut().insert(OwnPolicy(HeaderValue::from_static(POLICY)));
    response
}
