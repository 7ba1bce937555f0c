//! Which of Claude Code's waits come to Answerback.
//!
//! What is installed is read from the entries themselves. There is no second place that could say otherwise.

use serde::Serialize;

use crate::claude_code::{Mode, Version};

use super::look::{Handler, Look, is_for, is_for_all};

/// The event before Claude Code uses a tool.
pub const BEFORE_TOOL: &str = "PreToolUse";
/// The event beside Claude Code's own dialog in the terminal.
pub const DIALOG: &str = "PermissionRequest";
/// The event of a form that an MCP server wants filled in.
pub const FORM: &str = "Elicitation";
const AFTER_FAILURE: &str = "PostToolUseFailure";
const AFTER_BATCH: &str = "PostToolBatch";

/// The tool that asks questions.
pub const QUESTION_TOOL: &str = "AskUserQuestion";
const PLAN_TOOL: &str = "ExitPlanMode";

/// The first version that runs hooks for forms, and the first one that knows the names of these events.
pub const HAS_FORMS: Version = Version(2, 1, 76);
const KNOWS_FORMS: Version = Version(2, 1, 63);
/// The first version that says what became of each call, also of one that was refused in the terminal with feedback.
pub const HAS_BATCHES: Version = Version(2, 1, 118);
/// The first version that ignores an event that it does not know. Older ones ignore the whole settings file, with everything else in it.
const SURVIVES_UNKNOWN_EVENTS: Version = Version(2, 1, 101);

/// The kinds of waits that come to Answerback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Coverage {
    /// Claude's questions.
    pub questions: bool,
    /// Plans that wait for approval.
    pub plans: bool,
    /// Tool calls that wait for permission.
    pub permissions: bool,
    /// Forms of MCP servers.
    pub forms: bool,
}

/// What a person says about the waits that are opted in. `None` keeps what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Choice {
    /// Whether permission requests are covered.
    pub permissions: Option<bool>,
    /// Whether forms are covered.
    pub forms: Option<bool>,
}

impl Choice {
    /// The choice, and for what it leaves open, what there is.
    pub(super) fn over(self, found: Coverage) -> Coverage {
        Coverage {
            permissions: self.permissions.unwrap_or(found.permissions),
            forms: self.forms.unwrap_or(found.forms),
            ..Coverage::DEFAULT
        }
    }
}

impl Coverage {
    /// Nothing comes to Answerback.
    pub const NONE: Self = Self { questions: false, plans: false, permissions: false, forms: false };
    /// What is always installed: these waits race the terminal's own dialog, so nobody at the terminal loses anything.
    pub const DEFAULT: Self = Self { questions: true, plans: true, permissions: false, forms: false };
    /// Everything.
    pub const ALL: Self = Self { questions: true, plans: true, permissions: true, forms: true };

    /// Everything that can be chosen.
    #[cfg(test)]
    pub(super) const EVERY: [Self; 4] =
        [Self::DEFAULT, Self { permissions: true, ..Self::DEFAULT }, Self { forms: true, ..Self::DEFAULT }, Self::ALL];

    /// What these settings bring. An entry in mode `native` brings nothing.
    pub fn of(settings: &Look) -> Self {
        let handlers = settings.own().into_iter().filter(|handler| handler.mode != Mode::Native);
        handlers.fold(Self::NONE, |coverage, Handler { event, matcher, .. }| {
            let matcher = matcher.as_deref();
            coverage.and(Self {
                questions: event == BEFORE_TOOL && is_for(matcher, QUESTION_TOOL),
                plans: event == DIALOG && is_for(matcher, PLAN_TOOL),
                permissions: event == DIALOG && is_for_all(matcher),
                forms: event == FORM,
            })
        })
    }

    /// What was chosen when these settings were installed, also if some of the entries are missing by now. An entry counts if only that
    /// choice writes it. A hook that somebody put before every tool by hand is not yet a choice to decide about them.
    pub fn chosen(settings: &Look) -> Self {
        let has = |is_sign: &dyn Fn(&Handler) -> bool| settings.own().iter().any(is_sign);
        Self {
            permissions: has(&|handler| match handler.event.as_str() {
                DIALOG => is_for_all(handler.matcher.as_deref()),
                event => [AFTER_FAILURE, AFTER_BATCH].contains(&event),
            }),
            forms: has(&|handler| handler.event == FORM),
            ..Self::DEFAULT
        }
    }

