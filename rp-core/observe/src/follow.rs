//! The task of one kind of one cluster: list, watch, and recovery when either fails.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rp_base::{Backoff, Timestamp};
use rp_kube::KubeClient;
use rp_net::Cost;
use rp_rows::read::clean_text;
use rp_rows::{MOST_NAME, Project};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::cluster::Cluster;
use crate::kinds::Kind;
use crate::metrics::{KindLabels, ListLabels, ObserveMetrics};
use crate::observer::{Inner, ObserverParts};
use crate::snapshot::{ClusterSnapshot, Slice, SliceState};
use crate::watch_error::{WatchError, retry_delay};
use crate::wire::{self, Change, Line, Watch};

/// Smallest page size that is requested when pages are too large.
const LEAST_PAGE: usize = 5;
/// Failures in a row after which the whole list is read again.
const RELIST: u32 = 3;
/// A watch that ended sooner than this counts as failed.
const SHORT: Duration = Duration::from_secs(1);

type Key = (Box<str>, Box<str>);
type Objects<T> = BTreeMap<Key, Arc<T>>;

/// Starts the watch of a kind; `stop` ends it.
pub(crate) fn start(inner: &Inner, cluster: &Arc<Cluster>, kind: Kind, stop: CancellationToken) {
    let base = FollowerParts {
        parts: inner.parts.clone(),
        metrics: inner.metrics.clone(),
        lists: Arc::clone(&inner.lists),
        cluster: Arc::clone(cluster),
        kind,
        stop,
    };
    match kind {
        Kind::Version => spawn(base, |all| &mut all.version),
        Kind::Operators => spawn(base, |all| &mut all.operators),
        Kind::Nodes => spawn(base, |all| &mut all.nodes),
        Kind::Machines => spawn(base, |all| &mut all.machines),
        Kind::MachineSets => spawn(base, |all| &mut all.machine_sets),
        Kind::ControlPlaneMachineSets => spawn(base, |all| &mut all.control_plane_machine_sets),
        Kind::Pools => spawn(base, |all| &mut all.pools),
        Kind::Pods => spawn(base, |all| &mut all.pods),
        Kind::Deployments => spawn(base, |all| &mut all.deployments),
        Kind::DaemonSets => spawn(base, |all| &mut all.daemon_sets),
        Kind::StatefulSets => spawn(base, |all| &mut all.stateful_sets),
        Kind::Events => spawn(base, |all| &mut all.events),
        Kind::Etcd => spawn(base, |all| &mut all.etcd),
        Kind::Infrastructure => spawn(base, |all| &mut all.infrastructure),
        Kind::Network => spawn(base, |all| &mut all.network),
        Kind::Proxy => spawn(base, |all| &mut all.proxy),
        Kind::IngressControllers => spawn(base, |all| &mut all.ingress_controllers),
        Kind::AroCluster => spawn(base, |all| &mut all.aro_cluster),
    }
}

struct FollowerParts {
    parts: ObserverParts,
    metrics: ObserveMetrics,
    lists: Arc<Semaphore>,
    cluster: Arc<Cluster>,
    kind: Kind,
    stop: CancellationToken,
}

type SliceAccessor<T> = fn(&mut ClusterSnapshot) -> &mut Slice<T>;

fn spawn<T: Project>(base: FollowerParts, get: SliceAccessor<T>) {
    let labels = KindLabels { kind: base.kind };
    let running = base.metrics.watches.with(&labels).track();
    let stop = base.stop.clone();
    let mut follow = Follower {
        objects: Objects::new(),
        left_out: 0,
        dirty: false,
        published: Instant::now(),
        state: SliceState::Loading,
        as_of: None,
        get,
        base,
    };
    tokio::spawn(async move {
        let _running = running;
        stop.run_until_cancelled(follow.run()).await;
    });
}

/// One kind of one cluster.
struct Follower<T: Project> {
    base: FollowerParts,
    get: SliceAccessor<T>,
    objects: Objects<T>,
    left_out: usize,
    /// There are changes that are not yet in the snapshot.
    dirty: bool,
    published: Instant,
    state: SliceState,
    as_of: Option<Timestamp>,
}

