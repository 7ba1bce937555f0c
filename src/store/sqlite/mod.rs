//! The store in one SQLite file. Nothing outside this folder knows SQLite.
//!
//! - One thread owns the connection, and everybody else sends it work (`commit`). What waits together is committed together.
//! - `asks`, `events`, `list`, `devices` and `away` are the statements; `row` turns rows into asks.
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
mod list;
#[cfg(test)]
mod other_writer;
mod row;
mod schema;
mod sums;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::Connection;

use crate::ask::{Ask, AskId, AskKey, Change, ChangeKind, Cursor, Host, NewAsk, Receipt, Settlement};

use super::{AskPage, Changes, Filter, MAX_PAGE_BYTES, Opened, Settling, Sink, Snapshot, StoreError};

pub use check::{check, check_version, is_locked};
use commit::{Context, Owner};
#[cfg(test)]
pub use other_writer::OtherWriter;

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
        // If the file is not there at all, somebody removed it to begin anew.
        let is_first = is_first || !path.try_exists().map_err(file_error)?;
        create_private(path).map_err(file_error)?;
        let mut connection = Connection::open(path)?;
        schema::prepare(&mut connection, is_first, &host)?;
        clock::go_on(&connection, Timestamp::now())?;
        let snapshot = snapshot(&mut connection)?;
        Ok((Self { connection, path: path.to_path_buf(), host }, snapshot))
    }

    pub(super) fn start(self, sink: Sink) -> Result<Sqlite, StoreError> {
        Ok(Sqlite { owner: Owner::start(self.connection, self.path, sink)?, host: self.host })
    }
}

/// Reads both parts in one transaction: in WAL mode it sees one moment of the file.
fn snapshot(connection: &mut Connection) -> rusqlite::Result<Snapshot> {
    let transaction = connection.transaction()?;
    let snapshot = Snapshot { cursor: events::newest(&transaction)?, open: asks::open(&transaction)? };
    transaction.commit()?;
    Ok(snapshot)
}

/// SQLite gives its side files the mode of the main one.
fn create_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path).map(drop)
}

/// See [`super::Store`].
#[derive(Clone)]
pub(super) struct Sqlite {
    owner: Owner,
    host: Host,
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

    pub(super) async fn open_ask(
        &self,
        new: Arc<NewAsk>,
        at: Timestamp,
        per_session: u32,
    ) -> Result<Opened, StoreError> {
        let host = self.host.clone();
        self.owner
            .call(true, move |context| {
                let known = asks::by_key(context.connection, &new.key)?;
                if let Some(ask) = known.filter(Ask::stands) {
                    return Ok(Opened::Known(Arc::new(ask)));
                }
                if asks::count_open(context.connection, new.key.session())? >= per_session {
                    return Ok(Opened::Full);
                }
                let id = asks::insert(context.connection, &new, &host, at)?;
                change(context, id, ChangeKind::Opened, at).map(Opened::New)
            })
            .await
    }

    pub(super) async fn settle(&self, id: AskId, settlement: Settlement) -> Result<Settling, StoreError> {
        self.owner
            .call(true, move |context| {
                if asks::settle(context.connection, id, &settlement)? {
                    return change(context, id, ChangeKind::Settled, settlement.at).map(Settling::Won);
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
                    return change(context, id, kind, at).map(Some);
                }
                Ok(None)
            })
            .await
    }

    pub(super) async fn receive(&self, id: AskId, receipt: Receipt) -> Result<Option<Arc<Ask>>, StoreError> {
        self.owner
            .call(true, move |context| {
                if asks::set_receipt(context.connection, id, &receipt)? {
                    return change(context, id, ChangeKind::Received, receipt.at).map(Some);
                }
                Ok(None)
            })
            .await
    }

    pub(super) async fn ask(&self, key: AskKey) -> Result<Option<Arc<Ask>>, StoreError> {
        self.owner.call(false, move |context| Ok(asks::by_key(context.connection, &key)?.map(Arc::new))).await
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
        self.owner.call(false, move |context| Ok(list::page(context.connection, &filter)?)).await
    }

    pub(super) async fn projects(&self) -> Result<Vec<String>, StoreError> {
        self.owner.call(false, move |context| Ok(asks::projects(context.connection)?)).await
    }

    pub(super) async fn changes(&self, after: Cursor, limit: usize) -> Result<Changes, StoreError> {
        self.owner.call(false, move |context| Ok(events::page(context.connection, after, limit, MAX_PAGE_BYTES)?)).await
    }

    pub(super) async fn oldest_settled(&self) -> Result<Option<Timestamp>, StoreError> {
        self.owner.call(false, move |context| Ok(asks::oldest_settled(context.connection)?)).await
    }

    pub(super) async fn purge(&self, settled_before: Timestamp) -> Result<usize, StoreError> {
        self.owner.call(true, move |context| Ok(asks::purge(context.connection, settled_before)?)).await
    }

    pub(super) async fn failed(&self) {
        self.owner.failed().await;
    }

    pub(super) async fn close(&self) {
        self.owner.close().await;
    }
}

/// Gives a change of an ask its place in the order, and keeps it to be published after the commit.
fn change(context: &mut Context<'_>, id: AskId, kind: ChangeKind, at: Timestamp) -> Result<Arc<Ask>, StoreError> {
    let cursor = events::add(context.connection, id, kind, at)?;
    let ask = Arc::new(asks::by_id(context.connection, id)?);
    context.changes.push(Arc::new(Change { cursor, kind, ask: Arc::clone(&ask) }));
    Ok(ask)
}

#[cfg(test)]
pub(super) mod tests;
