//! Agents that ask: each has a session of its own, and makes one call after the other. All calls of a session have equal inputs, so that an
//! answer to an earlier one would be noticed.

use std::cell::Cell;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Output};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::chance::Chance;
use crate::model::{End, Model};
use crate::world::{HOOK, World, signal};

/// How long a hook may still wait when people answer everything.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a session asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Nobody is at the terminal: the first hook of the call waits.
    Held,
    /// The same, and two settings files have the hook.
    HeldTwice,
    /// A person is at the terminal: the hook beside the dialog waits.
    Race,
    /// A command that needs permission.
    Permission,
}

const WAYS: [Way; 4] = [Way::Held, Way::HeldTwice, Way::Race, Way::Permission];

struct Agent {
    world: Arc<World>,
    model: Arc<Model>,
    chance: Chance,
    session: String,
    way: Way,
    /// The number of the call that it makes.
    number: Cell<usize>,
}

/// What came of a hook.
struct Heard {
    end: End,
    stderr: String,
}

pub(crate) fn start(world: &Arc<World>, model: &Arc<Model>, chance: &Chance, count: usize) -> Vec<JoinHandle<()>> {
    (0..count)
        .map(|number| {
            let agent = Agent {
                world: Arc::clone(world),
                model: Arc::clone(model),
                chance: chance.another(),
                session: format!("session-{number}"),
                way: WAYS[number % WAYS.len()],
                number: Cell::new(0),
            };
            thread::spawn(move || {
                // They do not all begin at once.
                thread::sleep(agent.chance.up_to(Duration::from_secs(2)));
                for number in 0.. {
                    if !agent.model.goes_on() {
                        return;
                    }
                    agent.make_call(number);
                }
            })
        })
        .collect()
}

impl Agent {
    fn make_call(&self, number: usize) {
        self.number.set(number);
        let id = format!("t{number}");
        let key = format!("{}__{id}", self.session);
        self.model.begins(&self.session, &key);
        let heard = match self.way {
            Way::Held => self.until_told(|| vec![self.hook("PreToolUse", Some(&id), "")]),
            Way::HeldTwice => {
                self.until_told(|| ["", "auto"].map(|mode| self.hook("PreToolUse", Some(&id), mode)).into())
            }
            Way::Race | Way::Permission => {
                self.until_told(|| vec![self.hook("PreToolUse", Some(&id), "")]);
                if self.way == Way::Race && self.chance.percent(15) {
                    self.answered_at_the_terminal(&id)
                } else {
                    self.beside_the_dialog(self.hook("PermissionRequest", None, ""))
                }
            }
        };
        self.model.ended(&key, &heard.end, &heard.stderr);
        if heard.end == End::GivenUp {
            // Esc ends the turn. The agent goes on with the next prompt.
            self.until_told(|| vec![self.hook("UserPromptSubmit", None, "")]);
            return;
        }
        if matches!(self.way, Way::Race | Way::Permission) {
            self.until_told(|| vec![self.hook("PostToolUse", Some(&id), "")]);
        }
        if self.chance.percent(20) {
            self.comes_late(&id, &key);
        }
    }

    /// The person at the terminal answers while the hook waits.
    fn answered_at_the_terminal(&self, id: &str) -> Heard {
        let waiting = self.hook("PermissionRequest", None, "");
        thread::sleep(self.chance.up_to(Duration::from_millis(300)));
        self.until_told(|| vec![self.hook("PostToolUse", Some(id), "")]);
        self.model.count("calls answered at the terminal");
        self.beside_the_dialog(waiting)
    }

    /// A hook beside a dialog is not started again if it is killed: the dialog stays.
    fn beside_the_dialog(&self, hook: Child) -> Heard {
        let heard = self.hear(vec![hook]).unwrap_or(Heard { end: End::Unreached, stderr: String::new() });
        // A question is announced before its dialog is there, and may be answered before. If its hook then finds no daemon, the dialog stays.
        if self.way == Way::Race && heard.end == End::LeftToTerminal && !heard.stderr.is_empty() {
            return Heard { end: End::Unreached, ..heard };
        }
        heard
    }

    /// The hook that waited is started once more, after everything is over.
    fn comes_late(&self, id: &str, key: &str) {
        let hook = match self.way {
            Way::Held | Way::HeldTwice => self.hook("PreToolUse", Some(id), ""),
            Way::Race | Way::Permission => self.hook("PermissionRequest", None, ""),
        };
        let Some(heard) = self.hear(vec![hook]) else { return };
        match heard.end {
            End::Answered(answer) => self.model.told_late(key, Some(&answer)),
            End::LeftToTerminal | End::GivenUp | End::Unreached => self.model.told_late(key, None),
            End::Hung => self.model.ended(key, &End::Hung, "late"),
        }
    }

