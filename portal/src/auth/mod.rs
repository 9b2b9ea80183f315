//! Sign-in with an OpenID provider, sessions, sign-out (`spec/portal.md` §5–6, "Do better" 1–8).

mod assertion;
mod callback;
mod claims;
mod config;
mod exchange;
mod login;
mod logout;
mod provider;
mod return_path;
mod session_cache;
mod session_store;
mod session_user;
mod signin_cookie;

pub use config::{AssertionAudience, ClientAuth, OidcConfig};
pub use exchange::{Exchange, ExchangeError, HttpExchange};

pub(crate) use callback::callback;
pub(crate) use exchange::network_exchange;
pub(crate) use login::login;
pub(crate) use logout::logout;
pub(crate) use provider::Provider;
pub(crate) use session_store::Sessions;
pub(crate) use session_user::{SessionStart, SessionUser};

/// The session cookie. The prefix makes browsers refuse it without `Secure`, with a domain or another path.
pub const COOKIE: &str = "__Host-aro";
