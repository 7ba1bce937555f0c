//! The kind `permission`: a `PermissionRequest` for a tool that is to be run. The hook waits beside the terminal's own dialog.
//!
//! Only what a person has seen is ever granted. A rule goes back only if Claude Code suggested it in this very request, and a change of
//! the permission mode never does.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::ask::permission::{ALLOW_ONCE, DENY, Ruling, ruling};
use crate::ask::{Answer, Ask, Kind, MAX_TEXT, News, Question, QuestionOption, Questions, Subject, Topic};

use super::super::call::HookInput;
use super::super::changed_file::CurrentFile;
use super::super::reply::quoted;
use super::diff::{Diff, FileEdit};
use super::tool_input::{InputError, digest_of};
use super::{Asked, CallKind, Decision, Reported};

/// A call of any tool that asks nothing itself.
pub(super) struct Permission;

/// A suggestion of Claude Code that can be granted together with the call.
struct Grant {
    label: String,
    /// What is granted, as it stands in the settings.
    rules: Vec<String>,
    /// The file that Claude Code writes it to. `None` if it is for this session only.
    file: Option<&'static str>,
    /// What Claude Code is told. It has only what is understood here.
    suggestion: Value,
}

impl CallKind for Permission {
    fn is_asked_by(&self, hook: &HookInput) -> bool {
        !hook.tool_name.is_empty()
    }

    fn reads(&self, hook: &HookInput) -> Option<PathBuf> {
        FileEdit::of(hook).map(|edit| edit.path.into())
    }

    fn asked(&self, hook: &HookInput, file: &CurrentFile) -> Result<Asked, InputError> {
        let mut subject = subject(hook, file)?;
        if !Subject::fits(&subject) {
            // The difference repeats what the input says, so there is room without it.
            subject.remove("diff");
        }
        let header = hook.tool_name.clone();
        let shown = shown(hook, &subject);
        let question = if shown.len() + header.len() + 64 <= MAX_TEXT {
            format!("Allow {header}?\n\n{shown}")
        } else {
            format!(
                "Allow {header}? Its input has {} KiB. `answerback show` and the page show all of it.",
                shown.len() / 1024
            )
        };
        let option =
            |label: &str, description: String| QuestionOption { label: label.to_owned(), description, preview: None };
        let mut options = vec![option(ALLOW_ONCE, "Only this call.".to_owned())];
        for grant in grants(hook) {
            let description = match grant.file {
                Some(file) => format!("Writes {} to {file}.", grant.rules.join(", ")),
                None => "Until this session ends.".to_owned(),
            };
            options.push(option(&grant.label, description));
        }
        options.push(option(DENY, "Words of your own deny the call too, and the agent reads them.".to_owned()));
        let question = Question { question, header, options, multi_select: false, free_text: true, optional: false };
        let topic = Topic::new(Kind::Permission, Some(subject), Questions::new(vec![question])?)?;
        Ok(Asked { topic, digest: self.digest(hook)? })
    }

    fn digest(&self, hook: &HookInput) -> Result<String, InputError> {
        Ok(digest_of(&json!([hook.tool_name, hook.tool_input, hook.agent_id])))
    }

    fn reported(&self, hook: &HookInput) -> Result<Reported, InputError> {
        let input = hook.tool_input.as_ref().and_then(Value::as_object).cloned();
        Ok(Reported { digest: Some(self.digest(hook)?), news: News::Ran(input) })
    }

    fn decide(&self, ask: &Ask, answer: &Answer, hook: Option<&HookInput>) -> Decision {
        match ruling(ask.questions.as_slice(), answer) {
            Ruling::Allow(label) => {
                let granted = hook.map(grants).unwrap_or_default().into_iter().find(|grant| grant.label == label);
                if granted.is_none() && label != ALLOW_ONCE {
                    tracing::error!(key = %ask.key, "the stored call is damaged, so the call is allowed once and no rule is granted");
                }
                Decision::Allow {
                    input: answer.edited.as_ref().and_then(|_| ask.input_with(answer)),
                    permissions: granted.map(|grant| grant.suggestion).into_iter().collect(),
                }
            }
            Ruling::Deny(Some(words)) => {
                Decision::Deny(format!("The user denied this call and said: {}", quoted(words)))
            }
            Ruling::Deny(None) => Decision::Deny("The user denied this call.".to_owned()),
        }
    }

    fn noun(&self) -> &'static str {
        "permission request"
    }

    /// Only what the model cannot see otherwise: that the input is not its own any more.
    fn context(&self, _: &Ask, answer: &Answer) -> Option<String> {
        let edited = answer.edited.as_ref()?;
        let fields = edited.iter().map(|(name, value)| format!("\n- {name}: {}", quoted_value(value)));
        Some(format!(
            "The user edited the input before allowing the call. These fields were changed:{}",
            fields.collect::<String>()
        ))
    }
}

fn quoted_value(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        other => quoted(&other.to_string()),
    }
}

