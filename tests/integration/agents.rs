//! What an agent has started does not decide, sign in or let in anybody. Linux only: elsewhere the kernel does not tell.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::kinds::suggestions;
use crate::phone::{LAN, admin};
use crate::world::{ANSWERBACK, HOOK, World, question, until};

/// Changes that every program may make: to ask, to take its own question back, to stop the daemon, and to sign itself out. A device that
/// is being paired has a code, and a page a name for its preview.
const FOR_ANYBODY: [&str; 8] = [
    "POST /v1/asks",
    "POST /v1/asks/{key}/withdraw",
    "POST /v1/asks/{key}/preview",
    "POST /v1/hooks/claude-code",
    "POST /v1/stop",
    "POST /v1/sign-out",
    "POST /v1/pairing/claim",
    "POST /v1/pairing/token",
];

/// A shell that runs what it is told. `$$` is its process.
struct Shell<'a> {
    world: &'a World,
    process: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl<'a> Shell<'a> {
    fn new(world: &'a World) -> Self {
        Self::of(world, &["sh"])
    }

    fn of(world: &'a World, command: &[&str]) -> Self {
        let mut shell = world.command(command[0]);
        let mut process = shell.args(&command[1..]).stderr(Stdio::inherit()).spawn().unwrap();
        let (stdin, stdout) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        Self { world, process, stdin, stdout }
    }

    /// Runs a command, and waits for it. Returns its status, and what it printed.
    fn run(&mut self, command: &str) -> (i32, String) {
        let file = self.world.home().join(format!("printed-{}", self.process.id()));
        writeln!(self.stdin, "{{ {command}\n}} </dev/null >'{}' 2>&1; echo $?", file.display()).unwrap();
        let mut status = String::new();
        self.stdout.read_line(&mut status).unwrap();
        (status.trim().parse().unwrap(), fs::read_to_string(file).unwrap())
    }

    /// As an agent, it runs a hook. `after` is what comes after the command.
    fn hook(&mut self, call: &Value, after: &str) {
        let file = self.world.home().join(format!("call-{}", self.process.id()));
        fs::write(&file, call.to_string()).unwrap();
        let environment = "CLAUDE_CODE_ENTRYPOINT=cli CLAUDE_CODE_SESSION_ATTENDED=1 CLAUDE_PID=$$";
        let (code, said) = self.run(&format!("{environment} {HOOK} <'{}' >/dev/null {after}", file.display()));
        assert_eq!(code, 0, "{said}");
    }

    /// As an agent, it says that a turn begins. So the daemon knows it.
    fn announced(mut self) -> Self {
        self.hook(&turn(), "");
        self
    }

    /// As an agent, it asks whether it may run a command.
    fn ask_permission(&mut self, session: &str, id: &str) -> String {
        let input = json!({"command": "npm test"});
        let mut call = json!({"hook_event_name": "PreToolUse", "session_id": session, "cwd": "/", "tool_name": "Bash",
            "tool_input": input, "tool_use_id": id});
        self.hook(&call, "");
        call["hook_event_name"] = json!("PermissionRequest");
        call.as_object_mut().unwrap().remove("tool_use_id");
        call.as_object_mut().unwrap().extend(suggestions("Bash", &input).as_object().unwrap().clone());
        self.hook(&call, "&");
        let world = self.world;
        let open = || {
            world.get("/v1/asks").json()["asks"].as_array().unwrap().iter().find(|ask| ask["session"] == session)?["key"].as_str().map(ToOwned::to_owned)
        };
        until("the permission to be asked for", open)
    }

    /// A request that a program of this shell sends. `over` are options of curl that say where to.
    fn send(&mut self, line: &str, over: &str) -> (u16, Value) {
        let (method, path) = line.split_once(' ').unwrap();
        let body = self.world.home().join("body");
        let command = format!(
            "curl --silent --show-error --max-time 20 -o '{}' -w '%{{http_code}}' -X {method} -d '{{}}' -H 'content-type: application/json' {over}{path}",
            body.display()
        );
        let (code, printed) = self.run(&command);
        assert_eq!(code, 0, "{line}: {printed}");
        (printed.parse().unwrap(), serde_json::from_slice(&fs::read(body).unwrap_or_default()).unwrap_or_default())
    }

    fn over_socket(&mut self, line: &str) -> (u16, Value) {
        let socket = self.world.state("daemon.sock");
        self.send(line, &format!("--unix-socket '{}' http://localhost", socket.display()))
    }

    fn over_tcp(&mut self, line: &str) -> (u16, Value) {
        let (token, address) = (self.world.token(), self.world.address());
        self.send(line, &format!("-H 'authorization: Bearer {token}' http://{address}"))
    }
}

