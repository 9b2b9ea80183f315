//! The reason for reading a cluster: asked once per session. It is kept in a sealed cookie that is valid for that
//! session alone, so every replica knows it and no document is stored.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderMap, HeaderValue, header};
use percent_encoding::percent_decode_str;
use portal_session::user::CurrentUser;
use rp_documents::Sealed;
use serde::{Deserialize, Serialize};

use super::since;
use crate::state::PortalState;

const NAME: &str = "__Host-aro-reason";
/// Longest cookie that is looked at: a reason has at most 1,000 characters.
const MOST: usize = 4_000;

/// A reason and perhaps a ticket.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reason {
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
}

impl Reason {
    /// From what was typed.
    pub fn new(reason: &str, ticket: &str) -> Self {
        let ticket = Some(ticket.trim()).filter(|ticket| !ticket.is_empty()).map(str::to_owned);
        Self { reason: reason.trim().to_owned(), ticket }
    }

    /// From the headers of a script, percent-encoded where they are not ASCII.
    pub fn sent(headers: &HeaderMap) -> Option<Self> {
        let text = |name: &str| {
            let value = headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
            percent_decode_str(value).decode_utf8_lossy().into_owned()
        };
        let reason = text("x-aro-reason");
        (!reason.trim().is_empty()).then(|| Self::new(&reason, &text("x-aro-ticket")))
    }

    /// From the cookie, when it is of this session.
    pub fn remembered(state: &PortalState, user: &CurrentUser, headers: &HeaderMap) -> Option<Self> {
        user.session_ends?;
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs =
            cookies.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let value = pairs.find(|(name, _)| *name == NAME).map(|(_, value)| value)?;
        let text = URL_SAFE_NO_PAD.decode(value).ok().filter(|_| value.len() <= MOST)?;
        let sealed = Sealed(String::from_utf8(text).ok()?);
        let plain = state.session.keyring.open(&sealed, &aad(state, user)).ok()?;
        serde_json::from_slice(plain.expose()).ok()
    }

    /// The `Set-Cookie` that remembers it until the session ends; `None` when it cannot be sealed or is too long.
    pub fn remember(&self, state: &PortalState, user: &CurrentUser) -> Option<HeaderValue> {
        let ends = user.session_ends?;
        let plain = serde_json::to_vec(self).ok()?;
        let sealed = state.session.keyring.seal(&plain, &aad(state, user)).ok()?;
        let value = URL_SAFE_NO_PAD.encode(sealed.0);
        let life = ends.since(state.session.clock.now()).as_secs();
        let text = format!("{NAME}={value}; Path=/; Max-Age={life}; Secure; HttpOnly; SameSite=Lax");
        (value.len() <= MOST).then(|| HeaderValue::from_str(&text).ok()).flatten()
    }
}

/// Associated data that binds the cookie to one session of one person.
fn aad(state: &PortalState, user: &CurrentUser) -> String {
    format!("Cookies/reason/{}/{}", since(state, user).millis(), user.caller.person.sub)
}
