//! Names that programs and devices give themselves.

/// One line without control characters and without characters that turn the direction of text. `None` if nothing is left. It is still foreign
/// text wherever it is shown.
pub fn harmless_name(given: &str) -> Option<String> {
    let is_harmful = |c: char| {
        c.is_control()
            || matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let words: Vec<_> =
        given.split(|c: char| c.is_whitespace() || is_harmful(c)).filter(|word| !word.is_empty()).collect();
    Some(words.join(" ")).filter(|name| !name.is_empty())
}

/// Whether a name begins like that of Answerback, or looks like that of Claude. A program that asks must not pass for them. This sees
/// through capitals, characters that nobody sees, signs between the letters, and letters that look like others.
pub fn is_reserved(name: &str) -> bool {
    let letters: String = name.chars().flat_map(char::to_lowercase).map(like).filter(|c| c.is_alphanumeric()).collect();
    letters.starts_with("answerback") || ["claude", "claudecode"].contains(&letters.as_str())
}

/// The Latin letter that a character looks like.
fn like(character: char) -> char {
    match character {
        'а' | 'α' | '4' => 'a',
        'ь' | 'в' => 'b',
        'с' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'ε' | '3' => 'e',
        'к' | 'κ' => 'k',
        'i' | 'ӏ' | 'і' | 'ι' | '1' | '|' => 'l',
        'ո' | 'η' => 'n',
        'о' | 'ο' | '0' => 'o',
        'г' => 'r',
        'ѕ' | '5' => 's',
        'υ' | 'ս' => 'u',
        'ԝ' | 'ω' => 'w',
        // Letters as wide as those of East Asian scripts.
        '\u{ff41}'..='\u{ff5a}' => char::from_u32(u32::from(character) - 0xff41 + 0x61).unwrap_or(character),
        character => character,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_harmless_line() {
        for (given, name) in [
            ("codex-mcp-client 0.42", Some("codex-mcp-client 0.42")),
            (" two\n lines\t", Some("two lines")),
            ("\x1b]52;c;evil\x07name", Some("]52;c;evil name")),
            ("safe\u{202e}gnp.exe", Some("safe gnp.exe")),
            (" \u{7} \u{2066}", None),
            ("", None),
        ] {
            assert_eq!(harmless_name(given).as_deref(), name, "{given:?}");
        }
    }
}
