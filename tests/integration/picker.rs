//! `answerback answer` in a real terminal, which is tmux.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::kinds::{ATTENDED, HOSTED};
use crate::terminal::Terminal;
use crate::world::{ANSWERBACK, Hook, World, question, signal, until};

impl<'a> Terminal<'a> {
    pub(crate) fn open(world: &'a World, columns: u16, rows: u16) -> Self {
        Self::open_with(world, columns, rows, "", "")
    }

    /// A terminal in which a shell has started the picker. The shell says how the picker ended and how the terminal was before and
    /// after, and stays.
    pub(crate) fn open_with(world: &'a World, columns: u16, rows: u16, environment: &str, options: &str) -> Self {
        let home = world.home().display();
        let script = format!(
            "stty -g > {home}/before; env {environment} {ANSWERBACK} answer {options}; code=$?; stty -g > {home}/after; \
             echo \"exit $code\"; exec sleep 600"
        );
        Self::run(world, columns, rows, &script)
    }

    /// The picker's process.
    pub(crate) fn pid(&self) -> u32 {
        let shell = self.tmux(&["display-message", "-p", "#{pane_pid}"]);
        let shell = shell.trim();
        let child = fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();
        child.trim().parse().unwrap()
    }

    /// It has ended so, and the terminal is what it was.
    #[track_caller]
    pub(crate) fn ended(&self, code: i32) -> String {
        let screen = self.shows(&format!("exit {code}\n"));
        let state =
            self.tmux(&["display-message", "-p", "alternate #{alternate_on} cursor #{cursor_flag} wrap #{wrap_flag}"]);
        assert_eq!(state, "alternate 0 cursor 1 wrap 1\n");
        let stty = |name: &str| fs::read_to_string(self.world.home().join(name)).unwrap();
        assert_eq!(stty("before"), stty("after"));
        screen
    }
}

fn answers(hook: Hook) -> (Value, Value) {
    let mut reply = hook.reply();
    let mut input = reply["updatedInput"].take();
    (input["answers"].take(), input["annotations"].take())
}

fn multi(text: &str) -> Value {
    json!({"question": text, "header": "Parts", "multiSelect": true, "options": [
        {"label": "Tests", "description": "all of them"}, {"label": "Docs", "description": ""}]})
}

fn with_previews(text: &str) -> Value {
    let long: String = (1..=60).map(|line| format!("line {line}\n")).collect();
    json!({"question": text, "header": "Look", "multiSelect": false, "options": [
        {"label": "Table", "description": "", "preview": "+---+\n| a |\n+---+"},
        {"label": "Long", "description": "", "preview": long}]})
}

#[test]
fn an_option_is_chosen_with_the_arrows() {
    let mut world = World::new();
    let (hook, _) = world.ask("s", "t", &[question("Which?")]);
    let terminal = Terminal::open(&world, 80, 24);
    let screen = terminal.shows("❯ 1. A");
    assert!(screen.contains("shop  session s · asked ") && screen.contains("Which?"), "{screen}");
    terminal.press(&["Down"]).shows("❯ 2. B");
    terminal.press(&["Enter"]);
    let screen = terminal.ended(0);
    assert!(screen.contains("Which? B"), "{screen}");
    assert_eq!(answers(hook).0, json!({"Which?": "B"}));
}

#[test]
fn one_question_after_the_other_the_longest_waiting_first() {
    let mut world = World::new();
    let hooks: Vec<_> = [("t1", "First?"), ("t2", "Second?"), ("t3", "Third?"), ("t4", "Fourth?")]
        .iter()
        .map(|(id, text)| world.ask("s", id, &[question(text)]).0)
        .collect();
    let terminal = Terminal::open_with(&world, 80, 24, "", "--all");
    terminal.shows("First?");
    terminal.press(&["Enter"]).shows("Second?");
    // This one is settled elsewhere, and the next one comes.
    world.answer("s__t2", &json!({"Second?": "A"})).expect(200);
    terminal.shows("Third?");
    terminal.press(&["2"]).shows("Fourth?");
    terminal.press(&["C-c"]);
    let screen = terminal.ended(130);
    assert!(screen.contains("3 more to answer.") && screen.contains("Third? B"), "{screen}");
    world.assert_open("s__t4");
    drop(terminal);
    // Without the option, it says how to go on.
    let (_hook, _) = world.ask("s", "t5", &[question("Fifth?")]);
    let terminal = Terminal::open(&world, 80, 24);
    terminal.shows("Fourth?");
    terminal.press(&["Enter"]);
    let screen = terminal.ended(0);
    assert!(screen.contains("1 more to answer. To go on: answerback answer --all"), "{screen}");
    drop(hooks);
}

