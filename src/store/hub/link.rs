//! The task that keeps the link with the hub: it connects, follows, sends, and connects again.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};

use crate::store::{Sink, Snapshot, Update};

use super::Shared;
use super::calls::{Calls, Status};
use super::connect::{HubError, Socket};
use super::follow::{Event, Follower};
use super::wire::{BEAT, EdgeFrame, Line, VERSION};

/// Pauses between attempts to connect. The first attempt comes at once.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LAST_PAUSE: Duration = Duration::from_secs(5);
/// A hub that has refused us seldom changes its mind, and counts failed attempts.
const AFTER_REFUSAL: Duration = Duration::from_secs(60);

/// A connection with the hub, and how far it has got.
pub(super) struct Connection {
    line: Line<Socket>,
    follower: Follower,
}

impl Connection {
    /// Connects, and says what is known already.
    async fn open(shared: &Shared, mut follower: Follower) -> Result<Self, (HubError, Follower)> {
        match shared.connector.connect().await {
            Ok((socket, _)) => {
                shared.calls.link_is_near();
                let cursor = follower.cursor.map(|cursor| cursor.0);
                let software = env!("CARGO_PKG_VERSION").to_owned();
                follower.is_ready = false;
                let mut connection = Self { line: Line::new(socket), follower };
                connection.say(&EdgeFrame::Hello { version: VERSION, software, cursor, only_greets: false });
                Ok(connection)
            }
            Err(error) => Err((error, follower)),
        }
    }

    /// What happens next. Safe to cancel.
    async fn next(&mut self) -> Result<Event, HubError> {
        let event = self.line.next(true).await?;
        self.follower.take(event)
    }

    fn say(&mut self, frame: &EdgeFrame) {
        if let Ok(text) = serde_json::to_string(frame) {
            self.line.queue(text);
        }
    }

    /// Sends commands that wait, as far as there is room. What is not sent can still be given up. A short one does not wait for a long one.
    fn send_unsent(&mut self, calls: &Calls) {
        while self.follower.is_ready
            && self.line.has_room()
            && let Some(text) = calls.next_unsent(!self.line.is_at_long_frame())
        {
            self.line.queue(text);
        }
    }

    /// The first connection of a daemon, up to the moment at which everything is known.
    pub(super) async fn first(shared: &Shared) -> Result<(Self, Snapshot), HubError> {
        let mut connection = Self::open(shared, Follower::default()).await.map_err(|(error, _)| error)?;
        loop {
            match connection.next().await? {
                Event::Ready(Some(snapshot)) => return Ok((connection, snapshot)),
                Event::Welcome { host, now, .. } => shared.welcome(&host, now)?,
                Event::Nothing | Event::Now(_) | Event::Change(_) | Event::Done { .. } | Event::Ready(None) => {}
            }
        }
    }
}

/// Keeps the link until the daemon ends or another daemon has taken its place.
pub(super) struct Keeper {
    pub(super) shared: Arc<Shared>,
    pub(super) sink: Sink,
}

impl Keeper {
    pub(super) async fn run(mut self, first: Option<Connection>) {
        let mut status = self.shared.calls.status();
        let shared = Arc::clone(&self.shared);
        tokio::select! {
            () = self.keep(first) => {}
            _ = status.wait_for(|status| *status == Status::Closed) => {}
        }
        shared.calls.link_is_down(Status::Closed);
    }

    async fn keep(&mut self, mut connection: Option<Connection>) {
        let mut follower = Follower::default();
        let mut pause = Duration::ZERO;
        if connection.is_some() {
            self.shared.calls.link_is_up();
        }
        loop {
            let error = match connection.take() {
                Some(open) => {
                    let begun = Instant::now();
                    let (error, known) = self.follow(open).await;
                    follower = known;
                    if begun.elapsed() > LAST_PAUSE {
                        pause = Duration::ZERO;
                    }
                    error
                }
                None => match Connection::open(&self.shared, follower).await {
                    Ok(open) => {
                        (connection, follower) = (Some(open), Follower::default());
                        continue;
                    }
                    Err((error, known)) => {
                        follower = known;
                        error
                    }
                },
            };
            match &error {
                HubError::Replaced => {
                    tracing::error!(
                        "the link with the hub has ended: {error}. Run `answerback host add` for this machine"
                    );
                    self.shared.calls.link_is_down(Status::Refused(error.to_string()));
                    return std::future::pending().await;
                }
                HubError::Refused(_) | HubError::Certificate(_) => {
                    tracing::error!(%error, "there is no link with the hub");
                    self.shared.calls.link_is_down(Status::Refused(error.to_string()));
                    sleep(jittered(AFTER_REFUSAL)).await;
                }
                HubError::Unreachable(_) => {
                    if pause.is_zero() {
                        tracing::warn!(%error, "there is no link with the hub");
                    }
                    self.shared.calls.link_is_down(Status::Down(error.to_string()));
                    sleep(jittered(pause)).await;
                    pause = LAST_PAUSE.min(FIRST_PAUSE.max(pause * 2));
                }
            }
        }
    }

    /// Follows the hub until the connection is lost.
    async fn follow(&mut self, mut connection: Connection) -> (HubError, Follower) {
        let mut beat = interval_at(Instant::now() + BEAT, BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let error = loop {
            if let Err(error) = self.step(&mut connection, &mut beat).await {
                break error;
            }
        };
        (error, connection.follower)
    }

    async fn step(&mut self, connection: &mut Connection, beat: &mut tokio::time::Interval) -> Result<(), HubError> {
        let shared = Arc::clone(&self.shared);
        connection.send_unsent(&shared.calls);
        tokio::select! {
            biased;
            _ = beat.tick() => {
                if connection.line.is_silent() {
                    return Err(HubError::Unreachable("it has fallen silent".to_owned()));
                }
                connection.say(&EdgeFrame::Beat);
                Ok(())
            }
            event = connection.next() => {
                let event = event?;
                self.take(event)
            }
            () = shared.calls.until_unsent(), if connection.follower.is_ready => Ok(()),
        }
    }

    fn take(&mut self, event: Event) -> Result<(), HubError> {
        let shared = &self.shared;
        match event {
            Event::Nothing => {}
            Event::Welcome { host, now, .. } => shared.welcome(&host, now)?,
            Event::Now(now) => shared.set_clock(now),
            Event::Change(change) => {
                let change = Arc::new(change);
                // It is known here before any command that depends on it is done.
                (self.sink)(Update::Change(&change));
                shared.calls.saw(&change);
            }
            Event::Ready(snapshot) => {
                if let Some(snapshot) = snapshot {
                    (self.sink)(Update::Reset(snapshot));
                }
                tracing::info!(hub = shared.connector.options().address.origin, "linked with the hub");
                shared.calls.link_is_up();
            }
            Event::Done { id, result } => shared.calls.done(id, result),
        }
        Ok(())
    }
}

/// Somewhere between half of it and all of it, so that many edges do not come at the same moment.
fn jittered(pause: Duration) -> Duration {
    let mut random = [0; 2];
    // Without randomness, they come at the same moment.
    let _ = getrandom::fill(&mut random);
    pause / 2 + pause.mul_f64(f64::from(u16::from_be_bytes(random)) / f64::from(u16::MAX) / 2.0)
}
