//! Rules over more than one key.

use std::net::SocketAddr;
use std::time::Duration;

use url::Url;

use crate::reader::Reader;
use crate::settings::{
    GroupSource, Oidc, OidcCredential, Outage, Postgres, PostgresUrl, PrivateLink, PrivateLinkMode, Store,
    StoreKind, Tls,
};
use crate::values::{self, show_duration};

/// The admin listener has no sign-in: another address than loopback must be asked for.
pub(crate) fn admin(r: &mut Reader<'_>) -> SocketAddr {
    let address = r.listen("listen.admin");
    if !r.switch("listen.admin_allow_remote") && !address.ip().is_loopback() {
        r.mistake(
            "listen.admin",
            "must be a loopback address, or listen.admin_allow_remote true: it asks nobody who they are",
        );
    }
    address
}

/// Both of certificate and key, or none.
pub(crate) fn tls(r: &mut Reader<'_>) -> Option<Tls> {
    let (cert, key, ca_file) = (r.file("tls.cert_file"), r.secret("tls.key_file"), r.file("tls.ca_file"));
    pair(r, ("tls.cert_file", cert.is_some()), ("tls.key_file", key.is_some()));
    Some(Tls { cert_file: cert?, key_file: key?, ca_file })
}

/// SQLite, or PostgreSQL with exactly one way to say where.
pub(crate) fn store(r: &mut Reader<'_>) -> Store {
    const POSTGRES: [&str; 7] = [
        "store.url",
        "store.url_file",
        "store.password_file",
        "store.ca_file",
        "store.client_cert_file",
        "store.client_key_file",
        "store.connections",
    ];
    let path = r.file("store.path").unwrap_or_default();
    let postgres = r.word("store.kind") == "postgres";
    let (url, url_file) = (r.database("store.url"), r.secret("store.url_file"));
    let (password_file, ca_file) = (r.secret("store.password_file"), r.file("store.ca_file"));
    let (cert, key) = (r.file("store.client_cert_file"), r.secret("store.client_key_file"));
    let connections = r.count("store.connections");
    let outage = if r.word("store.outage") == "spool" { Outage::Spool } else { Outage::Refuse };
    if !postgres {
        for key in POSTGRES.into_iter().filter(|key| r.is_set(key)).collect::<Vec<_>>() {
            r.mistake(key, "has no effect unless store.kind is \"postgres\"");
        }
        return Store { path, kind: StoreKind::Sqlite, outage };
    }
    pair(r, ("store.client_cert_file", cert.is_some()), ("store.client_key_file", key.is_some()));
    if r.is_set("store.url") && r.is_set("store.url_file") {
        r.mistake("store.url_file", "stands beside store.url: leave one of them out");
    } else if !r.is_set("store.url") && !r.is_set("store.url_file") {
        missing_once(
            r,
            "store.url",
            "is needed with store.kind = \"postgres\", or store.url_file in its place",
        );
    }
    // A missing one has already been reported.
    let url = url_file.map_or_else(|| PostgresUrl::Text(url.unwrap_or_default()), PostgresUrl::File);
    let client = cert.zip(key);
    let kind = StoreKind::Postgres(Postgres { url, password_file, ca_file, client, connections });
    Store { path, kind, outage }
}

/// A provider with exactly one way to show it who we are.
fn groups_from(r: &mut Reader<'_>) -> GroupSource {
    let text = r.text("oidc.groups_from").unwrap_or_default();
    match text.as_str() {
        "" | "token" => GroupSource::Token,
        "userinfo" => GroupSource::Userinfo,
        // Its query string is not interpreted here.
        text => values::url(text.split('?').next().unwrap_or_default())
            .and_then(|_| Url::parse(text).ok())
            .map_or_else(
                || {
                    r.mistake(
                        "oidc.groups_from",
                        "must be token, userinfo, or a URL such as \"https://host/path\"",
                    );
                    GroupSource::Token
                },
                GroupSource::Address,
            ),
    }
}

