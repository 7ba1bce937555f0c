//! `answerback show`: all of one question, permission request, plan or form.

use anstyle::Style;
use jiff::Timestamp;

use crate::api::{AskView, OutcomeView, State};
use crate::ask::{AskKey, Channel, DEMO_SESSION, Origin, OutcomeKind};
use crate::client::Client;
use crate::text::{StyledLine, one_line, style};

use super::exit::Exit;
use super::grant::Granted;
use super::subject::revealed;
use super::{client, ended, machine, print_json, subject, time, tree, which};

/// Show everything about one question
///
/// Permission requests, plans and forms are shown, too. It may be open or settled. Nothing is cut: the whole command, every changed line,
/// the whole plan. A character that cannot be seen is shown by its name, as in <U+202E>.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback show\n  \
    answerback show 3fa2c1\n  \
    answerback show 3fa2c1 --json | jq -r '.subject.command'")]
pub(super) struct Args {
    /// Any part of the key, or the end of the key of a settled one; not needed when one question is open
    key: Option<String>,
    /// Print JSON, as `GET /v1/asks/KEY` gives it
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let client = client()?;
    let ask = find(&client, args.key.as_deref())?;
    if args.json {
        print_json(&ask)?;
        return Ok(Exit::Success);
    }
    let with_host = machine::are_several_known(&client);
    for StyledLine { text, style } in page(&ask, with_host, time::now()) {
        outln!("{style}{text}{style:#}");
    }
    Ok(Exit::Success)
}

/// A whole key names any question, and a part of one an open question first. A settled one is named by its key or the end of it.
fn find(client: &Client, key: Option<&str>) -> anyhow::Result<AskView> {
    if let Some(key) = key
        && key.parse::<AskKey>().is_ok()
        && let Some(ask) = client.find_ask(key)?
    {
        return Ok(ask);
    }
    let open = client.open_asks()?.asks;
    if let Some(key) = key
        && !open.iter().any(|ask| ask.key.contains(key))
        && let Some(ask) = ended::find(client, key)?
    {
        return Ok(ask);
    }
    which::ask(&open, key).cloned()
}

/// Everything, in lines.
fn page(ask: &AskView, with_host: bool, now: Timestamp) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    let mut line = |text: String, style: Style| lines.push(StyledLine { text, style });
    let noun = ask.kind.noun();
    let mut title = tree::single(&ask.title());
    if title.eq_ignore_ascii_case(noun) {
        title.clear();
    }
    let colon = if title.is_empty() { "" } else { ": " };
    line(format!("{}{}{colon}{title}", noun[..1].to_uppercase(), &noun[1..]), style::STRONG);
    line(format!("  key      {}", tree::single(&ask.key)), Style::new());
    if with_host {
        line(format!("  host     {}", tree::single(&ask.host)), Style::new());
    }
    if let Some(project) = &ask.project {
        line(format!("  project  {}", tree::single(project)), Style::new());
    }
    if let Some(name) = &ask.asked_by {
        line(format!("  asker    {}", tree::single(name)), Style::new());
    }
    line(format!("  asked    {}, {} ago", time::local(ask.opened_at), time::age(ask.opened_at, now)), Style::new());
    line(format!("  state    {}", state(ask, now)), Style::new());
    line(String::new(), Style::new());
    let subject = subject::lines(ask);
    let has_subject = !subject.is_empty();
    lines.extend(subject);
    if has_subject {
        lines.push(StyledLine { text: String::new(), style: Style::new() });
    }
    lines.extend(questions(ask, has_subject));
    if let Some(outcome) = &ask.outcome {
        lines.push(StyledLine { text: String::new(), style: Style::new() });
        lines.extend(ending(ask, outcome));
    }
    lines
}

fn state(ask: &AskView, now: Timestamp) -> String {
    match (ask.state, &ask.outcome) {
        (State::Settled, Some(outcome)) => {
            let at = ask.settled_at.map_or_else(String::new, |at| format!(", {}", time::local(at)));
            format!("{}{at}", settled(outcome))
        }
        _ => {
            let deadline = ask.expires_at.map(|at| format!(", for another {}", time::age(now, at)));
            let racing = if ask.racing { ", in the terminal too" } else { "" };
            let deferred = if ask.deferred { ", the answer is kept until the run is resumed" } else { "" };
            format!("open{}{racing}{deferred}", deadline.unwrap_or_default())
        }
    }
}

