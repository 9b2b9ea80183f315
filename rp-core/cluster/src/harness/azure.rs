//! The stand-in for Azure in this process, with what stands there before a cluster comes.

use std::sync::Arc;
use std::time::Duration;

use rp_azure::{
    Arm, ArmOptions, AzureClients, BlobAccess, BlobStore, CallSettings, CloudClients, Credential, Endpoints,
    Polling, Repeat, RetryPolicy,
};
use rp_base::{Secret, SystemClock, SystemRandom};
use rp_simulator_azure::{ArmControl, EmptyContents, LocalArm};
use serde_json::{Value, json};

use super::{PRINCIPAL, RP_SUBSCRIPTION, RP_TENANT, SUBSCRIPTION, TENANT};

/// A running stand-in and clients of it.
#[derive(Debug)]
pub(crate) struct Cloud {
    pub(crate) control: ArmControl,
    pub(crate) clients: Arc<dyn AzureClients>,
    /// Its address, without a slash at the end.
    pub(crate) url: String,
    _alone: LocalArm,
}

impl Cloud {
    pub(crate) async fn start() -> Self {
        rp_net::tls::install_provider();
        let applications = [("first-party", "s3cret"), (PRINCIPAL, "cluster-secret")];
        let alone =
            LocalArm::start(&applications, Arc::new(EmptyContents), Arc::new(SystemClock)).await.unwrap();
        let control = alone.arm.control();
        control.subscribe(SUBSCRIPTION, TENANT);
        control.subscribe(RP_SUBSCRIPTION, RP_TENANT);
        prepare(&control);
        let own = || Credential::Secret {
            client_id: "first-party".to_owned(),
            secret: Secret::new("s3cret".to_owned()),
        };
        let url: url::Url = alone.url.parse().unwrap();
        let quick = Polling {
            first: Duration::from_millis(2),
            most: Duration::from_millis(20),
            limit: Duration::from_secs(30),
        };
        let options = ArmOptions {
            endpoints: Endpoints::at(url.clone(), url),
            credential: own(),
            ca_pem: None,
            clock: Arc::new(SystemClock),
            random: Arc::new(SystemRandom),
            registry: rp_metrics::Registry::new(),
            observer: None,
            retry: RetryPolicy::NONE,
            patience: Duration::from_secs(60),
        };
        let call_settings = CallSettings { repeat: Repeat::NONE, polling: quick, ..CallSettings::default() };
        let first_party = Arm::with(options, call_settings).unwrap();
        let managed_identity = first_party.with_credential(own());
        let clients = CloudClients::new(first_party, managed_identity);
        Self { control, clients: Arc::new(clients), url: alone.url.clone(), _alone: alone }
    }

    /// A container of a storage account of the service's own.
    pub(crate) async fn make_container(&self, account: &str, container: &str) {
        let client = self.clients.managed_identity().in_tenant(RP_TENANT);
        let url = format!("{}/blob/{account}", self.url).parse().unwrap();
        BlobStore::new(client, url, BlobAccess::Token).create_container(container).await.unwrap();
    }

    /// Ids of everything that there is, lower case.
    pub(crate) fn everything(&self) -> Vec<String> {
        let mut ids: Vec<String> = [SUBSCRIPTION, RP_SUBSCRIPTION]
            .iter()
            .flat_map(|subscription| self.control.ids(&format!("/subscriptions/{subscription}")))
            .map(|id| id.to_lowercase())
            .collect();
        ids.sort();
        ids.dedup();
        ids
    }
}

/// The service's own groups, and a customer's network.
fn prepare(control: &ArmControl) {
    let rp = format!("/subscriptions/{RP_SUBSCRIPTION}/resourceGroups/rp-eastus");
    let gateway = format!("/subscriptions/{RP_SUBSCRIPTION}/resourceGroups/gwy-eastus");
    let customer = format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/customer");
    let network =
        |group: &str, kind: &str, name: &str| format!("{group}/providers/Microsoft.Network/{kind}/{name}");
    let vnet = |prefix: &str, subnets: Value| json!({"location": "eastus", "properties": {"addressSpace": {"addressPrefixes": [prefix]}, "subnets": subnets}});
    let subnet = |name: &str, prefix: &str| json!({"name": name, "properties": {"addressPrefix": prefix}});
    for group in [&rp, &gateway, &customer] {
        assert!(control.put(group, json!({"location": "eastus"})), "{group}");
    }
    for (id, body) in [
        (
            network(&rp, "virtualNetworks", "rp-pe-vnet-001"),
            vnet("10.8.0.0/16", json!([subnet("rp-pe-subnet", "10.8.0.0/20")])),
        ),
        (
            network(&rp, "virtualNetworks", "rp-vnet"),
            vnet("10.9.0.0/16", json!([subnet("rp-subnet", "10.9.0.0/24")])),
        ),
        (network(&rp, "dnsZones", "eastus.aroapp.io"), json!({"location": "global", "properties": {}})),
        (
            network(&gateway, "virtualNetworks", "gateway-vnet"),
            vnet("10.10.0.0/16", json!([subnet("gateway-subnet", "10.10.0.0/24")])),
        ),
        (
            network(&gateway, "privateLinkServices", "gateway-pls-001"),
            json!({"location": "eastus", "properties": {"ipConfigurations": [], "visibility": {"subscriptions": ["*"]}}}),
        ),
        (
            network(&customer, "virtualNetworks", "vnet"),
            vnet("10.0.0.0/22", json!([subnet("master", "10.0.0.0/24"), subnet("worker", "10.0.1.0/24")])),
        ),
    ] {
        assert!(control.put(&id, body), "{id}");
    }
}

