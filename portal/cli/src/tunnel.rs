//! The local end of `aro tunnel`: a port of this machine whose connections go to places of a cluster.

mod grant;
mod link;
mod listener;
mod proxy;

pub(crate) use grant::{Tunnel, TunnelRequest, forget, kept, reason, request, to_json};
pub(crate) use link::Link;
pub(crate) use listener::LocalListener;
