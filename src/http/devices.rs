//! The devices that are signed in, over HTTP.

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json as JsonReply};

use crate::access::Caller;
use crate::api::{DeviceList, DeviceView, Problem};

use super::App;
use super::extract::Name;

/// Lists the devices that are signed in. Over the socket, or with the role admin.
#[cfg_attr(test, utoipa::path(get, path = "/v1/devices", operation_id = "listDevices", tag = "devices", responses(
    (status = 200, body = DeviceList, description = "The devices, oldest first"))))]
pub(super) async fn list(State(app): State<App>) -> Result<JsonReply<DeviceList>, Problem> {
    let devices = app.access.devices().await?;
    Ok(JsonReply(DeviceList { devices: devices.into_iter().map(DeviceView::from).collect() }))
}

/// Signs a device out. Its token is refused from now on, and its event streams end. Over the socket, or with the role admin.
#[cfg_attr(test, utoipa::path(post, path = "/v1/devices/{id}/revoke", operation_id = "revokeDevice", tag = "devices",
    params(("id" = i64, Path, description = "From `GET /v1/devices`")), responses(
    (status = 204, description = "It is signed out"),
    (status = 404, description = "There is no such device (`not-found`)."))))]
pub(super) async fn revoke(State(app): State<App>, Name(id): Name) -> Result<StatusCode, Problem> {
    let unknown = || Problem::not_found("There is no such device.").hint("GET /v1/devices lists them.");
    let id = id.parse().map_err(|_| unknown())?;
    if app.access.revoke(id).await? {
        tracing::info!(id, "a device was signed out");
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(unknown())
}

/// A device signs itself out.
#[cfg_attr(test, utoipa::path(post, path = "/v1/sign-out", operation_id = "signOut", tag = "devices", responses(
    (status = 204, description = "The token is good for nothing any more"),
    (status = 403, description = "It is not a device's token (`scope`)."))))]
pub(super) async fn sign_out(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<StatusCode, Problem> {
    let id = caller.device().ok_or_else(|| {
        Problem::forbidden("scope", "Only a device can sign out.")
            .hint("Other tokens are changed by removing tokens.json.")
    })?;
    app.access.revoke(id).await?;
    tracing::info!(id, "a device has signed out");
    Ok(StatusCode::NO_CONTENT)
}
