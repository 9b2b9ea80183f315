//! A fake cluster for tests: an in-process TLS server with scripted responses.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use rcgen::{CertificateParams, KeyPair};
use rp_base::Secret;
use rp_documents::ResourceId;
use rp_net::{
    Credential, Dialer, DialerOptions, Directory, DirectoryError, Endpoint, Networks, PrivateWay, Source,
    Target, tls,
};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// A scripted response.
pub(crate) enum Reply {
    Json(Value),
    Text(u16, String),
    /// With `Retry-After`.
    Later(u16, u64),
    /// The request is accepted and never answered.
    Silent,
    /// A head and half a body, then the connection stalls.
    Half,
}

/// Maps a request to a response.
pub(crate) type Script = dyn Fn(&ReceivedRequest) -> Reply + Send + Sync;

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) nth: usize,
}

impl ReceivedRequest {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }
}

/// How the TLS handshake behaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum HandshakeMode {
    Open,
    /// TCP is accepted and nothing is sent.
    NoTls,
    /// The certificate is signed by an authority that the target does not trust.
    Stranger,
}

/// A running server.
pub(crate) struct FakeCluster {
    target: Arc<Target>,
    asked: Arc<Mutex<Vec<ReceivedRequest>>>,
    pub(crate) connections: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for FakeCluster {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The id of the cluster of tests.
pub(crate) const ID: &str = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/Group/providers/Microsoft.RedHatOpenShift/openShiftClusters/Name";

impl FakeCluster {
    pub(crate) async fn start(script: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_with(HandshakeMode::Open, script).await
    }

    pub(crate) async fn start_with(
        door: HandshakeMode,
        script: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let (tls, pem) = certificate();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<ReceivedRequest>>> = Arc::default();
        let connections: Arc<AtomicUsize> = Arc::default();
        let script: Arc<Script> = Arc::new(script);
        let (log, count) = (Arc::clone(&asked), Arc::clone(&connections));
        let task = tokio::spawn(async move {
            let mut held = Vec::new();
            loop {
                let (tcp, _) = listener.accept().await.unwrap();
                if door == HandshakeMode::NoTls {
                    held.push(tcp);
                    continue;
                }
                let (tls, log, script, count) =
                    (tls.clone(), Arc::clone(&log), Arc::clone(&script), Arc::clone(&count));
                tokio::spawn(async move {
                    let Ok(stream) = tls.accept(tcp).await else { return };
                    count.fetch_add(1, Ordering::SeqCst);
                    let service =
                        service_fn(|request| answer(request, Arc::clone(&log), Arc::clone(&script)));
                    let server = hyper::server::conn::http1::Builder::new();
                    let _ = server.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        let pem = if door == HandshakeMode::Stranger { certificate().1 } else { pem };
        Self { target: Arc::new(target(&url, pem)), asked, connections, task }
    }

    pub(crate) fn target(&self) -> Arc<Target> {
        Arc::clone(&self.target)
    }

    pub(crate) fn directory(&self) -> Arc<dyn Directory> {
        Arc::new(SingleTarget(self.target()))
    }

    /// All requests so far.
    pub(crate) fn requests(&self) -> Vec<ReceivedRequest> {
        self.asked.lock().clone()
    }

    /// Number of requests for that path.
    pub(crate) fn request_count(&self, path: &str) -> usize {
        self.asked.lock().iter().filter(|asked| asked.path == path).count()
    }
}

/// A directory of that target, or of none.
#[derive(Debug)]
pub(crate) struct SingleTarget(pub(crate) Arc<Target>);

#[async_trait]
impl Directory for SingleTarget {
    async fn find(&self, id: &ResourceId) -> Result<Arc<Target>, DirectoryError> {
        if *id == self.0.id { Ok(Arc::clone(&self.0)) } else { Err(DirectoryError::Unknown) }
    }
}

pub(crate) fn target(url: &str, ca_pem: String) -> Target {
    let token = Credential::Token(Secret::new("a-token".to_owned()));
    let target = Target {
        id: ResourceId::parse(ID).unwrap(),
        source: Source::Aro,
        endpoint: Endpoint::Direct { url: url.parse().unwrap() },
        server_name: "localhost".to_owned(),
        ca_pem,
        read: token.clone(),
        admin: token,
        as_groups: Vec::new(),
        ssh: None,
        fingerprint: 0,
    };
    target.fingerprinted()
}

pub(crate) fn dialer() -> Dialer {
    Dialer::new(DialerOptions {
        private: PrivateWay::Direct,
        networks: Networks::new(vec!["127.0.0.0/8".parse().unwrap()], Vec::new()),
        keepalive: Duration::from_secs(30),
    })
}

fn certificate() -> (tokio_rustls::TlsAcceptor, String) {
    let key = KeyPair::generate().unwrap();
    let certificate =
        CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    let config = ServerConfig::builder_with_provider(tls::provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der())),
        )
        .unwrap();
    (tokio_rustls::TlsAcceptor::from(Arc::new(config)), certificate.pem())
}

type Body = UnsyncBoxBody<Bytes, io::Error>;

fn whole(status: u16, text: impl Into<Bytes>) -> Response<Body> {
    let body = Full::new(text.into()).map_err(|never: Infallible| match never {}).boxed_unsync();
    Response::builder().status(status).body(body).unwrap()
}

async fn answer(
    request: Request<Incoming>,
    log: Arc<Mutex<Vec<ReceivedRequest>>>,
    script: Arc<Script>,
) -> Result<Response<Body>, Infallible> {
    let path = request.uri().path().to_owned();
    let pairs = request.uri().query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    let query = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let asked = {
        let mut log = log.lock();
        let nth = log.iter().filter(|before| before.path == path).count();
        let asked = ReceivedRequest { path, query, nth };
        log.push(asked.clone());
        asked
    };
    Ok(match script(&asked) {
        Reply::Json(value) => whole(200, value.to_string()),
        Reply::Text(status, text) => whole(status, text),
        Reply::Later(status, seconds) => {
            let mut reply = whole(status, "");
            reply.headers_mut().insert("retry-after", seconds.into());
            reply
        }
        Reply::Silent => std::future::pending().await,
        Reply::Half => {
            let first = Ok(Frame::data(Bytes::from_static(b"{\"items\":[{\"metadata\":")));
            let stream = futures_util::stream::iter([first]).chain(futures_util::stream::pending());
            Response::new(StreamBody::new(stream).boxed_unsync())
        }
    })
}

/// Responses of a small, healthy cluster; lists are paged.
pub(crate) fn healthy_cluster(asked: &ReceivedRequest) -> Reply {
    let condition = |kind: &str, status: &str| json!({"type": kind, "status": status});
    let conditions: Vec<Value> =
        [("Available", "True"), ("Degraded", "False"), ("Progressing", "False"), ("Upgradeable", "True")]
            .map(|(kind, status)| condition(kind, status))
            .into();
    let version = json!({"metadata": {"name": "version"}, "spec": {}, "status": {
        "desired": {"version": "4.18.9"}, "history": [{"state": "Completed", "version": "4.18.9"}],
        "conditions": conditions}});
    let operator = |name: &str| {
        json!({"metadata": {"name": name}, "status": {"conditions": conditions,
            "versions": [{"name": "operator", "version": "4.18.9"}]}})
    };
    let node = |name: &str, role: &str| {
        json!({"metadata": {"name": name, "labels": {format!("node-role.kubernetes.io/{role}"): ""}},
            "status": {"conditions": [condition("Ready", "True")], "nodeInfo": {"kubeletVersion": "v1.31.6"}}})
    };
    let pod = |name: &str| {
        json!({"metadata": {"name": name, "namespace": "openshift-etcd"}, "spec": {"nodeName": "m0"},
            "status": {"phase": "Running", "conditions": [condition("Ready", "True")], "containerStatuses": []}})
    };
    match asked.path.as_str() {
        "/healthz" | "/healthz/ping" => Reply::Text(200, "ok".to_owned()),
        "/apis/config.openshift.io/v1/clusterversions/version" => Reply::Json(version),
        "/apis/config.openshift.io/v1/clusteroperators" => {
            page(asked, &["etcd", "dns", "network"].map(operator))
        }
        "/apis/aro.openshift.io/v1alpha1/clusters/cluster" => {
            Reply::Json(json!({"metadata": {"name": "cluster"}, "spec": {"operatorflags": {}}}))
        }
        "/apis/config.openshift.io/v1/proxies/cluster" => Reply::Json(json!({"spec": {}})),
        "/apis/config.openshift.io/v1/networks/cluster" => Reply::Json(
            json!({"spec": {"networkType": "OVNKubernetes"}, "status": {"clusterNetworkMTU": 1400}}),
        ),
        "/api/v1/nodes" => {
            let names = [("m0", "master"), ("m1", "master"), ("m2", "master"), ("w0", "worker")];
            page(asked, &names.map(|(name, role)| node(name, role)))
        }
        "/api/v1/namespaces/openshift-etcd/pods" => page(asked, &["a", "b", "c"].map(pod)),
        path if path.ends_with("/pods") || path.ends_with('s') && path.contains("/apis/") => page(asked, &[]),
        _ => Reply::Text(404, r#"{"kind":"Status","message":"not found","code":404}"#.to_owned()),
    }
}

/// One page of these items, by `limit` and `continue`.
pub(crate) fn page(asked: &ReceivedRequest, items: &[Value]) -> Reply {
    let from: usize = asked.get("continue").and_then(|text| text.parse().ok()).unwrap_or(0);
    let limit: usize = asked.get("limit").and_then(|text| text.parse().ok()).unwrap_or(usize::MAX);
    let end = from.saturating_add(limit).min(items.len());
    let metadata = if end < items.len() { json!({"continue": end.to_string()}) } else { json!({}) };
    Reply::Json(json!({"kind": "List", "metadata": metadata, "items": items[from.min(end)..end]}))
}
