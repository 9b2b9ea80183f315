//! Codes and refresh tokens for what the provider says of a person (Core §3.1.3, §12).

use std::time::{Duration, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openidconnect::core::CoreErrorResponseType;
use openidconnect::{
    AuthorizationCode, ClaimsVerificationError, Nonce, OAuth2TokenResponse as _, PkceCodeVerifier,
    RefreshToken, RequestTokenError, SignatureVerificationError, StandardErrorResponse, TokenResponse as _,
};
use rp_base::{Random, Secret, Timestamp, chain};
use rp_net::assertion;

use crate::claims::Groups;
use crate::config::{AssertionAudience, ClientAuth};
use crate::exchange::ExchangeError;
use crate::provider::{Claims, DiscoveredProvider, IdToken, LEEWAY, Provider, SignInError, Tokens};
use crate::signin_cookie::PendingSignIn;

/// Characters of a name.
const MOST_NAME: usize = 200;
const FUTURE: &str = "issued in our future";

/// The result of redeeming an authorization code.
#[derive(Debug)]
pub struct Redeemed {
    pub sub: String,
    /// What people read, and by which clusters know the person.
    pub name: String,
    pub groups: Groups,
    /// When the person showed the provider who they are.
    pub auth_time: Option<Timestamp>,
    /// The provider's name of its session.
    pub sid: Option<String>,
    pub id_token: Secret<String>,
    pub refresh: Option<Secret<String>>,
}

/// The result of redeeming a refresh token.
#[derive(Debug)]
pub struct Refreshed {
    /// The current subject and groups; `None`: the provider does not return them.
    pub person: Option<(String, Groups)>,
    /// The token to use next; `None`: the same again.
    pub next: Option<Secret<String>>,
}

impl Provider {
    /// Redeems a code.
    pub async fn redeem(
        &self,
        code: String,
        begun: &PendingSignIn,
        now: Timestamp,
        random: &dyn Random,
    ) -> Result<Redeemed, SignInError> {
        let known = self.discovered().await?;
        let mut request = known
            .client
            .exchange_code(AuthorizationCode::new(code))
            .map_err(|_| no_endpoint())?
            .set_pkce_verifier(PkceCodeVerifier::new(begun.verifier.clone()));
        for (name, value) in self.assertion(&known, now, random)? {
            request = request.add_extra_param(name, value);
        }
        let tokens = request.request_async(&self.http()).await.map_err(token_error)?;
        let id_token = tokens.id_token().ok_or_else(|| SignInError::BadToken("there is none".to_owned()))?;
        let claims = self.checked(known, id_token, Some(&Nonce::new(begun.nonce.clone())), now).await?;
        let auth_time = claims.auth_time().map(|at| Timestamp::from_seconds(at.timestamp()));
        // The provider must have asked after we sent the person there; clocks may differ.
        if begun.fresh && auth_time.is_none_or(|at| at + LEEWAY < begun.at) {
            return Err(SignInError::NotFresh);
        }
        let sub = claims.subject().to_string();
        let name = identity(&claims, self.config.options.identity_claim.as_deref())?;
        let refresh = tokens.refresh_token().map(|token| Secret::new(token.secret().clone()));
        let groups = self.groups_of(&claims, &access_token(&tokens)).await?;
        Ok(Redeemed {
            sub,
            name,
            groups,
            auth_time: auth_time.map(|at| at.min(now)),
            sid: claims.additional_claims().text("sid").map(str::to_owned),
            id_token: Secret::new(id_token.to_string()),
            refresh,
        })
    }

    /// Asks whether a person may still come in, and for their groups.
    ///
    /// # Errors
    /// [`SignInError::Refused`]: the person must sign in again. Everything else says nothing of the person.
    pub async fn refresh(
        &self,
        token: &Secret<String>,
        now: Timestamp,
        random: &dyn Random,
    ) -> Result<Refreshed, SignInError> {
        let known = self.discovered().await?;
        let token = RefreshToken::new(token.expose().clone());
        let mut request = known.client.exchange_refresh_token(&token).map_err(|_| no_endpoint())?;
        for (name, value) in self.assertion(&known, now, random)? {
            request = request.add_extra_param(name, value);
        }
        let tokens = request.request_async(&self.http()).await.map_err(token_error)?;
        let next = tokens.refresh_token().map(|token| Secret::new(token.secret().clone()));
        // From here on the old token may be used up: what fails below must not lose the next one.
        let person = self.person_of(&known, &tokens, now).await.unwrap_or_else(|error| {
            tracing::warn!(error = %chain(&error), "the provider renewed a sign-in but did not say whose groups");
            None
        });
        Ok(Refreshed { person, next })
    }

    async fn person_of(
        &self,
        known: &std::sync::Arc<DiscoveredProvider>,
        tokens: &Tokens,
        now: Timestamp,
    ) -> Result<Option<(String, Groups)>, SignInError> {
        let access = access_token(tokens);
        let Some(id_token) = tokens.id_token() else {
            return self.person_by_userinfo(known, &access).await;
        };
        // A refreshed ID token need not repeat the nonce (Core §12.2).
        let claims = self.checked(std::sync::Arc::clone(known), id_token, None, now).await?;
        let sub = claims.subject().to_string();
        if claims.additional_claims().names_groups(self.groups_claim()) {
            return Ok(Some((sub, self.groups_of(&claims, &access).await?)));
        }
        // Silence about groups may mean none, or that they stand elsewhere.
        match self.person_by_userinfo(known, &access).await {
            Ok(Some((named, groups))) if named == sub => Ok(Some((sub, groups))),
            _ => Ok(Some((sub, Groups::Named(Vec::new())))),
        }
    }

    /// The checked claims; new keys are fetched when the token names one that we do not know.
    async fn checked(
        &self,
        known: std::sync::Arc<DiscoveredProvider>,
        token: &IdToken,
        nonce: Option<&Nonce>,
        now: Timestamp,
    ) -> Result<Claims, SignInError> {
        let mut checked = check(&known, token, nonce, now);
        if matches!(&checked, Err(error) if unknown_key(error)) {
            let known = self.discover(Some(&known)).await?;
            checked = check(&known, token, nonce, now);
        }
        checked.map_err(|error| refused(&error, token, now))
    }

    /// The client assertion as parameters; none with another way of authentication.
    fn assertion(
        &self,
        known: &DiscoveredProvider,
        now: Timestamp,
        random: &dyn Random,
    ) -> Result<Vec<(&'static str, String)>, SignInError> {
        let (Some(signer), ClientAuth::PrivateKey { audience, .. }) = (&self.signer, &self.config.auth)
        else {
            return Ok(Vec::new());
        };
        let audience = match audience {
            AssertionAudience::Issuer => self.config.issuer.clone(),
            AssertionAudience::TokenEndpoint => known.token_endpoint.clone().unwrap_or_default(),
            AssertionAudience::Other(url) => url.to_string(),
        };
        let signed = signer
            .sign(&self.config.client_id, &audience, now, random)
            .map_err(|error| SignInError::Settings(error.to_string()))?;
        let kind = ("client_assertion_type", assertion::TYPE.to_owned());
        Ok(vec![kind, ("client_assertion", signed.expose().clone())])
    }
}

/// The name of a person: the claim of the settings, else the first of those that people can read. An address of which the
/// provider does not say that it is the person's is none.
fn identity(claims: &Claims, claim: Option<&str>) -> Result<String, SignInError> {
    let username = || claims.preferred_username().map(|name| name.to_string());
    let verified = || claims.email_verified() == Some(true);
    let email = || claims.email().filter(|_| verified()).map(|email| email.to_string());
    let sub = || claims.subject().to_string();
    let name = match claim {
        None => username().or_else(email).unwrap_or_else(sub),
        Some("sub") => sub(),
        Some("preferred_username") => username().unwrap_or_default(),
        Some("email") => email().unwrap_or_default(),
        Some(other) => claims.additional_claims().text(other).unwrap_or_default().to_owned(),
    };
    check_name(&name).map(|()| name).map_err(SignInError::Identity)
}

/// Whether clusters may know a person by this name. Those with a prefix are Kubernetes' own: components, service accounts.
fn check_name(name: &str) -> Result<(), &'static str> {
    let lower = name.to_ascii_lowercase();
    if name.trim().is_empty() {
        return Err("the provider gave no name, or none that it has verified");
    }
    if ["system:", "kube:"].iter().any(|prefix| lower.starts_with(prefix)) {
        return Err("the name begins like one of Kubernetes' own");
    }
    if rp_base::text::clean(name, MOST_NAME) != name {
        return Err("the name is too long or has control characters");
    }
    Ok(())
}

fn access_token(tokens: &Tokens) -> Secret<String> {
    Secret::new(tokens.access_token().secret().clone())
}

fn no_endpoint() -> SignInError {
    SignInError::Settings("the provider names no token endpoint".to_owned())
}

/// Signature, issuer, audience, expiry, nonce; with leeway for clocks.
fn check(
    known: &DiscoveredProvider,
    token: &IdToken,
    nonce: Option<&Nonce>,
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
    match nonce {
        Some(nonce) => token.claims(&verifier, nonce).cloned(),
        None => token.claims(&verifier, |_: Option<&Nonce>| Ok(())).cloned(),
    }
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
            // The first: a code or refresh token that is used, ended or of another client. The others: the
            // provider wants to see the person (Core §3.1.2.6). All are the person's to repeat.
            let theirs = ["invalid_grant", "interaction_required", "login_required", "consent_required"];
            if theirs.contains(&code.as_str()) {
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
