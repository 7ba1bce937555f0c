//! Callers, and what each of them may do.

use crate::ask::{AskKey, Channel, Host, Source};
use crate::store::{Device, DeviceKind, Role};

use super::Ticket;
use super::rights::Rights;

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
    /// To let devices in and sign them out, and to say who may do what.
    Admin,
    /// To stop the daemon, and to sign in browsers of our own user.
    Daemon,
    /// To link the daemon of another machine with this one.
    Link,
}

const EVERYTHING: &[Scope] =
    &[Scope::Read, Scope::Answer, Scope::Close, Scope::Ask, Scope::Hook, Scope::Admin, Scope::Daemon];
const COMPANION: &[Scope] = &[Scope::Read, Scope::Answer, Scope::Close, Scope::Ask];

/// Who is calling.
#[derive(Debug, Clone)]
pub enum Caller {
    /// Somebody without a token.
    Anonymous,
    /// A program of our user: on the socket, or with the token of `daemon.json`. On the socket, the system may tell which process it is.
    Program { scopes: &'static [Scope], source: Source, process: Option<i32> },
    /// A browser or a phone that is signed in. If it belongs to a person, their rights are its rights.
    Device { id: i64, kind: DeviceKind, source: Source, person: Option<i64>, rights: Rights },
    /// A hook over HTTP. It can settle nothing, so it is no source.
    Hook,
    /// The daemon of another machine. It opens the link and does nothing else, and what it may do there is not a matter of scopes.
    Host { id: i64, host: Host },
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

    /// A device that is signed in, with the rights of its person.
    pub(super) fn with_device(device: Device, rights: Rights, agent: Option<&str>) -> Self {
        let (person, name) = device.person.map(|person| (person.id, person.name)).unzip();
        let source = Source { device: Some(device.name), person: name, ..source(Channel::Device, agent) };
        Self::Device { id: device.id, kind: device.kind, source, person, rights }
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
            Self::Device { rights, .. } if rights.are_of_person() => person_may(rights, scope),
            Self::Device { .. } => COMPANION.contains(&scope),
            Self::Hook => scope == Scope::Hook,
            Self::Host { .. } => scope == Scope::Link,
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
            Self::Anonymous | Self::Program { .. } | Self::Device { .. } | Self::Hook | Self::Host { .. } => None,
        }
    }

    /// The device, if the caller is one.
    pub fn device(&self) -> Option<i64> {
        match self {
            Self::Device { id, .. } | Self::Host { id, .. } => Some(*id),
            Self::Anonymous | Self::Program { .. } | Self::Hook | Self::Ticket { .. } => None,
        }
    }

    /// The id of the person whose device the caller is.
    pub fn person(&self) -> Option<i64> {
        match self {
            Self::Device { person, .. } => *person,
            Self::Anonymous | Self::Program { .. } | Self::Hook | Self::Host { .. } | Self::Ticket { .. } => None,
        }
    }

    /// In which projects the caller may do what [`Self::may`] says. Only a person is kept to some of them.
    pub fn rights(&self) -> &Rights {
        match self {
            Self::Device { rights, .. } => rights,
            // The inbox has rules of its own for what comes over a link.
            Self::Host { .. } => &Rights::NOTHING,
            Self::Anonymous | Self::Program { .. } | Self::Hook | Self::Ticket { .. } => &Rights::EVERYTHING,
        }
    }

    /// The process on the socket, if the system tells.
    pub fn process(&self) -> Option<i32> {
        match self {
            Self::Program { process, .. } => *process,
            Self::Anonymous | Self::Device { .. } | Self::Hook | Self::Host { .. } | Self::Ticket { .. } => None,
        }
    }

    /// Whether it is a device that was paired, and not a browser that a program of this machine has signed in.
    pub fn is_paired(&self) -> bool {
        matches!(self, Self::Device { kind: DeviceKind::Paired, .. })
    }

    /// The author of what this caller settles.
    pub fn source(&self) -> Option<Source> {
        match self {
            Self::Program { source, .. } | Self::Device { source, .. } | Self::Ticket { source, .. } => {
                Some(source.clone())
            }
            Self::Anonymous | Self::Hook | Self::Host { .. } => None,
        }
    }
}

/// What the roles of a person are for. The projects are looked at later, when it is known what the request is about.
fn person_may(rights: &Rights, scope: Scope) -> bool {
    match scope {
        // Lists and streams show what the person may see, which may be nothing.
        Scope::Read => true,
        Scope::Answer | Scope::Close | Scope::Ask => rights.allow_somewhere(Role::Answer),
        Scope::Admin => rights.allow_everywhere(Role::Admin),
        Scope::Hook | Scope::Daemon | Scope::Link => false,
    }
}

fn source(channel: Channel, agent: Option<&str>) -> Source {
    let agent = agent.map(|agent| agent.chars().take(MAX_AGENT).collect::<String>());
    Source { agent: agent.filter(|agent| !agent.is_empty()), ..Source::of(channel) }
}

#[cfg(test)]
mod tests {
    use tokio::sync::watch;

    use super::*;
    use crate::access::rights::Granted;
    use crate::ask::Ask;
    use crate::ask::samples::ask;
    use crate::store::Grant;

    fn ticket(ask: &Ask) -> Caller {
        Caller::with_ticket(Ticket { id: ask.id, key: ask.key.clone() }, None)
    }

    fn device(rights: Rights) -> Caller {
        Caller::Device { id: 1, kind: DeviceKind::Paired, source: source(Channel::Device, None), person: None, rights }
    }

    fn with_role(role: Role) -> Caller {
        let grants = [Grant { role, project: None }];
        let (_, granted) = watch::channel(Granted { revision: 1, grants: grants.into() });
        device(Rights::of_person(granted))
    }

    #[test]
    fn everybody_has_their_rights_and_no_more() {
        let ask = ask(7, "s__t", "shop", 1);
        let device = device(Rights::EVERYTHING);
        for (caller, rights) in [
            (Caller::Anonymous, &[][..]),
            (Caller::on_socket(None, None), EVERYTHING),
            (Caller::with_token(None), COMPANION),
            (device, COMPANION),
            (with_role(Role::View), &[Scope::Read]),
            (with_role(Role::Answer), COMPANION),
            (with_role(Role::Admin), &[Scope::Read, Scope::Answer, Scope::Close, Scope::Ask, Scope::Admin]),
            (Caller::Hook, &[Scope::Hook]),
            (Caller::Host { id: 2, host: Host::new("box") }, &[Scope::Link]),
            (ticket(&ask), &[Scope::Answer]),
        ] {
            for scope in EVERYTHING.iter().chain(&[Scope::Link]) {
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
