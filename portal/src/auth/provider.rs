//! The provider: discovered when first needed, kept, its keys fetched anew when a token names another.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use arc_swap::ArcSwapOption;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openidconnect::core::{
    CoreAuthDisplay, CoreAuthPrompt, CoreClientAuthMethod, CoreErrorResponseType, CoreGenderClaim,
    CoreJsonWebKey, CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm, CoreResponseType,
    CoreRevocableToken, CoreRevocationErrorResponse, CoreTokenIntrospectionResponse, CoreTokenType,
};
use openidconnect::{
    AuthType, AuthenticationFlow, AuthorizationCode, ClaimsVerificationError, Client, ClientId, ClientSecret,
    CsrfToken, EmptyExtraTokenFields, EndpointMaybeSet, EndpointNotSet, EndpointSet, HttpRequest,
    HttpResponse, IdTokenClaims, IdTokenFields, IssuerUrl, Nonce, PkceCodeChallenge, PkceCodeVerifier,
    ProviderMetadataWithLogout, RedirectUrl, RequestTokenError, Scope, SignatureVerificationError,
    StandardErrorResponse, StandardTokenResponse, TokenResponse as _,
};
use rp_base::{Random, Secret, SharedClock, Timestamp, chain};
use tokio::sync::Mutex;
use url::Url;

use super::assertion::{self, Signer};
use super::claims::Extra;
use super::config::{AssertionAudience, ClientAuth, OidcConfig};
use super::exchange::{Exchange, ExchangeError};
use super::signin_cookie::Begun;

type Fields = IdTokenFields<
    Extra,
    EmptyExtraTokenFields,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJwsSigningAlgorithm,
>;
type Tokens = StandardTokenResponse<Fields, CoreTokenType>;
type Oidc = Client<
    Extra,
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
type IdToken = openidconnect::IdToken<
    Extra,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJwsSigningAlgorithm,
>;
pub(crate) type Claims = IdTokenClaims<Extra, CoreGenderClaim>;

const FUTURE: &str = "issued in our future";
/// Clocks may differ by this much.
const LEEWAY: Duration = Duration::from_secs(120);
/// What was discovered is asked for again after this time.
const FRESH: Duration = Duration::from_secs(24 * 3600);
/// Unknown keys and failures make us ask at most this often.
const LEAST_BETWEEN: Duration = Duration::from_secs(5);

/// Why a sign-in cannot go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SignInError {
    #[error("the provider is away: {0}")]
    Away(String),
    #[error("the provider refused: {code}")]
    Refused { code: String, description: String },
    #[error("the provider's clock is {0} s ahead of ours, or behind when negative")]
    Clock(i64),
    #[error("the ID token is not good: {0}")]
    BadToken(String),
    #[error("our settings do not fit the provider: {0}")]
    Settings(String),
}

/// One provider and our registration with it.
#[derive(Debug)]
pub(crate) struct Provider {
    config: OidcConfig,
    redirect: RedirectUrl,
    after_logout: Url,
    signer: Option<Signer>,
    exchange: Arc<dyn Exchange>,
    known: ArcSwapOption<Known>,
    /// When it was last asked; one asks at a time.
    asking: Mutex<Option<Timestamp>>,
    clock: SharedClock,
    issuer_origin: String,
}

struct Known {
    client: Oidc,
    token_endpoint: Option<String>,
    end_session: Option<Url>,
    read: Timestamp,
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Known").field("end_session", &self.end_session).finish_non_exhaustive()
    }
}

type Answer = Pin<Box<dyn Future<Output = Result<HttpResponse, ExchangeError>> + Send>>;

