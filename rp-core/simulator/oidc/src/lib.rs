//! The built-in OpenID provider: OpenID Connect Core 1.0 code flow with PKCE (RFC 7636), Discovery 1.0,
//! RP-Initiated and Back-Channel Logout 1.0, refresh tokens with rotation (RFC 9700 §4.14) and revocation
//! (RFC 7009). One client, accounts in memory.

mod authorize;
mod backchannel;
mod discovery;
mod keys;
mod limit;
mod login;
mod logout;
mod pages;
mod request;
mod state;
#[cfg(test)]
mod tests;
mod token;

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use hyper::{Method, Request, Response, StatusCode};
use parking_lot::{Mutex, RwLock};
use rp_base::{Secret, SharedClock, SharedRandom};
use rp_net::listen::{Gauge, Handler, Limits, Listener, Stop};
use rp_net::tls::ServerTls;
use rp_simulator::body::Body;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use url::Url;

use keys::SigningKey;
use state::State;

/// An account that may sign in.
#[derive(Debug, Clone)]
pub struct Account {
    /// Sign-in name; also `preferred_username`.
    pub name: String,
    pub password: Secret<String>,
    /// The `groups` claim.
    pub groups: Vec<String>,
    /// The `sub` claim: stable, unique.
    pub sub: String,
}

/// Where the client hears of sessions that ended here.
#[derive(Debug, Clone)]
pub struct Backchannel {
    pub uri: Url,
    /// PEM of a CA to trust for it, beside the host's.
    pub ca_pem: Option<String>,
}

/// Options of the provider.
#[derive(Debug)]
pub struct OidcOptions {
    /// A bound listener.
    pub listener: TcpListener,
    /// `None` serves plain HTTP (tests only: no secure cookies then).
    pub tls: Option<Arc<ServerTls>>,
    /// The issuer as clients spell it: scheme, host and port, no path.
    pub issuer: Url,
    pub client_id: String,
    pub client_secret: Secret<String>,
    /// Compared exactly, character by character.
    pub redirect_uris: Vec<String>,
    pub post_logout_redirect_uris: Vec<String>,
    /// `None`: it is not notified.
    pub backchannel: Option<Backchannel>,
    pub accounts: Vec<Account>,
    pub clock: SharedClock,
    pub random: SharedRandom,
    pub stop: Stop,
}

