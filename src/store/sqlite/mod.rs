//! The store in one SQLite file. Nothing outside this folder knows SQLite.
//!
//! - One thread owns the connection that writes, and everybody else sends it work (`commit`). What waits together is committed together.
//! - Another thread has a connection that only reads (`reader`), for what may take long.
//! - `asks`, `events`, `list`, `devices`, `people`, `away` and `milestones` are the statements; `row` turns rows into asks.
//! - `texts` is what is searched, `grams` the words of its index, `indexing` when the index is brought up to date, `search` the search.
//! - `schema` prepares a file, `clock` carries deadlines across restarts, `files` notices when somebody changes the files, `sums` when
//!   somebody changes a row.

mod asks;
mod away;
mod check;
mod clock;
mod commit;
mod devices;
mod error;
mod events;
mod files;
mod grams;
mod hosts;
mod indexing;
mod list;
mod milestones;
#[cfg(test)]
mod other_writer;
mod people;
mod reader;
mod row;
mod schema;
mod search;
mod source;
mod sums;
mod texts;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension};

use crate::ask::{Ask, AskId, AskKey, Change, ChangeKind, Cursor, Host, NewAsk, Receipt, Settlement};

use super::board::{Board, Boards};
use super::milestone::Milestones;
use super::{
    AskPage, Changes, Filter, HostProjects, MAX_PAGE_BYTES, Milestone, Opened, Settling, Sink, Snapshot, StoreError,
};

pub use check::{check, check_version, is_locked};
use commit::{Context, Owner};
#[cfg(test)]
pub use other_writer::OtherWriter;
use reader::Reader;
pub(super) use source::Source;

/// The most asks that are forgotten in one job: a few milliseconds.
const PURGED_AT_ONCE: usize = 100;
/// The same if the store is too large. Then they may be large, too.
const FORGOTTEN_AT_ONCE: usize = 16;

/// See [`super::Opening`].
#[derive(Debug)]
pub(super) struct Opening {
    connection: Connection,
    path: PathBuf,
    host: Host,
}

impl Opening {
    pub(super) fn open(path: &Path, is_first: bool, host: Host) -> Result<(Self, Snapshot), StoreError> {
        let file_error = |error| StoreError::File(path.to_path_buf(), Arc::new(error));
        // If the file is not there at all, this is the first start, or somebody removed it to begin anew.
        let is_new = !path.try_exists().map_err(file_error)?;
        if is_new {
            schema::create(path)?;
        }
        let mut connection = Connection::open(path)?;
        schema::prepare(&mut connection, is_first || is_new, &host)?;
        clock::go_on(&connection, crate::store::wall_clock())?;
        let snapshot = snapshot(&mut connection)?;
        Ok((Self { connection, path: path.to_path_buf(), host }, snapshot))
    }

    pub(super) fn start(self, sink: Sink) -> Result<Sqlite, StoreError> {
        let (owner, reader) = Owner::start(self.connection, self.path, sink)?;
        Ok(Sqlite { owner, reader, host: self.host, milestones: Milestones::default(), boards: Boards::default() })
    }
}

/// Reads both parts in one transaction: in WAL mode it sees one moment of the file.
fn snapshot(connection: &mut Connection) -> rusqlite::Result<Snapshot> {
    let transaction = connection.transaction()?;
    let snapshot = Snapshot { cursor: events::newest(&transaction)?, open: asks::open(&transaction)? };
    transaction.commit()?;
    Ok(snapshot)
}

/// What is kept beside an ask that is settled: its text for the search, and that there was an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    Written,
    Left,
}

/// See [`super::Store`].
#[derive(Clone)]
pub(super) struct Sqlite {
    owner: Owner,
    reader: Reader,
    host: Host,
    milestones: Milestones,
    boards: Boards,
}

impl std::fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sqlite").field("host", &self.host).finish_non_exhaustive()
    }
}

impl Sqlite {
    pub(super) fn host(&self) -> &Host {
        &self.host
    }

    pub(super) fn for_host(&self, host: Host) -> Self {
        Self { host, ..self.clone() }
    }

