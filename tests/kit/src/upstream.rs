//! Clusters that misbehave: TLS servers in the test process, to be imported.

use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use parking_lot::Mutex;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;

use crate::control_plane::kubeconfig;
use crate::{Authority, Folder};

/// What an upstream does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Behaviour {
    /// Answers with what it got, as JSON, and with these headers added.
    Echo(Vec<(&'static str, &'static str)>),
    /// Takes the request and never answers.
    Silent,
    /// Takes the request and answers once it is released.
    Held,
    /// Sends half an answer, and cuts once it is released.
    Cut,
    /// Watches get one event and stay open; HTTP/2 with that many streams a connection.
    Watch(u32),
    /// HTTP/2; each connection says GOAWAY at its first request, which it still answers.
    GoAway,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Received {
    pub method: Method,
    /// Path and query, byte for byte.
    pub target: String,
    pub headers: HeaderMap,
}

type Body = UnsyncBoxBody<Bytes, io::Error>;

#[derive(Debug)]
struct State {
    behaviour: Behaviour,
    received: Mutex<Vec<Received>>,
    connections: AtomicUsize,
    released: tokio::sync::watch::Sender<bool>,
}

/// A running server.
#[derive(Debug)]
pub struct Upstream {
    authority: Authority,
    url: String,
    state: Arc<State>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Upstream {
    /// Starts it on a free port.
    ///
    /// # Errors
    /// No port, no certificate.
    pub async fn start(behaviour: Behaviour) -> Result<Self> {
        let authority = Authority::new("upstream")?;
        let pair = authority.server(&["127.0.0.1"])?;
        let certificate = CertificateDer::from_pem_slice(pair.certificate.as_bytes())?;
        let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes())?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut tls = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)?;
        tls.alpn_protocols = match behaviour {
            Behaviour::Watch(_) | Behaviour::GoAway => vec![b"h2".to_vec()],
            Behaviour::Echo(_) | Behaviour::Silent | Behaviour::Held | Behaviour::Cut => {
                vec![b"http/1.1".to_vec()]
            }
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("https://{}", listener.local_addr()?);
        let state = Arc::new(State {
            behaviour,
            received: Mutex::default(),
            connections: AtomicUsize::new(0),
            released: tokio::sync::watch::channel(false).0,
        });
        let task = tokio::spawn(accept(listener, TlsAcceptor::from(Arc::new(tls)), Arc::clone(&state)));
        Ok(Self { authority, url, state, task })
    }

    /// A kubeconfig for it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn kubeconfig(&self, folder: &Folder, name: &str) -> Result<PathBuf> {
        self.kubeconfig_trusting(folder, name, &self.authority)
    }

    /// A kubeconfig for it that trusts somebody else.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn kubeconfig_trusting(&self, folder: &Folder, name: &str, authority: &Authority) -> Result<PathBuf> {
        let user = json!({ "token": "token-of-the-upstream" });
        folder.write(&format!("{name}.kubeconfig"), kubeconfig(&self.url, authority.pem(), &user))
    }

    /// Lets [`Behaviour::Held`] answer and [`Behaviour::Cut`] cut.
    pub fn release(&self) {
        self.state.released.send_replace(true);
    }

    /// Everything it got so far.
    pub fn received(&self) -> Vec<Received> {
        self.state.received.lock().clone()
    }

    /// What was passed on to it for clients so far: all but what `aro` asks on its own account, as for a page of the
    /// cluster. A client's `User-Agent` is passed on as it is, so that `aro`'s name is no client's.
    pub fn passed_on(&self) -> Vec<Received> {
        let own = |got: &Received| {
            let agent = got.headers.get(http::header::USER_AGENT).and_then(|agent| agent.to_str().ok());
            agent
                .and_then(|agent| agent.strip_prefix("aro"))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '/']))
        };
        let mut received = self.received();
        received.retain(|got| !own(got));
        received
    }

    /// Connections so far.
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }
}

async fn accept(listener: TcpListener, tls: TlsAcceptor, state: Arc<State>) {
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((tcp, _)) = listener.accept().await {
        connections.spawn(serve(tcp, tls.clone(), Arc::clone(&state)));
    }
}

async fn serve(tcp: TcpStream, tls: TlsAcceptor, state: Arc<State>) {
    let Ok(stream) = tls.accept(tcp).await else { return };
    state.connections.fetch_add(1, Ordering::SeqCst);
    let leave = Arc::new(Notify::new());
    let service = service_fn(|request| answer(request, Arc::clone(&state), Arc::clone(&leave)));
    let mut builder = auto::Builder::new(TokioExecutor::new());
    if let Behaviour::Watch(streams) = state.behaviour {
        builder.http2().max_concurrent_streams(streams);
    }
    let mut connection = pin!(builder.serve_connection_with_upgrades(TokioIo::new(stream), service));
    tokio::select! {
        _ = &mut connection => return,
        () = leave.notified() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

async fn answer(
    request: Request<Incoming>,
    state: Arc<State>,
    leave: Arc<Notify>,
) -> Result<Response<Body>, Infallible> {
    let target = request.uri().path_and_query().map_or_else(String::new, ToString::to_string);
    let got = Received {
        method: request.method().clone(),
        target: target.clone(),
        headers: request.headers().clone(),
    };
    let echo = echo(&got);
    state.received.lock().push(got);
    Ok(match &state.behaviour {
        Behaviour::Echo(extra) => {
            let mut response = whole(StatusCode::OK, echo);
            for (name, value) in extra {
                response.headers_mut().append(*name, http::HeaderValue::from_static(value));
            }
            response
        }
        Behaviour::Silent => std::future::pending().await,
        Behaviour::Held => {
            let _ = state.released.subscribe().wait_for(|released| *released).await;
            whole(StatusCode::OK, echo)
        }
        Behaviour::Cut => {
            let first = Ok(Frame::data(Bytes::from_static(b"{\"kind\":\"PodList\",\"items\":[")));
            let mut released = state.released.subscribe();
            let cut = async move {
                let _ = released.wait_for(|released| *released).await;
                Err(io::Error::other("cut"))
            };
            stream(futures_util::stream::iter([first]).chain(futures_util::stream::once(cut)))
        }
        Behaviour::Watch(_) if target.contains("watch=") => {
            let event = json!({ "type": "ADDED", "object": { "kind": "Pod", "apiVersion": "v1",
                "metadata": { "name": "first", "resourceVersion": "1" } } });
            let first = Ok(Frame::data(Bytes::from(format!("{event}\n"))));
            stream(futures_util::stream::iter([first]).chain(futures_util::stream::pending()))
        }
        Behaviour::Watch(_) => whole(StatusCode::OK, echo),
        Behaviour::GoAway => {
            leave.notify_one();
            whole(StatusCode::OK, echo)
        }
    })
}

fn echo(got: &Received) -> String {
    let headers: Vec<(String, String)> = got
        .headers
        .iter()
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    json!({ "kind": "Echo", "method": got.method.as_str(), "target": got.target, "headers": headers })
        .to_string()
}

fn whole(status: StatusCode, text: String) -> Response<Body> {
    let body = Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed_unsync();
    json_response(status, body)
}

fn stream(
    frames: impl futures_util::Stream<Item = io::Result<Frame<Bytes>>> + Send + 'static,
) -> Response<Body> {
    json_response(StatusCode::OK, StreamBody::new(frames).boxed_unsync())
}

fn json_response(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, json);
    response
}
