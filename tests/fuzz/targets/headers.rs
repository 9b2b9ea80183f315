//! Headers both ways: no identity and no header of a hop passes, and no cluster sets a cookie.
#![no_main]

use http::HeaderValue;
use libfuzzer_sys::fuzz_target;
use proxy::api::fuzzing;
use tests_fuzz::headers;

const NEVER_IN: [&str; 12] = [
    "authorization",
    "cookie",
    "host",
    "te",
    "transfer-encoding",
    "content-length",
    "proxy-authorization",
    "forwarded",
    "keep-alive",
    "trailer",
    "origin",
    "audit-id",
];
const NEVER_OUT: [&str; 8] = [
    "set-cookie",
    "strict-transport-security",
    "alt-svc",
    "clear-site-data",
    "transfer-encoding",
    "refresh",
    "access-control-allow-origin",
    "www-authenticate",
];

fuzz_target!(|data: &[u8]| {
    let given = headers(data);
    let named = |name: &str| {
        let all = given.get_all("connection").iter().filter_map(|value| value.to_str().ok());
        all.flat_map(|text| text.split(',')).any(|token| token.trim().eq_ignore_ascii_case(name))
    };
    for upgrade in [false, true] {
        let inbound = fuzzing::inbound(&given, upgrade);
        assert!(!fuzzing::impersonates(&inbound));
        for (name, value) in &inbound {
            let text = name.as_str();
            assert!(
                !NEVER_IN.contains(&text)
                    && !text.starts_with("x-remote")
                    && !text.starts_with("x-forwarded"),
                "{text}"
            );
            assert!(!named(text) || matches!(text, "connection" | "upgrade"), "{text} is a hop's");
            let carries =
                value.to_str().is_ok_and(|value| value.contains("base64url.bearer.authorization.k8s.io."));
            assert!(!carries || text != "sec-websocket-protocol" || !starts_a_token(value), "{value:?}");
        }
        assert_eq!(inbound.contains_key("connection"), upgrade);
        let outbound = fuzzing::outbound(&given, upgrade);
        assert!(outbound.keys().all(|name| !NEVER_OUT.contains(&name.as_str())));
        if !upgrade {
            let policy: Vec<_> = outbound.get_all("content-security-policy").iter().collect();
            assert_eq!(policy, ["sandbox; default-src 'none'"]);
        }
    }
    let _ = (fuzzing::bearer(&given), fuzzing::upgrade(&given));
});

/// Whether one of a list of subprotocols is a credential.
fn starts_a_token(value: &HeaderValue) -> bool {
    let text = value.to_str().unwrap_or_default();
    text.split(',').any(|name| name.trim().starts_with("base64url.bearer.authorization.k8s.io."))
}
