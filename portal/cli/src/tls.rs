//! How the portal is reached: whom to trust, and for how long to wait.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject as _;

use crate::{CliError, files};

/// The PEM certificates of a file, at least one and all sound.
pub(crate) fn authorities(path: &Path) -> Result<String, CliError> {
    let pem = files::read(path)?;
    let mut trial = RootCertStore::empty();
    add(&mut trial, pem.expose()).ok_or_else(|| CliError::BadFile {
        path: path.to_owned(),
        what: "holds no usable PEM certificate",
    })?;
    Ok(pem.expose().clone())
}

fn add(roots: &mut RootCertStore, pem: &str) -> Option<()> {
    let before = roots.len();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        roots.add(certificate.ok()?).ok()?;
    }
    (roots.len() > before).then_some(())
}

/// Trusts the system's authorities and those of `pem`.
pub(crate) fn config(pem: Option<&str>) -> Result<ClientConfig, CliError> {
    let mut roots = RootCertStore::empty();
    // A system without authorities trusts only the file.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(pem) = pem {
        let bad =
            || CliError::Usage("the remembered authority is damaged: sign in with --ca-file".to_owned());
        add(&mut roots, pem).ok_or_else(bad)?;
    }
    Ok(ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(CliError::Tls)?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

/// Trusts as [`config`]; follows no redirect; bounded in time.
pub(crate) fn http(pem: Option<&str>) -> Result<reqwest::Client, CliError> {
    reqwest::Client::builder()
        .tls_backend_preconfigured(config(pem)?)
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(Duration::from_secs(10))
        .timeout(Duration::from_secs(60))
        .user_agent(concat!("aro/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|cause| CliError::Unreachable { host: "any address".to_owned(), cause })
}
