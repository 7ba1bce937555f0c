//! The costs themselves.
//!
//! What one operation costs the daemon is the difference between two runs, one with more operations than the other. So its start and its
//! end cancel out.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::calls::{self, STOP, Template, question};
use crate::lab::{Lab, Place};
use crate::park::{Parker, park_one};
use crate::process;
use crate::progress;
use crate::servers::{Kind, Server};

use super::valgrind::{Heap, Tool, Watched, hook_instructions};

/// A cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// Its name in the record.
    pub name: String,
    /// How much it is.
    pub value: f64,
    /// Of what.
    pub unit: &'static str,
    /// By how much it may grow, in percent, if the record does not say otherwise.
    pub margin: f64,
}

impl Cost {
    fn new(name: &str, value: f64, unit: &'static str, margin: f64) -> Self {
        Self { name: name.to_owned(), value: value.round(), unit, margin }
    }
}

/// The cost that a target is about.
pub const HOOK_QUESTION: &str = "hook, a question";

/// Operations in the smaller of two runs.
const FEW: usize = 200;
/// How many open questions a list has.
const LISTED: usize = 100;
/// The memory of a daemon without valgrind is looked at after every so many waits.
const STEP: usize = 500;
/// The first and the last look. The first one comes when everything is full that does not grow with each wait, such as the cache of the
/// store.
const LOOKS: [usize; 2] = [6, 18];

/// All costs.
pub fn all(lab: &Lab) -> Vec<Cost> {
    progress::note("instructions of the hook");
    let mut costs = hook(lab, &lab.hook);
    progress::note("instructions of the daemon");
    costs.extend(daemon(lab));
    progress::note("memory of a waiting question");
    costs.extend(waits(lab));
    let size = |path: &Path| fs::metadata(path).map_or(0.0, |file| file.len() as f64);
    costs.push(Cost::new("size of answerback-hook, static", size(&lab.hook), "bytes", 5.0));
    costs.push(Cost::new("size of answerback", size(&lab.answerback), "bytes", 5.0));
    costs
}

/// The instructions of a hook.
pub fn hook(lab: &Lab, hook: &Path) -> Vec<Cost> {
    let daemon = Server::start(lab, Kind::Answerback, Place::Memory).unwrap();
    let event = hook_instructions(lab, &daemon.home, hook, STOP, |_| ());
    let mut events = daemon.events();
    let parked = hook_instructions(lab, &daemon.home, hook, &question(0), |pid| {
        events.wait_for(&calls::key(0)).unwrap();
        // The hook must have heard that it is parked, or it would wait once instead of twice.
        process::until_idle(pid, Duration::from_secs(20));
        let mut conn = daemon.connect();
        conn.call("POST", &calls::answer_path(0), calls::ANSWER).unwrap().expect(200);
    });
    vec![Cost::new("hook, an event", event, "instructions", 5.0), Cost::new(HOOK_QUESTION, parked, "instructions", 5.0)]
}

/// What a run of the daemon does.
#[derive(Debug, Clone, Copy)]
struct Run {
    opened: usize,
    answered: usize,
    listed: usize,
}

impl Run {
    fn instructions(self, lab: &Lab, template: &Template) -> f64 {
        let daemon = Watched::start(lab, Tool::Callgrind);
        let socket = daemon.server.socket();
        let parked: Vec<_> = (0..self.opened).map(|number| park_one(&socket, template, number)).collect();
        // Not before: the daemon closes a connection that nobody uses, and all of this is slow.
        let mut conn = daemon.server.connect();
        for number in 0..self.answered {
            daemon.answer(&mut conn, number);
        }
        for _ in 0..self.listed {
            conn.get("/v1/asks").unwrap().expect(200);
        }
        drop(conn);
        let instructions = daemon.instructions();
        drop(parked);
        instructions
    }
}

fn daemon(lab: &Lab) -> Vec<Cost> {
    let template = Template::capture(lab);
    let more = 2 * FEW;
    let runs = [
        Run { opened: FEW, answered: 0, listed: 0 },
        Run { opened: more, answered: 0, listed: 0 },
        Run { opened: more, answered: FEW, listed: 0 },
        Run { opened: more, answered: more, listed: 0 },
        Run { opened: LISTED, answered: 0, listed: FEW / 2 },
        Run { opened: LISTED, answered: 0, listed: FEW },
    ];
    // Two at a time: valgrind runs one thread after the other.
    let mut seen = Vec::new();
    for pair in runs.chunks(2) {
        thread::scope(|scope| {
            let running: Vec<_> = pair.iter().map(|run| scope.spawn(|| run.instructions(lab, &template))).collect();
            seen.extend(running.into_iter().map(|run| run.join().unwrap()));
        });
    }
    let each = |pair: usize, operations: usize| (seen[2 * pair + 1] - seen[2 * pair]) / operations as f64;
    vec![
        Cost::new("daemon, open a question", each(0, FEW), "instructions", 10.0),
        Cost::new("daemon, answer a question", each(1, FEW), "instructions", 10.0),
        Cost::new("daemon, list 100 questions", each(2, FEW / 2), "instructions", 10.0),
    ]
}

fn waits(lab: &Lab) -> Vec<Cost> {
    let template = Template::capture(lab);
    let heap = |count: usize| -> Heap {
        let daemon = Watched::start(lab, Tool::Dhat);
        let socket = daemon.server.socket();
        let parked: Vec<_> = (0..count).map(|number| park_one(&socket, &template, number)).collect();
        let heap = daemon.heap();
        drop(parked);
        heap
    };
    let (few, more) = thread::scope(|scope| {
        let few = scope.spawn(|| heap(FEW));
        (few.join().unwrap(), heap(2 * FEW))
    });
    let daemon = Server::start(lab, Kind::Answerback, Place::Memory).unwrap();
    let mut parker = Parker::start(&daemon.socket(), &template, 0);
    let looks = (LOOKS[0]..=LOOKS[1]).map(|look| {
        parker.park(look * STEP);
        process::until_idle(daemon.pid(), Duration::from_secs(10));
        process::memory(daemon.pid()).private_dirty
    });
    let private = growth(&looks.collect::<Vec<_>>()) / STEP as f64;
    drop(parker);
    let each = |less: f64, more: f64| (more - less) / FEW as f64;
    vec![
        Cost::new("a wait, allocations", each(few.blocks, more.blocks), "allocations", 10.0),
        Cost::new("a wait, bytes on the heap", each(few.most, more.most), "bytes", 10.0),
        Cost::new("a wait, private memory", private, "bytes", 5.0),
    ]
}

/// By how much a value grows from one look to the next. The allocator gives memory back at moments of its own, so single looks are off
/// by up to a megabyte. The median of what is between looks far apart is not.
fn growth(looks: &[f64]) -> f64 {
    let apart = looks.len() / 2;
    let mut grown: Vec<f64> = looks.iter().zip(&looks[apart..]).map(|(before, after)| after - before).collect();
    grown.sort_by(f64::total_cmp);
    grown[grown.len() / 2] / apart as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_that_is_off_does_not_count() {
        let mut looks: Vec<f64> = (0..13).map(|look| 7800.0 + 1580.0 * f64::from(look)).collect();
        assert_eq!(growth(&looks), 1580.0);
        (looks[0], looks[8]) = (looks[0] - 800.0, looks[8] + 3000.0);
        assert_eq!(growth(&looks), 1580.0);
    }
}
