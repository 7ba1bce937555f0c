//! Ends the asks of hosts that have been dead for some time. Their own daemon would do that, and any other one does it in its place.

use futures_util::future::join_all;
use jiff::Timestamp;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep};

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
const MOST: usize = 100;

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

    /// How long a host must be dead for its asks to be ended, and what else may be ended now. After the engine was away, nobody could renew
    /// their leases. So whoever ends something must have had its own lease for as long.
    fn grace(&self) -> Option<(bool, i64)> {
        let Times { lease, dead, .. } = self.reader.times;
        let kept = self.lease.kept_for();
        (kept >= lease).then(|| (kept >= lease + dead, milliseconds(dead)))
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        let Some((may_withdraw, dead)) = self.grace() else { return Ok(()) };
        let mut hosts: Vec<String> = Vec::new();
        if may_withdraw {
            let values = vec![self.host.as_str().into(), dead.into()];
            let rows = self.reader.read("SELECT answerback.dead_hosts_1($1, $2, $3) AS host", values).await?;
            hosts = rows.iter().map(|row| get(row, "host")).collect::<Result<_, _>>()?;
        }
        // A deadline does not wait until a host is taken for dead.
        let query = format!(
            "SELECT {COLUMNS} FROM answerback.asks WHERE namespace = $1 AND outcome IS NULL AND (host = ANY ($2)
                 OR expires_at <= $3 AND host <> $4 AND host NOT IN (
                     SELECT host FROM answerback.hosts WHERE namespace = $1 AND leased_to >= clock_timestamp()))
             ORDER BY id LIMIT {MOST}"
        );
        let now = self.clock.now().as_millisecond();
        let values = vec![hosts.into(), now.into(), self.host.as_str().into()];
        let rows = self.reader.read(&query, values).await?;
        let asks = rows.iter().filter_map(|row| rows::ask(row).ok());
        let commands = asks.filter_map(|ask| self.end_of(&ask, dead).transpose()).collect::<Result<Vec<_>, _>>()?;
        let Some(work) = self.work.upgrade().filter(|_| !commands.is_empty() && self.grace().is_some()) else {
            return Ok(());
        };
        tracing::warn!(count = commands.len(), "ends the questions of hosts that nothing was heard of");
        let (mut replies, count) = (Vec::new(), commands.len());
        for command in commands {
            let (reply, replied) = oneshot::channel();
            drop(work.send(Work::Command(Pending { command, stage: Stage::default(), reply })));
            replies.push(replied);
        }
        // The next sweep comes after this one, and tries again what has failed.
        let failed = join_all(replies).await.iter().filter(|replied| !matches!(replied, Ok(Ok(_)))).count();
        if failed > 0 {
            tracing::debug!(failed, count, "some questions of hosts that nothing was heard of are still open");
        }
        Ok(())
    }

    /// How an ask ends whose host is dead; `None` if it goes on. A program, and a run that will be resumed, may still come for the answer.
    fn end_of(&self, ask: &Ask, dead: i64) -> Result<Option<Command>, StoreError> {
        let now = self.clock.now();
        let is_late = ask.expires_at.is_some_and(|deadline| deadline <= now);
        let settle =
            |outcome, dead| Command::settle(ask.id, &self.settlement(outcome, now), None, Some(dead)).map(Some);
        match ask.on_timeout {
            OnTimeout::Defer if is_late && !ask.deferred => Command::defer(ask.id, now).map(Some),
            // Its own daemon would end it now. Only a daemon that has just come back is faster.
            OnTimeout::Native | OnTimeout::Deny if is_late => settle(Outcome::Expired, 0),
            _ if ask.origin.needs_wait() && !ask.deferred && !is_late => settle(Outcome::Withdrawn, dead),
            _ => Ok(None),
        }
    }

    fn settlement(&self, outcome: Outcome, at: Timestamp) -> Settlement {
        let by = Source { hub: Some(self.host.clone()), ..Source::of(Channel::Hub) };
        Settlement { outcome, by: Some(by), at }
    }
}
