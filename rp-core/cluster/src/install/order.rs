//! What the runner is given: the document with its secrets open, the version, the region and the sizes of machines
//! (`contract/installer.md` §2, §5, §11.4, §11.5).

use rp_api::CloudError;
use rp_azure::{Cloud, Sku};
use rp_base::chain;
use rp_documents::cluster::ClusterSecret;
use rp_documents::offer::OpenShiftVersionProperties;
use rp_install::facts::{OpenSecrets, RegionFacts, SizeFacts};
use rp_install::runner::{AzureCredentials, InstallOrder, Proof};
use rp_install::{InputError, InstallFacts};
use rp_openshift::pull_secret::RegistryCredentials;
use serde_json::Value;

use crate::context::Context;
use crate::credentials;
use crate::errors::StepError;
use crate::installer::AssetInstallation;
use crate::kube_api::secret;
use crate::resources::zones;
use crate::validation::zones::is_offered;

/// The operator of the service makes its own secret.
const OWN_OPERATOR: &str = "aro-operator";

/// The inputs of this cluster's installation.
///
/// # Errors
/// The version is not offered (400 `InvalidParameter`); an input is missing or wrong, by the name of its member.
pub(crate) async fn order(
    context: &Context,
    installation: &AssetInstallation,
) -> Result<InstallOrder, StepError> {
    let version = version(context, installation).await?;
    Ok(InstallOrder {
        id: context.document().id().to_owned(),
        facts: facts(context, &version).await?,
        release_image: version.open_shift_pullspec,
        credentials: azure_credentials(context, installation)?,
        custom_manifests: custom_manifests(context).await?,
        bound_signing_key: context.secret(ClusterSecret::BoundServiceAccountSigningKey)?,
        logging: None,
    })
}

/// The enabled version of the document's name.
pub(crate) async fn version(
    context: &Context,
    installation: &AssetInstallation,
) -> Result<OpenShiftVersionProperties, StepError> {
    let document = context.document();
    let wanted = document.version();
    let all = installation.versions.all().await?;
    let offered = all.into_iter().map(|version| version.open_shift_version).find(|version| {
        version.properties.enabled && !version.deleting && version.properties.version == wanted
    });
    let message = format!("The requested OpenShift version '{wanted}' is not supported.");
    let refused = || CloudError::bad("InvalidParameter", "properties.clusterProfile.version", message).into();
    offered.map(|version| version.properties).ok_or_else(refused)
}

/// The facts of the installation: also what the machines are made from.
pub(crate) async fn facts(
    context: &Context,
    version: &OpenShiftVersionProperties,
) -> Result<InstallFacts, StepError> {
    let document = context.document();
    let skus = zones::skus(context).await?;
    let location = document.location();
    let size = |name: &str| skus.iter().find(|sku| is_offered(sku, name, &location)).map(size_facts);
    InstallFacts::new(&document, &open_secrets(context)?, version, &region(context), size)
        .map_err(|error| wrong_input(&error))
}

fn wrong_input(error: &InputError) -> StepError {
    StepError::other(format!("the inputs of the installer: {}", chain(error)))
}

fn size_facts(sku: &Sku) -> SizeFacts {
    let generations = sku.capabilities.iter().find(|(name, _)| name == "HyperVGenerations");
    SizeFacts {
        zones: sku.zones.clone(),
        accelerated_networking: sku.has("AcceleratedNetworkingEnabled"),
        generations: generations.map(|(_, value)| value.clone()),
    }
}

fn open_secrets(context: &Context) -> Result<OpenSecrets, StepError> {
    let document = context.document();
    let key = context.secret_bytes(ClusterSecret::SshKey)?;
    let mut registries = Vec::new();
    for (at, profile) in document.properties.registry_profiles.iter().enumerate() {
        if let Some(password) = context.secret(ClusterSecret::RegistryPassword(at))? {
            let user = profile.username.to_string();
            registries.push((profile.name.to_string(), RegistryCredentials { user, password }));
        }
    }
    Ok(OpenSecrets {
        ssh_key: key.ok_or_else(|| StepError::other("the document has no SSH key"))?,
        pull_secret: context.secret(ClusterSecret::PullSecret)?,
        registries,
    })
}

fn region(context: &Context) -> RegionFacts {
    let env = &context.env;
    let (cloud, storage_domain) = match env.operator.cloud {
        Cloud::Public => ("AzurePublicCloud", "core.windows.net"),
        Cloud::UsGovernment => ("AzureUSGovernmentCloud", "core.usgovcloudapi.net"),
    };
    RegionFacts {
        cloud: cloud.to_owned(),
        domain: env.domain.clone(),
        acr_domain: env.registry_host.clone(),
        pull_secret: env.operator.pull_secret.to_json(),
        gateway_domains: env.operator.gateway_domains.clone(),
        storage_domain: storage_domain.to_owned(),
        expanded_zones: env.features.expanded_zones,
    }
}

