//! The consent of a paired device, where only devices approve. To let in another device, person or machine is then asked as a permission
//! of its own, and only a paired device can answer it. The same program makes its request again after the answer.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use crate::access::{Caller, TokenHash, started_at};
use crate::ask::permission::{ALLOW_ONCE, DENY, Ruling, ruling};
use crate::ask::{
    Ask, AskKey, Channel, Kind, NewAsk, OnTimeout, Origin, Outcome, Question, QuestionOption, Questions, Receipt,
    Settlement, Topic,
};
use crate::registry::Asker;
use crate::store::Role;

use super::{Inbox, Refusal};

/// How long a device has to answer, and then how long its answer is good.
const GOOD_FOR: SignedDuration = SignedDuration::from_mins(5);
/// The longest request that is shown, in bytes. Honest ones are far shorter.
const MAX_SHOWN: usize = 8 * 1024;

impl Inbox {
    /// Whether plans and permissions are decided by paired devices and in the terminal alone.
    pub fn only_devices_approve(&self) -> bool {
        self.only_devices_approve
    }

    /// Plans and permissions may be for paired devices alone. What changes who may do what is also only for those who may do that.
    pub(super) fn check_device(&self, ask: &Ask, by: &Caller) -> Result<(), Refusal> {
        if !self.only_devices_approve || !ask.kind.is_for_one_call() {
            return Ok(());
        }
        if !by.is_paired() {
            return Err(Refusal::DevicesOnly(ask.kind));
        }
        let may = ask.origin != Origin::Program || by.rights().allow_everywhere(Role::Admin);
        if may { Ok(()) } else { Err(Refusal::Role) }
    }

    /// Succeeds if a device has allowed this request of this process. Otherwise a device is asked. `action` says what the request does.
    pub async fn need_consent(&self, action: &str, details: Map<String, Value>, by: &Caller) -> Result<(), Refusal> {
        let new = to_ask(action, details, by.process().unwrap_or_default(), self.store.now())?;
        if let Some(ask) = self.registry.get(&new.key).await?
            && let Some(settlement) = &ask.settlement
            && self.store.now().duration_since(settlement.at) < GOOD_FOR
            && self.is_first_use(&ask).await?
        {
            let is_ours = ask.origin == Origin::Program && ask.host == *self.store.host();
            let is_granted = is_ours && ask.questions == *new.topic.questions() && is_granted(&ask, settlement);
            return if is_granted { Ok(()) } else { Err(Refusal::NoConsent) };
        }
        Err(Refusal::NeedsConsent(self.registry.open(new, Asker::Here).await?))
    }

    /// Whether a consent was not used before. Its receipt says that it was, also to a daemon that is started later.
    async fn is_first_use(&self, ask: &Ask) -> Result<bool, Refusal> {
        let receipt = Receipt { answers: Default::default(), as_sent: true, at: self.store.now() };
        Ok(self.store.receive(ask.id, receipt).await?.is_some())
    }
}

fn is_granted(ask: &Ask, settlement: &Settlement) -> bool {
    let is_by_device = settlement.by.as_ref().is_some_and(|by| by.channel == Channel::Device);
    match &settlement.outcome {
        Outcome::Answered(answer) if is_by_device && answer.edited.is_none() => {
            ruling(ask.questions.as_slice(), answer) == Ruling::Allow(ALLOW_ONCE)
        }
        _ => false,
    }
}

/// The same request of the same process has the same key. So nobody else can use its consent, not even a later process with the same number.
fn to_ask(action: &str, details: Map<String, Value>, process: i32, now: Timestamp) -> Result<NewAsk, Refusal> {
    let mut shown: String = Value::from(details.clone()).to_string();
    if shown.len() > MAX_SHOWN {
        return Err(Refusal::TooLong { what: "request", limit: MAX_SHOWN });
    }
    let digest =
        hex::encode(TokenHash::of(json!([action, shown, process, started_at(process)]).to_string().as_bytes()).bytes());
    if details.is_empty() {
        shown.clear();
    }
    let option = |label: &str, description: &str| QuestionOption {
        label: label.to_owned(),
        description: description.to_owned(),
        preview: None,
    };
    let tool = format!("Answerback: {action}");
    let question = Question {
        question: format!("Allow {tool}?\n\n{shown}").trim_end().to_owned(),
        header: tool.clone(),
        options: vec![
            option(ALLOW_ONCE, "Choose this only if you have just started it yourself."),
            option(DENY, "Nothing is changed."),
        ],
        multi_select: false,
        free_text: true,
        optional: false,
    };
    let subject = Map::from_iter([
        ("tool".to_owned(), json!(tool)),
        ("input".to_owned(), json!(details)),
        ("grants".to_owned(), json!([])),
    ]);
    // Our own fields fit. Only their length depends on the caller.
    let topic = Topic::new(Kind::Permission, Some(subject), Questions::new(vec![question])?)
        .map_err(|_| Refusal::TooLong { what: "request", limit: MAX_SHOWN })?;
    Ok(NewAsk {
        key: AskKey::new(&format!("consent-{}", &digest[..12]), &digest[12..24])?,
        origin: Origin::Program,
        project: None,
        topic,
        detail: String::new(),
        expires_at: now.checked_add(GOOD_FOR).ok(),
        on_timeout: OnTimeout::Native,
        racing: false,
        digest: Some(digest),
        asker: None,
        asked_by: Some(format!("answerback, process {process}")),
    })
}
