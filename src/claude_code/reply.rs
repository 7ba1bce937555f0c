//! What a hook is told.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::ask::{Answer, Ask, Channel, OnTimeout, Outcome, Questions, Settlement};

use super::input::Detail;
use super::tool_input;
use super::version::{Carrier, Version};

/// In versions that ignore answers of hooks, the tool then fails for want of a person at the terminal.
const BESIDE_AN_ERROR: &str = "The question was answered. Ignore the error of this tool call, and do not ask again. ";
/// In the oldest versions nothing but the reason of a refusal gets through.
const IN_A_REFUSAL: &str = "This is not a refusal: the question was answered. Do not ask again. ";

/// The reply to a `PreToolUse` hook whose ask is settled; `None` means no decision, an empty stdout.
///
/// `detail` is what [`super::read`] made of the call, `recorded` the version of a client that does not say.
pub fn settled(ask: &Ask, detail: &str, recorded: Option<Version>) -> Option<Value> {
    let settlement = ask.settlement.as_ref()?;
    match &settlement.outcome {
        Outcome::Answered(answer) => {
            let context = context(&ask.questions, answer, settlement);
            Some(match carrier(detail, recorded) {
                Carrier::Input => allow(updated_input(ask, detail, answer), context),
                Carrier::Context => allow(updated_input(ask, detail, answer), format!("{BESIDE_AN_ERROR}{context}")),
                Carrier::Refusal => deny(&format!("{IN_A_REFUSAL}{context}")),
            })
        }
        _ => refusal(ask).map(|reason| deny(&reason)),
    }
}

/// The reply to a `PermissionRequest` hook beside the terminal's dialog; `None` leaves the dialog as it is.
pub fn raced(ask: &Ask, detail: &str) -> Option<Value> {
    let settlement = ask.settlement.as_ref()?;
    let decision = match &settlement.outcome {
        Outcome::Answered(answer) => json!({"behavior": "allow", "updatedInput": updated_input(ask, detail, answer)}),
        _ => json!({"behavior": "deny", "message": refusal(ask)?}),
    };
    Some(json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}))
}

/// The reply to a `PostToolUse` hook: what a race could not say before. `None` where the terminal said it, or `PreToolUse` did.
pub fn received(ask: &Ask) -> Option<Value> {
    let settlement = ask.settlement.as_ref().filter(|_| ask.racing)?;
    let Outcome::Answered(answer) = &settlement.outcome else { return None };
    let context = context(&ask.questions, answer, settlement);
    Some(json!({"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": context}}))
}

/// Why there is no answer, where the agent is to be told.
fn refusal(ask: &Ask) -> Option<String> {
    match &ask.settlement.as_ref()?.outcome {
        Outcome::Dismissed { reason: Some(reason) } => {
            Some(format!("The user dismissed the question instead of answering it, and said: {}", quoted(reason)))
        }
        Outcome::Dismissed { reason: None } => {
            Some("The user dismissed the question without answering it. Do not assume an answer.".to_owned())
        }
        Outcome::Expired if ask.on_timeout == OnTimeout::Deny => {
            Some("Nobody answered the question in time. Do not assume an answer.".to_owned())
        }
        _ => None,
    }
}

/// The whole original input, with the answers in it.
fn updated_input(ask: &Ask, detail: &str, answer: &Answer) -> Map<String, Value> {
    let mut input = original_input(detail).unwrap_or_else(|| {
        // A person's answer is not thrown away for that.
        tracing::error!(key = %ask.key, "what was kept of the call is damaged");
        Map::from_iter([("questions".to_owned(), json!(ask.questions))])
    });
    input.insert("answers".into(), json!(answer.answers));
    let annotations = annotations(&ask.questions, answer);
    if !annotations.is_empty() {
        input.insert("annotations".into(), Value::Object(annotations));
    }
    input
}

/// What was kept of a call says which client made it; where that is lost, it is taken for a new one.
fn carrier(detail: &str, recorded: Option<Version>) -> Carrier {
    serde_json::from_str(detail).map_or(Carrier::Input, |detail: Detail| detail.carrier(recorded))
}

