//! `--edit` and `--edit-file`: what a person changes in a call or a plan before they approve it.

use std::fs;

use serde_json::{Map, Value};

use crate::api::AskView;
use crate::ask::Kind;
use crate::text::one_line;

use super::explain::hinted;

/// The fields to change, with their new values. `None` if nothing is changed.
pub(super) fn edits(ask: &AskView, given: &[String], files: &[String]) -> anyhow::Result<Option<Map<String, Value>>> {
    let mut edited = Map::new();
    for pair in given {
        let (field, text) = split(pair, "FIELD=VALUE")?;
        add(&mut edited, ask, field, text.to_owned())?;
    }
    for pair in files {
        let (field, file) = split(pair, "FIELD=FILE")?;
        let text = fs::read_to_string(file).map_err(|error| {
            hinted(format!("cannot read {}: {error}", one_line(file)), "Name a file with UTF-8 text.")
        })?;
        add(&mut edited, ask, field, text)?;
    }
    Ok((!edited.is_empty()).then_some(edited))
}

fn split<'a>(pair: &'a str, form: &str) -> anyhow::Result<(&'a str, &'a str)> {
    pair.split_once('=').ok_or_else(|| hinted(format!("`{}` names no field", one_line(pair)), format!("Write {form}.")))
}

/// A field that is a text now stays one. Anything else is given as JSON.
fn add(edited: &mut Map<String, Value>, ask: &AskView, field: &str, text: String) -> anyhow::Result<()> {
    let subject = ask.subject.as_ref();
    let fields: Vec<(&str, &Value)> = match ask.kind {
        Kind::Permission => {
            let input = subject.and_then(|subject| subject.object("input"));
            input.into_iter().flatten().map(|(name, value)| (name.as_str(), value)).collect()
        }
        Kind::Plan => subject.and_then(|subject| subject.get("plan")).map(|plan| ("plan", plan)).into_iter().collect(),
        Kind::Question | Kind::Form => Vec::new(),
    };
    let Some((_, now)) = fields.iter().find(|(name, _)| *name == field) else {
        let names: Vec<_> = fields.iter().map(|(name, _)| format!("`{}`", one_line(name))).collect();
        return Err(match names.as_slice() {
            [] => hinted(format!("a {} cannot be edited", ask.kind.noun()), "Answer without --edit."),
            names => hinted(
                format!("there is no field `{}` to edit", one_line(field)),
                format!("The fields are {}.", names.join(", ")),
            ),
        });
    };
    let value = match now {
        Value::String(_) => Value::String(text),
        _ => serde_json::from_str(text.trim()).map_err(|error| {
            hinted(format!("the new value of `{}` is not JSON: {error}", one_line(field)), format!("Now it is {now}."))
        })?,
    };
    match edited.insert(field.to_owned(), value) {
        None => Ok(()),
        Some(_) => Err(hinted(format!("two values for `{}`", one_line(field)), "Give one.")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::which::tests::ask_with_key;
    use super::*;

    #[test]
    fn a_text_stays_a_text_and_the_rest_is_json() {
        let subject = json!({"tool": "Bash", "input": {"command": "ls", "timeout": 5}});
        let ask = AskView {
            kind: Kind::Permission,
            subject: Some(serde_json::from_value(subject).unwrap()),
            ..ask_with_key("s__t")
        };
        let edited = |given: &[&str]| {
            let given: Vec<_> = given.iter().map(|text| (*text).to_owned()).collect();
            edits(&ask, &given, &[]).map(|edited| json!(edited)).map_err(|error| error.to_string())
        };
        assert_eq!(edited(&["command=a=1 b", "timeout=7"]).unwrap(), json!({"command": "a=1 b", "timeout": 7}));
        assert_eq!(edited(&["command=5"]).unwrap(), json!({"command": "5"}));
        assert_eq!(edited(&[]).unwrap(), json!(null));
        for (given, error) in [
            (&["timeout=soon"][..], "not JSON"),
            (&["cwd=/"], "no field `cwd`"),
            (&["command"], "names no field"),
            (&["command=a", "command=b"], "two values"),
        ] {
            assert!(edited(given).unwrap_err().contains(error), "{given:?}");
        }
        assert!(edits(&ask_with_key("s__t"), &["a=b".to_owned()], &[]).unwrap_err().to_string().contains("a question"));
    }
}
