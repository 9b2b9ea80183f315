//! The listener of one cluster: on loopback, with TLS, for programs that send this run's token.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{self, HeaderValue};
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use reqwest::Body;
use rp_base::{Random as _, Secret, SystemRandom};
use rustls::crypto::aws_lc_rs;
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::json;
use subtle::ConstantTimeEq as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;

use super::upstream::Upstream;
use crate::CliError;

/// Connections to one cluster at once.
const MOST_CONNECTIONS: usize = 256;
/// Time for a handshake, and for the head of a request.
const SAID_WITHIN: Duration = Duration::from_secs(10);

/// Certificate and token of a run. The key is in memory only.
pub(super) struct LocalTls {
    acceptor: TlsAcceptor,
    /// The certificate, which kubeconfigs trust; PEM.
    pub(super) authority: String,
    pub(super) token: Secret<String>,
}

impl LocalTls {
    /// Makes both.
    pub(super) fn new() -> Result<Self, CliError> {
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        let made = rcgen::generate_simple_self_signed(names)
            .map_err(|error| CliError::Tls(rustls::Error::General(error.to_string())))?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let mut config = rustls::ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(CliError::Tls)?
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .map_err(CliError::Tls)?;
        // Upgrades need it.
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let mut token = [0; 32];
        SystemRandom.fill(&mut token);
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            authority: made.cert.pem(),
            token: Secret::new(URL_SAFE_NO_PAD.encode(token)),
        })
    }
}

/// A listener that is open.
pub(super) struct LocalServer {
    listener: TcpListener,
    pub(super) address: SocketAddr,
    door: Arc<Door>,
}

/// What decides about a request, and where it goes.
struct Door {
    tls: Arc<LocalTls>,
    /// What `Host` may say.
    hosts: [String; 2],
    upstream: Arc<Upstream>,
}

