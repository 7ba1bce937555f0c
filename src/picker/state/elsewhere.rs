//! What keys do where they do not go to the list: in a text field, on a page, at a question of our own.

use super::{Confirm, Field, Mode, State, Step};
use crate::picker::Picked;
use crate::picker::editor::Typed;
use crate::picker::keys::Key;

impl State<'_> {
    /// Letters are text here, whatever they mean elsewhere.
    pub(super) fn type_in(&mut self, field: Field, key: &Key) -> Step {
        let Mode::Typing(_, editor) = &mut self.mode else { return Step::Stay };
        match (editor.handle(key, self.extent.field), key) {
            (Typed::Full, _) => self.message = Some("16 KiB is the limit: the rest was left out.".to_owned()),
            (Typed::Passed, Key::Enter | Key::Esc | Key::Tab | Key::BackTab | Key::Up | Key::Down) => {
                let text = editor.text().to_owned();
                return match field {
                    Field::Other => self.leave_other(&text, key),
                    Field::Note => self.leave_note(&text, key),
                    Field::Reason => self.leave_reason(&text, key),
                };
            }
            _ => {}
        }
        Step::Stay
    }

    fn leave_other(&mut self, text: &str, key: &Key) -> Step {
        let (question, entry) = (&self.questions[self.place], &mut self.entries[self.place]);
        let is_alone = question.options.is_empty() && !question.multi_select;
        entry.keep_other(question, text);
        match key {
            Key::Enter if entry.other().is_empty() && !question.multi_select && !question.optional => {
                self.message = Some("Nothing is written yet.".to_owned());
            }
            Key::Enter => {
                entry.choose_other(question);
                self.mode = Mode::Choosing;
                if question.multi_select {
                    self.set_row(self.rows().len() - 1);
                } else {
                    return self.advance();
                }
            }
            Key::Tab | Key::BackTab if self.questions.len() > 1 || question.multi_select => {
                entry.choose_other(question);
                if *key == Key::Tab { self.forward() } else { self.back() }
            }
            Key::Up | Key::Down if !is_alone => {
                self.mode = Mode::Choosing;
                self.move_by(if *key == Key::Up { -1 } else { 1 }, true);
            }
            Key::Esc => self.mode = Mode::Choosing,
            _ => {}
        }
        Step::Stay
    }

    fn leave_note(&mut self, text: &str, key: &Key) -> Step {
        if matches!(key, Key::Enter | Key::Esc) {
            text.trim().clone_into(&mut self.entries[self.place].note);
            self.mode = Mode::Choosing;
        }
        Step::Stay
    }

    fn leave_reason(&mut self, text: &str, key: &Key) -> Step {
        match key {
            Key::Enter => {
                let reason = Some(text.trim().to_owned()).filter(|reason| !reason.is_empty());
                return Step::Done(Picked::Dismiss { reason });
            }
            Key::Esc => {
                text.trim().clone_into(&mut self.reason);
                self.mode = Mode::Choosing;
            }
            _ => {}
        }
        Step::Stay
    }

    pub(super) fn read(&mut self, key: &Key) -> Step {
        let page = self.page();
        let Mode::Reading(_, top) = &mut self.mode else { return Step::Stay };
        match key {
            Key::Up | Key::Char('k') => *top = top.saturating_sub(1),
            Key::Down | Key::Char('j') => *top = top.saturating_add(1),
            Key::PageUp | Key::Char('b') => *top = top.saturating_sub(page),
            Key::PageDown | Key::Char(' ') => *top = top.saturating_add(page),
            Key::Home => *top = 0,
            // The view knows where the end is.
            Key::End => *top = usize::MAX,
            Key::Esc | Key::Enter | Key::Char('q' | 'v' | '?') => self.mode = Mode::Choosing,
            _ => {}
        }
        Step::Stay
    }

    pub(super) fn confirm(&mut self, confirm: Confirm, key: &Key) -> Step {
        self.mode = Mode::Choosing;
        match (confirm, key) {
            (Confirm::Release, Key::Enter | Key::Char('r' | 'y')) => Step::Done(Picked::Release),
            (Confirm::Leave, Key::Esc | Key::Enter | Key::Char('q' | 'y')) => Step::Done(Picked::Quit),
            _ => Step::Stay,
        }
    }
}
