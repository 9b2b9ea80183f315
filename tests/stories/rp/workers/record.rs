//! What is remembered of who did what: turns as the processes' logs tell them, the stand-in's requests, and the leases as
//! the store told them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use parking_lot::Mutex;
use reqwest::Method;
use rp_base::Timestamp;
use rp_database::{PostgresOptions, PostgresStore, SharedStore, Span};
use rp_documents::{ClusterDocument, Collection, Lease, Leased as _};
use rp_simulator_azure::LoggedRequest;
use serde_json::Value;
use tests_stand_ins::azure::{managed_group, managed_group_of};
use tokio_util::task::AbortOnDropHandle;

/// A turn on a cluster's document: from the claim until its lease was given back.
#[derive(Debug, Clone)]
pub(super) struct LeaseTerm {
    pub(super) pid: u32,
    /// The cluster's name.
    pub(super) cluster: String,
    pub(super) token: u64,
    began: Timestamp,
    /// When and how it ended; `None`: it did not.
    pub(super) ended: Option<(Timestamp, String)>,
}

impl LeaseTerm {
    fn holds(&self, at: Timestamp) -> bool {
        self.began <= at && (self.was_lost() || self.ended.as_ref().is_none_or(|(end, _)| at <= *end))
    }

    /// Its process got no time for so long that others went on: the one way in which it may act too late.
    pub(super) fn was_lost(&self) -> bool {
        self.ended.as_ref().is_some_and(|(_, how)| how == "lost")
    }
}

/// The turns that a process's log tells of.
pub(super) fn turns(pid: u32, log: &str) -> Result<Vec<LeaseTerm>> {
    let mut all: Vec<LeaseTerm> = Vec::new();
    // Of a killed process the last line may not be whole.
    for line in log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let cluster = line["span"]["resource_name"].as_str().unwrap_or_default();
        let (Some(message), Some(token)) = (line["message"].as_str(), line["token"].as_u64()) else {
            continue;
        };
        let at = Timestamp::parse(line["timestamp"].as_str().unwrap_or_default())
            .with_context(|| line.to_string())?;
        if message == "dequeued" {
            all.push(LeaseTerm { pid, cluster: cluster.to_owned(), token, began: at, ended: None });
        } else if message == "done" {
            let of = all.iter_mut().find(|turn| turn.cluster == cluster && turn.token == token);
            let how = line["result"].as_str().unwrap_or_default().to_owned();
            of.with_context(|| line.to_string())?.ended = Some((at, how));
        }
    }
    Ok(all)
}

/// The requests that write to a cluster's group in Azure.
pub(super) fn writes(requests: Vec<LoggedRequest>) -> impl Iterator<Item = LoggedRequest> {
    let of = |request: &LoggedRequest| {
        !matches!(request.method, Method::GET | Method::HEAD) && managed_group_of(&request.path).is_some()
    };
    requests.into_iter().filter(of)
}

/// Only the holder of a cluster's lease writes to its group, and no earlier holder writes after the next one did.
/// Gives how many holders wrote.
pub(super) fn one_at_a_time(writes: &[LoggedRequest], number: usize, turns: &[&LeaseTerm]) -> Result<usize> {
    let group = managed_group(number as u64);
    let mut own: Vec<&LoggedRequest> =
        writes.iter().filter(|write| managed_group_of(&write.path).as_ref() == Some(&group)).collect();
    own.sort_by_key(|write| (write.came, write.number));
    ensure!(!own.is_empty(), "no writes");
    let mut wrote: Vec<&LeaseTerm> = Vec::new();
    for write in own {
        let pid = pid(write)?;
        let turn = turns.iter().rfind(|turn| turn.pid == pid && turn.holds(write.came)).copied();
        let turn = turn.with_context(|| format!("{write:?} by a process that holds no lease: {turns:#?}"))?;
        let next = wrote.iter().find(|other| other.token > turn.token);
        ensure!(
            next.is_none() || turn.was_lost(),
            "{write:?} in {turn:?}, but the next holder wrote already: {next:?}"
        );
        if wrote.iter().all(|other| other.token != turn.token) {
            wrote.push(turn);
        }
    }
    Ok(wrote.len())
}

fn pid(request: &LoggedRequest) -> Result<u32> {
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
            let mut tick = tokio::time::interval(Duration::from_millis(50));
            loop {
                tick.tick().await;
                let Ok(changes) = from.changes(Collection::OpenShiftClusters, cursor, 500).await else {
                    continue;
                };
                cursor = changes.cursor;
                for change in changes.items {
                    let document = change
                        .document
                        .and_then(|stored| serde_json::from_str::<ClusterDocument>(&stored.body).ok());
                    if let Some(document) = document {
                        into.lock().push((change.id, document.lease()));
                    }
                }
            }
        });
        Ok(Self { seen, store, _task: AbortOnDropHandle::new(task) })
    }

    /// Each document's token only grew, and no two owners had the same.
    pub(super) async fn sound(&self) -> Result<()> {
        let seen = self.seen.lock().clone();
        ensure!(seen.len() > 20, "only {} changes were seen", seen.len());
        let mut latest: HashMap<&str, u64> = HashMap::new();
        let mut owners: BTreeMap<(&str, u64), &str> = BTreeMap::new();
        for (id, lease) in &seen {
            let before = latest.insert(id, lease.token).unwrap_or_default();
            ensure!(lease.token >= before, "{id}: {before}, then {}", lease.token);
            if !lease.owner.is_empty() {
                let owner = owners.entry((id, lease.token)).or_insert(&lease.owner);
                ensure!(*owner == lease.owner, "{id}: two have {}", lease.token);
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
