//! Parts of the API's description that cannot be derived, and the reading of a body where serde alone would take too much.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use utoipa::openapi::schema::{AdditionalProperties, ArrayBuilder, Object, ObjectBuilder, OneOfBuilder, Type};

use crate::ask::{MAX_TEXT, Question};

/// A text that is not blank. The limit is in bytes; characters beyond ASCII have several.
fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).max_length(Some(MAX_TEXT)).pattern(Some(r"\S"))
}

fn by_question(description: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Object).description(Some(description))
}

/// Question text to a text, or to several.
pub(super) fn answers() -> Object {
    let several = ArrayBuilder::new().items(text()).min_items(Some(1));
    let answer = OneOfBuilder::new().item(text()).item(several);
    by_question("Question text to a label, a free text, or an array of labels where more than one may be chosen.")
        .additional_properties(Some(AdditionalProperties::RefOr(answer.into())))
        .build()
}

/// Question text to a text that may be empty.
pub(super) fn notes() -> Object {
    let note = ObjectBuilder::new().schema_type(Type::String).max_length(Some(MAX_TEXT));
    by_question("Question text to a note that goes along with its answer.")
        .additional_properties(Some(AdditionalProperties::RefOr(note.into())))
        .build()
}

/// Questions and options as objects. serde would also take an array of the fields in their order.
pub(super) fn questions<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Question>, D::Error> {
    let questions = Vec::<Value>::deserialize(deserializer)?;
    let has_array = |values: &[Value]| values.iter().any(Value::is_array);
    let options =
        |question: &Value| question.get("options").and_then(Value::as_array).is_some_and(|all| has_array(all));
    if has_array(&questions) || questions.iter().any(options) {
        return Err(D::Error::custom("a question and an option are objects, not arrays"));
    }
    questions.into_iter().map(|question| Question::deserialize(question).map_err(D::Error::custom)).collect()
}
