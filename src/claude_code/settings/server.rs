//! Our MCP server in `.mcp.json`, where Claude Code finds the servers of a project. Text in, text out: no files here.
//!
//! Whatever is not ours keeps every byte. A server of ours is known by its program and its argument, so a person may give it another name
//! and more fields.

use std::path::Path;

use serde_json::{Value, json};

use super::json::{self, Member, Node, Problem, Refusal};
use super::layout::{Layout, Splice};

/// The name of the file, in the directory of the project.
pub const FILE: &str = ".mcp.json";
/// The name of the server. The tools of it are called `mcp__answerback__…`.
pub const NAME: &str = "answerback";
/// The member of the file that has the servers.
const SERVERS: &str = "mcpServers";
/// The name of the program, and the argument that makes it a server.
const PROGRAM: &str = "answerback";
const ARGUMENT: &str = "mcp";

/// How the server is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Server {
    /// The program with this path.
    At(String),
    /// The program that is found in the PATH, for everybody who uses the file.
    Shared,
}

impl Server {
    /// What `command` is.
    pub fn command(&self) -> &str {
        match self {
            Self::At(path) => path,
            Self::Shared => PROGRAM,
        }
    }

    /// The text with this server in it: added, or corrected where it is. A file that was written for everybody stays so.
    pub(super) fn install(&self, text: &str) -> Result<String, Refusal> {
        let text = if is_blank(text) { "{}\n" } else { text };
        let document = Document::parse(text)?;
        let command = Value::from(self.command());
        Ok(match document.own()? {
            Some((_, own)) => {
                let there = own.get("command").filter(|there| there.value(text) != command);
                let there = there.filter(|there| there.value(text) != PROGRAM);
                there.map_or_else(|| text.to_owned(), |there| document.layout.replace(there, &command).apply(text))
            }
            None => document.add(&json!({"command": command, "args": [ARGUMENT]}))?.apply(text),
        })
    }
}

/// The text without any server of ours, and without what only held such servers.
pub(super) fn uninstall(text: &str) -> Result<String, Refusal> {
    let mut text = text.to_owned();
    while !is_blank(&text) {
        let document = Document::parse(&text)?;
        match document.own()? {
            Some((index, _)) => text = document.remove(index)?.apply(&text),
            None => break,
        }
    }
    Ok(text)
}

/// Whether there is a server of ours in the text.
pub(super) fn is_installed(text: &str) -> Result<bool, Refusal> {
    Ok(!is_blank(text) && Document::parse(text)?.own()?.is_some())
}

/// The path of the program in the text, if the server is ours and written with its path.
pub fn own_path(bytes: &[u8]) -> Option<String> {
    let text = json::decode(bytes).ok().filter(|text| !is_blank(text))?;
    let document = Document::parse(text).ok()?;
    let (_, own) = document.own().ok()??;
    own.get("command")?.value(text).as_str().filter(|command| *command != PROGRAM).map(ToOwned::to_owned)
}

fn is_blank(text: &str) -> bool {
    text.trim_matches([' ', '\t', '\n', '\r']).is_empty()
}

struct Document<'a> {
    text: &'a str,
    root: Node,
    layout: Layout<'a>,
}

impl<'a> Document<'a> {
    fn parse(text: &'a str) -> Result<Self, Refusal> {
        let root = json::parse(text)?;
        let layout = Layout::of(text, &root);
        Ok(Self { text, root, layout })
    }

    /// The servers, if the file has any. What stands on the way to them must be what Claude Code expects.
    fn servers(&self) -> Result<Option<(&Node, &[Member])>, Refusal> {
        let wrong = |node: &Node, what: &str| {
            let problem = Problem::WrongType { what: what.to_owned(), wanted: "an object" };
            Err(json::refuse(self.text, node.span.start, problem))
        };
        if self.root.members().is_none() {
            return wrong(&self.root, "the whole file");
        }
        let Some(servers) = self.root.get(SERVERS) else { return Ok(None) };
        let Some(members) = servers.members() else { return wrong(servers, &format!("{SERVERS:?}")) };
        Ok(Some((servers, members)))
    }

    /// The first server of ours, and its place.
    fn own(&self) -> Result<Option<(usize, &Node)>, Refusal> {
        let members = self.servers()?.map(|(_, members)| members).unwrap_or_default();
        let place = members.iter().position(|member| is_own(&member.value.value(self.text)));
        Ok(place.map(|index| (index, &members[index].value)))
    }

    fn add(&self, server: &Value) -> Result<Splice, Refusal> {
        let Some((servers, members)) = self.servers()? else {
            // A schema is the first thing in a file by habit.
            let first = self.root.members().and_then(<[_]>::first);
            let index = usize::from(first.is_some_and(|member| member.key == "$schema"));
            return Ok(self.layout.insert(&self.root, index, Some(SERVERS), &json!({ NAME: server })));
        };
        if let Some(taken) = members.iter().find(|member| member.key == NAME) {
            return Err(json::refuse(self.text, taken.start, Problem::ServerNameTaken(NAME)));
        }
        Ok(self.layout.insert(servers, 0, Some(NAME), server))
    }