/// The person, and the device or the program that ended it, as far as their names are known.
pub(super) fn who(outcome: &OutcomeView) -> Option<String> {
    let by = outcome.by.as_ref()?;
    let with = by.device.as_deref().or(by.agent.as_deref()).map(one_line);
    match (by.person.as_deref().map(one_line), with) {
        (Some(person), Some(with)) => Some(format!("{person} ({with})")),
        (person, with) => person.or(with),
    }
}

/// How it ended, and who ended it.
pub(super) fn settled(outcome: &OutcomeView) -> String {
    let channel = outcome.by.as_ref().map(|by| by.channel);
    let by = who(outcome).map_or_else(String::new, |who| format!(", by {who}"));
    let what = match outcome.kind {
        OutcomeKind::Answered if channel == Some(Channel::Notification) => "answered from a notification",
        OutcomeKind::Answered if channel == Some(Channel::Away) => "answered while away",
        OutcomeKind::Answered => "answered",
        OutcomeKind::AnsweredInTerminal => "answered in the terminal",
        OutcomeKind::Dismissed => "dismissed",
        OutcomeKind::Released => "released to the terminal",
        OutcomeKind::Expired => "expired",
        OutcomeKind::Withdrawn if channel == Some(Channel::Hub) => "withdrawn, because nothing was heard from its host",
        OutcomeKind::Withdrawn => "withdrawn",
    };
    let hub = outcome.by.as_ref().and_then(|by| by.hub.as_deref());
    let hub = hub.map_or_else(String::new, |hub| format!(", through {}", one_line(hub)));
    format!("{what}{by}{hub}")
}

/// The questions with their options. The text of a question repeats the subject, if there is one, so only its first line is shown then.
fn questions(ask: &AskView, has_subject: bool) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    let mut line = |text: String, style: Style| lines.push(StyledLine { text, style });
    for (index, question) in ask.questions.iter().enumerate() {
        if index > 0 {
            line(String::new(), Style::new());
        }
        let text = revealed(&question.question);
        let is_repeated = has_subject && ask.questions.len() == 1;
        for text in text.into_iter().take(if is_repeated { 1 } else { usize::MAX }) {
            line(text, style::STRONG);
        }
        let how = match (question.multi_select, question.free_text, question.optional) {
            (true, ..) => Some("any number of these"),
            (false, _, true) => Some("may be left out"),
            (false, true, false) if question.options.is_empty() => Some("in your own words"),
            _ => None,
        };
        if let Some(how) = how {
            line(format!("  ({how})"), style::FAINT);
        }
        for (option, number) in question.options.iter().zip(1..) {
            line(format!("  {number}. {}", tree::single(&option.label)), style::CHOICE);
            for text in [Some(&option.description), option.preview.as_ref()].into_iter().flatten() {
                for text in revealed(text).into_iter().filter(|text| !text.is_empty()) {
                    line(format!("     {text}"), style::FAINT);
                }
            }
        }
    }
    lines
}

