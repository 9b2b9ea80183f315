//! What administrators' tools do with one cluster (`contract/frontend.md` §11): one row for each action.

use http::Method;

use super::roles::AdminRole;

/// An action below `/admin` and a cluster's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    PodLogs,
    ApproveCsr,
    CordonNode,
    DrainNode,
    TopPods,
    TopNodes,
    Exec,
    RunJob,
    Investigate,
    EtcdKeyCount,
    RecoverEtcd,
    RenewEtcdCertificates,
    Resources,
    RouteTable,
    Skus,
    ResizeValidation,
    ResizeInventory,
    ResizeControlPlane,
    RedeployVm,
    StartVm,
    StopVm,
    ResizeVm,
    ReconcileNic,
    DeleteResource,
    ClusterDeployment,
    ClusterSync,
}

/// What is fixed of an action.
#[derive(Clone, Copy)]
struct Row {
    /// Segments after the cluster's id.
    suffix: &'static [&'static str],
    template: &'static str,
    /// `GET` or `POST`.
    method: &'static str,
    /// The least role that may do it.
    role: AdminRole,
}

macro_rules! row {
    ($method:literal, $role:ident, $first:literal $(/ $more:literal)*) => {
        Row {
            suffix: &[$first $(, $more)*],
            template: concat!(
                "/admin/subscriptions/{subscriptionId}/resourcegroups/{resourceGroupName}/providers/",
                "{resourceProviderNamespace}/{resourceType}/{resourceName}/",
                $first $(, "/", $more)*
            ),
            method: $method,
            role: AdminRole::$role,
        }
    };
}

impl Action {
    const ALL: [Self; 26] = [
        Self::PodLogs,
        Self::ApproveCsr,
        Self::CordonNode,
        Self::DrainNode,
        Self::TopPods,
        Self::TopNodes,
        Self::Exec,
        Self::RunJob,
        Self::Investigate,
        Self::EtcdKeyCount,
        Self::RecoverEtcd,
        Self::RenewEtcdCertificates,
        Self::Resources,
        Self::RouteTable,
        Self::Skus,
        Self::ResizeValidation,
        Self::ResizeInventory,
        Self::ResizeControlPlane,
        Self::RedeployVm,
        Self::StartVm,
        Self::StopVm,
        Self::ResizeVm,
        Self::ReconcileNic,
        Self::DeleteResource,
        Self::ClusterDeployment,
        Self::ClusterSync,
    ];

    const fn row(self) -> Row {
        match self {
            Self::PodLogs => row!("GET", Operator, "kubernetespodlogs"),
            // An approval gives a certificate, as a token request gives a token.
            Self::ApproveCsr => row!("POST", Elevated, "approvecsr"),
            Self::CordonNode => row!("POST", Operator, "cordonnode"),
            Self::DrainNode => row!("POST", Operator, "drainnode"),
            Self::TopPods => row!("GET", Reader, "top" / "pods"),
            Self::TopNodes => row!("GET", Reader, "top" / "nodes"),
            Self::Exec => row!("POST", Elevated, "exec"),
            Self::RunJob => row!("POST", Elevated, "runjob"),
            // The program reads beyond the platform's namespaces, and tells a model what it reads.
            Self::Investigate => row!("POST", Elevated, "investigate"),
            Self::EtcdKeyCount => row!("POST", Operator, "etcdkeycount"),
            Self::RecoverEtcd => row!("POST", Operator, "etcdrecovery"),
            Self::RenewEtcdCertificates => row!("POST", Operator, "etcdcertificaterenew"),
            Self::Resources => row!("GET", Reader, "resources"),
            Self::RouteTable => row!("GET", Reader, "effectiveroutetable"),
            Self::Skus => row!("GET", Reader, "skus"),
            Self::ResizeValidation => row!("GET", Reader, "preresizevalidation"),
            Self::ResizeInventory => row!("GET", Reader, "controlplanestatuscheckafterresize"),
            Self::ResizeControlPlane => row!("POST", Operator, "resizecontrolplane"),
            Self::RedeployVm => row!("POST", Operator, "redeployvm"),
            Self::StartVm => row!("POST", Operator, "startvm"),
            Self::StopVm => row!("POST", Operator, "stopvm"),
            Self::ResizeVm => row!("POST", Operator, "resize"),
            Self::ReconcileNic => row!("POST", Operator, "reconcilefailednic"),
            Self::DeleteResource => row!("POST", Elevated, "deletemanagedresource"),
            Self::ClusterDeployment => row!("GET", Reader, "clusterdeployment"),
            Self::ClusterSync => row!("GET", Reader, "clustersync"),
        }
    }

    /// The action at these segments after a cluster's id, in lower case.
    pub(super) fn find(suffix: &[&str]) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.row().suffix == suffix)
    }

    /// The route's name in metrics and in the audit log.
    pub(super) const fn template(self) -> &'static str {
        self.row().template
    }

    /// Its method, as the header `Allow` names it.
    pub(super) const fn methods(self) -> &'static str {
        self.row().method
    }

    pub(super) fn is_called_by(self, method: &Method) -> bool {
        self.row().method == method.as_str()
    }

    pub(super) const fn role(self) -> AdminRole {
        self.row().role
    }

    /// Whether it shows what may contain a secret by accident, so that its entry is durable before the cluster is asked.
    pub(crate) const fn shows_logs(self) -> bool {
        matches!(self, Self::PodLogs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_action_has_a_path_of_its_own() {
        for action in Action::ALL {
            assert_eq!(Action::find(action.row().suffix), Some(action));
            assert!(action.template().ends_with(&action.row().suffix.join("/")), "{action:?}");
        }
        assert_eq!(Action::find(&["etcd"]), None);
        assert_eq!(Action::find(&[]), None);
    }
}
