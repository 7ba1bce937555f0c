//! Asks over HTTP: list, look, wait, answer, dismiss, release, open.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json as JsonReply};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::access::{Caller, Token};
use crate::api::{
    AnswerRequest, AskList, AskRequest, AskView, DismissRequest, Nothing, OutcomeKind, Problem, ProjectList,
};
use crate::ask::{Answer, Ask, AskId, AskKey, MAX_TEXT, NewAsk, OnTimeout, Origin, Outcome, Questions};
use crate::store::{Cursor, Filter, StateFilter};

use super::App;
use super::extract::{Json, Key, Params};
use super::query::{Directory, Id, PageSize, Position, SearchText, Seconds, SessionName};

const DEFAULT_PAGE: usize = 100;
/// The longest path of a project, in bytes.
const MAX_PROJECT: usize = 4096;

/// Which asks to list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListParams {
    /// `open` (the default), `settled` or `all`.
    #[param(inline, required = false)]
    state: ListState,
    /// Only of this session.
    #[param(inline)]
    session: Option<SessionName>,
    /// Only of this project: the directory, as the ask has it.
    #[param(inline)]
    project: Option<Directory>,
    /// Only those that ended like this.
    #[param(inline)]
    outcome: Option<OutcomeKind>,
    /// Only with this text in a question, an answer, a note or a reason.
    #[param(inline)]
    text: Option<SearchText>,
    /// Only those opened at this time or later.
    #[param(value_type = Option<String>, format = DateTime)]
    opened_since: Option<Timestamp>,
    /// At most so many. The default is all open asks, or 100 of the others.
    #[param(inline)]
    limit: Option<PageSize>,
    /// Only older ones than this: `next` of the page before.
    #[param(inline)]
    before: Option<Id>,
    /// Only those whose key ends with this.
    #[param(inline)]
    key_end: Option<SessionName>,
    /// Also the questions that `answerback doctor` asks itself.
    probes: bool,
    /// Wait until something has changed after this cursor.
    #[param(inline)]
    since: Option<Position>,
    /// But not longer than so many seconds. Without `since` there is nothing to wait for.
    #[param(inline)]
    wait: Option<Seconds>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
enum ListState {
    #[default]
    Open,
    Settled,
    All,
}

/// How long to wait for the outcome.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct GetParams {
    /// Return when the ask is settled, or after so many seconds.
    #[param(inline)]
    wait: Option<Seconds>,
}

pub(super) fn patience(wait: Option<Seconds>) -> Duration {
    Duration::from_secs(wait.map_or(0, Seconds::get))
}

/// Lists asks, newest first.
///
/// With `since` and `wait` it is a long poll: it returns as soon as anything has changed after that cursor, or when the
/// time is up. The `ETag` changes with the cursor; `If-None-Match` gives 304.
#[utoipa::path(get, path = "/v1/asks", operation_id = "listAsks", tag = "asks",
    params(ListParams, ("if-none-match" = Option<String>, Header, nullable = false, description = "The `ETag` of a list that is known already")),
    responses(
        (status = 200, body = AskList, description = "The asks", headers(("ETag" = String, description = "Of this list"))),
        (status = 304, description = "Nothing has changed", headers(("ETag" = String, description = "Of this list")))))]
pub(super) async fn list(
    State(app): State<App>,
    Params(params): Params<ListParams>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let mut cursor = app.registry.cursor();
    if let Some(since) = params.since {
        let changed = cursor.wait_for(|newest| *newest != Cursor(since.signed()));
        app.wait_at_most(patience(params.wait), changed).await;
    }
    // Before the list is made: a change in between is seen again rather than missed.
    let newest = cursor.borrow_and_update().0;
    let etag = format!("\"{newest}\"");
    if headers.get(header::IF_NONE_MATCH).is_some_and(|seen| seen.as_bytes() == etag.as_bytes()) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, etag)]).into_response());
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
        outcome: params.outcome.map(|kind| kind.name().to_owned()),
        text: params.text.map(SearchText::into_string),
        opened_since: params.opened_since,
        before: params.before.map(|id| AskId(id.signed())),
        key_end: params.key_end.map(SessionName::into_string),
        probes: params.probes,
        limit,
    };
    let page = app.registry.list(filter).await?;
    let list = AskList {
        asks: page.asks.iter().map(|ask| AskView::from(&**ask)).collect(),
        cursor: newest.to_string(),
        next: page.next.map(|id| id.0),
        damaged: page.damaged,
    };
    Ok(([(header::ETAG, etag)], JsonReply(list)).into_response())
}

