//! The kind `form`: an `Elicitation`, with which an MCP server asks for values or wants an address to be opened. Claude Code shows its own
//! dialog only if the hook ends without a decision, and it does not check the values.

use serde_json::{Map, Number, Value, json};

use crate::ask::form::{ACCEPT, DECLINE, Field, FieldType, NO, OWN_FIELD, YES, fields};
use crate::ask::{Answer, Ask, Kind, News, Question, QuestionOption, Questions, Topic, labels_in};

use super::super::call::HookInput;
use super::super::changed_file::CurrentFile;
use super::tool_input::{InputError, digest_of};
use super::{Asked, CallKind, Decision, Reported};

const EVENT: &str = "Elicitation";

/// A form of an MCP server.
pub(super) struct Form;

/// One of the values that a field can have.
struct Choice {
    label: String,
    value: Value,
}

impl CallKind for Form {
    fn is_asked_by(&self, hook: &HookInput) -> bool {
        hook.hook_event_name == EVENT && !is_own(hook)
    }

    fn asked(&self, hook: &HookInput, _file: &CurrentFile) -> Result<Asked, InputError> {
        let server = hook.mcp_server_name.as_deref().unwrap_or("A server");
        let message = hook.message.as_deref().unwrap_or_default();
        let mut subject = Map::from_iter([
            ("server".to_owned(), json!(server)),
            ("message".to_owned(), json!(message)),
            ("mode".to_owned(), json!(if hook.url.is_some() { "url" } else { "form" })),
        ]);
        let questions = match &hook.url {
            Some(url) => {
                subject.insert("url".to_owned(), json!(url));
                vec![address_question(server, message, url)]
            }
            None => {
                let (fields, questions) = form(hook, server)?;
                subject.insert("fields".to_owned(), json!(fields));
                questions
            }
        };
        let topic = Topic::new(Kind::Form, Some(subject), Questions::new(questions)?)?;
        Ok(Asked { topic, digest: self.digest(hook)? })
    }

    fn digest(&self, hook: &HookInput) -> Result<String, InputError> {
        let form = [&hook.requested_schema, &hook.url.clone().map(Value::String)];
        Ok(digest_of(&json!([hook.mcp_server_name, hook.message, form, hook.elicitation_id])))
    }

    /// Claude Code reports nothing about a form that a hook has answered.
    fn reported(&self, hook: &HookInput) -> Result<Reported, InputError> {
        Ok(Reported { digest: Some(self.digest(hook)?), news: News::Refused(None) })
    }

    fn decide(&self, ask: &Ask, answer: &Answer, hook: Option<&HookInput>) -> Decision {
        let subject = ask.subject.as_ref();
        if subject.and_then(|subject| subject.text("mode")) == Some("url") {
            return match answer.answers.values().next().map(String::as_str) {
                Some(ACCEPT) => Decision::Allow { input: None, permissions: Vec::new() },
                _ => Decision::Deny("declined".to_owned()),
            };
        }
        let schema = hook.and_then(|hook| hook.requested_schema.as_ref());
        let mut content = Map::new();
        for field in fields(subject) {
            let Some(text) = answer.answers.get(&field.question) else { continue };
            let question = ask.questions.get(&field.question);
            content.insert(field.name.clone(), value(&field, text, question, schema));
        }
        Decision::Allow { input: Some(content), permissions: Vec::new() }
    }

    fn noun(&self) -> &'static str {
        "form"
    }

    fn context(&self, _: &Ask, _: &Answer) -> Option<String> {
        None
    }
}

/// Whether our own MCP server shows the form. Its questions are in the inbox already, and nobody is to be asked twice.
fn is_own(hook: &HookInput) -> bool {
    let properties = hook.requested_schema.as_ref().and_then(|schema| schema.get("properties")?.as_object());
    properties.is_some_and(|fields| !fields.is_empty() && fields.keys().all(|name| name.starts_with(OWN_FIELD)))
}

