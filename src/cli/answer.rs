//! `answerback answer`: answer a question, on the command line or by choosing.

use std::io::{self, IsTerminal};

use anstream::eprintln;

use crate::api::{AnswerRequest, AskView};
use crate::claude_code::settings::entry::quoted;
use crate::client::Client;
use crate::text::{one_line, style};

use super::draft::{Given, draft};
use super::edits::edits;
use super::exit::Exit;
use super::explain::{explain, hinted};
use super::options;
use super::settle::refuse_inside_agent;
use super::{choose, client, ended, machine, refuse_on_edge, unsent, which};

/// A text this long is hardly ever part of a key by accident.
const UNLIKELY_BY_ACCIDENT: usize = 4;

/// Answer a question
///
/// Without anything, choose interactively, beginning with the question that has waited longest; --all goes on with the next. With labels, answer the question
/// that is open, or the one with KEY. The beginning of a label is enough, and so is the number of its option. Give words of your
/// own with --text; a question without options takes them as they are. A question is named by its text, its header or its number.
///
/// An option that approves a permission request or a plan is chosen only by its whole label or its number. Words of your own deny the
/// call, or send the plan back.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback answer                              # choose with the arrow keys\n  \
    answerback answer --all                        # one question after the other\n  \
    answerback answer SQLite                       # the only open question\n  \
    answerback answer 2                            # its second option\n  \
    answerback answer 3fa2c1 SQLite                # one of several\n  \
    answerback answer 3fa2c1 Tests Docs            # several labels\n  \
    answerback answer -a 'Database=SQLite' -a 2=No # several questions\n  \
    answerback answer --text 'neither of them'     # words of your own\n  \
    answerback answer -a 1=SQLite -t '2=as before' # the same for one of them\n  \
    answerback answer Yes --note 'not before noon'\n  \
    answerback answer 3fa2c1 'Allow once'          # a permission request\n  \
    answerback answer 3fa2c1 -t 'use rg instead'   # deny it, and say why\n  \
    answerback answer 3fa2c1 1 --edit command='npm test -- --quick'\n  \
    answerback answer 3fa2c1 2 --edit-file plan=better-plan.md")]
pub(super) struct Args {
    /// Any part of a key, then labels: the key is not needed when one question is open
    #[arg(value_name = "KEY] [LABEL")]
    words: Vec<String>,
    /// Answer one question; again for another label of a multi-select
    #[arg(short, long = "answer", value_name = "QUESTION=ANSWER", allow_hyphen_values = true)]
    answers: Vec<String>,
    /// Answer in words of your own, exactly as they are; with several questions, QUESTION=WORDS
    #[arg(short, long = "text", value_name = "WORDS", allow_hyphen_values = true)]
    texts: Vec<String>,
    /// Add a note to an answer; with several questions, QUESTION=TEXT
    #[arg(short, long = "note", value_name = "TEXT", allow_hyphen_values = true)]
    notes: Vec<String>,
    /// Change a field of the call, or the plan, before it is approved; a field that is no text is given as JSON
    #[arg(long = "edit", value_name = "FIELD=VALUE", allow_hyphen_values = true)]
    edits: Vec<String>,
    /// The same with the text of a file
    #[arg(long = "edit-file", value_name = "FIELD=FILE")]
    edit_files: Vec<String>,
    /// Leave the other questions unanswered
    #[arg(long)]
    partial: bool,
    /// Choose for everything that is open, one after the other, beginning with what has waited longest
    #[arg(long, conflicts_with_all = ["words", "answers", "texts", "notes", "edits", "edit_files", "partial"])]
    all: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    refuse_inside_agent()?;
    refuse_on_edge("questions are answered")?;
    let client = client()?;
    let open = client.open_asks()?.asks;
    unsent::tell_overtaken(&client, &open);
    if args.all {
        return choose_all(&client, open);
    }
    let given = [&args.answers, &args.texts, &args.notes, &args.edits, &args.edit_files];
    let says_nothing = given.iter().all(|given| given.is_empty()) && !args.partial;
    if let [.., oldest] = open.as_slice()
        && open.len() > 1
        && args.words.is_empty()
        && says_nothing
        && io::stdin().is_terminal()
    {
        let exit = choose::run(&client, oldest, machine::are_several(&open))?;
        match client.open_asks()?.asks.len() {
            0 => {}
            left if exit == Exit::Success => eprintln!("{left} more to answer. To go on: answerback answer --all"),
            _ => {}
        }
        return Ok(exit);
    }
    let (ask, words) = meant(&open, &args.words, |word| ended::find(&client, word))?;
    if words.is_empty() && says_nothing {
        return choose::run(&client, ask, machine::are_several(&open));
    }
    let given = Given {
        kind: ask.kind,
        words,
        may_begin_with_key: words.len() == args.words.len(),
        answers: &args.answers,
        texts: &args.texts,
        notes: &args.notes,
        partial: args.partial,
    };
    let draft = draft(&ask.questions, given)?;
    let edited = edits(ask, &args.edits, &args.edit_files)?;
    if edited.is_some() && draft.answers.is_empty() {
        return Err(hinted(
            "an edit needs an option that approves",
            "Give the option too: its whole label, or its number.",
        ));
    }
    let draft = AnswerRequest { edited, id: Some(ask.id), ..draft };
    tell(&ended::settled(client.answer(&ask.key, &draft))?);
    unsent::tell_and_forget(&client, ask);
    Ok(Exit::Success)
}

