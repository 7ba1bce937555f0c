//! What has happened at least once.

use jiff::SignedDuration;

use super::*;
use crate::ask::{Channel, Origin, Source};
use crate::store::Milestone::{self, Answer, HookCall};

async fn reached(world: &World) -> Vec<Milestone> {
    let mut reached = Vec::new();
    for milestone in [HookCall, Answer] {
        if world.store.has_reached(milestone).await.unwrap() {
            reached.push(milestone);
        }
    }
    reached
}

/// The first answer stays known, also when its ask is forgotten and the store is opened again.
pub(super) async fn a_milestone_outlasts_the_asks(mut world: World) {
    assert_eq!(reached(&world).await, []);
    let id = world.open("s__t").await.id;
    world.settle(id, answered("SQLite")).await;
    assert_eq!(reached(&world).await, [Answer]);
    let later = Timestamp::now() + SignedDuration::from_hours(1);
    assert_eq!(world.store.purge(later).await.unwrap(), 1);
    world.reopen().await;
    assert_eq!(reached(&world).await, [Answer]);
    world.store.reach(HookCall).await.unwrap();
    world.reopen().await;
    assert_eq!(reached(&world).await, [HookCall, Answer]);
}

/// Only an agent proves that its hook works. The demo, the doctor and programs do not.
pub(super) async fn an_ask_of_an_agent_is_a_call_of_its_hook(world: World) {
    let asks = [("demo-1__t", Origin::ClaudeCode), ("doctor-1__t", Origin::Probe), ("program-1__t", Origin::Program)];
    for (key, origin) in asks {
        world.open_new(NewAsk { origin, ..new_ask(key) }).await;
        assert_eq!(reached(&world).await, [], "{key}");
    }
    world.open_new(NewAsk { origin: Origin::ClaudeCode, ..new_ask("s__t") }).await;
    assert_eq!(reached(&world).await, [HookCall]);
}

/// Only an answer that a person gives here counts. The demo counts too.
pub(super) async fn an_answer_of_a_person_is_an_answer(world: World) {
    let by = |channel| Some(Source::of(channel));
    let Outcome::Answered(answer) = answered("SQLite") else { panic!("an answer") };
    let others = [
        (Origin::Probe, answered("SQLite"), by(Channel::Socket)),
        (Origin::ClaudeCode, answered("SQLite"), by(Channel::Away)),
        (Origin::ClaudeCode, Outcome::AnsweredInTerminal(answer), by(Channel::Terminal)),
        (Origin::ClaudeCode, Outcome::Dismissed { reason: None }, by(Channel::Device)),
        (Origin::ClaudeCode, Outcome::Withdrawn, None),
    ];
    for (n, (origin, outcome, by)) in others.into_iter().enumerate() {
        let id = world.open_new(NewAsk { origin, ..new_ask(&format!("demo-1__{n}")) }).await.id;
        world.store.settle(id, Settlement { by, ..settlement(outcome) }).await.unwrap();
        assert_eq!(reached(&world).await, [], "{n}");
    }
    let id = world.open_new(NewAsk { origin: Origin::ClaudeCode, ..new_ask("demo-1__t") }).await.id;
    world.store.settle(id, Settlement { by: by(Channel::Device), ..settlement(answered("SQLite")) }).await.unwrap();
    assert_eq!(reached(&world).await, [Answer]);
}
