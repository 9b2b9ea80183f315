//! What this portal is: its addresses, region and version.

use url::Url;

use crate::run_books::RunBooks;

/// Addresses as people see them; never taken from a `Host` header (`contract/portal.md` "Do better" 10).
#[derive(Debug, Clone)]
pub struct Urls {
    /// The portal's own origin, e.g. `https://westeurope.admin.example`.
    pub portal: Url,
    /// Origin of the API proxy: another host name than the portal's.
    pub proxy: Url,
    /// PEM of the CA that issued the proxy's certificate; `None` when it is publicly trusted.
    pub ca_pem: Option<String>,
}

/// Link text and address.
#[derive(Debug, Clone)]
pub struct Link {
    pub text: String,
    pub url: String,
}

/// Identity of this portal: addresses, region, version.
#[derive(Debug, Clone)]
pub struct Site {
    pub urls: Urls,
    pub region: String,
    /// The build's version, as `/api/info` says it.
    pub version: String,
    /// Everything here is a simulation; every page shows that.
    pub simulated: bool,
    /// Portals of other regions.
    pub regions: Vec<Link>,
    /// Where run-books are.
    pub run_books: RunBooks,
}
