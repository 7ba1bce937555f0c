//! What a search looks at, and when two texts are the same to it.

use super::{Outcome, Questions};

/// Stands between the texts of an ask. A folded text never contains it, so nothing is found that begins in one text and ends in another.
const SEPARATOR: char = '\u{1f}';

/// The texts of an ask that are searched, folded: what was asked, what was answered, the notes, and the reason of a dismissal. Headers,
/// previews, and options that nobody chose are not among them.
pub fn searched_text(questions: Option<&Questions>, outcome: Option<&Outcome>) -> String {
    let asked = questions.into_iter().flat_map(Questions::as_slice).map(|question| question.question.as_str());
    let answer = outcome.and_then(Outcome::answer);
    let said = answer.into_iter().flat_map(|answer| answer.answers.values().chain(answer.notes.values()));
    let reason = match outcome {
        Some(Outcome::Dismissed { reason }) => reason.as_deref(),
        _ => None,
    };
    let mut joined = String::new();
    for text in asked.chain(said.map(String::as_str)).chain(reason) {
        if !joined.is_empty() {
            joined.push(SEPARATOR);
        }
        fold_into(&mut joined, text);
    }
    joined
}

/// What a person looks for, in the form in which it is found in [`searched_text`].
pub fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    fold_into(&mut folded, text);
    folded
}

/// The parts of a folded text that belong together.
pub fn parts(folded: &str) -> impl Iterator<Item = &str> {
    folded.split(SEPARATOR)
}

/// Upper and lower case are the same, in every script that has them.
fn fold_into(folded: &mut String, text: &str) {
    folded
        .extend(text.chars().flat_map(char::to_lowercase).map(|letter| if letter == SEPARATOR { ' ' } else { letter }));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn questions_answers_notes_and_reasons_are_searched_and_nothing_else() {
        let questions = json!([
            {"question": "WHICH?", "header": "Header", "options": [{"label": "Red", "description": "Warm", "preview": "Look"}]},
            {"question": "Ärger?"},
        ]);
        let questions: Questions = serde_json::from_value(questions).unwrap();
        let outcome = |value| serde_json::from_value::<Outcome>(value).unwrap();
        let answered = json!({"kind": "answered", "answers": {"WHICH?": "Blue"}, "notes": {"WHICH?": "A\u{1f}B"}, "edited": {"a": "c"}});
        for (outcome, expected) in [
            (None, "which?\u{1f}ärger?"),
            (Some(outcome(answered)), "which?\u{1f}ärger?\u{1f}blue\u{1f}a b"),
            (Some(outcome(json!({"kind": "dismissed", "reason": "Not NOW"}))), "which?\u{1f}ärger?\u{1f}not now"),
            (Some(outcome(json!({"kind": "dismissed"}))), "which?\u{1f}ärger?"),
            (Some(outcome(json!({"kind": "withdrawn"}))), "which?\u{1f}ärger?"),
        ] {
            assert_eq!(searched_text(Some(&questions), outcome.as_ref()), expected);
        }
        assert_eq!(searched_text(None, None), "");
        assert_eq!(folded("ÄRGER\u{1f}ΣΑΣ 日本"), "ärger σασ 日本");
    }
}
