//! `[portal]` and `[proxy]`: how they are reached.

use rp_settings::{Key, Kind, Reader, origin, read_by, section, texts};
use url::Url;

section! {
    /// How browsers reach the portal.
    "portal" pub struct Portal {
        /// The portal's address as browsers see it; also the redirect address of sign-in.
        url: Option<Url> = origin("").also_as("PORTAL_HOSTNAME", https),
        /// Run-books of cluster operators: NAME=URL each; the name * is for all others, {name} in a URL stands for the
        /// operator's name.
        runbooks: Vec<(String, String)> = read_by(Kind::Texts, "", runbooks),
        /// Portals of other regions: NAME=URL each. They go before those that `azure.locations` names.
        regions: Vec<(String, Url)> = read_by(Kind::Texts, "", regions),
    }
}

section! {
    /// How kubectl and its kind reach the proxy.
    "proxy" pub struct Proxy {
        /// The API proxy's address as kubectl sees it; its host name must not be the portal's.
        url: Option<Url> = origin(""),
        /// Further host names under which the API proxy answers.
        hosts: Vec<String> = texts(""),
    }
}

fn https(host: &str) -> String {
    format!("https://{host}")
}

/// Names and `https` addresses.
fn runbooks(r: &mut Reader, key: &'static Key) -> Vec<(String, String)> {
    let mut books = Vec::new();
    for text in r.texts(key) {
        match text.split_once('=') {
            Some((name, url)) if !name.trim().is_empty() && url.trim().starts_with("https://") => {
                books.push((name.trim().to_owned(), url.trim().to_owned()));
            }
            _ => r.mistake(key.path, format!("{text:?} is not NAME=https://…")),
        }
    }
    books
}

/// Names of regions and the origins of their portals.
fn regions(r: &mut Reader, key: &'static Key) -> Vec<(String, Url)> {
    let mut regions = Vec::new();
    for text in r.texts(key) {
        let named = text.split_once('=').map(|(name, address)| (name.trim(), address.trim()));
        let read = named.and_then(|(name, address)| Some((name.to_owned(), Url::parse(address).ok()?)));
        match read {
            Some((name, url)) if !name.is_empty() && url.scheme() == "https" && url.host_str().is_some() => {
                regions.push((name, url));
            }
            _ => r.mistake(key.path, format!("{text:?} is not NAME=https://…")),
        }
    }
    regions
}

/// `hosts` becomes every host name under which the API proxy answers: lower case, without ports, the URL's first.
pub(crate) fn read_proxy(r: &mut Reader, portal: &Portal) -> Proxy {
    let Proxy { url, hosts: further } = Proxy::read(r);
    let host = |url: &Url| url.host_str().map(str::to_ascii_lowercase);
    let mut hosts: Vec<String> = url.as_ref().and_then(host).into_iter().collect();
    hosts.extend(further.into_iter().map(|name| name.to_ascii_lowercase()));
    if let Some(same) = portal.url.as_ref().and_then(host).filter(|name| hosts.contains(name)) {
        let message = format!(
            "must not be the portal's host name {same}: pages and proxied answers must not share cookies"
        );
        r.mistake("proxy.url", message);
    }
    Proxy { url, hosts }
}
