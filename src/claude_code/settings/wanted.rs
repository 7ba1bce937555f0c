//! What `answerback install` writes: which entries, for which waits and which version of Claude Code.

use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::claude_code::{Mode, Version};

use super::coverage::{Choice, Coverage, HAS_FORMS, is_written};
use super::entry::{Entry, Invocation, is_own};
use super::look::Look;

// Events, matchers, timeouts and texts are written down in these files and nowhere else. The first one is also what Claude Code reads in
// the plugin.
const HOOKS: &str = include_str!("../../../hooks/hooks.json");
const FOR_PERMISSIONS: &str = include_str!("../../../hooks/permissions.json");
const FOR_FORMS: &str = include_str!("../../../hooks/forms.json");

/// The matcher for every tool.
const ALL_TOOLS: &str = "*";

/// What a person wants installed.
pub struct Wanted<'a> {
    /// How the hook is called.
    pub invocation: Invocation,
    /// What the hook does with a question.
    pub mode: Mode,
    /// Which waits it covers.
    pub choice: Choice,
    /// The version of Claude Code, if it is known. Called only if it matters.
    pub version: &'a dyn Fn() -> Option<Version>,
}

/// This version of Claude Code runs no hooks for forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoForms(Version);

impl fmt::Display for NoForms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Claude Code {} has no hooks for forms: they came with {HAS_FORMS}", self.0)
    }
}

impl Wanted<'_> {
    /// How the hook is called in a file with these settings. A file that was written for everybody stays so.
    pub fn invocation_for(&self, settings: &Look) -> &Invocation {
        if settings.is_shared() { &Invocation::Shared } else { &self.invocation }
    }

    /// The entries for a file with these settings. What was chosen for it before stays, as far as nothing else is said.
    pub(super) fn entries(&self, settings: &Look) -> Result<Vec<Entry>, NoForms> {
        let coverage = self.choice.over(Coverage::chosen(settings));
        let invocation = self.invocation_for(settings);
        let mut entries = entries(invocation, self.mode, coverage);
        if coverage == Coverage::DEFAULT {
            return Ok(entries);
        }
        let version = (self.version)();
        if let Some(version) = version.filter(|version| coverage.forms && *version < HAS_FORMS) {
            return Err(NoForms(version));
        }
        // Others use a shared file with versions that are not known here.
        let version = version.filter(|_| *invocation != Invocation::Shared);
        let there = settings.own();
        let is_there = |entry: &Entry| there.iter().any(|handler| handler.event == entry.event);
        entries.retain(|entry| is_written(&entry.event, version, is_there(entry)));
        Ok(entries)
    }
}

/// Every entry for these waits, with the program called like this and in this mode. It has to be called
/// [`PROGRAM`](super::entry::PROGRAM), or the entries would not be known again.
pub fn entries(invocation: &Invocation, mode: Mode, coverage: Coverage) -> Vec<Entry> {
    let files = [(HOOKS, true), (FOR_PERMISSIONS, coverage.permissions), (FOR_FORMS, coverage.forms)];
    let mut entries = Vec::new();
    for (text, _) in files.into_iter().filter(|(_, is_wanted)| *is_wanted) {
        let of_file = from_file(text, invocation);
        entries.extend(of_file.unwrap_or_else(|error| unreachable!("it is part of this program: {error}")));
    }
    for Entry { matcher, handler, .. } in &mut entries {
        // One entry for all tools, and not another one beside the list: no call may run the hook twice.
        if coverage.permissions && matcher.is_some() {
            *matcher = Some(ALL_TOOLS.to_owned());
            // Some versions show it for a moment with every call of every tool.
            handler.shift_remove("statusMessage");
        }
        if mode != Mode::Auto || *invocation == Invocation::Shared {
            match invocation {
                Invocation::Exec(_) => handler.insert("args".into(), json!([mode.name()])),
                Invocation::Shell(_) | Invocation::Shared => {
                    handler.insert("command".into(), format!("{} {}", invocation.command(), mode.name()).into())
                }
            };
        }
    }
    entries
}

