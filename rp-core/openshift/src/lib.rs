//! Plain types of the Kubernetes and OpenShift objects that we read, one each, and facts that follow from one object.
//!
//! Entry rule: what an object of a cluster holds, and what can be said of it without looking at anything else.
//!
//! A type has all members that any part of the product reads; a [`Reader`] chooses how much of them it keeps. What is
//! not read is skipped while parsing. A member that is missing, null or of the wrong type counts as absent; it never
//! makes an object unreadable; a member that is given twice does.

mod aro;
mod config;
mod etcd;
mod event;
mod hive;
mod ingress;
pub mod lenient;
mod list;
mod machine;
mod meta;
pub mod namespaces;
mod node;
mod operator;
mod pod;
mod pool;
mod provider;
pub mod pull_secret;
mod quantity;
mod reader;
mod secret;
#[cfg(test)]
mod tests;
mod version;
mod virtual_machine;
mod workload;

pub use aro::{AroCluster, AroSpec, AroStatus, Banner};
pub use config::{
    AzurePlatform, Cidr, Console, ConsoleStatus, Dns, DnsSpec, DomainSpec, Empty, ImageRegistry,
    ImageRegistrySpec, ImageStorage, Infrastructure, InfrastructureStatus, Ingress, Network, NetworkSpec,
    NetworkStatus, PlatformStatus, Proxy, ProxyHosts, StorageAccount,
};
pub use etcd::{Etcd, EtcdNode, EtcdStatus};
pub use event::{Event, EventSeries, EventSource, InvolvedObject};
pub use hive::{ClusterSync, HiveDeployment, SyncSet, SyncStatus};
pub use ingress::{
    Address, Addresses, IngressController, IngressSpec, IngressStatus, LoadBalancer, PublishingStrategy,
    Route, RouteSpec, SecretName, Service, ServiceStatus,
};
pub use lenient::{Given, Int, Length, Pairs, Present, Text, Texts, Time, WholeText};
pub use list::{LenientList, List, ListMeta, Object, ObjectStatus};
pub use machine::{
    ControlPlaneMachineSet, ControlPlaneSpec, FailureDomain, FailureDomains, LastOperation, MACHINE_SIZE,
    Machine, MachineSet, MachineSetSpec, MachineSetStatus, MachineSpec, MachineStatus, MachineTemplate,
    ProviderStatus, SetTemplate, SetTemplateSpec, TemplateMeta, UpdateStrategy,
};
pub use meta::{Condition, Conditions, Labels, Meta, NameOnly, OwnerReference, Status, condition, status_of};
pub use node::{
    AttachedVolume, Capacity, MainRole, NODE_SIZES, Node, NodeAddress, NodeInfo, NodeSpec, NodeStatus, Taint,
};
pub use operator::{ClusterOperator, OperandVersion, OperatorState, OperatorStatus, RelatedObject};
pub use pod::{
    ContainerPair, ContainerPort, ContainerSpec, ContainerState, ContainerStates, ContainerStatus,
    EnvironmentVariable, Pod, PodAddress, PodSpec, PodStatus, StateDetail,
};
pub use pool::{Pool, PoolSpec, PoolStatus};
pub use provider::{ManagedDisk, OsDisk, Provider, ProviderSpec, SecurityProfile, SetId, UserDataSecret};
pub use quantity::Quantity;
pub use reader::{Member, Reader, Skipped, TextValue, Whole};
pub use secret::{
    CertificateData, CloudProvider, CloudProviderData, Credentials, CredentialsData, PullSecret,
    PullSecretData, SecretCertificate,
};
pub use version::{
    ClusterVersion, ConditionalUpdate, HistoryEntry, Release, Risk, VersionSpec, VersionStatus,
};
pub use virtual_machine::{Guest, VirtualMachine, VirtualMachineStatus};
pub use workload::{PodTemplate, PodTemplateSpec, Workload, WorkloadKind, WorkloadSpec, WorkloadStatus};
