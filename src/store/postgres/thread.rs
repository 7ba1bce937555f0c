//! The thread of the store, with a runtime of its own. So a busy daemon does not keep the engine waiting, or the reverse, and every runtime
//! can use the store.

use std::future::Future;
use std::sync::Mutex;
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::store::StoreError;

/// The thread ends when this is dropped.
#[derive(Debug)]
pub(super) struct StoreThread {
    runtime: Handle,
    stop: Mutex<Option<oneshot::Sender<()>>>,
}

impl StoreThread {
    pub(super) fn start() -> Result<Self, StoreError> {
        let failed =
            |error: std::io::Error| StoreError::Failed(format!("the store's thread cannot be started: {error}"));
        let runtime = Builder::new_current_thread().enable_io().enable_time().build().map_err(failed)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || drop(runtime.block_on(stopped)))
            .map_err(failed)?;
        Ok(Self { runtime: handle, stop: Mutex::new(Some(stop)) })
    }

    /// Runs something on the thread. It goes on if the caller is gone.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        task: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.runtime.spawn(task).await.unwrap_or(Err(StoreError::Closed))
    }

    /// Starts something that runs for as long as the thread does.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(task);
    }

    pub(super) fn stop(&self) {
        let mut stop = self.stop.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        drop(stop.take());
    }
}