fn subject(hook: &HookInput, file: &CurrentFile) -> Result<Map<String, Value>, InputError> {
    let input = hook.tool_input.as_ref().and_then(Value::as_object).ok_or(InputError::NoInput)?;
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    let mut subject = Map::from_iter([("tool".to_owned(), json!(hook.tool_name)), ("input".to_owned(), json!(input))]);
    let mut put = |name: &str, value: Value| drop(subject.insert(name.to_owned(), value));
    if let Some(directory) = &hook.cwd {
        put("directory", json!(directory));
    }
    match hook.tool_name.as_str() {
        "Bash" => put("command", json!(text("command").unwrap_or_default())),
        "WebFetch" => put("url", json!(text("url").unwrap_or_default())),
        _ => {
            if let Some(server) = server(hook) {
                put("server", json!(server));
            }
        }
    }
    if let Some(edit) = FileEdit::of(hook) {
        put("path", json!(edit.path));
        put("diff", Diff::of(&edit, file).to_json());
    }
    if let Some(id) = &hook.agent_id {
        put("agent", json!({"id": id, "type": hook.agent_type}));
    }
    let grants: Vec<_> = grants(hook)
        .into_iter()
        .map(|grant| json!({"label": grant.label, "rules": grant.rules, "file": grant.file}))
        .collect();
    put("grants", json!(grants));
    Ok(subject)
}

/// The MCP server of the tool. Both names may have underscores in them, so the name of the tool does not always tell where the name of its
/// server ends. Then the server is not known.
fn server(hook: &HookInput) -> Option<&str> {
    let rest = hook.tool_name.strip_prefix("mcp__")?;
    match &hook.mcp_server {
        Some(server) if rest.strip_prefix(server.name.as_str()).is_some_and(|tool| tool.starts_with("__")) => {
            Some(&server.name)
        }
        _ => rest.split_once("__").filter(|(_, tool)| !tool.contains("__")).map(|(server, _)| server),
    }
}

/// The whole of what would be done, as text. A companion that knows only questions shows this.
fn shown(hook: &HookInput, subject: &Map<String, Value>) -> String {
    let text = |name: &str| subject.get(name).and_then(Value::as_str);
    match (text("command"), text("path"), text("url")) {
        (Some(command), ..) => command.to_owned(),
        (_, Some(path), _) => {
            let diff = subject.get("diff").map(super::diff::to_text).unwrap_or_default();
            format!("{path}\n\n{diff}")
        }
        (.., Some(url)) => url.to_owned(),
        _ => hook.tool_input.as_ref().and_then(|input| serde_json::to_string_pretty(input).ok()).unwrap_or_default(),
    }
}

/// The suggestions that only add a rule or a directory. Others, as a change of the mode, would allow what nobody has seen.
fn grants(hook: &HookInput) -> Vec<Grant> {
    let suggestions = hook.permission_suggestions.as_ref().and_then(Value::as_array).into_iter().flatten();
    let mut grants: Vec<Grant> = Vec::new();
    for suggestion in suggestions {
        let text = |name: &str| suggestion.get(name).and_then(Value::as_str);
        let file = match text("destination") {
            Some("localSettings") => Some(".claude/settings.local.json"),
            Some("projectSettings") => Some(".claude/settings.json"),
            Some("userSettings") => Some("~/.claude/settings.json"),
            Some("session") => None,
            _ => continue,
        };
        let rules = match (text("type"), text("behavior")) {
            (Some("addRules"), Some("allow")) => rules(suggestion),
            (Some("addDirectories"), _) => directories(suggestion),
            _ => None,
        };
        let understood = ["type", "rules", "directories", "behavior", "destination"];
        let suggestion: Map<String, Value> =
            understood.into_iter().filter_map(|name| Some((name.to_owned(), suggestion.get(name)?.clone()))).collect();
        let Some(rules) = rules.filter(|rules| !rules.is_empty()) else { continue };
        let what = rules.join(", ");
        let label = match file {
            Some(_) => format!("Always allow {what}"),
            None => format!("Allow {what} in this session"),
        };
        if label.len() <= MAX_TEXT && grants.iter().all(|other| other.label != label) {
            grants.push(Grant { label, rules, file, suggestion: Value::Object(suggestion) });
        }
    }
    grants
}

/// The rules as they are written in settings. `None` if one of them is not understood.
fn rules(suggestion: &Value) -> Option<Vec<String>> {
    let rule = |rule: &Value| {
        let tool = rule.get("toolName")?.as_str()?;
        match rule.get("ruleContent") {
            Some(content) => Some(format!("{tool}({})", content.as_str()?)),
            None => Some(tool.to_owned()),
        }
    };
    suggestion.get("rules")?.as_array()?.iter().map(rule).collect()
}

fn directories(suggestion: &Value) -> Option<Vec<String>> {
    let directories = suggestion.get("directories")?.as_array()?;
    directories.iter().map(|directory| Some(format!("the directory {}", directory.as_str()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::call::Call;
    use super::super::super::client::Client;
    use super::*;

    #[test]
    fn a_server_is_named_only_if_it_is_known() {
        for (tool, said, expected) in [
            ("mcp__github__create", json!(null), Some("github")),
            ("mcp__github__evil__create", json!(null), None),
            ("mcp__github__evil__create", json!({"name": "github__evil"}), Some("github__evil")),
            ("mcp__github__create", json!({"name": "other"}), Some("github")),
            ("mcp__github", json!(null), None),
            ("Bash", json!({"name": "github"}), None),
        ] {
            let body = json!({"hook_event_name": "PermissionRequest", "tool_name": tool, "mcp_server": said});
            let call = Call::read(body.to_string().as_bytes(), Client::default()).unwrap();
            assert_eq!(server(&call.hook), expected, "{tool} {said}");
        }
    }
}
