//! The one task that publishes changes, in the order of their cursors, whoever made them.
//!
//! Changes of this daemon come directly from its writer, those of others in notices. A change that is next in order is published at once.
//! Whatever else it hears of, it reads. Callers are told after their change was published.
//!
//! An older copy of the tables can take the place of the newer ones: a backup, or a replica that was behind. Then changes are missing that
//! this daemon has published, or others have taken their cursors. It notices that by the tag of the newest change it knows, lets the order
//! go on beyond everything that was seen, and starts again from a list of the open asks.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures_util::future::join;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};
use tokio_postgres::Row;

use crate::ask::{Ask, AskId, Change, ChangeKind, Cursor};
use crate::store::{Opened, Settling, Sink, Snapshot, StoreError, Update};

use super::command::{Command, Done};
use super::error::CallError;
use super::link::{Link, Session, Value};
use super::notice::{Notice, Told};
use super::rows::{self, COLUMNS, SIZE, get};
use super::times::Times;

/// How many changes are read at once, and about how many bytes of asks with them.
const PAGE: usize = 100;
const PAGE_BYTES: usize = 1024 * 1024;

/// What the follower hears of.
#[derive(Debug)]
pub(super) enum Input {
    /// The writer of this daemon has saved something.
    Own(OwnBatch),
    /// Another daemon says something, or this one does.
    Notice(String),
    /// There is a new connection. Everything may have happened since the last one.
    Connected,
    /// Tell when all callers have their replies.
    Close(oneshot::Sender<()>),
}

/// A batch of commands that is saved.
#[derive(Debug)]
pub(super) struct OwnBatch {
    /// The newest change after the batch. Callers are told when it is published.
    pub(super) head: i64,
    pub(super) results: Vec<OwnResult>,
}

#[derive(Debug)]
pub(super) struct OwnResult {
    pub(super) command: Command,
    pub(super) verdict: Verdict,
    pub(super) reply: oneshot::Sender<Result<Done, StoreError>>,
}

/// What the engine says about a command.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It made a change.
    Done { ask: i64, cursor: i64, detail: Option<String> },
    /// The same, and this is the ask after it.
    Published(Arc<Ask>),
    /// There was nothing to do, because of this ask.
    Found { ask: i64 },
    /// Too many are open.
    Full,
    /// There is no such ask.
    Missing,
    /// There was nothing to do.
    Nothing,
}

/// The open asks at a moment, the newest change of that moment, and its tag.
pub(super) struct Moment {
    pub(super) snapshot: Snapshot,
    pub(super) tag: i64,
}

impl Moment {
    /// Reads everything in one statement, so it is one moment.
    pub(super) async fn read(session: &Session, namespace: &str, limit: Duration) -> Result<Self, CallError> {
        let query = format!(
            "SELECT heads.cursor AS head, heads.tag AS head_tag, {COLUMNS} FROM answerback.heads
             LEFT JOIN answerback.asks ON asks.namespace = heads.namespace AND asks.outcome IS NULL
             WHERE heads.namespace = $1"
        );
        let rows = session.query_within(limit, &query, &[namespace.into()]).await?;
        let (mut cursor, mut tag, mut open) = (0, 0, Vec::new());
        for row in &rows {
            (cursor, tag) = (number(row, "head")?, number(row, "head_tag")?);
            match get::<Option<i64>>(row, "id") {
                Ok(Some(id)) => match rows::ask(row) {
                    Ok(ask) => open.push(ask),
                    Err(error) => tracing::error!(id, %error, "an open question cannot be read"),
                },
                Ok(None) => {}
                Err(error) => return Err(CallError::Refused(error)),
            }
        }
        Ok(Self { snapshot: Snapshot { open, cursor: Cursor(cursor) }, tag })
    }
}

fn number(row: &Row, column: &str) -> Result<i64, CallError> {
    get(row, column).map_err(CallError::Refused)
}