/// The cluster's service principal; where there is none, the first-party application.
fn azure_credentials(
    context: &Context,
    installation: &AssetInstallation,
) -> Result<AzureCredentials, StepError> {
    let document = context.document();
    let (client_id, proof) = if document.is_workload_identity() {
        let files = installation.certificate.as_ref().ok_or_else(|| {
            StepError::other(
                "the installer signs in with a certificate for clusters with workload identities: azure.credential is \
                 not \"certificate\"",
            )
        })?;
        let certificate = files.read().map_err(|error| {
            StepError::other(format!(
                "the certificate of the first-party application cannot be read: {error}"
            ))
        })?;
        (context.env.fp_client_id.clone(), Proof::Certificate(certificate))
    } else {
        let secret = context.secret(ClusterSecret::ClientSecret)?;
        let secret = secret.ok_or_else(|| StepError::other("the document has no secret of its principal"))?;
        (document.client_id().to_owned(), Proof::Secret(secret))
    };
    Ok(AzureCredentials {
        tenant: context.tenant(),
        subscription: document.subscription_id().to_owned(),
        client_id,
        proof,
    })
}

/// Secrets of the platform's identities (`contract/cluster.md` §13.3); what every cluster has is among the manifests of
/// `rp-install`.
async fn custom_manifests(context: &Context) -> Result<Vec<(String, Value)>, StepError> {
    if !context.document().is_workload_identity() {
        return Ok(Vec::new());
    }
    let mut all: Vec<(String, Value)> = credentials::identity_secrets(context, Some(OWN_OPERATOR))
        .await?
        .into_iter()
        .map(|object| {
            let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let name = format!("{}-{}-credentials.yaml", text("/metadata/namespace"), text("/metadata/name"));
            (name, object)
        })
        .collect();
    let namespace = "openshift-cloud-credential-operator";
    let tenant = context.tenant();
    let texts = [("azure_tenant_id", tenant.as_str())];
    let object = secret(namespace, "azure-credentials", "Opaque", &texts);
    all.push(("azure-ad-pod-identity-webhook-config.yaml".to_owned(), object));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    use super::*;
    use crate::environment::Periods;
    use crate::harness::azure::{OPERATORS, role_set, with_identities};
    use crate::harness::{FixedRoleSets, SUBSCRIPTION, UnreachableAzure, World};
    use crate::manager::Operation;

    /// A cluster with workload identities that Azure has made.
    fn world() -> World {
        let world = World::new(Arc::new(UnreachableAzure), true, Periods::CONTRACT);
        world.progress.edit(|document| {
            let cluster = &mut document["openShiftCluster"];
            with_identities(cluster);
            let profile = &mut cluster["properties"]["platformWorkloadIdentityProfile"];
            for (operator, identity) in profile["platformWorkloadIdentities"].as_object_mut().unwrap() {
                identity["clientId"] = json!(format!("client-of-{operator}"));
            }
        });
        world.with(|env| env.role_sets = Arc::new(FixedRoleSets(vec![role_set()])))
    }

    fn text(object: &Value, key: &str) -> String {
        let data = object["data"][key].as_str().unwrap_or_else(|| panic!("no {key}: {object}"));
        String::from_utf8(STANDARD.decode(data).unwrap()).unwrap()
    }

    #[tokio::test]
    async fn each_identity_but_our_own_gets_its_secret_before_the_cluster_is_there() {
        let context = world().context(Operation::Create);
        let all = custom_manifests(&context).await.unwrap();
        let mut names: Vec<_> = all.iter().map(|(name, _)| name.clone()).collect();
        names.sort();
        let others =
            OPERATORS.iter().map(|(operator, _)| *operator).filter(|operator| *operator != OWN_OPERATOR);
        let mut expected: Vec<_> = others
            .map(|operator| format!("openshift-{operator}-azure-cloud-credentials-credentials.yaml"))
            .collect();
        expected.push("azure-ad-pod-identity-webhook-config.yaml".to_owned());
        expected.sort();
        assert_eq!(names, expected);
        for (name, object) in &all {
            assert_eq!(
                (&object["kind"], text(object, "azure_tenant_id")),
                (&json!("Secret"), context.tenant()),
                "{name}"
            );
            if name.ends_with("-credentials.yaml") {
                let operator =
                    object["metadata"]["namespace"].as_str().unwrap().trim_start_matches("openshift-");
                assert_eq!(text(object, "azure_client_id"), format!("client-of-{operator}"));
                assert_eq!(text(object, "azure_subscription_id"), SUBSCRIPTION);
                assert_eq!(text(object, "azure_region"), "eastus");
                assert_eq!(
                    text(object, "azure_federated_token_file"),
                    "/var/run/secrets/openshift/serviceaccount/token"
                );
            }
        }
        // The installer takes all of them, and no operator of the cluster changes them back.
        let taken = rp_install::manifests::custom(all).unwrap();
        assert!(taken.iter().all(|manifest| manifest.unmanaged));
    }

    #[tokio::test]
    async fn a_cluster_with_a_principal_has_no_such_manifests() {
        let context = World::alone().context(Operation::Create);
        assert_eq!(custom_manifests(&context).await.unwrap(), []);
    }
}