/// Why the provider did not start.
#[derive(Debug, thiserror::Error)]
pub enum OidcError {
    #[error("the signing key could not be made")]
    Key(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the listener has no address")]
    Listener(#[source] std::io::Error),
    #[error("the issuer must be http(s)://host[:port] without path, query or fragment")]
    Issuer,
    #[error("the client cannot be told of ended sessions")]
    Backchannel(#[source] rp_net::tls::TlsError),
}

/// A running provider.
#[derive(Debug)]
pub struct OidcProvider {
    shared: Arc<Shared>,
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl OidcProvider {
    /// Makes the signing key and starts to serve.
    ///
    /// # Errors
    /// [`OidcError`].
    pub fn start(options: OidcOptions) -> Result<Self, OidcError> {
        let plain = options.issuer.path() == "/"
            && options.issuer.query().is_none()
            && options.issuer.fragment().is_none()
            && options.issuer.host().is_some()
            && matches!(options.issuer.scheme(), "http" | "https");
        if !plain {
            return Err(OidcError::Issuer);
        }
        let backchannel = options.backchannel.map(backchannel::Notifier::new).transpose();
        let backchannel = backchannel.map_err(OidcError::Backchannel)?;
        let address = options.listener.local_addr().map_err(OidcError::Listener)?;
        let shared = Arc::new(Shared {
            issuer: options.issuer.as_str().trim_end_matches('/').to_owned(),
            secure: options.issuer.scheme() == "https",
            key: SigningKey::generate()?,
            client_id: options.client_id,
            client_secret: options.client_secret,
            redirect_uris: options.redirect_uris,
            post_logout_redirect_uris: options.post_logout_redirect_uris,
            backchannel,
            accounts: RwLock::new(options.accounts),
            disabled: RwLock::default(),
            clock: options.clock,
            random: options.random,
            state: Mutex::new(State::default()),
        });
        let listener = Listener {
            tcp: options.listener,
            tls: options.tls,
            handler: Arc::new(Routes(Arc::clone(&shared))),
            limits: Limits::with_connections(1024),
            gauge: Arc::new(Gauge::default()),
        };
        let task = tokio::spawn(listener.serve(options.stop));
        Ok(Self { shared, address, task })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The issuer, without a slash at the end.
    pub fn issuer(&self) -> &str {
        &self.shared.issuer
    }

    /// Gives an account other groups; they show in the next ID token. False when there is no such account.
    pub fn set_groups(&self, name: &str, groups: Vec<String>) -> bool {
        let mut accounts = self.shared.accounts.write();
        let found = accounts.iter_mut().find(|account| account.name == name);
        found.map(|account| account.groups = groups).is_some()
    }

    /// Disables or enables an account. A disabled account can neither sign in nor refresh, its
    /// sessions here end, and the client is notified. False when there is no such account.
    pub fn set_disabled(&self, name: &str, disabled: bool) -> bool {
        let Some(sub) = self.shared.subject(name) else { return false };
        if !disabled {
            self.shared.disabled.write().remove(&sub);
            return true;
        }
        self.shared.disabled.write().insert(sub.clone());
        self.shared.state.lock().end_person(&sub);
        backchannel::notify(&self.shared, Some(&sub), None);
        true
    }

    /// Ends the sessions of an account here, and notifies the client. False when there is no such account.
    pub fn sign_out(&self, name: &str) -> bool {
        let Some(sub) = self.shared.subject(name) else { return false };
        self.shared.state.lock().end_sessions(&sub);
        backchannel::notify(&self.shared, Some(&sub), None);
        true
    }

    /// Removes an account: its sessions, codes and tokens end. False when there is no such account.
    pub fn remove(&self, name: &str) -> bool {
        let mut accounts = self.shared.accounts.write();
        let before = accounts.len();
        accounts.retain(|account| account.name != name);
        accounts.len() < before
    }

    /// Ends when the listener has stopped and its last connection has ended.
    pub async fn stopped(self) {
        if let Err(error) = self.task.await {
            tracing::error!(error = %rp_base::chain(&error), "the OpenID provider ended");
        }
    }
}

/// What every request may use.
#[derive(Debug)]
struct Shared {
    issuer: String,
    secure: bool,
    key: SigningKey,
    client_id: String,
    client_secret: Secret<String>,
    redirect_uris: Vec<String>,
    post_logout_redirect_uris: Vec<String>,
    backchannel: Option<backchannel::Notifier>,
    accounts: RwLock<Vec<Account>>,
    /// Subjects that may not come in.
    disabled: RwLock<HashSet<String>>,
    clock: SharedClock,
    random: SharedRandom,
    state: Mutex<State>,
}

impl Shared {
    /// The account of that subject, as it is now.
    fn account(&self, sub: &str) -> Option<Account> {
        if self.disabled.read().contains(sub) {
            return None;
        }
        self.accounts.read().iter().find(|account| account.sub == sub).cloned()
    }

    /// The subject of the account of that name, disabled or not.
    fn subject(&self, name: &str) -> Option<String> {
        self.accounts.read().iter().find(|account| account.name == name).map(|account| account.sub.clone())
    }
}

struct Routes(Arc<Shared>);

impl Handler for Routes {
    type Body = Body;

    async fn handle(&self, request: Request<Incoming>, _peer: SocketAddr) -> Response<Body> {
        let shared = &self.0;
        let path = request.uri().path().to_owned();
        let mut response = match (request.method(), path.as_str()) {
            (&Method::GET, "/.well-known/openid-configuration") => discovery::document(shared),
            (&Method::GET, "/jwks") => discovery::keys(shared),
            (&Method::GET | &Method::POST, "/authorize") => authorize::authorize(shared, request).await,
            (&Method::POST, "/login") => login::login(shared, request).await,
            (&Method::GET, "/login.css") => pages::stylesheet(),
            (&Method::POST, "/token") => token::token(shared, request).await,
            (&Method::POST, "/revoke") => token::revoke(shared, request).await,
            (&Method::GET | &Method::POST, "/userinfo") => token::userinfo(shared, &request),
            (&Method::GET | &Method::POST, "/logout") => logout::logout(shared, request).await,
            (&Method::GET, "/") => pages::front(shared),
            (
                _,
                "/authorize"
                | "/login"
                | "/token"
                | "/revoke"
                | "/userinfo"
                | "/logout"
                | "/jwks"
                | "/"
                | "/.well-known/openid-configuration",
            ) => pages::failure(
                shared,
                StatusCode::METHOD_NOT_ALLOWED,
                "This address does not take that method.",
            ),
            _ => pages::failure(shared, StatusCode::NOT_FOUND, "There is nothing at this address."),
        };
        let headers = response.headers_mut();
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        headers.insert("x-aro-simulated", HeaderValue::from_static("true"));
        response
    }
}
