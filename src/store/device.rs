//! The browsers and phones that are signed in.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// How a device was let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// A browser on this machine, by a launch code.
    Page,
    /// Anything anywhere, by pairing.
    Paired,
}

/// A device that may read, answer and ask. The store keeps a hash of its token, never the token.
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
}
