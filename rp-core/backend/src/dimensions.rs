//! The contract's statsd lines about operations (`contract/backend.md` §7.1, §7.2), with the values of
//! `contract/backend.md` "Do better" 10: ids of the cluster, a result on success, the domain the right way
//! round.

use rp_base::Timestamp;
use serde_json::Value;

use crate::context::Context;
use crate::end::{Target, Wrong};

/// The networks of a cluster for which nothing else was chosen.
const PODS: &str = "10.128.0.0/14";
const SERVICES: &str = "172.30.0.0/16";
/// Operator flags that become dimensions; the rest would make them unbounded.
const MOST_FLAGS: usize = 64;
const LONGEST_FLAG: usize = 96;

/// One terminal operation.
#[derive(Debug)]
pub(crate) struct Told<'a> {
    /// The document as it was worked on.
    pub(crate) body: &'a Value,
    /// `Creating`, …, or `Failed` at the limit of dequeues.
    pub(crate) operation: &'a str,
    /// The state that the operation began with.
    pub(crate) initial: &'a str,
    pub(crate) target: Target,
    pub(crate) wrong: Option<&'a Wrong>,
}

/// Emits the operation's lines, and logs its dimensions.
pub(crate) fn emit(context: &Context, told: &Told<'_>) {
    let name = format!("backend.openshiftcluster.{}", told.operation);
    let all = of(told, &context.domain);
    let shown: Vec<String> = all.iter().map(|(dimension, value)| format!("{dimension} = {value}")).collect();
    tracing::info!("{name}: {}", shown.join(", "));
    let pairs: Vec<(&str, &str)> = all.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    context.statsd.gauge(&name, 1, &pairs);
    let Ok(began) = Timestamp::parse(text(told.body, "/correlationData/requestTime")) else { return };
    let took = i64::try_from(context.clock.now().since(began).as_millis()).unwrap_or(i64::MAX);
    let states = [("oldProvisioningState", told.initial), ("newProvisioningState", told.target.name())];
    context.statsd.gauge("backend.openshiftcluster.duration", took, &states);
    context.statsd.gauge("backend.openshiftcluster.count", 1, &states);
}

/// What a result is called.
pub(crate) const fn result(wrong: Option<&Wrong>) -> &'static str {
    match wrong {
        None => "Success",
        Some(wrong) if wrong.status < 300 => "Success",
        Some(wrong) if wrong.status < 500 => "UserError",
        Some(_) => "InternalServerError",
    }
}

fn of(told: &Told<'_>, domain: &str) -> Vec<(String, String)> {
    let body = told.body;
    let mut all: Vec<(String, String)> = Vec::with_capacity(48);
    let mut add = |name: &str, value: String| all.push((name.to_owned(), value));
    add("operationtype", told.operation.to_owned());
    add("provisioningstate", told.target.name().to_owned());
    add("resulttype", result(told.wrong).to_owned());
    for (name, pointer) in [
        ("correlationdata.correlationid", "/correlationData/correlationId"),
        ("correlationdata.client_requestid", "/correlationData/clientRequestId"),
        ("correlationdata.requestid", "/correlationData/requestID"),
        ("subscriptionid", "/partitionKey"),
        ("resourceid", "/key"),
        ("async_operationsid", "/asyncOperationId"),
        ("openshiftcluster.clustername", "/openShiftCluster/name"),
        ("openshiftcluster.clusterid", "/openShiftCluster/id"),
        ("openshiftcluster.location", "/openShiftCluster/location"),
        ("openshiftcluster.ocpversion", "/openShiftCluster/properties/clusterProfile/version"),
        ("openshiftcluster.rpversion", "/openShiftCluster/properties/provisionedBy"),
        ("openshiftcluster.resourcegroup", "/openShiftCluster/properties/clusterProfile/resourceGroupId"),
        ("masterprofile.vmsize", "/openShiftCluster/properties/masterProfile/vmSize"),
    ] {
        add(name, or_empty(text(body, pointer)));
    }
    add("tags", enabled(body.pointer("/openShiftCluster/tags").is_some_and(has_some)));
    shape(property(body, ""), &mut add);
    network(property(body, "/networkProfile"), &mut add);
    add("clusterprofile.domain", domain_of(text(property(body, ""), "/clusterProfile/domain"), domain));
    flags(property(body, "/operatorFlags"), &mut add);
    all
}

