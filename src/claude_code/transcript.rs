//! Reads transcripts. Claude Code records each session in a file with one JSON object on each line. The records contain the words of the
//! agent, its branch, its version and the title of the session. This module knows only a few fields, and skips lines that it cannot read.

mod title;

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;

use crate::ask::MAX_TEXT;

use super::agent_file;
use super::version::Version;

/// A transcript may be huge. Only so many bytes are read at its beginning, and as many at its end.
const ENOUGH: u64 = 256 * 1024;

/// What a transcript says about a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// The last thing that the agent said before the call.
    pub said: Option<String>,
    /// The git branch that the agent works on.
    pub branch: Option<String>,
    /// The title of the session.
    pub title: Option<String>,
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

/// A part of a transcript that is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Empty if the end is the whole file.
    Beginning,
    End,
}

/// Reads only a limited part of the file.
fn read_file(path: &Path, part: Part) -> io::Result<String> {
    let mut file = agent_file::open(path)?;
    let before_end = file.metadata()?.len().saturating_sub(ENOUGH);
    match part {
        Part::Beginning if before_end == 0 => return Ok(String::new()),
        Part::Beginning => {}
        Part::End => drop(file.seek(SeekFrom::Start(before_end))?),
    }
    let mut bytes = Vec::new();
    file.take(ENOUGH).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The version of the client that writes the transcript. Clients write their records a little late, and a new session has no file at first.
/// So if no record has a version yet, this waits a moment.
pub(super) async fn recorded_version(path: PathBuf) -> Option<Version> {
    // The hook waits, and gives up after two seconds.
    const PATIENCE: Duration = Duration::from_millis(500);
    const PAUSE: Duration = Duration::from_millis(50);
    let began = Instant::now();
    loop {
        let path = path.clone();
        let version = match agent_file::in_time(move || read_file(&path, Part::End)).await? {
            Ok(records) => version(&records),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(_) => return None,
        };
        if version.is_some() || began.elapsed() >= PATIENCE {
            return version;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Reads what the transcript of its session says about a call. A long text is cut.
pub(super) async fn about(path: PathBuf, session: &str, tool_use_id: &str) -> Recorded {
    let both = move || [Part::Beginning, Part::End].map(|part| read_file(&path, part).unwrap_or_default());
    let [beginning, end] = agent_file::in_time(both).await.unwrap_or_default();
    let mut found = recorded(&end, tool_use_id);
    if let Some(said) = &mut found.said {
        said.truncate(said.floor_char_boundary(MAX_TEXT));
    }
    Recorded { title: title::of(&[&beginning, &end], session), ..found }
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
fn recorded(records: &str, tool_use_id: &str) -> Recorded {
    let mut found = Recorded::default();
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
        let about = |id| recorded(&format!("cut line\"}}\n{records}"), id);
        assert_eq!(about("t1"), Recorded { said: Some("now".into()), branch: Some("main".into()), title: None });
        assert_eq!(about("not there yet").said.as_deref(), Some("later"));
        assert_eq!(recorded("", "t1"), Recorded::default());
        assert_eq!(recorded("[1]\n{\"type\":3}\nnull\n", "t1"), Recorded::default());
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

    #[tokio::test]
    async fn the_version_of_a_new_session_is_found_although_its_file_comes_late() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("session.jsonl");
        let mut found = Box::pin(recorded_version(path.clone()));
        let meanwhile = tokio::time::timeout(Duration::from_millis(100), &mut found).await;
        assert!(meanwhile.is_err(), "gave up before there was a file: {meanwhile:?}");
        std::fs::write(&path, "{\"version\":\"2.1.63\"}\n").unwrap();
        assert_eq!(found.await, Some(Version(2, 1, 63)));
    }
}