pub(super) struct Follower {
    pub(super) link: Link,
    pub(super) input: mpsc::UnboundedReceiver<Input>,
    pub(super) sink: Sink,
    pub(super) namespace: String,
    pub(super) host: String,
    pub(super) times: Times,
    /// The newest change that was published or passed over, and its tag.
    pub(super) cursor: i64,
    pub(super) tag: i64,
    /// The same cursor, for the writer.
    pub(super) published: Arc<AtomicI64>,
    /// The open asks after that change.
    pub(super) open: HashMap<i64, Arc<Ask>>,
    /// There may be changes that can only be read.
    pub(super) is_behind: bool,
    /// A connection was lost since the last look.
    pub(super) is_reconnected: bool,
    /// Saved batches whose callers are not told yet, in the order of their heads.
    pub(super) untold: Vec<OwnBatch>,
}

impl Follower {
    pub(super) async fn run(mut self) {
        let mut look_at = Instant::now() + self.times.poll;
        loop {
            let retry_at = Instant::now() + self.times.first_pause;
            let has_to_try = self.is_behind || !self.untold.is_empty();
            let input = tokio::select! {
                biased;
                input = self.input.recv() => match input {
                    None => return,
                    input => input,
                },
                () = sleep_until(retry_at), if has_to_try => None,
                () = sleep_until(look_at) => {
                    self.is_behind = true;
                    None
                }
            };
            let mut closing = input.and_then(|input| self.hear(input));
            while closing.is_none()
                && let Ok(input) = self.input.try_recv()
            {
                closing = self.hear(input);
            }
            if self.is_behind {
                match self.catch_up().await {
                    Ok(()) => look_at = Instant::now() + self.times.poll,
                    Err(error) => tracing::debug!(?error, "the changes cannot be read"),
                }
            }
            self.tell_callers().await;
            if let Some(done) = closing {
                let deadline = Instant::now() + self.times.unknown;
                while !self.untold.is_empty() && Instant::now() < deadline {
                    tokio::time::sleep(self.times.first_pause).await;
                    drop(self.catch_up().await);
                    self.tell_callers().await;
                }
                // Whoever wanted to know may have gone.
                let _ = done.send(());
                return;
            }
        }
    }

    fn hear(&mut self, input: Input) -> Option<oneshot::Sender<()>> {
        match input {
            Input::Own(mut batch) => {
                let host = self.host.clone();
                for result in &mut batch.results {
                    let Verdict::Done { ask, cursor, detail } = &mut result.verdict else { continue };
                    let detail = detail.take().map(Into::into);
                    if let Some(ask) = self.take(*cursor, *ask, &result.command, &host, detail) {
                        result.verdict = Verdict::Published(ask);
                    }
                }
                self.is_behind |= batch.head > self.cursor;
                self.untold.push(batch);
            }
            Input::Notice(text) => match serde_json::from_str::<Notice>(&text) {
                Ok(notice) => {
                    for Told { cursor, ask, command } in &notice.changes {
                        self.take(*cursor, *ask, command, &notice.host, None);
                    }
                    self.is_behind |= notice.head > self.cursor;
                }
                // A newer version says something that this one does not understand.
                Err(_) => self.is_behind = true,
            },
            Input::Connected => (self.is_behind, self.is_reconnected) = (true, true),
            Input::Close(done) => return Some(done),
        }
        None
    }

    /// Publishes a change if it is the next one and everything about it is at hand. Returns the ask after it.
    fn take(
        &mut self,
        cursor: i64,
        id: i64,
        command: &Command,
        host: &str,
        detail: Option<Arc<str>>,
    ) -> Option<Arc<Ask>> {
        // After a reconnect, only a look at the tables tells whether the order is whole.
        if cursor != self.cursor + 1 || self.is_reconnected {
            return None;
        }
        match command.ask_after(id, host, self.open.get(&id)) {
            Ok(Some(ask)) => {
                let ask = Arc::new(ask);
                self.publish(cursor, command.tag, command.change(), Arc::clone(&ask), detail);
                Some(ask)
            }
            Ok(None) => None,
            Err(error) => {
                tracing::warn!(id, %error, "a change makes no sense, and is read again");
                None
            }
        }
    }

    fn publish(&mut self, cursor: i64, tag: i64, kind: ChangeKind, ask: Arc<Ask>, detail: Option<Arc<str>>) {
        if ask.is_open() {
            self.open.insert(ask.id.0, Arc::clone(&ask));
        } else {
            self.open.remove(&ask.id.0);
        }
        self.is_at(cursor, tag);
        (self.sink)(Update::Change(&Arc::new(Change { cursor: Cursor(cursor), kind, ask, detail })));
    }

