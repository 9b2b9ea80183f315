//! One of each stream that a grant can open, on a replica of one's choice.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use reqwest::Method;
use russh::client::{Config, Handle};
use russh::keys::{Algorithm, Certificate, PrivateKey, PublicKeyOrCertificate};
use russh::{Channel, ChannelMsg, client::Msg};
use serde_json::{Value, json};
use tests_kit::{GENEROUS, Session, Wire, kubeconfig_server, kubeconfig_token};
use tokio::task::JoinHandle;

use super::{text, until_over};
use crate::machine::MACHINE;
use crate::replicas::world::{Replica, Replicas};

/// Where the tunnel leads.
pub(super) const PLACE: &str = "talk.harbor.test:9";
/// A WebSocket's handshake (RFC 6455 §4.1) but for its protocol.
const SOCKET: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const EXEC: &str = "/api/v1/namespaces/default/pods/web/exec?command=sh&command=-c&command=echo%20started%3B%20cat&stdin=true&stdout=true";
/// The reset of stream 1 of a tunnel (`docs/guides/tunnel.md`).
const RESET: &str = "\x07\0\0\0\x01";

/// A stream that runs, until its end.
pub(super) struct LiveStream {
    pub(super) what: String,
    pub(super) grant: String,
    pub(super) ended: JoinHandle<Result<Instant>>,
}

/// A grant and the token that it gave.
struct GrantToken {
    id: String,
    token: String,
}

/// The grants of a round, and whatever opens streams with them.
pub(super) struct Streams {
    ca: String,
    /// Of the portal, for pages.
    origin: String,
    cookie: String,
    cluster: String,
    /// The path of the API proxy.
    api: String,
    kubeconfig: GrantToken,
    /// A token that a plug-in took: a child of its grant.
    plugin: GrantToken,
    tunnel: GrantToken,
    terminal: String,
    ssh: String,
    user: String,
    key: Arc<PrivateKey>,
    certificate: Certificate,
}

impl Streams {
    pub(super) async fn open_grants(
        world: &Replicas,
        alice: &Session,
        cluster: &str,
        round: usize,
    ) -> Result<Self> {
        let reason = format!("revoked on two replicas, round {round}");
        let grant = async |kind: &str, more: Value| {
            let mut body = json!({ "kind": kind, "target": cluster, "reason": reason });
            if let (Some(all), Some(more)) = (body.as_object_mut(), more.as_object()) {
                all.extend(more.clone());
            }
            alice.post("/api/v1/grants", &body).await?.ok()?.json()
        };
        let kubeconfig = alice.kubeconfig(cluster, "write", &reason, None).await?;
        let server = kubeconfig_server(&kubeconfig)?;
        let token = kubeconfig_token(&kubeconfig)?;
        let named = grant("kubeconfig", json!({ "plugin": true })).await?;
        let plugin = text(&named, "/grant/id")?;
        let taken = alice.post(&format!("/api/v1/grants/{plugin}/token"), &json!({})).await?.ok()?.json()?;
        let tunnel = grant("tunnel", json!({ "destinations": [PLACE] })).await?;
        let ssh = text(&grant("ssh", json!({ "machine": MACHINE, "plugin": true })).await?, "/grant/id")?;
        let key = PrivateKey::random(&mut russh::keys::key::safe_rng(), Algorithm::Ed25519)?;
        let public = json!({ "public_key": key.public_key().to_openssh()? });
        let certified = alice.post(&format!("/api/v1/grants/{ssh}/ssh-certificate"), &public).await?.ok()?;
        let certified = certified.json()?;
        Ok(Self {
            ca: world.authority.pem().to_owned(),
            origin: world.url.clone(),
            cookie: alice.cookie().context("a cookie")?.to_owned(),
            cluster: cluster.to_owned(),
            api: server.strip_prefix(&world.proxy_url).context("the balancer's address")?.to_owned(),
            // `aro1_KIND_ID_…`
            kubeconfig: GrantToken { id: token.split('_').nth(2).context("a grant's id")?.to_owned(), token },
            plugin: GrantToken { id: plugin, token: text(&taken, "/token")? },
            tunnel: GrantToken { id: text(&tunnel, "/grant/id")?, token: text(&tunnel, "/token")? },
            terminal: terminal(alice, cluster, &reason).await?,
            ssh,
            user: text(&certified, "/user")?,
            key: Arc::new(key),
            certificate: Certificate::from_openssh(&text(&certified, "/certificate")?)?,
        })
    }

