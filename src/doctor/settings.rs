//! Our hook in Claude Code's settings files, and whatever keeps it from running.

use std::io;
use std::path::{Path, PathBuf};

use answerback_hook::hint::Hint;
use serde_json::Value;

use crate::claude_code::settings::io_hint;
use crate::claude_code::settings::look::{self, Look};
use crate::claude_code::settings::plugin;
use crate::claude_code::settings::scope::{Scope, claude_dir};
use crate::claude_code::{Mode, Version};

use super::hook::{Installed, Repair, uninstall};
use super::{Finding, Level, instance};

pub(super) const CHECK: &str = "settings";
/// The check that the hook does anything: in mode `native` it does not.
pub const MODE: &str = "mode";
/// The event before Claude Code uses a tool.
pub(super) const EVENT: &str = "PreToolUse";
pub(super) const TOOL: &str = "AskUserQuestion";

/// One settings file that Claude Code reads.
struct SettingsFile {
    path: PathBuf,
    /// `None`: the administrator's file, which overrides all others.
    scope: Option<Scope>,
    content: io::Result<Vec<u8>>,
}

/// What the settings are compared with.
struct Wanted<'a> {
    hook: &'a Path,
    repair: Repair,
    version: &'a dyn Fn() -> Option<Version>,
}

pub(super) fn examine(hook: &Path, project: &Path, version: &dyn Fn() -> Option<Version>) -> Vec<Finding> {
    // Without the program of the hook nothing can be installed, so its repair comes first.
    let first = instance::program(hook).into_iter().find(|finding| finding.level == Level::Error);
    let repair = Repair { first: first.and_then(|finding| finding.fix) };
    check(&files(project), &Wanted { hook, repair, version }, project)
}

fn files(project: &Path) -> Vec<SettingsFile> {
    let managed = if cfg!(target_os = "macos") {
        "/Library/Application Support/ClaudeCode/managed-settings.json"
    } else {
        "/etc/claude-code/managed-settings.json"
    };
    let mut files = vec![SettingsFile { path: managed.into(), scope: None, content: look::read(Path::new(managed)) }];
    let Some(claude_dir) = claude_dir() else { return files };
    let project = project.to_path_buf();
    for scope in [Scope::User, Scope::Project(project.clone()), Scope::Local(project)] {
        let path = scope.file(&claude_dir);
        // In the home directory, the project's settings are the user's. A link can lead to the same file, too.
        let is_same = |file: &SettingsFile| match (file.path.canonicalize(), path.canonicalize()) {
            (Ok(one), Ok(other)) => one == other,
            _ => false,
        };
        if !files.iter().any(is_same) {
            files.push(SettingsFile { content: look::read(&path), path, scope: Some(scope) });
        }
    }
    files
}

fn check(files: &[SettingsFile], wanted: &Wanted<'_>, project: &Path) -> Vec<Finding> {
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
                    refusal.hint().unwrap_or_default(),
                )),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                findings.push(Finding::error(CHECK, format!("{name} cannot be read: {error}"), io_hint(error)))
            }
        }
    }
    // The hook may be in a file that cannot be read. That file must be corrected before anything is said about the hook.
    let are_all = findings.is_empty();
    for (file, look) in &readable {
        findings.extend(check_switches(file, look));
    }
    for (file, look) in &readable {
        findings.extend(check_others(file, look));
    }
    findings.extend(check_own(&readable, wanted, project, are_all));
    findings
}

