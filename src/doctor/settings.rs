//! What Claude Code's settings say about our hook.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::claude_code::Mode;
use crate::settings::entry;
use crate::settings::io_hint;
use crate::settings::look::{self, Handler, Look};
use crate::settings::plugin;
use crate::settings::scope::{Scope, claude_dir};

use super::Finding;

const CHECK: &str = "settings";
/// That the hook is there and does nothing.
pub const MODE: &str = "mode";
const EVENT: &str = "PreToolUse";
const TOOL: &str = "AskUserQuestion";
/// Claude Code's own limit where none is written; a person may need longer.
const SHORT_TIMEOUT: f64 = 600.0;

/// One file Claude Code reads.
struct SettingsFile {
    path: PathBuf,
    /// Its administrator's, whose word is the last.
    managed: bool,
    content: io::Result<Vec<u8>>,
}

pub(super) fn examine(hook: &Path, project: &Path) -> Vec<Finding> {
    check(&files(project), hook)
}

fn files(project: &Path) -> Vec<SettingsFile> {
    let managed = if cfg!(target_os = "macos") {
        "/Library/Application Support/ClaudeCode/managed-settings.json"
    } else {
        "/etc/claude-code/managed-settings.json"
    };
    let own = claude_dir().map(|dir| Scope::Local(project.to_path_buf()).session_files(&dir)).unwrap_or_default();
    let read = |path: PathBuf, managed| SettingsFile { content: look::read(&path), path, managed };
    let mut files = vec![read(managed.into(), true)];
    files.extend(own.into_iter().map(|path| read(path, false)));
    files
}

