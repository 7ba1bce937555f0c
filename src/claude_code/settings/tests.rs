use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

use super::coverage::{Choice, Coverage};
use super::entry::Invocation;
use super::look::Look;
use super::wanted::Wanted;
use super::*;
use crate::claude_code::{Mode, Version};

/// A scratch project and a scratch instance.
struct Scratch {
    dir: tempfile::TempDir,
    paths: Paths,
}

impl Scratch {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::new(dir.path().join("config"), dir.path().join("state"));
        Self { dir, paths }
    }

    fn with(text: &str) -> Self {
        let scratch = Self::new();
        fs::create_dir(scratch.dir.path().join(".claude")).unwrap();
        scratch.write(text);
        scratch
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join(".claude/settings.json")
    }

    fn write(&self, text: &str) {
        fs::write(self.file(), text).unwrap();
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file()).unwrap()
    }

    fn settings(&self) -> Settings<'_> {
        Settings::at(&self.file(), &self.paths).unwrap()
    }

    fn install(&self) -> Change {
        self.install_hook("/opt/answerback-hook")
    }

    fn install_hook(&self, hook: &str) -> Change {
        self.settings().install(&wanted(hook, Choice::default())).unwrap()
    }

    fn uninstall(&self) -> Change {
        self.settings().uninstall().unwrap()
    }

    fn beside(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.dir.path().join(".claude")).unwrap().collect();
        names.sort_by_key(|entry| entry.as_ref().unwrap().file_name());
        names.into_iter().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Somebody else's edit.
    fn edit(&self) {
        self.write(&self.text().replacen('{', "{\"theirs\": true, ", 1));
    }
}

/// The newest Claude Code.
fn newest() -> Option<Version> {
    Some(Version(2, 1, 325))
}

fn wanted(hook: &str, choice: Choice) -> Wanted<'static> {
    Wanted { invocation: Invocation::Exec(hook.into()), mode: Mode::Auto, choice, version: &newest }
}

const PLAIN: &str = "{\n  \"model\": \"opus\"\n}\n";
const EMPTY_ON_THE_WAY: &str = "{\"hooks\": { \n }}";

#[test]
fn uninstall_gives_back_the_bytes_it_found() {
    for text in ["", "\n", "{}", "{ }\r\n", PLAIN, EMPTY_ON_THE_WAY, "{\"hooks\":{\"PreToolUse\":[\n]}}"] {
        let scratch = Scratch::with(text);
        assert_eq!(scratch.install().outcome, Outcome::Installed, "{text:?}");
        assert_eq!(scratch.uninstall().outcome, Outcome::Restored, "{text:?}");
        assert_eq!(scratch.text(), text);
        assert_eq!(scratch.uninstall().outcome, Outcome::NotInstalled);
        assert_eq!(scratch.beside(), ["settings.json"]);
    }
}

#[test]
fn what_was_not_there_is_gone_again() {
    let scratch = Scratch::new();
    let change = scratch.install();
    assert_eq!((change.outcome, change.before, change.backup), (Outcome::Installed, None, None));
    assert_eq!(scratch.uninstall().outcome, Outcome::FileRemoved);
    assert!(!scratch.file().parent().unwrap().exists());

    // A directory of somebody else's stays, and so does one with something in it.
    fs::create_dir(scratch.file().parent().unwrap()).unwrap();
    scratch.install();
    scratch.uninstall();
    assert!(scratch.file().parent().unwrap().exists());
    fs::remove_dir(scratch.file().parent().unwrap()).unwrap();
    scratch.install();
    fs::write(scratch.dir.path().join(".claude/agents.md"), "").unwrap();
    scratch.uninstall();
    assert_eq!(scratch.beside(), ["agents.md"]);
}

#[test]
fn twice_is_once() {
    let scratch = Scratch::with(PLAIN);
    scratch.install();
    let before = fs::metadata(scratch.file()).unwrap();
    let again = scratch.install();
    let after = fs::metadata(scratch.file()).unwrap();
    assert_eq!((again.outcome, again.is_change()), (Outcome::AlreadyInstalled, false));
    assert_eq!(
        (before.ino(), before.mtime(), before.mtime_nsec()),
        (after.ino(), after.mtime(), after.mtime_nsec()),
        "the file was written again"
    );
    scratch.uninstall();
    assert_eq!(scratch.text(), PLAIN);
}

#[test]
fn an_update_remembers_the_first_original() {
    let scratch = Scratch::with(EMPTY_ON_THE_WAY);
    for hook in 0..40 {
        scratch.install_hook(&format!("/v{hook}/answerback-hook"));
    }
    assert_eq!(scratch.install().outcome, Outcome::Updated);
    assert_eq!(scratch.uninstall().outcome, Outcome::Restored);
    assert_eq!(scratch.text(), EMPTY_ON_THE_WAY);
}