/// Settings that turn off hooks, or the tool that asks.
fn check_switches(file: &SettingsFile, look: &Look) -> Vec<Finding> {
    let name = file.path.display();
    let mut findings = Vec::new();
    let is_on = |pointer| look.get(pointer) == Some(&Value::Bool(true));
    if is_on("/disableAllHooks") {
        let fix = format!("Remove `disableAllHooks` from {name}.");
        findings.push(Finding::error(CHECK, format!("{name} turns all hooks off"), fix));
    }
    if file.scope.is_none() && is_on("/allowManagedHooksOnly") {
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

/// Other hooks that may answer for the same tool.
fn check_others(file: &SettingsFile, look: &Look) -> Vec<Finding> {
    let handlers = look.handlers().into_iter().filter(|handler| !handler.is_own && handler.event == EVENT);
    let answering = handlers.filter(|handler| look::is_for(handler.matcher.as_deref(), TOOL));
    let finding = |handler: look::Handler| {
        Finding::warning(
            CHECK,
            format!("another hook answers for the same tool in {}: {}", file.path.display(), handler.command),
            "If both answer, the one that ends last wins: remove it if it gives answers.",
        )
    };
    answering.map(finding).collect()
}

/// Our hook in these files. `are_all` is false if another file could not be read.
fn check_own(files: &[(&SettingsFile, Look)], wanted: &Wanted<'_>, project: &Path, are_all: bool) -> Vec<Finding> {
    let mut installed = Vec::new();
    let mut texts = Vec::new();
    for (file, _) in files {
        let Ok(content) = &file.content else { continue };
        match Installed::in_file(&file.path, file.scope.as_ref(), content, wanted.version) {
            Ok(found) => installed.extend(found),
            // Findings about the other files do not help before this one is corrected.
            Err(refusal) => {
                let message = format!("{} cannot be edited: {refusal}", file.path.display());
                return vec![Finding::error(CHECK, message, refusal.hint().unwrap_or_default())];
            }
        }
        texts.extend(std::str::from_utf8(content).ok());
    }
    match plugin::enabled(texts) {
        Some(plugin) if installed.is_empty() => {
            vec![Finding::ok(CHECK, format!("the plugin {plugin} brings the hook"))]
        }
        Some(plugin) => installed.iter().map(|installed| beside_plugin(&plugin, installed)).collect(),
        None if installed.is_empty() && !are_all => Vec::new(),
        None if installed.is_empty() => {
            let here = Scope::Project(project.to_path_buf());
            let commands =
                format!("`answerback install {}`, or `answerback install --user` for all projects", here.options());
            let fix = wanted.repair.then(&commands);
            vec![Finding::error(CHECK, "the hook is not installed for this directory", fix)]
        }
        None => check_installed(&installed, wanted),
    }
}

fn beside_plugin(plugin: &str, installed: &Installed) -> Finding {
    let message = format!("the plugin {plugin} brings the hook, and {} has it too", installed.path.display());
    let fix = match &installed.scope {
        Some(scope) => format!("Run {}, or disable the plugin.", uninstall(scope)),
        None => "Disable the plugin.".to_owned(),
    };
    Finding::warning(CHECK, message, fix)
}

/// One file with the hook is enough. Checks the best one, and reports the others as too many.
fn check_installed(installed: &[Installed], wanted: &Wanted<'_>) -> Vec<Finding> {
    // Of equally good files take the first, because it applies in the most places.
    let Some(kept) = installed.iter().rev().max_by_key(|installed| installed.worth()) else { return Vec::new() };
    let mut findings = kept.findings(wanted.hook, &wanted.repair);
    if findings.iter().all(|finding| finding.level < Level::Warning) {
        findings.insert(0, Finding::ok(CHECK, format!("the hook is installed in {}", kept.path.display())));
    }
    if installed.iter().all(|installed| installed.mode == Mode::Native) {
        let fix = wanted.repair.install(kept.scope.as_ref(), Mode::Auto);
        findings.push(Finding::note(
            MODE,
            format!("the hook in {} stands aside: its mode is native", kept.path.display()),
            format!("Nothing needs to be done if that is on purpose. Otherwise: {fix}"),
        ));
    }
    findings.extend(installed.iter().filter(|other| !std::ptr::eq(*other, kept)).map(|other| too_many(kept, other)));
    findings
}

fn too_many(kept: &Installed, other: &Installed) -> Finding {
    let (name, other_name) = (kept.path.display(), other.path.display());
    let remove = |installed: &Installed| match &installed.scope {
        Some(scope) => format!("run {}", uninstall(scope)),
        None => "ask the administrator of this machine to remove it".to_owned(),
    };
    if kept.mode == other.mode {
        let fix = format!("One is enough: {}.", remove(other));
        let message = format!("the hook is in {name} and in {other_name}, so Claude Code may run it twice");
        return Finding::warning(CHECK, message, fix);
    }
    let (mode, other_mode) = (kept.mode.name(), other.mode.name());
    Finding::warning(
        CHECK,
        format!(
            "{name} and {other_name} contradict each other: the hook's mode is {mode} in one and {other_mode} in the other"
        ),
        format!("To keep {mode}, {}. To keep {other_mode}, {}.", remove(other), remove(kept)),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::claude_code::settings::edit;
    use crate::claude_code::settings::entry::{self, Invocation};

    const HOOK: &str = "/bin/sh";

    fn file(name: &str, content: impl AsRef<[u8]>) -> SettingsFile {
        let scope = match name {
            "managed" => None,
            "user" => Some(Scope::User),
            _ => Some(Scope::Project("/shop".into())),
        };
        SettingsFile { path: name.into(), scope, content: Ok(content.as_ref().to_vec()) }
    }

    /// Everything that install writes.
    fn own(command: &str) -> Value {
        let entries = entry::entries(&Invocation::Exec(command.to_owned()), Mode::Auto);
        serde_json::from_str(&edit::install("{}", &entries).unwrap()).unwrap()
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
        let wanted = Wanted { hook, repair: Repair { first: None }, version: &|| None };
        let findings = check(files, &wanted, Path::new("/shop"));
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

    /// It may be in that file, and the advice to install it would fail.
    #[test]
    fn nobody_knows_whether_it_is_in_a_file_that_cannot_be_read() {
        let (_dir, hook, settings) = installed();
        let broken = file("project", format!("// mine\n{settings}"));
        let wanted = Wanted { hook: &hook, repair: Repair { first: None }, version: &|| None };
        let findings = check(&[file("user", "{}"), broken], &wanted, Path::new("/shop"));
        assert_eq!(findings.len(), 1, "{findings:#?}");
        assert!(findings[0].message.starts_with("Claude Code ignores project"), "{findings:#?}");
    }

    /// In every form that install writes, for every version that it writes it for.
    #[test]
    fn what_install_writes_is_well_and_an_older_claude_code_may_not_understand_it() {
        let (_dir, hook, _) = installed();
        let path = hook.to_str().unwrap();
        let (new, old) = (Some(Version(2, 1, 186)), Some(Version(2, 1, 90)));
        for mode in [Mode::Auto, Mode::Hold, Mode::Race, Mode::Defer] {
            for (written_for, run_by, level) in [
                (new, new, Level::Ok),
                (new, None, Level::Ok),
                (None, new, Level::Ok),
                (old, old, Level::Ok),
                (old, new, Level::Ok),
                (new, old, if mode == Mode::Auto { Level::Ok } else { Level::Warning }),
            ] {
                let entries = entry::entries(&Invocation::of(path, mode, written_for), mode);
                let files = [file("user", edit::install("", &entries).unwrap())];
                let wanted = Wanted { hook: &hook, repair: Repair { first: None }, version: &|| run_by };
                let findings = check(&files, &wanted, Path::new("/shop"));
                let worst = findings.iter().map(|finding| finding.level).max().unwrap();
                assert_eq!(worst, level, "{mode:?}, for {written_for:?}, by {run_by:?}: {findings:#?}");
            }
        }
    }

    #[test]
    fn a_file_beside_a_plugin_or_an_administrators_is_too_many() {
        let (_dir, hook, settings) = installed();
        let wanted = Wanted { hook: &hook, repair: Repair { first: None }, version: &|| None };
        let project = || file("project", settings.to_string());
        let plugin = file("user", json!({"enabledPlugins": {"answerback@home": true}}).to_string());
        let managed = file("managed", settings.to_string());
        for files in [[plugin, project()], [managed, project()]] {
            let findings = check(&files, &wanted, Path::new("/shop"));
            let fixes: Vec<_> = findings.iter().filter_map(|finding| finding.fix.as_deref()).collect();
            assert_eq!(fixes.len(), 1, "{findings:#?}");
            assert!(fixes[0].contains("`answerback uninstall --project /shop`"), "{findings:#?}");
        }
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
            (
                vec![file("user", with("/hooks/PreToolUse/0/matcher", json!("Bash")))],
                Level::Error,
                "PreToolUse is missing",
            ),
        ] {
            let (found, text) = worst(&files, &hook);
            assert_eq!(found, level, "{message}: {text}");
            assert!(text.contains(message), "{message}: {text}");
        }
        let elsewhere = worst(&[file("user", settings.to_string())], Path::new("/bin/true"));
        assert!(elsewhere.1.contains("not the one of this program"), "{elsewhere:?}");
    }
}
