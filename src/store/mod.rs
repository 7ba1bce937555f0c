//! The durable truth: every ask, its one outcome, and the order of changes.
//!
//! This file is the boundary. It speaks the domain's words, and nothing outside this room knows which backend keeps the asks. A backend
//! is a folder beside this file; `sqlite` is the only one. Whatever the backend:
//!
//! - An ask is settled once. The first settlement that is saved wins.
//! - A reply to a command means that the change is on disk. An error means that nothing was saved, unless
//!   [`StoreError::leaves_open_what_was_saved`].
//! - Every change of an ask has a cursor. Cursors only grow, and none is ever used again, not even after a purge.
//! - Changes are published in the order of their cursors, after they are saved, and before their caller gets its reply.
//!
//! `conformance` spells these guarantees out, one statement for each, and tries them on every backend.

#[cfg(test)]
mod conformance;
mod device;
mod error;
mod milestone;
mod query;
#[cfg(test)]
pub(crate) mod samples;
mod sqlite;

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use crate::ask::{Ask, AskId, AskKey, Away, Change, Cursor, Host, NewAsk, Receipt, Settlement};

pub use device::{Device, DeviceKind};
pub use error::StoreError;
pub use milestone::Milestone;
pub use query::{AskPage, Changes, Filter, Opened, Settling, Snapshot, StateFilter};
#[cfg(test)]
pub use sqlite::OtherWriter;
pub use sqlite::{check, check_version, is_locked};

/// A page of changes ends with the change that makes its asks larger than this, in bytes.
const MAX_PAGE_BYTES: usize = 256 * 1024;

/// Follows the changes: it is called for each one, in the order of their cursors, before the caller that made the change gets its
/// reply. It runs on the store's own thread, so it must not wait for anything.
pub type Sink = Box<dyn Fn(&Arc<Change>) + Send>;

/// A store that is open but does not run yet. So its snapshot can be taken up before the first change.
#[derive(Debug)]
pub struct Opening(sqlite::Opening);

impl Opening {
    /// Opens the file for the daemon of `host`, makes it if need be, and brings it to the newest schema. `is_first`: there cannot have
    /// been a store before.
    ///
    /// The file has only this daemon, so every open ask in it becomes an ask of `host`. A machine that was renamed, or that got the
    /// file from another one, loses nothing.
    pub fn open(path: &Path, is_first: bool, host: Host) -> Result<(Self, Snapshot), StoreError> {
        let (opening, snapshot) = sqlite::Opening::open(path, is_first, host)?;
        Ok((Self(opening), snapshot))
    }

    /// Starts the store. The sink gets every change after the snapshot.
    pub fn start(self, sink: Sink) -> Result<Store, StoreError> {
        self.0.start(sink).map(Store)
    }
}

/// The one handle to the store; cheap to clone.
#[derive(Debug, Clone)]
pub struct Store(sqlite::Sqlite);

impl Store {
    /// The machine of this daemon: the store marks every ask it opens with it.
    pub fn host(&self) -> &Host {
        self.0.host()
    }

    /// Opens an ask, or finds the life of its key that stands. At most `per_session` asks of one session may be open.
    pub async fn open_ask(&self, new: Arc<NewAsk>, at: Timestamp, per_session: u32) -> Result<Opened, StoreError> {
        self.0.open_ask(new, at, per_session).await
    }

    /// Gives an ask its outcome, unless it has one.
    pub async fn settle(&self, id: AskId, settlement: Settlement) -> Result<Settling, StoreError> {
        self.0.settle(id, settlement).await
    }

    /// Lets an open ask go on without anybody who waits, and without a deadline. `None`, and nothing done, if it is settled.
    pub async fn defer(&self, id: AskId, at: Timestamp) -> Result<Option<Arc<Ask>>, StoreError> {
        self.0.defer(id, at).await
    }

    /// Notes that an asker waits for a deferred ask again, with a deadline of its own. `None`, and nothing done, if it is settled.
    pub async fn resume(
        &self,
        id: AskId,
        expires_at: Option<Timestamp>,
        at: Timestamp,
    ) -> Result<Option<Arc<Ask>>, StoreError> {
        self.0.resume(id, expires_at, at).await
    }

