//! The bytes that a terminal sends, decoded to keys.
//!
//! Sequences come in pieces over a slow line, and a lone Esc is also how each of them begins: what is incomplete stays here
//! until more comes, or until the caller has waited long enough to know that it was the key.

const ESC: u8 = 0x1b;
const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// One key, named by its purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    /// All of a bracketed paste, as it came.
    Paste(String),
    Enter,
    /// A line break in a text: Alt-Enter, Ctrl-J.
    LineBreak,
    Tab,
    BackTab,
    Esc,
    /// Ctrl-C.
    Interrupt,
    Backspace,
    Delete,
    DeleteWord,
    DeleteToStart,
    DeleteToEnd,
    Up,
    Down,
    Left,
    Right,
    WordLeft,
    WordRight,
    Home,
    End,
    PageUp,
    PageDown,
}

/// Decodes bytes to keys.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    pending: Vec<u8>,
}

impl Decoder {
    /// The keys that are complete with these bytes. Unknown sequences are skipped.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        let mut used = 0;
        while let Some((length, key)) = first(&self.pending[used..]) {
            used += length;
            keys.extend(key);
        }
        self.pending.drain(..used);
        keys
    }

    /// Whether the last byte was an Esc, which is a key or the beginning of a sequence. Only time can tell.
    pub(super) fn is_undecided(&self) -> bool {
        self.pending == [ESC]
    }

    /// The key that the pending byte stands for, now that nothing followed it.
    pub(super) fn decide(&mut self) -> Option<Key> {
        self.is_undecided().then(|| {
            self.pending.clear();
            Key::Esc
        })
    }
}

/// The first key and its length in bytes; `None` if it is not complete.
fn first(bytes: &[u8]) -> Option<(usize, Option<Key>)> {
    match bytes {
        [] | [ESC] | [ESC, b'O'] => None,
        [ESC, ESC, ..] => Some((1, Some(Key::Esc))),
        [ESC, b'[', ..] => sequence(bytes),
        [ESC, b'O', letter, ..] => Some((3, lettered(*letter, false))),
        [ESC, rest @ ..] => first(rest).map(|(length, key)| (length + 1, key.and_then(with_alt))),
        [byte @ (0..0x20 | 0x7f), ..] => Some((1, control(*byte))),
        _ => character(bytes),
    }
}

fn control(byte: u8) -> Option<Key> {
    Some(match byte {
        0x01 => Key::Home,
        0x02 => Key::Left,
        0x03 => Key::Interrupt,
        0x04 => Key::Delete,
        0x05 => Key::End,
        0x06 => Key::Right,
        0x08 | 0x7f => Key::Backspace,
        b'\t' => Key::Tab,
        b'\n' => Key::LineBreak,
        0x0b => Key::DeleteToEnd,
        b'\r' => Key::Enter,
        0x0e => Key::Down,
        0x10 => Key::Up,
        0x15 => Key::DeleteToStart,
        0x17 => Key::DeleteWord,
        _ => return None,
    })
}

fn with_alt(key: Key) -> Option<Key> {
    Some(match key {
        Key::Enter => Key::LineBreak,
        Key::Backspace => Key::DeleteWord,
        Key::Char('b') => Key::WordLeft,
        Key::Char('f') => Key::WordRight,
        _ => return None,
    })
}

fn character(bytes: &[u8]) -> Option<(usize, Option<Key>)> {
    let bytes = &bytes[..bytes.len().min(4)];
    let valid = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() == 0 => return error.error_len().map(|length| (length, None)),
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    };
    let character = valid.chars().next()?;
    Some((character.len_utf8(), (!character.is_control()).then_some(Key::Char(character))))
}

/// `ESC [ parameters letter`.
fn sequence(bytes: &[u8]) -> Option<(usize, Option<Key>)> {
    if bytes.starts_with(PASTE_BEGINS) {
        let text = &bytes[PASTE_BEGINS.len()..];
        let end = text.windows(PASTE_ENDS.len()).position(|window| window == PASTE_ENDS)?;
        let pasted = String::from_utf8_lossy(&text[..end]).into_owned();
        return Some((PASTE_BEGINS.len() + end + PASTE_ENDS.len(), Some(Key::Paste(pasted))));
    }
    let end = 2 + bytes[2..].iter().position(|byte| !(0x20..0x40).contains(byte))?;
    let letter = bytes[end];
    if !(0x40..0x7f).contains(&letter) {
        // The sequence was broken off. The byte that did it is decoded on its own.
        return Some((end, None));
    }
    let parameters = std::str::from_utf8(&bytes[2..end]).unwrap_or_default();
    let mut numbers = parameters.split(';').map(|number| number.parse::<u32>().unwrap_or(1));
    let (number, is_modified) = (numbers.next().unwrap_or(1), numbers.next().is_some_and(|modifier| modifier > 1));
    let key = match (letter, number) {
        (b'~', 1 | 7) => Some(Key::Home),
        (b'~', 3) => Some(Key::Delete),
        (b'~', 4 | 8) => Some(Key::End),
        (b'~', 5) => Some(Key::PageUp),
        (b'~', 6) => Some(Key::PageDown),
        // Shift-Enter, from terminals that are set up to tell it apart.
        (b'~', 27) if numbers.next() == Some(13) => Some(Key::LineBreak),
        (b'u', 13) => Some(if is_modified { Key::LineBreak } else { Key::Enter }),
        _ => lettered(letter, is_modified),
    };
    Some((end + 1, key))
}

