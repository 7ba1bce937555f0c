//! Types for the machines whose daemons ask here.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::times::time;

/// Lets the daemon of another machine ask here.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct HostRequest {
    /// A name for the machine. People see it beside its questions.
    #[cfg_attr(test, schema(pattern = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$"))]
    pub name: String,
}

/// A machine that may ask here from now on.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct NewHost {
    /// Never used for another machine or device.
    pub id: i64,
    pub name: String,
    /// The host token. It is shown once. It opens `GET /v1/link` and nothing else.
    pub token: String,
    /// Where the machine reaches this daemon.
    pub url: String,
    /// The SHA-256 fingerprint of the certificate that the machine will see, in the form that browsers show. Null if a proxy shows its own
    /// certificate.
    #[cfg_attr(test, schema(required = true))]
    pub fingerprint: Option<String>,
}

/// A machine whose daemon asks here.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct HostView {
    /// Never used for another machine or device.
    pub id: i64,
    pub name: String,
    /// Whether its daemon is linked with this one now.
    pub linked: bool,
    /// How many of its questions are open.
    pub open: usize,
    /// The time at which the token was made.
    #[serde(serialize_with = "time")]
    #[cfg_attr(test, schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    /// The time at which its daemon was last seen. It may be up to five minutes behind.
    #[serde(serialize_with = "time")]
    #[cfg_attr(test, schema(value_type = String, format = DateTime))]
    pub last_seen_at: Timestamp,
}

/// All machines that have a host token, oldest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct HostList {
    pub hosts: Vec<HostView>,
}
