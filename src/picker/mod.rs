//! Choosing an answer in a terminal, as in Claude Code's own dialog.
//!
//! The state knows what every key means and nothing of terminals, the view turns a state and a size into lines, the screen
//! is the only one that touches the terminal. So nearly everything can be tested without one.

mod draft;
mod editor;
mod entry;
mod keys;
mod state;
mod terminal;
mod view;
mod watch;

use std::io;

use indexmap::IndexMap;
use serde_json::Value;

use crate::ask::{Kind, Question, QuestionFault};
pub use draft::Draft;
use state::{State, Step};
use terminal::{Event, Screen};

/// The asker, for the head line.
#[derive(Debug, Clone, Default)]
pub struct Title {
    /// The name of its project.
    pub project: String,
    /// The beginning of its session's id.
    pub session: String,
    /// How long it has been waiting.
    pub age: String,
}

/// What the questions are about.
#[derive(Debug, Clone, Default)]
pub struct Matter {
    pub kind: Kind,
    /// For each question, everything that a person must see before they answer it. Nothing is hidden in it. A question that has none here
    /// is shown by its own text.
    pub headings: Vec<String>,
}

/// How a picker was left.
#[derive(Debug, Clone, PartialEq)]
pub enum Picked {
    /// The person answered every question.
    Answer {
        /// Question text to a label or own words; for a multi-select, to an array of them.
        answers: IndexMap<String, Value>,
        /// Question text to a note; only those that were written.
        notes: IndexMap<String, String>,
    },
    /// The person will not answer.
    Dismiss {
        /// Why, if they said.
        reason: Option<String>,
    },
    /// The person wants to answer where it was asked.
    Release,
    /// The person left. The question stays open.
    Quit,
    /// It was settled elsewhere meanwhile; how, in the words of `settled`.
    Gone(String),
}

/// Lets a person answer the questions of one ask. Needs a terminal on stdin and stdout ([`io::ErrorKind::Unsupported`]
/// without), and leaves it as it found it, also on a panic or a signal, which then does what it does otherwise.
///
/// `settled` is asked again and again whether there is nothing left to answer, and says what happened. It runs on a thread
/// of its own, so it may take its time: best is a call that returns when something has happened. When the picker is left
/// first, the thread ends by itself and its message is ignored.
///
/// `send` gets an answer before the picker is left, and says what is wrong with it. Then the person can correct it.
///
/// `keep` gets what has been entered and not sent, after each change. So nothing is lost, however the picker ends. `draft` is what it got
/// last.
pub fn pick(
    title: &Title,
    matter: &Matter,
    questions: &[Question],
    draft: &Draft,
    settled: impl FnMut() -> Option<String> + Send + 'static,
    mut send: impl FnMut(&Picked) -> Vec<QuestionFault>,
    mut keep: impl FnMut(&Draft),
) -> io::Result<Picked> {
    let mut screen = Screen::open()?;
    let watch = watch::start(settled, screen.waker()?)?;
    let mut state = State::new(title, questions).about(matter).with_draft(draft);
    let mut kept = state.draft();
    loop {
        let size = screen.size()?;
        let frame = view::render(&state, size);
        state.shown(frame.extent);
        state.saw(frame.seen);
        screen.draw(&frame, size)?;
        match screen.wait()? {
            Event::Keys(keys) => {
                // What was typed behind the last key was not meant for what is on the screen after a refusal, so it is dropped.
                let done = keys.iter().find_map(|key| match state.handle(key) {
                    Step::Done(picked) => Some(picked),
                    Step::Stay => None,
                });
                let entered = state.draft();
                if entered != kept {
                    keep(&entered);
                    kept = entered;
                }
                if let Some(picked) = done {
                    match send(&picked) {
                        faults if faults.is_empty() => return Ok(picked),
                        faults => state.refuse(&faults),
                    }
                }
            }
            Event::Woken => {
                if let Some(message) = watch.message() {
                    return Ok(Picked::Gone(message));
                }
            }
        }
    }
}
