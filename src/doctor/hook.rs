//! Our entries in one settings file, compared with what `answerback install` would write.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::claude_code::settings::coverage::{
    self, BEFORE_TOOL, Coverage, DIALOG, FORM, HAS_FORMS, QUESTION_TOOL, list,
};
use crate::claude_code::settings::edit::{self, Placed};
use crate::claude_code::settings::entry::{self, Entry, Invocation};
use crate::claude_code::settings::json::{self, Refusal};
use crate::claude_code::settings::look::{self, Look};
use crate::claude_code::settings::scope::Scope;
use crate::claude_code::settings::wanted;
use crate::claude_code::{Mode, Version};

use super::settings::CHECK;
use super::{Finding, Level};

/// The check that questions in the terminal can be answered elsewhere. A headless run does not need it.
pub const TERMINAL: &str = "terminal";
/// Claude Code's own limit, in seconds, for an entry without one. A person may need longer.
const SHORT_TIMEOUT: f64 = 600.0;

/// How to put a settings file right.
#[derive(Debug)]
pub(super) struct Repair {
    /// A step that must come before `answerback install`.
    pub(super) first: Option<String>,
}

impl Repair {
    /// How to install the hook into this file. Without a scope, the file is an administrator's. `options` are more options, each after a
    /// space.
    pub(super) fn install(&self, scope: Option<&Scope>, mode: Mode, options: &str) -> String {
        let Some(scope) = scope else { return "Ask the administrator of this machine to correct it.".into() };
        let mode = if mode == Mode::Auto { String::new() } else { format!(" --mode {}", mode.name()) };
        self.then(&format!("`answerback install {}{mode}{options}`", scope.options()))
    }

    /// A sentence that tells to run these commands.
    pub(super) fn then(&self, commands: &str) -> String {
        match &self.first {
            Some(first) => format!("{first} Then run {commands}."),
            None => format!("Run {commands}."),
        }
    }
}

/// The command that takes the hook out of a file.
pub(super) fn uninstall(scope: &Scope) -> String {
    format!("`answerback uninstall {}`", scope.options())
}

/// Our entries in a settings file that has some.
#[derive(Debug)]
pub(super) struct Installed {
    pub(super) path: PathBuf,
    /// `None`: it is an administrator's.
    pub(super) scope: Option<Scope>,
    pub(super) mode: Mode,
    /// What was chosen when it was installed.
    coverage: Coverage,
    /// Whether the entries are written for everybody who uses the file.
    is_shared: bool,
    /// The version of Claude Code, if it is known and the entries depend on it.
    version: Option<Version>,
    missing: Vec<String>,
    /// The events because of which this version of Claude Code ignores the whole file.
    unreadable: Vec<String>,
    doubled: Vec<String>,
    needless: Vec<String>,
    /// The events that Claude Code ends early, and after how many seconds.
    short: Vec<(String, f64)>,
    /// Other fields that differ from what would be installed now.
    outdated: Vec<Outdated>,
    /// Which program runs on which events.
    programs: BTreeMap<String, Vec<String>>,
}

#[derive(Debug)]
struct Outdated {
    event: String,
    field: String,
    matters: bool,
}

