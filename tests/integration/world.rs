//! A scratch `HOME` for the real programs. When it is dropped, it ends every process that they started.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http::{Reply, Request};

pub(crate) const HOOK: &str = env!("CARGO_BIN_EXE_answerback-hook");
pub(crate) const ANSWERBACK: &str = env!("CARGO_BIN_EXE_answerback");

/// A user with no rights.
pub(crate) const NOBODY: u32 = 65534;

/// Longer than anything takes, even on a busy machine. A test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// The hook promises two seconds. A busy machine may need as long again to start and to end a process.
pub(crate) const IN_TIME: Duration = Duration::from_secs(4);

pub(crate) struct World {
    home: TempDir,
    children: Vec<u32>,
}

/// Polls until a condition holds. Only for conditions that nothing announces.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Makes a program. Another process writes the file: if this one did, another test could start a process while the file is open for
/// writing, and a program that is open for writing cannot be run.
pub(crate) fn make_program(path: &Path, content: &[u8]) {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "cat >\"$0\" && chmod 755 \"$0\""]).arg(path).stdin(Stdio::piped());
    let mut writer = command.spawn().unwrap();
    writer.stdin.take().unwrap().write_all(content).unwrap();
    assert!(writer.wait().unwrap().success());
}

/// Makes a copy of a program.
pub(crate) fn copy_program(from: &str, to: &Path) {
    make_program(to, &fs::read(from).unwrap());
}

pub(crate) fn question(text: &str) -> Value {
    json!({"question": text, "header": "Pick", "multiSelect": false, "options": [
        {"label": "A", "description": "first"}, {"label": "B", "description": "second"}]})
}

/// A PreToolUse call of `AskUserQuestion`, as Claude Code sends it.
pub(crate) fn call(session: &str, tool_use_id: &str, questions: &[Value]) -> Value {
    json!({
        "session_id": session, "transcript_path": "/none.jsonl", "cwd": "/home/me/shop", "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": "AskUserQuestion", "tool_use_id": tool_use_id,
        "tool_input": {"questions": questions},
    })
}

