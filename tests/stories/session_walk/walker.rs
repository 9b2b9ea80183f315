//! Who walks: one grant, one request after another by bytes, and what came of each.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result, ensure};
use proxy::api::{SessionEndpoint, SessionKind};
use rp_documents::Rights;
use serde_json::{Value, json};
use tests_kit::{Aro, ControlPlane, GENEROUS, Wire, kubeconfig_server, kubeconfig_token, until};
use tokio::sync::OnceCell;

/// Words by which the proxy says that a request goes no further.
const REFUSALS: [&str; 3] = ["rights", "not_this_way", "not_recordable"];

/// How a request leaves HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    None,
    WebSocket,
    Spdy,
}

impl Framing {
    /// All in which a way is walked.
    pub(super) const fn of(endpoint: &SessionEndpoint) -> &'static [Self] {
        if endpoint.upgrade { &[Self::WebSocket, Self::Spdy] } else { &[Self::None] }
    }

    fn headers(self, target: &str) -> String {
        let forward = target.contains("/portforward");
        match self {
            Self::None => String::new(),
            Self::WebSocket => {
                let protocol = if forward { "SPDY/3.1+portforward.k8s.io" } else { "v5.channel.k8s.io" };
                format!(
                    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                     Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: {protocol}\r\n"
                )
            }
            Self::Spdy => {
                let protocol = if forward { "portforward.k8s.io" } else { "v4.channel.k8s.io" };
                format!(
                    "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: {protocol}\r\n"
                )
            }
        }
    }
}

/// What came of a request.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) method: String,
    pub(super) target: String,
    /// Stands in the target, and nowhere else.
    pub(super) mark: String,
    pub(super) status: u16,
    /// Why the proxy refused it; empty when it did not.
    pub(super) refused: String,
    pub(super) request_id: String,
}

/// A way that was walked.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) endpoint: SessionEndpoint,
    pub(super) framing: Framing,
    pub(super) outcome: Outcome,
}

/// A grant on a cluster.
pub(super) struct Walker<'a> {
    aro: &'a Aro,
    ca: String,
    pub(super) rights: Rights,
    mount: String,
    token: String,
    pub(super) grant: String,
    name: String,
    asked: AtomicUsize,
}

impl<'a> Walker<'a> {
    /// `name` begins the marks.
    pub(super) async fn new(aro: &'a Aro, cluster: &str, rights: Rights, name: &str) -> Result<Self> {
        let session = aro.session("elevated").await?;
        let kubeconfig = session.kubeconfig(cluster, rights.name(), "walk every way", None).await?;
        let server = kubeconfig_server(&kubeconfig)?;
        let mount = server.strip_prefix(aro.dev.proxy_url.trim_end_matches('/')).context("our proxy")?;
        let token = kubeconfig_token(&kubeconfig)?;
        let grant = token.split('_').nth(2).context("the id in a token")?.to_owned();
        let name = format!("{name}-{}", rights.name());
        let (ca, mount, asked) = (aro.ca_pem()?, mount.to_owned(), AtomicUsize::new(0));
        Ok(Self { aro, ca, rights, mount, token, grant, name, asked })
    }

    /// Walks each way in every framing, one after the other.
    pub(super) async fn walk(
        &self,
        endpoints: impl Iterator<Item = &'static SessionEndpoint>,
    ) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        for endpoint in endpoints {
            for &framing in Framing::of(endpoint) {
                let outcome = self.ask(endpoint.method, &endpoint.target(), framing).await;
                let outcome = outcome.with_context(|| format!("{} {endpoint:?} {framing:?}", self.name))?;
                steps.push(Step { endpoint: *endpoint, framing, outcome });
            }
        }
        Ok(steps)
    }

    /// Sends a request with a mark in its target, and reads as much of the answer as says what came of it.
    pub(super) async fn ask(&self, method: &str, target: &str, framing: Framing) -> Result<Outcome> {
        let mark = format!("{}-{:03}", self.name, self.asked.fetch_add(1, Ordering::Relaxed));
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut query: Vec<String> =
            query.split('&').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        if query.iter().any(|part| part.starts_with("command=")) {
            // A kubelet gets the command and none of what else stands in the query.
            query.push(format!("command={mark}"));
        }
        query.push(format!("mark={mark}"));
        let target = format!("{path}?{}", query.join("&"));
        let host = self.aro.dev.proxy_url.trim_start_matches("https://").trim_end_matches('/');
        let body = match (method, framing) {
            ("PATCH", Framing::None) => {
                "Content-Type: application/merge-patch+json\r\nContent-Length: 2\r\n\r\n{}"
            }
            ("POST" | "PUT", Framing::None) => {
                "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
            }
            _ => "\r\n",
        };
        let (mount, token, more) = (&self.mount, &self.token, framing.headers(&target));
        let mut wire = Wire::connect(&self.aro.dev.proxy_url, &self.ca).await?;
        wire.send(format!(
            "{method} {mount}{target} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n{more}{body}"
        ))
        .await?;
        let (status, head) = wire.head().await?;
        let lines = head.lines().filter_map(|line| line.split_once(": "));
        let id = lines.filter(|(name, _)| name.eq_ignore_ascii_case("x-request-id")).map(|(_, id)| id).next();
        let request_id = id.with_context(|| format!("no request id: {head}"))?.to_owned();
        let ours = status == 403 && method != "HEAD";
        let refused = if ours { refusal(&wire.answer().await?.1) } else { None };
        let (method, refused) = (method.to_owned(), refused.unwrap_or_default());
        Ok(Outcome { method, target, mark, status, refused, request_id })
    }

    /// Waits until each step stands in our audit log with all of its target and command.
    pub(super) async fn audited(&self, steps: &[Step]) -> Result<()> {
        let auditor = self.aro.session("auditor").await?;
        until("every step is on the record", GENEROUS, || async {
            let mut entries: BTreeMap<String, Vec<Value>> = BTreeMap::new();
            for entry in auditor.audit(&self.grant).await? {
                let id = entry["request_id"].as_str().unwrap_or_default().to_owned();
                entries.entry(id).or_default().push(entry);
            }
            for Step { endpoint, outcome, .. } in steps {
                let found =
                    entries.get(&outcome.request_id).with_context(|| format!("no entry of {outcome:?}"))?;
                for entry in found {
                    names_all(entry, &outcome.target).with_context(|| format!("{endpoint:?}"))?;
                }
            }
            Ok(())
        })
        .await
    }
}

