//! What an ask is about, whole and with nothing hidden: the command, the changes, the plan, the form. `answerback show` and the picker
//! print these lines.
//!
//! Everything foreign stands further in than our own headings, so that no text can look like another part.

use anstyle::Style;
use serde_json::{Map, Value};

use crate::api::AskView;
use crate::ask::form::{Field, FieldType};
use crate::ask::{Kind, Subject, form};
use crate::text::{StyledLine, reveal, style};

use super::tree;

const STEP: &str = "  ";
/// The fields of a tool's input that the diff of a file shows.
const IN_DIFF: [&str; 5] = ["file_path", "old_string", "new_string", "content", "edits"];

/// All of it. Empty for a question, which has no subject.
pub(super) fn lines(ask: &AskView) -> Vec<StyledLine> {
    let Some(subject) = &ask.subject else { return Vec::new() };
    let mut page = Page::default();
    match ask.kind {
        Kind::Permission => page.permission(subject),
        Kind::Plan => page.plan(subject),
        Kind::Form => page.form(subject),
        // A kind that only a newer daemon knows.
        Kind::Question => page.tree("Subject", subject.fields(), &[]),
    }
    page.lines
}

/// What may be answered in a field of a form: a few words, and the description of its author.
pub(super) fn rules(field: &Field) -> Vec<String> {
    let what = match (field.kind, field.format.as_deref()) {
        (FieldType::String, Some(format)) => format!("text ({})", tree::single(format)),
        (FieldType::String, None) => "text".to_owned(),
        (FieldType::Number, _) => "a number".to_owned(),
        (FieldType::Integer, _) => "a whole number".to_owned(),
        (FieldType::Boolean, _) => "yes or no".to_owned(),
        (FieldType::Choice, _) => "one of the options".to_owned(),
        (FieldType::Choices, _) => "any of the options".to_owned(),
    };
    let mut parts = vec![what];
    parts.extend(field.minimum.map(|least| format!("at least {least}")));
    parts.extend(field.maximum.map(|most| format!("at most {most}")));
    parts.extend(field.min_length.map(|least| format!("at least {least} characters")));
    parts.extend(field.max_length.map(|most| format!("at most {most} characters")));
    parts.extend(field.min_items.map(|least| format!("choose at least {least}")));
    parts.extend(field.max_items.map(|most| format!("choose at most {most}")));
    parts.push(if field.required { "required".to_owned() } else { "may be left out".to_owned() });
    parts.extend(field.default.as_ref().map(|default| format!("suggested: {}", tree::scalar_text(default))));
    let description = field.description.iter().flat_map(|text| revealed(text));
    std::iter::once(parts.join(", ")).chain(description).collect()
}

/// The lines of a text, with nothing hidden in them.
pub(super) fn revealed(text: &str) -> Vec<String> {
    reveal(text).split('\n').map(ToOwned::to_owned).collect()
}

#[derive(Default)]
struct Page {
    lines: Vec<StyledLine>,
}

impl Page {
    fn line(&mut self, text: impl Into<String>, style: Style) {
        self.lines.push(StyledLine { text: text.into(), style });
    }

    /// A heading, and after it the lines of a part, further in.
    fn part(&mut self, heading: &str, lines: impl IntoIterator<Item = (String, Style)>) {
        if !self.lines.is_empty() {
            self.line("", Style::new());
        }
        self.line(format!("{heading}:"), style::STRONG);
        for (text, style) in lines {
            self.line(format!("{STEP}{text}"), style);
        }
    }

    fn text(&mut self, heading: &str, text: &str) {
        self.part(heading, revealed(text).into_iter().map(|line| (line, Style::new())));
    }

    /// Nothing if there is nothing left to show.
    fn tree(&mut self, heading: &str, fields: &Map<String, Value>, left_out: &[&str]) {
        let lines = tree::fields(fields, left_out);
        if !lines.is_empty() {
            self.part(heading, lines.into_iter().map(|line| (line, Style::new())));
        }
    }

