//! What was entered in the picker and not sent. Each draft is a file in the state directory, and belongs to one life of one ask.

use std::fs::{self, DirBuilder};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anstream::eprintln;
use answerback_hook::paths::Paths;
use serde::{Deserialize, Serialize};

use crate::api::{AnswerRequest, AskView, State};
use crate::client::Client;
use crate::picker::Draft;
use crate::text::{one_line, sanitise};

use super::ended;

/// A draft that nobody has come back to for this long is removed.
const OLD: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The drafts of one instance.
#[derive(Debug)]
pub(super) struct Drafts {
    dir: PathBuf,
}

/// One file.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    key: String,
    id: i64,
    /// The question in one sentence, for when the ask itself is gone.
    summary: String,
    draft: Draft,
}

impl Drafts {
    pub(super) fn of(paths: &Paths) -> Self {
        Self { dir: paths.state_dir().join("drafts") }
    }

    /// What was entered for an ask before.
    pub(super) fn load(&self, ask: &AskView) -> Draft {
        let record = read(&self.file(ask.id)).filter(|record| record.key == ask.key);
        record.map(|record| record.draft).unwrap_or_default()
    }

    /// Keeps what was entered. This is called at every key, so it does not wait for the disk: a draft is not an answer.
    pub(super) fn keep(&self, ask: &AskView, draft: &Draft) -> io::Result<()> {
        if draft.is_empty() {
            self.forget(ask);
            return Ok(());
        }
        let summary = one_line(&ask.summary());
        let record = Record { key: ask.key.clone(), id: ask.id, summary, draft: draft.clone() };
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        // For its owner alone, and whole at any moment.
        let mut file = tempfile::NamedTempFile::new_in(&self.dir)?;
        file.write_all(&serde_json::to_vec(&record)?)?;
        file.persist(self.file(ask.id))?;
        Ok(())
    }

    /// Removes what was entered: it was sent, or shown.
    pub(super) fn forget(&self, ask: &AskView) {
        self.remove(ask.id);
    }

    fn remove(&self, id: i64) {
        // There may be none.
        let _ = fs::remove_file(self.file(id));
    }

    fn file(&self, id: i64) -> PathBuf {
        self.dir.join(format!("{id}.json"))
    }

    /// Removes the old ones, and what a picker left that was killed while it wrote. Returns the others.
    fn all(&self) -> Vec<Record> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let mut records = Vec::new();
        for entry in entries {
            let age = entry.metadata().and_then(|metadata| metadata.modified()).ok().and_then(|at| at.elapsed().ok());
            if age.is_some_and(|age| age > OLD) {
                let _ = fs::remove_file(entry.path());
            } else {
                records.extend(read(&entry.path()));
            }
        }
        records
    }
}

fn read(file: &Path) -> Option<Record> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

/// Shows and removes the drafts of asks that were settled while no picker was open.
pub(super) fn tell_overtaken(client: &Client, open: &[AskView]) {
    if !io::stdin().is_terminal() {
        return;
    }
    let drafts = Drafts::of(client.paths());
    for record in drafts.all() {
        if open.iter().any(|ask| ask.id == record.id && ask.key == record.key) {
            continue;
        }
        // Some asks are open and not in the list. If the daemon cannot say how it ended, it is asked the next time.
        let Ok(ask) = client.find_ask(&record.key) else { continue };
        let how = match ask.filter(|ask| ask.id == record.id) {
            Some(ask) if ask.state == State::Open => continue,
            Some(ask) => ended::ended(&ask),
            None => "is over".to_owned(),
        };
        eprintln!("`{}` {how}.", one_line(&record.summary));
        tell(&record.draft);
        drafts.remove(record.id);
    }
}

/// Shows and removes the draft of an ask that was settled in another way than with the picker.
pub(super) fn tell_and_forget(client: &Client, ask: &AskView) {
    let drafts = Drafts::of(client.paths());
    tell(&drafts.load(ask));
    drafts.forget(ask);
}

/// Prints what was entered, so that the person does not lose it.
pub(super) fn tell(draft: &Draft) {
    let mut lines = Vec::new();
    for entry in &draft.entries {
        let words = Some(&entry.words).filter(|words| !words.is_empty());
        let answer: Vec<_> = entry.chosen.iter().chain(words).map(String::as_str).collect();
        lines.push((one_line(&entry.question), answer.join(", ")));
        lines.push((format!("{} (note)", one_line(&entry.question)), entry.note.clone()));
    }
    lines.push(("Reason".to_owned(), draft.reason.clone()));
    print(lines);
}

/// Prints an answer that could not be sent.
pub(super) fn tell_answer(request: &AnswerRequest) {
    let text = |answer: &serde_json::Value| answer.as_str().map_or_else(|| answer.to_string(), ToOwned::to_owned);
    let answers = request.answers.iter().map(|(question, answer)| (one_line(question), text(answer)));
    let notes = request.notes.iter().map(|(question, note)| (format!("{} (note)", one_line(question)), note.clone()));
    print(answers.chain(notes).collect());
}

fn print(mut lines: Vec<(String, String)>) {
    lines.retain(|(_, text)| !text.is_empty());
    if lines.is_empty() {
        return;
    }
    eprintln!("This was not sent:");
    for (name, text) in lines {
        eprintln!("  {name}: {}", sanitise(&text));
    }
}
