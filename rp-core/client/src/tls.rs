//! The client's trusted CAs and its own certificate.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rp_base::Secret;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject as _;

use crate::error::ClientError;

/// A client certificate with its key.
#[derive(Clone)]
pub struct Identity {
    /// The certificate and those between it and its authority.
    pub certificate_pem: String,
    pub key_pem: Secret<String>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

/// Trusts the system's authorities and those of `ca`; follows no redirect; bounded in time.
pub(crate) fn http(ca: Option<&str>, identity: Option<&Identity>) -> Result<reqwest::Client, ClientError> {
    let bad = |what: &str| ClientError::Request(format!("{what} cannot be used"));
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    for certificate in CertificateDer::pem_slice_iter(ca.unwrap_or_default().as_bytes()) {
        let certificate = certificate.map_err(|_| bad("the authority's certificate"))?;
        roots.add(certificate).map_err(|_| bad("the authority's certificate"))?;
    }
    let tls = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|_| bad("TLS"))?
        .with_root_certificates(roots);
    let tls = match identity {
        None => tls.with_no_client_auth(),
        Some(identity) => {
            let chain = CertificateDer::pem_slice_iter(identity.certificate_pem.as_bytes());
            let chain = chain.collect::<Result<Vec<_>, _>>().map_err(|_| bad("the client's certificate"))?;
            let key = PrivateKeyDer::from_pem_slice(identity.key_pem.expose().as_bytes());
            let key = key.map_err(|_| bad("the client's key"))?;
            tls.with_client_auth_cert(chain, key).map_err(|_| bad("the client's certificate"))?
        }
    };
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(Duration::from_secs(10))
        .timeout(Duration::from_secs(60))
        .user_agent(concat!("aro/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| ClientError::Request(error.to_string()))
}
