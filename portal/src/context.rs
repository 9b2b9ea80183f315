//! What is known of one request, shared by every layer that it passes.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};

use axum::extract::{ConnectInfo, FromRequestParts};
use http::request::Parts;
use http::{HeaderMap, Method, Request, header};
use rp_base::Id;
use url::Url;
use web::Part;

use crate::auth::return_path;
use crate::fault::Fault;
use crate::pages::did::Did;
use crate::routes::Route;
use crate::user::CurrentUser;

/// In which dress the asker wants an answer, above all an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wants {
    /// A browser that loads a page: redirects to sign-in are followed.
    Page,
    /// htmx or our script: a part of a page.
    Fragment,
    /// A script.
    Json,
}

/// One request. In the extensions as [`Shared`].
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) id: Id,
    pub(crate) from: IpAddr,
    /// Path and query, as asked.
    pub(crate) target: String,
    /// Path and query of the page that sent the request; `/` when nobody says. Only a path of ours.
    pub(crate) came_from: String,
    /// What the person has just done, to be told once.
    pub(crate) did: Option<Did>,
    pub(crate) wants: Wants,
    pub(crate) part: Part,
    pub(crate) route: OnceLock<&'static Route>,
    pub(crate) user: OnceLock<CurrentUser>,
}

pub(crate) type Shared = Arc<Context>;

impl Context {
    pub(crate) fn of<B>(request: &Request<B>, id: Id) -> Self {
        let headers = request.headers();
        let from = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
        Self {
            id,
            from: from.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
            target: request.uri().path_and_query().map_or("/", |target| target.as_str()).to_owned(),
            came_from: came_from(headers),
            did: Did::of(headers),
            wants: wants(request.method(), request.uri().path(), headers),
            part: part(headers),
            route: OnceLock::new(),
            user: OnceLock::new(),
        }
    }

    /// The path without its query.
    pub(crate) fn path(&self) -> &str {
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

fn part(headers: &HeaderMap) -> Part {
    let target = headers.get("hx-target").and_then(|value| value.to_str().ok());
    Part::of(flag(headers, "hx-request"), target, flag(headers, "hx-history-restore-request"))
}

/// A page load is a GET or a form's POST that accepts HTML and that the browser calls a navigation; old
/// browsers do not say. Everything else is a script (`contract/portal.md` "Do better" 7).
fn wants(method: &Method, path: &str, headers: &HeaderMap) -> Wants {
    let html = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|accept| accept.contains("text/html"));
    let navigates = headers.get("sec-fetch-mode").is_none_or(|mode| mode.as_bytes() == b"navigate");
    if flag(headers, "hx-request") {
        return if flag(headers, "hx-history-restore-request") { Wants::Page } else { Wants::Fragment };
    }
    let json_path =
        path.starts_with("/api/") && !matches!(path, "/api/login" | "/api/logout" | "/api/cli/login");
    if html && navigates && !json_path && matches!(*method, Method::GET | Method::HEAD | Method::POST) {
        Wants::Page
    } else {
        Wants::Json
    }
}

/// The request's context, for handlers.
#[derive(Debug, Clone)]
pub(crate) struct Ctx(pub(crate) Shared);

impl<S: Sync> FromRequestParts<S> for Ctx {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Fault> {
        parts.extensions.get::<Shared>().cloned().map(Self).ok_or_else(Fault::ours)
    }
}
