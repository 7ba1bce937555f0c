//! The browsers, phones and other machines that are signed in.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::Person;

/// How a device was let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// A browser on this machine, by a launch code.
    Page,
    /// Anything anywhere, by pairing.
    Paired,
    /// The daemon of another machine, which asks here: an edge. It is never forgotten, because a machine may be off for long.
    Host,
}

/// A browser on this machine is forgotten when it was not used for so long.
const PAGE_LIFE: SignedDuration = SignedDuration::from_hours(30 * 24);
/// A paired device has longer, because it was more work to let it in.
const PAIRED_LIFE: SignedDuration = SignedDuration::from_hours(90 * 24);

impl DeviceKind {
    /// The times after which a page and a paired device must have been used, in milliseconds.
    pub(super) fn forgotten_before(now: Timestamp) -> (i64, i64) {
        let before = |life| now.checked_sub(life).unwrap_or(Timestamp::MIN).as_millisecond();
        (before(PAGE_LIFE), before(PAIRED_LIFE))
    }
}

/// A device that is let in. What it may do depends on its kind. The store keeps a hash of its token, never the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Names it. No other device ever gets this number.
    pub id: i64,
    /// What people call it.
    pub name: String,
    /// How it was let in.
    pub kind: DeviceKind,
    /// The time at which it was let in.
    pub created_at: Timestamp,
    /// The time at which it was last used, give or take some minutes.
    pub last_seen_at: Timestamp,
    /// Whose it is. Without a person, it may see and answer everything.
    pub person: Option<Person>,
}