    fn permission(&mut self, subject: &Subject) {
        let shown: &[&str] = if let Some(command) = subject.text("command") {
            self.text("Command", command);
            &["command"]
        } else if let (Some(path), Some(fields)) = (subject.text("path"), subject.object("diff")) {
            let is = |name: &str| fields.get(name) == Some(&Value::Bool(true));
            self.text(if is("isNew") { "New file" } else { "File" }, path);
            if is("replacesUnseen") {
                self.text("Replaced", "all of the file; what is in it now cannot be shown here");
            }
            let changes = diff(fields);
            if changes.is_empty() {
                self.part("Changes", [("none".to_owned(), style::FAINT)]);
            } else {
                self.part("Changes", changes);
            }
            &IN_DIFF
        } else if let Some(url) = subject.text("url") {
            self.text("Address", url);
            &["url"]
        } else {
            &[]
        };
        let heading = if shown.is_empty() { "Input" } else { "Other input" };
        if let Some(input) = subject.object("input") {
            self.tree(heading, input, shown);
        }
        for (heading, name) in [("Server", "server"), ("Directory", "directory")] {
            if let Some(text) = subject.text(name) {
                self.text(heading, text);
            }
        }
        if let Some(agent) = subject.object("agent") {
            self.tree("Subagent", agent, &[]);
        }
    }

    fn plan(&mut self, subject: &Subject) {
        match subject.text("plan").unwrap_or_default() {
            plan if plan.trim().is_empty() => {
                self.part("Plan", [("The agent has not written it down.".to_owned(), style::WARNING)]);
            }
            plan => self.text("Plan", plan.trim_end_matches('\n')),
        }
        if let Some(file) = subject.text("file") {
            self.text("Plan file", file);
        }
    }

    fn form(&mut self, subject: &Subject) {
        for (heading, name) in [("Server", "server"), ("Message", "message"), ("Address", "url")] {
            if let Some(text) = subject.text(name).filter(|text| !text.is_empty()) {
                self.text(heading, text);
            }
        }
        let fields = form::fields(Some(subject));
        if !fields.is_empty() {
            let lines = fields.iter().flat_map(|field| {
                let name = format!("{} ({})", tree::single(&field.question), tree::single(&field.name));
                let rules = rules(field).into_iter().map(|line| (format!("{STEP}{line}"), style::FAINT));
                std::iter::once((name, Style::new())).chain(rules)
            });
            self.part("Fields", lines);
        }
    }
}

