//! A client of the portal with a session's cookie, as a script would be.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, ensure};
use http::HeaderMap;
use reqwest::Method;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};

/// The portal for one signed-in person, or for nobody.
#[derive(Debug, Clone)]
pub struct Session {
    http: reqwest::Client,
    base: String,
    /// What a browser sends as the origin of its page: the address that people use.
    origin: String,
    cookie: Option<String>,
    bearer: Option<String>,
}

/// An answer, read to its end.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

/// An answer with another status than the one that was wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusError {
    pub status: u16,
    /// The body.
    pub text: String,
}

impl fmt::Display for StatusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status {}: {}", self.status, self.text)
    }
}

impl std::error::Error for StatusError {}

impl Answer {
    /// The body as JSON.
    ///
    /// # Errors
    /// It is none; with the body.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.text).with_context(|| format!("{} {}", self.status, self.text))
    }

    /// The answer itself when its status is 2xx.
    ///
    /// # Errors
    /// It is not: a [`StatusError`].
    pub fn ok(self) -> Result<Self> {
        if (200..300).contains(&self.status) { Ok(self) } else { Err(self.unwanted().into()) }
    }

    /// The error of an answer whose status is not the one that was wanted.
    pub fn unwanted(self) -> StatusError {
        StatusError { status: self.status, text: self.text }
    }

    /// A header as text, empty when there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// Trusts one authority only, follows no redirect.
pub(crate) fn http_client(ca_pem: &str) -> Result<reqwest::ClientBuilder> {
    Ok(reqwest::Client::builder()
        .tls_backend_preconfigured(tls_client(ca_pem)?)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .timeout(Duration::from_secs(90)))
}

