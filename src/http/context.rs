//! What surrounds an ask, from the records of its session.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use axum::Json as JsonReply;
use axum::extract::State;

use crate::api::{AskContext, Problem};
use crate::ask::MAX_TEXT;
use crate::claude_code::transcript;

use super::App;
use super::asks::find;
use super::extract::Key;

/// The last thing the agent said before it asked, and its branch. Both may be unknown.
#[utoipa::path(get, path = "/v1/asks/{key}/context", operation_id = "getContext", tag = "asks", params(Key), responses(
    (status = 200, body = AskContext, description = "What is known of it"),
    (status = 404, description = "There is no ask with this key (`not-found`).")))]
pub(super) async fn context(State(app): State<App>, Key(key): Key) -> Result<JsonReply<AskContext>, Problem> {
    let ask = find(&app, &key).await?;
    let detail = app.registry.detail(ask.id).await?;
    let Some(path) = transcript::path(&detail) else { return Ok(JsonReply(AskContext::default())) };
    let records = end_of_records(path).await.unwrap_or_default();
    let found = transcript::surroundings(&records, key.tool_use_id());
    let said = found.said.map(|mut said| {
        said.truncate(said.floor_char_boundary(MAX_TEXT));
        said
    });
    Ok(JsonReply(AskContext { said, branch: found.branch }))
}

/// The end of a session's records; `None` if there are none that can be read.
pub(super) async fn end_of_records(path: PathBuf) -> Option<String> {
    tokio::task::spawn_blocking(move || end_of_file(&path)).await.ok()?.ok()
}

/// The path comes from a client: only a file is read, and only so much of it.
fn end_of_file(path: &Path) -> io::Result<String> {
    const ENOUGH: u64 = 256 * 1024;
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(ENOUGH)))?;
    let mut end = Vec::new();
    file.take(ENOUGH).read_to_end(&mut end)?;
    Ok(String::from_utf8_lossy(&end).into_owned())
}
