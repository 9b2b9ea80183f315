//! The sources of one cluster: their addresses, and which of them answered last.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rp_kube::{KubeClient, ready_pods};
use rp_net::Target;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::{Instant, timeout};

use crate::connection_pool::ConnectionPool;
use crate::error::PromError;
use crate::exchange::kube_error;
use crate::source::{Instance, Source, SourceChoice};
use crate::upstream_address::UpstreamAddress;

pub(crate) const PLATFORM: &str = "openshift-monitoring";
const USER: &str = "openshift-user-workload-monitoring";
pub(crate) const PORT: u16 = 9090;
pub(crate) const ALERTMANAGER_PORT: u16 = 9093;
/// A source that failed is tried last for this long.
const FAILURE_PENALTY: Duration = Duration::from_secs(30);
/// Time limit for listing pods.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);
/// A pod name is cached for this long.
const POD_NAME_LIFETIME: Duration = Duration::from_secs(600);

/// The state of a source of a cluster.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SourceState {
    #[serde(flatten)]
    pub source: Source,
    /// `namespace/pod:port`, or an address.
    #[serde(rename = "where")]
    pub place: String,
    pub way: &'static str,
    /// Whether it answered last; `None`: not tried yet.
    pub ok: Option<bool>,
    pub why: String,
}

#[derive(Debug, Clone)]
struct Health {
    ok: bool,
    why: String,
    at: Instant,
}

/// A cluster to whose Prometheus requests were sent.
pub(crate) struct Cluster {
    pub(crate) target: Arc<Target>,
    pub(crate) client: KubeClient,
    configured: Option<UpstreamAddress>,
    /// The Prometheus that was discovered; searched for once.
    found: OnceCell<Option<UpstreamAddress>>,
    pub(crate) pools: Mutex<HashMap<Instance, Arc<ConnectionPool>>>,
    health: Mutex<HashMap<Instance, Health>>,
    thanos: Mutex<Option<(String, Instant)>>,
    pub(crate) budget: Arc<Semaphore>,
    pub(crate) used: Mutex<Instant>,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster").field("id", &self.target.id).finish_non_exhaustive()
    }
}

impl Cluster {
    /// Sends no request yet.
    pub(crate) fn new(
        target: &Arc<Target>,
        client: KubeClient,
        configured: Option<UpstreamAddress>,
        per_cluster: usize,
    ) -> Arc<Self> {
        Arc::new(Self {
            target: Arc::clone(target),
            client,
            configured,
            found: OnceCell::new(),
            pools: Mutex::default(),
            health: Mutex::default(),
            thanos: Mutex::default(),
            budget: Arc::new(Semaphore::new(per_cluster.max(1))),
            used: Mutex::new(Instant::now()),
        })
    }

    /// The instances to try, in order; those that failed recently come last.
    pub(crate) fn order(&self, choice: SourceChoice) -> Vec<Instance> {
        let own = self.configured.is_some() || self.found.get().is_some_and(Option::is_some);
        let mut places = choice.places(own);
        let health = self.health.lock();
        let bad = |place: &Instance| {
            health.get(place).is_some_and(|health| !health.ok && health.at.elapsed() < FAILURE_PENALTY)
        };
        places.sort_by_key(bad);
        places
    }

    /// Why a response does not come from the first choice.
    pub(crate) fn fail_over_reason(&self, place: Instance, choice: SourceChoice) -> Option<String> {
        let own = self.configured.is_some() || self.found.get().is_some_and(Option::is_some);
        let first = choice.places(own).first().copied()?;
        if first.id() == place.id() {
            return None;
        }
        let health = self.health.lock();
        let why = health.get(&first).map(|health| health.why.clone())?;
        Some(format!("{} did not answer: {why}", first.id()))
    }

    pub(crate) fn record_health(&self, place: Instance, error: Option<&PromError>) {
        let why = match error {
            None => String::new(),
            Some(PromError::SourceAway { why, .. }) => why.clone(),
            Some(error) => error.to_string(),
        };
        if error.is_some()
            && let Some(pool) = self.pools.lock().get(&place)
        {
            pool.clear();
        }
        if place == Instance::Thanos && error.is_some() {
            *self.thanos.lock() = None;
        }
        self.health.lock().insert(place, Health { ok: error.is_none(), why, at: Instant::now() });
    }

