//! What is known of one cluster's sources: where they are, and which of them answered last.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rp_kube::{KubeClient, ready_pods};
use rp_net::Target;
use serde::Serialize;
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::{Instant, timeout};

use crate::error::PromError;
use crate::exchange::of_kube;
use crate::lane::Lane;
use crate::source::{Choice, Place, Source};
use crate::way::Way;

pub(crate) const PLATFORM: &str = "openshift-monitoring";
const USER: &str = "openshift-user-workload-monitoring";
pub(crate) const PORT: u16 = 9090;
pub(crate) const ALERTMANAGER_PORT: u16 = 9093;
/// A source that failed is passed over for so long.
const AVOID: Duration = Duration::from_secs(30);
/// For an answer about pods.
const LIST: Duration = Duration::from_secs(10);
/// The name of a pod is believed for so long.
const BELIEVE: Duration = Duration::from_secs(600);

/// What is known of a source of a cluster.
#[derive(Debug, Clone, Serialize)]
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

/// A cluster whose Prometheus was asked for.
pub(crate) struct Cluster {
    pub(crate) target: Arc<Target>,
    pub(crate) client: KubeClient,
    configured: Option<Way>,
    /// What was found by itself; asked once.
    found: OnceCell<Option<Way>>,
    pub(crate) lanes: Mutex<HashMap<Place, Arc<Lane>>>,
    health: Mutex<HashMap<Place, Health>>,
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
    /// Nothing is asked yet.
    pub(crate) fn new(
        target: &Arc<Target>,
        client: KubeClient,
        configured: Option<Way>,
        per_cluster: usize,
    ) -> Arc<Self> {
        Arc::new(Self {
            target: Arc::clone(target),
            client,
            configured,
            found: OnceCell::new(),
            lanes: Mutex::default(),
            health: Mutex::default(),
            thanos: Mutex::default(),
            budget: Arc::new(Semaphore::new(per_cluster.max(1))),
            used: Mutex::new(Instant::now()),
        })
    }

    /// Where to try: those that failed lately last.
    pub(crate) fn order(&self, choice: Choice) -> Vec<Place> {
        let own = self.configured.is_some() || self.found.get().is_some_and(Option::is_some);
        let mut places = choice.places(own);
        let health = self.health.lock();
        let bad =
            |place: &Place| health.get(place).is_some_and(|health| !health.ok && health.at.elapsed() < AVOID);
        places.sort_by_key(bad);
        places
    }

    /// Why an answer does not come from the first choice.
    pub(crate) fn why(&self, place: Place, choice: Choice) -> Option<String> {
        let own = self.configured.is_some() || self.found.get().is_some_and(Option::is_some);
        let first = choice.places(own).first().copied()?;
        if first.id() == place.id() {
            return None;
        }
        let health = self.health.lock();
        let why = health.get(&first).map(|health| health.why.clone())?;
        Some(format!("{} did not answer: {why}", first.id()))
    }

    pub(crate) fn mark(&self, place: Place, error: Option<&PromError>) {
        let why = match error {
            None => String::new(),
            Some(PromError::SourceAway { why, .. }) => why.clone(),
            Some(error) => error.to_string(),
        };
        if error.is_some()
            && let Some(lane) = self.lanes.lock().get(&place)
        {
            lane.clear();
        }
        if place == Place::Thanos && error.is_some() {
            *self.thanos.lock() = None;
        }
        self.health.lock().insert(place, Health { ok: error.is_none(), why, at: Instant::now() });
    }

    pub(crate) fn state(&self, source: &'static Source) -> Option<SourceState> {
        let place = source.places.first()?;
        let way = match place {
            Place::Configured => self.own_way()?.clone(),
            Place::Thanos => pod(PLATFORM, "thanos-querier".to_owned(), PORT),
            place => fixed(*place)?,
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

    fn own_way(&self) -> Option<&Way> {
        self.configured.as_ref().or_else(|| self.found.get().and_then(Option::as_ref))
    }

    pub(crate) async fn way(&self, place: Place) -> Result<Way, PromError> {
        let away = |why: &str| PromError::SourceAway { place: place.id(), why: why.to_owned() };
        match place {
            Place::Configured => self.own_way().cloned().ok_or_else(|| away("none is configured")),
            Place::Thanos => Ok(pod(PLATFORM, self.querier().await?, PORT)),
            place => fixed(place).ok_or_else(|| away("no such source")),
        }
    }

    /// The name of a ready querier pod, which changes with every roll-out.
    async fn querier(&self) -> Result<String, PromError> {
        let known = self.thanos.lock().clone().filter(|(_, at)| at.elapsed() < BELIEVE);
        if let Some((name, _)) = known {
            return Ok(name);
        }
        let labels = "app.kubernetes.io/name=thanos-query";
        let found = timeout(LIST, ready_pods(&self.client, Some(PLATFORM), labels)).await;
        let away = |why: String| PromError::SourceAway { place: Place::Thanos.id(), why };
        let pods = found
            .map_err(|_| away("its pods could not be listed in time".to_owned()))?
            .map_err(|error| of_kube(Place::Thanos, "thanos-querier", &error))?;
        let name = pods.into_iter().next().ok_or_else(|| away("no pod of it is ready".to_owned()))?.name;
        *self.thanos.lock() = Some((name.clone(), Instant::now()));
        Ok(name)
    }

    pub(crate) fn may_look(&self) -> bool {
        self.target.source == rp_net::Source::Imported && self.own_way().is_none()
    }

    /// Looks for a Prometheus by the usual labels, in every namespace; once.
    pub(crate) async fn look(&self) -> bool {
        let found = self.found.get_or_try_init(|| async {
            for labels in ["app.kubernetes.io/name=prometheus", "app=prometheus"] {
                let pods = timeout(LIST, ready_pods(&self.client, None, labels)).await.map_err(drop)?;
                // The platform's own were tried under their names.
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

fn pod(namespace: &str, pod: String, port: u16) -> Way {
    Way::Pod { namespace: namespace.to_owned(), pod, port }
}

/// The places that are always called the same.
fn fixed(place: Place) -> Option<Way> {
    Some(match place {
        Place::Platform(number) => pod(PLATFORM, format!("prometheus-k8s-{number}"), PORT),
        Place::User(number) => pod(USER, format!("prometheus-user-workload-{number}"), PORT),
        Place::Alertmanager(number) => {
            pod(PLATFORM, format!("alertmanager-main-{number}"), ALERTMANAGER_PORT)
        }
        Place::Thanos | Place::Configured => return None,
    })
}
