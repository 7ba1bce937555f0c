//! What a race adds: one more process for each question, for the call beside the dialog.

use std::time::Instant;

use serde_json::{Value, json};

use crate::calls::{ANSWER, Hook, STOP, key, question, start_hook};
use crate::lab::{Lab, Place};
use crate::markdown::{Table, or_not, ratio_of, time};
use crate::report::{Facts, Section};
use crate::servers::{Kind, Server};
use crate::stats::Samples;

const ROWS: [&str; 4] = [
    "with nothing to do",
    "hold: its only call, after the answer has come",
    "race: the first call, which stores the question and returns",
    "race: the second call, beside the dialog, after the answer has come",
];

pub fn run(lab: &Lab, facts: &mut Facts) -> Section {
    let daemon = Server::start(lab, Kind::Answerback, Place::Disk).unwrap();
    let (mut conn, mut events) = (daemon.connect(), daemon.events());
    let mut times: [Samples; 4] = Default::default();
    let mut run = |row: usize, attended: &str, input: &str| {
        let mut command = daemon.home.command(&lab.hook);
        command.env("CLAUDE_CODE_SESSION_ATTENDED", attended);
        let started = Instant::now();
        Hook::start(&mut command, input).wait();
        times[row].push_since(started);
    };
    let mut answer = |number: usize| {
        let path = format!("/v1/asks/{}/answer", key(number));
        conn.call("POST", &path, ANSWER).unwrap().expect(200);
    };
    for number in 0..lab.pick(150, 10) {
        run(0, "1", STOP);
        let (held, raced) = (2 * number, 2 * number + 1);
        let mut waiting = start_hook(&daemon.home, &lab.hook, &question(held));
        events.wait_for(&key(held)).unwrap();
        answer(held);
        waiting.wait();
        run(1, "0", &question(held));
        run(2, "1", &question(raced));
        answer(raced);
        let mut beside: Value = serde_json::from_str(&question(raced)).unwrap();
        beside["hook_event_name"] = json!("PermissionRequest");
        if let Some(call) = beside.as_object_mut() {
            call.remove("tool_use_id");
        }
        run(3, "1", &beside.to_string());
    }
    let mut table = Table::new(["a hook call, spawn to exit", "median", "p99", "ratio"]);
    for (name, samples) in ROWS.iter().zip(&times) {
        let base = times[0].median();
        table.row([
            (*name).to_owned(),
            or_not(samples.median(), time),
            or_not(samples.p99(), time),
            ratio_of(samples.median(), base),
        ]);
    }
    facts.set("race.first", times[2].median());
    facts.set("race.second", times[3].median());
    let mut section = Section::new("What a race adds");
    section.text(
        "In mode [`race`](guide.md#projects-and-modes), the terminal and Answerback both ask. Each question then needs one more \
         hook call than in mode `hold`.",
    );
    section.table(table);
    if let Some((first, second)) = times[2].median().zip(times[3].median()) {
        section.text(format!("Both calls of a race together take {}.", time(first + second)));
    }
    section
}
