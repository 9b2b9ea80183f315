//! Networks: addresses, links, references that block deletion; locks, rights, policies.

use super::*;

const VERSION: &str = "api-version=2020-08-01";

struct Net {
    client: Client,
    token: String,
    group: String,
}

impl Net {
    async fn start() -> Self {
        let (client, token, group) = with_group().await;
        let net = Self { client, token, group };
        net.put(
            "virtualNetworks/v",
            json!({"location": "eastus", "properties": {
            "addressSpace": {"addressPrefixes": ["10.9.0.0/16"]},
            "subnets": [{"name": "s", "properties": {"addressPrefix": "10.9.0.0/29"}}]}}),
        )
        .await;
        net
    }

    fn id(&self, rest: &str) -> String {
        format!("{}/providers/Microsoft.Network/{rest}", self.group)
    }

    async fn ask(&self, method: Method, rest: &str, body: Option<Value>) -> (u16, Value) {
        let path = format!("{}{}{VERSION}", self.id(rest), if rest.contains('?') { "&" } else { "?" });
        self.client.ask(method, &path, &self.token, body).await
    }

    async fn put(&self, rest: &str, body: Value) -> Value {
        let (status, body) = self.ask(Method::PUT, rest, Some(body)).await;
        assert!(status < 300, "{rest}: {body}");
        body
    }

    async fn get(&self, rest: &str) -> Value {
        let (status, body) = self.ask(Method::GET, rest, None).await;
        assert_eq!(status, 200, "{rest}: {body}");
        body
    }

    /// The code of a refused deletion, or empty.
    async fn delete(&self, rest: &str) -> String {
        let (_, body) = self.ask(Method::DELETE, rest, None).await;
        code(&body).to_owned()
    }

    fn subnet(&self) -> Value {
        json!({"id": self.id("virtualNetworks/v/subnets/s")})
    }

    async fn card(&self, name: &str) -> Value {
        let item = json!({"name": "ip", "properties": {"subnet": self.subnet()}});
        self.put(&format!("networkInterfaces/{name}"), json!({"properties": {"ipConfigurations": [item]}}))
            .await
    }
}

#[tokio::test]
async fn addresses_are_given_from_the_bottom_and_kept() {
    let net = Net::start().await;
    let ip =
        |body: &Value| body["properties"]["ipConfigurations"][0]["properties"]["privateIPAddress"].clone();
    let first = net.card("one").await;
    assert_eq!(ip(&first), "10.9.0.4");
    assert_eq!(ip(&net.card("two").await), "10.9.0.5");
    assert_eq!(ip(&net.card("one").await), "10.9.0.4");
    assert_eq!(ip(&net.card("three").await), "10.9.0.6");
    let item = json!({"name": "ip", "properties": {"subnet": net.subnet()}});
    let body = json!({"properties": {"ipConfigurations": [item]}});
    let (_, full) = net.ask(Method::PUT, "networkInterfaces/four", Some(body)).await;
    assert_eq!(code(&full), "SubnetIsFull");
    let subnet = net.get("virtualNetworks/v/subnets/s").await;
    assert_eq!(subnet["properties"]["ipConfigurations"].as_array().map(Vec::len), Some(3), "{subnet}");
    assert_eq!(net.delete("virtualNetworks/v/subnets/s").await, "InUseSubnetCannotBeDeleted");
    assert_eq!(net.delete("networkInterfaces/one").await, "");
    assert_eq!(ip(&net.card("four").await), "10.9.0.4");
    let public = net.put("publicIPAddresses/p", json!({"sku": {"name": "Standard"}})).await;
    assert!(public["properties"]["ipAddress"].as_str().unwrap().starts_with("20."));
    let network = net.get("virtualNetworks/v").await;
    assert_eq!(network["properties"]["subnets"][0]["name"], "s");
}

#[tokio::test]
async fn security_groups_know_their_subnets() {
    let net = Net::start().await;
    let subnet = |group: &str| {
        json!({"properties": {"addressPrefix": "10.9.0.0/29",
        "networkSecurityGroup": {"id": group}, "serviceEndpoints": [{"service": "Microsoft.Storage"}]}})
    };
    let group = net.id("networkSecurityGroups/n");
    let (_, refused) = net.ask(Method::PUT, "virtualNetworks/v/subnets/s", Some(subnet(&group))).await;
    assert_eq!(code(&refused), "InvalidResourceReference");
    net.put("networkSecurityGroups/n", json!({"properties": {"securityRules": []}})).await;
    let attached = net.put("virtualNetworks/v/subnets/s", subnet(&group)).await;
    assert_eq!(attached["properties"]["serviceEndpoints"][0]["provisioningState"], "Succeeded");
    let shown = net.get("networkSecurityGroups/n").await;
    assert_eq!(shown["properties"]["subnets"][0]["id"], net.subnet()["id"], "{shown}");
    assert_eq!(net.delete("networkSecurityGroups/n").await, "InUseNetworkSecurityGroupCannotBeDeleted");
    net.put("virtualNetworks/v/subnets/s", json!({"properties": {"addressPrefix": "10.9.0.0/29"}})).await;
    assert_eq!(net.delete("networkSecurityGroups/n").await, "");
}

