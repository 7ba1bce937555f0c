//! The durable truth: every ask, its one outcome, and the order of changes.
//!
//! This file is the boundary. It speaks the domain's words, and nothing outside this room knows which backend keeps the asks. A backend
//! is a folder beside this file: `sqlite` for one daemon, `postgres` for several that share a store, `hub` for one that leaves everything to
//! another. Whatever the backend:
//!
//! - An ask is settled once. The first settlement that is saved wins.
//! - A reply to a command means that the change is on disk. An error means that nothing was saved, unless
//!   [`StoreError::leaves_open_what_was_saved`].
//! - Every change of an ask has a cursor. Cursors only grow, and none is ever used again, not even after a purge.
//! - Changes are published in the order of their cursors, after they are saved, and before their caller gets its reply.
//!
//! `conformance` spells these guarantees out, one statement for each, and tries them on every backend.

mod board;
#[cfg(test)]
mod conformance;
mod device;
mod error;
mod hub;
mod machines;
mod migrate;
mod milestone;
mod person;
mod postgres;
mod query;
#[cfg(test)]
pub(crate) mod samples;
mod sqlite;

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use crate::ask::{Ask, AskId, AskKey, Away, Change, Cursor, Host, NewAsk, Receipt, Settlement};

pub use board::Board;
pub use device::{Device, DeviceKind};
pub use error::StoreError;
pub use hub::{Certificate, Greeting, HubAddress, HubError, HubOptions, HubState, greet, wire};
pub use migrate::migrate;
pub use milestone::Milestone;
pub use person::{Grant, Person, Role};
pub use postgres::{Examination, LeasedDaemon, PostgresOptions, examine};
pub use query::{AskPage, Changes, Filter, HostProjects, Opened, Settling, Snapshot, StateFilter};
#[cfg(test)]
pub use sqlite::OtherWriter;
pub use sqlite::{check, check_version, is_locked};

/// A page of changes ends with the change that makes its asks larger than this, in bytes.
const MAX_PAGE_BYTES: usize = 256 * 1024;
/// The same for a page of a list.
const MAX_LIST_BYTES: usize = 1024 * 1024;

