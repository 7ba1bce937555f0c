//! The machines whose daemons ask here, over HTTP.

use axum::Json as JsonReply;
use axum::extract::State;
use axum::http::StatusCode;

use crate::access::AddHostError;
use crate::api::{HostList, HostRequest, HostView, NewHost, Problem};
use crate::ask::Host;

use super::App;
use super::extract::{Json, Name};

/// Makes a token for the daemon of another machine. Over the socket, or with the role admin.
#[cfg_attr(test, utoipa::path(post, path = "/v1/hosts", operation_id = "addHost", tag = "hosts", request_body = HostRequest, responses(
    (status = 201, body = NewHost, description = "The machine may ask here"),
    (status = 409, description = "Another machine has this name, or this machine itself has it (`name-taken`). Or no machine could \
        reach this daemon (`not-reachable`)."),
    (status = 422, description = "The body has the wrong shape, or the name cannot be used (`invalid`)."),
    (status = 500, description = "There is no randomness to make a token of (`internal`)."))))]
pub(super) async fn add(
    State(app): State<App>,
    Json(request): Json<HostRequest>,
) -> Result<(StatusCode, JsonReply<NewHost>), Problem> {
    let name = Host::named(&request.name).map_err(|error| Problem::invalid(format!("{error}."), Vec::new()))?;
    let (url, fingerprint) = app.reach.for_devices()?;
    let taken = |title: &str| Problem::new(StatusCode::CONFLICT, "name-taken", title);
    let (id, token) = app.access.add_host(name.clone()).await.map_err(|error| match error {
        AddHostError::Taken => taken("Another machine has this name.")
            .hint("Choose another name, or take its token back first: answerback hosts revoke NAME"),
        AddHostError::Own => taken("This machine itself has this name.").hint("Choose another name."),
        AddHostError::NoRandomness(error) => Problem::internal(error),
        AddHostError::Store(error) => error.into(),
    })?;
    tracing::info!(id, host = name.as_str(), "a machine may ask here");
    let new = NewHost { id, name: name.as_str().to_owned(), token: token.reveal().to_owned(), url, fingerprint };
    Ok((StatusCode::CREATED, JsonReply(new)))
}

/// Lists the machines that have a host token. Over the socket, or with the role admin.
#[cfg_attr(test, utoipa::path(get, path = "/v1/hosts", operation_id = "listHosts", tag = "hosts", responses(
    (status = 200, body = HostList, description = "The machines, oldest first"))))]
pub(super) async fn list(State(app): State<App>) -> Result<JsonReply<HostList>, Problem> {
    let open = app.registry.open_asks(None);
    let hosts = app.access.hosts().await?.into_iter().map(|device| {
        let host = Host::new(&device.name);
        HostView {
            id: device.id,
            linked: app.registry.is_linked(&host),
            open: open.iter().filter(|ask| ask.host == host).count(),
            last_seen_at: if app.registry.is_linked(&host) { app.registry.now() } else { device.last_seen_at },
            name: device.name,
            created_at: device.created_at,
        }
    });
    Ok(JsonReply(HostList { hosts: hosts.collect() }))
}

/// Takes the token of a machine back. Its link ends at once, and its open questions are withdrawn. Over the socket, or with the role admin.
#[cfg_attr(test, utoipa::path(post, path = "/v1/hosts/{name}/revoke", operation_id = "revokeHost", tag = "hosts",
    params(("name" = String, Path, description = "From `GET /v1/hosts`")), responses(
    (status = 204, description = "The token is good for nothing any more"),
    (status = 404, description = "There is no such machine (`not-found`)."))))]
pub(super) async fn revoke(State(app): State<App>, Name(name): Name) -> Result<StatusCode, Problem> {
    if app.access.revoke_host(&name).await? {
        tracing::info!(host = name, "the token of a machine was taken back");
        app.registry.host_is_revoked(Host::new(&name));
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(Problem::not_found("There is no such machine.").hint("answerback hosts lists them."))
}
