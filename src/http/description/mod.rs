//! The API's descriptions of itself. The daemon serves them as they are in `docs/`. They are made from the types and the handlers, and only
//! tests do that: what makes them is not a part of the program.

use axum::http::header;
use axum::response::IntoResponse;

#[cfg(test)]
mod asyncapi;
#[cfg(test)]
pub(super) mod hooks;
#[cfg(test)]
mod openapi;
#[cfg(test)]
mod parameters;

const OPENAPI: &str = include_str!("../../../docs/openapi.json");
const ASYNCAPI: &str = include_str!("../../../docs/asyncapi.json");

/// Gets this description.
#[cfg_attr(test, utoipa::path(get, path = "/v1/openapi.json", operation_id = "getDescription", tag = "daemon", responses(
    (status = 200, body = serde_json::Value, description = "An OpenAPI document"))))]
pub(super) async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI)
}

/// Describes the frames of the WebSocket `/v1/ws` as AsyncAPI 3.
#[cfg_attr(test, utoipa::path(get, path = "/v1/asyncapi.json", operation_id = "getFrames", tag = "daemon", responses(
    (status = 200, body = serde_json::Value, description = "An AsyncAPI document"))))]
pub(super) async fn asyncapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], ASYNCAPI)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use serde::Serialize;
    use serde_json::Value;

    use super::super::routes;
    use super::*;

    /// Set it to write the descriptions to `docs/` instead of comparing them.
    const UPDATE: &str = "ANSWERBACK_UPDATE_DESCRIPTIONS";

    fn compare_with_docs(file: &str, in_docs: &str, made: &impl Serialize) {
        let made = serde_json::to_string_pretty(made).unwrap() + "\n";
        if made == in_docs {
            return;
        }
        if std::env::var_os(UPDATE).is_none() {
            panic!("docs/{file} is out of date. Make it anew with: {UPDATE}=1 cargo test --lib description");
        }
        std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(file), made).unwrap();
    }

    #[test]
    fn what_is_served_is_what_the_types_and_handlers_say() {
        compare_with_docs("openapi.json", OPENAPI, &openapi::document());
        compare_with_docs("asyncapi.json", ASYNCAPI, &asyncapi::document());
    }

    #[test]
    fn every_handler_describes_the_route_that_it_has() {
        let mut seen = BTreeSet::new();
        for route in routes::descriptions() {
            let described = serde_json::to_value(&route.by_handler.paths).unwrap();
            let is_the_only = |value: &Value, name: &str| value.as_object().unwrap().keys().eq([name]);
            assert!(is_the_only(&described, route.path), "{}: {described}", route.path);
            assert!(is_the_only(&described[route.path], route.method), "{} {}: {described}", route.method, route.path);
            assert!(seen.insert((route.path, route.method)), "{} {} twice", route.method, route.path);
        }
        assert!(seen.len() > 40);
    }
}
