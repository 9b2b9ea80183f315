//! The sender of a fleet: one process at a time reads what happened, records it, and serves every destination.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use futures_util::future::select_all;
use parking_lot::Mutex;
use rp_base::{Backoff, Id, SharedClock, SharedRandom, chain};
use rp_config::Notify;
use rp_database::{SharedStore, StoreError};
use rp_metrics::{Registry, Rounds};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::feeds::{Queue, Recorder, WAKES};
use crate::health::HealthWatch;
use crate::lease::Hold;
use crate::metrics::{DestinationLabels, NotifyMetrics};
use crate::options::Destination;
use crate::outbox::Outbox;
use crate::post::{Post, PostParts};

/// Between two looks at the feeds when nothing wakes the sender, and at a store that another process sends from.
const POLL: Duration = Duration::from_secs(2);
/// Tries after the store did not answer.
const LEAST: Duration = Duration::from_millis(200);
const MOST: Duration = Duration::from_secs(30);
/// How long a stop waits for the lease to be given back.
const RELEASE: Duration = Duration::from_secs(3);

/// What notifications are sent with.
#[derive(Debug, Clone)]
pub struct NotifierParts {
    pub store: SharedStore,
    pub clock: SharedClock,
    pub random: SharedRandom,
    pub registry: Registry,
    pub settings: Notify,
    /// Those of the settings; at least one.
    pub destinations: Vec<Arc<Destination>>,
    /// The address of the portal.
    pub portal: Url,
}

/// Sends until it is stopped or dropped.
#[derive(Debug)]
pub struct Notifier {
    stop: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Notifier {
    /// Begins, in a task of its own. Needs a tokio runtime.
    pub fn start(parts: NotifierParts) -> Self {
        let stop = CancellationToken::new();
        let sender = Sender::new(parts);
        let task = tokio::spawn(sender.run(stop.clone()));
        Self { stop, task: Mutex::new(Some(task)) }
    }

    /// Stops: attempts that run are cut, and made again by the next sender.
    pub async fn stop(&self) {
        self.stop.cancel();
        let task = self.task.lock().take();
        if let Some(task) = task {
            // A panic was logged already.
            let _ = task.await;
        }
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

struct Sender {
    parts: NotifierParts,
    metrics: NotifyMetrics,
    rounds: Rounds,
    /// Names this process's hold.
    owner: String,
}

impl Sender {
    fn new(parts: NotifierParts) -> Self {
        Self {
            metrics: NotifyMetrics::register(&parts.registry),
            rounds: Rounds::new(&parts.registry, "notifications"),
            owner: Id::random(&*parts.random).as_str().to_owned(),
            parts,
        }
    }

    async fn run(self, stop: CancellationToken) {
        let mut backoff = Backoff::new(LEAST, MOST);
        while !stop.is_cancelled() {
            let wait = match self.turn(&stop, &mut backoff).await {
                Ok(()) => POLL,
                Err(error) => {
                    if !matches!(
                        error,
                        StoreError::Stale { .. } | StoreError::Exists { .. } | StoreError::Closed
                    ) {
                        tracing::warn!(error = %chain(&error), "the store does not answer the sender of notifications");
                    }
                    backoff.step(&*self.parts.random)
                }
            };
            self.not_sending();
            self.rounds.ended(self.parts.clock.now());
            let _ = stop.run_until_cancelled(sleep(wait)).await;
        }
    }

    /// Sends as long as this process is the sender; returns at once when another is.
    async fn turn(&self, stop: &CancellationToken, backoff: &mut Backoff) -> Result<(), StoreError> {
        let Some(mut hold) = Hold::claim(&self.parts.store, &self.owner).await? else { return Ok(()) };
        backoff.reset();
        self.metrics.sender.set(1.0);
        let ended = self.lead(&mut hold, stop).await;
        if ended.is_ok() {
            // Otherwise its time runs out.
            let _ = timeout(RELEASE, hold.release()).await;
        }
        ended
    }

    /// Reads and serves until `stop`, or until the store or another process ends it.
    async fn lead(&self, hold: &mut Hold, stop: &CancellationToken) -> Result<(), StoreError> {
        let parts = &self.parts;
        let outbox = Outbox::new(&parts.store, parts.settings.keep);
        let queues = self.queues(&outbox).await?;
        let ending = stop.child_token();
        // Dropped at every end of this function: then nothing is served any more.
        let _guard = ending.clone().drop_guard();
        let mut posts = JoinSet::new();
        for queue in &queues {
            let served = PostParts {
                outbox: outbox.clone(),
                settings: parts.settings.clone(),
                portal: parts.portal.clone(),
                clock: Arc::clone(&parts.clock),
                random: Arc::clone(&parts.random),
                metrics: self.metrics.clone(),
            };
            let post = Post::new(Arc::clone(&queue.destination), Arc::clone(&queue.waiting), served);
            posts.spawn(post.run(ending.clone()));
        }
        let recorder = Recorder {
            outbox,
            queues,
            most: parts.settings.waiting,
            age: parts.settings.give_up_after,
            metrics: self.metrics.clone(),
        };
        let (silent, certificate) = (parts.settings.silent_after, parts.settings.certificate_before);
        let mut health = HealthWatch::start(&parts.store, silent, certificate).await?;
        let mut wakes: Vec<watch::Receiver<u64>> = WAKES.map(|of| parts.store.subscribe(of)).into();
        loop {
            wakes.iter_mut().for_each(watch::Receiver::mark_unchanged);
            recorder.read_all(hold).await?;
            health.round(&recorder, parts.clock.now()).await?;
            hold.renew().await?;
            self.rounds.ended(parts.clock.now());
            let changed = select_all(wakes.iter_mut().map(|wake| Box::pin(wake.changed())));
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                _ = timeout(POLL, changed) => {}
                Some(ended) = posts.join_next() => match ended {
                    Ok(Ok(())) => return Ok(()),
                    Ok(Err(error)) => return Err(error),
                    Err(panic) => {
                        tracing::error!(error = %chain(&panic), "sending notifications failed");
                        return Ok(());
                    }
                },
            }
        }
    }

    /// Every destination with how many wait for it.
    async fn queues(&self, outbox: &Outbox) -> Result<Vec<Queue>, StoreError> {
        let mut queues = Vec::with_capacity(self.parts.destinations.len());
        for destination in &self.parts.destinations {
            let first = outbox.waiting(destination.name).await?;
            let most = self.parts.settings.waiting;
            let waiting = outbox.count_waiting(destination.name, &first, most).await?;
            let waiting = Arc::new(AtomicUsize::new(waiting));
            queues.push(Queue { destination: Arc::clone(destination), waiting });
        }
        Ok(queues)
    }

    fn not_sending(&self) {
        self.metrics.sender.set(0.0);
        for destination in &self.parts.destinations {
            let labels = DestinationLabels { destination: destination.name };
            self.metrics.waiting.with(&labels).set(0.0);
            self.metrics.oldest.with(&labels).set(0.0);
        }
    }
}