impl<T: Project> Follower<T> {
    async fn run(&mut self) {
        self.resume();
        let limits = self.base.parts.limits;
        let mut backoff = Backoff::new(Duration::from_millis(500), limits.longest_back_off);
        let mut version = None;
        let mut why = "first";
        let mut failures: u32 = 0;
        loop {
            let error = self.round(&mut version, why, &mut failures).await;
            if failures == 0 {
                backoff.reset();
            }
            failures += 1;
            let labels = ListLabels { kind: self.base.kind, why: error.word() };
            self.base.metrics.faults.with(&labels).inc();
            self.record_error(&error);
            let lasting = retry_delay(&error, &limits);
            why = if matches!(error, WatchError::Expired) { "expired" } else { "broken" };
            if lasting.is_some() || matches!(error, WatchError::Expired) || failures.is_multiple_of(RELIST) {
                version = None;
            }
            let wait = lasting.unwrap_or_else(|| backoff.step(&*self.base.parts.random));
            tokio::time::sleep(wait).await;
        }
    }

    /// Starts from the objects known when the last viewer left.
    fn resume(&mut self) {
        let get = self.get;
        let (mut objects, mut left_out, mut as_of) = (Objects::new(), 0, None);
        self.base.cluster.update(self.now(), |all| {
            let slice = get(all);
            slice.state = SliceState::Loading;
            (left_out, as_of) = (slice.left_out, slice.as_of);
            objects = slice.items.iter().map(|item| (key(&**item), Arc::clone(item))).collect();
        });
        (self.objects, self.left_out, self.as_of) = (objects, left_out, as_of);
    }

    /// Lists if need be, and watches until something goes wrong.
    async fn round(
        &mut self,
        version: &mut Option<String>,
        why: &'static str,
        failures: &mut u32,
    ) -> WatchError {
        loop {
            let client = match self.base.cluster.client(&self.base.parts).await {
                Ok(client) => client,
                Err(error) => return error,
            };
            let from = match version.take() {
                Some(from) => from,
                None => match self.list(&client, why).await {
                    Ok(from) => from,
                    Err(error) => return error,
                },
            };
            let began = Instant::now();
            let mut at = from;
            let ended = self.follow(&client, &mut at, failures).await;
            *version = Some(at);
            match ended {
                // A watch that we ended because it was silent does not count as too short.
                Ok(()) if began.elapsed() < SHORT.min(self.base.parts.limits.silence) => {
                    return WatchError::away("The API server ended the watch at once.");
                }
                Ok(()) => {}
                Err(error) => return error,
            }
        }
    }

    async fn list(&mut self, client: &KubeClient, why: &'static str) -> Result<String, WatchError> {
        let (kind, began) = (self.base.kind, Instant::now());
        self.base.metrics.lists.with(&ListLabels { kind, why }).inc();
        let (cluster, lists) = (Arc::clone(&self.base.cluster), Arc::clone(&self.base.lists));
        // Few lists at once: decoding takes more memory than the projected objects.
        let _turn = cluster.lists.acquire().await.map_err(|_| WatchError::away("We are stopping."))?;
        let _share = lists.acquire().await.map_err(|_| WatchError::away("We are stopping."))?;
        let (mut fresh, mut left_out) = (Objects::<T>::new(), 0);
        let (mut more, mut limit) = (None::<String>, self.base.parts.limits.page);
        let version = loop {
            self.base.parts.budget.take(&self.base.cluster.id, Cost::LIST).await?;
            let most = kind.row().most;
            let page = wire::page(client, kind, limit, more.as_deref(), |object: &T::Object| {
                if let Some(item) = T::project(object) {
                    left_out += usize::from(!keep(&mut fresh, item, most));
                }
            });
            let page = match page.await {
                Ok(page) => page,
                Err(WatchError::TooLarge) if limit > LEAST_PAGE => {
                    limit = (limit / 4).max(LEAST_PAGE);
                    continue;
                }
                Err(error) => return Err(error),
            };
            more = page.more.filter(|_| page.items > 0);
            if more.is_none() {
                break page.version;
            }
            if self.as_of.is_none() {
                // While a slow list is read, the objects read so far are published.
                self.objects.clone_from(&fresh);
                self.publish();
            }
        };
        self.base.metrics.list_seconds.observe_duration(began.elapsed());
        (self.objects, self.left_out) = (fresh, left_out);
        (self.state, self.as_of) = (SliceState::Live, Some(self.now()));
        self.publish();
        Ok(version)
    }

