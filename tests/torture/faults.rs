//! What is done to the programs while agents ask and people answer.

use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::chance::Chance;
use crate::model::Model;
use crate::people;
use crate::world::{ANSWERBACK, World, signal};

/// The longest pause between two faults.
const PAUSE: Duration = Duration::from_millis(300);
/// Longer than it takes to withdraw what nobody waits for.
const PATIENCE: Duration = Duration::from_secs(60);

/// Injects faults until the run is over.
pub(crate) fn inject(world: &World, model: &Model, chance: &Chance) {
    while model.goes_on() {
        thread::sleep(chance.up_to(PAUSE));
        match chance.below(100) {
            0..15 => kill_daemon(world, model),
            15..65 => hit_a_hook(model, chance, Signal::KILL, "hooks killed"),
            65..80 => hit_a_hook(model, chance, Signal::TERM, "hooks ended by the agent"),
            80..88 => command(world, model, &["stop"], "stop"),
            88..91 => command(world, model, &["stop", "--release"], "stop --release"),
            91..95 => command(world, model, &["restart"], "restart"),
            _ => freeze(world, model, chance),
        }
    }
}

fn daemon(world: &World) -> Option<u32> {
    u32::try_from(world.daemon_json()?["pid"].as_u64()?).ok()
}

fn kill_daemon(world: &World, model: &Model) {
    if let Some(pid) = daemon(world) {
        model.daemon_ends();
        signal(pid, Signal::KILL);
        model.count("daemons killed");
    }
}

fn freeze(world: &World, model: &Model, chance: &Chance) {
    let Some(pid) = daemon(world) else { return };
    signal(pid, Signal::STOP);
    thread::sleep(chance.up_to(Duration::from_millis(800)));
    signal(pid, Signal::CONT);
    model.count("daemons frozen for a moment");
}

fn hit_a_hook(model: &Model, chance: &Chance, with: Signal, what: &'static str) {
    if model.hit_a_hook(chance, |pid| signal(pid, with)) {
        model.count(what);
    }
}

fn command(world: &World, model: &Model, arguments: &[&str], what: &'static str) {
    model.daemon_ends();
    let output = world.command(ANSWERBACK).args(arguments).output().unwrap();
    model.daemon_ends();
    model.count(what);
    if output.status.success() && what == "stop" {
        model.count("stop that found nobody waiting");
    }
}

/// What is open although all agents are gone. It is withdrawn after a moment, so this waits for that. The keys of what stays.
pub(crate) fn until_nothing_is_open(world: &World) -> Vec<String> {
    // It withdraws what nobody waits for. The last one may have been killed.
    assert!(world.command(ANSWERBACK).arg("status").output().unwrap().status.success());
    let deadline = Instant::now() + PATIENCE;
    loop {
        let asks = people::open_asks(world);
        if asks.as_ref().is_some_and(Vec::is_empty) || Instant::now() > deadline {
            return asks.expect("the list of what is open").iter().map(|ask| ask["key"].to_string()).collect();
        }
        thread::sleep(Duration::from_millis(100));
    }
}
