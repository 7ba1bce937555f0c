//! Races with the agent's own dialog. The asker that waits beside the dialog does not name its call, so it is matched with the ask
//! that its call opened, by a [`Fingerprint`].

use std::sync::Arc;

use crate::ask::{Ask, Channel, HTTP_ASKER, Host, Kind, NewAsk, News, Outcome, Receipt, Report, Source};
use crate::store::StoreError;

use super::calls::{Known, NamedCall};
use super::{Asker, Attached, OpenError, RETURN_GRACE, Registry, SettleError, Wait};

/// What a call has in common with the dialog it opens: the machine, the session, the process that asks, and a digest of the questions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fingerprint<'a> {
    pub(super) host: &'a Host,
    pub(super) session: &'a str,
    pub(super) asker: Option<&'a str>,
    pub(super) digest: &'a str,
}

impl Fingerprint<'_> {
    pub(super) fn fits(&self, ask: &Ask) -> bool {
        is_of(ask, self.host, self.session, self.asker) && ask.digest.as_deref() == Some(self.digest)
    }
}

/// Whether an ask was opened by this process of a session. Several processes may share a session, also on several machines.
pub(super) fn is_of(ask: &Ask, host: &Host, session: &str, asker: Option<&str>) -> bool {
    ask.host == *host && ask.key.session() == session && ask.asker.as_deref() == asker
}

/// Whether the program that runs an agent has asked about a call of that agent, and not a hook in it. Such a program does not know the
/// process of the agent.
fn is_of_host(ask: &Ask, hook: Option<&str>) -> bool {
    ask.asker.is_none() && hook.is_some()
}

/// Whether the program that runs an agent asks about a call that a hook in that agent has asked about.
pub(super) fn is_host_of(new: &NewAsk, ask: &Ask) -> bool {
    new.asker.is_none() && ask.asker.is_some()
}

/// Whether a refusal proves that the agent received an answer. The end of a batch of calls is also reported for calls that ran.
fn needs_receipt(ask: &Ask, news: &News) -> bool {
    let sent = ask.settlement.as_ref().and_then(|settlement| settlement.outcome.answer());
    ask.receipt.is_none() && sent.is_some_and(|sent| ask.was_followed(sent, news))
}

impl Registry {
    /// An agent is about to make a call.
    pub fn announce_call(&self, call: NamedCall) {
        self.0.calls.announce(call);
    }

    /// Opens the ask of a call that an agent is about to make. The asker comes later. See [`NamedCall`] for `mode`.
    pub async fn announce(&self, new: NewAsk, mode: Option<String>) -> Result<Arc<Ask>, OpenError> {
        let ask = self.open(new, Asker::Here).await?;
        self.announce_call(NamedCall { mode, ..NamedCall::of(&ask) });
        Ok(ask)
    }

    /// The call with this id that an agent has announced and that is not over. `None` also if several sessions use the id, because then
    /// nobody knows whose call it is.
    pub fn announced_call(&self, tool_use_id: &str, is_over_http: bool) -> Option<NamedCall> {
        let mut found = self.0.calls.with_id(tool_use_id);
        let mut open = self.0.open.all();
        open.retain(|ask| self.watches_over(ask) && ask.key.tool_use_id() == tool_use_id);
        found.extend(open.iter().map(|ask| NamedCall::of(ask)));
        // What comes with the hook token is apart from what comes over the socket.
        found.retain(|call| call.is_over_http() == is_over_http);
        let newest = found.pop()?;
        found.iter().all(|other| other.key == newest.key).then_some(newest)
    }

