//! Which machine an ask belongs to.

use std::fmt;
use std::sync::Arc;

/// The machine whose daemon opened an ask and watches over it. Several daemons may share a store, and each one ends only its own asks:
/// it alone knows whether their askers are still there.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Host(Arc<str>);

/// The longest name that a person can choose.
const MAX_NAME: usize = 63;

/// A name that cannot be the name of a machine here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the name of a host has letters, digits, `-`, `_` and `.`, begins with a letter or a digit, and is at most {MAX_NAME} long"
)]
pub struct HostNameError;

impl Host {
    /// The machine with this name.
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// The machine with a name that a person has chosen. The name goes into addresses and tables, so it is short and plain.
    pub fn named(name: &str) -> Result<Self, HostNameError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let begins_well = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        if begins_well && name.len() <= MAX_NAME && name.bytes().all(is_plain) {
            Ok(Self::new(name))
        } else {
            Err(HostNameError)
        }
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_person_chooses_is_plain() {
        for name in ["build-1", "Anna_s.box", "7", &"a".repeat(63)] {
            assert_eq!(Host::named(name).unwrap().as_str(), name);
        }
        for name in ["", "-x", ".", "a b", "a/b", "é", "a\n", &"a".repeat(64)] {
            assert_eq!(Host::named(name), Err(HostNameError), "{name:?}");
        }
    }
}
