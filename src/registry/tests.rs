//! Times are real here: the store works on a thread of its own, and a clock that jumps would get ahead of it.

mod edges;
mod hubs;
mod open_asks;

use std::path::PathBuf;

use jiff::SignedDuration;
use serde_json::json;
use tempfile::TempDir;
use tokio::time::{Instant, sleep, timeout};

use super::*;
use crate::ask::{Answer, AskKey, Channel, Host, Kind, News, OnTimeout, Origin, Report, Topic};
use crate::store::OtherWriter;
use crate::store::samples::in_scratch_dir;

struct World {
    dir: TempDir,
    registry: Registry,
}

impl World {
    fn new() -> Self {
        let (dir, opening, snapshot) = in_scratch_dir();
        Self { registry: Registry::start(opening, snapshot).unwrap().0, dir }
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("asks.db")
    }

    /// Nothing can be written while this lives.
    fn lock_store(&self) -> OtherWriter {
        OtherWriter::begin(&self.file())
    }

    async fn attach(&self, new: NewAsk) -> Wait {
        match self.registry.attach(new, false).await.unwrap() {
            Attached::Waiting(mut wait) => {
                wait.confirm();
                wait
            }
            Attached::Settled(ask) => panic!("settled: {ask:?}"),
            Attached::Over => panic!("over"),
        }
    }

    async fn outcome(&self) -> Outcome {
        let settled = timeout(Duration::from_secs(20), self.registry.until_settled(&key())).await.unwrap().unwrap();
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
        topic: Topic::of_questions(serde_json::from_value(json!([{"question": "Which?"}])).unwrap()),
        detail: String::new(),
        expires_at: timeout.map(|seconds| Timestamp::now() + SignedDuration::from_secs(seconds)),
        on_timeout: OnTimeout::Native,
        racing: false,
        digest: None,
        asker: None,
        asked_by: None,
    }
}

fn answered() -> Outcome {
    let answers = [("Which?".to_owned(), "A".to_owned())].into_iter().collect();
    Outcome::Answered(Answer { answers, notes: Default::default(), edited: None })
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
    let ask = loop {
        if let Some(ask) = world.registry.get(&key()).await.unwrap() {
            break ask;
        }
    };
    // Nobody can answer it in between.
    world.registry.until_confirmed(&ask).await;
    let answered = world.registry.settle(ask.id, answered(), None).await;
    assert!(matches!(answered, Err(SettleError::Gone(_))), "{answered:?}");
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
    let WaitEnd::Settled(Settled { ask, .. }) = second.end().await else { panic!("deferred") };
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

#[tokio::test]
async fn a_daemon_ends_only_the_asks_of_its_own_machine() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("asks.db");
    let open = |host: &str| Opening::open(&file, true, Host::new(host)).unwrap();
    let store = open("here").0.start(Box::new(|_| {})).unwrap();
    for id in ["ours", "theirs"] {
        let digest = Some("same".to_owned());
        let new = NewAsk { key: format!("s__{id}").parse().unwrap(), digest, ..ask(Some(-1)) };
        store.open_ask(Arc::new(new), Timestamp::now(), 64).await.unwrap();
    }
    store.close().await;
    let (opening, mut snapshot) = open("here");
    for ask in snapshot.open.iter_mut().filter(|ask| ask.key.tool_use_id() == "theirs") {
        ask.host = Host::new("elsewhere");
    }
    let (registry, _) = Registry::start(opening, snapshot).unwrap();
    let _link = registry.link(&Host::new("elsewhere"));
    let (ours, theirs): (AskKey, AskKey) = ("s__ours".parse().unwrap(), "s__theirs".parse().unwrap());
    let ours = timeout(Duration::from_secs(20), registry.until_settled(&ours)).await.unwrap().unwrap().unwrap();
    assert_eq!(ours.settlement.as_ref().unwrap().outcome, Outcome::Expired);
    // Neither its deadline, nor the grace of an asker that leaves, nor the end of its session ends it here.
    let joining = NewAsk { key: theirs.clone(), digest: Some("same".to_owned()), ..ask(None) };
    drop(registry.attach(joining, false).await.unwrap());
    registry.process_ended("s", None).await.unwrap();
    sleep(GRACE + Duration::from_millis(500)).await;
    assert!(registry.get(&theirs).await.unwrap().unwrap().is_open());
}

#[tokio::test]
async fn programs_leave_some_places_to_hooks() {
    let (_dir, opening, mut snapshot) = in_scratch_dir();
    let program = |n| Ask { origin: Origin::Program, ..crate::ask::samples::ask(n, &format!("p{n}__t"), "shop", 1) };
    snapshot.open = (0..9_000).map(program).collect();
    let (registry, _store) = Registry::start(opening, snapshot).unwrap();
    let refused = registry.open(NewAsk { origin: Origin::Program, ..ask(None) }, Asker::Here).await.unwrap_err();
    assert!(matches!(refused, OpenError::Full), "{refused}");
    assert!(registry.open(ask(None), Asker::Here).await.unwrap().is_open());
}

/// What can happen to the questions of one session, in any order.
#[derive(Debug, Clone, Copy)]
enum Step {
    Announce(u8),
    Dialog,
    Answer(u8),
    Dismiss(u8),
    Received(u8),
    WentOn,
    HangUp,
    Restart,
}

fn steps() -> impl proptest::strategy::Strategy<Value = Vec<Step>> {
    use proptest::prelude::*;
    let step = prop_oneof![
        3 => (0..3u8).prop_map(Step::Announce),
        3 => Just(Step::Dialog),
        2 => (0..3u8).prop_map(Step::Answer),
        1 => (0..3u8).prop_map(Step::Dismiss),
        2 => (0..3u8).prop_map(Step::Received),
        1 => Just(Step::WentOn),
        1 => Just(Step::HangUp),
        1 => Just(Step::Restart),
    ];
    prop::collection::vec(step, 1..25)
}

