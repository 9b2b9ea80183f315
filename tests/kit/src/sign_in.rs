//! A sign-in without a browser, through the form of the npm provider or of the built-in one.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use reqwest::{Client, Response, Url, header};

use crate::session::http_client;
use crate::{Session, StatusError};

/// More steps than any sign-in takes.
const MOST_STEPS: usize = 16;

/// Signs in at a portal as a browser would and gives the session.
///
/// # Errors
/// A step is refused: a [`StatusError`], with where it was and what was answered.
pub async fn sign_in(ca_pem: &str, portal: &str, login: &str, password: &str) -> Result<Session> {
    // A new connection for each step: behind a balancer each meets another replica.
    let http = http_client(ca_pem)?.pool_max_idle_per_host(0).build()?;
    let mut visit = Visit { http, cookies: BTreeMap::new() };
    let portal_url = Url::parse(portal)?;
    let mut url = portal_url.join("/api/login?redirect_uri=/keys")?;
    for _ in 0..MOST_STEPS {
        if same_origin(&url, &portal_url) && url.path() == "/keys" {
            return Session::open(ca_pem, portal, Some(visit.cookie_of(&portal_url)));
        }
        let response = visit.get(&url).await?;
        let good = response.status() == 200;
        let response = if good && url.path().starts_with("/interaction/") {
            visit.enter(&url, login, password).await?
        } else if good && url.path() == "/authorize" {
            visit.enter_built_in(&url, response, login, password).await?
        } else {
            response
        };
        url = next(&url, response).await?;
    }
    bail!("the sign-in goes round in circles, last at {url}")
}

struct Visit {
    http: Client,
    /// By origin: name and value.
    cookies: BTreeMap<String, BTreeMap<String, String>>,
}

impl Visit {
    async fn get(&mut self, url: &Url) -> Result<Response> {
        let asked = self.http.get(url.clone()).header(header::ACCEPT, "text/html");
        self.keep(url, asked.header(header::COOKIE, self.cookie_of(url)).send().await?)
    }

    async fn enter(&mut self, url: &Url, login: &str, password: &str) -> Result<Response> {
        let form = self.http.post(url.clone()).form(&[("login", login), ("password", password)]);
        self.keep(url, form.header(header::COOKIE, self.cookie_of(url)).send().await?)
    }

    /// The built-in provider's form carries a mark and the request that led there.
    async fn enter_built_in(
        &mut self,
        url: &Url,
        page: Response,
        login: &str,
        password: &str,
    ) -> Result<Response> {
        let html = page.text().await?;
        let mark = html.split("name=\"form\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
        let mark = mark.with_context(|| format!("no form: {html}"))?;
        let fields = [
            ("name", login),
            ("password", password),
            ("form", mark),
            ("request", url.query().unwrap_or_default()),
        ];
        let to = url.join("/login")?;
        let form = self.http.post(to.clone()).form(&fields);
        self.keep(&to, form.header(header::COOKIE, self.cookie_of(&to)).send().await?)
    }

    fn keep(&mut self, url: &Url, response: Response) -> Result<Response> {
        let jar = self.cookies.entry(origin(url)).or_default();
        for cookie in response.headers().get_all(header::SET_COOKIE) {
            let pair = cookie.to_str()?.split(';').next().unwrap_or_default();
            let (name, value) = pair.split_once('=').context("a cookie without a value")?;
            if value.is_empty() {
                jar.remove(name)
            } else {
                jar.insert(name.to_owned(), value.to_owned())
            };
        }
        Ok(response)
    }

    fn cookie_of(&self, url: &Url) -> String {
        let jar = self.cookies.get(&origin(url));
        let pairs = jar.into_iter().flatten().map(|(name, value)| format!("{name}={value}"));
        pairs.collect::<Vec<_>>().join("; ")
    }
}

/// Where a redirect leads.
async fn next(url: &Url, response: Response) -> Result<Url> {
    let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
    if let Some(location) = location {
        return Ok(url.join(location)?);
    }
    let status = response.status().as_u16();
    let mut place = url.clone();
    place.set_query(None);
    let text = response.text().await?;
    Err(StatusError { status, text }).with_context(|| format!("{place} answered"))
}

fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

fn same_origin(one: &Url, other: &Url) -> bool {
    one.origin() == other.origin()
}