pub(crate) fn oidc(r: &mut Reader<'_>) -> Option<Oidc> {
    let issuer = r.url("oidc.issuer");
    let client_id = r.text("oidc.client_id");
    let secret = r.secret("oidc.client_secret_file");
    let key = r.secret("oidc.client_key_file");
    let cert_file = r.file("oidc.client_cert_file");
    let (scopes, groups_claim, ca_file) =
        (r.texts("oidc.scopes"), r.text("oidc.groups_claim"), r.file("oidc.ca_file"));
    let (groups_from, api_audience) = (groups_from(r), r.text("oidc.api_audience"));
    let identity_claim = r.text("oidc.identity_claim");
    if r.is_set("oidc.issuer") && client_id.is_none() && !r.is_set("oidc.client_id") {
        missing_once(r, "oidc.client_id", "is needed with oidc.issuer");
    }
    if cert_file.is_some() && key.is_none() {
        r.mistake("oidc.client_cert_file", "needs oidc.client_key_file, the key of the certificate");
    }
    if key.is_some() && secret.is_none() && !r.is_set("oidc.client_cert_file") {
        missing_once(
            r,
            "oidc.client_cert_file",
            "is needed with oidc.client_key_file: its thumbprint names the key",
        );
    }
    if r.is_set("oidc.scopes") && !scopes.iter().any(|scope| scope == "openid") {
        r.mistake("oidc.scopes", "must contain openid");
    }
    let credential = match (secret, key) {
        (Some(secret), None) => OidcCredential::Secret(secret),
        (None, Some(key_file)) => OidcCredential::Key { key_file, cert_file },
        (Some(_), Some(_)) => {
            r.mistake("oidc.client_key_file", "stands beside oidc.client_secret_file: leave one of them out");
            return None;
        }
        (None, None) => {
            if r.is_set("oidc.issuer") {
                missing_once(
                    r,
                    "oidc.client_secret_file",
                    "is needed with oidc.issuer, or oidc.client_key_file in its place",
                );
            }
            return None;
        }
    };
    Some(Oidc {
        issuer: issuer?,
        client_id: client_id?,
        credential,
        scopes,
        identity_claim,
        groups_claim: groups_claim?,
        groups_from,
        api_audience,
        ca_file,
    })
}

/// A CONNECT proxy needs all of its parts.
pub(crate) fn private_link(r: &mut Reader<'_>) -> PrivateLink {
    let connect = r.word("private_link.way") == "connect";
    let (address, server_name) = (r.dial("private_link.address"), r.text("private_link.server_name"));
    let (ca, cert) = (r.file("private_link.ca_file"), r.file("private_link.client_cert_file"));
    let key = r.secret("private_link.client_key_file");
    if connect {
        for key in [
            "private_link.address",
            "private_link.ca_file",
            "private_link.client_cert_file",
            "private_link.client_key_file",
        ] {
            if !r.is_set(key) {
                missing_once(r, key, "is needed with private_link.way = \"connect\"");
            }
        }
    } else if r.is_set("private_link.address") {
        r.mistake("private_link.address", "has no effect unless private_link.way is \"connect\"");
    }
    let way = match (connect, address, server_name, ca, cert, key) {
        (
            true,
            Some(address),
            Some(server_name),
            Some(ca_file),
            Some(client_cert_file),
            Some(client_key_file),
        ) => PrivateLinkMode::Connect { address, server_name, ca_file, client_cert_file, client_key_file },
        _ => PrivateLinkMode::Direct,
    };
    PrivateLink { way }
}

/// The form of the contract (`contract/monitor.md` §13); whether it can be reached shows later.
pub(crate) fn statsd_socket(r: &mut Reader<'_>) -> Option<String> {
    let socket = r.text("metrics.statsd_socket")?;
    let good = match socket.split_once(':') {
        Some((network, address)) if network.eq_ignore_ascii_case("udp") => values::dial(address).is_some(),
        Some((network, path)) => network.eq_ignore_ascii_case("unix") && !path.is_empty(),
        None => false,
    };
    if !good {
        r.mistake("metrics.statsd_socket", "expected udp:<host>:<port> or unix:<path>");
    }
    Some(socket)
}

pub(crate) fn not_longer(r: &mut Reader<'_>, (short, a): (&str, Duration), (long, b): (&str, Duration)) {
    if !b.is_zero() && a > b {
        let blame = if r.is_set(short) { short } else { long };
        r.mistake(
            blame,
            format!("{short} ({}) must not be longer than {long} ({})", show_duration(a), show_duration(b)),
        );
    }
}

/// `contract/rules.md` §3.9: checkpoints are signed at most every 60 s.
pub(crate) fn at_most_a_minute(r: &mut Reader<'_>, key: &str, period: Duration) {
    if period > Duration::from_secs(60) {
        r.mistake(key, format!("must be at most 60s, got {}", show_duration(period)));
    }
}

/// Both or none.
pub(crate) fn pair(r: &mut Reader<'_>, (a, has_a): (&str, bool), (b, has_b): (&str, bool)) {
    if has_a != has_b {
        let (there, gone) = if has_a { (a, b) } else { (b, a) };
        // An invalid one has already been reported.
        if !r.is_set(gone) {
            missing_once(r, gone, &format!("is needed with {there}"));
        }
    }
}

/// Reports a missing key unless it has already been reported.
pub(crate) fn missing_once(r: &mut Reader<'_>, key: &str, message: &str) {
    if r.mistakes.iter().all(|mistake| mistake.key != key) {
        r.mistake(key, message);
    }
}
