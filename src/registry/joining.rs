//! Whether an ask that is there is the one that an asker asks for.
//!
//! An answer must be an answer to this very call, by somebody who may decide about it. A person decides by what the ask shows, and may
//! decide because of its host and its project. So an ask of this daemon is joined by its own askers. An edge says what it likes about its
//! asks, so they are joined by nobody here. What another daemon of the same store has asked is joined if everything is equal, and an
//! approval not even then: it is for one call, and that call is made on another machine.

use crate::ask::{Ask, AskKey, HTTP_ASKER, NewAsk, Questions, Report};
use crate::store::StoreError;

use super::{NamedCall, OpenError, Registry};

impl Registry {
    /// Checks that an ask with the same key is the one that is asked for.
    pub(super) async fn check_same(&self, ask: &Ask, new: &NewAsk) -> Result<(), OpenError> {
        if ask.is_over_http() != (new.asker.as_deref() == Some(HTTP_ASKER)) {
            return Err(OpenError::OtherAsker);
        }
        let has_same_input = match (&ask.digest, &new.digest) {
            (Some(known), Some(new)) => known == new,
            // Asks of programs have no digest, and neither have those of the first versions.
            _ => texts(&ask.questions).eq(texts(new.topic.questions())),
        };
        if !has_same_input || ask.kind != new.topic.kind() || ask.origin != new.origin {
            return Err(OpenError::OtherQuestions);
        }
        if self.watches_over(ask) || (looks_the_same(ask, new) && self.0.store.is_daemon(&ask.host).await?) {
            return Ok(());
        }
        Err(OpenError::OtherMachine)
    }

    /// The same as a question that has no error.
    pub(super) async fn is_same(&self, ask: &Ask, new: &NewAsk) -> Result<bool, StoreError> {
        match self.check_same(ask, new).await {
            Ok(()) => Ok(true),
            Err(OpenError::Store(error)) => Err(error),
            Err(_) => Ok(false),
        }
    }

    /// Whether a report of an agent here can be about this ask.
    pub(super) async fn may_be_reported(&self, ask: &Ask, report: &Report) -> Result<bool, StoreError> {
        let is_same = report.digest.is_some() && ask.digest == report.digest;
        Ok(self.watches_over(ask) || (is_same && self.0.store.is_daemon(&ask.host).await?))
    }

    /// The call behind an ask of this machine.
    pub async fn call_behind(&self, key: &AskKey) -> Result<Option<NamedCall>, StoreError> {
        let ask = self.get(key).await?.filter(|ask| self.watches_over(ask));
        Ok(ask.map(|ask| NamedCall::of(&ask)))
    }
}

/// Whether people see the same in the ask of another machine, and the same people may answer, and their answer may be for two machines.
fn looks_the_same(ask: &Ask, new: &NewAsk) -> bool {
    !ask.kind.is_for_one_call()
        && ask.digest.is_some()
        && ask.digest == new.digest
        && ask.project == new.project
        && ask.subject.as_ref() == new.topic.subject()
        && ask.questions == *new.topic.questions()
}

fn texts(questions: &Questions) -> impl Iterator<Item = &str> {
    questions.iter().map(|question| question.question.as_str())
}
