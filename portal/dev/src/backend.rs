//! The workers of the simulated region: what a customer asks for is done, against the stand-in for Azure and the region.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use rp_azure::{CallPolicy, CallSettings, CloudClients, Polling, Repeat, RetryPolicy};
use rp_cluster::{Environment, Features, Installation, Installer, Periods, PrivateLinkClients};
use rp_config::Settings;
use rp_core::Services;
use rp_core::backend::run;
use rp_core::environment::{domain, operator, region, stored_role_sets};
use rp_database::Typed;
use rp_documents::subscription::{Subscription, SubscriptionProperties};
use rp_documents::{SubscriptionDocument, SubscriptionState, Unknown};
use rp_metrics::Statsd;
use rp_runtime::Lifecycle;
use rp_simulator_azure::{ArmControl, ArmStandIn, object_id_of, tenant_of};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::names::{CLIENT_ID, CUSTOMER, CUSTOMER_GROUP, MOST_PAIRS, OWN, PAIRS, customer_network};

const OWN_GROUP: &str = "aro-rp";
const GATEWAY_GROUP: &str = "aro-gateway";
const ENDPOINT_NETWORK: &str = "rp-pe-vnet-001";
const ENDPOINT_SUBNET: &str = "rp-pe-subnet";

/// One try of a call, with its repeats.
const PATIENCE: Duration = Duration::from_secs(60);

/// Starts the workers; the answer ends when the last operation has been handed on.
pub(crate) async fn start(
    services: &Services,
    stand_in: &ArmStandIn,
    installer: Arc<dyn Installer>,
    pairs: usize,
    life: &Lifecycle,
) -> anyhow::Result<JoinHandle<()>> {
    prepare(&stand_in.control(), &services.settings, pairs.clamp(1, MOST_PAIRS));
    register(services).await?;
    run(services, life, environment(services, installer)?, Statsd::none())
}

fn environment(services: &Services, installer: Arc<dyn Installer>) -> anyhow::Result<Environment> {
    let settings = &services.settings;
    Ok(Environment {
        region: region(settings)?,
        domain: domain(settings)?,
        rp_subscription: OWN.to_owned(),
        rp_tenant: tenant_of(OWN),
        rp_group: OWN_GROUP.to_owned(),
        gateway_group: GATEWAY_GROUP.to_owned(),
        endpoint_vnet: ENDPOINT_NETWORK.to_owned(),
        endpoint_subnet: ENDPOINT_SUBNET.to_owned(),
        registry_id: String::new(),
        registry_host: "registry.invalid".to_owned(),
        fp_client_id: CLIENT_ID.to_owned(),
        fp_service_principal: object_id_of(CLIENT_ID),
        oidc: None,
        certificate_issuer: String::new(),
        commit: env!("CARGO_PKG_VERSION").to_owned(),
        operator: operator(settings)?,
        features: Features {
            development: true,
            disable_signed_certificates: true,
            disable_deny_assignments: false,
            expanded_zones: false,
        },
        azure: Arc::new(clients(services)?),
        certificates: None,
        role_sets: stored_role_sets(services),
        gateways: None,
        installation: Installation::Whole(installer),
        keyring: services.keyring.clone(),
        clock: Arc::clone(&services.clock),
        random: Arc::clone(&services.random),
        clusters: Arc::new(PrivateLinkClients(services.dialer.clone())),
        periods: Periods {
            poll: Duration::from_millis(500),
            authorization_retry: Duration::from_secs(1),
            authorization_limit: Duration::from_secs(30),
            longest: Some(Duration::from_mins(10)),
            diagnostics: Duration::from_secs(20),
        },
    })
}

/// Clients of the stand-in: one identity does everything.
fn clients(services: &Services) -> anyhow::Result<CloudClients> {
    let arm = services.azure.client().context("azure.credential is not set")?;
    let call_settings =
        CallSettings { repeat: Repeat::NONE, polling: Polling::QUICK, ..CallSettings::default() };
    let own = arm.with_policy(CallPolicy { call_settings, ..CallPolicy::new(RetryPolicy::QUICK, PATIENCE) });
    Ok(CloudClients::new(own.clone(), own))
}

