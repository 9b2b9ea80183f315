//! What the wiring says about the provider and about sessions (`[oidc]` and `[session]` of the configuration).

use std::time::Duration;

use rp_base::Secret;
use url::Url;

/// The provider and our registration with it.
#[derive(Debug, Clone)]
pub struct OidcConfig {
    /// The issuer, exactly as the provider's discovery document names it.
    pub issuer: String,
    pub client_id: String,
    pub auth: ClientAuth,
    /// Beside `openid`; usually `profile`.
    pub scopes: Vec<String>,
    /// The claim of the ID token by which clusters know a person; `None`: `preferred_username`, else a verified `email`,
    /// else `sub`.
    pub identity_claim: Option<String>,
    /// The claim of the ID token that names groups.
    pub groups_claim: String,
    /// Where groups are asked for that do not fit into a token.
    pub groups_source: GroupsSource,
    /// PEM of CAs to trust for the provider beside the host's.
    pub ca_pem: Option<String>,
    /// The audience of access tokens that applications present to us; `None`: none is taken.
    pub api_audience: Option<String>,
}

/// Where groups are asked for that do not fit into a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupsSource {
    /// Nowhere: a page explains.
    Token,
    /// The provider's userinfo endpoint.
    Userinfo,
    /// An address that takes the access token and answers a list.
    Address(Url),
}

impl OidcConfig {
    /// A provider with the usual scopes and claim names.
    pub fn new(issuer: impl Into<String>, client_id: impl Into<String>, auth: ClientAuth) -> Self {
        Self {
            issuer: issuer.into(),
            client_id: client_id.into(),
            auth,
            scopes: vec!["profile".to_owned()],
            identity_claim: None,
            groups_claim: "groups".to_owned(),
            groups_source: GroupsSource::Token,
            ca_pem: None,
            api_audience: None,
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

/// How long sessions last and how often the provider is asked about their people (`[session]`).
#[derive(Debug, Clone, Copy)]
pub struct SessionRules {
    /// A session that is unused for this long ends.
    pub idle: Duration,
    /// A session ends after this time even if it is used.
    pub absolute: Duration,
    /// The provider is asked about each person within this time, where it gave a refresh token.
    pub revalidate: Duration,
    /// A person whom the provider has not confirmed for this long raises an alarm.
    pub alarm_after: Duration,
    /// Its back-channel logout ends grants too.
    pub backchannel_ends_grants: bool,
    /// Life of a token of the command line.
    pub cli_life: Duration,
}

impl Default for SessionRules {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(3600),
            absolute: Duration::from_secs(12 * 3600),
            revalidate: Duration::from_secs(300),
            alarm_after: Duration::from_secs(1800),
            backchannel_ends_grants: false,
            cli_life: Duration::from_secs(12 * 3600),
        }
    }
}
