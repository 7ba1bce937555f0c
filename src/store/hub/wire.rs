//! What goes over a link, as types. The hub and the edge both use them.
//!
//! A link is one WebSocket. Each frame is a JSON object with a `type`; a long one goes in several messages (`line`). Both ends ignore fields and frames that they do not know, so a newer
//! version can add some. `VERSION` changes only if an older end would misunderstand the new one.

mod asks;
mod line;

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ask::{AskId, Outcome, Receipt};
use crate::store::StoreError;

pub use asks::{Millis, WireAsk, WireChange, WireNew};
pub use line::{Event, Line, LineError, MAX_MESSAGE, Message};

/// The version of this protocol.
pub const VERSION: u32 = 1;
/// Where a hub takes links.
pub const PATH: &str = "/v1/link";
/// The most that an ask has as JSON. What comes in over HTTP has at most half of it, and may be in the ask twice.
pub const MAX_ASK: usize = 2 * 1024 * 1024;
/// The most that an outcome or a receipt has as JSON, as over HTTP.
pub const MAX_OUTCOME: usize = 1024 * 1024;
/// The most that an asker may keep with an ask for its reply. It is text of JSON, so as a text in JSON it has up to twice as much.
pub const MAX_DETAIL: usize = 2 * 1024 * 1024;
/// The largest frame: a change with everything that an ask can have.
pub const MAX_FRAME: usize = MAX_ASK + 2 * MAX_OUTCOME + 2 * MAX_DETAIL;
/// How often each end gives a sign.
pub const BEAT: Duration = Duration::from_secs(5);
/// An end that has given no sign for this long is gone.
pub const SILENCE: Duration = Duration::from_secs(15);

/// The hub closes a link with these codes. Each says what the edge has to do.
pub mod close {
    /// The token was taken back.
    pub const REVOKED: u16 = 4401;
    /// Another daemon has opened a link with the same token.
    pub const REPLACED: u16 = 4409;
    /// The hub does not speak this version.
    pub const VERSION: u16 = 4426;
}

/// What an edge sends.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EdgeFrame {
    /// The first frame.
    Hello {
        version: u32,
        /// The version of the program.
        #[serde(default)]
        software: String,
        /// The newest change that this edge knows. Without it, it knows nothing.
        #[serde(default)]
        cursor: Option<i64>,
        /// It only wants to know whether it would be let in. The hub welcomes it and hangs up.
        #[serde(default)]
        only_greets: bool,
    },
    /// A command. The reply has the same id.
    Call {
        id: u64,
        command: Box<Command>,
        /// If it was sent before, over a link that was lost: how long ago.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sent_before: Option<Millis>,
    },
    /// A sign of life.
    Beat,
    /// A call that cannot be read. It is nested too deeply, or of a newer version.
    #[serde(skip)]
    Unreadable { id: u64 },
    /// Something of a newer version.
    #[serde(other)]
    Unknown,
}

/// The number of a call, or of the reply to it.
#[derive(Debug, Deserialize)]
struct Numbered {
    #[serde(rename = "type")]
    kind: String,
    id: u64,
}

/// The number of a frame of this type. Everything else in it may be anything.
pub(super) fn number_of(text: &str, kind: &str) -> Option<u64> {
    let numbered: Numbered = serde_json::from_str(text).ok()?;
    (numbered.kind == kind).then_some(numbered.id)
}

