//! What is on the screen, and what each key does to it. Knows no terminal and no size.

mod draft;
mod elsewhere;
mod matter;

use super::editor::Editor;
use super::entry::{Entry, Fault};
use super::keys::Key;
use super::{Matter, Picked, Title};
use crate::ask::Question;
use matter::Reading;
pub(super) use matter::Seen;

/// Everything between the first frame and the answer.
#[derive(Debug)]
pub(super) struct State<'a> {
    pub(super) title: &'a Title,
    matter: Option<&'a Matter>,
    reading: Reading,
    pub(super) questions: &'a [Question],
    pub(super) entries: Vec<Entry>,
    /// A question, or one past the last of them: the review.
    pub(super) place: usize,
    /// The row of the cursor, for each place.
    rows: Vec<usize>,
    pub(super) mode: Mode,
    /// Something to tell, until the next key.
    pub(super) message: Option<String>,
    /// A reason that was begun and not sent.
    reason: String,
    /// The first line shown of a preview.
    pub(super) preview_top: usize,
    extent: Extent,
}

/// Who gets the keys.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// The list.
    Choosing,
    /// A text field.
    Typing(Field, Editor),
    /// A page to read, from this line on.
    Reading(Page, usize),
    /// A question of our own.
    Confirming(Confirm),
}

/// The text field that has the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Other,
    Note,
    Reason,
}

/// A text on a page of its own, because it does not fit beside the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Page {
    Keys,
    /// All of the question, and of the option under the cursor.
    Question,
}

/// Decisions that the picker asks about once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Confirm {
    Release,
    Leave,
}

/// One row of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Row {
    Option(usize),
    /// Own words.
    Other,
    /// Past a multi-select, where Enter does not mean that yet.
    Continue,
    /// A question, in the review.
    Question(usize),
    /// The end of the review.
    Submit,
}

/// What a frame turned out to have room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Extent {
    /// The first line shown of what can be scrolled.
    pub(super) top: usize,
    /// So many lines of it are shown.
    pub(super) page: usize,
    /// The columns of the text field.
    pub(super) field: usize,
}

/// What a key led to.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    Stay,
    Done(Picked),
}

impl<'a> State<'a> {
    pub(super) fn new(title: &'a Title, questions: &'a [Question]) -> Self {
        let mut state = Self {
            title,
            matter: None,
            reading: Reading::default(),
            questions,
            entries: vec![Entry::default(); questions.len()],
            place: 0,
            rows: vec![0; questions.len() + 1],
            mode: Mode::Choosing,
            message: None,
            reason: String::new(),
            preview_top: 0,
            extent: Extent::default(),
        };
        state.go_to(0);
        state
    }

