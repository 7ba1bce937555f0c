//! Asks over HTTP: list, look, wait, answer, dismiss, release, open.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json as JsonReply};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::access::Caller;
use crate::api::{AnswerRequest, AskRequest, AskView, DismissRequest, Nothing, Problem, ProjectList, ReleaseRequest};
use crate::ask::{Ask, AskId, Cursor, Kind, OutcomeKind};
use crate::inbox::{Inquiry, Listing, Words};
use crate::store::{Filter, StateFilter};

use super::App;
use super::extract::{Json, Key, Params};
use super::query::{Directory, HostName, Id, PageSize, Position, SearchText, Seconds, SessionName};
use super::room::Room;

const DEFAULT_PAGE: usize = 100;

/// Which asks to list.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams))]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub(super) struct ListParams {
    /// `open` (the default), `settled` or `all`.
    #[cfg_attr(test, param(inline, required = false))]
    state: ListState,
    /// Only asks of this session.
    #[cfg_attr(test, param(inline))]
    session: Option<SessionName>,
    /// Only asks of this project. This is the directory, exactly as in `project` of the ask.
    #[cfg_attr(test, param(inline))]
    project: Option<Directory>,
    /// Only asks of this host.
    #[cfg_attr(test, param(inline))]
    host: Option<HostName>,
    /// Only asks of this kind.
    #[cfg_attr(test, param(inline))]
    kind: Option<Kind>,
    /// Only asks with this outcome.
    #[cfg_attr(test, param(inline))]
    outcome: Option<OutcomeKind>,
    /// Only asks with this text in a question, an answer, a note or a reason.
    #[cfg_attr(test, param(inline))]
    text: Option<SearchText>,
    /// Only asks that were opened at this time or later.
    #[cfg_attr(test, param(value_type = Option<String>, format = DateTime))]
    opened_since: Option<Timestamp>,
    /// How many asks to list at most. By default, all open asks are listed, and 100 with any other `state`. A page may have fewer, and
    /// even none, and still have a `next`: it ends after 2 MiB, and after some hundred asks that the person may not see.
    #[cfg_attr(test, param(inline))]
    limit: Option<PageSize>,
    /// Only asks that are older than the ask with this id. Send `next` of the page before.
    #[cfg_attr(test, param(inline))]
    before: Option<Id>,
    /// Only asks whose key ends with this text.
    #[cfg_attr(test, param(inline))]
    key_end: Option<SessionName>,
    /// Also list the questions that `answerback doctor` asks itself.
    probes: bool,
    /// Wait until something has changed after this cursor. Needs `wait`.
    #[cfg_attr(test, param(inline))]
    since: Option<Position>,
    /// Wait at most this many seconds. Without `since`, there is no wait.
    #[cfg_attr(test, param(inline))]
    wait: Option<Seconds>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
enum ListState {
    #[default]
    Open,
    Settled,
    All,
}

/// How long to wait for the outcome.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams))]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub(super) struct GetParams {
    /// Wait until the ask is settled, but at most this many seconds.
    #[cfg_attr(test, param(inline))]
    wait: Option<Seconds>,
}

pub(super) fn patience(wait: Option<Seconds>) -> Duration {
    Duration::from_secs(wait.map_or(0, Seconds::get))
}

/// Lists asks, newest first.
///
/// With `since` and `wait`, this is a long poll. It returns as soon as something has changed after that cursor, or when the time is up.
/// The `ETag` changes with the cursor. Send it as `If-None-Match` to get 304 while nothing has changed.
#[cfg_attr(test, utoipa::path(get, path = "/v1/asks", operation_id = "listAsks", tag = "asks",
    params(ListParams, ("if-none-match" = Option<String>, Header, nullable = false, description = "The `ETag` of an earlier reply")),
    responses(
        (status = 200, body = crate::api::AskList, description = "The asks", headers(("ETag" = String, description = "The tag of this list"))),
        (status = 304, description = "Nothing has changed", headers(("ETag" = String, description = "The tag of this list"))))))]
