//! What an approval needs: the cursor moved there, Enter, and everything read before.

use serde_json::json;

use super::*;
use crate::ask::{Kind, QuestionFault};
use crate::picker::Matter;
use crate::picker::state::Seen;

const WHOLE: Option<Seen> = Some(Seen { from: 0, to: 1, total: 1 });

fn permission() -> Picker {
    let labels = ["Allow once", "Always allow Bash(ls)", "Deny"].map(|label| json!({"label": label}));
    let mut picker = Picker::new(json!([{"question": "Allow Bash?", "options": labels}]));
    let matter: &'static Matter = Box::leak(Box::new(Matter { kind: Kind::Permission, headings: vec!["ls".into()] }));
    picker.state = State::new(&TITLE, picker.questions).about(matter);
    picker
}

fn answered(step: Step) -> Option<Value> {
    match step {
        Step::Done(Picked::Answer { answers, .. }) => answers.values().next().cloned(),
        _ => None,
    }
}

#[test]
fn no_single_key_approves() {
    for key in ["enter", "1", "2", "space", "up", "down", "home", "tab", "y", "a"] {
        let mut picker = permission();
        picker.state.saw(WHOLE);
        let answer = answered(picker.press(key));
        assert!(answer.is_none_or(|answer| answer == "Deny"), "{key}");
    }
    for (keys, label) in [("1 enter", "Allow once"), ("up enter", "Always allow Bash(ls)"), ("3", "Deny")] {
        let mut picker = permission();
        picker.state.saw(WHOLE);
        assert_eq!(answered(picker.press(keys)).unwrap(), label, "{keys}");
    }
}

#[test]
fn nothing_is_approved_before_all_of_it_was_on_the_screen() {
    let mut picker = permission();
    assert_eq!(picker.press("1 enter"), Step::Stay);
    assert!(picker.state.message.as_ref().unwrap().contains("Read all of it first"));
    // Somebody who jumps to the end has not seen the middle.
    for (from, to, is_enough) in [(0, 10, false), (20, 30, false), (9, 19, false), (18, 30, true)] {
        picker.state.saw(Some(Seen { from, to, total: 30 }));
        assert_eq!(answered(picker.press("1 enter")).is_some(), is_enough, "{from} to {to}");
    }
    // Nobody has to read anything to deny.
    assert_eq!(answered(permission().press("enter")).unwrap(), "Deny");
}

#[test]
fn words_of_ones_own_never_approve() {
    let mut picker = permission();
    picker.state.saw(WHOLE);
    picker.press("4");
    picker.type_text("Allow once");
    assert_eq!(picker.press("enter"), Step::Stay);
    assert!(picker.state.message.as_ref().unwrap().contains("deny the call"));
}

#[test]
fn an_optional_field_may_stay_empty_and_a_refused_one_is_shown() {
    let port = json!({"question": "Port", "options": []});
    let name = json!({"question": "Name", "options": [], "optional": true});
    let mut picker = Picker::new(json!([port, name]));
    picker.type_text("70000");
    assert_eq!(picker.press("enter tab"), Step::Stay);
    let step = picker.press("enter");
    let Step::Done(Picked::Answer { answers, .. }) = step else { panic!("{step:?}") };
    assert_eq!(serde_json::to_value(answers).unwrap(), json!({"Port": "70000"}));
    picker.state.refuse(&[QuestionFault { question: "Port".into(), problem: "must be at most 65535".into() }]);
    assert_eq!(picker.state.place, 0);
    assert_eq!(picker.state.message.as_deref(), Some("Port: must be at most 65535."));
}
