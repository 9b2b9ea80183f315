//! The context of one request, shared by every layer that it passes.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};

use axum::extract::{ConnectInfo, FromRequestParts};
use http::request::Parts;
use http::{HeaderMap, Method, Request, header};
use rp_base::Id;
use url::Url;
use web::PageFragment;

use crate::fault::Fault;
use crate::flash::Flash;
use crate::return_path::return_path;
use crate::user::CurrentUser;

/// The form in which the caller expects a response, above all an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseKind {
    /// A browser that loads a page: redirects to sign-in are followed.
    Page,
    /// htmx or our script: a part of a page.
    Fragment,
    /// A script.
    Json,
}

/// What a row of the route table is called in logs and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteName {
    pub method: &'static str,
    /// The pattern.
    pub path: &'static str,
}

/// One request. In the extensions as [`Shared`].
#[derive(Debug)]
pub struct Context {
    pub id: Id,
    pub from: IpAddr,
    /// Path and query, as asked.
    pub target: String,
    /// Path and query of the page that sent the request; `/` when unknown. Only a path of this portal.
    pub came_from: String,
    /// The notice about the person's last action, shown once.
    pub flash: Option<Flash>,
    pub wants: ResponseKind,
    pub part: PageFragment,
    /// The row of the route table; empty while no route is found.
    pub route: OnceLock<RouteName>,
    pub user: OnceLock<CurrentUser>,
}

pub type Shared = Arc<Context>;

impl Context {
    pub fn from_request<B>(request: &Request<B>, id: Id) -> Self {
        let headers = request.headers();
        let from = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
        Self {
            id,
            from: from.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
            target: request.uri().path_and_query().map_or("/", |target| target.as_str()).to_owned(),
            came_from: came_from(headers),
            flash: Flash::from_headers(headers),
            wants: wants(request.method(), request.uri().path(), headers),
            part: part(headers),
            route: OnceLock::new(),
            user: OnceLock::new(),
        }
    }

    /// The path without its query.
    pub fn path(&self) -> &str {
        self.target.split_once('?').map_or(self.target.as_str(), |(path, _)| path)
    }
}

fn came_from(headers: &HeaderMap) -> String {
    let sent = headers.get("hx-current-url").or_else(|| headers.get(header::REFERER));
    let url = sent.and_then(|value| value.to_str().ok()).and_then(|text| Url::parse(text).ok());
    let path =
        url.map(|url| format!("{}{}", url.path(), url.query().map(|q| format!("?{q}")).unwrap_or_default()));
    return_path(path.as_deref())
}

fn flag(headers: &HeaderMap, name: &str) -> bool {
    headers.get(name).is_some_and(|value| value.as_bytes() == b"true")
}

fn part(headers: &HeaderMap) -> PageFragment {
    let target = headers.get("hx-target").and_then(|value| value.to_str().ok());
    PageFragment::from_htmx(flag(headers, "hx-request"), target, flag(headers, "hx-history-restore-request"))
}

/// A page load is a GET or a form's POST that accepts HTML and that the browser calls a navigation; old
/// browsers do not say. Everything else is a script (`contract/portal.md` "Do better" 7).
fn wants(method: &Method, path: &str, headers: &HeaderMap) -> ResponseKind {
    let html = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|accept| accept.contains("text/html"));
    let navigates = headers.get("sec-fetch-mode").is_none_or(|mode| mode.as_bytes() == b"navigate");
    if flag(headers, "hx-request") {
        return if flag(headers, "hx-history-restore-request") {
            ResponseKind::Page
        } else {
            ResponseKind::Fragment
        };
    }
    let json_path =
        path.starts_with("/api/") && !matches!(path, "/api/login" | "/api/logout" | "/api/cli/login");
    if html && navigates && !json_path && matches!(*method, Method::GET | Method::HEAD | Method::POST) {
        ResponseKind::Page
    } else {
        ResponseKind::Json
    }
}

/// The request's context, for handlers.
#[derive(Debug, Clone)]
pub struct Ctx(pub Shared);

impl<S: Sync> FromRequestParts<S> for Ctx {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Fault> {
        parts.extensions.get::<Shared>().cloned().map(Self).ok_or_else(Fault::internal)
    }
}
