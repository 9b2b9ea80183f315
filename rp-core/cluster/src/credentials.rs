//! Credentials inside the cluster (`contract/cluster.md` §6.14, §13.2).

use std::collections::BTreeMap;

use rp_documents::cluster::ClusterSecret;
use rp_documents::offer::SecretLocation;
use rp_openshift::{CloudProvider, Pod, Whole};
use serde_json::{Value, json};

use crate::context::Context;
use crate::errors::StepError;
use crate::kube_api::{Kube, merge_into, secret, secrets};
use crate::roles::needed_minors;

/// On the cloud provider's secret: when its credentials changed, and which change its users have heard of.
const ROTATED: &str = "aro.openshift.io/credentials-rotated";
const HEARD: &str = "aro.openshift.io/credentials-heard";
/// The configuration that the cloud provider uses.
pub(crate) const CLOUD_PROVIDER: &str = "/api/v1/namespaces/kube-system/secrets/azure-cloud-provider";
const TOKEN_FILE: &str = "/var/run/secrets/openshift/serviceaccount/token";

/// The service principal that OpenShift's own parts use; who hands it out begins again.
pub(crate) async fn update_openshift_secret(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let Some(client_secret) = context.secret(ClusterSecret::ClientSecret)? else { return Ok(()) };
    let tenant = context.tenant();
    let texts = [
        ("azure_subscription_id", document.subscription_id()),
        ("azure_resource_prefix", document.infra_id()),
        ("azure_resourcegroup", document.group()),
        ("azure_region", &*document.location),
        ("azure_client_id", document.client_id()),
        ("azure_client_secret", client_secret.expose().as_str()),
        ("azure_tenant_id", tenant.as_str()),
    ];
    let kube = Kube::connect(context)?;
    let object = secret("kube-system", "azure-credentials", "Opaque", &texts);
    kube.apply("/api/v1/namespaces/kube-system/secrets/azure-credentials", &object).await?;
    let pods = "/api/v1/namespaces/openshift-cloud-credential-operator/pods";
    match kube.list::<Pod<Whole>>(pods, "app=cloud-credential-operator").await {
        Ok(found) => {
            for pod in &found {
                let name = pod.metadata.name.as_str();
                // Without a name the path would be that of all pods.
                if !name.is_empty() {
                    log_failure(context, kube.delete(&format!("{pods}/{name}")).await);
                }
            }
        }
        Err(error) => log_failure(context, Err(error)),
    }
    Ok(())
}

/// The one that the cloud provider uses; a change makes its users begin again. The secret itself says when it changed
/// and which change its users have heard of: a run that ends in between is taken up by the next.
pub(crate) async fn update_aro_secret(context: &Context) -> Result<(), StepError> {
    let kube = Kube::connect(context)?;
    let Some(client_secret) = context.secret(ClusterSecret::ClientSecret)? else { return Ok(()) };
    let path = CLOUD_PROVIDER;
    let Some(found) = kube.get::<CloudProvider<Whole>>(path).await? else { return Ok(()) };
    let document = context.document();
    let told = |name: &str| found.metadata.annotations.get(name).map(str::to_owned);
    let config = found.data.config.as_ref().map_or("", |config| config.expose().as_str());
    let rotated = match cloud_config(config, document.client_id(), client_secret.expose()) {
        Some(config) => {
            let now = context.env.clock.now().to_string();
            let wanted =
                json!({"metadata": {"annotations": {ROTATED: now}}, "data": {"cloud-config": config}});
            kube.change(path, |found| merge_into(found, &wanted)).await?;
            now
        }
        None => match told(ROTATED).filter(|rotated| told(HEARD).as_ref() != Some(rotated)) {
            Some(rotated) => rotated,
            None => return Ok(()),
        },
    };
    let wanted = json!({"spec": {"forceRedeploymentReason": format!("Credential rotation {rotated}")}});
    let mut heard = true;
    for kind in ["kubeapiservers", "kubecontrollermanagers"] {
        let path = format!("/apis/operator.openshift.io/v1/{kind}/cluster");
        let done = kube.change(&path, |found| merge_into(found, &wanted)).await.map(drop);
        heard &= done.is_ok();
        log_failure(context, done);
    }
    if heard {
        let wanted = json!({"metadata": {"annotations": {HEARD: rotated}}});
        kube.change(path, |found| merge_into(found, &wanted)).await?;
    }
    Ok(())
}

