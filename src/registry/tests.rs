//! Times are real here: the store works on a thread of its own, and a clock that jumps would get ahead of it.

use std::path::PathBuf;

use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;
use tokio::time::{Instant, timeout};

use super::*;
use crate::ask::{Answer, AskKey};

struct World {
    dir: TempDir,
    registry: Registry,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (opening, loaded) = Opening::open(&dir.path().join("asks.db")).unwrap();
        Self { registry: Registry::start(opening, loaded).unwrap().0, dir }
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("asks.db")
    }

    /// Nothing can be written while this lives.
    fn lock_store(&self) -> Connection {
        let connection = Connection::open(self.file()).unwrap();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        connection
    }

    async fn attach(&self, new: NewAsk) -> Wait {
        match self.registry.attach(new, false).await.unwrap() {
            Attached::Waiting(wait) => wait,
            Attached::Settled(ask) => panic!("settled: {ask:?}"),
        }
    }

    async fn outcome(&self) -> Outcome {
        let settled = timeout(Duration::from_secs(20), self.registry.settled(&key())).await.unwrap().unwrap();
        settled.unwrap().settlement.as_ref().unwrap().outcome.clone()
    }

    async fn open_id(&self) -> Option<AskId> {
        self.registry.get(&key()).await.unwrap().filter(|ask| ask.is_open()).map(|ask| ask.id)
    }
}

fn key() -> AskKey {
    "s__t".parse().unwrap()
}

fn ask(timeout: Option<i64>) -> NewAsk {
    NewAsk {
        key: key(),
        origin: Origin::ClaudeCode,
        project: None,
        questions: serde_json::from_value(json!([{"question": "Which?"}])).unwrap(),
        detail: String::new(),
        expires_at: timeout.map(|seconds| Timestamp::now() + SignedDuration::from_secs(seconds)),
        on_timeout: OnTimeout::Native,
        racing: false,
        digest: None,
    }
}

fn answered() -> Outcome {
    let answers = [("Which?".to_owned(), "A".to_owned())].into_iter().collect();
    Outcome::Answered(Answer { answers, notes: Default::default() })
}

/// Lets a future begin, and drops it while the store has its hands full.
async fn begin_and_cancel(world: &World, new: NewAsk) {
    let lock = world.lock_store();
    let attaching = world.registry.attach(new, false);
    assert!(timeout(Duration::from_millis(100), attaching).await.is_err(), "the store was not busy");
    drop(lock);
}

#[tokio::test]
async fn an_asker_that_goes_while_its_question_is_opened_is_withdrawn() {
    let world = World::new();
    begin_and_cancel(&world, ask(None)).await;
    while world.open_id().await.is_none() {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.outcome().await, Outcome::Withdrawn);
}

#[tokio::test]
async fn and_a_programs_question_keeps_its_deadline() {
    let world = World::new();
    begin_and_cancel(&world, NewAsk { origin: Origin::Program, ..ask(Some(1)) }).await;
    while world.open_id().await.is_none() {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.outcome().await, Outcome::Expired);
}

#[tokio::test]
async fn the_grace_begins_when_the_last_asker_has_gone() {
    let world = World::new();
    let first = world.attach(ask(None)).await;
    drop(first);
    sleep(Duration::from_millis(1500)).await;
    let second = world.attach(ask(None)).await;
    let left = Instant::now();
    drop(second);
    assert_eq!(world.outcome().await, Outcome::Withdrawn);
    assert!(left.elapsed() >= GRACE, "{:?}", left.elapsed());
}

#[tokio::test]
async fn an_asker_that_comes_while_its_question_is_withdrawn_is_not_told_so() {
    let world = World::new();
    let first = world.attach(ask(None)).await;
    let id = world.open_id().await.unwrap();
    drop(first);
    sleep(GRACE - Duration::from_millis(200)).await;
    let lock = world.lock_store();
    sleep(Duration::from_millis(400)).await;
    let coming = world.registry.attach(ask(None), true);
    let (coming, ()) = tokio::join!(coming, async {
        sleep(Duration::from_millis(100)).await;
        drop(lock);
    });
    let Attached::Waiting(second) = coming.unwrap() else { panic!("not parked") };
    let anew = world.open_id().await.unwrap();
    assert_ne!(anew, id);
    world.registry.settle(anew, answered(), None).await.unwrap();
    let WaitEnd::Settled(ask) = second.end().await else { panic!("deferred") };
    assert_eq!(ask.settlement.as_ref().unwrap().outcome, answered());
}

#[tokio::test]
async fn what_could_not_be_saved_is_tried_again() {
    let world = World::new();
    let wait = world.attach(ask(None)).await;
    drop(wait);
    sleep(GRACE - Duration::from_millis(100)).await;
    // Longer than SQLite is patient.
    let lock = world.lock_store();
    sleep(Duration::from_millis(1500)).await;
    assert!(world.open_id().await.is_some());
    drop(lock);
    assert_eq!(world.outcome().await, Outcome::Withdrawn);
}

#[tokio::test]
async fn an_asker_that_lost_its_daemon_gets_every_outcome() {
    for (outcome, stands_for_all) in [(Outcome::Released, false), (Outcome::Expired, false), (answered(), true)] {
        let world = World::new();
        let wait = world.attach(ask(None)).await;
        let id = world.open_id().await.unwrap();
        world.registry.settle(id, outcome.clone(), None).await.unwrap();
        drop(wait);
        let Attached::Settled(resumed) = world.registry.attach(ask(None), true).await.unwrap() else {
            panic!("{outcome:?} was lost");
        };
        assert_eq!(resumed.settlement.as_ref().unwrap().outcome, outcome);
        let asked_anew = world.registry.attach(ask(None), false).await.unwrap();
        assert_eq!(matches!(asked_anew, Attached::Settled(_)), stands_for_all, "{outcome:?}");
    }
}

#[tokio::test]
async fn a_withdrawn_question_is_asked_anew_also_after_a_lost_daemon() {
    let world = World::new();
    drop(world.attach(ask(None)).await);
    assert_eq!(world.outcome().await, Outcome::Withdrawn);
    assert!(matches!(world.registry.attach(ask(None), true).await.unwrap(), Attached::Waiting(_)));
}
