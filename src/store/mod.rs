//! The durable truth: every ask, its one outcome and the order of events, in one SQLite file.
//!
//! - One thread owns the connection; everybody else sends it work. What waits together is committed together.
//! - An answer to a call that writes means that it is on disk.
//! - The order of events is the order of commits, and [`Change`]s are published in that order, on the owner thread,
//!   before their caller is answered.
//! - Only this module knows SQLite.

mod clock;
mod commit;
mod devices;
mod error;
mod files;
mod rows;
mod schema;
mod sums;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags};

use crate::ask::{Ask, AskId, AskKey, Change, ChangeKind, Cursor, Host, NewAsk, OutcomeKind, Receipt, Settlement};

pub use commit::Sink;
use commit::{Context, Owner};
pub use devices::{Device, DeviceKind};
pub use error::StoreError;

/// A page of changes ends with the change that makes it larger than this.
const MAX_PAGE_BYTES: usize = 256 * 1024;

/// A page of changes from before. It may be empty and not the last: a newer version makes changes that this one does not know.
#[derive(Debug)]
pub struct Changes {
    /// Those that are known, oldest first.
    pub changes: Vec<Arc<Change>>,
    /// How far it goes: the next page begins behind this.
    pub through: Cursor,
    /// Whether there is nothing behind it, for now.
    pub is_end: bool,
}

/// What opening came to.
#[derive(Debug)]
pub enum Opened {
    /// A new life.
    New(Arc<Ask>),
    /// The key is known, and is open or has an outcome that stands.
    Known(Arc<Ask>),
    /// Too many of its session are open.
    Full,
}

/// Which states a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateFilter {
    /// Those that want an answer.
    Open,
    /// Those that have an outcome.
    Settled,
    /// Both.
    All,
}

/// Which asks a list shows: newest first.
#[derive(Debug, Clone)]
pub struct Filter {
    /// In which state.
    pub state: StateFilter,
    /// Of which session.
    pub session: Option<String>,
    /// Of which project.
    pub project: Option<String>,
    /// With this outcome.
    pub outcome: Option<OutcomeKind>,
    /// With this text in a question, an answer, a note or a reason.
    pub text: Option<String>,
    /// Opened at this time or later.
    pub opened_since: Option<Timestamp>,
    /// Older than this one.
    pub before: Option<AskId>,
    /// Whose key ends with this.
    pub key_end: Option<String>,
    /// Also what Answerback asked itself.
    pub probes: bool,
    /// At most so many.
    pub limit: usize,
}

/// Some asks, newest first.
#[derive(Debug, Default)]
pub struct Page {
    /// Those that can be read.
    pub asks: Vec<Arc<Ask>>,
    /// How many are left out because they are damaged.
    pub damaged: usize,
    /// There are more: they are older than this.
    pub next: Option<AskId>,
}

impl Filter {
    /// All of a state, so many at most.
    pub fn all(state: StateFilter, limit: usize) -> Self {
        let (session, project, outcome, text, opened_since, before) = Default::default();
        Self { state, session, project, outcome, text, opened_since, before, key_end: None, probes: false, limit }
    }
}

/// The handle everybody uses; cheap to clone.
#[derive(Clone)]
pub struct Store {
    owner: Owner,
    host: Host,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

/// What was in the file when it was opened.
#[derive(Debug)]
pub struct Loaded {
    /// The asks that still want an answer.
    pub open: Vec<Ask>,
    /// The newest event.
    pub cursor: Cursor,
}

/// A store that is open but not yet running: what it holds can be taken up before the first change.
#[derive(Debug)]
pub struct Opening {
    connection: Connection,
    path: PathBuf,
    host: Host,
}

impl Opening {
    /// Opens the file for the daemon of `host`, makes it if need be, and brings it to the newest schema. `is_first`: there cannot have
    /// been a store before.
    pub fn open(path: &Path, is_first: bool, host: Host) -> Result<(Self, Loaded), StoreError> {
        let file_error = |error| StoreError::File(path.to_path_buf(), Arc::new(error));
        // One that is not there at all was removed by somebody who wants a new one.
        let is_first = is_first || !path.try_exists().map_err(file_error)?;
        create_private(path).map_err(file_error)?;
        let mut connection = Connection::open(path)?;
        schema::prepare(&mut connection, is_first, &host)?;
        clock::go_on(&connection, Timestamp::now())?;
        let loaded = Loaded { open: rows::open(&connection)?, cursor: Cursor(rows::newest_event(&connection)?) };
        Ok((Self { connection, path: path.to_path_buf(), host }, loaded))
    }

