//! Decides what a hook's call means for the daemon.

use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::Value;

use crate::ask::{AskKey, KeyError, Kind, NewAsk, News, OnTimeout, Origin, Report};
use crate::registry::NamedCall;

use super::call::{BatchCall, Call, HookInput, PERMISSION_PROMPT, ReadError};
use super::changed_file::CurrentFile;
use super::client::{Client, Mode};
use super::deadline::Deadline;
use super::kinds::{self, InputError, PROBE_TOOL, Reported};
use super::version::Version;

/// What a hook's call means.
#[derive(Debug)]
pub(super) enum HookEvent {
    /// The agent asks a person and waits for the answer.
    Ask(Box<NewAsk>),
    /// The agent is about to open its dialog in the terminal. The hook does not wait.
    Announce(Box<NewAsk>),
    /// The agent's dialog is open in the terminal, and the hook waits beside it. The call does not say which tool call it belongs to.
    Race(Box<NewAsk>),
    /// An agent without a terminal asks the permission tool of `answerback run`, and waits for it.
    Prompt(Box<NewAsk>),
    /// The agent is about to make a call, for which it may need permission. The hook does not wait.
    Name(NamedCall),
    /// The agent reports what became of a call.
    Report(Box<Report>),
    /// A thread of the agent is done with some calls, and goes on.
    WentOn {
        thread: Thread,
        /// The calls that it names.
        done: Vec<Report>,
    },
    /// The person has sent the next prompt, so nothing of the turn before waits any more.
    Prompted(Thread),
    /// The process of a session has ended.
    Ended(Thread),
    /// The call does not concern us.
    Other,
    /// The daemon cannot ask this question. Claude Code asks it in its own dialog.
    Unusable(Unusable),
}

impl HookEvent {
    pub(super) fn opens_ask(&self) -> bool {
        matches!(self, Self::Ask(_) | Self::Announce(_) | Self::Race(_) | Self::Prompt(_))
    }

    /// The ask that it opens.
    pub(super) fn new_ask(&mut self) -> Option<&mut NewAsk> {
        match self {
            Self::Ask(new) | Self::Announce(new) | Self::Race(new) | Self::Prompt(new) => Some(new),
            _ => None,
        }
    }
}

/// The agent itself, or one of its subagents.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Thread {
    pub(super) session: String,
    /// The process of that session.
    pub(super) asker: Option<String>,
    pub(super) subagent: Option<String>,
}

/// What the configuration says about calls.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rules {
    pub deadline: Deadline,
    /// Whether a one-shot run without a host waits for permissions and plans. Otherwise Claude Code refuses them, as without us.
    pub unattended_waits: bool,
}

/// Why the daemon cannot ask a question. `Display` never quotes the question. `Debug` may.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unusable {
    /// The ids of the session and the tool call make no key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The input of the tool contains no valid questions.
    #[error(transparent)]
    Input(#[from] InputError),
}

/// Whether the event depends on the client's version. It does if the run is to end at the deadline, because only newer versions can do that.
pub(super) fn depends_on_version(call: &Call, rules: Rules) -> bool {
    let mode = call.client.mode(None);
    matches!(mode, Mode::Hold | Mode::Defer)
        && call.hook.hook_event_name == "PreToolUse"
        && kinds::asked_by(&call.hook) == Some(Kind::Question)
        && rules.deadline.of_call(&call.client, mode, None).then == OnTimeout::Defer
}

/// The file that a person wants to see before they decide about a call.
pub(super) fn file_to_read(call: &Call) -> Option<PathBuf> {
    let shows_call = call.hook.hook_event_name == "PermissionRequest" || call.is_permission_prompt();
    let kind = kinds::asked_by(&call.hook).filter(|_| shows_call)?;
    let path = kinds::of(kind).reads(&call.hook)?;
    // A path that is not absolute counts from the directory of the agent.
    Some(call.hook.cwd.as_deref().map_or_else(|| path.clone(), |directory| PathBuf::from(directory).join(&path)))
}

