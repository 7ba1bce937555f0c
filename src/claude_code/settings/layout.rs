//! The layout of a text, and edits that follow it.
//!
//! A new item goes *before* an existing one wherever it can: nobody else's line changes then, not even by a comma.

use std::ops::Range;

use serde_json::Value;

use super::json::{Kind, Node};

/// A replacement of one part of a text.
#[derive(Debug)]
pub(super) struct Splice {
    range: Range<usize>,
    with: String,
}

impl Splice {
    pub(super) fn apply(self, text: &str) -> String {
        let mut text = text.to_owned();
        text.replace_range(self.range, &self.with);
        text
    }
}

/// How a text is formatted.
#[derive(Debug)]
pub(super) struct Layout<'a> {
    text: &'a str,
    newline: &'a str,
    /// One step of indentation.
    unit: &'a str,
    /// What follows a colon, and in a line also a comma.
    gap: &'a str,
    /// Whether everything is in one line.
    one_line: bool,
}

/// Where a line begins, up to its first character.
#[derive(Debug, Clone, Copy)]
struct Start<'a> {
    newline: &'a str,
    indent: &'a str,
}

impl<'a> Layout<'a> {
    pub(super) fn of(text: &'a str, root: &Node) -> Self {
        let newline = match text.find('\n') {
            Some(at) if text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        };
        let one_line = !root.items().is_empty() && !text[root.span.clone()].contains('\n');
        let mut layout = Self { text, newline, unit: "  ", gap: " ", one_line };
        if let Some(unit) = layout.find_unit(root) {
            layout.unit = unit;
        }
        if let Some(member) = root.members().and_then(<[_]>::first)
            && text[member.start..member.value.span.start].ends_with(':')
        {
            layout.gap = "";
        }
        layout
    }

    /// How much further in than its container the first item is that has a line of its own.
    fn find_unit(&self, node: &Node) -> Option<&'a str> {
        let children: Vec<&Node> = match &node.kind {
            Kind::Object(members) => members.iter().map(|member| &member.value).collect(),
            Kind::Array(elements) => elements.iter().collect(),
            Kind::Scalar => return None,
        };
        let here = node.items().first().and_then(|first| {
            let inner = line_start(&self.text[node.span.start + 1..first.start])?.indent;
            inner.strip_prefix(self.indent_at(node.span.start))
        });
        here.or_else(|| children.into_iter().find_map(|child| self.find_unit(child)))
    }

    /// The indentation of the line this place is in.
    fn indent_at(&self, at: usize) -> &'a str {
        let start = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let line = &self.text[start..at];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    /// Puts a value into a container so that it is the item with this index; into an object, it has a key.
    pub(super) fn insert(&self, container: &Node, index: usize, key: Option<&str>, value: &Value) -> Splice {
        let items = container.items();
        let body = |start: Option<Start<'_>>| match key {
            Some(key) => format!("{}:{}{}", Value::from(key), self.gap, self.render(value, start)),
            None => self.render(value, start),
        };
        let Some(last) = items.last() else {
            let range = container.span.start + 1..container.span.end - 1;
            if self.one_line {
                return Splice { range, with: body(None) };
            }
            let outer = self.indent_at(container.span.start);
            let inner = format!("{outer}{}", self.unit);
            let start = Start { newline: self.newline, indent: &inner };
            let with = format!("{0}{inner}{1}{0}{outer}", self.newline, body(Some(start)));
            return Splice { range, with };
        };
        // The new item sits like the one it is put before, or like the last one.
        let like = items.get(index).unwrap_or(last);
        let before = self.text[..like.start].trim_end_matches([' ', '\t', '\n', '\r']).len();
        let start = line_start(&self.text[before..like.start]);
        let separator = match start {
            Some(Start { newline, indent }) => format!("{newline}{indent}"),
            None => self.gap.to_owned(),
        };
        if index < items.len() {
            Splice { range: like.start..like.start, with: format!("{},{separator}", body(start)) }
        } else {
            Splice { range: last.end..last.end, with: format!(",{separator}{}", body(start)) }
        }
    }

    /// Takes an item out, so that inserting and removing leaves the text as it was.
    pub(super) fn remove(&self, container: &Node, index: usize) -> Splice {
        let items = container.items();
        let range = match (items.get(index + 1), index.checked_sub(1)) {
            (Some(next), _) => items[index].start..next.start,
            (None, Some(previous)) => items[previous].end..items[index].end,
            (None, None) => container.span.start + 1..container.span.end - 1,
        };
        Splice { range, with: String::new() }
    }

    /// Puts a value into another's place.
    pub(super) fn replace(&self, node: &Node, value: &Value) -> Splice {
        Splice { range: node.span.clone(), with: self.render(value, None) }
    }

    /// The value in lines that begin like `start`, or all in one.
    fn render(&self, value: &Value, start: Option<Start<'_>>) -> String {
        let (brackets, items): (_, Vec<(String, &Value)>) = match value {
            Value::Object(members) => {
                let name = |key: &String| format!("{}:{}", Value::from(key.as_str()), self.gap);
                (["{", "}"], members.iter().map(|(key, value)| (name(key), value)).collect())
            }
            Value::Array(elements) => (["[", "]"], elements.iter().map(|value| (String::new(), value)).collect()),
            scalar => return scalar.to_string(),
        };
        let [open, close] = brackets;
        let inner = start.map(|Start { newline, indent }| (newline, format!("{indent}{}", self.unit)));
        let inner = inner.as_ref().map(|(newline, indent)| Start { newline, indent });
        let items: Vec<_> = items.into_iter().map(|(name, value)| name + &self.render(value, inner)).collect();
        match (start, inner) {
            (Some(outer), Some(inner)) if !items.is_empty() => {
                let begin = format!("{}{}", inner.newline, inner.indent);
                let items = items.join(&format!(",{begin}"));
                format!("{open}{begin}{items}{}{}{close}", outer.newline, outer.indent)
            }
            _ => format!("{open}{}{close}", items.join(&format!(",{}", self.gap))),
        }
    }
}

