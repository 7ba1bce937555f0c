//! Which waits come to Answerback in this project, and how to add the others.

use crate::claude_code::settings::coverage::{Coverage, HAS_FORMS};
use crate::claude_code::settings::look::Look;
use crate::claude_code::settings::session::{self, SettingsFile};
use crate::claude_code::{Mode, Version};

use super::Finding;

const CHECK: &str = "waits";

/// Says nothing if nothing comes to Answerback: the check of the settings says why.
pub(super) fn examine(files: &[SettingsFile], version: Option<Version>) -> Vec<Finding> {
    let coverage = session::coverage(files);
    if coverage == Coverage::NONE {
        return Vec::new();
    }
    let mut findings = vec![Finding::ok(CHECK, format!("{} come to Answerback", coverage.covered()))];
    if coverage != Coverage::ALL {
        let message = format!("{} stay in the terminal", coverage.uncovered());
        findings.push(Finding::note(CHECK, message, how_to_add(files, coverage, version)));
    }
    let hidden = coverage.hidden_from_terminal();
    if !hidden.is_empty() && !looks(files).any(|(_, look)| is_held(&look)) {
        let message = format!(
            "{hidden} stay in the terminal while somebody is there: it shows no dialog for what waits elsewhere"
        );
        findings.push(Finding::note(CHECK, message, how_to_hold(files)));
    }
    findings
}

/// The settings that Claude Code can read.
fn looks(files: &[SettingsFile]) -> impl Iterator<Item = (&SettingsFile, Look)> {
    files.iter().filter_map(|file| Some((file, Look::at(file.content.as_ref().ok()?).ok()?)))
}

/// Whether the hook in these settings holds everything, also if somebody is at the terminal.
fn is_held(look: &Look) -> bool {
    look.handlers().iter().any(|handler| handler.is_own && handler.mode == Mode::Hold)
}

/// The file that brings the hook. `None` if a plugin does.
fn bringing(files: &[SettingsFile]) -> Option<&SettingsFile> {
    looks(files).find(|(_, look)| Coverage::of(look) != Coverage::NONE).map(|(file, _)| file)
}

fn how_to_hold(files: &[SettingsFile]) -> String {
    match bringing(files).map(|file| &file.scope) {
        Some(Some(scope)) => format!(
            "To have them in Answerback, run `answerback install {} --mode hold`. Questions wait there alone, too, then.",
            scope.options()
        ),
        _ => "Only the mode `hold` changes that, and questions wait in Answerback alone, too, then.".to_owned(),
    }
}

fn how_to_add(files: &[SettingsFile], coverage: Coverage, version: Option<Version>) -> String {
    // The command refuses to add forms to a version that has none.
    let has_forms = version.is_none_or(|version| version >= HAS_FORMS);
    let options = Coverage { forms: coverage.forms || !has_forms, ..coverage }.options_for_the_rest();
    match bringing(files).map(|file| &file.scope) {
        Some(Some(scope)) => format!("To add them, run `answerback install {}{options}`.", scope.options()),
        Some(None) => "The administrator of this machine can add them.".to_owned(),
        None => "To add them, use another plugin: docs/guide.md names them.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;
    use crate::claude_code::settings::edit;
    use crate::claude_code::settings::entry::Invocation;
    use crate::claude_code::settings::scope::Scope;
    use crate::claude_code::settings::wanted::entries;

    fn file(scope: Option<Scope>, content: String) -> SettingsFile {
        SettingsFile { path: "settings.json".into(), scope, content: Ok(content.into_bytes()) }
    }

    fn installed(coverage: Coverage, mode: Mode) -> String {
        edit::install("", &entries(&Invocation::Exec("/opt/answerback-hook".into()), mode, coverage)).unwrap()
    }

    fn said(files: &[SettingsFile], version: Option<Version>) -> Vec<(Level, String, String)> {
        let findings = examine(files, version).into_iter();
        findings.map(|finding| (finding.level, finding.message, finding.fix.unwrap_or_default())).collect()
    }

    #[test]
    fn what_comes_is_said_and_how_the_rest_is_added() {
        let project = || Some(Scope::Project("/shop".into()));
        let note = |message: &str, fix: &str| (Level::Note, message.to_owned(), fix.to_owned());
        let default = [file(project(), installed(Coverage::DEFAULT, Mode::Auto))];
        assert_eq!(said(&default, None)[0].1, "questions and plans come to Answerback");
        assert_eq!(
            said(&default, None)[1],
            note(
                "permissions and forms stay in the terminal",
                "To add them, run `answerback install --project /shop --all`."
            )
        );
        let fix = said(&default, Some(Version(2, 1, 75))).remove(1).2;
        assert_eq!(fix, "To add them, run `answerback install --project /shop --permissions`.");
        let all = [file(project(), installed(Coverage::ALL, Mode::Hold))];
        assert_eq!(said(&all, None).len(), 1);
        assert_eq!(said(&all, None)[0].1, "questions, plans, permissions and forms come to Answerback");
        let managed = [file(None, installed(Coverage::DEFAULT, Mode::Auto))];
        assert!(said(&managed, None)[1].2.contains("administrator"));
        let plugin = [file(Some(Scope::User), r#"{"enabledPlugins": {"answerback@home": true}}"#.to_owned())];
        assert!(said(&plugin, None)[1].2.contains("another plugin"));
    }

    #[test]
    fn what_the_terminal_would_not_show_stays_there_unless_it_is_held() {
        let forms = Coverage { forms: true, ..Coverage::DEFAULT };
        let project = |coverage, mode| [file(Some(Scope::User), installed(coverage, mode))];
        let (level, message, fix) = said(&project(Coverage::ALL, Mode::Auto), None).remove(1);
        assert_eq!(level, Level::Note);
        assert!(message.starts_with("permissions of background subagents and forms stay in the terminal"), "{message}");
        assert!(fix.contains("`answerback install --user --mode hold`"), "{fix}");
        assert!(said(&project(forms, Mode::Race), None)[2].1.starts_with("forms stay in the terminal while"));
        assert_eq!(said(&project(forms, Mode::Hold), None).len(), 2);
        assert_eq!(said(&project(Coverage::DEFAULT, Mode::Auto), None).len(), 2);
        let plugin = [file(Some(Scope::User), r#"{"enabledPlugins": {"answerback-all@home": true}}"#.to_owned())];
        assert!(said(&plugin, None)[1].2.contains("Only the mode `hold`"));
    }

    #[test]
    fn nothing_is_said_of_a_hook_that_stands_aside() {
        let native = [file(Some(Scope::User), installed(Coverage::ALL, Mode::Native))];
        assert!(said(&native, None).is_empty());
    }
}
