//! A cluster's document (`contract/database.md` §2.2, `contract/api.md` §2, §3, §5, §6): the only type for clusters.
//!
//! Every member of the contract has a type, a place and an owner here. Members that this version of the software does
//! not know, nulls, and JSON of another shape are kept: a document that is read and written back is the same text.
//! A cluster is a JSON value only where versions of the API are converted (`rp-frontend`, `clusters/version_json.rs`).

mod defaults;
mod envelope;
mod identity;
mod install;
mod maintenance;
mod member;
mod mirrored;
mod object;
mod profiles;
mod properties;
pub mod provisioning;
mod secrets;
mod shape;
mod string_enum;
pub mod writer;

pub use envelope::{ClusterDocument, CorrelationData, OpenShiftCluster, Position, Retry, SystemData};
pub use identity::{
    ManagedServiceIdentity, PlatformWorkloadIdentity, PlatformWorkloadIdentityProfile,
    ServicePrincipalProfile, UserAssignedIdentity,
};
pub use install::{Install, InstallPhase};
pub use maintenance::{MaintenanceState, MaintenanceTask};
pub use member::{Intent, Member, Outcome, Shared};
pub use object::Object;
pub use profiles::{
    ApiServerProfile, ClusterProfile, ConsoleProfile, EffectiveOutboundIp, FeatureProfile, HiveProfile,
    IngressProfile, LoadBalancerProfile, ManagedOutboundIps, MasterProfile, NetworkProfile,
    OutboundReference, RegistryProfile, WorkerProfile,
};
pub use properties::Properties;
pub use provisioning::ProvisioningState;
pub use secrets::ClusterSecret;
pub use shape::{FromJson, Instant, Map, Zero};
pub use writer::{Edge, Worker};

#[cfg(test)]
mod tests;
