//! `[access]`, `[elevation]`, `[robots]` and `[imports]`.

use std::collections::BTreeMap;
use std::time::Duration;

use ipnet::IpNet;
use rp_settings::check::not_longer;
use rp_settings::{
    Key, Kind, Reader, count, duration, groups, networks, read_by, section, switch, word, words,
};

section! {
    /// Rules for grants.
    "access" pub struct Access {
        /// Life of a sign-in of the command line; at most `access.max_life`.
        cli_life: Duration = duration("12h"),
        /// Life of a grant when nobody asks for another.
        default_life: Duration = duration("6h"),
        /// Longest life of a grant.
        max_life: Duration = duration("12h"),
        /// Shortest life of a grant, an elevation or a robot.
        min_life: Duration = duration("1m"),
        /// Fewest characters of a reason.
        min_reason: usize = count("10", 0..=500),
        /// Longest life of a grant above read; its rights end with its elevation anyway.
        max_power_life: Duration = duration("6h"),
        /// Longest life of a grant, extensions included.
        max_total_life: Duration = duration("24h"),
        /// Life of the tokens that the exec plug-in of a kubeconfig fetches, at most 15m.
        renew_life: Duration = duration("15m"),
        /// A one-time password for SSH opens a shell within this time of its making, at most 10m.
        password_life: Duration = duration("2m"),
        /// Dangerous actions need a sign-in younger than this: break-glass, approvals, robots, revoking everything.
        fresh_sign_in: Duration = duration("15m"),
        /// Living grants that a person may hold at once.
        max_grants: usize = count("100", 1..=10_000),
        /// Watches, followed logs and sessions that a person or a robot may have open at once on one replica.
        max_streams: usize = count("1000", 1..=1_000_000),
        /// Other requests to clusters and their Prometheus that a person or a robot may have under way at once on one
        /// replica.
        max_requests: usize = count("500", 1..=1_000_000),
        /// Whether a grant that may write reads and writes Secrets that hold releases of Helm: type `helm.sh/release.v1`, name
        /// `sh.helm.release.v1.*`. They hold the values of charts, passwords among them.
        helm_secrets: bool = switch(false),
        /// Our own networks: never dialled for an address that a person entered.
        own_networks: Vec<IpNet> = networks(""),
    }
}

section! {
    /// Rules for more rights for a while.
    "elevation" pub struct Elevation {
        /// Groups whose people elevate without an approver; they also need a group of `roles.elevated`.
        self_service: Vec<String> = groups(),
        /// The most rights without an approver.
        self_service_rights: SelfServiceRights = word("write"),
        /// Longest life of an elevation.
        max_life: Duration = duration("4h"),
        /// Whether people of `roles.elevated` may elevate without an approver in an emergency: it rings an alarm and is
        /// reviewed.
        break_glass: bool = switch(true),
    }
}

section! {
    /// Scripts with a name, a scope and an end.
    "robots" pub struct Robots {
        /// Longest life of a robot, 90 days unless set.
        max_life: Duration = duration("2160h"),
        /// Client ids of the provider that are robots, each as `client-id=robot-name`.
        clients: BTreeMap<String, String> = read_by(Kind::Texts, "", clients),
    }
}

section! {
    /// Imported clusters.
    "imports" pub struct Imports {
        /// Networks in which addresses that people enter may lie; empty: none.
        allow: Vec<IpNet> = networks(""),
    }
}

words! {
    /// Rights without an approver.
    pub enum SelfServiceRights {
        Write = "write",
        Admin = "admin",
    }
}

pub(crate) fn read(r: &mut Reader) -> Access {
    let mut access = Access::read(r);
    not_longer(r, ("access.default_life", access.default_life), ("access.max_life", access.max_life));
    not_longer(r, ("access.min_life", access.min_life), ("access.default_life", access.default_life));
    if r.is_set("access.max_total_life") {
        let total = ("access.max_total_life", access.max_total_life);
        not_longer(r, ("access.max_life", access.max_life), total);
    }
    access.max_total_life = access.max_total_life.max(access.max_life);
    if access.renew_life > Duration::from_mins(15) {
        r.mistake("access.renew_life", "must be at most 15m: it is how long a lost token stays good");
    }
    if access.password_life > Duration::from_mins(10) {
        r.mistake("access.password_life", "must be at most 10m: it is how long a lost password stays good");
    }
    access
}

fn clients(r: &mut Reader, key: &'static Key) -> BTreeMap<String, String> {
    let mut clients = BTreeMap::new();
    for pair in r.texts(key) {
        match pair.split_once('=') {
            Some((client, robot)) if !client.trim().is_empty() && !robot.trim().is_empty() => {
                clients.insert(client.trim().to_owned(), robot.trim().to_owned());
            }
            _ => r.mistake(key.path, "expected texts such as \"client-id=robot-name\""),
        }
    }
    clients
}
