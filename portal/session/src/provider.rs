//! The provider: discovered when first needed, kept, its keys fetched anew when a token names another.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use jsonwebtoken::jwk::Jwk;
use openidconnect::core::{
    CoreAuthDisplay, CoreAuthPrompt, CoreClientAuthMethod, CoreErrorResponseType, CoreGenderClaim,
    CoreJsonWebKey, CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm, CoreResponseType,
    CoreRevocableToken, CoreRevocationErrorResponse, CoreTokenIntrospectionResponse, CoreTokenType,
};
use openidconnect::{
    AuthType, AuthenticationFlow, Client, ClientId, ClientSecret, CsrfToken, EmptyExtraTokenFields,
    EndpointMaybeSet, EndpointNotSet, EndpointSet, HttpRequest, HttpResponse, IdTokenClaims, IdTokenFields,
    IssuerUrl, Nonce, PkceCodeChallenge, PkceCodeVerifier, ProviderMetadataWithLogout, RedirectUrl, Scope,
    StandardErrorResponse, StandardTokenResponse,
};
use rp_base::{Secret, SharedClock, Timestamp, chain};
use rp_net::assertion::{AssertionError, Signer};
use rp_net::tls::TlsError;
use tokio::sync::Mutex;
use url::Url;

use crate::claims::ExtraClaims;
use crate::config::{ClientAuth, OidcConfig};
use crate::exchange::{Exchange, ExchangeError};
use crate::signin_cookie::PendingSignIn;

type Fields = IdTokenFields<
    ExtraClaims,
    EmptyExtraTokenFields,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJwsSigningAlgorithm,
>;
pub type Tokens = StandardTokenResponse<Fields, CoreTokenType>;
type Oidc = Client<
    ExtraClaims,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    StandardErrorResponse<CoreErrorResponseType>,
    Tokens,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;
pub type IdToken = openidconnect::IdToken<
    ExtraClaims,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJwsSigningAlgorithm,
>;
pub type Claims = IdTokenClaims<ExtraClaims, CoreGenderClaim>;

/// Tolerated clock skew.
pub const LEEWAY: Duration = Duration::from_secs(120);
/// Discovery is repeated after this time.
const FRESH: Duration = Duration::from_secs(24 * 3600);
/// Minimum time between two discoveries that unknown keys or failures cause.
const LEAST_BETWEEN: Duration = Duration::from_secs(5);

/// What the provider is to ask of a person who has a session there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prompt {
    /// Nothing.
    Nothing,
    /// Which account.
    Account,
    /// To sign in again.
    SignIn,
}

/// Why a sign-in cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    #[error("the provider is away: {0}")]
    Away(String),
    #[error("the provider refused: {code}")]
    Refused { code: String, description: String },
    #[error("the provider's clock is {0} s ahead of ours, or behind when negative")]
    Clock(i64),
    #[error("the ID token is not good: {0}")]
    BadToken(String),
    #[error("the person has no name that can be used: {0}")]
    Identity(&'static str),
    #[error("the person did not sign in anew")]
    NotFresh,
    #[error("our settings do not fit the provider: {0}")]
    Settings(String),
}

/// What is wrong with the sign-in settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("the issuer is no URL")]
    Issuer,
    #[error("the portal's URL cannot have a path")]
    PortalUrl,
    #[error(transparent)]
    Credential(#[from] AssertionError),
    #[error(transparent)]
    Authority(#[from] TlsError),
}

/// One provider and our registration with it.
#[derive(Debug)]
pub struct Provider {
    pub config: OidcConfig,
    redirect: RedirectUrl,
    after_logout: Url,
    pub signer: Option<Signer>,
    pub exchange: Arc<dyn Exchange>,
    known: ArcSwapOption<DiscoveredProvider>,
    /// Time of the last discovery; the lock allows one at a time.
    asking: Mutex<Option<Timestamp>>,
    pub clock: SharedClock,
    issuer_origin: String,
}

/// The provider's discovered metadata.
pub struct DiscoveredProvider {
    pub client: Oidc,
    pub token_endpoint: Option<String>,
    pub userinfo: Option<Url>,
    /// Its signing keys.
    pub keys: Vec<Jwk>,
    end_session: Option<Url>,
    read: Timestamp,
}

impl std::fmt::Debug for DiscoveredProvider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Known").field("end_session", &self.end_session).finish_non_exhaustive()
    }
}

