//! Networks and machines of the simulated clusters.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rp_base::{SharedClock, sha256};
use rp_simulator::fleet::{Cluster, Fleet};
use rp_simulator::machines::{Machine, machines};
use serde_json::{Value, json};

use super::Contents;
use super::id::ResourcePath;

/// The tenant of a simulated subscription: always the same, a UUID.
pub fn tenant_of(subscription: &str) -> String {
    let digest = sha256(format!("tenant of {}", subscription.to_ascii_lowercase()).as_bytes()).to_string();
    let part = |from: usize, to: usize| digest.get(from..to).unwrap_or_default();
    format!("{}-{}-4{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

/// The clusters' resources, generated on request.
#[derive(Debug)]
pub struct Clusters {
    fleet: Arc<Fleet>,
    clock: SharedClock,
    /// By subscription and managed group, lower case.
    managed: HashMap<(String, String), usize>,
    /// Clusters of a customer's group: its networks.
    groups: HashMap<(String, String), Vec<usize>>,
    subscriptions: HashSet<String>,
}

impl Clusters {
    /// Of a fleet.
    pub fn new(fleet: Arc<Fleet>, clock: SharedClock) -> Self {
        let (mut managed, mut groups) = (HashMap::new(), HashMap::<_, Vec<usize>>::new());
        for cluster in fleet.clusters() {
            let subscription = cluster.subscription.to_ascii_lowercase();
            let group = format!("aro-{}", cluster.infra_id).to_ascii_lowercase();
            managed.insert((subscription.clone(), group), cluster.index);
            groups
                .entry((subscription, cluster.resource_group.to_ascii_lowercase()))
                .or_default()
                .push(cluster.index);
        }
        let subscriptions = managed.keys().map(|(subscription, _)| subscription.clone()).collect();
        Self { fleet, clock, managed, groups, subscriptions }
    }

    fn managed(&self, subscription: &str, group: &str) -> Option<Cluster> {
        let index = self.managed.get(&(subscription.to_owned(), group.to_owned()))?;
        self.fleet.cluster(*index)
    }

    fn of_group(&self, subscription: &str, group: &str) -> impl Iterator<Item = Cluster> {
        let all = self.groups.get(&(subscription.to_owned(), group.to_owned()));
        all.into_iter().flatten().filter_map(|index| self.fleet.cluster(*index))
    }

    fn machines(&self, cluster: &Cluster) -> Vec<Value> {
        machines(cluster, self.clock.now()).iter().map(|machine| virtual_machine(cluster, machine)).collect()
    }
}

impl Contents for Clusters {
    fn get(&self, id: &ResourcePath) -> Option<Value> {
        let names: Vec<&str> = id.parts.iter().map(|(_, name)| name.as_str()).collect();
        match (id.kind().as_str(), names.as_slice()) {
            ("microsoft.compute/virtualmachines", [name]) => {
                let cluster = self.managed(&id.subscription, &id.group)?;
                let named =
                    |body: &Value| body["name"].as_str().is_some_and(|own| own.eq_ignore_ascii_case(name));
                self.machines(&cluster).into_iter().find(named)
            }
            ("microsoft.network/virtualnetworks/subnets", [network, subnet]) => {
                let cluster = self
                    .of_group(&id.subscription, &id.group)
                    .find(|cluster| network_of(cluster, network))?;
                subnets(&cluster).into_iter().find(|body| body["name"] == *subnet)
            }
            ("microsoft.network/virtualnetworks", [network]) => {
                let cluster = self
                    .of_group(&id.subscription, &id.group)
                    .find(|cluster| network_of(cluster, network))?;
                Some(virtual_network(&cluster))
            }
            ("microsoft.network/networksecuritygroups", [name]) => {
                let own = |cluster: &Cluster| group_name(cluster).eq_ignore_ascii_case(name);
                self.of_group(&id.subscription, &id.group).find(own).map(|cluster| security_group(&cluster))
            }
            _ => None,
        }
    }

    fn list(&self, subscription: &str, group: Option<&str>, kind: &str) -> Vec<Value> {
        match (kind, group) {
            ("microsoft.compute/virtualmachines", Some(group)) => {
                self.managed(subscription, group).map(|cluster| self.machines(&cluster)).unwrap_or_default()
            }
            ("microsoft.network/virtualnetworks", Some(group)) => {
                self.of_group(subscription, group).map(|cluster| virtual_network(&cluster)).collect()
            }
            ("microsoft.network/networksecuritygroups", Some(group)) => {
                self.of_group(subscription, group).map(|cluster| security_group(&cluster)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn has_group(&self, subscription: &str, group: &str) -> bool {
        let key = (subscription.to_owned(), group.to_owned());
        self.managed.contains_key(&key) || self.groups.contains_key(&key)
    }

    fn tenant(&self, subscription: &str) -> Option<String> {
        self.subscriptions.contains(subscription).then(|| tenant_of(subscription))
    }
}

fn network_of(cluster: &Cluster, name: &str) -> bool {
    format!("{}-vnet", cluster.name).eq_ignore_ascii_case(name)
}

fn group_name(cluster: &Cluster) -> String {
    format!("{}-nsg", cluster.name)
}

fn customer(cluster: &Cluster) -> String {
    format!(
        "/subscriptions/{}/resourceGroups/{}/providers/Microsoft.Network",
        cluster.subscription, cluster.resource_group
    )
}

fn virtual_network(cluster: &Cluster) -> Value {
    let name = format!("{}-vnet", cluster.name);
    json!({"id": format!("{}/virtualNetworks/{name}", customer(cluster)), "name": name, "location": cluster.location,
        "type": "Microsoft.Network/virtualNetworks", "tags": {"simulated": "true"},
        "properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}, "subnets": subnets(cluster),
            "provisioningState": "Succeeded"}})
}

fn subnets(cluster: &Cluster) -> [Value; 2] {
    let subnet = |name: &str, prefix: &str| {
        let mut body = json!({
            "id": format!("{}/virtualNetworks/{}-vnet/subnets/{name}", customer(cluster), cluster.name), "name": name,
            "type": "Microsoft.Network/virtualNetworks/subnets",
            "properties": {"addressPrefix": prefix, "provisioningState": "Succeeded",
                "privateEndpointNetworkPolicies": "Disabled"}});
        if cluster.has_own_security_group() {
            let id = format!("{}/networkSecurityGroups/{}", customer(cluster), group_name(cluster));
            body["properties"]["networkSecurityGroup"] = json!({ "id": id });
        }
        body
    };
    [subnet("master", "10.0.0.0/23"), subnet("worker", "10.0.2.0/23")]
}

fn security_group(cluster: &Cluster) -> Value {
    let rule = |name: &str, priority: u32, access: &str, from: &str, to: &str, port: &str| {
        json!({"name": name, "type": "Microsoft.Network/networkSecurityGroups/securityRules",
            "properties": {"priority": priority, "access": access, "direction": "Inbound", "protocol": "Tcp",
                "sourceAddressPrefix": from, "destinationAddressPrefix": to, "sourcePortRange": "*",
                "destinationPortRange": port, "provisioningState": "Succeeded"}})
    };
    let mut rules = vec![rule("apiserver_in", 120, "Allow", "*", "10.0.0.0/23", "6443")];
    if cluster.has_denying_rule() {
        rules.push(rule("deny_between_subnets", 300, "Deny", "10.0.2.0/23", "10.0.0.0/23", "*"));
    }
    let name = group_name(cluster);
    json!({"id": format!("{}/networkSecurityGroups/{name}", customer(cluster)), "name": name,
        "type": "Microsoft.Network/networkSecurityGroups", "location": cluster.location, "tags": {"simulated": "true"},
        "properties": {"provisioningState": "Succeeded", "securityRules": rules, "defaultSecurityRules": []}})
}

fn virtual_machine(cluster: &Cluster, machine: &Machine) -> Value {
    let id = format!(
        "/subscriptions/{}/resourceGroups/aro-{}/providers/Microsoft.Compute/virtualMachines/{}",
        cluster.subscription, cluster.infra_id, machine.name
    );
    let (code, words) = if machine.running {
        ("PowerState/running", "VM running")
    } else {
        ("PowerState/deallocated", "VM deallocated")
    };
    let since = cluster.since;
    json!({"id": id, "name": machine.name, "type": "Microsoft.Compute/virtualMachines", "location": cluster.location,
        "zones": [machine.zone.to_string()], "tags": {"simulated": "true"},
        "properties": {"vmId": sha256(id.as_bytes()).to_string().get(..32), "provisioningState": "Succeeded",
            "hardwareProfile": {"vmSize": if machine.master { "Standard_D8s_v5" } else { "Standard_D4s_v5" }},
            "instanceView": {"computerName": machine.name, "statuses": [
                {"code": "ProvisioningState/succeeded", "level": "Info", "displayStatus": "Provisioning succeeded", "time": since},
                {"code": code, "level": "Info", "displayStatus": words}]}}})
}
