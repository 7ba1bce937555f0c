//! A webhook: one request to a program for each ask that is opened or settled.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::access::MacKey;
use crate::address::WebUrl;
use crate::ask::{Ask, ChangeKind};
use crate::config;

use super::post::post;
use super::wording::{Wording, asker};
use super::{Failure, Notice};

#[derive(Debug)]
pub struct Webhook {
    url: WebUrl,
    key: Option<MacKey>,
    wording: Arc<Wording>,
}

impl Webhook {
    pub(super) fn new(config: &config::Webhook, wording: &Arc<Wording>) -> Self {
        let key = config.secret.as_ref().map(|secret| MacKey::new(secret.reveal().as_bytes()));
        Self { url: config.url.clone(), key, wording: Arc::clone(wording) }
    }

    pub(super) fn host(&self) -> &str {
        self.url.host()
    }

    pub(super) fn deliver(&self, notice: &Notice) -> Result<(), Failure> {
        let event = match notice {
            Notice::Opened(ask) => self.event(ChangeKind::Opened, ask),
            Notice::Settled(ask) => self.event(ChangeKind::Settled, ask),
            Notice::Test => json!({"type": "test"}),
            Notice::Asked(_) => return Ok(()),
        };
        let body = event.to_string();
        #[expect(clippy::disallowed_methods, reason = "the receiver compares it with a clock of its own")]
        let timestamp = Timestamp::now().as_second().to_string();
        let mut headers = vec![("x-answerback-timestamp", timestamp.as_str())];
        let signature = self.key.as_ref().map(|key| sign(key, &timestamp, &body));
        headers.extend(signature.as_deref().map(|signature| ("x-answerback-signature", signature)));
        post(self.url.as_str(), &headers, body.as_bytes())
    }

    fn event(&self, change: ChangeKind, ask: &Ask) -> Value {
        let mut event = json!({
            "type": change.name(), "key": ask.key.as_str(), "id": ask.id, "kind": ask.kind, "session": ask.key.session(), "project": asker(ask),
            "opened_at": format!("{:.3}", ask.opened_at), "racing": ask.racing,
        });
        if let Some(url) = self.wording.link(ask) {
            event["url"] = json!(url);
        }
        if self.wording.shows(ask) {
            event["questions"] = json!(ask.questions);
        }
        if let Some(settlement) = &ask.settlement {
            event["outcome"] = json!({"kind": settlement.outcome.kind()});
        }
        event
    }
}

/// The signature covers the time too, so that a receiver can refuse an old request that somebody sends again.
fn sign(key: &MacKey, timestamp: &str, body: &str) -> String {
    format!("v1={}", key.sign_hex(&[timestamp.as_bytes(), b".", body.as_bytes()]))
}
