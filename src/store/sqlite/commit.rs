//! The owner thread takes jobs, runs all that are waiting in one transaction, and publishes their changes in the order of the commit.
//!
//! A commit that fails because of the disk may be in the file all the same: nobody knows whether it got to the disk. Then the thread
//! opens the file again, which makes SQLite bring everything to the disk in another way. If that works, the file tells whether the
//! commit is there. If it does not, callers are told that it is not known, and the store ends. The next daemon reads what is there.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use rusqlite::Connection;
use tokio::sync::{oneshot, watch};

use crate::ask::Change;
use crate::store::{Sink, StoreError};

use super::error::{is_damage, may_have_committed};
use super::files::{Before, Files};
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

/// Runs with the transaction, or with the reason why there is none.
type Run = Box<dyn FnOnce(Result<&mut Context<'_>, StoreError>) -> Finish + Send>;

struct Job {
    writes: bool,
    run: Run,
}

/// The way to the owner thread.
#[derive(Clone)]
pub(super) struct Owner {
    jobs: mpsc::Sender<Message>,
    failed: watch::Receiver<bool>,
}

enum Message {
    Job(Job),
    Close(oneshot::Sender<()>),
}

impl Owner {
    pub(super) fn start(connection: Connection, path: PathBuf, sink: Sink) -> Result<Self, StoreError> {
        let file_error = |error| StoreError::File(path.clone(), Arc::new(error));
        let files = Files::of(&connection, &path).map_err(file_error)?;
        let (jobs, queue) = mpsc::channel();
        let (failing, failed) = watch::channel(false);
        let mut thread =
            StoreThread { connection: Some(connection), files, path: path.clone(), sink, failing, failure: None };
        let serve = move || thread.serve(&queue);
        thread::Builder::new().name("store".into()).spawn(serve).map_err(file_error)?;
        Ok(Self { jobs, failed })
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
        let (reply, replied) = oneshot::channel();
        let run = move |context: Result<&mut Context<'_>, StoreError>| -> Finish {
            let result = context.and_then(|context| in_savepoint(context, work));
            Box::new(move |committed: Result<(), &StoreError>| {
                // The caller may have gone meanwhile; what is committed is committed all the same.
                drop(reply.send(result.and_then(|value| committed.map(|()| value).map_err(Clone::clone))));
            })
        };
        let job = Job { writes, run: Box::new(run) };
        self.jobs.send(Message::Job(job)).map_err(|_| StoreError::Closed)?;
        replied.await.map_err(|_| StoreError::Closed)?
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
struct AbortOnPanic;

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
            let Ok(first) = queue.recv() else { return };
            let mut batch = Vec::new();
            for message in std::iter::once(first).chain(queue.try_iter().take(MAX_BATCH - 1)) {
                match message {
                    Message::Job(job) => batch.push(job),
                    Message::Close(reply) => closing = Some(reply),
                }
            }
            self.commit(batch);
        }
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
        if let Err(error) = connection.execute_batch(if writes { "BEGIN IMMEDIATE" } else { "BEGIN" }) {
            tracing::error!(%error, "the store could not begin a transaction");
            refuse(batch, &error.into());
            return;
        }
        let (mut changes, mut met_damage) = (Vec::new(), false);
        let mut context = Context { connection, changes: &mut changes, met_damage: &mut met_damage };
        let finishes: Vec<Finish> = batch.into_iter().map(|job| (job.run)(Ok(&mut context))).collect();
        // SQLite itself rolls back when the disk is full: then nothing of the batch is saved.
        let committed = if connection.is_autocommit() {
            Err(StoreError::Undone)
        } else if let Some(before) = &before {
            self.commit_to_files(&changes, before)
        } else {
            connection.execute_batch("COMMIT").map_err(StoreError::from)
        };
        match &committed {
            Ok(()) => changes.iter().for_each(&self.sink),
            Err(error) => {
                tracing::error!(%error, "the store could not commit");
                if let Some(connection) = self.connection.as_ref().filter(|connection| !connection.is_autocommit()) {
                    drop(connection.execute_batch("ROLLBACK"));
                }
            }
        }
        for finish in finishes {
            finish(committed.as_ref().map(|_| ()));
        }
        // A page that cannot be read may be one that somebody has cut off.
        if met_damage
            && let Some(connection) = &self.connection
            && let Err(changed) = self.files.check_whole(connection)
        {
            let failure = self.fail(changed.into());
            tracing::error!(%failure, "the files of the store were changed");
        }
        // Only now, so that every caller gets its reply before the daemon ends.
        if self.failure.is_some() {
            self.failing.send_replace(true);
        }
    }

    /// Commits, and makes sure that the next daemon will find it.
    fn commit_to_files(&mut self, changes: &[Arc<Change>], before: &Before) -> Result<(), StoreError> {
        let Some(connection) = &self.connection else { return Err(StoreError::Closed) };
        match connection.execute_batch("COMMIT") {
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
        // Closing checkpoints the log: SQLite writes what it considers committed to the main file, unless that fails too.
        drop(self.connection.take().map(Connection::close));
        let reopened = schema::reopen(&self.path).and_then(|connection| {
            let newest = events::newest(&connection)?;
            let files = Files::of(&connection, &self.path)
                .map_err(|error| StoreError::File(self.path.clone(), Arc::new(error)))?;
            Ok((connection, newest, files))
        });
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
        (job.run)(Err(error.clone()))(Ok(()));
    }
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
    context.connection.execute_batch("SAVEPOINT job")?;
    let result = work(context);
    *context.met_damage |= matches!(result, Err(StoreError::Damaged(_) | StoreError::Unreachable(_)));
    if result.is_err() {
        context.changes.truncate(before);
        // If this fails, there is no transaction any more, and nothing left to undo.
        drop(context.connection.execute_batch("ROLLBACK TO job; RELEASE job"));
        return result;
    }
    context.connection.execute_batch("RELEASE job")?;
    result
}
