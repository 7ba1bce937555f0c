//! Foreign text for a terminal. Questions are written by a model that has read who knows what: their text must not be able to
//! move the cursor, change colours, set the clipboard, answer a query or turn the direction of a line.

use textwrap::WordSeparator;
use textwrap::core::Word;
use unicode_linebreak::linebreaks;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

const TAB: &str = "    ";
const EMOJI_SELECTOR: char = '\u{fe0f}';
const JOINER: char = '\u{200d}';

/// The text with its line breaks and nothing else that a terminal would act on, and nothing that is only there to hide something.
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
            character if is_dangerous(character) || hides(character, clean.chars().next_back()) => {
                clean.push(char::REPLACEMENT_CHARACTER);
            }
            character => clean.push(character),
        }
    }
    clean
}

/// Whether a character takes no room and has no use behind this one: something may be hidden with it. A space of any kind takes room.
fn hides(character: char, before: Option<char>) -> bool {
    if !is_modifier(character) {
        return is_unseen(character) && !character.is_whitespace();
    }
    match before {
        // In an emoji, a joiner follows the selector.
        Some(EMOJI_SELECTOR) => character != JOINER,
        Some(before) if before.is_ascii() => character != EMOJI_SELECTOR || !may_be_emoji(before),
        Some(before) => is_modifier(before) || before.is_whitespace() || before == char::REPLACEMENT_CHARACTER,
        None => true,
    }
}

/// Joiners and selectors of a variant: they change the character before them, in scripts other than Latin and in emoji.
fn is_modifier(character: char) -> bool {
    matches!(character, '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{200c}' | JOINER)
        || matches!(character, '\u{fe00}'..=EMOJI_SELECTOR | '\u{e0100}'..='\u{e01ef}')
}

