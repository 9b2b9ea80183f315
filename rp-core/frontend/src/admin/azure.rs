//! What actions need of Azure: the managed resource group of a cluster, asked in its subscription's tenant
//! (`contract/frontend.md` §11, common steps).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rp_api::CloudError;
use rp_azure::{Arm, AzureError, ErrorKind, Resources};
use rp_database::Typed;
use rp_documents::SubscriptionDocument;
use serde_json::Value;

use super::context::ActionContext;
use super::failed;
use crate::document::StoredCluster;
use crate::fault::Fault;

/// Time limit of an action that changes something in Azure, with its waits.
const WITHIN: Duration = Duration::from_mins(30);
/// Longest id of a resource, bytes.
const MOST_ID: usize = 1024;
pub(super) const COMPUTE: &str = "2024-03-01";
pub(super) const NETWORK: &str = "2020-08-01";

/// Resources of a tenant, as the first-party application.
pub trait TenantResources: Send + Sync + fmt::Debug + 'static {
    /// A client in that tenant.
    fn in_tenant(&self, tenant: &str) -> Arc<dyn Resources>;
}

impl TenantResources for Arm {
    fn in_tenant(&self, tenant: &str) -> Arc<dyn Resources> {
        Arc::new(Arm::in_tenant(self, tenant))
    }
}

/// A cluster and its managed resource group in Azure.
pub(super) struct ManagedGroup {
    pub(super) cluster: StoredCluster,
    pub(super) azure: Arc<dyn Resources>,
    /// The resource id of the group.
    pub(super) group: String,
}

impl ManagedGroup {
    /// Of the action's cluster.
    ///
    /// # Errors
    /// 404: there is no such cluster. 400: the subscription is not known. 500: Azure is not asked from here.
    pub(super) async fn find(of: &ActionContext<'_>) -> Result<Self, Fault> {
        let cluster = of.cluster().await?;
        let tenant = tenant(of).await?;
        let azure = of.parts.admin.azure.as_ref();
        let azure = azure.ok_or_else(|| failed("Azure cannot be asked from here"))?.in_tenant(&tenant);
        let group = cluster.value.cluster.properties.cluster_profile.resource_group_id.clone();
        if group.is_empty() {
            return Err(failed("the cluster has no managed resource group").into());
        }
        Ok(Self { azure, group: group.to_string(), cluster })
    }

    /// The id of a resource in the group; the name was checked.
    pub(super) fn id(&self, kind: &str, name: &str) -> String {
        format!("{}/providers/{kind}/{name}", self.group)
    }

    /// The group's name.
    pub(super) fn name(&self) -> &str {
        self.group.rsplit('/').next().unwrap_or_default()
    }
}

/// The tenant of the cluster's subscription, in whatever state (`contract/frontend.md` §11).
async fn tenant(of: &ActionContext<'_>) -> Result<String, Fault> {
    let subscriptions = Typed::<SubscriptionDocument>::new(of.parts.store.clone());
    let found =
        subscriptions.get(&of.path.subscription).await?.ok_or_else(|| unregistered(&of.path.subscription))?;
    Ok(found.value.tenant().to_owned())
}

/// 400: the subscription was never registered.
pub(super) fn unregistered(subscription: &str) -> CloudError {
    let message = format!("Request is not allowed in unregistered subscription '{subscription}'.");
    CloudError::bad("InvalidSubscriptionState", "", message)
}

/// Bounds a change in Azure. What Azure has begun goes on when the time is over.
///
/// # Errors
/// Azure's, or 500: it took longer.
pub(super) async fn changed<T>(work: impl Future<Output = Result<T, AzureError>>) -> Result<T, CloudError> {
    let late = |_| failed(format!("Azure did not finish within {} s", WITHIN.as_secs()));
    tokio::time::timeout(WITHIN, work).await.map_err(late)?.map_err(|error| azure_error(&error))
}

/// As [`changed`], for what only reads.
///
/// # Errors
/// As [`changed`].
pub(super) async fn read<T>(work: impl Future<Output = Result<T, AzureError>>) -> Result<T, CloudError> {
    changed(work).await
}

/// What Azure refuses is passed on with its status and words; anything else is a 500 with the words
/// (`contract/frontend.md` §2 Replies "A", "Do better" 36).
pub(super) fn azure_error(error: &AzureError) -> CloudError {
    let (status, code) = match error.kind {
        ErrorKind::NotFound => (404, "NotFound"),
        ErrorKind::Conflict => (409, "Conflict"),
        ErrorKind::Throttled => (429, "TooManyRequests"),
        ErrorKind::Resolve
        | ErrorKind::Connect
        | ErrorKind::Tls
        | ErrorKind::Timeout
        | ErrorKind::Broken
        | ErrorKind::Credential
        | ErrorKind::Cloud
        | ErrorKind::Unauthorized
        | ErrorKind::Forbidden
        | ErrorKind::Refused
        | ErrorKind::Server
        | ErrorKind::Failed
        | ErrorKind::Malformed
        | ErrorKind::Request => (500, "InternalServerError"),
    };
    CloudError::new(status, code, "", error.to_string())
}

/// The version of a resource, for changes under a condition.
pub(super) fn etag(body: &Value) -> Option<&str> {
    body["etag"].as_str().filter(|etag| !etag.is_empty())
}

/// Writes a resource back, provided that it is what it was when it was read.
///
/// # Errors
/// Azure's; 409: it was changed since.
pub(super) async fn put_back(
    azure: &Arc<dyn Resources>,
    id: &str,
    api_version: &str,
    body: &Value,
    etag: Option<&str>,
) -> Result<Value, AzureError> {
    match etag {
        Some(etag) => azure.put_when(id, api_version, body, rp_azure::Precondition::Unchanged(etag)).await,
        None => azure.put(id, api_version, body).await,
    }
}

/// Whether it is written like a resource id: segments of names, nothing else.
pub(super) fn is_id(text: &str) -> bool {
    let good = |b: u8| b.is_ascii_alphanumeric() || b"-_.()".contains(&b);
    let segment = |part: &str| !part.is_empty() && part.bytes().all(good) && !matches!(part, "." | "..");
    text.len() <= MOST_ID && text.strip_prefix('/').is_some_and(|rest| rest.split('/').all(segment))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_nothing_but_names() {
        assert!(is_id(
            "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/loadBalancers/a_b.c(1)"
        ));
        for bad in ["", "/", "a/b", "/a//b", "/a/../b", "/a/b?x=1", "/a/b%2fc", "/a/b/", "/a/ü"] {
            assert!(!is_id(bad), "{bad}");
        }
    }
}
