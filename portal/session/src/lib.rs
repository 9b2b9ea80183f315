//! Who asks, and what becomes of it: the context of a request, sign-in with the provider, sessions, login codes,
//! CSRF tokens, refusals. No page is in here, and one handler, that of back-channel logout.
//! How a login travels: `portal/README.md`.

pub mod accepted_encodings;
pub mod backchannel;
pub mod claims;
pub mod client;
pub mod codes;
pub mod config;
pub mod context;
pub mod csrf;
pub mod elevation;
pub mod exchange;
pub mod fault;
pub mod flash;
mod groups;
pub mod json;
mod jwt;
pub mod metrics;
pub mod provider;
pub mod redeem;
pub mod refusals;
pub mod return_path;
pub mod revalidate;
pub mod run_books;
mod session_cache;
pub mod session_store;
pub mod session_user;
pub mod sign_in_rate;
mod sign_ins;
pub mod signin_cookie;
pub mod site;
pub mod state;
pub mod throttle;
pub mod user;
