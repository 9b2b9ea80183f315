//! Name resolution by a dnsmasq on every machine (`contract/installer.md` §8.1, `contract/operator.md` §8.11): the names
//! of the cluster and of the gateway are answered on the machine, everything else is forwarded.

use std::fmt::Write as _;

use crate::NodeFiles;
use crate::ignition::{File, Unit};
use crate::names::NodeNames;

const PREPARE: &str = include_str!("dnsmasq/aro-dnsmasq-pre.sh");
const RESTART: &str = include_str!("dnsmasq/99-dnsmasq-restart");
const UNIT: &str = include_str!("dnsmasq/dnsmasq.service");
/// On the bootstrap machine the settings go when dnsmasq stops.
const BOOTSTRAP_STOP: &str = "ExecStopPost=/bin/bash -c '/usr/bin/rm -f /etc/NetworkManager/conf.d/aro-dns.conf && /usr/bin/nmcli general reload conf && /usr/bin/nmcli general reload dns-rc'\n";

/// The machine that the files are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The bootstrap machine, which the installer makes and deletes.
    Bootstrap,
    /// A machine of the cluster.
    Cluster,
}

/// The name of the MachineConfig of a pool.
pub fn machine_config_name(pool: &str) -> String {
    format!("99-{pool}-aro-dns")
}

/// The files and the unit. `restart`: dnsmasq is restarted when an interface goes up or down
/// (flag `aro.restartdnsmasq.enabled`).
pub fn node_files(names: &NodeNames, stage: Stage, restart: bool) -> NodeFiles {
    let mut files = vec![
        File::text("/etc/dnsmasq.conf", 0o644, &configuration(names)),
        File::text("/usr/local/bin/aro-dnsmasq-pre.sh", 0o744, PREPARE),
    ];
    if restart {
        files.push(File::text("/etc/NetworkManager/dispatcher.d/99-dnsmasq-restart", 0o744, RESTART));
    }
    NodeFiles { files, units: vec![Unit::enabled("dnsmasq.service", &unit(stage))] }
}

/// `/etc/dnsmasq.conf`.
pub fn configuration(names: &NodeNames) -> String {
    let NodeNames { domain, api_int, ingress, gateway } = names;
    let mut text = format!(
        "resolv-file=/etc/resolv.conf.dnsmasq\n\
         dns-forward-max=10000\n\
         address=/api.{domain}/{api_int}\n\
         address=/api-int.{domain}/{api_int}\n\
         address=/.apps.{domain}/{ingress}\n"
    );
    for (gateway, served) in gateway.iter().flat_map(|gateway| {
        gateway.distinct_domains().into_iter().map(move |served| (gateway.address, served))
    }) {
        let _ = writeln!(text, "address=/{served}/{gateway}");
    }
    text + "user=dnsmasq\ngroup=dnsmasq\nno-hosts\ncache-size=0\n"
}

fn unit(stage: Stage) -> String {
    match stage {
        Stage::Cluster => UNIT.to_owned(),
        Stage::Bootstrap => {
            UNIT.replacen("Restart=always\n", &format!("{BOOTSTRAP_STOP}Restart=always\n"), 1)
        }
    }
}
