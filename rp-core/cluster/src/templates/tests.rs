//! Templates as they are deployed, beside the tests: `ARO_GOLDEN=write cargo test -p rp-cluster golden` writes them
//! anew.

use std::path::PathBuf;

use serde_json::{Value, json};

use rp_install::image::OsImage;

use super::{Machines, ServiceEnvironment, base, machines};
use crate::document::Document;
use crate::harness::documents;
use crate::json::set;
use crate::roles::OperatorRole;

const CLUSTER: &str = "/subscriptions/5b2d4b2e-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.RedHatOpenShift/openShiftClusters/Shop";
const GROUP: &str = "/subscriptions/5b2d4b2e-0000-0000-0000-000000000001/resourceGroups/aro-shop";
const NETWORK: &str = "/subscriptions/5b2d4b2e-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.Network/virtualNetworks/net";

/// A public cluster with a service principal, changed by the test: pointers below `/openShiftCluster`.
pub(crate) fn cluster(changes: &[(&str, Value)]) -> Document {
    let mut document = json!({
        "id": "11111111-2222-3333-4444-555555555555",
        "openShiftCluster": {
            "id": CLUSTER,
            "name": "Shop",
            "location": "eastus",
            "properties": {
                "architectureVersion": 1,
                "provisioningState": "Creating",
                "infraId": "shop-x7k2p",
                "storageSuffix": "bcdfghjklm",
                "imageRegistryStorageAccountName": "imageregistrybcdfghjklm",
                "zones": ["1", "2", "3"],
                "clusterProfile": { "resourceGroupId": GROUP, "domain": "shop", "version": "4.17.27" },
                "servicePrincipalProfile": {
                    "clientId": "aaaaaaaa-0000-0000-0000-000000000001",
                    "spObjectId": "bbbbbbbb-0000-0000-0000-000000000001",
                },
                "networkProfile": {
                    "podCidr": "10.128.0.0/14",
                    "serviceCidr": "172.30.0.0/16",
                    "outboundType": "Loadbalancer",
                    "preconfiguredNSG": "Disabled",
                    "loadBalancerProfile": { "managedOutboundIps": { "count": 2 } },
                },
                "masterProfile": { "vmSize": "Standard_D8s_v5", "subnetId": format!("{NETWORK}/subnets/master") },
                "workerProfiles": [
                    { "name": "worker", "vmSize": "Standard_D4s_v5", "subnetId": format!("{NETWORK}/subnets/worker"), "count": 3 },
                ],
                "apiserverProfile": { "visibility": "Public" },
                "ingressProfiles": [{ "name": "default", "visibility": "Public" }],
            },
        },
    });
    for (pointer, value) in changes {
        set(&mut document, &format!("/openShiftCluster{pointer}"), value.clone());
    }
    documents::document(document)
}

/// What makes it one with platform identities.
pub(crate) fn workload_identity() -> Vec<(&'static str, Value)> {
    let identity = |name: &str, n: u8| {
        json!({
            "resourceId": format!("/subscriptions/5b2d4b2e-0000-0000-0000-000000000001/resourceGroups/shop/providers/Microsoft.ManagedIdentity/userAssignedIdentities/{name}"),
            "clientId": format!("cccccccc-0000-0000-0000-00000000000{n}"),
            "objectId": format!("dddddddd-0000-0000-0000-00000000000{n}"),
        })
    };
    vec![
        ("/properties/servicePrincipalProfile", Value::Null),
        (
            "/properties/platformWorkloadIdentityProfile/platformWorkloadIdentities",
            json!({ "disk-csi-driver": identity("disk", 1), "image-registry": identity("registry", 2) }),
        ),
    ]
}

pub(crate) fn roles() -> Vec<OperatorRole> {
    let role = |operator: &str, role: &str| OperatorRole {
        operator_name: operator.to_owned(),
        role_definition_id: format!("/providers/Microsoft.Authorization/roleDefinitions/{role}"),
        service_accounts: vec![format!("system:serviceaccount:openshift-{operator}:{operator}")],
    };
    vec![
        role("disk-csi-driver", "5b7237c5-45e1-49d6-bc18-a1f62f400748"),
        role("image-registry", "8b32b316-c2f5-4ddf-b05b-83dacd2d08b5"),
    ]
}

pub(crate) fn service_environment() -> ServiceEnvironment {
    ServiceEnvironment {
        subscription: "99999999-0000-0000-0000-000000000009".to_owned(),
        group: "rp-eastus".to_owned(),
        gateway_group: "gwy-eastus".to_owned(),
        endpoint_network: "rp-pe-vnet-001".to_owned(),
        endpoint_subnet: "rp-pe-subnet".to_owned(),
        first_party: "ffffffff-0000-0000-0000-00000000000f".to_owned(),
        development: false,
        hive_installs: false,
        deny: true,
    }
}

fn golden(name: &str, rendered: &Value) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.json"));
    let mut text = serde_json::to_string_pretty(rendered).unwrap();
    text.push('\n');
    if std::env::var_os("ARO_GOLDEN").is_some_and(|wish| wish == "write") {
        std::fs::write(&path, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == text, "{} is not what is deployed; ARO_GOLDEN=write writes it", path.display());
}

const PRIVATE: [&str; 2] =
    ["/properties/apiserverProfile/visibility", "/properties/ingressProfiles/0/visibility"];

fn private() -> Vec<(&'static str, Value)> {
    PRIVATE.into_iter().map(|pointer| (pointer, json!("Private"))).collect()
}