type ExchangeFuture = Pin<Box<dyn Future<Output = Result<HttpResponse, ExchangeError>> + Send>>;

impl Provider {
    /// Sends no request yet.
    ///
    /// # Errors
    /// [`SettingsError`].
    pub fn new(
        config: OidcConfig,
        portal: &Url,
        exchange: Arc<dyn Exchange>,
        clock: SharedClock,
    ) -> Result<Self, SettingsError> {
        let issuer = Url::parse(&config.issuer).map_err(|_| SettingsError::Issuer)?;
        let redirect = portal.join("/callback").map_err(|_| SettingsError::PortalUrl)?;
        let signer = match &config.auth {
            ClientAuth::PrivateKey { key_pem, certificate_pem, .. } => {
                Some(Signer::new(key_pem, certificate_pem)?)
            }
            ClientAuth::Secret(_) | ClientAuth::Public => None,
        };
        Ok(Self {
            redirect: RedirectUrl::from_url(redirect),
            after_logout: portal.join("/").map_err(|_| SettingsError::PortalUrl)?,
            signer,
            exchange,
            known: ArcSwapOption::empty(),
            asking: Mutex::new(None),
            clock,
            issuer_origin: issuer.origin().ascii_serialization(),
            config,
        })
    }

    pub fn issuer(&self) -> &str {
        &self.config.issuer
    }

    pub fn client_id(&self) -> &str {
        &self.config.client_id
    }

    pub fn api_audience(&self) -> Option<&str> {
        self.config.options.api_audience.as_deref()
    }

    pub fn groups_claim(&self) -> &str {
        &self.config.options.groups_claim
    }

    /// Origins that a form may be sent on to, as CSP sources: sign-out redirects there.
    pub fn form_targets(&self) -> String {
        let mut targets = format!(" {}", self.issuer_origin);
        let end = self.known.load().as_ref().and_then(|known| known.end_session.clone());
        if let Some(origin) = end.map(|url| url.origin().ascii_serialization())
            && origin != self.issuer_origin
        {
            targets.push(' ');
            targets.push_str(&origin);
        }
        targets
    }