/// The changed lines with their numbers, before and after. The sign tells additions from removals without colours.
fn diff(diff: &Map<String, Value>) -> Vec<(String, Style)> {
    let hunks: Vec<&Value> = diff.get("hunks").and_then(Value::as_array).into_iter().flatten().collect();
    let mut lines = Vec::new();
    for (index, hunk) in hunks.iter().enumerate() {
        if index > 0 {
            lines.push(("⋯".to_owned(), style::FAINT));
        }
        let (mut old, mut new) = (hunk["old"].as_u64(), hunk["new"].as_u64());
        for line in hunk["lines"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let (is_old, is_new, style) = match line.as_bytes().first() {
                Some(b'-') => (true, false, style::BAD),
                Some(b'+') => (false, true, style::GOOD),
                _ => (true, true, Style::new()),
            };
            let number = |number: &mut Option<u64>, counts: bool| {
                let Some(next) = number.as_mut().filter(|_| counts) else { return String::new() };
                *next += 1;
                (*next - 1).to_string()
            };
            let (before, after) = (number(&mut old, is_old), number(&mut new, is_new));
            // A line of a file has no line break, but JSON can have anything.
            lines.push((format!("{before:>5} {after:>5} {}", tree::single(line)), style));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::which::tests::ask_with_key;
    use super::*;

    fn shown(kind: Kind, subject: Value) -> Vec<String> {
        let ask =
            AskView { kind, subject: Some(serde_json::from_value(subject).unwrap()), ..ask_with_key("s__toolu_1") };
        lines(&ask).into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn a_command_is_whole_and_cannot_look_like_something_else() {
        let long = "x".repeat(20_000);
        let command = format!("echo {long}\nDirectory:\n  /safe\u{202e}");
        let subject = json!({"tool": "Bash", "command": command, "directory": "/home/me/shop",
            "input": {"command": command, "description": "Says it", "timeout": 5}});
        let expected = [
            "Command:".to_owned(),
            format!("  echo {long}"),
            "  Directory:".to_owned(),
            "    /safe<U+202E>".to_owned(),
            String::new(),
            "Other input:".to_owned(),
            "  description: Says it".to_owned(),
            "  timeout: 5".to_owned(),
            String::new(),
            "Directory:".to_owned(),
            "  /home/me/shop".to_owned(),
        ];
        assert_eq!(shown(Kind::Permission, subject), expected);
    }

    #[test]
    fn changes_have_the_numbers_of_their_lines() {
        let hunks = json!([{"old": 9, "new": 9, "lines": [" same", "-gone", "+come", "+more"]},
            {"old": null, "new": null, "lines": ["-a\u{1b}"]}]);
        let subject = json!({"tool": "Edit", "path": "/p/a.rs", "diff": {"isNew": false, "hunks": hunks},
            "input": {"file_path": "/p/a.rs", "old_string": "a", "new_string": "b", "replace_all": false}});
        let expected = [
            "File:",
            "  /p/a.rs",
            "",
            "Changes:",
            "      9     9  same",
            "     10       -gone",
            "           10 +come",
            "           11 +more",
            "  ⋯",
            "              -a<U+001B>",
            "",
            "Other input:",
            "  replace_all: false",
        ];
        assert_eq!(shown(Kind::Permission, subject), expected);
        let subject = json!({"tool": "Write", "path": "/p/a", "diff": {"isNew": true, "hunks": []}, "input": {}});
        assert_eq!(shown(Kind::Permission, subject), ["New file:", "  /p/a", "", "Changes:", "  none"]);
    }

    #[test]
    fn the_input_of_other_tools_is_a_tree() {
        let subject = json!({"tool": "mcp__github__create", "server": "github", "agent": {"id": "a1", "type": "Explore"},
            "input": {"title": "T", "labels": ["x"]}});
        let expected = [
            "Input:",
            "  title: T",
            "  labels:",
            "    - x",
            "",
            "Server:",
            "  github",
            "",
            "Subagent:",
            "  id: a1",
            "  type: Explore",
        ];
        assert_eq!(shown(Kind::Permission, subject), expected);
    }

    #[test]
    fn plans_and_forms() {
        assert_eq!(
            shown(Kind::Plan, json!({"plan": "# Do\n\n1. it\n", "file": "/p.md"})),
            ["Plan:", "  # Do", "  ", "  1. it", "", "Plan file:", "  /p.md"]
        );
        assert!(shown(Kind::Plan, json!({"plan": "", "file": null}))[1].contains("not written it down"));
        let field = json!({"name": "port", "question": "Port", "type": "integer", "required": true, "minimum": 1, "maximum": 9,
            "default": 8, "description": "Where it\nlistens"});
        let form = shown(Kind::Form, json!({"server": "shop", "message": "Which?", "mode": "form", "fields": [field]}));
        let expected = [
            "  Port (port)",
            "    a whole number, at least 1, at most 9, required, suggested: 8",
            "    Where it",
            "    listens",
        ];
        assert_eq!(form[form.len() - 4..], expected);
        let form =
            shown(Kind::Form, json!({"server": "shop", "message": "", "mode": "url", "url": "https://a/\u{200b}"}));
        assert_eq!(form, ["Server:", "  shop", "", "Address:", "  https://a/<U+200B>"]);
    }
}
