//! The store of an edge: a daemon that leaves everything to another one, its hub. Nothing is kept here.
//!
//! - `wire` is what goes over the link, and the hub uses it, too.
//! - `connect` makes a connection, `link` keeps it, `follow` reads what comes, `calls` has the commands that wait for their replies.
//!
//! What an edge has no business with, such as devices and history, is refused with the address of the hub.

mod calls;
mod connect;
mod follow;
mod link;
pub mod wire;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, timeout};

use crate::ask::{Ask, AskId, AskKey, Away, Cursor, Host, NewAsk, Outcome, Receipt, Settlement};

use super::{
    AskPage, Board, Changes, Device, DeviceKind, Filter, Grant, HostProjects, Milestone, Opened, Person, Settling,
    Sink, Snapshot, StoreError,
};

use calls::{Calls, Done, Status};
use connect::Connector;
pub use connect::{Certificate, Greeting, HubAddress, HubError, HubOptions, greet};
use link::{Connection, Keeper};
use wire::{Command, Millis, Reply, WireAsk, WireChange, WireNew};

/// How long the daemon waits for its hub when it starts. The hook that started it waits, too.
const FIRST: Duration = Duration::from_millis(800);

/// See [`super::Opening`].
pub(super) struct Opening {
    shared: Arc<Shared>,
    connection: Option<Connection>,
}

impl std::fmt::Debug for Opening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opening").field("options", self.shared.connector.options()).finish_non_exhaustive()
    }
}

/// See [`super::Store`].
#[derive(Clone)]
pub(super) struct Hub(Arc<Shared>);

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Hub").field(self.0.connector.options()).finish()
    }
}

/// The hub of an edge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubState {
    pub url: String,
    /// Why there is no link; `None` if there is one.
    pub problem: Option<String>,
}

struct Shared {
    connector: Connector,
    calls: Calls,
    /// The clock of the hub at some moment.
    clock: Mutex<Option<(Instant, Timestamp)>>,
}

impl Shared {
    /// The hub has let us in.
    fn welcome(&self, host: &str, now: Timestamp) -> Result<(), HubError> {
        self.set_clock(now);
        let own = self.connector.options().host.as_str();
        if host == own {
            return Ok(());
        }
        Err(HubError::Refused(format!("the host token is that of {host}, and this machine is {own}: join again")))
    }

    fn set_clock(&self, now: Timestamp) {
        *self.clock.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), now));
    }
}

impl Opening {
    pub(super) async fn attach(options: HubOptions) -> Result<(Self, Snapshot), StoreError> {
        let connector = Connector::new(options).map_err(|error| StoreError::Failed(error.to_string()))?;
        let calls = Calls::new(Status::Down("it is not connected yet".to_owned()));
        let shared = Arc::new(Shared { connector, calls, clock: Mutex::default() });
        let nothing = Snapshot { open: Vec::new(), cursor: Cursor(0) };
        let (connection, snapshot) = match timeout(FIRST, Connection::first(&shared)).await {
            Ok(Ok((connection, snapshot))) => (Some(connection), snapshot),
            // The link says why when it has tried, too.
            Ok(Err(_)) | Err(_) => (None, nothing),
        };
        Ok((Self { shared, connection }, snapshot))
    }

    pub(super) fn start(self, sink: Sink) -> Hub {
        let Self { shared, connection } = self;
        let keeper = Keeper { shared: Arc::clone(&shared), sink };
        tokio::spawn(keeper.run(connection));
        Hub(shared)
    }
}

fn read(ask: Box<WireAsk>) -> Result<Arc<Ask>, StoreError> {
    ask.read().map(Arc::new)
}

fn read_found(reply: Reply) -> Result<Option<Arc<Ask>>, StoreError> {
    match reply {
        Reply::Ask { ask } => ask.map(read).transpose(),
        other => Err(senseless(&other)),
    }
}

fn senseless(reply: &Reply) -> StoreError {
    tracing::error!(?reply, "the hub's reply makes no sense");
    StoreError::Failed("the hub's reply makes no sense".to_owned())
}

impl Hub {
    pub(super) fn host(&self) -> &Host {
        &self.0.connector.options().host
    }

    pub(super) fn now(&self) -> Timestamp {
        let clock = *self.0.clock.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((moment, then)) = clock else { return crate::store::wall_clock() };
        let since = SignedDuration::try_from(moment.elapsed()).unwrap_or_default();
        then.checked_add(since).unwrap_or(then)
    }

