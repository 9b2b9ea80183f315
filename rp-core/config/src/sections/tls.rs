//! `[tls]`.

use std::path::PathBuf;

use rp_settings::check::pair;
use rp_settings::{Reader, SecretFile, optional_file, secret, section};

section! {
    /// Certificates of our listeners; read again when they change.
    "tls" pub(crate) struct TlsKeys {
        /// PEM: leaf certificate, then the chain.
        cert_file: Option<PathBuf> = optional_file().followed(),
        /// PEM: the leaf's private key.
        key_file: Option<SecretFile> = secret().followed(),
        /// PEM: the CA that kubeconfigs carry; left out when clients know it already.
        ca_file: Option<PathBuf> = optional_file(),
    }
}

/// A certificate with its key.
#[derive(Debug, Clone)]
pub struct Tls {
    pub cert_file: PathBuf,
    pub key_file: SecretFile,
    pub ca_file: Option<PathBuf>,
}

/// Both of certificate and key, or none.
pub(crate) fn read(r: &mut Reader) -> Option<Tls> {
    let TlsKeys { cert_file, key_file, ca_file } = TlsKeys::read(r);
    pair(r, ("tls.cert_file", cert_file.is_some()), ("tls.key_file", key_file.is_some()));
    Some(Tls { cert_file: cert_file?, key_file: key_file?, ca_file })
}
