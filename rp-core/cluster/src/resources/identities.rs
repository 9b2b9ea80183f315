//! The identities of a cluster in the customer's directory (`contract/cluster.md` §6.1).

use rp_api::CloudError;
use rp_azure::{AzureError, Client, Directory as _, ErrorClass, Resources};
use rp_documents::OpenShiftCluster;
use rp_documents::cluster::{ClusterSecret, Worker};
use serde_json::Value;

use super::federated;
use crate::context::Context;
use crate::errors::StepError;
use crate::templates::versions;

/// Client and object ids of the platform's identities, read and written.
pub(crate) async fn platform_workload_identity_ids(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let client = federated::client(context);
    let mut found = Vec::new();
    for (operator, identity) in document.identities() {
        let body = match client.get(identity.resource_id, versions::IDENTITIES).await {
            Ok(Some(body)) => body,
            Ok(None) => {
                let text = format!("The identity '{}' could not be found.", identity.resource_id);
                return Err(invalid(operator, &text).into());
            }
            Err(error) if is_customers(&error) => return Err(invalid(operator, &error.message).into()),
            Err(error) => return Err(error.into()),
        };
        found.push((operator.to_owned(), ids(&body)));
    }
    let change = move |cluster: &mut OpenShiftCluster, by: Worker| {
        let profile = &mut cluster.properties.platform_workload_identity_profile;
        for (operator, (client, object)) in &found {
            let identity = profile.platform_workload_identities.entry_mut(operator);
            if let Some(identity) = identity.filter(|identity| identity.get().is_some()) {
                identity.client_id.set(by, client.as_str());
                identity.object_id.set(by, object.as_str());
            }
        }
    };
    context.patch(change).await.map(|_| ())
}

/// Client id and object id of an identity.
fn ids(body: &Value) -> (String, String) {
    let text = |member: &str| body["properties"][member].as_str().unwrap_or_default().to_owned();
    (text("clientId"), text("principalId"))
}

fn is_customers(error: &AzureError) -> bool {
    let class = error.class();
    matches!(error.status, Some(401 | 403))
        || matches!(class, ErrorClass::Throttled | ErrorClass::Unavailable)
}

fn invalid(operator: &str, message: &str) -> CloudError {
    let target =
        format!(".properties.platformWorkloadIdentityProfile.platformWorkloadIdentities[{operator:?}]");
    CloudError::bad("InvalidPlatformWorkloadIdentity", &target, message)
}

/// Client and object id of the cluster's own identity, under its id as the customer wrote it.
pub(crate) async fn cluster_identity_ids(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let own = document.own_identity().map_err(StepError::other)?.to_owned();
    let body = super::azure::must_get(&context.customer(), &own, versions::IDENTITIES).await?;
    let (client, object) = ids(&body);
    let change = move |cluster: &mut OpenShiftCluster, by: Worker| {
        let all = &mut cluster.managed_service_identity.user_assigned_identities;
        if let Some(own) = all.entry_mut(&own) {
            own.client_id.set(by, client.as_str());
            own.principal_id.set(by, object.as_str());
        }
    };
    context.patch(change).await.map(|_| ())
}

/// The identity's directory is the subscription's: the API's versions do not carry it.
pub(crate) async fn fixup_cluster_msi_tenant_id(context: &Context) -> Result<(), StepError> {
    let tenant = context.tenant();
    if context.document().managed_service_identity.tenant_id.eq_ignore_ascii_case(&tenant) {
        return Ok(());
    }
    let change = move |cluster: &mut OpenShiftCluster, by: Worker| {
        cluster.managed_service_identity.tenant_id.set(by, tenant.as_str());
    };
    context.patch(change).await.map(|_| ())
}

/// A client as the cluster's service principal.
pub(crate) fn service_principal(context: &Context) -> Result<Client, StepError> {
    let document = context.document();
    let secret = context
        .secret(ClusterSecret::ClientSecret)?
        .ok_or_else(|| StepError::other("the cluster's service principal has no secret"))?;
    let arm = context.env.azure.service_principal(document.client_id(), secret)?;
    Ok(arm.in_tenant(&context.tenant()))
}

/// The object id of the cluster's service principal.
pub(crate) async fn cluster_sp_object_id(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let application = document.client_id();
    let found = service_principal(context)?.service_principal(application).await?;
    let object = found.ok_or_else(|| {
        StepError::other(format!("no service principal found for application ID '{application}'"))
    })?;
    let change = move |cluster: &mut OpenShiftCluster, by: Worker| {
        cluster.properties.service_principal_profile.object_id.set(by, object.as_str());
    };
    context.patch(change).await.map(|_| ())
}

/// The same where it is not known. A failure is told; what needs the id says so itself.
pub(crate) async fn fixup_cluster_sp_object_id(context: &Context) -> Result<(), StepError> {
    if !context.document().principal().is_empty() {
        return Ok(());
    }
    match cluster_sp_object_id(context).await {
        Err(error) if !error.is_interruption() => {
            context.record_line(
                "warning",
                &format!("the cluster's service principal could not be looked up: {error}"),
            );
            Ok(())
        }
        done => done,
    }
}

/// The cluster has exactly one identity of its own. The data plane of identities, which gives its certificate, is not
/// asked yet: the first-party application acts in its place.
pub(crate) async fn ensure_cluster_msi_certificate(context: &Context) -> Result<(), StepError> {
    context.document().own_identity().map(|_| ()).map_err(StepError::other)
}
