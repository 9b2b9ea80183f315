//! What administrators' tools do over the provider's API, on the running process and on a real API server.

#[path = "rp_admin/actions.rs"]
mod actions;
#[path = "rp_admin/etcd.rs"]
mod etcd;
#[path = "rp_admin/real.rs"]
mod real;
#[path = "rp_admin/region.rs"]
mod region;
