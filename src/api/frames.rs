//! What a companion and the daemon say to each other over the WebSocket. Each frame is one JSON object with a `type`.

use indexmap::IndexMap;
use jiff::Timestamp;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::ask::{Ask, Cursor, Kind, Question, QuestionFault, Subject};

use super::{OutcomeView, SessionState, SessionView, fields};

/// A frame of a companion.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ClientFrame {
    Authenticate(Authenticate),
    Subscribe(Subscribe),
    AskUserResponse(Box<AskUserResponse>),
}

/// Shows a token. It must be the first frame, unless the token came with the request for the connection.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct Authenticate {
    pub token: String,
}

/// Asks for the questions of one session, or of all sessions. Those that are open come at once.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Subscribe {
    /// The session. This connection takes it over: only the newest connection that did so may answer its questions. Without it, the
    /// questions of all sessions come, and those of a session that another connection has taken cannot be answered.
    #[cfg_attr(test, schema(max_length = 128))]
    pub session_id: Option<String>,
    /// Another name for `session_id`.
    #[cfg_attr(test, schema(max_length = 128))]
    pub conversation_id: Option<String>,
    /// The `cursor` of the last frame before the connection was lost. What was settled since is then told, too.
    #[cfg_attr(test, schema(pattern = "^[0-9]+$"))]
    pub since: Option<String>,
}

/// Answers a question, or dismisses it. The fields are in `data`, or in the frame itself. If there is `data`, the rest is ignored.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct AskUserResponse {
    #[cfg_attr(test, schema(required = false))]
    pub data: Option<Response>,
    #[serde(flatten)]
    pub flat: Response,
}

impl<'de> Deserialize<'de> for AskUserResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Map::deserialize(deserializer)?;
        match fields.remove("data") {
            Some(data @ Value::Object(_)) => {
                let data = Response::deserialize(data).map_err(D::Error::custom)?;
                Ok(Self { data: Some(data), flat: Response::default() })
            }
            Some(Value::Null) | None => {
                let flat = Response::deserialize(Value::Object(fields)).map_err(D::Error::custom)?;
                Ok(Self { data: None, flat })
            }
            Some(_) => Err(D::Error::custom("`data` must be an object")),
        }
    }
}

/// What a person says to a question. It is named by `question_id`, or by the ids of its session and its tool call.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Response {
    /// The key of the ask.
    pub question_id: Option<String>,
    /// The session that asks. Another name for it is `conversation_id`.
    #[serde(alias = "conversation_id")]
    pub session_id: Option<String>,
    /// The tool call that asks.
    pub tool_call_id: Option<String>,
    #[cfg_attr(test, schema(schema_with = super::schema::answers))]
    pub answers: IndexMap<String, Value>,
    #[cfg_attr(test, schema(schema_with = super::schema::notes))]
    pub notes: IndexMap<String, String>,
    /// Whether questions may stay unanswered. Without it, an answer must cover every question.
    pub partial: bool,
    /// What the person changed before they approved: fields that replace fields of the input.
    #[cfg_attr(test, schema(value_type = Option<Object>))]
    pub edited: Option<Map<String, Value>>,
    /// The `id` of the question that the person has seen. If it was asked again since, nothing happens.
    #[serde(deserialize_with = "fields::id_or_null")]
    pub id: Option<i64>,
    /// Dismisses the question instead.
    pub cancelled: bool,
    /// The reason of a dismissal. The agent gets it.
    #[cfg_attr(test, schema(max_length = 16384))]
    pub reason: Option<String>,
}

/// A frame of the daemon.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ServerFrame {
    /// The token of `authenticate` is good.
    Authenticated,
    Subscribed(Subscribed),
    AskUserQuestion(Box<AskUserQuestion>),
    AskUserTimeout(AskUserTimeout),
    AskUserSettled(Box<AskUserSettled>),
    SessionStatus(SessionStatus),
    Reset(Reset),
    SessionTaken(SessionTaken),
    Error(Box<ErrorFrame>),
}

/// A subscription has begun. The open questions follow.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct Subscribed {
    /// The session that this connection has taken. Null for all sessions.
    #[cfg_attr(test, schema(required = true))]
    pub session_id: Option<String>,
    /// Whether another connection had taken that session. It was told.
    pub took_over: bool,
    /// Send it as `since` after a lost connection.
    pub cursor: String,
}

/// A question is open. It comes again after a reconnect, with the same `question_id`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct AskUserQuestion {
    /// The key of the ask.
    pub question_id: String,
    /// Send it with the answer, so that it cannot be taken for the answer to a later question with the same key.
    pub id: i64,
    pub session_id: String,
    pub tool_call_id: String,
    pub kind: Kind,
    /// The thing to decide about, in a shape that depends on the kind. Null for a question.
    #[cfg_attr(test, schema(value_type = Option<Object>, required = true))]
    pub subject: Option<Subject>,
    pub questions: Vec<Question>,
    /// The directory that the asker works in. Null if it is unknown.
    #[cfg_attr(test, schema(required = true))]
    pub project: Option<String>,
    /// The machine that the asker runs on.
    pub host: String,
    /// The name that a program gives itself. Null if it gives none, and for an agent.
    #[cfg_attr(test, schema(required = true))]
    pub asked_by: Option<String>,
    /// Whether the agent's own dialog is open at the same time.
    pub racing: bool,
    /// How many seconds are left to answer. Null if there is no limit.
    #[cfg_attr(test, schema(required = true))]
    pub timeout_seconds: Option<u64>,
    /// Send it as `since` after a lost connection.
    pub cursor: String,
}

