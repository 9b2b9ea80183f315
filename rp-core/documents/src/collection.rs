//! The store's collections and what a stored document is.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Every collection of the store (`contract/database.md` §2, `contract/rules.md` §5.13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Collection {
    OpenShiftClusters,
    ImportedClusters,
    ClusterHealth,
    ClusterMirror,
    Looks,
    PoolWorkers,
    Subscriptions,
    AsyncOperations,
    Reservations,
    Billing,
    Gateway,
    OpenShiftVersions,
    RoleSets,
    OperationLogs,
    SavedViews,
    Grants,
    GrantUse,
    Sessions,
    SignIns,
    Elevations,
    Robots,
    Streams,
    LoginCodes,
    SavedQueries,
    AuditBatches,
    Checkpoints,
    AuditTombstones,
    AuditIndex,
    AuditSinks,
    HostKeys,
    Recordings,
    ServiceKeys,
    MaintenanceManifests,
    MaintenanceSchedules,
    Notifications,
    NotificationMarks,
    NotificationCursors,
}

impl Collection {
    /// Every collection.
    pub const ALL: [Self; 37] = [
        Self::OpenShiftClusters,
        Self::ImportedClusters,
        Self::ClusterHealth,
        Self::ClusterMirror,
        Self::Looks,
        Self::PoolWorkers,
        Self::Subscriptions,
        Self::AsyncOperations,
        Self::Reservations,
        Self::Billing,
        Self::Gateway,
        Self::OpenShiftVersions,
        Self::RoleSets,
        Self::OperationLogs,
        Self::SavedViews,
        Self::Grants,
        Self::GrantUse,
        Self::Sessions,
        Self::SignIns,
        Self::Elevations,
        Self::Robots,
        Self::Streams,
        Self::LoginCodes,
        Self::SavedQueries,
        Self::AuditBatches,
        Self::Checkpoints,
        Self::AuditTombstones,
        Self::AuditIndex,
        Self::AuditSinks,
        Self::HostKeys,
        Self::Recordings,
        Self::ServiceKeys,
        Self::MaintenanceManifests,
        Self::MaintenanceSchedules,
        Self::Notifications,
        Self::NotificationMarks,
        Self::NotificationCursors,
    ];

    /// The stored name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenShiftClusters => "OpenShiftClusters",
            Self::ImportedClusters => "ImportedClusters",
            Self::ClusterHealth => "ClusterHealth",
            Self::ClusterMirror => "ClusterMirror",
            Self::Looks => "Looks",
            Self::PoolWorkers => "PoolWorkers",
            Self::Subscriptions => "Subscriptions",
            Self::AsyncOperations => "AsyncOperations",
            Self::Reservations => "Reservations",
            Self::Billing => "Billing",
            Self::Gateway => "Gateway",
            Self::OpenShiftVersions => "OpenShiftVersions",
            Self::RoleSets => "PlatformWorkloadIdentityRoleSets",
            Self::OperationLogs => "OperationLogs",
            Self::SavedViews => "SavedViews",
            Self::Grants => "Grants",
            Self::GrantUse => "GrantUse",
            Self::Sessions => "Sessions",
            Self::SignIns => "SignIns",
            Self::Elevations => "Elevations",
            Self::Robots => "Robots",
            Self::Streams => "Streams",
            Self::LoginCodes => "LoginCodes",
            Self::SavedQueries => "SavedQueries",
            Self::AuditBatches => "AuditBatches",
            Self::Checkpoints => "Checkpoints",
            Self::AuditTombstones => "AuditTombstones",
            Self::AuditIndex => "AuditIndex",
            Self::AuditSinks => "AuditSinks",
            Self::HostKeys => "HostKeys",
            Self::Recordings => "Recordings",
            Self::ServiceKeys => "ServiceKeys",
            Self::MaintenanceManifests => "MaintenanceManifests",
            Self::MaintenanceSchedules => "MaintenanceSchedules",
            Self::Notifications => "Notifications",
            Self::NotificationMarks => "NotificationMarks",
            Self::NotificationCursors => "NotificationCursors",
        }
    }

    /// The collection of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|collection| collection.name() == name)
    }
}

/// A type that is stored whole in one collection.
pub trait Document: Serialize + DeserializeOwned + Clone + Send + Sync + 'static {
    /// Where it is stored.
    const COLLECTION: Collection;

    /// Its id: lower case, unique in the partition.
    fn id(&self) -> &str;

    /// Its partition key; the id unless the collection says otherwise (`contract/database.md` §2).
    fn partition(&self) -> &str {
        self.id()
    }

    /// A second unique key over the whole collection, lower case (clusters: the resource id).
    fn unique_key(&self) -> Option<Cow<'_, str>> {
        None
    }
}
