//! Launch codes: a command gets one over the socket, and a browser of the same user on this machine trades it for a token.

use std::time::{Duration, Instant};

use super::{Expiring, Token, TokenHash};

/// How long a code is good.
const LIFETIME: Duration = Duration::from_secs(60);
/// Nobody needs more at once.
const MAX_CODES: usize = 16;

/// A code that signs in one browser.
#[derive(Debug)]
pub struct LaunchCode {
    /// The secret.
    pub code: Token,
    /// How long the code is good.
    pub good_for: Duration,
}

/// The codes that were given out and not used.
#[derive(Debug)]
pub(super) struct LaunchCodes(Expiring<TokenHash>);

impl Default for LaunchCodes {
    fn default() -> Self {
        Self(Expiring::new(MAX_CODES, LIFETIME))
    }
}

impl LaunchCodes {
    /// Makes a code.
    pub(super) fn launch(&self, now: Instant) -> Result<LaunchCode, getrandom::Error> {
        let code = Token::generate()?;
        self.0.add(code.hash(), now);
        Ok(LaunchCode { code, good_for: LIFETIME })
    }

    /// Whether the code is good. It is not good again.
    pub(super) fn take(&self, code: &str, now: Instant) -> bool {
        let code = TokenHash::of(code.as_bytes());
        self.0.take(now, |known| *known == code).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launched(codes: &LaunchCodes, now: Instant) -> String {
        codes.launch(now).unwrap().code.reveal().to_owned()
    }

    #[test]
    fn a_code_is_good_once_and_not_for_long() {
        let (codes, now) = (LaunchCodes::default(), Instant::now());
        let (first, second) = (launched(&codes, now), launched(&codes, now));
        assert!(!codes.take("guess", now));
        assert!(codes.take(&first, now));
        assert!(!codes.take(&first, now));
        assert!(!codes.take(&second, now + LIFETIME));
    }

    #[test]
    fn the_oldest_code_gives_way() {
        let (codes, now) = (LaunchCodes::default(), Instant::now());
        let all: Vec<_> = (0..=MAX_CODES).map(|_| launched(&codes, now)).collect();
        assert!(!codes.take(&all[0], now));
        assert!(codes.take(&all[1], now) && codes.take(&all[MAX_CODES], now));
    }
}