#[test]
fn somebody_elses_edit_survives_uninstall() {
    let scratch = Scratch::with(EMPTY_ON_THE_WAY);
    scratch.install();
    scratch.edit();
    let before = scratch.text();
    let change = scratch.uninstall();
    assert_eq!(change.outcome, Outcome::EntriesRemoved);
    assert_eq!(scratch.text(), "{\"theirs\": true, }".replace(", ", ""));
    assert_eq!(fs::read_to_string(change.backup.unwrap()).unwrap(), before);

    // Also when we wrote last.
    let scratch = Scratch::with(PLAIN);
    scratch.install();
    scratch.edit();
    assert_eq!(scratch.install_hook("/elsewhere/answerback-hook").outcome, Outcome::Updated);
    assert_eq!(scratch.uninstall().outcome, Outcome::EntriesRemoved);
    assert_eq!(scratch.text(), "{\"theirs\": true, \n  \"model\": \"opus\"\n}\n");
}

#[test]
fn an_entry_that_was_there_before_us_goes_too() {
    let by_hand = "{\"a\":1,\"hooks\":{\"PreToolUse\":[{\"hooks\":[{\"command\":\"answerback-hook\"}]}]}}";
    let scratch = Scratch::with(by_hand);
    assert_eq!(scratch.install().outcome, Outcome::Updated);
    assert_eq!(scratch.uninstall().outcome, Outcome::EntriesRemoved);
    assert_eq!(scratch.text(), "{\"a\":1}");
}

#[test]
fn a_lost_or_damaged_record_is_no_way_back() {
    for damage in ["record.json", ""] {
        let scratch = Scratch::with(PLAIN);
        let copy = scratch.install().backup.unwrap();
        let damaged = if damage.is_empty() { copy.clone() } else { copy.with_file_name(damage) };
        fs::write(damaged, "damaged").unwrap();
        assert_eq!(scratch.uninstall().outcome, Outcome::EntriesRemoved);
        assert_eq!(scratch.text(), PLAIN);
    }
}

#[test]
fn a_run_that_died_before_it_wrote_is_forgotten() {
    let scratch = Scratch::with(PLAIN);
    let note = |old: Option<&str>, has_ours, new: &str| {
        let backup = Backup::of(scratch.settings().path(), &scratch.paths).lock().unwrap();
        backup.note(old.map(|old| Old { bytes: old.as_bytes(), has_ours }), new.as_bytes(), 0).unwrap();
    };
    note(Some(PLAIN), false, "never written");
    assert_eq!(scratch.uninstall().outcome, Outcome::NotInstalled);
    assert_eq!(scratch.text(), PLAIN);

    // In the middle of an update, the file is still what was written before.
    scratch.write("");
    scratch.install();
    let installed = scratch.text();
    note(Some(&installed), true, "never written");
    assert_eq!(scratch.uninstall().outcome, Outcome::Restored);
    assert_eq!(scratch.text(), "");

    // Between making the directory and writing the file.
    let scratch = Scratch::new();
    let target = scratch.settings();
    let backup = Backup::of(target.path(), &scratch.paths).lock().unwrap();
    backup.note(None, b"never written", target.target.missing_dirs()).unwrap();
    drop(backup);
    target.target.create_dirs().unwrap();
    scratch.install();
    scratch.uninstall();
    assert!(!scratch.file().parent().unwrap().exists());
}

#[test]
fn links_stay_and_lead_to_the_new_file() {
    let scratch = Scratch::new();
    let at = |name: &str| scratch.dir.path().join(name);
    for dir in [".claude", "dotfiles", "dotfiles/deep", "real"] {
        fs::create_dir(at(dir)).unwrap();
    }
    symlink("../dotfiles/deep/settings.json", scratch.file()).unwrap();
    symlink("../../linked/real.json", at("dotfiles/deep/settings.json")).unwrap();
    symlink(at("real"), at("linked")).unwrap();
    for there in [true, false] {
        if there {
            fs::write(at("real/real.json"), PLAIN).unwrap();
        }
        assert_eq!(scratch.settings().path(), at("real/real.json").canonicalize().unwrap_or(at("real/real.json")));
        scratch.install();
        assert!(scratch.text().contains("/opt/answerback-hook"));
        assert!(scratch.file().is_symlink() && at("dotfiles/deep/settings.json").is_symlink());
        assert!(!at("real/real.json").is_symlink());
        assert_eq!(scratch.beside(), ["settings.json"]);
        scratch.uninstall();
        assert!(scratch.file().is_symlink());
        assert_eq!(fs::read_to_string(at("real/real.json")).ok().as_deref(), there.then_some(PLAIN));
        drop(fs::remove_file(at("real/real.json")));
    }
    fs::remove_file(scratch.file()).unwrap();
    symlink("settings.json", scratch.file()).unwrap();
    let error = Settings::at(&scratch.file(), &scratch.paths).unwrap_err();
    assert!(error.to_string().contains("settings.json") && error.hint().is_some(), "{error}");
}

#[test]
fn the_mode_stays() {
    for mode in [0o600, 0o644, 0o660, 0o444, 0o755] {
        let scratch = Scratch::with(PLAIN);
        fs::set_permissions(scratch.file(), fs::Permissions::from_mode(mode)).unwrap();
        scratch.install();
        assert_eq!(fs::metadata(scratch.file()).unwrap().mode() & 0o7777, mode);
        scratch.uninstall();
        assert_eq!(fs::metadata(scratch.file()).unwrap().mode() & 0o7777, mode);
    }
}

