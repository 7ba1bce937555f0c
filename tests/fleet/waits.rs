//! Hooks that wait at the edges, rivals that answer them at the hubs, and what came of it.

use std::collections::HashMap;
use std::process::Output;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fleet::{Door, Fleet};
use crate::world::{Hook, World, call, question, until};

pub(crate) const WAITS: usize = 50;
/// Two people answer each question at the same time, each in their own way.
const RIVALS: [&str; 2] = ["A", "B"];
/// Longer than any fault lasts.
const PATIENCE: Duration = Duration::from_secs(90);
/// The pause between two questions that are answered.
const PACE: Duration = Duration::from_millis(40);

/// What must all be zero.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Losses {
    /// Answers that were acknowledged and do not stand.
    pub(crate) lost: usize,
    /// Hooks that got an answer that does not stand.
    pub(crate) wrong: usize,
    /// Hooks that got no answer.
    pub(crate) asleep: usize,
}

/// A hook that is watched: what it printed, and when it ended.
type Ending = JoinHandle<(Output, Instant)>;

/// The outcome of one trial.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) losses: Losses,
    /// From the fault until an answer was acknowledged that was sent after it.
    pub(crate) resumed: Option<Duration>,
    /// The longest time from the moment at which somebody began to answer a question until its hook had the answer.
    pub(crate) slowest: Duration,
    /// Details of what went wrong.
    pub(crate) remarks: Vec<String>,
}

/// Everything that happens in a trial, as it happens.
#[derive(Default)]
struct Record {
    /// The answers that were acknowledged, by the key of the question.
    acknowledged: Mutex<HashMap<String, Vec<&'static str>>>,
    count: AtomicUsize,
    /// When somebody began to answer, by the key of the question.
    begun: Mutex<HashMap<String, Instant>>,
    fault_at: Mutex<Option<Instant>>,
    resumed: Mutex<Option<Duration>>,
}

/// A hook that waits. On a busy machine, its two seconds may be over before its question is stored, and it gives up. Then it asks again.
fn parked(edge: &mut World, session: &str, tool: &str) -> Hook {
    until("a hook that waits", || {
        let mut hook = edge.hook(&call(session, tool, &[question("Which?")]));
        edge.until_parked(&hook);
        hook.is_waiting().then_some(hook)
    })
}

/// Lets hooks wait, lets rivals answer, and breaks something when half of the questions are answered.
pub(crate) fn trial(fleet: &mut Fleet, name: &str, break_it: impl FnOnce(&mut Fleet)) -> Report {
    let hooks: Vec<(String, Hook)> = (0..WAITS)
        .map(|n| {
            let (session, tool) = (format!("{name}-{n}"), format!("t{n}"));
            let edge = n % fleet.edges.len();
            (format!("{session}__{tool}"), parked(&mut fleet.edges[edge], &session, &tool))
        })
        .collect();
    let keys: Vec<String> = hooks.iter().map(|(key, _)| key.clone()).collect();
    fleet.until_all_open(&keys);
    // A hook is watched from now on, so that it is known when it ended.
    let watched = |hook: Hook| thread::spawn(|| (hook.finish_within(2 * PATIENCE), Instant::now()));
    let hooks: Vec<(String, Ending)> = hooks.into_iter().map(|(key, hook)| (key, watched(hook))).collect();
    let record = Arc::new(Record::default());
    let doors = fleet.doors();
    let rivals: Vec<JoinHandle<()>> = keys
        .iter()
        .enumerate()
        .flat_map(|(n, key)| RIVALS.iter().enumerate().map(move |(rival, answer)| (n, key.clone(), rival, *answer)))
        .map(|(n, key, rival, answer)| {
            let (record, doors) = (Arc::clone(&record), Arc::clone(&doors));
            thread::spawn(move || {
                thread::sleep(PACE * u32::try_from(n).unwrap());
                compete(&record, &doors, &key, answer, n + rival);
            })
        })
        .collect();
    until("half of the answers", || (record.count.load(Ordering::Relaxed) >= WAITS / 2).then_some(()));
    *record.fault_at.lock().unwrap() = Some(Instant::now());
    break_it(fleet);
    for rival in rivals {
        rival.join().unwrap();
    }
    judge(fleet, &record, hooks)
}

/// Answers a question until it is known who won. A hub that cannot be reached, or does not know, is left for another one.
fn compete(record: &Record, doors: &Mutex<Vec<Door>>, key: &str, answer: &'static str, first: usize) {
    let deadline = Instant::now() + PATIENCE;
    let body = json!({"answers": {"Which?": answer}});
    record.begun.lock().unwrap().entry(key.to_owned()).or_insert_with(Instant::now);
    let mut turn = first;
    while Instant::now() < deadline {
        let door = {
            let doors = doors.lock().unwrap();
            doors[turn % doors.len()].clone()
        };
        turn += 1;
        let sent_at = Instant::now();
        match door.post(&format!("/v1/asks/{key}/answer"), &body) {
            Some(200) => {
                record.acknowledged.lock().unwrap().entry(key.to_owned()).or_default().push(answer);
                record.count.fetch_add(1, Ordering::Relaxed);
                let fault_at = *record.fault_at.lock().unwrap();
                if let Some(fault_at) = fault_at.filter(|fault_at| sent_at >= *fault_at) {
                    record.resumed.lock().unwrap().get_or_insert_with(|| fault_at.elapsed());
                }
                return;
            }
            Some(409 | 410) => return,
            _ => thread::sleep(Duration::from_millis(50)),
        }
    }
}

fn judge(fleet: &Fleet, record: &Record, hooks: Vec<(String, Ending)>) -> Report {
    let mut report = Report {
        losses: Losses::default(),
        resumed: *record.resumed.lock().unwrap(),
        slowest: Duration::ZERO,
        remarks: Vec::new(),
    };
    let begun = record.begun.lock().unwrap();
    let acknowledged = record.acknowledged.lock().unwrap();
    for (key, hook) in hooks {
        let ask = fleet.ask(&key);
        let stands = ask["outcome"]["answers"]["Which?"].as_str().map(ToOwned::to_owned);
        for answer in acknowledged.get(&key).into_iter().flatten() {
            if stands.as_deref() != Some(answer) {
                report.losses.lost += 1;
                report.remarks.push(format!("{key}: {answer} was acknowledged, and {stands:?} stands"));
            }
        }
        let (output, ended) = hook.join().unwrap();
        report.slowest = report.slowest.max(ended.saturating_duration_since(begun[&key]));
        let got: Option<Value> = serde_json::from_slice(&output.stdout).ok();
        let got = got.and_then(|reply| {
            let answers = &reply["hookSpecificOutput"]["updatedInput"]["answers"];
            answers["Which?"].as_str().map(ToOwned::to_owned)
        });
        if got.is_none() {
            report.losses.asleep += 1;
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            report.remarks.push(format!("{key}: no answer came ({stands:?} stands): {said}"));
        } else if got != stands {
            report.losses.wrong += 1;
            report.remarks.push(format!("{key}: {got:?} came, and {stands:?} stands"));
        }
    }
    report
}
