//! From the words of a command line to an answer that can be sent.

use indexmap::IndexMap;
use serde_json::Value;

use crate::api::AnswerRequest;
use crate::ask::{Kind, Question};
use crate::claude_code::settings::entry::quoted;
use crate::text::{counted, one_line};

use super::explain::hinted;
use super::options;
use super::which;

/// What was given on the command line, without the key.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Given<'a> {
    /// What is answered.
    pub(super) kind: Kind,
    /// Options, or texts for questions without options, in the order of the questions.
    pub(super) words: &'a [String],
    /// Whether no key was given, so that the first word may be meant as one.
    pub(super) may_begin_with_key: bool,
    /// `QUESTION=OPTION`.
    pub(super) answers: &'a [String],
    /// Words of one's own: `QUESTION=WORDS`, or just the words for the only question.
    pub(super) texts: &'a [String],
    /// `QUESTION=TEXT`, or just the text for the only question.
    pub(super) notes: &'a [String],
    pub(super) partial: bool,
}

/// The answers so far, by the text of their question.
type Chosen<'a> = IndexMap<&'a str, Vec<String>>;

/// The answer to send, or an error if any part of the command line is not understood.
pub(super) fn draft(questions: &[Question], given: Given<'_>) -> anyhow::Result<AnswerRequest> {
    let mut chosen = Chosen::new();
    add_words(&mut chosen, questions, given)?;
    for pair in given.answers {
        let (question, word) = split(questions, pair, "Write QUESTION=ANSWER.")?;
        add(&mut chosen, given.kind, question, word, false)?;
    }
    for text in given.texts {
        add_text(&mut chosen, given.kind, questions, text)?;
    }
    for question in questions {
        let count = chosen.get(question.question.as_str()).map_or(0, Vec::len);
        if count > 1 && !question.multi_select {
            return Err(one_answer_only(question, given));
        }
    }
    let is_approval = |label: &String| {
        let mut options = questions.iter().flat_map(|question| &question.options);
        given.kind.is_approval(label) && options.any(|option| option.label == *label)
    };
    if given.may_begin_with_key && chosen.values().flatten().any(is_approval) {
        return Err(hinted(
            "an approval needs the key of what it approves, so that nothing else can be meant",
            "Write the key before it. `answerback pending` lists the keys.",
        ));
    }
    let mut notes = IndexMap::new();
    for pair in given.notes {
        let (question, text) = match (split(questions, pair, "With several questions, write QUESTION=TEXT."), questions)
        {
            // A text that names no question is a note to the only one, whatever is in it.
            (Err(_), [only]) => (only, pair.as_str()),
            (split, _) => split?,
        };
        if notes.insert(question.question.clone(), text.to_owned()).is_some() {
            return Err(hinted(
                format!("two notes for `{}`", one_line(&question.question)),
                "A question has one note: put both into it.",
            ));
        }
    }
    let value = |texts: Vec<String>| match <[String; 1]>::try_from(texts) {
        Ok([text]) => Value::String(text),
        Err(texts) => texts.into(),
    };
    let answers = chosen.into_iter().map(|(question, texts)| (question.to_owned(), value(texts))).collect();
    Ok(AnswerRequest { answers, notes, partial: given.partial, ..AnswerRequest::default() })
}

fn add_words<'a>(chosen: &mut Chosen<'a>, questions: &'a [Question], given: Given<'_>) -> anyhow::Result<()> {
    let may_be_key = |index: usize, word: &str| index == 0 && given.may_begin_with_key && which::may_be_key(word);
    match (questions, given.words) {
        (_, []) => {}
        ([only], words) => {
            // A label of several words that was not put in quotes.
            if words.len() > 1 && options::named(only, &words.join(" ")).is_some() {
                return Err(one_answer_only(only, given));
            }
            for (index, word) in words.iter().enumerate() {
                add(chosen, given.kind, only, word, may_be_key(index, word))?;
            }
        }
        (several, words) if several.len() == words.len() => {
            for (index, (question, word)) in several.iter().zip(words).enumerate() {
                add(chosen, given.kind, question, word, may_be_key(index, word))?;
            }
        }
        (several, words) => {
            return Err(hinted(
                format!("{} questions, and {}", several.len(), counted(words.len(), "answer", "answers")),
                "Give one answer for each question in their order, or use -a QUESTION=ANSWER.",
            ));
        }
    }
    Ok(())
}

