//! What is stored, and its pure rules. No I/O, no clock.
//!
//! Stored JSON keeps members it does not know (`contract/database.md` §10): every struct here that is
//! read and written back carries them in `unknown`.

pub mod audit;
pub mod billing;
pub mod cluster;
pub mod collection;
pub mod elevation;
pub mod gateway;
pub mod grant;
pub mod health;
pub mod host_key;
pub mod imported;
pub mod lease;
pub mod login;
pub mod maintenance;
pub mod mirror;
pub mod notification;
pub mod offer;
pub mod operation;
pub mod operation_log;
pub mod person;
pub mod pool;
pub mod recording;
pub mod resource_id;
pub mod robot;
pub mod saved_query;
pub mod saved_view;
pub mod service_key;
pub mod session;
pub mod stream;
pub mod subscription;
pub mod wire_error;

pub use audit::{Actor, Entry, Outcome, Phase};
pub use billing::{Billing, BillingDocument};
pub use cluster::{ClusterDocument, OpenShiftCluster, ProvisioningState};
pub use collection::{Collection, Document};
pub use elevation::{Decision, Elevation, ElevationMethod, ElevationState, Review};
pub use gateway::{Gateway, GatewayDocument};
pub use grant::{Grant, GrantKind, GrantOptions, GrantUse, Revocation, Rights};
pub use health::{ClusterHealth, Standing};
pub use host_key::{HostKey, HostKeySource, RefusedKey};
pub use imported::{ImportedCluster, ImportedMachine, ImportedSsh, ImportedTunnel};
pub use lease::{Lease, Leased};
pub use login::{LoginCode, LoginFlow, SignIn};
pub use maintenance::{ManifestDocument, ScheduleDocument};
pub use mirror::{ClusterMirror, MirroredIngress, MirroredPrincipal, MirroredWorkers};
pub use notification::{
    Notification, NotificationCursor, NotificationEvent, NotificationFact, NotificationKind,
    NotificationMark, NotificationState, Severity,
};
pub use offer::{OpenShiftVersionDocument, PlatformRole, RoleSetDocument};
pub use operation::{AsyncOperation, AsyncOperationDocument, Reservation};
pub use operation_log::OperationLog;
pub use person::{Person, Role, Roles};
pub use pool::{BUCKETS, BucketLooks, Look, PoolDocument};
pub use recording::{Recording, RecordingKind};
pub use resource_id::{InvalidResourceId, ResourceId};
pub use robot::{Robot, Scope};
pub use saved_query::SavedQuery;
pub use saved_view::SavedView;
pub use service_key::ServiceKey;
pub use session::SessionRecord;
pub use stream::StreamRecord;
pub use subscription::{SubscriptionDocument, SubscriptionState};
pub use wire_error::{Side, WireError};

/// JSON members that this version of the software does not know.
pub type Unknown = serde_json::Map<String, serde_json::Value>;

/// A secret in a stored document: sealed text, see `rp-seal`. Prints as `[SEALED]`.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Sealed(pub String);

impl std::fmt::Debug for Sealed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[SEALED]")
    }
}
