//! From nothing to a cluster's resources and back.

use rp_azure::Resources as _;
use rp_documents::cluster::ClusterSecret;
use serde_json::{Value, json};

use super::world::{CUSTOMER, GATEWAY, GROUP, OURS, PRINCIPAL, World};
use super::{making, removing, run};
use crate::resources;

/// All that is anywhere.
fn everything(world: &World) -> Vec<String> {
    [format!("/subscriptions/{CUSTOMER}"), OURS.to_owned(), GATEWAY.to_owned()]
        .iter()
        .flat_map(|scope| world.ids(scope))
        .collect()
}

fn short(ids: &[String]) -> String {
    let mut lines: Vec<String> = ids
        .iter()
        .filter_map(|id| id.strip_prefix(GROUP).map(|rest| rest.trim_start_matches("/providers/").to_owned()))
        .filter(|rest| !rest.is_empty())
        .collect();
    lines.sort();
    lines.join("\n")
}

#[tokio::test]
async fn every_step_twice_makes_the_same_and_delete_leaves_nothing() {
    let mut world = World::new(&[]).await;
    let before = everything(&world);
    run(&mut world, &making(), 2).await;
    let made = short(&world.ids(GROUP));
    for expected in [
        "Microsoft.Storage/storageAccounts/clusterbcdfghjklm",
        "Microsoft.Storage/storageAccounts/imageregistrybcdfghjklm",
        "Microsoft.Network/networkSecurityGroups/shop-x7k2p-nsg",
        "Microsoft.Network/loadBalancers/shop-x7k2p-internal",
        "Microsoft.Network/loadBalancers/shop-x7k2p",
        "Microsoft.Network/privateLinkServices/shop-x7k2p-pls",
        "Microsoft.Network/privateEndpoints/shop-x7k2p-pe",
        "Microsoft.Network/publicIPAddresses/shop-x7k2p-pip-v4",
        "Microsoft.Network/publicIPAddresses/shop-x7k2p-default-v4",
    ] {
        assert!(made.lines().any(|line| line == expected), "{expected} is not among\n{made}");
    }
    let count = |kind: &str| made.lines().filter(|line| line.starts_with(kind)).count();
    assert_eq!(count("Microsoft.Network/publicIPAddresses/"), 3, "{made}");
    assert_eq!(assigned(&world).await, (1, 1));
    let document = world.context.document();
    let text = |pointer: &str| document.text_at(pointer);
    let group = world.arm.get(GROUP).unwrap();
    assert_eq!(group["managedBy"], document.cluster_id());
    let balancer =
        world.arm.get(&format!("{GROUP}/providers/Microsoft.Network/loadBalancers/shop-x7k2p-internal"));
    let internal =
        &balancer.unwrap()["properties"]["frontendIPConfigurations"][0]["properties"]["privateIPAddress"];
    assert_eq!(*internal, text("/properties/apiserverProfile/intIp").as_str());
    for pointer in [
        "/properties/apiserverProfile/ip",
        "/properties/ingressProfiles/0/ip",
        "/properties/networkProfile/privateEndpointIp",
        "/properties/networkProfile/gatewayPrivateEndpointIp",
        "/properties/networkProfile/gatewayPrivateLinkId",
    ] {
        assert!(!text(pointer).is_empty(), "{pointer}");
    }
    assert_eq!(document.effective_addresses().len(), 2);
    assert!(world.context.secret(ClusterSecret::RegistryPassword(0)).unwrap().is_some());
    let zone = format!("{OURS}/providers/Microsoft.Network/dnsZones/eastus.aroapp.io/A");
    let api = world.arm.get(&format!("{zone}/api.shop")).unwrap();
    assert_eq!(
        api["properties"]["ARecords"][0]["ipv4Address"],
        text("/properties/apiserverProfile/ip").as_str()
    );
    for name in ["master", "worker"] {
        let subnet = world.subnet(name);
        assert!(
            subnet["properties"]["networkSecurityGroup"]["id"].as_str().unwrap().ends_with("shop-x7k2p-nsg")
        );
        assert_eq!(subnet["properties"]["serviceEndpoints"].as_array().unwrap().len(), 2);
    }
    assert_eq!(world.subnet("master")["properties"]["privateLinkServiceNetworkPolicies"], "Disabled");
    let token = document.text_at("/properties/registryProfiles/0/username");
    let token = format!("{OURS}/providers/Microsoft.ContainerRegistry/registries/arosvc/tokens/{token}");
    assert!(world.arm.get(&token).is_some());
    run(&mut world, &removing(), 2).await;
    assert_eq!(everything(&world), before);
    for gone in [token, format!("{zone}/api.shop"), format!("{zone}/*.apps.shop"), GROUP.to_owned()] {
        assert!(world.arm.get(&gone).is_none(), "{gone}");
    }
    for name in ["master", "worker"] {
        assert!(world.subnet(name)["properties"]["networkSecurityGroup"].is_null());
    }
}

