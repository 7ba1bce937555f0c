//! Secrets: made from the operating system's randomness, kept and compared as hashes.

use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// 256 random bits as 64 hexadecimal digits. Its `Debug` shows nothing.
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

/// The hash of a token. The daemon keeps this and not the token, and it is enough to recognise the token.
#[derive(Clone, Copy)]
pub struct TokenHash([u8; 32]);

impl Token {
    /// A new token. It fails if the operating system has no randomness.
    pub fn generate() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Self(hex::encode(bytes)))
    }

    /// A token that was made before; `None` if the text cannot be one.
    pub fn parse(text: &str) -> Option<Self> {
        (text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit())).then(|| Self(text.to_owned()))
    }

    /// The secret itself, for the one file or the one reply that hands it out.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The hash to keep.
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
    /// The hash of a credential that somebody presents.
    pub fn of(presented: &[u8]) -> Self {
        Self(Sha256::digest(presented).into())
    }

    /// The bytes, for the store.
    pub fn bytes(self) -> [u8; 32] {
        self.0
    }
}

/// As hexadecimal digits.
impl Serialize for TokenHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode(self.0))
    }
}

impl<'de> Deserialize<'de> for TokenHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(String::deserialize(deserializer)?, &mut bytes).map_err(D::Error::custom)?;
        Ok(Self(bytes))
    }
}

impl PartialEq for TokenHash {
    /// Compares in constant time, so that the time does not tell how close a guess is.
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
