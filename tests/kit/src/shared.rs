//! What several tests of one program use at once.

use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;

/// For the next test to come. Tests of one module follow each other.
const LINGER: Duration = Duration::from_secs(20);

/// Something that the first test starts, that others use meanwhile, and that ends soon after the last: what stays until
/// the end of the program takes the processor from all later tests.
#[derive(Debug)]
pub struct Shared<T: Send + Sync + 'static> {
    current: tokio::sync::Mutex<Option<Arc<T>>>,
    /// How often it was asked for.
    uses: AtomicU64,
}

/// One test's use of it.
#[derive(Debug)]
pub struct InUse<T: Send + Sync + 'static> {
    part: Arc<T>,
    of: &'static Shared<T>,
}

impl<T: Send + Sync> Shared<T> {
    /// Nothing yet: for a `static`.
    #[must_use]
    pub const fn new() -> Self {
        Self { current: tokio::sync::Mutex::const_new(None), uses: AtomicU64::new(0) }
    }

    /// The one that runs, else a new one.
    ///
    /// # Errors
    /// It does not start. The next test tries again.
    pub async fn get<F>(&'static self, start: impl FnOnce() -> F) -> Result<InUse<T>>
    where
        F: Future<Output = Result<T>>,
    {
        self.uses.fetch_add(1, Ordering::SeqCst);
        let mut current = self.current.lock().await;
        let part = match &*current {
            Some(part) => Arc::clone(part),
            None => Arc::clone(current.insert(Arc::new(start().await?))),
        };
        Ok(InUse { part, of: self })
    }

    /// Ends it unless a test uses it or one has come since.
    fn end_if_unused(&self, uses: u64) {
        let mut current = self.current.blocking_lock();
        let unused = current.as_ref().is_some_and(|part| Arc::strong_count(part) == 1);
        if unused && self.uses.load(Ordering::SeqCst) == uses {
            current.take();
        }
    }
}

impl<T: Send + Sync> Default for Shared<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send + Sync> Deref for InUse<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.part
    }
}

impl<T: Send + Sync> Drop for InUse<T> {
    fn drop(&mut self) {
        let (of, uses) = (self.of, self.of.uses.load(Ordering::SeqCst));
        // A thread: the runtime of this test ends with it.
        std::thread::spawn(move || {
            std::thread::sleep(LINGER);
            of.end_if_unused(uses);
        });
    }
}
