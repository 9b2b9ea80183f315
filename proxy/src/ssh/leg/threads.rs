//! Threads for the connections to machines.
//!
//! The library computes key exchanges and signatures in the task of each connection. In a build without optimisation one takes up
//! to a second, so many at once would occupy every thread of the runtime that answers requests. These tasks therefore run
//! on threads of their own: as many are computed at once as there are processors, and the operating system shares those fairly.

use std::sync::OnceLock;

use rp_base::chain;
use tokio::runtime::{Builder, Runtime};
use tokio_util::task::AbortOnDropHandle;

/// A runtime that is started with the first connection.
#[derive(Debug, Default)]
pub(super) struct MachineThreads(OnceLock<Option<Runtime>>);

impl MachineThreads {
    /// Runs work there. What the work spawns stays there too. Dropping the handle ends it.
    pub(super) fn spawn<F>(&self, work: F) -> AbortOnDropHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let task = match self.0.get_or_init(start) {
            Some(runtime) => runtime.spawn(work),
            None => tokio::spawn(work),
        };
        AbortOnDropHandle::new(task)
    }
}

impl Drop for MachineThreads {
    fn drop(&mut self) {
        // A runtime must not wait for its tasks inside another runtime.
        if let Some(Some(runtime)) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// `None`: the system gives no threads; the connections then run in the caller's runtime.
fn start() -> Option<Runtime> {
    match Builder::new_multi_thread().thread_name("ssh-machines").enable_all().build() {
        Ok(runtime) => Some(runtime),
        Err(error) => {
            tracing::warn!(error = %chain(&error), "no threads of their own for SSH connections to machines");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_runs_on_threads_of_its_own() {
        let threads = MachineThreads::default();
        let name = || std::thread::current().name().map(str::to_owned);
        let there = threads.spawn(async move { tokio::spawn(async move { name() }).await.unwrap() });
        assert_eq!(there.await.unwrap().as_deref(), Some("ssh-machines"));
    }

    /// With one thread for requests: it answers while a connection computes.
    #[tokio::test(flavor = "current_thread")]
    async fn a_long_computation_leaves_the_callers_runtime_free() {
        let threads = MachineThreads::default();
        let (told, heard) = std::sync::mpsc::channel();
        // It computes until this runtime, which must not be blocked by it, says that it may end.
        let computing = threads.spawn(async move { heard.recv().is_ok() });
        tokio::task::yield_now().await;
        told.send(()).unwrap();
        assert!(computing.await.unwrap());
    }
}
