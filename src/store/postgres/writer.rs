//! The one task that changes asks. It takes the commands that are waiting, and runs them in one statement.
//!
//! If the reply to that statement is lost, nobody knows whether it was done. Then the same commands are sent again, with the same tags, and
//! the engine says which of them it knows. Nothing is acknowledged before the engine has confirmed it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};

use serde::Serialize;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::store::StoreError;

use super::command::{Command, Done};
use super::error::CallError;
use super::follow::{Input, OwnBatch, OwnResult, Verdict};
use super::lease::Lease;
use super::link::{Link, Session};
use super::notice::Notice;
use super::rows::get;
use super::times::Times;

/// The most commands that share one commit: bounds how long the first of them waits for the last.
const MAX_BATCH: usize = 256;
/// The same for their size. One command may be larger.
const MAX_BATCH_BYTES: usize = 4 * 1024 * 1024;

pub(super) const APPLY: &str = "SELECT * FROM answerback.apply_1($1, $2, $3, $4, $5, $6, $7)";
pub(super) const APPLY_TYPES: [Type; 7] =
    [Type::TEXT, Type::TEXT, Type::TEXT, Type::INT8, Type::INT4, Type::INT4, Type::TEXT];

/// How many asks of one host may be open.
pub(in crate::store) const MAX_OPEN_OF_HOST: usize = 1_000;

/// How many asks may be open, in the namespace and of one host.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quotas {
    pub(super) namespace: i32,
    pub(super) host: i32,
}

impl Default for Quotas {
    fn default() -> Self {
        Self { namespace: 10_000, host: MAX_OPEN_OF_HOST as i32 }
    }
}

/// Who writes, and where.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    pub(super) namespace: String,
    pub(super) host: String,
    /// Names this run of the daemon.
    pub(super) instance: String,
    /// Where notices go.
    pub(super) channel: String,
}

/// What the writer is asked to do.
pub(super) enum Work {
    Command(Pending),
    /// Finish everything that was sent before.
    Close(oneshot::Sender<()>),
}

/// A command and its caller.
pub(super) struct Pending {
    pub(super) command: Command,
    pub(super) stage: Stage,
    pub(super) reply: oneshot::Sender<Result<Done, StoreError>>,
}

/// Whether a command may have reached the engine. Its caller can take it back before that.
#[derive(Debug, Clone, Default)]
pub(super) struct Stage(Arc<AtomicU8>);

impl Stage {
    const WAITING: u8 = 0;
    const SENT: u8 = 1;
    const TAKEN_BACK: u8 = 2;

    fn go_to(&self, next: u8) -> bool {
        self.0.compare_exchange(Self::WAITING, next, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// `false` if it has been sent already.
    pub(super) fn take_back(&self) -> bool {
        self.go_to(Self::TAKEN_BACK)
    }
}

pub(super) struct Writer {
    pub(super) link: Link,
    pub(super) work: mpsc::UnboundedReceiver<Work>,
    pub(super) follower: mpsc::UnboundedSender<Input>,
    pub(super) identity: Identity,
    pub(super) times: Times,
    pub(super) quotas: Quotas,
    pub(super) lease: Lease,
    /// Set when the store cannot go on.
    pub(super) failing: watch::Sender<Option<StoreError>>,
    /// The newest cursor that was published here: the engine had it before anything that is sent now.
    pub(super) published: Arc<AtomicI64>,
    /// The newest cursor in the engine after the last batch of this daemon.
    pub(super) head: i64,
}

/// A command that may have been sent before.
#[derive(Debug, Clone, Copy)]
struct Attempt {
    /// When it was sent for the first time.
    started: Instant,
    /// A cursor that the engine had before that.
    known: i64,
    /// Whether the reply to an earlier sending was lost.
    is_repeated: bool,
}

#[derive(Serialize)]
struct Numbered<'a> {
    n: usize,
    #[serde(flatten)]
    command: &'a Command,
}

impl Writer {
    pub(super) async fn run(mut self) {
        let mut work = Vec::new();
        while self.work.recv_many(&mut work, MAX_BATCH).await > 0 {
            let (mut batch, mut bytes, mut closing) = (Vec::new(), 0, None);
            for work in work.drain(..) {
                match work {
                    Work::Command(pending) => {
                        bytes += pending.command.size();
                        batch.push(pending);
                        if bytes > MAX_BATCH_BYTES {
                            self.send(std::mem::take(&mut batch)).await;
                            bytes = 0;
                        }
                    }
                    Work::Close(done) => closing = Some(done),
                }
            }
            self.send(batch).await;
            if let Some(done) = closing {
                drop(self.follower.send(Input::Close(done)));
                return;
            }
        }
    }

    /// Waits for a connection, then runs the commands that their callers have not taken back meanwhile.
    async fn send(&mut self, mut batch: Vec<Pending>) {
        while !batch.is_empty() {
            if let Some(error) = self.failing.borrow().clone() {
                return refuse(batch, &error);
            }
            match self.link.session(self.times.unsent).await {
                Ok(session) if self.lease.was_taken() || self.lease.renew(&session).await => {
                    batch.retain(|pending| pending.stage.go_to(Stage::SENT));
                    if !batch.is_empty() {
                        // The smaller the distance, the fewer changes the engine has to look through for tags.
                        let known = self.head.max(self.published.load(Ordering::Relaxed));
                        let first = Attempt { started: Instant::now(), known, is_repeated: false };
                        self.commit(session, batch, first).await;
                    }
                    return;
                }
                Ok(_) => sleep(self.times.first_pause).await,
                Err(StoreError::Closed) => return refuse(batch, &StoreError::Closed),
                // The callers lose their patience by themselves.
                Err(_) => batch.retain(|pending| !pending.reply.is_closed()),
            }
        }
    }

