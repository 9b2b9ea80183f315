//! Which headers cross, both ways. Requests are assembled from an allow-list: identity headers are ours
//! alone, and what a client names in `Connection` is dropped first (`contract/rules.md` §3.6).

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

/// Trailers of one answer that pass at most.
const MOST_TRAILERS: usize = 16;

/// A client's header towards the cluster.
fn passes_in(name: &HeaderName) -> bool {
    matches!(
        *name,
        header::ACCEPT
            | header::ACCEPT_ENCODING
            | header::CONTENT_TYPE
            | header::CONTENT_ENCODING
            | header::USER_AGENT
            | header::IF_MATCH
            | header::IF_NONE_MATCH
            | header::IF_MODIFIED_SINCE
            | header::IF_UNMODIFIED_SINCE
            | header::CACHE_CONTROL
            | header::RANGE
    ) || matches!(name.as_str(), "kubectl-command" | "kubectl-session")
}

/// A client's header towards the cluster when it asks to leave HTTP.
fn passes_in_upgrade(name: &HeaderName) -> bool {
    *name == header::UPGRADE
        || name.as_str().starts_with("sec-websocket-")
        || name.as_str() == "x-stream-protocol-version"
}

/// A cluster's header towards the client.
fn passes_out(name: &HeaderName) -> bool {
    matches!(
        *name,
        header::CONTENT_TYPE
            | header::CONTENT_LENGTH
            | header::CONTENT_ENCODING
            | header::CONTENT_RANGE
            | header::ACCEPT_RANGES
            | header::DATE
            | header::ETAG
            | header::LAST_MODIFIED
            | header::CACHE_CONTROL
            | header::EXPIRES
            | header::VARY
            | header::WARNING
            | header::RETRY_AFTER
            | header::LOCATION
            | header::ALLOW
    ) || matches!(name.as_str(), "audit-id" | "x-aro-simulated")
        || name.as_str().starts_with("x-kubernetes-")
}

/// A cluster's trailer towards the client. Those that would frame, type or guard the answer are not for trailers
/// (RFC 9110 §6.5.1).
fn passes_as_trailer(name: &HeaderName) -> bool {
    const NAMES: [&str; 7] = [
        "content-digest",
        "repr-digest",
        "digest",
        "server-timing",
        "grpc-status",
        "grpc-message",
        "grpc-status-details-bin",
    ];
    *name == header::ETAG || NAMES.contains(&name.as_str()) || name.as_str().starts_with("x-kubernetes-")
}

/// Whether the client takes trailers (RFC 9110 §10.1.4).
pub(super) fn takes_trailers(client: &HeaderMap) -> bool {
    listed(client, header::TE).any(|part| {
        part.split(';').next().is_some_and(|coding| coding.trim().eq_ignore_ascii_case("trailers"))
    })
}

/// The trailers that a cluster declares and that may pass.
pub(super) fn declared_trailers(cluster: &HeaderMap) -> Vec<HeaderName> {
    let mut declared = Vec::new();
    for name in listed(cluster, header::TRAILER).filter_map(|name| HeaderName::try_from(name).ok()) {
        if passes_as_trailer(&name) && !declared.contains(&name) && declared.len() < MOST_TRAILERS {
            declared.push(name);
        }
    }
    declared
}

/// The header that declares them to the client; `None` when there are none.
pub(super) fn trailer_header(names: &[HeaderName]) -> Option<HeaderValue> {
    if names.is_empty() {
        return None;
    }
    let names: Vec<&str> = names.iter().map(HeaderName::as_str).collect();
    HeaderValue::from_str(&names.join(", ")).ok()
}

/// The elements of a header that is a list.
fn listed(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

/// Does the client try to choose an identity? `_` for `-` counts: some servers read it so.
pub(super) fn impersonates(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| {
        let name = name.as_str().as_bytes();
        name.len() >= 12 && name[..11].eq_ignore_ascii_case(b"impersonate") && matches!(name[11], b'-' | b'_')
    })
}

/// Names of WebSocket subprotocols that carry a bearer token to an API server.
const BEARER_PROTOCOL: &str = "base64url.bearer.authorization.k8s.io.";

/// Only these may a client leave HTTP for: any other (`h2c`, above all) could carry requests past us.
pub(super) fn known_upgrade(headers: &HeaderMap) -> bool {
    let mut asked = headers.get_all(header::UPGRADE).iter();
    let (Some(asked), None) = (asked.next(), asked.next()) else { return false };
    ["websocket", "spdy/3.1"].iter().any(|known| asked.as_bytes().eq_ignore_ascii_case(known.as_bytes()))
}