/// The configuration with these credentials, both base64; `None`: it has them already. JSON is YAML, and other members
/// stay.
pub(crate) fn cloud_config(data: &str, client_id: &str, client_secret: &str) -> Option<String> {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    let text = String::from_utf8(STANDARD.decode(data).ok()?).ok()?;
    let quoted = |value: &str| Value::from(value).to_string();
    let mut lines: Vec<String> = Vec::new();
    let members = [("aadClientId", quoted(client_id)), ("aadClientSecret", quoted(client_secret))];
    if text.trim_start().starts_with('{') {
        let mut object: Value = serde_json::from_str(&text).ok()?;
        let wanted = json!({"aadClientId": client_id, "aadClientSecret": client_secret});
        return merge_into(&mut object, &wanted).then(|| STANDARD.encode(object.to_string()));
    }
    let key = |line: &str| line.split(':').next().unwrap_or_default().trim_matches('"').to_owned();
    let is_of = |line: &str, name: &str| !line.starts_with([' ', '\t', '-']) && key(line) == name;
    let mut changed = false;
    for line in text.lines() {
        match members.iter().find(|(name, _)| is_of(line, name)) {
            Some((name, value)) => {
                let old = line.split_once(':').map(|(_, old)| old.trim()).unwrap_or_default();
                let same = old == value || value.trim_matches('"') == old.trim_matches(['"', '\'']);
                changed |= !same;
                lines.push(if same { line.to_owned() } else { format!("{name}: {value}") });
            }
            None => lines.push(line.to_owned()),
        }
    }
    for (name, value) in &members {
        if !text.lines().any(|line| is_of(line, name)) {
            changed = true;
            lines.push(format!("{name}: {value}"));
        }
    }
    changed.then(|| STANDARD.encode(lines.join("\n") + "\n"))
}

/// Until which version the identities suffice.
pub(crate) async fn ensure_upgrade_annotation(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let upgradeable = &*document.properties.platform_workload_identity_profile.upgradeable_to;
    if upgradeable.is_empty() {
        return Ok(());
    }
    let wanted =
        json!({"metadata": {"annotations": {"cloudcredential.openshift.io/upgradeable-to": upgradeable}}});
    let path = "/apis/operator.openshift.io/v1/cloudcredentials/cluster";
    Kube::connect(context)?.change(path, |found| merge_into(found, &wanted)).await.map(drop)
}

/// A Secret of each platform identity where its operator looks for it.
pub(crate) async fn deploy_platform_workload_identity_secrets(context: &Context) -> Result<(), StepError> {
    let kube = Kube::connect(context)?;
    for object in identity_secrets(context, None).await? {
        let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
        let wanted = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        kube.create("/api/v1/namespaces", &wanted).await?;
        kube.ensure(&secrets(namespace), &object).await?;
    }
    Ok(())
}

/// The secrets of all identities but that of one operator.
pub(crate) async fn identity_secrets(
    context: &Context,
    except: Option<&str>,
) -> Result<Vec<Value>, StepError> {
    let document = context.document();
    let tenant = context.tenant();
    let identities = &*document.properties.platform_workload_identity_profile.platform_workload_identities;
    let mut objects = Vec::new();
    for (operator, location) in secret_locations(context).await? {
        let client_id = identities.get(&operator).and_then(|identity| identity.client_id.get());
        let Some(client_id) = client_id.filter(|_| except != Some(operator.as_str())) else { continue };
        let texts = [
            ("azure_client_id", client_id.as_str()),
            ("azure_subscription_id", document.subscription_id()),
            ("azure_tenant_id", tenant.as_str()),
            ("azure_region", &*document.location),
            ("azure_federated_token_file", TOKEN_FILE),
        ];
        objects.push(secret(&location.namespace, &location.name, "Opaque", &texts));
    }
    Ok(objects)
}

/// Where each operator looks for its credential: of several roles the first's place counts.
async fn secret_locations(context: &Context) -> Result<BTreeMap<String, SecretLocation>, StepError> {
    let minors = needed_minors(&context.document());
    let sets = context.env.role_sets.all().await?;
    let mut locations = BTreeMap::new();
    for set in sets.iter().map(|set| &set.platform_workload_identity_role_set) {
        if set.deleting || !minors.contains(&set.properties.open_shift_version) {
            continue;
        }
        for role in &set.properties.platform_workload_identity_roles {
            if let Some(location) = &role.secret_location {
                locations.entry(role.operator_name.clone()).or_insert_with(|| location.clone());
            }
        }
    }
    Ok(locations)
}

/// What may fail without harm.
fn log_failure(context: &Context, result: Result<(), StepError>) {
    if let Err(error) = result {
        context.record_line("warning", &rp_base::text::clean(&error.to_string(), 500));
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    fn rewritten(text: &str) -> Option<String> {
        let config = cloud_config(&STANDARD.encode(text), "new-id", "new: \"secret\"")?;
        Some(String::from_utf8(STANDARD.decode(config).unwrap()).unwrap())
    }

    #[test]
    fn only_the_credentials_of_a_configuration_change() {
        let yaml = "tenantId: t\naadClientId: old\naadClientSecret: \"s\"\nvmType: standard\n";
        let changed = "tenantId: t\naadClientId: \"new-id\"\naadClientSecret: \"new: \\\"secret\\\"\"\nvmType: standard\n";
        assert_eq!(rewritten(yaml).as_deref(), Some(changed));
        assert_eq!(rewritten(changed), None);
        let json = rewritten(r#"{"tenantId": "t", "aadClientId": "old"}"#).unwrap();
        assert_eq!(rewritten(&json), None);
        assert!(rewritten("tenantId: t\n").unwrap().contains("aadClientSecret: "));
    }
}