#[test]
fn the_owner_stays_if_root_installs() {
    let scratch = Scratch::with(PLAIN);
    // Nobody else can give a file away.
    if chown(scratch.file(), Some(1234), Some(4321)).is_ok() {
        scratch.install();
        let metadata = fs::metadata(scratch.file()).unwrap();
        assert_eq!((metadata.uid(), metadata.gid()), (1234, 4321));
    }
}

#[test]
fn the_backup_is_what_was_there_and_its_owners_alone() {
    let scratch = Scratch::with(PLAIN);
    let copy = scratch.install().backup.unwrap();
    assert_eq!(fs::read_to_string(&copy).unwrap(), PLAIN);
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    for file in fs::read_dir(copy.parent().unwrap()).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
    for dir in copy.ancestors().skip(1).take_while(|dir| *dir != scratch.dir.path()) {
        assert_eq!(mode(dir), 0o700, "{}", dir.display());
    }
}

#[test]
fn a_refused_file_is_not_touched_and_nothing_is_left_beside_it() {
    let text = "{\n  // mine\n}\n";
    let scratch = Scratch::with(text);
    let wanted = wanted("/opt/answerback-hook", Choice::default());
    for error in [scratch.settings().install(&wanted).unwrap_err(), scratch.settings().uninstall().unwrap_err()] {
        assert_eq!(error.hint().unwrap(), "Remove the comment. Nothing was changed.");
        let error = error.to_string();
        assert!(error.contains("settings.json") && error.contains("line 2, column 3: a comment"), "{error}");
    }
    assert_eq!((scratch.text().as_str(), scratch.beside()), (text, vec!["settings.json".to_owned()]));
}

#[test]
fn what_is_no_file_is_refused() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.file()).unwrap();
    let error = scratch.settings().preview_uninstall().unwrap_err().to_string();
    assert!(error.contains("it is a directory, not a regular file"), "{error}");
}

#[test]
fn a_preview_changes_nothing() {
    let scratch = Scratch::with(PLAIN);
    let wanted = wanted("/opt/answerback-hook", Choice::default());
    let preview = scratch.settings().preview_install(&wanted).unwrap();
    assert_eq!((scratch.text().as_str(), scratch.paths.state_dir().exists()), (PLAIN, false));
    scratch.uninstall();
    assert!(!scratch.paths.state_dir().exists(), "nothing to undo, nothing to leave behind");
    scratch.install();
    assert_eq!(preview.after.unwrap(), scratch.text().into_bytes());
    let preview = scratch.settings().preview_uninstall().unwrap();
    assert_eq!((preview.outcome, preview.after.unwrap()), (Outcome::Restored, PLAIN.as_bytes().to_vec()));
    assert_eq!(scratch.install().outcome, Outcome::AlreadyInstalled);
}

#[test]
fn a_choice_stays_until_somebody_changes_it() {
    let scratch = Scratch::with(EMPTY_ON_THE_WAY);
    let install = |permissions, forms| {
        let change =
            scratch.settings().install(&wanted("/opt/answerback-hook", Choice { permissions, forms })).unwrap();
        (change.outcome, Coverage::of(&Look::at(&change.after.unwrap()).unwrap()))
    };
    let with_permissions = Coverage { permissions: true, ..Coverage::DEFAULT };
    let with_forms = Coverage { forms: true, ..Coverage::DEFAULT };
    for (permissions, forms, outcome, coverage) in [
        (None, None, Outcome::Installed, Coverage::DEFAULT),
        (Some(true), None, Outcome::Updated, with_permissions),
        (None, None, Outcome::AlreadyInstalled, with_permissions),
        (None, Some(true), Outcome::Updated, Coverage::ALL),
        (None, None, Outcome::AlreadyInstalled, Coverage::ALL),
        (Some(false), None, Outcome::Updated, with_forms),
        (None, Some(false), Outcome::Updated, Coverage::DEFAULT),
        (Some(true), Some(true), Outcome::Updated, Coverage::ALL),
    ] {
        assert_eq!(install(permissions, forms), (outcome, coverage), "{permissions:?}, {forms:?}");
    }
    assert_eq!(scratch.uninstall().outcome, Outcome::Restored);
    assert_eq!(scratch.text(), EMPTY_ON_THE_WAY);
    assert_eq!(install(None, None).1, Coverage::DEFAULT, "what was uninstalled is no choice any more");
}

#[test]
fn a_version_without_forms_refuses_them_and_keeps_the_file() {
    let scratch = Scratch::with(PLAIN);
    let forms = Choice { forms: Some(true), ..Choice::default() };
    let old = Wanted { version: &|| Some(Version(2, 1, 75)), ..wanted("/opt/answerback-hook", forms) };
    let error = scratch.settings().install(&old).unwrap_err();
    assert!(error.to_string().contains("2.1.75 has no hooks for forms"), "{error}");
    assert_eq!(error.hint().unwrap(), "Update Claude Code, or use --no-forms. Nothing was changed.");
    assert_eq!(scratch.text(), PLAIN);
}