pub(crate) fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.cast_signed()).unwrap();
    // The process may be gone already. That is fine, because most signals are there to end it.
    let _ = kill_process(pid, signal);
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with_config("")
    }

    /// The daemon takes any free port.
    pub(crate) fn with_config(config: &str) -> Self {
        let world = Self { home: tempfile::tempdir().unwrap(), children: Vec::new() };
        world.write_config(&format!("port = 0\n{config}"));
        world
    }

    pub(crate) fn write_config(&self, config: &str) {
        let dir = self.home().join(".config/answerback");
        fs::create_dir_all(&dir).unwrap();
        let file = dir.join("config.toml");
        fs::write(&file, config).unwrap();
        // Whatever the umask of the tests is.
        fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn state(&self, name: &str) -> PathBuf {
        self.home().join(".local/state/answerback").join(name)
    }

    /// A program with this world as its only environment.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("HOME", self.home());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Starts a hook as Claude Code does.
    pub(crate) fn hook(&mut self, call: &Value) -> Hook {
        self.hook_of(HOOK, call.to_string().as_bytes())
    }

    pub(crate) fn hook_of(&mut self, program: impl AsRef<std::ffi::OsStr>, stdin: &[u8]) -> Hook {
        self.hook_with(self.command(program), stdin)
    }

    pub(crate) fn hook_with(&mut self, mut command: Command, stdin: &[u8]) -> Hook {
        let mut child = command.spawn().unwrap();
        self.children.push(child.id());
        // A hook that gives up early may not read all of its input.
        drop(child.stdin.take().unwrap().write_all(stdin));
        Hook { child, started: Instant::now() }
    }

    /// Starts a hook, and waits until its question is open and the hook knows that it is parked.
    pub(crate) fn ask(&mut self, session: &str, tool_use_id: &str, questions: &[Value]) -> (Hook, String) {
        let hook = self.hook(&call(session, tool_use_id, questions));
        let key = format!("{session}__{tool_use_id}");
        self.until_open(&key);
        self.until_parked(&hook);
        (hook, key)
    }

    /// Starts the daemon and waits until it can be reached.
    pub(crate) fn daemon(&mut self) -> Child {
        self.daemon_with(|_| ())
    }

    /// Like [`Self::daemon`], but `prepare` changes the command first.
    pub(crate) fn daemon_with(&mut self, prepare: impl FnOnce(&mut Command)) -> Child {
        let mut command = self.command(ANSWERBACK);
        prepare(command.args(["daemon", "--background"]));
        self.daemon_of(command)
    }

    /// A daemon that this command starts. Waits until it can be reached.
    pub(crate) fn daemon_of(&mut self, mut command: Command) -> Child {
        let mut child = command.spawn().unwrap();
        self.children.push(child.id());
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "ready\n", "{}", self.log());
        child
    }

    /// Ends a daemon as its user would, and waits for its end.
    pub(crate) fn stop_daemon(&self, daemon: &mut Child) {
        signal(daemon.id(), Signal::TERM);
        self.until_ended(daemon);
    }

    /// Waits for a daemon that ends by itself.
    #[track_caller]
    pub(crate) fn until_ended(&self, daemon: &mut Child) -> ExitStatus {
        until("the daemon's end", || daemon.try_wait().unwrap())
    }

    /// Gives all files of this world to a user without rights. Only root can do that.
    pub(crate) fn give_to_nobody(&self) {
        let mut left = vec![self.home().to_path_buf()];
        while let Some(path) = left.pop() {
            std::os::unix::fs::lchown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
            if path.is_dir() && !path.is_symlink() {
                left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            }
        }
    }

    /// The content of `daemon.json`, if the file exists.
    pub(crate) fn daemon_json(&self) -> Option<Value> {
        serde_json::from_str(&fs::read_to_string(self.state("daemon.json")).ok()?).ok()
    }

    pub(crate) fn daemon_pid(&self) -> u32 {
        let pid = until("daemon.json", || self.daemon_json()?["pid"].as_u64());
        u32::try_from(pid).unwrap()
    }

    /// Kills the daemon with `kill -9`, and waits until it is dead. Then its lock is free.
    pub(crate) fn kill_daemon(&self) -> u32 {
        let pid = self.daemon_pid();
        signal(pid, Signal::KILL);
        until("the daemon's end", || is_dead(pid).then_some(()));
        pid
    }

    /// Kills the daemon once a hook is parked, and waits for the daemon that the hook starts.
    pub(crate) fn kill_daemon_once_parked(&self, hook: &Hook) {
        self.until_parked(hook);
        let pid = self.kill_daemon();
        self.until_daemon_other_than(pid);
    }

    /// Waits until a hook knows that its question is stored. From then on, the hook polls without a time limit. A hook that has ended counts
    /// too.
    pub(crate) fn until_parked(&self, hook: &Hook) {
        until("the hook to be parked", || {
            let Ok(call) = fs::read_to_string(format!("/proc/{}/syscall", hook.pid())) else { return Some(()) };
            // It has ended. Nobody has asked yet how, so it still has an entry, but it has no stack any more.
            if call.trim() == "-1 0x0 0x0" {
                return Some(());
            }
            let fields: Vec<&str> = call.split(' ').collect();
            let (is_poll, is_ppoll) = (fields.first() == Some(&"7"), fields.first() == Some(&"73"));
            let timeout = *fields.get(3)?;
            (is_poll && timeout.ends_with("ffffffff") || is_ppoll && timeout == "0x0").then_some(())
        });
    }

    /// Waits for a daemon that somebody else starts.
    pub(crate) fn until_daemon_other_than(&self, pid: u32) {
        until("another daemon", || {
            let found = self.daemon_json()?["pid"].as_u64()?;
            (found != u64::from(pid) && self.try_get("/healthz").is_ok()).then_some(())
        });
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.state("daemon.log")).unwrap_or_default()
    }

    pub(crate) fn address(&self) -> String {
        let json = until("daemon.json", || self.daemon_json());
        json["url"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned()
    }

    pub(crate) fn token(&self) -> String {
        until("daemon.json", || self.daemon_json())["token"].as_str().unwrap().to_owned()
    }

    /// The headers of an honest companion program.
    pub(crate) fn headers(&self) -> Vec<(String, String)> {
        self.headers_with(Some(&self.token()))
    }

    /// The same with another token, or without one.
    pub(crate) fn headers_with(&self, token: Option<&str>) -> Vec<(String, String)> {
        let mut headers = vec![("host", self.address()), ("content-type", "application/json".to_owned())];
        headers.extend(token.map(|token| ("authorization", format!("Bearer {token}"))));
        headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// A request with this token, or without one.
    pub(crate) fn send(&self, token: Option<&str>, line: &str, body: &Value) -> Reply {
        let (headers, body) = (self.headers_with(token), body.to_string());
        Request { line, headers, body: body.as_bytes() }.over_tcp(&self.address()).unwrap()
    }

    pub(crate) fn try_get(&self, path: &str) -> std::io::Result<Reply> {
        Request { line: &format!("GET {path}"), headers: self.headers(), body: b"" }.over_tcp(&self.address())
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.try_get(path).unwrap()
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        self.post_bytes(path, body.to_string().as_bytes())
    }

    pub(crate) fn post_bytes(&self, path: &str, body: &[u8]) -> Reply {
        let request = Request { line: &format!("POST {path}"), headers: self.headers(), body };
        request.over_tcp(&self.address()).unwrap()
    }

    pub(crate) fn answer(&self, key: &str, answers: &Value) -> Reply {
        self.post(&format!("/v1/asks/{key}/answer"), &json!({"answers": answers}))
    }

    /// Waits until this ask is open. The daemon may still be starting, or starting again.
    pub(crate) fn until_open(&self, key: &str) {
        let open = |list: &Value| list["asks"].as_array().unwrap().iter().any(|ask| ask["key"] == key);
        until(&format!("{key} to open: {}", self.log()), || {
            let list = self.try_get("/v1/asks").ok().filter(|reply| reply.status == 200)?.json();
            if open(&list) {
                return Some(());
            }
            let cursor = list["cursor"].as_str()?;
            let next = self.try_get(&format!("/v1/asks?since={cursor}&wait=2")).ok();
            open(&next.filter(|reply| reply.status == 200)?.json()).then_some(())
        });
    }

    /// Asserts that an ask is open. A hook that still waits proves less, because its reply may be on its way. An outcome is stored before
    /// anybody is told about it.
    #[track_caller]
    pub(crate) fn assert_open(&self, key: &str) {
        let ask = self.get(&format!("/v1/asks/{key}")).expect(200).json();
        assert_eq!(ask["state"], "open", "{ask}");
    }

    /// Waits until the ask is settled, and returns it.
    pub(crate) fn settled(&self, key: &str) -> Value {
        let ask = self.get(&format!("/v1/asks/{key}?wait=20")).expect(200).json();
        assert_eq!(ask["state"], "settled", "{ask}");
        ask
    }
}

fn is_dead(pid: u32) -> bool {
    // A zombie counts as dead. It has released everything once its threads have ended, and its parent may be a waiting hook.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let threads = fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    threads == 0 || (threads == 1 && stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
}

impl World {
    /// Kills every process that has this home. False if there is none.
    fn kill_processes(&self) -> bool {
        let home = format!("HOME={}", self.home().display());
        let mut found = false;
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            if environment.split(|byte| *byte == 0).any(|variable| variable == home.as_bytes()) {
                signal(pid, Signal::KILL);
                found = true;
            }
        }
        found
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // The hooks end first, because they would start another daemon.
        for child in &self.children {
            signal(*child, Signal::KILL);
        }
        // A process that is killed may have started another one just before, so this looks until there is none.
        while self.kill_processes() {}
        if thread::panicking() {
            eprintln!("the daemon's log:\n{}", self.log());
        }
    }
}

