//! The portal's JSON API as a client sees it.

use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, COOKIE, HeaderName, HeaderValue, ORIGIN};
use reqwest::{Method, RequestBuilder, Response};
use rp_base::{Secret, text};
use serde_json::Value;
use url::Url;

use crate::args::Connection;
use crate::error::Refusal;
use crate::profile::Profile;
use crate::{CliError, files, tls};

/// Answers larger than this are not ours.
const MOST: usize = 32 * 1024 * 1024;
/// An export of many entries.
const LONG: Duration = Duration::from_secs(3600);
/// A portal that sends nothing for so long is gone.
const SILENCE: Duration = Duration::from_secs(60);
const BROKEN: CliError = CliError::Answer("it broke off");
const CSRF: HeaderName = HeaderName::from_static("x-csrf-token");

enum Credential {
    None,
    Bearer(HeaderValue),
    Cookie(HeaderValue),
}

/// One portal, one credential.
pub(crate) struct Client {
    http: reqwest::Client,
    portal: Url,
    credential: Credential,
    /// What to do when the portal does not know the credential; empty where signing in does not help.
    sign_in: String,
}

impl Client {
    /// The portal and credential that the command line names, else those of the profile. A profile's token
    /// goes to the profile's portal only.
    pub(crate) fn new(connection: &Connection) -> Result<Self, CliError> {
        let profile = Profile::named(connection.config_dir.as_deref(), connection.profile.as_deref());
        let settings = match &profile {
            Ok(profile) => profile.settings()?,
            Err(_) => None,
        };
        let portal = match (&connection.portal, &settings) {
            (Some(portal), _) => portal.clone(),
            (None, Some(settings)) => settings.portal.clone(),
            (None, None) => {
                let command = format!("{} --portal https://…", profile?.sign_in_command(None));
                return Err(CliError::NotSignedIn { why: "you are not signed in to a portal", command });
            }
        };
        is_safe(&portal)?;
        let remembered = settings.filter(|settings| settings.portal.origin() == portal.origin());
        let credential = match (&connection.session_cookie_file, &connection.token_file) {
            (Some(file), _) => {
                let line = files::read_line(file)?;
                let cookie = line.expose().strip_prefix("Cookie: ").unwrap_or(line.expose());
                Credential::Cookie(secret_header(cookie)?)
            }
            (None, Some(file)) => bearer(&files::read_line(file)?)?,
            (None, None) => {
                let profile = profile.as_ref().map_err(|error| CliError::Usage(error.to_string()))?;
                if remembered.is_none() {
                    let command = profile.sign_in_command(Some(&portal));
                    return Err(CliError::NotSignedIn {
                        why: "you are not signed in to this portal",
                        command,
                    });
                }
                bearer(&profile.living_token(&portal)?)?
            }
        };
        let by_profile = connection.session_cookie_file.is_none() && connection.token_file.is_none();
        let sign_in = match profile {
            Ok(profile) if by_profile => profile.sign_in_command(Some(&portal)),
            _ => String::new(),
        };
        let ca = match &connection.ca_file {
            Some(file) => Some(tls::authorities(file)?),
            None => remembered.and_then(|settings| settings.ca),
        };
        Ok(Self { http: tls::http(ca.as_deref())?, portal, credential, sign_in })
    }

    /// For signing in.
    pub(crate) fn stranger(portal: &Url, ca: Option<&str>) -> Result<Self, CliError> {
        is_safe(portal)?;
        Ok(Self {
            http: tls::http(ca)?,
            portal: portal.clone(),
            credential: Credential::None,
            sign_in: String::new(),
        })
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
        mut each: impl FnMut(&[u8]) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        // What is exported may take longer than an answer otherwise does; silence still ends it.
        let request = self.request(Method::GET, path, query).timeout(LONG);
        let mut response = self.send(request).await?;
        loop {
            let chunk = tokio::time::timeout(SILENCE, response.chunk()).await;
            match chunk.map_err(|_| BROKEN)?.map_err(|_| BROKEN)? {
                Some(chunk) => each(&chunk)?,
                None => return Ok(()),
            }
        }
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

    /// With a cookie, what changes something carries the token of `/api/info` (`spec/portal.md` §7).
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
        let response = request.send().await.map_err(|cause| CliError::Unreachable {
            host: self.portal.host_str().unwrap_or_default().to_owned(),
            cause: cause.without_url(),
        })?;
        if response.status().is_success() {
            return Ok(response);
        }
        let mut error = refused(response).await;
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

/// Credentials go over TLS, or to this machine.
fn is_safe(portal: &Url) -> Result<(), CliError> {
    if !matches!(portal.scheme(), "https" | "http") || portal.host_str().is_none() {
        return Err(CliError::Usage("--portal must be an http or https address".to_owned()));
    }
    if portal.scheme() == "http" && !is_loopback(portal) {
        return Err(CliError::Usage(
            "--portal must be https: a credential is not sent in the clear".to_owned(),
        ));
    }
    Ok(())
}

fn bearer(token: &Secret<String>) -> Result<Credential, CliError> {
    let bearer = Secret::new(format!("Bearer {}", token.expose()));
    Ok(Credential::Bearer(secret_header(bearer.expose())?))
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

fn secret_header(text: &str) -> Result<HeaderValue, CliError> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| CliError::Usage("the credential is not plain text".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

async fn bytes(mut response: Response) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|_| CliError::Answer("it broke off"))? {
        if bytes.len() + chunk.len() > MOST {
            return Err(CliError::Answer("too long"));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

async fn json(response: Response) -> Result<Value, CliError> {
    let bytes = bytes(response).await?;
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(&bytes).map_err(|_| CliError::Answer("not JSON"))
}

/// The portal's own words, bare or under `error`; else what the status says.
async fn refused(response: Response) -> CliError {
    let status = response.status().as_u16();
    let reason = response.status().canonical_reason().unwrap_or("an error");
    let request_id = response
        .headers()
        .get("x-request-id")
        .and_then(|value| value.to_str().ok())
        .map_or_else(String::new, |id| text::clean(id, 100));
    let unnamed = Refusal {
        code: format!("http_{status}"),
        message: match status {
            300..=399 | 401 => "the portal does not know you, or your session has ended".to_owned(),
            _ => format!("the portal answered {status} {reason}"),
        },
        side: String::new(),
        action: String::new(),
        request_id: request_id.clone(),
    };
    let body = bytes(response).await.unwrap_or_default();
    let value: Value = serde_json::from_slice(&body).unwrap_or_default();
    let inner = value.get("error").filter(|inner| inner.is_object()).unwrap_or(&value);
    let mut refusal = serde_json::from_value(inner.clone()).unwrap_or(unnamed);
    if refusal.request_id.is_empty() {
        refusal.request_id = request_id;
    }
    CliError::Refused { status, refusal }
}
