//! Paths below `/admin` (`contract/frontend.md` §10, §11).

use super::action::Action;
use super::maintenance::MaintenancePath;
use crate::path::{ClusterPath, Route, RouteError};

/// The route of a path below `/admin`. Strings are lower case unless noted otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Admin {
    Versions,
    RoleSets,
    VmSizes,
    Billing {
        id: Option<String>,
    },
    /// All clusters of the region, whole, in pages.
    AllClusters,
    /// All clusters, flat.
    Clusters,
    SyncSets {
        name: Option<String>,
    },
    HiveObjects,
    /// Objects of a cluster.
    Objects(ClusterPath),
    Selectors(ClusterPath),
    /// The serial console log of a machine.
    SerialConsole(ClusterPath),
    Kubeconfig {
        path: ClusterPath,
        elevated: bool,
    },
    Ssh(ClusterPath),
    /// Manifests and schedules.
    Maintenance(MaintenancePath),
    /// What is done with the cluster.
    Action {
        path: ClusterPath,
        action: Action,
    },
}

/// Below a cluster.
macro_rules! below {
    ($suffix:literal) => {
        concat!(
            "/admin/subscriptions/{subscriptionId}/resourcegroups/{resourceGroupName}/providers/",
            "{resourceProviderNamespace}/{resourceType}/{resourceName}/",
            $suffix
        )
    };
}

impl Admin {
    /// The route's name in metrics and in the audit log.
    pub(crate) const fn template(&self) -> &'static str {
        match self {
            Self::Versions => "/admin/versions",
            Self::RoleSets => "/admin/platformworkloadidentityrolesets",
            Self::VmSizes => "/admin/supportedvmsizes",
            Self::Billing { id: None } => "/admin/billingdocuments",
            Self::Billing { id: Some(_) } => "/admin/billingdocuments/{billingDocId}",
            Self::AllClusters => "/admin/providers/{resourceProviderNamespace}/{resourceType}",
            Self::Clusters => "/admin/clusters",
            Self::SyncSets { name: None } => "/admin/hivesyncset",
            Self::SyncSets { name: Some(_) } => "/admin/hivesyncset/syncsetname/{syncSetName}",
            Self::HiveObjects => "/admin/hive/k8sobjects/{resource}",
            Self::Objects(_) => below!("kubernetesobjects"),
            Self::Selectors(_) => below!("selectors"),
            Self::SerialConsole(_) => below!("serialconsole"),
            Self::Kubeconfig { elevated: false, .. } => below!("kubeconfig/new"),
            Self::Kubeconfig { elevated: true, .. } => below!("kubeconfig/newelevated"),
            Self::Ssh(_) => below!("ssh/newelevated"),
            Self::Maintenance(asked) => asked.template(),
            Self::Action { action, .. } => action.template(),
        }
    }

    /// The methods that it has, as the header `Allow` lists them.
    pub(crate) const fn methods(&self) -> &'static str {
        match self {
            Self::Versions | Self::RoleSets => "GET, PUT",
            Self::VmSizes
            | Self::Billing { .. }
            | Self::AllClusters
            | Self::Clusters
            | Self::SyncSets { .. }
            | Self::HiveObjects
            | Self::Selectors(_)
            | Self::SerialConsole(_) => "GET",
            Self::Objects(_) => "GET, POST, DELETE",
            Self::Maintenance(asked) => asked.methods(),
            Self::Action { action, .. } => action.methods(),
            Self::Kubeconfig { .. } | Self::Ssh(_) => "POST",
        }
    }

    /// The cluster that it names.
    pub(crate) const fn cluster(&self) -> Option<&ClusterPath> {
        match self {
            Self::Objects(path)
            | Self::Selectors(path)
            | Self::SerialConsole(path)
            | Self::Kubeconfig { path, .. }
            | Self::Ssh(path)
            | Self::Action { path, .. } => Some(path),
            Self::Maintenance(asked) => asked.cluster(),
            _ => None,
        }
    }
}

/// What the segments after `admin` mean. `of` reads paths of ARM: the cluster's, and the list of all.
pub(crate) fn route(
    rest: &[&str],
    of: impl Fn(usize) -> Result<Route, RouteError>,
) -> Result<Admin, RouteError> {
    /// Segments of a cluster's id.
    const ID: usize = 8;
    match rest {
        ["versions"] => Ok(Admin::Versions),
        ["platformworkloadidentityrolesets"] => Ok(Admin::RoleSets),
        ["supportedvmsizes"] => Ok(Admin::VmSizes),
        ["billingdocuments"] => Ok(Admin::Billing { id: None }),
        ["billingdocuments", id] => Ok(Admin::Billing { id: Some((*id).to_owned()) }),
        ["clusters"] => Ok(Admin::Clusters),
        ["hivesyncset"] => Ok(Admin::SyncSets { name: None }),
        ["hivesyncset", "syncsetname", name] => Ok(Admin::SyncSets { name: Some((*name).to_owned()) }),
        ["hive", "k8sobjects", _] => Ok(Admin::HiveObjects),
        ["subscriptions", ..] if rest.len() > ID => {
            let Route::Cluster(path) = of(ID)? else { return Err(RouteError::Unknown) };
            match rest.get(ID..).unwrap_or_default() {
                ["kubernetesobjects"] => Ok(Admin::Objects(path)),
                ["selectors"] => Ok(Admin::Selectors(path)),
                ["serialconsole"] => Ok(Admin::SerialConsole(path)),
                ["kubeconfig", "new"] => Ok(Admin::Kubeconfig { path, elevated: false }),
                ["kubeconfig", "newelevated"] => Ok(Admin::Kubeconfig { path, elevated: true }),
                ["ssh", "newelevated"] => Ok(Admin::Ssh(path)),
                suffix => match (MaintenancePath::of_cluster(&path, suffix), Action::find(suffix)) {
                    (Some(asked), _) => Ok(Admin::Maintenance(asked)),
                    (None, Some(action)) => Ok(Admin::Action { path, action }),
                    (None, None) => Err(RouteError::Unknown),
                },
            }
        }
        rest => MaintenancePath::of_region(rest).map(Admin::Maintenance).ok_or(RouteError::Unknown),
    }
}
