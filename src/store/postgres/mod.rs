//! The store in PostgreSQL, which several daemons share. Nothing outside this folder knows PostgreSQL.
//!
//! - Everything runs on one thread with a runtime of its own (`thread`), with four connections that are made again when they are lost
//!   (`link`). `opening` connects and starts the tasks.
//! - Commands are data (`command`). One task sends them, those that wait together in one statement (`writer`); the functions in
//!   `sql/functions.sql` do the work. Whoever writes changes locks the head of the namespace first, so the order of commits is the order of
//!   cursors, without gaps.
//! - One task publishes all changes in their order, those of this daemon and those of others (`follow`, `notice`).
//! - `reader` is everything that is only read, `list` the lists; `rows` turns rows into asks.
//! - A daemon has its name by a lease (`lease`). The asks of a host that is dead are ended by the others (`sweep`).
//! - `schema` prepares the engine, `clock` carries its time on, `options`, `password` and `tls` are the way to it.

mod away;
mod channel;
mod clock;
mod command;
mod devices;
mod error;
mod examine;
mod follow;
mod lease;
mod link;
mod list;
mod milestones;
mod notice;
mod opening;
mod options;
mod password;
mod people;
mod reader;
mod rows;
mod schema;
mod shared;
mod sweep;
mod target;
mod thread;
mod times;
mod tls;
mod writer;

use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;
use tokio_postgres::Row;

use crate::ask::{Ask, AskId, AskKey, Cursor, Host, NewAsk, Receipt, Settlement};

use super::milestone::Milestones;
use super::{AskPage, Changes, Filter, HostProjects, Milestone, Opened, Settling, StoreError};

use clock::Clock;
use command::{Command, Done};
pub use examine::{Examination, LeasedDaemon, examine};
use link::Value;
pub(super) use opening::Opening;
pub use options::PostgresOptions;
use reader::Reader;
pub(super) use target::Target;
use thread::StoreThread;
pub(super) use writer::MAX_OPEN_OF_HOST;
use writer::{Pending, Stage, Work};

/// See [`super::Store`].
#[derive(Clone)]
pub(super) struct Postgres {
    host: Host,
    /// Whether the host is not that of this daemon.
    is_for_other: bool,
    parts: Arc<Parts>,
}

struct Parts {
    thread: StoreThread,
    work: mpsc::UnboundedSender<Work>,
    /// Short questions go where the follower listens, and small changes where the writer writes.
    quick: Reader,
    side: Reader,
    /// Leases have a connection of their own.
    keeper: Reader,
    /// For what may take long.
    reader: Reader,
    failing: watch::Sender<Option<StoreError>>,
    clock: Clock,
    milestones: Milestones,
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Postgres").field("host", &self.host).finish_non_exhaustive()
    }
}

impl Postgres {
    pub(super) fn host(&self) -> &Host {
        &self.host
    }

    pub(super) fn for_host(&self, host: Host) -> Self {
        Self { host, is_for_other: true, ..self.clone() }
    }

    fn other_host(&self) -> Option<&Host> {
        Some(&self.host).filter(|_| self.is_for_other)
    }

    /// Renews the leases of edges, which are as long as that of a daemon.
    pub(super) async fn keep_hosts(&self, hosts: &[Host]) -> Result<(), StoreError> {
        let names: Vec<String> = hosts.iter().map(|host| host.as_str().to_owned()).collect();
        let values = vec![names.into(), times::milliseconds(self.parts.reader.times.lease).into()];
        let keeper = self.parts.keeper.clone();
        let statement = "SELECT answerback.keep_hosts_1($1, $2, $3)";
        self.parts.thread.run(async move { keeper.write(statement, values).await }).await.map(drop)
    }

    /// Whether a daemon of this store has the name, or had it. An edge has no instance.
    pub(super) async fn is_daemon(&self, host: &Host) -> Result<bool, StoreError> {
        let query = "SELECT 1 FROM answerback.hosts WHERE namespace = $1 AND host = $2 AND instance <> ''";
        Ok(!self.read(query, vec![host.as_str().to_owned().into()]).await?.is_empty())
    }

    pub(super) fn now(&self) -> Timestamp {
        self.parts.clock.now()
    }

    /// Sends a command, and waits until its change is saved and published. Before it is sent, its caller waits only for a short time.
    async fn command(&self, command: Command) -> Result<Done, StoreError> {
        let (work, times, failing) = (self.parts.work.clone(), self.parts.reader.times, self.parts.failing.clone());
        self.parts
            .thread
            .run(async move {
                if let Some(error) = failing.borrow().clone() {
                    return Err(error);
                }
                let (reply, mut replied) = oneshot::channel();
                let stage = Stage::default();
                let pending = Pending { command, stage: stage.clone(), reply };
                work.send(Work::Command(pending)).map_err(|_| StoreError::Closed)?;
                // The writer may need a moment more than this to say that it does not know.
                for limit in [times.unsent, times.unknown + times.call] {
                    match timeout(limit, &mut replied).await {
                        Ok(done) => return done.unwrap_or(Err(StoreError::Closed)),
                        Err(_) if stage.take_back() => {
                            return Err(StoreError::Unreachable("PostgreSQL cannot be reached".to_owned()));
                        }
                        Err(_) => {}
                    }
                }
                Err(StoreError::Unknown("PostgreSQL does not reply: nobody knows whether it was saved".to_owned()))
            })
            .await
    }

