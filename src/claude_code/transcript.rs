//! Reads transcripts. Claude Code records each session in a file with one JSON object on each line. The records contain the words of the
//! agent, its branch and its version. This module knows only a few fields, and skips lines that it cannot read.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::ask::MAX_TEXT;

use super::version::Version;

/// The situation of a call, as far as the transcript says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The last thing that the agent said before the call.
    pub said: Option<String>,
    /// The git branch that the agent works on.
    pub branch: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    is_sidechain: bool,
    git_branch: Option<String>,
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    content: Option<Value>,
}

/// The end of a transcript. `None` if the file cannot be read.
async fn end(path: PathBuf) -> Option<String> {
    tokio::task::spawn_blocking(move || end_of_file(&path)).await.ok()?.ok()
}

/// The path comes from a client, so this reads only a regular file, and only a limited part of it.
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

/// The version of the client that writes the transcript. Clients write their records a little late. So if no record has a version yet, this
/// waits a moment.
pub(super) async fn recorded_version(path: PathBuf) -> Option<Version> {
    const TRIES: u32 = 10;
    const PAUSE: Duration = Duration::from_millis(100);
    for _ in 0..TRIES {
        // Do not wait if there is no file at all.
        let version = version(&end(path.clone()).await?);
        if version.is_some() {
            return version;
        }
        tokio::time::sleep(PAUSE).await;
    }
    None
}

/// Reads the surroundings of a call from a transcript. A long text is cut.
pub(super) async fn read_surroundings(path: PathBuf, tool_use_id: &str) -> Surroundings {
    let mut found = surroundings(&end(path).await.unwrap_or_default(), tool_use_id);
    if let Some(said) = &mut found.said {
        said.truncate(said.floor_char_boundary(MAX_TEXT));
    }
    found
}

/// The version in the last record that has one. The last one counts, because Claude Code may be updated during a session.
fn version(records: &str) -> Option<Version> {
    #[derive(Deserialize)]
    struct Written {
        version: Option<String>,
    }
    records.lines().rev().find_map(|line| Version::parse(&serde_json::from_str::<Written>(line).ok()?.version?))
}

/// The records are written a little late, so the call itself may be missing. Then the last text of all is taken.
fn surroundings(records: &str, tool_use_id: &str) -> Surroundings {
    let mut found = Surroundings::default();
    for line in records.lines() {
        let Ok(record) = serde_json::from_str::<Record>(line) else { continue };
        if record.is_sidechain {
            continue;
        }
        if let Some(branch) = record.git_branch.filter(|branch| !branch.is_empty()) {
            found.branch = Some(branch);
        }
        if record.kind.as_deref() != Some("assistant") {
            continue;
        }
        let content = record.message.and_then(|message| message.content).unwrap_or_default();
        for block in content.as_array().into_iter().flatten() {
            let text = block.get("text").and_then(Value::as_str).filter(|text| !text.trim().is_empty());
            match block.get("type").and_then(Value::as_str) {
                Some("text") => found.said = text.map(ToOwned::to_owned).or(found.said),
                Some("tool_use") if block.get("id").and_then(Value::as_str) == Some(tool_use_id) => return found,
                _ => {}
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(text: &str, sidechain: bool) -> Value {
        json!({"type": "assistant", "isSidechain": sidechain, "gitBranch": "main", "message": {"content": [{"type": "text", "text": text}]}})
    }

    fn asked(id: &str) -> Value {
        json!({"type": "assistant", "gitBranch": "main", "message": {"content": [{"type": "tool_use", "id": id}]}})
    }

    #[test]
    fn the_last_text_before_the_call_is_found() {
        let records = [
            said("first", false),
            json!({"type": "user", "gitBranch": "topic", "message": {"content": "text of the user"}}),
            said("now", false),
            said("a subagent", true),
            said("  ", false),
            asked("t1"),
            said("later", false),
        ];
        let records = records.map(|record| record.to_string()).join("\n");
        let about = |id| surroundings(&format!("cut line\"}}\n{records}"), id);
        assert_eq!(about("t1"), Surroundings { said: Some("now".into()), branch: Some("main".into()) });
        assert_eq!(about("not there yet").said.as_deref(), Some("later"));
        assert_eq!(surroundings("", "t1"), Surroundings::default());
        assert_eq!(surroundings("[1]\n{\"type\":3}\nnull\n", "t1"), Surroundings::default());
    }

    #[test]
    fn the_last_recorded_version_is_found() {
        let records = "{\"version\":\"2.0.76\",\"a\":1}\n{\"b\":2,\"version\":\"2.1.63\"}\n";
        assert_eq!(version(records), Some(Version(2, 1, 63)));
        // The input of a tool may contain a field `version` too.
        let tool =
            "{\"version\":\"2.1.80\",\"message\":{\"input\":{\"version\":\"1.0.0\"}}}\n{\"cut\":{\"version\":\"1.0.0";
        assert_eq!(version(tool), Some(Version(2, 1, 80)));
        assert_eq!(version("{\"versions\":[]}"), None);
        assert_eq!(version(""), None);
    }
}