    pub(super) fn state(&self) -> HubState {
        let problem = match &*self.0.calls.status().borrow() {
            Status::Up => None,
            Status::Down(why) | Status::Refused(why) => Some(why.clone()),
            Status::Closed => Some("the daemon stops".to_owned()),
        };
        HubState { url: self.0.connector.options().address.origin.clone(), problem }
    }

    /// What only the hub can do.
    fn elsewhere<T>(&self) -> Result<T, StoreError> {
        Err(StoreError::AtHub(self.0.connector.options().address.origin.clone()))
    }

    async fn call(&self, command: Command) -> Result<Reply, StoreError> {
        self.0.calls.call(command).await.map(|done| done.reply)
    }

    pub(super) async fn open_ask(
        &self,
        new: Arc<NewAsk>,
        at: Timestamp,
        per_session: u32,
    ) -> Result<Opened, StoreError> {
        let new = Box::new(WireNew::new(&new, at));
        let Done { reply, is_again } = self.0.calls.call(Command::Open { new, per_session }).await?;
        Ok(match reply {
            Reply::New { ask } => Opened::New(read(ask)?),
            Reply::Known { ask } => {
                let ask = read(ask)?;
                // The same command has opened it, over a link that was lost.
                if is_again && ask.is_open() { Opened::New(ask) } else { Opened::Known(ask) }
            }
            Reply::Full => Opened::Full,
            other => return Err(senseless(&other)),
        })
    }

    pub(super) async fn settle(&self, id: AskId, settlement: Settlement) -> Result<Settling, StoreError> {
        let outcome = settlement.outcome;
        if matches!(outcome, Outcome::Answered(_) | Outcome::Dismissed { .. } | Outcome::Released) {
            return self.elsewhere();
        }
        let command = Command::Settle { ask: id, outcome: outcome.clone() };
        let Done { reply, is_again } = self.0.calls.call(command).await?;
        match reply {
            Reply::Won { ask } => Ok(Settling::Won(read(ask)?)),
            Reply::Lost { ask } => {
                let ask = read(ask)?;
                let is_equal = ask.settlement.as_ref().is_some_and(|settlement| settlement.outcome == outcome);
                // The same command has settled it, over a link that was lost.
                Ok(if is_again && is_equal { Settling::Won(ask) } else { Settling::Lost(ask) })
            }
            other => Err(senseless(&other)),
        }
    }

    pub(super) async fn confirm(&self, key: &AskKey) -> Result<(), StoreError> {
        self.call(Command::Confirm { key: key.to_string() }).await.map(drop)
    }

    pub(super) async fn defer(&self, id: AskId, _: Timestamp) -> Result<Option<Arc<Ask>>, StoreError> {
        read_found(self.call(Command::Defer { ask: id }).await?)
    }

    pub(super) async fn resume(
        &self,
        id: AskId,
        expires_at: Option<Timestamp>,
        at: Timestamp,
    ) -> Result<Option<Arc<Ask>>, StoreError> {
        let expires_in = expires_at.map(|then| Millis::between(at, then));
        read_found(self.call(Command::Resume { ask: id, expires_in }).await?)
    }

    pub(super) async fn receive(&self, id: AskId, receipt: Receipt) -> Result<Option<Arc<Ask>>, StoreError> {
        read_found(self.call(Command::Receive { ask: id, receipt }).await?)
    }

    pub(super) async fn ask(&self, key: AskKey) -> Result<Option<Arc<Ask>>, StoreError> {
        read_found(self.call(Command::Ask { key: key.to_string() }).await?)
    }

    pub(super) async fn life(&self, _: AskId) -> Result<Option<Arc<Ask>>, StoreError> {
        self.elsewhere()
    }

    pub(super) async fn ask_with_digest(
        &self,
        session: String,
        digest: String,
    ) -> Result<Option<Arc<Ask>>, StoreError> {
        read_found(self.call(Command::AskWithDigest { session, digest }).await?)
    }

    pub(super) async fn detail(&self, id: AskId) -> Result<String, StoreError> {
        match self.call(Command::Detail { ask: id }).await? {
            Reply::Detail { detail } => Ok(detail),
            other => Err(senseless(&other)),
        }
    }