    /// Parks an asker that does not name its call: on the ask that its call has opened, or on one of its own. See
    /// [`attach`](Self::attach) for `resumed`, and [`NamedCall`] for `mode`.
    pub async fn attach_to_race(
        &self,
        mut new: NewAsk,
        mode: Option<&str>,
        resumed: bool,
    ) -> Result<Attached, OpenError> {
        let session = new.key.session().to_owned();
        let Some(digest) = new.digest.clone() else { return self.attach(new, resumed).await };
        let asker = new.asker.clone();
        let fingerprint =
            Fingerprint { host: self.host(), session: &session, asker: asker.as_deref(), digest: &digest };
        if !new.topic.kind().is_announced() {
            // Only the ask of this very call will do. The answer to an equal call was not given for this one.
            match self.0.calls.take(fingerprint, mode) {
                Known::Named(key) => match self.get(&key).await? {
                    None => new.key = key,
                    // Another machine has taken the name.
                    Some(ask) if !self.watches_over(&ask) => {}
                    // The program that runs the agent has its own way to decide, and takes the ask back when it is over.
                    Some(ask) if is_of_host(&ask, asker.as_deref()) => return Ok(Attached::Over),
                    // Another settings file has the hook, too, and its hook came first.
                    Some(ask) if ask.is_open() && self.is_same(&ask, &new).await? => new.key = key,
                    // That hook has the answer, which was for one call. This one came a moment too late.
                    Some(ask) if ask.asker == asker && ask.stands_for_returning_asker() => return Ok(Attached::Over),
                    // A name that was used before would bring back the answer of that time.
                    Some(_) => {}
                },
                Known::Unknown => {}
                Known::Over => return Ok(Attached::Over),
            }
            return match self.attach(new, resumed).await? {
                // That program came at the same moment.
                Attached::Waiting(wait) if is_of_host(wait.ask(), asker.as_deref()) => Ok(Attached::Over),
                attached => Ok(attached),
            };
        }
        loop {
            let key = match self.0.calls.take(fingerprint, mode) {
                Known::Named(key) => key,
                Known::Over => return Ok(Attached::Over),
                Known::Unknown => break,
            };
            // The hook of another settings file may wait there already.
            if let Some(parked) = self.0.open.park_own(&key, self.host()) {
                self.0.calls.serve(key);
                return Ok(Attached::Waiting(Wait::new(self.clone(), parked)));
            }
            if let Some(ask) = self.0.open.claim_named(&key).filter(|ask| self.watches_over(ask)) {
                self.0.calls.serve(key);
                return Ok(Attached::Settled(ask));
            }
            // That hook may also have been told the outcome. Otherwise no dialog came for this call, and the next one that fits is meant.
            if self.0.calls.is_served(&key)
                && let Some(ask) = self.get(&key).await?
                && self.watches_over(&ask)
                && ask.stands_for_returning_asker()
            {
                return Ok(Attached::Settled(ask));
            }
        }
        if let Some(parked) = self.0.open.park_matching(fingerprint) {
            return Ok(Attached::Waiting(Wait::new(self.clone(), parked)));
        }
        if let Some(ask) = self.0.open.claim(fingerprint) {
            return Ok(Attached::Settled(ask));
        }
        if let Some(ask) = self.0.store.ask_with_digest(session, digest).await?
            && self.watches_over(&ask)
            && ask.stands_for(new.asker.as_deref())
            && ask.asker == new.asker
            && (resumed || self.was_settled_before_start(&ask))
        {
            return Ok(Attached::Settled(ask));
        }
        self.attach(new, resumed).await
    }

    /// Whether a question was announced to an earlier daemon and answered a moment ago, before its dialog came. That daemon has forgotten it.
    /// What was said about a call that needs approval is never found in this way: another call may be equal.
    fn was_settled_before_start(&self, ask: &Ask) -> bool {
        let settled_at = ask.settlement.as_ref().map(|settlement| settlement.at);
        ask.kind == Kind::Question
            && ask.receipt.is_none()
            && ask.opened_at < self.0.started_at
            && settled_at.is_some_and(|at| self.now().duration_since(at).unsigned_abs() < RETURN_GRACE)
    }

    /// Parks an asker that knows the key of its ask: a hook that comes back, or the program that runs the agent. See
    /// [`attach`](Self::attach) for `resumed`.
    pub async fn attach_by_key(&self, new: NewAsk, resumed: bool) -> Result<Attached, OpenError> {
        let key = new.key.clone();
        let attached = self.attach(new, resumed).await?;
        self.0.calls.serve(key);
        Ok(attached)
    }

    /// Parks an asker whose call has no name and no dialog beside it. See [`attach`](Self::attach) for `resumed`, and [`NamedCall`] for
    /// `mode`.
    pub async fn attach_unnamed(
        &self,
        mut new: NewAsk,
        mode: Option<&str>,
        resumed: bool,
    ) -> Result<Attached, OpenError> {
        if let Some(digest) = &new.digest {
            let (host, session) = (self.host(), new.key.session());
            let fingerprint = Fingerprint { host, session, asker: new.asker.as_deref(), digest };
            new.key = self.0.calls.join(fingerprint, mode, &new.key);
        }
        self.attach(new, resumed).await
    }

    /// Parks an asker that names its call, which an agent has announced before.
    pub async fn attach_to_call(&self, new: NewAsk, resumed: bool) -> Result<Attached, OpenError> {
        self.0.calls.take_named(&new.key);
        if let Some(ask) = self.0.open.claim_named(&new.key)
            && self.is_same(&ask, &new).await?
        {
            return Ok(Attached::Settled(ask));
        }
        match self.get(&new.key).await? {
            // Another machine has taken the name.
            Some(ask) if !self.watches_over(&ask) => return Err(OpenError::OtherMachine),
            // Somebody has changed the input after the call was announced. What was asked about the old one is over.
            Some(ask) if ask.is_open() && !self.is_same(&ask, &new).await? => {
                if let Err(SettleError::Store(error)) = self.settle(ask.id, Outcome::Withdrawn, None).await {
                    return Err(error.into());
                }
            }
            // An answer is for one call, and one asker waits for it, or is about to.
            Some(ask) if ask.is_open() && !resumed && self.has_asker(&ask) => return Ok(Attached::Over),
            Some(ask) if !resumed && ask.stands_for_returning_asker() && self.is_same(&ask, &new).await? => {
                return Ok(Attached::Over);
            }
            _ => {}
        }
        self.attach(new, resumed).await
    }

