//! Who may call (`contract/frontend.md` §3): ARM by one of its certificates or a token, the admin tool by a
//! certificate.
//!
//! The TLS handshake requests a certificate and proves that the caller holds its key; this module checks whose
//! it is. Unknown callers are refused.

mod arm;
mod mise;
mod named;
#[cfg(test)]
mod tests;
mod tokens;

use std::sync::Arc;

use async_trait::async_trait;
use http::request;
use rp_base::{SharedClock, Timestamp};
use rp_net::tls::ClientChain;

pub use arm::{ArmCertificates, ArmError, ArmOptions};
pub use mise::Mise;
pub use named::NamedClient;
pub use tokens::{FetchError, TokenError, TokenIssuer, TokenRules};

use crate::dependencies::{AuthorizedCaller, Authorizer, Caller};
use crate::not_ready::NotReady;

/// Checks a caller's certificate.
#[async_trait]
pub trait CertificateCheck: Send + Sync + std::fmt::Debug + 'static {
    /// Whether the certificate is one of those that may call.
    fn trusts(&self, chain: &ClientChain, now: Timestamp) -> bool;

    /// The authorized caller that the certificate identifies, for admin calls.
    fn identify(&self, _: &ClientChain) -> AuthorizedCaller {
        AuthorizedCaller::unrestricted()
    }

    /// Whether it can decide.
    ///
    /// # Errors
    /// What it waits for.
    fn ready(&self, now: Timestamp) -> Result<(), NotReady>;
}

/// Checks a caller's token.
#[async_trait]
pub trait TokenCheck: Send + Sync + std::fmt::Debug + 'static {
    /// Whether the request's `Authorization` is good.
    async fn accepts(&self, head: &request::Parts) -> bool;

    /// Whether it can decide.
    ///
    /// # Errors
    /// What it waits for.
    async fn ready(&self) -> Result<(), NotReady>;
}

/// The callers of a process in production.
#[derive(Debug, Clone)]
pub struct Callers {
    pub arm: Arc<dyn CertificateCheck>,
    /// `None`: the admin API refuses every caller.
    pub admin: Option<Arc<dyn CertificateCheck>>,
    /// `None`: tokens are not checked.
    pub tokens: Option<Arc<dyn TokenCheck>>,
    /// A token is required: ARM's certificate is not checked.
    pub tokens_required: bool,
    pub clock: SharedClock,
}

#[async_trait]
impl Authorizer for Callers {
    async fn authorize(&self, caller: &Caller<'_>) -> Option<AuthorizedCaller> {
        let now = self.clock.now();
        let chain = caller.head.extensions.get::<ClientChain>();
        if caller.admin {
            let (admin, chain) = self.admin.as_ref().zip(chain)?;
            return admin.trusts(chain, now).then(|| admin.identify(chain));
        }
        if let Some(tokens) = &self.tokens
            && tokens.accepts(caller.head).await
        {
            return Some(AuthorizedCaller::unrestricted());
        }
        let known = !self.tokens_required && chain.is_some_and(|chain| self.arm.trusts(chain, now));
        known.then(AuthorizedCaller::unrestricted)
    }

    async fn ready(&self) -> Result<(), NotReady> {
        let now = self.clock.now();
        if let Some(admin) = &self.admin {
            admin.ready(now)?;
        }
        match &self.tokens {
            None => self.arm.ready(now),
            Some(tokens) if self.tokens_required => tokens.ready().await,
            // One usable kind of authentication is enough to be ready.
            Some(tokens) => match tokens.ready().await {
                Ok(()) => Ok(()),
                Err(tokens) => self.arm.ready(now).map_err(|certificates| NotReady::Callers {
                    tokens: Box::new(tokens),
                    certificates: Box::new(certificates),
                }),
            },
        }
    }
}