/// The frame of a call, as one that was sent before.
pub(super) fn sent_before(call: &str, ago: Duration) -> String {
    let ago = ago.as_millis();
    call.strip_prefix('{').map_or_else(|| call.to_owned(), |fields| format!(r#"{{"sent_before":{ago},{fields}"#))
}

impl EdgeFrame {
    /// `None` if it is no frame at all.
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().or_else(|| number_of(text, "call").map(|id| Self::Unreadable { id }))
    }
}

/// What a hub sends.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum HubFrame {
    /// The reply to `hello`. Either the changes after the edge's cursor follow, or all its open asks. `ready` comes after them.
    Welcome {
        version: u32,
        #[serde(default)]
        software: String,
        /// The name under which this edge asks.
        host: String,
        /// The clock of the hub.
        now: Timestamp,
        /// Whether the changes after the cursor follow. If not, the edge forgets what it knows.
        resumes: bool,
    },
    /// An open ask of this edge.
    Open { ask: Box<WireAsk> },
    /// The edge knows everything up to this cursor.
    Ready { cursor: i64 },
    /// A change of an ask of this edge.
    Change(Box<WireChange>),
    /// The reply to a call. Every change up to the cursor was sent before.
    Done { id: u64, cursor: i64, result: Result<Reply, Fault> },
    /// A sign of life, and how far the edge knows the order of changes.
    Beat { cursor: i64, now: Timestamp },
    /// Something of a newer version.
    #[serde(other)]
    Unknown,
}

impl HubFrame {
    /// Whether it says that a command was refused.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Done { result: Err(Fault { kind: FaultKind::Refused, .. }), .. })
    }
}

/// What an edge wants. Times are durations from now, because the clocks of two machines differ.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Command {
    Open {
        new: Box<WireNew>,
        per_session: u32,
    },
    Settle {
        ask: AskId,
        outcome: Outcome,
    },
    /// The asker of an ask that was opened is parked on it, or will come soon.
    Confirm {
        key: String,
    },
    Defer {
        ask: AskId,
    },
    Resume {
        ask: AskId,
        expires_in: Option<Millis>,
    },
    Receive {
        ask: AskId,
        receipt: Receipt,
    },
    Ask {
        key: String,
    },
    AskWithDigest {
        session: String,
        digest: String,
    },
    Detail {
        ask: AskId,
    },
    Changes {
        after: i64,
        limit: usize,
    },
    #[serde(other)]
    Unknown,
}

impl Command {
    /// Whether it changes nothing. Then nobody needs it after its link has ended.
    pub fn only_reads(&self) -> bool {
        matches!(self, Self::Ask { .. } | Self::AskWithDigest { .. } | Self::Detail { .. } | Self::Changes { .. })
    }
}

/// What came of a command.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Reply {
    New {
        ask: Box<WireAsk>,
    },
    Known {
        ask: Box<WireAsk>,
    },
    Full,
    Won {
        ask: Box<WireAsk>,
    },
    Lost {
        ask: Box<WireAsk>,
    },
    Ask {
        ask: Option<Box<WireAsk>>,
    },
    Detail {
        detail: String,
    },
    Changes {
        changes: Vec<WireChange>,
        through: i64,
        is_end: bool,
        #[serde(default)]
        is_broken_off: bool,
    },
}

/// Why a command was not carried out.
#[derive(Debug, Serialize, Deserialize)]
pub struct Fault {
    pub kind: FaultKind,
    /// For people.
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// This is not for a host to do.
    Refused,
    /// The hub's store failed, and nothing was saved.
    Store,
    /// The hub does not know whether it was saved.
    Unknown,
    /// A reason that only a newer version knows.
    #[serde(other)]
    Other,
}

