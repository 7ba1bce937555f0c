#[path = "../../../tests/lib/postgres.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod engine;
#[path = "../../../tests/lib/ports.rs"]
mod ports;

mod encrypted;
mod faults;
mod leases;
mod model;
mod outages;
mod people;
mod proxy;
mod statements;

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use super::*;
use crate::ask::samples::new_ask;
use crate::ask::{Answer, Change, Origin, Outcome};
use crate::store;
use crate::store::conformance::Place;
use crate::store::{Snapshot, Update};
use engine::Engine;
use opening::warnings;
use times::Times;
use writer::Quotas;

/// Something that must be done although the runtime of the test does not run meanwhile.
fn block_on<T: Send>(task: impl Future<Output = T> + Send) -> T {
    let run = || tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(task);
    thread::scope(|scope| scope.spawn(run).join().unwrap())
}

/// An empty place for the conformance suite: a database of its own.
pub(in crate::store) fn place() -> Place {
    let options = PostgresOptions::parse(&Engine::shared().database()).unwrap();
    Box::new(move |host| block_on(store::Opening::connect(options.clone(), host)).unwrap())
}

/// The way to an empty database, and its name.
fn database() -> (PostgresOptions, String) {
    let address = Engine::shared().database();
    let name = address.rsplit('/').next().unwrap().to_owned();
    (PostgresOptions::parse(&address).unwrap(), name)
}

/// An empty database behind a proxy that can be cut, for the tests of other rooms. Leases are short.
pub(crate) struct Network {
    proxy: proxy::Proxy,
    name: String,
}

impl Network {
    pub(crate) fn new() -> Self {
        Self { proxy: proxy::Proxy::before(Engine::shared().dir()), name: database().1 }
    }

    /// The store for the daemon of a host, with a way to it that can be cut, or that cannot.
    pub(crate) async fn open(&self, host: &str, can_be_cut: bool) -> (store::Opening, Snapshot) {
        let dir = if can_be_cut { self.proxy.dir() } else { Engine::shared().dir() };
        let options = PostgresOptions::parse(&engine::address(dir, &self.name)).unwrap();
        let options = PostgresOptions { times: short(), ..options };
        // The calls are short here, and a busy engine may need longer for the first ones.
        for _ in 0..20 {
            if let Ok(opened) = store::Opening::connect(options.clone(), Host::new(host)).await {
                return opened;
            }
        }
        store::Opening::connect(options, Host::new(host)).await.unwrap()
    }

    pub(crate) fn cut(&self, is_cut: bool) {
        self.proxy.cut(is_cut);
    }
}

/// Waits for a condition.
async fn until(what: &str, condition: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition().await {
        assert!(Instant::now() < deadline, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// What a store tells its sink.
#[derive(Debug, Clone)]
enum Told {
    Change(Arc<Change>),
    /// The cursor, and the open asks.
    Reset(i64, Vec<i64>),
}

/// One daemon's store, and everything that it told.
struct Hub {
    store: Postgres,
    told: Arc<Mutex<Vec<Told>>>,
}

impl Hub {
    async fn start(options: &PostgresOptions, host: &str) -> Self {
        Self::start_with(options, host, Quotas::default()).await
    }

    async fn start_with(options: &PostgresOptions, host: &str, quotas: Quotas) -> Self {
        let (mut opening, _) = Opening::connect(options.clone(), Host::new(host)).await.unwrap();
        opening.quotas = quotas;
        let told = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&told);
        let store = opening.start(Box::new(move |update| {
            kept.lock().unwrap().push(match update {
                Update::Change(change) => Told::Change(Arc::clone(change)),
                Update::Reset(snapshot) => {
                    Told::Reset(snapshot.cursor.0, snapshot.open.iter().map(|ask| ask.id.0).collect())
                }
            });
        }));
        Self { store: store.unwrap(), told }
    }

    async fn try_open(&self, key: &str) -> Result<Opened, StoreError> {
        self.store.open_ask(Arc::new(new_ask(key)), self.store.now(), 64).await
    }

    async fn open(&self, key: &str) -> Arc<Ask> {
        self.open_new(new_ask(key)).await
    }

    async fn open_new(&self, new: NewAsk) -> Arc<Ask> {
        match self.store.open_ask(Arc::new(new), self.store.now(), 64).await.unwrap() {
            Opened::New(ask) => ask,
            other => panic!("not new: {other:?}"),
        }
    }

    async fn try_settle(&self, id: AskId, outcome: Outcome) -> Result<Settling, StoreError> {
        self.store.settle(id, Settlement { outcome, by: None, at: self.store.now() }).await
    }

    async fn settle(&self, id: AskId, outcome: Outcome) -> Settling {
        self.try_settle(id, outcome).await.unwrap()
    }

    fn told(&self) -> Vec<Told> {
        self.told.lock().unwrap().clone()
    }

    /// The changes that it told; there must not be anything else.
    fn changes(&self) -> Vec<Arc<Change>> {
        let change = |told| match told {
            Told::Change(change) => change,
            Told::Reset(cursor, _) => panic!("broken off at {cursor}"),
        };
        self.told().into_iter().map(change).collect()
    }

    fn cursors(&self) -> Vec<i64> {
        self.changes().iter().map(|change| change.cursor.0).collect()
    }

    /// Waits until it has told so many changes.
    async fn until_told(&self, count: usize) -> Vec<Arc<Change>> {
        until("all changes are told", async || self.told().len() >= count).await;
        self.changes()
    }
}

/// What an agent asks, which must wait for the answer.
fn of_agent(key: &str) -> NewAsk {
    NewAsk { origin: Origin::ClaudeCode, ..new_ask(key) }
}

fn answered(text: &str) -> Outcome {
    let answers = [("Which database, 0?".to_owned(), text.to_owned())].into_iter().collect();
    Outcome::Answered(Answer { answers, notes: Default::default(), edited: None })
}

fn outcome(ask: &Ask) -> &Outcome {
    &ask.settlement.as_ref().unwrap().outcome
}

/// Shorter times, for what a test has to wait for.
fn short() -> Times {
    let ms = Duration::from_millis;
    Times {
        call: ms(1000),
        unknown: ms(2000),
        poll: ms(200),
        lease: ms(1500),
        renewal: ms(200),
        dead: ms(1000),
        days: ms(200),
        ..Times::default()
    }
}
