//! A cluster that takes every upgrade: an API server's answer without one behind it, so that a million cost what our own
//! side costs.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tests_kit::Authority;
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// Its name under the portals.
const NAME: &str = "takes-upgrades";
/// The answer to everything else; it says yes to every review.
const OBJECT: &[u8] = b"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"status\":{\"allowed\":true}}";
/// Headers of a handshake that its answer repeats.
const REPEATED: [HeaderName; 3] =
    [header::UPGRADE, header::SEC_WEBSOCKET_PROTOCOL, HeaderName::from_static("x-stream-protocol-version")];

/// A TLS listener on 127.0.0.1; it ends with this.
#[derive(Debug)]
pub(super) struct UpgradingCluster {
    address: SocketAddr,
    authority: Authority,
    accepting: JoinHandle<()>,
}

impl Drop for UpgradingCluster {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl UpgradingCluster {
    /// # Errors
    /// There is no port, or no certificate.
    pub(super) async fn start() -> Result<Self> {
        let authority = Authority::new("upgrades")?;
        let pair = authority.server(&["127.0.0.1"])?;
        let chain = vec![CertificateDer::from_pem_slice(pair.certificate.as_bytes())?];
        let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes())?;
        let mut tls = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let accepting = tokio::spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                // Who leaves in the middle is an error here and none of ours.
                tokio::spawn(serve(acceptor.clone(), tcp));
            }
        });
        Ok(Self { address, authority, accepting })
    }

    /// The body of its import.
    pub(super) fn import(&self) -> Value {
        let ca = STANDARD.encode(self.authority.pem());
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "context",
            "clusters": [{ "name": "cluster", "cluster": {
                "server": format!("https://{}", self.address), "certificate-authority-data": ca } }],
            "users": [{ "name": "user", "user": { "token": "it-asks-nobody" } }],
            "contexts": [{ "name": "context", "context": { "cluster": "cluster", "user": "user" } }],
        });
        json!({ "name": NAME, "kubeconfig": kubeconfig.to_string(), "as_groups": ["system:masters"] })
    }
}

async fn serve(acceptor: TlsAcceptor, tcp: TcpStream) -> Result<()> {
    tcp.set_nodelay(true)?;
    // A reset in place of a polite end: no port waits a minute for a connection that is over.
    tcp.set_zero_linger()?;
    let tls = acceptor.accept(tcp).await?;
    let served =
        http1::Builder::new().serve_connection(TokioIo::new(tls), service_fn(answer)).with_upgrades();
    Ok(served.await?)
}

async fn answer(mut request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    if !request.headers().contains_key(header::UPGRADE) {
        let mut response = Response::new(Full::new(Bytes::from_static(OBJECT)));
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        return Ok(response);
    }
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    for name in REPEATED {
        if let Some(value) = request.headers().get(&name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        let mut stream = TokioIo::new(upgrade.await?);
        let mut buffer = [0; 256];
        // Takes what comes, to its end.
        while stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
        Ok::<_, hyper::Error>(())
    });
    Ok(response)
}