/// What was said, what it granted, and what the agent did with it.
fn ending(ask: &AskView, outcome: &OutcomeView) -> Vec<StyledLine> {
    let mut lines = vec![StyledLine { text: "Outcome:".to_owned(), style: style::STRONG }];
    let mut line = |text: &str, style: Style| lines.push(StyledLine { text: format!("  {text}"), style });
    line(&settled(outcome), Style::new());
    for question in &ask.questions {
        let texts = [&outcome.answers, &outcome.notes].map(|texts| texts.as_ref()?.get(&question.question));
        if ask.questions.len() > 1 && texts.iter().any(Option::is_some) {
            line(&tree::single(&question.question), Style::new());
        }
        let [answer, note] = texts.map(|text| text.map(|text| revealed(text)).unwrap_or_default());
        answer.iter().for_each(|text| line(text, style::GOOD));
        note.iter().for_each(|text| line(&format!("note: {text}"), style::FAINT));
    }
    for text in outcome.reason.iter().flat_map(|reason| revealed(reason)) {
        line(&format!("reason: {text}"), style::WARNING);
    }
    if let Some(granted) = Granted::of(ask) {
        line(&granted.sentence(), Style::new());
    }
    if let Some(edited) = &outcome.edited {
        line("edited before it was approved:", style::WARNING);
        let subject = ask.subject.as_ref();
        let input = subject.and_then(|subject| subject.object("input").or(Some(subject.fields())));
        for (name, after) in edited {
            let before = input.and_then(|input| input.get_key_value(name));
            let one = |value| tree::fields(&[(name.clone(), value)].into_iter().collect(), &[]);
            for text in before.into_iter().flat_map(|(_, before)| one(before.clone())) {
                line(&format!("- {text}"), style::BAD);
            }
            one(after.clone()).iter().for_each(|text| line(&format!("+ {text}"), style::GOOD));
        }
    }
    match &ask.receipt {
        Some(receipt) if receipt.as_sent => {
            line(&format!("the agent received it, {}", time::local(receipt.at)), Style::new());
        }
        Some(receipt) => {
            line(&format!("the agent did something else, {}", time::local(receipt.at)), style::WARNING);
            for (question, answer) in &receipt.answers {
                line(&format!("{}: {}", tree::single(question), tree::single(answer)), style::WARNING);
            }
        }
        // Only an agent reports what it has received, and the pretend agent of the demo does not.
        None if outcome.kind == OutcomeKind::Answered
            && ask.origin != Origin::Program
            && !ask.session.starts_with(DEMO_SESSION) =>
        {
            line("the agent has not reported that it received it", style::FAINT);
        }
        None => {}
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::which::tests::ask_with_key;
    use super::*;

    #[test]
    fn it_is_said_who_ended_it_and_through_which_hub() {
        for (by, expected) in [
            (json!(null), "dismissed"),
            (json!({"channel": "socket"}), "dismissed"),
            (json!({"channel": "token", "agent": "curl/8"}), "dismissed, by curl/8"),
            (json!({"channel": "page", "agent": "Firefox", "device": "Phone"}), "dismissed, by Phone"),
            (json!({"channel": "page", "device": "Phone", "person": "Anna"}), "dismissed, by Anna (Phone)"),
            (
                json!({"channel": "page", "device": "Phone", "person": "Anna", "hub": "hub-1"}),
                "dismissed, by Anna (Phone), through hub-1",
            ),
            (json!({"channel": "socket", "hub": "hub-1"}), "dismissed, through hub-1"),
        ] {
            let outcome = serde_json::from_value(json!({"kind": "dismissed", "by": by})).unwrap();
            assert_eq!(settled(&outcome), expected);
        }
    }

    #[test]
    fn a_settled_permission_says_what_was_granted_and_edited() {
        let mut ask = serde_json::to_value(ask_with_key("s__toolu_1")).unwrap();
        let fields = json!({
            "kind": "permission", "state": "settled", "settled_at": "2026-11-16T09:31:00Z",
            "subject": {"tool": "Bash", "command": "npm test", "input": {"command": "npm test"}, "grants": [
                {"label": "Always allow Bash(npm test)", "rules": ["Bash(npm test)"], "file": ".claude/settings.local.json"}]},
            "questions": [{"question": "Allow Bash?\n\nnpm test", "header": "Bash", "options": [
                {"label": "Allow once"}, {"label": "Always allow Bash(npm test)"}, {"label": "Deny"}]}],
            "outcome": {"kind": "answered", "answers": {"Allow Bash?\n\nnpm test": "Always allow Bash(npm test)"},
                "edited": {"command": "npm test\n--quick"}, "by": {"channel": "page", "device": "Pixel 7"}},
        });
        ask.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let page = page(&serde_json::from_value(ask).unwrap(), false, Timestamp::now());
        let text: Vec<_> = page.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(text[..3], ["Permission request: Bash", "  key      s__toolu_1", "  project  /home/me/shop"]);
        let end = text.iter().position(|line| *line == "Outcome:").unwrap();
        let expected = [
            "Outcome:",
            "  answered, by Pixel 7",
            "  Always allow Bash(npm test)",
            "  rule: Bash(npm test), for .claude/settings.local.json",
            "  edited before it was approved:",
            "  - command: npm test",
            "  + command:",
            "  +   npm test",
            "  +   --quick",
            "  the agent has not reported that it received it",
        ];
        assert_eq!(text[end..], expected);
        assert_eq!(text.iter().filter(|line| line.contains("npm test")).count(), 6, "{text:#?}");
    }
}