fn shape(properties: &Value, add: &mut impl FnMut(&str, String)) {
    let workers = properties.pointer("/workerProfiles").and_then(Value::as_array);
    add("workprofile.count", workers.map_or_else(|| "empty".to_owned(), |all| all.len().to_string()));
    if let Some(first) = workers.and_then(|all| all.first()) {
        add("workprofile.vmsize", or_empty(text(first, "/vmSize")));
        add(
            "workprofile.disksize",
            first["diskSizeGB"].as_i64().map_or_else(|| "empty".to_owned(), |size| size.to_string()),
        );
        add("workprofile.encryptionathost", known(text(first, "/encryptionAtHost")));
    }
    let set = |pointer: &str| enabled(!text(properties, pointer).is_empty());
    add("masterprofile.diskencryptionsetid", set("/masterProfile/diskEncryptionSetId"));
    add("masterprofile.encryptionathost", known(text(properties, "/masterProfile/encryptionAtHost")));
    add("fips", known(text(properties, "/clusterProfile/fipsValidatedModules")));
    add("clusteridentity", identity(properties).to_owned());
    add("pullsecret", set("/clusterProfile/pullSecret"));
    add("ingressprofile", ingress(properties));
    let gateway = properties.pointer("/featureProfile/gatewayEnabled").and_then(Value::as_bool);
    add("featureprofile.gatewayenabled", enabled(gateway.unwrap_or_default()));
}

fn network(profile: &Value, add: &mut impl FnMut(&str, String)) {
    let outbound = match text(profile, "/outboundType") {
        found @ ("UserDefinedRouting" | "Loadbalancer") => found,
        _ => "unknown",
    };
    let range = |pointer: &str, usual: &str| {
        (if text(profile, pointer) == usual { "Default" } else { "Custom" }).to_owned()
    };
    let count = profile.pointer("/loadBalancerProfile/managedOutboundIps/count").and_then(Value::as_i64);
    add("networkprofile.outboundtype", outbound.to_owned());
    add("networkprofile.podcidr", range("/podCidr", PODS));
    add("networkprofile.servicecidr", range("/serviceCidr", SERVICES));
    add(
        "networkprofile.managedoutboundips",
        count.map_or_else(|| "unknown".to_owned(), |count| count.to_string()),
    );
    add("networkprofile.preconfigurednsg", known(text(profile, "/preconfiguredNSG")));
}

fn flags(flags: &Value, add: &mut impl FnMut(&str, String)) {
    let Some(flags) = flags.as_object() else { return };
    let short = |text: &str| text.len() <= LONGEST_FLAG && text.chars().all(|each| each.is_ascii_graphic());
    let told = flags.iter().filter_map(|(name, value)| Some((name, value.as_str()?)));
    for (name, value) in told.filter(|(name, value)| short(name) && short(value)).take(MOST_FLAGS) {
        add(&format!("operatorflags-{name}"), value.to_owned());
    }
}

/// Who the cluster is towards Azure.
pub(crate) fn identity(properties: &Value) -> &'static str {
    if properties["platformWorkloadIdentityProfile"].is_object() {
        "managedid"
    } else if properties["servicePrincipalProfile"].is_object() {
        "serviceprincipal"
    } else {
        "unknown"
    }
}

fn ingress(properties: &Value) -> String {
    let last = properties.pointer("/ingressProfiles").and_then(Value::as_array).and_then(|all| all.last());
    match last.map(|last| (text(last, "/visibility"), text(last, "/name"))) {
        Some((visibility @ ("Private" | "Public"), name)) => format!("{visibility}.{name}"),
        _ => "unknown".to_owned(),
    }
}

/// A name without dots, or one of our own domain, is managed by us.
fn domain_of(of: &str, ours: &str) -> String {
    let managed = !of.contains('.') || (!ours.is_empty() && of.ends_with(&format!(".{ours}")));
    match of {
        "" => "empty",
        _ if managed => "managed",
        _ => "Custom",
    }
    .to_owned()
}

fn known(text: &str) -> String {
    match text {
        "Enabled" | "Disabled" => text,
        _ => "unknown",
    }
    .to_owned()
}

fn enabled(is: bool) -> String {
    (if is { "Enabled" } else { "Disabled" }).to_owned()
}

fn or_empty(text: &str) -> String {
    (if text.is_empty() { "empty" } else { text }).to_owned()
}

fn has_some(tags: &Value) -> bool {
    tags.as_object().is_some_and(|tags| !tags.is_empty())
}

fn property<'a>(body: &'a Value, pointer: &str) -> &'a Value {
    body.pointer(&format!("/openShiftCluster/properties{pointer}")).unwrap_or(&Value::Null)
}

fn text<'a>(body: &'a Value, pointer: &str) -> &'a str {
    body.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