/// Lets a person choose for one question after the other until nothing is open, or until they leave one.
fn choose_all(client: &Client, mut open: Vec<AskView>) -> anyhow::Result<Exit> {
    if open.is_empty() {
        which::ask(&open, None)?;
    }
    // It stays shown when the last question of another host is answered.
    let mut with_host = false;
    while let Some(oldest) = open.last().cloned() {
        with_host |= machine::are_several(&open);
        let chosen = choose::run(client, &oldest, with_host);
        open = client.open_asks()?.asks;
        // A question that was settled elsewhere meanwhile is no reason to stop.
        let exit = match chosen {
            Err(error) if !open.iter().any(|ask| ask.id == oldest.id) => {
                explain(&error);
                Exit::Closed
            }
            chosen => chosen?,
        };
        if !open.is_empty() {
            eprintln!("{} more to answer.", open.len());
        }
        if !matches!(exit, Exit::Success | Exit::Closed) {
            return Ok(exit);
        }
    }
    Ok(Exit::Success)
}

pub(super) fn tell(ask: &AskView) {
    let (faint, good) = (style::FAINT, style::GOOD);
    let Some(outcome) = &ask.outcome else { return };
    // The text of a question about a call repeats the call. Its summary is shorter.
    let summary = ask.kind.own_words().map(|_| ask.summary());
    for (question, answer) in outcome.answers.iter().flatten() {
        let question = one_line(summary.as_deref().unwrap_or(question));
        // A question that ends like one needs nothing before its answer.
        let arrow = if question.ends_with(['?', ':', '.', '!']) { "" } else { " →" };
        eprintln!("{faint}{question}{arrow}{faint:#} {good}{}{good:#}", one_line(answer));
        if let Some(effect) = ask.kind.own_words().filter(|_| !is_label(ask, answer)) {
            eprintln!("Words of your own {effect}. The agent reads them.");
        }
    }
    if outcome.edited.is_some() {
        eprintln!("It was edited before it was approved.");
    }
}

fn is_label(ask: &AskView, answer: &str) -> bool {
    ask.questions.iter().flat_map(|question| &question.options).any(|option| option.label == answer)
}

/// The ask, and the words that are not its key. With one open question, the first word is its key, an option of it, or text for
/// it; a word that looks like a key and is none is an error, and never an answer. `settled` finds the settled ask that a key may
/// belong to.
pub(super) fn meant<'a, 'b>(
    open: &'a [AskView],
    words: &'b [String],
    settled: impl FnOnce(&str) -> anyhow::Result<Option<AskView>>,
) -> anyhow::Result<(&'a AskView, &'b [String])> {
    let [first, rest @ ..] = words else { return Ok((which::ask(open, None)?, &[])) };
    let [only] = open else {
        refuse_answer_as_key(open, first)?;
        return Ok((which::open_ask(open, Some(first), settled)?, rest));
    };
    let is_label = only.questions.iter().any(|question| options::named(question, first).is_some());
    if only.key == *first || (!is_label && which::is_part_of_only_key(&only.key, first)) {
        return Ok((only, rest));
    }
    if !is_option(only, first) {
        if let Some(ask) = settled(first)? {
            return Err(ended::too_late(&ask));
        }
        // There is one word more than there are answers, so the first is meant as a key.
        let has_room_for_key = match only.questions.as_slice() {
            [question] => words.len() == 2 && !question.multi_select,
            several => words.len() == several.len() + 1,
        };
        if which::looks_like_key(first) || (has_room_for_key && which::may_be_key(first)) {
            return Err(which::unknown_key(first, &own_words(only, words)));
        }
        if has_room_for_key && only.key.ends_with(first.as_str()) {
            return Err(hinted(
                format!("`{}` may be the end of the key, but it is too short for one", one_line(first)),
                format!("Give at least six characters of it: {}", which::short_key(open, &only.key)),
            ));
        }
    }
    Ok((only, words))
}

