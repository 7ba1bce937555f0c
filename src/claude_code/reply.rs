//! Turns outcomes into replies: the JSON that a hook prints for Claude Code.

use serde_json::{Map, Value, json};

use crate::ask::{Ask, OnTimeout, Outcome};

use super::call::Call;
use super::kinds::{self, Decision};
use super::version::{Carrier, Version};

/// Some versions ignore the answers of hooks. Their tool fails, because nobody is at the terminal.
const BESIDE_AN_ERROR: &str = "The question was answered. Ignore the error of this tool call, and do not ask again. ";
/// In the oldest versions only the reason of a refusal reaches the model.
const IN_A_REFUSAL: &str = "This is not a refusal: the question was answered. Do not ask again. ";

/// The reply to a `PreToolUse` hook whose ask is settled. `None` means no decision, an empty stdout.
///
/// `call` is `None` if the stored call is damaged. Then the client is taken for a new version.
pub(super) fn pre_tool_use(ask: &Ask, call: Option<&Call>, version: Option<Version>) -> Option<Value> {
    let input = match decision(ask, call)? {
        Decision::Allow { input, .. } => input.unwrap_or_default(),
        Decision::Deny(reason) => return Some(deny(&reason)),
    };
    let context = context(ask).unwrap_or_default();
    Some(match Carrier::of(version) {
        Carrier::Input => allow(input, context),
        Carrier::Context => allow(input, format!("{BESIDE_AN_ERROR}{context}")),
        Carrier::Refusal => deny(&format!("{IN_A_REFUSAL}{context}")),
    })
}

/// The reply to a `PermissionRequest` hook beside the terminal's dialog. `None` leaves the dialog as it is.
pub(super) fn permission_request(ask: &Ask, call: Option<&Call>) -> Option<Value> {
    let decision = match decision(ask, call)? {
        Decision::Allow { input, permissions } => {
            let mut allow = Map::from_iter([("behavior".to_owned(), json!("allow"))]);
            allow.extend(input.map(|input| ("updatedInput".to_owned(), Value::Object(input))));
            if !permissions.is_empty() {
                allow.insert("updatedPermissions".to_owned(), Value::Array(permissions));
            }
            Value::Object(allow)
        }
        Decision::Deny(reason) => json!({"behavior": "deny", "message": reason}),
    };
    Some(json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}))
}

/// The reply to an `Elicitation` hook. `None` makes Claude Code open its own dialog.
pub(super) fn elicitation(ask: &Ask, call: Option<&Call>) -> Option<Value> {
    let outcome = &ask.settlement.as_ref()?.outcome;
    let mut output = Map::from_iter([("hookEventName".to_owned(), json!("Elicitation"))]);
    // A form that was withdrawn belongs to a turn that is over. If it were left undecided, its dialog would come up in the next turn.
    let is_over = matches!(outcome, Outcome::Withdrawn);
    match decision(ask, call) {
        Some(Decision::Allow { input, .. }) => {
            output.insert("action".to_owned(), json!("accept"));
            output.extend(input.map(|input| ("content".to_owned(), Value::Object(input))));
        }
        Some(Decision::Deny(_)) => drop(output.insert("action".to_owned(), json!("decline"))),
        None if is_over => drop(output.insert("action".to_owned(), json!("cancel"))),
        None => return None,
    }
    Some(json!({"hookSpecificOutput": output}))
}

/// The reply to a `PostToolUse` hook. It gives the model the context of an answer that won a race, because `PermissionRequest` cannot carry
/// it. `None` for any other answer.
pub(super) fn post_tool_use(ask: &Ask) -> Option<Value> {
    let context = context(ask).filter(|_| ask.may_be_answered_elsewhere())?;
    Some(json!({"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": context}}))
}

/// The reply that ends a one-shot run. When the run is resumed, it asks again under the same key.
pub(super) fn deferred() -> Value {
    permission_decision("defer", Map::new())
}

/// What the outcome means for the call. `None` if the call goes on as if there were no hook.
fn decision(ask: &Ask, call: Option<&Call>) -> Option<Decision> {
    match &ask.settlement.as_ref()?.outcome {
        Outcome::Answered(answer) => Some(kinds::of(ask.kind).decide(ask, answer, call.map(|call| &call.hook))),
        _ => refusal(ask).map(Decision::Deny),
    }
}

/// The text that tells the model about an answer. `None` if the answer came from the terminal, or if there is none.
fn context(ask: &Ask) -> Option<String> {
    match &ask.settlement.as_ref()?.outcome {
        Outcome::Answered(answer) => kinds::of(ask.kind).context(ask, answer),
        _ => None,
    }
}

/// The text that tells the model why there is no answer. `None` for outcomes that leave the question to the terminal.
fn refusal(ask: &Ask) -> Option<String> {
    let noun = kinds::of(ask.kind).noun();
    match &ask.settlement.as_ref()?.outcome {
        Outcome::Dismissed { reason: Some(reason) } => {
            Some(format!("The user dismissed the {noun} instead of answering it, and said: {}", quoted(reason)))
        }
        Outcome::Dismissed { reason: None } => {
            Some(format!("The user dismissed the {noun} without answering it. Do not assume an answer."))
        }
        Outcome::Expired if ask.on_timeout == OnTimeout::Deny => {
            Some(format!("Nobody answered the {noun} in time. Do not assume an answer."))
        }
        _ => None,
    }
}

