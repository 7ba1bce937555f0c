//! Every key, on every kind of question.

mod approval;
mod drafts;
mod several;

use serde_json::{Value, json};

use super::*;
use crate::ask::MAX_TEXT;

static TITLE: Title = Title { project: String::new(), session: String::new(), age: String::new() };

fn single(text: &str) -> Value {
    json!({"question": text, "header": "", "options": [{"label": "A"}, {"label": "B"}, {"label": "C"}]})
}

fn multi(text: &str) -> Value {
    json!({"question": text, "header": "Many", "multiSelect": true, "options": [{"label": "X"}, {"label": "Y, Z"}]})
}

fn free(text: &str) -> Value {
    json!({"question": text, "header": "Free", "options": []})
}

/// A name, or a character.
fn key(name: &str) -> Key {
    match name {
        "enter" => Key::Enter,
        "break" => Key::LineBreak,
        "tab" => Key::Tab,
        "backtab" => Key::BackTab,
        "esc" => Key::Esc,
        "ctrl-c" => Key::Interrupt,
        "backspace" => Key::Backspace,
        "clear" => Key::DeleteToStart,
        "up" => Key::Up,
        "down" => Key::Down,
        "left" => Key::Left,
        "right" => Key::Right,
        "home" => Key::Home,
        "end" => Key::End,
        "pgup" => Key::PageUp,
        "pgdn" => Key::PageDown,
        "space" => Key::Char(' '),
        _ if name.chars().count() == 1 => Key::Char(name.chars().next().unwrap()),
        _ => panic!("no key {name}"),
    }
}

struct Picker {
    questions: &'static [Question],
    state: State<'static>,
}

impl Picker {
    fn new(questions: Value) -> Self {
        let questions: Vec<Question> = serde_json::from_value(questions).unwrap();
        let questions: &'static [Question] = questions.leak();
        let mut state = State::new(&TITLE, questions);
        state.shown(Extent { top: 0, page: 5, field: 20 });
        Self { questions, state }
    }

    /// Keys by name; only the last may end it.
    #[track_caller]
    fn press(&mut self, keys: &str) -> Step {
        let mut last = Step::Stay;
        for name in keys.split(' ') {
            assert_eq!(last, Step::Stay, "ended before {name}");
            last = self.state.handle(&key(name));
        }
        last
    }

    fn type_text(&mut self, text: &str) -> &mut Self {
        for character in text.chars() {
            assert_eq!(self.state.handle(&Key::Char(character)), Step::Stay);
        }
        self
    }

    fn row(&self) -> Row {
        self.state.rows()[self.state.row()]
    }

    fn texts(&self, index: usize) -> Vec<&str> {
        self.state.entries[index].texts(&self.questions[index])
    }

    fn message(&self) -> &str {
        self.state.message.as_deref().unwrap_or_default()
    }
}

fn answer(answers: Value) -> Step {
    annotated(answers, json!({}))
}

fn annotated(answers: Value, notes: Value) -> Step {
    let (answers, notes) = (serde_json::from_value(answers).unwrap(), serde_json::from_value(notes).unwrap());
    Step::Done(Picked::Answer { answers, notes })
}

fn typed(state: &State<'_>) -> (Field, String) {
    let Mode::Typing(field, editor) = &state.mode else { panic!("{:?}", state.mode) };
    (*field, editor.text().to_owned())
}

#[test]
fn one_single_choice_is_sent_at_once() {
    for (keys, expected) in [
        ("enter", "A"),
        ("down enter", "B"),
        ("j j enter", "C"),
        ("j j k enter", "B"),
        ("2", "B"),
        ("end up up enter", "B"),
        ("j home enter", "A"),
        ("space j enter", "B"),
        ("9 0 7 tab left right pgdn x enter", "A"),
    ] {
        assert_eq!(Picker::new(json!([single("Q?")])).press(keys), answer(json!({"Q?": expected})), "{keys}");
    }
}

#[test]
fn the_list_goes_round() {
    let mut picker = Picker::new(json!([single("Q?")]));
    picker.press("k");
    assert_eq!((picker.row(), &picker.state.mode), (Row::Other, &Mode::Choosing));
    picker.press("j");
    assert_eq!(picker.row(), Row::Option(0));
    let mut picker = Picker::new(json!([multi("Q?")]));
    picker.press("up");
    assert_eq!(picker.row(), Row::Continue);
}

#[test]
fn space_chooses_without_going_on() {
    let mut picker = Picker::new(json!([single("Q?"), single("R?")]));
    picker.press("j space");
    assert_eq!((picker.state.place, picker.texts(0)), (0, vec!["B"]));
    picker.press("k space");
    assert_eq!(picker.texts(0), ["A"]);
}

#[test]
fn own_words_are_text_whatever_the_keys_mean_elsewhere() {
    for way in ["4", "up", "down down down", "j j j enter", "k space"] {
        let mut picker = Picker::new(json!([single("Q?")]));
        picker.press(way);
        picker.type_text("jk nd?q r1 v");
        assert_eq!(typed(&picker.state), (Field::Other, "jk nd?q r1 v".into()), "{way}");
        assert_eq!(picker.press("enter"), answer(json!({"Q?": "jk nd?q r1 v"})), "{way}");
    }
}