#[test]
fn a_command_is_read_before_it_is_allowed() {
    let mut world = World::new();
    let lines: String = (1..=60).map(|line| format!("echo {line}\n")).collect();
    let hook = ATTENDED.ask(&mut world, "Bash", &json!({"command": format!("{lines}echo \u{202e}last")}), "t");
    let terminal = Terminal::open(&world, 80, 24);
    // The cursor begins where Enter approves nothing, and a number only moves it.
    let screen = terminal.shows("❯ 3. Deny");
    assert!(screen.contains("Allow Bash?") && screen.contains("echo 1"), "{screen}");
    terminal.press(&["1"]).shows("❯ 1. Allow once");
    terminal.press(&["Enter"]).shows("Read all of it first");
    world.assert_open("s__t");
    terminal.press(&["v"]).shows("Esc back");
    // What is skipped before it could be drawn was not read, so each page has to be seen.
    for seen in ["echo 40", "echo 60", "Option:", "Only this call."] {
        terminal.press(&["NPage"]).shows(seen);
    }
    terminal.press(&["Escape"]).shows("❯ 1. Allow once");
    terminal.press(&["Enter"]);
    terminal.ended(0);
    assert_eq!(hook.reply()["decision"], json!({"behavior": "allow"}));
}

#[test]
fn a_refused_value_is_shown_at_its_field() {
    let mut world = World::new();
    let form = json!({"mcp_server_name": "shop", "message": "Where does it run?", "mode": "form", "requested_schema": {
        "type": "object", "required": ["port"], "properties": {
            "port": {"type": "integer", "title": "Port", "maximum": 65535}, "name": {"type": "string", "title": "Name"}}}});
    let hook = HOSTED.call(&mut world, "Elicitation", "", &json!(null), &form);
    world.until_parked(&hook);
    let terminal = Terminal::open(&world, 80, 24);
    terminal.shows("a whole number, at most 65535, required");
    terminal.type_text("70000").press(&["Tab"]).shows("text, may be left out");
    terminal.press(&["Enter"]).shows("❯ Submit");
    terminal.press(&["Enter"]).shows("Port: must be at most 65535.");
    terminal.press(&["C-u"]).type_text("8080").press(&["Enter"]).shows("❯ Submit");
    terminal.press(&["Enter"]);
    terminal.ended(0);
    assert_eq!(hook.reply()["content"], json!({"port": 8080}));
}

#[test]
fn several_questions_are_answered_back_and_forth() {
    let mut world = World::new();
    let mut last = question("Name?");
    last["header"] = json!("Name");
    let (hook, _) = world.ask("s", "t", &[question("Which?"), multi("What?"), last]);
    let terminal = Terminal::open(&world, 80, 24);
    terminal.shows("Which?");
    terminal.press(&["Tab"]).shows("❯ 1. [ ] Tests");
    terminal.press(&["Space", "2", "3"]).shows("[✓] Docs");
    terminal.type_text("日本語 q").press(&["Enter"]).shows("❯ Continue");
    terminal.press(&["Enter"]).shows("Name?");
    terminal.press(&["1"]).shows("no answer yet");
    terminal.press(&["Enter"]).shows("Pick has no answer yet.");
    terminal.press(&["n"]).shows("Note, sent with your answer");
    terminal.type_text("because: d, r").press(&["Enter"]).shows("Note: because: d, r");
    terminal.press(&["2"]).shows("❯ Submit");
    terminal.press(&["BTab"]).shows("Name?");
    terminal.press(&["Down", "Enter"]).shows("❯ Submit");
    terminal.press(&["Enter"]);
    terminal.ended(0);
    let (answers, annotations) = answers(hook);
    assert_eq!(answers, json!({"Which?": "B", "What?": "Tests, Docs, 日本語 q", "Name?": "B"}));
    assert_eq!(annotations, json!({"Which?": {"notes": "because: d, r"}}));
}

#[test]
fn pasted_lines_are_text() {
    let mut world = World::new();
    let (hook, _) = world.ask("s", "t", &[question("Which?")]);
    let terminal = Terminal::open(&world, 80, 24);
    terminal.shows("❯ 1. A");
    terminal.paste("2\nq\nd\n").shows("❯ 3. Other");
    terminal.press(&["Left", "BSpace"]).type_text("D").press(&["Enter"]);
    terminal.ended(0);
    assert_eq!(answers(hook).0, json!({"Which?": "2\nq\nD"}));
}

#[test]
fn dismissed_released_or_left() {
    let mut world = World::new();
    let (hook, _) = world.ask("s", "t", &[question("Which?")]);
    {
        let terminal = Terminal::open(&world, 80, 24);
        terminal.shows("❯ 1. A");
        terminal.press(&["Escape"]);
        assert!(terminal.ended(130).contains("the question stays open"));
    }
    {
        let terminal = Terminal::open(&world, 80, 24);
        terminal.shows("❯ 1. A");
        terminal.press(&["Space", "q"]).shows("Nothing is sent");
        terminal.press(&["C-c"]);
        terminal.ended(130);
    }
    {
        let terminal = Terminal::open(&world, 80, 24);
        terminal.shows("❯ 1. A");
        terminal.press(&["d"]).shows("Dismiss. Why?");
        terminal.type_text("ask me tomorrow").press(&["Enter"]);
        terminal.ended(0);
    }
    let reply = hook.reply();
    assert_eq!(reply["permissionDecision"], "deny");
    assert!(reply["permissionDecisionReason"].as_str().unwrap().contains("ask me tomorrow"));

    let (hook, _) = world.ask("s", "u", &[question("Which?")]);
    let terminal = Terminal::open(&world, 80, 24);
    terminal.shows("❯ 1. A");
    terminal.press(&["r"]).shows("Release to the terminal dialog?");
    terminal.press(&["Enter"]);
    terminal.ended(0);
    hook.no_decision();
}