/// The projects there are asks of, open or settled.
#[utoipa::path(get, path = "/v1/projects", operation_id = "listProjects", tag = "asks", responses(
    (status = 200, body = ProjectList, description = "The directories")))]
pub(super) async fn projects(State(app): State<App>) -> Result<JsonReply<ProjectList>, Problem> {
    Ok(JsonReply(ProjectList { projects: app.store.projects().await? }))
}

/// One ask. With `wait` it returns once the ask is settled.
#[utoipa::path(get, path = "/v1/asks/{key}", operation_id = "getAsk", tag = "asks", params(Key, GetParams), responses(
    (status = 200, body = AskView, description = "The ask as it is"),
    (status = 404, description = "There is no ask with this key (`not-found`).")))]
pub(super) async fn get(
    State(app): State<App>,
    Key(key): Key,
    Params(params): Params<GetParams>,
) -> Result<JsonReply<AskView>, Problem> {
    if params.wait.is_some() {
        app.wait_at_most(patience(params.wait), app.registry.settled(&key)).await;
    }
    let ask = find(&app, &key).await?;
    Ok(JsonReply(AskView::from(&*ask)))
}

pub(super) async fn find(app: &App, key: &AskKey) -> Result<Arc<Ask>, Problem> {
    app.registry.get(key).await?.ok_or_else(Problem::unknown_ask)
}

/// Answers an ask. The first answer wins; saying the same again is no error.
#[utoipa::path(post, path = "/v1/asks/{key}/answer", operation_id = "answerAsk", tag = "asks",
    params(Key), request_body = AnswerRequest, responses(
    (status = 200, body = AskView, description = "This answer counts, and is on disk"),
    (status = 204, description = "The same, told to a ticket"),
    (status = 404, description = "There is no ask with this key (`not-found`)."),
    (status = 409, description = "Somebody answered differently before (`answered-already`); `ask` holds that answer."),
    (status = 410, description = "The ask ended without an answer (`closed`); `ask` says how."),
    (status = 422, description = "The answer does not fit the questions (`invalid`); `errors` says what is wrong with which.")))]
pub(super) async fn answer(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Key(key): Key,
    Json(request): Json<AnswerRequest>,
) -> Result<Response, Problem> {
    let ask = find(&app, &key).await?;
    if !caller.may_answer(&ask) {
        return Err(Problem::new(StatusCode::GONE, "closed", "This question was asked again after this notification."));
    }
    if !caller.may_say(&ask, &request.answers, &request.notes, request.partial) {
        return Err(Problem::invalid("A notification answers with one of the options, and nothing else.", Vec::new()));
    }
    let answer = Answer::new(&ask.questions, &request.answers, &request.notes, request.partial)
        .map_err(|error| Problem::invalid("The answer does not fit the questions.", error.faults))?;
    let settled = settle(&app, &ask, Outcome::Answered(answer), &caller).await;
    if caller.may_read() {
        return settled.map(IntoResponse::into_response);
    }
    settled.map(|_| StatusCode::NO_CONTENT.into_response()).map_err(|problem| Problem {
        ask: None,
        hint: None,
        ..problem
    })
}

/// Refuses to answer; the asker is told, with the reason.
#[utoipa::path(post, path = "/v1/asks/{key}/dismiss", operation_id = "dismissAsk", tag = "asks",
    params(Key), request_body = DismissRequest, responses(
    (status = 200, body = AskView, description = "It is dismissed"),
    (status = 404, description = "There is no ask with this key (`not-found`)."),
    (status = 409, description = "Somebody answered before (`answered-already`); `ask` holds that answer."),
    (status = 410, description = "The ask ended in another way (`closed`); `ask` says how."),
    (status = 422, description = "The reason is too long, or the body has another shape (`invalid`).")))]
pub(super) async fn dismiss(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Key(key): Key,
    Json(request): Json<DismissRequest>,
) -> Result<JsonReply<AskView>, Problem> {
    let reason = request.reason.filter(|reason| !reason.trim().is_empty());
    if reason.as_ref().is_some_and(|reason| reason.len() > MAX_TEXT) {
        return Err(Problem::invalid("The reason is over 16 KiB.", Vec::new()));
    }
    let ask = find(&app, &key).await?;
    settle(&app, &ask, Outcome::Dismissed { reason }, &caller).await
}