    /// Runs a batch until the engine has confirmed or refused it, or until there is no time left.
    async fn commit(&mut self, mut session: Arc<Session>, batch: Vec<Pending>, attempt: Attempt) {
        let Attempt { started, known, mut is_repeated } = attempt;
        let commands: Vec<_> =
            batch.iter().enumerate().map(|(n, pending)| Numbered { n, command: &pending.command }).collect();
        let commands = match serde_json::to_string(&commands) {
            Ok(commands) => commands,
            Err(error) => return refuse(batch, &StoreError::Failed(error.to_string())),
        };
        loop {
            let identity = &self.identity;
            let values = [
                identity.namespace.as_str().into(),
                identity.host.as_str().into(),
                identity.instance.as_str().into(),
                known.into(),
                self.quotas.namespace.into(),
                self.quotas.host.into(),
                commands.as_str().into(),
            ];
            let why = match session.apply(&values).await {
                Ok(rows) => match self.confirm(&session, rows, batch) {
                    Ok(()) => return,
                    // It cannot be: the function has given these rows.
                    Err(error) => return self.fail(error),
                },
                // One command that fails leaves the others of its batch alone: they are tried again one by one.
                Err(CallError::Refused(error)) if batch.len() > 1 && !matches!(error, StoreError::Busy(_)) => {
                    for pending in batch {
                        let attempt = Attempt { started, known, is_repeated };
                        Box::pin(self.commit(Arc::clone(&session), vec![pending], attempt)).await;
                    }
                    return;
                }
                Err(CallError::Refused(error)) if !is_repeated => return refuse(batch, &error),
                Err(CallError::NameTaken) => {
                    if !self.lease.renew(&session).await && self.failing.borrow().is_some() {
                        let unknown =
                            || StoreError::Unknown("another daemon has taken the name of this one".to_owned());
                        return refuse(batch, &if is_repeated { unknown() } else { StoreError::Closed });
                    }
                    "another daemon has taken the name of this one".to_owned()
                }
                Err(CallError::Refused(error)) => error.to_string(),
                Err(CallError::Lost(why)) => {
                    is_repeated = true;
                    why
                }
            };
            tracing::warn!(why, "a change is sent to the store again");
            let left = self.times.unknown.saturating_sub(started.elapsed());
            sleep(self.times.first_pause.min(left)).await;
            match self.link.session(left).await {
                Ok(next) if started.elapsed() < self.times.unknown => session = next,
                _ if is_repeated => {
                    return refuse(batch, &StoreError::Unknown(format!("{why}: nobody knows whether it was saved")));
                }
                _ => return refuse(batch, &StoreError::Unreachable(why)),
            }
        }
    }

    /// Hands a batch that is saved to the follower, which publishes its changes and then tells the callers.
    fn confirm(&mut self, session: &Arc<Session>, rows: Vec<Row>, batch: Vec<Pending>) -> Result<(), StoreError> {
        let mut verdicts: Vec<Option<Verdict>> = batch.iter().map(|_| None).collect();
        for row in &rows {
            let (status, ask, place): (&str, Option<i64>, Option<i64>) =
                (get(row, "status")?, get(row, "ask")?, get(row, "place")?);
            let Some(n) = get::<Option<i32>>(row, "n")?.and_then(|n| usize::try_from(n).ok()) else {
                self.head = place.unwrap_or(self.head);
                continue;
            };
            let ask = ask.unwrap_or_default();
            let verdict = match (status, place) {
                ("done", Some(cursor)) => Verdict::Done { ask, cursor, detail: get(row, "detail")? },
                ("known" | "lost", _) => Verdict::Found { ask },
                ("full", _) => Verdict::Full,
                ("missing", _) => Verdict::Missing,
                _ => Verdict::Nothing,
            };
            if let Some(place) = verdicts.get_mut(n) {
                *place = Some(verdict);
            }
        }
        let results = batch.into_iter().zip(verdicts).map(|(pending, verdict)| {
            let Pending { command, reply, .. } = pending;
            OwnResult { command, verdict: verdict.unwrap_or(Verdict::Nothing), reply }
        });
        let batch = OwnBatch { head: self.head, results: results.collect() };
        self.tell(session, &batch);
        drop(self.follower.send(Input::Own(batch)));
        Ok(())
    }

    /// Tells the other daemons what was saved, in a statement of its own: with the changes it would keep all writers of the engine waiting.
    fn tell(&self, session: &Arc<Session>, batch: &OwnBatch) {
        let Some(notice) = Notice::of(batch, &self.identity.host) else { return };
        let (session, channel) = (Arc::clone(session), self.identity.channel.clone());
        tokio::spawn(async move {
            let statement = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)";
            if let Err(error) = session.query(statement, &[channel.into(), notice.into()]).await {
                // Whoever misses it looks by themselves within seconds.
                tracing::warn!(?error, "the other daemons are not told of a change");
            }
        });
    }

    fn fail(&self, error: StoreError) {
        self.failing.send_replace(Some(error));
    }
}

/// Tells every caller of a batch why it was not done.
fn refuse(batch: Vec<Pending>, error: &StoreError) {
    for pending in batch {
        // The caller may have gone meanwhile.
        drop(pending.reply.send(Err(error.clone())));
    }
}