    /// Hands the file to its owner thread.
    pub fn start(self, sink: Sink) -> Result<Store, StoreError> {
        Ok(Store { owner: Owner::start(self.connection, self.path, sink)?, host: self.host })
    }
}

/// Whether the file is a store that this version can open. Changes nothing. See [`Opening::open`] for `is_first`.
pub fn check_version(path: &Path, is_first: bool) -> Result<(), StoreError> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    schema::check(&connection, is_first).map(drop)
}

/// Whether somebody is in the middle of writing to the file: a daemon, or another program that holds it. Changes nothing.
pub fn is_locked(path: &Path) -> Result<bool, StoreError> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(schema::BUSY)?;
    match connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK") {
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) => Ok(true),
        begun => Ok(begun.map(|()| false)?),
    }
}

/// Whether the file is a store that this version can read, and that nothing is wrong with. Changes nothing. See [`Opening::open`] for
/// `is_first`.
pub fn check(path: &Path, is_first: bool) -> Result<(), StoreError> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let version = schema::check(&connection, is_first)?;
    let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if verdict != "ok" {
        return Err(StoreError::Damaged(verdict));
    }
    // An older one has no checksums yet, and gets them when a daemon opens it.
    let damaged = if version == schema::NEWEST { rows::damaged(&connection)? } else { Vec::new() };
    if damaged.is_empty() { Ok(()) } else { Err(StoreError::DamagedRows(damaged)) }
}

/// SQLite gives its side files the mode of the main one.
fn create_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path).map(drop)
}

impl Store {
    /// The machine of this daemon.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Opens an ask, or finds the life of its key that stands: an open one, an answer, a dismissal. At most
    /// `per_session` may be open in one session.
    pub async fn open_ask(&self, new: Arc<NewAsk>, at: Timestamp, per_session: u32) -> Result<Opened, StoreError> {
        let host = self.host.clone();
        self.owner
            .call(true, move |context| {
                let known = rows::by_key(context.connection, &new.key)?;
                if let Some(ask) = known.filter(Ask::stands) {
                    return Ok(Opened::Known(Arc::new(ask)));
                }
                if rows::count_open(context.connection, new.key.session())? >= per_session {
                    return Ok(Opened::Full);
                }
                let id = rows::insert(context.connection, &new, &host, at)?;
                change(context, id, ChangeKind::Opened, at).map(Opened::New)
            })
            .await
    }

    /// Gives an ask its outcome. The ask comes back as it is then: with this outcome (`true`), or with the one that came
    /// first (`false`).
    pub async fn settle(&self, id: AskId, settlement: Settlement) -> Result<(Arc<Ask>, bool), StoreError> {
        self.owner
            .call(true, move |context| {
                if rows::settle(context.connection, id, &settlement)? {
                    let ask = change(context, id, ChangeKind::Settled, settlement.at)?;
                    return Ok((ask, true));
                }
                Ok((Arc::new(rows::by_id(context.connection, id)?), false))
            })
            .await
    }

    /// Lets an open ask go on without a wait. `None`, and nothing done, if it is settled.
    pub async fn defer(&self, id: AskId, at: Timestamp) -> Result<Option<Arc<Ask>>, StoreError> {
        self.set_deferred(id, true, None, ChangeKind::Deferred, at).await
    }

    /// A deferred ask is waited for again, with a deadline of its own. `None`, and nothing done, if it is settled.
    pub async fn resume(
        &self,
        id: AskId,
        expires_at: Option<Timestamp>,
        at: Timestamp,
    ) -> Result<Option<Arc<Ask>>, StoreError> {
        self.set_deferred(id, false, expires_at, ChangeKind::Resumed, at).await
    }

