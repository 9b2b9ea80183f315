//! Tests against an in-process TLS server that responds like an API server.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use http::StatusCode;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::ListParams;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rp_base::Secret;
use rp_documents::ResourceId;
use rp_net::listen::{Gauge, Handler, Limits, Listener, Stop};
use rp_net::tls::{ClientAuth, ServerFiles, ServerTls};
use rp_net::{DialerOptions, Networks, PrivateWay, Source, Stage};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::*;

const TOKEN: &str = "a-cluster-token";

/// How the server responds.
#[derive(Clone, Copy, PartialEq)]
enum ServerMode {
    Well,
    Silent,
    Long,
}

struct ApiServer {
    mood: ServerMode,
    wants_token: bool,
}

type Reply = Response<BoxBody<Bytes, Infallible>>;

fn reply(status: StatusCode, text: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Full::new(text.into()).boxed());
    *reply.status_mut() = status;
    reply
}

impl Handler for ApiServer {
    type Body = BoxBody<Bytes, Infallible>;

    async fn handle(&self, request: Request<Incoming>, _: SocketAddr) -> Reply {
        let authorization = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        if self.wants_token && authorization != Some("Bearer a-cluster-token") {
            let status = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","message":"no","code":401}"#;
            return reply(StatusCode::UNAUTHORIZED, status);
        }
        match (request.uri().path(), self.mood) {
            (_, ServerMode::Silent) => std::future::pending().await,
            (_, ServerMode::Long) => {
                let blanks = || Ok::<_, Infallible>(Frame::data(Bytes::from_static(&[b' '; 16384])));
                let stream = futures_util::stream::repeat_with(blanks).take(128);
                Response::new(BodyExt::boxed(StreamBody::new(stream)))
            }
            ("/base/api/v1/namespaces/n/pods", ServerMode::Well) => {
                let pod = |name: &str| format!(r#"{{"metadata":{{"name":"{name}"}}}}"#);
                let list = format!(
                    r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{}},"items":[{},{}]}}"#,
                    pod("a"),
                    pod("b")
                );
                reply(StatusCode::OK, list)
            }
            ("/base/api/v1/namespaces/n/pods/a/portforward", ServerMode::Well) => forward(request),
            (path, _) => reply(StatusCode::NOT_FOUND, path.to_owned()),
        }
    }
}

/// Port-forward by `v4.channel.k8s.io` to a service that echoes every byte in upper case.
fn forward(mut request: Request<Incoming>) -> Reply {
    let port: u16 = request.uri().query().unwrap().rsplit('=').next().unwrap().parse().unwrap();
    let key = derive_accept_key(request.headers()["sec-websocket-key"].as_bytes());
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        let io = TokioIo::new(upgrade.await.unwrap());
        let mut socket = WebSocketStream::from_raw_socket(io, Role::Server, None).await;
        for channel in [0u8, 1] {
            let [low, high] = port.to_le_bytes();
            socket.send(Message::binary(vec![channel, low, high])).await.unwrap();
        }
        while let Some(Ok(Message::Binary(data))) = socket.next().await {
            socket.send(Message::binary(data.to_ascii_uppercase())).await.unwrap();
        }
    });
    let mut reply = reply(StatusCode::SWITCHING_PROTOCOLS, "");
    for (name, value) in [
        ("connection", "Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-accept", key.as_str()),
        ("sec-websocket-protocol", "v4.channel.k8s.io"),
    ] {
        reply.headers_mut().insert(name, HeaderValue::from_str(value).unwrap());
    }
    reply
}

/// A running server and the target that points to it.
struct Server {
    target: Target,
    other_ca: String,
    stop: Stop,
    _files: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.stop.cancel();
        self.stop.cut.cancel();
    }
}

fn authority(name: &str) -> (String, Issuer<'static, KeyPair>) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    (params.self_signed(&key).unwrap().pem(), Issuer::new(params, key))
}

async fn server(mood: ServerMode, by_certificate: bool) -> Server {
    let (ca_pem, issuer) = authority("CA");
    let leaf = |names: Vec<String>| {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name.push(DnType::CommonName, "leaf");
        (params.signed_by(&key, &issuer).unwrap(), key.serialize_pem())
    };
    let (certificate, key) = leaf(vec!["kubernetes".to_owned()]);
    let (client, client_key) = leaf(Vec::new());
    let folder = tempfile::tempdir().unwrap();
    let files = ServerFiles { certificate: folder.path().join("crt"), key: folder.path().join("key") };
    std::fs::write(&files.certificate, certificate.pem()).unwrap();
    std::fs::write(&files.key, key).unwrap();
    let auth = if by_certificate { ClientAuth::Exactly(client.der().clone()) } else { ClientAuth::None };
    let tls = ServerTls::load(files, &[b"h2", b"http/1.1"], auth).unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = tcp.local_addr().unwrap();
    let stop = Stop::default();
    let handler = Arc::new(ApiServer { mood, wants_token: !by_certificate });
    let listener = Listener {
        tcp,
        tls: Some(tls),
        handler,
        limits: Limits::default(),
        gauge: Arc::new(Gauge::default()),
    };
    tokio::spawn(listener.serve(stop.clone()));
    let credential = if by_certificate {
        Credential::Certificate { chain_pem: client.pem(), key_pem: Secret::new(client_key) }
    } else {
        Credential::Token(Secret::new(TOKEN.to_owned()))
    };
    let target = Target {
        id: ResourceId::imported("c").unwrap(),
        source: Source::Imported,
        endpoint: Endpoint::Direct { url: format!("https://{address}/base").parse().unwrap() },
        server_name: "kubernetes".to_owned(),
        ca_pem,
        read: credential,
        admin: Credential::Token(Secret::new("another".to_owned())),
        as_groups: Vec::new(),
        ssh: None,
        fingerprint: 0,
    };
    Server { target, other_ca: authority("other").0, stop, _files: folder }
}

