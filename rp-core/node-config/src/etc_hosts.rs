//! Names in `/etc/hosts` (`contract/installer.md` §8.2, `contract/operator.md` §8.12): the API server and the gateway are
//! found without any DNS server.

use crate::NodeFiles;
use crate::ignition::{File, Unit};
use crate::names::{DomainName, NodeNames};

const SCRIPT: &str = include_str!("etc_hosts/aro-etchosts-resolver.sh");
const UNIT: &str = include_str!("etc_hosts/aro-etchosts-resolver.service");

/// The name of the MachineConfig of a pool.
pub fn machine_config_name(pool: &str) -> String {
    format!("99-{pool}-aro-etc-hosts-gateway-domains")
}

/// The files and the unit.
pub fn node_files(names: &NodeNames) -> NodeFiles {
    NodeFiles {
        files: vec![
            File::text("/etc/hosts.d/aro.conf", 0o644, &entries(names)),
            File::text("/usr/local/bin/aro-etchosts-resolver.sh", 0o744, SCRIPT),
        ],
        units: vec![Unit::enabled("aro-etchosts-resolver.service", UNIT)],
    }
}

/// `/etc/hosts.d/aro.conf`. Without gateway domains there is no line for them.
pub fn entries(names: &NodeNames) -> String {
    let NodeNames { domain, api_int, gateway, .. } = names;
    let mut text = format!("{api_int}\tapi.{domain} api-int.{domain}\n");
    if let Some(gateway) = gateway {
        let domains: Vec<_> = gateway.distinct_domains().into_iter().map(DomainName::as_str).collect();
        if !domains.is_empty() {
            text += &format!("{}\t{}\n", gateway.address, domains.join(" "));
        }
    }
    text
}
