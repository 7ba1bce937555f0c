//! What the questions are about, and the care that an approval needs: the person has had all of it on the screen, and approves with more
//! than one key.

use super::State;
use crate::ask::{Kind, QuestionFault};
use crate::picker::Matter;

/// The lines of the matter that a frame showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::picker) struct Seen {
    pub(in crate::picker) from: usize,
    pub(in crate::picker) to: usize,
    pub(in crate::picker) total: usize,
}

/// How far a person has read.
#[derive(Debug, Default)]
pub(super) struct Reading {
    total: usize,
    /// Everything before this line was on the screen.
    to: usize,
    is_done: bool,
}

impl<'a> State<'a> {
    /// The same with what it is about. The cursor begins where Enter approves nothing.
    pub(in crate::picker) fn about(mut self, matter: &'a Matter) -> Self {
        self.matter = Some(matter);
        let options = self.questions.first().map_or(0, |question| question.options.len());
        if (0..options).any(|option| self.is_approval(option)) {
            self.rows[0] = (0..options).rev().find(|option| !self.is_approval(*option)).unwrap_or(options);
        }
        self
    }

    /// What stands above the list.
    pub(in crate::picker) fn heading(&self) -> &'a str {
        let heading = self.matter.and_then(|matter| matter.headings.get(self.place));
        match self.question() {
            Some(question) => heading.unwrap_or(&question.question),
            None => "Review your answers",
        }
    }

    /// Whether an option of the question on the screen lets the agent do something.
    pub(super) fn is_approval(&self, option: usize) -> bool {
        let label = self.question().and_then(|question| question.options.get(option));
        label.is_some_and(|option| self.kind().is_approval(&option.label))
    }

    pub(super) fn kind(&self) -> Kind {
        self.matter.map(|matter| matter.kind).unwrap_or_default()
    }

    /// Learns what was on the screen. A screen of another width has other lines, so reading begins again there.
    pub(in crate::picker) fn saw(&mut self, seen: Option<Seen>) {
        let Some(Seen { from, to, total }) = seen else { return };
        let reading = &mut self.reading;
        if reading.total != total {
            *reading = Reading { total, to: 0, is_done: reading.is_done };
        }
        if from <= reading.to {
            reading.to = reading.to.max(to);
        }
        reading.is_done |= reading.to >= total;
    }

    /// Why the answers must not be sent.
    pub(super) fn objection(&self) -> Option<String> {
        let effect = self.kind().own_words()?;
        let mut pairs = self.questions.iter().zip(&self.entries);
        let approves = |label: &str| self.kind().is_approval(label);
        let (question, entry) = pairs.find(|(question, entry)| {
            let is_label = |text: &str| question.options.iter().any(|option| option.label == text && approves(text));
            entry.texts(question).into_iter().any(is_label)
        })?;
        if entry.has_other() && entry.texts(question) == [entry.other()] {
            return Some(format!("Words of your own {effect}. To approve, choose the option."));
        }
        (!self.reading.is_done).then(|| "Read all of it first: press v, and scroll to its end.".to_owned())
    }

    /// Shows what is wrong with an answer, at the question that it is about.
    pub(in crate::picker) fn refuse(&mut self, faults: &[QuestionFault]) {
        let place = |fault: &QuestionFault| self.questions.iter().position(|other| other.question == fault.question);
        let Some((index, fault)) = faults.iter().find_map(|fault| Some((place(fault)?, fault))) else {
            self.message = faults.first().map(|fault| fault.problem.clone());
            return;
        };
        self.go_to(index);
        let name = if self.is_only_question() { "The answer" } else { &self.questions[index].question };
        self.message = Some(format!("{name}: {}.", fault.problem));
    }
}