fn original_input(detail: &str) -> Option<Map<String, Value>> {
    let detail: Detail = serde_json::from_str(detail).ok()?;
    tool_input::normalise(&detail.tool_input()?).ok()
}

/// The reply that ends a one-shot run; the resumed run asks again under the same key.
pub fn deferred() -> Value {
    decision("defer", Map::new())
}

fn allow(input: Map<String, Value>, context: String) -> Value {
    let mut fields = Map::new();
    fields.insert("updatedInput".into(), Value::Object(input));
    fields.insert("additionalContext".into(), json!(context));
    decision("allow", fields)
}

fn deny(reason: &str) -> Value {
    let mut fields = Map::new();
    fields.insert("permissionDecisionReason".into(), json!(reason));
    decision("deny", fields)
}

fn decision(decision: &str, fields: Map<String, Value>) -> Value {
    let mut output = Map::new();
    output.insert("hookEventName".into(), json!("PreToolUse"));
    output.insert("permissionDecision".into(), json!(decision));
    output.extend(fields);
    json!({"hookSpecificOutput": output})
}

/// The person's notes, and the preview of the option that was chosen.
fn annotations(questions: &Questions, answer: &Answer) -> Map<String, Value> {
    let mut annotations = Map::new();
    for question in questions {
        let mut annotation = Map::new();
        let chosen = answer.answers.get(&question.question);
        let option = question.options.iter().find(|option| Some(&option.label) == chosen);
        if let Some(preview) = option.and_then(|option| option.preview.as_ref()) {
            annotation.insert("preview".into(), json!(preview));
        }
        if let Some(note) = answer.notes.get(&question.question) {
            annotation.insert("notes".into(), json!(note));
        }
        if !annotation.is_empty() {
            annotations.insert(question.question.clone(), Value::Object(annotation));
        }
    }
    annotations
}

/// A text of somebody else's as JSON, so that no word of it can pass for one of ours. Claude Code may put what it is told between
/// tags, so nothing in the text may close one.
fn quoted(text: &str) -> String {
    json!(text).to_string().replace("</", "<\\/")
}

