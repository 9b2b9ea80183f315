//! The routes for administrators' tools (`contract/frontend.md` §10, §11): the region as a whole, and
//! routes that read from one cluster. The authorizer decides who may call; each call is audited like any
//! other.

mod access;
mod action;
mod audit_detail;
mod azure;
mod billing;
mod catalogue;
mod cluster_api;
mod context;
mod csrs;
mod etcd;
mod exec;
mod fleet;
mod hive;
mod investigate;
mod kubernetes;
mod machines;
mod maintenance;
mod managed_resources;
mod network;
mod nodes;
mod object_writes;
mod objects;
mod ordered;
mod path;
mod pod_logs;
mod resize;
mod roles;
mod rules;
mod run_job;
mod selectors;
mod stream;
mod top;
mod vms;

use std::sync::Arc;

use http::Method;
use rp_api::CloudError;
use rp_azure::BootDiagnostics;

pub use access::{Issuer, SshEndpoint};
pub(crate) use action::Action;
pub(crate) use audit_detail::{AuditDetail, audit_detail};
pub use azure::TenantResources;
pub use cluster_api::ClusterConnector;
pub use investigate::Investigations;
pub(crate) use path::{Admin, route};
pub use roles::{AdminRole, AdminRoles};
pub(crate) use roles::{may_tool, needed};
pub(crate) use stream::{StreamEnd, StreamWatch};

use self::context::ActionContext;
use crate::call::Call;
use crate::dependencies::FrontendParts;
use crate::fault::Fault;
use crate::response::{HttpResponse, method_not_allowed};

/// What administrators' routes need besides the store. Routes whose dependency is missing return an error.
#[derive(Debug, Clone, Default)]
pub struct AdminParts {
    /// Connects to clusters; `None`: clusters cannot be reached.
    pub reach: Option<ClusterConnector>,
    /// Issues grants; `None`: grants cannot be issued.
    pub issuer: Option<Issuer>,
    /// Resources in Azure; `None`: Azure is not asked.
    pub azure: Option<Arc<dyn TenantResources>>,
    /// Reads serial consoles; `None`: Azure is not queried.
    pub machines: Option<Arc<dyn BootDiagnostics>>,
    /// Answers questions about clusters; `None`: none is answered.
    pub investigations: Option<Investigations>,
    /// The role of each person for whom the tool calls.
    pub roles: AdminRoles,
}

/// Dispatches a request to its handler.
pub(crate) async fn dispatch(
    parts: &FrontendParts,
    call: &Call,
    asked: &Admin,
) -> Result<HttpResponse, Fault> {
    match (&call.method, asked) {
        (&Method::GET, Admin::Versions) => catalogue::versions(parts).await,
        (&Method::PUT, Admin::Versions) => catalogue::put_version(parts, call).await,
        (&Method::GET, Admin::RoleSets) => catalogue::role_sets(parts).await,
        (&Method::PUT, Admin::RoleSets) => catalogue::put_role_set(parts, call).await,
        (&Method::GET, Admin::VmSizes) => catalogue::vm_sizes(parts, call),
        (&Method::GET, Admin::Billing { id: None }) => billing::list(parts, call).await,
        (&Method::GET, Admin::Billing { id: Some(id) }) => billing::get(parts, id).await,
        (&Method::GET, Admin::AllClusters) => fleet::list_pages(parts, call).await,
        (&Method::GET, Admin::Clusters) => fleet::list_all(parts, call).await,
        (&Method::GET, Admin::SyncSets { name }) => hive::sync_sets(call, name.as_deref()),
        (&Method::GET, Admin::HiveObjects) => Err(hive::not_available().into()),
        (&Method::GET, Admin::Objects(path)) => objects::get(parts, call, path).await,
        (&Method::POST, Admin::Objects(path)) => {
            object_writes::put(ActionContext { parts, call, path }).await
        }
        (&Method::DELETE, Admin::Objects(path)) => {
            object_writes::delete(ActionContext { parts, call, path }).await
        }
        (method, Admin::Action { path, action }) if action.is_called_by(method) => {
            act(ActionContext { parts, call, path }, *action).await
        }
        (&Method::GET, Admin::SerialConsole(path)) => machines::serial_console(parts, call, path).await,
        (&Method::GET, Admin::Selectors(path)) => selectors::get(parts, path).await,
        (_, Admin::Maintenance(asked)) => maintenance::dispatch(parts, call, asked).await,
        (&Method::POST, Admin::Kubeconfig { path, elevated }) => {
            access::kubeconfig(parts, call, path, *elevated).await
        }
        (&Method::POST, Admin::Ssh(path)) => access::ssh(parts, call, path).await,
        _ => Ok(method_not_allowed(asked.methods())),
    }
}

/// Does something with one cluster.
async fn act(of: ActionContext<'_>, action: Action) -> Result<HttpResponse, Fault> {
    match action {
        Action::PodLogs => pod_logs::get(of).await,
        Action::ApproveCsr => csrs::approve(of).await,
        Action::CordonNode => nodes::cordon(of).await,
        Action::DrainNode => nodes::drain(of).await,
        Action::TopPods => top::pods(of).await,
        Action::TopNodes => top::nodes(of).await,
        Action::Exec => exec::exec(of).await,
        Action::RunJob => run_job::run(of).await,
        Action::Investigate => investigate::investigate(of).await,
        Action::EtcdKeyCount => exec::etcd_key_count(of).await,
        Action::RecoverEtcd => etcd::recover(of).await,
        Action::RenewEtcdCertificates => etcd::renew_certificates(of).await,
        Action::Resources => managed_resources::list(of).await,
        Action::RouteTable => network::effective_routes(of).await,
        Action::Skus => network::skus(of).await,
        Action::ResizeValidation => resize::validate(of).await,
        Action::ResizeInventory => resize::check_inventory(of).await,
        Action::RedeployVm => vms::redeploy(of).await,
        Action::StartVm => vms::start(of).await,
        Action::StopVm => vms::stop(of).await,
        Action::ResizeControlPlane => resize::resize(of).await,
        Action::ResizeVm => vms::resize(of).await,
        Action::ReconcileNic => network::reconcile(of).await,
        Action::DeleteResource => managed_resources::delete(of).await,
        Action::ClusterDeployment => Err(hive::not_available().into()),
        Action::ClusterSync => Err(hive::no_syncs().into()),
    }
}

/// A 500 with the original error text: admin callers see it (`contract/frontend.md` §2 Replies, "A").
fn failed(message: impl Into<String>) -> CloudError {
    CloudError::new(500, "InternalServerError", "", message)
}
