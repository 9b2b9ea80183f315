//! Requests on their way to the API proxy, with the grant's token.

use std::sync::Arc;
use std::time::Duration;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Request, Response, StatusCode, Uri};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use reqwest::Body;
use rp_base::Secret;
use tokio::sync::OwnedSemaphorePermit;
use url::Url;

use super::super::credential;
use crate::args::Connection;
use crate::profile::Profile;
use crate::{CliError, tls};

/// Time to connect to the API proxy.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// Headers that are about one connection (RFC 9110 §7.6.1), about the length that the body says itself, or about who asks
/// whom here.
const NOT_PASSED: [HeaderName; 9] = [
    header::HOST,
    header::AUTHORIZATION,
    header::PROXY_AUTHORIZATION,
    header::CONNECTION,
    header::UPGRADE,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::COOKIE,
];

/// A cluster's address at the API proxy, with the grant.
pub(super) struct Upstream {
    http: reqwest::Client,
    /// `https://PROXY`
    origin: String,
    /// The path of the cluster there, without a slash at its end.
    prefix: String,
    grant: String,
    connection: Connection,
    profile: Profile,
}

impl Upstream {
    /// `server`: as a kubeconfig names it; `authority`: PEM, beside the system's.
    pub(super) fn new(
        server: &str,
        authority: Option<&str>,
        grant: String,
        connection: Connection,
        profile: Profile,
    ) -> Result<Self, CliError> {
        let url: Url = server.parse().map_err(|_| CliError::Answer("its server is no address"))?;
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls::config(authority)?)
            .http1_only()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_WITHIN)
            .build()
            .map_err(|cause| CliError::Unreachable { host: "any address".to_owned(), cause })?;
        Ok(Self {
            http,
            origin: url.origin().ascii_serialization(),
            prefix: url.path().trim_end_matches('/').to_owned(),
            grant,
            connection,
            profile,
        })
    }

    async fn authorization(&self) -> Result<HeaderValue, CliError> {
        let kept = credential::silent(&self.connection, &self.profile, &self.grant).await?;
        let text = Secret::new(format!("Bearer {}", kept.token.expose()));
        let mut value = HeaderValue::from_str(text.expose()).map_err(|_| CliError::Answer("no token"))?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// The address at the API proxy of a path of this listener.
    ///
    /// # Errors
    /// Dot segments, which the address resolves, lead out of the cluster's path.
    fn address(&self, asked: &Uri) -> Result<Url, CliError> {
        let path = asked.path_and_query().map_or("/", |path| path.as_str());
        let address: Option<Url> = format!("{}{}{path}", self.origin, self.prefix).parse().ok();
        let is_below = |address: &Url| {
            address.path().strip_prefix(&self.prefix).is_some_and(|rest| rest.starts_with('/'))
        };
        address
            .filter(is_below)
            .ok_or_else(|| CliError::Usage("the request's path leads out of the cluster's".to_owned()))
    }

    /// Sends a request on. `place` is held while an upgraded connection lives.
    ///
    /// # Errors
    /// The path is not one of the cluster's, there is no token, or the API proxy does not answer.
    pub(super) async fn forward(
        &self,
        mut request: Request<Incoming>,
        place: Arc<OwnedSemaphorePermit>,
    ) -> Result<Response<Body>, CliError> {
        let upgrade = request.headers().get(header::UPGRADE).cloned();
        let near = upgrade.is_some().then(|| hyper::upgrade::on(&mut request));
        let (parts, body) = request.into_parts();
        let address = self.address(&parts.uri)?;
        let mut headers = passed(&parts.headers);
        headers.insert(header::AUTHORIZATION, self.authorization().await?);
        if let Some(upgrade) = upgrade {
            headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
            headers.insert(header::UPGRADE, upgrade);
        }
        let mut sent = self.http.request(parts.method, address).headers(headers);
        if !body.is_end_stream() {
            sent = sent.body(Body::wrap(body));
        }
        let answer = sent.send().await.map_err(|cause| {
            let host = self.origin.trim_start_matches("https://").to_owned();
            CliError::Unreachable { host, cause: cause.without_url() }
        })?;
        match near {
            Some(near) if answer.status() == StatusCode::SWITCHING_PROTOCOLS => {
                Ok(self.switched(answer, near, place))
            }
            Some(_) | None => Ok(self.answered(answer)),
        }
    }

    fn answered(&self, answer: reqwest::Response) -> Response<Body> {
        let (parts, body) = Response::<Body>::from(answer).into_parts();
        let mut response = Response::new(body);
        *response.status_mut() = parts.status;
        *response.headers_mut() = self.outbound(&parts.headers);
        response
    }

    /// The answer that leaves HTTP; bytes pass both ways until one side ends.
    fn switched(
        &self,
        answer: reqwest::Response,
        near: OnUpgrade,
        place: Arc<OwnedSemaphorePermit>,
    ) -> Response<Body> {
        let mut response = Response::new(Body::default());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let mut headers = self.outbound(answer.headers());
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        if let Some(protocol) = answer.headers().get(header::UPGRADE) {
            headers.insert(header::UPGRADE, protocol.clone());
        }
        *response.headers_mut() = headers;
        tokio::spawn(async move {
            let _place = place;
            let (Ok(near), Ok(mut far)) = tokio::join!(near, answer.upgrade()) else { return };
            let _ = tokio::io::copy_bidirectional(&mut TokioIo::new(near), &mut far).await;
        });
        response
    }

    /// Headers of an answer, with redirects below this listener's own root.
    fn outbound(&self, answer: &HeaderMap) -> HeaderMap {
        let mut headers = passed(answer);
        let below = answer
            .get(header::LOCATION)
            .and_then(|location| location.to_str().ok())
            .and_then(|location| location.strip_prefix(&self.prefix))
            .filter(|rest| rest.starts_with('/'))
            .and_then(|rest| HeaderValue::from_str(rest).ok());
        if let Some(below) = below {
            headers.insert(header::LOCATION, below);
        }
        headers
    }
}