#[tokio::test]
async fn endpoints_have_cards_and_wait_for_approval() {
    let net = Net::start().await;
    let frontend = json!({"name": "internal", "properties": {"subnet": net.subnet()}});
    net.put("loadBalancers/lb", json!({"properties": {"frontendIPConfigurations": [frontend]}})).await;
    let front = json!({"id": net.id("loadBalancers/lb/frontendIPConfigurations/internal")});
    net.put(
        "privateLinkServices/pls",
        json!({"properties": {"loadBalancerFrontendIpConfigurations": [front],
        "autoApproval": {"subscriptions": []},
        "ipConfigurations": [{"name": "nic", "properties": {"subnet": net.subnet()}}]}}),
    )
    .await;
    assert_eq!(net.delete("loadBalancers/lb").await, "CannotDeleteLoadBalancerWithPrivateLinkService");
    let link = net.id("privateLinkServices/pls");
    net.put("privateEndpoints/pe", json!({"properties": {"subnet": net.subnet(),
        "manualPrivateLinkServiceConnections": [{"name": "c", "properties": {"privateLinkServiceId": link}}]}})).await;
    let endpoint = net.get("privateEndpoints/pe?$expand=networkInterfaces").await;
    let card = &endpoint["properties"]["networkInterfaces"][0];
    assert!(
        card.pointer("/properties/ipConfigurations/0/properties/privateIPAddress").is_some(),
        "{endpoint}"
    );
    let state = "/properties/manualPrivateLinkServiceConnections/0/properties/privateLinkServiceConnectionState/status";
    assert_eq!(endpoint.pointer(state), Some(&json!("Pending")));
    let service = net.get("privateLinkServices/pls").await;
    let connection = &service["properties"]["privateEndpointConnections"][0];
    assert!(connection["properties"]["linkIdentifier"].is_string());
    let name = connection["name"].as_str().unwrap();
    let approved = json!({"properties": {"privateLinkServiceConnectionState": {"status": "Approved", "description": "Approved"}}});
    net.put(&format!("privateLinkServices/pls/privateEndpointConnections/{name}"), approved).await;
    assert_eq!(net.get("privateEndpoints/pe").await.pointer(state), Some(&json!("Approved")));
    assert_eq!(
        net.delete("privateLinkServices/pls").await,
        "PrivateLinkServiceHasPrivateEndpointConnections"
    );
    assert_eq!(net.delete("privateEndpoints/pe").await, "");
    assert_eq!(net.delete("privateLinkServices/pls").await, "");
    assert_eq!(net.delete("loadBalancers/lb").await, "");
    let left = net.client.arm.control().ids(&net.group);
    assert_eq!(left.len(), 1, "{left:?}");
}

#[tokio::test]
async fn groups_go_with_everything_unless_locked() {
    let net = Net::start().await;
    net.card("one").await;
    let lock = format!("{}/providers/Microsoft.Authorization/locks/l", net.group);
    assert!(net.client.arm.put(&lock, json!({"properties": {"level": "CanNotDelete"}})));
    assert_eq!(net.delete("networkInterfaces/one").await, "ScopeLocked");
    let group = format!("{}?{VERSION}", net.group);
    let (status, body) = net.client.ask(Method::DELETE, &group, &net.token, None).await;
    assert_eq!((status, code(&body)), (409, "ScopeLocked"));
    net.client.arm.control().remove(&lock);
    let control = net.client.arm.control();
    control.slow(Duration::from_hours(1));
    let (status, _) = net.client.ask(Method::DELETE, &group, &net.token, None).await;
    assert_eq!(status, 202);
    let (_, body) = net.client.get(&group, &net.token).await;
    assert_eq!(body["properties"]["provisioningState"], "Deleting", "{body}");
    control.remove(&net.group);
    assert_eq!(code(&net.client.get(&group, &net.token).await.1), "ResourceGroupNotFound");
    assert_eq!(control.ids(&net.group), Vec::<String>::new());
}