fn lettered(letter: u8, is_modified: bool) -> Option<Key> {
    Some(match (letter, is_modified) {
        (b'A', _) => Key::Up,
        (b'B', _) => Key::Down,
        (b'C', true) => Key::WordRight,
        (b'C', false) => Key::Right,
        (b'D', true) => Key::WordLeft,
        (b'D', false) => Key::Left,
        (b'F', _) => Key::End,
        (b'H', _) => Key::Home,
        (b'M', false) => Key::Enter,
        (b'Z', _) => Key::BackTab,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        let mut decoder = Decoder::default();
        let keys = decoder.feed(bytes);
        assert_eq!(decoder.pending, b"", "{bytes:?}");
        keys
    }

    #[test]
    fn keys_of_common_terminals() {
        for (bytes, expected) in [
            (&b"a"[..], Key::Char('a')),
            ("語".as_bytes(), Key::Char('語')),
            (b"\r", Key::Enter),
            (b"\n", Key::LineBreak),
            (b"\x1b\r", Key::LineBreak),
            (b"\x1b[13;2u", Key::LineBreak),
            (b"\x1b[27;2;13~", Key::LineBreak),
            (b"\t", Key::Tab),
            (b"\x1b[Z", Key::BackTab),
            (b"\x03", Key::Interrupt),
            (b"\x7f", Key::Backspace),
            (b"\x08", Key::Backspace),
            (b"\x1b[3~", Key::Delete),
            (b"\x17", Key::DeleteWord),
            (b"\x1b\x7f", Key::DeleteWord),
            (b"\x15", Key::DeleteToStart),
            (b"\x0b", Key::DeleteToEnd),
            (b"\x1b[A", Key::Up),
            (b"\x1bOB", Key::Down),
            (b"\x1b[C", Key::Right),
            (b"\x1bOD", Key::Left),
            (b"\x1b[1;5C", Key::WordRight),
            (b"\x1bb", Key::WordLeft),
            (b"\x1b[1~", Key::Home),
            (b"\x1bOF", Key::End),
            (b"\x1b[5~", Key::PageUp),
            (b"\x1b[6~", Key::PageDown),
        ] {
            assert_eq!(keys(bytes), [expected], "{bytes:?}");
        }
    }

    #[test]
    fn what_means_nothing_is_passed_over() {
        for bytes in [&b"\x1b[24~"[..], b"\x1b[?1;2c", b"\x1bq", b"\x00", b"\xff", b"\xc2\x9b"] {
            assert_eq!(keys(bytes), [], "{bytes:?}");
        }
        assert_eq!(keys(b"\x1b[1\x1b[A\x1b[12\x01"), [Key::Up, Key::Home]);
    }

    #[test]
    fn a_paste_is_one_key_whatever_is_in_it() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.feed(b"\x1b[200~q\r\n\x1b[A\x03\x1b[20"), []);
        assert!(!decoder.is_undecided());
        assert_eq!(decoder.feed(b"1~d"), [Key::Paste("q\r\n\x1b[A\x03".into()), Key::Char('d')]);
    }

    #[test]
    fn only_time_tells_an_escape() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.feed(b"a\x1b"), [Key::Char('a')]);
        assert!(decoder.is_undecided());
        assert_eq!(decoder.feed(b"[A"), [Key::Up]);
        assert_eq!(decoder.decide(), None);
        assert_eq!(decoder.feed(b"\x1b"), []);
        assert_eq!(decoder.decide(), Some(Key::Esc));
        assert_eq!(decoder.feed(b"\x1b\x1b[B"), [Key::Esc, Key::Down]);
    }

    proptest! {
        #[test]
        fn pieces_make_the_same_keys(pieces in prop::collection::vec(prop_oneof![
            any::<Vec<u8>>(),
            any::<String>().prop_map(String::into_bytes),
            prop::sample::select(vec![&b"\x1b[A"[..], b"\x1b", b"\x1b[200~", b"\x1b[201~", b"\x1b[1;5C", b"\xe8\xaa"])
                .prop_map(<[u8]>::to_vec),
        ], 0..8)) {
            let mut together = Decoder::default();
            let expected = together.feed(&pieces.concat());
            let mut apart = Decoder::default();
            let keys: Vec<_> = pieces.concat().iter().flat_map(|byte| apart.feed(&[*byte])).collect();
            prop_assert_eq!(keys, expected);
            prop_assert_eq!(apart.pending, together.pending);
        }
    }
}
