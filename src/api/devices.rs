//! What is said about letting devices in.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::store::{Device, DeviceKind};

use super::time;

/// A new device shall be let in.
#[derive(Debug, Clone, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct PairingRequest {
    /// What to call it; otherwise it says so itself.
    pub name: Option<String>,
}

/// A pairing that waits for its device.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Pairing {
    /// For the calls that follow.
    pub id: String,
    /// Good for one device.
    pub code: String,
    /// What the device opens; the code is in it.
    pub url: String,
    /// SHA-256 of the certificate the device will see, as browsers show it; null where a proxy shows its own.
    #[schema(required = true)]
    pub fingerprint: Option<String>,
    /// How long the code is good.
    pub expires_in_seconds: u64,
}

/// How far a pairing has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PairingState {
    /// No device has shown the code.
    Waiting,
    /// One has, and shows six digits.
    Claimed,
    /// They were typed in.
    Confirmed,
    /// Somebody said no, or mistyped too often.
    Refused,
    /// It took too long.
    Expired,
}

/// How far a pairing has come.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PairingView {
    pub state: PairingState,
    /// What the device is called, once there is one.
    #[schema(required = true)]
    pub name: Option<String>,
}

/// A device shows the code.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ClaimRequest {
    /// From the URL.
    pub code: String,
    /// What the device calls itself.
    #[serde(default)]
    pub name: Option<String>,
}

/// What a device gets for the code.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Claimed {
    /// Fetches the token.
    pub claim: String,
    /// Six digits to show to the person.
    pub check: String,
}

/// A device comes for its token.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TokenRequest {
    /// From `POST /v1/pairing/claim`.
    pub claim: String,
}

/// The digits that the device shows.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ConfirmRequest {
    /// Six of them.
    #[schema(pattern = "^[0-9]{6}$")]
    pub check: String,
}

/// A browser or a phone that is signed in.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct DeviceView {
    pub id: i64,
    pub name: String,
    pub kind: DeviceKind,
    #[serde(serialize_with = "time")]
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Give or take five minutes.
    #[serde(serialize_with = "time")]
    #[schema(value_type = String, format = DateTime)]
    pub last_seen_at: Timestamp,
}

impl From<Device> for DeviceView {
    fn from(device: Device) -> Self {
        let Device { id, name, kind, created_at, last_seen_at } = device;
        Self { id, name, kind, created_at, last_seen_at }
    }
}

/// All of them, oldest first.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct DeviceList {
    pub devices: Vec<DeviceView>,
}
