//! Readers for fields where serde alone would accept too much.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Number, Value};

use crate::ask::Question;

/// Reads questions and options as objects only. serde would also accept an array with the fields in their order.
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

/// Reads a whole number. It may have a fraction of zero, because `24.0` is an integer in JSON Schema.
pub(super) fn whole<'de, D: Deserializer<'de>, T: TryFrom<u32>>(deserializer: D) -> Result<T, D::Error> {
    let number = Number::deserialize(deserializer)?;
    let whole = number.as_f64().filter(|float| float.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(float));
    // Within these limits every whole number is exact as a float.
    whole
        .and_then(|float| T::try_from(float as u32).ok())
        .ok_or_else(|| D::Error::custom(format_args!("expected a whole number from 0 to {}, not {number}", u32::MAX)))
}

/// Like [`whole`], but takes null too.
pub(super) fn whole_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    #[derive(Deserialize)]
    struct Whole(#[serde(deserialize_with = "whole")] u32);
    Ok(Option::<Whole>::deserialize(deserializer)?.map(|Whole(number)| number))
}

/// The id of an ask, or null. To JSON, `7.0` is the same number as `7`.
pub(super) fn id_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else { return Ok(None) };
    let float = || number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 9.2e18);
    // The range was checked, and there is no fraction.
    #[allow(clippy::cast_possible_truncation)]
    let id = number.as_i64().or_else(|| float().map(|float| float as i64));
    id.map(Some).ok_or_else(|| D::Error::custom(format_args!("expected the id of an ask, not {number}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_whole_by_its_value_and_not_by_its_spelling() {
        let read = |json: &str| id_or_null(&mut serde_json::Deserializer::from_str(json)).ok();
        for (json, id) in
            [("7", 7), ("7.0", 7), ("0.0", 0), ("-3", -3), ("1e3", 1000), ("9223372036854775807", i64::MAX)]
        {
            assert_eq!(read(json), Some(Some(id)), "{json}");
        }
        assert_eq!(read("null"), Some(None));
        for json in ["1.5", "1e300", "\"1\"", "[1]", "true"] {
            assert_eq!(read(json), None, "{json}");
        }
    }

    #[test]
    fn a_number_is_whole_by_its_value_and_not_by_its_spelling() {
        let read = |json: &str| whole_or_null(&mut serde_json::Deserializer::from_str(json)).ok();
        for (json, number) in [("0", 0), ("24", 24), ("24.0", 24), ("1e3", 1000), ("-0.0", 0), ("4294967295", u32::MAX)]
        {
            assert_eq!(read(json), Some(Some(number)), "{json}");
        }
        assert_eq!(read("null"), Some(None));
        for json in ["-1", "1.5", "4294967296", "1e300", "\"1\"", "[1]", "true"] {
            assert_eq!(read(json), None, "{json}");
        }
    }

    #[test]
    fn questions_are_objects() {
        let read = |json: &str| questions(&mut serde_json::Deserializer::from_str(json)).is_ok();
        assert!(read(r#"[{"question": "Q?", "options": [{"label": "A"}]}, {"question": "R?"}]"#));
        assert!(!read(r#"[["Q?"]]"#) && !read(r#"[{"question": "Q?", "options": [["A"]]}]"#) && !read(r#"[3]"#));
    }
}
