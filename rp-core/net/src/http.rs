//! HTTP clients for everything that is not a cluster: the sign-in provider, our own API.

use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::Resolve;
use rustls::{ClientConfig, RootCertStore};

use crate::tls::{TlsError, certificates, provider};

/// Trusts the host's certificates and `extra_ca_pem`; follows no redirect; bounded in time.
///
/// # Errors
/// The extra CA cannot be used.
pub fn client(extra_ca_pem: Option<&str>, timeout: Duration) -> Result<reqwest::Client, TlsError> {
    finish(builder(timeout), extra_ca_pem)
}

/// As [`client`], for addresses that people enter: it dials what `resolver` gives for a name and nothing else, and keeps
/// no connection, so that every request resolves again. An IP address in a URL is dialled without the resolver: check it
/// before the call.
///
/// # Errors
/// The extra CA cannot be used.
pub fn client_with_resolver<R: Resolve + 'static>(
    extra_ca_pem: Option<&str>,
    timeout: Duration,
    resolver: Arc<R>,
) -> Result<reqwest::Client, TlsError> {
    finish(builder(timeout).dns_resolver(resolver).pool_max_idle_per_host(0), extra_ca_pem)
}

fn builder(timeout: Duration) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(Duration::from_secs(10))
        .timeout(timeout)
        .no_proxy()
}

fn finish(builder: reqwest::ClientBuilder, extra_ca_pem: Option<&str>) -> Result<reqwest::Client, TlsError> {
    let mut roots = RootCertStore::empty();
    // A host without certificates is a host that trusts only the extra CA.
    let native = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(native.certs);
    if let Some(pem) = extra_ca_pem {
        for certificate in certificates(pem, "the extra CA")? {
            roots.add(certificate).map_err(TlsError::Unusable)?;
        }
    }
    let tls = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Unusable)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    #[expect(clippy::expect_used, reason = "fails only for a TLS configuration of another library's type")]
    let client = builder.tls_backend_preconfigured(tls).build().expect("a reqwest client with our rustls");
    Ok(client)
}