/// Drops subprotocols that carry a credential: only the proxy decides which identity the cluster sees.
fn without_bearer(value: &HeaderValue) -> Option<HeaderValue> {
    let text = value.to_str().ok()?;
    let kept: Vec<&str> =
        text.split(',').map(str::trim).filter(|name| !name.starts_with(BEARER_PROTOCOL)).collect();
    if kept.is_empty() { None } else { HeaderValue::from_str(&kept.join(", ")).ok() }
}

/// The upgrade that the client asks for, if it does.
pub(super) fn upgrade_of(headers: &HeaderMap) -> Option<&HeaderValue> {
    let asked = headers.get_all(header::CONNECTION).iter().any(|value| {
        let text = value.to_str().unwrap_or_default();
        text.split(',').any(|token| token.trim().eq_ignore_ascii_case("upgrade"))
    });
    headers.get(header::UPGRADE).filter(|_| asked)
}

/// Starts the headers towards the cluster with what of the client's may pass.
pub(super) fn inbound(client: &HeaderMap, upgrade: bool) -> HeaderMap {
    let nominated = nominated(client);
    let mut out = HeaderMap::with_capacity(client.len().min(16) + 8);
    for (name, value) in client {
        let passes = passes_in(name) || upgrade && passes_in_upgrade(name);
        if !passes || nominated.iter().any(|dropped| dropped.eq_ignore_ascii_case(name.as_str())) {
            continue;
        }
        if *name == header::SEC_WEBSOCKET_PROTOCOL {
            if let Some(value) = without_bearer(value) {
                out.append(name.clone(), value);
            }
        } else {
            out.append(name.clone(), value.clone());
        }
    }
    if upgrade {
        out.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    }
    out
}

/// Names in `Connection` but `upgrade` itself, which is handled apart.
fn nominated(headers: &HeaderMap) -> Vec<&str> {
    headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','))
        .map(str::trim)
        .filter(|token| !token.is_empty() && !token.eq_ignore_ascii_case("upgrade"))
        .collect()
}

/// What of the cluster's headers may pass to the client, with what keeps a browser from acting on them.
pub(super) fn outbound(cluster: &HeaderMap) -> HeaderMap {
    let mut out = HeaderMap::with_capacity(cluster.len().min(16) + 3);
    for (name, value) in cluster {
        if passes_out(name) {
            out.append(name.clone(), value.clone());
        }
    }
    if cluster.contains_key(header::TRANSFER_ENCODING) {
        // Both were sent: the length is not the body's (RFC 9112 §6.3).
        out.remove(header::CONTENT_LENGTH);
    }
    harden(&mut out);
    out
}

/// A 101's headers: the handshake's, nothing else.
pub(super) fn outbound_upgrade(cluster: &HeaderMap) -> HeaderMap {
    let mut out = HeaderMap::new();
    for (name, value) in cluster {
        if passes_in_upgrade(name) {
            out.append(name.clone(), value.clone());
        }
    }
    out.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    out
}

