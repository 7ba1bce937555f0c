//! The address of a store that several daemons share.

use std::fmt;

use serde::Deserialize;

/// The address of PostgreSQL. It may hold a password, so its `Debug` shows nothing.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct StoreAddress(String);

impl StoreAddress {
    /// The whole address, for the store alone.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether a password is in it.
    pub(super) fn holds_password(&self) -> bool {
        let (_, rest) = self.0.split_once("://").unwrap_or_default();
        let authority = rest.split(['/', '?']).next().unwrap_or_default();
        authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
    }
}

impl TryFrom<String> for StoreAddress {
    type Error = &'static str;

    fn try_from(address: String) -> Result<Self, Self::Error> {
        if address.starts_with("postgres://") || address.starts_with("postgresql://") {
            return Ok(Self(address));
        }
        Err("store is like postgres://user@host/database, or is left out")
    }
}

impl fmt::Debug for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreAddress(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_noticed_and_not_shown() {
        let address = |text: &str| StoreAddress::try_from(text.to_owned()).unwrap();
        let secret = address("postgres://me:hush@db.example.org/answers");
        assert!(secret.holds_password() && !format!("{secret:?}").contains("hush"));
        for text in
            ["postgres://me@db:5432/answers", "postgresql://db/answers?sslmode=disable", "postgres://me@%2Frun:1/a"]
        {
            assert!(!address(text).holds_password(), "{text}");
        }
        assert!(StoreAddress::try_from("mysql://db/answers".to_owned()).is_err());
    }
}