impl Drop for Shell<'_> {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// What a hook says when a turn begins.
fn turn() -> Value {
    json!({"hook_event_name": "UserPromptSubmit", "session_id": "other", "cwd": "/", "prompt": "go"})
}

fn is_refused(reply: &(u16, Value)) -> bool {
    reply.0 == 403 && reply.1["type"] == "urn:answerback:problem:agent"
}

fn answer(key: &str) -> String {
    format!("env -i HOME=\"$HOME\" {ANSWERBACK} answer {key} 'Allow once'")
}

/// Every route that changes something, from the daemon's own description, with names in place of the parameters.
fn changes(world: &World, key: &str) -> Vec<(String, String)> {
    let description = world.get("/v1/openapi.json").json();
    let mut changes = Vec::new();
    for (path, methods) in description["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys().filter(|method| *method != "get" && *method != "parameters") {
            let route = format!("{} {path}", method.to_uppercase());
            let line = route.replace("{key}", key).replace("{id}", "1").replace("{name}", "box");
            changes.push((route, line));
        }
    }
    assert!(changes.len() > 15, "{changes:?}");
    changes
}

#[test]
fn the_programs_of_an_agent_decide_nothing_and_let_nobody_in() {
    let mut world = World::with_config(LAN);
    let (_hook, key) = world.ask("s", "t", &[question("Which?")]);
    let mut agent = Shell::new(&world).announced();
    for (route, line) in changes(&world, &key) {
        if FOR_ANYBODY.contains(&route.as_str()) {
            continue;
        }
        let reply = agent.over_socket(&line);
        assert!(is_refused(&reply), "{line} over the socket: {reply:?}");
        // The token of `daemon.json` is not good for all of them.
        let reply = agent.over_tcp(&line);
        assert!(
            is_refused(&reply) || reply.1["type"] == "urn:answerback:problem:scope",
            "{line} with the token: {reply:?}"
        );
    }
    let reply = agent.over_tcp(&format!("POST /v1/asks/{key}/answer"));
    assert!(is_refused(&reply), "{reply:?}");
    world.assert_open(&key);
    assert!(world.log().contains("an agent was kept from"), "{}", world.log());
    // What is for anybody is not refused, and neither is reading.
    for line in ["GET /v1/asks", "GET /v1/devices", "GET /v1/people", "GET /v1/hosts", "POST /v1/asks"] {
        let reply = agent.over_socket(line);
        assert!(!is_refused(&reply), "{line}: {reply:?}");
    }
    // A person's program is not refused by any of them.
    for (_, line) in changes(&world, "s__none").iter().filter(|(route, _)| route != "POST /v1/stop") {
        let reply = admin(&world, line, &json!({}));
        assert!(!String::from_utf8_lossy(&reply.body).contains("problem:agent"), "{line}");
    }
}

#[test]
fn an_agent_cannot_answer_for_another_one_and_the_shell_above_it_can() {
    let mut world = World::new();
    drop(world.daemon());
    let mut asker = Shell::new(&world);
    let key = asker.ask_permission("first", "t");
    let mut other = Shell::new(&world).announced();
    for agent in [&mut other, &mut asker] {
        for command in [
            answer(&key),
            format!("sh -c \"{}\"; exit $?", answer(&key)),
            format!("env -i HOME=\"$HOME\" {ANSWERBACK} dismiss {key}"),
        ] {
            let (code, said) = agent.run(&format!("( {command} )"));
            assert_eq!(code, 1, "{said}");
            assert!(said.contains("An agent has started this program"), "{said}");
        }
        for command in ["open --print", "away 'Do what you like' --for 1h", "back", "people add Eve --role admin"] {
            let (code, said) = agent.run(&format!("env -i HOME=\"$HOME\" {ANSWERBACK} {command}"));
            assert_eq!(code, 1, "{command}: {said}");
            assert!(said.contains("An agent has started this program"), "{command}: {said}");
        }
    }
    // A new daemon knows the agents of the one before.
    for kills in [false, true] {
        let pid = other.process.id().to_string();
        let is_kept = || fs::read_to_string(world.state("agents.json")).ok()?.contains(&pid).then_some(());
        until("the agent to be kept", is_kept);
        let end = if kills { format!("kill -9 {}", world.daemon_pid()) } else { format!("{ANSWERBACK} restart") };
        let (code, said) = other.run(&end);
        assert_eq!(code, 0, "{said}");
        let (code, said) = other.run(&answer(&key));
        assert!(code == 1 && said.contains("An agent has started this program"), "after {end}: {said}");
    }
    world.assert_open(&key);
    // A shell that has started an agent, as a person's does.
    let mut shell = Shell::new(&world);
    let file = world.home().join("call");
    fs::write(&file, turn().to_string()).unwrap();
    let agent = format!(
        "sh -c 'CLAUDE_PID=$$ {HOOK} <\"{}\"; {}; echo then $?'",
        file.display(),
        answer(&key).replace('\'', "\"")
    );
    let (_, said) = shell.run(&agent);
    assert!(said.contains("then 1"), "{said}");
    let (code, said) = shell.run(&answer(&key));
    assert_eq!(code, 0, "{said}");
}

