//! Messages that only who has the key could have written: HMAC-SHA256.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The block of SHA-256, which is what a key is brought to.
const BLOCK: usize = 64;

/// A key, ready to be used. Its `Debug` shows nothing.
#[derive(Clone)]
pub struct MacKey(Hmac<Sha256>);

impl MacKey {
    /// A key of any length, as the standard has it: a long one is hashed, a short one filled up with zeros.
    pub fn new(key: &[u8]) -> Self {
        let mut block = [0; BLOCK];
        if key.len() <= BLOCK {
            block[..key.len()].copy_from_slice(key);
        } else {
            block[..32].copy_from_slice(&Sha256::digest(key));
        }
        Self(Hmac::new(&block.into()))
    }

    /// The signature of these parts, one after the other.
    pub fn sign(&self, parts: &[&[u8]]) -> [u8; 32] {
        parts.iter().fold(self.0.clone(), |mac, part| mac.chain_update(part)).finalize().into_bytes().into()
    }

    /// The same as 64 hexadecimal digits.
    pub fn sign_hex(&self, parts: &[&[u8]]) -> String {
        self.sign(parts).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether a signature is right. How long that takes does not tell how wrong it is.
    pub fn verify_hex(&self, parts: &[&[u8]], signature: &str) -> bool {
        self.sign_hex(parts).as_bytes().ct_eq(signature.as_bytes()).into()
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
