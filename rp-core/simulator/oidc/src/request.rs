//! Reading forms, queries and cookies, and the plain answers.

use std::collections::BTreeMap;

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, COOKIE, HeaderValue, LOCATION};
use hyper::{Method, Request, Response, StatusCode};
use rp_simulator::body::{self, Body};
use serde_json::Value;
use url::{Url, form_urlencoded};

use super::Shared;

/// Largest form or query.
const MOST: usize = 16 * 1024;

/// Parameters of a query or form. A name given twice is no parameter at all (RFC 6749 §3.1).
#[derive(Debug, Default)]
pub(super) struct Parameters(BTreeMap<String, Option<String>>);

impl Parameters {
    /// Reads `a=b&c=d`.
    pub(super) fn parse(encoded: &[u8]) -> Option<Self> {
        if encoded.len() > MOST {
            return None;
        }
        let mut found = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(encoded) {
            let value = Some(value.into_owned());
            found.entry(name.into_owned()).and_modify(|twice| *twice = None).or_insert(value);
        }
        Some(Self(found))
    }

    /// The value of a parameter that was given once and is not empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Option::as_deref).filter(|value| !value.is_empty())
    }

    /// Whether something was given more than once.
    pub(super) fn repeated(&self) -> bool {
        self.0.values().any(Option::is_none)
    }
}

/// The parameters of a request as it carries them (query for GET, form for POST), with their raw text.
pub(super) async fn parameters(request: Request<Incoming>) -> Option<(Parameters, String)> {
    let raw = if request.method() == Method::POST {
        let form =
            request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).is_some_and(|value| {
                value.to_ascii_lowercase().starts_with("application/x-www-form-urlencoded")
            });
        if !form {
            return None;
        }
        let bytes = body::read(request.into_body(), MOST).await?;
        String::from_utf8(bytes.to_vec()).ok()?
    } else {
        request.uri().query().unwrap_or_default().to_owned()
    };
    Parameters::parse(raw.as_bytes()).map(|parsed| (parsed, raw))
}

/// The value of one of our cookies.
pub(super) fn cookie(shared: &Shared, request: &Request<Incoming>, name: &str) -> Option<String> {
    let name = cookie_name(shared, name);
    request
        .headers()
        .get_all(COOKIE)
        .iter()
        .filter_map(|header| header.to_str().ok())
        .flat_map(|header| header.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(found, _)| *found == name)
        .map(|(_, value)| value.to_owned())
}

/// A `Set-Cookie` value; an empty value removes the cookie.
pub(super) fn set_cookie(shared: &Shared, name: &str, value: &str) -> Option<HeaderValue> {
    let secure = if shared.secure { "; Secure" } else { "" };
    let age = if value.is_empty() { "; Max-Age=0" } else { "" };
    let name = cookie_name(shared, name);
    HeaderValue::from_str(&format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{secure}{age}")).ok()
}

/// `__Host-` needs `Secure`, and that needs TLS.
fn cookie_name(shared: &Shared, name: &str) -> String {
    if shared.secure { format!("__Host-idp-{name}") } else { format!("idp-{name}") }
}

/// A JSON response that must not be cached.
pub(super) fn json(status: StatusCode, value: &Value) -> Response<Body> {
    let mut response = Response::new(body::full(value.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Sends the browser to `base` with `added` parameters in the query. `base` was registered, so it parses.
pub(super) fn redirect(base: &str, added: &[(&str, &str)]) -> Response<Body> {
    let mut response = Response::new(http_body_util::Empty::new().boxed_unsync());
    *response.status_mut() = StatusCode::SEE_OTHER;
    if let Ok(mut url) = Url::parse(base) {
        if !added.is_empty() {
            url.query_pairs_mut().extend_pairs(added);
        }
        if let Ok(value) = HeaderValue::from_str(url.as_str()) {
            response.headers_mut().insert(LOCATION, value);
        }
    }
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
