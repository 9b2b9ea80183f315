//! Who may call (`contract/frontend.md` §3): ARM by one of its certificates or a token, the admin tool by a
//! certificate.
//!
//! A certificate is asked for in the TLS handshake, which proves that the caller holds its key; here is looked at whose
//! it is. Nobody is taken whom nothing here knows.

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

pub use arm::{ArmCertificates, ArmOptions};
pub use mise::Mise;
pub use named::NamedClient;
pub use tokens::{TokenIssuer, TokenRules};

use crate::parts::{Authorizer, Caller, Taken};

/// Looks at a caller's certificate.
#[async_trait]
pub trait CertificateCheck: Send + Sync + std::fmt::Debug + 'static {
    /// Whether this is one of those that may call.
    fn knows(&self, chain: &ClientChain, now: Timestamp) -> bool;

    /// Who of those it is, of the admin side.
    fn taken(&self, _: &ClientChain) -> Taken {
        Taken::freely()
    }

    /// Whether it can tell.
    ///
    /// # Errors
    /// What it waits for, in a sentence.
    fn ready(&self, now: Timestamp) -> Result<(), String>;
}

/// Looks at a caller's token.
#[async_trait]
pub trait TokenCheck: Send + Sync + std::fmt::Debug + 'static {
    /// Whether the request's `Authorization` is good.
    async fn accepts(&self, head: &request::Parts) -> bool;

    /// Whether it can tell.
    ///
    /// # Errors
    /// What it waits for, in a sentence.
    async fn ready(&self) -> Result<(), String>;
}

/// The callers of a process in production.
#[derive(Debug, Clone)]
pub struct Callers {
    pub arm: Arc<dyn CertificateCheck>,
    /// `None`: nobody calls the admin API.
    pub admin: Option<Arc<dyn CertificateCheck>>,
    /// `None`: tokens are not looked at.
    pub tokens: Option<Arc<dyn TokenCheck>>,
    /// ARM's certificate alone is not enough, and is not looked at.
    pub tokens_required: bool,
    pub clock: SharedClock,
}

#[async_trait]
impl Authorizer for Callers {
    async fn takes(&self, caller: &Caller<'_>) -> Option<Taken> {
        let now = self.clock.now();
        let chain = caller.head.extensions.get::<ClientChain>();
        if caller.admin {
            let (admin, chain) = self.admin.as_ref().zip(chain)?;
            return admin.knows(chain, now).then(|| admin.taken(chain));
        }
        if let Some(tokens) = &self.tokens
            && tokens.accepts(caller.head).await
        {
            return Some(Taken::freely());
        }
        let known = !self.tokens_required && chain.is_some_and(|chain| self.arm.knows(chain, now));
        known.then(Taken::freely)
    }

    async fn ready(&self) -> Result<(), String> {
        let now = self.clock.now();
        if let Some(admin) = &self.admin {
            admin.ready(now)?;
        }
        match &self.tokens {
            None => self.arm.ready(now),
            Some(tokens) if self.tokens_required => tokens.ready().await,
            // Either way in is enough to serve.
            Some(tokens) => match tokens.ready().await {
                Ok(()) => Ok(()),
                Err(reason) => self.arm.ready(now).map_err(|more| format!("{reason}; {more}")),
            },
        }
    }
}
