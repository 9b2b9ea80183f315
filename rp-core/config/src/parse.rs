//! From texts to [`Settings`]. Pure: no file is opened, no environment read, no name resolved.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::reader::Reader;
use crate::settings::{
    Access, Audit, Elevation, Imports, Keys, Limits, Listen, Log, LogFormat, Metrics, Portal, Prometheus,
    Proxy, Robots, Roles, Session, Settings, Store, StoreKind, Terminal,
};
use crate::source::Values;
use crate::{Mistakes, azure, backend, check, monitor, recording, rp, source, ssh};

/// The text of `aro.toml` with its path, which names places and from whose folder relative paths count.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    pub path: &'a Path,
    pub text: &'a str,
}

/// A value by a flag.
#[derive(Debug, Clone, Copy)]
pub struct Override<'a> {
    /// `section.key`.
    pub key: &'a str,
    /// As in the environment; lists with commas.
    pub value: &'a str,
    /// What to call it in a mistake, such as `--listen`.
    pub flag: &'a str,
}

/// Everything that settings are made of.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    pub file: Option<File<'a>>,
    pub environment: &'a BTreeMap<String, String>,
    pub overrides: &'a [Override<'a>],
    /// Keys that must be there, see [`crate::needs`].
    pub needs: &'a [&'a str],
}

/// Reads settings.
///
/// # Errors
/// Every mistake at once: unknown keys, wrong shapes, missing keys, keys that contradict each other.
pub fn parse(input: &Input<'_>) -> Result<Settings, Mistakes> {
    let (mut values, mut mistakes) = (Values::new(), Vec::new());
    if let Some(file) = &input.file {
        source::file(file, &mut values, &mut mistakes);
    }
    source::environment(input.environment, &mut values, &mut mistakes);
    source::overrides(input.overrides, &mut values, &mut mistakes);
    let mut reader = Reader::new(values, input.needs, mistakes);
    let settings = assemble(&mut reader);
    if reader.mistakes.is_empty() { Ok(settings) } else { Err(Mistakes(reader.mistakes)) }
}

/// Reads every key, section by section.
pub(crate) fn assemble(r: &mut Reader<'_>) -> Settings {
    let store = check::store(r);
    let listen = Listen {
        control: control(r, &store),
        portal: r.listen("listen.portal"),
        admin: check::admin(r),
        proxy_protocol_from: r.networks("listen.proxy_protocol_from"),
        forwarded_from: r.networks("listen.forwarded_from"),
    };
    let portal = Portal { url: r.origin("portal.url"), run_books: run_books(r), regions: regions(r) };
    let proxy = proxy(r, &portal);
    let audit = audit(r, &store.kind);
    let tls = check::tls(r);
    Settings {
        listen,
        portal,
        proxy,
        rp: rp::rp(r, tls.as_ref()),
        tls,
        store,
        keys: Keys { keyring_file: r.file("keys.keyring_file").unwrap_or_default() },
        oidc: check::oidc(r),
        roles: roles(r),
        session: session(r),
        access: access(r),
        elevation: elevation(r),
        robots: robots(r),
        imports: Imports { allow: r.networks("imports.allow") },
        prometheus: Prometheus {
            ways: r.texts("prometheus.ways"),
            page_time: r.duration("prometheus.page_time"),
            tool_time: r.duration("prometheus.tool_time"),
            fleet_time: r.duration("prometheus.fleet_time"),
            series: r.count("prometheus.series"),
            drawn: r.count("prometheus.drawn"),
            answer_bytes: r.count("prometheus.answer_bytes"),
            per_cluster: r.count("prometheus.per_cluster"),
            parallel: r.count("prometheus.parallel"),
            names_bytes: r.count("prometheus.names_bytes"),
        },
        monitor: monitor::monitor(r),
        backend: backend::backend(r),
        recording: recording::recording(r),
        terminal: Terminal {
            grace: r.duration("terminal.grace"),
            most: r.count("terminal.most"),
            idle: r.duration("terminal.idle"),
            watch: r.switch("terminal.watch"),
        },
        ssh: ssh::ssh(r),
        audit,
        limits: limits(r),
        azure: azure::azure(r),
        private_link: check::private_link(r),
        metrics: metrics(r),
        log: log(r),
    }
}

