//! What one round fetched of a cluster: each object once, decoded at once to what collectors read.

mod got;
mod need;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use rp_base::Timestamp;

use crate::collect::{CollectError, Versions};
use crate::fetch::FetchError;
use crate::objects as o;
use crate::view::ClusterView;

pub use got::DecodeError;
use got::{Got, decode};
pub(crate) use need::OPERATOR_NAMESPACE;
pub use need::{Need, Request, Via};

/// Address prefixes of one subnet, or why they are not known.
pub type Prefixes = Result<Vec<String>, String>;

#[derive(Debug)]
enum Slot {
    /// Pages are still to come.
    Partly(Got),
    Done(Got),
    Failed(FetchError),
}

/// What one round saw of one cluster.
#[derive(Debug)]
pub struct Seen {
    cluster: Arc<ClusterView>,
    now: Timestamp,
    hourly: bool,
    commit: &'static str,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    slots: HashMap<Need, Slot>,
    healthz: Option<u16>,
    ping: Option<u16>,
    subnets: Option<Arc<BTreeMap<String, Prefixes>>>,
}

impl Seen {
    /// Nothing seen yet. `commit`: of this program, for `cluster.versions`.
    pub fn new(cluster: Arc<ClusterView>, now: Timestamp, hourly: bool, commit: &'static str) -> Self {
        Self { cluster, now, hourly, commit, state: Mutex::default() }
    }

    pub fn cluster(&self) -> &ClusterView {
        &self.cluster
    }

    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// Detail is logged in this round (`contract/monitor.md` §5).
    pub const fn hourly(&self) -> bool {
        self.hourly
    }

    pub const fn commit(&self) -> &'static str {
        self.commit
    }

    /// The status of `/healthz`; 0: no answer.
    pub fn healthz(&self, code: u16) {
        self.state.lock().healthz = Some(code);
    }

    /// The status of `/healthz/ping`; 0: no answer.
    pub fn ping(&self, code: u16) {
        self.state.lock().ping = Some(code);
    }

    pub fn healthz_code(&self) -> Option<u16> {
        self.state.lock().healthz
    }

    pub fn ping_code(&self) -> Option<u16> {
        self.state.lock().ping
    }

    /// Answers [`Need::Subnets`]: prefixes by lower-case Azure id, as of at most ten minutes ago.
    pub fn subnets(&self, prefixes: BTreeMap<String, Prefixes>) {
        self.state.lock().subnets = Some(Arc::new(prefixes));
    }

    /// Takes one page, or a whole object; gives the token of the next page.
    ///
    /// # Errors
    /// The body is not what was asked for, or the list has too many items.
    pub fn page(&self, need: &Need, body: &[u8]) -> Result<Option<String>, DecodeError> {
        let (got, token) = decode(need, body)?;
        let mut state = self.state.lock();
        let whole = match state.slots.remove(need) {
            Some(Slot::Partly(before)) => before.followed_by(got)?,
            _ => got,
        };
        let slot = if token.is_some() { Slot::Partly(whole) } else { Slot::Done(whole) };
        state.slots.insert(need.clone(), slot);
        Ok(token)
    }

    /// Forgets the pages of a list that is read from its begin again.
    pub fn restart(&self, need: &Need) {
        self.state.lock().slots.remove(need);
    }

    /// It could not be fetched.
    pub fn fail(&self, need: &Need, error: FetchError) {
        self.state.lock().slots.insert(need.clone(), Slot::Failed(error));
    }

    /// Whether it was fetched, or failed.
    pub fn has(&self, need: &Need) -> bool {
        let state = self.state.lock();
        match need {
            Need::Subnets if state.subnets.is_some() => true,
            _ => matches!(state.slots.get(need), Some(Slot::Done(_) | Slot::Failed(_))),
        }
    }

    /// An object; `None`: there is none, and that is no error.
    fn object(&self, need: &Need) -> Result<Option<Got>, CollectError> {
        match self.state.lock().slots.get(need) {
            Some(Slot::Done(got)) => Ok(Some(got.clone())),
            // What makes OpenShift may be missing in a cluster that somebody brought.
            Some(Slot::Failed(error))
                if error.is_missing() && (need.request().missing_ok || self.is_imported()) =>
            {
                Ok(None)
            }
            Some(Slot::Failed(error)) => Err(CollectError::fetch(need, error)),
            Some(Slot::Partly(_)) | None => Err(CollectError::NotFetched(need.name())),
        }
    }

    pub fn is_imported(&self) -> bool {
        self.cluster.id.is_imported()
    }

    /// Actual and desired version, as far as they are known.
    pub fn versions(&self) -> Versions {
        self.version().ok().flatten().map(|version| Versions::of(&version)).unwrap_or_default()
    }

    /// Prefixes of the subnets.
    ///
    /// # Errors
    /// They could not be read.
    pub fn prefixes(&self) -> Result<Arc<BTreeMap<String, Prefixes>>, CollectError> {
        if let Some(subnets) = &self.state.lock().subnets {
            return Ok(subnets.clone());
        }
        match self.object(&Need::Subnets) {
            Ok(_) => Ok(Arc::default()),
            Err(error) => Err(error),
        }
    }
}

