use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use tokio::task::JoinHandle;

use super::*;
use crate::ask::permission::{ALLOW_ONCE, DENY};
use crate::ask::{Answer, Outcome};
use crate::store::samples::in_scratch_dir;

/// What happens to an agent, in any order. Commands and calls are few, so that they are often equal.
#[derive(Debug, Clone)]
enum Step {
    /// The agent is about to make a call.
    Name {
        command: u8,
        call: u8,
    },
    /// The agent asks for permission.
    Request {
        command: u8,
    },
    /// A call has run, because of us or because of the terminal.
    Ran {
        command: u8,
        call: u8,
    },
    /// A batch with this call is over.
    Batch {
        call: u8,
    },
    Stop,
    /// A hook is ended by its agent.
    HangUp {
        request: u8,
    },
    /// A hook that lost its daemon comes back.
    Resume {
        request: u8,
    },
    /// A person decides about the ask of a request.
    Decide {
        request: u8,
        text: &'static str,
    },
    Dismiss {
        request: u8,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (command, call, request) = (0..2u8, 0..4u8, 0..6u8);
    let words = prop_oneof![Just(ALLOW_ONCE), Just(DENY), Just("allow once"), Just("yes, run it")];
    let step = prop_oneof![
        3 => (command.clone(), call.clone()).prop_map(|(command, call)| Step::Name { command, call }),
        4 => command.clone().prop_map(|command| Step::Request { command }),
        2 => (command, call.clone()).prop_map(|(command, call)| Step::Ran { command, call }),
        1 => call.prop_map(|call| Step::Batch { call }),
        1 => Just(Step::Stop),
        1 => request.clone().prop_map(|request| Step::HangUp { request }),
        2 => request.clone().prop_map(|request| Step::Resume { request }),
        4 => (request.clone(), words).prop_map(|(request, text)| Step::Decide { request, text }),
        1 => request.prop_map(|request| Step::Dismiss { request }),
    ];
    prop::collection::vec(step, 1..30)
}

/// The connection of a hook. It remembers what it was parked on.
#[derive(Clone, Default)]
struct Wire(Arc<Mutex<Option<AskKey>>>);

impl Wire {
    fn key(&self) -> Option<AskKey> {
        self.0.lock().unwrap().clone()
    }
}

impl Line for Wire {
    async fn heard(&self) -> bool {
        true
    }

    async fn say_parked(&self, key: &AskKey) {
        *self.0.lock().unwrap() = Some(key.clone());
    }

    async fn closed(&self) {
        std::future::pending().await
    }
}

/// One hook that asked for permission.
struct Request {
    command: u8,
    /// The ask that it is or was parked on. `None` if it was answered at once.
    key: Option<AskKey>,
    hook: Option<JoinHandle<Option<Value>>>,
}

struct Agent {
    bridge: Arc<Bridge>,
    requests: Vec<Request>,
    /// The asks that a person allowed, with the command that they allowed.
    allowed: HashMap<AskKey, u8>,
}

fn client() -> Client {
    let text = |text: &str| Some(text.to_owned());
    Client { attended: text("1"), entrypoint: text("cli"), agent_pid: text("7"), ..Client::default() }
}

fn body(event: &str, command: Option<u8>, call: Option<u8>) -> Vec<u8> {
    let mut body = json!({"hook_event_name": event, "session_id": "s"});
    if let Some(command) = command {
        body["tool_name"] = json!("Bash");
        body["tool_input"] = json!({"command": format!("command {command}")});
    }
    if let Some(call) = call {
        body["tool_use_id"] = json!(format!("t{call}"));
        body["tool_calls"] = json!([{"tool_use_id": format!("t{call}"), "tool_response": "no"}]);
    }
    body.to_string().into_bytes()
}

impl Agent {
    async fn tell(&self, body: Vec<u8>) {
        let reply = self.bridge.hand_in(body, client(), None, Wire::default()).await.unwrap();
        assert_eq!(reply.output, None, "a call that asks nothing gets a decision");
    }

