//! Two hubs over one engine against a model, with random commands.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;

use super::*;
use crate::ask::ChangeKind;

#[derive(Debug, Clone)]
enum Step {
    Open(u8),
    Settle(u8, u8),
    Defer(u8),
    Resume(u8),
    /// The hub ends, and another one with its name comes.
    Restart,
}

fn step() -> impl Strategy<Value = (bool, Step)> {
    let step = prop_oneof![
        4 => (0..4u8).prop_map(Step::Open),
        4 => (0..4u8, 0..3u8).prop_map(|(key, say)| Step::Settle(key, say)),
        1 => (0..4u8).prop_map(Step::Defer),
        1 => (0..4u8).prop_map(Step::Resume),
        1 => Just(Step::Restart),
    ];
    (any::<bool>(), step)
}

/// The newest life of a key.
#[derive(Debug, Clone, PartialEq)]
struct Life {
    id: AskId,
    deferred: bool,
    outcome: Option<Outcome>,
}

fn say(n: u8) -> Outcome {
    [answered("a"), answered("b"), Outcome::Withdrawn][usize::from(n)].clone()
}

async fn run(steps: Vec<(bool, Step)>) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    static OPTIONS: std::sync::OnceLock<PostgresOptions> = std::sync::OnceLock::new();
    let options = OPTIONS.get_or_init(|| database().0);
    let namespace = format!("model{}", COUNT.fetch_add(1, Ordering::Relaxed));
    let options = PostgresOptions { namespace, ..options.clone() };
    let mut hubs = [Hub::start(&options, "one").await, Hub::start(&options, "two").await];
    let mut lives: BTreeMap<u8, Life> = BTreeMap::new();
    let mut expected: Vec<(ChangeKind, AskId)> = Vec::new();
    let key = |key: u8| format!("s__{key}");
    for (at_second, step) in steps {
        let hub = &hubs[usize::from(at_second)];
        match step {
            Step::Open(name) => {
                let stands = lives.get(&name).filter(|life| life.outcome.as_ref().is_none_or(Outcome::stands));
                match (hub.try_open(&key(name)).await.unwrap(), stands) {
                    (Opened::New(ask), None) => {
                        expected.push((ChangeKind::Opened, ask.id));
                        lives.insert(name, Life { id: ask.id, deferred: false, outcome: None });
                    }
                    (Opened::Known(ask), Some(life)) => assert_eq!(ask.id, life.id),
                    (opened, life) => panic!("{opened:?}, and the model has {life:?}"),
                }
            }
            Step::Settle(name, words) => {
                let Some(life) = lives.get_mut(&name) else { continue };
                match (hub.settle(life.id, say(words)).await, &life.outcome) {
                    (Settling::Won(ask), None) => {
                        assert_eq!(outcome(&ask), &say(words));
                        expected.push((ChangeKind::Settled, life.id));
                        life.outcome = Some(say(words));
                    }
                    (Settling::Lost(ask), Some(first)) => assert_eq!(outcome(&ask), first),
                    (settled, life) => panic!("{settled:?}, and the model has {life:?}"),
                }
            }
            Step::Defer(name) | Step::Resume(name) => {
                let Some(life) = lives.get_mut(&name) else { continue };
                let defers = matches!(step, Step::Defer(_));
                let changed = match defers {
                    true => hub.store.defer(life.id, hub.store.now()).await.unwrap(),
                    false => hub.store.resume(life.id, None, hub.store.now()).await.unwrap(),
                };
                assert_eq!(changed.is_some(), life.outcome.is_none());
                if let Some(ask) = changed {
                    assert_eq!(ask.deferred, defers);
                    life.deferred = defers;
                    expected.push((if defers { ChangeKind::Deferred } else { ChangeKind::Resumed }, life.id));
                }
            }
            Step::Restart => {
                let host = if at_second { "two" } else { "one" };
                let before = hub.until_told(expected.len()).await;
                hub.store.close().await;
                let next = Hub::start(&options, host).await;
                // It has everything that came before in its snapshot.
                next.told.lock().unwrap().extend(before.into_iter().map(Told::Change));
                hubs[usize::from(at_second)] = next;
            }
        }
    }
    for hub in &hubs {
        let told = hub.until_told(expected.len()).await;
        assert_eq!(told.iter().map(|change| (change.kind, change.ask.id)).collect::<Vec<_>>(), expected);
        let (_, snapshot) = Opening::connect(options.clone(), Host::new("looker")).await.unwrap();
        let mut open: Vec<_> = snapshot.open.iter().map(|ask| (ask.id, ask.deferred)).collect();
        open.sort_unstable();
        let mut wanted: Vec<_> =
            lives.values().filter(|life| life.outcome.is_none()).map(|life| (life.id, life.deferred)).collect();
        wanted.sort_unstable();
        assert_eq!(open, wanted);
        hub.store.close().await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, max_shrink_iters: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn two_hubs_do_what_the_model_does(steps in prop::collection::vec(step(), 1..40)) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(run(steps));
    }
}