    /// Runs hooks until they end by themselves. A run whose hook was killed is resumed, and makes the same call again.
    fn until_told(&self, hooks: impl Fn() -> Vec<Child>) -> Heard {
        loop {
            if let Some(heard) = self.hear(hooks()) {
                return heard;
            }
            self.model.count("calls made again after a killed hook");
        }
    }

    /// Waits for the ends of hooks. Nothing if they were killed.
    fn hear(&self, hooks: Vec<Child>) -> Option<Heard> {
        let outputs: Vec<Option<Output>> = hooks.into_iter().map(|hook| self.output(hook)).collect();
        let mut all = Vec::new();
        for output in outputs {
            let Some(output) = output else { return Some(Heard { end: End::Hung, stderr: String::new() }) };
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            let end = match output.status.signal() {
                Some(9) => continue,
                Some(_) => End::GivenUp,
                None => self.answer(&output.stdout).map_or(End::LeftToTerminal, End::Answered),
            };
            all.push(Heard { end, stderr });
        }
        // Claude Code takes any decision, and none only if there is none.
        let answered = all.iter().position(|heard| matches!(heard.end, End::Answered(_)));
        let given_up = all.iter().position(|heard| heard.end == End::GivenUp);
        let index = answered.or(given_up).or((!all.is_empty()).then_some(0))?;
        Some(all.swap_remove(index))
    }

    fn output(&self, mut hook: Child) -> Option<Output> {
        let pid = hook.id();
        loop {
            if self.model.has_ended(pid, || hook.try_wait().unwrap().is_some()) {
                return Some(hook.wait_with_output().unwrap());
            }
            if Instant::now() > self.model.ends() + PATIENCE {
                signal(pid, Signal::KILL);
                hook.wait().unwrap();
                return None;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// What a hook printed, in the words of the person who answered.
    fn answer(&self, stdout: &[u8]) -> Option<String> {
        let printed: Value = serde_json::from_slice(stdout).ok()?;
        let output = &printed["hookSpecificOutput"];
        let text = match self.way {
            Way::Held | Way::HeldTwice => &output["updatedInput"]["answers"]["Which?"],
            Way::Race => &output["decision"]["updatedInput"]["answers"]["Which?"],
            Way::Permission => match output["decision"]["behavior"].as_str()? {
                "allow" => return Some("Allow once".to_owned()),
                _ => return Some("Deny".to_owned()),
            },
        };
        text.as_str().map(ToOwned::to_owned)
    }

    /// Starts a hook as Claude Code does.
    fn hook(&self, event: &str, id: Option<&str>, mode: &str) -> Child {
        let attended = matches!(self.way, Way::Race | Way::Permission);
        let (tool, input) = match self.way {
            Way::Permission => ("Bash", json!({"command": format!("make {}", self.session)})),
            _ => ("AskUserQuestion", json!({"questions": [self.question()]})),
        };
        let mut call = json!({
            "session_id": self.session, "transcript_path": "/none.jsonl", "cwd": "/home/me/shop",
            "permission_mode": "default", "hook_event_name": event, "tool_name": tool, "tool_input": input,
        });
        if let Some(id) = id {
            call["tool_use_id"] = json!(id);
        }
        if event == "PostToolUse" {
            call["tool_response"] = json!({"answers": {"Which?": "at the terminal"}});
        }
        let mut command = self.world.command(HOOK);
        command
            .args(Some(mode).filter(|mode| !mode.is_empty()))
            .env("CLAUDE_CODE_SESSION_ATTENDED", if attended { "1" } else { "0" })
            .env("CLAUDE_CODE_ENTRYPOINT", if attended { "cli" } else { "sdk-ts" });
        let mut hook = command.spawn().unwrap();
        // A hook that was killed reads nothing.
        drop(hook.stdin.take().unwrap().write_all(call.to_string().as_bytes()));
        self.model.is_there(hook.id());
        hook
    }

    /// The labels name the session, so that an answer to another one would be noticed. The hook beside a dialog does not name its call, and a
    /// daemon that was started since the call was announced knows it by its questions alone. So the questions of a race differ.
    fn question(&self) -> Value {
        let description =
            if self.way == Way::Race { format!("one of call {}", self.number.get()) } else { "one".to_owned() };
        let option = |letter: &str| json!({"label": format!("{letter} {}", self.session), "description": description});
        let options = ["A", "B", "C"].map(option);
        json!({"question": "Which?", "header": "Pick", "multiSelect": false, "options": options})
    }
}