    /// The question on the screen, if it is not the review.
    pub(super) fn question(&self) -> Option<&'a Question> {
        self.questions.get(self.place)
    }

    pub(super) fn is_only_question(&self) -> bool {
        self.questions.len() == 1
    }

    /// The rows of the list on the screen.
    pub(super) fn rows(&self) -> Vec<Row> {
        match self.question() {
            Some(question) => {
                let options = (0..question.options.len()).map(Row::Option);
                let other = question.free_text.then_some(Row::Other);
                options.chain(other).chain(question.multi_select.then_some(Row::Continue)).collect()
            }
            None => (0..self.questions.len()).map(Row::Question).chain([Row::Submit]).collect(),
        }
    }

    /// The row of the cursor.
    pub(super) fn row(&self) -> usize {
        self.rows[self.place]
    }

    /// What the person calls a question.
    pub(super) fn name(&self, index: usize) -> String {
        match self.questions.get(index).map(|question| question.header.trim()) {
            Some("") | None => format!("Question {}", index + 1),
            Some(header) => header.to_owned(),
        }
    }

    /// Learns what of it could be shown: a list cannot be scrolled past its end, and a cursor moves by lines that are seen.
    pub(super) fn shown(&mut self, extent: Extent) {
        self.extent = extent;
        match &mut self.mode {
            Mode::Reading(_, top) => *top = extent.top,
            _ => self.preview_top = extent.top,
        }
    }

    pub(super) fn handle(&mut self, key: &Key) -> Step {
        self.message = None;
        if *key == Key::Interrupt {
            return Step::Done(Picked::Quit);
        }
        match self.mode {
            Mode::Choosing => self.choose(key),
            Mode::Typing(field, _) => self.type_in(field, key),
            Mode::Reading(..) => self.read(key),
            Mode::Confirming(confirm) => self.confirm(confirm, key),
        }
    }

    fn choose(&mut self, key: &Key) -> Step {
        match key {
            Key::Up => self.move_by(-1, true),
            Key::Char('k') => self.move_by(-1, false),
            Key::Down => self.move_by(1, true),
            Key::Char('j') => self.move_by(1, false),
            Key::Home => self.set_row(0),
            Key::End => self.set_row(self.rows().len() - 1),
            Key::Char(digit @ '1'..='9') => return self.pick(*digit),
            Key::Char(' ') => self.mark(),
            Key::Enter => return self.take(self.row()),
            Key::Tab | Key::Right => self.forward(),
            Key::BackTab | Key::Left => self.back(),
            Key::PageUp => self.preview_top = self.preview_top.saturating_sub(self.page()),
            Key::PageDown => self.preview_top = self.preview_top.saturating_add(self.page()),
            Key::Paste(_) if self.question().is_some_and(|question| question.free_text) => {
                self.start_other();
                return self.type_in(Field::Other, key);
            }
            Key::Char('n') => {
                if let Some(entry) = self.entries.get(self.place) {
                    self.mode = Mode::Typing(Field::Note, Editor::new(&entry.note));
                }
            }
            Key::Char('v') if self.question().is_some() => self.mode = Mode::Reading(Page::Question, 0),
            Key::Char('d') => self.mode = Mode::Typing(Field::Reason, Editor::new(&self.reason)),
            Key::Char('r') => self.mode = Mode::Confirming(Confirm::Release),
            Key::Char('?') => self.mode = Mode::Reading(Page::Keys, 0),
            Key::Esc | Key::Char('q') => return self.leave(),
            _ => {}
        }
        Step::Stay
    }

    /// One page, less a line to find one's place again.
    fn page(&self) -> usize {
        self.extent.page.saturating_sub(1).max(1)
    }

    fn set_row(&mut self, row: usize) {
        self.rows[self.place] = row;
        self.preview_top = 0;
    }

    /// Round and round. Arrows that come to the own words start typing, as in Claude Code; letters do not, because the next
    /// one would be text.
    fn move_by(&mut self, step: isize, is_arrow: bool) {
        let rows = self.rows();
        let row = self.row().checked_add_signed(step).unwrap_or(rows.len() - 1) % rows.len();
        self.set_row(row);
        if is_arrow && rows[row] == Row::Other {
            self.start_other();
        }
    }

    fn start_other(&mut self) {
        if let (Some(entry), Some(row)) =
            (self.entries.get(self.place), self.rows().iter().position(|row| *row == Row::Other))
        {
            self.mode = Mode::Typing(Field::Other, Editor::new(entry.other()));
            self.set_row(row);
        }
    }

    /// A number is the row it is shown at.
    fn pick(&mut self, digit: char) -> Step {
        let row = digit.to_digit(10).map_or(0, |digit| digit as usize).saturating_sub(1);
        match self.rows().get(row) {
            // No single key approves anything.
            Some(Row::Option(option)) if self.is_approval(*option) => {
                self.set_row(row);
                Step::Stay
            }
            Some(Row::Option(_) | Row::Other | Row::Question(_)) => {
                self.set_row(row);
                self.take(row)
            }
            _ => Step::Stay,
        }
    }

    /// Chooses without going on.
    fn mark(&mut self) {
        let row = self.rows()[self.row()];
        let (Some(question), Some(entry)) = (self.questions.get(self.place), self.entries.get_mut(self.place)) else {
            return;
        };
        match row {
            Row::Option(option) => entry.choose(question, option),
            Row::Other if entry.other().is_empty() => self.start_other(),
            Row::Other if question.multi_select => entry.toggle_other(),
            Row::Other => entry.choose_other(question),
            _ => {}
        }
    }

    /// Enter.
    fn take(&mut self, row: usize) -> Step {
        match self.rows()[row] {
            Row::Option(_) => {
                self.mark();
                if self.question().is_some_and(|question| !question.multi_select) {
                    return self.advance();
                }
            }
            Row::Other => self.start_other(),
            Row::Continue => return self.advance(),
            Row::Question(index) => self.go_to(index),
            Row::Submit => return self.submit(),
        }
        Step::Stay
    }

    /// To the next question without an answer, and when there is none behind this one, to the review.
    fn advance(&mut self) -> Step {
        if self.is_only_question() {
            return self.submit();
        }
        let missing = (self.place + 1..self.questions.len()).find(|index| self.fault(*index).is_some());
        self.go_to(missing.unwrap_or(self.questions.len()));
        Step::Stay
    }

    fn fault(&self, index: usize) -> Option<Fault> {
        self.entries[index].fault(&self.questions[index])
    }

    /// Whether a question has an answer that can be sent.
    pub(super) fn is_answered(&self, index: usize) -> bool {
        self.fault(index).is_none()
    }

    fn submit(&mut self) -> Step {
        let faulty = (0..self.questions.len()).find_map(|index| Some((index, self.fault(index)?)));
        if let Some((index, fault)) = faulty {
            self.go_to(index);
            self.message = Some(match fault {
                Fault::Missing if self.is_only_question() => "Nothing is chosen yet.".to_owned(),
                Fault::Missing => format!("{} has no answer yet.", self.name(index)),
                Fault::TooLong => format!("{}: the answer is over 16 KiB.", self.name(index)),
            });
            return Step::Stay;
        }
        if let Some(objection) = self.objection() {
            self.message = Some(objection);
            return Step::Stay;
        }
        let pairs = || self.questions.iter().zip(&self.entries);
        let answered = pairs().filter(|(question, entry)| !entry.texts(question).is_empty());
        let written = pairs().filter(|(_, entry)| !entry.note.is_empty());
        Step::Done(Picked::Answer {
            answers: answered.map(|(question, entry)| (question.question.clone(), entry.value(question))).collect(),
            notes: written.map(|(question, entry)| (question.question.clone(), entry.note.clone())).collect(),
        })
    }

    fn go_to(&mut self, place: usize) {
        self.place = place;
        self.preview_top = 0;
        self.mode = Mode::Choosing;
        match self.question() {
            // There is nothing to do but to type.
            Some(question) if question.options.is_empty() => self.start_other(),
            Some(_) => {}
            None => self.rows[place] = self.questions.len(),
        }
    }

    fn forward(&mut self) {
        if !self.is_only_question() {
            self.go_to((self.place + 1).min(self.questions.len()));
        } else if let Some(row) = self.rows().iter().position(|row| *row == Row::Continue) {
            self.mode = Mode::Choosing;
            self.set_row(row);
        }
    }

    fn back(&mut self) {
        self.go_to(self.place.saturating_sub(1));
    }

    fn leave(&mut self) -> Step {
        if self.reason.is_empty() && self.entries.iter().all(Entry::is_untouched) {
            return Step::Done(Picked::Quit);
        }
        self.mode = Mode::Confirming(Confirm::Leave);
        Step::Stay
    }
}

#[cfg(test)]
mod tests;
