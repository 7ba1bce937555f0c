use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::ask::Question;
use crate::picker::Title;
use crate::picker::keys::Key;
use crate::text::sanitise;

fn title() -> Title {
    Title { project: "shop".into(), session: "session 3fa2c1".into(), age: "2 min".into() }
}

fn questions(questions: Value) -> Vec<Question> {
    serde_json::from_value(questions).unwrap()
}

fn database() -> Value {
    json!({"question": "Which database should the order service use?", "header": "Database", "options": [
        {"label": "PostgreSQL", "description": "Battle-tested and already in the cluster, but it needs a migration"},
        {"label": "SQLite", "description": "One file"}]})
}

fn checks() -> Value {
    json!({"question": "Which checks?", "header": "Checks", "multiSelect": true, "options": [
        {"label": "Tests", "description": "Two minutes"}, {"label": "Lint"}]})
}

fn layout() -> Value {
    let long: String = (1..=40).map(|line| format!("  line {line}\n")).collect();
    json!({"question": "Which layout?", "header": "Layout", "options": [
        {"label": "Table", "preview": "┌──┬──┐\n│ a│ b│\n└──┴──┘"}, {"label": "Long", "preview": long}, {"label": "None"}]})
}

/// The screen after some keys, as text.
fn screen(asked: &[Value], columns: usize, rows: usize, keys: &[Key]) -> Vec<String> {
    let (title, questions) = (title(), questions(asked.into()));
    let mut state = State::new(&title, &questions);
    let size = Size { columns, rows };
    for key in keys {
        state.shown(render(&state, size).extent);
        state.handle(key);
    }
    render(&state, size).lines.iter().map(|line| line.text().trim_end().to_owned()).collect()
}

fn typed(text: &str) -> Vec<Key> {
    text.chars().map(Key::Char).collect()
}

#[test]
fn one_question() {
    assert_eq!(
        screen(&[database()], 60, 24, &[Key::Char('n'), Key::Char('x'), Key::Enter, Key::Char(' ')]),
        [
            "  shop  session 3fa2c1 · 2 min",
            "",
            "  Which database should the order service use?",
            "",
            "  ❯ 1. PostgreSQL ✓",
            "       Battle-tested and already in the cluster, but it",
            "       needs a migration",
            "    2. SQLite",
            "       One file",
            "    3. Other",
            "       Your own words",
            "",
            "  Note: x",
            "  Enter pick · n note · d dismiss · Esc leave · ? keys",
        ]
    );
}

#[test]
fn several_questions_with_ticks_and_own_words() {
    let keys = [typed("123"), typed("mine")].concat();
    assert_eq!(
        screen(&[checks(), database()], 80, 24, &keys),
        [
            "  shop  session 3fa2c1 · 2 min",
            "",
            "   ✓ Checks   · Database   Review",
            "",
            "  Which checks?",
            "",
            "    1. [✓] Tests",
            "           Two minutes",
            "    2. [✓] Lint",
            "  ❯ 3. [✓] Other",
            "           mine",
            "",
            "    Continue",
            "",
            "  Enter continue · Tab next · Esc stop typing",
        ]
    );
}

#[test]
fn the_review() {
    let keys = [typed("2"), vec![Key::Tab, Key::Enter]].concat();
    let told = screen(&[database(), checks()], 40, 24, &keys);
    assert_eq!(told.last().unwrap(), " Space tick · Tab next · ? keys");
    assert!(told.iter().any(|line| line == " Checks has no answer yet."), "{told:#?}");
    let keys = [typed("2"), vec![Key::Tab]].concat();
    assert_eq!(
        screen(&[database(), checks()], 40, 24, &keys),
        [
            " shop  session 3fa2c1 · 2 min",
            "",
            "  ✓ Database   · Checks   Review",
            "",
            " Review your answers",
            "",
            "   1. Which database should the order",
            "      service use?",
            "      SQLite",
            "   2. Which checks?",
            "      no answer yet",
            "",
            " ❯ Submit",
            "",
            " Enter submit · d dismiss · ? keys",
        ]
    );
}

#[test]
fn a_preview_is_beside_where_there_is_room() {
    let wide = screen(&[layout()], 90, 16, &[]);
    assert_eq!(wide[4], "  ❯ 1. Table                          │ ┌──┬──┐");
    assert_eq!(wide[5], "    2. Long                           │ │ a│ b│");
    let scrolled = screen(&[layout()], 90, 16, &[Key::Down, Key::PageDown]);
    assert_eq!(scrolled[5], "  ❯ 2. Long                           │   line 10");
    assert_eq!(scrolled[13], "                                      │ lines 9–17 of 40");
    assert!(scrolled[15].contains("PgDn scroll"));
    assert_eq!(screen(&[layout()], 90, 16, &[Key::Up])[4], "    1. Table                          │ No preview");
}

#[test]
fn a_preview_is_below_where_there_is_not() {
    let narrow = screen(&[layout()], 40, 24, &[Key::Down]);
    let rule = narrow.iter().position(|line| line.contains("───")).unwrap();
    assert_eq!(&narrow[rule + 1..rule + 3], [" line 1".replace("line", "  line"), "   line 2".into()]);
    let end = [vec![Key::Down], vec![Key::PageDown; 20]].concat();
    let narrow = screen(&[layout()], 40, 24, &end);
    assert!(narrow.iter().any(|line| line.contains("line 40")), "{narrow:#?}");
}

