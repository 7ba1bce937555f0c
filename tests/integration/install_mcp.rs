//! `answerback install --mcp`: the server in the `.mcp.json` of a project, and out of it again.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::install::{ORIGINAL, Project};
use crate::world::ANSWERBACK;

const SERVERS: &str = "{\n   \"mcpServers\": {\n      \"shop\": { \"command\": \"node\",\"args\":[] }\n   }\n}";

impl Project {
    fn servers(&self) -> PathBuf {
        self.dir.join(".mcp.json")
    }

    fn with_servers(text: &str) -> Self {
        let project = Self::new();
        fs::write(project.servers(), text).unwrap();
        project
    }

    fn text(&self) -> String {
        fs::read_to_string(self.servers()).unwrap()
    }

    fn entry(&self) -> Value {
        serde_json::from_str::<Value>(&self.text()).unwrap()["mcpServers"]["answerback"].clone()
    }
}

/// This program, as it is written into files.
fn program() -> String {
    fs::canonicalize(ANSWERBACK).unwrap().into_os_string().into_string().unwrap()
}

#[test]
fn it_goes_in_once_and_comes_out_without_a_trace() {
    let project = Project::new();
    let said = project.run(&["install", "--mcp"]);
    assert!(
        said.stderr.contains("The MCP server is installed") && said.stderr.contains("mcp__answerback__ask_human"),
        "{said:?}"
    );
    assert_eq!(project.entry(), json!({"command": program(), "args": ["mcp"]}));
    assert!(!project.dir.join(".claude").exists(), "the hook is another matter");
    let before = project.text();
    let said = project.run(&["install", "--mcp"]);
    assert!(said.stderr.contains("already installed"), "{said:?}");
    assert_eq!(project.text(), before);
    let said = project.run(&["uninstall"]);
    assert!(said.stderr.contains("was not there before the MCP server was installed"), "{said:?}");
    assert!(!project.servers().exists());
}

#[test]
fn every_other_byte_stays() {
    let project = Project::with_servers(SERVERS);
    project.run(&["install", "--mcp"]);
    let entry = format!(
        "\"answerback\": {{\n         \"command\": \"{}\",\n         \"args\": [\n            \"mcp\"\n         ]\n      }},\n      ",
        program()
    );
    assert_eq!(project.text(), SERVERS.replace("\"shop\"", &format!("{entry}\"shop\"")));
    project.run(&["uninstall"]);
    assert_eq!(project.text(), SERVERS);
    // With somebody's change in between, only the server goes.
    project.run(&["install", "--mcp"]);
    fs::write(project.servers(), project.text().replace("node", "deno")).unwrap();
    let said = project.run(&["uninstall"]);
    assert!(said.stderr.contains("The MCP server is no longer in"), "{said:?}");
    assert_eq!(project.text(), SERVERS.replace("node", "deno"));
}

#[test]
fn uninstall_takes_out_the_hook_and_the_server() {
    let project = Project::with(ORIGINAL);
    project.run(&["install"]);
    project.run(&["install", "--mcp"]);
    let report: Value = serde_json::from_str(&project.run(&["uninstall", "--json", "--dry-run"]).stdout).unwrap();
    assert_eq!((&report["outcome"], &report["mcp"]["outcome"]), (&json!("restored"), &json!("file_removed")));
    assert!(project.servers().exists());
    project.run(&["uninstall"]);
    assert_eq!(project.bytes(), ORIGINAL.as_bytes());
    assert!(!project.servers().exists());
    // Everywhere includes the servers.
    project.run(&["install", "--mcp"]);
    let reports: Value = serde_json::from_str(&project.run(&["uninstall", "--everywhere", "--json"]).stdout).unwrap();
    assert_eq!(reports.as_array().unwrap().len(), 1, "{reports}");
    assert!(!project.servers().exists());
    let said = project.run(&["uninstall"]);
    assert!(!said.stderr.contains("MCP"), "nothing is said about what was never there: {said:?}");
}

#[test]
fn a_file_for_everybody_has_no_path() {
    let project = Project::with_servers(SERVERS);
    project.run(&["install", "--mcp", "--shared"]);
    assert_eq!(project.entry(), json!({"command": "answerback", "args": ["mcp"]}));
    let before = project.text();
    project.run(&["install", "--mcp"]);
    assert_eq!(project.text(), before, "it stays so");
}

#[test]
fn the_path_of_one_machine_is_not_written_into_a_file_that_git_shares() {
    let project = Project::with_servers(SERVERS);
    for args in [&["init", "--quiet"][..], &["add", ".mcp.json"]] {
        let mut git = project.world.command("git");
        assert!(git.args(args).current_dir(&project.dir).output().unwrap().status.success());
    }
    let error = project.fails(&["install", "--mcp"]);
    assert!(error.contains(".mcp.json is tracked by git") && error.contains("--shared"), "{error}");
    assert_eq!(project.text(), SERVERS);
    project.run(&["install", "--mcp", "--shared"]);
    assert_eq!(project.entry()["command"], "answerback");
}

#[test]
fn what_cannot_be_done_is_refused_with_a_way_to_do_it() {
    let project = Project::with_servers(SERVERS);
    for (option, name) in [("--user", "user"), ("--local", "local")] {
        let error = project.fails(&["install", "--mcp", option]);
        assert!(error.contains(&format!("--mcp does not go with {option}")), "{error}");
        assert!(error.contains(&format!("claude mcp add --scope {name} answerback -- {} mcp", program())), "{error}");
    }
    for option in ["--permissions", "--no-forms", "--all", "--mode=hold"] {
        let output = project.command(&["install", "--mcp", option]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{option}");
    }
    assert_eq!(project.text(), SERVERS);
    for (text, why) in [
        ("{\n  \"mcpServers\": {}, // mine\n}", "a comment"),
        ("{\"mcpServers\": []}", "\"mcpServers\" should be an object"),
        (
            "{\"mcpServers\": {\"answerback\": {\"url\": \"https://a.example\"}}}",
            "another server is called \"answerback\"",
        ),
    ] {
        fs::write(project.servers(), text).unwrap();
        let error = project.fails(&["install", "--mcp"]);
        assert!(error.contains(why) && error.contains("Nothing was changed"), "{error}");
        assert_eq!(project.text(), text);
    }
}

#[test]
fn the_doctor_does_not_mind() {
    let project = Project::new();
    project.run(&["install"]);
    let findings = || {
        let report: Value =
            serde_json::from_slice(&project.command(&["doctor", "--json"]).output().unwrap().stdout).unwrap();
        let findings = report["findings"].as_array().unwrap().clone();
        findings
            .into_iter()
            .map(|finding| (finding["check"].to_string(), finding["level"].to_string()))
            .collect::<Vec<_>>()
    };
    let before = findings();
    project.run(&["install", "--mcp"]);
    assert_eq!(findings(), before);
}
