//! Callers with a certificate of certain authorities and a certain name: the tools of the admin side, and ARM where it is
//! stood in for.

use std::collections::BTreeMap;

use arc_swap::ArcSwap;
use rp_base::Timestamp;
use rp_net::clients::{ClientAuthorities, common_name};
use rp_net::tls::{ClientChain, TlsError};

use super::CertificateCheck;
use crate::admin::AdminRole;
use crate::parts::Taken;

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

    /// And clients of another common name, which may do at most that. Of two words about a name the lesser counts.
    #[must_use]
    pub fn and(mut self, name: &str, most: AdminRole) -> Self {
        let held = self.names.entry(name.to_owned()).or_insert(most);
        *held = most.min(*held);
        self
    }

    /// Takes other authorities from now on; on an error the old ones stay.
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
    fn knows(&self, chain: &ClientChain, now: Timestamp) -> bool {
        self.find(chain).is_some() && self.authorities.load().vouch(chain, now)
    }

    fn taken(&self, chain: &ClientChain) -> Taken {
        let found = self.find(chain);
        found.map_or(Taken { tool: String::new(), most: AdminRole::Reader }, |(tool, most)| Taken {
            tool,
            most,
        })
    }

    fn ready(&self, _: Timestamp) -> Result<(), String> {
        Ok(())
    }
}