    pub(super) async fn open_ask(
        &self,
        new: Arc<NewAsk>,
        at: Timestamp,
        per_session: u32,
    ) -> Result<Opened, StoreError> {
        let milestone =
            Some(Milestone::HookCall).filter(|first| new.is_of_hook() && !self.parts.milestones.has(*first));
        let Done::Opened(opened) =
            self.command(Command::open(&new, self.other_host(), at, per_session, milestone)?).await?
        else {
            return Err(misunderstood());
        };
        if let (Some(milestone), Opened::New(_)) = (milestone, &opened) {
            self.parts.milestones.add(milestone);
        }
        Ok(opened)
    }

    pub(super) async fn settle(&self, id: AskId, settlement: Settlement) -> Result<Settling, StoreError> {
        let is_first = settlement.is_by_person() && !self.parts.milestones.has(Milestone::Answer);
        let milestone = is_first.then_some(Milestone::Answer);
        let Done::Settled(settled) = self.command(Command::settle(id, &settlement, milestone, None)?).await? else {
            return Err(misunderstood());
        };
        if matches!(&settled, Settling::Won(ask) if ask.was_answered_here()) {
            self.parts.milestones.add(Milestone::Answer);
        }
        Ok(settled)
    }

    pub(super) async fn defer(&self, id: AskId, at: Timestamp) -> Result<Option<Arc<Ask>>, StoreError> {
        self.change(Command::defer(id, at)?).await
    }

    pub(super) async fn resume(
        &self,
        id: AskId,
        expires_at: Option<Timestamp>,
        at: Timestamp,
    ) -> Result<Option<Arc<Ask>>, StoreError> {
        self.change(Command::resume(id, expires_at, at)?).await
    }

    pub(super) async fn receive(&self, id: AskId, receipt: Receipt) -> Result<Option<Arc<Ask>>, StoreError> {
        self.change(Command::receive(id, &receipt)?).await
    }

    async fn change(&self, command: Command) -> Result<Option<Arc<Ask>>, StoreError> {
        match self.command(command).await? {
            Done::Changed(ask) => Ok(ask),
            Done::Opened(_) | Done::Settled(_) => Err(misunderstood()),
        }
    }

    pub(super) async fn ask(&self, key: AskKey) -> Result<Option<Arc<Ask>>, StoreError> {
        let reader = self.parts.quick.clone();
        self.parts.thread.run(async move { reader.ask(&key).await }).await
    }

    pub(super) async fn life(&self, id: AskId) -> Result<Option<Arc<Ask>>, StoreError> {
        let reader = self.parts.quick.clone();
        self.parts.thread.run(async move { reader.life(id).await }).await
    }

    pub(super) async fn ask_with_digest(
        &self,
        session: String,
        digest: String,
    ) -> Result<Option<Arc<Ask>>, StoreError> {
        let reader = self.parts.quick.clone();
        self.parts.thread.run(async move { reader.ask_with_digest(&session, &digest).await }).await
    }

    pub(super) async fn detail(&self, id: AskId) -> Result<String, StoreError> {
        let reader = self.parts.quick.clone();
        self.parts.thread.run(async move { reader.detail(id).await }).await
    }

    pub(super) async fn list(&self, filter: Filter) -> Result<AskPage, StoreError> {
        let reader = self.parts.reader.clone();
        self.parts.thread.run(async move { reader.list(&filter).await }).await
    }

    pub(super) async fn hosts(&self) -> Result<Vec<HostProjects>, StoreError> {
        let reader = self.parts.reader.clone();
        self.parts.thread.run(async move { reader.hosts().await }).await
    }

    pub(super) async fn projects(&self) -> Result<Vec<String>, StoreError> {
        let reader = self.parts.reader.clone();
        self.parts.thread.run(async move { reader.projects().await }).await
    }

    pub(super) async fn changes(&self, after: Cursor, limit: usize) -> Result<Changes, StoreError> {
        let reader = self.parts.reader.clone();
        self.parts.thread.run(async move { reader.changes(after, limit).await }).await
    }

    pub(super) async fn oldest_settled(&self) -> Result<Option<Timestamp>, StoreError> {
        let reader = self.parts.reader.clone();
        self.parts.thread.run(async move { reader.oldest_settled().await }).await
    }

    pub(super) async fn purge(&self, settled_before: Timestamp) -> Result<usize, StoreError> {
        let reader = self.parts.reader.clone();
        self.parts.thread.run(async move { reader.purge(settled_before).await }).await
    }

    pub(super) async fn shrink(&self, most: u64) -> Result<usize, StoreError> {
        let reader = self.parts.reader.clone();
        self.parts.thread.run(async move { reader.shrink(most).await }).await
    }

    /// Runs a statement that changes nothing. The namespace is its first value.
    async fn read(&self, statement: impl Into<String>, values: Vec<Value>) -> Result<Vec<Row>, StoreError> {
        let (reader, statement) = (self.parts.quick.clone(), statement.into());
        self.parts.thread.run(async move { reader.read(&statement, values).await }).await
    }

    /// Runs a statement that changes something which is no ask. The namespace is its first value.
    async fn write(&self, statement: impl Into<String>, values: Vec<Value>) -> Result<Vec<Row>, StoreError> {
        let (reader, statement) = (self.parts.side.clone(), statement.into());
        self.parts.thread.run(async move { reader.write(&statement, values).await }).await
    }

    pub(super) async fn failed(&self) {
        let mut failing = self.parts.failing.subscribe();
        // The sender is here, so it cannot be gone.
        drop(failing.wait_for(Option::is_some).await);
    }

    pub(super) async fn close(&self) {
        let (done, finished) = oneshot::channel();
        if self.parts.work.send(Work::Close(done)).is_ok() {
            drop(finished.await);
        }
        self.parts.thread.stop();
    }
}

/// The follower replies to each command in its own way.
fn misunderstood() -> StoreError {
    StoreError::Failed("the store gave the reply to another command".to_owned())
}

#[cfg(test)]
pub(in crate::store) mod tests;
