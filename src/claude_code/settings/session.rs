//! The settings files that Claude Code reads when it is started in one directory.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::coverage::Coverage;
use super::look::{self, Look};
use super::plugin;
use super::scope::{Scope, claude_dir};

/// One settings file that Claude Code reads.
#[derive(Debug)]
pub struct SettingsFile {
    /// Where it is.
    pub path: PathBuf,
    /// `None`: the administrator's file, which overrides all others.
    pub scope: Option<Scope>,
    /// What is in it.
    pub content: io::Result<Vec<u8>>,
}

/// The settings files of a session in this directory, also those that are not there. Later files override earlier ones, but the first one
/// overrides all.
pub fn files(project: &Path) -> Vec<SettingsFile> {
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

/// Whether these settings turn all hooks off.
pub fn disables_hooks(settings: &Look) -> bool {
    settings.get("/disableAllHooks") == Some(&Value::Bool(true))
}

/// Whether these settings, if they are the administrator's, turn off the hooks of everybody else.
pub fn allows_managed_hooks_only(settings: &Look) -> bool {
    settings.get("/allowManagedHooksOnly") == Some(&Value::Bool(true))
}

/// What comes to Answerback from a session that reads these files. A file that Claude Code cannot read brings nothing.
pub fn coverage(files: &[SettingsFile]) -> Coverage {
    let readable: Vec<_> =
        files.iter().filter_map(|file| Some((file, Look::at(file.content.as_ref().ok()?).ok()?))).collect();
    if readable.iter().any(|(_, look)| disables_hooks(look)) {
        return Coverage::NONE;
    }
    let is_managed = |file: &SettingsFile| file.scope.is_none();
    let managed_only = readable.iter().any(|(file, look)| is_managed(file) && allows_managed_hooks_only(look));
    let entries = readable.iter().filter(|(file, _)| !managed_only || is_managed(file));
    let coverage = entries.fold(Coverage::NONE, |coverage, (_, look)| coverage.and(Coverage::of(look)));
    let plugins = plugin::enabled(readable.iter().map(|(_, look)| look));
    plugins.iter().filter(|_| !managed_only).fold(coverage, |coverage, plugin| coverage.and(plugin.coverage))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::edit;
    use super::super::entry::Invocation;
    use super::super::wanted;
    use super::*;
    use crate::claude_code::Mode;

    fn file(scope: Option<Scope>, content: &str) -> SettingsFile {
        SettingsFile { path: "settings.json".into(), scope, content: Ok(content.into()) }
    }

    fn user(content: &str) -> SettingsFile {
        file(Some(Scope::User), content)
    }

    fn project(content: &str) -> SettingsFile {
        file(Some(Scope::Project("/shop".into())), content)
    }

    fn installed(coverage: Coverage) -> String {
        let entries = wanted::entries(&Invocation::Exec("/opt/answerback-hook".into()), Mode::Auto, coverage);
        edit::install("", &entries).unwrap()
    }

    #[test]
    fn what_one_file_brings_comes_whatever_the_others_bring() {
        let with_forms = Coverage { forms: true, ..Coverage::DEFAULT };
        let with_permissions = Coverage { permissions: true, ..Coverage::DEFAULT };
        assert_eq!(coverage(&[]), Coverage::NONE);
        assert_eq!(coverage(&[user("{}"), project(&installed(Coverage::DEFAULT))]), Coverage::DEFAULT);
        assert_eq!(coverage(&[user(&installed(with_forms)), project(&installed(with_permissions))]), Coverage::ALL);
        let plugin = json!({"enabledPlugins": {"answerback-all@home": true}}).to_string();
        assert_eq!(coverage(&[user(&plugin)]), Coverage::ALL);
    }

    #[test]
    fn what_claude_code_does_not_read_or_run_brings_nothing() {
        let all = installed(Coverage::ALL);
        assert_eq!(coverage(&[user(&format!("// mine\n{all}"))]), Coverage::NONE);
        assert_eq!(coverage(&[user(r#"{"disableAllHooks": true}"#), project(&all)]), Coverage::NONE);
        let managed_only = file(None, r#"{"allowManagedHooksOnly": true}"#);
        let plugin = user(r#"{"enabledPlugins": {"answerback@home": true}}"#);
        assert_eq!(coverage(&[managed_only, plugin, project(&all)]), Coverage::NONE);
        let mut managed: Value = serde_json::from_str(&installed(Coverage::DEFAULT)).unwrap();
        managed["allowManagedHooksOnly"] = json!(true);
        assert_eq!(coverage(&[file(None, &managed.to_string()), project(&all)]), Coverage::DEFAULT);
        // The setting is the administrator's alone.
        assert_eq!(coverage(&[user(r#"{"allowManagedHooksOnly": true}"#), project(&all)]), Coverage::ALL);
    }
}
