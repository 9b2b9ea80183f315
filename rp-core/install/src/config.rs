//! `install-config.yaml` (`contract/installer.md` §5). It is written as JSON, which YAML includes: no value can change the
//! meaning of another.

use rp_base::Secret;
use serde_json::{Value, json};

use crate::facts::{InstallFacts, Machines};

/// Addresses that no machine has: the installer wants some, and nothing is read of them.
const MACHINE_NETWORK: &str = "127.0.0.0/8";
/// Length of the prefix of a machine's part of the pods' network.
const HOST_PREFIX: u8 = 23;
/// Repositories whose images come from our registry instead.
pub(crate) const RELEASE_REPOSITORIES: [&str; 3] = [
    "quay.io/openshift-release-dev/ocp-release",
    "quay.io/openshift-release-dev/ocp-release-nightly",
    "quay.io/openshift-release-dev/ocp-v4.0-art-dev",
];
/// Optional parts of OpenShift that every cluster has; `baremetal` is none of them.
const CAPABILITIES: [&str; 15] = [
    "Build",
    "CSISnapshot",
    "CloudControllerManager",
    "CloudCredential",
    "Console",
    "DeploymentConfig",
    "ImageRegistry",
    "Ingress",
    "Insights",
    "MachineAPI",
    "NodeTuning",
    "OperatorLifecycleManager",
    "Storage",
    "marketplace",
    "openshift-samples",
];

/// The repository of our registry that has the images of another.
pub(crate) fn mirror(acr_domain: &str, source: &str) -> String {
    let path = source.split_once('/').map_or(source, |(_, path)| path);
    format!("{acr_domain}/{path}")
}

/// The file. It holds the pull secret.
pub fn install_config(facts: &InstallFacts) -> Secret<String> {
    let mut config = json!({
        "apiVersion": "v1",
        "metadata": { "name": facts.name },
        "baseDomain": facts.base_domain,
        "sshKey": facts.ssh_key,
        "pullSecret": facts.pull_secret.to_json().expose(),
        "networking": {
            "machineNetwork": [{ "cidr": MACHINE_NETWORK }],
            "networkType": facts.network_type,
            "clusterNetwork": [{ "cidr": facts.pod_cidr, "hostPrefix": HOST_PREFIX }],
            "serviceNetwork": [facts.service_cidr],
        },
        "controlPlane": pool(&facts.masters, facts),
        "compute": [pool(&facts.workers, facts)],
        "platform": { "azure": platform(facts) },
        "fips": facts.fips,
        "publish": if facts.ingress_public { "External" } else { "Internal" },
        "imageDigestSources": RELEASE_REPOSITORIES.map(|source| json!({
            "source": source,
            "mirrors": [mirror(&facts.acr_domain, source)],
        })),
        "capabilities": {
            "baselineCapabilitySet": "None",
            "additionalEnabledCapabilities": CAPABILITIES,
        },
    });
    if facts.workload_identity {
        config["credentialsMode"] = json!("Manual");
    }
    Secret::new(format!("{config:#}\n"))
}

fn platform(facts: &InstallFacts) -> Value {
    let InstallFacts { masters, workers, .. } = facts;
    json!({
        "region": facts.location,
        "cloudName": facts.cloud,
        "networkResourceGroupName": masters.subnet.resource_group,
        "virtualNetwork": masters.subnet.network,
        "controlPlaneSubnet": masters.subnet.name,
        "computeSubnet": workers.subnet.name,
        "outboundType": if facts.outbound_balanced { "Loadbalancer" } else { "UserDefinedRouting" },
        "resourceGroupName": facts.resource_group,
        // No zone of DNS is made; the installer refuses to do without the name.
        "baseDomainResourceGroupName": facts.resource_group,
        "defaultMachinePlatform": { "identity": { "type": "None" } },
    })
}

fn pool(machines: &Machines, facts: &InstallFacts) -> Value {
    let mut disk = json!({ "diskSizeGB": machines.disk });
    if let Some(set) = &machines.disk_encryption_set {
        disk["diskEncryptionSet"] = json!({
            "subscriptionId": set.subscription,
            "resourceGroup": set.resource_group,
            "name": set.name,
        });
    }
    let image = &facts.image;
    json!({
        "name": machines.name,
        "replicas": machines.count,
        "architecture": "amd64",
        "hyperthreading": "Enabled",
        "platform": { "azure": {
            "zones": machines.zones,
            "type": machines.size,
            "encryptionAtHost": machines.encryption_at_host,
            "vmNetworkingType": if machines.accelerated_networking { "Accelerated" } else { "Basic" },
            "osDisk": disk,
            "osImage": {
                "publisher": image.publisher,
                "offer": image.offer,
                "sku": image.sku,
                "version": image.version,
                "plan": "NoPurchasePlan",
            },
            "bootDiagnostics": { "type": "Managed" },
        } },
    })
}
