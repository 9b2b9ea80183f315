//! The routers of simulated clusters: TLS with a self-signed certificate, and a page for each route.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rcgen::{CertificateParams, DnType, KeyPair};
use rp_base::{Secret, SharedClock, Timestamp, chain};
use rp_net::tls::{certificates, private_key, provider};
use rp_simulator::body::{self, Body};
use rp_simulator::fleet::Cluster;
use rp_simulator::objects::{self, View};
use rustls::ServerConfig;
use serde_json::Value;
use tokio::io::DuplexStream;
use tokio_rustls::TlsAcceptor;

use super::{RegionError, identity};

const HTTPS: u16 = 443;
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Whether a pod's port is a router's.
pub(super) fn is_router(namespace: &str, pod: &str, port: u16) -> bool {
    namespace == "openshift-ingress" && pod.starts_with("router-default-") && port == HTTPS
}

/// All routers of the region share one key, so that a browser may pin it.
#[derive(Debug)]
pub(super) struct Routers {
    key: KeyPair,
}

impl Routers {
    pub(super) fn new() -> Result<Self, RegionError> {
        Ok(Self { key: KeyPair::generate().map_err(RegionError::Router)? })
    }

    /// For every name below a cluster's ingress domain.
    fn acceptor(&self, domain: &str, now: Timestamp) -> Result<TlsAcceptor, RegionError> {
        let certificate = self.certificate(domain, now).map_err(RegionError::Router)?;
        let key = Secret::new(self.key.serialize_pem());
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| RegionError::Verifier(error.into()))?
            .with_no_client_auth()
            .with_single_cert(
                certificates(&certificate, "the routers' certificate")?,
                private_key(&key, "the routers' key")?,
            )
            .map_err(|error| RegionError::Verifier(error.into()))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }

    fn certificate(&self, domain: &str, now: Timestamp) -> Result<String, rcgen::Error> {
        let name = format!("*.apps.{domain}");
        let mut params = CertificateParams::new(vec![name.clone()])?;
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        (params.not_before, params.not_after) = identity::validity(now);
        Ok(params.self_signed(&self.key)?.pem())
    }

    /// Serves one connection.
    pub(super) async fn serve(&self, cluster: Cluster, clock: SharedClock, stream: DuplexStream) {
        let acceptor = match self.acceptor(&cluster.domain, clock.now()) {
            Ok(acceptor) => acceptor,
            Err(error) => {
                tracing::error!(error = %chain(&error), "a simulated router has no certificate");
                return;
            }
        };
        let Ok(Ok(tls)) = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await else { return };
        let service = service_fn(|request| {
            let response = answer(&View { cluster: &cluster, now: clock.now() }, &request);
            async move { Ok::<_, Infallible>(response) }
        });
        let served = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(tls), service);
        if let Err(error) = served.await {
            tracing::debug!(error = %chain(&error), "connection to a simulated router ended");
        }
    }
}

/// Answers for the route of that host; without one, with the error page of OpenShift's router.
fn answer(view: &View<'_>, request: &Request<Incoming>) -> Response<Body> {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let host = host.strip_suffix(":443").unwrap_or(host).to_ascii_lowercase();
    let routes = objects::find("route.openshift.io", "v1", "routes");
    let route = routes.and_then(|kind| {
        objects::all(kind, view).into_iter().find(|route| route["spec"]["host"].as_str() == Some(&host))
    });
    let (status, text) = match route {
        Some(route) => (StatusCode::OK, page(view, &route)),
        None => (
            StatusCode::SERVICE_UNAVAILABLE,
            "<!doctype html><title>Application is not available</title><h1>Application is not available</h1>"
                .to_owned(),
        ),
    };
    let mut response = Response::new(body::full(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert("x-aro-simulated", HeaderValue::from_static("true"));
    response
}

fn page(view: &View<'_>, route: &Value) -> String {
    let text = |pointer: &str| route.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let title = format!("{} of {} (simulated)", text("/metadata/name"), view.cluster.name);
    format!(
        "<!doctype html><html lang=\"en\"><title>{title}</title><h1>{title}</h1>\
         <p>Route {} of namespace {}.</p></html>",
        text("/metadata/name"),
        text("/metadata/namespace"),
    )
}
