//! `answerback history` with filters, and what it writes for other programs.

use serde_json::{Value, json};

use crate::commands::{exits, run};
use crate::world::{World, question};

/// Asks, and dismisses with a reason.
fn dismissed(world: &World, text: &str, reason: &str) -> String {
    let asked = world.send(Some(&world.token()), "POST /v1/asks", &json!({"questions": [question(text)]}));
    let key = asked.expect(201).json()["key"].as_str().unwrap().to_owned();
    world.post(&format!("/v1/asks/{key}/dismiss"), &json!({"reason": reason})).expect(200);
    key
}

fn answered(world: &World, text: &str, answer: &str) -> String {
    let asked = world.send(Some(&world.token()), "POST /v1/asks", &json!({"questions": [question(text)]}));
    let key = asked.expect(201).json()["key"].as_str().unwrap().to_owned();
    world.answer(&key, &json!({ text: answer })).expect(200);
    key
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn everything_is_exported_newest_first_whatever_a_reply_can_hold() {
    let mut world = World::new();
    drop(world.daemon());
    // More than a reply of the daemon has, and together larger than a reply may be.
    for number in 0..130 {
        let text = format!("Question {number}? {}", "x".repeat(if number % 2 == 0 { 10 } else { 15_000 }));
        dismissed(&world, &text, &"y".repeat(1000));
    }
    let large: Vec<_> = (0..24).map(|n| json!({"label": format!("L{n}"), "preview": "z".repeat(30_000)})).collect();
    for number in 0..30 {
        let large = json!({"question": format!("Large {number}?"), "header": "", "options": large});
        let asked = world.send(Some(&world.token()), "POST /v1/asks", &json!({"questions": [large]}));
        let key = asked.expect(201).json()["key"].as_str().unwrap().to_owned();
        world.post(&format!("/v1/asks/{key}/dismiss"), &json!({})).expect(200);
    }
    let (stdout, stderr) = exits(&run(&world, &["history", "--export", "jsonl"]), 0);
    let exported = lines(&stdout);
    let ids: Vec<_> = exported.iter().map(|ask| ask["id"].as_i64().unwrap()).collect();
    assert_eq!(ids, (1..=160).rev().collect::<Vec<_>>());
    assert_eq!(stderr, "160 questions were exported.\n");
    assert!(exported[159]["questions"][0]["question"].as_str().unwrap().starts_with("Question 0?"));
    let (stdout, stderr) = exits(&run(&world, &["history", "large 7", "--export", "jsonl", "--limit", "1"]), 0);
    assert_eq!(lines(&stdout)[0]["questions"][0]["question"], "Large 7?");
    assert_eq!(stderr, "1 question was exported.\n");
}

#[test]
fn a_table_has_a_row_for_each_question_and_no_formula() {
    let mut world = World::new();
    drop(world.daemon());
    let first = dismissed(&world, "=HYPERLINK(\"http://evil\")", "said \"no\", twice\n\u{1b}[31m");
    let both = json!({"questions": [question("One?"), question("Two, or three?")]});
    let asked = world.send(Some(&world.token()), "POST /v1/asks", &both).expect(201);
    let second = asked.json()["key"].as_str().unwrap().to_owned();
    world.answer(&second, &json!({"One?": "A", "Two, or three?": "-3"})).expect(200);
    let (stdout, _) = exits(&run(&world, &["history", "--export", "csv"]), 0);
    let rows: Vec<_> = stdout.split("\r\n").collect();
    assert_eq!(
        rows[0],
        "opened_at,settled_at,project,session,key,kind,question,outcome,answer,note,reason,channel,by,host,person,hub"
    );
    assert!(rows[1].contains(&format!("{second},question,One?,answered,A,,,token,")), "{stdout}");
    assert!(rows[2].contains(&format!("{second},question,\"Two, or three?\",answered,'-3,,,token,")), "{stdout}");
    let formula = format!(
        "{first},question,\"'=HYPERLINK(\"\"http://evil\"\")\",dismissed,,,\"said \"\"no\"\", twice\n\u{fffd}[31m\",token,"
    );
    assert!(rows[3].contains(&formula), "{stdout}");
    assert_eq!(rows.len(), 5);
}

#[test]
fn history_is_filtered_by_kind_and_outcome() {
    let mut world = World::new();
    drop(world.daemon());
    answered(&world, "Kept?", "A");
    dismissed(&world, "Dropped?", "no");
    let found = |args: &[&str]| {
        let args = [&["history", "--export", "jsonl"], args].concat();
        let (stdout, _) = exits(&run(&world, &args), 0);
        lines(&stdout)
            .iter()
            .map(|ask| ask["questions"][0]["question"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(found(&["--outcome", "answered"]), ["Kept?"]);
    assert_eq!(found(&["--outcome", "dismissed"]), ["Dropped?"]);
    assert_eq!(found(&["--kind", "question"]), ["Dropped?", "Kept?"]);
    assert_eq!(found(&["--kind", "permission"]), [""; 0]);
    let (stdout, _) = exits(&run(&world, &["history", "--outcome", "answered"]), 0);
    assert!(stdout.contains("Kept?") && !stdout.contains("Dropped?"), "{stdout}");
    let (_, stderr) = exits(&run(&world, &["history", "--outcome", "lost"]), 2);
    assert!(stderr.contains("answered_in_terminal"), "{stderr}");
    let (_, stderr) = exits(&run(&world, &["history", "--export", "csv", "--json"]), 2);
    assert!(stderr.contains("cannot be used with"), "{stderr}");
}
