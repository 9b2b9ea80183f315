//! The local end of `aro tunnel`: a port of this machine whose connections go to places of a cluster.

mod door;
mod grant;
mod link;
mod proxy;

pub(crate) use door::Door;
pub(crate) use grant::{Tunnel, Wish, obtain, reason, shown};
pub(crate) use link::Link;