/// What stands in Azure before the first cluster: the resource provider's own group with its network and zone, and a
/// customer's networks.
fn prepare(stand_in: &ArmControl, settings: &Settings, pairs: usize) {
    for subscription in [OWN, CUSTOMER] {
        stand_in.subscribe(subscription, &tenant_of(subscription));
    }
    // A person who tries this out has applications of their own.
    stand_in.open_directory();
    if pairs > PAIRS {
        for quota in ["cores", "standardDSv3Family", "PublicIPAddresses"] {
            stand_in.quota(CUSTOMER, quota, 0, 1_000_000);
        }
    }
    let location = settings.azure.region.as_deref().unwrap_or_default();
    let group = |subscription: &str, name: &str| {
        let id = format!("/subscriptions/{subscription}/resourceGroups/{name}");
        put(stand_in, &id, json!({"location": location, "properties": {}}));
        id
    };
    let own = group(OWN, OWN_GROUP);
    group(OWN, GATEWAY_GROUP);
    let endpoints = json!([{"name": ENDPOINT_SUBNET, "properties": {"addressPrefix": "10.8.0.0/16",
        "privateEndpointNetworkPolicies": "Disabled"}}]);
    put(stand_in, &network(&own, ENDPOINT_NETWORK), vnet(location, "10.8.0.0/16", &endpoints));
    let zone = settings.rp.api.domain.as_deref().unwrap_or_default();
    let zone = format!("{own}/providers/Microsoft.Network/dnsZones/{zone}");
    put(stand_in, &zone, json!({"location": "global", "properties": {}}));
    let customer = group(CUSTOMER, CUSTOMER_GROUP);
    let subnet = |role: &str, pair: usize, at: usize| {
        let prefix = format!("10.{}.{}.0/24", 16 + at / 256, at % 256);
        json!({"name": format!("{role}-{pair}"), "properties": {"addressPrefix": prefix}})
    };
    for first in (1..=pairs).step_by(PAIRS) {
        let here = first..=pairs.min(first + PAIRS - 1);
        let subnets: Vec<Value> =
            here.flat_map(|n| [subnet("master", n, 2 * n), subnet("worker", n, 2 * n + 1)]).collect();
        let name = customer_network(first);
        put(stand_in, &network(&customer, &name), vnet(location, "10.16.0.0/12", &json!(subnets)));
    }
}

/// The customer's subscription, as the resource manager tells of it.
async fn register(services: &Services) -> anyhow::Result<()> {
    let subscriptions = Typed::<SubscriptionDocument>::new(Arc::clone(&services.store));
    if subscriptions.get(CUSTOMER).await?.is_some() {
        return Ok(());
    }
    let properties = SubscriptionProperties { tenant_id: tenant_of(CUSTOMER), unknown: Unknown::new() };
    let subscription = Subscription {
        state: SubscriptionState::Registered,
        properties: Some(properties),
        unknown: Unknown::new(),
    };
    let document = SubscriptionDocument { id: CUSTOMER.to_owned(), subscription, unknown: Unknown::new() };
    subscriptions.create(document).await?;
    Ok(())
}

fn network(group: &str, name: &str) -> String {
    format!("{group}/providers/Microsoft.Network/virtualNetworks/{name}")
}

fn vnet(location: &str, space: &str, subnets: &Value) -> Value {
    json!({"location": location, "properties": {"addressSpace": {"addressPrefixes": [space]}, "subnets": subnets}})
}

/// What is there from an earlier start stays as clusters changed it.
fn put(stand_in: &ArmControl, id: &str, body: Value) {
    if stand_in.get(id).is_none() && !stand_in.put(id, body) {
        tracing::error!(id, "the stand-in for Azure does not take a resource");
    }
}
