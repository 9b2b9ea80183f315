//! A store that fails as told: before a write, after it, or with a conflict; it notes what was written in what order.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use rp_database::{Expect, SharedStore, StoreError};
use rp_documents::Collection;
use serde_json::Value;
use tests_kit::{Delivery, Interposed, Method, StoreCall, StoreInterceptor, told_to_fail};
use tokio::sync::watch;

/// How one write fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing is written.
    Away,
    /// It is written, but nobody is told.
    AnswerLost,
    /// Somebody else was faster, who changed nothing that matters.
    Conflict,
}

/// Numbers that a seed repeats (PCG's multiplier).
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2).wrapping_add(1))
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % limit
    }
}

/// The store with its faults.
pub(crate) type Faulty = Interposed<Faults>;

#[derive(Debug)]
pub(crate) struct Faults {
    /// The next writes to these collections fail so, in their order.
    plan: Mutex<VecDeque<(Collection, Fault)>>,
    /// One write in so many fails somehow.
    chance: Mutex<Option<(Dice, usize)>>,
    /// While true, every call fails.
    pub(crate) away: watch::Sender<bool>,
    /// Reads of the clusters' feed.
    pub(crate) reads: AtomicUsize,
    pub(crate) written: Mutex<Vec<(&'static str, Collection)>>,
    /// Documents that were read one by one.
    pub(crate) got: Mutex<Vec<Collection>>,
    /// Before the next read of a cluster somebody else adds a member to it.
    pub(crate) meddle: AtomicBool,
}

pub(crate) fn faulty(inner: SharedStore) -> Arc<Faulty> {
    let faults = Faults {
        plan: Mutex::default(),
        chance: Mutex::default(),
        away: watch::Sender::new(false),
        reads: AtomicUsize::new(0),
        written: Mutex::default(),
        got: Mutex::default(),
        meddle: AtomicBool::new(false),
    };
    Interposed::new(inner, faults)
}

impl Faults {
    pub(crate) fn fail(&self, collection: Collection, fault: Fault) {
        self.plan.lock().push_back((collection, fault));
    }

    pub(crate) fn fail_often(&self, seed: u64, one_in: usize) {
        *self.chance.lock() = Some((Dice::new(seed), one_in));
    }

    pub(crate) fn fail_no_more(&self) {
        *self.chance.lock() = None;
    }

    pub(crate) fn planned(&self) -> usize {
        self.plan.lock().len()
    }

    fn fault(&self, collection: Collection) -> Option<Fault> {
        if let Some((dice, one_in)) = &mut *self.chance.lock()
            && dice.below(*one_in) == 0
        {
            return Some([Fault::Away, Fault::AnswerLost, Fault::Conflict][dice.below(3)]);
        }
        let mut plan = self.plan.lock();
        let at = plan.iter().position(|(of, _)| *of == collection)?;
        plan.remove(at).map(|(_, fault)| fault)
    }
}

#[async_trait]
impl StoreInterceptor for Faults {
    async fn before(&self, store: &SharedStore, call: StoreCall<'_>) -> Result<Delivery, StoreError> {
        if *self.away.borrow() {
            return Err(told_to_fail());
        }
        if let (Method::Get, Some(collection), Some(id)) = (call.method, call.collection, call.id) {
            self.got.lock().push(collection);
            if collection == Collection::OpenShiftClusters && self.meddle.swap(false, Ordering::Relaxed) {
                rewrite(store, collection, id, |body| body["addedMeanwhile"] = Value::from(1)).await?;
            }
        }
        let Some(collection) = call.collection.filter(|_| call.method.writes()) else {
            return Ok(Delivery::Delivered);
        };
        match (self.fault(collection), call.id) {
            (Some(Fault::Away), _) => return Err(told_to_fail()),
            (Some(Fault::AnswerLost), _) => return Ok(Delivery::Lost),
            (Some(Fault::Conflict), Some(id)) => rewrite(store, collection, id, |_| {}).await?,
            _ => {}
        }
        Ok(Delivery::Delivered)
    }

    async fn after(&self, call: StoreCall<'_>) -> Result<(), StoreError> {
        let Some(collection) = call.collection else { return Ok(()) };
        let what = match call.method {
            Method::Create => "create",
            Method::Replace => "replace",
            Method::Delete => "delete",
            Method::Changes if collection == Collection::OpenShiftClusters => {
                self.reads.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            }
            _ => return Ok(()),
        };
        self.written.lock().push((what, collection));
        Ok(())
    }
}

/// Written again: the version is another.
async fn rewrite(
    store: &SharedStore,
    collection: Collection,
    id: &str,
    change: impl Fn(&mut Value) + Send,
) -> Result<(), StoreError> {
    let Some(found) = store.get(collection, id).await? else { return Ok(()) };
    let mut body: Value = serde_json::from_str(&found.body).unwrap_or_default();
    change(&mut body);
    let expect = Expect::Version(found.version);
    match store.replace(collection, found.with_body(body.to_string()), expect).await {
        // Somebody else was faster still.
        Ok(_) | Err(StoreError::Stale { .. } | StoreError::Gone { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}
