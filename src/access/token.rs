//! Secrets: made from the operating system's randomness, kept and compared as hashes.

use std::fmt;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// 256 bits nobody can guess, as 64 hexadecimal digits. Its `Debug` shows nothing.
#[derive(Clone)]
pub struct Token(String);

/// The secrets of an instance.
#[derive(Debug, Clone)]
pub struct Tokens {
    /// For companion programs: may read, answer and ask.
    pub api: Token,
    /// For hooks over HTTP: may hand in hook calls and nothing else.
    pub hook: Token,
}

/// What is kept of a token: enough to know it again.
#[derive(Clone, Copy)]
pub struct TokenHash([u8; 32]);

impl Token {
    /// A new one. Without randomness there is none, and no daemon.
    pub fn generate() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Self(hex::encode(bytes)))
    }

    /// One that was made before, if this is one.
    pub fn parse(text: &str) -> Option<Self> {
        (text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit())).then(|| Self(text.to_owned()))
    }

    /// The secret itself: for the one file and the one reply that hand it out.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What to keep of it.
    pub fn hash(&self) -> TokenHash {
        TokenHash::of(self.0.as_bytes())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

impl TokenHash {
    /// The hash of whatever somebody presents.
    pub fn of(presented: &[u8]) -> Self {
        Self(Sha256::digest(presented).into())
    }

    /// For the store.
    pub fn bytes(self) -> [u8; 32] {
        self.0
    }
}

impl PartialEq for TokenHash {
    /// In constant time.
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for TokenHash {}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_again_and_nothing_else_is() {
        let token = Token::generate().unwrap();
        let again = Token::parse(token.reveal()).unwrap();
        assert_eq!(again.hash(), token.hash());
        assert_ne!(Token::generate().unwrap().hash(), token.hash());
        assert_ne!(TokenHash::of(b""), token.hash());
        assert!(!format!("{token:?}{:?}", token.hash()).contains(&token.reveal()[..8]));
        for text in ["", "abc", &"g".repeat(64), &"a".repeat(63)] {
            assert!(Token::parse(text).is_none(), "{text}");
        }
    }
}