    /// Ids of the grants, each once.
    pub(super) fn grants(&self) -> [&str; 5] {
        [&self.kubeconfig.id, &self.plugin.id, &self.tunnel.id, &self.terminal, &self.ssh]
    }

    /// Opens one of each; every one of them has said something.
    pub(super) async fn open(&self, replica: &Replica) -> Result<Vec<LiveStream>> {
        let name = &replica.name;
        let kubeconfig = &self.kubeconfig;
        let mut running = Vec::new();
        let mut add = |what: &str, grant: &str, ended| {
            running.push(LiveStream { what: format!("{what} on {name}"), grant: grant.to_owned(), ended });
        };
        for (what, given) in [("watch", kubeconfig), ("watch of a plug-in", &self.plugin)] {
            let wire = self.api(replica, given, "/api/v1/pods?watch=true", "").await?;
            add(what, &given.id, until_over(closed(said(wire, "\"ADDED\"").await?)));
        }
        let exec = format!("{SOCKET}Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n");
        let exec = said(self.api(replica, kubeconfig, EXEC, &exec).await?, "started").await?;
        add("exec", &kubeconfig.id, until_over(closed(exec)));
        let spdy =
            "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: portforward.k8s.io\r\n";
        let forward = "/api/v1/namespaces/default/pods/web/portforward";
        let forward = said(self.api(replica, kubeconfig, forward, spdy).await?, "HTTP/1.1 101").await?;
        add("port-forward", &kubeconfig.id, until_over(closed(forward)));
        let tunnel = self.tunnel(replica).await?;
        add("tunnel", &self.tunnel.id, until_over(reset(tunnel)));
        add("terminal", &self.terminal, until_over(closed(self.terminal(replica).await?)));
        let (handle, channel) = self.shell(replica).await?;
        add("SSH", &self.ssh, until_over(shell_over(handle, channel)));
        Ok(running)
    }