#[test]
fn a_hook_speaks_for_the_agent_that_has_started_it_and_for_nobody_else() {
    let mut world = World::new();
    drop(world.daemon());
    let mut shell = Shell::new(&world);
    let key = Shell::new(&world).ask_permission("first", "t");
    // The number of a process in another container may be that of a person's shell.
    let pid = shell.process.id();
    let mut foreign = Shell::new(&world);
    let file = world.home().join("call");
    fs::write(&file, turn().to_string()).unwrap();
    let (code, said) = foreign.run(&format!("CLAUDE_PID={pid} {HOOK} <'{}'", file.display()));
    assert_eq!(code, 0, "{said}");
    let (code, said) = shell.run(&answer(&key));
    assert_eq!(code, 0, "{said}");
}

#[test]
fn what_approves_nothing_works_inside_an_agent() {
    let mut world = World::new();
    drop(world.daemon());
    let mut agent = Shell::new(&world).announced();
    let (_, said) = agent.run(&format!("{ANSWERBACK} doctor --json"));
    let findings: Value = serde_json::from_str(&said).unwrap();
    let round_trip = findings["findings"].as_array().unwrap().iter().find(|finding| finding["check"] == "round_trip");
    assert_eq!(round_trip.unwrap()["level"], "ok", "{findings}");
    for command in ["install --dry-run", "demo", "pending", "devices", "restart"] {
        let (code, said) = agent.run(&format!("{ANSWERBACK} {command}"));
        assert_eq!(code, 0, "{command}: {said}");
    }
    // To hand a question back is a decision.
    agent.hook(&turn(), "");
    let (code, said) = agent.run(&format!("{ANSWERBACK} stop --release"));
    assert!(code == 1 && said.contains("An agent has started this program"), "{said}");
}

/// A control group for a test. It is removed with this.
struct Group(std::path::PathBuf);

impl Group {
    /// `None` where nobody may make one.
    fn new() -> Option<Self> {
        let name = format!("answerback-test-{}", std::process::id());
        let roots = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"].map(std::path::Path::new);
        let root = roots.into_iter().find(|root| root.join("cgroup.procs").exists())?;
        let group = Self(root.join(name));
        fs::create_dir(&group.0).is_ok().then_some(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        until("the group to be empty", || fs::remove_dir(&self.0).ok());
    }
}

/// A program that outlives the shell that has started it. Its status, and what it printed.
fn run_detached(shell: &mut Shell<'_>, command: &str) -> (i32, String) {
    let (said, status) = (shell.world.home().join("said"), shell.world.home().join("status"));
    drop(fs::remove_file(&status));
    let (at, to) = (said.display(), status.display());
    let script = shell.world.home().join("script");
    fs::write(&script, format!("{{ {command}\n}} >'{at}' 2>&1; echo $? >'{to}.new'; mv '{to}.new' '{to}'")).unwrap();
    let (code, printed) = shell.run(&format!("setsid -f sh '{}'", script.display()));
    assert_eq!(code, 0, "{printed}");
    let status = until("the program's end", || fs::read_to_string(&status).ok());
    (status.trim().parse().unwrap(), fs::read_to_string(said).unwrap())
}

#[test]
fn what_outlives_its_parent_is_known_by_the_group_of_its_agent() {
    let Some(group) = Group::new() else {
        println!("skipped: no control group can be made here");
        return;
    };
    let mut world = World::new();
    drop(world.daemon());
    let keys = [("first", "t"), ("second", "u")].map(|(session, id)| Shell::new(&world).ask_permission(session, id));
    let mut agent = Shell::new(&world);
    let (code, said) = agent.run(&format!("echo $$ >'{}/cgroup.procs'", group.0.display()));
    assert_eq!(code, 0, "{said}");
    let mut agent = agent.announced();
    let (code, said) = run_detached(&mut agent, &answer(&keys[0]));
    assert!(code == 1 && said.contains("An agent has started this program"), "{said}");
    // A shell and its agent usually share a group. Then it says nothing, because it would lock out the person.
    let mut sharing = Shell::new(&world).announced();
    let (code, said) = run_detached(&mut sharing, &answer(&keys[1]));
    assert_eq!(code, 0, "{said}");
    let (code, said) = Shell::new(&world).run(&answer(&keys[0]));
    assert_eq!(code, 0, "{said}");
}