    /// Takes an agent's report about one of its calls. Returns the ask as it is then, or `None` if the report is about none.
    ///
    /// If the ask could be answered elsewhere and is open, it was answered there, and the report settles it. In every other case the
    /// report only proves what the agent received: it can settle nothing, whoever sends it.
    pub async fn report(&self, report: Report) -> Result<Option<Arc<Ask>>, StoreError> {
        self.0.calls.end(&report.key, report.asker.as_deref());
        let Some(ask) = self.ask_of(&report).await? else { return Ok(None) };
        if matches!(report.news, News::Refused(_)) && !ask.is_open() && !needs_receipt(&ask, &report.news) {
            return Ok(Some(ask));
        }
        let behind = ask.answer_behind(&report.news);
        let ask = if ask.is_open() {
            // Nobody could answer in a terminal that shows no dialog, or in the terminal of another process.
            let is_of_other = ask.asker != report.asker && !is_of_host(&ask, report.asker.as_deref());
            if !ask.may_be_answered_elsewhere() || is_of_other {
                tracing::warn!(key = %ask.key, "a report about a question that waits here was ignored");
                return Ok(None);
            }
            let by = Source::of(Channel::Terminal);
            // The call is over. If nobody said anything, that is no answer.
            let (outcome, by) = match behind.clone() {
                Some(answer) => (Outcome::AnsweredInTerminal(answer), Some(by)),
                None => (Outcome::Withdrawn, None),
            };
            match self.settle(ask.id, outcome, by).await {
                Ok(ask) | Err(SettleError::Conflict(ask) | SettleError::Gone(ask)) => ask,
                Err(SettleError::Store(error)) => return Err(error),
            }
        } else {
            ask
        };
        let sent = match ask.settlement.as_ref().map(|settlement| &settlement.outcome) {
            // The report itself said so.
            Some(Outcome::AnsweredInTerminal(answer)) if Some(answer) == behind.as_ref() => Some(answer),
            Some(outcome) => outcome.answer().filter(|sent| ask.was_followed(sent, &report.news)),
            None => None,
        };
        if sent.is_none() {
            tracing::warn!(key = %ask.key, "the agent received something else than what was sent");
        }
        let received = sent.or(behind.as_ref()).map(|answer| answer.answers.clone()).unwrap_or_default();
        let receipt = Receipt { answers: received, as_sent: sent.is_some(), at: self.now() };
        Ok(Some(self.0.store.receive(ask.id, receipt).await?.unwrap_or(ask)))
    }

    /// The ask that a report is about. A dialog that did not name its call may have opened it.
    async fn ask_of(&self, report: &Report) -> Result<Option<Arc<Ask>>, StoreError> {
        let found = match (self.get(&report.key).await?, &report.digest) {
            (Some(ask), _) => Some(ask),
            (None, Some(digest)) => {
                let raced = self.0.store.ask_with_digest(report.key.session().to_owned(), digest.clone()).await?;
                raced.filter(|ask| ask.may_be_answered_elsewhere() && ask.asker == report.asker && ask.key.is_unnamed())
            }
            (None, None) => None,
        };
        let is_over_http = report.asker.as_deref() == Some(HTTP_ASKER);
        let found = found.filter(|ask| {
            let is_same = report.digest.is_none() || ask.digest == report.digest || ask.is_edited();
            is_same && ask.is_over_http() == is_over_http
        });
        match found {
            Some(ask) if self.may_be_reported(&ask, report).await? => Ok(Some(ask)),
            _ => Ok(None),
        }
    }

    /// A thread of an agent goes on without an answer: the agent itself, or one of its subagents. What it asked is withdrawn.
    pub async fn thread_went_on(
        &self,
        session: &str,
        asker: Option<&str>,
        subagent: Option<&str>,
    ) -> Result<(), StoreError> {
        self.0.calls.end_all(session, asker, Some(subagent));
        if subagent.is_none() {
            self.0.open.forget_unclaimed(self.host(), session, asker);
        }
        self.withdraw_where(session, asker, |ask| ask.may_be_answered_elsewhere() && ask.subagent() == subagent).await
    }

    /// The next turn of the agent begins. Nothing of the turn before waits any more, except what its subagents have asked.
    pub async fn turn_ended(&self, session: &str, asker: Option<&str>) -> Result<(), StoreError> {
        self.thread_went_on(session, asker, None).await?;
        self.withdraw_where(session, asker, |ask| ask.ends_with_turn() && ask.subagent().is_none()).await
    }

    /// A process of the agent has ended. Everything that it asked is withdrawn.
    pub async fn process_ended(&self, session: &str, asker: Option<&str>) -> Result<(), StoreError> {
        self.0.calls.end_all(session, asker, None);
        self.0.open.forget_unclaimed(self.host(), session, asker);
        self.withdraw_where(session, asker, |_| true).await
    }

    async fn withdraw_where(
        &self,
        session: &str,
        asker: Option<&str>,
        is_over: impl Fn(&Ask) -> bool,
    ) -> Result<(), StoreError> {
        for ask in self.0.open.of_session(self.host(), session, asker) {
            if is_over(&ask)
                && !ask.deferred
                && let Err(SettleError::Store(error)) = self.settle(ask.id, Outcome::Withdrawn, None).await
            {
                return Err(error);
            }
        }
        Ok(())
    }
}
