//! Load balancers (`contract/cluster.md` §8.3).

use serde_json::{Value, json};

use super::{addresses, after, id, reference, resource};
use crate::document::Document;

pub(crate) const KIND: &str = "Microsoft.Network/loadBalancers";
pub(crate) const INTERNAL_FRONTEND: &str = "internal-lb-ip-v4";
pub(crate) const PUBLIC_FRONTEND: &str = "public-lb-ip-v4";
pub(crate) const OUTBOUND_RULE: &str = "outbound-rule-v4";
const IDLE_MINUTES: u32 = 30;

/// Name of the internal balancer, by architecture.
pub(crate) fn internal_name(cluster: &Document) -> String {
    let behind = if cluster.is_first_architecture() { "-internal-lb" } else { "-internal" };
    format!("{}{behind}", cluster.infra_id())
}

pub(crate) fn internal_id(cluster: &Document) -> String {
    id(cluster.group_id(), KIND, &internal_name(cluster))
}

/// The public balancer's, by architecture.
pub(crate) fn public_id(cluster: &Document) -> String {
    let behind = if cluster.is_first_architecture() { "-public-lb" } else { "" };
    id(cluster.group_id(), KIND, &format!("{}{behind}", cluster.infra_id()))
}

/// The pool of the API server on the internal and on the public balancer.
pub(crate) fn api_pools(cluster: &Document) -> (String, String) {
    let infra = cluster.infra_id();
    match cluster.is_first_architecture() {
        true => (format!("{infra}-internal-controlplane-v4"), format!("{infra}-public-lb-control-plane-v4")),
        false => (infra.to_owned(), infra.to_owned()),
    }
}

pub(crate) fn frontend_id(balancer: &str, name: &str) -> String {
    format!("{balancer}/frontendIPConfigurations/{name}")
}

pub(crate) fn pool_id(balancer: &str, name: &str) -> String {
    format!("{balancer}/backendAddressPools/{name}")
}

fn probe_id(balancer: &str, name: &str) -> String {
    format!("{balancer}/probes/{name}")
}

/// The internal balancer of a new cluster.
pub(crate) fn internal(cluster: &Document) -> Value {
    let balancer = internal_id(cluster);
    let mut frontend = json!({
        "name": INTERNAL_FRONTEND,
        "properties": {
            "privateIPAllocationMethod": "Dynamic",
            "subnet": reference(cluster.master_subnet()),
        },
    });
    if !cluster.zones().is_empty() {
        frontend["zones"] = json!(cluster.zones());
    }
    let mut rules = api_rules(&balancer, INTERNAL_FRONTEND, cluster.infra_id());
    let mut pools = vec![json!({ "name": cluster.infra_id() })];
    for n in 0..3 {
        pools.push(json!({ "name": ssh_pool(n) }));
        rules.push(ssh_rule(&balancer, INTERNAL_FRONTEND, n));
    }
    let properties = json!({
        "frontendIPConfigurations": [frontend],
        "backendAddressPools": pools,
        "probes": [
            probe("api-internal-probe", "Https", 6443, Some("/readyz")),
            probe("sint-probe", "Https", 22623, Some("/healthz")),
            ssh_probe(),
        ],
        "loadBalancingRules": rules,
    });
    standard(&internal_name(cluster), cluster, properties)
}

/// Rules of API server and machine configuration on the internal balancer.
pub(crate) fn api_rules(balancer: &str, frontend: &str, pool: &str) -> Vec<Value> {
    let rule = |name: &str, port: u32, probe: &str, quiet: bool| {
        rule(balancer, &Rule { name, frontend, pool, port, to: port, probe, quiet })
    };
    vec![
        rule("api-internal-v4", 6443, "api-internal-probe", true),
        rule("sint-v4", 22623, "sint-probe", false),
    ]
}

pub(crate) fn ssh_pool(n: usize) -> String {
    format!("ssh-{n}")
}

