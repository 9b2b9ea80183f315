//! An in-process API server: paged lists, watches, and injected faults.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream;
use http::{Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use parking_lot::Mutex;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rp_base::Secret;
use rp_documents::ResourceId;
use rp_net::listen::{Gauge, Handler, Limits, Listener, Stop};
use rp_net::tls::{ClientAuth, ServerFiles, ServerTls};
use rp_net::{Credential, Directory, DirectoryError, Endpoint, Source, Target};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::broadcast;

/// How the server responds for a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ServerMode {
    #[default]
    Well,
    Forbidden,
    Missing,
    /// The connection is accepted, and no response is sent.
    Silent,
    Broken,
}

#[derive(Debug, Default)]
struct State {
    version: u64,
    /// Versions up to this one are expired.
    compacted: u64,
    objects: HashMap<String, BTreeMap<String, Value>>,
    history: Vec<(u64, String, Value)>,
    moods: HashMap<String, ServerMode>,
    lists: HashMap<String, usize>,
    watches: HashMap<String, usize>,
    open: HashMap<String, usize>,
    /// Versions that watches began with.
    began: Vec<u64>,
    /// A continue token that is refused once.
    expire_token: bool,
}

/// The server.
#[derive(Debug)]
pub(super) struct Api {
    state: Mutex<State>,
    news: broadcast::Sender<(u64, String, Value)>,
    cut: broadcast::Sender<()>,
    known: AtomicBool,
    target: Mutex<Option<Arc<Target>>>,
    stop: Stop,
}

type Body = BoxBody<Bytes, Infallible>;

impl Api {
    pub(super) async fn start() -> Arc<Self> {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, "ca");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca_pem = params.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(params, key);
        let leaf_key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec!["kubernetes".to_owned()]).unwrap();
        let leaf = leaf.signed_by(&leaf_key, &issuer).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let files = ServerFiles { certificate: folder.path().join("crt"), key: folder.path().join("key") };
        std::fs::write(&files.certificate, leaf.pem()).unwrap();
        std::fs::write(&files.key, leaf_key.serialize_pem()).unwrap();
        let tls = ServerTls::load(files, &[b"http/1.1"], ClientAuth::None).unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = tcp.local_addr().unwrap();
        let stop = Stop::default();
        let api = Arc::new(Self {
            state: Mutex::new(State { version: 100, ..State::default() }),
            news: broadcast::channel(65_536).0,
            cut: broadcast::channel(16).0,
            known: AtomicBool::new(true),
            target: Mutex::new(None),
            stop: stop.clone(),
        });
        let credential = || Credential::Token(Secret::new("token".to_owned()));
        let target = Target {
            id: ResourceId::imported("c").unwrap(),
            source: Source::Imported,
            endpoint: Endpoint::Direct { url: format!("https://{address}").parse().unwrap() },
            server_name: "kubernetes".to_owned(),
            ca_pem,
            read: credential(),
            admin: credential(),
            as_groups: Vec::new(),
            ssh: None,
            fingerprint: 7,
        };
        *api.target.lock() = Some(Arc::new(target));
        let listener = Listener {
            tcp,
            tls: Some(tls),
            handler: Arc::new(Handle(Arc::clone(&api))),
            limits: Limits::with_connections(1_000),
            gauge: Arc::new(Gauge::default()),
        };
        tokio::spawn(listener.serve(stop));
        api
    }

    /// Creates or replaces.
    pub(super) fn put(&self, path: &str, mut object: Value) {
        let mut state = self.state.lock();
        state.version += 1;
        let version = state.version;
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        let key = format!("{}/{}", object["metadata"]["namespace"], object["metadata"]["name"]);
        let kind = state.objects.entry(path.to_owned()).or_default();
        let event = if kind.insert(key, object.clone()).is_some() { "MODIFIED" } else { "ADDED" };
        let line = json!({"type": event, "object": object});
        state.history.push((version, path.to_owned(), line.clone()));
        let _ = self.news.send((version, path.to_owned(), line));
    }

    pub(super) fn remove(&self, path: &str, name: &str) {
        let mut state = self.state.lock();
        state.version += 1;
        let version = state.version;
        let kind = state.objects.entry(path.to_owned()).or_default();
        let key = kind.keys().find(|key| key.ends_with(&format!("/\"{name}\""))).cloned().unwrap();
        let mut object = kind.remove(&key).unwrap();
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        let line = json!({"type": "DELETED", "object": object});
        state.history.push((version, path.to_owned(), line.clone()));
        let _ = self.news.send((version, path.to_owned(), line));
    }

    /// A bookmark to every watch.
    pub(super) fn bookmark(&self) {
        let mut state = self.state.lock();
        state.version += 1;
        let object = json!({"metadata": {"resourceVersion": state.version.to_string()}});
        let _ = self.news.send((state.version, String::new(), json!({"type": "BOOKMARK", "object": object})));
    }

    pub(super) fn mood(&self, path: &str, mood: ServerMode) {
        self.state.lock().moods.insert(path.to_owned(), mood);
        if mood != ServerMode::Well {
            let _ = self.cut.send(());
        }
    }

    /// Ends every watch; versions up to now are forgotten.
    pub(super) fn compact(&self) {
        {
            let mut state = self.state.lock();
            state.version += 1;
            state.compacted = state.version;
            state.history.clear();
        }
        let _ = self.cut.send(());
    }

    /// Ends every watch in order.
    pub(super) fn cut(&self) {
        let _ = self.cut.send(());
    }

    pub(super) fn expire_token(&self) {
        self.state.lock().expire_token = true;
    }

    /// Not in the directory any more.
    pub(super) fn forget(&self) {
        self.known.store(false, Ordering::SeqCst);
        let _ = self.cut.send(());
    }

    pub(super) fn lists(&self, path: &str) -> usize {
        self.state.lock().lists.get(path).copied().unwrap_or(0)
    }

    pub(super) fn watches(&self, path: &str) -> usize {
        self.state.lock().watches.get(path).copied().unwrap_or(0)
    }

    /// Watches that are open now.
    pub(super) fn open(&self, path: &str) -> usize {
        self.state.lock().open.get(path).copied().unwrap_or(0)
    }

    pub(super) fn began(&self) -> Vec<u64> {
        self.state.lock().began.clone()
    }

    pub(super) fn stop(&self) {
        self.stop.stop.cancel();
        self.stop.cut.cancel();
    }

    fn list(&self, path: &str, query: &HashMap<String, String>) -> Response<Body> {
        let mut state = self.state.lock();
        let at: usize = query.get("continue").map_or(0, |token| token.parse().unwrap());
        if at == 0 {
            *state.lists.entry(path.to_owned()).or_default() += 1;
        } else if std::mem::take(&mut state.expire_token) {
            return status(410, "The provided continue parameter is too old");
        }
        let limit: usize = query.get("limit").map_or(usize::MAX, |limit| limit.parse().unwrap());
        let objects: Vec<_> = state.objects.get(path).into_iter().flat_map(BTreeMap::values).collect();
        let page: Vec<_> = objects.iter().skip(at).take(limit).collect();
        let mut metadata = json!({"resourceVersion": state.version.to_string()});
        if at + page.len() < objects.len() {
            metadata["continue"] = json!((at + page.len()).to_string());
        }
        full(200, json!({"metadata": metadata, "items": page}).to_string())
    }

    fn watch(self: &Arc<Self>, path: &str, query: &HashMap<String, String>) -> Response<Body> {
        let mut state = self.state.lock();
        *state.watches.entry(path.to_owned()).or_default() += 1;
        let from: u64 = query["resourceVersion"].parse().unwrap();
        state.began.push(from);
        if from < state.compacted {
            let status = json!({"kind": "Status", "code": 410, "message": "too old resource version"});
            return full(200, format!("{}\n", json!({"type": "ERROR", "object": status})));
        }
        *state.open.entry(path.to_owned()).or_default() += 1;
        let open = OpenWatch { api: Arc::clone(self), path: path.to_owned() };
        let old: Vec<_> = state
            .history
            .iter()
            .filter(|(version, of, _)| *version > from && of == path)
            .map(|(_, _, line)| line.clone())
            .collect();
        let news = self.news.subscribe();
        let cut = self.cut.subscribe();
        drop(state);
        let first = stream::iter(old.into_iter().map(|line| frame(&line)));
        let rest = stream::unfold((news, cut, open), |(mut news, mut cut, open)| async move {
            loop {
                tokio::select! {
                    biased;
                    line = news.recv() => {
                        let (_, of, line) = line.ok()?;
                        if of.is_empty() || of == open.path {
                            return Some((frame(&line), (news, cut, open)));
                        }
                    }
                    _ = cut.recv() => return None,
                }
            }
        });
        Response::new(BodyExt::boxed(StreamBody::new(first.chain(rest))))
    }
}