impl From<&StoreError> for Fault {
    fn from(error: &StoreError) -> Self {
        let kind = if error.leaves_open_what_was_saved() { FaultKind::Unknown } else { FaultKind::Store };
        Self { kind, message: error.to_string() }
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault.kind {
            FaultKind::Refused | FaultKind::Other => Self::Failed(format!("the hub refuses this: {}", fault.message)),
            FaultKind::Store => Self::Unreachable(format!("the hub cannot save anything: {}", fault.message)),
            FaultKind::Unknown => Self::Unknown(format!("the hub does not know: {}", fault.message)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::SignedDuration;
    use serde_json::{Value, json};

    use super::*;
    use crate::ask::samples::{ask, new_ask};
    use crate::ask::{Change, ChangeKind, Cursor, NewAsk, Settlement};

    fn again<T: Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
        serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
    }

    #[test]
    fn asks_come_out_as_they_went_in() {
        let mut ask = ask(7, "s__t", "shop", 1);
        assert_eq!(again(&WireAsk::new(&ask)).read().unwrap(), ask);
        let outcome = Outcome::Dismissed { reason: Some("no".into()) };
        ask.settlement = Some(Settlement { outcome, by: None, at: Timestamp::UNIX_EPOCH });
        assert_eq!(again(&WireAsk::new(&ask)).read().unwrap(), ask);
        let now = Timestamp::from_second(1_000_000).unwrap();
        let new = NewAsk { expires_at: Some(now + SignedDuration::from_secs(9)), ..new_ask("s__t") };
        // The clock of the other end is an hour ahead.
        let hour = SignedDuration::from_hours(1);
        let read = again(&WireNew::new(&new, now)).read(now + hour).unwrap();
        assert_eq!(read.expires_at, new.expires_at.map(|at| at + hour));
        assert_eq!(NewAsk { expires_at: new.expires_at, ..read }, new);
    }

    #[test]
    fn what_a_newer_version_sends_is_passed_over() {
        let read = |frame: Value| serde_json::from_value::<HubFrame>(frame).unwrap();
        assert!(matches!(read(json!({"type": "news", "a": 1})), HubFrame::Unknown));
        assert!(matches!(read(json!({"type": "ready", "cursor": 4, "more": true})), HubFrame::Ready { cursor: 4 }));
        let call = json!({"type": "call", "id": 1, "command": {"do": "fly"}});
        let EdgeFrame::Call { command, .. } = serde_json::from_value(call).unwrap() else { panic!() };
        assert!(matches!(*command, Command::Unknown));
        let mut change = WireChange::new(
            &Change {
                cursor: Cursor(1),
                kind: ChangeKind::Opened,
                ask: Arc::new(ask(1, "s__t", "shop", 1)),
                detail: None,
            },
            None,
        );
        change.kind = "ask.sung".into();
        assert!(change.read().unwrap().is_none());
    }

    #[test]
    fn a_call_that_is_sent_again_says_so() {
        let call = EdgeFrame::Call { id: 7, command: Box::new(Command::Defer { ask: AskId(1) }), sent_before: None };
        let again = sent_before(&serde_json::to_string(&call).unwrap(), Duration::from_secs(2));
        let read = EdgeFrame::read(&again);
        assert!(
            matches!(&read, Some(EdgeFrame::Call { id: 7, sent_before: Some(Millis(2000)), .. })),
            "{again}: {read:?}"
        );
    }

    #[test]
    fn no_number_of_an_edge_breaks_a_clock() {
        for left in [i64::MIN, i64::MAX, 0] {
            Millis(left).after(Timestamp::now());
        }
    }

    #[test]
    fn a_call_that_cannot_be_read_still_has_its_number() {
        let deep = format!("{}1{}", r#"{"a":"#.repeat(200), "}".repeat(200));
        for command in [deep.as_str(), r#"{"do":"later","x":[1]}"#, "7"] {
            let text = format!(r#"{{"type":"call","id":7,"command":{command}}}"#);
            let read = EdgeFrame::read(&text);
            assert!(matches!(read, Some(EdgeFrame::Unreadable { id: 7 } | EdgeFrame::Call { id: 7, .. })), "{read:?}");
        }
        assert!(EdgeFrame::read("{").is_none() && EdgeFrame::read(r#"{"id":7}"#).is_none());
        assert_eq!(number_of(r#"{"type":"done","id":3,"result":{}}"#, "done"), Some(3));
        assert_eq!(number_of(r#"{"type":"change","id":3}"#, "done"), None);
    }

    #[test]
    fn a_time_is_within_a_century_whatever_an_edge_sends() {
        let now = Timestamp::now();
        for millis in [i64::MAX, i64::MIN, 0, 1000] {
            let time = Millis(millis).after(now);
            assert!(Timestamp::from_millisecond(time.as_millisecond()).is_ok(), "{millis}");
            assert!(time.duration_since(now).as_hours().abs() <= 100 * 365 * 24, "{millis}");
        }
    }
}
