//! The objects by which the service deploys the operator into a cluster (`contract/operator.md` §5.3), in the order in
//! which they are applied. The `Cluster` itself comes after them.
//!
//! There is no PodDisruptionBudget: each deployment has one pod, and a budget would block the drain of its node.

mod monitoring;
pub mod permissions;
mod pods;
#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_base::Secret;
use serde_json::{Value, json};

use crate::{NAMESPACE, crd};

/// How the operator signs in to Azure.
#[derive(Debug)]
pub enum Identity {
    /// With the service principal of the cluster: the cloud credential operator fills the secret.
    ServicePrincipal,
    /// With a managed identity.
    Managed(ManagedIdentity),
}

/// The platform identity `aro-operator`.
#[derive(Debug, Clone)]
pub struct ManagedIdentity {
    pub client_id: String,
    pub tenant_id: String,
    pub region: String,
    pub subscription_id: String,
}

/// What differs between clusters.
#[derive(Debug)]
pub struct Settings {
    /// Reference of the image.
    pub image: String,
    pub identity: Identity,
    /// Development mode: the pods have `RP_MODE=development`.
    pub development: bool,
    /// The cluster has version 4.11 or later: the pods are restricted.
    pub restricted: bool,
    /// The pull secret: JSON of kind `.dockerconfigjson`.
    pub pull_secret: Secret<String>,
}

/// The program of the pods, and the name of its image in a registry: `deploy/images` builds one image for each program.
pub const PROGRAM: &str = "aro-operator";

/// The variable that names the folder with the certificate of the metrics. A variable and no argument, so that an earlier
/// version of the program starts in the pods of this one.
pub const METRICS_TLS: &str = "ARO_METRICS_TLS";

/// A reference without its tag or digest. The port of a registry is no tag.
pub fn repository_of(image: &str) -> &str {
    let named = image.split_once('@').map_or(image, |(named, _)| named);
    match named.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => repository,
        _ => named,
    }
}

/// The text after the last `:` of a reference, `latest` if there is none (`contract/operator.md` §5.1). The port of a
/// registry is no version; of a digest it is the part after `sha256:`.
fn version_of(image: &str) -> &str {
    match image.rsplit_once(':') {
        Some((_, version)) if !version.is_empty() && !version.contains('/') => version,
        _ => "latest",
    }
}

/// Octets of the longest value of a label.
const MOST_LABEL: usize = 63;

/// The version in the label of the deployments: of a digest its beginning.
pub fn version_label(image: &str) -> &str {
    let version = version_of(image);
    version.get(..MOST_LABEL).unwrap_or(version)
}

/// All objects, in the order of application.
pub fn objects(settings: &Settings) -> Vec<Value> {
    let mut objects = vec![crd::cluster(), crd::preview_feature(), namespace()];
    objects.extend(access());
    objects.extend(secrets(settings));
    objects.push(credentials_request());
    objects.extend(monitoring::objects());
    objects.extend([pods::master(settings), pods::worker(settings)]);
    objects.sort_by_key(|object| rank(object.get("kind").and_then(Value::as_str).unwrap_or_default()));
    objects
}

/// The position of a kind in the order of application; the sort is stable.
fn rank(kind: &str) -> usize {
    const FIRST: [&str; 8] = [
        "CustomResourceDefinition",
        "ClusterRole",
        "ClusterRoleBinding",
        "SecurityContextConstraints",
        "Namespace",
        "ConfigMap",
        "Secret",
        "ServiceAccount",
    ];
    FIRST.iter().position(|first| *first == kind).unwrap_or(FIRST.len())
}

fn namespace() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": NAMESPACE,
            "labels": { "openshift.io/cluster-monitoring": "true" },
            "annotations": { "openshift.io/node-selector": "" },
        },
    })
}

const RBAC: &str = "rbac.authorization.k8s.io";

