//! A cluster with three masters and a worker over a simulated Azure and an API server in memory, for tests of tasks that
//! take machines away.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use rp_documents::maintenance::Task;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::super::{TaskFailure, TaskOrder};
use crate::environment::Periods;
use crate::harness::{Api, Cloud, World, assets};
use crate::manager::Operation;
use crate::manager_impl::ClusterManager;
use crate::metrics::StepMetrics;
use crate::{kubeconfigs, values};

pub(in crate::maintenance) const BEFORE: &str = "Standard_D8s_v3";
const ETCD: &str = "/apis/config.openshift.io/v1/clusteroperators/etcd";

pub(in crate::maintenance) struct Rig {
    pub(in crate::maintenance) cloud: Cloud,
    pub(in crate::maintenance) world: World,
}

pub(in crate::maintenance) fn node_path(name: &str) -> String {
    format!("/api/v1/nodes/{name}")
}

pub(in crate::maintenance) fn machine_path(name: &str) -> String {
    format!("/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/machines/{name}")
}

/// The kubelet of a node reports so.
pub(in crate::maintenance) fn set_ready(api: &Api, name: &str, status: &str) {
    let mut node = api.get(&node_path(name)).unwrap();
    node["status"]["conditions"][0]["status"] = json!(status);
    api.put(&node_path(name), node);
}

pub(in crate::maintenance) fn terminal(ended: Result<(), TaskFailure>) -> String {
    match ended {
        Err(TaskFailure::Terminal(text)) => text,
        other => panic!("{other:?}"),
    }
}

impl Rig {
    /// All of them serve.
    pub(in crate::maintenance) async fn start() -> Self {
        Self::with_steps_of(Duration::from_secs(20)).await
    }

    /// The same, where no step takes longer than that.
    pub(in crate::maintenance) async fn with_steps_of(longest: Duration) -> Self {
        let cloud = Cloud::start().await;
        let longest = Some(longest);
        let periods = Periods { poll: Duration::from_millis(5), longest, ..Periods::CONTRACT };
        let world = World::new(Arc::clone(&cloud.clients), false, periods);
        world.api.is_up();
        let context = world.context(Operation::AdminUpdate);
        context.set("/properties/networkProfile/privateEndpointIp", "10.0.0.5").await.unwrap();
        values::ensure_infra_id(&context).await.unwrap();
        kubeconfigs::write(&context, &assets::state("word")).await.unwrap();
        let rig = Self { cloud, world };
        assert!(rig.cloud.control.put(context.document().group_id(), json!({"location": "eastus"})));
        (0..3).for_each(|n| rig.put_machine(&format!("master-{n}"), "master"));
        rig.put_machine("worker-1", "worker");
        rig.put_etcd("False");
        rig
    }

    fn put_machine(&self, name: &str, role: &str) {
        self.world.api.put(
            &machine_path(name),
            json!({"metadata": {"name": name, "labels": {"machine.openshift.io/instance-type": BEFORE,
                "machine.openshift.io/cluster-api-machine-role": role}},
                "spec": {"providerSpec": {"value": {"vmSize": BEFORE, "zone": "1"}}},
                "status": {"phase": "Running", "nodeRef": {"kind": "Node", "name": name}}}),
        );
        let role = format!("node-role.kubernetes.io/{role}");
        self.world.api.put(
            &node_path(name),
            json!({"metadata": {"name": name, "labels": {role: "",
                "node.kubernetes.io/instance-type": BEFORE, "beta.kubernetes.io/instance-type": BEFORE}},
                "spec": {}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
        );
        let vm = json!({"location": "eastus", "properties": {"hardwareProfile": {"vmSize": BEFORE}}});
        assert!(self.cloud.control.put(&self.vm_id(name), vm));
    }

    pub(in crate::maintenance) fn put_etcd(&self, progressing: &str) {
        let conditions = json!([{"type": "Available", "status": "True"}, {"type": "Degraded", "status": "False"},
            {"type": "Progressing", "status": progressing}]);
        let etcd = json!({"metadata": {"name": "etcd"}, "status": {"conditions": conditions}});
        self.world.api.put(ETCD, etcd);
    }

    pub(in crate::maintenance) fn vm_id(&self, name: &str) -> String {
        let group = self.world.context(Operation::AdminUpdate).document().group_id().to_owned();
        format!("{group}/providers/Microsoft.Compute/virtualMachines/{name}")
    }

    pub(in crate::maintenance) async fn run(&self, task: Task, order: TaskOrder) -> Result<(), TaskFailure> {
        let steps = StepMetrics::new(&rp_metrics::Registry::new(), rp_metrics::Statsd::none());
        let manager = ClusterManager::new(Arc::clone(&self.world.env), steps);
        let free = CancellationToken::new();
        let job = self.world.job(Operation::AdminUpdate, &free, &free);
        manager.maintain(task, order, job).await
    }

    /// Every write to a virtual machine, as `PATCH master-2` or `start master-2`.
    pub(in crate::maintenance) fn azure_writes(&self) -> Vec<String> {
        let requests = self.cloud.control.requests();
        let writes = requests.iter().filter(|request| request.method != Method::GET);
        let shown = writes.filter_map(|request| {
            let rest = request.path.split("virtualMachines/").nth(1)?;
            Some(match rest.split_once('/') {
                Some((machine, action)) => format!("{action} {machine}"),
                None => format!("{} {rest}", request.method),
            })
        });
        shown.collect()
    }
}
