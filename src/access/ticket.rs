//! Tickets: each answers one ask, once, and does nothing else. A button in a notification carries a ticket instead of a token, because
//! strangers' servers see notifications.
//!
//! A ticket is `t1.ID.KEY.MAC`. The daemon keeps nothing of it: the secret behind the MAC comes from `tokens.json`, or from the store that
//! several daemons share. So a ticket outlives the daemon, and new tokens end all tickets of a daemon that is alone.

use crate::ask::{Ask, AskId, AskKey};

use crate::store::{Store, StoreError};

use super::{MacKey, Tokens};

const VERSION: &str = "t1";
/// Another use of the token must not give the same secret.
const PURPOSE: &[u8] = b"answerback: tickets that answer one ask";

/// Issues tickets, and recognises them.
#[derive(Debug, Clone)]
pub struct Tickets(MacKey);

/// The right to answer one life of one ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// The life.
    pub id: AskId,
    /// The ask.
    pub key: AskKey,
}

impl Tickets {
    /// The tickets of an instance.
    pub fn new(tokens: &Tokens) -> Self {
        Self::of_secret(tokens.api.reveal().as_bytes())
    }

    /// The tickets of all daemons of a store, or of this instance if it is alone.
    pub async fn shared(tokens: &Tokens, store: &Store) -> Result<Self, StoreError> {
        Ok(match store.secret("tickets").await? {
            Some(secret) => Self::of_secret(&secret),
            None => Self::new(tokens),
        })
    }

    fn of_secret(secret: &[u8]) -> Self {
        Self(MacKey::new(&MacKey::new(secret).sign(&[PURPOSE])))
    }

    /// A ticket for this ask.
    pub fn issue(&self, ask: &Ask) -> String {
        let content = format!("{VERSION}.{}.{}", ask.id.0, ask.key);
        format!("{content}.{}", self.0.sign_hex(&[content.as_bytes()]))
    }

    /// The ticket that somebody presents; `None` if this instance did not issue it.
    pub fn check(&self, presented: &[u8]) -> Option<Ticket> {
        let (content, mac) = std::str::from_utf8(presented).ok()?.rsplit_once('.')?;
        let (id, key) = content.strip_prefix(VERSION)?.strip_prefix('.')?.split_once('.')?;
        if !self.0.verify_hex(&[content.as_bytes()], mac) {
            return None;
        }
        Some(Ticket { id: AskId(id.parse().ok()?), key: key.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Token;
    use crate::ask::samples::ask;

    #[test]
    fn a_ticket_is_for_one_life_of_one_ask_of_one_instance() {
        let tokens = || Tokens { api: Token::generate().unwrap(), hook: Token::generate().unwrap() };
        let (own, other) = (tokens(), tokens());
        let ask = ask(7, "s.1__t.2", "shop", 1);
        let ticket = Tickets::new(&own).issue(&ask);
        let known = Tickets::new(&own).check(ticket.as_bytes());
        assert_eq!(known, Some(Ticket { id: AskId(7), key: ask.key.clone() }));
        assert_eq!(Tickets::new(&other).check(ticket.as_bytes()), None);
        assert!(!ticket.contains(own.api.reveal()));
        for tampered in [
            ticket.replace("t1.7.", "t1.8."),
            ticket.replace("t.2", "t.3"),
            ticket.replace("t1.", "t2."),
            ticket[..ticket.len() - 1].to_owned(),
            format!("{ticket}0"),
            ticket.to_ascii_uppercase(),
            String::new(),
            "t1...".to_owned(),
        ] {
            assert_eq!(Tickets::new(&own).check(tampered.as_bytes()), None, "{tampered}");
        }
    }
}
