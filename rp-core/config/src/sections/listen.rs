//! `[listen]`.

use std::net::SocketAddr;
use std::path::PathBuf;

use ipnet::IpNet;
use rp_settings::{Reader, listen, networks, optional_file, section, switch};

use super::store::{Store, StoreKind};

section! {
    /// Where the process listens.
    "listen" pub struct Listen {
        /// Web listener: portal and API proxy, told apart by host name.
        portal: SocketAddr = listen("127.0.0.1:8444"),
        /// Metrics, health, log filter, profiles. No sign-in: keep it on loopback.
        admin: SocketAddr = listen("127.0.0.1:6060"),
        /// Lets `listen.admin` be an address that others can reach.
        admin_allow_remote: bool = switch(false),
        /// Balancers that begin every connection with a PROXY protocol header (version 1 or 2); from others none is
        /// read.
        proxy_protocol_from: Vec<IpNet> = networks(""),
        /// Proxies whose `X-Forwarded-For` says who sent a request; that of others is ignored.
        forwarded_from: Vec<IpNet> = networks(""),
        /// Unix socket for the verbs `aro store` and `aro keys`, for our own user only; with SQLite it is beside
        /// `store.path`, `.sock` added, unless set here, with PostgreSQL there is none unless set.
        control: Option<PathBuf> = optional_file(),
    }
}

/// The admin listener has no sign-in: another address than loopback must be asked for. The control socket is beside the
/// SQLite file, for only one process uses that.
pub(crate) fn read(r: &mut Reader, store: &Store) -> Listen {
    let mut listen = Listen::read(r);
    if !listen.admin_allow_remote && !listen.admin.ip().is_loopback() {
        r.mistake(
            "listen.admin",
            "must be a loopback address, or listen.admin_allow_remote true: it asks nobody who they are",
        );
    }
    if matches!(store.kind, StoreKind::Sqlite) {
        listen.control.get_or_insert_with(|| store.path.with_added_extension("sock"));
    }
    listen
}
