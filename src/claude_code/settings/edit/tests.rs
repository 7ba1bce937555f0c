use std::fs;
use std::path::PathBuf;

use answerback_hook::hint::Hint;
use serde_json::{Map, json};

use super::super::coverage::Coverage;
use super::super::entry::Invocation;
use super::super::wanted::entries as entries_for;
use super::*;
use crate::claude_code::Mode;

mod properties;

const HOOK: &str = "/opt/answerback/answerback-hook";

/// One entry: what is shown with it holds for each of several, and [`many`] shows the rest.
fn entries(invocation: &Invocation, mode: Mode) -> Vec<Entry> {
    let mut entries = entries_for(invocation, mode, Coverage::DEFAULT);
    entries.retain(|entry| entry.event == "PreToolUse");
    entries
}

fn wanted() -> Vec<Entry> {
    entries(&Invocation::Exec(HOOK.into()), Mode::Auto)
}

/// More than one event and more than one group of an event, with and without a matcher.
fn many(hook: &Invocation) -> Vec<Entry> {
    let handler = entries(hook, Mode::Auto)[0].handler.clone();
    let entry = |event: &str, matcher: Option<&str>| Entry {
        event: event.into(),
        matcher: matcher.map(str::to_owned),
        handler: handler.clone(),
    };
    vec![
        entry("PreToolUse", Some("AskUserQuestion")),
        entry("PreToolUse", Some("ExitPlanMode")),
        entry("PermissionRequest", Some("AskUserQuestion")),
        entry("Stop", None),
    ]
}

fn one(event: &str, matcher: &str) -> Vec<Entry> {
    let handler = Map::from_iter([("command".to_owned(), json!(HOOK)), ("args".to_owned(), json!([]))]);
    vec![Entry { event: event.into(), matcher: Some(matcher.into()), handler }]
}

fn corpus(dir: &str) -> Vec<(String, Vec<u8>)> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/settings").join(dir);
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap()).filter(|entry| entry.path().is_file());
    let name = |entry: &fs::DirEntry| entry.file_name().into_string().unwrap();
    let mut files: Vec<_> = files.map(|entry| (name(&entry), fs::read(entry.path()).unwrap())).collect();
    files.sort();
    files
}

/// The text as data, without our entries and without what is empty where our entries were.
fn others(text: &str) -> Value {
    let mut root: Value = if is_blank(text) { json!({}) } else { serde_json::from_str(text).unwrap() };
    if let Some(events) = root.get_mut("hooks").and_then(Value::as_object_mut) {
        for groups in events.values_mut().filter_map(Value::as_array_mut) {
            for handlers in groups.iter_mut().filter_map(|group| group.get_mut("hooks")?.as_array_mut()) {
                handlers.retain(|handler| !is_own(handler));
            }
            groups.retain(|group| group.get("hooks") != Some(&json!([])));
        }
        events.retain(|_, groups| *groups != json!([]));
        if events.is_empty() {
            root.as_object_mut().unwrap().shift_remove("hooks");
        }
    }
    root
}

/// What of ours is there: event, matcher, handler.
fn ours(text: &str) -> Vec<(String, Option<String>, Value)> {
    let document = Document::parse(text).unwrap();
    document.own().iter().map(|own| (own.name.to_owned(), own.matcher.clone(), own.node.value(text))).collect()
}

#[track_caller]
fn assert_installed(old: &str, new: &str, entries: &[Entry]) {
    assert_eq!(others(new), others(old), "{old}\n{new}");
    let mut found = ours(new);
    found.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    let mut expected: Vec<_> =
        entries.iter().map(|e| (e.event.clone(), e.matcher.clone(), Value::from(e.handler.clone()))).collect();
    expected.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    assert_eq!(found.len(), expected.len(), "{old}\n{new}");
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!((&found.0, &found.1), (&expected.0, &expected.1), "{new}");
        for (key, value) in expected.2.as_object().unwrap() {
            assert_eq!(found.2.get(key), Some(value), "{new}");
        }
    }
    assert_eq!(install(new, entries).unwrap(), new, "twice is not once:\n{old}");
}