    pub(super) async fn open_ask(
        &self,
        new: Arc<NewAsk>,
        at: Timestamp,
        per_session: u32,
    ) -> Result<Opened, StoreError> {
        let milestone =
            Some(Milestone::HookCall).filter(|milestone| new.is_of_hook() && !self.milestones.has(*milestone));
        let opened = match self.try_open(Arc::clone(&new), at, per_session, milestone).await {
            // A question counts, whether or not it is noted as the first one.
            Err(StoreError::Damaged(error)) if milestone.is_some() => {
                tracing::error!(error, "the first call of a hook may not be noted: the store is damaged");
                return self.try_open(new, at, per_session, None).await;
            }
            opened => opened?,
        };
        if let (Some(milestone), Opened::New(_)) = (milestone, &opened) {
            self.milestones.add(milestone);
        }
        Ok(opened)
    }

    async fn try_open(
        &self,
        new: Arc<NewAsk>,
        at: Timestamp,
        per_session: u32,
        milestone: Option<Milestone>,
    ) -> Result<Opened, StoreError> {
        let host = self.host.clone();
        self.owner
            .call(true, move |context| {
                let known = asks::by_key(context.connection, &new.key)?;
                if let Some(ask) = known.filter(Ask::stands) {
                    return Ok(Opened::Known(Arc::new(ask)));
                }
                if asks::count_open(context.connection, new.key.session(), &host)? >= per_session {
                    return Ok(Opened::Full);
                }
                let id = asks::insert(context.connection, &new, &host, at)?;
                if let Some(milestone) = milestone {
                    milestones::write(context.connection, milestone)?;
                }
                change(context, id, ChangeKind::Opened, at, None).map(Opened::New)
            })
            .await
    }

    pub(super) async fn settle(&self, id: AskId, settlement: Settlement) -> Result<Settling, StoreError> {
        let settled = match self.try_settle(id, settlement.clone(), Beside::Written).await {
            // An answer counts, whether or not a search finds it later.
            Err(StoreError::Damaged(error)) => {
                tracing::error!(id = id.0, error, "searches may miss a question: the store is damaged");
                return self.try_settle(id, settlement, Beside::Left).await;
            }
            settled => settled?,
        };
        if matches!(&settled, Settling::Won(ask) if ask.was_answered_here()) {
            self.milestones.add(Milestone::Answer);
        }
        Ok(settled)
    }

    async fn try_settle(&self, id: AskId, settlement: Settlement, beside: Beside) -> Result<Settling, StoreError> {
        let knows_answer = self.milestones.has(Milestone::Answer);
        self.owner
            .call(true, move |context| {
                if asks::settle(context.connection, id, &settlement)? {
                    // Somebody probably waits for it and needs the detail now. If it is damaged, the ask is settled all the same, and
                    // whoever asks for the detail gets the error.
                    let detail = asks::detail(context.connection, id).ok();
                    let ask = change(context, id, ChangeKind::Settled, settlement.at, detail)?;
                    if beside == Beside::Written {
                        texts::write(context.connection, &ask)?;
                        if ask.was_answered_here() && !knows_answer {
                            milestones::write(context.connection, Milestone::Answer)?;
                        }
                    }
                    return Ok(Settling::Won(ask));
                }
                Ok(Settling::Lost(Arc::new(asks::by_id(context.connection, id)?)))
            })
            .await
    }

    pub(super) async fn defer(&self, id: AskId, at: Timestamp) -> Result<Option<Arc<Ask>>, StoreError> {
        self.set_deferred(id, true, None, at).await
    }

    pub(super) async fn resume(
        &self,
        id: AskId,
        expires_at: Option<Timestamp>,
        at: Timestamp,
    ) -> Result<Option<Arc<Ask>>, StoreError> {
        self.set_deferred(id, false, expires_at, at).await
    }

    async fn set_deferred(
        &self,
        id: AskId,
        deferred: bool,
        expires_at: Option<Timestamp>,
        at: Timestamp,
    ) -> Result<Option<Arc<Ask>>, StoreError> {
        let kind = if deferred { ChangeKind::Deferred } else { ChangeKind::Resumed };
        self.owner
            .call(true, move |context| {
                if asks::set_deferred(context.connection, id, deferred, expires_at, at)? {
                    return change(context, id, kind, at, None).map(Some);
                }
                Ok(None)
            })
            .await
    }

    pub(super) async fn receive(&self, id: AskId, receipt: Receipt) -> Result<Option<Arc<Ask>>, StoreError> {
        self.owner
            .call(true, move |context| {
                if asks::set_receipt(context.connection, id, &receipt)? {
                    return change(context, id, ChangeKind::Received, receipt.at, None).map(Some);
                }
                Ok(None)
            })
            .await
    }

