//! Callers, and what each of them may do.

use crate::ask::{Ask, AskKey, Channel, Source};
use crate::store::Device;

use super::Ticket;
use super::process::was_started_by;

/// The longest name of a client program that is kept, in characters.
const MAX_AGENT: usize = 64;

/// A right that an operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// To see asks and their answers.
    Read,
    /// To answer an ask.
    Answer,
    /// To end an ask without an answer: to dismiss or to release it. Also to say what is answered while nobody is there. A ticket may not.
    Close,
    /// To open asks, and to withdraw them.
    Ask,
    /// To hand in hook calls.
    Hook,
    /// To let devices in and sign them out, and to stop the daemon.
    Admin,
}

const EVERYTHING: &[Scope] = &[Scope::Read, Scope::Answer, Scope::Close, Scope::Ask, Scope::Hook, Scope::Admin];
const COMPANION: &[Scope] = &[Scope::Read, Scope::Answer, Scope::Close, Scope::Ask];

/// Who is calling.
#[derive(Debug, Clone)]
pub enum Caller {
    /// Somebody without a token.
    Anonymous,
    /// A program of our user: on the socket, or with the token of `daemon.json`. On the socket, the system may tell which process it is.
    Program { scopes: &'static [Scope], source: Source, process: Option<i32> },
    /// A browser or a phone that is signed in.
    Device { id: i64, source: Source },
    /// A hook over HTTP. It can settle nothing, so it is no source.
    Hook,
    /// A button in a notification. It answers one ask, and does nothing else.
    Ticket { ticket: Ticket, source: Source },
}

impl Caller {
    /// A program on the socket. The kernel says that it is our user's, so it may do everything.
    pub(super) fn on_socket(process: Option<i32>, agent: Option<&str>) -> Self {
        Self::Program { scopes: EVERYTHING, source: source(Channel::Socket, agent), process }
    }

    /// A program with the token of `daemon.json`.
    pub(super) fn with_token(agent: Option<&str>) -> Self {
        Self::Program { scopes: COMPANION, source: source(Channel::Token, agent), process: None }
    }

    /// A device that is signed in.
    pub(super) fn with_device(device: Device, agent: Option<&str>) -> Self {
        let source = Source { device: Some(device.name), ..source(Channel::Device, agent) };
        Self::Device { id: device.id, source }
    }

    /// Whoever pressed the button that carries this ticket.
    pub(super) fn with_ticket(ticket: Ticket, agent: Option<&str>) -> Self {
        Self::Ticket { ticket, source: source(Channel::Notification, agent) }
    }

    /// Whether this caller has a right. `about` is the ask that the request names, if it names one.
    pub fn may(&self, scope: Scope, about: Option<&AskKey>) -> bool {
        match self {
            Self::Anonymous => false,
            Self::Program { scopes, .. } => scopes.contains(&scope),
            Self::Device { .. } => COMPANION.contains(&scope),
            Self::Hook => scope == Scope::Hook,
            Self::Ticket { ticket, .. } => scope == Scope::Answer && about == Some(&ticket.key),
        }
    }

    /// Whether this caller may see the ask it answers, and what others have said.
    pub fn may_read(&self) -> bool {
        !matches!(self, Self::Ticket { .. })
    }

    /// The ticket, if that is all the caller has.
    pub fn ticket(&self) -> Option<&Ticket> {
        match self {
            Self::Ticket { ticket, .. } => Some(ticket),
            Self::Anonymous | Self::Program { .. } | Self::Device { .. } | Self::Hook => None,
        }
    }

    /// The device, if the caller is one.
    pub fn device(&self) -> Option<i64> {
        match self {
            Self::Device { id, .. } => Some(*id),
            Self::Anonymous | Self::Program { .. } | Self::Hook | Self::Ticket { .. } => None,
        }
    }

    /// Whether the agent that asks has started this caller. `false` if that cannot be known.
    pub fn is_started_by_asker_of(&self, ask: &Ask) -> bool {
        let Self::Program { process: Some(process), .. } = self else { return false };
        let asker = ask.asker.as_deref().and_then(|asker| asker.parse().ok());
        asker.is_some_and(|asker| was_started_by(*process, asker))
    }

    /// The author of what this caller settles.
    pub fn source(&self) -> Option<Source> {
        match self {
            Self::Program { source, .. } | Self::Device { source, .. } | Self::Ticket { source, .. } => {
                Some(source.clone())
            }
            Self::Anonymous | Self::Hook => None,
        }
    }
}

fn source(channel: Channel, agent: Option<&str>) -> Source {
    let agent = agent.map(|agent| agent.chars().take(MAX_AGENT).collect::<String>());
    Source { channel, agent: agent.filter(|agent| !agent.is_empty()), device: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::samples::ask;

    fn ticket(ask: &Ask) -> Caller {
        Caller::with_ticket(Ticket { id: ask.id, key: ask.key.clone() }, None)
    }

    #[test]
    fn everybody_has_their_rights_and_no_more() {
        let ask = ask(7, "s__t", "shop", 1);
        let device = Caller::Device { id: 1, source: source(Channel::Device, None) };
        for (caller, rights) in [
            (Caller::Anonymous, &[][..]),
            (Caller::on_socket(None, None), EVERYTHING),
            (Caller::with_token(None), COMPANION),
            (device, COMPANION),
            (Caller::Hook, &[Scope::Hook]),
            (ticket(&ask), &[Scope::Answer]),
        ] {
            for scope in EVERYTHING {
                assert_eq!(caller.may(*scope, Some(&ask.key)), rights.contains(scope), "{caller:?} {scope:?}");
            }
        }
    }

    #[test]
    fn a_ticket_answers_its_own_ask() {
        let (own, other) = (ask(7, "s__t", "shop", 1), ask(8, "s__u", "shop", 1));
        let caller = ticket(&own);
        assert!(caller.may(Scope::Answer, Some(&own.key)));
        assert!(!caller.may(Scope::Answer, Some(&other.key)) && !caller.may(Scope::Answer, None));
        assert!(!caller.may_read() && Caller::with_token(None).may_read());
    }

    #[test]
    fn a_long_name_of_a_client_is_cut() {
        let agent = |given: &str| Caller::with_token(Some(given)).source().unwrap().agent;
        assert_eq!(agent("curl/8.5.0").as_deref(), Some("curl/8.5.0"));
        assert_eq!(agent(&"ä".repeat(500)), Some("ä".repeat(MAX_AGENT)));
        assert_eq!(agent(""), None);
    }
}