pub(crate) fn tls_client(ca_pem: &str) -> Result<rustls::ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca_pem.as_bytes()) {
        roots.add(certificate?)?;
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    Ok(rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

/// For another library that takes an HTTP client of one's own: trusts one authority, carries a bearer token.
///
/// # Errors
/// The authority is none, or the token cannot stand in a header.
pub fn bearer_client(ca_pem: &str, token: &str) -> Result<reqwest::Client> {
    let mut headers = HeaderMap::new();
    headers.insert(http::header::AUTHORIZATION, format!("Bearer {token}").parse()?);
    Ok(http_client(ca_pem)?.default_headers(headers).build()?)
}

impl Session {
    /// For an address and one authority; `cookie` is `name=value`.
    ///
    /// # Errors
    /// The authority is none.
    pub fn open(ca_pem: &str, base: &str, cookie: Option<String>) -> Result<Self> {
        let base = base.trim_end_matches('/').to_owned();
        let origin = base.clone();
        Ok(Self { http: http_client(ca_pem)?.build()?, base, origin, cookie, bearer: None })
    }

    /// Follows a page of the portal: server-sent events, as its script reads them.
    ///
    /// # Errors
    /// No answer, or another status than 200; with the body.
    pub async fn follow(&self, path: &str) -> Result<Events> {
        let request = self.http.get(format!("{}{path}", self.base)).timeout(Duration::from_secs(1800));
        let request = request.header("accept", "text/event-stream").header("hx-request", "true");
        let response = request.header("cookie", self.cookie.as_deref().unwrap_or_default()).send().await?;
        let status = response.status();
        if status != 200 {
            return Err(anyhow!("{path}: {status} {}", response.text().await?));
        }
        Ok(Events { response, text: String::new() })
    }

    /// The same person, from another address of this machine and on a new connection for each request.
    ///
    /// # Errors
    /// The authority is none.
    pub fn from_address(&self, ca_pem: &str, address: IpAddr) -> Result<Self> {
        let http = http_client(ca_pem)?.local_address(address).pool_max_idle_per_host(0).build()?;
        Ok(Self { http, ..self.clone() })
    }

    /// The same person at another address of the portal, such as one of its replicas.
    #[must_use]
    pub fn at(&self, base: &str) -> Self {
        Self { base: base.to_owned(), ..self.clone() }
    }

    /// The same address with a bearer token in place of the cookie.
    #[must_use]
    pub fn with_bearer(&self, token: &str) -> Self {
        let mut other = self.clone();
        (other.cookie, other.bearer) = (None, Some(token.to_owned()));
        other
    }

    /// The portal's address without a slash at its end.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// `name=value` of its cookie.
    pub fn cookie(&self) -> Option<&str> {
        self.cookie.as_deref()
    }

    /// One request as it is: no CSRF token is added.
    ///
    /// # Errors
    /// No answer.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<String>,
    ) -> Result<Answer> {
        let mut request = self.http.request(method, format!("{}{path}", self.base));
        if let Some(cookie) = &self.cookie {
            request = request.header("cookie", cookie);
        }
        if let Some(bearer) = &self.bearer {
            request = request.header("authorization", format!("Bearer {bearer}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.body(body);
        }
        let response = request.send().await.with_context(|| path.to_owned())?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Ok(Answer { status, headers, text: response.text().await? })
    }

    /// A form posted, its answer read to the end and forgotten: status and size in bytes.
    ///
    /// # Errors
    /// No answer, or it broke off.
    pub async fn drain(&self, path: &str, form: &str) -> Result<(u16, u64)> {
        let mut request = self.http.post(format!("{}{path}", self.base)).timeout(Duration::from_secs(600));
        if let Some(bearer) = &self.bearer {
            request = request.header("authorization", format!("Bearer {bearer}"));
        }
        let request =
            request.header("content-type", "application/x-www-form-urlencoded").body(form.to_owned());
        let mut response = request.send().await.with_context(|| path.to_owned())?;
        let (status, mut size) = (response.status().as_u16(), 0);
        while let Some(piece) = response.chunk().await? {
            size += piece.len() as u64;
        }
        Ok((status, size))
    }

    /// A page as a browser asks for it: when the head of the answer was there, and its bytes on the wire.
    ///
    /// # Errors
    /// No answer, another status than 200, or it broke off.
    pub async fn timed(&self, path: &str) -> Result<(std::time::Instant, usize)> {
        let request = self.http.get(format!("{}{path}", self.base)).header("accept-encoding", "gzip");
        let request = request.header("accept", "text/html").header("sec-fetch-mode", "navigate");
        let mut response =
            request.header("cookie", self.cookie.as_deref().unwrap_or_default()).send().await?;
        let headed = std::time::Instant::now();
        anyhow::ensure!(response.status() == 200, "{path}: {}", response.status());
        let mut bytes = 0;
        while let Some(piece) = response.chunk().await? {
            bytes += piece.len();
        }
        Ok((headed, bytes))
    }

    /// GET as a script does.
    ///
    /// # Errors
    /// No answer.
    pub async fn get(&self, path: &str) -> Result<Answer> {
        self.send(Method::GET, path, &[("accept", "application/json")], None).await
    }

    /// An unsafe request with JSON, with a CSRF token when there is a cookie.
    ///
    /// # Errors
    /// No answer.
    pub async fn change(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Answer> {
        let mut headers = vec![("accept", "application/json".to_owned())];
        if self.cookie.is_some() {
            let info = self.get("/api/info").await?.ok()?.json()?;
            let csrf = info.get("csrf").and_then(Value::as_str).context("no csrf in /api/info")?;
            headers.push(("x-csrf-token", csrf.to_owned()));
            headers.push(("origin", self.origin.clone()));
        }
        if body.is_some() {
            headers.push(("content-type", "application/json".to_owned()));
        }
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.send(method, path, &headers, body.map(Value::to_string)).await
    }

    /// POST of JSON.
    ///
    /// # Errors
    /// No answer.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Answer> {
        self.change(Method::POST, path, Some(body)).await
    }

    /// Makes sure of an elevation for every cluster that nobody has to approve: write by self-service, admin by
    /// break-glass. One that is in force already is used. Gives its id.
    ///
    /// # Errors
    /// It was refused.
    pub async fn elevate(&self, rights: &str) -> Result<String> {
        let mine = self.get("/api/v1/elevations?mine=true&active=true").await?.ok()?.json()?;
        let fits = |each: &&Value| {
            let enough = each["rights"] == rights || each["rights"] == "admin";
            enough && each["target"].is_null() && each["state"] == "active"
        };
        let found = mine["items"].as_array().and_then(|items| items.iter().find(fits)).cloned();
        let elevation = match found {
            Some(elevation) => elevation,
            None => {
                let body = json!({ "reason": "story of the tests", "rights": rights,
                                   "break_glass": rights == "admin" });
                self.post("/api/v1/elevations", &body).await?.ok()?.json()?
            }
        };
        ensure!(elevation["state"] == "active", "it is not in force: {elevation}");
        Ok(elevation["id"].as_str().context("no id")?.to_owned())
    }

    /// Takes a kubeconfig; gives the file's text. `life` in seconds. Above read it elevates first.
    ///
    /// # Errors
    /// It was refused.
    pub async fn kubeconfig(
        &self,
        resource: &str,
        rights: &str,
        reason: &str,
        life: Option<u64>,
    ) -> Result<String> {
        if rights != "read" {
            self.elevate(rights).await?;
        }
        let mut body = json!({ "reason": reason, "rights": rights });
        if let Some(life) = life {
            body["life"] = Value::from(life);
        }
        let answer = self.post(&format!("{resource}/kubeconfig/new"), &body).await?.ok();
        Ok(answer.with_context(|| format!("{rights} kubeconfig for {resource}"))?.text)
    }

    /// My grants that the portal lists.
    ///
    /// # Errors
    /// It was refused.
    pub async fn grants(&self) -> Result<Vec<Value>> {
        let answer = self.get("/api/v1/grants").await?.ok()?.json()?;
        let rows = answer.get("items").unwrap_or(&answer).as_array().cloned();
        rows.ok_or_else(|| anyhow!("no list of grants: {answer}"))
    }

    /// Ends a grant.
    ///
    /// # Errors
    /// It was refused.
    pub async fn revoke(&self, id: &str) -> Result<()> {
        self.change(Method::DELETE, &format!("/api/v1/grants/{id}?why=no%20longer%20needed"), None)
            .await?
            .ok()?;
        Ok(())
    }

    /// Audit entries that contain a text, newest first.
    ///
    /// # Errors
    /// It was refused.
    pub async fn audit(&self, text: &str) -> Result<Vec<Value>> {
        let (mut rows, mut next) = (Vec::new(), String::new());
        // A search looks at a part of the log at a time.
        loop {
            let page = self.get(&format!("/api/v1/audit?limit=500&text={text}{next}")).await?.ok()?.json()?;
            let items = page["items"].as_array().with_context(|| format!("no list of entries: {page}"))?;
            rows.extend(items.iter().cloned());
            match page["continue"].as_str() {
                Some(more) if rows.len() < 500 => next = format!("&continue={more}"),
                _ => return Ok(rows),
            }
        }
    }
}

/// The bearer token of a kubeconfig.
///
/// # Errors
/// It has none.
pub fn kubeconfig_token(text: &str) -> Result<String> {
    pointed(text, "/users/0/user/token")
}

/// The server of a kubeconfig.
///
/// # Errors
/// It has none.
pub fn kubeconfig_server(text: &str) -> Result<String> {
    pointed(text, "/clusters/0/cluster/server")
}

fn pointed(kubeconfig: &str, pointer: &str) -> Result<String> {
    let value: Value = serde_json::from_str(kubeconfig).context("the kubeconfig is JSON")?;
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.map(str::to_owned).with_context(|| format!("the kubeconfig has no {pointer}"))
}

/// A page that is followed. Dropped, the browser is gone.
#[derive(Debug)]
pub struct Events {
    response: reqwest::Response,
    /// What has come since it was last cleared.
    pub text: String,
}

impl Events {
    /// Reads until what has come fulfils `is_it`.
    ///
    /// # Errors
    /// It ended before, or too much time passed; with what came last.
    pub async fn until(&mut self, what: &str, is_it: impl Fn(&str) -> bool) -> Result<()> {
        let read = async {
            while !is_it(&self.text) {
                match self.response.chunk().await? {
                    Some(bytes) => self.text.push_str(&String::from_utf8_lossy(&bytes)),
                    None => return Err(anyhow!("the stream ended")),
                }
            }
            Ok(())
        };
        let read = tokio::time::timeout(crate::GENEROUS, read).await;
        let result = read.unwrap_or_else(|_| Err(anyhow!("not in time")));
        result.with_context(|| {
            let from = self.text.len().saturating_sub(4_000);
            let tail: String = self.text.chars().skip(from).collect();
            format!("{what}; last came: {tail}")
        })
    }

    /// Waits for the end that the server gives, with its reason.
    ///
    /// # Errors
    /// It does not come.
    pub async fn ends(&mut self, reason: &str) -> Result<()> {
        let last = format!("event: end\ndata: {{\"reason\":\"{reason}\"}}\n\n");
        self.until(&format!("it ends because of {reason}"), |text| text.ends_with(&last)).await
    }
}

/// What a page says, without its markup: the first 3,000 characters.
pub fn shown(html: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for c in html.chars() {
        match c {
            '<' => inside = true,
            '>' => inside = false,
            c if inside || c.is_whitespace() && text.ends_with(' ') => {}
            c => text.push(if c.is_whitespace() { ' ' } else { c }),
        }
    }
    text.chars().take(3_000).collect()
}
