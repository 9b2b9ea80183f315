//! Azure's REST API: one transport, credentials with their tokens, and a small trait per kind of resource.
//!
//! Entry rule: what is specific to Azure and needs neither a store nor a cluster. The user of a resource asks for its
//! trait ([`Resources`], [`Subnets`], [`VmStates`]), so that a test needs no cloud; their real implementations are
//! [`Arm`] and [`Client`], one identity in one tenant, which [`AzureClients`] gives.

mod access;
mod app_lens;
pub mod arm;
mod blob_account;
mod blob_sas;
mod blobs;
mod boot_diagnostics;
mod class;
mod client;
mod clients;
mod cloud;
mod credential;
mod deployments;
mod error;
mod facts;
mod machines;
mod metrics;
mod names;
mod operation;
mod path;
mod record_sets;
mod resources;
mod retry;
pub mod serial;
mod service_error;
mod storage_accounts;
mod subnets;
#[cfg(test)]
mod tests;
mod token;
mod transport;
mod vault;
mod versions;
mod virtual_machines;
pub mod vm_body;

pub use access::{AccessChecks, Decision, Directory, Subject};
pub use app_lens::{AppLens, DiagnosisClient};
pub use arm::{Arm, ArmOptions, Call, CallPolicy, CallSettings};
pub use blob_account::AccountAccess;
pub use blob_sas::{BlobSas, BlobSignatures};
pub use blobs::{BlobAccess, BlobStore};
pub use boot_diagnostics::{BootDiagnostics, Screenshot, SerialLog};
pub use class::ErrorClass;
pub use client::{Client, Polling};
pub use clients::{AzureClients, CloudClients};
pub use cloud::{Audience, Cloud, Diagnosis, Endpoints, UnknownCloud};
pub use credential::{Credential, IdentityEndpoint};
pub use deployments::Deployments;
pub use error::{AzureError, ErrorDetails, ErrorKind};
pub use facts::{Sku, SubscriptionFacts, Usage};
pub use machines::Machines;
pub use metrics::{ObservedCall, Observer, register_metrics};
pub use operation::{Operation, PollResult, PollSource};
pub use record_sets::{ARecord, RecordSets};
pub use resources::{BeginResponse, Precondition, Request, Resources};
pub use retry::{RealSleep, Repeat, Retrier, RetryPolicy, Sleep};
pub use service_error::ServiceError;
pub use storage_accounts::{SasRequest, StorageAccounts, sign_account_sas};
pub use subnets::{SecurityGroup, SecurityRule, Subnet, Subnets};
pub use vault::{CertificateOrder, Vault, VaultSecret};
pub use versions::api_version;
pub use virtual_machines::{PowerState, Tenants, VmState, VmStates};
