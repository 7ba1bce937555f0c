//! The records of a session: what the agent said, on which branch, with which version. One JSON object a line, of which only
//! a few fields are known; lines that are cut or strange are passed over.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use super::input::Detail;
use super::version::Version;

/// What surrounds a call, as far as the records tell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The last thing the agent said before the call.
    pub said: Option<String>,
    /// The branch it works on.
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

/// Where the records of a call's session are. `detail` is what [`read`](super::read) made of the call.
pub fn path(detail: &str) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct Place {
        transcript_path: PathBuf,
    }
    let detail: Detail = serde_json::from_str(detail).ok()?;
    let place: Place = serde_json::from_str(detail.hook()).ok()?;
    Some(place.transcript_path)
}

/// The same, but only if the client does not say its version and the records must: they name it in every version.
pub fn path_of_version(detail: &str) -> Option<PathBuf> {
    let parsed: Detail = serde_json::from_str(detail).ok()?;
    if parsed.says_version() { None } else { path(detail) }
}

/// The version that wrote the records. The last one counts: a session may outlive an update.
pub fn version(records: &str) -> Option<Version> {
    #[derive(Deserialize)]
    struct Written {
        version: Option<String>,
    }
    records.lines().rev().find_map(|line| Version::parse(&serde_json::from_str::<Written>(line).ok()?.version?))
}

/// What was said and where, before a call. Records are written a little behind what happens, so the call itself may be missing:
/// then the last thing said is the one.
pub fn surroundings(records: &str, tool_use_id: &str) -> Surroundings {
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
    fn the_last_thing_said_before_the_call() {
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
    fn the_version() {
        let records = "{\"version\":\"2.0.76\",\"a\":1}\n{\"b\":2,\"version\":\"2.1.63\"}\n";
        assert_eq!(version(records), Some(Version(2, 1, 63)));
        // What is said or done in a session may have a version too.
        let tool =
            "{\"version\":\"2.1.80\",\"message\":{\"input\":{\"version\":\"1.0.0\"}}}\n{\"cut\":{\"version\":\"1.0.0";
        assert_eq!(version(tool), Some(Version(2, 1, 80)));
        assert_eq!(version("{\"versions\":[]}"), None);
        assert_eq!(version(""), None);
    }
}