/// Adds the options that a word means. A question without options takes the word as it is.
fn add<'a>(
    chosen: &mut Chosen<'a>,
    kind: Kind,
    question: &'a Question,
    word: &str,
    may_be_key: bool,
) -> anyhow::Result<()> {
    let texts = match question.options.as_slice() {
        [] => vec![word],
        _ => options::find_all(question, word).map_err(|miss| miss.explain(kind, question, may_be_key))?,
    };
    if let Some(label) = texts.iter().find(|label| kind.is_approval(label) && !options::is_exact(question, word, label))
    {
        return Err(hinted(
            format!("`{}` is not enough to choose `{}`, which approves", one_line(word), one_line(label)),
            format!("Write the whole label, or the number: {}.", options::listed(question)),
        ));
    }
    let entry = chosen.entry(&question.question).or_default();
    for text in texts {
        // The same option twice counts once. The same free text twice is kept, and refused later as two answers.
        if question.options.is_empty() || !entry.iter().any(|other| other == text) {
            entry.push(text.to_owned());
        }
    }
    Ok(())
}

/// Adds words of one's own.
fn add_text<'a>(chosen: &mut Chosen<'a>, kind: Kind, questions: &'a [Question], text: &str) -> anyhow::Result<()> {
    let (question, words) = match questions {
        [only] => (only, text),
        several => split(several, text, "With several questions, write --text QUESTION=WORDS.")?,
    };
    if !question.free_text {
        return Err(hinted(
            format!("`{}` takes nothing but its options", one_line(&question.question)),
            format!("The options are {}.", options::listed(question)),
        ));
    }
    // The daemon cannot tell these words from the choice of the option.
    if let Some(effect) = kind.own_words()
        && question.options.iter().any(|option| option.label == words && kind.is_approval(words))
    {
        return Err(hinted(
            format!("words of your own {effect}, and `{}` is an option that approves", one_line(words)),
            "To choose the option, give it without --text.",
        ));
    }
    chosen.entry(&question.question).or_default().push(words.to_owned());
    Ok(())
}

fn one_answer_only(question: &Question, given: Given<'_>) -> anyhow::Error {
    let phrase = given.words.join(" ");
    let is_unquoted =
        given.words.len() > 1 && (question.options.is_empty() || options::named(question, &phrase).is_some());
    let hint = if is_unquoted {
        format!("Put an answer of several words in quotes: answerback answer {}", quoted(&one_line(&phrase)))
    } else if question.options.is_empty() {
        "Give it once, on its own or with --text.".to_owned()
    } else {
        format!("Give one of its options: {}.", options::listed(question))
    };
    hinted(format!("`{}` takes one answer, and there is more than one", one_line(&question.question)), hint)
}