fn harden(out: &mut HeaderMap) {
    out.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox; default-src 'none'"));
    out.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if !out.contains_key(header::CACHE_CONTROL) {
        out.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn map(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_str(value).unwrap(),
            );
        }
        headers
    }

    #[test]
    fn identity_never_passes() {
        let client = map(&[
            ("authorization", "Bearer x"),
            ("cookie", "a=b"),
            ("x-remote-user", "root"),
            ("x-remote-group", "system:masters"),
            ("x-forwarded-for", "1.2.3.4"),
            ("x-forwarded-host", "evil"),
            ("audit-id", "mine"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("accept", "application/json"),
            ("user-agent", "kubectl"),
        ]);
        let names: Vec<_> = inbound(&client, false).keys().map(ToString::to_string).collect();
        assert_eq!(names, ["accept", "user-agent"]);
    }

    #[test]
    fn what_connection_names_is_dropped() {
        let client = map(&[("connection", "Accept, close"), ("accept", "a"), ("user-agent", "b")]);
        assert_eq!(inbound(&client, false), map(&[("user-agent", "b")]));
    }

    #[test]
    fn impersonation_is_seen_in_every_spelling() {
        for name in [
            "Impersonate-User",
            "impersonate-group",
            "IMPERSONATE-UID",
            "Impersonate-Extra-x",
            "impersonate_user",
        ] {
            assert!(impersonates(&map(&[(name, "x")])), "{name}");
        }
        assert!(!impersonates(&map(&[("impersonated", "x"), ("accept", "a")])));
    }

    #[test]
    fn upgrades_need_both_headers() {
        assert!(
            upgrade_of(&map(&[("connection", "keep-alive, Upgrade"), ("upgrade", "SPDY/3.1")])).is_some()
        );
        assert!(upgrade_of(&map(&[("upgrade", "SPDY/3.1")])).is_none());
        let client = map(&[
            ("connection", "upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-protocol", "v5.channel.k8s.io"),
            ("sec-websocket-protocol", "v4.channel.k8s.io"),
            ("origin", "https://evil"),
        ]);
        let out = inbound(&client, true);
        assert_eq!(out.get_all("sec-websocket-protocol").iter().count(), 2);
        assert!(!out.contains_key("origin"));
    }

    #[test]
    fn only_known_protocols_and_no_token_among_them() {
        for (asked, known) in
            [("websocket", true), ("SPDY/3.1", true), ("h2c", false), ("websocket, h2c", false)]
        {
            assert_eq!(known_upgrade(&map(&[("upgrade", asked)])), known, "{asked}");
        }
        assert!(!known_upgrade(&map(&[("upgrade", "websocket"), ("upgrade", "h2c")])));
        let client = map(&[
            ("connection", "upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-protocol", "v4.channel.k8s.io, base64url.bearer.authorization.k8s.io.dG9rZW4"),
            ("sec-websocket-protocol", "base64url.bearer.authorization.k8s.io.dG9rZW4"),
        ]);
        let out = inbound(&client, true);
        let kept: Vec<_> = out.get_all("sec-websocket-protocol").iter().collect();
        assert_eq!(kept, ["v4.channel.k8s.io"]);
    }

    #[test]
    fn trailers_pass_that_are_declared_and_on_the_list() {
        let cluster = map(&[
            ("trailer", "X-Kubernetes-Sum, Set-Cookie, content-length"),
            ("trailer", "Content-Digest,a b, content-digest"),
        ]);
        let declared = declared_trailers(&cluster);
        let header = trailer_header(&declared).unwrap();
        assert_eq!(header, "x-kubernetes-sum, content-digest");
        assert_eq!(trailer_header(&declared_trailers(&map(&[("trailer", "set-cookie")]))), None);
        for (te, takes) in [("trailers", true), ("gzip, Trailers;q=1", true), ("gzip", false), ("", false)] {
            assert_eq!(takes_trailers(&map(&[("te", te)])), takes, "{te}");
        }
        assert!(!takes_trailers(&HeaderMap::new()));
    }

    #[test]
    fn a_cluster_sets_no_cookie_and_no_policy() {
        let out = outbound(&map(&[
            ("set-cookie", "a=b"),
            ("strict-transport-security", "max-age=1"),
            ("alt-svc", "h3"),
            ("content-security-policy", "default-src *"),
            ("access-control-allow-origin", "*"),
            ("clear-site-data", "*"),
            ("content-type", "application/json"),
            ("warning", "299 - \"old\""),
        ]));
        assert_eq!(out.get("content-security-policy").unwrap(), "sandbox; default-src 'none'");
        let names: Vec<_> = out.keys().map(HeaderName::as_str).collect();
        assert!(names.iter().all(|name| {
            ![
                "set-cookie",
                "strict-transport-security",
                "alt-svc",
                "clear-site-data",
                "access-control-allow-origin",
            ]
            .contains(name)
        }));
        assert!(names.contains(&"warning"));
    }

    proptest! {
        #[test]
        fn identity_is_never_a_function_of_the_client(names in proptest::collection::vec("[!-~]{1,24}", 0..20)) {
            let mut client = HeaderMap::new();
            for name in names {
                if let Ok(name) = HeaderName::from_bytes(name.as_bytes()) {
                    client.append(name, HeaderValue::from_static("x"));
                }
            }
            for upgrade in [false, true] {
                let out = inbound(&client, upgrade);
                prop_assert!(!impersonates(&out));
                prop_assert!(!out.contains_key(header::AUTHORIZATION) && !out.contains_key(header::COOKIE));
                prop_assert!(!out.keys().any(|name| name.as_str().starts_with("x-remote")));
            }
        }
    }
}