    /// Runs a hook until it is parked or answered.
    async fn request(&self, command: u8, resumed: Option<AskKey>) -> (Option<AskKey>, JoinHandle<Option<Value>>) {
        let (bridge, wire) = (Arc::clone(&self.bridge), Wire::default());
        let line = wire.clone();
        let resumed = resumed.map(|key| Resumed(Some(key)));
        let hook = tokio::spawn(async move {
            let body = body("PermissionRequest", Some(command), None);
            bridge.hand_in(body, client(), resumed, line).await.unwrap().output
        });
        while wire.key().is_none() && !hook.is_finished() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        (wire.key(), hook)
    }

    fn at(&mut self, request: u8) -> Option<&mut Request> {
        let count = self.requests.len();
        self.requests.get_mut(usize::from(request) % count.max(1))
    }

    async fn settle(&mut self, request: u8, outcome: impl FnOnce(&Ask) -> Outcome, allows: bool) {
        let Some((key, command)) = self.at(request).and_then(|request| Some((request.key.clone()?, request.command)))
        else {
            return;
        };
        let registry = self.bridge.registry.clone();
        let ask = registry.get(&key).await.unwrap().unwrap();
        let settled = registry.settle(ask.id, outcome(&ask), None).await;
        if settled.is_ok() && allows {
            self.allowed.insert(key, command);
        }
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::Name { command, call } => self.tell(body("PreToolUse", Some(command), Some(call))).await,
            Step::Ran { command, call } => self.tell(body("PostToolUse", Some(command), Some(call))).await,
            Step::Batch { call } => self.tell(body("PostToolBatch", None, Some(call))).await,
            Step::Stop => self.tell(body("Stop", None, None)).await,
            Step::Request { command } => {
                let (key, hook) = self.request(command, None).await;
                self.requests.push(Request { command, key, hook: Some(hook) });
            }
            Step::HangUp { request } => {
                if let Some(hook) = self.at(request).and_then(|request| request.hook.take()) {
                    hook.abort();
                }
            }
            Step::Resume { request: index } => {
                let Some(request) = self.at(index) else { return };
                // Only a hook that still waits can lose its daemon.
                let Some(hook) = request.hook.take_if(|hook| !hook.is_finished()) else { return };
                hook.abort();
                let (command, key) = (request.command, request.key.clone());
                let (parked_on, hook) = self.request(command, key.clone()).await;
                if let Some(request) = self.at(index) {
                    request.key = parked_on.or(key);
                    request.hook = Some(hook);
                }
            }
            Step::Decide { request, text } => {
                let answer = |ask: &Ask| {
                    let answers = [(ask.questions.as_slice()[0].question.clone(), text.to_owned())].into();
                    Outcome::Answered(Answer { answers, notes: Default::default(), edited: None })
                };
                self.settle(request, answer, text == ALLOW_ONCE).await;
            }
            Step::Dismiss { request } => self.settle(request, |_| Outcome::Dismissed { reason: None }, false).await,
        }
    }
}

async fn run(steps: Vec<Step>) {
    let (_dir, opening, snapshot) = in_scratch_dir();
    let (registry, store) = Registry::start(opening, snapshot).unwrap();
    let bridge = Arc::new(Bridge::new(registry, Rules::default(), 100, false, [].into()));
    let mut agent = Agent { bridge, requests: Vec::new(), allowed: HashMap::new() };
    for step in steps {
        agent.take(step).await;
    }
    // The end of the session ends every hook that still waits.
    agent.tell(body("SessionEnd", None, None)).await;
    let mut used = HashSet::new();
    for request in agent.requests {
        let Some(hook) = request.hook else { continue };
        let Ok(Some(output)) = hook.await else { continue };
        if output["hookSpecificOutput"]["decision"]["behavior"] != "allow" {
            continue;
        }
        let key = request.key.unwrap_or_else(|| panic!("a hook that was never parked was allowed: {output}"));
        assert_eq!(agent.allowed.get(&key), Some(&request.command), "nobody allowed {key}");
        assert!(used.insert(key), "one approval allowed two calls");
    }
    store.close().await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// An approval is for one call, and only a person gives it.
    #[test]
    fn no_sequence_of_events_makes_an_approval_that_nobody_gave(steps in steps()) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(run(steps));
    }
}
