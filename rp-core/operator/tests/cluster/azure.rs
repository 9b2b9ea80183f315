//! What is kept in Azure, by the stand-in for it.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use rp_base::SystemClock;
use rp_simulator_azure::{ArmControl, EmptyContents, Fault, FaultResponse, LocalArm};
use serde_json::{Value, json};
use tests_kit::until;

use crate::world::{Operator, PATIENCE, World, spec};

const SUBSCRIPTION: &str = "00000000-0000-0000-0000-00000000a001";
const TENANT: &str = "00000000-0000-0000-0000-00000000a002";

fn id(group: &str, rest: &str) -> String {
    format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/{group}/providers/{rest}")
}

fn subnet() -> String {
    id("net", "Microsoft.Network/virtualNetworks/vnet/subnets/worker")
}

fn security_group() -> String {
    id("managed", "Microsoft.Network/networkSecurityGroups/c-abcde-nsg")
}

fn account(name: &str) -> String {
    id("managed", &format!("Microsoft.Storage/storageAccounts/{name}"))
}

fn flow_log() -> String {
    id("watch", "Microsoft.Network/networkWatchers/w/flowLogs/c-abcde-nsg")
}

/// The customer's network and the cluster's resources; the firewalls allow a network of the customer's.
fn prepare(azure: &ArmControl) -> Result<()> {
    azure.subscribe(SUBSCRIPTION, TENANT);
    let rules = json!([{ "id": "/theirs", "action": "Allow" }]);
    let firewall = json!({ "defaultAction": "Deny", "virtualNetworkRules": rules });
    let storage = || json!({ "location": "eastus", "properties": { "networkAcls": firewall.clone() } });
    let subnets = json!([{ "name": "worker", "properties": { "addressPrefix": "10.1.0.0/24" } }]);
    let network = json!({ "location": "eastus", "properties": {
        "addressSpace": { "addressPrefixes": ["10.1.0.0/16"] }, "subnets": subnets } });
    for (id, body) in [
        (security_group(), json!({ "location": "eastus" })),
        (account("clusterabc"), storage()),
        (account("registry"), storage()),
        (id("net", "Microsoft.Network/virtualNetworks/vnet"), network),
        (id("watch", "Microsoft.Network/networkWatchers/w"), json!({ "location": "eastus" })),
    ] {
        ensure!(azure.put(&id, body), "the stand-in does not take {id}");
    }
    Ok(())
}

