//! Ends the asks of hosts that have been dead for some time. Their own daemon would do that, and any other one does it in its place.

use jiff::Timestamp;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

use crate::ask::{Ask, Channel, OnTimeout, Outcome, Settlement, Source};
use crate::store::StoreError;

use super::clock::Clock;
use super::command::Command;
use super::reader::Reader;
use super::rows::{self, COLUMNS, get};
use super::times::milliseconds;
use super::writer::{Pending, Stage, Work};

pub(super) struct Sweeper {
    pub(super) reader: Reader,
    pub(super) work: mpsc::WeakUnboundedSender<Work>,
    pub(super) clock: Clock,
    pub(super) host: String,
}

impl Sweeper {
    pub(super) async fn run(self) {
        loop {
            sleep(self.reader.times.renewal).await;
            let Some(work) = self.work.upgrade() else { return };
            if let Err(error) = self.sweep(&work).await {
                tracing::debug!(%error, "nobody looked for hosts that are dead");
            }
        }
    }

    async fn sweep(&self, work: &mpsc::UnboundedSender<Work>) -> Result<(), StoreError> {
        self.reader
            .write("SELECT answerback.make_days_1() FROM answerback.heads WHERE namespace = $1", Vec::new())
            .await?;
        let dead = milliseconds(self.reader.times.dead);
        let hosts = self.reader.read("SELECT answerback.dead_hosts_1($1, $2) AS host", vec![dead.into()]).await?;
        let hosts: Vec<String> = hosts.iter().map(|row| get(row, "host")).collect::<Result<_, _>>()?;
        // A deadline does not wait until a host is taken for dead.
        let query = format!(
            "SELECT {COLUMNS} FROM answerback.asks WHERE namespace = $1 AND outcome IS NULL AND (host = ANY ($2)
                 OR expires_at <= $3 AND host IN (
                     SELECT host FROM answerback.hosts WHERE namespace = $1 AND leased_to < clock_timestamp()))"
        );
        let now = self.clock.now().as_millisecond();
        let rows = self.reader.read(&query, vec![hosts.into(), now.into()]).await?;
        let asks = rows.iter().filter_map(|row| rows::ask(row).ok());
        let commands = asks.filter_map(|ask| self.end_of(&ask, dead).transpose()).collect::<Result<Vec<_>, _>>()?;
        if !commands.is_empty() {
            tracing::warn!(count = commands.len(), "ends the questions of hosts that nothing was heard of");
        }
        for command in commands {
            // Nobody waits for it. If it fails, the next sweep tries again.
            let pending = Pending { command, stage: Stage::default(), reply: oneshot::channel().0 };
            drop(work.send(Work::Command(pending)));
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
