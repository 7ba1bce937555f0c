//! What the model gets: how an ask ended, as JSON and as text.

use serde_json::{Value, json};

use crate::api::{AskView, OutcomeView};
use crate::ask::{Channel, OutcomeKind, Question, labels_in};

use super::tool::NAME;

/// Said whenever there is no answer.
const NO_ANSWER: &str = "You have no answer. Do not make one up, and do not act as if you had one. Go on with what needs no answer, choose \
    the safest way and say that you did, or stop and say what you need.";

/// Said about words of somebody who is away.
const IN_ADVANCE: &str = "The person is away. They left these words in advance, for everything that is asked.";

/// The structured result of a settled ask. `None` if it is still open.
pub(super) fn structured(ask: &AskView) -> Option<Value> {
    let outcome = ask.outcome.as_ref()?;
    let answers: Vec<_> = answered(ask, outcome).map(|(question, answer)| entry(outcome, question, answer)).collect();
    let mut result = json!({"outcome": word(outcome.kind), "answers": answers});
    let unanswered = unanswered(ask, outcome);
    if !unanswered.is_empty() {
        result["unanswered"] = json!(unanswered);
    }
    if let Some(reason) = &outcome.reason {
        result["reason"] = json!(reason);
    }
    if let Some(by) = &outcome.by {
        result["by"] = json!(by);
    }
    // Claude Code shows the model this JSON and not the text.
    if let Some(advice) = advice(ask, outcome) {
        result["message"] = json!(advice);
    }
    Some(result)
}

/// What the model must know besides the answers, if there is anything.
fn advice(ask: &AskView, outcome: &OutcomeView) -> Option<String> {
    let said = match outcome.kind {
        OutcomeKind::Answered | OutcomeKind::AnsweredInTerminal => {
            let is_in_advance = outcome.by.as_ref().is_some_and(|by| by.channel == Channel::Away);
            let parts = [
                is_in_advance.then_some(IN_ADVANCE),
                (!unanswered(ask, outcome).is_empty())
                    .then_some("Do not make up answers to the questions that were left unanswered."),
            ];
            let said: Vec<_> = parts.into_iter().flatten().collect();
            return (!said.is_empty()).then(|| said.join(" "));
        }
        OutcomeKind::Dismissed => "A person saw this and refused to answer. Do not ask the same again.",
        OutcomeKind::Released => "A person closed this without an answer.",
        OutcomeKind::Expired => "Nobody answered in time.",
        OutcomeKind::Withdrawn => "The question was taken back before anybody answered.",
    };
    Some(format!("{said} {NO_ANSWER}"))
}

/// The same as a text. Whatever people and agents wrote is quoted.
pub(super) fn text(ask: &AskView) -> String {
    let Some(outcome) = &ask.outcome else { return String::new() };
    let mut lines = Vec::new();
    for (question, answer) in answered(ask, outcome) {
        lines.push(format!("{} = {}", json!(question.question), json!(answer)));
        lines.extend(note(outcome, question).map(|note| format!("  with the note {}", json!(note))));
    }
    if !lines.is_empty() {
        lines.insert(0, "A person answered:".to_owned());
    }
    lines.extend(
        unanswered(ask, outcome).into_iter().map(|question| format!("{} was left unanswered.", json!(question))),
    );
    lines.extend(outcome.reason.as_ref().map(|reason| format!("Their reason: {}", json!(reason))));
    lines.extend(advice(ask, outcome));
    lines.join("\n")
}

/// The questions that have an answer, in their order.
fn answered<'a>(ask: &'a AskView, outcome: &'a OutcomeView) -> impl Iterator<Item = (&'a Question, &'a str)> {
    let answer = |question: &Question| outcome.answers.as_ref()?.get(&question.question).map(String::as_str);
    ask.questions.iter().filter_map(move |question| Some((question, answer(question)?)))
}

/// The questions that somebody who answered has left out.
fn unanswered<'a>(ask: &'a AskView, outcome: &OutcomeView) -> Vec<&'a str> {
    let Some(answers) = &outcome.answers else { return Vec::new() };
    let texts = ask.questions.iter().map(|question| question.question.as_str());
    texts.filter(|text| !answers.contains_key(*text)).collect()
}

fn note<'a>(outcome: &'a OutcomeView, question: &Question) -> Option<&'a String> {
    outcome.notes.as_ref()?.get(&question.question)
}

