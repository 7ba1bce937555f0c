use std::path::PathBuf;

use serde_json::json;

use super::*;
use crate::claude_code::settings::coverage::Coverage;
use crate::claude_code::settings::edit;
use crate::claude_code::settings::entry::Invocation;
use crate::claude_code::settings::wanted::entries;

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
    with_coverage(command, Coverage::DEFAULT)
}

fn with_coverage(command: &str, coverage: Coverage) -> Value {
    let entries = entries(&Invocation::Exec(command.to_owned()), Mode::Auto, coverage);
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
            let entries = entries(&Invocation::of(path, mode, written_for), mode, Coverage::DEFAULT);
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
fn of_two_files_the_one_that_brings_more_is_kept() {
    let (_dir, hook, settings) = installed();
    let wanted = Wanted { hook: &hook, repair: Repair { first: None }, version: &|| None };
    let all = with_coverage(hook.to_str().unwrap(), Coverage::ALL).to_string();
    for (user, project, removed) in [
        (settings.to_string(), all.clone(), "`answerback uninstall --user`"),
        (all, settings.to_string(), "`answerback uninstall --project /shop`"),
    ] {
        let findings = check(&[file("user", user), file("project", project)], &wanted, Path::new("/shop"));
        let fixes: Vec<_> = findings.iter().filter_map(|finding| finding.fix.as_deref()).collect();
        assert!(fixes.len() == 1 && fixes[0].contains(removed), "{findings:#?}");
    }
}

#[test]
fn two_plugins_are_too_many() {
    let plugins = json!({"enabledPlugins": {"answerback@home": true, "answerback-all@home": true}}).to_string();
    let (level, message) = worst(&[file("user", plugins)], Path::new(HOOK));
    assert_eq!(level, Level::Warning);
    assert!(message.contains("answerback-all@home and answerback@home"), "{message}");
}

/// An event that a version does not know makes it ignore the whole file, and the hook with it.
#[test]
fn an_entry_that_a_version_does_not_know_is_an_error_and_one_that_it_needs_is_missed() {
    let (_dir, hook, _) = installed();
    let whole = with_coverage(hook.to_str().unwrap(), Coverage::ALL);
    let mut without_batches = whole.clone();
    without_batches["hooks"].as_object_mut().unwrap().shift_remove("PostToolBatch");
    for (settings, version, level, message, fix) in [
        (&whole, None, Level::Ok, "is installed", ""),
        (&whole, Some(Version(2, 1, 118)), Level::Ok, "is installed", ""),
        (&whole, Some(Version(2, 1, 101)), Level::Ok, "is installed", ""),
        (&whole, Some(Version(2, 1, 90)), Level::Error, "does not know PostToolBatch", "install --user`"),
        (
            &whole,
            Some(Version(2, 0, 76)),
            Level::Error,
            "does not know PostToolBatch and Elicitation",
            "install --user --no-forms`",
        ),
        (&without_batches, None, Level::Ok, "is installed", ""),
        (&without_batches, Some(Version(2, 1, 117)), Level::Ok, "is installed", ""),
        (&without_batches, Some(Version(2, 1, 118)), Level::Warning, "PostToolBatch is missing", "install --user`"),
    ] {
        let wanted = Wanted { hook: &hook, repair: Repair { first: None }, version: &|| version };
        let findings = check(&[file("user", settings.to_string())], &wanted, Path::new("/shop"));
        assert_eq!(findings.len(), 1, "{version:?}: {findings:#?}");
        assert_eq!(findings[0].level, level, "{version:?}: {findings:#?}");
        assert!(findings[0].message.contains(message), "{version:?}: {findings:#?}");
        assert!(findings[0].fix.as_deref().unwrap_or_default().contains(fix), "{version:?}: {findings:#?}");
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
        (vec![file("user", with("/hooks/PreToolUse/0/matcher", json!("Bash")))], Level::Error, "PreToolUse is missing"),
    ] {
        let (found, text) = worst(&files, &hook);
        assert_eq!(found, level, "{message}: {text}");
        assert!(text.contains(message), "{message}: {text}");
    }
    let elsewhere = worst(&[file("user", settings.to_string())], Path::new("/bin/true"));
    assert!(elsewhere.1.contains("not the one of this program"), "{elsewhere:?}");
}
