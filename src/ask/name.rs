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
