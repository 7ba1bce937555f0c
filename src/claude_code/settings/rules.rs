//! The permission rules of a settings file: where one stands, and the text without it. Pure: no files here.

use super::json::{self, Node, Problem, Refusal};
use super::layout::Layout;

/// What a permission request calls a directory that is added to those of the project.
const DIRECTORY: &str = "the directory ";

/// One rule, or one directory, that Claude Code has been allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule<'a> {
    /// The list under `permissions` that it stands in.
    list: &'static str,
    text: &'a str,
}

impl<'a> Rule<'a> {
    /// As a permission request names it.
    pub fn named(name: &'a str) -> Self {
        match name.strip_prefix(DIRECTORY) {
            Some(directory) => Self { list: "additionalDirectories", text: directory },
            None => Self { list: "allow", text: name },
        }
    }

    /// The line in which it stands first, from 1. `None` if it is not there.
    pub fn line(&self, text: &str) -> Result<Option<usize>, Refusal> {
        let Some(root) = root(text)? else { return Ok(None) };
        let place = self.find(text, &root)?.map(|(list, index)| list.items()[index].start);
        Ok(place.map(|at| text[..at].matches('\n').count() + 1))
    }

    /// The text without it, however often it is there. The list stays, even if it is empty then.
    pub fn removed(&self, text: &str) -> Result<String, Refusal> {
        let mut text = text.to_owned();
        loop {
            let Some(root) = root(&text)? else { return Ok(text) };
            let Some((list, index)) = self.find(&text, &root)? else { return Ok(text) };
            text = Layout::of(&text, &root).remove(list, index).apply(&text);
        }
    }

    /// The list, and the place in it. What stands on the way there must be what Claude Code expects.
    fn find<'n>(&self, text: &str, root: &'n Node) -> Result<Option<(&'n Node, usize)>, Refusal> {
        let wrong = |node: &Node, what: &str, wanted| {
            Err(json::refuse(text, node.span.start, Problem::WrongType { what: what.to_owned(), wanted }))
        };
        if root.members().is_none() {
            return wrong(root, "the whole file", "an object");
        }
        let Some(permissions) = root.get("permissions") else { return Ok(None) };
        if permissions.members().is_none() {
            return wrong(permissions, "\"permissions\"", "an object");
        }
        let Some(list) = permissions.get(self.list) else { return Ok(None) };
        let Some(elements) = list.elements() else { return wrong(list, &format!("{:?}", self.list), "an array") };
        let is_this = |element: &Node| element.value(text) == self.text;
        Ok(elements.iter().position(is_this).map(|index| (list, index)))
    }
}

/// Claude Code takes an empty file for an empty object.
fn root(text: &str) -> Result<Option<Node>, Refusal> {
    if text.trim_matches([' ', '\t', '\n', '\r']).is_empty() {
        return Ok(None);
    }
    json::parse(text).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str = "Bash(npm test)";

    #[test]
    fn only_the_rule_goes_whatever_the_layout() {
        for (text, line, after) in [
            (
                "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(npm test)\"\n    ]\n  }\n}\n",
                Some(4),
                "{\n  \"permissions\": {\n    \"allow\": []\n  }\n}\n",
            ),
            (
                "{\"permissions\":{\"allow\":[\"Read\",\"Bash(npm test)\",\"Edit\"]}}",
                Some(1),
                "{\"permissions\":{\"allow\":[\"Read\",\"Edit\"]}}",
            ),
            (
                "{\r\n\t\"permissions\" : { \"deny\":[\"Bash(npm test)\"],\r\n\"allow\": [ \"Read\"\r\n , \"Bash(npm test)\" ] } }",
                Some(4),
                "{\r\n\t\"permissions\" : { \"deny\":[\"Bash(npm test)\"],\r\n\"allow\": [ \"Read\" ] } }",
            ),
            (
                // The same rule twice, and once with escapes.
                "{\"permissions\": {\"allow\": [\"Bash(npm test)\", 1, \"Bash(npm\\u0020test)\"]}, \"é\": 1e999}",
                Some(1),
                "{\"permissions\": {\"allow\": [1]}, \"é\": 1e999}",
            ),
            ("{\"permissions\": {\"allow\": [\"Bash(npm test:*)\", \"bash(npm test)\"]}}", None, ""),
            ("{\"permissions\": {\"ask\": [\"Bash(npm test)\"]}}", None, ""),
            ("{\"allow\": [\"Bash(npm test)\"]}", None, ""),
            (" \n", None, ""),
            ("", None, ""),
        ] {
            let rule = Rule::named(RULE);
            assert_eq!(rule.line(text).unwrap(), line, "{text}");
            assert_eq!(rule.removed(text).unwrap(), if line.is_some() { after } else { text }, "{text}");
        }
    }

    #[test]
    fn a_directory_has_a_list_of_its_own() {
        let text = "{\"permissions\": {\"allow\": [\"/data\"],\n\"additionalDirectories\": [\"/data\", \"/more\"]}}";
        let rule = Rule::named("the directory /data");
        assert_eq!(rule.line(text).unwrap(), Some(2));
        let after = "{\"permissions\": {\"allow\": [\"/data\"],\n\"additionalDirectories\": [\"/more\"]}}";
        assert_eq!(rule.removed(text).unwrap(), after);
    }

    #[test]
    fn what_claude_code_could_not_read_is_refused_where_it_is() {
        for (text, line, column) in [
            ("{\n // why\n}", 2, 2),
            ("[]", 1, 1),
            ("{\"permissions\": []}", 1, 17),
            ("{\"permissions\": {\n\"allow\": \"Bash(npm test)\"}}", 2, 10),
            ("{\"permissions\": {\"allow\": [\"Bash(npm test)\",]}}", 1, 44),
        ] {
            let refusal = Rule::named(RULE).removed(text).unwrap_err();
            assert_eq!((refusal.line, refusal.column), (line, column), "{text}");
            assert_eq!(Rule::named(RULE).line(text).unwrap_err(), refusal);
        }
    }
}
