//! The owner thread: jobs in, one transaction for all that are waiting, changes published in the order of their commit.

use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::{Change, StoreError};

/// The most jobs that share one commit: bounds how long the first of them waits for the last.
const MAX_BATCH: usize = 256;

/// Called on the owner thread for each committed change, before anybody is told that it is committed.
pub type Sink = Box<dyn Fn(&Arc<Change>) + Send>;

/// What a job sees: the open transaction, and where it puts the changes it made.
pub(super) struct Context<'a> {
    pub(super) connection: &'a Connection,
    pub(super) changes: &'a mut Vec<Arc<Change>>,
}

type Finish = Box<dyn FnOnce(Result<(), &StoreError>) + Send>;

struct Job {
    writes: bool,
    run: Box<dyn FnOnce(&mut Context<'_>) -> Finish + Send>,
}

/// The way to the owner thread.
#[derive(Clone)]
pub(super) struct Owner {
    jobs: mpsc::Sender<Message>,
}

enum Message {
    Job(Job),
    Close(oneshot::Sender<()>),
}

impl Owner {
    pub(super) fn start(connection: Connection, sink: Sink) -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::channel();
        thread::Builder::new().name("store".into()).spawn(move || serve(connection, &queue, &sink))?;
        Ok(Self { jobs })
    }

    /// Runs `work` in a transaction. It returns once that is on disk, or with the reason why it is not.
    pub(super) async fn call<T: Send + 'static>(
        &self,
        writes: bool,
        work: impl FnOnce(&mut Context<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, replied) = oneshot::channel();
        let run = move |context: &mut Context<'_>| -> Finish {
            let result = in_savepoint(context, work);
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

/// Without this thread the daemon could only refuse. Hooks start another daemon, and that is better.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            std::process::abort();
        }
    }
}

fn serve(connection: Connection, queue: &mpsc::Receiver<Message>, sink: &Sink) {
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
        commit(&connection, batch, sink);
    }
    if let Err((_, error)) = connection.close() {
        tracing::warn!(%error, "the store was not closed cleanly");
    }
    if let Some(reply) = closing {
        let _ = reply.send(());
    }
}

fn commit(connection: &Connection, batch: Vec<Job>, sink: &Sink) {
    if batch.is_empty() {
        return;
    }
    let begin = if batch.iter().any(|job| job.writes) { "BEGIN IMMEDIATE" } else { "BEGIN" };
    let begun = connection.execute_batch(begin);
    let mut changes = Vec::new();
    // The jobs run even when there is no transaction: they fail, and each caller learns the reason.
    let mut context = Context { connection, changes: &mut changes };
    let finishes: Vec<Finish> = batch.into_iter().map(|job| (job.run)(&mut context)).collect();
    // SQLite itself rolls back when the disk is full: then nothing of the batch is saved.
    let committed = match begun {
        Ok(()) if connection.is_autocommit() => Err(StoreError::NoTransaction),
        begun => begun.and_then(|()| connection.execute_batch("COMMIT")).map_err(StoreError::from),
    };
    if let Err(error) = &committed {
        tracing::error!(%error, "the store could not commit");
        if !connection.is_autocommit() {
            drop(connection.execute_batch("ROLLBACK"));
        }
    } else {
        changes.iter().for_each(sink);
    }
    for finish in finishes {
        finish(committed.as_ref().map(|_| ()));
    }
}

/// One job's failure undoes that job and leaves the others of its batch alone.
fn in_savepoint<T>(
    context: &mut Context<'_>,
    work: impl FnOnce(&mut Context<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    if context.connection.is_autocommit() {
        return Err(StoreError::NoTransaction);
    }
    let before = context.changes.len();
    context.connection.execute_batch("SAVEPOINT job")?;
    let result = work(context);
    if result.is_err() {
        context.changes.truncate(before);
        // Where this fails there is no transaction any more, and nothing left to undo.
        drop(context.connection.execute_batch("ROLLBACK TO job; RELEASE job"));
        return result;
    }
    context.connection.execute_batch("RELEASE job")?;
    result
}