/// What a call means. `body` is the JSON of the call, `version` is the version of its client, and `file` is what is in
/// [`file_to_read`].
pub(super) fn event(
    call: Call,
    body: &[u8],
    version: Option<Version>,
    file: &CurrentFile,
    rules: Rules,
    now: Timestamp,
) -> Result<HookEvent, ReadError> {
    let mode = call.client.mode(version);
    if mode == Mode::Native {
        return Ok(HookEvent::Other);
    }
    match call.hook.hook_event_name.as_str() {
        "Stop" | "SubagentStop" => return Ok(HookEvent::WentOn { thread: thread(call), done: Vec::new() }),
        "UserPromptSubmit" => return Ok(HookEvent::Prompted(thread(call))),
        "PostToolBatch" => {
            let done = call.hook.tool_calls.iter().filter_map(|done| refused(&call, done)).collect();
            return Ok(HookEvent::WentOn { done, thread: thread(call) });
        }
        "SessionEnd" => return Ok(HookEvent::Ended(thread(call))),
        _ => {}
    }
    let Some(kind) = kinds::asked_by(&call.hook).filter(|kind| is_covered(*kind, &call, mode, rules)) else {
        return Ok(HookEvent::Other);
    };
    let event: fn(Box<NewAsk>) -> HookEvent = match (call.hook.hook_event_name.as_str(), kind) {
        ("PreToolUse", Kind::Question) if mode != Mode::Race => HookEvent::Ask,
        ("PreToolUse", Kind::Question | Kind::Plan) => HookEvent::Announce,
        ("PreToolUse", Kind::Permission) => return Ok(named(call).map_or_else(HookEvent::Unusable, HookEvent::Name)),
        // The tool asks the person, and must not be asked beside.
        ("PermissionRequest", _) if call.client.has_permission_tool() => return Ok(HookEvent::Other),
        (PERMISSION_PROMPT, Kind::Plan | Kind::Permission) => HookEvent::Prompt,
        ("PermissionRequest", Kind::Question) if mode != Mode::Race => return Ok(HookEvent::Other),
        ("PermissionRequest", Kind::Question | Kind::Plan | Kind::Permission) => HookEvent::Race,
        ("Elicitation", Kind::Form) => HookEvent::Ask,
        ("PostToolUse", _) | ("PostToolUseFailure", Kind::Permission) => {
            let report = report(kind, call);
            return Ok(report.map_or_else(HookEvent::Unusable, |report| HookEvent::Report(Box::new(report))));
        }
        _ => return Ok(HookEvent::Other),
    };
    let detail = call.to_keep(body)?;
    let deadline = match kind {
        Kind::Question => rules.deadline.of_call(&call.client, mode, version),
        // Only a question can be deferred.
        Kind::Plan | Kind::Form | Kind::Permission => rules.deadline.without_defer(),
    };
    let racing = match kind {
        Kind::Question => mode == Mode::Race,
        Kind::Plan | Kind::Permission => call.client.is_attended() && call.hook.agent_id.is_none(),
        Kind::Form => false,
    };
    let new = new_ask(kind, call, detail, file, deadline, racing, now);
    Ok(new.map_or_else(HookEvent::Unusable, |new| event(Box::new(new))))
}

/// Whether calls of this kind are ours to ask.
fn is_covered(kind: Kind, call: &Call, mode: Mode, rules: Rules) -> bool {
    let client = &call.client;
    // While these hooks wait, the terminal shows no dialog. A person who is there would not know what the agent waits for.
    let hides_dialog = kind == Kind::Form || (kind == Kind::Permission && call.hook.agent_id.is_some());
    let is_left_to_terminal = hides_dialog && client.is_attended() && mode != Mode::Hold;
    let is_refused_alone = client.is_one_shot() && !rules.unattended_waits && client.waits.is_none();
    kind == Kind::Question || (client.is_claude_code() && !is_left_to_terminal && !is_refused_alone)
}

fn thread(call: Call) -> Thread {
    Thread { session: call.hook.session_id, asker: call.client.agent_pid, subagent: call.hook.agent_id }
}

fn new_ask(
    kind: Kind,
    call: Call,
    detail: String,
    file: &CurrentFile,
    deadline: Deadline,
    racing: bool,
    now: Timestamp,
) -> Result<NewAsk, Unusable> {
    let asked = kinds::of(kind).asked(&call.hook, file)?;
    let key = if call.hook.tool_use_id.is_empty() && call.hook.hook_event_name != "PreToolUse" {
        // Two calls with the same questions need two keys. A call that is sent again needs the same one.
        let own_name = call
            .client
            .call
            .as_ref()
            .filter(|name| !name.is_empty())
            .map(|name| AskKey::unnamed(&call.hook.session_id, name));
        match own_name {
            Some(Ok(key)) => key,
            _ => AskKey::unnamed(&call.hook.session_id, &format!("{}-{}", now.as_microsecond(), &asked.digest[..8]))?,
        }
    } else {
        AskKey::new(&call.hook.session_id, &call.hook.tool_use_id)?
    };
    Ok(NewAsk {
        key,
        origin: if call.hook.tool_name == PROBE_TOOL { Origin::Probe } else { Origin::ClaudeCode },
        project: call.hook.cwd,
        topic: asked.topic,
        detail,
        expires_at: deadline.expires_at(now),
        on_timeout: deadline.then,
        racing,
        digest: Some(asked.digest),
        asker: call.client.agent_pid,
        asked_by: None,
    })
}

fn named(call: Call) -> Result<NamedCall, Unusable> {
    let digest = kinds::of(Kind::Permission).digest(&call.hook)?;
    let key = AskKey::new(&call.hook.session_id, &call.hook.tool_use_id)?;
    let HookInput { agent_id: subagent, cwd: project, .. } = call.hook;
    let Client { agent_pid: asker, mode, .. } = call.client;
    Ok(NamedCall { key, asker, subagent, mode, digest, project })
}

fn report(kind: Kind, call: Call) -> Result<Report, Unusable> {
    let Reported { digest, news } = kinds::of(kind).reported(&call.hook)?;
    let key = AskKey::new(&call.hook.session_id, &call.hook.tool_use_id)?;
    Ok(Report { key, asker: call.client.agent_pid, digest, news })
}

/// A call of a batch that is over. If it had run, that would have been reported before, so it was refused.
fn refused(call: &Call, done: &BatchCall) -> Option<Report> {
    let key = AskKey::new(&call.hook.session_id, &done.tool_use_id).ok()?;
    let told = done.tool_response.as_ref().and_then(Value::as_str);
    // Claude Code puts a person's words behind a text of its own. Without them, it may have been a safety check that refused.
    let words = told.and_then(|told| told.split_once("the user said:\n")).map(|(_, words)| words.to_owned());
    Some(Report { key, asker: call.client.agent_pid.clone(), digest: None, news: News::Refused(words) })
}

#[cfg(test)]
mod tests;