/// Only one process uses a SQLite file, so a socket next to it belongs to that process.
fn control(r: &mut Reader<'_>, store: &Store) -> Option<PathBuf> {
    let beside = || match store.kind {
        StoreKind::Sqlite => Some(store.path.with_added_extension("sock")),
        StoreKind::Postgres(_) => None,
    };
    r.file("listen.control").or_else(beside)
}

fn proxy(r: &mut Reader<'_>, portal: &Portal) -> Proxy {
    let url = r.origin("proxy.url");
    let host = |url: &url::Url| url.host_str().map(str::to_ascii_lowercase);
    let mut hosts: Vec<String> = url.as_ref().and_then(host).into_iter().collect();
    hosts.extend(r.texts("proxy.hosts").into_iter().map(|name| name.to_ascii_lowercase()));
    if let Some(same) = portal.url.as_ref().and_then(host).filter(|name| hosts.contains(name)) {
        let message = format!(
            "must not be the portal's host name {same}: pages and proxied answers must not share cookies"
        );
        r.mistake("proxy.url", message);
    }
    Proxy { url, hosts }
}

fn roles(r: &mut Reader<'_>) -> Roles {
    Roles {
        viewer: r.groups("roles.viewer"),
        sre: r.groups("roles.sre"),
        elevated: r.groups("roles.elevated"),
        approver: r.groups("roles.approver"),
        auditor: r.groups("roles.auditor"),
        admin: r.groups("roles.admin"),
    }
}

fn session(r: &mut Reader<'_>) -> Session {
    let session = Session {
        idle: r.duration("session.idle"),
        max_age: r.duration("session.max_age"),
        revalidate: r.duration("session.revalidate"),
        alarm_after: r.duration("session.alarm_after"),
        backchannel_ends_grants: r.switch("session.backchannel_ends_grants"),
    };
    check::not_longer(r, ("session.idle", session.idle), ("session.max_age", session.max_age));
    check::not_longer(
        r,
        ("session.revalidate", session.revalidate),
        ("session.alarm_after", session.alarm_after),
    );
    session
}

fn access(r: &mut Reader<'_>) -> Access {
    let mut access = Access {
        cli_life: r.duration("access.cli_life"),
        default_life: r.duration("access.default_life"),
        max_life: r.duration("access.max_life"),
        min_life: r.duration("access.min_life"),
        min_reason: r.count("access.min_reason"),
        max_power_life: r.duration("access.max_power_life"),
        max_total_life: r.duration("access.max_total_life"),
        renew_life: r.duration("access.renew_life"),
        password_life: r.duration("access.password_life"),
        fresh_sign_in: r.duration("access.fresh_sign_in"),
        max_grants: r.count("access.max_grants"),
        max_streams: r.count("access.max_streams"),
        max_requests: r.count("access.max_requests"),
        own_networks: r.networks("access.own_networks"),
    };
    check::not_longer(r, ("access.default_life", access.default_life), ("access.max_life", access.max_life));
    check::not_longer(r, ("access.min_life", access.min_life), ("access.default_life", access.default_life));
    if r.is_set("access.max_total_life") {
        let total = ("access.max_total_life", access.max_total_life);
        check::not_longer(r, ("access.max_life", access.max_life), total);
    }
    access.max_total_life = access.max_total_life.max(access.max_life);
    if access.renew_life > Duration::from_secs(15 * 60) {
        r.mistake("access.renew_life", "must be at most 15m: it is how long a lost token stays good");
    }
    if access.password_life > Duration::from_secs(10 * 60) {
        r.mistake("access.password_life", "must be at most 10m: it is how long a lost password stays good");
    }
    access
}

fn elevation(r: &mut Reader<'_>) -> Elevation {
    Elevation {
        self_service: r.groups("elevation.self_service"),
        self_service_admin: r.word("elevation.self_service_rights") == "admin",
        max_life: r.duration("elevation.max_life"),
        break_glass: r.switch("elevation.break_glass"),
    }
}

fn robots(r: &mut Reader<'_>) -> Robots {
    let mut clients = BTreeMap::new();
    for pair in r.texts("robots.clients") {
        match pair.split_once('=') {
            Some((client, robot)) if !client.trim().is_empty() && !robot.trim().is_empty() => {
                clients.insert(client.trim().to_owned(), robot.trim().to_owned());
            }
            _ => r.mistake("robots.clients", "expected texts such as \"client-id=robot-name\""),
        }
    }
    Robots { max_life: r.duration("robots.max_life"), clients }
}