impl Provider {
    /// Asks nobody yet.
    pub(crate) fn new(
        config: OidcConfig,
        portal: &Url,
        exchange: Arc<dyn Exchange>,
        clock: SharedClock,
    ) -> Result<Self, String> {
        let issuer = Url::parse(&config.issuer).map_err(|_| "the issuer is no URL".to_owned())?;
        let redirect =
            portal.join("/callback").map_err(|_| "the portal's URL cannot have a path".to_owned())?;
        let signer = match &config.auth {
            ClientAuth::PrivateKey { key_pem, certificate_pem, .. } => {
                Some(Signer::new(key_pem, certificate_pem)?)
            }
            ClientAuth::Secret(_) | ClientAuth::Public => None,
        };
        Ok(Self {
            redirect: RedirectUrl::from_url(redirect),
            after_logout: portal.join("/").map_err(|_| "the portal's URL cannot have a path".to_owned())?,
            signer,
            exchange,
            known: ArcSwapOption::empty(),
            asking: Mutex::new(None),
            clock,
            issuer_origin: issuer.origin().ascii_serialization(),
            config,
        })
    }

    pub(crate) fn issuer(&self) -> &str {
        &self.config.issuer
    }

    pub(crate) fn groups_claim(&self) -> &str {
        &self.config.groups_claim
    }

    /// Origins that a form may be sent on to, as CSP sources: sign-out redirects there.
    pub(crate) fn form_targets(&self) -> String {
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

    fn http(&self) -> impl Fn(HttpRequest) -> Answer + Send + Sync + 'static {
        let exchange = Arc::clone(&self.exchange);
        move |request| {
            let exchange = Arc::clone(&exchange);
            Box::pin(async move { exchange.send(request).await })
        }
    }

    /// What is known of the provider, discovered if need be.
    async fn known(&self) -> Result<Arc<Known>, SignInError> {
        match self.known.load_full() {
            Some(known) if self.clock.now() < known.read + FRESH => Ok(known),
            Some(known) => Ok(self.discover(Some(&known)).await.unwrap_or(known)),
            None => self.discover(None).await,
        }
    }

    /// Discovers anew, unless somebody else did since `seen`. Many who wait share one answer, and a
    /// provider that is away is not asked by each of them.
    async fn discover(&self, seen: Option<&Arc<Known>>) -> Result<Arc<Known>, SignInError> {
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
        let known = Arc::new(self.understand(metadata));
        self.known.store(Some(Arc::clone(&known)));
        tracing::info!(issuer = %self.config.issuer, "sign-in provider discovered");
        Ok(known)
    }

    fn understand(&self, metadata: ProviderMetadataWithLogout) -> Known {
        let end = metadata.additional_metadata().end_session_endpoint.as_ref().map(|url| url.url().clone());
        let token_endpoint = metadata.token_endpoint().map(|url| url.as_str().to_owned());
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
        Known { client, token_endpoint, end_session: end, read: self.clock.now() }
    }

    /// Where a browser begins its sign-in.
    pub(crate) async fn authorize(&self, begun: &Begun, choose: bool) -> Result<Url, SignInError> {
        let known = self.known().await?;
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
        for scope in &self.config.scopes {
            request = request.add_scope(Scope::new(scope.clone()));
        }
        if choose {
            request = request.add_prompt(CoreAuthPrompt::SelectAccount);
        }
        Ok(request.url().0)
    }

    /// Redeems a code: the checked claims and the ID token itself (for sign-out).
    pub(crate) async fn redeem(
        &self,
        code: String,
        begun: &Begun,
        now: Timestamp,
        random: &dyn Random,
    ) -> Result<(Claims, Secret<String>), SignInError> {
        let known = self.known().await?;
        let tokens = self.exchange_code(&known, code, begun, now, random).await?;
        let id_token = tokens.id_token().ok_or_else(|| SignInError::BadToken("there is none".to_owned()))?;
        let nonce = Nonce::new(begun.nonce.clone());
        let mut checked = check(&known, id_token, &nonce, now);
        if matches!(&checked, Err(error) if unknown_key(error)) {
            // The provider rolled its keys over.
            let known = self.discover(Some(&known)).await?;
            checked = check(&known, id_token, &nonce, now);
        }
        let claims = checked.map_err(|error| refused(&error, id_token, now))?;
        Ok((claims, Secret::new(id_token.to_string())))
    }