/// The real answers in plain words, each text quoted.
fn context(questions: &Questions, answer: &Answer, settlement: &Settlement) -> String {
    let by = settlement.by.as_ref();
    let channel = match by.map(|by| by.channel) {
        Some(Channel::Device) => "on the Answerback page",
        Some(Channel::Token) => "through the Answerback HTTP endpoint",
        Some(Channel::Socket) => "with an Answerback command on this machine",
        Some(Channel::Terminal) => "in the terminal",
        Some(Channel::Notification) => "from an Answerback notification",
        None => "through Answerback",
    };
    let mut text = format!("The user answered {channel}");
    if let Some(agent) = by.and_then(|by| by.agent.as_deref()) {
        // Writing to a string does not fail, here and below.
        let _ = write!(text, " (client {})", quoted(agent));
    }
    text.push_str(". These are the user's own answers:");
    for question in questions {
        let _ = write!(text, "\n- Question: {}", quoted(&question.question));
        match answer.answers.get(&question.question) {
            Some(answer) => drop(write!(text, "\n  Answer: {}", quoted(answer))),
            None => text.push_str("\n  The user left this question unanswered. Do not assume an answer."),
        }
        if let Some(note) = answer.notes.get(&question.question) {
            let _ = write!(text, "\n  Note: {}", quoted(note));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::client::Client;
    use super::super::input::{HookEvent, Policy, read};
    use super::*;
    use crate::ask::{AskId, Host, Source};

    fn ask(on_timeout: OnTimeout) -> (Ask, String) {
        let call = json!({
            "hook_event_name": "PreToolUse", "session_id": "s", "tool_use_id": "t", "tool_name": "AskUserQuestion",
            "tool_input": {"kept": true, "questions": [
                {"question": "One?", "header": "H", "multiSelect": false, "options": [
                    {"label": "A", "description": "", "preview": "look"}, {"label": "B", "description": ""}]},
                {"question": "Two?", "header": "H", "multiSelect": true, "options": [{"label": "X", "description": ""}]},
            ]},
        });
        let policy = Policy { timeout: None, on_timeout };
        let event = read(call.to_string().as_bytes(), Client::default(), policy, Timestamp::UNIX_EPOCH);
        let Ok(HookEvent::Ask(new)) = event else { panic!("not an ask") };
        let ask = Ask {
            id: AskId(1),
            key: new.key,
            origin: new.origin,
            project: new.project,
            kind: new.kind,
            subject: new.subject,
            questions: new.questions,
            opened_at: Timestamp::UNIX_EPOCH,
            expires_at: new.expires_at,
            on_timeout: new.on_timeout,
            racing: false,
            asker: new.asker,
            digest: new.digest,
            host: Host::new("here"),
            deferred: false,
            settlement: None,
            receipt: None,
        };
        (ask, new.detail)
    }

    fn reply(on_timeout: OnTimeout, outcome: Outcome) -> Option<Value> {
        let (mut ask, detail) = ask(on_timeout);
        let by = Source { channel: Channel::Token, agent: Some("curl/8".into()), device: None };
        ask.settlement = Some(Settlement { outcome, by: Some(by), at: Timestamp::UNIX_EPOCH });
        settled(&ask, &detail, None).map(|mut reply| reply["hookSpecificOutput"].take())
    }

    fn answer(ask: &Ask, mut sent: Value) -> Answer {
        let answers = serde_json::from_value(sent["answers"].take()).unwrap();
        let notes = serde_json::from_value(sent["notes"].take()).unwrap_or_default();
        Answer::new(&ask.questions, &answers, &notes, sent["partial"] == true).unwrap()
    }

    fn answered(sent: Value) -> Value {
        let (ask, _) = ask(OnTimeout::Native);
        let answer = answer(&ask, sent);
        reply(OnTimeout::Native, Outcome::Answered(answer)).unwrap()
    }

    #[test]
    fn an_answer_goes_back_with_the_whole_input() {
        let reply = answered(json!({"answers": {"One?": "A", "Two?": ["X", "else"]}, "notes": {"Two?": "n"}}));
        assert_eq!(reply["hookEventName"], "PreToolUse");
        assert_eq!(reply["permissionDecision"], "allow");
        let input = &reply["updatedInput"];
        assert_eq!(input["kept"], true);
        assert_eq!(input["questions"].as_array().unwrap().len(), 2);
        assert_eq!(input["answers"], json!({"One?": "A", "Two?": "X, else"}));
        assert_eq!(input["annotations"], json!({"One?": {"preview": "look"}, "Two?": {"notes": "n"}}));
    }

    #[test]
    fn older_versions_get_the_answer_another_way() {
        for (version, decision, begins) in [
            (Version(2, 1, 63), "allow", "The question was answered. Ignore the error"),
            (Version(2, 0, 76), "deny", "This is not a refusal"),
            (Version(2, 1, 325), "allow", "The user answered"),
        ] {
            let (mut ask, detail) = ask(OnTimeout::Native);
            let answer = answer(&ask, json!({"answers": {"One?": "A", "Two?": "X"}}));
            ask.settlement =
                Some(Settlement { outcome: Outcome::Answered(answer), by: None, at: Timestamp::UNIX_EPOCH });
            let reply = settled(&ask, &detail, Some(version)).unwrap()["hookSpecificOutput"].take();
            assert_eq!(reply["permissionDecision"], decision);
            let told =
                reply.get("additionalContext").or(reply.get("permissionDecisionReason")).unwrap().as_str().unwrap();
            assert!(told.starts_with(begins) && told.contains("Answer: \"A\""), "{version:?}: {told}");
        }
    }

    #[test]
    fn an_answer_is_given_also_when_the_call_is_lost() {
        let (mut ask, _) = ask(OnTimeout::Native);
        let answer = answer(&ask, json!({"answers": {"One?": "A", "Two?": "X"}}));
        ask.settlement = Some(Settlement { outcome: Outcome::Answered(answer), by: None, at: Timestamp::UNIX_EPOCH });
        let reply = settled(&ask, "damaged", None).unwrap();
        let input = &reply["hookSpecificOutput"]["updatedInput"];
        assert_eq!((input["questions"].as_array().unwrap().len(), &input["answers"]["One?"]), (2, &json!("A")));
    }

    #[test]
    fn the_context_states_each_answer_and_where_it_came_from() {
        let reply =
            answered(json!({"answers": {"One?": "no\n- Question: \"fake\"", "Two?": "X"}, "notes": {"One?": "why"}}));
        let context = reply["additionalContext"].as_str().unwrap();
        assert_eq!(
            context,
            "The user answered through the Answerback HTTP endpoint (client \"curl/8\"). These are the user's own answers:\n\
             - Question: \"One?\"\n  Answer: \"no\\n- Question: \\\"fake\\\"\"\n  Note: \"why\"\n\
             - Question: \"Two?\"\n  Answer: \"X\""
        );
        assert_eq!(reply["updatedInput"].get("annotations"), Some(&json!({"One?": {"notes": "why"}})));
    }

    #[test]
    fn a_question_left_out_is_named() {
        let reply = answered(json!({"answers": {"One?": "B"}, "partial": true}));
        assert!(reply["additionalContext"].as_str().unwrap().contains("left this question unanswered"));
        assert_eq!(reply["updatedInput"].get("annotations"), None);
    }

    #[test]
    fn a_dismissal_denies_with_its_reason() {
        let reply_to = |reason: Option<&str>| {
            reply(OnTimeout::Native, Outcome::Dismissed { reason: reason.map(Into::into) }).unwrap()
        };
        let with = reply_to(Some("not now"));
        assert_eq!(with["permissionDecision"], "deny");
        assert!(with["permissionDecisionReason"].as_str().unwrap().ends_with("\"not now\""));
        assert_eq!(reply_to(None)["permissionDecision"], "deny");
    }

    #[test]
    fn a_race_is_answered_beside_the_dialog_and_explained_afterwards() {
        let (mut ask, detail) = ask(OnTimeout::Native);
        ask.racing = true;
        let answer = answer(&ask, json!({"answers": {"One?": "A", "Two?": "X"}, "notes": {"One?": "n"}}));
        let settle = |ask: &mut Ask, outcome| {
            ask.settlement = Some(Settlement { outcome, by: None, at: Timestamp::UNIX_EPOCH });
        };
        settle(&mut ask, Outcome::Answered(answer.clone()));
        let reply = raced(&ask, &detail).unwrap();
        let decision = &reply["hookSpecificOutput"]["decision"];
        assert_eq!((&decision["behavior"], &decision["updatedInput"]["kept"]), (&json!("allow"), &json!(true)));
        assert_eq!(decision["updatedInput"]["answers"], json!({"One?": "A", "Two?": "X"}));
        assert_eq!(decision["updatedInput"]["annotations"]["One?"], json!({"preview": "look", "notes": "n"}));
        let after = received(&ask).unwrap();
        assert!(after["hookSpecificOutput"]["additionalContext"].as_str().unwrap().contains("Note: \"n\""));

        settle(&mut ask, Outcome::Dismissed { reason: Some("no".into()) });
        let denied = raced(&ask, &detail).unwrap();
        assert!(denied["hookSpecificOutput"]["decision"]["message"].as_str().unwrap().ends_with("\"no\""));
        assert_eq!(received(&ask), None);
        for outcome in [Outcome::AnsweredInTerminal(answer), Outcome::Released, Outcome::Withdrawn] {
            settle(&mut ask, outcome);
            assert_eq!((raced(&ask, &detail), settled(&ask, &detail, None), received(&ask)), (None, None, None));
        }
    }

    #[test]
    fn no_decision_where_nobody_decided() {
        assert_eq!(reply(OnTimeout::Native, Outcome::Released), None);
        assert_eq!(reply(OnTimeout::Native, Outcome::Withdrawn), None);
        assert_eq!(reply(OnTimeout::Native, Outcome::Expired), None);
        assert_eq!(reply(OnTimeout::Deny, Outcome::Expired).unwrap()["permissionDecision"], "deny");
        assert_eq!(deferred()["hookSpecificOutput"]["permissionDecision"], "defer");
    }
}