fn check(files: &[SettingsFile], hook: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut readable = Vec::new();
    for file in files {
        let name = file.path.display();
        match &file.content {
            Ok(bytes) => match Look::at(bytes) {
                Ok(look) => readable.push((file, look)),
                Err(refusal) => findings.push(Finding::error(
                    CHECK,
                    format!("Claude Code ignores {name}: {refusal}"),
                    format!("Correct it: {}.", refusal.problem.hint()),
                )),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => findings.push(Finding::error(
                CHECK,
                format!("{name} cannot be read: {error}"),
                format!("Do this: {}.", io_hint(error)),
            )),
        }
    }
    for (file, look) in &readable {
        findings.extend(check_switches(file, look));
    }
    findings.extend(check_hooks(&readable, hook));
    findings
}

/// What turns hooks off, or the tool.
fn check_switches(file: &SettingsFile, look: &Look) -> Vec<Finding> {
    let name = file.path.display();
    let mut findings = Vec::new();
    let is_on = |pointer| look.get(pointer) == Some(&Value::Bool(true));
    if is_on("/disableAllHooks") {
        let fix = format!("Remove `disableAllHooks` from {name}.");
        findings.push(Finding::error(CHECK, format!("{name} turns all hooks off"), fix));
    }
    if file.managed && is_on("/allowManagedHooksOnly") {
        findings.push(Finding::error(
            CHECK,
            format!("{name} allows only the hooks of this machine's administrator"),
            format!("Ask them to add the hook to {name}, or to allow others."),
        ));
    }
    let denied = look.get("/permissions/deny").and_then(Value::as_array).into_iter().flatten();
    if denied.filter_map(Value::as_str).any(|rule| rule == TOOL || rule.starts_with("AskUserQuestion(")) {
        let fix = format!("Remove `{TOOL}` from `permissions.deny` in {name}.");
        findings.push(Finding::error(CHECK, format!("{name} forbids Claude Code to ask questions"), fix));
    }
    findings
}

fn check_hooks(files: &[(&SettingsFile, Look)], hook: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut installed = 0;
    for (file, look) in files {
        let name = file.path.display();
        for handler in look.handlers().iter().filter(|handler| handler.event == EVENT && handler.is_for(TOOL)) {
            if !handler.is_own {
                findings.push(Finding::warning(
                    CHECK,
                    format!("another hook answers for the same tool in {name}: {}", handler.command),
                    "If both answer, the one that ends last wins: remove it if it gives answers.",
                ));
                continue;
            }
            installed += 1;
            findings.extend(check_own(file, handler, hook));
        }
    }
    let texts: Vec<&str> =
        files.iter().filter_map(|(file, _)| std::str::from_utf8(file.content.as_ref().ok()?).ok()).collect();
    match (plugin::enabled(texts), installed) {
        (Some(plugin), 0) => findings.push(Finding::ok(CHECK, format!("the plugin {plugin} brings the hook"))),
        (Some(plugin), _) => findings.push(Finding::warning(
            CHECK,
            format!("the plugin {plugin} brings the hook, and settings have it too"),
            "Run `answerback uninstall` where it was installed, or disable the plugin.",
        )),
        (None, 0) => findings.push(Finding::error(
            CHECK,
            "the hook is not installed for this directory",
            "Run `answerback install` here, or `answerback install --user` for all projects.",
        )),
        (None, _) => {}
    }
    findings
}

fn check_own(file: &SettingsFile, handler: &Handler, hook: &Path) -> Vec<Finding> {
    let name = file.path.display();
    let mut findings = Vec::new();
    let program = entry::program_of(&handler.command).unwrap_or_else(|| handler.command.clone());
    let path = Path::new(&program);
    if !path.is_absolute() || !path.exists() {
        findings.push(Finding::error(
            CHECK,
            format!("the hook in {name} is {program}, and that is not there"),
            "Run `answerback install` again: it corrects the path.",
        ));
    } else if path.canonicalize().ok() != hook.canonicalize().ok() {
        findings.push(Finding::warning(
            CHECK,
            format!("the hook in {name} is {program}, and not the one of this program"),
            "Run `answerback install` again, unless you have two on purpose.",
        ));
    } else {
        findings.push(Finding::ok(CHECK, format!("the hook is installed in {name}")));
    }
    let native = Mode::Native.name();
    if handler.args.iter().any(|arg| arg == native) || handler.command.ends_with(&format!(" {native}")) {
        findings.push(Finding::note(
            MODE,
            format!("the hook in {name} stands aside: its mode is native"),
            "Run `answerback install` again, unless that is on purpose.",
        ));
    }
    if handler.timeout.unwrap_or(SHORT_TIMEOUT) <= SHORT_TIMEOUT {
        findings.push(Finding::warning(
            CHECK,
            format!("Claude Code ends the hook in {name} after {} s", handler.timeout.unwrap_or(SHORT_TIMEOUT)),
            "Run `answerback install` again: it gives you a week to answer.",
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Level;
    use super::*;

    const HOOK: &str = "/bin/sh";

    fn file(name: &str, content: impl AsRef<[u8]>) -> SettingsFile {
        SettingsFile { path: name.into(), managed: name == "managed", content: Ok(content.as_ref().to_vec()) }
    }

    fn own(command: &str) -> Value {
        json!({"hooks": {"PreToolUse": [{"matcher": "AskUserQuestion|AskFollowupQuestion", "hooks": [
            {"type": "command", "command": command, "args": [], "timeout": 604800}]}]}})
    }

    /// A hook that is there, under its right name.
    fn installed() -> (tempfile::TempDir, PathBuf, Value) {
        let dir = tempfile::tempdir().unwrap();
        let hook = dir.path().join("answerback-hook");
        std::os::unix::fs::symlink(HOOK, &hook).unwrap();
        let settings = own(hook.to_str().unwrap());
        (dir, hook, settings)
    }

    /// The worst level, and what is said of it.
    #[track_caller]
    fn worst(files: &[SettingsFile], hook: &Path) -> (Level, String) {
        let findings = check(files, hook);
        assert!(findings.iter().all(|finding| finding.level < Level::Warning || finding.fix.is_some()), "{findings:?}");
        let level = findings.iter().map(|finding| finding.level).max().unwrap();
        let messages = findings.into_iter().filter(|finding| finding.level == level).map(|finding| finding.message);
        (level, messages.collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn all_is_well() {
        let (_dir, hook, settings) = installed();
        let (level, message) = worst(&[file("user", "{}"), file("project", settings.to_string())], &hook);
        assert_eq!((level, message.as_str()), (Level::Ok, "the hook is installed in project"));
        let plugin = json!({"enabledPlugins": {"answerback@home": true}}).to_string();
        assert_eq!(worst(&[file("user", &plugin)], &hook).0, Level::Ok);
        assert_eq!(worst(&[file("user", &plugin), file("project", settings.to_string())], &hook).0, Level::Warning);
    }

    #[test]
    fn each_fault_is_found() {
        let (_dir, hook, settings) = installed();
        let with = |pointer: &str, value: Value| {
            let mut settings = settings.clone();
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            let parent = settings.pointer_mut(parent).unwrap();
            parent[key] = value;
            settings.to_string()
        };
        let other = json!([{"matcher": "AskUserQuestion", "hooks": [{"type": "command", "command": "other.sh"}]},
            settings["hooks"]["PreToolUse"][0]]);
        for (files, level, message) in [
            (vec![], Level::Error, "not installed"),
            (vec![file("user", "{}")], Level::Error, "not installed"),
            (vec![file("user", format!("// mine\n{settings}"))], Level::Error, "line 1, column 1"),
            (vec![file("user", format!("\u{feff}{settings}"))], Level::Error, "byte order mark"),
            (vec![file("user", with("/disableAllHooks", json!(true)))], Level::Error, "turns all hooks off"),
            (vec![file("user", with("/permissions", json!({"deny": ["AskUserQuestion"]})))], Level::Error, "forbids"),
            (
                vec![file("managed", r#"{"allowManagedHooksOnly": true}"#), file("user", settings.to_string())],
                Level::Error,
                "administrator",
            ),
            (vec![file("user", own("/gone/answerback-hook").to_string())], Level::Error, "not there"),
            (vec![file("user", own("answerback-hook").to_string())], Level::Error, "not there"),
            (vec![file("user", with("/hooks/PreToolUse/0/hooks/0/timeout", json!(60)))], Level::Warning, "after 60 s"),
            (vec![file("user", with("/hooks/PreToolUse", other))], Level::Warning, "another hook"),
            (vec![file("user", with("/hooks/PreToolUse/0/matcher", json!("Bash")))], Level::Error, "not installed"),
        ] {
            let (found, text) = worst(&files, &hook);
            assert_eq!(found, level, "{message}: {text}");
            assert!(text.contains(message), "{message}: {text}");
        }
        let elsewhere = worst(&[file("user", settings.to_string())], Path::new("/bin/true"));
        assert!(elsewhere.1.contains("not the one of this program"), "{elsewhere:?}");
    }
}
