use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::ask::samples::{ask, permission, plan};

const ALL: [Kind; 3] = [Kind::Question, Kind::Plan, Kind::Permission];

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

fn request(words: &str) -> NewAway {
    NewAway { project: None, words: words.to_owned(), kinds: ALL.to_vec(), time: SignedDuration::from_secs(100) }
}

/// On from 1000 to 1100.
fn away(words: &str, project: Option<&str>) -> Away {
    NewAway { project: project.map(ToOwned::to_owned), ..request(words) }.begin(None, at(1000)).unwrap()
}

fn opened(ask: Ask, seconds: i64) -> Ask {
    Ask { opened_at: at(seconds), ..ask }
}

/// What the notes say at 1050 to an ask that was opened then.
fn said(notes: &[Away], asked: Ask) -> Option<String> {
    let (_, answer) = answer_of(notes, &opened(asked, 1050), at(1050))?;
    answer.answers.values().next().cloned()
}

#[test]
fn each_question_gets_the_words() {
    let asked = opened(ask(1, "s__t", "shop", 3), 1000);
    let notes = [away("  Decide yourself\n", None)];
    let (_, answer) = answer_of(&notes, &asked, at(1000)).unwrap();
    assert_eq!(answer.answers.values().collect::<Vec<_>>(), ["Decide yourself"; 3]);
    assert!(answer.notes.is_empty() && answer.edited.is_none());
}

#[test]
fn it_is_for_what_is_asked_while_it_is_on() {
    let notes = [away("w", None)];
    for (opened_at, now, is_answered) in [
        (999, 1001, false),
        (1000, 1000, true),
        (1099, 1099, true),
        // The daemon was off at the end, and the ask is still open.
        (1099, 1100, false),
        (1100, 1100, false),
        // The clock was set back.
        (1050, 999, false),
    ] {
        let asked = opened(ask(1, "s__t", "shop", 1), opened_at);
        assert_eq!(answer_of(&notes, &asked, at(now)).is_some(), is_answered, "{opened_at} {now}");
    }
}

#[test]
fn the_note_of_the_nearest_directory_counts() {
    let everywhere = away("everywhere", None);
    let shop = away("shop", Some("/home/me/shop/"));
    let notes = [away("me", Some("/home/me")), shop.clone(), everywhere.clone()];
    assert_eq!(shop.project.as_deref(), Some("/home/me/shop"));
    for (project, words) in [("shop", "shop"), ("shop/api", "shop"), ("shopping", "me"), ("", "everywhere")] {
        assert_eq!(said(&notes, ask(1, "s__t", project, 1)).as_deref(), Some(words), "{project}");
    }
    assert_eq!(said(std::slice::from_ref(&shop), ask(1, "s__t", "site", 1)), None);
    assert_eq!(said(std::slice::from_ref(&shop), ask(1, "s__t", "", 1)), None);
    // A note that does not name the kind has nothing to say, and the next one has.
    let questions_only = Away { kinds: vec![Kind::Question], ..shop };
    assert_eq!(said(&[questions_only, everywhere], permission_of_shop()).as_deref(), Some("everywhere"));
}

fn permission_of_shop() -> Ask {
    assert_eq!(permission().project.as_deref(), Some("/home/me/shop"));
    permission()
}

#[test]
fn what_is_left_open() {
    let notes = [away("w", None)];
    assert_eq!(said(&notes, Ask { origin: Origin::Program, ..ask(1, "s__t", "", 1) }).as_deref(), Some("w"));
    assert_eq!(said(&notes, Ask { origin: Origin::Probe, ..ask(1, "s__t", "", 1) }), None);
    let only = json!([{"question": "Free?"}, {"question": "Which?", "options": [{"label": "w"}], "freeText": false}]);
    let only = Ask { questions: serde_json::from_value(only).unwrap(), ..ask(1, "s__t", "", 1) };
    assert_eq!(said(&notes, only), None, "even if the words are an option by chance");
    let form = Ask { kind: Kind::Form, ..ask(1, "s__t", "", 1) };
    assert_eq!(said(&[Away { kinds: Kind::ALL.to_vec(), ..notes[0].clone() }], form), None);
    let questions_only = [Away { kinds: vec![Kind::Question], ..notes[0].clone() }];
    assert_eq!((said(&questions_only, permission()), said(&questions_only, plan())), (None, None));
}

#[test]
fn what_cannot_be_set() {
    let with = |change: fn(&mut NewAway)| {
        let mut request = request("w");
        change(&mut request);
        request.begin(None, at(1000)).unwrap_err()
    };
    assert_eq!(with(|request| request.words = " \n".into()), AwayError::NoWords);
    assert_eq!(with(|request| request.words = "x".repeat(MAX_TEXT + 1)), AwayError::LongWords);
    assert_eq!(with(|request| request.words = " Allow once ".into()), AwayError::Approval("Allow once".into()));
    assert_eq!(with(|request| request.kinds.clear()), AwayError::NoKinds);
    assert_eq!(with(|request| request.kinds.push(Kind::Form)), AwayError::Form);
    assert_eq!(with(|request| request.time = SignedDuration::ZERO), AwayError::Time);
    assert_eq!(with(|request| request.time = MAX_TIME + SignedDuration::from_secs(1)), AwayError::Time);
    for project in ["", "shop", "./shop"] {
        assert_eq!(directory(project), Err(AwayError::Project), "{project}");
    }
    assert_eq!(with(|request| request.project = Some("shop".into())), AwayError::Project);
    assert_eq!((directory("//").unwrap(), directory("/a//").unwrap()), ("/".into(), "/a".into()));
    assert!(request("w").begin(None, Timestamp::MAX).is_err());
    let month = NewAway { time: MAX_TIME, kinds: vec![Kind::Plan, Kind::Question, Kind::Plan], ..request("w") };
    assert_eq!(month.begin(None, at(0)).unwrap().kinds, [Kind::Question, Kind::Plan]);
}

proptest! {
    /// The labels are among the words, also those that only this ask has.
    #[test]
    fn no_words_approve_anything(words in prop_oneof![
        ".{0,20}",
        "(Allow once|Always allow Bash\\(npm test\\)|Deny|Approve, accept edits|Approve, ask before each edit|Keep planning)[ ,]?",
    ]) {
        let Ok(note) = request(&words).begin(None, at(1000)) else { return Ok(()) };
        // What is on disk could be anything.
        let raw = Away { words, ..note.clone() };
        for note in [note, raw] {
            if let Some(answer) = note.answer(&permission()) {
                let asked = permission();
                let ruling = permission::ruling(asked.questions.as_slice(), &answer);
                prop_assert!(matches!(ruling, permission::Ruling::Deny(_)));
            }
            if let Some(answer) = note.answer(&plan()) {
                let asked = plan();
                let ruling = plan::ruling(asked.questions.as_slice(), &answer);
                prop_assert!(matches!(ruling, plan::Ruling::KeepPlanning(_)));
            }
        }
    }
}

#[test]
fn a_directory_has_one_name() {
    let note = away("w", Some("/srv/x/../a/"));
    assert_eq!(note.project.as_deref(), Some("/srv/a"));
    for (asked, is_said) in [("/srv/a", true), ("/srv/a/b", true), ("/srv/a/../b", false), ("/srv/./a", true)] {
        assert_eq!(note.is_said_in(Some(asked)), is_said, "{asked}");
    }
}
