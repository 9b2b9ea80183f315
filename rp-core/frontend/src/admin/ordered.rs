//! Long actions: the route makes a manifest, and the actuator of maintenance carries it out
//! (`docs/decisions/0021-short-actions-are-requests.md`). It survives this process and its client.

use std::time::Duration;

use http::HeaderValue;
use http::header::LOCATION;
use rp_api::CloudError;
use rp_database::{Span, Typed, Versioned, update_if};
use rp_documents::ManifestDocument;
use rp_documents::maintenance::{Manifest, ManifestState, Task, Times};
use tokio::time::{Instant, sleep};

use super::context::ActionContext;
use super::failed;
use crate::dependencies::FrontendParts;
use crate::fault::Fault;
use crate::response::HttpResponse;

/// How long an order may wait for its cluster.
const STARTS_WITHIN: Duration = Duration::from_hours(1);
/// Between two looks at the manifest.
const PERIOD: Duration = Duration::from_secs(1);
/// Looks that fail one after the other before the answer gives up; the task goes on.
const MOST_FAILURES: u32 = 60;
/// Manifests of one cluster that are read at once.
const AT_ONCE: u32 = 200;

/// Orders of one task for one cluster. At most one is open at a time.
#[derive(Clone)]
pub(super) struct Orders {
    parts: FrontendParts,
    manifests: Typed<ManifestDocument>,
    cluster: String,
    task: Task,
    /// Begins the refusal of a second order.
    busy: &'static str,
}

impl Orders {
    pub(super) fn new(of: &ActionContext<'_>, task: Task, busy: &'static str) -> Self {
        let manifests = Typed::<ManifestDocument>::new(of.parts.store.clone());
        Self { parts: of.parts.clone(), manifests, cluster: of.path.key(), task, busy }
    }

    /// Stores an order, unless there is one. `change` sets what it has beside its task and its times.
    ///
    /// # Errors
    /// 409: there is one; or the store's.
    pub(super) async fn make(&self, change: impl FnOnce(&mut Manifest)) -> Result<ManifestDocument, Fault> {
        self.refuse_second(None).await?;
        let now = self.parts.store.now().await?;
        let times = Times { run_after: now.seconds() - 1, run_before: (now + STARTS_WITHIN).seconds() };
        let mut manifest = Manifest::ordered(self.task.id(), 0, times, now);
        change(&mut manifest);
        let document =
            ManifestDocument::new(self.parts.random.uuid().to_string(), self.cluster.clone(), manifest);
        let made = self.manifests.create(document).await?.value;
        // Another one may have been made at the same time. Then each is taken back, unless it was begun.
        match self.refuse_second(Some(&made.id)).await {
            Err(error) if self.cancel(&made.id).await? => Err(error),
            _ => Ok(made),
        }
    }

    /// # Errors
    /// 409: an order other than `own` is not over.
    pub(super) async fn refuse_second(&self, own: Option<&str>) -> Result<(), Fault> {
        let open = ManifestDocument::open_keys(&self.cluster);
        let mut after: Option<String> = None;
        loop {
            let page = self.manifests.scan(Span::Keys(&open), after.as_deref(), AT_ONCE).await?;
            let mut all = page.items.iter().map(|found| &found.value);
            let other = all.find(|found| {
                found.maintenance_manifest.maintenance_task_id == self.task.id()
                    && own != Some(found.id.as_str())
            });
            if let Some(other) = other {
                let message = format!("{}: maintenance manifest {}.", self.busy, other.id);
                return Err(CloudError::new(409, "RequestNotAllowed", "", message).into());
            }
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    async fn cancel(&self, id: &str) -> Result<bool, Fault> {
        let now = self.parts.store.now().await?;
        let change = |found: Versioned<ManifestDocument>| {
            found.try_map(|one| one.with_state(ManifestState::Cancelled, "", now))
        };
        Ok(update_if(&self.manifests, id, change).await?.is_some())
    }

    /// Looks at an order from now on. The answer waits that long for the end of what has started.
    pub(super) fn follow(&self, id: String, ends_within: Duration) -> FollowedOrder {
        FollowedOrder {
            orders: self.clone(),
            id,
            ends_within,
            began: Instant::now(),
            started: None,
            failures: 0,
        }
    }
}

/// An order that is waited for.
pub(super) struct FollowedOrder {
    orders: Orders,
    id: String,
    ends_within: Duration,
    began: Instant,
    started: Option<Instant>,
    failures: u32,
}

impl FollowedOrder {
    /// The order a moment later. One that nobody took up in time is cancelled.
    ///
    /// # Errors
    /// It was deleted, did not end in time, or cannot be read for a while.
    pub(super) async fn look(&mut self) -> Result<ManifestDocument, Fault> {
        loop {
            sleep(PERIOD).await;
            let found = match self.orders.manifests.get(&self.id).await {
                Err(_) if self.failures < MOST_FAILURES => {
                    self.failures += 1;
                    continue;
                }
                found => found?,
            };
            self.failures = 0;
            let id = &self.id;
            let gone = || failed(format!("maintenance manifest {id} was deleted"));
            let found = found.ok_or_else(gone)?.value;
            let state = found.maintenance_manifest.state;
            if !state.is_terminal() {
                self.check_time(&found).await?;
            }
            return Ok(found);
        }
    }

    async fn check_time(&mut self, found: &ManifestDocument) -> Result<(), Fault> {
        if found.maintenance_manifest.must_end() {
            self.started.get_or_insert_with(Instant::now);
        }
        let late = match self.started {
            None => self.began.elapsed() > STARTS_WITHIN && self.orders.cancel(&self.id).await?,
            Some(started) => started.elapsed() > self.ends_within,
        };
        if !late {
            return Ok(());
        }
        let why = &found.maintenance_manifest.status_text;
        let message =
            format!("Maintenance manifest {} has not ended, and this answer waits no longer. {why}", self.id);
        Err(failed(message.trim_end()).into())
    }

    /// Waits for the end of the order.
    ///
    /// # Errors
    /// As [`FollowedOrder::look`].
    pub(super) async fn end(mut self) -> Result<ManifestDocument, Fault> {
        loop {
            let found = self.look().await?;
            if found.maintenance_manifest.state.is_terminal() {
                return Ok(found);
            }
        }
    }
}

/// Names the manifest in the header `Location`.
pub(super) fn set_location(of: &ActionContext<'_>, id: &str, answer: &mut HttpResponse) {
    let place = format!("/admin{}/maintenancemanifests/{id}", of.path.original);
    if let Ok(place) = HeaderValue::from_str(&place) {
        answer.headers_mut().insert(LOCATION, place);
    }
}

/// Why a task ended without success, for people; without the word that tells whether it may be repeated.
pub(super) fn cause(manifest: &Manifest) -> String {
    match manifest.status_text.as_str() {
        "" => format!("The maintenance manifest is {}", manifest.state.name()),
        text => text.strip_prefix("TerminalError: ").unwrap_or(text).to_owned(),
    }
}
