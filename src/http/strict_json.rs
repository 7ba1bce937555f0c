//! Checks every JSON body before anything reads a field of it. The body must be complete, it must not be nested too deeply, and no object may
//! have the same key twice.
//!
//! serde alone does not check this. It skips unknown fields without counting their depth. Of two equal keys in a map it takes the last one,
//! so two readers of one body could understand different things.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::api::Problem;

/// How many levels of arrays and objects a body may have. `serde_json` reads 127, and what is in a body is later sent on inside of other
/// objects: in lists, in events, in the frames of a link.
const MAX_DEPTH: usize = 96;
/// How many characters of a key a message shows.
const MAX_SHOWN: usize = 80;

/// Checks the whole body. Keeps only the keys of the objects around the current value, and most of them are borrowed from the body.
pub(super) fn check(body: &[u8]) -> Result<(), Problem> {
    let mut json = serde_json::Deserializer::from_slice(body);
    Checked { depth: 0 }.deserialize(&mut json).and_then(|()| json.end()).map_err(|error| {
        let message = error.to_string();
        if message.starts_with(TOO_DEEP) || message.starts_with("recursion limit") {
            Problem::bad_request(format!("The body is nested over {MAX_DEPTH} levels deep."))
        } else if error.is_data() {
            Problem::bad_request(format!("The body is ambiguous: {message}.")).hint("Send each key once.")
        } else {
            Problem::bad_request(format!("The body is not JSON: {message}."))
        }
    })
}

/// The beginning of the message of an error.
const TOO_DEEP: &str = "nested too deeply";

/// Visits a value and keeps nothing of it.
#[derive(Clone, Copy)]
struct Checked {
    /// How many arrays and objects are around it.
    depth: usize,
}

impl Checked {
    /// For what is inside of this array or object.
    fn inside<E: Error>(self) -> Result<Self, E> {
        if self.depth == MAX_DEPTH { Err(E::custom(TOO_DEEP)) } else { Ok(Self { depth: self.depth + 1 }) }
    }
}

#[derive(Deserialize, PartialEq, Eq, Hash)]
#[serde(transparent)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> DeserializeSeed<'de> for Checked {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Checked {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let inside = self.inside()?;
        while elements.next_element_seed(inside)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let inside = self.inside()?;
        let mut keys = HashSet::new();
        while let Some(Key(key)) = entries.next_key()? {
            if keys.contains(&key) {
                let shown: String = key.chars().take(MAX_SHOWN).collect();
                let rest = if shown.len() < key.len() { "…" } else { "" };
                return Err(A::Error::custom(format_args!("the key `{shown}{rest}` comes twice in one object")));
            }
            keys.insert(key);
            entries.next_value_seed(inside)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(body: &str) -> Option<String> {
        check(body.as_bytes()).err().map(|problem| {
            assert_eq!(problem.status, 400, "{body}");
            problem.title
        })
    }

    #[test]
    fn json_is_accepted() {
        for body in [
            "null",
            "{}",
            " [1, -2, 3.5, 1e9, true, null, \"x\"] ",
            r#"{"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}], "": ""}"#,
            &format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH)),
        ] {
            assert_eq!(refused(body), None, "{body}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_a_reason() {
        let deep = format!("{}{}", "[".repeat(MAX_DEPTH + 1), "]".repeat(MAX_DEPTH + 1));
        let long = format!(r#"{{"{0}": 1, "{0}": 2}}"#, "k".repeat(1000));
        for (body, reason) in [
            ("", "not JSON"),
            ("{} {}", "not JSON: trailing characters"),
            (r#"{"a": "\ud800"}"#, "not JSON"),
            (&deep, "over 96 levels"),
            (r#"{"a": 1, "b": 2, "a": 1}"#, "the key `a` comes twice in one object at line 1 column 20"),
            (r#"{"é": 1, "\u00e9": 2}"#, "the key `é` comes twice"),
            (r#"[{"x": [{"": 1, "": 2}]}]"#, "the key `` comes twice"),
            (&long, "kkk…` comes twice"),
        ] {
            let title = refused(body).unwrap();
            assert!(title.contains(reason) && title.len() < 300, "{body}: {title}");
        }
    }
}
