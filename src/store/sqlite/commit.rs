//! The owner thread takes jobs, runs all that are waiting in one transaction, and publishes their changes in the order of the commit.
//!
//! A commit that fails because of the disk may be in the file all the same: nobody knows whether it got to the disk. Then the thread
//! opens the file again, which makes SQLite bring everything to the disk in another way. If that works, the file tells whether the
//! commit is there. If it does not, callers are told that it is not known, and the store ends. The next daemon reads what is there.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use rusqlite::Connection;
use tokio::sync::{oneshot, watch};

use crate::ask::{Change, ChangeKind};
use crate::store::{Sink, StoreError, Update};

use super::error::{is_damage, may_have_committed};
use super::files::{Before, Files};
use super::indexing::Indexing;
use super::reader::{Reader, ReaderControl};
use super::{events, schema};

/// The most jobs that share one commit: bounds how long the first of them waits for the last.
const MAX_BATCH: usize = 256;

/// What a job sees: the open transaction, and where it puts the changes it made.
pub(super) struct Context<'a> {
    pub(super) connection: &'a Connection,
    pub(super) changes: &'a mut Vec<Arc<Change>>,
    /// Set when a job could not read something in the files, or it made no sense.
    met_damage: &'a mut bool,
}

type Finish = Box<dyn FnOnce(Result<(), &StoreError>) + Send>;

/// What a job has done.
struct Done {
    /// It failed, and everything that it did was undone.
    has_failed: bool,
    finish: Finish,
}

/// Runs with the transaction, or with the reason why there is none.
type Run = Box<dyn FnOnce(Result<&mut Context<'_>, StoreError>) -> Done + Send>;

pub(super) struct Job {
    writes: bool,
    run: Run,
}

impl Job {
    /// A job, and where its result comes out.
    fn new<T: Send + 'static>(
        writes: bool,
        work: impl FnOnce(&mut Context<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> (Self, oneshot::Receiver<Result<T, StoreError>>) {
        let (reply, replied) = oneshot::channel();
        let run = move |context: Result<&mut Context<'_>, StoreError>| {
            let result = context.and_then(|context| in_savepoint(context, work));
            let has_failed = result.is_err();
            let finish = move |committed: Result<(), &StoreError>| {
                // The caller may have gone meanwhile; what is committed is committed all the same.
                drop(reply.send(result.and_then(|value| committed.map(|()| value).map_err(Clone::clone))));
            };
            Done { has_failed, finish: Box::new(finish) }
        };
        (Self { writes, run: Box::new(run) }, replied)
    }
}

/// The way to the owner thread.
#[derive(Clone)]
pub(super) struct Owner {
    jobs: mpsc::Sender<Message>,
    failed: watch::Receiver<bool>,
}

pub(super) enum Message {
    Job(Job),
    /// The reader could not read something in the files, or it made no sense.
    ReaderMetDamage,
    /// A search could not use the index.
    IndexIsDamaged,
    Close(oneshot::Sender<()>),
}

impl Owner {
    /// Starts this thread and the reader.
    pub(super) fn start(connection: Connection, path: PathBuf, sink: Sink) -> Result<(Self, Reader), StoreError> {
        let file_error = |error| StoreError::File(path.clone(), Arc::new(error));
        let files = Files::of(&connection, &path).map_err(file_error)?;
        let (jobs, queue) = mpsc::channel();
        let (failing, failed) = watch::channel(false);
        let control = ReaderControl::new(&path, files.main());
        let mut thread = StoreThread {
            connection: Some(connection),
            files,
            path: path.clone(),
            reader: control.clone(),
            indexing: Indexing::new(),
            sink,
            failing,
            failure: None,
        };
        let serve = move || thread.serve(&queue);
        thread::Builder::new().name("store".into()).spawn(serve).map_err(file_error)?;
        // The reader ends before the owner, because it has a way to the owner's queue.
        let to_owner = jobs.clone();
        let tell = move || drop(to_owner.send(Message::ReaderMetDamage));
        let reader = Reader::start(control, tell).map_err(file_error)?;
        Ok((Self { jobs, failed }, reader))
    }

    /// Returns when the file cannot be trusted any more. The store does not recover from that.
    pub(super) async fn failed(&self) {
        let mut failed = self.failed.clone();
        if failed.wait_for(|failed| *failed).await.is_err() {
            // It was closed, which is no failure.
            std::future::pending::<()>().await;
        }
    }

    /// Runs `work` in a transaction, and returns when that is on disk. An error says why it is not.
    pub(super) async fn call<T: Send + 'static>(
        &self,
        writes: bool,
        work: impl FnOnce(&mut Context<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (job, replied) = Job::new(writes, work);
        self.jobs.send(Message::Job(job)).map_err(|_| StoreError::Closed)?;
        replied.await.map_err(|_| StoreError::Closed)?
    }

    /// Has the search index built anew, when there is time for it.
    pub(super) fn index_is_damaged(&self) {
        // It fails if the store is closed, which is fine.
        drop(self.jobs.send(Message::IndexIsDamaged));
    }

    /// Lets the jobs before this one finish, then closes the file.
    pub(super) async fn close(&self) {
        let (reply, replied) = oneshot::channel();
        if self.jobs.send(Message::Close(reply)).is_ok() {
            drop(replied.await);
        }
    }
}

/// Ends the daemon if the thread panics. Without the thread it could only refuse; hooks start another daemon, which is better.
pub(super) struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            std::process::abort();
        }
    }
}