    /// One watch, until the server ends it in order or it falls silent; `at` is where the next one goes on.
    async fn follow(
        &mut self,
        client: &KubeClient,
        at: &mut String,
        failures: &mut u32,
    ) -> Result<(), WatchError> {
        let limits = self.base.parts.limits;
        self.base.parts.budget.take(&self.base.cluster.id, Cost::REQUEST).await?;
        let mut watch = Watch::open(client, self.base.kind, at, limits.watch.as_secs().max(1)).await?;
        if !matches!(self.state, SliceState::Live) {
            self.state = SliceState::Live;
            self.as_of = Some(self.now());
            self.publish();
        }
        loop {
            tokio::select! {
                line = timeout(limits.silence, watch.next::<T::Object>()) => match line {
                    Ok(line) => {
                        let Some(line) = line? else { return Ok(()) };
                        *failures = 0;
                        if let Some(version) = self.apply(line) {
                            *at = version;
                        }
                    }
                    Err(_) => return Ok(()),
                },
                () = sleep_until(self.published + limits.every), if self.dirty => self.publish(),
            }
            if self.dirty && self.published.elapsed() >= limits.every {
                self.publish();
            }
        }
    }

    /// Applies a change; returns the resource version after it.
    fn apply(&mut self, line: Line<T::Object>) -> Option<String> {
        self.as_of = Some(self.now());
        let project = |object: Option<T::Object>| object.as_ref().and_then(T::project);
        let name = (line.namespace.as_str(), line.name.as_str());
        match line.change {
            Change::Put(object) => {
                self.count();
                match project(object) {
                    Some(item) => self.put(item),
                    None => self.remove(name, false),
                }
            }
            Change::Gone(object) => {
                self.count();
                self.remove(name, project(object).is_some());
            }
            Change::Bookmark => {}
        }
        if !self.dirty {
            let (get, as_of) = (self.get, self.as_of);
            self.base.cluster.touch(|all| get(all).as_of = as_of);
        }
        line.version
    }

    fn count(&self) {
        self.base.metrics.events.with(&KindLabels { kind: self.base.kind }).inc();
    }

    fn put(&mut self, item: T) {
        let held = self.objects.get(&key(&item));
        if held.is_some_and(|held| **held == item) {
            return;
        }
        let known = held.is_some();
        let kept = keep(&mut self.objects, item, self.base.kind.row().most);
        self.left_out += usize::from(!kept && !known);
        self.dirty = true;
    }

    /// Removes the object of that namespace and name. `counted`: if it is not held, it was left out.
    fn remove(&mut self, (namespace, name): (&str, &str), counted: bool) {
        let clean = |text: &str| clean_text(text, MOST_NAME).into();
        if self.objects.remove(&(clean(namespace), clean(name))).is_some() {
            self.dirty = true;
        } else if counted {
            self.left_out = self.left_out.saturating_sub(1);
        }
    }

    /// Publishes the held objects to the snapshot.
    fn publish(&mut self) {
        (self.dirty, self.published) = (false, Instant::now());
        let mut items: Vec<Arc<T>> = self.objects.values().map(Arc::clone).collect();
        if self.base.kind == Kind::Events {
            items.sort_by_key(|item| std::cmp::Reverse(item.age()));
        }
        let items: Arc<[Arc<T>]> = items.into();
        let fresh = Slice { items, state: self.state.clone(), as_of: self.as_of, left_out: self.left_out };
        let (get, stop) = (self.get, &self.base.stop);
        let gauge = self.base.metrics.objects.with(&KindLabels { kind: self.base.kind });
        self.base.cluster.update(self.now(), |all| {
            // The code that stopped this watch has already set the state of the slice.
            if stop.is_cancelled() {
                return;
            }
            let slice = get(all);
            gauge.add(count(fresh.items.len()) - count(slice.items.len()));
            *slice = fresh;
        });
    }

