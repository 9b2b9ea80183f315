//! `[ssh]`: the listener for shells on the machines of clusters.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::check;
use crate::reader::Reader;

/// Settings of the SSH bastion.
#[derive(Debug, Clone)]
pub struct Ssh {
    /// `None`: there is no SSH.
    pub listen: Option<SocketAddr>,
    /// The name by which clients know it; `None`: that of the portal.
    pub host: Option<String>,
    /// The port by which clients know it, when a balancer maps it; else that of the listener.
    pub port: Option<u16>,
    /// Only algorithms of FIPS 140-3.
    pub fips: bool,
    /// Newer algorithms towards machines too.
    pub modern_machines: bool,
    pub key_files: Vec<PathBuf>,
    pub max_connections: usize,
    pub max_per_address: usize,
    pub max_strangers: usize,
    pub max_strangers_per_address: usize,
    /// Of one address; 0: no limit.
    pub connections_per_minute: u32,
    pub max_channels: usize,
    pub login_time: Duration,
    pub tries: usize,
    pub keepalive: Duration,
    /// For reaching a machine and signing in to it.
    pub connect_time: Duration,
}

pub(crate) fn ssh(r: &mut Reader<'_>) -> Ssh {
    let folder = r.folder("ssh.key_files");
    let (is_set, address) = (r.is_set("ssh.listen"), r.listen("ssh.listen"));
    let ssh = Ssh {
        listen: is_set.then_some(address),
        host: r.text("ssh.host"),
        port: Some(r.count::<u16>("ssh.port")).filter(|port| *port != 0),
        fips: r.switch("ssh.fips"),
        modern_machines: r.switch("ssh.modern_machines"),
        key_files: r.texts("ssh.key_files").into_iter().map(|file| folder.join(file)).collect(),
        max_connections: r.count("ssh.max_connections"),
        max_per_address: r.count("ssh.max_per_address"),
        max_strangers: r.count("ssh.max_strangers"),
        max_strangers_per_address: r.count("ssh.max_strangers_per_address"),
        connections_per_minute: r.count("ssh.connections_per_minute"),
        max_channels: r.count("ssh.max_channels"),
        login_time: r.duration("ssh.login_time"),
        tries: r.count("ssh.tries"),
        keepalive: r.duration("ssh.keepalive"),
        connect_time: r.duration("ssh.connect_time"),
    };
    let bad = |host: &String| host.contains(|c: char| !(c.is_ascii_alphanumeric() || "-.:".contains(c)));
    if ssh.host.as_ref().is_some_and(bad) {
        check::missing_once(r, "ssh.host", "must be a host name or an IP address, without a port");
    }
    ssh
}
