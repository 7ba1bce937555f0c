//! Foreign text for a terminal. Questions are written by a model that has read who knows what: their text must not be able to
//! move the cursor, change colours, set the clipboard, answer a query or turn the direction of a line.

use icu_segmenter::GraphemeClusterSegmenter;
use unicode_width::UnicodeWidthStr;

const TAB: &str = "    ";

/// The text with its line breaks and nothing else that a terminal would act on.
pub fn sanitise(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\n' | '\u{2028}' | '\u{2029}' => clean.push('\n'),
            '\r' => {
                if characters.peek() != Some(&'\n') {
                    clean.push('\n');
                }
            }
            '\t' => clean.push_str(TAB),
            character if is_dangerous(character) => clean.push(char::REPLACEMENT_CHARACTER),
            character => clean.push(character),
        }
    }
    clean
}

fn is_dangerous(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        // Invisible: a byte-order mark, and tags that hide text from people but not from models.
        || matches!(character, '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// The same JSON, with escapes for every character that a terminal would act on, and for the line breaks that only Unicode has: some
/// programs that read lines would break there.
pub fn harmless_json(json: &str) -> String {
    let mut harmless = String::with_capacity(json.len());
    for character in json.chars() {
        // Of the control characters, only line breaks occur outside of strings.
        let is_separator = matches!(character, '\u{2028}' | '\u{2029}');
        if is_separator || (character != '\n' && is_dangerous(character)) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                harmless.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            harmless.push(character);
        }
    }
    harmless
}

/// The text on one line.
pub fn one_line(text: &str) -> String {
    sanitise(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text on one line and in so many columns, with an ellipsis where it was cut.
pub fn fit(text: &str, columns: usize) -> String {
    let line = one_line(text);
    if line.width() <= columns {
        return line;
    }
    // Measure the text as a whole: a variation selector has no width of its own, and makes the character before it wider.
    let fitting = boundaries(&line).take_while(|end| line[..*end].width() < columns).last().unwrap_or(0);
    format!("{}…", line[..fitting].trim_end())
}

/// The boundaries of the characters as a person sees them (grapheme clusters), from 0 to the end of the text.
pub fn boundaries(text: &str) -> impl Iterator<Item = usize> {
    let inner = GraphemeClusterSegmenter::new().segment_str(text).filter(|boundary| *boundary > 0);
    std::iter::once(0).chain(inner)
}

/// The text in lines of so many columns; its own line breaks stay.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    sanitise(text).lines().flat_map(|line| wrap_line(line, columns, columns)).collect()
}

/// `textwrap` adds up the widths of single characters. A line that is wider as a whole is wrapped again in less room.
fn wrap_line(line: &str, columns: usize, room: usize) -> Vec<String> {
    let wrapped = textwrap::wrap(line, room).into_iter();
    wrapped
        .flat_map(|line| match line.width() {
            width if width <= columns || room == 1 => vec![line.into_owned()],
            width => wrap_line(&line, columns, (room * columns / width).clamp(1, room - 1)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_a_terminal_would_act_on_is_left() {
        for (hostile, clean) in [
            ("\u{1b}]52;c;aGVsbG8=\u{7}", "\u{fffd}]52;c;aGVsbG8=\u{fffd}"),
            ("\u{1b}]8;;http://evil\u{1b}\\x", "\u{fffd}]8;;http://evil\u{fffd}\\x"),
            ("\u{1b}[6n\u{9b}2J", "\u{fffd}[6n\u{fffd}2J"),
            ("a\rb\r\nc\u{8}\u{0}", "a\nb\nc\u{fffd}\u{fffd}"),
            ("\u{202e}evil\u{2066}", "\u{fffd}evil\u{fffd}"),
            ("tab\there", "tab    here"),
            ("e\u{0301} 日本 👩‍💻", "e\u{0301} 日本 👩‍💻"),
        ] {
            assert_eq!(sanitise(hostile), clean);
        }
    }

    #[test]
    fn json_stays_the_same_value() {
        let value = serde_json::json!({"a\u{9b}": ["\u{7f}\u{202e}é\n", "\u{e0041}", "a\u{2028}b\u{2029}"]});
        let harmless = harmless_json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(harmless.chars().all(|c| c == '\n' || !is_dangerous(c)), "{harmless}");
        assert!(!harmless.contains(['\u{2028}', '\u{2029}']), "a reader of lines would see another line");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&harmless).unwrap(), value);
    }

    #[test]
    fn text_is_cut_to_its_columns() {
        assert_eq!(fit("short", 10), "short");
        assert_eq!(fit("a  longer\ntext", 8), "a longe…");
        assert_eq!(fit("日本語の文", 7), "日本語…");
        assert_eq!(fit("word break", 6), "word…");
        assert_eq!(fit("⚠️⚠️⚠️ three", 6), "⚠️⚠️…");
    }

    #[test]
    fn text_is_wrapped_to_its_columns() {
        assert_eq!(wrap("one two three\n\nfour", 8), ["one two", "three", "", "four"]);
        assert_eq!(wrap("⚠️⚠️⚠️ three", 5), ["⚠️⚠️", "⚠️", "three"]);
        assert!(wrap(&"x".repeat(50), 20).iter().all(|line| line.width() <= 20));
    }

    proptest! {
        #[test]
        fn whatever_comes_the_result_is_harmless_and_fits(
            text in prop_oneof![any::<String>(), "[a ⚠❤日\u{fe0f}\u{200d}👩💻\n]{0,60}"],
            columns in 2usize..40,
        ) {
            let harmless = |text: &str| text.chars().all(|c| c == '\n' || !is_dangerous(c));
            prop_assert!(harmless(&sanitise(&text)));
            let fitted = fit(&text, columns);
            prop_assert!(harmless(&fitted) && !fitted.contains('\n') && fitted.width() <= columns);
            let wrapped = wrap(&text, columns);
            prop_assert!(wrapped.iter().all(|line| harmless(line) && !line.contains('\n') && line.width() <= columns));
        }
    }
}
