//! Values in a query string, each with its limits. The check of a value and its description in the API both come from the type, so they name
//! the same limits.

use std::fmt::Display;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// The longest wait of a request. Many proxies and clients give up on longer requests.
const MAX_WAIT: u64 = 300;
/// The largest whole number that every JSON reader reads exactly.
const MAX_EXACT: u64 = (1 << 53) - 1;

/// How many seconds to wait.
pub(super) type Seconds = Whole<0, MAX_WAIT>;
/// How many seconds there are between two signs of life.
pub(super) type Heartbeat = Whole<1, 30>;
/// How many to list.
pub(super) type PageSize = Whole<1, 1000>;
/// A place in the order of all changes.
pub(super) type Position = Whole<0, MAX_EXACT>;
/// The id of an ask.
pub(super) type Id = Whole<1, MAX_EXACT>;
// All of these texts together fit into the head of a request, even if percent-encoding makes twelve bytes of each character.
/// A session or a part of a key.
pub(super) type SessionName = Text<128>;
pub(super) type Directory = Text<1024>;
pub(super) type SearchText = Text<512>;
/// As long as the name of a machine can be.
pub(super) type HostName = Text<255>;

/// A whole number within limits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whole<const MIN: u64, const MAX: u64>(u64);

impl<const MIN: u64, const MAX: u64> Whole<MIN, MAX> {
    pub(super) fn get(self) -> u64 {
        self.0
    }

    /// As the type of ids and cursors.
    pub(super) fn signed(self) -> i64 {
        i64::try_from(self.0).unwrap_or(i64::MAX)
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Whole<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|number| is_plain && (MIN..=MAX).contains(number));
        number.map(Self).ok_or_else(|| expected(format_args!("a whole number from {MIN} to {MAX}")))
    }
}

/// A text of at most `MAX` characters.
#[derive(Debug, Clone)]
pub(super) struct Text<const MAX: usize>(String);

impl<const MAX: usize> Text<MAX> {
    pub(super) fn into_string(self) -> String {
        self.0
    }
}

impl<'de, const MAX: usize> Deserialize<'de> for Text<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.chars().nth(MAX).is_some() {
            return Err(expected(format_args!("a text of at most {MAX} characters")));
        }
        Ok(Self(text))
    }
}

fn expected<E: Error>(what: impl Display) -> E {
    E::custom(format_args!("expected {what}"))
}