/// Port 2200 + n leads to master n.
pub(crate) fn ssh_rule(balancer: &str, frontend: &str, n: usize) -> Value {
    let name = ssh_pool(n);
    let port = 2200 + u32::try_from(n).unwrap_or_default();
    rule(balancer, &Rule { name: &name, frontend, pool: &name, port, to: 22, probe: "ssh", quiet: true })
}

pub(crate) fn ssh_probe() -> Value {
    probe("ssh", "Tcp", 22, None)
}

/// The public balancer of a new cluster: outbound through the named addresses; the API server where it is public.
/// Lists of rules and probes are told even when they are empty, or Azure adds its own.
pub(crate) fn public(cluster: &Document, outbound: &[String]) -> Value {
    let balancer = public_id(cluster);
    let api = cluster.is_api_public();
    let named = |name: &String| match api && *name == addresses::api_name(cluster) {
        true => PUBLIC_FRONTEND.to_owned(),
        false => name.clone(),
    };
    let frontends: Vec<Value> = outbound
        .iter()
        .map(|name| public_frontend(&named(name), &addresses::address_id(cluster, name)))
        .collect();
    let of_rule: Vec<Value> =
        outbound.iter().map(|name| reference(&frontend_id(&balancer, &named(name)))).collect();
    let rules: Vec<Value> = match api {
        true => api_rules(&balancer, PUBLIC_FRONTEND, cluster.infra_id()).into_iter().take(1).collect(),
        false => Vec::new(),
    };
    let probes: Vec<Value> =
        api.then(|| probe("api-internal-probe", "Https", 6443, Some("/readyz"))).into_iter().collect();
    let properties = json!({
        "frontendIPConfigurations": frontends,
        "backendAddressPools": [{ "name": cluster.infra_id() }],
        "loadBalancingRules": rules,
        "probes": probes,
        "outboundRules": [{
            "name": OUTBOUND_RULE,
            "properties": {
                "frontendIPConfigurations": of_rule,
                "backendAddressPool": reference(&pool_id(&balancer, cluster.infra_id())),
                "protocol": "All",
                "idleTimeoutInMinutes": IDLE_MINUTES,
            },
        }],
    });
    let needed: Vec<String> = outbound.iter().map(|name| addresses::address_id(cluster, name)).collect();
    after(standard(cluster.infra_id(), cluster, properties), &needed)
}

/// A frontend on a public address.
pub(crate) fn public_frontend(name: &str, address: &str) -> Value {
    json!({ "name": name, "properties": { "publicIPAddress": reference(address) } })
}

fn standard(name: &str, cluster: &Document, properties: Value) -> Value {
    let mut body = resource(KIND, name, Some(&cluster.location()), properties);
    body["sku"] = json!({ "name": "Standard" });
    body
}

fn probe(name: &str, protocol: &str, port: u32, path: Option<&str>) -> Value {
    let mut properties =
        json!({ "protocol": protocol, "port": port, "intervalInSeconds": 5, "numberOfProbes": 2 });
    if let Some(path) = path {
        properties["requestPath"] = json!(path);
    }
    json!({ "name": name, "properties": properties })
}

struct Rule<'a> {
    name: &'a str,
    frontend: &'a str,
    pool: &'a str,
    port: u32,
    to: u32,
    probe: &'a str,
    /// No outbound connections through the frontend.
    quiet: bool,
}

fn rule(balancer: &str, of: &Rule<'_>) -> Value {
    let mut properties = json!({
        "frontendIPConfiguration": reference(&frontend_id(balancer, of.frontend)),
        "backendAddressPool": reference(&pool_id(balancer, of.pool)),
        "probe": reference(&probe_id(balancer, of.probe)),
        "protocol": "Tcp",
        "loadDistribution": "Default",
        "frontendPort": of.port,
        "backendPort": of.to,
        "idleTimeoutInMinutes": IDLE_MINUTES,
    });
    if of.quiet {
        properties["disableOutboundSnat"] = json!(true);
    }
    json!({ "name": of.name, "properties": properties })
}
