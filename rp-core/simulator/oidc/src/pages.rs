//! The provider's few pages: no script, one stylesheet, a strict policy.

use std::collections::BTreeSet;

use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, SET_COOKIE};
use hyper::{Response, StatusCode};
use rp_simulator::body::{self, Body};
use url::Url;

use super::state::secret;
use super::{Shared, request};

const STYLE: &str = include_str!("login.css");

/// The sign-in form. `asked` is the authorisation request's query, passed through.
pub(super) fn sign_in(
    shared: &Shared,
    asked: &str,
    name: &str,
    wrong: Option<&str>,
    status: StatusCode,
) -> Response<Body> {
    let token = secret(&*shared.random);
    let alert = wrong.map_or_else(String::new, |why| {
        format!("<p class=\"alert\" role=\"alert\" id=\"why\">{}</p>", escape(why))
    });
    let described = if wrong.is_some() { " aria-describedby=\"why\" aria-invalid=\"true\"" } else { "" };
    // The first field that the person still has to fill in.
    let (name_focus, password_focus) = if name.is_empty() { (" autofocus", "") } else { ("", " autofocus") };
    let main = format!(
        "<h1>Sign in</h1>{alert}\
         <form method=\"post\" action=\"/login\">\
         <input type=\"hidden\" name=\"request\" value=\"{}\"><input type=\"hidden\" name=\"form\" value=\"{token}\">\
         <label for=\"name\">Account</label>\
         <input id=\"name\" name=\"name\" value=\"{}\" autocomplete=\"username\" autocapitalize=\"none\" \
         spellcheck=\"false\" maxlength=\"100\" required{described}{name_focus}>\
         <label for=\"password\">Password</label>\
         <input id=\"password\" name=\"password\" type=\"password\" autocomplete=\"current-password\" \
         maxlength=\"200\" required{described}{password_focus}>\
         <button type=\"submit\">Sign in</button></form>\
         <p class=\"hint\">Accounts and passwords were printed when the development server started; they are \
         also in <code>dev.json</code> in its data folder.</p>",
        escape(asked),
        escape(name),
    );
    let mut response = page(shared, status, "Sign in", &main);
    if let Some(header) = request::set_cookie(shared, "form", &token) {
        response.headers_mut().append(SET_COOKIE, header);
    }
    response
}

/// Asks whether to sign out.
pub(super) fn sign_out(shared: &Shared, back: &str, state: &str) -> Response<Body> {
    let token = secret(&*shared.random);
    let main = format!(
        "<h1>Sign out?</h1><p>This ends your session at the development sign-in.</p>\
         <form method=\"post\" action=\"/logout\"><input type=\"hidden\" name=\"form\" value=\"{token}\">\
         <input type=\"hidden\" name=\"post_logout_redirect_uri\" value=\"{}\">\
         <input type=\"hidden\" name=\"state\" value=\"{}\"><button type=\"submit\">Sign out</button></form>",
        escape(back),
        escape(state),
    );
    let mut response = page(shared, StatusCode::OK, "Sign out", &main);
    if let Some(header) = request::set_cookie(shared, "form", &token) {
        response.headers_mut().append(SET_COOKIE, header);
    }
    response
}

/// The end of a session, where there is nowhere to go back to.
pub(super) fn signed_out(shared: &Shared) -> Response<Body> {
    page(shared, StatusCode::OK, "Signed out", "<h1>Signed out</h1><p>You can close this page.</p>")
}

/// What the bare address shows.
pub(super) fn front(shared: &Shared) -> Response<Body> {
    let main = "<h1>Development sign-in</h1><p>The OpenID provider of a simulated region. \
                Start at the portal: it sends you here when it needs to.</p>";
    page(shared, StatusCode::OK, "Development sign-in", main)
}

/// An error page, for errors that are not sent to the client.
pub(super) fn failure(shared: &Shared, status: StatusCode, why: &str) -> Response<Body> {
    let main = format!(
        "<h1>That did not work</h1><p class=\"alert\" role=\"alert\">{}</p>\
         <p>Go back to the portal and try again.</p>",
        escape(why)
    );
    page(shared, status, "That did not work", &main)
}

/// `/login.css`.
pub(super) fn stylesheet() -> Response<Body> {
    let mut response = Response::new(body::full(STYLE));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/css; charset=utf-8"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("max-age=3600"));
    response
}

fn page(shared: &Shared, status: StatusCode, title: &str, main: &str) -> Response<Body> {
    let html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>{title} · development sign-in</title>\
         <link rel=\"stylesheet\" href=\"/login.css\"></head><body><main>\
         <p class=\"badge\">Simulated sign-in</p>{main}</main></body></html>\n"
    );
    let mut response = Response::new(body::full(html));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(policy) = HeaderValue::from_str(&policy(shared)) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// `form-action` also holds for the redirect that answers a form, so the client's origins are in it.
fn policy(shared: &Shared) -> String {
    let uris = shared.redirect_uris.iter().chain(&shared.post_logout_redirect_uris);
    let origins: BTreeSet<String> =
        uris.filter_map(|uri| Url::parse(uri).ok()).map(|url| url.origin().ascii_serialization()).collect();
    let origins: Vec<String> = origins.into_iter().collect();
    format!(
        "default-src 'none'; style-src 'self'; form-action 'self' {}; frame-ancestors 'none'; base-uri 'none'",
        origins.join(" ")
    )
}

/// Text for HTML content and quoted attributes.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}
