//! Connects to the engine, and starts the tasks of the store.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use tokio::sync::{mpsc, watch};

use crate::ask::{Ask, Host};
use crate::store::milestone::Milestones;
use crate::store::{Sink, Snapshot, StoreError};

use super::clock::Clock;
use super::follow::{self, Follower, Input, Moment};
use super::lease::Lease;
use super::link::{Link, Role};
use super::reader::Reader;
use super::sweep::Sweeper;
use super::thread::StoreThread;
use super::writer::{Identity, Quotas, Writer};
use super::{Parts, Postgres, PostgresOptions, channel, rows};

/// See [`super::Opening`].
pub(in crate::store) struct Opening {
    pub(super) thread: StoreThread,
    host: Host,
    writer: Link,
    follower: Link,
    pub(super) reader: Reader,
    keeper: Link,
    identity: Identity,
    heard: mpsc::UnboundedReceiver<Input>,
    hear: mpsc::UnboundedSender<Input>,
    failing: watch::Sender<Option<StoreError>>,
    clock: Clock,
    cursor: i64,
    tag: i64,
    open: HashMap<i64, Arc<Ask>>,
    pub(super) quotas: Quotas,
}

impl std::fmt::Debug for Opening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opening").field("host", &self.host).finish_non_exhaustive()
    }
}

impl Opening {
    pub(in crate::store) async fn connect(
        options: PostgresOptions,
        host: Host,
    ) -> Result<(Self, Snapshot), StoreError> {
        let thread = StoreThread::start()?;
        let connected = thread.run(Connected::make(options, host.clone())).await?;
        let Connected { writer, follower, reader, keeper, identity, heard, hear, failing, clock, moment } = connected;
        let (cursor, open) = (moment.snapshot.cursor.0, follow::open_asks(&moment.snapshot));
        let opening = Self {
            thread,
            host,
            writer,
            follower,
            reader,
            keeper,
            identity,
            heard,
            hear,
            failing,
            clock,
            cursor,
            tag: moment.tag,
            open,
            quotas: Quotas::default(),
        };
        Ok((opening, moment.snapshot))
    }

    pub(in crate::store) fn start(self, sink: Sink) -> Result<Postgres, StoreError> {
        let times = self.reader.times;
        let short = |link: &Link| Reader { link: link.clone(), limit: times.call, ..self.reader.clone() };
        let (quick, side, keeper) = (short(&self.follower), short(&self.writer), short(&self.keeper));
        let (work, wanted) = mpsc::unbounded_channel();
        let published = Arc::new(AtomicI64::new(self.cursor));
        let follower = Follower {
            link: self.follower,
            input: self.heard,
            sink,
            namespace: self.identity.namespace.clone(),
            host: self.identity.host.clone(),
            times,
            cursor: self.cursor,
            tag: self.tag,
            published: Arc::clone(&published),
            open: self.open,
            // Something may have happened since the snapshot.
            is_behind: true,
            is_reconnected: false,
            untold: Vec::new(),
        };
        let lease = Lease::new(self.identity.clone(), times, self.clock.clone(), self.failing.clone());
        let sweeper = Sweeper {
            reader: self.reader.clone(),
            work: work.downgrade(),
            clock: self.clock.clone(),
            lease: lease.clone(),
            host: self.identity.host.clone(),
        };
        let writer = Writer {
            link: self.writer,
            work: wanted,
            follower: self.hear,
            identity: self.identity,
            times,
            quotas: self.quotas,
            lease: lease.clone(),
            failing: self.failing.clone(),
            published,
            head: self.cursor,
        };
        self.thread.spawn(follower.run());
        self.thread.spawn(writer.run());
        self.thread.spawn(sweeper.run());
        self.thread.spawn(lease.keep(self.keeper));
        let parts = Parts {
            thread: self.thread,
            work,
            quick,
            side,
            keeper,
            reader: self.reader,
            failing: self.failing,
            clock: self.clock,
            milestones: Milestones::default(),
        };
        Ok(Postgres { host: self.host, is_for_other: false, parts: Arc::new(parts) })
    }
}

/// Everything that needs the thread of the store to be made.
struct Connected {
    writer: Link,
    follower: Link,
    reader: Reader,
    keeper: Link,
    identity: Identity,
    heard: mpsc::UnboundedReceiver<Input>,
    hear: mpsc::UnboundedSender<Input>,
    failing: watch::Sender<Option<StoreError>>,
    clock: Clock,
    moment: Moment,
}

impl Connected {
    async fn make(options: PostgresOptions, host: Host) -> Result<Self, StoreError> {
        let (hear, mut heard) = mpsc::unbounded_channel();
        let failing = watch::Sender::new(None);
        let channel = channel::of(&options.namespace);
        // The writer makes the tables if there are none.
        let writer = Link::open(&options, Role::Writer, failing.clone()).await?;
        let follow = Role::Follower { channel: channel.clone(), heard: hear.clone() };
        let follower = Link::open(&options, follow, failing.clone()).await?;
        let link = Link::open(&options, Role::Reader, failing.clone()).await?;
        let keeper = Link::open(&options, Role::Keeper, failing.clone()).await?;
        let (namespace, times) = (options.namespace.as_str().into(), options.times);
        let reader = Reader { link, namespace, times, limit: times.query };
        channel::check(&reader, &channel, &mut heard).await?;
        let identity = Identity {
            namespace: options.namespace.clone(),
            host: host.as_str().to_owned(),
            instance: channel::random_name()?,
            channel,
        };
        let clock = Clock::new();
        look_at_engine(&reader, &clock).await?;
        let session = follower.session(options.times.unsent).await?;
        let moment = Moment::read(&session, &options.namespace, options.times.query)
            .await
            .map_err(|error| error.as_unreachable())?;
        Ok(Self { writer, follower, reader, keeper, identity, heard, hear, failing, clock, moment })
    }
}

/// Sets the clock, and warns about an engine that can lose what it has confirmed.
async fn look_at_engine(reader: &Reader, clock: &Clock) -> Result<(), StoreError> {
    let sent = tokio::time::Instant::now();
    let query = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS clock,
                     current_setting('synchronous_standby_names') AS standbys,
                     current_setting('synchronous_commit') AS waits,
                     current_setting('fsync') AS syncs
                 FROM answerback.heads WHERE namespace = $1";
    let rows = reader.read(query, Vec::new()).await?;
    let Some(row) = rows.first() else { return Ok(()) };
    clock.set(rows::get(row, "clock")?, sent);
    let [standbys, waits, syncs] = ["standbys", "waits", "syncs"].map(|name| rows::get::<&str>(row, name));
    warnings(standbys?, waits?, syncs?).iter().for_each(|warning| tracing::warn!("{warning}"));
    Ok(())
}

/// How an engine with these settings can lose what it has confirmed.
pub(super) fn warnings(standbys: &str, waits: &str, syncs: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    if standbys.is_empty() {
        warnings.push(
            "PostgreSQL has no synchronous standby (synchronous_standby_names is empty): if its disk is lost, or if another server \
             takes its place, answers that were confirmed can be lost"
                .to_owned(),
        );
    }
    if syncs == "off" || ["off", "local"].contains(&waits) {
        warnings.push(format!(
            "PostgreSQL does not wait until answers are safe (fsync is {syncs}, synchronous_commit is {waits}): a crash can lose them"
        ));
    }
    warnings
}
