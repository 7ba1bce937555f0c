//! JSON as a person reads it: one line for each value, and longer texts with their own lines.

use serde_json::{Map, Value};

use crate::text::reveal;

const STEP: &str = "  ";

/// The fields of an object, without those that are left out. A text of several lines follows its name, further in, so that no line of it can
/// look like another field.
pub(super) fn fields(object: &Map<String, Value>, left_out: &[&str]) -> Vec<String> {
    let shown = object.iter().filter(|(name, _)| !left_out.contains(&name.as_str()));
    shown.flat_map(|(name, value)| named(&format!("{}:", single(name)), value)).collect()
}

/// A value behind its name, or below it.
fn named(name: &str, value: &Value) -> Vec<String> {
    let mut below = match value {
        Value::Object(members) if !members.is_empty() => fields(members, &[]),
        Value::Array(elements) if !elements.is_empty() => elements.iter().flat_map(element).collect(),
        Value::String(text) if text.contains('\n') => reveal(text).split('\n').map(ToOwned::to_owned).collect(),
        scalar => return vec![format!("{name} {}", scalar_text(scalar))],
    };
    below.iter_mut().for_each(|line| line.insert_str(0, STEP));
    below.insert(0, name.to_owned());
    below
}

fn element(value: &Value) -> Vec<String> {
    named("-", value)
}

/// A text as it is, unless it could be taken for something else.
pub(super) fn scalar_text(value: &Value) -> String {
    match value {
        Value::String(text) if is_plain(text) => reveal(text),
        other => reveal(&other.to_string()),
    }
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.trim() == text && serde_json::from_str::<Value>(text).is_err()
}

/// A text on one line.
pub(super) fn single(name: &str) -> String {
    reveal(name).replace('\n', "<U+000A>")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_is_there_and_nothing_can_be_taken_for_something_else() {
        let value = json!({
            "title": "Fix it", "number": 5, "text": "5", "none": null, "empty": "", "spaces": " x ", "list": [], "body": "one\ntitle: Fake\n",
            "labels": ["bug", ["nested"], {"a": true}], "deep": {"a": {"b": "c"}}, "na\nme": "\u{202e}x", "left": "out",
        });
        let lines = fields(value.as_object().unwrap(), &["left"]);
        let expected = [
            "title: Fix it",
            "number: 5",
            "text: \"5\"",
            "none: null",
            "empty: \"\"",
            "spaces: \" x \"",
            "list: []",
            "body:",
            "  one",
            "  title: Fake",
            "  ",
            "labels:",
            "  - bug",
            "  -",
            "    - nested",
            "  -",
            "    a: true",
            "deep:",
            "  a:",
            "    b: c",
            "na<U+000A>me: <U+202E>x",
        ];
        assert_eq!(lines, expected);
    }
}