    fn is_at(&mut self, cursor: i64, tag: i64) {
        (self.cursor, self.tag) = (cursor, tag);
        self.published.store(cursor, Ordering::Relaxed);
    }

    /// Reads and publishes everything up to now.
    async fn catch_up(&mut self) -> Result<(), CallError> {
        let session = self.session()?;
        if self.is_reconnected {
            // After a crash, the tables may show a commit that no standby has. This commit waits until it has everything up to here.
            let touch = "UPDATE answerback.heads SET tag = tag WHERE namespace = $1";
            session.query(touch, &[self.namespace.as_str().into()]).await?;
        }
        let page = format!(
            "SELECT page.cursor, page.tag, page.change, {COLUMNS} FROM (
                 SELECT *, sum(size) OVER (ORDER BY cursor) - size AS bytes_before FROM (
                     SELECT events.cursor, events.tag, events.kind AS change, events.ask, coalesce({SIZE}, 0) AS size
                     FROM answerback.events LEFT JOIN answerback.asks ON asks.id = events.ask
                     WHERE events.namespace = $1 AND events.cursor > $2 ORDER BY events.cursor LIMIT {PAGE}
                 ) AS sized
             ) AS page LEFT JOIN answerback.asks ON asks.id = page.ask
             WHERE bytes_before <= {PAGE_BYTES} ORDER BY page.cursor"
        );
        let look = "SELECT cursor, floor, (
                        SELECT tag FROM answerback.events WHERE namespace = $1 AND events.cursor = $2
                    ) AS tag FROM answerback.heads WHERE namespace = $1";
        loop {
            let values: [Value; 2] = [self.namespace.as_str().into(), self.cursor.into()];
            // Both go out in one send.
            let limit = self.times.query;
            let (looked, read) = join(session.query(look, &values), session.query_within(limit, &page, &values)).await;
            let looked = looked?;
            let head = looked.first().map(|row| number(row, "cursor")).transpose()?;
            if let Some(is_lost) = self.is_broken(&looked)? {
                self.reset(&session, is_lost).await?;
                continue;
            }
            let (rows, before) = (read?, self.cursor);
            for row in &rows {
                if number(row, "cursor")? == self.cursor + 1 {
                    self.pass(row)?;
                }
            }
            self.is_reconnected = false;
            if !rows.is_empty() && self.cursor == before {
                // The next change is gone since the look.
                self.reset(&session, false).await?;
            } else if rows.is_empty() || head.is_none_or(|head| self.cursor >= head) {
                self.is_behind = false;
                return Ok(());
            }
        }
    }

    /// Whether the changes after the cursor cannot be read: `Some(true)` if what was published is not there any more, `Some(false)` if
    /// the order goes on elsewhere.
    fn is_broken(&self, rows: &[Row]) -> Result<Option<bool>, CallError> {
        let Some(row) = rows.first() else { return Ok(Some(true)) };
        let (head, floor) = (number(row, "cursor")?, number(row, "floor")?);
        let tag: Option<i64> = get(row, "tag").map_err(CallError::Refused)?;
        Ok(match self.cursor {
            cursor if floor > cursor => Some(false),
            cursor if floor == cursor => None,
            cursor if head < cursor || tag != Some(self.tag) => Some(true),
            _ => None,
        })
    }

    /// Publishes the change of a row, or passes over it: a newer version may have made it, or its ask may be forgotten.
    fn pass(&mut self, row: &Row) -> Result<(), CallError> {
        let (cursor, tag) = (number(row, "cursor")?, number(row, "tag")?);
        let kind = get::<&str>(row, "change").map_err(CallError::Refused)?;
        let id = get::<Option<i64>>(row, "id").map_err(CallError::Refused)?;
        if let (Some(kind), Some(_)) = (ChangeKind::from_name(kind), id) {
            match rows::ask(row) {
                Ok(ask) => {
                    self.publish(cursor, tag, kind, Arc::new(ask), None);
                    return Ok(());
                }
                Err(error) => tracing::error!(cursor, %error, "the question of a change cannot be read"),
            }
        }
        self.is_at(cursor, tag);
        Ok(())
    }

    async fn reset(&mut self, session: &Session, is_lost: bool) -> Result<(), CallError> {
        if is_lost {
            tracing::error!(cursor = self.cursor, "the store has lost changes: an older copy has taken its place");
            let values = [self.namespace.as_str().into(), self.cursor.into(), self.tag.into()];
            session.query("SELECT answerback.leap_1($1, $2, $3)", &values).await?;
        }
        let Moment { snapshot, tag } = Moment::read(session, &self.namespace, self.times.query).await?;
        tracing::warn!(from = self.cursor, to = snapshot.cursor.0, "the order of changes was broken off");
        self.is_at(snapshot.cursor.0, tag);
        self.open = open_asks(&snapshot);
        (self.sink)(Update::Reset(snapshot));
        Ok(())
    }

    /// Tells the callers whose changes are published. If an ask has to be read for that and cannot be, they are told later.
    async fn tell_callers(&mut self) {
        self.untold.iter_mut().for_each(|batch| batch.results.retain(|result| !result.reply.is_closed()));
        let told = self.untold.iter().take_while(|batch| batch.head <= self.cursor).count();
        if told == 0 {
            return;
        }
        let wanted: Vec<i64> = self.untold[..told].iter().flat_map(|batch| &batch.results).filter_map(wanted).collect();
        let session = self.session();
        let asks = match read(session, wanted).await {
            Ok(asks) => asks,
            Err(error) => {
                tracing::debug!(?error, "the asks of a reply cannot be read");
                return;
            }
        };
        for result in self.untold.drain(..told).flat_map(|batch| batch.results) {
            let done = outcome(&result, &asks);
            // The caller may have gone meanwhile; what is saved is saved all the same.
            drop(result.reply.send(done));
        }
    }

    fn session(&self) -> Result<Arc<Session>, CallError> {
        self.link.session_now().ok_or_else(|| CallError::Lost("there is no connection".to_owned()))
    }
}