/// Whether there is something on the way to our entries that holds nothing: it is taken for ours afterwards.
fn has_empty_containers(text: &str, entries: &[Entry]) -> bool {
    let root: Value = serde_json::from_str(text).unwrap_or_default();
    let is_empty = |value: &Value| *value == json!({}) || *value == json!([]);
    let hooks = &root["hooks"];
    root.is_null() || is_empty(&root) || is_empty(hooks) || entries.iter().any(|entry| is_empty(&hooks[&entry.event]))
}

#[test]
fn the_corpus_gets_our_lines_and_keeps_its_own() {
    let files = corpus("");
    assert!(files.len() >= 15, "{}", files.len());
    for (name, bytes) in files {
        let text = str::from_utf8(&bytes).unwrap();
        for entries in [wanted(), many(&Invocation::Exec(HOOK.into()))] {
            let new = install(text, &entries).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
            assert_installed(text, &new, &entries);
            if !has_empty_containers(text, &entries) {
                assert_eq!(uninstall(&new).unwrap(), text, "{name}");
            }
            if text.contains("\r\n") {
                assert!(!new.replace("\r\n", "").contains('\n'), "{name} has two kinds of line ends now");
            }
        }
    }
}

/// Files whose objects have lines of their own: not one of those lines may change, not even by a comma.
#[test]
fn the_diff_is_only_our_lines() {
    for (name, bytes) in corpus("") {
        let text = String::from_utf8(bytes).unwrap();
        if !["other_hooks", "permissions_and_env", "plugins", "tabs", "three_spaces", "crlf", "no_final_newline"]
            .iter()
            .any(|known| name.starts_with(known))
        {
            continue;
        }
        let new = install(&text, &wanted()).unwrap();
        let (old, new): (Vec<_>, Vec<_>) = (text.split('\n').collect(), new.split('\n').collect());
        let same_before = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
        let rest = &old[same_before..];
        assert!(new[same_before..].ends_with(rest), "{name}: {new:#?}");
    }
}