fn base_template(changes: &[(&str, Value)], service: &ServiceEnvironment) -> Value {
    let open_to = [format!("{NETWORK}/subnets/worker")];
    base::base(&cluster(changes), service, &open_to, &roles())
}

pub(crate) fn machines_of(changes: &[(&str, Value)]) -> Value {
    let image = OsImage {
        publisher: "azureopenshift".to_owned(),
        offer: "aro4".to_owned(),
        sku: "aro_417".to_owned(),
        version: "417.94.20250101".to_owned(),
    };
    let of = Machines {
        image,
        master_ignition: "e30=".to_owned(),
        accelerated: true,
        password: "Unused-0000".to_owned(),
    };
    machines(&cluster(changes), &of)
}

fn all() -> Vec<(&'static str, Value)> {
    let routed = || {
        let mut changes = private();
        changes.push(("/properties/networkProfile/outboundType", json!("UserDefinedRouting")));
        changes
    };
    let no_zones = [("/properties/zones", json!([]))];
    let encrypted = [
        (
            "/properties/masterProfile/diskEncryptionSetId",
            json!(format!("{GROUP}/providers/Microsoft.Compute/diskEncryptionSets/des")),
        ),
        ("/properties/masterProfile/encryptionAtHost", json!("Enabled")),
        ("/properties/networkProfile/gatewayPrivateEndpointIp", json!("10.0.0.9")),
    ];
    let development = ServiceEnvironment { development: true, deny: false, ..service_environment() };
    vec![
        ("base-public", base_template(&[], &service_environment())),
        ("base-private", base_template(&private(), &service_environment())),
        ("base-private-udr", base_template(&routed(), &service_environment())),
        ("base-workload-identity", base_template(&workload_identity(), &service_environment())),
        ("base-without-zones", base_template(&no_zones, &service_environment())),
        ("base-development", base_template(&[], &development)),
        ("storage-accounts", base::storage_only(&cluster(&[]), &service_environment(), &[])),
        ("gateway-endpoint", base::gateway_only(&cluster(&[]), &service_environment())),
        ("machines", machines_of(&[])),
        ("machines-encrypted", machines_of(&encrypted)),
    ]
}

#[test]
fn a_region_without_a_gateway_has_no_endpoint_to_one() {
    let without = ServiceEnvironment { gateway_group: String::new(), ..service_environment() };
    let template = base_template(&[], &without).to_string();
    assert!(!template.contains("gateway") && template.contains("rp-pe-subnet"), "{template}");
}

#[test]
fn golden_templates_are_what_is_deployed() {
    for (name, rendered) in all() {
        golden(name, &rendered);
    }
}

fn names(template: &Value, kind: &str) -> Vec<String> {
    let resources = template["resources"].as_array().unwrap().iter();
    resources.filter(|of| of["type"] == kind).map(|of| of["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_resource_has_a_version_and_what_it_needs_is_in_the_template() {
    for (name, template) in all() {
        for resource in template["resources"].as_array().unwrap() {
            assert!(!resource["apiVersion"].as_str().unwrap().is_empty(), "{name}: {}", resource["type"]);
            for needed in resource["dependsOn"].as_array().into_iter().flatten() {
                let needed = needed.as_str().unwrap();
                let found = template["resources"].as_array().unwrap().iter().any(|other| {
                    let id =
                        super::id(GROUP, other["type"].as_str().unwrap(), other["name"].as_str().unwrap());
                    id == needed
                });
                assert!(found, "{name}: nothing makes {needed}");
            }
        }
    }
}

#[test]
fn no_template_makes_the_bootstrap_public_or_names_the_api_server() {
    for (name, template) in all() {
        let text = template.to_string();
        assert!(!text.contains("bootstrap-pip"), "{name}");
        assert!(!text.contains("27627") && !text.contains("outbound-provider"), "{name}");
        assert!(!text.contains("domainNameLabel") && !text.contains("dnsSettings"), "{name}");
        for group in template["resources"].as_array().unwrap() {
            for rule in group["properties"]["securityRules"].as_array().into_iter().flatten() {
                assert_eq!(rule["name"], "apiserver_in", "{name}");
            }
        }
    }
}

#[test]
fn public_addresses_are_as_many_as_are_asked_for() {
    const KIND: &str = "Microsoft.Network/publicIPAddresses";
    for (api, ingress, count, expected) in [
        ("Public", "Public", 1, 2),
        ("Public", "Public", 3, 4),
        ("Public", "Private", 1, 1),
        ("Private", "Private", 1, 1),
        ("Private", "Public", 2, 3),
        // The API's address stays, however few outbound ones are wanted.
        ("Public", "Private", 0, 1),
    ] {
        let changes = [
            (PRIVATE[0], json!(api)),
            (PRIVATE[1], json!(ingress)),
            ("/properties/networkProfile/loadBalancerProfile/managedOutboundIps/count", json!(count)),
        ];
        let template = base_template(&changes, &service_environment());
        let found = names(&template, KIND);
        assert_eq!(found.len(), expected, "{api} {ingress} {count}: {found:?}");
        assert_eq!(
            found,
            names(&base_template(&changes, &service_environment()), KIND),
            "a second run has the same names"
        );
    }
    let routed = [("/properties/networkProfile/outboundType", json!("UserDefinedRouting"))];
    assert!(names(&base_template(&routed, &service_environment()), KIND).is_empty());
}