#[test]
fn what_is_cut_can_be_read() {
    let long =
        json!({"question": "word ".repeat(300), "options": [{"label": "A", "description": "more ".repeat(200)}]});
    let asked = screen(std::slice::from_ref(&long), 40, 16, &[]);
    assert!(asked.last().unwrap().contains("v read all"), "{asked:#?}");
    assert_eq!(
        screen(&[layout()], 40, 16, &[Key::Char('v')])[..7],
        [" Which layout?", "", " Table", "", " ┌──┬──┐", " │ a│ b│", " └──┴──┘"]
    );
    let read = screen(&[long], 40, 16, &[Key::Char('v'), Key::End]);
    assert!(read[13].trim_start().starts_with("more"), "{read:#?}");
    assert!(read[15].starts_with(" Esc back · ↑↓ scroll"), "{read:#?}");
}

#[test]
fn the_keys_are_explained_on_any_screen() {
    for columns in [20, 40, 80] {
        let lines = screen(&[database()], columns, 60, &[Key::Char('?')]);
        assert!(lines.iter().any(|line| line.contains("Space")), "{lines:#?}");
    }
}

/// Words of every kind that is trouble.
fn trouble() -> impl Strategy<Value = String> {
    let pieces = vec![
        "word ",
        "\n",
        "\t",
        "\u{1b}[2J",
        "\u{1b}]52;c;x\u{7}",
        "\u{9b}6n",
        "\r",
        "\u{202e}",
        "日本語",
        "שלום ",
        "e\u{301}",
        "⚠️",
        "👩‍💻",
        "🇫🇷",
        "\u{200d}",
        "\u{fe0f}",
        "हिन्दी",
        "ᄀᄀᄀ각",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "\u{0}",
        "  ",
    ];
    prop_oneof![
        4 => prop::collection::vec(prop::sample::select(pieces), 1..12).prop_map(|pieces| pieces.concat()),
        1 => any::<String>(),
        1 => "[a-z ]{1,9}".prop_map(|text| text.repeat(300)),
    ]
}

fn any_question() -> impl Strategy<Value = Question> {
    let option = (trouble(), trouble(), prop::option::of(trouble())).prop_map(
        |(label, description, preview)| json!({"label": label, "description": description, "preview": preview}),
    );
    (trouble(), trouble(), prop::collection::vec(option, 0..12), any::<bool>()).prop_map(
        |(text, header, options, multi)| {
            serde_json::from_value(
                json!({"question": text, "header": header, "options": options, "multiSelect": multi}),
            )
            .unwrap()
        },
    )
}

fn any_key() -> impl Strategy<Value = Key> {
    prop_oneof![
        trouble().prop_map(Key::Paste),
        prop::sample::select("123456789 jknvdr?x".chars().map(Key::Char).collect::<Vec<_>>()),
        prop::sample::select(vec![
            Key::Up,
            Key::Down,
            Key::Left,
            Key::Right,
            Key::Tab,
            Key::BackTab,
            Key::Enter,
            Key::Esc,
            Key::LineBreak,
            Key::Home,
            Key::End,
            Key::PageUp,
            Key::PageDown,
            Key::Backspace,
            Key::Delete,
            Key::DeleteWord,
        ]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_asked_and_pressed_fits_is_harmless_and_shows_the_cursor(
        asked in prop::collection::vec(any_question(), 1..5),
        keys in prop::collection::vec(any_key(), 0..12),
        columns in prop_oneof![Just(20), Just(40), Just(80), Just(120), 1usize..200],
        rows in prop_oneof![Just(24), 1usize..60, 1usize..8],
    ) {
        let title = Title { project: asked[0].header.clone(), ..title() };
        let mut state = State::new(&title, &asked);
        let size = Size { columns, rows };
        for key in std::iter::once(None).chain(keys.iter().map(Some)) {
            if let Some(key) = key {
                // An end of the picker does not hinder the next key here.
                state.handle(key);
            }
            let frame = render(&state, size);
            state.shown(frame.extent);
            prop_assert!(frame.lines.len() <= rows, "{} lines", frame.lines.len());
            for line in &frame.lines {
                prop_assert!(line.end() <= columns, "{} columns: {:?}", line.end(), line);
                for span in &line.spans {
                    prop_assert!(!span.text.contains('\n') && sanitise(&span.text) == span.text, "{:?}", span);
                }
                let overlaps = line.spans.windows(2).any(|pair| pair[0].end() > pair[1].column);
                prop_assert!(!overlaps, "{:?}", line);
            }
            if columns < 20 {
                continue;
            }
            match state.mode {
                Mode::Typing(..) => {
                    let (row, column) = frame.cursor.unwrap();
                    prop_assert!(row < frame.lines.len() && column < columns, "{:?}", frame.cursor);
                }
                // The question of our own is then all there is.
                Mode::Confirming(_) if rows < 4 => {}
                Mode::Choosing | Mode::Confirming(_) => {
                    let pointers = frame.lines.iter().filter(|line| line.text().trim_start().starts_with("❯ ")).count();
                    prop_assert_eq!(pointers, 1, "{:#?}", frame.lines.iter().map(Line::text).collect::<Vec<_>>());
                    prop_assert_eq!(frame.cursor, None);
                }
                Mode::Reading(..) => {}
            }
        }
    }
}