    /// Notes the receipt of an answer. `None`, and nothing done, if there is a receipt already.
    pub async fn receive(&self, id: AskId, receipt: Receipt) -> Result<Option<Arc<Ask>>, StoreError> {
        self.0.receive(id, receipt).await
    }

    /// The newest life of a key.
    pub async fn ask(&self, key: AskKey) -> Result<Option<Arc<Ask>>, StoreError> {
        self.0.ask(key).await
    }

    /// The newest ask of a session whose input has this digest.
    pub async fn ask_with_digest(&self, session: String, digest: String) -> Result<Option<Arc<Ask>>, StoreError> {
        self.0.ask_with_digest(session, digest).await
    }

    /// What the origin of an ask needs to make its reply.
    pub async fn detail(&self, id: AskId) -> Result<String, StoreError> {
        self.0.detail(id).await
    }

    /// The asks that fit a filter, newest first.
    pub async fn list(&self, filter: Filter) -> Result<AskPage, StoreError> {
        self.0.list(filter).await
    }

    /// The projects that have asks, in alphabetical order.
    pub async fn projects(&self) -> Result<Vec<String>, StoreError> {
        self.0.projects().await
    }

    /// The changes after a cursor: a page of at most `limit`, or of fewer if their asks are large.
    pub async fn changes(&self, after: Cursor, limit: usize) -> Result<Changes, StoreError> {
        self.0.changes(after, limit).await
    }

    /// The time at which the oldest settled ask was settled.
    pub async fn oldest_settled(&self) -> Result<Option<Timestamp>, StoreError> {
        self.0.oldest_settled().await
    }

    /// Forgets the asks that were settled before a time, and says how many. Open asks are never forgotten.
    pub async fn purge(&self, settled_before: Timestamp) -> Result<usize, StoreError> {
        self.0.purge(settled_before).await
    }

    /// Lets a device in, and forgets the devices that were not used for too long. Returns the id of the new one.
    pub async fn add_device(
        &self,
        name: String,
        kind: DeviceKind,
        token_hash: [u8; 32],
        at: Timestamp,
    ) -> Result<i64, StoreError> {
        self.0.add_device(name, kind, token_hash, at).await
    }

    /// The device with this token, unless it was not used for too long.
    pub async fn device(&self, token_hash: [u8; 32], now: Timestamp) -> Result<Option<Device>, StoreError> {
        self.0.device(token_hash, now).await
    }

    /// All devices that may still get in, oldest first.
    pub async fn devices(&self, now: Timestamp) -> Result<Vec<Device>, StoreError> {
        self.0.devices(now).await
    }

    /// Notes that a device was used.
    pub async fn device_seen(&self, id: i64, at: Timestamp) -> Result<(), StoreError> {
        self.0.device_seen(id, at).await
    }

    /// Forgets a device; `false` if there is none with this id.
    pub async fn remove_device(&self, id: i64) -> Result<bool, StoreError> {
        self.0.remove_device(id).await
    }

    /// Notes what somebody says while they are away. It takes the place of what was said for the same project.
    pub async fn set_away(&self, note: Away) -> Result<(), StoreError> {
        self.0.set_away(note).await
    }

    /// What people who are away at this time say: the note for every project first, then by their directories.
    pub async fn away(&self, now: Timestamp) -> Result<Vec<Away>, StoreError> {
        self.0.away(now).await
    }

    /// Forgets what is said for one project, or for all without one. Returns what was on until now.
    pub async fn end_away(&self, project: Option<String>, now: Timestamp) -> Result<Vec<Away>, StoreError> {
        self.0.end_away(project, now).await
    }

    /// Whether something has happened at least once, as far as the store knows. It stays true whatever is forgotten.
    pub async fn has_reached(&self, milestone: Milestone) -> Result<bool, StoreError> {
        self.0.has_reached(milestone).await
    }

    /// Notes that something has happened. The store notes by itself what asks and their outcomes prove.
    pub async fn reach(&self, milestone: Milestone) -> Result<(), StoreError> {
        self.0.reach(milestone).await
    }

    /// Returns when the store cannot be trusted any more. From then on it refuses everything.
    pub async fn failed(&self) {
        self.0.failed().await;
    }

    /// Lets everything that was sent before finish, then closes the store.
    pub async fn close(&self) {
        self.0.close().await;
    }
}