    async fn send(&self, base: &str, target: &str, headers: &str) -> Result<Wire> {
        let host = base.trim_start_matches("https://");
        let mut wire = Wire::connect(base, &self.ca).await?;
        wire.send(format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n")).await?;
        Ok(wire)
    }

    async fn api(&self, replica: &Replica, given: &GrantToken, path: &str, headers: &str) -> Result<Wire> {
        let headers = format!("Authorization: Bearer {}\r\n{headers}", given.token);
        self.send(&replica.proxy_url, &format!("{}{path}", self.api), &headers).await
    }

    /// A connection through a tunnel.
    async fn tunnel(&self, replica: &Replica) -> Result<Wire> {
        let token = &self.tunnel.token;
        let headers =
            format!("Authorization: Bearer {token}\r\n{SOCKET}Sec-WebSocket-Protocol: aro.tunnel.v1\r\n");
        let wire = self.send(&replica.proxy_url, &format!("{}/tunnel", self.cluster), &headers).await?;
        let mut wire = said(wire, "HTTP/1.1 101").await?;
        let (host, port) = PLACE.split_once(':').context("a place")?;
        // Kind 1 opens stream 1.
        let mut open = vec![1, 0, 0, 0, 1];
        open.extend(port.parse::<u16>()?.to_be_bytes());
        open.extend(host.as_bytes());
        wire.send(frame(2, &open)?).await?;
        said(wire, "hello from the place").await
    }

    /// A shell in a container, as the page opens it.
    async fn terminal(&self, replica: &Replica) -> Result<Wire> {
        let (cookie, origin) = (&self.cookie, &self.origin);
        let headers = format!(
            "Cookie: {cookie}\r\nOrigin: {origin}\r\n{SOCKET}Sec-WebSocket-Protocol: aro.terminal.v1\r\n"
        );
        let wire = self.send(&replica.url, &format!("{}/terminal/socket", self.cluster), &headers).await?;
        let mut wire = said(wire, "HTTP/1.1 101").await?;
        let place = json!({ "pod": { "namespace": "default", "name": "web" } });
        let open = json!({ "t": "open", "place": place, "size": { "cols": 80, "rows": 24 } });
        wire.send(frame(1, open.to_string().as_bytes())?).await?;
        said(wire, "\"t\":\"hello\"").await
    }

    /// A command on the machine that waits for input.
    async fn shell(&self, replica: &Replica) -> Result<(Handle<AcceptAnyHostKey>, Channel<Msg>)> {
        let connecting =
            russh::client::connect(Arc::new(Config::default()), ("127.0.0.1", replica.ssh), AcceptAnyHostKey);
        let mut handle = tokio::time::timeout(GENEROUS, connecting).await.context("no connection")??;
        let (key, certificate) = (Arc::clone(&self.key), self.certificate.clone());
        let signed = handle.authenticate_openssh_cert(&self.user, key, certificate).await?;
        ensure!(signed.success(), "the certificate was refused");
        let mut channel = handle.channel_open_session().await?;
        channel.exec(true, "echo started; cat").await?;
        loop {
            match channel.wait().await.context("the shell ended")? {
                ChannelMsg::Data { .. } => return Ok((handle, channel)),
                ChannelMsg::Close => anyhow::bail!("the shell was closed"),
                _ => {}
            }
        }
    }
}

/// Takes the access that a terminal of the page needs; gives its grant.
async fn terminal(alice: &Session, cluster: &str, reason: &str) -> Result<String> {
    let info = alice.get("/api/info").await?.ok()?.json()?;
    let csrf = text(&info, "/csrf")?;
    let form = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs([("namespace", "default"), ("pod", "web"), ("reason", reason)])
        .finish();
    let headers = [
        ("accept", "text/html"),
        ("content-type", "application/x-www-form-urlencoded"),
        ("origin", alice.base()),
        ("x-csrf-token", &*csrf),
    ];
    let given = alice.send(Method::POST, &format!("{cluster}/terminal/new"), &headers, Some(form)).await?;
    ensure!(given.status == 303, "{}: {}", given.status, tests_kit::shown(&given.text));
    let grants = alice.grants().await?;
    let ours = |grant: &&Value| grant["kind"] == "terminal" && grant["state"] == "active";
    text(grants.iter().find(ours).with_context(|| format!("{grants:?}"))?, "/id")
}

/// A client's frame of a WebSocket (RFC 6455 §5.2), whose mask of zeros leaves it as it is.
fn frame(kind: u8, payload: &[u8]) -> Result<Vec<u8>> {
    let length = u8::try_from(payload.len()).ok().filter(|length| *length < 126).context("a short frame")?;
    Ok([&[0x80 | kind, 0x80 | length, 0, 0, 0, 0][..], payload].concat())
}

async fn said(mut wire: Wire, words: &str) -> Result<Wire> {
    wire.says(words).await?;
    Ok(wire)
}

async fn closed(mut wire: Wire) -> Result<()> {
    wire.closed(GENEROUS).await.map(drop)
}

/// The connection through the tunnel is over; the tunnel itself says goodbye then.
async fn reset(mut wire: Wire) -> Result<()> {
    wire.says(RESET).await
}

async fn shell_over(handle: Handle<AcceptAnyHostKey>, mut channel: Channel<Msg>) -> Result<()> {
    while channel.wait().await.is_some_and(|message| !matches!(message, ChannelMsg::Close)) {}
    drop(handle);
    Ok(())
}

/// Whom it meets is the business of other stories.
struct AcceptAnyHostKey;

impl russh::client::Handler for AcceptAnyHostKey {
    type Error = russh::Error;

    async fn check_server_key(&mut self, _: &PublicKeyOrCertificate) -> Result<bool, russh::Error> {
        Ok(true)
    }
}
