//! `[terminal]` and `[ssh]`: shells in the browser, and on the machines of clusters.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use rp_settings::check::missing_once;
use rp_settings::{
    Key, Kind, Reader, count, duration, files, optional_listen, optional_text, read_by, section, switch,
};

section! {
    /// Terminals in the browser.
    "terminal" pub struct Terminal {
        /// A session waits so long for a browser whose connection broke.
        grace: Duration = duration("1m"),
        /// Sessions of one process at once; 0: none.
        most: usize = count("2000", 0..=100_000),
        /// A terminal, in the browser or by SSH, ends when nothing was typed for so long; the person is told before.
        idle: Duration = duration("30m"),
        /// Anyone who is elevated to write on a cluster may look on at the terminals in the browser that others have open
        /// there; each sees the other.
        watch: bool = switch(false),
    }
}

section! {
    /// Shells on the machines of clusters, for OpenSSH and its kind.
    "ssh" pub struct Ssh {
        /// The SSH listener, such as `0.0.0.0:22`; unset: none in this process.
        listen: Option<SocketAddr> = optional_listen(),
        /// The name by which SSH clients know it; unset: the host of `portal.url`. Without `ssh.listen` it is that of a
        /// listener in another process.
        host: Option<String> = optional_text(),
        /// The port by which SSH clients know it; 0: that of the listener, 22 where it is in another process.
        port: Option<u16> = read_by(Kind::Count { least: 0, most: 65535 }, "0", port),
        /// Only algorithms of FIPS 140-3 on both sides: no Curve25519, ML-KEM, Ed25519 or ChaCha20.
        fips: bool = switch(false),
        /// Machines of clusters are offered newer algorithms before those of the contract; not with `ssh.fips`.
        modern_machines: bool = switch(false),
        /// PEM: host keys of our own, each in the place of the generated one of its algorithm.
        key_files: Vec<PathBuf> = files(),
        /// SSH connections at once. Beyond it the oldest one ends that has not signed in; else the new one is turned
        /// away with words.
        max_connections: usize = count("4096", 1..=1_000_000),
        /// SSH connections at once of one address.
        max_per_address: usize = count("256", 1..=1_000_000),
        /// SSH connections at once that have not signed in yet; beyond it the oldest of them ends.
        max_strangers: usize = count("256", 1..=1_000_000),
        /// The same, of one address (IPv6: of its /64 network).
        max_strangers_per_address: usize = count("32", 1..=1_000_000),
        /// New SSH connections of one address; 0: no limit. A minute's worth may come at once.
        connections_per_minute: u32 = count("600", 0..=1_000_000),
        /// Shells, commands and forwarded connections at once of one connection.
        max_channels: usize = count("64", 1..=1024),
        /// From the first byte of an SSH connection to its sign-in.
        login_time: Duration = duration("60s"),
        /// Passwords that one SSH connection may try.
        tries: usize = count("6", 1..=100),
        /// Silence after which a client or a machine is asked whether it is there; the third unanswered question ends
        /// it.
        keepalive: Duration = duration("30s"),
        /// For reaching a machine and signing in to it.
        connect_time: Duration = duration("20s"),
    }
}

fn port(r: &mut Reader, key: &'static Key) -> Option<u16> {
    Some(r.count(key)).filter(|port| *port != 0)
}

pub(crate) fn read_ssh(r: &mut Reader) -> Ssh {
    let ssh = Ssh::read(r);
    let bad = |host: &String| host.contains(|c: char| !(c.is_ascii_alphanumeric() || "-.:".contains(c)));
    if ssh.host.as_ref().is_some_and(bad) {
        missing_once(r, "ssh.host", "must be a host name or an IP address, without a port");
    }
    ssh
}
