//! Types for pairing devices, and for the list of devices.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::store::{Device, DeviceKind};

use super::times::time;

/// Starts a pairing.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(default)]
pub struct PairingRequest {
    /// A name for the device. Without it, the device names itself.
    pub name: Option<String>,
    /// The id of the person who will have the device. Without it, the device belongs to whoever starts the pairing: to a person if a device
    /// of theirs does, and to nobody over the socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub person: Option<i64>,
}

/// A pairing that waits for its device.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct Pairing {
    /// Names this pairing in later calls.
    pub id: String,
    /// The secret that the device shows. It works for one device.
    pub code: String,
    /// The page to open on the device. It contains the code.
    pub url: String,
    /// The SHA-256 fingerprint of the certificate that the device will see, in the form that browsers show. Null if a proxy shows its own
    /// certificate.
    #[cfg_attr(test, schema(required = true))]
    pub fingerprint: Option<String>,
    /// How long the code is valid.
    pub expires_in_seconds: u64,
}

/// How far a pairing has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum PairingState {
    /// No device has shown the code yet.
    Waiting,
    /// A device has shown the code. It displays six digits.
    Claimed,
    /// The person has typed these digits. The device may fetch its token.
    Confirmed,
    /// The person refused the device, or typed wrong digits too often.
    Refused,
    /// The time for a step ran out.
    Expired,
}

/// How far a pairing has come.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct PairingView {
    pub state: PairingState,
    /// The name of the device. Null until the person or the device has given one.
    #[cfg_attr(test, schema(required = true))]
    pub name: Option<String>,
}

/// Sent by a device to show the code.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct ClaimRequest {
    /// From the URL of the pairing.
    pub code: String,
    /// The device's name for itself.
    #[serde(default)]
    pub name: Option<String>,
}

/// The reply to a device that has shown the code.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct Claimed {
    /// A secret. The device fetches its token with it.
    pub claim: String,
    /// Six digits that the device shows to the person.
    pub check: String,
}

/// Sent by a device to fetch its token.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct TokenRequest {
    /// From `POST /v1/pairing/claim`.
    pub claim: String,
}

/// Confirms a pairing.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct ConfirmRequest {
    /// The six digits that the device shows.
    #[cfg_attr(test, schema(pattern = "^[0-9]{6}$"))]
    pub check: String,
}

/// A browser or a phone that is signed in.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct DeviceView {
    /// Never used for another device.
    pub id: i64,
    pub name: String,
    /// How the device signed in.
    pub kind: DeviceKind,
    /// The time at which the device signed in.
    #[serde(serialize_with = "time")]
    #[cfg_attr(test, schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    /// The time of its last request. It may be up to five minutes behind.
    #[serde(serialize_with = "time")]
    #[cfg_attr(test, schema(value_type = String, format = DateTime))]
    pub last_seen_at: Timestamp,
    /// The name of the person whose device it is. Absent if it belongs to nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
}

impl From<Device> for DeviceView {
    fn from(device: Device) -> Self {
        let Device { id, name, kind, created_at, last_seen_at, person } = device;
        Self { id, name, kind, created_at, last_seen_at, person: person.map(|person| person.name) }
    }
}

/// All devices that are signed in, oldest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct DeviceList {
    pub devices: Vec<DeviceView>,
}