pub(super) async fn list(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Params(params): Params<ListParams>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    if let Some(since) = params.since {
        let changed = app.inbox.changed(Cursor(since.signed()), caller.rights());
        app.wait_at_most(patience(params.wait), changed).await;
    }
    // A person whose rights have changed sees another list.
    let revision = caller.rights().revision().map_or_else(String::new, |revision| format!(".{revision}"));
    let etag = |cursor: Cursor| [(header::ETAG, format!("\"{}{revision}\"", cursor.0))];
    let newest = etag(app.inbox.cursor());
    if headers.get(header::IF_NONE_MATCH).is_some_and(|seen| seen.as_bytes() == newest[0].1.as_bytes()) {
        return Ok((StatusCode::NOT_MODIFIED, newest).into_response());
    }
    let (state, default_limit) = match params.state {
        ListState::Open => (StateFilter::Open, usize::MAX),
        ListState::Settled => (StateFilter::Settled, DEFAULT_PAGE),
        ListState::All => (StateFilter::All, DEFAULT_PAGE),
    };
    let limit = params.limit.and_then(|limit| usize::try_from(limit.get()).ok()).unwrap_or(default_limit);
    let filter = Filter {
        state,
        session: params.session.map(SessionName::into_string),
        project: params.project.map(Directory::into_string),
        host: params.host.map(HostName::into_string),
        kind: params.kind,
        outcome: params.outcome,
        text: params.text.map(SearchText::into_string),
        opened_since: params.opened_since,
        before: params.before.map(|id| AskId(id.signed())),
        key_end: params.key_end.map(SessionName::into_string),
        probes: params.probes,
        limit,
    };
    let Listing { page, cursor } = app.inbox.list(filter, &caller).await?;
    let perhaps_answered = app.inbox.perhaps_answered(&page.asks).await;
    let json = app.list_writer.write(&page, &perhaps_answered, cursor).await.map_err(Problem::internal)?;
    Ok((etag(cursor), [(header::CONTENT_TYPE, "application/json")], json).into_response())
}

/// Lists the projects that have asks, open or settled.
///
/// A directory on one host is another project than the same directory on another host. `hosts` tells them apart. If their names have
/// over 1 MiB together, the last ones are left out.
#[cfg_attr(test, utoipa::path(get, path = "/v1/projects", operation_id = "listProjects", tag = "asks", responses(
    (status = 200, body = ProjectList, description = "The directories of the projects"))))]
pub(super) async fn projects(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<JsonReply<ProjectList>, Problem> {
    let mut hosts = app.inbox.hosts(caller.rights()).await?;
    let mut projects = app.inbox.projects(caller.rights()).await?;
    let (mut room, mut room_for_hosts) = (Room::default(), Room::default());
    projects.retain(|project| room.takes(project.len()));
    for host in &mut hosts {
        host.projects.retain(|project| room_for_hosts.takes(project.len()));
    }
    let here = app.inbox.host().as_str().to_owned();
    Ok(JsonReply(ProjectList { projects, hosts: hosts.into_iter().map(Into::into).collect(), here }))
}

/// Gets one ask. With `wait`, it returns as soon as the ask is settled.
#[cfg_attr(test, utoipa::path(get, path = "/v1/asks/{key}", operation_id = "getAsk", tag = "asks", params(Key, GetParams), responses(
    (status = 200, body = AskView, description = "The ask as it is now"),
    (status = 404, description = "There is no ask with this key (`not-found`)."))))]
pub(super) async fn get(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Key(key): Key,
    Params(params): Params<GetParams>,
) -> Result<JsonReply<AskView>, Problem> {
    if params.wait.is_some() {
        // What the caller may not see is not there at once, too.
        app.inbox.get(&key, caller.rights()).await?;
        app.wait_at_most(patience(params.wait), app.inbox.until_settled(&key)).await;
    }
    let ask = app.inbox.get(&key, caller.rights()).await?;
    let perhaps_answered = app.inbox.perhaps_answered(std::slice::from_ref(&ask)).await.contains(&ask.id);
    Ok(JsonReply(AskView { perhaps_answered, ..AskView::from(&*ask) }))
}

fn view(ask: &Arc<Ask>) -> JsonReply<AskView> {
    JsonReply(AskView::from(&**ask))
}

/// Answers an ask. The first answer wins. To send the same answer again is no error.
#[cfg_attr(test, utoipa::path(post, path = "/v1/asks/{key}/answer", operation_id = "answerAsk", tag = "asks",
    params(Key), request_body = AnswerRequest, responses(
    (status = 200, body = AskView, description = "This answer counts. It is on disk."),
    (status = 204, description = "The same as 200, for a caller with a ticket. A ticket may not read the ask."),
    (status = 403, description = "Only a paired device answers this kind (`devices-only`), a notification does not answer it (`no-buttons`), or the person may only view this project (`role`)."),
    (status = 404, description = "There is no ask with this key (`not-found`)."),
    (status = 409, description = "Somebody else gave a different answer first (`answered-already`). `ask` contains that answer."),
    (status = 410, description = "The ask ended without an answer (`closed`). `ask` says how."),
    (status = 422, description = "The answer does not fit the questions (`invalid`). `errors` says what is wrong with each."))))]
pub(super) async fn answer(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Key(key): Key,
    Json(request): Json<AnswerRequest>,
) -> Result<Response, Problem> {
    let AnswerRequest { answers, notes, partial, edited, id } = request;
    let words = Words { answers, notes, partial, edited, id: id.map(AskId) };
    let settled = app.inbox.answer(&key, &words, &caller).await.map_err(Problem::from);
    if caller.may_read() {
        return settled.map(|ask| view(&ask).into_response());
    }
    // A ticket may answer, but it may not read the ask or an answer of somebody else.
    settled.map(|_| StatusCode::NO_CONTENT.into_response()).map_err(|problem| Problem {
        ask: None,
        hint: None,
        ..problem
    })
}

