//! Ends the asks of hosts that have been dead for some time. Their own daemon would do that, and any other one does it in its place.

use futures_util::future::join_all;
use jiff::Timestamp;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout};

use crate::ask::{Ask, Channel, OnTimeout, Outcome, Settlement, Source};
use crate::store::StoreError;

use super::clock::Clock;
use super::command::Command;
use super::lease::Lease;
use super::reader::Reader;
use super::rows::{self, COLUMNS, get};
use super::times::{Times, milliseconds};
use super::writer::{Pending, Stage, Work};

/// The most asks that are ended in one sweep, so that answers can come in between.
pub(super) const MOST: usize = 100;

pub(super) struct Sweeper {
    pub(super) reader: Reader,
    pub(super) work: mpsc::WeakUnboundedSender<Work>,
    pub(super) clock: Clock,
    pub(super) lease: Lease,
    pub(super) host: String,
}

impl Sweeper {
    pub(super) async fn run(self) {
        let mut days_at = Instant::now();
        loop {
            sleep(self.reader.times.renewal).await;
            if self.work.upgrade().is_none() {
                return;
            }
            if Instant::now() >= days_at {
                let made = "SELECT answerback.make_days_1() FROM answerback.heads WHERE namespace = $1";
                match self.reader.write(made, Vec::new()).await {
                    Ok(_) => days_at = Instant::now() + self.reader.times.days,
                    Err(error) => tracing::warn!(%error, "there is no place yet for the changes of the next days"),
                }
            }
            if let Err(error) = self.sweep().await {
                tracing::debug!(%error, "nobody looked for hosts that are dead");
            }
        }
    }

    /// Whether anything of others may be ended now, and whether that of the dead may. After the engine was away, nobody could renew their
    /// leases. So whoever ends something must have had its own lease for as long.
    fn may_end(&self) -> (bool, bool) {
        let Times { lease, dead, .. } = self.reader.times;
        let kept = self.lease.kept_for();
        (kept >= lease, kept >= lease + dead)
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        let commands = self.due().await?;
        let Some(work) = self.work.upgrade().filter(|_| !commands.is_empty() && self.may_end().0) else {
            return Ok(());
        };
        tracing::warn!(count = commands.len(), "ends the questions of hosts that nothing was heard of");
        let replies = commands.into_iter().map(|command| {
            let (reply, replied) = oneshot::channel();
            drop(work.send(Work::Command(Pending { command, stage: Stage::default(), reply })));
            replied
        });
        // The next sweep comes after this one, and tries again what has failed. What cannot be sent now must not be sent later, when its host
        // may be back.
        drop(timeout(self.reader.times.unsent, join_all(replies)).await);
        Ok(())
    }

    /// What has to be done about the asks of other hosts.
    async fn due(&self) -> Result<Vec<Command>, StoreError> {
        let (may_end, may_end_dead) = self.may_end();
        if !may_end {
            return Ok(Vec::new());
        }
        let dead = milliseconds(self.reader.times.dead);
        let mut hosts: Vec<String> = Vec::new();
        if may_end_dead {
            let values = vec![self.host.as_str().into(), dead.into()];
            let rows = self.reader.read("SELECT answerback.dead_hosts_1($1, $2, $3) AS host", values).await?;
            hosts = rows.iter().map(|row| get(row, "host")).collect::<Result<_, _>>()?;
        }
        // A deadline does not wait until a host is taken for dead. What goes on without its host must not take the place of what does not.
        let query = format!(
            "SELECT {COLUMNS} FROM answerback.asks WHERE namespace = $1 AND outcome IS NULL AND (
                 host = ANY ($2) AND NOT deferred AND origin <> 'program'
                 OR expires_at <= $3 AND host <> $4 AND host NOT IN (
                     SELECT host FROM answerback.hosts WHERE namespace = $1 AND leased_to >= clock_timestamp()))
             ORDER BY id LIMIT {MOST}"
        );
        let now = self.clock.now().as_millisecond();
        let values = vec![hosts.clone().into(), now.into(), self.host.as_str().into()];
        let rows = self.reader.read(&query, values).await?;
        let asks = rows.iter().filter_map(|row| rows::ask(row).ok());
        let is_dead = |ask: &Ask| hosts.iter().any(|host| host == ask.host.as_str());
        asks.filter_map(|ask| self.end_of(&ask, is_dead(&ask), dead).transpose()).collect()
    }

    /// What ends an ask without its host; `None` if it goes on. `is_dead`: its host has been dead for `dead` milliseconds.
    fn end_of(&self, ask: &Ask, is_dead: bool, dead: i64) -> Result<Option<Command>, StoreError> {
        let now = self.clock.now();
        let Some(outcome) = ask.end_without_its_host(now, is_dead) else { return Ok(None) };
        match (&outcome, ask.on_timeout) {
            (Outcome::Expired, OnTimeout::Defer) => Command::defer(ask.id, now),
            // Its own daemon would end it now. Only a daemon that has just come back is faster.
            (Outcome::Expired, _) => Command::settle(ask.id, &self.settlement(outcome, now), None, Some(0)),
            _ => Command::settle(ask.id, &self.settlement(outcome, now), None, Some(dead)),
        }
        .map(Some)
    }

    fn settlement(&self, outcome: Outcome, at: Timestamp) -> Settlement {
        let by = Source { hub: Some(self.host.clone()), ..Source::of(Channel::Hub) };
        Settlement { outcome, by: Some(by), at }
    }
}