impl Installed {
    /// `None` if the file has no entry of ours. `version` is called only if it matters.
    pub(super) fn in_file(
        path: &Path,
        scope: Option<&Scope>,
        content: &[u8],
        version: &dyn Fn() -> Option<Version>,
    ) -> Result<Option<Self>, Refusal> {
        let coverage = Coverage::chosen(&Look::at(content)?);
        // `command` and `args` can be written in more than one way, so they are compared by what they mean.
        let wanted = wanted::entries(&Invocation::Exec(entry::PROGRAM.into()), Mode::Auto, coverage);
        let comparison = edit::compare(json::decode(content)?, &wanted)?;
        let mut placed = comparison.handlers.iter().flatten().chain(&comparison.surplus);
        let Some(first) = placed.next() else { return Ok(None) };
        let asks =
            |placed: &&Placed| placed.event == BEFORE_TOOL && look::is_for(placed.matcher.as_deref(), QUESTION_TOOL);
        let leading = comparison.handlers.iter().flatten().find(asks).unwrap_or(first);
        let mut found = Self {
            path: path.to_path_buf(),
            scope: scope.cloned(),
            mode: entry::mode_of(&leading.handler),
            coverage,
            is_shared: entry::is_shared(&leading.handler),
            version: if coverage == Coverage::DEFAULT { None } else { version() },
            missing: Vec::new(),
            unreadable: Vec::new(),
            doubled: Vec::new(),
            needless: Vec::new(),
            short: Vec::new(),
            outdated: Vec::new(),
            programs: BTreeMap::new(),
        };
        for (entry, placed) in wanted.iter().zip(&comparison.handlers) {
            match placed {
                Some(placed) if entry.matcher.is_none() || look::is_for(placed.matcher.as_deref(), QUESTION_TOOL) => {
                    found.compare(entry, placed, version);
                }
                // Others use a shared file with versions that are not known here.
                _ if coverage::is_written(&entry.event, found.version.filter(|_| !found.is_shared), false) => {
                    found.missing.push(entry.event.clone())
                }
                // It would not be installed now either.
                _ => {}
            }
        }
        for placed in comparison.surplus {
            let is_known = wanted.iter().any(|entry| entry.event == placed.event);
            let list = if is_known { &mut found.doubled } else { &mut found.needless };
            if !list.contains(&placed.event) {
                list.push(placed.event);
            }
        }
        Ok(Some(found))
    }

    fn compare(&mut self, entry: &Entry, placed: &Placed, version: &dyn Fn() -> Option<Version>) {
        let event = &placed.event;
        let mut program = entry::program_of(&placed.handler).unwrap_or_default();
        if let (true, Some(found)) = (entry::is_shared(&placed.handler), entry::shared_program()) {
            program = found.to_string_lossy().into_owned();
        }
        self.programs.entry(program).or_default().push(event.clone());
        let mut outdated = |field: &str, matters| {
            self.outdated.push(Outdated { event: event.clone(), field: field.to_owned(), matters });
        };
        if self.version.is_some_and(|version| coverage::makes_file_unreadable(event, version)) {
            self.unreadable.push(event.clone());
        }
        if placed.matcher != entry.matcher {
            outdated("matcher", true);
        }
        if entry::mode_of(&placed.handler) != self.mode {
            outdated("mode", true);
        }
        let lacks_exec_form = || version().is_some_and(|version| !entry::has_exec_form(version));
        if entry::needs_exec_form(&placed.handler) && lacks_exec_form() {
            outdated("args", true);
        }
        for (field, wanted) in entry.handler.iter().filter(|(field, _)| !["command", "args"].contains(&field.as_str()))
        {
            let found = placed.handler.get(field);
            if found == Some(wanted) {
                continue;
            }
            if field != "timeout" {
                outdated(field, field != "statusMessage");
                continue;
            }
            let (found, wanted) = (found.and_then(Value::as_f64).unwrap_or(SHORT_TIMEOUT), wanted.as_f64());
            if wanted.is_some_and(|wanted| wanted > SHORT_TIMEOUT) && found <= SHORT_TIMEOUT {
                self.short.push((event.clone(), found));
            } else {
                // A longer timeout does no harm, and a shorter one may be wanted, as long as a person has time to answer.
                outdated("timeout", found < SHORT_TIMEOUT && wanted.is_some_and(|wanted| found < wanted));
            }
        }
    }

    /// Which of several files to keep: an administrator's first, then a complete one, then one that brings questions, then the one that
    /// brings most.
    pub(super) fn worth(&self) -> (bool, bool, bool, usize) {
        let brings_questions = !self.missing.iter().any(|event| event == BEFORE_TOOL);
        (self.scope.is_none(), self.missing.is_empty(), brings_questions, self.coverage.count())
    }