/// The last line that begins in this white space.
fn line_start(space: &str) -> Option<Start<'_>> {
    let end = space.rfind('\n')?;
    let begin = if space[..end].ends_with('\r') { end - 1 } else { end };
    Some(Start { newline: &space[begin..=end], indent: &space[end + 1..] })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::json::parse;
    use super::*;

    fn insert(text: &str, index: usize, key: Option<&str>, value: &Value) -> String {
        let root = parse(text).unwrap();
        let new = Layout::of(text, &root).insert(&root, index, key, value).apply(text);
        let root = parse(&new).unwrap();
        let removed = Layout::of(&new, &root).remove(&root, index).apply(&new);
        assert_eq!(removed, text);
        new
    }

    #[test]
    fn a_new_item_looks_like_its_neighbours() {
        let value = json!({"x": [1, 2], "y": []});
        for (text, index, expected) in [
            (
                "{\n  \"a\": 1\n}\n",
                0,
                "{\n  \"n\": {\n    \"x\": [\n      1,\n      2\n    ],\n    \"y\": []\n  },\n  \"a\": 1\n}\n",
            ),
            (
                "{\n\t\"a\":1\n}",
                1,
                "{\n\t\"a\":1,\n\t\"n\":{\n\t\t\"x\":[\n\t\t\t1,\n\t\t\t2\n\t\t],\n\t\t\"y\":[]\n\t}\n}",
            ),
            ("{\"a\":1}", 0, "{\"n\":{\"x\":[1,2],\"y\":[]},\"a\":1}"),
            ("{ \"a\": 1 }", 1, "{ \"a\": 1, \"n\": {\"x\": [1, 2], \"y\": []} }"),
            ("{}", 0, "{\n  \"n\": {\n    \"x\": [\n      1,\n      2\n    ],\n    \"y\": []\n  }\n}"),
            (
                "{\"a\": 1,\n   \"b\": 2}",
                1,
                "{\"a\": 1,\n   \"n\": {\n     \"x\": [\n       1,\n       2\n     ],\n     \"y\": []\n   },\n   \"b\": 2}",
            ),
            (
                "\n{\r\n   \"a\": 1\r\n}",
                0,
                "\n{\r\n   \"n\": {\r\n      \"x\": [\r\n         1,\r\n         2\r\n      ],\r\n      \"y\": []\r\n   },\r\n   \"a\": 1\r\n}",
            ),
        ] {
            assert_eq!(insert(text, index, Some("n"), &value), expected);
        }
    }

    #[test]
    fn blank_lines_are_not_multiplied() {
        assert_eq!(insert("[\n\n  1,\n\n  2\n]", 1, None, &json!(0)), "[\n\n  1,\n\n  0,\n  2\n]");
    }
}
