//! The reader thread answers lists, searches and replays with a connection of its own, so that no question waits for them.
//!
//! In WAL mode a reader sees one moment of the file while the owner goes on writing. A job starts after it was sent, so it sees everything
//! that was committed before that.
//!
//! The owner decides whether the reader may have the file open ([`ReaderControl`]). To learn what is in the file after a commit that
//! failed, the owner must be the only one with a connection: only then does SQLite read its log anew.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use tokio::sync::oneshot;

use crate::store::StoreError;

use super::commit::AbortOnPanic;
use super::files::FileId;
use super::schema;

/// After so many of its steps, a statement looks whether it is to stop: a small part of a millisecond.
const STEPS: i32 = 1000;

/// How a job ended.
enum Ran {
    /// Its caller has the reply.
    Done {
        /// The job could not read something in the files, or it made no sense.
        met_damage: bool,
    },
    /// The owner needed the file. The job is to be run again.
    Interrupted,
}

/// Runs with the connection, or with the reason why there is none.
type Run = Box<dyn FnMut(Result<&Connection, StoreError>) -> Ran + Send>;

enum Message {
    Job(Run),
    Close(oneshot::Sender<()>),
}

/// The way to the reader thread.
#[derive(Clone)]
pub(super) struct Reader {
    jobs: mpsc::Sender<Message>,
}

impl Reader {
    /// Starts the thread. It opens the file at its first job. It calls `met_damage` after a job that could not read something.
    pub(super) fn start(control: ReaderControl, met_damage: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::channel();
        let serve = move || {
            let _abort = AbortOnPanic;
            let closing = serve(&queue, &control, &met_damage);
            // What is sent from now on is refused, and the owner closes its connection after this one.
            control.refuse(StoreError::Closed);
            drop(queue);
            if let Some(reply) = closing {
                let _ = reply.send(());
            }
        };
        thread::Builder::new().name("store reader".into()).spawn(serve)?;
        Ok(Self { jobs })
    }

    /// Runs `work` in one read transaction. It runs again if the owner interrupts it. Each caller has one job in the queue, and the job of
    /// a caller that is gone is passed over, so the queue is never longer than there are callers.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl Fn(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, replied) = oneshot::channel();
        let mut reply = Some(reply);
        let run = move |connection: Result<&Connection, StoreError>| {
            if reply.as_ref().is_none_or(oneshot::Sender::is_closed) {
                return Ran::Done { met_damage: false };
            }
            let result = match connection.map(|connection| in_transaction(connection, &work)) {
                Ok(Err(error)) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
                    return Ran::Interrupted;
                }
                Ok(result) => result.map_err(StoreError::from),
                Err(refusal) => Err(refusal),
            };
            let met_damage = matches!(result, Err(StoreError::Damaged(_) | StoreError::Unreachable(_)));
            if let Some(reply) = reply.take() {
                drop(reply.send(result));
            }
            Ran::Done { met_damage }
        };
        self.jobs.send(Message::Job(Box::new(run))).map_err(|_| StoreError::Closed)?;
        replied.await.map_err(|_| StoreError::Closed)?
    }

    /// Lets the jobs before this finish, then closes the connection.
    pub(super) async fn close(&self) {
        let (reply, replied) = oneshot::channel();
        if self.jobs.send(Message::Close(reply)).is_ok() {
            drop(replied.await);
        }
    }
}

fn serve(
    queue: &mpsc::Receiver<Message>,
    control: &ReaderControl,
    met_damage: &impl Fn(),
) -> Option<oneshot::Sender<()>> {
    for message in queue {
        match message {
            Message::Job(mut run) => {
                let ran = loop {
                    match control.with_connection(&mut run) {
                        Ran::Interrupted => {}
                        Ran::Done { met_damage } => break met_damage,
                    }
                };
                if ran {
                    met_damage();
                }
            }
            Message::Close(reply) => return Some(reply),
        }
    }
    None
}