fn entry(outcome: &OutcomeView, question: &Question, answer: &str) -> Value {
    let mut entry = json!({"question": question.question, "answer": answer});
    let choices = if question.multi_select { labels_in(question, answer) } else { Vec::new() };
    if !choices.is_empty() {
        entry["choices"] = json!(choices);
    }
    if let Some(note) = note(outcome, question) {
        entry["note"] = json!(note);
    }
    entry
}

/// A program has no terminal of its own to be answered in. Should it ever be, then it was answered.
fn word(kind: OutcomeKind) -> Value {
    match kind {
        OutcomeKind::AnsweredInTerminal => json!(OutcomeKind::Answered),
        kind => json!(kind),
    }
}

/// What the model is told if the daemon cannot be used.
pub(super) fn failure(error: &str, hint: Option<&str>) -> String {
    let hint = hint.map_or_else(String::new, |hint| format!(" A person can help: {hint}"));
    format!("{NAME} could not reach a person: {error}.{hint} {NO_ANSWER}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(outcome: Value) -> AskView {
        serde_json::from_value(json!({
            "key": "program-1__1", "id": 1, "session": "program-1", "tool_use_id": "1", "origin": "program", "project": "/home/me/shop",
            "questions": [
                {"question": "Which database?", "options": [{"label": "SQLite"}, {"label": "Postgres, managed"}], "multiSelect": true},
                {"question": "Which name?"},
            ],
            "state": "settled", "racing": false, "deferred": false, "receipt": null, "opened_at": "2026-11-16T09:30:00Z",
            "expires_at": null, "settled_at": "2026-11-16T09:31:00Z", "outcome": outcome,
        }))
        .unwrap()
    }

    #[test]
    fn an_answer_has_choices_notes_and_its_source() {
        let ask = ask(
            json!({"kind": "answered", "answers": {"Which database?": "SQLite, Postgres, managed", "Which name?": "a\n\"b\""},
            "notes": {"Which name?": "for now"}, "by": {"channel": "page", "device": "Anna's phone"}}),
        );
        assert_eq!(
            structured(&ask).unwrap(),
            json!({"outcome": "answered", "by": {"channel": "page", "device": "Anna's phone"}, "answers": [
                {"question": "Which database?", "answer": "SQLite, Postgres, managed", "choices": ["SQLite", "Postgres, managed"]},
                {"question": "Which name?", "answer": "a\n\"b\"", "note": "for now"},
            ]})
        );
        assert_eq!(
            text(&ask),
            "A person answered:\n\"Which database?\" = \"SQLite, Postgres, managed\"\n\"Which name?\" = \"a\\n\\\"b\\\"\"\n  with the note \"for now\""
        );
    }

    #[test]
    fn what_was_left_out_is_said() {
        let ask = ask(json!({"kind": "answered", "answers": {"Which name?": "x"}, "by": {"channel": "away"}}));
        assert_eq!(structured(&ask).unwrap()["unanswered"], json!(["Which database?"]));
        let text = text(&ask);
        assert!(
            text.contains("left these words in advance") && text.contains("\"Which database?\" was left unanswered"),
            "{text}"
        );
        let message = structured(&ask).unwrap()["message"].as_str().unwrap().to_owned();
        assert!(message.contains("in advance") && message.contains("Do not make up answers"), "{message}");
    }

    #[test]
    fn without_an_answer_the_model_is_told_not_to_make_one_up() {
        for (outcome, word, why) in [
            (
                json!({"kind": "dismissed", "reason": "not \"now\"", "by": {"channel": "token"}}),
                "dismissed",
                r#"Their reason: "not \"now\"""#,
            ),
            (json!({"kind": "dismissed", "by": null}), "dismissed", "refused to answer"),
            (json!({"kind": "released", "by": null}), "released", "closed this without an answer"),
            (json!({"kind": "expired", "by": null}), "expired", "Nobody answered in time"),
            (json!({"kind": "withdrawn", "by": null}), "withdrawn", "taken back"),
        ] {
            let ask = ask(outcome);
            let (structured, text) = (structured(&ask).unwrap(), text(&ask));
            assert_eq!((&structured["outcome"], &structured["answers"]), (&json!(word), &json!([])));
            assert!(text.contains(why) && text.contains("Do not make one up"), "{text}");
            assert!(structured["message"].as_str().unwrap().contains("Do not make one up"), "{structured}");
        }
        assert!(failure("the daemon does not start", Some("Set HOME.")).contains("Do not make one up"));
    }
}
