//! What changes on a cluster that runs.

use serde_json::{Value, json};

use super::world::{GROUP, World, subnet};
use super::{NamedStep, making, run};
use crate::resources::deploy::deploy;
use crate::resources::{addresses, balancer, base, bootstrap, machines, zone_migration};

const RECONCILE: NamedStep =
    ("reconcileLoadBalancerProfile", |c| Box::pin(balancer::reconcile_load_balancer_profile(c)));
const COUNT: &str = "/properties/networkProfile/loadBalancerProfile/managedOutboundIps/count";

fn addresses_of(world: &World) -> Vec<String> {
    let ids = world.ids(GROUP).into_iter();
    ids.filter(|id| id.contains("/publicIPAddresses/")).map(|id| crate::roles::last(&id).to_owned()).collect()
}

fn balancer_of(world: &World, name: &str) -> Value {
    world.arm.get(&format!("{GROUP}/providers/Microsoft.Network/loadBalancers/{name}")).unwrap()
}

#[tokio::test]
async fn outbound_addresses_grow_shrink_and_keep_the_oldest() {
    for visibility in ["Public", "Private"] {
        let mut world =
            World::new(&[("/properties/apiserverProfile/visibility", json!(visibility)), (COUNT, json!(2))])
                .await;
        run(&mut world, &making(), 1).await;
        let first = balancer::effective(&balancer_of(&world, "shop-x7k2p"));
        assert_eq!(first.len(), 2);
        for count in [4_usize, 1, 3, 3] {
            world.change(COUNT, json!(count));
            run(&mut world, &[RECONCILE], 2).await;
            let now = balancer::effective(&balancer_of(&world, "shop-x7k2p"));
            assert_eq!(now.len(), count, "{visibility}");
            assert_eq!(now[0].to_lowercase(), first[0].to_lowercase(), "the oldest stays");
            let document = world.context.document();
            assert_eq!(document.effective_addresses().len(), count);
            // The router's beside them; nothing is left over.
            assert_eq!(addresses_of(&world).len(), count + 1, "{visibility} {:?}", addresses_of(&world));
        }
        let rules =
            balancer_of(&world, "shop-x7k2p")["properties"]["loadBalancingRules"].as_array().unwrap().len();
        assert_eq!(rules, usize::from(visibility == "Public"));
    }
}

#[tokio::test]
async fn whoever_lost_the_lease_takes_no_address_away() {
    let mut world = World::new(&[]).await;
    run(&mut world, &making(), 1).await;
    let before = addresses_of(&world);
    world.change(COUNT, json!(1));
    world.lose();
    let failed = balancer::reconcile_load_balancer_profile(&world.context).await.unwrap_err();
    assert!(failed.is_interruption(), "{failed}");
    assert_eq!(addresses_of(&world), before);
    run(&mut world, &[RECONCILE], 1).await;
    assert_eq!(addresses_of(&world), ["shop-x7k2p-default-v4", "shop-x7k2p-pip-v4"]);
}

#[tokio::test]
async fn effective_addresses_are_told_as_they_are() {
    let mut world = World::new(&[]).await;
    run(&mut world, &making(), 1).await;
    let real =
        world.context.document().effective_addresses().iter().map(|id| id.to_lowercase()).collect::<Vec<_>>();
    world.change(
        "/properties/networkProfile/loadBalancerProfile/effectiveOutboundIps",
        json!([{"id": "/else"}]),
    );
    run(&mut world, &[RECONCILE], 1).await;
    let now =
        world.context.document().effective_addresses().iter().map(|id| id.to_lowercase()).collect::<Vec<_>>();
    assert_eq!(now, real);
}