/// Getters: what was fetched, or why not. A list that is not there is empty where that is no error.
macro_rules! getters {
    ($(object $name:ident($($arg:ident : $type:ty)?) $need:expr => $got:ident, $object:ty;)*) => {
        $(#[doc = concat!("Of [`Need`]: `", stringify!($need), "`.")]
        pub fn $name(&self $(, $arg: $type)?) -> Result<Option<Arc<$object>>, CollectError> {
            Ok(match self.object(&$need)? { Some(Got::$got(it)) => Some(it), _ => None })
        })*
    };
    ($(list $name:ident($($arg:ident : $type:ty)?) $need:expr => $got:ident, $object:ty;)*) => {
        $(#[doc = concat!("Of [`Need`]: `", stringify!($need), "`.")]
        pub fn $name(&self $(, $arg: $type)?) -> Result<Arc<Vec<$object>>, CollectError> {
            Ok(match self.object(&$need)? { Some(Got::$got(it)) => it, _ => Arc::default() })
        })*
    };
}

impl Seen {
    getters! {
        object version() Need::ClusterVersion => ClusterVersion, o::ClusterVersion;
        object aro_cluster() Need::AroCluster => AroCluster, o::AroCluster;
        object certificate(name: &str) Need::Certificate(name.to_owned()) => Certificate, o::SecretCertificate;
        object proxy() Need::Proxy => Proxy, o::Proxy;
        object network() Need::Network => Network, o::Network;
        object dns() Need::Dns => Dns, o::Dns;
        object infrastructure() Need::Infrastructure => Infrastructure, o::Infrastructure;
        object credentials() Need::Credentials => Credentials, o::Credentials;
        object hive_deployment(ns: &str) Need::HiveDeployment(ns.to_owned()) => HiveDeployment, o::HiveDeployment;
        object hive_sync(ns: &str) Need::HiveSync(ns.to_owned()) => HiveSync, o::ClusterSync;
    }
    getters! {
        list operators() Need::ClusterOperators => ClusterOperators, o::ClusterOperator;
        list nodes() Need::Nodes => Nodes, o::Node;
        list machines() Need::Machines => Machines, o::Machine;
        list machine_sets() Need::MachineSets => MachineSets, o::MachineSet;
        list pools() Need::Pools => Pools, o::Pool;
        list operator_deployments() Need::OperatorDeployments => Deployments, o::Deployment;
        list log_daemon_sets() Need::LogDaemonSets => DaemonSets, o::DaemonSet;
        list pods(namespace: &'static str) Need::Pods(namespace) => Pods, o::Pod;
        list virtual_machines() Need::VirtualMachines => VirtualMachines, o::VirtualMachine;
        list ingress_controllers() Need::IngressControllers => IngressControllers, o::IngressController;
        list router_services() Need::RouterServices => RouterServices, o::RouterService;
        list etcd_certificates() Need::EtcdCertificates => Certificates, o::SecretCertificate;
        list alerts() Need::Alerts => Alerts, o::Alert;
    }
}

/// The lower-case ids of the subnets whose prefixes the collectors read: masters' and workers', each once.
pub fn subnet_ids(cluster: &ClusterView) -> Vec<String> {
    let workers = cluster.workers.iter().map(|worker| &worker.subnet_id);
    let mut ids: Vec<String> = std::iter::once(&cluster.master_subnet)
        .chain(workers)
        .filter(|id| !id.is_empty())
        .map(|id| id.to_ascii_lowercase())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

#[cfg(test)]
mod tests;
