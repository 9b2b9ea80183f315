//! The resources that collectors read, and their requests.

use std::borrow::Cow;

/// One object or list of a cluster. Each is fetched at most once in a round and shared by the collectors.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Resource {
    ClusterVersion,
    ClusterOperators,
    Nodes,
    Machines,
    MachineSets,
    Pools,
    /// Deployments of the ARO operator's namespace.
    OperatorDeployments,
    /// Daemon sets of the log exporter's namespace.
    LogDaemonSets,
    /// Pods of one namespace.
    Pods(&'static str),
    AroCluster,
    VirtualMachines,
    IngressControllers,
    RouterServices,
    /// The certificate of a secret of the ARO operator's namespace.
    Certificate(String),
    /// Secrets of etcd's namespace that hold certificates.
    EtcdCertificates,
    Proxy,
    Network,
    Dns,
    Infrastructure,
    /// `kube-system/azure-credentials`.
    Credentials,
    /// Alertmanager's alerts.
    Alerts,
    /// Address prefixes of the cluster's subnets: given by [`super::ClusterObjects::subnets`].
    Subnets,
    /// In Hive's cluster, in this namespace.
    HiveDeployment(String),
    /// In Hive's cluster, in this namespace.
    HiveSync(String),
}

/// The endpoint that serves a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// The cluster's API server.
    Api,
    /// The cluster's Alertmanager, by port-forward.
    Alertmanager,
    /// Azure's network API.
    Azure,
    /// The API server of Hive's cluster.
    Hive,
}

/// A GET.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub via: Endpoint,
    /// Absolute; empty for [`Endpoint::Azure`].
    pub path: Cow<'static, str>,
    pub query: Vec<(&'static str, &'static str)>,
    /// A list that is read page by page.
    pub paged: bool,
    /// 404 is no error: there is no such object, or no such kind.
    pub missing_ok: bool,
}

/// The namespace of the ARO operator.
pub(crate) const OPERATOR_NAMESPACE: &str = "openshift-azure-operator";

impl Resource {
    /// The request for this resource.
    pub fn request(&self) -> Request {
        let (via, path, query) = self.route();
        let missing_ok = matches!(
            self,
            Self::VirtualMachines | Self::OperatorDeployments | Self::LogDaemonSets | Self::Certificate(_)
        );
        Request { via, path, query: query.to_vec(), paged: self.is_list(), missing_ok }
    }

    /// A short name for logs and errors.
    pub fn name(&self) -> Cow<'static, str> {
        match self {
            Self::Pods(namespace) => Cow::Owned(format!("pods of {namespace}")),
            Self::Certificate(name) => Cow::Owned(format!("secret {OPERATOR_NAMESPACE}/{name}")),
            Self::Alerts => Cow::Borrowed("alerts"),
            Self::Subnets => Cow::Borrowed("subnets"),
            _ => match self.request().path {
                Cow::Borrowed(path) => Cow::Borrowed(short(path)),
                Cow::Owned(path) => Cow::Owned(short(&path).to_owned()),
            },
        }
    }

    const fn is_list(&self) -> bool {
        matches!(
            self,
            Self::ClusterOperators
                | Self::Nodes
                | Self::Machines
                | Self::MachineSets
                | Self::Pools
                | Self::OperatorDeployments
                | Self::LogDaemonSets
                | Self::Pods(_)
                | Self::VirtualMachines
                | Self::IngressControllers
                | Self::RouterServices
                | Self::EtcdCertificates
        )
    }

    fn route(&self) -> (Endpoint, Cow<'static, str>, &'static [(&'static str, &'static str)]) {
        let hive = |path: String| (Endpoint::Hive, Cow::Owned(path), &[] as &[_]);
        let path = match self {
            Self::ClusterVersion => "/apis/config.openshift.io/v1/clusterversions/version",
            Self::ClusterOperators => "/apis/config.openshift.io/v1/clusteroperators",
            Self::Nodes => "/api/v1/nodes",
            Self::Machines => "/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/machines",
            Self::MachineSets => {
                "/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/machinesets"
            }
            Self::Pools => "/apis/machineconfiguration.openshift.io/v1/machineconfigpools",
            Self::OperatorDeployments => "/apis/apps/v1/namespaces/openshift-azure-operator/deployments",
            Self::LogDaemonSets => "/apis/apps/v1/namespaces/openshift-azure-logging/daemonsets",
            Self::Pods(namespace) => {
                return (Endpoint::Api, Cow::Owned(format!("/api/v1/namespaces/{namespace}/pods")), &[]);
            }
            Self::AroCluster => "/apis/aro.openshift.io/v1alpha1/clusters/cluster",
            Self::VirtualMachines => "/apis/kubevirt.io/v1/virtualmachineinstances",
            Self::IngressControllers => {
                "/apis/operator.openshift.io/v1/namespaces/openshift-ingress-operator/ingresscontrollers"
            }
            Self::RouterServices => {
                let path = "/api/v1/namespaces/openshift-ingress/services";
                return (Endpoint::Api, Cow::Borrowed(path), &[("labelSelector", "app=router")]);
            }
            Self::Certificate(name) => {
                let path = format!("/api/v1/namespaces/{OPERATOR_NAMESPACE}/secrets/{name}");
                return (Endpoint::Api, Cow::Owned(path), &[]);
            }
            Self::EtcdCertificates => {
                let path = "/api/v1/namespaces/openshift-etcd/secrets";
                return (Endpoint::Api, Cow::Borrowed(path), &[("fieldSelector", "type=kubernetes.io/tls")]);
            }
            Self::Proxy => "/apis/config.openshift.io/v1/proxies/cluster",
            Self::Network => "/apis/config.openshift.io/v1/networks/cluster",
            Self::Dns => "/apis/operator.openshift.io/v1/dnses/default",
            Self::Infrastructure => "/apis/config.openshift.io/v1/infrastructures/cluster",
            Self::Credentials => "/api/v1/namespaces/kube-system/secrets/azure-credentials",
            Self::Alerts => return (Endpoint::Alertmanager, Cow::Borrowed("/api/v2/alerts"), &[]),
            Self::Subnets => return (Endpoint::Azure, Cow::Borrowed(""), &[]),
            Self::HiveDeployment(namespace) => {
                return hive(format!(
                    "/apis/hive.openshift.io/v1/namespaces/{namespace}/clusterdeployments/cluster"
                ));
            }
            Self::HiveSync(namespace) => {
                return hive(format!(
                    "/apis/hiveinternal.openshift.io/v1alpha1/namespaces/{namespace}/clustersyncs/cluster"
                ));
            }
        };
        (Endpoint::Api, Cow::Borrowed(path), &[])
    }
}

/// The last parts of a path, from the resource on.
fn short(path: &str) -> &str {
    let parts = if path.starts_with("/api/") { 3 } else { 4 };
    path.match_indices('/').nth(parts - 1).and_then(|(at, _)| path.get(at + 1..)).unwrap_or(path)
}