/// Dismisses an ask. The asker learns that there will be no answer, and gets the reason.
#[cfg_attr(test, utoipa::path(post, path = "/v1/asks/{key}/dismiss", operation_id = "dismissAsk", tag = "asks",
    params(Key), request_body = DismissRequest, responses(
    (status = 200, body = AskView, description = "The ask is dismissed"),
    (status = 403, description = "Only a paired device decides about this kind (`devices-only`), or the person may only view this project (`role`)."),
    (status = 404, description = "There is no ask with this key (`not-found`)."),
    (status = 409, description = "Somebody answered the ask first (`answered-already`). `ask` contains that answer."),
    (status = 410, description = "The ask ended in another way (`closed`). `ask` says how."),
    (status = 422, description = "The reason is too long, or the body has the wrong shape (`invalid`)."))))]
pub(super) async fn dismiss(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Key(key): Key,
    Json(request): Json<DismissRequest>,
) -> Result<JsonReply<AskView>, Problem> {
    let DismissRequest { reason, id } = request;
    Ok(view(&app.inbox.dismiss(&key, id.map(AskId), reason, &caller).await?))
}

/// Releases an ask to the asker's own dialog.
#[cfg_attr(test, utoipa::path(post, path = "/v1/asks/{key}/release", operation_id = "releaseAsk", tag = "asks",
    params(Key), request_body = ReleaseRequest, responses(
    (status = 200, body = AskView, description = "The ask is released"),
    (status = 403, description = "The person may only view this project (`role`)."),
    (status = 404, description = "There is no ask with this key (`not-found`)."),
    (status = 409, description = "Somebody answered the ask first (`answered-already`). `ask` contains that answer."),
    (status = 410, description = "The ask ended in another way (`closed`). `ask` says how."),
    (status = 422, description = "The body has the wrong shape (`invalid`)."))))]
pub(super) async fn release(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Key(key): Key,
    Json(ReleaseRequest { id }): Json<ReleaseRequest>,
) -> Result<JsonReply<AskView>, Problem> {
    Ok(view(&app.inbox.release(&key, id.map(AskId), &caller).await?))
}

/// Opens an ask for a program. Wait for its outcome with `GET /v1/asks/{key}?wait=`.
#[cfg_attr(test, utoipa::path(post, path = "/v1/asks", operation_id = "openAsk", tag = "asks", request_body = AskRequest, responses(
    (status = 201, body = AskView, description = "The ask is open. It is on disk.",
        headers(("Location" = String, description = "The path of the ask"))),
    (status = 403, description = "The person may not answer in this project, so they may not ask either (`role`)."),
    (status = 422, description = "These questions cannot be asked, or the body has the wrong shape (`invalid`)."),
    (status = 429, description = "This person or device has asked too much within a day (`too-much`)."),
    (status = 500, description = "The system has no random numbers for a key (`internal`)."),
    (status = 503, description = "Too many questions are open, or too many of this person (`too-many-open`)."))))]
pub(super) async fn open(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Json(request): Json<AskRequest>,
) -> Result<Response, Problem> {
    let timeout = request.timeout_seconds.map(|seconds| SignedDuration::from_secs(seconds.into()));
    let AskRequest { questions, project, asked_by, .. } = request;
    let ask = app.inbox.open(Inquiry { questions, project, asked_by, timeout }, &caller).await?;
    let location = format!("/v1/asks/{}", ask.key);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], view(&ask)).into_response())
}

/// Withdraws an ask of a program that no longer needs the answer. A hook withdraws its ask by hanging up.
#[cfg_attr(test, utoipa::path(post, path = "/v1/asks/{key}/withdraw", operation_id = "withdrawAsk", tag = "asks",
    params(Key), request_body = Nothing, responses(
    (status = 200, body = AskView, description = "The ask is withdrawn"),
    (status = 403, description = "An agent opened the ask (`not-yours`), or the person may only view this project (`role`)."),
    (status = 404, description = "There is no ask with this key (`not-found`)."),
    (status = 409, description = "Somebody answered the ask first (`answered-already`). `ask` contains that answer."),
    (status = 410, description = "The ask ended in another way (`closed`). `ask` says how."),
    (status = 422, description = "The body is not an object (`invalid`)."))))]
pub(super) async fn withdraw(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Key(key): Key,
    Json(Nothing {}): Json<Nothing>,
) -> Result<JsonReply<AskView>, Problem> {
    Ok(view(&app.inbox.withdraw(&key, &caller).await?))
}
