//! Everything that can happen to a wait, at once and at random: daemons and hooks that are killed, rivals that answer, runs that are
//! resumed, hooks that come late or twice, two settings files, `stop` and `stop --release`. A model counts what must never happen.
//!
//! `cargo test --test torture -- --nocapture` prints what was done and what was counted. The run is short. For a long one, set
//! `ANSWERBACK_TORTURE_SECONDS`. `ANSWERBACK_TORTURE_SEED` chooses another order of the faults. Processes are not scheduled the same way
//! twice, so the seed does not repeat a run exactly.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "that is how a test fails")]

#[path = "../integration/http.rs"]
#[allow(dead_code, reason = "the other tests use the rest")]
mod http;
#[path = "../integration/world.rs"]
#[allow(dead_code, reason = "the other tests use the rest")]
mod world;

mod agents;
mod chance;
mod faults;
mod model;
mod people;

use std::sync::Arc;
use std::time::{Duration, Instant};

use chance::Chance;
use model::Model;
use world::World;

/// How many calls wait at the same time.
const WAITS: usize = 100;
/// How long faults are injected in an ordinary run.
const SHORT: Duration = Duration::from_secs(25);

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn whatever_happens_to_a_wait_no_answer_is_lost_doubled_invented_or_given_to_another_call() {
    let length = number("ANSWERBACK_TORTURE_SECONDS").map_or(SHORT, Duration::from_secs);
    let seed = number("ANSWERBACK_TORTURE_SEED").unwrap_or(7);
    let chance = Chance::new(seed);
    let mut world = World::new();
    drop(world.daemon());
    let world = Arc::new(world);
    let model = Arc::new(Model::new(Instant::now() + length));
    let agents = agents::start(&world, &model, &chance, WAITS);
    let people = people::start(&world, &model, &chance);
    faults::inject(&world, &model, &chance);
    for agent in agents {
        agent.join().unwrap();
    }
    model.everybody_may_go();
    for person in people {
        person.join().unwrap();
    }
    let open = faults::until_nothing_is_open(&world);
    println!("seed {seed}, {} s\n{}", length.as_secs(), model.report());
    assert_eq!(model.wrongs(), Vec::<String>::new());
    assert_eq!(open, Vec::<String>::new(), "nobody waits for these any more");
}
