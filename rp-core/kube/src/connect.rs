//! A Kubernetes client whose connections are made by our dialer.
//!
//! The name in the URL is never resolved: where the connection goes, which authorities are trusted and
//! which credential is sent all come from the [`Target`].

#[cfg(test)]
mod tests;

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::{AUTHORIZATION, InvalidHeaderValue, UPGRADE, USER_AGENT};
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::Limited;
use hyper::body::Incoming;
use hyper_util::client::legacy::Client as Legacy;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use kube::client::middleware::BaseUriLayer;
use kube::client::{Body, Client};
use rp_net::tls::{self, TlsError};
use rp_net::{Credential, DialError, Dialer, Endpoint, Port, Stream, Target};
use rustls::ClientConfig;
use rustls::pki_types::{InvalidDnsNameError, ServerName};
use tokio_rustls::client::TlsStream;
use tower::{BoxError, Service, ServiceBuilder};
use tower_http::timeout::TimeoutBody;

/// Which of a target's two credentials is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    Read,
    Admin,
}

/// Limits and timeouts of one client.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// For dialling and the TLS handshake together.
    pub dial: Duration,
    /// Timeout from the request to the response head. A followed log has `stream_silence`.
    pub head: Duration,
    /// Longest pause inside the body of an ordinary response.
    pub silence: Duration,
    /// Longest pause inside a watch or a followed log.
    pub stream_silence: Duration,
    /// Largest ordinary response, bytes; watches, followed logs and upgrades are not limited in size.
    pub answer_bytes: usize,
    /// Idle connections kept.
    pub idle_connections: usize,
    /// Namespace of requests that name none.
    pub namespace: String,
    /// `User-Agent` of every request.
    pub user_agent: String,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            dial: Duration::from_secs(10),
            head: Duration::from_secs(30),
            silence: Duration::from_secs(30),
            stream_silence: Duration::from_secs(15 * 60),
            answer_bytes: 64 * 1024 * 1024,
            idle_connections: 4,
            namespace: "default".to_owned(),
            user_agent: "aro".to_owned(),
        }
    }
}