#[tokio::test]
async fn the_internal_balancer_gets_zones_and_keeps_its_address() {
    const MIGRATE: NamedStep = ("migrateInternalLoadBalancerZones", |c| {
        Box::pin(zone_migration::migrate_internal_load_balancer_zones(c))
    });
    const SSH: NamedStep = ("fixSSH", |c| Box::pin(machines::fix_ssh(c)));
    let mut world = World::new(&[("/properties/zones", json!([]))]).await;
    run(&mut world, &making(), 1).await;
    let address = world.context.document().text_at("/properties/apiserverProfile/intIp");
    assert!(
        balancer_of(&world, "shop-x7k2p-internal")["properties"]["frontendIPConfigurations"][0]["zones"]
            .is_null()
    );
    // Old documents do not have it: it is read before the frontend goes.
    world.change("/properties/apiserverProfile/intIp", json!(""));
    run(&mut world, &[MIGRATE, SSH], 2).await;
    assert_eq!(world.context.document().text_at("/properties/apiserverProfile/intIp"), address);
    let balancer = balancer_of(&world, "shop-x7k2p-internal");
    let frontends = balancer["properties"]["frontendIPConfigurations"].as_array().unwrap();
    assert_eq!(frontends.len(), 1, "{frontends:?}");
    assert_eq!(frontends[0]["properties"]["privateIPAddress"], address.as_str());
    assert_eq!(frontends[0]["zones"], json!(["1", "2", "3"]));
    let mut rules: Vec<&str> = balancer["properties"]["loadBalancingRules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| rule["name"].as_str().unwrap())
        .collect();
    rules.sort_unstable();
    assert_eq!(rules, ["api-internal-v4", "sint-v4", "ssh-0", "ssh-1", "ssh-2"]);
    let link = world
        .arm
        .get(&format!("{GROUP}/providers/Microsoft.Network/privateLinkServices/shop-x7k2p-pls"))
        .unwrap();
    let on = link["properties"]["loadBalancerFrontendIpConfigurations"][0]["id"].as_str().unwrap();
    assert!(on.ends_with("/internal-lb-ip-v4"), "{on}");
    assert_eq!(world.context.document().zones(), ["1", "2", "3"]);
}

#[tokio::test]
async fn cards_of_masters_are_in_their_pools() {
    const SSH: NamedStep = ("fixSSH", |c| Box::pin(machines::fix_ssh(c)));
    let mut world = World::new(&[]).await;
    run(&mut world, &making(), 1).await;
    let text = machines::fix_ssh(&World::new(&[]).await.context).await;
    assert!(text.is_err());
    let card =
        |n: usize| format!("{GROUP}/providers/Microsoft.Network/networkInterfaces/shop-x7k2p-master{n}-nic");
    let internal = format!("{GROUP}/providers/Microsoft.Network/loadBalancers/shop-x7k2p-internal");
    for n in 0..3 {
        // In the wrong pool, and in none of the others; the last has no machine.
        let wrong = json!([{"id": format!("{internal}/backendAddressPools/ssh-{}", (n + 1) % 3)}]);
        let mut body = json!({"location": "eastus", "properties": {"ipConfigurations": [{"name": "pipConfig", "properties":
            {"subnet": {"id": subnet("master")}, "loadBalancerBackendAddressPools": wrong}}]}});
        if n < 2 {
            let machine =
                format!("{GROUP}/providers/Microsoft.Compute/virtualMachines/shop-x7k2p-master-{n}");
            body["properties"]["virtualMachine"] = json!({ "id": machine });
        }
        assert!(world.arm.put(&card(n), body));
    }
    run(&mut world, &[SSH], 2).await;
    for n in 0..2 {
        let body = world.arm.get(&card(n)).unwrap();
        let pools =
            &body["properties"]["ipConfigurations"][0]["properties"]["loadBalancerBackendAddressPools"];
        let mut pools: Vec<String> = pools
            .as_array()
            .unwrap()
            .iter()
            .map(|pool| pool["id"].as_str().unwrap().rsplit("/loadBalancers/").next().unwrap().to_owned())
            .collect();
        pools.sort();
        let own = format!("shop-x7k2p-internal/backendAddressPools/ssh-{n}");
        assert_eq!(
            pools,
            [
                own.replace(&format!("ssh-{n}"), "shop-x7k2p"),
                own,
                "shop-x7k2p/backendAddressPools/shop-x7k2p".to_owned()
            ]
        );
    }
    assert!(world.arm.get(&card(2)).is_none(), "a card without a machine goes");
}

#[tokio::test]
async fn the_bootstrap_goes_and_repairs_may_be_repeated() {
    const REPAIRS: [NamedStep; 5] = [
        ("removeBootstrap", |c| Box::pin(bootstrap::remove_bootstrap(c))),
        ("removeBootstrapIgnition", |c| Box::pin(bootstrap::remove_bootstrap_ignition(c))),
        ("createOrUpdateDenyAssignment", |c| Box::pin(base::create_or_update_deny_assignment(c))),
        ("migrateStorageAccounts", |c| Box::pin(base::migrate_storage_accounts(c))),
        ("populateDatabaseIntIP", |c| Box::pin(addresses::populate_database_int_ip(c))),
    ];
    let mut world = World::new(&[]).await;
    run(&mut world, &making(), 1).await;
    let of = |kind: &str, name: &str| format!("{GROUP}/providers/{kind}/shop-x7k2p-bootstrap{name}");
    assert!(world.arm.put(&of("Microsoft.Compute/disks", "_OSDisk"), json!({"location": "eastus"})));
    let expected: Vec<String> = {
        let all = world.ids(GROUP).into_iter();
        all.filter(|id| !id.contains("bootstrap") && !id.ends_with("/ignition")).collect()
    };
    run(&mut world, &REPAIRS, 2).await;
    assert_eq!(world.ids(GROUP), expected);
    let account = format!("{GROUP}/providers/Microsoft.Storage/storageAccounts/clusterbcdfghjklm");
    let account = world.arm.get(&account).unwrap();
    assert_eq!(account["properties"]["networkAcls"]["defaultAction"], "Deny");
}

#[tokio::test]
async fn machines_of_the_template_come_and_the_bootstrap_goes() {
    const THEN: [NamedStep; 4] = [
        ("removeBootstrap", |c| Box::pin(bootstrap::remove_bootstrap(c))),
        ("removeBootstrapIgnition", |c| Box::pin(bootstrap::remove_bootstrap_ignition(c))),
        ("startVMs", |c| Box::pin(machines::start_vms(c))),
        ("fixSSH", |c| Box::pin(machines::fix_ssh(c))),
    ];
    let mut world = World::new(&[]).await;
    run(&mut world, &making(), 1).await;
    let template = crate::templates::tests::machines_of(&[]);
    let sas = "https://account.example/ignition/bootstrap.ign?sig=x";
    let parameters = json!({"sas": {"value": sas}, "controlPlaneZones": {"value": ["1", "2", "3"]}});
    deploy(&world.context, "resources", &template, &parameters).await.unwrap();
    let machines = |world: &World| {
        let ids = world.ids(GROUP).into_iter().filter(|id| id.contains("/virtualMachines/"));
        ids.map(|id| crate::roles::last(&id).to_owned()).collect::<Vec<_>>()
    };
    let masters = ["shop-x7k2p-master-0", "shop-x7k2p-master-1", "shop-x7k2p-master-2"];
    assert_eq!(machines(&world)[0], "shop-x7k2p-bootstrap");
    assert_eq!(machines(&world)[1..], masters);
    let bootstrap = format!("{GROUP}/providers/Microsoft.Compute/virtualMachines/shop-x7k2p-bootstrap");
    let told = world.arm.get(&bootstrap).unwrap();
    assert_eq!(told["zones"], json!(["1"]));
    run(&mut world, &THEN, 2).await;
    assert_eq!(machines(&world), masters);
    assert!(!world.ids(GROUP).iter().any(|id| id.contains("bootstrap")), "{:?}", world.ids(GROUP));
    run(&mut world, &super::removing(), 1).await;
    assert!(world.ids(GROUP).is_empty(), "{:?}", world.ids(GROUP));
}
