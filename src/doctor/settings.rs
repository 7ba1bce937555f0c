//! Our hook in Claude Code's settings files, and whatever keeps it from running.

use std::io;
use std::path::Path;

use answerback_hook::hint::Hint;
use serde_json::Value;

use crate::claude_code::settings::coverage::{BEFORE_TOOL, QUESTION_TOOL, list};
use crate::claude_code::settings::io_hint;
use crate::claude_code::settings::look::{self, Look};
use crate::claude_code::settings::plugin::{self, Plugin};
use crate::claude_code::settings::scope::Scope;
use crate::claude_code::settings::session::{self, SettingsFile};
use crate::claude_code::{Mode, Version};

use super::hook::{Installed, Repair, uninstall};
use super::{Finding, Level, instance};

pub(super) const CHECK: &str = "settings";
/// The check that the hook does anything: in mode `native` it does not.
pub const MODE: &str = "mode";

/// What the settings are compared with.
struct Wanted<'a> {
    hook: &'a Path,
    repair: Repair,
    version: &'a dyn Fn() -> Option<Version>,
}

pub(super) fn examine(
    files: &[SettingsFile],
    hook: &Path,
    project: &Path,
    version: &dyn Fn() -> Option<Version>,
) -> Vec<Finding> {
    // Without the program of the hook nothing can be installed, so its repair comes first.
    let first = instance::program(hook).into_iter().find(|finding| finding.level == Level::Error);
    let repair = Repair { first: first.and_then(|finding| finding.fix) };
    check(files, &Wanted { hook, repair, version }, project)
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
    if session::disables_hooks(look) {
        let fix = format!("Remove `disableAllHooks` from {name}.");
        findings.push(Finding::error(CHECK, format!("{name} turns all hooks off"), fix));
    }
    if file.scope.is_none() && session::allows_managed_hooks_only(look) {
        findings.push(Finding::error(
            CHECK,
            format!("{name} allows only the hooks of this machine's administrator"),
            format!("Ask them to add the hook to {name}, or to allow others."),
        ));
    }
    let denied = look.get("/permissions/deny").and_then(Value::as_array).into_iter().flatten();
    if denied.filter_map(Value::as_str).any(|rule| rule == QUESTION_TOOL || rule.starts_with("AskUserQuestion(")) {
        let fix = format!("Remove `{QUESTION_TOOL}` from `permissions.deny` in {name}.");
        findings.push(Finding::error(CHECK, format!("{name} forbids Claude Code to ask questions"), fix));
    }
    findings
}

/// Other hooks that may answer for the same tool.
fn check_others(file: &SettingsFile, look: &Look) -> Vec<Finding> {
    let handlers = look.handlers().into_iter().filter(|handler| !handler.is_own && handler.event == BEFORE_TOOL);
    let answering = handlers.filter(|handler| look::is_for(handler.matcher.as_deref(), QUESTION_TOOL));
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
    }
    let plugins = plugin::enabled(files.iter().map(|(_, look)| look));
    match plugins.as_slice() {
        [Plugin { name, .. }] if installed.is_empty() => {
            vec![Finding::ok(CHECK, format!("the plugin {name} brings the hook"))]
        }
        [Plugin { name, .. }] => installed.iter().map(|installed| beside_plugin(name, installed)).collect(),
        [_, _, ..] => {
            let names: Vec<_> = plugins.iter().map(|plugin| plugin.name.as_str()).collect();
            let message = format!("the plugins {} all bring the hook, so Claude Code may run it twice", list(&names));
            vec![Finding::warning(CHECK, message, "Keep one of them, and disable the others.")]
        }
        [] if installed.is_empty() && !are_all => Vec::new(),
        [] if installed.is_empty() => {
            let here = Scope::Project(project.to_path_buf());
            let commands =
                format!("`answerback install {}`, or `answerback install --user` for all projects", here.options());
            let fix = wanted.repair.then(&commands);
            vec![Finding::error(CHECK, "the hook is not installed for this directory", fix)]
        }
        [] => check_installed(&installed, wanted),
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
        let fix = wanted.repair.install(kept.scope.as_ref(), Mode::Auto, "");
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
mod tests;
