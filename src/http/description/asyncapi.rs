//! The frames of the WebSocket, as AsyncAPI. Their schemas come from the types.

use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

use crate::api::{
    AskUserQuestion, AskUserResponse, AskUserSettled, AskUserTimeout, Authenticate, ErrorFrame, Reset, SessionStatus,
    SessionTaken, Subscribe, Subscribed,
};

const ABOUT: &str = "\
Each frame is a text frame with one JSON object, and its `type` says what it is. A frame has at most 1 MiB. docs/api.md explains the \
frames with examples.";

/// Which side sends a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Companion,
    Daemon,
}

/// The whole description.
pub(super) fn document() -> Value {
    let mut parts = Parts::default();
    parts.add::<Authenticate>("authenticate", From::Companion);
    parts.add::<Subscribe>("subscribe", From::Companion);
    parts.add::<AskUserResponse>("ask_user_response", From::Companion);
    parts.add_bare("authenticated", "The token of `authenticate` is good.");
    parts.add::<Subscribed>("subscribed", From::Daemon);
    parts.add::<AskUserQuestion>("ask_user_question", From::Daemon);
    parts.add::<AskUserTimeout>("ask_user_timeout", From::Daemon);
    parts.add::<AskUserSettled>("ask_user_settled", From::Daemon);
    parts.add::<SessionStatus>("session_status", From::Daemon);
    parts.add::<Reset>("reset", From::Daemon);
    parts.add::<SessionTaken>("session_taken", From::Daemon);
    parts.add::<ErrorFrame>("error", From::Daemon);
    let references = |wanted: From| -> Vec<Value> {
        let sent = parts.sent.iter().filter(|(_, from)| *from == wanted);
        sent.map(|(name, _)| json!({"$ref": format!("#/channels/companion/messages/{name}")})).collect()
    };
    let channel = json!({"$ref": "#/channels/companion"});
    let messages: Map<String, Value> = parts
        .sent
        .iter()
        .map(|(name, _)| (name.clone(), json!({"$ref": format!("#/components/messages/{name}")})))
        .collect();
    json!({
        "asyncapi": "3.0.0",
        "info": {
            "title": "Answerback",
            "version": env!("CARGO_PKG_VERSION"),
            "description": ABOUT,
            "license": {"name": "MIT OR Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "channels": {"companion": {"address": "/v1/ws", "messages": messages}},
        "operations": {
            "companionSends": {"action": "receive", "channel": channel, "messages": references(From::Companion)},
            "daemonSends": {"action": "send", "channel": channel, "messages": references(From::Daemon)},
        },
        "components": {"messages": parts.messages, "schemas": parts.schemas},
    })
}

#[derive(Default)]
struct Parts {
    messages: Map<String, Value>,
    schemas: Map<String, Value>,
    sent: Vec<(String, From)>,
}

impl Parts {
    /// Adds a frame and every schema that it refers to.
    fn add<T: ToSchema>(&mut self, name: &str, from: From) {
        let mut schemas: Vec<(String, RefOr<Schema>)> = vec![(T::name().into_owned(), T::schema())];
        T::schemas(&mut schemas);
        for (name, schema) in schemas {
            self.schemas.insert(name, serde_json::to_value(schema).unwrap_or_default());
        }
        let schema = json!({"$ref": format!("#/components/schemas/{}", T::name())});
        let about = self.schemas.get(&*T::name()).and_then(|schema| schema.get("description")).cloned();
        self.message(name, from, about.unwrap_or_default(), &[schema]);
    }

    /// Adds a frame of the daemon that has nothing but its type.
    fn add_bare(&mut self, name: &str, about: &str) {
        self.message(name, From::Daemon, about.into(), &[]);
    }

    fn message(&mut self, name: &str, from: From, about: Value, schemas: &[Value]) {
        let kind = json!({"type": "object", "required": ["type"], "properties": {"type": {"const": name}}});
        let all: Vec<Value> = [kind].into_iter().chain(schemas.iter().cloned()).collect();
        self.messages.insert(name.to_owned(), json!({"name": name, "summary": about, "payload": {"allOf": all}}));
        self.sent.push((name.to_owned(), from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every `$ref` in the document.
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str).map(ToOwned::to_owned));
                fields.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let document = document();
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 20);
        for reference in found {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
    }
}
