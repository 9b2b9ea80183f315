//! The cluster-wide proxy: whether everything that must not go through it is listed
//! (`contract/monitor.md` §9.9).

use super::no_proxy::{NoProxyList, host_of};
use super::output::owned_text;
use super::{CollectError, CollectorOutput, Level};
use crate::cluster_objects::{ClusterObjects, Resource};
use crate::names::cluster;
use crate::objects::Proxy;
use crate::sample::{Sample, Text};

const NOT_APPLIED: &str =
    "CWP NOT Enabled Successfully. Check the network operator status or review the noProxy items ";
/// Hosts that must never go through a proxy.
const ALWAYS: [&str; 5] = ["localhost", "127.0.0.1", ".svc", ".cluster.local", "169.254.169.254"];
/// Azure's own DNS and health probes.
const WIRE_SERVER: &str = "168.63.129.16";

fn is_enabled(proxy: &Proxy) -> bool {
    !proxy.spec.is_empty()
}

pub(super) fn needs(seen: &ClusterObjects) -> Vec<Resource> {
    let enabled = seen.proxy().ok().flatten().is_some_and(|proxy| is_enabled(&proxy));
    let mut needs = vec![Resource::Proxy];
    if enabled {
        needs.extend([Resource::Dns, Resource::Network, Resource::AroCluster, Resource::Infrastructure]);
        if !seen.is_imported() {
            needs.push(Resource::Subnets);
        }
    }
    needs
}