    pub(crate) fn state(&self, source: &'static Source) -> Option<SourceState> {
        let place = source.places.first()?;
        let way = match place {
            Instance::Configured => self.own_address()?.clone(),
            Instance::Thanos => pod(PLATFORM, "thanos-querier".to_owned(), PORT),
            place => well_known_address(*place)?,
        };
        let health = self.health.lock();
        let health =
            source.places.iter().filter_map(|place| health.get(place)).max_by_key(|health| health.ok);
        Some(SourceState {
            source: *source,
            place: way.to_string(),
            way: way.kind(),
            ok: health.map(|health| health.ok),
            why: health.map(|health| health.why.clone()).unwrap_or_default(),
        })
    }

    fn own_address(&self) -> Option<&UpstreamAddress> {
        self.configured.as_ref().or_else(|| self.found.get().and_then(Option::as_ref))
    }

    pub(crate) async fn address(&self, place: Instance) -> Result<UpstreamAddress, PromError> {
        let away = |why: &str| PromError::SourceAway { place: place.id(), why: why.to_owned() };
        match place {
            Instance::Configured => self.own_address().cloned().ok_or_else(|| away("none is configured")),
            Instance::Thanos => Ok(pod(PLATFORM, self.querier().await?, PORT)),
            place => well_known_address(place).ok_or_else(|| away("no such source")),
        }
    }

    /// The name of a ready querier pod, which changes with every roll-out.
    async fn querier(&self) -> Result<String, PromError> {
        let known = self.thanos.lock().clone().filter(|(_, at)| at.elapsed() < POD_NAME_LIFETIME);
        if let Some((name, _)) = known {
            return Ok(name);
        }
        let labels = "app.kubernetes.io/name=thanos-query";
        let found = timeout(LIST_TIMEOUT, ready_pods(&self.client, Some(PLATFORM), labels)).await;
        let away = |why: String| PromError::SourceAway { place: Instance::Thanos.id(), why };
        let pods = found
            .map_err(|_| away("its pods could not be listed in time".to_owned()))?
            .map_err(|error| kube_error(Instance::Thanos, "thanos-querier", &error))?;
        let name = pods.into_iter().next().ok_or_else(|| away("no pod of it is ready".to_owned()))?.name;
        *self.thanos.lock() = Some((name.clone(), Instant::now()));
        Ok(name)
    }

    pub(crate) fn may_discover(&self) -> bool {
        self.target.source == rp_net::Source::Imported && self.own_address().is_none()
    }

    /// Searches for a Prometheus by the usual labels, in every namespace; once.
    pub(crate) async fn discover(&self) -> bool {
        let found = self.found.get_or_try_init(|| async {
            for labels in ["app.kubernetes.io/name=prometheus", "app=prometheus"] {
                let pods =
                    timeout(LIST_TIMEOUT, ready_pods(&self.client, None, labels)).await.map_err(drop)?;
                // The platform's instances were already tried by name.
                let others = |pod: &rp_kube::ReadyPod| !matches!(pod.namespace.as_str(), PLATFORM | USER);
                if let Some(found) = pods.map_err(drop)?.into_iter().find(others) {
                    let web = |name: &Option<String>| {
                        name.as_deref().is_some_and(|name| matches!(name, "web" | "http-web" | "http"))
                    };
                    let named = found.ports.iter().find(|(name, _)| web(name));
                    let port = named.or(found.ports.first()).map_or(PORT, |(_, port)| *port);
                    return Ok(Some(pod(&found.namespace, found.name, port)));
                }
            }
            Ok::<_, ()>(None)
        });
        found.await.is_ok_and(Option::is_some)
    }
}

fn pod(namespace: &str, pod: String, port: u16) -> UpstreamAddress {
    UpstreamAddress::Pod { namespace: namespace.to_owned(), pod, port }
}

/// The address of an instance whose pod name is fixed.
fn well_known_address(place: Instance) -> Option<UpstreamAddress> {
    Some(match place {
        Instance::Platform(number) => pod(PLATFORM, format!("prometheus-k8s-{number}"), PORT),
        Instance::User(number) => pod(USER, format!("prometheus-user-workload-{number}"), PORT),
        Instance::Alertmanager(number) => {
            pod(PLATFORM, format!("alertmanager-main-{number}"), ALERTMANAGER_PORT)
        }
        Instance::Thanos | Instance::Configured => return None,
    })
}