fn access() -> Vec<Value> {
    let mut out = Vec::new();
    for (name, rules) in
        [("aro-operator-master", permissions::master()), ("aro-operator-worker", permissions::worker())]
    {
        out.push(json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(name) }));
        out.push(json!({
            "apiVersion": format!("{RBAC}/v1"),
            "kind": "ClusterRole",
            "metadata": { "name": name },
            "rules": rules,
        }));
        out.push(json!({
            "apiVersion": format!("{RBAC}/v1"),
            "kind": "ClusterRoleBinding",
            "metadata": { "name": name },
            "roleRef": { "apiGroup": RBAC, "kind": "ClusterRole", "name": name },
            "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": NAMESPACE }],
        }));
    }
    // A lease is read by its name, and created under it.
    let lease = json!([
        { "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"] },
        { "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": ["aro-operator-master"], "verbs": ["get", "update"] },
    ]);
    out.extend(role("aro-operator-master", &lease, "aro-operator-master", NAMESPACE));
    let scrape = json!([{ "apiGroups": [""], "resources": ["services", "endpoints", "pods"], "verbs": ["get", "list", "watch"] }]);
    out.extend(role("prometheus-k8s", &scrape, "prometheus-k8s", "openshift-monitoring"));
    out
}

fn role(name: &str, rules: &Value, account: &str, namespace: &str) -> [Value; 2] {
    let api = format!("{RBAC}/v1");
    [
        json!({ "apiVersion": api, "kind": "Role", "metadata": metadata(name), "rules": rules }),
        json!({
            "apiVersion": api,
            "kind": "RoleBinding",
            "metadata": metadata(name),
            "roleRef": { "apiGroup": RBAC, "kind": "Role", "name": name },
            "subjects": [{ "kind": "ServiceAccount", "name": account, "namespace": namespace }],
        }),
    ]
}

fn metadata(name: &str) -> Value {
    json!({ "name": name, "namespace": NAMESPACE })
}

fn secrets(settings: &Settings) -> Vec<Value> {
    let encode = |text: &str| STANDARD.encode(text);
    let mut out = vec![json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata("cluster"),
        "type": "kubernetes.io/dockerconfigjson",
        "data": { ".dockerconfigjson": encode(settings.pull_secret.expose()) },
    })];
    if let Identity::Managed(identity) = &settings.identity {
        out.push(json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata(pods::CREDENTIALS),
            "type": "Opaque",
            "data": {
                "azure_client_id": encode(&identity.client_id),
                "azure_tenant_id": encode(&identity.tenant_id),
                "azure_region": encode(&identity.region),
                "azure_subscription_id": encode(&identity.subscription_id),
                "azure_federated_token_file": encode(pods::TOKEN_FILE),
            },
        }));
    }
    out
}

/// What the operator may do in Azure.
const AZURE: [&str; 10] = [
    "Microsoft.Storage/storageAccounts/listKeys/action",
    "Microsoft.Storage/storageAccounts/read",
    "Microsoft.Network/virtualNetworks/subnets/read",
    "Microsoft.Network/virtualNetworks/subnets/write",
    "Microsoft.Network/natGateways/join/action",
    "Microsoft.Network/routeTables/join/action",
    "Microsoft.Network/networkSecurityGroups/join/action",
    "Microsoft.Network/serviceEndpointPolicies/join/action",
    "Microsoft.Network/networkIntentPolicies/join/action",
    "Microsoft.Network/networkManagers/ipamPools/associateResourcesToPool/action",
];

/// The order for credentials of Azure, which is also synchronised after a change by the customer
/// (`contract/operator.md` §5.2).
pub fn credentials_request() -> Value {
    json!({
        "apiVersion": "cloudcredential.openshift.io/v1",
        "kind": "CredentialsRequest",
        "metadata": {
            "name": NAMESPACE,
            "namespace": "openshift-cloud-credential-operator",
            "labels": { "controller-tools.k8s.io": "1.0" },
            "annotations": {
                "include.release.openshift.io/self-managed-high-availability": "true",
                "exclude.release.openshift.io/internal-openshift-hosted": "true",
            },
            "finalizers": ["cloudcredential.openshift.io/deprovision"],
        },
        "spec": {
            "providerSpec": {
                "apiVersion": "cloudcredential.openshift.io/v1",
                "kind": "AzureProviderSpec",
                "permissions": AZURE,
            },
            "secretRef": { "name": pods::CREDENTIALS, "namespace": NAMESPACE },
            "serviceAccountNames": ["aro-operator-master"],
        },
    })
}