    /// What is wrong with the entries.
    pub(super) fn findings(&self, hook: &Path, repair: &Repair) -> Vec<Finding> {
        let name = self.path.display();
        // `answerback install` refuses to keep forms in a version that has none.
        let lost = self.coverage.forms && self.version.is_some_and(|version| version < HAS_FORMS);
        let fix = repair.install(self.scope.as_ref(), self.mode, if lost { " --no-forms" } else { "" });
        let mut findings = self.check_programs(hook, &fix);
        if let (Some(version), false) = (self.version, self.unreadable.is_empty()) {
            let message = format!(
                "Claude Code {version} ignores {name} and everything in it, because it does not know {}",
                list(&self.unreadable)
            );
            findings.push(Finding::error(CHECK, message, &fix));
        }
        if !self.missing.is_empty() {
            let (check, level, so) = self.without(&self.missing);
            let are = if self.missing.len() == 1 { "is" } else { "are" };
            let message = format!("the hook in {name} is incomplete: {} {are} missing, so {so}", list(&self.missing));
            findings.push(Finding { check, level, message, fix: Some(fix.clone()) });
        }
        for (event, seconds) in &self.short {
            let message = format!("Claude Code ends the hook in {name} after {seconds} s ({event})");
            findings.push(Finding::warning(CHECK, message, &fix));
        }
        if !self.outdated.is_empty() {
            let mut fields: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            for Outdated { event, field, .. } in &self.outdated {
                fields.entry(event).or_default().push(field);
            }
            let events: Vec<_> =
                fields.iter().map(|(event, fields)| format!("{event} ({})", fields.join(", "))).collect();
            let message = format!("the hook in {name} is not as it would be installed now: {}", list(&events));
            let matters = self.outdated.iter().any(|outdated| outdated.matters);
            let level = if matters { Level::Warning } else { Level::Note };
            findings.push(Finding { check: CHECK, level, message, fix: Some(fix.clone()) });
        }
        if !self.doubled.is_empty() {
            let message = format!("{name} has the hook twice for {}", list(&self.doubled));
            findings.push(Finding::warning(CHECK, message, &fix));
        }
        if !self.needless.is_empty() {
            let message = format!("{name} has the hook for {}, where it does nothing", list(&self.needless));
            findings.push(Finding::note(CHECK, message, &fix));
        }
        findings
    }

    fn check_programs(&self, hook: &Path, fix: &str) -> Vec<Finding> {
        let name = self.path.display();
        // No other entry would help: the shell that starts Claude Code decides.
        let dir = hook.parent().unwrap_or(hook).display();
        let path_fix =
            format!("Put {dir} into the PATH, before other directories with the hook, and restart Claude Code.");
        let fix = if self.is_shared { &path_fix } else { fix };
        let mut findings = Vec::new();
        for (program, events) in &self.programs {
            let which = if self.programs.len() > 1 { format!(" ({})", list(events)) } else { String::new() };
            let path = Path::new(program);
            if !path.is_absolute() || !path.exists() {
                let (check, level, so) = self.without(events);
                let message = format!("the hook in {name} is {program}{which}, and that is not there, so {so}");
                findings.push(Finding { check, level, message, fix: Some(fix.to_owned()) });
            } else if path.canonicalize().ok() != hook.canonicalize().ok() {
                findings.push(Finding::warning(
                    CHECK,
                    format!("the hook in {name} is {program}{which}, and not the one of this program"),
                    format!("Nothing needs to be done if you have two on purpose. Otherwise: {fix}"),
                ));
            }
        }
        findings
    }

    /// What is lost if the hook does not run on these events.
    fn without(&self, events: &[String]) -> (&'static str, Level, &'static str) {
        let is_among = |name: &str| events.iter().any(|event| event == name);
        if is_among(BEFORE_TOOL) {
            (CHECK, Level::Error, "questions do not come to Answerback")
        } else if is_among(DIALOG) {
            // A question that is held needs no dialog, and neither does one of a headless run. A plan or a permission always does.
            let level = if self.mode == Mode::Hold { Level::Warning } else { Level::Error };
            (TERMINAL, level, "what Claude Code asks in the terminal cannot be answered elsewhere")
        } else if is_among(FORM) {
            (CHECK, Level::Warning, "forms do not come to Answerback")
        } else {
            (CHECK, Level::Warning, "Answerback may not learn what became of a question")
        }
    }
}
