//! Paths of maintenance below `/admin`.

use crate::path::ClusterPath;

/// A route of maintenance. Ids are lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MaintenancePath {
    Manifests(ClusterPath),
    Manifest {
        path: ClusterPath,
        id: String,
    },
    Cancel {
        path: ClusterPath,
        id: String,
    },
    /// Those of all clusters that wait.
    Queued,
    /// Cancels what a schedule planned.
    CancelOfSchedule,
    Schedules,
    Schedule {
        id: String,
    },
}

macro_rules! below {
    ($suffix:literal) => {
        concat!(
            "/admin/subscriptions/{subscriptionId}/resourcegroups/{resourceGroupName}/providers/",
            "{resourceProviderNamespace}/{resourceType}/{resourceName}/maintenancemanifests",
            $suffix
        )
    };
}

impl MaintenancePath {
    /// The route of the segments after `admin` that are no cluster's.
    pub(crate) fn of_region(segments: &[&str]) -> Option<Self> {
        match segments {
            ["maintenancemanifests", "queued"] => Some(Self::Queued),
            ["maintenancemanifests", "cancel"] => Some(Self::CancelOfSchedule),
            ["maintenanceschedules"] => Some(Self::Schedules),
            ["maintenanceschedules", id] => Some(Self::Schedule { id: (*id).to_owned() }),
            _ => None,
        }
    }

    /// The route of the segments after a cluster's id.
    pub(crate) fn of_cluster(path: &ClusterPath, segments: &[&str]) -> Option<Self> {
        let (path, id) = (path.clone(), |id: &&str| (*id).to_owned());
        match segments {
            ["maintenancemanifests"] => Some(Self::Manifests(path)),
            ["maintenancemanifests", one] => Some(Self::Manifest { path, id: id(one) }),
            ["maintenancemanifests", one, "cancel"] => Some(Self::Cancel { path, id: id(one) }),
            _ => None,
        }
    }

    pub(crate) const fn template(&self) -> &'static str {
        match self {
            Self::Manifests(_) => below!(""),
            Self::Manifest { .. } => below!("/{manifestId}"),
            Self::Cancel { .. } => below!("/{manifestId}/cancel"),
            Self::Queued => "/admin/maintenancemanifests/queued",
            Self::CancelOfSchedule => "/admin/maintenancemanifests/cancel",
            Self::Schedules => "/admin/maintenanceschedules",
            Self::Schedule { .. } => "/admin/maintenanceschedules/{scheduleId}",
        }
    }

    pub(crate) const fn methods(&self) -> &'static str {
        match self {
            Self::Manifests(_) | Self::Schedules => "GET, PUT",
            Self::Manifest { .. } | Self::Schedule { .. } => "GET, DELETE",
            Self::Cancel { .. } | Self::CancelOfSchedule => "POST",
            Self::Queued => "GET",
        }
    }

    pub(crate) const fn cluster(&self) -> Option<&ClusterPath> {
        match self {
            Self::Manifests(path) | Self::Manifest { path, .. } | Self::Cancel { path, .. } => Some(path),
            Self::Queued | Self::CancelOfSchedule | Self::Schedules | Self::Schedule { .. } => None,
        }
    }
}
