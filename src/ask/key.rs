//! The name of an ask: `session__toolUseId`.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

const SEPARATOR: &str = "__";
const MAX_PART: usize = 128;
/// Begins the second part of a key whose asker did not name its call.
const UNNAMED: &str = "unnamed-";

/// The name of an ask, made of the asking session and the tool call in it. It is not a credential.
///
/// Both parts are plain words, so a key can stand in a URL, a log line or a shell command as it is. A session has no `__`
/// in it and no `_` at its end, so a key splits in one way only: at its first `__`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AskKey(Arc<str>);

/// Why a text is not a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// No `__` in it.
    #[error("a key is SESSION__TOOLUSEID, and this has no `__`")]
    NoSeparator,
    /// A part is empty or too long.
    #[error("each part of a key has 1 to {MAX_PART} characters")]
    Length,
    /// A part has other characters.
    #[error("a key is made of letters, digits and `. _ : -`")]
    Character,
    /// The session could not be told from the tool call.
    #[error("a session has no `__` in it and no `_` at its end")]
    Ambiguous,
}

impl AskKey {
    /// The key of one tool call in one session.
    pub fn new(session: &str, tool_use_id: &str) -> Result<Self, KeyError> {
        for part in [session, tool_use_id] {
            if part.is_empty() || part.len() > MAX_PART {
                return Err(KeyError::Length);
            }
            if !part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._:-".contains(&b)) {
                return Err(KeyError::Character);
            }
        }
        if session.contains(SEPARATOR) || session.ends_with('_') {
            return Err(KeyError::Ambiguous);
        }
        Ok(Self(format!("{session}{SEPARATOR}{tool_use_id}").into()))
    }

    /// A key for a call that its asker did not name. `distinct` tells it from other such calls.
    pub fn unnamed(session: &str, distinct: &str) -> Result<Self, KeyError> {
        Self::new(session, &format!("{UNNAMED}{distinct}"))
    }

    /// Whether the asker did not name its call.
    pub fn is_unnamed(&self) -> bool {
        self.tool_use_id().starts_with(UNNAMED)
    }

    /// The asking session.
    pub fn session(&self) -> &str {
        self.parts().0
    }

    /// The tool call in it.
    pub fn tool_use_id(&self) -> &str {
        self.parts().1
    }

    /// The whole key.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn parts(&self) -> (&str, &str) {
        self.0.split_once(SEPARATOR).unwrap_or((&self.0, ""))
    }
}

impl FromStr for AskKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let (session, tool_use_id) = text.split_once(SEPARATOR).ok_or(KeyError::NoSeparator)?;
        Self::new(session, tool_use_id)
    }
}

impl fmt::Display for AskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for AskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_key_splits_into_what_it_was_made_of(session in "[A-Za-z0-9._:-]{1,128}", id in "[A-Za-z0-9._:-]{1,128}") {
            if let Ok(key) = AskKey::new(&session, &id) {
                prop_assert_eq!(key.session(), &session);
                prop_assert_eq!(key.tool_use_id(), &id);
                prop_assert_eq!(key.as_str().parse::<AskKey>().unwrap(), key);
            } else {
                prop_assert!(session.contains("__") || session.ends_with('_'));
            }
        }

        #[test]
        fn any_text_is_a_key_or_an_error(text in ".{0,300}") {
            if let Ok(key) = text.parse::<AskKey>() {
                prop_assert_eq!(key.as_str(), text);
            }
        }
    }

    #[test]
    fn what_is_not_a_key() {
        for (text, error) in [
            ("plain", KeyError::NoSeparator),
            ("__id", KeyError::Length),
            ("s__", KeyError::Length),
            ("s p__id", KeyError::Character),
            ("s__é", KeyError::Character),
            ("s__a/b", KeyError::Character),
        ] {
            assert_eq!(text.parse::<AskKey>(), Err(error), "{text}");
        }
        assert_eq!(AskKey::new("a_", "b"), Err(KeyError::Ambiguous));
        assert_eq!(AskKey::new("a__b", "c"), Err(KeyError::Ambiguous));
        assert_eq!(AskKey::new(&"s".repeat(129), "c"), Err(KeyError::Length));
    }

    #[test]
    fn the_tool_call_may_hold_underscores() {
        let key: AskKey = "s_1__toolu__01_".parse().unwrap();
        assert_eq!((key.session(), key.tool_use_id()), ("s_1", "toolu__01_"));
    }
}
