//! What is asked: one to a few questions, each with options to choose from.

use serde::{Deserialize, Serialize};

use super::MAX_TEXT;

const MAX_QUESTIONS: usize = 16;
const MAX_OPTIONS: usize = 64;

/// One question, in the shape Claude Code uses, everywhere. There is never an option "Other": free text is allowed unless the
/// question says otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// The question; its answer is given under this text. At most 16 KiB in UTF-8.
    #[cfg_attr(test, schema(min_length = 1, max_length = 16384, pattern = r"[^\s\u0085]"))]
    pub question: String,
    /// A word or two for a chip or a tab.
    #[serde(default)]
    pub header: String,
    /// What can be chosen; none means free text.
    #[serde(default)]
    #[cfg_attr(test, schema(max_items = 64))]
    pub options: Vec<QuestionOption>,
    /// Whether more than one option may be chosen.
    #[serde(default)]
    pub multi_select: bool,
    /// Whether an answer may be something else than the options. Where it may not, there must be options. Only false is ever written.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    #[cfg_attr(test, schema(default = true))]
    pub free_text: bool,
    /// Whether the question may be left unanswered. Only true is ever written.
    #[serde(default, skip_serializing_if = "is_no")]
    #[cfg_attr(test, schema(default = false))]
    pub optional: bool,
}

fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}

fn is_no(value: &bool) -> bool {
    !*value
}

/// One option of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct QuestionOption {
    /// The answer, if this is chosen. At most 16 KiB in UTF-8.
    #[cfg_attr(test, schema(min_length = 1, max_length = 16384, pattern = r"[^\s\u0085]"))]
    pub label: String,
    /// What it means.
    #[serde(default)]
    pub description: String,
    /// Something to look at before choosing: code, a sketch, a mock-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
}

/// The questions of one ask: at least one, none twice, none empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Question>", into = "Vec<Question>")]
pub struct Questions(Vec<Question>);

/// Why questions cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuestionsError {
    /// None at all, or too many.
    #[error("an ask has 1 to {MAX_QUESTIONS} questions, and this has {0}")]
    Count(usize),
    /// Too many options.
    #[error("a question has at most {MAX_OPTIONS} options, and this has {0}")]
    Options(usize),
    /// Nothing could be answered.
    #[error("a question that takes no free text needs options, and `{0}` has none")]
    NothingToChoose(String),
    /// A question or a label without text.
    #[error("{0} has no text")]
    Empty(&'static str),
    /// A question or a label over the limit.
    #[error("{0} is over {MAX_TEXT} bytes")]
    TooLong(&'static str),
    /// Two questions with one text: an answer could not tell them apart.
    #[error("two questions have the same text")]
    Duplicate,
}

impl Questions {
    /// Checks and wraps.
    pub fn new(mut questions: Vec<Question>) -> Result<Self, QuestionsError> {
        if questions.is_empty() || questions.len() > MAX_QUESTIONS {
            return Err(QuestionsError::Count(questions.len()));
        }
        for (index, question) in questions.iter().enumerate() {
            check_text("a question", &question.question)?;
            if question.options.len() > MAX_OPTIONS {
                return Err(QuestionsError::Options(question.options.len()));
            }
            if !question.free_text && question.options.is_empty() {
                return Err(QuestionsError::NothingToChoose(question.question.clone()));
            }
            for option in &question.options {
                check_text("an option", &option.label)?;
            }
            if questions[..index].iter().any(|other| other.question == question.question) {
                return Err(QuestionsError::Duplicate);
            }
        }
        // They may be kept for hours, and whoever read them has made room for more.
        questions.iter_mut().for_each(|question| question.options.shrink_to_fit());
        questions.shrink_to_fit();
        Ok(Self(questions))
    }

    /// All of them, in the order in which they are asked.
    pub fn as_slice(&self) -> &[Question] {
        &self.0
    }

    /// The same, one after the other.
    pub fn iter(&self) -> std::slice::Iter<'_, Question> {
        self.0.iter()
    }

    /// The question with this text.
    pub fn get(&self, text: &str) -> Option<&Question> {
        self.0.iter().find(|question| question.question == text)
    }
}

fn check_text(what: &'static str, text: &str) -> Result<(), QuestionsError> {
    if text.trim().is_empty() {
        return Err(QuestionsError::Empty(what));
    }
    if text.len() > MAX_TEXT {
        return Err(QuestionsError::TooLong(what));
    }
    Ok(())
}

impl TryFrom<Vec<Question>> for Questions {
    type Error = QuestionsError;

    fn try_from(questions: Vec<Question>) -> Result<Self, QuestionsError> {
        Self::new(questions)
    }
}

impl From<Questions> for Vec<Question> {
    fn from(questions: Questions) -> Self {
        questions.0
    }
}

impl<'a> IntoIterator for &'a Questions {
    type Item = &'a Question;
    type IntoIter = std::slice::Iter<'a, Question>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(text: &str) -> Question {
        serde_json::from_value(serde_json::json!({"question": text})).unwrap()
    }

    #[test]
    fn what_cannot_be_asked() {
        let mut blank_label = question("a");
        blank_label.options.push(QuestionOption { label: " ".into(), description: String::new(), preview: None });
        let mut crowded = question("a");
        let label = |n: usize| QuestionOption { label: n.to_string(), description: String::new(), preview: None };
        crowded.options = (0..=MAX_OPTIONS).map(label).collect();
        for (questions, error) in [
            (vec![], QuestionsError::Count(0)),
            ((0..17).map(|n| question(&n.to_string())).collect(), QuestionsError::Count(17)),
            (vec![question("\n ")], QuestionsError::Empty("a question")),
            (vec![question(&"x".repeat(MAX_TEXT + 1))], QuestionsError::TooLong("a question")),
            (vec![question("a"), question("b"), question("a")], QuestionsError::Duplicate),
            (vec![blank_label], QuestionsError::Empty("an option")),
            (vec![crowded], QuestionsError::Options(65)),
            (vec![Question { free_text: false, ..question("a") }], QuestionsError::NothingToChoose("a".into())),
        ] {
            assert_eq!(Questions::new(questions), Err(error));
        }
    }

    #[test]
    fn the_json_shape_is_claude_codes_own() {
        let json = r#"{"question":"Q?","header":"H","options":[{"label":"A","description":"d","preview":"p"}],"multiSelect":true}"#;
        let question: Question = serde_json::from_str(json).unwrap();
        assert!(question.multi_select && question.free_text);
        assert_eq!(serde_json::to_string(&question).unwrap(), json);
        let json = json.replace(r#""multiSelect":true"#, r#""multiSelect":true,"freeText":false"#);
        let question: Question = serde_json::from_str(&json).unwrap();
        assert!(!question.free_text);
        assert_eq!(serde_json::to_string(&question).unwrap(), json);
    }
}
