//! One queue for each way: what is told waits here, and the ways do not wait for each other.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

use crate::registry::Registry;

use super::{Failure, Notice, Way};

/// More than this is not worth telling any more.
const MAX_WAITING: usize = 256;
/// Before the second and the third attempt.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];

/// The queue of one way. When it is dropped, its task ends.
#[derive(Debug)]
pub(super) struct Outbox {
    way: Arc<Way>,
    queue: mpsc::Sender<Notice>,
}

impl Outbox {
    pub(super) fn start(way: Way, registry: Registry) -> Self {
        let (queue, mut waiting) = mpsc::channel(MAX_WAITING);
        let way = Arc::new(way);
        let own = Arc::clone(&way);
        tokio::spawn(async move {
            while let Some(notice) = waiting.recv().await {
                send(&own, &notice, &registry).await;
            }
        });
        Self { way, queue }
    }

    pub(super) fn is_for_people(&self) -> bool {
        self.way.is_for_people()
    }

    /// Never waits.
    pub(super) fn put(&self, notice: &Notice) {
        if self.queue.try_send(notice.clone()).is_err() {
            tracing::warn!(way = self.way.name(), "too many notifications are waiting: one is left out");
        }
    }
}

async fn send(way: &Arc<Way>, notice: &Notice, registry: &Registry) {
    let mut pauses = PAUSES.into_iter();
    while let Some(notice) = wanted(notice, registry).await {
        let failure = match deliver(Arc::clone(way), notice).await {
            Ok(()) => {
                tracing::debug!(way = way.name(), "told");
                return;
            }
            Err(failure) => failure,
        };
        match pauses.next().filter(|_| failure.again) {
            Some(pause) => {
                tracing::debug!(way = way.name(), to = way.target(), reason = %failure, "not told, and tried again");
                sleep(pause).await;
            }
            None => {
                tracing::warn!(way = way.name(), to = way.target(), reason = %failure, hint = failure.hint, "not told");
                return;
            }
        }
    }
}

/// What is left of it: nobody is called to a question that is over.
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

/// On a thread of its own, for as long as it takes: a way may block, and a daemon that stops does not wait for it.
async fn deliver(way: Arc<Way>, notice: Notice) -> Result<(), Failure> {
    let (done, result) = oneshot::channel();
    let thread = thread::Builder::new().name("notify".into());
    // Nobody may be there any more to hear of it.
    let started = thread.spawn(move || drop(done.send(way.deliver(&notice))));
    let failed = |reason| Failure { reason, hint: "Look into the lines above this one.", again: true };
    started.map_err(|error| failed(format!("no thread: {error}")))?;
    result.await.unwrap_or_else(|_| Err(failed("it was broken off".to_owned())))
}