/// Headers without those of one connection, and without what `Connection` names.
fn passed(given: &HeaderMap) -> HeaderMap {
    let mut headers = given.clone();
    let named = given.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    for name in named.flat_map(|value| value.split(',')).map(str::trim) {
        headers.remove(name);
    }
    for name in NOT_PASSED {
        headers.remove(name);
    }
    for name in ["keep-alive", "proxy-connection"] {
        headers.remove(name);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Format;

    const SERVER: &str = "https://proxy.example:8443/subscriptions/s/harbor/kubeconfig/proxy/";

    fn upstream(folder: &std::path::Path) -> Upstream {
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
        Upstream::new(SERVER, None, "g-1".to_owned(), connection, profile).unwrap()
    }

    #[test]
    fn a_path_stays_below_the_clusters_own() {
        let folder = tempfile::tempdir().unwrap();
        let upstream = upstream(folder.path());
        let address = |path: &str| upstream.address(&path.parse().unwrap()).map(String::from);
        let sound = format!("{SERVER}api/v1/pods?labelSelector=a%3Db&watch=1");
        assert_eq!(address("/api/v1/pods?labelSelector=a%3Db&watch=1").unwrap(), sound);
        for path in ["/..", "/../../other/kubeconfig/proxy/api", "/api/%2e%2E/%2e./x", "*"] {
            assert!(matches!(address(path), Err(CliError::Usage(_))), "{path}: {:?}", address(path));
        }
    }

    #[test]
    fn a_redirect_is_below_this_listeners_root() {
        let folder = tempfile::tempdir().unwrap();
        let upstream = upstream(folder.path());
        let location = |location: &'static str| {
            let mut answer = HeaderMap::new();
            answer.insert(header::LOCATION, HeaderValue::from_static(location));
            upstream.outbound(&answer)[header::LOCATION].clone()
        };
        assert_eq!(location("/subscriptions/s/harbor/kubeconfig/proxy/api/v1?a=b"), "/api/v1?a=b");
        assert_eq!(
            location("/subscriptions/s/harbor/kubeconfig/proxyother"),
            "/subscriptions/s/harbor/kubeconfig/proxyother"
        );
    }

    #[test]
    fn headers_of_one_connection_and_credentials_do_not_pass() {
        let mut given = HeaderMap::new();
        for (name, value) in [
            ("connection", "Keep-Alive, X-Hop"),
            ("keep-alive", "timeout=5"),
            ("x-hop", "1"),
            ("host", "127.0.0.1:1"),
            ("authorization", "Bearer local"),
            ("cookie", "a=b"),
            ("accept", "application/json"),
        ] {
            given.append(name, HeaderValue::from_static(value));
        }
        let left: Vec<String> = passed(&given).keys().map(ToString::to_string).collect();
        assert_eq!(left, ["accept"]);
    }
}