/// Everything that `work` reads is of one moment. There is nothing to commit, and after a damaged page that would even fail.
fn in_transaction<T>(
    connection: &Connection,
    work: impl Fn(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let transaction = connection.unchecked_transaction()?;
    let result = work(&transaction)?;
    transaction.rollback()?;
    Ok(result)
}

/// Whether the reader may have the file open, and how to make it let go.
#[derive(Clone)]
pub(super) struct ReaderControl(Arc<Shared>);

struct Shared {
    path: PathBuf,
    state: Mutex<State>,
    changed: Condvar,
    /// The job that is running is to stop. `sqlite3_interrupt` would not do: between two statements it has no effect.
    stop: Arc<AtomicBool>,
}

struct State {
    /// The file that the owner has open. The reader must not read another one with the same name.
    file: FileId,
    /// Kept open from one job to the next.
    connection: Option<Connection>,
    /// A job is running, or the file is being opened for one.
    is_busy: bool,
    /// The owner needs the file for itself.
    is_held: bool,
    /// Why the reader is never to open the file again.
    refusal: Option<StoreError>,
}

impl ReaderControl {
    pub(super) fn new(path: &Path, file: FileId) -> Self {
        let state = State { file, connection: None, is_busy: false, is_held: false, refusal: None };
        let path = path.to_path_buf();
        Self(Arc::new(Shared { path, state: Mutex::new(state), changed: Condvar::new(), stop: Arc::default() }))
    }

    /// Makes the reader close its connection, and keeps it from opening another one until the result is dropped.
    pub(super) fn hold(&self) -> Held<'_> {
        let mut state = self.state();
        state.is_held = true;
        self.0.stop.store(true, Ordering::Relaxed);
        state = self.0.changed.wait_while(state, |state| state.is_busy).unwrap_or_else(PoisonError::into_inner);
        state.connection = None;
        Held(self)
    }

    /// Makes the reader refuse everything from now on. It does not wait for a job that is running: that one is interrupted, and refused.
    pub(super) fn refuse(&self, refusal: StoreError) {
        let mut state = self.state();
        state.refusal.get_or_insert(refusal);
        self.0.stop.store(true, Ordering::Relaxed);
        state.connection = None;
        self.0.changed.notify_all();
    }

    fn with_connection(&self, run: &mut Run) -> Ran {
        match self.begin() {
            Ok(connection) => {
                let ran = run(Ok(&connection));
                self.end(Some(connection));
                ran
            }
            Err(refusal) => run(Err(refusal)),
        }
    }

    fn begin(&self) -> Result<Connection, StoreError> {
        let is_held = |state: &mut State| state.is_held && state.refusal.is_none();
        let mut state = self.0.changed.wait_while(self.state(), is_held).unwrap_or_else(PoisonError::into_inner);
        if let Some(refusal) = &state.refusal {
            return Err(refusal.clone());
        }
        state.is_busy = true;
        let (kept, file) = (state.connection.take(), state.file);
        drop(state);
        let opened = kept.map_or_else(|| self.open(file), Ok);
        if opened.is_err() {
            self.end(None);
        }
        opened
    }

    /// Opens the file to read it, and nothing else.
    fn open(&self, file: FileId) -> Result<Connection, StoreError> {
        let path = &self.0.path;
        let mut connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        // If the owner has given up the file, closing this connection must not write to it.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        schema::configure_any(&connection)?;
        let stop = Arc::clone(&self.0.stop);
        connection.progress_handler(STEPS, Some(move || stop.load(Ordering::Relaxed)))?;
        match FileId::of(path) {
            Ok(opened) if opened == file => Ok(connection),
            Ok(_) => Err(StoreError::Unreachable(format!("{} was replaced", path.display()))),
            Err(error) => Err(StoreError::Unreachable(format!("{}: {error}", path.display()))),
        }
    }

    fn end(&self, connection: Option<Connection>) {
        let mut state = self.state();
        state.is_busy = false;
        // A connection that is left in a transaction would keep the log from being emptied.
        let is_wanted = !state.is_held && state.refusal.is_none();
        state.connection = connection.filter(|connection| is_wanted && connection.is_autocommit());
        self.0.changed.notify_all();
    }

    /// The reader ends the daemon if it panics, so no state is ever left half done.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// While this lives, the reader has no connection.
pub(super) struct Held<'a>(&'a ReaderControl);

impl Held<'_> {
    /// The owner has opened the file again. This is what the reader is to open.
    pub(super) fn set_file(&self, file: FileId) {
        self.0.state().file = file;
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.is_held = false;
        // After a refusal, nothing is to run any more.
        self.0.0.stop.store(state.refusal.is_some(), Ordering::Relaxed);
        self.0.0.changed.notify_all();
    }
}
