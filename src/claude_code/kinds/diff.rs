//! What a call would change in a file, as a person reads it: the changed lines with a few lines around them.

use std::time::Duration;

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use super::super::call::HookInput;
use super::super::changed_file::CurrentFile;

/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// After this time the difference is a rough one: still true, but larger than it has to be.
const PATIENCE: Duration = Duration::from_millis(200);

/// A call that changes one file.
#[derive(Debug)]
pub(super) struct FileEdit<'a> {
    pub(super) path: &'a str,
    change: FileChange<'a>,
}

#[derive(Debug)]
enum FileChange<'a> {
    /// The new content of the file.
    Whole(&'a str),
    /// Replacements, one after the other.
    Parts(Vec<Replacement<'a>>),
}

#[derive(Debug)]
struct Replacement<'a> {
    old: &'a str,
    new: &'a str,
    everywhere: bool,
}

impl<'a> FileEdit<'a> {
    /// What a call would change. `None` if it changes no file, or in a way that is not known here.
    pub(super) fn of(hook: &'a HookInput) -> Option<Self> {
        let input = hook.tool_input.as_ref()?;
        let path = input.get("file_path")?.as_str()?;
        let change = match hook.tool_name.as_str() {
            "Write" => FileChange::Whole(input.get("content")?.as_str()?),
            "Edit" => FileChange::Parts(vec![Replacement::of(input)?]),
            "MultiEdit" => {
                FileChange::Parts(input.get("edits")?.as_array()?.iter().map(Replacement::of).collect::<Option<_>>()?)
            }
            _ => return None,
        };
        Some(Self { path, change })
    }
}

impl<'a> Replacement<'a> {
    fn of(input: &'a Value) -> Option<Self> {
        Some(Self {
            old: input.get("old_string")?.as_str()?,
            new: input.get("new_string")?.as_str()?,
            everywhere: input.get("replace_all").and_then(Value::as_bool).unwrap_or(false),
        })
    }

    fn apply(&self, text: &str) -> Option<String> {
        let is_there = !self.old.is_empty() && text.contains(self.old);
        is_there.then(|| {
            if self.everywhere { text.replace(self.old, self.new) } else { text.replacen(self.old, self.new, 1) }
        })
    }
}

/// The difference between the file now and after the call.
#[derive(Debug)]
pub(super) struct Diff {
    /// Whether there is no such file yet.
    is_new: bool,
    /// Whether the call replaces all of a file that cannot be shown.
    replaces_unseen: bool,
    hunks: Vec<Hunk>,
}

#[derive(Debug)]
struct Hunk {
    /// The numbers of the first line, before and after. `None` if the place in the file is not known.
    first: Option<(usize, usize)>,
    /// Each line begins with a space, `-` or `+`.
    lines: Vec<String>,
}

