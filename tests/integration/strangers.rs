//! Other agents read Claude Code's settings, too, and start the hook in them. For them, it is as if it were not there.

use crate::world::{HOOK, World, call, question};

/// What each of them sets for the hooks that it starts. All of them set `CLAUDE_PROJECT_DIR`, too.
const STRANGERS: [(&str, &str, &str); 4] = [
    ("Copilot CLI", "COPILOT_CLI", "1"),
    ("Cursor", "CURSOR_VERSION", "3.12.1"),
    ("Gemini CLI", "GEMINI_SESSION_ID", "0c5e"),
    ("Qwen Code", "QWEN_PROJECT_DIR", "/home/me/shop"),
];

#[test]
fn the_hook_tells_other_agents_nothing_and_starts_no_daemon() {
    for (agent, name, value) in STRANGERS {
        let mut world = World::new();
        for event in ["PreToolUse", "PermissionRequest", "Stop"] {
            let mut call = call("s", "t", &[question("Which?")]);
            call["hook_event_name"] = event.into();
            let mut command = world.command(HOOK);
            command.env("CLAUDE_PROJECT_DIR", "/home/me/shop").env(name, value);
            let output = world.hook_with(command, call.to_string().as_bytes()).no_decision();
            assert!(output.status.success() && output.stderr.is_empty(), "{agent}, {event}: {output:?}");
        }
        assert!(!world.state("daemon.sock").exists(), "{agent} has started a daemon");
    }
}

#[test]
fn claude_code_in_the_shell_of_another_agent_is_still_claude_code() {
    let mut world = World::new();
    // A shell plays Claude Code. This process must not, because an agent and what it has started may not answer.
    let mut command = world.command("sh");
    command.args(["-c", "CLAUDE_PID=$$ \"$0\"; exit", HOOK]).env("COPILOT_CLI", "1");
    let hook = world.hook_with(command, call("s", "t", &[question("Which?")]).to_string().as_bytes());
    world.until_open("s__t");
    world.answer("s__t", &serde_json::json!({"Which?": "A"})).expect(200);
    assert_eq!(hook.reply()["permissionDecision"], "allow");
}
