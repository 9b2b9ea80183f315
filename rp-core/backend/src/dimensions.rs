//! The contract's statsd lines about operations (`contract/backend.md` §7.1, §7.2), with the values of
//! `contract/backend.md` "Do better" 10: ids of the cluster, a result on success, the domain the right way
//! round.

use rp_base::Timestamp;
use rp_documents::ClusterDocument;
use rp_documents::cluster::provisioning::OperationEnd;
use rp_documents::cluster::{NetworkProfile, Properties};

use crate::completion::OperationFailure;
use crate::context::Context;

/// The networks of a cluster for which nothing else was chosen.
const PODS: &str = "10.128.0.0/14";
const SERVICES: &str = "172.30.0.0/16";
/// Operator flags that become dimensions; the rest would make them unbounded.
const MOST_FLAGS: usize = 64;
const LONGEST_FLAG: usize = 96;

/// One terminal operation.
#[derive(Debug)]
pub(crate) struct TerminalOperation<'a> {
    /// The document as it was worked on.
    pub(crate) body: &'a ClusterDocument,
    /// `Creating`, …, or `Failed` at the limit of dequeues.
    pub(crate) operation: &'a str,
    /// The state that the operation began with.
    pub(crate) initial: &'a str,
    pub(crate) end: OperationEnd,
    pub(crate) failure: Option<&'a OperationFailure>,
}

/// Emits the operation's lines, and logs its dimensions.
pub(crate) fn emit(context: &Context, operation: &TerminalOperation<'_>) {
    let name = format!("backend.openshiftcluster.{}", operation.operation);
    let all = dimensions_of(operation, &context.domain);
    let shown: Vec<String> = all.iter().map(|(dimension, value)| format!("{dimension} = {value}")).collect();
    tracing::info!("{name}: {}", shown.join(", "));
    let pairs: Vec<(&str, &str)> = all.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    context.statsd.gauge(&name, 1, &pairs);
    let Ok(began) = Timestamp::parse(&operation.body.correlation_data.request_time) else { return };
    let took = i64::try_from(context.clock.now().since(began).as_millis()).unwrap_or(i64::MAX);
    let states =
        [("oldProvisioningState", operation.initial), ("newProvisioningState", operation.end.state().name())];
    context.statsd.gauge("backend.openshiftcluster.duration", took, &states);
    context.statsd.gauge("backend.openshiftcluster.count", 1, &states);
}

/// What a result is called.
pub(crate) const fn result(failure: Option<&OperationFailure>) -> &'static str {
    match failure {
        None => "Success",
        Some(failure) if failure.status < 300 => "Success",
        Some(failure) if failure.status < 500 => "UserError",
        Some(_) => "InternalServerError",
    }
}

fn dimensions_of(operation: &TerminalOperation<'_>, domain: &str) -> Vec<(String, String)> {
    let (body, cluster) = (operation.body, &operation.body.cluster);
    let (properties, correlation) = (&cluster.properties, &body.correlation_data);
    let mut all: Vec<(String, String)> = Vec::with_capacity(48);
    let mut add = |name: &str, value: String| all.push((name.to_owned(), value));
    add("operationtype", operation.operation.to_owned());
    add("provisioningstate", operation.end.state().name().to_owned());
    add("resulttype", result(operation.failure).to_owned());
    let texts: [(&str, &str); 13] = [
        ("correlationdata.correlationid", &correlation.correlation_id),
        ("correlationdata.client_requestid", &correlation.client_request_id),
        ("correlationdata.requestid", &correlation.request_id),
        ("subscriptionid", &body.partition_key),
        ("resourceid", &body.key),
        ("async_operationsid", &body.async_operation_id),
        ("openshiftcluster.clustername", &cluster.name),
        ("openshiftcluster.clusterid", cluster.id.original()),
        ("openshiftcluster.location", &cluster.location),
        ("openshiftcluster.ocpversion", &properties.cluster_profile.version),
        ("openshiftcluster.rpversion", &properties.provisioned_by),
        ("openshiftcluster.resourcegroup", &properties.cluster_profile.resource_group_id),
        ("masterprofile.vmsize", &properties.master_profile.vm_size),
    ];
    for (name, text) in texts {
        add(name, or_empty(text));
    }
    add("tags", enabled(!cluster.tags.is_empty()));
    shape(properties, &mut add);
    network(&properties.network_profile, &mut add);
    add("clusterprofile.domain", domain_of(&properties.cluster_profile.domain, domain));
    flags(properties, &mut add);
    all
}

fn shape(properties: &Properties, add: &mut impl FnMut(&str, String)) {
    let workers = properties.worker_profiles.get();
    add("workprofile.count", workers.map_or_else(|| "empty".to_owned(), |all| all.len().to_string()));
    if let Some(first) = workers.and_then(|all| all.first()) {
        add("workprofile.vmsize", or_empty(&first.vm_size));
        add(
            "workprofile.disksize",
            first.disk_size_gb.get().map_or_else(|| "empty".to_owned(), |size| size.to_string()),
        );
        add("workprofile.encryptionathost", known(&first.encryption_at_host));
    }
    let (master, cluster) = (&properties.master_profile, &properties.cluster_profile);
    add("masterprofile.diskencryptionsetid", enabled(!master.disk_encryption_set_id.is_empty()));
    add("masterprofile.encryptionathost", known(&master.encryption_at_host));
    add("fips", known(&cluster.fips_validated_modules));
    add("clusteridentity", identity(properties).to_owned());
    add("pullsecret", enabled(!cluster.pull_secret.0.is_empty()));
    add("ingressprofile", ingress(properties));
    add("featureprofile.gatewayenabled", enabled(*properties.feature_profile.gateway_enabled));
}

fn network(profile: &NetworkProfile, add: &mut impl FnMut(&str, String)) {
    let outbound = match &*profile.outbound_type {
        found @ ("UserDefinedRouting" | "Loadbalancer") => found,
        _ => "unknown",
    };
    let range = |range: &str, usual: &str| (if range == usual { "Default" } else { "Custom" }).to_owned();
    let count = profile.load_balancer_profile.managed_outbound_ips.count.get();
    add("networkprofile.outboundtype", outbound.to_owned());
    add("networkprofile.podcidr", range(&profile.pod_cidr, PODS));
    add("networkprofile.servicecidr", range(&profile.service_cidr, SERVICES));
    add(
        "networkprofile.managedoutboundips",
        count.map_or_else(|| "unknown".to_owned(), |count| count.to_string()),
    );
    add("networkprofile.preconfigurednsg", known(&profile.preconfigured_nsg));
}

fn flags(properties: &Properties, add: &mut impl FnMut(&str, String)) {
    let short = |text: &str| text.len() <= LONGEST_FLAG && text.chars().all(|each| each.is_ascii_graphic());
    let set_flags = properties.operator_flags.iter().filter_map(|(name, value)| Some((name, value.get()?)));
    for (name, value) in set_flags.filter(|(name, value)| short(name) && short(value)).take(MOST_FLAGS) {
        add(&format!("operatorflags-{name}"), value.clone());
    }
}

/// Who the cluster is towards Azure.
pub(crate) fn identity(properties: &Properties) -> &'static str {
    if properties.platform_workload_identity_profile.get().is_some() {
        "managedid"
    } else if properties.service_principal_profile.get().is_some() {
        "serviceprincipal"
    } else {
        "unknown"
    }
}

fn ingress(properties: &Properties) -> String {
    match properties.ingress_profiles.last().map(|last| (&*last.visibility, &*last.name)) {
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

#[cfg(test)]
mod tests;
