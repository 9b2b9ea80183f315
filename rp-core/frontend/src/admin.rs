//! What only administrators' tools may ask for (`contract/frontend.md` §10, §11): the region as a whole, and
//! what looks into one cluster. Who may call is the authorizer's business; each call is in the trail like any
//! other.

mod access;
mod billing;
mod catalogue;
mod fleet;
mod hive;
mod kubernetes;
mod machines;
mod objects;
mod path;
mod reach;
mod roles;
mod rules;
mod selectors;

use std::sync::Arc;

use http::{Method, StatusCode};
use rp_api::CloudError;
use rp_azure::BootDiagnostics;

pub use access::{Issuer, SshDoor};
pub(crate) use path::{Admin, route};
pub use reach::Reach;
pub use roles::{AdminRole, AdminRoles};
pub(crate) use roles::{may_tool, needed};

use crate::answer::{Answer, empty};
use crate::call::Call;
use crate::fault::Fault;
use crate::parts::FrontendParts;

/// What administrators' routes need beside the store. What is missing is said by the routes that need it.
#[derive(Debug, Clone, Default)]
pub struct AdminParts {
    /// How clusters are reached; `None`: they are not.
    pub reach: Option<Reach>,
    /// Gives out accesses; `None`: nobody does.
    pub issuer: Option<Issuer>,
    /// Tells what machines say; `None`: Azure is not asked.
    pub machines: Option<Arc<dyn BootDiagnostics>>,
    /// What each person may do for whom the tool calls.
    pub roles: AdminRoles,
}

/// Does what was asked for.
pub(crate) async fn dispatch(parts: &FrontendParts, call: &Call, asked: &Admin) -> Result<Answer, Fault> {
    match (&call.method, asked) {
        (&Method::GET, Admin::Versions) => catalogue::versions(parts).await,
        (&Method::PUT, Admin::Versions) => catalogue::put_version(parts, call).await,
        (&Method::GET, Admin::RoleSets) => catalogue::role_sets(parts).await,
        (&Method::PUT, Admin::RoleSets) => catalogue::put_role_set(parts, call).await,
        (&Method::GET, Admin::VmSizes) => catalogue::vm_sizes(parts, call),
        (&Method::GET, Admin::Billing { id: None }) => billing::list(parts, call).await,
        (&Method::GET, Admin::Billing { id: Some(id) }) => billing::get(parts, id).await,
        (&Method::GET, Admin::AllClusters) => fleet::whole(parts, call).await,
        (&Method::GET, Admin::Clusters) => fleet::flat(parts, call).await,
        (&Method::GET, Admin::SyncSets { name }) => hive::sync_sets(call, name.as_deref()),
        (&Method::GET, Admin::HiveObjects) => Err(hive::off().into()),
        (&Method::GET, Admin::Objects(path)) => objects::get(parts, call, path).await,
        (&Method::GET, Admin::SerialConsole(path)) => machines::serial_console(parts, call, path).await,
        (&Method::GET, Admin::Selectors(path)) => selectors::get(parts, path).await,
        (&Method::POST, Admin::Kubeconfig { path, elevated }) => {
            access::kubeconfig(parts, call, path, *elevated).await
        }
        (&Method::POST, Admin::Ssh(path)) => access::ssh(parts, call, path).await,
        _ => Ok(empty(StatusCode::METHOD_NOT_ALLOWED)),
    }
}

/// What went wrong, in its own words: these callers are told (`contract/frontend.md` §2 Replies, "A").
fn failed(message: impl Into<String>) -> CloudError {
    CloudError::new(500, "InternalServerError", "", message)
}