#[test]
fn an_answer_from_elsewhere_ends_it() {
    let mut world = World::new();
    let (hook, key) = world.ask("s", "t", &[question("Which?")]);
    let terminal = Terminal::open(&world, 80, 24);
    terminal.shows("❯ 1. A");
    terminal.press(&["3"]).type_text("half a sen").shows("half a sen");
    world.answer(&key, &json!({"Which?": "B"})).expect(200);
    assert!(terminal.ended(5).contains("This was answered by another program meanwhile."));
    assert_eq!(answers(hook).0, json!({"Which?": "B"}));
}

#[test]
fn signals_leave_the_terminal_as_it_was() {
    let mut world = World::new();
    let (mut hook, key) = world.ask("s", "t", &[question("Which?")]);
    for (sent, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130), (Signal::QUIT, 131)] {
        let terminal = Terminal::open(&world, 80, 24);
        terminal.shows("❯ 1. A");
        signal(terminal.pid(), sent);
        terminal.ended(code);
    }
    assert!(hook.is_waiting());
    world.assert_open(&key);
}

#[test]
fn it_ends_with_its_terminal() {
    let mut world = World::new();
    let (_hook, _) = world.ask("s", "t", &[question("Which?")]);
    let terminal = Terminal::open(&world, 80, 24);
    terminal.shows("❯ 1. A");
    let pid = terminal.pid();
    terminal.tmux(&["kill-server"]);
    until("the picker's end", || (!fs::exists(format!("/proc/{pid}")).unwrap()).then_some(()));
}

#[test]
fn it_follows_the_size_of_the_terminal() {
    let mut world = World::new();
    let (_hook, _) = world.ask("s", "t", &[with_previews("Which one looks best to you, all things considered?")]);
    let terminal = Terminal::open(&world, 120, 30);
    let screen = terminal.shows("│ | a |");
    assert!(screen.lines().any(|line| line.contains("1. Table") && line.contains("│ +---+")), "{screen}");
    terminal.resize(40, 24);
    let screen = terminal.shows("────");
    assert!(!screen.contains('│') && screen.contains("all\n things considered?"), "{screen}");
    terminal.press(&["Down", "NPage", "NPage", "NPage", "NPage", "NPage", "NPage", "NPage", "NPage", "NPage"]);
    terminal.shows("of 60");
    terminal.resize(20, 8);
    let screen = terminal.shows("❯ 2. Long");
    assert!(screen.contains("? keys"), "{screen}");
    terminal.resize(100, 30);
    terminal.shows("│ line 1\n");
}

#[test]
fn a_hostile_question_is_only_text() {
    const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{1b}]52;c;b3duZWQ=\u{7}\u{1b}[2J\u{1b}[1;1Howned\u{202e}";
    let mut world = World::new();
    let mut hostile = with_previews(&format!("Really?{HOSTILE}"));
    hostile["options"][0] = json!({"label": format!("Yes{HOSTILE}"), "description": HOSTILE, "preview": HOSTILE});
    let (hook, _) = world.ask("s", "t", &[hostile]);
    let terminal = Terminal::open(&world, 80, 24);
    let screen = terminal.shows("❯ 1. Yes�]0;owned");
    assert!(screen.starts_with("  shop  session s"), "{screen}");
    assert!(!terminal.tmux(&["display-message", "-p", "#{pane_title}"]).contains("owned"));
    assert_eq!(terminal.tmux(&["list-buffers"]), "");
    terminal.press(&["v"]).shows("Esc back");
    terminal.press(&["Escape"]).shows("❯ 1. Yes");
    terminal.press(&["1"]);
    terminal.ended(0);
    assert_eq!(answers(hook).0[format!("Really?{HOSTILE}")], json!(format!("Yes{HOSTILE}")));
}

#[test]
fn colours_are_left_out_on_request() {
    let mut world = World::new();
    let (_hook, _) = world.ask("s", "t", &[question("Which?")]);
    let colours = |environment: &str| {
        let terminal = Terminal::open_with(&world, 80, 24, environment, "");
        terminal.shows("❯ 1. A");
        let screen = terminal.tmux(&["capture-pane", "-p", "-e"]);
        assert!(screen.contains("\u{1b}[1m"), "{screen:?}");
        screen.contains("\u{1b}[36m") || screen.contains("\u{1b}[1;36m") || screen.contains("\u{1b}[1m\u{1b}[36m")
    };
    assert!(colours(""));
    assert!(!colours("NO_COLOR=1"));
}

#[test]
fn without_a_terminal_it_says_so() {
    let mut world = World::new();
    let (mut hook, key) = world.ask("s", "t", &[question("Which?")]);
    let output = world.command(ANSWERBACK).arg("answer").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no terminal to choose in"), "{output:?}");
    assert!(hook.is_waiting());
    world.assert_open(&key);
}