#[test]
fn a_schema_stays_first_and_the_entry_looks_like_the_file() {
    let text = "{\n\t\"$schema\": \"x\",\n\t\"model\": \"opus\"\n}\n";
    let expected = "{\n\t\"$schema\": \"x\",\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{\n\t\t\t\t\"matcher\": \"m\",\n\t\t\t\t\"hooks\": [\n\
        \t\t\t\t\t{\n\t\t\t\t\t\t\"command\": \"/opt/answerback/answerback-hook\",\n\t\t\t\t\t\t\"args\": []\n\
        \t\t\t\t\t}\n\t\t\t\t]\n\t\t\t}\n\t\t]\n\t},\n\t\"model\": \"opus\"\n}\n";
    assert_eq!(install(text, &one("Stop", "m")).unwrap(), expected);
    let one_line = r#"{"hooks":{"Stop":[{"matcher":"m","hooks":[{"command":"/opt/answerback/answerback-hook","args":[]}]}]},"a":1}"#;
    assert_eq!(install(r#"{"a":1}"#, &one("Stop", "m")).unwrap(), one_line);
}

#[test]
fn an_empty_file_becomes_a_whole_one() {
    for text in ["", "\n", "{}", "{}\n", "{\n}\n"] {
        let new = install(text, &many(&Invocation::Exec(HOOK.into()))).unwrap();
        assert!(new.starts_with("{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\n"), "{text:?}: {new}");
        let root: Value = serde_json::from_str(&new).unwrap();
        let events: Vec<_> = root["hooks"].as_object().unwrap().keys().collect();
        assert_eq!(events, ["PreToolUse", "PermissionRequest", "Stop"], "the order of the hooks file");
        assert_eq!(root["hooks"]["PreToolUse"][0]["matcher"], "AskUserQuestion");
    }
}

#[test]
fn an_older_entry_is_corrected_where_it_is() {
    let text = r#"{
  "hooks": {
    "PreToolUse": [
      { "matcher": "Bash", "hooks": [{ "type": "command", "command": "guard" }] },
      {
        "matcher": "AskUserQuestion",
        "hooks": [
          { "type": "command", "command": "exec '/old place/answerback-hook'", "timeout": 600, "onFailure": "continue" }
        ]
      }
    ]
  }
}
"#;
    let new = install(text, &wanted()).unwrap();
    assert_installed(text, &new, &wanted());
    assert!(new.contains(r#"{ "type": "command", "command": "/opt/answerback/answerback-hook", "timeout": 604800, "onFailure": "continue""#));
    let (old, new): (Vec<_>, Vec<_>) = (text.lines().collect(), new.lines().collect());
    let changed: Vec<_> = (0..old.len()).filter(|at| old[*at] != new[*at]).collect();
    assert_eq!((old.len(), changed), (new.len(), vec![5, 7]));
}

#[test]
fn our_own_status_goes_when_it_is_not_wanted_and_any_other_stays() {
    let hook = Invocation::Exec(HOOK.into());
    let mut all = entries_for(&hook, Mode::Auto, Coverage { permissions: true, ..Coverage::DEFAULT });
    all.retain(|entry| entry.event == "PreToolUse");
    let before = install("{}", &wanted()).unwrap();
    assert!(before.contains(STATUS));
    assert_eq!(install(&before, &all).unwrap(), install("{}", &all).unwrap());
    let own_words = before.replace(STATUS, "The phone rings");
    assert!(install(&own_words, &all).unwrap().contains("The phone rings"));
}

#[test]
fn a_moved_program_changes_one_line() {
    let before =
        install("{\n  \"a\": 1\n}\n", &entries(&Invocation::Exec("/old/answerback-hook".into()), Mode::Auto)).unwrap();
    let after = install(&before, &wanted()).unwrap();
    assert_eq!(after, before.replace("/old/answerback-hook", HOOK));
}

#[test]
fn every_way_of_writing_it_becomes_every_other() {
    let special = "/o l'd/answerback-hook";
    let ways = [
        Invocation::Exec(HOOK.into()),
        Invocation::Exec(special.into()),
        Invocation::Shell(r"'/o l'\''d/answerback-hook'".into()),
    ];
    let ways: Vec<_> = ways.iter().flat_map(|way| [entries(way, Mode::Auto), entries(way, Mode::Native)]).collect();
    for (from, to) in ways.iter().flat_map(|from| ways.iter().map(move |to| (from, to))) {
        let before = install("{\n  \"a\": 1\n}\n", from).unwrap();
        assert_installed(&before, &install(&before, to).unwrap(), to);
        assert_eq!(uninstall(&before).unwrap(), "{\n  \"a\": 1\n}\n");
    }
}

#[test]
fn doubles_become_one_and_other_events_are_left() {
    let own = |path: &str| json!({"type": "command", "command": path});
    let text = json!({"hooks": {
        "PreToolUse": [
            {"matcher": "AskUserQuestion", "hooks": [own("/a/answerback-hook"), own("/b/answerback-hook")]},
            {"matcher": "AskFollowupQuestion", "hooks": [own("answerback-hook")]},
            {"matcher": "*", "hooks": [own("audit"), own("'/c/answerback-hook'")]},
        ],
        "Notification": [{"hooks": [own("exec answerback-hook")]}],
    }})
    .to_string();
    let new = install(&text, &wanted()).unwrap();
    assert_installed(&text, &new, &wanted());
    let root: Value = serde_json::from_str(&new).unwrap();
    assert_eq!(root["hooks"]["PreToolUse"][1], json!({"matcher": "*", "hooks": [own("audit")]}));
    assert!(root["hooks"].get("Notification").is_none());
}

#[test]
fn an_entry_among_others_with_another_matcher_moves_out() {
    let text = json!({"hooks": {"PreToolUse": [
        {"matcher": "*", "hooks": [{"command": "audit"}, {"command": "answerback-hook"}]}]}})
    .to_string();
    let new = install(&text, &wanted()).unwrap();
    assert_installed(&text, &new, &wanted());
    assert!(new.contains(r#"{"matcher":"*","hooks":[{"command":"audit"}]}"#), "{new}");
}

#[test]
fn an_entry_among_others_with_the_right_matcher_stays_in() {
    let matcher = wanted()[0].matcher.clone();
    let text = json!({"hooks": {"PreToolUse": [
        {"matcher": matcher, "hooks": [{"command": "audit"}, {"command": "/x/answerback-hook"}]}]}})
    .to_string();
    let new = install(&text, &wanted()).unwrap();
    assert_installed(&text, &new, &wanted());
    assert_eq!(new.matches("matcher").count(), 1, "{new}");
}

#[test]
fn uninstall_takes_only_ours() {
    for (text, expected) in [
        ("", ""),
        ("{}", "{}"),
        ("[]", "[]"),
        (r#"{"hooks": 1}"#, r#"{"hooks": 1}"#),
        (r#"{"a": 1, "hooks": {"X": [{"hooks": [{"command": "answerback-hook"}]}]}}"#, r#"{"a": 1}"#),
        (r#"{"hooks": {"X": [{"hooks": [{"command": "answerback-hook"}]}]}}"#, "{}"),
        (
            r#"{"hooks": {"X": [{"hooks": [{"command": "a"}, {"command": "answerback-hook"}, {"command": "b"}]}]}}"#,
            r#"{"hooks": {"X": [{"hooks": [{"command": "a"}, {"command": "b"}]}]}}"#,
        ),
        (r#"{"hooks": {"X": [{"hooks": [{"command": "answerback-hook"}]}], "Y": []}}"#, r#"{"hooks": {"Y": []}}"#),
    ] {
        assert_eq!(uninstall(text).unwrap(), expected);
        assert_eq!(is_installed(text).unwrap(), text != expected);
    }
}

#[test]
fn what_claude_code_could_not_read_is_refused() {
    let expected = [
        ("array_root.json", 1, 1, "an object"),
        ("block_comment.json", 2, 19, "a comment"),
        ("bom.json", 1, 1, "byte order mark"),
        ("broken.json", 4, 1, "ends too early"),
        ("duplicate_env.json", 2, 21, "twice"),
        ("duplicate_event.json", 4, 5, "twice, first in line 3"),
        ("duplicate_top.json", 4, 3, "twice, first in line 2"),
        ("event_object.json", 3, 19, "\"PreToolUse\" should be an array"),
        ("group_string.json", 4, 7, "everything in \"PreToolUse\" should be an object"),
        ("handlers_object.json", 4, 36, "\"hooks\" in \"PreToolUse\" should be an array"),
        ("hooks_array.json", 2, 12, "\"hooks\" should be an object"),
        ("latin1.json", 2, 16, "not UTF-8"),
        ("line_comment.json", 2, 3, "a comment"),
        ("merge_conflict.json", 1, 1, "unexpected '<'"),
        ("missing_comma.json", 3, 3, "a comma is missing"),
        ("null_root.json", 1, 1, "an object"),
        ("single_quotes.json", 2, 3, "double quotes"),
        ("trailing_comma.json", 4, 19, "nothing after it"),
        ("two_documents.json", 4, 1, "goes on after its end"),
    ];
    let files = corpus("refused");
    assert_eq!(files.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), expected.map(|(name, ..)| name));
    for ((name, bytes), (_, line, column, problem)) in files.iter().zip(expected) {
        let refusal = json::decode(bytes).and_then(|text| install(text, &wanted())).unwrap_err();
        assert_eq!((refusal.line, refusal.column), (line, column), "{name}: {refusal}");
        assert!(refusal.to_string().contains(problem), "{name}: {refusal}");
        assert!(!refusal.hint().unwrap().is_empty());
    }
}
