//! What is remembered of who did what: the stand-in's requests by process, and the leases as the store told them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use parking_lot::Mutex;
use reqwest::Method;
use rp_database::{PostgresOptions, PostgresStore, SharedStore, Span};
use rp_documents::{Collection, Lease};
use rp_simulator::arm::Logged;
use serde_json::Value;
use tokio_util::task::AbortOnDropHandle;

use super::Lived;
use super::azure::group;

/// A process that is dead.
#[derive(Debug, Clone, Copy)]
pub(super) struct Killed {
    pub(super) pid: u32,
    /// The stand-in's latest request when it was.
    pub(super) number: u64,
}

/// In each operation on a cluster one process writes to Azure; another does only when that one is dead, or said in its log
/// that it lost the lease.
pub(super) fn one_at_a_time(
    requests: &[Logged],
    cluster: &Lived,
    killed: &[Killed],
    lost: &dyn Fn(u32) -> bool,
) -> Result<()> {
    let group = group(cluster.number);
    let of = |request: &&Logged| {
        let path = request.path.to_ascii_lowercase();
        let own = path.strip_prefix(&group).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        own && !matches!(request.method, Method::GET | Method::HEAD)
    };
    let mut writer: Option<(bool, u32)> = None;
    let mut before = Vec::new();
    for request in requests.iter().filter(of) {
        let now = (request.number <= cluster.between, pid(request)?);
        if let Some((creating, old)) = writer
            && (creating, old) != now
            && creating == now.0
        {
            let dead = killed.iter().any(|one| one.pid == old && one.number <= request.number);
            ensure!(dead || lost(old), "{}: {request:?} while {old} lives", cluster.name);
            before.push(old);
        }
        let back = before.contains(&now.1) && !lost(now.1);
        ensure!(!back, "{}: {request:?} of a process that was replaced", cluster.name);
        if writer.is_some_and(|(creating, _)| creating != now.0) {
            before.clear();
        }
        writer = Some(now);
    }
    ensure!(writer.is_some_and(|(creating, _)| !creating), "{}: no writes", cluster.name);
    Ok(())
}

fn pid(request: &Logged) -> Result<u32> {
    let told = request.agent.split_once("pid ").map(|(_, rest)| rest.trim_end_matches(')'));
    told.and_then(|pid| pid.parse().ok()).with_context(|| format!("{request:?} does not say whose it is"))
}

/// Follows the leases of clusters.
pub(super) struct Tokens {
    seen: Arc<Mutex<Vec<(String, Lease)>>>,
    store: SharedStore,
    _task: AbortOnDropHandle<()>,
}

impl Tokens {
    pub(super) async fn follow(url: &str) -> Result<Self> {
        let store = connect(url).await?;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (from, into) = (SharedStore::clone(&store), Arc::clone(&seen));
        let task = tokio::spawn(async move {
            let mut cursor = 0;
            let mut tick = tokio::time::interval(Duration::from_millis(20));
            loop {
                tick.tick().await;
                let Ok(changes) = from.changes(Collection::OpenShiftClusters, cursor, 500).await else {
                    continue;
                };
                cursor = changes.cursor;
                for change in changes.items {
                    let body =
                        change.document.and_then(|stored| serde_json::from_str::<Value>(&stored.body).ok());
                    if let Some(body) = body {
                        into.lock().push((change.id, Lease::of(&body)));
                    }
                }
            }
        });
        Ok(Self { seen, store, _task: AbortOnDropHandle::new(task) })
    }

    /// Each document's token only grew, and no two owners had the same.
    pub(super) async fn sound(&self, seed: u64) -> Result<()> {
        let seen = self.seen.lock().clone();
        ensure!(seen.len() > 20, "only {} changes were seen", seen.len());
        let mut latest: HashMap<&str, u64> = HashMap::new();
        let mut owners: BTreeMap<(&str, u64), &str> = BTreeMap::new();
        for (id, lease) in &seen {
            let before = latest.insert(id, lease.token).unwrap_or_default();
            ensure!(lease.token >= before, "seed {seed}: {id}: {before}, then {}", lease.token);
            if !lease.owner.is_empty() {
                let owner = owners.entry((id, lease.token)).or_insert(&lease.owner);
                ensure!(*owner == lease.owner, "seed {seed}: {id}: two have {}", lease.token);
            }
        }
        self.store.close().await;
        Ok(())
    }
}

pub(super) async fn connect(url: &str) -> Result<SharedStore> {
    Ok(Arc::new(PostgresStore::connect(PostgresOptions::from_url(url)?).await?))
}

/// Every document of a collection.
pub(super) async fn bodies(store: &SharedStore, of: Collection) -> Result<Vec<Value>> {
    const PAGE: u32 = 200;
    let (mut all, mut after) = (Vec::new(), None::<String>);
    loop {
        let page = store.scan(of, Span::All, after.as_deref(), PAGE).await?;
        let full = page.len() == PAGE as usize;
        after = page.last().map(|last| last.id.clone());
        for stored in page {
            all.push(serde_json::from_str(&stored.body)?);
        }
        if !full {
            return Ok(all);
        }
    }
}
