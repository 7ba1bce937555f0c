//! The situation in which an ask came up.

use axum::Json as JsonReply;
use axum::extract::State;

use crate::api::{AskContext, Problem};
use crate::claude_code::{Recorded, Surroundings};

use super::App;
use super::extract::Key;

/// Gets what is known about the session that asks: its title, its git branch, the last thing that the agent said, and whether it has a
/// terminal.
#[utoipa::path(get, path = "/v1/asks/{key}/context", operation_id = "getContext", tag = "asks", params(Key), responses(
    (status = 200, body = AskContext, description = "What is known"),
    (status = 404, description = "There is no ask with this key (`not-found`).")))]
pub(super) async fn context(State(app): State<App>, Key(key): Key) -> Result<JsonReply<AskContext>, Problem> {
    let ask = app.inbox.get(&key).await?;
    let Surroundings { recorded: Recorded { said, branch, title }, terminal } = app.bridge.surroundings(&ask).await?;
    Ok(JsonReply(AskContext { said, branch, title, terminal, on_timeout: ask.on_timeout }))
}