    /// What comes from one or the other.
    pub fn and(self, other: Self) -> Self {
        Self {
            questions: self.questions || other.questions,
            plans: self.plans || other.plans,
            permissions: self.permissions || other.permissions,
            forms: self.forms || other.forms,
        }
    }

    /// What comes to Answerback, in words. Empty if nothing does.
    pub fn covered(self) -> String {
        self.names_of(true)
    }

    /// What does not come to Answerback, in words. Empty if everything does.
    pub fn uncovered(self) -> String {
        self.names_of(false)
    }

    /// What of it stays in the terminal while somebody is there, unless the mode is `hold`, in words: while the hook waits for these, the
    /// terminal shows no dialog. Empty if there is nothing of that sort.
    pub fn hidden_from_terminal(self) -> String {
        let parts = [(self.permissions, "permissions of background subagents"), (self.forms, "forms")];
        list(&parts.into_iter().filter(|(is_covered, _)| *is_covered).map(|(_, name)| name).collect::<Vec<_>>())
    }

    /// How many kinds of waits come to Answerback.
    pub fn count(self) -> usize {
        self.named().iter().filter(|(_, is_covered)| *is_covered).count()
    }

    /// The options of `answerback install` that add what is missing. Questions and plans need none.
    pub fn options_for_the_rest(self) -> &'static str {
        match (self.permissions, self.forms) {
            (false, false) => " --all",
            (false, true) => " --permissions",
            (true, false) => " --forms",
            (true, true) => "",
        }
    }

    fn names_of(self, covered: bool) -> String {
        let names = self.named().into_iter().filter(|(_, is_covered)| *is_covered == covered);
        list(&names.map(|(name, _)| name).collect::<Vec<_>>())
    }

    fn named(self) -> [(&'static str, bool); 4] {
        [("questions", self.questions), ("plans", self.plans), ("permissions", self.permissions), ("forms", self.forms)]
    }
}

/// Whether an entry for this event is written for this version. `is_there` is whether the settings have one already.
///
/// What a wait cannot do without is written even if the version is unknown. `PostToolBatch` only brings news earlier than they would come
/// otherwise, which is not worth a settings file that an old version ignores. So if the version is unknown, it stays as it is.
pub fn is_written(event: &str, version: Option<Version>, is_there: bool) -> bool {
    event != AFTER_BATCH || version.map_or(is_there, |version| version >= HAS_BATCHES)
}

/// Whether this version ignores a settings file because of this event.
pub fn makes_file_unreadable(event: &str, version: Version) -> bool {
    let first = match event {
        FORM => KNOWS_FORMS,
        AFTER_BATCH => HAS_BATCHES,
        _ => return false,
    };
    version < first && version < SURVIVES_UNKNOWN_EVENTS
}

