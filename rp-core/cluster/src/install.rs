//! The installation itself, which is somebody else's work, and who pays for what it makes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_api::CloudError;
use rp_base::text::clean;
use rp_documents::cluster::ClusterSecret;
use serde_json::Value;

use crate::context::Context;
use crate::errors::StepError;
use crate::installer::{InstallError, InstallState};
use crate::resources::deploy::with_detail;
use crate::step::ConditionStatus;

/// Members that an installer needs open, whose plain form is text.
const OPENED: [ClusterSecret; 9] = [
    ClusterSecret::PullSecret,
    ClusterSecret::BoundServiceAccountSigningKey,
    ClusterSecret::ClientSecret,
    ClusterSecret::KubeadminPassword,
    ClusterSecret::AdminKubeconfig,
    ClusterSecret::ServiceKubeconfig,
    ClusterSecret::SreKubeconfig,
    ClusterSecret::UserAdminKubeconfig,
    ClusterSecret::ClusterAuthorities,
];

/// Begins, or finds that it has begun.
pub(crate) async fn run_installer(context: &Context) -> Result<(), StepError> {
    let opened = unseal_document(context)?;
    context.env.installer.begin(&opened).await?;
    context.record_line("info", "the installation of OpenShift has begun");
    Ok(())
}

/// The document with its secrets open, as JSON for the installer. It lives for this call and is never logged.
fn unseal_document(context: &Context) -> Result<Value, StepError> {
    let document = context.document();
    let mut copy = document.envelope().clone();
    let registries = (0..document.properties.registry_profiles.len()).map(ClusterSecret::RegistryPassword);
    for secret in OPENED.into_iter().chain(registries) {
        if let Some(plain) = context.secret(secret)? {
            secret.open_in(&mut copy.cluster, plain.expose().clone());
        }
    }
    if let Some(key) = context.secret_bytes(ClusterSecret::SshKey)? {
        ClusterSecret::SshKey.open_in(&mut copy.cluster, STANDARD.encode(key.expose()));
    }
    serde_json::to_value(copy)
        .map_err(|_| StepError::other("the document cannot be written for the installer"))
}

/// Whether OpenShift is there.
///
/// # Errors
/// The installation failed; 500 `InternalServerError`, or 400 `DeploymentFailed` with Azure's reason.
pub(crate) async fn installation_complete(context: &Context) -> Result<ConditionStatus, StepError> {
    match context.env.installer.state(&context.document().key()).await {
        Ok(InstallState::Complete) => Ok(ConditionStatus::Yes),
        Ok(InstallState::Running { message }) => Ok(ConditionStatus::not_yet(message)),
        // Its process began anew and remembers nothing.
        Ok(InstallState::Unknown) => match run_installer(context).await {
            Err(StepError::Installer(InstallError::Away(why))) => Ok(ConditionStatus::not_yet(why)),
            begun => begun.map(|()| ConditionStatus::not_yet("the installation is begun again")),
        },
        Ok(InstallState::Failed { reason, message }) => {
            let detail = clean(&format!("{reason}: {message}"), 2000);
            context.record_line("error", &detail);
            Err(StepError::Explained { told: installation_failed(&reason), detail })
        }
        Err(InstallError::Away(why)) => Ok(ConditionStatus::not_yet(why)),
        Err(refused) => Err(refused.into()),
    }
}

/// What the customer reads of an installer's reason (`contract/cluster.md` §10.4).
fn installation_failed(reason: &str) -> CloudError {
    let details = "Deployment failed. Please see details for more information.";
    let message = match reason {
        "AzureKeyBasedAuthenticationNotPermitted" => {
            "Deployment failed with KeyBasedAuthenticationNotPermitted error. Please see details for more information."
        }
        "AzureRequestDisallowedByPolicy" => {
            "Deployment failed due to RequestDisallowedByPolicy. Please see details for more information."
        }
        "AzureInvalidTemplateDeployment" | "AzureZonalAllocationFailed" => details,
        "AzureOSProvisioningTimedOut" => {
            "Deployment failed due to OSProvisioningTimedOut. The cluster's virtual machines failed to start up in time. \
             Please check your network configuration."
        }
        _ => return CloudError::new(500, "InternalServerError", "", "Deployment failed."),
    };
    let told = CloudError::bad("DeploymentFailed", "", message);
    match reason {
        "AzureKeyBasedAuthenticationNotPermitted" => with_detail(told, NO_KEYS.to_owned()),
        _ => told,
    }
}

/// What a customer can do whose policies take keys away from the cluster's storage account.
const NO_KEYS: &str = "Cluster creation failed because key based authentication has been disabled on the ARO cluster storage account, most likely by an Azure Policy modify effect. Please ensure that any policies in your Azure subscription do not mutate this property on the storage accounts provisioned during ARO cluster deployment. See https://learn.microsoft.com/en-us/azure/governance/policy/concepts/effect-modify for more details.";

/// From now on somebody pays for it.
pub(crate) async fn ensure_billing_record(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let (infra, location) = (document.infra_id(), document.location());
    Ok(context.progress().create_billing_record(infra, &context.tenant(), &location).await?)
}

/// Nobody pays any more.
pub(crate) async fn end_billing_record(context: &Context) -> Result<(), StepError> {
    Ok(context.progress().end_billing_record().await?)
}

/// What the installer keeps of it goes too.
pub(crate) async fn remove_installation(context: &Context) -> Result<(), StepError> {
    Ok(context.env.installer.remove(&context.document().key()).await?)
}
