//! What the simulated region offers to install: at the first start, so that later changes are kept.

use anyhow::Context as _;
use rp_core::Services;
use rp_database::{SharedStore, Typed};
use rp_documents::{Document, OpenShiftVersionDocument, RoleSetDocument};
use serde_json::{Value, json};

/// Enabled versions; the marked one is the default.
const VERSIONS: [(&str, bool); 9] = [
    ("4.14.51", false),
    ("4.15.49", false),
    ("4.16.39", false),
    ("4.17.12", false),
    ("4.17.27", true),
    ("4.18.11", false),
    ("4.19.1", false),
    ("4.19.9", false),
    ("4.20.2", false),
];

/// Minor versions with a set of roles.
const MINORS: [&str; 7] = ["4.14", "4.15", "4.16", "4.17", "4.18", "4.19", "4.20"];

/// An operator of the platform (`contract/mirror.md` §4): its name, its role and that one's id, the namespace
/// of its service accounts, those, and its secret there.
struct Operator(
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static str,
);

const OPERATORS: [Operator; 8] = [
    Operator(
        "cloud-controller-manager",
        "Cloud Controller Manager",
        "a1f96423-95ce-4224-ab27-4e3dc72facd4",
        "openshift-cloud-controller-manager",
        &["cloud-controller-manager"],
        "azure-cloud-credentials",
    ),
    Operator(
        "ingress",
        "Cluster Ingress Operator",
        "0336e1d3-7a87-462b-b6db-342b63f7802c",
        "openshift-ingress-operator",
        &["ingress-operator"],
        "cloud-credentials",
    ),
    Operator(
        "machine-api",
        "Machine API Operator",
        "0358943c-7e01-48ba-8889-02cc51d78637",
        "openshift-machine-api",
        &["machine-api-controllers"],
        "azure-cloud-credentials",
    ),
    Operator(
        "disk-csi-driver",
        "Disk Storage Operator",
        "5b7237c5-45e1-49d6-bc18-a1f62f400748",
        "openshift-cluster-csi-drivers",
        &["azure-disk-csi-driver-operator", "azure-disk-csi-driver-controller-sa"],
        "azure-disk-credentials",
    ),
    Operator(
        "cloud-network-config",
        "Network Operator",
        "be7a6435-15ae-4171-8f30-4a343eff9e8f",
        "openshift-cloud-network-config-controller",
        &["cloud-network-config-controller"],
        "cloud-credentials",
    ),
    Operator(
        "image-registry",
        "Image Registry Operator",
        "8b32b316-c2f5-4ddf-b05b-83dacd2d08b5",
        "openshift-image-registry",
        &["cluster-image-registry-operator", "registry"],
        "installer-cloud-credentials",
    ),
    Operator(
        "file-csi-driver",
        "File Storage Operator",
        "0d7aedc0-15fd-4a67-a412-efad370c947e",
        "openshift-cluster-csi-drivers",
        &[
            "azure-file-csi-driver-operator",
            "azure-file-csi-driver-controller-sa",
            "azure-file-csi-driver-node-sa",
        ],
        "azure-file-credentials",
    ),
    Operator(
        "aro-operator",
        "Service Operator",
        "4436bae4-7702-4c84-919b-c4069ff25ee2",
        "openshift-azure-operator",
        &["aro-operator-master"],
        "azure-cloud-credentials",
    ),
];

/// Writes what can be installed, unless there is something.
pub(crate) async fn seed(services: &Services) -> anyhow::Result<()> {
    let versions = VERSIONS.iter().map(|(version, default)| version_document(version, *default));
    fill::<OpenShiftVersionDocument>(&services.store, versions.collect()).await?;
    let sets = MINORS.iter().map(|minor| role_set(minor));
    fill::<RoleSetDocument>(&services.store, sets.collect()).await
}

async fn fill<T: Document>(store: &SharedStore, documents: Vec<Value>) -> anyhow::Result<()> {
    let typed = Typed::<T>::new(store.clone());
    if typed.count().await? > 0 {
        return Ok(());
    }
    for document in documents {
        typed
            .create(serde_json::from_value(document)?)
            .await
            .context("cannot write what can be installed")?;
    }
    Ok(())
}

fn id(name: &str) -> String {
    // Shaped like a UUID and the same in every folder.
    let digest = rp_base::sha256(name.as_bytes()).to_string();
    let part = |from: usize, to: usize| digest.get(from..to).unwrap_or_default();
    format!("{}-{}-4{}-8{}-{}", part(0, 8), part(8, 12), part(12, 15), part(15, 18), part(18, 30))
}

fn version_document(version: &str, default: bool) -> Value {
    let minor = version.rsplit_once('.').map_or(version, |(minor, _)| minor);
    json!({
        "id": id(version),
        "openShiftVersion": {
            "name": version,
            "type": "Microsoft.RedHatOpenShift/OpenShiftVersion",
            "properties": {
                "version": version,
                "openShiftPullspec": format!("simulated.azurecr.io/ocp-release:{version}"),
                "installerPullspec": format!("simulated.azurecr.io/aro-installer:{minor}"),
                "enabled": true,
                "default": default,
            },
        },
    })
}

fn role_set(minor: &str) -> Value {
    let roles: Vec<Value> = OPERATORS.iter().map(role).collect();
    json!({
        "id": id(minor),
        "platformWorkloadIdentityRoleSet": {
            "name": minor,
            "type": "Microsoft.RedHatOpenShift/PlatformWorkloadIdentityRoleSet",
            "properties": {"openShiftVersion": minor, "platformWorkloadIdentityRoles": roles},
        },
    })
}

fn role(operator: &Operator) -> Value {
    let Operator(name, role, guid, namespace, accounts, secret) = operator;
    let accounts: Vec<String> =
        accounts.iter().map(|account| format!("system:serviceaccount:{namespace}:{account}")).collect();
    json!({
        "operatorName": name,
        "roleDefinitionName": format!("Azure Red Hat OpenShift {role}"),
        "roleDefinitionId": format!("/providers/Microsoft.Authorization/roleDefinitions/{guid}"),
        "serviceAccounts": accounts,
        "secretLocation": {"namespace": namespace, "name": secret},
    })
}