impl Diff {
    pub(super) fn of(edit: &FileEdit<'_>, file: &CurrentFile) -> Self {
        let text = match file {
            CurrentFile::Text(text) => Some(text.as_str()),
            CurrentFile::Absent | CurrentFile::Unseen => None,
        };
        match &edit.change {
            FileChange::Whole(content) => {
                let replaces_unseen = *file == CurrentFile::Unseen;
                let hunks = hunks(text.unwrap_or_default(), content, !replaces_unseen);
                Self { is_new: *file == CurrentFile::Absent, replaces_unseen, hunks }
            }
            FileChange::Parts(parts) => {
                let after = |text: &str| parts.iter().try_fold(text.to_owned(), |text, part| part.apply(&text));
                let hunks = match text.and_then(|text| Some((text, after(text)?))) {
                    Some((before, after)) => hunks(before, &after, true),
                    // The parts do not fit the file as it is now, but they are what the agent wants.
                    None => parts.iter().flat_map(|part| hunks(part.old, part.new, false)).collect(),
                };
                Self { is_new: false, replaces_unseen: false, hunks }
            }
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let hunk = |hunk: &Hunk| {
            let (old, new) = hunk.first.unzip();
            json!({"old": old, "new": new, "lines": hunk.lines})
        };
        let hunks: Vec<_> = self.hunks.iter().map(hunk).collect();
        json!({"isNew": self.is_new, "replacesUnseen": self.replaces_unseen, "hunks": hunks})
    }
}

fn hunks(before: &str, after: &str, has_place: bool) -> Vec<Hunk> {
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(before, after);
    let groups = diff.grouped_ops(CONTEXT);
    let hunk = |ops: &Vec<similar::DiffOp>| {
        let first = ops.first().filter(|_| has_place).map(|op| (op.old_range().start + 1, op.new_range().start + 1));
        let changes = ops.iter().flat_map(|op| diff.iter_changes(op));
        let lines = changes.map(|change| {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            format!("{sign}{}", change.value().trim_end_matches('\n'))
        });
        Hunk { first, lines: lines.collect() }
    };
    groups.iter().map(hunk).collect()
}

/// The diff of a subject as plain text.
pub(super) fn to_text(diff: &Value) -> String {
    let mut text = String::new();
    if diff["replacesUnseen"] == true {
        text.push_str("What is in the file now cannot be shown here. All of it is replaced by this:\n");
    }
    for hunk in diff.get("hunks").and_then(Value::as_array).into_iter().flatten() {
        match (hunk["old"].as_u64(), hunk["new"].as_u64()) {
            (Some(old), Some(new)) => text.push_str(&format!("@@ -{old} +{new} @@\n")),
            _ => text.push_str("@@\n"),
        }
        for line in hunk["lines"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::super::call::Call;
    use super::super::super::client::Client;
    use super::*;

    fn diff(tool: &str, input: Value, file: &CurrentFile) -> Value {
        let body = json!({"hook_event_name": "PermissionRequest", "tool_name": tool, "tool_input": input}).to_string();
        let call = Call::read(body.as_bytes(), Client::default()).unwrap();
        Diff::of(&FileEdit::of(&call.hook).unwrap(), file).to_json()
    }

    #[test]
    fn a_new_file_is_all_additions() {
        let diff = diff("Write", json!({"file_path": "/p/a", "content": "one\ntwo\n"}), &CurrentFile::Absent);
        let hunks = json!([{"old": 1, "new": 1, "lines": ["+one", "+two"]}]);
        assert_eq!(diff, json!({"isNew": true, "replacesUnseen": false, "hunks": hunks}));
    }

    #[test]
    fn a_file_that_cannot_be_shown_is_not_new() {
        let write = json!({"file_path": "/p/a", "content": "one\n"});
        let replaced = diff("Write", write, &CurrentFile::Unseen);
        let hunks = json!([{"old": null, "new": null, "lines": ["+one"]}]);
        assert_eq!(replaced, json!({"isNew": false, "replacesUnseen": true, "hunks": hunks}));
        assert!(to_text(&replaced).contains("cannot be shown"));
    }

    fn text(text: &str) -> CurrentFile {
        CurrentFile::Text(text.to_owned())
    }

    #[test]
    fn an_edit_is_shown_at_its_place() {
        let file: String = (1..=9).map(|n| format!("line {n}\n")).collect();
        let edit = json!({"file_path": "/p/a", "old_string": "line 6", "new_string": "line six\nline 6b"});
        let expected = json!({"isNew": false, "replacesUnseen": false, "hunks": [{"old": 3, "new": 3, "lines":
            [" line 3", " line 4", " line 5", "-line 6", "+line six", "+line 6b", " line 7", " line 8", " line 9"]}]});
        assert_eq!(diff("Edit", edit.clone(), &text(&file)), expected);
        assert!(to_text(&expected).starts_with("@@ -3 +3 @@\n line 3\n"));
        // Without the file, or if it has changed meanwhile, the place is not known.
        let expected = json!({"isNew": false, "replacesUnseen": false, "hunks": [{"old": null, "new": null, "lines":
            ["-line 6", "+line six", "+line 6b"]}]});
        assert_eq!(diff("Edit", edit.clone(), &CurrentFile::Unseen), expected);
        assert_eq!(diff("Edit", edit, &text("other\n")), expected);
    }

    #[test]
    fn every_place_of_a_replacement_is_shown() {
        let file = "a\n".repeat(20);
        let edit = |all: bool| json!({"file_path": "/p/a", "old_string": "a", "new_string": "b", "replace_all": all});
        let changed = |diff: Value| to_text(&diff).lines().filter(|line| line.starts_with('+')).count();
        assert_eq!(changed(diff("Edit", edit(true), &text(&file))), 20);
        assert_eq!(changed(diff("Edit", edit(false), &text(&file))), 1);
        let edits = json!({"file_path": "/p/a", "edits": [
            {"old_string": "a", "new_string": "b"}, {"old_string": "b", "new_string": "c"}]});
        assert_eq!(to_text(&diff("MultiEdit", edits, &text("a\n"))), "@@ -1 +1 @@\n-a\n+c\n");
    }
}