/// Follows the changes: it is called for each one, in the order of their cursors, before the caller that made the change gets its
/// reply. It runs on the store's own thread, so it must not wait for anything.
pub type Sink = Box<dyn Fn(Update<'_>) + Send>;

/// What a store tells its sink.
#[derive(Debug)]
pub enum Update<'a> {
    /// The next change.
    Change(&'a Arc<Change>),
    /// The order of changes was broken off, and these are the open asks now. A store that several daemons share can lose its newest
    /// changes, when an older copy of it takes its place. What was told before may be undone. The cursor is larger than any before.
    Reset(Snapshot),
}

/// A store that is open but does not run yet. So its snapshot can be taken up before the first change.
#[derive(Debug)]
pub struct Opening(OpeningOf);

#[derive(Debug)]
enum OpeningOf {
    Sqlite(sqlite::Opening),
    Postgres(Box<postgres::Opening>),
    Hub(Box<hub::Opening>),
}

impl Opening {
    /// Opens the file for the daemon of `host`, makes it if need be, and brings it to the newest schema. `is_first`: there cannot have
    /// been a store before.
    ///
    /// The file has only this daemon, so every open ask in it becomes an ask of `host`, except those of machines that have a host token. A
    /// machine that was renamed, or that got the file from another one, loses nothing.
    pub fn open(path: &Path, is_first: bool, host: Host) -> Result<(Self, Snapshot), StoreError> {
        let (opening, snapshot) = sqlite::Opening::open(path, is_first, host)?;
        Ok((Self(OpeningOf::Sqlite(opening)), snapshot))
    }

    /// Makes a hub the store of this daemon, which is then an edge. The hub need not be there: the store begins empty, and becomes what the
    /// hub has as soon as the hub is there. It waits a moment for that. Must be called in a runtime.
    pub async fn attach(options: HubOptions) -> Result<(Self, Snapshot), StoreError> {
        let (opening, snapshot) = hub::Opening::attach(options).await?;
        Ok((Self(OpeningOf::Hub(Box::new(opening))), snapshot))
    }

    /// Connects to PostgreSQL for the daemon of `host`, and makes the tables if there are none.
    ///
    /// Other daemons may use the same tables, so only the open asks of `host` are its own. When the store starts, it takes the name of
    /// the host from any older daemon that has it.
    pub async fn connect(options: PostgresOptions, host: Host) -> Result<(Self, Snapshot), StoreError> {
        let (opening, snapshot) = postgres::Opening::connect(options, host).await?;
        Ok((Self(OpeningOf::Postgres(Box::new(opening))), snapshot))
    }

    /// Starts the store. The sink gets every change after the snapshot.
    pub fn start(self, sink: Sink) -> Result<Store, StoreError> {
        let backend = match self.0 {
            OpeningOf::Sqlite(opening) => Backend::Sqlite(opening.start(sink)?),
            OpeningOf::Postgres(opening) => Backend::Postgres(opening.start(sink)?),
            OpeningOf::Hub(opening) => Backend::Hub(opening.start(sink)),
        };
        Ok(Store(backend))
    }
}

/// The one handle to the store; cheap to clone.
#[derive(Debug, Clone)]
pub struct Store(Backend);

#[derive(Debug, Clone)]
enum Backend {
    Sqlite(sqlite::Sqlite),
    Postgres(postgres::Postgres),
    Hub(hub::Hub),
}

/// Calls the method of the backend, whichever it is.
macro_rules! backend {
    ($store:expr, $($call:tt)+) => {
        match &$store.0 {
            Backend::Sqlite(store) => store.$($call)+,
            Backend::Postgres(store) => store.$($call)+,
            Backend::Hub(store) => store.$($call)+,
        }
    };
}

/// The clock of this machine. A SQLite file goes by it. Other stores have one of their own, and compare the two at most.
#[expect(clippy::disallowed_methods, reason = "the clock of the store has to come from somewhere")]
fn wall_clock() -> Timestamp {
    Timestamp::now()
}

impl Store {
    /// The machine of this daemon: the store marks every ask it opens with it.
    pub fn host(&self) -> &Host {
        backend!(self, host())
    }

    /// The time now, by the clock that every daemon on this store goes by.
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Backend::Sqlite(_) => wall_clock(),
            Backend::Postgres(store) => store.now(),
            Backend::Hub(store) => store.now(),
        }
    }

    /// The same store, used on behalf of another machine: the asks that are opened through it are that machine's.
    pub fn for_host(&self, host: Host) -> Self {
        match &self.0 {
            Backend::Sqlite(store) => Self(Backend::Sqlite(store.for_host(host))),
            Backend::Postgres(store) => Self(Backend::Postgres(store.for_host(host))),
            Backend::Hub(_) => self.clone(),
        }
    }

    /// Notes that the daemons of these other machines are linked with this one. That counts for some seconds.
    pub async fn keep_hosts(&self, hosts: Vec<Host>) -> Result<(), StoreError> {
        match &self.0 {
            // Its only daemon knows its links.
            Backend::Sqlite(_) | Backend::Hub(_) => Ok(()),
            Backend::Postgres(store) => store.keep_hosts(&hosts).await,
        }
    }

    /// The hub, if this daemon is an edge.
    pub fn hub(&self) -> Option<HubState> {
        match &self.0 {
            Backend::Sqlite(_) | Backend::Postgres(_) => None,
            Backend::Hub(store) => Some(store.state()),
        }
    }

    /// Whether the store itself ends the asks of machines whose daemons are gone. If not, the only daemon that uses it has to.
    pub fn ends_asks_of_absent_hosts(&self) -> bool {
        match &self.0 {
            Backend::Sqlite(_) => false,
            Backend::Postgres(_) | Backend::Hub(_) => true,
        }
    }

    /// Opens an ask, or finds the life of its key that stands. At most `per_session` asks of one session may be open.
    pub async fn open_ask(&self, new: Arc<NewAsk>, at: Timestamp, per_session: u32) -> Result<Opened, StoreError> {
        backend!(self, open_ask(new, at, per_session).await)
    }

    /// Gives an ask its outcome, unless it has one.
    pub async fn settle(&self, id: AskId, settlement: Settlement) -> Result<Settling, StoreError> {
        backend!(self, settle(id, settlement).await)
    }

    /// The asker of an ask that was opened here is there. A hub has to know that before anybody answers.
    pub async fn confirm(&self, key: &AskKey) -> Result<(), StoreError> {
        match &self.0 {
            Backend::Sqlite(_) | Backend::Postgres(_) => Ok(()),
            Backend::Hub(store) => store.confirm(key).await,
        }
    }

    /// Lets an open ask go on without anybody who waits, and without a deadline. `None`, and nothing done, if it is settled.
    pub async fn defer(&self, id: AskId, at: Timestamp) -> Result<Option<Arc<Ask>>, StoreError> {
        backend!(self, defer(id, at).await)
    }

    /// Notes that an asker waits for a deferred ask again, with a deadline of its own. `None`, and nothing done, if it is settled.
    pub async fn resume(
        &self,
        id: AskId,
        expires_at: Option<Timestamp>,
        at: Timestamp,
    ) -> Result<Option<Arc<Ask>>, StoreError> {
        backend!(self, resume(id, expires_at, at).await)
    }

    /// Notes the receipt of an answer. `None`, and nothing done, if there is a receipt already.
    pub async fn receive(&self, id: AskId, receipt: Receipt) -> Result<Option<Arc<Ask>>, StoreError> {
        backend!(self, receive(id, receipt).await)
    }

    /// The newest life of a key.
    pub async fn ask(&self, key: AskKey) -> Result<Option<Arc<Ask>>, StoreError> {
        backend!(self, ask(key).await)
    }

    /// One life of a key.
    pub async fn life(&self, id: AskId) -> Result<Option<Arc<Ask>>, StoreError> {
        backend!(self, life(id).await)
    }

    /// The newest ask of a session whose input has this digest.
    pub async fn ask_with_digest(&self, session: String, digest: String) -> Result<Option<Arc<Ask>>, StoreError> {
        backend!(self, ask_with_digest(session, digest).await)
    }

    /// What the origin of an ask needs to make its reply.
    pub async fn detail(&self, id: AskId) -> Result<String, StoreError> {
        backend!(self, detail(id).await)
    }

    /// The asks that fit a filter, newest first: a page of at most so many as the filter says, or of fewer if they are large.
    pub async fn list(&self, filter: Filter) -> Result<AskPage, StoreError> {
        backend!(self, list(filter).await)
    }

    /// The projects that have asks, in alphabetical order.
    pub async fn projects(&self) -> Result<Vec<String>, StoreError> {
        backend!(self, projects().await)
    }

    /// The machines that have asks, in alphabetical order, each with its projects.
    pub async fn hosts(&self) -> Result<Vec<HostProjects>, StoreError> {
        backend!(self, hosts().await)
    }

    /// The changes after a cursor: a page of at most `limit`, or of fewer if their asks are large.
    pub async fn changes(&self, after: Cursor, limit: usize) -> Result<Changes, StoreError> {
        backend!(self, changes(after, limit).await)
    }

    /// The time at which the oldest settled ask was settled.
    pub async fn oldest_settled(&self) -> Result<Option<Timestamp>, StoreError> {
        backend!(self, oldest_settled().await)
    }

    /// Forgets the asks that were settled before a time, and says how many. Open asks are never forgotten.
    pub async fn purge(&self, settled_before: Timestamp) -> Result<usize, StoreError> {
        backend!(self, purge(settled_before).await)
    }

    /// Forgets the asks that were settled first, so that the store has about `most` bytes, and says how many. Open asks are never forgotten.
    pub async fn shrink(&self, most: u64) -> Result<usize, StoreError> {
        backend!(self, shrink(most).await)
    }

    /// Lets a device in, and forgets the devices that were not used for too long. Returns the id of the new one.
    pub async fn add_device(
        &self,
        name: String,
        kind: DeviceKind,
        token_hash: [u8; 32],
        at: Timestamp,
    ) -> Result<i64, StoreError> {
        backend!(self, add_device(name, kind, token_hash, at).await)
    }

    /// Lets the daemon of another machine in, under this name. Returns the id of the new device; `None`, and nothing done, if another
    /// machine has the name.
    pub async fn add_host(&self, name: Host, token_hash: [u8; 32], at: Timestamp) -> Result<Option<i64>, StoreError> {
        backend!(self, add_host(name, token_hash, at).await)
    }

    /// Lets a device of a person in, as [`Self::add_device`] does. `None`, and nothing done, if there is no such person any more.
    pub async fn add_device_of(
        &self,
        person: i64,
        name: String,
        kind: DeviceKind,
        token_hash: [u8; 32],
        at: Timestamp,
    ) -> Result<Option<i64>, StoreError> {
        backend!(self, add_device_of(person, name, kind, token_hash, at).await)
    }

    /// The device with this token, unless it was not used for too long.
    pub async fn device(&self, token_hash: [u8; 32], now: Timestamp) -> Result<Option<Device>, StoreError> {
        backend!(self, device(token_hash, now).await)
    }

    /// The device with this id, if it is not forgotten.
    pub async fn device_with_id(&self, id: i64, now: Timestamp) -> Result<Option<Device>, StoreError> {
        match &self.0 {
            Backend::Postgres(store) => store.device_with_id(id, now).await,
            Backend::Sqlite(_) | Backend::Hub(_) => {
                Ok(self.devices(now).await?.into_iter().find(|device| device.id == id))
            }
        }
    }

    /// All devices that may still get in, oldest first.
    pub async fn devices(&self, now: Timestamp) -> Result<Vec<Device>, StoreError> {
        backend!(self, devices(now).await)
    }

    /// Notes that a device was used.
    pub async fn device_seen(&self, id: i64, at: Timestamp) -> Result<(), StoreError> {
        backend!(self, device_seen(id, at).await)
    }

    /// Forgets a device; `false` if there is none with this id.
    pub async fn remove_device(&self, id: i64) -> Result<bool, StoreError> {
        backend!(self, remove_device(id).await)
    }

    /// Adds a person. `None`, and nothing done, if somebody has this name.
    pub async fn add_person(
        &self,
        name: String,
        grants: Vec<Grant>,
        at: Timestamp,
    ) -> Result<Option<Person>, StoreError> {
        backend!(self, add_person(name, grants, at).await)
    }

    /// All people, in the order in which they were added.
    pub async fn people(&self) -> Result<Vec<Person>, StoreError> {
        backend!(self, people().await)
    }

    /// Replaces what a person may do. Returns the person as they are now; `None` if there is nobody with this id.
    pub async fn set_grants(&self, id: i64, grants: Vec<Grant>) -> Result<Option<Person>, StoreError> {
        backend!(self, set_grants(id, grants).await)
    }

    /// Forgets a person and all their devices. Returns the ids of these devices; `None` if there is nobody with this id.
    pub async fn remove_person(&self, id: i64) -> Result<Option<Vec<i64>>, StoreError> {
        backend!(self, remove_person(id).await)
    }

    /// Notes what somebody says while they are away. It takes the place of what was said for the same project.
    pub async fn set_away(&self, note: Away) -> Result<(), StoreError> {
        backend!(self, set_away(note).await)
    }

    /// What people who are away at this time say: the note for every project first, then by their directories.
    pub async fn away(&self, now: Timestamp) -> Result<Vec<Away>, StoreError> {
        backend!(self, away(now).await)
    }

    /// Forgets what is said for one project, or for all without one. Returns what was on until now.
    pub async fn end_away(&self, project: Option<String>, now: Timestamp) -> Result<Vec<Away>, StoreError> {
        backend!(self, end_away(project, now).await)
    }

    /// Whether something has happened at least once, as far as the store knows. It stays true whatever is forgotten.
    pub async fn has_reached(&self, milestone: Milestone) -> Result<bool, StoreError> {
        backend!(self, has_reached(milestone).await)
    }

    /// Notes that something has happened. The store notes by itself what asks and their outcomes prove.
    pub async fn reach(&self, milestone: Milestone) -> Result<(), StoreError> {
        backend!(self, reach(milestone).await)
    }

    /// Whether other daemons may use the store at the same time.
    pub fn is_shared(&self) -> bool {
        match &self.0 {
            Backend::Sqlite(_) | Backend::Hub(_) => false,
            Backend::Postgres(_) => true,
        }
    }

    /// What is on a board: a short text that all daemons of this store see. It is lost when the last of them ends.
    pub async fn board(&self, name: &'static str) -> Result<Board, StoreError> {
        backend!(self, board(name).await)
    }

    /// Writes on a board. `false`, and nothing done, if it is not at this version any more, because somebody else was faster.
    pub async fn write_board(&self, name: &'static str, version: i64, text: String) -> Result<bool, StoreError> {
        backend!(self, write_board(name, version, text).await)
    }

    /// Whether the caller is the first, of all daemons of this store, that wants to do what is named here. The others are to leave it.
    pub async fn is_first_to(&self, name: String) -> Result<bool, StoreError> {
        match &self.0 {
            // There is only one.
            Backend::Sqlite(_) | Backend::Hub(_) => Ok(true),
            Backend::Postgres(store) => store.is_first_to(name).await,
        }
    }

    /// A secret that all daemons of this store have, and nobody else. `None` if there is only one daemon: then its own secrets will do.
    pub async fn secret(&self, name: &'static str) -> Result<Option<[u8; 32]>, StoreError> {
        match &self.0 {
            Backend::Sqlite(_) | Backend::Hub(_) => Ok(None),
            Backend::Postgres(store) => store.secret(name).await.map(Some),
        }
    }

    /// Returns when the store cannot be trusted any more. From then on it refuses everything.
    pub async fn failed(&self) {
        backend!(self, failed().await);
    }

    /// Lets everything that was sent before finish, then closes the store.
    pub async fn close(&self) {
        backend!(self, close().await);
    }
}