/// What the owner thread works with.
struct StoreThread {
    /// `None` after the store has failed for good.
    connection: Option<Connection>,
    files: Files,
    path: PathBuf,
    reader: ReaderControl,
    indexing: Indexing,
    sink: Sink,
    failing: watch::Sender<bool>,
    /// Why the store has failed for good.
    failure: Option<StoreError>,
}

impl StoreThread {
    fn serve(&mut self, queue: &mpsc::Receiver<Message>) {
        let _abort = AbortOnPanic;
        let mut closing = None;
        while closing.is_none() {
            let first = match self.indexing.patience() {
                None => queue.recv().map_err(RecvTimeoutError::from),
                Some(patience) => queue.recv_timeout(patience),
            };
            let first = match first {
                Ok(first) => first,
                Err(RecvTimeoutError::Timeout) => {
                    self.index();
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let (mut batch, mut reader_met_damage) = (Vec::new(), false);
            for message in std::iter::once(first).chain(queue.try_iter().take(MAX_BATCH - 1)) {
                match message {
                    Message::Job(job) => batch.push(job),
                    Message::ReaderMetDamage => reader_met_damage = true,
                    Message::IndexIsDamaged => self.indexing.was_found_damaged(),
                    Message::Close(reply) => closing = Some(reply),
                }
            }
            self.commit(batch);
            if reader_met_damage {
                self.check_whole();
            }
        }
        // The last connection that is closed writes the log to the main file and removes it. That must be this one.
        self.reader.refuse(StoreError::Closed);
        drop(self.reader.hold());
        if let Some(Err((_, error))) = self.connection.take().map(Connection::close) {
            tracing::warn!(%error, "the store was not closed cleanly");
        }
        if let Some(reply) = closing {
            let _ = reply.send(());
        }
    }

    fn commit(&mut self, batch: Vec<Job>) {
        if batch.is_empty() {
            return;
        }
        let writes = batch.iter().any(|job| job.writes);
        let Some(connection) = &self.connection else {
            let failure = self.failure.clone().unwrap_or(StoreError::Closed);
            refuse(batch, &failure);
            return;
        };
        // Before the jobs run: a large one writes to the log before its commit.
        let before = match writes.then(|| self.files.before_commit(connection)).transpose() {
            Ok(before) => before,
            Err(changed) => {
                let failure = self.fail(changed.into());
                tracing::error!(%failure, "the files of the store were changed");
                refuse(batch, &failure);
                self.failing.send_replace(true);
                return;
            }
        };
        if let Err(error) = run(connection, if writes { "BEGIN IMMEDIATE" } else { "BEGIN" }) {
            tracing::error!(%error, "the store could not begin a transaction");
            refuse(batch, &error.into());
            return;
        }
        let (mut changes, mut met_damage) = (Vec::new(), false);
        let mut context = Context { connection, changes: &mut changes, met_damage: &mut met_damage };
        let done: Vec<Done> = batch.into_iter().map(|job| (job.run)(Ok(&mut context))).collect();
        // SQLite itself rolls back when the disk is full. Then nothing of the batch is saved. If SQLite has met a damaged page, it refuses to
        // commit the transaction, even if the job that met the page was undone. A failed commit would end the daemon, so it is not tried.
        let has_failed = done.iter().all(|done| done.has_failed);
        let committed = if connection.is_autocommit() {
            Err(StoreError::Undone)
        } else if !writes || has_failed || met_damage {
            let is_lost = writes && !has_failed;
            run(connection, "ROLLBACK").map_err(StoreError::from).and(if is_lost {
                Err(StoreError::Undone)
            } else {
                Ok(())
            })
        } else if let Some(before) = &before {
            self.commit_to_files(&changes, before)
        } else {
            Err(StoreError::Closed)
        };
        match &committed {
            Ok(()) => {
                changes.iter().for_each(|change| (self.sink)(Update::Change(change)));
                if writes {
                    self.indexing.written(changes.iter().filter(|change| change.kind == ChangeKind::Settled).count());
                }
            }
            Err(error) => {
                tracing::error!(%error, "the store could not commit");
                if let Some(connection) = self.connection.as_ref().filter(|connection| !connection.is_autocommit()) {
                    drop(connection.execute_batch("ROLLBACK"));
                }
            }
        }
        for done in done {
            (done.finish)(committed.as_ref().map(|_| ()));
        }
        if met_damage {
            self.check_whole();
        }
        // Only now, so that every caller gets its reply before the daemon ends.
        if self.failure.is_some() {
            self.failing.send_replace(true);
        }
    }

    /// Does the next step for the search index, if there is one. It is alone in its transaction, so a damaged index can undo nothing else.
    fn index(&mut self) {
        let Some(connection) = &self.connection else { return self.indexing.give_up() };
        if let Some(step) = self.indexing.next(connection) {
            let (job, mut replied) = Job::new(true, move |context| Ok(step.run(context.connection)?));
            self.commit(vec![job]);
            self.indexing.done(step, replied.try_recv().unwrap_or(Err(StoreError::Closed)));
        }
    }

    /// Looks at the files after something in them could not be read. A page that cannot be read may be one that somebody has cut off.
    fn check_whole(&mut self) {
        if let Some(connection) = &self.connection
            && let Err(changed) = self.files.check_whole(connection)
        {
            let failure = self.fail(changed.into());
            tracing::error!(%failure, "the files of the store were changed");
            self.failing.send_replace(true);
        }
    }

    /// Commits, and makes sure that the next daemon will find it.
    fn commit_to_files(&mut self, changes: &[Arc<Change>], before: &Before) -> Result<(), StoreError> {
        let Some(connection) = &self.connection else { return Err(StoreError::Closed) };
        match run(connection, "COMMIT") {
            Ok(()) => match self.files.after_commit(before) {
                Ok(()) => Ok(()),
                Err(changed) => Err(self.fail(changed.into())),
            },
            // Closing a file whose log was cut would write what is left of the log over the rest.
            Err(error) if before.log_was_truncated || is_damage(&error) => {
                tracing::error!(%error, "a commit failed");
                Err(self.fail(StoreError::Unknown(error.to_string())))
            }
            Err(error) if may_have_committed(&error) => self.reopen_and_compare(changes, error),
            Err(error) => Err(error.into()),
        }
    }

    /// Finds out whether a commit that failed is in the file all the same. Every commit of asks makes events, and their cursors only grow.
    fn reopen_and_compare(&mut self, changes: &[Arc<Change>], error: rusqlite::Error) -> Result<(), StoreError> {
        tracing::error!(%error, "a commit failed: the file is opened again to see what is in it");
        // Only the last connection reads the log anew. The reader comes back when this is decided.
        let reader = self.reader.clone();
        let held = reader.hold();
        // Closing checkpoints the log: SQLite writes what it considers committed to the main file, unless that fails too.
        drop(self.connection.take().map(Connection::close));
        let reopened = schema::reopen(&self.path).and_then(|connection| {
            let newest = events::newest(&connection)?;
            let files = Files::of(&connection, &self.path)
                .map_err(|error| StoreError::File(self.path.clone(), Arc::new(error)))?;
            Ok((connection, newest, files))
        });
        if let Ok((_, _, files)) = &reopened {
            held.set_file(files.main());
        }
        match (reopened, changes.last()) {
            (Ok((connection, newest, files)), Some(last)) => {
                self.connection = Some(connection);
                self.files = files;
                if newest >= last.cursor { Ok(()) } else { Err(error.into()) }
            }
            // Nothing tells whether it is there, but the file is sound.
            (Ok((connection, _, files)), None) => {
                self.connection = Some(connection);
                self.files = files;
                Err(StoreError::Unknown(error.to_string()))
            }
            (Err(_), _) => Err(self.fail(StoreError::Unknown(error.to_string()))),
        }
    }

    /// Ends the store for good. It leaves the files as they are.
    fn fail(&mut self, error: StoreError) -> StoreError {
        self.failure = Some(error.clone());
        self.reader.refuse(error.clone());
        // Without a connection nothing is written any more, not even by closing it.
        if let Some(connection) = self.connection.take() {
            std::mem::forget(connection);
        }
        error
    }
}

/// Tells every caller of a batch why its job was not done.
fn refuse(batch: Vec<Job>, error: &StoreError) {
    for job in batch {
        ((job.run)(Err(error.clone())).finish)(Ok(()));
    }
}

/// Runs a statement that begins or ends something. It comes with every commit, so it is prepared only once.
fn run(connection: &Connection, statement: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(statement)?.execute([]).map(drop)
}

/// One job's failure undoes that job and leaves the others of its batch alone.
fn in_savepoint<T>(
    context: &mut Context<'_>,
    work: impl FnOnce(&mut Context<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    if context.connection.is_autocommit() {
        return Err(StoreError::Undone);
    }
    let before = context.changes.len();
    run(context.connection, "SAVEPOINT job")?;
    let result = work(context);
    *context.met_damage |= matches!(result, Err(StoreError::Damaged(_) | StoreError::Unreachable(_)));
    if result.is_err() {
        context.changes.truncate(before);
        // If this fails, there is no transaction any more, and nothing left to undo.
        drop(context.connection.execute_batch("ROLLBACK TO job; RELEASE job"));
        return result;
    }
    run(context.connection, "RELEASE job")?;
    result
}
