//! What the service and the operator of a cluster agree on (`contract/operator.md` §2 to §5): the custom resources, the
//! flags, and the objects by which the service deploys the operator. Pure: values in, values out.
//!
//! Entry rule: a type, a name or an object that both sides need.

pub mod cluster;
pub mod conditions;
pub mod crd;
pub mod deployment;
pub mod flags;
pub mod preview;

pub use cluster::{Cluster, ClusterSpec, ClusterStatus, Condition};
pub use flags::{Flag, Flags, Managed};
pub use preview::PreviewFeature;

/// The namespace of the operator.
pub const NAMESPACE: &str = "openshift-azure-operator";
/// The name of the one `Cluster` and of the one `PreviewFeature`.
pub const SINGLETON: &str = "cluster";
/// The field manager of everything that the operator applies in a cluster.
pub const FIELD_MANAGER: &str = "aro-operator";