/// Why no client could be made: the stored data of the target cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("the target's certificates or key cannot be used")]
    Tls(#[source] TlsError),
    #[error("the target's server name is neither a host name nor an address")]
    ServerName(#[source] InvalidDnsNameError),
    #[error("the target's address is not a URL")]
    Address(#[source] http::uri::InvalidUri),
    #[error("the target's token or the user agent cannot stand in a header")]
    Header(#[source] InvalidHeaderValue),
}

/// A client for one target. Call it once and clone the client; it is built for the target as it is
/// now, so build another when [`Target::fingerprint`] changes.
///
/// # Errors
/// [`ClientError`]; nothing is dialled yet. A failed dial is a [`DialError`] in the source chain of
/// the request's error.
pub fn client(
    dialer: Dialer,
    target: Arc<Target>,
    identity: Identity,
    options: &ClientOptions,
) -> Result<Client, ClientError> {
    let credential = match identity {
        Identity::Read => &target.read,
        Identity::Admin => &target.admin,
    };
    let authorization = match credential {
        Credential::Token(token) => Some(bearer(token.expose())?),
        Credential::Certificate { .. } => None,
    };
    // HTTP/1.1 only: the upgrade for port-forward does not work over HTTP/2.
    let tls =
        tls::client_config(&target.ca_pem, Some(credential), &[b"http/1.1"]).map_err(ClientError::Tls)?;
    assemble(dialer, target, Arc::new(tls), authorization, options)
}

/// The client over a TLS configuration that may be shared, so that sessions resume.
pub(crate) fn assemble(
    dialer: Dialer,
    target: Arc<Target>,
    tls: Arc<ClientConfig>,
    authorization: Option<HeaderValue>,
    options: &ClientOptions,
) -> Result<Client, ClientError> {
    let server_name = ServerName::try_from(target.server_name.clone()).map_err(ClientError::ServerName)?;
    let base = base_uri(&target)?;
    let connector = Connector { dialer, target, tls, server_name, deadline: options.dial };
    let wire = Legacy::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(Duration::from_secs(60))
        .pool_max_idle_per_host(options.idle_connections)
        .build(connector);
    let bounded = BoundedService {
        wire,
        authorization,
        user_agent: HeaderValue::from_str(&options.user_agent).map_err(ClientError::Header)?,
        options: Arc::new(options.clone()),
    };
    let service = ServiceBuilder::new().layer(BaseUriLayer::new(base)).service(bounded);
    Ok(Client::new(service, options.namespace.clone()))
}

pub(crate) fn bearer(token: &str) -> Result<HeaderValue, ClientError> {
    let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(ClientError::Header)?;
    value.set_sensitive(true);
    Ok(value)
}

/// Behind a private endpoint the API server is called by its certificate's name (`contract/portal.md` §11.3).
pub(crate) fn base_uri(target: &Target) -> Result<Uri, ClientError> {
    let text = match &target.endpoint {
        Endpoint::Private { .. } => format!("https://{}:6443/", target.server_name),
        Endpoint::Direct { url } => url.as_str().to_owned(),
    };
    text.parse().map_err(ClientError::Address)
}

/// Adds the credential and bounds every response in time and size.
#[derive(Clone)]
struct BoundedService {
    wire: Legacy<Connector, Body>,
    authorization: Option<HeaderValue>,
    user_agent: HeaderValue,
    options: Arc<ClientOptions>,
}

/// The response head did not arrive in time.
#[derive(Debug, thiserror::Error)]
#[error("the cluster did not answer within {} s", .0.as_secs())]
pub struct HeadTimeout(Duration);

type BoundedResponse = Response<TimeoutBody<Limited<Incoming>>>;

impl Service<Request<Body>> for BoundedService {
    type Response = BoundedResponse;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<BoundedResponse, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        // The pool takes any number of calls; kube's buffer in front of us bounds them.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert(AUTHORIZATION, authorization.clone());
        }
        request.headers_mut().insert(USER_AGENT, self.user_agent.clone());
        let endless = is_endless(&request);
        let head = if follows_log(&request) { self.options.stream_silence } else { self.options.head };
        let (wire, options) = (self.wire.clone(), Arc::clone(&self.options));
        Box::pin(async move {
            let answer = tokio::time::timeout(head, wire.request(request)).await;
            let answer = answer.map_err(|_| HeadTimeout(head))??;
            let (silence, most) = if endless {
                (options.stream_silence, usize::MAX)
            } else {
                (options.silence, options.answer_bytes)
            };
            Ok(answer.map(|body| TimeoutBody::new(silence, Limited::new(body, most))))
        })
    }
}

/// A watch, a followed log or an upgrade: its response has no end of its own.
fn is_endless(request: &Request<Body>) -> bool {
    request.headers().contains_key(UPGRADE)
        || follows_log(request)
        || has_parameter(request, &["watch=true", "watch=1", "sendInitialEvents=true"])
}

/// A log that is followed: even the head of the response comes with the program's next line only, for a kubelet sends none
/// before.
fn follows_log(request: &Request<Body>) -> bool {
    has_parameter(request, &["follow=true", "follow=1"])
}

/// Whether the query has one of these pairs.
fn has_parameter(request: &Request<Body>, any: &[&str]) -> bool {
    request.uri().query().is_some_and(|query| query.split('&').any(|pair| any.contains(&pair)))
}

/// Dials the target, whatever the URL's host says.
#[derive(Clone)]
struct Connector {
    dialer: Dialer,
    target: Arc<Target>,
    tls: Arc<ClientConfig>,
    server_name: ServerName<'static>,
    deadline: Duration,
}

impl Connector {
    async fn connect(self) -> Result<Link, DialError> {
        let stream = self.dialer.dial(&self.target, Port::Api, self.deadline).await?;
        let tls = tls::connect(self.tls, self.server_name, stream).await?;
        Ok(Link(TokioIo::new(tls)))
    }
}

impl Service<Uri> for Connector {
    type Response = Link;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Link, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move {
            let deadline = connector.deadline;
            match tokio::time::timeout(deadline, connector.connect()).await {
                Ok(link) => link.map_err(BoxError::from),
                Err(_) => Err(DialError::new(
                    rp_documents::Side::Cluster,
                    rp_net::Stage::Tls,
                    io::Error::new(io::ErrorKind::TimedOut, "no TLS handshake before the deadline"),
                )
                .into()),
            }
        })
    }
}

/// One connection with the traits that hyper requires.
struct Link(TokioIo<TlsStream<Stream>>);

impl Connection for Link {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl hyper::rt::Read for Link {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl hyper::rt::Write for Link {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, data)
    }
}

/// The dial error behind a failed request, where there is one: which side failed and at which stage.
pub fn dial_error(error: &kube::Error) -> Option<&DialError> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref::<DialError>() {
            return Some(found);
        }
        cause = error.source();
    }
    None
}

/// The HTTP status of the API server's refusal, where there is one.
pub fn api_status(error: &kube::Error) -> Option<u16> {
    match error {
        kube::Error::Api(status) => Some(status.code),
        kube::Error::UpgradeConnection(kube::client::UpgradeConnectionError::ProtocolSwitch(status)) => {
            Some(status.as_u16())
        }
        _ => None,
    }
}
