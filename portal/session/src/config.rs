//! What the wiring says about the provider: `[oidc]` of the configuration with its files read.

use rp_base::Secret;
use url::Url;

/// The provider and our registration with it.
#[derive(Debug, Clone)]
pub struct OidcConfig {
    /// The issuer, exactly as the provider's discovery document names it.
    pub issuer: String,
    pub client_id: String,
    pub auth: ClientAuth,
    /// PEM of CAs to trust for the provider beside the host's.
    pub ca_pem: Option<String>,
    /// What is asked of the provider, as it was configured.
    pub options: rp_config::OidcOptions,
}

impl OidcConfig {
    /// A provider with the usual options.
    pub fn new(issuer: impl Into<String>, client_id: impl Into<String>, auth: ClientAuth) -> Self {
        Self {
            issuer: issuer.into(),
            client_id: client_id.into(),
            auth,
            ca_pem: None,
            options: rp_config::OidcOptions::default(),
        }
    }
}

/// How we authenticate to the token endpoint.
#[derive(Debug, Clone)]
pub enum ClientAuth {
    /// A shared secret, by HTTP Basic, or in the body where the provider knows nothing else.
    Secret(Secret<String>),
    /// A signed assertion, `private_key_jwt` (RFC 7523).
    PrivateKey {
        /// PEM: RSA private key and the certificate that the registration knows.
        key_pem: Secret<String>,
        certificate_pem: String,
        audience: AssertionAudience,
    },
    /// A public client: PKCE alone.
    Public,
}

/// Whom a client assertion is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AssertionAudience {
    /// The token endpoint's address: what Entra and most providers want.
    TokenEndpoint,
    /// The issuer: what RFC 7523bis recommends.
    Issuer,
    /// A fixed value.
    Other(Url),
}
