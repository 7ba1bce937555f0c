//! What was entered in the picker and not sent.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use rustix::process::Signal;
use serde_json::json;

use crate::kinds::ATTENDED;
use crate::terminal::Terminal;
use crate::world::{ANSWERBACK, World, question, signal, until};

const NONE: [PathBuf; 0] = [];

fn drafts(world: &World) -> Vec<PathBuf> {
    let entries = fs::read_dir(world.state("drafts")).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn several() -> [serde_json::Value; 3] {
    let parts = json!({"question": "What?", "header": "Parts", "multiSelect": true, "options": [
        {"label": "Tests"}, {"label": "Docs"}, {"label": "Backups"}]});
    let free = json!({"question": "Name?", "header": "Name", "multiSelect": false, "options": [
        {"label": "Shop"}, {"label": "Store"}]});
    [question("Which?"), parts, free]
}

#[test]
fn what_was_entered_is_there_again_after_ctrl_c() {
    let mut world = World::new();
    let (hook, _) = world.ask("s", "t", &several());
    {
        let terminal = Terminal::open(&world, 80, 24);
        terminal.shows("❯ 1. A");
        assert_eq!(drafts(&world), NONE);
        terminal.press(&["2"]).shows("❯ 1. [ ] Tests");
        terminal.press(&["Space", "3"]).shows("[✓] Backups");
        terminal.press(&["n"]).shows("Note, sent with your answer");
        terminal.type_text("daily").press(&["Enter"]).shows("Note: daily");
        terminal.press(&["Tab"]).shows("Name?");
        // It is in the middle of a word.
        terminal.press(&["3"]).type_text("half a sen").shows("half a sen");
        terminal.press(&["C-c"]);
        let screen = terminal.ended(130);
        assert!(screen.contains("What you entered is kept for the next time."), "{screen}");
    }
    let [draft] = drafts(&world).try_into().unwrap();
    assert_eq!(fs::metadata(&draft).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(draft.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    let terminal = Terminal::open(&world, 80, 24);
    let screen = terminal.shows("What you entered before is here again.");
    assert!(screen.contains("❯ 2. B ✓"), "{screen}");
    let screen = terminal.press(&["Tab"]).shows("Note: daily");
    assert!(
        screen.contains("❯ 1. [✓] Tests") && screen.contains("[ ] Docs") && screen.contains("[✓] Backups"),
        "{screen}"
    );
    terminal.press(&["Tab"]).shows("half a sen");
    // Enter opens the words again, and the next one takes them.
    terminal.press(&["Enter"]).type_text("tence").press(&["Enter"]).shows("❯ Submit");
    terminal.press(&["Enter"]);
    terminal.ended(0);
    let reply = hook.reply();
    let expected = json!({"Which?": "B", "What?": "Tests, Backups", "Name?": "half a sentence"});
    assert_eq!(reply["updatedInput"]["answers"], expected);
    assert_eq!(reply["updatedInput"]["annotations"], json!({"What?": {"notes": "daily"}}));
    assert_eq!(drafts(&world), NONE);
}

#[test]
fn what_was_entered_survives_the_end_of_the_terminal() {
    let mut world = World::new();
    let (_hook, _) = world.ask("s", "t", &[question("Which?")]);
    for (sent, entered) in [(Signal::HUP, "       x\n"), (Signal::KILL, "       xx\n")] {
        let terminal = Terminal::open(&world, 80, 24);
        terminal.shows("❯");
        terminal.press(&["3"]).type_text("x").shows(entered);
        let picker = terminal.pid();
        signal(picker, sent);
        until("the picker's end", || (!fs::exists(format!("/proc/{picker}")).unwrap()).then_some(()));
    }
    let terminal = Terminal::open(&world, 80, 24);
    terminal.shows("     xx\n");
    // What is deleted is gone.
    terminal.press(&["3", "C-u", "C-c"]);
    let screen = terminal.ended(130);
    assert!(!screen.contains("is kept"), "{screen}");
    assert_eq!(drafts(&world), NONE);
}

#[test]
fn what_was_not_sent_is_shown_when_somebody_else_was_faster() {
    let mut world = World::new();
    let (_hook, key) = world.ask("s", "t", &several());
    let terminal = Terminal::open(&world, 80, 24);
    terminal.shows("❯ 1. A");
    terminal.press(&["2"]).shows("❯ 1. [ ] Tests");
    terminal.press(&["4"]).type_text("half a sen").shows("half a sen");
    let answers = json!({"Which?": "A", "What?": ["Docs"], "Name?": "Shop"});
    world.answer(&key, &answers).expect(200);
    let screen = terminal.ended(5);
    assert!(screen.contains("This was answered by another program meanwhile.\nThis was not sent:\n"), "{screen}");
    assert!(screen.contains("\n  Which?: B\n") && screen.contains("half a sen"), "{screen}");
    assert_eq!(drafts(&world), NONE);
}

#[test]
fn what_was_not_sent_is_shown_the_next_time() {
    let mut world = World::new();
    let (_hook, key) = world.ask("s", "t", &[question("Which?")]);
    let begin = || {
        let terminal = Terminal::open(&world, 80, 24);
        terminal.shows("❯ 1. A");
        terminal.press(&["d"]).shows("Why?");
        terminal.type_text("ask me to").press(&["C-c"]);
        terminal.ended(130);
    };
    begin();
    // The reason is still there when the field is opened.
    {
        let terminal = Terminal::open(&world, 80, 24);
        terminal.shows("here again");
        terminal.press(&["d"]).shows("ask me to\n");
        terminal.press(&["C-c"]);
        terminal.ended(130);
    }
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    {
        let terminal = Terminal::open(&world, 80, 24);
        let screen = terminal.ended(1);
        let expected = "`Which?` was answered by another program.\nThis was not sent:\n  Reason: ask me to\nerror: no question is open";
        assert!(screen.contains(expected), "{screen}");
    }
    assert_eq!(drafts(&world), NONE);
    let terminal = Terminal::open(&world, 80, 24);
    assert!(!terminal.ended(1).contains("not sent"));
}

#[test]
fn a_draft_approves_nothing_and_belongs_to_one_life_of_one_ask() {
    let mut world = World::new();
    let _hook = ATTENDED.ask(&mut world, "Bash", &json!({"command": "ls"}), "t");
    {
        let terminal = Terminal::open(&world, 80, 24);
        terminal.shows("❯ 3. Deny");
        terminal.press(&["1", "Space"]).shows("❯ 1. Allow once ✓");
        terminal.press(&["n"]).shows("Note, sent");
        terminal.type_text("not so fast").press(&["Enter"]).shows("Note: not so fast");
        terminal.press(&["C-c"]);
        terminal.ended(130);
    }
    let [path] = drafts(&world).try_into().unwrap();
    let draft = fs::read_to_string(&path).unwrap();
    assert!(!draft.contains("Allow once"), "{draft}");
    // Not even if somebody writes it into the file.
    fs::write(&path, draft.replace(r#""chosen":[]"#, r#""chosen":["Allow once"]"#)).unwrap();
    assert!(fs::read_to_string(&path).unwrap().contains("Allow once"));
    {
        let terminal = Terminal::open(&world, 80, 24);
        let screen = terminal.shows("Note: not so fast");
        assert!(screen.contains("❯ 3. Deny") && !screen.contains('✓'), "{screen}");
    }
    // A draft of another ask with the same number, as after the store was removed.
    fs::write(&path, draft.replace("s__t", "s__u")).unwrap();
    let terminal = Terminal::open(&world, 80, 24);
    let screen = terminal.shows("❯ 3. Deny");
    assert!(!screen.contains("not so fast"), "{screen}");
}

#[test]
fn old_drafts_are_removed_and_another_answer_shows_the_draft() {
    let mut world = World::new();
    let (_hook, _) = world.ask("s", "t", &[question("Which?")]);
    {
        let terminal = Terminal::open(&world, 80, 24);
        terminal.shows("❯ 1. A");
        terminal.press(&["3"]).type_text("my own words").shows("my own words");
        terminal.press(&["C-c"]);
        terminal.ended(130);
    }
    let old = world.state("drafts/77777.json");
    let record = fs::read_to_string(&drafts(&world)[0]).unwrap().replace("s__t", "s__old");
    fs::write(&old, record).unwrap();
    let month = SystemTime::now() - Duration::from_secs(31 * 24 * 60 * 60);
    fs::File::options().write(true).open(&old).unwrap().set_modified(month).unwrap();
    {
        let terminal = Terminal::open(&world, 80, 24);
        terminal.shows("my own words");
        assert_eq!(drafts(&world).len(), 1);
    }
    let output = world.command(ANSWERBACK).args(["answer", "B"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, "Which? B\nThis was not sent:\n  Which?: my own words\n");
    assert_eq!(drafts(&world), NONE);
}