/// Asks by their ids.
async fn read(session: Result<Arc<Session>, CallError>, ids: Vec<i64>) -> Result<HashMap<i64, Arc<Ask>>, CallError> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let query = format!("SELECT {COLUMNS} FROM answerback.asks WHERE id = ANY ($1)");
    let rows = session?.query(&query, &[ids.into()]).await?;
    let asks = rows.iter().filter_map(|row| {
        let ask = rows::ask(row).inspect_err(|error| tracing::error!(%error, "a question cannot be read")).ok()?;
        Some((ask.id.0, Arc::new(ask)))
    });
    Ok(asks.collect())
}

/// The open asks by their ids.
pub(super) fn open_asks(snapshot: &Snapshot) -> HashMap<i64, Arc<Ask>> {
    snapshot.open.iter().map(|ask| (ask.id.0, Arc::new(ask.clone()))).collect()
}

/// The ask that has to be read before the caller can be told.
fn wanted(result: &OwnResult) -> Option<i64> {
    match result.verdict {
        Verdict::Done { ask, .. } | Verdict::Found { ask } => Some(ask),
        Verdict::Published(_) | Verdict::Full | Verdict::Missing | Verdict::Nothing => None,
    }
}

/// What the caller is told.
fn outcome(result: &OwnResult, asks: &HashMap<i64, Arc<Ask>>) -> Result<Done, StoreError> {
    let (ask, is_done) = match &result.verdict {
        Verdict::Published(ask) => (Some(Arc::clone(ask)), true),
        Verdict::Done { ask, .. } => (Some(find(asks, *ask)?), true),
        Verdict::Found { ask } => (Some(find(asks, *ask)?), false),
        Verdict::Full => return Ok(Done::Opened(Opened::Full)),
        Verdict::Missing => return Err(StoreError::Failed("there is no such ask".to_owned())),
        Verdict::Nothing => (None, false),
    };
    Ok(match (result.command.change(), ask) {
        (ChangeKind::Opened, Some(ask)) => Done::Opened(if is_done { Opened::New(ask) } else { Opened::Known(ask) }),
        (ChangeKind::Settled, Some(ask)) => {
            Done::Settled(if is_done { Settling::Won(ask) } else { Settling::Lost(ask) })
        }
        (_, ask) => Done::Changed(ask),
    })
}

fn find(asks: &HashMap<i64, Arc<Ask>>, id: i64) -> Result<Arc<Ask>, StoreError> {
    asks.get(&id).cloned().ok_or_else(|| StoreError::DamagedAsk(format!("the question {} cannot be read", AskId(id).0)))
}
