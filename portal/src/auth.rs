//! Sign-in with an OpenID provider, sessions, sign-out (`contract/portal.md` §5–6, "Do better" 1–8).

mod backchannel;
mod callback;
mod claims;
mod client;
mod codes;
mod config;
mod exchange;
mod groups;
mod jwt;
mod login;
mod logout;
mod provider;
mod redeem;
mod return_path;
mod revalidate;
mod session_cache;
mod session_store;
mod session_user;
mod sign_ins;
mod signin_cookie;
mod throttle;

pub use config::{AssertionAudience, ClientAuth, GroupsSource, OidcConfig};
pub use exchange::{Exchange, ExchangeError, HttpExchange};

pub(crate) use backchannel::backchannel;
pub(crate) use callback::callback;
pub(crate) use client::{by_client_token, is_client_token};
pub(crate) use codes::{CodeError, Codes, Consent, DEVICE_LIFE, Decision, INTERVAL, PendingDevice, Poll};
pub(crate) use exchange::network_exchange;
pub(crate) use login::login;
pub(crate) use logout::logout;
pub(crate) use provider::Provider;
pub(crate) use return_path::return_path;
pub(crate) use revalidate::{check_due as revalidation_round, start as start_revalidation};
pub(crate) use session_store::{SessionStatus, SessionWatch, Sessions};
pub(crate) use session_user::{SessionStart, SessionUser};
pub(crate) use sign_ins::SignIns;
pub(crate) use throttle::{Throttle, network};

/// The session cookie. The prefix makes browsers refuse it without `Secure`, with a domain or another path.
pub const COOKIE: &str = "__Host-aro";