    async fn exchange_code(
        &self,
        known: &Known,
        code: String,
        begun: &Begun,
        now: Timestamp,
        random: &dyn Random,
    ) -> Result<Tokens, SignInError> {
        let settings = |text: &str| SignInError::Settings(text.to_owned());
        let mut request = known
            .client
            .exchange_code(AuthorizationCode::new(code))
            .map_err(|_| settings("the provider names no token endpoint"))?
            .set_pkce_verifier(PkceCodeVerifier::new(begun.verifier.clone()));
        if let (Some(signer), ClientAuth::PrivateKey { audience, .. }) = (&self.signer, &self.config.auth) {
            let audience = match audience {
                AssertionAudience::Issuer => self.config.issuer.clone(),
                AssertionAudience::TokenEndpoint => known.token_endpoint.clone().unwrap_or_default(),
                AssertionAudience::Other(url) => url.to_string(),
            };
            let signed =
                signer.sign(&self.config.client_id, &audience, now, random).map_err(SignInError::Settings)?;
            request = request
                .add_extra_param("client_assertion_type", assertion::TYPE)
                .add_extra_param("client_assertion", signed.expose().clone());
        }
        request.request_async(&self.http()).await.map_err(token_error)
    }

    /// Where a browser ends the provider's session; `None` when the provider cannot or is away.
    pub(crate) async fn end_session(&self, id_token: Option<&Secret<String>>) -> Option<Url> {
        let mut url = self.known().await.ok()?.end_session.clone()?;
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

/// Signature, issuer, audience, expiry, nonce; with leeway for clocks.
fn check(
    known: &Known,
    token: &IdToken,
    nonce: &Nonce,
    now: Timestamp,
) -> Result<Claims, ClaimsVerificationError> {
    let at = |when: Timestamp| UNIX_EPOCH + Duration::from_millis(u64::try_from(when.millis()).unwrap_or(0));
    let (early, late) = (at(now - LEEWAY), at(now + LEEWAY));
    let verifier =
        known.client.id_token_verifier().set_time_fn(move || early.into()).set_issue_time_verifier_fn(
            move |issued| {
                let issued: std::time::SystemTime = issued.into();
                if issued <= late { Ok(()) } else { Err(FUTURE.to_owned()) }
            },
        );
    token.claims(&verifier, nonce).cloned()
}

fn unknown_key(error: &ClaimsVerificationError) -> bool {
    use SignatureVerificationError as S;
    matches!(
        error,
        ClaimsVerificationError::SignatureVerification(
            S::NoMatchingKey | S::CryptoError(_) | S::AmbiguousKeyId(_)
        )
    )
}

/// Issued in our future, or over although it was just issued: clocks. Anything else: a bad token.
fn refused(error: &ClaimsVerificationError, token: &IdToken, now: Timestamp) -> SignInError {
    let text = chain(error).to_string();
    if matches!(error, ClaimsVerificationError::Expired(_)) || text.contains(FUTURE) {
        SignInError::Clock(issued_at(token).map_or(0, |issued| issued - now.seconds()))
    } else {
        SignInError::BadToken(text)
    }
}

/// `iat` of a token that was refused: for a sentence, nothing is decided by it.
fn issued_at(token: &IdToken) -> Option<i64> {
    let text = token.to_string();
    let payload = URL_SAFE_NO_PAD.decode(text.split('.').nth(1)?).ok()?;
    serde_json::from_slice::<serde_json::Value>(&payload).ok()?.get("iat")?.as_i64()
}

fn token_error(
    error: RequestTokenError<ExchangeError, StandardErrorResponse<CoreErrorResponseType>>,
) -> SignInError {
    match error {
        RequestTokenError::ServerResponse(answer) => {
            let code = answer.error().to_string();
            let description = answer.error_description().cloned().unwrap_or_default();
            // A code that is used, expired or of another client is the person's to repeat.
            if code == "invalid_grant" {
                SignInError::Refused { code, description }
            } else {
                SignInError::Settings(format!("{code}: {}", rp_base::text::clean(&description, 300)))
            }
        }
        RequestTokenError::Request(error) => SignInError::Away(chain(&error).to_string()),
        // The body may hold tokens: it is not shown.
        RequestTokenError::Parse(error, _) => {
            SignInError::Away(format!("its answer cannot be read at {}", error.path()))
        }
        RequestTokenError::Other(_) => SignInError::Away("its answer has an unknown form".to_owned()),
    }
}
