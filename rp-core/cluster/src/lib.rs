//! Plans and steps that bring one cluster to what its document wants (`contract/cluster.md`). No database:
//! what must be stored goes through [`Progress`], the installation through [`Installation`].
//!
//! Entry rule: what touches one cluster and its Azure resources on behalf of one operation.

mod certificates;
mod cleanup;
mod cluster_data;
mod conditions;
mod context;
mod convert;
mod credentials;
mod day_one;
mod diagnostics;
mod document;
mod engine;
mod environment;
mod errors;
mod failure;
mod graph;
#[cfg(test)]
mod harness;
mod install;
mod installer;
mod json;
mod kube_api;
mod kubeconfigs;
mod machine_config;
mod maintenance;
mod manager;
mod manager_impl;
mod metrics;
mod operator;
mod plan;
mod progress;
mod resources;
mod roles;
mod step;
mod templates;
mod validation;
mod values;
mod vault;

pub use context::Context;
pub use document::Document;
pub use environment::{
    ClusterClients, Environment, Features, GatewayRecord, Gateways, OidcStorage, OperatorSettings, Periods,
    PrivateLinkClients, RoleSets,
};
pub use errors::StepError;
pub use failure::Failure;
pub use installer::{
    AssetInstallation, InstallError, InstallState, Installation, Installer, PemFiles, Versions,
};
pub use maintenance::{TaskFailure, TaskOrder};
pub use manager::{Job, Manager, Operation, Outcome};
pub use manager_impl::ClusterManager;
pub use metrics::{ClusterMetrics, StepMetrics};
pub use plan::{Phase, PlanInputs};
pub use progress::{Change, Progress, ProgressError, StepEvent};
pub use rp_azure::AzureClients;
pub use step::{ACTION, ActionFn, ConditionFn, ConditionStatus, LONG_ACTION, Step, StepFuture, StepKind};
pub use vault::{CertificateVault, Order};
