//! A client that connects as the product does: dialer, CONNECT, mTLS, HTTP.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rp_base::{Clock as _, Secret, SharedClock, SystemClock};
use rp_documents::ResourceId;
use rp_net::listen::Stop;
use rp_net::tls::{client_config, connect};
use rp_net::{
    ConnectProxy, Credential, DialError, Dialer, DialerOptions, Endpoint, Networks, Port, PrivateWay, Source,
    Stream, Target,
};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_rustls::client::TlsStream;

use rp_simulator::fleet::Faults;
use rp_simulator::installed::CertificatePair;

use crate::{Region, RegionIdentity, RegionOptions};

pub(super) const DEADLINE: Duration = Duration::from_secs(30);

pub(super) struct Bench {
    pub region: Region,
    pub identity: RegionIdentity,
    pub stop: Stop,
    dialer: Dialer,
    _folder: TempDir,
}

fn credential(pair: &CertificatePair) -> Credential {
    Credential::Certificate { chain_pem: pair.certificate.clone(), key_pem: pair.key.clone() }
}

impl Bench {
    pub(super) async fn new() -> Self {
        Self::at(None, Arc::new(SystemClock)).await
    }

    pub(super) async fn at(faults: Option<Faults>, clock: SharedClock) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let identity = RegionIdentity::open_or_create(folder.path(), SystemClock.now()).unwrap();
        let stop = Stop::default();
        let region = Region::start(RegionOptions {
            listener: TcpListener::bind("127.0.0.1:0").await.unwrap(),
            identity: identity.clone(),
            clusters: 60,
            seed: 7,
            locations: Vec::new(),
            faults,
            clock,
            tick: Duration::from_millis(10),
            stop: stop.clone(),
        })
        .unwrap();
        let tls =
            client_config(&identity.ca, Some(&credential(&identity.proxy_client)), &[b"http/1.1"]).unwrap();
        let proxy = ConnectProxy {
            address: region.address().to_string(),
            server_name: "proxy".try_into().unwrap(),
            tls: Arc::new(tls),
        };
        let dialer = Dialer::new(DialerOptions {
            private: PrivateWay::Connect(proxy),
            networks: Networks::default(),
            keepalive: Duration::from_secs(30),
        });
        Self { region, identity, stop, dialer, _folder: folder }
    }

    pub(super) async fn dial(&self, ip: IpAddr, deadline: Duration) -> Result<Stream, DialError> {
        let target = Target {
            id: ResourceId::imported("x").unwrap(),
            source: Source::Aro,
            endpoint: Endpoint::Private { ip },
            server_name: "kubernetes".to_owned(),
            ca_pem: String::new(),
            read: Credential::Token(Secret::new(String::new())),
            admin: Credential::Token(Secret::new(String::new())),
            as_groups: Vec::new(),
            ssh: None,
            fingerprint: 0,
        };
        self.dialer.dial(&target, Port::Api, deadline).await
    }

    /// TLS with a cluster's API server.
    pub(super) async fn tls(
        &self,
        index: usize,
        pair: Option<&CertificatePair>,
        alpn: &[u8],
    ) -> TlsStream<Stream> {
        let ip = self.region.private_ip(index).unwrap();
        let stream = self.dial(ip.into(), DEADLINE).await.unwrap();
        let credential = pair.map(credential);
        let config = client_config(&self.identity.ca, credential.as_ref(), &[alpn]).unwrap();
        connect(Arc::new(config), "kubernetes".try_into().unwrap(), stream).await.unwrap()
    }

    /// One request by HTTP/2.
    pub(super) async fn send(
        &self,
        index: usize,
        pair: &CertificatePair,
        request: Request<Full<Bytes>>,
    ) -> Response<Incoming> {
        let stream = self.tls(index, Some(pair), b"h2").await;
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let response = sender.send_request(request).await.unwrap();
        assert_eq!(response.headers()["x-aro-simulated"], "true");
        response
    }

    /// One request to whatever answers at an address, by a client with its own authority.
    pub(super) async fn send_to(
        &self,
        ip: IpAddr,
        authority: &str,
        pair: &CertificatePair,
        request: Request<Full<Bytes>>,
    ) -> Response<Incoming> {
        let stream = self.dial(ip, DEADLINE).await.unwrap();
        let config = client_config(authority, Some(&credential(pair)), &[b"h2"]).unwrap();
        let name = "api.mine.example".try_into().unwrap();
        let stream = connect(Arc::new(config), name, stream).await.unwrap();
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        sender.send_request(request).await.unwrap()
    }

    /// GET as the read-only identity.
    pub(super) async fn get(&self, index: usize, path: &str) -> (u16, Value) {
        json(self.send(index, &self.identity.sre, ask("GET", path).body(Full::default()).unwrap()).await)
            .await
    }
}

pub(super) fn ask(method: &str, path: &str) -> http::request::Builder {
    Request::builder().method(method).uri(format!("https://kubernetes:6443{path}"))
}

pub(super) async fn json(response: Response<Incoming>) -> (u16, Value) {
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into()))
}
