//! A proxy before the engine that does what networks do: it cuts, it hangs, it is slow.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use tempfile::TempDir;

/// Listens in a directory of its own, as an engine would.
pub(super) struct Proxy {
    dir: TempDir,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    is_frozen: Mutex<bool>,
    thawed: Condvar,
    is_closed: AtomicBool,
    /// The reply to the next request with this text is dropped, and the connection with it.
    lose_reply_to: Mutex<Option<&'static str>>,
    lost: AtomicUsize,
    live: Mutex<Vec<UnixStream>>,
}

impl Proxy {
    pub(super) fn before(engine: &Path) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(dir.path().join(".s.PGSQL.5432")).unwrap();
        let (shared, target) = (Arc::new(Shared::default()), engine.join(".s.PGSQL.5432"));
        let control = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming() {
                let Ok(client) = client else { return };
                if control.is_closed.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(server) = UnixStream::connect(&target) else { continue };
                control.join(client, server);
            }
        });
        Self { dir, shared }
    }

    pub(super) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Nothing gets through any more, and nobody is told.
    pub(super) fn freeze(&self, is_frozen: bool) {
        *self.shared.is_frozen.lock().unwrap() = is_frozen;
        self.shared.thawed.notify_all();
    }

    /// Cuts all connections. Closed, it takes no new ones.
    pub(super) fn cut(&self, is_closed: bool) {
        self.shared.is_closed.store(is_closed, Ordering::SeqCst);
        for stream in self.shared.live.lock().unwrap().drain(..) {
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    /// The engine gets the next request with this text and does it, but its reply is lost, and the connection with it.
    pub(super) fn lose_reply_to(&self, text: &'static str) {
        *self.shared.lose_reply_to.lock().unwrap() = Some(text);
    }

    /// How many replies were lost.
    pub(super) fn lost(&self) -> usize {
        self.shared.lost.load(Ordering::SeqCst)
    }
}

impl Shared {
    fn join(self: &Arc<Self>, client: UnixStream, server: UnixStream) {
        let loses_reply = Arc::new(AtomicBool::new(false));
        let pairs = [(client.try_clone(), server.try_clone(), true), (server.try_clone(), client.try_clone(), false)];
        self.live.lock().unwrap().extend([client, server]);
        for (from, to, is_request) in pairs {
            let (shared, loses_reply) = (Arc::clone(self), Arc::clone(&loses_reply));
            let (Ok(from), Ok(to)) = (from, to) else { return };
            thread::spawn(move || {
                shared.copy(&from, &to, is_request, &loses_reply);
                drop(from.shutdown(Shutdown::Both));
                drop(to.shutdown(Shutdown::Both));
            });
        }
    }

    fn copy(&self, mut from: &UnixStream, mut to: &UnixStream, is_request: bool, loses_reply: &AtomicBool) {
        let mut buffer = vec![0; 1 << 20];
        loop {
            let Ok(length @ 1..) = from.read(&mut buffer) else { return };
            drop(self.thawed.wait_while(self.is_frozen.lock().unwrap(), |is_frozen| *is_frozen).unwrap());
            if is_request {
                let mut wanted = self.lose_reply_to.lock().unwrap();
                let text = String::from_utf8_lossy(&buffer[..length]);
                if wanted.is_some_and(|wanted| text.contains(wanted)) {
                    *wanted = None;
                    loses_reply.store(true, Ordering::SeqCst);
                }
            } else if loses_reply.load(Ordering::SeqCst) {
                self.lost.fetch_add(1, Ordering::SeqCst);
                return;
            }
            if to.write_all(&buffer[..length]).is_err() {
                return;
            }
        }
    }
}