#[derive(Deserialize)]
struct HooksFile {
    hooks: Map<String, Value>,
}

#[derive(Deserialize)]
struct Group {
    matcher: Option<String>,
    hooks: Vec<Map<String, Value>>,
}

fn from_file(text: &str, invocation: &Invocation) -> serde_json::Result<Vec<Entry>> {
    let file: HooksFile = serde_json::from_str(text)?;
    let mut entries = Vec::new();
    for (event, groups) in file.hooks {
        for Group { matcher, hooks } in serde_json::from_value::<Vec<Group>>(groups)? {
            for mut handler in hooks {
                handler.insert("command".into(), invocation.command().into());
                if !matches!(invocation, Invocation::Exec(_)) {
                    handler.shift_remove("args");
                }
                debug_assert!(is_own(&handler.clone().into()), "{handler:?} is not known again");
                entries.push(Entry { event: event.clone(), matcher: matcher.clone(), handler });
            }
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::edit;
    use super::super::entry::PROGRAM;
    use super::super::look::is_for;
    use super::*;

    fn exec() -> Invocation {
        Invocation::Exec("/opt/answerback-hook".into())
    }

    #[test]
    fn the_hooks_files_have_what_install_needs() {
        for coverage in Coverage::EVERY {
            let mut events = HashSet::new();
            for entry in &entries(&exec(), Mode::Auto, coverage) {
                assert!(events.insert(entry.event.clone()), "{entry:?} would run the hook twice");
                assert_eq!(entry.handler["command"], "/opt/answerback-hook");
                assert_eq!((&entry.handler["type"], &entry.handler["args"]), (&json!("command"), &json!([])));
                assert!(is_own(&entry.handler.clone().into()));
                // Timers of Node.js end at 2^31 milliseconds: more would be none at all.
                let waits = ["PreToolUse", "PermissionRequest", "Elicitation"].contains(&entry.event.as_str());
                let timeout = entry.handler["timeout"].as_u64().unwrap();
                assert!(if waits { (86_400..2_147_483).contains(&timeout) } else { timeout <= 10 }, "{entry:?}");
            }
        }
        // As the plugin runs it: found on the PATH.
        let file: Value = serde_json::from_str(HOOKS).unwrap();
        assert_eq!(file["hooks"]["PreToolUse"][0]["hooks"][0]["command"], PROGRAM);
    }

    #[test]
    fn other_tools_are_left_alone_unless_permissions_are_wanted() {
        const ABOUT_TOOLS: [&str; 5] =
            ["PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "PostToolBatch"];
        for coverage in Coverage::EVERY {
            let entries = entries(&exec(), Mode::Auto, coverage);
            let tools: Vec<_> = entries.iter().filter(|entry| ABOUT_TOOLS.contains(&entry.event.as_str())).collect();
            for tool in ["AskUserQuestion", "AskFollowupQuestion", "ExitPlanMode"] {
                assert!(tools.iter().all(|entry| is_for(entry.matcher.as_deref(), tool)), "{tool}: {tools:?}");
            }
            for tool in ["Bash", "Edit", "mcp__shop__note"] {
                let fits = tools.iter().filter(|entry| is_for(entry.matcher.as_deref(), tool)).count();
                assert_eq!(fits, if coverage.permissions { ABOUT_TOOLS.len() } else { 0 }, "{tool}: {tools:?}");
            }
            assert_eq!(entries.iter().any(|entry| entry.event == "Elicitation"), coverage.forms);
        }
    }

    /// The events that are written for this version into a file with these settings.
    fn events(version: Option<Version>, settings: &str, choice: Choice) -> Result<Vec<String>, NoForms> {
        let wanted = Wanted { invocation: exec(), mode: Mode::Auto, choice, version: &move || version };
        let entries = wanted.entries(&Look::at(settings.as_bytes()).unwrap())?;
        Ok(entries.into_iter().map(|entry| entry.event).collect())
    }

    #[test]
    fn no_version_gets_an_event_that_it_does_not_know() {
        let permissions = Choice { permissions: Some(true), ..Choice::default() };
        let has_batches = |version, settings: &str| {
            let events = events(version, settings, permissions).unwrap();
            assert!(events.contains(&"PostToolUseFailure".to_owned()), "{version:?}: {events:?}");
            events.contains(&"PostToolBatch".to_owned())
        };
        let coverage = Coverage { permissions: true, ..Coverage::DEFAULT };
        let there = edit::install("", &entries(&exec(), Mode::Auto, coverage)).unwrap();
        for version in [Some(Version(2, 0, 76)), Some(Version(2, 1, 90)), Some(Version(2, 1, 117))] {
            assert!(!has_batches(version, "") && !has_batches(version, &there), "{version:?}");
        }
        assert!(has_batches(Some(Version(2, 1, 118)), "") && has_batches(Some(Version(2, 1, 118)), &there));
        assert!(!has_batches(None, "") && has_batches(None, &there), "what is not known is left as it is");
    }

    #[test]
    fn forms_need_a_version_that_has_them() {
        let forms = Choice { forms: Some(true), ..Choice::default() };
        for version in [None, Some(Version(2, 1, 76))] {
            assert!(events(version, "", forms).unwrap().contains(&"Elicitation".to_owned()), "{version:?}");
        }
        let error = events(Some(Version(2, 1, 75)), "", forms).unwrap_err();
        assert_eq!(error.to_string(), "Claude Code 2.1.75 has no hooks for forms: they came with 2.1.76");
    }

    #[test]
    fn a_file_for_everybody_stays_one_and_suits_every_version() {
        let all = Choice { permissions: Some(true), forms: Some(true) };
        let wanted =
            |invocation| Wanted { invocation, mode: Mode::Auto, choice: all, version: &|| Some(Version(2, 1, 325)) };
        let entries = wanted(Invocation::Shared).entries(&Look::at(b"").unwrap()).unwrap();
        assert!(entries.iter().all(|entry| entry.event != "PostToolBatch"), "older versions would ignore the file");
        let shared = edit::install("", &entries).unwrap();
        assert!(Look::at(shared.as_bytes()).unwrap().is_shared());
        let again = wanted(exec()).entries(&Look::at(shared.as_bytes()).unwrap()).unwrap();
        assert_eq!(again, entries);
    }

    #[test]
    fn the_version_is_asked_for_only_if_it_matters() {
        let never = || unreachable!("questions and plans are written for every version in the same way");
        let wanted = Wanted { invocation: exec(), mode: Mode::Auto, choice: Choice::default(), version: &never };
        assert_eq!(wanted.entries(&Look::at(b"").unwrap()).unwrap().len(), 6);
    }

    #[test]
    fn a_hooks_file_with_several_events_and_groups_is_read_in_order() {
        let text = r#"{"hooks": {"A": [{"matcher": "X", "hooks": [{"command": "h"}]}, {"matcher": "Y", "hooks": [{"command": "h"}]}],
            "B": [{"hooks": [{"command": "h"}]}]}}"#;
        let entries = from_file(text, &Invocation::Exec("/answerback-hook".into())).unwrap();
        let places: Vec<_> = entries.iter().map(|e| (e.event.as_str(), e.matcher.as_deref())).collect();
        assert_eq!(places, [("A", Some("X")), ("A", Some("Y")), ("B", None)]);
        assert_eq!(entries[2].group(), json!({"hooks": [{"command": "/answerback-hook"}]}));
        assert!(from_file("{}", &Invocation::Exec("/answerback-hook".into())).is_err());
    }
}
