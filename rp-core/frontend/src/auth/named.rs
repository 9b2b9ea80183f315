//! Callers with a certificate of certain authorities and a certain name: the tools of the admin side, and a fake ARM
//! in tests.

use std::collections::BTreeMap;

use arc_swap::ArcSwap;
use rp_base::Timestamp;
use rp_net::clients::{ClientAuthorities, common_name};
use rp_net::tls::{ClientChain, TlsError};

use super::CertificateCheck;
use crate::admin::AdminRole;
use crate::dependencies::AuthorizedCaller;
use crate::not_ready::NotReady;

/// Authorities and names.
#[derive(Debug)]
pub struct NamedClient {
    authorities: ArcSwap<ClientAuthorities>,
    /// The most that each may do over the admin API.
    names: BTreeMap<String, AdminRole>,
}

impl NamedClient {
    /// Clients of these authorities (PEM) with that common name, which may do everything.
    ///
    /// # Errors
    /// The text has no usable certificate.
    pub fn new(ca_pem: &str, name: &str) -> Result<Self, TlsError> {
        let authorities = ArcSwap::from_pointee(ClientAuthorities::from_pem(ca_pem, "the callers' CA")?);
        Ok(Self { authorities, names: BTreeMap::from([(name.to_owned(), AdminRole::Elevated)]) })
    }

    /// Also accepts clients with another common name, with that role at most. If a name is added
    /// twice, the lower role counts.
    #[must_use]
    pub fn and(mut self, name: &str, most: AdminRole) -> Self {
        let held = self.names.entry(name.to_owned()).or_insert(most);
        *held = most.min(*held);
        self
    }

    /// Replaces the authorities; on an error the old ones stay.
    ///
    /// # Errors
    /// As [`NamedClient::new`].
    pub fn replace(&self, ca_pem: &str) -> Result<(), TlsError> {
        self.authorities.store(std::sync::Arc::new(ClientAuthorities::from_pem(ca_pem, "the callers' CA")?));
        Ok(())
    }

    fn find(&self, chain: &ClientChain) -> Option<(String, AdminRole)> {
        self.names
            .get_key_value(&chain.leaf().and_then(common_name)?)
            .map(|(name, most)| (name.clone(), *most))
    }
}

impl CertificateCheck for NamedClient {
    fn trusts(&self, chain: &ClientChain, now: Timestamp) -> bool {
        self.find(chain).is_some() && self.authorities.load().vouch(chain, now)
    }

    fn identify(&self, chain: &ClientChain) -> AuthorizedCaller {
        let found = self.find(chain);
        found.map_or(AuthorizedCaller { tool: String::new(), most: AdminRole::Reader }, |(tool, most)| {
            AuthorizedCaller { tool, most }
        })
    }

    fn ready(&self, _: Timestamp) -> Result<(), NotReady> {
        Ok(())
    }
}
