//! Being away, over HTTP.

use axum::extract::State;
use axum::{Extension, Json as JsonReply};
use jiff::SignedDuration;
use serde::Deserialize;

use crate::access::Caller;
use crate::api::{AwayList, AwayRequest, AwayView, Problem};
use crate::ask::NewAway;

use super::App;
use super::extract::{Json, Params};
use super::query::Directory;

/// What ends when somebody is back.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams))]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub(super) struct BackParams {
    /// End only what is said for this directory. It begins with `/`.
    #[cfg_attr(test, param(inline))]
    project: Option<Directory>,
}

/// Gets what people who are away say to what is asked meanwhile.
#[cfg_attr(test, utoipa::path(get, path = "/v1/away", operation_id = "getAway", tag = "asks", responses(
    (status = 200, body = AwayList, description = "What is on now. It is empty if nobody is away."))))]
pub(super) async fn get(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<JsonReply<AwayList>, Problem> {
    Ok(JsonReply(app.inbox.away(caller.rights()).await?.into()))
}

/// Sets what is said to everything that is asked from now on, for a time. It replaces what was set for the same project.
#[cfg_attr(test, utoipa::path(put, path = "/v1/away", operation_id = "setAway", tag = "asks", request_body = AwayRequest, responses(
    (status = 200, body = AwayView, description = "It is on. It is on disk."),
    (status = 403, description = "The person may not answer everything (`role`)."),
    (status = 422, description = "These words, this time, these kinds or this project cannot be used, or the body has the wrong \
        shape (`invalid`)."))))]
pub(super) async fn set(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Json(request): Json<AwayRequest>,
) -> Result<JsonReply<AwayView>, Problem> {
    let AwayRequest { words, for_seconds, project, kinds } = request;
    let new = NewAway { project, words, kinds, time: SignedDuration::from_secs(for_seconds.into()) };
    Ok(JsonReply(app.inbox.leave(new, &caller).await?.into()))
}

/// Ends being away, in one project or everywhere.
#[cfg_attr(test, utoipa::path(delete, path = "/v1/away", operation_id = "endAway", tag = "asks", params(BackParams), responses(
    (status = 200, body = AwayList, description = "What was on until now. It is empty if nobody was away."),
    (status = 403, description = "The person may not answer everything (`role`)."))))]
pub(super) async fn end(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Params(params): Params<BackParams>,
) -> Result<JsonReply<AwayList>, Problem> {
    Ok(JsonReply(app.inbox.come_back(params.project.map(Directory::into_string), &caller).await?.into()))
}
