//! A store that passes everything on until it is told to fail, to hang or to hold something back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use rp_database::{SharedStore, StoreError};
use tests_kit::{Delivery, Interposed, Method, StoreCall, StoreInterceptor, told_to_fail};
use tokio::sync::watch;

/// What a kind of call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Pass,
    Fail,
    /// Never answers while this is the mode.
    Hang,
}

/// The store and its switches.
pub(crate) type Faulty = Interposed<Faults>;

/// The switches.
#[derive(Debug)]
pub(crate) struct Faults {
    pub(crate) changes: watch::Sender<Mode>,
    pub(crate) creates: watch::Sender<Mode>,
    /// Reads are done at once, but their answers come back when this passes.
    pub(crate) reads: watch::Sender<Mode>,
    pub(crate) creating: Mutex<usize>,
    pub(crate) reading: watch::Sender<usize>,
    /// Calls that read or write documents; looks at the feed and the clock are none.
    pub(crate) queries: AtomicUsize,
}

pub(crate) fn faulty(inner: SharedStore) -> Arc<Faulty> {
    let mode = || watch::Sender::new(Mode::Pass);
    let faults = Faults {
        changes: mode(),
        creates: mode(),
        reads: mode(),
        creating: Mutex::new(0),
        reading: watch::Sender::new(0),
        queries: AtomicUsize::new(0),
    };
    Interposed::new(inner, faults)
}

async fn gate(mode: &watch::Sender<Mode>) -> Result<(), StoreError> {
    let mut mode = mode.subscribe();
    let now = mode.wait_for(|mode| *mode != Mode::Hang).await.map(|mode| *mode);
    match now {
        Ok(Mode::Pass) => Ok(()),
        Ok(Mode::Fail | Mode::Hang) | Err(_) => Err(told_to_fail()),
    }
}

#[async_trait]
impl StoreInterceptor for Faults {
    async fn before(&self, _: &SharedStore, call: StoreCall<'_>) -> Result<Delivery, StoreError> {
        if call.method.queries() {
            self.queries.fetch_add(1, Ordering::Relaxed);
        }
        match call.method {
            Method::Create => {
                *self.creating.lock() += 1;
                gate(&self.creates).await?;
            }
            Method::Changes => gate(&self.changes).await?,
            _ => {}
        }
        Ok(Delivery::Delivered)
    }

    async fn after(&self, call: StoreCall<'_>) -> Result<(), StoreError> {
        if call.method != Method::Get {
            return Ok(());
        }
        self.reading.send_modify(|reading| *reading += 1);
        gate(&self.reads).await
    }
}