/// `QUESTION=REST`, where the question is a text (which may have `=` in it), a header or a number.
pub(super) fn split<'a, 'b>(
    questions: &'a [Question],
    pair: &'b str,
    form: &str,
) -> anyhow::Result<(&'a Question, &'b str)> {
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
        hinted(
            format!("`{}` names no question", one_line(pair)),
            format!("{form} The questions are {}.", names.join(", ")),
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn questions() -> Vec<Question> {
        serde_json::from_value(json!([
            {"question": "a=b or c?", "header": "Form", "options": [{"label": "Yes"}, {"label": "No"}]},
            {"question": "Which parts?", "header": "Parts", "multiSelect": true,
             "options": [{"label": "Tests"}, {"label": "Docs"}]},
        ]))
        .unwrap()
    }

    fn owned(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn answers(answers: &[&str], texts: &[&str]) -> anyhow::Result<Value> {
        let (answers, texts) = (owned(answers), owned(texts));
        let given = Given { answers: &answers, texts: &texts, ..Given::default() };
        Ok(serde_json::to_value(draft(&questions(), given)?.answers).unwrap())
    }

    #[test]
    fn answers_by_order_text_header_and_number() {
        let expected = json!({"a=b or c?": "Yes", "Which parts?": ["Tests", "else"]});
        for (given, texts) in [
            (["a=b or c?=yes", "Which parts?=tests"], ["Which parts?=else"]),
            (["form=YES", "PARTS=Tests"], ["parts=else"]),
            (["1=1", "2=t"], ["2=else"]),
        ] {
            assert_eq!(answers(&given, &texts).unwrap(), expected);
        }
        let (words, notes) = (owned(&["no", "docs"]), owned(&["Parts=later"]));
        let draft = draft(&questions(), Given { words: &words, notes: &notes, ..Given::default() }).unwrap();
        assert_eq!(serde_json::to_value(draft.answers).unwrap(), json!({"a=b or c?": "No", "Which parts?": "Docs"}));
        assert_eq!(draft.notes["Which parts?"], "later");
    }

    #[test]
    fn a_note_to_the_only_question_needs_no_name() {
        let only = &questions()[..1];
        for (note, expected) in [("later", "later"), ("x=y", "x=y"), ("1=later", "later"), ("form=later", "later")] {
            let (words, notes) = (owned(&["no"]), owned(&[note]));
            let draft = draft(only, Given { words: &words, notes: &notes, ..Given::default() }).unwrap();
            assert_eq!(draft.notes["a=b or c?"], expected);
        }
        let (words, notes) = (owned(&["no", "docs"]), owned(&["later"]));
        assert!(draft(&questions(), Given { words: &words, notes: &notes, ..Given::default() }).is_err());
    }

    #[test]
    fn an_approval_is_never_guessed() {
        let permission: Vec<Question> = serde_json::from_value(json!([{"question": "Allow Bash?", "options": [
            {"label": "Allow once"}, {"label": "Always allow Bash(ls)"}, {"label": "Deny"}]}]))
        .unwrap();
        let said = |words: &[&str], texts: &[&str]| {
            let (words, texts) = (owned(words), owned(texts));
            let given = Given { kind: Kind::Permission, words: &words, texts: &texts, ..Given::default() };
            draft(&permission, given).map(|draft| draft.answers["Allow Bash?"].clone()).map_err(|e| format!("{e:?}"))
        };
        for (word, label) in [
            ("Allow once", "Allow once"),
            ("1", "Allow once"),
            ("2", "Always allow Bash(ls)"),
            ("3", "Deny"),
            ("d", "Deny"),
        ] {
            assert_eq!(said(&[word], &[]).unwrap(), label, "{word}");
        }
        for word in ["allow once", "Allow", "allow o", "Alw", "Allow onec", "always", "y", "yes", " Allow once"] {
            let error = said(&[word], &[]).unwrap_err();
            assert!(!error.contains("Did you mean"), "{word}: {error}");
        }
        assert!(said(&["Allow", "once"], &[]).is_err());
        assert_eq!(said(&[], &["not today"]).unwrap(), "not today");
        assert!(said(&[], &["Allow once"]).unwrap_err().contains("approves"));
        assert_eq!(said(&[], &["Deny"]).unwrap(), "Deny");
    }

    #[test]
    fn what_names_no_question_or_no_option_is_refused() {
        for pair in ["Else?=x", "3=x", "0=x", "no equals sign", "", "1=x", "2=Tests, x"] {
            assert!(answers(&[pair], &[]).is_err(), "{pair}");
        }
        assert!(answers(&["1=Yes", "1=No"], &[]).is_err());
        assert!(answers(&["1=Yes"], &["1=else"]).is_err());
        assert!(answers(&[], &["else"]).is_err());
        assert_eq!(answers(&["1=Yes", "1=yes"], &[]).unwrap(), json!({"a=b or c?": "Yes"}));
        assert!(draft(&questions(), Given { words: &owned(&["one"]), ..Given::default() }).is_err());
    }
}