fn allow(input: Map<String, Value>, context: String) -> Value {
    let mut fields = Map::new();
    fields.insert("updatedInput".into(), Value::Object(input));
    fields.insert("additionalContext".into(), json!(context));
    permission_decision("allow", fields)
}

fn deny(reason: &str) -> Value {
    let mut fields = Map::new();
    fields.insert("permissionDecisionReason".into(), json!(reason));
    permission_decision("deny", fields)
}

fn permission_decision(decision: &str, fields: Map<String, Value>) -> Value {
    let mut output = Map::new();
    output.insert("hookEventName".into(), json!("PreToolUse"));
    output.insert("permissionDecision".into(), json!(decision));
    output.extend(fields);
    json!({"hookSpecificOutput": output})
}

/// A person's text as a JSON string, so that the model cannot take a part of it for our own words. Claude Code may put the reply between
/// tags, so the text must not close a tag.
pub(super) fn quoted(text: &str) -> String {
    json!(text).to_string().replace("</", "<\\/")
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::changed_file::CurrentFile;
    use super::super::client::Client;
    use super::super::deadline::Deadline;
    use super::super::event::{HookEvent, Rules, event};
    use super::*;
    use crate::ask::{Answer, AskId, Channel, Host, Settlement, Source};

    /// Reads the stored call first, as the bridge does.
    fn settled(ask: &Ask, detail: &str, version: Option<Version>) -> Option<Value> {
        super::pre_tool_use(ask, Call::kept(detail).as_ref(), version)
    }

    fn raced(ask: &Ask, detail: &str) -> Option<Value> {
        super::permission_request(ask, Call::kept(detail).as_ref())
    }

    fn ask(on_timeout: OnTimeout) -> (Ask, String) {
        let call = json!({
            "hook_event_name": "PreToolUse", "session_id": "s", "tool_use_id": "t", "tool_name": "AskUserQuestion",
            "tool_input": {"kept": true, "questions": [
                {"question": "One?", "header": "H", "multiSelect": false, "options": [
                    {"label": "A", "description": "", "preview": "look"}, {"label": "B", "description": ""}]},
                {"question": "Two?", "header": "H", "multiSelect": true, "options": [{"label": "X", "description": ""}]},
            ]},
        });
        let (body, deadline) = (call.to_string(), Deadline { after: None, then: on_timeout });
        let call = Call::read(body.as_bytes(), Client::default()).unwrap();
        let rules = Rules { deadline, unattended_waits: false };
        let event = event(call, body.as_bytes(), None, &CurrentFile::Unseen, rules, Timestamp::UNIX_EPOCH);
        let Ok(HookEvent::Ask(new)) = event else { panic!("not an ask") };
        let ask = Ask {
            id: AskId(1),
            key: new.key,
            origin: new.origin,
            project: new.project,
            kind: new.topic.kind(),
            subject: new.topic.subject().cloned(),
            questions: new.topic.questions().clone(),
            opened_at: Timestamp::UNIX_EPOCH,
            expires_at: new.expires_at,
            on_timeout: new.on_timeout,
            racing: false,
            asker: new.asker,
            asked_by: new.asked_by,
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
        let by = Source { agent: Some("curl/8".into()), ..Source::of(Channel::Token) };
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
    fn older_versions_get_the_answer_in_another_way() {
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
    fn a_damaged_call_still_gets_its_answer() {
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
    fn the_context_names_an_unanswered_question() {
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
    fn a_race_gets_its_answer_beside_the_dialog_and_its_context_afterwards() {
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
        let after = post_tool_use(&ask).unwrap();
        assert!(after["hookSpecificOutput"]["additionalContext"].as_str().unwrap().contains("Note: \"n\""));

        settle(&mut ask, Outcome::Dismissed { reason: Some("no".into()) });
        let denied = raced(&ask, &detail).unwrap();
        assert!(denied["hookSpecificOutput"]["decision"]["message"].as_str().unwrap().ends_with("\"no\""));
        assert_eq!(post_tool_use(&ask), None);
        for outcome in [Outcome::AnsweredInTerminal(answer), Outcome::Released, Outcome::Withdrawn] {
            settle(&mut ask, outcome);
            assert_eq!((raced(&ask, &detail), settled(&ask, &detail, None), post_tool_use(&ask)), (None, None, None));
        }
    }

    #[test]
    fn outcomes_that_nobody_decided_make_no_decision() {
        assert_eq!(reply(OnTimeout::Native, Outcome::Released), None);
        assert_eq!(reply(OnTimeout::Native, Outcome::Withdrawn), None);
        assert_eq!(reply(OnTimeout::Native, Outcome::Expired), None);
        assert_eq!(reply(OnTimeout::Deny, Outcome::Expired).unwrap()["permissionDecision"], "deny");
        assert_eq!(deferred()["hookSpecificOutput"]["permissionDecision"], "defer");
    }
}