    pub fn http(&self) -> impl Fn(HttpRequest) -> ExchangeFuture + Send + Sync + 'static {
        let exchange = Arc::clone(&self.exchange);
        move |request| {
            let exchange = Arc::clone(&exchange);
            Box::pin(async move { exchange.send(request).await })
        }
    }

    /// The provider's metadata, discovered if necessary.
    pub async fn discovered(&self) -> Result<Arc<DiscoveredProvider>, SignInError> {
        match self.known.load_full() {
            Some(known) if self.clock.now() < known.read + FRESH => Ok(known),
            Some(known) => Ok(self.discover(Some(&known)).await.unwrap_or(known)),
            None => self.discover(None).await,
        }
    }

    /// Discovers anew, unless somebody else did since `seen`. Many who wait share one answer, and a
    /// provider that is away is not asked by each of them.
    pub async fn discover(
        &self,
        seen: Option<&Arc<DiscoveredProvider>>,
    ) -> Result<Arc<DiscoveredProvider>, SignInError> {
        let mut last = self.asking.lock().await;
        let current = self.known.load_full();
        let newer = match (&current, seen) {
            (Some(current), Some(seen)) => !Arc::ptr_eq(current, seen),
            (Some(_), None) => true,
            (None, _) => false,
        };
        let now = self.clock.now();
        let lately = last.is_some_and(|at| now < at + LEAST_BETWEEN);
        match current {
            Some(known) if newer || lately => return Ok(known),
            None if lately => return Err(SignInError::Away("it did not answer a moment ago".to_owned())),
            _ => *last = Some(now),
        }
        let issuer = IssuerUrl::new(self.config.issuer.clone())
            .map_err(|_| SignInError::Settings("the issuer is no URL".to_owned()))?;
        let metadata = ProviderMetadataWithLogout::discover_async(issuer, &self.http())
            .await
            .map_err(|error| SignInError::Away(chain(&error).to_string()))?;
        let known = Arc::new(self.read_metadata(metadata));
        self.known.store(Some(Arc::clone(&known)));
        tracing::info!(issuer = %self.config.issuer, "sign-in provider discovered");
        Ok(known)
    }

    fn read_metadata(&self, metadata: ProviderMetadataWithLogout) -> DiscoveredProvider {
        let end = metadata.additional_metadata().end_session_endpoint.as_ref().map(|url| url.url().clone());
        let token_endpoint = metadata.token_endpoint().map(|url| url.as_str().to_owned());
        let userinfo = metadata.userinfo_endpoint().map(|url| url.url().clone());
        let keys = keys(metadata.jwks());
        let basic = metadata
            .token_endpoint_auth_methods_supported()
            .is_none_or(|methods| methods.contains(&CoreClientAuthMethod::ClientSecretBasic));
        let secret = match &self.config.auth {
            ClientAuth::Secret(secret) => Some(ClientSecret::new(secret.expose().clone())),
            ClientAuth::PrivateKey { .. } | ClientAuth::Public => None,
        };
        let by = if basic && secret.is_some() { AuthType::BasicAuth } else { AuthType::RequestBody };
        let id = ClientId::new(self.config.client_id.clone());
        let client = Client::from_provider_metadata(metadata, id, secret)
            .set_auth_type(by)
            .set_redirect_uri(self.redirect.clone());
        DiscoveredProvider {
            client,
            token_endpoint,
            userinfo,
            keys,
            end_session: end,
            read: self.clock.now(),
        }
    }

    /// Where a browser begins its sign-in.
    pub async fn authorize(&self, begun: &PendingSignIn, prompt: Prompt) -> Result<Url, SignInError> {
        let known = self.discovered().await?;
        let verifier = PkceCodeVerifier::new(begun.verifier.clone());
        let (state, nonce) = (begun.state.clone(), begun.nonce.clone());
        let mut request = known
            .client
            .authorize_url(
                AuthenticationFlow::<CoreResponseType>::AuthorizationCode,
                || CsrfToken::new(state),
                || Nonce::new(nonce),
            )
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier));
        // The client adds `openid` itself.
        for scope in self.config.options.scopes.iter().filter(|scope| *scope != "openid") {
            request = request.add_scope(Scope::new(scope.clone()));
        }
        let request = match prompt {
            Prompt::Nothing => request,
            Prompt::Account => request.add_prompt(CoreAuthPrompt::SelectAccount),
            // `max_age` makes the provider say when (Core §3.1.2.1).
            Prompt::SignIn => request.add_prompt(CoreAuthPrompt::Login).set_max_age(Duration::ZERO),
        };
        Ok(request.url().0)
    }

    /// Where a browser ends the provider's session; `None` when the provider cannot or is away.
    pub async fn end_session(&self, id_token: Option<&Secret<String>>) -> Option<Url> {
        let mut url = self.discovered().await.ok()?.end_session.clone()?;
        {
            let mut query = url.query_pairs_mut();
            query.append_pair("client_id", &self.config.client_id);
            query.append_pair("post_logout_redirect_uri", self.after_logout.as_str());
            if let Some(token) = id_token {
                query.append_pair("id_token_hint", token.expose());
            }
        }
        Some(url)
    }
}

/// The keys in the form in which other tokens than ID tokens are checked; unknown kinds are left out.
fn keys(set: &impl serde::Serialize) -> Vec<Jwk> {
    let set = serde_json::to_value(set).unwrap_or_default();
    let keys = set.get("keys").and_then(serde_json::Value::as_array).cloned().unwrap_or_default();
    keys.into_iter().filter_map(|key| serde_json::from_value(key).ok()).collect()
}