/// `A, B and C`.
pub fn list<S: AsRef<str>>(words: &[S]) -> String {
    let words: Vec<_> = words.iter().map(AsRef::as_ref).collect();
    match words.as_slice() {
        [] => String::new(),
        [word] => (*word).to_owned(),
        [words @ .., last] => format!("{} and {last}", words.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::edit;
    use super::super::entry::Invocation;
    use super::super::wanted;
    use super::*;

    fn installed(coverage: Coverage, mode: Mode) -> Value {
        let entries = wanted::entries(&Invocation::Exec("/opt/answerback-hook".into()), mode, coverage);
        serde_json::from_str(&edit::install("", &entries).unwrap()).unwrap()
    }

    fn look(settings: &Value) -> Look {
        Look::at(settings.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn what_is_installed_is_known_again() {
        for coverage in Coverage::EVERY {
            let settings = look(&installed(coverage, Mode::Auto));
            assert_eq!((Coverage::of(&settings), Coverage::chosen(&settings)), (coverage, coverage));
            let native = look(&installed(coverage, Mode::Native));
            assert_eq!((Coverage::of(&native), Coverage::chosen(&native)), (Coverage::NONE, coverage));
        }
    }

    #[test]
    fn a_choice_outlives_the_loss_of_an_entry() {
        let settings = installed(Coverage::ALL, Mode::Auto);
        for event in settings["hooks"].as_object().unwrap().keys() {
            let mut damaged = settings.clone();
            damaged["hooks"].as_object_mut().unwrap().shift_remove(event);
            // Forms have this one entry.
            let expected = Coverage { forms: event != FORM, ..Coverage::ALL };
            assert_eq!(Coverage::chosen(&look(&damaged)), expected, "without {event}");
        }
        let mut damaged = settings;
        damaged["hooks"].as_object_mut().unwrap().shift_remove(DIALOG);
        let without_dialog = Coverage { questions: true, forms: true, ..Coverage::NONE };
        assert_eq!(Coverage::of(&look(&damaged)), without_dialog, "no choice brings what has no entry");
    }

    #[test]
    fn nothing_is_chosen_that_nobody_chose() {
        let own = |event: &str, matcher: &str| {
            look(&json!({"hooks": {event: [{"matcher": matcher, "hooks": [{"command": "answerback-hook"}]}]}}))
        };
        let before = |matcher| Coverage::chosen(&own(BEFORE_TOOL, matcher));
        assert_eq!((before("*"), before("Bash")), (Coverage::DEFAULT, Coverage::DEFAULT));
        let dialog = |matcher| own(DIALOG, matcher);
        for matcher in ["Bash", "AskUserQuestion|Bash", "mcp__.*"] {
            assert_eq!(Coverage::chosen(&dialog(matcher)), Coverage::DEFAULT, "{matcher}");
            assert!(!Coverage::of(&dialog(matcher)).permissions, "{matcher}");
        }
        assert!(Coverage::of(&dialog(".*")).permissions && Coverage::of(&dialog("")).permissions);
        let others = look(&json!({"hooks": {FORM: [{"hooks": [{"command": "other"}]}]}}));
        assert_eq!((Coverage::of(&others), Coverage::chosen(&others)), (Coverage::NONE, Coverage::DEFAULT));
    }

    /// The version before this one brought questions alone.
    #[test]
    fn an_older_installation_has_no_plans() {
        let mut settings = installed(Coverage::DEFAULT, Mode::Auto);
        for event in [BEFORE_TOOL, DIALOG, "PostToolUse"] {
            settings["hooks"][event][0]["matcher"] = json!("AskUserQuestion|AskFollowupQuestion");
        }
        let older = look(&settings);
        assert_eq!(Coverage::of(&older), Coverage { questions: true, ..Coverage::NONE });
        assert_eq!(Choice::default().over(Coverage::chosen(&older)), Coverage::DEFAULT);
    }

    #[test]
    fn what_is_not_said_stays() {
        for found in Coverage::EVERY {
            assert_eq!(Choice::default().over(found), found);
            let all = Choice { permissions: Some(true), forms: Some(true) };
            let none = Choice { permissions: Some(false), forms: Some(false) };
            assert_eq!((all.over(found), none.over(found)), (Coverage::ALL, Coverage::DEFAULT));
        }
    }

    #[test]
    fn names_and_options() {
        assert_eq!(Coverage::DEFAULT.covered(), "questions and plans");
        assert_eq!(Coverage::DEFAULT.uncovered(), "permissions and forms");
        assert_eq!((Coverage::NONE.covered(), Coverage::ALL.uncovered()), (String::new(), String::new()));
        assert_eq!(Coverage::ALL.covered(), "questions, plans, permissions and forms");
        assert_eq!(Coverage::EVERY.map(Coverage::count), [2, 3, 3, 4]);
        assert_eq!(
            Coverage::EVERY.map(Coverage::hidden_from_terminal),
            ["", "permissions of background subagents", "forms", "permissions of background subagents and forms"]
        );
        assert_eq!(Coverage::EVERY.map(Coverage::options_for_the_rest), [" --all", " --forms", " --permissions", ""]);
    }

    #[test]
    fn an_event_that_a_version_does_not_know_is_not_written_for_it() {
        for (version, is_there, batches) in [
            (None, false, false),
            (None, true, true),
            (Some(Version(2, 1, 90)), true, false),
            (Some(Version(2, 1, 117)), true, false),
            (Some(Version(2, 1, 118)), false, true),
        ] {
            assert_eq!(is_written(AFTER_BATCH, version, is_there), batches, "{version:?}");
            let others = [BEFORE_TOOL, AFTER_FAILURE, FORM, "Stop"];
            assert!(others.iter().all(|event| is_written(event, version, is_there)));
        }
        for (event, version, unreadable) in [
            (AFTER_BATCH, Version(2, 1, 100), true),
            (AFTER_BATCH, Version(2, 1, 101), false),
            (FORM, Version(2, 1, 62), true),
            (FORM, Version(2, 1, 63), false),
            (AFTER_FAILURE, Version(2, 0, 76), false),
        ] {
            assert_eq!(makes_file_unreadable(event, version), unreadable, "{event}, {version:?}");
        }
    }
}
