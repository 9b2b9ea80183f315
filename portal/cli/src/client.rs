//! The portal's JSON API as a client sees it.

use std::io::IsTerminal as _;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, COOKIE, HeaderName, ORIGIN};
use reqwest::{Method, RequestBuilder, Response};
use rp_base::Secret;
use serde_json::Value;
use url::Url;

use crate::answer::{bytes, json, refused};
use crate::args::Connection;
use crate::endpoint::{Credential, PortalEndpoint, secret_header};
use crate::{CliError, progress, tls};

/// An export of many entries.
const LONG: Duration = Duration::from_secs(3600);
/// A log that is followed: longer than any grant lives.
const FOLLOWED: Duration = Duration::from_secs(7 * 24 * 3600);
/// A portal that sends nothing for so long is gone.
const SILENCE: Duration = Duration::from_secs(60);
/// The search behind an export goes to the beginning of the log before the first entry is sent.
const SEARCH: Duration = Duration::from_secs(600);
const BROKEN: CliError = CliError::Answer("it broke off");
const CSRF: HeaderName = HeaderName::from_static("x-csrf-token");

/// One portal, one credential.
pub(crate) struct Client {
    http: reqwest::Client,
    portal: Url,
    credential: Credential,
    /// What to do when the portal does not know the credential; empty where signing in does not help.
    sign_in: String,
}

impl Client {
    /// For what the command line and the profile say.
    pub(crate) fn new(connection: &Connection) -> Result<Self, CliError> {
        Self::with_endpoint(PortalEndpoint::from_connection(connection)?)
    }

    /// For signing in.
    pub(crate) fn anonymous(portal: &Url, ca: Option<String>) -> Result<Self, CliError> {
        Self::with_endpoint(PortalEndpoint::anonymous(portal, ca)?)
    }

    fn with_endpoint(reach: PortalEndpoint) -> Result<Self, CliError> {
        let PortalEndpoint { portal, credential, ca, sign_in } = reach;
        Ok(Self { http: tls::http(ca.as_deref())?, portal, credential, sign_in })
    }

    /// The address of a page, for a browser.
    pub(crate) fn page(&self, path: &str, query: &[(&str, &str)]) -> Url {
        let mut url = self.url(path);
        url.query_pairs_mut().extend_pairs(query);
        url
    }

