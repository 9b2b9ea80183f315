//! One module per section or few of them: the declaration, and the rules over its keys.

pub(crate) mod access;
pub(crate) mod audit;
pub(crate) mod azure;
pub(crate) mod backend;
pub(crate) mod limits;
pub(crate) mod listen;
pub(crate) mod maintenance;
pub(crate) mod metrics;
pub(crate) mod monitor;
pub(crate) mod notify;
pub(crate) mod oidc;
mod place_options;
pub(crate) mod portal;
pub(crate) mod private_link;
pub(crate) mod prometheus;
pub(crate) mod recording;
pub(crate) mod rp;
pub(crate) mod session;
pub(crate) mod store;
pub(crate) mod terminal;
pub(crate) mod tls;