/// Hands an ask back to the asker's own dialog.
#[utoipa::path(post, path = "/v1/asks/{key}/release", operation_id = "releaseAsk", tag = "asks",
    params(Key), request_body = Nothing, responses(
    (status = 200, body = AskView, description = "It is released"),
    (status = 404, description = "There is no ask with this key (`not-found`)."),
    (status = 409, description = "Somebody answered before (`answered-already`); `ask` holds that answer."),
    (status = 410, description = "The ask ended in another way (`closed`); `ask` says how."),
    (status = 422, description = "The body is not an object (`invalid`).")))]
pub(super) async fn release(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Key(key): Key,
    Json(Nothing {}): Json<Nothing>,
) -> Result<JsonReply<AskView>, Problem> {
    let ask = find(&app, &key).await?;
    settle(&app, &ask, Outcome::Released, &caller).await
}

async fn settle(app: &App, ask: &Ask, outcome: Outcome, caller: &Caller) -> Result<JsonReply<AskView>, Problem> {
    let settled = app.registry.settle(ask.id, outcome, caller.source()).await?;
    Ok(JsonReply(AskView::from(&*settled)))
}

/// Opens an ask for any program. Wait for its outcome with `GET /v1/asks/{key}?wait=`.
#[utoipa::path(post, path = "/v1/asks", operation_id = "openAsk", tag = "asks", request_body = AskRequest, responses(
    (status = 201, body = AskView, description = "The ask is open, and is on disk",
        headers(("Location" = String, description = "Its path"))),
    (status = 422, description = "These questions cannot be asked, or the body has another shape (`invalid`)."),
    (status = 500, description = "There is no randomness to make a key of (`internal`)."),
    (status = 503, description = "Too many questions are open (`too-many-open`).")))]
pub(super) async fn open(State(app): State<App>, Json(request): Json<AskRequest>) -> Result<Response, Problem> {
    let questions =
        Questions::new(request.questions).map_err(|error| Problem::invalid(format!("{error}."), Vec::new()))?;
    if request.project.as_ref().is_some_and(|project| project.len() > MAX_PROJECT) {
        return Err(Problem::invalid("The project is over 4 KiB.", Vec::new()));
    }
    let timeout = request.timeout_seconds.map(|seconds| SignedDuration::from_secs(seconds.into()));
    let ask = app
        .registry
        .open(NewAsk {
            key: program_key()?,
            origin: Origin::Program,
            project: request.project,
            questions,
            detail: String::new(),
            expires_at: timeout.and_then(|timeout| Timestamp::now().checked_add(timeout).ok()),
            on_timeout: OnTimeout::Native,
            racing: false,
            digest: None,
            asker: None,
        })
        .await?;
    let location = format!("/v1/asks/{}", ask.key);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], JsonReply(AskView::from(&*ask))).into_response())
}

/// Takes back the question of a program that does not need the answer any more. A hook takes its own back by hanging up.
#[utoipa::path(post, path = "/v1/asks/{key}/withdraw", operation_id = "withdrawAsk", tag = "asks",
    params(Key), request_body = Nothing, responses(
    (status = 200, body = AskView, description = "It is withdrawn"),
    (status = 403, description = "It is an agent's question (`not-yours`)."),
    (status = 404, description = "There is no ask with this key (`not-found`)."),
    (status = 409, description = "Somebody answered before (`answered-already`); `ask` holds that answer."),
    (status = 410, description = "The ask ended in another way (`closed`); `ask` says how."),
    (status = 422, description = "The body is not an object (`invalid`).")))]
pub(super) async fn withdraw(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Key(key): Key,
    Json(Nothing {}): Json<Nothing>,
) -> Result<JsonReply<AskView>, Problem> {
    let ask = find(&app, &key).await?;
    if ask.origin != Origin::Program {
        return Err(Problem::forbidden("not-yours", "Only the agent can take its question back.")
            .hint("Dismiss it, or release it to the terminal."));
    }
    settle(&app, &ask, Outcome::Withdrawn, &caller).await
}

/// Each such ask is a session of its own, so that no program's questions crowd out another's.
fn program_key() -> Result<AskKey, Problem> {
    let random = Token::generate().map_err(Problem::internal)?;
    let (session, call) = random.reveal()[..24].split_at(12);
    AskKey::new(&format!("program-{session}"), call).map_err(Problem::internal)
}
