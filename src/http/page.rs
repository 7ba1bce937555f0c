//! Serves the page and its parts. They contain no data and no secret, so they need no token. All data that they show comes through the API.

use axum::Router;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::App;
use super::guard::OwnPolicy;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
    manifest-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

/// A part of the page. `build/page.rs` makes them of the files in `src/page`.
struct Part {
    path: &'static str,
    plain: &'static [u8],
    /// `None` if it would be no smaller.
    gzip: Option<&'static [u8]>,
}

const PARTS: &[Part] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// The path of the page itself.
pub(super) const PATH: &str = "/";

pub(super) fn routes() -> Router<App> {
    PARTS.iter().fold(Router::new(), |router, part| {
        router.route(part.path, get(async |headers: HeaderMap| serve(part, &headers)))
    })
}

fn serve(part: &Part, headers: &HeaderMap) -> Response {
    let gzip = part.gzip.filter(|_| takes_gzip(headers));
    let type_and_vary =
        [(header::CONTENT_TYPE, media_type(part.path)), (header::VARY, header::ACCEPT_ENCODING.as_str())];
    let mut response = (type_and_vary, gzip.unwrap_or(part.plain)).into_response();
    if gzip.is_some() {
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response.extensions_mut().insert(OwnPolicy(HeaderValue::from_static(POLICY)));
    response
}

/// Whether a client says that it can read gzip.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let offers = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|offer| offer.to_str().ok());
    offers.flat_map(|offers| offers.split(',')).any(|offer| {
        let mut words = offer.split(';').map(str::trim);
        let is_gzip = words.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        // With a weight of nought, it is refused.
        let is_refused = words.filter_map(|word| word.split_once('=')).any(|(name, weight)| {
            name.trim().eq_ignore_ascii_case("q") && weight.trim().parse::<f32>().is_ok_and(|weight| weight <= 0.0)
        });
        is_gzip && !is_refused
    })
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
    use super::*;

    #[test]
    fn only_a_client_that_says_so_gets_gzip() {
        let takes = |offers: &[&'static str]| {
            let offers = offers.iter().map(|offer| (header::ACCEPT_ENCODING, HeaderValue::from_static(offer)));
            takes_gzip(&offers.collect())
        };
        for offers in [&["gzip"][..], &["br, GZIP ; q=0.5"], &["deflate", "gzip"], &["gzip;level=1"]] {
            assert!(takes(offers), "{offers:?}");
        }
        for offers in [&[][..], &["br"], &["gzip;q=0"], &["x-gzip, gzip; Q=0.000"], &["gzip2, *"]] {
            assert!(!takes(offers), "{offers:?}");
        }
    }
}
