//! TLS towards what is measured, as our clients of the benchmark speak it.

use std::sync::Arc;

use anyhow::{Result, ensure};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

/// The one provider of the process.
pub(crate) fn install() {
    // A second call finds the first one's provider.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
}

/// Trusts one CA.
pub(crate) fn client(ca_pem: &str, alpn: &[&[u8]]) -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca_pem.as_bytes()) {
        roots.add(certificate?)?;
    }
    let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    Ok(Arc::new(config))
}

/// Both versions of HTTP on one port.
pub(crate) fn server(cert_pem: &[u8], key_pem: &[u8]) -> Result<Arc<ServerConfig>> {
    let chain = CertificateDer::pem_slice_iter(cert_pem).collect::<Result<Vec<_>, _>>()?;
    ensure!(!chain.is_empty(), "no certificate");
    let key = PrivateKeyDer::from_pem_slice(key_pem)?;
    let mut config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
