//! Logs of operations, as pages need them: what each cluster is doing now, and whole logs of clusters that somebody
//! looks at. Follows the change feed; the writer is the backend.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use rp_base::text::clean;
use rp_base::{Timestamp, chain};
use rp_database::{SharedStore, StoreError, Typed, TypedChange};
use rp_documents::{Collection, OperationLog};
use serde_json::Value;
use tokio::sync::watch;
use web::objects::{Run, RunLine, RunStep};

use crate::feed::{Follower, follow};

/// Logs read at once: each may have tens of KiB.
const BATCH: u32 = 50;
/// Logs of one cluster that are looked through.
const MOST: usize = 500;
/// Newest logs of a cluster that are kept while somebody looks.
const KEPT: usize = 30;

/// What a cluster is doing now.
#[derive(Debug, Clone)]
pub struct CurrentOperation {
    pub id: String,
    /// "Bootstrap, step 14 of 49: …".
    pub sentence: String,
}

/// An operation that failed is listed for so long.
pub const FAILED_LATELY: Duration = Duration::from_hours(7 * 24);
/// Failed operations that are kept, the newest.
const MOST_FAILED: usize = 1_000;
/// Characters of an error that are kept.
const MOST_ERROR: usize = 500;

/// An operation in the list of all clusters.
#[derive(Debug, Clone)]
pub struct FleetOperation {
    pub id: String,
    /// The cluster's lower-cased resource id.
    pub key: String,
    /// `Creating`, `Updating`, `AdminUpdating`, `Deleting`.
    pub kind: String,
    /// "Bootstrap, step 14 of 49: …".
    pub progress: String,
    /// Why it failed; empty while it runs.
    pub error: String,
    pub started: Timestamp,
    pub ended: Option<Timestamp>,
    /// Who requested it.
    pub by: String,
}

/// Operations of all clusters.
#[derive(Debug, Default)]
pub struct FleetOperations {
    /// Those that failed within [`FAILED_LATELY`], the newest first.
    pub failed: Vec<Arc<FleetOperation>>,
    /// The longest running first.
    pub running: Vec<Arc<FleetOperation>>,
}

/// The logs of clusters.
#[derive(Debug)]
pub struct Operations {
    store: Typed<OperationLog>,
    /// By the cluster's lower-cased resource id.
    doing: ArcSwap<HashMap<String, Arc<CurrentOperation>>>,
    /// Counts changes of what clusters are doing.
    generation: AtomicU64,
    /// Those that run or failed, by id.
    fleet: Mutex<HashMap<String, Arc<FleetOperation>>>,
    looked: Mutex<HashMap<String, Weak<Slot>>>,
}

/// One cluster's logs, newest first.
type Logs = Arc<Vec<OperationLog>>;

#[derive(Debug)]
struct Slot {
    key: String,
    logs: watch::Sender<Option<Logs>>,
    /// Serializes reads, so that an older result never replaces a newer one.
    turn: tokio::sync::Mutex<()>,
}

/// Keeps the logs of one cluster current until it is dropped.
#[derive(Debug)]
pub struct OperationsWatch {
    changed: watch::Receiver<Option<Logs>>,
    _slot: Arc<Slot>,
}

impl OperationsWatch {
    /// When the logs have changed.
    pub async fn changed(&mut self) {
        if self.changed.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    pub fn mark_seen(&mut self) {
        self.changed.mark_unchanged();
    }
}

impl Operations {
    /// Follows from now on; what runs already is read in the background.
    pub fn start(store: &SharedStore) -> Arc<Self> {
        let operations = Arc::new(Self {
            store: Typed::new(Arc::clone(store)),
            doing: ArcSwap::default(),
            generation: AtomicU64::new(0),
            fleet: Mutex::default(),
            looked: Mutex::new(HashMap::new()),
        });
        follow(&operations, store);
        operations
    }

    /// What the cluster of that lower-cased resource id is doing.
    pub fn current(&self, key: &str) -> Option<Arc<CurrentOperation>> {
        self.doing.load().get(key).cloned()
    }

    /// Operations of all clusters of which `fits` holds.
    pub fn fleet(&self, now: Timestamp, fits: impl Fn(&FleetOperation) -> bool) -> FleetOperations {
        let mut found = FleetOperations::default();
        for one in self.fleet.lock().values().filter(|one| fits(one)) {
            match one.ended {
                None => found.running.push(Arc::clone(one)),
                Some(ended) if ended + FAILED_LATELY > now => found.failed.push(Arc::clone(one)),
                Some(_) => {}
            }
        }
        found.running.sort_by_key(|one| (one.started, one.id.clone()));
        found.failed.sort_by_key(|one| (Reverse(one.ended), one.id.clone()));
        found
    }