#[test]
fn without_free_text_there_are_only_the_options() {
    let only = |mut question: Value| {
        question["freeText"] = json!(false);
        Picker::new(json!([question]))
    };
    let mut picker = only(single("Q?"));
    picker.press("up");
    assert_eq!((picker.row(), &picker.state.mode), (Row::Option(2), &Mode::Choosing));
    picker.press("4");
    picker.state.handle(&Key::Paste("mine".into()));
    assert_eq!((picker.row(), &picker.state.mode), (Row::Option(2), &Mode::Choosing));
    assert_eq!(picker.press("enter"), answer(json!({"Q?": "C"})));
    let mut picker = only(multi("Q?"));
    picker.press("1 down down");
    assert_eq!(picker.row(), Row::Continue);
    assert_eq!(picker.press("enter"), answer(json!({"Q?": ["X"]})));
}

#[test]
fn own_words_stay_when_one_looks_elsewhere() {
    let mut picker = Picker::new(json!([single("Q?")]));
    picker.press("4");
    picker.type_text("mine");
    picker.press("up");
    assert_eq!((picker.row(), &picker.state.mode), (Row::Option(2), &Mode::Choosing));
    assert!(picker.texts(0).is_empty(), "only looked at");
    picker.press("down");
    assert_eq!(typed(&picker.state).1, "mine");
    picker.press("esc");
    assert_eq!((picker.row(), &picker.state.mode), (Row::Other, &Mode::Choosing));
    picker.press("space");
    assert_eq!(picker.texts(0), ["mine"]);
    assert_eq!(picker.press("enter break x enter"), answer(json!({"Q?": "mine\nx"})));
}

#[test]
fn own_words_that_are_none_are_not_taken() {
    let mut picker = Picker::new(json!([single("Q?")]));
    picker.press("4 space break enter");
    assert_eq!(picker.message(), "Nothing is written yet.");
    assert_eq!(typed(&picker.state).0, Field::Other);
    picker.press("x");
    assert_eq!(picker.message(), "");
}

#[test]
fn up_and_down_first_move_in_the_text() {
    let mut picker = Picker::new(json!([single("Q?")]));
    picker.press("4 a break b up");
    assert_eq!(typed(&picker.state).1, "a\nb");
    picker.press("up");
    assert_eq!(picker.row(), Row::Option(2));
}

#[test]
fn a_paste_is_own_words() {
    let mut picker = Picker::new(json!([single("Q?")]));
    assert_eq!(picker.state.handle(&Key::Paste("1\r\nq\r\n".into())), Step::Stay);
    assert_eq!(typed(&picker.state), (Field::Other, "1\nq\n".into()));
    assert_eq!(picker.press("enter"), answer(json!({"Q?": "1\nq"})));
    let mut picker = Picker::new(json!([single("Q?"), single("R?")]));
    picker.press("tab tab");
    picker.state.handle(&Key::Paste("x".into()));
    assert_eq!(picker.state.mode, Mode::Choosing, "nothing to type in the review");
}

#[test]
fn a_text_that_is_too_long_is_cut_and_told() {
    let mut picker = Picker::new(json!([single("Q?")]));
    picker.state.handle(&Key::Paste("x".repeat(MAX_TEXT + 1)));
    assert!(picker.message().contains("16 KiB"));
    assert_eq!(typed(&picker.state).1.len(), MAX_TEXT);
}

#[test]
fn several_are_ticked_and_sent_with_own_words() {
    let mut picker = Picker::new(json!([multi("Q?")]));
    assert_eq!(picker.press("space"), Step::Stay);
    picker.press("2 1 j enter");
    assert_eq!(picker.texts(0), Vec::<&str>::new(), "each key ticks or unticks");
    picker.press("k enter 2 3");
    picker.type_text("and more");
    assert_eq!(picker.press("enter"), Step::Stay);
    assert_eq!(picker.row(), Row::Continue);
    assert_eq!(picker.press("enter"), answer(json!({"Q?": ["X", "Y, Z", "and more"]})));
}

#[test]
fn own_words_of_a_multi_select_can_be_left_out_and_kept() {
    let mut picker = Picker::new(json!([multi("Q?")]));
    picker.press("1 3 m up");
    assert_eq!(picker.texts(0), ["X", "m"], "typing ticks");
    picker.press("down esc space");
    assert_eq!(picker.texts(0), ["X"]);
    picker.press("space enter clear esc");
    assert_eq!(picker.texts(0), ["X"]);
    assert_eq!(picker.press("enter enter enter"), answer(json!({"Q?": ["X"]})));
}

#[test]
fn one_choice_of_a_multi_select_is_still_an_array() {
    assert_eq!(Picker::new(json!([multi("Q?")])).press("1 tab enter"), answer(json!({"Q?": ["X"]})));
    assert_eq!(Picker::new(json!([multi("Q?")])).press("3 m tab enter"), answer(json!({"Q?": ["m"]})));
    let mut picker = Picker::new(json!([multi("Q?")]));
    picker.press("end enter");
    assert_eq!((picker.message(), picker.row()), ("Nothing is chosen yet.", Row::Continue));
}