fn option(label: &str, description: &str) -> QuestionOption {
    QuestionOption { label: label.to_owned(), description: description.to_owned(), preview: None }
}

fn address_question(server: &str, message: &str, url: &str) -> Question {
    Question {
        question: format!("{server} wants you to open this address. {message}\n\n{url}"),
        header: server.to_owned(),
        options: vec![
            option(ACCEPT, "You have opened it, or are going to."),
            option(DECLINE, "You do not want to open it."),
        ],
        multi_select: false,
        free_text: false,
        optional: false,
    }
}

/// The fields of a schema, and a question for each of them.
fn form(hook: &HookInput, server: &str) -> Result<(Vec<Field>, Vec<Question>), InputError> {
    let schema = hook.requested_schema.as_ref().ok_or(InputError::NoInput)?;
    let properties = schema.get("properties").and_then(Value::as_object).ok_or(InputError::NoInput)?;
    let required = schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let (mut fields, mut questions): (Vec<Field>, Vec<Question>) = Default::default();
    for (name, rules) in properties {
        let title = rules.get("title").and_then(Value::as_str).filter(|title| !title.trim().is_empty()).unwrap_or(name);
        // Two fields may have the same title, but an answer names its question by its text.
        let is_taken = questions.iter().any(|other| other.question == title);
        let text = if is_taken { format!("{title} ({name})") } else { title.to_owned() };
        let is_required = required.iter().any(|required| required.as_str() == Some(name));
        let field = field(name, &text, rules, is_required);
        let options: Vec<_> = match field.kind {
            FieldType::Boolean => vec![option(YES, ""), option(NO, "")],
            _ => choices(rules).iter().map(|choice| option(&choice.label, "")).collect(),
        };
        questions.push(Question {
            question: text,
            header: server.to_owned(),
            multi_select: field.kind == FieldType::Choices,
            free_text: options.is_empty(),
            options,
            optional: !is_required,
        });
        fields.push(field);
    }
    Ok((fields, questions))
}

fn field(name: &str, question: &str, rules: &Value, required: bool) -> Field {
    let has_choices = !choices(rules).is_empty();
    let count = |name: &str| rules.get(name).and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok());
    let text = |name: &str| rules.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
    Field {
        name: name.to_owned(),
        question: question.to_owned(),
        kind: match rules.get("type").and_then(Value::as_str) {
            Some("array") => FieldType::Choices,
            _ if has_choices => FieldType::Choice,
            Some("boolean") => FieldType::Boolean,
            Some("integer") => FieldType::Integer,
            Some("number") => FieldType::Number,
            _ => FieldType::String,
        },
        required,
        description: text("description"),
        default: rules.get("default").cloned(),
        format: text("format"),
        minimum: rules.get("minimum").and_then(Value::as_f64),
        maximum: rules.get("maximum").and_then(Value::as_f64),
        min_length: count("minLength"),
        max_length: count("maxLength"),
        min_items: count("minItems"),
        max_items: count("maxItems"),
    }
}

/// The values that a field can have, in any of the ways in which schemas write them: `enum` with `enumNames`, or `oneOf` and `anyOf` with
/// `const` and `title`. Those of an array are in its `items`.
fn choices(rules: &Value) -> Vec<Choice> {
    let rules = rules.get("items").unwrap_or(rules);
    let list = |name: &str| rules.get(name).and_then(Value::as_array);
    let label = |title: Option<&Value>, value: &Value| match title.and_then(Value::as_str).or(value.as_str()) {
        Some(text) if !text.trim().is_empty() => text.to_owned(),
        _ => value.to_string(),
    };
    let mut choices: Vec<Choice> = if let Some(values) = list("enum") {
        let names = list("enumNames").map(Vec::as_slice).unwrap_or_default();
        let choice =
            |(index, value): (usize, &Value)| Choice { label: label(names.get(index), value), value: value.clone() };
        values.iter().enumerate().map(choice).collect()
    } else {
        let titled = list("oneOf").or_else(|| list("anyOf")).into_iter().flatten();
        let choice = |each: &Value| {
            let value = each.get("const")?.clone();
            Some(Choice { label: label(each.get("title"), &value), value })
        };
        titled.filter_map(choice).collect()
    };
    // Two values with one name could not be told apart, so the value is added to the name, as often as it takes.
    for index in 0..choices.len() {
        let is_named = |label: &str, among: &[Choice]| among.iter().any(|other| other.label == label);
        let mut label = choices[index].label.clone();
        if is_named(&label, &choices[..index]) {
            while is_named(&label, &choices) {
                label = format!("{label} ({})", choices[index].value);
            }
            choices[index].label = label;
        }
    }
    choices
}