fn is_dangerous(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        // Invisible: a byte-order mark, and tags that hide text from people but not from models.
        || matches!(character, '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// The text with its line breaks, and with a name in place of every character that cannot be seen or that looks like another one:
/// `<U+202E>`. For things that a person approves, which must not have hidden parts. A tab is white space like any other and becomes spaces.
pub fn reveal(text: &str) -> String {
    let mut clear = String::with_capacity(text.len());
    let mut previous = None;
    for character in text.chars() {
        let before = previous.replace(character);
        match character {
            '\n' => clear.push('\n'),
            '\t' => clear.push_str(TAB),
            // It makes an emoji of a sign. Behind anything else, it is a place to hide something.
            EMOJI_SELECTOR if before.is_some_and(may_be_emoji) => clear.push(character),
            EMOJI_SELECTOR => clear.push_str("<U+FE0F>"),
            character if is_dangerous(character) || is_unseen(character) => {
                clear.push_str(&format!("<U+{:04X}>", u32::from(character)));
            }
            character => clear.push(character),
        }
    }
    clear
}

/// The signs that have a second form, as an emoji, begin here. A few are before it.
fn may_be_emoji(character: char) -> bool {
    character >= '\u{203c}' || matches!(character, '\u{a9}' | '\u{ae}' | '#' | '*' | '0'..='9')
}

/// Harmless for a terminal, but not for a person who reads closely: nothing at all, or a space that is none.
fn is_unseen(character: char) -> bool {
    let is_odd_space = character.is_whitespace() && !matches!(character, ' ' | '\u{3000}');
    is_odd_space
        || matches!(character, '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}')
        || matches!(character, '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}')
        // Most selectors of a variant change nothing that is seen, so a text can be hidden in them.
        || matches!(character, '\u{fe00}'..='\u{fe0e}' | '\u{fff0}'..='\u{fffc}' | '\u{e0080}'..='\u{e0fff}')
        // Signs that only tell a program how to set the others: numbers, hieroglyphs, shorthand, music.
        || matches!(character, '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{8e2}' | '\u{110bd}' | '\u{110cd}')
        || matches!(character, '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}')
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
    text.grapheme_indices(true).map(|(start, _)| start).chain(std::iter::once(text.len()))
}

/// The text in lines of so many columns; its own line breaks stay.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    sanitise(text).lines().flat_map(|line| wrap_line(line, columns, columns)).collect()
}

/// `textwrap` adds up the widths of single characters. A line that is wider as a whole is wrapped again in less room.
fn wrap_line(line: &str, columns: usize, room: usize) -> Vec<String> {
    let options = textwrap::Options::new(room).word_separator(WordSeparator::Custom(words));
    textwrap::wrap(line, options)
        .into_iter()
        .flat_map(|line| match line.width() {
            width if width <= columns || room == 1 => vec![line.into_owned()],
            width => wrap_line(&line, columns, (room * columns / width).clamp(1, room - 1)),
        })
        .collect()
}

/// The parts of a line between which it may be broken by the rules of Unicode: languages that are written without spaces have such places
/// too. `textwrap` knows itself where a word with hyphens may be broken.
fn words(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let ends = linebreaks(line).map(|(end, _)| end).filter(|end| *end == line.len() || !line[..*end].ends_with('-'));
    let mut start = 0;
    Box::new(ends.map(move |end| Word::from(&line[std::mem::replace(&mut start, end)..end])))
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
    fn what_only_hides_something_can_be_seen() {
        for (hidden, shown) in [
            ("rm\u{200b} -r\u{2060}f", "rm\u{fffd} -r\u{fffd}f"),
            ("pay\u{ad}pal\u{3164}\u{34f}", "pay\u{fffd}pal\u{fffd}\u{fffd}"),
            ("a\u{200d}b\u{200c}c\u{fe01}\u{e0100}", "a\u{fffd}b\u{fffd}c\u{fffd}\u{fffd}"),
            ("⚠\u{fe0f}\u{e0100}\u{e0101}", "⚠\u{fe0f}\u{fffd}\u{fffd}"),
            // Other scripts and emoji need some of them.
            ("می\u{200c}خواهم 葛\u{e0100} 1\u{fe0f}\u{20e3}", "می\u{200c}خواهم 葛\u{e0100} 1\u{fe0f}\u{20e3}"),
            ("❤\u{fe0f}\u{200d}🔥 a\u{a0}b", "❤\u{fe0f}\u{200d}🔥 a\u{a0}b"),
        ] {
            assert_eq!(sanitise(hidden), shown, "{hidden:?}");
        }
    }

    #[test]
    fn what_cannot_be_seen_gets_a_name() {
        for (hidden, shown) in [
            ("rm\u{a0}-rf \u{202e}/\u{200b}tmp", "rm<U+00A0>-rf <U+202E>/<U+200B>tmp"),
            ("a\rb\r\n\tc\u{1b}[2K", "a<U+000D>b<U+000D>\n    c<U+001B>[2K"),
            ("x\u{e0041}\u{fe01}\u{e0100}", "x<U+E0041><U+FE01><U+E0100>"),
            ("e\u{0301} 日本　⚠\u{fe0f} é", "e\u{0301} 日本　⚠\u{fe0f} é"),
        ] {
            assert_eq!(reveal(hidden), shown);
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
        assert_eq!(wrap("日本語の文。終わり", 8), ["日本語の", "文。終わ", "り"]);
        assert_eq!(wrap("re-run --dry-run", 8), ["re-run", "--dry-", "run"]);
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
            let revealed = reveal(&text);
            prop_assert!(harmless(&revealed) && !revealed.chars().any(|c| c != '\n' && is_unseen(c)));
            let fitted = fit(&text, columns);
            prop_assert!(harmless(&fitted) && !fitted.contains('\n') && fitted.width() <= columns);
            let wrapped = wrap(&text, columns);
            prop_assert!(wrapped.iter().all(|line| harmless(line) && !line.contains('\n') && line.width() <= columns));
        }
    }
}