#[test]
fn a_question_without_options_is_typed_at_once() {
    let mut picker = Picker::new(json!([free("Q?")]));
    picker.type_text("deploy");
    picker.press("up down tab");
    assert_eq!(typed(&picker.state).1, "deploy");
    assert_eq!(picker.press("enter"), answer(json!({"Q?": "deploy"})));
    let mut picker = Picker::new(json!([free("Q?")]));
    assert_eq!(picker.press("esc esc"), Step::Done(Picked::Quit));
}

#[test]
fn notes_go_along() {
    let mut picker = Picker::new(json!([single("Q?"), single("R?")]));
    picker.press("n");
    picker.type_text("because n q");
    assert_eq!(picker.press("tab up enter"), Step::Stay);
    assert_eq!(picker.state.entries[0].note, "because n q");
    picker.press("1 n x esc");
    assert_eq!(picker.state.entries[1].note, "x", "what is typed stays");
    picker.press("n clear enter");
    assert_eq!(
        picker.press("2 enter"),
        annotated(json!({"Q?": "A", "R?": "B"}), json!({"Q?": "because n q"})),
        "an empty note is none"
    );
}

#[test]
fn dismissing_takes_a_reason_or_none() {
    let dismissed = |reason: Option<&str>| Step::Done(Picked::Dismiss { reason: reason.map(Into::into) });
    assert_eq!(Picker::new(json!([single("Q?")])).press("d enter"), dismissed(None));
    assert_eq!(Picker::new(json!([single("Q?")])).press("d n o enter"), dismissed(Some("no")));
    let mut picker = Picker::new(json!([single("Q?"), single("R?")]));
    picker.press("d n o esc");
    assert_eq!(picker.state.mode, Mode::Choosing);
    assert_eq!(picker.press("tab tab d t enter"), dismissed(Some("not")), "also in the review, where it was left");
}

#[test]
fn releasing_is_asked_twice() {
    for keys in ["r r", "r enter", "r y"] {
        assert_eq!(Picker::new(json!([single("Q?")])).press(keys), Step::Done(Picked::Release), "{keys}");
    }
    let mut picker = Picker::new(json!([single("Q?")]));
    assert_eq!(picker.press("r esc"), Step::Stay);
    assert_eq!(picker.press("r 1"), Step::Stay, "a key is taken for one thing only");
    assert!(picker.texts(0).is_empty());
}

#[test]
fn leaving_asks_only_if_something_would_be_lost() {
    for keys in ["esc", "q", "ctrl-c", "4 ctrl-c", "n x ctrl-c", "? ctrl-c", "r ctrl-c", "4 esc q", "j j esc"] {
        assert_eq!(Picker::new(json!([single("Q?")])).press(keys), Step::Done(Picked::Quit), "{keys}");
    }
    for touched in ["space", "n x enter", "4 x esc", "d x esc"] {
        let mut picker = Picker::new(json!([single("Q?")]));
        picker.press(touched);
        assert_eq!(picker.press("q"), Step::Stay, "{touched}");
        assert_eq!(picker.state.mode, Mode::Confirming(Confirm::Leave));
        assert_eq!(picker.press("space"), Step::Stay);
        assert_eq!(picker.state.mode, Mode::Choosing);
        assert_eq!(picker.press("esc esc"), Step::Done(Picked::Quit));
    }
}

#[test]
fn pages_are_read_and_closed() {
    for (open, page) in [("?", Page::Keys), ("v", Page::Question)] {
        let mut picker = Picker::new(json!([single("Q?")]));
        picker.press(open);
        let top = |picker: &Picker| match picker.state.mode {
            Mode::Reading(shown, top) if shown == page => top,
            ref mode => panic!("{mode:?}"),
        };
        for (name, expected) in [("down", 1), ("j", 2), ("space", 6), ("k", 5), ("pgup", 1), ("up", 0), ("pgdn", 4)] {
            picker.press(name);
            assert_eq!(top(&picker), expected, "{name}");
        }
        picker.press("end down pgdn");
        picker.state.shown(Extent { top: 7, page: 5, field: 0 });
        picker.press("down up");
        assert_eq!(top(&picker), 7, "not past the end");
        picker.press("home 1 n d");
        assert_eq!(top(&picker), 0);
        assert!(picker.texts(0).is_empty());
        picker.press("esc");
        assert_eq!(picker.state.mode, Mode::Choosing);
    }
}

#[test]
fn a_preview_is_scrolled_by_pages() {
    let mut picker = Picker::new(json!([single("Q?")]));
    picker.press("pgdn pgdn pgup");
    assert_eq!(picker.state.preview_top, 4);
    picker.state.shown(Extent { top: 2, page: 5, field: 0 });
    assert_eq!(picker.state.preview_top, 2, "not past the end");
    picker.press("j");
    assert_eq!(picker.state.preview_top, 0, "another option, another preview");
}
