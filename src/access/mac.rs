//! Message authentication codes: HMAC-SHA256. Only a holder of the key can make one.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// A key, ready to be used. Its `Debug` shows nothing.
#[derive(Clone)]
pub struct MacKey(Hmac<Sha256>);

impl MacKey {
    /// Takes a key of any length.
    #[expect(
        clippy::expect_used,
        reason = "HMAC takes a key of any length: the trait is shared with ciphers, which do not"
    )]
    pub fn new(key: &[u8]) -> Self {
        Self(Hmac::new_from_slice(key).expect("HMAC takes a key of any length"))
    }

    /// Signs these parts, one after the other.
    pub fn sign(&self, parts: &[&[u8]]) -> [u8; 32] {
        self.over(parts).finalize().into_bytes().into()
    }

    /// The same as 64 hexadecimal digits.
    pub fn sign_hex(&self, parts: &[&[u8]]) -> String {
        hex::encode(self.sign(parts))
    }

    /// Whether a signature is right. How long that takes does not tell how wrong it is. Digits of either case are taken: a signature
    /// names nothing, so it does no harm that it can be written in two ways.
    pub fn verify_hex(&self, parts: &[&[u8]], signature: &str) -> bool {
        hex::decode(signature).is_ok_and(|signature| self.over(parts).verify_slice(&signature).is_ok())
    }

    fn over(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        parts.iter().fold(self.0.clone(), |mac, part| mac.chain_update(part))
    }
}

impl fmt::Debug for MacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MacKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_rfc_4231_has_it() {
        for (key, message, signature) in [
            (
                &b"Jefe"[..],
                &b"what do ya want for nothing?"[..],
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ] {
            let (head, tail) = message.split_at(5);
            assert_eq!(MacKey::new(key).sign_hex(&[head, tail]), signature);
            assert!(MacKey::new(key).verify_hex(&[message], signature));
            assert!(!MacKey::new(key).verify_hex(&[message], &signature.replace('5', "6")));
            assert!(!MacKey::new(key).verify_hex(&[message], ""));
        }
    }
}