    /// Counts changes of [`Operations::current`].
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// The logs of a watched cluster, newest first; `None`: it is not watched, or its logs cannot be read.
    pub fn logs(&self, key: &str) -> Option<Logs> {
        let slot = self.looked.lock().get(key).and_then(Weak::upgrade)?;
        slot.logs.borrow().clone()
    }

    /// Reads the logs of a cluster, and keeps them current until the returned watch is dropped.
    pub async fn watch(&self, key: &str) -> OperationsWatch {
        let (slot, fresh) = {
            let mut looked = self.looked.lock();
            match looked.get(key).and_then(Weak::upgrade) {
                Some(slot) => (slot, false),
                None => {
                    looked.retain(|_, slot| slot.strong_count() > 0);
                    let slot = Arc::new(Slot {
                        key: key.to_owned(),
                        logs: watch::Sender::new(None),
                        turn: tokio::sync::Mutex::default(),
                    });
                    looked.insert(key.to_owned(), Arc::downgrade(&slot));
                    (slot, true)
                }
            }
        };
        if fresh || slot.logs.borrow().is_none() {
            self.read(&slot).await;
        }
        OperationsWatch { changed: slot.logs.subscribe(), _slot: slot }
    }

    async fn read(&self, slot: &Slot) {
        let _turn = slot.turn.lock().await;
        match self.all(&slot.key).await {
            Ok(logs) => slot.logs.send_modify(|now| *now = Some(Arc::new(logs))),
            Err(error) => tracing::warn!(error = %chain(&error), "logs of operations cannot be read"),
        }
    }

    /// The newest logs of a cluster, newest first.
    ///
    /// # Errors
    /// The store did not answer.
    pub async fn all(&self, key: &str) -> Result<Vec<OperationLog>, StoreError> {
        let mut logs = Vec::new();
        let mut after: Option<String> = None;
        while logs.len() < MOST {
            let page = self.store.list(Some(key), after.as_deref(), BATCH).await?;
            logs.extend(page.items.into_iter().map(|log| log.value));
            after = page.continuation;
            if after.is_none() {
                break;
            }
        }
        logs.sort_by(|a, b| b.started.cmp(&a.started).then_with(|| b.id.cmp(&a.id)));
        logs.truncate(KEPT);
        Ok(logs)
    }

    /// One log.
    ///
    /// # Errors
    /// The store's.
    pub async fn one(&self, key: &str, id: &str) -> Result<Option<OperationLog>, StoreError> {
        let found = self.store.get(id).await?.map(|log| log.value);
        Ok(found.filter(|log| log.key == key))
    }

    /// Takes the changes into what clusters are doing; gives the clusters whose logs changed, each once.
    fn take(&self, changes: Vec<TypedChange<OperationLog>>) -> Vec<String> {
        let mut doing = HashMap::clone(&self.doing.load());
        let (mut fleet, mut touched) = (self.fleet.lock(), Vec::new());
        for change in changes {
            let log = change.document.map(|document| document.value);
            let before = fleet.remove(&change.id);
            let key = log.as_ref().map(|log| log.key.clone()).or_else(|| Some(before?.key.clone()));
            let Some(key) = key else { continue };
            let one = log.as_ref().and_then(fleet_operation).map(Arc::new);
            match one.as_ref().filter(|one| one.ended.is_none()) {
                Some(one) => {
                    let now = CurrentOperation { id: change.id.clone(), sentence: one.progress.clone() };
                    doing.insert(key.clone(), Arc::new(now));
                }
                None => {
                    if doing.get(&key).is_some_and(|doing| doing.id == change.id) {
                        doing.remove(&key);
                    }
                }
            }
            if let Some(one) = one {
                fleet.insert(change.id, one);
            }
            touched.push(key);
        }
        prune(&mut fleet);
        drop(fleet);
        self.doing.store(Arc::new(doing));
        self.generation.fetch_add(1, Ordering::Relaxed);
        touched.sort_unstable();
        touched.dedup();
        touched
    }
}

impl Follower for Operations {
    const COLLECTION: Collection = Collection::OperationLogs;