    /// Takes a server out, with everything that holds nothing else.
    fn remove(&self, index: usize) -> Result<Splice, Refusal> {
        let root = self.root.members().unwrap_or_default();
        Ok(match self.servers()? {
            Some((servers, members)) if members.len() > 1 => self.layout.remove(servers, index),
            _ => {
                let place = root.iter().position(|member| member.key == SERVERS).unwrap_or_default();
                self.layout.remove(&self.root, place)
            }
        })
    }
}

/// Whether a server runs our program as a server, wherever that is.
fn is_own(server: &Value) -> bool {
    let program = server.get("command").and_then(Value::as_str).and_then(|path| Path::new(path).file_name());
    program.is_some_and(|name| name == PROGRAM) && server.pointer("/args/0").is_some_and(|first| first == ARGUMENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &str) -> Server {
        Server::At(path.to_owned())
    }

    #[test]
    fn it_goes_in_and_out_and_no_other_byte_changes() {
        for (text, with) in [
            (
                "{\n  \"mcpServers\": {\n    \"shop\": {\"command\": \"node\"}\n  }\n}\n",
                "{\n  \"mcpServers\": {\n    \"answerback\": {\n      \"command\": \"/opt/answerback\",\n      \"args\": [\n        \"mcp\"\n      ]\n    },\n    \"shop\": {\"command\": \"node\"}\n  }\n}\n",
            ),
            (
                "{\"other\":1}",
                "{\"mcpServers\":{\"answerback\":{\"command\":\"/opt/answerback\",\"args\":[\"mcp\"]}},\"other\":1}",
            ),
            (
                "{\r\n\t\"$schema\": \"s\",\r\n\t\"x\": [ ]\r\n}",
                "{\r\n\t\"$schema\": \"s\",\r\n\t\"mcpServers\": {\r\n\t\t\"answerback\": {\r\n\t\t\t\"command\": \"/opt/answerback\",\r\n\t\t\t\"args\": [\r\n\t\t\t\t\"mcp\"\r\n\t\t\t]\r\n\t\t}\r\n\t},\r\n\t\"x\": [ ]\r\n}",
            ),
        ] {
            let server = at("/opt/answerback");
            assert!(!is_installed(text).unwrap());
            let installed = server.install(text).unwrap();
            assert_eq!(installed, with);
            assert_eq!(server.install(&installed).unwrap(), installed, "twice is once");
            assert!(is_installed(&installed).unwrap());
            assert_eq!(own_path(installed.as_bytes()).as_deref(), Some("/opt/answerback"));
            assert_eq!(uninstall(&installed).unwrap(), text);
        }
        assert!(
            at("/opt/answerback").install(" \n").unwrap().starts_with("{\n  \"mcpServers\": {\n    \"answerback\"")
        );
    }

    #[test]
    fn what_a_person_made_of_it_stays() {
        let text =
            r#"{"mcpServers": {"ask": {"args": ["mcp", "--elicitation"], "command": "/old/answerback", "env": {}}}}"#;
        let corrected = text.replace("/old", "/opt");
        assert_eq!(at("/opt/answerback").install(text).unwrap(), corrected);
        assert_eq!(Server::Shared.install(text).unwrap(), text.replace("/old/", ""));
        let shared = text.replace("/old/", "");
        assert_eq!(at("/opt/answerback").install(&shared).unwrap(), shared, "a file for everybody stays so");
        assert_eq!(own_path(shared.as_bytes()), None);
        assert_eq!(uninstall(text).unwrap(), "{}");
    }

    #[test]
    fn what_is_not_ours_is_neither_changed_nor_removed() {
        for text in [
            r#"{"mcpServers": {"a": {"command": "answerback", "args": ["other"]}, "b": {"command": "x/notanswerback", "args": ["mcp"]}}}"#,
            r#"{"mcpServers": {"a": {"url": "https://a.example/mcp"}, "b": 1}}"#,
            "",
        ] {
            assert!(!is_installed(text).unwrap());
            assert_eq!(uninstall(text).unwrap(), text);
        }
        let taken = "{\n \"mcpServers\": {\n  \"answerback\": {\"url\": \"https://a.example\"}}}";
        let refusal = Server::Shared.install(taken).unwrap_err();
        assert_eq!((refusal.line, refusal.problem), (3, Problem::ServerNameTaken(NAME)));
        for (text, line) in [("[]", 1), ("{\n\"mcpServers\": []}", 2), ("{\n// why\n}", 2)] {
            assert_eq!(Server::Shared.install(text).unwrap_err().line, line, "{text}");
        }
    }
}
