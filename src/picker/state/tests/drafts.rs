//! What was entered, in another picker.

use super::*;
use crate::picker::draft::Draft;

/// The same questions with what was entered in this picker.
fn again(picker: &Picker) -> Picker {
    let text = serde_json::to_string(&picker.state.draft()).unwrap();
    let draft: Draft = serde_json::from_str(&text).unwrap();
    let state = State::new(&TITLE, picker.questions).with_draft(&draft);
    Picker { questions: picker.questions, state }
}

#[test]
fn everything_that_was_entered_is_there_again() {
    let mut picker = Picker::new(json!([single("One?"), multi("Many?"), free("Free?")]));
    assert!(picker.state.draft().is_empty());
    picker.press("2");
    picker.press("space 3");
    picker.type_text("own words").press("esc");
    // Own words that were taken back stay, and are not chosen.
    picker.press("space n");
    picker.type_text("a note").press("enter");
    picker.press("tab");
    picker.type_text("half a sen");
    let copy = again(&picker);
    assert_eq!(copy.state.draft(), picker.state.draft());
    assert_eq!(copy.state.entries[..2], picker.state.entries[..2]);
    assert_eq!((copy.state.rows[0], copy.state.rows[1]), (1, 0));
    assert!(copy.state.message.is_some());
    let mut picker = Picker::new(json!([free("Free?")]));
    picker.type_text("half a sen");
    let mut copy = again(&picker);
    copy.type_text("tence");
    assert_eq!(copy.press("enter"), answer(json!({"Free?": "half a sentence"})));
}

#[test]
fn only_what_the_questions_allow_is_taken() {
    let questions = json!([{"question": "One?", "options": [{"label": "A"}], "freeText": false}]);
    let picker = Picker::new(questions);
    let draft = json!({"reason": "", "entries": [
        {"question": "One?", "chosen": ["Z", "A"], "words": "mine", "has_words": true, "note": ""},
        {"question": "Two?", "chosen": ["A"], "words": "", "has_words": false, "note": ""}]});
    let state = State::new(&TITLE, picker.questions).with_draft(&serde_json::from_value(draft).unwrap());
    assert_eq!(state.entries[0].value(&picker.questions[0]), json!("A"));
    assert_eq!(state.entries[0].other(), "");
}