#[tokio::test]
async fn a_private_cluster_with_routes_of_its_own_has_no_public_address() {
    let mut world = World::new(&[
        ("/properties/apiserverProfile/visibility", json!("Private")),
        ("/properties/ingressProfiles/0/visibility", json!("Private")),
        ("/properties/networkProfile/outboundType", json!("UserDefinedRouting")),
        ("/properties/networkProfile/preconfiguredNSG", json!("Enabled")),
        ("/properties/featureProfile/gatewayEnabled", json!(true)),
    ])
    .await;
    run(&mut world, &making(), 1).await;
    let made = short(&world.ids(GROUP));
    assert!(!made.contains("publicIPAddresses"), "{made}");
    assert_eq!(
        made.lines().filter(|line| line.starts_with("Microsoft.Network/loadBalancers/")).count(),
        1,
        "{made}"
    );
    let document = world.context.document();
    assert_eq!(document.text_at("/properties/ingressProfiles/0/ip"), "10.0.2.254");
    assert_eq!(
        document.text_at("/properties/apiserverProfile/ip"),
        document.text_at("/properties/apiserverProfile/intIp")
    );
    let worker = world.subnet("worker");
    assert!(
        worker["properties"]["networkSecurityGroup"].is_null(),
        "the customer's own groups are not touched"
    );
    assert!(worker["properties"]["serviceEndpoints"].is_null(), "the gateway takes their place");
    run(&mut world, &removing(), 1).await;
    assert!(world.ids(GROUP).is_empty());
}

#[tokio::test]
async fn platform_identities_get_roles_and_trust_and_lose_it() {
    let mut world = World::with_identities().await;
    // The issuer's documents go into a container that is there.
    let account = format!("{OURS}/providers/Microsoft.Storage/storageAccounts/oidc");
    assert!(world.arm.put(&account, json!({"location": "eastus"})));
    world.arm.put(&format!("{account}/blobServices/default/containers/$web"), json!({}));
    let before = everything(&world);
    let first: [super::NamedStep; 2] = [
        ("platformWorkloadIdentityIDs", |c| {
            Box::pin(resources::identities::platform_workload_identity_ids(c))
        }),
        ("clusterIdentityIDs", |c| Box::pin(resources::identities::cluster_identity_ids(c))),
    ];
    run(&mut world, &first, 2).await;
    run(&mut world, &making(), 2).await;
    let then: [super::NamedStep; 3] = [
        ("createOIDC", |c| Box::pin(resources::oidc::create_oidc(c))),
        ("federateIdentityCredentials", |c| Box::pin(resources::federated::federate_identity_credentials(c))),
        ("ensurePlatformWorkloadIdentityRBAC", |c| {
            Box::pin(resources::rbac::ensure_platform_workload_identity_rbac(c))
        }),
    ];
    run(&mut world, &then[..1], 1).await;
    let key = world.arm.blob("oidc", "$web", &jwks(&world)).unwrap();
    run(&mut world, &then, 2).await;
    assert_eq!(world.arm.blob("oidc", "$web", &jwks(&world)).unwrap(), key, "one key, however often");
    assert_eq!(assigned(&world).await, (2, 1));
    assert_eq!(trusted(&world).await, 2);
    let document = world.context.document();
    let own: Value = document.at("/managedServiceIdentity/userAssignedIdentities");
    assert!(own.as_object().unwrap().values().all(|ids| ids["principalId"].is_string()));
    run(&mut world, &removing(), 2).await;
    assert_eq!(everything(&world), before);
    assert_eq!(trusted(&world).await, 0);
    assert!(world.arm.blob("oidc", "$web", &jwks(&world)).is_none());
}

/// Role and deny assignments at the group.
async fn assigned(world: &World) -> (usize, usize) {
    let client = world.context.customer();
    let denials = format!("{GROUP}/providers/Microsoft.Authorization/denyAssignments");
    let denials = client.list(&denials, "2018-07-01-preview").await.unwrap();
    (resources::rbac::assignments_at(&client, GROUP).await.unwrap().len(), denials.len())
}

/// Federated credentials of all identities.
async fn trusted(world: &World) -> usize {
    let (client, document) = (world.context.customer(), world.context.document());
    let mut all = 0;
    for identity in document.identities().values() {
        all += resources::federated::list(&client, identity.resource_id).await.unwrap().len();
    }
    all
}

fn jwks(world: &World) -> String {
    format!("{}/{}/openid/v1/jwks", world.context.tenant(), world.context.document().id())
}

#[tokio::test]
async fn the_deny_assignment_binds_everybody_but_the_cluster() {
    const STRANGER: &str = "57575757-0000-0000-0000-000000000001";
    let mut world = World::new(&[]).await;
    run(&mut world, &making(), 1).await;
    world.arm.open_directory();
    for application in [STRANGER, PRINCIPAL] {
        world.arm.guard(application);
    }
    let client = |application: &str| {
        let secret = rp_base::Secret::new("secret".to_owned());
        let arm = world.context.env.azure.service_principal(application, secret).unwrap();
        arm.in_tenant(&world.context.tenant())
    };
    let (stranger, own) = (client(STRANGER), client(PRINCIPAL));
    let body = json!({"location": "eastus", "properties": {}});
    let disk = format!("{GROUP}/providers/Microsoft.Compute/disks/d");
    let group = format!("{GROUP}/providers/Microsoft.Network/networkSecurityGroups/n");
    let refused = stranger.put(&group, "2020-08-01", &body).await.unwrap_err();
    assert_eq!(refused.code, "DenyAssignmentAuthorizationFailed", "{refused}");
    // What customers may do all the same.
    stranger.put(&disk, "2019-03-01", &body).await.unwrap();
    let refused = stranger.delete(&disk, "2019-03-01").await.unwrap_err();
    assert_eq!(refused.code, "DenyAssignmentAuthorizationFailed", "{refused}");
    own.put(&group, "2020-08-01", &body).await.unwrap();
    own.delete(&disk, "2019-03-01").await.unwrap();
}
