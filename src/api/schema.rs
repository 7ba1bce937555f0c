//! Parts of the API's description that cannot be derived, and the reading of a body where serde alone would take too much.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Number, Value};
use utoipa::openapi::schema::{AdditionalProperties, ArrayBuilder, Object, ObjectBuilder, OneOfBuilder, Type};

use crate::ask::{MAX_TEXT, Question};

/// Not blank. U+0085 is white space to Unicode, but not to the regular expressions of JSON Schema.
const NOT_BLANK: &str = r"[^\s\u0085]";

/// A text that is not blank. The limit is in bytes; characters beyond ASCII have several.
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

/// Question text to a text, or to several.
pub(super) fn answers() -> Object {
    let several = ArrayBuilder::new().items(text()).min_items(Some(1));
    let answer = OneOfBuilder::new().item(text()).item(several);
    by_question("Question text to a label, a free text, or an array of labels where more than one may be chosen.")
        .additional_properties(Some(AdditionalProperties::RefOr(answer.into())))
        .min_properties(Some(1))
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

/// A whole number, also if it is written with a fraction of zero: to JSON Schema, `24.0` is an integer.
pub(super) fn whole<'de, D: Deserializer<'de>, T: TryFrom<u64>>(deserializer: D) -> Result<T, D::Error> {
    let number = Number::deserialize(deserializer)?;
    as_whole(&number).and_then(|whole| T::try_from(whole).ok()).ok_or_else(|| {
        let range = std::any::type_name::<T>();
        D::Error::custom(format_args!("{number} is not a whole number that fits {range}"))
    })
}

/// The same, or nothing.
pub(super) fn whole_or_null<'de, D: Deserializer<'de>, T: TryFrom<u64>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    #[derive(Deserialize)]
    #[serde(bound = "T: TryFrom<u64>")]
    struct Whole<T>(#[serde(deserialize_with = "whole")] T);
    Ok(Option::<Whole<T>>::deserialize(deserializer)?.map(|Whole(number)| number))
}

fn as_whole(number: &Number) -> Option<u64> {
    /// Beyond this, not every whole number is a float.
    const EXACT: f64 = (1_u64 << 53) as f64;
    number.as_u64().or_else(|| {
        let float = number.as_f64().filter(|float| float.fract() == 0.0 && (0.0..EXACT).contains(float))?;
        format!("{float:.0}").parse().ok()
    })
}
