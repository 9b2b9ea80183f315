//! The metrics listener (`contract/operator.md` §1, "Do better" 31): in a cluster by TLS, for readers who have the right to
//! it; outside of one in plain HTTP on this machine alone.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use rp_base::{Digest, chain, sha256};
use rp_metrics::Registry;
use rp_net::listen::Handler;
use rp_net::tls::{ClientAuth, ServerFiles, ServerTls};
use tokio::net::TcpListener;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::api::Api;
use crate::health::{answer, serve};
use crate::readers::{Readers, Verdict};

/// How often the certificate is looked at.
const LOOK: Duration = Duration::from_secs(10);
/// Until there is a certificate.
const WAITING: &str = "metrics wait for their certificate";
/// The port of the contract.
const PORT: u16 = 8888;

/// Where metrics are served, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetricsDoor {
    /// Plain HTTP for everybody on this machine.
    Plain(SocketAddr),
    /// By TLS, with `tls.crt` and `tls.key` of a folder, for those who have the right.
    Tls { address: SocketAddr, folder: PathBuf },
}

/// Metrics would be open to the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("metrics on {0} need a certificate: set --metrics-tls, or an address of this machine alone")]
pub struct OpenMetrics(SocketAddr);

impl MetricsDoor {
    /// The door for an address (`None`: the usual one) and a folder with a certificate (`None`: plain HTTP).
    ///
    /// # Errors
    /// [`OpenMetrics`]: plain HTTP on an address of the network.
    pub fn of(address: Option<SocketAddr>, folder: Option<PathBuf>) -> Result<Self, OpenMetrics> {
        match (address, folder) {
            (address, Some(folder)) => {
                let everywhere = SocketAddr::from((Ipv6Addr::UNSPECIFIED, PORT));
                Ok(Self::Tls { address: address.unwrap_or(everywhere), folder })
            }
            (None, None) => Ok(Self::Plain(SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)))),
            (Some(address), None) if address.ip().is_loopback() => Ok(Self::Plain(address)),
            (Some(address), None) => Err(OpenMetrics(address)),
        }
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        match self {
            Self::Plain(address) | Self::Tls { address, .. } => *address,
        }
    }
}

/// Serves metrics until `stop`. The controllers do not wait for the certificate: while there is none, connections of
/// readers are ended.
pub async fn serve_metrics(
    tcp: TcpListener,
    door: MetricsDoor,
    registry: Registry,
    api: Api,
    stop: CancellationToken,
) {
    let folder = match door {
        MetricsDoor::Plain(_) => return serve(tcp, None, Page { registry, readers: None }, stop).await,
        MetricsDoor::Tls { folder, .. } => folder,
    };
    let files = ServerFiles { certificate: folder.join("tls.crt"), key: folder.join("tls.key") };
    let (tls, used) = tokio::select! {
        loaded = first(&files) => loaded,
        () = refuse(&tcp) => return,
        () = stop.cancelled() => return,
    };
    tls.show_end(&registry, "metrics");
    let page = Page { registry, readers: Some(Readers::new(api)) };
    tokio::select! {
        () = serve(tcp, Some(Arc::clone(&tls)), page, stop) => {}
        () = follow(&files, &tls, used) => {}
    }
}

/// Ends every connection, for ever: a reader is told at once that there is nothing yet.
async fn refuse(tcp: &TcpListener) {
    loop {
        if tcp.accept().await.is_err() {
            // Out of files, mostly: the next attempt waits.
            sleep(Duration::from_millis(100)).await;
        }
    }
}

/// The certificate, when there is one, and the digest of its file.
async fn first(files: &ServerFiles) -> (Arc<ServerTls>, Option<Digest>) {
    let mut told = false;
    loop {
        let used = digest(&files.certificate);
        match ServerTls::load(files.clone(), &[b"h2", b"http/1.1"], ClientAuth::None) {
            Ok(tls) => return (tls, used),
            Err(error) if told => tracing::debug!(error = %chain(&error), "{WAITING}"),
            Err(error) => tracing::warn!(error = %chain(&error), "{WAITING}"),
        }
        told = true;
        sleep(LOOK).await;
    }
}

/// Takes a new certificate into use, for ever. One that does not match its key yet is read again later.
async fn follow(files: &ServerFiles, tls: &ServerTls, mut used: Option<Digest>) {
    loop {
        sleep(LOOK).await;
        let present = digest(&files.certificate);
        if present.is_none() || present == used {
            continue;
        }
        match tls.reload() {
            Ok(()) => {
                used = present;
                tracing::info!("the certificate of the metrics was replaced");
            }
            Err(error) => tracing::warn!(error = %chain(&error), "the old certificate stays in use"),
        }
    }
}

/// `None`: the file cannot be read now.
fn digest(file: &Path) -> Option<Digest> {
    std::fs::read(file).ok().map(|bytes| sha256(&bytes))
}

/// Answers of the listener.
#[derive(Debug)]
struct Page {
    registry: Registry,
    /// `None`: everybody.
    readers: Option<Readers>,
}

impl Handler for Page {
    type Body = Full<Bytes>;

    async fn handle(&self, request: Request<Incoming>, _: SocketAddr) -> Response<Full<Bytes>> {
        if request.uri().path() != "/metrics" {
            return answer(StatusCode::NOT_FOUND, "not found".to_owned());
        }
        let verdict = match &self.readers {
            None => Ok(Verdict::Allowed),
            Some(readers) => readers.verdict(request.headers()).await,
        };
        match verdict {
            Ok(Verdict::Allowed) => self.metrics(),
            Ok(Verdict::Unknown) => unknown(),
            Ok(Verdict::Forbidden) => {
                let text = "the right to get the path /metrics is missing: bind a ClusterRole that has it";
                answer(StatusCode::FORBIDDEN, text.to_owned())
            }
            Err(error) => {
                tracing::warn!(error = %chain(&error), "a reader of metrics could not be checked");
                let text = "the API server could not be asked who may read: try again later";
                answer(StatusCode::SERVICE_UNAVAILABLE, text.to_owned())
            }
        }
    }
}

impl Page {
    fn metrics(&self) -> Response<Full<Bytes>> {
        let mut page = answer(StatusCode::OK, self.registry.render());
        let kind = HeaderValue::from_static(Registry::CONTENT_TYPE);
        page.headers_mut().insert(CONTENT_TYPE, kind);
        page
    }
}

fn unknown() -> Response<Full<Bytes>> {
    let text = "send a token of this cluster as Authorization: Bearer TOKEN";
    let mut unknown = answer(StatusCode::UNAUTHORIZED, text.to_owned());
    unknown.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    unknown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_open_on_this_machine_alone() {
        let door = |address: Option<&str>, folder: Option<&str>| {
            MetricsDoor::of(address.map(|text| text.parse().unwrap()), folder.map(PathBuf::from))
        };
        let plain = |text: &str| Ok(MetricsDoor::Plain(text.parse().unwrap()));
        assert_eq!(door(None, None), plain("127.0.0.1:8888"));
        assert_eq!(door(Some("[::1]:1"), None), plain("[::1]:1"));
        for open in ["[::]:8888", "0.0.0.0:8888", "10.0.0.1:8888"] {
            assert_eq!(door(Some(open), None), Err(OpenMetrics(open.parse().unwrap())));
            let by_tls = door(Some(open), Some("/tls")).unwrap();
            assert_eq!(by_tls, MetricsDoor::Tls { address: open.parse().unwrap(), folder: "/tls".into() });
        }
        assert_eq!(door(None, Some("/tls")).unwrap().address().to_string(), "[::]:8888");
    }
}
