//! The devices that are signed in: who they are, and how they are shown out.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::pin;

use axum::body::{Body, HttpBody};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json as JsonReply};
use futures_util::StreamExt;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

use crate::access::TokenHash;
use crate::api::{DeviceList, DeviceView, Problem};
use crate::store::{Device, Store, StoreError};

use super::App;
use super::extract::Name;
use super::guard::Caller;

/// "Last seen" is as exact as that: it is not written at every request.
const SEEN: SignedDuration = SignedDuration::from_mins(5);

/// Those that were shown out since the daemon was started. An id is never given to another device.
#[derive(Debug, Default)]
pub(super) struct Devices {
    revoked: watch::Sender<BTreeSet<i64>>,
}

impl Devices {
    /// The device with this token.
    pub(super) async fn find(&self, store: &Store, token: TokenHash) -> Result<Option<Device>, StoreError> {
        let now = Timestamp::now();
        let device = store.device(token.bytes(), now).await?;
        if let Some(device) = device.as_ref().filter(|device| now.duration_since(device.last_seen_at) > SEEN) {
            let (store, id) = (store.clone(), device.id);
            // Nobody waits for that.
            tokio::spawn(async move {
                if let Err(error) = store.device_seen(id, now).await {
                    tracing::warn!(%error, "it could not be noted that a device was seen");
                }
            });
        }
        Ok(device)
    }

    /// Shows a device out: its token is good for nothing any more, and what it waits for ends now.
    async fn revoke(&self, store: &Store, id: i64) -> Result<bool, StoreError> {
        let found = store.remove_device(id).await?;
        if found {
            self.revoked.send_if_modified(|revoked| revoked.insert(id));
        }
        Ok(found)
    }

    /// The reply to a device, for as long as it is signed in: a parked request and an endless reply end with that.
    pub(super) async fn while_signed_in(&self, device: Option<i64>, reply: impl Future<Output = Response>) -> Response {
        let Some(id) = device else { return reply.await };
        let mut revocations = self.revoked.subscribe();
        let mut revoked = Box::pin(async move { drop(revocations.wait_for(|revoked| revoked.contains(&id)).await) });
        let mut reply = pin!(reply);
        let response = tokio::select! {
            // A device that shows itself out gets its reply.
            biased;
            response = &mut reply => response,
            () = &mut revoked => return Problem::unauthorized().into_response(),
        };
        if response.body().size_hint().exact().is_some() {
            return response;
        }
        response.map(|body| Body::from_stream(body.into_data_stream().take_until(revoked)))
    }
}

/// Lists the devices that are signed in. Only over the socket.
#[utoipa::path(get, path = "/v1/devices", operation_id = "listDevices", tag = "devices", responses(
    (status = 200, body = DeviceList, description = "The devices, oldest first")))]
pub(super) async fn list(State(app): State<App>) -> Result<JsonReply<DeviceList>, Problem> {
    let devices = app.store.devices(Timestamp::now()).await?;
    Ok(JsonReply(DeviceList { devices: devices.into_iter().map(DeviceView::from).collect() }))
}

/// Signs a device out. Its token is refused from now on, and its event streams end. Only over the socket.
#[utoipa::path(post, path = "/v1/devices/{id}/revoke", operation_id = "revokeDevice", tag = "devices",
    params(("id" = i64, Path, description = "From `GET /v1/devices`")), responses(
    (status = 204, description = "It is signed out"),
    (status = 404, description = "There is no such device (`not-found`).")))]
pub(super) async fn revoke(State(app): State<App>, Name(id): Name) -> Result<StatusCode, Problem> {
    let unknown = || Problem::not_found("There is no such device.").hint("GET /v1/devices lists them.");
    let id = id.parse().map_err(|_| unknown())?;
    if app.devices.revoke(&app.store, id).await? {
        tracing::info!(id, "a device was signed out");
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(unknown())
}

/// A device signs itself out.
#[utoipa::path(post, path = "/v1/sign-out", operation_id = "signOut", tag = "devices", responses(
    (status = 204, description = "The token is good for nothing any more"),
    (status = 403, description = "It is not a device's token (`scope`).")))]
pub(super) async fn sign_out(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<StatusCode, Problem> {
    let id = caller.device().ok_or_else(|| {
        Problem::forbidden("scope", "Only a device can sign out.")
            .hint("Other tokens are changed by removing tokens.json.")
    })?;
    app.devices.revoke(&app.store, id).await?;
    tracing::info!(id, "a device has signed out");
    Ok(StatusCode::NO_CONTENT)
}
