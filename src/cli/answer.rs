//! `answerback answer`: answer a question, on the command line or by choosing.

use std::io::{self, IsTerminal};

use anstream::eprintln;
use indexmap::IndexMap;
use serde_json::Value;

use crate::api::{AnswerRequest, AskView};
use crate::ask::Question;
use crate::terminal::{one_line, style};

use super::exit::{Exit, hinted};
use super::settle::refuse_inside_agent;
use super::{choose, client, which};

/// Answer a question
///
/// Without anything, choose interactively, beginning with the question that has waited longest. With labels (or any other text), answer the question that is open, or the one with KEY. A
/// question is named by its text, its header or its number.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback answer                              # choose with the arrow keys\n  \
    answerback answer SQLite                       # the only open question\n  \
    answerback answer 3fa2c1 SQLite                # one of several\n  \
    answerback answer 3fa2c1 Tests Docs            # several labels of a multi-select\n  \
    answerback answer -a 'Database=SQLite' -a 2=No # several questions\n  \
    answerback answer Yes --note 1='not before noon'")]
pub(super) struct Args {
    /// Any part of a key, then labels: not needed when one question is open
    #[arg(value_name = "KEY] [LABEL")]
    words: Vec<String>,
    /// Answer one question; again for another label of a multi-select
    #[arg(short, long = "answer", value_name = "QUESTION=ANSWER", allow_hyphen_values = true)]
    answers: Vec<String>,
    /// Add a note to an answer
    #[arg(short, long = "note", value_name = "QUESTION=TEXT", allow_hyphen_values = true)]
    notes: Vec<String>,
    /// Leave the other questions unanswered
    #[arg(long)]
    partial: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    refuse_inside_agent()?;
    let client = client()?;
    let open = client.open_asks()?.asks;
    let says_nothing = args.answers.is_empty() && args.notes.is_empty() && !args.partial;
    if let [.., oldest] = open.as_slice()
        && open.len() > 1
        && args.words.is_empty()
        && says_nothing
        && io::stdin().is_terminal()
    {
        let exit = choose::run(&client, oldest)?;
        eprintln!("{} more to answer.", open.len() - 1);
        return Ok(exit);
    }
    let (ask, labels) = meant(&open, &args.words)?;
    if labels.is_empty() && says_nothing {
        return choose::run(&client, ask);
    }
    let draft = draft(&ask.questions, labels, args)?;
    let settled: AskView = client.post(&format!("/v1/asks/{}/answer", ask.key), &draft)?;
    tell(&settled);
    Ok(Exit::Success)
}

pub(super) fn tell(ask: &AskView) {
    let (faint, good) = (style::FAINT, style::GOOD);
    let answers = ask.outcome.as_ref().and_then(|outcome| outcome.answers.as_ref());
    for (question, answer) in answers.into_iter().flatten() {
        eprintln!("{faint}{}{faint:#} {good}{}{good:#}", one_line(question), one_line(answer));
    }
}

/// The ask, and the words that are not its key. The first word is a key if it can be one; with one open question, a label of
/// it comes first.
fn meant<'a, 'b>(open: &'a [AskView], words: &'b [String]) -> anyhow::Result<(&'a AskView, &'b [String])> {
    let [first, rest @ ..] = words else { return Ok((which::ask(open, None)?, &[])) };
    if let [only] = open {
        let is_label = only.questions.iter().any(|question| label(question, first).is_some());
        let is_key = only.key == *first || (!is_label && which::is_part_of_only_key(&only.key, first));
        return Ok((only, if is_key { rest } else { words }));
    }
    Ok((which::ask(open, Some(first))?, rest))
}

/// The label as the question has it, however its letters were written.
fn label<'a>(question: &'a Question, text: &str) -> Option<&'a str> {
    let labels = || question.options.iter().map(|option| option.label.as_str());
    labels().find(|label| *label == text).or_else(|| labels().find(|label| label.to_lowercase() == text.to_lowercase()))
}

fn draft(questions: &[Question], labels: &[String], args: &Args) -> anyhow::Result<AnswerRequest> {
    let mut chosen: IndexMap<&str, Vec<String>> = IndexMap::new();
    let canonical = |question: &Question, text: &str| label(question, text).unwrap_or(text).to_owned();
    match (questions, labels) {
        (_, []) => {}
        ([only], labels) => {
            for text in labels {
                chosen.entry(&only.question).or_default().push(canonical(only, text));
            }
        }
        (several, labels) if several.len() == labels.len() => {
            for (question, text) in several.iter().zip(labels) {
                chosen.entry(&question.question).or_default().push(canonical(question, text));
            }
        }
        (several, labels) => {
            return Err(hinted(
                format!("{} questions, and {} answers", several.len(), labels.len()),
                "Give one answer for each question in their order, or use -a QUESTION=ANSWER.",
            ));
        }
    }
    for pair in &args.answers {
        let (question, text) = split(questions, pair)?;
        chosen.entry(&question.question).or_default().push(canonical(question, text));
    }
    let mut notes = IndexMap::new();
    for pair in &args.notes {
        let (question, text) = split(questions, pair)?;
        notes.insert(question.question.clone(), text.to_owned());
    }
    let value = |texts: Vec<String>| match <[String; 1]>::try_from(texts) {
        Ok([text]) => Value::String(text),
        Err(texts) => texts.into(),
    };
    let answers = chosen.into_iter().map(|(question, texts)| (question.to_owned(), value(texts))).collect();
    Ok(AnswerRequest { answers, notes, partial: args.partial })
}

