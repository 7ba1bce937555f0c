//! Which waits come to Answerback in this project, and how to add the others.

use crate::claude_code::Version;
use crate::claude_code::settings::coverage::{Coverage, HAS_FORMS};
use crate::claude_code::settings::look::Look;
use crate::claude_code::settings::session::{self, SettingsFile};

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
    findings
}

fn how_to_add(files: &[SettingsFile], coverage: Coverage, version: Option<Version>) -> String {
    // The command refuses to add forms to a version that has none.
    let has_forms = version.is_none_or(|version| version >= HAS_FORMS);
    let options = Coverage { forms: coverage.forms || !has_forms, ..coverage }.options_for_the_rest();
    let has_entries = |file: &&SettingsFile| {
        let look = file.content.as_ref().ok().and_then(|content| Look::at(content).ok());
        look.is_some_and(|look| Coverage::of(&look) != Coverage::NONE)
    };
    match files.iter().find(has_entries).map(|file| &file.scope) {
        Some(Some(scope)) => format!("To add them, run `answerback install {}{options}`.", scope.options()),
        Some(None) => "The administrator of this machine can add them.".to_owned(),
        None => "To add them, use another plugin: docs/guide.md names them.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;
    use crate::claude_code::Mode;
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
        let all = [file(project(), installed(Coverage::ALL, Mode::Auto))];
        assert_eq!(said(&all, None).len(), 1);
        assert_eq!(said(&all, None)[0].1, "questions, plans, permissions and forms come to Answerback");
        let managed = [file(None, installed(Coverage::DEFAULT, Mode::Auto))];
        assert!(said(&managed, None)[1].2.contains("administrator"));
        let plugin = [file(Some(Scope::User), r#"{"enabledPlugins": {"answerback@home": true}}"#.to_owned())];
        assert!(said(&plugin, None)[1].2.contains("another plugin"));
    }

    #[test]
    fn nothing_is_said_of_a_hook_that_stands_aside() {
        let native = [file(Some(Scope::User), installed(Coverage::ALL, Mode::Native))];
        assert!(said(&native, None).is_empty());
    }
}