/// A running hook.
pub(crate) struct Hook {
    child: Child,
    pub(crate) started: Instant,
}

impl Hook {
    /// Starts any program that the test waits for as for a hook.
    pub(crate) fn start(command: &mut Command) -> Self {
        Self { child: command.spawn().unwrap(), started: Instant::now() }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Closes the reading end of the hook's standard output.
    pub(crate) fn stop_listening(&mut self) {
        drop(self.child.stdout.take());
    }

    /// Whether the hook is still waiting.
    pub(crate) fn is_waiting(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for the hook's end and returns its output. The hook must always succeed.
    #[track_caller]
    pub(crate) fn output(self) -> Output {
        let output = self.finish();
        assert!(output.status.success(), "{output:?}");
        output
    }

    /// Waits for the hook's end, whatever its status. A hook that does not end is killed, and its status shows that.
    pub(crate) fn finish(self) -> Output {
        self.finish_within(PATIENCE)
    }

    /// The same, with another patience.
    pub(crate) fn finish_within(self, patience: Duration) -> Output {
        let pid = self.pid();
        let (ended, end) = mpsc::channel::<()>();
        thread::spawn(move || {
            if end.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                signal(pid, Signal::KILL);
            }
        });
        let output = self.child.wait_with_output().unwrap();
        drop(ended);
        output
    }

    /// The decision that the hook printed.
    #[track_caller]
    pub(crate) fn reply(self) -> Value {
        let output = self.output();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let mut reply: Value = serde_json::from_slice(&output.stdout).unwrap();
        reply["hookSpecificOutput"].take()
    }

    /// Checks that the hook printed no decision.
    #[track_caller]
    pub(crate) fn no_decision(self) -> Output {
        let output = self.output();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "");
        output
    }
}
