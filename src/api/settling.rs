//! What people and programs do about an ask: answer it, dismiss it, or hand it back.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::fields;

/// The answers to an ask. Each text may have at most 16 KiB in UTF-8.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[cfg_attr(test, schema(examples(json!({
    "answers": {"Deploy to production?": "Yes"},
    "notes": {"Deploy to production?": "but not before noon"}
}))))]
pub struct AnswerRequest {
    /// The answers, by the text of the question.
    #[cfg_attr(test, schema(schema_with = super::schema::answers))]
    pub answers: IndexMap<String, Value>,
    /// The notes, by the text of the question.
    #[serde(default)]
    #[cfg_attr(test, schema(schema_with = super::schema::notes))]
    pub notes: IndexMap<String, String>,
    /// Whether questions may stay unanswered. Without it, an answer must cover every question.
    #[serde(default)]
    pub partial: bool,
    /// What the person changed before they approved: fields that replace fields of the input. A permission takes fields of the tool's
    /// input, a plan takes `plan`. Only with an option that approves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schema(value_type = Option<Object>))]
    pub edited: Option<Map<String, Value>>,
    /// The `id` of the ask that the person has seen. If the same key was asked again since, the answer is refused.
    #[serde(default, deserialize_with = "fields::id_or_null", skip_serializing_if = "Option::is_none")]
    pub id: Option<i64>,
}

/// Dismisses an ask.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(default)]
#[cfg_attr(test, schema(examples(json!({"reason": "Not today."}))))]
pub struct DismissRequest {
    /// The asker gets this text. At most 16 KiB in UTF-8.
    #[cfg_attr(test, schema(max_length = 16384))]
    pub reason: Option<String>,
    /// The `id` of the ask that the person has seen. If the same key was asked again since, nothing is dismissed.
    #[serde(deserialize_with = "fields::id_or_null", skip_serializing_if = "Option::is_none")]
    pub id: Option<i64>,
}

/// Releases an ask.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(default)]
pub struct ReleaseRequest {
    /// The `id` of the ask that the person has seen. If the same key was asked again since, nothing is released.
    #[serde(deserialize_with = "fields::id_or_null", skip_serializing_if = "Option::is_none")]
    pub id: Option<i64>,
}
