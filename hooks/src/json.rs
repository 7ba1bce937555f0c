//! Whether a reply is exactly one JSON object. It is only checked, never read: Claude Code does that.

use crate::scan;

/// Deeper than any reply of the daemon.
const MAX_DEPTH: usize = 256;

/// Whether the bytes are one JSON object, with nothing but white space around it.
pub(crate) fn is_object(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let mut scanner = Scanner { rest: text.as_bytes() };
    scanner.skip_space();
    scanner.rest.first() == Some(&b'{') && scanner.value(0).is_some() && {
        scanner.skip_space();
        scanner.rest.is_empty()
    }
}

/// How many bytes of plain text there are before the next byte that is not: a quote, a backslash or a control character.
fn plain_length(bytes: &[u8]) -> usize {
    let ends = |word| scan::first(word, b'"') | scan::first(word, b'\\') | scan::first_below(word, b' ');
    scan::position(bytes, ends, |byte| matches!(byte, b'"' | b'\\' | 0..b' ')).unwrap_or(bytes.len())
}

struct Scanner<'a> {
    rest: &'a [u8],
}

/// Each step consumes what it recognises, or gives `None`.
impl Scanner<'_> {
    fn skip_space(&mut self) {
        while let [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    fn take(&mut self, expected: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(expected)?;
        Some(())
    }

    /// The next byte that is not white space.
    fn next(&mut self) -> Option<u8> {
        self.skip_space();
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.skip_space();
        match self.rest.first()? {
            b'{' => self.list(b'}', |scanner| {
                scanner.skip_space();
                scanner.string()?;
                (scanner.next()? == b':').then_some(())?;
                scanner.value(depth + 1)
            }),
            b'[' => self.list(b']', |scanner| scanner.value(depth + 1)),
            b'"' => self.string(),
            b't' => self.take(b"true"),
            b'f' => self.take(b"false"),
            b'n' => self.take(b"null"),
            _ => self.number(),
        }
    }

    /// Items between an opening and a closing byte, with commas between them.
    fn list(&mut self, close: u8, item: impl Fn(&mut Self) -> Option<()>) -> Option<()> {
        self.next()?;
        self.skip_space();
        if self.rest.first() == Some(&close) {
            self.next()?;
            return Some(());
        }
        loop {
            item(self)?;
            match self.next()? {
                b',' => {}
                byte => return (byte == close).then_some(()),
            }
        }
    }

    fn string(&mut self) -> Option<()> {
        self.take(b"\"")?;
        loop {
            let (first, rest) = self.rest[plain_length(self.rest)..].split_first()?;
            self.rest = rest;
            match first {
                b'"' => return Some(()),
                b'\\' => {
                    let (escaped, rest) = self.rest.split_first()?;
                    self.rest = rest;
                    match escaped {
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                        b'u' => {
                            let (digits, rest) = self.rest.split_at_checked(4)?;
                            digits.iter().all(u8::is_ascii_hexdigit).then_some(())?;
                            self.rest = rest;
                        }
                        _ => return None,
                    }
                }
                _ => return None,
            }
        }
    }

    fn number(&mut self) -> Option<()> {
        let _ = self.take(b"-");
        match self.rest.first()? {
            b'0' => self.take(b"0")?,
            _ => self.digits()?,
        }
        if self.take(b".").is_some() {
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.rest.first() {
            self.rest = &self.rest[1..];
            if let Some(b'+' | b'-') = self.rest.first() {
                self.rest = &self.rest[1..];
            }
            self.digits()?;
        }
        Some(())
    }

    /// At least one.
    fn digits(&mut self) -> Option<()> {
        let count = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.rest = &self.rest[count..];
        (count > 0).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_object_and_nothing_else() {
        for good in
            ["{}", " {\n} ", r#"{"a":[1,-0.5e+3,"x\u00e9\"",{"b":null}],"c":true,"d":[]}"#, "{\"é\":\"\u{7f}\"}"]
        {
            assert!(is_object(good.as_bytes()), "{good}");
        }
        for bad in [
            "",
            " ",
            "{}{}",
            "{not json}",
            "{",
            "}",
            "[]",
            "true",
            "\"x\"",
            "{},",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{,}",
            "{\"a\":01}",
            "{\"a\":1.}",
            "{\"a\":+1}",
            "{\"a\":\"\n\"}",
            "{\"a\":\"\\x\"}",
            "{\"a\":nul}",
            "{'a':1}",
            "\u{feff}{}",
        ] {
            assert!(!is_object(bad.as_bytes()), "{bad}");
        }
        assert!(!is_object(b"{\"a\":\"\xff\"}"));
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(!is_object(deep.as_bytes()));
    }

    #[test]
    fn plain_text_ends_at_every_byte_that_ends_it_and_at_no_other() {
        for byte in 0..=u8::MAX {
            let ends = matches!(byte, b'"' | b'\\' | 0..0x20);
            for place in 0..20 {
                for around in [b'a', b'!', b'#', b' ', b'[', b']', 0x7f, 0x80, 0xff] {
                    let mut bytes = [around; 20];
                    bytes[place] = byte;
                    let expected = if ends { place } else { bytes.len() };
                    assert_eq!(plain_length(&bytes), expected, "{byte} at {place} among {around}");
                    bytes[19] = b'"';
                    assert_eq!(plain_length(&bytes), expected.min(19), "{byte} at {place} among {around}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_real_parser(text in r#"[{}\[\]":,a0\\utrenlfs. e+-]{0,24}"#) {
            let parsed: Result<serde_json::Value, _> = serde_json::from_str(&text);
            let expected = parsed.is_ok_and(|value| value.is_object());
            // A lone surrogate is an escape that only a reader can refuse.
            prop_assume!(!text.contains("\\u"));
            prop_assert_eq!(is_object(text.as_bytes()), expected);
        }

        #[test]
        fn any_value_in_an_object_is_one(keys in proptest::collection::vec(".*", 0..4), number: f64, text: String) {
            let mut value = serde_json::json!({"n": number, "t": text});
            for key in keys {
                value = serde_json::json!({ key: [value] });
            }
            prop_assert!(is_object(value.to_string().as_bytes()));
        }
    }
}