/// A checked text as the JSON that the schema wants.
fn value(field: &Field, text: &str, question: Option<&Question>, schema: Option<&Value>) -> Value {
    let rules = schema.and_then(|schema| schema.get("properties")?.get(&field.name)).unwrap_or(&Value::Null);
    let of_label = |label: &str| {
        let choice = choices(rules).into_iter().find(|choice| choice.label == label);
        choice.map_or_else(|| json!(label), |choice| choice.value)
    };
    match field.kind {
        FieldType::Integer => text.trim().parse::<i64>().map_or_else(|_| json!(text), |number| json!(number)),
        FieldType::Number => {
            let number = text.trim().parse::<f64>().ok().and_then(Number::from_f64);
            // A whole number stays one: `8080` must not become `8080.0`.
            text.trim()
                .parse::<i64>()
                .map_or_else(|_| number.map_or_else(|| json!(text), Value::Number), |whole| json!(whole))
        }
        FieldType::Boolean => json!(text == YES),
        FieldType::Choice => of_label(text),
        FieldType::Choices => {
            let labels = question.map(|question| labels_in(question, text)).unwrap_or_default();
            labels.into_iter().map(of_label).collect()
        }
        FieldType::String => json!(text),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::super::call::Call;
    use super::super::super::client::Client;
    use super::*;
    use crate::ask::samples;
    use crate::ask::{Kind, Outcome, Settlement};

    fn schema() -> Value {
        json!({"type": "object", "required": ["port", "size"], "properties": {
            "port": {"type": "integer", "title": "Port", "minimum": 1, "maximum": 65535},
            "ratio": {"type": "number", "title": "Port"},
            "tls": {"type": "boolean", "default": true},
            "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]},
            "zone": {"oneOf": [{"const": 1, "title": "One"}, {"const": 2, "title": "One"}]},
            "tags": {"type": "array", "minItems": 1, "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}},
            "mail": {"type": "string", "format": "email", "description": "For receipts"},
        }})
    }

    #[test]
    fn every_choice_has_a_name_of_its_own() {
        let titled = [(1, "A (2)"), (9, "A"), (2, "A"), (2, "A")];
        let rules = json!({"oneOf": titled.map(|(value, title)| json!({"const": value, "title": title}))});
        let labels: Vec<String> = choices(&rules).into_iter().map(|choice| choice.label).collect();
        assert_eq!(labels, ["A (2)", "A", "A (2) (2)", "A (2) (2) (2)"]);
    }

    fn call(extra: Value) -> Call {
        let mut body = json!({"hook_event_name": "Elicitation", "session_id": "s", "mcp_server_name": "shop",
            "message": "Where does it run?"});
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        Call::read(body.to_string().as_bytes(), Client::default()).unwrap()
    }

    fn ask(call: &Call) -> Ask {
        let asked = Form.asked(&call.hook, &CurrentFile::Unseen).unwrap();
        Ask {
            kind: Kind::Form,
            subject: asked.topic.subject().cloned(),
            questions: asked.topic.questions().clone(),
            ..samples::ask(1, "s__t", "shop", 1)
        }
    }

    fn decide(ask: &Ask, call: &Call, answers: Value) -> Result<Value, Vec<String>> {
        let answers = serde_json::from_value(answers).unwrap();
        let checked = Answer::new(&ask.questions, &answers, &Default::default(), false)
            .and_then(|answer| ask.check(&answer).map(|()| answer));
        let answer = checked.map_err(|error| {
            error.faults.iter().map(|f| format!("{}: {}", f.question, f.problem)).collect::<Vec<_>>()
        })?;
        let mut ask = ask.clone();
        let outcome = Outcome::Answered(answer.clone());
        ask.settlement = Some(Settlement { outcome, by: None, at: Timestamp::UNIX_EPOCH });
        match Form.decide(&ask, &answer, Some(&call.hook)) {
            Decision::Allow { input, .. } => Ok(input.map_or(Value::Null, Value::Object)),
            Decision::Deny(reason) => Ok(json!(reason)),
        }
    }

    #[test]
    fn the_fields_of_a_schema_are_questions_and_come_back_as_their_types() {
        let call = call(json!({"mode": "form", "requested_schema": schema()}));
        let ask = ask(&call);
        let texts: Vec<_> = ask.questions.iter().map(|question| question.question.as_str()).collect();
        assert_eq!(texts, ["Port", "Port (ratio)", "tls", "size", "zone", "tags", "mail"]);
        assert!(!ask.questions.as_slice()[0].optional && ask.questions.as_slice()[1].optional);
        let content = decide(
            &ask,
            &call,
            json!({"Port": "8080", "Port (ratio)": "0.5", "tls": "No", "size": "Large",
            "zone": "One (2)", "tags": ["A", "B"], "mail": "me@example.org"}),
        );
        assert_eq!(
            content.unwrap(),
            json!({"port": 8080, "ratio": 0.5, "tls": false, "size": "l", "zone": 2,
            "tags": ["a", "b"], "mail": "me@example.org"})
        );
        let content = decide(&ask, &call, json!({"Port": "80", "Port (ratio)": "2", "size": "Small"})).unwrap();
        assert_eq!(content, json!({"port": 80, "ratio": 2, "size": "s"}));
    }

    #[test]
    fn a_value_that_breaks_a_rule_is_refused_with_its_field() {
        let call = call(json!({"mode": "form", "requested_schema": schema()}));
        let refused = |answers: Value| decide(&ask(&call), &call, answers).unwrap_err();
        assert_eq!(refused(json!({"Port": "70000", "size": "Small"})), ["Port: must be at most 65535"]);
        assert_eq!(refused(json!({"Port": "80", "size": "Medium"})).len(), 1);
        assert_eq!(refused(json!({"Port": "80"})), ["size: this question is not answered"]);
        assert_eq!(refused(json!({"Port": "80", "size": "Small", "mail": "me"})).len(), 1);
    }

    #[test]
    fn an_address_is_accepted_or_declined() {
        let call = call(json!({"mode": "url", "url": "https://pay.example/x?y=1", "elicitation_id": "e1"}));
        let ask = ask(&call);
        let question = ask.questions.as_slice()[0].question.clone();
        assert!(question.contains("https://pay.example/x?y=1"));
        assert_eq!(decide(&ask, &call, json!({question.clone(): "Accept"})).unwrap(), Value::Null);
        assert_eq!(decide(&ask, &call, json!({question.clone(): "Decline"})).unwrap(), json!("declined"));
        assert!(decide(&ask, &call, json!({question: "yes"})).is_err());
    }

    #[test]
    fn what_is_no_form_is_left_to_the_terminal() {
        for schema in [json!(null), json!({}), json!({"properties": []}), json!({"properties": {}})] {
            let call = call(json!({"mode": "form", "requested_schema": schema}));
            assert!(Form.asked(&call.hook, &CurrentFile::Unseen).is_err(), "{schema}");
        }
    }
}