/// A watch that is open.
struct OpenWatch {
    api: Arc<Api>,
    path: String,
}

impl Drop for OpenWatch {
    fn drop(&mut self) {
        *self.api.state.lock().open.get_mut(&self.path).unwrap() -= 1;
    }
}

fn frame(line: &Value) -> Result<Frame<Bytes>, Infallible> {
    Ok(Frame::data(Bytes::from(format!("{line}\n"))))
}

fn full(status: u16, text: String) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(text)).boxed());
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
}

fn status(code: u16, message: &str) -> Response<Body> {
    full(code, json!({"kind": "Status", "code": code, "message": message}).to_string())
}

struct Handle(Arc<Api>);

impl Handler for Handle {
    type Body = Body;

    async fn handle(&self, request: Request<Incoming>, _: SocketAddr) -> Response<Body> {
        let path = request.uri().path().to_owned();
        let query = request.uri().query().unwrap_or_default();
        let query: HashMap<String, String> =
            url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let mood = self.0.state.lock().moods.get(&path).copied().unwrap_or_default();
        match mood {
            ServerMode::Silent => std::future::pending().await,
            ServerMode::Forbidden => status(403, "User \"sre\" cannot list resource"),
            ServerMode::Missing => status(404, "404 page not found"),
            ServerMode::Broken => status(500, "etcdserver: leader changed"),
            ServerMode::Well if query.contains_key("watch") => self.0.watch(&path, &query),
            ServerMode::Well => self.0.list(&path, &query),
        }
    }
}

/// A directory of one.
#[derive(Debug)]
pub(super) struct SingleTarget(pub(super) Arc<Api>);

#[async_trait]
impl Directory for SingleTarget {
    async fn find(&self, _: &ResourceId) -> Result<Arc<Target>, DirectoryError> {
        let target = self.0.target.lock().clone();
        target.filter(|_| self.0.known.load(Ordering::SeqCst)).ok_or(DirectoryError::Unknown)
    }
}