impl LocalServer {
    /// Port 0: any that is free.
    pub(super) async fn open(port: u16, tls: Arc<LocalTls>, upstream: Upstream) -> Result<Self, CliError> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let failed = |cause| CliError::Listen { address, cause };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let hosts = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", address.port()));
        Ok(Self { listener, address, door: Arc::new(Door { tls, hosts, upstream: Arc::new(upstream) }) })
    }

    /// Serves connections, for ever.
    pub(super) async fn serve(self) {
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        while let Ok(place) = Arc::clone(&places).acquire_owned().await {
            match self.listener.accept().await {
                Ok((tcp, _)) => {
                    tokio::spawn(connection(tcp, Arc::clone(&self.door), Arc::new(place)));
                }
                // Possibly out of file descriptors; try again shortly.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }
}

/// Serves one connection. Its errors are those of a program that leaves, and are told to nobody.
async fn connection(tcp: TcpStream, door: Arc<Door>, place: Arc<OwnedSemaphorePermit>) {
    let _ = tcp.set_nodelay(true);
    let handshake = tokio::time::timeout(SAID_WITHIN, door.tls.acceptor.accept(tcp));
    let Ok(Ok(stream)) = handshake.await else { return };
    let service = service_fn(move |request: Request<Incoming>| {
        let (door, place) = (Arc::clone(&door), Arc::clone(&place));
        async move { Ok::<_, std::convert::Infallible>(door.answer(request, place).await) }
    });
    let mut server = hyper::server::conn::http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(SAID_WITHIN);
    let _ = server.serve_connection(TokioIo::new(stream), service).with_upgrades().await;
}

impl Door {
    async fn answer(&self, request: Request<Incoming>, place: Arc<OwnedSemaphorePermit>) -> Response<Body> {
        if !self.is_addressed(&request) {
            let why = "This listener is for 127.0.0.1 and localhost: the request names another host.";
            return refusal(StatusCode::MISDIRECTED_REQUEST, "Forbidden", why);
        }
        if !self.has_token(&request) {
            let why = "This listener is for the kubeconfig that aro proxy local wrote: its token is missing.";
            return refusal(StatusCode::UNAUTHORIZED, "Unauthorized", why);
        }
        match self.upstream.forward(request, place).await {
            Ok(response) => response,
            Err(error @ CliError::Usage(_)) => {
                refusal(StatusCode::BAD_REQUEST, "BadRequest", &format!("aro proxy local: {error}."))
            }
            Err(error) => {
                let status = StatusCode::BAD_GATEWAY;
                refusal(status, "ServiceUnavailable", &format!("aro proxy local: {error}."))
            }
        }
    }

    /// Against pages whose name was pointed at this machine (DNS rebinding): every host that is named must be ours.
    fn is_addressed(&self, request: &Request<Incoming>) -> bool {
        let ours = |host: &[u8]| self.hosts.iter().any(|ours| host.eq_ignore_ascii_case(ours.as_bytes()));
        let mut hosts = request.headers().get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
        let named = request.uri().authority().is_none_or(|named| ours(named.as_str().as_bytes()));
        named && ours(host.as_bytes())
    }

    fn has_token(&self, request: &Request<Incoming>) -> bool {
        let mut shown = request.headers().get_all(header::AUTHORIZATION).iter();
        let (Some(shown), None) = (shown.next(), shown.next()) else { return false };
        let token = shown.as_bytes().split_at_checked("Bearer ".len());
        token.is_some_and(|(scheme, token)| {
            scheme.eq_ignore_ascii_case(b"Bearer ") && token.ct_eq(self.tls.token.expose().as_bytes()).into()
        })
    }
}

/// A refusal of this program, as a `Status` that kubectl shows.
fn refusal(status: StatusCode, reason: &str, message: &str) -> Response<Body> {
    let told = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": status.as_u16(),
    });
    let mut response = Response::new(Body::from(told.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Connection, Format};
    use crate::profile::Profile;

    /// A listener for a cluster whose grant nobody is signed in for.
    async fn listener(folder: &std::path::Path) -> (LocalServer, Arc<LocalTls>) {
        let connection = Connection {
            portal: None,
            profile: None,
            token_file: None,
            session_cookie_file: None,
            ca_file: None,
            config_dir: Some(folder.to_owned()),
            output: Format::Table,
        };
        let profile = Profile::named(Some(folder), Some("lab")).unwrap();
        let server = "https://127.0.0.1:9/a/kubeconfig/proxy";
        let upstream = Upstream::new(server, None, "g-1".to_owned(), connection, profile).unwrap();
        let tls = Arc::new(LocalTls::new().unwrap());
        (LocalServer::open(0, Arc::clone(&tls), upstream).await.unwrap(), tls)
    }

    #[tokio::test]
    async fn a_request_needs_the_token_and_a_host_of_this_machine() {
        let folder = tempfile::tempdir().unwrap();
        let (server, tls) = listener(folder.path()).await;
        let address = server.address;
        assert!(address.ip().is_loopback());
        tokio::spawn(server.serve());
        let trusted = crate::tls::config(Some(&tls.authority)).unwrap();
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(trusted)
            .no_proxy()
            .http1_only()
            .build()
            .unwrap();
        let ask = async |host: &str, token: &str| {
            let request = client.get(format!("https://{address}/version"));
            let request = request.header(header::HOST, host).header(header::AUTHORIZATION, token);
            let answer = request.send().await.unwrap();
            (answer.status().as_u16(), answer.text().await.unwrap())
        };
        let ours = address.to_string();
        let named = format!("LOCALHOST:{}", address.port());
        let good = format!("Bearer {}", tls.token.expose());
        for (host, token, status, says) in [
            ("evil.example", good.as_str(), 421, "names another host"),
            ("127.0.0.1", good.as_str(), 421, "names another host"),
            (ours.as_str(), "Bearer guessed", 401, "its token is missing"),
            (ours.as_str(), "Basic x", 401, "its token is missing"),
            (ours.as_str(), good.as_str(), 502, "not signed in"),
            (named.as_str(), good.as_str(), 502, "not signed in"),
        ] {
            let (found, text) = ask(host, token).await;
            assert!(found == status && text.contains(says), "{host} {found} {text}");
        }
    }
}