/// How to give these words as free text, if a question takes it.
fn own_words(ask: &AskView, words: &[String]) -> String {
    match ask.questions.as_slice() {
        [only] if only.free_text => {
            format!("For words of your own: answerback answer --text {}", quoted(&one_line(&words.join(" "))))
        }
        several if several.iter().any(|question| question.free_text) => {
            "For words of your own, use --text QUESTION=WORDS.".to_owned()
        }
        _ => String::new(),
    }
}

fn is_option(ask: &AskView, word: &str) -> bool {
    ask.questions.iter().any(|question| options::find_all(question, word).is_ok())
}

/// With several open questions the first word is a key, and any part of one will do. A short answer may be a part of a key by
/// accident: it must not pick the question.
fn refuse_answer_as_key(open: &[AskView], word: &str) -> anyhow::Result<()> {
    if open.iter().any(|ask| ask.key == word) {
        return Ok(());
    }
    let is_part = open.iter().any(|ask| ask.key.contains(word));
    let is_answer = open.iter().any(|ask| is_option(ask, word));
    let takes_any_text = || open.iter().flat_map(|ask| &ask.questions).any(|question| question.options.is_empty());
    let may_be_answer =
        (word.len() < which::SHOWN && is_answer) || (word.len() < UNLIKELY_BY_ACCIDENT && takes_any_text());
    if (is_part && may_be_answer) || (!is_part && is_answer) {
        return Err(hinted(
            format!("{} questions are open, and `{}` may be an answer to one: say which", open.len(), one_line(word)),
            "Give the key as `answerback pending` shows it, then the answer.",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::which::tests::ask_with_key;
    use super::*;

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
            (&one, vec!["toolu_Ye", "No"], "s1__toolu_Yes1", 1),
            (&one, vec!["some", "thing"], "s1__toolu_Yes1", 2),
            (&one, vec!["1"], "s1__toolu_Yes1", 1),
            (&one, vec!["toolu"], "s1__toolu_Yes1", 1),
            (&one, vec!["something"], "s1__toolu_Yes1", 1),
            (&one, vec![""], "s1__toolu_Yes1", 1),
            (&one, vec![], "s1__toolu_Yes1", 0),
            (&two, vec!["bbb", "No"], "s1__toolu_bbb", 1),
        ] {
            let given = words(&given);
            let (ask, labels) = meant(open, &given, |_| Ok(None)).unwrap();
            assert_eq!((ask.key.as_str(), labels.len()), (key, rest), "{given:?}");
        }
        for (open, given) in [
            (&one[..], vec!["toolu_No1", "No"]),
            (&one, vec!["s1__toolu_No1"]),
            (&one, vec!["3fa2c1"]),
            (&one, vec!["abcdef", "No"]),
            (&two, vec!["No"]),
            (&two, vec![]),
        ] {
            assert!(meant(open, &words(&given), |_| Ok(None)).is_err(), "{given:?}");
        }
    }

    #[test]
    fn a_key_of_a_settled_question_is_not_an_answer_to_another() {
        let one = ["s1__toolu_aaa111"].map(ask_with_key);
        let settled = |_: &str| Ok(Some(ask_with_key("s1__toolu_settle")));
        assert!(meant(&one, &words(&["settle"]), settled).unwrap_err().to_string().contains("`Which?` was withdrawn"));
        // A word that is an option is never taken for a key.
        assert_eq!(meant(&one, &words(&["yes"]), settled).unwrap().1.len(), 1);
    }
}