    async fn set_deferred(
        &self,
        id: AskId,
        deferred: bool,
        expires_at: Option<Timestamp>,
        kind: ChangeKind,
        at: Timestamp,
    ) -> Result<Option<Arc<Ask>>, StoreError> {
        self.owner
            .call(true, move |context| {
                if rows::set_deferred(context.connection, id, deferred, expires_at, at)? {
                    return change(context, id, kind, at).map(Some);
                }
                Ok(None)
            })
            .await
    }

    /// Notes what the agent received. `None`, and nothing done, if that was noted before.
    pub async fn receive(&self, id: AskId, receipt: Receipt) -> Result<Option<Arc<Ask>>, StoreError> {
        self.owner
            .call(true, move |context| {
                if rows::set_receipt(context.connection, id, &receipt)? {
                    return change(context, id, ChangeKind::Received, receipt.at).map(Some);
                }
                Ok(None)
            })
            .await
    }

    /// The newest ask of a session with this input.
    pub async fn ask_with_digest(&self, session: String, digest: String) -> Result<Option<Arc<Ask>>, StoreError> {
        self.owner
            .call(false, move |context| Ok(rows::by_digest(context.connection, &session, &digest)?.map(Arc::new)))
            .await
    }

    /// The newest life of a key.
    pub async fn ask(&self, key: AskKey) -> Result<Option<Arc<Ask>>, StoreError> {
        self.owner.call(false, move |context| Ok(rows::by_key(context.connection, &key)?.map(Arc::new))).await
    }

    /// What the origin kept for its reply.
    pub async fn detail(&self, id: AskId) -> Result<String, StoreError> {
        self.owner.call(false, move |context| Ok(rows::detail(context.connection, id)?)).await
    }

    /// The asks a filter shows, newest first.
    pub async fn list(&self, filter: Filter) -> Result<Page, StoreError> {
        self.owner.call(false, move |context| Ok(rows::list(context.connection, &filter)?)).await
    }

    /// The projects there are asks of, in alphabetical order.
    pub async fn projects(&self) -> Result<Vec<String>, StoreError> {
        self.owner.call(false, move |context| Ok(rows::projects(context.connection)?)).await
    }

    /// The changes after a cursor, oldest first, with each ask as it is now: a page of at most `limit`, or fewer where they are
    /// large.
    pub async fn changes_after(&self, after: Cursor, limit: usize) -> Result<Changes, StoreError> {
        self.owner
            .call(false, move |context| Ok(rows::events_after(context.connection, after.0, limit, MAX_PAGE_BYTES)?))
            .await
    }

    /// When the oldest settled ask was settled.
    pub async fn oldest_settled(&self) -> Result<Option<Timestamp>, StoreError> {
        self.owner.call(false, move |context| Ok(rows::oldest_settled(context.connection)?)).await
    }

    /// Forgets the asks that were settled before a time. Open ones are never forgotten.
    pub async fn purge(&self, settled_before: Timestamp) -> Result<usize, StoreError> {
        self.owner.call(true, move |context| Ok(rows::purge(context.connection, settled_before)?)).await
    }

    /// Returns when the file cannot be trusted any more: from then on everything is refused.
    pub async fn failed(&self) {
        self.owner.failed().await;
    }

    /// Lets what was sent before finish, then closes the file.
    pub async fn close(&self) {
        self.owner.close().await;
    }
}

fn change(context: &mut Context<'_>, id: AskId, kind: ChangeKind, at: Timestamp) -> Result<Arc<Ask>, StoreError> {
    let cursor = Cursor(rows::add_event(context.connection, id, kind.name(), at)?);
    let ask = Arc::new(rows::by_id(context.connection, id)?);
    context.changes.push(Arc::new(Change { cursor, kind, ask: Arc::clone(&ask) }));
    Ok(ask)
}

#[cfg(test)]
mod tests;
