//! What every workload works with: the site, a person who is signed in, and the notes on promises and faults.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use reqwest::Method;
use rp_database::{PostgresOptions, PostgresStore, SharedStore};
use serde_json::{Value, json};
use tests_kit::{Answer, Session, Wire, kubeconfig_server, kubeconfig_token};

use crate::promises::{Promise, Promises};
use crate::site::Site;
use crate::windows::FaultWindows;

/// Of every grant.
pub(crate) const REASON: &str = "two replicas for hours under load";
/// Seconds that a grant above read may live at most; a run is shorter.
pub(crate) const GRANT_LIFE: u64 = 4 * 3600;
/// A WebSocket's handshake (RFC 6455 §4.1) but for its protocol.
pub(crate) const SOCKET: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

/// Shared by all workloads.
pub(crate) struct Environment {
    pub(crate) site: Site,
    /// Elevated to write on every cluster.
    pub(crate) alice: Session,
    /// The resource id of the real cluster.
    pub(crate) cluster: String,
    pub(crate) promises: Promises,
    pub(crate) windows: FaultWindows,
    /// The store, past the relays.
    pub(crate) store: SharedStore,
}

/// An access to the API of a cluster.
pub(crate) struct ClusterAccess {
    pub(crate) grant: String,
    /// What stands before the API server's path.
    pub(crate) mount: String,
    pub(crate) token: String,
}

impl Environment {
    /// Starts the site, signs in, elevates and imports the real cluster.
    ///
    /// # Errors
    /// A part does not come up, or refuses.
    pub(crate) async fn start() -> Result<Self> {
        let site = Box::pin(Site::start()).await?;
        let alice = site.sign_in().await.with_context(|| site.tails())?;
        let elevation = json!({ "reason": REASON, "rights": "write", "life": GRANT_LIFE });
        alice.post("/api/v1/elevations", &elevation).await?.ok()?;
        let cluster = site.import(&alice).await.with_context(|| site.tails())?;
        let mut options = PostgresOptions::from_url(&site.database)?;
        // The replicas sweep; this one looks only.
        options.sweep_every = None;
        let store: SharedStore = Arc::new(PostgresStore::connect(options).await?);
        let (promises, windows) = (Promises::default(), FaultWindows::default());
        Ok(Self { site, alice, cluster, promises, windows, store })
    }

    /// Takes a kubeconfig for a cluster, which is then promised.
    ///
    /// # Errors
    /// It was refused.
    pub(crate) async fn kubeconfig(&self, cluster: &str, rights: &str) -> Result<ClusterAccess> {
        let body = json!({ "reason": REASON, "rights": rights, "life": GRANT_LIFE });
        let answer = self.alice.post(&format!("{cluster}/kubeconfig/new"), &body).await?.ok()?;
        let (server, token) = (kubeconfig_server(&answer.text)?, kubeconfig_token(&answer.text)?);
        let mount = server.strip_prefix(&self.site.proxy_url).with_context(|| server.clone())?.to_owned();
        // `aro1_KIND_ID_…`
        let grant = token.split('_').nth(2).context("a grant's id in the token")?.to_owned();
        self.promises.note(Promise::Grant { id: grant.clone() });
        Ok(ClusterAccess { grant, mount, token })
    }

    /// Takes a grant of another kind for the real cluster, which is then promised; the answer.
    ///
    /// # Errors
    /// It was refused.
    pub(crate) async fn grant(&self, kind: &str, more: &Value) -> Result<Value> {
        let mut body = json!({ "kind": kind, "target": self.cluster, "reason": REASON, "life": GRANT_LIFE });
        if let (Some(all), Some(more)) = (body.as_object_mut(), more.as_object()) {
            all.extend(more.clone());
        }
        let given = self.alice.post("/api/v1/grants", &body).await?.ok()?.json()?;
        self.promises.note(Promise::Grant { id: text(&given, "/grant/id")? });
        Ok(given)
    }

    /// A client of the API proxy behind the balancer, with a bearer token.
    ///
    /// # Errors
    /// The authority is none.
    pub(crate) fn proxy(&self, token: &str) -> Result<Session> {
        Ok(Session::open(self.site.authority.pem(), &self.site.proxy_url, None)?.with_bearer(token))
    }

    /// GET by a connection of its own, on `base`; `headers` are whole lines.
    ///
    /// # Errors
    /// No connection.
    pub(crate) async fn wire(&self, base: &str, target: &str, headers: &str) -> Result<Wire> {
        let host = base.trim_start_matches("https://");
        let mut wire = Wire::connect(base, self.site.authority.pem()).await?;
        wire.send(format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n")).await?;
        Ok(wire)
    }

    /// The same on the API proxy, with a bearer token.
    ///
    /// # Errors
    /// No connection.
    pub(crate) async fn api_wire(&self, access: &ClusterAccess, path: &str, headers: &str) -> Result<Wire> {
        let headers = format!("Authorization: Bearer {}\r\n{headers}", access.token);
        self.wire(&self.site.proxy_url, &format!("{}{path}", access.mount), &headers).await
    }
}

/// Posts a form of the portal as its page does.
///
/// # Errors
/// No answer, or the session is over.
pub(crate) async fn post_form(session: &Session, path: &str, form: String) -> Result<Answer> {
    let info = session.get("/api/info").await?.ok()?.json()?;
    let csrf = text(&info, "/csrf")?;
    let headers = [
        ("accept", "text/html"),
        ("content-type", "application/x-www-form-urlencoded"),
        ("origin", session.base()),
        ("x-csrf-token", &*csrf),
    ];
    session.send(Method::POST, path, &headers, Some(form)).await
}

/// A member of an answer that is text.
///
/// # Errors
/// There is none.
pub(crate) fn text(answer: &Value, pointer: &str) -> Result<String> {
    let found = answer.pointer(pointer).and_then(Value::as_str);
    found.map(str::to_owned).with_context(|| format!("no {pointer} in {answer}"))
}

/// A client's frame of a WebSocket (RFC 6455 §5.2), whose mask of zeros leaves it as it is. `kind`: 1 text, 2 binary.
///
/// # Errors
/// The payload has 126 bytes or more.
pub(crate) fn frame(kind: u8, payload: &[u8]) -> Result<Vec<u8>> {
    let length = u8::try_from(payload.len()).ok().filter(|length| *length < 126).context("a short frame")?;
    Ok([&[0x80 | kind, 0x80 | length, 0, 0, 0, 0][..], payload].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_its_length_and_a_mask_that_changes_nothing() {
        assert_eq!(frame(2, b"ab").unwrap(), [0x82, 0x82, 0, 0, 0, 0, b'a', b'b']);
        assert!(frame(1, &[0; 126]).is_err());
    }
}
