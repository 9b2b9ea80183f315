//! The front: one listener, two host names. The API proxy answers on its own, the portal on the other.
//!
//! The proxy's address is matched here, on the raw path, before any router normalises.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::extract::ConnectInfo;
use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use proxy::ApiProxy;
use proxy::prom::MetricsApi;
use proxy::tunnel_endpoint::TunnelApi;
use rp_net::Origins;
use rp_net::door::ConnectionHandle;
use rp_net::listen::Handler;
use tokio_util::sync::CancellationToken;
use tower::Service as _;

/// Where balancers look.
const HEALTH: &str = "/healthz/";

/// Routes by host name.
#[derive(Debug)]
pub struct Front {
    pub api: Arc<ApiProxy>,
    /// Prometheus' API for tools.
    pub metrics: Arc<MetricsApi>,
    /// The endpoint of `aro tunnel`.
    pub tunnels: Arc<TunnelApi>,
    pub pages: Router,
    /// Host names of the API proxy, lower case, without ports.
    pub proxy_hosts: Vec<String>,
    /// Host name of the portal, lower case; `None` in a process that is only a proxy.
    pub portal_host: Option<String>,
    /// Whose `X-Forwarded-For` is believed.
    pub origins: Arc<Origins>,
    /// From then on the answer to health checks is no.
    pub leaving: CancellationToken,
}

enum FrontTarget {
    Proxy,
    Pages,
    /// Neither host: answered to health checks only, which come by address.
    Neither,
}

impl Front {
    fn target(&self, request: &Request<Incoming>) -> FrontTarget {
        let host = host_of(request);
        if self.proxy_hosts.contains(&host) {
            // The balancer may ask for health under any name.
            return if request.uri().path().starts_with(HEALTH) {
                FrontTarget::Pages
            } else {
                FrontTarget::Proxy
            };
        }
        let portal = self.portal_host.as_ref().is_some_and(|name| *name == host);
        if portal || request.uri().path().starts_with(HEALTH) {
            FrontTarget::Pages
        } else {
            FrontTarget::Neither
        }
    }
}

/// The host that was asked for: lower case, without port.
fn host_of(request: &Request<Incoming>) -> String {
    let from_header = request.headers().get(header::HOST).and_then(|value| value.to_str().ok());
    let asked =
        request.uri().authority().map(http::uri::Authority::as_str).or(from_header).unwrap_or_default();
    let host = match asked.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => asked,
    };
    host.to_ascii_lowercase()
}

impl Front {
    /// Serves the proxy's host name. Every path there needs a token.
    async fn proxied(&self, request: Request<Incoming>, peer: SocketAddr) -> Response<Body> {
        let visitor = request.extensions().get::<ConnectionHandle>().cloned();
        let path = request.uri().path();
        let answer = if ApiProxy::matches(path) {
            self.api.handle(request, peer).await
        } else if MetricsApi::matches(path) {
            self.metrics.handle(request, peer).await
        } else if TunnelApi::matches(path) {
            self.tunnels.handle(request, peer).await
        } else {
            return plain(
                StatusCode::NOT_FOUND,
                "This host answers only below {cluster}/kubeconfig/proxy/, {cluster}/prometheus/api/v1/ and {cluster}/tunnel.\n",
            );
        };
        let status = answer.status();
        if let Some(visitor) = visitor.filter(|_| status.is_success() || status.is_informational()) {
            visitor.known();
        }
        answer.map(Body::Api)
    }
}

impl Handler for Front {
    type Body = Body;

    async fn handle(&self, mut request: Request<Incoming>, peer: SocketAddr) -> Response<Body> {
        let peer = SocketAddr::new(self.origins.sender(peer.ip(), request.headers()), peer.port());
        if !is_web(request.uri()) {
            return plain(StatusCode::BAD_REQUEST, "This service answers https only.\n");
        }
        if self.leaving.is_cancelled() && request.uri().path().starts_with(HEALTH) {
            return plain(StatusCode::SERVICE_UNAVAILABLE, "This process is about to end.\n");
        }
        match self.target(&request) {
            FrontTarget::Proxy => self.proxied(request, peer).await,
            FrontTarget::Neither => {
                plain(StatusCode::MISDIRECTED_REQUEST, "This service is not known under that host name.\n")
            }
            FrontTarget::Pages => {
                request.extensions_mut().insert(ConnectInfo(peer));
                let answered = self.pages.clone().call(request.map(axum::body::Body::new)).await;
                match answered {
                    Ok(response) => response.map(Body::Page),
                    Err(never) => match never {},
                }
            }
        }
    }
}

/// Whether the scheme of a request target, if any, is http or https. Other schemes could be parsed differently.
fn is_web(uri: &http::Uri) -> bool {
    uri.scheme_str()
        .is_none_or(|scheme| ["https", "http"].iter().any(|known| scheme.eq_ignore_ascii_case(known)))
}

fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::Page(axum::body::Body::from(text)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// The body of either.
#[derive(Debug)]
pub enum Body {
    Api(proxy::Body),
    Page(axum::body::Body),
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.get_mut() {
            Self::Api(body) => {
                Pin::new(body).poll_frame(cx).map(|frame| frame.map(|frame| frame.map_err(Into::into)))
            }
            Self::Page(body) => {
                Pin::new(body).poll_frame(cx).map(|frame| frame.map(|frame| frame.map_err(Into::into)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Api(body) => body.is_end_stream(),
            Self::Page(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Api(body) => body.size_hint(),
            Self::Page(body) => body.size_hint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_of_another_scheme_is_none_of_ours() {
        for (target, ours) in [
            ("/subscriptions/x", true),
            ("https://proxy.example/x", true),
            ("http://proxy.example/x", true),
            ("HTTPS://proxy.example/x", true),
            ("file://proxy.example/x", false),
            ("ftp://proxy.example/x", false),
            ("*", true),
            ("proxy.example:443", true),
        ] {
            assert_eq!(is_web(&target.parse().unwrap()), ours, "{target}");
        }
    }
}
