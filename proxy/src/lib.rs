//! Access proxies: authorised target in, bytes out.
//!
//! `api` is the Kubernetes API proxy (`contract/portal.md` §11, "Do better" 11–20); `connect` the CONNECT
//! proxy for development (`contract/portal.md` §12.4); `prom` questions to the Prometheus of clusters
//! (`contract/portal.md` §13); `ssh` shells on their machines (`contract/portal.md` §15–17); `tls_forwarder` the
//! local way to a remote listener with a client certificate.

pub mod api;
pub mod connect;
mod idle;
mod overseer;
pub mod prom;
pub mod ssh;
pub mod terminal;
pub mod tls_forwarder;
pub mod tunnel_endpoint;

pub use api::{ApiProxy, ApiProxyParts, Body};