#[tokio::test]
async fn rights_that_are_missing_or_arrive_late() {
    let net = Net::start().await;
    let control = net.client.arm.control();
    control.forbid(DenyRule { action: "subnets/write".into(), times: Some(1), ..DenyRule::default() });
    let body = || Some(json!({"properties": {"addressPrefix": "10.9.0.0/29"}}));
    let (status, refused) = net.ask(Method::PUT, "virtualNetworks/v/subnets/s", body()).await;
    assert_eq!((status, code(&refused)), (403, "AuthorizationFailed"));
    assert_eq!(net.ask(Method::PUT, "virtualNetworks/v/subnets/s", body()).await.0, 200);
    control.forbid(DenyRule {
        subject: Some("someone".into()),
        action: "join".into(),
        ..DenyRule::default()
    });
    let asked = |who: &str| {
        json!({"Subject": {"Attributes": {"ObjectId": who}}, "Resource": {"Id": net.id("virtualNetworks/v")},
        "Actions": [{"Id": "Microsoft.Network/virtualNetworks/join/action"}, {"Id": "Microsoft.Network/virtualNetworks/read"}]})
    };
    let path = "/providers/Microsoft.Authorization/checkAccess?api-version=2021-06-01-preview";
    let decided = |body: Value| {
        [body["value"][0]["accessDecision"].clone(), body["value"][1]["accessDecision"].clone()]
    };
    let (_, body) = net.client.ask(Method::POST, path, &net.token, Some(asked("someone"))).await;
    assert_eq!(decided(body), ["NotAllowed", "Allowed"]);
    let (_, body) = net.client.ask(Method::POST, path, &net.token, Some(asked("another"))).await;
    assert_eq!(decided(body), ["Allowed", "Allowed"]);
    // A deny assignment applies only to the caller that a test names.
    let deny = format!("{}/providers/Microsoft.Authorization/denyAssignments/d", net.group);
    assert!(control.put(&deny, json!({"properties": {"denyAssignmentName": "d", "excludePrincipals": [],
        "permissions": [{"actions": ["*/write", "*/delete"], "notActions": ["Microsoft.Network/publicIPAddresses/*"]}]}})));
    net.card("one").await;
    control.guard("first-party");
    assert_eq!(net.delete("networkInterfaces/one").await, "DenyAssignmentAuthorizationFailed");
    net.put("publicIPAddresses/p", json!({})).await;
}

#[tokio::test]
async fn machines_run_count_and_leave_their_disk() {
    let net = Net::start().await;
    let control = net.client.arm.control();
    let subscription = net.group.split('/').nth(2).unwrap();
    control.quota(subscription, "cores", 0, 8);
    let card = net.card("one").await["id"].clone();
    let machine = |size: &str| {
        json!({"location": "eastus", "properties": {"hardwareProfile": {"vmSize": size},
        "storageProfile": {"osDisk": {"name": "disk", "managedDisk": {"storageAccountType": "Premium_LRS"}}},
        "osProfile": {"computerName": "m", "adminPassword": "geheim"},
        "networkProfile": {"networkInterfaces": [{"id": card}]}}})
    };
    let path = |name: &str, rest: &str| {
        format!("{}/providers/Microsoft.Compute/virtualMachines/{name}{rest}?{VERSION}", net.group)
    };
    let put = async |name: &str, size: &str| {
        net.client.ask(Method::PUT, &path(name, ""), &net.token, Some(machine(size))).await
    };
    assert_eq!(put("m", "Standard_D16s_v5").await.0, 409);
    let (status, made) = put("m", "Standard_D8s_v5").await;
    assert!(status == 201 && made["properties"]["osProfile"]["adminPassword"].is_null(), "{made}");
    let (_, over) = put("n", "Standard_D4s_v5").await;
    assert!(over["error"]["message"].as_str().unwrap().contains("Current Limit: 8"), "{over}");
    let view = async || net.client.get(&path("m", "/instanceView"), &net.token).await;
    assert_eq!(view().await.1["statuses"][1]["code"], "PowerState/running");
    assert_eq!(net.client.ask(Method::POST, &path("m", "/deallocate"), &net.token, None).await.0, 202);
    assert_eq!(view().await.1["statuses"][1]["code"], "PowerState/deallocated");
    assert_eq!(net.delete("networkInterfaces/one").await, "NicInUse");
    assert_eq!(net.client.ask(Method::DELETE, &path("m", ""), &net.token, None).await.0, 200);
    assert!(control.ids(&net.group).iter().any(|id| id.ends_with("/disks/disk")));
}

#[tokio::test]
async fn the_routes_of_a_card_are_computed_in_an_operation() {
    let net = Net::start().await;
    net.card("n").await;
    let (status, _) = net.ask(Method::POST, "networkInterfaces/n/effectiveRouteTable", None).await;
    assert_eq!(status, 202);
    let (status, told) = net.ask(Method::POST, "networkInterfaces/none/effectiveRouteTable", None).await;
    assert_eq!((status, code(&told)), (404, "ResourceNotFound"));
}
