//! Races with the agent's own dialog. The asker that waits beside the dialog does not name its call, so it is matched with the ask
//! that its call opened, by a [`Fingerprint`].

use std::sync::Arc;

use jiff::Timestamp;

use crate::ask::{Answer, Ask, Channel, HTTP_ASKER, NewAsk, Outcome, Receipt, Report, Source};
use crate::store::StoreError;

use super::{Attached, OpenError, Registry, SettleError, Wait};

/// What a call has in common with the dialog it opens: the session, the process that asks, and a digest of the questions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fingerprint<'a> {
    pub(super) session: &'a str,
    pub(super) asker: Option<&'a str>,
    pub(super) digest: &'a str,
}

impl Fingerprint<'_> {
    pub(super) fn fits(&self, ask: &Ask) -> bool {
        is_of(ask, self.session, self.asker) && ask.digest.as_deref() == Some(self.digest)
    }
}

/// Whether an ask was opened by this process of a session. Several processes may share a session.
pub(super) fn is_of(ask: &Ask, session: &str, asker: Option<&str>) -> bool {
    ask.key.session() == session && ask.asker.as_deref() == asker
}

impl Registry {
    /// Parks an asker that does not name its call: on the ask that its call has opened, or on one of its own. See
    /// [`attach`](Self::attach) for `resumed`.
    pub async fn attach_to_race(&self, new: NewAsk, resumed: bool) -> Result<Attached, OpenError> {
        let session = new.key.session().to_owned();
        let Some(digest) = new.digest.clone() else { return self.attach(new, resumed).await };
        let fingerprint = Fingerprint { session: &session, asker: new.asker.as_deref(), digest: &digest };
        if let Some(parked) = self.0.open.park_matching(fingerprint) {
            return Ok(Attached::Waiting(Wait::new(self.clone(), parked)));
        }
        if let Some(ask) = self.0.open.claim(fingerprint) {
            return Ok(Attached::Settled(ask));
        }
        if resumed
            && let Some(ask) = self.0.store.ask_with_digest(session, digest).await?
            && ask.asker == new.asker
            && ask.stands_for_returning_asker()
        {
            return Ok(Attached::Settled(ask));
        }
        self.attach(new, resumed).await
    }

    /// Takes an agent's report of the answers it has for its call. Returns the ask as it is then, or `None` if the report is about none.
    ///
    /// If the ask raced the agent's dialog and is open, the answers came from there, and the report settles it. In every other case
    /// the report only proves what the agent received: it can settle nothing, whoever sends it.
    pub async fn report(&self, report: Report) -> Result<Option<Arc<Ask>>, StoreError> {
        let Some(ask) = self.ask_of(&report).await? else { return Ok(None) };
        let Report { asker, mut answers, mut notes, .. } = report;
        answers.retain(|question, _| ask.questions.get(question).is_some());
        notes.retain(|question, _| ask.questions.get(question).is_some());
        let ask = if ask.is_open() {
            // Nobody could answer in a terminal that shows no dialog, or in the terminal of another process.
            if !ask.racing || ask.asker != asker {
                tracing::warn!(key = %ask.key, "a report about a question that waits here was ignored");
                return Ok(None);
            }
            let by = Source { channel: Channel::Terminal, agent: None, device: None };
            // The call is over. If nobody said anything, that is no answer.
            let (outcome, by) = if answers.is_empty() {
                (Outcome::Withdrawn, None)
            } else {
                (Outcome::AnsweredInTerminal(Answer { answers: answers.clone(), notes }), Some(by))
            };
            match self.settle(ask.id, outcome, by).await {
                Ok(ask) | Err(SettleError::Conflict(ask) | SettleError::Gone(ask)) => ask,
                Err(SettleError::Store(error)) => return Err(error),
            }
        } else {
            ask
        };
        let sent = ask.settlement.as_ref().and_then(|settlement| settlement.outcome.answer());
        let as_sent = sent.is_some_and(|sent| sent.answers == answers);
        if !as_sent {
            tracing::warn!(key = %ask.key, "the agent received something else than what was sent");
        }
        let receipt = Receipt { answers, as_sent, at: Timestamp::now() };
        Ok(Some(self.0.store.receive(ask.id, receipt).await?.unwrap_or(ask)))
    }

    /// The ask that a report is about. A dialog that did not name its call may have opened it.
    async fn ask_of(&self, report: &Report) -> Result<Option<Arc<Ask>>, StoreError> {
        let found = match self.get(&report.key).await? {
            Some(ask) => Some(ask),
            None => {
                let (session, digest) = (report.key.session().to_owned(), report.digest.clone());
                let raced = self.0.store.ask_with_digest(session, digest).await?;
                raced.filter(|ask| ask.racing && ask.asker == report.asker && ask.key.is_unnamed())
            }
        };
        let is_over_http = report.asker.as_deref() == Some(HTTP_ASKER);
        Ok(found.filter(|ask| ask.digest.as_ref() == Some(&report.digest) && ask.is_over_http() == is_over_http))
    }

    /// A process of the agent goes on without an answer. What it raced for is withdrawn; at its end, so is everything else it asked.
    pub async fn session_went_on(&self, session: &str, asker: Option<&str>, has_ended: bool) -> Result<(), StoreError> {
        self.0.open.forget_unclaimed(session, asker);
        for ask in self.0.open.of_session(session, asker) {
            if self.watches_over(&ask)
                && (has_ended || ask.racing)
                && !ask.deferred
                && let Err(SettleError::Store(error)) = self.settle(ask.id, Outcome::Withdrawn, None).await
            {
                return Err(error);
            }
        }
        Ok(())
    }
}
