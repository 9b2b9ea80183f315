//! The objects of a cluster fetched in one round: each once, decoded on arrival to what collectors read.

mod decode;
mod resource;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use rp_base::Timestamp;

use crate::collect::{CollectError, Versions};
use crate::fetch::FetchError;
use crate::objects as o;
use crate::view::ClusterView;

pub use decode::DecodeError;
use decode::{DecodedObject, decode};
pub(crate) use resource::OPERATOR_NAMESPACE;
pub use resource::{Endpoint, Request, Resource};

/// Address prefixes of one subnet, or why they are not known.
pub type Prefixes = Result<Vec<String>, String>;

#[derive(Debug)]
enum Slot {
    /// Further pages are pending.
    Partly(DecodedObject),
    Done(DecodedObject),
    Failed(FetchError),
}

/// The objects of one cluster in one round.
#[derive(Debug)]
pub struct ClusterObjects {
    cluster: Arc<ClusterView>,
    now: Timestamp,
    hourly: bool,
    commit: &'static str,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    slots: HashMap<Resource, Slot>,
    healthz: Option<u16>,
    ping: Option<u16>,
    subnets: Option<Arc<BTreeMap<String, Prefixes>>>,
}

impl ClusterObjects {
    /// Nothing fetched yet. `commit`: of this program, for `cluster.versions`.
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

    /// Answers [`Resource::Subnets`]: prefixes by lower-case Azure id, as of at most ten minutes ago.
    pub fn subnets(&self, prefixes: BTreeMap<String, Prefixes>) {
        self.state.lock().subnets = Some(Arc::new(prefixes));
    }

    /// Adds one page, or a whole object; returns the token of the next page.
    ///
    /// # Errors
    /// The body is not valid for the resource, or the list has too many items.
    pub fn page(&self, need: &Resource, body: &[u8]) -> Result<Option<String>, DecodeError> {
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

    /// Drops the pages of a list that is read again from the beginning.
    pub fn restart(&self, need: &Resource) {
        self.state.lock().slots.remove(need);
    }

    /// Records that the resource could not be fetched.
    pub fn fail(&self, need: &Resource, error: FetchError) {
        self.state.lock().slots.insert(need.clone(), Slot::Failed(error));
    }

    /// Whether the resource was fetched, or failed.
    pub fn has(&self, need: &Resource) -> bool {
        let state = self.state.lock();
        match need {
            Resource::Subnets if state.subnets.is_some() => true,
            _ => matches!(state.slots.get(need), Some(Slot::Done(_) | Slot::Failed(_))),
        }
    }

    /// An object; `None`: there is none, and that is no error.
    fn object(&self, need: &Resource) -> Result<Option<DecodedObject>, CollectError> {
        match self.state.lock().slots.get(need) {
            Some(Slot::Done(got)) => Ok(Some(got.clone())),
            // OpenShift objects may be missing in an imported cluster.
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
        self.version()
            .ok()
            .flatten()
            .map(|version| Versions::from_cluster_version(&version))
            .unwrap_or_default()
    }

    /// Prefixes of the subnets.
    ///
    /// # Errors
    /// They could not be read.
    pub fn prefixes(&self) -> Result<Arc<BTreeMap<String, Prefixes>>, CollectError> {
        if let Some(subnets) = &self.state.lock().subnets {
            return Ok(subnets.clone());
        }
        match self.object(&Resource::Subnets) {
            Ok(_) => Ok(Arc::default()),
            Err(error) => Err(error),
        }
    }
}

/// Getters: the fetched object or the error. A missing list is empty where that is no error.
macro_rules! getters {
    ($(object $name:ident($($arg:ident : $type:ty)?) $need:expr => $got:ident, $object:ty;)*) => {
        $(#[doc = concat!("Of [`Resource`]: `", stringify!($need), "`.")]
        pub fn $name(&self $(, $arg: $type)?) -> Result<Option<Arc<$object>>, CollectError> {
            Ok(match self.object(&$need)? { Some(DecodedObject::$got(it)) => Some(it), _ => None })
        })*
    };
    ($(list $name:ident($($arg:ident : $type:ty)?) $need:expr => $got:ident, $object:ty;)*) => {
        $(#[doc = concat!("Of [`Resource`]: `", stringify!($need), "`.")]
        pub fn $name(&self $(, $arg: $type)?) -> Result<Arc<Vec<$object>>, CollectError> {
            Ok(match self.object(&$need)? { Some(DecodedObject::$got(it)) => it, _ => Arc::default() })
        })*
    };
}

impl ClusterObjects {
    getters! {
        object version() Resource::ClusterVersion => ClusterVersion, o::ClusterVersion;
        object aro_cluster() Resource::AroCluster => AroCluster, o::AroCluster;
        object certificate(name: &str) Resource::Certificate(name.to_owned()) => Certificate, o::SecretCertificate;
        object proxy() Resource::Proxy => Proxy, o::Proxy;
        object network() Resource::Network => Network, o::Network;
        object dns() Resource::Dns => Dns, o::Dns;
        object infrastructure() Resource::Infrastructure => Infrastructure, o::Infrastructure;
        object credentials() Resource::Credentials => Credentials, o::Credentials;
        object hive_deployment(ns: &str) Resource::HiveDeployment(ns.to_owned()) => HiveDeployment, o::HiveDeployment;
        object hive_sync(ns: &str) Resource::HiveSync(ns.to_owned()) => HiveSync, o::ClusterSync;
    }
    getters! {
        list operators() Resource::ClusterOperators => ClusterOperators, o::ClusterOperator;
        list nodes() Resource::Nodes => Nodes, o::Node;
        list machines() Resource::Machines => Machines, o::Machine;
        list machine_sets() Resource::MachineSets => MachineSets, o::MachineSet;
        list pools() Resource::Pools => Pools, o::Pool;
        list operator_deployments() Resource::OperatorDeployments => Deployments, o::Workload;
        list log_daemon_sets() Resource::LogDaemonSets => DaemonSets, o::Workload;
        list pods(namespace: &'static str) Resource::Pods(namespace) => Pods, o::Pod;
        list virtual_machines() Resource::VirtualMachines => VirtualMachines, o::VirtualMachine;
        list ingress_controllers() Resource::IngressControllers => IngressControllers, o::IngressController;
        list router_services() Resource::RouterServices => RouterServices, o::Service;
        list etcd_certificates() Resource::EtcdCertificates => Certificates, o::SecretCertificate;
        list alerts() Resource::Alerts => Alerts, o::Alert;
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
