//! Parts of the API's description that cannot be derived.

use serde_json::json;
use utoipa::openapi::schema::{AdditionalProperties, Array, ArrayBuilder, Object, ObjectBuilder, OneOfBuilder, Type};

use crate::ask::MAX_TEXT;

/// One character that is not white space. U+0085 is named because it is white space in Unicode, but not in the regular expressions of JSON
/// Schema.
const NOT_BLANK: &str = r"[^\s\u0085]";

/// A text that is not blank. JSON Schema counts characters and the daemon counts bytes, so a text with characters beyond ASCII may be
/// refused below this length.
fn text() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(Some(MAX_TEXT))
        .pattern(Some(NOT_BLANK))
}

fn by_question(description: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Object).description(Some(description))
}

/// An object with a text or several texts for each question.
pub(super) fn answers() -> Object {
    let several = ArrayBuilder::new().items(text()).min_items(Some(1));
    let answer = OneOfBuilder::new().item(text()).item(several);
    by_question(
        "The answers, by the text of the question: a label, a text of one's own, or an array of labels for a question with `multiSelect`.",
    )
        .additional_properties(Some(AdditionalProperties::RefOr(answer.into())))
        .min_properties(Some(1))
        .build()
}

/// An object with a note for each question. A note may be empty.
pub(super) fn notes() -> Object {
    let note = ObjectBuilder::new().schema_type(Type::String).max_length(Some(MAX_TEXT));
    by_question("The notes, by the text of the question. Each goes along with the answer.")
        .additional_properties(Some(AdditionalProperties::RefOr(note.into())))
        .build()
}

/// The kinds of asks that words can answer.
pub(super) fn away_kinds() -> Array {
    let kinds = ["question", "plan", "permission"];
    let kind = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(kinds));
    ArrayBuilder::new()
        .items(kind)
        .min_items(Some(1))
        .description(Some(
            "The kinds of asks that get the words. They deny a permission, and they send a plan back. A form cannot be answered so.",
        ))
        .default(Some(json!(["question"])))
        .build()
}
