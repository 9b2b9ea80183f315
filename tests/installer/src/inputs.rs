//! Inputs of an installation, as tests use them.

use std::path::PathBuf;

use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use rp_base::Secret;
use rp_documents::ClusterDocument;
use rp_documents::cluster::OpenShiftCluster;
use rp_documents::offer::OpenShiftVersionProperties;
use rp_install::facts::{OpenSecrets, RegionFacts, SizeFacts};
use rp_install::{InputError, InstallFacts};
use rp_openshift::pull_secret::RegistryCredentials;
use serde_json::{Value, json};

const GROUP: &str = "/subscriptions/00000000-0000-0000-0000-00000000abcd/resourceGroups";

/// A cluster that has everything chosen and is about to be installed.
pub fn properties() -> Value {
    let network = format!("{GROUP}/customer/providers/Microsoft.Network/virtualNetworks/vnet");
    let set = format!("{GROUP}/keys/providers/Microsoft.Compute/diskEncryptionSets/set");
    json!({
        "architectureVersion": 1,
        "infraId": "test-abcde",
        "imageRegistryStorageAccountName": "imageregistryabcdefghij",
        "clusterProfile": {
            "domain": "shop", "version": "4.20.1", "fipsValidatedModules": "Disabled",
            "resourceGroupId": format!("{GROUP}/aro-shop"),
        },
        "networkProfile": {
            "podCidr": "10.128.0.0/14", "serviceCidr": "172.30.0.0/16", "outboundType": "Loadbalancer",
            "softwareDefinedNetwork": "OVNKubernetes", "mtuSize": 3900, "gatewayPrivateEndpointIp": "10.0.0.9",
        },
        "masterProfile": {
            "vmSize": "Standard_D8s_v5", "subnetId": format!("{network}/subnets/master"),
            "encryptionAtHost": "Enabled", "diskEncryptionSetId": set,
        },
        "workerProfiles": [{
            "name": "worker", "vmSize": "Standard_D4s_v5", "diskSizeGB": 128, "count": 3,
            "subnetId": format!("{network}/subnets/worker"), "encryptionAtHost": "Disabled",
        }],
        "apiserverProfile": { "visibility": "Public", "intIp": "10.0.0.5" },
        "ingressProfiles": [{ "name": "default", "visibility": "Private", "ip": "10.0.2.254" }],
    })
}

pub fn cluster(properties: &Value) -> OpenShiftCluster {
    let id = format!("{GROUP}/customer/providers/Microsoft.RedHatOpenShift/openShiftClusters/Shop");
    let stored = json!({
        "id": "dddddddd-dddd-4ddd-8ddd-dddddddddddd", "key": id.to_lowercase(), "partitionKey": "p",
        "openShiftCluster": { "id": id, "name": "Shop", "location": "EastUS", "properties": properties },
    });
    let document: ClusterDocument = serde_json::from_value(stored).unwrap();
    *document.cluster
}

pub fn version() -> OpenShiftVersionProperties {
    let image = json!({ "sku": "aro_420", "version": "9.6.20251015" });
    serde_json::from_value(json!({ "version": "4.20.1", "osImage": image })).unwrap()
}

pub fn region() -> RegionFacts {
    RegionFacts {
        cloud: "AzurePublicCloud".to_owned(),
        domain: "eastus.aroapp.example".to_owned(),
        acr_domain: "arosvc.azurecr.io".to_owned(),
        pull_secret: Secret::new(
            json!({ "auths": {
            "arosvc.azurecr.io": { "auth": "czpz" }, "cloud.openshift.com": { "auth": "dDp0" },
        } })
            .to_string(),
        ),
        gateway_domains: vec!["login.microsoftonline.com".to_owned()],
        storage_domain: "core.windows.net".to_owned(),
        expanded_zones: false,
    }
}

/// A key of the size that clusters have, PKCS#1 DER; made anew by each run.
pub fn ssh_key() -> Secret<Vec<u8>> {
    let pkcs8: Pkcs8V1Der<'static> = KeyPair::generate(KeySize::Rsa2048).unwrap().as_der().unwrap();
    let bytes = pkcs8.as_ref();
    // PKCS#8 wraps PKCS#1 in an octet string at its end, which begins after 26 bytes for a key of this size.
    Secret::new(bytes[26..].to_vec())
}

pub fn secrets(pull_secret: Option<&str>) -> OpenSecrets {
    let credentials =
        RegistryCredentials { user: "token".to_owned(), password: Secret::new("word".to_owned()) };
    OpenSecrets {
        ssh_key: ssh_key(),
        pull_secret: pull_secret.map(|text| Secret::new(text.to_owned())),
        registries: vec![("arosvc.azurecr.io".to_owned(), credentials)],
    }
}

pub fn size(name: &str) -> Option<SizeFacts> {
    name.starts_with("Standard_D").then(|| SizeFacts {
        zones: ["3", "1", "2"].map(str::to_owned).to_vec(),
        accelerated_networking: true,
        generations: Some("V1,V2".to_owned()),
    })
}

pub fn facts_of(properties: &Value, pull_secret: Option<&str>) -> Result<InstallFacts, InputError> {
    InstallFacts::new(&cluster(properties), &secrets(pull_secret), &version(), &region(), size)
}

pub fn facts() -> InstallFacts {
    facts_of(&properties(), None).unwrap()
}

/// Compares with a file, or writes it with `ARO_GOLDEN=write`.
pub fn check(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("ARO_GOLDEN").is_some_and(|word| word == "write") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(&path).unwrap(), "{}", path.display());
}