    pub(super) async fn changes(&self, after: Cursor, limit: usize) -> Result<Changes, StoreError> {
        match self.call(Command::Changes { after: after.0, limit }).await? {
            Reply::Changes { changes, through, is_end, is_broken_off } => {
                let changes = WireChange::read_all(changes)?;
                Ok(Changes { changes, through: Cursor(through), is_end, is_broken_off })
            }
            other => Err(senseless(&other)),
        }
    }

    pub(super) async fn list(&self, _: Filter) -> Result<AskPage, StoreError> {
        self.elsewhere()
    }

    pub(super) async fn projects(&self) -> Result<Vec<String>, StoreError> {
        self.elsewhere()
    }

    pub(super) async fn hosts(&self) -> Result<Vec<HostProjects>, StoreError> {
        self.elsewhere()
    }

    /// The hub keeps house.
    pub(super) async fn oldest_settled(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(None)
    }

    pub(super) async fn purge(&self, _: Timestamp) -> Result<usize, StoreError> {
        Ok(0)
    }

    pub(super) async fn shrink(&self, _: u64) -> Result<usize, StoreError> {
        Ok(0)
    }

    pub(super) async fn add_device(
        &self,
        _: String,
        _: DeviceKind,
        _: [u8; 32],
        _: Timestamp,
    ) -> Result<i64, StoreError> {
        self.elsewhere()
    }

    pub(super) async fn add_host(&self, _: Host, _: [u8; 32], _: Timestamp) -> Result<Option<i64>, StoreError> {
        self.elsewhere()
    }

    /// An edge lets no device in.
    pub(super) async fn device(&self, _: [u8; 32], _: Timestamp) -> Result<Option<Device>, StoreError> {
        Ok(None)
    }

    pub(super) async fn devices(&self, _: Timestamp) -> Result<Vec<Device>, StoreError> {
        self.elsewhere()
    }

    pub(super) async fn device_seen(&self, _: i64, _: Timestamp) -> Result<(), StoreError> {
        Ok(())
    }

    pub(super) async fn remove_device(&self, _: i64) -> Result<bool, StoreError> {
        self.elsewhere()
    }

    /// People are let in at the hub, like their devices.
    pub(super) async fn add_device_of(
        &self,
        _: i64,
        _: String,
        _: DeviceKind,
        _: [u8; 32],
        _: Timestamp,
    ) -> Result<Option<i64>, StoreError> {
        self.elsewhere()
    }

    pub(super) async fn add_person(
        &self,
        _: String,
        _: Vec<Grant>,
        _: Timestamp,
    ) -> Result<Option<Person>, StoreError> {
        self.elsewhere()
    }

    pub(super) async fn people(&self) -> Result<Vec<Person>, StoreError> {
        self.elsewhere()
    }

    pub(super) async fn set_grants(&self, _: i64, _: Vec<Grant>) -> Result<Option<Person>, StoreError> {
        self.elsewhere()
    }

    pub(super) async fn remove_person(&self, _: i64) -> Result<Option<Vec<i64>>, StoreError> {
        self.elsewhere()
    }

    /// Devices are paired at the hub.
    pub(super) async fn board(&self, _: &'static str) -> Result<Board, StoreError> {
        self.elsewhere()
    }

    pub(super) async fn write_board(&self, _: &'static str, _: i64, _: String) -> Result<bool, StoreError> {
        self.elsewhere()
    }

    pub(super) async fn set_away(&self, _: Away) -> Result<(), StoreError> {
        self.elsewhere()
    }

    /// The hub answers for those who are away.
    pub(super) async fn away(&self, _: Timestamp) -> Result<Vec<Away>, StoreError> {
        Ok(Vec::new())
    }

    pub(super) async fn end_away(&self, _: Option<String>, _: Timestamp) -> Result<Vec<Away>, StoreError> {
        self.elsewhere()
    }

    /// Nobody is a newcomer here: the hub was set up before.
    pub(super) async fn has_reached(&self, _: Milestone) -> Result<bool, StoreError> {
        Ok(true)
    }

    pub(super) async fn reach(&self, _: Milestone) -> Result<(), StoreError> {
        Ok(())
    }

    /// Nothing is kept here that could fail.
    pub(super) async fn failed(&self) {
        std::future::pending::<()>().await;
    }

    pub(super) async fn close(&self) {
        self.0.calls.link_is_down(Status::Closed);
    }
}
