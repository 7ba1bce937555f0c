//! The situation in which an ask came up.

use axum::extract::State;
use axum::{Extension, Json as JsonReply};

use crate::access::Caller;
use crate::api::{AskContext, Problem};
use crate::claude_code::{Elsewhere, Recorded, Surroundings};

use super::App;
use super::extract::Key;

/// Gets what is known about the session that asks: its title, its git branch, the last thing that the agent said, and whether it has a
/// terminal.
#[cfg_attr(test, utoipa::path(get, path = "/v1/asks/{key}/context", operation_id = "getContext", tag = "asks", params(Key), responses(
    (status = 200, body = AskContext, description = "What is known"),
    (status = 404, description = "There is no ask with this key (`not-found`)."))))]
pub(super) async fn context(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Key(key): Key,
) -> Result<JsonReply<AskContext>, Problem> {
    let ask = app.inbox.get(&key, caller.rights()).await?;
    let Surroundings { recorded, terminal, elsewhere } = app.bridge.surroundings(&ask).await?;
    let Recorded { said, branch, title } = recorded;
    let Elsewhere { user, agent } = elsewhere.unwrap_or_default();
    Ok(JsonReply(AskContext { said, branch, title, terminal, on_timeout: ask.on_timeout, user, agent }))
}