fn dialer() -> Dialer {
    Dialer::new(DialerOptions {
        private: PrivateWay::Direct,
        networks: Networks::new(vec!["127.0.0.0/8".parse().unwrap()], Vec::new()),
        keepalive: Duration::from_secs(30),
    })
}

fn reader(target: &Target, options: &ClientOptions) -> Client {
    client(dialer(), Arc::new(target.clone()), Identity::Read, options).unwrap()
}

async fn names(client: Client) -> Result<Vec<String>, kube::Error> {
    let pods: Api<Pod> = Api::namespaced(client, "n");
    Ok(pods.list(&ListParams::default()).await?.into_iter().filter_map(|pod| pod.metadata.name).collect())
}

#[tokio::test]
async fn lists_with_a_token_under_a_base_path() {
    let server = server(ServerMode::Well, false).await;
    assert_eq!(names(reader(&server.target, &ClientOptions::default())).await.unwrap(), ["a", "b"]);
    let target = Arc::new(server.target.clone());
    let other = client(dialer(), target, Identity::Admin, &ClientOptions::default()).unwrap();
    assert!(matches!(names(other).await.unwrap_err(), kube::Error::Api(status) if status.code == 401));
}

#[tokio::test]
async fn lists_with_a_client_certificate() {
    let server = server(ServerMode::Well, true).await;
    assert_eq!(names(reader(&server.target, &ClientOptions::default())).await.unwrap(), ["a", "b"]);
}

#[tokio::test]
async fn another_authority_or_name_is_a_dial_error_of_the_cluster() {
    let server = server(ServerMode::Well, false).await;
    let mut wrong = server.target.clone();
    wrong.ca_pem.clone_from(&server.other_ca);
    let mut renamed = server.target.clone();
    renamed.server_name = "api.example".to_owned();
    for target in [wrong, renamed] {
        let error = names(reader(&target, &ClientOptions::default())).await.unwrap_err();
        let dial = dial_error(&error).expect("a dial error in the chain");
        assert_eq!((dial.stage, dial.side), (Stage::Tls, rp_documents::Side::Cluster));
    }
}

#[tokio::test]
async fn forwards_a_port() {
    let server = server(ServerMode::Well, false).await;
    let client = reader(&server.target, &ClientOptions::default());
    let mut stream = crate::port_forward(&client, "n", "a", 9090).await.unwrap();
    stream.write_all(b"hello").await.unwrap();
    let mut back = [0u8; 5];
    stream.read_exact(&mut back).await.unwrap();
    assert_eq!(&back, b"HELLO");
}

#[tokio::test]
async fn a_silent_cluster_and_a_long_answer_are_bounded() {
    let silent = server(ServerMode::Silent, false).await;
    let options = ClientOptions { head: Duration::from_millis(50), ..ClientOptions::default() };
    let error = names(reader(&silent.target, &options)).await.unwrap_err();
    assert!(rp_base::chain(&error).to_string().contains("did not answer"), "{}", rp_base::chain(&error));

    let long = server(ServerMode::Long, false).await;
    let options = ClientOptions { answer_bytes: 1024 * 1024, ..ClientOptions::default() };
    let error = names(reader(&long.target, &options)).await.unwrap_err();
    assert!(rp_base::chain(&error).to_string().contains("length limit"), "{}", rp_base::chain(&error));
}

#[tokio::test]
async fn a_program_that_is_silent_does_not_end_the_log_that_is_followed() {
    let silent = server(ServerMode::Silent, false).await;
    let options = ClientOptions { head: Duration::from_millis(20), ..ClientOptions::default() };
    let client = reader(&silent.target, &options);
    let log = async |query: &str| {
        let request =
            Request::get(format!("/api/v1/namespaces/n/pods/a/log?{query}")).body(Vec::new()).unwrap();
        tokio::time::timeout(Duration::from_millis(200), client.request_text(request)).await
    };
    assert!(log("follow=true").await.is_err(), "it is still waited for");
    let error = log("limitBytes=1").await.unwrap().unwrap_err();
    assert!(rp_base::chain(&error).to_string().contains("did not answer"), "{}", rp_base::chain(&error));
}

#[test]
fn knows_what_has_no_end() {
    let request = |uri: &str| Request::builder().uri(uri).body(Body::empty()).unwrap();
    assert!(is_endless(&request("/api/v1/pods?watch=true&resourceVersion=1")));
    assert!(is_endless(&request("/api/v1/namespaces/n/pods/a/log?&follow=true")));
    assert!(!is_endless(&request("/api/v1/pods?labelSelector=watch%3Dtrue")));
}