    pub(crate) async fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Value, CliError> {
        let response = self.send(self.request(Method::GET, path, query)).await?;
        json(response).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value, CliError> {
        let request = self.unsafe_request(Method::POST, path, &[]).await?.json(body);
        json(self.send(request).await?).await
    }

    /// As [`Self::post`], but the answer is a text to keep byte for byte.
    pub(crate) async fn post_for_text(&self, path: &str, body: &Value) -> Result<Secret<String>, CliError> {
        let request = self.unsafe_request(Method::POST, path, &[]).await?.json(body);
        let bytes = bytes(self.send(request).await?).await?;
        String::from_utf8(bytes).map(Secret::new).map_err(|_| CliError::Answer("not UTF-8"))
    }

    pub(crate) async fn delete(&self, path: &str, query: &[(&str, &str)]) -> Result<Value, CliError> {
        let request = self.unsafe_request(Method::DELETE, path, query).await?;
        json(self.send(request).await?).await
    }

    /// As [`Self::get`], but the answer is long and written on as it comes, byte for byte.
    pub(crate) async fn copy(
        &self,
        path: &str,
        query: &[(&str, &str)],
        each: impl FnMut(&[u8]) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        self.copy_within(SILENCE, path, query, each).await
    }

    /// As [`Self::copy`], of what the portal has to look for before it sends anything.
    pub(crate) async fn copy_search(
        &self,
        path: &str,
        query: &[(&str, &str)],
        each: impl FnMut(&[u8]) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        self.copy_within(SEARCH, path, query, each).await
    }

    async fn copy_within(
        &self,
        silence: Duration,
        path: &str,
        query: &[(&str, &str)],
        mut each: impl FnMut(&[u8]) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        // What is exported may take longer than an answer otherwise does; silence still ends it.
        let request = self.request(Method::GET, path, query).timeout(LONG);
        let mut response = self.send(request).await?;
        loop {
            let chunk = tokio::time::timeout(silence, response.chunk());
            // Where the answer goes to the terminal too, a line of ours would stand in the middle of one of it.
            let chunk = if std::io::stdout().is_terminal() {
                chunk.await
            } else {
                progress::shown("waiting for more of the answer", chunk).await
            };
            match chunk.map_err(|_| BROKEN)?.map_err(|_| BROKEN)? {
                Some(chunk) => each(&chunk)?,
                None => return Ok(()),
            }
        }
    }

    /// As [`Self::copy`], of what may be silent for long: a log that is followed. It ends when the other side ends it.
    pub(crate) async fn follow(
        &self,
        path: &str,
        query: &[(&str, &str)],
        mut each: impl FnMut(&[u8]) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let mut response = self.send(self.request(Method::GET, path, query).timeout(FOLLOWED)).await?;
        while let Some(chunk) = response.chunk().await.map_err(|_| BROKEN)? {
            each(&chunk)?;
        }
        Ok(())
    }

    /// As [`Self::post`], but the answer is a stream of events.
    pub(crate) async fn post_events(
        &self,
        path: &str,
        body: &Value,
        mut each: impl FnMut(&[u8]) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let request = self.unsafe_request(Method::POST, path, &[]).await?.json(body).timeout(LONG);
        let mut response = self.send(request).await?;
        loop {
            let chunk = tokio::time::timeout(SILENCE, response.chunk()).await;
            match chunk.map_err(|_| BROKEN)?.map_err(|_| BROKEN)? {
                Some(chunk) => each(&chunk)?,
                None => return Ok(()),
            }
        }
    }

    fn url(&self, path: &str) -> Url {
        let mut url = self.portal.clone();
        // Escapes what cannot stand in a path, and keeps "?" and "#" inside it.
        url.set_path(&format!("{}{path}", self.portal.path().trim_end_matches('/')));
        url.set_query(None);
        url.set_fragment(None);
        url
    }

    fn request(&self, method: Method, path: &str, query: &[(&str, &str)]) -> RequestBuilder {
        let request =
            self.http.request(method, self.url(path)).query(query).header(ACCEPT, "application/json");
        match &self.credential {
            Credential::None => request,
            Credential::Bearer(bearer) => request.header(AUTHORIZATION, bearer.clone()),
            Credential::Cookie(cookie) => request.header(COOKIE, cookie.clone()),
        }
    }

    /// With a cookie, what changes something carries the token of `/api/info` (`contract/portal.md` §7).
    async fn unsafe_request(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<RequestBuilder, CliError> {
        let request = self.request(method, path, query);
        if !matches!(self.credential, Credential::Cookie(_)) {
            return Ok(request);
        }
        let info = self.get("/api/info", &[]).await?;
        let csrf = info.get("csrf").and_then(Value::as_str).ok_or(CliError::Answer("no CSRF token"))?;
        let origin = self.portal.origin().ascii_serialization();
        Ok(request.header(CSRF, secret_header(csrf)?).header(ORIGIN, origin))
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, CliError> {
        let host = self.portal.host_str().unwrap_or_default();
        let sent = progress::shown(&format!("waiting for {host}"), request.send()).await;
        let response = sent
            .map_err(|cause| CliError::Unreachable { host: host.to_owned(), cause: cause.without_url() })?;
        if response.status().is_success() {
            return Ok(response);
        }
        let mut error = refused(response).await;
        if let CliError::Refused { refusal, .. } = &mut error
            && refusal.code == "reason_needed"
        {
            // The portal speaks of a header, for who calls it without this program.
            "Say why you look by --reason.".clone_into(&mut refusal.action);
        }
        if let CliError::Refused { status: 300..=399 | 401, refusal } = &mut error
            && !self.sign_in.is_empty()
        {
            refusal.action = format!("Run: {}", self.sign_in);
        }
        if let CliError::Refused { refusal, .. } = &mut error
            && refusal.code == "sign_in_again"
            && !self.sign_in.is_empty()
        {
            refusal.action = format!("Run: {} --fresh, then this command again.", self.sign_in);
        }
        Err(error)
    }
}