pub(super) fn status(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<(), CollectError> {
    let Some(proxy) = seen.proxy()? else { return Ok(()) };
    if !is_enabled(&proxy) {
        told.push(sample("false", "CWP Not Enabled".into(), "disabled"));
        return Ok(());
    }
    let mut listed = proxy.status.no_proxy.as_str();
    if listed.is_empty() {
        told.logged(sample("true", NOT_APPLIED.into(), "not_applied"), "");
        listed = proxy.spec.no_proxy.as_str();
    }
    let listed = NoProxyList::new(listed);
    let missing = missing(seen, &listed, told)?;
    if missing.is_empty() {
        told.push(sample("false", "CWP enabled successfully".into(), "ok"));
        return Ok(());
    }
    let message = format!("CWP enabled but missing  {} in the no_proxy list", missing.join(","));
    told.line(Level::Info, message.clone(), Vec::new());
    told.logged(sample("true", message.into(), "missing_entries"), "");
    Ok(())
}

fn sample(status: &'static str, message: Text, reason: &'static str) -> Sample {
    Sample::one(&cluster::PROXY_STATUS, [status.into(), message, reason.into()])
}

/// The entries that are missing from the list.
fn missing(
    seen: &ClusterObjects,
    listed: &NoProxyList<'_>,
    told: &mut CollectorOutput,
) -> Result<Vec<String>, CollectError> {
    let mut missing = MissingEntries { listed, found: Vec::new() };
    ALWAYS.iter().for_each(|entry| missing.address(entry));
    if seen.dns()?.is_none_or(|dns| dns.spec.servers.0 == 0) {
        missing.address(WIRE_SERVER);
    }
    if !seen.is_imported() {
        for prefix in prefixes(seen, told)? {
            missing.address(&prefix);
        }
    }
    if let Some(network) = seen.network()? {
        network.spec.cluster_network.iter().for_each(|network| missing.address(network.cidr.as_str()));
        network.spec.service_network.iter().for_each(|network| missing.address(network.as_str()));
    }
    if let Some(aro) = seen.aro_cluster()? {
        for domain in aro.spec.gateway_domains.iter() {
            missing.host(&domain.as_str().to_lowercase());
        }
        let domain = aro.spec.domain.as_str();
        if !domain.is_empty() && !listed.has(domain) && !listed.has(&format!(".{domain}")) {
            if !listed.has(&format!(".apps.{domain}")) {
                missing.found.push(domain.to_owned());
            }
            let infrastructure = seen.infrastructure()?;
            let internal = infrastructure.as_ref().map_or("", |it| it.status.api_internal.as_str());
            missing.host(host_of(internal));
            missing.host(host_of(&seen.cluster().api_url));
        }
    }
    Ok(missing.found)
}

/// Prefixes of the masters' and the workers' subnets, in this order, each once.
fn prefixes(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<Vec<String>, CollectError> {
    let (known, cluster) = (seen.prefixes()?, seen.cluster());
    let workers = cluster.workers.iter().map(|worker| worker.subnet_id.as_str());
    let ids = std::iter::once(cluster.master_subnet.as_str()).chain(workers).filter(|id| !id.is_empty());
    let mut out: Vec<String> = Vec::new();
    for id in ids {
        match known.get(&id.to_ascii_lowercase()) {
            Some(Ok(prefixes)) => {
                let new: Vec<_> = prefixes.iter().filter(|prefix| !out.contains(prefix)).cloned().collect();
                out.extend(new);
            }
            other => {
                let why = match other {
                    Some(Err(why)) => why.as_str(),
                    _ => "not read",
                };
                if id == cluster.master_subnet {
                    return Err(CollectError::Object(format!("the subnet of the masters: {why}").into()));
                }
                let fields = vec![("subnet".into(), owned_text(id)), ("error".into(), owned_text(why))];
                told.line(Level::Error, "the subnet of workers cannot be read", fields);
            }
        }
    }
    Ok(out)
}

struct MissingEntries<'a> {
    listed: &'a NoProxyList<'a>,
    found: Vec<String>,
}

impl MissingEntries<'_> {
    /// Checks an address or network: listed itself, or within a listed network.
    fn address(&mut self, entry: &str) {
        if !entry.is_empty() && !self.listed.has(entry) && !self.listed.contains(entry) {
            self.push(entry);
        }
    }

    /// Checks a host: listed itself, or by a parent domain.
    fn host(&mut self, host: &str) {
        if !host.is_empty() && !self.listed.has(host) && !self.listed.is_below(host) {
            self.push(host);
        }
    }

    fn push(&mut self, entry: &str) {
        if !self.found.iter().any(|found| found == entry) {
            self.found.push(entry.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::super::tests::{CollectorBench, aro, named};
    use super::*;

    const ALL: &str = "localhost,127.0.0.1,.svc,.cluster.local,169.254.169.254,168.63.129.16,10.0.0.0/24,10.0.1.0/24,\
                       10.128.0.0/14,172.30.0.0/16,agentimagestorews01.blob.core.windows.net,x.eastus.aroapp.io";

    fn fed(proxy: Value) -> CollectorBench {
        let mut cluster = aro();
        cluster.master_subnet = "/Subnets/Master".to_owned();
        cluster.workers = vec![crate::WorkerProfile {
            name: "w".to_owned(),
            subnet_id: "/subnets/worker".to_owned(),
            count: 3,
        }];
        let network = json!({"spec": {"clusterNetwork": [{"cidr": "10.128.0.0/14"}], "serviceNetwork": ["172.30.0.0/16"]}});
        let aro = json!({"spec": {"domain": "x.eastus.aroapp.io", "gatewayDomains": ["AgentImageStorews01.blob.core.windows.net"]}});
        let fed = CollectorBench::new(cluster)
            .with(&Resource::Proxy, proxy)
            .with(&Resource::Dns, json!({}))
            .with(&Resource::Network, network)
            .with(&Resource::AroCluster, aro)
            .with(
                &Resource::Infrastructure,
                json!({"status": {"apiServerInternalURI": "https://api-int.x.eastus.aroapp.io:6443"}}),
            );
        let prefixes = [("/subnets/master", "10.0.0.0/24"), ("/subnets/worker", "10.0.1.0/24")];
        fed.seen.subnets(prefixes.map(|(id, prefix)| (id.to_owned(), Ok(vec![prefix.to_owned()]))).into());
        fed
    }

    fn run(proxy: Value) -> Vec<String> {
        fed(proxy).run(named("emitCWPStatus"))
    }

    fn with(no_proxy: &str) -> Value {
        json!({"spec": {"httpProxy": "http://p:3128", "noProxy": no_proxy}, "status": {"noProxy": no_proxy}})
    }

    fn without(entry: &str) -> String {
        ALL.split(',').filter(|listed| *listed != entry).collect::<Vec<_>>().join(", ")
    }

    fn missing_of(no_proxy: &str) -> String {
        let told = run(with(no_proxy));
        assert_eq!(told.len(), 1, "{told:?}");
        let rest =
            told[0].strip_prefix("clusterWideProxy.status 1 status=true Message=CWP enabled but missing  ");
        rest.and_then(|rest| rest.strip_suffix(" in the no_proxy list"))
            .unwrap_or_else(|| panic!("{told:?}"))
            .to_owned()
    }

    const FINE: &str = "clusterWideProxy.status 1 status=false Message=CWP enabled successfully";

    #[test]
    fn no_proxy_at_all_is_not_enabled_and_needs_nothing_else() {
        let fed =
            CollectorBench::new(aro()).with(&Resource::Proxy, json!({"spec": {"trustedCA": {"name": "x"}}}));
        assert_eq!(
            fed.run(named("emitCWPStatus")),
            ["clusterWideProxy.status 1 status=false Message=CWP Not Enabled"]
        );
        assert_eq!(needs(&fed.seen), [Resource::Proxy]);
        assert_eq!(needs(&CollectorBench::new(aro()).with(&Resource::Proxy, with("x")).seen).len(), 6);
    }

    #[test]
    fn a_whole_list_is_fine() {
        assert_eq!(run(with(ALL)), [FINE]);
    }

    #[test]
    fn a_list_that_was_not_applied_is_told_and_the_wish_is_read() {
        let proxy = json!({"spec": {"httpsProxy": "https://p", "noProxy": ALL}, "status": {}});
        assert_eq!(
            run(proxy),
            [FINE.to_owned(), format!("clusterWideProxy.status 1 status=true Message={NOT_APPLIED}")]
        );
    }

    #[test]
    fn each_entry_is_missed() {
        for entry in ALL.split(',').filter(|entry| !entry.starts_with("x.")) {
            assert_eq!(missing_of(&without(entry)), entry);
        }
        let none = missing_of("nothing");
        assert_eq!(none, format!("{ALL},api-int.x.eastus.aroapp.io,api.x.eastus.aroapp.io"), "in this order");
    }

    #[test]
    fn the_domain_may_be_listed_in_parts() {
        let rest = without("x.eastus.aroapp.io");
        assert_eq!(missing_of(&rest), "x.eastus.aroapp.io,api-int.x.eastus.aroapp.io,api.x.eastus.aroapp.io");
        assert_eq!(run(with(&format!("{rest},.x.eastus.aroapp.io"))), [FINE]);
        let parts = format!("{rest},.apps.x.eastus.aroapp.io,api-int.x.eastus.aroapp.io");
        assert_eq!(missing_of(&parts), "api.x.eastus.aroapp.io");
    }

    #[test]
    fn a_network_covers_what_it_contains() {
        let list =
            format!("{},10.0.0.0/8,168.63.0.0/16", without("10.0.1.0/24").replace("168.63.129.16", "x"));
        assert_eq!(run(with(&list)), [FINE]);
        assert_eq!(
            missing_of(&format!("{},10.0.1.0/25", without("10.0.1.0/24"))),
            "10.0.1.0/24",
            "a part is not the whole"
        );
    }

    #[test]
    fn a_domain_covers_what_is_below_and_nothing_beside() {
        let host = "agentimagestorews01.blob.core.windows.net";
        for (entry, covers) in [
            (".blob.core.windows.net", true),
            ("core.windows.net", true),
            (".windows.net", true),
            ("net", false),
            (".net", false),
            ("ows01.blob.core.windows.net", false),
            ("lob.core.windows.net", false),
        ] {
            let told = run(with(&format!("{},{entry}", without(host))));
            assert_eq!(told == [FINE], covers, "{entry}: {told:?}");
        }
    }

    #[test]
    fn own_dns_servers_make_the_wire_server_needless() {
        let list = without("168.63.129.16");
        let fed = fed(with(&list)).with(&Resource::Dns, json!({"spec": {"servers": [{"name": "mine"}]}}));
        assert_eq!(fed.run(named("emitCWPStatus")), [FINE]);
    }

    #[test]
    fn the_masters_subnet_must_be_known_and_a_workers_is_logged() {
        let fed = fed(with(ALL));
        let prefixes = |master, worker| {
            BTreeMap::from([("/subnets/master".to_owned(), master), ("/subnets/worker".to_owned(), worker)])
        };
        let good = || Ok(vec!["10.0.0.0/24".to_owned(), "fd00::/64".to_owned()]);
        fed.seen.subnets(prefixes(good(), Err("403".to_owned())));
        let told = fed.told(named("emitCWPStatus")).unwrap();
        assert_eq!(told.lines[0].level, Level::Error);
        assert!(
            fed.run(named("emitCWPStatus"))[0].contains("missing  fd00::/64 in"),
            "all prefixes of a subnet count"
        );
        fed.seen.subnets(prefixes(Err("403".to_owned()), good()));
        assert_eq!(fed.run(named("emitCWPStatus")), ["the subnet of the masters: 403"]);
    }
}