    pub(super) async fn ask(&self, key: AskKey) -> Result<Option<Arc<Ask>>, StoreError> {
        self.owner.call(false, move |context| Ok(asks::by_key(context.connection, &key)?.map(Arc::new))).await
    }

    pub(super) async fn life(&self, id: AskId) -> Result<Option<Arc<Ask>>, StoreError> {
        self.owner.call(false, move |context| Ok(asks::by_id(context.connection, id).optional()?.map(Arc::new))).await
    }

    pub(super) async fn ask_with_digest(
        &self,
        session: String,
        digest: String,
    ) -> Result<Option<Arc<Ask>>, StoreError> {
        self.owner
            .call(false, move |context| Ok(asks::by_digest(context.connection, &session, &digest)?.map(Arc::new)))
            .await
    }

    pub(super) async fn detail(&self, id: AskId) -> Result<String, StoreError> {
        self.owner.call(false, move |context| Ok(asks::detail(context.connection, id)?)).await
    }

    pub(super) async fn list(&self, filter: Filter) -> Result<AskPage, StoreError> {
        let (page, index_is_damaged) = self.reader.read(move |connection| list::page(connection, &filter)).await?;
        if index_is_damaged {
            self.owner.index_is_damaged();
        }
        Ok(page)
    }

    pub(super) async fn projects(&self) -> Result<Vec<String>, StoreError> {
        self.reader.read(asks::projects).await
    }

    pub(super) async fn hosts(&self) -> Result<Vec<HostProjects>, StoreError> {
        self.reader.read(hosts::projects).await
    }

    pub(super) async fn changes(&self, after: Cursor, limit: usize) -> Result<Changes, StoreError> {
        self.reader.read(move |connection| events::page(connection, after, limit, MAX_PAGE_BYTES)).await
    }

    pub(super) async fn oldest_settled(&self) -> Result<Option<Timestamp>, StoreError> {
        self.reader.read(asks::oldest_settled).await
    }

    pub(super) async fn purge(&self, settled_before: Timestamp) -> Result<usize, StoreError> {
        self.forget(settled_before, PURGED_AT_ONCE).await
    }

    pub(super) async fn shrink(&self, most: u64) -> Result<usize, StoreError> {
        let beyond = self.reader.read(move |connection| asks::settled_beyond(connection, most)).await?;
        match beyond.and_then(|newest| newest.checked_add(SignedDuration::from_millis(1)).ok()) {
            Some(settled_before) => self.forget(settled_before, FORGOTTEN_AT_ONCE).await,
            None => Ok(0),
        }
    }

    /// Forgets asks, a few at a time. In between, the owner does what others want.
    async fn forget(&self, settled_before: Timestamp, at_once: usize) -> Result<usize, StoreError> {
        let mut forgotten = 0;
        loop {
            let some = self
                .owner
                .call(true, move |context| Ok(asks::purge(context.connection, settled_before, at_once)?))
                .await?;
            forgotten += some;
            if some < at_once {
                return Ok(forgotten);
            }
        }
    }

    pub(super) async fn board(&self, name: &str) -> Result<Board, StoreError> {
        Ok(self.boards.read(name))
    }

    pub(super) async fn write_board(&self, name: &str, version: i64, text: String) -> Result<bool, StoreError> {
        Ok(self.boards.write(name, version, text))
    }

    pub(super) async fn failed(&self) {
        self.owner.failed().await;
    }

    pub(super) async fn close(&self) {
        self.reader.close().await;
        self.owner.close().await;
    }
}

/// Gives a change of an ask its place in the order, and keeps it to be published after the commit.
fn change(
    context: &mut Context<'_>,
    id: AskId,
    kind: ChangeKind,
    at: Timestamp,
    detail: Option<String>,
) -> Result<Arc<Ask>, StoreError> {
    let cursor = events::add(context.connection, id, kind, at)?;
    let ask = Arc::new(asks::by_id(context.connection, id)?);
    context.changes.push(Arc::new(Change { cursor, kind, ask: Arc::clone(&ask), detail: detail.map(Into::into) }));
    Ok(ask)
}

#[cfg(test)]
pub(super) mod tests;