    async fn apply(&self, cursor: i64) -> Result<(i64, bool), StoreError> {
        let changes = self.store.changes(cursor, BATCH).await?;
        if !changes.items.is_empty() {
            for key in self.take(changes.items) {
                let slot = self.looked.lock().get(&key).and_then(Weak::upgrade);
                if let Some(slot) = slot {
                    self.read(&slot).await;
                }
            }
        }
        Ok((changes.cursor, changes.more))
    }
}

/// Keeps what runs, and the newest of what failed.
fn prune(fleet: &mut HashMap<String, Arc<FleetOperation>>) {
    let failed = fleet.iter().filter_map(|(id, one)| Some((one.ended?, id)));
    let over = failed.clone().count().saturating_sub(MOST_FAILED);
    if over == 0 {
        return;
    }
    let mut failed: Vec<(Timestamp, String)> = failed.map(|(ended, id)| (ended, id.clone())).collect();
    failed.sort_unstable();
    for (_, id) in failed.iter().take(over) {
        fleet.remove(id);
    }
}

/// As the list of all clusters has it; `None`: it succeeded.
fn fleet_operation(log: &OperationLog) -> Option<FleetOperation> {
    // As `Run::failed`, before the log is copied.
    if log.ended.is_some() && log.result != "Failed" && log.error.is_empty() {
        return None;
    }
    Some(FleetOperation {
        id: log.id.clone(),
        key: log.key.clone(),
        kind: log.kind.clone(),
        progress: run(log).sentence(),
        error: if log.ended.is_some() { clean(&log.error, MOST_ERROR) } else { String::new() },
        started: log.started,
        ended: log.ended,
        by: clean(&log.asked_by, 200),
    })
}

/// The log as pages show it.
pub fn run(log: &OperationLog) -> Run {
    Run {
        id: log.id.clone(),
        kind: log.kind.clone(),
        phase: log.phase.clone(),
        started: log.started.seconds(),
        ended: log.ended.map(Timestamp::seconds),
        result: log.result.clone(),
        error: log.error.clone(),
        attempt: log.attempt,
        planned: log.planned,
        steps: log.steps.iter().map(step).collect(),
        lines: log.lines.iter().map(line).collect(),
        diagnostics: log.diagnostics.iter().map(|each| (each.name.clone(), each.text.clone())).collect(),
        asked_by: log.asked_by.clone(),
        correlation: correlation(log.correlation.as_ref()),
    }
}

fn step(step: &rp_documents::operation_log::StepRecord) -> RunStep {
    RunStep {
        name: step.name.clone(),
        at: step.at,
        started: step.started.seconds(),
        took_ms: step.took_ms,
        attempts: step.attempts,
        message: step.message.clone(),
        failed: step.failed,
    }
}

fn line(line: &rp_documents::operation_log::LogLine) -> RunLine {
    RunLine { at: line.at.seconds(), level: line.level.clone(), text: line.text.clone() }
}

/// The names of the request in other systems (`contract/api.md`), as far as the document has them.
fn correlation(data: Option<&Value>) -> Vec<(String, String)> {
    let of = |name: &str| data.and_then(|data| data.get(name)).and_then(Value::as_str).unwrap_or_default();
    [
        ("Correlation ID", "correlationId"),
        ("Client request ID", "clientRequestId"),
        ("Request ID", "requestID"),
    ]
    .into_iter()
    .map(|(label, name)| (label.to_owned(), of(name).to_owned()))
    .filter(|(_, value)| !value.is_empty())
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(id: &str, ended: Option<i64>) -> (String, Arc<FleetOperation>) {
        let one = FleetOperation {
            id: id.to_owned(),
            key: String::new(),
            kind: String::new(),
            progress: String::new(),
            error: String::new(),
            started: Timestamp::from_seconds(0),
            ended: ended.map(Timestamp::from_seconds),
            by: String::new(),
        };
        (id.to_owned(), Arc::new(one))
    }

    #[test]
    fn the_newest_failed_operations_are_kept_and_all_that_run() {
        let failed = |count: usize| (0..count).zip(1..).map(|(n, at)| operation(&format!("f{n}"), Some(at)));
        let mut fleet: HashMap<_, _> = failed(MOST_FAILED).chain([operation("runs", None)]).collect();
        prune(&mut fleet);
        assert_eq!(fleet.len(), MOST_FAILED + 1, "as many as are kept");
        fleet.extend(failed(MOST_FAILED + 3));
        prune(&mut fleet);
        assert_eq!(fleet.len(), MOST_FAILED + 1);
        assert!(["f0", "f1", "f2"].iter().all(|id| !fleet.contains_key(*id)), "the oldest are forgotten");
        assert!(fleet.contains_key("f3") && fleet.contains_key("runs"));
    }
}