/// The proxy's own word for a refusal; nothing for a refusal of the API server.
fn refusal(answer: &str) -> Option<String> {
    let body: Value = serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()?;
    let word = body.pointer("/details/causes/0/reason")?.as_str()?;
    REFUSALS.contains(&word).then(|| word.to_owned())
}

/// Whether an entry has every part of a path and every argument and parameter of a query.
fn names_all(entry: &Value, target: &str) -> Result<()> {
    let fields = ["group", "resource", "subresource", "namespace", "name", "query", "verb"];
    let texts = fields.iter().filter_map(|field| entry[field].as_str());
    let mut named: HashSet<&str> = texts.flat_map(|text| text.split(['/', '?', '&'])).collect();
    // They say where the name of a group or of a namespace stands.
    named.extend(["", "api", "apis", "v1", "namespaces"]);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    for part in path.split('/') {
        let plain = part.replace("%65", "e");
        let proxy = part == "proxy" && entry["subresource"] == "proxy";
        ensure!(proxy || named.contains(part) || named.contains(plain.as_str()), "without {part:?}: {entry}");
    }
    for part in query.split('&') {
        match part.strip_prefix("command=") {
            Some(argument) if entry["command"].is_array() => {
                let there =
                    entry["command"].as_array().is_some_and(|all| all.iter().any(|it| it == argument));
                ensure!(there, "without the argument {argument:?}: {entry}");
            }
            _ => ensure!(named.contains(part), "without {part:?}: {entry}"),
        }
    }
    Ok(())
}

/// The pod that is walked to, running on a real API server.
pub(super) async fn plane() -> Result<&'static ControlPlane> {
    static READY: OnceCell<()> = OnceCell::const_new();
    let plane = ControlPlane::shared().await?;
    let make = || async {
        let admin = plane.admin()?;
        // On its node's network: its address is one that an API server does not dial for a proxy.
        let objects = json!({ "apiVersion": "v1", "kind": "List", "items": [
            { "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "walk" } },
            { "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "walked", "namespace": "walk" },
              "spec": { "nodeName": "node-1", "hostNetwork": true,
                        "containers": [{ "name": "web", "image": "web" }] } },
        ] });
        admin.with_input(objects.to_string().as_bytes(), &["create", "-f", "-"]).await?.ok()?;
        plane.write_log("walk", "walked", "web", "a line\n")?;
        admin.ok(&["wait", "-n", "walk", "--for=condition=Ready", "pod/walked", "--timeout=60s"]).await?;
        anyhow::Ok(())
    };
    READY.get_or_try_init(make).await?;
    Ok(plane)
}

/// Which marks an API server's own audit log has.
pub(super) fn marks_of_api_server(plane: &ControlPlane) -> Result<HashSet<String>> {
    let log = std::fs::read_to_string(plane.folder().path().join("audit.log"))?;
    Ok(log.split("mark=").skip(1).map(mark).collect())
}

fn mark(text: &str) -> String {
    text.chars().take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '-').collect()
}

/// Waits until the API server has what passed; it has nothing of what was refused.
pub(super) async fn received(plane: &ControlPlane, steps: &[Step]) -> Result<()> {
    let (passed, refused): (Vec<&Step>, Vec<&Step>) = steps.iter().partition(|step| step.passed());
    until("the API server has what passed", GENEROUS, || async {
        let marks = marks_of_api_server(plane)?;
        let missing: Vec<_> = passed.iter().filter(|step| !marks.contains(&step.outcome.mark)).collect();
        ensure!(missing.is_empty(), "it has nothing of {missing:?}");
        Ok(())
    })
    .await?;
    let marks = marks_of_api_server(plane)?;
    let kubelet = plane.kubelet_requests()?;
    for Step { outcome, .. } in refused {
        ensure!(!marks.contains(&outcome.mark), "the API server got {outcome:?}");
        ensure!(!kubelet.iter().any(|got| got.contains(&outcome.mark)), "the kubelet got {outcome:?}");
    }
    Ok(())
}

impl Step {
    /// It went on to the cluster.
    pub(super) fn passed(&self) -> bool {
        let Outcome { method, refused, status, .. } = &self.outcome;
        refused.is_empty() && !(method == "HEAD" && *status == 403)
    }

    /// Whether it came as the table says, for a grant with these rights.
    pub(super) fn check(&self, rights: Rights) -> Result<()> {
        let expected = match self.endpoint.opens {
            _ if rights < self.endpoint.rights => "rights",
            SessionKind::Refused(_) => "not_this_way",
            _ => "",
        };
        let Outcome { method, refused, status, .. } = &self.outcome;
        // An answer to HEAD has no words.
        let as_told = refused == expected || method == "HEAD" && *status == 403 && !expected.is_empty();
        ensure!(as_told, "not {expected:?}: {self:?}");
        Ok(())
    }
}