/// `QUESTION=REST`, where the question is a text (which may have `=` in it), a header or a number.
fn split<'a, 'b>(questions: &'a [Question], pair: &'b str) -> anyhow::Result<(&'a Question, &'b str)> {
    let named = |name: &str| {
        let rest = pair.strip_prefix(name)?;
        rest.strip_prefix('=')
    };
    let by_text = questions.iter().find_map(|question| Some((question, named(&question.question)?)));
    let by_header = || {
        let mut fitting = questions.iter().filter(|question| !question.header.is_empty()).filter_map(|question| {
            let (name, rest) = pair.split_once('=')?;
            (question.header.to_lowercase() == name.to_lowercase()).then_some((question, rest))
        });
        fitting.next().filter(|_| fitting.next().is_none())
    };
    let by_number = || {
        let (number, rest) = pair.split_once('=')?;
        let index = number.trim().parse::<usize>().ok()?.checked_sub(1)?;
        Some((questions.get(index)?, rest))
    };
    by_text.or_else(by_header).or_else(by_number).ok_or_else(|| {
        let names: Vec<_> = questions.iter().map(|question| format!("`{}`", one_line(&question.question))).collect();
        hinted(format!("`{}` names no question", one_line(pair)), format!("The questions are {}.", names.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::which::tests::ask_with_key;
    use super::*;

    fn args(answers: &[&str], notes: &[&str]) -> Args {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Args { words: vec![], answers: owned(answers), notes: owned(notes), partial: false }
    }

    fn questions() -> Vec<Question> {
        serde_json::from_value(json!([
            {"question": "a=b or c?", "header": "Form", "options": [{"label": "Yes"}, {"label": "No"}]},
            {"question": "Which parts?", "header": "Parts", "multiSelect": true,
             "options": [{"label": "Tests"}, {"label": "Docs"}]},
        ]))
        .unwrap()
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn the_first_word_is_a_key_if_it_can_be_one() {
        let one = ["s1__toolu_Yes1"].map(ask_with_key);
        let two = ["s1__toolu_aaa", "s1__toolu_bbb"].map(ask_with_key);
        for (open, given, key, rest) in [
            (&one[..], vec!["yes"], "s1__toolu_Yes1", 1),
            (&one, vec!["toolu_Yes1", "No"], "s1__toolu_Yes1", 1),
            (&one, vec!["something", "else"], "s1__toolu_Yes1", 2),
            (&one, vec!["1"], "s1__toolu_Yes1", 1),
            (&one, vec!["toolu"], "s1__toolu_Yes1", 1),
            (&one, vec![""], "s1__toolu_Yes1", 1),
            (&one, vec![], "s1__toolu_Yes1", 0),
            (&two, vec!["bbb", "No"], "s1__toolu_bbb", 1),
        ] {
            let given = words(&given);
            let (ask, labels) = meant(open, &given).unwrap();
            assert_eq!((ask.key.as_str(), labels.len()), (key, rest), "{given:?}");
        }
        assert!(meant(&two, &words(&["No"])).is_err());
        assert!(meant(&two, &[]).is_err());
    }

    #[test]
    fn answers_by_order_text_header_and_number() {
        let questions = questions();
        let expected = json!({"a=b or c?": "Yes", "Which parts?": ["Tests", "else"]});
        for args in [
            args(&["a=b or c?=yes", "Which parts?=tests", "Which parts?=else"], &[]),
            args(&["form=YES", "PARTS=Tests", "parts=else"], &[]),
            args(&["1=Yes", "2=Tests", "2=else"], &[]),
        ] {
            let draft = draft(&questions, &[], &args).unwrap();
            assert_eq!(serde_json::to_value(draft.answers).unwrap(), expected);
        }
        let draft = draft(&questions, &words(&["no", "docs"]), &args(&[], &["Parts=later"])).unwrap();
        assert_eq!(serde_json::to_value(draft.answers).unwrap(), json!({"a=b or c?": "No", "Which parts?": "Docs"}));
        assert_eq!(draft.notes["Which parts?"], "later");
    }

    #[test]
    fn what_names_no_question_is_refused() {
        let questions = questions();
        for pair in ["Else?=x", "3=x", "0=x", "no equals sign", ""] {
            assert!(draft(&questions, &[], &args(&[pair], &[])).is_err(), "{pair}");
        }
        assert!(draft(&questions, &words(&["one"]), &args(&[], &[])).is_err());
    }
}
