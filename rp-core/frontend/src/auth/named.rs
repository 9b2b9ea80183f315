//! Callers with a certificate of certain authorities and a certain name: the admin tool, and ARM where it is stood in
//! for.

use arc_swap::ArcSwap;
use rp_base::Timestamp;
use rp_net::clients::{ClientAuthorities, common_name};
use rp_net::tls::{ClientChain, TlsError};

use super::CertificateCheck;

/// Authorities and a name.
#[derive(Debug)]
pub struct NamedClient {
    authorities: ArcSwap<ClientAuthorities>,
    name: String,
}

impl NamedClient {
    /// Clients of these authorities (PEM) with that common name.
    ///
    /// # Errors
    /// The text has no usable certificate.
    pub fn new(ca_pem: &str, name: &str) -> Result<Self, TlsError> {
        let authorities = ArcSwap::from_pointee(ClientAuthorities::from_pem(ca_pem, "the callers' CA")?);
        Ok(Self { authorities, name: name.to_owned() })
    }

    /// Takes other authorities from now on; on an error the old ones stay.
    ///
    /// # Errors
    /// As [`NamedClient::new`].
    pub fn replace(&self, ca_pem: &str) -> Result<(), TlsError> {
        self.authorities.store(std::sync::Arc::new(ClientAuthorities::from_pem(ca_pem, "the callers' CA")?));
        Ok(())
    }
}

impl CertificateCheck for NamedClient {
    fn knows(&self, chain: &ClientChain, now: Timestamp) -> bool {
        let named = chain.leaf().and_then(common_name).is_some_and(|name| name == self.name);
        named && self.authorities.load().vouch(chain, now)
    }

    fn ready(&self, _: Timestamp) -> Result<(), String> {
        Ok(())
    }
}
