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
    bytes: &'static [u8],
}

macro_rules! parts {
    ($($file:literal)*) => {
        &[
            Part { path: PATH, bytes: include_bytes!("../page/index.html") },
            $(Part { path: concat!("/page/", $file), bytes: include_bytes!(concat!("../page/", $file)) }),*
        ]
    };
}

const PARTS: &[Part] = parts! {
    "manifest.webmanifest"
    "icon.svg"
    "icon-192.png"
    "icon-512.png"
    "base.css"
    "card.css"
    "question.css"
    "subject.css"
    "markdown.css"
    "plan.css"
    "foot.css"
    "views.css"
    "screens.css"
    "address_form.js"
    "api.js"
    "approval_form.js"
    "attention.js"
    "away.js"
    "call.js"
    "card.js"
    "choices.js"
    "clock.js"
    "comments.js"
    "decision.js"
    "diff.js"
    "dom.js"
    "draft.js"
    "editor.js"
    "ended.js"
    "fold.js"
    "foot.js"
    "head.js"
    "history.js"
    "inbox.js"
    "inline.js"
    "keys.js"
    "kinds.js"
    "live.js"
    "main.js"
    "markdown.js"
    "past.js"
    "permission_form.js"
    "plan_form.js"
    "preview.js"
    "question.js"
    "question_form.js"
    "schema_field.js"
    "schema_form.js"
    "settings.js"
    "sign_in.js"
    "storage.js"
    "text_field.js"
    "tree.js"
    "verdict.js"
    "visible.js"
    "words.js"
};

/// The path of the page itself.
pub(super) const PATH: &str = "/";

pub(super) fn routes() -> Router<App> {
    PARTS.iter().fold(Router::new(), |router, part| router.route(part.path, get(async || serve(part))))
}

fn serve(part: &Part) -> Response {
    let mut response = ([(header::CONTENT_TYPE, media_type(part.path))], part.bytes).into_response();
    response.extensions_mut().insert(OwnPolicy(HeaderValue::from_static(POLICY)));
    response
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("png") => "image/png",
        Some("svg") => "image/svg+xml",
        Some("webmanifest") => "application/manifest+json",
        _ => "text/html; charset=utf-8",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::PARTS;

    #[test]
    fn every_file_of_the_page_is_served() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/page");
        let names =
            std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        // Only the type checker reads these.
        let files: BTreeSet<_> = names.filter(|name| !name.ends_with(".d.ts")).collect();
        let served = PARTS.iter().map(|part| part.path.strip_prefix("/page/").unwrap_or("index.html").to_owned());
        assert_eq!(served.collect::<BTreeSet<_>>(), files);
    }
}
