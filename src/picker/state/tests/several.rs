//! Several questions, and the review of their answers.

use super::*;

#[test]
fn back_and_forth_between_questions() {
    let mut picker = Picker::new(json!([single("Q?"), multi("R?"), free("S?")]));
    let mut seen = Vec::new();
    for name in ["left", "right", "j", "backtab", "tab", "tab", "tab", "right", "left", "backtab", "left"] {
        picker.press(name);
        seen.push(picker.state.place);
    }
    // In a text field, left moves in the text.
    assert_eq!(seen, [0, 1, 1, 0, 1, 2, 3, 3, 2, 1, 0]);
    picker.press("tab");
    assert_eq!(picker.row(), Row::Option(1), "each question keeps its cursor");
}

#[test]
fn tab_takes_own_words_along() {
    let mut picker = Picker::new(json!([single("Q?"), single("R?")]));
    picker.press("4 m tab");
    assert_eq!((picker.state.place, picker.texts(0)), (1, vec!["m"]));
    picker.press("4 backtab");
    assert_eq!((picker.state.place, picker.texts(1)), (0, vec![]));
}

#[test]
fn several_questions_are_reviewed_before_they_are_sent() {
    let mut picker = Picker::new(json!([single("Q?"), multi("R?"), free("S?")]));
    picker.press("2");
    assert_eq!(picker.state.place, 1);
    picker.press("1 end enter");
    assert_eq!(picker.state.place, 2);
    picker.type_text("text");
    assert_eq!(picker.press("enter"), Step::Stay);
    assert_eq!((picker.state.question(), picker.row()), (None, Row::Submit));
    picker.press("1 3");
    assert_eq!(picker.texts(0), ["C"]);
    assert_eq!(picker.state.question(), None, "back to the review when nothing is missing");
    picker.press("k k enter");
    assert_eq!(picker.state.place, 1);
    picker.press("tab tab");
    assert_eq!(picker.press("enter"), answer(json!({"Q?": "C", "R?": ["X"], "S?": "text"})));
}

#[test]
fn a_review_knows_what_is_missing_and_goes_there() {
    let mut picker = Picker::new(json!([single("Q?"), multi("R?"), single("S?")]));
    picker.press("1 tab 1");
    assert_eq!(picker.state.question(), None, "what is missing before is left to the review");
    assert_eq!(picker.press("enter"), Step::Stay);
    assert_eq!((picker.state.place, picker.message()), (1, "Many has no answer yet."));
    picker.press("1 backtab 4 clear esc");
    let mut picker = Picker::new(json!([single("Q?"), single("R?")]));
    picker.press("tab tab enter");
    assert_eq!((picker.state.place, picker.message()), (0, "Question 1 has no answer yet."));
    picker.press("1");
    assert_eq!((picker.state.place, picker.message()), (1, ""));
}

#[test]
fn a_review_knows_what_would_be_refused() {
    let mut picker = Picker::new(json!([multi("Q?"), single("R?")]));
    picker.press("1");
    picker.state.handle(&Key::Paste("x".repeat(MAX_TEXT)));
    picker.press("tab 1 enter");
    assert_eq!((picker.state.place, picker.message()), (0, "Many: the answer is over 16 KiB."));
}
