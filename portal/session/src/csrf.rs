//! CSRF tokens and the check of where an unsafe request comes from (`contract/portal.md` §7, "Do better" 8).
//!
//! The secret of a session is HMAC-SHA-256 of its stored id under a key derived from the keyring; each
//! response carries it masked with other random bytes, so that compression reveals nothing about it.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderMap, StatusCode, header};
use rp_base::Random;
use rp_documents::Side;
use rp_seal::Keyring;
use subtle::ConstantTimeEq as _;
use url::Url;

use crate::fault::Fault;

const LENGTH: usize = 32;
const PURPOSE: &str = "portal-csrf";
pub const HEADER: &str = "x-csrf-token";

/// The form fields that may carry it; the last is the contract's.
const FIELDS: [&str; 3] = [web::CSRF_FIELD, "csrf", "gorilla.csrf.Token"];

/// A token for the session of that stored id.
pub fn token(keyring: &Keyring, random: &dyn Random, session: &str) -> String {
    let mut out = [0u8; 2 * LENGTH];
    random.fill(&mut out[..LENGTH]);
    if let Some(secret) = secrets(keyring, session).next() {
        for (at, byte) in secret.iter().enumerate() {
            out[LENGTH + at] = byte ^ out[at];
        }
    }
    URL_SAFE_NO_PAD.encode(out)
}

fn secrets(keyring: &Keyring, session: &str) -> impl Iterator<Item = [u8; LENGTH]> {
    keyring.derive(PURPOSE).into_iter().map(move |key| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, key.bytes.expose());
        let mut secret = [0u8; LENGTH];
        secret.copy_from_slice(hmac::sign(&key, session.as_bytes()).as_ref());
        secret
    })
}

fn is_valid(keyring: &Keyring, session: &str, token: &str) -> bool {
    let Ok(bytes) = URL_SAFE_NO_PAD.decode(token.trim_end_matches('=')) else { return false };
    let Some((mask, masked)) = bytes.split_at_checked(LENGTH) else { return false };
    let given: Vec<u8> = mask.iter().zip(masked).map(|(a, b)| a ^ b).collect();
    // Any key of the ring: tokens survive a rotation.
    masked.len() == LENGTH && secrets(keyring, session).any(|secret| bool::from(secret.ct_eq(&given)))
}

/// Checks an unsafe request that is made with a session cookie.
///
/// # Errors
/// 403 with the contract's reason.
pub fn check(
    keyring: &Keyring,
    session: &str,
    portal: &Url,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<(), Fault> {
    origin(portal, headers)?;
    let sent = headers.get(HEADER).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let token =
        sent.or_else(|| field(headers, body)).ok_or_else(|| refused("CSRF token not found in request"))?;
    if is_valid(keyring, session, &token) { Ok(()) } else { Err(refused("CSRF token invalid")) }
}

/// Where a request comes from: `Origin`, else what the browser says of the site, else `Referer`. A
/// script that sends none of them still needs the token.
///
/// # Errors
/// 403: another origin.
pub fn origin(portal: &Url, headers: &HeaderMap) -> Result<(), Fault> {
    let own = portal.origin();
    if let Some(sent) = headers.get(header::ORIGIN) {
        let same =
            sent.to_str().ok().and_then(|text| Url::parse(text).ok()).is_some_and(|url| url.origin() == own);
        return if same { Ok(()) } else { Err(refused("origin invalid")) };
    }
    if let Some(site) = headers.get("sec-fetch-site") {
        let same = matches!(site.as_bytes(), b"same-origin" | b"none");
        return if same { Ok(()) } else { Err(refused("origin invalid")) };
    }
    if let Some(referer) = headers.get(header::REFERER) {
        let same = referer
            .to_str()
            .ok()
            .and_then(|text| Url::parse(text).ok())
            .is_some_and(|url| url.origin() == own);
        return if same { Ok(()) } else { Err(refused("referer invalid")) };
    }
    Ok(())
}

fn field(headers: &HeaderMap, body: &[u8]) -> Option<String> {
    let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    if !kind.starts_with("application/x-www-form-urlencoded") {
        return None;
    }
    let mut pairs = url::form_urlencoded::parse(body);
    pairs.find(|(name, _)| FIELDS.contains(&name.as_ref())).map(|(_, value)| value.into_owned())
}

fn refused(reason: &str) -> Fault {
    Fault::new(StatusCode::FORBIDDEN, "csrf", Side::You, format!("Forbidden - {reason}"))
        .why("The request did not come from a page of this portal that is still valid.")
        .action("Reload the page and try again.")
}

#[cfg(test)]
mod tests {
    use rp_base::SystemRandom;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| ((*name).parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn tokens_differ_fit_their_session_and_nothing_else() {
        let keyring = Keyring::generate(&SystemRandom);
        let (a, b) = (token(&keyring, &SystemRandom, "s"), token(&keyring, &SystemRandom, "s"));
        assert_ne!(a, b);
        assert!(is_valid(&keyring, "s", &a) && is_valid(&keyring, "s", &b));
        assert!(!is_valid(&keyring, "t", &a));
        assert!(!is_valid(&Keyring::generate(&SystemRandom), "s", &a));
        for bad in ["", "x", &a[1..], &URL_SAFE_NO_PAD.encode([0u8; 64]), &format!("{a}{a}")] {
            assert!(!is_valid(&keyring, "s", bad), "{bad}");
        }
    }

    #[test]
    fn foreign_origins_are_refused_whatever_the_token() {
        let portal: Url = "https://p.example:8443/".parse().unwrap();
        for good in [
            headers(&[("origin", "https://p.example:8443")]),
            headers(&[("sec-fetch-site", "same-origin")]),
            headers(&[("referer", "https://p.example:8443/x?y")]),
            headers(&[]),
        ] {
            assert!(origin(&portal, &good).is_ok(), "{good:?}");
        }
        for bad in [
            headers(&[("origin", "https://p.example")]),
            headers(&[("origin", "http://p.example:8443")]),
            headers(&[("origin", "null")]),
            headers(&[("sec-fetch-site", "same-site")]),
            headers(&[("sec-fetch-site", "cross-site")]),
            headers(&[("referer", "https://p.example.evil/")]),
        ] {
            assert!(origin(&portal, &bad).is_err(), "{bad:?}");
        }
    }
}
