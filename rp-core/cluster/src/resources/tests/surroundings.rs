//! The validation and the choice of zones, with Azure asked.

use rp_simulator_azure::{DenyRule, object_id_of};
use serde_json::json;

use super::making;
use super::run;
use super::world::{CUSTOMER, FIRST_PARTY, PRINCIPAL, World, subnet};
use crate::resources::identities::platform_workload_identity_ids;
use crate::resources::zones::validate_zones;
use crate::validation::validate_resources;

fn forbid(subject: &str, action: &str, times: Option<u32>) -> DenyRule {
    DenyRule { subject: Some(object_id_of(subject)), action: action.to_owned(), scope: String::new(), times }
}

async fn told(world: &World) -> String {
    match validate_resources(&world.context).await {
        Ok(()) => String::new(),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn a_good_network_passes_before_and_after_the_cluster_is_made() {
    let mut world = World::new(&[]).await;
    assert_eq!(told(&world).await, "");
    run(&mut world, &making(), 1).await;
    assert_eq!(told(&world).await, "", "an interrupted creation is taken up");
    world.change("/properties/provisioningState", json!("Updating"));
    assert_eq!(told(&world).await, "");
}

#[tokio::test]
async fn rights_may_arrive_late_but_must_arrive() {
    let world = World::new(&[]).await;
    world.arm.forbid(forbid(PRINCIPAL, "virtualnetworks/subnets/join", Some(3)));
    assert_eq!(told(&world).await, "");
    world.arm.forbid(forbid(PRINCIPAL, "virtualnetworks/subnets/join", None));
    let who = format!("The cluster service principal (Application ID: {PRINCIPAL})");
    let what = format!("does not have required permissions on subnet '{}'.", subnet("master"));
    assert_eq!(told(&world).await, format!("400: InvalidServicePrincipalPermissions: : {who} {what}"));
    world.arm.heal();
    world.arm.forbid(forbid(FIRST_PARTY, "virtualnetworks/subnets/write", None));
    let who = format!("The resource provider service principal (Application ID: {FIRST_PARTY})");
    assert_eq!(told(&world).await, format!("400: InvalidResourceProviderPermissions: : {who} {what}"));
}

#[tokio::test]
async fn what_is_not_there_or_not_right_is_told() {
    let mut world = World::new(&[]).await;
    world.arm.quota(CUSTOMER, "PublicIPAddresses", 9, 10);
    let text = told(&world).await;
    assert!(text.starts_with("400: ResourceQuotaExceeded: "), "{text}");
    assert!(text.ends_with("Maximum allowed: 10, Current in use: 9, Additional requested: 3."), "{text}");
    world.change("/properties/workerProfiles/0/subnetId", json!(subnet("lost")));
    assert_eq!(
        told(&world).await,
        format!("400: InvalidLinkedSubnet: : The provided subnet '{}' could not be found.", subnet("lost"))
    );
    world.change("/properties/workerProfiles/0/subnetId", json!(subnet("x").replace("/net/", "/lost/")));
    let text = told(&world).await;
    assert!(
        text.starts_with("400: InvalidLinkedVNet: : The vnet '") && text.ends_with("' could not be found."),
        "{text}"
    );
    world.change("/properties/workerProfiles/0/subnetId", json!(subnet("worker")));
    world.change("/location", json!("westus"));
    let text = told(&world).await;
    assert_eq!(
        text,
        "400: InvalidLinkedVNet: : The vnet location 'eastus' must match the cluster location 'westus'."
    );
}

#[tokio::test]
async fn platform_identities_must_be_those_of_the_version() {
    let mut world = World::with_identities().await;
    platform_workload_identity_ids(&world.context).await.unwrap();
    assert_eq!(told(&world).await, "");
    let identities = "/properties/platformWorkloadIdentityProfile/platformWorkloadIdentities";
    let disk = world.context.document().at(&format!("{identities}/disk-csi-driver"));
    let id = disk["resourceId"].as_str().unwrap().to_owned();
    let credential = format!("{id}/federatedIdentityCredentials/theirs");
    let foreign = json!({"properties": {"audiences": ["x"], "issuer": "https://x", "subject": "s"}});
    assert!(world.arm.put(&credential, foreign));
    let text = told(&world).await;
    assert!(
        text.contains("Unexpected federated credential 'theirs' found on platform workload identity"),
        "{text}"
    );
    world.arm.remove(&credential);
    let object = disk["objectId"].as_str().unwrap().to_owned();
    let lacks = DenyRule { subject: Some(object), action: "subnets/join".to_owned(), ..DenyRule::default() };
    world.arm.forbid(lacks);
    let text = told(&world).await;
    assert_eq!(
        text,
        format!(
            "400: InvalidWorkloadIdentityPermissions: : The disk-csi-driver platform managed identity does not have required permissions on subnet '{}'.",
            subnet("master")
        )
    );
    world.arm.heal();
    world.change(&format!("{identities}/more"), disk);
    let text = told(&world).await;
    assert!(
        text.ends_with("The required platform workload identities are '[disk-csi-driver image-registry]'"),
        "{text}"
    );
}

#[tokio::test]
async fn zones_are_those_of_both_sizes() {
    let mut world = World::new(&[("/properties/zones", json!(null))]).await;
    validate_zones(&world.context).await.unwrap();
    assert_eq!(world.context.document().zones(), ["1", "2", "3"]);
    world.arm.restrict(CUSTOMER, "Standard_D4s_v5");
    let text = validate_zones(&world.context).await.unwrap_err().to_string();
    assert_eq!(
        text,
        "400: InvalidParameter: properties.workerProfiles[0].VMSize: The selected SKU 'Standard_D4s_v5' is unavailable in region 'eastus'"
    );
    world.change("/properties/masterProfile/vmSize", json!("Standard_Lost"));
    let text = validate_zones(&world.context).await.unwrap_err().to_string();
    assert!(text.contains("properties.masterProfile.VMSize"), "{text}");
}

#[tokio::test]
async fn what_stands_beside_the_subnets_is_looked_at_too() {
    let of = |kind: &str, name: &str| {
        format!("/subscriptions/{CUSTOMER}/resourceGroups/shop/providers/{kind}/{name}")
    };
    let table = of("Microsoft.Network/routeTables", "routes");
    let group = of("Microsoft.Network/networkSecurityGroups", "own");
    let set = of("Microsoft.Compute/diskEncryptionSets", "des");
    let mut world = World::new(&[("/properties/networkProfile/preconfiguredNSG", json!("Enabled"))]).await;
    for id in [&table, &group] {
        assert!(world.arm.put(id, json!({"location": "eastus"})));
    }
    let preconfigured = "When the enable-preconfigured-nsg option is specified, both the master and worker subnets should have network security groups (NSG) attached to them before starting the cluster installation.";
    assert_eq!(told(&world).await, format!("400: InvalidLinkedVNet: : {preconfigured}"));
    for name in ["master", "worker"] {
        let mut body = world.subnet(name);
        body["properties"]["networkSecurityGroup"] = json!({ "id": group });
        body["properties"]["routeTable"] = json!({ "id": table });
        assert!(world.arm.put(&subnet(name), body));
    }
    assert_eq!(told(&world).await, "");
    for (subject, action, expected) in [
        (
            PRINCIPAL,
            "routetables/write",
            format!(
                "400: InvalidServicePrincipalPermissions: : The cluster service principal (Application ID: {PRINCIPAL}) does not have required permissions on route table '{table}'."
            ),
        ),
        (
            FIRST_PARTY,
            "networksecuritygroups/join",
            format!(
                "400: InvalidResourceProviderPermissions: : The resource provider service principal (Application ID: {FIRST_PARTY}) does not have required permissions on network security group '{group}'. This is required when the enable-preconfigured-nsg option is specified."
            ),
        ),
    ] {
        world.arm.forbid(forbid(subject, action, None));
        assert_eq!(told(&world).await, expected);
        world.arm.heal();
    }
    world.arm.remove(&table);
    assert_eq!(
        told(&world).await,
        format!("400: InvalidLinkedRouteTable: : The route table '{table}' could not be found.")
    );
    assert!(world.arm.put(&table, json!({"location": "eastus"})));
    world.change("/properties/masterProfile/diskEncryptionSetId", json!(set));
    let path = "properties.masterProfile.diskEncryptionSetId";
    assert_eq!(
        told(&world).await,
        format!(
            "400: InvalidLinkedDiskEncryptionSet: {path}: The disk encryption set '{set}' could not be found."
        )
    );
    assert!(world.arm.put(&set, json!({"location": "westus"})));
    assert_eq!(
        told(&world).await,
        "400: InvalidLinkedDiskEncryptionSet: : The disk encryption set location 'westus' must match the cluster location 'eastus'."
    );
}
