//! Makes an `application/problem+json` reply of each error.

use std::sync::Arc;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::api::{AskView, Problem};
use crate::ask::{Ask, QuestionFault};
use crate::inbox::Refusal;
use crate::store::StoreError;

impl Problem {
    pub(super) fn new(status: StatusCode, kind: &str, title: impl Into<String>) -> Self {
        Self {
            kind: format!("urn:answerback:problem:{kind}"),
            status: status.as_u16(),
            title: title.into(),
            hint: None,
            retry_after: None,
            errors: Vec::new(),
            ask: None,
        }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(super) fn bad_request(title: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", title)
    }

    pub(super) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "This needs a valid token.")
            .hint("Send `Authorization: Bearer TOKEN` with the token of daemon.json in the state directory.")
    }

    pub(super) fn forbidden(kind: &str, title: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, kind, title)
    }

    pub(super) fn role() -> Self {
        Self::forbidden("role", "Your role does not allow this.")
            .hint("Ask somebody with the role admin. `answerback people` shows who may do what.")
    }

    pub(super) fn not_found(title: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", title)
    }

    pub(super) fn unknown_ask() -> Self {
        Self::not_found("There is no question with this key.").hint("GET /v1/asks lists the open ones.")
    }

    pub(super) fn internal(error: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", error.to_string())
    }

    pub(super) fn invalid(title: impl Into<String>, errors: Vec<QuestionFault>) -> Self {
        Self { errors, ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", title) }
    }

    fn with_ask(mut self, ask: &Arc<Ask>) -> Self {
        self.ask = Some(Box::new(AskView::from(&**ask)));
        self
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (status, [(header::CONTENT_TYPE, "application/problem+json")], body).into_response();
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        if let StoreError::AtHub(hub) = &error {
            return Self::new(StatusCode::CONFLICT, "at-hub", "This is done at the hub of this machine.")
                .hint(format!("Go to {hub}"));
        }
        tracing::error!(%error, "the store failed");
        if matches!(error, StoreError::DamagedAsk(_)) {
            return Self::new(StatusCode::INTERNAL_SERVER_ERROR, "damaged", "This question cannot be read any more.")
                .hint("Its row in the store is damaged. `answerback doctor` says what to do.");
        }
        let failed = |kind, title| Self::new(StatusCode::SERVICE_UNAVAILABLE, kind, title);
        if error.leaves_open_what_was_saved() {
            return failed("unknown", format!("It is not known whether this was saved: {error}."))
                .hint("Look at the question again when the daemon is back. It is open, or it has the answer.");
        }
        failed("store", format!("Nothing was saved: {error}."))
            .hint("Check the disk and the daemon's log, then try again.")
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let closed = |title| Self::new(StatusCode::GONE, "closed", title);
        match refusal {
            Refusal::Unknown => Self::unknown_ask(),
            Refusal::AskedAgain => closed("This question was asked again since."),
            Refusal::NoButtons(kind) => Self::new(
                StatusCode::FORBIDDEN,
                "no-buttons",
                format!("A notification does not answer a {}.", kind.noun()),
            )
            .hint("Open the page. Or name the kind in `buttons` of [notify] in config.toml."),
            Refusal::DevicesOnly(kind) => Self::new(
                StatusCode::FORBIDDEN,
                "devices-only",
                format!("A {} is decided on a paired device.", kind.noun()),
            )
            .hint("Decide there or in the terminal of the agent: `approve_from` in config.toml says so."),
            Refusal::NeedsConsent(ask) => Self::forbidden("consent", "A paired device has to agree to this.")
                .hint("Approve it on a paired device within five minutes, then do this again.")
                .with_ask(&ask),
            Refusal::NoConsent => Self::forbidden("consent", "No paired device has agreed to this.")
                .hint("If that was a mistake, do it again, and approve it on a paired device."),
            Refusal::OptionsOnly => {
                Self::invalid("A notification answers with one of the options, and nothing else.", Vec::new())
            }
            Refusal::Answer(faults) => Self::invalid("The answer does not fit the questions.", faults),
            Refusal::Questions(error) => Self::invalid(format!("{error}."), Vec::new()),
            Refusal::Away(error) => Self::invalid(format!("{error}."), Vec::new()),
            Refusal::TooLong { what, limit } => {
                Self::invalid(format!("The {what} is over {} KiB.", limit / 1024), Vec::new())
            }
            Refusal::ReservedName => Self::invalid("A program that asks is not Answerback or Claude.", Vec::new())
                .hint("Give its own name in `asked_by`."),
            Refusal::Role => Self::role(),
            Refusal::NotYours => Self::forbidden("not-yours", "Only the agent can take its question back.")
                .hint("Dismiss it, or release it to the terminal."),
            Refusal::Full => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "too-many-open", "Too many questions are open.")
                    .hint("Answer or dismiss some, then ask again.")
            }
            Refusal::FullForOne(most) => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "too-many-open",
                format!("{most} questions that you have asked are open."),
            )
            .hint("Withdraw some, or wait for their answers, then ask again."),
            Refusal::TooMuch(wait) => {
                let seconds = u32::try_from(wait.as_secs()).unwrap_or(u32::MAX).saturating_add(1);
                let problem = Self::new(StatusCode::TOO_MANY_REQUESTS, "too-much", "You have asked too much today.");
                let hint = format!("Try again in {seconds} seconds. `asker_mib_per_day` in config.toml is the limit.");
                Self { retry_after: Some(seconds), ..problem.hint(hint) }
            }
            Refusal::Unconfirmed => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "unconfirmed",
                "Nothing was saved: the machine that asks has not confirmed that its agent waits.",
            )
            .hint("Try again in a moment."),
            Refusal::Conflict(ask) => {
                Self::new(StatusCode::CONFLICT, "answered-already", "Somebody else answered this question first.")
                    .hint("`ask` holds the answer that counts.")
                    .with_ask(&ask)
            }
            Refusal::Gone(ask) => {
                closed("This question is closed and was not answered.").hint("`ask` says how it ended.").with_ask(&ask)
            }
            Refusal::NoKey(reason) => Self::internal(reason),
            Refusal::Store(error) => error.into(),
        }
    }
}
