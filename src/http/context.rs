//! The situation in which an ask came up, from the transcript of its session.

use axum::Json as JsonReply;
use axum::extract::State;

use crate::api::{AskContext, Problem};

use super::App;
use super::extract::Key;

/// Gets the last thing that the agent said before it asked, and its git branch. Both may be unknown.
#[utoipa::path(get, path = "/v1/asks/{key}/context", operation_id = "getContext", tag = "asks", params(Key), responses(
    (status = 200, body = AskContext, description = "What the transcript says"),
    (status = 404, description = "There is no ask with this key (`not-found`).")))]
pub(super) async fn context(State(app): State<App>, Key(key): Key) -> Result<JsonReply<AskContext>, Problem> {
    let ask = app.inbox.get(&key).await?;
    let found = app.bridge.surroundings(&ask).await?;
    Ok(JsonReply(AskContext { said: found.said, branch: found.branch }))
}
