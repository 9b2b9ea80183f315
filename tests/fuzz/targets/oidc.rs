//! Tokens of a provider before anything is proved, what is read of their claims, and the page that sign-in returns to.
#![no_main]

use jsonwebtoken::Algorithm;
use libfuzzer_sys::fuzz_target;
use portal_session::backchannel::fuzzing::ends_sessions;
use portal_session::claims::{ExtraClaims, Groups, MOST};
use portal_session::return_path::return_path;
use rp_base::Timestamp;
use rp_net::jwt::{Expected, SignedToken};
use serde_json::{Map, Value};
use url::Url;

const NOW: i64 = 1_790_000_000;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(token) = SignedToken::read(text, &[Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA]) {
        let expected = Expected { issuers: &["https://issuer"], audience: "aro", claims: &["iss", "aud"] };
        assert!(!token.kind().chars().any(|letter| letter.is_ascii_uppercase()));
        assert!(token.open::<Map<String, Value>>(&[], expected).is_err(), "without a key nothing opens");
    }
    if let Ok(claims) = serde_json::from_str::<ExtraClaims>(text) {
        if let Groups::Named(groups) = claims.groups("groups") {
            assert!(groups.len() <= MOST);
            assert!(groups.is_empty() || claims.names_groups("groups"));
        }
    }
    if let Ok(claims) = serde_json::from_str::<Map<String, Value>>(text) {
        logout(claims);
    }
    let page = return_path(Some(text));
    let portal = Url::parse("https://portal.example/callback").expect("an address");
    let led = portal.join(&page).expect("an address");
    assert_eq!(led.origin(), portal.origin(), "{page:?} leads to {led}");
});

/// OpenID Connect Back-Channel Logout 1.0 §2.6.
fn logout(claims: Map<String, Value>) {
    let is_text = |name: &str| claims.get(name).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    let event = claims
        .get("events")
        .and_then(|events| events.get("http://schemas.openid.net/event/backchannel-logout"));
    let good = event.is_some_and(Value::is_object)
        && !claims.contains_key("nonce")
        && is_text("jti")
        && (is_text("sub") || is_text("sid"))
        && claims.get("iat").and_then(Value::as_f64).is_some_and(|at| (at - NOW as f64).abs() < 1000.0);
    for kind in ["", "jwt", "logout+jwt"] {
        let ends = ends_sessions(kind, claims.clone(), Timestamp::from_seconds(NOW));
        assert!(good || !ends, "{claims:?}");
    }
    assert!(!ends_sessions("at+jwt", claims, Timestamp::from_seconds(NOW)), "another kind of token");
}
