//! Reading a settings file without editing it.

use std::io;
use std::path::Path;

use regex_lite::Regex;
use serde_json::Value;

use super::entry;
use super::file::Target;
use super::json::{self, Refusal};
use crate::claude_code::Mode;

/// A settings file that Claude Code can read.
#[derive(Debug, Clone)]
pub struct Look {
    root: Value,
}

/// One command that Claude Code runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Handler {
    /// On which event.
    pub event: String,
    /// For which tools; none means all.
    pub matcher: Option<String>,
    /// Whether it runs our hook.
    pub is_own: bool,
    /// Whether it is ours and written for everybody who uses the file.
    pub is_shared: bool,
    /// What it runs.
    pub command: String,
    /// The program in that, if it runs just one.
    pub program: String,
    /// The mode that our hook runs in.
    pub mode: Mode,
}

/// Whether a hook with this matcher runs for this tool. A matcher is a regular expression for the whole name.
pub fn is_for(matcher: Option<&str>, tool: &str) -> bool {
    match matcher {
        None | Some("" | "*") => true,
        Some(matcher) => {
            let by_name = matcher.split('|').any(|name| name.trim() == tool);
            by_name || Regex::new(&format!("^(?:{matcher})$")).is_ok_and(|regex| regex.is_match(tool))
        }
    }
}

/// Whether a hook with this matcher runs for every tool.
pub fn is_for_all(matcher: Option<&str>) -> bool {
    matches!(matcher, None | Some("" | "*" | ".*"))
}

/// What is in a settings file, or in the one it leads to.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let found = Target::find(path)?.read()?;
    found.map(|found| found.bytes).ok_or_else(|| io::ErrorKind::NotFound.into())
}

impl Look {
    /// Reads a file as strictly as Claude Code does. An empty file has no settings.
    pub fn at(bytes: &[u8]) -> Result<Self, Refusal> {
        let text = json::decode(bytes)?;
        if text.trim().is_empty() {
            return Ok(Self { root: Value::Null });
        }
        Ok(Self { root: json::parse(text)?.value(text) })
    }

    /// A setting by its place.
    pub fn get(&self, pointer: &str) -> Option<&Value> {
        self.root.pointer(pointer)
    }

    /// Whether our hooks in it are written for everybody who uses the file.
    pub(super) fn is_shared(&self) -> bool {
        self.own().iter().any(|handler| handler.is_shared)
    }

    /// Every hook in it that is ours.
    pub fn own(&self) -> Vec<Handler> {
        self.handlers().into_iter().filter(|handler| handler.is_own).collect()
    }

    /// Every hook in it.
    pub fn handlers(&self) -> Vec<Handler> {
        let mut handlers = Vec::new();
        for (event, groups) in self.get("/hooks").and_then(Value::as_object).into_iter().flatten() {
            for group in groups.as_array().into_iter().flatten() {
                let matcher = group.get("matcher").and_then(Value::as_str).map(ToOwned::to_owned);
                for handler in group.get("hooks").and_then(Value::as_array).into_iter().flatten() {
                    handlers.push(Handler {
                        event: event.clone(),
                        matcher: matcher.clone(),
                        is_own: entry::is_own(handler),
                        is_shared: entry::is_shared(handler),
                        command: handler.get("command").and_then(Value::as_str).unwrap_or_default().to_owned(),
                        program: entry::program_of(handler).unwrap_or_default(),
                        mode: entry::mode_of(handler),
                    });
                }
            }
        }
        handlers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matchers_are_names_bars_and_patterns() {
        let is_for = |matcher| is_for(matcher, "AskUserQuestion");
        for matcher in [
            None,
            Some(""),
            Some("*"),
            Some(".*"),
            Some("AskUserQuestion"),
            Some("Bash|AskUserQuestion"),
            Some("Ask.*"),
        ] {
            assert!(is_for(matcher), "{matcher:?}");
        }
        for matcher in ["Bash", "AskUser", "UserQuestion", "mcp__.*", "(", "askuserquestion"] {
            assert!(!is_for(Some(matcher)), "{matcher}");
        }
        let all = [None, Some(""), Some("*"), Some(".*"), Some("Bash"), Some("Ask.*")].map(is_for_all);
        assert_eq!(all, [true, true, true, true, false, false]);
    }
}
