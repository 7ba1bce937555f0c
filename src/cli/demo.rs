//! `answerback demo`: a pretend agent asks, through the real hook.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use anstream::{eprint, eprintln, println};
use answerback_hook::stranger;
use anyhow::Context;
use serde_json::{Value, json};

use crate::access::Token;
use crate::ask::DEMO_SESSION;
use crate::doctor::until_arrived;
use crate::text::sanitise;

use super::exit::Exit;
use super::explain::hinted;
use super::programs::hook_program;
use super::which;
use super::{away, client, hub};

/// Let a pretend agent ask two questions through the real hook
///
/// Needs no Claude Code. The pretend agent waits in the background; answer it with `answerback answer`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback demo && answerback answer\n  \
    answerback demo --wait    # and see what the agent would be told")]
pub(super) struct Args {
    /// Wait for the answer and print what Claude Code would receive from the hook
    #[arg(long)]
    wait: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let random = Token::generate()?;
    let (session, tool_use_id) =
        (format!("{DEMO_SESSION}{}", &random.reveal()[..8]), format!("toolu_{}", &random.reveal()[8..20]));
    let key = format!("{session}__{tool_use_id}");
    let mut child = start_hook(args.wait, &call(&session, &tool_use_id)?)?;
    let client = client()?;
    until_arrived(&client, &key, &mut child)
        .map_err(|problem| hinted(format!("the pretend agent could not ask: {problem}"), "Run: answerback doctor"))?;
    eprintln!("A pretend agent asks. Answer it on the page: answerback open");
    if hub().is_none() {
        eprintln!("Or here: answerback answer {}", which::short_key(&client.open_asks()?.asks, &key));
    }
    // Their words answer it, so they would look for it in vain.
    eprint!("{}", away::reminder(&client)?);
    if !args.wait {
        return Ok(Exit::Success);
    }
    let output = child.wait_with_output().context("the hook was lost")?;
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let told = &reply["hookSpecificOutput"];
    match told["additionalContext"].as_str().or(told["permissionDecisionReason"].as_str()) {
        Some(told) => println!("{}", sanitise(told)),
        None => eprintln!("The hook made no decision: Claude Code would ask in its terminal."),
    }
    Ok(Exit::Success)
}

fn start_hook(wait: bool, call: &Value) -> anyhow::Result<Child> {
    let program = hook_program()?;
    let mut command = Command::new(&program);
    stranger::hide(&mut command).stdin(Stdio::piped()).stdout(if wait { Stdio::piped() } else { Stdio::null() });
    if !wait {
        // The pretend agent outlives this command and its terminal.
        command.stderr(Stdio::null()).process_group(0).current_dir("/");
    }
    let mut child = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(call.to_string().as_bytes()).context("the hook does not listen")?;
    }
    Ok(child)
}

/// What Claude Code would send.
fn call(session: &str, tool_use_id: &str) -> anyhow::Result<Value> {
    let directory = std::env::current_dir().context("the current directory is gone")?;
    Ok(json!({
        "session_id": session,
        "hook_event_name": "PreToolUse",
        "cwd": directory,
        "tool_name": "AskUserQuestion",
        "tool_use_id": tool_use_id,
        "tool_input": {"questions": [
            {
                "question": "Which database should the shop use?",
                "header": "Database",
                "multiSelect": false,
                "options": [
                    {"label": "SQLite", "description": "One file, nothing to run", "preview": "let db = Connection::open(\"shop.db\")?;"},
                    {"label": "PostgreSQL", "description": "A server, for more than one machine", "preview": "let db = Client::connect(\"host=localhost dbname=shop\", NoTls)?;"},
                ],
            },
            {
                "question": "What should be there from the first day?",
                "header": "Scope",
                "multiSelect": true,
                "options": [
                    {"label": "Tests", "description": "Against the real database"},
                    {"label": "Migrations", "description": "Forward only"},
                    {"label": "Backups", "description": "Every night"},
                ],
            },
        ]},
    }))
}