    /// Sets the state of the slice for an error.
    fn record_error(&mut self, error: &WatchError) {
        let since = match &self.state {
            SliceState::Stale { since, .. } => *since,
            _ => self.now(),
        };
        self.state = match error {
            WatchError::Expired => return,
            WatchError::Forbidden(why) => SliceState::Forbidden(why.clone()),
            WatchError::Missing => {
                self.objects.clear();
                SliceState::Missing
            }
            WatchError::Away(why) if self.as_of.is_some() => SliceState::Stale { since, why: why.clone() },
            WatchError::Away(why) => SliceState::Failed(why.clone()),
            WatchError::TooLarge => {
                let why = crate::DisplayText::new("The API server's answer is too large to read.");
                if self.as_of.is_some() { SliceState::Stale { since, why } } else { SliceState::Failed(why) }
            }
        };
        self.publish();
    }

    fn now(&self) -> Timestamp {
        self.base.parts.clock.now()
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of objects")]
fn count(items: usize) -> f64 {
    items as f64
}

fn key<T: Project>(item: &T) -> Key {
    let (namespace, name) = item.key();
    (namespace.into(), name.into())
}

/// Puts an object into the map. Beyond the bound the oldest gives way, where objects have an age; else it is not kept.
fn keep<T: Project>(objects: &mut Objects<T>, item: T, most: usize) -> bool {
    let key = key(&item);
    if objects.len() < most || objects.contains_key(&key) {
        objects.insert(key, Arc::new(item));
        return true;
    }
    let Some(age) = item.age() else { return false };
    // Evicts a tenth in one step: finding the oldest requires a scan of all objects.
    let mut ages: Vec<Timestamp> = objects.values().filter_map(|held| held.age()).collect();
    let at = (ages.len() / 10).min(ages.len().saturating_sub(1));
    let oldest = if ages.is_empty() { age } else { *ages.select_nth_unstable(at).1 };
    if age <= oldest {
        return false;
    }
    objects.retain(|_, held| held.age().is_some_and(|age| age > oldest));
    objects.insert(key, Arc::new(item));
    true
}

/// Sets the state of a kind's slice.
pub(crate) fn set_state(cluster: &Cluster, kind: Kind, at: Timestamp, state: &SliceState) {
    cluster.update(at, |all| all.set_state(kind, state));
}

/// Removes the objects of a forgotten cluster from the gauges.
pub(crate) fn uncount(metrics: &ObserveMetrics, snapshot: &ClusterSnapshot) {
    for kind in Kind::ALL {
        metrics.objects.with(&KindLabels { kind }).add(-count(snapshot.summary(kind).items));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rp_rows::{Event, Node};
    use serde_json::json;

    fn event(n: usize) -> Event {
        let at = Timestamp::from_seconds(i64::try_from(n).unwrap());
        let object = json!({"metadata": {"namespace": "openshift-etcd", "name": format!("e{n}")}, "lastTimestamp": at});
        Event::from_json(&object).unwrap()
    }

    #[test]
    fn beyond_the_bound_events_give_way_to_newer_ones_and_other_objects_are_left_out() {
        let mut events = Objects::new();
        for n in 0..500 {
            keep(&mut events, event(n), 100);
        }
        assert!(events.len() <= 100 && events.len() > 50, "{}", events.len());
        assert!(events.values().any(|held| held.meta.name == "e499"));
        let held = events.len();
        assert!(!keep(&mut events, event(1), held), "older than all that are held");
        let mut nodes = Objects::new();
        let node = |name: &str| Node::from_json(&json!({"metadata": {"name": name}})).unwrap();
        assert!(keep(&mut nodes, node("a"), 1));
        assert!(!keep(&mut nodes, node("b"), 1));
        assert!(keep(&mut nodes, node("a"), 1), "a known one is replaced");
    }
}
