//! State of a sign-in between the redirect to the provider and the callback, sealed into a cookie: an anonymous caller
//! that begins a sign-in costs no row in the store (`contract/portal.md` "Do better" 2).

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderMap, HeaderValue, header};
use rp_base::{Random, Timestamp};
use rp_documents::Sealed;
use rp_seal::Keyring;
use serde::{Deserialize, Serialize};

const NAME: &str = "__Host-aro-signin";
const AAD: &str = "Cookies/signin/value";
/// A sign-in must be finished within this time.
const LIFE: Duration = Duration::from_secs(600);

/// A sign-in that has begun.
#[derive(Clone, Serialize, Deserialize)]
pub struct PendingSignIn {
    pub state: String,
    pub nonce: String,
    pub verifier: String,
    pub back: String,
    pub at: Timestamp,
    /// The person is to show who they are, even with a session at the provider.
    #[serde(default)]
    pub fresh: bool,
}

impl std::fmt::Debug for PendingSignIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PendingSignIn").field("at", &self.at).finish_non_exhaustive()
    }
}

impl PendingSignIn {
    pub fn new(random: &dyn Random, at: Timestamp, back: String, fresh: bool) -> Self {
        let word = || {
            let mut bytes = [0u8; 32];
            random.fill(&mut bytes);
            URL_SAFE_NO_PAD.encode(bytes)
        };
        Self { state: word(), nonce: word(), verifier: word(), back, at, fresh }
    }

    /// The `Set-Cookie` that carries it. `Lax`, because the callback is a navigation from the provider.
    pub fn set_cookie(&self, keyring: &Keyring) -> Option<HeaderValue> {
        let plain = serde_json::to_vec(self).ok()?;
        let sealed = keyring.seal(&plain, AAD).ok()?;
        let life = LIFE.as_secs();
        let text = format!("{NAME}={}; Path=/; Max-Age={life}; Secure; HttpOnly; SameSite=Lax", sealed.0);
        HeaderValue::from_str(&text).ok()
    }

    /// Reads it back; `None` when there is none, it is too old, or not ours.
    pub fn read(keyring: &Keyring, headers: &HeaderMap, now: Timestamp) -> Option<Self> {
        let value = cookie(headers, NAME)?;
        let plain = keyring.open(&Sealed(value.to_owned()), AAD).ok()?;
        let begun: Self = serde_json::from_slice(plain.expose()).ok()?;
        (now < begun.at + LIFE).then_some(begun)
    }
}

/// The `Set-Cookie` that ends it: a sign-in can be finished once.
pub const fn clear() -> HeaderValue {
    HeaderValue::from_static("__Host-aro-signin=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Lax")
}

/// The first cookie of that name.
fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(found, value)| (found == name).then_some(value))
}