/// Role and secret of each operator that has an identity of its own here.
pub(crate) const OPERATORS: [(&str, &str); 3] = [
    ("aro-operator", "4436bae4-7702-4c84-919b-c4069ff25ee2"),
    ("disk-csi-driver", "5b7237c5-45e1-49d6-bc18-a1f62f400748"),
    ("image-registry", "8b32b316-c2f5-4ddf-b05b-83dacd2d08b5"),
];

fn identity(name: &str) -> String {
    format!(
        "/subscriptions/{SUBSCRIPTION}/resourceGroups/customer/providers/Microsoft.ManagedIdentity/userAssignedIdentities/{name}"
    )
}

/// Identities of a customer, and the roles that operators need.
pub(crate) fn prepare_identities(control: &ArmControl) {
    for name in OPERATORS.iter().map(|(name, _)| *name).chain(["cluster"]) {
        assert!(control.put(&identity(name), json!({"location": "eastus"})), "{name}");
    }
    let own = crate::roles::FEDERATED_CREDENTIAL;
    for role in OPERATORS.iter().map(|(_, role)| *role).chain([own]) {
        let id =
            format!("/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/{role}");
        let actions = json!(["Microsoft.Network/*", "Microsoft.ManagedIdentity/*"]);
        assert!(control.put(&id, json!({"properties": {"permissions": [{"actions": actions}]}})), "{id}");
    }
}

/// A cluster's identities, as the API stores them.
pub(crate) fn with_identities(cluster: &mut Value) {
    let of = |(name, _): &(&str, &str)| ((*name).to_owned(), json!({"resourceId": identity(name)}));
    let all: serde_json::Map<String, Value> = OPERATORS.iter().map(of).collect();
    cluster["properties"]["platformWorkloadIdentityProfile"] = json!({"platformWorkloadIdentities": all});
    cluster["managedServiceIdentity"] =
        json!({"type": "UserAssigned", "userAssignedIdentities": {identity("cluster"): {}}});
}

/// The role set of the version that tests install.
pub(crate) fn role_set() -> rp_documents::RoleSetDocument {
    let role = |(name, role): &(&str, &str)| {
        json!({"operatorName": name, "roleDefinitionName": name,
            "roleDefinitionId": format!("/providers/Microsoft.Authorization/roleDefinitions/{role}"),
            "serviceAccounts": [format!("system:serviceaccount:openshift-{name}:operator")],
            "secretLocation": {"namespace": format!("openshift-{name}"), "name": "azure-cloud-credentials"}})
    };
    let roles: Vec<Value> = OPERATORS.iter().map(role).collect();
    let set = json!({"id": "x", "platformWorkloadIdentityRoleSet": {"properties":
        {"openShiftVersion": "4.17", "platformWorkloadIdentityRoles": roles}}});
    serde_json::from_value(set).unwrap()
}

/// What a customer prepares for a private cluster: security groups of their own.
pub(crate) fn prepare_security_groups(control: &ArmControl) {
    let customer =
        format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/customer/providers/Microsoft.Network");
    let group = format!("{customer}/networkSecurityGroups/own");
    assert!(control.put(&group, json!({"location": "eastus", "properties": {"securityRules": []}})));
    for (name, prefix) in [("master", "10.0.0.0/24"), ("worker", "10.0.1.0/24")] {
        let subnet = format!("{customer}/virtualNetworks/vnet/subnets/{name}");
        let body = json!({"properties": {"addressPrefix": prefix, "networkSecurityGroup": {"id": group}}});
        assert!(control.put(&subnet, body), "{name}");
    }
}

/// What an installer makes in the cluster's group.
pub(crate) fn installed(control: &ArmControl, document: &Value) {
    let document = super::documents::document(document.clone());
    let (group, infra) = (document.group_id(), document.infra_id());
    let subnet = document.master_subnet();
    let put = |kind: &str, name: String, properties: Value| {
        let id = format!("{group}/providers/{kind}/{name}");
        control.put(&id, json!({"location": "eastus", "properties": properties}));
        id
    };
    let machine = |nic: &str, name: &str| {
        let card = put(
            "Microsoft.Network/networkInterfaces",
            format!("{infra}-{nic}-nic"),
            json!({"ipConfigurations": [{"name": "pipConfig", "properties": {"subnet": {"id": subnet}}}]}),
        );
        let disk =
            put("Microsoft.Compute/disks", format!("{infra}-{name}_OSDisk"), json!({"diskSizeGB": 100}));
        put(
            "Microsoft.Compute/virtualMachines",
            format!("{infra}-{name}"),
            json!({"hardwareProfile": {"vmSize": "Standard_D8s_v3"},
                "storageProfile": {"osDisk": {"name": format!("{infra}-{name}_OSDisk"), "managedDisk": {"id": disk}}},
                "networkProfile": {"networkInterfaces": [{"id": card}]}}),
        );
    };
    machine("bootstrap", "bootstrap");
    for at in 0..3 {
        machine(&format!("master{at}"), &format!("master-{at}"));
    }
}
