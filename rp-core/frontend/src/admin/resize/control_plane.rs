//! The control plane as its cluster and Azure have it.

use futures_util::future::try_join_all;
use rp_actions::control_plane::{API_SERVER, ETCD, MACHINE_SET, MACHINES, MASTERS};
use rp_api::CloudError;
use rp_azure::vm_body;
use rp_openshift::{
    AroCluster, ClusterOperator, ControlPlaneMachineSet, List, Machine, MainRole, Node, Pod, Whole,
};
use serde::de::DeserializeOwned;
use tokio::{join, try_join};

use super::super::azure::{COMPUTE, ManagedGroup, read};
use super::super::cluster_api::ClusterApi;
use super::super::vms::VIRTUAL_MACHINE;
use super::super::{failed, rules};
use super::at;

/// Largest object, bytes.
const MOST_OBJECT: usize = 2 << 20;
/// Largest list, bytes.
const MOST_LIST: usize = 32 << 20;

const NODES_PATH: &str = "/api/v1/nodes?labelSelector=node-role.kubernetes.io%2Fmaster";
const PODS_PATH: &str =
    "/api/v1/namespaces/openshift-kube-apiserver/pods?labelSelector=app%3Dopenshift-kube-apiserver";
const ARO_PATH: &str = "/apis/aro.openshift.io/v1alpha1/clusters/cluster";

/// Of errors about machines.
const TARGET: &str = "controlPlaneMachines";

/// A virtual machine in Azure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct VirtualMachine {
    pub(super) size: String,
    /// Availability zone; empty: it is regional.
    pub(super) zone: String,
    /// Codes of its statuses, such as `PowerState/running`.
    pub(super) statuses: Vec<String>,
}

/// Three machines with their virtual machines, and nodes.
#[derive(Debug, Default)]
pub(super) struct ControlPlane {
    pub(super) machines: Vec<(Machine<Whole>, VirtualMachine)>,
    pub(super) nodes: Vec<Node<Whole>>,
    /// The region, which the zones of nodes begin with.
    pub(super) location: String,
}

/// What says whether the cluster bears that a master is away; each may have failed to be read.
#[derive(Debug)]
pub(super) struct Health {
    pub(super) api_server: Result<ClusterOperator<Whole>, CloudError>,
    pub(super) api_pods: Result<Vec<Pod<Whole>>, CloudError>,
    pub(super) etcd: Result<ClusterOperator<Whole>, CloudError>,
    pub(super) aro: Result<AroCluster<Whole>, CloudError>,
    /// `None`: there is no set.
    pub(super) set: Result<Option<ControlPlaneMachineSet<Whole>>, CloudError>,
}

impl ControlPlane {
    /// # Errors
    /// 500 with the target `controlPlaneMachines`: something cannot be read, or there are not three machines.
    pub(super) async fn read(api: &ClusterApi, managed: &ManagedGroup) -> Result<Self, CloudError> {
        let machines = async {
            let mut machines = list::<Machine<Whole>>(api, MACHINES).await?;
            machines.retain(|machine| machine.role() == MainRole::Master.as_str());
            if machines.len() != MASTERS {
                return Err(failed(format!(
                    "Expected {MASTERS} control plane machines but found {}. Resize cannot proceed until all control plane machines are present.",
                    machines.len()
                )));
            }
            let with_vm = async |machine: Machine<Whole>| {
                let vm = vm(managed, machine.metadata.name.as_str()).await?;
                Ok((machine, vm))
            };
            try_join_all(machines.into_iter().map(with_vm)).await
        };
        let (machines, nodes) =
            try_join!(machines, list::<Node<Whole>>(api, NODES_PATH)).map_err(|error| at(TARGET, error))?;
        let location = managed.cluster.value.cluster.location.to_string();
        Ok(Self { machines, nodes, location })
    }

    /// The size of each virtual machine.
    pub(super) fn sizes(&self) -> impl Iterator<Item = &str> {
        self.machines.iter().map(|(_, vm)| vm.size.as_str())
    }
}

async fn vm(managed: &ManagedGroup, name: &str) -> Result<VirtualMachine, CloudError> {
    if !rules::is_name(name) {
        return Err(failed(format!("The name of control plane machine '{name}' is no name of a VM.")));
    }
    let id = managed.id(VIRTUAL_MACHINE, name);
    let found = read(managed.azure.get_with(&id, COMPUTE, &[("$expand", "instanceView")])).await;
    let missing = || failed(format!("The VM of control plane machine '{name}' was not found."));
    let body = found.map_err(|error| failed(unread(name, &error)))?.ok_or_else(missing)?;
    Ok(VirtualMachine {
        size: vm_body::size(&body).to_owned(),
        zone: vm_body::zone(&body).to_owned(),
        statuses: vm_body::statuses(&body).map(str::to_owned).collect(),
    })
}

fn unread(name: &str, error: &CloudError) -> String {
    format!("The VM of control plane machine '{name}' could not be read: {}", error.body.message)
}

impl Health {
    pub(super) async fn read(api: &ClusterApi) -> Self {
        let (api_path, etcd_path) = (API_SERVER.path(), ETCD.path());
        let (api_server, api_pods, etcd, aro, set) = join!(
            object(api, &api_path),
            list(api, PODS_PATH),
            object(api, &etcd_path),
            object(api, ARO_PATH),
            object::<ControlPlaneMachineSet<Whole>>(api, MACHINE_SET),
        );
        // Clusters of old versions do not have the kind; they answer in the same way.
        let set = match set {
            Err(error) if error.status == 404 => Ok(None),
            set => set.map(Some),
        };
        Self { api_server, api_pods, etcd, aro, set }
    }
}

async fn object<T: DeserializeOwned>(api: &ClusterApi, path: &str) -> Result<T, CloudError> {
    api.get_as(path, MOST_OBJECT).await
}

async fn list<T: DeserializeOwned>(api: &ClusterApi, path: &str) -> Result<Vec<T>, CloudError> {
    api.get_as::<List<T>>(path, MOST_LIST).await.map(|list| list.items)
}
