//! One queue of notices for each way. So a slow way does not hold up another.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

use crate::ask::Ask;
use crate::registry::Registry;
use crate::store::Store;

use super::{Audience, Failure, Notice, Way};

/// If this many notices are waiting, a new one is dropped.
const MAX_WAITING: usize = 256;
/// The pauses before the second and the third attempt.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];

/// The queue of one way. When it is dropped, its task ends.
#[derive(Debug)]
pub(super) struct Outbox {
    way: Arc<Way>,
    queue: mpsc::Sender<Notice>,
}

impl Outbox {
    pub(super) fn start(way: Way, registry: Registry, store: Store) -> Self {
        let (queue, mut waiting) = mpsc::channel(MAX_WAITING);
        let way = Arc::new(way);
        let own = Arc::clone(&way);
        tokio::spawn(async move {
            while let Some(notice) = waiting.recv().await {
                if let Some(notice) = own_share(&own, notice, &store).await {
                    send(&own, &notice, &registry).await;
                }
            }
        });
        Self { way, queue }
    }

    pub(super) fn audience(&self) -> Audience {
        self.way.audience()
    }

    /// Puts a notice into the queue. Drops the notice if the queue is full, because this must not wait.
    pub(super) fn put(&self, notice: &Notice) {
        if self.queue.try_send(notice.clone()).is_err() {
            tracing::warn!(way = self.way.name(), "too many notifications are waiting: one was dropped");
        }
    }
}

/// The notice without the asks that another daemon of the store has told of, or will tell of. `None` if no ask is left. A daemon that ends
/// before it has told of its share leaves that untold, but nobody is told twice.
async fn own_share(way: &Way, notice: Notice, store: &Store) -> Option<Notice> {
    if !store.is_shared() || !way.is_same_everywhere() {
        return Some(notice);
    }
    let name = |what: &str, ask: &Ask| format!("{}-{what}-{}", way.name(), ask.id.0);
    match notice {
        Notice::Asked(asks) => {
            let mut own = Vec::new();
            for ask in asks {
                if is_first(store, name("opened", &ask)).await {
                    own.push(ask);
                }
            }
            (!own.is_empty()).then_some(Notice::Asked(own))
        }
        Notice::Opened(ask) => is_first(store, name("opened", &ask)).await.then_some(Notice::Opened(ask)),
        Notice::Settled(ask) => is_first(store, name("settled", &ask)).await.then_some(Notice::Settled(ask)),
        Notice::Test => Some(Notice::Test),
    }
}

/// If that cannot be known, it is better to tell somebody twice than not at all.
async fn is_first(store: &Store, name: String) -> bool {
    store.is_first_to(name).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "another daemon may send the same notification");
        true
    })
}

async fn send(way: &Arc<Way>, notice: &Notice, registry: &Registry) {
    let mut pauses = PAUSES.into_iter();
    while let Some(notice) = wanted(notice, registry).await {
        let failure = match deliver(Arc::clone(way), notice).await {
            Ok(()) => {
                tracing::debug!(way = way.name(), "notification delivered");
                return;
            }
            Err(failure) => failure,
        };
        match pauses.next().filter(|_| failure.again) {
            Some(pause) => {
                tracing::debug!(way = way.name(), to = way.target(), reason = %failure, "notification failed: it is tried again");
                sleep(pause).await;
            }
            None => {
                tracing::warn!(way = way.name(), to = way.target(), reason = %failure, hint = failure.hint, "notification failed");
                return;
            }
        }
    }
}

/// The notice without the asks that are settled by now. `None` if no ask is left.
async fn wanted(notice: &Notice, registry: &Registry) -> Option<Notice> {
    let Notice::Asked(asks) = notice else { return Some(notice.clone()) };
    let mut open = Vec::new();
    for ask in asks {
        if let Ok(Some(newest)) = registry.get(&ask.key).await
            && newest.id == ask.id
            && newest.is_open()
        {
            open.push(Arc::clone(ask));
        }
    }
    (!open.is_empty()).then(|| Notice::Asked(open))
}

/// Delivers on a thread of its own. A delivery blocks, and a daemon that stops must not wait for it.
async fn deliver(way: Arc<Way>, notice: Notice) -> Result<(), Failure> {
    let (done, result) = oneshot::channel();
    let thread = thread::Builder::new().name("notify".into());
    // The send fails if the daemon has stopped meanwhile.
    let started = thread.spawn(move || drop(done.send(way.deliver(&notice))));
    let failed = |reason| Failure { reason, hint: "See the log lines before this one.", again: true };
    started.map_err(|error| failed(format!("cannot start a thread: {error}")))?;
    result.await.unwrap_or_else(|_| Err(failed("the delivery panicked".to_owned())))
}
