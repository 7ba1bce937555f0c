//! The kind `plan`: a call of `ExitPlanMode`. The hook waits beside the terminal's own dialog.

use serde_json::{Value, json};

use crate::ask::plan::{ACCEPT_EDITS, ASK_BEFORE_EDITS, KEEP_PLANNING, Ruling, ruling};
use crate::ask::{Answer, Ask, Kind, MAX_TEXT, News, Question, QuestionOption, Questions, Topic};

use super::super::call::HookInput;
use super::super::changed_file::CurrentFile;
use super::super::reply::quoted;
use super::tool_input::{InputError, digest_of};
use super::{Asked, CallKind, Decision, Reported};

const TOOL: &str = "ExitPlanMode";

/// A call that ends the plan mode. Some versions send no plan, if the agent has written none.
pub(super) struct Plan;

impl CallKind for Plan {
    fn is_asked_by(&self, hook: &HookInput) -> bool {
        hook.tool_name == TOOL
    }

    fn asked(&self, hook: &HookInput, _file: &CurrentFile) -> Result<Asked, InputError> {
        let text = |name: &str| hook.tool_input.as_ref().and_then(|input| input.get(name)?.as_str());
        let plan = text("plan").unwrap_or_default();
        let question = match plan.trim() {
            "" => "Approve the plan? The agent has not written it down.".to_owned(),
            _ if plan.len() + 64 <= MAX_TEXT => format!("Approve this plan?\n\n{plan}"),
            _ => format!(
                "Approve this plan? It has {} KiB. `answerback show` and the page show all of it.",
                plan.len() / 1024
            ),
        };
        let option = |label: &str, description: &str| QuestionOption {
            label: label.to_owned(),
            description: description.to_owned(),
            preview: None,
        };
        let options = vec![
            option(ACCEPT_EDITS, "The agent edits files in this session without asking."),
            option(ASK_BEFORE_EDITS, "The agent asks before it edits a file."),
            option(KEEP_PLANNING, "Words of your own send the plan back too, and the agent reads them."),
        ];
        let header = "Plan".to_owned();
        let question = Question { question, header, options, multi_select: false, free_text: true, optional: false };
        let subject = json!({"plan": plan, "file": text("planFilePath")});
        let Value::Object(subject) = subject else { return Err(InputError::NoInput) };
        let topic = Topic::new(Kind::Plan, Some(subject), Questions::new(vec![question])?)?;
        Ok(Asked { topic, digest: self.digest(hook)? })
    }

    fn digest(&self, hook: &HookInput) -> Result<String, InputError> {
        Ok(digest_of(&json!([hook.tool_name, hook.tool_input, hook.agent_id])))
    }

    /// The report does not repeat the plan, so only the id of the call tells which one it is about.
    fn reported(&self, _: &HookInput) -> Result<Reported, InputError> {
        Ok(Reported { digest: None, news: News::Ran(None) })
    }

    /// An approval without `updatedInput` is ignored by newer versions, so there always is one.
    fn decide(&self, ask: &Ask, answer: &Answer, _: Option<&HookInput>) -> Decision {
        match ruling(ask.questions.as_slice(), answer) {
            Ruling::Approve { accept_edits } => {
                let mode = if accept_edits { "acceptEdits" } else { "default" };
                let set_mode = json!({"type": "setMode", "mode": mode, "destination": "session"});
                Decision::Allow { input: Some(answer.edited.clone().unwrap_or_default()), permissions: vec![set_mode] }
            }
            Ruling::KeepPlanning(Some(feedback)) => Decision::Deny(format!(
                "The user does not approve the plan yet. Stay in plan mode and revise it. The user said: {}",
                quoted(&feedback)
            )),
            Ruling::KeepPlanning(None) => {
                Decision::Deny("The user does not approve the plan yet. Stay in plan mode and revise it.".to_owned())
            }
        }
    }

    fn noun(&self) -> &'static str {
        "plan"
    }

    /// The result of the tool says everything, an edited plan included.
    fn context(&self, _: &Ask, _: &Answer) -> Option<String> {
        None
    }
}