fn racing(id: &str) -> NewAsk {
    NewAsk { key: format!("s__{id}").parse().unwrap(), racing: true, digest: Some("same".into()), ..ask(None) }
}

/// Runs the steps, and checks after each that no outcome has changed, and at the end that nobody is left waiting.
async fn play(steps: &[Step]) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("asks.db");
    let start = || {
        let (opening, snapshot) = Opening::open(&file, true, Host::new("here")).unwrap();
        Registry::start(opening, snapshot).unwrap()
    };
    let (mut registry, mut store) = start();
    let mut waits: Vec<tokio::task::JoinHandle<WaitEnd>> = Vec::new();
    let mut outcomes: std::collections::HashMap<AskId, Outcome> = std::collections::HashMap::new();
    for (number, step) in steps.iter().enumerate() {
        let named = |id: &u8| -> AskKey { format!("s__{id}").parse().unwrap() };
        match step {
            Step::Announce(id) => drop(registry.open(racing(&id.to_string()), Asker::Here).await.unwrap()),
            Step::Dialog => {
                let unnamed = racing(&format!("unnamed-{number}"));
                if let Attached::Waiting(wait) = registry.attach_to_race(unnamed, None, false).await.unwrap() {
                    waits.push(tokio::spawn(wait.end()));
                }
            }
            Step::Answer(id) | Step::Dismiss(id) => {
                let outcome =
                    if matches!(step, Step::Answer(_)) { answered() } else { Outcome::Dismissed { reason: None } };
                if let Some(ask) = registry.get(&named(id)).await.unwrap() {
                    drop(registry.settle(ask.id, outcome, None).await);
                }
            }
            Step::Received(id) => {
                let answers = [("Which?".to_owned(), "B".to_owned())].into_iter().collect();
                let notes = Default::default();
                let news = News::Answers { answers, notes };
                let report = Report { key: named(id), asker: None, digest: Some("same".into()), news };
                registry.report(report).await.unwrap();
            }
            Step::WentOn => registry.thread_went_on("s", None, None).await.unwrap(),
            Step::HangUp => waits.pop().into_iter().for_each(|wait| wait.abort()),
            Step::Restart => {
                // Parked askers lose their connection with the daemon.
                waits.drain(..).for_each(|wait| wait.abort());
                store.close().await;
                (registry, store) = start();
            }
        }
        let everything = Filter::all(crate::store::StateFilter::All, 1000);
        let mut open = std::collections::HashSet::new();
        for ask in registry.list(everything).await.unwrap().asks {
            match &ask.settlement {
                Some(settlement) => {
                    let first = outcomes.entry(ask.id).or_insert_with(|| settlement.outcome.clone());
                    assert_eq!(first, &settlement.outcome, "a second outcome");
                }
                None => assert!(open.insert(ask.key.clone()), "two open lives of one key"),
            }
        }
    }
    registry.process_ended("s", None).await.unwrap();
    assert_eq!(registry.0.open.len(), 0, "a question is left open");
    for wait in waits {
        let ended = timeout(Duration::from_secs(10), wait).await;
        assert!(ended.is_ok(), "somebody waits for ever");
    }
    store.close().await;
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 200, ..Default::default() })]

    #[test]
    fn in_any_order_there_is_one_outcome_and_nobody_waits_for_ever(steps in steps()) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(play(&steps));
    }
}

#[tokio::test]
async fn after_a_break_in_the_order_the_open_asks_are_the_new_ones_and_lost_waits_end() {
    let world = World::new();
    let (stays, goes) = (NewAsk { key: "s__stays".parse().unwrap(), ..ask(None) }, ask(None));
    let (stays, goes) = (world.attach(stays).await, world.attach(goes).await);
    let mut feed = world.registry.feed(None);
    let goes_id = goes.ask().id;
    let mut open: Vec<Ask> = vec![stays.ask().clone()];
    // The same key, but another life.
    open.push(Ask { id: AskId(goes_id.0 + 7), ..goes.ask().clone() });
    let appeared = world.registry.0.open.reset(Snapshot { open, cursor: Cursor(1000) });
    assert_eq!(appeared.iter().map(|ask| ask.id).collect::<Vec<_>>(), [AskId(goes_id.0 + 7)]);
    assert!(matches!(goes.end().await, WaitEnd::Lost));
    assert!(matches!(feed.next().await.unwrap(), Some(Next::Reset(Cursor(1000)))));
    assert_eq!(*world.registry.cursor().borrow(), Cursor(1000));
    let open = world.registry.open_asks(None);
    assert_eq!(open.iter().map(|ask| ask.key.as_str()).collect::<Vec<_>>(), ["s__stays", "s__t"]);
    // Whoever waits for an ask that stays is not disturbed.
    let id = stays.ask().id;
    world.registry.settle(id, Outcome::Released, None).await.unwrap();
    assert!(matches!(stays.end().await, WaitEnd::Settled(settled) if settled.ask.id == id));
}

#[tokio::test]
async fn an_asker_whose_ask_was_withdrawn_by_a_hub_asks_again() {
    let world = World::new();
    let wait = world.attach(ask(None)).await;
    let id = wait.ask().id;
    let hub = Source::of(Channel::Hub);
    world.registry.settle(id, Outcome::Withdrawn, Some(hub)).await.unwrap();
    assert!(matches!(wait.end().await, WaitEnd::Lost));
    let Attached::Waiting(again) = world.registry.attach(ask(None), true).await.unwrap() else { panic!("not open") };
    assert!(again.ask().id > id);
}