fn audit(r: &mut Reader<'_>, store: &StoreKind) -> Audit {
    let checkpoint_period = r.duration("audit.checkpoint_period");
    check::at_most_a_minute(r, "audit.checkpoint_period", checkpoint_period);
    let path = r.file("audit.path");
    let own = matches!(store, StoreKind::Sqlite) || r.is_set("audit.path");
    Audit {
        path: path.filter(|_| own),
        checkpoint_key_file: r.file("audit.checkpoint_key_file").unwrap_or_default(),
        checkpoint_period,
        spool_file: r.file("audit.spool_file").unwrap_or_default(),
        known_keys: crate::sinks::known_keys(r),
        sinks: crate::sinks::sinks(r),
        retention: Some(r.duration("audit.retention")).filter(|limit| !limit.is_zero()),
    }
}

fn limits(r: &mut Reader<'_>) -> Limits {
    Limits {
        connections: r.count("limits.connections"),
        per_address: r.count("limits.per_address"),
        strangers: r.count("limits.strangers"),
        strangers_per_address: r.count("limits.strangers_per_address"),
        stranger_answers: r.count("limits.stranger_answers"),
        stranger_time: r.duration("limits.stranger_time"),
        connections_per_minute: r.count("limits.connections_per_minute"),
        idle: r.duration("limits.idle"),
        stalled: r.duration("limits.stalled"),
        checks_from: r.networks("limits.checks_from"),
        streams: r.count("limits.streams"),
        handshake: r.duration("limits.handshake"),
        head: r.duration("limits.head"),
        head_bytes: r.count("limits.head_bytes"),
        body_bytes: r.count("limits.body_bytes"),
        leave: r.duration("limits.leave"),
        drain: r.duration("limits.drain"),
        sign_in_per_minute: r.count("limits.sign_in_per_minute"),
        issue_per_minute: r.count("limits.issue_per_minute"),
        renewals_per_minute: r.count("limits.renewals_per_minute"),
        misses_per_minute: r.count("limits.misses_per_minute"),
        streams_per_minute: r.count("limits.streams_per_minute"),
        cluster_requests_per_second: r.count("limits.cluster_requests_per_second"),
        cluster_requests_burst: r.count("limits.cluster_requests_burst"),
        watched_clusters: r.count("limits.watched_clusters"),
        kept_clusters: r.count("limits.kept_clusters"),
        live_pages: r.count("limits.live_pages"),
        live_pages_per_person: r.count("limits.live_pages_per_person"),
    }
}

fn metrics(r: &mut Reader<'_>) -> Metrics {
    Metrics {
        statsd_socket: check::statsd_socket(r),
        statsd_account: r.text("metrics.statsd_account").unwrap_or_default(),
        statsd_namespace: r.text("metrics.statsd_namespace").unwrap_or_default(),
        cluster_account: r.text("metrics.cluster_account").unwrap_or_default(),
        cluster_namespace: r.text("metrics.cluster_namespace").unwrap_or_default(),
        detail: r.word("metrics.detail"),
        environment: r.text("metrics.environment").unwrap_or_default(),
    }
}

fn log(r: &mut Reader<'_>) -> Log {
    let format = if r.word("log.format") == "text" { LogFormat::Text } else { LogFormat::Json };
    Log { level: r.text("log.level").unwrap_or_default(), format }
}

/// Names and `https` addresses.
fn run_books(r: &mut Reader<'_>) -> Vec<(String, String)> {
    let mut books = Vec::new();
    for text in r.texts("portal.runbooks") {
        match text.split_once('=') {
            Some((name, url)) if !name.trim().is_empty() && url.trim().starts_with("https://") => {
                books.push((name.trim().to_owned(), url.trim().to_owned()));
            }
            _ => r.mistake("portal.runbooks", format!("{text:?} is not NAME=https://…")),
        }
    }
    books
}

/// Names of regions and the origins of their portals.
fn regions(r: &mut Reader<'_>) -> Vec<(String, url::Url)> {
    let mut regions = Vec::new();
    for text in r.texts("portal.regions") {
        let named = text.split_once('=').map(|(name, address)| (name.trim(), address.trim()));
        let read = named.and_then(|(name, address)| Some((name.to_owned(), url::Url::parse(address).ok()?)));
        match read {
            Some((name, url)) if !name.is_empty() && url.scheme() == "https" && url.host_str().is_some() => {
                regions.push((name, url));
            }
            _ => r.mistake("portal.regions", format!("{text:?} is not NAME=https://…")),
        }
    }
    regions
}

#[cfg(test)]
mod tests;