/// What the cluster says of its subnets and accounts.
async fn describe(world: &World) -> Result<()> {
    let place = json!({ "networkResourceGroup": "net", "vnet": "vnet", "subnet": "worker" });
    let role = "machine.openshift.io/cluster-api-machine-role";
    world.openshift.apply(&[
        json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
            "metadata": { "name": "in-azure", "namespace": "openshift-machine-api", "labels": { role: "worker" } },
            "spec": { "replicas": 2, "selector": { "matchLabels": { "set": "a" } }, "template": {
                "metadata": { "labels": { "set": "a" } }, "spec": { "providerSpec": { "value": place } },
            } },
        }),
        json!({
            "apiVersion": "imageregistry.operator.openshift.io/v1", "kind": "Config", "metadata": { "name": "cluster" },
            "spec": { "managementState": "Managed", "replicas": 1,
                "storage": { "azure": { "accountName": "registry", "container": "image-registry" } } },
        }),
        json!({
            "apiVersion": "preview.aro.openshift.io/v1alpha1", "kind": "PreviewFeature", "metadata": { "name": "cluster" },
            "spec": { "nsgFlowLogs": { "enabled": true, "storageAccountResourceId": account("logs"),
                "networkWatcherID": id("watch", "Microsoft.Network/networkWatchers/w") } },
        }),
    ])
    .await?;
    let mut settings = spec(&[]);
    let cluster = id("clusters", "Microsoft.RedHatOpenShift/openShiftClusters/c");
    for (member, value) in [
        ("resourceId", json!(cluster)),
        ("clusterResourceGroupId", json!(format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/managed"))),
        ("storageSuffix", json!("abc")),
        ("architectureVersion", json!(1)),
        ("serviceSubnets", json!(["/service"])),
    ] {
        settings[member] = value;
    }
    world.set_cluster(&settings).await
}

/// Waits until the subnet has its group and both endpoints.
async fn subnet_is_right(azure: &ArmControl) -> Result<()> {
    until("the subnet is right", PATIENCE, || async {
        let live = azure.get(&subnet()).context("no subnet")?;
        let group = live["properties"]["networkSecurityGroup"]["id"].as_str().unwrap_or_default();
        ensure!(group.eq_ignore_ascii_case(&security_group()), "{live}");
        let endpoints = live["properties"]["serviceEndpoints"].as_array().map_or(0, Vec::len);
        ensure!(endpoints == 2, "{live}");
        Ok(())
    })
    .await
}

async fn firewall_allows(azure: &ArmControl, name: &str, wanted: &[&str]) -> Result<()> {
    until(&format!("the firewall of {name} allows {wanted:?}"), PATIENCE, || async {
        let live = azure.get(&account(name)).context("no account")?;
        let rules = live["properties"]["networkAcls"]["virtualNetworkRules"].as_array();
        let ids: Vec<_> = rules.into_iter().flatten().filter_map(|rule| rule["id"].as_str()).collect();
        ensure!(wanted.iter().all(|id| ids.contains(id)), "{live}");
        ensure!(live["properties"]["networkAcls"]["defaultAction"] == "Deny", "{live}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn subnets_firewalls_and_flow_logs_are_kept_and_changes_of_others_stay() -> Result<()> {
    let (world, _turn) = World::enter().await?;
    rp_net::tls::install_provider();
    let arm =
        LocalArm::start(&[("operator", "s3cret")], Arc::new(EmptyContents), Arc::new(SystemClock)).await?;
    let azure = arm.arm.control();
    prepare(&azure)?;
    // The first write of each kind meets somebody else's.
    for (method, path, status) in
        [("PUT", "subnets/worker", 412), ("PUT", "flowLogs", 412), ("PATCH", "storageAccounts", 409)]
    {
        let answer = FaultResponse::status(status, "Conflict");
        let method = Some(method.parse()?);
        azure.fail(Fault { method, path: path.to_owned(), times: Some(1), answer });
    }
    describe(world).await?;
    let variables = [
        ("RP_MODE", "development"),
        ("ARO_AZURE_RESOURCE_MANAGER", &arm.url),
        ("ARO_AZURE_AUTHORITY", &arm.url),
        ("AZURE_CLIENT_ID", "operator"),
        ("AZURE_TENANT_ID", TENANT),
        ("AZURE_CLIENT_SECRET", "s3cret"),
    ];
    let operator = Operator::start_with(world, "master", &variables)?;
    subnet_is_right(&azure).await?;
    for name in ["clusterabc", "registry"] {
        firewall_allows(&azure, name, &["/theirs", "/service"]).await?;
    }
    // The controller may have looked before the subnet had its group; a change makes it look again.
    let retention = json!({ "spec": { "nsgFlowLogs": { "retentionDays": 30 } } });
    world.patch("previewfeatures.preview.aro.openshift.io", "", "cluster", &retention).await?;
    until("there is a flow log", PATIENCE, || async {
        let log = azure.get(&flow_log()).context("no flow log")?;
        ensure!(log["properties"]["enabled"] == true, "{log}");
        ensure!(log["properties"]["retentionPolicy"]["days"] == 30, "{log}");
        Ok(())
    })
    .await?;
    let cluster = world.get("clusters.aro.openshift.io", "", "cluster").await?;
    let note = "aro.openshift.io/lastSubnetReconcileTimestamp";
    ensure!(cluster["metadata"]["annotations"][note].is_string(), "{cluster}");

    // The customer takes the group away and adds a NAT gateway; a change of the Cluster makes the controller look again.
    let mut theirs = azure.get(&subnet()).context("no subnet")?;
    theirs["properties"]["networkSecurityGroup"] = Value::Null;
    theirs["properties"]["natGateway"] = json!({ "id": "/nat" });
    ensure!(azure.put(&subnet(), theirs), "the stand-in does not take the subnet");
    world.patch_cluster(&json!({ "serviceSubnets": ["/service", "/another"] })).await?;
    subnet_is_right(&azure).await?;
    let live = azure.get(&subnet()).context("no subnet")?;
    ensure!(live["properties"]["natGateway"]["id"] == "/nat", "{live}");
    // The subnet has the endpoint of storage by now, so the firewalls allow it too.
    firewall_allows(&azure, "clusterabc", &["/theirs", "/service", "/another", &subnet()]).await?;
    ensure!(!operator.process.log().contains("s3cret"), "the log has a secret");
    world.delete("machinesets.machine.openshift.io", "openshift-machine-api", "in-azure").await?;
    world.delete("previewfeatures.preview.aro.openshift.io", "", "cluster").await
}