/// Nobody answered in time. `ask_user_settled` follows.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct AskUserTimeout {
    pub question_id: String,
    pub session_id: String,
    /// A sentence for people.
    pub error: String,
}

/// A question has its outcome, from whatever side it came.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct AskUserSettled {
    pub question_id: String,
    pub id: i64,
    pub session_id: String,
    pub outcome: OutcomeView,
    /// Send it as `since` after a lost connection. The reply to an answer has none, because it may overtake other frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// The order of changes was broken off. Forget the questions that were shown: those that are open follow.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct Reset {
    /// Send it as `since` after a lost connection.
    pub cursor: String,
}

/// What a session does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct SessionStatus {
    pub session_id: String,
    pub state: SessionState,
    /// The agent works.
    pub is_processing: bool,
    /// At least one question is open.
    pub waiting_for_user: bool,
    /// The question that has been open for longest. Null if none is.
    #[cfg_attr(test, schema(required = true))]
    pub pending_question_id: Option<String>,
}

/// Another connection has taken the session. If there is a `question_id`, the answer to it was refused.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct SessionTaken {
    pub session_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question_id: Option<String>,
}

/// A frame was refused. Nothing has changed.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct ErrorFrame {
    /// The kind of error, as in the problems of the HTTP API. Programs can rely on it, because it does not change.
    pub error: String,
    /// What happened, as a sentence for people.
    pub message: String,
    /// What to do about it, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The question that the frame was about, if it named one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question_id: Option<String>,
    /// How the question ended, if it was settled before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<OutcomeView>,
    /// What is wrong with each question.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<QuestionFault>,
}

impl AskUserQuestion {
    /// The frame about an open ask.
    pub fn new(ask: &Ask, cursor: Cursor, now: Timestamp) -> Self {
        let left = ask.expires_at.map(|expires_at| expires_at.duration_since(now).as_secs());
        Self {
            question_id: ask.key.to_string(),
            id: ask.id.0,
            session_id: ask.key.session().to_owned(),
            tool_call_id: ask.key.tool_use_id().to_owned(),
            kind: ask.kind,
            subject: ask.subject.clone(),
            questions: ask.questions.iter().cloned().collect(),
            project: ask.project.clone(),
            host: ask.host.as_str().to_owned(),
            asked_by: ask.asked_by.clone(),
            racing: ask.racing,
            timeout_seconds: left.map(|left| u64::try_from(left).unwrap_or(0)),
            cursor: cursor.0.to_string(),
        }
    }
}

impl AskUserSettled {
    /// The frame about an ask that is settled; `None` if it is open.
    pub fn new(ask: &Ask, cursor: Option<Cursor>) -> Option<Self> {
        let settlement = ask.settlement.as_ref()?;
        Some(Self {
            question_id: ask.key.to_string(),
            id: ask.id.0,
            session_id: ask.key.session().to_owned(),
            outcome: OutcomeView::new(&settlement.outcome, settlement.by.clone()),
            cursor: cursor.map(|cursor| cursor.0.to_string()),
        })
    }
}

impl From<SessionView> for SessionStatus {
    fn from(session: SessionView) -> Self {
        Self {
            is_processing: session.state == SessionState::Working,
            waiting_for_user: session.state == SessionState::Waiting,
            pending_question_id: session.asks.into_iter().next(),
            session_id: session.session,
            state: session.state,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn response(frame: Value) -> Response {
        match serde_json::from_value(frame).unwrap() {
            ClientFrame::AskUserResponse(response) => response.data.unwrap_or(response.flat),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_answer_comes_in_two_forms() {
        let nested =
            response(json!({"type": "ask_user_response", "data": {"question_id": "s__t", "answers": {"Q": "A"}}}));
        assert_eq!((nested.question_id.as_deref(), nested.answers["Q"].as_str()), (Some("s__t"), Some("A")));
        let flat = json!({"type": "ask_user_response", "conversation_id": "s", "tool_call_id": "t", "answers": {"Q": ["A", "B"]}});
        let flat = response(flat);
        assert_eq!((flat.session_id.as_deref(), flat.tool_call_id.as_deref()), (Some("s"), Some("t")));
        assert_eq!(flat.answers["Q"], json!(["A", "B"]));
        let cancelled =
            response(json!({"type": "ask_user_response", "data": {"question_id": "s__t", "cancelled": true}}));
        assert!(cancelled.cancelled && cancelled.answers.is_empty());
    }

    #[test]
    fn what_is_not_a_frame_is_not_read() {
        for frame in [
            json!({}),
            json!({"type": "shout"}),
            json!([]),
            json!({"type": "authenticate", "token": 3}),
            json!({"type": "ask_user_response", "data": {"answers": ["A"]}}),
            json!({"type": "ask_user_response", "data": 3}),
            json!({"type": "subscribe", "session_id": 7}),
        ] {
            assert!(serde_json::from_value::<ClientFrame>(frame.clone()).is_err(), "{frame}");
        }
    }
}
